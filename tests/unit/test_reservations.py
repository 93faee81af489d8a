"""What a manifest leaves out is said in the headline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_gates import all_hold
from hostile.test_manifests import written

from layoutprobe.checks.registry import check_names
from layoutprobe.manifest.model import KernelCase, Tolerance
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.reservations import reservations
from layoutprobe.render.gate import words
from layoutprobe.report.gate import GateReport, KernelVerdict

SIZES = ({"n": 32}, {"n": 40})


@pytest.fixture
def case(tmp_path: Path) -> KernelCase:
    (kernel,) = read_manifest(written(tmp_path)).kernels
    return replace(kernel, sizes=SIZES)


def test_every_way_of_leaving_out(case: KernelCase) -> None:
    def said(**changes: object) -> list[str]:
        return list(reservations(replace(case, **changes), check_names()))  # type: ignore[arg-type]

    none = "outputs not judged: contract none"
    assert said() == [none]
    assert said(sizes=SIZES[1:]) == [none, "a single size"]
    assert said(sizes=({"n": 32}, {"n": 64})) == [none, "only sizes that are multiples of 16"]
    assert said(tolerance=Tolerance(0.01, 0.001)) == [none]
    assert said(tolerance=Tolerance(10.0, 0.5)) == [
        none, "loose tolerance: absolute 10", "loose tolerance: relative 0.5",
    ]  # fmt: skip
    tiled = {"sizes": ({"n": 64, "K": 8}, {"n": 128, "K": 8}), "tile": {"n": 64, "K": 16}}
    assert said(**tiled) == [none, "only whole tiles of n (64)", "K is 8 in every size"]
    assert said(sizes=({"n": 64, "K": 8}, {"n": 65, "K": 9}), tile=tiled["tile"]) == [none]
    left = [name for name in check_names() if name != "numerics"]
    assert said(checks=("numerics",)) == [f"not asked for: {', '.join(left)}", none]


def test_the_headline_says_so() -> None:
    verdict = KernelVerdict("g", "g", "gfx1151", "g.hip", (), all_hold(), ())
    doubtful = replace(verdict, name="h", reservations=("a single size",))
    both = words.gate_outcome(GateReport("m.toml", (verdict, doubtful), "1"))
    assert both.sentence == "all 2 kernels hold; with reservations: a single size (in 1 of 2 kernels)"
    assert words.outcome(doubtful).sentence.endswith("with reservations (a single size)")
    assert "reservation" not in words.outcome(verdict).sentence
