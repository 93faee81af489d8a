"""A statement behind those that follow it, where one gives what another needs, or spoils it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source import whole
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import indent
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import Node, parse

_MOST = 3
"""Statements that one may be moved behind."""


def orders(spot: Spot) -> Iterator[Rewrite]:
    """`f = g(m); m = top;` for `m = top; f = g(m);`, and the reverse."""
    source, here = spot.source, spot.within
    if not _is_plain(source, here):
        return
    yield from _with_what_was(spot)
    behind = list(_behind(source, here))
    for nth in range(len(behind)):
        yield from _moved(source, here, behind[: nth + 1], 0.3 * nth)
    before = _before(source, here)
    if before is not None:
        yield from _moved(source, before, [here], 0.1)
    yield from _past_blocks(source, range(here.start, here.stop + 1))


def _past_blocks(source: Source, one: range) -> Iterator[Rewrite]:
    """`for (k) x -= l[k] * y[k]; x /= l[i];` for the division before the loop, and the reverse."""
    if any(i in one for i in declared_in(source)):
        return
    first, last = source.tokens[one.start].start, source.tokens[one.stop - 1].end
    text, blank = source.written(one), f"\n{indent(source, one.start)}"
    block = next(whole.behind(source, one.stop - 1), None)
    if block is not None and _spoils(source, one, block):
        end = source.tokens[block.stop - 1].end
        new = Rewrite(first, end, f"{source.text[last:end].strip()}{blank}{text}", "orders")
        yield replace(new, rank=0.2)
    block = next(whole.before(source, one.start), None)
    if block is not None and _spoils(source, one, block):
        start, end = source.tokens[block.start].start, source.tokens[block.stop - 1].end
        if said := _PRAGMAS.search(source.text[:start]):  # of the loop, before which it stays
            start = said.start()
        yield replace(Rewrite(start, last, f"{text}{blank}{source.text[start:end]}", "orders"), rank=0.2)


def _spoils(source: Source, one: range, block: range) -> bool:
    """Whether a statement gives a value to what a loop or a branch uses."""
    given = _assigned(source, range(one.start, one.stop - 1))
    return source.tokens[block.start].text in _HEADS[:3] and not given.isdisjoint(
        free_words(source.written(block))
    )


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
        yield from _stored_later(spot, assigned, behind)
        if value is None:
            return


def _stored_later(spot: Spot, assigned: tuple[str, Node, Node], behind: range) -> Iterator[Rewrite]:
    """`t = f(a); r.y = g(a); r.x = t;` for `r.x = f(a); r.y = g(a);`: a may be r."""
    source, (_, target, value) = spot.source, assigned
    if re.search(r"\.|->|\[|\*", spot.text(target)) and source.word(target.first) != "if":
        start, end = source.tokens[spot.within.start].start, source.tokens[behind.stop].end
        blank = f"\n{indent(source, spot.within.start)}"
        first = f"const auto lp_kept = {spot.text(value)};{blank}"
        text = f"{first}{source.written(range(behind.start, behind.stop + 1))}{blank}{spot.text(target)} = lp_kept;"
        yield replace(Rewrite(start, end, text, "orders"), rank=0.3)


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
    firsts = (
        source.partner.get(one.first + 1, one.first) + 1 if source.word(one.first) == "if" else one.first
        for one in plain
    )
    return found | {source.word(first) for first in firsts}


def _is_plain(source: Source, within: range) -> bool:
    """Whether a statement ends by itself, and holds no other one; it may be under a test, without braces."""
    tokens = source.tokens
    ended = within.stop < len(tokens) and tokens[within.stop].text == ";"
    if not ended or not within:
        return False
    tested = tokens[within.start].text == "if" and source.word(within.stop + 1) != "else"
    words = within[1:] if tested else within
    return not any(source.is_block(i) or tokens[i].text in _HEADS for i in words)


_PRAGMAS = re.compile(r"(?:#[^\n]*\n[ \t]*)*$")
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
