"""Bank conflicts: cycles by hand from the measured phases, and the limit of the manifest.

Banks are dwords modulo 32. b128 loads of gfx1100 are served in four phases of lanes {0-3, 20-23},
{4-7, 16-19}, {8-11, 28-31} and {12-15, 24-27}, b64 in two of 16 lanes, all else in one.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import assembly_kernel, gemm_launch, launch, standard, verdict
from msgspec.structs import replace
from scaffold import scaffolded

from layoutprobe.arch import TARGETS, lds_model
from layoutprobe.arch.lds import LdsModel
from layoutprobe.checks import bank_conflicts
from layoutprobe.codeobj.elf import load
from layoutprobe.manifest.model import Limits
from layoutprobe.observe.cycles import alternatives, as_rows, cycles
from layoutprobe.report.gate import CheckResult, Table

MODEL = lds_model("gfx1151", 32)
LANE = np.arange(32)


def result_of(*body: str, limit: float | None = None, block: int = 32) -> CheckResult:
    code = assembly_kernel("\n".join(f"  {inst}" for inst in body), lds=8192)
    limits = Limits(bank_conflicts=limit)
    data = np.zeros(256, np.uint32)
    return verdict(bank_conflicts.CHECK, launch(code, [data, data.copy()], block=block), limits=limits)


ACCESSES = {
    # Access at lane * stride: instruction, stride, cycles, cycles without conflicts.
    "b32, neighbours": ("ds_load_b32 v4, v3", 4, 1, 1),
    "b32, every other dword: 2 lanes a bank": ("ds_load_b32 v4, v3", 8, 2, 1),
    "b32, a column of 32 dwords: one bank": ("ds_load_b32 v4, v3", 128, 32, 1),
    "b32, a column of 33 dwords": ("ds_load_b32 v4, v3", 132, 1, 1),
    "b32, one dword for all": ("ds_load_b32 v4, v3", 0, 1, 1),
    "u16, two lanes a dword": ("ds_load_u16 v4, v3", 2, 1, 1),
    "u16, a column of 16 halves: 8 dwords apart": ("ds_load_u16 v4, v3", 32, 8, 1),
    "b64, neighbours: 16 lanes fill the banks": ("ds_load_b64 v[4:5], v3", 8, 2, 2),
    "b64, 16 bytes apart: lanes l and l + 8 meet": ("ds_load_b64 v[4:5], v3", 16, 4, 2),
    # Lanes 0-3 take banks 0-15, lanes 20-23 (dwords 80-95) banks 16-31.
    "b128, neighbours": ("ds_load_b128 v[4:7], v3", 16, 4, 4),
    # Lanes 0-3 take banks 0-3, 8-11, 16-19, 24-27, and so do lanes 20-23 (dwords 160, 168, ...).
    "b128, rows of 32 bytes": ("ds_load_b128 v[4:7], v3", 32, 8, 4),
    # Lanes 0-3: dwords 0, 12, 24, 36; lanes 20-23: 240, 252, 264, 276: banks 16, 28, 8, 20.
    "b128, rows of 48 bytes": ("ds_load_b128 v[4:7], v3", 48, 4, 4),
    "b128, rows of 128 bytes: all in four banks": ("ds_load_b128 v[4:7], v3", 128, 32, 4),
    # Eight lanes in a row: 0, 8, 16, 24 and again 0, 8, 16, 24.
    "b128 store, rows of 32 bytes": ("ds_store_b128 v3, v[4:7]", 32, 8, 4),
    "b128 store, neighbours": ("ds_store_b128 v3, v[4:7]", 16, 4, 4),
    # Two accesses of b32 with one instruction: dwords lane and lane + 32.
    "2addr b32": ("ds_load_2addr_b32 v[4:5], v3 offset1:32", 4, 2, 2),
    "2addr b32, every other dword": ("ds_load_2addr_b32 v[4:5], v3 offset1:1", 8, 4, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCESSES)
def test_cycles_are_those_counted_by_hand(name: str) -> None:
    access, stride, total, ideal = ACCESSES[name]
    zeros = [f"v_mov_b32_e32 v{i}, 0" for i in range(4, 8)]
    metrics = result_of(f"v_mul_u32_u24_e32 v3, {stride}, v0", *zeros, access, "s_waitcnt lgkmcnt(0)").metrics
    assert (metrics["LDS cycles"], metrics["conflict-free cycles"]) == (total, ideal)
    assert metrics["conflict factor"] == round(total / ideal, 3)
    assert ("worst sites" in metrics) == (total > ideal)


def test_inactive_lanes_take_no_part() -> None:
    metrics = result_of(
        "v_mul_u32_u24_e32 v3, 128, v0",
        "s_mov_b32 exec_lo, 0xff",
        "ds_load_b32 v4, v3",
        "s_waitcnt lgkmcnt(0)",
    ).metrics
    assert (metrics["LDS cycles"], metrics["conflict-free cycles"]) == (8, 1)


def test_waves_and_sites_add_up_worst_first() -> None:
    metrics = result_of(
        "v_and_b32_e32 v3, 31, v0",
        *("v_lshlrev_b32_e32 v4, 3, v3", "v_lshlrev_b32_e32 v5, 7, v3"),
        *("ds_load_b32 v6, v4", "ds_load_b32 v7, v5", "s_waitcnt lgkmcnt(0)"),
        block=64,
    ).metrics
    assert (metrics["LDS cycles"], metrics["conflict-free cycles"]) == (2 * (2 + 32), 4)
    sites = metrics["worst sites"]
    assert isinstance(sites, Table)
    assert sites.columns == ("site", "factor", "worst cycles", "conflict-free", "accesses")
    assert [row[1:] for row in sites.rows] == [(32.0, 32, 1, 2), (2.0, 2, 1, 2)]
    assert all(str(row[0]).startswith("ds_load_b32") for row in sites.rows)


def test_a_limit_makes_it_a_finding() -> None:
    body = ("v_lshlrev_b32_e32 v3, 3, v0", "ds_load_b32 v4, v3", "s_waitcnt lgkmcnt(0)")
    assert result_of(*body).status == "holds", "without a limit, conflicts are a cost"
    assert result_of(*body, limit=2.0).status == "holds"
    finding = only(result_of(*body, limit=1.9))
    assert finding.what.startswith(
        "LDS accesses take 2.00 times their conflict-free cycles; the worst is ds_load_b32"
    )
    assert finding.place.instruction == "ds_load_b32"
    assert (finding.place.workgroup, finding.place.wave) == ((0, 0, 0), 0)
    assert finding.expected == "at most 1.9 (limit bank_conflicts)"
    assert finding.observed == "2.00 for this instruction: up to 2 cycles instead of 1"


def test_the_evidence_of_the_model_is_named() -> None:
    result = result_of("ds_load_b32 v4, v1", "s_waitcnt lgkmcnt(0)")
    assert (
        result.reason == "conflict factor 1; model: phases measured on gfx1100; gfx1151 itself is unmeasured"
    )
    assert result_of("s_nop 0").status == "skipped"


# Schemes side by side, for the fragment loads of 16-bit tiles: lane % 16 is the row.


@pytest.mark.parametrize(
    ("stride", "none", "padded", "xor"),
    # Rows of 32, 64 and 128 bytes: 2, 4 and 8 rows of a phase start in each bank.
    [(32, 8, 4, 4), (64, 16, 4, 4), (128, 32, 4, 4)],
)
def test_padding_and_xor_side_by_side(stride: int, none: int, padded: int, xor: int) -> None:
    rows = as_rows((LANE % 16 * stride).astype(np.int32))
    assert rows is not None
    assert (rows.stride, rows.width) == (stride, stride)
    found = {
        name: int(cycles(at, 16, MODEL, store=False)[0][0]) for name, at in alternatives(rows, 32).items()
    }
    assert found == {"no padding": none, "8 halves of padding": padded, "xor of 16-byte groups": xor}


def test_a_gemm_shows_its_own_schemes_beside_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The standard GEMM pads its rows of 32 bytes to 48, so its fragment loads have no conflicts."""
    code = load(standard(tmp_path_factory.mktemp("standard")).data)
    result = verdict(bank_conflicts.CHECK, gemm_launch(code, 128, 128, 16))
    table = result.metrics["cycles under other schemes"]
    assert isinstance(table, Table)
    (row,) = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert str(row.pop("site")).startswith("ds_load_b128 at standard.hip:")
    assert row == {
        "row bytes": 32,
        "row stride": 48,
        "as is": 4,
        "no padding": 8,
        "8 halves of padding": 4,
        "xor of 16-byte groups": 4,
        "conflict-free": 4,
    }


