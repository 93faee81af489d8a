"""Kernels as strangers write them, compiled without and with optimisation, against numpy and Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.gate.unproven import unproven
from layoutprobe.isa.store import load_instructions
from layoutprobe.numbers import element_type
from layoutprobe.toolchain.compile import compile_hip

Array = NDArray[Any]
Run = Callable[..., list[Array]]
KERNELS = Path(__file__).parent / "kernels" / "strangers.hip"
LANE = np.arange(64)
ONES = (1 << 64) - 1


@cache
def compiled(target: str, level: str) -> CodeObject:
    return load(compile_hip(KERNELS, target=target, flags=(level,)).data)


@pytest.fixture(params=[(t, o) for t in ("gfx942", "gfx950") for o in ("-O0", "-O3")], ids="".join)
def build(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Target, and how much the compiler optimises."""
    target, level = request.param
    return target, level


@pytest.fixture
def run(build: tuple[str, str]) -> Run:
    """Runs a kernel; arrays are buffers, all of which must be defined afterwards."""

    def launch(kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *args: Any) -> list[Array]:
        given = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
        result = EmulatorBackend().run(Launch(compiled(*build), kernel, extent(grid), extent(block), given))
        assert all(bits is None for bits in result.undefined)
        return [buffer for buffer in result.buffers if buffer is not None]

    return launch


def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def extent(given: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*given, 1, 1)
    return x, y, z


def as_signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


@pytest.mark.few(1)
def test_reduction_with_dpp(run: Run) -> None:
    x = numbers(1).integers(-8, 8, (3, 1000)).astype(np.float32)
    out = run("reduce", (3,), (256,), x, np.zeros(3, np.float32), np.int32(1000))[1]
    np.testing.assert_array_equal(out, x.sum(1))


@pytest.mark.few(1)
def test_softmax(run: Run) -> None:
    x = (numbers(2).standard_normal((3, 200)) * 5).astype(np.float32)
    y = run("softmax", (3,), (64,), x, np.zeros_like(x), np.int32(200))[1]
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=1e-8)


def test_quantised_to_i8(run: Run) -> None:
    x = numbers(3).standard_normal((2, 300)).astype(np.float32)
    _, q, scale = run("quantise_i8", (2,), (64,), x, np.zeros(x.shape, np.int8), np.zeros(2, np.float32),
                      np.int32(300))  # fmt: skip
    wanted = np.abs(x).max(1) / np.float32(127)
    np.testing.assert_array_equal(scale, wanted)
    np.testing.assert_array_equal(q, np.rint(x / wanted[:, None]))


def test_quantised_to_fp8(run: Run, build: tuple[str, str]) -> None:
    x = (numbers(4).standard_normal(1024) * 100).astype(np.float32)
    q = run("quantise_fp8", (4,), (64,), x, np.zeros(256, np.uint32), np.float32(0.5))[1]
    kind = element_type("fp8_fnuz" if build[0] == "gfx942" else "fp8")
    np.testing.assert_array_equal(q.view(np.uint8), kind.encode(x * np.float32(0.5)))


def test_quantised_by_random_bits(run: Run, build: tuple[str, str]) -> None:
    """With no random bits towards zero, with all of them away from it; and verdicts call that unproven."""
    x = numbers(13).uniform(1, 200, 128).astype(np.float32)
    variant = "_fnuz" if build[0] == "gfx942" else ""
    least, most = (
        run("quantise_randomly", (2,), (64,), x, np.full(128, bits, np.uint32), np.zeros(128, np.uint32))[2]
        for bits in (0, 0xFFFFFFFF)
    )
    for name, byte in (("fp8", 1), ("bf8", 3)):
        low, high = (element_type(name + variant).decode(q >> np.uint32(8 * byte)) for q in (least, most))
        assert (low <= x).all()
        assert (x < high).all()
        assert (high / low <= {"fp8": 1.125, "bf8": 1.25}[name]).all()  # neighbours
    assert (least & 0xFF).tolist() == (most & 0xFF).tolist() == [7] * 128
    code = compiled(*build)
    said = unproven(load_instructions(code, code.kernel("quantise_randomly")).values())
    assert [text.partition(" unproven: ")[0] for text in said] == ["v_cvt_sr_bf8_f32", "v_cvt_sr_fp8_f32"]
    assert not unproven(load_instructions(code, code.kernel("quantise_fp8")).values())


