"""`layoutprobe layout`, `claim` and `diff` from the command line, on instructions that are executed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from layoutprobe.cli.main import main

F16 = "v_wmma_f32_16x16x16_f16"
NARROW = "v_wmma_f16_16x16x16_f16"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("wide")
def test_all_forms_and_what_they_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", F16]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for form in ("A[lane % 16][2*vgpr + half]", "((16,2),16):((1,0),16)", "D[2*vgpr + lane / 16][lane % 16]"):
        assert form in text
    assert "vgpr = [[2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]]" in text
    assert "emulated" in text
    assert "any joint permutation of 16 lines in A and B" in text


@pytest.mark.usefixtures("wide")
def test_questions(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--element", "A[3][5]", "--element", "D[5][7]", "--slot", "A:v2.hi@19", "--slot", "B:v1@4"]
    assert main(["layout", F16, *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["A[3][5]", "v2.hi@3", "(not", "seen", "to", "be", "read),", "v2.hi@19"]
    assert lines[1].split() == ["D[5][7]", "v2@23"]
    assert lines[2].split() == ["A:v2.hi@19", "v2.hi@19:", "A[3][5]"]
    assert lines[3].split() == ["B:v1@4", "v1.lo@4:", "B[2][4],", "v1.hi@4:", "B[3][4]"]


@pytest.mark.usefixtures("wide")
def test_one_dialect_over_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", NARROW, "--wave", "64", "--opsel", "4", "--matrix", "D", "--dialect", "gf2"]) == 0
    text = capsys.readouterr().out
    assert "lane=32 -> (2, 0)" in text
    assert "where half.0 = 1" in text
    assert "A:" not in text


@pytest.mark.parametrize(
    "wrong",
    [
        ["v_nothing"],
        [F16, "--element", "A[16][0]"],
        [F16, "--element", "A3"],
        [F16, "--slot", "A:v9.lo@0"],
        [F16, "--slot", "D:v0.hi@0"],
        [F16, "--slot", "A:v0.[8:0]@0"],
        [F16, "--matrix", "index"],
        [F16, "--output", "map.pdf"],
    ],
)
def test_what_there_is_not_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", *wrong]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("layoutprobe: ")
    assert "a bug" not in said.err


def test_json_has_every_slot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", F16, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "layoutprobe-layout/1"
    slots = document["operands"]["D"]["slots"]
    assert {(s["row"], s["col"]) for s in slots} == {(i, j) for i in range(16) for j in range(16)}
    assert all((s["row"], s["col"]) == (2 * s["vgpr"] + s["lane"] // 16, s["lane"] % 16) for s in slots)
    assert document["evidence"]["kind"] == "emulated"


@pytest.mark.parametrize(
    "form", [[F16], [NARROW, "--opsel", "4"], ["v_wmma_i32_16x16x16_iu4", "--wave", "64"]]
)
def test_a_written_table_is_a_claim_that_is_confirmed(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.csv"
    assert main(["layout", *form, "--output", str(file)]) == 0
    assert main(["claim", str(file)]) == 0
    assert "confirmed" in capsys.readouterr().out
    with file.open(newline="") as stream:
        rows = list(csv.reader(stream))
    rows[5][5] = str((int(rows[5][5]) + 1) % 16)
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    assert main(["claim", str(file), "--exact"]) == 1


def test_a_table_of_another_target_is_held_against_that_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`layout --format csv` writes the target into a column, and `claim` reads it."""
    file, both = tmp_path / "gfx12.csv", tmp_path / "both.csv"
    assert main(["layout", F16, "--arch", "gfx1200", "--output", str(file)]) == 0
    assert main(["claim", str(file), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["claims"]
    assert (found["arch"], found["verdict"]) == ("gfx1200", "confirmed")
    assert main(["layout", F16, "--output", str(both)]) == 0
    both.write_text(both.read_text() + file.read_text().partition("\n")[2])
    assert main(["claim", str(both), "--format", "json"]) == 0, (
        "two tables, and not one with two elements a slot"
    )
    found = json.loads(capsys.readouterr().out)["claims"]
    assert [(one["arch"], one["verdict"]) for one in found] == [
        ("gfx1151", "confirmed"),
        ("gfx1200", "confirmed"),
    ]
    assert main(["claim", str(file), "--arch", "gfx1151"]) == 1, "the user's word comes first"


STATED = """
[[claim]]
instruction = "v_wmma_f32_16x16x16_f16"
says = ["{says}"]
verdict = "{verdict}"
"""
ROWS, COLUMNS = "A: frag[i] = A[lane % 16][i]", "A: frag[i] = A[i][lane % 16]"


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("says", "stated", "code"),
    [
        (ROWS, "confirmed", 0),
        (COLUMNS, "refuted", 0),
        (ROWS, "refuted", 1),
        (COLUMNS, "confirmed", 1),
        (ROWS, "equal modulo gauge", 1),
        (ROWS, "cannot decide", 1),
        ("A: frag[i] = A[lane % 16][i] if lane < 0", "cannot decide", 0),
    ],
)
def test_the_verdict_that_a_file_states_is_held_against_the_one_found(
    says: str, stated: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(STATED.format(says=says, verdict=stated))
    assert main(["claim", str(file)]) == code
    text = capsys.readouterr().out
    assert ("the file states another verdict than was found" in text) == bool(code)
    assert main(["claim", str(file), "--format", "json"]) == code
    (found,) = json.loads(capsys.readouterr().out)["claims"]
    assert (found["stated"], found["as_stated"]) == (stated, not code)
    assert main(["claim", str(file), "--output", str(tmp_path / "out.json")]) == code
    assert (f"where the file states {stated}" in capsys.readouterr().err) == bool(code)


def test_what_could_not_be_run_is_as_stated_by_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not checked is never green: an instruction that cannot be solved leaves the claim undecided."""
    file = tmp_path / "claims.toml"
    file.write_text(STATED.format(says=ROWS, verdict="cannot decide").replace('_f16"', '_f17"'))
    assert main(["claim", str(file)]) == 2
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("v_wmma_f32_16x16x16_f17") == 2, "once as what it is of, once as the reason"


@pytest.mark.usefixtures("wide")
def test_claims_and_their_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "A: frag[i] = A[i][lane % 16]"]) == 1
    text = capsys.readouterr().out
    assert "1240 everywhere" in text
    assert "v0.hi of lane 0: the claim says A[1][0]" in text
    assert main(["claim", "A: frag[i] = A[lane % 16][i]"]) == 0
    assert "only a measurement can confirm" in capsys.readouterr().out
    joint = ["A: frag[i] = A[lane % 16][i ^ 1]", "B: frag[i] = B[i ^ 1][lane % 16]"]
    assert main(["claim", *joint]) == 0
    assert "equal modulo gauge" in capsys.readouterr().out
    assert main(["claim", *joint, "--exact"]) == 1
    assert main(["claim", joint[0], "B: frag[i] = B[i ^ 2][lane % 16]"]) == 1
    assert main(["claim", "A: A[0][0]", "--instruction", "v_nothing"]) == 2
    assert main(["claim", "nonsense"]) == 2


def test_a_claim_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "A: frag[i] = A[i][lane % 16]", "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["claims"]
    assert found["verdict"] == "refuted"
    assert found["first"] == {
        "claim": 0, "matrix": "A", "slot": [0, 0, 0, 1], "claimed": "A[1][0]", "solved": "A[0][1]", "read": True,
    }  # fmt: skip
    assert found["effect"]["example_wrong"] == 256


@pytest.mark.usefixtures("wide")
def test_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", F16, F16]) == 0
    assert "the same layouts" in capsys.readouterr().out
    assert main(["diff", f"{F16}:32", f"{F16}:64"]) == 1
    text = capsys.readouterr().out
    assert "D          differs in 352 of 512 slots; first v1 of lane 0: D[2][0], and D[4][0]" in text
    assert "D[4*vgpr + lane / 16][lane % 16]" in text
    assert main(["diff", NARROW, f"{NARROW}/4", "--format", "json"]) == 1
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert {o["matrix"]: o["differing"] for o in pair["operands"]} == {"A": 0, "B": 0, "C": 512, "D": 512}
    assert main(["diff", F16, "nothing"]) == 2
    assert main(["diff", "nothing", "nothing"]) == 2


@pytest.mark.usefixtures("wide")
def test_targets_are_compared_with_what_differs_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ["v_mfma_f32_4x4x4_16b_f16", "v_mfma_f64_4x4x4_4b_f64"]
    has = {"gfx942": [*shared, "v_mfma_f32_16x16x8_xf32"], "gfx950": shared}
    monkeypatch.setattr("layoutprobe.instructions.names", lambda target: has[target])
    assert main(["diff", "gfx942", "gfx950"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "of 2 instructions that both have 0 differ; 1 are on one side only"
    assert lines[1] == "only on gfx942: v_mfma_f32_16x16x8_xf32"
    assert lines[2].endswith("have the same layouts, in A, B, C, D")


@pytest.mark.usefixtures("wide")
def test_an_instruction_of_several_products_says_which_lines_each_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # CDNA3 ISA guide, 7.1.1: block b of a 4x4x4_16b product is of rows 4*b to 4*b + 3 of A and columns as many of B.
    assert main(["layout", "v_mfma_f32_4x4x4_16b_f16", "--arch", "gfx942"]) == 0
    assert "blocks     16 products of 4 x 4: product b has the rows of A" in capsys.readouterr().out
    assert main(["layout", F16]) == 0
    assert "blocks" not in capsys.readouterr().out


def test_a_target_without_instructions_is_named_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", F16, "--arch", "gfx90a"]) == 2
    assert "gfx90a (CDNA2, MI200) is known by its registers and LDS alone" in capsys.readouterr().err


def test_layout_needs_no_rich_for_programs() -> None:
    """`--format csv` must not pay for the terminal library."""
    code = (
        "import sys; from layoutprobe.cli.main import main; "
        f"main(['layout', '{F16}', '--format', 'csv']); sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, "rich was imported" + done.stderr
