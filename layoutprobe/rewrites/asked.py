"""Tests that a condition may lack: as they stand elsewhere in the file, or of a name here and a bound of others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.rewrites.known import known_here, parameters, start_of
from layoutprobe.rewrites.omitted import ends
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.statements import Source, free_words, words
from layoutprobe.source.tree import Node, forest

_HERE = 8
"""How much more what stands in the same function counts."""
_LONGEST = 9
"""Tokens of a test."""


def asked(spot: Spot) -> Iterator[Rewrite]:
    """One test more in a condition: as one stands elsewhere in the file, or of a name here and a bound of others."""
    own = {spot.text(node) for node in spot.tree.walk()}
    texts = [text for text in _tests(spot) if text not in own][:_MOST_TESTS]
    for nth, text in enumerate(texts):
        for node, sign in _conditions(spot):
            test = text if sign == "&&" else _negated(text)
            rank = 0.06 * nth
            behind = f" {sign} {test}"
            if node.kind == "any" and sign == "&&":
                whole = f"({spot.text(node)}){behind}"
                yield replace(spot.replace(node.first, node.last, whole, "asked"), rank=rank)
            else:
                yield replace(spot.behind(node.last - 1, behind, "asked"), rank=rank)


def first_asked(spot: Spot) -> Iterator[Rewrite]:
    """`if (first + i < cols)` before a store that nothing guards, with a test as others are or may be."""
    found, tokens = spot.assignment(spot.tree), spot.source.tokens
    head = tokens[spot.within.start]
    if found is None or head.text in _HEADS or not spot.text(found[1]).endswith("]") or not ends(spot):
        return
    target = set(words(spot.text(found[1])))

    def far(text: str) -> tuple[bool, bool]:
        whole = re.split(r" [<>=!]", text)[0] in spot.text(found[1])
        return not whole, target.isdisjoint(words(text.partition(" ")[0]))

    for nth, text in enumerate(sorted(_tests(spot), key=far)[:_MOST_FIRST]):
        yield replace(Rewrite(head.start, head.start, f"if ({text}) ", "first_asked"), rank=0.1 * nth)


_HEADS = ("if", "for", "while", "else", "return")
_MOST_FIRST = 12


def past(spot: Spot) -> Iterator[Rewrite]:
    """`head - heads` for `head`, which the function holds against `heads`: what is beyond begins at zero again."""
    tokens, own = spot.source.tokens, spot.within
    here = {one.left: one.right for one in _compared(spot.source) if one.function == spot.function.start}
    for one in spot.scope.operands:
        bound = here.get(one.text) if one.first in own and one.sort == "integer" else None
        if bound is None or bound == "0" or not free_words(bound) <= spot.heads:
            continue
        beside = {tokens[at].text for at in (one.first - 1, one.last) if 0 <= at < len(tokens)}
        alone = beside <= {"(", ",", ")", "[", "]", ";"}
        if beside.isdisjoint(("<", ">", "<=", ">=", "=", "++")):
            text = f"{one.text} - {bound}"
            yield spot.replace(one.first, one.last, text if alone else f"({text})", "past")


_MOST_TESTS = 30
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _negated(text: str) -> str:
    """`i >= n` for `i < n`."""
    for sign, other in _OPPOSITE.items():
        if f" {sign} " in text:
            return text.replace(f" {sign} ", f" {other} ", 1)
    return f"!({text})"


def _conditions(spot: Spot) -> Iterator[tuple[Node, str]]:
    """Conditions of a statement, with the sign that a further test gets there."""
    tokens = spot.source.tokens
    leaves = tokens[spot.within.stop - 1].text in ("return", "continue", "break") or any(
        tokens[i].text in ("return", "continue") for i in spot.within
    )
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts):
            head = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else part
            tests = head.kind in ("comparison", "equality", "all", "any")
            if node.kind == "call" and tokens[node.first - 1].text == "for":
                continue
            if tests and node.kind not in ("all", "any", "comparison", "equality"):
                early = leaves and node.kind == "call" and tokens[node.first - 1].text == "if"
                yield head, "||" if early else "&&"
            elif node.kind == "choice" and not nth and head.kind == "leaf":
                yield head, "&&"
    if tokens[spot.within.start].text == "return" and spot.tree.kind in ("comparison", "all"):
        yield spot.tree, "&&"


def _tests(spot: Spot) -> list[str]:
    """Tests that are known here, the likeliest first: as others are, or of an index and a bound that others have."""
    own = {text for node in spot.tree.walk() if node.kind in _COMPARED for text in words(spot.text(node))}
    often, bounds = Counter[str](), Counter[str]()
    for one in _compared(spot.source):
        if not known_here(spot, one.names):
            continue
        weight = _HERE if one.function == spot.function.start else 1
        often[f"{one.left} {one.sign} {one.right}"] += weight
        if one.sign in ("<", ">="):
            bounds[one.right] += weight
    told = [text for text, _ in often.most_common()]
    made = _bounded(spot, own, bounds)
    new = [text for text in told if not set(words(text)) <= own]
    rest = [text for text in told if set(words(text)) <= own]
    both = [text for pair in zip_longest(new, made) for text in pair if text is not None]
    return list(dict.fromkeys((*both, *rest)))


def _bounded(spot: Spot, own: set[str], bounds: Counter[str]) -> list[str]:
    """`index < bound` of integers that are near, and of what bounds others, or is handed over and may be a bound."""
    integers = [one.text for one in spot.names.values() if one.sort == "integer"]
    limits = _limits(spot, integers, bounds)
    guarded = range(spot.within.start, min(spot.within.stop + _GUARDED, spot.function.stop))
    text = spot.source.slice(guarded.start, guarded.stop)
    here = set(words(text))
    names = [one for one in integers if one not in bounds and not one.isupper()]
    near = sorted(names, key=lambda name: name not in here)[:_INDICES]
    found = (*_SUM.findall(text), *_scaled_sums(spot, guarded))
    sums = [one for one in dict.fromkeys(found) if free_words(one) <= spot.heads]

    def late(pair: tuple[str, str]) -> float:
        index, bound = pair
        last, used = (words(bound)[-1:] or [bound])[0], set(words(index))
        alike = min(len(last), len(index)) <= _LETTERS and last.lower()[0] == index.lower()[0]
        known = len(used & own) / len(used) + (last in own)
        told = alike + (used <= here) + (bound in spot.unused)
        return known - told + bound.isdecimal() + limits.index(bound) / 8

    pairs = [(index, bound) for index in (*sums[:_INDICES], *near) for bound in limits if index != bound]
    tests = [f"{index} < {bound}" for index, bound in sorted(pairs, key=late)]
    return [*tests, *(f"{name} >= 0" for name in near[:_LOWEST])]


def _scaled_sums(spot: Spot, within: range) -> Iterator[str]:
    """`k0 + s * 16` of `p + row * k + k0 + s * 16`: how a sum ends, where a part is counted by a number."""
    for tree in forest(spot.source, within.start, within.stop):
        for node in tree.walk():
            ends = node.parts[-2:] if node.kind == "sum" else ()
            if len(ends) == _ENDS and any(_BY_NUMBER.search(spot.text(part)) for part in ends):
                text = spot.source.slice(ends[0].first, ends[1].last)
                if "-" not in text and all(spot.sorts(part) == {"integer"} for part in ends):
                    yield text


_ENDS = 2
_BY_NUMBER = re.compile(r"\* *\d+$")


def _limits(spot: Spot, integers: Sequence[str], bounds: Counter[str]) -> list[str]:
    """What bounds indices: what is compared with, parameters, and members beside such."""
    known = [text for text, _ in bounds.most_common(_BOUNDS)]
    heads = {text.rpartition(".")[0] for text in known if "." in text}
    beside = [name for name in integers if "." in name and name.rpartition(".")[0] in heads]
    handed = [name for name in integers if name in parameters(spot.source, spot.function)]
    return list(dict.fromkeys((*known, *beside, *handed)))[: 2 * _BOUNDS]


_SUM = re.compile(
    r"(?<![\w.*/%] )(?<![\w.>])((?:\([A-Za-z_]\w*\)|\b[A-Za-z_][\w.]*) \+ [A-Za-z_]\w*)\b(?! *[*/%.(\[])"
)
_GUARDED = 40
"""Words behind a test that are likely to be under it."""
_INDICES, _BOUNDS, _LETTERS, _LOWEST = 10, 6, 2, 3
_COMPARED = ("comparison", "equality")


class _Compared(Struct, frozen=True):
    """A comparison: its sides, the words in it, and where the function begins that has it."""

    left: str
    sign: str
    right: str
    names: frozenset[str]
    function: int


@lru_cache(maxsize=32)
def _compared(source: Source) -> list[_Compared]:
    """All comparisons of a file."""
    found = list[_Compared]()
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            if node.kind in _COMPARED and len(node.parts) == 2 and node.last - node.first <= _LONGEST:
                one, other = node.parts
                first = one.first + (source.tokens[one.first].text == "return")
                sides = source.slice(first, one.last), source.slice(other.first, other.last)
                names = frozenset(free_words(" ".join(sides)))
                sign = source.tokens[other.first - 1].text
                found.append(_Compared(sides[0], sign, sides[1], names, start_of(source, node.first)))
    return found
