"""half, bf16 and math of the project's own <hip/...> headers, executed and compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.device_kernels import Array, Device, floats, make_device, ulps


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return make_device(tmp_path, monkeypatch)


HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FINITE = HALVES[np.isfinite(HALVES)]


def same_halves(got: Array, expected: Array) -> bool:
    nan = np.isnan(expected)
    return bool((np.isnan(got) == nan).all()) and np.array_equal(
        got.view(np.uint16)[~nan], expected.view(np.uint16)[~nan]
    )


def test_half_to_float(device: Device) -> None:
    spellings = ("__half2float(x)", "float(x)", "static_cast<float>(x)", "x")
    device.check(dict.fromkeys(spellings, HALVES.astype(np.float32)), HALVES)


def test_float_to_half(device: Device) -> None:
    values = np.concatenate([floats(2, spread=6.0), midpoints()])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    spellings = ("__float2half(x)", "__float2half_rn(x)", "__half(x)", "x")
    device.check(dict.fromkeys(spellings, expected), values, same=same_halves)


def midpoints() -> NDArray[np.float32]:
    """Halfway between neighbouring halves, where rounding to even decides."""
    ordered = np.sort(np.unique(FINITE)).astype(np.float32)
    return (ordered[:-1] + ordered[1:]) / np.float32(2)


def test_float_to_half_towards_zero(device: Device) -> None:
    values = np.clip(np.concatenate([floats(3, spread=3.0)[:-1], midpoints()]), -65504, 65504)
    nearest = values.astype(np.float16)
    too_far = np.abs(nearest.astype(np.float64)) > np.abs(values)
    expected = np.where(too_far, np.nextafter(nearest, np.float16(0)), nearest)
    device.check({"__float2half_rz(x)": expected}, values)


def test_half_arithmetic(device: Device) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.choice(FINITE, 4000), rng.choice(FINITE[FINITE != 0], 4000)
    with np.errstate(all="ignore"):
        laws = {
            "x + y": x + y,
            "x - y": x - y,
            "x * y": x * y,
            "__hadd(x, y)": x + y,
            "__hsub(x, y)": x - y,
            "__hmul(x, y)": x * y,
            "__hmax(x, y)": np.maximum(x, y),
            "__hmin(x, y)": np.minimum(x, y),
            "[](half a, half b) { a += b; a *= b; return a; }(x, y)": (x + y) * y,
            "[](half a, half b) { a -= b; a /= b; return -a; }(x, y)": -((x - y) / y),
        }
    device.check(laws, x, y, same=same_halves)


def test_half_fma_rounds_once(device: Device) -> None:
    rng = np.random.default_rng(5)
    x, y, z = (rng.standard_normal(4000).astype(np.float16) for _ in range(3))
    expected = (x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)).astype(np.float16)
    device.check({"__hfma(x, y, z)": expected}, x, y, z, same=same_halves)
    assert not same_halves(x * y + z, expected)


def test_half_comparisons_and_bits(device: Device) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.choice(HALVES, 4000), rng.choice(HALVES, 4000)
    y[:500] = x[:500]
    text = """(x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5
      | __hlt(x, y) << 6 | __heq(x, y) << 7 | __hisnan(x) << 8 | (__hisinf(x) + 1) << 9
      | (__half_as_ushort(__ushort_as_half(__half_as_ushort(x))) == __half_as_ushort(x)) << 11"""
    laws = [x < y, x <= y, x > y, x >= y, x == y, x != y, x < y, x == y, np.isnan(x)]
    expected = sum(law.astype(np.int64) << bit for bit, law in enumerate(laws))
    expected += (np.where(np.isinf(x), np.sign(x), 0).astype(np.int64) + 1) << 9
    device.check({text: (expected + (1 << 11)).astype(np.int32)}, x, y)


def test_half_integers(device: Device) -> None:
    whole = np.arange(-3000, 3000, dtype=np.int32)
    device.check({"__int2half_rn(x)": whole.astype(np.float16)}, whole, same=same_halves)
    halves = np.linspace(-50, 50, 801).astype(np.float16)
    down, nearest = np.trunc(halves).astype(np.int32), np.rint(halves).astype(np.int32)
    device.check({"__half2int_rz(x)": down, "int(x)": down, "__half2int_rn(x)": nearest}, halves)


def test_half2(device: Device) -> None:
    text = """extern "C" __global__ void k(const half2* x, const half2* y, const half2* z, half2* out, float2* f) {
      const int i = threadIdx.x;
      const half2 a = x[i], b = y[i], c = z[i];
      half2* o = out + i * 12;
      o[0] = __hadd2(a, b); o[1] = __hsub2(a, b); o[2] = __hmul2(a, b); o[3] = __hfma2(a, b, c);
      o[4] = __halves2half2(__high2half(a), __low2half(b)); o[5] = __lowhigh2highlow(a);
      o[6] = __lows2half2(a, b); o[7] = __highs2half2(a, b); o[8] = __float2half2_rn(__low2float(a));
      f[i] = __half22float2(a);
      o[9] = __floats2half2_rn(f[i].y, __high2float(b)); o[10] = -a; o[11] = __hmax2(a, b);
    }"""
    rng = np.random.default_rng(7)
    x, y, z = (rng.standard_normal((32, 2)).astype(np.float16) for _ in range(3))
    *_, out, f = device.run(text, x, y, z, np.zeros((32, 12, 2), np.float16), np.zeros((32, 2), np.float32))
    fused = (x.astype(np.float64) * y + z).astype(np.float16)
    mixed = [np.stack(pair, 1) for pair in ((x[:, 1], y[:, 0]), (x[:, 1], x[:, 0]), (x[:, 0], y[:, 0]))]
    mixed += [np.stack(pair, 1) for pair in ((x[:, 1], y[:, 1]), (x[:, 0], x[:, 0]), (x[:, 1], y[:, 1]))]
    expected = np.stack([x + y, x - y, x * y, fused, *mixed, -x, np.maximum(x, y)], 1)
    assert np.array_equal(out, expected)
    assert np.array_equal(f, x.astype(np.float32))


def to_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Bits of bf16, rounded to nearest even in integers."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def test_float_to_bf16(device: Device) -> None:
    midway = (np.arange(0x3F00, 0x4100, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    values = np.concatenate([floats(8, spread=20.0), midway, -midway])
    spellings = (
        "__bfloat16_as_ushort(__float2bfloat16(x))",
        "__bfloat16_as_ushort(__hip_bfloat16(x))",
        "__bfloat16_as_ushort(__floats2bfloat162_rn(0.0f, x).y)",
        "hip_bfloat16(x).data",
    )
    device.check(dict.fromkeys(spellings, to_bf16(values)), values)


def test_bf16_to_float(device: Device) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    read = "__ushort_as_bfloat16(x)"
    spellings = (f"__bfloat162float({read})", f"float({read})", f"__low2float(__bfloat162bfloat162({read}))")
    device.check(dict.fromkeys(spellings, from_bf16(bits)), bits)


def test_bf16_arithmetic(device: Device) -> None:
    rng = np.random.default_rng(9)
    x, y = (to_bf16(rng.standard_normal(2000).astype(np.float32)) for _ in range(2))
    a, b = from_bf16(x), from_bf16(y)
    values = "__ushort_as_bfloat16(x), __ushort_as_bfloat16(y)"
    laws = {}
    for operator, name, result in (("+", "__hadd", a + b), ("-", "__hsub", a - b), ("*", "__hmul", a * b)):
        laws[f"__bfloat16_as_ushort([](auto a, auto b) {{ return a {operator} b; }}({values}))"] = to_bf16(
            result
        )
        laws[f"__bfloat16_as_ushort({name}({values}))"] = to_bf16(result)
    device.check(laws, x, y)


def positive(seed: int) -> NDArray[np.float32]:
    return np.abs(floats(seed)[10:])


def near(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).uniform(-20, 20, 3000).astype(np.float32)


def round_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


# Input, then expression -> (function, largest error in ulps).
MATH: dict[Callable[[int], NDArray[np.float32]], dict[str, tuple[Callable[[Array], Array], float]]] = {
    floats: {
        "fabsf(x)": (np.abs, 0),
        "floorf(x)": (np.floor, 0),
        "ceilf(x)": (np.ceil, 0),
        "truncf(x)": (np.trunc, 0),
        "rintf(x)": (np.rint, 0),
        "roundf(x)": (round_away, 0),
        "tanhf(x)": (np.tanh, 3),
        "__saturatef(x)": (lambda x: np.clip(x, 0, 1), 0),
    },
    positive: {
        "sqrtf(x)": (np.sqrt, 0.501),
        "rsqrtf(x)": (lambda x: 1 / np.sqrt(x), 1.5),
        "logf(x)": (np.log, 2),
        "log2f(x)": (np.log2, 2),
        "log10f(x)": (np.log10, 2),
    },
    near: {
        "expf(x)": (np.exp, 2),
        "exp2f(x)": (np.exp2, 2),
        "tanhf(x)": (np.tanh, 3),
        "__fdividef(1.0f, x)": (lambda x: 1 / x, 3),
        "__frcp_rn(x)": (lambda x: 1 / x, 2.5),
    },
}


@pytest.mark.parametrize("inputs", MATH)
def test_math_of_one_operand(device: Device, inputs: Callable[[int], NDArray[np.float32]]) -> None:
    x, laws = inputs(20), MATH[inputs]
    for row, (expression, (function, bound)) in zip(
        device.map(list(laws), np.float32, x), laws.items(), strict=True
    ):
        assert ulps(row, function(x.astype(np.float64))) <= bound, expression


def test_fast_math(device: Device) -> None:
    x = np.random.default_rng(21).uniform(-3, 3, 2000).astype(np.float32)
    wide = x.astype(np.float64)
    laws = {"__expf(x)": np.exp(wide), "__sinf(x)": np.sin(wide), "__cosf(x)": np.cos(wide)}
    laws["__logf(fabsf(x))"] = np.log(np.abs(wide))
    for row, (expression, exact) in zip(device.map(list(laws), np.float32, x), laws.items(), strict=True):
        assert np.abs(row - exact).max() < 4e-6, expression


def test_math_of_two_operands(device: Device) -> None:
    x, y = near(22), near(23)
    laws = {
        "copysignf(x, y)": np.copysign(x, y),
        "__fmul_rn(x, y)": x * y,
        "__fadd_rn(__fmul_rn(x, y), y)": x * y + y,
        "fmaf(x, y, 1.0f)": (x.astype(np.float64) * y + 1).astype(np.float32),
    }
    device.check(laws, x, y)
    x[:20], y[10:30] = np.nan, np.nan  # the other operand, where one is NaN
    lower, upper = np.fmin(x, y), np.fmax(x, y)
    device.check({"fminf(x, y)": lower, "fmaxf(x, y)": upper, "min(x, y)": lower, "max(x, y)": upper}, x, y)


def test_min_and_max_of_integers(device: Device) -> None:
    rng = np.random.default_rng(24)
    x, y = (rng.integers(-(1 << 31), 1 << 31, 500).astype(np.int32) for _ in range(2))
    device.check(
        {"min(x, y)": np.minimum(x, y), "max(x, 7)": np.maximum(x, np.int32(7)), "abs(x)": np.abs(x)}, x, y
    )
    a, b = x.view(np.uint32), y.view(np.uint32)
    device.check({"max(x, y)": np.maximum(a, b), "min(x, y)": np.minimum(a, b)}, a, b)


def test_bits(device: Device) -> None:
    rng = np.random.default_rng(25)
    words = (rng.integers(0, 1 << 32, 600) >> rng.integers(0, 33, 600)).astype(np.uint32)
    laws: dict[str, Callable[[int], int]] = {
        "__popc(x)": int.bit_count,
        "__clz(x)": lambda w: 32 - w.bit_length(),
        "__ffs(x)": lambda w: (w & -w).bit_length(),
        "__brev(x)": lambda w: int(f"{w:032b}"[::-1], 2),
        "__umulhi(x, 0xdeadbeefu)": lambda w: w * 0xDEADBEEF >> 32,
        "__byte_perm(x, 0x44332211u, 0x5173)": lambda w: sum(
            ((w | 0x44332211 << 32) >> 8 * byte & 255) << 8 * i for i, byte in enumerate((3, 7, 1, 5))
        ),
        "__float_as_uint(__uint_as_float(x))": lambda w: w,
        "__funnelshift_l(0x12345678u, x, 8)": lambda w: (w << 8 | 0x12) & 0xFFFFFFFF,
    }
    device.check({e: np.array([law(w) for w in words.tolist()], np.uint32) for e, law in laws.items()}, words)


def test_conversions_with_rounding_in_the_name(device: Device) -> None:
    x = np.concatenate([np.arange(-8, 8, 0.25), near(26)]).astype(np.float32)
    roundings = {"rz": np.trunc, "rn": np.rint, "rd": np.floor, "ru": np.ceil}
    device.check({f"__float2int_{n}(x)": f(x).astype(np.int32) for n, f in roundings.items()}, x)
