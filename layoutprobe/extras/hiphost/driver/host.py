"""The host's side of a build: the compiler, C library and C++ library that the ziglang package brings.

No compiler or header of the system is used, so that a build is the same everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from layoutprobe.codeobj.container import SHT_SYMTAB, read_container
from layoutprobe.errors import CodeObjectError, ToolchainError
from layoutprobe.extras.hiphost.shim_build import NAMES, library
from layoutprobe.files import writing
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.find import INSTALL, ziglang
from layoutprobe.toolchain.library import library_headers, machine_target

_CPP = ("_ZSt", "_ZNSt", "_ZNKSt", "_Zn", "_Zd", "_ZTV", "_ZTI", "_ZTS", "__cxa_", "__gxx_", "_Unwind_")
_NOT_CPP = ("__cxa_atexit", "__cxa_finalize")  # of the C library


class Host(Struct, frozen=True):
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
    return Host(zig, target, library_headers(zig, target))


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
