"""A statement behind those that follow it, where one gives what another needs, or spoils it; or before a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import heads_around, indent
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import parse

_MOST = 3
"""Statements that one may be moved behind."""


def orders(spot: Spot) -> Iterator[Rewrite]:
    """`f = g(m); m = top;` for `m = top; f = g(m);`, and the reverse; what a loop declares, before it."""
    source, here = spot.source, spot.within
    yield from _once_more_behind(spot)
    if not _is_plain(source, here):
        return
    yield from _before_loop(source, here)
    yield from _into_loop(spot)
    yield from _with_what_was(spot)
    yield from _behind_loop(spot)
    behind = list(_behind(source, here))
    for nth in range(len(behind)):
        yield from _moved(source, here, behind[: nth + 1], 0.3 * nth)
    before = _before(source, here)
    if before is not None:
        yield from _moved(source, before, [here], 0.1)


def _before_loop(source: Source, here: range) -> Iterator[Rewrite]:
    """What is declared with a number in a loop, before that: it keeps what it has from one pass to the next."""
    tokens, block = source.tokens, source.block_around(here.start)
    begins = (
        here.start + 2 < here.stop
        and tokens[here.stop - 2].text == "="
        and tokens[here.stop - 1].kind == "number"
    )
    opened = source.partner.get(block[0] - 1, 0) if block is not None and block[0] else 0
    if begins and tokens[here.stop - 3].kind == "name" and opened and tokens[opened - 1].text == "for":
        start, end = tokens[opened - 1].start, tokens[here.stop].end
        loop = source.text[start : tokens[here.start].start].rstrip()
        text = f"{source.slice(here.start, here.stop)};\n{indent(source, opened - 1)}{loop}"
        yield replace(Rewrite(start, end, text, "orders"), rank=-0.2)


def _into_loop(spot: Spot) -> Iterator[Rewrite]:
    """`sum = 0; for (...) {` as `for (...) { sum = 0;`: what each pass begins with."""
    source, here, tokens = spot.source, spot.within, spot.source.tokens
    head = here.stop + 1
    if spot.tree.kind != "assignment" or head + 1 >= len(tokens) or tokens[head].text not in ("for", "while"):
        return
    opened = source.partner.get(head + 1, head) + 1
    declares = any(i in here for i in declared_in(source))
    if not declares and opened < len(tokens) and source.is_block(opened):
        start, end = tokens[here.start].start, tokens[opened].end
        loop = source.slice(head, opened + 1)
        text = f"{loop}\n{indent(source, head)}  {source.slice(here.start, here.stop)};"
        yield replace(Rewrite(start, end, text, "orders"), rank=-0.2)


def _once_more_behind(spot: Spot) -> Iterator[Rewrite]:
    """What a loop does whenever something new begins, behind the loop too, for the last: `run.flush(y);`."""
    source, here, tokens = spot.source, spot.within, spot.source.tokens
    calls = spot.tree.kind == "call" or (spot.tree.kind == "leaf" and tokens[here.stop - 1].text == ")")
    if not calls or here.stop >= len(tokens) or tokens[here.stop].text != ";":
        return
    asked = False
    for head, opened, block in heads_around(source, here.start):
        asked |= head == "if"
        if block[0] not in spot.function:
            return
        if head in ("for", "while") and asked:
            end = tokens[block[1]].end
            text = f"\n{indent(source, opened - 1)}{source.slice(here.start, here.stop)};"
            if _is_known_behind(spot, text, block):
                yield Rewrite(end, end, text, "orders")
            return


def _is_known_behind(spot: Spot, text: str, block: tuple[int, int]) -> bool:
    """Whether a text needs nothing that a block alone knows."""
    needed = free_words(text) & {name for name, *_ in spot.scope.ranges}
    return needed <= spot.scope.at(block[1]).keys()


def _with_what_was(spot: Spot) -> Iterator[Rewrite]:
    """`before = a; a = f(a, b); b = g(before, b);` for `a = f(a, b); b = g(a, b);`: the second one needs what was."""
    source, here, assigned = spot.source, spot.within, spot.assignment(spot.tree)
    if assigned is None or assigned[0] != "=" or any(i in here for i in declared_in(source)):
        return
    target = spot.text(assigned[1])
    name = re.sub(r"\W+", "_", target).strip("_") + "_before"
    for behind in islice(_behind(source, here), _MOST):
        parts = parse(source, behind).parts
        value = parts[-1] if len(parts) > 1 else None
        text = source.slice(value.first, value.last) if value is not None else ""
        new = re.sub(rf"(?<![\w.>\]]){re.escape(target)}(?![\w\[])", name, text)
        if value is not None and new != text:
            start, end = source.tokens[here.start].start, source.tokens[value.last - 1].end
            rest = source.text[start : source.tokens[value.first].start]
            blank = f"\n{indent(source, here.start)}"
            yield replace(
                Rewrite(start, end, f"const auto {name} = {target};{blank}{rest}{new}", "orders"), rank=-0.4
            )
            return


def _behind_loop(spot: Spot) -> Iterator[Rewrite]:
    """`sum += bias[i];` behind a loop, with what is asked before it: where it needs nothing that the loop alone
    knows."""
    source, here, asked, nth = spot.source, spot.within, "", 0
    if spot.assignment(spot.tree) is None:
        return
    for head, opened, block in heads_around(source, here.start):
        if block[0] not in spot.function or nth >= _MOST:
            return
        if head == "if":
            asked = f"{source.slice(opened - 1, block[0])} {asked}"
        text = f"{asked}{source.slice(here.start, here.stop)};"
        if head in ("for", "while"):
            if _is_known_behind(spot, text, block):
                start, end = source.tokens[here.start].start, source.tokens[block[1]].end
                rest = source.text[source.tokens[here.stop].end : end].lstrip()
                new = Rewrite(start, end, f"{rest}\n{indent(source, block[1])}{text}", "orders")
                yield replace(new, rank=0.2 + 0.3 * nth)
            nth += 1


def _moved(source: Source, one: range, others: list[range], rank: float) -> Iterator[Rewrite]:
    """One statement behind others, where that makes a difference, and all names are known as before."""
    declares = {source.tokens[i].text for i in one if i in declared_in(source)}
    used = set[str]().union(*(free_words(source.slice(other.start, other.stop)) for other in others))
    own = free_words(source.slice(one.start, one.stop))
    given = set[str]().union(*(_assigned(source, other) for other in others))
    if declares & used or not (_assigned(source, one) & used or given & own):
        return
    start, end = source.tokens[one.start].start, source.tokens[others[-1].stop].end
    rest = source.text[source.tokens[others[0].start].start : end]
    text = f"{rest}\n{indent(source, one.start)}{source.slice(one.start, one.stop)};"
    yield replace(Rewrite(start, end, text, "orders"), rank=rank)


def _assigned(source: Source, within: range) -> set[str]:
    """Names that a statement gives values, or parts of what they name."""
    tree = parse(source, within)
    pieces = tree.parts if tree.kind == "list" else (tree,)
    heads = [piece.parts[0] for piece in pieces if piece.kind == "assignment" and piece.parts]
    found = {source.tokens[i].text for i in within if i in declared_in(source)}
    if source.tokens[within.stop - 1].text == ")" and not heads:  # a call may change what it is given
        found |= free_words(source.slice(within.start, within.stop))
    plain = [head for head in heads if declared_in(source).isdisjoint(range(head.first, head.last))]
    return found | {source.tokens[head.first].text for head in plain}


def _is_plain(source: Source, within: range) -> bool:
    """Whether a statement ends by itself, and holds no other one."""
    tokens = source.tokens
    ended = within.stop < len(tokens) and tokens[within.stop].text == ";"
    return ended and bool(within) and not any(source.is_block(i) or tokens[i].text in _HEADS for i in within)


_HEADS = ("for", "if", "while", "return", "else", "do", "case", "break", "continue", "using", "typedef")


def _behind(source: Source, here: range) -> Iterator[range]:
    """Plain statements that follow."""
    for _ in range(_MOST):
        first = here.stop + 1
        if first >= len(source.tokens) or source.tokens[first].text in ("}", "{"):
            return
        here = source.around(first)
        if not _is_plain(source, here):
            return
        yield here


def _before(source: Source, here: range) -> range | None:
    """The plain statement before."""
    if here.start < 2 or source.tokens[here.start - 1].text != ";":
        return None
    found = source.around(here.start - 2)
    return found if _is_plain(source, found) and found.stop == here.start - 1 else None
