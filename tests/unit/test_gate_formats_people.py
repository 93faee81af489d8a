"""Gate reports for people: terminal, job summary, page. Everything is there, and nothing dangerous is."""

from __future__ import annotations

import html
import io
import re
from functools import partial
from html.parser import HTMLParser
from typing import get_args

import fake_gates
import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from layoutprobe.render import formats
from layoutprobe.render.console import PlainConsole
from layoutprobe.render.gate.summary import MOST_FINDINGS, SIGNS, safe
from layoutprobe.render.gate.table import Detail, lines
from layoutprobe.render.gate.words import frame
from layoutprobe.render.look import ASCII, UNICODE
from layoutprobe.render.page import Page, show_lines
from layoutprobe.report.gate import CheckResult, GateReport, Hunt, Table

everywhere = pytest.mark.parametrize("name", fake_gates.ALL)
WORDS = ("HOLDS", "FINDING", "UNDECIDED")
SHOWN = {"holds": "✓", "finding": "✗", "undecided": "?", "skipped": "–"}


def text_of(report: GateReport, format: str) -> str:
    stream = io.StringIO()
    formats.find("gate", format).write(report, stream)
    return stream.getvalue()


def table(report: GateReport, width: int = 80, encoding: str = "utf-8", detail: Detail = "full") -> list[str]:
    glyphs = UNICODE if encoding == "utf-8" else ASCII
    return [line.plain for line in lines(report, Page(width, encoding, glyphs), detail)]


def flat(text: str) -> str:
    return " ".join(re.sub(r"[│|]", " ", text).split())


@pytest.mark.parametrize("format", ["table", "summary", "html", "json"])
def test_a_check_that_the_author_switched_off_is_in_the_headline(format: str) -> None:
    says = "the 1 kernel holds; not checked, as the manifest says: numerics, races"
    assert says in html.unescape(" ".join(text_of(fake_gates.waived(), format).split()))
    both = fake_gates.report(*fake_gates.waived().verdicts, *fake_gates.green().verdicts)
    assert "numerics, races (in 1 of 2 kernels)" in html.unescape(" ".join(text_of(both, format).split()))
    assert "not checked" not in text_of(fake_gates.green(), format), "what does not apply is no such thing"


@pytest.mark.parametrize("format", ["table", "summary", "html", "json", "junit"])
def test_a_finding_that_the_author_accepts_stays_in_sight(format: str) -> None:
    text = html.unescape(" ".join(text_of(fake_gates.accepted(), format).split()))
    text = text.replace("│ ", "")
    if format != "junit":
        says = "the 1 kernel holds; found and let pass: operand-provenance/transposed"
        assert says in text
    if format != "summary":  # whose table has a sign for it
        assert "the manifest waives operand-provenance/transposed: B is symmetric here" in " ".join(
            text.split()
        )


@pytest.mark.parametrize("format", ["table", "summary", "html"])
def test_one_reason_is_told_once(format: str) -> None:
    """And beside it, or below, every check that it leaves open."""
    text = html.unescape(" ".join(text_of(fake_gates.stopped_early(), format).split()))
    assert flat(text).count(fake_gates.STOPPED) == 1
    open_checks = list(fake_gates.LAWS)[:4]
    if format == "summary":
        assert f"{', '.join(open_checks)}**: {fake_gates.STOPPED}" in text
    else:
        assert text.count(f"undecided, as {open_checks[0]}") == 3


# Terminal


@everywhere
@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("detail", get_args(Detail))
def test_lines_fit_and_can_be_written(name: str, width: int, encoding: str, detail: Detail) -> None:
    for line in table(fake_gates.ALL[name](), width, encoding, detail):
        line.encode(encoding)
        assert line == line.rstrip()
        assert all(c.isprintable() for c in line)
        # A line that is longer holds one word that cannot be broken, beside its label or check.
        longest = max((cell_len(word) for word in line.split()), default=0)
        assert cell_len(line) <= width or longest > width - 32 or name == "hostile"


