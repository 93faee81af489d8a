"""Entries of .debug_info, as far as inlined calls and the parameters of kernels need them.

Source: DWARF 5 standard, sections 7.5 (entries, abbreviations, forms) and 7.25 to 7.28 (indexed tables);
DWARF 2 to 4 differ in the unit's header. Read in one pass. Every step is counted, so that damaged or
hostile bytes cost a bounded time; pyelftools is the oracle in the tests, see container.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from layoutprobe.codeobj.container import Container
from layoutprobe.codeobj.cursor import Cursor

MAX_STEPS = 1 << 21
"""Attributes, abbreviations and ranges that are read in all: some seconds."""

COMPILE_UNIT, INLINED, SUBPROGRAM = 0x11, 0x1D, 0x2E
NAME, STMT_LIST, LOW_PC, HIGH_PC, ORIGIN, SPECIFICATION = 0x03, 0x10, 0x11, 0x12, 0x31, 0x47
RANGES, CALL_COLUMN, CALL_FILE, CALL_LINE = 0x55, 0x57, 0x58, 0x59
STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE = 0x72, 0x73, 0x74
TYPE, BYTE_SIZE, ENCODING, MEMBER_LOCATION = 0x49, 0x0B, 0x3E, 0x38
COUNT, VECTOR = 0x37, 0x2107
_WANTED = {
    NAME, STMT_LIST, LOW_PC, HIGH_PC, ORIGIN, SPECIFICATION, RANGES, CALL_COLUMN, CALL_FILE, CALL_LINE,
    STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE, TYPE, BYTE_SIZE, ENCODING, MEMBER_LOCATION,
    COUNT, VECTOR,
}  # fmt: skip
_UNIT_KINDS = (0x01, 0x03)
"""Full and partial compilation units; others hold no code."""

ADDR, STRING, STRP, LINE_STRP, RNGLISTX, SEC_OFFSET, REF_ADDR = 0x01, 0x08, 0x0E, 0x1F, 0x23, 0x17, 0x10
_UDATA, _SDATA, _PRESENT, _CONST = 0x0F, 0x0D, 0x19, 0x21
_FIXED = {
    0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x20: 8,
    0x1C: 4, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
"""Forms of a fixed size: data, flag, ref, strx1 to strx4, addrx1 to addrx4."""
_LEB128 = (0x0F, 0x15, 0x1A, 0x1B, 0x22, RNGLISTX)
_OFFSETS = (STRP, LINE_STRP, SEC_OFFSET, 0x1D, 0x1F20, 0x1F21)
_BLOCKS = {0x0A: 1, 0x03: 2, 0x04: 4}
_BLOCKS_LEB128 = (0x09, 0x18)
_STRX = (0x1A, 0x25, 0x26, 0x27, 0x28)
_ADDRX = (0x1B, 0x29, 0x2A, 0x2B, 0x2C)
_REFS_IN_UNIT = (0x11, 0x12, 0x13, 0x14, 0x15)

Value = tuple[int, int | str]
"""Form, and what it holds: a number, an index, an offset, or an inline string."""
Attributes = dict[int, Value]


class _Abbreviation(Struct, frozen=True):
    tag: int
    children: bool
    consts: tuple[tuple[int, Value], ...]
    reads: tuple[tuple[int, int], ...]


class Entry(Struct, frozen=True):
    """One entry.

    Attributes:
        offset: in .debug_info.
        depth: how many entries it lies in.
        tag: what it is.
        attributes: those that are wanted here, by number.
    """

    offset: int
    depth: int
    tag: int
    attributes: Attributes


class Unit(Struct):
    """One unit, and how its indexed values are found.

    Attributes:
        version: of DWARF.
        start: offset of its header in .debug_info.
        offset_size, address_size: bytes.
        attributes: of its own entry.
    """

    version: int
    start: int
    offset_size: int
    address_size: int
    attributes: Attributes

    def number(self, attribute: int) -> int:
        """An attribute of the unit's own entry; 0 where it has none."""
        value = self.attributes.get(attribute, (0, 0))[1]
        return value if isinstance(value, int) else 0


