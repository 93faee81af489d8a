"""What a test holds against its bound: the index that it guards, the last row of a tile, the next step of a loop; and
in any statement what a name is made of, or stands beside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, permutations

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import heads_around
from layoutprobe.source.statements import free_words
from layoutprobe.source.tree import Node, forest

_SIGNS = ("<", "<=", ">", ">=")
_GUARDED = 60
"""Words behind a test that are likely to be under it."""


def guards(spot: Spot) -> Iterator[Rewrite]:
    """Another side of a comparison: `n0 + 16 + c < n` for `n0 + c < n` before `y[n0 + 16 + c]`; `i0 + 15` for `i0`;
    `k + STEP < K` for `k < K` in a loop over k."""
    found = [
        node
        for node in spot.tree.walk()
        if node.kind == "comparison" and len(node.parts) == _SIDES and spot.operator(node, 1) in _SIGNS
    ]
    for node in found:
        yield from _of_index(spot, node)
        yield from _of_next_pass(spot, node)
        yield from _of_last(spot, node)


_SIDES = 2


def extents(spot: Spot) -> Iterator[Rewrite]:
    """`t < ROWS` for `t < COLS` before `scale[t]`, where `scale` has ROWS elements: what is indexed says how far."""
    known = _extents_in(spot.source.text)
    stop = min(spot.within.stop + _GUARDED, spot.function.stop)
    below = spot.source.slice(spot.within.start, max(stop, spot.within.stop))
    for node in spot.tree.walk():
        if (
            node.kind != "comparison"
            or len(node.parts) != _SIDES
            or spot.operator(node, 1) not in ("<", ">=")
        ):
            continue
        index, bound = (
            re.escape(spot.source.slice(spot.start(node.parts[0]), node.parts[0].last)),
            node.parts[1],
        )
        arrays = re.findall(rf"\b(\w+)\s*\[\s*{index}\s*\]", below)
        sizes = [size for name in dict.fromkeys(arrays) for size in known.get(name, ())]
        for size in dict.fromkeys(sizes):
            if size != spot.text(bound) and free_words(size) <= spot.heads | {*spot.names}:
                yield spot.replace(bound.first, bound.last, size, "extents")


@lru_cache(maxsize=32)
def _extents_in(text: str) -> dict[str, list[str]]:
    """Names of arrays, and the first extents that they are declared with."""
    found: dict[str, list[str]] = {}
    for name, size in _ARRAY.findall(text):
        found.setdefault(name, []).append(size.strip())
    return found


_ARRAY = re.compile(r"\b[A-Za-z_]\w*[ \t*]+([A-Za-z_]\w*)[ \t]*\[([^\[\]\n=;]{1,60})\][^;\n=(]{0,60};")


def _of_index(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """What stands in an index behind the test, for the side that has the same names."""
    stop = min(spot.within.stop + _GUARDED, spot.function.stop)
    trees = forest(spot.source, node.last, max(stop, node.last))
    indices = dict.fromkeys(
        spot.source.slice(spot.start(part), part.last)
        for tree in trees
        for one in tree.walk()
        if one.kind == "index" and one.first >= node.last
        for part in one.walk()
        if part.kind == "sum" and part.last - part.first <= _LONGEST
    )
    for side in node.parts:
        own = free_words(spot.text(side))
        alike = [text for text in indices if own and own <= free_words(text) and text != spot.text(side)]
        for nth, text in enumerate(alike[:_MOST]):
            new = spot.replace(spot.start(side), side.last, text, "guards")
            whole = " ".join(spot.text(side).split()) in text or _is_part(spot.text(side), text)
            yield replace(new, rank=0.1 * nth - _SURE * whole)


def _is_part(part: str, whole: str) -> bool:
    """Whether a sum has no other terms than another one: `n0 + c` of `n0 + 16 + c`."""
    mine, all_ = ([term.strip() for term in text.split("+")] for text in (part, whole))
    return all(term in all_ for term in mine)


_SURE = 1.4
"""How much likelier an index is meant that has all that is tested, and more."""
_LONGEST, _MOST = 13, 3


def _of_next_pass(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """Whether there is a next pass of a loop around, for a comparison of what it counts."""
    first = spot.start(node.parts[0])
    text = spot.source.slice(first, node.last)
    for name, sign, end, step in _loops(spot):
        if name in free_words(text):
            late = spot.operator(node, 1)[0] == ">"
            new = f"{name} + {step} {'>=' if late else sign} {end}"
            if new != text:
                yield spot.replace(first, node.last, new, "guards")


_HEAD = re.compile(
    r"(\w+) *=[^;]*; *\1 *(<|<=) *([^;]+?) *;[^;]*?(?:\b\1 *\+= *([\w:.]+)|\+\+ *\1\b|\b\1 *\+\+)"
)


def _loops(spot: Spot) -> Iterator[tuple[str, str, str, str]]:
    """Of each loop around: what it counts, the sign and the end, and the step."""
    source = spot.source
    for head, opened, block in heads_around(source, spot.within.start):
        if block[0] <= spot.function.start:
            return
        if head == "for":
            found = _HEAD.search(" ".join(source.slice(opened + 1, source.partner[opened]).split()))
            if found:
                yield found[1], found[2], found[3], found[4] or "1"


def _of_last(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """The last row of a tile for the first one: `+ 15` where rows are counted by 16."""
    found = _COUNTED.findall(spot.source.text)
    counts = Counter(int(before or behind) for behind, before in found)
    names = [name for name in dict.fromkeys(re.findall(r"\* *([A-Z]\w*)\b", spot.body)) if name in spot.names]
    lasts = [str(number - 1) for number, _ in counts.most_common(_TILES)]
    lasts += [f"{name} - 1" for name in names[:_TILES]]
    for side in node.parts:
        if spot.sorts(side) != {"integer"} or re.search(r"- *1$|\b\d+$", spot.text(side)):
            continue
        for nth, text in enumerate(lasts):
            new = spot.behind(side.last - 1, f" + {text}", "guards")
            yield replace(new, rank=1.0 + 0.15 * nth)


_COUNTED = re.compile(r"[*/%] *(4|8|16|32|64|128)\b|\b(4|8|16|32|64|128) *\*")
_TILES = 3


def accompanied(spot: Spot) -> Iterator[Rewrite]:
    """`(n0 + wn) / GROUP` for `n0 / GROUP`, where elsewhere in the function a sum has both beside each other."""
    yield from _with_a_remainder(spot)
    yield from _with_factors_beside(spot)
    yield from _with_a_usual_term(spot)
    yield from _accompanied_factors(spot)
    yield from _accompanied_elements(spot)
    beside = dict[str, list[str]]()
    for tree in spot.statements:
        for node in tree.walk():
            texts = [spot.text(part) for part in node.parts] if node.kind == "sum" else []
            for n, (left, right) in enumerate(pairwise(texts), 1):
                plain = left.isidentifier() and right.isidentifier() and spot.operator(node, n) == "+"
                if plain and node.first not in spot.within:
                    beside.setdefault(left, []).append(right)
                    beside.setdefault(right, []).append(left)
    for one in spot.scope.operands:
        if one.first not in spot.within or one.sort != "integer":
            continue
        ends = {
            spot.source.tokens[at].text for at in (one.first - 1, one.last) if at < len(spot.source.tokens)
        }
        for nth, other in enumerate(dict.fromkeys(beside.get(one.text, ()))):
            known = other in spot.names and spot.names[other].sort == "integer"
            if known and not ends & {"+", "=", "+="} and nth < _MOST:
                text = f"{one.text} + {other}"
                bare = ends <= {"(", ")", "[", "]", ",", ";"}
                new = spot.replace(one.first, one.last, text if bare else f"({text})", "accompanied")
                yield replace(new, rank=0.1 * nth)


def _with_a_usual_term(spot: Spot) -> Iterator[Rewrite]:
    """`end + older` for `end`, a sum of which other sums of the function have `+ older` at their end."""
    often = Counter[str]()
    for tree in spot.statements:
        for node in tree.walk():
            if node.kind == "sum" and spot.operator(node, len(node.parts) - 1) == "+":
                text = spot.text(node.parts[-1])
                often[text] += text in spot.names and spot.names[text].sort == "integer"
    for node in spot.tree.walk():
        own = {spot.text(part) for part in node.parts} if node.kind == "sum" else set[str]()
        usual = [text for text, _ in often.most_common(_MOST + len(own)) if own and text not in own]
        for nth, text in enumerate(usual[:_MOST]):
            yield replace(spot.behind(node.last - 1, f" + {text}", "accompanied"), rank=0.1 * nth)


def _with_a_remainder(spot: Spot) -> Iterator[Rewrite]:
    """`chunk * VEC + k % VEC` for `chunk * VEC`, where `chunk` is made of `k / VEC`."""
    for name, value in spot.given:
        for whole, by in _QUOTIENT.findall(spot.text(value)):
            for node in spot.tree.walk():
                own = node.kind == "product" and [spot.text(part) for part in node.parts] == [name, by]
                if own and f"{whole} % {by}" not in spot.text(spot.tree):
                    yield spot.behind(node.last - 1, f" + {whole} % {by}", "accompanied")


_QUOTIENT = re.compile(r"\b([\w.]+) / ([\w.:]+)")


def _with_factors_beside(spot: Spot) -> Iterator[Rewrite]:
    """`block * ROWS * 16 + wave * ROWS * 16` for `block * ROWS * 16 + wave * 16`: a factor of the term beside it."""
    for node in spot.tree.walk():
        products = [part for part in node.parts if part.kind == "product"] if node.kind == "sum" else []
        for one, other in permutations(products[:_MOST], 2):
            mine = {spot.text(part) for part in one.parts}
            for part in other.parts[1:]:
                if (text := spot.text(part)) not in mine:
                    yield spot.behind(one.last - 1, f" * {text}", "accompanied")


def _accompanied_factors(spot: Spot) -> Iterator[Rewrite]:
    """`first + ROWS * WAVES` for `first + ROWS`, where elsewhere in the function the two constants are a product."""
    known = dict[str, dict[str, None]]()
    for one, other in _PRODUCT.findall(spot.body):
        known.setdefault(one, {})[other] = None
        known.setdefault(other, {})[one] = None
    for one in spot.scope.operands:
        others = (
            [name for name in known.get(one.text, ()) if name in spot.names]
            if one.first in spot.within
            else []
        )
        ends = {
            spot.source.tokens[at].text for at in (one.first - 1, one.last) if at < len(spot.source.tokens)
        }
        if others and not ends & {"*", "/", "%", "=", "[", "."}:
            for nth, other in enumerate(others[:_MOST]):
                new = spot.replace(one.first, one.last, f"{one.text} * {other}", "accompanied")
                yield replace(new, rank=0.1 * nth)


_CONSTANT = r"((?:\w+::)?(?:[A-Z]|k[A-Z])\w*)"
_PRODUCT = re.compile(rf"(?<![\w.>:]){_CONSTANT} *\* *{_CONSTANT}(?![\w.(:])")


def _accompanied_elements(spot: Spot) -> Iterator[Rewrite]:
    """`ptr[row + 1] - base` for `ptr[row + 1]`, where elsewhere in the function `- base` stands behind `ptr[row]`."""
    behind = dict[str, dict[str, None]]()
    bare = list[tuple[str, Node]]()
    for tree in spot.statements:
        for node in tree.walk():
            for nth, part in enumerate(node.parts):
                name = _element_of(spot, part)
                follows = nth + 1 < len(node.parts) and node.kind in ("sum", "product")
                if name and follows and node.parts[nth + 1].last - node.parts[nth + 1].first <= _LONGEST:
                    text = f"{spot.operator(node, nth + 1)} {spot.text(node.parts[nth + 1])}"
                    behind.setdefault(name, {})[text] = None
                elif name and part.first in spot.within and node.kind not in ("sum", "product"):
                    bare.append((name, part))
    for name, part in bare:
        for nth, text in enumerate(list(behind.get(name, ()))[:_MOST]):
            new = spot.replace(part.first, part.last, f"{spot.text(part)} {text}", "accompanied")
            yield replace(new, rank=0.1 * nth)


def _element_of(spot: Spot, node: Node) -> str:
    """The array of which an expression is an element, and nothing more: `ptr` for `ptr[row + 1]`."""
    tokens = spot.source.tokens
    whole = node.kind == "leaf" and node.last - node.first > _INDEX and tokens[node.first].kind == "name"
    closed = (
        whole
        and tokens[node.first + 1].text == "["
        and spot.source.partner.get(node.first + 1) == node.last - 1
    )
    return tokens[node.first].text if closed else ""


_INDEX = 3
"""Words of `x[i]`, but for one."""


def made_of(spot: Spot) -> Iterator[Rewrite]:
    """`columns` for `length`, which is `min(lengths[row], columns)`: a name that another one is made of."""
    values = {name: value for name, value in spot.given if value.last <= spot.within.start}
    for one in spot.scope.operands:
        value = values.get(one.text) if one.first in spot.within and one.sort == "integer" else None
        if value is None:
            continue
        inside = dict.fromkeys(
            other.text
            for other in spot.scope.operands
            if value.first <= other.first < value.last and other.sort == "integer"
        )
        names = [name for name in inside if name in spot.names and name != one.text]
        for nth, name in enumerate(names[:_MOST]):
            yield replace(spot.replace(one.first, one.last, name, "made_of"), rank=0.1 * nth)
