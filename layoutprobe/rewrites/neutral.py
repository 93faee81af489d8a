"""What a value is where there is nothing: a maximum over nothing, a share of nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.omitted import added
from layoutprobe.rewrites.spot import Rewrite, Spot, all_of
from layoutprobe.source.expressions import heads_around
from layoutprobe.source.statements import Source

_ZERO = re.compile(r"0(?:\.0*)?f?")
_INFINITE = re.compile(
    r"-\s*(?:INFINITY|FLT_MAX|HUGE_VALF?|__builtin_inff?\(\)|CUDART_INF_F|1e3[0-8]f?)|\bk?Neg_?Inf\w*"
)


_LEAST_POSITIVE = re.compile(r"_*(?:FLT|HALF|DBL)_MIN_*")


def neutral(spot: Spot) -> Iterator[Rewrite]:
    """`-INFINITY` or `-1e30f` for `0.f`, and the reverse; the least number for the least positive one;
    and `(n > 0 ? sum / n : 0)` for `sum / n`."""
    tokens, infinite = spot.source.tokens, _infinite(spot.source)
    for i in spot.within:
        if _LEAST_POSITIVE.fullmatch(tokens[i].text):
            for nth, text in enumerate(
                (f"-{tokens[i].text.replace('MIN', 'MAX')}", "-__builtin_inff()", "0.0f")
            ):
                yield replace(spot.replace(i, i + 1, text, "neutral"), rank=0.1 * nth)
        if tokens[i].text == "min" and tokens[i - 1].text == "::" and spot.source.partner.get(i + 1) == i + 2:
            yield spot.replace(i, i + 1, "lowest", "neutral")
        if tokens[i].kind == "number" and "." in tokens[i].text and _ZERO.fullmatch(tokens[i].text):
            likelier = _LIKELIER * (_BELOW.search(spot.said) is not None)
            new = spot.replace(i, i + 1, infinite or "-INFINITY", "neutral")
            yield replace(new, rank=(0.0 if infinite else 0.5) - likelier)
            finite = spot.replace(
                i, i + 1, "-1e30f", "neutral"
            )  # of two that are infinite the difference is none
            yield replace(finite, rank=0.6 - likelier)
    for node in spot.tree.walk():
        first = spot.start(node)
        text = spot.source.slice(first, node.last) if first < node.last else ""
        if infinite and text == infinite:
            yield spot.replace(first, node.last, "0.0f", "neutral")
        if node.kind == "product" and len(node.parts) > 1 and spot.operator(node, len(node.parts) - 1) == "/":
            below = spot.text(node.parts[-1])
            if "integer" not in spot.sorts(node.parts[-1]) and not below[:1].isdigit():
                new = spot.replace(first, node.last, f"({below} > 0 ? {text} : 0)", "neutral")
                yield replace(new, rank=0.3)


_BELOW, _LIKELIER = re.compile(r"is about -\d"), 2.0
"""What a finding says where numbers are far below 0, and how much likelier a largest one begins too high then."""


def otherwise(spot: Spot) -> Iterator[Rewrite]:
    """`if (inside) x[i] = load(p); else x[i] = {};` for a value that is given on one way only."""
    source, here, found = spot.source, spot.within, spot.assignment(spot.tree)
    if found is None or found[0] != "=" or source.word(here.stop) != ";":
        return
    tested = source.word(here.start) == "if" and here.start + 1 in source.partner
    first = source.partner[here.start + 1] + 1 if tested else here.start
    last = here.stop if tested else here.stop + 1
    target = source.slice(first, found[1].last)
    in_block = (
        not tested
        and source.word(first - 1) == "{"
        and source.word(last) == "}"
        and _is_branch(source, first - 1)
    )
    if (tested or in_block) and source.word(last + 1) != "else":
        yield spot.behind(last, f" else {target} = {{}};", "otherwise")


def _is_branch(source: Source, opens: int) -> bool:
    """Whether a block is what a test leads to."""
    return source.word(opens - 1) == ")" and source.word(source.partner[opens - 1] - 1) == "if"


def of_nothing(spot: Spot) -> Iterator[Rewrite]:
    """`if (top == -INFINITY) return;` behind `top = fmaxf(a, b)`, and `(a == -INFINITY ? 0 : expf(a - top))`: of two
    that are both empty the difference is NaN."""
    source, least = spot.source, _infinite(spot.source) or "-INFINITY"
    behind = source.slice(spot.within.stop, spot.function.stop)
    for piece in spot.pieces:
        found = spot.assignment(piece)
        if found is None or found[0] != "=" or not _LARGER.match(spot.text(found[2])):
            continue
        name = source.tokens[found[1].last - 1].text
        if re.search(rf"exp\w*\([^;]*-\s*{name}\b", behind):
            yield from (
                replace(added(spot, f"if ({name} == {least}) {way};"), kind="of_nothing")
                for way in islice(_ways_out(spot), 1)
            )
    of_none = [
        spot.replace(
            spot.start(node), node.last, f"({taken[1]} == {least} ? 0.0f : {taken[0]})", "of_nothing"
        )
        for node in spot.tree.walk()
        if node.kind == "leaf"
        and node.parts
        and node.parts[-1].kind == "call"
        and (taken := _OF_DIFFERENCE.fullmatch(source.slice(spot.start(node), node.last))) is not None
    ]
    if len(of_none) > 1:  # of two that are joined both are empty
        yield all_of(source.text, of_none)
    yield from of_none


def _ways_out(spot: Spot) -> Iterator[str]:
    """How what is left of the blocks around a statement is left out, the innermost first; of a function that gives
    what it takes, by giving that."""
    for word, opened, _ in heads_around(spot.source, spot.within.start):
        gives = spot.source.word(opened - 2)
        if word in _LEFT or gives in _LEFT:
            yield _LEFT[word if word in _LEFT else gives]
        elif gives.isidentifier() and opened in spot.source.partner:
            taken = spot.source.slice(opened + 1, spot.source.partner[opened])
            if found := re.search(rf"\b{gives}\s*&?\s*([A-Za-z_]\w*)", taken):
                yield f"return {found[1]}"


_LEFT = {"for": "continue", "while": "continue", "void": "return"}
"""How what is left of a block is left out."""
_LARGER = re.compile(r"(?:[\w:]*\bf?max\w*|[\w:]*_max)\s*\(")
_OF_DIFFERENCE = re.compile(r"[\w:]*exp\w*\(\s*([^;()-]+?)\s*-[^;()]+\)")


@lru_cache(maxsize=32)
def _infinite(source: Source) -> str:
    """How a file writes the least number, most often; "" where it does not."""
    often = Counter(found[0] for found in _INFINITE.finditer(source.text))
    return often.most_common(1)[0][0] if often else ""
