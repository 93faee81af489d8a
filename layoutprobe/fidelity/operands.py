"""Matrices as registers and back, by the documented fragments; and differences in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.fragments import Fragment
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.numbers import element_type

Words = NDArray[np.uint32]
Raw = NDArray[np.uint32]
"""Elements as their bits: [wave, row, col]."""


def raw_of(kind: str, numbers: NDArray[np.float64] | NDArray[np.int64]) -> Raw:
    """Bits of the nearest numbers of an element type."""
    return element_type(kind).encode(numbers).astype(np.uint32)


def registers(fragment: Fragment, copies: Sequence[Raw], lanes: int) -> Words:
    """Registers that hold a matrix, each copy as given: uint32 [wave, vgpr, lane]."""
    words = np.zeros((len(copies[0]), fragment.vgprs, lanes), np.uint32)
    for copy, raw in enumerate(copies):
        for low in np.unique(fragment.shift[copy]):
            here = fragment.shift[copy] == low
            shifted = raw[:, here] << np.uint32(low)
            words[:, fragment.vgpr[copy][here], fragment.lane[copy][here]] |= shifted
    return words


def elements(fragment: Fragment, words: Words) -> Raw:
    """The first copy of a matrix in registers."""
    taken = words[:, fragment.vgpr[0], fragment.lane[0]]
    shift = fragment.shift[0].astype(np.uint32)
    return np.asarray(taken >> shift & np.uint32((1 << fragment.bits) - 1))


def operands(
    form: MatrixForm,
    wave: int,
    matrices: Mapping[str, Raw],
    *,
    opsel: int = 0,
    old: Words | None = None,
) -> dict[str, Words]:
    """Operands of the interaction probe, replicated as the documents ask.

    Args:
        form: the instruction, with a dense A.
        wave: lanes of a wave.
        matrices: "A", "B", "C" -> bits [wave, row, col].
        opsel: as of MatrixForm.opsels.
        old: what D holds before; zeros where None.
    """
    fragments = form.fragments(wave, opsel)
    found = {
        name.lower(): registers(fragments[name], [raw] * fragments[name].copies, wave)
        for name, raw in matrices.items()
    }
    found["old"] = np.zeros_like(found["c"]) if old is None else old
    return found


def place(wave: int) -> Callable[[tuple[int, ...]], str]:
    """A register of D by its index [wave, vgpr, lane], in words."""

    def words(at: tuple[int, ...]) -> str:
        return f"run {at[0]}, VGPR {at[1]}, lane {at[2]} of {wave}"

    return words


def difference(card: Words, emulated: Words, where: Callable[[tuple[int, ...]], str]) -> str:
    """Where two arrays first differ, in words; "" where they do not.

    Args:
        card: what was observed.
        emulated: the same of the emulator.
        where: an index in words.
    """
    wrong = card != emulated
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{where(at)}: {int(card[at]):#010x}, the emulator has {int(emulated[at]):#010x}; "
        f"{int(wrong.sum())} of {wrong.size} differ"
    )