def test_every_relative_of_the_measured_card_has_its_phases() -> None:
    """And says whether it is the one that was measured."""
    assert lds_model("gfx1100", 32).evidence == "model: phases measured on gfx1100"
    relatives = [name for name in TARGETS if name.startswith("gfx11") and name != "gfx1100"]
    assert len(relatives) == 7
    for name in relatives:
        model = lds_model(name, 32)
        assert (model.loads, model.stores, model.banks) == (MODEL.loads, MODEL.stores, MODEL.banks)
        assert model.evidence == f"model: phases measured on gfx1100; {name} itself is unmeasured"


@pytest.mark.parametrize(
    ("target", "size", "together"),
    [
        ("gfx942", 8, set(range(16))),
        ("gfx942", 16, {*range(4), *range(20, 24)}),
        ("gfx950", 8, set(range(32))),
        ("gfx950", 16, {*range(4), *range(12, 16), *range(20, 28)}),
    ],
)
def test_the_phases_of_64_lanes(target: str, size: int, together: set[int]) -> None:
    """As SHARK's measurements give them: every lane once, the upper half as the lower one."""
    phases = lds_model(target, 64).loads[size]
    assert set(phases[0]) == together
    assert sorted(lane for phase in phases for lane in phase) == list(range(64))
    half = len(phases) // 2
    assert [tuple(lane + 32 for lane in phase) for phase in phases[:half]] == list(phases[half:])


