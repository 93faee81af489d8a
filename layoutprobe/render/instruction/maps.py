"""A picture of a layout: one panel for each group of 16 lanes, lanes down, VGPRs and fields across.

Made for a page or a slide: one colour per row (or column, or k), an element in every cell, both
half-waves beside each other (below each other where that is too wide for a page), a legend, and the
evidence. Colours follow the reader's light or dark theme unless one is asked for; every mark is also a
letter or a shape.
"""

from __future__ import annotations

import colorsys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

import numpy as np

from layoutprobe.layouts.dialects import closed_forms
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, UNKNOWN, Layout
from layoutprobe.layouts.queries import copies_text
from layoutprobe.render.instruction.words import Shown, title
from layoutprobe.render.svg_text import MONO, SANS, safe

THEMES = ("auto", "light", "dark")
COLOURS = ("auto", "row", "col", "k")
GROUP = 16
CELL_WIDTHS = {1: 46, 2: 42, 4: 42, 8: 42}
ROW, LEFT, GAP, BETWEEN, EDGE = 22, 40, 6, 26, 28
LINE = 20
WIDEST = 1000
"""Pixels that a page or a slide shows without scrolling."""
GLYPH = 7.4
"""Pixels of a wide-set character; lines are broken early rather than late, as fonts differ."""

HATCH = (
    '<defs><pattern id="lm-unread" width="6" height="6" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/></pattern></defs>\n'
)


def _hue(index: int, of: int, lightness: tuple[float, float], saturation: float) -> str:
    rgb = colorsys.hls_to_rgb(index / max(of, 1), lightness[index % 2], saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in rgb)


def _theme(dark: bool, lines: int) -> str:
    """Rules of one theme."""
    ink, soft, paper, edge = (
        ("#e6edf3", "#9198a1", "#0d1117", "#6e7681") if dark else ("#1f2328", "#57606a", "#ffffff", "#8c959f")
    )
    lightness, saturation = ((0.21, 0.28), 0.5) if dark else ((0.78, 0.87), 0.65)
    rules = [
        f".lm {{ fill: {ink}; }} .lm .paper {{ fill: {paper}; }} .lm .soft {{ fill: {soft}; }}",
        f".lm .hole {{ fill: none; stroke: {edge}; stroke-dasharray: 2 2; }} .lm .hatch {{ stroke: {ink}; }}",
    ]
    rules += [f".lm .c{n} {{ fill: {_hue(n, lines, lightness, saturation)}; }}" for n in range(lines)]
    return "\n".join(rules)


def style(theme: str, lines: int) -> str:
    """The style sheet of pictures with so many colours."""
    base = (
        f".lm {{ font: 13px {SANS}; }}\n.lm .title {{ font-size: 19px; font-weight: 600; }}\n"
        f".lm .part {{ font-size: 15px; font-weight: 600; }}\n.lm .form {{ font: 13px {MONO}; }}\n"
        f".lm .head {{ font-size: 12px; text-anchor: middle; }}\n"
        f".lm .lane {{ font: 11px {MONO}; text-anchor: end; }}\n"
        f".lm .el {{ font: 11px {MONO}; text-anchor: middle; }}\n"
        ".lm .hatch { stroke-width: 1.2; }\n"
    )
    if theme != "auto":
        return base + _theme(theme == "dark", lines)
    return f"{base}{_theme(False, lines)}\n@media (prefers-color-scheme: dark) {{\n{_theme(True, lines)}\n}}"


@dataclass(frozen=True)
class Map:
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
    solved = shown.solved
    maps = maps_of(solved, shown.matrices, shown.colour)
    stream.write(picture(solved, maps, title(solved), theme=shown.theme))


def picture(
    solved: InstructionLayout,
    maps: Sequence[Map],
    title: str,
    *,
    theme: str = "auto",
    header: bool = True,
) -> str:
    """A self-contained SVG: no script, no font or image from elsewhere.

    Args:
        solved: the instruction.
        maps: what to draw, from top to bottom.
        title: the heading.
        theme: one of THEMES.
        header: with title and evidence; a page that says them already leaves them out.
    """
    return "".join(_Picture(solved, maps, title, theme, header).parts())


class _Picture:
    """Measures of a picture, and its parts from top to bottom."""

    def __init__(
        self, solved: InstructionLayout, maps: Sequence[Map], title: str, theme: str, header: bool
    ) -> None:
        self.solved, self.maps, self.title, self.theme, self.header = solved, maps, title, theme, header
        self.panels = [_Panels(solved, drawn) for drawn in maps]
        self.width = max([panels.width for panels in self.panels] + [760])
        self.lines = max(panels.lines for panels in self.panels)

    def parts(self) -> Iterator[str]:
        body: list[str] = []
        y = EDGE if self.header else 4
        if self.header:
            body.append(_text(EDGE, y + 12, self.title, "title"))
            y += 18 + 12
            for line in self._wrapped(f"evidence: {self.solved.evidence}"):
                body.append(_text(EDGE, y + 10, line, "soft"))
                y += LINE
        for panels in self.panels:
            drawn, y = panels.draw(y + (22 if panels is not self.panels[0] else 6), self.header)
            body += drawn
        height = y + EDGE - 8
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lm" viewBox="0 0 {self.width} {height}"'
            f' width="{self.width}" height="{height}" role="img" aria-label="{safe(self.title)}">\n'
            f"<title>{safe(self.title)}</title>\n<style>\n{style(self.theme, self.lines)}\n</style>\n{HATCH}"
            f'<rect width="{self.width}" height="{height}" rx="8" class="paper"/>\n'
        )
        yield from body
        yield "</svg>\n"

    def _wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(text, int((self.width - 2 * EDGE) / GLYPH)) or [""]


