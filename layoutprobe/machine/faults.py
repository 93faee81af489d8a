"""How a fault of the kernel reads, worded from what is at hand where it happens.

That is the instruction and the lanes. The kernel's name and the source line are added by whoever knows the
program (`Program.located`).
"""

from __future__ import annotations

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import LaunchFacts
from layoutprobe.machine.memory import BASE_ADDRESS, Region
from layoutprobe.machine.registers import Array
from layoutprobe.place import Place

_NULL_PAGE = 4096
NO_ADDRESS = "no address of the device"
"""What is told of an address that nothing of a device comes near to."""


class StrayError(ExecutionError):
    """A global access that lies in no allocation.

    Attributes:
        lanes: int64 [lane], where the lanes of its wave point: bytes of the arena.
        active: bool [lane], those that take part.
        wave: number of the wave in the batch.
        region: the allocation that is nearest.
        size: bytes of the access.
    """

    lanes: Array
    active: Array
    wave: int
    region: Region
    size: int


def fault(
    c: Cohort,
    inst: Inst,
    what: str,
    bad: Array,
    *,
    address: Array | None = None,
    expected: str | None = None,
    hint: str | None = None,
    kind: str = "",
) -> ExecutionError:
    """The error for the first lane that is set in `bad`; for `kind` see ExecutionError."""
    observed = None if address is None else f"byte address {_first(c, address, bad)}"
    place = _place(c, inst, bad)
    return ExecutionError(what, place=place, expected=expected, observed=observed, hint=hint, kind=kind)


def global_fault(c: Cohort, inst: Inst, offsets: Array, size: int, bad: Array) -> ExecutionError:
    """The error for a global access that is in no allocation."""
    first = _first(c, offsets, bad)
    at = BASE_ADDRESS + first
    arena = c.machine.arena
    region, size_of_arena = arena.nearest(first), arena.data.bytes.size
    hint = "check the index computation and the bounds test on the path to this line"
    if 0 <= at < _NULL_PAGE:
        hint = (
            _null_hint(c.machine.facts)
            or "look where the pointer comes from: it is null, or an offset from null"
        )
    elif not 0 <= first < size_of_arena:
        hint = "look where the pointer comes from: memory of the host has to be copied, or come from hipHostMalloc"
    kind = "global-load" if Kind.LOAD in inst.kind else "global-store"
    what = f"global access of {size} bytes outside every allocation"
    expected = f"an address inside {region.name} ({region.end - region.start} bytes), the nearest allocation"
    for region in (one for one in arena.freed if one.start <= first < one.end):
        what = f"global access of {size} bytes in memory that was freed"
        expected = f"{region.name} ({region.end - region.start} bytes) still to be allocated"
        hint = "free it behind the last launch that uses it"
    error = StrayError(
        what,
        place=_place(c, inst, bad),
        expected=expected,
        observed=f"address {at & 0xFFFF_FFFF_FFFF_FFFF:#x}: {_distance(region, first, size_of_arena)}",
        hint=hint,
        kind=kind,
    )
    position = int(np.argwhere(np.broadcast_to(bad, c.exec.shape))[0][0])
    error.lanes = np.broadcast_to(offsets, c.exec.shape)[position].astype(np.int64)
    error.active = c.exec[position].copy()
    error.wave, error.region, error.size = int(c.waves[position]), region, size
    return error


def _place(c: Cohort, inst: Inst, bad: Array) -> Place:
    """The instruction, and workgroup, wave and lane of the first lane that is set in `bad`."""
    position, lane = (int(x) for x in np.argwhere(np.broadcast_to(bad, c.exec.shape))[0])
    waves, wave = c.machine.waves, int(c.waves[position])
    x, y, z = (int(i) for i in waves.group_id[wave])
    index = int(waves.index[wave])
    return Place(pc=inst.pc, instruction=inst.name, workgroup=(x, y, z), wave=index, lane=lane)


def _first(c: Cohort, values: Array, bad: Array) -> int:
    """The value of the first lane that is set in `bad`."""
    return int(np.broadcast_to(values, c.exec.shape)[np.broadcast_to(bad, c.exec.shape)][0])


def _null_hint(facts: LaunchFacts) -> str:
    """What a null pointer may stand for in this kernel, "" for nothing."""
    if not facts.null:
        return ""
    return (
        f"this may be {', '.join(facts.null)}, which the emulator does not make: printf, assert "
        "and malloc need a host"
    )


def _distance(region: Region, offset: int, size: int) -> str:
    at = BASE_ADDRESS + offset
    if 0 <= at < _NULL_PAGE:
        return f"{at} bytes from a null pointer" if at else "a null pointer"
    if not 0 <= offset < size:
        return NO_ADDRESS
    if offset < region.start:
        return f"{region.start - offset} bytes before its start"
    if offset < region.end:
        return f"it starts {region.end - offset} bytes before its end"
    return f"{offset - region.end} bytes past its end"
