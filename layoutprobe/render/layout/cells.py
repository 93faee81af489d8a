"""How one register is written down: `3,6/7`, `!0,3/1,3`, `·`.

A coordinate that the patterns leave open is a question mark. The notation has to let 16 lanes
x 8 VGPRs x 2 halves stand in 80 columns. Elements are row,col; a slash parts the low half from the
high half; what both have in common is written once.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.render.look import Glyphs, Mark


def cell(rows: Sequence[int], cols: Sequence[int], marks: Sequence[int], glyphs: Glyphs) -> str:
    """Text of one VGPR of one lane.

    One wrong field marks the whole register, since the line below it says what is needed; weaker
    marks stand at their own field where the fields differ.

    Args:
        rows, cols: element of each field, lowest bits first; HOLE for none.
        marks: Mark of each field.
        glyphs: characters to use.
    """
    alike = len(set(marks)) == 1
    if Mark.MISMATCH in marks:
        return glyphs.mark(Mark.MISMATCH) + _elements(rows, cols, ("",) * len(rows), glyphs)
    if alike:
        return glyphs.mark(marks[0]) + _elements(rows, cols, ("",) * len(rows), glyphs)
    return _elements(rows, cols, [glyphs.mark(mark) for mark in marks], glyphs)


def _elements(rows: Sequence[int], cols: Sequence[int], signs: Sequence[str], glyphs: Glyphs) -> str:
    """Elements of the fields; without signs of their own, a common row or column is written once."""
    if not any(signs):
        if set(rows) == {HOLE}:
            return glyphs.hole
        if set(rows) == set(cols) == {UNKNOWN}:
            return "?"
        if len(rows) > 1 and HOLE not in rows and len(set(rows)) == 1:
            return f"{_number(rows[0])},{_joined(cols)}"
        if len(rows) > 1 and HOLE not in rows and len(set(cols)) == 1:
            return f"{_joined(rows)},{_number(cols[0])}"
    return "/".join(
        sign + element(row, col, glyphs) for row, col, sign in zip(rows, cols, signs, strict=True)
    )


def element(row: int, col: int, glyphs: Glyphs) -> str:
    """ "3,6", "3,?" where the column is not known, "?" where nothing is, a hole's sign."""
    if row == HOLE:
        return glyphs.hole
    return "?" if row == col == UNKNOWN else f"{_number(row)},{_number(col)}"


def _number(number: int) -> str:
    return "?" if number == UNKNOWN else str(number)


def _joined(numbers: Sequence[int]) -> str:
    """ "6/7" for two fields; "0..3" for a longer ascending run."""
    first = numbers[0]
    if len(numbers) > 2 and list(numbers) == list(range(first, first + len(numbers))):
        return f"{first}..{numbers[-1]}"
    return "/".join(map(_number, numbers))


def explain(matrix: str, rows: Sequence[int], cols: Sequence[int], bits: int, text: str) -> str:
    """The notation in words, with one cell of the table as the example."""
    names = [f"{matrix}[{row}][{col}]" for row, col in zip(rows, cols, strict=True)]
    if len(names) == 1:
        return f"{text} is {names[0]}"
    if len(names) == 2:
        return f"{text} is {names[0]} in the low half, {names[1]} in the high half"
    top = bits * len(names)
    return (
        f"{text} is {names[0]} in bits 0-{bits - 1}, and so on to {names[-1]} in bits {top - bits}-{top - 1}"
    )


def number_list(numbers: Sequence[int], dash: str = "-") -> str:
    """ "0-3, 16": ascending numbers with runs of three and more shortened."""
    parts: list[str] = []
    start = 0
    for i in range(1, len(numbers) + 1):
        if i < len(numbers) and numbers[i] == numbers[i - 1] + 1:
            continue
        run = numbers[start:i]
        parts += [f"{run[0]}{dash}{run[-1]}"] if len(run) > 2 else [str(n) for n in run]
        start = i
    return ", ".join(parts)
