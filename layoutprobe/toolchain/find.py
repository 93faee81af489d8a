"""Finds a clang that compiles for amdgcn, and the linker that goes with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import cache

ENVIRONMENT = "LAYOUTPROBE_CLANG"
INSTALL = "install one with: pip install ziglang"

_TRIPLE = "amdgcn-amd-amdhsa"
# Newest first. Older releases than 15 do not know the processors that this tool is for.
_PATH_NAMES = ("clang", "clang++", "amdclang", *(f"clang-{n}" for n in range(25, 14, -1)))


class Compiler(Struct, frozen=True):
    """A clang with the amdgcn target.

    Attributes:
        kind: how it was found: "named", "rocm", "path" or "ziglang".
        command: the command that acts as clang.
        version: first line of what it says about its version.
        linker: the command that acts as ld.lld; empty where there is none.
        processors: the processors it can compile for, as its -mcpu takes them.
    """

    kind: str
    command: tuple[str, ...]
    version: str
    linker: tuple[str, ...]
    processors: frozenset[str]

    def knows(self, target: str) -> bool:
        """Whether it can compile for a processor; features (":xnack-") do not count."""
        return target.split(":")[0] in self.processors


def find_compiler(named: str | None = None, *, target: str | None = None) -> Compiler:
    """The compiler to use: what the user names, else ROCm's, else one on PATH, else ziglang's.

    Args:
        named: path or name of a clang, or of a zig; default: environment LAYOUTPROBE_CLANG.
        target: a processor that it must know. Unnamed compilers that do not are passed over.

    Raises:
        ToolchainError: the named one is missing or lacks the target; or there is none, with the
            list of what was looked at.
    """
    named = named or os.environ.get(ENVIRONMENT) or None
    if cache.keeps():
        _found.clear()
    if (named, target) not in _found:
        _found[named, target] = _named(named, target) if named is not None else _best(target)
    return _found[named, target]


_found: dict[tuple[str | None, str | None], Compiler] = {}
"""What was asked for -> the compiler, while nothing is kept: hundreds of sources are compiled for a kernel then, and
to look through all folders takes a tenth of each compilation."""


def _best(target: str | None) -> Compiler:
    rejected = []
    for kind, path in candidates():
        compiler, problem = probe(kind, path, target)
        if compiler is not None:
            return compiler
        rejected.append(f"{path} ({problem})")
    raise ToolchainError(
        "no compiler for AMD GPUs was found" + (f" that knows {target}" if target else ""),
        where={"looked at": "; ".join(rejected) or "nothing: no clang in ROCm, on PATH or in ziglang"},
        expected=f"a clang with the amdgcn target in {rocm_root()}, on PATH, or in the ziglang package",
        hint=f"{INSTALL}; or name one with {ENVIRONMENT}",
    )


def _named(named: str, target: str | None) -> Compiler:
    path = which(os.path.expanduser(named))
    if path is None:
        raise ToolchainError(
            f"the compiler {named!r} does not exist",
            expected="the path of an executable, or its name on PATH",
            hint=f"correct the name (argument or {ENVIRONMENT}), or leave it out",
        )
    compiler, problem = probe("named", Path(path), target)
    if compiler is None:
        raise ToolchainError(
            f"the compiler {named!r} cannot compile for AMD GPUs",
            where={"file": path},
            expected=f"a clang with the amdgcn target{f' that knows {target}' if target else ''}",
            observed=problem,
            hint=f"name another one, or leave the name out; {INSTALL}",
        )
    return compiler


def which(name: str) -> str | None:
    """As shutil.which, whose module imports compressors that no compiler is found by."""
    folders = [""] if os.path.dirname(name) else os.get_exec_path()
    paths = (os.path.join(folder, name) for folder in folders)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def rocm_root() -> Path:
    """Where ROCm is, or would be."""
    return Path(os.environ.get("ROCM_PATH") or "/opt/rocm")


def candidates() -> Iterator[tuple[str, Path]]:
    """(kind, path) of every compiler that exists, best first; none of them has been run."""
    seen = set()
    for kind, path in _places():
        if path.is_file() and os.access(path, os.X_OK):
            resolved = path.resolve()
            if resolved not in seen:
                seen.add(resolved)
                yield kind, path


def _places() -> Iterator[tuple[str, Path]]:
    for folder in ("llvm/bin", "lib/llvm/bin"):
        for name in ("clang++", "clang"):
            yield "rocm", rocm_root() / folder / name
    for name in _PATH_NAMES:
        if found := which(name):
            yield "path", Path(found)
    if zig := ziglang():
        yield "ziglang", zig


def ziglang() -> Path | None:
    """The zig executable of the ziglang package, where that is installed."""
    from importlib.util import find_spec

    spec = find_spec("ziglang")  # finds it without importing it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("zig", "zig.exe"):
            if (path := Path(folder) / name).is_file():
                return path
    return None


def probe(kind: str, path: Path, target: str | None = None) -> tuple[Compiler | None, str]:
    """The compiler at a path, or None and the reason why it is of no use.

    It is called from other directories than this one, so its path is made absolute; links in it stay,
    as a driver goes by the name that it is called by.
    """
    path = Path(os.path.abspath(path))
    command = (str(path), "clang") if _is_zig(path) else (str(path),)
    try:
        version, processors = _capabilities(command, path)
    except ToolchainError as problem:
        return None, problem.observed or problem.what
    if not processors:
        return None, "has no amdgcn target"
    compiler = Compiler(kind, command, version, _linker(path), frozenset(processors))
    if target is not None and not compiler.knows(target):
        return None, f"{version} does not know {target}"
    return compiler, ""


def _is_zig(path: Path) -> bool:
    return path.name.removesuffix(".exe") == "zig"


def _capabilities(command: tuple[str, ...], path: Path) -> tuple[str, list[str]]:
    """Version and processors, asked once per file: the cache remembers by path, time and size."""
    entry = cache.key("compiler 1", *command, identity(path))
    if known := _remembered(entry):
        return known
    from layoutprobe.toolchain.process import run

    done = run((*command, f"--target={_TRIPLE}", "--print-supported-cpus"))
    text = done.stdout + done.stderr
    version = next((line.strip() for line in text.splitlines() if "clang version" in line), "")
    _, _, listed = text.partition("Available CPUs")
    processors = [line.strip() for line in listed.splitlines()[1:] if line.startswith("\t")]
    if version and done.returncode == 0:
        cache.store(entry, json.dumps([version, processors]).encode())
    return version, processors if done.returncode == 0 else []


def _remembered(entry: str) -> tuple[str, list[str]] | None:
    """What the cache has; whatever cannot be read counts as nothing."""
    try:
        version, processors = json.loads(cache.load(entry) or b"")
        return (str(version), [str(name) for name in processors])
    except (ValueError, TypeError):
        return None


def identity(path: Path) -> str:
    """Changes when the file behind a path does: resolved path, modification time, size."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path.resolve()} {status.st_mtime_ns} {status.st_size}"


def _linker(path: Path) -> tuple[str, ...]:
    """The ld.lld of the same release, else ziglang's, else any.

    An older lld refuses the ABI version that a newer clang writes, so PATH comes last.
    """
    if _is_zig(path):
        return (str(path), "ld.lld")
    for folder in (path.parent, path.resolve().parent):
        suffix = path.name[path.name.find("-") :] if "-" in path.name else ""
        for name in (f"ld.lld{suffix}", "ld.lld"):
            if os.access(folder / name, os.X_OK):
                return (str(folder / name),)
    if zig := ziglang():
        return (str(zig), "ld.lld")
    found = which("ld.lld")
    return (found,) if found else ()
