"""The C and C++ libraries' headers that the ziglang package brings: for host code, and sources that include them.

No header of the system is used, so that a build is the same everywhere.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from itertools import pairwise
from pathlib import Path

from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.find import identity

_MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_OLDEST_GLIBC = "2.28"


def machine_target() -> str:
    """This machine as zig names it, with the oldest C library that is asked for: x86_64-linux-gnu.2.28.

    Raises:
        ToolchainError: it is no Linux on a machine that the runtime is for.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise ToolchainError(
            "the emulated HIP runtime needs Linux on x86-64 or AArch64",
            observed=f"{sys.platform} on {platform.machine()}",
        )
    return f"{machine}-linux-gnu.{_OLDEST_GLIBC}"


def library_headers(zig: Path, target: str) -> tuple[str, ...]:
    """Options that name the headers, and what these want defined, as zig tells its clang when it compiles C++.

    Its clang alone would find none.

    Raises:
        ToolchainError: zig does not say.
    """
    from layoutprobe.toolchain.process import run

    entry = cache.key("host headers 2", identity(zig), target)
    known = cache.load(entry)
    if known is None:
        done = run(
            (str(zig), "c++", "-target", target, "-###", "-x", "c++", "-c", os.devnull, "-o", "none.o")
        )
        line = next((line for line in done.stderr.splitlines() if '"-cc1"' in line), "")
        words = shlex.split(line)
        pairs = pairwise(words)
        kept = [two for two in pairs if two[0] == "-isystem" or (two[0] == "-D" and two[1].startswith("_"))]
        if not kept:
            raise ToolchainError("zig does not say where its headers are", observed=done.stderr[:2000])
        # Zig names folders below the current directory from there.
        told = ((flag, os.path.abspath(value) if flag == "-isystem" else value) for flag, value in kept)
        known = json.dumps([word for two in told for word in two]).encode()
        cache.store(entry, known)
    return tuple(str(word) for word in json.loads(known))
