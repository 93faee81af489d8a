"""docs/tr8.md shows what its commands print."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from layoutprobe.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCKS = [
    block.split("\n", 1)
    for block in (ROOT / "docs" / "tr8.md").read_text("utf-8").split("```\n")[1::2]
    if block.startswith("$ layoutprobe ")
]


def test_every_step_is_one_command() -> None:
    names = [shlex.split(command)[2] for command, _ in BLOCKS]
    assert names == ["check", "layout", "inspect", "solve-swizzle", "pack", "inspect", "inspect", "inspect"]


@pytest.mark.long
@pytest.mark.parametrize(("command", "printed"), BLOCKS, ids=[shlex.split(c)[2] for c, _ in BLOCKS])
def test_the_page_shows_what_is_printed(
    command: str, printed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    main(shlex.split(command)[2:])
    assert capsys.readouterr().out == printed
