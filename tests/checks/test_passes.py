"""Passes that a loop was not seen with: looked for by launches, and asked for where a size could show them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from layoutprobe.checks.memory import CHECK as MEMORY
from layoutprobe.checks.numerics import CHECK as NUMERICS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

SOURCE = """\
extern "C" __attribute__((global)) void summed(const int* x, int* y, int n, int k) {
  int lane = __builtin_amdgcn_workitem_id_x(), at = __builtin_amdgcn_workgroup_id_x() * 32 + lane, sum = 0;
#pragma clang loop unroll(disable)
  for (BEGIN; STEP)
    sum += x[INDEX] ^ lane;
  if (at < n) y[at] = sum;
}
"""
BEHIND = "i > k / 32 * 32 ? i + 100000 : i"
"""Wrong from the second pass over what is left on."""


def checked(
    folder: Path,
    begin: str,
    step: str,
    index: str = "i",
    depths: tuple[int, ...] = (41, 44),
    judged_by: str = "",
) -> KernelVerdict:
    source = SOURCE.replace("BEGIN", begin).replace("STEP", step).replace("INDEX", index)
    (folder / "k.hip").write_text(source, "utf-8")
    sizes = ", ".join(f"{{ n = {n}, k = {k} }}" for n, k in zip((64, 37), depths, strict=True))
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "summed"
source = "k.hip"
grid = "(n + 31) / 32"
block = 32
sizes = [{sizes}]
contract = {{ kind = "none" }}
argument = [
  {{ name = "x", role = "in", dtype = "i32", shape = ["k"] }},
  {{ name = "y", role = "out", dtype = "i32", shape = ["n"] }},
  {{ name = "n", role = "scalar", dtype = "i32", value = "n" }},
  {{ name = "k", role = "scalar", dtype = "i32", value = "k" }},
]
""",
        "utf-8",
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    case = replace(case, judged_by=judged_by)
    verdict = check_kernel(case, case.arches[0], [NUMERICS, MEMORY])
    assert not verdict.findings
    return verdict


@pytest.mark.parametrize(
    ("begin", "step", "told"),
    [
        ("int i = k & ~31; i < k", "i += 16", ""),  # 2 at most, and a size that shows them is tried
        ("int i = k / 8 * 8 + lane; i < k", "i += 32", ""),  # 1 at most
        ("int i = 0; i < k", "i += 1024", ""),  # a size above 1024 is tried
        (
            "int i = 0; i < k",
            "i += 8192",
            "never a second pass of the loop at k.hip:4: no size up to n = 512, k = 4096 was found that does it",
        ),
    ],
)
def test_only_passes_that_are_possible_are_asked_for(
    tmp_path: Path, begin: str, step: str, told: str
) -> None:
    verdict = checked(tmp_path, begin, step)
    assert [one for one in verdict.reservations if "pass" in one] == ([told] if told else [])
    assert not verdict.unlisted


@pytest.mark.parametrize(
    ("begin", "step", "index", "goes_wrong"),
    [
        ("int i = k & ~31; i < k", "i += 16", BEHIND, "memory/load-out-of-bounds"),
        ("int i = 0; i < k", "i += 1024", "i + i * 1000", "memory/load-out-of-bounds"),
    ],
)
def test_a_pass_that_goes_wrong_is_told_where_it_was_looked_for(
    tmp_path: Path, begin: str, step: str, index: str, goes_wrong: str
) -> None:
    """No size that is tried for any other reason has a second pass."""
    (told,) = [one for one in checked(tmp_path, begin, step, index).reservations if "goes wrong" in one]
    assert "which is not listed" in told
    assert goes_wrong in told


@pytest.mark.parametrize(("judged_by", "told"), [("", 0), ("last", 1)])
def test_what_another_kernel_judges_is_not_shown_by_sizes_that_this_one_has_alone(
    tmp_path: Path, judged_by: str, told: int
) -> None:
    """A second pass at such a size runs, and nobody looks at what it leaves."""
    found = checked(tmp_path, "int i = 0; i < k", "i += 64", depths=(20, 44), judged_by=judged_by)
    said = [one for one in found.reservations if "never" in one]
    assert len(said) == told
    assert all("try k = 65" in one or "try n" in one for one in said)
