"""Accesses as observers are told of them: put together from what waves wrote down, or what numpy just executed.

Waves have run on since, and memory with them. So observers are shown a machine of their own (`Stage`), whose
LDS and global memory change with the stores that they are told of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.engine.native.bound import Bound
from layoutprobe.engine.native.template import Line
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort, unpack_mask
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Addresses, Arena, Memory, Store, untouched
from layoutprobe.machine.registers import Array

Ints = NDArray[np.int64]
ACCESS_LINE = 0x8000_0000
"""Bit of the first word of a line that tells of an access; the others are the record's number."""
_HEAD = 4
"""Words before the addresses; see tell_access in c/memory.h."""


class Told:
    """Waves at one place, as observers are told of them; a `Band`, and at accesses the registers that matter.

    Attributes:
        u: VGPR -> uint32 [wave, lane], of the address and the data of an access.
        shadow: `shadow.u` has their undefined bits; undef: a bit for each that has some.
    """

    __slots__ = ("exec", "full", "machine", "pc", "shadow", "size", "u", "undef", "waves")

    def __init__(self, machine: Machine, pc: int, waves: Ints, lanes: NDArray[np.bool_]) -> None:
        self.machine, self.pc, self.waves, self.size = machine, pc, waves, machine.wave_size
        self.exec = lanes
        self.full = bool(lanes.all())
        self.u: Mapping[int, Array] = {}
        self.shadow = Shadow({})
        self.undef = 0

    @property
    def lds_base(self) -> Ints:
        """Where the wave's workgroup has its LDS: int64 [wave, 1]."""
        return self.machine.lds_base[self.waves]


class Shadow(Struct, frozen=True, eq=False):
    """Undefined bits of registers, as `Told.u`."""

    u: Mapping[int, Array]


class Rows(Struct, eq=False):
    """One place of an instruction, as some waves access it.

    Attributes:
        inst, size, store, turn: the instruction, bytes of a lane, whether it stores, which of its places this is.
        memory: of the stage, or any that observers do not look into.
        waves: int64 [wave].
        offsets: int64 [wave, lane] in that memory.
        mask: bool [wave, lane], lanes that access.
        low_bits: as of `Addresses`.
        registers, undefined: VGPR -> uint32 [wave, lane], of address and data, and their undefined bits.
        after, after_undefined: uint32 [wave, lane, dword], what stands there afterwards; none of loads.
    """

    inst: Inst
    size: int
    store: bool
    turn: int
    memory: Memory
    waves: Ints
    offsets: Ints
    mask: NDArray[np.bool_]
    low_bits: int
    registers: dict[int, Array] = field(default_factory=dict)
    undefined: dict[int, Array] = field(default_factory=dict)
    after: Array | None = None
    after_undefined: Array | None = None

    __repr__ = brief


