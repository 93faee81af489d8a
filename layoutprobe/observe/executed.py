"""Which instructions of a kernel were executed at all."""

from __future__ import annotations

from dataclasses import dataclass

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.program import Block
from layoutprobe.observe.base import Recorder


@dataclass(frozen=True, eq=False)
class Executed:
    """What ran.

    Attributes:
        insts: every instruction that was reached, once each, in the order of the code. Whether lanes
            were active there is not known.
    """

    insts: tuple[Inst, ...]

    __repr__ = brief


class ExecutionRecorder(Recorder):
    """Remembers which basic blocks were entered."""

    def __init__(self) -> None:
        self._blocks: set[Block] = set()

    def block(self, c: Cohort, block: Block) -> None:
        """See Observer."""
        self._blocks.add(block)

    def record(self) -> Executed:
        """See Recorder."""
        reached = {inst.pc: inst for block in self._blocks for inst in block.listing}
        return Executed(tuple(reached[pc] for pc in sorted(reached)))
