"""Follows where bits come from, instruction by instruction, while a run is recorded.

A register's tag says of each nibble whether it is a moved copy of a nibble of a buffer, was computed (from which
elements), or depends on no buffer at all. Addresses and conditions are no sources: what a load brings comes from
where it was loaded, whoever computed the address.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.isa.inst import NULL, SCC, VGPR0, Inst, Operand
from layoutprobe.isa.kind import MOVES, Kind
from layoutprobe.isa.transposing import exchange_of
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Executor, UnboundError
from layoutprobe.machine.registers import SGPRS
from layoutprobe.observe.uses import ACCUMULATING
from layoutprobe.recording.memory import Flat, Global, Memory
from layoutprobe.recording.model import NOTHING, Buffer
from layoutprobe.recording.planes import Bound, Marked, Marks, Source, bound, marks, moved
from layoutprobe.recording.products import Lines, product, shape_of
from layoutprobe.recording.results import Brought, gathered, nibbles_of, results
from layoutprobe.recording.tags import TagTable

Ints = NDArray[np.int32]
Words = NDArray[np.uint32]
Where = NDArray[np.int64]
_NIBBLES = np.arange(8)
_COPIES = ("v_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32")
_SIGNED = ("_i8", "_i16", "sbyte", "sshort")


class Begun(Struct):
    """An instruction that is about to execute, with what it reads as it is now.

    Attributes:
        c, inst, which: the cohort, the instruction, positions of the watched waves in the cohort.
        waves: their numbers in the recording.
        active: bool [wave, lane].
        tagged: any of the registers has tags that it names.
        one: the instruction by itself; None where no register is tagged, or it is followed in another way.
        marked: sources with tags, and their words [wave, lane or 1].
        vectors, scalars: what it reads, as `marks` takes it.
        loads: words that loads bring: (int32 [wave, lane, dword], bool [wave, lane], bytes), in their order.
        picked: where M0 picks registers: positions in `which`, and the instruction with these registers.
    """

    c: Cohort
    inst: Inst
    which: Where
    waves: Where
    active: NDArray[np.bool_]
    tagged: bool = False
    one: Bound | None = None
    marked: list[tuple[Source, Ints]] = field(default_factory=list)
    vectors: Words | None = None
    scalars: Words | None = None
    loads: list[tuple[Ints, NDArray[np.bool_], int]] = field(default_factory=list)
    picked: list[tuple[Where, Inst]] = field(default_factory=list)

    __repr__ = brief


class Flow:
    """Tags of the recorded waves of a launch.

    Attributes:
        table: numbers tags.
        vectors: int32 [wave, vgpr, lane], rows of `Tags.words`.
        scalars: int32 [wave, register].
    """

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.table = TagTable(buffers)
        self._lines = Lines(self.table)
        self._named: dict[int, tuple[list[int], list[int]]] = {}
        self.vectors = np.zeros((0, 0, 0), np.int32)
        self.scalars = np.zeros((0, SGPRS), np.int32)

    def begin_batch(self, machine: Machine, watched: Where, vgprs: int) -> None:
        """A batch begins, whose waves `watched` (positions in the batch) are recorded from now on."""
        new = watched.size
        self._lanes = machine.wave_size
        lanes = np.zeros((new, vgprs, machine.wave_size), np.int32)
        self.vectors = lanes if not self.vectors.size else np.concatenate([self.vectors, lanes])
        self.scalars = np.concatenate([self.scalars, np.zeros((new, SGPRS), np.int32)])
        groups = np.unique(machine.waves.workgroup[watched])
        self._lds_at = np.full(int(machine.waves.workgroup.max(initial=0)) + 1, -1, np.int64)
        self._lds_at[groups] = np.arange(groups.size) * machine.lds_size
        self._lds = Flat(self.table, groups.size * machine.lds_size)
        self._scratch_at = np.full(machine.waves.workgroup.size, -1, np.int64)
        self._scratch_at[watched] = np.arange(new) * machine.wave_size * machine.scratch_size
        self._scratch = Flat(self.table, new * machine.wave_size * machine.scratch_size)
        self._global = Global(self.table, machine.arena.regions)

    def begin(self, c: Cohort, inst: Inst, which: Where, waves: Where) -> Begun:
        """An instruction is about to execute."""
        begun = Begun(c, inst, which, waves, c.exec[which])
        if Kind.MATRIX in inst.kind or inst.kind & MOVES:
            return begun
        begun.tagged = self._tagged(begun)
        one = bound(inst) if begun.tagged else None
        if one is None:
            return begun
        begun.one = one
        for source in one.sources if one.read is None else one.read:
            words = self._words(source, waves)
            if words.any():
                begun.marked.append((source, words))
        if begun.marked and not one.spreads:
            begun.vectors = np.zeros((one.size, waves.size, self._lanes), np.uint32)
            for source in one.sources:
                if not source.scalar:
                    begun.vectors[source.place] = c.regs.vgprs[source.register, which]
            begun.scalars = c.regs.sgprs[:, which, 0]
        return begun

    def access(
        self,
        b: Begun,
        space: str,
        address: Where,
        mask: NDArray[np.bool_],
        size: int,
        *,
        store: bool,
        register: int,
    ) -> Ints | None:
        """Lanes load or store; of a store, the words [wave, lane, dword] that are stored.

        Args:
            b: the instruction.
            space: "LDS", "global" or "scratch".
            address: int64 [wave, lane], bytes in LDS or scratch, offsets in the arena.
            mask: lanes that access.
            size: bytes.
            store: as observers are told.
            register: first VGPR of the data; -1: it is in none.
        """
        memory, base = self._memory(b, space)
        at = np.where(mask, address + base, 0)
        if not store:
            held = memory.load(at, size)
            b.loads.append((np.where(mask[..., None], held, NOTHING), mask, size))
            return None
        words = self._data(b, at, mask, size, register, memory)
        memory.store(at[mask], words[mask], size)
        return words

    def _memory(self, b: Begun, space: str) -> tuple[Memory, Where]:
        batch = b.c.waves[b.which]
        if space == "LDS":
            return self._lds, self._lds_at[b.c.machine.waves.workgroup[batch]][:, None]
        if space == "scratch":
            lanes = np.arange(self._lanes) * b.c.machine.scratch_size
            return self._scratch, self._scratch_at[batch][:, None] + lanes
        return self._global, np.zeros((1, 1), np.int64)

    def _data(
        self, b: Begun, at: Where, mask: NDArray[np.bool_], size: int, register: int, memory: Memory
    ) -> Ints:
        """Words that a store stores: int32 [wave, lane, dword]."""
        count = -(-size // 4)
        if b.inst.to_lds:
            held = b.loads[-1][0][..., :count] if b.loads else np.zeros((*mask.shape, 0), np.int32)
            return np.pad(held, ((0, 0), (0, 0), (0, count - held.shape[-1])))
        if register < 0:
            before = memory.load(at, size)
            given = [self._of_lanes(b, o.index, o.regs) for o in b.inst.src[1:] if o.kind == "v"]
            both = [before, *given]
            if b.inst.dst:
                b.loads.append((before, mask, size))
            made = self.table.computed(self.table.unite_all(self.table.whole(np.concatenate(both, axis=-1))))
            return np.repeat(made[..., None], count, axis=-1)
        words = self._of_lanes(b, register, count)
        first, nibbles = 4 if "d16_hi" in b.inst.name else 0, min(2 * size, 8)
        return self.table.part(words, first, nibbles)

    def _of_lanes(self, b: Begun, first: int, count: int) -> Ints:
        """Words of registers as memory has them: int32 [wave, lane, register]."""
        return self.vectors[b.waves][:, first : first + count].transpose(0, 2, 1)

    def finish(self, b: Begun) -> None:
        """The instruction has executed: its results have tags now."""
        inst = b.inst
        if Kind.MATRIX in inst.kind:
            self._product(b)
        elif b.loads and inst.dst:
            self._loaded(b)
        elif b.picked:
            self._picked(b)
        elif inst.kind & (Kind.LOAD | Kind.ATOMIC):
            self._clear(b, self.table.opaque if Kind.ATOMIC not in inst.kind and b.active.any() else NOTHING)
        elif b.one is not None and b.one.spreads and b.marked:
            self._spread(b, b.one)
        elif (
            b.marked
            and b.one is not None
            and b.one.moves is not None
            and not any(s.scalar for s, _ in b.marked)
        ):
            self._moved(b, b.one, b.one.moves)
        elif b.marked:
            self._marked(b)
        elif b.tagged and b.one is None:
            self._clear(b, self.table.opaque)
        else:
            self._clear(b, NOTHING)

    # Results.

    def _tagged(self, b: Begun) -> bool:
        """Any register has tags that it names: most name none, and are done with that."""
        if b.inst.pc not in self._named:
            named = [o for half in b.inst.pair or (b.inst,) for o in (*half.dst, *half.src)]
            self._named[b.inst.pc] = (
                sorted({r - VGPR0 for o in named if o.kind == "v" for r in o.registers()}),
                sorted({SCC, *(r for o in named if o.kind == "s" for r in o.registers())}),
            )
        vectors, scalars = self._named[b.inst.pc]
        return bool(
            self.scalars[b.waves][:, scalars].any()
            or (vectors and self.vectors[b.waves[:, None], vectors].any())
        )

    def _words(self, source: Source, waves: Where) -> Ints:
        """Word numbers of a register: int32 [wave, lane], of a scalar one [wave, 1]."""
        if source.scalar:
            return self.scalars[waves, source.register][:, None]
        return self.vectors[waves, source.register]

    def _clear(self, b: Begun, tag: int) -> None:
        """All results have one nibble tag, which is of no single nibble."""
        for half in b.inst.pair or (b.inst,):
            for operand in half.dst:
                if operand.kind == "s":
                    for register in operand.registers():
                        self.scalars[b.waves, register] = tag
                elif operand.kind == "v":
                    self._write(b, operand.index, operand.regs, half, tag)

    def _write(self, b: Begun, first: int, count: int, inst: Inst, tag: int) -> None:
        part = inst.dst[0].bits == 16 and count == 1
        for register in range(first, first + count):
            old = self.vectors[b.waves, register]
            had = old.any()
            if tag == NOTHING and not had:
                continue
            new: Ints = np.full_like(old, tag)
            if part and had:
                nibbles = self.table.nibbles(old)
                half = slice(4, 8) if inst.dst[0].hi else slice(0, 4)
                nibbles[..., half] = self.table.nibbles(new)[..., half]
                new = self.table.words(nibbles)
            self.vectors[b.waves, register] = np.where(b.active, new, old)

    def _loaded(self, b: Begun) -> None:
        inst, target = b.inst, b.inst.dst[0]
        register = target.index
        if Kind.TRANSPOSE in inst.kind:
            b.loads = [(self._exchanged(inst, held), b.active, size) for held, _, size in b.loads]
        signed = any(mark in inst.name for mark in _SIGNED)
        for held, mask, size in b.loads:
            words = self._extended(held, size) if signed else held
            for j in range(held.shape[-1]):
                if target.kind == "s":
                    self.scalars[b.waves, register + j] = words[:, 0, j]
                    continue
                old, new = self.vectors[b.waves, register + j], words[..., j]
                if "d16" in inst.name:
                    kept = self.table.nibbles(old)
                    kept[..., slice(4, 8) if "d16_hi" in inst.name else slice(0, 4)] = self.table.nibbles(
                        new
                    )[..., :4]
                    new = self.table.words(kept)
                self.vectors[b.waves, register + j] = np.where(mask, new, old)
            register += held.shape[-1]

    def _extended(self, held: Ints, size: int) -> Ints:
        """Words above whose loaded bytes are copies of the sign."""
        nibbles = self.table.nibbles(held)
        nibbles[..., 2 * size :] = self.table.computed(self.table.whole(held))[..., None]
        return self.table.words(nibbles)

    def _exchanged(self, inst: Inst, held: Ints) -> Ints:
        """What lanes receive of what they fetched; elements that are no whole nibbles are not followed."""
        exchange = exchange_of(inst.name, self._lanes)
        if exchange is None or exchange.bits % 4:
            return np.full_like(held, self.table.opaque)
        nibbles = self.table.nibbles(held)
        elements = nibbles.reshape(*held.shape[:2], -1, exchange.bits // 4)
        received = elements[:, exchange.lane, exchange.element]
        return self.table.words(received.reshape(*held.shape[:2], -1, 8))

    def _picked(self, b: Begun) -> None:
        """What uses registers that M0 picks: moves are followed, of all else it is known what it was made of."""
        for at, done in b.picked:
            waves, active = b.waves[at], b.active[at]
            implicit = done.dst if done.name.startswith(ACCUMULATING) or "dst_sel" in done.mods else ()
            words = [self._held(waves, register) for o in (*done.src, *implicit) for register in _rows(o)]
            if done.name in _COPIES and not {"dpp_ctrl", "dst_sel"} & done.mods.keys():
                made = words[0] if words else np.zeros((waves.size, 1), np.int32)
            else:
                shape = (waves.size, self._lanes)
                tags = [self.table.whole(np.broadcast_to(word, shape)) for word in words]
                every = np.stack(tags or [np.zeros(shape, np.int32)], axis=-1)
                made = self.table.computed(self.table.unite_all(every))
            for register in (r for operand in done.dst for r in _rows(operand)):
                if register < VGPR0:
                    self.scalars[waves, register] = self.table.unite_all(made)
                    continue
                row = register - VGPR0
                self.vectors[waves, row] = np.where(active, made, self.vectors[waves, row])

    def _held(self, waves: Where, register: int) -> Ints:
        """Word numbers of a register: int32 [wave, lane], of a scalar one [wave, 1]."""
        if register < VGPR0:
            return self.scalars[waves, register][:, None]
        return self.vectors[waves, register - VGPR0]

    def _product(self, b: Begun) -> None:
        target = b.inst.dst[0]
        rows = slice(target.index, target.index + target.regs)
        try:
            shape = shape_of(b.inst, self._lanes)
        except (UnboundError, ProbeError):
            self.vectors[b.waves, rows] = self.table.opaque
            return
        words = {
            name: self.vectors[b.waves, operand.index : operand.index + operand.regs].transpose(1, 0, 2)
            for name, operand in shape.operands.items()
            if operand.kind == "v"
        }
        self.vectors[b.waves, rows] = product(shape, self._lines, words).transpose(1, 0, 2)

    def _spread(self, b: Begun, one: Bound) -> None:
        """The result of arithmetic, all of which comes from all that it reads: nothing to execute."""
        made: Ints = np.zeros((b.waves.size, self._lanes), np.int32)
        for _, words in b.marked:
            made = self.table.unite(made, np.broadcast_to(self.table.whole(words), made.shape))
        (result,) = one.results
        old = self.vectors[b.waves, result.register]
        self.vectors[b.waves, result.register] = np.where(b.active, self.table.computed(made), old)

    def _moved(self, b: Begun, one: Bound, run: Executor) -> None:
        """The result of a move: it is executed on the numbers of words, as they move like what they are of."""
        assert b.scalars is not None
        held = np.zeros((one.size, b.waves.size, self._lanes), np.uint32)
        for source in one.sources:
            if not source.scalar:
                held[source.place] = self.vectors[b.waves, source.register].view(np.uint32)
        (result,) = one.results
        self.vectors[b.waves, result.register] = moved(one, run, held, b.scalars).view(np.int32)

    def _marked(self, b: Begun) -> None:
        """Results of an instruction that reads tagged registers."""
        one = b.one
        assert one is not None
        assert b.vectors is not None
        assert b.scalars is not None
        tagged = [(source, self.table.nibbles(words)) for source, words in b.marked]
        marked = [Marked(source, _bits(tags), _planes(tags)) for source, tags in tagged]
        seen = marks(one, b.vectors, b.scalars, marked, self._lanes)
        if seen is None:
            self._clear(b, self.table.opaque)
            return
        sources = [
            Brought(
                tags,
                nibbles_of(b.scalars[s.register][:, None] if s.scalar else b.vectors[s.place]),
                each.planes,
            )
            for (s, tags), each in zip(tagged, marked, strict=True)
        ]
        for result, found in zip(one.results, seen.vector, strict=True):
            value = b.c.regs.vgprs[result.register, b.which]
            tags = results(self.table, one.crosses, found, sources, nibbles_of(value))
            made = self.table.words(tags)
            if one.read is not None:
                made = np.where(b.active, made, self.vectors[b.waves, result.register])
            self.vectors[b.waves, result.register] = made
        self._scalar_results(b, seen, sources)

    def _scalar_results(self, b: Begun, seen: Marks, sources: list[Brought]) -> None:
        one = b.one
        assert one is not None
        named = {
            r for half in b.inst.pair or (b.inst,) for o in half.dst if o.kind == "s" for r in o.registers()
        }
        touched = named | set(np.flatnonzero(seen.scalar.any(axis=(1, 2))).tolist())
        for register in sorted(touched - {NULL}):
            if register >= SGPRS:
                continue
            found = seen.scalar[register][..., None]
            value = b.c.regs.sgprs[register, b.which]
            wide = any(brought.tags.shape[1] > 1 for brought in sources)
            if wide and not one.crosses:
                tags = gathered(self.table, found, sources)
            else:
                tags = results(self.table, one.crosses, found, sources, nibbles_of(value))
            self.scalars[b.waves, register] = self.table.words(tags)[:, 0]


def _rows(operand: Operand) -> range:
    """The registers of an operand that tags are kept of."""
    return operand.registers() if operand.kind in ("v", "s") else range(0)


def _planes(tags: Ints) -> int:
    """One plane where every register has one tag, which is of computed values; else eight."""
    return 1 if (tags <= NOTHING).all() and (tags == tags[..., :1]).all() else 8


def _bits(tags: Ints) -> Words:
    """The bits of a register whose nibbles have tags."""
    return np.asarray(((tags != NOTHING).astype(np.uint32) * np.uint32(15) << (4 * _NIBBLES).astype(np.uint32))
                      .sum(axis=-1, dtype=np.uint32))  # fmt: skip
