"""Operands at run time: how an instruction reads its sources and writes its results.

`reader` and `writer` are called once per instruction when a kernel is bound; what they return is
called each time the instruction executes. Value types are named as in AMD's pseudocode: u32,
i32, f32, u16, i16, f16, u64, i64, f64. b32 and b16 are bits that take the float modifiers neg and abs
(V_MOV, V_CNDMASK, V_PACK); "mask" is one bit per lane (bool [wave, lane]), in one scalar register in
wave32 and in two in wave64.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, FLOAT_CONSTANTS, NULL, SCC, VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort, mask_words, pack_mask, unpack_mask
from layoutprobe.machine.registers import Array, RegisterFile
from layoutprobe.numbers import element_type

Reader = Callable[[RegisterFile], Array]
Writer = Callable[[Cohort, Array], None]

DTYPES: dict[str, type[np.generic]] = {
    **{name: element_type(name).storage.type
       for name in ("u8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64")},
    "b16": np.uint16, "b32": np.uint32, "b64": np.uint64,
}  # fmt: skip
_WIDTH = {name: np.dtype(dtype).itemsize * 8 for name, dtype in DTYPES.items()}


def width_of(kind: str) -> int:
    """Bits of a value of the type; not of "mask"."""
    return _WIDTH[kind]


_UINT: dict[int, type[np.unsignedinteger]] = {16: np.uint16, 32: np.uint32, 64: np.uint64}

SHARED_APERTURE = 0x0001_0000
PRIVATE_APERTURE = 0x0002_0000
"""Upper dword of flat addresses that mean LDS and scratch."""
_APERTURES = {235: SHARED_APERTURE << 32, 236: (SHARED_APERTURE << 32) | 0xFFFFFFFF,
              237: PRIVATE_APERTURE << 32, 238: (PRIVATE_APERTURE << 32) | 0xFFFFFFFF}  # fmt: skip


def constant_bits(operand: Operand, width: int) -> int:
    """Bits of an inline constant or literal as a value of that width.

    Inline integers are sign-extended. Floats take the format of the width. A literal gives the upper
    half of an f64, is sign-extended to i64, and zero-extended to other 64-bit operands (RDNA3 ISA
    guide, 4.3 "literal constants").
    """
    mask = (1 << width) - 1
    if operand.kind == "literal":
        if width == 64 and operand.fmt == "I64":
            return (operand.value ^ 0x80000000) - 0x80000000 & mask
        return operand.value << 32 if operand.fmt == "F64" else operand.value & mask
    code = operand.index
    if operand.number is not None:
        return operand.number & mask
    if code in FLOAT_CONSTANTS:
        # A packed operand takes the constant in its low part.
        width = {"PK2_F16": 16, "F16": 16, "PK2_F32": 32, "PK2_B32": 32}.get(operand.fmt, width)
        fmt = {16: "<e", 32: "<f", 64: "<d"}[width]
        return int.from_bytes(struct.pack(fmt, FLOAT_CONSTANTS[code]), "little")
    if code in _APERTURES:
        return _APERTURES[code] & mask
    raise ExecutionError(f"operand encoding {code} is not supported")


def register_mask(operand: Operand) -> int:
    """Bits of `Cohort.undef` that belong to the operand."""
    if operand.kind == "const" and operand.index == 253:
        return 1 << SCC
    mask = 0
    for register in operand.registers():
        mask |= 1 << register
    return mask


def reader(operand: Operand, kind: str, *, shadow: bool = False) -> Reader:
    """How to read an operand as values of a type.

    Args:
        operand: the operand; neg and abs are applied to float types, b16 and b32.
        kind: type name.
        shadow: read undefined bits instead: constants give zeros.
    """
    if kind == "mask":
        return _mask_reader(operand)
    if operand.kind in ("const", "literal") and operand.index != 253:
        return _constant_reader(operand, kind, shadow)
    raw = _raw_reader(operand, _WIDTH[kind])
    if shadow:
        # abs defines the sign.
        clear = sign_modifier(replace(operand, neg=False), kind)
        return raw if clear is None else lambda r: clear(raw(r).view(DTYPES[kind])).view(_UINT[_WIDTH[kind]])
    dtype = DTYPES[kind]
    modify = sign_modifier(operand, kind)
    if modify is not None:
        return lambda r: modify(raw(r).view(dtype))
    if operand.kind == "v" and kind in ("u32", "b32", "i32", "f32"):
        index = operand.index
        if kind in ("u32", "b32"):
            return lambda r: r.u[index]
        return (lambda r: r.i[index]) if kind == "i32" else (lambda r: r.f[index])
    return lambda r: raw(r).view(dtype)


def sign_modifier(operand: Operand, kind: str) -> Callable[[Array], Array] | None:
    """What abs and then neg of the operand do to values of the type; None when they do nothing.

    They work on the sign bit alone, so that a NaN keeps its payload.
    """
    if kind[0] not in "fb" or not (operand.neg or operand.abs):
        return None
    width, dtype = _WIDTH[kind], DTYPES[kind]
    uint = _UINT[width]
    sign = uint(1 << (width - 1))
    clear = uint((1 << (width - 1)) - 1)

    def modify(value: Array) -> Array:
        bits = value.view(uint)
        if operand.abs:
            bits = bits & clear
        return (bits ^ sign if operand.neg else bits).view(dtype)

    return modify


def _constant_reader(operand: Operand, kind: str, shadow: bool) -> Reader:
    width = _WIDTH[kind]
    bits = 0 if shadow else constant_bits(operand, width)
    value = np.array([[bits]], _UINT[width]).view(DTYPES[kind])
    modify = None if shadow else sign_modifier(operand, kind)
    if modify is not None:
        value = modify(value)
    return lambda r: value


def _raw_reader(operand: Operand, width: int) -> Reader:
    """Reads a register operand as unsigned values of the width."""
    index = operand.index
    if operand.kind == "const":  # SCC
        return lambda r: r.su[SCC].astype(_UINT[width], copy=False)
    if operand.kind == "none":
        raise ExecutionError("the instruction reads an operand that it does not have")
    if operand.kind == "v":
        if width == 16:
            start = int(operand.hi)
            return lambda r: r.h[index][:, start::2]
        if width == 32:
            return lambda r: r.u[index]
        return lambda r: join64(r.u[index], r.u[index + 1])
    if index == NULL:
        zero = np.zeros((1, 1), _UINT[width])
        return lambda r: zero
    if width == 16:
        start = int(operand.hi)
        return lambda r: np.ascontiguousarray(r.su[index]).view(np.uint16)[:, start::2]
    if width == 32:
        return lambda r: r.su[index]
    return lambda r: join64(r.su[index], r.su[index + 1])


def join64(low: Array, high: Array) -> Array:
    """uint64 from two uint32 arrays."""
    wide = np.empty(np.broadcast_shapes(low.shape, high.shape), np.uint64)
    words = wide.view(np.uint32)
    words[..., 0::2] = low
    words[..., 1::2] = high
    return wide


def _mask_reader(operand: Operand) -> Reader:
    if operand.kind == "s":
        index, count = operand.index, operand.regs
        if index == NULL:
            none = np.zeros((1, 32 * count), np.bool_)
            return lambda r: none
        return lambda r: unpack_mask(mask_words(r, index, count))
    bits = constant_bits(operand, 32 * operand.regs)
    value = unpack_mask(np.frombuffer(bits.to_bytes(4 * operand.regs, "little"), np.uint32)[None])
    return lambda r: value


def writer(operand: Operand, kind: str) -> Writer:
    """How to write a result of a type: active lanes of a VGPR, or a scalar register.

    A 16-bit result leaves the other half of its VGPR as it was; that of an operand of 32 bits clears it.
    """
    index = operand.index
    if kind == "mask":
        return _mask_writer(index)
    if operand.kind == "s":
        return _scalar_writer(index, _WIDTH[kind])
    if _WIDTH[kind] == 16 and operand.bits == 32:
        return lambda c, value: c.write(index, value.view(np.uint16).astype(np.uint32))
    if _WIDTH[kind] == 16:
        start = int(operand.hi)
        return lambda c, value: _write_half(c, index, start, value)
    if _WIDTH[kind] == 64:
        return lambda c, value: _write_pair(c, index, value)
    return lambda c, value: c.write(index, value.view(np.uint32))


def _write_half(c: Cohort, index: int, start: int, value: Array) -> None:
    target = c.regs.h[index][:, start::2]
    if c.full:
        target[...] = value.view(np.uint16)
    else:
        np.copyto(target, value.view(np.uint16), where=c.exec)


def _write_pair(c: Cohort, index: int, value: Array) -> None:
    words = np.ascontiguousarray(value).view(np.uint32)
    c.write(index, words[..., 0::2])
    c.write(index + 1, words[..., 1::2])


def _mask_writer(index: int) -> Writer:
    def write(c: Cohort, value: Array) -> None:
        lanes = value if c.full else value & c.exec
        if lanes.shape != c.exec.shape:
            lanes = np.broadcast_to(lanes, c.exec.shape)
        if index != NULL:
            for j, word in enumerate(pack_mask(lanes).T):
                c.write_scalar(index + j, word[:, None])

    return write


def _scalar_writer(index: int, width: int) -> Writer:
    def write32(c: Cohort, value: Array) -> None:
        if index != NULL:
            c.write_scalar(index, value.view(np.uint32))

    def write64(c: Cohort, value: Array) -> None:
        if index != NULL:
            words = np.ascontiguousarray(value).view(np.uint32)
            c.write_scalar(index, words[..., 0::2])
            c.write_scalar(index + 1, words[..., 1::2])

    return write64 if width == 64 else write32


def write_shadow(c: Cohort, operand: Operand, kind: str, undefined: Array) -> None:
    """Record the undefined bits of a result that was just written.

    Args:
        undefined: bits, of the unsigned type of the result's width; bool [wave, lane] for masks.
    """
    index = operand.index
    if operand.kind == "s":
        if index != NULL:
            _shadow_scalar(c, operand, kind, undefined)
        return
    uint = _UINT[_WIDTH[kind]]
    undefined = np.broadcast_to(undefined, c.exec.shape).astype(uint, copy=False)
    if _WIDTH[kind] < operand.bits:
        undefined = undefined.astype(np.uint32)
    if _WIDTH[kind] == 16 and operand.bits == 16:
        half = c.shadow.h[index][:, int(operand.hi) :: 2]
        np.copyto(half, undefined, where=c.exec)
        settle(c, VGPR0 + index)
        return
    words = np.ascontiguousarray(undefined).view(np.uint32)
    for j in range(operand.regs):
        np.copyto(c.shadow.u[index + j], words[..., j :: operand.regs], where=c.exec)
        settle(c, VGPR0 + index + j)


def _shadow_scalar(c: Cohort, operand: Operand, kind: str, undefined: Array) -> None:
    index = operand.index
    if kind == "mask":
        lanes = np.broadcast_to(undefined, c.exec.shape) & c.exec
        for j, word in enumerate(pack_mask(lanes).T):
            c.shadow.su[index + j][...] = word[:, None]
            settle(c, index + j)
        return
    words = np.ascontiguousarray(undefined).view(np.uint32)
    for j in range(operand.regs):
        c.shadow.su[index + j][...] = words[..., j :: operand.regs]
        settle(c, index + j)


def settle(c: Cohort, register: int) -> None:
    """Bring `undef` of one register in line with its shadow."""
    array = c.shadow.u[register - VGPR0] if register >= VGPR0 else c.shadow.su[register]
    if array.any():
        c.undef |= 1 << register
    else:
        c.undef &= ~(1 << register)


def define(c: Cohort, operand: Operand) -> None:
    """A result that is wholly defined was written to the operand."""
    for register in operand.registers():
        if not c.undef >> register & 1:
            continue
        if register >= VGPR0:
            if c.full:
                c.shadow.u[register - VGPR0][...] = 0
            else:
                np.copyto(c.shadow.u[register - VGPR0], np.uint32(0), where=c.exec)
        else:
            c.shadow.su[register][...] = 0
        settle(c, register)


def writes_exec(inst: Inst) -> bool:
    """True when the instruction writes EXEC."""
    return any(EXEC_LO in op.registers() or EXEC_HI in op.registers() for op in inst.dst if op.kind == "s")
