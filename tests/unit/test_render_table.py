"""The terminal table, read back cell by cell: whatever the width, it says what the report holds."""

from __future__ import annotations

import io
import re
from functools import partial

import fake_reports
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.place import Place, SourceLine
from layoutprobe.render import formats
from layoutprobe.render.layout.cells import cell, number_list
from layoutprobe.render.layout.table import lines
from layoutprobe.render.layout.view import select
from layoutprobe.render.look import ASCII, UNICODE, Mark
from layoutprobe.render.page import Page, show_lines
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.cause_rules import OPERAND_RULES

Element = tuple[int, int] | None


def text_of(report: LayoutReport, width: int = 80, encoding: str = "utf-8", **selection: object) -> str:
    glyphs = UNICODE if encoding == "utf-8" else ASCII
    view = select(report, **selection)  # type: ignore[arg-type]
    return "\n".join(line.plain for line in lines(view, Page(width, encoding, glyphs))) + "\n"


def numbers(text: str) -> list[int]:
    """ "0-3, 16" and "0..3" as numbers."""
    found: list[int] = []
    for part in re.split(r"[,/]", text):
        first, _, last = part.strip().replace("..", "-").partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def elements(text: str, fields: int) -> list[Element]:
    """The notation of a cell, read back: "3,6/7" is (3, 6) and (3, 7)."""
    text = text.lstrip("!")
    signed = re.sub(r"[=~]", "", text)
    if signed in "·.":
        return [None] * fields
    parts = signed.split("/")
    if len(parts) == fields and all("," in part or part in "·." for part in parts):
        pairs = [None if part in "·." else part.split(",") for part in parts]
        return [None if pair is None else (int(pair[0]), int(pair[1])) for pair in pairs]
    rows, cols = (
        [UNKNOWN] * fields if set(side) <= set("?/") else numbers(side) for side in signed.split(",")
    )
    return [(r, c) for r in rows for c in cols]


class Printed(Struct):
    """A printed table: lane, VGPR -> text; the same of the "needs" lines; lanes behind a ~."""

    cells: dict[tuple[int, int], str]
    needs: dict[tuple[int, int], str]
    dead: set[int]


def read_back(text: str) -> Printed:
    printed = Printed({}, {}, set())
    columns: list[tuple[int, int]] = []
    lanes: list[int] = []
    texts = ""
    for line in text.splitlines():
        left, bar, _ = line.partition("│" if "│" in line else " | ")
        if not bar or "┼" in line:
            continue
        if left.strip() == "lane":
            columns = [(int(m[1]), m.start()) for m in re.finditer(r"v(\d+)", line)]
            continue
        target = printed.needs if left.strip() == "needs" else printed.cells
        if target is printed.cells:
            # Long labels go on in further lines; a "needs" line belongs to all of them.
            lanes = numbers(left.replace("~", "")) + (lanes if texts == line[len(left) :] else [])
            texts = line[len(left) :]
            printed.dead |= set(map(int, re.findall(r"~(\d+)", left)))
        if target is printed.needs:
            texts = ""
        ends = [start for _, start in columns[1:]] + [len(line)]
        for (vgpr, start), end in zip(columns, ends, strict=True):
            for lane in lanes:
                target[lane, vgpr] = line[start:end].strip()
    return printed


def held(report: LayoutReport, wave: int, lane: int, vgpr: int, needed: bool = False) -> list[Element]:
    layout = report.needed if needed and report.needed is not None else report.loaded
    pairs = zip(layout.row[wave, lane, vgpr].tolist(), layout.col[wave, lane, vgpr].tolist(), strict=True)
    return [None if row == HOLE else (row, col) for row, col in pairs]


