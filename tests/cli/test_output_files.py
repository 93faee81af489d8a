"""--output: the whole report or the old file, and never half of one."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_reports
import pytest
from cli.test_cli import environment, stub

from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.files import writing
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
    stub("transposed", "dump", "--output", str(tmp_path / "a.txt"), FORCE_COLOR="")
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


F16 = "v_wmma_f32_16x16x16_f16"
WRITERS = {
    "dump": ["dump", "--format", "json", "--output"],
    "epilogue": ["epilogue", "--format", "csv", "--output"],
    "layout": ["layout", F16, "--format", "csv", "--output"],
    "claim": ["claim", "A: frag[i] = A[lane % 16][i]", "--format", "json", "--output"],
    "diff": ["diff", F16, F16, "--format", "json", "--output"],
    "occupancy": ["occupancy", "--vgprs", "96", "--format", "json", "--output"],
    "capture": ["capture", "epilogue", "-o"],
    "init": [
        "init",
        str(Path(__file__).parents[1] / "checks" / "kernels" / "gemm_direct.hip"),
        "--force",
        "--output",
    ],
}
"""Every command that can write a file, but for `check` and `fidelity`, whose files go the same way."""


def asked(command: str, output: Path) -> list[str]:
    words = WRITERS[command]
    # What follows the words of `capture` is the recorded command's.
    return ["capture", "-o", str(output), "epilogue"] if command == "capture" else [*words, str(output)]


@pytest.mark.parametrize("command", WRITERS)
def test_every_command_writes_into_a_pipe(command: str, tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 1 << 20)
    try:
        assert main(asked(command, pipe)) == 0
        through = os.read(reading, 1 << 20)
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode), "the pipe is still one"
    assert main(asked(command, file)) == 0
    if command != "capture":  # its runs bear the time
        assert through == file.read_bytes()
    assert through[:8] == file.read_bytes()[:8] != b""


@pytest.mark.parametrize("command", WRITERS)
def test_no_command_replaces_a_device(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk of our own: /dev/full was replaced by a file when `capture` ran as root."""
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        device.open("rb").close()
    except PermissionError:
        pytest.skip("only root makes devices")
    assert main(asked(command, device)) == 2
    assert stat.S_ISCHR(device.stat().st_mode), "the device is still one"
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("command", WRITERS)
def test_a_directory_is_refused_in_words(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(command, tmp_path)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot be written" in said.err
    assert "observed: a directory" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(UsageError, match="cannot be written"), writing("s") as stream:
            stream.write("x")
    assert stat.S_ISSOCK(Path("s").stat().st_mode)


def test_standard_output_by_its_name(tmp_path: Path) -> None:
    """In a pipe, where the name leads to no file; and appended to a log, which keeps its beginning."""
    command = f"{sys.executable} -m layoutprobe occupancy --vgprs 96 --format json --output"
    log = tmp_path / "log"
    log.write_text("before\n")
    for line in (f"{command} /dev/stdout | cat", f"{command} /dev/fd/1 | cat", f"{command} /proc/self/fd/1"):
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, env=environment(), timeout=60
        )
        assert json.loads(done.stdout)["waves"] == 16, done.stderr
    subprocess.run(["sh", "-c", f"{command} /dev/stdout >> {log}"], env=environment(), timeout=60, check=True)
    assert log.read_text().startswith("before\n{")


def test_what_cannot_be_written_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("layoutprobe.dump", run)
    assert main(["dump", "--output", str(tmp_path / "no" / "a.json")]) == 2
    assert main(["capture", "-o", str(tmp_path / "no" / "a.cap"), "dump"]) == 2
