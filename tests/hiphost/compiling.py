"""Compiles the host programs with the clang of the ziglang package; nothing of ROCm is needed."""

from __future__ import annotations

from pathlib import Path

from layoutprobe.extras.hiphost.shim_build import install
from layoutprobe.toolchain.compile import compile_hip
from layoutprobe.toolchain.find import ziglang
from layoutprobe.toolchain.process import run

PROGRAMS = Path(__file__).parent / "programs"
TARGET = "gfx1151"
HOST = "x86_64-linux-gnu.2.28"


def zig(*arguments: str) -> None:
    path = ziglang()
    assert path is not None, "the tests need the ziglang package"
    done = run((str(path), *arguments))
    assert done.returncode == 0, done.stderr


def build_c(source: str, folder: Path, *flags: str) -> Path:
    """A C program, linked to the library that stands for ROCm's."""
    library = _library(folder)
    program = folder / Path(source).stem
    zig("cc", "-target", HOST, "-O1", *flags, "-o", str(program), str(PROGRAMS / source), str(library))
    return program


def build_hip(source: str, folder: Path, bundle: bytes) -> Path:
    """The host side of a HIP source, with a bundle of device code inside."""
    fat, host, program = folder / "bundle", folder / "host.o", folder / Path(source).stem
    fat.write_bytes(bundle)
    zig(
        *("clang", "-x", "hip", "--cuda-host-only", "-nogpulib", "-nogpuinc", "-target", "x86_64-linux-gnu"),
        *("-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat), "-O1", "-c", str(PROGRAMS / source)),
        *("-fPIC", "-o", str(host)),
    )
    zig("cc", "-target", HOST, "-O1", "-o", str(program), str(host), str(_library(folder)))
    return program


def _library(folder: Path) -> Path:
    lib = folder / "lib"
    if not lib.exists():
        lib.mkdir()
        install(lib)
    return lib / "libamdhip64.so"


def device_code(source: str, target: str = TARGET) -> bytes:
    return compile_hip(PROGRAMS / source, target=target).data
