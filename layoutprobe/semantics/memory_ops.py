"""Loads and stores: LDS, global, flat, scratch, buffer and scalar memory.

One access serves all lanes of a cohort: addresses are checked first (in range, aligned, defined),
then gathered or scattered together. Data and undefined bits travel the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import BASE_ADDRESS, Memory, Region
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.operands import (
    PRIVATE_APERTURE,
    SHARED_APERTURE,
    define,
    join64,
    reader,
    register_mask,
    settle,
)
from layoutprobe.semantics.registry import Executor, UnsupportedForm, register_binder


@dataclass(frozen=True)
class Width:
    """How one access moves bits between memory and registers.

    Attributes:
        size: bytes.
        signed: sign-extend to 32 bits.
        half: None, or the register half (0 low, 1 high) that a D16 form reads or writes.
    """

    size: int
    signed: bool = False
    half: int | None = None


WIDTHS = {
    "u8": Width(1), "i8": Width(1, True), "u16": Width(2), "i16": Width(2, True), "b8": Width(1), "b16": Width(2),
    "b32": Width(4), "b64": Width(8), "b96": Width(12), "b128": Width(16),
    "d16_u8": Width(1, False, 0), "d16_i8": Width(1, True, 0), "d16_b16": Width(2, False, 0),
    "d16_hi_u8": Width(1, False, 1), "d16_hi_i8": Width(1, True, 1), "d16_hi_b16": Width(2, False, 1),
    "d16_hi_b8": Width(1, False, 1),
    "u8_d16": Width(1, False, 0), "u8_d16_hi": Width(1, False, 1), "i8_d16": Width(1, True, 0),
    "i8_d16_hi": Width(1, True, 1), "u16_d16": Width(2, False, 0), "u16_d16_hi": Width(2, False, 1),
    "b8_d16_hi": Width(1, False, 1), "b16_d16_hi": Width(2, False, 1),
}  # fmt: skip
"""Suffix of the mnemonic -> width."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where the lanes of one access point: a memory and checked byte offsets in it.

    Attributes:
        memory: the memory.
        offsets: int64 [wave, lane]; inactive lanes point at byte 0.
        low_bits: bitwise or of the offsets.
        mask: bool [wave, lane], lanes that access.
        region: global memory: the one allocation that all lanes hit, if it is one.
    """

    memory: Memory
    offsets: Array
    low_bits: int
    mask: Array
    region: Region | None = None


def load_into(c: Cohort, place: Place, width: Width, target: Operand, first: int = 0) -> None:
    """Load into the VGPRs of `target` from its register number `first` on."""
    index = target.index + first
    data = place.memory.data.gather(place.offsets, width.size, place.low_bits)
    _write_loaded(c, index, data, width, c.regs.u, c.regs.h, place.mask)
    undefined = None
    if place.memory.tracked:
        undefined = place.memory.shadow.gather(place.offsets, width.size, place.low_bits)
        if not undefined.any():
            undefined = None
    registers = range(256 + index, 256 + index + (width.size + 3) // 4)
    if undefined is None:
        if not any(c.undef >> r & 1 for r in registers):
            return
        undefined = np.zeros_like(data)
    _write_loaded(c, index, undefined, width, c.shadow.u, c.shadow.h, place.mask)
    for register in registers:
        settle(c, register)


def _write_loaded(
    c: Cohort, index: int, values: Array, width: Width, words: list[Array], halves: list[Array], mask: Array
) -> None:
    """Write uint32 [wave, lane, dword] to registers or their shadows."""
    if width.signed:
        shift = np.int32(32 - 8 * width.size)
        values = ((values.view(np.int32) << shift) >> shift).view(np.uint32)
    full = c.full and mask is c.exec
    if width.half is not None:
        target = halves[index][:, width.half :: 2]
        np.copyto(target, values[..., 0].astype(np.uint16), where=True if full else mask)
        return
    for j in range(values.shape[-1]):
        if full:
            words[index + j][...] = values[..., j]
        else:
            np.copyto(words[index + j], values[..., j], where=mask)


def store_from(c: Cohort, place: Place, width: Width, data: Operand, first: int = 0) -> None:
    """Store the VGPRs of `data` from its register number `first` on."""
    index = data.index + first
    count = (width.size + 3) // 4
    values = [_stored(c.u[index + j], width) for j in range(count)]
    undefined: list[Array] | None = None
    if any(c.undef >> (256 + index + j) & 1 for j in range(count)):
        undefined = [_stored(c.shadow.u[index + j], width) for j in range(count)]
        if not any(u.any() for u in undefined):
            undefined = None
    offsets = place.offsets
    if not (c.full and place.mask is c.exec):
        offsets = offsets[place.mask]
        values = [v[place.mask] for v in values]
        undefined = [u[place.mask] for u in undefined] if undefined else None
    place.memory.data.scatter(offsets, width.size, place.low_bits, values)
    if undefined is not None:
        place.memory.tracked = True
        place.memory.shadow.scatter(offsets, width.size, place.low_bits, undefined)
    elif place.memory.tracked:
        zeros = [np.zeros(offsets.shape, np.uint32)] * count
        place.memory.shadow.scatter(offsets, width.size, place.low_bits, zeros)


def _stored(word: Array, width: Width) -> Array:
    return word >> np.uint32(16) if width.half else word


# Where lanes point.

Placer = Callable[[Cohort, int, int], "Place | None"]
"""(cohort, extra offset, access size) -> place, or None when no lane is active."""


def refuse_undefined(c: Cohort, inst: Inst, operands: tuple[Operand, ...], what: str) -> None:
    """An undefined value may not reach an address."""
    for operand in operands:
        mask = register_mask(operand)
        if not c.undef & mask:
            continue
        for register in operand.registers():
            if not c.undef >> register & 1:
                continue
            bits = c.shadow.u[register - 256] if register >= 256 else c.shadow.su[register]
            bad = np.broadcast_to(bits != 0, c.exec.shape) & c.exec
            if bad.any():
                raise c.machine.fault(c, inst, f"an undefined value is used as {what}", bad,
                                      hint="initialise it on every path that leads here")  # fmt: skip


def masked(c: Cohort, offsets: Array) -> Array:
    """Offsets with those of inactive lanes at 0."""
    full = np.broadcast_to(offsets, c.exec.shape)
    return full if c.full else np.where(c.exec, full, 0)


def lds_place(c: Cohort, inst: Inst, addresses: Array, size: int, natural: int) -> Place | None:
    """Check LDS byte addresses (uint32 or int64 [wave, lane]) and place them.

    Args:
        natural: alignment that the access needs, in bytes. Source: RDNA3 ISA guide, LDS
            "Alignment and Errors": natural up to 16 bytes.
    """
    machine = c.machine
    offsets = masked(c, addresses.astype(np.int64))
    low_bits = int(np.bitwise_or.reduce(offsets, axis=None))
    # The bitwise or is an upper bound of the largest: usually one reduction does.
    if low_bits + size > machine.lds_size or low_bits < 0:
        beyond = (offsets + size > machine.lds_size) & c.exec
        if beyond.any():
            raise machine.fault(c, inst, f"LDS access of {size} bytes beyond the allocation", beyond,
                                address=offsets, expected=f"byte addresses below {machine.lds_size}",
                                hint="check the LDS index, its stride, and dynamic LDS at launch")  # fmt: skip
    if low_bits & natural - 1:
        crooked = (offsets & natural - 1 != 0) & c.exec
        if crooked.any():
            raise machine.fault(c, inst, f"misaligned LDS access of {size} bytes", crooked, address=offsets,
                                expected=f"a multiple of {natural}",
                                hint="align the LDS row stride, or load narrower vectors")  # fmt: skip
    if not c.full and not c.exec.any():
        return None
    return Place(machine.lds, offsets + c.lds_base, low_bits, c.exec)


def global_place(c: Cohort, inst: Inst, addresses: Array, size: int, mask: Array | None = None) -> Place | None:
    """Check global addresses (uint64 [wave, lane]) and place them."""
    machine, mask = c.machine, c.exec if mask is None else mask
    full = c.full and mask is c.exec
    if not full and not mask.any():
        return None
    offsets = (np.broadcast_to(addresses, c.exec.shape) - np.uint64(BASE_ADDRESS)).view(np.int64)
    if not full:
        # Inactive lanes repeat an active one: in range, and no guard against them is needed.
        offsets = np.where(mask, offsets, offsets[mask][0])
    region = machine.arena.common_region(offsets, size)
    outside = None if region else machine.arena.outside(offsets, size)
    if outside is not None and (outside & mask).any():
        raise machine.global_fault(c, inst, offsets, size, outside & mask)
    low_bits = int(np.bitwise_or.reduce(offsets, axis=None))
    need = min(size, 4)
    if low_bits & need - 1 and inst.name.find("atomic") >= 0:
        raise machine.fault(c, inst, f"misaligned atomic of {size} bytes", mask)
    return Place(machine.arena, offsets, low_bits, mask, region)


def refuse_readonly(c: Cohort, inst: Inst, place: Place) -> None:
    """A store may not hit code, constants or the kernel's arguments."""
    arena = c.machine.arena
    hit = [place.region] if place.region else [arena.region_at(int(o)) for o in np.unique(place.offsets[place.mask])]
    for region in hit:
        if region is not None and not region.writable:
            inside = (place.offsets >= region.start) & (place.offsets < region.end) & place.mask
            raise c.machine.fault(c, inst, f"store into {region.name}, which is read-only", inside,
                                  hint="check the pointer that this line stores through")  # fmt: skip


