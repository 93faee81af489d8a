"""A solved instruction as a picture: a lane x VGPR grid for each operand, made for a page or a slide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.layouts.dialects import closed_forms
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.layouts.queries import copies_text
from layoutprobe.render.instruction.words import Shown, title
from layoutprobe.render.layout.cells import element
from layoutprobe.render.look import UNICODE
from layoutprobe.render.svg import LaneGrid, Slot, field_names, panel_of
from layoutprobe.render.svg import picture as draw


class Map(Struct, frozen=True):
    """One operand, ready to be drawn.

    Attributes:
        name: "A", or "C and D" where they are laid out alike.
        matrix: key of the operand.
        by_col: colour by column, else by row.
        axis: what the colours stand for, in words.
    """

    name: str
    matrix: str
    by_col: bool
    axis: str


def maps_of(solved: InstructionLayout, matrices: Sequence[str], colour: str = "auto") -> list[Map]:
    """What to draw; C and D become one map where they are equal."""
    names = list(matrices)
    merged = (
        "C" in names
        and "D" in names
        and np.array_equal(
            np.stack([solved.operands["C"].row, solved.operands["C"].col]),
            np.stack([solved.operands["D"].row, solved.operands["D"].col]),
        )
    )
    if merged:
        names.remove("C")
    maps = [_map(matrix, "C and D" if merged and matrix == "D" else matrix, colour) for matrix in names]
    return [
        replace(drawn, axis=f"compressed {drawn.axis}")
        if solved.sparse and drawn.matrix in ("A", "index") and drawn.by_col
        else drawn
        for drawn in maps
    ]


def _map(matrix: str, name: str, colour: str) -> Map:
    by_col = matrix == "B"  # auto: the index that tells the lanes of A and B apart
    if colour == "k" and matrix not in ("C", "D"):
        by_col = matrix != "B"
    elif colour in ("row", "col"):
        by_col = colour == "col"
    axes = {"A": ("row", "k"), "B": ("k", "column"), "index": ("row", "k")}.get(matrix, ("row", "column"))
    return Map(name, matrix, by_col, f"{axes[by_col]} of {name}")


def write(shown: Shown, stream: TextIO) -> None:
    """Write one picture of all operands that are shown."""
    maps = maps_of(shown.solved, shown.matrices, shown.colour)
    stream.write(picture(shown.solved, maps, title(shown.solved), theme=shown.theme))


def picture(
    solved: InstructionLayout,
    maps: Sequence[Map],
    title: str,
    *,
    theme: str = "auto",
    header: bool = True,
) -> str:
    """The SVG of some operands.

    Args:
        solved: the instruction.
        maps: what to draw, from top to bottom.
        title: the heading.
        theme: as of `svg.picture`.
        header: with title and evidence; a page that says them already leaves them out.
    """
    above = [(title, "title"), (f"evidence: {solved.evidence}", "soft")] if header else []
    grids = [_grid(solved, drawn, header) for drawn in maps]
    return draw(title, grids, header=above, theme=theme)


def _grid(solved: InstructionLayout, drawn: Map, heading: bool) -> LaneGrid:
    layout = solved.operands[drawn.matrix]
    above: list[tuple[str, str]] = []
    if heading:
        above = [(f"{drawn.name}: {layout.shape[0]} x {layout.shape[1]}", "part")]
        above += [(form.text, "mono") for form in closed_forms(layout, ("formula",))]
    slots = [
        [
            [_slot(solved, drawn, (0, lane, vgpr, field)) for field in range(layout.fields)]
            for vgpr in range(layout.vgprs)
        ]
        for lane in range(layout.lanes)
    ]
    return LaneGrid(
        range(layout.lanes),
        tuple(map(layout.register_name, range(layout.vgprs))),
        field_names(layout.fields, layout.field_bits),
        slots,
        panel_of(layout),
        range(layout.shape[drawn.by_col]),
        drawn.axis,
        above,
        _notes(solved, drawn),
    )


def _slot(solved: InstructionLayout, drawn: Map, at: tuple[int, ...]) -> Slot:
    layout = solved.operands[drawn.matrix]
    row, col = int(layout.row[at]), int(layout.col[at])
    line = col if drawn.by_col else row
    hole = row == HOLE
    return Slot(
        "" if hole else element(row, col, UNICODE),
        None if hole or line == UNKNOWN else line,
        hatched=not hole and not solved.live[drawn.matrix][at],
        hole=hole,
    )


def _notes(solved: InstructionLayout, drawn: Map) -> list[str]:
    """The legend's sentences."""
    layout, live = solved.operands[drawn.matrix], solved.live[drawn.matrix]
    notes = [f"a cell shows row,column of the element of {drawn.name} that it holds"]
    if copies := copies_text(layout):
        notes[0] += f"; {copies}"
    if layout.holes.any():
        notes.append("dashed: holds no element")
    if (~layout.holes & ~live).any():
        notes.append("hatched: a copy that no output of the instruction was seen to read")
    return notes
