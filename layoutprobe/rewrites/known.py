"""What is known at a statement of what stands elsewhere in its file: names, parameters, values."""

from __future__ import annotations

import re
from functools import lru_cache

from layoutprobe.rewrites.spot import Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import function_around
from layoutprobe.source.reach import types_of
from layoutprobe.source.scope import BUILTIN
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import TYPES, Node

WIDE = r"(?:unsigned )?long long(?: int)?|size_t|\w+64(?:_t)?"
"""Types of 64 bits, as they are written."""
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+|k[A-Z]\w+")
"""A name as constants have one."""


def known_here(spot: Spot, names: frozenset[str]) -> bool:
    """Whether all words may be used in a statement: what is declared in another function may not."""
    return all(
        name in spot.heads
        or name in BUILTIN
        or name in TYPES
        or (name not in _local(spot.source) and name not in spot.unknown)
        for name in names
    )


@lru_cache(maxsize=32)
def _local(source: Source) -> frozenset[str]:
    """Names that are declared somewhere in a file."""
    return frozenset(source.tokens[i].text for i in declared_in(source))


@lru_cache(maxsize=512)
def start_of(source: Source, index: int) -> int:
    """The first token of the function around another one."""
    return function_around(source, index).start


def is_value(source: Source, node: Node) -> bool:
    """Whether an expression is no type, begins with none but to make one of it, and holds no statement."""
    of_it = [token.text for token in source.tokens[node.first : node.last] if token.text != "return"]
    if not of_it or of_it[0] in TYPES or of_it[-1] in types_of(source):
        return False
    if of_it[0] in types_of(source) and of_it[1] not in _MAKING:
        return False
    return not any(source.is_block(i) for i in range(node.first, node.last))


_MAKING = ("(", "{", "<", "::")
"""What follows the name of a type where a value of it is made, or a constant of it is named."""


@lru_cache(maxsize=32)
def parameters(source: Source, function: range) -> frozenset[str]:
    """Names that stand in brackets where they are declared: parameters."""
    tokens = source.tokens
    inside = (
        i
        for i in declared_in(source)
        if i in function and source.parent[i] >= 0 and tokens[source.parent[i]].text == "("
    )
    return frozenset(tokens[i].text for i in inside if tokens[i + 1].text in (",", ")"))
