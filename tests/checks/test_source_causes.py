"""A small change of the source with which all is right is told first; one that holds by chance never is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from checks.test_suggest import ENOUGH, KERNEL, RIGHT, WRONG, folder, offers  # noqa: F401
from checks.test_suggest import MANIFEST as PRODUCT

from layoutprobe.gate import searches, source_edits
from layoutprobe.gate.gate import check
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.toolchain import cache

SOME = 60
"""Changes that are tried: those that mend it are among the first."""
MANY = 400
ALL_IS_RIGHT = "all is right"
FEW = ("numerics", "operand-provenance", "memory")
"""Checks that are enough to see what is wrong."""


def judged(folder: Path, edits: int = SOME, checks: Sequence[str] = FEW, suggest: int = 0) -> KernelVerdict:  # noqa: F811
    (verdict,) = check(folder / "layoutprobe.toml", edits=edits, checks=checks, suggest=suggest).verdicts
    return verdict


def first(verdict: KernelVerdict) -> Finding:
    assert not verdict.error, verdict.error
    return verdict.findings[0]


def test_what_one_may_write_is_told_first_at_its_line_and_column(folder: Path) -> None:  # noqa: F811
    """The access is the one that was named before, and stands beside it."""
    found = first(judged(folder))
    assert "with `K` in place of `M` all is right" in found.what
    assert found.place.source is not None
    line = KERNEL.split("\n")[found.place.source.line - 1]
    assert line[(found.place.source.column or 0) - 1 :].startswith("M + k]")
    assert "every check holds at all sizes, and at others that are not listed" in found.hint
    assert (folder / "kernel/gemm.hip").read_text() == KERNEL, "the user's file is read, and never written"


def test_nothing_of_what_was_tried_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Neither in the cache, where it would drive out what is used, nor beside the source, nor as temporary files."""
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
    (folder / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv(cache.ENVIRONMENT, str(folder / "cache"))
    offers(monkeypatch, RIGHT)
    judged(folder, edits=0)
    before = set(folder.rglob("*.entry"))
    found = first(judged(folder))
    assert ALL_IS_RIGHT in found.what
    assert set(folder.rglob("*.entry")) == before
    assert not list((folder / "temporary").iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "sum += A[row * N + k] * B[k * N + col];",  # right at the first size alone
        "sum += A[row * K + k] * B[k * N + col] * 1.5f;",
        "sum += A[row * no_such_name + k];",
    ],
)
def test_what_mends_nothing_is_not_told(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:  # noqa: F811
    tried = offers(monkeypatch, text)
    found = first(judged(folder))
    assert tried
    assert ALL_IS_RIGHT not in found.what


def test_what_holds_at_the_listed_sizes_by_chance_does_not_mislead(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """N is K at every size of the manifest: at others the change is wrong."""
    sizes = "sizes = [{ M = 64, N = 32, K = 32 }, { M = 48, N = 48, K = 48 }, { M = 64, N = 48, K = 48 }]"
    listed = next(line for line in PRODUCT.split("\n") if line.startswith("sizes"))
    (folder / "layoutprobe.toml").write_text(PRODUCT.replace(listed, sizes))
    chance = WRONG.replace("row * M", "row * N")
    offers(monkeypatch, chance)
    assert ALL_IS_RIGHT not in first(judged(folder)).what
    offers(monkeypatch, chance, RIGHT)
    assert "with `K` in place of `M` all is right" in first(judged(folder)).what


def test_a_change_with_which_a_wave_has_much_more_to_do_is_doubted(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One workgroup does all, perhaps: what holds as well comes first, and without such it is told."""
    longer = (
        f"{{ volatile int often = 6; float x = sum; for (int n = 0; n < often; ++n) {{ sum = x; {RIGHT} }}}}"
    )
    offers(monkeypatch, longer)
    assert "often" in first(judged(folder)).what
    offers(monkeypatch, longer, RIGHT)
    found = first(judged(folder))
    assert "with `K` in place of `M` all is right" in found.what
    assert "often" not in found.what


@pytest.mark.parametrize(("added", "told"), [(" && K < 1", False), (" && N < 1 || k < 0", True)])
def test_a_test_that_is_never_true_mends_nothing(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    added: str,
    told: bool,
) -> None:
    """It is a branch that is never taken, whatever it asks for; what is more than a test that is added is no matter
    of that."""
    pitch = WRONG.replace("row * M", "row * (M > 0 ? M : K)")
    (folder / "kernel/gemm.hip").write_text(KERNEL.replace(WRONG, pitch))

    def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
        at = spot.source.text.find("M > 0 ?")
        if kind != "names" or at < 0:
            return []
        behind = at + len("M > 0")
        return [
            Rewrite(behind, behind, added, kind) if not told else Rewrite(at, behind, f"0 > M{added}", kind)
        ]

    monkeypatch.setattr(source_edits, "rewrites", rewrites)
    monkeypatch.setattr(source_edits, "substitutes", lambda *_: ())
    assert (ALL_IS_RIGHT in first(judged(folder)).what) == told


def test_what_no_larger_size_bears_with_it_may_still_be_meant(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store to LDS leaves it at depths below 30, right or wrong: the values are no matter of that."""
    line = "  float sum = 0.0f;\n"
    limit = "  volatile __shared__ float kept[800];\n  if (threadIdx.y == 0) kept[(80 - K) * 16] = 1.0f;\n"
    (folder / "kernel/gemm.hip").write_text(KERNEL.replace(line, line + limit))
    offers(monkeypatch, RIGHT)
    found = first(judged(folder, checks=(*FEW, "lds-safety")))
    assert "with `K` in place of `M` all is right" in found.what
    assert "but it goes wrong below K = 32: lds-safety/out-of-bounds" in found.hint


def test_another_change_that_holds_as_well_stands_behind_it(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offers(monkeypatch, RIGHT, RIGHT.replace("+ k]", "+ k + (M < 0)]"))
    what = first(judged(folder)).what
    assert "with `K` in place of `M` all is right (or: with " in what


def test_a_fix_is_the_same_change_and_costs_no_second_search(folder: Path) -> None:  # noqa: F811
    verdict = judged(folder, suggest=ENOUGH)
    assert verdict.mending is not None
    fix = verdict.mending.fix
    assert fix is not None
    assert RIGHT in fix.new[0]
    assert verdict.fix(verdict.findings[0]) == fix
    assert verdict.mending.tried <= SOME


def test_the_search_is_bounded_by_what_it_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    offers(monkeypatch, *(WRONG.replace("+ k]", f"+ k * {n}]") for n in range(2, 30)), RIGHT)
    assert ALL_IS_RIGHT not in first(judged(folder, edits=20)).what
    monkeypatch.setattr(searches, "MOST_SPENT", 500_000)
    assert ALL_IS_RIGHT not in first(judged(folder)).what


def test_nobody_asks_and_nothing_is_tried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    tried = offers(monkeypatch, RIGHT)
    assert ALL_IS_RIGHT not in first(judged(folder, edits=0)).what
    (folder / "kernel/gemm.hip").write_text(KERNEL.replace(WRONG, RIGHT))
    assert judged(folder).exit_code == 0
    assert not tried


STORED = "  store(C, row * N + col, sum);\n"


def test_a_run_that_ends_early_has_what_mends_it_told(folder: Path) -> None:  # noqa: F811
    """What should have been stored is known all the same."""
    lines = (
        "  __shared__ float kept[16][16];\n  kept[threadIdx.y][threadIdx.x * 2] = sum;\n  __syncthreads();\n"
        "  store(C, row * N + col, kept[threadIdx.y][threadIdx.x]);\n"
    )
    text = KERNEL.replace(WRONG, RIGHT).replace(STORED, lines)
    (folder / "kernel/gemm.hip").write_text(text)
    found = first(judged(folder, edits=MANY, checks=(*FEW, "lds-safety")))
    assert "without `* 2` all is right: LDS access of 4 bytes beyond the allocation" in found.what


def test_what_stands_in_a_macro_is_told_at_its_line(folder: Path) -> None:  # noqa: F811
    text = KERNEL.replace(WRONG, RIGHT).replace(STORED, "  PUT(sum)\n")
    macro = "#define PUT(v) \\\n  store(C, row * N + col, \\\n        (v) * 2.0f);\n"
    (folder / "kernel/gemm.hip").write_text(text.replace('extern "C"', macro + 'extern "C"'))
    found = first(judged(folder, edits=MANY))
    assert "without `* 2.0f` all is right" in found.what
    assert found.place.source is not None
    assert (found.place.source.file, found.place.source.line) == ("gemm.hip", 6)


HALVES = """int k = 0;
  for (; k < K / 2; ++k) {
    sum += A[row * K + k] * B[k * M + col];
  }
  for (; k < K; ++k) sum += A[row * K + k] * B[k * N + col];"""


def test_what_leaves_the_work_to_another_loop_is_doubted(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the first loop the second does all, and nothing shows that: but it was not meant."""
    text = KERNEL.replace(f"for (int k = 0; k < K; ++k) {WRONG}", HALVES)
    assert text != KERNEL
    (folder / "kernel/gemm.hip").write_text(text)
    head, stride = text.index("K / 2"), text.index("M + col")

    def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
        if kind != "names" or spot.source.text != text:
            return []
        return [
            Rewrite(head, head + len("K / 2"), "K - K", kind, rank=-1.0),
            Rewrite(stride, stride + 1, "N", kind),
        ]

    monkeypatch.setattr(source_edits, "rewrites", rewrites)
    monkeypatch.setattr(source_edits, "substitutes", lambda *_: ())
    found = first(judged(folder))
    assert "with `N` in place of `M` all is right" in found.what


def test_a_line_whose_work_is_left_to_others_is_told(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That the first loop does not go round mends it: what is wrong is in that loop, and not its head."""
    text = KERNEL.replace(f"for (int k = 0; k < K; ++k) {WRONG}", HALVES)
    (folder / "kernel/gemm.hip").write_text(text)
    head = text.index("K / 2")

    def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
        here = kind == "names" and spot.source.text == text
        return [Rewrite(head, head + len("K / 2"), "K - K", kind)] if here else []

    monkeypatch.setattr(source_edits, "rewrites", rewrites)
    monkeypatch.setattr(source_edits, "substitutes", lambda *_: ())
    found = first(judged(folder))
    line = text[: text.index("M + col")].count("\n") + 1
    assert f"all is right where other code does the work of gemm.hip:{line}, as with" in found.what
    assert found.place.source is not None
    assert found.place.source.line == line


def test_a_wrong_address_by_which_workgroups_meet_is_told(folder: Path) -> None:  # noqa: F811
    text = KERNEL.replace(WRONG, RIGHT).replace(STORED, STORED.replace("row *", "row % 16 *"))
    (folder / "kernel/gemm.hip").write_text(text)
    found = first(judged(folder, edits=MANY, checks=(*FEW, "races")))
    assert found.rule.id == "races/global-overwrite"
    assert "without `% 16` all is right" in found.what
    assert "two workgroups store to the same elements of C" in found.what


SHARED = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[64];
  for (int at = 0; at < N; at += 64) {
    kept[threadIdx.x] = x[at + threadIdx.x];
    FIRST
    y[at + threadIdx.x] = kept[63 - threadIdx.x];
    LAST
  }
}
"""
TURNED = """[[kernel]]
name = "turned"
source = "kernel.hip"
symbol = "turned"
grid = [1]
block = [64]
sizes = [{ N = 192 }]
contract = { kind = "none" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]
"""


RINGED = """#include <hip/hip_runtime.h>
namespace ring { constexpr int slots = SLOTS; }
constexpr int ahead = 2;
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[ring::slots][64];
  auto fill = [&](int t) { kept[t % ring::slots][threadIdx.x] = x[t * 64 + threadIdx.x]; };
  for (int t = 0; t < ahead && t < N / 64; ++t) fill(t);
  for (int t = 0; t < N / 64; ++t) {
    __syncthreads();
    FILL
    y[t * 64 + threadIdx.x] = kept[t % ring::slots][63 - threadIdx.x];
  }
}
"""
FILL = "if (t + ahead < N / 64) fill(t + ahead);"


def test_a_ring_that_is_filled_as_far_ahead_as_it_is_long_has_a_slot_too_few(tmp_path: Path) -> None:
    """A second barrier would end the race as well; what was meant is another number."""
    (tmp_path / "kernel.hip").write_text(RINGED.replace("SLOTS", "2").replace("FILL", FILL))
    (tmp_path / "layoutprobe.toml").write_text(TURNED.replace("192", "384"))
    found = first(judged(tmp_path, checks=("races",)))
    assert "with `3` in place of `2` at kernel.hip:2 all is right" in found.what
    (tmp_path / "kernel.hip").write_text(RINGED.replace("SLOTS", "3").replace("FILL", FILL))
    assert not judged(tmp_path, checks=("races",)).findings


IN_LOOPS = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[64];
  for (int at = 0; at < N; at += 64) {
    kept[threadIdx.x] = x[at + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 64; n += 16) {
      sum += kept[(threadIdx.x + n) % 64];
    }
    y[at + threadIdx.x] = sum;
  }
}
"""


def test_a_barrier_is_told_behind_the_loop_that_reads_and_not_in_it(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(IN_LOOPS)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("races",)))
    at = re.search(r"with `__syncthreads\(\);` added at kernel.hip:(\d+) all is right", found.what)
    assert at is not None
    lines = IN_LOOPS.split("\n")
    before = next(n for n, line in enumerate(lines, 1) if "sum +=" in line)
    assert before < int(at[1]) <= before + 2, found.what


BOTH_IN_HELPERS = """#include <hip/hip_runtime.h>
__device__ void filled(float* kept, const float* x, int at) {
  for (int e = threadIdx.x; e < 128; e += 64) kept[e] = x[at + e % 64];
}
__device__ float taken(const float* kept, int n) {
  return kept[(threadIdx.x + n) % 64];
}
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[128];
  for (int at = 0; at < N; at += 64) {
    filled(kept, x, at);
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 64; n += 16)
      sum += taken(kept, n);
    y[at + threadIdx.x] = sum;
  }
}
"""


def test_a_barrier_is_told_at_the_end_of_the_loop_that_calls_who_fills_and_who_reads(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(BOTH_IN_HELPERS)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("races",)))
    end = next(n for n, line in enumerate(BOTH_IN_HELPERS.split("\n"), 1) if "y[at" in line)
    assert f"with `__syncthreads();` added at kernel.hip:{end} all is right" in found.what


IN_A_BRANCH = """#include <hip/hip_runtime.h>
__device__ void filled(float* kept, const float* x, int at) { kept[threadIdx.x] = x[at + threadIdx.x]; }
__device__ float taken(const float* kept, int n) { return kept[(threadIdx.x + n) % 128]; }
extern "C" __global__ void __launch_bounds__(128) turned(const float* x, float* y, int N) {
  __shared__ float kept[128];
  float sum = 0;
  for (int at = 0; at < N; at += 128) {
    filled(kept, x, at);
    __syncthreads();
    if (threadIdx.x >= 64) {
      for (int n = 1; n < 128; ++n)
        sum += taken(kept, n);
    }
  }
  y[threadIdx.x] = sum;
}
"""


def test_a_barrier_is_told_at_the_end_of_a_loop_of_which_some_waves_leave_out_the_most(
    tmp_path: Path,
) -> None:
    (tmp_path / "kernel.hip").write_text(IN_A_BRANCH)
    manifest = TURNED.replace("block = [64]", "block = [128]").replace("N = 192", "N = 384")
    (tmp_path / "layoutprobe.toml").write_text(manifest)
    found = first(judged(tmp_path, checks=("races",)))
    end = next(n for n, line in enumerate(IN_A_BRANCH.split("\n"), 1) if "y[" in line) - 2
    assert f"with `__syncthreads();` added at kernel.hip:{end} all is right" in found.what
    assert found.related[-1].role == "mended at"


IN_ASSEMBLY = BOTH_IN_HELPERS.replace(
    "    __syncthreads();", '    asm volatile("s_waitcnt vmcnt(0)\\n\\ts_barrier" ::: "memory");'
).replace("    y[at", "    __syncthreads();\n    y[at")


def test_the_wait_before_a_barrier_that_does_not_ask_for_lds_is_the_place(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(IN_ASSEMBLY)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("waits",), edits=0))
    line = next(n for n, line in enumerate(IN_ASSEMBLY.split("\n"), 1) if "asm volatile" in line)
    assert found.place.line == f"kernel.hip:{line}"
    assert "the wait before it does not ask for lgkmcnt, which may be outstanding" in found.what
    assert [one.role for one in found.related] == ["stored by", "used by"]


