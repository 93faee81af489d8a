"""The whole way: arguments, compiler, emulator, solver, report. Every slot against the documented layout.

The formulas are those of the AMD Matrix Instruction Calculator (rdna3, wave32) and of the LDS
schemes as probes/lds/ stores them; none is imported from layoutprobe.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from layoutprobe.cli.main import main

Capsys = pytest.CaptureFixture[str]
Formula = Callable[[int, int, int, int], list[int]]

LOADED: dict[str, Formula] = {
    "A": lambda wave, lane, vgpr, half: [16 * wave + lane % 16, 2 * vgpr + half],
    "B": lambda wave, lane, vgpr, half: [2 * vgpr + half, 16 * wave + lane % 16],
    "C": lambda wave, lane, vgpr, _: [16 * wave + 2 * vgpr + lane // 16, lane % 16],
    "D": lambda wave, lane, vgpr, _: [16 * wave + 2 * vgpr + lane // 16, lane % 16],
}


def report(capsys: Capsys, *arguments: str) -> dict[str, Any]:
    code = main([*arguments, "--format", "json"])
    streams = capsys.readouterr()
    assert streams.err == ""
    found: dict[str, Any] = json.loads(streams.out)
    assert found["exit_code"] == code
    return found


@pytest.mark.parametrize("matrix", ["A", "B", "C", "D"])
@pytest.mark.parametrize("lds", ["none", "padded", "xor", "xor-vector"])
def test_dump(capsys: Capsys, matrix: str, lds: str) -> None:
    found = report(capsys, "dump", "--matrix", matrix, "--lds", lds)
    assert found["verdict"] == "holds"
    assert [evidence["kind"] for evidence in found["evidence"]] == ["emulated"]
    assert len(found["slots"]) == 4 * 32 * 8 * (2 if matrix in "AB" else 1)
    for slot in found["slots"]:
        half = slot["bits"][0] // 16
        wanted = LOADED[matrix](slot["wave"], slot["lane"], slot["vgpr"], half)
        assert slot["loaded"] == wanted
        # An output lane reads the A and B of its own half-wave: even rows of A from lanes 0-15.
        live = slot["lane"] % 2 == slot["lane"] // 16 if matrix == "A" else True
        assert slot["live"] == live
        assert slot["needed"] == wanted, "AMD documents both copies, read or not"
        assert not slot["mismatch"]


@pytest.mark.parametrize(
    ("lds", "place", "halves"),
    [
        ("none", lambda row, col: row * 16 + col, 64 * 16),
        ("padded", lambda row, col: row * 24 + col, 64 * 24),
        ("xor", lambda row, col: row * 16 + (col // 8 ^ row % 2) * 8 + col % 8, 64 * 16),
        ("xor-vector", lambda row, col: row * 16 + (col // 8 ^ row // 4 % 2) * 8 + col % 8, 64 * 16),
    ],
)
def test_roundtrip(capsys: Capsys, lds: str, place: Callable[[int, int], int], halves: int) -> None:
    found = report(capsys, "roundtrip", "--lds", lds)
    assert found["verdict"] == "holds"
    wanted: list[list[int] | None] = [None] * halves
    for row in range(64):
        for col in range(16):
            wanted[place(row, col)] = [row, col]
    cells = found["lds_map"]["cells"]
    assert cells[: len(wanted)] == wanted
    assert set(map(str, cells[len(wanted) :])) <= {"None"}


def test_epilogue(capsys: Capsys) -> None:
    assert main(["epilogue", "--format", "csv"]) == 0
    slots = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(slots) == 4 * 32 * 8
    for slot in slots:
        wave, lane, vgpr = int(slot["wave"]), int(slot["lane"]), int(slot["vgpr"])
        assert [int(slot["row"]), int(slot["col"])] == LOADED["D"](wave, lane, vgpr, 0)


def test_a_pattern_that_cannot_tell_is_never_green(capsys: Capsys) -> None:
    found = report(capsys, "dump", "--matrix", "A", "--pattern", "row-coded")
    assert found["verdict"] == "undecided"
    assert found["exit_code"] == 2
    for slot in found["slots"]:
        assert slot["loaded"] == [16 * slot["wave"] + slot["lane"] % 16, None], "the row is known"
    assert found["coverage"] is None
    assert found["closed_form"]["loaded"] is None
    assert main(["dump", "--matrix", "A", "--pattern", "row"]) == 2
    assert "A[0][0] and A[0][1] both have code 0" in capsys.readouterr().err


def test_two_weak_patterns_are_strong(capsys: Capsys) -> None:
    found = report(capsys, "dump", "--matrix", "B", "--pattern", "row", "--pattern", "col", "--wave", "1")
    assert found["verdict"] == "holds"
    for slot in found["slots"]:
        assert slot["loaded"] == LOADED["B"](1, slot["lane"], slot["vgpr"], slot["bits"][0] // 16)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--matrix", "E"], ["'E'", "A, B, C, D"]),
        (["--lds", "zigzag"], ["'zigzag'", "none, padded, xor, xor-vector"]),
        (["--pattern", "rocwol"], ["'rocwol'", "did you mean", "rowcol"]),
        (["--pattern", "gone.toml"], ["gone.toml", "no such pattern file"]),
        (["--pattern", "row +"], ["row +"]),
        (["--pattern", "__import__('os')"], ["__import__"]),
        (["--dtype", "f7"], ["'f7'", "f16"]),
        (["--arch", "pentium"], ["'pentium'", "expected"]),
        (["--compiler", "/nonexistent/clang"], ["/nonexistent/clang", "does not exist"]),
        (["--wave", "4"], ["no wave 4 here", "wave 0 to 3"]),
    ],
)
def test_what_is_not_possible_is_one_message(capsys: Capsys, arguments: list[str], words: list[str]) -> None:
    assert main(["dump", *arguments]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("layoutprobe: ")
    assert "bug in layoutprobe" not in streams.err
    for word in words:
        assert word in streams.err


def test_a_pattern_file_is_text_and_no_program(capsys: Capsys, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe\x00 not toml")
    assert main(["dump", "--pattern", str(tmp_path / "p.toml")]) == 2
    assert "bug in layoutprobe" not in capsys.readouterr().err
