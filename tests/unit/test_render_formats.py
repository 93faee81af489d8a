"""JSON, CSV, SVG, HTML: every slot of the report is in each, and nothing dangerous is."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import fake_reports
import jsonschema
import pytest
from msgspec.structs import replace

from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.place import Place, SourceLine
from layoutprobe.render import formats
from layoutprobe.render.layout.html import notebook
from layoutprobe.render.layout.view import select
from layoutprobe.render.look import tint
from layoutprobe.render.terminal_svg import terminal_svg
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.layout import LayoutReport

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text("utf-8"))
SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("x")</script>&\x1b[2J\x00'


def text_of(report: LayoutReport, format: str, **selection: Any) -> str:
    stream = io.StringIO()
    formats.find("layout", format).write(select(report, **selection), stream)
    return stream.getvalue()


def nasty() -> LayoutReport:
    """A report in which every text comes from somebody else."""
    place = Place(kernel=NASTY, source=SourceLine(NASTY, 1), matrix=NASTY, buffer=NASTY)
    rule = Rule(NASTY, NASTY, NASTY, NASTY)
    finding = Finding(rule, NASTY, place, expected=NASTY, observed=NASTY, hint=NASTY)
    return replace(
        fake_reports.transposed_a(),
        arch=NASTY,
        instruction=NASTY,
        dtype=NASTY,
        lds=NASTY,
        patterns=(NASTY,),
        closed_form=NASTY,
        needed_form=NASTY,
        convention=NASTY,
        ambiguity=NASTY,
        findings=(finding,),
        evidence=(Evidence("replayed", NASTY, NASTY),),
        toolchain={NASTY: NASTY},
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("name", fake_reports.ALL)
def test_json_obeys_the_schema_and_holds_every_slot(name: str) -> None:
    report = fake_reports.ALL[name]()
    found = json.loads(text_of(report, "json"))
    jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert len(found["slots"]) == report.loaded.row.size
    for slot in found["slots"]:
        at = (slot["wave"], slot["lane"], slot["vgpr"], slot["bits"][0] // report.loaded.field_bits)
        row, col = int(report.loaded.row[at]), int(report.loaded.col[at])
        known = [None if axis == UNKNOWN else axis for axis in (row, col)]
        assert slot["loaded"] == (None if row == HOLE else known)
        if report.needed is not None:
            assert slot["needed"] == (
                None if report.needed.row[at] == HOLE else [report.needed.row[at], report.needed.col[at]]
            )
        assert slot["mismatch"] == bool(report.mismatch[at])
        assert slot["live"] == (None if report.live is None else bool(report.live[at]))
        reader = None if report.readers is None or report.readers[at] < 0 else int(report.readers[at])
        assert slot["read_by"] == reader
    assert found["exit_code"] == report.exit_code
    assert found["verdict"] == ["holds", "finding", "undecided"][report.exit_code]
    if report.lds_map is not None:
        cells = zip(report.lds_map.row.tolist(), report.lds_map.col.tolist(), strict=True)
        assert found["lds_map"]["cells"] == [None if r == HOLE else [r, c] for r, c in cells]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found.pop("evidence"),
        lambda found: found.update(schema="layoutprobe.report/1"),
        lambda found: found.update(verdict="ok"),
        lambda found: found["slots"][0].update(loaded=[-1, -1]),
        lambda found: found["slots"][0].update(bits=[0]),
        lambda found: found["slots"][0].pop("mismatch"),
        lambda found: found["coverage"].update(seen=None),
        lambda found: found["findings"][0].update(rule="transposed"),
        lambda found: found["findings"][0].pop("place"),
        lambda found: found["findings"][0]["place"].update(vgpr=3),
        lambda found: found["findings"][0]["place"].update(register="v3"),
    ],
)
def test_the_schema_can_refuse(spoil: Any) -> None:
    found = json.loads(text_of(fake_reports.transposed_a(), "json"))
    del found["slots"][1:]
    spoil(found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_json_is_one_slot_a_line_in_ascii() -> None:
    text = text_of(nasty(), "json")
    assert text.isascii()
    assert sum('"lane"' in line for line in text.splitlines()) == 2048
    assert json.loads(text)["findings"][0]["what"] == NASTY


def test_json_places_are_numbers_where_they_are_numbers() -> None:
    place = json.loads(text_of(fake_reports.one_wrong_slot(), "json"))["findings"][0]["place"]
    register = {"kind": "VGPR", "index": 3}
    slot = {"wave": 2, "lane": 5, "register": register, "bits": [16, 31]}
    assert place == {"file": "gemm.hip", "line": 42, **slot}


def test_json_says_when_slots_were_left_out() -> None:
    assert json.loads(text_of(fake_reports.dump(), "json"))["layout"]["complete"] is True
    found = json.loads(text_of(fake_reports.dump(), "json", wave=3, lanes=[1, 17], vgprs=[2]))
    assert found["layout"]["complete"] is False
    assert [(s["wave"], s["lane"], s["vgpr"], s["bits"]) for s in found["slots"]] == [
        (3, lane, 2, bits) for lane in (1, 17) for bits in ([0, 15], [16, 31])
    ]


@pytest.mark.parametrize("name", fake_reports.ALL)
def test_csv_holds_every_slot(name: str) -> None:
    report = fake_reports.ALL[name]()
    found = list(csv.DictReader(io.StringIO(text_of(report, "csv"))))
    assert len(found) == report.loaded.row.size
    for slot in found:
        at = (
            int(slot["wave"]),
            int(slot["lane"]),
            int(slot["vgpr"]),
            int(slot["bit_lo"]) // report.loaded.field_bits,
        )
        assert int(slot["bit_hi"]) - int(slot["bit_lo"]) + 1 == report.loaded.field_bits
        row, col = int(report.loaded.row[at]), int(report.loaded.col[at])
        assert (slot["row"], slot["col"]) == (
            ("", "") if row == HOLE else (str(row), str(col).replace("-2", "?"))
        )
        needed = report.needed
        if needed is None or needed.row[at] == HOLE:
            assert (slot["needed_row"], slot["needed_col"]) == ("", "")
        else:
            assert (int(slot["needed_row"]), int(slot["needed_col"])) == (needed.row[at], needed.col[at])
        assert slot["mismatch"] == str(int(report.mismatch[at]))
        assert slot["live"] == ("" if report.live is None else str(int(report.live[at])))
    assert {slot["matrix"] for slot in found} == {report.matrix}
    verdict = ["holds", "finding", "undecided"][report.exit_code]
    assert {(slot["verdict"], slot["evidence"]) for slot in found} == {(verdict, "emulated")}


def css(element: ET.Element) -> list[str]:
    return (element.get("class") or "").split() or [""]


@pytest.mark.parametrize("name", fake_reports.ALL)
def test_svg_shows_every_slot_of_the_wave(name: str) -> None:
    report = fake_reports.ALL[name]()
    root = ET.fromstring(text_of(report, "svg"))
    wave = next((w for w in range(report.loaded.waves) if report.mismatch[w].any()), 0)
    shown = [t.text or "" for t in root.iter(f"{SVG}text") if css(t)[0] in ("el", "need")]
    needs = [text for text in shown if text.startswith("→")]
    texts = [text.lstrip("!=~") for text in shown if not text.startswith("→")]
    pairs = zip(
        report.loaded.row[wave].ravel().tolist(), report.loaded.col[wave].ravel().tolist(), strict=True
    )
    assert texts == ["·" if row == HOLE else f"{row},{col}".replace("-2", "?") for row, col in pairs]
    wrong_slots = int(report.mismatch[wave].sum())
    assert len(needs) == (0 if report.needed is None else wrong_slots)
    frames = [r for r in root.iter(f"{SVG}rect") if "wrong" in css(r)]
    assert len(frames) == wrong_slots
    if needs and report.needed is not None:
        wrong = report.mismatch[wave]
        pairs = zip(
            report.needed.row[wave][wrong].tolist(), report.needed.col[wave][wrong].tolist(), strict=True
        )
        assert needs == [f"→{row},{col}" for row, col in pairs]


WIDE = {"title": 11.6, "holds": 7.6, "finding": 7.6, "undecided": 7.6}
WIDE |= dict.fromkeys(("el", "need", "key", "lane", "head"), 0.0)


@pytest.mark.parametrize("name", fake_reports.ALL)
@pytest.mark.parametrize("lanes", [None, [0]])
def test_svg_clips_no_sentence(name: str, lanes: list[int] | None) -> None:
    """DejaVu Sans is wide-set: 7 pixels a character at 13 px, 7.6 in bold, 11.6 in bold at 18 px."""
    root = ET.fromstring(text_of(fake_reports.ALL[name](), "svg", lanes=lanes))
    for text in root.iter(f"{SVG}text"):
        pixels = WIDE.get(css(text)[0], 7.0)
        assert float(text.get("x") or 0) + pixels * len(text.text or "") <= float(root.get("width") or 0)


@pytest.mark.parametrize("banks", [32, 64])
@pytest.mark.parametrize("name", ["roundtrip", "padded"])
def test_svg_draws_every_cell_of_lds_in_its_bank(name: str, banks: int) -> None:
    report = fake_reports.ALL[name]()
    assert report.lds_map is not None
    report = replace(report, lds_map=replace(report.lds_map, banks=banks))
    assert report.lds_map is not None
    root = ET.fromstring(text_of(report, "svg"))
    said = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert f"bank {banks - 4}" in said
    assert f"bank {banks}" not in said
    assert any(f"the {banks} banks ({4 * banks} bytes)" in text for text in said)
    found: list[tuple[int, int] | None] = [None] * report.lds_map.row.size
    for box in _cells(root):
        title = box.find(f"{SVG}title")
        assert title is not None
        match = re.fullmatch(r"A\[(\d+)\]\[(\d+)(?:\.\.(\d+))?\]", title.text or "")
        x, y, width = (float(box.get(key) or 0) for key in ("x", "y", "width"))
        left, first = (min(float(box.get(axis) or 0) for box in _cells(root)) for axis in ("x", "y"))
        cell = int((y - first) / 22) * 2 * banks + int((x - left) / 12)
        count = round((width + 1) / 12)
        if match:
            start = int(match[2])
            assert int(match[3] or start) == start + count - 1
            found[cell : cell + count] = [(int(match[1]), start + i) for i in range(count)]
    wanted = zip(report.lds_map.row.tolist(), report.lds_map.col.tolist(), strict=True)
    assert found == [None if row == HOLE else (row, col) for row, col in wanted]


def _cells(root: ET.Element) -> list[ET.Element]:
    """Boxes of LDS: those that name their elements when a reader points at them."""
    return [box for box in root.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]


@pytest.mark.parametrize("name", fake_reports.ALL)
def test_svg_draws_inside_its_frame(name: str) -> None:
    root = ET.fromstring(text_of(fake_reports.ALL[name](), "svg"))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for shape in root.iter(f"{SVG}rect"):
        assert float(shape.get("x") or 0) + float(shape.get("width") or 0) <= width
        assert float(shape.get("y") or 0) + float(shape.get("height") or 0) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("y") or 0) <= height


def test_colours_tell_the_rows_of_a_tile_apart() -> None:
    assert len({tint(i, 16) for i in range(16)}) == 16
    for name in ("right", "b"):
        root = ET.fromstring(text_of(fake_reports.ALL[name](), "svg"))
        fills = [css(r)[0] for r in root.iter(f"{SVG}rect") if css(r)[0].startswith("c16-")]
        assert len(fills) == 32 * 16 + 16, "every slot of the wave, and the legend"
        stripes = [fills[lane * 16 : lane * 16 + 16] for lane in range(32)]
        assert all(len(set(stripe)) == 1 for stripe in stripes), "a lane holds one row of A, one column of B"
        assert len({stripe[0] for stripe in stripes}) == 16


class Structure(HTMLParser):
    """Collects tags, checks that they nest, and keeps what the reader sees."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


