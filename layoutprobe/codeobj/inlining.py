"""Inlined calls: by which calls an instruction's source line came into the kernel.

Source: DWARF 5 standard, sections 3.3.8 (inlined calls) and 2.17 (ranges). Only findings and faults ask,
so it is read when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from layoutprobe.codeobj.container import read_container
from layoutprobe.codeobj.debug_info import (
    CALL_COLUMN,
    CALL_FILE,
    CALL_LINE,
    HIGH_PC,
    INLINED,
    LOW_PC,
    NAME,
    ORIGIN,
    RANGES,
    RNGLISTX,
    SPECIFICATION,
    STMT_LIST,
    SUBPROGRAM,
    Attributes,
    DebugInfo,
    Entry,
    Unit,
    reference,
)
from layoutprobe.codeobj.lines import file_names
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError
from layoutprobe.place import Call, Place, SourceLine

_HOPS = 4
"""From an inlined call to its function, and from there to its declaration."""
_END, _BASEX, _STARTX_ENDX, _STARTX_LENGTH, _PAIR, _BASE, _START_END, _START_LENGTH = range(8)

Span = tuple[int, int]
"""First address, and the one behind the last."""


class Inlined(Struct, frozen=True):
    """One stretch of an inlined call.

    Attributes:
        span: its addresses.
        depth: larger for a call within another one.
        call: where it stands, and what was called.
    """

    span: Span
    depth: int
    call: Call


def place_of(code: CodeObject, kernel: Kernel, pc: int, instruction: str = "") -> Place:
    """An instruction of a kernel: its line, or the nearest one before it, and how that came into the kernel."""
    source = code.lines.find(pc)
    near = code.lines.near(pc, kernel.entry) if source is None else None
    inside = [one for one in _inlined(code.image) if one.span[0] <= pc < one.span[1]] if source else []
    return Place(
        kernel=kernel.name,
        source=source or near,
        near=near is not None,
        inlined_at=tuple(one.call for one in sorted(inside, key=lambda one: -one.depth)),
        pc=pc,
        instruction=instruction,
    )


def inlined_calls(code: CodeObject) -> tuple[Inlined, ...]:
    """All stretches of inlined calls."""
    return _inlined(code.image)


@lru_cache(maxsize=8)
def _inlined(image: bytes) -> tuple[Inlined, ...]:
    """All inlined calls; none where debug information is missing or damaged: a finding stands without."""
    try:
        return tuple(read_inlined(image))
    except CodeObjectError:
        return ()


def read_inlined(image: bytes) -> Iterator[Inlined]:
    """Inlined calls of a code object.

    Args:
        image: the file's bytes; b"" has none.

    Raises:
        CodeObjectError: the debug information is malformed, or too large.
    """
    if not image:
        return
    info = DebugInfo(read_container(image))
    functions: dict[int, tuple[Unit, Attributes]] = {}
    calls: list[tuple[Unit, Entry]] = []
    for unit, entries in info.units():
        for entry in entries:
            if entry.tag == SUBPROGRAM:
                functions[entry.offset] = unit, entry.attributes
            elif entry.tag == INLINED:
                calls.append((unit, entry))
    files: dict[int, tuple[str, ...]] = {}
    for unit, entry in calls:
        if STMT_LIST in unit.attributes and unit.start not in files:
            files[unit.start] = file_names(info.container, unit.number(STMT_LIST))
        call = _call(info, unit, entry.attributes, files.get(unit.start, ()), functions)
        for span in _spans(info, unit, entry.attributes) if call is not None else ():
            assert call is not None
            yield Inlined(span, entry.depth, call)


def _call(
    info: DebugInfo,
    unit: Unit,
    attributes: Attributes,
    files: tuple[str, ...],
    functions: dict[int, tuple[Unit, Attributes]],
) -> Call | None:
    """Where an inlined call stands; None where the compiler does not say."""
    file, line, column = (attributes.get(a, (0, 0))[1] for a in (CALL_FILE, CALL_LINE, CALL_COLUMN))
    if not isinstance(file, int) or not isinstance(line, int) or not isinstance(column, int):
        return None
    if not line or not 0 <= file < len(files):
        return None
    return Call(SourceLine(files[file], line, column or None), _name(info, unit, attributes, functions))


def _name(
    info: DebugInfo, unit: Unit, attributes: Attributes, functions: dict[int, tuple[Unit, Attributes]]
) -> str:
    """Name of the function that an entry comes from; "" where none is given."""
    for _ in range(_HOPS):
        if NAME in attributes:
            return info.text(unit, attributes[NAME])
        value = attributes.get(ORIGIN) or attributes.get(SPECIFICATION)
        at = None if value is None else reference(unit, value)
        if at is None or at not in functions:
            return ""
        unit, attributes = functions[at]
    return ""


def _spans(info: DebugInfo, unit: Unit, attributes: Attributes) -> Iterator[Span]:
    if LOW_PC in attributes and HIGH_PC in attributes:
        low = info.address(unit, attributes[LOW_PC])
        high, held = info.address(unit, attributes[HIGH_PC]), attributes[HIGH_PC][1]
        if low is not None and isinstance(held, int):
            yield low, low + held if high is None else high
    elif RANGES in attributes:
        form, held = attributes[RANGES]
        if isinstance(held, int):
            base = info.address(unit, unit.attributes.get(LOW_PC, (0, 0))) or 0
            if unit.version < 5:
                yield from _ranges_v4(info, unit, held, base)
            else:
                yield from _ranges_v5(
                    info, unit, info.indexed_ranges(unit, held) if form == RNGLISTX else held, base
                )


def _ranges_v4(info: DebugInfo, unit: Unit, offset: int, base: int) -> Iterator[Span]:
    cursor, size = info.at(".debug_ranges", offset), unit.address_size
    while True:
        info.step(cursor)
        low, high = cursor.unsigned(size), cursor.unsigned(size)
        if not low and not high:
            return
        if low == (1 << 8 * size) - 1:
            base = high
        else:
            yield base + low, base + high


def _ranges_v5(info: DebugInfo, unit: Unit, offset: int, base: int) -> Iterator[Span]:
    cursor, size = info.at(".debug_rnglists", offset), unit.address_size
    while (kind := cursor.unsigned(1)) != _END:
        info.step(cursor)
        if kind == _BASEX:
            base = info.indexed_address(unit, cursor.uleb128())
        elif kind == _BASE:
            base = cursor.unsigned(size)
        elif kind == _PAIR:
            yield base + cursor.uleb128(), base + cursor.uleb128()
        elif kind in (_STARTX_ENDX, _STARTX_LENGTH):
            low, second = info.indexed_address(unit, cursor.uleb128()), cursor.uleb128()
            yield low, low + second if kind == _STARTX_LENGTH else info.indexed_address(unit, second)
        elif kind in (_START_END, _START_LENGTH):
            low = cursor.unsigned(size)
            yield low, low + cursor.uleb128() if kind == _START_LENGTH else cursor.unsigned(size)
        else:
            raise cursor.error("an entry of a list of ranges", f"kind {kind}")
