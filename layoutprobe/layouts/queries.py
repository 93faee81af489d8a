"""Single questions to a layout: where is an element, and what is in a slot."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout, field_name

_ELEMENT = re.compile(r"\s*(A|B|C|D|index)\s*\[\s*(\d{1,5})\s*\]\s*\[\s*(\d{1,5})\s*\]\s*")
_SLOT = re.compile(
    r"\s*(A|B|C|D|index)\s*:\s*(v(\d{1,4})(?:-\d{1,4})?"
    r"(?:\.(lo|hi|low|high|\d{1,2}|\[\d{1,2}:\d{1,2}\]))?(?:\+v\d{1,4}\.\[\d{1,2}:\d{1,2}\])?)"
    r"\s*@\s*(?:lane\s*)?(\d{1,4})\s*"
)


class NamedSlot(Struct, frozen=True):
    """One slot and what it holds.

    Attributes:
        lane: of the wave.
        vgpr: the register in which it begins, counted within the operand.
        low, high: its bits, from those of that register on; beyond 31 they are those of the next.
        name: the slot as `--slot` takes it: "v2.hi@19", "v2-3@19", "v0.[31:30]+v1.[3:0]@19".
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


class Answer(Struct, frozen=True):
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
    register, lane = int(match[3]), int(match[5])
    if lane >= layout.lanes or register >= layout.vgprs * layout.registers:
        raise UsageError(
            f"there is no {text.strip()}",
            expected=f"lanes 0 to {layout.lanes - 1}, v0 to v{layout.vgprs * layout.registers - 1}",
        )
    slots = _slots_in(layout, register, match[2], match[4])
    places = tuple(slot_of(solved, match[1], (0, lane, *slot)) for slot in slots)
    return Answer(text.strip(), match[1], places)


def slot_of(solved: InstructionLayout, matrix: str, slot: tuple[int, ...]) -> NamedSlot:
    """A slot by its names."""
    layout = solved.operands[matrix]
    _, lane, vgpr, field = (int(at) for at in slot)
    first, low, _ = layout.pieces(vgpr, field)[0]
    name = f"{layout.slot_name(vgpr, field)}@{lane}"
    read = bool(solved.live[matrix][tuple(slot)])
    return NamedSlot(lane, first, low, low + layout.field_bits - 1, name, layout.element(slot), read)


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


def _slots_in(layout: Layout, register: int, name: str, part: str | None) -> list[tuple[int, int]]:
    """(vgpr, field) of the slots that lie in a register, or of the one that is named.

    Raises:
        UsageError: the register has no such part.
    """
    vgpr = register // layout.registers
    slots = [
        (vgpr, field)
        for field in range(layout.fields)
        if register in (piece.register for piece in layout.pieces(vgpr, field))
    ]
    known = {f"v{register}": slots} | {layout.slot_name(*slot): [slot] for slot in slots}
    whole = layout.field_bits % 32 == 0
    for number, slot in enumerate(slots if not whole else ()):
        here = next(piece for piece in layout.pieces(*slot) if piece.register == register)
        known[f"v{register}.[{here.high}:{here.low}]"] = [slot]
        if layout.registers == 1:
            known[f"v{register}.{number}"] = [slot]
    if layout.fields == 2:
        known |= {f"v{register}.low": slots[:1], f"v{register}.high": slots[1:]}
    if name not in known:
        raise UsageError(
            f"a VGPR of this operand has no part {part!r}" if part else f"no slot is named {name}",
            expected="no part: an element fills the VGPR, or several" if whole and part
            else ", ".join(layout.slot_name(*slot) for slot in slots),
            hint=f"leave .{part} out" if whole and part
            else f"or the number of the {field_name(layout.field_bits)}" if layout.registers == 1 else "",
        )  # fmt: skip
    return known[name]
