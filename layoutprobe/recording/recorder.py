"""Records a run: an observer that is told of every instruction, and keeps what it changed.

An instruction is finished when the next event comes: until then nothing else has executed, so that what its cohort
holds is what it left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import __version__
from layoutprobe.capture.capture import Evidence
from layoutprobe.isa.indexing import DST, moved_by
from layoutprobe.isa.inst import NULL, VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.launch import vgpr_count
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import BASE_ADDRESS, Addresses
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import SGPRS
from layoutprobe.machine.stored import data_register
from layoutprobe.observe.base import Recorder
from layoutprobe.recording.code import listing
from layoutprobe.recording.columns import Columns
from layoutprobe.recording.flow import Begun, Flow
from layoutprobe.recording.model import INACTIVE, NOTHING, SPACES, Buffer, Group, Recording, Wave

NOT_ASKED = "nobody asked what operands need when this was recorded; inspect --save keeps that, too"
LIMIT = 200 << 20
"""Bytes that a recording may take; where they are spent it ends, and says so."""

Ints = NDArray[np.int64]


class Record(Struct, frozen=True):
    """Makes recorders of these workgroups; equal ones make equal recorders.

    Attributes:
        groups: ids of workgroups.
        buffers: of the launch; their addresses are filled in.
        limit: bytes.
    """

    groups: tuple[Group, ...]
    buffers: tuple[Buffer, ...] = ()
    limit: int = LIMIT

    def __call__(self) -> Recorder:
        """A recorder of one launch."""
        return RunRecorder(self)


class _Late(Struct, frozen=True, eq=False):
    """A store whose data are in no register: memory tells them afterwards."""

    first: int
    place: Addresses
    size: int
    words: NDArray[np.int32]


class _Plan(Struct, frozen=True):
    """What an instruction may change, whoever executes it.

    Attributes:
        position: in the code.
        vectors: rows of the vector file.
        scalars: registers that it names.
        silent: it changes no scalar register without naming it.
    """

    position: int
    vectors: Sequence[int]
    scalars: tuple[int, ...]
    silent: bool


class _Pending(Struct):
    """An instruction that is about to execute, or has: of the cohort's waves those at `which` are watched."""

    c: Cohort
    inst: Inst
    plan: _Plan
    which: Ints
    rows: Ints
    waves: Ints
    begun: Begun
    loads: int = 0
    late: list[_Late] = field(default_factory=list)


