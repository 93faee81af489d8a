"""What of the outside world is here, and what its absence costs. Looks only; prints nothing."""

from __future__ import annotations

import ctypes.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from layoutprobe.arch.processors import of_kernel_driver
from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.find import Compiler, candidates, find_compiler, probe, rocm_root

NO_CARD = "kernels run in the emulator, and --backend hip on no AMD card"
KFD = Path("/sys/class/kfd/kfd/topology/nodes")


class Part(Struct, frozen=True):
    """One thing that layoutprobe can use.

    Attributes:
        name: what it is.
        found: whether it is usable here.
        detail: which one, or what is wrong.
        cost_if_missing: what cannot be done, or is slower, without it; and how to get it.
    """

    name: str
    found: bool
    detail: str
    cost_if_missing: str


def examine(topology: Path = KFD) -> list[Part]:
    """Everything outside of this package that a run may touch.

    Args:
        topology: where the kernel driver describes the devices.
    """
    return [*_compilers(), _runtime(), _devices(topology), _cache()]


def _compilers() -> Iterator[Part]:
    cost = "no probe runs, and no source is compiled; pip install ziglang"
    chosen = None
    try:
        chosen = find_compiler()
    except ToolchainError as problem:
        yield Part("compiler", False, str(problem), cost)
    else:
        yield Part("compiler", True, _describe(chosen), cost)
        linker = " ".join(chosen.linker) or f"none goes with {chosen.command[0]}"
        yield Part("linker", bool(chosen.linker), linker, cost)
    for kind, path in candidates():
        compiler, problem_text = probe(kind, path)
        if compiler and chosen and compiler.command == chosen.command:
            continue
        detail = _describe(compiler) if compiler else f"{path}: {problem_text}"
        yield Part("also there", compiler is not None, detail, "nothing, while another one is found")


def _describe(compiler: Compiler) -> str:
    return f"{compiler.version} ({compiler.kind}: {' '.join(compiler.command)})"


def _runtime() -> Part:
    folders = [
        rocm_root() / "lib",
        *map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))),
    ]
    library = next((str(p) for folder in folders for p in sorted(folder.glob("libamdhip64.so*"))), None)
    library = library or ctypes.util.find_library("amdhip64")
    return Part(
        "HIP runtime",
        library is not None,
        library or f"no libamdhip64 in {rocm_root() / 'lib'} or on the library path",
        NO_CARD,
    )


def _devices(topology: Path) -> Part:
    names = []
    for node in sorted(topology.glob("*/properties")):
        try:
            fields = dict(line.split(maxsplit=1) for line in node.read_text().splitlines() if " " in line)
            version = int(fields.get("gfx_target_version", "0"))
        except (OSError, ValueError):
            continue
        if version:  # CPUs have 0
            names.append(of_kernel_driver(version))
    return Part(
        "devices",
        bool(names),
        ", ".join(names) or f"no AMD GPU: nothing in {topology}",
        NO_CARD,
    )


def _cache() -> Part:
    cost = "every run compiles and decodes again, a fraction of a second each"
    root = cache.directory()
    if root is None:
        return Part("cache", False, f"switched off by {cache.ENVIRONMENT}=off", cost)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as problem:
        return Part("cache", False, str(problem), f"{cost}; name a writable folder with {cache.ENVIRONMENT}")
    return Part("cache", True, f"{root}, {cache.size() / 2**20:.1f} of {cache.MAX_BYTES >> 20} MiB", cost)
