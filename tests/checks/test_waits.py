"""Waits: a dropped or too weak one is named with load and use; what the counters guarantee is green."""

from __future__ import annotations

import re

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import assembly_kernel, gemm_launch, launch, reassembled, standard, verdict

from layoutprobe.assets import asset_dir
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import waits
from layoutprobe.engine.registry import make_engine
from layoutprobe.observe.wait_states import WaitStateObserver
from layoutprobe.observe.waits import WaitObserver
from layoutprobe.place import Register, RegisterKind
from layoutprobe.report.gate import CheckResult

LOAD = "global_load_b32 v2, v1, s[4:5]"
NEXT = "global_load_b32 v3, v1, s[4:5] offset:128"
STORE = "global_store_b32 v1, v2, s[6:7]"
READS = "which may not have written it yet"


def result_of(*body: str, lds: int = 0, block: int = 32) -> CheckResult:
    code = assembly_kernel("\n".join(f"  {inst}" for inst in body), lds=lds)
    data = np.arange(256, dtype=np.uint32)
    return verdict(waits.CHECK, launch(code, [data, np.zeros(256, np.uint32)], block=block))


def test_every_counter_that_is_waited_for_holds() -> None:
    result = result_of(
        *(LOAD, NEXT, "s_waitcnt vmcnt(1)", STORE, "s_waitcnt vmcnt(0)", "v_add_nc_u32_e32 v2, v2, v3"),
        *(
            "ds_store_b32 v1, v2",
            "s_waitcnt lgkmcnt(0)",
            "s_barrier",
            "ds_load_b32 v4, v1",
            "s_waitcnt lgkmcnt(0)",
        ),
        *("v_mov_b32_e32 v2, v4", STORE),
        lds=128,
    )
    # Three here, and the two pointers of the prologue.
    assert (result.status, result.reason) == ("holds", "5 loads followed to their waits"), result
    assert result.metrics["waits"] == 5