def test_integer_dot_products(run: Run) -> None:
    n = 200
    a, b = numbers(5).integers(0, 1 << 32, (2, n), np.uint32)
    for words in (a, b):  # the largest sums, of either sign
        words[:5] = [0x80808080, 0x88888888, 0x80008000, 0x7F7F7F7F, 0xFFFFFFFF]
    out = run("dots", (4,), (64,), a, b, np.zeros((7, n), np.int32), np.int32(n))[2]

    def dot(bits: int, signed: bool) -> list[int]:
        sums = []
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            pairs = [(x >> at & (1 << bits) - 1, y >> at & (1 << bits) - 1) for at in range(0, 32, bits)]
            if signed:
                pairs = [(as_signed(p, bits), as_signed(q, bits)) for p, q in pairs]
            sums.append(sum(p * q for p, q in pairs) + (as_signed(x, 32) >> 3))
        return sums

    wrapped = [dot(8, True), dot(4, True), dot(16, True), None, dot(8, False), dot(4, False), dot(16, False)]
    for row, sums in zip(out, wrapped, strict=True):
        if sums is not None:
            assert row.tolist() == [as_signed(s, 32) for s in sums]
    assert out[3].tolist() == [max(-(1 << 31), min((1 << 31) - 1, s)) for s in dot(8, True)]


@pytest.mark.long
def test_atomics(run: Run) -> None:
    t, half = np.arange(256), np.zeros((2, 2), np.float16)
    f, d, u, total, h, extremes, cas = run(
        "atomics", (2,), (128,), np.zeros(8, np.float32), np.zeros(3), np.zeros(8, np.uint32),
        np.zeros(2, np.uint64), half, np.array([-5, 5], np.int32), np.zeros(1, np.uint32),
    )  # fmt: skip
    assert f.tolist() == [*((t[t % 7 == i] % 5).sum() for i in range(7)), 256]
    assert d.tolist() == [(t[t % 3 == i] % 9).sum() for i in range(3)]
    assert u[:4].tolist() == [t[t % 4 == i].sum() for i in range(4)]
    assert u[4:].tolist() == [256 % 11, -256 % 7, 0xFFFFFFFF, 0xFFFFFFFF]
    assert total.tolist() == [int(t[t % 2 == i].sum()) << 33 for i in range(2)]
    assert h.tolist() == [[0, 128], [128, 128]]
    assert extremes.tolist() == [(t * 37 % 101).max(), -(t * 37 % 101).max()]
    assert cas.tolist() == [3 * 256]


def test_votes(run: Run) -> None:
    x = numbers(6).integers(-9, 9, 128).astype(np.int32)
    x[64:] = -np.abs(x[64:]) - 1
    x[70] = 1
    _, masks, ranks, facts = run(
        "votes", (2,), (64,), x, np.zeros(2, np.uint64), *np.zeros((2, 128), np.int32)
    )
    p = (x > 0).reshape(2, 64)
    wanted = [sum(int(bit) << lane for lane, bit in enumerate(row)) for row in p]
    assert masks.tolist() == wanted
    np.testing.assert_array_equal(ranks, np.where(p, np.cumsum(p, 1) - 1, -1).ravel())
    for wave, (row, mask) in enumerate(zip(x.reshape(2, 64), wanted, strict=True)):
        said = int((row == 3).any()) | 2 | (mask & -mask).bit_length() << 2 | (64 - mask.bit_length()) << 9
        assert set(facts[64 * wave : 64 * wave + 64]) == {said}


def test_permutations(run: Run) -> None:
    x, source = (numbers(7).integers(0, most, 64).astype(np.int32) for most in (1000, 64))
    _, _, pulled, pushed, mixed = run("permutations", (1,), (64,), x, source, *np.zeros((3, 64), np.int32))
    np.testing.assert_array_equal(pulled, x[source])
    np.testing.assert_array_equal(pushed[LANE * 5 % 64], x)
    np.testing.assert_array_equal(mixed, x[LANE ^ 1] + x[17] + x[LANE ^ 3])


