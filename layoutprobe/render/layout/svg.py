"""A picture of one wave: lanes down, VGPRs and their fields across, an element in every slot.

Colour follows the index that tells lanes apart (the row of A, the column of B), so that a right
load is a clean set of stripes and a wrong one is seen from across the room. Every mark is also a
shape or a letter, for those who do not see the colours.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TextIO

from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.render.layout import words
from layoutprobe.render.layout.cells import UNICODE, element
from layoutprobe.render.layout.grid import FIRST_REGISTER, legend, wrong_slot
from layoutprobe.render.layout.lds_svg import LDS_WIDTH, LdsPicture
from layoutprobe.render.layout.view import Mark, View
from layoutprobe.render.svg_text import MONO, SANS, safe, tint

CELL_WIDTHS = {1: 64, 2: 50, 4: 46, 8: 40}
ROW_HEIGHT, NEEDS_HEIGHT = 22, 34
LEFT, RIGHT, GAP, TOP = 54, 24, 5, 24
NARROWEST = LEFT + LDS_WIDTH + RIGHT
LINE, TITLE_LINE = 20, 24
GLYPH = {"title": 11.3, "holds": 8.2, "finding": 8.2, "undecided": 8.2}
"""Pixels of a wide-set character; lines are broken early rather than late, as fonts differ."""

USUAL_GLYPH = 7.3
STYLE = f"""
.lp {{ font: 13px {SANS}; fill: #1f2328; }}
.lp .title {{ font-size: 17px; font-weight: 600; }}
.lp .sub, .lp .legend {{ fill: #57606a; }}
.lp .head {{ fill: #57606a; font-size: 12px; text-anchor: middle; }}
.lp .half {{ fill: #6e7781; font-size: 10px; text-anchor: middle; }}
.lp .left {{ text-anchor: start; }}
.lp .lane {{ fill: #57606a; font: 11px {MONO}; text-anchor: end; }}
.lp .lds {{ font: 11px {MONO}; text-anchor: middle; }}
.lp .el {{ font: 11px {MONO}; text-anchor: middle; }}
.lp .bad {{ font-weight: 700; fill: #a40e26; }}
.lp .need {{ fill: #0f5323; }}
.lp .holds {{ fill: #1a7f37; font-weight: 600; }}
.lp .finding {{ fill: #cf222e; font-weight: 600; }}
.lp .undecided {{ fill: #9a6700; font-weight: 600; }}
"""


def write(view: View, stream: TextIO) -> None:
    """Write the picture."""
    stream.write(picture(view))


def picture(view: View, *, header: bool = True) -> str:
    """A self-contained SVG of the first selected wave: no script, no font or image from elsewhere.

    Args:
        view: what is shown.
        header: with title, evidence and verdict; a page that says them already leaves them out.
    """
    return "".join(_Picture(view, header).parts())


class _Picture:
    """Measures of one picture, and its parts from top to bottom."""

    def __init__(self, view: View, header: bool) -> None:
        view = self.view = view.one_wave
        self.wave = view.waves[0]
        says_needed = view.needed_row is not None and view.mismatch[0].any()
        self.row_height = NEEDS_HEIGHT if says_needed else ROW_HEIGHT
        self.cell_width = CELL_WIDTHS.get(view.fields, 40)
        self.group = self.cell_width * view.fields + GAP
        self.by_col = _coloured_by_col(view)
        index = view.col[0] if self.by_col else view.row[0]
        held = index[index >= 0]
        self.first_index = int(held.min()) if held.size else 0
        self.indices = int(held.max()) - self.first_index + 1 if held.size else 1
        self.width = max(LEFT + self.group * len(view.vgprs) + RIGHT, NARROWEST)
        self.title = self._broken([(words.title(view.report), "title")]) if header else []
        self.header = self._broken(self._header()) if header else []
        self.notes = self._broken(self._notes(header))
        self.header_height = TOP + TITLE_LINE * len(self.title) + LINE * len(self.header) if header else 0
        self.grid_top = self.header_height + 40
        self.grid_bottom = self.grid_top + self.row_height * len(view.lanes)
        self.notes_bottom = self.grid_bottom + 22 + 19 * len(self.notes)
        cells = view.report.lds_map
        self.lds = None if cells is None else LdsPicture(cells, view.report, LEFT, self.notes_bottom + 20)
        self.height = (self.lds.bottom if self.lds else self.notes_bottom) + 10

    def _broken(self, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Lines that fit the width, each with its class."""
        room = self.width - LEFT - RIGHT
        return [
            (part, css)
            for text, css in lines
            for part in textwrap.wrap(text, int(room / GLYPH.get(css, USUAL_GLYPH))) or [""]
        ]

    def parts(self) -> Iterator[str]:
        title = words.title(self.view.report)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="lp" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img" aria-label="{safe(title)}">\n'
            f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n"
        )
        yield (
            '<defs><pattern id="lp-dead" width="6" height="6" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" stroke="#24292f"'
            ' stroke-width="1.5"/></pattern></defs>\n'
        )
        yield f'<rect width="{self.width}" height="{self.height}" rx="8" fill="#ffffff"/>\n'
        for i, (text, css) in enumerate(self.title):
            yield self._text(LEFT, TOP + 12 + TITLE_LINE * i, text, css)
        below = TOP + 12 + TITLE_LINE * len(self.title)
        for i, (text, css) in enumerate(self.header):
            yield self._text(LEFT, below + LINE * i, text, css)
        yield from self._column_heads()
        for position in range(len(self.view.lanes)):
            yield from self._lane(position)
        for i, (text, css) in enumerate(self.notes):
            yield self._text(LEFT, self.grid_bottom + 26 + 19 * i, text, css)
        if self.lds is not None:
            yield from self.lds.parts()
        yield "</svg>\n"

    def _header(self) -> list[tuple[str, str]]:
        report = self.view.report
        outcome = words.verdict(report)
        said = [(label, text) for label, text in words.setup(report) if label != "patterns"]
        lines = [("; ".join(text for label, text in said if label != "lds index"), "sub")]
        lines += [(f"{label}: {text}", "sub") for label, text in said if label == "lds index"]
        lines += [(f"{label}: {text}", "sub") for label, text in words.forms(report)]
        lines.append((f"{outcome.word.upper()} ({outcome.basis}): {outcome.sentence}", outcome.word))
        return lines

    def _notes(self, details: bool) -> list[tuple[str, str]]:
        view = self.view
        index = "column" if self.by_col else "row"
        notes = [
            f"wave {self.wave} of {view.report.loaded.waves}: each slot shows row,column of the element of"
            f" {view.report.matrix} that it holds; one colour per {index}; {FIRST_REGISTER}"
        ]
        marks = {Mark(mark) for mark in set(view.marks[0].ravel().tolist())}
        here = {
            Mark.MISMATCH: f"red frame and !: {wrong_slot(view.report)}"
            + ("" if view.needed_row is None else "; what belongs there stands below, after →"),
            Mark.DEAD: "hatched and ~: dead copy, no output depends on it (on a card: unmeasured)",
        }
        notes += [
            here.get(mark, f"{sign}: {text}") for sign, text, mark in legend(marks, UNICODE, view.report)
        ]
        if details:
            said = words.details(view)
            notes += [f"{label}: {text}" for label, text in said if label in ("coverage", "copies")]
        return [(note, "legend") for note in notes]

    def _column_heads(self) -> Iterator[str]:
        names = {1: [""], 2: ["low", "high"]}.get(self.view.fields)
        bits = self.view.report.loaded.field_bits
        for v, vgpr in enumerate(self.view.vgprs):
            x = LEFT + self.group * v
            yield self._text(x + (self.group - GAP) / 2, self.header_height + 18, f"v{vgpr}", "head")
            for f in range(self.view.fields):
                name = names[f] if names else f"{f * bits}-{(f + 1) * bits - 1}"
                yield self._text(x + self.cell_width * (f + 0.5), self.header_height + 33, name, "half")
        yield self._text(LEFT - 8, self.header_height + 33, "lane", "lane")

    def _lane(self, position: int) -> Iterator[str]:
        y = self.grid_top + self.row_height * position
        yield self._text(LEFT - 8, y + self.row_height / 2 + 4, str(self.view.lanes[position]), "lane")
        for v in range(len(self.view.vgprs)):
            for f in range(self.view.fields):
                yield from self._slot(position, v, f, LEFT + self.group * v + self.cell_width * f, y)

    def _slot(self, lane: int, v: int, f: int, x: int, y: int) -> Iterator[str]:
        view = self.view
        at = (0, lane, v, f)
        row, col, mark = int(view.row[at]), int(view.col[at]), Mark(int(view.marks[at]))
        width, height = self.cell_width - 1, self.row_height - 1
        box = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="2"'
        hole = row == HOLE
        index = (col if self.by_col else row) - self.first_index
        fill = "#ffffff" if hole or index + self.first_index == UNKNOWN else tint(index, self.indices)
        border = ' stroke="#8c959f" stroke-dasharray="2 2"' if hole else ""
        if mark is Mark.MISMATCH:
            border = ' stroke="#cf222e" stroke-width="1.5"'
            box = f'x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}" rx="2"'
        yield f'<rect {box} fill="{fill}"{border}/>\n'
        if mark is Mark.DEAD:
            yield f'<rect {box} fill="url(#lp-dead)" opacity="0.4"/>\n'
        text = element(row, col, UNICODE)
        middle = x + width / 2
        if mark is Mark.MISMATCH and view.needed_row is not None and view.needed_col is not None:
            needed = element(int(view.needed_row[at]), int(view.needed_col[at]), UNICODE)
            yield self._text(middle, y + 14, "!" + text, "el bad")
            yield self._text(middle, y + 27, f"→{needed}", "el need")
        else:
            look = "el bad" if mark is Mark.MISMATCH else "el"
            yield self._text(middle, y + height / 2 + 4, UNICODE.mark(mark) + text, look)

    def _text(self, x: float, y: float, text: str, css: str) -> str:
        return f'<text x="{x:g}" y="{y:g}" class="{css}">{safe(text)}</text>\n' if text else ""


def _coloured_by_col(view: View) -> bool:
    """Is it the needed (else the loaded) column that stays the same along a lane?"""
    needed = view.report.needed
    layout = view.report.loaded if needed is None else needed
    wave = view.waves[0]
    held = layout.row[wave] != HOLE

    def spread(index: int) -> int:
        table = (layout.row, layout.col)[index][wave]
        return sum(len(set(table[lane][held[lane]].tolist())) for lane in range(layout.lanes))

    return spread(1) < spread(0)
