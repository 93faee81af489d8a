"""Where a value came from: back from a matrix operand to the load that brought it, through LDS to
the store, and to the load that the stored value came from.

For use when a finding needs it: the kernel runs once more with the slots in question as targets.
What every wave executed is kept as a tree of blocks (waves share the path that they share), and
followed backwards afterwards; of LDS, the last store to every granule is kept, and what the loads
of the targets' waves read.

Backwards, the last instruction that wrote a register is taken for its origin, whichever lanes were
active, and an arithmetic instruction leads on through the first of its VGPR sources that leads to a
load: exact for moves and packing, a guess where lanes diverge or values are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.lanes import passed_between_lanes, passes_between_lanes
from layoutprobe.isa.transposing import exchange_of
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.lds_access import granule_shift, straddles
from layoutprobe.observe.matrix import WaveCounter
from layoutprobe.observe.who import Who, who_is

Ints = NDArray[np.int64]

MAX_NODES = 1 << 21
MAX_LDS_LOADS = 1 << 16
MAX_PICKED = 1 << 18
_POSITION, _STORE = 6, 21
"""A stamp of who stored a granule: bits of the lane, then of the wave's position in its cohort, then
which store."""
_DEPTH = 12
"""Instructions between an operand and its load that are followed."""
_FANOUT = 64
"""Instructions that are looked at in all for one stretch of a chain."""


class Target(Struct, frozen=True):
    """A slot of a matrix operand.

    Attributes:
        wave: number of the wave in the launch (see observe.matrix).
        turn: which of the wave's matrix instructions.
        vgpr, lane: the register and lane.
        bit: the slot's lowest bit of the register; None: the whole register.
    """

    wave: int
    turn: int
    vgpr: int
    lane: int
    bit: int | None = None


class Step(Struct, frozen=True):
    """One instruction that a value passed through, and the lane in which it did.

    Attributes:
        inst: the instruction.
        who: wave and lane.
        lds_byte: of LDS stores: first byte that this lane accessed; of LDS loads: the byte that the
            register, or the half that was asked for, came from.
    """

    inst: Inst
    who: Who
    lds_byte: int | None = None


class LoadPaths(Struct, frozen=True):
    """Paths of the targets that were reached.

    Attributes:
        paths: target -> steps, from the operand back to the first load.
        exchanges: target -> the last instruction before the operand that may have brought its value from another
            lane, of those where it was.
        complete: False where the kernel was too long to follow to its end.
    """

    paths: dict[Target, tuple[Step, ...]]
    complete: bool
    exchanges: dict[Target, Step]


class _Store(Struct, frozen=True, eq=False):
    """An LDS store of several waves: where each stood on its path."""

    inst: Inst
    waves: Ints
    nodes: Ints
    local: Ints  # [wave, lane]


class _Load(Struct, frozen=True, eq=False):
    """What one wave's LDS load read: first bytes, and stamps of who had stored each granule."""

    local: Ints  # [lane]
    stamps: Ints  # [lane, granule]


class FollowBack(Struct, frozen=True):
    """Makes observers that follow these targets; equal ones make equal observers."""

    targets: tuple[Target, ...]

    def __call__(self) -> Recorder:
        """An observer for one launch."""
        return LoadPathObserver(self.targets)


