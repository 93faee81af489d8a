"""How lanes reach memory: where they point, what may go wrong, and how data moves to registers.

One access serves all lanes of a cohort: addresses are checked first (in range, aligned, defined),
then gathered or scattered together. Data and undefined bits travel the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.brief import brief
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault, global_fault
from layoutprobe.machine.memory import BASE_ADDRESS, Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.operands import reader, register_mask, settle

_ZERO = np.zeros(1, np.uint32)


class Width(Struct, frozen=True):
    """How one access moves bits between memory and registers.

    Attributes:
        size: bytes.
        signed: sign-extend to 32 bits.
        half: None, or the register half (0 low, 1 high) that a D16 form reads or writes.
        loses: a D16 load leaves the other half undefined, and not as it was.
    """

    size: int
    signed: bool = False
    half: int | None = None
    loses: bool = False


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

OLD_NAMES = {
    "ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "byte": "b8", "short": "b16", "dword": "b32",
    "dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128", "ubyte_d16": "d16_u8", "sbyte_d16": "d16_i8",
    "short_d16": "d16_b16", "ubyte_d16_hi": "d16_hi_u8", "sbyte_d16_hi": "d16_hi_i8", "short_d16_hi": "d16_hi_b16",
    "byte_d16_hi": "d16_hi_b8",
}  # fmt: skip
"""Suffix on CDNA -> suffix on RDNA."""


def older_width(suffix: str) -> Width:
    """As `WIDTHS`, of an access on CDNA, by its suffix there.

    D16 loads of its targets do not keep the other half: they have SRAM-ECC (LLVM, d16PreservesUnusedBits).
    """
    width = WIDTHS[OLD_NAMES.get(suffix, suffix)]
    return replace(width, loses=width.half is not None)


def transfer(
    c: Cohort,
    inst: Inst,
    place: Addresses | None,
    width: Width,
    data: Operand,
    *,
    load: bool,
    first: int = 0,
) -> None:
    """Load into, or store from, the VGPRs of `data` from its register number `first` on.

    Nothing happens where no lane is active (`place` is None).
    """
    if place is None:
        return
    if not load:
        refuse_readonly(c, inst, place)
    if place.lost is None or place.mask.any():
        notify(c, inst, place, width.size, store=not load)
    if load:
        load_into(c, place, width, data, first)
        if place.lost is not None:
            _lose(c, data.index + first, width, place.lost)
    else:
        store_from(c, place, width, data, first)


def notify(c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool = True) -> None:
    """Tell those who asked of an access; a read-modify-write is a store."""
    for tell in c.machine.events.access:
        tell(c, inst, place, size, store=store)


def load_into(c: Cohort, place: Addresses, width: Width, target: Operand, first: int = 0) -> None:
    """Load into the VGPRs of `target` from its register number `first` on."""
    index = target.index + first
    data = place.memory.data.gather(place.offsets, width.size, place.low_bits)
    write_loaded(c, index, data, width, c.regs.u, c.regs.h, place.mask)
    undefined = place.memory.undefined(place.offsets, width.size, place.low_bits)
    for ask in c.machine.events.doubt:
        if (bits := ask(c, place, width.size)) is not None:
            undefined = bits if undefined is None else undefined | bits
    registers = range(256 + index, 256 + index + (width.size + 3) // 4)
    lose_half(c, index, width, place.mask)
    if undefined is None:
        if not any(c.undef >> r & 1 for r in registers):
            return
        undefined = np.zeros_like(data)
    write_loaded(c, index, undefined, width, c.shadow.u, c.shadow.h, place.mask)
    for register in registers:
        settle(c, register)


def _lose(c: Cohort, index: int, width: Width, lost: Array) -> None:
    """All that a load from nowhere would have written is undefined."""
    count = 1 if width.half is not None else (width.size + 3) // 4
    bits = np.full((*lost.shape, count), 0xFFFFFFFF, np.uint32)
    write_loaded(c, index, bits, Width(4, half=width.half), c.shadow.u, c.shadow.h, lost)
    for register in range(VGPR0 + index, VGPR0 + index + count):
        c.undef |= 1 << register


def lose_half(c: Cohort, index: int, width: Width, mask: Array) -> None:
    """What a D16 load that does not keep the other half of its register makes of that."""
    if width.loses:
        np.copyto(c.shadow.h[index][:, 1 - (width.half or 0) :: 2], np.uint16(0xFFFF), where=mask)
        c.undef |= 1 << VGPR0 + index


def extended(values: Array, width: Width) -> Array:
    """uint32 values of fewer bits, sign-extended."""
    shift = np.int32(32 - 8 * width.size)
    signed = np.ascontiguousarray(values).view(np.int32)
    return ((signed << shift) >> shift).view(np.uint32)


def write_loaded(
    c: Cohort, index: int, values: Array, width: Width, words: list[Array], halves: list[Array], mask: Array
) -> None:
    """Write uint32 [wave, lane, dword] to registers or their shadows."""
    if width.signed:
        values = extended(values, width)
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


def store_from(c: Cohort, place: Addresses, width: Width, data: Operand, first: int = 0) -> None:
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
        place.memory.shadow.scatter(offsets, width.size, place.low_bits, [_ZERO] * count)


def _stored(word: Array, width: Width) -> Array:
    return word >> np.uint32(16) if width.half else word


# Where lanes point.


def undefined_guard(inst: Inst, operands: Sequence[Operand], what: str) -> Callable[[Cohort], None]:
    """A check, made once per instruction, that no undefined value reaches an address."""
    present = [o for o in operands if o.kind != "none"]
    mask = 0
    for operand in present:
        mask |= register_mask(operand)

    def guard(c: Cohort) -> None:
        if not c.undef & mask:
            return
        for register in (r for o in present for r in o.registers()):
            bits = c.shadow.u[register - VGPR0] if register >= VGPR0 else c.shadow.su[register]
            bad = np.broadcast_to(bits != 0, c.exec.shape) & c.exec
            if bad.any():
                raise fault(c, inst, f"an undefined value is used as {what}", bad,
                                      hint="initialise it on every path that leads here",
                                      kind="undefined-address")  # fmt: skip

    return guard


class LdsBase(Struct, frozen=True, eq=False):
    """LDS addresses of one register, prepared for every access of a block that uses it.

    Attributes:
        local: int64 [wave, lane], byte offsets in the workgroup's LDS; negative where a compiler
            counts down from the instruction's offset. Inactive lanes repeat an active one.
        placed: the same in the memory of all workgroups.
        low_bits: bitwise or of `local`: its common alignment, and an upper bound.
    """

    local: Array
    placed: Array
    low_bits: int

    __repr__ = brief


def lds_base(c: Cohort, addresses: Array) -> LdsBase:
    """Prepare LDS byte addresses: uint32 [wave, lane], or int64 that are final.

    Base and offset add up modulo 2**32, so that a base is as good as a negative number:
    clang makes `x[95 - i]` of -4 * i and `offset:380`.
    """
    signed = addresses.view(np.int32) if addresses.dtype == np.uint32 else addresses
    local = np.broadcast_to(signed.astype(np.int64), c.exec.shape)
    if not c.full:
        active = local[c.exec]
        local = np.where(c.exec, local, active[0] if active.size else 0)
    return LdsBase(local, local + c.lds_base, int(np.bitwise_or.reduce(local, axis=None)))


def lds_place(
    c: Cohort, inst: Inst, base: LdsBase, offset: int, size: int, *, atomic: bool = False
) -> Addresses | None:
    """Check LDS accesses at `offset` beyond the base and place them.

    Args:
        atomic: the address must be a multiple of the size. Loads and stores take any byte address:
            the mode is UNALIGNED on ROCm, and clang relies on it (feature unaligned-access-mode).
            Source: RDNA3 ISA guide, LDS "Alignment and Errors".
    """
    machine = c.machine
    low_bits = base.low_bits | offset
    # The bitwise or bounds the largest address: usually no further reduction is needed.
    if base.low_bits + offset + size > machine.lds_size or base.low_bits < 0:
        at = base.local + offset
        beyond = ((at < 0) | (at + size > machine.lds_size)) & c.exec
        if beyond.any():
            raise fault(c, inst, f"LDS access of {size} bytes beyond the allocation", beyond,
                                address=at, expected=f"byte addresses below {machine.lds_size}",
                                hint="check the LDS index, its stride, and dynamic LDS at launch",
                                kind="lds-bounds")  # fmt: skip
    if atomic and low_bits & size - 1:
        at = base.local + offset
        crooked = (at & size - 1 != 0) & c.exec
        if crooked.any():
            raise fault(c, inst, f"misaligned LDS atomic of {size} bytes", crooked, address=at,
                                expected=f"a multiple of {size}",
                                hint="atomics need natural alignment: align the element and its index",
                                kind="lds-alignment")  # fmt: skip
    if not c.full and not c.exec.any():
        return None
    return Addresses(machine.lds, base.placed + offset if offset else base.placed, low_bits, c.exec)


def global_place(
    c: Cohort, inst: Inst, offsets: Array, size: int, mask: Array | None = None
) -> Addresses | None:
    """Check global accesses and place them.

    Args:
        offsets: uint64 [wave, lane] or broadcastable, addresses less BASE_ADDRESS.
        mask: lanes that access, if not all active ones.
    """
    machine, mask = c.machine, c.exec if mask is None else mask
    full = c.full and mask is c.exec
    if not full and not mask.any():
        return None
    at = offsets.view(np.int64)
    if at.shape != c.exec.shape:
        at = np.broadcast_to(at, c.exec.shape)
    if not full:
        # Inactive lanes repeat an active one: in range, and no guard against them is needed.
        at = np.where(mask, at, at[mask][0])
    region = machine.arena.common_region(at, size)
    outside = None if region else machine.arena.outside(at, size)
    lost = None
    if outside is not None and (outside & mask).any():
        lost = outside & mask
        _tell_or_raise(c, inst, global_fault(c, inst, at, size, lost))
        mask = mask & ~lost
        at = np.where(mask, at, at[mask][0] if mask.any() else machine.arena.regions[0].start)
    low_bits = int(np.bitwise_or.reduce(at, axis=None)) if size > 1 else 0
    if low_bits & min(size, 8) - 1 and Kind.ATOMIC in inst.kind:
        crooked = mask & (at & size - 1 != 0)
        raise fault(c, inst, f"misaligned atomic of {size} bytes", crooked, address=at + BASE_ADDRESS,
                            expected=f"a multiple of {size}", kind="alignment")  # fmt: skip
    return Addresses(machine.arena, at, low_bits, mask, region, lost)


def _tell_or_raise(c: Cohort, inst: Inst, error: ExecutionError) -> None:
    """A load to registers, and a store, go on where somebody asked for that; anything else ends the run."""
    to_lds = "_lds_" in inst.name or inst.mods.get("lds")
    known = error.kind in ("global-load", "global-store") and Kind.ATOMIC not in inst.kind
    if not known or to_lds or not c.machine.events.fault:
        raise error
    for tell in c.machine.events.fault:
        tell(c, inst, error)


def refuse_readonly(c: Cohort, inst: Inst, place: Addresses) -> None:
    """A store may not hit code, constants or the kernel's arguments."""
    arena = c.machine.arena
    if place.memory is not arena:
        return
    hit = (
        [place.region]
        if place.region
        else [arena.region_at(int(o)) for o in np.unique(place.offsets[place.mask])]
    )
    for region in hit:
        if region is not None and not region.writable:
            inside = (place.offsets >= region.start) & (place.offsets < region.end) & place.mask
            raise fault(c, inst, f"store into {region.name}, which is read-only", inside,
                                  hint="check the pointer that this line stores through",
                                  kind="read-only")  # fmt: skip


