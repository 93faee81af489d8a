"""Loads forms and the runtime for this machine; what no wheel has brought is compiled, once.

Shared libraries lie in the cache by a digest of all that they are made of. They need no libc and no linker
scripts: clang and ld.lld of the ziglang package make them in a fraction of a second. Wheels for a machine have
libraries of their own (see `shipped`), whose names hold a digest of what they were made from: where the sources here
are others, they count for nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache as remembered
from itertools import count
from pathlib import Path
from threading import Thread

from layoutprobe.engine.native.forms import Form
from layoutprobe.engine.native.hosts import Level, UnavailableError, host
from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import cache, find, process

_FORMAT = "native 1"
_LOCK = "native.lock"
_MOST_FORMS = 40
"""Of one file, so that the compiler ends in time on a busy machine. A kernel has 70 to 100."""
FORMS_BEGIN = '#include "numbers.h"\n#include "buffer.h"\n'
"""What a file of forms begins with."""
PREBUILT = Path(__file__).parent / "prebuilt"
"""Where wheels have their libraries; a checkout has none."""
_SOURCES = Path(__file__).parent / "c"
_UNITS = ("control.c", "scalar.c", "matrix.c", "lanes.c")
_FLAGS = ("-O2", "-fPIC", "-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-strict-aliasing",
          "-ffreestanding", "-g0", "-Wno-everything", "-Werror=implicit-function-declaration")  # fmt: skip


class NotYetError(UnavailableError):
    """What is needed is being compiled in the background."""


def examine() -> tuple[bool, str]:
    """Whether the native engine can be had here, for which instruction set and from where, or why not."""
    try:
        level = host()
    except UnavailableError as reason:
        return False, reason.what
    zig = find.ziglang()
    compiled = f"compiled by {zig}" if zig else "which only ziglang could compile"
    if prebuilt(32) and prebuilt(64):
        rare = compiled if zig else "left to numpy, as ziglang is missing"
        return True, f"{level.name}, from the wheel; rare instructions are {rare}"
    if others := sorted(path.name for path in PREBUILT.glob(f"{level.name}-*.so")):
        compiled += f"; {others[0]}, which came with the wheel, is not made of the sources here"
    return zig is not None, f"{level.name}, {compiled}"


def _compiler() -> Path:
    zig = find.ziglang()
    if zig is None:
        raise UnavailableError(
            "the native engine needs the compiler of the package ziglang", hint=find.INSTALL
        )
    return zig


@remembered
def _header() -> str:
    """What every library depends on: the sources of the runtime."""
    return "".join(p.read_text() for p in sorted(_SOURCES.iterdir()) if p.suffix in (".c", ".h"))


def flags_of(level: Level, lanes: int) -> tuple[str, ...]:
    """What the compiler is told for waves of that many lanes."""
    return (*_FLAGS, *level.flags, f"-DLANES={lanes}")


def name_of(level: Level, lanes: int) -> str:
    """The file of a wheel's library, by what it is made from: forms have their text in their names."""
    parts = (_FORMAT, FORMS_BEGIN, _header(), *flags_of(level, lanes))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{level.name}-{lanes}-{digest[:16]}.so"


@remembered
def prebuilt(lanes: int) -> ctypes.CDLL | None:
    """The runtime and forms that a wheel has brought for this machine; None where they are of other sources."""
    path = PREBUILT / name_of(host(), lanes)
    with suppress(OSError):  # not there, or damaged
        return ctypes.CDLL(str(path))
    return None


def runtime_units() -> tuple[str, ...]:
    """The runtime's files."""
    return tuple((_SOURCES / unit).read_text() for unit in _UNITS)


def form_units(forms: Sequence[Form]) -> tuple[str, ...]:
    """Files of forms."""
    texts = [form.function for form in forms]
    parts = (texts[n : n + _MOST_FORMS] for n in range(0, len(texts), _MOST_FORMS))
    return tuple(FORMS_BEGIN + "\n".join(part) for part in parts)


def runtime(lanes: int, *, wait: bool = True) -> ctypes.CDLL:
    """The runtime for waves of that many lanes.

    Args:
        lanes: 32 or 64.
        wait: what is not in the cache is compiled now; else in the background, and NotYetError says so.

    Raises:
        UnavailableError: there is no compiler, or it fails.
    """
    return prebuilt(lanes) or _library(runtime_units(), lanes, wait)


