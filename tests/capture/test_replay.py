"""What was recorded once answers the same questions again, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import layoutprobe
from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.backends.recorded import Recorder, Replay
from layoutprobe.backends.source import Live
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.capture.file import read_captures, write_captures
from layoutprobe.errors import UsageError
from layoutprobe.report.layout import LayoutReport

EMULATOR = EmulatorBackend()


class Card:
    """The emulator in a card's clothes: what it gives is called measured."""

    name = "card"

    def __init__(self) -> None:
        self.device = {"name": "Radeon 8060S", "driver": "6.4"}

    def run(self, launch: Launch) -> RunResult:
        result = EMULATOR.run(launch)
        nowhere = (None,) * len(result.buffers)
        return RunResult(result.buffers, nowhere, Evidence("measured", self.device["name"]))


ASKED: dict[str, Callable[..., LayoutReport]] = {
    "dump": lambda **how: layoutprobe.dump("B", "xor-vector", **how),
    "roundtrip": lambda **how: layoutprobe.roundtrip("padded", **how),
    "epilogue": lambda **how: layoutprobe.epilogue(**how),
}


@pytest.fixture(scope="module", params=ASKED)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, LayoutReport, Path]:
    recorder = Recorder(Live(Card()))
    first = ASKED[request.param](backend=recorder)
    path = tmp_path_factory.mktemp("recorded") / "card.cap"
    recorder.write(path)
    return request.param, first, path


def no_compiler(*args: Any, **kwargs: Any) -> None:
    raise AssertionError("a replay compiles nothing")


def test_a_replay_solves_the_same(
    recorded: tuple[str, LayoutReport, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, first, path = recorded
    monkeypatch.setattr("layoutprobe.toolchain.compile.compile_hip", no_compiler)
    again = ASKED[asked](backend=Replay.of(path))
    assert again.exit_code == first.exit_code == 0
    assert again.loaded == first.loaded
    assert again.needed == first.needed
    assert again.toolchain == first.toolchain
    digest = read_captures(path).digest
    assert {str(e) for e in first.evidence} == {"measured (Radeon 8060S)"}
    assert {str(e) for e in again.evidence} == {f"replayed (measured on Radeon 8060S, capture {digest[:12]})"}


def test_a_file_says_device_and_time(recorded: tuple[str, LayoutReport, Path]) -> None:
    for capture in read_captures(recorded[2]).captures:
        assert capture.device["name"] == "Radeon 8060S"
        assert capture.time.endswith("Z")
        assert capture.toolchain["code_object"]


def test_wrong_bits_in_a_capture_are_a_finding(
    recorded: tuple[str, LayoutReport, Path], tmp_path: Path
) -> None:
    """A replay is judged like a run: what a card stored in the wrong place is found."""
    asked, _, path = recorded
    swapped = []
    for capture in read_captures(path).captures:
        outputs = dict(capture.outputs)
        for name, lane_axis in (("b_regs", 2), ("readback", 2), ("C", 1)):
            if name in outputs:
                outputs[name] = np.roll(outputs[name], 1, axis=lane_axis)
        swapped.append(replace(capture, outputs=outputs))
    write_captures(tmp_path / "wrong.cap", swapped)
    again = ASKED[asked](backend=Replay.of(tmp_path / "wrong.cap"))
    assert again.exit_code == 1
    assert again.findings


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda **how: layoutprobe.dump("A", "padded", **how), "lds=padded"),
        (lambda **how: layoutprobe.dump("A", "none", pattern=["rowxorcol", "rowcol"], **how), "rowxorcol"),
    ],
)
def test_what_was_not_recorded_is_said(
    asked: Callable[..., LayoutReport], words: str, tmp_path: Path
) -> None:
    recorder = Recorder(Live(EMULATOR))
    layoutprobe.dump("A", "none", backend=recorder)
    recorder.write(tmp_path / "x.cap")
    with pytest.raises(UsageError, match="the capture file has no run") as caught:
        asked(backend=Replay.of(tmp_path / "x.cap"))
    assert words in str(caught.value.expected)
    assert "lds=none" in str(caught.value.observed)


def test_other_inputs_under_the_same_name_are_not_answered(tmp_path: Path) -> None:
    recorder = Recorder(Live(EMULATOR))
    layoutprobe.epilogue(backend=recorder)
    changed: list[Capture] = []
    for capture in recorder.captures:
        inputs = {name: array + np.uint32(1) for name, array in capture.inputs.items()}
        changed.append(replace(capture, inputs=inputs))
    write_captures(tmp_path / "x.cap", changed)
    with pytest.raises(UsageError, match="with these inputs"):
        layoutprobe.epilogue(backend=Replay.of(tmp_path / "x.cap"))


def test_nothing_captured_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing was captured"):
        Recorder(Live(EMULATOR)).write(tmp_path / "x.cap")
    assert not list(tmp_path.iterdir())
