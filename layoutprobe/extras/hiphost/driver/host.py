"""The host's side of a build: the compiler, C library and C++ library that the ziglang package brings.

No compiler or header of the system is used, so that a build is the same everywhere.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from layoutprobe.codeobj.container import SHT_SYMTAB, read_container
from layoutprobe.errors import CodeObjectError, ToolchainError
from layoutprobe.extras.hiphost.shim_build import NAMES, library, machine_target
from layoutprobe.files import writing
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.find import INSTALL, identity, ziglang
from layoutprobe.toolchain.process import run

_CPP = ("_ZSt", "_ZNSt", "_ZNKSt", "_Zn", "_Zd", "_ZTV", "_ZTI", "_ZTS", "__cxa_", "__gxx_", "_Unwind_")
_NOT_CPP = ("__cxa_atexit", "__cxa_finalize")  # of the C library


@dataclass(frozen=True)
class Host:
    """What compiles for the host and links.

    Attributes:
        zig: the executable of the ziglang package.
        target: as zig names it, with the oldest C library that the programs run with.
        headers: options that name the headers of the C and C++ libraries, and what these want defined.
    """

    zig: Path
    target: str
    headers: tuple[str, ...]

    @property
    def clang(self) -> tuple[str, ...]:
        """The command that compiles HIP for the host."""
        return (str(self.zig), "clang", "-target", self.target.partition(".")[0])

    def command(self, language: str) -> tuple[str, ...]:
        """The command that compiles C, C++ or assembly, and links with that language's library."""
        return (str(self.zig), "c++" if language == "c++" else "cc", "-target", self.target)


def find_host() -> Host:
    """The compiler of this machine.

    Raises:
        ToolchainError: there is no ziglang, or it runs on another system than Linux.
    """
    zig, target = ziglang(), machine_target()
    if zig is None:
        raise ToolchainError("there is no compiler for the host's side", hint=INSTALL)
    return Host(zig, target, _headers(zig, target))


def _headers(zig: Path, target: str) -> tuple[str, ...]:
    """What zig tells its clang about headers when it compiles C++: its clang alone would find none."""
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


def runtime(scratch: Path) -> tuple[Path, tuple[str, ...]]:
    """The HIP runtime that a program is linked to, and options for it.

    It stays where the program can find it, so that a program started by itself says what to do; where the
    cache is off, it lies in the scratch folder, and the loader misses it.
    """
    data, root = library(), cache.directory()
    folder = scratch if root is None else root / f"runtime-{cache.key('runtime 1', data)[:16]}"
    path = folder / NAMES[0]
    if not path.is_file():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with writing(path, binary=True, what="the HIP runtime") as stream:
            stream.write(data)
    return path, () if root is None else (f"-Wl,-rpath,{os.path.abspath(folder)}",)


def needs_cpp(objects: Sequence[Path]) -> bool:
    """Whether objects, taken together, ask for the C++ library; a file that tells nothing may.

    That library is compiled when it is first needed, which takes a minute or more.
    """
    wanted: set[str] = set()
    have: set[str] = set()
    for path in objects:
        try:
            symbols = read_container(path.read_bytes()).symbols(SHT_SYMTAB)
        except (OSError, CodeObjectError):
            return True
        wanted.update(one.name for one in symbols if not one.defined)
        have.update(one.name for one in symbols if one.defined)
    return any(name.startswith(_CPP) for name in wanted - have - set(_NOT_CPP))
