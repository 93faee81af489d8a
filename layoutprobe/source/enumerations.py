"""Enumerations of a file, and the constants of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from layoutprobe.source.statements import Source


class Enumeration(Struct, frozen=True):
    """One.

    Attributes:
        name: "" for none.
        scoped: its constants are asked for by its name alone.
        constants: in order.
    """

    name: str
    scoped: bool
    constants: tuple[str, ...]


@lru_cache(maxsize=32)
def enumerations(source: Source) -> tuple[Enumeration, ...]:
    """All of a file."""
    return tuple(_enumerations(source))


def _enumerations(source: Source) -> Iterator[Enumeration]:
    tokens = source.tokens
    for i, token in enumerate(tokens):
        if token.text != "enum":
            continue
        head = range(i + 1, min(i + _LONGEST_HEAD, len(tokens)))
        opened = next((j for j in head if tokens[j].text in ("{", ";", "(")), i)
        scoped = tokens[i + 1].text in ("class", "struct") if i + 1 < len(tokens) else False
        if tokens[opened].text == "{":
            named = tokens[min(i + 1 + scoped, opened)]
            parts = [a for a, b in source.parts(opened) if b > a and tokens[a].kind == "name"]
            constants = tuple(tokens[a].text for a in parts)
            yield Enumeration(named.text if named.kind == "name" else "", scoped, constants)


_LONGEST_HEAD = 10
"""Words of `enum class Sign : std::uint8_t {`."""
