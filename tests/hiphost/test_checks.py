"""`layoutprobe run` holds every launch against the laws that need no manifest: programs that "pass" do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hiphost.compiling import PROGRAMS
from hiphost.running import layoutprobe_run

from layoutprobe.engine.choice import ENVIRONMENT

SOURCE = (PROGRAMS / "sanitized.hip").read_text().splitlines()


def line(text: str) -> int:
    """The only line of sanitized.hip that holds a text."""
    (found,) = (number for number, content in enumerate(SOURCE, 1) if text in content)
    return found


def line_within(kernel: str, text: str) -> int:
    """The first line with a text behind the beginning of a kernel."""
    start = line(f"void {kernel}(")
    return next(n for n, content in enumerate(SOURCE[start:], start + 1) if text in content)


def findings(built: Path, tmp_path: Path, kernel: str, *options: str) -> list[dict[str, object]]:
    done = layoutprobe_run(
        built / "sanitized", kernel, options=(*options, "--report", str(tmp_path / "found.json"))
    )
    assert done.stdout == "passed\n"
    report = json.loads((tmp_path / "found.json").read_text())
    (verdict,) = report["kernels"]
    found: list[dict[str, object]] = [f for check in verdict["checks"] for f in check["findings"]]
    assert done.returncode == (1 if found else 0), done.stderr
    assert ("FINDING (emulated)" in done.stderr) == bool(found)
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kernel", "rule", "text"),
    [
        ("racy", "races/read-after-write", "out[lane()] = tile"),
        ("uninitialised", "lds-safety/undefined-read", "out[lane()] = tile"),
        ("astray", "memory/load-out-of-bounds", "out[lane()] = in"),
        ("meeting", "races/global-overwrite", "else out"),
        ("unmet", "races/divergent-barrier", "readfirstlane"),
        ("colliding", "races/lost-store", "two lanes"),
        ("leaders", "races/lost-store", "first lane of each wave"),
        ("losing", "races/lost-store", "four lanes"),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_each_fault_is_found_at_its_line(
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
    rule: str,
    text: str,
    engine: str,
) -> None:
    """With the sieve in front, too, which sees every launch of the native engine first."""
    monkeypatch.setenv(ENVIRONMENT, engine)
    (found,) = findings(built, tmp_path, kernel)
    assert found["rule"] == rule
    place = found["place"]
    assert isinstance(place, dict)
    lines = {place.get("line"), *(site["line"] for site in place.get("inlined_at", ()))}
    near = place.get("near", False)
    assert any(abs(one - line_within(kernel, text)) <= near for one in lines if one), place


def test_a_right_program_has_no_finding(built: Path, tmp_path: Path) -> None:
    everything = "memory,init,races,barriers,waits,wait-states,bank-conflicts"
    assert findings(built, tmp_path, "right", "--check", everything) == []


def test_lanes_that_agree_lose_nothing(built: Path, tmp_path: Path) -> None:
    assert findings(built, tmp_path, "agreeing") == []


def test_launches_of_a_kernel_are_one_verdict(built: Path) -> None:
    done = layoutprobe_run(built / "sanitized", "racy", "again", options=("--check", "races"))
    assert done.stderr.count("races/read-after-write") == 1
    assert "384 show it" in done.stderr, "three launches of 128"
    assert "3 kernel launches on layoutprobe emulator" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("options", [("--check", "memory"), ("--no-check",)])
def test_what_nobody_asked_for_is_not_found(built: Path, options: tuple[str, ...]) -> None:
    done = layoutprobe_run(built / "sanitized", "racy", options=options)
    assert (done.stdout, done.returncode) == ("passed\n", 0)
    assert "finding" not in done.stderr.lower()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--check", "race"), "did you mean races?"),
        (("--check", "numerics"), "with a manifest"),
        (("--report", "found.pdf"), "no suffix that names a format"),
        (("--no-check", "--report", "found.json"), "--report has no effect together with --no-check"),
        (("--no-check", "--check", "races"), "not allowed with argument"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(
    built: Path, options: tuple[str, ...], says: str
) -> None:
    done = layoutprobe_run(built / "sanitized", "right", options=options)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


def test_figures_that_are_asked_for_are_told_where_all_holds(built: Path) -> None:
    done = layoutprobe_run(
        built / "sanitized", "right", options=("--check", "races,resources,bank-conflicts")
    )
    assert done.returncode == 0, done.stderr
    resources = next(said for said in done.stderr.splitlines() if "✓ resources" in said)
    assert "VGPRs" in resources
    assert "LDS bytes" in resources
    assert "✓ bank-conflicts  conflict factor" in done.stderr
