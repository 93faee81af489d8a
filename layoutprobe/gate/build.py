"""From a manifest's kernel to a code object that fits its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.arch import Arch
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.members import member, with_arguments
from layoutprobe.codeobj.model import Argument as MetadataArgument
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import POINTER_BYTES
from layoutprobe.errors import UsageError
from layoutprobe.manifest.files import ASSEMBLY, read_code_object
from layoutprobe.manifest.model import Argument, KernelCase, Reference
from layoutprobe.numbers import element_type

if TYPE_CHECKING:
    from layoutprobe.toolchain.compile import HipOptions


class Built(Struct, frozen=True, eq=False):
    """A kernel ready to be launched.

    Attributes:
        code, kernel: the code object.
        arch: facts of its target; None where it cannot be emulated.
        toolchain: compiler, flags, digests.
        before: kernels that are launched before it, in order.
    """

    code: CodeObject
    kernel: Kernel
    arch: Arch | None
    toolchain: Mapping[str, str]
    before: tuple[Built, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the code object that are loaded."""
        return sum(len(one.data) for one in self.code.segments)


def build(case: KernelCase, target: str) -> Built:
    """Compile (through the cache) or load a kernel, and hold it against its declared arguments.

    Args:
        case: the kernel.
        target: what to compile for; ignored for a code object.

    Raises:
        UsageError: no such file or kernel, or arguments that differ from the manifest's.
        ToolchainError: it does not compile.
        CodeObjectError: the file is no code object.
    """
    data, toolchain = _bytes(case, target)
    built = _loaded(case, data, toolchain)
    match_arguments(case, built.kernel)
    before = []
    for one in case.before:
        alike = one.file == case.file and _options(one, target) == _options(case, target)
        before.append(_loaded(one, data, toolchain) if alike else compiled(one, target))
        match_arguments(one, before[-1].kernel)
    return replace(built, before=tuple(before))


def compiled(case: KernelCase, target: str) -> Built:
    """As `build`, for a kernel whose arguments are not declared yet, and alone."""
    return _loaded(case, *_bytes(case, target))


def _loaded(case: KernelCase, data: bytes, toolchain: Mapping[str, str]) -> Built:
    code = load(data)
    kernel = code.kernel(case.symbol or None)
    if any(argument.at is not None for argument in case.arguments):
        code, kernel = with_arguments(code, kernel, _with_members(case, kernel))
    return Built(code, kernel, arch.ARCHES.get(code.target), toolchain)


def _with_members(case: KernelCase, kernel: Kernel) -> list[MetadataArgument]:
    """The kernel's arguments, with the members that the manifest declares for structures by value.

    Raises:
        UsageError: members that lie over each other, or not in the structure.
    """
    declared, result = list(case.arguments), []
    for whole in kernel.explicit_args:
        end = 0
        if whole.kind != "by_value" or not declared or declared[0].at is None:
            result.append(whole)
            declared = declared[1:]
            continue
        while declared and declared[0].at is not None and (declared[0].at or not end):
            one = declared.pop(0)
            at = one.at or 0
            if not end <= at <= whole.size - size_of(one):
                raise UsageError(
                    f"argument {one.name} is no member of {whole.name or 'the structure'}",
                    where={"kernel": case.name},
                    expected=f"`at` from {end} to {whole.size - size_of(one)}, in the order of the members",
                    observed=f"at = {at}, {size_of(one)} bytes",
                )
            end = at + size_of(one)
            pointer = one.is_buffer or one.role == "null"
            result.append(member(one.name, at, size_of(one), whole, pointer=pointer))
    return result


def _bytes(case: KernelCase, target: str) -> tuple[bytes, Mapping[str, str]]:
    if case.code_object is not None:
        data, digest = read_code_object(case.code_object)
        return data, {"code_object": digest}
    from layoutprobe.toolchain.compile import assemble, compile_hip

    if case.file.suffix.lower() in ASSEMBLY:
        compiled = assemble(case.file, target=target, flags=case.flags)
    else:
        compiled = compile_hip(case.file, **_options(case, target))
    return compiled.data, compiled.toolchain


def _options(case: KernelCase, target: str) -> HipOptions:
    return {
        "target": target,
        "defines": case.defines,
        "include_dirs": case.include,
        "flags": case.flags,
    }


def precompiled(case: KernelCase, target: str, headers: Path, output: Path) -> tuple[str, ...]:
    """Flags with which a kernel takes the headers that it begins with as they are compiled here.

    Args:
        case, target: the kernel.
        headers: a file that includes them, and nothing else.
        output: where they go.

    Raises:
        ToolchainError: they do not compile by themselves.
    """
    from layoutprobe.toolchain.compile import precompiled as compile_headers

    return compile_headers(headers, output, **_options(case, target))


def files_of(case: KernelCase) -> list[Path]:
    """The files that a kernel is made of, as far as is known: what its compiler read last time, and its reference.

    Raises:
        UsageError, ToolchainError: there is no such source, or no compiler.
    """
    from layoutprobe.toolchain.compile import files_read

    found = []
    for one in (case, *case.before):
        found.append(one.file)
        if isinstance(one.contract, Reference):
            found.append(one.contract.path)
        if one.source is not None and one.file.suffix.lower() not in ASSEMBLY:
            for target in one.arches:
                found += files_read(one.file, **_options(one, target))
    return found


def match_arguments(case: KernelCase, kernel: Kernel) -> None:
    """The compiler's metadata must agree with the manifest in number, size and kind of arguments.

    Raises:
        UsageError: they differ; shows both lists.
    """
    found = kernel.explicit_args
    fits = len(found) == len(case.arguments) and all(
        _fits(a, m) for a, m in zip(case.arguments, found, strict=True)
    )
    if not fits:
        raise UsageError(
            "the manifest's arguments are not the kernel's",
            where={"kernel": case.name, "symbol": kernel.name},
            expected="as compiled: " + (", ".join(_compiled(a, i) for i, a in enumerate(found)) or "none"),
            observed="in the manifest: " + (", ".join(map(_declared, case.arguments)) or "none"),
            hint="`layoutprobe init CODE_OBJECT` writes the arguments of a code object",
        )


def size_of(argument: Argument) -> int:
    """Bytes that an argument takes in the kernarg segment."""
    if argument.role == "scalar":
        return element_type(argument.dtype).storage.itemsize
    return len(argument.raw) if argument.role == "bytes" else POINTER_BYTES


def _fits(argument: Argument, found: MetadataArgument) -> bool:
    pointer = argument.is_buffer or argument.role == "null"
    return size_of(argument) == found.size and (pointer or found.kind == "by_value")


def _compiled(argument: MetadataArgument, index: int) -> str:
    name = argument.name or f"argument {index}"
    kind = "pointer" if argument.kind == "global_buffer" else argument.kind.replace("_", " ")
    return f"{name}: {kind} of {argument.size} bytes"


def _declared(argument: Argument) -> str:
    return f"{argument.name}: {argument.role} {argument.dtype}".rstrip() + f", {size_of(argument)} bytes"
