"""--output: the whole report or the old file, and never half of one."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_reports
import pytest
from cli.test_cli import stub

from layoutprobe.errors import UsageError
from layoutprobe.render.files import writing
from layoutprobe.render.layout import json_
from layoutprobe.render.layout.view import select


def test_the_report_goes_to_the_file_and_the_verdict_to_the_reader(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    done = stub("transposed", "dump", "--output", str(target))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"{target}: FINDING (emulated): 1920 of 2048 slots wrong, in waves 0-3\n"
    assert json.loads(target.read_text("utf-8"))["verdict"] == "finding"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.json", "{"),
        ("a.csv", "matrix,"),
        ("a.SVG", "<svg"),
        ("a.html", "<!doctype"),
        ("a.txt", "layoutprobe dump"),
    ],
)
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str, start: str) -> None:
    stub("right", "dump", "--output", str(tmp_path / name))
    assert (tmp_path / name).read_text("utf-8").startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name], "no temporary file is left"


def test_an_explicit_format_wins(tmp_path: Path) -> None:
    stub("right", "dump", "--output", str(tmp_path / "a.json"), "--format", "csv")
    assert (tmp_path / "a.json").read_text("utf-8").startswith("matrix,")


def test_a_table_in_a_file_has_no_escapes(tmp_path: Path) -> None:
    stub("transposed", "dump", "--output", str(tmp_path / "a.txt"), env={"FORCE_COLOR": ""})
    text = (tmp_path / "a.txt").read_text("utf-8")
    assert "\x1b" not in text
    assert "│" in text, "a file is UTF-8, whatever the locale is"


@pytest.mark.parametrize("bad", ["missing/a.json", "", "file/a.json"])
def test_a_file_that_cannot_be_written(tmp_path: Path, bad: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    done = stub("right", "dump", "--output", str(tmp_path / bad))
    assert done.returncode == 2
    assert "the report cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def interrupted(target: Path, then: Callable[[Any], None]) -> None:
    with writing(str(target)) as stream:
        stream.write("half")
        then(stream)


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(UsageError, match="no wave 99"):
        interrupted(target, lambda stream: json_.write(select(fake_reports.dump(), wave=99), stream))
    with pytest.raises(KeyboardInterrupt):
        interrupted(target, lambda stream: signal.raise_signal(signal.SIGINT))
    assert target.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    with writing(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text("utf-8") == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_gets_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with writing(str(tmp_path / "new.txt")) as stream:
            stream.write("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with writing(str(pipe)) as stream:
            stream.write("through")
        assert os.read(reading, 100) == b"through"
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
