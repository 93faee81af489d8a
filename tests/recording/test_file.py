"""Recordings as files: what goes in comes out, and answers the same without source or compiler."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from layoutprobe.cli.main import main
from layoutprobe.errors import ToolchainError
from layoutprobe.inspector.kept import kept_operand
from layoutprobe.recording import questions
from layoutprobe.recording.file import read_recording, write_recording
from layoutprobe.recording.model import Recording
from layoutprobe.recording.schema import arrays, described
from recording.kernels import KERNELS, opened

NAMES = ["asmOpt", "ragged", "int4", "attention", "triton-mfma", "spilling", "scratch"]
BUGGY = KERNELS["column"][0]


@cache
def recorded(name: str) -> Recording:
    return opened(name).recording()


@pytest.mark.parametrize("name", NAMES)
def test_what_goes_in_comes_out(tmp_path: Path, name: str) -> None:
    made, path = recorded(name), tmp_path / "run.cap"
    digest = write_recording(path, made)
    found = read_recording(path)
    assert (found.evidence.kind, found.evidence.recorded, found.evidence.digest) == (
        "replayed",
        "emulated",
        digest,
    )
    before, after = arrays(made), arrays(found)
    assert set(before) == set(after)
    for column, values in before.items():
        assert after[column].dtype == values.dtype, column
        assert np.array_equal(after[column], values), column
    assert described(found) == described(made)
    assert found.code == made.code
    assert found.sources == made.sources
    assert list(found.size.items()) == list(made.size.items())
    assert write_recording(tmp_path / "again.cap", found) == digest
    assert (tmp_path / "again.cap").read_bytes() == path.read_bytes()


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ragged", "column", "triton-mfma"])
def test_operands_of_a_file_are_those_of_the_kernel(tmp_path: Path, name: str) -> None:
    """Held, needed and wrong, slot by slot, of every wave: as where the contract is."""
    kernel = opened(name)
    write_recording(tmp_path / "run.cap", kernel.kept())
    found = read_recording(tmp_path / "run.cap")
    assert found.moments is not None
    site = kernel.sites.sites[-1]
    moment = questions.Asked(found, 0, f"wmma:{site.number}", site.times[0] - 1)
    for matrix in "ABC":
        live = kernel.operand(matrix, site.number, workgroup=(0, 0, 0), iteration=moment.iteration)
        kept = kept_operand(moment, matrix)
        assert kept.about == live.about
        for mine, theirs in ((kept.loaded, live.loaded), (kept.needed, live.needed)):
            assert mine is not None
            assert theirs is not None
            assert np.array_equal(mine.row, theirs.row), matrix
            assert np.array_equal(mine.col, theirs.col), matrix
        assert np.array_equal(kept.mismatch, live.mismatch)
        assert (kept.exit_code == 1) == bool(live.mismatch.any())


def test_a_file_says_why_operands_are_held_beside_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(tmp_path / "run.cap", opened("int4").kept())
    assert main(["inspect", str(tmp_path / "run.cap"), "--matrix", "B"]) == 0
    assert "shown, and not judged: no product is marked" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "run.cap"), "--output", str(tmp_path / "run.html")]) == 0
    assert "no product is marked" in (tmp_path / "run.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["column", "int4", "triton-mfma"])
def test_a_file_answers_as_the_run_does(tmp_path: Path, name: str) -> None:
    made = recorded(name)
    write_recording(tmp_path / "run.cap", made)
    found = read_recording(tmp_path / "run.cap")
    wave = made.waves[-1].index
    source = next(buffer for buffer in made.buffers if buffer.role == "in")
    element = source.name + "".join("[1]" if extent > 1 else "[0]" for extent in source.shape)
    for at in (None, "store:0"):
        ours, theirs = (questions.asked(one, at, wave=wave) for one in (made, found))
        span = next(span for span in ours._inst(ours.row).reads if span.kind == "v")
        for one, other in (
            (ours.registers("v0-20,s0-15,exec"), theirs.registers("v0-20,s0-15,exec")),
            (ours.lds(), theirs.lds()),
            (ours.why(f"v{span.index}:1"), theirs.why(f"v{span.index}:1")),
            (ours.where(element), theirs.where(element)),
            (ours.follow(element), theirs.follow(element)),
            (ours.events(), theirs.events()),
        ):
            assert one.rows == other.rows
            assert one.about == other.about
            assert other.evidence.kind == "replayed"
        assert ours.registers("v0-20").rows


def test_the_command_needs_neither_source_nor_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cap = tmp_path / "run.cap"
    what = ["--kernel", "asmOpt-column"]
    assert main(["inspect", str(BUGGY), *what, "--save", str(cap)]) == 0
    assert "7044 instructions of 8 waves" in capsys.readouterr().err
    why = ["--wave", "3", "--why", "v80:3", "--format", "csv"]
    assert main(["inspect", str(BUGGY), *what, *why]) == 0
    live = capsys.readouterr().out
    operand = ["--matrix", "A", "--wave", "3", "--lane", "3", "--format", "csv"]
    assert main(["inspect", str(BUGGY), *what, *operand]) == 1
    needed = capsys.readouterr().out
    moved = tmp_path / "elsewhere" / "from a friend.cap"
    moved.parent.mkdir()
    shutil.move(cap, moved)

    def none(*_: object, **__: object) -> None:
        raise ToolchainError("no compiler")

    for name in ("find_compiler", "candidates"):
        monkeypatch.setattr(f"layoutprobe.toolchain.find.{name}", none)
    monkeypatch.setattr("layoutprobe.gate.build.build", none)
    monkeypatch.chdir(moved.parent)
    assert main(["inspect", moved.name, *why]) == 0
    assert capsys.readouterr().out == live
    assert main(["inspect", moved.name, "--where", "A[3][5]"]) == 0
    assert "seen       (replayed) A[3][5] is in 5 places" in capsys.readouterr().out
    assert main(["inspect", moved.name, *operand]) == 1
    assert capsys.readouterr().out.replace("replayed", "emulated") == needed
    assert main(["inspect", moved.name, "--output", "run.html"]) == 1
    assert "FINDING (replayed): 4 of 4 matrix instructions with wrong operands" in capsys.readouterr().err
    assert '"judged":true' in Path("run.html").read_text("utf-8")
    assert main(["inspect", moved.name]) == 0
    told, aside = capsys.readouterr()
    assert "4 of 4 matrix instructions have wrong operands: --at matrix:0 --matrix A shows them" in aside
    assert "M=128 N=128 K=64" in told
    assert "matrix:3" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--matrix", "A", "--at", "barrier:0"], "no matrix instruction at s_barrier"),
        (["--matrix", "A", "--lds"], "--matrix has no effect with --lds"),
        (["--vgpr", "1"], "--vgpr has no effect on a recording"),
        (["--kernel", "x"], "--kernel has no effect on a recording"),
        (["--size", "M=1"], "--size has no effect on a recording"),
        (["--save", "y.cap"], "--save has no effect on a recording"),
        (["--engine", "numpy"], "--engine has no effect on a recording"),
        (["--at", "mfma:0"], "--at has no effect without a question"),
        (["--workgroup", "9,0,0"], "workgroup (9, 0, 0) was not recorded"),
        (["--wave", "8", "--registers", "v0"], "has no wave 8"),
        (["--why", "v0:1", "--lds"], "two questions"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(tmp_path / "x.cap", recorded("column"))
    assert main(["inspect", str(tmp_path / "x.cap"), *options]) == 2
    assert words in capsys.readouterr().err


def test_what_save_does_not_keep_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cap = tmp_path / "x.cap"
    assert main(["inspect", str(BUGGY), "--kernel", "asmOpt-column", "--save", str(cap), "--at", "3"]) == 2
    assert "--at has no effect beside --save" in capsys.readouterr().err
    assert (
        main(["inspect", str(BUGGY), "--kernel", "asmOpt-column", "--save", str(tmp_path / "no/x.cap")]) == 2
    )
    assert "cannot be written" in capsys.readouterr().err
    assert not cap.exists()
