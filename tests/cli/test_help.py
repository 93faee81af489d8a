"""--help at any width: lines fit, and words stay whole."""

from __future__ import annotations

import re

import pytest

from layoutprobe.cli.main import COMMANDS, main

NAMES = ["", *COMMANDS]


def shown(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*filter(None, [name]), "--help"]) == 0
    return capsys.readouterr().out


def words(text: str) -> list[str]:
    """Without what marks that an example goes on, and its comment."""
    return [word for word in text.split() if word not in ("\\", "#")]


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("name", NAMES)
def test_help_fits_and_breaks_no_word(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(name, columns, capsys, monkeypatch)
    for line in text.splitlines():
        whole = re.findall(r"(?:'[^']*'|\[[^]]*\]|\S)+", line.removesuffix(" \\"))
        assert len(line) <= columns or len(whole) == 1, f"{line!r} is too long, and has places to break"
    assert words(text) == words(shown(name, 400, capsys, monkeypatch)), "all words, each of them whole"


def test_a_long_example_can_be_pasted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is broken goes on behind a backslash; what is quoted is not broken."""
    joined = shown("claim", 40, capsys, monkeypatch).replace(" \\\n", " ")
    lines = [" ".join(line.split()) for line in joined.splitlines()]
    assert "layoutprobe claim 'A: frag[i] = A[lane % 16][i ^ 1]' 'B: frag[i] = B[i ^ 1][lane % 16]'" in lines
    at = lines.index("layoutprobe claim 'D: ((16,2),8):((16,1),2)'")
    assert lines[at + 1].startswith("# CuTe:")


@pytest.mark.parametrize("columns", [40, 80])
def test_usage_of_a_mistake_fits_too(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["capture", "--nothing"]) == 2
    usage = capsys.readouterr().err.partition("layoutprobe capture: error")[0]
    assert usage.startswith("usage: layoutprobe capture")
    assert max(map(len, usage.splitlines())) <= columns
