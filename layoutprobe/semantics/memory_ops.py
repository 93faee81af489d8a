"""Loads and stores: LDS, global, flat, scratch, buffer and scalar memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault, global_fault
from layoutprobe.machine.memory import BASE_ADDRESS, Addresses, Store
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import (
    WIDTHS,
    LdsBase,
    Width,
    extended,
    global_place,
    lds_base,
    lds_place,
    lose_half,
    notify,
    older_width,
    scratch_place,
    transfer,
    undefined_guard,
    write_loaded,
)
from layoutprobe.semantics.lds_direct import bind_direct
from layoutprobe.semantics.operands import (
    define,
    reader,
    register_mask,
    settle,
)
from layoutprobe.semantics.registry import (
    Executor,
    UnsupportedFormError,
    register_alias,
    register_binder,
    register_block_binder,
)
from layoutprobe.semantics.spaces import Places, buffer_reach, flat_places, global_places

# LDS.


def _bind_lds(
    width: Width, steps: tuple[int, ...], load: bool, inst: Inst, earlier: Sequence[Inst]
) -> Executor:
    """One or two accesses; `steps` are the units of offset0 and offset1 of the 2addr forms."""
    if inst.mods.get("gds"):
        raise UnsupportedFormError(f"{inst.name} gds")
    address, register = reader(inst.src[0], "u32"), inst.src[0]
    names = ("offset0", "offset1")
    if steps:
        offsets = [inst.mods.get(n, 0) * unit for n, unit in zip(names, steps, strict=True)]
    else:
        offsets = [inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8]
    regs = (width.size + 3) // 4
    guard = undefined_guard(inst, (register,), "an LDS address")
    prepared = _address_prepared(inst, earlier)
    key = ("lds", register.index)

    def execute(c: Cohort) -> None:
        if not prepared:
            guard(c)
            c.fragments[key] = lds_base(c, address(c.regs))
        base: LdsBase = c.fragments[key]
        # All places are checked before any data moves.
        for i, place in enumerate([lds_place(c, inst, base, o, width.size) for o in offsets]):
            if load:
                transfer(c, inst, place, width, inst.dst[0], load=True, first=i * regs)
            else:
                transfer(c, inst, place, width, inst.src[1 + i], load=False)

    return execute


def _address_prepared(inst: Inst, earlier: Sequence[Inst]) -> bool:
    """An LDS access of this block has used the same address register since it and EXEC last changed."""
    needed = {*inst.src[0].registers(), EXEC_LO, EXEC_HI}
    for before in reversed(earlier):
        written = {r for half in (before, *before.pair) for o in half.dst for r in o.registers()}
        if (
            not needed.isdisjoint(written)
            or "saveexec" in before.name
            or before.name.startswith("v_swap")
            or picks_registers(before)
        ):
            return False
        plain = Kind.LDS in before.kind and Kind.TRANSPOSE not in before.kind  # those that prepare it
        if plain and before.kind & (Kind.LOAD | Kind.STORE) and before.src[0] == inst.src[0]:
            return True
    return False


def _register_lds() -> None:
    for suffix in ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "u8_d16", "u8_d16_hi", "i8_d16",
                   "i8_d16_hi", "u16_d16", "u16_d16_hi"):  # fmt: skip
        register_block_binder(f"ds_load_{suffix}", partial(_bind_lds, WIDTHS[suffix], (), True))
    for suffix in ("b8", "b16", "b32", "b64", "b96", "b128", "b8_d16_hi", "b16_d16_hi"):
        register_block_binder(f"ds_store_{suffix}", partial(_bind_lds, WIDTHS[suffix], (), False))
    for suffix in ("b8", "b16", "b32", "b64", "b96", "b128", "b8_d16_hi", "b16_d16_hi"):  # CDNA
        register_alias(f"ds_write_{suffix}", f"ds_store_{suffix}")
    for suffix in ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "u8_d16", "u8_d16_hi", "i8_d16",
                   "i8_d16_hi", "u16_d16", "u16_d16_hi"):  # fmt: skip
        register_block_binder(f"ds_read_{suffix}", partial(_bind_lds, older_width(suffix), (), True))
    for suffix in ("b32", "b64"):
        width = WIDTHS[suffix]
        for form, unit in (("2addr", width.size), ("2addr_stride64", 64 * width.size)):
            for verb, load in (("load", True), ("store", False)):
                register_block_binder(
                    f"ds_{verb}_{form}_{suffix}", partial(_bind_lds, width, (unit, unit), load)
                )
        for old, new in (("read", "load"), ("write", "store")):
            register_alias(f"ds_{old}2_{suffix}", f"ds_{new}_2addr_{suffix}")
            register_alias(f"ds_{old}2st64_{suffix}", f"ds_{new}_2addr_stride64_{suffix}")


# Global, flat and scratch.


def _bind_places(find: Callable[[Inst, int], Places], width: Width, load: bool, inst: Inst) -> Executor:
    data = inst.dst[0] if load else inst.src[1]
    places = find(inst, width.size)

    def execute(c: Cohort) -> None:
        for place in places(c):
            transfer(c, inst, place, width, data, load=load)

    return execute


def _bind_scratch(width: Width, load: bool, inst: Inst) -> Executor:
    data = inst.dst[0] if load else inst.src[1]
    vaddr, saddr = inst.src[0], inst.src[-1]
    lanes = reader(vaddr, "i32") if vaddr.kind != "none" else None
    scalar = reader(saddr, "i32") if saddr.kind != "none" else None
    offset = np.int64(inst.mods.get("offset", 0))
    guard = undefined_guard(inst, (vaddr, saddr), "a scratch address")

    def execute(c: Cohort) -> None:
        guard(c)
        at: Array = np.full((1, 1), offset)
        if lanes is not None:
            at = at + lanes(c.regs)
        if scalar is not None:
            at = at + scalar(c.regs)
        transfer(c, inst, scratch_place(c, inst, at, width.size), width, data, load=load)

    return execute


_DWORDS = ("dword", "dwordx2", "dwordx3", "dwordx4")


def _register_vector_memory() -> None:
    loads = ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "d16_u8", "d16_i8", "d16_b16", "d16_hi_u8",
             "d16_hi_i8", "d16_hi_b16")  # fmt: skip
    stores = ("b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16")
    binders: dict[str, Callable[[Width, bool, Inst], Executor]] = {
        "global": partial(_bind_places, global_places),
        "flat": partial(_bind_places, flat_places),
        "scratch": _bind_scratch,
        "buffer": _bind_buffer,
    }
    for space, binder in binders.items():
        for suffix in loads:
            register_binder(f"{space}_load_{suffix}", partial(binder, WIDTHS[suffix], True))
        for suffix in stores:
            register_binder(f"{space}_store_{suffix}", partial(binder, WIDTHS[suffix], False))
        for suffix in (*_DWORDS, "ubyte", "sbyte", "ushort", "sshort", "ubyte_d16", "ubyte_d16_hi", "sbyte_d16",
                       "sbyte_d16_hi", "short_d16", "short_d16_hi"):  # fmt: skip
            register_binder(f"{space}_load_{suffix}", partial(binder, older_width(suffix), True))
        for suffix in (*_DWORDS, "byte", "short", "byte_d16_hi", "short_d16_hi"):
            register_binder(f"{space}_store_{suffix}", partial(binder, older_width(suffix), False))


# Buffer: raw buffers (stride 0), bounds-checked by the resource's size.


def _bind_buffer(width: Width, load: bool, inst: Inst) -> Executor:
    if inst.mods.get("lds"):
        return bind_direct(width, inst)
    data = inst.dst[0] if load else inst.src[0]
    reach = buffer_reach(inst, *inst.src[-3:])

    def execute(c: Cohort) -> None:
        offsets, room = reach(c)
        if width.size > 4 and ((room >= 4) & (room < width.size) & c.exec).any():
            for j in range(width.size // 4):  # the range is checked dword by dword
                part(c, offsets + np.uint64(4 * j), room - 4 * j, WIDTHS["b32"], j)
        else:
            part(c, offsets, room, width, 0)

    def part(c: Cohort, offsets: Array, room: Array, size: Width, first: int) -> None:
        inside = (room >= size.size) & c.exec
        if load and not inside.all():  # out of range reads give 0
            zeros = np.zeros((1, 1, (size.size + 3) // 4), np.uint32)
            write_loaded(c, data.index + first, zeros, size, c.regs.u, c.regs.h, c.exec & ~inside)
            if c.undef & register_mask(data):
                write_loaded(c, data.index + first, zeros, size, c.shadow.u, c.shadow.h, c.exec & ~inside)
            lose_half(c, data.index, size, c.exec & ~inside)
        place = global_place(c, inst, offsets, size.size, c.exec if inside.all() else inside)
        transfer(c, inst, place, size, data, load=load, first=first)

    return execute


# Scalar loads.


def _bind_scalar(width: Width, buffer: bool, inst: Inst) -> Executor:
    base, soffset = inst.src[0], inst.src[1]
    target = inst.dst[0]
    pair = reader(Operand("s", base.index, 2, 64), "u64")
    scalar = reader(soffset, "u32")
    offset = np.uint64(inst.mods.get("offset", 0) & 0xFFFF_FFFF_FFFF_FFFF)
    # Accesses of dwords ignore the lowest bits of the address and of its parts.
    whole = 0xFFFF_FFFF_FFFF_FFFC if width.size >= 4 else 0xFFFF_FFFF_FFFF_FFFF
    keep = np.uint64(whole & 0x0000_FFFF_FFFF_FFFF if buffer else whole)
    aligned = np.uint64(whole)
    guard = undefined_guard(inst, (base, soffset), "a scalar address")
    inside_buffer = _scalar_range(width, inst) if buffer else None

    def execute(c: Cohort) -> None:
        guard(c)
        address = ((pair(c.regs) & keep) + offset + scalar(c.regs)) & aligned
        offsets = (address - np.uint64(BASE_ADDRESS)).view(np.int64)
        inside = inside_buffer(c) if inside_buffer is not None else None
        if inside is not None:  # some wave reads nothing: 0, and no memory is touched
            if not inside.any():
                for j in range((width.size + 3) // 4):
                    c.write_scalar(target.index + j, 0)
                define(c, target)
                return
            first = int(np.argmax(inside))
            offsets = np.where(inside, offsets, np.broadcast_to(offsets, inside.shape).flat[first])
        arena = c.machine.arena
        beyond = _beyond(c, inst, offsets, width.size)
        low_bits = int(np.bitwise_or.reduce(offsets, axis=None))
        if c.machine.events.access:
            at = np.broadcast_to(offsets, (len(c.waves), 1))
            mask = np.ones(at.shape, np.bool_) if inside is None else inside
            notify(c, inst, Addresses(arena, at, low_bits, mask), width.size, store=False)
        for register, word in read(arena.data, offsets, low_bits):
            c.write_scalar(register, word if inside is None else np.where(inside, word, 0))
        if arena.tracked or beyond is not None:
            for register, word in read(arena.shadow, offsets, low_bits):
                bits = word if beyond is None else word | beyond[register - target.index]
                c.shadow.su[register][...] = bits if inside is None else np.where(inside, bits, 0)
                settle(c, register)
        else:
            define(c, target)

    def read(store: Store, offsets: Array, low_bits: int) -> Iterator[tuple[int, Array]]:
        if width.size < 4:
            word = store.gather(offsets, width.size, low_bits)[..., 0]
            yield target.index, extended(word, width) if width.signed else word
            return
        for j in range(width.size // 4):
            yield target.index + j, np.take(store.views[4], (offsets >> 2) + j)

    return execute


def _beyond(c: Cohort, inst: Inst, offsets: Array, size: int) -> list[Array] | None:
    """Bits of each dword that lie behind an allocation and are undefined; None where all are inside.

    Compilers widen a scalar load within its natural alignment (s_load_b128 of 12 bytes): what lies there
    is in the page of what was asked for, so that a card never faults.
    """
    arena = c.machine.arena
    outside = None if arena.common_region(offsets, size) else arena.outside(offsets, size)
    if outside is None:
        return None
    aligned = offsets & (1 << (size - 1).bit_length()) - 1 == 0
    begins = arena.outside(offsets, 1)
    wild = outside & ~aligned if begins is None else outside & (begins | ~aligned)
    if wild.any():
        raise global_fault(c, inst, offsets, size, wild & np.ones(c.exec.shape, np.bool_))
    undefined = []
    for first in range(0, size, 4):
        bits = np.zeros(outside.shape, np.uint32)
        for byte in range(min(size, 4)):
            if (missing := arena.outside(offsets + first + byte, 1)) is not None:
                bits[missing] |= np.uint32(0xFF << 8 * byte)
        undefined.append(bits)
    return undefined


def _scalar_range(width: Width, inst: Inst) -> Callable[[Cohort], Array | None]:
    """A check of num_records: None where every wave reads inside, else which do (bool [wave, 1]).

    A scalar load beyond the end gives 0. One that begins inside and ends beyond it is refused, and so is a
    structured buffer: what a card gives there stands in no document that was at hand.
    """
    base, soffset = inst.src[0], inst.src[1]
    upper, records = (reader(Operand("s", base.index + j), "u32") for j in (1, 2))
    scalar = reader(soffset, "u32")
    offset = np.int64(inst.mods.get("offset", 0))
    step = min(width.size, 4)

    def check(c: Cohort) -> Array | None:
        if ((upper(c.regs) >> np.uint32(16)) & np.uint32(0x3FFF)).any():
            raise fault(c, inst, "a structured buffer (stride not 0) is not supported", c.exec)
        at = (offset + scalar(c.regs).astype(np.int64)) & -step
        room = np.broadcast_to(records(c.regs).astype(np.int64) - at, (c.exec.shape[0], 1))
        room = np.where(at < 0, 0, room)
        partly = (room >= step) & (room < width.size)
        if partly.any():
            raise fault(
                c,
                inst,
                f"a scalar load of {width.size} bytes that crosses the end of its buffer is not supported",
                c.exec & partly,
            )
        inside = room >= width.size
        return None if inside.all() else inside

    return check


def _register_scalar_memory() -> None:
    for dwords in (1, 2, 3, 4, 8, 16):
        bits = 32 * dwords
        register_binder(f"s_load_b{bits}", partial(_bind_scalar, Width(4 * dwords), False))
        register_binder(f"s_buffer_load_b{bits}", partial(_bind_scalar, Width(4 * dwords), True))
        old = "dword" if dwords == 1 else f"dwordx{dwords}"  # CDNA
        register_alias(f"s_load_{old}", f"s_load_b{bits}")
        register_alias(f"s_buffer_load_{old}", f"s_buffer_load_b{bits}")
    for suffix in ("u8", "i8", "u16", "i16"):  # RDNA4
        register_binder(f"s_load_{suffix}", partial(_bind_scalar, WIDTHS[suffix], False))
        register_binder(f"s_buffer_load_{suffix}", partial(_bind_scalar, WIDTHS[suffix], True))


_register_lds()
_register_vector_memory()
_register_scalar_memory()
