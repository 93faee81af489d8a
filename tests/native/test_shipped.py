"""What wheels bring: it runs without a compiler, and only where it is made of the sources that are here."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from emulator_gemm.kernels import KERNELS, make_launch

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.native import bound, hosts, library, shipped
from layoutprobe.engine.native.engine import NativeEngine
from layoutprobe.engine.native.hosts import LEVELS, Level
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.toolchain import cache, find
from native.test_automatic import holds, in_c, launch
from native.test_targets import gemm_forms

__all__ = ["in_c"]
SIZE = (128, 64, 32)
OF_LIBC = {"memset", "memcpy"}
"""What a library may want from outside: any C library has it, and of no version."""
HERE = [level for level in LEVELS if level.needed <= hosts._processor_flags() and level.machine == "x86_64"]
"""Levels that this processor has."""


def _forget() -> None:
    for remembered in (hosts.host, library.prebuilt, library._loaded, bound._runtime):
        remembered.cache_clear()
    library._jobs.clear()
    library._addresses.clear()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing of the native engine is in the cache, nor in this process."""
    launch(SIZE)  # the kernel itself is compiled before
    _forget()
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder that a wheel would bring, with the forms of one kernel."""
    needed = gemm_forms()
    monkeypatch.setattr(shipped, "forms", lambda lanes: needed if lanes == 32 else [])
    monkeypatch.setattr(library, "PREBUILT", tmp_path / "prebuilt")
    shipped.build(hosts.host().machine, library.PREBUILT)
    _forget()
    return library.PREBUILT


def test_every_instruction_of_the_list_brings_a_form_of_its_own() -> None:
    found = set()
    for target, lanes, raw in shipped.listed():
        form = shipped.form_alone(decode_one(raw, 0, Dialect(known(target), lanes)), lanes)
        assert form is not None, (target, raw.hex())
        assert (lanes, form.symbol) not in found, (target, raw.hex())
        found.add((lanes, form.symbol))
    needed = {(32, form.symbol) for form in gemm_forms()}
    assert needed <= found, f"python benchmarks/shipped.py lists {len(needed - found)} more"


def test_a_wheels_library_runs_without_a_compiler(
    cold: None, wheel: Path, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "ziglang", lambda: None)
    available, where = library.examine()
    assert (available, "from the wheel" in where) == (True, True)
    assert holds(NativeEngine(wait=False), SIZE)
    assert in_c


def test_a_library_of_other_sources_counts_for_nothing(
    cold: None, wheel: Path, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(library, "_header", lambda: "// other sources")
        _forget()
        available, where = library.examine()
        assert (available, "is not made of the sources here" in where) == (True, True)
        changed.setattr(find, "ziglang", lambda: None)
        assert not library.examine()[0]
        assert holds(NativeEngine(wait=False), SIZE)
        assert not in_c


@pytest.mark.parametrize("machine", sorted({level.machine for level in LEVELS}))
def test_libraries_want_nothing_that_an_old_system_lacks(
    machine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed = gemm_forms()
    monkeypatch.setattr(shipped, "forms", lambda lanes: needed if lanes == 32 else [])
    paths = shipped.build(machine, tmp_path)
    assert len(paths) == 2 * sum(level.machine == machine for level in LEVELS)
    for path in paths:
        with path.open("rb") as file:
            elf = ELFFile(file)
            assert elf["e_machine"] == {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}[machine]
            tags = [tag.entry.d_tag for tag in elf.get_section_by_name(".dynamic").iter_tags()]
            symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())[1:]
        assert "DT_NEEDED" not in tags
        assert {s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF"} <= OF_LIBC, path.name


@pytest.mark.parametrize("level", HERE, ids=lambda level: level.name)
def test_every_level_computes_what_numpy_does(
    cold: None, level: Level, in_c: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_processor_flags", lambda: level.needed)
    hosts.host.cache_clear()
    assert hosts.host() is level
    rng = np.random.default_rng(7)
    a, b = (_halves(rng, shape) for shape in ((72, 40), (40, 56)))
    c = rng.normal(size=(72, 56)).astype(np.float32)
    kernel = KERNELS["standard"]
    given = make_launch(kernel, kernel.build(), a, b, c, 0.5, 1.5)
    ours, numpys = (EmulatorBackend(engine=e).run(given).buffers for e in (NativeEngine(), NumpyEngine()))
    assert in_c
    for one, two in zip(ours, numpys, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert np.array_equal(one.view(np.uint8), two.view(np.uint8))


def _halves(
    rng: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    """Of all sizes, those below 2**-14 too."""
    return (rng.normal(size=shape) * 2.0 ** rng.integers(-24, 8, shape)).astype(np.float16)


SOFT = """#include "numbers.h"
void extend(const _Float16 *x, f32 *y, u64 n) { for (u64 j = 0; j < n; j++) y[j] = (f32)x[j]; }
void narrow(const f32 *x, _Float16 *y, u64 n) { for (u64 j = 0; j < n; j++) y[j] = (_Float16)x[j]; }
void fused(const f32 *x, f32 *y, u64 n) {
  for (u64 j = 0; j < n; j++) *y++ = __builtin_fmaf(x[3*j], x[3*j+1], x[3*j+2]); }
void doubles(const f64 *x, f64 *y, u64 n) {
  for (u64 j = 0; j < n; j++) *y++ = __builtin_fma(x[3*j], x[3*j+1], x[3*j+2]); }
