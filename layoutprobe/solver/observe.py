"""Between dumped registers and slots.

A dump has axes [wave, vgpr, lane] and 32-bit words, as the probes write it; slots have axes
[wave, lane, vgpr, field], as in a Layout. Field f of a VGPR is bits [f*bits, (f+1)*bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.patterns.carriers import carrier_of
from layoutprobe.patterns.pattern import Pattern

Raw = NDArray[np.unsignedinteger]


class Observation(Struct, frozen=True, eq=False):
    """What one coded run left behind.

    Attributes:
        pattern, carrier: how the matrix was coded.
        raw: raw bits: uint32 [wave, vgpr, lane] of a register dump, or one unsigned integer per
            cell of LDS.
        undefined: same shape; set bits never had a defined value. None where nobody can know.
    """

    pattern: Pattern
    carrier: str
    raw: Raw
    undefined: Raw | None = None

    __repr__ = brief


class Match(Struct, frozen=True, eq=False):
    """Which elements fit the codes of every slot; all arrays have the shape of the slots.

    Attributes:
        candidates: int32, how many elements fit: 0 no such code, 1 identified.
        row, col: int32; the coordinate that all candidates share, else UNKNOWN; HOLE where there
            is no candidate.
        key: int64, number of the codes together; -1 where no element has them.
        element_key: int64 [rows, cols], the key of every element.
    """

    candidates: NDArray[np.int32]
    row: NDArray[np.int32]
    col: NDArray[np.int32]
    key: NDArray[np.int64]
    element_key: NDArray[np.int64]

    __repr__ = brief


_WIDTHS = (64, 32, 16, 8, 6, 4)


def split_fields(raw: Raw, field_bits: int) -> Raw:
    """Slots [wave, lane, vgpr, field] of a register dump [wave, vgpr, lane].

    Where an element fills two VGPRs or straddles them (64 and 6 bits), the third axis counts groups of VGPRs
    that begin with an element: pairs, and groups of three.

    Raises:
        UsageError: not a register dump, or no such field width.
    """
    if raw.ndim != 3 or raw.dtype != np.uint32:
        raise UsageError(
            "Not a register dump",
            expected="uint32 [wave, vgpr, lane]",
            observed=f"{raw.dtype} with {raw.ndim} axes",
        )
    if field_bits not in _WIDTHS:
        raise UsageError(
            f"A VGPR has no fields of {field_bits} bits",
            expected=", ".join(str(width) for width in _WIDTHS[:-1]) + f" or {_WIDTHS[-1]}",
        )
    count = lcm(field_bits, 32) // 32
    words = raw.transpose(0, 2, 1).reshape(len(raw), raw.shape[2], -1, count)
    if count > 1:
        words = words.astype(np.uint64)
    fields = [_field(words, low, field_bits) for low in range(0, 32 * count, field_bits)]
    return np.stack(fields, axis=3).astype(np.uint64 if field_bits == 64 else np.uint32, copy=False)


def _field(words: Raw, low: int, bits: int) -> Raw:
    """The bits from `low` on of groups of words, the last axis."""
    first, shift = divmod(low, 32)
    value = words[..., first] >> words.dtype.type(shift)
    if shift + bits > 32:
        value = value | words[..., first + 1] << words.dtype.type(32 - shift)
    return np.asarray(value & words.dtype.type((1 << bits) - 1))


def join_fields(slots: Raw, field_bits: int = 0) -> NDArray[np.uint32]:
    """Register dump [wave, vgpr, lane] with the given slots [wave, lane, vgpr, field].

    Args:
        slots: the inverse of `split_fields`.
        field_bits: width of a slot; what fills a VGPR unless given.
    """
    bits = field_bits or 32 // slots.shape[3]
    if (bits >= 8 and 32 % bits == 0) or bits == 64:
        # Fields that are numbers of the machine lie as a register has them: the lowest first.
        words = np.ascontiguousarray(slots, f"<u{bits // 8}").view("<u4")
    else:
        words = np.zeros((*slots.shape[:3], lcm(bits, 32) // 32), np.uint32)
        fields = slots.astype(np.uint32, copy=False)
        for number in range(slots.shape[3]):
            first, shift = divmod(number * bits, 32)
            words[..., first] |= fields[..., number] << np.uint32(shift)
            if shift + bits > 32:
                words[..., first + 1] |= fields[..., number] >> np.uint32(32 - shift)
    flat = words.reshape(*slots.shape[:2], -1)
    return np.ascontiguousarray(flat.transpose(0, 2, 1))


def match_elements(coded: Sequence[tuple[Pattern, str, Raw]], shape: tuple[int, int]) -> Match:
    """Intersect what several patterns say of the same slots.

    Args:
        coded: (pattern, carrier, observed code of every slot); all of one shape.
        shape: rows and columns of the coded matrix.

    Raises:
        UsageError: no observation, or a pattern refuses the shape or carrier.
    """
    if not coded:
        raise UsageError("Nothing was observed: give at least one pattern")
    element = np.zeros(shape[0] * shape[1], np.int64)
    slot = np.zeros(coded[0][2].shape, np.int64)
    known = np.ones(slot.shape, np.bool_)
    for pattern, carrier, observed in coded:
        digits, digit = np.unique(pattern.encode(shape, carrier), return_inverse=True)
        at, found = _position(digits, observed)
        known &= found
        # Keys are renumbered after every pattern and so stay below rows*cols: no overflow.
        keys, element = np.unique(element * digits.size + digit.ravel(), return_inverse=True)
        slot, found = _position(keys, slot * digits.size + at)
        known &= found
    count = np.bincount(element)
    row, col = (_common(axis, element, count.size) for axis in np.divmod(np.arange(element.size), shape[1]))
    hole = np.int32(HOLE)
    return Match(
        np.where(known, count[slot], 0).astype(np.int32),
        np.where(known, row[slot], hole),
        np.where(known, col[slot], hole),
        np.where(known, slot, -1),
        element.reshape(shape),
    )


def _common(axis: NDArray[np.int64], group: NDArray[np.intp], groups: int) -> NDArray[np.int32]:
    """Per group of elements the coordinate that all of them share, else UNKNOWN."""
    low = np.full(groups, np.iinfo(np.int64).max)
    high = np.full(groups, -1)
    np.minimum.at(low, group, axis)
    np.maximum.at(high, group, axis)
    return np.where(low == high, low, UNKNOWN).astype(np.int32)


def _position(
    sorted_values: NDArray[np.integer], wanted: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    at = np.minimum(np.searchsorted(sorted_values, wanted), sorted_values.size - 1)
    return at, sorted_values[at] == wanted


def check_width(observations: Sequence[Observation], field_bits: int) -> None:
    """Refuse carriers that are not as wide as the fields they are looked for in.

    Raises:
        UsageError: a carrier has another width, or the observations have different shapes.
    """
    for observation in observations:
        bits = carrier_of(observation.carrier).bits
        if bits != field_bits:
            raise UsageError(
                f"Carrier {observation.carrier} does not fit the elements",
                where={"pattern": observation.pattern.name},
                expected=f"{field_bits} bits",
                observed=f"{bits} bits",
            )
        if observation.raw.shape != observations[0].raw.shape:
            raise UsageError(
                "Two observations of the same slots have different shapes",
                expected=str(observations[0].raw.shape),
                observed=str(observation.raw.shape),
            )
