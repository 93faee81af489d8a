"""Serves emulated devices to host programs, one to each, over a UNIX socket."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from layoutprobe import arch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.base import Dispatch
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.extras.hiphost.conduct import Conduct
from layoutprobe.extras.hiphost.pretence import Pretence
from layoutprobe.extras.hiphost.protocol import SOCKET
from layoutprobe.extras.hiphost.session import Session
from layoutprobe.extras.hiphost.shim_build import install

_PATIENCE = 5.0
"""Seconds that a session may take to notice that its program has ended."""


class Server:
    """A device for every host program that connects, while the `with` block lasts.

    Attributes:
        sessions: one per program, in the order in which they came.
    """

    def __init__(
        self,
        target: str,
        *,
        say: Callable[[str], None],
        pretence: Pretence | None = None,
        runner: Callable[[], Callable[[Dispatch], object]] | None = None,
        conduct: Conduct | None = None,
    ) -> None:
        """Make a server; it starts with the `with` block.

        Args:
            target: processor whose code the devices execute.
            say: prints what the emulator has to say to a person; called from any thread.
            pretence: what the devices pretend.
            runner: makes what executes the kernels of one program; an engine of the default kind, unless given.
            conduct: is told what the programs do with memory.

        Raises:
            UsageError: the emulator does not execute code for the target.
        """
        if not arch.find(target).emulated:
            raise UsageError(f"the emulator does not execute code for {target}")
        self.target = target
        self.sessions: list[Session] = []
        self._say = say
        self._pretence = pretence or Pretence()
        self._runner = runner or (lambda: make_engine().run)
        self._conduct = conduct
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Server:
        """Build the library if need be, and listen.

        Raises:
            ToolchainError: the library cannot be built here.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="layoutprobe-hip-")
        try:
            install(Path(self._folder.name))
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(os.path.join(self._folder.name, "socket"))
            self._socket.listen()
        except BaseException:
            self._folder.cleanup()
            raise
        self._listener = threading.Thread(target=self._accept, daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; programs that still run find that their device is gone."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._listener.join(_PATIENCE)
        self._socket.close()
        for session in self.sessions:
            session.stop.set()
            with suppress(OSError):
                session.connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_PATIENCE)
        self._folder.cleanup()

    def settle(self, seconds: float) -> None:
        """Wait until the devices of programs that have ended know of it."""
        for thread in self._threads:
            thread.join(seconds)

    def environment(self) -> Mapping[str, str]:
        """What a program's environment needs, added to our own."""
        folders = [self._folder.name, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {
            SOCKET: os.path.join(self._folder.name, "socket"),
            "LD_LIBRARY_PATH": ":".join(folders),
        }

    @property
    def faults(self) -> int:
        """Faults of kernels so far."""
        return sum(session.faults for session in self.sessions)

    @property
    def launches(self) -> int:
        """Kernels that ran so far."""
        return sum(session.launches for session in self.sessions)

    @property
    def refused(self) -> int:
        """Launches and code objects that were refused so far."""
        return sum(session.refused for session in self.sessions)

    @property
    def freed_twice(self) -> int:
        """How often memory was freed that was free."""
        return sum(session.device.freed_twice for session in self.sessions)

    @property
    def first_fault(self) -> ProbeError | None:
        """What broke a device first; None where nothing did."""
        return next((s.device.first_fault for s in self.sessions if s.device.first_fault), None)

    @property
    def name(self) -> str:
        """What runs the kernels, for a person."""
        return f"{EmulatorBackend().evidence.source} as {self.target}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            session = Session(
                connection, self.target, self._pretence, self._say, self._runner(), self._conduct
            )
            self.sessions.append(session)
            thread = threading.Thread(target=session.serve, daemon=True)
            self._threads.append(thread)
            thread.start()
