"""Which finding follows from which: what speaks for it, and what against."""

from __future__ import annotations

from typing import Any

import pytest

from layoutprobe.gate.causes import linked
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult, KernelVerdict, Status


def found(rule: str, line: int, *related: int, **about: Any) -> Finding:
    """A finding of that rule at a line, with other lines on the way of its value."""
    place = Place(source=SourceLine("k.hip", line), pc=line * 16, **about)
    ways = tuple(Related("loaded by", Place(source=SourceLine("k.hip", at), lds_byte=0)) for at in related)
    return Finding(Rule(rule, "", "", ""), rule, place, related=ways)


def verdict(*findings: Finding, status: Status = "finding") -> KernelVerdict:
    checks = dict.fromkeys(finding.check for finding in findings)
    results = [
        CheckResult(check, "", "finding", tuple(f for f in findings if f.check == check)) for check in checks
    ]
    rest: Status = "holds" if status == "holds" else "undecided"
    results += [CheckResult(c, "", rest) for c in ("operand-provenance", "epilogue") if c not in checks]
    return KernelVerdict("k", "k", "gfx1151", "k.hip", (), linked(results), ())


def told(*findings: Finding, status: Status = "finding") -> dict[str, list[str]]:
    """Cause -> what follows from it."""
    judged = verdict(*findings, status=status)
    return {f.rule.id: [c.rule.id for c in judged.consequences(f)] for f in judged.findings}


RACE = found("races/write-after-read", 30, 54)
VALUES = found("numerics/wrong-values", 65)


def test_a_missing_barrier_comes_before_what_it_spoils() -> None:
    sums = found("operand-provenance/incomplete-sum", 48)
    unstored = found("lds-safety/undefined-read", 54)
    assert told(sums, VALUES, unstored, RACE) == {
        "races/write-after-read": [
            "operand-provenance/incomplete-sum",
            "numerics/wrong-values",
            "lds-safety/undefined-read",
        ]
    }


def test_a_wrong_buffer_explains_the_race_and_not_the_reverse() -> None:
    wrong = found("operand-provenance/other-buffer", 54, 54)
    assert told(wrong, RACE) == {"operand-provenance/other-buffer": ["races/write-after-read"]}
    late = found("operand-provenance/stale-tile", 54, 54)
    assert told(late, RACE) == {"races/write-after-read": ["operand-provenance/stale-tile"]}


def test_what_has_nothing_in_common_stands_side_by_side() -> None:
    elsewhere = found("operand-provenance/other-buffer", 70, 70)
    assert told(elsewhere, RACE) == {
        "operand-provenance/other-buffer": [],
        "races/write-after-read": [],
    }


@pytest.mark.parametrize(("rule", "follows"), [("wrong-values", True), ("wrong-factor", False)])
def test_a_factor_that_explains_all_is_a_fault_of_its_own(rule: str, *, follows: bool) -> None:
    values = found(f"numerics/{rule}", 65)
    operand = found("operand-provenance/shifted", 50)
    assert (told(operand, values)["operand-provenance/shifted"] == [values.rule.id]) == follows


def test_a_race_that_spoilt_no_operand_and_no_store_explains_no_value() -> None:
    assert told(RACE, VALUES, status="holds") == {"races/write-after-read": [], "numerics/wrong-values": []}
    assert told(RACE, VALUES) == {"races/write-after-read": ["numerics/wrong-values"]}


def test_chains_end_at_their_cause() -> None:
    """Undefined LDS explains an operand, and a race the undefined LDS."""
    unstored = found("lds-safety/undefined-read", 54)
    operand = found("operand-provenance/unexplained", 54, 54)
    operand = Finding(operand.rule, operand.what, operand.place, observed="bits that were never defined")
    assert told(operand, unstored, RACE) == {
        "races/write-after-read": ["operand-provenance/unexplained", "lds-safety/undefined-read"]
    }


def test_the_same_in_both_matrices_by_one_line_is_one_fault() -> None:
    a, b = (found("operand-provenance/half-wave-copy", 82, matrix=matrix) for matrix in "AB")
    judged = verdict(a, b)
    assert [f.place.matrix for f in judged.findings] == ["A"]
    assert [f.place.matrix for f in judged.consequences(judged.findings[0])] == ["B"]


def test_causes_with_consequences_come_first() -> None:
    alone = found("operand-provenance/other-matrix", 10)
    assert list(told(alone, RACE, found("lds-safety/undefined-read", 54))) == [
        "races/write-after-read",
        "operand-provenance/other-matrix",
    ]


def test_a_load_that_leaves_its_buffer() -> None:
    """It explains k that are missing; a wrong leading dimension explains it."""
    out, sums = found("memory/load-out-of-bounds", 54), found("operand-provenance/incomplete-sum", 48)
    assert told(sums, out) == {"memory/load-out-of-bounds": ["operand-provenance/incomplete-sum"]}
    lines = found("operand-provenance/leading-dimension", 54, 54)
    assert told(lines, out) == {"operand-provenance/leading-dimension": ["memory/load-out-of-bounds"]}


def test_findings_without_a_buffer_have_none_in_common() -> None:
    never, out = found("epilogue/never-written", 1), found("memory/changed", 2)
    assert told(never, out) == {"epilogue/never-written": [], "memory/changed": []}
