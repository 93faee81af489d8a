"""Pictures: every cell of the table is drawn, in the colour of its line, and nothing else can run."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest
from msgspec.structs import force_setattr, replace

from claims.fakes import rdna3
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE
from layoutprobe.render.instruction.html import write
from layoutprobe.render.instruction.maps import maps_of, picture
from layoutprobe.render.instruction.words import Shown

SVG = "{http://www.w3.org/2000/svg}"
Cell = tuple[int, int, str, str]
"""x, y, class of the box, text in it."""


def page(shown: Shown) -> str:
    stream = io.StringIO()
    write(shown, stream)
    return stream.getvalue()


def cells(text: str) -> list[Cell]:
    """Boxes with the text that stands in them."""
    root = ElementTree.fromstring(text)
    words = [(float(t.get("x", "0")), float(t.get("y", "0")), t.text or "") for t in root.iter(f"{SVG}text")]
    found = []
    for box in root.iter(f"{SVG}rect"):
        name = box.get("class", "")
        if re.fullmatch(r"c\d+-\d+|hole", name) is None:
            continue
        x, y, w, h = (float(box.get(key, "0")) for key in ("x", "y", "width", "height"))
        inside = [t for tx, ty, t in words if x <= tx < x + w and y <= ty < y + h]
        found.append((round(x), round(y), name, inside[0] if inside else ""))
    return found


@pytest.mark.parametrize(
    "solved", [rdna3(), rdna3(wave=64, bits=8), rdna3(bits=4, narrow=1), rdna3(dead=True)], ids=repr
)
@pytest.mark.parametrize("matrix", ["A", "B", "D"])
@pytest.mark.parametrize("colour", ["auto", "row", "k"])
def test_every_cell_is_drawn_in_its_colour(solved: InstructionLayout, matrix: str, colour: str) -> None:
    layout = solved.operands[matrix]
    drawn = maps_of(solved, [matrix], colour)
    by_col = drawn[0].by_col
    boxes = [cell for cell in cells(picture(solved, drawn, "a title")) if "," in cell[3] or cell[2] == "hole"]
    # Panels of 16 lanes lie side by side, two in a row, unless that is too wide for a page: then one.
    tops = sorted({y for _, y, _, _ in boxes})
    beside = 16 * (layout.lanes // 16) // len(tops)
    assert len(tops) * beside == layout.lanes
    assert beside in (1, 2)
    assert beside == 1 or max(x for x, _, _, _ in boxes) < 1000
    for at, y in enumerate(tops):
        line = [cell for cell in sorted(boxes) if cell[1] == y]
        block, row = divmod(at, 16)
        want = []
        for lane in (16 * (beside * block + panel) + row for panel in range(beside)):
            for vgpr in range(layout.vgprs):
                for field in range(layout.fields):
                    i, j = int(layout.row[0, lane, vgpr, field]), int(layout.col[0, lane, vgpr, field])
                    want.append(
                        ("hole", "")
                        if i == HOLE
                        else (f"c{layout.shape[by_col]}-{j if by_col else i}", f"{i},{j}")
                    )
        assert [(name, text) for _, _, name, text in line] == want


def test_copies_that_nothing_reads_are_hatched() -> None:
    solved = rdna3(dead=True)
    text = picture(solved, maps_of(solved, ["A"]), "t")
    assert text.count("url(#lp-hatch)") == 256
    assert "hatched: a copy that no output" in text
    assert "url(#lp-hatch)" not in picture(solved, maps_of(solved, ["B"]), "t").replace(">hatched", "")


def test_themes() -> None:
    solved = rdna3()
    light, dark, both = (
        picture(solved, maps_of(solved, "A"), "t", theme=t) for t in ("light", "dark", "auto")
    )
    assert "prefers-color-scheme" in both
    assert "prefers-color-scheme" not in light + dark
    assert ".lp .paper { fill: #ffffff; }" in light
    assert ".lp .paper { fill: #0d1117; }" in dark
    for text in (light, dark):
        colours = re.findall(r"\.lp \.c16-\d+ \{ fill: (#[0-9a-f]{6})", text)
        assert len(set(colours)) == 16, "sixteen rows, sixteen colours"


def test_half_waves_lie_below_each_other_where_two_are_too_wide() -> None:
    """A of 8 VGPRs with two halves each is wider than a page with both half-waves beside each other; D is not."""
    solved = rdna3()
    for matrix, beside in (("A", False), ("D", True)):
        drawn = picture(solved, maps_of(solved, [matrix]), "t")
        assert float(ElementTree.fromstring(drawn).attrib["width"]) <= 1000
        boxes = [cell for cell in cells(drawn) if "," in cell[3]]
        assert (len({y for _, y, _, _ in boxes}) == 16) == beside


def test_nothing_in_a_picture_can_run_or_load() -> None:
    solved = rdna3()
    force_setattr(solved, "instruction", "<script>alert(1)</script>\x1b[0m")
    force_setattr(solved, "convention", "<img src=x onerror=alert(1)>")
    shown = Shown(solved, ("A", "B", "C", "D"), ("formula", "gf2", "cute"))
    for text in (
        page(shown),
        page(replace(shown, theme="dark")),
        picture(solved, maps_of(solved, "AD"), solved.instruction),
    ):
        assert "<script" not in text
        assert "<img" not in text
        assert "\x1b" not in text
        assert not re.search(r"<[^>]*\b(?:href|src)=|@import|url\((?!#)", text)
    ElementTree.fromstring(picture(solved, maps_of(solved, "ABCD"), solved.instruction))


def test_c_and_d_are_one_picture_only_where_they_are_equal() -> None:
    assert [m.name for m in maps_of(rdna3(), "ABCD")] == ["A", "B", "C and D"]
    other = rdna3()
    other.operands["C"].row[0, 0, 0, 0] = 5
    assert [m.name for m in maps_of(other, "ABCD")] == ["A", "B", "C", "D"]
