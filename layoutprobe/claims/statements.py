"""Sentences of claims in any dialect, told apart by their looks."""

from __future__ import annotations

import re

from msgspec import Struct

from layoutprobe.claims.formula import parse_formula
from layoutprobe.claims.model import Claimed, Statement
from layoutprobe.errors import UsageError
from layoutprobe.layouts.cute import Strided, is_cute, parse_cute, table_of
from layoutprobe.layouts.gf2 import is_basis, parse_basis
from layoutprobe.layouts.layout import Layout

MAX_TEXT = 8000
_MATRIX = re.compile(r"\s*([ABCD])\s*:\s*(?=\S)")


class BasisStatement(Struct, frozen=True):
    """A basis over GF(2); which field it speaks of is known only beside the operand."""

    text: str
    matrix: str
    body: str
    dialect: str = "gf2"

    def bind(self, operand: Layout) -> Claimed:
        """What is claimed about every slot of the operand."""
        return Claimed.table(*parse_basis(self.body, operand.field_bits).table(), operand)


class CuteStatement(Struct, frozen=True):
    """A TV layout."""

    text: str
    matrix: str
    form: Strided
    dialect: str = "cute"

    def bind(self, operand: Layout) -> Claimed:
        """What is claimed about every slot of the operand."""
        try:
            row, col = table_of(self.form, self.matrix, operand.shape, operand.fields)
        except UsageError as error:
            return Claimed.misfit(error.what, operand)
        return Claimed.table(row, col, operand)


def parse_statement(text: str) -> Statement:
    """A sentence: an optional `A:` in front, then a formula, a GF(2) basis or a CuTe layout.

    Raises:
        UsageError: none of the three, or the matrix is not named.
    """
    if len(text) > MAX_TEXT:
        raise UsageError("The claim is too long", expected=f"at most {MAX_TEXT} characters")
    named = _MATRIX.match(text)
    matrix = named[1] if named else None
    body = text[named.end() :] if named else text
    if is_cute(body):
        return CuteStatement(text.strip(), _given(matrix, text), parse_cute(body))
    if is_basis(body):
        parse_basis(body, 16 if "half" in body else 8 if "byte" in body else 4 if "nibble" in body else 32)
        return BasisStatement(text.strip(), _given(matrix, text), body)
    return parse_formula(body, matrix, text.strip())


def _given(matrix: str | None, text: str) -> str:
    if matrix is None:
        raise UsageError(
            "the claim does not say of which matrix it speaks",
            where={"claim": text.strip()[:80]},
            hint="put the matrix in front: 'A: ...'",
        )
    return matrix