def scratch_place(c: Cohort, inst: Inst, addresses: Array, size: int, mask: Array | None = None) -> Place | None:
    """Check scratch byte offsets of a lane (int64 [wave, lane]) and place them."""
    machine, mask = c.machine, c.exec if mask is None else mask
    offsets = np.where(mask, np.broadcast_to(addresses, c.exec.shape), 0)
    beyond = ((offsets < 0) | (offsets + size > machine.scratch_size)) & mask
    if beyond.any():
        raise machine.fault(c, inst, f"scratch access of {size} bytes beyond the allocation", beyond,
                            address=offsets, expected=f"offsets below {machine.scratch_size}")  # fmt: skip
    if not mask.any():
        return None
    at = offsets + machine.scratch_base(c)
    return Place(machine.scratch, at, int(np.bitwise_or.reduce(at, axis=None)), mask)


# LDS.


def _bind_lds(width: Width, steps: tuple[int, ...], load: bool, inst: Inst) -> Executor:
    """One or two accesses; `steps` are the units of offset0 and offset1 of the 2addr forms."""
    if inst.mods.get("gds"):
        raise UnsupportedForm(f"{inst.name} gds")
    address = reader(inst.src[0], "u32")
    names = ("offset0", "offset1")
    if steps:
        offsets = [inst.mods.get(n, 0) * unit for n, unit in zip(names, steps, strict=True)]
    else:
        offsets = [inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8]
    regs = (width.size + 3) // 4
    where = (inst.src[0],)
    natural = width.size if not steps else min(width.size, 8)
    natural = 16 if natural == 12 else natural

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, where, "an LDS address")
        base = address(c.regs)
        places = [lds_place(c, inst, base + np.int64(o) if o else base, width.size, natural) for o in offsets]
        for i, place in enumerate(places):
            if place is None:
                continue
            if load:
                load_into(c, place, width, inst.dst[0], i * regs)
            else:
                store_from(c, place, width, inst.src[1 + i])

    return execute