MISSING = {
    # Instructions: words, register, what is expected, which load, place of the use.
    "no wait before a store's data": (
        (LOAD, STORE),
        ("global_store_b32 reads v2 while global_load_b32 is outstanding", READS, 2, "vmcnt(0)"),
    ),
    "no wait before arithmetic": (
        (LOAD, "v_add_nc_u32_e32 v5, v2, v2", "s_waitcnt vmcnt(0)"),
        ("v_add_nc_u32 reads v2", READS, 2, "vmcnt(0)"),
    ),
    "the second of two loads is used after a wait for the first": (
        (LOAD, NEXT, "s_waitcnt vmcnt(1)", "v_mov_b32_e32 v2, v3", STORE),
        ("v_mov_b32 reads v3", READS, 3, "vmcnt(0)"),
    ),
    "the first of two loads needs the second not": (
        (LOAD, NEXT, "v_mov_b32_e32 v5, v2", "s_waitcnt vmcnt(0)"),
        ("v_mov_b32 reads v2", READS, 2, "vmcnt(1)"),
    ),
    "a register is overwritten before its load arrives": (
        (LOAD, "v_mov_b32_e32 v2, 0", "s_waitcnt vmcnt(0)"),
        ("v_mov_b32 overwrites v2", "which will still overwrite it", 2, "vmcnt(0)"),
    ),
    "a wait for the wrong counter": (
        (LOAD, "s_waitcnt lgkmcnt(0)", STORE),
        ("global_store_b32 reads v2", READS, 2, "vmcnt(0)"),
    ),
    "an LDS load": (
        ("ds_store_b32 v1, v0", "ds_load_b32 v2, v1", "v_mov_b32_e32 v5, v2"),
        ("v_mov_b32 reads v2", READS, 2, "lgkmcnt(0)"),
    ),
    "scalar loads come in any order": (
        (
            "s_load_b32 s8, s[4:5], 0x0",
            "s_load_b32 s9, s[4:5], 0x4",
            "s_waitcnt lgkmcnt(1)",
            "s_mov_b32 s10, s8",
        ),
        ("s_mov_b32 reads s8", READS, 8, "lgkmcnt(0)"),
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_wait_is_named(name: str) -> None:
    body, (words, why, register, wait) = MISSING[name]
    finding = only(result_of(*body, lds=128))
    assert words in finding.what
    assert why in finding.what
    kind: RegisterKind = "SGPR" if "s_mov" in words else "VGPR"
    assert finding.place.register == Register(kind, register)
    assert f"s_waitcnt {wait} or less" in finding.expected
    assert (finding.place.workgroup, finding.place.wave) == ((0, 0, 0), 0)
    assert finding.related[0].place.instruction in " ".join(body)


def test_a_wait_in_another_block_that_lets_too_much_be_outstanding_is_named() -> None:
    finding = only(
        result_of(
            *(LOAD, NEXT, "s_waitcnt vmcnt(2)", "s_cmp_eq_u32 s2, 0x7777", "s_cbranch_scc1 over"),
            *("v_mov_b32_e32 v5, v3", "over:", "s_waitcnt vmcnt(0)"),
        )
    )
    assert "the wait above it in the code, s_waitcnt at kernel.s:" in finding.observed
    assert finding.observed.endswith("lets 2 be outstanding, and may let 0")


THIRD = "global_load_b32 v4, v1, s[4:5] offset:256"
USES = ("v_mov_b32_e32 v5, v2", "v_mov_b32_e32 v6, v3", "v_mov_b32_e32 v7, v4")


@pytest.mark.parametrize(
    ("body", "findings"),
    [
        ((LOAD, NEXT, THIRD, *USES), 1),
        ((LOAD, NEXT, THIRD, "s_waitcnt vmcnt(2)", *USES), 1),
        ((LOAD, USES[0], NEXT, USES[1], THIRD, USES[2]), 3),
        ((LOAD, NEXT, USES[0], "s_waitcnt vmcnt(0)", THIRD, USES[2]), 2),
        ((LOAD, "ds_load_b32 v3, v1", USES[0], USES[1]), 2),
    ],
    ids=["one wait for three loads", "one that is stricter", "one for each", "two", "of two counters"],
)
def test_a_missing_wait_is_one_finding_whatever_it_should_have_waited_for(
    body: tuple[str, ...], findings: int
) -> None:
    result = result_of(
        "ds_store_b32 v1, v0", "s_waitcnt lgkmcnt(0)", *body, "s_waitcnt vmcnt(0) lgkmcnt(0)", lds=256
    )
    assert len(result.findings) == findings, result
    assert result.findings[0].place.instruction == "v_mov_b32"
    assert sum(finding.count for finding in result.findings) == len([b for b in body if b in USES]) - (
        "s_waitcnt vmcnt(2)" in body
    )


@pytest.mark.parametrize("outstanding", [True, False])
def test_a_store_to_lds_must_be_there_when_the_barrier_opens(outstanding: bool) -> None:
    wait = () if outstanding else ("s_waitcnt lgkmcnt(0)",)
    result = result_of(
        *("ds_store_b32 v1, v0", *wait, "s_barrier", "v_xor_b32_e32 v2, 0x80, v1", "ds_load_b32 v3, v2"),
        *("s_waitcnt lgkmcnt(0)", "global_store_b32 v1, v3, s[6:7]"),
        lds=256,
        block=64,
    )
    if not outstanding:
        assert result.status == "holds"
        return
    finding = only(result)
    assert "an LDS store is outstanding at the barrier" in finding.what
    assert "reads its byte after it" in finding.what
    assert finding.place.instruction == "ds_store_b32"
    assert "s_waitcnt lgkmcnt(0) between ds_store_b32" in finding.expected
    assert "and the barrier, s_barrier at kernel.s:" in finding.expected


@pytest.mark.parametrize("outstanding", [True, False])
@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_late_reader_is_not_hidden_by_those_that_waited(late: int, outstanding: bool) -> None:
    """Four waves load one byte, one of them does not wait, and the last overwrites it behind the barrier."""
    skip = (f"s_cmp_eq_u32 s2, {32 * late}", "s_cbranch_scc1 over") if outstanding else ()
    result = result_of(
        *("v_readfirstlane_b32 s2, v0", "v_and_b32_e32 v2, 0x7c, v1", "ds_store_b32 v2, v2"),
        *("s_waitcnt lgkmcnt(0)", "s_barrier", "ds_load_b32 v3, v2", *skip, "s_waitcnt lgkmcnt(0)", "over:"),
        *("s_barrier", "v_cmpx_lt_u32_e32 0x5f, v0", "ds_store_b32 v2, v0", "s_mov_b32 exec_lo, -1"),
        *("s_waitcnt lgkmcnt(0)", "global_store_b32 v1, v3, s[6:7]"),
        lds=256,
        block=128,
    )
    if not outstanding:
        assert result.status == "holds", result
        return
    finding = only(result)
    assert "an LDS load is outstanding at the barrier" in finding.what
    assert (finding.place.instruction, finding.place.wave) == ("ds_load_b32", late)


@pytest.mark.parametrize("load", ["ds_load_b32 v3, v2", "ds_load_2addr_b32 v[3:4], v2 offset1:1"])
@pytest.mark.parametrize(("used", "status"), [("v3", "finding"), ("v2", "holds")])
def test_a_late_load_harms_nobody_where_it_is_dropped(used: str, status: str, load: str) -> None:
    """One wave does not wait before the barrier, as on its path nothing uses what it loads; another one stores there
    after it. What the others load, and wait for, they use."""
    result = result_of(
        *("v_readfirstlane_b32 s2, v0", "v_and_b32_e32 v2, 0x7c, v1", "ds_store_b32 v2, v2"),
        *("s_waitcnt lgkmcnt(0)", "s_barrier", load),
        *("s_cmp_eq_u32 s2, 32", "s_cbranch_scc1 over", "s_waitcnt lgkmcnt(0)"),
        *("global_store_b32 v1, v3, s[6:7]", "over:", "s_barrier", "v_cmpx_lt_u32_e32 0x5f, v0"),
        *("ds_store_b32 v2, v0", "s_mov_b32 exec_lo, -1", "s_waitcnt lgkmcnt(0)", "s_cmp_lg_u32 s2, 32"),
        *("s_cbranch_scc1 out", f"global_store_b32 v1, {used}, s[6:7]", "out:"),
        lds=256,
        block=128,
    )
    assert result.status == status, result


@pytest.mark.parametrize("reader", ["v_cmpx_gt_u32_e32 32, v0", "v_cmpx_lt_u32_e32 31, v0"])
@pytest.mark.parametrize("outstanding", [True, False])
def test_atomics_must_have_added_when_the_barrier_opens(reader: str, outstanding: bool) -> None:
    """Whichever of the two waves reads the sums: its own atomic does not hide the other's."""
    wait = () if outstanding else ("s_waitcnt lgkmcnt(0)",)
    result = result_of(
        *("v_and_b32_e32 v2, 0x7c, v1", "ds_add_u32 v2, v0", *wait, "s_barrier", reader),
        *("ds_load_b32 v3, v2", "s_waitcnt lgkmcnt(0)", "global_store_b32 v1, v3, s[6:7]"),
        lds=256,
        block=64,
    )
    if not outstanding:
        assert result.status == "holds"
        return
    finding = only(result)
    assert "an LDS store is outstanding at the barrier" in finding.what
    assert finding.place.instruction == "ds_add_u32"


# VGPRs that M0 picks.


def picks(inst: str, index: int) -> tuple[str, ...]:
    return (f"s_mov_b32 m0, {index}", inst)


INDEXED = {
    # The register that M0 picks, of v2 and v3: whether v_movrel* names a load into v3 that is outstanding.
    "reads another": ((LOAD, "s_waitcnt vmcnt(0)", NEXT, *picks("v_movrels_b32 v6, v2", 0)), None),
    "reads one beyond": ((NEXT, *picks("v_movrels_b32 v6, v2", 1)), "v_movrels_b32 reads v3"),
    "reads not what it names": ((NEXT, *picks("v_movrels_b32 v6, v3", 2)), None),
    "reads what was waited for": ((NEXT, "s_waitcnt vmcnt(0)", *picks("v_movrels_b32 v6, v2", 1)), None),
    "writes to a register of a load": ((NEXT, *picks("v_movrels_b32 v3, v4", 0)), "v_movrels_b32 overwrites v3"),
    "overwrites one beyond": ((NEXT, *picks("v_movreld_b32 v2, v0", 1)), "v_movreld_b32 overwrites v3"),
    "overwrites another": ((NEXT, *picks("v_movreld_b32 v3, v0", 2)), None),
    "reads, and overwrites what it picks": (
        (NEXT, *picks("v_movreld_b32 v5, v3", 1)), "v_movreld_b32 reads v3",
    ),
    "both sides": ((NEXT, *picks("v_movrelsd_b32 v6, v2", 1)), "v_movrelsd_b32 reads v3"),
    "in a loop, when the index comes to it": (
        ("v_mov_b32_e32 v2, 0", NEXT, "s_mov_b32 m0, 0", "again:", "v_movrels_b32 v6, v2", "s_add_i32 m0, m0, 1",
         "s_cmp_lt_u32 m0, 2", "s_cbranch_scc1 again"), "v_movrels_b32 reads v3",
    ),
    "in a loop that ends before": (
        ("v_mov_b32_e32 v2, 0", NEXT, "s_mov_b32 m0, 0", "again:", "v_movrels_b32 v6, v2", "s_add_i32 m0, m0, 1",
         "s_cmp_lt_u32 m0, 1", "s_cbranch_scc1 again"), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEXED)
def test_registers_that_m0_picks_are_waited_for(name: str) -> None:
    body, words = INDEXED[name]
    prepared = (f"v_mov_b32_e32 v{register}, 0" for register in range(2, 9))
    result = result_of(*prepared, *body, "s_waitcnt vmcnt(0)")
    if words is None:
        assert result.status == "holds", result
        return
    finding = only(result)
    assert words in finding.what, finding
    assert (finding.place.workgroup, finding.place.wave, finding.count) == ((0, 0, 0), 0, 1)


SCALARS = {
    "arithmetic": ("s_add_i32 s9, s8, 1", "s_add_i32 reads s8"),
    "a comparison": ("s_cmp_eq_u32 s8, 0", "s_cmp_eq_u32 reads s8"),
    "an address": ("s_load_b32 s12, s[8:9], 0x0", "s_load_b32 reads s8"),
    "a mask": ("s_and_saveexec_b32 s12, s8", "s_and_saveexec_b32 reads s8"),
    "a vector instruction": ("v_mov_b32_e32 v5, s9", "v_mov_b32 reads s9"),
    "the address of a store": ("global_store_b32 v1, v0, s[8:9]", "global_store_b32 reads s8"),
    "overwritten": ("s_mov_b32 s9, 0", "s_mov_b32 overwrites s9"),
}


@pytest.mark.parametrize("waited", [True, False])
@pytest.mark.parametrize("name", SCALARS)
def test_scalar_loads_are_waited_for(name: str, waited: bool) -> None:
    use, words = SCALARS[name]
    # The pointers of the buffers, from the kernel's arguments.
    wait = ("s_waitcnt lgkmcnt(0)",) if waited else ()
    result = result_of("s_mov_b32 s14, exec_lo", "s_load_b64 s[8:9], s[0:1], 0x0", *wait, use,
                       "s_waitcnt lgkmcnt(0)", "s_mov_b32 exec_lo, s14")  # fmt: skip
    if waited:
        assert result.status == "holds", result
    else:
        assert words in only(result).what


def test_stores_may_be_outstanding_at_the_end() -> None:
    assert result_of("global_store_b32 v1, v0, s[6:7]").status == "holds"


# In a GEMM, in the compiler's own assembly.


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> str:
    return standard(tmp_path_factory.mktemp("standard")).assembly


def test_the_standard_gemm_waits_for_everything(assembly: str) -> None:
    result = verdict(waits.CHECK, gemm_launch(reassembled(assembly), 128, 128, 32))
    assert result.status == "holds", result


def test_a_wait_dropped_from_a_gemm(assembly: str) -> None:
    """The wait between the fragments' loads and the first matrix instruction of the fast path."""
    lines = assembly.split("\n")
    first = next(i for i, text in enumerate(lines) if "v_wmma_" in text)
    dropped = next(i for i in range(first, 0, -1) if re.match(r"\s*s_waitcnt lgkmcnt", lines[i]))
    kept = "\n".join(lines[:dropped] + lines[dropped + 1 :])
    result = verdict(waits.CHECK, gemm_launch(reassembled(kept), 128, 128, 32))
    assert result.status == "finding"
    finding = result.findings[0]
    assert "reads v" in finding.what
    assert "while ds_load" in finding.what
    text = (asset_dir("probes") / "gemm" / "standard.hip").read_text().split("\n")
    named = re.search(r"standard\.hip:(\d+)$", finding.related_text)
    assert named, finding.related_text
    assert "shufflevector" in text[int(named[1]) - 1], "the line that loads a fragment"
    assert str(finding.place.instruction).startswith("v_wmma_")


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_a_kernel_that_ran_before_is_told_of_as_a_new_one(engine: str) -> None:
    """What blocks do to waits is worked out once for all launches of a program. Workgroups from the second on run a
    block whose waits are missing, and one of their matrix instructions comes too early."""
    clear = [f"v_mov_b32_e32 v{n}, 0" for n in range(10, 60)]
    body = (
        *(
            *clear,
            LOAD,
            "s_cmp_lg_u32 s2, 0",
            "s_cbranch_scc1 wrong",
            "s_waitcnt vmcnt(0)",
            STORE,
            "s_endpgm",
        ),
        *("wrong:", "v_wmma_f32_16x16x16_f16 v[20:27], v[28:35], v[40:47], v[20:27]"),
        *("v_wmma_f32_16x16x16_f16 v[48:55], v[20:27], v[40:47], v[48:55]", STORE, "s_endpgm"),
    )
    code = assembly_kernel("\n".join(f"  {inst}" for inst in body))
    kept, seen = EmulatorBackend(engine=make_engine(engine)), []
    for grid in (1, 3, 1, 2, 3):
        args = [np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)]
        both = []
        for backend in (kept, EmulatorBackend(engine=make_engine(engine))):
            waiting, keeping = WaitObserver(), WaitStateObserver()
            backend.run(launch(code, args, grid=grid), [waiting, keeping])
            found, states = waiting.record(), keeping.record()
            hazards = [(h.inst.pc, h.register, h.waves, h.who) for h in found.hazards]
            early = [(v.first.pc, v.then.pc, v.waves, v.who) for v in states.violations]
            both.append(
                (hazards, found.operations, found.loads, found.waits, early, states.kept, states.binding)
            )
        assert both[0] == both[1]
        seen.append(both[0])
    assert [len(hazards) for hazards, *_ in seen] == [0, 1, 0, 1, 1]
    assert [[waves for *_, waves, _ in early] for *_, early, _, _ in seen] == [[], [2], [], [1], [2]]