class DebugInfo:
    """The sections of one code object.

    Raises:
        CodeObjectError: from every method: they are malformed, or too large.
    """

    def __init__(self, container: Container) -> None:
        self.container = container
        self._steps = 0
        self._tables: dict[int, dict[int, _Abbreviation]] = {}
        self._sections: dict[str, Cursor | None] = {}

    def step(self, cursor: Cursor, count: int = 1) -> None:
        """Count work."""
        self._steps += count
        if self._steps > MAX_STEPS:
            raise cursor.error(f"at most {MAX_STEPS} entries of debug information", "more")

    def at(self, section: str, offset: int) -> Cursor:
        """A section from an offset on."""
        if section not in self._sections:
            self._sections[section] = self.container.section(section)
        whole = self._sections[section]
        if whole is None:
            raise Cursor(b"", section).error(f"a section {section}", "none")
        return Cursor(whole.data, whole.what, whole.pos + offset, whole.end, whole.origin)

    def units(self) -> Iterator[tuple[Unit, Iterator[Entry]]]:
        """Every unit that may hold code, with its entries; they must be read before the next unit."""
        section = self.container.section(".debug_info")
        if section is None:
            return
        first = section.pos
        while section.pos < section.end:
            start = section.pos - first
            length, offset_size = section.unsigned(4), 4
            if length == 0xFFFF_FFFF:
                length, offset_size = section.unsigned(8), 8
            begin = section.pos
            section.take(length)
            self.step(section)
            cursor = Cursor(section.data, section.what, begin, begin + length, section.origin)
            version = cursor.unsigned(2)
            kind = cursor.unsigned(1) if version >= 5 else _UNIT_KINDS[0]
            if version not in (2, 3, 4, 5) or kind not in _UNIT_KINDS:
                continue
            address_size = cursor.unsigned(1) if version >= 5 else 0
            table = self._abbreviations(cursor.unsigned(offset_size))
            unit = Unit(version, start, offset_size, address_size or cursor.unsigned(1), {})
            yield unit, self._entries(cursor, first, unit, table)

    def _entries(
        self, cursor: Cursor, first: int, unit: Unit, table: dict[int, _Abbreviation]
    ) -> Iterator[Entry]:
        depth = 0
        while cursor.pos < cursor.end:
            offset = cursor.pos - first
            code = cursor.uleb128()
            self.step(cursor)
            if code == 0:
                depth -= 1
                if depth <= 0:
                    return
                continue
            known = table.get(code)
            if known is None:
                raise cursor.error("an abbreviation that is declared", f"number {code}")
            self.step(cursor, len(known.reads))
            found = dict(known.consts)
            for attribute, form in known.reads:
                value = _read(cursor, form, unit)
                if attribute in _WANTED:
                    found[attribute] = form, value
            if known.tag == COMPILE_UNIT:
                unit.attributes = found
            yield Entry(offset, depth, known.tag, found)
            if known.children:
                depth += 1
            elif depth == 0:
                return

    def _abbreviations(self, offset: int) -> dict[int, _Abbreviation]:
        if offset not in self._tables:
            self._tables[offset] = dict(self._declared(self.at(".debug_abbrev", offset)))
        return self._tables[offset]

    def _declared(self, cursor: Cursor) -> Iterator[tuple[int, _Abbreviation]]:
        while code := cursor.uleb128():
            tag, children = cursor.uleb128(), cursor.unsigned(1) != 0
            consts: list[tuple[int, Value]] = []
            reads: list[tuple[int, int]] = []
            while True:
                self.step(cursor)
                attribute, form = cursor.uleb128(), cursor.uleb128()
                if form == _CONST:
                    value = cursor.sleb128()
                    consts += [(attribute, (form, value))] if attribute in _WANTED else []
                elif not attribute and not form:
                    break
                elif form != _PRESENT:  # a flag that is present takes no bytes, and none is wanted
                    reads.append((attribute, form))
            yield code, _Abbreviation(tag, children, tuple(consts), tuple(reads))

    def text(self, unit: Unit, value: Value) -> str:
        """A name; "" where the value is none."""
        form, held = value
        if isinstance(held, str):
            return held
        if form in _STRX:
            at = unit.number(STR_OFFSETS_BASE) + held * unit.offset_size
            return self.at(".debug_str", self._word(".debug_str_offsets", at, unit.offset_size)).string()
        section = {STRP: ".debug_str", LINE_STRP: ".debug_line_str"}.get(form)
        return "" if section is None else self.at(section, held).string()

    def address(self, unit: Unit, value: Value) -> int | None:
        """An address; None where the value is a constant."""
        form, held = value
        if not isinstance(held, int):
            return None
        if form in _ADDRX:
            return self.indexed_address(unit, held)
        return held if form == ADDR else None

    def indexed_address(self, unit: Unit, index: int) -> int:
        """An entry of the table of addresses."""
        at = unit.number(ADDR_BASE) + index * unit.address_size
        return self._word(".debug_addr", at, unit.address_size)

    def indexed_ranges(self, unit: Unit, index: int) -> int:
        """Offset in .debug_rnglists of a list by its number."""
        base = unit.number(RNGLISTS_BASE)
        return base + self._word(".debug_rnglists", base + index * unit.offset_size, unit.offset_size)

    def _word(self, section: str, offset: int, size: int) -> int:
        cursor = self.at(section, offset)
        self.step(cursor)
        return cursor.unsigned(size)


def reference(unit: Unit, value: Value) -> int | None:
    """Offset in .debug_info of the entry that a value refers to."""
    form, held = value
    if not isinstance(held, int):
        return None
    if form in _REFS_IN_UNIT:
        return unit.start + held
    return held if form == REF_ADDR else None


def _read(cursor: Cursor, form: int, unit: Unit) -> int | str:
    if form in _FIXED:
        return cursor.unsigned(_FIXED[form])
    if form in _LEB128:
        return cursor.uleb128()
    if form in _OFFSETS:
        return cursor.unsigned(unit.offset_size)
    if form == ADDR or (form == REF_ADDR and unit.version == 2):
        return cursor.unsigned(unit.address_size)
    if form == REF_ADDR:
        return cursor.unsigned(unit.offset_size)
    if form == STRING:
        return cursor.string()
    if form == _SDATA:
        return cursor.sleb128()
    if form in _BLOCKS or form in _BLOCKS_LEB128:
        cursor.take(cursor.unsigned(_BLOCKS[form]) if form in _BLOCKS else cursor.uleb128())
        return 0
    raise cursor.error("a form of DWARF 2 to 5", f"form 0x{form:x}")
