"""SARIF 2.1.0 for code scanning: a result per finding and per open question, under stable rules.

The rule of a finding is the one that it breaks ("races/read-after-write"), that of an open question its
check.

A finding has level "error"; what could not be decided is a result too, of level "warning", because
a service that shows no result shows green. Checks that hold or do not apply give no result: services
would list them as alerts. Why they do not apply stands in the notifications of the run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, TextIO
from urllib.parse import quote

from layoutprobe.place import Place, SourceLine
from layoutprobe.render import data
from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.gate.words import Open, Spot
from layoutprobe.render.layout.json_ import finding as finding_object
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Fix, GateReport, KernelVerdict
from layoutprobe.text import printable

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
KERNEL_RULE = "kernel"
"""Rule of what concerns a kernel as a whole: it could not be compiled or run."""
KERNEL_LAW = "each kernel of the manifest can be checked"
KERNEL_HELP = (
    "It compiles, has the arguments that the manifest declares, runs to its end, and some check applies to it. "
    "This is no check: it stands for what concerns a kernel as a whole. The result says what is wrong; nothing "
    "was decided about the kernel."
)
ROOT = "%SRCROOT%"


def write(report: GateReport, stream: TextIO) -> None:
    """Write one SARIF log with one run, ASCII only, ending in a newline."""
    data.write(log(report), stream, indent=2)


def log(report: GateReport) -> dict[str, Any]:
    """The report as a SARIF log."""
    rules = {KERNEL_RULE: _rule(KERNEL_RULE, KERNEL_LAW, f"{KERNEL_LAW}. {KERNEL_HELP}")}
    for verdict in report.verdicts:
        for result in verdict.results:
            rules.setdefault(result.check, _rule(result.check, result.law, _help(result)))
            for found in (*result.findings, *(found for found, _ in result.accepted)):
                rules.setdefault(
                    found.rule.id, _rule(found.rule.id, found.rule.title, found.rule.explanation)
                )
    index = {name: i for i, name in enumerate(rules)}
    results = [result for verdict in report.verdicts for result in _results(verdict, index)]
    if not report.verdicts:
        unread = Open("", gate_words.gate_outcome(report).sentence)
        results.append(_open(unread, "", Spot(gate_words.shown(report.manifest)), index))
    run = {
        "tool": {"driver": _driver(report, list(rules.values()))},
        "automationDetails": {"id": printable(f"layoutprobe/{report.manifest}/")},
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _driver(report: GateReport, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "layoutprobe", "version": printable(report.version), "rules": rules}


def _rule(name: str, title: str, text: str) -> dict[str, Any]:
    return {
        "id": printable(name),
        "shortDescription": {"text": printable(title) or printable(name)},
        "help": {"text": printable(text)},
        "defaultConfiguration": {"level": "error"},
    }


def _help(result: CheckResult) -> str:
    name = result.check
    return f"{result.law}.\n\n`layoutprobe explain {name}` says how it is tested, and what it cannot see."


def _results(verdict: KernelVerdict, index: dict[str, int]) -> list[dict[str, Any]]:
    kernel = gate_words.kernel_title(verdict)
    results = [_finding(found, verdict, index) for found in verdict.findings]
    for found, why in (accepted for result in verdict.results for accepted in result.accepted):
        suppressed = {"kind": "external", "justification": printable(why)}
        results.append(_finding(found, verdict, index) | {"suppressions": [suppressed]})
    whole = gate_words.spot(verdict)
    results += [_open(question, kernel, whole, index) for question in gate_words.open_questions(verdict)]
    return results


def _finding(found: Finding, verdict: KernelVerdict, index: dict[str, int]) -> dict[str, Any]:
    rule, place = found.rule.id, gate_words.spot(verdict, found)
    kernel = gate_words.kernel_title(verdict)
    text = "\n".join(
        [f"{kernel}: {found.what}", *(f"{a}: {b}" for a, b in gate_words.details(verdict, found))]
    )
    result = _result(rule, "error", text, kernel, place, index)
    result["partialFingerprints"] = {"layoutprobe/v2": _fingerprint(rule, kernel, place.file, found.what)}
    if others := list(_related(found, verdict)):
        result["relatedLocations"] = others
    if fix := verdict.fix(found):
        result["fixes"] = [_fix(fix, verdict)]
    if found.flow:
        result["codeFlows"] = [_flow(found, verdict)]
    details = {name: value for name, value in finding_object(found).items() if value is not None}
    result["properties"] = _clean({"kernel": verdict.name, "target": verdict.target, **details})
    return result


def _related(found: Finding, verdict: KernelVerdict) -> Iterator[dict[str, Any]]:
    """The calls by which the line came into the kernel, and the other places that the finding is about."""
    told = [(f"inlined here: {call.function}", Place(source=call.source)) for call in found.place.inlined_at]
    told += [(str(other), other.place) for other in found.related]
    for number, (text, place) in enumerate(told, 1):
        yield {
            "id": number,
            "physicalLocation": _physical(gate_words.spot_of(verdict, place)),
            "message": {"text": printable(text)},
        }


def _fix(fix: Fix, verdict: KernelVerdict) -> dict[str, Any]:
    """The lines that a change replaces, whole."""
    file = gate_words.file_of(verdict, Place(source=SourceLine(fix.file, fix.line)))
    region = {
        "startLine": fix.line,
        "startColumn": 1,
        "endLine": fix.line + len(fix.old) - 1,
        "endColumn": len(fix.old[-1]) + 1,
    }
    replaced = {"deletedRegion": region, "insertedContent": {"text": "\n".join(fix.new)}}
    return {
        "description": {"text": printable(gate_words.fix_title(verdict, fix).rstrip(":"))},
        "artifactChanges": [{"artifactLocation": artifact(file), "replacements": [replaced]}],
    }


def _flow(found: Finding, verdict: KernelVerdict) -> dict[str, Any]:
    """The way of a value through the kernel, from where it came in to where it is used."""
    steps = [
        {
            "location": {
                "physicalLocation": _physical(gate_words.spot_of(verdict, step.place)),
                "message": {"text": printable(str(step))},
            }
        }
        for step in found.flow
    ]
    return {"threadFlows": [{"locations": steps}]}


def _clean(value: Any) -> Any:
    """The same data without control characters."""
    if isinstance(value, dict):
        return {printable(name): _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return printable(value) if isinstance(value, str) else value


def _open(question: Open, kernel: str, place: Spot, index: dict[str, int]) -> dict[str, Any]:
    check = question.check or KERNEL_RULE
    text = f"{kernel}: could not be decided: {question.reason}" if kernel else question.reason
    result = _result(check, "warning", text, kernel, place, index)
    result["partialFingerprints"] = {"layoutprobe/v2": _fingerprint(check, kernel, place.file, "undecided")}
    return result


def _result(
    rule: str, level: str, text: str, kernel: str, place: Spot, index: dict[str, int]
) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(place)}
    if kernel:
        location["logicalLocations"] = [{"name": printable(kernel), "kind": "function"}]
    return {
        "ruleId": printable(rule),
        "ruleIndex": index[rule],
        "level": level,
        "message": {"text": printable(text)},
        "locations": [location],
    }


def _physical(place: Spot) -> dict[str, Any]:
    """Where; a whole file is its first line, since services need one."""
    region = {"startLine": place.line or 1}
    if place.line is not None and place.column is not None:
        region["startColumn"] = place.column
    return {"artifactLocation": artifact(place.file), "region": region}


def artifact(path: str) -> dict[str, str]:
    """A path as a URI: relative to the root of the sources, or absolute."""
    if re.match(r"[A-Za-z]:/", path):
        path = "/" + path
    uri = quote(path.encode("utf-8", "surrogatepass"), safe="/-._~")
    if uri.startswith("/"):
        return {"uri": "file://" + uri}
    return {"uri": uri or ".", "uriBaseId": ROOT}


def _fingerprint(*parts: str) -> str:
    """The same finding after an unrelated edit: without its line."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _invocation(report: GateReport) -> dict[str, Any]:
    """Whether everything could be decided, and what did not apply."""
    since = f"relaxed since {report.base}"
    notes = [_note("warning" if report.strict else "note", f"{since}: {text}") for text in report.relaxations]
    for verdict in report.verdicts:
        kernel = gate_words.kernel_title(verdict)
        notes += [
            _note("warning", f"{kernel}: {o.check} undecided: {o.reason}")
            for o in gate_words.open_questions(verdict)
        ]
        notes += [
            _note("note", f"{kernel}: {result.check} skipped: {result.reason}")
            for result in verdict.results
            if result.status == "skipped"
        ]
        notes += [_note("note", f"{kernel}: reservation: {text}") for text in verdict.reservations]
        if verdict.coverage is not None:
            notes.append(_note("note", f"{kernel}: ran {verdict.coverage}"))
    undecided = report.exit_code == 2 or any(note["level"] == "warning" for note in notes)
    return {
        "executionSuccessful": not undecided,
        "exitCode": report.exit_code,
        "toolExecutionNotifications": notes,
    }


def _note(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": printable(text)}}
