"""The gate on RDNA4: correct GEMMs of every type are green, wrong layouts and missing barriers are red."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import Edit, line
from gfx12.gate_lab import KERNELS, TYPES, direct, finding_of, gate, statuses, through_lds

from layoutprobe.checks import epilogue, numerics, operand_provenance, races, waits
from layoutprobe.checks.registry import CHECKS

EVERY = {check.name for check in CHECKS}
LAYOUT = (operand_provenance.CHECK, epilogue.CHECK, numerics.CHECK)
A = "x[e] = a[lane % 16][k_of(lane, e)]"
B = "y[e] = b[16 * wave + lane % 16][k_of(lane, e)]"
ROW = "row + row_of(lane, v)"
SYNC = """    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""
STORED = "for (u32 v = 0; v < kD; v++)"


@pytest.mark.few(1)
@pytest.mark.parametrize(("target", "wave"), [("gfx1200", 32), ("gfx1201", 32), ("gfx1200", 64)])
def test_a_correct_gemm_is_green(tmp_path: Path, target: str, wave: int) -> None:
    results = through_lds(tmp_path, target, wave)
    assert statuses(results) == dict.fromkeys(EVERY, "holds") | {"bank-conflicts": "skipped"}
    assert results["bank-conflicts"].reason.startswith(f"no LDS phase rules for {target!r}")
    assert results["operand-provenance"].reason == "120 executions of matrix instructions"


def test_a_limit_on_conflicts_cannot_be_judged(tmp_path: Path) -> None:
    assert through_lds(tmp_path, "gfx1200", 32, limits="bank_conflicts = 2.0")["bank-conflicts"].status == (
        "undecided"
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("form", TYPES)
def test_every_type(tmp_path: Path, form: int, wave: int) -> None:
    results = direct(tmp_path, "gfx1200", wave, form, checks=LAYOUT)
    expected = dict.fromkeys(statuses(results), "holds")
    if form == 5:  # the manifest calls its 8-bit floats bytes
        expected["numerics"] = "undecided"
        assert results["numerics"].reason.startswith("the kernel multiplies fp8, ")
    assert statuses(results) == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("form", TYPES)
def test_the_row_map_of_rdna3_is_red_in_every_type(tmp_path: Path, form: int) -> None:
    edit = (ROW, "row + 2 * v + lane / 16")
    finding = finding_of(direct(tmp_path, "gfx1200", 32, form, edit, checks=LAYOUT[:2]), "epilogue")
    assert (finding.expected, finding.observed) == ("C[1][0]", "stored to C[2][0]")


@pytest.mark.few(1)
@pytest.mark.parametrize("wave", [32, 64])
def test_k_in_another_order_is_right_if_both_share_it(tmp_path: Path, wave: int) -> None:
    edits = (A, "x[e] = a[lane % 16][15 - kA * (lane / 16) - e]"), (
        B, "y[e] = b[16 * wave + lane % 16][15 - kA * (lane / 16) - e]",
    )  # fmt: skip
    assert set(statuses(through_lds(tmp_path, "gfx1200", wave, *edits, checks=LAYOUT)).values()) == {"holds"}
    alone = through_lds(tmp_path, "gfx1200", wave, edits[0], checks=LAYOUT)
    finding = finding_of(alone, "operand-provenance")
    assert finding.place.matrix == "A"
    assert alone["numerics"].status == "finding"


MATRIX = "sum = WMMA"
WRONG: dict[str, tuple[tuple[Edit, ...], str, str, dict[str, object], str]] = {
    # Edits: check, words, some of the place, and what stands in its line.
    "rows as on gfx11": (
        ((ROW, "row + 2 * v + lane / 16"),), "epilogue", "row = 2*vgpr + lane / 16, as on RDNA3",
        {"wave": 0, "lane": 0, "matrix": "C"}, STORED,
    ),
    "operands replicated as on gfx11": (
        ((A, "x[e] = a[lane % 16][e]"), (B, "y[e] = b[16 * wave + lane % 16][e]")), "operand-provenance",
        "k 8-15, 24-31, 40-47 and 2 more never added, k 0-7, 16-23, 32-39 and 2 more added more than once", {},
        MATRIX,
    ),
    "A replicated as on gfx11": (
        ((A, "x[e] = a[lane % 16][e]"),), "operand-provenance",
        "LDS is written as index = 18*row + col, and read as index = 18*row + 4*(col / 8) + col % 4",
        {"matrix": "A"}, "x[e] = ",
    ),
    "A by columns": (
        ((A, "x[e] = a[k_of(lane, e)][lane % 16]"),), "operand-provenance", "A is loaded transposed",
        {"matrix": "A"}, "x[e] = ",
    ),
    "another wave's columns": (
        ((B, B.replace("* wave", "* (wave ^ 1)")),), "operand-provenance", "belongs to another wave",
        {"matrix": "B"}, "y[e] = ",
    ),
    "the last step is left out": (
        (("k < K; k += 16", "k + 16 < K; k += 16"),), "operand-provenance", "k 64-79 never added", {},
        "for (u32 k",
    ),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_layout_is_red(tmp_path: Path, case: str) -> None:
    edits, check, words, place, at = WRONG[case]
    results = through_lds(tmp_path, "gfx1200", 32, *edits, checks=LAYOUT)
    finding = finding_of(results, check)
    assert words in finding.what
    assert place.items() <= finding.place.named().items()
    assert finding.place.line == line(tmp_path, at)
    assert {name for name, status in statuses(results).items() if status != "holds"} == {check, "numerics"}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("removed", "kind"),
    [
        (SYNC + "    Fragment x, y;", "read after write"),
        ("    sum = WMMA(x, y, sum);\n" + SYNC, "write after read"),
    ],
)
def test_a_missing_barrier_is_red(tmp_path: Path, removed: str, kind: str) -> None:
    checks = (races.CHECK, waits.CHECK, numerics.CHECK)
    results = through_lds(tmp_path, "gfx1200", 32, (removed, removed.replace(SYNC, "")), checks=checks)
    finding = finding_of(results, "races")
    assert kind in finding.observed
    assert results["waits"].status == "holds"


def test_a_bare_barrier_is_red(tmp_path: Path) -> None:
    """Without the fences the compiler waits for nothing before the signal."""
    bare = "__builtin_amdgcn_s_barrier_signal(-1);\n__builtin_amdgcn_s_barrier_wait(-1);\n"
    source = SYNC + "    Fragment x, y;"
    edit = (source, 'asm volatile("" ::: "memory");' + bare + 'asm volatile("" ::: "memory"); Fragment x, y;')
    finding = finding_of(
        through_lds(tmp_path, "gfx1200", 32, edit, checks=(races.CHECK, waits.CHECK)), "waits"
    )
    assert finding.what.startswith("an LDS store is outstanding at the barrier")
    assert finding.expected.startswith("s_wait_dscnt 0 between ds_store")
    assert finding.expected.endswith(f"and s_barrier_signal at {line(tmp_path, 'signal(-1);')}")


def test_sparse_products_are_not_followed(tmp_path: Path) -> None:
    source = (KERNELS / "sparse.hip").read_text()
    results = gate(
        tmp_path, source, "gfx1200", 32, types=("f16", "f32"), grid="1", waves=1, sizes="M = 16, N = 16, K = 32",
        checks=LAYOUT[:2],
    )  # fmt: skip
    assert set(statuses(results).values()) == {"undecided"}
    for result in results.values():
        assert "v_swmmac_f32_16x16x32_f16 is not followed: its index operand decides" in result.reason