@everywhere
@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("detail", get_args(Detail))
def test_the_verdict_comes_last(name: str, width: int, detail: Detail) -> None:
    """And first, too, where much stands between."""
    report = fake_gates.ALL[name]()
    text = flat("\n".join(table(report, width, detail=detail)))
    word = WORDS[report.exit_code]
    verdicts = re.findall(r"verdict [✓✗?] ([A-Z]+) \(", text)
    assert verdicts == [word] * (2 if detail == "full" else 1)
    assert table(report, width, detail=detail)[-1].startswith(("verdict", " "))


@pytest.mark.parametrize("width", [80, 132])
def test_a_line_is_enough_for_a_check_that_holds(width: int) -> None:
    """Of several sizes it tells the last, and of a long sentence what fits; a kernel that holds takes 15 lines."""
    last = fake_gates.holds(
        "epilogue", "M=1: 2 elements; M=200 N=136 K=80: 400 elements " + "and so on " * 20
    )
    results = [replace(last, at_last="400 elements " + "and so on " * 20)]
    results += [
        replace(last, check=name, reason="short") for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i")
    ]
    report = fake_gates.report(replace(fake_gates.green().verdicts[0], results=(*results, results[0])))
    shown = table(report, width, detail="brief")
    assert len(shown) <= 15
    (line, _) = (line for line in shown if "epilogue" in line)
    assert line.split()[2:5] == ["400", "elements", "and"]
    assert line.endswith(" ...")
    assert "of M=200 N=136 K=80" in shown[1], "which size the figures are of"
    assert len(table(report, width)) > len(shown)


@everywhere
def test_what_is_wrong_or_open_is_told_at_any_length(name: str) -> None:
    report = fake_gates.ALL[name]()
    for detail in get_args(Detail):
        text = flat("\n".join(table(report, 200, detail=detail)))
        for verdict in report.verdicts:
            told = [found.what for found in verdict.findings]
            told += [r.reason for r in verdict.results if r.status == "undecided"] + [verdict.error]
            assert name == "hostile" or all(flat(sentence) in text for sentence in told)
    quiet = "\n".join(table(report, 200, detail="quiet"))
    held = [r.check for v in report.verdicts for r in v.results if r.status == "holds"]
    assert name == "hostile" or not any(f"✓ {check}" in quiet for check in held)


def test_what_somebody_asked_to_search_is_told_quietly_too() -> None:
    """Of a kernel that holds as well: that nothing was found is the answer."""
    found = replace(
        fake_gates.kernel("gemm", fake_gates.holds("numerics")), hunt=Hunt(41, 0, 60.0, (), False)
    )
    lines = table(fake_gates.report(found), 200, detail="quiet")
    assert any("hunted: 41 more sizes" in line for line in lines)
    silent = table(fake_gates.report(replace(found, hunt=None)), 200, detail="quiet")
    assert not any("gemm" in line for line in silent)


def test_the_line_that_a_finding_is_about_is_shown() -> None:
    """With its neighbours, and a mark below the column; a tab is as wide as the text above the mark says."""
    report = fake_gates.ALL["with-line"]()
    (verdict,) = report.verdicts
    source = verdict.findings[0].place.source
    assert source is not None
    place = replace(verdict.findings[0].place, source=replace(source, line=10, column=3))
    code = {9: "for (;;)", 10: "\t\tload(a);", 11: "}", 12: "not asked for"}
    verdict = replace(verdict, excerpts={source.file: code})
    assert frame(verdict, place) == ["   9  for (;;)", "> 10          load(a);", "              ^", "  11  }"]
    assert frame(verdict, replace(place, near=True)) == [], "the compiler named no line"
    assert frame(verdict, replace(place, source=replace(source, line=90))) == [], "nobody kept it"
    shown = replace(verdict, excerpts={source.file: {source.line: "<b>load(a)</b>;"}})
    assert any("<b>load(a)</b>;" in line for line in table(fake_gates.report(shown), detail="brief"))
    assert "&lt;b&gt;load(a)&lt;/b&gt;" in text_of(fake_gates.report(shown), "html")


