"""Any other value that a function has, in place of an expression of which much says that it is wrong.

Nothing is asked of what they have to do with each other but their sort: so these are many, and for few expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from layoutprobe.rewrites.known import is_value, known_here
from layoutprobe.rewrites.places import places
from layoutprobe.rewrites.pool import behind
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.statements import free_words
from layoutprobe.source.tree import JOINED, Node

KIND = "substitutes"


def substitutes(spot: Spot, start: int, end: int) -> Iterator[Rewrite]:
    """Changes of the expression that stands from `start` to `end`, the likeliest first."""
    tokens = spot.source.tokens
    for node, parent in places(spot):
        first = spot.start(node)
        if (tokens[first].start, tokens[node.last - 1].end) == (start, end):
            names = _names(spot, node)
            others = dict.fromkeys((*names, *_values(spot, node), *_constants(spot, node)))
            found = [spot.replace(first, node.last, text, KIND) for text in others]
            more = [(sign, name) for name in names for sign in "*+-"][:_TERMS]
            terms = [one for pair in more if (one := behind(spot, node, parent, *pair)) is not None]
            mixed = (one for pair in zip_longest(found, terms) for one in pair if one is not None)
            yield from (replace(one, kind=KIND, rank=nth * _NEXT) for nth, one in enumerate(mixed))
            return


def _names(spot: Spot, node: Node) -> list[str]:
    """Names of its sort, those first that are near."""
    sort, own = _sort(spot, node), spot.text(node)
    if node.kind in _CONDITIONS:
        return []
    return [one.text for one in spot.names.values() if one.text != own and _fits(sort, one.sort)][:_MOST]


def _values(spot: Spot, node: Node) -> list[str]:
    """Short expressions of its sort that the function has, those first that are near."""
    sort, found = _sort(spot, node), dict[str, int]()
    for tree in spot.statements:
        for other in tree.walk():
            first = spot.start(other)
            if not 1 < other.last - first <= _SHORT or not is_value(spot.source, other):
                continue
            alike = (other.kind in _CONDITIONS) == (node.kind in _CONDITIONS)
            if alike and other.kind in _OF_VALUES and _fits(sort, _sort(spot, other)):
                text, far = spot.source.slice(first, other.last), abs(first - node.first)
                if known_here(spot, frozenset(free_words(text))):
                    found[text] = min(far, found.get(text, far))
    return sorted(found, key=lambda text: found[text])[:_MOST]


def _constants(spot: Spot, node: Node) -> list[str]:
    return ["true", "false"] if node.kind in _CONDITIONS else [
        text for sort, texts in _CONSTANTS.items() if _fits(_sort(spot, node), sort) for text in texts
    ]  # fmt: skip


def _sort(spot: Spot, node: Node) -> str:
    """ "integer", "real", or a type; "" where nothing tells."""
    if node.kind in _CONDITIONS:
        return ""
    if node.kind == "leaf" and len(node.parts) == 1 and node.parts[0].kind == "index":
        return spot.scope.elements.get(spot.source.tokens[node.first].text, "")
    if node.last - node.first == 1 and spot.source.tokens[node.first].kind == "number":
        return "real" if _REAL.search(spot.text(node)) else "integer"
    found = spot.sorts(node) - {""}
    return found.pop() if len(found) == 1 else ""


def _fits(one: str, other: str) -> bool:
    return not one or not other or one == other


_CONDITIONS = ("comparison", "equality", "all", "any")
_OF_VALUES = (*_CONDITIONS, *JOINED, "leaf")
_CONSTANTS = {"integer": ("0", "1"), "real": ("0.f", "1.f")}
_REAL = re.compile(r"^(?!0[xX]).*[.fF]")
_MOST, _SHORT, _TERMS = 40, 12, 60
"""Names and expressions of each kind; words of an expression; what is added to one."""
_NEXT = 0.01
