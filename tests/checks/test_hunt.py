"""`check --hunt`: faults that show at sizes which nobody listed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from layoutprobe.cli.main import main
from layoutprobe.gate import hunt
from layoutprobe.gate.gate import check
from layoutprobe.gate.hunt import candidates, least_of
from layoutprobe.manifest.model import Sizes
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

KERNEL = Path(__file__).parent / "kernels" / "edges.hip"
MANIFEST = f"""
[[kernel]]
name = "gemm"
source = "{KERNEL}"
defines = {{ FAULT = %d }}
block = [16, 16]
grid = ["(N + 15) / 16", "(M + 15) / 16"]
%s
contract = {{ kind = "gemm" }}
argument = [
  {{ name = "A", role = "in", dtype = "f32", shape = ["M", "K"], matrix = "A" }},
  {{ name = "B", role = "in", dtype = "f32", shape = ["K", "N"], matrix = "B" }},
  {{ name = "C", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "C" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
]
"""
TILE = "tile = { M = 16, N = 16, K = 16 }"
ENOUGH = 3600
"""Seconds: the search ends with what it finds, however slow the machine is."""
FAILS = {
    1: lambda m, n, k: k > 112,
    2: lambda m, n, k: k % 16 == 2,
    3: lambda m, n, k: n > 64,
    4: lambda m, n, k: n % 7 == 0,
    5: lambda m, n, k: m == 1,
    6: lambda m, n, k: m > 112,
    7: lambda m, n, k: k == 1,
    8: lambda m, n, k: m > 2 * n,
    9: lambda m, n, k: n < 4,
    10: lambda m, n, k: m * n > 8000,
}
"""Fault of the kernel -> the sizes at which it shows: what the source says, once more."""


def hunted(folder: Path, fault: int, sizes: str = TILE, seconds: float = ENOUGH) -> KernelVerdict:
    path = folder / "layoutprobe.toml"
    path.write_text(MANIFEST % (fault, sizes))
    return check(path, checks=["numerics"], hunt=seconds).verdicts[0]


@pytest.mark.all_in_ci
@pytest.mark.long
@pytest.mark.parametrize("fault", FAILS)
def test_faults_that_the_sizes_of_the_tile_miss(fault: int, tmp_path: Path) -> None:
    assert hunted(tmp_path, fault, seconds=0).exit_code == 0
    verdict = hunted(tmp_path, fault)
    assert verdict.hunt is not None
    assert verdict.exit_code == 1
    assert verdict.hunt.fails
    size = verdict.hunt.sizes[-1]
    assert FAILS[fault](size["M"], size["N"], size["K"])
    (found,) = verdict.findings
    assert found.sizes == (tuple(size.items()),), "the finding is about the smallest size, and no other"
    # As small as halving each extent makes it, give or take what steps of 3/4 miss.
    least = {1: 113, 3: 65, 6: 113, 10: 8001}.get(fault, 18)
    assert max(size.values()) <= least * 1.25


@pytest.mark.parametrize(
    ("extent", "wrong", "least", "most"),
    [
        (575, lambda n: n > 512, 513, 16),
        (4000, lambda n: n >= 1, 1, 1),
        (34, lambda n: n % 16 == 2, 18, 8),
        (560, lambda n: n > 500 and n % 8 == 0, 520, 16),
    ],
)
def test_one_extent_becomes_the_least_that_fails(
    extent: int, wrong: Callable[[int], bool], least: int, most: int, tmp_path: Path
) -> None:
    path = tmp_path / "layoutprobe.toml"
    path.write_text(MANIFEST % (0, TILE))
    (case,) = read_manifest(path).kernels
    tried: list[int] = []

    def fails(sizes: Sizes) -> bool:
        tried.append(sizes["N"])
        return wrong(sizes["N"])

    assert least_of("N", {"M": 16, "N": extent, "K": 16}, case, fails) == least
    assert len(tried) <= most
    assert len(set(tried)) == len(tried)


def test_looking_for_a_smaller_size_keeps_to_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault found as the time ends is made smaller for a little longer, and no more."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    path = tmp_path / "layoutprobe.toml"
    path.write_text(MANIFEST % (0, TILE))
    (case,) = read_manifest(path).kernels

    class Broken(SimpleNamespace):
        def broken(self, _: object) -> set[str]:
            return {"a rule"} if self.sizes["N"] > 100 else set()

    def at(sizes: Sizes) -> Broken:
        now[0] += 7
        return Broken(sizes=sizes, results={}, endless=None)

    quick = SimpleNamespace(at=at)
    tally: Any = SimpleNamespace(
        case=case, active=[object()], outcomes=[], covered=lambda: None, of=lambda *_: quick,
        shun=lambda _: None, keep=lambda _: None,
    )  # fmt: skip
    monkeypatch.setattr(hunt, "trials", lambda *_: iter([hunt.Trial({"M": 9000, "N": 9000, "K": 9000})]))
    found = hunt.go_on(tally, 60)
    assert found.fails
    assert now[0] <= 60 + 0.15 * 60 + 7
    assert f"{{ M = {found.sizes[-1]['M']}" in found.proposal
    assert found.proposal.count("{") == 1


@pytest.mark.parametrize(("fault", "extent", "least"), [(13, "K", 701), (14, "N", 501)])
def test_numbers_in_the_code_are_gone_beyond(fault: int, extent: str, least: int, tmp_path: Path) -> None:
    """No edge of a tile is as far; the code says where another way begins."""
    verdict = hunted(tmp_path, fault)
    assert verdict.hunt is not None
    assert verdict.hunt.fails
    assert verdict.hunt.sizes[-1][extent] == least


def test_what_the_proposal_says_is_what_the_manifest_takes(tmp_path: Path) -> None:
    verdict = hunted(tmp_path, 5)
    assert verdict.hunt is not None
    again = hunted(tmp_path, 5, f"sizes = [{verdict.hunt.proposal}]", seconds=0)
    assert again.exit_code == 1


def test_a_right_kernel_stays_green_and_time_is_kept(tmp_path: Path) -> None:
    verdict = hunted(tmp_path, 0, "sizes = [{ M = 16, N = 16, K = 16 }]", seconds=3)
    assert verdict.exit_code == 0
    assert verdict.hunt is not None
    assert not verdict.hunt.fails
    assert verdict.hunt.tried > 0
    assert any(size["K"] > 16 for size in verdict.hunt.sizes), "a second pass of the loop is new"


@pytest.mark.parametrize("text", [TILE, "sizes = [{ M = 48, N = 32, K = 64 }]"])
def test_sizes_obey_what_the_kernel_relies_on(text: str, tmp_path: Path) -> None:
    path = tmp_path / "layoutprobe.toml"
    path.write_text(MANIFEST % (0, text + "\nmultiple = { K = 8, N = 2 }"))
    (case,) = read_manifest(path).kernels
    tried = list(islice(candidates(case, []), 400))
    assert all(size["K"] % 8 == 0 and size["N"] % 2 == 0 and min(size.values()) > 0 for size in tried)
    assert {size["M"] % 2 for size in tried} == {0, 1}
    assert len({tuple(size.items()) for size in tried}) > 200


def test_sizes_that_the_manifest_rules_out_are_not_tried(tmp_path: Path) -> None:
    """By the kernel's source N above 64 goes wrong. Sizes beside the listed ones are tried without a hunt, too."""
    path = tmp_path / "layoutprobe.toml"
    for where, told in (("", 1), ('\nwhere = ["N <= 64"]', 0)):
        path.write_text(
            MANIFEST % (3, "sizes = [{ M = 40, N = 64, K = 25 }, { M = 17, N = 33, K = 9 }]" + where)
        )
        (verdict,) = check(path, checks=["numerics", "memory"]).verdicts
        assert sum("goes wrong above N = 64" in one for one in verdict.reservations) == told
    verdict = check(path, checks=["numerics"], hunt=2).verdicts[0]
    assert verdict.exit_code == 0
    assert verdict.hunt is not None
    assert verdict.hunt.tried > 0


def test_time_without_hunt_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "layoutprobe.toml"
    path.write_text(MANIFEST % (5, TILE))
    assert main(["check", str(path), "--time", "5"]) == 2
    assert "--time" in capsys.readouterr().err
    assert main(["check", str(path), "--hunt", "--check", "numerics"]) == 1
    assert "hunted: " in capsys.readouterr().out
