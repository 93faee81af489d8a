"""Compiles forms and the runtime for this machine, once, and loads them.

Shared libraries lie in the cache by a digest of all that they are made of. They need no libc and no linker
scripts: clang and ld.lld of the ziglang package make them in a fraction of a second.
"""

from __future__ import annotations

import ctypes
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache as remembered
from itertools import count
from pathlib import Path

from layoutprobe.engine.native.forms import Form
from layoutprobe.errors import ProbeError, ToolchainError
from layoutprobe.toolchain import cache, find, process

_FORMAT = "native 1"
_SOURCES = Path(__file__).parent / "c"
_UNITS = ("control.c", "memory.c", "buffer.c", "matrix.c", "lanes.c")
_FLAGS = ("-O2", "-fPIC", "-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-strict-aliasing",
          "-ffreestanding", "-g0", "-Wno-everything")  # fmt: skip
_LEVELS: Mapping[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "x86-64-v4": (
        frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "f16c"}),
        ("-march=x86-64-v4", "-mprefer-vector-width=512", "-mno-vzeroupper"),
    ),
    "x86-64-v3": (
        frozenset({"avx2", "fma", "f16c", "bmi2", "movbe"}),
        ("-march=x86-64-v3", "-mno-vzeroupper"),
    ),
}
"""Instruction sets of the host, best first: what the processor must have, and flags."""


class UnavailableError(ProbeError):
    """The native engine cannot be had here; the text says why."""


@remembered
def host() -> tuple[str, tuple[str, ...]]:
    """The best instruction set of this machine, and the flags for it.

    Raises:
        UnavailableError: the engine has not been brought to this machine.
    """
    machine, system = platform.machine().lower(), platform.system()
    if system != "Linux" or machine not in ("x86_64", "amd64"):
        raise UnavailableError(f"the native engine does not run on {system} {machine} yet")
    present = _processor_flags()
    for name, (needed, flags) in _LEVELS.items():
        if needed <= present:
            return name, flags
    raise UnavailableError("the native engine needs a processor with AVX2")


def examine() -> tuple[bool, str]:
    """Whether the native engine can be had here, and for which instruction set, or why not."""
    try:
        level, _ = host()
        zig = _compiler()
    except UnavailableError as reason:
        return False, reason.what
    return True, f"{level}, compiled by {zig}"


def _compiler() -> Path:
    zig = find.ziglang()
    if zig is None:
        raise UnavailableError(
            "the native engine needs the compiler of the package ziglang", hint=find.INSTALL
        )
    return zig


def _processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


@remembered
def _header() -> str:
    """What every library depends on: the sources of the runtime."""
    return "".join(p.read_text() for p in sorted(_SOURCES.iterdir()) if p.suffix in (".c", ".h"))


def runtime(lanes: int) -> ctypes.CDLL:
    """The runtime for waves of that many lanes.

    Raises:
        UnavailableError: there is no compiler, or it fails.
    """
    return _loaded(tuple((_SOURCES / unit).read_text() for unit in _UNITS), lanes)


def compiled_forms(forms: Iterable[Form], lanes: int) -> Mapping[str, int]:
    """Addresses of forms, by symbol.

    Raises:
        UnavailableError: there is no compiler, or it fails.
    """
    wanted = {form.symbol: form for form in forms}
    missing = [wanted[s] for s in sorted(wanted) if (s, lanes) not in _addresses]
    if missing:
        text = "\n".join(f"FORM({form.symbol}) {{\n  {form.text}\n  NEXT;\n}}" for form in missing)
        library = _loaded(('#include "numbers.h"\n#include "memory.h"\n' + text,), lanes)
        for form in missing:
            _addresses[form.symbol, lanes] = address_of(library, form.symbol)
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


@remembered
def _loaded(units: tuple[str, ...], lanes: int) -> ctypes.CDLL:
    level, flags = host()
    zig = _compiler()
    key = cache.key(_FORMAT, level, str(lanes), find.identity(zig), _header(), *_FLAGS, *units)
    raw = cache.load(key)
    if raw is None:
        raw = _compile(units, (*_FLAGS, *flags, f"-DLANES={lanes}"), str(zig))
        cache.store(key, raw)
    return _open(raw)


def _compile(units: Sequence[str], flags: Sequence[str], zig: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="layoutprobe-") as name:
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
