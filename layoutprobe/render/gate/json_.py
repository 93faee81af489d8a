"""JSON for programs: schema "layoutprobe.gate/3", described by docs/gate.schema.json.

Within version 3 keys may be added; none is removed, renamed or given a new meaning.
"""

from __future__ import annotations

import math
from typing import Any, TextIO

from layoutprobe.place import Place, SourceLine
from layoutprobe.render import data
from layoutprobe.render.gate import words as gate_words
from layoutprobe.render.layout.json_ import finding, plain
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, GateReport, Hunt, KernelVerdict, Mending, Table

SCHEMA = "layoutprobe.gate/3"


def write(report: GateReport, stream: TextIO) -> None:
    """Write the report as one JSON object, ASCII only, ending in a newline."""
    data.write(document(report), stream, indent=2)


def document(report: GateReport) -> dict[str, Any]:
    """The report as JSON's types."""
    outcome = gate_words.gate_outcome(report)
    body = {
        "layoutprobe": report.version,
        "manifest": report.manifest,
        "verdict": outcome.word,
        "summary": outcome.sentence,
        "exit_code": report.exit_code,
        "base": report.base or None,
        "relaxations": list(report.relaxations),
        "kernels": [_kernel(verdict) for verdict in report.verdicts],
    }
    return data.envelope(SCHEMA, body)


def _kernel(verdict: KernelVerdict) -> dict[str, Any]:
    outcome = gate_words.outcome(verdict)
    return {
        "name": verdict.name,
        "symbol": verdict.symbol,
        "target": verdict.target,
        "source": verdict.source,
        "sizes": list(verdict.sizes),
        "verdict": outcome.word,
        "summary": outcome.sentence,
        "exit_code": verdict.exit_code,
        "error": verdict.error or None,
        "open": [{"check": o.check or None, "reason": o.reason} for o in gate_words.open_questions(verdict)],
        "reservations": list(verdict.reservations),
        "strict": verdict.strict,
        "coverage": None if verdict.coverage is None else _coverage(verdict, verdict.coverage),
        "hunt": None if verdict.hunt is None else _hunt(verdict.hunt),
        "mending": None if verdict.mending is None else _mending(verdict, verdict.mending),
        "seconds": round(verdict.seconds, 3),
        "evidence": list(map(data.evidence, verdict.evidence)),
        "toolchain": dict(verdict.toolchain),
        "checks": [_check(verdict, result) for result in verdict.results],
    }


def _hunt(hunt: Hunt) -> dict[str, Any]:
    return {
        "tried": hunt.tried,
        "undecided": hunt.undecided,
        "seconds": round(hunt.seconds, 3),
        "sizes": [dict(size) for size in hunt.sizes],
        "fails": hunt.fails,
        "values": hunt.values,
        "seeds": hunt.seeds,
        "bears": hunt.bears,
        "seed": hunt.seed,
    }


def _mending(verdict: KernelVerdict, mending: Mending) -> dict[str, Any]:
    fix = mending.fix
    return {
        "tried": mending.tried,
        "compiled": mending.compiled,
        "seconds": round(mending.seconds, 3),
        "problem": mending.problem,
        "fix": fix
        and {
            "rule": fix.finding.rule.id,
            "file": gate_words.file_of(verdict, Place(source=SourceLine(fix.file, fix.line))),
            "line": fix.line,
            "old": list(fix.old),
            "new": list(fix.new),
            "sizes": fix.sizes,
        },
    }


def _coverage(verdict: KernelVerdict, covered: CodeCoverage) -> dict[str, Any]:
    return {
        "blocks": covered.blocks,
        "blocks_run": covered.blocks_run,
        "ways": covered.ways,
        "ways_gone": covered.ways_gone,
        "unreached": [
            {
                "place": _place(verdict, one.place),
                "last_line": one.last_line,
                "last_pc": one.last_pc,
                "does": one.does,
                "copied": one.copied,
            }
            for one in covered.unreached
        ],
        "branches": [{"place": _place(verdict, one.place), "jumped": one.jumped} for one in covered.branches],
        "loops": [
            {
                "place": _place(verdict, one.place),
                "pcs": list(one.pcs),
                "passes": list(one.passes),
                "skipped": one.skipped,
                "wanted": list(one.wanted),
            }
            for one in covered.loops
        ],
    }


def _check(verdict: KernelVerdict, result: CheckResult) -> dict[str, Any]:
    return {
        "check": result.check,
        "law": result.law,
        "status": result.status,
        "reason": result.reason or None,
        "waived": result.waived,
        "metrics": {name: _metric(value) for name, value in result.metrics.items()},
        "findings": [_finding(verdict, found) for found in result.findings],
        "accepted": [{"why": why, "finding": _finding(verdict, found)} for found, why in result.accepted],
    }


def _finding(verdict: KernelVerdict, found: Finding) -> dict[str, Any]:
    written = finding(found)
    # The file as a reviewer finds it, and the kernel's own where no other is known.
    written["place"] = _place(verdict, found.place)
    for other, related in zip(found.related, written["related"], strict=True):
        related["place"] = _place(verdict, other.place)
    if found.follows is not None:
        written["follows"] = found.follows.rule.id
    return written


def _place(verdict: KernelVerdict, place: Place) -> dict[str, Any]:
    return {"file": gate_words.file_of(verdict, place), **gate_words.located(verdict, place).json()}


def _metric(value: object) -> object:
    """A figure; of a table, an object for each row."""
    if not isinstance(value, Table):
        return _figure(value)
    return [dict(zip(value.columns, map(_figure, row), strict=True)) for row in value.rows]


def _figure(value: object) -> bool | float | int | str:
    """A figure as JSON knows it; what is no finite number becomes text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):  # numpy's float64 is one
        return float(value) if math.isfinite(value) else str(float(value))
    return plain(value)
