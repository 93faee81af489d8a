"""What reports of the gate draw: the operand that a finding is about, and the wrong elements of the output."""

from __future__ import annotations

import io
import pickle
import re
from contextlib import chdir
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.checks.registry import CHECKS
from layoutprobe.cli.main import main
from layoutprobe.gate import gate, pictures
from layoutprobe.gate.session import check_kernel
from layoutprobe.inspector.inspect import inspect
from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.render.gate import html
from layoutprobe.report.gate import GateReport, KernelVerdict

SEEDS = Path(asset_dir("probes")) / "gemm" / "seeds"
SIZE = {"M": 128, "N": 72, "K": 32}


def case_of(manifest: str, kernel: str) -> KernelCase:
    cases = read_manifest(SEEDS / manifest, checks=[check.name for check in CHECKS], rules=[]).kernels
    return replace(next(case for case in cases if case.name == kernel), sizes=(SIZE,))


@cache
def verdict(manifest: str, kernel: str, checks: tuple[str, ...]) -> KernelVerdict:
    case = case_of(manifest, kernel)
    with chdir(SEEDS.parent):  # headers beside the folder are shown where a user stands above both
        return check_kernel(case, case.arches[0], [check for check in CHECKS if check.name in checks])


def column() -> KernelVerdict:
    return verdict("buggy.toml", "asmOpt-column", ("operand-provenance", "numerics", "races"))


def page(shown: KernelVerdict) -> str:
    stream = io.StringIO()
    html.write(GateReport("m.toml", (shown,), "0"), stream)
    return stream.getvalue()


@pytest.mark.long
def test_the_operand_is_what_the_source_says() -> None:
    """As in test_inspect: a column of A where a row belongs."""
    (cause,) = column().findings
    report = column().pictures.operand(cause)
    assert report is not None
    wave, lane, vgpr, half = np.indices(report.loaded.row.shape)
    k = 2 * vgpr + half
    first = int(report.loaded.row[0, 0, 0, 0])
    assert np.array_equal(report.loaded.row, first + 32 * (wave // 2) + k)
    assert np.array_equal(report.loaded.col, lane % 16)
    assert report.needed is not None
    needed = report.needed.row != HOLE
    assert np.array_equal(report.mismatch, needed & (k != lane % 16))


def test_the_output_is_wrong_where_numpy_says() -> None:
    """The fault exchanges row and column in every 16 x 16 tile of A; the contract has alpha 2 and beta 0.5."""
    output = column().pictures.output
    assert output is not None
    run = inspect(SEEDS / "buggy.toml", "asmOpt-column", size=SIZE)._subject.plain()
    a, b, c = (run.inputs[name].astype(np.float64) for name in "ABC")
    turned = a.copy()
    for row in range(0, 128, 16):
        for col in range(0, 32, 16):
            turned[row : row + 16, col : col + 16] = a[row : row + 16, col : col + 16].T
    right, wrong = (2.0 * x @ b + 0.5 * c for x in (a, turned))
    assert np.array_equal(output.expected, right)
    assert np.array_equal(output.observed, wrong)
    assert np.array_equal(output.wrong, right != wrong)
    assert 0 < output.wrong.sum() < output.wrong.size, "some elements are right by chance"
    assert column().pictures.size == "M=128 N=72 K=32"


def test_the_page_draws_both_and_shows_the_code() -> None:
    shown, text = column(), page(column())
    assert text.count(' wrong"/>') == 16 * 15, "a frame round each wrong slot of the wave"
    output = shown.pictures.output
    assert output is not None
    for title, kind in ((": wrong</title>", True), (": right</title>", False)):
        covered = 0
        for rows, cols in re.findall(rf"<title>\[([\d-]+), ([\d-]+)\]{re.escape(title)}", text):
            spans = [list(map(int, span.split("-"))) for span in (rows, cols)]
            covered += int(np.prod([span[-1] - span[0] + 1 for span in spans]))
        assert covered == (output.wrong == kind).sum()
    assert f"{output.wrong.sum()} of {output.wrong.size} elements are wrong" in text
    assert "The code of 5 related places" in text
    assert "&gt; 48" in text, "the store to LDS"
    assert "../wmma_helpers.h:54" in text


@pytest.mark.parametrize(
    ("manifest", "kernel", "checks"),
    [
        ("layoutprobe.toml", "asmOpt", ("operand-provenance", "numerics")),
        ("buggy.toml", "asmOpt-column", ("resources", "races")),
    ],
)
def test_without_a_finding_nothing_is_drawn(manifest: str, kernel: str, checks: tuple[str, ...]) -> None:
    found = verdict(manifest, kernel, checks)
    assert not found.findings
    assert not found.pictures.operands
    assert found.pictures.output is None
    assert "<svg" not in page(found)


def test_pictures_are_made_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "pictures_of", lambda *_: pytest.fail("a picture is made"))
    checks = [check for check in CHECKS if check.name == "operand-provenance"]
    found = check_kernel(case_of("buggy.toml", "asmOpt-column"), "gfx1151", checks, draw=False)
    assert found.findings
    assert not found.pictures.operands


@pytest.mark.parametrize(
    ("formats", "drawn"),
    [
        ((), False),
        (("--format", "full"), False),
        (("--report", "a.sarif", "--report", "b.xml"), False),
        (("--format", "html"), True),
        (("--report", "a.sarif", "--report", "b.html"), True),
    ],
)
def test_a_report_that_shows_pictures_asks_for_them(
    formats: tuple[str, ...], drawn: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[bool] = []

    def check(*_: object, draw: bool, **__: object) -> GateReport:
        asked.append(draw)
        return GateReport("m.toml", (), "0")

    monkeypatch.setattr(gate, "check", check)
    monkeypatch.chdir(tmp_path)
    main(["check", str(SEEDS / "buggy.toml"), *formats])
    assert asked == [drawn]


def test_pictures_go_from_process_to_process() -> None:
    """As with --jobs."""
    again = pickle.loads(pickle.dumps(column()))
    assert page(again) == page(column())
