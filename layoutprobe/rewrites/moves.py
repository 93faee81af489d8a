"""A statement in another block, or a test that leaves one in another place: an early exit behind the barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.barriers import LESSER
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import heads_around, indent
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.whole import before, behind, end_of

_MOST = 8
"""Statements that an early exit may be moved behind, or before."""
_RACES = re.compile(r"\boverwrites\b")
_LEAVE = ("return", "continue", "break")


def moves(spot: Spot) -> Iterator[Rewrite]:
    """`stage(); __syncthreads(); if (row >= rows) return;` for an exit before that; `total += all;` behind its block,
    before it, or in the one beside."""
    source, first = spot.source, spot.within.start
    last = end_of(source, first) if spot.within else None
    if last is None or source.parent[first] < 0:
        return
    whole = range(first, last + 1)
    if _is_early_exit(spot):
        yield spot.replace(first, last + 1, ";", "moves")
    if _leaves(source, spot.within, last):
        yield from _later(source, whole)
        yield from _earlier(source, whole)
    elif last == spot.within.stop:
        yield from _kept(source, spot.within)
        yield from _once_more(spot, whole)
        if _RACES.search(spot.said) and "[" in source.written(
            whole
        ):  # what is loaded before it is overwritten
            yield from (replace(one, rank=one.rank - _WAITED) for one in _earlier(source, whole))
        if _is_moved(source, spot.within):
            yield from _into(source, whole)
            yield from _out_of(spot, whole)


def _leaves(source: Source, head: range, last: int) -> bool:
    """Whether a statement is a test that leaves a function or a pass, and does nothing else."""
    tokens = source.tokens
    if tokens[head.start].text != "if" or head.start + 1 not in source.partner:
        return False
    body = [tokens[i].text for i in range(source.partner[head.start + 1] + 1, last + 1)]
    return [text for text in body if text not in ("{", "}", ";")] in [[word] for word in _LEAVE]


def _is_early_exit(spot: Spot) -> bool:
    """Whether a statement is a bare `return` in a block behind others: what follows may be for everybody."""
    source, within = spot.source, spot.within
    alone = source.slice(within.start, within.stop) == "return"
    behind = source.word(within.start - 1) in (";", "}")
    return alone and behind and source.parent[within.start] > spot.function.start


def _is_moved(source: Source, within: range) -> bool:
    """Whether a statement may belong to another block: it declares nothing, and is no barrier or fence: those
    have moves of their own."""
    head = source.tokens[within.start].text
    waits = head == "__syncthreads" or head in LESSER
    declares = any(i in within for i in declared_in(source))
    return len(within) > 1 and head not in _LEAVE and not waits and not declares


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
    """A statement before those that it follows, where they declare nothing of it."""
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
    yield from _under_test_before(source, one)
    head = source.around(one.stop) if one.stop < len(tokens) else range(0)
    if head.start == one.stop and source.is_block(head.stop) and _is_of_branch(source, head.stop):
        inside = indent(source, head.stop + 1)
        start, end = tokens[one.start].start, tokens[head.stop].end
        new = f"{source.slice(head.start, head.stop + 1)}\n{inside}{text}"
        begins = tokens[head.start].text in _LOOPS  # what each pass begins with
        yield Rewrite(start, end, new, "moves", -0.2 if begins else 0.0)


def _under_test_before(source: Source, one: range) -> Iterator[Rewrite]:
    """`if (a) { b; c; }` for `if (a) b; c;`."""
    tokens, other = source.tokens, next(before(source, one.start), range(0))
    if not other or tokens[other.start].text not in _BRANCHES or tokens[other.stop - 1].text != ";":
        return
    begins = source.partner.get(other.start + 1, other.start) + 1
    if begins < other.stop and not source.is_block(begins) and tokens[begins].text not in _BRANCHES:
        start, end = tokens[begins].start, tokens[one.stop - 1].end
        yield Rewrite(start, end, f"{{ {source.text[start:end]} }}", "moves", -0.2)


def _out_of(spot: Spot, one: range) -> Iterator[Rewrite]:
    """A statement behind the loops that it is in, with what is asked before it; the last one of a branch behind that,
    and the first one of a block before it. Where it needs nothing of the block alone."""
    source, tokens, nth, asked = spot.source, spot.source.tokens, 0, ""
    text = source.written(one)
    for head, opened, (begins, ends) in heads_around(source, one.start):
        if begins not in spot.function or nth >= _MOST_LOOPS:
            return
        at_end = not asked and not nth and one.stop == ends and source.word(ends + 1) != "else"
        if (head in _LOOPS or (head == "if" and at_end)) and _is_known(spot, asked + text, ends):
            rest = source.text[tokens[one.start - 1].end : tokens[one.start].start]
            left = source.text[tokens[one.stop - 1].end : tokens[ends].end]
            new = f"{left}{_of_line(rest, source, ends)}{asked}{text}"
            yield Rewrite(tokens[one.start - 1].end, tokens[ends].end, new, "moves", 0.3 * nth)
        if head in _BRANCHES and not asked and not nth and one.start == begins + 1:
            yield from _before_block(spot, one, begins)
        nth += head in _LOOPS
        asked = f"{source.slice(opened - 1, begins)} {asked}" if head == "if" else asked


def _before_block(spot: Spot, one: range, begins: int) -> Iterator[Rewrite]:
    """The first statement of a block before its head."""
    source, tokens = spot.source, spot.source.tokens
    head = source.around(source.partner[begins - 1]).start
    text = source.written(one)
    if _is_known(spot, text, head):
        start, end = _before_pragma(source, head), tokens[one.stop - 1].end
        rest = source.text[start : tokens[begins].end]
        yield Rewrite(start, end, f"{text}\n{indent(source, head)}{rest}", "moves")


def _kept(source: Source, here: range) -> Iterator[Rewrite]:
    """What is declared with a number in a loop, before that: it keeps what it has from one pass to the next."""
    tokens, block = source.tokens, source.block_around(here.start)
    declared = here.stop - here.start > 2 and tokens[here.stop - 2].text == "="
    number = tokens[here.stop - 1].kind == "number" and tokens[here.stop - 3].kind == "name"
    opened = source.partner.get(block[0] - 1, 0) if block is not None and block[0] else 0
    if declared and number and opened and tokens[opened - 1].text == "for":
        start, end = _before_pragma(source, opened - 1), tokens[here.stop].end
        loop = source.text[start : tokens[here.start].start].rstrip()
        text = f"{source.slice(here.start, here.stop)};\n{indent(source, opened - 1)}{loop}"
        yield Rewrite(start, end, text, "moves", -0.2)


def _once_more(spot: Spot, one: range) -> Iterator[Rewrite]:
    """What a loop does whenever something new begins, behind the loop too, for the last: `run.flush(y);`."""
    source, asked = spot.source, False
    calls = source.tokens[one.stop - 2].text == ")" and spot.tree.kind in ("call", "leaf")
    for head, opened, block in heads_around(source, one.start) if calls else ():
        asked |= head == "if"
        if block[0] not in spot.function:
            return
        if head in _LOOPS and asked:
            end, text = source.tokens[block[1]].end, source.written(one)
            if _is_known(spot, text, block[1]):
                yield Rewrite(end, end, f"\n{indent(source, opened - 1)}{text}", "moves")
            return


def _is_known(spot: Spot, text: str, at: int) -> bool:
    """Whether a text needs nothing there that a block alone knows."""
    needed = free_words(text) & {name for name, *_ in spot.scope.ranges}
    return needed <= spot.scope.at(at).keys()


_LOOPS = ("for", "while")
_BRANCHES = ("if", *_LOOPS)
_MOST_LOOPS = 3
"""Loops around a statement that it may be moved behind."""


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
