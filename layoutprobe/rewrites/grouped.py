"""Expressions in other groups: brackets around any neighbours, and rows for columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.known import CONSTANT, parameters
from layoutprobe.rewrites.renames import renamed
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.scope import Operand
from layoutprobe.source.tree import BINDING, JOINED, Node, bare


def transposed(spot: Spot) -> Iterator[Rewrite]:
    """`k * n + i` for `i * w + k`: the other of the two is counted in rows of another length."""
    told = _TOLD * ("transposed" in spot.said)
    for node in spot.tree.walk():
        plain = node.kind == "sum" and len(node.parts) == 2 and spot.operator(node, 1) == "+"
        for line, rest in (node.parts, node.parts[::-1]) if plain else ():
            if line.kind != "product" or len(line.parts) != 2 or spot.operator(line, 1) != "*":
                continue
            for nth, (row, pitch) in enumerate((line.parts, line.parts[::-1])):
                cast, bare = _CAST.match(spot.source.slice(spot.start(row), row.last)), spot.text(rest)
                wide = cast[0] if cast else ""
                column = f"({bare})" if rest.kind == "sum" else bare
                pitches = dict.fromkeys((spot.text(pitch), *_pitches(spot)))
                for late, size in enumerate(pitches):
                    own = spot.source.slice(spot.start(row), row.last).removeprefix(wide)
                    new = spot.replace(
                        spot.start(node), node.last, f"{wide}{column} * {size} + {own}", "transposed"
                    )
                    yield replace(new, rank=0.1 * late + 0.3 * nth - told)


_CAST = re.compile(r"\((?:size_t|long|long long|u?int64_t|ptrdiff_t)\)\s*")
_TOLD = 1.6
"""How much likelier it is where a finding says so."""
_PITCHES = 10


def _pitches(spot: Spot) -> list[str]:
    """What rows may be long by: what the function is given, members of that, constants; those near first."""
    handed = parameters(spot.source, spot.function)
    sizes = [
        name
        for name, one in spot.names.items()
        if one.sort == "integer" and (re.split(r"\.|->", name)[0] in handed or CONSTANT.fullmatch(name))
    ]
    return sizes[:_PITCHES]


def regrouped(spot: Spot) -> Iterator[Rewrite]:
    """Brackets around neighbours that operators do not join so: `(a + b) * c` for `a + b * c`."""
    source = spot.source
    for tree in _flat(spot):
        operands = list(_operands(tree))
        if not 2 < len(operands) <= _MOST_OPERANDS:
            continue
        known = {(spot.start(node), node.last) for node in tree.walk()}
        for size in range(2, min(len(operands), _LARGEST)):
            for at in range(len(operands) - size + 1):
                first, last = spot.start(operands[at]), operands[at + size - 1].last
                if (first, last) not in known:
                    text = f"({source.slice(first, last)})"
                    yield replace(spot.replace(first, last, text, "regrouped"), rank=0.1 * (size - 2))


_MOST_OPERANDS, _LARGEST = 12, 5


def spread(spot: Spot) -> Iterator[Rewrite]:
    """`((i + r) * stride + k) * PITCH` for `(i + r + k) * stride * PITCH`: a term that a factor has taken in; and the
    reverse."""
    for node in spot.tree.walk():
        inner = bare(node.parts[0]) if node.kind == "product" else None
        if inner is None or inner.kind != "sum" or spot.operator(node, 1) != "*":
            continue
        factor, term = spot.text(node.parts[1]), inner.parts[-1]
        sign = spot.operator(inner, len(inner.parts) - 1)
        rest = spot.source.slice(inner.first, term.first - 1).rstrip()
        many = len(inner.parts) > len(("term", "other"))
        head = f"({rest})" if many else rest
        behind = spot.source.slice(node.parts[1].last, node.last)
        whole = f"{head} * {factor} {sign} {spot.text(term)}"
        text = f"({whole}){' ' * bool(behind)}{behind}"
        yield spot.replace(spot.start(node), node.last, text, "spread")


def reordered(spot: Spot) -> Iterator[Rewrite]:
    """`(head * SLOTS + slot) * dims + d` for `(head * dims + d) * SLOTS + slot`: the last two axes in turn."""
    for node in spot.tree.walk():
        line = node.parts[0] if node.kind == "sum" and len(node.parts) == _TWO else None
        pair = line is not None and line.kind == "product" and len(line.parts) == _TWO
        row = bare(line.parts[0]) if line is not None and pair else None
        if line is None or row is None or row.kind != "sum" or len(row.parts) != _TWO:
            continue
        first = row.parts[0]
        signs = {spot.operator(node, 1), spot.operator(row, 1)}
        if first.kind != "product" or len(first.parts) != _TWO or signs != {"+"}:
            continue
        head, by = (
            spot.source.slice(spot.start(first.parts[0]), first.parts[0].last),
            spot.text(first.parts[1]),
        )
        column, pitch, rest = spot.text(row.parts[1]), spot.text(line.parts[1]), spot.text(node.parts[1])
        text = f"({head} * {pitch} + {rest}) * {by} + {column}"
        yield spot.replace(spot.start(node), node.last, text, "reordered")


_TWO = 2


def _flat(spot: Spot) -> Iterator[Node]:
    """Expressions with operators, of which each is in no other one but by brackets."""
    inside = set[int]()
    for node in spot.tree.walk():
        if node.kind in JOINED and id(node) not in inside:
            yield node
        if node.kind in BINDING:
            inside.update(id(part) for part in node.parts if node.kind in JOINED)


def _operands(node: Node) -> Iterator[Node]:
    """What operators join in an expression, each once."""
    for part in node.parts:
        if part.kind in JOINED:
            yield from _operands(part)
        else:
            yield part


def guarded(spot: Spot) -> Iterator[Rewrite]:
    """`((x) * (x))` for `x * x` and for `(x * x)`, where x is what a macro is given: that may be a sum."""
    tokens, given = spot.source.tokens, {name for name, sort in spot.outer if not sort}
    bare = [
        i
        for i in spot.within
        if tokens[i].text in given
        and not (tokens[i - 1].text == "(" and spot.source.partner.get(i - 1) == i + 1)
        and tokens[i - 1].text not in (".", "->")
    ]
    names = list(dict.fromkeys(tokens[i].text for i in bare))
    for chosen in dict.fromkeys((frozenset(names), *(frozenset((name,)) for name in names))):
        places = [i for i in bare if tokens[i].text in chosen]
        if places:
            bracketed = {name: f"({name})" for name in chosen}
            yield renamed(spot, [Operand(i, i + 1, tokens[i].text, "") for i in places], bracketed)
    value = spot.tree.kind in BINDING and spot.tree.kind not in ("assignment", "list", "statements")
    if given and value and spot.tree.last == spot.within.stop:
        yield spot.replace(spot.tree.first, spot.tree.last, f"({spot.text(spot.tree)})", "guarded")
