"""JUnit XML: a test suite per kernel and target, a test case per check.

A finding is a <failure>. What could not be decided is an <error>, which every reader shows red: a
<skipped> would be green. <skipped> is kept for checks that do not apply, with their reason. A kernel
that could not be checked at all, or to which no check applied, gets a test case of its own.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TextIO

from layoutprobe.render.gate import words as gate_words
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict, Table
from layoutprobe.text import printable

KERNEL_CASE = "kernel"
"""Name of the test case that stands for a kernel as a whole."""


def write(report: GateReport, stream: TextIO) -> None:
    """Write one <testsuites> document."""
    root = ET.Element("testsuites", {"name": clean(gate_words.title(report))})
    for verdict in report.verdicts:
        root.append(_suite(verdict))
    if report.relaxations:
        root.append(_relaxed(report))
    if not report.verdicts:
        suite = ET.SubElement(root, "testsuite", {"name": clean(report.manifest)})
        _error(_case(suite, "gate", clean(report.manifest)), "no kernel was checked")
        _count(suite)
    _count(root)
    root.set("time", f"{sum(verdict.seconds for verdict in report.verdicts):.3f}")
    ET.indent(root)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(ET.tostring(root, encoding="unicode") + "\n")


def _relaxed(report: GateReport) -> ET.Element:
    suite = ET.Element("testsuite", {"name": "manifest"})
    case = _case(suite, clean(gate_words.relaxed_title(report)), clean(report.manifest))
    if report.strict:
        _error(case, "\n".join(report.relaxations))
    ET.SubElement(case, "system-out").text = clean("\n".join(report.relaxations))
    _count(suite)
    return suite


def clean(text: str) -> str:
    """Text that XML 1.0 can carry."""
    return printable(text).replace("\r", "")


def _suite(verdict: KernelVerdict) -> ET.Element:
    name = clean(gate_words.kernel_title(verdict))
    suite = ET.Element("testsuite", {"name": name, "time": f"{verdict.seconds:.3f}"})
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(verdict):
        ET.SubElement(properties, "property", {"name": clean(key), "value": clean(value)})
    for question in gate_words.open_questions(verdict):
        if not question.check:
            _error(_case(suite, KERNEL_CASE, name), question.reason)
    for result in verdict.results:
        _fill(_case(suite, clean(result.check), name), verdict, result)
    _count(suite)
    return suite


def _properties(verdict: KernelVerdict) -> Iterator[tuple[str, str]]:
    yield "symbol", verdict.symbol
    yield "target", verdict.target
    yield "source", verdict.source
    yield "evidence", gate_words.basis([verdict])
    for size in verdict.sizes:
        yield "size", size
    if verdict.coverage is not None:
        yield "coverage", f"ran {verdict.coverage}"
    for reservation in verdict.reservations:
        yield "reservation", reservation
    for key, value in verdict.toolchain.items():
        yield f"toolchain.{key}", value


def _case(suite: ET.Element, name: str, kernel: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"name": name, "classname": kernel, "time": "0.000"})


def _fill(case: ET.Element, verdict: KernelVerdict, result: CheckResult) -> None:
    if result.findings:
        first = result.findings[0]
        place = gate_words.spot(verdict, first)
        case.set("file", clean(place.file))
        if place.line is not None:
            case.set("line", str(place.line))
        more = f" (and {len(result.findings) - 1} more)" if len(result.findings) > 1 else ""
        failure = ET.SubElement(
            case, "failure", {"message": clean(first.what + more), "type": clean(first.rule.id)}
        )
        failure.text = clean("\n\n".join(gate_words.in_full(verdict, found) for found in result.findings))
    elif result.status == "undecided":
        _error(case, result.reason or "no reason was given")
    elif result.status == "skipped":
        ET.SubElement(case, "skipped", {"message": clean(result.reason)})
    said = [clean(text) for text in (result.law, result.reason) if text]
    said += [
        clean(f"{name}: {value}") for name, value in result.metrics.items() if not isinstance(value, Table)
    ]
    for name, table in gate_words.tables(result):
        said += [clean(line) for line in (f"{name}:", *gate_words.aligned(table))]
    ET.SubElement(case, "system-out").text = "\n".join(said)


def _error(case: ET.Element, reason: str) -> None:
    first = reason.partition("\n")[0]
    ET.SubElement(case, "error", {"message": clean(first), "type": "undecided"}).text = clean(reason)


def _count(element: ET.Element) -> None:
    """The numbers that readers show before they read the cases."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
