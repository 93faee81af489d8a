"""What a mistyped command line is told: what is wrong, and the next step."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

from layoutprobe.cli.main import COMMANDS, EXAMPLES, main, named, parse
from layoutprobe.errors import UsageError
from layoutprobe.text import LONGEST_ECHO

F16 = "v_wmma_f32_16x16x16_f16"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 2
    told = capsys.readouterr()
    return " ".join((told.out + told.err).split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("layout v_mfma_f32_16x16x16_f16", "--arch gfx942"),
        ("dump --instruction v_mfma_f32_16x16x16_f16", "--arch gfx942"),
        ("claim 'A: f[i] = A[i][lane % 16]' --instruction v_wmma_f32_16x16x16_f17", f"did you mean {F16}?"),
        ("claim nothing.toml", "there is no file 'nothing.toml'"),
        ("claim foo", "neither a claim nor a file"),
        ("dump --backend emulatr", "replay FILE"),
        ("dump --backend emulatr", "did you mean emulator?"),
        (f"layout {F16} --slot D:v2.hi@19", "expected: no part: an element fills the VGPR"),
        (f"layout {F16} --slot D:v2.hi@19", "next: leave .hi out"),
        ("occupancy --vgprs 8 --workgroup 64 --lds 4000000000000000000000", "more than any target has"),
        ("dump --pattern row/(col-col)", "a divisor may be 0 for no row and col"),
    ],
)
def test_the_next_step_fits(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in said(capsys, *shlex.split(words))


def test_a_wave_is_never_given_no_registers(capsys: pytest.CaptureFixture[str]) -> None:
    """LLVM and the descriptor's encoding give at least one granule."""
    assert main(["occupancy", "--vgprs", "0"]) == 0
    assert "24 VGPRs are given to a wave" in capsys.readouterr().out


def test_a_file_that_is_no_file_of_claims_stays_unread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n" * 100)
    told = said(capsys, "claim", str(tmp_path / "passwd"))
    assert "root:" not in told
    assert "a suffix: .toml" in told


def test_a_sentence_that_cannot_be_read_names_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("A: A[lane % 16][2*vgpr + half]\nB: foo[i]\n")
    assert "where: file notes.txt, claim B: foo[i]" in said(capsys, "claim", str(tmp_path / "notes.txt"))


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "words",
    [
        ["dump", "--format", LONG],
        ["dump", "--pattern", "row" + " + row" * 3000],
        ["dump", "--pattern", f"{LONG}.toml"],
        ["dump", "--dtype", LONG],
        ["dump", "--carrier", LONG],
        ["dump", "--lds", LONG],
        ["dump", LONG],
        ["layout", LONG],
        ["layout", F16, "--arch", LONG],
        ["claim", LONG],
        ["claim", f"A: {LONG}[i]"],
        ["check", LONG],
        ["explain", LONG],
        ["init", LONG],
        ["diff", LONG, LONG],
        ["run", "--", LONG],
        ["occupancy", "--vgprs", LONG],
        ["capture", "-o", "x.cap", LONG],
        [LONG],
    ],
)
def test_input_is_repeated_in_bounds(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert max(map(len, told.splitlines())) < LONGEST_ECHO + 100
    assert "bug in layoutprobe" not in told


def test_a_line_end_in_a_name_adds_no_line_to_an_error() -> None:
    error = UsageError("wrong", where={"file": "a\n  expected: nothing\x1b[2J"})
    assert str(error).splitlines() == ["wrong", r"  where:    file a\n  expected: nothing\x1b[2J"]


def examples() -> list[str]:
    texts = [EXAMPLES, *(named(name).examples for name in COMMANDS)]
    return [line.strip() for text in texts for line in text.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize("line", examples())
def test_an_example_can_be_pasted_with_its_note(line: str) -> None:
    """The note is a comment of the shell; what stands in front of it is a command line."""
    program, *words = shlex.split(line.partition(" | ")[0], comments=True)
    assert program == "layoutprobe"
    assert parse(words).run is not None
    assert "  " not in line.partition(" # ")[0].rstrip()


def test_nested_brackets_stay_together_in_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "--help"]) == 0
    assert "[--element A[3][5]]" in capsys.readouterr().out


def test_closed_output_names_no_option_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    assert main(["list", "checks"]) == 2
    assert "--output" not in capsys.readouterr().err


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_columns_of_explain_are_aligned(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["explain", "memory"]) == 0
    rules = capsys.readouterr().out.partition("one of these rules:\n")[2].splitlines()
    named = [line for line in rules if line.startswith("memory/")]
    starts = {len(line) - len(line.partition(" ")[2].lstrip()) for line in named if " " in line}
    assert len(starts) <= 1, rules


def test_explain_knows_the_rule_of_a_whole_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF names it, and says to ask."""
    assert main(["explain", "kernel"]) == 0
    assert "each kernel of the manifest can be checked" in capsys.readouterr().out


class TestInit:
    """`init` refuses what cannot be, and says how to go on."""

    SOURCE = 'extern "C" __attribute__((global)) void k(float* out) { out[0] = 1; }\n'

    @pytest.fixture
    def source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "k.hip").write_text(self.SOURCE)
        return tmp_path / "k.hip"

    def test_an_unknown_target(self, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
        told = said(capsys, "init", str(source), "--arch", "gfx115")
        assert "unknown arch 'gfx115'" in told
        assert "compiler" not in told

    def test_a_folder_that_is_not_there(self, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "there is no such folder" in said(capsys, "init", str(source), "--include", "nodir")

    @pytest.mark.parametrize(
        ("output", "next_step"),
        [([], "`layoutprobe check`"), (["-o", "my k.toml"], "`layoutprobe check 'my k.toml'`")],
    )
    def test_the_next_command_names_the_manifest(
        self, source: Path, output: list[str], next_step: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["init", str(source), *output]) == 0
        assert next_step in capsys.readouterr().err
