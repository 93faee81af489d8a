"""What the loops of a kernel are left by: the numbers that their last comparisons hold against each other.

Where these are the same at every size, no size makes the loop go round more or less often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.flow import flow_of
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import CONDITIONS, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.bounds import COMPARES, sides_of

_MOST = 1 << 12
"""Pairs of a loop; one with more is given up, as if nothing were known of it."""


class LoopTests(Struct, frozen=True):
    """Attributes: pairs: header of a loop -> what was compared with what where it can be left; without loops of
    which that is not known."""

    pairs: Mapping[int, frozenset[tuple[int, int]]]

    __repr__ = brief


class LoopTestRecorder(Recorder):
    """Looks at comparisons in the blocks by which loops are left."""

    def __init__(self) -> None:
        self._loops: Mapping[int, Sequence[int]] = {}  # PC of a comparison -> headers
        self._pairs: dict[int, set[tuple[int, int]]] = {}
        self._lost: set[int] = set()

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._loops, undecided = _tests_of(program)
        self._lost |= undecided

    def stops(self, program: Program) -> frozenset[int]:
        """See Observer."""
        return frozenset(_tests_of(program)[0])

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        both = sides_of(c, inst)
        for header in self._loops.get(inst.pc, ()):
            pairs = self._pairs.setdefault(header, set())
            if both is None or len(pairs) > _MOST:
                self._lost.add(header)
            else:
                active = c.exec
                pairs |= set(zip(both[0][active].tolist(), both[1][active].tolist(), strict=True))

    def record(self) -> LoopTests:
        """See Recorder."""
        return LoopTests({at: frozenset(p) for at, p in self._pairs.items() if at not in self._lost})


@lru_cache(maxsize=4)
def _tests_of(program: Program) -> tuple[Mapping[int, Sequence[int]], frozenset[int]]:
    """PC of a comparison -> headers of the loops that it decides about, and loops that something else decides; kept
    for those that run now."""
    flow = flow_of(program)
    found: dict[int, list[int]] = {}
    lost = set()
    for header, body in flow.loops.items():
        for pc in body:
            block = flow.blocks[pc]
            if not block or block[-1].name not in CONDITIONS or set(flow.nexts[pc]) <= body:
                continue
            tests = [inst.pc for inst in block if COMPARES.match(inst.name)]
            if not tests:
                lost.add(header)
            for test in tests:
                found.setdefault(test, []).append(header)
    return found, frozenset(lost)
