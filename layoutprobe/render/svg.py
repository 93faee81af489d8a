"""Pictures: the sheet that they are drawn on, and the one picture of a lane x VGPR grid.

A picture is a column of blocks: grids, maps of LDS, whatever knows its width and draws itself below
the last one. Colours follow the reader's light or dark theme unless one is asked for, and every mark is
also a shape or a letter, for those who do not see the colours. No script, no font or image from
elsewhere.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
from msgspec import Struct

from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.render.html import safe
from layoutprobe.render.look import MONO, PALETTE, SANS, TONES, tint

EDGE, LINE, TITLE_LINE = 28, 20, 25
NARROWEST, WIDEST = 760, 1000
"""Pixels: no picture is narrower; panels lie beside each other where both fit the wider."""

GLYPHS = {"title": 12.0, "mono": 7.9, "holds": 8.2, "finding": 8.2, "undecided": 8.2, "": 7.3}
"""Pixels of a wide-set character; lines are broken early rather than late, as fonts differ."""

LEFT, HEAD, ROW, NEEDS_ROW, GAP, BETWEEN = 40, 34, 22, 34, 6, 26
SLOT_GLYPH = 6.7
NARROWEST_SLOT = 40
SHORTEST = 16
"""Lanes of a panel, at least."""


class Block(Protocol):
    """Something on a sheet."""

    @property
    def width(self) -> int:
        """Pixels that it takes, without the sheet's edges."""
        ...

    def draw(self, sheet: Sheet) -> None:
        """Draw itself at the sheet's cursor, and move the cursor below."""
        ...


