"""CUDA C++ -> cubin, by NVRTC or nvcc, through the cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.extras.nvidia.names import is_cuda
from layoutprobe.toolchain import cache
from layoutprobe.toolchain.compile import made_by
from layoutprobe.toolchain.process import run

_FLAGS = ("-std=c++17", "-lineinfo")
_MAX_LOG = 20_000
_ROOM = "cuda 1"
INSTALL = "install it with: pip install 'layoutprobe[cuda]'"


def compile_cuda(
    source: Path,
    *,
    target: str,
    defines: Mapping[str, str | int] | None = None,
    include_dirs: Sequence[Path] = (),
    compiler: str | None = None,
) -> tuple[CodeObject, Mapping[str, str]]:
    """Compile a probe in CUDA C++ for one card; see `toolchain.languages.Build`.

    Of the code object only the bytes are known: nobody but the driver reads a cubin. Headers of CUDA's are
    not searched.

    Args:
        source: the file.
        target: "sm_90".
        defines: macro -> value.
        include_dirs: searched for headers, in this order.
        compiler: not asked; NVIDIA's is the one that is found.

    Raises:
        UsageError: there is no such file, or `target` is no card's.
        ToolchainError: there is neither NVRTC nor nvcc, or it refuses the source.
    """
    if not is_cuda(target):
        raise UsageError(f"{target!r:.40} is no target of CUDA's", expected="sm_ and a number: sm_90")
    try:
        text = source.read_bytes()
    except OSError as error:
        raise UsageError("the source cannot be read", where={"file": source}, observed=str(error)) from error
    shown = [*_FLAGS, *(f"-D{name}={value}" for name, value in (defines or {}).items())]
    found = _nvrtc() or _nvcc()
    if found is None:
        raise ToolchainError("no CUDA compiler here", expected="NVRTC, or nvcc on PATH", hint=INSTALL)
    headers = [path.read_bytes() for folder in include_dirs for path in sorted(Path(folder).rglob("*.h"))]
    entry = cache.key(_ROOM, text, target, found.version, *shown, *headers)
    data = cache.load(entry)
    if data is None:
        data = found.compile(source, target, shown, include_dirs)
        cache.store(entry, data)
    toolchain = made_by(found.version, found.kind, target, shown, text, data)
    return CodeObject(toolchain["code_object"], target, {}, (), image=data), toolchain


class _Nvrtc(Struct, frozen=True):
    library: Any
    version: str
    kind: str = "nvrtc"

    def compile(self, source: Path, target: str, flags: Sequence[str], include: Sequence[Path]) -> bytes:
        nvrtc = self.library
        folders = (source.parent, *include)
        options = [*flags, f"-arch={target}", "-default-device", *(f"-I{folder}" for folder in folders)]
        encoded = [option.encode() for option in options]
        program = _checked(
            nvrtc, nvrtc.nvrtcCreateProgram(source.read_bytes(), source.name.encode(), 0, [], [])
        )
        try:
            (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                log = bytes(_checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
                nvrtc.nvrtcGetProgramLog(program, log)
                _refused(source, target, log.rstrip(b"\0").decode("utf-8", "replace"))
            data = bytes(_checked(nvrtc, nvrtc.nvrtcGetCUBINSize(program)))
            nvrtc.nvrtcGetCUBIN(program, data)
            return data
        finally:
            nvrtc.nvrtcDestroyProgram(program)


class _Nvcc(Struct, frozen=True):
    command: str
    version: str
    kind: str = "nvcc"

    def compile(self, source: Path, target: str, flags: Sequence[str], include: Sequence[Path]) -> bytes:
        with tempfile.TemporaryDirectory(prefix="layoutprobe-") as folder:
            out = Path(folder) / "probe.cubin"
            folders = [f"-I{one}" for one in include]
            done = run(
                [self.command, "-cubin", f"-arch={target}", *flags, *folders, "-o", str(out), str(source)]
            )
            if done.returncode:
                _refused(source, target, done.stderr)
            return out.read_bytes()


def _refused(source: Path, target: str, log: str) -> None:
    raise ToolchainError(
        f"the compiler refuses {source.name} for {target}\n{log[:_MAX_LOG].rstrip()}", where={"file": source}
    )


def _nvrtc() -> _Nvrtc | None:
    try:
        from cuda.bindings import nvrtc

        major, minor = _checked(nvrtc, nvrtc.nvrtcVersion(), keep=2)
    except (ImportError, RuntimeError, OSError):
        return None
    return _Nvrtc(nvrtc, f"NVRTC {major}.{minor}")


def _nvcc() -> _Nvcc | None:
    command = shutil.which("nvcc")
    if command is None:
        return None
    lines = [line for line in run([command, "--version"]).stdout.splitlines() if "release" in line]
    return _Nvcc(command, f"nvcc {lines[0].strip() if lines else 'of no known release'}")


def _checked(nvrtc: Any, answer: tuple[Any, ...], keep: int = 1) -> Any:
    """The values behind a call's status."""
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise ToolchainError("NVRTC failed", observed=str(status))
    return values[0] if keep == 1 else values
