"""The schemes in Python and those that the probe kernels compile are the same function.

probes/lds/lds_schemes.h is plain C++: compiled for this machine, it is called cell by cell.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.assets import asset_dir
from layoutprobe.layouts.swizzle import SCHEMES

ROWS = 64
COLUMNS = (16, 32, 64, 128)
SOURCE = """
#include "lds/lds_schemes.h"
template <int Cols> static void fill(int rows, int* out) {
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < Cols; ++col) out[row * Cols + col] = lds_index<Cols>(row, col);
}
extern "C" int size_of(int rows, int cols) { return lds_size(rows, cols); }
extern "C" void table(int rows, int cols, int* out) {
  if (cols == 16) fill<16>(rows, out);
  if (cols == 32) fill<32>(rows, out);
  if (cols == 64) fill<64>(rows, out);
  if (cols == 128) fill<128>(rows, out);
}
"""


def compiled(folder: Path, scheme: int) -> ctypes.CDLL:
    source, linked = folder / "schemes.cpp", folder / f"schemes{scheme}.so"
    source.write_text(SOURCE)
    zig = [sys.executable, "-m", "ziglang"]
    flags = [
        "-x",
        "c++",
        "-std=c++17",
        "-O1",
        "-fPIC",
        f"-DLDS_SCHEME={scheme}",
        "-I",
        str(asset_dir("probes")),
    ]
    unlinked = linked.with_suffix(".o")
    subprocess.run([*zig, "clang", *flags, "-c", source, "-o", unlinked], check=True, timeout=120)
    subprocess.run([*zig, "ld.lld", "-shared", unlinked, "-o", linked], check=True, timeout=120)
    return ctypes.CDLL(str(linked))


def device_table(library: ctypes.CDLL, cols: int) -> NDArray[np.int32]:
    out = np.full((ROWS, cols), -1, np.int32)
    library.table(ROWS, cols, out.ctypes.data_as(ctypes.c_void_p))
    return out


@pytest.mark.parametrize("name", SCHEMES)
def test_device_and_python_agree(name: str, tmp_path: Path) -> None:
    library = compiled(tmp_path, SCHEMES[name].device_define)
    for cols in COLUMNS:
        shape = (ROWS, cols)
        seen = device_table(library, cols)
        row, col = np.indices(shape)
        assert not SCHEMES[name].refusal(shape)
        assert np.array_equal(seen, SCHEMES[name].index(row, col, shape))
        assert library.size_of(*shape) == SCHEMES[name].size(shape)
        others = [other for other in SCHEMES if other != name]
        assert all(not np.array_equal(seen, SCHEMES[other].index(row, col, shape)) for other in others)