_STACK_FULL = (
    "the stack is full: with recursion or calls through pointers the compiler does not know its size, and a lane "
    "has what ROCm gives it by default (hipLimitStackSize)"
)


def scratch_place(
    c: Cohort, inst: Inst, addresses: Array, size: int, mask: Array | None = None
) -> Addresses | None:
    """Check scratch byte offsets of a lane (int64 [wave, lane]) and place them."""
    machine, mask = c.machine, c.exec if mask is None else mask
    offsets = np.where(mask, np.broadcast_to(addresses, c.exec.shape), 0)
    beyond = ((offsets < 0) | (offsets + size > machine.scratch_size)) & mask
    if beyond.any():
        hint = _STACK_FULL if machine.facts.dynamic_stack else None
        raise fault(c, inst, f"scratch access of {size} bytes beyond the allocation", beyond,
                            address=offsets, expected=f"offsets below {machine.scratch_size}",
                            hint=hint, kind="scratch-bounds")  # fmt: skip
    if not mask.any():
        return None
    at = offsets + machine.scratch_base(c.waves)
    return Addresses(machine.scratch, at, int(np.bitwise_or.reduce(at, axis=None)), mask)


def vector_address(inst: Inst, *, relative_to: int = BASE_ADDRESS) -> Callable[[Cohort], Array]:
    """Reads the address of a global or flat access: 64-bit VGPRs, or SGPR base plus 32-bit VGPR,
    plus the instruction's offset; uint64, less `relative_to`."""
    vaddr, saddr = inst.src[0], inst.src[-1]
    offset = np.uint64((inst.mods.get("offset", 0) - relative_to) & 0xFFFF_FFFF_FFFF_FFFF)
    if saddr.kind == "none":
        pair = reader(vaddr, "u64")
        return lambda c: pair(c.regs) + offset
    base, lanes = reader(saddr, "u64"), reader(vaddr, "u32")
    return lambda c: (base(c.regs) + offset) + lanes(c.regs)
