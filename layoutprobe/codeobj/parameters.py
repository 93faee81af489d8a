"""Parameters of a kernel as its source declares them: names and element types, from debug information.

Source: DWARF 5 standard, sections 3.3 (subroutines), 4.1 (parameters) and 5 (types).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.codeobj.container import read_container
from layoutprobe.codeobj.debug_info import (
    BYTE_SIZE,
    COUNT,
    ENCODING,
    LOW_PC,
    MEMBER_LOCATION,
    NAME,
    ORIGIN,
    SUBPROGRAM,
    TYPE,
    VECTOR,
    Attributes,
    DebugInfo,
    Entry,
    Unit,
    reference,
)
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError

_PARAMETER, _POINTER, _BASE, _MEMBER, _ARRAY, _SUBRANGE = 0x05, 0x0F, 0x24, 0x0D, 0x01, 0x21
_QUALIFIERS = frozenset({0x04, 0x10, 0x16, 0x26, 0x35, 0x37, 0x42})
"""Enumerations, references, typedefs, const, volatile, restrict: what is behind counts."""
_THROUGH = _QUALIFIERS | {_ARRAY}
"""And arrays, as which vector types are described."""
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
    "unsigned char": "u8", "float8_e4m3fn": "fp8", "float8_e5m2": "bf8", "float8_e4m3fnuz": "fp8_fnuz",
    "float8_e5m2fnuz": "bf8_fnuz",
}  # fmt: skip
"""Structures that stand for a number, by what their names say; "2" and the like behind it are vectors."""
_STRUCTURE = re.compile(
    r"(?:__)?(?:hip_)?(half|bfloat16|bfloat|fp8_e[45]m[23](?:_fnuz)?|float8_e[45]m[23](?:fn)?(?:uz)?)[248]?(?:_raw)?",
    re.IGNORECASE,
)
_VECTOR = re.compile(r"HIP_vector_(?:type|base)<([\w ]+)")


class Parameter(Struct, frozen=True):
    """One parameter.

    Attributes:
        name: in the source.
        pointer: it is a pointer.
        dtype: type of what it is, or points to, as manifests name it; "" where that is no number.
        members: of a structure by value, with their offsets in bytes; members of structures and elements of arrays
            inside stand for these. Empty where one of them is neither pointer nor number.
        keys: of a member, how host code may name it behind the structure: "problem[0].a", or "0.0.2" by its places.
        pointers: what it points to are pointers again; `dtype` is that of what those point to.
    """

    name: str
    pointer: bool
    dtype: str
    members: tuple[tuple[int, Parameter], ...] = ()
    keys: tuple[str, ...] = ()
    pointers: bool = False

    @property
    def bytes(self) -> int:
        """What a pointer or number takes; 0 for anything else."""
        width = _WIDTH.search(self.dtype)
        return POINTER_BYTES if self.pointer else int(width[0]) // 8 if width else 0


class Signature(Struct, frozen=True):
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


def _keys(name: str, number: int, inner: tuple[str, ...]) -> tuple[str, ...]:
    """How a member is called by its name and by its place, with what is inside it: "p[0].a", "p[0].2", "1.0.2"."""
    if not inner:
        return name, str(number)
    named = [f"{name}{key}" if key.startswith("[") else f"{name}.{key}" for key in inner]
    last = inner[-1].replace("[", "").replace("]", "")
    return (*named, f"{number}.{last}")


class _Types(Struct, frozen=True):
    info: DebugInfo
    unit: Unit
    known: dict[int, Entry]

    def parameter(self, entry: Entry) -> Parameter:
        """A parameter, by its entry or the one that it comes from."""
        typed = self._typed(entry)
        plain, type = self._plain(self.name(entry), typed), self._behind(typed)
        if type is None or plain.pointer or plain.dtype:
            return plain
        return replace(plain, members=self._members(type, 0) or ())

    def _plain(self, name: str, typed: Entry | None) -> Parameter:
        type = self._behind(typed)
        pointer = type is not None and type.tag == _POINTER
        element = self._behind(self._to(type, TYPE)) if type is not None and pointer else type
        again = pointer and element is not None and element.tag == _POINTER
        if again:
            element = self._behind(self._to(element, TYPE))
        dtype = self._dtype(element) if element else ""
        if pointer and element is not None and not dtype:
            dtype = self._alike(element)
        return Parameter(name, pointer, dtype, pointers=again)

    def _alike(self, type: Entry) -> str:
        """The type of all members of a structure, where they fill it and are numbers of one type: somebody's own
        complex number, or a wrapper around a float; "" for another one."""
        members = self._members(type, 0) or ()
        dtypes = {one.dtype for _, one in members if not one.pointer}
        filled = sum(one.bytes for _, one in members) == self._size(type)
        return dtypes.pop() if filled and len(dtypes) == 1 and not any(o.pointer for _, o in members) else ""

    def _members(self, type: Entry, depth: int) -> tuple[tuple[int, Parameter], ...] | None:
        """Those of a structure; None where one is of another kind."""
        result: list[tuple[int, Parameter]] = []
        if type.tag not in _STRUCTURES or depth > _NESTED:
            return None
        for number, one in enumerate(self._inside(type)):
            at, name = one.attributes.get(MEMBER_LOCATION), self.name(one)
            found = self._one(name, self._typed(one), depth) if at is not None else None
            if at is None or found is None:
                return None
            result += [
                (int(at[1]) + more, replace(each, keys=_keys(name, number, each.keys)))
                for more, each in found
            ]
            if len(result) > _MOST_MEMBERS:
                return None
        return tuple(result)

    def _one(self, name: str, typed: Entry | None, depth: int) -> list[tuple[int, Parameter]] | None:
        """A member: itself, or what it is made of; None where that is of another kind."""
        array = self._behind(typed, _QUALIFIERS)
        if array is not None and array.tag == _ARRAY and VECTOR not in array.attributes:
            return self._elements(name, array, depth)
        behind, plain = self._behind(typed), self._plain(name, typed)
        if behind is None:
            return None
        if plain.pointer or (plain.dtype and plain.bytes == self._size(behind)):
            return [(0, plain)]
        inner = None if plain.dtype else self._members(behind, depth + 1)
        return None if inner is None else list(inner)

    def _elements(self, name: str, array: Entry, depth: int) -> list[tuple[int, Parameter]] | None:
        """Those of an array of one dimension, named by their numbers: "m0", and "problem0_a" of structures."""
        ranges = list(self._inside(array, _SUBRANGE))
        element = self._to(array, TYPE)
        behind = self._behind(element, _QUALIFIERS)
        count = int(ranges[0].attributes.get(COUNT, (0, 0))[1]) if len(ranges) == 1 else 0
        size = self._size(behind) if behind is not None else 0
        if not 0 < count <= _MOST_MEMBERS or not size or depth > _NESTED:
            return None
        result: list[tuple[int, Parameter]] = []
        for number in range(count):
            found = self._one(f"{name}{number}", element, depth + 1)
            if found is None or len(result) > _MOST_MEMBERS:
                return None
            for at, one in found:
                inside = "" if not one.keys else f"{name}{number}_"
                keys = tuple(f"[{number}].{key}" for key in one.keys) or (f"[{number}]",)
                result.append((number * size + at, replace(one, name=inside + one.name, keys=keys)))
        return result

    def _size(self, type: Entry) -> int:
        return POINTER_BYTES if type.tag == _POINTER else int(type.attributes.get(BYTE_SIZE, (0, 0))[1])

    def _inside(self, type: Entry, tag: int = _MEMBER) -> Iterator[Entry]:
        """Its members, or what is asked: entries that follow it, one level deeper."""
        order = sorted(self.known)
        for at in order[bisect_right(order, type.offset) :]:
            one = self.known[at]
            if one.depth <= type.depth:
                return
            if one.tag == tag and one.depth == type.depth + 1:
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

    def _behind(self, entry: Entry | None, through: frozenset[int] = _THROUGH) -> Entry | None:
        """A type without what only qualifies or repeats it."""
        for _ in range(_HOPS):
            if entry is None or entry.tag not in through:
                break
            entry = self._to(entry, TYPE)
        return entry

    def _dtype(self, entry: Entry) -> str:
        name = self.name(entry)
        if entry.tag in _STRUCTURES:
            vector, number = _VECTOR.fullmatch(name.partition(",")[0]), _STRUCTURE.fullmatch(name)
            return _WORDS.get(vector[1] if vector else number[1].lower() if number else "", "")
        if entry.tag != _BASE:
            return ""
        size, encoding = (entry.attributes.get(a, (0, 0))[1] for a in (BYTE_SIZE, ENCODING))
        if encoding in _FLOAT:
            return "bf16" if name == "__bf16" else {2: "f16", 4: "f32", 8: "f64"}.get(int(size), "")
        sign = "i" if encoding in _SIGNED else "u" if encoding in _UNSIGNED else ""
        return f"{sign}{8 * int(size)}" if sign and size in (1, 2, 4, 8) else ""
