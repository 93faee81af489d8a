"""The matrix instructions; here, the fast path for 16x16x16 with replicated A and B in wave32.

Everything else (other layouts, wave64, sparse A, the card's arithmetic) is executed by `wmma_general`,
which executes this shape, too: tests compare the two.

Layout (RDNA3 ISA guide, 7.9; AMD matrix instruction calculator): lane l holds row l % 16 of A
and column l % 16 of B, k ascending with bit position; D[2 * v + l / 16][l % 16] is in VGPR v of
lane l. An output lane reads A and B of its own half-wave, so even rows depend on lanes 0-15 and
odd rows on lanes 16-31. EXEC is ignored for reads and for writes.

Arithmetic ("ieee"): products exact, summed in f32 from k = 0 up, then C added and rounded to the type of D. The
order on a card is not specified; here it is the same on every machine and for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from msgspec import Struct

from layoutprobe.arch import MatrixForm, is_matrix
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.numbers.fused import EXACT_SUMS, from_zero, largest_integer
from layoutprobe.semantics.operands import constant_bits, register_mask, settle
from layoutprobe.semantics.packed_ops import fields
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_group
from layoutprobe.semantics.wmma_general import bind_general

_EVEN = slice(0, 16, 2)
_ODD_UPPER = slice(17, 32, 2)
"""Lanes 17, 19, ...: the odd rows of A in the upper half-wave's copy."""

Expand = Callable[[Array], list[Array]]
"""uint32 registers -> one array per field of a register, low field first, ready for a matmul."""

_BF16 = element_type("bf16")
_F16_BIAS = np.float32(2.0**112)
_F16_MASK = np.int32(-0x70002000)  # 0x8FFFE000: sign, and the f16 exponent and fraction 13 bits up


def expand_f16(words: Array) -> list[Array]:
    """Both f16 halves of uint32 registers as f32.

    An f16 shifted up 13 bits is an f32 with its exponent too small by 112, subnormals included;
    one product mends both. Only infinities and NaN come out wrong, and take numpy's slow way.
    """
    signed = words.view(np.int32)
    low = np.left_shift(signed, np.int32(16))
    low >>= np.int32(3)
    high = np.right_shift(signed, np.int32(3))
    halves = []
    for bits in (low, high):
        bits &= _F16_MASK
        value = bits.view(np.float32)
        value *= _F16_BIAS
        halves.append(value)
    if max(h.max() for h in halves) > 65504 or min(h.min() for h in halves) < -65504:
        pairs = words.copy().view(np.float16).astype(np.float32)
        return [pairs[..., 0::2], pairs[..., 1::2]]
    return halves


def expand_bf16(words: Array) -> list[Array]:
    """Both bf16 halves of uint32 registers as f32."""
    return [(words << np.uint32(16)).view(np.float32), (words & np.uint32(0xFFFF0000)).view(np.float32)]


def _expand_int(bits: int, signed: bool) -> Expand:
    return lambda words: [f.astype(np.float64) for f in fields(words, bits, signed)]


class Form(Struct, frozen=True):
    """One WMMA instruction.

    Attributes:
        expand: how A and B registers become numbers; None for the integer forms, whose
            signedness stands in the instruction.
        int_bits: element width of the integer forms.
        result: "f32", "f16", "bf16" or "i32".
        kind: type of A and B.
    """

    expand: Expand | None
    int_bits: int
    result: str
    kind: str


_EXPAND: dict[str, tuple[Expand | None, int]] = {
    "f16": (expand_f16, 0),
    "bf16": (expand_bf16, 0),
    "iu8": (None, 8),
    "iu4": (None, 4),
}
"""Type of A and B -> see Form."""
_RESULTS = ("f32", "f16", "bf16", "i32")