@pytest.mark.parametrize("name", fake_reports.ALL)
@pytest.mark.parametrize("width", [30, 40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_cell_reads_back(name: str, width: int, encoding: str) -> None:
    report = fake_reports.ALL[name]()
    for wave in range(report.loaded.waves):
        printed = read_back(text_of(report, width, encoding, wave=wave))
        for lane in range(report.loaded.lanes):
            for vgpr in range(report.loaded.vgprs):
                shown = printed.cells[lane, vgpr]
                assert elements(shown, report.loaded.fields) == held(report, wave, lane, vgpr)
                if lane in printed.dead:
                    assert report.live is not None
                    assert not report.live[wave, lane].any()
                    continue  # its line shows what the lanes need that are read
                wrong = bool(report.mismatch[wave, lane, vgpr].any())
                assert shown.startswith("!") == wrong
                if wrong:
                    needs = elements(printed.needs[lane, vgpr], report.loaded.fields)
                    assert needs == held(report, wave, lane, vgpr, needed=True)


@pytest.mark.parametrize("name", fake_reports.ALL)
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    report = fake_reports.ALL[name]()
    for wave in range(report.loaded.waves):
        assert [line for line in text_of(report, width, wave=wave).splitlines() if len(line) > width] == []


@pytest.mark.parametrize(
    ("name", "wave"), [*[("right", w) for w in range(4)], *[("b", w) for w in range(4)], ("transposed", 0)]
)
def test_eight_vgprs_of_halves_stand_side_by_side_in_80_columns(name: str, wave: int) -> None:
    assert text_of(fake_reports.ALL[name](), 80, wave=wave).count("lane │") == 1


def test_blocks_are_balanced() -> None:
    heads = [line for line in text_of(fake_reports.dump(), 60).splitlines() if "lane │" in line]
    assert [re.findall(r"v\d", head) for head in heads] == [
        ["v0", "v1", "v2", "v3"],
        ["v4", "v5", "v6", "v7"],
    ]


def test_replicated_lanes_share_a_line_and_others_do_not() -> None:
    labels = re.findall(r"^ *([\d, ]+) │", text_of(fake_reports.dump()), re.MULTILINE)
    assert [label.strip() for label in labels] == [f"{lane}, {lane + 16}" for lane in range(16)]
    labels = re.findall(r"^ *([\d, ]+) │", text_of(fake_reports.one_wrong_slot()), re.MULTILINE)
    assert {label.strip() for label in labels} >= {"5", "21", "6, 22"}


def test_a_wave_with_a_mismatch_is_shown_first() -> None:
    assert "matrix A, wave 2 of 4: 1 of 512 slots wrong" in text_of(fake_reports.one_wrong_slot())
    assert "matrix A, wave 0 of 4\n" in text_of(fake_reports.dump())


def test_marks_are_characters_and_explained() -> None:
    text = text_of(fake_reports.holes_and_dead())
    printed = read_back(text)
    assert printed.dead == set(range(16, 32))
    stray = {place for place, shown in printed.cells.items() if shown.startswith("=")}
    assert stray == {(lane, vgpr) for lane in (3, 19) for vgpr in (0, 1)}
    assert printed.cells[5, 7] == "5,14/·"
    for words in ("· no element of the matrix", "~ dead copy", "= stray copy"):
        assert words in text
    clean = text_of(fake_reports.dump())
    assert not any(words in clean for words in ("no element", "dead copy", "stray copy", "something else"))


def test_dead_copies_share_a_line_only_with_lanes_that_hold_the_same() -> None:
    text = text_of(fake_reports.half_read(fake_reports.dump()))
    labels = [label.strip() for label in re.findall(r"^ *([~\d, ]+) │", text, re.MULTILINE)]
    assert labels == [f"{'~' * (n % 2)}{n}, {'~' * (1 - n % 2)}{n + 16}" for n in range(16)]
    assert "outputs in lanes 0-15 read the copies in even lanes 0-14" in " ".join(text.split())
    assert "in odd lanes 1-15 and even lanes 16-30" in " ".join(text.split())
    right = fake_reports.right_a()
    row = right.row.copy()
    row[0, 16, 2, 0] = 9  # a dead copy that is no copy any more
    broken = fake_reports.dump(fake_reports.layout("A", (64, 16), row, right.col, 16))
    printed = read_back(text_of(fake_reports.half_read(broken), wave=0))
    assert (printed.cells[16, 2], printed.cells[0, 2]) == ("~9,4/0,5", "0,4/5")


def test_many_equal_lanes_keep_short_labels() -> None:
    assert re.findall(r"^ *([\d-]+) │", text_of(fake_reports.all_holes()), re.MULTILINE) == ["0-31"]
    same = fake_reports.layout("A", (64, 16), np.zeros((4, 32, 8, 2)), fake_reports.right_a().col, 16)
    text = text_of(fake_reports.half_read(fake_reports.dump(same, same)))
    labels = re.findall(r"^ *([~\d, ]+) │", text, re.MULTILINE)
    assert max(map(len, labels)) <= 20
    assert sorted(lane for label in labels for lane in numbers(label.replace("~", ""))) == list(range(32))


def test_a_dead_copy_stands_with_its_partner() -> None:
    """Lanes 0, 8, 16 and 24 hold the same row, but 8 needs another: 24 is its copy, 16 that of 0."""
    text = text_of(fake_reports.half_read(fake_reports.folded_a()))
    labels = [label.strip() for label in re.findall(r"^ *([~\d, ]+) │", text, re.MULTILINE)]
    assert labels == [f"{'~' * (n % 2)}{n}, {'~' * (1 - n % 2)}{n + 16}" for n in range(16)]


def test_transposed_load_with_dead_copies_fits_80_columns() -> None:
    text = text_of(fake_reports.half_read(fake_reports.transposed_a()))
    assert text.count("lane │") == 1
    assert "needs │" in text


@pytest.mark.parametrize("name", fake_reports.ALL)
def test_verdict_stands_first_and_last_with_its_evidence(name: str) -> None:
    report = fake_reports.ALL[name]()
    text = text_of(report, 200)
    word = {0: "HOLDS", 1: "FINDING", 2: "UNDECIDED"}[report.exit_code]
    verdicts = [line for line in text.splitlines() if line.startswith("verdict")]
    assert len(verdicts) == 2
    assert verdicts[0] == verdicts[1] == text.splitlines()[-1]
    assert f"{word} (emulated): " in verdicts[0]


def test_findings_say_what_where_expected_observed_next() -> None:
    text = text_of(fake_reports.transposed_a())
    for words in (
        "finding 1 of 1: operand-layout/transposed",
        "line gemm.hip:42, wave 0, lane 0, VGPR v0, half high",
        "expected A[0][1]",
        "observed A[1][0]",
        "1920 show it",
        "swap the two indices of the LDS load",
    ):
        assert words in text


def test_summary_sentences() -> None:
    text = text_of(fake_reports.dump(), 200)
    assert "all 1024 elements of A (64x16) seen, each in 2 slots of a wave" in text
    assert "lanes L and L+16 hold the same elements (L = 0-15)" in text
    assert "outputs in lanes 0-15 read the copies in lanes 0-15; outputs in lanes 16-31 read" in text
    assert "3,2/3 is A[3][2] in the low half, A[3][3] in the high half" in text
    folded = text_of(fake_reports.folded_a(), 200)
    assert "512 of 1024 elements" in folded
    assert "missing rows 8-15, 24-31, 40-47, 56-63; rows fold by 8" in folded
    assert "lanes L, L+8, L+16 and L+24 hold the same elements (L = 0-7)" in folded
    odd = text_of(fake_reports.one_wrong_slot(), 200)
    assert "lanes L and L+16 of wave 2 hold the same elements (L = 0-4, 6-15); not so lanes 5, 21" in odd
    assert "every lane holds elements of its own" in text_of(fake_reports.ALL["d"]())
    assert "no output depends on 256 slots of wave 0, in lanes 16-31" in text_of(
        fake_reports.holes_and_dead()
    )


def test_lanes_that_hold_nothing_hold_not_the_same() -> None:
    text = text_of(fake_reports.lost_copy(), 200)
    assert (
        "odd lanes 1-15 and even lanes 16-30 hold no element; every other lane holds elements of its own"
        in text
    )
    assert "no lane holds an element" in text_of(fake_reports.all_holes())


def test_a_finding_about_another_matrix_says_about_which() -> None:
    found = Finding(OPERAND_RULES["transposed"], "B is loaded transposed", Place(matrix="B", wave=0))
    report = replace(fake_reports.ALL["d"](), findings=(found,))
    assert "FINDING (emulated): 1 finding, about B" in text_of(report)


def test_lds_map_reads_back() -> None:
    for report in (fake_reports.roundtrip(), fake_reports.padded_roundtrip()):
        assert report.lds_map is not None
        lines_of_lds = re.findall(r"^(\d+)-(\d+) +(.*A\[.*)$", text_of(report, 200), re.MULTILINE)
        assert len(lines_of_lds) == 32
        for start, end, text in lines_of_lds:
            found: list[Element] = []
            for row, span, hole in re.findall(r"A\[(\d+)\]\[([\d.]+)\]|\((\d+) B never stored\)", text):
                found += [None] * (int(hole) // 2) if hole else [(int(row), c) for c in numbers(span)]
            cells = slice(int(start) // 2, (int(end) + 1) // 2)
            rows, cols = report.lds_map.row[cells].tolist(), report.lds_map.col[cells].tolist()
            assert found == [None if r == HOLE else (r, c) for r, c in zip(rows, cols, strict=True)]
        assert "32 more lines not shown; --all" in text_of(report, 200), "what is left out is said"
        whole = text_of(report, 200, whole_lds=True)
        assert len(re.findall(r"^\d+-\d+ +.*A\[", whole, re.MULTILINE)) == 64


def test_selection() -> None:
    printed = read_back(text_of(fake_reports.dump(), wave=1, lanes=[3, 19, 20], vgprs=[7, 2]))
    assert set(printed.cells) == {(lane, vgpr) for lane in (3, 19, 20) for vgpr in (2, 7)}
    assert elements(printed.cells[20, 7], 2) == [(20, 14), (20, 15)]
    assert "lanes 3, 19, 20 only; VGPRs 2, 7 only" in text_of(
        fake_reports.dump(), 200, wave=1, lanes=[3, 19, 20], vgprs=[7, 2]
    )


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ({"wave": 4}, "no wave 4 here\n  expected: wave 0 to 3"),
        ({"lanes": [0, 32]}, "no lane 32 here\n  expected: lane 0 to 31"),
        ({"vgprs": [8]}, "no VGPR 8 here\n  expected: VGPR 0 to 7"),
        ({"lanes": []}, "no lane is selected"),
    ],
)
def test_selection_out_of_range(selection: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(fake_reports.dump(), **selection)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_unknown_format() -> None:
    with pytest.raises(UsageError, match="no format named 'xml'"):
        formats.find("layout", "xml")


def test_colour_repeats_what_characters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = io.StringIO()
    show_lines(
        partial(lines, select(fake_reports.transposed_a())),
        Console(file=coloured, width=80, force_terminal=True, color_system="standard"),
    )
    assert "\x1b[1;31m!0/1,0\x1b[0m" in coloured.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured.getvalue()) == text_of(fake_reports.transposed_a())


def test_no_color_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    plain = io.StringIO()
    show_lines(
        partial(lines, select(fake_reports.transposed_a())),
        Console(file=plain, width=80, force_terminal=True),
    )
    assert not re.search(r"\x1b\[[\d;]*3\dm", plain.getvalue()), "NO_COLOR leaves no colour"
    piped = io.StringIO()
    formats.find("layout", "table").write(select(fake_reports.transposed_a()), piped)
    assert piped.getvalue() == text_of(fake_reports.transposed_a())


def test_untrusted_names_cannot_drive_the_terminal() -> None:
    rule = Rule("evil\x1b[2J/x", "title", "why", "mend")
    place = Place(source=SourceLine("x\x1b]0;title\x07.hip", 1))
    nasty = Finding(rule, "a\x07b \x9b31m", place, hint="ünïcode →")
    report = replace(fake_reports.dump(), findings=(nasty,), patterns=("p\x1b[31m[bold]markup[/]",))
    for encoding in ("utf-8", "ascii", "latin-1"):
        text = text_of(report, 200, encoding)
        text.encode(encoding)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert "evil\\x1b[2J" in text
        assert "[bold]markup[/]" in text, "names are text, no markup"


@pytest.mark.parametrize(
    ("rows", "cols", "marks", "text"),
    [
        ([3, 3], [6, 7], [0, 0], "3,6/7"),
        ([6, 7], [3, 3], [0, 0], "6/7,3"),
        ([3, 4], [6, 7], [0, 0], "3,6/4,7"),
        ([3, 3], [6, 6], [1, 1], "=3,6/6"),
        ([3, HOLE], [6, HOLE], [0, 4], "3,6/·"),
        ([HOLE, HOLE], [HOLE, HOLE], [4, 4], "·"),
        ([HOLE, HOLE], [HOLE, HOLE], [5, 5], "!·"),
        ([3, 3], [UNKNOWN, UNKNOWN], [3, 3], "3,?/?"),
        ([3, UNKNOWN], [6, 7], [0, 3], "3,6/?,7"),
        ([UNKNOWN, UNKNOWN], [UNKNOWN, UNKNOWN], [3, 3], "?"),
        ([UNKNOWN, HOLE], [UNKNOWN, HOLE], [3, 4], "?/·"),
        ([3, 3], [6, 7], [0, 2], "3,6/~3,7"),
        ([3, 3], [6, 7], [2, 5], "!3,6/7"),
        ([5], [9], [0], "5,9"),
        ([3] * 4, [4, 5, 6, 7], [0] * 4, "3,4..7"),
        ([3] * 4, [4, 5, 7, 6], [0] * 4, "3,4/5/7/6"),
        ([0, 1, 2, 3], [9] * 4, [0] * 4, "0..3,9"),
    ],
)
def test_notation(rows: list[int], cols: list[int], marks: list[int], text: str) -> None:
    assert cell(rows, cols, [Mark(m) for m in marks], UNICODE) == text


@given(st.sets(st.integers(0, 63), min_size=1))
def test_number_list_reads_back(chosen: set[int]) -> None:
    assert numbers(number_list(sorted(chosen))) == sorted(chosen)


@given(
    wave=st.integers(0, 3),
    lane=st.integers(0, 31),
    vgpr=st.integers(0, 7),
    half=st.integers(0, 1),
    row=st.integers(0, 63),
    col=st.integers(0, 15),
)
def test_one_wrong_slot_is_always_seen(
    wave: int, lane: int, vgpr: int, half: int, row: int, col: int
) -> None:
    """Wherever the wrong element sits: that lane and VGPR are marked, and no other."""
    right = fake_reports.right_a()
    rows, cols = right.row.copy(), right.col.copy()
    if (rows[wave, lane, vgpr, half], cols[wave, lane, vgpr, half]) == (row, col):
        return
    rows[wave, lane, vgpr, half], cols[wave, lane, vgpr, half] = row, col
    report = fake_reports.dump(fake_reports.layout("A", (64, 16), rows, cols, 16))
    text = text_of(report)
    assert f"wave {wave} of 4: 1 of 512 slots wrong" in text
    marked = {place for place, shown in read_back(text).cells.items() if "!" in shown}
    assert marked == {(lane, vgpr)}
    assert np.argwhere(report.mismatch).tolist() == [[wave, lane, vgpr, half]]
