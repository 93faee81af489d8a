"""Claims as formulas: `A: frag[i] = A[i][lane % 16]`, `D[2*vgpr + lane / 16][lane % 16]`.

On the left may stand what is claimed about: `frag[i]` gives the elements of a lane a name (low bits
first: i = vgpr * fields + field), `frag[3]` or `v2.hi` restricts the claim to one register or field.
Without a left side the coordinates have their own names: wave, lane, vgpr, half (byte, nibble). Behind
the element, `if lane < 16` says where the claim speaks at all, and `where half = 0` that all other
slots hold no element. The arithmetic is that of patterns: integers only, `/` rounds down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.claims.model import MATRICES, Claimed
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout, field_name
from layoutprobe.patterns.expression import evaluate, parse
from layoutprobe.place import FIELD_NAMES

Grids = Mapping[str, NDArray[np.int64]]

MAX_TEXT = 1000
OUTSIDE = 1 << 40
"""Row or column that stands for any negative one: outside of every matrix, and not HOLE."""

COORDINATES = ("wave", "lane", "vgpr", "field", "value", *filter(None, FIELD_NAMES.values()))
"""Names that an index may not have: `frag[vgpr]` would quietly become the number of the element."""

_LEFT = re.compile(
    r"\s*(?:(?:half|float|int)[a-z0-9_]*\s+)?"
    r"(?:v(?P<vgpr>\d{1,3})(?:\.(?P<part>lo|hi|low|high|b\d|n\d|\[\d{1,2}:\d{1,2}\]))?"
    r"|[A-Za-z_][\w.]*\[\s*(?P<index>[A-Za-z_]\w*|\d{1,4})\s*\])\s*=(?!=)\s*"
)
_ALIASES = re.compile(r"\b(?:threadIdx\.x|lane_id|lane_idx|tid)\b")
_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")


class Formula(Struct, frozen=True):
    """One sentence; see the module.

    Attributes:
        row, col: expressions.
        scope, holds: conditions of `if` and `where`; "" for none.
        index: name of the element of a lane, or "".
        only: the element that the sentence is about ("value"), or ("vgpr", "part"); empty for all.
    """

    text: str
    matrix: str
    row: str
    col: str
    scope: str = ""
    holds: str = ""
    index: str = ""
    only: tuple[tuple[str, str], ...] = ()
    dialect: str = "formula"

    def bind(self, operand: Layout) -> Claimed:
        """What is claimed about every slot of the operand."""
        extents = operand.row.shape
        grids = self._grids(operand)
        row, col = (
            np.broadcast_to(self._value(text, grids), extents).copy() for text in (self.row, self.col)
        )
        row[row < 0] = OUTSIDE
        col[col < 0] = OUTSIDE
        speaks = np.ones(extents, np.bool_)
        only = dict(self.only)
        if "value" in only:
            speaks &= grids["value"] == int(only["value"])
        if "vgpr" in only:
            there = _slots_in(int(only["vgpr"]), only.get("part"), operand)
            if there is None:
                fields = f"{operand.fields} fields of {operand.field_bits} bits"
                each = "a VGPR has" if operand.registers == 1 else f"{operand.registers} VGPRs have"
                return Claimed.misfit(
                    f"it speaks of v{only['vgpr']}.{only['part']}; {each} {fields}", operand
                )
            speaks &= there
        if not speaks.any():
            return Claimed.misfit(f"{operand.matrix} of the instruction has no such register", operand)
        speaks &= self._true(self.scope, grids)
        empty = ~self._true(self.holds, grids)
        row[empty] = col[empty] = HOLE
        return Claimed(row, col, speaks)

    def _grids(self, operand: Layout) -> Grids:
        slots: NDArray[np.int64] = np.asarray(np.indices(operand.row.shape, np.int64))
        wave, lane, vgpr, field = (np.asarray(slots[axis]) for axis in range(4))
        value: NDArray[np.int64] = np.asarray(vgpr * operand.fields + field)
        named = {
            "wave": wave,
            "lane": lane,
            "vgpr": vgpr,
            "field": field,
            "value": value,
        }
        named[field_name(operand.field_bits)] = field
        if self.index:
            named[self.index] = value
        return named

    def _value(self, text: str, grids: Grids) -> NDArray[np.int64]:
        try:
            return evaluate(parse(text, tuple(grids)), grids)
        except UsageError as error:
            raise _refused(self.text, error) from None

    def _true(self, condition: str, grids: Grids) -> NDArray[np.bool_]:
        held = np.ones(grids["lane"].shape, np.bool_)
        for term in filter(None, (part.strip() for part in condition.split(" and "))):
            held &= self._value(_EQUALS.sub("==", term), grids) != 0
        return held


def _slots_in(register: int, part: str | None, operand: Layout) -> NDArray[np.bool_] | None:
    """[vgpr, field]: whether the slot lies in a register, or in that part of it; None: it has no such part."""
    there = np.zeros((operand.vgprs, operand.fields), np.bool_)
    bits = None if part is None else _bits_of(part, operand.field_bits)
    if part is not None and bits is None:
        return None
    group = register // operand.registers
    if group >= operand.vgprs:
        return there
    for field in range(operand.fields):
        there[group, field] = any(
            piece.register == register and bits in (None, (piece.low, piece.high))
            for piece in operand.pieces(group, field)
        )
    return there if part is None or there.any() else None


def _bits_of(part: str, bits: int) -> tuple[int, int] | None:
    """Lowest and highest bit by the name of a field: lo, hi, b2, n5, [31:16]; None where there is no such field."""
    if part.startswith("["):
        high, low = (int(number) for number in part[1:-1].split(":"))
        return low, high
    letter, number = ("h", int(part[0] == "h")) if part[0] in "lh" else (part[0], int(part[1:]))
    if bits != {"h": 16, "b": 8, "n": 4}[letter] or bits * number > 31:
        return None
    return bits * number, bits * number + bits - 1


def _refused(text: str, error: UsageError) -> UsageError:
    return UsageError(
        error.what.replace("Expression", "Claim"),
        where={"claim": text if len(text) <= 80 else text[:77] + "...", **error.where},
        expected=error.expected,
        observed=error.observed,
        hint=error.hint,
    )


def _malformed(text: str, why: str) -> UsageError:
    return UsageError(
        f"Claim: {why}",
        where={"claim": text if len(text) <= 80 else text[:77] + "..."},
        expected="an element such as A[lane % 16][2*vgpr + half], a GF(2) basis, or a CuTe layout",
        hint="for example: 'A: frag[i] = A[lane % 16][i]'",
    )


def parse_formula(body: str, matrix: str | None, text: str) -> Formula:
    """A sentence from its text.

    Args:
        body: the sentence without the matrix in front.
        matrix: the matrix named in front, or None: that of the element. C and D may stand for each
            other, since an accumulator is both.
        text: the whole claim, for messages.

    Raises:
        UsageError: not a sentence of this language, or too long.
    """
    if len(body) > MAX_TEXT:
        raise _malformed(text, f"longer than {MAX_TEXT} characters")
    body = _ALIASES.sub("lane", " ".join(body.split()).rstrip("; "))
    left = _LEFT.match(body)
    rest = body[left.end() :] if left else body
    named = rest[:1]
    if named not in MATRICES or rest[1:2] != "[":
        raise _malformed(text, f"no element of A, B, C or D at {rest[:24]!r}")
    if matrix is not None and named != matrix and {named, matrix} != {"C", "D"}:
        raise _malformed(text, f"it speaks of {matrix}, and names an element of {named}")
    row, at = _bracket(rest, 1, text)
    col, at = _bracket(rest, at, text)
    tail = re.fullmatch(r"(?:\s+if\s+(?P<scope>.+?))?(?:\s+where\s+(?P<holds>.+))?\s*", rest[at:])
    if tail is None:
        raise _malformed(text, f"cannot read {rest[at : at + 24]!r}")
    index, only = _about(left)
    if index in COORDINATES:
        raise _malformed(
            text, f"{index!r} is a coordinate of its own, and cannot name the element of a lane; call it i"
        )
    return Formula(text, matrix or named, row, col, tail["scope"] or "", tail["holds"] or "", index, only)


def _about(left: re.Match[str] | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    if left is None:
        return "", ()
    if left["index"] is not None:
        index = left["index"]
        return ("", (("value", index),)) if index.isdecimal() else (index, ())
    part = (("part", left["part"]),) if left["part"] else ()
    return "", (("vgpr", left["vgpr"]), *part)


def _bracket(text: str, at: int, whole: str) -> tuple[str, int]:
    """What stands between a `[` and its `]`, and where it ends."""
    end = text.find("]", at)
    if text[at : at + 1] != "[" or end < 0 or "[" in text[at + 1 : end]:
        raise _malformed(whole, "an element needs [row][column]")
    return text[at + 1 : end], end + 1
