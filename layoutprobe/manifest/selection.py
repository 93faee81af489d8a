"""Inputs that select: one factor is an identity, and the other one says in each element which it is.

With A = I a product is a copy: row i of D is row i of B, bit by bit. What stands elsewhere then names the row and the
column that it came from, which sums of random numbers do not. Where K is larger than M, the identity begins at a
later row of B, run by run, so that every k is selected once.

`Select` is what a contract asks for: B says rows and columns, and may be zero but for some rows. `Pick` looks for
what a kernel multiplies at all: either factor is numbered, and what is added twice is even.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.manifest.binding import Binding, BoundBuffer
from layoutprobe.manifest.coding import LARGEST_BYTE, is_small_float
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers import DigitCode, digit_base

SELECT = "select "
PICK = "pick "
ZERO = "zero "
"""Beginnings of the kinds of inputs; behind the last stands the buffer that is all zeros."""

Ints = NDArray[np.int64]


class Select(Struct, frozen=True):
    """One run.

    Attributes:
        shift: row of B that row 0 of D shows.
        axis: "row" or "col": what of its place an element of B says.
        digit: which digit of it.
        first, last: rows of B that are not zero, `last` excluded; 0 and 0 for all.
    """

    shift: int
    axis: str
    digit: int
    first: int = 0
    last: int = 0

    @property
    def kind(self) -> str:
        """The kind of inputs."""
        return f"{SELECT}{self.shift} {self.axis} {self.digit} {self.first} {self.last}"

    @classmethod
    def of(cls, kind: str) -> Select:
        """The run of a kind of inputs."""
        shift, axis, digit, first, last = kind.removeprefix(SELECT).split()
        return cls(int(shift), axis, int(digit), int(first), int(last))


def code_of(binding: Binding, contract: Gemm, axis: str) -> DigitCode:
    """How B says its rows or columns: digits that B and D hold exactly.

    No base is above 127, so that B may also be converted to bf16 on its way.
    """
    rows, cols = binding.buffers[contract.b].shape[-2:]
    types = {binding.buffers[name].dtype for name in (contract.b, contract.d)}
    wide = [name for name in types if not is_small_float(name)]
    base = min(digit_base(wide), LARGEST_BYTE if len(wide) < len(types) else 127)
    return DigitCode.of(rows if axis == "row" else cols, base)


def selecting(select: Select, binding: Binding, buffer: BoundBuffer) -> NDArray[Any]:
    """What a buffer of a product holds in such a run; what is no part of it holds zeros."""
    contract = binding.case.contract
    assert isinstance(contract, Gemm)
    if buffer.name == contract.a:
        return _identity(buffer, "A", select.shift)
    if buffer.name != contract.b:
        return np.zeros(buffer.shape)
    code = code_of(binding, contract, select.axis)
    row, col = np.indices(buffer.shape[-2:], np.int64)
    digit = code.digit(row if select.axis == "row" else col, select.digit)
    values = buffer.element.decode(digit) if is_small_float(buffer.dtype) else digit
    if select.last:
        values = np.where((row >= select.first) & (row < select.last), values, 0)
    return np.broadcast_to(values, buffer.shape)


class Pick(Struct, frozen=True):
    """One run.

    Attributes:
        name: the factor that is numbered; the other one selects.
        digit: which digit of the numbers.
        first: k that the first line of the other factor selects; behind the last k comes k = 0.
    """

    name: str
    digit: int
    first: int

    @property
    def kind(self) -> str:
        """The kind of inputs."""
        return f"{PICK}{self.name} {self.digit} {self.first}"

    @classmethod
    def of(cls, kind: str) -> Pick:
        """The run of a kind of inputs."""
        name, digit, first = kind.removeprefix(PICK).rsplit(" ", 2)
        return cls(name, int(digit), int(first))


def numbers_of(binding: Binding, name: str) -> DigitCode:
    """How elements of a factor are numbered where the other one selects. Digits are stored as odd numbers, so that
    what is added twice is even."""
    types = {buffer.dtype for buffer in binding.buffers.values()}
    return DigitCode.of(prod(binding.buffers[name].shape), max(2, digit_base(types) // 4))


def picking(pick: Pick, binding: Binding, buffer: BoundBuffer) -> NDArray[Any]:
    """What a buffer holds in such a run; scales hold ones, and what else is no factor holds zeros."""
    if buffer.name == pick.name:
        number = np.arange(prod(buffer.shape)).reshape(buffer.shape)
        return 2 * numbers_of(binding, pick.name).digit(number, pick.digit) - 1
    matrix = buffer.argument.matrix
    if matrix not in ("A", "B") or len(buffer.shape) < 2:
        return np.full(buffer.shape, int(is_scale(binding, buffer)))
    return _identity(buffer, matrix, pick.first, around=True)


def is_scale(binding: Binding, buffer: BoundBuffer) -> bool:
    """Whether a buffer multiplies A @ B."""
    contract = binding.case.contract
    return isinstance(contract, Gemm) and buffer.name in contract.scales


def _identity(buffer: BoundBuffer, matrix: str, first: int, *, around: bool = False) -> NDArray[Any]:
    """1 where k is the row of A (the column of B) and `first` more; `around`: behind the last k comes k = 0."""
    row, col = np.indices(buffer.shape[-2:], np.int64)
    line, k = (row, col) if matrix == "A" else (col, row)
    depth = buffer.shape[-1 if matrix == "A" else -2]
    wanted = (line + first) % depth if around else line + first
    return np.broadcast_to(np.where(k == wanted, 1, 0), buffer.shape)
