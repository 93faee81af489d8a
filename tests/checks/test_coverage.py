"""What of a kernel ran: against every wave's own path, and in lines of the source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator.lab import LANES, assembled, fresh

from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.memory import CHECK as MEMORY
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.gate.session import check_kernel
from layoutprobe.machine.cohort import Band
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Block
from layoutprobe.manifest.read import read_manifest
from layoutprobe.observe.coverage import START, Coverage, CoverageRecorder
from layoutprobe.report.coverage import AGAIN, CodeCoverage
from layoutprobe.trace.coverage import code_coverage

# Wave w goes round the inner loop w + 1 times, and round the outer one twice. Lanes of no wave take `never`.
PATHS = """
  v_readfirstlane_b32 s6, v0
  s_lshr_b32 s6, s6, 5
  s_mov_b32 s8, 2
outer:
  s_mov_b32 s7, 0
inner:
  v_add_nc_u32 v2, 1, v2
  s_add_u32 s7, s7, 1
  s_cmp_gt_u32 s7, s6
  s_cbranch_scc0 inner
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 outer
  v_mov_b32 v3, 0
  s_mov_b32 s9, exec_lo
  v_cmp_gt_u32 vcc_lo, 0, v0
  s_and_b32 exec_lo, exec_lo, vcc_lo
  s_branch never
never:
  v_add_nc_u32 v3, 1, v3
  global_store_b32 v1, v3, s[4:5]
  s_branch after
after:
  s_mov_b32 exec_lo, s9
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc0 fine
  s_trap 2
fine:
  global_store_b32 v1, v2, s[4:5]
"""


class Paths(Observer):
    """Every wave's own list of blocks."""

    def __init__(self) -> None:
        self.of: dict[int, list[int]] = {}

    def block(self, c: Band, block: Block) -> None:
        for wave in c.waves.tolist():
            self.of.setdefault(wave, []).append(block.listing[0].pc)


def watched(code: CodeObject, waves: int) -> tuple[Coverage, Paths]:
    recorder, paths = CoverageRecorder(), Paths()
    size = waves * LANES
    EmulatorBackend().run(Launch(code, "k", (1, 1, 1), (size, 1, 1), [fresh(size)]), [recorder, paths])
    record = recorder.record()
    assert record is not None
    return record, paths


@pytest.fixture(scope="module")
def code() -> CodeObject:
    return assembled("v_mov_b32 v2, 0\n" + PATHS, pointers=1)


def test_edges_and_passes_are_those_of_every_wave(code: CodeObject) -> None:
    seen, paths = watched(code, 4)
    edges = {pair for path in paths.of.values() for pair in zip([START, *path], path, strict=False)}
    assert seen.edges == edges
    assert len(seen.flow.loops) == 2
    outer, inner = seen.flow.loops
    assert seen.flow.loops[inner] < seen.flow.loops[outer]
    assert seen.passes == {outer: {2}, inner: {1, 2, 3, 4}}
    for wave, path in paths.of.items():
        assert (path.count(outer), path.count(inner)) == (2, 2 * (wave + 1))


def test_a_block_that_no_lane_took_never_ran(code: CodeObject) -> None:
    seen, paths = watched(code, 1)
    passed = {pc for path in paths.of.values() for pc in path}
    (never,) = passed - seen.blocks
    assert [inst.name for inst in seen.flow.blocks[never]][:2] == ["v_add_nc_u32", "global_store_b32"]
    covered = code_coverage(code, code.kernel("k"), seen)
    (stretch,) = covered.unreached  # the trap is not among them
    assert stretch.place.pc == never
    assert stretch.does == "stores"


def test_of_several_launches_all_that_ran_counts(code: CodeObject) -> None:
    both = watched(code, 1)[0] | watched(code, 2)[0]
    outer, inner = both.flow.loops
    assert both.passes == {outer: {2}, inner: {1, 2}}
    one, two = (watched(code, n)[0] for n in (1, 2))
    assert both.edges == one.edges | two.edges
    assert {inst.pc for inst in both.insts} == {i.pc for n in (one, two) for i in n.insts}


