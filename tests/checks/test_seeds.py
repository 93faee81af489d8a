"""The kernels of the development notes: the correct ones hold, the historical bug is red by name."""

from __future__ import annotations

import re
from functools import cache

import pytest
from checks.gemm_lab import only
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest

SEEDS = asset_dir("probes") / "gemm" / "seeds"
SIZES = {
    "layoutprobe": [(128, 128, 16), (200, 137, 75), (512, 512, 32)],
    "buggy": [(128, 128, 64), (200, 136, 80), (512, 512, 64)],
}
CORRECT = [
    "standard", "asmOpt", "native", "kunroll", "quad", "highOcc", "noPrefetch", "zerocopy", "swizzled",
    "xor_optimized", "hilbert", "coop", "adaptive",
]  # fmt: skip
BUGGY = ["asmOpt-column", "swizzled-column"]


@cache
def cases(name: str) -> dict[str, KernelCase]:
    return {case.name: case for case in read_manifest(SEEDS / f"{name}.toml").kernels}


def test_the_manifests_list_every_kernel_at_every_size() -> None:
    """Whoever runs `layoutprobe check` on them has covered the notes."""
    assert sorted(cases("layoutprobe")) == sorted(CORRECT)
    assert sorted(cases("buggy")) == sorted(BUGGY)
    for manifest, case in ((m, case) for m in SIZES for case in cases(m).values()):
        assert [(s["M"], s["N"], s["K"]) for s in map(dict, case.sizes)] == SIZES[manifest]
        assert not case.skip, "no check is left out"
        assert case.contract == cases("layoutprobe")["standard"].contract


@pytest.mark.long
def test_the_kernel_without_the_bug_holds_at_every_size() -> None:
    """tests/campaign does the same for all of them."""
    found = check_kernel(cases("layoutprobe")["asmOpt"], "gfx1151", CHECKS)
    assert {result.check: result.status for result in found.results} == {c.name: "holds" for c in CHECKS}
    assert len(found.sizes) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BUGGY)
def test_the_column_load_is_named(name: str) -> None:
    case = cases("buggy")[name]
    found = check_kernel(replace(case, sizes=case.sizes[:1]), "gfx1151", CHECKS)
    results = {result.check: result for result in found.results}
    finding = only(results["operand-provenance"])
    assert (
        finding.what == "A is loaded transposed: a lane holds a column of A where the instruction reads a row"
    )
    used = finding.related[-1].place
    assert (used.wave, used.lane, used.bits) == (0, 0, (16, 31))
    assert (finding.expected, finding.observed) == ("A[0][1]", "A[1][0]")
    file = f"{name.split('-')[0]}.hip"
    source = (SEEDS / file).read_text().split("\n")
    load = re.search(rf"ds_load_u16_d16_hi at {file}:(\d+) \(LDS byte", finding.related_text)
    assert load, finding.related_text
    assert finding.place.line == f"{file}:{load[1]}", "which is to blame"
    assert "A_lds[buffer]" in source[int(load[1]) - 1], "the load that takes a column"
    assert "#if COLUMN_LOAD" in source[int(load[1]) - 2]
    assert "stored by ds_store_b128 at" in finding.related_text
    assert "stored by v_" not in finding.related_text, "only stores store"
    assert only(results["numerics"]).what.endswith("every 16 x 16 tile of A is transposed")
    others = {
        check: result.status
        for check, result in results.items()
        if check not in ("operand-provenance", "numerics")
    }
    assert set(others.values()) == {"holds"}, others
