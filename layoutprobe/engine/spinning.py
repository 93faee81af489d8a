"""Tells waves that spin: rounds of a loop that leave every register as it was wait for another wave's store. So do
those of a loop that does nothing but look at one place until it has changed, and counts how often.

And kernels in which waves wait for each other through memory, as locks, flags and tickets do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.leaving import counters, left_by, same_place
from layoutprobe.machine.program import CONDITIONS, Block, Program
from layoutprobe.machine.registers import U32

_READS = (Kind.LOAD, Kind.ATOMIC, Kind.JUMP)  # a function that is called may read
_WORKS = (Kind.MATRIX, Kind.AWAIT)
"""No loop that waits for memory does these; in others, registers need not be compared."""
_CHANGES = (Kind.STORE, Kind.ATOMIC, Kind.ARRIVE, Kind.AWAIT, Kind.END)
"""What may change more than the registers of the wave itself."""


_FEW_LOOKS = 8
"""Rounds after which a wave that only looks lets all others go first."""


class _Round(Struct, eq=False):
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
        self._counters: dict[int, tuple[list[int], list[int]]] = {}
        self._looks: dict[tuple[int, int], int] = {}  # PC of the branch back, first wave -> rounds

    def note(self, block: Block) -> None:
        """A block has been executed. Needed where `all_idle` is asked, and for that alone."""
        if block not in self._may_change:
            kinds = [inst.kind for inst in block.listing]
            self._may_change[block] = any(kind in one for one in kinds for kind in _CHANGES)
        self.changes += self._may_change[block] or not self.changes  # what went before was not noted

    def repeats(self, cohort: Cohort, back: Inst) -> bool:
        """Whether a cohort that jumps back has gone a round that changed no register of it, but for those that only
        count rounds.

        It will do so again until memory changes. That another wave goes first is then never wrong, whatever
        else the loop does.
        """
        regs, last = cohort.regs, self._rounds.get(back.pc)
        counted = self._counters_of(back)
        if last is None or last.cohort is not cohort or _differ(last.sgprs, regs.sgprs, counted[0]):
            self._rounds[back.pc] = _Round(cohort, regs.sgprs.copy(), self.changes)
            return False
        quiet, last.changes = last.changes == self.changes, self.changes
        last.idle = -1
        if last.vgprs is None or _differ(last.vgprs, regs.vgprs, counted[1]):
            last.vgprs = regs.vgprs.copy()
            return False
        last.idle = self.changes if quiet else -1
        return True

    def _counters_of(self, back: Inst) -> tuple[list[int], list[int]]:
        """Scalar and vector registers that only count the rounds of the loops around a branch back."""
        if back.pc not in self._counters:
            flow = flow_of(self._program)
            # Between two rounds a wave may have gone round the loops around this one, which may ask for a number.
            around = (body for body in flow.loops.values() if back.branch_target in body)
            found = counters(flow, frozenset().union(*around))
            scalars = [register for register in found if register < VGPR0]
            self._counters[back.pc] = scalars, [r - VGPR0 for r in found if r >= VGPR0]
        return self._counters[back.pc]

    def looks(self, cohort: Cohort, back: Inst) -> bool:
        """Whether a cohort that jumps back has looked at one place for some rounds, whatever it counts meanwhile:
        only another wave's store will let it go on."""
        key = back.pc, int(cohort.waves[0])
        rounds = self._looks[key] = self._looks.get(key, 0) + 1
        return rounds > _FEW_LOOKS and back.pc in _polled(self._program)

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


def _differ(before: U32, now: U32, but: list[int]) -> bool:
    """Whether registers differ, but for some: [register, wave, lane]."""
    differs = before != now
    if but and differs.any():
        differs[but] = False
    return bool(differs.any())


@lru_cache(maxsize=4)
def _polled(program: Program) -> frozenset[int]:
    """PCs of branches back of loops that do nothing but load from the same place, until what they find lets them go
    on."""
    flow = flow_of(program)
    found: set[int] = set()
    for header, body in flow.loops.items():
        insts = [inst for pc in body for inst in flow.blocks[pc]]
        acts = any(kind in inst.kind for inst in insts for kind in (Kind.STORE, Kind.JUMP, *_WORKS))
        if acts or any(Kind.ATOMIC in inst.kind and not inst.dst for inst in insts):
            continue
        loads = {inst.pc for inst in insts if Kind.LOAD in inst.kind or Kind.ATOMIC in inst.kind}
        if not loads or not loads <= same_place(flow, body) or not left_by(flow, body, frozenset(loads)):
            continue
        found |= {inst.pc for inst in insts if inst.name in CONDITIONS and inst.branch_target == header}
    return frozenset(found)


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
