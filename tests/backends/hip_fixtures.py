"""A worker with the emulated HIP runtime, and a way to ask it things under a pretence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from layoutprobe.extras.hiphost.pretence import Pretence
from layoutprobe.extras.hiphost.server import Server
from layoutprobe.extras.hiphost.shim_build import install

WORKER = Path(__file__).with_name("hip_worker.py")


class Asked(Struct):
    """What a scenario gave.

    Attributes:
        value: its value, None if it failed.
        error: type and text of the ProbeError that it ended with.
        said: what the emulator said to the person at the terminal.
    """

    value: Any
    error: tuple[str, str]
    said: list[str]


class Worker(Struct):
    """Asks scenarios of hip_worker.py, each in a fresh process with a fresh device."""

    process: subprocess.Popen[str]
    target: str = "gfx1151"
    said: list[str] = field(default_factory=list)

    def ask(
        self,
        scenario: str,
        /,
        pretence: str | Pretence = "",
        environment: dict[str, str] | None = None,
        **arguments: Any,
    ) -> Asked:
        said: list[str] = []
        pretended = pretence if isinstance(pretence, Pretence) else Pretence.parse(pretence)
        with Server(self.target, say=said.append, pretence=pretended) as server:
            values = {**server.environment(), **(environment or {})}
            answer = self._exchange({"name": scenario, "environment": values, "arguments": arguments})
        assert "crash" not in answer, answer["crash"]
        kind, text = answer.get("error", ("", ""))
        return Asked(answer.get("value"), (kind, text), said)

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, "the worker has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def worker(folder: Path) -> Iterator[Worker]:
    """A worker that finds the emulated runtime in `folder`, where it is put."""
    install(folder)
    process = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
    )
    with process:
        try:
            yield Worker(process)
        finally:
            process.kill()
