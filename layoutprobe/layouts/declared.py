"""Layouts that a compiler of tiles declares: which element of a tile a register of a lane of a wave holds.

The words are those of Triton's IR for AMD: a *unit* is an `amd_mfma` or `amd_wmma` attribute, `dot_op` an operand
of `tt.dot` under one, and what lies in LDS is `swizzled_shared`, `amd_rotating_shared` or `padded_shared`. All are
linear over GF(2) (padding apart): one (row, col) for each bit of register, lane and wave. The rules are those that
Triton 3.9 answers to `to_linear_layout`; `tests/claims/test_ttgir.py` holds each of its answers beside them.

How registers are numbered is not part of a layout here: which of them a compiler puts where, no execution shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.layouts.gf2 import Vector

Ints = NDArray[np.int64]
Shape = tuple[int, int]
LANES = {"amd_mfma": 64, "amd_wmma": 32}
"""Lanes of a wave under each kind of unit."""
COPIED_K, SHARED_K = 1, 2
"""Versions of amd_wmma: both half-waves have all k, or half of them each."""


class Distribution(Struct, frozen=True):
    """One tile over the registers, lanes and waves of a workgroup.

    Attributes:
        shape: rows and columns of the tile.
        registers: (row, col) of each bit of a register's number, in no order.
        lanes, waves: of each bit, lowest first; (0, 0) where a bit moves nothing: copies.
    """

    shape: Shape
    registers: tuple[Vector, ...]
    lanes: tuple[Vector, ...]
    waves: tuple[Vector, ...]

    @property
    def text(self) -> str:
        """One line, as `#ttg.linear` has it."""
        parts = (("register", self.registers), ("lane", self.lanes), ("warp", self.waves))
        return ", ".join(f"{name} = {[list(vector) for vector in vectors]}" for name, vectors in parts)


def spanned(vectors: Iterable[Vector]) -> tuple[Ints, Ints]:
    """(row, col) of every number whose bits move these: int64 [number]."""
    row, col = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for r, c in vectors:
        row, col = np.concatenate([row, row ^ r]), np.concatenate([col, col ^ c])
    return row, col


class MatrixUnit(Struct, frozen=True):
    """An `amd_mfma` or `amd_wmma` attribute.

    Attributes:
        kind: its name.
        version: generation of the matrix instructions.
        shape: M, N and K of one instruction.
        transposed: the instruction computes the transpose of the tile: A and B are exchanged.
        tiles: (row, col), in instructions, of each bit of a register's number beyond one instruction.
        waves: the same of each bit of a wave's number.
    """

    kind: str
    version: int
    shape: tuple[int, int, int]
    transposed: bool
    tiles: tuple[Vector, ...]
    waves: tuple[Vector, ...]

    def result(self, shape: Shape) -> Distribution:
        """How the result of a product lies."""
        line, other = (0, 1) if self.transposed else (1, 0)
        lanes = list(_steps(line, 1, self.shape[line]))
        left = LANES[self.kind] // self.shape[line]  # lanes that go along the other axis
        if self.kind == "amd_mfma":
            begin, end = 4, 4 * left
        else:
            begin, end = (1, 2) if self.version == COPIED_K else (8, 16)
        registers = [*_steps(other, 1, begin), *_steps(other, end, self.shape[other])]
        return self._spread(shape, registers, [*lanes, *_steps(other, begin, end)], self.shape[:2])

    def operand(self, index: int, width: int, shape: Shape) -> Distribution:
        """How an operand lies: `dot_op` with this parent.

        Args:
            index: 0 for the left one, 1 for the right one.
            width: `kWidth`, neighbouring k of a lane.
            shape: of the operand's tile.
        """
        line, depth = (0, 1) if index == 0 else (1, 0)
        extent = self.shape[line]
        lanes = list(_steps(line, 1, extent))
        left = LANES[self.kind] // extent
        if self.kind == "amd_wmma" and self.version == COPIED_K:
            covered, registers = self.shape[2], list(_steps(depth, 1, self.shape[2]))
            lanes += [(0, 0)] * (left.bit_length() - 1)
        else:
            covered, registers = width * left, list(_steps(depth, 1, width))
            lanes += _steps(depth, width, covered)
        inner = (extent, covered) if index == 0 else (covered, extent)
        return self._spread(shape, registers, lanes, inner, along=line)

    def _spread(
        self,
        shape: Shape,
        registers: list[Vector],
        lanes: list[Vector],
        inner: Shape,
        along: int | None = None,
    ) -> Distribution:
        """One instruction's part, repeated over waves and registers until the tile is full.

        Args:
            shape: of the tile.
            registers, lanes: of one part.
            inner: its extents.
            along: the axis that waves and tiles go along; both, where None.
        """

        def placed(units: Iterable[Vector]) -> list[Vector]:
            kept = ([x if along in (None, axis) else 0 for axis, x in enumerate(unit)] for unit in units)
            return [(r * inner[0], c * inner[1]) for r, c in kept]

        tiles, waves = placed(self.tiles), placed(self.waves)
        for axis in (0, 1):
            covered = inner[axis] + sum(vector[axis] for vector in (*tiles, *waves))
            registers += _steps(axis, covered, shape[axis])
        within = [_clipped(vector, shape) for vector in (*registers, *tiles)]
        return Distribution(
            shape,
            tuple(vector for vector in within if vector != (0, 0)),
            tuple(_clipped(vector, shape) for vector in lanes),
            tuple(_clipped(vector, shape) for vector in waves),
        )


def _steps(axis: int, begin: int, end: int) -> Iterable[Vector]:
    """Powers of two from `begin` to below `end`, along an axis."""
    while begin < end:
        yield (begin, 0) if axis == 0 else (0, begin)
        begin *= 2


def _clipped(vector: Vector, shape: Shape) -> Vector:
    """What lies beyond the tile is a copy of what lies in it."""
    return (vector[0] % shape[0], vector[1] % shape[1])


class Shared(Struct, frozen=True):
    """How a tile lies in LDS.

    Attributes:
        kind: "swizzled_shared", "amd_rotating_shared" or "padded_shared".
        order: axes, the fastest first.
        vec, per_phase, max_phase: elements that stay together; rows of one phase; phases. Of the first two kinds.
        pads: interval and padding in elements, of "padded_shared".
        offsets: (row, col) of each bit of an element's place, of "padded_shared".
    """

    kind: str
    order: tuple[int, int] = (1, 0)
    vec: int = 1
    per_phase: int = 1
    max_phase: int = 1
    pads: tuple[tuple[int, int], ...] = ()
    offsets: tuple[Vector, ...] = field(default=())

    def places(self, shape: Shape) -> Ints:
        """Place of each element of a tile, in elements from the tile's first: int64 [row, col].

        An element that `offsets` does not name has the place -1.
        """
        if self.kind == "padded_shared":
            places = np.full(shape, -1, np.int64)
            row, col = spanned(self.offsets)
            inside = (row < shape[0]) & (col < shape[1])
            places[row[inside], col[inside]] = self._padded(np.flatnonzero(inside))
            return places
        fast, slow = self.order
        grid = np.indices(shape, np.int64)
        line, place = grid[slow], grid[fast]
        phase = line // self.per_phase % self.max_phase
        if self.kind == "amd_rotating_shared":
            phase = phase ^ (line // self.per_phase // self.max_phase % self.max_phase)
        return np.asarray(line * shape[fast] + (place ^ (phase * self.vec % shape[fast])))

    def _padded(self, place: Ints) -> Ints:
        added = [place // interval * padding for interval, padding in self.pads]
        return np.asarray(place + np.sum(added, axis=0)) if added else place


class DeclaredDot(Struct, frozen=True, dict=True):
    """A product of tiles: `tt.dot`.

    Attributes:
        line: where it stands in the text, from 1.
        unit: what multiplies.
        shape: M, N and K of the tile.
        widths: `kWidth` of the left and the right operand.
        dtypes: element types of both, as the text has them.
        shared: of each operand, how the tiles lie in LDS that it is loaded from; none where it comes otherwise.
        sources: of each operand, which argument of the kernel it is loaded from; None where that is not one pointer.
    """

    line: int
    unit: MatrixUnit
    shape: tuple[int, int, int]
    widths: Shape
    dtypes: tuple[str, str]
    shared: tuple[tuple[Shared, ...], tuple[Shared, ...]] = ((), ())
    sources: tuple[int | None, int | None] = (None, None)

    @cached_property
    def operands(self) -> tuple[Distribution, Distribution]:
        """The left and the right one."""
        m, n, k = self.shape
        return self.unit.operand(0, self.widths[0], (m, k)), self.unit.operand(1, self.widths[1], (k, n))

    @cached_property
    def result(self) -> Distribution:
        """What it adds to."""
        return self.unit.result(self.shape[:2])

    @property
    def text(self) -> str:
        """What it is, in a line."""
        unit, (m, n, k) = self.unit, self.shape
        shape = "x".join(map(str, unit.shape))
        turned = ", transposed" if unit.transposed else ""
        width = " and ".join(dict.fromkeys(map(str, self.widths)))
        return f"{m}x{k} times {k}x{n} by {unit.kind} {shape}, version {unit.version}{turned}, kWidth {width}"

    @property
    def what(self) -> tuple[object, ...]:
        """All that it declares, apart from its line: equal dots need no second look."""
        return (self.unit, self.shape, self.widths, self.dtypes, self.shared, self.sources)


class Declared(Struct, frozen=True):
    """What a text declares of one kernel.

    Attributes:
        file: its name.
        target: processor that it was compiled for.
        waves: of a workgroup.
        dots: in the order of the text.
    """

    file: str
    target: str
    waves: int
    dots: tuple[DeclaredDot, ...]

    @property
    def distinct(self) -> Mapping[tuple[object, ...], DeclaredDot]:
        """The dots that declare something of their own, the first of each."""
        found: dict[tuple[object, ...], DeclaredDot] = {}
        for dot in self.dots:
            found.setdefault(dot.what, dot)
        return found


def unseen(declared: Declared) -> tuple[str, ...]:
    """What is declared and no execution shows, each with its reason."""
    said = ["which register of a lane has which number, and where in its matrix a tile begins: any is taken"]
    units = {dot.unit for dot in declared.dots}
    if any(unit.kind == "amd_wmma" and unit.version == COPIED_K for unit in units):
        said.append(
            f"kWidth under amd_wmma version {COPIED_K}: a lane has all k of its line, whatever kWidth is"
        )
    shared = {one for dot in declared.dots for side in dot.shared for one in side}
    if any(one.kind != "padded_shared" and one.max_phase == 1 for one in shared):
        said.append("vec and perPhase where maxPhase is 1: nothing is swizzled")
    return tuple(said)
