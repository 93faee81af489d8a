"""The gate on small kernels: what is launched, recorded, and said when something is wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.memory import CHECK as MEMORY
from layoutprobe.checks.numerics import CHECK as NUMERICS
from layoutprobe.checks.registry import RULES, find_check
from layoutprobe.errors import ExecutionError, UsageError
from layoutprobe.gate.applying import without_consequences
from layoutprobe.gate.build import build
from layoutprobe.gate.gate import check
from layoutprobe.gate.runner import KernelRunner
from layoutprobe.gate.session import check_kernel
from layoutprobe.gate.watching import Deadline
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.observer import Observer
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.inputs import coding_of
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.observe.base import Recorder
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, KernelVerdict
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

SOURCE = """\
typedef _Float16 half;
#define KERNEL extern "C" __attribute__((global)) void
#define ID __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

struct Pair { int scale; int offset; int more[2]; };

// y[row][col] = scale * x[row][col] + offset; x column-major, y padded rows.
KERNEL affine(const half* x, float* y, int* nothing, Pair p, float alpha, int M, int N, int ldx, int ldy) {
  const int row = GROUP, col = ID;
  if (col < N) y[row * ldy + col] = alpha * (p.scale * (float)x[col * ldx + row] + p.offset + (nothing != nullptr));
}
KERNEL store_far(int* y, int n) { y[ID + n] = 1; }
KERNEL load_far(const int* x, int* y, int n) { y[ID] = x[ID + n]; }
KERNEL endless(int* y) { while (*(volatile int*)y != 3) *(volatile int*)y = 1; }
KERNEL traps(int* y) { if (y[0] < 100) __builtin_trap(); y[0] = 1; }
KERNEL forgets(int* y) { if (ID % 2) y[ID] = 7; }
KERNEL writes_input(int* x, int* y) { y[ID] = x[ID]; if (ID == 3) x[ID] += 1; }
KERNEL undefined_address(int* y, int* z) { z[y[ID] & 31] = 1; }
KERNEL add_far(int* y, int n) { __hip_atomic_fetch_add(y + ID + n, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
"""

AFFINE = """\
[[kernel]]
name = "affine"
source = "k.hip"
symbol = "affine"
grid = "M"
block = 64
sizes = [{ M = 5, N = 37 }]
contract = { kind = "gemm" }
argument = [
  { name = "x", role = "in", dtype = "f16", shape = ["M", "N"], order = "col", ld = "M + 2" },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"], ld = "N + 5" },
  { role = "null" },
  { name = "p", role = "bytes", hex = "03000000 fbffffff 0000000000000000" },
  { name = "alpha", role = "scalar", dtype = "f32", value = "alpha" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "ldx", role = "scalar", dtype = "i32", value = "M + 2" },
  { name = "ldy", role = "scalar", dtype = "i32", value = "N + 5" },
]
"""
ONE = """\
[[kernel]]
name = "{name}"
source = "k.hip"
symbol = "{name}"
grid = 1
block = 32
sizes = [{{ n = 32 }}]
contract = {{ kind = "none" }}
argument = [{arguments}]
"""
Y = '{ name = "y", role = "out", dtype = "i32", shape = ["n"] }'
X = '{ name = "x", role = "in", dtype = "i32", shape = ["n"] }'
N = '{ name = "n", role = "scalar", dtype = "i32", value = "n" }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.hip").write_text(SOURCE, "utf-8")
    return tmp_path


def case_of(folder: Path, text: str) -> KernelCase:
    path = folder / "layoutprobe.toml"
    path.write_text(text, "utf-8")
    return read_manifest(path).kernels[0]


def affine(folder: Path) -> KernelCase:
    text = AFFINE.replace('contract = { kind = "gemm" }', 'contract = { kind = "none" }')
    return case_of(folder, text)


def runner_of(case: KernelCase) -> KernelRunner:
    binding = bind(case, case.sizes[0])
    return KernelRunner(build(case, case.arches[0]), binding, coding_of(binding), EmulatorBackend())


def verdict_of(
    folder: Path, name: str, *arguments: str, checks: tuple[Check, ...] = (MEMORY,)
) -> KernelVerdict:
    case = case_of(folder, ONE.format(name=name, arguments=", ".join(arguments)))
    return check_kernel(case, case.arches[0], checks)


# Runs.


def expected(recorded: Recorded, alpha: float = 1.0) -> Mapping[tuple[int, int], float]:
    x = recorded.inputs["x"]
    return {(r, c): alpha * (3 * float(x[r, c]) - 5) for r in range(5) for c in range(37)}


@pytest.mark.parametrize("kind", ["integers", "normal", "zeros", "code0"])
def test_what_goes_in_and_comes_out(folder: Path, kind: str) -> None:
    """Order, leading dimensions, a null pointer, a struct by value and a factor, all in one kernel."""
    recorded = runner_of(affine(folder))(RunSpec(kind))
    assert recorded.fault is None
    assert recorded.stray == {}
    assert set(recorded.inputs) == {"x"}
    assert recorded.undefined == {}
    y = recorded.outputs["y"]
    assert y.shape == (5, 37)
    for (row, col), value in expected(recorded).items():
        assert y[row, col] == pytest.approx(value, rel=1e-6)
    assert kind == "zeros" or len(np.unique(y)) > 5


def test_equal_runs_are_one_run(folder: Path) -> None:
    runner = runner_of(affine(folder))
    first = runner(RunSpec("integers"))
    assert runner(RunSpec("integers")) is first
    assert runner(RunSpec("normal")) is not first
    with pytest.raises(ValueError, match="read-only"):
        first.outputs["y"][0, 0] = 1


class Counted(Struct, frozen=True):
    """Stores seen."""

    stores: int


class Counter(Recorder):
    """Counts store instructions that execute."""

    def __init__(self) -> None:
        self.stores = 0

    def access(self, c: Cohort, inst: Any, place: Any, size: int, *, store: bool) -> None:
        self.stores += store

    def record(self) -> Counted:
        return Counted(self.stores)


def test_observers_are_asked_for_their_records(folder: Path) -> None:
    recorded = runner_of(affine(folder))(RunSpec("integers", (Counter,)))
    assert recorded.record(Counted).stores >= 1
    with pytest.raises(LookupError, match="makes a str"):
        recorded.record(str)


def test_records_survive_a_fault(folder: Path) -> None:
    case = case_of(folder, ONE.format(name="add_far", arguments=f"{Y}, {N}"))
    recorded = runner_of(case)(RunSpec("integers", (Counter,)))
    assert recorded.fault is not None
    assert recorded.fault.kind == "global-store"
    assert recorded.record(Counted) == Counted(0), "the store that faults is never executed"
    assert recorded.outputs == {}


# The whole gate.


def test_a_correct_kernel_holds(folder: Path) -> None:
    case = affine(folder)
    verdict = check_kernel(case, case.arches[0], [MEMORY])
    assert verdict.error == ""
    assert [r.status for r in verdict.results] == ["holds"]
    assert (verdict.symbol, verdict.target, verdict.sizes) == ("affine", "gfx1151", ("M=5 N=37",))
    assert [e.kind for e in verdict.evidence] == ["emulated"]
    assert len(verdict.toolchain["code_object"]) == 64


@pytest.mark.parametrize(
    ("name", "arguments", "what", "line"),
    [
        ("store_far", (Y, N), "y[32] is stored, and y has n = 32 elements", "k.hip:13"),
        ("load_far", (X, Y, N), "x[32] is loaded, and x has n = 32 elements", "k.hip:14"),
        ("traps", (Y.replace('"out"', '"inout"'),), "traps", "k.hip:16"),
        ("undefined_address", (Y, Y.replace('"y"', '"z"')), "an undefined value is used as", "k.hip:19"),
    ],
)
def test_a_fault_is_a_finding_with_its_line(
    folder: Path, name: str, arguments: tuple[str, ...], what: str, line: str
) -> None:
    verdict = verdict_of(folder, name, *arguments)
    (found,) = verdict.findings
    assert what in found.what
    assert str(found.place.line).endswith(line)
    assert found.place.size == (("n", 32),)
    assert verdict.exit_code == 1


def test_after_a_load_from_nowhere_the_other_checks_are_decided(folder: Path) -> None:
    checks = tuple(find_check(name) for name in ("waits", "memory", "bank-conflicts"))
    verdict = verdict_of(folder, "load_far", X, Y, N, checks=checks)
    assert [(r.check, r.status) for r in verdict.results] == [
        ("waits", "holds"), ("memory", "finding"), ("bank-conflicts", "skipped"),
    ]  # fmt: skip
    (found,) = verdict.findings
    assert found.rule.id == "memory/load-out-of-bounds"


def test_what_undefined_data_breaks_is_no_finding_beside_the_load_that_brought_it() -> None:
    check = find_check("numerics")
    rules = {rule.id: rule for rule in RULES}
    never, wrong = (Finding(rules[f"numerics/{name}"], name) for name in ("never-defined", "wrong-values"))
    astray = ExecutionError("outside", place=Place(pc=16, instruction="global_load_b32"), kind="global-load")
    kept = without_consequences({"numerics": check.found([never, wrong])}, [astray])["numerics"]
    assert (kept.status, kept.findings) == ("finding", (wrong,))
    gone = without_consequences({"numerics": check.found([never])}, [astray])["numerics"]
    assert (gone.status, gone.findings) == ("undecided", ())
    assert "global_load_b32 at PC 0x10" in gone.reason
    other = {"numerics": check.found([never])}
    assert without_consequences(other, []) == other


def test_allocations_are_called_as_the_manifest_calls_them(folder: Path) -> None:
    renamed = Y.replace('"y"', '"result"')
    (found,) = verdict_of(folder, "store_far", renamed, N).findings
    assert "buffer result (128 bytes)" in found.observed
    assert "0 bytes past its end" in found.observed


def test_a_changed_input_is_a_finding(folder: Path) -> None:
    (found,) = verdict_of(folder, "writes_input", X, Y).findings
    assert found.what == "the kernel changes 1 bytes of x that it must not: it is an input"


def test_written_padding_is_a_finding(folder: Path) -> None:
    """The kernel is told rows of 37 elements, and the manifest says 33: 4 columns are padding."""
    text = AFFINE.replace('"gemm"', '"none"').replace(
        'shape = ["M", "N"], ld = "N + 5"', 'shape = ["M", "N - 4"], ld = "N + 5"'
    )
    case = case_of(folder, text)
    (found,) = check_kernel(case, case.arches[0], [MEMORY]).findings
    assert found.what == "the kernel changes 80 bytes of y that it must not: they are padding between rows"


def test_what_is_never_written_stays_undefined(folder: Path) -> None:
    case = case_of(folder, ONE.format(name="forgets", arguments=Y))
    recorded = runner_of(case)(RunSpec("integers"))
    mask = recorded.undefined["y"]
    assert [bool(m) for m in mask] == [i % 2 == 0 for i in range(32)]
    assert (recorded.outputs["y"][1::2] == 7).all()


def test_launches_like_one_that_took_too_long_are_not_begun(folder: Path) -> None:
    begun: list[int] = []

    class Counting(EmulatorBackend):
        def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
            (buffer,) = launch.args
            begun.append(buffer.data.size)  # type: ignore[union-attr]
            return super().run(launch, observers)

    inout = Y.replace('"out"', '"inout"')
    text = ONE.format(name="endless", arguments=inout).replace(
        "sizes = [{ n = 32 }]", "sizes = [{ n = 64 }, { n = 72 }, { n = 32 }, { n = 8 }, { n = 16 }]"
    )
    case = case_of(folder, text + "limits = { instructions = 1000 }\n")
    verdict = check_kernel(case, case.arches[0], [NUMERICS, MEMORY], backend=Counting(budget=1000))
    assert begun == [64, 8], (
        "no size that nobody listed; 72 and 32 are at least half of 64, and 16 twice of 8"
    )
    assert [r.status for r in verdict.results] == ["skipped", "undecided"]
    assert verdict.coverage is not None, "what is known is kept"
    assert verdict.coverage.blocks_run > 0


@pytest.mark.parametrize("limit", ["instructions = 1000", "seconds = 1"])
def test_an_endless_kernel_is_undecided_and_bounded(folder: Path, limit: str) -> None:
    inout = Y.replace('"out"', '"inout"')
    text = ONE.format(name="endless", arguments=inout).replace(
        "block = 32", f"block = 32\nlimits = {{ {limit} }}"
    )
    case = case_of(folder, text)
    verdict = check_kernel(case, case.arches[0], [MEMORY])
    assert verdict.exit_code == 2
    assert "did not end within" in verdict.results[0].reason
    assert "k.hip:15" in verdict.results[0].reason


@pytest.mark.parametrize(
    ("clock", "busy", "late"), [(9, 9, True), (9, 1, False), (1, 9, False), (1, 1, False)]
)
def test_time_that_other_processes_have_is_not_the_launches(
    monkeypatch: pytest.MonkeyPatch, clock: float, busy: float, late: bool
) -> None:
    """The clock alone would end launches on a machine with much to do, processor time alone those of many threads."""
    now = {"monotonic": 100.0, "process_time": 50.0}
    monkeypatch.setattr(time, "monotonic", lambda: now["monotonic"])
    monkeypatch.setattr(time, "process_time", lambda: now["process_time"])
    deadline = Deadline(5)
    inst = SimpleNamespace(pc=0)
    block: Any = SimpleNamespace(last=inst, insts=[inst])
    band: Any = None
    deadline.batch(band, cast(Any, SimpleNamespace(location=lambda _: Place(pc=0))))
    now |= {"monotonic": 100 + clock, "process_time": 50 + busy}
    if not late:
        deadline.block(band, block)
        return
    with pytest.raises(ExecutionError, match="did not end within 5 seconds"):
        deadline.block(band, block)


def test_factors_are_those_of_the_run(folder: Path) -> None:
    """alpha reaches the kernel; a beta that the kernel does not take stays that of the contract."""
    text = """\
[[kernel]]
name = "affine"
source = "k.hip"
symbol = "affine"
grid = "M"
block = 64
sizes = [{ M = 5, N = 37 }]
contract = { kind = "gemm", alpha = 3, beta = 0 }
argument = [
  { name = "x", role = "in", dtype = "f16", shape = ["M", "N"], order = "col", matrix = "A" },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "D" },
  { name = "b", role = "in", dtype = "f16", shape = ["N", "N"], matrix = "B" },
  { role = "bytes", hex = "03000000 fbffffff 0000000000000000" },
  { role = "scalar", dtype = "f32", value = "alpha" },
  { role = "scalar", dtype = "i32", value = "M" },
  { role = "scalar", dtype = "i32", value = "N" },
  { role = "scalar", dtype = "i32", value = "M" },
  { role = "scalar", dtype = "i32", value = "N" },
]
"""
    runner = runner_of(case_of(folder, text))
    plain, changed = runner(RunSpec("integers")), runner(RunSpec("integers", alpha=0.5, beta=4.0))
    assert (plain.alpha, plain.beta, changed.alpha, changed.beta) == (3.0, 0.0, 0.5, 0.0)
    for (row, col), value in expected(plain).items():  # here b is no null pointer, which adds 1
        assert plain.outputs["y"][row, col] == 3 * (value + 1)
        assert changed.outputs["y"][row, col] == 0.5 * (value + 1)


# What stops the work.


def test_arguments_that_are_not_the_kernels(folder: Path) -> None:
    verdict = verdict_of(folder, "load_far", X, Y)
    assert verdict.exit_code == 2
    assert "the manifest's arguments are not the kernel's" in verdict.error
    assert "n: by value of 4 bytes" in verdict.error
    assert "x: in i32, 8 bytes" in verdict.error
    assert [r.status for r in verdict.results] == []


def test_a_kernel_that_does_not_compile(folder: Path) -> None:
    (folder / "k.hip").write_text("this is no program", "utf-8")
    verdict = verdict_of(folder, "store_far", Y, N)
    assert verdict.exit_code == 2
    assert "refused k.hip" in verdict.error


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"text", b"\x7fELF" + b"\xff" * 500])
def test_a_hostile_code_object(folder: Path, data: bytes) -> None:
    (folder / "k.co").write_bytes(data)
    text = ONE.format(name="k", arguments=Y).replace('source = "k.hip"', 'code_object = "k.co"')
    case = case_of(folder, text)
    verdict = check_kernel(case, "", [MEMORY])
    assert verdict.error
    assert verdict.exit_code == 2


def test_a_gigabyte_grid_ends_in_words(folder: Path) -> None:
    text = ONE.format(name="store_far", arguments=f"{Y}, {N}").replace(
        "grid = 1", "grid = [65535, 65535, 65535]"
    )
    case = case_of(folder, text)
    verdict = check_kernel(case, case.arches[0], [MEMORY])
    assert verdict.exit_code == 2
    assert "workgroups" in verdict.error


def test_a_bug_in_a_check_leaves_the_others_their_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAYOUTPROBE_DEBUG", raising=False)

    def broken(_: Subject) -> CheckResult:
        raise IndexError("oh")

    case = affine(folder)
    verdict = check_kernel(case, case.arches[0], [replace(MEMORY, name="broken", run=broken), MEMORY])
    assert [r.status for r in verdict.results] == ["undecided", "holds"]
    assert "a bug in layoutprobe" in verdict.results[0].reason


def test_a_check_that_saw_a_part_only_is_not_green(folder: Path) -> None:
    def careless(subject: Subject) -> CheckResult:
        subject.plain(partial=True)
        return partial.holds("looked")

    partial = Check("partial", "law", "words", careless)
    verdict = verdict_of(folder, "add_far", Y, N, checks=(partial, MEMORY))
    assert [r.status for r in verdict.results] == ["undecided", "finding"]


def test_a_skipped_check_says_so(folder: Path) -> None:
    text = ONE.format(name="store_far", arguments=f"{Y}, {N}") + 'skip = { memory = "known" }\n'
    case = case_of(folder, text)
    verdict = check_kernel(case, case.arches[0], [MEMORY])
    assert [(r.status, r.reason) for r in verdict.results] == [("skipped", "the manifest skips it: known")]
    assert verdict.waived == ("memory",)
    assert verdict.exit_code == 2, "nothing was checked"


def test_a_rule_that_the_manifest_waives_is_reported_and_does_not_count(folder: Path) -> None:
    text = ONE.format(name="store_far", arguments=f"{Y}, {N}")
    waiver = 'skip = { "epilogue/out-of-bounds" = "known", "memory/changed" = "never found here" }\n'
    case = case_of(folder, text + waiver)
    (result,) = check_kernel(case, case.arches[0], [MEMORY]).results
    assert (result.status, result.findings) == ("skipped", ())
    assert result.reason == "the manifest waives epilogue/out-of-bounds: known"
    ((found, why),) = result.accepted
    assert (found.rule.id, why) == ("epilogue/out-of-bounds", "known")
    assert check_kernel(case, case.arches[0], [MEMORY]).exit_code == 2, "silence is never green"
    other = case_of(folder, text + waiver.replace("epilogue/out-of-bounds", "memory/trap"))
    assert check_kernel(other, case.arches[0], [MEMORY]).exit_code == 1, "another rule waives nothing"


def test_unknown_rules_are_refused(folder: Path) -> None:
    path = folder / "layoutprobe.toml"
    case_of(folder, ONE.format(name="store_far", arguments=f"{Y}, {N}") + 'skip = { "memory/trp" = "x" }\n')
    with pytest.raises(UsageError) as caught:
        check(path)
    assert caught.value.hint == "did you mean memory/trap?"


def test_nothing_is_run_that_no_check_needs(folder: Path) -> None:
    def lazy(subject: Subject) -> CheckResult:
        return check_.holds()

    check_ = Check("lazy", "law", "words", lazy, observers=(Counter,))
    verdict = verdict_of(folder, "endless", Y, checks=(check_,))
    assert [r.status for r in verdict.results] == ["holds"]


def test_names_that_do_not_exist(folder: Path) -> None:
    case_of(folder, AFFINE.replace('"gemm"', '"none"'))
    path = folder / "layoutprobe.toml"
    with pytest.raises(UsageError, match="no kernel named 'afine'") as caught:
        check(path, kernels=["afine"])
    assert caught.value.hint == "did you mean affine?"
    with pytest.raises(UsageError, match="no check named 'memry'"):
        check(path, checks=["memry"])


def test_processes_give_the_same_verdicts(folder: Path) -> None:
    text = AFFINE.replace('"gemm"', '"none"') + ONE.format(name="store_far", arguments=f"{Y}, {N}")
    case_of(folder, text)
    path = folder / "layoutprobe.toml"
    told: list[tuple[str, int, int]] = []
    serial = check(path, checks=["memory"])
    parallel = check(path, checks=["memory"], jobs=2, progress=lambda *step: told.append(step))
    # Pictures are equal to themselves alone.
    one, other = (
        [replace(v, seconds=0.0, pictures=None) for v in report.verdicts] for report in (serial, parallel)
    )
    assert one == other
    assert (serial.exit_code, parallel.exit_code) == (1, 1)
    assert told == [("affine", 1, 2), ("store_far", 2, 2)]


# A Python reference.


def test_a_reference_is_loaded_only_when_allowed(folder: Path) -> None:
    (folder / "r.py").write_text(
        "def f(inputs, sizes):\n    return {'y': inputs['x'] + sizes['n']}\n", "utf-8"
    )
    seen: list[Any] = []

    def look(subject: Subject) -> CheckResult:
        seen.append(subject.reference)
        return looking.holds()

    looking = Check("looking", "law", "words", look)
    text = ONE.format(name="load_far", arguments=f"{X}, {Y}, {N}")
    case = case_of(folder, text.replace('{ kind = "none" }', '{ kind = "reference", function = "r.py:f" }'))
    check_kernel(case, case.arches[0], [looking])
    check_kernel(case, case.arches[0], [looking], allow_reference=True)
    assert seen[0] is None
    assert seen[1]({"x": 3}, {"n": 4}) == {"y": 7}


@pytest.mark.parametrize("text", ["def g(): pass", "raise OSError('no')", "f = 3", None])
def test_a_reference_that_cannot_be_had(folder: Path, text: str | None) -> None:
    if text is not None:
        (folder / "r.py").write_text(text, "utf-8")
    manifest = ONE.format(name="load_far", arguments=f"{X}, {Y}, {N}")
    case = case_of(
        folder, manifest.replace('{ kind = "none" }', '{ kind = "reference", function = "r.py:f" }')
    )
    verdict = check_kernel(case, case.arches[0], [MEMORY], allow_reference=True)
    assert "Python reference" in verdict.error
