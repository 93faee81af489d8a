"""The DWARF line table: which source line each instruction comes from.

Source: DWARF 5 standard, section 6.2 (and DWARF 4, whose header differs). Read in one pass over
.debug_line; see container.py for why not with pyelftools, which is the oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join, normpath

from msgspec import Struct

from layoutprobe.codeobj.container import Container
from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.codeobj.model import LineTable, Segment
from layoutprobe.errors import CodeObjectError

_MAX_SECTION = 8 << 20
_MAX_STRINGS = 8 << 20

_DW_LNCT_PATH, _DW_LNCT_DIRECTORY = 1, 2
_FORM_STRING, _FORM_STRP, _FORM_LINE_STRP, _FORM_UDATA, _FORM_BLOCK = 0x08, 0x0E, 0x1F, 0x0F, 0x09
_FORM_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # data1, data2, data4, data8, data16

# Standard opcodes (table 7.25) and extended opcodes (table 7.26).
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN = 1, 2, 3, 4, 5
_CONST_ADD_PC, _FIXED_ADVANCE_PC, _SET_ISA = 8, 9, 12
_END_SEQUENCE, _SET_ADDRESS = 1, 2

Row = tuple[int, str, int, int]
"""Address, file, line, column; line 0 where no source line is meant, column 0 where none is given."""


class _Header(Struct, frozen=True):
    instruction_length: int
    line_base: int
    line_range: int
    opcode_base: int
    operand_counts: bytes
    files: tuple[str, ...]
    first_file: int


class _Strings:
    """Strings of .debug_line_str and .debug_str by offset, each read once."""

    def __init__(self, container: Container) -> None:
        names = {_FORM_LINE_STRP: ".debug_line_str", _FORM_STRP: ".debug_str"}
        self._sections = {form: container.section(name) for form, name in names.items()}
        self._known: dict[tuple[int, int], str] = {}
        self._length = 0

    def at(self, form: int, offset: int, reader: Cursor) -> str:
        known = self._known.get((form, offset))
        if known is None:
            section = self._sections[form]
            if section is None or offset >= section.end - section.pos:
                raise reader.error("an offset into the table of strings", f"0x{offset:x}")
            start = section.pos + offset
            known = Cursor(section.data, section.what, start, section.end, section.origin).string()
            self._known[form, offset] = known
            self._length += len(known)
            if self._length > _MAX_STRINGS:
                raise reader.error(f"at most {_MAX_STRINGS} bytes of file names", "more")
        return known


def read_lines(container: Container, segments: tuple[Segment, ...]) -> LineTable:
    """Line table of a code object; empty without debug information.

    Sequences outside of the executable segments are left out: the linker points the lines of
    functions that it dropped at addresses that are no code.

    Raises:
        CodeObjectError: .debug_line is malformed or too large.
    """
    section = container.section(".debug_line")
    if section is None:
        return LineTable()
    if section.end - section.pos > _MAX_SECTION:
        raise CodeObjectError(
            "the line table is too large",
            expected=f"at most {_MAX_SECTION >> 20} MiB in .debug_line",
            observed=f"{section.end - section.pos} bytes",
            hint="drop the debug information: llvm-strip --strip-debug FILE",
        )
    strings = _Strings(container)
    code = [(s.address, s.address + s.size) for s in segments if s.executable]
    sequences: list[list[Row]] = []
    while section.pos < section.end:
        sequences.extend(
            rows
            for rows in _unit(section, strings)
            if any(low <= rows[0][0] and rows[-1][0] <= high for low, high in code)
        )
    return _table(sequences)


def file_names(container: Container, offset: int) -> tuple[str, ...]:
    """Files of the unit at an offset of .debug_line, by the number that entries give them.

    Raises:
        CodeObjectError: there is no such unit, or it is malformed.
    """
    section = container.section(".debug_line")
    if section is None:
        return ()
    at = Cursor(section.data, section.what, section.pos + offset, section.end, section.origin)
    header = _header(*_next_unit(at), _Strings(container))
    return ("",) * header.first_file + header.files


def _table(sequences: list[list[Row]]) -> LineTable:
    """One table of sequences that may come in any order; of two that overlap the first counts."""
    rows: list[Row] = []
    end, previous = -1, ("", 0, 0)
    for sequence in sorted(sequences, key=lambda rows: rows[0][0]):
        if sequence[0][0] < end:
            continue
        end = sequence[-1][0]
        for row in sequence:
            if rows and rows[-1][0] == row[0]:
                rows[-1] = row  # of rows at one address the last describes the instruction
            elif row[1:] != previous:
                rows.append(row)
            previous = row[1:]
    if not rows:
        return LineTable()
    return LineTable(*zip(*rows, strict=True))


def _unit(section: Cursor, strings: _Strings) -> Iterator[list[Row]]:
    """Sequences of the next unit; leaves `section` behind it."""
    unit, offset_size = _next_unit(section)
    yield from _sequences(unit, _header(unit, offset_size, strings))


def _next_unit(section: Cursor) -> tuple[Cursor, int]:
    """The next unit, and the bytes of its offsets; leaves `section` behind it."""
    length, offset_size = section.unsigned(4), 4
    if length == 0xFFFF_FFFF:
        length, offset_size = section.unsigned(8), 8
    start = section.pos
    section.take(length)
    return Cursor(section.data, section.what, start, start + length, section.origin), offset_size


def _header(unit: Cursor, offset_size: int, strings: _Strings) -> _Header:
    version = unit.unsigned(2)
    if version not in (2, 3, 4, 5):
        raise unit.error("DWARF version 2 to 5", f"version {version}")
    if version == 5:
        unit.take(2)  # address size, segment selector size: DW_LNE_set_address states its own length
    header_length = unit.unsigned(offset_size)
    program = unit.pos + header_length
    instruction_length = unit.unsigned(1)
    operations = unit.unsigned(1) if version >= 4 else 1
    unit.take(1)  # default_is_stmt
    line_base, line_range, opcode_base = unit.signed(1), unit.unsigned(1), unit.unsigned(1)
    if operations != 1 or line_range == 0 or opcode_base == 0 or program > unit.end:
        raise unit.error(
            "one operation an instruction, a line range, an opcode base, a program in the unit",
            f"{operations}, {line_range}, {opcode_base}, a header of {header_length} bytes",
        )
    operand_counts = unit.take(opcode_base - 1)
    if version == 5:
        files, first_file = _files_v5(unit, offset_size, strings), 0
    else:
        files, first_file = _files_v4(unit), 1
    unit.pos = program
    return _Header(instruction_length, line_base, line_range, opcode_base, operand_counts, files, first_file)


def _files_v4(unit: Cursor) -> tuple[str, ...]:
    directories = [""]  # index 0 is the compilation directory
    while name := unit.string():
        directories.append(name)
    files = []
    while name := unit.string():
        directory, _time, _size = unit.uleb128(), unit.uleb128(), unit.uleb128()
        files.append(_path(unit, directories, directory, name))
    return tuple(files)


def _files_v5(unit: Cursor, offset_size: int, strings: _Strings) -> tuple[str, ...]:
    directories = [name for name, _ in _entries(unit, offset_size, strings)]
    directories[:1] = [""]  # index 0 is the compilation directory
    return tuple(
        _path(unit, directories, directory, name) for name, directory in _entries(unit, offset_size, strings)
    )


def _path(unit: Cursor, directories: list[str], directory: int, name: str) -> str:
    """The name as the source states it; headers found elsewhere with their directory, "./../" as "../"."""
    if directory >= len(directories):
        raise unit.error(f"one of {len(directories)} directories", f"number {directory} for {name[:80]!r}")
    folder = directories[directory]
    return name if folder in ("", ".") else normpath(join(folder, name))


def _entries(unit: Cursor, offset_size: int, strings: _Strings) -> list[tuple[str, int]]:
    """(name, directory index) of each entry of a DWARF 5 table."""
    formats = [(unit.uleb128(), unit.uleb128()) for _ in range(unit.unsigned(1))]
    count = unit.uleb128()
    # Each form below takes at least one byte, so the unit's length bounds a count that is honoured.
    if count > unit.end - unit.pos or (count and not formats):
        raise unit.error("a count of entries that the unit can hold", f"{count}")
    entries = []
    for _ in range(count):
        name, directory = "", 0
        for content, form in formats:
            value = _form(unit, form, offset_size, strings)
            if content == _DW_LNCT_PATH and isinstance(value, str):
                name = value
            elif content == _DW_LNCT_DIRECTORY and isinstance(value, int):
                directory = value
        entries.append((name, directory))
    return entries


def _form(unit: Cursor, form: int, offset_size: int, strings: _Strings) -> int | str | None:
    if form == _FORM_STRING:
        return unit.string()
    if form in (_FORM_LINE_STRP, _FORM_STRP):
        return strings.at(form, unit.unsigned(offset_size), unit)
    if form == _FORM_UDATA:
        return unit.uleb128()
    if form in _FORM_SIZES:
        return unit.unsigned(_FORM_SIZES[form])
    if form == _FORM_BLOCK:
        unit.take(unit.uleb128())
        return None
    raise unit.error("a form that line tables use", f"form 0x{form:x}")


def _sequences(unit: Cursor, header: _Header) -> Iterator[list[Row]]:
    """Run the line program: one list of rows per sequence, the last row being its end."""
    base, line_range = header.opcode_base, header.line_range
    address, file, line, column = 0, 1, 1, 0
    rows: list[Row] = []
    name = _file(unit, header, file)
    while unit.pos < unit.end:
        opcode = unit.data[unit.pos]
        unit.pos += 1
        if opcode >= base:
            address += (opcode - base) // line_range * header.instruction_length
            line += header.line_base + (opcode - base) % line_range
            rows.append((address, name, line, column))
        elif opcode == _COPY:
            rows.append((address, name, line, column))
        elif opcode == _ADVANCE_PC:
            address += unit.uleb128() * header.instruction_length
        elif opcode == _ADVANCE_LINE:
            line += unit.sleb128()
        elif opcode == _SET_FILE:
            name = _file(unit, header, unit.uleb128())
        elif opcode == _SET_COLUMN:
            column = unit.uleb128()
        elif opcode == _CONST_ADD_PC:
            address += (255 - base) // line_range * header.instruction_length
        elif opcode == _FIXED_ADVANCE_PC:
            address += unit.unsigned(2)
        elif opcode:
            for _ in range(header.operand_counts[opcode - 1]):  # nothing that a row here keeps
                unit.uleb128()
        else:
            length = unit.uleb128()
            operand = unit.take(length)
            if operand[:1] == bytes([_SET_ADDRESS]):
                address = int.from_bytes(operand[1:9], "little")
            elif operand[:1] == bytes([_END_SEQUENCE]):
                rows.append((address, name, 0, 0))
                yield _checked(unit, rows)
                rows, address, line, column, name = [], 0, 1, 0, _file(unit, header, 1)


def _file(unit: Cursor, header: _Header, index: int) -> str:
    at = index - header.first_file
    if 0 <= at < len(header.files):
        return header.files[at]
    if index == 1:
        return ""  # the register starts at 1, also where a table holds only file 0
    raise unit.error(f"one of {len(header.files)} files", f"number {index}")


def _checked(unit: Cursor, rows: list[Row]) -> list[Row]:
    previous = 0
    for address, _, line, column in rows:
        if address < previous or not 0 <= line < 1 << 32 or column >= 1 << 32:
            observed = f"0x{address:x}, {line}, {column}"
            raise unit.error("ascending addresses, lines and columns below 2**32", observed)
        previous = address
    return rows