@cache
def replicated_16x16x16(form: MatrixForm) -> Form | None:
    """The instruction as the fast path has it; None where its layout is not the one of that path."""
    if form.a != form.b or form.a not in _EXPAND or form.result not in _RESULTS or 32 not in form.waves:
        return None
    fragments = form.layout(form, 32, 0)
    a, b, d = (fragments[name] for name in "ABD")
    line, k = np.indices((16, 16))
    row, col = line, k
    lanes = np.stack([line, line + 16])
    fits = (
        form.blocks == 1
        and not form.sparse
        and a.lane.shape == b.lane.shape == lanes.shape
        and d.lane.shape == (1, 16, 16)
        and (a.lane == lanes).all()
        and (a.bit == k * form.bits).all()
        and (b.lane == lanes.transpose(0, 2, 1)).all()
        and (b.bit == (k * form.bits).T).all()
        and (d.lane == 16 * (row % 2) + col).all()
        and (d.bit == row // 2 * 32).all()
    )
    return Form(*_EXPAND[form.a], form.result, form.a) if fits else None


def rows_of_a(words: Array, expand: Expand) -> Array:
    """A as the outputs see it: [wave, row, k], each row from the half-wave of its outputs."""
    regs, waves = words.shape[0], words.shape[1]
    picked = np.empty((regs, waves, 16), np.uint32)
    picked[..., 0::2] = words[..., _EVEN]
    picked[..., 1::2] = words[..., _ODD_UPPER]
    parts = expand(picked)
    out = np.empty((waves, 16, regs * len(parts)), parts[0].dtype)
    for f, part in enumerate(parts):
        out[..., f :: len(parts)] = part.transpose(1, 2, 0)
    return out


def columns_of_b(words: Array, expand: Expand) -> list[Array]:
    """B as [wave, k, column]: one array when both half-waves agree, else one per half-wave."""
    lower, upper = words[..., :16], words[..., 16:]
    return [_columns(half, expand) for half in ((lower,) if np.array_equal(lower, upper) else (lower, upper))]


def _columns(words: Array, expand: Expand) -> Array:
    parts = expand(np.ascontiguousarray(words))
    out = np.empty((words.shape[1], words.shape[0] * len(parts), 16), parts[0].dtype)
    for f, part in enumerate(parts):
        out[:, f :: len(parts)] = part.transpose(1, 0, 2)
    return out


def multiply(kind: str, a: Array, b: list[Array], *, exact: bool) -> Array:
    """A * B as D registers: [vgpr, wave, lane]."""

    def product_of(rows: Array, columns: Array) -> Array:
        return np.matmul(rows, columns) if exact else from_zero((kind, kind), rows, columns)

    if len(b) == 1:
        product = product_of(a, b[0])
    else:
        product = np.empty((len(a), 16, 16), a.dtype)
        for half, columns in enumerate(b):
            product[:, half::2] = product_of(a[:, half::2], columns)
    # Rows 2v and 2v+1 are neighbours, and so are the half-waves that hold them.
    return np.asarray(product.reshape(len(a), 8, 32).transpose(1, 0, 2))


def form_of(inst: Inst) -> MatrixForm:
    """The instruction of that name, those modifiers, and so many registers of A and D.

    By registers families differ. What asks for most modifiers is meant.

    Raises:
        UnsupportedFormError: no family has it.
    """
    form = matrix_form(inst)
    if form is None:
        regs = inst.src[0].regs, inst.dst[0].regs
        raise UnsupportedFormError(f"{inst.name} with {regs[0]} registers of A and {regs[1]} of D")
    return form


def _watched(inst: Inst, multiply_add: Executor) -> Executor:
    def execute(c: Cohort) -> None:
        events = c.machine.events
        for tell in events.matrix:
            tell(c, inst)
        multiply_add(c)
        for tell in events.matrix_done:
            tell(c, inst)

    return execute


def _bind_any(inst: Inst, earlier: Sequence[Inst]) -> Executor:
    form = form_of(inst)
    general = bind_general(form, inst)
    shape = replicated_16x16x16(form)
    if shape is None:
        return _watched(inst, general)
    fast = _bind(shape, inst, earlier)

    def execute(c: Cohort) -> None:
        if c.regs.lanes == 32 and c.machine.facts.arithmetic == "ieee":
            fast(c)
        else:
            general(c)

    return _watched(inst, execute)


def _bind(form: Form, inst: Inst, earlier: Sequence[Inst]) -> Executor:
    a, b, c_operand = inst.src
    d = inst.dst[0]
    if inst.mods.get("opsel", 0) & 3:
        raise UnsupportedFormError(f"{inst.name} with op_sel on A or B")
    if form.int_bits:
        expand_a, expand_b = (_expand_int(form.int_bits, operand.neg) for operand in (a, b))
        if any(o.neg_hi for o in inst.src) or c_operand.neg:
            raise UnsupportedFormError(f"{inst.name} with neg_hi, or neg on C")
    else:
        if form.expand is None:
            raise UnsupportedFormError(inst.name)
        expand_a, expand_b = (_negated(form.expand, operand) for operand in (a, b))
    # Another form reads the same registers in another way.
    keep_a, keep_b = ((role, inst.name, o.index, o.neg, o.neg_hi) for role, o in (("A", a), ("B", b)))
    reuse_a, reuse_b = _unchanged(a, 0, inst, earlier), _unchanged(b, 1, inst, earlier)
    upper = bool(inst.mods.get("opsel", 0) & 4)
    accumulate = _accumulator(form, inst, c_operand, d, upper)
    touched = 0
    for operand in (*inst.src, d):
        touched |= register_mask(operand)

    def multiply_add(c: Cohort) -> None:
        held = c.fragments
        if not reuse_a:
            rows = rows_of_a(c.regs.rows(a.index, a.regs), expand_a)
            held[keep_a] = rows, largest_integer(rows)
        if not reuse_b:
            columns = columns_of_b(c.regs.rows(b.index, b.regs), expand_b)
            held[keep_b] = columns, max(map(largest_integer, columns))
        undefined = _undefined(c, a, b, c_operand, form, upper) if c.undef & touched else None
        (rows, most_a), (columns, most_b) = held[keep_a], held[keep_b]
        exact = most_a * most_b * rows.shape[2] <= EXACT_SUMS  # in any order, and BLAS has one of its own
        accumulate(c, multiply(form.kind, rows, columns, exact=exact))
        if c.undef & touched:
            _record(c, d, form, upper, undefined)

    return multiply_add


def _negated(expand: Expand, operand: Operand) -> Expand:
    """NEG negates the low half of each register, NEG_HI the high half (RDNA3 ISA guide, 7.9)."""
    if not operand.neg and not operand.neg_hi:
        return expand

    def negated(words: Array) -> list[Array]:
        low, high = expand(words)
        return [-low if operand.neg else low, -high if operand.neg_hi else high]

    return negated


def _unchanged(operand: Operand, role: int, inst: Inst, earlier: Sequence[Inst]) -> bool:
    """A previous WMMA of this block has expanded the same registers in the same role since they
    were last written."""
    registers = set(operand.registers())
    for before in reversed(earlier):
        written = [r for half in (before, *before.pair) for o in half.dst for r in o.registers()]
        overwritten = not registers.isdisjoint(written)
        if before.name == inst.name and before.src[role] == operand:
            return not overwritten
        if overwritten or (
            before.name.startswith("v_swap") and not registers.isdisjoint(before.src[0].registers())
        ):
            return False
        if picks_registers(before):  # which register it writes is known at run time only
            return False
    return False


def _accumulator(
    form: Form, inst: Inst, source: Operand, target: Operand, upper: bool
) -> Callable[[Cohort, Array], None]:
    """Adds C to the product and writes D."""
    at, d = source.index, target.index
    shift = np.uint32(16 if upper else 0)
    keep = np.uint32(0x0000FFFF if upper else 0xFFFF0000)
    clamp = bool(inst.mods.get("clamp", 0))

    def c_words(c: Cohort) -> Array:
        if source.kind == "v":
            return c.regs.rows(at, 8)
        return np.full(
            (1, 1, 1), constant_bits(source, 16 if form.result in ("f16", "bf16") else 32), np.uint32
        )

    def modified(value: Array) -> Array:
        value = np.abs(value) if source.neg_hi else value
        return -value if source.neg else value

    def f32(c: Cohort, product: Array) -> None:
        added = c_words(c).view(np.float32)
        out = c.regs.rows(d, 8).view(np.float32)
        np.add(product, modified(added) if source.neg or source.neg_hi else added, out=out)

    def half(c: Cohort, product: Array) -> None:
        words = c_words(c) >> (shift if source.kind == "v" else np.uint32(0))
        if form.result == "f16":
            value = modified(
                (words & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float64)
            )
            bits = (product + value).astype(np.float16).view(np.uint16)
        else:
            value = modified((words << np.uint32(16)).view(np.float32).astype(np.float64))
            bits = _BF16.encode(product + value)
        out = c.regs.rows(d, 8)
        out[...] = (out & keep) | bits.astype(np.uint32) << shift

    def i32(c: Cohort, product: Array) -> None:
        total = product.astype(np.int64) + c_words(c).view(np.int32)
        if clamp:
            total = np.clip(total, -(2**31), 2**31 - 1)
        c.regs.rows(d, 8)[...] = total.astype(np.uint32)

    return {"f32": f32, "f16": half, "bf16": half, "i32": i32}[form.result]


# Definedness: an output is undefined where its row of A, its column of B, or its C is.


def _undefined(c: Cohort, a: Operand, b: Operand, source: Operand, form: Form, upper: bool) -> Array:
    """Bool [vgpr, wave, lane] of D."""
    rows = np.asarray(c.shadow.rows(a.index, a.regs).any(axis=0))
    columns = np.asarray(c.shadow.rows(b.index, b.regs).any(axis=0))
    bad = np.empty((8, len(c.waves), 32), np.bool_)
    for v in range(8):
        bad[v, :, :16] = rows[:, 2 * v, None]
        bad[v, :, 16:] = rows[:, 2 * v + 17, None]
    bad |= columns
    if source.kind == "v":
        words = c.shadow.rows(source.index, 8)
        if form.result in ("f16", "bf16"):
            words = words & np.uint32(0xFFFF0000 if upper else 0x0000FFFF)
        bad |= words != 0
    return bad


def _record(c: Cohort, d: Operand, form: Form, upper: bool, undefined: Array | None) -> None:
    shadow = c.shadow.rows(d.index, 8)
    written = np.uint32(0xFFFFFFFF)
    if form.result in ("f16", "bf16"):
        written = np.uint32(0xFFFF0000 if upper else 0x0000FFFF)
    shadow &= ~written
    if undefined is not None:
        shadow |= np.where(undefined, written, np.uint32(0))
    for register in range(VGPR0 + d.index, VGPR0 + d.index + 8):
        settle(c, register)


register_group(is_matrix, _bind_any)
