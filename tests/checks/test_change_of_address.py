"""Where an index or a bound is wrong, findings about accesses are at the line that computes it, if a change of one
instruction there makes all right."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_references import HEAD, Style, verdict

from layoutprobe.isa.edit import Known
from layoutprobe.isa.edits import edits
from layoutprobe.isa.inst import Inst, Operand

GEMM = Style(
    HEAD
    + """typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef float v8f __attribute__((ext_vector_type(8)));
extern "C" __global__ void layer(const _Float16* A, const _Float16* B, float* C, int M, int N, int K) {
  const int lane = threadIdx.x, low = lane % 16;
  const int half = lane / 16;
  const int row = blockIdx.x * 16;
  v8f acc = {};
  for (int k = 0; k < K; k += 16) {
    v16h a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = A[(row + low) * K + k + i];
      b[i] = low < N ? B[(k + i) * N + low] : (_Float16)0;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i) {
    const int r = row + 2 * i + half;

    const int at = r * N + low;

    if (low < N) C[at] = acc[i];
  }
}
""",
    """block = [32]
grid = ["M / 16"]
sizes = [{ M = 16, N = 14, K = 32 }, { M = 32, N = 14, K = 16 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" },
  { name = "C", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "C" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
)
FAULTS = {
    "half": (("lane / 16;", "lane / 8;"), "4 in place of 3", "int half ="),
    "bound": (("if (low < N)", "if (low <= N)"), "in place of", "low <= N"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FAULTS)
def test_the_line_of_the_index_comes_first(tmp_path: Path, name: str) -> None:
    edit, words, at = FAULTS[name]
    first = verdict(tmp_path, GEMM, (edit,)).findings[0]
    assert first.rule.check != "numerics", first
    assert words in first.what, first.what
    assert first.place.source is not None
    assert at in (tmp_path / "kernel.hip").read_text().split("\n")[first.place.source.line - 1], first


def test_extents_are_not_taken_for_counts() -> None:
    """With rows in place of the number of splits a kernel may be right by chance."""
    one, held = Operand("s", 1, fmt="I32"), Operand("s", 4, fmt="I32")
    inst = Inst(0, 4, "s_mul_i32", "SOP2", (one,), (held, one))
    known = Known(("M", "N", "splits"), (), {4: "splits", 1: "M"}, (), frozenset("MN"))
    told = {edit.says for edit in edits(inst, known) if edit.says.startswith("argument")}
    assert told == {"argument N in place of M"}


def test_sources_are_called_by_what_they_are_for() -> None:
    """Who writes kernels does not number the operands of machine code."""
    reals = tuple(Operand("v", index, fmt="F32") for index in range(4))
    fused = Inst(0, 8, "v_fma_f32", "VOP3", reals[:1], reals[1:])
    told = {edit.says for edit in edits(fused, Known()) if "sign" in edit.says}
    assert told == {f"the sign of the {name} changed" for name in ("first factor", "second factor", "addend")}
