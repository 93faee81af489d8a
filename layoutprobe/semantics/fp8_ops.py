"""Conversions between f32 and 8-bit floats, and their dot products. Sources: RDNA4 and CDNA3 ISA guides.

fp8 is E4M3 (no infinities), bf8 is E5M2; OCP's, or FNUZ's where the decoder says so. Overflow gives NaN in fp8
and in FNUZ, infinity in OCP's bf8, as with FP16_OVFL = 0, the default of the mode register.

Stochastic conversions (V_CVT_SR) follow AMD's HIP headers (amd_hip_ocp_host.hpp, from_float_sr): upper random bits
are added below the last bit that is kept, and the sum is cut off. The ISA guides take the same random bits, but round
to nearest behind that, and lose the carry into the exponent. No card was asked: verdicts call them unproven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.semantics.definedness import OnlyBits
from layoutprobe.semantics.op import Compute, Op
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_binder
from layoutprobe.semantics.valu import bind_valu, vop
from layoutprobe.semantics.wmma_general import numbers_of

Decode = Callable[[Array], Array]


def _decoder(name: str) -> Decode:
    """Bits (uint32) to f32."""
    return lambda raw: numbers_of(name, raw)


def encoded(name: str, value: Array) -> Array:
    """f32 to bits (uint32); a NaN keeps its sign. FNUZ has one zero and one NaN, both without sign."""
    sign = np.where(np.signbit(value), np.uint32(0x80), np.uint32(0))
    code = element_type(name).encode(np.abs(value)).astype(np.uint32)
    return np.where(code & np.uint32(0x7F) == 0, code, code | sign) if name.endswith(_FNUZ) else code | sign


FORMATS = ("fp8", "bf8")
_FNUZ = "_fnuz"


def _type(name: str, inst: Inst) -> str:
    """The element type that a conversion means."""
    return name + _FNUZ if inst.mods.get("fnuz") else name


def _without_sdwa(inst: Inst, low: int) -> tuple[Inst, int | None]:
    """The instruction without SDWA, and which byte or half SDWA selects, counted from code `low`, or None.

    What CDNA selects with SDWA, RDNA4 does with OPSEL. Other selections read the first (CDNA3 ISA guide).
    """
    if "src0_sel" not in inst.mods:
        return inst, None
    if inst.mods["dst_sel"] != _DWORD or inst.mods["src0_sext"]:
        raise UnsupportedFormError(f"{inst.name} with this SDWA")
    place = inst.mods["src0_sel"] - low
    kept = {k: v for k, v in inst.mods.items() if k in ("clamp", "omod", "fnuz")}
    return replace(inst, mods=kept), place if 0 <= place < (2 if low else 4) else 0


_DWORD, _WORD_0 = 6, 4

_BYTE = (0, 2, 1, 3)
"""OPSEL[1:0] -> byte: the bits are reversed (RDNA4 ISA guide, V_CVT_F32_FP8)."""


def _bind_single(name: str, inst: Inst) -> Executor:
    kind, (inst, byte) = _type(name, inst), _without_sdwa(inst, 0)
    shift = np.uint32(8 * (_BYTE[inst.mods.get("opsel", 0) & 3] if byte is None else byte))
    op = Op(inst.name, ("f32",), ("u32",), lambda a: numbers_of(kind, (a >> shift) & np.uint32(0xFF)),
            OnlyBits((0xFF << int(shift),)))  # fmt: skip
    return bind_valu(op, replace(inst, src=(_word(inst, 0),)))


def _bind_pair(name: str, inst: Inst) -> Executor:
    """Two bytes of one half to two registers."""
    kind, (inst, half) = _type(name, inst), _without_sdwa(inst, _WORD_0)
    shift = np.uint32(16 * (inst.mods.get("opsel", 0) & 1 if half is None else half))

    def compute(a: Array) -> Array:
        both = [numbers_of(kind, (a >> (shift + np.uint32(at))) & np.uint32(0xFF)) for at in (0, 8)]
        low, high = (np.ascontiguousarray(f, np.float32).view(np.uint32).astype(np.uint64) for f in both)
        return low | high << np.uint64(32)

    op = Op(inst.name, ("u64",), ("u32",), compute, OnlyBits((0xFFFF << int(shift),)))
    return bind_valu(op, replace(inst, src=(_word(inst, 0),)))


def _word(inst: Inst, source: int) -> Operand:
    """A source as the whole register: the instruction picks bytes of it by itself."""
    return replace(inst.src[source], bits=32, regs=1, hi=False)


def _bind_encode_pair(name: str, inst: Inst) -> Executor:
    """Two f32 to one half of the destination, which keeps the other."""
    target = replace(inst.dst[0], bits=16, regs=1, hi=bool(inst.mods.get("opsel", 0) & 8))
    kind = _type(name, inst)
    op = Op(inst.name, ("u16",), ("f32", "f32"),
            lambda a, b: (encoded(kind, a) | encoded(kind, b) << np.uint32(8)).astype(np.uint16))  # fmt: skip
    return bind_valu(op, replace(inst, dst=(target,)))


def stochastic(name: str, value: Array, seed: Array, fraction: int) -> Array:
    """Numbers to bits (uint32), rounded up where random bits carry.

    Args:
        name: an element type of at most 8 bits.
        value: float64; exact numbers of a type with `fraction` fraction bits, times a power of two.
        seed: uint32, the random bits, of which the uppermost count.
    """
    kind = element_type(name)
    kept, lowest = kind.precision - 1, int(np.log2(kind.normal))
    size = np.abs(value)
    exponent = np.frexp(np.where(np.isfinite(size), size, 0.0))[1] - 1
    subnormal = exponent < lowest
    unit = np.maximum(exponent, lowest) - fraction
    # Below the smallest normal number, bits of the fraction are lost before the random ones are added.
    whole = np.floor(np.ldexp(np.where(np.isfinite(size), size, 0.0), -unit)).astype(np.int64)
    whole += (seed >> np.uint32(32 - fraction + kept)).astype(np.int64)
    field = np.where(subnormal, 0, exponent - lowest).astype(np.int64)  # the implicit bit adds the one
    code = (field << kept) + (whole >> fraction - kept)
    largest = int(kind.encode(kind.largest))
    over = element_type(name).encode(np.full_like(size, np.inf)).astype(np.int64)
    code = np.where(size == 0, 0, np.where((code > largest) | np.isinf(size), over, code))
    code = np.where(np.isnan(size), kind.encode(np.full_like(size, np.nan)), code).astype(np.uint32)
    sign = np.where(np.signbit(value), np.uint32(1 << kind.bits - 1), np.uint32(0))
    return np.where(code == 0, code, code | sign) if name.endswith(_FNUZ) else code | sign


def _bind_stochastic(name: str, inst: Inst) -> Executor:
    """One f32 to the byte that OPSEL names; the others are kept."""
    kind, shift = _type(name, inst), np.uint32(8 * (inst.mods.get("opsel", 0) >> 2 & 3))
    byte = np.uint32(0xFF) << shift

    def compute(a: Array, seed: Array, old: Array) -> Array:
        value, random = np.broadcast_arrays(a.astype(np.float64), seed)
        return old & ~byte | stochastic(kind, value, random, 23) << shift

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        a, seed, old = shadows
        return [np.where((a != 0) | (seed != 0), byte, np.uint32(0)) | old & ~byte]

    op = Op(inst.name, ("u32",), ("f32", "u32"), compute, rule, ("u32",))
    target = replace(inst.dst[0], bits=32, regs=1, hi=False)
    return bind_valu(op, replace(inst, dst=(target,)))


def _dot4(first: Decode, second: Decode) -> Compute:
    """Products and sums in f32, in the order of the bytes."""

    def compute(a: Array, b: Array, c: Array) -> Array:
        total = c
        for shift in (0, 8, 16, 24):
            left, right = ((word >> np.uint32(shift)) & np.uint32(0xFF) for word in (a, b))
            total = total + first(left) * second(right)
        return total

    return compute


for _name in FORMATS:
    register_binder(f"v_cvt_f32_{_name}", partial(_bind_single, _name))
    register_binder(f"v_cvt_pk_f32_{_name}", partial(_bind_pair, _name))
    register_binder(f"v_cvt_pk_{_name}_f32", partial(_bind_encode_pair, _name))
    register_binder(f"v_cvt_sr_{_name}_f32", partial(_bind_stochastic, _name))
    for _other in FORMATS:
        vop(
            f"v_dot4_f32_{_name}_{_other}",
            "f32",
            "u32 u32 f32",
            _dot4(_decoder(_name), _decoder(_other)),
        )
