"""What stands for something else: another array's index, a column for a row, a quotient for its part, a buffer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import between
from layoutprobe.source.tree import Node

_MOST = 8
"""Pairs of indices that are exchanged; buffers that stand for one."""


def crossed(spot: Spot) -> Iterator[Rewrite]:
    """Rows with columns in an index, indices of two arrays, and a part of a quotient for it."""
    yield from _transposed(spot)
    yield from _indices(spot)
    yield from _of_families(spot)
    yield from _of_calls(spot)
    yield from _parts_of_lanes(spot)
    yield from _parts_of_quotients(spot)
    yield from _other_way(spot)
    tree, assigned = spot.tree, spot.assignment(spot.tree)
    sides = assigned[1:] if assigned is not None and assigned[0] == "=" else ()
    if sides and all(part.kind == "leaf" and spot.source.tokens[part.first].kind == "name" for part in sides):
        one, other = (spot.text(part) for part in sides)
        if not re.search(r"[\s(]", one + other):
            yield replace(spot.replace(tree.first, tree.last, f"{other} = {one}", "crossed"), rank=0.5)


def _transposed(spot: Spot) -> Iterator[Rewrite]:
    """`q[j * s + (k + e)]` for `q[(k + e) * s + j]`."""
    for node in spot.tree.walk():
        whole = node.parts[0] if node.kind == "index" and len(node.parts) == 1 else None
        if (
            whole is None
            or whole.kind != "sum"
            or any(spot.operator(whole, n) == "-" for n in range(1, len(whole.parts)))
        ):
            continue
        for one in whole.parts:
            if one.kind == "product" and len(one.parts) == _TWO and spot.operator(one, 1) == "*":
                rest = [spot.text(other) for other in whole.parts if other is not one]
                row = f"({' + '.join(rest)})" if len(rest) > 1 else rest[0]
                for line, stride in (one.parts, one.parts[::-1]):
                    cast = (
                        f"{spot.text(line.parts[0])}" if line.parts and line.parts[0].kind == "cast" else ""
                    )
                    inner = line.parts[0] if line.kind == "group" and len(line.parts) == 1 else line
                    column = spot.text(inner)[len(cast) :].lstrip()
                    for nth, pitch in enumerate((spot.text(stride), *_quotients(spot))):
                        text = f"{cast}{row} * {pitch} + {column}"
                        new = spot.replace(whole.first, whole.last, text, "crossed")
                        yield replace(new, rank=0.2 * nth)


_TWO = 2


def _quotients(spot: Spot) -> list[str]:
    """Quotients of what the kernel is given that may be how many groups a line has: `(K / GROUP)`."""
    found = dict[str, None]()
    for tree in spot.statements:
        for node in tree.walk():
            plain = all(part.kind == "leaf" and not part.parts for part in node.parts)
            if node.kind == "product" and len(node.parts) == _TWO and plain and spot.operator(node, 1) == "/":
                found.setdefault(f"({spot.source.slice(spot.start(node), node.last)})")
    divided = (re.split(r"\.|->|::|\s", text.strip("(").partition("/")[0].strip())[-1] for text in found)
    return [text for text, name in zip(found, divided, strict=True) if name in spot.scalars][:_MOST_QUOTIENTS]


_MOST_QUOTIENTS = 2


def _other_way(spot: Spot) -> Iterator[Rewrite]:
    """`f(m + j * LD, 1)` for `f(m + j, LD)`, and the reverse: a row of a matrix for a column, as an address and the
    distance of what follows."""
    for call in spot.tree.walk():
        for at, by in pairwise(call.parts) if call.kind == "call" else ():
            if at.kind != "sum" or by.kind != "leaf" or by.parts:
                continue
            last, step = at.parts[-1], spot.text(by)
            before = spot.source.slice(at.first, last.first)
            scaled = re.fullmatch(r"(.+?)\s*\*\s*(\w+)", spot.text(last))
            if step == "1" and scaled:
                yield spot.replace(at.first, by.last, f"{before} {scaled[1]}, {scaled[2]}", "crossed")
            elif step.isidentifier() and last.kind == "leaf":
                yield spot.replace(at.first, by.last, f"{before} {spot.text(last)} * {step}, 1", "crossed")


def _parts_of_lanes(spot: Spot) -> Iterator[Rewrite]:
    """`e[l / 4][l % 4]` for `e[l % 4][l / 4]`: the quotient for the remainder and the reverse, both at once."""
    tokens, within = spot.source.tokens, spot.within
    found = [
        (i, tokens[i - 1].text, tokens[i + 1].text)
        for i in range(within.start + 1, within.stop - 1)
        if tokens[i].text in ("/", "%") and tokens[i + 1].kind == "number"
    ]
    for (i, *one), (j, *other) in combinations(found, _TWO):
        if one == other and tokens[i].text != tokens[j].text:
            middle = spot.source.text[tokens[i].end : tokens[j].start]
            text = f"{tokens[j].text}{middle}{tokens[i].text}"
            yield replace(spot.replace(i, j + 1, text, "crossed"), rank=0.1)


def _indices(spot: Spot) -> Iterator[Rewrite]:
    """`a[i] * b[j]` for `a[j] * b[i]`."""
    found = [node for node in spot.tree.walk() if node.kind == "index" and len(node.parts) == 1]
    found = sorted((node.parts[0] for node in found), key=lambda node: node.first)
    pairs = [(a, b) for a, b in combinations(found, 2) if a.last < b.first and spot.text(a) != spot.text(b)]
    for a, b in sorted(pairs, key=lambda pair: pair[1].first - pair[0].first)[:_MOST]:
        text = spot.text(b) + between(spot.source, a.last, b.first) + spot.text(a)
        yield spot.replace(a.first, b.last, text, "crossed")


def _of_calls(spot: Spot) -> Iterator[Rewrite]:
    """`PUT(a, 0, 8) PUT(b, 8, 0)` for `PUT(b, 0, 8) PUT(a, 8, 0)`: arguments of two calls of the same function."""
    calls = [(name, opened) for name, opened in spot.source.calls(spot.within)]
    for (name, one), (other, two) in combinations(calls[:_MOST], 2):
        mine, theirs = spot.source.parts(one), spot.source.parts(two)
        if name != other or len(mine) != len(theirs) or two < spot.source.partner.get(one, two):
            continue
        for (a, b), (c, d) in zip(mine, theirs, strict=True):
            if (text := spot.source.slice(c, d)) != (own := spot.source.slice(a, b)):
                yield spot.replace(a, d, text + between(spot.source, b, c) + own, "crossed")


def _of_families(spot: Spot) -> Iterator[Rewrite]:
    """`a2 * b1` for `a1 * b2`: names that are counted, each with the other one's number."""
    tokens = spot.source.tokens
    found = [(i, one) for i in spot.within if (one := _COUNTED.fullmatch(tokens[i].text)) is not None]
    for (i, one), (j, other) in combinations(found, 2):
        texts = [one[1] + other[2], other[1] + one[2]]
        if j - i <= _NEAR and one[1] != other[1] and one[2] != other[2] and spot.names.keys() >= set(texts):
            text = texts[0] + between(spot.source, i + 1, j) + texts[1]
            yield replace(spot.replace(i, j + 1, text, "crossed"), rank=-0.6)


