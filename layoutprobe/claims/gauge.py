"""Does one renaming of rows, columns and k turn claims into what was solved?

Every slot of which a claim speaks gives one equation for each of its two axes: the line that the
claim names is the line that the instruction was found to have there. A renaming exists if these
equations are those of a permutation. Slots of A and B share k, slots of A, C and D the rows, and
slots of B, C and D the columns, so that claims made together must agree on one renaming.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from layoutprobe.claims.model import AXES_OF, COMPRESSED, LINE_NAMES, LINES_NAMES, Claimed, slot_name
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE

Slot = tuple[int, ...]
Key = tuple[str, int]
"""(axis, copy): copy is 0 unless every copy may be renamed by itself. "K" is the dense k; the columns of
a sparse A are COMPRESSED, renamed with the groups of the dense k and numbered otherwise."""


class Difference(Struct, frozen=True):
    """One slot in which a claim and what was solved differ.

    Attributes:
        claim: number of the claim.
        matrix: its matrix.
        slot: [wave, lane, vgpr, field].
        claimed, solved: the element in words.
        read: whether an output of the instruction depends on the slot.
    """

    claim: int
    matrix: str
    slot: Slot
    claimed: str
    solved: str
    read: bool


class Renaming(Struct):
    """Claimed line -> line of the instruction, where slots fix it."""

    lines: dict[Key, dict[int, int]] = field(default_factory=dict)

    @property
    def identity(self) -> bool:
        """Whether every line keeps its name."""
        return all(ours == theirs for lines in self.lines.values() for theirs, ours in lines.items())

    def changed(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Axis -> (claimed line, line of the instruction), for axes that are renamed."""
        return {
            axis: tuple(sorted(lines.items()))
            for (axis, _), lines in self.lines.items()
            if any(ours != theirs for theirs, ours in lines.items())
        }


class Conflict(Struct, frozen=True):
    """Why no renaming serves: two slots that no permutation can bring together, or one alone."""

    why: str


def slots_of(
    claimed: Claimed, matrix: str, solved: InstructionLayout, *, unread: bool = False
) -> Sequence[Slot]:
    """Slots that count: the claim speaks of them and an output reads them, or nothing belongs there.

    For C and D a slot without an element is known to have none. In A and B such a slot is one that
    no output was seen to read: nothing can be said about it.

    Args:
        claimed, matrix, solved: the claim, of which matrix, about which instruction.
        unread: copies count, too, of which only the documents say what belongs there.
    """
    live = solved.live[matrix]
    if unread:
        live = live | ~solved.operands[matrix].holes
    if matrix in "CD":
        live = live | solved.operands[matrix].holes
    return [tuple(map(int, slot)) for slot in np.argwhere(claimed.speaks & live)]


def renaming(
    claims: Sequence[tuple[str, Claimed]],
    solved: InstructionLayout,
    *,
    by_copy: bool = False,
    unread: bool = False,
) -> Renaming | Conflict:
    """The renaming that serves all claims in every slot that an output reads, or why there is none.

    Args:
        claims: (matrix, claim) pairs.
        solved: the instruction.
        by_copy: let every copy of an operand have a renaming of its own, where the gauge of the
            instruction allows it.
        unread: let it serve the copies, too, that no output was seen to read.
    """
    search = _Search(solved, by_copy)
    for matrix, claimed in claims:
        for slot in slots_of(claimed, matrix, solved, unread=unread):
            why = search.add(matrix, claimed, slot)
            if why:
                return Conflict(why)
    return search.found


