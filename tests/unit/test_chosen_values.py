"""What is chosen among changes has the value that it has by itself, whatever type the others have.

But that a whole number keeps its bits, and takes the sign that the type has which it is in the place of: with the
value of -1 among unsigned numbers all would be of 64 bits, and `min(x, n)` is not defined for two types.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.rewrites.chosen import SIGN
from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.rewrites.variants import combined
from layoutprobe.source.statements import Source, words
from layoutprobe.toolchain.compile import compile_hip

TEXT = """\
#include <hip/hip_runtime.h>
template <class T> __device__ void keep(T& to, T value) { to = value; }
extern "C" __global__ void chosen(const unsigned* x, const float* f, long long* y) {
  const int i = threadIdx.x;
  const unsigned bits = x[i];
  const int shifted = (int)bits >> 3;
  const float as_number = float(bits >> 1);
  long long wide = x[i] * 3ll;
  double half = (shifted - 7) / 2;
  keep(wide, wide + 1);
  y[5 * i] = bits;
  y[5 * i + 1] = shifted;
  y[5 * i + 2] = (long long)as_number;
  y[5 * i + 3] = wide;
  y[5 * i + 4] = (long long)half;
}
"""
CHANGES = [
    ("x[i]", "f[i]", "bits = x[i]"),
    ("x[i]", "-3", "bits = x[i]"),
    ("(int)bits >> 3", "bits >> 3", ""),
    ("(int)bits >> 3", "x[i + 1]", ""),
    ("(int)bits >> 3", "f[i]", ""),
    ("bits >> 1", "f[i]", ""),
    ("x[i] * 3ll", "f[i]", ""),
    ("shifted - 7", "f[i] - 7", ""),
    ("wide + 1", "wide + 2", ""),
]


def _changed(old: str, new: str, near: str) -> Rewrite:
    start = TEXT.index(near) + near.index(old) if near else TEXT.index(old)
    return Rewrite(start, start + len(old), new, "names")


def _values(text: str, tmp_path: Path) -> list[int]:
    source = tmp_path / "chosen.hip"
    source.write_text(text)
    program = load(compile_hip(source, target="gfx1151").data)
    x = np.random.default_rng(1).integers(0, 1 << 32, 33, np.uint32)
    f = np.random.default_rng(2).normal(scale=1e6, size=32).astype(np.float32)
    y = np.zeros(5 * 32, np.int64)
    given = [Buffer(x.view(np.uint8)), Buffer(f.view(np.uint8)), Buffer(y.view(np.uint8))]
    found = EmulatorBackend().run(Launch(program, "chosen", (1, 1, 1), (32, 1, 1), given)).buffers[2]
    assert found is not None
    return [int(value) for value in found.view(np.int64)]


@pytest.fixture(scope="module")
def text() -> str:
    found = combined(TEXT, {n: _changed(*words) for n, words in enumerate(CHANGES, 1)})
    assert found.chosen == set(range(1, len(CHANGES) + 1))
    return found.text


@pytest.mark.parametrize("number", range(len(CHANGES) + 1))
def test_each_is_as_by_itself(number: int, text: str, tmp_path: Path) -> None:
    alone = _changed(*CHANGES[number - 1]).apply(TEXT) if number else TEXT
    assert _values(text.replace(f"{SIGN:#x}", str(number)), tmp_path) == _values(alone, tmp_path)


def test_no_word_of_a_choice_is_one_that_a_macro_may_have() -> None:
    """`#define MASK(n)`: an `n` of ours in what it is given would be what it is given."""
    text = "#define MASK(n) ((1u << (n)) - 1)\nvoid f(int t) { int k = t & MASK(2); }\n"
    at = text.index("2);")
    written = combined(text, {1: Rewrite(at, at + 1, "4", "numbers")}).text
    ours = {token.text for token in Source(written).tokens if token.kind == "name"} - set(words(text))
    known = "static inline asm volatile template class struct using typename constexpr bool double sizeof static_cast"
    known += " operator const return decltype unsigned always_inline device true if else for char"
    assert {word for word in ours if not word.startswith(("lp_", "Lp", "__"))} <= {*known.split()}
