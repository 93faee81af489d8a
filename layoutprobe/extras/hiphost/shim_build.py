"""Builds libamdhip64.so out of shim/*.c with the C compiler of the ziglang package, once per version."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from layoutprobe.errors import ToolchainError
from layoutprobe.extras.hiphost.interface import SOURCES, refusing
from layoutprobe.extras.hiphost.protocol import header
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.find import INSTALL, identity, ziglang
from layoutprobe.toolchain.library import machine_target
from layoutprobe.toolchain.process import FIRST_SECONDS, run

NAMES = ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7")
"""By these names programs ask for the library: each major version of HIP has its own."""

RTC_NAMES = ("libhiprtc.so", "libhiprtc.so.5", "libhiprtc.so.6", "libhiprtc.so.7")
"""hipRTC's functions are in the same library, as in ROCm's since 6.0; older programs ask for a library of its own."""

_VERSIONS = (
    *(f"hip_4.{n}" for n in range(2, 6)),
    *(f"hip_5.{n}" for n in range(7)),
    *(f"hip_6.{n}" for n in range(5)),
    *(f"hip_7.{n}" for n in range(16)),
)
"""Symbol versions of AMD's library that programs may ask for. The shim defines them and gives them to no
symbol: the loader then takes a symbol for any version of it."""

_FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden")


def install(folder: Path) -> None:
    """Put the library into a folder, by all of its names.

    Raises:
        ToolchainError: this is no Linux, there is no ziglang, or it refuses the sources.
    """
    (folder / NAMES[0]).write_bytes(library())
    for name in (*NAMES[1:], *RTC_NAMES):
        os.symlink(NAMES[0], folder / name)


def library() -> bytes:
    """The shared object, from the cache if it was built before."""
    target, zig = machine_target(), ziglang()
    if zig is None:
        raise ToolchainError("there is no C compiler for the HIP library", hint=INSTALL)
    sources = sorted(SOURCES.glob("*.[ch]"))
    texts = [part for path in sources for part in (path.name, path.read_bytes())]
    entry = cache.key("hip shim 1", identity(zig), target, *_FLAGS, *_VERSIONS, header(), refusing(), *texts)
    built = cache.load(entry)
    if built is None:
        built = _build(zig, target, [path for path in sources if path.suffix == ".c"])
        cache.store(entry, built)
    return built


def _build(zig: Path, target: str, sources: list[Path]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="layoutprobe-") as name:
        folder = Path(name)
        (folder / "ops.h").write_text(header())
        (folder / "missing.c").write_text(refusing())
        (folder / "versions").write_text("".join(f"{version} {{ }};\n" for version in _VERSIONS))
        command = (
            *(str(zig), "cc", "-target", target, *_FLAGS),
            *(
                f"-I{folder}",
                f"-I{SOURCES}",
                "-o",
                str(folder / "library.so"),
                *map(str, sources),
                str(folder / "missing.c"),
                "-lpthread",
            ),
            *(f"-Wl,-soname,{NAMES[0]}", f"-Wl,--version-script={folder / 'versions'}"),
        )
        done = run(command, seconds=FIRST_SECONDS)
        if done.returncode:
            raise ToolchainError(
                "the emulated HIP runtime cannot be built",
                where={"compiler": zig},
                observed="\n" + (done.stderr or done.stdout)[:20_000],
            )
        return (folder / "library.so").read_bytes()
