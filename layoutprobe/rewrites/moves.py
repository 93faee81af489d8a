"""A statement in another block, or a test that leaves one in another place: an early exit behind the barrier."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import heads_around, indent
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.whole import before, behind, end_of

_MOST = 8
"""Statements that an early exit may be moved behind, or before."""
_LEAVE = ("return", "continue", "break")


def moves(spot: Spot) -> Iterator[Rewrite]:
    """`stage(); __syncthreads(); if (row >= rows) return;` for an exit before that; `total += all;` behind its block,
    before it, or in the one beside."""
    source, first = spot.source, spot.within.start
    last = end_of(source, first) if spot.within else None
    if last is None or source.parent[first] < 0:
        return
    whole = range(first, last + 1)
    if _leaves(source, spot.within, last):
        yield from _later(source, whole)
        yield from _earlier(source, whole)
    elif last == spot.within.stop and _is_moved(source, spot.within):
        yield from _into(source, whole)
        yield from _out_of(spot, whole)


def _leaves(source: Source, head: range, last: int) -> bool:
    """Whether a statement is a test that leaves a function or a pass, and does nothing else."""
    tokens = source.tokens
    if tokens[head.start].text != "if" or head.start + 1 not in source.partner:
        return False
    body = [tokens[i].text for i in range(source.partner[head.start + 1] + 1, last + 1)]
    return [text for text in body if text not in ("{", "}", ";")] in [[word] for word in _LEAVE]


def _is_moved(source: Source, within: range) -> bool:
    """Whether a statement may belong to another block: it declares nothing, and is no barrier, which has moves of its
    own."""
    head = source.tokens[within.start].text
    return head not in (*_LEAVE, "__syncthreads") and not any(i in within for i in declared_in(source))


def _later(source: Source, one: range) -> Iterator[Rewrite]:
    """An early exit behind statements that follow; a barrier among them is a reason."""
    start, blanks = source.tokens[one.start].start, indent(source, one.start)
    waited = False
    for nth, other in enumerate(islice(behind(source, one.stop - 1), _MOST)):
        waits = "__syncthreads" in source.written(other)
        end = source.tokens[other.stop - 1].end
        rest = source.text[source.tokens[one.stop].start : end]
        new = Rewrite(start, end, f"{rest}\n{blanks}{source.written(one)}", "moves")
        yield replace(new, rank=0.1 * nth - _WAITED * (waits and not waited))
        waited |= waits


_WAITED = 1.0
"""How much likelier an exit belongs behind the first barrier that follows."""


def _earlier(source: Source, one: range) -> Iterator[Rewrite]:
    """An early exit before statements that it follows, where they declare nothing of it."""
    end, needs = source.tokens[one.stop - 1].end, free_words(source.written(one))
    for nth, other in enumerate(islice(before(source, one.start), _MOST)):
        if needs & {source.tokens[i].text for i in declared_in(source) if i in other}:
            return
        start, blanks = source.tokens[other.start].start, indent(source, other.start)
        rest = source.text[start : source.tokens[one.start - 1].end]
        new = Rewrite(start, end, f"{source.written(one)}\n{blanks}{rest}", "moves")
        yield replace(new, rank=0.2 + 0.1 * nth)


def _into(source: Source, one: range) -> Iterator[Rewrite]:
    """A statement as the last one of the block before it, or the first one of that behind it."""
    tokens, text = source.tokens, source.written(one)
    closes = one.start - 1
    if (
        tokens[closes].text == "}"
        and source.is_block(closes)
        and _is_of_branch(source, source.partner[closes])
    ):
        inside = indent(source, max(closes - 1, 0))
        gap = source.text[tokens[closes - 1].end : tokens[closes].end]
        start, end = tokens[closes - 1].end, tokens[one.stop - 1].end
        yield Rewrite(start, end, f"\n{inside}{text}{gap}", "moves")
    head = source.around(one.stop) if one.stop < len(tokens) else range(0)
    if head.start == one.stop and source.is_block(head.stop) and _is_of_branch(source, head.stop):
        inside = indent(source, head.stop + 1)
        start, end = tokens[one.start].start, tokens[head.stop].end
        yield Rewrite(start, end, f"{source.slice(head.start, head.stop + 1)}\n{inside}{text}", "moves")


def _out_of(spot: Spot, one: range) -> Iterator[Rewrite]:
    """The last statement of a block behind it, or the first one before it, where it needs nothing of it alone."""
    source, tokens = spot.source, spot.source.tokens
    opens, closes = one.start - 1, one.stop
    around = next(heads_around(source, one.start), None)
    if around is None or around[0] not in _BRANCHES or around[2][0] not in spot.function:
        return
    text, (begins, ends) = source.written(one), around[2]
    needs = free_words(text) & {name for name, *_ in spot.scope.ranges}
    if closes == ends and source.word(ends + 1) != "else" and needs <= spot.scope.at(ends).keys():
        rest = source.text[tokens[one.start - 1].end : tokens[one.start].start]
        new = (
            f"{source.text[tokens[one.stop - 1].end : tokens[ends].end]}{_of_line(rest, source, ends)}{text}"
        )
        yield Rewrite(tokens[one.start - 1].end, tokens[ends].end, new, "moves")
    head = source.around(source.partner[begins - 1]).start
    if opens == begins and needs <= spot.scope.at(head).keys():
        start, end = _before_pragma(source, head), tokens[one.stop - 1].end
        rest = source.text[start : tokens[begins].end]
        yield Rewrite(start, end, f"{text}\n{indent(source, head)}{rest}", "moves")


_BRANCHES = ("if", "for", "while")


def _is_of_branch(source: Source, brace: int) -> bool:
    opened = source.partner.get(brace - 1, 0)
    return opened > 0 and source.tokens[opened - 1].text in _BRANCHES


def _of_line(gap: str, source: Source, ends: int) -> str:
    """What stands between a block and a statement behind it: a line, where its own statements have one each."""
    return f"\n{indent(source, ends)}" if "\n" in gap else " "


def _before_pragma(source: Source, head: int) -> int:
    """Where a loop begins in the text, with what is said of it before."""
    start = source.tokens[head].start
    gap = source.text[source.tokens[head - 1].end : start] if head else ""
    return start - len(gap) + gap.index("#pragma") if "#pragma" in gap else start
