"""Which wave and lane it was."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.machine.machine import Machine


class Who(Struct, frozen=True):
    """A wave, or one lane of it.

    Attributes:
        workgroup: its id in x, y, z.
        wave: position of the wave in its workgroup.
        lane: None where all lanes are meant.
    """

    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None = None


def who_is(machine: Machine, wave: int, lane: int | None = None) -> Who:
    """The wave with this number in the batch that runs."""
    x, y, z = (int(i) for i in machine.waves.group_id[wave])
    return Who((x, y, z), int(machine.waves.index[wave]), lane)
