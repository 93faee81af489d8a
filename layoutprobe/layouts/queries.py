"""Single questions to a layout: where is an element, and what is in a slot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout, field_name

_ELEMENT = re.compile(r"\s*(A|B|C|D|index)\s*\[\s*(\d{1,5})\s*\]\s*\[\s*(\d{1,5})\s*\]\s*")
_SLOT = re.compile(
    r"\s*(A|B|C|D|index)\s*:\s*v(\d{1,4})"
    r"(?:\.(lo|hi|low|high|\d{1,2}|\[\d{1,2}:\d{1,2}\]))?\s*@\s*(?:lane\s*)?(\d{1,4})\s*"
)


@dataclass(frozen=True)
class NamedSlot:
    """One slot and what it holds.

    Attributes:
        lane, vgpr, low, high: the slot; its bits are [low, high].
        name: the slot as `--slot` takes it: "v2.hi@19".
        element: what it holds: "A[3][5]", "no element of D".
        read: whether an output of the instruction was seen to depend on it.
    """

    lane: int
    vgpr: int
    low: int
    high: int
    name: str
    element: str
    read: bool


@dataclass(frozen=True)
class Answer:
    """A question and the slots that answer it.

    Attributes:
        question: as it was asked.
        matrix: the operand.
        places: slots, by lane.
    """

    question: str
    matrix: str
    places: tuple[NamedSlot, ...]


def where_is(solved: InstructionLayout, text: str) -> Answer:
    """Every slot that holds an element, given as "A[3][5]".

    Raises:
        UsageError: not an element of an operand of the instruction.
    """
    match = _ELEMENT.fullmatch(text)
    if match is None:
        raise UsageError(f"{text[:40]!r} is no element", expected="such as A[3][5]")
    layout = _operand(solved.operands, match[1])
    row, col = int(match[2]), int(match[3])
    if row >= layout.shape[0] or col >= layout.shape[1]:
        rows, cols = layout.shape
        raise UsageError(f"there is no {text.strip()}: {match[1]} has {rows} rows and {cols} columns")
    slots = np.argwhere((layout.row == row) & (layout.col == col))
    return Answer(text.strip(), match[1], tuple(slot_of(solved, match[1], tuple(slot)) for slot in slots))


def what_is(solved: InstructionLayout, text: str) -> Answer:
    """What a slot holds, given as "A:v2.hi@19"; without a part all fields of the VGPR.

    Raises:
        UsageError: not a slot of an operand of the instruction.
    """
    match = _SLOT.fullmatch(text)
    if match is None:
        raise UsageError(f"{text[:40]!r} is no slot", expected="such as A:v2.hi@19: v2, high half, lane 19")
    layout = _operand(solved.operands, match[1])
    vgpr, lane = int(match[2]), int(match[4])
    if lane >= layout.lanes or vgpr >= layout.vgprs:
        raise UsageError(
            f"there is no {text.strip()}",
            expected=f"lanes 0 to {layout.lanes - 1}, v0 to v{layout.vgprs - 1}",
        )
    fields = range(layout.fields) if match[3] is None else [_field(layout, match[3])]
    places = tuple(slot_of(solved, match[1], (0, lane, vgpr, field)) for field in fields)
    return Answer(text.strip(), match[1], places)


def slot_of(solved: InstructionLayout, matrix: str, slot: tuple[int, ...]) -> NamedSlot:
    """A slot by its names."""
    layout = solved.operands[matrix]
    _, lane, vgpr, field = (int(at) for at in slot)
    low = field * layout.field_bits
    part = part_name(layout, field)
    name = f"v{vgpr}{part}@{lane}"
    read = bool(solved.live[matrix][tuple(slot)])
    return NamedSlot(lane, vgpr, low, low + layout.field_bits - 1, name, layout.element(slot), read)


def part_name(layout: Layout, field: int) -> str:
    """ ".lo", ".hi", ".[15:8]", or "" where a VGPR has one field."""
    if layout.fields == 1:
        return ""
    if layout.fields == 2:
        return (".lo", ".hi")[field]
    low = field * layout.field_bits
    return f".[{low + layout.field_bits - 1}:{low}]"


def copies_text(layout: Layout) -> str:
    """How often elements are held, in words: "every element in 2 slots"; "" where once each."""
    held = layout.row != HOLE
    codes = layout.row[held].astype(np.int64) * layout.shape[1] + layout.col[held]
    counts = set(np.bincount(codes, minlength=layout.shape[0] * layout.shape[1]).tolist())
    if len(counts) == 1:
        return "" if counts == {1} else f"every element sits in {counts.pop()} lanes"
    return f"an element sits in {min(counts)} to {max(counts)} slots"


def _operand(operands: Mapping[str, Layout], matrix: str) -> Layout:
    if matrix not in operands:
        raise UsageError(f"the instruction has no operand {matrix}", expected=", ".join(operands))
    return operands[matrix]


def _field(layout: Layout, part: str) -> int:
    """Number of a field by its name."""
    names = [part_name(layout, field) for field in range(layout.fields)]
    wrong = UsageError(
        f"a VGPR of this operand has no part {part!r}",
        expected=", ".join(names) if names[0] else "no part: an element fills the VGPR, or several",
        hint=f"or the number of the {field_name(layout.field_bits)}" if names[0] else f"leave .{part} out",
    )
    if part in ("lo", "low", "hi", "high"):
        if layout.fields != 2:
            raise wrong
        return int(part[0] == "h")
    if part.startswith("["):
        high, low = (int(number) for number in part[1:-1].split(":"))
        field, rest = divmod(low, layout.field_bits)
        if rest or high != low + layout.field_bits - 1 or high > 31:
            raise wrong
        return field
    if int(part) >= layout.fields:
        raise wrong
    return int(part)
