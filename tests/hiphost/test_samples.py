"""Programs in the manner of public samples, built with `layoutprobe hipcc`: right ones have no finding, and each
planted fault is found at its line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hiphost.running import hipcc, layoutprobe_run

from layoutprobe.engine.choice import ENVIRONMENT

SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.hip"))
_FAULT = re.compile(r"fault (\d+): ([\w/-]+)")


def faults() -> list[tuple[str, int, list[tuple[str, int]]]]:
    """Sample, number of the fault, the rules and the lines that it is found by: as the source itself says."""
    found: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for name in NAMES:
        for number, text in enumerate((SAMPLES / f"{name}.hip").read_text().splitlines(), 1):
            for fault, rule in _FAULT.findall(text):
                found.setdefault((name, int(fault)), []).append((rule, number))
    return [(*key, expected) for key, expected in found.items()]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_right_program_runs_and_has_no_finding(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    assert hipcc("-O2", str(SAMPLES / f"{name}.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program, options=("--check", "memory,init,races,barriers,waits,host,leaks"))
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stdout + done.stderr
    assert "finding" not in done.stderr.lower()


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_default_checks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where the sieve sees every launch first: what it has stopped runs again, over the same memory."""
    monkeypatch.setenv(ENVIRONMENT, "native")
    program = tmp_path / name
    assert hipcc("-O2", str(SAMPLES / f"{name}.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stdout + done.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "fault", "expected"), faults(), ids=lambda value: str(value)[:24])
def test_each_planted_fault_is_found_at_its_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fault: int,
    expected: list[tuple[str, int]],
) -> None:
    """By its rules, and by no other. The sieve sees every launch first."""
    monkeypatch.setenv(ENVIRONMENT, "native")
    program, report = tmp_path / name, tmp_path / "found.json"
    assert hipcc("-O2", f"-DFAULT={fault}", str(SAMPLES / f"{name}.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program, options=("--report", str(report)))
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = json.loads(report.read_text())["kernels"]
    found = [f for verdict in verdicts for check in verdict["checks"] for f in check["findings"]]
    causes = {one["rule"]: one["place"] for one in found if not one.get("follows")}
    assert causes.keys() == {rule for rule, _ in expected}, done.stderr
    for rule, line in expected:
        place = causes[rule]
        lines = {place.get("line"), *(site["line"] for site in place.get("inlined_at", ()))} - {None}
        assert any(abs(one - line) <= bool(place.get("near")) for one in lines), (rule, place)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        (1, 1, "bytes in memory that was freed"),
        (2, 2, "hipMalloc no. 2 was freed already"),
    ],
)
def test_memory_that_was_freed_has_a_name(tmp_path: Path, fault: int, code: int, says: str) -> None:
    """In a kernel, and where it is freed again, although the program looks at no status."""
    program = tmp_path / "streams"
    assert hipcc(f"-DFAULT={fault}", str(SAMPLES / "streams.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program)
    assert done.returncode == code
    assert says in done.stderr
    assert ("1 freed twice" in done.stderr) == (fault == 2)
    assert (done.stdout == "passed\n") == (fault == 2)
