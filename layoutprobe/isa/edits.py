"""Small changes of one decoded instruction: what its author may have meant in its place.

A change is a guess. It says in words what is executed otherwise, and gives the instructions that are executed;
whether anything is mended by it, a run must show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from layoutprobe.isa.edit import Edit, Known, Made, Values, edit, role, with_source
from layoutprobe.isa.edits_of_constants import constants, number, real, reals
from layoutprobe.isa.edits_of_names import (
    base,
    dropped,
    halves,
    lanes,
    names,
    offsets,
    one_more,
    rounding,
)
from layoutprobe.isa.inst import VCC_LO, Inst, Operand
from layoutprobe.isa.kind import Kind


def edits(inst: Inst, known: Known) -> Iterator[Edit]:
    """Changes of an instruction that stay what it is to the program: it writes what it writes, and is no branch."""
    if inst.pair:
        for at, half in enumerate(inst.pair):
            for one in _of_one(half, known):
                yield _in_pair(inst, at, one)
        return
    if not inst.name.startswith(_DECIDED):
        yield from _of_one(inst, known)


_DECIDED = (
    "v_div_",
    "s_wait",
    "s_delay",
    "s_nop",
    "s_clause",
    "s_barrier",
    "s_set",
    "s_endpgm",
    "s_branch",
    "s_cbranch",
)
"""Beginnings of names of instructions of which nothing is meant otherwise: parts of a division, waits, branches."""


def _in_pair(inst: Inst, at: int, of_half: Edit) -> Edit:
    def make(values: Values) -> Made:
        made = of_half.make(values)
        if not made:
            return (inst.pair[1 - at],)
        if made[0] == inst.pair[at]:
            return (inst, *made[1:])
        if len(made) > 1:  # what comes first would be seen by the other half
            return (inst,)
        return (replace(inst, pair=tuple(made[0] if n == at else half for n, half in enumerate(inst.pair))),)

    return replace(of_half, key=(at, *of_half.key), make=make)


def _of_one(inst: Inst, known: Known) -> Iterator[Edit]:
    for kind in _KINDS:
        yield from kind(inst, known)


# Comparisons

_COMPARISON = re.compile(r"^(v_cmpx?_|s_cmpk?_)(n?(?:lt|le|gt|ge|eq|ne|lg|neq))_(\w)(\d+)$")
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "lg": "!=", "neq": "!="}
_NEAR = {
    "lt": "le",
    "le": "lt",
    "gt": "ge",
    "ge": "gt",
    "nlt": "nle",
    "nle": "nlt",
    "ngt": "nge",
    "nge": "ngt",
}
_OTHER = {
    "lt": ("gt", "eq", "ne"),
    "le": ("ge", "eq", "ne"),
    "gt": ("lt", "eq", "ne"),
    "ge": ("le", "eq", "ne"),
    "eq": ("ne", "le", "ge", "lt", "gt"),
    "ne": ("eq", "lt", "gt", "le", "ge"),
    "lg": ("eq", "lt", "gt", "le", "ge"),
    "neq": ("eq", "lt", "gt", "le", "ge"),
}


def _comparisons(inst: Inst, _: Known) -> Iterator[Edit]:
    found = _COMPARISON.match(inst.name)
    if found is None:
        return
    form, test, letter, bits = found.groups()

    def named(other: str, letter: str = letter) -> Inst:
        spelt = "neq" if letter == "f" and other == "ne" else other
        spelt = "lg" if form.startswith("s_") and other == "ne" else spelt
        return replace(inst, name=f"{form}{spelt}_{letter}{bits}")

    def told(other: str) -> str:
        if other.startswith("n") and other[1:] in _SIGNS:
            return f"`not {_SIGNS[other[1:]]}`"
        return f"`{_SIGNS[other]}`"

    if test in _NEAR:
        yield edit(
            ("compare", _NEAR[test]), f"{told(_NEAR[test])} in place of {told(test)}", 0, named(_NEAR[test])
        )
    for n, other in enumerate(_OTHER.get(test, ())):
        yield edit(("compare", other), f"{told(other)} in place of {told(test)}", 1.5 + n * 0.1, named(other))
    if letter in "iu":
        sign = {"i": "u", "u": "i"}[letter]
        says = "a comparison without a sign" if letter == "i" else "a comparison with a sign"
        yield edit(("sign",), says, 2, named(test, sign))


def _one_off(inst: Inst, _: Known) -> Iterator[Edit]:
    """A bound one higher or lower: the register is changed before the comparison, and back behind it."""
    found = _COMPARISON.match(inst.name)
    if found is None or found[3] not in "iu" or found[4] != "32" or found[1].startswith("s_"):
        return
    scalar = any(operand.kind == "s" for operand in inst.src)
    for at, operand in enumerate(inst.src):
        kind = "s" if scalar else "v"
        if operand.kind != kind or (kind == "v" and "cmpx" in inst.name):
            continue  # behind a v_cmpx lanes are off, and keep the changed register
        name, form = ("s_add_i32", "SOP2") if kind == "s" else ("v_add_nc_u32", "VOP2")
        register = replace(operand, fmt="I32" if kind == "s" else "U32")
        for by in (1, -1):
            there, back = (
                Inst(inst.pc, inst.size, name, form, (register,), (register, number(step, register)))
                for step in (by, -by)
            )
            says = f"1 {'added to' if by > 0 else 'subtracted from'} one side of the comparison"
            yield edit(("bound", at, by), says, 0.8, there, inst, back)


# Other operands


def _arguments(inst: Inst, known: Known) -> Iterator[Edit]:
    """Another argument of the kernel in place of what a scalar register holds."""
    for at, operand in enumerate(inst.src):
        if operand.kind != "s" or operand.regs != 1 or operand.index >= VCC_LO or operand.fmt not in _SCALARS:
            continue
        held = known.held.get(operand.index, "")
        names = known.floats if operand.fmt == "F32" else known.integers
        names = (*names, *known.floats) if operand.fmt == "B32" else names
        for name in names:
            if name != held and (not held or (name in known.extents) == (held in known.extents)):
                here = held or f"what s{operand.index} holds"
                yield _argument(
                    inst, at, operand, name, f"argument {name} in place of {here}", 0.5 if held else 2.5
                )


_SCALARS = ("U32", "I32", "B32", "F32")


def _argument(inst: Inst, at: int, operand: Operand, name: str, says: str, rank: float) -> Edit:
    def make(values: Values) -> Made:
        return (with_source(inst, at, number(values[name], operand)),)

    return Edit(("argument", at, name), says, rank, make)


def _registers(inst: Inst, known: Known) -> Iterator[Edit]:
    """What a neighbour reads in place of what an instruction reads."""
    if inst.kind & (Kind.MATRIX | Kind.LOAD | Kind.STORE):
        return
    for at, operand in enumerate(inst.src):
        if operand.kind != "v" or operand.regs != 1 or operand.hi:
            continue
        for other in known.registers:
            if other != operand.index:
                says = f"v{other} in place of v{operand.index}"
                yield edit(
                    ("register", at, other), says, 6, with_source(inst, at, replace(operand, index=other))
                )


def _neutral(inst: Inst, _: Known) -> Iterator[Edit]:
    """One operand left out: nothing added, no factor."""
    if not inst.name.startswith(_SUMS):
        return
    for at, operand in enumerate(inst.src):
        if operand.kind not in ("v", "s") or operand.regs > 2 or operand.fmt.startswith("M"):
            continue
        for value in (0, 1):
            made = real(float(value), operand) if operand.fmt.startswith("F") else number(value, operand)
            if made is not None and operand.regs == 1:
                what = "first" if at == 0 else "second" if at == 1 else "third"
                says = f"{value} in place of the {what} operand"
                yield edit(("neutral", at, value), says, 3.5 + value * 0.1, with_source(inst, at, made))


_SUMS = (
    "v_add_", "v_sub", "v_mul_", "v_fma", "v_fmac", "v_mad", "s_add_", "s_sub_", "s_mul_i", "v_lshl_add", "v_add3",
    "v_lshl_or", "v_xor_b32", "v_or_b32", "v_and_b32", "s_and_b32", "v_and_or", "v_max_", "v_min_", "v_xad",
    "v_fmaak", "v_fmamk",
)  # fmt: skip


def _signs(inst: Inst, _: Known) -> Iterator[Edit]:
    """The sign of a float operand, or its absolute value."""
    if Kind.MATRIX in inst.kind or not inst.name.startswith(("v_", "s_")):
        return
    for at, operand in enumerate(inst.src):
        if operand.kind in ("v", "s") and operand.fmt in ("F32", "F16"):
            which = role(inst, at)
            turned = with_source(inst, at, replace(operand, neg=not operand.neg))
            yield edit(("sign", at), f"the sign of {which} changed", 1.2, turned)
            if operand.abs:
                whole = with_source(inst, at, replace(operand, abs=False))
                yield edit(("size", at), f"{which} with its sign", 3, whole)
        elif operand.kind in ("v", "s") and operand.fmt.startswith(("PK2_F", "PK2_BF")):
            low, high = replace(operand, neg=not operand.neg), replace(operand, neg_hi=not operand.neg_hi)
            for which, other in (("low", low), ("high", high)):
                says = f"the sign of the {which} half of {role(inst, at)} changed"
                yield edit(("sign", at, which), says, 1.3, with_source(inst, at, other))


def _exchanged(inst: Inst, _: Known) -> Iterator[Edit]:
    """Operands in the other order, where that matters."""
    if inst.name.startswith(("v_cndmask", "s_cselect")):
        first, second, *rest = inst.src
        says = "the two values of the choice exchanged"
        yield edit(("exchange",), says, 1.5, replace(inst, src=(second, first, *rest)))
    elif inst.name.startswith(("v_sub_nc", "v_sub_i", "v_sub_u", "s_sub_")) or Kind.MATRIX in inst.kind:
        first, second, *rest = inst.src
        says = "the first two operands exchanged"
        if first.regs == second.regs and first.kind == second.kind:
            yield edit(("exchange",), says, 1.5, replace(inst, src=(second, first, *rest)))


_KINDS: Sequence[Callable[[Inst, Known], Iterator[Edit]]] = (
    _comparisons,
    _one_off,
    _arguments,
    constants,
    reals,
    _signs,
    _exchanged,
    names,
    rounding,
    base,
    lanes,
    halves,
    _neutral,
    one_more,
    offsets,
    dropped,
    _registers,
)
