"""The one picture of a lane x VGPR grid: general in lanes, registers, fields and panels."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from layoutprobe.layouts.layout import Layout
from layoutprobe.render.svg import ROW, SHORTEST, WIDEST, LaneGrid, Slot, field_names, panel_of, picture

SVG = "{http://www.w3.org/2000/svg}"
Placed = tuple[float, float, str, str]


def grid(lanes: list[int], vgprs: int, fields: int, panel: int, lines: int, needed: str = "") -> LaneGrid:
    """A grid in which every slot has a text of its own, and its colour is its lane modulo the lines."""
    slots = [
        [
            [Slot(f"{lane}.{v}.{f}", lane % lines, needed=needed, wrong=bool(needed)) for f in range(fields)]
            for v in range(vgprs)
        ]
        for lane in lanes
    ]
    names = field_names(fields, 32 // fields)
    return LaneGrid(lanes, [f"v{v}" for v in range(vgprs)], names, slots, panel, range(lines), "row of A")


def boxes(text: str) -> list[Placed]:
    """x, y, class and text of every slot."""
    root = ET.fromstring(text)
    texts = [
        (float(t.get("x") or 0), float(t.get("y") or 0), t.text or "")
        for t in root.iter(f"{SVG}text")
        if (t.get("class") or "").startswith("el")
    ]
    found = []
    for box in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(box.get(name) or 0) for name in ("x", "y", "width", "height"))
        inside = [said for at, top, said in texts if x <= at < x + w and y <= top < y + h]
        if re.match(r"c\d", box.get("class") or "") and inside:
            found.append((x, y, (box.get("class") or "").split()[0], inside[0]))
    return found


@pytest.mark.parametrize(
    ("lanes", "vgprs", "fields", "panel"),
    [(32, 8, 2, 16), (64, 4, 1, 16), (64, 16, 1, 32), (64, 2, 4, 32), (32, 4, 8, 16), (32, 1, 1, 32)],
)
def test_every_slot_stands_in_its_panel_line_and_column(
    lanes: int, vgprs: int, fields: int, panel: int
) -> None:
    text = picture("t", [grid(list(range(lanes)), vgprs, fields, panel, panel)])
    found = {said: (x, y, css) for x, y, css, said in boxes(text)}
    assert len(found) == lanes * vgprs * fields
    for lane in range(lanes):
        x, y, css = found[f"{lane}.0.0"]
        assert css == f"c{panel}-{lane % panel}"
        first = found[f"{lane // panel * panel}.0.0"]
        assert x == first[0], "lanes of a panel stand below each other"
        assert y - first[1] == ROW * (lane % panel)
        row = [found[f"{lane}.{v}.{f}"] for v in range(vgprs) for f in range(fields)]
        assert {at for _, at, _ in row} == {y}
        assert [at for at, _, _ in row] == sorted({at for at, _, _ in row})
    heads = [t.text for t in ET.fromstring(text).iter(f"{SVG}text") if t.get("class") == "head"]
    assert heads == [f"v{v}" for v in range(vgprs)] * (lanes // panel)


def test_panels_lie_beside_each_other_where_they_fit() -> None:
    wide = picture("t", [grid(list(range(64)), 16, 2, 32, 32)])
    assert len({x for x, _, _, said in boxes(wide) if said.endswith(".0.0")}) == 1
    narrow = picture("t", [grid(list(range(64)), 2, 1, 16, 16)])
    assert len({x for x, _, _, said in boxes(narrow) if said.endswith(".0.0")}) == 4
    assert float(ET.fromstring(narrow).get("width") or 0) <= WIDEST


def test_lanes_that_are_left_out_leave_their_panel_shorter() -> None:
    found = boxes(picture("t", [grid([1, 3, 17, 40], 1, 1, 16, 16)]))
    tops = {said.split(".")[0]: y for _, y, _, said in found}
    assert tops["1"] == tops["17"] == tops["40"] < tops["3"]


def test_two_pictures_on_one_page_keep_their_own_colours() -> None:
    """Rules of one picture reach every other on the page: a colour's class says of how many it is."""
    few, many = (picture("t", [grid(list(range(32)), 1, 1, 16, lines)]) for lines in (4, 16))
    rules = {
        name: set(re.findall(r"\.lp \.(c\d+-\d+) ", text)) for name, text in (("few", few), ("many", many))
    }
    assert len(rules["few"]) == 4
    assert len(rules["many"]) == 16
    assert not rules["few"] & rules["many"]


def test_a_wrong_slot_says_what_belongs_there() -> None:
    text = picture("t", [grid([0, 1], 1, 2, 16, 2, needed="→9,9")])
    shown = [t for t in ET.fromstring(text).iter(f"{SVG}text") if t.get("class") == "need"]
    assert [t.text for t in shown] == ["→9,9"] * 4
    assert text.count(' wrong"') == 4


@pytest.mark.parametrize(
    ("rows", "lanes", "panel"), [(16, 32, 16), (32, 64, 32), (4, 64, SHORTEST), (64, 64, 64)]
)
def test_a_panel_is_as_long_as_the_rows(rows: int, lanes: int, panel: int) -> None:
    row = np.broadcast_to(np.arange(lanes)[None, :, None, None] % rows, (1, lanes, 2, 1)).astype(np.int32)
    col = np.broadcast_to(np.arange(lanes)[None, :, None, None] // rows, (1, lanes, 2, 1)).astype(np.int32)
    assert panel_of(Layout("A", (rows, 16), row.copy(), col.copy(), 32)) == panel
