"""What a file has elsewhere in the same place: another value of a name, a factor of the sum beside."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.statements import Source, free_words
from layoutprobe.source.tree import Node

_MOST, _LONGEST = 4, 24
"""Values that are tried for one, and tokens that one of them has at most."""
_NEAR = 3
"""Statements before and behind that are looked at."""


def elsewhere(spot: Spot) -> Iterator[Rewrite]:
    """`row = m0 + quad * 4 + v` for `row = m0 + lane`, where another part of the file gives a `row` that value;
    `den += f * part` for `den += part` beside `num += f * other`; `u[1] = x[i + HALF]` behind `u[0] = x[i]`."""
    yield from _values(spot)
    yield from _factors(spot)
    yield from _copies(spot)
    yield from _shuffled(spot)
    yield from _members(spot)
    yield from _of_copied_calls(spot)


def _values(spot: Spot) -> Iterator[Rewrite]:
    """What a name that is declared here is elsewhere, in names that are known here."""
    tokens, declared = spot.source.tokens, declared_in(spot.source)
    for piece in spot.pieces:
        if piece.kind != "assignment" or len(piece.parts) != 2 or piece.parts[0].last - 1 not in declared:
            continue
        value, name = piece.parts[1], tokens[piece.parts[0].last - 1].text
        texts = dict.fromkeys(text for source in spot.others for text in _given(source).get(name, ()))
        known = [text for text in texts if free_words(text) <= spot.heads | {*spot.names}]
        for nth, text in enumerate([one for one in known if one != spot.text(value)][:_MOST]):
            yield replace(spot.replace(value.first, value.last, text, "elsewhere"), rank=0.3 * nth)


@lru_cache(maxsize=32)
def _given(source: Source) -> Mapping[str, list[str]]:
    """Names of a file, and the values with which each is declared: from the sign of equality to what ends them."""
    tokens, found = source.tokens, defaultdict[str, list[str]](list)
    for i in sorted(declared_in(source)):
        if i + 2 >= len(tokens) or tokens[i + 1].text != "=":
            continue
        last = i + 2
        while last < len(tokens) and tokens[last].text not in (",", ";", ")") and last - i < _LONGEST:
            last = source.partner.get(last, last) + 1
        if last < len(tokens) and tokens[last].text in (",", ";"):
            found[tokens[i].text].append(source.slice(i + 2, last))
    return found


def _factors(spot: Spot) -> Iterator[Rewrite]:
    """Factors of what is added to another sum nearby."""
    for sign, _, value in (one for piece in spot.pieces if (one := spot.assignment(piece)) is not None):
        own = {spot.text(part) for node in value.walk() for part in (node, *node.parts)}
        loose = value.kind in ("sum", "choice", "comparison")
        text = f"({spot.text(value)})" if loose else spot.text(value)
        for name in _factors_beside(spot) if sign in ("+=", "-=") else ():
            if name not in own:
                yield spot.replace(value.first, value.last, f"{name} * {text}", "elsewhere")


def _factors_beside(spot: Spot) -> list[str]:
    """Real names by which a statement nearby multiplies what it adds."""
    found = dict[str, None]()
    here = next((n for n, tree in enumerate(spot.statements) if tree.first >= spot.within.start), 0)
    for tree in spot.statements[max(here - _NEAR, 0) : here + _NEAR + 1]:
        assigned = spot.assignment(tree)
        value: Node | None = assigned[2] if assigned is not None and assigned[0] in ("+=", "-=") else None
        for part in value.parts if value is not None and value.kind == "product" else ():
            if spot.text(part) in spot.names and spot.names[spot.text(part)].sort == "real":
                found.setdefault(spot.text(part))
    return list(found)[:_MOST]


def _copies(spot: Spot) -> Iterator[Rewrite]:
    """What is given to one element as to the one before: an index of it goes on by a constant."""
    assigned = spot.assignment(spot.tree)
    here = next((n for n, tree in enumerate(spot.statements) if tree.first == spot.tree.first), 0)
    before = spot.assignment(spot.statements[here - 1]) if here else None
    if assigned is None or before is None or spot.text(assigned[2]) != spot.text(before[2]):
        return
    if spot.text(assigned[1]) == spot.text(before[1]):
        return
    known = [one.text for one in spot.names.values() if one.sort == "integer" and one.text.isupper()]
    texts = [*_STEPS, *dict.fromkeys(known)][:_MOST_STEPS]
    for node in assigned[2].walk():
        for part in node.parts if node.kind == "index" else ():
            for nth, text in enumerate(texts):
                yield replace(spot.behind(part.last - 1, f" + {text}", "elsewhere"), rank=0.05 * nth - 0.5)


def _shuffled(spot: Spot) -> Iterator[Rewrite]:
    """`__shfl(scale, row, 64)` for `scale`, where the file has another lane's number so."""
    calls = dict.fromkeys(found for source in spot.others for found in _SHUFFLES.findall(source.text))
    known = [call for call in calls if free_words(call[1]) <= spot.heads | {*spot.names}]
    for node in spot.tree.walk():
        if node.kind == "leaf" and not node.parts and spot.sorts(node) == {"real"}:
            name = spot.text(node)
            for call, lane in [one for one in known if name.isidentifier()][:_MOST]:
                new = spot.replace(node.first, node.last, f"{call}({name}{lane})", "elsewhere")
                yield replace(new, rank=0.4)