class Stage:
    """What observers of accesses are shown.

    Attributes:
        machine: of the batch, with memories of its own.
    """

    def __init__(self, bound: Bound, real: Machine) -> None:
        self._bound, self._real = bound, real
        arena, lds = real.arena, real.lds.data.bytes.size
        shown = copied(arena)
        shown.tracked = arena.tracked
        waves = Waves(real.waves.workgroup, real.waves.index, real.waves.group_id)
        self.machine = Machine(
            shown, waves, real.wave_size, lds_size=real.lds_size, facts=real.facts, events=real.events,
            lds=Memory(lds, undefined=True),
        )  # fmt: skip

    # What waves wrote down.

    def written(self, record: int, waves: Ints, lines: Array) -> Rows:
        """What lines of the log say, all of one record's instruction: uint32 [wave, word]."""
        entry = self._bound.records[record]
        inst, line = entry.inst, entry.line
        assert inst is not None
        assert line is not None
        self.machine.signalled[waves] = lines[:, 1] >> 8 != 0
        turn = int(lines[0, 1]) & 0xFF
        at = lines[:, _HEAD : _HEAD + 2 * line.lanes].copy().view(np.int64)
        words = np.ascontiguousarray(lines[:, 2 : 2 + max(line.lanes // 32, 1)])
        mask = unpack_mask(words)[:, : line.lanes]
        lds = inst.encoding == "DS"
        memory = self.machine.lds if lds else self.machine.arena
        offset = entry.immediates[turn] if lds else 0
        active = at if mask.all() else at[mask]
        low_bits = (
            int(np.bitwise_or.reduce(active - offset, axis=None)) | offset if line.size > 1 or lds else 0
        )
        rows = Rows(inst, line.size, line.store, turn, memory, waves, at, mask, low_bits)
        if lds:
            rows.registers[inst.src[0].index] = (at - offset).astype(np.uint32)
            rows.offsets = at + self.machine.lds_base[waves]
        if line.store:
            self._stored(rows, line, lines, inst.src[1 + turn])
        return rows

    def _stored(self, rows: Rows, line: Line, lines: Array, data: Operand) -> None:
        first, dwords = _HEAD + 2 * line.lanes, (line.size + 3) // 4
        values = lines[:, first : first + dwords * line.lanes].reshape(len(lines), dwords, line.lanes)
        for n in range(dwords):
            rows.registers[data.index + n] = values[:, n]
        high = np.uint32(16 if "d16_hi" in rows.inst.name else 0)
        rows.after = (values >> high).transpose(0, 2, 1)

    # What numpy executes.

    def executed(self, c: Cohort, inst: Inst, place: Addresses, size: int, turn: int, *, store: bool) -> Rows:
        """An access that is about to happen, as numpy tells of it."""
        real, shown = self._real, self.machine
        memory = {id(real.lds): shown.lds, id(real.arena): shown.arena}.get(id(place.memory), place.memory)
        self.machine.signalled[c.waves] = real.signalled[c.waves]
        mask = np.broadcast_to(place.mask, place.offsets.shape)
        rows = Rows(
            inst, size, store, turn, memory, c.waves.copy(), place.offsets.copy(), mask.copy(), place.low_bits
        )
        named = (r for operand in inst.src if operand.kind == "v" for r in operand.registers())
        for register in named:
            vgpr = register - VGPR0
            rows.registers[vgpr] = c.u[vgpr].copy()
            if c.undef >> register & 1:
                rows.undefined[vgpr] = c.shadow.u[vgpr].copy()
        return rows

    def settled(self, rows: Rows) -> None:
        """The instruction has been executed: what stands there now."""
        real = {id(self.machine.lds): self._real.lds, id(self.machine.arena): self._real.arena}
        memory = real.get(id(rows.memory))
        if rows.store and memory is not None:
            bits = int(np.bitwise_or.reduce(rows.offsets, axis=None))
            rows.after = memory.data.gather(rows.offsets, rows.size, bits)
            rows.after_undefined = memory.shadow.gather(rows.offsets, rows.size, bits)

    # What observers get.

    def tell(self, pc: int, waves: Ints, found: Sequence[Rows]) -> None:
        """One event: what all waves of a part do at one place, in which some of them may take no part."""
        first = found[0]
        lanes = first.offsets.shape[1]
        if len(found) == 1 and found[0].waves.size == waves.size:
            offsets, mask = first.offsets, first.mask
            registers, undefined = first.registers, first.undefined
        else:
            position = np.zeros(int(waves[-1]) + 1, np.int64)
            position[waves] = np.arange(waves.size)
            shape = (waves.size, lanes)
            offsets, mask = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
            for rows in found:
                offsets[position[rows.waves]], mask[position[rows.waves]] = rows.offsets, rows.mask
            registers = _joined([r.registers for r in found], [position[r.waves] for r in found], shape)
            undefined = _joined([r.undefined for r in found], [position[r.waves] for r in found], shape)
        if not mask.any():
            return
        place = self._place(found, waves, offsets, mask)
        told = Told(self.machine, pc, waves, place.mask)
        told.u, told.shadow = registers, Shadow(undefined)
        told.undef = sum(1 << VGPR0 + vgpr for vgpr in undefined)
        for tell in self.machine.events.access:
            tell(told, first.inst, place, first.size, store=first.store)
        for rows in found:
            self._apply(rows)

    def _place(self, found: Sequence[Rows], waves: Ints, offsets: Ints, mask: NDArray[np.bool_]) -> Addresses:
        first = found[0]
        lds = first.memory is self.machine.lds
        base = self.machine.lds_base[waves] if lds else np.zeros((1, 1), np.int64)
        if not mask.all():  # those that take no part point where the first does that does
            local = offsets - base
            offsets = np.where(mask, local, local[mask][0]) + base
        low_bits = 0
        for rows in found:
            low_bits |= rows.low_bits
        region = None
        if first.memory is self.machine.arena and first.offsets.shape[1] > 1:
            region = self.machine.arena.common_region(offsets, first.size)
        return Addresses(first.memory, offsets, low_bits, mask, region)

    def _apply(self, rows: Rows) -> None:
        """Store what the rows say into the memories that are shown."""
        if rows.after is None:
            return
        at = rows.offsets[rows.mask]
        bits = int(np.bitwise_or.reduce(at, axis=None)) if at.size else 0
        values = rows.after[rows.mask]
        dwords = [values[:, n] for n in range(values.shape[1])]
        rows.memory.data.scatter(at, rows.size, bits, dwords)
        if rows.after_undefined is not None:
            values = rows.after_undefined[rows.mask]
            rows.memory.tracked |= bool(values.any())
            rows.memory.shadow.scatter(at, rows.size, bits, [values[:, n] for n in range(values.shape[1])])
        elif rows.memory.tracked:
            rows.memory.shadow.scatter(at, rows.size, bits, [np.zeros(1, np.uint32)] * len(dwords))


def copied(arena: Arena) -> Arena:
    """The allocations, and no more: where a program runs its own kernels the arena has gigabytes."""
    made = [Store(np.frombuffer(untouched(arena.data.bytes.size), np.uint8)) for _ in range(2)]
    copies = list(zip(made, (arena.data, arena.shadow), strict=True))
    for to, store in copies if arena.tracked else copies[:1]:
        for region in arena.regions:
            to.bytes[region.start : region.end] = store.bytes[region.start : region.end]
    return Arena(0, list(arena.regions), *made)


def _joined(
    parts: Sequence[Mapping[int, Array]], places: Sequence[Ints], shape: tuple[int, int]
) -> dict[int, Array]:
    joined: dict[int, Array] = {}
    for part, place in zip(parts, places, strict=True):
        for register, values in part.items():
            joined.setdefault(register, np.zeros(shape, np.uint32))[place] = values
    return joined
