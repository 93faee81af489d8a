"""Where <hip/...> comes from: ROCm's own headers where they are installed, else the project's.

The project's are in layoutprobe/include: device code that WMMA kernels need, without a C library
and without ROCm's device libraries.
"""

from __future__ import annotations

import re
from pathlib import Path

from layoutprobe.toolchain.find import Compiler

OWN = Path(__file__).resolve().parent.parent / "include"
"""The project's own headers."""
STAND_INS = OWN / "stand_ins"
"""Headers of what host code often includes beside kernels, PyTorch's and pybind11's: enough to parse it."""
STOOD_IN_FOR = ("-isystem", str(STAND_INS), f"-fdebug-prefix-map={STAND_INS}=stand-ins")
"""Flags that find them, behind the user's own headers."""

_LEVELS = 5  # of <root>/lib/llvm/bin/clang, the deepest that ROCm puts its compiler
_UNKNOWN_NAME = re.compile(
    r"error: (?:use of undeclared identifier|unknown type name|no template named|no type named|"
    r"no member named) '([^']+)'"
)
_STUB = re.compile(r"error: \"(layoutprobe's own HIP headers have no <[^>\n]+>): ([^\"\n]+)\"")
_UNKNOWN_FILE = re.compile(r"error: '([^']+)' file not found")
_AMD_FILE = re.compile(r"(hip|roc\w+|hip\w+|ck|ck_tile)/")


def rocm_include(compiler: Compiler) -> Path | None:
    """ROCm's include directory, where the compiler is installed together with HIP's headers."""
    executable = Path(compiler.command[0]).resolve()
    for folder in executable.parents[:_LEVELS]:
        if (folder / "include" / "hip" / "hip_runtime.h").is_file():
            return folder / "include"
    return None


def include_dirs(compiler: Compiler) -> tuple[Path, ...]:
    """Directories of the project's own headers that a compiler needs: none where it has ROCm's.

    They go behind the user's own. The compiler in the ziglang package does not look for the headers
    that every clang brings (<stddef.h>, <stdint.h>), so they are named for it.
    """
    if rocm_include(compiler) is not None:
        return ()
    executable = Path(compiler.command[0])
    builtin = executable.parent / "lib" / "include"
    if executable.name.removesuffix(".exe") == "zig" and (builtin / "stddef.h").is_file():
        return (OWN, builtin)
    return (OWN,)


def needs_rocm(diagnostics: str) -> bool:
    """Whether a compilation without ROCm's headers failed for want of one of them."""
    named = _UNKNOWN_FILE.search(diagnostics)
    return named is not None and _AMD_FILE.match(named[1]) is not None


def missing(diagnostics: str) -> tuple[str, str] | None:
    """Which header the project has only to say that it lacks it, and what to do; None where none was included.

    All that clang says behind it follows from it.
    """
    said = _STUB.search(diagnostics)
    return None if said is None else (said[1], said[2])


def lacks_file(diagnostics: str) -> bool:
    """Whether a compilation failed for want of a header."""
    return _UNKNOWN_FILE.search(diagnostics) is not None


def explain(diagnostics: str) -> str:
    """What to do about a name or file that the project's own headers do not have; "" where none is.

    Args:
        diagnostics: what clang wrote.
    """
    if named := _UNKNOWN_FILE.search(diagnostics):
        if _AMD_FILE.match(named[1]):
            have = ", ".join(f"<hip/{p.name}>" for p in sorted((OWN / "hip").glob("hip_*.h")) if _usable(p))
            return (
                f"layoutprobe's own headers have no <{named[1]}>; they have {have}. "
                "Install ROCm, or give the directory of that header as an include path"
            )
        return (
            f"{named[1]!r} is in none of the include directories: add its directory; or, if it is for "
            "the host alone, guard the include with #ifndef __HIP_DEVICE_COMPILE__"
        )
    names = list(dict.fromkeys(_UNKNOWN_NAME.findall(diagnostics)))
    if not names:
        return ""
    return (
        f"unknown here: {', '.join(names[:8])}. If HIP has it: layoutprobe's own headers are smaller than "
        "ROCm's; install ROCm, or declare it in your source (also check that <hip/hip_runtime.h>, "
        "<hip/hip_fp16.h> or <hip/hip_bf16.h> is included)"
    )


def _usable(header: Path) -> bool:
    return not header.read_text("utf-8").startswith("#error")
