"""Sizes of which one run is made: what goes wrong where two extents together leave one remainder of 32."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from layoutprobe.checks.memory import CHECK as MEMORY
from layoutprobe.checks.numerics import CHECK as NUMERICS
from layoutprobe.gate.session import check_kernel
from layoutprobe.gate.sweep import swept
from layoutprobe.manifest.model import size_title
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = """\
extern "C" __attribute__((global)) void causal(const int* x, int* y, int before, int queries) {
  int i = __builtin_amdgcn_workgroup_id_x() * 16 + __builtin_amdgcn_workitem_id_x(), sum = 0;
  int end = before + __builtin_amdgcn_workgroup_id_x() * 16 + 15 + MORE;
  end = end < before + queries ? end : before + queries;
  for (int tile = 0; tile < end; tile += 32)
    for (int k = tile; k < tile + 32; ++k)
      if (k <= before + i && k < before + queries) sum += x[k LATER];
  if (i < queries) y[i] = sum;
}
"""


def checked(
    folder: Path, more: int, later: str = "", where: str = "before >= 0", before: int = 30
) -> KernelVerdict:
    (folder / "k.hip").write_text(SOURCE.replace("MORE", str(more)).replace("LATER", later), "utf-8")
    (folder / "ref.py").write_text(
        "import numpy as np\n"
        "def f(inputs, sizes):\n"
        "    return {'y': np.cumsum(inputs['x'].astype(np.int32))[sizes['before']:]}\n",
        "utf-8",
    )
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "causal"
source = "k.hip"
grid = "(queries + 15) / 16"
block = 16
sizes = [{{ before = {before}, queries = 16 }}, {{ before = 0, queries = 21 }}, {{ before = 60, queries = 40 }}]
where = ["{where}"]
contract = {{ kind = "reference", function = "ref.py:f" }}
argument = [
  {{ name = "x", role = "in", dtype = "i32", shape = ["before + queries"] }},
  {{ name = "y", role = "out", dtype = "i32", shape = ["queries"] }},
  {{ name = "before", role = "scalar", dtype = "i32", value = "before" }},
  {{ name = "queries", role = "scalar", dtype = "i32", value = "queries" }},
]
""",
        "utf-8",
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return check_kernel(case, case.arches[0], [NUMERICS, MEMORY], allow_reference=True)


def told(folder: Path, more: int, where: str = "before >= 0") -> list[str]:
    """What is said of sizes that are not meant."""
    verdict = checked(folder, more, where=where)
    assert not verdict.findings
    return [one for one in verdict.reservations if "not listed" in one]


def test_remainders_of_two_extents_together(tmp_path: Path) -> None:
    """Without the last key, the last row of a tile lacks its own where that is the first of a tile of keys."""
    assert told(tmp_path, 1) == []
    (one,) = told(tmp_path, 0)
    assert one.startswith("goes wrong at before=")
    assert one.endswith(", which is not listed: numerics/wrong-values")


def test_what_goes_wrong_between_listed_sizes_is_a_finding(tmp_path: Path) -> None:
    """31, 0 and 60 keys have no divisor in common, so that every number between is meant."""
    assert checked(tmp_path, 1, before=31).exit_code == 0
    verdict = checked(tmp_path, 0, before=31)
    (one,) = verdict.findings
    (at,) = one.sizes
    size = dict(at)
    assert one.rule.id.startswith("numerics/")
    assert (size["before"] + 15) % 32 == 0 or (size["before"] + 31) % 32 == 0
    assert (verdict.exit_code, verdict.sizes[-1]) == (1, size_title(size))
    says = f"{size_title(size)} goes wrong: it is not listed, but like sizes that are"
    assert says in verdict.reservations


def test_what_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    verdict = checked(tmp_path, 1, "+ ((before + queries) % 32 == 17 ? 100000 : 0)")
    (one,) = verdict.findings
    ((at,),) = [one.sizes]
    assert one.rule.id == "memory/load-out-of-bounds"
    assert sum(dict(at).values()) % 32 == 17


def test_sizes_that_nobody_launches_are_not_tried(tmp_path: Path) -> None:
    assert told(tmp_path, 0, where="before % 2 == 0") == []


@pytest.mark.parametrize("steps", [{"M": 1, "N": 1, "K": 8, "Z": 1}, {"M": 3, "N": 2, "K": 32, "Z": 1}])
def test_each_32_have_all_remainders(steps: dict[str, int]) -> None:
    listed = {"M": [40, 99, 33], "N": [7, 64, 128], "K": [512, 64, 1024], "Z": [2, 2, 2]}
    found = list(islice(swept(listed, steps), 32, 64))
    for name in ("M", "N", "K"):
        values = [one[name] for one in found]
        assert {value // steps[name] % 32 for value in values} == {*range(32)}
        assert all(value % steps[name] == 0 and 0 < value <= max(listed[name]) for value in values)
    assert {one["Z"] for one in found} == {2}
    pairs = {
        (one["M"] // steps["M"] % 32, one["N"] // steps["N"] % 32) for one in islice(swept(listed, steps), 96)
    }
    assert len(pairs) == 96


def test_a_short_extent_takes_all_its_values() -> None:
    found = list(islice(swept({"H": [1, 3], "N": [100, 200]}, {"H": 1, "N": 1}), 6))
    assert {one["H"] for one in found} == {1, 2, 3}
