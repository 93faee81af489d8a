"""Where the lanes of flat and buffer instructions point, for those that move data and for atomics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.memory import BASE_ADDRESS, Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import (
    global_place,
    lds_base,
    lds_place,
    scratch_place,
    undefined_guard,
    vector_address,
)
from layoutprobe.semantics.operands import PRIVATE_APERTURE, SHARED_APERTURE, join64, reader
from layoutprobe.semantics.registry import UnsupportedFormError

Places = Callable[[Cohort], list[Addresses | None]]


def global_places(inst: Inst, size: int) -> Places:
    """The one place of a global access of that many bytes; raises for an undefined address."""
    offsets = vector_address(inst)
    guard = undefined_guard(inst, (inst.src[0], inst.src[-1]), "an address")

    def places(c: Cohort) -> list[Addresses | None]:
        guard(c)
        return [global_place(c, inst, offsets(c), size)]

    return places


def flat_places(inst: Inst, size: int) -> Places:
    """Places of a flat access: in global memory, and in LDS and scratch where a lane's address means these."""
    address = vector_address(inst, relative_to=0)
    guard = undefined_guard(inst, (inst.src[0],), "an address")
    atomic = Kind.ATOMIC in inst.kind

    def places(c: Cohort) -> list[Addresses | None]:
        guard(c)
        pointers = np.broadcast_to(address(c), c.exec.shape)
        upper = (pointers >> np.uint64(32)).astype(np.uint32)
        low = (pointers & np.uint64(0xFFFFFFFF)).astype(np.int64)
        shared, private = (upper == SHARED_APERTURE) & c.exec, (upper == PRIVATE_APERTURE) & c.exec
        offsets = pointers - np.uint64(BASE_ADDRESS)
        found: list[Addresses | None] = [global_place(c, inst, offsets, size, c.exec & ~shared & ~private)]
        if shared.any():
            with c.restricted(shared):
                found.append(lds_place(c, inst, lds_base(c, low), 0, size, atomic=atomic))
        if private.any():
            found.append(scratch_place(c, inst, low, size, private))
        return found

    return places


def buffer_reach(
    inst: Inst, vaddr: Operand, rsrc: Operand, soffset: Operand
) -> Callable[[Cohort], tuple[Array, Array]]:
    """Where a raw buffer access (stride 0) points: offsets in the arena, uint64, and the bytes left in range.

    The scalar offset counts for the address and not for the range (RDNA3 ISA guide, "Range checking").
    """
    if inst.mods.get("idxen"):
        raise UnsupportedFormError(f"{inst.name} with idxen (structured buffers)")
    if inst.mods.get("tfe"):
        raise UnsupportedFormError(f"{inst.name} with tfe")
    words = [reader(Operand("s", rsrc.index + j), "u32") for j in range(4)]
    lanes = reader(vaddr, "u32") if vaddr.kind != "none" else None
    scalar, offset = reader(soffset, "u32"), np.int64(inst.mods.get("offset", 0))
    guard = undefined_guard(inst, (vaddr, rsrc, soffset), "a buffer address")

    def reach(c: Cohort) -> tuple[Array, Array]:
        guard(c)
        low, high, records, _ = (w(c.regs) for w in words)
        if ((high >> np.uint32(16)) & np.uint32(0x3FFF)).any():
            raise fault(c, inst, "a structured buffer (stride not 0) is not supported", c.exec)
        at: Array = np.full((1, 1), offset) + (lanes(c.regs) if lanes is not None else 0)
        room = np.broadcast_to(records.astype(np.int64) - at, c.exec.shape)
        offsets = join64(low, high & np.uint32(0xFFFF)) + scalar(c.regs) + at.astype(np.uint64)
        return offsets - np.uint64(BASE_ADDRESS), room

    return reach


def buffer_places(inst: Inst, size: int) -> Places:
    """The one place of a buffer atomic; lanes beyond the range take no part."""
    reach = buffer_reach(inst, *inst.src[-3:])

    def places(c: Cohort) -> list[Addresses | None]:
        offsets, room = reach(c)
        return [global_place(c, inst, offsets, size, c.exec & (room >= size))]

    return places
