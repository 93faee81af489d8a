"""What instructions compute in f32 and f16: of each the values that it leaves, as far as they are kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.indexing import named
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder

MOST = 1 << 12
"""Values of one instruction that are kept."""

Floats = NDArray[np.float32]


class Computed(Struct, frozen=True, eq=False):
    """What was left.

    Attributes:
        values: address of an instruction -> the values that it left; in the order in which they were first executed.
        halves: addresses of those that leave f16.
    """

    values: Mapping[int, Floats]
    halves: frozenset[int]

    __repr__ = brief


class FloatRecorder(Recorder):
    """Records one launch."""

    def __init__(self) -> None:
        self._values: dict[int, list[Floats]] = {}
        self._left: dict[int, int] = {}
        self._pending: tuple[Cohort, Inst, list[Operand]] | None = None
        self._halves: set[int] = set()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._finish()

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        self._finish()

    def barrier(self, machine: Machine, groups: NDArray[np.int64]) -> None:
        """See Observer."""
        self._finish()

    def ended(self, c: Band) -> None:
        """See Observer."""
        self._finish()

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        self._finish()
        if inst.kind & (Kind.LOAD | Kind.STORE) or self._left.get(inst.pc, MOST) <= 0:
            return
        left = [
            o
            for half in inst.pair or (inst,)
            for o in named(half).dst
            if o.kind == "v" and _is_float(half, o)
        ]
        if left:
            self._pending = c, inst, left

    def _finish(self) -> None:
        if self._pending is None:
            return
        c, inst, operands = self._pending
        self._pending = None
        for operand in operands:
            for row in range(operand.index, operand.index + operand.regs):
                words = c.regs.vgprs[row][c.exec][: self._left.setdefault(inst.pc, MOST)]
                self._left[inst.pc] -= words.size
                self._values.setdefault(inst.pc, []).append(self._floats(inst, operand, words))

    def _floats(self, inst: Inst, operand: Operand, words: NDArray[np.uint32]) -> Floats:
        if operand.fmt == "F16":
            self._halves.add(inst.pc)
            return (words >> 16 * operand.hi).astype(np.uint16).view(np.float16).astype(np.float32)
        return words.copy().view(np.float32)

    def record(self) -> Computed:
        """See Recorder."""
        self._finish()
        values = {pc: np.concatenate(values) for pc, values in self._values.items()}
        return Computed(values, frozenset(self._halves))


def _is_float(inst: Inst, operand: Operand) -> bool:
    return operand.fmt in ("F16", "F32") or (Kind.MATRIX in inst.kind and "_f32_" in inst.name)
