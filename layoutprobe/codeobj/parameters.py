"""Parameters of a kernel as its source declares them: names and element types, from debug information.

Source: DWARF 5 standard, sections 3.3 (subroutines), 4.1 (parameters) and 5 (types).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutprobe.codeobj.container import read_container
from layoutprobe.codeobj.debug_info import (
    BYTE_SIZE,
    ENCODING,
    LOW_PC,
    MEMBER_LOCATION,
    NAME,
    ORIGIN,
    SUBPROGRAM,
    TYPE,
    Attributes,
    DebugInfo,
    Entry,
    Unit,
    reference,
)
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError

_PARAMETER, _POINTER, _BASE, _MEMBER = 0x05, 0x0F, 0x24, 0x0D
_THROUGH = {0x01, 0x04, 0x10, 0x16, 0x26, 0x35, 0x37, 0x42}
"""Arrays (of vector types), enumerations, references, typedefs, const, volatile, restrict: what is behind counts."""
_STRUCTURES = {0x02, 0x13}
_HOPS = 16
_WIDTH = re.compile(r"\d+")
"""Bits of an element type, by its name."""
_NESTED, _MOST_MEMBERS = 3, 64
POINTER_BYTES = 8
_FLOAT, _SIGNED, _UNSIGNED = (0x04,), (0x05, 0x06), (0x02, 0x07, 0x08)
_WORDS = {
    "half": "f16", "_Float16": "f16", "bfloat16": "bf16", "bfloat": "bf16", "__bf16": "bf16", "float": "f32",
    "double": "f64", "fp8_e4m3": "fp8", "fp8_e5m2": "bf8", "fp8_e4m3_fnuz": "fp8_fnuz", "fp8_e5m2_fnuz": "bf8_fnuz",
    "int": "i32", "unsigned int": "u32", "short": "i16", "unsigned short": "u16", "char": "i8", "signed char": "i8",
    "unsigned char": "u8",
}  # fmt: skip
"""Structures that stand for a number, by what their names say; "2" and the like behind it are vectors."""
_STRUCTURE = re.compile(r"(?:__)?(?:hip_)?(half|bfloat16|bfloat|fp8_e[45]m[23](?:_fnuz)?)[248]?(?:_raw)?")
_VECTOR = re.compile(r"HIP_vector_(?:type|base)<([\w ]+)")


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        name: in the source.
        pointer: it is a pointer.
        dtype: type of what it is, or points to, as manifests name it; "" where that is no number.
        members: of a structure by value, with their offsets in bytes; members of structures inside stand for these.
            Empty where one of them is neither pointer nor number.
    """

    name: str
    pointer: bool
    dtype: str
    members: tuple[tuple[int, Parameter], ...] = ()

    @property
    def bytes(self) -> int:
        """What a pointer or number takes; 0 for anything else."""
        width = _WIDTH.search(self.dtype)
        return POINTER_BYTES if self.pointer else int(width[0]) // 8 if width else 0


@dataclass(frozen=True)
class Signature:
    """A kernel in its source.

    Attributes:
        name: without its types.
        parameters: in order.
    """

    name: str
    parameters: tuple[Parameter, ...]


def signature_of(code: CodeObject, kernel: Kernel) -> Signature | None:
    """How the source declares a kernel; None where debug information is missing, damaged, or does not say."""
    try:
        return next(_signatures(code.image, kernel.entry), None)
    except CodeObjectError:
        return None


def _signatures(image: bytes, entry: int) -> Iterator[Signature]:
    if not image:
        return
    info = DebugInfo(read_container(image))
    for unit, entries in info.units():
        known: dict[int, Entry] = {}
        inside: Entry | None = None
        parameters: list[Entry] = []
        for one in entries:
            known[one.offset] = one
            if inside is not None and one.depth <= inside.depth:
                entry = -1  # it is complete; what comes is for its types
            if one.tag == SUBPROGRAM and _starts_at(info, unit, one.attributes, entry):
                inside = one
            elif (
                inside is not None and one.tag == _PARAMETER and one.depth == inside.depth + 1 and entry >= 0
            ):
                parameters.append(one)
        if inside is not None:
            types = _Types(info, unit, known)
            yield Signature(types.name(inside), tuple(map(types.parameter, parameters)))
            return