BY_HELPER = """#include <hip/hip_runtime.h>
__device__ float taken(const float* kept, int n) {
  return kept[(threadIdx.x + n) % 64];
}
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[64];
  for (int at = 0; at < N; at += 64) {
    kept[threadIdx.x] = x[at + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 64; n += 16) {
      sum += taken(kept, n);
    }
    y[at + threadIdx.x] = sum;
  }
}
"""


def test_a_barrier_is_told_in_the_loop_that_fills_and_not_in_the_helper_that_reads(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(BY_HELPER)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("races",)))
    at = re.search(r"with `__syncthreads\(\);` added at kernel.hip:(\d+) all is right", found.what)
    line = next(n for n, text in enumerate(BY_HELPER.split("\n"), 1) if "sum +=" in text)
    assert at is not None, found.what
    assert line < int(at[1]) <= line + 2, found.what


BY_FUNCTION = """#include <hip/hip_runtime.h>
__device__ void halve(float* kept) {
  kept[threadIdx.x] *= 0.5f;
}
extern "C" __global__ void __launch_bounds__(64) turned(const float* x, float* y, int N) {
  __shared__ float kept[64];
  for (int at = 0; at < N; at += 64) {
    kept[threadIdx.x] = x[at + threadIdx.x];
    __syncthreads();
    halve(kept);
    __syncthreads();
    float sum = kept[63 - threadIdx.x];
    __syncthreads();
    halve(kept);
    y[at + threadIdx.x] = sum + kept[63 - threadIdx.x];
    __syncthreads();
  }
}
"""


