"""What a text declares of a kernel's layouts, beside what the kernel did at each matrix instruction, and in LDS.

Inputs whose elements carry numbers of their own tell which element each slot of A and B holds; accumulators that
carry codes tell where results go (`trace/analysis.py`, where the contract is a product). A matrix instruction belongs
to the declared product that fits it best: what no product fits is refuted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.declared import Declared, DeclaredDot, Distribution, Shared, unseen
from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.model import size_title
from layoutprobe.report.declared import Agreement, Multiplied, Part
from layoutprobe.solver.declared import misfit, misplaced
from layoutprobe.trace.lds_tiles import TileMap, tile_maps
from layoutprobe.trace.places import where
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.subject import Subject
from layoutprobe.trace.tiles import Held, held_operands, held_results

Names = tuple[str, str] | None
"""Buffers of operand 0 and 1, where the contract is a product."""


def beside(subject: Subject, declared: Declared) -> Agreement:
    """A text beside a kernel.

    Raises:
        UndecidedError, RunStoppedError: the kernel cannot be followed.
    """
    sites, tiles = subject.once(_sites), subject.once(_tiles)
    names = _names(subject)
    open_: list[str] = []
    found = _Beside(subject, declared, sites, tiles, names, False).parts()
    if names is not None and _differs(found):
        other = _Beside(subject, declared, sites, tiles, names[::-1], True).parts()
        if not _differs(other):
            found = other
            if not all(_says(subject, dot, names) for dot in declared.dots):
                open_.append(
                    f"it fits a kernel whose tt.dot has {names[1]} turned on the left, and {names[0]} on the right"
                )
    multiplied, placed = found
    executed = {line for one in multiplied for line in one.lines}
    open_ += [
        f"no matrix instruction of the product in line {dot.line} was executed at this size"
        for dot in declared.distinct.values()
        if dot.line not in executed and sites
    ]
    open_ += [
        f"matrix instruction {site.number} was never executed at this size" for site in sites if not site.held
    ]
    return Agreement(
        subject.case.name,
        subject.code.target,
        size_title(subject.sizes),
        declared.file,
        tuple(f"line {dot.line}: {dot.text}" for dot in declared.distinct.values()),
        multiplied,
        placed,
        tuple(_problems(subject, declared)),
        tuple(open_),
        unseen(declared),
    )


def _says(subject: Subject, dot: DeclaredDot, names: tuple[str, str]) -> bool:
    """Whether the text itself loads the operands of a product from B and A."""
    return (_source(subject, dot, 0), _source(subject, dot, 1)) == (names[1], names[0])


def _source(subject: Subject, dot: DeclaredDot, index: int) -> str:
    """The buffer that an operand comes from, as the text says; "" where it does not."""
    at, arguments = dot.sources[index], subject.case.arguments
    return "" if at is None or at >= len(arguments) else arguments[at].name


def _names(subject: Subject) -> Names:
    try:
        product = require_product(subject)
    except NoProductError:
        return None
    return product.a, product.b


def _problems(subject: Subject, declared: Declared) -> Iterator[str]:
    """What of the module is not that of the object."""
    if declared.target != subject.code.target:
        yield f"the text is for {declared.target}, the object for {subject.code.target}"
    lanes = subject.kernel.wavefront_size
    waves = -(-int(np.prod(subject.binding.block)) // lanes)
    if declared.waves != waves:
        yield f"the text has workgroups of {declared.waves} waves, the launch {waves}"


class _Site(Struct, frozen=True, eq=False):
    """A matrix instruction: "A", "B" and "D" -> what was held; empty where it was not executed."""

    number: int
    inst: Inst
    held: Mapping[str, Held]


def _sites(subject: Subject) -> list[_Site]:
    operands, results = held_operands(subject), held_results(subject)
    insts = (inst for _, inst in sorted(subject.insts.items()) if Kind.MATRIX in inst.kind)
    return [
        _Site(number, inst, {**operands.get(inst.pc, {}), **results.get(inst.pc, {})})
        for number, inst in enumerate(insts)
    ]


def _tiles(subject: Subject) -> list[TileMap]:
    return [tile for tile in tile_maps(subject, subject.coded()) if min(tile.shape) > 1]


def _differs(found: tuple[tuple[Multiplied, ...], tuple[Part, ...]]) -> bool:
    parts = (*(part for one in found[0] for part in one.parts), *found[1])
    return any(part.agrees is False for part in parts)


class _Beside(Struct, dict=True):
    """One comparison; `turned`: operand 0 holds the transpose of the contract's B, operand 1 that of A."""

    subject: Subject
    declared: Declared
    sites: list[_Site]
    tiles: list[TileMap]
    names: Names
    turned: bool

    def parts(self) -> tuple[tuple[Multiplied, ...], tuple[Part, ...]]:
        """Every matrix instruction, and every tile in LDS."""
        self._loaded: dict[tuple[str, bool], dict[tuple[int, int], DeclaredDot]] = {}
        multiplied = tuple(self._multiplied(site) for site in self.sites if site.held)
        placed = (self._placed(name, turned, dots) for (name, turned), dots in self._loaded.items())
        return multiplied, tuple(part for parts in placed for part in dict.fromkeys(parts))

    def _multiplied(self, site: _Site) -> Multiplied:
        """An instruction beside the products that it fits best."""
        tried = [(dot, self._beside(site, dot)) for dot in self.declared.distinct.values()]
        least = min(_worse(parts) for _, parts in tried)
        best = [(dot, parts) for dot, parts in tried if _worse(parts) == least]
        for dot, parts in best:
            for role, (part, turned) in zip("AB", parts[1:3], strict=True):
                if part.agrees:
                    dots = self._loaded.setdefault((site.held[role].name, turned), {})
                    dots[dot.line, _index(role, dot)] = dot
        same = {dot.what for dot, _ in best}
        lines = tuple(dot.line for dot in self.declared.dots if dot.what in same)
        times = max((held.times for held in site.held.values()), default=0)
        place = where(self.subject, site.inst)
        return Multiplied(site.number, place, times, lines, tuple(part for part, _ in best[0][1]))

    def _beside(self, site: _Site, dot: DeclaredDot) -> list[tuple[Part, bool]]:
        """Its parts, each with whether the tile is turned in its buffer: instruction, A, B, and result."""
        found = [(self._instruction(site, dot), False)]
        ways = (self.turned,) if self.names else (False, True)
        for role in "AB":
            index, held = _index(role, dot), site.held[role]
            name = f"operand {index}" + (f" ({held.name})" if held.name else "")
            wanted = _source(self.subject, dot, index) or (self.names[index] if self.names else held.name)
            if held.why:
                found.append((Part(name, None, held.why), False))
            elif held.name != wanted:
                why = (
                    f"the instruction's {role} holds {held.name}; as declared it is operand {index}, {wanted}"
                )
                found.append((Part(name, False, why), False))
            else:
                found.append(self._fits(name, held, dot.operands[index], ways))
        result = site.held.get("D")
        if result is None or result.why:
            why = result.why if result else "the contract is no product: where results go is not known"
            return [*found, (Part("result", None, why), False)]
        return [*found, self._fits(f"result ({result.name})", result, dot.result, ways)]

    def _fits(self, name: str, held: Held, layout: Distribution, ways: tuple[bool, ...]) -> tuple[Part, bool]:
        """Whether an operand is a part of a tile, which may lie in its buffer in these ways: turned, or not."""
        if held.row.shape[1:3] != (1 << len(layout.waves), 1 << len(layout.lanes)):
            waves, lanes = held.row.shape[1:3]
            return Part(name, False, f"it is held by {waves} waves of {lanes} lanes"), False
        tried = []
        for turned in ways:
            row, col = (held.col, held.row) if turned else (held.row, held.col)
            wrong = misfit(row, col, layout)
            if wrong is None:
                return Part(name, True, f"in {int((held.row != HOLE).sum())} slots"), turned
            tried.append((turned, wrong))
        turned, wrong = tried[0]
        wanted = wrong.wanted[::-1] if turned and wrong.wanted else wrong.wanted
        return Part(name, False, held.told(wrong.at, wanted)), False

    def _instruction(self, site: _Site, dot: DeclaredDot) -> Part:
        """Its shape and its generation."""
        m, n, k = site.held["A"].shape
        wanted, has = dot.unit.shape, (n, m, k) if dot.unit.transposed else (m, n, k)
        arch = self.subject.arch
        version = arch.tile_units.get(dot.unit.kind) if arch else None
        if wanted != has:
            return Part("instruction", False, f"it is {_extents(has)}; declared is {_extents(wanted)}")
        if version is not None and version != dot.unit.version:
            why = f"{dot.unit.kind} of {self.subject.code.target} is version {version}"
            return Part("instruction", False, f"{why}; declared is {dot.unit.version}")
        return Part("instruction", True, _extents(has))

    def _placed(self, name: str, turned: bool, dots: Mapping[tuple[int, int], DeclaredDot]) -> Iterator[Part]:
        """The tiles of a buffer as they lie in LDS: as one of the products that take them has it."""
        wanted = [
            (dot.operands[index].shape, shared)
            for (_, index), dot in dots.items()
            for shared in dot.shared[index]
        ]
        if not wanted:
            return
        title = f"tiles of {name} in LDS"
        shapes = {shape[::-1] if turned else shape for shape, _ in wanted}
        whole = [tile for tile in self.tiles if tile.buffer == name and tile.shape in shapes]
        if not whole:
            yield Part(title, None, "no image of LDS has a whole tile")
        for tile in whole:
            tried = [(shared, self._misplaced(tile, turned, shape, shared)) for shape, shared in wanted]
            fitting = next((shared for shared, wrong in tried if wrong is None), None)
            if fitting is not None:
                yield Part(title, True, f"{tile.shape[0]} x {tile.shape[1]} elements lie as {fitting.kind}")
                continue
            shared, wrong = tried[0]
            assert wrong is not None
            byte = tile.first + wrong * tile.itemsize
            held = f"{name}[{int(tile.row[wrong])}][{int(tile.col[wrong])}]"
            yield Part(title, False, f"byte {byte} holds {held}, which {shared.kind} has elsewhere")

    def _misplaced(self, tile: TileMap, turned: bool, shape: tuple[int, int], shared: Shared) -> int | None:
        """The first cell that lies elsewhere; a tile of another shape does in its first."""
        corner = tile.corner
        row, col = (
            np.where(x != HOLE, x - begin, HOLE).astype(np.int64)
            for x, begin in zip((tile.row, tile.col), corner, strict=True)
        )
        if (tile.shape[::-1] if turned else tile.shape) != shape:
            return 0
        return misplaced(col, row, shape, shared) if turned else misplaced(row, col, shape, shared)


def _worse(parts: list[tuple[Part, bool]]) -> tuple[int, int]:
    """Orders products by how badly they fit."""
    agrees = [part.agrees for part, _ in parts]
    return agrees.count(False), -agrees.count(True)


def _index(role: str, dot: DeclaredDot) -> int:
    """Which operand of the product the instruction's A or B is."""
    return int((role == "B") != dot.unit.transposed)


def _extents(shape: tuple[int, int, int]) -> str:
    return "x".join(map(str, shape))
