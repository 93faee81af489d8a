"""Where the pointer to a buffer is moved, by one distance in all lanes of a wave: to a batch, or a part of K."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import address
from layoutprobe.machine.program import Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.values import integers

_ADDS = ("s_add_u32", "s_add_nc_u64", "s_add_u64", "v_add_co_u32", "v_add_nc_u64", "v_lshl_add_u64")
_LOW = 0xFFFFFFFF


class Advance(Struct, frozen=True, eq=False):
    """An addition to the pointer that the kernel was given.

    Attributes:
        inst: the instruction.
        buffer: name of the allocation.
        by: bytes.
    """

    inst: Inst
    buffer: str
    by: int


class Advances(Struct, frozen=True, eq=False):
    """Attributes: found: in the order of execution, each distance of an instruction once."""

    found: tuple[Advance, ...]

    __repr__ = brief


class AdvanceRecorder(Recorder):
    """Looks at additions of which one side is the address of a buffer."""

    def __init__(self) -> None:
        self._bases: dict[int, str] = {}
        self._found: dict[tuple[int, str, int], Advance] = {}

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._bases = {address(region) & _LOW: region.name for region in machine.arena.regions}

    def stops(self, program: Program) -> frozenset[int]:
        """See Observer."""
        insts = (inst for block in program.blocks.values() for inst in block.listing)
        return frozenset(inst.pc for inst in insts if inst.name in _ADDS)

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        if inst.name not in _ADDS or not c.exec.any():
            return
        sides = [integers(c, operand) for operand in inst.src]
        if inst.name == "v_lshl_add_u64" and None not in sides and len(sides) == 3:
            sides = [sides[0] << sides[1], sides[2]]  # type: ignore[operator]
        if len(sides) != 2 or sides[0] is None or sides[1] is None:
            return
        for one, other in ((sides[0], sides[1]), (sides[1], sides[0])):
            held = (np.unique(np.broadcast_to(side & _LOW, c.exec.shape)[c.exec]) for side in (one, other))
            base, by = (side[:2].tolist() for side in held)
            if len(base) == len(by) == 1 and base[0] in self._bases:
                buffer = self._bases[base[0]]
                self._found[inst.pc, buffer, by[0]] = Advance(inst, buffer, by[0])

    def record(self) -> Advances:
        """See Recorder."""
        return Advances(tuple(self._found.values()))
