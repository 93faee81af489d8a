"""Any matrix instruction, executed by its documented fragments: RDNA4, wave64, sparse A.

Slower than the path that wave32 of RDNA3 takes in `wmma`, and without assumptions: elements are
gathered from their slots, multiplied, and scattered. EXEC is ignored for reads and for writes.

RDNA3 replicates A and B. AMD does not say which copy an output reads; here, as everywhere in this
emulator, an output in lanes [16g, 16g+16) reads the copies in those lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from layoutprobe.arch.fragments import Fragment, Ints
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.semantics import silicon
from layoutprobe.semantics.operands import constant_bits, settle
from layoutprobe.semantics.registry import Executor, UnsupportedFormError


@dataclass(frozen=True, eq=False)
class Reading:
    """Outputs that read the same copies.

    Attributes:
        rows: rows of D.
        copy: the copy of A and of B that they read.
    """

    rows: Ints
    copy: int

    __repr__ = brief


@cache
def readings(form: MatrixForm, wave: int) -> tuple[Reading, ...]:
    """The groups of outputs that share copies."""
    copies = form.fragments(wave)["A"].copies
    row = np.arange(form.shape[0])
    return tuple(Reading(row[row % copies == copy], copy) for copy in range(copies))


def fast_f16(raw: Array) -> Array:
    """As `numbers_of`, f16: numpy has the type."""
    return raw.astype(np.uint16).view(np.float16).astype(np.float32)


def fast_bf16(raw: Array) -> Array:
    """As `numbers_of`, bf16: the upper half of an f32."""
    return (raw << np.uint32(16)).view(np.float32)


_FAST: dict[str, Callable[[Array], Array]] = {"f16": fast_f16, "bf16": fast_bf16}


def numbers_of(kind: str, raw: Array) -> Array:
    """float32 of raw elements (uint32) of a float type of at most 16 bits."""
    fast = _FAST.get(kind)
    return fast(raw) if fast else element_type(kind).decode(raw).astype(np.float32)


def gather(words: Array, fragment: Fragment, copy: int = 0) -> Array:
    """Raw elements of one copy: uint32 [wave, row, col] of registers [vgpr, wave, lane]."""
    taken = words[fragment.vgpr[copy], :, fragment.lane[copy]]
    if fragment.field_bits < 32:
        shift = (fragment.field[copy] * fragment.field_bits).astype(np.uint32)[..., None]
        taken = taken >> shift & np.uint32((1 << fragment.field_bits) - 1)
    return np.ascontiguousarray(taken.transpose(2, 0, 1))


def scatter(words: Array, fragment: Fragment, raw: Array) -> None:
    """Writes raw elements [wave, row, col]; the other fields of a register stay."""
    bits = fragment.field_bits
    values = raw.transpose(1, 2, 0)
    lane, vgpr, field = fragment.lane[0], fragment.vgpr[0], fragment.field[0]
    if bits == 32:
        words[vgpr, :, lane] = values
        return
    for number in range(32 // bits):
        here = field == number
        if here.any():
            mask = np.uint32(((1 << bits) - 1) << bits * number)
            held = words[vgpr[here], :, lane[here]] & ~mask
            words[vgpr[here], :, lane[here]] = held | values[here] << np.uint32(bits * number)


@dataclass(frozen=True)
class Source:
    """A or B of an instruction: registers, and how raw elements become numbers.

    Attributes:
        operand: which registers.
        kind: element type.
    """

    operand: Operand
    kind: str

    def words(self, registers: Array, fragment: Fragment) -> Array:
        """The registers: [vgpr, wave, lane]."""
        return registers[self.operand.index : self.operand.index + fragment.vgprs]

    def numbers(self, raw: Array, fragment: Fragment, copy: int) -> Array:
        """float32, or float64 for integers, which are exact there: [wave, row, col]."""
        kind = element_type(self.kind)
        if kind.is_float:
            value = numbers_of(self.kind, raw)
            if self.operand.neg or self.operand.neg_hi:
                upper = fragment.field[copy] % 2 == 1
                negate = np.where(upper, self.operand.neg_hi, self.operand.neg)
                value = np.where(negate, -value, value)
            return value
        value = raw.astype(np.int64)
        sign = value >> kind.bits - 1 << kind.bits
        return (value - sign if self.operand.neg else value).astype(np.float64)


def _refuse(form: MatrixForm, inst: Inst) -> None:
    """Modifiers whose meaning no document states."""
    a, b, last = inst.src[:3]
    eight_bit_float = form.a in ("fp8", "bf8")
    integer = form.result == "i32"
    if (integer or eight_bit_float or form.sparse) and any(o.neg_hi for o in (a, b, last)):
        raise UnsupportedFormError(f"{inst.name} with neg_hi")
    if ((integer or form.sparse) and last.neg) or (eight_bit_float and (a.neg or b.neg or last.neg)):
        raise UnsupportedFormError(f"{inst.name} with neg where the ISA guide asks for zero")
    if form.sparse and not integer and (a.neg or b.neg):
        raise UnsupportedFormError(f"{inst.name} with neg on A or B")


def bind_general(form: MatrixForm, inst: Inst) -> Executor:
    """What executes the instruction on cohorts of either wave size.

    Raises:
        UnsupportedFormError: modifiers without a documented meaning.
    """
    _refuse(form, inst)
    target, opsel = inst.dst[0], inst.mods.get("opsel", 0)
    a, b = Source(inst.src[0], form.a), Source(inst.src[1], form.b)
    last = inst.src[2]
    addend = target if form.sparse else last
    clamp = bool(inst.mods.get("clamp", 0))
    if opsel & (4 if form.sparse else 3) or opsel not in form.opsels(32) + form.opsels(64):
        raise UnsupportedFormError(f"{inst.name} with op_sel {opsel}")

    def execute(c: Cohort) -> None:
        fragments = form.fragments(c.regs.vgprs.shape[2], opsel)
        registers = c.regs.vgprs
        undefined = _undefined(c, form, fragments, (a, b), addend, last) if c.undef else None
        index = gather(registers[last.index : last.index + 1], fragments["index"]) if form.sparse else None
        added = _addend(c, form, fragments["C"], addend)
        total = np.empty(added.shape, np.uint32)
        for reading in readings(form, c.regs.vgprs.shape[2]):
            rows, copy = reading.rows, reading.copy
            raw_a = gather(a.words(registers, fragments["A"]), fragments["A"], copy)
            left = a.numbers(raw_a, fragments["A"], copy)[:, rows]
            if index is not None:
                left = dense(left, index[:, rows])
            raw_b = gather(b.words(registers, fragments["B"]), fragments["B"], copy)
            right = b.numbers(raw_b, fragments["B"], copy)
            mode = "silicon" if form.family == "rdna3" and c.machine.facts.arithmetic == "silicon" else "ieee"
            total[:, rows] = result_bits(form, left, right, added[:, rows], clamp, mode)
        scatter(registers[target.index : target.index + fragments["D"].vgprs], fragments["D"], total)
        if undefined is not None:
            _record(c, target, fragments["D"], undefined)

    return execute


def dense(kept: Array, index: Array) -> Array:
    """A with its zeros: [wave, row, k] from the elements kept and their places in their groups.

    Two elements of a group with one place are added, which no document describes.
    """
    waves, rows, count = kept.shape
    full = np.zeros((waves, rows, count // 2, 4), kept.dtype)
    pairs, places = kept.reshape(waves, rows, -1, 2), index.reshape(waves, rows, -1, 2)
    for place in range(4):
        chosen = np.where(places == place, pairs, kept.dtype.type(0))
        full[..., place] = chosen[..., 0] + chosen[..., 1]
    return full.reshape(waves, rows, 2 * count)


def _addend(c: Cohort, form: MatrixForm, fragment: Fragment, operand: Operand) -> Array:
    """Raw elements of C with their sign modifiers: uint32 [wave, row, col]."""
    width = form.result_bits
    if operand.kind == "v":
        raw = gather(c.regs.vgprs[operand.index : operand.index + fragment.vgprs], fragment)
    else:
        shape = (len(c.waves), form.shape[0], form.shape[1])
        raw = np.full(shape, constant_bits(operand, width) & (1 << width) - 1, np.uint32)
    if form.result != "i32" and not form.sparse:
        sign = np.uint32(1 << width - 1)
        if operand.neg_hi:
            raw = raw & ~sign
        if operand.neg:
            raw = raw ^ sign
    return raw


def result_bits(form: MatrixForm, a: Array, b: Array, c: Array, clamp: bool, mode: str) -> Array:
    """Raw D of numbers A and B and raw C: [wave, row, col]."""
    if form.result == "i32":
        total = np.matmul(a, b).astype(np.int64) + c.view(np.int32)
        return np.asarray(np.clip(total, -(2**31), 2**31 - 1) if clamp else total).astype(np.uint32)
    if form.result == "f32":
        if mode == "silicon":
            return silicon.multiply_add(silicon.Step(form.a), a, b, c)
        single: Array = np.matmul(a, b) + np.ascontiguousarray(c).view(np.float32)
        return single.view(np.uint32)
    wide = np.ascontiguousarray(numbers_of(form.result, c))
    if mode == "silicon":
        bits = silicon.multiply_add(silicon.Step(form.a, form.result), a, b, wide.view(np.uint32))
        value = np.ascontiguousarray(bits).view(np.float32).astype(np.float64)
    else:
        value = np.asarray(np.matmul(a, b, dtype=np.float64) + wide)
    return element_type(form.result).encode(value).astype(np.uint32)


# Definedness: an output is undefined where its row of A, its column of B, its C, or (sparse) an
# index of its row is.


def _undefined(
    c: Cohort,
    form: MatrixForm,
    fragments: Mapping[str, Fragment],
    sources: tuple[Source, Source],
    addend: Operand,
    last: Operand,
) -> Array:
    """Bool [wave, row, col] of D."""
    shadow = c.shadow.vgprs
    a, b = sources
    bad = np.zeros((len(c.waves), form.shape[0], form.shape[1]), np.bool_)
    for reading in readings(form, shadow.shape[2]):
        rows, copy = reading.rows, reading.copy
        of_a = gather(a.words(shadow, fragments["A"]), fragments["A"], copy)[:, rows].any(axis=2)
        of_b = gather(b.words(shadow, fragments["B"]), fragments["B"], copy).any(axis=1)
        bad[:, rows] = np.asarray(of_a)[:, :, None] | np.asarray(of_b)[:, None, :]
    if form.sparse:
        index = gather(shadow[last.index : last.index + 1], fragments["index"])
        bad |= np.asarray(index.any(axis=2))[:, :, None]
    if addend.kind == "v":
        bad |= gather(shadow[addend.index : addend.index + fragments["C"].vgprs], fragments["C"]) != 0
    return bad


def _record(c: Cohort, target: Operand, fragment: Fragment, undefined: Array) -> None:
    shadow = c.shadow.vgprs[target.index : target.index + fragment.vgprs]
    whole = np.uint32((1 << fragment.field_bits) - 1)
    scatter(shadow, fragment, np.where(undefined, whole, np.uint32(0)))
    for register in range(VGPR0 + target.index, VGPR0 + target.index + fragment.vgprs):
        settle(c, register)
