"""Functions of the C library on the device, beside numpy's in extended precision and Python's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.device_kernels import Device, make_device

Function = Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]]


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return make_device(tmp_path, monkeypatch)


def each(function: Callable[[float], float]) -> Function:
    return lambda x: np.array([function(float(value)) for value in x], np.longdouble)


def errors(found: NDArray[np.float64], exact: NDArray[np.longdouble]) -> float:
    """The largest error, in units of the last place of a number of the result's type."""
    good = np.isfinite(exact) & (np.abs(exact) <= np.finfo(found.dtype).max)
    assert np.array_equal(found[~good], exact[~good].astype(found.dtype), equal_nan=True)
    spacing = np.spacing(np.abs(exact[good]).astype(found.dtype)).astype(np.longdouble)
    return float((np.abs(found[good].astype(np.longdouble) - exact[good]) / spacing).max())


REAL: dict[str, tuple[Function, float, float]] = {
    "exp": (np.exp, 700, 1),
    "expm1": (np.expm1, 30, 2),
    "exp2": (np.exp2, 1000, 1),
    "sin": (np.sin, 1e6, 2),
    "cos": (np.cos, 1e6, 2),
    "tan": (np.tan, 1e3, 4),
    "atan": (np.arctan, 50, 3),
    "sinh": (np.sinh, 700, 4),
    "cosh": (np.cosh, 700, 4),
    "tanh": (np.tanh, 30, 3),
    "cbrt": (np.cbrt, 1e9, 1.5),
    "erf": (each(math.erf), 6, 8),
}
"""Name -> the function, the largest argument, the error in units of the last place of a double."""
POSITIVE: dict[str, tuple[Function, float, float]] = {
    "log": (np.log, 1e12, 1.5),
    "log2": (np.log2, 1e12, 2),
    "log10": (np.log10, 1e12, 2),
    "log1p": (np.log1p, 1e3, 3),
}
UNIT: dict[str, tuple[Function, float, float]] = {
    "asin": (np.arcsin, 1, 3),
    "acos": (np.arccos, 1, 3),
}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]


@pytest.mark.parametrize("laws", [REAL, POSITIVE, UNIT], ids=["real", "positive", "unit"])
def test_functions_of_doubles(device: Device, laws: dict[str, tuple[Function, float, float]]) -> None:
    rng = np.random.default_rng(30)
    x = rng.uniform(-1, 1, 200) * 10.0 ** -rng.integers(0, 9, 200)
    x = np.abs(x) if laws is POSITIVE else x
    x[: len(SPECIAL)] = SPECIAL
    found = device.map([f"{name}(x * {most})" for name, (_, most, _) in laws.items()], np.float64, x)
    for row, (name, (function, most, bound)) in zip(found, laws.items(), strict=True):
        with np.errstate(all="ignore"):
            assert errors(row, function((x * most).astype(np.longdouble))) <= bound, name


@pytest.mark.long
@pytest.mark.parametrize("laws", [REAL, UNIT], ids=["real", "unit"])
def test_functions_of_floats_are_those_of_doubles_rounded_once(
    device: Device, laws: dict[str, tuple[Function, float, float]]
) -> None:
    x = np.random.default_rng(31).uniform(-1, 1, 200).astype(np.float32)
    chosen = {
        name: law for name, law in laws.items() if name not in ("exp", "exp2", "tanh", "erf")
    }  # the compiler's own, and one that is made of floats
    most = {name: np.float32(min(law[1], 80)) for name, law in chosen.items()}
    found = device.map([f"{name}f(x * {most[name]:.1f}f)" for name in chosen], np.float32, x)
    for row, (name, (function, *_)) in zip(found, chosen.items(), strict=True):
        assert errors(row, function((x * most[name]).astype(np.longdouble))) <= 0.501, name


def test_powers(device: Device) -> None:
    rng = np.random.default_rng(32)
    x, y = rng.uniform(0, 30, 500), rng.uniform(-20, 20, 500)
    (found,) = device.map(["pow(x, y)"], np.float64, x, y)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert np.abs(found / exact - 1).max() < 2.0**-42
    (found,) = device.map(["powf(x, y)"], np.float32, x.astype(np.float32), y.astype(np.float32))
    exact = np.power(*(v.astype(np.float32).astype(np.longdouble) for v in (x, y)))
    assert errors(found, exact) <= 0.51
    whole = rng.integers(-9, 10, 500).astype(np.float64)
    (found,) = device.map(["pow(x, 5)"], np.float64, whole)
    assert np.array_equal(found, whole**5)
    grid = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, math.inf, -math.inf, math.nan, 2.5, -3.0, 64.0, 65.0]
    x, y = (v.ravel() for v in np.meshgrid(grid, grid))
    (found,) = device.map(["pow(x, y)"], np.float64, x, y)
    with np.errstate(all="ignore"):
        assert np.allclose(found, np.power(x, y), rtol=1e-12, atol=0, equal_nan=True)
        numbers = ~np.isnan(found)
        assert np.array_equal(np.signbit(found)[numbers], np.signbit(np.power(x, y))[numbers])


