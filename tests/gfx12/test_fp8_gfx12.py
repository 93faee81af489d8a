"""8-bit floats: every code, and every rounding, against tables made from the formats' definition."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from math import inf, isnan, nan

import numpy as np
import pytest
from emulator.lab import Array, fresh, launch, outputs, undefined
from scaffold import scaffolded

LANES = 256
FORMATS = {"fp8": (4, 3, 7), "bf8": (5, 2, 15)}
"""Bits of the exponent, of the fraction, and the bias (OCP 8-bit floating point specification)."""


def number(name: str, code: int) -> float:
    """What a code stands for."""
    exponents, fractions, bias = FORMATS[name]
    exponent, fraction = code >> fractions & (1 << exponents) - 1, code & (1 << fractions) - 1
    sign = -1 if code >> 7 else 1
    if name == "bf8" and exponent == 31:
        return sign * inf if fraction == 0 else nan
    if name == "fp8" and code & 127 == 127:
        return nan
    if exponent == 0:
        return float(sign * Fraction(fraction, 1 << fractions) * Fraction(2) ** (1 - bias))
    return float(sign * (1 + Fraction(fraction, 1 << fractions)) * Fraction(2) ** (exponent - bias))


def nearest(name: str, value: float) -> int:
    """The code of the nearest number, of two equally near ones the even code."""
    sign = 0x80 if np.signbit(value) else 0
    if isnan(value):
        return sign | 127
    size = abs(value)
    finite = [c for c in range(128) if abs(number(name, c)) < inf]
    at = bisect_left([number(name, c) for c in finite], size)
    if at == len(finite):  # beyond the largest: half a step further it would round away from it
        step = number(name, finite[-1]) - number(name, finite[-2])
        return sign | (finite[-1] if size < number(name, finite[-1]) + step / 2 else finite[-1] + 1)
    if at == 0 or number(name, finite[at]) == size:
        return sign | at
    low, high = Fraction(size) - Fraction(number(name, at - 1)), Fraction(number(name, at)) - Fraction(size)
    return sign | (at - 1 if low < high or (low == high and at % 2) else at)


def run(body: str, *inputs: Array, results: int = 1) -> list[Array]:
    loads = "".join(
        f" global_load_b32 v{3 + i}, v1, s[{6 + 2 * i}:{7 + 2 * i}]\n" for i in range(len(inputs))
    )
    stores = "".join(
        f" global_store_b32 v1, v{8 + i}, s[4:5] offset:{4 * LANES * i}\n" for i in range(results)
    )
    text = f"v_lshlrev_b32 v1, 2, v0\n {loads} s_wait_loadcnt 0x0\n {body}\n {stores}"
    code = scaffolded(text, target="gfx1200", pointers=1 + len(inputs))
    return list(outputs(code, [fresh((results, LANES)), *inputs], block=(LANES,))[0])


def same(got: Array, wanted: Array) -> bool:
    return bool(((got == wanted) | (np.isnan(got) & np.isnan(wanted))).all())


CODES = range(256)
SHUFFLED = [np.random.default_rng(seed).permutation(256) for seed in range(4)]
PACKED = np.asarray(sum(s << 8 * i for i, s in enumerate(SHUFFLED)), np.uint32)
"""Every code in every byte, no two bytes of a lane alike."""


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_of_every_byte(name: str) -> None:
    table = np.array([number(name, c) for c in CODES], np.float32)
    for byte in range(4):
        got = run(f"v_cvt_f32_{name} v8, v3 byte_sel:{byte}", PACKED)[0].view(np.float32)
        assert same(got, table[SHUFFLED[byte]]), byte
    assert same(run(f"v_cvt_f32_{name}_e32 v8, v3", PACKED)[0].view(np.float32), table[SHUFFLED[0]])


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_of_both_halves(name: str) -> None:
    table = np.array([number(name, c) for c in CODES], np.float32)
    for half in (0, 1):
        got = run(f"v_cvt_pk_f32_{name} v[8:9], v3 op_sel:[{half},0]", PACKED, results=2)
        for i in (0, 1):
            assert same(got[i].view(np.float32), table[SHUFFLED[2 * half + i]]), (half, i)


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_to_the_nearest(name: str) -> None:
    numbers = sorted({abs(number(name, c)) for c in CODES if abs(number(name, c)) < inf})
    middles = [(a + b) / 2 for a, b in pairwise(numbers)]
    values = [
        *numbers,
        *middles,
        *(np.nextafter(np.float32(m), s) for m in middles for s in (np.float32(0), np.float32(inf))),
    ]
    values += [numbers[-1] * f for f in (1.01, 1.0625, 1.07, 1.2, 1e6)] + [inf, nan, 1e-30, 1e-45]
    x = np.resize(np.array([*values, *(-v for v in values)], np.float32), (8, LANES))
    wanted = np.array([[nearest(name, float(v)) for v in row] for row in x])
    for row, codes in zip(x, wanted, strict=True):
        other = row[::-1].copy()
        body = f"v_mov_b32 v8, 0xabcd1234\n v_cvt_pk_{name}_f32 v8, v3, v4"
        got = run(body, row.view(np.uint32), other.view(np.uint32))[0]
        assert (got >> 16 == 0xABCD).all()
        assert np.array_equal(got & 0xFF, codes)
        assert np.array_equal(got >> 8 & 0xFF, codes[::-1])
        upper = run(body + " op_sel:[0,0,1]", row.view(np.uint32), other.view(np.uint32))[0]
        assert np.array_equal(upper, codes[::-1] << 24 | codes << 16 | 0x1234)


def test_only_the_bytes_that_are_read_must_be_defined() -> None:
    """v3 is never written; one byte of it is made defined and converted."""
    body = """
      v_lshlrev_b32 v1, 2, v0
      v_and_b32 v3, 0xffff00ff, v3
      v_cvt_f32_fp8 v2, v3 byte_sel:{byte}
      global_store_b32 v1, v2, s[4:5]
    """
    for byte, bad in ((1, False), (0, True), (2, True)):
        code = scaffolded(body.format(byte=byte), target="gfx1200", pointers=1)
        assert undefined(launch(code, [fresh(32)])).any() == bad, byte


@pytest.mark.parametrize("left", FORMATS)
@pytest.mark.parametrize("right", FORMATS)
def test_dot_products(left: str, right: str) -> None:
    """Small integers, so that no order of the sum rounds."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 5, (2, 4, LANES))
    codes = [
        sum(_codes(kind, values) << 8 * i for i, values in enumerate(x))
        for kind, x in ((left, a), (right, b))
    ]
    c = rng.integers(-100, 100, LANES).astype(np.float32)
    inputs = [np.asarray(x, np.uint32) for x in codes]
    got = run(f"v_dot4_f32_{left}_{right} v8, v3, v4, v5", *inputs, c.view(np.uint32))[0].view(np.float32)
    assert np.array_equal(got, (a * b).sum(axis=0) + c)


def _codes(name: str, values: Array) -> Array:
    table = {number(name, c): c for c in range(256)}
    return np.array([table[float(v)] for v in values])
