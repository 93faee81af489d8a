"""The six WMMA instructions against formulas of our own, with random matrices."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from emulator.fragments import (
    FLOATS,
    FORMS,
    accumulator,
    decoded,
    encoded,
    expected,
    f16_value,
    from_rows,
    loads,
    pack,
    replicated,
    signed,
    small_floats,
    stores,
    to_rows,
    value,
)
from emulator.lab import LANES, Array, assembled, fresh, launch, outputs

from layoutprobe.arch import TARGETS
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.semantics.wmma_general import result_bits


@cache
def kernel(
    form: str, modifiers: str = "", before: str = "s_nop 0", at_d: int = 40, at_c: int = 40
) -> CodeObject:
    """D = A * B + C from raw registers: A in v[10:], B in v[20:], C in v[at_c:], D in v[at_d:]."""
    n = FORMS[form].registers
    body = f"""
      {loads(10, n, 6)}
      {loads(20, n, 8)}
      {loads(at_c, 8, 10)}
      {before}
      {FORMS[form].name} v[{at_d}:{at_d + 7}], v[10:{9 + n}], v[20:{19 + n}], v[{at_c}:{at_c + 7}] {modifiers}
      s_mov_b32 exec_lo, -1
      {stores(at_d)}
    """
    return assembled(body, pointers=4)


def run(form: str, a: Array, b: Array, c: Array, modifiers: str = "", **options: Any) -> Array:
    """D registers, uint32 [vgpr, lane]."""
    code = kernel(form, modifiers, **options)
    return outputs(code, [fresh((8, LANES)), a, b, c])[0]


# Layout and arithmetic.


@pytest.mark.parametrize("form", FLOATS)
def test_float_forms_multiply_random_matrices(form: str) -> None:
    a, b = small_floats(form, 1), small_floats(form, 2)
    c, c_registers = accumulator(form, 3)
    d = to_rows(run(form, replicated(pack(a, 16)), replicated(pack(b, 16)), c_registers))
    wanted = expected(form, a, b, c)
    assert len(np.unique(wanted)) > 100
    assert np.array_equal(encoded(form, wanted), d & (0xFFFFFFFF if form.startswith("f32") else 0xFFFF))


@pytest.mark.parametrize("form", ["i32_iu8", "i32_iu4"])
@pytest.mark.parametrize("a_signed", [False, True])
@pytest.mark.parametrize("b_signed", [False, True])
def test_integer_forms_take_their_signs_from_neg(form: str, a_signed: bool, b_signed: bool) -> None:
    bits = FORMS[form].bits
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 1 << bits, (2, 16, 16))
    c = rng.integers(-(1 << 31), 1 << 31, (16, 16))
    registers = from_rows((c & 0xFFFFFFFF).astype(np.uint32))
    negs = f"neg_lo:[{int(a_signed)},{int(b_signed)},0]"
    d = to_rows(run(form, replicated(pack(a, bits)), replicated(pack(b, bits)), registers, negs))
    left = signed(a, bits) if a_signed else a
    right = signed(b, bits) if b_signed else b
    assert np.array_equal((left @ right.T + c) & 0xFFFFFFFF, d)


@pytest.mark.parametrize("form", FLOATS)
def test_each_half_wave_uses_its_own_copies(form: str) -> None:
    """Different matrices in lanes 16-31: odd rows come from them, even rows do not change."""
    a, b, a_upper, b_upper = (small_floats(form, seed) for seed in (5, 6, 7, 8))
    c, registers = accumulator(form, 9)
    mask = 0xFFFFFFFF if form.startswith("f32") else 0xFFFF
    same_a, same_b = replicated(pack(a, 16)), replicated(pack(b, 16))
    other_a, other_b = (
        replicated(pack(a, 16), pack(a_upper, 16)),
        replicated(pack(b, 16), pack(b_upper, 16)),
    )
    for left, right, upper in (
        (other_a, same_b, (a_upper, b)),
        (same_a, other_b, (a, b_upper)),
        (other_a, other_b, (a_upper, b_upper)),
    ):
        d = to_rows(run(form, left, right, registers)) & mask
        wanted = expected(form, a, b, c, upper)
        assert np.array_equal(encoded(form, wanted), d)
        plain = encoded(form, expected(form, a, b, c))
        assert np.array_equal(plain[0::2], d[0::2])
        assert (plain[1::2] != d[1::2]).mean() > 0.9


@pytest.mark.parametrize("form", ["i32_iu8", "i32_iu4"])
def test_integer_forms_use_their_own_copies_too(form: str) -> None:
    bits = FORMS[form].bits
    a, a_upper, b, b_upper = np.random.default_rng(10).integers(0, 1 << bits, (4, 16, 16))
    zero = np.zeros((8, LANES), np.uint32)
    left, right = (
        replicated(pack(a, bits), pack(a_upper, bits)),
        replicated(pack(b, bits), pack(b_upper, bits)),
    )
    d = to_rows(run(form, left, right, zero))
    assert np.array_equal(d[0::2], (a @ b.T)[0::2])
    assert np.array_equal(d[1::2], (a_upper @ b_upper.T)[1::2])


@pytest.mark.parametrize("form", ["f32_f16", "i32_iu8", "f16_f16"])
@pytest.mark.parametrize("mask", ["0x0000ffff", "0x00000001", "0"])
def test_exec_is_ignored(form: str, mask: str) -> None:
    a, b = (np.random.default_rng(s).integers(0, 256, (16, 16)) for s in (11, 12))
    if form.endswith("f16"):
        a, b = small_floats(form, 11), small_floats(form, 12)
    _, c = accumulator("f32_f16" if form == "f32_f16" else "f16_f16", 13)
    left, right = (replicated(pack(m, FORMS[form].bits)) for m in (a, b))
    assert np.array_equal(
        run(form, left, right, c), run(form, left, right, c, before=f"s_mov_b32 exec_lo, {mask}")
    )


# Registers that overlap.


@pytest.mark.parametrize(("d", "c"), [(40, 40), (40, 60), (10, 40), (20, 40), (14, 40), (44, 40), (36, 40)])
def test_sources_are_read_before_the_result_is_written(d: int, c: int) -> None:
    """D may lie on A, on B, across both, or shifted over C."""
    form = "f32_f16"
    a, b = small_floats(form, 14), small_floats(form, 15)
    values, registers = accumulator(form, 16)
    got = to_rows(run(form, replicated(pack(a, 16)), replicated(pack(b, 16)), registers, at_d=d, at_c=c))
    assert np.array_equal(decoded(form, got), expected(form, a, b, values))


def test_a_constant_as_c() -> None:
    a, b = small_floats("f32_f16", 17), small_floats("f32_f16", 18)
    for form, constant, wanted in (("f32_f16", "1.0", 1.0), ("f16_f16", "1.0", 1.0), ("f32_f16", "0", 0.0)):
        body = f"""
          {loads(10, 8, 6)}
          {loads(20, 8, 8)}
          {"".join(f"v_mov_b32 v{40 + i}, 0" + chr(10) for i in range(8))}
          {FORMS[form].name} v[40:47], v[10:17], v[20:27], {constant}
          {stores(40)}
        """
        got = outputs(
            assembled(body, pointers=3), [fresh((8, LANES)), replicated(pack(a, 16)), replicated(pack(b, 16))]
        )[0]
        assert np.array_equal(
            encoded(form, expected("f32_f16", a, b, np.full((16, 16), wanted))), to_rows(got)
        )


# 16-bit results.


@pytest.mark.parametrize("form", ["f16_f16", "bf16_bf16"])
@pytest.mark.parametrize("upper", [False, True])
def test_op_sel_picks_a_half_and_the_other_one_stays(form: str, upper: bool) -> None:
    a, b = small_floats(form, 19), small_floats(form, 20)
    rng = np.random.default_rng(21)
    values, low = accumulator(form, 22)
    noise = rng.integers(0, 1 << 16, (8, LANES)).astype(np.uint32)
    registers = (low << 16 | noise) if upper else (noise << 16 | low)
    left, right = replicated(pack(a, 16)), replicated(pack(b, 16))
    d = run(form, left, right, registers, "op_sel:[0,0,1]" if upper else "")
    kept, result = (d & 0xFFFF, d >> 16) if upper else (d >> 16, d & 0xFFFF)
    assert np.array_equal(kept, noise)
    assert np.array_equal(to_rows(result), encoded(form, expected(form, a, b, values)))


def test_the_unselected_half_is_the_destinations_not_that_of_c() -> None:
    """Without _tied the compiler may give D other registers than C."""
    a, b = small_floats("f16_f16", 23), small_floats("f16_f16", 24)
    values, low = accumulator("f16_f16", 25)
    before = "\n".join(f"v_mov_b32 v{60 + i}, {i + 1:#x}0000" for i in range(8))
    d = run(
        "f16_f16", replicated(pack(a, 16)), replicated(pack(b, 16)), low | 0xABCD0000, before=before, at_d=60
    )
    assert np.array_equal(d >> 16, np.repeat(np.arange(1, 9)[:, None], LANES, axis=1))
    assert np.array_equal(to_rows(d & 0xFFFF), encoded("f16_f16", expected("f16_f16", a, b, values)))


# Signs of floats, and values that are not ordinary.


@pytest.mark.parametrize(
    ("modifiers", "a_signs", "b_signs"),
    [
        ("neg_lo:[1,0,0]", (-1, 1), (1, 1)),
        ("neg_hi:[1,0,0]", (1, -1), (1, 1)),
        ("neg_lo:[0,1,0]", (1, 1), (-1, 1)),
        ("neg_lo:[1,1,0] neg_hi:[0,1,0]", (-1, 1), (-1, -1)),
    ],
)
def test_neg_and_neg_hi_act_on_even_and_odd_k(
    modifiers: str, a_signs: tuple[int, int], b_signs: tuple[int, int]
) -> None:
    a, b = small_floats("f32_f16", 26), small_floats("f32_f16", 27)
    values, registers = accumulator("f32_f16", 28)
    d = run("f32_f16", replicated(pack(a, 16)), replicated(pack(b, 16)), registers, modifiers)
    left, right = f16_value(a) * np.tile(a_signs, 8), f16_value(b) * np.tile(b_signs, 8)
    assert np.array_equal(decoded("f32_f16", to_rows(d)), left @ right.T + values)


@pytest.mark.parametrize(
    ("modifiers", "change"),
    [
        ("neg_lo:[0,0,1]", lambda c: -c),
        ("neg_hi:[0,0,1]", np.abs),
        ("neg_lo:[0,0,1] neg_hi:[0,0,1]", lambda c: -abs(c)),
    ],
)
def test_neg_and_neg_hi_of_c(modifiers: str, change: object) -> None:
    assert callable(change)
    a, b = small_floats("f32_f16", 29), small_floats("f32_f16", 30)
    values, registers = accumulator("f32_f16", 31)
    d = run("f32_f16", replicated(pack(a, 16)), replicated(pack(b, 16)), registers, modifiers)
    assert np.array_equal(decoded("f32_f16", to_rows(d)), expected("f32_f16", a, b, change(values)))


def test_subnormal_f16_inputs_count() -> None:
    rng = np.random.default_rng(32)
    a = rng.integers(1, 0x400, (16, 16)).astype(np.uint16)  # every f16 subnormal is a multiple of 2**-24
    b = np.full((16, 16), np.float16(1024).view(np.uint16))
    b[rng.random((16, 16)) < 0.5] = np.float16(-512).view(np.uint16)
    zero = np.zeros((8, LANES), np.uint32)
    d = to_rows(run("f32_f16", replicated(pack(a, 16)), replicated(pack(b, 16)), zero))
    wanted = f16_value(a) @ f16_value(b).T
    assert np.array_equal(decoded("f32_f16", d), wanted)
    assert (wanted != 0).mean() > 0.9


@pytest.mark.parametrize("form", FLOATS)
def test_infinities_and_nans_spoil_their_row_or_column_only(form: str) -> None:
    codes = {"inf": 0x7F80 if "bf16" in form else 0x7C00, "nan": 0x7FC0 if "bf16" in form else 0x7E00}
    a, b = small_floats(form, 33), small_floats(form, 34)
    a[3, 5], b[7, 2] = codes["inf"], codes["nan"]
    b[:, 5] = (
        np.abs(value(form, b[:, 5])).astype(np.float16).view(np.uint16)
        if "bf16" not in form
        else b[:, 5] & 0x7FFF
    )
    b[:, 5] |= 1 << 9  # no zero meets the infinity
    c, registers = accumulator(form, 35)
    d = decoded(form, to_rows(run(form, replicated(pack(a, 16)), replicated(pack(b, 16)), registers)))
    wanted = expected(form, a, b, c)
    assert np.isnan(d[:, 7]).all()
    assert np.isinf(np.delete(d[3], 7)).all()
    assert (np.delete(d[3], 7) > 0).all()
    finite = np.isfinite(wanted)
    assert np.allclose(
        d[finite], wanted[finite], rtol=2**-7 if form.endswith("bf16_bf16") else 2**-10, atol=1e-3
    )
    assert np.isfinite(d[finite]).all()


def test_f16_results_round_to_nearest_even() -> None:
    """One product and C whose exact sum lies half way between two f16 values."""
    a, b = np.zeros((2, 16, 16), np.uint16)
    rng = np.random.default_rng(36)
    a[:, 0], b[:, 0] = np.float16(1).view(np.uint16), np.float16(0.5).view(np.uint16)
    c = rng.integers(1024, 2048, (16, 16)).astype(np.float64)
    registers = from_rows(encoded("f16_f16", c))
    d = to_rows(run("f16_f16", replicated(pack(a, 16)), replicated(pack(b, 16)), registers))
    wanted = (c + 0.5).astype(np.float16).astype(np.float64)
    assert np.array_equal(decoded("f16_f16", d), wanted)
    assert set((wanted - c).ravel()) == {0.0, 1.0}


def test_bf16_results_are_rounded_once() -> None:
    """2**-8 is half way between 1 and the next bf16; 2**-30 more, which no f32 sum shows, decides."""
    one, half_way, tiny = 0x3F80, 0x3B80, 0x3080
    a, b = np.zeros((2, 16, 16), np.uint16)
    a[:, 0], b[:, 0] = one, half_way
    a[::2, 1], b[:, 1] = one, tiny
    registers = from_rows(encoded("bf16_bf16", np.ones((16, 16))))
    d = decoded(
        "bf16_bf16", to_rows(run("bf16_bf16", replicated(pack(a, 16)), replicated(pack(b, 16)), registers))
    )
    assert (d[::2] == 1 + 2.0**-7).all()
    assert (d[1::2] == 1).all()
    form = TARGETS["gfx1151"].matrix["v_wmma_bf16_16x16x16_bf16"]
    left, right = (np.array([[[1.0, 1.0]]]), np.array([[[2.0**-8], [2.0**-30]]]))
    bits = result_bits(form, left, right, np.array([[[one]]], np.uint32), False, "ieee")
    assert bits.tolist() == [[[0x3F81]]]


# Undefined operands.


def defined_lanes(first: int, count: int, pointer: int, skip: int) -> str:
    """Load registers in all lanes but one."""
    mask = ~(1 << skip) & 0xFFFFFFFF
    return f"s_mov_b32 exec_lo, {mask:#x}\n{loads(first, count, pointer)}\ns_mov_b32 exec_lo, -1"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("operand", ["A", "B"])
def test_an_undefined_slot_spoils_exactly_the_outputs_that_read_it(form: str, operand: str) -> None:
    """Row r of A in the half-wave of row r's outputs is live; its copy in the other half is dead."""
    n = FORMS[form].registers
    width = 0xFFFFFFFF if FORMS[form].result in ("f32", "i32") else 0xFFFF
    data = np.zeros((8, LANES), np.uint32)
    for lane in (0, 1, 6, 15, 16, 17, 22, 31):
        a_load = defined_lanes(10, n, 6, lane) if operand == "A" else loads(10, n, 6)
        b_load = defined_lanes(20, n, 6, lane) if operand == "B" else loads(20, n, 6)
        zeros = "\n".join(f"v_mov_b32 v{40 + i}, 0" for i in range(8))
        product = f"{FORMS[form].name} v[40:47], v[10:{9 + n}], v[20:{19 + n}], v[40:47]"
        body = "\n".join([a_load, b_load, zeros, product, stores(40)])
        bits = launch(assembled(body), [fresh((8, LANES)), data]).undefined[0]
        wanted = np.zeros((16, 16), np.uint32)
        half, index = lane // 16, lane % 16
        if operand == "A" and index % 2 == half:
            wanted[index] = width
        if operand == "B":
            wanted[half::2, index] = width
        got = np.zeros((16, 16), np.uint32) if bits is None else to_rows(bits)
        assert np.array_equal(got, wanted), f"lane {lane}"


