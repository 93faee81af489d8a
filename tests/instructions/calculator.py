"""Layouts of AMD's matrix instruction calculator, typed in again: from a slot to its element.

The product has the opposite direction, from an element to its slot. Nothing is shared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.instructions import Variant

Ints = NDArray[np.int64]
ToK = Callable[[Ints, Ints, Ints], Ints]
"""(lane, vgpr, field) -> k; of index operands (lane, 0, nibble) -> dense k of the group."""

HOLE = -1
WIDTH = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4, "f32": 32, "i32": 32}

# RDNA4, dense A and B: (width, K, wave) -> registers, k.
DENSE: dict[tuple[int, int, int], tuple[int, ToK]] = {
    (16, 16, 32): (4, lambda lane, v, f: 8 * (v // 2) + 4 * (lane // 16) + 2 * (v % 2) + f),
    (16, 16, 64): (2, lambda lane, v, f: 8 * (lane // 32) + 4 * (lane // 16 % 2) + 2 * v + f),
    (8, 16, 32): (2, lambda lane, v, f: 8 * (lane // 16) + 4 * v + f),
    (8, 16, 64): (1, lambda lane, v, f: 8 * (lane // 16 % 2) + 4 * (lane // 32) + f),
    (4, 16, 32): (1, lambda lane, v, f: 8 * (lane // 16) + f),
    (4, 16, 64): (1, lambda lane, v, f: np.where(lane < 32, 8 * (lane // 16) + f, HOLE)),
    (4, 32, 32): (2, lambda lane, v, f: 16 * (lane // 16) + 8 * v + f),
    (4, 32, 64): (1, lambda lane, v, f: 16 * (lane // 16 % 2) + 8 * (lane // 32) + f),
}

# Sparse: A gives the dense k of the group's first element (fields in twos).
SPARSE_A: dict[tuple[int, int, int], tuple[int, ToK]] = {
    (16, 32, 32): (4, lambda lane, v, f: 16 * (v // 2) + 8 * (lane // 16) + 4 * (v % 2)),
    (16, 32, 64): (2, lambda lane, v, f: 8 * (lane // 16) + 4 * v),
    (8, 32, 32): (2, lambda lane, v, f: 16 * (lane // 16) + 8 * v + 4 * (f // 2)),
    (8, 32, 64): (1, lambda lane, v, f: 16 * (lane // 16 % 2) + 8 * (lane // 32) + 4 * (f // 2)),
    (4, 32, 32): (1, lambda lane, v, f: 16 * (lane // 16) + 4 * (f // 2)),
    (4, 32, 64): (1, lambda lane, v, f: np.where(lane < 32, 16 * (lane // 16) + 4 * (f // 2), HOLE)),
    (4, 64, 32): (2, lambda lane, v, f: 32 * (lane // 16) + 16 * v + 4 * (f // 2)),
    (4, 64, 64): (1, lambda lane, v, f: 32 * (lane // 16 % 2) + 16 * (lane // 32) + 4 * (f // 2)),
}
SPARSE_B: dict[tuple[int, int, int], tuple[int, ToK]] = {
    (16, 32, 32): (8, lambda lane, v, f: 16 * (v // 4) + 8 * (lane // 16) + 2 * (v % 4) + f),
    (16, 32, 64): (4, lambda lane, v, f: 8 * (lane // 16) + 2 * v + f),
    (8, 32, 32): (4, lambda lane, v, f: 16 * (lane // 16) + 4 * v + f),
    (8, 32, 64): (2, lambda lane, v, f: 16 * (lane // 16 % 2) + 8 * (lane // 32) + 4 * v + f),
    (4, 32, 32): (2, lambda lane, v, f: 16 * (lane // 16) + 8 * v + f),
    (4, 32, 64): (1, lambda lane, v, f: 16 * (lane // 16 % 2) + 8 * (lane // 32) + f),
    (4, 64, 32): (4, lambda lane, v, f: 32 * (lane // 16) + 8 * v + f),
    (4, 64, 64): (2, lambda lane, v, f: 32 * (lane // 16 % 2) + 16 * (lane // 32) + 8 * v + f),
}
# Nibbles of an index set, and the dense k of nibble n's group.
INDEX: dict[tuple[int, int, int], tuple[int, ToK]] = {
    (16, 32, 32): (4, lambda lane, v, n: 16 * (n // 2) + 8 * (lane // 16) + 4 * (n % 2)),
    (16, 32, 64): (2, lambda lane, v, n: 8 * (lane // 16) + 4 * n),
    (8, 32, 32): (4, lambda lane, v, n: 16 * (lane // 16) + 4 * n),
    (8, 32, 64): (2, lambda lane, v, n: 16 * (lane // 16 % 2) + 8 * (lane // 32) + 4 * n),
    (4, 32, 32): (4, lambda lane, v, n: 16 * (lane // 16) + 4 * n),
    (4, 32, 64): (4, lambda lane, v, n: np.where(lane < 32, 16 * (lane // 16) + 4 * n, HOLE)),
    (4, 64, 32): (8, lambda lane, v, n: 32 * (lane // 16) + 4 * n),
    (4, 64, 64): (4, lambda lane, v, n: 32 * (lane // 16 % 2) + 16 * (lane // 32) + 4 * n),
}


class Table(Struct, frozen=True, eq=False):
    """Element of every slot: int64 [lane, vgpr, field]; HOLE where there is none."""

    row: Ints
    col: Ints

    @property
    def bits(self) -> int:
        return 32 // int(self.row.shape[2])


def _slots(lanes: int, vgprs: int, fields: int) -> tuple[Ints, Ints, Ints]:
    lane, vgpr, field = np.indices((lanes, vgprs, fields))
    return lane, vgpr, field


def _kept(table: tuple[int, ToK], wave: int, width: int) -> Table:
    vgprs, to_k = table
    lane, vgpr, field = _slots(wave, vgprs, 32 // width)
    k = to_k(lane, vgpr, field)
    return Table(np.where(k >= 0, lane % 16, HOLE), np.where(k >= 0, 2 * (k // 4) + field % 2, HOLE))


def _index(table: tuple[int, ToK], wave: int, key: int) -> Table:
    nibbles, to_k = table
    lane, vgpr, field = _slots(wave, 1, 16)
    nibble = field // 2 - key * nibbles
    k = np.where((nibble >= 0) & (nibble < nibbles), to_k(lane, vgpr, nibble), HOLE)
    return Table(np.where(k >= 0, lane % 16, HOLE), np.where(k >= 0, 2 * (k // 4) + field % 2, HOLE))


def _result(variant: Variant) -> Table:
    wave, width = variant.wave, WIDTH[variant.form.result]
    if variant.arch.startswith("gfx11"):
        lane, vgpr, field = _slots(wave, 256 // wave, 32 // width)
        row = wave // 16 * vgpr + lane // 16
        here = field == (variant.opsel // 4 if width == 16 else 0)
        return Table(np.where(here, row, HOLE), np.where(here, lane % 16, HOLE))
    lane, vgpr, field = _slots(wave, 256 * width // 32 // wave, 32 // width)
    place = vgpr * (32 // width) + field
    row = 8 * (lane // 16 % 2) + 4 * (lane // 32) + place if wave == 64 else 8 * (lane // 16) + place
    return Table(row, lane % 16)


def tables(variant: Variant) -> dict[str, Table]:
    """What the calculator prints, by operand."""
    form, wave = variant.form, variant.wave
    width, depth = WIDTH[form.a], form.shape[2]
    key = (width, depth, wave)
    found: dict[str, Table] = {}
    if form.sparse:
        found["A"] = _kept(SPARSE_A[key], wave, width)
        found["index"] = _index(INDEX[key], wave, variant.opsel)
        vgprs, to_k = SPARSE_B[key]
    elif variant.arch.startswith("gfx11"):
        vgprs, to_k = depth * width // 32, lambda lane, v, f: 32 // width * v + f
    else:
        vgprs, to_k = DENSE[key]
    lane, vgpr, field = _slots(wave, vgprs, 32 // width)
    k = np.broadcast_to(to_k(lane, vgpr, field), lane.shape)
    line = np.where(k >= 0, lane % 16, HOLE)
    found["B"] = Table(k, line)
    found.setdefault("A", Table(line, k))
    found["C"] = found["D"] = _result(variant)
    return found
