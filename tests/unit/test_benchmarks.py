"""`python benchmarks --tinygrad CHECKOUT`: what is no checkout, and what a checkout's emulator gets and gives."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EMULATOR = """
import ctypes
import numpy as np

def run_asm(lib, lib_sz, gx, gy, gz, lx, ly, lz, args_ptr, rsrc2, arch):
    words = np.frombuffer(ctypes.string_at(lib, lib_sz), np.uint32)
    assert 0xBFB00000 in words, "s_endpgm"
    assert 0xE0AC0000 not in words, "buffer_gl0_inv"
    assert (lx, ly, lz, arch) == (256, 1, 1, "rdna3")
    assert (rsrc2 >> 15 & 0x1FF) * 512 == 12288, "bytes of LDS"
    *at, m, n, k = np.frombuffer(ctypes.string_at(args_ptr, 36), "u8,u8,u8,i4,i4,i4")[0].tolist()
    assert (gx, gy, gz) in ((1, 1, 1), (n // 64, m // 128, 1))
    a, b = (
        np.frombuffer(ctypes.string_at(start, 2 * rows * columns), np.float16).reshape(rows, columns)
        for start, rows, columns in ((at[0], m, k), (at[1], k, n))
    )
    c = (a.astype(np.float32) @ b.astype(np.float32)).tobytes()
    ctypes.memmove(at[2], c, len(c) - SHORT)
"""
"""One of a product that it reads from the arguments; the last bytes of C may be missing."""


def benchmarks() -> dict[str, Any]:
    return runpy.run_path(str(BENCHMARKS / "__main__.py"))


def checkout(folder: Path, emulator: str) -> str:
    path = folder / "test" / "mockgpu" / "amd" / "emu.py"
    path.parent.mkdir(parents=True)
    (folder / "tinygrad").mkdir()
    (folder / "tinygrad" / "__init__.py").touch()
    path.write_text(emulator)
    return str(folder)


@pytest.mark.parametrize("there", [(), ("tinygrad/__init__.py",)])
def test_a_folder_without_the_emulator_is_refused(
    there: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "argv", ["benchmarks", "launch", "--tinygrad", str(tmp_path)])
    with pytest.raises(SystemExit) as refused:
        benchmarks()["main"]()
    assert refused.value.code == 2
    told = capsys.readouterr().err
    assert f"--tinygrad {tmp_path}: there is no " in told
    assert "test/mockgpu/amd/emu.py; expected: a checkout of tinygrad's repository" in told
    assert ("tinygrad/__init__.py" in told) == (not there)
    assert "next: clone" in told


def test_a_checkout_is_measured_beside_ours_where_one_is_named(tmp_path: Path) -> None:
    its = benchmarks()
    ours = {figure.name for figure in its["figures"](tmp_path)}
    figures = {figure.name: figure for figure in its["figures"](tmp_path, "checkout")}
    added = figures.keys() - ours
    assert added == {f"launch {size}, tinygrad" for size in its["LAUNCHES"]}
    measured = {name: its["Runs"]([2.0 if name in added else 0.04], [1.0]) for name in figures}
    native = figures["launch 512x512x64, native"]
    assert "50 times as fast as tinygrad" in its["line"](native, measured, {})
    assert "tinygrad" not in its["line"](native, {native.name: measured[native.name]}, {})


@pytest.mark.parametrize("short", [0, 4])
def test_the_emulator_of_a_checkout_gets_the_launch_and_its_c_is_compared(short: int, tmp_path: Path) -> None:
    folder = checkout(tmp_path, f"SHORT = {short}{EMULATOR}")
    runs = benchmarks()["Runs"]()
    benchmarks()["launches"](runs, "tinygrad", "128x64x32", folder)
    assert len(runs.wall) == len(runs.busy) == 1
    assert runs.exit == (short > 0)


def test_an_emulator_that_fails_is_told_in_its_own_words(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "def run_asm(*args, **words): raise ValueError('unknown rdna3 format')")
    with pytest.raises(SystemExit, match=r"tinygrad_emulator.py .* ended with 1:\n[^$]*unknown rdna3 format"):
        benchmarks()["launches"](benchmarks()["Runs"](), "tinygrad", "128x64x32", folder)