def compiled_forms(forms: Iterable[Form], lanes: int, *, wait: bool = True) -> Mapping[str, int]:
    """Addresses of forms, by symbol. Arguments and errors are those of `runtime`.

    What a kernel needs, and no wheel has brought, is one library, whatever other kernels have brought: so that the
    cache has it again when they come in another order. While nothing is kept it is what no kernel before has brought.
    """
    wanted = {form.symbol: form for form in forms}
    fresh = [symbol for symbol in sorted(wanted) if (symbol, lanes) not in _addresses]
    if fresh:
        brought = prebuilt(lanes)
        has = {symbol for symbol in wanted if brought is not None and hasattr(brought, symbol)}
        rest = sorted(wanted) if cache.keeps() else fresh
        needed = [wanted[symbol] for symbol in rest if symbol not in has]
        library = _library(form_units(needed), lanes, wait) if needed else None
        for symbol in fresh:
            source = brought if symbol in has else library
            assert source is not None
            _addresses[symbol, lanes] = address_of(source, symbol)
    return {symbol: _addresses[symbol, lanes] for symbol in wanted}


_addresses: dict[tuple[str, int], int] = {}


def address_of(library: ctypes.CDLL, symbol: str) -> int:
    """Where a function lies.

    Raises:
        KeyError: it has no such function.
    """
    try:
        return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
    except AttributeError as missing:
        raise KeyError(symbol) from missing


_Units = tuple[str, ...]
_jobs: dict[tuple[_Units, int], Future[bytes]] = {}
"""What is, or was, compiled in the background."""


def _library(units: _Units, lanes: int, wait: bool) -> ctypes.CDLL:
    if not wait:
        job = _jobs.get((units, lanes))
        if job is None and _kept(units, lanes) is None:
            job = _jobs[units, lanes] = _begun(units, lanes)
        if job is not None and not job.done():
            raise NotYetError("the native engine is being compiled")
    return _loaded(units, lanes)


@remembered
def _loaded(units: _Units, lanes: int) -> ctypes.CDLL:
    job = _jobs.get((units, lanes))
    return _open(job.result() if job else _kept(units, lanes) or _made(units, lanes))


def _begun(units: _Units, lanes: int) -> Future[bytes]:
    """A process that ends does not wait for it: then the next one begins anew."""
    job: Future[bytes] = Future()

    def work() -> None:
        try:
            job.set_result(_made(units, lanes))
        except Exception as problem:
            job.set_exception(problem)

    Thread(target=work, name="layoutprobe-compile", daemon=True).start()
    return job


def _key(units: _Units, lanes: int) -> str:
    flags = flags_of(host(), lanes)
    return cache.key(_FORMAT, find.identity(_compiler()), _header(), *flags, *units)


def _kept(units: _Units, lanes: int) -> bytes | None:
    return cache.load(_key(units, lanes))


def _made(units: _Units, lanes: int) -> bytes:
    with _one_at_a_time():
        raw = _kept(units, lanes)  # another process may have made it meanwhile
        if raw is None:
            raw = compiled(units, host(), lanes)
            cache.store(_key(units, lanes), raw)
    return raw


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Processes that share a cache wait for each other: they mostly need the same."""
    root = cache.directory()
    file = None
    with suppress(OSError):
        if root is not None:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = (root / _LOCK).open("wb")
    if file is None:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # closing the file lets go
        yield


def compiled(units: Sequence[str], level: Level, lanes: int) -> bytes:
    """A library for some processor.

    Raises:
        UnavailableError: there is no compiler, or it fails.
    """
    return _compile(units, flags_of(level, lanes), str(_compiler()))


def _compile(units: Sequence[str], flags: Sequence[str], zig: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="layoutprobe-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        objects = []
        for n, text in enumerate(units):
            (folder / f"{n}.c").write_text(text)
            _run((zig, "clang", "-c", *flags, "-I", str(_SOURCES), f"{n}.c", "-o", f"{n}.o"), folder)
            objects.append(f"{n}.o")
        _run((zig, "ld.lld", "-shared", "--gc-sections", *objects, "-o", "out.so"), folder)
        return (folder / "out.so").read_bytes()


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = process.run(command, folder)
    except ToolchainError as problem:
        raise UnavailableError(f"the native engine cannot be compiled: {problem}") from problem
    if done.returncode:
        raise UnavailableError("the native engine cannot be compiled", observed=done.stderr[:2000])


_opened = count(1)


def _open(raw: bytes) -> ctypes.CDLL:
    """Load a library that is no file: another process cannot change it meanwhile."""
    descriptor = os.memfd_create("layoutprobe-native")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(raw)
        # The loader knows libraries by their names, and descriptors are used again: so each gets a name of its own.
        return ctypes.CDLL(f"/proc/self/fd/{'./' * next(_opened)}{descriptor}")
    except OSError as problem:
        raise UnavailableError(f"the native engine cannot be loaded: {problem}") from problem
    finally:
        os.close(descriptor)
