"""Whether registers of a library hold the operand of a matrix instruction, or of several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import Arch, MatrixForm
from layoutprobe.arch.fragments import Fragment

Ints = NDArray[np.int64]
_SAME = {"h16": "f16", "f8": "fp8"}
_EITHER = {"i8": "iu8", "u8": "iu8"}


def operand_of(
    target: Arch, lanes: int, letter: str, dtype: str, row: Ints, col: Ints, shape: tuple[int, int, int]
) -> tuple[str, bool]:
    """What the elements are to the target's dense instructions: in words, and whether they are an operand.

    Args:
        target, lanes: which instructions, in waves of so many lanes.
        letter: "A", "B" or "C".
        dtype: element type.
        row, col: int64 [lane, i], element in each place; below 0 where there is none.
        shape: M, N and K of the whole product.
    """
    known = [form for form in target.matrix.values() if _fits(form, lanes, letter, dtype, shape)]
    for form in known:
        if words := _slices(form, form.fragments(lanes)[letter], letter, row, col):
            return words, True
    tried = (
        f": tried {', '.join(form.spelling for form in known)}"
        if known
        else ": the target has none of this type"
    )
    return (
        f"not the operand {letter} of one matrix instruction, nor of several one after the other{tried}",
        False,
    )


def _fits(form: MatrixForm, lanes: int, letter: str, dtype: str, shape: tuple[int, int, int]) -> bool:
    name = _SAME.get(dtype, dtype)
    own = (form.result if letter == "C" else form.a if letter == "A" else form.b).removesuffix("_fnuz")
    return (
        lanes in form.waves
        and form.blocks == 1
        and not (form.sparse or form.scaled)
        and own in (name, _EITHER.get(name, name))
        and all(whole % part == 0 for whole, part in zip(shape, form.shape, strict=True))
    )


def _slices(form: MatrixForm, fragment: Fragment, letter: str, row: Ints, col: Ints) -> str:
    """In words, where every run of x is an operand of the instruction, up to the names of k; "" where not."""
    per = fragment.slots
    if row.shape[1] % per:
        return ""
    renamed = False
    count = row.shape[1] // per
    for number in range(count):
        places = slice(number * per, (number + 1) * per)
        found = _is_operand(fragment, letter, row[:, places], col[:, places])
        if found is None:
            return ""
        renamed = renamed or found
    names = (
        ", with k in another order, which is the same for A and B if both are loaded so" if renamed else ""
    )
    if count == 1:
        return f"the operand {letter} of {form.spelling}: x[i] is its element i of the lane{names}"
    return f"the operands {letter} of {count} x {form.spelling}, {per} elements of x each{names}"


def _is_operand(fragment: Fragment, letter: str, row: Ints, col: Ints) -> bool | None:
    """Whether k must be renamed for these elements to be the operand; None where they are not."""
    lane, place = fragment.lane, fragment.bit // fragment.bits
    r, c = row[lane, place], col[lane, place]
    if (r < 0).any() or (c < 0).any():
        return None
    i, j = np.indices(lane.shape[1:])
    if letter == "C":
        of_rows, of_cols = r - i, c - j
        return False if np.ptp(of_rows) == 0 and np.ptp(of_cols) == 0 else None
    line, k, of_line, of_k = (i, j, r, c) if letter == "A" else (j, i, c, r)
    if np.ptp(of_line - line):
        return None
    first = of_k[0, 0, :] if letter == "A" else of_k[0, :, 0]
    if (of_k != first[k]).any() or np.unique(first).size != first.size:
        return None
    return bool((np.diff(first) != 1).any())
