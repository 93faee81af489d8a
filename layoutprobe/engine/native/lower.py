"""A bound program -> records of the threaded interpreter.

Each block is there twice. The plain copy is for waves in which all that the block touches is defined; its
first record tests that, and budget and turn. The tracking copy has a guard before each instruction, which
keeps the undefined bits of what is written; what reads undefined bits is left to numpy where they have a rule that
C does not know (guards.py). A wave that comes
back from numpy in the middle of a block goes on in the tracking copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, field

from layoutprobe.engine.native.forms import IMMEDIATES, OFFSETS, Form
from layoutprobe.engine.native.guards import EVERY_LANE, Guard
from layoutprobe.engine.native.indexed import MOVES_BY_M0
from layoutprobe.engine.native.steps import Step, Steps
from layoutprobe.engine.native.template import Line, Template
from layoutprobe.engine.native.templates import control_of
from layoutprobe.engine.spinning import may_wait, waves_wait
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import EXEC_LO, SCC, VCC_LO, Inst, Operand
from layoutprobe.isa.kind import MOVES, Kind
from layoutprobe.machine.program import CONDITIONS, Block, Executor

_NOWHERE = 0xFFFF
"""Instead of the number of a register, where a number is copied; F_guard_copies."""
_MOST_ROOM = 1 << 14
"""Words of the log that one block may take; of one that takes more, numpy executes the accesses that are watched."""
_IMPLIED = sum(1 << r for r in (SCC, VCC_LO, VCC_LO + 1, EXEC_LO, EXEC_LO + 1))
"""Registers that an instruction may use without naming them."""


class Record(Struct, dict=True):
    """One entry of the interpreter's program.

    Attributes:
        symbol, pc, offsets, immediates: see c/base.h.
        inst, executor: what numpy executes when the form gives up; no executor at the end of a block, where calls
            and returns always give up.
        block: the block, which begins at `start`; `row` is its place in `Lowered.touched`.
        resume: the record where a wave goes on after that, and `plain` where everything that the block touches is
            defined (-1: there as well).
        jump: a record that immediate 0 leads to, as a distance.
        line: what it writes into the log.
        undefined: see Template.
    """

    symbol: str
    pc: int
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()
    inst: Inst | None = None
    executor: Executor | None = None
    block: Block | None = None
    start: int = 0
    row: int = 0
    resume: int = -1
    plain: int = -1
    jump: int | None = None
    line: Line | None = None
    undefined: int = 0

    @cached_property
    def registers(self) -> int:
        """What numpy may read or write for the instruction, as bits of `Cohort.undef`; -1 is all of them."""
        assert self.inst is not None
        return -1 if picks_registers(self.inst) else self.named | _IMPLIED

    @property
    def named(self) -> int:
        """The registers that the instruction's operands are, as bits of `Cohort.undef`."""
        assert self.inst is not None
        operands = (o for part in (self.inst, *self.inst.pair) for o in (*part.dst, *part.src))
        return sum(1 << r for r in {register for operand in operands for register in operand.registers()})


class Lowered(Struct, frozen=True):
    """A program as records.

    Attributes:
        records: all of them; the first is where waves start.
        forms: the traced forms that they use, by symbol.
        touched: per block, a bit per register that it reads or writes.
        blocks: the blocks in that order.
        heads: the first record of each block, by its address.
        fragments: how many expanded operands of matrix instructions are kept.
        slow: share of a program's instructions that numpy executes.
        waits: waves may wait for each other through memory.
    """

    records: tuple[Record, ...]
    forms: dict[str, Form]
    touched: tuple[int, ...]
    blocks: tuple[Block, ...]
    heads: Mapping[int, int]
    fragments: int
    slow: float
    waits: bool


@lru_cache(4)
def lower(steps: Steps) -> Lowered:
    """The records of a program. They are asked for again once what they need has been compiled."""
    return _Lowering(steps).result()


