"""The code object that a manifest is drafted from, and how it was built: for which target, with which flags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.brief import brief
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ToolchainError, UsageError, did_you_mean
from layoutprobe.manifest.files import ASSEMBLY, is_code_object, read_code_object

NOT_FOR = "does not compile for"
_MOST_TEXT = 1 << 22
"""Of assembly, in which a directive is looked for."""
_UNFIT = "needs target feature"
"""What clang says of an instruction that a target has not."""


class Built(Struct, frozen=True):
    """A code object.

    Attributes:
        code: the code object.
        target: what it is for.
        flags: of the compiler.
        refused: the default target, where the source does not compile for that.
    """

    code: CodeObject
    target: str
    flags: tuple[str, ...] = ()
    refused: str = ""

    __repr__ = brief


def build_for_draft(source: Path, include: Sequence[Path], target: str | None) -> Built:
    """Build a source; where no target is given, and the default has not the instructions that it names, for another.

    Raises:
        UsageError: no such file, or an option without effect.
        ToolchainError: it does not compile.
        CodeObjectError: it is no code object.
    """
    _refuse_idle(source, include, target)
    if not source.is_file():
        raise UsageError("there is no such file", where={"file": source})
    if is_code_object(source):
        code = load(read_code_object(source)[0])
        return Built(code, code.target)
    chosen = target or _stated(source) or arch.DEFAULT
    if source.suffix.lower() in ASSEMBLY:
        from layoutprobe.toolchain.compile import assemble

        return Built(load(assemble(source, target=chosen).data), chosen)
    try:
        return _compiled(source, include, chosen)
    except ToolchainError as refused:
        if target or _UNFIT not in (refused.observed or ""):
            raise
        for other in arch.OTHERS:
            try:
                return replace(_compiled(source, include, other), refused=chosen)
            except ToolchainError:
                continue
        tried = ", ".join(arch.OTHERS)
        refused.hint = f"--arch TARGET compiles for another target; for {tried} it does not compile either"
        raise


def _compiled(source: Path, include: Sequence[Path], target: str) -> Built:
    from layoutprobe.toolchain.compile import WAVE64, compile_hip, needs_wave64

    flags: tuple[str, ...] = ()
    try:
        compiled = compile_hip(source, target=target, include_dirs=include)
    except ToolchainError as refused:
        if not needs_wave64(refused.observed or ""):
            raise
        flags = (WAVE64,)
        compiled = compile_hip(source, target=target, include_dirs=include, flags=flags)
    return Built(load(compiled.data), target, flags)


def _refuse_idle(source: Path, include: Sequence[Path], target: str | None) -> None:
    """What says how to build has no effect on what is built."""
    built = source.is_file() and is_code_object(source)
    if include and (built or source.suffix.lower() in ASSEMBLY):
        what = "a code object is built already" if built else "assembly includes no headers"
        raise UsageError(f"directories of headers have no effect: {what}", where={"file": source})
    if target and built:
        raise UsageError("a target has no effect: a code object says its own", where={"file": source})
    if target and target not in arch.TARGETS:
        known = list(arch.TARGETS)
        raise UsageError(
            f"unknown arch {target[:40]!r}",
            expected="one of: " + ", ".join(known),
            hint=did_you_mean(target, known),
        )
    for folder in include:
        if not folder.is_dir():
            raise UsageError("there is no such folder of headers", where={"folder": folder})


def _stated(source: Path) -> str | None:
    """The target that assembly says it is for, where that is a known one."""
    if source.suffix.lower() not in ASSEMBLY or not source.is_file():
        return None
    from layoutprobe.toolchain.compile import stated_target

    with source.open(encoding="utf-8", errors="replace") as stream:
        found = stated_target(stream.read(_MOST_TEXT))
    return found if found in arch.TARGETS else None