def _register_lds() -> None:
    for suffix in ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "u8_d16", "u8_d16_hi", "i8_d16",
                   "i8_d16_hi", "u16_d16", "u16_d16_hi"):  # fmt: skip
        register_binder(f"ds_load_{suffix}", lambda inst, w=WIDTHS[suffix]: _bind_lds(w, (), True, inst))
    for suffix in ("b8", "b16", "b32", "b64", "b96", "b128", "b8_d16_hi", "b16_d16_hi"):
        register_binder(f"ds_store_{suffix}", lambda inst, w=WIDTHS[suffix]: _bind_lds(w, (), False, inst))
    for suffix in ("b32", "b64"):
        width = WIDTHS[suffix]
        for form, unit in (("2addr", width.size), ("2addr_stride64", 64 * width.size)):
            for verb, load in (("load", True), ("store", False)):
                register_binder(
                    f"ds_{verb}_{form}_{suffix}",
                    lambda inst, w=width, u=unit, ld=load: _bind_lds(w, (u, u), ld, inst),
                )


# Global, flat and scratch.


def vector_address(inst: Inst) -> Callable[[Cohort], Array]:
    """Reads the address of a global or flat access: 64-bit VGPRs, or SGPR base plus 32-bit VGPR, plus offset."""
    vaddr, saddr = inst.src[0], inst.src[-1]
    offset = np.uint64(inst.mods.get("offset", 0) & 0xFFFF_FFFF_FFFF_FFFF)
    if saddr.kind == "none":
        pair = reader(vaddr, "u64")
        return lambda c: pair(c.regs) + offset
    base, lanes = reader(saddr, "u64"), reader(vaddr, "u32")
    return lambda c: (base(c.regs) + offset) + lanes(c.regs)