class _Lowering(Struct, dict=True):
    source: Steps
    records: list[Record] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    heads: dict[int, int] = field(default_factory=dict)
    fragments: dict[object, int] = field(default_factory=dict)
    targets: list[tuple[int, int]] = field(default_factory=list)
    logged: bool = False  # the accesses of the block that is written write lines

    def result(self) -> Lowered:
        program = self.source.program
        entry, blocks = program.kernel.entry, program.blocks
        order = [entry, *(pc for pc in sorted(blocks) if pc != entry)]
        steps = {pc: self._steps(pc, blocks[pc]) for pc in order}
        plain = {pc: self._plain(pc, blocks[pc], steps[pc]) for pc in order}
        for pc in order:
            self._tracking(pc, blocks[pc], steps[pc], plain[pc])
        for at, target in self.targets:
            self.records[at].jump = self._head(target) - at
        every = [s for each in steps.values() for s in each]
        slow = sum(s.symbol == "F_slow" for s in every) / max(len(every), 1)
        return Lowered(
            tuple(self.records),
            self._forms(every),
            tuple(self.touched),
            tuple(blocks[pc] for pc in order),
            {pc: self.heads[pc] for pc in order},
            max(len(self.fragments), 1),
            slow,
            self.waits,
        )

    @cached_property
    def waits(self) -> bool:
        return waves_wait(self.source.program)

    def _head(self, pc: int) -> int:
        """The first record of a block, or one that says that there is none."""
        if pc not in self.heads:
            self.heads[pc] = self._add(Record("F_slow", pc))
        return self.heads[pc]

    def _add(self, record: Record) -> int:
        self.records.append(record)
        return len(self.records) - 1

    def _steps(self, pc: int, block: Block) -> list[Step]:
        bodies = self.source.bodies
        return [self.source.step(i, e) for i, e in zip(block.insts, bodies[pc], strict=True)]

    def _forms(self, steps: Sequence[Step]) -> dict[str, Form]:
        known = self.source.forms
        return {s.symbol: known[s.symbol] for s in steps if s.symbol in known}

    def _plain(self, pc: int, block: Block, steps: Sequence[Step]) -> list[int]:
        """Writes the plain copy; the record of each instruction, and of what follows the last."""
        row = len(self.touched)
        self.touched.append(_touched(steps, block, self.source.layout.lanes // 32))
        self.heads[pc] = len(self.records)
        self.logged = _room(steps) > 0
        self._add(Record("F_block", pc, immediates=(block.length, row), block=block))
        held: dict[object, bool] = {}
        at = []
        for step, meets in zip(steps, _meetings(steps), strict=True):
            if meets:
                self._add(Record("F_meet", step.inst.pc))
                held.clear()
            at.append(self._instruction(step, block, held))
            if step.symbol == "F_slow":
                held.clear()
                self.records[-1].plain, self.records[-1].row = len(self.records), row
        at.append(self._last(block))
        self._begun_at(pc, at[:-1])
        return at

    def _begun_at(self, pc: int, records: Sequence[int]) -> None:
        for n in records:
            self.records[n].start = pc

    def _tracking(self, pc: int, block: Block, steps: Sequence[Step], plain: Sequence[int]) -> None:
        start, at = len(self.records), []
        self.logged = _room(steps) > 0
        for step, meets in zip(steps, _meetings(steps), strict=True):
            at.append(len(self.records))
            if meets:
                self._add(Record("F_meet", step.inst.pc))
            if step.symbol != "F_slow":
                self._add(_guarding(step))
            self._instruction(step, block, None)
        at.append(len(self.records))
        condition = CONDITIONS.get(block.last.name) if block.last is not None else None
        if condition is not None and block.last is not None:
            words = 1 if condition[0] == SCC else self.source.layout.lanes // 32
            self._add(_guard(block.last.pc, Guard(((condition[0], words, EVERY_LANE),))))
        self._last(block)
        self._begun_at(pc, range(start, len(self.records)))
        first = self.heads[pc]
        head = self.records[first]
        head.immediates = (*head.immediates, start - first, _room(steps))
        for n in range(len(steps)):
            for m in (plain[n], *range(at[n], at[n + 1])):
                record = self.records[m]
                record.resume = at[n + 1]
                # Both may bring undefined bits into the plain copy.
                if record.symbol in MOVES_BY_M0:
                    record.immediates = (*record.immediates, record.resume - m)
                elif record.undefined:
                    record.offsets = (*_filled(record.offsets, OFFSETS - 1), record.undefined)
                    record.immediates = (*_filled(record.immediates, IMMEDIATES - 1), record.resume - m)

    def _instruction(self, step: Step, block: Block, held: dict[object, bool] | None) -> int:
        immediates = step.immediates
        if step.template is not None and step.template.fragments:
            immediates = self._fragments(step.template, held)
        elif held and picks_registers(step.inst):
            held.clear()
        elif held:
            _overwrite(held, (d for half in (step.inst, *step.inst.pair) for d in half.dst))
        record = Record(step.symbol, step.inst.pc, step.offsets, immediates, step.inst, step.executor, block)
        if step.template is not None:
            record.line, record.undefined = (
                step.template.line if self.logged else None,
                step.template.undefined,
            )
        return self._add(record)

    def _fragments(self, template: Template, held: dict[object, bool] | None) -> tuple[int, ...]:
        """Where A and B lie expanded, and whether an instruction before has put them there."""
        places = [self.fragments.setdefault(key, len(self.fragments)) for key in template.fragments]
        ready = [held is not None and held.get(key, False) for key in template.fragments]
        if held is not None:
            held.update(dict.fromkeys(template.fragments, True))
            _overwrite(held, (operand for operand, _ in template.writes))
        return (*places, *map(int, ready))

    def _last(self, block: Block) -> int:
        last = block.last
        if last is None:
            at = self._add(Record("F_jump", block.next_pc, block=block))
            self.targets.append((at, block.next_pc))
            return at
        if Kind.JUMP in last.kind:
            return self._add(Record("F_slow", last.pc, inst=last, block=block))
        symbol = control_of(last)
        if self.waits and may_wait(self.source.program, last):
            symbol += "_back"
        at = self._add(Record(symbol, last.pc, inst=last, block=block))
        if last.name in CONDITIONS:
            self.targets.append((at, last.branch_target))
        if Kind.END not in last.kind and last.name != "s_branch":
            self.targets.append((self._add(Record("F_jump", block.next_pc, block=block)), block.next_pc))
        return at


def _room(steps: Sequence[Step]) -> int:
    """Words that the lines of a block take; 0 where they are too many."""
    lines = [step.template.line for step in steps if step.template is not None]
    room = sum(line.places * line.words for line in lines if line is not None)
    return room if room <= _MOST_ROOM else 0


def _filled(entries: tuple[int, ...], count: int) -> tuple[int, ...]:
    return (*entries, *(0 for _ in range(count - len(entries))))


def _overwrite(held: dict[object, bool], operands: Iterable[Operand]) -> None:
    """Forget expanded operands whose registers are written."""
    written = {register for operand in operands for register in operand.registers()}
    for key in [k for k in held if isinstance(k, tuple) and not written.isdisjoint(k[1].registers())]:
        held.pop(key)


def _guarding(step: Step) -> Record:
    """What stands before an instruction in the tracking copy."""
    guard = step.guard
    if not step.copies:
        return _guard(step.inst.pc, guard)
    pairs = zip(guard.reads, guard.writes, strict=True)
    packed = tuple(to | (read if count else _NOWHERE) << 16 for (read, count, _), (to, *_) in pairs)
    return Record("F_guard_copies", step.inst.pc, packed, (len(packed),))


def _guard(pc: int, guard: Guard) -> Record:
    reads, writes = ([r for r in ranges if r[1]] for ranges in (guard.reads, guard.writes))
    packed = tuple(first | count << 16 | how << 24 for first, count, how in (*reads, *writes))
    if len(packed) > OFFSETS:  # cannot tell: numpy executes it
        return Record("F_slow_next", pc)
    return Record("F_guard", pc, packed, (len(reads), len(writes), guard.rules, guard.data))


def _touched(steps: Sequence[Step], block: Block, words: int) -> int:
    bits = 0
    for step in steps:
        for first, count, *_ in (*step.guard.reads, *step.guard.writes):
            bits |= (1 << count) - 1 << first
    condition = CONDITIONS.get(block.last.name) if block.last is not None else None
    if condition is not None:
        bits |= (1 if condition[0] == SCC else (1 << words) - 1) << condition[0]
    return bits & ~(3 << EXEC_LO)  # EXEC is never undefined: what would make it so is a fault


def _meetings(steps: Sequence[Step]) -> Iterator[bool]:
    """Before which instructions the waves of a workgroup meet.

    At stores to LDS, and at loads behind them: there numpy has every wave do the one before any does the other.
    What a block begins with is not known.
    """
    before = None
    for step in steps:
        kind = step.inst.kind
        if Kind.LDS not in kind or not kind & MOVES:
            yield False
            continue
        now = Kind.LOAD if Kind.LOAD in kind else Kind.STORE
        yield now != before or now is not Kind.LOAD
        before = now