"""


def _called(name: str, x: Array, y: Array) -> Array:
    v2 = next(level for level in LEVELS if level.name == "x86-64-v2")
    found = library._open(library.compiled((SOFT,), v2, 32))
    getattr(found, name)(
        x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(y.size)
    )
    return y


def test_an_old_processor_widens_every_half_as_numpy_does() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    found = _called("extend", every, np.zeros(1 << 16, np.float32))
    right = every.astype(np.float32)
    number = ~np.isnan(right)
    assert np.array_equal(found[number].view(np.uint32), right[number].view(np.uint32))
    assert np.isnan(found[~number]).all()


def test_an_old_processor_rounds_to_halves_as_numpy_does() -> None:
    """Every half, what lies in the middle between two, and the numbers beside that."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves = np.sort(halves[np.isfinite(halves)])
    middle = ((halves[1:].astype(float) + halves[:-1]) / 2).astype(np.float32)
    given = np.concatenate([halves, middle, np.nextafter(middle, np.inf, dtype=np.float32),
                            np.nextafter(middle, -np.inf, dtype=np.float32),
                            np.array([np.inf, -np.inf, 65519.996, 65520, 1e30, 1e-30], np.float32)])  # fmt: skip
    with np.errstate(all="ignore"):
        right = given.astype(np.float16)
    found = _called("narrow", given, np.zeros(given.size, np.float16))
    assert np.array_equal(found.view(np.uint16), right.view(np.uint16))


def test_an_old_processor_rounds_a_fused_product_once() -> None:
    """Against exact fractions; sums that cancel, and that lie in the middle between two numbers."""
    rng = np.random.default_rng(3)
    count = 4000
    x = (rng.normal(size=(count, 3)) * 2.0 ** rng.integers(-30, 30, (count, 3))).astype(np.float32)
    x[::2, 2] = -(x[::2, 0].astype(float) * x[::2, 1]).astype(np.float32)  # cancels, but for what was rounded
    x[1::4, 2] = np.ldexp(1.0, rng.integers(-70, 70, x[1::4].shape[0])).astype(np.float32)
    found = _called("fused", np.ascontiguousarray(x), np.zeros(count, np.float32))
    for (a, b, c), got in zip(x.tolist(), found.tolist(), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        assert got == _nearest(exact), (a, b, c)


@pytest.mark.parametrize("spread", [4, 60, 500, 1070])
def test_an_old_processor_rounds_a_fused_product_of_doubles_once(spread: int) -> None:
    """Against exact fractions: sums that cancel, that lie in the middle, subnormal ones, and such as overflow."""
    rng = np.random.default_rng(spread)
    count = 3000
    with np.errstate(all="ignore"):
        x = np.ldexp(rng.normal(size=(count, 3)), rng.integers(-spread, spread, (count, 3)))
        x[::3, 2] = -(x[::3, 0] * x[::3, 1])
        x[1::7, 2] = np.nextafter(-(x[1::7, 0] * x[1::7, 1]), 0)
        x[2::5, :2] = rng.integers(-9, 9, x[2::5, :2].shape)
        x[::11, 2] = x[::11, 2] * 2.0**-60
    x[np.isinf(x)] = 1.0
    found = _called("doubles", np.ascontiguousarray(x), np.zeros(count, np.float64))
    for (a, b, c), got in zip(x.tolist(), found.tolist(), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            right = float(exact)
        except OverflowError:
            right = math.inf if exact > 0 else -math.inf
        assert got == right, (a, b, c)


def test_a_fused_product_of_doubles_has_the_sign_that_a_sum_of_zeros_has() -> None:
    """IEEE 754, 6.3: -0 only of two that are -0 or of a negative sum that vanishes; numpy's and C's."""
    some = [sign * size for sign in (1.0, -1.0) for size in (0.0, 1.0, 3.0, 1e-200)]
    x = np.array([each for each in itertools.product(some, repeat=3) if _is_zero(*each)])
    right = np.array([_negative_zero(*each) for each in x.tolist()])
    assert right.any()
    assert not right.all()
    numpys = floats.fma64(*x.T)
    found = _called("doubles", x, np.zeros(len(x), np.float64))
    assert not numpys.any()
    assert not found.any()
    assert x[np.signbit(numpys) != right].tolist() == []
    assert x[np.signbit(found) != right].tolist() == []


def _is_zero(a: float, b: float, c: float) -> bool:
    return float(Fraction(a) * Fraction(b) + Fraction(c)) == 0


def _negative_zero(a: float, b: float, c: float) -> bool:
    if a and b:  # the sum of two that cancel is +0
        return Fraction(a) * Fraction(b) + Fraction(c) < 0
    return math.copysign(1, a) * math.copysign(1, b) < 0 and math.copysign(1, c) < 0


def _nearest(exact: Fraction) -> float:
    """The f32 next to a fraction, the even one of two."""
    if exact == 0:
        return 0.0
    exponent = max(math.frexp(float(exact))[1] - 24, -149)
    for step in (exponent, exponent + 1):
        scaled = exact / Fraction(2) ** step
        if abs(scaled) < 1 << 24:
            break
    return float(round(scaled) * Fraction(2) ** step)  # round() goes to the even one


def test_while_nothing_is_kept_a_form_is_compiled_once(cold: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of many changes share most of their forms; what kernels need in turn is whole again in the cache."""
    first, second, third = gemm_forms()[:3]
    compile_, texts = library._compile, list[str]()

    def counted(units: tuple[str, ...], *words: object) -> bytes:
        texts.append("".join(units))
        return compile_(units, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(library, "_compile", counted)
    library.compiled_forms([first], 32)
    with cache.nothing_kept():
        found = library.compiled_forms([first, second], 32)
    library.compiled_forms([first, second, third], 32)
    there = [[form.symbol in text for form in (first, second, third)] for text in texts]
    assert there == [[True, False, False], [False, True, False], [True, True, True]]
    assert found == library.compiled_forms([second, first], 32)
    assert len(texts) == len(there)
