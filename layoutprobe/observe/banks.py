"""Which LDS addresses the lanes of a wave ask for together: the patterns that bank conflicts
depend on.

Addresses that differ by whole sweeps over the banks conflict alike, so a pattern is kept relative
to its lowest address, rounded down to 256 bytes (a sweep of 64 banks; two of 32). A loop then
repeats a handful of patterns, however large the problem is.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.who import Who, who_is

INACTIVE = -1
SWEEP = 256
PATTERN_LIMIT = 1 << 16
"""Patterns that are kept; accesses with others beyond them are only counted."""

Ints = NDArray[np.int64]


class BankSite(Struct, frozen=True, eq=False):
    """The accesses of one instruction. A 2addr form makes two accesses each time.

    Attributes:
        inst: the instruction.
        size: bytes per lane of one access.
        store: it writes.
        patterns: int32 [pattern, lane], byte addresses, INACTIVE where the lane takes no part.
        counts: int64 [pattern], how many times a wave made it.
        who: the first wave that made each.
    """

    inst: Inst
    size: int
    store: bool
    patterns: NDArray[np.int32]
    counts: Ints
    who: tuple[Who, ...]

    __repr__ = brief


class BankRecord(Struct, frozen=True):
    """All LDS accesses.

    Attributes:
        sites: in the order of their first access.
        dropped: accesses of waves whose pattern was not kept, or whose phases nobody knows.
    """

    sites: tuple[BankSite, ...]
    dropped: int

    __repr__ = brief


class _Site(Struct, eq=False):
    inst: Inst
    size: int
    store: bool
    numbers: dict[bytes, int] = field(default_factory=dict)  # pattern -> its number
    rows: list[NDArray[np.int32]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    who: list[Who] = field(default_factory=list)
    seen: dict[bytes, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """Digest of the addresses of a whole cohort -> its patterns' numbers, each with how often."""

    __repr__ = brief


class BankObserver(Recorder):
    """Collects the address patterns of every LDS access."""

    def __init__(self) -> None:
        self._sites: dict[tuple[int, int, bool], _Site] = {}
        self._kept = self._dropped = 0

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LDS

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is not c.machine.lds or Kind.ATOMIC in inst.kind:
            return  # atomics on one address take turns for another reason than banks
        if Kind.TRANSPOSE in inst.kind:
            self._dropped += len(c.waves)  # nobody has published its phases
            return
        site = self._sites.setdefault((inst.pc, size, store), _Site(inst, size, store))
        local = place.offsets - c.lds_base
        if not (c.full and place.mask is c.exec):
            local = np.where(place.mask, local, INACTIVE)
        digest = hashlib.blake2b(local.tobytes(), digest_size=16).digest()
        known = site.seen.get(digest)
        if known is None:
            if self._kept >= PATTERN_LIMIT:
                self._dropped += int((local >= 0).any(axis=1).sum())
                return
            known = site.seen[digest] = self._number(c, site, local)
        for number, times in known:
            site.counts[number] += times

    def record(self) -> BankRecord:
        """What was collected so far."""
        sites = [
            BankSite(s.inst, s.size, s.store, np.stack(s.rows), np.array(s.counts, np.int64), tuple(s.who))
            for s in self._sites.values()
            if s.rows
        ]
        return BankRecord(tuple(sites), self._dropped)

    def _number(self, c: Cohort, site: _Site, local: Ints) -> tuple[tuple[int, int], ...]:
        """Numbers of the patterns of a cohort's waves, with how many waves make each."""
        active = local >= 0
        lowest = np.where(active, local, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
        rows = np.where(active, local - lowest // SWEEP * SWEEP, INACTIVE).astype(np.int32)
        first: dict[bytes, int] = {}
        times = Counter[bytes]()
        for at, row in enumerate(rows):
            key = row.tobytes()
            first.setdefault(key, at)
            times[key] += 1
        numbered = []
        for key, at in sorted(first.items(), key=lambda pattern: rows[pattern[1]].tolist()):
            row = rows[at].copy()
            if (row == INACTIVE).all():
                continue
            if key not in site.numbers:
                site.numbers[key] = len(site.rows)
                site.rows.append(row)
                site.counts.append(0)
                site.who.append(who_is(c.machine, int(c.waves[at])))
                self._kept += 1
            numbered.append((site.numbers[key], times[key]))
        self._kept += 1
        return tuple(numbered)
