"""Tokens of AMD's pseudocode.

The language is described in "RDNA3.5" Instruction Set Architecture, Reference Guide, AMD, chapter
"Instructions" (its notation follows C, with Verilog's sized literals and bit slices).
"""

from __future__ import annotations

import re

from msgspec import Struct

from .errors import PcodeSyntax

# Longest first where one is the head of another.
_PATTERN = re.compile(
    r"""
      (?P<skip>\s+|//[^\n]*)
    | (?P<cast>\d+'[UIFB](?![A-Za-z0-9_]))
    | (?P<number>(?:\d+')?(?:0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U)?))
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<op>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\|=|\+:|[-+*/%&|^~!<>=?:;,.()\[\]{}])
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"(?:(?P<width>\d+)')?(?:(?P<hex>0x[0-9a-fA-F]+)|(?P<float>\d+\.\d+)|(?P<int>\d+))(?P<suffix>ULL|LL|U|F)?"
)


class Token(Struct, frozen=True):
    """One token: its kind (cast, number, name, op, end) and its text."""

    kind: str
    text: str
    at: int


class Literal(Struct, frozen=True):
    """A number as written: `kind` is U, I or F, `width` in bits; a hex literal may also stand for bits."""

    kind: str
    width: int
    value: int | float
    is_hex: bool


def tokenize(text: str) -> list[Token]:
    """Split `text` into tokens; the last one has the kind "end".

    Raises:
        PcodeSyntax: at the first character that begins no token.
    """
    tokens, at = [], 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise PcodeSyntax(f"no token at {text[at : at + 24]!r}")
        if match.lastgroup != "skip":
            tokens.append(Token(str(match.lastgroup), match.group(), at))
        at = match.end()
    tokens.append(Token("end", "", at))
    return tokens


def parse_number(text: str) -> Literal:
    """`1'1U`, `0x100000000ULL`, `16'0.5`, `0.5F`, `31`: kind, width and value of a numeric literal."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise PcodeSyntax(f"not a number: {text!r}")
    width, suffix = match["width"], match["suffix"] or ""
    if match["float"]:
        return Literal(
            "F", int(width) if width else (32 if suffix == "F" else 64), float(match["float"]), False
        )
    value = int(match["hex"], 16) if match["hex"] else int(match["int"])
    default = 64 if suffix.endswith("LL") or value > 0xFFFFFFFF else 32
    kind = "U" if suffix.startswith("U") else "I"
    return Literal(kind, int(width) if width else default, value, match["hex"] is not None)
