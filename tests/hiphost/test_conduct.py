"""What a host program does wrong with memory is a finding; what is refused or never came is not green."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hiphost.compiling import build_c
from hiphost.running import Done, layoutprobe_run

BEYOND, UNDEFINED, LEAK = "host/copy-out-of-bounds", "host/undefined-copied", "host/leak"
FIRST, SECOND = "hipMalloc no. 1", "hipHostMalloc no. 2"
WRONG = {
    "to the device": (BEYOND, FIRST, "1 bytes too many"),
    "from the device": (BEYOND, FIRST, "1 bytes too many"),
    "between": (BEYOND, SECOND, "12 bytes too many"),
    "pinned": (BEYOND, SECOND, "72 bytes too many"),
    "fill": (BEYOND, FIRST, "128 bytes too many"),
    "part": (UNDEFINED, FIRST, "the first is byte 100 of 128, the last byte 127"),
    "fresh": (UNDEFINED, FIRST, "the first is byte 0 of 128, the last byte 63"),
    "kept": (LEAK, FIRST, "hipMalloc no. 1 (128 bytes), hipHostMalloc no. 2 (128 bytes)"),
}
"""What programs/conduct.c does -> the rule, the allocation, and what was seen."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_c("conduct.c", tmp_path_factory.mktemp("conduct"))


def findings(program: Path, name: str, folder: Path, *options: str) -> tuple[Done, list[dict[str, object]]]:
    report = folder / "found.json"
    done = layoutprobe_run(program, name, options=(*options, "--report", str(report)))
    kernels = json.loads(report.read_text())["kernels"]
    return done, [f for one in kernels for check in one["checks"] for f in check["findings"]]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", WRONG)
def test_each_has_its_rule_and_names_the_memory(program: Path, tmp_path: Path, name: str) -> None:
    done, (found,) = findings(program, name, tmp_path, "--check", "host,leaks")
    rule, buffer, observed = WRONG[name]
    place = found["place"]
    assert isinstance(place, dict)
    assert (found["rule"], place["buffer"], found["observed"]) == (rule, buffer, observed)
    assert done.returncode == 1


def test_what_is_right_or_nobody_asked_for_is_not_found(program: Path, tmp_path: Path) -> None:
    for name, options in (
        ("right", ("--check", "host,leaks")),
        ("written after all", ("--check", "host,leaks")),
        ("kept", ()),
        ("part", ("--check", "memory")),
    ):
        done, found = findings(program, name, tmp_path, *options)
        assert not found, (name, done.stderr)
        assert done.returncode == 2, "no kernel ran"


def test_chosen_kernels_and_launches_alone_are_checked(built: Path) -> None:
    sanitized = built / "sanitized"
    for options, count, code in (
        (("--kernel", "racy"), "384 show it", 1),
        (("--launch", "2"), "128 show it", 1),
        (("--launch", "2", "--launch", "3", "--kernel", "racy"), "256 show it", 1),
        (("--kernel", "right"), "no kernel or launch of those", 2),
        (("--launch", "4"), "no kernel or launch of those", 2),
    ):
        done = layoutprobe_run(sanitized, "racy", "again", options=("--check", "races", *options))
        assert count in done.stderr, (options, done.stderr)
        assert done.returncode == code


def test_a_baseline_lets_known_findings_pass_and_fails_when_they_are_gone(
    built: Path, tmp_path: Path
) -> None:
    known = str(tmp_path / "known.toml")
    sanitized = built / "sanitized"
    assert layoutprobe_run(sanitized, "racy", options=("--write-baseline", known)).returncode == 0
    assert layoutprobe_run(sanitized, "racy", options=("--baseline", known)).returncode == 0
    assert layoutprobe_run(sanitized, "meeting", options=("--baseline", known)).returncode == 1
    gone = layoutprobe_run(sanitized, "right", options=("--baseline", known))
    assert "racy" in gone.stderr
    assert gone.returncode == 2


def test_a_launch_that_takes_too_long_fails(built: Path) -> None:
    done = layoutprobe_run(built / "sanitized", "racy", options=("--budget", "0.000001"))
    assert "the launch did not end within 1e-06 seconds" in done.stderr
    assert "--budget SECONDS" in done.stderr
    assert "1 failed" in done.stderr
    assert done.returncode in (1, 2)
    assert layoutprobe_run(built / "sanitized", "right", options=("--budget", "60")).returncode == 0


def test_the_first_cause_is_repeated(built: Path) -> None:
    done = layoutprobe_run(built / "sanitized", "astray", "again")
    first = next(line for line in done.stderr.splitlines() if "first cause" in line)
    assert "global access of 4 bytes outside every allocation, in kernel" in first
    assert "sanitized.hip:" in first


def test_not_found_is_not_the_same_as_no_call(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nno-such-program-anywhere\n")
    script.chmod(0o755)
    done = layoutprobe_run(script)
    assert done.returncode == 127
    assert "was not found" in done.stderr
    assert "made no HIP call" not in done.stderr


def test_sigterm_leaves_nothing_behind(program: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "layoutprobe", "run", "--", str(program), "long"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as started:
        while not (children := _children(started.pid)):
            assert started.poll() is None
            time.sleep(0.02)
        assert list(tmp_path.glob("layoutprobe-hip-*")), tempfile.gettempdir()
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
    assert not any(Path(f"/proc/{child}/cmdline").exists() for child in children)


def _children(parent: int) -> list[int]:
    """Processes that one has started."""
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
