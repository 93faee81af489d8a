"""Loads, stores and atomics of every memory, worked out lane by lane from the oracle.

Addresses are computed here from the ISA guide's rules; the bytes that move, and what an atomic makes of
them, come from AMD's text. Lanes take their turns in order of wave and lane, as layoutprobe documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import NULL, Inst, Operand
from layoutprobe.machine.machine import Machine
from oracle.harness import SCRATCH_BYTES, Image, MismatchError, Outcome, buffer_address
from oracle.operands import read
from oracle.pcode import evaluate
from oracle.reference import check_unchanged

Bytes = NDArray[np.uint8]
SHARED, PRIVATE = 1, 2
"""Upper dword, shifted right by 16, of the flat addresses that mean LDS and scratch."""


class Window(Mapping[int, int]):
    """Bytes as the oracle sees them: address -> byte."""

    def __init__(self, data: Bytes, first: int) -> None:
        self.data, self.first = data, first

    def __getitem__(self, address: int) -> int:
        at = address - self.first
        if not 0 <= at < len(self.data):
            raise KeyError(address)
        return int(self.data[at])

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + len(self.data)))

    def __len__(self) -> int:
        return len(self.data)

    def store(self, address: int, byte: int) -> None:
        """Write one byte."""
        self.data[address - self.first] = byte


class Memories(Struct):
    """Copies of a machine's memories."""

    lds: Bytes
    buffers: Bytes
    scratch: Bytes
    first_address: int
    lanes: int

    @classmethod
    def of(cls, machine: Machine) -> Memories:
        """The bytes as they are now."""
        start = machine.arena.regions[0].start
        parts = (machine.lds, machine.arena, machine.scratch)
        lds, arena, scratch = (m.data.bytes.copy() for m in parts)
        return cls(lds, arena, scratch, buffer_address(machine) - start, machine.wave_size)

    def of_lane(self, wave: int, lane: int) -> Bytes:
        """The private memory of a lane."""
        at = (wave * self.lanes + lane) * SCRATCH_BYTES
        return self.scratch[at : at + SCRATCH_BYTES]


class Access(Struct, frozen=True):
    """Where a lane points: a memory, the address in it, the offset that the text adds, and bytes in range."""

    memory: Window
    address: int
    offset: int
    room: int = 1 << 40

    def covers(self, first: int, size: int) -> bool:
        """The bytes from `first` on are in range: each dword of a wide access by itself."""
        return first + size <= self.room


def _data(operand: Operand, image: Image, wave: int, lane: int) -> int:
    return image.wide(operand.index, wave, lane, operand.regs)


def _global_address(inst: Inst, image: Image, wave: int, lane: int) -> int:
    vaddr, saddr = inst.src[0], inst.src[-1]
    if saddr.kind == "none":
        return read(vaddr, image, wave, lane)
    return read(saddr, image, wave, lane) + int(image.v[vaddr.index, wave, lane])


def _scratch_address(inst: Inst, image: Image, wave: int, lane: int) -> int:
    parts = [read(o, image, wave, lane) for o in (inst.src[0], inst.src[-1]) if o.kind != "none"]
    return sum(p - (1 << 32) if p >> 31 else p for p in parts)


def _buffer_access(inst: Inst, image: Image, wave: int, lane: int) -> tuple[int, int, int]:
    """Address, offset and bytes left of a raw buffer access; the scalar offset is not range-checked."""
    vaddr, rsrc, soffset = inst.src[-3:]
    base = int(image.s[rsrc.index, wave]) | (int(image.s[rsrc.index + 1, wave]) & 0xFFFF) << 32
    at = inst.mods.get("offset", 0)
    if vaddr.kind != "none":
        at += int(image.v[vaddr.index, wave, lane])
    return base + read(soffset, image, wave, lane), at, int(image.s[rsrc.index + 2, wave]) - at


def access(inst: Inst, image: Image, memories: Memories, wave: int, lane: int) -> Access:
    """The access of one lane."""
    everywhere = Window(memories.buffers, memories.first_address)
    offset = inst.mods.get("offset", 0)
    match inst.encoding:
        case "DS":
            return Access(Window(memories.lds, 0), int(image.v[inst.src[0].index, wave, lane]), 0)
        case "GLOBAL":
            return Access(everywhere, _global_address(inst, image, wave, lane), offset)
        case "SCRATCH":
            return Access(
                Window(memories.of_lane(wave, lane), 0), _scratch_address(inst, image, wave, lane), offset
            )
        case "FLAT":
            pointer = read(inst.src[0], image, wave, lane)
            if pointer >> 32 == SHARED << 16:
                return Access(Window(memories.lds, 0), pointer & 0xFFFFFFFF, offset)
            if pointer >> 32 == PRIVATE << 16:
                return Access(Window(memories.of_lane(wave, lane), 0), pointer & 0xFFFFFFFF, offset)
            return Access(everywhere, pointer, offset)
        case "MUBUF":
            return Access(everywhere, *_buffer_access(inst, image, wave, lane))
    raise AssertionError(inst.encoding)