@everywhere
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_check_has_a_line_with_its_sign(name: str, width: int) -> None:
    if name == "hostile":
        return
    report = fake_gates.ALL[name]()
    printed = [line.split() for line in table(report, width)]
    expected = [
        [SHOWN[result.status], result.check] for verdict in report.verdicts for result in verdict.results
    ]
    assert [words[:2] for words in printed if len(words) > 1 and words[1] in fake_gates.LAWS] == expected


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", ["with-line", "without-line", "several-targets", "mixed"])
def test_findings_are_told_in_full(name: str, width: int) -> None:
    report = fake_gates.ALL[name]()
    text = flat("\n".join(table(report, width)))
    for verdict in report.verdicts:
        for found in verdict.findings:
            for part in (found.what, found.expected, found.observed, found.hint, found.related_text):
                assert flat(part) in text
            for key, value in found.place.named().items():
                assert f"{key} {value}" in text


@pytest.mark.parametrize("name", ["undecided", "nothing-applied", "error", "mixed"])
def test_reasons_are_told(name: str) -> None:
    report = fake_gates.ALL[name]()
    text = flat("\n".join(table(report)))
    for verdict in report.verdicts:
        assert flat(verdict.error) in text
        for result in verdict.results:
            assert flat(result.reason) in text
    assert ("nothing is known about it" in text) == (name == "nothing-applied")


def test_figures_are_shown() -> None:
    text = flat("\n".join(table(fake_gates.green())))
    assert "VGPRs 96, SGPRs 30, LDS bytes 16384, spills 0, waves per SIMD 16" in text
    assert "largest error 0, allowed 0.05" in text


LONG = {
    "A in LDS": "row of 48 bytes: 16 groups of 8 halves, then 16 bytes of padding that nobody ever stores to",
    "B in LDS": "row of 32 bytes: 16-byte group XOR row/2, which the loads of operand B undo again",
}


@pytest.mark.parametrize("width", [40, 80, 132])
def test_a_long_figure_has_lines_of_its_own(width: int) -> None:
    """Where a figure is a sentence, its name opens a line and its text stands beside or below, aligned."""
    shown = figures({"LDS cycles": 4608, "conflict factor": 1.8, **LONG}, width)
    text = flat("\n".join(shown))
    for name, value in LONG.items():
        assert name in text
        assert flat(value) in text
    assert "LDS cycles 4608, conflict factor 1.8" in text
    first, second = (at for at, line in enumerate(shown) if line.lstrip().startswith(tuple(LONG)))
    texts = [line.replace("A in LDS", " " * 8) for line in shown[first:second]]
    begins = {len(line) - len(line.lstrip(" :")) for line in texts if line.strip(" :")}
    assert len(begins) == 1, "one text, one edge"


SITES = Table(
    ("site", "factor", "worst cycles", "accesses"),
    (("ds_store_b128 at ../wmma_helpers.h:68", 2.0, 8, 768), ("ds_store_b16 at gemm.hip:75", 8.25, 16, 384)),
)


def test_figures_of_several_things_are_columns() -> None:
    for width in (80, 132):
        shown = figures({"worst sites": SITES}, width)
        at = next(i for i, line in enumerate(shown) if line.strip() == "worst sites:")
        head, *rows = shown[at + 1 : at + 4]
        assert head.split() == ["site", "factor", "worst", "cycles", "accesses"]
        assert [row.split()[-3:] for row in rows] == [["2", "8", "768"], ["8.25", "16", "384"]]
        assert len({len(line) for line in (head, *rows)}) == 1, "the last column ends at one edge"


def test_columns_that_do_not_fit_become_sentences() -> None:
    text = flat("\n".join(figures({"worst sites": SITES}, 40)))
    assert "ds_store_b128 at ../wmma_helpers.h:68: factor 2, worst cycles 8, accesses 768" in text


def test_page_and_junit_have_the_columns() -> None:
    page = text_of(with_figures({"worst sites": SITES}), "html")
    assert '<th scope="col">worst cycles</th>' in page
    assert '<th scope="row">ds_store_b16 at gemm.hip:75</th><td>8.25</td><td>16</td><td>384</td>' in page
    junit = text_of(with_figures({"worst sites": SITES}), "junit")
    assert re.search(r"ds_store_b16 at gemm.hip:75 +8.25 +16 +384<", junit)


