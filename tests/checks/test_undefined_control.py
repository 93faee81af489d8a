"""What LDS held before decides what a kernel does: told at the load that brought it, a missing barrier as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

KERNEL = """\
#include <hip/hip_runtime.h>
extern "C" __global__ __launch_bounds__(64) void k(const int* in, int* out, int* work) {
  __shared__ int flag, counts[64];
  const int t = threadIdx.x, at = blockIdx.x * 64 + t;
  counts[t] = 0;  // clears
  int seen = in[at];
  __syncthreads();
  if (__builtin_expect(t == 0, 0)) flag = atomicAdd(work, 1) + 6;  // tells
  __syncthreads();
  if (counts[t ^ 32] == 1) __builtin_amdgcn_s_sleep(1);  // counts
  if (flag < 6) return;  // asks
  out[at] = seen;
}
"""
MANIFEST = """
[[kernel]]
name = "k"
source = "kernel.hip"
grid = ["B"]
block = [64]
sizes = [{ B = 2 }]
contract = { kind = "none" }
argument = [
  { name = "in", role = "in", dtype = "i32", shape = ["B", 64] },
  { name = "out", role = "out", dtype = "i32", shape = ["B", 64] },
  { name = "work", role = "inout", dtype = "i32", shape = [1], initial = "zero" },
]
"""


def judged(folder: Path, *edits: tuple[str, str]) -> KernelVerdict:
    source = KERNEL
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    (folder / "kernel.hip").write_text(source)
    (folder / "layoutprobe.toml").write_text(MANIFEST)
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, "gfx1151", CHECKS)


def line(verdict_line: str) -> str:
    (number,) = (n for n, text in enumerate(KERNEL.split("\n"), 1) if verdict_line in text)
    return f"kernel.hip:{number}"


UNORDERED = ("  __syncthreads();\n  if (counts", '  asm volatile("" ::: "memory");\n  if (counts')


def test_the_kernel_itself_holds(tmp_path: Path) -> None:
    assert not judged(tmp_path).findings


def test_a_flag_that_is_read_before_it_is_stored_is_a_missing_barrier(tmp_path: Path) -> None:
    verdict = judged(tmp_path, UNORDERED, ("counts[t ^ 32]", "counts[t]"))
    (finding,) = verdict.findings
    assert finding.rule.id == "races/read-after-write", finding
    assert finding.place.line == line("// asks")
    assert [one.place.line for one in finding.related] == [line("// tells")]
    assert "before the first load" in finding.hint


@pytest.mark.parametrize("cleared", ["if (t < 32) ", ""])
def test_bytes_that_nobody_stored_are_told_at_the_load_and_the_rest_is_decided(
    tmp_path: Path, cleared: str
) -> None:
    """The set of lanes depends on them; with zeros in their place nothing else is wrong."""
    verdict = judged(tmp_path, ("counts[t] = 0;", f"{cleared}counts[t] = 0;"))
    if not cleared:
        assert not verdict.findings
        return
    (finding,) = verdict.findings
    assert finding.rule.id == "memory/undefined-control", finding
    assert finding.place.line == line("// counts")
    assert finding.place.lds_byte is not None
    assert "reads LDS that was never stored" in finding.what
    status = {result.check: result.status for result in verdict.results}
    assert status["waits"] == status["races"] == "holds", status
    assert status["lds-safety"] == "undecided", "it does not hold: the run went on with zeros"


RING = """\
#include <hip/hip_runtime.h>
extern "C" __global__ __launch_bounds__(64) void k(const int* in, int* out, int* work) {
  __shared__ int tile[2][64];
  const int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int cur = 0, sum = 0;
  tile[0][t] = in[at];
  __syncthreads();
#pragma unroll 1
  for (int n = 0; n < 4; ++n) {
    const int x = tile[cur][63 - t];
    if (x == 1 << 20) __builtin_amdgcn_s_sleep(1);
    sum += x;
    tile[cur][t] = n;  // fills
    __syncthreads();
    cur ^= 1;
  }
  out[at] = sum;
}
"""


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_a_buffer_that_nobody_filled_is_the_store_that_filled_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Also where C executes it: with zeros in LDS the run goes on, and shows the race."""
    monkeypatch.setenv("LAYOUTPROBE_ENGINE", engine)
    verdict = judged(tmp_path, (KERNEL, RING))
    (finding,) = (one for one in verdict.findings if one.rule.check == "races")
    assert finding.rule.id == "races/buffer-in-use", finding
    assert finding.place.line == f"kernel.hip:{1 + RING[: RING.index('// fills')].count(chr(10))}"


JOINED = """\
#include <hip/hip_runtime.h>
extern "C" __global__ __launch_bounds__(64) void k(const int* in, int* out, int* work) {
  __shared__ int tile[128];
  const int t = threadIdx.x, at = blockIdx.x * 64 + t;
#pragma unroll 1
  for (int i = t; i < 128; i += 64) tile[i] = in[at] + i;
  const int* from = tile + (t ^ 63);
  const int one = from[0];
  const int other = from[64];
  out[at] = one - other;
}
"""


def test_a_race_has_a_line_where_the_compiler_joined_the_loads(tmp_path: Path) -> None:
    """Two loads of two lines become one instruction, which has none."""
    verdict = judged(tmp_path, (KERNEL, JOINED))
    (finding,) = verdict.findings
    assert finding.rule.check == "races", finding
    assert finding.place.line, finding
    assert "another wave reads" in finding.what, finding


def test_an_undefined_register_is_no_matter_of_lds(tmp_path: Path) -> None:
    verdict = judged(tmp_path, ("int seen = in[at];", "int seen; if (at < 0) seen = in[at];"))
    for finding in verdict.findings:
        assert "LDS" not in finding.what