@pytest.mark.parametrize("name", fake_reports.ALL)
def test_html_nests_and_brings_everything_along(name: str) -> None:
    report = fake_reports.ALL[name]()
    for text in (text_of(report, "html"), notebook(report)):
        page = Structure()
        page.feed(text)
        page.close()
        assert page.open == []
        assert not page.seen & {"script", "link", "img", "iframe", "object"}
        assert report.exit_code == ["holds", "finding", "undecided"].index(
            re.findall(r'class="verdict (\w+)"', text)[0]
        )


def test_html_table_shows_the_wave() -> None:
    page = Structure()
    page.feed(text_of(fake_reports.dump(), "html"))
    assert page.cells == [f"{lane},{2 * vgpr}/{2 * vgpr + 1}" for lane in range(16) for vgpr in range(8)]


def test_untrusted_text_stays_text() -> None:
    svg = text_of(nasty(), "svg")
    ET.fromstring(svg)
    for text in (svg, text_of(nasty(), "html"), notebook(nasty())):
        assert "<script" not in text
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)
        assert "&lt;script&gt;" in text
        page = Structure()
        page.feed(text)
        assert "script" not in page.seen
        assert not [name for name, _ in page.attributes if name.startswith("on")]


@pytest.mark.parametrize("format", ["svg", "html"])
def test_pictures_fetch_nothing(format: str) -> None:
    text = text_of(fake_reports.holes_and_dead(), format)
    assert set(re.findall(r"https?://[^\"'<) ]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert all(target == "#lp-hatch" for target in re.findall(r"url\(([^)]*)\)", text))


def test_terminal_svg_is_the_table_and_fetches_nothing() -> None:
    text = terminal_svg(fake_reports.dump(), "layoutprobe dump --matrix A --lds xor")
    root = ET.fromstring(text)
    assert set(re.findall(r"https?://[^\"'<) ]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in text
    words = "".join(t.text or "" for t in root.iter(f"{SVG}text")).replace("\xa0", " ")
    for part in ("layoutprobe dump --matrix A --lds xor", "15,14/15", "HOLDS (emulated)"):
        assert part in words


def test_a_report_shows_itself_in_a_notebook() -> None:
    assert fake_reports.dump()._repr_html_() == notebook(fake_reports.dump())