def with_figures(metrics: dict[str, object]) -> GateReport:
    verdict = fake_gates.green().verdicts[0]
    result = CheckResult("bank-conflicts", "law", "holds", metrics=metrics)
    return replace(fake_gates.green(), verdicts=(replace(verdict, results=(result,)),))


def figures(metrics: dict[str, object], width: int) -> list[str]:
    """Lines of the terminal, none wider than it is."""
    shown = [line.rstrip() for line in table(with_figures(metrics), width)]
    assert max(map(len, shown)) <= width
    return shown


def coloured(**options: object) -> str:
    stream = io.StringIO()
    show_lines(partial(lines, fake_gates.mixed()), PlainConsole(stream, width=80, **options))
    return stream.getvalue()


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    plain = coloured()
    assert "\x1b" not in plain
    bright = coloured(force_terminal=True, color_system="standard")
    assert "\x1b[1;31m" in bright
    assert "\x1b[1;32m" in bright
    assert re.sub(r"\x1b\[[0-9;]*m", "", bright) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", coloured(force_terminal=True, color_system="standard"))


def test_hostile_text_reaches_no_terminal() -> None:
    text = text_of(fake_gates.hostile(), "table")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ufffe]", text)


# Job summary


def rendered(markdown: str) -> str:
    """What a reader sees of escaped text."""
    return html.unescape(markdown)


@everywhere
def test_summary_shows_verdict_findings_and_reasons(name: str) -> None:
    report = fake_gates.ALL[name]()
    text = text_of(report, "summary")
    assert text.startswith(f"## {SIGNS[('holds', 'finding', 'undecided')[report.exit_code]]} ")
    assert f"**{WORDS[report.exit_code]}**" in text
    for verdict in report.verdicts:
        for found in verdict.findings:
            assert safe(found.what) in text
            assert safe(found.hint) in text
        for result in verdict.results:
            assert result.status != "undecided" or safe(result.reason) in text
        assert safe(verdict.error) in text


@everywhere
def test_summary_table_is_a_grid(name: str) -> None:
    report = fake_gates.ALL[name]()
    rows = [line.split("|") for line in text_of(report, "summary").splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) <= 1
    assert len(rows) == (2 + len(report.verdicts) if report.verdicts else 0)
    if name == "mixed":
        checks = [cell.strip() for cell in rows[0][4:-1]]
        for row, verdict in zip(rows[2:], report.verdicts, strict=True):
            status = {result.check: SIGNS[result.status] for result in verdict.results}
            assert [cell.strip() for cell in row[4:-1]] == [status.get(check, "") for check in checks]


def test_summary_keeps_hostile_text_as_text() -> None:
    text = text_of(fake_gates.hostile(), "summary")
    assert not re.search(r"[<>`*@\[\]](?![^\n]*\*\*)", text.replace("**", ""))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    for line in text.splitlines():
        assert re.match(r"(#{2,3} |\*\*|\||- |[✅❌❔➖&])|$", line), line


@pytest.mark.parametrize(
    "text", ["# h", "- x", "+ x", "1. x", "1) x", "--- ", "===", "> q", "~~~", "www.x.y"]
)
def test_summary_text_begins_nothing(text: str) -> None:
    assert not re.match(r"[#>~]|[-+*=]|\d[.)]|www\.", safe(text))
    assert rendered(safe(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("blended_swz.hip:39", "blended_swz.hip:39"),
        ("mnemonic v_wmma_f32_16x16x16_f16, VGPR v72", "mnemonic v_wmma_f32_16x16x16_f16, VGPR v72"),
        ("_soft_ and __hard__", "&#95;soft&#95; and &#95;&#95;hard&#95;&#95;"),
        ("a__b_", "a__b&#95;"),
        ("+__a", "&#43;&#95;&#95;a"),
        (":tada: and :+1:", "&#58;tada: and &#58;+1:"),
        ("https://a.b", "https&#58;//a.b"),
    ],
)
def test_summary_escapes_what_markdown_reads_and_no_more(text: str, shown: str) -> None:
    assert safe(text) == shown
    assert rendered(shown) == text