def test_functions_of_two_operands(device: Device) -> None:
    rng = np.random.default_rng(33)
    x, y = (rng.uniform(-50, 50, 500) * 10.0 ** rng.integers(-6, 7, 500) for _ in range(2))
    x[:7], y[:7] = SPECIAL, SPECIAL[::-1]
    found = device.map(["fmod(x, y)", "atan2(x, y)", "hypot(x, y)"], np.float64, x, y)
    with np.errstate(all="ignore"):
        assert np.array_equal(found[0], np.fmod(x, y), equal_nan=True)
        wide = x.astype(np.longdouble), y.astype(np.longdouble)
        finite = np.isfinite(x) & np.isfinite(y)
        assert errors(found[1][finite], np.arctan2(*wide)[finite]) <= 3
        assert errors(found[2][finite], np.hypot(*wide)[finite]) <= 2


def test_turns_are_exact(device: Device) -> None:
    """Sine and cosine of x pi: of half turns they are what they are, and far out as near as at zero."""
    rng = np.random.default_rng(35)
    x = np.concatenate([np.arange(-8, 9) / 4, rng.uniform(-3, 3, 200), 2.0**40 + rng.integers(0, 64, 40) / 8])
    turns = (x - 2 * np.rint(x / 2)).astype(np.longdouble) * np.longdouble("3.14159265358979323846264338")
    sine, cosine = device.map(["sinpi(x)", "cospi(x)"], np.float64, x)
    assert np.abs(sine - np.sin(turns)).max() < 4e-16
    assert np.abs(cosine - np.cos(turns)).max() < 4e-16
    half = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 7.0, 8.5])
    sine, cosine = device.map(["sinpif(x)", "cospif(x)"], np.float32, half.astype(np.float32))
    assert np.array_equal(sine, [1, 0, -1, 0, 1, 0, -1, 0, 1])
    assert np.array_equal(cosine, [0, -1, 0, 1, 0, -1, 0, -1, 0])
    odd = np.array([np.inf, -np.inf, np.nan])
    assert np.isnan(device.map(["sinpi(x)", "cospi(x)"], np.float64, odd)).all()


def test_parts_of_numbers(device: Device) -> None:
    rng = np.random.default_rng(36)
    x = np.concatenate([rng.uniform(-1, 1, 200) * 2.0 ** rng.integers(-60, 60, 200), SPECIAL])
    y = np.concatenate([rng.uniform(-3, 3, 200), [2.0, 2.0, 1.0, 1.0, 1.0, 0.5, math.inf]])
    parts = ["[&] { int e; return frexp(x, &e); }()", "[&] { int e; frexp(x, &e); return double(e); }()",
             "[&] { double all; return modf(x, &all); }()", "[&] { double all; modf(x, &all); return all; }()",
             "logb(x)", "remainder(x, y)"]  # fmt: skip
    found = device.map(parts, np.float64, x, y)
    with np.errstate(all="ignore"):
        exact = [*np.frexp(x), *np.modf(x), np.floor(np.log2(np.abs(x)))]
        exact.append(
            np.array(
                [math.remainder(a, b) if np.isfinite(a) else math.nan for a, b in zip(x, y, strict=True)]
            )
        )
    for nth, (mine, theirs) in enumerate(zip(found, exact, strict=True)):
        numbers = ~np.isnan(theirs.astype(float))
        numbers &= np.isfinite(x) if nth in (1, 4) else True
        assert np.array_equal(mine[numbers], theirs[numbers]), parts[nth]
    whole = device.map(["double(ilogb(x))", "scalbn(x, 3)", "double(signbit(x))"], np.float64, x)
    finite = np.isfinite(x) & (x != 0)
    assert np.array_equal(whole[0][finite], np.frexp(x)[1][finite] - 1)
    assert np.array_equal(whole[1], x * 8, equal_nan=True)
    assert np.array_equal(whole[2][~np.isnan(x)], np.signbit(x)[~np.isnan(x)])


def test_inverse_hyperbolic_functions(device: Device) -> None:
    x = np.random.default_rng(37).uniform(-1, 1, 300)
    found = device.map(["asinh(x * 9)", "acosh(1 + x * x * 9)", "atanh(x)", "rcbrt(x)"], np.float64, x)
    wide = x.astype(np.longdouble)
    exact = [
        np.arcsinh(wide * 9),
        np.arccosh((1 + x * x * 9).astype(np.longdouble)),
        np.arctanh(wide),
        1 / np.cbrt(wide),
    ]
    for mine, theirs in zip(found, exact, strict=True):
        assert np.abs(mine / theirs - 1).max() < 4e-15
    single = x.astype(np.float32)
    (below,) = device.map(["normcdff(x * 5.0f)"], np.float32, single)
    halves = [0.5 * math.erfc(-float(v) / math.sqrt(2)) for v in single * np.float32(5)]
    assert errors(below, np.array(halves, np.longdouble)) <= 0.6


def test_erfc_keeps_its_digits_far_out(device: Device) -> None:
    x = np.random.default_rng(34).uniform(-4, 9, 64).astype(np.float32)
    (found,) = device.map(["erfcf(x)"], np.float32, x)
    assert errors(found, each(math.erfc)(x.astype(np.longdouble))) <= 0.6


def test_erf_of_floats_is_within_two_units(device: Device) -> None:
    x = np.concatenate([np.linspace(-5, 5, 4001), 10.0 ** -np.arange(1, 39), [0.9, 0.89999998]])
    x = np.concatenate([x, SPECIAL]).astype(np.float32)
    (found,) = device.map(["erff(x)"], np.float32, x)
    assert errors(found, each(math.erf)(x.astype(np.longdouble))) <= 1.5
    zeros = x == 0
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(x[zeros]))
