"""Tells waves that spin: rounds of a loop that leave every register as it was wait for another wave's store."""

from __future__ import annotations

from dataclasses import dataclass

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import U32

_READS = (Kind.LOAD, Kind.ATOMIC)
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
        """Whether a loop, by its instructions, may wait for memory."""
        if back.pc not in self._may_wait:
            blocks = self._program.blocks
            inside = [
                inst.kind
                for pc, block in blocks.items()
                if back.branch_target <= pc <= back.pc
                for inst in block.listing
            ]
            reads = any(kind in one for one in inside for kind in _READS)
            self._may_wait[back.pc] = reads and not any(kind in one for one in inside for kind in _WORKS)
        return self._may_wait[back.pc]