@pytest.mark.few(1)
def test_arrays_in_scratch(run: Run) -> None:
    n = 1000
    x = numbers(8).integers(-1 << 31, 1 << 31, n).astype(np.int32)
    y = run("spills", (2,), (64,), x, np.zeros(128, np.int32), np.int32(n))[1]
    for t in (0, 1, 77, 127):
        a, total = [int(x[(t + i * 7) % n]) for i in range(64)], 0
        for turn in range(3):
            for i in range(64):
                j, s = a[i] & 63, a[i]
                a[i] = as_signed(a[j] + i, 32)
                a[j] = s ^ turn
        for value in a:
            total = as_signed(total * 31 + value, 32)
        assert y[t] == total


def test_integers_of_64_bits(run: Run) -> None:
    n = 150
    a, b = numbers(9).integers(-(2**63), 2**63, (2, n), np.int64)
    b[::3] >>= 40
    a[::5] >>= 33
    b[b == 0] = 3
    out = run("wide", (3,), (64,), a, b, np.zeros((9, n), np.int64), np.int32(n))[2]
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        ux, uy = x & ONES, y & ONES
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        wanted = [
            *(x * y, quotient, x - quotient * y, ux // uy, x * y >> 64, ux * uy >> 64),
            (x << (y & 63)) ^ (x >> (y & 31)) ^ (ux >> (y & 63)),
            x if x < y else -y if ux > uy else y,
            64 - ux.bit_length() - ux.bit_count(),
        ]
        assert out[:, i].tolist() == [as_signed(value, 64) for value in wanted]


def test_doubles(run: Run) -> None:
    n = 130
    a, b = numbers(10).standard_normal((2, n)) * 100
    out = run("doubles", (3,), (64,), a, b, np.zeros((6, n)), np.int32(n))[2]
    np.testing.assert_array_equal(out[0], a / b)
    np.testing.assert_array_equal(out[1], np.sqrt(np.abs(a)))
    assert out[2].any()  # what rounding the product lost
    assert (np.abs(out[2]) <= np.spacing(np.abs(a * b)) / 2).all()
    np.testing.assert_array_equal(out[3], np.floor(a) + np.ceil(b) + np.rint(a) + np.trunc(b))
    np.testing.assert_array_equal(out[4], np.minimum(a, b) - np.maximum(a, b))
    np.testing.assert_array_equal(out[5], np.trunc(a) + np.trunc(np.abs(b)) + a.astype(np.float32))


def test_raw_buffers_end_where_they_end(run: Run) -> None:
    n = 500
    x = numbers(11).integers(0, 1 << 32, n, np.uint32)
    y = run("buffers", (2,), (64,), x, np.zeros(n, np.uint32), np.int32(n))[1]
    padded = np.concatenate([x, np.zeros(16, np.uint32)])  # beyond the end is zero
    dword = padded[4:132].astype(np.int64)
    added = dword + padded.view(np.int16)[:128] + padded.view(np.int8)[:128]
    wanted = (padded[:512].reshape(128, 4) + added[:, None]) & 0xFFFFFFFF
    np.testing.assert_array_equal(y, wanted.ravel()[:n])


def test_inline_assembly(run: Run) -> None:
    x = numbers(12).integers(0, 1 << 32, 64, np.uint32)
    a, b, c, d = run("assembly", (1,), (64,), x, np.zeros(256, np.uint32))[1].reshape(4, 64)
    eight = np.concatenate([(x * np.uint32(7))[:, None].view(np.uint8), x[:, None].view(np.uint8)], axis=1)
    np.testing.assert_array_equal(a, np.ascontiguousarray(eight[:, [4, 3, 6, 1]]).view(np.uint32)[:, 0])
    rotated = x >> np.uint32(8) | x << np.uint32(24)
    np.testing.assert_array_equal(b, rotated >> np.uint32(3) & np.uint32(0x7FF))
    np.testing.assert_array_equal(c, x[LANE & 48 | LANE - 3 & 15] + x)
    np.testing.assert_array_equal(d, (x >> np.uint32(8) & np.uint32(255)) + (x >> np.uint32(16)))
