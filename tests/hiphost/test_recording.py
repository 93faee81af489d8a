"""`layoutprobe run --save`: a launch of a program, as `layoutprobe inspect` shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hiphost.running import Done, hipcc, layoutprobe_run

from layoutprobe.cli.main import main

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recording")
    for name in ("scan", "life"):
        assert hipcc("-O2", str(SAMPLES / f"{name}.hip"), "-o", str(made / name)) == 0
    return made


def saved(folder: Path, program: str, *options: str) -> tuple[Done, Path]:
    file = folder / f"{program}.cap"
    file.unlink(missing_ok=True)
    return layoutprobe_run(folder / program, options=("--save", str(file), *options)), file


def asked(capsys: pytest.CaptureFixture[str], file: Path, *question: str) -> Any:
    capsys.readouterr()
    assert main(["inspect", str(file), *question, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_registers_hold_elements_of_the_programs_memory(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind the scan of a wave, each lane holds the sum of all elements up to its own: as a scan does."""
    done, file = saved(folder, "scan")
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
    rows = asked(capsys, file, "--registers", "v2", "--at", "store:0")["rows"]
    expected = ["from in[0]", *(f"from in[0-{lane}]" for lane in range(1, 32))]
    assert [row["holds"] for row in rows] == expected
    answer = asked(capsys, file, "--timeline")
    assert answer["evidence"][0]["recorded"] == "emulated"
    assert "launch=1" in answer["about"]["kernel"]


def test_the_launch_and_the_workgroup_that_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, file = saved(folder, "life", "--launch", "3", "--workgroup", "1,0", "--no-check")
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
    answer = asked(capsys, file, "--timeline")
    assert "launch=3" in answer["about"]["kernel"]
    assert {row["workgroup"] for row in answer["rows"]} == {"1,0,0"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--workgroup", "900"),
            "launch 1 has (1, 1, 1) workgroups, and no (900, 0, 0): nothing was recorded",
        ),
        (
            ("--launch", "7", "--no-check"),
            "none of the launches that --save asks for came: nothing was recorded",
        ),
    ],
)
def test_what_is_not_there_is_said_and_the_program_runs(
    folder: Path, options: tuple[str, ...], says: str
) -> None:
    done, file = saved(folder, "scan", *options)
    assert (done.returncode, done.stdout) == (2, "passed\n")
    assert says in done.stderr
    assert not file.exists()


def test_a_workgroup_without_a_recording_is_refused(folder: Path) -> None:
    done = layoutprobe_run(folder / "scan", options=("--workgroup", "1"))
    assert done.returncode == 2
    assert "--workgroup" in done.stderr
