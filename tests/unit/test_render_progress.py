"""The spinner: only on a terminal, only when it takes long, and gone afterwards."""

from __future__ import annotations

import io
import time

import pytest

from layoutprobe.render import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0)
    stream = io.StringIO()
    with progress.waiting("compiling", stream):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_a_short_wait_shows_nothing() -> None:
    stream = Terminal()
    with progress.waiting("compiling", stream):
        pass
    assert stream.getvalue() == ""


def fail_after_waiting(stream: Terminal) -> None:
    with progress.waiting("compiling", stream):
        for _ in range(500):
            if "compiling" in stream.getvalue():
                break
            time.sleep(0.01)
        raise ZeroDivisionError


def test_a_long_wait_is_told_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with pytest.raises(ZeroDivisionError):
        fail_after_waiting(stream)
    assert "compiling" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K"), "the line is wiped, whatever ended the wait"
