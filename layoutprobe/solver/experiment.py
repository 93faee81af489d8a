"""The interaction experiment: what to feed a matrix instruction to learn its layout.

One operand holds a single 1 in one slot, the other a different number in every slot. Each output
then shows the number of the slot that the 1 met, or 0. Doing this for every slot of A and again
for every slot of B yields all meetings twice; the two lists must agree, which also proves that
no output saw a sum of several.

Numbers stay non-negative: sums of mixed signs are not exact on the silicon (see the gfx1151
study in ROCm/rocm-systems issue 12056). Where a dtype has fewer exact integers than the operand
has slots, the number is spread over several runs, one digit each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.patterns.carriers import carrier_of
from layoutprobe.solver.observe import join_fields, split_fields

Slots = tuple[int, int, int]
"""Lanes, VGPRs and fields per VGPR of an operand. Slots are numbered in this order, last fastest."""

MAX_SLOTS = 1 << 12
MAX_WORDS = 1 << 24


@dataclass(frozen=True)
class OperandFormat:
    """How small integers are written in an operand's elements.

    Attributes:
        carrier: numeric carrier of A and B.
        bits: width of an element.
        exact: 0..exact are all exact, and so are their products with 1.
        result: numeric carrier of C and D.
    """

    carrier: str
    bits: int
    exact: int
    result: str


FORMATS = {
    "f16": OperandFormat("f16", 16, 2048, "f32"),
    "bf16": OperandFormat("bf16", 16, 256, "f32"),
    "iu8": OperandFormat("u8", 8, 255, "i32"),
    "iu4": OperandFormat("u4", 4, 15, "i32"),
}


@dataclass(frozen=True, eq=False)
class Experiment:
    """Operands to feed and how to read the answer.

    Waves come in this order: for every digit, one wave per A slot; for every digit, one wave per
    B slot; two waves for C.

    Attributes:
        a, b, c: uint32 [wave, vgpr, lane].
        a_slots, b_slots, d_slots: extents of the operands; d_slots also holds for C.
        dtype: key of FORMATS.
    """

    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    c: NDArray[np.uint32]
    a_slots: Slots
    b_slots: Slots
    d_slots: Slots
    dtype: str

    __repr__ = brief

    @property
    def waves(self) -> int:
        """How many waves the probe launches."""
        return int(self.a.shape[0])


@dataclass(frozen=True, eq=False)
class Meetings:
    """What was seen to meet; slots by number.

    Attributes:
        a, b, d: int64: the product of slots a[n] and b[n] enters slot d[n].
        c, c_to: int64: slot c[n] of C is added into slot c_to[n] of D.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    d: NDArray[np.int64]
    c: NDArray[np.int64]
    c_to: NDArray[np.int64]

    __repr__ = brief


def format_of(dtype: str) -> OperandFormat:
    """Format of a dtype.

    Raises:
        UsageError: no such dtype.
    """
    if dtype not in FORMATS:
        raise UsageError(f"No interaction experiment for dtype {dtype!r}", expected=", ".join(FORMATS))
    return FORMATS[dtype]


def _count(slots: Slots) -> int:
    return slots[0] * slots[1] * slots[2]


def _digits(count: int, base: int) -> int:
    digits = 1
    while base**digits < count:
        digits += 1
    return digits


