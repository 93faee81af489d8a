"""What comes out where it must be a copy of B, or zero: which row and column of B each element of D shows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.manifest.coding import is_small_float
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.manifest.selection import ZERO, Select, code_of
from layoutprobe.numbers import element_type
from layoutprobe.report.words import region, spans
from layoutprobe.trace.subject import RunSpec, Subject, UndecidedError

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

OTHER_ROW, OTHER_COLUMN, NO_ROW, NOT_ZERO, LEAK = (
    "other-row", "other-column", "not-one-row", "not-zero", "leaks-between-rows",
)  # fmt: skip
"""Names of the rules."""

NOTHING, NO_CODE = -1, -2
"""Of a row or column: the element is zero, or what it holds is the code of none."""


class SelectionFault(Struct, frozen=True, eq=False):
    """What one of these runs shows.

    Attributes:
        name: of the rule.
        output: the buffer.
        says: one clause.
        wrong: bool, elements of the output.
        expected, observed: of the first of them, in words.
    """

    name: str
    output: str
    says: str
    wrong: Mask
    expected: str
    observed: str

    __repr__ = brief


def selection_faults(subject: Subject) -> Iterator[SelectionFault]:
    """What the runs show that the contract asks for: zeros first, then ranges, then rows and columns."""
    contract = subject.contract
    if isinstance(contract, Reference):
        for name, output in contract.zeros:
            yield from _zero(subject, name, output)
    if not isinstance(contract, Gemm):
        return
    for name in (contract.a, contract.b) if contract.zeros else ():
        yield from _zero(subject, name, contract.d)
    if contract.ranges:
        yield from _ranges(subject, contract)
    if contract.identity:
        yield from _identity(subject, contract)


def asked(subject: Subject) -> str:
    """Which of these runs the contract asks for, in words; "" for none."""
    contract = subject.contract
    if isinstance(contract, Reference):
        return ", ".join(f"{name} = 0" for name, _ in contract.zeros)
    if not isinstance(contract, Gemm):
        return ""
    said = [f"{contract.a} = 0", f"{contract.b} = 0"] if contract.zeros else []
    said += [f"{contract.a} = I by rows and columns"] if contract.identity else []
    said += [f"ranges of {contract.ranges} rows of {contract.b}"] if contract.ranges else []
    return ", ".join(said)


def _zero(subject: Subject, name: str, output: str) -> Iterator[SelectionFault]:
    recorded = subject.run(RunSpec(ZERO + name))
    observed = np.asarray(recorded.outputs[output], np.float64)
    # Elements without a value are another rule's.
    wrong = (observed != 0) & ~_undefined(recorded.undefined.get(output), observed.shape)
    if wrong.any():
        first = observed[tuple(np.argwhere(wrong)[0])]
        says = f"{output} is not zero where {name} is all zeros: {region(wrong)}"
        yield SelectionFault(NOT_ZERO, output, says, wrong, "0", f"{first:.7g}")


def _undefined(bits: NDArray[np.unsignedinteger] | None, shape: tuple[int, ...]) -> Mask:
    return np.zeros(shape, np.bool_) if bits is None else np.asarray(bits != 0)


class _Shown(Struct, frozen=True, eq=False):
    """Rows and columns of B that the elements of D show, and what they should show: int64 [..., M, N]."""

    row: Ints
    col: Ints
    wanted_row: Ints
    wanted_col: Ints

    __repr__ = brief


def _shown(subject: Subject, contract: Gemm, shift: int, first: int = 0, last: int = 0) -> _Shown:
    """What the runs of one identity show."""
    row, col = (_axis(subject, contract, shift, axis, first, last) for axis in ("row", "col"))
    rows = subject.binding.buffers[contract.b].shape[-2]
    line, column = np.indices(row.shape[-2:], np.int64)
    wanted = line + shift
    held = wanted < rows
    if last:
        held &= (wanted >= first) & (wanted < last)
    return _Shown(
        row, col,
        np.broadcast_to(np.where(held, wanted, NOTHING), row.shape),
        np.broadcast_to(np.where(held, column, NOTHING), row.shape),
    )  # fmt: skip


def _axis(subject: Subject, contract: Gemm, shift: int, axis: str, first: int, last: int) -> Ints:
    """Rows (or columns) of B, as the elements of D say."""
    code = code_of(subject.binding, contract, axis)
    dtype = subject.binding.buffers[contract.b].dtype
    digits, empty, undefined = [], [], []
    for digit in range(code.digits):
        select = Select(shift, axis, digit, first, last)
        recorded = subject.run(RunSpec(select.kind, (), 1.0, 0.0))
        observed = np.asarray(recorded.outputs[contract.d], np.float64)
        bits = _undefined(recorded.undefined.get(contract.d), observed.shape)
        if contract.split_k:
            observed, bits = observed.sum(axis=0), np.asarray(bits.any(axis=0))
        if not recorded.alpha:
            raise UndecidedError("alpha is 0: the output shows nothing of B")
        observed = observed / recorded.alpha
        empty.append(observed == 0)
        undefined.append(bits)
        digits.append(_bytes(observed, dtype) if is_small_float(dtype) else observed)
    number = code.numbers(digits)
    rows, cols = subject.binding.buffers[contract.b].shape[-2:]
    known = np.where((number >= 0) & (number < (rows if axis == "row" else cols)), number, NO_CODE)
    known = np.where(np.all(empty, axis=0), NOTHING, known)
    return np.where(np.any(undefined, axis=0), NO_CODE, known)


def _bytes(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Codes of numbers in a float of 8 bits; 0, which is no digit, where it has no such number."""
    kind = element_type(dtype)
    with np.errstate(invalid="ignore"):
        raw = kind.encode(np.where(np.isfinite(values), values, 0.0))
        return np.where(kind.decode(raw) == values, raw.astype(np.float64), 0.0)


