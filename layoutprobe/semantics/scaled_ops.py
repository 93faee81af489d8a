"""Conversions of CDNA4 between f32, f16 or bf16 and elements of 8, 6 or 4 bits, with one scale for all of a lane.

Source: CDNA4 ISA guide, V_CVT_SCALEF32_*. The scale is a power of two: the exponent field of an f32. Small elements
are multiplied by it, large ones divided, and the result is rounded once to nearest even. What lies beyond the
largest number becomes what `numbers` makes of it; NaN has no code in 6 and 4 bits, and AMD does not say what comes
out, so that it is refused. Of the stochastic forms those to one element of 8 bits are here, by the rule in `fp8_ops`.
Those that make several elements are left out: AMD's text draws new random bits for each, its headers do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import Array, RegisterFile
from layoutprobe.numbers import element_type
from layoutprobe.semantics.fp8_ops import stochastic
from layoutprobe.semantics.op import Op
from layoutprobe.semantics.operands import Reader, reader, register_mask, settle
from layoutprobe.semantics.registry import Executor, register_binder
from layoutprobe.semantics.valu import bind_valu

_U = np.uint32
_DWORD = 32
_BIAS = 127


class Form(Struct, frozen=True):
    """One conversion.

    Attributes:
        to, of: element types of the result and of the data.
        count: elements that a lane converts.
        data: sources with data; the scale is the one behind them. Two sources give elements in turns.
    """

    to: str
    of: str
    count: int
    data: int = 1

    @property
    def shrinks(self) -> bool:
        """To small elements; else from them."""
        return element_type(self.to).bits <= 8

    @property
    def name(self) -> str:
        """The mnemonic."""
        prefix = {1: "", 2: "pk_", 32: "2xpk16_" if self.data == 2 else "pk32_"}[self.count]
        return f"v_cvt_scalef32_{prefix}{self.to}_{self.of}"

    def start(self, opsel: int, operand: str) -> int:
        """The bit of a register at which OPSEL has the data or the result begin."""
        width = self.count * element_type(self.of if operand == "data" else self.to).bits
        if width >= _DWORD:
            return 0
        if operand == "data":
            return 0 if self.shrinks else (opsel & 1) * 16 if width == 16 else (opsel & 3) * 8
        return (opsel >> 3 & 1) * 16 if width == 16 else (opsel >> 2 & 3) * 8


def _forms() -> Iterator[Form]:
    large = ("f32", "f16", "bf16")
    for small in ("fp8", "bf8", "fp4"):
        for kind in large:
            yield Form(kind, small, 2)
            yield Form(small, kind, 2, 2 if kind == "f32" else 1)
    for small in ("fp8", "bf8"):
        yield from (Form(kind, small, 1) for kind in ("f32", "f16"))
    for small in ("fp6", "bf6"):
        yield from (Form(kind, small, 32) for kind in large)
        yield from (Form(small, kind, 32) for kind in ("f16", "bf16"))
        yield Form(small, "f32", 32, 2)


FORMS = {form.name: form for form in _forms()}


def fields(words: Sequence[Array], start: int, width: int, count: int) -> list[Array]:
    """Fields of uint32 registers one after the other, lowest first; they may straddle registers."""
    out = []
    for at in range(start, start + count * width, width):
        word, bit = divmod(at, _DWORD)
        value = words[word] >> _U(bit)
        if bit + width > _DWORD:
            value = value | words[word + 1] << _U(_DWORD - bit)
        out.append(value & _U((1 << width) - 1))
    return out


def joined(codes: Sequence[Array], start: int, width: int, registers: int) -> list[Array]:
    """The inverse of `fields`; 0 around them."""
    words: list[Array] = [np.zeros((1, 1), _U)] * registers
    for i, code in enumerate(codes):
        word, bit = divmod(start + i * width, _DWORD)
        words[word] = words[word] | code << _U(bit)
        if bit + width > _DWORD:
            words[word + 1] = words[word + 1] | code >> _U(_DWORD - bit)
    return words


def _words(operand: Operand, registers: int) -> list[Operand]:
    """The registers of an operand, each as an operand of its own."""
    single = replace(operand, regs=1, bits=_DWORD, hi=False, neg=False, abs=False)
    if registers == 1:
        return [single]
    return [replace(single, index=operand.index + j) for j in range(registers)]


def _bind(form: Form, inst: Inst) -> Executor:
    of, to, opsel = element_type(form.of), element_type(form.to), inst.mods.get("opsel", 0)
    each = form.count // form.data
    registers = max(1, each * of.bits // _DWORD)
    sources = [[reader(w, "u32") for w in _words(o, registers)] for o in inst.src[: form.data]]
    scale = reader(_words(inst.src[form.data], 1)[0], "u32")
    shadows = [reader(w, "u32", shadow=True) for o in inst.src[: form.data] for w in _words(o, registers)]
    shadows += [reader(_words(inst.src[form.data], 1)[0], "u32", shadow=True)]
    touched = 0
    for operand in (*inst.src, *inst.dst):
        touched |= register_mask(operand)
    target, results = inst.dst[0].index, max(1, form.count * to.bits // _DWORD)
    begins, ends = form.start(opsel, "data"), form.start(opsel, "result")
    covered = joined([np.full((1, 1), to.mask, _U)] * form.count, ends, to.bits, results)

    def codes(c: Cohort) -> list[Array]:
        parts = [fields([get(c.regs) for get in gets], begins, of.bits, each) for gets in sources]
        raw = np.stack(np.broadcast_arrays(*(p for turn in zip(*parts, strict=True) for p in turn)))
        power = (scale(c.regs) >> _U(23) & _U(0xFF)).astype(np.int32)
        values = np.ldexp(of.decode(raw), (_BIAS - power if form.shrinks else power - _BIAS))
        values = np.where(power == 0xFF, np.nan, values)
        if to.nan is None and (bad := np.isnan(values).any(axis=0) & c.exec).any():
            raise fault(c, inst, f"NaN is converted to {form.to}, which has none", bad,
                        hint="AMD does not state what comes out", kind="unstated-conversion")  # fmt: skip
        if to.nan is None:
            values = np.where(np.isnan(values), 0.0, values)  # in lanes that are off
        return list(to.encode(values).astype(_U))

    def execute(c: Cohort) -> None:
        undefined = _undefined(c.shadow, shadows) if c.undef & touched else None
        words = joined(codes(c), ends, to.bits, results)
        for j, word in enumerate(words):
            c.write(target + j, c.u[target + j] & ~covered[j] | word)
            if undefined is not None:
                bits = np.where(undefined, covered[j], _U(0)) | c.shadow.u[target + j] & ~covered[j]
                np.copyto(c.shadow.u[target + j], bits, where=c.exec)
                settle(c, inst.dst[0].registers()[0] + j)

    return execute


def _undefined(registers: RegisterFile, shadows: Sequence[Reader]) -> Array:
    """Lanes in which a source has an undefined bit."""
    found: Array = np.zeros((1, 1), np.bool_)
    for get in shadows:
        found = found | (get(registers) != 0)
    return found


def _bind_stochastic(to: str, of: str, inst: Inst) -> Executor:
    """One element to the byte that OPSEL names; the others are kept."""
    kind, shift = element_type(of), _U(8 * (inst.mods.get("opsel", 0) >> 2 & 3))
    byte = _U(0xFF) << shift

    def compute(a: Array, seed: Array, scale: Array, old: Array) -> Array:
        power = (scale >> _U(23) & _U(0xFF)).astype(np.int32)
        value = np.where(power == 0xFF, np.nan, np.ldexp(kind.decode(a & _U(kind.mask)), _BIAS - power))
        value, random = np.broadcast_arrays(value, seed)
        return old & ~byte | stochastic(to, value, random, kind.precision - 1) << shift

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        a, seed, scale, old = shadows
        bad = (a & _U(kind.mask) != 0) | (seed != 0) | (scale != 0)
        return [np.where(bad, byte, _U(0)) | old & ~byte]

    words = tuple(_words(operand, 1)[0] for operand in (*inst.dst, *inst.src))
    op = Op(inst.name, ("u32",), ("u32",) * 3, compute, rule, ("u32",))
    return bind_valu(op, replace(inst, dst=words[:1], src=words[1:]))


for _small in ("fp8", "bf8"):
    for _large in ("f32", "f16", "bf16"):
        register_binder(f"v_cvt_scalef32_sr_{_small}_{_large}", partial(_bind_stochastic, _small, _large))
for _form in FORMS.values():
    register_binder(_form.name, partial(_bind, _form))