def test_a_barrier_is_told_behind_the_call_that_lacks_it_and_not_in_what_is_called(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text(BY_FUNCTION)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("races",)))
    line = next(n for n, text in enumerate(BY_FUNCTION.split("\n"), 1) if "y[at" in text)
    at = re.search(r"with `__syncthreads\(\);` added at kernel.hip:(\d+) all is right", found.what)
    assert at is not None, found.what
    assert line - 1 <= int(at[1]) <= line, found.what


@pytest.mark.parametrize(
    ("place", "text", "says"),
    [
        (
            "LAST",
            "__builtin_amdgcn_wave_barrier();",
            "`__syncthreads` in place of `__builtin_amdgcn_wave_barrier`",
        ),
        ("FIRST", "", "`__syncthreads();` added"),
    ],
)
def test_the_barrier_that_ends_a_race_is_told(tmp_path: Path, place: str, text: str, says: str) -> None:
    wrong = SHARED.replace(place, text)
    wrong = wrong.replace("FIRST", "__syncthreads();").replace("LAST", "__syncthreads();")
    (tmp_path / "kernel.hip").write_text(wrong)
    (tmp_path / "layoutprobe.toml").write_text(TURNED)
    found = first(judged(tmp_path, checks=("races",)))
    assert f"with {says} at " in found.what
    assert "kept[" in wrong.split("\n")[found.place.source.line - 1]  # type: ignore[union-attr]


