"""8-bit floats: every code, and every rounding, against tables made from the formats' definition."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest
from emulator.lab import Array, fresh, launch, outputs, undefined
from scaffold import scaffolded
from small_floats import nearest, number

LANES = 256
FORMATS = ("fp8", "bf8")


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