def test_summary_stays_small() -> None:
    many = tuple(replace(fake_gates.TRANSPOSED, what=f"{i} " + "x" * 5000) for i in range(300))
    report = fake_gates.report(fake_gates.kernel("k", fake_gates.found("operand-provenance", *many)))
    text = text_of(report, "summary")
    assert len(text.encode()) < 1 << 20
    assert f"{300 - MOST_FINDINGS} findings more" in text


# Page


class Structure(HTMLParser):
    """Collects tags, checks that they nest, and keeps what the reader sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def page(report: GateReport) -> Structure:
    structure = Structure()
    structure.feed(text_of(report, "html"))
    structure.close()
    return structure


@everywhere
def test_page_nests_and_brings_everything_along(name: str) -> None:
    report = fake_gates.ALL[name]()
    structure = page(report)
    assert structure.open == []
    assert not structure.seen & {"script", "link", "img", "iframe", "object"}
    assert not [key for key, _ in structure.attributes if key.startswith("on") or key in ("src", "style")]
    targets = [value for key, value in structure.attributes if key == "href"]
    ids = [value for key, value in structure.attributes if key == "id"]
    assert targets == [f"#{name}" for name in ids]
    text = text_of(report, "html")
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"https?://(?!x\.invalid)", text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert f'class="verdict {WORDS[report.exit_code].lower()}"' in text


@everywhere
def test_page_shows_everything(name: str) -> None:
    if name == "hostile":
        return
    report = fake_gates.ALL[name]()
    text = " ".join("".join(page(report).text).split())
    for verdict in report.verdicts:
        assert " ".join(verdict.error.split()) in text
        for found in verdict.findings:
            for part in (found.what, found.expected, found.observed, found.hint, found.related_text):
                assert part in text
        for result in verdict.results:
            assert result.law in text
            assert result.reason in text
            assert result.check in text


def test_page_opens_what_needs_a_reader() -> None:
    text = text_of(fake_gates.mixed(), "html")
    opened = re.findall(r'<details id="kernel-\d+"( open)?>', text)
    assert [bool(mark) for mark in opened] == [v.exit_code != 0 for v in fake_gates.mixed().verdicts]


def test_page_matrix_is_the_results() -> None:
    report = fake_gates.mixed()
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", text_of(report, "html"))
    for row, verdict in zip(rows, report.verdicts, strict=True):
        cells = [re.sub("<.*?>", "", cell) for cell in re.findall("<td>.*?</td>", row)]
        status = {result.check: SHOWN[result.status] for result in verdict.results}
        assert cells[1:] == [status.get(check, "") for check in fake_gates.LAWS]
        assert cells[0] == "✓✗?"[verdict.exit_code]


def test_page_keeps_hostile_text_as_text() -> None:
    structure = page(fake_gates.hostile())
    assert "script" not in structure.seen
    assert any('<script>alert("x")</script>' in text for text in structure.text)


def test_of_a_long_line_the_part_around_the_meant_column_is_shown() -> None:
    """The mark points at what it means, and what is cut off is said, at every width and column."""
    report = fake_gates.ALL["with-line"]()
    (verdict,) = report.verdicts
    place = verdict.findings[0].place
    assert place.source is not None
    file, long = place.source.file, "".join(f"{number:<4}" for number in range(50))
    verdict = replace(verdict, excerpts={file: {9: "for (;;) {", 10: long, 11: "}"}})
    for width in (30, 80, 120):
        for column in range(1, 201, 4):
            at = replace(place, source=replace(place.source, line=10, column=column))
            before, line, mark, _ = frame(verdict, at, width)
            assert max(map(len, (before, line, mark))) <= width
            assert line[mark.index("^")] == str((column - 1) // 4)[0] or "..." in line[mark.index("^") :][:3]
            assert line[mark.index("^") :].rstrip(".") != "", "what is meant can be read"
    assert frame(verdict, at, 300)[1] == f"> 10  {long.rstrip()}", "a line that fits is whole"