LAST = """\
#include <hip/hip_runtime.h>
extern "C" __global__ void sums(const float* x, float* part, float* y, unsigned* ticket, int n) {
  __shared__ unsigned last;
  float v = 0.0f;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) v += x[i];
  part[blockIdx.x * 128 + threadIdx.x] = v;
  __threadfence();  // what is stored
  __syncthreads();  // by all
  if (threadIdx.x == 0) last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  __syncthreads();
  __threadfence();  // what others stored
  if (last) {
    float sum = 0.0f;
    for (int b = 0; b < gridDim.x; ++b) sum += part[b * 128 + threadIdx.x];
    y[threadIdx.x] = sum;
  }
}
"""
SUMS = """\
[[kernel]]
name = "sums"
source = "sums.hip"
arch = ["gfx942"]
grid = [4]
block = [128]
sizes = [{ N = 700 }]
contract = { kind = "none" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "part", role = "out", dtype = "f32", shape = [512] },
  { name = "y", role = "out", dtype = "f32", shape = [128] },
  { name = "ticket", role = "inout", dtype = "u32", shape = [1], initial = "zero" },
  { name = "n", role = "scalar", dtype = "i32", value = "N" },
]
"""


@pytest.mark.parametrize(
    ("lacks", "rule"),
    [
        ("  __threadfence();  // what is stored\n", "races/signal-before-store"),
        ("  __syncthreads();  // by all\n", "races/signal-before-store"),
        ("  __threadfence();  // what others stored\n", "races/stale-cache"),
        ("", ""),
    ],
)
def test_the_fence_or_barrier_that_orders_workgroups_is_told(tmp_path: Path, lacks: str, rule: str) -> None:
    lacking = LAST.replace(lacks, "")
    (tmp_path / "sums.hip").write_text(lacking)
    (tmp_path / "layoutprobe.toml").write_text(SUMS)
    (verdict,) = check(tmp_path / "layoutprobe.toml", edits=SOME, checks=("races", "memory")).verdicts
    assert not verdict.error
    assert [found.rule.id for found in verdict.findings] == ([rule] if rule else [])
    for found in verdict.findings:
        told = re.search(r"with `(\w+)\(\);` added at sums\.hip:(\d+) all is right", found.what)
        assert told is not None, found.what
        assert told[1] in lacks
        at = LAST[: LAST.index(lacks)].count("\n") + 1
        assert abs(int(told[2]) - at) <= 1, found.what


