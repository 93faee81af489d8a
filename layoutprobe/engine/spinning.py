"""Tells waves that spin: rounds of a loop that leave every register as it was wait for another wave's store.

And kernels in which waves wait for each other through memory, as locks, flags and tickets do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.leaving import left_by
from layoutprobe.machine.program import CONDITIONS, Block, Program
from layoutprobe.machine.registers import U32

_READS = (Kind.LOAD, Kind.ATOMIC, Kind.JUMP)  # a function that is called may read
_WORKS = (Kind.MATRIX, Kind.AWAIT)
"""No loop that waits for memory does these; in others, registers need not be compared."""
_CHANGES = (Kind.STORE, Kind.ATOMIC, Kind.ARRIVE, Kind.AWAIT, Kind.END)
"""What may change more than the registers of the wave itself."""


@dataclass(eq=False)
class _Round:
    """What a cohort held at the end of its last round. VGPRs only once scalar registers did not change: most
    loops count, and are told by that at once.

    Attributes:
        changes: see Spins, when the round ended.
        idle: the same, where that round had changed no register and nothing else; -1 where it had.
    """

    cohort: Cohort
    sgprs: U32
    changes: int
    vgprs: U32 | None = None
    idle: int = -1


class Spins:
    """Watches the loops of one program.

    Attributes:
        changes: how often a block was noted that may change more than registers (`note`).
    """

    def __init__(self, program: Program) -> None:
        self.changes = 0
        self._program = program
        self._may_wait: dict[int, bool] = {}
        self._may_change: dict[Block, bool] = {}
        self._rounds: dict[int, _Round] = {}

    def note(self, block: Block) -> None:
        """A block has been executed. Needed where `all_idle` is asked, and for that alone."""
        if block not in self._may_change:
            kinds = [inst.kind for inst in block.listing]
            self._may_change[block] = any(kind in one for one in kinds for kind in _CHANGES)
        self.changes += self._may_change[block] or not self.changes  # what went before was not noted

    def repeats(self, cohort: Cohort, back: Inst) -> bool:
        """Whether a cohort that jumps back has gone a round that changed no register of it.

        It will do so again until memory changes. That another wave goes first is then never wrong, whatever
        else the loop does.
        """
        regs, last = cohort.regs, self._rounds.get(back.pc)
        if last is None or last.cohort is not cohort or (last.sgprs != regs.sgprs).any():
            self._rounds[back.pc] = _Round(cohort, regs.sgprs.copy(), self.changes)
            return False
        quiet, last.changes = last.changes == self.changes, self.changes
        last.idle = -1
        if last.vgprs is None or (last.vgprs != regs.vgprs).any():
            last.vgprs = regs.vgprs.copy()
            return False
        last.idle = self.changes if quiet else -1
        return True

    def all_idle(self, cohorts: Iterable[Cohort]) -> bool:
        """Whether each has gone such a round since the last thing happened that another may see: if nobody else can
        go on, they go the same round for ever."""
        idle = [one.cohort for one in self._rounds.values() if one.idle == self.changes]
        return all(any(one is cohort for one in idle) for cohort in cohorts)

    def may_wait_at(self, back: Inst) -> bool:
        """See `may_wait`."""
        if back.pc not in self._may_wait:
            self._may_wait[back.pc] = may_wait(self._program, back)
        return self._may_wait[back.pc]


def may_wait(program: Program, back: Inst) -> bool:
    """Whether the loop that a branch closes may, by its instructions, wait for memory."""
    if back.name not in CONDITIONS or back.branch_target > back.pc:
        return False
    inside = [
        inst.kind
        for pc, block in program.blocks.items()
        if back.branch_target <= pc <= back.pc
        for inst in block.listing
    ]
    reads = any(kind in one for one in inside for kind in _READS)
    return reads and not any(kind in one for one in inside for kind in _WORKS)


def waves_wait(program: Program) -> bool:
    """Whether waves may wait for each other through memory: what they do then depends on who goes first.

    So it is where an atomic returns what it found, and where a value that is loaded in a loop decides whether
    the loop is left.
    """
    if any(Kind.ATOMIC in inst.kind and inst.dst for inst in program.accesses):
        return True
    flow = flow_of(program)
    loads = frozenset(inst.pc for inst in program.accesses if Kind.LOAD in inst.kind)
    return any(left_by(flow, body, loads) for body in flow.loops.values())
