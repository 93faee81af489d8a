"""Runs one process of the toolchain within limits. Imported when there is something to run: the cache needs none."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import ceil
from pathlib import Path

from layoutprobe.errors import LateError, ToolchainError
from layoutprobe.toolchain import cache

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

TIMEOUT_SECONDS = 60.0
MEMORY_BYTES = 4 << 30
FILE_BYTES = 128 << 20
"""What one process of the toolchain may take and write, where the system can tell it (Linux)."""
FIRST_SECONDS = 600.0
"""For the first link of a host program: zig then builds its C library, once per machine."""
PRINTED_BYTES = 1 << 20
"""How much of what it prints is kept."""
LIMITS = (
    f"it may have met a limit: {MEMORY_BYTES >> 20} MiB of memory, {FILE_BYTES >> 20} MiB for a file, "
    f"{TIMEOUT_SECONDS:g} s"
)
"""What to say where a process died of no error of its own."""

_seconds = ContextVar[float | None]("seconds", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """While it lasts a tool may take so long, and no longer: for what is tried, and is not worth a minute (None)."""
    before = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(before)


_POSIX = os.name == "posix"
# Read by clang, and reasons why one source would compile differently on two machines.
_HIDDEN_INPUTS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS")


def run(
    command: Sequence[str], cwd: Path | None = None, *, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool of the toolchain to its end.

    Args:
        command: program and arguments.
        cwd: where to run it; None: here.
        seconds: that it may take; None: a minute, or what `within` says.

    Raises:
        ToolchainError: it cannot be started.
        LateError: it does not end in time.
    """
    most = seconds or _seconds.get() or TIMEOUT_SECONDS
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=with_zigs_folder({k: v for k, v in os.environ.items() if k not in _HIDDEN_INPUTS}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0 if _POSIX else None,
        )
    except (OSError, ValueError) as refused:
        raise ToolchainError(
            f"{command[0]} cannot be run", observed=str(refused), hint="name another compiler"
        ) from refused
    with process:
        try:
            _limit(process.pid, most)
            output, errors = _printed(process, most)
        except subprocess.TimeoutExpired as late:
            _end(process)
            raise LateError(
                f"{command[0]} did not end within {most:g} s",
                where={"command": " ".join(command)},
                hint="try the command by hand; the machine may be overloaded",
            ) from late
        except BaseException:  # Ctrl-C does not reach a process group of its own
            _end(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def with_zigs_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which zig knows where to keep its C library: without a home, as in a service or a container,
    it ends."""
    if any(environment.get(name) for name in _CACHES_OF_ZIG):
        return dict(environment)
    root = cache.directory() or Path(tempfile.gettempdir()) / "layoutprobe"
    return {**environment, _CACHES_OF_ZIG[0]: str(root / "zig")}


_CACHES_OF_ZIG = ("ZIG_GLOBAL_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
"""Each names a folder in which zig keeps what it builds once."""


def _printed(process: subprocess.Popen[bytes], seconds: float) -> tuple[str, str]:
    """The first of what a process prints to both of its streams, once it has ended.

    Raises:
        subprocess.TimeoutExpired: it does not end.
    """
    if not _POSIX:  # where pipes cannot be waited for
        both = process.communicate(timeout=seconds)
        return both[0].decode("utf-8", "replace"), both[1].decode("utf-8", "replace")
    end = time.monotonic() + seconds
    kept: dict[object, bytearray] = {}
    with selectors.DefaultSelector() as streams:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            kept[stream] = bytearray()
            streams.register(stream, selectors.EVENT_READ)
        while streams.get_map():
            ready = streams.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                kept[key.fileobj] += piece[: PRINTED_BYTES - len(kept[key.fileobj])]
                if not piece:
                    streams.unregister(key.fileobj)
    process.wait(max(0.0, end - time.monotonic()))
    output, errors = (bytes(raw).decode("utf-8", "replace") for raw in kept.values())
    return output, errors


def _limit(pid: int, seconds: float) -> None:
    """Bound what a process that has just begun, and those that it starts, may take."""
    if resource is None or not hasattr(resource, "prlimit"):
        return
    limits = {
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_CPU: ceil(seconds),
        resource.RLIMIT_CORE: 0,
    }
    for which, most in limits.items():
        with suppress(OSError, ValueError):  # it has ended already, or lives under a tighter limit
            hard = resource.prlimit(pid, which)[1]
            low = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, which, (low, low))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a tool and all that it started: a compiler driver leaves its work to other processes."""
    with suppress(OSError):
        if _POSIX:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
