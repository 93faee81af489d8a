"""Captures that are kept in a file, and asked there again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.backends.source import Request, Source
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.capture.file import CaptureFile, read_captures, write_captures
from layoutprobe.capture.identity import said, same_question
from layoutprobe.errors import UsageError


class Recorder(Struct, eq=False):
    """Passes requests on, and keeps the answers.

    Attributes:
        source: who answers; None until that is known.
        captures: all answers, in order, each with the time.
    """

    source: Source | None = None
    captures: list[Capture] = field(default_factory=list)

    __repr__ = brief

    def capture(self, request: Request) -> Capture:
        """The answer, which is kept."""
        assert self.source is not None, "a recorder is given a source before it is asked"
        answer = self.source.capture(request)
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.captures.append(replace(answer, time=answer.time or now))
        return answer

    def write(self, path: Path) -> str:
        """Write a capture file, once per request that was made; its digest.

        Raises:
            UsageError: nothing was captured, or the file cannot be written.
        """
        if not self.captures:
            raise UsageError("nothing was captured", where={"file": path})
        return write_captures(path, self.runs)

    @property
    def runs(self) -> tuple[Capture, ...]:
        """What a file holds: the last answer to each request, however often it was made."""
        asked = {same_question(one.probe, one.arch, one.parameters, one.inputs): one for one in self.captures}
        return tuple(asked.values())


class NotRecordedError(UsageError):
    """The capture file has no run that was fed the same."""


class Replay:
    """Answers requests out of a capture file.

    Attributes:
        file: what was read.
    """

    def __init__(self, file: CaptureFile) -> None:
        self.file = file
        self._captures = {
            same_question(one.probe, one.arch, one.parameters, one.inputs): one
            for one in reversed(file.captures)
        }

    @classmethod
    def of(cls, path: str | Path) -> Replay:
        """The replay of a file.

        Raises:
            UsageError: there is no whole capture file.
        """
        return cls(read_captures(Path(path)))

    def capture(self, request: Request) -> Capture:
        """The recorded run that was fed the very same.

        Raises:
            NotRecordedError: there is none in the file; says what is.
        """
        found = self._captures.get(
            same_question(request.probe, request.arch, request.parameters, request.inputs)
        )
        if found is not None:
            return found
        asked = said(request.probe, request.arch, request.parameters)
        recorded = dict.fromkeys(said(one.probe, one.arch, one.parameters) for one in self.file.captures)
        raise NotRecordedError(
            f"the capture file has no run of {asked} with these inputs",
            where={"file": self.file.path},
            expected=asked,
            observed="; ".join(list(recorded)[:8]) + ("; ..." if len(recorded) > 8 else ""),
            hint="ask as it was asked when it was recorded: `layoutprobe capture` says how",
        )