SPANS = {
    # Triton, pull request 11365: lanes served together differ by these; the groups, by those.
    "gfx942": ((1, 2, 0b10100), (4, 8, 32)),
    "gfx950": ((1, 2, 0b01100, 0b10100), (4, 32)),
}


@pytest.mark.parametrize("target", SPANS)
def test_the_phases_of_b128_are_those_that_triton_states(target: str) -> None:
    """As spans over GF(2), stated by somebody else than the measurement."""
    together, apart = SPANS[target]
    spanned = {frozenset(span(together, start)) for start in span(apart)}
    assert {frozenset(phase) for phase in lds_model(target, 64).loads[16]} == spanned


def span(vectors: tuple[int, ...], start: int = 0) -> set[int]:
    found = {start}
    for vector in vectors:
        found |= {lane ^ vector for lane in found}
    return found


WIDE = {
    # Access at lane * stride: instruction, stride; cycles and conflict-free ones on gfx942, and on gfx950.
    "b32, neighbours": ("ds_read_b32 v4, v3", 4, (2, 2), (1, 1)),
    "b32, every other dword": ("ds_read_b32 v4, v3", 8, (4, 2), (2, 1)),
    "b32, a column of 32 dwords": ("ds_read_b32 v4, v3", 128, (64, 2), (32, 1)),
    "b64, neighbours": ("ds_read_b64 v[4:5], v3", 8, (4, 4), (2, 2)),
    "b64, 16 bytes apart": ("ds_read_b64 v[4:5], v3", 16, (8, 4), (4, 2)),
    "b96, 16 bytes apart": ("ds_read_b96 v[4:6], v3", 16, (8, 8), (4, 4)),
    "b128, neighbours": ("ds_read_b128 v[4:7], v3", 16, (8, 8), (4, 4)),
    # 32 banks: lanes 0 to 3 and 20 to 23 meet twice. 64: 16 lanes, 8 dwords apart, meet twice as well.
    "b128, rows of 32 bytes": ("ds_read_b128 v[4:7], v3", 32, (16, 8), (8, 4)),
    "b128, rows of 128 bytes": ("ds_read_b128 v[4:7], v3", 128, (64, 8), (32, 4)),
    "b128 store, neighbours": ("ds_write_b128 v3, v[4:7]", 16, (8, 8), (4, 4)),
    "two b32": ("ds_read2_b32 v[4:5], v3 offset1:64", 4, (4, 4), (2, 2)),
}  # fmt: skip


