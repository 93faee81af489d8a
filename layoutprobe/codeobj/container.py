"""The ELF container of a code object: headers, segments, sections, symbols, dynamic relocations.

Read here with `struct` under explicit bounds, and not with pyelftools: a code object is untrusted,
and pyelftools promises neither bounded time nor bounded memory on hostile bytes (a line-program
header of 30 bytes that claims 2**60 directories keeps it busy for ever; compressed sections inflate
without limit). In the tests pyelftools is the oracle of everything that this module and lines.py
read. Sources: System V gABI chapters 4 and 5; LLVM AMDGPUUsage, "ELF Code Object".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.codeobj.model import Relocation, Segment
from layoutprobe.errors import CodeObjectError

MAX_FILE = MAX_IMAGE = 256 << 20
_MAX_ADDRESS = 1 << 47
# Far above what compilers write; they keep every loop over loops short.
_MAX_PROGRAM_HEADERS = 64
_MAX_SYMBOLS = 1 << 17
_MAX_RELOCATIONS = 1 << 17
_MAX_NAMES = 32 << 20

PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
_PF_X, _PF_W = 1, 2
SHT_SYMTAB, _SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
_SHF_COMPRESSED = 0x800
STT_FUNC = 2
_SHN_UNDEF, _SHN_LORESERVE = 0, 0xFF00
_STB_WEAK = 2
_DT_RELA, _DT_RELASZ, _DT_REL, _DT_PLTRELSZ, _DT_JMPREL = 7, 8, 17, 2, 23
_R_ABS64, _R_RELATIVE64 = 3, 13

_FILE_HEADER = struct.Struct("<16x2HI3QI6H")
_PROGRAM_HEADER = struct.Struct("<2I6Q")
_SECTION_HEADER = struct.Struct("<2I4Q2I2Q")
_SYMBOL = struct.Struct("<I2BH2Q")
_RELA = struct.Struct("<2Qq")
_DYNAMIC = struct.Struct("<qQ")


class ProgramHeader(Struct, frozen=True):
    """One program header; only what the loader needs."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


class Section(Struct, frozen=True):
    """One section header; `name_offset` points into the section-name table."""

    name_offset: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int


class Symbol(Struct, frozen=True):
    """One symbol that the object defines, or one that it needs (`defined` False); `weak`: others go before it."""

    name: str
    kind: int
    value: int
    size: int
    defined: bool
    weak: bool


class Container(Struct, frozen=True):
    """An ELF file, its tables read and found to lie inside the file."""

    data: bytes
    flags: int
    program_headers: tuple[ProgramHeader, ...]
    sections: tuple[Section, ...]
    names_section: int

    def section(self, name: str) -> Cursor | None:
        """Contents of the section of that name, or None.

        Raises:
            CodeObjectError: it is compressed, or does not lie in the file.
        """
        if not self.names_section < len(self.sections):
            return None
        names, wanted = self.sections[self.names_section], name.encode() + b"\0"
        for section in self.sections:
            start = names.offset + section.name_offset
            if self.data[start : start + len(wanted)] == wanted:
                if section.flags & _SHF_COMPRESSED:
                    raise CodeObjectError(
                        f"section {name} is compressed",
                        hint="uncompress it: llvm-objcopy --decompress-debug-sections FILE",
                    )
                return self.contents(section, name)
        return None

    def contents(self, section: Section, what: str) -> Cursor:
        """Bytes of a section in the file."""
        size = 0 if section.kind == _SHT_NOBITS else section.size
        return _window(self.data, what, section.offset, size)

    def symbols(self, kind: int) -> tuple[Symbol, ...]:
        """Symbols of the first table of that kind (SHT_SYMTAB, SHT_DYNSYM), in its order."""
        for section in self.sections:
            if section.kind == kind and section.link < len(self.sections):
                table = self.contents(section, "symbol table")
                names = self.contents(self.sections[section.link], "symbol names")
                return tuple(_symbols(table, names))
        return ()


def _window(data: bytes, what: str, offset: int, size: int) -> Cursor:
    if offset + size > len(data):
        raise Cursor(data, what, min(offset, len(data))).error(
            f"{size} bytes at 0x{offset:x}", f"a file of {len(data)} bytes"
        )
    return Cursor(data, what, offset, offset + size)


