"""Tells waves that spin: rounds of a loop that leave every register as it was wait for another wave's store.

And kernels in which waves wait for each other through memory, as locks, flags and tickets do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.program import CONDITIONS, Program
from layoutprobe.machine.registers import U32

_READS = (Kind.LOAD, Kind.ATOMIC, Kind.JUMP)  # a function that is called may read
_WORKS = (Kind.MATRIX, Kind.AWAIT)
"""No loop that waits for memory does these; in others, registers need not be compared."""


@dataclass(eq=False)
class _Round:
    """What a cohort held at the end of its last round. VGPRs only once scalar registers did not change: most
    loops count, and are told by that at once."""

    cohort: Cohort
    sgprs: U32
    vgprs: U32 | None = None


class Spins:
    """Watches the loops of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._may_wait: dict[int, bool] = {}
        self._rounds: dict[int, _Round] = {}

    def spins(self, cohort: Cohort, back: Inst) -> bool:
        """Whether a cohort that jumps back has gone a round that changed no register of it.

        It will do so again until memory changes. That another wave goes first is then never wrong, whatever
        else the loop does.
        """
        if not self._may_wait_for(back):
            return False
        regs, last = cohort.regs, self._rounds.get(back.pc)
        if last is None or last.cohort is not cohort or (last.sgprs != regs.sgprs).any():
            self._rounds[back.pc] = _Round(cohort, regs.sgprs.copy())
            return False
        if last.vgprs is None or (last.vgprs != regs.vgprs).any():
            last.vgprs = regs.vgprs.copy()
            return False
        return True

    def _may_wait_for(self, back: Inst) -> bool:
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
    if any(Kind.ATOMIC in inst.kind and inst.dst for inst in program.insts):
        return True
    flow = flow_of(program)
    return any(_left_by_a_load(flow.blocks, flow.nexts, body) for body in flow.loops.values())


def _left_by_a_load(
    blocks: Mapping[int, Sequence[Inst]], nexts: Mapping[int, Sequence[int]], body: frozenset[int]
) -> bool:
    """Follows what the loop loads from register to register, round and round until nothing is added."""
    entering: dict[int, frozenset[int]] = dict.fromkeys(body, frozenset())
    pending = set(body)
    while pending:
        pc = pending.pop()
        loaded = _behind(blocks[pc], entering[pc])
        condition = CONDITIONS.get(blocks[pc][-1].name)
        if condition is not None and condition[0] in loaded and not body.issuperset(nexts[pc]):
            return True
        for following in body.intersection(nexts[pc]):
            if not loaded <= entering[following]:
                entering[following] |= loaded
                pending.add(following)
    return False


def _behind(block: Sequence[Inst], loaded: frozenset[int]) -> frozenset[int]:
    """The registers that hold what was loaded, or was made of it, behind a block."""
    now = set(loaded)
    for inst in block:
        if Kind.LOAD in inst.kind or not now.isdisjoint(_read(inst)):
            now |= _written(inst)
        else:
            now -= _written(inst)
    return frozenset(now)


_READ_SCC = ("s_cselect_", "s_cmov_", "s_addc_", "s_subb_")
_KEEP_SCC = ("s_mov", "s_cselect_", "s_mul_", "s_load", "s_buffer_load")


def _read(inst: Inst) -> set[int]:
    """Registers that an instruction reads. EXEC is not told: it says in which lanes, and seldom what."""
    named = {r for half in (inst, *inst.pair) for o in half.src for r in o.registers()}
    return (named | ({SCC} if inst.name.startswith(_READ_SCC) else set())) - {EXEC_LO, EXEC_HI}


def _written(inst: Inst) -> set[int]:
    """Registers that an instruction writes, named by it or not."""
    named = {r for half in (inst, *inst.pair) for o in half.dst for r in o.registers()}
    if Kind.SALU in inst.kind and not inst.name.startswith(_KEEP_SCC):
        named.add(SCC)
    return named | ({EXEC_LO, EXEC_HI} if "saveexec" in inst.name or "wrexec" in inst.name else set())