def _coded(slots: Slots, fmt: OperandFormat) -> NDArray[np.uint32]:
    """Raw codes of all slots, one row per digit: digit + 1, so that no code is zero."""
    count = _count(slots)
    number = np.arange(count, dtype=np.int64)
    rows = [number // fmt.exact**place % fmt.exact + 1 for place in range(_digits(count, fmt.exact))]
    raw, _ = carrier_of(fmt.carrier).encode(np.stack(rows))
    return raw.astype(np.uint32)


def _one_hot(slots: Slots, fmt: OperandFormat) -> NDArray[np.uint32]:
    one, _ = carrier_of(fmt.carrier).encode(np.array([1], np.int64))
    return np.eye(_count(slots), dtype=np.uint32) * np.uint32(one[0])


def _registers(slots: NDArray[np.uint32], extents: Slots) -> NDArray[np.uint32]:
    return join_fields(slots.reshape(-1, *extents))


def _pair(hot: Slots, coded: Slots, fmt: OperandFormat) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Registers of the one-hot and of the coded operand, every digit for every hot slot."""
    codes = _coded(coded, fmt)
    hot_registers = np.tile(_registers(_one_hot(hot, fmt), hot), (len(codes), 1, 1))
    return hot_registers, np.repeat(_registers(codes, coded), _count(hot), axis=0)


def interaction_experiment(
    a_slots: Slots = (32, 8, 2),
    b_slots: Slots = (32, 8, 2),
    d_slots: Slots = (32, 8, 1),
    dtype: str = "f16",
) -> Experiment:
    """Operands that make the instruction tell its layout.

    Args:
        a_slots, b_slots, d_slots: lanes, VGPRs and fields per VGPR of A, B, and C and D.
        dtype: dtype of A and B.

    Raises:
        UsageError: unknown dtype, or extents that do not belong to it.
    """
    fmt = format_of(dtype)
    for slots, fields in ((a_slots, 32 // fmt.bits), (b_slots, 32 // fmt.bits), (d_slots, 1)):
        if slots[2] != fields or min(slots) < 1 or _count(slots) > MAX_SLOTS or slots[0] != d_slots[0]:
            raise UsageError(
                "Operand extents do not fit the dtype",
                expected=f"lanes, VGPRs, {fields} fields; at most {MAX_SLOTS} slots",
                observed=str(slots),
            )
    waves = _digits(_count(b_slots), fmt.exact) * _count(a_slots) + _digits(
        _count(a_slots), fmt.exact
    ) * _count(b_slots)
    words = waves * max(a_slots[1], b_slots[1], d_slots[1]) * a_slots[0]
    if words > MAX_WORDS:
        raise UsageError(
            "The operands are too large for an interaction experiment", observed=f"{words} words"
        )
    a_hot, b_coded = _pair(a_slots, b_slots, fmt)
    b_hot, a_coded = _pair(b_slots, a_slots, fmt)
    number = np.arange(_count(d_slots), dtype=np.int64)
    # Twice, the second time descending: the two sum to a constant only if one slot alone was added.
    c_numbers, _ = carrier_of(fmt.result).encode(np.stack([number + 1, number.size - number]))
    c_coded = _registers(c_numbers.astype(np.uint32), d_slots)

    def stack(*parts: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.concatenate(parts)

    def zeros(like: NDArray[np.uint32], waves: int) -> NDArray[np.uint32]:
        return np.zeros((waves, *like.shape[1:]), np.uint32)

    return Experiment(
        stack(a_hot, a_coded, zeros(a_hot, 2)),
        stack(b_coded, b_hot, zeros(b_hot, 2)),
        stack(zeros(c_coded, len(a_hot) + len(b_hot)), c_coded),
        a_slots,
        b_slots,
        d_slots,
        dtype,
    )


def read_meetings(experiment: Experiment, d: NDArray[np.uint32]) -> Meetings:
    """Which slots meet, from the results of all waves.

    Args:
        experiment: what was fed.
        d: uint32 [wave, vgpr, lane].

    Raises:
        ProbeError: the outputs are no products of the inputs that were fed.
    """
    fmt = format_of(experiment.dtype)
    slots = split_fields(d, 32).reshape(len(d), -1)
    value = slots.view(np.float32 if fmt.result == "f32" else np.int32).astype(np.float64)
    n_a, n_b, n_d = (_count(s) for s in (experiment.a_slots, experiment.b_slots, experiment.d_slots))
    with_a = _digits(n_b, fmt.exact) * n_a
    hot_a, hot_b, added = np.split(value, [with_a, len(value) - 2])
    a, d_of_a, b = _decode(hot_a.reshape(-1, n_a, n_d), fmt.exact, n_b, "A")
    b_too, d_of_b, a_too = _decode(hot_b.reshape(-1, n_b, n_d), fmt.exact, n_a, "B")
    seen = (a * n_b + b) * n_d + d_of_a
    confirmed = (a_too * n_b + b_too) * n_d + d_of_b
    if not np.array_equal(np.sort(seen), np.sort(confirmed)):
        raise ProbeError(
            "The two halves of the interaction experiment contradict each other",
            expected="the same meetings from one-hot A and from one-hot B",
            observed=f"{seen.size} and {confirmed.size} meetings",
            hint="an output adds several copies of a slot, or the instruction is not a plain product",
        )
    c, c_to = _decode_added(added, n_d)
    return Meetings(a, b, d_of_a, c, c_to)


def _decode(
    value: NDArray[np.float64], base: int, count: int, hot: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(hot slot, D slot, coded slot) of every non-zero output.

    Args:
        value: [digit, hot slot, D slot].
        base: digits run from 0 to base-1 and are coded one higher.
        count: coded slots.
        hot: letter of the one-hot operand.
    """
    touched = value[0] != 0
    digits = value[:, touched]
    sound = (digits >= 1) & (digits <= base) & (digits == np.floor(digits))
    number = (np.where(sound, digits - 1, 0) * base ** np.arange(len(value))[:, None]).sum(axis=0)
    if not sound.all() or (number >= count).any() or ((value != 0) != touched).any():
        raise ProbeError(
            f"With a single 1 in {hot}, an output is not one of the numbers fed",
            expected=f"0, or an integer from 1 to {min(base, count)}",
            observed=f"{digits[~sound][0]}" if not sound.all() else "a sum of several",
            hint="the instruction is not a plain matrix product of these operands",
        )
    hot_slot, d_slot = np.nonzero(touched)
    return hot_slot, d_slot, number.astype(np.int64)


def _decode_added(value: NDArray[np.float64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rising, falling = value
    touched = (rising != 0) | (falling != 0)
    if (touched & ~(rising + falling == count + 1)).any() or (rising != np.floor(rising)).any():
        raise ProbeError(
            "With A and B zero, an output is not a single slot of C",
            expected=f"code and counter-code that sum to {count + 1}",
            hint="the instruction adds several slots of C, or scales C",
        )
    target = np.flatnonzero(touched)
    return rising[target].astype(np.int64) - 1, target