class _Search:
    """Equations seen so far, with the slot that each came from."""

    def __init__(self, solved: InstructionLayout, by_copy: bool) -> None:
        self.solved = solved
        self.by_copy = by_copy
        self.found = Renaming()
        self._forward: dict[tuple[Key, int], tuple[int, str]] = {}
        self._back: dict[tuple[Key, int], tuple[int, str]] = {}

    def add(self, matrix: str, claimed: Claimed, slot: Slot) -> str:
        """Why the slot contradicts what came before, or ""."""
        operand = self.solved.operands[matrix]
        place = slot_name(slot, operand)
        theirs = int(claimed.row[slot]), int(claimed.col[slot])
        ours = int(operand.row[slot]), int(operand.col[slot])
        if ours[0] == HOLE or theirs[0] == HOLE:
            if ours[0] == theirs[0]:
                return ""
            return f"{place} holds {operand.element(slot)}; the claim says {_element(matrix, *theirs)}"
        for axis, extent, line, truth in zip(AXES_OF[matrix], operand.shape, theirs, ours, strict=True):
            name = LINE_NAMES[axis]
            if not 0 <= line < extent:
                return f"the claim names {name} {_number(line)} in {place}; {matrix} has {extent}"
            why = self._add_line(matrix, slot, (axis, extent), line, truth, place)
            if why:
                return why
        return ""

    def _add_line(
        self, matrix: str, slot: Slot, along: tuple[str, int], line: int, truth: int, place: str
    ) -> str:
        axis, extent = along
        gauge, kind = self.solved.gauge[axis], _kind(axis, extent, self.solved)
        name, names = LINE_NAMES[kind], LINES_NAMES[kind]
        if line != truth and not gauge.free:
            return f"{place} holds {name} {truth}, not {line}, and no {name} can be renamed"
        # Of a sparse K only groups of lines can be renamed; A holds half the lines of a group.
        unit = max(gauge.unit * extent // max(gauge.lines, 1), 1)
        if line % unit != truth % unit:
            return f"{place} holds {name} {truth}, not {line}: places within a group of {unit} are fixed"
        copy = int(self.solved.readers[matrix][slot]) if self.by_copy and gauge.copies > 1 else 0
        if copy and matrix in "CD":
            copy = 1 << slot[1] // 16
        key = (axis, copy)
        here = f"{place} ({matrix})"
        said = f"{name} {line}" if unit == 1 else f"group {line // unit} of {LINES_NAMES[axis]}"
        ours, before = self._forward.setdefault((key, line // unit), (truth // unit, here))
        if ours != truth // unit:
            return f"the claim puts {said} into {before} and into {here}, which have different {names}"
        theirs, before = self._back.setdefault((key, truth // unit), (line // unit, here))
        if theirs != line // unit:
            return f"the claim names different {names} in {before} and in {here}, which have the same {name}"
        for offset in range(unit):
            lines = self.found.lines.setdefault((kind, copy), {})
            lines[line // unit * unit + offset] = truth // unit * unit + offset
        return ""


def first_difference(
    claims: Sequence[tuple[str, Claimed]], solved: InstructionLayout, names: Renaming | None = None
) -> tuple[Difference | None, int, int]:
    """The first slot in which claims differ, how many do, and of how many they speak.

    Args:
        claims: (matrix, claim) pairs.
        solved: the instruction.
        names: renaming to apply to the claims; slots that no output reads then count, too.
    """
    first: Difference | None = None
    differing = spoken = 0
    for number, (matrix, claimed) in enumerate(claims):
        operand = solved.operands[matrix]
        row, col = claimed.row.copy(), claimed.col.copy()
        if names is not None:
            row, col = (
                _renamed(values, names, _kind(axis, extent, solved))
                for values, axis, extent in zip((row, col), AXES_OF[matrix], operand.shape, strict=True)
            )
        wrong = claimed.speaks & ((row != operand.row) | (col != operand.col))
        if names is not None and matrix in "AB":
            wrong &= ~operand.holes  # the documents ask for nothing there
        spoken += int(claimed.speaks.sum())
        differing += int(wrong.sum())
        if first is None and wrong.any():
            slot = tuple(map(int, np.argwhere(wrong)[0]))
            said = _element(matrix, int(claimed.row[slot]), int(claimed.col[slot]))
            read = bool(solved.live[matrix][slot])
            first = Difference(number, matrix, slot, said, operand.element(slot), read)
    return first, differing, spoken


def _kind(axis: str, extent: int, solved: InstructionLayout) -> str:
    """Which lines those of an operand are: a sparse A has half as many along k as there are k."""
    return COMPRESSED if extent != solved.gauge[axis].lines else axis


def _renamed(values: np.ndarray, names: Renaming, axis: str) -> np.ndarray:
    lines = names.lines.get((axis, 0), {})
    out = values.copy()
    for theirs, ours in lines.items():
        out[values == theirs] = ours
    return out


def _number(line: int) -> str:
    return str(line) if line < 1 << 32 else "below 0"


def _element(matrix: str, row: int, col: int) -> str:
    return f"no element of {matrix}" if row == HOLE else f"{matrix}[{_number(row)}][{_number(col)}]"