def test_an_undefined_accumulator_spoils_its_own_element() -> None:
    data = np.zeros((8, LANES), np.uint32)
    body = f"""
      {loads(10, 8, 6)}
      {loads(20, 8, 6)}
      {loads(40, 8, 6)}
      s_mov_b32 exec_lo, 0x00200000
      v_mov_b32 v43, v99
      s_mov_b32 exec_lo, -1
      v_wmma_f32_16x16x16_f16 v[50:57], v[10:17], v[20:27], v[40:47]
      {stores(50)}
    """
    bits = launch(assembled(body), [fresh((8, LANES)), data]).undefined[0]
    assert bits is not None
    assert np.argwhere(to_rows(bits)).tolist() == [[7, 5]]


@pytest.mark.parametrize(("upper", "kept"), [(False, 0xFFFF0000), (True, 0x0000FFFF)])
def test_a_16_bit_result_keeps_the_definedness_of_the_other_half(upper: bool, kept: int) -> None:
    """C defined in the half that op_sel picks, undefined in the other: D likewise."""
    data = np.zeros((8, LANES), np.uint32)
    half = "v_mov_b16_e32 v{}.h, 0" if upper else "v_mov_b16_e32 v{}.l, 0"
    body = f"""
      {loads(10, 8, 6)}
      {loads(20, 8, 6)}
      {chr(10).join(half.format(40 + i) for i in range(8))}
      v_wmma_f16_16x16x16_f16 v[40:47], v[10:17], v[20:27], v[40:47] {"op_sel:[0,0,1]" if upper else ""}
      {stores(40)}
    """
    bits = launch(assembled(body), [fresh((8, LANES)), data]).undefined[0]
    assert bits is not None
    assert (bits == kept).all()


def test_a_result_redefines_its_registers() -> None:
    data = np.zeros((8, LANES), np.uint32)
    product = "v_wmma_f32_16x16x16_f16 v[40:47], v[10:17], v[20:27], 0"
    body = "\n".join([loads(10, 8, 6), loads(20, 8, 6), product, stores(40)])
    outputs(assembled(body), [fresh((8, LANES)), data])
