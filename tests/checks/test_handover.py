"""Global memory between waves: green where something orders what they hand over, and red where nothing does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import KERNELS, Results, buffers, checked, line, only
from checks.watched import launch, small, verdict

from layoutprobe.checks import epilogue, races, waits
from layoutprobe.codeobj.elf import load
from layoutprobe.machine.launch import BATCH_WAVES
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import compile_hip


def result_of(kernel: str) -> CheckResult:
    buffers = [np.zeros(128, np.int32), np.zeros(128, np.int32)]
    return verdict(races.CHECK, launch(small("global_small"), buffers, kernel=kernel, grid=2, block=64))


def at(text: str, name: str = "global_small") -> str:
    """ "global_small.hip:12": the one line with that text."""
    lines = (KERNELS / f"{name}.hip").read_text().split("\n")
    (found,) = (i for i, one in enumerate(lines, 1) if text in one)
    return f"{name}.hip:{found}"


@pytest.mark.parametrize("kernel", ["own_only", "halves", "everybody_adds"])
def test_waves_that_share_nothing_have_nothing_to_order(kernel: str) -> None:
    assert result_of(kernel).status == "skipped", result_of(kernel)


def test_a_barrier_orders_a_handover_within_a_workgroup() -> None:
    result = result_of("with_barrier")
    assert result.status == "holds", result
    assert "1 pair(s) of instructions meet in global memory, in order" in result.reason


def test_nothing_orders_a_handover_between_workgroups() -> None:
    finding = only(result_of("next_workgroup"))
    assert finding.rule.id == "races/global-handover"
    assert finding.place.line == at("// next_workgroup loads")
    assert finding.related[0].place.line == at("// next_workgroup stores")


def test_a_handover_within_a_workgroup_wants_a_barrier() -> None:
    finding = only(result_of("no_barrier"))
    assert finding.what == "a wave loads global memory that another wave stores, with no barrier between"
    assert finding.place.line == at("// no_barrier loads")
    assert at("// no_barrier stores") in finding.related_text
    assert finding.count == 128


def test_a_store_among_the_atomics_of_another_workgroup() -> None:
    finding = only(result_of("one_stores"))
    assert finding.what.endswith("is stored by one wave and added to by another, in no given order")
    lines = {finding.place.line, finding.related[0].place.line}
    assert lines == {at("// one_stores stores"), at("// one_stores adds")}


def test_a_counter_orders_a_store_and_atomics() -> None:
    result = result_of("waits_for_a_counter")
    assert result.status == "holds", result


@pytest.mark.parametrize(
    ("kernel", "status"), [("own_only", "skipped"), ("with_barrier", "holds"), ("no_barrier", "finding")]
)
def test_waves_of_later_batches_are_told_apart(kernel: str, status: str) -> None:
    """More waves than run at once: each batch goes on counting where the last one ended."""
    groups = BATCH_WAVES + 1
    buffers = [np.zeros(64 * groups, np.int32), np.zeros(64 * groups, np.int32)]
    given = launch(small("global_small"), buffers, kernel=kernel, grid=groups, block=64)
    result = verdict(races.CHECK, given)
    assert result.status == status, result
    assert sum(finding.count for finding in result.findings) == (64 * groups if kernel == "no_barrier" else 0)


RIGHT = ["last_arriver", "waves_announce", "release_acquire", "volatile_flag", "semaphore", "semaphore_among_halves",
         "reversed", "both_have_added"]  # fmt: skip
"""They hand over, in order."""
APART = ["compare_and_swap", "own_elements", "shifted_back"]
"""No two waves share anything that matters."""
WRONG = {
    "last_without_fence": ("races/stale-cache", "// adds up", "// leaves its part"),
    "last_but_one": ("races/global-handover", "// adds up", "// leaves its part"),
    "counts_early": ("races/signal-before-store", "// leaves its part", "// adds up"),
    "waves_announce_unfenced": (
        "races/signal-before-store",
        "// a wave leaves its part",
        "out[threadIdx.x] = work[AT(0)]",
    ),
    "volatile_flag_unfenced": ("races/stale-cache", "// takes the part", "// stores its part"),
    "semaphore_unfenced": ("races/stale-cache", "// takes its turn", "// takes its turn"),
    "one_has_added": ("races/global-handover", "// takes the sum", "// adds its part"),
    "transposes": ("races/global-overwrite", "// stores in place", "// loads the mirrored"),
    "reversed_without_barrier": ("races/global-overwrite", "// stores at this end", "// loads the other end"),
    "product_in_place": ("races/global-overwrite", "// stores one element", "// loads its row"),
    "overlapping": ("races/global-overwrite", "// stores its tile", "// stores its tile"),
    "zeroes_all": ("races/global-handover", "// increments", "// clears"),
}
"""Rule, line of the culprit, line of the other access."""
TARGETS = ["gfx1151", "gfx1201", "gfx1151 -mcumode"]


def order_of(kernel: str, target: str) -> CheckResult:
    name, *flags = target.split()
    path = KERNELS / "global_orders.hip"
    code = load(compile_hip(path, target=name, flags=flags).data)
    buffers = [np.arange(1200, dtype=np.int32), np.zeros(1200, np.int32)]
    return verdict(races.CHECK, launch(code, buffers, kernel=kernel, grid=3, block=64))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [*RIGHT, *APART])
def test_what_fences_and_signals_order_is_green(kernel: str, target: str) -> None:
    result = order_of(kernel, target)
    assert result.status == ("holds" if kernel in RIGHT else "skipped"), result


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", WRONG)
def test_what_nothing_orders_is_red_at_its_line(kernel: str, target: str) -> None:
    rule, culprit, other = WRONG[kernel]
    finding = only(order_of(kernel, target))
    assert finding.rule.id == rule, finding
    assert finding.place.line == at(culprit, "global_orders")
    assert finding.related[0].place.line == at(other, "global_orders")
    # What two workgroups do by one statement no signal would make right.
    same = culprit == other and rule != "races/stale-cache"
    assert ("are the offsets of tile and batch right" in finding.hint) == same, finding.hint
    assert ("two workgroups store to the same elements of" in finding.what) == (kernel == "overlapping")


# Split K whose workgroups take turns: all checks together.


def turns(folder: Path, define: str = "") -> Results:
    return checked(
        folder,
        (KERNELS / "gemm_turns.hip").read_text(),
        buffers(c_role="out")
        + "".join(f'\n    {{ name = "{n}", role = "scalar", dtype = "i32", value = "{n}" }},' for n in "MNK")
        + """
    { name = "turns", role = "inout", dtype = "i32", shape = ["M*N//256"], initial = "zero" },""",
        grid='["N // 16", "M // 16", "2"]',
        block=32,
        sizes=("M = 16, N = 32, K = 64",),
        defines=f"{define} = 1" if define else "",
        checks=(epilogue.CHECK, races.CHECK, waits.CHECK),
    )


def test_workgroups_that_take_turns_may_all_add_to_c(tmp_path: Path) -> None:
    results = turns(tmp_path)
    assert {result.status for result in results.values()} == {"holds"}, results
    assert (
        "512 elements written, 512 of them again, with equal values or in order" in results["epilogue"].reason
    )


@pytest.mark.parametrize(
    ("define", "rules"),
    [
        ("EARLY", {"races/signal-before-store"}),
        ("UNTOLD", {"races/global-overwrite", "epilogue/written-twice"}),
    ],
)
def test_turns_that_are_not_waited_for(tmp_path: Path, define: str, rules: set[str]) -> None:
    results = turns(tmp_path, define)
    found = {f.rule.id: f for name in ("races", "epilogue") for f in results[name].findings}
    assert found.keys() == rules
    assert line(tmp_path, "// takes its turn") in {f.place.line for f in found.values()}


def test_every_kernel_of_the_file_is_judged() -> None:
    code = load(compile_hip(KERNELS / "global_orders.hip", target="gfx1151").data)
    assert set(code.kernels) == {*RIGHT, *APART, *WRONG}
