"""Every matrix instruction of every family: the form in C against numpy, bit by bit, with every choice that it has.

Values are random numbers whose sums are rounded, and random bits; of two NaN any payload may come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from oracle.forms import generator
from oracle.harness import Image
from oracle.language import current, speaking
from sampling import one_in

from layoutprobe import semantics
from layoutprobe.arch import find
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.isa.inst import EXEC_LO, Inst, Operand
from layoutprobe.numbers import element_type
from native.alone import Alone

WAVES = 3
A, B, C, D, INDEX = 1, 17, 34, 67, 100
REGISTERS = 104
TARGETS = ("gfx1151", "gfx1201", "gfx942", "gfx950")
LEFT_TO_NUMPY = ("xf32", "fp6", "bf6")


def _operand(first: int, regs: int, kind: str = "", **signs: bool) -> Operand:
    return Operand("v", first, regs, 32 * regs, kind, **signs)


def _insts(form: MatrixForm, lanes: int) -> Iterator[Inst]:
    """With C elsewhere, in D, and constant; with signs; with every op_sel."""
    regs = form.vgprs(lanes)
    a, b, d = (_operand(n, regs[name]) for n, name in ((A, "A"), (B, "B"), (D, "D")))
    last = _operand(INDEX, regs["index"]) if form.sparse else _operand(C, regs["C"])
    for opsel in form.opsels(lanes):
        plain = Inst(0, 8, form.name, "VOP3P", (d,), (a, b, last), form.chosen(opsel))
        yield plain
        if form.sparse:
            continue
        yield replace(plain, src=(a, b, d))
        yield replace(plain, src=(a, b, Operand("const", 128 + 5, regs["C"], 32 * regs["C"])))
        if form.modifiers:
            yield from _signed(form, plain)
    for mods in _broadcasts(form):
        yield replace(plain, mods={**plain.mods, **mods})


def _signed(form: MatrixForm, plain: Inst) -> Iterator[Inst]:
    a, b, c = plain.src
    if form.result == "i32":
        yield replace(plain, src=(replace(a, neg=True), b, c), mods={**plain.mods, "clamp": 1})
        yield replace(plain, src=(replace(a, neg=True), replace(b, neg=True), c))
    elif element_type(form.a).bits == 16:
        signs = replace(a, neg=True), replace(b, neg_hi=True), replace(c, neg=True, neg_hi=True)
        yield replace(plain, src=signs)


def _broadcasts(form: MatrixForm) -> Iterator[dict[str, int]]:
    if "A" in form.broadcasts:
        yield {"cbsz": 1, "abid": 1}
    if "B" in form.broadcasts:
        yield from ({"blgp": n} for n in (1, 2, 3, 5))
    if form.a == "f64":
        yield {"blgp": 5}


def _values(form: MatrixForm, rng: np.random.Generator, lanes: int, kind: str) -> Any:
    """Registers [vgpr, wave, lane]: random bits, or normal numbers."""
    words = rng.integers(0, 1 << 32, (REGISTERS, WAVES, lanes), np.uint32)
    if kind == "bits":
        return words
    for first, end, name in ((A, B, form.a), (B, C, form.b), (C, INDEX, form.result)):
        if element_type(name).is_float:
            raw = element_type(name).encode(rng.normal(size=(end - first, WAVES, lanes, 4)) * 2)
            narrow = np.ascontiguousarray(raw).view(np.uint8).reshape(end - first, WAVES, lanes, -1)
            words[first:end] = narrow[..., :4].copy().view(np.uint32)[..., 0]
            if name == "f64":  # the upper halves are pairs' second registers
                words[first + 1 : end : 2] = narrow[1::2, ..., 4:8].copy().view(np.uint32)[..., 0]
    return words


def _without_nan(words: Any, kind: str) -> Any:
    d = words[D : D + 32].copy()
    if kind == "f64":
        high = d[1::2] & np.uint32(0x7FFFFFFF) > np.uint32(0x7FF00000)
        nan = np.repeat(high, 2, axis=0)
    elif kind == "f32":
        nan = d & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000)
    elif kind in ("f16", "bf16"):
        halves, most = d.view(np.uint16), 0x7C00 if kind == "f16" else 0x7F80
        halves[halves & np.uint16(0x7FFF) > np.uint16(most)] = 0
        nan = np.zeros(d.shape, np.bool_)
    else:
        nan = np.zeros(d.shape, np.bool_)
    return np.where(nan, np.uint32(0), d)


@pytest.mark.few(1)
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("target", TARGETS)
def test_matrix_forms(target: str, lanes: int) -> None:
    forms = one_in(3, [f for f in find(target).matrix.values() if lanes in f.waves and not f.scaled])
    cases = [(form, inst) for form in forms for inst in _insts(form, lanes)]
    if not cases:
        assert (target, lanes) in (("gfx942", 32), ("gfx950", 32))
        return
    with speaking(replace(current(), lanes=lanes)):
        alone = Alone([inst for _, inst in cases])
        wrong = []
        for n, (form, inst) in enumerate(cases):
            left = form.a in LEFT_TO_NUMPY or form.b in LEFT_TO_NUMPY
            assert alone.is_native(n) != left, form.spelling
            for kind in ("numbers", "bits"):
                image = Image.zeros(WAVES)
                image.v = _values(form, generator(form.spelling, n), lanes, kind)
                image.s[EXEC_LO : EXEC_LO + lanes // 32] = 0xAAAA5555  # is ignored
                nothing = Image(np.zeros_like(image.v), np.zeros_like(image.s))
                got, undefined = alone.run(n, image, nothing)
                assert not undefined.v.any()
                want = semantics.execute(inst, image.v)
                ours, numpys = (_without_nan(x, form.result) for x in (got.v, want))
                if not np.array_equal(ours, numpys):
                    where = np.argwhere(ours != numpys)
                    at = tuple(int(x) for x in where[0])
                    wrong.append(f"{form.spelling} {inst.mods} {kind}: {len(where)} words, v{D + at[0]} lane "
                                 f"{at[2]}: {ours[at]:#x}, numpy {numpys[at]:#x}")  # fmt: skip
        assert not wrong, f"{len(wrong)} of {2 * len(cases)}:\n" + "\n".join(wrong[:25])
