"""Which statements are changed when a line is wrong: those that give names their values, wherever these stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from layoutprobe.gate import source_edits
from layoutprobe.gate.copies import SourceCopy
from layoutprobe.gate.source_edits import SourceEdits
from layoutprobe.gate.strides import numbers_told
from layoutprobe.manifest.read import read_manifest
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.source.statements import Source

FILE = Path("kernel.hip")
KERNEL = """\
#include <hip/hip_runtime.h>
constexpr int TILE = 32;
enum class Order { Rows = 0, Columns };
struct View {
  const float* p;
  int line, step;
  __device__ View(const float* at, int n, int k, int by) : p(at), line(n), step(by) {}
  __device__ float at(int row, int column) const { return p[row * line + column * step]; }
};
struct Pair { const float* p; int line, step; };
template <Order O, int N> struct Sum {
  float value = 0.0f;
  __device__ void add(float a, float b) { value += a * b; }
};
__device__ float scaled(float x, int n, int by = 1) { return x * by; }
template <typename F> __device__ void each(int n, F&& f) { for (int i = 0; i < n; ++i) f(i); }

extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, int mode) {
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  const Pair pair{A, K, 1}, other{B, 1, N};
  View view(A, M, K, 1), late(B, K, N, 1);
  Sum<Order::Rows, 4> sum, rest;
  each(K, [&](int k) { float f = 0.5f; sum.add(view.at(row, k) * f, late.at(col, k)); });
  for (int k = 0, turn = 1; k < K; k += 4, turn ^= 1) { rest.add(pair.p[k * pair.step], other.p[turn]); }
  switch (mode) {
    case 2: rest.value += 2.0f; break;
  }
  C[row * N + col] = scaled(sum.value + (mode ? rest.value : 0.0f), mode == 1 ? M : N);
}
"""
LINES = dict(enumerate(KERNEL.split("\n"), 1))
STORE = next(number for number, line in LINES.items() if "C[row" in line)


def words(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in Source(text).tokens)


def reached(text: str, monkeypatch: pytest.MonkeyPatch, wrong: int, ran: list[int]) -> set[tuple[str, ...]]:
    """All texts that are tried for a kernel where a line is wrong."""
    return set(in_turn(text, monkeypatch, wrong, ran))


def in_turn(
    text: str, monkeypatch: pytest.MonkeyPatch, wrong: int, ran: list[int], mended: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """The same in the order in which they are tried; `mended`: what is said of instructions."""
    monkeypatch.setattr(source_edits, "scalars_for", lambda *_: ("M", "N", "K", "mode"))
    monkeypatch.setattr(source_edits, "numbers_told", lambda _: ())
    copy = SimpleNamespace(
        texts={FILE: text},
        case=SimpleNamespace(sizes=(), arguments=()),
        original=SimpleNamespace(file=FILE),
        find=lambda _: FILE,
    )
    place = Place(source=SourceLine(FILE.name, wrong, 3))
    finding = Finding(Rule("numerics/wrong-values", "", "", ""), "C is wrong", place)
    found = SourceEdits(cast("SourceCopy", copy)).in_turn(
        [finding], (), [SourceLine(FILE.name, n) for n in ran], mended
    )
    return [words(one.rewrite.apply(text)) for one in found]


def test_the_name_with_which_an_instruction_is_right_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = KERNEL.replace("row * N + col]", "row * K + col]")
    says = "argument N in place of K"
    few = 6  # the file has so many K
    assert words(KERNEL) in in_turn(wrong, monkeypatch, STORE - 9, [STORE], [says])[:few]
    assert words(KERNEL) not in in_turn(wrong, monkeypatch, STORE - 9, [STORE])[:few]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("other{B, 1, N}", "other{B, 1, K}"),
        ("late(B, K, N, 1)", "late(B, N, K, 1)"),
        ("Order::Rows, 4", "Order::Columns, 4"),
        ("late.at(col, k)", "late.at(row, k)"),
        ("k += 4, turn ^= 1", "k += 4"),
        ("k += 4", "k += 8"),
        ("k * pair.step", "k * pair.line"),
        ("case 2", "case 1"),
        ("rest.value += 2.0f", "rest.value += 1.0f"),
        ("int by = 1", "int by = 2"),
        ("line(n), step(by)", "line(k), step(by)"),
        ("step(by) {}", "step(k) {}"),
        ("mode == 1 ?", "mode != 1 ?"),
        ("? rest.value : 0.0f", "? sum.value : 0.0f"),
        ("1 ? M : N", "1 ? N : M"),
        ("column * step]", "column * line]"),
    ],
)
def test_the_right_text_is_tried(right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KERNEL.count(right) == 1
    text = KERNEL.replace(right, wrong)
    ran = [n for n, line in LINES.items() if n > 17 and line.startswith("  ")]
    assert words(KERNEL) in reached(text, monkeypatch, STORE, ran)


def test_a_lambda_is_reached_by_the_call_that_it_is_an_argument_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a wrapper calls may have no line but the wrapper's."""
    call = "  each(K, [&](int k) { float f = 0.5f; sum.add(view.at(row, k) * f, late.at(col, k)); });"
    apart = call.replace("{ float", "{\n    float").replace("; sum", ";\n    sum")
    right = KERNEL.replace(call, apart)
    wrong = right.replace("late.at(col, k)", "late.at(row, k)")
    line = next(n for n, text in enumerate(wrong.split("\n"), 1) if text.startswith("  each("))
    assert words(right) in reached(wrong, monkeypatch, line, [line])


