"""The NT_AMDGPU_METADATA note: what the compiler says about target, kernels and arguments.

Source: LLVM AMDGPUUsage, "Code Object V3 Metadata" to "V5".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct, msgpack

from layoutprobe.codeobj.container import PT_NOTE, Container
from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.codeobj.model import Argument, KernelMetadata
from layoutprobe.errors import CodeObjectError

_NOTE_NAME, _NT_AMDGPU_METADATA = b"AMDGPU\0", 32
_MAX_NOTE = 16 << 20
MAX_KERNARG = 1 << 20
_VERSION = 1
# "amdgcn-amd-amdhsa--NAME" or "amdgcn-amd-amdhsa-unknown-NAME", with features ":xnack-:sramecc+".
# LLVM 24, which Triton 3.9 carries, names the architecture by its version: "amdgpu11.51-amd-...".
_TARGET = re.compile(r"amdg(?:cn|pu[0-9.]*)-[a-z]*-amdhsa-[a-z]*-([A-Za-z0-9_-]+)(?::[a-z0-9]+[+-])*")


_FORMAT = re.compile(r"0:0:([0-9a-f]{1,16}),(.*)", re.DOTALL)


class _Fields:
    """A map of the metadata whose values are checked as they are read."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise CodeObjectError(
                "malformed metadata", where={"in": where}, expected="a map", observed=_kind(value)
            )
        self._map: Mapping[Any, Any] = value
        self._where = where

    def error(self, key: str, expected: str, observed: str) -> CodeObjectError:
        return CodeObjectError(
            "malformed metadata", where={"in": self._where, "key": key}, expected=expected, observed=observed
        )

    def text(self, key: str, default: str | None = None) -> str:
        value = self._map.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, "a string", _kind(value))
        return value

    def integer(self, key: str, default: int | None = None, maximum: int = 0xFFFF_FFFF) -> int:
        value = self._map.get(key, default)
        if not isinstance(value, int) or not 0 <= value <= maximum:
            raise self.error(key, f"an integer from 0 to {maximum}", _kind(value))
        return value

    def items(self, key: str) -> list[Any]:
        value = self._map.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, "an array", _kind(value))
        return value


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return repr(value) if isinstance(value, int) else type(value).__name__


class Metadata(Struct, frozen=True):
    """What the note says.

    Attributes:
        target: processor name; None where the metadata names none.
        kernels: in the note's order.
        formats: of printf, by the number that a kernel stores for one.
    """

    target: str | None
    kernels: tuple[KernelMetadata, ...]
    formats: Mapping[int, str]


def read_metadata(container: Container) -> Metadata:
    """What the metadata note says.

    Raises:
        CodeObjectError: there is no metadata note, or it is malformed.
    """
    root = _Fields(_unpack(_find_note(container)), "the metadata note")
    version = root.items("amdhsa.version")
    if version[:1] != [_VERSION]:
        raise root.error("amdhsa.version", f"[{_VERSION}, minor]", repr(version[:4]))
    target = None
    if full := root.text("amdhsa.target", ""):
        match = _TARGET.fullmatch(full)
        if match is None:
            raise root.error("amdhsa.target", "amdgcn-amd-amdhsa--NAME", repr(full[:80]))
        target = match[1]
    kernels = tuple(_kernel(value, i) for i, value in enumerate(root.items("amdhsa.kernels")))
    return Metadata(target, kernels, dict(filter(None, map(_format, root.items("amdhsa.printf")))))


def _format(value: object) -> tuple[int, str] | None:
    """Number and text of a format, from "0:0:HASH,TEXT"; None for one of OpenCL, which is counted otherwise."""
    match = _FORMAT.fullmatch(value) if isinstance(value, str) else None
    return (int(match[1], 16), match[2]) if match else None


def _find_note(container: Container) -> Cursor:
    for header in container.program_headers:
        if header.kind != PT_NOTE:
            continue
        end = header.offset + header.file_size
        if end > len(container.data):
            raise Cursor(container.data, "note segment").error(f"bytes up to 0x{end:x}", "a shorter file", 0)
        note = Cursor(container.data, "note segment", header.offset, end)
        while note.end - note.pos >= 12:
            name_size, size, kind = (note.unsigned(4) for _ in range(3))
            name = note.take(name_size)
            note.take(min(-name_size % 4, note.end - note.pos))
            start = note.pos
            note.take(size)
            if name == _NOTE_NAME and kind == _NT_AMDGPU_METADATA:
                return Cursor(container.data, "metadata note", start, start + size)
            note.take(min(-size % 4, note.end - note.pos))
    raise CodeObjectError(
        "the code object has no metadata",
        expected="a note AMDGPU of type NT_AMDGPU_METADATA",
        hint="in assembly, describe the kernel between .amdgpu_metadata and .end_amdgpu_metadata",
    )


def _unpack(note: Cursor) -> object:
    start = note.pos
    raw = note.take(note.end - note.pos)
    if len(raw) > _MAX_NOTE:
        raise note.error(f"at most {_MAX_NOTE} bytes", f"{len(raw)}", start)
    try:
        # ValueError covers what msgspec documents, and strings that are not UTF-8; OverflowError and OSError come
        # from timestamps beyond the platform's range.
        return msgpack.decode(raw)
    except (ValueError, RecursionError, OverflowError, OSError) as problem:
        reason = f"{type(problem).__name__}: {str(problem)[:200]}"
        raise note.error("one msgpack object", reason, start) from problem


def _kernel(value: object, index: int) -> KernelMetadata:
    name = _Fields(value, f"kernel {index}").text(".name")
    fields = _Fields(value, f"kernel {name[:200]!r}")
    wavefront_size = fields.integer(".wavefront_size")
    if wavefront_size not in (32, 64):
        raise fields.error(".wavefront_size", "32 or 64", str(wavefront_size))
    args = [_argument(arg, f"argument {i} of {name[:200]!r}") for i, arg in enumerate(fields.items(".args"))]
    args.sort(key=lambda a: a.offset)
    for low, high in pairwise(args):
        if low.offset + low.size > high.offset:
            raise fields.error(
                ".args",
                "arguments that do not overlap",
                f"{low.size} bytes at {low.offset} and {high.size} bytes at {high.offset}",
            )
    return KernelMetadata(
        name=name,
        symbol=fields.text(".symbol"),
        args=tuple(args),
        kernarg_size=fields.integer(".kernarg_segment_size", maximum=MAX_KERNARG),
        vgprs=fields.integer(".vgpr_count", 0),
        sgprs=fields.integer(".sgpr_count", 0),
        vgpr_spills=fields.integer(".vgpr_spill_count", 0),
        sgpr_spills=fields.integer(".sgpr_spill_count", 0),
        wavefront_size=wavefront_size,
        max_workgroup_size=fields.integer(".max_flat_workgroup_size", 1024),
        uses_dynamic_stack=bool(fields.integer(".uses_dynamic_stack", 0, 1)),
    )


def _argument(value: object, where: str) -> Argument:
    fields = _Fields(value, where)
    return Argument(
        # clang appends ".coerce" to parameters whose type its ABI lowering replaced, as pointers.
        name=fields.text(".name", "").removesuffix(".coerce"),
        offset=fields.integer(".offset", maximum=MAX_KERNARG),
        size=fields.integer(".size", maximum=MAX_KERNARG),
        kind=fields.text(".value_kind"),
        # What the optimiser found, else what the source declares.
        access=fields.text(".actual_access", fields.text(".access", "")),
    )
