"""`check --watch`: again after each change of a file, whatever went wrong before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layoutprobe.cli.watch import rerun
from layoutprobe.errors import UsageError


class Work:
    """Does what it is told, one step each time, and is interrupted when there is nothing left."""

    def __init__(self, *steps: Callable[[], int]) -> None:
        self.steps = list(steps)
        self.done = 0

    def __call__(self) -> int:
        if not self.steps:
            raise KeyboardInterrupt
        self.done += 1
        return self.steps.pop(0)()


def rewriting(file: Path, text: str, code: int) -> Callable[[], int]:
    def step() -> int:
        file.write_text(text)
        return code

    return step


def raising() -> int:
    raise UsageError("it does not compile")


def test_a_change_while_the_work_goes_on_counts(tmp_path: Path) -> None:
    source = tmp_path / "kernel.hip"
    source.write_text("0")
    work = Work(rewriting(source, "more", 2), rewriting(source, "and more", 1))
    assert rerun(work, lambda: [source], 0.001) == 1
    assert work.done == 2


def test_a_file_that_appears_or_goes_is_a_change(tmp_path: Path) -> None:
    header = tmp_path / "tile.h"

    def gone() -> int:
        header.unlink()
        return 0

    work = Work(rewriting(header, "x", 0), gone)
    assert rerun(work, lambda: [header], 0.001) == 0
    assert work.done == 2


def test_files_that_only_the_work_makes_known_are_watched(tmp_path: Path) -> None:
    source, header = tmp_path / "kernel.hip", tmp_path / "tile.h"
    source.write_text("0")
    header.write_text("0")
    known = [source]

    def include() -> int:
        known.append(header)
        source.write_text("with a header")
        return 0

    work = Work(include, rewriting(header, "edited", 3))
    assert rerun(work, lambda: known, 0.001) == 3


def test_an_error_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "kernel.hip"
    source.write_text("0")

    def broken() -> int:
        source.write_text("itn")
        return raising()

    def files() -> Iterator[Path]:
        yield source
        raise UsageError("the manifest does not hold")

    work = Work(broken, rewriting(source, "int", 0))
    assert rerun(work, files, 0.001) == 0
    said = capsys.readouterr()
    assert "it does not compile" in said.err
    assert "files watched: 1" in said.err
    assert said.out.count("\n== ") == 2
    assert "\x1b" not in said.out, "no control characters in a pipe"
