"""What of a kernel's code ran: which blocks, from which block each was entered, and how often loops went round."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.flow import Flow, flow_of
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import Walk
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder

_VECTOR = ("v_", "ds_", "global_", "flat_", "buffer_", "scratch_")
START = -1
"""Where a wave comes from that has just been launched."""


class Coverage(Struct, frozen=True, eq=False, dict=True):
    """What ran in one launch, or in several of one kernel.

    Attributes:
        flow: all there is.
        blocks: those that were executed. One that only vector instructions fill, and that leaves EXEC as it is,
            counts where some lane was active.
        edges: pairs of addresses of blocks that a wave executed one after the other; START before the first.
        passes: header of a loop -> how often waves executed it, from one entry of the loop to the next.
    """

    flow: Flow
    blocks: frozenset[int]
    edges: frozenset[tuple[int, int]]
    passes: Mapping[int, frozenset[int]]

    __repr__ = brief

    @cached_property
    def ran(self) -> tuple[tuple[Inst, ...], ...]:
        """Every block that was executed, in the order of the code."""
        return tuple(self.flow.blocks[pc] for pc in sorted(self.blocks))

    @cached_property
    def insts(self) -> tuple[Inst, ...]:
        """Every instruction that was reached, once each, in the order of the code."""
        return tuple(inst for block in self.ran for inst in block)

    @property
    def ways(self) -> Ways:
        """The same without numbers of passes, to compare and to look up."""
        return Ways(self.flow, self.blocks, self.edges)

    def __or__(self, other: Coverage) -> Coverage:
        """Both together; they are of one kernel."""
        none: frozenset[int] = frozenset()
        headers = self.passes.keys() | other.passes.keys()
        passes = {pc: self.passes.get(pc, none) | other.passes.get(pc, none) for pc in headers}
        return Coverage(self.flow, self.blocks | other.blocks, self.edges | other.edges, passes)


class Ways(Struct, frozen=True):
    """Which ways waves went, however often: equal where these are the same. Fields are those of `Coverage`."""

    flow: Flow
    blocks: frozenset[int]
    edges: frozenset[tuple[int, int]]

    @property
    def coverage(self) -> Coverage:
        """What ran, without numbers of passes."""
        return Coverage(self.flow, self.blocks, self.edges, {})


class CoverageRecorder(Recorder):
    """Follows every wave from block to block."""

    def __init__(self) -> None:
        self._flow: Flow | None = None
        self._run: set[int] = set()
        self._from: dict[int, NDArray[np.bool_]] = {}  # block -> the blocks before it, by number + 1
        self._inside: dict[int, NDArray[np.bool_]] = {}  # header -> the blocks of its loop, by number + 1
        self._passes: dict[int, NDArray[np.int64]] = {}  # header -> passes of each wave, 0 outside
        self._seen: dict[int, set[int]] = {}

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._settle()
        flow = self._flow = flow_of(program)
        waves = len(machine.waves.index)
        self._last = np.zeros(waves, np.int64)  # number + 1 of the block that each wave is in
        at = {pc: number for number, pc in enumerate(flow.blocks)}
        self._passes = {at[pc]: np.zeros(waves, np.int64) for pc in flow.loops}
        if not self._inside:
            for pc, body in flow.loops.items():
                inside = self._inside[at[pc]] = np.zeros(len(at) + 1, np.bool_)
                inside[[at[each] + 1 for each in body]] = True

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        assert self._flow is not None
        here = self._flow.number[block]
        before = self._last[c.waves]
        self._last[c.waves] = here + 1
        seen = self._from.get(here)
        if seen is None:
            seen = self._from[here] = np.zeros(len(self._flow.number) + 1, np.bool_)
        seen[before] = True
        if here not in self._run and (c.full or _needs_no_lane(block) or c.exec.any()):
            self._run.add(here)
        passes = self._passes.get(here)
        if passes is not None:
            goes_on = self._inside[here][before]
            done = passes[c.waves]
            if not goes_on.all():
                self._note(here, done[~goes_on])
                done *= goes_on
            passes[c.waves] = done + 1

    def walked(self, machine: Machine, walk: Walk) -> None:
        """See Observer."""
        assert self._flow is not None
        number = self._flow.number
        here = np.array([*(number[block] + 1 for block in walk.blocks), 0])[walk.steps]
        before = np.zeros_like(here)
        before[:, 1:] = here[:, :-1]
        entered = np.zeros((len(number) + 1, len(number) + 1), np.bool_)  # [block, block before it]
        entered[here, before] = True
        active = np.zeros(len(number) + 1, np.bool_)
        active[here[walk.active]] = True
        for block in walk.blocks:
            at = number[block]
            if not entered[at + 1].any():
                continue
            self._from[at] = self._from.get(at, False) | entered[at + 1]
            if active[at + 1] or _needs_no_lane(block):
                self._run.add(at)
        for header, inside in self._inside.items():
            begun = np.flatnonzero(~inside[before[here == header + 1]])  # wave after wave
            self._note(header, np.diff(begun, append=np.count_nonzero(here == header + 1)))

    def _note(self, header: int, passes: NDArray[np.int64]) -> None:
        self._seen.setdefault(header, set()).update(passes[passes > 0].tolist())

    def _settle(self) -> None:
        """Count the passes of the waves that have come to their end."""
        for header, passes in self._passes.items():
            self._note(header, passes)
            passes[:] = 0

    def record(self) -> Coverage | None:
        """See Recorder. None where the launch never began."""
        if self._flow is None:
            return None
        self._settle()
        pcs = tuple(self._flow.blocks)
        edges = frozenset(
            (pcs[number - 1] if number else START, pcs[here])
            for here, seen in self._from.items()
            for number in np.flatnonzero(seen).tolist()
        )
        passes = {pcs[at]: frozenset(counts) for at, counts in self._seen.items() if counts}
        return Coverage(self._flow, frozenset(pcs[at] for at in self._run), edges, passes)


@lru_cache(maxsize=1024)
def _needs_no_lane(block: Block) -> bool:
    """What it does does not hang on the lanes that are active when it begins."""
    return any(Kind.MATRIX in inst.kind or _writes_exec(inst) for inst in block.listing) or not any(
        inst.name.startswith(_VECTOR) for inst in block.listing
    )


def _writes_exec(inst: Inst) -> bool:
    named = any(register in (EXEC_LO, EXEC_HI) for operand in inst.dst for register in operand.registers())
    return named or "saveexec" in inst.name or inst.name.startswith("v_cmpx")