class RunRecorder(Recorder):
    """Records one launch; see `Record`."""

    def __init__(self, wanted: Record) -> None:
        self._wanted = wanted
        self._waves: list[Wave] = []
        self._pending: _Pending | None = None
        self._columns = Columns()
        self._flow = Flow(wanted.buffers)
        self._plans: dict[int, _Plan] = {}
        self._scalars = np.zeros((2, SGPRS, 0), np.uint32)
        """What the waves' scalar registers held last, and their undefined bits."""
        self._rows = 0
        self._cut = ""

    # What it is told.

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._finish()
        self._program, self._arena = program, machine.arena
        self._insts = sorted({inst.pc: inst for inst in program.insts}.items())
        self._position = {pc: at for at, (pc, _) in enumerate(self._insts)}
        self._lanes, self._lds_size = machine.wave_size, machine.lds_size
        self._vgprs = vgpr_count(program.code, program.kernel)
        ids = machine.waves.group_id
        wanted = np.isin(_keys(ids), _keys(np.array(self._wanted.groups, np.int64).reshape(-1, 3)))
        self._number = np.where(wanted, len(self._waves) + np.cumsum(wanted) - 1, -1)
        for at in np.flatnonzero(wanted):
            x, y, z = (int(i) for i in ids[at])
            self._waves.append(Wave((x, y, z), int(machine.waves.index[at])))
        self._known = np.zeros(len(self._waves), np.bool_)
        self._plans.clear()
        self._scalars = np.zeros((2, SGPRS, len(self._waves)), np.uint32)
        self._flow.begin_batch(machine, np.flatnonzero(wanted), self._vgprs)

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._finish()

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        self._finish()
        number = self._number[c.waves]
        which = np.flatnonzero(number >= 0)
        if not which.size or self._cut:
            return
        waves = number[which]
        self._begin(c, which, waves)
        rows = np.arange(self._rows, self._rows + which.size)
        self._rows += which.size
        plan = self._plans.get(inst.pc)
        if plan is None:
            plan = self._plans[inst.pc] = _plan(inst, self._position[inst.pc], self._vgprs)
        self._columns.steps(np.full(which.size, plan.position), waves)
        begun = self._flow.begin(c, inst, which, waves)
        self._pending = _Pending(c, inst, plan, which, rows, waves, begun)

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        p = self._pending
        if p is None or p.inst.pc != inst.pc or p.c.machine is not c.machine:
            return
        space, address = _address(c, place)
        mask = np.broadcast_to(place.mask, address.shape)[p.which]
        address = address[p.which]
        plain = Kind.ATOMIC not in inst.kind and not inst.to_lds
        register = -1
        if store and plain:
            register = data_register(c, inst, place)
        elif not store and inst.dst and inst.dst[0].kind == "v":
            register = inst.dst[0].index + p.loads * ((size + 3) // 4)
            p.loads += 1
        words = self._flow.access(p.begun, space, address, mask, size, store=store, register=register)
        shown = np.where(mask, address + (BASE_ADDRESS if space == "global" else 0), INACTIVE)
        if shown.shape[1] < self._lanes:  # a scalar access: once for the wave
            shown = np.concatenate(
                [shown, np.full((p.which.size, self._lanes - shown.shape[1]), INACTIVE)], axis=1
            )
        first = self._columns.accesses(p.rows, SPACES.index(space), store, size, register, shown)
        if words is None:
            return
        if plain:
            self._stored(p, first, register, size, words, "d16_hi" in inst.name)
        else:
            p.late.append(_Late(first, place, size, words))

    def indexed(self, c: Cohort, inst: Inst, waves: Ints, done: Inst) -> None:
        """See Observer."""
        p = self._pending
        if p is not None and p.inst.pc == inst.pc and c.machine is p.c.machine:
            p.begun.picked.append((np.flatnonzero(np.isin(c.waves[p.which], waves)), done))

    def barrier(self, machine: Machine, groups: Ints) -> None:
        """See Observer."""
        self._finish()

    def ended(self, c: Band) -> None:
        """See Observer."""
        self._finish()

    # What it keeps.

    def _begin(self, c: Cohort, which: Ints, waves: Ints) -> None:
        """What waves start with that are seen for the first time."""
        new = ~self._known[waves]
        if not new.any():
            return
        at, wave = which[new], waves[new]
        self._known[wave] = True
        rows = np.full(at.size, -1)
        for register in range(c.regs.vgprs.shape[0]):
            self._vector(c, at, rows, wave, register)
        self._scalars[:, :, wave] = values, bits = _scalars_of(c, at)
        for position in range(at.size):
            defined = np.flatnonzero(bits[:, position] != 0xFFFFFFFF)
            self._columns.scalars(-1, wave[position], defined,
                                  values[defined, position], NOTHING, bits[defined, position])  # fmt: skip

    def _finish(self) -> None:
        """Keep what the instruction before did."""
        p, self._pending = self._pending, None
        if p is None:
            return
        self._flow.finish(p.begun)
        for late in p.late:
            memory, at = late.place.memory, late.place.offsets[p.which]
            low = late.place.low_bits
            data, bits = memory.data.gather(at, late.size, low), memory.shadow.gather(at, late.size, low)
            for dword in range(data.shape[-1]):
                self._columns.stored(
                    late.first, dword, data[..., dword], late.words[..., dword], bits[..., dword]
                )
        for register in p.plan.vectors:
            self._vector(p.c, p.which, p.rows, p.waves, register)
        self._scalar(p)
        if self._columns.nbytes + self._flow.table.nbytes > self._wanted.limit:
            self._cut = (
                f"the recording ends after {self._rows} steps: it has reached {self._wanted.limit >> 20} MiB; "
                "record fewer workgroups, or a smaller size"
            )

    def _vector(self, c: Cohort, which: Ints, rows: Ints, waves: Ints, register: int) -> None:
        bits = c.shadow.vgprs[register, which] if c.undef >> VGPR0 + register & 1 else None
        if rows[0] < 0 and bits is not None and (bits == 0xFFFFFFFF).all():
            return  # what nobody has written is undefined anyway
        self._columns.vectors(rows, waves, register, c.regs.vgprs[register, which],
                              self._flow.vectors[waves, register], bits)  # fmt: skip

    def _scalar(self, p: _Pending) -> None:
        """Scalar registers that it names, and those that it changed without naming them (SCC, EXEC)."""
        if p.plan.silent and not p.plan.scalars:
            return
        held = _scalars_of(p.c, p.which)
        changed = (held != self._scalars[:, :, p.waves]).any(axis=0)
        changed[list(p.plan.scalars)] = True
        changed[NULL] = False
        if not changed.any():
            return
        self._scalars[:, :, p.waves] = values, bits = held
        position, register = np.nonzero(changed.T)
        waves = p.waves[position]
        self._columns.scalars(p.rows[position], waves, register, values[register, position],
                              self._flow.scalars[waves, register], bits[register, position])  # fmt: skip

    def _stored(
        self, p: _Pending, first: int, register: int, size: int, words: NDArray[np.int32], high: bool
    ) -> None:
        for dword in range((size + 3) // 4):
            value = p.c.regs.vgprs[register + dword, p.which]
            bits = p.c.shadow.vgprs[register + dword, p.which]
            shift = np.uint32(16 if high else 0)
            self._columns.stored(first, dword, value >> shift, words[..., dword], bits >> shift)

    def record(self) -> Recording:
        """See Recorder. Names, sources and evidence are for the caller to add."""
        self._finish()
        code, kernel = self._program.code, self._program.kernel
        first_acc = code.first_accvgpr(kernel)
        first_acc = -1 if first_acc is None else first_acc
        regions = {region.name: region for region in self._arena.regions}
        buffers = tuple(
            replace(buffer, address=BASE_ADDRESS + regions[f"buffer {buffer.name}"].start)
            for buffer in self._wanted.buffers
        )
        vectors, scalars, steps, accesses, stored = self._columns.finished(self._lanes)
        tags = self._flow.table.tags()
        return Recording(
            kernel.name, code.target, {}, self._lanes, self._vgprs, first_acc, self._lds_size,
            tuple(self._waves), listing(code, kernel, [inst for _, inst in self._insts]),
            buffers, self._cut, {}, Evidence("emulated", f"layoutprobe emulator {__version__}"),
            NOT_ASKED, steps, vectors, scalars, accesses, stored, tags,
        )  # fmt: skip


def _scalars_of(c: Cohort, which: Ints) -> NDArray[np.uint32]:
    """Scalar registers of some waves, and their undefined bits: [2, register, wave]."""
    return np.stack([file.sgprs[:, :, 0].take(which, axis=1) for file in (c.regs, c.shadow)])


def _keys(ids: NDArray[np.int64]) -> Ints:
    """A number for each id of a workgroup."""
    return np.asarray(ids[:, 0] | ids[:, 1] << 21 | ids[:, 2] << 42)


def _address(c: Cohort, place: Addresses) -> tuple[str, Ints]:
    """Which memory, and the address of each lane as `Accesses` has it; of global memory less BASE_ADDRESS."""
    machine = c.machine
    if place.memory is machine.lds:
        return "LDS", place.offsets - c.lds_base
    if place.memory is machine.scratch:
        return "scratch", place.offsets - machine.scratch_base(c.waves)
    return "global", place.offsets


def _plan(inst: Inst, position: int, vgprs: int) -> _Plan:
    """What an instruction may change."""
    halves = inst.pair or (inst,)
    named = [o for half in halves for o in half.dst]
    if inst.name.startswith(("v_swap", "v_permlane16_swap", "v_permlane32_swap")):
        named += inst.src
    vectors: Sequence[int] = sorted({r - VGPR0 for o in named if o.kind == "v" for r in o.registers()})
    if moved_by(inst) & DST:
        vectors = range(vgprs)  # M0 picks it
    scalars = {r for o in named if o.kind == "s" for r in o.registers() if r < SGPRS}
    return _Plan(position, vectors, tuple(scalars), not inst.name.startswith("s_"))
