"""Instructions that move data between lanes, or between lanes and scalar registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import Array, RegisterFile
from layoutprobe.semantics.access import undefined_guard
from layoutprobe.semantics.op import Op
from layoutprobe.semantics.operands import reader, register_mask, settle, write_shadow, writer
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, instruction
from layoutprobe.semantics.valu import OPS, bind_valu

_LANE = np.arange(64)
"""Lanes of a wave64; those of a wave32 are its first half."""
_HALF = _LANE & 32


@instruction("v_readfirstlane_b32", "v_readlane_b32")
def _readlane(inst: Inst) -> Executor:
    source, target = inst.src[0], inst.dst[0]
    get, get_shadow = reader(source, "u32"), reader(source, "u32", shadow=True)
    lane_of = reader(inst.src[1], "u32") if len(inst.src) > 1 else None
    write, guard = writer(target, "u32"), undefined_guard(inst, inst.src[1:], "a lane select")
    touched = register_mask(source) | register_mask(target)

    def execute(c: Cohort) -> None:
        guard(c)
        if lane_of is None:
            lanes = c.exec.argmax(axis=1)[:, None]
        else:
            lanes = (lane_of(c.regs) & np.uint32(c.size - 1)).astype(np.int64)
        lanes = np.broadcast_to(lanes, (len(c.waves), 1))
        values = np.broadcast_to(get(c.regs), c.exec.shape)
        undefined = np.broadcast_to(get_shadow(c.shadow), c.exec.shape) if c.undef & touched else None
        picked = np.take_along_axis(values, lanes, axis=1)
        write(c, picked)
        if undefined is not None:
            write_shadow(c, target, "u32", np.take_along_axis(undefined, lanes, axis=1))

    return execute


@instruction("v_writelane_b32")
def _writelane(inst: Inst) -> Executor:
    value, lane, target = inst.src[0], inst.src[1], inst.dst[0]
    if value.kind == "v" or lane.kind == "v":
        raise UnsupportedFormError(f"{inst.name} of a VGPR")
    get, get_shadow, lane_of = reader(value, "u32"), reader(value, "u32", shadow=True), reader(lane, "u32")
    guard = undefined_guard(inst, (lane,), "a lane select")
    touched = register_mask(value) | register_mask(target)

    def execute(c: Cohort) -> None:
        guard(c)
        waves = np.arange(len(c.waves))
        selected = (lane_of(c.regs) & np.uint32(c.size - 1)).astype(np.int64)
        lanes = np.broadcast_to(selected, (len(waves), 1))[:, 0]
        # EXEC plays no part: one lane is written whether it is active or not.
        c.u[target.index][waves, lanes] = np.broadcast_to(get(c.regs), (len(waves), 1))[:, 0]
        if c.undef & touched:
            c.shadow.u[target.index][waves, lanes] = np.broadcast_to(get_shadow(c.shadow), (len(waves), 1))[
                :, 0
            ]
            settle(c, target.registers()[0])

    return execute


@instruction("v_permlane16_b32", "v_permlanex16_b32", "v_permlane16_var_b32", "v_permlanex16_var_b32")
def _permlane(inst: Inst) -> Executor:
    """op_sel[0] fetches inactive lanes, op_sel[1] is bound_ctrl: an inactive source reads 0."""
    crossed = 16 if "x16" in inst.name else 0
    fetch_inactive, zero = bool(inst.mods.get("opsel", 0) & 1), bool(inst.mods.get("opsel", 0) & 2)
    select = [reader(operand, "u32") for operand in inst.src[1:]]

    def within(c: Cohort) -> Array:
        """Place in its row that each lane reads: 4 bits a lane of two scalars, or of its own register."""
        if "_var_" in inst.name:
            return select[0](c.regs).astype(np.uint64)
        low, high = (s(c.regs).astype(np.uint64) for s in select)
        return (low | high << np.uint64(32)) >> (np.uint64(4) * (_LANE[: c.size] & 15).astype(np.uint64))

    def sources(c: Cohort) -> Array:
        rows = (_LANE[: c.size] & 48) ^ crossed
        return np.broadcast_to(rows + (within(c) & np.uint64(15)).astype(np.int64), c.exec.shape)

    def allowed(c: Cohort, lanes: Array) -> Array:
        if fetch_inactive:
            return np.ones(c.exec.shape, np.bool_)
        return np.take_along_axis(c.exec, lanes, axis=1)

    return _moving(inst, sources, allowed, keep_unread=not zero)


def _moving(
    inst: Inst,
    sources: Callable[[Cohort], Array],
    allowed: Callable[[Cohort, Array], Array],
    *,
    keep_unread: bool,
) -> Executor:
    """Each active lane takes the value of another lane; lanes that may not read get 0 or stay."""
    data = inst.src[-1] if inst.encoding == "DS" else inst.src[0]
    target = inst.dst[0]
    guard = undefined_guard(inst, tuple(o for o in inst.src if o is not data), "a lane select")
    get, get_shadow = reader(data, "u32"), reader(data, "u32", shadow=True)
    touched = register_mask(data) | register_mask(target)

    def execute(c: Cohort) -> None:
        guard(c)
        lanes = sources(c)
        readable = allowed(c, lanes)
        saved = c.exec, c.lanes, c.full
        if keep_unread and not readable.all():
            c.exec = c.exec & readable
            c.lanes = np.where(c.exec, np.uint32(0xFFFFFFFF), np.uint32(0))
            c.full = False
        moved = _gather(get, c.regs, lanes, readable)
        undefined = _gather(get_shadow, c.shadow, lanes, readable) if c.undef & touched else None
        c.write(target.index, moved)
        if undefined is not None:
            write_shadow(c, target, "u32", undefined)
        c.exec, c.lanes, c.full = saved

    return execute


def _gather(
    get: Callable[[RegisterFile], Array], registers: RegisterFile, lanes: Array, readable: Array
) -> Array:
    values = np.broadcast_to(get(registers), lanes.shape)
    return np.where(readable, np.take_along_axis(values, lanes, axis=1), np.uint32(0))


def _offset(inst: Inst) -> int:
    return inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8


def _permuted(inst: Inst) -> Callable[[Cohort], Array]:
    """The lane that each lane of DS_PERMUTE and DS_BPERMUTE names: int64 [wave, lane].

    Up to RDNA3 the halves of a wave64 permute as two independent wave32 ("wave_wide" not set; RDNA3 ISA
    guide, DS_PERMUTE_B32); RDNA4 counts lanes through the whole wave.
    """
    address, offset = reader(inst.src[0], "u32"), np.uint32(_offset(inst))
    wave_wide = bool(inst.mods.get("wave_wide"))

    def named(c: Cohort) -> Array:
        lanes = np.uint32(c.size if wave_wide else 32)
        place = (((address(c.regs) + offset) >> np.uint32(2)) & (lanes - np.uint32(1))).astype(np.int64)
        return np.broadcast_to(place if wave_wide else place | _HALF[: c.size], c.exec.shape)

    return named


@instruction("ds_bpermute_b32", "ds_bpermute_fi_b32")
def _bpermute(inst: Inst) -> Executor:
    """Pull: lane l reads the lane that it names; inactive lanes give 0, or with FI their value."""

    def allowed(c: Cohort, lanes: Array) -> Array:
        if inst.name == "ds_bpermute_fi_b32":
            return np.ones(c.exec.shape, np.bool_)
        return np.take_along_axis(c.exec, lanes, axis=1)

    return _moving(inst, _permuted(inst), allowed, keep_unread=False)


@instruction("ds_permute_b32")
def _permute(inst: Inst) -> Executor:
    """Push: lane l sends to the lane that it names; the highest sender wins; others get 0."""
    place = _permuted(inst)

    def senders(c: Cohort) -> Array:
        to = place(c)
        sender = np.full(c.exec.shape, -1, np.int64)
        waves = np.arange(len(c.waves))
        for lane in range(c.size):
            active = c.exec[:, lane]
            sender[waves[active], to[active, lane]] = lane
        return sender

    def sources(c: Cohort) -> Array:
        return np.maximum(senders(c), 0)

    return _moving(inst, sources, lambda c, lanes: senders(c) >= 0, keep_unread=False)


@instruction("ds_swizzle_b32")
def _swizzle(inst: Inst) -> Executor:
    lanes = swizzle_source(_offset(inst))

    def sources(c: Cohort) -> Array:
        return np.broadcast_to(lanes[: c.size], c.exec.shape)

    return _moving(inst, sources, lambda c, src: np.take_along_axis(c.exec, src, axis=1), keep_unread=False)


def swizzle_source(offset: int) -> Array:
    """Lane that each of 64 lanes reads, always one of its half. Modes: RDNA3 ISA guide, DS_SWIZZLE_B32."""
    if offset >= 0xE000:  # FFT
        mask = offset & 0x1F
        reverse = np.array([int(f"{lane & 31:05b}"[::-1], 2) for lane in _LANE])
        return _HALF | (reverse >> mask.bit_count()) | (_LANE & mask)
    if offset >= 0xC000:  # rotate
        mask, amount = offset & 0x1F, offset >> 5 & 0x1F
        turned = (_LANE - amount if offset >> 10 & 1 else _LANE + amount) & 31
        return _HALF | (_LANE & mask) | (turned & ~mask & 31)
    if offset & 0x8000:  # quad permute
        quads = np.array([offset >> 2 * i & 3 for i in range(4)])
        return (_LANE & ~3) + quads[_LANE & 3]
    and_mask, or_mask, xor_mask = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return _HALF | (((_LANE & and_mask) | or_mask) ^ xor_mask)


@instruction("v_swap_b32")
def _swap(inst: Inst) -> Executor:
    one, other = inst.dst[0], inst.src[0]
    if other.kind != "v":
        raise UnsupportedFormError("v_swap_b32 with a scalar source")
    touched = register_mask(one) | register_mask(other)

    def execute(c: Cohort) -> None:
        held = c.u[one.index].copy()
        c.write(one.index, c.u[other.index].copy())
        c.write(other.index, held)
        if c.undef & touched:
            shadow = c.shadow.u[one.index].copy()
            write_shadow(c, one, "u32", c.shadow.u[other.index].copy())
            write_shadow(c, other, "u32", shadow)

    return execute


@instruction("v_permlane64_b32")
def _permlane64(inst: Inst) -> Executor:
    """Swaps the halves of a wave64, inactive lanes included; nothing in wave32 (RDNA3 ISA guide)."""
    source, target = inst.src[0], inst.dst[0]
    get, get_shadow = reader(source, "u32"), reader(source, "u32", shadow=True)
    touched = register_mask(source) | register_mask(target)

    def execute(c: Cohort) -> None:
        if c.size == 32:
            return
        swapped = np.broadcast_to(get(c.regs), c.exec.shape)[:, _LANE ^ 32]
        undefined = np.broadcast_to(get_shadow(c.shadow), c.exec.shape) if c.undef & touched else None
        c.write(target.index, swapped)
        if undefined is not None:
            write_shadow(c, target, "u32", undefined[:, _LANE ^ 32])

    return execute


@instruction("v_permlane16_swap_b32", "v_permlane32_swap_b32")
def _permlane_swap(inst: Inst) -> Executor:
    """Upper rows (or half) of the destination change places with the lower ones of the source (CDNA4 ISA guide).

    AMD's text does not look at EXEC. Where both lanes of a pair are on, both are written, as anywhere; where one
    is off, what comes out is not stated.
    """
    one, other = inst.dst[0], inst.src[0]
    step = 16 if "16" in inst.name else 32
    touched = register_mask(one) | register_mask(other)
    upper = (_LANE & step) != 0

    def swapped(first: Array, second: Array) -> tuple[Array, Array]:
        return np.where(upper, second[:, _LANE ^ step], first), np.where(
            upper, second, first[:, _LANE ^ step]
        )

    def execute(c: Cohort) -> None:
        alone = c.exec & ~c.exec[:, _LANE ^ step]
        if alone.any():
            raise fault(c, inst, "lanes are swapped with lanes that are off", alone,
                        hint="AMD does not state what they get: swap outside of divergent code",
                        kind="swap-exec")  # fmt: skip
        pair = swapped(c.u[one.index], c.u[other.index])
        bits = swapped(c.shadow.u[one.index], c.shadow.u[other.index]) if c.undef & touched else None
        for operand, value in zip((one, other), pair, strict=True):
            c.write(operand.index, value)
        for operand, undefined in zip((one, other), bits or (), strict=False):
            write_shadow(c, operand, "u32", undefined)

    return execute


# How many lanes below this one have their bit of a mask set: the half of the mask that each
# mnemonic takes, lane by lane of a wave64.
_BELOW = (np.uint64(1) << _LANE.astype(np.uint64)) - np.uint64(1)
_MBCNT = {"v_mbcnt_lo_u32_b32": _BELOW.astype(np.uint32),
          "v_mbcnt_hi_u32_b32": (_BELOW >> np.uint64(32)).astype(np.uint32)}  # fmt: skip


def _counting(name: str, lanes: int) -> Op:
    below = _MBCNT[name][:lanes]

    def compute(mask: Array, base: Array) -> Array:
        return np.bitwise_count(mask & below).astype(np.uint32) + base

    return Op(name, ("u32",), ("u32", "u32"), compute)


@instruction(*_MBCNT)
def _mbcnt(inst: Inst) -> Executor:
    return BySize({lanes: bind_valu(_counting(inst.name, lanes), inst) for lanes in (32, 64)})


class BySize(Struct, frozen=True):
    """A bound instruction that is another row in waves of another size; by lanes of a wave."""

    rows: Mapping[int, Executor]

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        self.rows[c.size](c)


OPS.update((name, _counting(name, 32)) for name in _MBCNT)
