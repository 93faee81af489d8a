"""A kernel whose structures by value are taken apart: their members are arguments, at the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from layoutprobe.codeobj.model import Argument, CodeObject, Kernel
from layoutprobe.codeobj.parameters import Parameter, Signature


def member(name: str, at: int, size: int, whole: Argument, *, pointer: bool) -> Argument:
    """An argument that is so many bytes behind the beginning of another."""
    return Argument(name, whole.offset + at, size, "global_buffer" if pointer else "by_value")


def with_arguments(
    code: CodeObject, kernel: Kernel, arguments: Sequence[Argument]
) -> tuple[CodeObject, Kernel]:
    """The same code, of a kernel with other explicit arguments."""
    other = replace(kernel, args=(*arguments, *(one for one in kernel.args if one.hidden)))
    return replace(code, kernels={**code.kernels, kernel.name: other}), other


def taken_apart(
    code: CodeObject, kernel: Kernel, signature: Signature
) -> tuple[CodeObject, Kernel, Signature, Mapping[int, int]]:
    """A kernel and its signature with members for structures, and the offset in its structure of each member."""
    given = kernel.explicit_args
    if len(given) != len(signature.parameters):
        return code, kernel, signature, {}
    arguments: list[Argument] = []
    parameters: list[Parameter] = []
    offsets: dict[int, int] = {}
    for whole, parameter in zip(given, signature.parameters, strict=True):
        if whole.kind != "by_value" or not parameter.members:
            arguments.append(whole)
            parameters.append(parameter)
            continue
        for at, one in parameter.members:
            offsets[len(arguments)] = at
            arguments.append(member(one.name, at, one.bytes, whole, pointer=one.pointer))
            parameters.append(one)
    if not offsets:
        return code, kernel, signature, {}
    return *with_arguments(code, kernel, arguments), Signature(signature.name, tuple(parameters)), offsets