def test_loops_say_what_they_lack(code: CodeObject) -> None:
    def lacks(waves: int) -> list[str]:
        return [loop.lacks for loop in code_coverage(code, code.kernel("k"), watched(code, waves)[0]).loops]

    assert lacks(1) == ["", "never a second pass"]  # the outer one: always 2, so a constant
    assert lacks(2) == ["", "never 3 or more passes"]
    assert lacks(3) == ["", ""]


COPIES = """
  .file 1 "k.hip"
  v_readfirstlane_b32 s6, v0
  s_lshr_b32 s6, s6, 5
  .loc 1 3 7
copy:
  v_add_nc_u32 v2, 1, v2
  s_cmp_gt_u32 s6, 9
  s_cbranch_scc1 copy
  s_mov_b32 s7, 0
  .loc 1 {line} {column}
round:
  v_add_nc_u32 v2, 1, v2
  s_add_u32 s7, s7, 1
  s_cmp_gt_u32 s7, s6
  s_cbranch_scc0 round
  global_store_b32 v1, v2, s[4:5]
"""


@pytest.mark.parametrize(("line", "column", "told"), [(3, 7, ""), (3, 9, AGAIN), (4, 7, AGAIN)])
def test_what_a_copy_of_a_loop_shows_no_other_needs_to(line: int, column: int, told: str) -> None:
    """The first loop goes round once. One with its place in the source is the same, unrolled."""
    code = assembled("v_mov_b32 v2, 0\n" + COPIES.format(line=line, column=column), pointers=1)
    first, second = code_coverage(code, code.kernel("k"), watched(code, 4)[0]).loops
    assert (first.passes, second.passes) == ((1,), (1, 2, 3, 4))
    assert (first.wanted, second.wanted) == ((told,) if told else (), ())


SOURCE = """\
#define KERNEL extern "C" __attribute__((global)) void
#define ID __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

KERNEL tailed(const int* x, int* y, int n, int k) {
  if (n > 4096) __builtin_trap();
  int at = GROUP * 32 + ID, sum = 0;
  int whole = k / 8;
#pragma clang loop unroll(disable)
  for (int i = 0; i < whole; ++i) {
    sum += x[at + i];
  }
  if (k % 8) {
    sum ^= x[at];
    y[at] = sum * 3;
    return;
  }
  y[at] = sum;
}
"""
TAIL = "k.hip:14-15 (loads)"  # the compiler shares the store


def covered(
    folder: Path, *depths: int, n: int = 64, source: str = SOURCE, multiple: int = 1
) -> tuple[CodeCoverage, tuple[str, ...]]:
    (folder / "k.hip").write_text(source, "utf-8")
    sizes = ", ".join(f"{{ n = {n}, k = {k} }}" for k in depths)
    (folder / "layoutprobe.toml").write_text(
        f"""
[[kernel]]
name = "tailed"
source = "k.hip"
grid = "n / 32"
block = 32
sizes = [{sizes}]
multiple = {{ k = {multiple} }}
contract = {{ kind = "none" }}
argument = [
  {{ name = "x", role = "in", dtype = "i32", shape = ["n + 64"] }},
  {{ name = "y", role = "out", dtype = "i32", shape = ["n"] }},
  {{ name = "n", role = "scalar", dtype = "i32", value = "n" }},
  {{ name = "k", role = "scalar", dtype = "i32", value = "k" }},
]
""",
        "utf-8",
    )
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    verdict = check_kernel(case, case.arches[0], [MEMORY])
    assert verdict.coverage is not None
    assert not verdict.findings
    assert set(verdict.coverage.reservations) <= set(verdict.reservations)
    return verdict.coverage, verdict.coverage.reservations


def test_lines_that_never_ran_are_named_and_traps_are_not(tmp_path: Path) -> None:
    seen, said = covered(tmp_path, 8, 16, 24)
    assert said == (f"never ran: {TAIL}",)
    (loop,) = seen.loops
    assert (loop.place.line, loop.passes) == ("k.hip:10", (1, 2, 3))


def test_all_sizes_together_count(tmp_path: Path) -> None:
    seen, said = covered(tmp_path, 8, 17, 24, 3)
    assert said == ()
    assert seen.loops[0].skipped is True
    assert seen.blocks - seen.blocks_run == 1  # the trap