def _bind_global(width: Width, load: bool, inst: Inst) -> Executor:
    address = vector_address(inst)
    where = (inst.src[0], inst.src[-1])

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, where, "an address")
        place = global_place(c, inst, address(c), width.size)
        if place is None:
            return
        if load:
            load_into(c, place, width, inst.dst[0])
        else:
            refuse_readonly(c, inst, place)
            store_from(c, place, width, inst.src[1])

    return execute


def _bind_scratch(width: Width, load: bool, inst: Inst) -> Executor:
    vaddr, saddr = inst.src[0], inst.src[-1]
    lanes = reader(vaddr, "i32") if vaddr.kind != "none" else None
    scalar = reader(saddr, "i32") if saddr.kind != "none" else None
    offset = np.int64(inst.mods.get("offset", 0))

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, tuple(o for o in (vaddr, saddr) if o.kind != "none"), "a scratch address")
        at: Array = np.full((1, 1), offset)
        if lanes is not None:
            at = at + lanes(c.regs)
        if scalar is not None:
            at = at + scalar(c.regs)
        place = scratch_place(c, inst, at, width.size)
        if place is None:
            return
        if load:
            load_into(c, place, width, inst.dst[0])
        else:
            store_from(c, place, width, inst.src[1])

    return execute


def _bind_flat(width: Width, load: bool, inst: Inst) -> Executor:
    address = vector_address(inst)
    natural = 16 if width.size == 12 else width.size

    def places(c: Cohort) -> list[Place | None]:
        pointers = np.broadcast_to(address(c), c.exec.shape)
        upper = (pointers >> np.uint64(32)).astype(np.uint32)
        low = (pointers & np.uint64(0xFFFFFFFF)).astype(np.int64)
        shared, private = (upper == SHARED_APERTURE) & c.exec, (upper == PRIVATE_APERTURE) & c.exec
        found: list[Place | None] = [global_place(c, inst, pointers, width.size, c.exec & ~shared & ~private)]
        if shared.any():
            with c.machine.restricted(c, shared):
                found.append(lds_place(c, inst, low, width.size, natural))
        if private.any():
            found.append(scratch_place(c, inst, low, width.size, private))
        return found

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, (inst.src[0],), "an address")
        for place in places(c):
            if place is None:
                continue
            if load:
                load_into(c, place, width, inst.dst[0])
            else:
                store_from(c, place, width, inst.src[1])

    return execute


def _register_vector_memory() -> None:
    loads = ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "d16_u8", "d16_i8", "d16_b16", "d16_hi_u8",
             "d16_hi_i8", "d16_hi_b16")  # fmt: skip
    stores = ("b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16")
    for space, binder in (("global", _bind_global), ("scratch", _bind_scratch), ("flat", _bind_flat),
                          ("buffer", _bind_buffer)):  # fmt: skip
        for suffix in loads:
            register_binder(f"{space}_load_{suffix}", lambda inst, b=binder, w=WIDTHS[suffix]: b(w, True, inst))
        for suffix in stores:
            register_binder(f"{space}_store_{suffix}", lambda inst, b=binder, w=WIDTHS[suffix]: b(w, False, inst))


# Buffer: raw buffers (stride 0), bounds-checked by the resource's size.