GROUPED = """\
#include <hip/hip_runtime.h>
constexpr int group = 4, share = 4;
extern "C" __global__ void doubled(const float* x, float* y, int n) {
  const int groups = (n + group - 1) / group;
  for (int g = threadIdx.x; g < groups; g += 32)
    for (int j = 0; j < group; ++j) {
      const int at = g * group + j;
      if (at < n) y[at] = 2.0f * x[at];
    }
}
"""
DOUBLED = """\
[[kernel]]
name = "doubled"
source = "doubled.hip"
arch = ["gfx1151"]
grid = [1]
block = [32]
sizes = [{ N = 3 }, { N = 315 }]
contract = { kind = "reference", function = "doubled.py:doubled" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["N"] },
  { name = "n", role = "scalar", dtype = "i32", value = "N" },
]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        # At the first size the kernel does nothing, and with any change several times as much.
        ("(n + group - 1) / group", "n / group", "`(n + group - 1)` in place of `n`"),
        # Two names of the same number: to the compiler they are one change.
        ("g * group + j", "g + j", "`* group` added|`* share` added"),
    ],
)
def test_what_is_meant_is_told_where_others_hold_too(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    assert GROUPED.count(right) == 1
    (tmp_path / "doubled.hip").write_text(GROUPED.replace(right, wrong))
    (tmp_path / "doubled.py").write_text("def doubled(inputs, sizes):\n    return {'y': inputs['x'] * 2.0}\n")
    (tmp_path / "layoutprobe.toml").write_text(DOUBLED)
    path = tmp_path / "layoutprobe.toml"
    (verdict,) = check(path, edits=MANY, checks=FEW, allow_reference=True).verdicts
    assert not verdict.error, verdict.error
    what = verdict.findings[0].what
    assert [one for one in says.split("|") if f"with {one}" not in what] == [], what