class LoadPathObserver(WaveCounter):
    """Follows the targets of one launch."""

    def __init__(self, targets: Iterable[Target]) -> None:
        super().__init__()
        self._wanted: dict[tuple[int, int], list[Target]] = {}
        for target in targets:
            self._wanted.setdefault((target.wave, target.turn), []).append(target)
        self._wave_numbers = np.array(sorted({wave for wave, _ in self._wanted}), np.int64)
        self._paths: dict[Target, tuple[Step, ...]] = {}
        self._exchanges: dict[Target, Step] = {}
        self._complete = True

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        self._machine = machine
        insts = program.insts
        self._shift = granule_shift(insts)
        self._parents: list[int] = [-1]
        self._blocks: list[Block | None] = [None]
        self._node = np.zeros(machine.waves.index.size, np.int64)
        self._writer = np.full(machine.lds.data.bytes.size >> self._shift, -1, np.int64)
        self._stores: list[_Store] = []
        self._loads: dict[tuple[int, int, int], list[_Load]] = {}  # (wave, node, PC)
        self._picked: dict[tuple[int, int, int], Inst] = {}  # the same: where M0 picks registers, as executed
        last = self._first + machine.waves.index.size
        mine = self._wave_numbers[(self._wave_numbers >= self._first) & (self._wave_numbers < last)]
        self._followed = np.zeros(machine.waves.index.size, np.bool_)
        self._followed[mine - self._first] = True

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        if len(self._parents) > MAX_NODES:
            self._complete = False
            return
        before = self._node[c.waves]
        for node in np.unique(before):
            self._node[c.waves[before == node]] = len(self._parents)
            self._parents.append(int(node))
            self._blocks.append(block)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds:
            return
        if straddles(place, self._shift):
            self._complete = False
            return
        local = place.offsets - c.lds_base
        cells = (place.offsets >> self._shift)[..., None] + np.arange(max(1, size >> self._shift))
        if store:
            waves = np.arange(len(c.waves))[:, None]
            stamps = len(self._stores) << _STORE | waves << _POSITION | np.arange(c.size)
            self._stores.append(_Store(inst, c.waves.copy(), self._node[c.waves], local))
            self._writer[cells[place.mask]] = stamps[place.mask][:, None]
            return
        for position in np.flatnonzero(self._followed[c.waves]):
            if len(self._loads) > MAX_LDS_LOADS:
                self._complete = False
                return
            read = _Load(local[position].copy(), self._writer[cells[position]])
            wave = int(c.waves[position])
            self._loads.setdefault((wave, int(self._node[wave]), inst.pc), []).append(read)

    def indexed(self, c: Cohort, inst: Inst, waves: Ints, done: Inst) -> None:
        """See Observer."""
        if len(self._picked) + waves.size > MAX_PICKED:
            self._complete = False
            return
        for wave, node in zip(waves.tolist(), self._node[waves].tolist(), strict=True):
            self._picked[wave, node, inst.pc] = done

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        wave, turn = self.numbered(c)
        for position in np.flatnonzero(self._followed[c.waves]):
            for target in self._wanted.get((int(wave[position]), int(turn[position])), ()):
                here = int(c.waves[position])
                start = _Position(int(self._node[here]), inst.pc, here, target.lane)
                self._paths[target] = tuple(self._follow(start, VGPR0 + target.vgpr, target.bit))
                if exchange := self._exchange(start, VGPR0 + target.vgpr, target.bit):
                    self._exchanges[target] = exchange

    def record(self) -> LoadPaths:
        """The paths found so far."""
        return LoadPaths(dict(self._paths), self._complete, dict(self._exchanges))

    # Backwards.

    def _follow(self, at: _Position, register: int, bit: int | None) -> Iterator[Step]:
        for _ in range(4):  # through LDS at most so often
            stretch = self._to_load(at, register, None if bit is None else bit // 16, _DEPTH, [_FANOUT])
            if stretch is None:
                return
            *passed, (node, load, target) = stretch
            yield from (Step(inst, self._who(at)) for _, inst, _ in passed)
            if any(passes_between_lanes(inst) for _, inst, _ in passed):  # which lane loaded it is not known
                yield Step(load, self._who(at))
                return
            lane, byte = self._named(at, load, target, 0 if passed else bit or 0)
            named = replace(at, lane=lane)
            read = self._what_was_read(named, node, load, target, byte)
            yield Step(load, self._who(named), read[0] if read else None)
            if read is None or read[1] < 0:
                return
            store = self._stores[read[1] >> _STORE]
            position, lane = (read[1] & (1 << _STORE) - 1) >> _POSITION, read[1] & (1 << _POSITION) - 1
            at = _Position(int(store.nodes[position]), store.inst.pc, int(store.waves[position]), lane)
            yield Step(store.inst, self._who(at), int(store.local[position, lane]))
            offset = read[0] - int(store.local[position, lane])
            data = store.inst.src[1]
            register, bit = VGPR0 + data.index + max(offset, 0) // 4, None

    def _exchange(self, at: _Position, register: int, bit: int | None) -> Step | None:
        """What brought a value from another lane: the first such instruction on any way back to a load."""
        half, pending = None if bit is None else bit // 16, [(at, register)]
        for _ in range(_FANOUT):
            if not pending:
                return None
            here, register = pending.pop(0)
            found = self._writer_of(here, register, half)
            half = None
            if found is None or _is_load(found[1]):
                continue
            node, inst = found
            if passes_between_lanes(inst):
                return Step(inst, self._who(at))
            before = _Position(node, inst.pc, at.wave, at.lane)
            pending += [(before, source) for source in _sources(inst, register)]
        return None

    def _who(self, at: _Position) -> Who:
        return who_is(self._machine, at.wave, at.lane)

    def _to_load(
        self, at: _Position, register: int, half: int | None, depth: int, budget: list[int]
    ) -> list[tuple[int, Inst, int]] | None:
        """Writers from a register back to a load: (node, instruction, register), the load last."""
        budget[0] -= 1
        found = self._writer_of(at, register, half)
        if found is None or budget[0] < 0:
            return None
        node, inst = found
        if _is_load(inst):
            return [(node, inst, register)]
        if depth == 0:
            return None
        for source in _sources(inst, register):
            before = _Position(node, inst.pc, at.wave, at.lane)
            rest = self._to_load(before, source, None, depth - 1, budget)
            if rest is not None:
                return [(node, inst, register), *rest]
        return None

    def _writer_of(self, at: _Position, register: int, half: int | None) -> tuple[int, Inst] | None:
        """The last instruction before a position that wrote a register, and its node."""
        node, limit = at.node, at.pc
        while node > 0:
            block = self._blocks[node]
            assert block is not None
            for inst in reversed(block.listing):
                if limit is not None and inst.pc >= limit:
                    continue
                done = self._picked.get((at.wave, node, inst.pc), inst) if picks_registers(inst) else inst
                if _writes(done, register) and not _other_half(done, half):
                    return node, done
            node, limit = self._parents[node], None
        return None

    def _named(self, at: _Position, load: Inst, register: int, bit: int) -> tuple[int, int]:
        """The lane whose address names what a lane got in a register from some bit on, and the byte behind it."""
        word = register - VGPR0 - load.dst[0].index if load.dst else 0
        exchange = exchange_of(load.name, self._machine.wave_size)
        if exchange is not None:
            lane, source = exchange.source(at.lane, 32 * word + bit)
            return lane, source // 8
        narrow = any(part in load.name for part in ("16", "u8", "i8"))  # fills a part of its register
        return at.lane, 4 * word + (0 if narrow else bit // 8)

    def _what_was_read(
        self, at: _Position, node: int, load: Inst, register: int, byte: int
    ) -> tuple[int, int] | None:
        """LDS byte that a load took part of a register from, and the stamp of its store (-1: none)."""
        reads = self._loads.get((at.wave, node, load.pc))
        if not reads or load.encoding != "DS":
            return None
        each = 4 * (load.dst[0].regs // len(reads) if len(reads) > 1 else load.dst[0].regs)
        read = reads[min(byte // max(each, 1), len(reads) - 1)]
        byte %= max(each, 1)
        granule = min(byte >> self._shift, read.stamps.shape[1] - 1)
        return int(read.local[at.lane]) + byte, int(read.stamps[at.lane, granule])


class _Position(Struct, frozen=True):
    """Just before an instruction (`pc`) of a block on a wave's path."""

    node: int
    pc: int | None
    wave: int
    lane: int


def _is_load(inst: Inst) -> bool:
    return not passes_between_lanes(inst) and inst.encoding in (
        "DS",
        "GLOBAL",
        "FLAT",
        "SCRATCH",
        "MUBUF",
        "SMEM",
    )


def _writes(inst: Inst, register: int) -> bool:
    return any(register in o.registers() for half in inst.pair or (inst,) for o in half.dst)


def _other_half(inst: Inst, half: int | None) -> bool:
    """A D16 load that fills the half that is not asked for."""
    return half is not None and "d16" in inst.name and ("d16_hi" in inst.name) != bool(half)


def _sources(inst: Inst, register: int) -> Iterator[int]:
    """VGPRs that the instruction computed a register from."""
    if passes_between_lanes(inst):
        yield from passed_between_lanes(inst)
        return
    for half in inst.pair or (inst,):
        if any(register in o.registers() for o in half.dst):
            for operand in half.src:
                if operand.kind == "v":
                    yield from operand.registers()