def _symbols(table: Cursor, names: Cursor) -> Iterator[Symbol]:
    count = (table.end - table.pos) // _SYMBOL.size
    if count > _MAX_SYMBOLS:
        raise table.error(f"at most {_MAX_SYMBOLS} symbols", f"{count}")
    first, length = names.pos, 0
    for name, info, _other, section, value, size in _SYMBOL.iter_unpack(table.take(count * _SYMBOL.size)):
        names.pos = min(first + name, names.end)
        text = names.string() if name else ""
        length += len(text)
        if length > _MAX_NAMES:  # names may share bytes: a small file could hold terabytes of them
            raise names.error(f"at most {_MAX_NAMES} bytes of symbol names", "more")
        # Reserved section indices (absolute, common, the LDS of one workgroup) are no addresses.
        defined = _SHN_UNDEF < section < _SHN_LORESERVE
        yield Symbol(text, info & 15, value, size, defined, info >> 4 == _STB_WEAK)


def read_container(data: bytes) -> Container:
    """Read the headers of an ELF file whose identification `refuse_foreign` has accepted."""
    _window(data, "ELF header", 0, _FILE_HEADER.size)
    (
        _type, _machine, _version, _entry, ph_offset, sh_offset, flags, _size,
        ph_entry, ph_count, sh_entry, sh_count, names,
    ) = _FILE_HEADER.unpack_from(data)  # fmt: skip
    if ph_count > _MAX_PROGRAM_HEADERS:
        raise Cursor(data, "ELF header").error(f"at most {_MAX_PROGRAM_HEADERS} segments", f"{ph_count}")
    headers = _table(data, "program header table", _PROGRAM_HEADER, ph_offset, ph_entry, ph_count)
    sections = _table(data, "section header table", _SECTION_HEADER, sh_offset, sh_entry, sh_count)
    return Container(
        data=data,
        flags=flags,
        program_headers=tuple(ProgramHeader(k, f, o, a, fs, ms) for k, f, o, a, _pa, fs, ms, _al in headers),
        sections=tuple(Section(n, k, f, o, s, ln) for n, k, f, _a, o, s, ln, _i, _al, _e in sections),
        names_section=names,
    )


def _table(
    data: bytes, what: str, entry: struct.Struct, offset: int, entry_size: int, count: int
) -> list[tuple[int, ...]]:
    if count == 0:
        return []
    window = _window(data, what, offset, count * entry.size)
    if entry_size != entry.size:
        raise window.error(f"entries of {entry.size} bytes", f"{entry_size}")
    return list(entry.iter_unpack(window.take(count * entry.size)))


def load_segments(container: Container) -> tuple[Segment, ...]:
    """PT_LOAD segments by address, disjoint and small enough to be mapped.

    Raises:
        CodeObjectError: one does not lie in the file, two overlap, or the image is too large.
    """
    headers = [h for h in container.program_headers if h.kind == PT_LOAD and h.memory_size]
    headers.sort(key=lambda h: h.address)
    _check_placement(headers)  # first: disjoint segments cannot multiply the bytes copied below
    return tuple(
        Segment(
            address=h.address,
            data=_window(container.data, "PT_LOAD segment", h.offset, h.file_size).take(h.file_size),
            size=h.memory_size,
            executable=bool(h.flags & _PF_X),
            writable=bool(h.flags & _PF_W),
        )
        for h in headers
    )


def _check_placement(headers: list[ProgramHeader]) -> None:
    if not headers:
        raise CodeObjectError(
            "the code object has no loadable segment",
            expected="PT_LOAD program headers",
            hint="link it: ld.lld -shared OBJECT -o OUTPUT",
        )
    for header in headers:
        if header.file_size > header.memory_size:
            raise CodeObjectError(
                "malformed PT_LOAD segment",
                where={"address": f"0x{header.address:x}"},
                expected=f"at most its 0x{header.memory_size:x} bytes of memory in the file",
                observed=f"0x{header.file_size:x}",
            )
    for low, high in pairwise(headers):
        if low.address + low.memory_size > high.address:
            raise CodeObjectError(
                "two segments of the code object overlap",
                where={"address": f"0x{high.address:x}"},
                expected=f"a segment from 0x{low.address + low.memory_size:x} on",
                observed=f"0x{low.memory_size:x} bytes at 0x{low.address:x}, then one at 0x{high.address:x}",
            )
    end = headers[-1].address + headers[-1].memory_size
    span = end - headers[0].address
    if span > MAX_IMAGE or end > _MAX_ADDRESS:
        raise CodeObjectError(
            "the code object is too large to be loaded",
            expected=f"at most {MAX_IMAGE >> 20} MiB from first to last segment, all below 2**47",
            observed=f"{span} bytes, up to 0x{end:x}",
        )