def _members(spot: Spot) -> Iterator[Rewrite]:
    """`Pair{__shfl_xor(p.key, d), __shfl_xor(p.at, d)}` for `Pair{__shfl_xor(p.key, d), p.at}`."""
    for node in spot.tree.walk():
        texts = [spot.text(part) for part in node.parts] if node.kind in ("braces", "call", "list") else []
        calls = [found for text in texts if (found := _OF_MEMBER.fullmatch(text)) is not None]
        for part, text in zip(node.parts, texts, strict=False):
            for call in calls:
                if re.fullmatch(rf"{re.escape(call[2])}\w+", text):
                    new = spot.replace(part.first, part.last, f"{call[1]}({text}{call[3]})", "elsewhere")
                    yield replace(new, rank=-0.3)


def _of_copied_calls(spot: Spot) -> Iterator[Rewrite]:
    """`fetch(a[1], 1)` for `fetch(a[1], 0)` behind `fetch(a[0], 0)`: of the numbers of a copied call one stayed."""
    tokens = spot.source.tokens
    for name, opened in spot.source.calls(spot.within):
        mine = range(opened, spot.source.partner[opened])
        for other, there in spot.source.calls(range(spot.function.start, opened)):
            theirs = range(there, spot.source.partner[there])
            pairs = [(tokens[i].text, tokens[j].text) for i, j in zip(mine, theirs, strict=False)]
            same = other == name and len(mine) == len(theirs)
            if not same or not all(a == b or (a.isdecimal() and b.isdecimal()) for a, b in pairs):
                continue
            steps = {int(a) - int(b) for a, b in pairs if a != b}
            stayed = [i for i, (a, b) in zip(mine, pairs, strict=True) if a == b and a.isdecimal()]
            for i in stayed if len(steps) == 1 else ():
                new = spot.replace(i, i + 1, str(max(int(tokens[i].text) + min(steps), 0)), "elsewhere")
                yield replace(new, rank=-0.4)


_OF_MEMBER = re.compile(r"(\w+)\(\s*(\w+(?:\.|->))\w+(\s*(?:,[^;(){}]{1,60})?)\)")
_SHUFFLES = re.compile(r"\b(__shfl)\(\s*\w+(\s*,[^;(){}]{1,60})\)")
_STEPS, _MOST_STEPS = ("1", "2", "4", "8", "16"), 16
"""By what an index of a copied statement may go on."""