def wide(access: str, stride: int, target: str, limit: float | None = None) -> CheckResult:
    zeros = [f"v_mov_b32_e32 v{i}, 0" for i in range(4, 8)]
    body = "\n".join((f"v_mul_u32_u24_e32 v3, {stride}, v0", *zeros, access, "s_waitcnt lgkmcnt(0)"))
    code = scaffolded(body, target=target, wave_size=64, lds=16384)
    data = np.zeros(256, np.uint32)
    limits = Limits(bank_conflicts=limit)
    return verdict(bank_conflicts.CHECK, launch(code, [data, data.copy()], block=64), limits=limits)


@pytest.mark.parametrize("name", WIDE)
def test_cycles_of_64_lanes_are_those_counted_by_hand(name: str) -> None:
    access, stride, *counted = WIDE[name]
    for target, (total, ideal) in zip(("gfx942", "gfx950"), counted, strict=True):
        metrics = wide(access, stride, target).metrics
        assert (metrics["LDS cycles"], metrics["conflict-free cycles"]) == (total, ideal), target


def test_each_part_names_its_evidence() -> None:
    metrics = wide("ds_read_b128 v[4:7], v3", 16, "gfx942").metrics
    assert metrics["banks"] == "32 (SHARK, docs/empirical-lds)"
    assert "measured by latency on gfx942" in str(metrics["phases of loads"])
    assert "phases of stores" not in metrics
    assert "assumed" in str(wide("ds_write_b64 v3, v[4:5]", 8, "gfx950").metrics["phases of stores"])


def test_what_two_readings_disagree_about_is_undecided() -> None:
    """gfx950: b32 loads see 64 banks as measured, or 32 as said in a review. 64 dwords: one cycle, or two of two."""
    access = ("ds_read_b32 v4, v3", 8)
    metrics = wide(*access, "gfx950").metrics
    assert (metrics["conflict factor"], metrics["conflict factor by the other reading"]) == (2.0, 2.0)
    result = wide("ds_read_b32 v4, v3", 256, "gfx950", limit=40)
    assert result.status == "undecided"
    assert result.reason.startswith("64.00, or 32.00 if stores and loads of at most 4 bytes see 32 banks")
    assert wide("ds_read_b32 v4, v3", 256, "gfx950", limit=20).status == "finding"
    assert wide("ds_read_b128 v[4:7], v3", 32, "gfx950", limit=1.5).status == "finding", (
        "nobody disputes b128"
    )


def test_transposing_reads_are_counted_as_not_modelled() -> None:
    body = "\n".join(("v_lshlrev_b32_e32 v3, 3, v0", "ds_write_b64 v3, v[4:5]", "s_waitcnt lgkmcnt(0)",
                      "ds_read_b64_tr_b16 v[6:7], v3", "s_waitcnt lgkmcnt(0)"))  # fmt: skip
    code = scaffolded(
        "v_mov_b32_e32 v4, 0\nv_mov_b32_e32 v5, 0\n" + body, target="gfx950", wave_size=64, lds=4096
    )
    metrics = verdict(bank_conflicts.CHECK, launch(code, [np.zeros(4, np.uint32)] * 2, block=64)).metrics
    assert metrics["accesses not modelled"] == 1
    assert metrics["conflict-free cycles"] == 2, "of the store alone"


def test_a_target_without_phase_rules_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was asked where there is no limit."""
    monkeypatch.setitem(TARGETS, "gfx1151", replace(TARGETS["gfx1151"], lds=LdsModel(32, 32, {})))
    body = ("ds_load_b32 v4, v1", "s_waitcnt lgkmcnt(0)")
    for limit, status in ((None, "skipped"), (1.0, "undecided")):
        result = result_of(*body, limit=limit)
        assert result.status == status
        assert "gfx1151" in result.reason
