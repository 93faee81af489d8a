"""Products of every dense matrix instruction, against exact arithmetic; operands that overlap; constants."""

from __future__ import annotations

import numpy as np
import pytest

from cdna.alone import Alone, Numbers
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.isa.inst import EXEC_LO, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.registers import RegisterFile
from layoutprobe.numbers import element_type
from layoutprobe.semantics import bind, execute

DENSE = [
    (target, form)
    for target in ("gfx942", "gfx950")
    for form in TARGETS[target].matrix.values()
    if not form.sparse and not form.scaled
]


def name_of(case: object) -> str:
    return case.spelling if isinstance(case, MatrixForm) else str(case)


def numbers_for(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Numbers:
    """Numbers of mixed signs, most of them with fractions, whose sums f32 holds exactly."""
    if kind in ("i8", "i32"):
        return rng.integers(-128, 128, shape).astype(float)
    values = {"fp4": 0.5 * np.arange(-3, 4), "bf8": 0.25 * np.arange(-4, 5), "bf6": 0.25 * np.arange(-4, 5)}
    return rng.choice(values.get(kind, 0.125 * np.arange(-8, 9)), shape)


def matrices(form: MatrixForm, seed: int) -> tuple[Numbers, Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    (m, n, k), blocks = form.shape, form.blocks
    a = numbers_for(rng, form.a.removesuffix("_fnuz"), (m * blocks, k))
    b = numbers_for(rng, form.b.removesuffix("_fnuz"), (k, n * blocks))
    return a, b, rng.integers(-99, 100, (m * blocks, n * blocks)).astype(float)


def diagonal(form: MatrixForm) -> np.ndarray:
    (m, n, _), blocks = form.shape, form.blocks
    return np.kron(np.eye(blocks), np.ones((m, n))) == 1


@pytest.mark.parametrize(("target", "form"), DENSE, ids=name_of)
def test_every_product_is_exact(target: str, form: MatrixForm) -> None:
    """Whole registers, bits outside of D's included, and all operands but D stay as they were."""
    a, b, c = matrices(form, 3)
    alone = Alone(form.spelling, target == "gfx942").give(a, b, c)
    found, where = alone.product(), diagonal(form)
    np.testing.assert_array_equal(found[where], (a @ b + c)[where])
    for kind, numbers in zip((form.a, form.b, form.result), (a, b, c), strict=True):
        assert element_type(kind).holds(numbers).all()


def test_integers_wrap() -> None:
    name = "v_mfma_i32_16x16x32_i8"
    a, b = np.full((16, 32), -128.0), np.full((32, 16), -128.0)
    c = np.full((16, 16), 2.0**31 - 1)
    wanted = (32 * 128 * 128 + 2**31 - 1 + 2**31) % 2**32 - 2**31
    assert (Alone(name).give(a, b, c).product() == wanted).all()


@pytest.mark.parametrize(("code", "value"), [(128, 0.0), (242, 1.0), (245, -2.0), (248, 0.15915494309189532)])
def test_c_may_be_an_inline_constant(code: int, value: float) -> None:
    for name, dtype in (("v_mfma_f32_16x16x16_f16", "f4"), ("v_mfma_f64_16x16x4_f64", "f8")):
        form = TARGETS["gfx942"].matrix[name]
        a, b, c = matrices(form, 5)
        a = a if value in (0, 1, -2) else 0 * a  # a sum with a fraction of that length is rounded
        alone = Alone(name, constant=code).give(a, b, c)
        np.testing.assert_array_equal(alone.product(), a @ b + np.array(value, dtype).astype(float))


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("which", ["A", "B", "C"])
def test_d_may_overlap_what_is_read(which: str, shift: int) -> None:
    """All of A, B and C are read before D is written: as with D elsewhere."""
    name = "v_mfma_f32_16x16x32_f16"
    rng = np.random.default_rng(abs(shift))
    words = rng.standard_normal((40, 1, 2 * 64)).astype(np.float16).view(np.uint32)
    at = {"A": 8, "B": 16, "C": 24}
    sources = tuple(Operand("v", first, 4, 128) for first in at.values())

    def d_at(first: int) -> np.ndarray:
        inst = Inst(0, 8, name, "MAI", (Operand("v", first, 4, 128),), sources)
        return execute(inst, words)[first : first + 4]

    np.testing.assert_array_equal(d_at(at[which] + shift), d_at(32))


def cohort(words: np.ndarray, undefined: np.ndarray, exec_mask: int) -> Cohort:
    """One wave with these registers [vgpr, lane]."""
    index = np.arange(1)
    regs, shadow = (RegisterFile.filled(len(words), 1, 64, 0) for _ in range(2))
    regs.vgprs[:, 0], shadow.vgprs[:, 0] = words, undefined
    regs.sgprs[EXEC_LO : EXEC_LO + 2, 0, 0] = exec_mask & 0xFFFFFFFF, exec_mask >> 32
    bits = sum(1 << 256 + int(register) for register in np.flatnonzero(undefined.any(axis=1)))
    machine = Machine(Arena(16, []), Waves(index, 0 * index, np.zeros((1, 3), np.int64)), 64)
    return Cohort(machine, 0, index, regs, shadow, bits)


def test_exec_is_ignored() -> None:
    name = "v_mfma_f32_32x32x8_f16"
    words = np.random.default_rng(1).standard_normal((40, 128)).astype(np.float16).view(np.uint32)
    sources = (Operand("v", 0, 2), Operand("v", 2, 2), Operand("v", 4, 16))
    run = bind(Inst(0, 8, name, "MAI", (Operand("v", 20, 16),), sources))
    assert run is not None
    results = []
    for mask in ((1 << 64) - 1, 0x123, 0):
        c = cohort(words, 0 * words, mask)
        run(c)
        results.append(c.regs.vgprs.copy())
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert (results[0][20:36, 0] != words[20:36]).all()


def test_undefined_bits_reach_the_row_the_column_and_the_block_alone() -> None:
    """v_mfma_f32_16x16x4_4b_f16: A of block 1 row 2, B of block 2 column 3, C of block 3, row 4, column 5."""
    undefined = np.zeros((40, 64), np.uint32)
    undefined[0, 16 + 2] = 1 << 20
    undefined[3, 32 + 3] = 1
    undefined[4 + 4 * 3 + 0, 16 * 1 + 5] = 1 << 31
    sources = (Operand("v", 0, 2), Operand("v", 2, 2), Operand("v", 4, 16))
    inst = Inst(0, 8, "v_mfma_f32_16x16x4_4b_f16", "MAI", (Operand("v", 20, 16),), sources)
    c = cohort(np.zeros((40, 64), np.uint32), undefined, (1 << 64) - 1)
    run = bind(inst)
    assert run is not None
    run(c)
    wanted = np.zeros((16, 64), bool)
    wanted[4 * 1 + 2, :16] = True  # row 2: VGPR 2 of the block's four, lanes 0 to 15
    wanted[8:12, 3::16] = True
    wanted[12, 16 + 5] = True
    np.testing.assert_array_equal(c.shadow.vgprs[20:36, 0] != 0, wanted)
