"""What orders the accesses of waves to global memory: barriers, counters and flags, waits and fences.

Every wave has a time of its own, and a vector clock says up to which time it knows the accesses of the
others. Clocks travel as on the cards (LLVM AMDGPUUsage, "Memory Model GFX10-GFX11", "GFX12", "GFX942"):

* A store is **done** once its wave has waited for stores. What is not done, no barrier and no signal
  announces. Loads are done when they are issued, for their values are needed before anything follows.
* A **barrier** joins the clocks of its workgroup.
* A store or atomic **publishes** the clock of its wave at its address; an atomic adds to what is there.
* An atomic that returns, or a load that bypasses the caches, **acquires** what is published there.
* What was acquired is **seen**, which is enough to overwrite it. To load it, the caches must be
  invalidated afterwards: first the one that workgroups share (GL1), then the one of the CU (GL0).

In CU mode the waves of a workgroup share one cache, so that a barrier alone orders their accesses.
That a wave looks at what an acquire returned is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.isa import Counting
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.counters import waits

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

SEEN, SHARED, KNOWN = 0, 1, 2
"""How far what others did has come: to the wave; past the cache that workgroups share; past that of the CU."""
MAX_CLOCK_BYTES = 256 << 20
"""Bytes of published clocks that are kept."""
_AGENT = 2
"""Scope of RDNA4 from which on workgroups on other CUs are meant."""
_DONE = "stores are done"
_VIA = {"buffer_gl1_inv": (SHARED,), "buffer_gl0_inv": (KNOWN,), "buffer_wbinvl1_vol": (SHARED, KNOWN),
        "buffer_inv": (SHARED, KNOWN)}  # fmt: skip


def effects(inst: Inst, counting: Counting) -> tuple[str | int, ...]:
    """What a wait or a fence does: `_DONE`, and levels to which what was seen comes, in order."""
    if Kind.WAIT in inst.kind:
        return (_DONE,) if waits(inst, counting).get(counting.stores) == 0 else ()
    if Kind.CACHE not in inst.kind:
        return ()
    if inst.name == "global_inv":
        scope = inst.mods.get("scope", 0)
        return (SHARED, KNOWN) if scope >= _AGENT else (KNOWN,) if scope else ()
    return _VIA.get(inst.name, ())


def is_of_card(inst: Inst) -> bool:
    """Whether a fence is for other workgroups: that of a barrier is for its own."""
    if inst.name in ("global_inv", "global_wb"):
        return bool(inst.mods.get("scope", 0) >= _AGENT)
    return SHARED in _VIA.get(inst.name, ()) or inst.name.startswith("buffer_wb")


def coherent(load: Inst) -> bool:
    """A load that takes its value from behind the caches, as the wait for a flag does."""
    if "scope" in load.mods:
        return load.mods["scope"] >= _AGENT
    return bool(load.mods.get("glc") or load.mods.get("sc1"))


class Order:
    """The clocks of all waves of a launch.

    Attributes:
        group: int64 [wave], number of its workgroup in the launch.
        complete: False where more clocks were published than are kept.
    """

    def __init__(self, counting: Counting, *, one_cache: bool) -> None:
        self.group: Ints = np.zeros(0, np.int64)
        self.complete = True
        self._counting, self._one_cache = counting, one_cache
        self._first = 0  # wave of the batch
        self._index: Ints = np.zeros(0, np.int64)  # [wave], position in its workgroup
        self._time, self._done = np.zeros((2, 0), np.int64)  # [wave]
        self._open: Mask = np.zeros(0, np.bool_)  # stores are not done
        self._own: Ints = np.zeros((3, 0, 1), np.int64)  # [level, wave of the batch, position]: by barriers
        self._far: dict[int, list[Ints]] = {}  # wave -> per level, [wave]: by what was acquired
        self._clocks: list[Ints] = [np.zeros(0, np.int64)]
        self._joined: dict[tuple[int, int], int] = {}
        self._last: dict[
            int, tuple[int, bytes, Ints | None, int]
        ] = {}  # what a wave published, and its number
        self._bytes = 0

    def batch(self, group: Ints, index: Ints) -> None:
        """More waves: the number of their workgroup in the launch, and their position in it."""
        self._first = self.group.size
        self.group, self._index = (
            np.concatenate(pair) for pair in ((self.group, group), (self._index, index))
        )
        fresh = np.zeros(group.size, np.int64)
        self._time, self._done = np.concatenate([self._time, fresh]), np.concatenate([self._done, fresh])
        self._open = np.concatenate([self._open, fresh > 0])
        self._own = np.zeros((3, group.size, int(index.max(initial=0)) + 1), np.int64)
        self._far.clear()
        self._last.clear()

    # What a wave does by itself.

    def apply(self, waves: Ints, inst: Inst) -> None:
        """A wait or a fence."""
        for effect in effects(inst, self._counting):
            if isinstance(effect, str):
                self._close(waves[self._open[waves]])
                continue
            here = waves - self._first
            self._own[effect, here] = np.maximum(self._own[effect, here], self._own[effect - 1, here])
            for wave in self._far.keys() & set(waves.tolist()) if self._far else ():
                self._far[wave][effect] = self._far[wave][effect - 1]

    def _close(self, waves: Ints) -> None:
        """All that these waves did so far is done."""
        self._time[waves] += 1
        self._done[waves] = self._time[waves]
        self._open[waves] = False

    def load(self, waves: Ints) -> Ints:
        """The times of a load."""
        return np.asarray(self._time[waves])

    def store(self, waves: Ints, *, returns: bool = False) -> Ints:
        """The times of a store, or of an atomic."""
        self._close(waves[~self._open[waves]])
        if not returns:
            self._open[waves] = True
        return np.asarray(self._time[waves])

    def barrier(self, groups: Ints) -> None:
        """The waves of these workgroups of the launch meet."""
        waves = self._first + np.flatnonzero(np.isin(self.group[self._first :], groups))
        self._close(waves[~self._open[waves]])
        here, group = waves - self._first, self.group[waves]
        low = int(group.min(initial=0))
        for level in (SEEN, SHARED, *((KNOWN,) if self._one_cache else ())):
            own = self._own[level]
            reached = self._time[waves] + 1 if level == KNOWN else self._done[waves]
            own[here, self._index[waves]] = np.maximum(own[here, self._index[waves]], reached)
            most = np.zeros((int(group.max(initial=0)) - low + 1, own.shape[1]), np.int64)
            np.maximum.at(most, group - low, own[here])
            own[here] = most[group - low]
        if self._far:
            self._share(waves)
        if self._one_cache:
            self._time[waves] += 1

    def _share(self, waves: Ints) -> None:
        """What one wave acquired, its workgroup has after a barrier."""
        levels = (SEEN, SHARED, KNOWN) if self._one_cache else (SEEN, SHARED)
        for group in {int(self.group[w]) for w in self._far.keys() & set(waves.tolist())}:
            members = [int(w) for w in waves[self.group[waves] == group]]
            having = [self._far[w] for w in members if w in self._far]
            for level in levels:
                joint = _join(clocks[level] for clocks in having)
                for wave in members:
                    self._far_of(wave)[level] = joint

    # Between waves.

    def publish(self, wave: int) -> int:
        """What a store or atomic of a wave announces, by its number; after `store`."""
        own, far = self._own[SEEN, wave - self._first], self._far.get(wave)
        seen = far[SEEN] if far else None
        done, state = int(self._done[wave]), own.tobytes()
        last = self._last.get(wave)
        if last and last[:2] == (done, state) and last[2] is seen:
            return last[3]
        clock = np.zeros(self.group.size, np.int64)
        if seen is not None:
            clock[: seen.size] = seen
        group = self._first + np.flatnonzero(self.group[self._first :] == self.group[wave])
        clock[group] = np.maximum(clock[group], own[self._index[group]])
        clock[wave] = done
        number = self._keep(clock)
        self._last[wave] = (done, state, seen, number)
        return number

    def join(self, one: int, other: int) -> int:
        """What stands where an atomic adds to what was published."""
        if one in (0, other):
            return other
        key = (one, other)
        if key not in self._joined:
            self._joined[key] = self._keep(_join((self._clocks[one], self._clocks[other])))
        return self._joined[key]

    def acquire(self, wave: int, published: int) -> None:
        """A wave takes what was published by its number; 0 is nothing."""
        if published:
            clocks = self._far_of(wave)
            clocks[SEEN] = _join((clocks[SEEN], self._clocks[published]))

    def ordered(self, first: Ints, times: Ints, second: Ints, level: int) -> Mask:
        """Whether what waves did at these times lies before what other waves do now: all [access]."""
        fine = first == second
        near = ~fine & (self.group[first] == self.group[second])
        at, place = second[near] - self._first, self._index[first[near]]
        reached = self._own[KNOWN, at, place]
        if level != KNOWN:
            reached = np.maximum(reached, self._own[level, at, place])
        fine[near] = reached > times[near]
        for wave in self._far.keys() & set(np.unique(second[~fine]).tolist()) if self._far else ():
            mine = ~fine & (second == wave)
            clock = self._far[wave][level]
            inside = first[mine] < clock.size
            reached = np.where(inside, clock[np.minimum(first[mine], clock.size - 1)] if clock.size else 0, 0)
            fine[mine] = reached > times[mine]
        return np.asarray(fine)

    def heard(self, first: int, second: int) -> bool:
        """The second wave has acquired something that the first one's workgroup announced, sooner or later."""
        clocks = self._far.get(second)
        return clocks is not None and bool(
            clocks[SEEN][self.group[: clocks[SEEN].size] == self.group[first]].any()
        )

    def _far_of(self, wave: int) -> list[Ints]:
        return self._far.setdefault(wave, [self._clocks[0]] * 3)

    def _keep(self, clock: Ints) -> int:
        if self._bytes > MAX_CLOCK_BYTES:
            self.complete = False
            return 0
        self._bytes += clock.nbytes
        self._clocks.append(clock)
        return len(self._clocks) - 1


def _join(clocks: Iterable[Ints]) -> Ints:
    """The later of all; the longest decides the size."""
    given = sorted(clocks, key=lambda clock: clock.size)
    joint = given[-1]
    for clock in given[:-1]:
        if clock.size and clock is not joint:
            joint = joint.copy()
            joint[: clock.size] = np.maximum(joint[: clock.size], clock)
    return joint
