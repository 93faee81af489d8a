"""`inspect`: operands of users' kernels, register by register, beside formulas typed from the kernels' sources."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sampling import one_in

from layoutprobe.assets import asset_dir
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.inspector.inspect import Inspection, inspect
from layoutprobe.layouts.layout import HOLE
from layoutprobe.report.layout import LayoutReport

SEEDS = Path(asset_dir("probes")) / "gemm" / "seeds"
SIZE = {"M": 128, "N": 128, "K": 32}


@pytest.fixture(scope="module")
def right() -> Inspection:
    return inspect(SEEDS / "layoutprobe.toml", "asmOpt", size=SIZE)


@pytest.fixture(scope="module")
def wrong() -> Inspection:
    return inspect(SEEDS / "buggy.toml", "asmOpt-column", size=SIZE)


def tile(report: LayoutReport) -> tuple[np.ndarray, ...]:
    """wave, lane, vgpr, half of every slot."""
    return tuple(np.indices(report.loaded.row.shape))


def operand(kernel: Inspection, matrix: str, number: int, turn: int = 0) -> LayoutReport:
    return kernel.operand(matrix, number, workgroup=(0, 0, 0), iteration=turn)


@pytest.mark.few(1)
@pytest.mark.parametrize("turn", [0, 1])
def test_every_slot_is_the_element_that_the_source_says(right: Inspection, turn: int) -> None:
    """asmOpt.hip: wave w multiplies rows 32*(w/2)... by columns 32*(w%2)... of a 128 x 64 tile, two 16 x 16 tiles
    each way, 16 k a step; a lane loads row (column) lane % 16 (RDNA3 ISA guide, 7.9)."""
    firsts: dict[str, set[tuple[int, int]]] = {"A": set(), "B": set(), "C": set()}
    for site in right.sites.sites:
        a, b, c = (operand(right, matrix, site.number, turn) for matrix in "ABC")
        wave, lane, vgpr, half = tile(a)
        k = 16 * turn + 2 * vgpr + half
        row0, col0 = int(a.loaded.row[0, 0, 0, 0]), int(b.loaded.col[0, 0, 0, 0])
        assert row0 in (0, 16)
        assert col0 in (0, 16)
        assert np.array_equal(a.loaded.row, row0 + 32 * (wave // 2) + lane % 16)
        assert np.array_equal(a.loaded.col, k)
        assert np.array_equal(b.loaded.col, col0 + 32 * (wave % 2) + lane % 16)
        assert np.array_equal(b.loaded.row, k)
        wave, lane, vgpr, _ = tile(c)
        assert np.array_equal(c.loaded.row, row0 + 32 * (wave // 2) + 2 * vgpr + lane // 16)
        assert np.array_equal(c.loaded.col, col0 + 32 * (wave % 2) + lane % 16)
        for report, at in ((a, (row0, 0)), (b, (0, col0)), (c, (row0, col0))):
            assert not report.mismatch.any()
            assert report.exit_code == 0
            live = report.live
            assert live is not None
            assert np.array_equal(report.needed.row[live], report.loaded.row[live])  # type: ignore[union-attr]
            firsts[report.matrix].add(at)
    assert len(firsts["C"]) == 4, "four accumulators, a 16 x 16 tile each"
    assert [site.times for site in right.sites.sites] == [(2, 2)] * 4


def test_wrong_slots_are_marked_beside_what_they_need(wrong: Inspection) -> None:
    """A column of A where a row belongs: right on the diagonal, and nowhere else."""
    assert [site.wrong for site in wrong.sites.sites] == [(("A", "transposed"),)] * 4
    report = operand(wrong, "A", 0)
    wave, lane, vgpr, half = tile(report)
    row, col = 32 * (wave // 2) + lane % 16, 2 * vgpr + half
    assert np.array_equal(report.loaded.row, 32 * (wave // 2) + col)
    assert np.array_equal(report.loaded.col, lane % 16)
    needed, live = report.needed, report.live
    assert needed is not None
    assert live is not None
    assert np.array_equal(needed.row, np.where(live, row, HOLE))
    assert np.array_equal(needed.col, np.where(live, col, HOLE))
    assert np.array_equal(report.mismatch, live & (col != lane % 16))
    assert [found.rule.id for found in report.findings] == ["operand-provenance/transposed"]
    assert report.exit_code == 1
    for matrix in "BC":
        assert not operand(wrong, matrix, 0).mismatch.any()


def test_operands_of_one_wave_are_arrays(wrong: Inspection) -> None:
    """As above, for wave 5 alone: rows 64 and up of A taken by columns, columns 32 and up of B."""
    held = wrong.operands("wmma:0", 5, iteration=1)
    lane, vgpr, half = np.indices((32, 8, 2))
    k = 2 * vgpr + half
    assert np.array_equal(held.a.row, 64 + k)
    assert np.array_equal(held.a.col, 16 + lane % 16)
    assert np.array_equal(held.b.row, 16 + k)
    assert np.array_equal(held.b.col, 32 + lane % 16)
    needed = held.a.needed_row != HOLE
    assert np.array_equal(held.a.needed_row[needed], (64 + lane % 16)[needed])
    assert np.array_equal(held.a.wrong, needed & (k != lane % 16))
    assert not held.b.wrong.any()
    lane, vgpr, _ = np.indices(held.c.row.shape)
    assert np.array_equal(held.c.row, 64 + 2 * vgpr + lane // 16)
    with pytest.raises(UsageError, match="no wave 8"):
        wrong.operands(0, 8)


def test_results_draw_themselves(wrong: Inspection) -> None:
    """Every slot of A that is wrong is framed; every kind of result has markup of its own."""
    drawn = wrong.operands(0, 3)._repr_html_()
    assert drawn is not None
    grid = drawn[: drawn.index("<h2>B")]
    assert grid.count(' wrong"/>') == 16 * 15
    shown = (
        wrong.sites,
        wrong.owners(),
        wrong.why("v80:3", wave=3),
        wrong.lds(0, 95),
        wrong.registers("v72:3"),
    )
    says = ("A transposed", "wave 3 of workgroup (1, 0, 0)", "global_load_b128", "never stored", "A[1][3]")
    every = [str(result._repr_html_()) for result in shown]
    for result, text in zip(every, says, strict=True):
        assert text in result


def test_by_default_it_shows_where_it_is_wrong_first(wrong: Inspection, right: Inspection) -> None:
    assert dict(wrong.operand("A").about)["moment"].startswith("workgroup (0, 0, 0), execution 0 of 2")
    assert wrong.operand("A").mismatch.any()
    assert not right.operand("B").mismatch.any()


@pytest.mark.parametrize("at", ["0x203c", "asmOpt.hip:76", "wmma_helpers.h:98", "wmma:0", "0"])
def test_an_instruction_is_named_by_number_pc_or_line(wrong: Inspection, at: str) -> None:
    site = wrong.sites.sites[0]
    named = at.replace("0x203c", f"{site.place.pc:#x}")
    assert f"matrix instruction 0, {site.place.site}" in dict(wrong.operand("A", named).about)["at"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"matrix": "Q"}, "no matrix 'Q'"),
        ({"at": 99}, "no matrix instruction at '99'"),
        ({"at": "0x1"}, "no matrix instruction at '0x1'"),
        ({"at": "other.hip:7"}, "no matrix instruction at 'other.hip:7'"),
        ({"at": 0, "iteration": 2}, "no wave of workgroup (0, 0, 0) executes it 3 times"),
        ({"at": 0, "workgroup": (7, 0, 0)}, "the launch has no workgroup (7, 0, 0)"),
    ],
)
def test_what_is_not_there_is_refused(right: Inspection, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        right.operand(**arguments)  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "inspect",
        str(SEEDS / "buggy.toml"),
        "--kernel",
        "asmOpt-column",
        "--size",
        "M=128,N=128,K=32",
    ]
    assert main(options) == 1
    listed = capsys.readouterr().out
    assert listed.count("A transposed") == 4
    assert "FINDING (emulated): 1 finding; 4 of 4 matrix instructions with wrong operands" in " ".join(
        listed.split()
    )
    assert main([*options, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [site["wrong"] for site in data["sites"]] == [{"A": "transposed"}] * 4
    assert main([*options, "--matrix", "A", "--format", "json"]) == 1
    slots = json.loads(capsys.readouterr().out)["slots"]
    assert sum(slot["mismatch"] for slot in slots) == 8 * 16 * 15
    assert main([*options, "--matrix", "B"]) == 0
    assert "kernel     asmOpt-column, M=128 N=128 K=32" in capsys.readouterr().out
    assert main([*options, "--wave", "1"]) == 2
    assert "--wave has no effect on the list" in capsys.readouterr().err
    for size in ("M=0", "M", "M=1,M=2", "M=" + "9" * 20):
        assert main([*options[:-1], size]) == 2
        capsys.readouterr()


@pytest.mark.long
def test_the_page_shows_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    page = (root / "docs" / "inspect.md").read_text()
    shown = [
        block.split("\n", 1) for block in page.split("```\n")[1::2] if block.startswith("$ layoutprobe ")
    ]
    assert len(shown) == 6
    for command, printed in one_in(3, shown):
        judged = "buggy.toml" in command and "--why" not in command and "--where" not in command
        assert main(command.removeprefix("$ layoutprobe ").split()) == (1 if judged else 0)
        assert capsys.readouterr().out == printed