def window_at(segments: tuple[Segment, ...], what: str, address: int, size: int) -> Cursor:
    """The file-backed bytes [address, address + size) of the image.

    Raises:
        CodeObjectError: they do not lie in one segment.
    """
    for segment in segments:
        start = address - segment.address
        if start >= 0 and start + size <= len(segment.data):
            return Cursor(segment.data, what, start, start + size)
    raise CodeObjectError(
        f"the {what} lies outside of the loaded image",
        where={"address": f"0x{address:x}"},
        expected=f"{size} bytes of one segment",
        observed="segments at " + ", ".join(f"0x{s.address:x}+0x{len(s.data):x}" for s in segments),
    )


def read_relocations(container: Container, segments: tuple[Segment, ...]) -> tuple[Relocation, ...]:
    """Dynamic relocations: words of the image that hold addresses in the image.

    Raises:
        CodeObjectError: one is of another kind, needs a symbol that the object does not define,
            or lies outside of the image.
    """
    tags: dict[int, int] = {}
    for header in container.program_headers:
        if header.kind == PT_DYNAMIC:
            table = _window(container.data, "dynamic section", header.offset, header.file_size)
            size = header.file_size // _DYNAMIC.size * _DYNAMIC.size
            for tag, value in _DYNAMIC.iter_unpack(table.take(size)):
                if tag == 0:
                    break
                tags[tag] = value
    if _DT_REL in tags:
        raise CodeObjectError("dynamic relocations without addends (DT_REL)", expected="DT_RELA")
    symbols = container.symbols(SHT_DYNSYM)
    found: list[Relocation] = []
    for start, length in ((_DT_RELA, _DT_RELASZ), (_DT_JMPREL, _DT_PLTRELSZ)):
        if start in tags and tags.get(length, 0):
            rela = window_at(segments, "relocation table", tags[start], tags[length])
            count = tags[length] // _RELA.size
            if count > _MAX_RELOCATIONS:
                raise rela.error(f"at most {_MAX_RELOCATIONS} relocations", f"{count}")
            entries = _RELA.iter_unpack(rela.take(count * _RELA.size))
            found += (_resolve(entry, symbols, segments) for entry in entries)
    return tuple(found)


def _resolve(
    entry: tuple[int, int, int], symbols: tuple[Symbol, ...], segments: tuple[Segment, ...]
) -> Relocation:
    address, info, addend = entry
    kind, number = info & 0xFFFF_FFFF, info >> 32
    value = addend
    if kind == _R_ABS64:
        symbol = symbols[number] if number < len(symbols) else None
        if symbol is None or not symbol.defined:
            raise CodeObjectError(
                "the code object needs a symbol that it does not define",
                where={"relocation at": f"0x{address:x}", "symbol": symbol.name if symbol else number},
                hint="link the object that defines it into this code object",
            )
        value += symbol.value
    elif kind != _R_RELATIVE64:
        raise CodeObjectError(
            "a dynamic relocation of a kind that is not supported",
            where={"relocation at": f"0x{address:x}"},
            expected=f"R_AMDGPU_ABS64 ({_R_ABS64}) or R_AMDGPU_RELATIVE64 ({_R_RELATIVE64})",
            observed=f"type {kind}",
        )
    if not any(s.address <= address and address + 8 <= s.address + s.size for s in segments):
        raise CodeObjectError(
            "a dynamic relocation lies outside of the loaded image",
            where={"relocation at": f"0x{address:x}"},
        )
    return Relocation(address=address, value=value % (1 << 64))
