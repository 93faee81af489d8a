"""Epilogue: accumulator slots were coded, the kernel stored them; which slot went where in C?"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.numbers import DigitCode, digit_base, element_type
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding
from layoutprobe.solver.observe import Raw
from layoutprobe.solver.rules import DOUBLED, FOREIGN, LOST, NEVER_WRITTEN


class Epilogue(Struct, frozen=True, eq=False):
    """Where the accumulators were stored.

    Attributes:
        layout: element that each slot was stored to (the first in row-major order, where there
            are several); HOLE where it was stored nowhere. Axes [wave, lane, vgpr, 1].
        stores: int32, same axes: how many elements hold the slot's code.
        unwritten: bool [rows, cols]: elements that the kernel never gave a defined value.
        foreign: bool [rows, cols]: elements with a value that no slot had.
    """

    layout: Layout
    stores: NDArray[np.int32]
    unwritten: NDArray[np.bool_]
    foreign: NDArray[np.bool_]

    __repr__ = brief


def epilogue_codes(waves: int, slots: int, lanes: int, bits: int = 32) -> NDArray[np.unsignedinteger]:
    """One code per accumulator slot, [wave, slot, lane]: the numbers 1, 2, 3... as bits of f32, or of f64.

    Numbers, and none of them zero: they survive scaling by one and adding zero, and memory that
    was merely cleared cannot pass for a stored slot.

    Raises:
        UsageError: more slots than an f32 has integers.
    """
    kind, count = element_type(f"f{bits}"), waves * slots * lanes
    code = DigitCode.of(count, digit_base(["f32"]))
    if code.digits > 1:
        raise UsageError("too many accumulator slots for one run", expected=f"at most {code.base}")
    return kind.encode(code.digit(np.arange(count), 0)).astype(kind.raw).reshape(waves, slots, lanes)


def solve_epilogue(
    stored: Raw,
    codes: Raw,
    undefined: Raw | None = None,
    sentinel: int | None = None,
    matrix: str = "D",
    stacked: tuple[int, int] | None = None,
) -> Epilogue:
    """Layout of the accumulators from the matrix that the kernel stored.

    Args:
        stored: raw bits of C, [rows, cols].
        codes: raw bits that each accumulator slot held, [wave, vgpr, lane]; all different. Of 64 bits "vgpr"
            counts pairs.
        undefined: shape of stored; set bits were never written.
        sentinel: raw bits that C held before, which mean "never written".
        matrix: name of the result.
        stacked: rows and columns of a product, where waves compute several, which lie on the diagonal of
            their tile: nothing is missed elsewhere.

    Raises:
        UsageError: two slots share a code, or a slot's code is the sentinel.
    """
    slots = codes.transpose(0, 2, 1)[..., None]
    order = np.argsort(slots, axis=None, kind="stable")
    known = slots.ravel()[order]
    if (known[1:] == known[:-1]).any() or (sentinel is not None and sentinel in known):
        raise UsageError("Accumulator slots must have codes of their own", hint="use epilogue_codes()")
    unwritten = np.zeros(stored.shape, np.bool_) if undefined is None else np.asarray(undefined != 0)
    if sentinel is not None:
        unwritten = unwritten | (stored == sentinel)
    written = ~unwritten
    if stacked:
        down, right = np.indices(stored.shape)
        across = stored.shape[1] // stacked[1]
        inside = down // stacked[0] % across == right // stacked[1]
        unwritten &= inside
        written &= inside | (undefined is not None)  # a card does not tell what was there before
    at = np.minimum(np.searchsorted(known, stored), known.size - 1)
    found = (known[at] == stored) & written
    element = np.flatnonzero(found)
    slot = order[at[found]]
    stores = np.bincount(slot, minlength=slots.size).astype(np.int32)
    first = np.full(slots.size, HOLE, np.int64)
    # Written backwards, so that the first element in row-major order stays.
    first[slot[::-1]] = element[::-1]
    row = np.where(first == HOLE, HOLE, first // stored.shape[1]).astype(np.int32)
    col = np.where(first == HOLE, HOLE, first % stored.shape[1]).astype(np.int32)
    shape = (int(stored.shape[0]), int(stored.shape[1]))
    layout = Layout(matrix, shape, row.reshape(slots.shape), col.reshape(slots.shape), 8 * codes.itemsize)
    return Epilogue(layout, stores.reshape(slots.shape), unwritten, ~found & written)


def store_findings(epilogue: Epilogue) -> tuple[Finding, ...]:
    """What is wrong with the stores whatever the instruction needs: gaps, lost slots, duplicates."""
    findings = []
    lost, twice = epilogue.stores == 0, epilogue.stores > 1
    for mask, rule, what, hint in (
        (
            epilogue.unwritten,
            NEVER_WRITTEN,
            "elements of C that the epilogue never wrote",
            "check its row and column formula",
        ),
        (
            epilogue.foreign,
            FOREIGN,
            "elements of C that hold no accumulator's value",
            "is C scaled, or stored by others?",
        ),
    ):
        if mask.any():
            row, col = (int(x) for x in np.argwhere(mask)[0])
            place = Place(element=Element("C", (row, col)))
            findings.append(Finding(rule, what, place, hint=hint, count=int(mask.sum())))
    for mask, rule, what, hint in (
        (
            lost,
            LOST,
            "accumulator slots that reached no element of C",
            "overwritten by another store, or out of bounds",
        ),
        (
            twice,
            DOUBLED,
            "accumulator slots that were stored to several elements of C",
            "does the grid cover C twice?",
        ),
    ):
        if mask.any():
            place = epilogue.layout.place(tuple(np.argwhere(mask)[0]))
            findings.append(Finding(rule, what, place, hint=hint, count=int(mask.sum())))
    return tuple(findings)
