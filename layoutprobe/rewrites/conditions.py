"""A condition more, and one before a statement that has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.statements import words
from layoutprobe.source.tree import Node


def tests(spot: Spot) -> Iterator[Rewrite]:
    """A condition more, as others of the function have it; or one before a statement that has none."""
    own = {spot.text(node) for node in spot.tree.walk()}
    known = Counter[str]()
    for tree in spot.statements:
        for text in _conditions(spot, tree):
            known[text] += 1
    if spot.scope.own:  # functions of structures of one kind come in pairs
        known.update(_of_other_functions(spot))
    names = {one.text for one in spot.scope.operands if one.first in spot.within}
    tested = {
        name for node in spot.tree.walk() if node.kind == "comparison" for name in words(spot.text(node))
    }
    far = {
        text: (-len((names - tested).intersection(words(text))), -len(names.intersection(words(text))))
        for text in known
    }
    near = sorted(known, key=lambda text: far[text])
    sizes = (f"{name} < {size}" for name in sorted(names) for size in _sizes_of(spot, name))
    both = [text for one in near for text in (one, *_exchanged(spot, one))]
    asked = [spot.text(node) for node in spot.tree.walk() if node.kind == "comparison"]
    alike = [text for one in asked for text in _alike(spot, one)]
    texts = [text for text in dict.fromkeys((*sizes, *alike, *both)) if text not in own][:_MOST_TESTS]
    for text in texts:
        for node in _tested(spot):
            yield spot.behind(node.last - 1, f" && {text}", "tests")
        if stands_alone(spot):
            start = spot.source.tokens[spot.within.start].start
            yield Rewrite(start, start, f"if ({text}) ", "tests")


_MOST_TESTS = 12


def _of_other_functions(spot: Spot) -> list[str]:
    """Comparisons of a file of whose names each is known here."""
    found = re.findall(r"\b([A-Za-z_]\w* <=? [A-Za-z_]\w*)\b(?! *[-+*/.(\[<:])", spot.source.text)
    return [text for text in dict.fromkeys(found) if spot.names.keys() >= set(words(text))]


def _exchanged(spot: Spot, text: str) -> Iterator[str]:
    """A condition in names that are declared beside its own: one operand's row is another one's column."""
    own = set(words(text))
    for tree in spot.statements:
        if tree.kind == "list" and tree.last <= spot.within.start:
            names = [
                spot.source.tokens[part.parts[0].last - 1].text
                for part in tree.parts
                if part.kind == "assignment"
            ]
            names = [name for name in names if name in spot.names]
            inside = own & set(names)
            if len(inside) == 1 and len(names) == _PAIR:
                (was,) = inside
                now = names[1 - names.index(was)]
                yield re.sub(rf"\b{was}\b", now, text)


_PAIR = 2


def _alike(spot: Spot, text: str) -> Iterator[str]:
    """`k < k_len` where `mn < mn_len` is asked: each index has a bound that is called after it."""
    found = re.fullmatch(r"(\w+)( <=? )(?:(\w*[_.])?\1(\w+)|(\w+[_.])\1)", text)
    if found is None:
        return
    head, tail = found[3] or found[5] or "", found[4] or ""
    for name, one in spot.names.items():
        if one.sort == "integer" and name != found[1] and f"{head}{name}{tail}" in spot.names:
            yield f"{name}{found[2]}{head}{name}{tail}"


def _sizes_of(spot: Spot, name: str) -> Iterator[str]:
    """What bounds an index by its name, and by what it begins with: n and N, col and cols, row and endRow,
    row = m0 + ... and m."""
    begins = re.search(rf"\b{re.escape(name)}\s*=\s*([A-Za-z])0\b", spot.source.text)
    plain = name.lower().replace("_", "")
    known = {form.format(plain) for form in _BOUNDS} | ({begins[1].lower()} if begins else set())
    for size, one in spot.names.items():
        if size != name and size.lower().replace("_", "") in known and one.sort == "integer":
            yield size


_BOUNDS = (
    "{}",
    "{}s",
    "end{}",
    "{}end",
    "num{}s",
    "n{}s",
    "max{}",
    "{}max",
    "{}limit",
    "{}count",
    "last{}",
    "{}bound",
)
"""What an index's bound is called."""


def _conditions(spot: Spot, tree: Node) -> Iterator[str]:
    """Comparisons in the tests of a statement; not the bound of a loop."""
    if spot.source.tokens[tree.first].text == "for":
        return
    for node in tree.walk():
        asked = node.kind == "comparison" or (node.kind == "equality" and spot.operator(node, 1) == "==")
        if asked and node.last - node.first <= 12 and len(node.parts) == 2:
            yield spot.text(node)


def _tested(spot: Spot) -> Iterator[Node]:
    """Conditions of the statement."""
    tokens = spot.source.tokens
    for node in spot.tree.walk():
        if node.kind == "choice" and len(node.parts) > 2:
            head = node.parts[0]
            yield head.parts[0] if head.kind == "group" and len(head.parts) == 1 else head
        elif node.kind == "assignment" and node.parts[-1].kind in ("comparison", "all"):
            yield node.parts[-1]
        elif node.kind == "call" and tokens[node.first - 1].text in ("if", "while") and len(node.parts) == 1:
            yield node.parts[0]
        elif node.kind == "call" and tokens[node.first - 1].text == "for" and len(node.parts) == 1:
            parts = node.parts[0].parts
            yield from (part for part in parts[1:2] if part.kind in ("comparison", "all"))


def stands_alone(spot: Spot) -> bool:
    """A statement that a test may be put before: no declaration, and nothing with a block."""
    first = spot.source.tokens[spot.within.start]
    ends = spot.within.stop < len(spot.source.tokens) and spot.source.tokens[spot.within.stop].text == ";"
    declares = spot.tree.kind == "assignment" and any(
        spot.source.tokens[i].kind == spot.source.tokens[i + 1].kind == "name"
        for i in range(spot.within.start, spot.tree.parts[0].last - 1)
    )
    return ends and not declares and first.text not in ("for", "if", "while", "return", "else", "const")