@pytest.mark.parametrize(
    ("depths", "lacks"),
    [
        ((9, 8), "never a second pass"),
        ((9, 16), "never 3 or more passes: try k = 24"),
        ((33, 40), "never 1 or 2 passes: try k = 8 or k = 16"),
        ((33, 32), ""),
    ],
)
def test_loops_that_the_size_governs(tmp_path: Path, depths: tuple[int, int], lacks: str) -> None:
    """With one number of passes, more than one, the sizes say themselves that K never varies. The kernel divides k by
    8 and rounds down."""
    seen, said = covered(tmp_path, *depths)
    words, _, hint = lacks.partition(":")
    assert said == ((f"{words} of the loop at k.hip:10" + f":{hint}" * bool(hint),) if lacks else ())
    assert seen.loops[0].skipped is False
    assert np.unique(seen.loops[0].passes).size == len(seen.loops[0].passes)


@pytest.mark.parametrize(
    ("multiple", "told"), [(1, ("never 1 pass of the loop at k.hip:10: try k = 8",)), (16, ())]
)
def test_passes_that_the_manifest_rules_out_are_not_asked_for(
    tmp_path: Path, multiple: int, told: tuple[str, ...]
) -> None:
    """With multiples of 16 a loop in steps of 8 goes round twice at least. Nobody lists one pass, and where the
    manifest does not exclude it, its size is named."""
    _, said = covered(tmp_path, 16, 32, 48, source=NO_TAIL, multiple=multiple)
    assert tuple(one for one in said if "pass" in one) == told


NO_TAIL = SOURCE.replace("if (k % 8)", "if (k % 8 && n < 0)")


def test_whether_a_wave_has_to_wait_no_size_decides(tmp_path: Path) -> None:
    waits = "while (sum == 77 && __atomic_load_n(y, __ATOMIC_ACQUIRE) == 5)\n    __builtin_amdgcn_s_sleep(1);"
    source = SOURCE.replace("  y[at] = sum;", f"  {waits}\n  y[at] = sum;")
    seen, said = covered(tmp_path, 8, 17, 24, 3, source=source)
    assert seen.blocks_run < seen.blocks - 1
    assert said == ()


TICKET = "if (ID % 3 == 0) sum += x[at + i];\n    sum += __builtin_amdgcn_readfirstlane(sum);"
RETRY = (
    "sum += x[at + i]; y[at] = sum; int old = sum;\n"
    "    while (!__atomic_compare_exchange_n(y + at, &old, sum + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}"
)


@pytest.mark.parametrize("work", [TICKET, RETRY])
def test_a_loop_around_one_that_waits_is_the_sizes(tmp_path: Path, work: str) -> None:
    """So is one that takes a number from its first lane, as whoever counts arrivals does."""
    source = SOURCE.replace(
        "    sum += x[at + i];", f"    {work}\n    if (sum == 12345678)\n      y[at + 1] = n;"
    )
    _, said = covered(tmp_path, 8, 17, 24, 3, source=source)
    assert said == ("never ran: k.hip:14 (stores)",)


@pytest.mark.parametrize(
    ("line", "past", "told"),
    [
        (3, ".loc 1 9\n v_lshl_or_b32 v2, v0, 1, v0", ""),
        (5, ".loc 1 9\n v_lshl_or_b32 v2, v0, 1, v0", "k.hip:9"),
        (5, ".loc 1 0\n v_lshl_or_b32 v2, v0, 1, v0\n s_load_b64 s[10:11], s[0:1], 0x0", ""),
        (5, ".loc 1 9\n s_load_b64 s[10:11], s[0:1], 0x0", "k.hip:9 (loads)"),
        (5, ".loc 1 0\n global_load_b32 v2, v1, s[4:5]", "near k.hip:10 (loads)"),
    ],
)
def test_what_a_loop_without_a_pass_computes_is_the_compilers(line: int, past: str, told: str) -> None:
    """The branch past the loop has the line of its statement, or that of another test. What has no line may load
    arguments anew."""
    code = assembled(
        f"""
  .file 1 "k.hip"
  .loc 1 {line}
  s_mov_b32 s8, 2
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 past
  .loc 1 4
round:
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  .loc 1 3
  s_cbranch_scc1 round
  .loc 1 10
  v_mov_b32 v2, 0
  s_branch after
past:
  {past}
after:
  .loc 1 10
  global_store_b32 v1, v2, s[4:5]
""",
        pointers=1,
    )
    said = code_coverage(code, code.kernel("k"), watched(code, 1)[0]).reservations
    assert len(said) == bool(told)
    assert all(one.startswith("never ran: ") and one.endswith(told) for one in said)