def _identity(subject: Subject, contract: Gemm) -> Iterator[SelectionFault]:
    """The first run that shows another row or column."""
    for shift in _shifts(subject, contract):
        shown = _shown(subject, contract, shift)
        if fault := _misplaced(contract, shown):
            yield fault
            return


def _shifts(subject: Subject, contract: Gemm) -> range:
    """Rows of B at which the identities begin."""
    return range(0, subject.binding.buffers[contract.b].shape[-2], _rows_of_d(subject, contract))


def _rows_of_d(subject: Subject, contract: Gemm) -> int:
    return subject.binding.buffers[contract.d].shape[-2]


def _misplaced(contract: Gemm, shown: _Shown) -> SelectionFault | None:
    strange = (shown.row == NO_CODE) | (shown.col == NO_CODE)
    off = ~strange & ((shown.row != shown.wanted_row) | (shown.col != shown.wanted_col))
    empty = off & (shown.row == NOTHING)
    rows, cols = shown.row != shown.wanted_row, shown.col != shown.wanted_col
    if strange.any() or (empty.any() and not (off & ~empty).any()):
        wrong = strange | empty
        what = "nothing" if not strange.any() else "what no single element of it holds"
        says = f"with {contract.a} = I {contract.d} shows {what} of {contract.b}: {region(wrong)}"
        return _fault(contract, NO_ROW, says, wrong, shown)
    if (off & rows).any():
        says = f"with {contract.a} = I {contract.d} shows other rows of {contract.b}: {_of_rows(shown, off & rows)}"
        return _fault(contract, OTHER_ROW, says, off & rows, shown)
    if (off & cols).any():
        how = _step(shown.wanted_col, shown.col, off & cols, "column")
        says = f"with {contract.a} = I rows are right, and columns of {contract.b} are not: "
        return _fault(contract, OTHER_COLUMN, says + (how or region(off & cols)), off & cols, shown)
    return None


def _of_rows(shown: _Shown, wrong: Mask) -> str:
    """How rows differ: by a fold, a flip or a step, or which never arrive."""
    how = _step(shown.wanted_row, shown.row, wrong, "row")
    arrived = np.unique(shown.row[shown.row >= 0])
    lost = np.setdiff1d(np.unique(shown.wanted_row[shown.wanted_row >= 0]), arrived)
    said = [how] if how else []
    said += [f"rows {spans(lost)} never arrive"] if lost.size else []
    return "; ".join(said) or region(wrong)


def _step(wanted: Ints, seen: Ints, wrong: Mask, what: str) -> str:
    """A rule that takes wanted numbers to those seen: "rows fold by 8", "column r ^ 32"; "" where none does.

    A fold has to hold where nothing is wrong, too.
    """
    selected = wanted >= 0
    wanted, seen, wrong = wanted[selected], seen[selected], wrong[selected]
    if not wrong.any() or (seen[wrong] < 0).any():
        return ""
    lost = int(np.bitwise_or.reduce(wanted[wrong] ^ seen[wrong]))
    if (seen == wanted & ~lost).all():
        return f"{what}s fold by {lost & -lost}: {what} r shows {what} r & ~{lost}"
    flip, step = np.unique(wanted[wrong] ^ seen[wrong]), np.unique(seen[wrong] - wanted[wrong])
    if step.size == 1:
        return f"{what} r shows {what} r {'+' if step[0] > 0 else '-'} {abs(int(step[0]))}"
    if flip.size == 1:
        return f"{what} r shows {what} r ^ {int(flip[0])}"
    return ""


def _fault(contract: Gemm, name: str, says: str, wrong: Mask, shown: _Shown) -> SelectionFault:
    index = tuple(np.argwhere(wrong)[0])
    return SelectionFault(
        name, contract.d, says, wrong,
        _named(contract.b, int(shown.wanted_row[index]), int(shown.wanted_col[index])),
        _named(contract.b, int(shown.row[index]), int(shown.col[index])),
    )  # fmt: skip


def _named(name: str, row: int, col: int) -> str:
    if NO_CODE in (row, col):
        return f"no element of {name}"
    return "0" if row == NOTHING else f"{name}[{row}][{col}]"


def _ranges(subject: Subject, contract: Gemm) -> Iterator[SelectionFault]:
    """The first range of rows of B that shows, or fails to show, where it should not."""
    rows = subject.binding.buffers[contract.b].shape[-2]
    for shift in _shifts(subject, contract):
        for first in range(0, rows, contract.ranges):
            last = min(first + contract.ranges, rows)
            shown = _shown(subject, contract, shift, first, last)
            outside = (shown.wanted_row == NOTHING) & ((shown.row != NOTHING) | (shown.col != NOTHING))
            if outside.any():
                says = (
                    f"with {contract.a} = I and only rows {first}-{last - 1} of {contract.b} not zero, other rows of "
                    f"{contract.d} are not zero: {region(outside)}"
                )
                yield _fault(contract, LEAK, says, outside, shown)
                return