class Sheet:
    """What was drawn so far, and where the next block goes.

    Attributes:
        y: the cursor.
        width: of the whole picture.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.y = EDGE
        self._parts: list[str] = []
        self._colours: set[tuple[int, int]] = set()
        self._hatched = False

    def text(self, x: float, y: float, text: str, css: str = "") -> None:
        """One line of text."""
        if text:
            self._parts.append(f'<text x="{x:g}" y="{y:g}" class="{css}">{safe(text)}</text>\n')

    def sentences(self, lines: Iterable[tuple[str, str]]) -> None:
        """(text, class) pairs below each other, broken where they are too long."""
        for text, css in lines:
            glyph = GLYPHS.get(css.split()[0] if css else "", GLYPHS[""])
            step = TITLE_LINE if css == "title" else LINE
            for part in textwrap.wrap(text, int((self.width - 2 * EDGE) / glyph)):
                self.text(EDGE, self.y + 12, part, css)
                self.y += step

    def box(self, x: float, y: float, width: float, height: float, css: str, note: str = "") -> None:
        """A rectangle of that class; `note` is shown when the reader points at it."""
        title = f"<title>{safe(note)}</title>" if note else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" class="{css}"'
            + (f">{title}</rect>\n" if title else "/>\n")
        )

    def colour(self, index: int, of: int) -> str:
        """Class of a box in the colour of line `index` of `of`."""
        self._colours.add((index, of))
        return f"c{of}-{index}"

    def hatch(self, x: float, y: float, width: float, height: float) -> None:
        """Lines across a box."""
        self._hatched = True
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="url(#lp-hatch)"'
            ' opacity="0.4"/>\n'
        )

    def svg(self, title: str, theme: str) -> str:
        """The whole picture."""
        height = self.y + EDGE - 8
        hatch = (
            '<defs><pattern id="lp-hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/></pattern></defs>\n'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lp" viewBox="0 0 {self.width} {height:g}"'
            f' width="{self.width}" height="{height:g}" role="img" aria-label="{safe(title)}">\n'
            f"<title>{safe(title)}</title>\n<style>\n{self._style(theme)}\n</style>\n"
            f"{hatch if self._hatched else ''}"
            f'<rect width="{self.width}" height="{height:g}" rx="8" class="paper"/>\n'
            f"{''.join(self._parts)}</svg>\n"
        )

    def _style(self, theme: str) -> str:
        base = (
            f".lp {{ font: 13px {SANS}; }}\n.lp .title {{ font-size: 18px; font-weight: 600; }}\n"
            f".lp .part {{ font-size: 15px; font-weight: 600; }}\n.lp .mono {{ font: 13px {MONO}; }}\n"
            ".lp .holds, .lp .finding, .lp .undecided { font-weight: 600; }\n"
            ".lp .head { font-size: 12px; text-anchor: middle; }\n.lp .left { text-anchor: start; }\n"
            f".lp .lane {{ font: 11px {MONO}; text-anchor: end; }}\n"
            f".lp .el, .lp .need, .lp .key {{ font: 11px {MONO}; text-anchor: middle; }}\n"
            ".lp .bad { font-weight: 700; }\n.lp .wrong { stroke-width: 1.5; }\n"
            ".lp .hole { fill: none; stroke-dasharray: 2 2; }\n.lp .hatch { stroke-width: 1.2; }\n"
        )
        if theme != "auto":
            return base + self._theme(theme)
        dark = self._theme("dark")
        return f"{base}{self._theme('light')}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"

    def _theme(self, theme: str) -> str:
        """Rules of one theme."""
        p = PALETTE[theme]
        rules = [
            f".lp {{ fill: {p['ink']}; }} .lp .paper {{ fill: {p['paper']}; }} .lp .soft {{ fill: {p['soft']}; }}",
            f".lp .hole {{ stroke: {p['off']}; }} .lp .hatch {{ stroke: {p['ink']}; }}",
            f".lp .wrong {{ stroke: {p['bad']}; }} .lp .bad {{ fill: {p['wrong']}; }}",
            f".lp .need {{ fill: {p['right']}; }}",
            *(f".lp text.{word} {{ fill: {p[tone]}; }}" for word, tone in TONES.items()),
        ]
        rules += [f".lp .c{of}-{n} {{ fill: {tint(n, of, theme)}; }}" for n, of in sorted(self._colours)]
        return "\n".join(rules)


def picture(
    title: str, blocks: Sequence[Block], *, header: Sequence[tuple[str, str]] = (), theme: str = "auto"
) -> str:
    """A self-contained SVG.

    Args:
        title: what it shows, for those who cannot see it.
        blocks: from top to bottom.
        header: (text, class) pairs above them; none where a page says them already.
        theme: "light", "dark", or "auto": as the reader's.
    """
    sheet = Sheet(max([NARROWEST, *(block.width + 2 * EDGE for block in blocks)]))
    if header:
        sheet.sentences(header)
        sheet.y += 8
    else:
        sheet.y = 6
    for number, block in enumerate(blocks):
        sheet.y += 22 if number else 0
        block.draw(sheet)
    return sheet.svg(title, theme)


class Slot(Struct, frozen=True):
    """What a grid shows of one field of one VGPR of one lane.

    Attributes:
        text: the element.
        line: number of its colour; None where it has none.
        hatched: nothing reads it.
        wrong: it holds something else than it should.
        needed: what it should hold, where that is known.
        hole: it holds no element.
    """

    text: str
    line: int | None
    hatched: bool = False
    wrong: bool = False
    needed: str = ""
    hole: bool = False


class LaneGrid(Struct, frozen=True):
    """A lane x VGPR grid: lanes down in panels, VGPRs and their fields across.

    Attributes:
        lanes: numbers of those that are shown.
        vgprs: names of those that are shown.
        fields: headings of a VGPR's fields, lowest bits first; one empty heading where it has one.
        slots: for [lane][vgpr][field].
        panel: lanes of a panel: those with one number modulo it stand in one line.
        lines: names of the colours.
        axis: what the colours stand for.
        heading: (text, class) pairs above.
        notes: sentences below.
    """

    lanes: Sequence[int]
    vgprs: Sequence[str]
    fields: Sequence[str]
    slots: Sequence[Sequence[Sequence[Slot]]]
    panel: int
    lines: Sequence[int]
    axis: str
    heading: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def _slot(self) -> int:
        """Width of a slot: its longest text."""
        texts = (
            len(text) for lane in self.slots for vgpr in lane for s in vgpr for text in (s.text, s.needed)
        )
        return max(NARROWEST_SLOT, round(SLOT_GLYPH * max(texts, default=0)) + 8)

    @property
    def _group(self) -> int:
        return self._slot * len(self.fields) + GAP

    @property
    def _panel(self) -> int:
        return LEFT + self._group * len(self.vgprs)

    @property
    def _panels(self) -> list[list[int]]:
        """Positions of the lanes of each panel."""
        positions = range(len(self.lanes))
        return [list(group) for _, group in groupby(positions, lambda at: self.lanes[at] // self.panel)]

    @property
    def _beside(self) -> int:
        """Panels that lie beside each other."""
        beside, count = 1, len(self._panels)
        while beside < count and 2 * EDGE + 2 * beside * (self._panel + BETWEEN) - BETWEEN <= WIDEST:
            beside *= 2
        return min(beside, count)

    @property
    def width(self) -> int:
        """Pixels."""
        return self._beside * (self._panel + BETWEEN) - BETWEEN

    def draw(self, sheet: Sheet) -> None:
        """Heading, panels, legend, notes."""
        if self.heading:
            sheet.sentences(self.heading)
            sheet.y += 8
        row = NEEDS_ROW if any(s.needed for lane in self.slots for vgpr in lane for s in vgpr) else ROW
        beside = self._beside
        for first in range(0, len(self._panels), beside):
            tier = self._panels[first : first + beside]
            for side, positions in enumerate(tier):
                self._draw_panel(sheet, EDGE + side * (self._panel + BETWEEN), positions, row)
            sheet.y += HEAD + row * max(map(len, tier)) + 14
        self._legend(sheet)
        sheet.sentences((note, "soft") for note in self.notes)

    def _draw_panel(self, sheet: Sheet, x: int, positions: Sequence[int], row: int) -> None:
        sheet.text(x, sheet.y + 12, "lane", "soft")
        slot, group = self._slot, self._group
        for column, vgpr in enumerate(self.vgprs):
            left = x + LEFT + group * column
            sheet.text(left + (group - GAP) / 2, sheet.y + 12, vgpr, "head")
            for field, name in enumerate(self.fields):
                sheet.text(left + slot * (field + 0.5), sheet.y + 27, name, "head soft")
        for line, position in enumerate(positions):
            top = sheet.y + HEAD + row * line
            sheet.text(x + LEFT - 10, top + row / 2 + 4, str(self.lanes[position]), "lane soft")
            for column, fields in enumerate(self.slots[position]):
                for field, shown in enumerate(fields):
                    self._draw_slot(sheet, shown, x + LEFT + group * column + slot * field, top, row)

    def _draw_slot(self, sheet: Sheet, shown: Slot, x: int, y: int, row: int) -> None:
        width, height = self._slot - 2, row - 2
        look = "hole" if shown.line is None else sheet.colour(shown.line, len(self.lines))
        if shown.wrong:
            sheet.box(x + 1, y + 1, width - 2, height - 2, f"{look} wrong")
        else:
            sheet.box(x, y, width, height, look)
        if shown.hatched:
            sheet.hatch(x, y, width, height)
        middle = x + width / 2
        css = "el bad" if shown.wrong else "el soft" if shown.hole else "el"
        if shown.needed:
            sheet.text(middle, y + 14, shown.text, css)
            sheet.text(middle, y + 27, shown.needed, "need")
        else:
            sheet.text(middle, y + height / 2 + 4, shown.text, css)

    def _legend(self, sheet: Sheet) -> None:
        """One box for each colour, with its number where there is room."""
        label = f"{self.axis}:"
        sheet.text(EDGE, sheet.y + 14, label, "soft")
        x = EDGE + 10 + round(GLYPHS[""] * len(label))
        width = min(26, (sheet.width - EDGE - x) // max(len(self.lines), 1))
        for number, name in enumerate(self.lines):
            sheet.box(x, sheet.y, width - 2, ROW - 2, sheet.colour(number, len(self.lines)))
            if width > 20:
                sheet.text(x + (width - 2) / 2, sheet.y + 14, str(name), "key")
            x += width
        sheet.y += ROW + 4


def field_names(fields: int, bits: int) -> list[str]:
    """Headings of a VGPR's fields."""
    if fields <= 2:
        return [""] if fields == 1 else ["low", "high"]
    return [f"{(field + 1) * bits - 1}:{field * bits}" for field in range(fields)]


def panel_of(layout: Layout, wave: int = 0) -> int:
    """Lanes after which the rows (or columns) of a layout begin again: as many as a panel is long.

    A power of two from SHORTEST to the lanes of a wave.
    """
    row, col = layout.row[wave, :, 0, 0], layout.col[wave, :, 0, 0]
    apart = max(len(set(index[row != HOLE].tolist())) for index in (row, col))
    return min(max(SHORTEST, 1 << int(np.ceil(np.log2(max(apart, 1))))), layout.lanes)
