"""How far the check of a kernel is: what is done of its work, as a share of all.

The work is estimated before it is done. A size counts by the volume of the problem that observers look at, a check by
what it took of the time of the shipped kernels: the first that asks for the runs pays for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Program
from layoutprobe.manifest.model import Sizes

SIZES = 0.95
"""Share of the sizes of the manifest; the rest is a glance at others, and the search for causes."""
_LEAST = 4 << 20
"""Volume that a size costs whatever its extents are."""
_CHECKS = {"operand-provenance": 16.0, "numerics": 3.0, "epilogue": 1.0}
_OTHERS = 0.1
_RUNS = 0.9
"""Share of the launches in a check that makes any."""
_WATCHED = 0.9
"""Share of the workgroups that are looked at, which come first, in a launch of which the others are not."""
Step = Callable[[str, float], None]
"""Told what is about to be done, and what share of all is done."""


def volume(sizes: Sizes, looked_at: int, grid: Sequence[int]) -> float:
    """What a size counts: its extents' product, as far as the workgroups are that observers are told of.

    Args:
        sizes: extents by name.
        looked_at: workgroups that are looked at; 0 for all.
        grid: of the launch.
    """
    share = looked_at / max(1, prod(grid)) if looked_at else 1.0
    return _LEAST + prod(sizes.values()) * share


def launches_of(check: str, digits: int) -> int:
    """Launches that a check makes, about, where it is the first to ask; `digits` of the code that A and B carry."""
    return {"operand-provenance": digits + 2, "numerics": 3}.get(check, 1)


class Plan:
    """The checks of a kernel's sizes, one after the other."""

    def __init__(self, volumes: Sequence[float], checks: Sequence[str], step: Step) -> None:
        """Args: volumes: of the sizes; checks: that are applied to each; step: is told."""
        parts = [_CHECKS.get(name, _OTHERS) for name in checks]
        whole = sum(volumes) * sum(parts)
        self._parts = iter([SIZES * size * part / whole for size in volumes for part in parts])
        self._step, self._text = step, ""
        self._done = self._part = 0.0
        self._launches = self._launch = 0

    def next(self, text: str, launches: int) -> None:
        """The next check begins, which makes about that many launches unless others have made them."""
        self._done += self._part
        self._part = next(self._parts, 0.0)
        self._launches, self._launch, self._text = launches, 0, text
        self._step(text, self._done)

    def launched(self, groups: int, looked_at: int) -> Observer:
        """An observer for the next launch of the check, of so many workgroups; see `volume` for the others."""
        self._launch += 1
        return _Batches(self._launch - 1, groups, looked_at, self._within)

    def _within(self, launches: float) -> None:
        share = _RUNS * min(1.0, launches / max(1, self._launches))
        self._step(self._text, self._done + share * self._part)


class _Batches(Observer):
    """Counts workgroups of a launch as they come."""

    everywhere = True

    def __init__(self, before: int, groups: int, looked_at: int, tell: Callable[[float], None]) -> None:
        self._before, self._groups, self._looked_at = before, max(1, groups), looked_at
        self._tell, self._begun = tell, 0

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._tell(self._before + self._share())
        self._begun += int(machine.waves.workgroup.max(initial=-1)) + 1

    def _share(self) -> float:
        """How much of the launch is done."""
        if not self._looked_at:
            return self._begun / self._groups
        others = max(0, self._begun - self._looked_at) / max(1, self._groups - self._looked_at)
        return _WATCHED * min(1.0, self._begun / self._looked_at) + (1 - _WATCHED) * others