_COUNTED = re.compile(r"([A-Za-z]\w*?)(\d+)")
_NEAR = 4


def bound(spot: Spot) -> Iterator[Rewrite]:
    """`auto [quad, lane] = split(i)` for `auto [lane, quad] = split(i)`."""
    source = spot.source
    for i in spot.within:
        binds = source.tokens[i].text == "[" and source.tokens[i - 1].text in ("auto", "&", "&&")
        for one, other in combinations(source.parts(i) if binds and i in source.partner else (), _TWO):
            names = [source.slice(*part) for part in (one, other)]
            if all(name.isidentifier() for name in names):
                text = names[1] + between(source, one[1], other[0]) + names[0]
                yield spot.replace(one[0], other[1], text, "bound")


def _parts_of_quotients(spot: Spot) -> Iterator[Rewrite]:
    """`n / across` for `n / (total / across)`."""
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts if node.kind == "product" else ()):
            inner = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else None
            if (
                nth
                and inner is not None
                and inner.kind == "product"
                and spot.operator(node, nth) in ("/", "%")
            ):
                for one in inner.parts[::-1]:
                    yield spot.replace(part.first, part.last, spot.text(one), "crossed")


def stand_ins(spot: Spot) -> Iterator[Rewrite]:
    """`(same ? left : right)` for `right`, which is filled under `if (!same)` alone."""
    tokens, found = spot.source.tokens, dict[tuple[str, str], bool]()
    for tree in spot.statements:
        for test, negated in _test(spot, tree):
            for i in range(tree.first, tree.last):
                if tokens[i].kind == "name" and tokens[i].text in spot.names:
                    found.setdefault((tokens[i].text, test), negated)
    for i in spot.within:
        for (name, test), negated in found.items():
            if tokens[i].text != name or tokens[i - 1].text in (".", "->", "::") or test not in spot.names:
                continue
            sort = spot.names[name].sort
            others = [
                one.text for one in spot.names.values() if one.sort == sort and one.text not in (name, test)
            ]
            for nth, other in enumerate(others[:_MOST] if sort not in ("integer", "real", "") else ()):
                pair = (other, name) if negated else (name, other)
                new = spot.replace(i, i + 1, f"({test} ? {pair[0]} : {pair[1]})", "stand_ins")
                yield replace(new, rank=0.1 * nth)


def _test(spot: Spot, tree: Node) -> Iterator[tuple[str, bool]]:
    """The name that a statement asks for, where its `if` has no more in it, and whether that must be false."""
    words = [token.text for token in spot.source.tokens[tree.first : tree.first + 5]]
    if words[:2] == ["if", "("]:
        negated = words[2:3] == ["!"]
        name, closed = (words[3:4], words[4:5]) if negated else (words[2:3], words[3:4])
        if closed == [")"] and name and name[0].isidentifier():
            yield name[0], negated
