"""Waits: is every register used only after a wait that guarantees its value?

The emulator completes memory operations at once, so nothing of this shows in its results. Here the
counters are interpreted abstractly, beside the execution: each wave carries the queues of its
outstanding operations (`counters`), and every block that it executes takes them to the next. Waves
in one state share the work: the transition of a block from a state is computed once and remembered,
and what remains per block and cohort is a table look-up.

What counts as a hazard:

* an instruction reads a register that an outstanding load has still to write: it gets the old value
  or the new one (RDNA3 ISA guide, "Data dependency resolution"). Addresses, store data, both
  halves of a dual instruction and matrix operands are reads like any other;
* an instruction writes such a register: the load will overwrite its result. Not a hazard is a load
  of the same in-order kind, since it lands later: compilers fill a register from two D16 loads.

Not hazards: overwriting the data or address registers of an outstanding store or load (hardware has
read them when a later VALU instruction may write them), and ending with stores outstanding.
Registers count whichever lanes are active, and their halves apart: a D16 load writes one, and
compilers use the other meanwhile (LLVM 24, real 16-bit registers).

After a hazard the queues go on as if the missing wait had been there, so that one missing wait is
one hazard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT
from layoutprobe.arch.isa import Counting
from layoutprobe.isa.dialect import isa_of, known
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.counters import (
    Operation,
    Queues,
    issue,
    needed,
    operation,
    reads,
    register_of,
    wait,
    waits,
    writes,
)
from layoutprobe.observe.paths import Passage, Paths
from layoutprobe.observe.who import Who, who_is


class Hazard(Struct, eq=False):
    """One use of a register before the wait that guarantees it.

    Attributes:
        inst: the instruction that comes too early.
        writes: it overwrites the register, rather than reads it.
        pending: outstanding loads that write registers of `inst`, the one issued last first.
        register: one of them, as `isa.inst` numbers them.
        counter: what should have been waited for.
        allows: how many outstanding operations `inst` can bear.
        outstanding: how many the counter had.
        last_wait: the wait on this counter that came before it in its block, None where none did.
        who: the first wave that did it.
        waves: how often waves did it.
    """

    inst: Inst
    writes: bool
    pending: tuple[Inst, ...]
    register: int
    counter: str
    allows: int
    outstanding: int
    last_wait: Inst | None
    who: Who | None = None
    waves: int = 0


class WaitRecord(Struct, frozen=True):
    """What the counters showed.

    Attributes:
        hazards: one per missing wait, in the order in which they happened.
        operations: memory instructions executed, as sites.
        loads: those of them that write registers.
        waits: wait instructions executed, as sites.
        complete: False where the kernel had more states than are followed.
    """

    hazards: tuple[Hazard, ...]
    operations: int
    loads: int
    waits: int
    complete: bool


class _Quiet(Struct, frozen=True, eq=False):
    """What a block does to queues where no wait is missing.

    Attributes:
        passage: from one state to the next.
        operations: its memory instructions, by PC.
        waits: PCs of its waits.
    """

    passage: Passage[Queues]
    operations: Mapping[int, Operation]
    waits: frozenset[int]


@lru_cache(maxsize=8)
def _quiet_in(program: Program, *, lds: bool) -> dict[tuple[Block, Queues], _Quiet]:
    """What is known of a program, `lds` as of `counters.operation`: the same in each launch, and at every size."""
    return {}


class CounterTracker:
    """The queues of every wave of a batch.

    Attributes:
        operations: memory instructions executed so far, by PC.
        wait_sites: PCs of the waits executed so far.
        hazards: see WaitRecord.
    """

    def __init__(self) -> None:
        self.operations: dict[int, Operation] = {}
        self.wait_sites: set[int] = set()
        self.hazards: dict[tuple[int, str, bool], Hazard] = {}
        self._indexing: list[Block] = []  # those that move VGPRs that M0 picks
        self._follow(known(DEFAULT).counting)
        self._lds = True
        self._quiet: dict[tuple[Block, Queues], _Quiet] = {}

    @property
    def complete(self) -> bool:
        """See WaitRecord."""
        return self._paths.complete

    def batch(self, machine: Machine, program: Program) -> None:
        """All waves start with nothing outstanding."""
        counting = isa_of(program.code, program.kernel).counting
        if counting is not self._counting:
            self._follow(counting)
        self._paths.batch(machine)
        self._lds = machine.lds_size > 0
        self._quiet = _quiet_in(program, lds=self._lds)

    def block(self, c: Band, block: Block) -> None:
        """Take the waves of a cohort through a block."""
        self._paths.block(c, block)

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], done: Inst) -> None:
        """M0 picks VGPRs for waves: what their loads have still to write is known at its place only."""
        block = next(known for known in self._indexing if any(one.pc == inst.pc for one in known.listing))
        touched = [frozenset(of(done)) - frozenset(of(inst)) for of in (reads, writes)]
        for queues, its in self._paths.entered(waves):
            for hazard in self._up_to(block, queues, inst).clashes(inst, None, *touched):
                known = self.hazards.setdefault((inst.pc, hazard.counter, hazard.writes), hazard)
                known.who = known.who or who_is(c.machine, int(its[0]))
                known.waves += len(its)

    def _up_to(self, block: Block, queues: Queues, last: Inst) -> _Walk:
        walk = _Walk(queues, self._counting, self.operations)
        for inst in block.listing:
            if inst is last or inst.pc == last.pc:
                break
            if limits := waits(inst, self._counting):
                walk.wait(inst, limits)
            elif op := self.operations.get(inst.pc):
                walk.queues = issue(walk.queues, self._counting, op)
        return walk

    def _follow(self, counting: Counting) -> None:
        self._counting = counting
        self._paths = Paths(Queues.empty(counting), self._through)

    def _through(self, block: Block, queues: Queues) -> Passage[Queues]:
        key = block, queues
        if key not in self._quiet:
            waited, passage = self._walked(block, queues)
            if passage.seen or block in self._indexing:
                return passage
            issued = {
                inst.pc: self.operations[inst.pc] for inst in block.listing if inst.pc in self.operations
            }
            self._quiet[key] = _Quiet(passage, issued, waited)
        quiet = self._quiet[key]
        self.operations.update(quiet.operations)
        self.wait_sites |= quiet.waits
        return quiet.passage

    def _walked(self, block: Block, queues: Queues) -> tuple[frozenset[int], Passage[Queues]]:
        """What a block does to queues, and PCs of its waits."""
        walk, waited = _Walk(queues, self._counting, self.operations), set[int]()
        found: list[Hazard] = []
        if any(picks_registers(inst) for inst in block.listing):
            self._indexing.append(block)
        for inst in block.listing:
            limits = waits(inst, self._counting)
            if limits:
                waited.add(inst.pc)
                walk.wait(inst, limits)
                continue
            op = self.operations.get(inst.pc) or operation(inst, self._counting, lds=self._lds)
            for hazard in walk.hazards(inst, op):
                key = (inst.pc, hazard.counter, hazard.writes)
                found.append(self.hazards.setdefault(key, hazard))
            if op is not None:
                self.operations[inst.pc] = op
                walk.queues = issue(walk.queues, self._counting, op)
        self.wait_sites |= waited
        return frozenset(waited), Passage(walk.queues, tuple(found))


class _Walk(Struct, eq=False):
    """The queues on their way through a block."""

    queues: Queues
    counting: Counting
    ops: dict[int, Operation]
    last_waits: dict[str, Inst] = field(default_factory=dict)

    def wait(self, inst: Inst, limits: dict[str, int]) -> None:
        for counter, left in limits.items():
            self.queues = wait(self.queues, self.counting, counter, left, self.ops)
            self.last_waits[counter] = inst

    def hazards(self, inst: Inst, op: Operation | None) -> Iterable[Hazard]:
        """Hazards of an instruction; mends the queues as the missing wait would have."""
        if any(self.queues.pending):
            yield from self.clashes(inst, op, frozenset(reads(inst)), frozenset(writes(inst)))

    def clashes(
        self, inst: Inst, op: Operation | None, read: frozenset[int], written: frozenset[int]
    ) -> Iterable[Hazard]:
        """The same for these parts of registers."""
        for counter in self.counting.loading:
            hit = self._hit(counter, read, written, op)
            if not hit:
                continue
            queue = self.queues.of(self.counting, counter)
            allows = min(needed(queue, at, self.ops) for at, _ in hit)
            pending = tuple(self.ops[queue[at]].inst for at, _ in reversed(hit))
            part = hit[-1][1]
            yield Hazard(inst, part not in read, pending, register_of(part), counter, allows, len(queue),
                         self.last_waits.get(counter))  # fmt: skip
            self.queues = wait(self.queues, self.counting, counter, allows, self.ops)

    def _hit(
        self, counter: str, read: frozenset[int], written: frozenset[int], op: Operation | None
    ) -> list[tuple[int, int]]:
        """Places in a queue whose loads clash with these registers, each with one such part."""
        found = []
        for at, pc in enumerate(self.queues.of(self.counting, counter)):
            pending = self.ops[pc]
            clash = pending.targets & read
            lands_later = op is not None and op.ordered and op.counters == pending.counters
            if not clash and not lands_later:
                clash = pending.targets & written
            if clash:
                found.append((at, min(clash)))
        return found


class WaitObserver(Recorder):
    """Watches for registers that are used too early."""

    def __init__(self) -> None:
        self.tracker = CounterTracker()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self.tracker.batch(machine, program)

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self.tracker.block(c, block)

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], done: Inst) -> None:
        """See Observer."""
        self.tracker.indexed(c, inst, waves, done)

    def record(self) -> WaitRecord:
        """What the counters showed so far."""
        tracker = self.tracker
        ops = tracker.operations.values()
        loads = sum(bool(op.targets) for op in ops)
        return WaitRecord(tuple(tracker.hazards.values()), len(ops), loads, len(tracker.wait_sites),
                          tracker.complete)  # fmt: skip
