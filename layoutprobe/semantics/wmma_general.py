"""Any matrix instruction, executed by its documented fragments: whatever family, wave and shape.

Slower than the path that `wmma` has for one shape, and without assumptions: elements are gathered from
their slots, multiplied, and scattered. EXEC is ignored for reads and for writes.

Where A and B are replicated (RDNA3), AMD does not say which copy an output reads; here, as everywhere in
this emulator, an output reads the copies in the lanes where it lies itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch.fragments import DWORD, Fragment, Ints
from layoutprobe.arch.matrix import SCALED, Fragments, MatrixForm
from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.numbers.fused import from_zero
from layoutprobe.semantics import mai, silicon
from layoutprobe.semantics.operands import constant_bits, register_mask, settle
from layoutprobe.semantics.registry import Executor, UnsupportedFormError


class Reading(Struct, frozen=True, eq=False):
    """Outputs that read the same copies.

    Attributes:
        rows: rows of D, all blocks counted.
        copy: the copy of A and of B that they read.
    """

    rows: Ints
    copy: int

    __repr__ = brief


@cache
def readings(form: MatrixForm, wave: int) -> tuple[Reading, ...]:
    """The groups of outputs that share copies."""
    a, d = (form.fragments(wave)[name] for name in "AD")
    row = np.arange(d.lane.shape[1])
    if a.copies == 1:
        return (Reading(row, 0),)
    near = [np.isin(d.lane[0], a.lane[copy]).all(axis=1) for copy in range(a.copies)]
    return tuple(Reading(row[rows], copy) for copy, rows in enumerate(near))


def fast_f16(raw: Array) -> Array:
    """As `numbers_of`, f16: numpy has the type."""
    return raw.astype(np.uint16).view(np.float16).astype(np.float32)


def fast_bf16(raw: Array) -> Array:
    """As `numbers_of`, bf16: the upper half of an f32."""
    return (raw << np.uint32(16)).view(np.float32)


_FAST: dict[str, Callable[[Array], Array]] = {"f16": fast_f16, "bf16": fast_bf16}


def numbers_of(kind: str, raw: Array) -> Array:
    """float32 of raw elements of a float type; float64 of the type that needs it."""
    fast = _FAST.get(kind)
    if fast:
        return fast(raw)
    if element_type(kind).bits <= 8:
        return np.asarray(_table(kind).take(raw, mode="clip"))  # it has every code
    numbers = element_type(kind).decode(raw)
    return numbers if element_type(kind).bits > DWORD else numbers.astype(np.float32)


@cache
def _table(kind: str) -> Array:
    """float32 of every code of a narrow type."""
    return element_type(kind).values().astype(np.float32)


def gather(words: Array, fragment: Fragment, copy: int = 0) -> Array:
    """Raw elements of one copy: [wave, row, col] of registers [vgpr, wave, lane].

    Returns:
        of the smallest unsigned type that holds an element.
    """
    bits = fragment.bits
    unit = np.dtype(f"u{max(1, min(bits, DWORD) // 8)}")
    units = words.transpose(1, 0, 2).reshape(words.shape[1], -1).view(unit)
    place = _place(fragment, copy, words.shape[2], 8 * unit.itemsize)
    taken = units.take(place.first, axis=1)
    if bits == 8 * unit.itemsize:
        return taken
    if place.second is None:
        return np.asarray(taken >> place.shift & unit.type((1 << bits) - 1))
    wide = np.dtype(f"u{2 * unit.itemsize}")
    both = units.take(place.second, axis=1).astype(wide) << wide.type(8 * unit.itemsize) | taken
    return both if bits == DWORD * 2 else np.asarray(both >> place.shift & wide.type((1 << bits) - 1))


class _Place(Struct, frozen=True, eq=False):
    """Where elements lie in registers [vgpr, lane] that are looked at in units of 8, 16 or 32 bits.

    Attributes:
        first: the unit with the lowest bit of each element: [row, col].
        second: the next one of the same lane; None where no element lies in two.
        shift: the lowest bit in the first unit.
    """

    first: Ints
    second: Ints | None
    shift: Array

    __repr__ = brief


@cache
def _place(fragment: Fragment, copy: int, lanes: int, unit: int) -> _Place:
    lane, bit, per = fragment.lane[copy], fragment.bit[copy], DWORD // unit

    def at(number: Ints) -> Ints:
        return np.asarray((number // per * lanes + lane) * per + number % per)

    number, shift = np.divmod(bit, unit)
    last = fragment.vgprs * per - 1
    second = at(np.minimum(number + 1, last)) if (shift + fragment.bits > unit).any() else None
    return _Place(at(number), second, shift.astype(np.uint8))


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def scatter(words: Array, fragment: Fragment, raw: Array) -> None:
    """Writes raw elements [wave, row, col]; the other bits of their registers stay."""
    values = raw.transpose(1, 2, 0)
    lane, vgpr, shift = fragment.lane[0], fragment.vgpr[0], fragment.shift[0]
    if fragment.bits == DWORD:
        words[vgpr, :, lane] = values
        return
    for low in np.unique(shift):
        here = shift == low
        mask, placed = (
            ((1 << fragment.bits) - 1) << int(low),
            values[here].astype(np.uint64) << np.uint64(low),
        )
        _insert(words, vgpr[here], lane[here], placed, mask)
        if mask >> DWORD:
            _insert(words, vgpr[here] + 1, lane[here], placed >> np.uint64(DWORD), mask >> DWORD)


def _insert(words: Array, vgpr: Ints, lane: Ints, values: Array, mask: int) -> None:
    """Replaces some bits of registers, each of them once."""
    kept = words[vgpr, :, lane] & np.uint32(~mask & 0xFFFFFFFF)
    words[vgpr, :, lane] = kept | values.astype(np.uint32) & np.uint32(mask & 0xFFFFFFFF)


def rows_of(registers: Array, operand: Operand, count: int) -> Array:
    """Registers of an operand, or their undefined bits: [vgpr, wave, lane], no copy."""
    return registers[operand.index : operand.index + count]


class Source(Struct, frozen=True):
    """A or B of an instruction: registers, and how raw elements become numbers.

    Attributes:
        operand: which registers.
        kind: element type.
    """

    operand: Operand
    kind: str

    def numbers(self, raw: Array, fragment: Fragment, copy: int) -> Array:
        """float32, or float64 for integers, which are exact there: [wave, row, col]."""
        kind = element_type(self.kind)
        if kind.is_float:
            value = numbers_of(self.kind, raw)
            if self.operand.neg or self.operand.neg_hi:
                upper = fragment.bit[copy] // fragment.bits % 2 == 1
                negate = np.where(upper, self.operand.neg_hi, self.operand.neg)
                value = np.where(negate, -value, value)
            return value
        value = raw.astype(np.int64)
        sign = value >> kind.bits - 1 << kind.bits
        return (value - sign if self.operand.neg or kind.signed else value).astype(np.float64)


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
    inst = mai.negated(form, inst)
    _refuse(form, inst)
    target, opsel, moved = inst.dst[0], form.choice.number(inst.mods), mai.broadcast(form, inst.mods)
    a, b = Source(inst.src[0], form.a), Source(inst.src[1], form.b)
    last = inst.src[2]
    addend = target if form.sparse else last
    clamp = bool(inst.mods.get("clamp", 0))
    if not any(opsel in form.opsels(wave) for wave in form.waves):
        raise UnsupportedFormError(f"{inst.name} with op_sel {opsel}")
    touched = 0
    for operand in (*inst.src, target):
        touched |= register_mask(operand)
    scaled = form.scaled and inst.mods.get("abid", 0) & 1 == 1  # else all scales are 1

    def execute(c: Cohort) -> None:
        wave = c.regs.vgprs.shape[2]
        fragments = mai.arranged(form, wave, opsel, moved)
        mode = c.machine.facts.arithmetic
        mode = mode if mode in form.arithmetic else "ieee"
        registers = c.regs.vgprs
        undefined = _undefined(c, form, fragments, inst, scaled) if c.undef & touched else None
        index = gather(rows_of(registers, last, 1), fragments["index"]) if form.sparse else None
        added = _addend(c, form, fragments["C"], addend)
        doubled = index is not None and _doubled(index)
        adds = replace(form, a="f32") if doubled and element_type(form.a).is_float else form
        total = np.empty_like(added)
        for reading in readings(form, wave):
            rows, copy = reading.rows, reading.copy
            raw_a = gather(rows_of(registers, a.operand, fragments["A"].vgprs), fragments["A"], copy)
            left = a.numbers(raw_a, fragments["A"], copy)[:, rows]
            if index is not None:
                left = dense(left, index[:, rows])
            raw_b = gather(rows_of(registers, b.operand, fragments["B"].vgprs), fragments["B"], copy)
            right = b.numbers(raw_b, fragments["B"], copy)
            if scaled:
                left = _scaled(c, left, inst.src[3], fragments["scale A"], 2)
                right = _scaled(c, right, inst.src[4], fragments["scale B"], 1)
            total[:, rows] = by_block(adds, left, right, added[:, rows], clamp, mode)
        scatter(rows_of(registers, target, fragments["D"].vgprs), fragments["D"], total)
        if undefined is not None:
            _record(c, target, fragments["D"], undefined)

    return execute


def _scaled(c: Cohort, numbers: Array, operand: Operand, fragment: Fragment, axis: int) -> Array:
    """A or B times its scales, exactly; float64 where a scale is not 1. Along an axis k share a scale."""
    if operand.kind == "v":
        raw = gather(rows_of(c.regs.vgprs, operand, 1), fragment)
    else:
        shape = (len(c.waves), *fragment.lane.shape[1:])
        raw = np.full(shape, constant_bits(operand, DWORD)) >> fragment.shift[0] & 0xFF
    scales = element_type("e8m0").decode(raw)
    return numbers if (scales == 1).all() else np.asarray(numbers * np.repeat(scales, SCALED, axis=axis))


def by_block(form: MatrixForm, a: Array, b: Array, c: Array, clamp: bool, mode: str) -> Array:
    """Raw D of an instruction, block by block: [wave, row, col]."""
    if form.blocks == 1:
        return result_bits(form, a, b, c, clamp, mode)
    rows, cols = (np.array_split(np.arange(axis), form.blocks) for axis in (a.shape[1], b.shape[2]))
    return np.concatenate(
        [
            result_bits(form, a[:, i], b[:, :, j], np.ascontiguousarray(c[:, i]), clamp, mode)
            for i, j in zip(rows, cols, strict=True)
        ],
        axis=1,
    )


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


def _doubled(index: Array) -> bool:
    """Two elements of some group have one place: their sum may have more bits than their type."""
    return bool((index[..., 0::2] == index[..., 1::2]).any())


def _addend(c: Cohort, form: MatrixForm, fragment: Fragment, operand: Operand) -> Array:
    """Raw elements of C with their sign modifiers, as `gather` has them: [wave, row, col]."""
    width = form.result_bits
    if operand.kind == "v":
        raw = gather(rows_of(c.regs.vgprs, operand, fragment.vgprs), fragment)
    else:
        shape = (len(c.waves), *fragment.lane.shape[1:])
        bits = constant_bits(operand, width) & (1 << width) - 1
        raw = np.full(shape, bits, np.uint32 if fragment.whole else np.uint64)
    if form.result != "i32" and not form.sparse:
        sign = raw.dtype.type(1 << width - 1)
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
    if rule := form.adds.get(mode):
        start = np.ascontiguousarray(c).view(element_type(form.result).storage)
        summed = rule.total((form.a, form.b), a, b, start)
        return np.ascontiguousarray(summed).view(c.dtype)
    if form.result == "f32":
        if mode == "silicon":
            return silicon.multiply_add(silicon.Step(form.a), a, b, c)
        single = from_zero((form.a, form.b), a, b) + np.ascontiguousarray(c).view(np.float32)
        return single.view(np.uint32)
    if form.result == "f64":
        double: Array = np.matmul(a, b) + np.ascontiguousarray(c).view(np.float64)
        return double.view(np.uint64)
    wide = np.ascontiguousarray(numbers_of(form.result, c))
    if mode == "silicon":
        bits = silicon.multiply_add(silicon.Step(form.a, form.result), a, b, wide.view(np.uint32))
        value = np.ascontiguousarray(bits).view(np.float32).astype(np.float64)
    else:
        value = np.asarray(np.matmul(a, b, dtype=np.float64) + wide)
    return element_type(form.result).encode(value).astype(np.uint32)


# Definedness: an output is undefined where its row of A, its column of B, its C, or an index or a scale of
# its row or column is.


def _undefined(c: Cohort, form: MatrixForm, fragments: Fragments, inst: Inst, scaled: bool) -> Array:
    """Bool [wave, row, col] of D."""
    shadow = c.shadow.vgprs
    target, (a, b, last, *scales) = inst.dst[0], inst.src
    addend = target if form.sparse else last

    def bad_in(operand: Operand, name: str, copy: int = 0) -> Array:
        """Undefined bits of each of an operand's elements."""
        if operand.kind != "v":
            return np.zeros((len(c.waves), *fragments[name].lane.shape[1:]), np.uint32)
        return gather(rows_of(shadow, operand, fragments[name].vgprs), fragments[name], copy)

    bad = bad_in(addend, "C") != 0
    for reading in readings(form, shadow.shape[2]):
        rows, copy = reading.rows, reading.copy
        of_a = bad_in(a, "A", copy)[:, rows].any(axis=2)
        of_b = bad_in(b, "B", copy).any(axis=1)
        if scaled:
            of_a = of_a | bad_in(scales[0], "scale A").any(axis=2)
            of_b = of_b | bad_in(scales[1], "scale B").any(axis=1)
        columns = np.asarray(of_b).reshape(len(c.waves), form.blocks, form.shape[1])
        block = rows // form.shape[0]
        bad[:, rows] |= np.asarray(of_a)[:, :, None] | columns[:, block]
    if form.sparse:
        bad |= np.asarray(bad_in(last, "index").any(axis=2))[:, :, None]
    return bad


def _record(c: Cohort, target: Operand, fragment: Fragment, undefined: Array) -> None:
    scatter(
        rows_of(c.shadow.vgprs, target, fragment.vgprs),
        fragment,
        np.where(undefined, _mask(fragment.bits), np.uint64(0)),
    )
    for register in target.registers():
        settle(c, register)