@pytest.mark.parametrize(
    ("edit", "depth", "n", "told"),
    [
        (
            ("  y[at] = sum;", "  y[at] = GROUP > 3 ? sum * 5 : sum;"),
            1,
            64,
            ('"> 3" is true at k.hip:18',),
        ),
        (
            ("  y[at] = sum;", "  y[at] = GROUP > 200 ? sum * 5 : sum;"),  # s_cmpk: the number is no operand
            1,
            256,
            ('"> 200" is true at k.hip:18',),
        ),
        (("  y[at] = sum;", "  y[at] = GROUP > 3 ? sum * 5 : sum;"), 1, 256, ()),
        (
            ("= k / 8", "= (k < 100 ? k : 100) / 8"),
            1,
            64,
            ("the limit 100 (s_min_u32) takes effect at k.hip:8",),
        ),
        (("= k / 8", "= (k < 100 ? k : 100) / 8"), 101, 64, ()),
    ],
)
def test_a_value_that_was_never_selected(
    tmp_path: Path, edit: tuple[str, str], depth: int, n: int, told: tuple[str, ...]
) -> None:
    """A compiler selects where it need not branch: all blocks run, and a way is never gone."""
    seen, said = covered(tmp_path, 8, 17, 24, 3, depth, n=n, source=SOURCE.replace(*edit))
    assert tuple(map(str, seen.untried)) == told
    assert said == ((f"no size in which {told[0]}",) if told else ())


@pytest.mark.parametrize(
    ("test", "multiple", "told"),
    [
        ("k > 15", 16, False),
        ("k > 15", 8, True),
        ("k + 5 > 20", 16, False),
        ("k + 5 > 20", 8, True),
        ("k < 1000", 16, True),
        ("k == 24", 16, False),
        ("k == 80", 16, True),
    ],
)
def test_what_no_multiple_makes_come_out_otherwise_is_not_asked_for(
    tmp_path: Path, test: str, multiple: int, told: bool
) -> None:
    source = NO_TAIL.replace("  y[at] = sum;", f"  y[at] = {test} ? sum * 5 : sum;")
    seen, said = covered(tmp_path, 16, 32, 48, source=source, multiple=multiple)
    assert bool(seen.untried) == told, seen.untried
    assert any("no size in which" in one for one in said) == told


@pytest.mark.parametrize(
    ("address", "moves", "lacks"),
    [
        ("v_mov_b32 v4, s8", "", ()),
        ("s_nop 0", "", ()),
        ("v_mov_b32 v4, s9", "s_add_u32 s9, s9, 4", (AGAIN,)),
        ("s_nop 0", "v_mov_b32 v4, v5", (AGAIN,)),
    ],
)
def test_a_loop_that_looks_at_one_place_of_lds_waits(
    address: str, moves: str, lacks: tuple[str, ...]
) -> None:
    """One that looks at another place each time goes through data."""
    code = assembled(
        f"""
  s_mov_b32 s8, 0
  s_mov_b32 s9, 0
  v_mov_b32 v4, 0
  v_mov_b32 v6, 7
  ds_store_b32 v4, v6
  s_waitcnt lgkmcnt(0)
round:
  {address}
  ds_load_b32 v5, v4
  {moves}
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32 vcc_lo, 7, v5
  s_cbranch_vccnz round
  global_store_b32 v1, v5, s[4:5]
""",
        pointers=1,
        lds=64,
    )
    (loop,) = code_coverage(code, code.kernel("k"), watched(code, 1)[0]).loops
    assert loop.wanted == lacks
