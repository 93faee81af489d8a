"""Matrix instructions that a wave executes while some of its lanes are switched off.

They take the registers of all lanes, whatever EXEC says (PCODE of every WMMA: EXEC is all ones meanwhile; of MFMA,
cdna-facts): those of idle lanes hold what they held before the branch.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.who import Who, who_is


class IdleLane(Struct, frozen=True):
    """A lane of a wave that is switched off at a matrix instruction.

    Attributes:
        inst: the instruction.
        who: the lane.
        active, lanes: how many lanes of the wave are not, and how many it has.
        undefined: "A" or "B", of which the lane's registers are undefined; "" where they hold something.
    """

    inst: Inst
    who: Who
    active: int
    lanes: int
    undefined: str


class IdleLanes(Struct, frozen=True):
    """The first such lane of each instruction, with undefined registers if one has them."""

    found: tuple[IdleLane, ...]


class IdleLaneRecorder(Recorder):
    """Looks at EXEC, and at the operands, whenever a matrix instruction is executed."""

    def __init__(self, items: int) -> None:
        """Args: items: work-items of a workgroup; lanes beyond them are nobody's."""
        self._items = items
        self._found = dict[int, IdleLane]()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        if c.full:
            return
        lanes = c.exec.shape[1]
        number = c.machine.waves.index[c.waves][:, None] * lanes + np.arange(lanes)
        idle = ~c.exec & (number < self._items)
        known = self._found.get(inst.pc)
        if not idle.any() or (known is not None and known.undefined):
            return
        for matrix, operand in zip("AB", inst.src, strict=False):
            undefined = np.zeros_like(idle)
            for vgpr in range(operand.index, operand.index + operand.regs):
                if c.undef >> VGPR0 + vgpr & 1:
                    undefined |= idle & (c.shadow.u[vgpr] != 0)
            if undefined.any():
                self._found[inst.pc] = _first(c, inst, undefined, matrix)
                return
        if known is None:
            self._found[inst.pc] = _first(c, inst, idle, "")

    def record(self) -> IdleLanes:
        """See Recorder."""
        return IdleLanes(tuple(self._found.values()))


def _first(c: Cohort, inst: Inst, which: Array, matrix: str) -> IdleLane:
    position, lane = (int(i) for i in np.argwhere(which)[0])
    who = who_is(c.machine, int(c.waves[position]), lane)
    return IdleLane(inst, who, int(c.exec[position].sum()), c.exec.shape[1], matrix)
