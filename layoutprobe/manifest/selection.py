"""Inputs that select: A is an identity, and B says in each element where it is; or one buffer is all zeros.

With A = I a product is a copy: row i of D is row i of B, bit by bit. What stands elsewhere then names the row and the
column that it came from, which sums of random numbers do not. Where K is larger than M, the identity begins at a
later row of B, run by run, so that every k is selected once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.binding import Binding, BoundBuffer
from layoutprobe.manifest.coding import LARGEST_BYTE, is_small_float
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers import DigitCode, digit_base

SELECT = "select "
ZERO = "zero "
"""Beginnings of the kinds of inputs; behind the second stands the buffer."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Select:
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
        row, k = np.indices(buffer.shape[-2:])
        return np.broadcast_to(np.where(k == row + select.shift, 1, 0), buffer.shape)
    if buffer.name != contract.b:
        return np.zeros(buffer.shape)
    code = code_of(binding, contract, select.axis)
    row, col = np.indices(buffer.shape[-2:], np.int64)
    digit = code.digit(row if select.axis == "row" else col, select.digit)
    values = buffer.element.decode(digit) if is_small_float(buffer.dtype) else digit
    if select.last:
        values = np.where((row >= select.first) & (row < select.last), values, 0)
    return np.broadcast_to(values, buffer.shape)