class _Panels:
    """The panels of one operand: two groups of 16 lanes in a row, or one where two are too wide."""

    def __init__(self, solved: InstructionLayout, drawn: Map) -> None:
        self.drawn = drawn
        self.layout: Layout = solved.operands[drawn.matrix]
        self.live = solved.live[drawn.matrix]
        self.lines = self.layout.shape[drawn.by_col]
        self.cell = CELL_WIDTHS.get(self.layout.fields, 42)
        self.group = self.cell * self.layout.fields + GAP
        self.panel = LEFT + self.group * self.layout.vgprs
        both = 2 * EDGE + 2 * self.panel + BETWEEN
        self.beside = 2 if both <= WIDEST else 1
        self.width = both if self.beside == 2 else 2 * EDGE + self.panel

    def draw(self, top: int, heading: bool) -> tuple[list[str], int]:
        """Parts, and where they end."""
        layout, drawn = self.layout, self.drawn
        parts, y = [], top
        if heading:
            name = f"{drawn.name}: {layout.shape[0]} x {layout.shape[1]}"
            forms = closed_forms(layout, ("formula",))
            parts.append(_text(EDGE, top + 16, name, "part"))
            parts += [_text(EDGE + 12 + 9 * len(name), top + 16, form.text, "form") for form in forms]
            y += 38
        for first in range(0, layout.lanes, self.beside * GROUP):
            for side in range(self.beside):
                lanes = range(first + side * GROUP, min(first + (side + 1) * GROUP, layout.lanes))
                parts += self._panel(EDGE + side * (self.panel + BETWEEN), y, lanes)
            y += 36 + ROW * GROUP + 14
        return [*parts, *self._legend(y)], y + 26 + 18 * len(self._notes())

    def _panel(self, x: int, y: int, lanes: range) -> Iterator[str]:
        if not lanes:
            return
        layout = self.layout
        yield _text(x, y + 12, "lane", "soft")
        for vgpr in range(layout.vgprs):
            middle = x + LEFT + self.group * vgpr + (self.group - GAP) / 2
            yield _text(middle, y + 12, f"v{vgpr}", "head")
            for field in range(layout.fields):
                at = x + LEFT + self.group * vgpr + self.cell * (field + 0.5)
                yield _text(at, y + 27, _field_head(layout, field), "head soft")
        for position, lane in enumerate(lanes):
            top = y + 34 + ROW * position
            yield _text(x + LEFT - 10, top + 15, str(lane), "lane soft")
            for vgpr in range(layout.vgprs):
                for field in range(layout.fields):
                    at = x + LEFT + self.group * vgpr + self.cell * field
                    yield from self._slot((0, lane, vgpr, field), at, top)

    def _slot(self, slot: tuple[int, ...], x: int, y: int) -> Iterator[str]:
        row, col = int(self.layout.row[slot]), int(self.layout.col[slot])
        box = f'x="{x}" y="{y}" width="{self.cell - 2}" height="{ROW - 2}" rx="3"'
        if row == HOLE:
            yield f'<rect {box} class="hole"/>\n'
            return
        line = col if self.drawn.by_col else row
        yield f'<rect {box} class="{"hole" if line == UNKNOWN else f"c{line}"}"/>\n'
        if not self.live[slot]:
            yield f'<rect {box} fill="url(#lm-unread)" opacity="0.4"/>\n'
        text = ",".join("?" if at == UNKNOWN else str(at) for at in (row, col))
        yield _text(x + (self.cell - 2) / 2, y + 14, text, "el")

    def _legend(self, y: int) -> Iterator[str]:
        label = f"{self.drawn.axis}:"
        yield _text(EDGE, y + 14, label, "soft")
        x = EDGE + 10 + round(GLYPH * len(label))
        width = 26 if self.lines <= 32 else 8
        for line in range(self.lines):
            yield f'<rect x="{x}" y="{y}" width="{width - 2}" height="20" rx="3" class="c{line}"/>\n'
            if width > 20:
                yield _text(x + (width - 2) / 2, y + 14, str(line), "el")
            x += width
        for number, note in enumerate(self._notes()):
            yield _text(EDGE, y + 38 + 18 * number, note, "soft")

    def _notes(self) -> list[str]:
        """The legend's sentences."""
        layout = self.layout
        notes = [f"a cell shows row,column of the element of {self.drawn.name} that it holds"]
        if copies := copies_text(layout):
            notes[0] += f"; {copies}"
        if layout.holes.any():
            notes.append("dashed: holds no element")
        if (~layout.holes & ~self.live).any():
            notes.append("hatched: a copy that no output of the instruction was seen to read")
        return notes


def _field_head(layout: Layout, field: int) -> str:
    if layout.fields == 1:
        return ""
    if layout.fields == 2:
        return ("lo", "hi")[field]
    low = field * layout.field_bits
    return f"{low + layout.field_bits - 1}:{low}"


def _text(x: float, y: float, text: str, css: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{css}">{safe(text)}</text>\n' if text else ""