def check_memory(inst: Inst, before: Image, memories: Memories, outcome: Outcome, size: int) -> int:
    """Compare registers and all memories with the oracle.

    Args:
        inst: the instruction.
        before, memories: registers and memories before; `memories` is changed to what must come out.
        outcome: what came out.
        size: bytes of one access, for the bounds of buffers.

    Returns:
        The number of accesses that took place.

    Raises:
        MismatchError: names the lane or the byte.
    """
    expected, count = before.copy(), 0
    for wave in range(before.waves):
        for lane in range(before.lanes):
            if not before.active()[wave, lane]:
                continue
            count += _turn(inst, before, expected, memories, wave, lane, size)
    check_unchanged(inst, expected, outcome.image)
    machine = outcome.machine
    for name, wanted, seen in (
        ("LDS", memories.lds, machine.lds.data.bytes),
        ("global memory", memories.buffers, machine.arena.data.bytes),
        ("scratch", memories.scratch, machine.scratch.data.bytes),
    ):
        if not np.array_equal(wanted, seen):
            at = int(np.argwhere(wanted != seen)[0][0])
            raise MismatchError(inst, f"byte {at:#x} of {name}", f"{wanted[at]:#x}", f"{seen[at]:#x}")
    return count


def _turn(
    inst: Inst, before: Image, expected: Image, memories: Memories, wave: int, lane: int, size: int
) -> int:
    """One lane reads and writes memory, and its destination."""
    where = access(inst, before, memories, wave, lane)
    target = inst.dst[0] if inst.dst else None
    unit = size if is_atomic(inst) else min(size, 4)  # an atomic is done whole, or not at all
    if not where.covers(0, unit):
        if target is not None:
            _write(target, expected, wave, lane, _out_of_range(inst, target, before, wave, lane))
        return 0
    brought = _brought(inst)
    values = [_data(o, before, wave, lane) for o in brought]
    offset0, offset1 = inst.mods.get("offset0", 0), inst.mods.get("offset1", 0)
    offset = offset0 | offset1 << 8 if inst.encoding == "DS" else where.offset
    result = evaluate(
        inst.name, addr=where.address, offset=offset,
        offset0=offset0, offset1=offset1, data=values[0] if values else 0, data2=values[1] if values[1:] else 0,
        d0=_data(target, before, wave, lane) if target is not None else 0, mem=where.memory,
    )  # fmt: skip
    start = where.address + where.offset
    for address, byte in result.writes.items():
        if inst.encoding == "DS" or where.covers((address - start) // unit * unit, unit):
            where.memory.store(address, byte)
    if target is not None:
        reached = sum(0xFFFFFFFF << 32 * j for j in range(target.regs) if size <= 4 or where.covers(4 * j, 4))
        _write(target, expected, wave, lane, result.d0 & reached)
    return 1


def is_atomic(inst: Inst) -> bool:
    """A read-modify-write."""
    return "atomic" in inst.name


def _brought(inst: Inst) -> tuple[Operand, ...]:
    if inst.encoding == "MUBUF":
        return inst.src[:-3]
    if inst.encoding == "DS":
        return inst.src[1:]
    return inst.src[1:-1]


def _out_of_range(inst: Inst, target: Operand, before: Image, wave: int, lane: int) -> int:
    """A load beyond the end of a buffer gives 0; D16 forms keep the other half."""
    old = _data(target, before, wave, lane)
    if "d16" not in inst.name:
        return 0
    return old & (0xFFFF if "d16_hi" in inst.name else 0xFFFF0000)


def _write(target: Operand, expected: Image, wave: int, lane: int, bits: int) -> None:
    for j in range(target.regs):
        expected.v[target.index + j, wave, lane] = bits >> 32 * j & 0xFFFFFFFF


def check_scalar_load(inst: Inst, before: Image, memories: Memories, outcome: Outcome) -> None:
    """Compare a scalar load of every wave with the oracle; the two low bits of an address do not count."""
    expected = before.copy()
    window = Window(memories.buffers, memories.first_address)
    for wave in range(before.waves):
        base, soffset = inst.src
        pointer = int(before.s[base.index, wave]) | int(before.s[base.index + 1, wave]) << 32
        if inst.name.startswith("s_buffer"):
            pointer &= (1 << 48) - 1
        extra = 0 if soffset.index == NULL else read(soffset, before, wave, 0)
        at = (pointer & ~3) + inst.mods.get("offset", 0) + extra & ~3
        result = evaluate(inst.name, addr=at, mem=window)
        for j in range(inst.dst[0].regs):
            expected.s[inst.dst[0].index + j, wave] = result.d0 >> 32 * j & 0xFFFFFFFF
    check_unchanged(inst, expected, outcome.image)
