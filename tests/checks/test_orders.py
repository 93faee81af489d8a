"""Kernels whose workgroups tell each other something: right in any order of these, or told that they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import edited

from layoutprobe.checks import numerics, races
from layoutprobe.checks.base import Check
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import CheckResult

LOOK_BACK = """#include <hip/hip_runtime.h>
// Sums of all before, over workgroups of 32: each looks back until it finds one that knows its whole prefix.
extern "C" __global__ void scan(const int* x, int* y, unsigned long long* told, unsigned* next, int n) {
  unsigned tile = threadIdx.x ? 0 : atomicAdd(next, 1u);
  tile = __shfl(tile, 0, 32);
  const int i = tile * 32 + threadIdx.x;
  int sum = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d <<= 1) {
    const int other = __shfl_up(sum, d, 32);
    if ((int)threadIdx.x >= d) sum += other;
  }
  const unsigned all = __shfl(sum, 31, 32);
  unsigned before = 0;
  if (threadIdx.x == 0) {
    if (tile) __hip_atomic_store(&told[tile], 1ull << 32 | all, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    for (int p = (int)tile - 1; p >= 0; --p) {
      unsigned long long found;
      do found = __hip_atomic_load(&told[p], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); while (!(found >> 32));
      before += (unsigned)found;
      if (found >> 32 == 2) break;
    }
    __hip_atomic_store(&told[tile], 2ull << 32 | (before + all), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
  if (i < n) y[i] = sum + (int)__shfl(before, 0, 32);
}
"""
MEET = """#include <hip/hip_runtime.h>
// All workgroups meet once, then each reads what the one after it has left.
extern "C" __global__ void scan(const int* x, int* y, unsigned long long* told, unsigned* next, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x, there = (blockIdx.x + 1) % gridDim.x * 32 + threadIdx.x;
  if (i < n) told[i] = x[i];
  __threadfence();
  if (threadIdx.x == 0) {
    atomicAdd(next, 1u);
    while (__hip_atomic_load(next, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x) ;
  }
  __threadfence();
  if (there < n) y[there] = (int)told[there];
}
"""
TAKEN = """#include <hip/hip_runtime.h>
// Workgroups take 32 elements at a time by a counter. Each counts once in vain; the last to do so resets it.
extern "C" __global__ void scan(const int* x, int* y, unsigned long long* told, unsigned* next, int n) {
  const unsigned tiles = (n + 31) / 32;
  unsigned tile;
  do {
    tile = threadIdx.x ? 0 : atomicAdd(next, 1u);
    tile = __shfl(tile, 0, 32);
    const int i = tile * 32 + threadIdx.x;
    if (tile < tiles && i < n) y[i] = x[i];
  } while (tile < tiles);
  if (tile + 1 == tiles + gridDim.x && threadIdx.x == 0) *next = 0;
}
"""
RING = """#include <hip/hip_runtime.h>
// The first wave fills two slots in turns, two others take each of them, and count that they have.
#define LOOK(flag) __hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)
extern "C" __global__ void scan(const int* x, int* y, unsigned long long* told, unsigned* next, int n) {
  __shared__ int slots[2][32], full[2], taken[2];
  const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 32), lane = threadIdx.x % 32;
  if (threadIdx.x < 2) full[threadIdx.x] = taken[threadIdx.x] = 0;
  __syncthreads();
  for (int tile = 0; tile * 32 < n; ++tile) {
    const int slot = tile % 2, turn = tile / 2, i = tile * 32 + lane;
    if (wave == PRODUCER) {
      while (LOOK(taken[slot]) < 2 * turn) __builtin_amdgcn_s_sleep(1);
      slots[slot][lane] = i < n ? x[i] : 0;
      if (lane == 0) __hip_atomic_store(&full[slot], turn + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
      while (LOOK(full[slot]) < turn + 1) __builtin_amdgcn_s_sleep(1);
      const int value = slots[slot][lane];
      if (lane == 0) __hip_atomic_fetch_add(&taken[slot], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      if (i < n && i % 2 == (wave == 1)) y[i] = value;
    }
  }
}
"""
MANIFEST = """[[kernel]]
name = "scan"
source = "scan.hip"
arch = ["gfx1151"]
block = [32]
grid = ["(n + 31) / 32"]
sizes = [{ n = 20 }, { n = 150 }]
contract = { kind = "reference", function = "reference.py:scan" }
argument = [
  { name = "x", role = "in", dtype = "i32", shape = ["n"] },
  { name = "y", role = "out", dtype = "i32", shape = ["n"] },
  { name = "told", role = "inout", dtype = "u64", shape = ["n"], initial = "zero" },
  { name = "next", role = "inout", dtype = "u32", shape = [1], initial = "zero" },
  { name = "n", role = "scalar", dtype = "i32", value = "n" },
]
"""
RING_MANIFEST = edited(
    MANIFEST, [("block = [32]", "block = [96]"), ("(n + 31) / 32", "1"), ("n = 20", "n = 100")]
)
SUMS = 'import numpy as np\ndef scan(inputs, sizes): return {"y": np.cumsum(inputs["x"].astype(np.int64))}\n'
COPY = 'def scan(inputs, sizes): return {"y": inputs["x"]}\n'
WRONG = {
    "never stops": [("if (found >> 32 == 2) break;", "")],
    "not its whole prefix": [("2ull << 32 | (before + all)", "2ull << 32 | all")],
    "does not wait": [
        ("while (!(found >> 32))", "while (false)"),
        (
            "if (tile) __hip_atomic_store(&told[tile], 1ull",
            "__hip_atomic_store(&told[tile], (tile ? 1ull : 2ull)",
        ),
    ],
    "stops at a part": [("if (found >> 32 == 2) break;", "if (p + 2 == (int)tile && found >> 32) break;")],
}


def result(
    folder: Path, source: str, reference: str, check: Check = numerics.CHECK, manifest: str = MANIFEST
) -> CheckResult:
    (folder / "scan.hip").write_text(source)
    (folder / "reference.py").write_text(reference)
    (folder / "layoutprobe.toml").write_text(manifest)
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    (found,) = check_kernel(case, "gfx1151", (check,), allow_reference=True).results
    return found


def test_what_is_right_in_any_order_is_said_to_have_been_tried(tmp_path: Path) -> None:
    found = result(tmp_path, LOOK_BACK, SUMS)
    assert found.status == "holds"
    assert found.reason.endswith("also with one workgroup after the other, the last workgroup first")


@pytest.mark.parametrize("fault", ["never stops", "not its whole prefix", "does not wait"])
def test_what_is_right_side_by_side_only(tmp_path: Path, fault: str) -> None:
    source = edited(LOOK_BACK, WRONG[fault])
    (finding,) = result(tmp_path, source, SUMS).findings
    assert finding.rule.id == "numerics/depends-on-order"
    (looks,) = (i for i, line in enumerate(source.split("\n"), 1) if "do found" in line)
    assert finding.place.line == f"scan.hip:{looks}"
    assert finding.place.element is not None
    first = 32 if fault == "does not wait" else 64  # with two workgroups there are no parts to skip
    assert finding.place.element.index[0] >= first


def test_what_is_wrong_side_by_side_is_no_matter_of_order(tmp_path: Path) -> None:
    (finding,) = result(tmp_path, edited(LOOK_BACK, WRONG["stops at a part"]), SUMS).findings
    assert finding.rule.id != "numerics/depends-on-order"


def test_workgroups_that_need_each_other_at_once_do_not_end_one_by_one(tmp_path: Path) -> None:
    found = result(tmp_path, MEET, COPY)
    assert found.status == "holds"
    assert found.reason.endswith(
        "n=150: every element, on integers and normal, also with the last workgroup first"
    )


@pytest.mark.parametrize("producer", ["0", "2"])
@pytest.mark.parametrize("least", ["2 * turn", "2 * turn - 1"])
def test_waves_that_wait_for_less_than_all_that_must_come(tmp_path: Path, producer: str, least: str) -> None:
    """Where waves are equally fast, the counter has all by then."""
    source = edited(RING, [("PRODUCER", producer), ("2 * turn", least)])
    found = result(tmp_path, source, COPY, manifest=RING_MANIFEST)
    if least == "2 * turn":
        assert found.status == "holds", found
        assert found.reason.endswith("also with the first wave first, the last wave first")
        return
    (finding,) = found.findings
    assert finding.rule.id == "numerics/depends-on-order"
    assert finding.place.instruction.startswith("ds_load_b32")


def test_a_counter_is_reset_by_who_counts_last(tmp_path: Path) -> None:
    assert result(tmp_path, TAKEN, COPY, races.CHECK).status in ("holds", "skipped")


def test_a_counter_that_is_reset_while_others_count(tmp_path: Path) -> None:
    """Side by side the first workgroup happens to be the last to count."""
    source = edited(TAKEN, [("tile + 1 == tiles + gridDim.x", "blockIdx.x == 0")])
    (finding,) = result(tmp_path, source, COPY, races.CHECK).findings
    assert finding.rule.id == "races/store-and-add"
    (store,) = (i for i, line in enumerate(source.split("\n"), 1) if "*next = 0" in line)
    assert f"scan.hip:{store}" in {other.place.line for other in finding.related}
