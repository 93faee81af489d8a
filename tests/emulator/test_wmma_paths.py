"""The fast path of one shape, 16x16x16 with replicated A and B in wave32, against the general path.

The general path takes nothing but the form's fragments. Both get the same registers: copies that differ,
small numbers (so that every sum is exact in any order), modifiers, halves, and undefined bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.arch.fragments import Fragment
from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.registers import RegisterFile
from layoutprobe.numbers import element_type
from layoutprobe.semantics.registry import Executor, bind
from layoutprobe.semantics.wmma import replicated_16x16x16
from layoutprobe.semantics.wmma_general import bind_general

WAVES = 3
FORMS = list(TARGETS["gfx1151"].matrix.values())
Words = NDArray[np.uint32]


def cases() -> Iterator[tuple[str, MatrixForm, Inst]]:
    for form in FORMS:
        plain = inst_of(form)
        yield f"{form.name}", form, plain
        a, b, c = plain.src
        if form.a.startswith("iu"):
            yield f"{form.name} signed", form, replace(plain, src=(replace(a, neg=True), b, c))
            both = (replace(a, neg=True), replace(b, neg=True), c)
            yield f"{form.name} clamp", form, replace(plain, src=both, mods={"clamp": 1})
        else:
            negated = (replace(a, neg=True), replace(b, neg_hi=True), replace(c, neg=True, neg_hi=True))
            yield f"{form.name} negated", form, replace(plain, src=negated)
            one = Operand("const", 242, c.regs, c.bits, "F16" if form.result == "f16" else "F32")
            if form.result != "bf16":
                yield f"{form.name} C = 1.0", form, replace(plain, src=(a, b, one))
        if form.halves:
            yield f"{form.name} upper half", form, replace(plain, mods={"opsel": 4})


def inst_of(form: MatrixForm) -> Inst:
    vgprs, operands, at = form.vgprs(32), [], 0
    for name in "ABCD":
        operands.append(Operand("v", at, vgprs[name], 32 * vgprs[name]))
        at += vgprs[name]
    return Inst(0, 8, form.name, "VOP3P", (operands[3],), tuple(operands[:3]))


CASES = list(cases())


def filled(form: MatrixForm, count: int, rng: np.random.Generator) -> Words:
    """Registers of small numbers: [vgpr, wave, lane]; A and B in every field, so that copies differ."""
    words = np.zeros((count, WAVES, 32), np.uint32)
    vgprs, at = form.vgprs(32), 0
    for name, kind in (("A", form.a), ("B", form.b), ("C", form.result), ("D", form.result)):
        bits, part = element_type(kind).bits, words[at : at + vgprs[name]]
        for low in range(0, 32, bits):
            numbers = rng.integers(0 if kind.startswith("iu") else -3, 4, part.shape)
            raw = element_type(kind).encode(numbers if kind[0] == "i" else numbers.astype(float))
            part |= raw.astype(np.uint32) << np.uint32(low)
        at += vgprs[name]
    return words


def after(run: Executor | None, words: Words, shadow: Words) -> tuple[Words, Words]:
    """Registers and undefined bits after an instruction."""
    index = np.arange(WAVES)
    groups = Waves(index, np.zeros_like(index), np.zeros((WAVES, 3), np.int64))
    regs, masks = (RegisterFile.filled(len(words), WAVES, 32, 0) for _ in range(2))
    regs.vgprs[...], masks.vgprs[...] = words, shadow
    undef = sum(1 << VGPR0 + int(r) for r in np.flatnonzero(shadow.any(axis=(1, 2))))
    assert run is not None
    run(Cohort(Machine(Arena(16, []), groups, 32), 0, index, regs, masks, undef))
    return regs.vgprs, masks.vgprs


@pytest.mark.parametrize(("form", "inst"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_fast_path_does_what_the_general_one_does(form: MatrixForm, inst: Inst) -> None:
    assert replicated_16x16x16(form)
    rng = np.random.default_rng(FORMS.index(form))
    words = filled(form, inst.dst[0].index + inst.dst[0].regs, rng)
    for undefined in (0, 5):
        shadow = np.zeros_like(words)
        for _ in range(undefined):
            shadow[tuple(rng.integers(0, n) for n in (inst.dst[0].index, WAVES, 32))] = 0xFFFFFFFF
        fast, general = after(bind(inst), words, shadow), after(bind_general(form, inst), words, shadow)
        for one, other in zip(fast, general, strict=True):
            np.testing.assert_array_equal(one, other)
        assert not np.array_equal(fast[0], words)
        assert undefined == 0 or fast[1].any()


@pytest.mark.parametrize(
    "change",
    [
        lambda a: Fragment(a.lane ^ 16, a.bit, a.vgprs, a.bits),
        lambda a: Fragment(a.lane[:1], a.bit[:1], a.vgprs, a.bits),
        lambda a: Fragment(a.lane, a.bit[..., ::-1], a.vgprs, a.bits),
    ],
    ids=["copies exchanged", "one copy", "k backwards"],
)
def test_another_layout_does_not_take_the_fast_path(change: object) -> None:
    form = FORMS[0]
    assert callable(change)
    moved = replace(
        form, layout=lambda f, w, o: {**form.layout(f, w, o), "A": change(form.layout(f, w, o)["A"])}
    )
    assert replicated_16x16x16(moved) is None
    assert all(replicated_16x16x16(other) is None for other in TARGETS["gfx1201"].matrix.values())
