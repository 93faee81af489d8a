"""Which instructions load from which buffer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.observe.base import Recorder


class LoadSites(Struct, frozen=True):
    """Where the buffers of a launch are loaded.

    Attributes:
        loads: name of an allocation -> the instructions that load from it, in the order of execution.
    """

    loads: Mapping[str, tuple[Inst, ...]]


class LoadSiteRecorder(Recorder):
    """Notes each instruction that loads from a buffer, once."""

    def __init__(self) -> None:
        self._loads: dict[str, dict[int, Inst]] = {}

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.LOADS

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if store or place.memory is not c.machine.arena:
            return
        for region in c.machine.arena.regions:
            known = self._loads.setdefault(region.name, {})
            if inst.pc not in known:
                at = place.offsets[np.broadcast_to(place.mask, place.offsets.shape)]
                if ((at >= region.start) & (at < region.end)).any():
                    known[inst.pc] = inst

    def record(self) -> LoadSites:
        """See Recorder."""
        return LoadSites({name: tuple(found.values()) for name, found in self._loads.items()})