def _starts_at(info: DebugInfo, unit: Unit, attributes: Attributes, entry: int) -> bool:
    return LOW_PC in attributes and info.address(unit, attributes[LOW_PC]) == entry


@dataclass(frozen=True)
class _Types:
    info: DebugInfo
    unit: Unit
    known: dict[int, Entry]

    def parameter(self, entry: Entry) -> Parameter:
        """A parameter, by its entry or the one that it comes from."""
        plain, type = self._plain(entry), self._behind(self._typed(entry))
        if type is None or plain.pointer or plain.dtype:
            return plain
        return replace(plain, members=self._members(type, 0) or ())

    def _plain(self, entry: Entry) -> Parameter:
        type = self._behind(self._typed(entry))
        pointer = type is not None and type.tag == _POINTER
        element = self._behind(self._to(type, TYPE)) if type is not None and pointer else type
        return Parameter(self.name(entry), pointer, self._dtype(element) if element else "")

    def _members(self, type: Entry, depth: int) -> tuple[tuple[int, Parameter], ...] | None:
        """Those of a structure; None where one is of another kind."""
        result: list[tuple[int, Parameter]] = []
        if type.tag not in _STRUCTURES or depth > _NESTED:
            return None
        for one in self._inside(type):
            at, behind = one.attributes.get(MEMBER_LOCATION), self._behind(self._typed(one))
            if at is None or behind is None:
                return None
            plain = self._plain(one)
            if plain.pointer or (plain.dtype and plain.bytes == behind.attributes.get(BYTE_SIZE, (0, 0))[1]):
                result.append((int(at[1]), plain))
            elif plain.dtype or (inner := self._members(behind, depth + 1)) is None:
                return None
            else:
                result += [(int(at[1]) + more, each) for more, each in inner]
            if len(result) > _MOST_MEMBERS:
                return None
        return tuple(result)

    def _inside(self, type: Entry) -> Iterator[Entry]:
        """Its members: entries that follow it, one level deeper."""
        order = sorted(self.known)
        for at in order[bisect_right(order, type.offset) :]:
            one = self.known[at]
            if one.depth <= type.depth:
                return
            if one.tag == _MEMBER and one.depth == type.depth + 1:
                yield one

    def name(self, entry: Entry | None) -> str:
        for _ in range(_HOPS):
            if entry is None:
                break
            if NAME in entry.attributes:
                return self.info.text(self.unit, entry.attributes[NAME])
            entry = self._to(entry, ORIGIN)
        return ""

    def _typed(self, entry: Entry | None) -> Entry | None:
        for _ in range(_HOPS):
            if entry is None or TYPE in entry.attributes:
                break
            entry = self._to(entry, ORIGIN)
        return self._to(entry, TYPE)

    def _to(self, entry: Entry | None, attribute: int) -> Entry | None:
        value = entry.attributes.get(attribute) if entry else None
        at = None if value is None else reference(self.unit, value)
        return None if at is None else self.known.get(at)

    def _behind(self, entry: Entry | None) -> Entry | None:
        """A type without what only qualifies or repeats it."""
        for _ in range(_HOPS):
            if entry is None or entry.tag not in _THROUGH:
                break
            entry = self._to(entry, TYPE)
        return entry

    def _dtype(self, entry: Entry) -> str:
        name = self.name(entry)
        if entry.tag in _STRUCTURES:
            vector, number = _VECTOR.fullmatch(name.partition(",")[0]), _STRUCTURE.fullmatch(name)
            return _WORDS.get(vector[1] if vector else number[1] if number else "", "")
        if entry.tag != _BASE:
            return ""
        size, encoding = (entry.attributes.get(a, (0, 0))[1] for a in (BYTE_SIZE, ENCODING))
        if encoding in _FLOAT:
            return "bf16" if name == "__bf16" else {2: "f16", 4: "f32", 8: "f64"}.get(int(size), "")
        sign = "i" if encoding in _SIGNED else "u" if encoding in _UNSIGNED else ""
        return f"{sign}{8 * int(size)}" if sign and size in (1, 2, 4, 8) else ""
