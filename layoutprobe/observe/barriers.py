"""Which barrier each wave stood at when its workgroup was let go.

**Between signal and wait.** RDNA4 parts arriving at a barrier (s_barrier_signal) from waiting there
(s_barrier_wait). An access in between is ordered neither against what others do before the barrier
nor against what they do after it, and counts for both intervals. Late is what the signal finds pending.

**Barriers apart.** Hardware counts any s_barrier, so waves that stand at different ones let each
other go. Wave-specialised kernels do that on purpose. It is divergent where the waves that met at
X and Y also executed a common one of the two, and passed different numbers of barriers in all:
then one of them skipped a barrier that the other took. A wave that ended no longer counts.

**Barriers skipped.** A wave may end without having come to a barrier that others of its workgroup passed. That is
right where it has nothing to do with what they do behind it, which `races` can tell.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.machine import Machine
from layoutprobe.observe.who import Who, who_is


class ApartBarriers(Struct, frozen=True):
    """Waves of one workgroup let each other go from different s_barrier (RDNA4: s_barrier_wait) instructions.

    Attributes:
        here, there: the two instructions.
        waiting, elsewhere: a wave at each.
        passed: how many barriers these two waves passed in all.
        groups: how many workgroups it happened in.
    """

    here: Inst
    there: Inst
    waiting: Who
    elsewhere: Who
    passed: tuple[int, int]
    groups: int


class SkippedBarrier(Struct, frozen=True):
    """A barrier that some waves of a workgroup passed, and others never came to, which passed fewer in all.

    Attributes:
        inst: the barrier.
        passed, missed: waves of a workgroup by their positions there.
        shown: one that passed.
    """

    inst: Inst
    passed: frozenset[int]
    missed: frozenset[int]
    shown: Who

    def parts(self, one: Who, other: Who) -> Who | None:
        """Of two waves of a workgroup, one of which passed it: the other, which did not; None: no such two."""
        if one.wave in self.missed and other.wave in self.passed:
            return one
        return other if other.wave in self.missed and one.wave in self.passed else None


class BarrierWatch:
    """Counts barriers per wave, and notes where waves met apart.

    Attributes:
        passed_in_all: times a workgroup passed a barrier.
    """

    def __init__(self) -> None:
        self.passed_in_all = 0
        self._machine: Machine | None = None
        self._insts: dict[int, Inst] = {}
        self._found: dict[tuple[int, int], ApartBarriers] = {}
        self._alive: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._at: NDArray[np.int64] = np.zeros(0, np.int64)
        self._passed: NDArray[np.int64] = np.zeros(0, np.int64)
        self._visited: dict[int, NDArray[np.bool_]] = {}  # PC -> waves that passed it
        self._apart: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._skipped: dict[int, SkippedBarrier] = {}

    def batch(self, machine: Machine) -> None:
        """A new batch of workgroups; the last one has ended."""
        self._judge()
        waves = machine.waves.workgroup.size
        self._machine = machine
        self._alive = np.ones(waves, np.bool_)
        self._at, self._passed = np.zeros(waves, np.int64), np.zeros(waves, np.int64)
        self._visited, self._apart = {}, {}

    def arrived(self, waves: NDArray[np.int64], inst: Inst) -> None:
        """Waves execute a block that ends in this barrier."""
        self._insts[inst.pc] = inst
        self._at[waves] = inst.pc
        self._visited.setdefault(inst.pc, np.zeros(self._at.size, np.bool_))[waves] = True

    def ended(self, waves: NDArray[np.int64]) -> None:
        """Waves no longer count."""
        self._alive[waves] = False

    def released(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """These workgroups go on; gives their living waves."""
        assert self._machine is not None
        of_wave = self._machine.waves.workgroup
        waves = np.flatnonzero(self._alive & np.isin(of_wave, groups))
        self._passed[waves] += 1
        self.passed_in_all += len(groups)
        at = self._at[waves]
        if at.size and (at != at[0]).any():
            self._note(waves, at, of_wave[waves])
        return waves

    def _note(self, waves: NDArray[np.int64], at: NDArray[np.int64], groups: NDArray[np.int64]) -> None:
        _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        leader = first[inverse]
        for i in np.flatnonzero(at != at[leader]):
            j = leader[i]
            key = (int(groups[i]), int(at[j]), int(at[i]))
            self._apart.setdefault(key, (int(waves[j]), int(waves[i])))

    def _judge(self) -> None:
        """Which of the meetings were divergent, now that all waves have ended."""
        for (_, here, there), (a, b) in self._apart.items():
            skipped = self._visited[there][a] or self._visited[here][b]
            if not skipped or self._passed[a] == self._passed[b]:
                continue
            assert self._machine is not None
            passed = (int(self._passed[a]), int(self._passed[b]))
            known = self._found.get((here, there))
            waiting, elsewhere = (known.waiting, known.elsewhere) if known else (
                who_is(self._machine, a), who_is(self._machine, b))  # fmt: skip
            self._found[here, there] = ApartBarriers(
                self._insts[here],
                self._insts[there],
                waiting,
                elsewhere,
                known.passed if known else passed,
                known.groups + 1 if known else 1,
            )
        self._apart = {}
        for pc, visited in self._visited.items():
            if pc not in self._skipped and not visited.all():
                self._skip(pc, visited)

    def _skip(self, pc: int, visited: NDArray[np.bool_]) -> None:
        """Note the first workgroup in which waves parted at a barrier for good."""
        assert self._machine is not None
        groups = self._machine.waves.workgroup
        came = np.bincount(groups, visited)
        for group in np.flatnonzero((came > 0) & (came < np.bincount(groups))).tolist():
            passed, missed = (np.flatnonzero((groups == group) & mask) for mask in (visited, ~visited))
            missed = missed[self._passed[missed] < self._passed[passed].min()]
            if missed.size:
                here, gone = (frozenset(self._machine.waves.index[w].tolist()) for w in (passed, missed))
                shown = who_is(self._machine, int(passed[0]))
                self._skipped[pc] = SkippedBarrier(self._insts[pc], here, gone, shown)
                return

    def skipped(self) -> tuple[SkippedBarrier, ...]:
        """One for each barrier."""
        self._judge()
        return tuple(self._skipped.values())

    def divergent(self) -> tuple[ApartBarriers, ...]:
        """See `ApartBarriers`; one per pair of instructions."""
        self._judge()
        return tuple(self._found.values())
