"""SDWA: sources are bytes or halves of registers, and the result goes to a byte or a half.

Source: CDNA3 ISA guide, "SDWA". A selected source is zero- or sign-extended, then takes abs and neg. What the
result does not cover becomes 0, copies of its sign (above it), or stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.op import Op, modified
from layoutprobe.semantics.operands import DTYPES, sign_modifier, width_of
from layoutprobe.semantics.registry import UnsupportedFormError

_U = np.uint32
_FIELDS = {0: (0, 8), 1: (8, 8), 2: (16, 8), 3: (24, 8), 4: (0, 16), 5: (16, 16), 6: (0, 32)}
"""BYTE_0 to BYTE_3, WORD_0, WORD_1, DWORD: lowest bit and width."""
_PAD, _SEXT, _PRESERVE = 0, 1, 2
_KEYS = ("dst_sel", "dst_unused", "src0_sel", "src1_sel", "src0_sext", "src1_sext", "clamp", "omod")


def sub_dword(op: Op, inst: Inst) -> tuple[Op, Inst]:
    """The operation and the instruction without SDWA that do the same: on whole registers.

    Raises:
        UnsupportedFormError: an operation that SDWA does not have.
    """
    if op.implicit or any(width_of(k) > 32 for k in (*op.sources, *op.results) if k != "mask"):
        raise UnsupportedFormError(f"{inst.name} with SDWA")
    whole = modified(op, inst)
    picks = [_source(inst, i, kind) for i, kind in enumerate(op.sources)]
    place, keeps = _destination(inst), op.results[0] != "mask" and inst.mods["dst_unused"] == _PRESERVE
    writes_mask = op.results[0] == "mask"

    def split(words: Sequence[Array]) -> tuple[list[Array], Array]:
        parts = [pick(word) for pick, word in zip(picks, words, strict=False)]
        return parts, words[-1] if keeps else np.zeros((1, 1), _U)

    def compute(*words: Array) -> tuple[Array, ...]:
        sources, old = split(words)
        first, *rest = whole(*sources)
        return (first if writes_mask else place(_word(first, op.results[0]), old), *rest)

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        sources, _ = split(values)
        bits = [
            pick(word) if kind == "mask" else _unsigned(pick(word))
            for pick, word, kind in zip(undefined, shadows, op.sources, strict=False)
        ]
        old = shadows[-1] if keeps else np.zeros((1, 1), _U)
        inner = [1 if kind == "mask" else width_of(kind) for kind in op.results]
        first, *rest = whole.rule(sources, bits, inner)
        return [first if writes_mask else place(first.astype(_U), old), *rest]

    undefined = [_source(inst, i, kind, shadow=True) for i, kind in enumerate(op.sources)]
    plain = Op(
        op.name,
        op.results if writes_mask else ("u32", *op.results[1:]),
        tuple("mask" if kind == "mask" else "u32" for kind in op.sources),
        compute,
        rule,
        ("u32",) if keeps else (),
    )
    return plain, _plain(inst, writes_mask)


def _plain(inst: Inst, writes_mask: bool) -> Inst:
    mods = {key: value for key, value in inst.mods.items() if key not in _KEYS}
    src = tuple(o if o.fmt.startswith("M") else _register(o) for o in inst.src)
    dst = inst.dst if writes_mask else (_register(inst.dst[0]), *inst.dst[1:])
    return replace(inst, src=src, dst=dst, mods=mods)


def _register(operand: Operand) -> Operand:
    """All of an operand's register."""
    return replace(operand, bits=32, regs=1, hi=False, neg=False, abs=False)


def _source(inst: Inst, index: int, kind: str, *, shadow: bool = False) -> Callable[[Array], Array]:
    """What makes a value of the type out of a register, or its undefined bits out of those of the register."""
    if kind == "mask":
        return lambda lanes: lanes
    low, width = _FIELDS[inst.mods[f"src{index}_sel"]]
    signed = inst.mods[f"src{index}_sext"]
    operand = replace(inst.src[index], neg=inst.src[index].neg and not shadow)
    modify = sign_modifier(operand, kind)

    def pick(word: Array) -> Array:
        field = np.left_shift(word, _U(32 - low - width))
        field = (field.view(np.int32) >> np.int32(32 - width)).view(_U) if signed else field >> _U(32 - width)
        value = (field.astype(np.uint16) if width_of(kind) == 16 else field).view(DTYPES[kind])
        return value if modify is None else modify(value)

    return pick


def _unsigned(values: Array) -> Array:
    return values.view(f"u{values.dtype.itemsize}")


def _word(values: Array, kind: str) -> Array:
    """A result as bits of a whole register, 0 above it."""
    typed = values if values.dtype == DTYPES[kind] else values.astype(DTYPES[kind])
    return _unsigned(typed).astype(_U)


def _destination(inst: Inst) -> Callable[[Array, Array], Array]:
    """Result and old register -> new register; the same for undefined bits."""
    (low, width), unused = _FIELDS[inst.mods["dst_sel"]], inst.mods["dst_unused"]
    covered = _U(((1 << width) - 1) << low)

    def place(word: Array, old: Array) -> Array:
        if unused == _SEXT:
            top = (word << _U(32 - width)).view(np.int32) >> np.int32(32 - width)
            return top.view(_U) << _U(low)
        field = (word << _U(low)) & covered
        return field | old & ~covered if unused == _PRESERVE else field

    return place