def test_a_branch_of_which_the_compiler_knows_the_outcome_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has no instruction, and so no line that ran; a branch in a function that did not run is left alone."""
    other = "\n__device__ void unused(float* y, int n) { if (n + 1 < 4) y[0] = 1.0f; }\n"
    tail = "  if (mode < 9) __threadfence();\n  C[row"
    right = KERNEL.replace("  C[row", tail) + other
    wrong = right.replace("mode < 9", "mode + 1 < 9")
    store = STORE + 1
    tried = reached(wrong, monkeypatch, store, [*range(18, STORE - 4), store])
    assert words(right) in tried
    assert words(wrong.replace("n + 1 < 4", "n < 4")) not in tried


def test_what_names_in_a_macro_are_where_it_is_used_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    right = """\
#define LOAD(i) (b[(i) * ldb])
#define STAGE(k) tile[k] = LOAD(k)
__global__ void f(const float* A, const float* B, float* tile, int strideA, int strideB, int ldb) {
  const float* a = A + blockIdx.z * strideA;
  const float* b = B + blockIdx.z * strideB;
  STAGE(threadIdx.x);
}
"""
    wrong = right.replace("B + blockIdx.z * strideB", "B + blockIdx.z * strideA")
    assert words(right) in reached(wrong, monkeypatch, 6, [6])


def test_the_head_of_a_branch_around_a_line_is_searched_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored too seldom is asked too much before: the branch may have run, and is no place of the finding."""
    line = "  C[row * N + col] = scaled"
    guarded = KERNEL.replace(line, f"  if (row + 1 < M) {{\n  {line}").replace(
        "M : N);\n}", "M : N);\n  }\n}"
    )
    wrong = guarded.replace("row + 1 < M", "row + 1 <= M")
    store = next(n for n, text in enumerate(wrong.split("\n"), 1) if "C[row" in text)
    assert words(guarded) in reached(wrong, monkeypatch, store, [])


def test_keys_of_the_reference_are_told_and_its_small_numbers_are_not(tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text(
        "KEY = 0x9E3779B9\ndef f(i, s):\n    return {'y': i['x'] * 1664525 % 2**32 + 12}\n"
    )
    (tmp_path / "k.hip").write_text("")
    (tmp_path / "m.toml").write_text(REFERRED)
    (case,) = read_manifest(tmp_path / "m.toml").kernels
    assert numbers_told(case) == [48, 0x9E3779B9, 1664525]
    (tmp_path / "ref.py").unlink()
    assert numbers_told(case) == [48]


REFERRED = """\
[[kernel]]
name = "f"
source = "k.hip"
arch = ["gfx1151"]
grid = ["N // 48"]
block = [48]
sizes = [{ N = 96 }]
contract = { kind = "reference", function = "ref.py:f" }
argument = [
  { name = "x", role = "in", dtype = "u32", shape = ["N"] },
  { name = "y", role = "out", dtype = "u32", shape = ["N"] },
]
"""


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ("without `+ tk - tq` (r.py:3)", ["+ tk - tq"]),
        ("without `+ sizes['T'] - sizes[\"S\"]` (r.py:3)", ["+ T - S"]),
        ("without `* inputs['scale'][0]` (r.py:3)", ["* scale[0]"]),
        ("without `2 *` (r.py:3)", ["* 2"]),
        ("without `np.abs(...)` (r.py:3)", []),
    ],
)
def test_a_step_of_the_reference_is_read_as_it_writes_it(said: str, steps: list[str]) -> None:
    assert source_edits.steps_told(f"y is what the reference gives {said}") == steps
