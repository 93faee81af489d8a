"""A kernel ready for the interpreter: records in memory, with the addresses of compiled forms."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.engine.native.indexed import MOVES_BY_M0
from layoutprobe.engine.native.library import address_of, compiled_forms, runtime
from layoutprobe.engine.native.lower import Lowered, Record, lower
from layoutprobe.engine.native.state import UNDEF_WORDS, Ins, Offsets, words_of
from layoutprobe.engine.native.steps import Steps, Watched, numbers_in
from layoutprobe.engine.native.template import Layout
from layoutprobe.engine.native.templates import EXPANDING
from layoutprobe.engine.native.tracing import UntraceableError
from layoutprobe.isa.edit import Literals, is_literal
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import MOVES, Kind
from layoutprobe.machine.observer import moves_of
from layoutprobe.machine.program import Changed, Executor, Program

_GUARDS = ("F_guard", "F_guard_copies")
"""What may stand before an instruction in the tracking copy of a block."""


class Bound(Struct, frozen=True, eq=False, dict=True):
    """A kernel for one size of waves.

    Attributes:
        program: as numpy runs it.
        lowered, records: what the interpreter executes.
        between: bool [record], a wave that stops there is between two blocks.
        resume: int64 [record], where a wave goes on after numpy executed the record's instruction.
        plain: the same where all that its block touches is defined; row: of the block in `touched`.
        touched: uint64 [block, 12], registers that a block reads or writes.
        starts: int64 [block], where it begins.
        pcs: int64 [record].
        parallel: workgroups may run at once: without atomics, and where none waits for another, the order in which
            they run changes nothing, or the kernel is wrong.
        runtime, offsets: the compiled runtime, and how it lays out a wave.
    """

    program: Program
    lowered: Lowered
    between: NDArray[np.bool_]
    resume: NDArray[np.int64]
    plain: NDArray[np.int64]
    row: NDArray[np.int64]
    touched: NDArray[np.uint64]
    starts: NDArray[np.int64]
    pcs: NDArray[np.int64]
    parallel: bool
    runtime: ctypes.CDLL
    offsets: Offsets
    _plain_records: ctypes.Array[Ins]
    _watched_records: dict[Watched, ctypes.Array[Ins]] = field(default_factory=dict)
    _alone: dict[int, ctypes.Array[Ins]] = field(default_factory=dict)
    _named: dict[int, NDArray[np.uint64]] = field(default_factory=dict)
    _asked: list[tuple[Mapping[int, Inst], NDArray[np.int64] | None]] = field(default_factory=list)

    __repr__ = brief

    @property
    def room(self) -> int:
        """Words of a log that the accesses of a block take at most."""
        return max((r.immediates[3] for r in self.records if r.symbol == "F_block"), default=0)

    @property
    def records(self) -> tuple[Record, ...]:
        """See Lowered."""
        return self.lowered.records

    @cached_property
    def executed(self) -> frozenset[int]:
        """PCs of all instructions that an engine executes: not of hints, nor of what ends a block."""
        return frozenset(record.pc for record in self.records if record.executor)

    @cached_property
    def tells(self) -> NDArray[np.bool_]:
        """bool [block], it has accesses that write lines into the log."""
        found = np.zeros(len(self.lowered.blocks), np.bool_)
        for record in self.records:
            if record.symbol == "F_block":
                found[record.immediates[1]] = record.immediates[3] > 0
        return found

    def alone(self, n: int) -> ctypes.Array[Ins]:
        """The record of a matrix instruction, and behind it one that returns: for `lp_step`."""
        if n not in self._alone:
            pair = (Ins * 2)(self._plain_records[n])
            if self.records[n].symbol in EXPANDING:
                pair[0].k[2] = pair[0].k[3] = 0  # nothing has expanded its operands before
            pair[1].fn = address_of(self.runtime, "F_return")
            self._alone[n] = pair
        return self._alone[n]

    def named(self, n: int) -> NDArray[np.uint64]:
        """uint64 [12], the registers that a record's instruction names; see `touched`."""
        if n not in self._named:
            self._named[n] = words_of(self.records[n].named)
        return self._named[n]

    def program_records(self, watched: Watched) -> ctypes.Array[Ins]:
        """The records in C's form, for those who watch."""
        if not (watched.block or watched.access or watched.matrix or watched.stops):
            return self._plain_records
        if watched not in self._watched_records:
            self._watched_records[watched] = self._changed(watched)
        return self._watched_records[watched]

    def with_literals(self, changes: Literals) -> Bound | None:
        """The kernel in which instructions that read nothing but a literal have another one; None where some read
        more. Nothing is bound again: a program of many variants is launched with one number after the other."""
        if not any(insts is changes.insts for insts, _ in self._asked):
            self._asked[:] = [(changes.insts, self._words_of(changes))]
        ((_, words),) = self._asked
        if words is None:
            return None
        records, _ = self._copy()
        np.frombuffer(memoryview(records).cast("B"), np.uint32)[words] = changes.new
        return replace(self, _plain_records=records, _watched_records={}, _alone={}, _asked=[])

    def _words_of(self, changes: Literals) -> NDArray[np.int64] | None:
        """Which words of the records, in C's form, hold the literals; None where an instruction reads more."""
        found, seen = list[int](), set[int]()
        for n, record in enumerate(self.records):
            inst = record.inst
            if inst is None or record.pc not in changes.insts:
                continue
            numbers = record.immediates
            alone = record.symbol in self.lowered.forms and not inst.pair and len(inst.src) == 1
            if not alone or not is_literal(inst.src[0], changes.old) or numbers.count(changes.old) != 1:
                return None
            seen.add(record.pc)
            found.append((n * ctypes.sizeof(Ins) + Ins.k.offset) // _WORD + numbers.index(changes.old))
        return np.array(found, np.int64) if seen == changes.insts.keys() else None

    def changed(self, changes: Changed) -> Bound:
        """The kernel in which something else is executed at some addresses: by numpy, but for another number."""
        made, left = list(self.records), []
        records, functions = self._copy()
        for n, record in enumerate(made):
            if not record.executor or record.pc not in changes:
                continue
            inst, execute = changes[record.pc]
            numbers = self._numbers(record, execute)
            if numbers is None:
                left.append(n)
                made[n] = replace(record, symbol="F_slow", inst=inst, executor=execute, line=None)
            else:
                made[n] = replace(record, inst=inst, executor=execute, immediates=numbers)
                records[n].k[: len(numbers)] = numbers
        self._leave(functions, np.array(left, np.int64))
        lowered = replace(self.lowered, records=tuple(made))
        return replace(
            self, lowered=lowered, _plain_records=records, _watched_records={}, _alone={}, _named={}
        )

    def _numbers(self, record: Record, execute: Executor) -> tuple[int, ...] | None:
        """The immediates with which a record does what stands for its instruction; None where it cannot."""
        if record.symbol not in self.lowered.forms or record.inst is None:
            return None
        layout = Layout(self.offsets.lanes, self.offsets.wave)
        try:
            return numbers_in(record.symbol, record.offsets, record.inst, execute, layout)
        except UntraceableError:
            return None

    def _copy(self) -> tuple[ctypes.Array[Ins], NDArray[np.uint64]]:
        """The records in C's form once more, and of these the functions."""
        records = type(self._plain_records).from_buffer_copy(self._plain_records)
        functions = np.frombuffer(memoryview(records).cast("B"), np.uint64)[:: ctypes.sizeof(Ins) // 8]
        return records, functions

    def _leave(self, functions: NDArray[np.uint64], places: NDArray[np.int64]) -> None:
        """Leave records to numpy."""
        functions[places] = address_of(self.runtime, "F_slow")
        # A guard before it must not say of what is written that it is defined.
        for guard in _GUARDS:
            guards = np.intersect1d(places, self._where[guard] + 1, assume_unique=True) - 1
            functions[guards] = address_of(self.runtime, "F_slow_next")

    def _changed(self, watched: Watched) -> ctypes.Array[Ins]:
        records, functions = self._copy()
        if watched.block:
            functions[self._where["F_block"]] = address_of(self.runtime, "F_block_told")
        asked = np.flatnonzero(self._moves & watched.access.value)
        for n in asked.tolist():
            records[n].told = 1
        left = [np.intersect1d(self._where["accesses"], asked, assume_unique=True)]
        left += [self._where["matrices"]] * watched.matrix
        left += [self._where[form] for form in MOVES_BY_M0] * watched.indexed
        stops = (n for n, record in enumerate(self.records) if record.executor and record.pc in watched.stops)
        left += [np.fromiter(stops, np.int64)] if watched.stops else []
        for places in left:
            self._leave(functions, places)
        return records

    @cached_property
    def _moves(self) -> NDArray[np.int64]:
        """What accesses each record's instruction makes: values of Moves."""
        insts = (record.inst for record in self.records)
        found = (moves_of(inst).value if inst is not None and inst.kind & MOVES else 0 for inst in insts)
        return np.fromiter(found, np.int64, len(self.records))

    @cached_property
    def _where(self) -> dict[str, NDArray[np.int64]]:
        """Records of blocks, guards and moves by M0; of matrix instructions, and of accesses that write no line."""
        found: dict[str, list[int]] = {
            name: [] for name in ("F_block", *_GUARDS, *MOVES_BY_M0, "accesses", "matrices")
        }
        for n, record in enumerate(self.records):
            if record.symbol in found:
                found[record.symbol].append(n)
            elif record.executor is not None and record.inst is not None:
                if record.line is None and record.inst.kind & MOVES:
                    found["accesses"].append(n)
                elif Kind.MATRIX in record.inst.kind:
                    found["matrices"].append(n)
        return {name: np.array(places, np.int64) for name, places in found.items()}


_WORD = 4
"""Bytes of a number in a record."""


@cache
def _runtime(lanes: int, wait: bool) -> tuple[ctypes.CDLL, Offsets]:
    library = runtime(lanes, wait=wait)
    u64, pointer = ctypes.c_uint64, ctypes.c_void_p
    library.lp_run.argtypes = [pointer, u64, u64]
    library.lp_step.argtypes = [pointer, pointer, pointer, u64]
    library.lp_step.restype = None
    library.lp_sift.argtypes = [pointer, u64, pointer, ctypes.c_uint32, ctypes.c_uint32, u64, ctypes.c_uint32]
    library.lp_reset.argtypes = [pointer, u64]
    library.lp_reset.restype = None
    return library, Offsets(library)


def steps_of(
    program: Program, lanes: int, bodies: Mapping[int, Sequence[Executor]] | None = None, *, wait: bool = True
) -> Steps:
    """A program for waves of that many lanes.

    Args:
        program, lanes: which.
        bodies: what numpy calls for single instructions of each block; its own body where None.
        wait: as of `library.runtime`.

    Raises:
        UnavailableError: as of `bind_native`.
    """
    bodies = bodies or {pc: block.body for pc, block in program.blocks.items()}
    return Steps(program, bodies, Layout(lanes, _runtime(lanes, wait)[1].wave))


def bind_native(steps: Steps, *, wait: bool = True) -> Bound:
    """Lower a program, and compile what forms it needs; `wait` as of `library.runtime`.

    Raises:
        UnavailableError: there is no compiler, or the machine is not one of ours.
    """
    program, lanes = steps.program, steps.layout.lanes
    library, offsets = _runtime(lanes, wait)
    lowered = lower(steps)
    addresses: dict[str, Any] = dict(compiled_forms(lowered.forms.values(), lanes, wait=wait))
    records = (Ins * len(lowered.records))()
    for entry, record in zip(records, lowered.records, strict=True):
        if record.symbol not in addresses:
            addresses[record.symbol] = address_of(library, record.symbol)
        entry.fn, entry.pc = addresses[record.symbol], record.pc
        entry.o[: len(record.offsets)] = record.offsets
        words = record.immediates if record.jump is None else (record.jump & 0xFFFFFFFF,)
        entry.k[: len(words)] = words
    resume, plain, row = np.array([(r.resume, r.plain, r.row) for r in lowered.records], np.int64).T
    plain = np.where(plain < 0, resume, plain)
    rows = [np.frombuffer(t.to_bytes(8 * UNDEF_WORDS, "little"), np.uint64) for t in lowered.touched]
    parallel = not lowered.waits and not any(Kind.ATOMIC in inst.kind for inst in program.accesses)
    touched = np.ascontiguousarray(np.stack(rows))
    between = np.array([_between(record) for record in lowered.records])
    start_of = {block: pc for pc, block in program.blocks.items()}
    starts = np.array([start_of[block] for block in lowered.blocks], np.int64)
    pcs = np.array([record.pc for record in lowered.records], np.int64)
    return Bound(
        program,
        lowered,
        between,
        resume,
        plain,
        row,
        touched,
        starts,
        pcs,
        parallel,
        library,
        offsets,
        records,
    )


def _between(record: Record) -> bool:
    return record.symbol in ("F_block", "F_jump") or (record.symbol == "F_slow" and record.inst is None)