def _bind_buffer(width: Width, load: bool, inst: Inst) -> Executor:
    data = inst.dst[0] if load else inst.src[0]
    vaddr, rsrc, soffset = inst.src if load else inst.src[1:]
    if inst.mods.get("idxen"):
        raise UnsupportedForm(f"{inst.name} with idxen (structured buffers)")
    if inst.mods.get("tfe"):
        raise UnsupportedForm(f"{inst.name} with tfe")
    words = [reader(Operand("s", rsrc.index + j), "u32") for j in range(4)]
    lanes = reader(vaddr, "u32") if vaddr.kind != "none" else None
    scalar, offset = reader(soffset, "u32"), np.int64(inst.mods.get("offset", 0))
    where = tuple(o for o in (vaddr, rsrc, soffset) if o.kind != "none")

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, where, "a buffer address")
        low, high, records, _ = (w(c.regs) for w in words)
        if ((high >> np.uint32(16)) & np.uint32(0x3FFF)).any():
            raise c.machine.fault(c, inst, "a structured buffer (stride not 0) is not supported", c.exec)
        at: Array = np.full((1, 1), offset) + (lanes(c.regs) if lanes is not None else 0)
        inside = np.broadcast_to(at + width.size <= records.astype(np.int64), c.exec.shape) & c.exec
        address = join64(low, high & np.uint32(0xFFFF)) + scalar(c.regs) + at.astype(np.uint64)
        if load and not inside.all():  # out of range reads give 0
            zeros = np.zeros((1, 1, (width.size + 3) // 4), np.uint32)
            _write_loaded(c, data.index, zeros, width, c.regs.u, c.regs.h, c.exec & ~inside)
            if c.undef & register_mask(data):
                _write_loaded(c, data.index, zeros, width, c.shadow.u, c.shadow.h, c.exec & ~inside)
        place = global_place(c, inst, address, width.size, c.exec if inside.all() else inside)
        if place is None:
            return
        if load:
            load_into(c, place, width, data)
        else:
            refuse_readonly(c, inst, place)
            store_from(c, place, width, data)

    return execute


# Scalar loads.


def _bind_scalar(dwords: int, buffer: bool, inst: Inst) -> Executor:
    base, soffset = inst.src[0], inst.src[1]
    target = inst.dst[0]
    pair = reader(Operand("s", base.index, 2, 64), "u64")
    scalar = reader(soffset, "u32")
    offset = np.uint64(inst.mods.get("offset", 0) & 0xFFFF_FFFF_FFFF_FFFF)
    keep = np.uint64(0x0000_FFFF_FFFF_FFFC if buffer else 0xFFFF_FFFF_FFFF_FFFC)

    def execute(c: Cohort) -> None:
        refuse_undefined(c, inst, (base, soffset), "a scalar address")
        address = ((pair(c.regs) & keep) + offset + scalar(c.regs)) & np.uint64(0xFFFF_FFFF_FFFF_FFFC)
        offsets = (address - np.uint64(BASE_ADDRESS)).view(np.int64)
        arena = c.machine.arena
        outside = None if arena.common_region(offsets, 4 * dwords) else arena.outside(offsets, 4 * dwords)
        if outside is not None:
            raise c.machine.global_fault(c, inst, offsets, 4 * dwords, outside & np.ones(c.exec.shape, np.bool_))
        low_bits = int(np.bitwise_or.reduce(offsets, axis=None))
        index = offsets >> 2
        for j in range(dwords):
            c.write_scalar(target.index + j, np.take(arena.data.views[4], index + j))
        if arena.tracked:
            for j in range(dwords):
                c.shadow.su[target.index + j][...] = arena.shadow.gather(offsets + 4 * j, 4, low_bits)[..., 0]
                settle(c, target.index + j)
        else:
            define(c, target)

    return execute


def _register_scalar_memory() -> None:
    for dwords in (1, 2, 4, 8, 16):
        bits = 32 * dwords
        register_binder(f"s_load_b{bits}", lambda inst, n=dwords: _bind_scalar(n, False, inst))
        register_binder(f"s_buffer_load_b{bits}", lambda inst, n=dwords: _bind_scalar(n, True, inst))


_register_lds()
_register_vector_memory()
_register_scalar_memory()
