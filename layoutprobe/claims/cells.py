"""Claims as tables: CSV with one element a line, and the CSV that AMD's calculator prints.

One element a line: columns matrix, row, col, lane, vgpr, bit_lo (and bit_hi), and where a file holds
more than one table, instruction, arch, wave and opsel. AMD's matrix instruction calculator prints, with
`--register-layout --csv`, a line per lane and a column per register, `A[0][1]` in each cell. Only
the shape of that table is relied on: a heading `lane`, then headings such as `v0.[15:0]` or `v3`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.claims.model import MATRICES, Claimed, ClaimSet, slot_name
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout

MAX_CELLS = 1 << 18
MAX_NUMBER = 1 << 20
NEEDED = ("matrix", "row", "col", "lane", "vgpr", "bit_lo")

OF = ("instruction", "arch", "wave", "opsel")
"""Columns that say of what a line speaks: lines that differ in one of them are different claims."""

Cell = tuple[int, int, int, int, int, int]
"""row, col, lane, VGPR of the lowest bit, lowest bit in it, highest bit: beyond 31 it is in a further VGPR."""

_REGISTER = re.compile(r"[av](\d{1,3})(?:\{\d*\})?(?:\.?\s*\[(\d{1,2}):(\d{1,2})\])?")
_ELEMENT = re.compile(r"([ABCD])\[(\d{1,5})\]\[(\d{1,5})\](?:\.B\d+)?")


class Cells(Struct, frozen=True, eq=False):
    """A whole table of one matrix."""

    text: str
    matrix: str
    cells: tuple[Cell, ...]
    dialect: str = "csv"

    def bind(self, operand: Layout) -> Claimed:
        """What is claimed about every slot; slots without a line hold no element."""
        row = np.full(operand.row.shape, HOLE, np.int64)
        col = row.copy()
        for element_row, element_col, lane, vgpr, low, high in self.cells:
            group, bit = divmod(32 * vgpr + low, 32 * operand.registers)
            field, rest = divmod(bit, operand.field_bits)
            if rest or low > 31 or high - low + 1 != operand.field_bits or field >= operand.fields:
                fields = f"its elements are {operand.field_bits} bits wide"
                return Claimed.misfit(f"it puts an element into bits {high}:{low}; {fields}", operand)
            if lane >= operand.lanes or group >= operand.vgprs:
                real = f"{operand.lanes} lanes and {operand.vgprs * operand.registers} VGPRs"
                return Claimed.misfit(f"it speaks of v{vgpr} of lane {lane}; the operand has {real}", operand)
            slot = (0, lane, group, field)
            if row[slot] != HOLE and (row[slot], col[slot]) != (element_row, element_col):
                return Claimed.misfit(f"it puts two elements into {slot_name(slot, operand)}", operand)
            row[slot], col[slot] = element_row, element_col
        return Claimed.table(row, col, operand)


def parse_csv(text: str, name: str) -> list[ClaimSet]:
    """The claims of a CSV file: one set for each instruction, target, wave size and op_sel.

    Raises:
        UsageError: neither of the two forms, or a number that is none.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines[:64]):
        header = [cell.strip().lower() for cell in line.split(",")]
        if set(NEEDED) <= set(header):
            return _listed(lines[number:], header, name)
        if (
            header[0] == "lane"
            and len(header) > 1
            and all(_REGISTER.fullmatch(cell) for cell in header[1:] if cell)
        ):
            return [_printed(lines[number:], lines[:number], name)]
    raise UsageError(
        "the CSV file is no table of a layout",
        where={"file": name},
        expected=f"columns {', '.join(NEEDED)}, or the calculator's `lane, v0.[15:0], v0.[31:16], ...`",
    )


def _listed(lines: Sequence[str], header: Sequence[str], name: str) -> list[ClaimSet]:
    at = {column: number for number, column in enumerate(header)}
    tables: dict[tuple[str, ...], dict[str, list[Cell]]] = {}
    for number, line in _rows(lines[1:], name):
        if len(line) < len(header):
            raise UsageError("a line of the CSV file is too short", where={"file": name, "line": number})
        matrix = line[at["matrix"]].strip()
        if matrix == "index":  # of a sparse instruction, as `layoutprobe layout` writes it
            continue
        if matrix not in MATRICES:
            raise UsageError(f"no matrix {matrix[:20]!r}", where={"file": name, "line": number})
        low = _whole(line[at["bit_lo"]], name, number)
        high = _whole(line[at["bit_hi"]], name, number) if "bit_hi" in at else 31
        values = [_whole(line[at[column]], name, number) for column in ("row", "col", "lane", "vgpr")]
        key = tuple(line[at[column]].strip() if column in at else "" for column in OF)
        cells = tables.setdefault(key, {}).setdefault(matrix, [])
        cells.append((values[0], values[1], values[2], values[3], low, high))
    return [
        ClaimSet(
            tuple(Cells(f"{matrix} of {name}", matrix, tuple(cells)) for matrix, cells in table.items()),
            name=" ".join(
                filter(
                    None,
                    (instruction, arch, f"wave{wave}" if wave else "", f"opsel {opsel}" if opsel else ""),
                )
            ),
            source=name,
            instruction=instruction.lower() or None,
            arch=arch or None,
            wave=_whole(wave, name, 0) if wave else None,
            opsel=_whole(opsel, name, 0) if opsel else None,
        )
        for (instruction, arch, wave, opsel), table in tables.items()
    ]


def _printed(lines: Sequence[str], above: Sequence[str], name: str) -> ClaimSet:
    registers = [_REGISTER.fullmatch(cell.strip().lower()) for cell in next(csv.reader(lines[:1]))[1:]]
    tables: dict[str, list[Cell]] = {}
    for number, line in _rows(lines[1:], name):
        lane = _whole(line[0], name, number)
        for register, text in zip(registers, line[1:], strict=False):
            found = _ELEMENT.fullmatch(text.strip())
            if register is None or found is None:
                if text.strip():
                    raise UsageError(
                        f"cannot read the cell {text.strip()[:30]!r}", where={"file": name, "line": number}
                    )
                continue
            high, low = int(register[2] or 31), int(register[3] or 0)
            cell = (int(found[2]), int(found[3]), lane, int(register[1]), low, high)
            tables.setdefault(found[1], []).append(cell)
    spoken = re.search(r"instruction\s*[:,]\s*(v_\w{1,60})", "\n".join(above), re.IGNORECASE)
    statements = tuple(Cells(f"{matrix} of {name}", matrix, tuple(cells)) for matrix, cells in tables.items())
    if not statements:
        raise UsageError("the CSV file names no element", where={"file": name})
    return ClaimSet(statements, source=name, instruction=spoken[1].lower() if spoken else None)


def _rows(lines: Sequence[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not empty, numbered; bounded."""
    if len(lines) > MAX_CELLS:
        raise UsageError(
            "the CSV file is too long", where={"file": name}, expected=f"at most {MAX_CELLS} lines"
        )
    try:
        for number, line in enumerate(csv.reader(io.StringIO("\n".join(lines))), 2):
            if any(cell.strip() for cell in line):
                yield number, line
    except csv.Error as error:
        raise UsageError("the CSV file cannot be read", where={"file": name}, observed=str(error)) from None


def _whole(text: str, name: str, line: int) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 7 or int(text) > MAX_NUMBER:
        raise UsageError(f"{text[:20]!r} is not a number", where={"file": name, "line": line})
    return int(text)
