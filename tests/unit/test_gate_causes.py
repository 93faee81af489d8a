"""Which finding follows from which: what speaks for it, and what against."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from layoutprobe.checks.value_rules import NEVER_DEFINED, WRONG_VALUES
from layoutprobe.gate.causes import linked
from layoutprobe.place import Place, Size, SourceLine
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


def test_a_buffer_that_nobody_filled_follows_from_the_store_that_filled_the_other() -> None:
    """Whichever load meets it first: it need not be the one that the store races with."""
    unstored = found("lds-safety/undefined-read", 74)
    in_use = found("races/buffer-in-use", 91, 81)
    assert told(unstored, in_use) == {"races/buffer-in-use": ["lds-safety/undefined-read"]}
    assert set(told(unstored, found("races/write-after-read", 91, 81))) == {unstored.rule.id, RACE.rule.id}


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
    one: tuple[Size, ...] = ((("M", 63),),)
    both = (*one, (("M", 64),))
    somewhere, everywhere = replace(VALUES, sizes=one), replace(RACE, sizes=both)
    assert told(everywhere, somewhere, status="holds") == {
        "races/write-after-read": ["numerics/wrong-values"]
    }


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


def test_the_same_in_two_outputs_that_one_instruction_stores_is_one_fault() -> None:
    one = replace(VALUES, what="c0 is wrong on small integers: alpha is missing; wrong: 4 of 64")
    other = replace(one, what="c1 is wrong on small integers: alpha is missing; wrong: 9 of 32")
    elsewhere = replace(other, place=replace(other.place, pc=4096))
    otherwise = replace(one, what="c1 is wrong on small integers: beta is missing")
    assert told(one, other) == {"numerics/wrong-values": ["numerics/wrong-values"]}
    assert len(verdict(one, elsewhere).findings) == len(verdict(one, otherwise).findings) == 2


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


EDGE = found("operand-provenance/beyond-edge", 22)
ROWS = found("epilogue/half-wave-rows", 38)
NEVER = found("epilogue/never-written", 38)
TWICE = found("epilogue/written-twice", 38)


def sized(finding: Finding, *sizes: int) -> Finding:
    return replace(finding, sizes=tuple((("M", size),) for size in sizes))


def test_what_comes_from_outside_of_a_buffer_is_no_element_elsewhere_in_lds() -> None:
    """But only at the sizes at which something does, and of the load that brings it."""
    out = sized(found("memory/load-out-of-bounds", 46), 30, 75)
    lds = found("swizzle/lds-one-sided", 53, 46)
    assert told(sized(lds, 75), out) == {"memory/load-out-of-bounds": ["swizzle/lds-one-sided"]}
    assert told(sized(lds, 64, 75), out).keys() == {"swizzle/lds-one-sided", "memory/load-out-of-bounds"}
    other = sized(found("swizzle/lds-one-sided", 53, 41), 75)
    assert told(other, out).keys() == {"swizzle/lds-one-sided", "memory/load-out-of-bounds"}


def test_a_wrong_map_of_rows_explains_what_lies_beyond_the_edge() -> None:
    """Sums go to other rows of C, and rows of A beyond the edge seem to reach it. Clamped rows do no harm."""
    edge, rows = sized(EDGE, 50), sized(ROWS, 32, 50)
    assert told(edge, rows) == {"epilogue/half-wave-rows": ["operand-provenance/beyond-edge"]}
    assert told(edge, sized(ROWS, 50)).keys() >= {"operand-provenance/beyond-edge"}, (
        "k beyond the last: it may be so"
    )
    assert len(told(EDGE, NEVER)) == 2, "an unmasked tail is no matter of a tile that is missing"


def test_lines_in_another_order_at_ragged_sizes_follow_from_a_store_that_is_always_wrong() -> None:
    order = found("operand-provenance/line-order", 22)
    stored = sized(found("epilogue/unexplained", 44), 32, 50)
    assert told(sized(order, 50), stored) == {"epilogue/unexplained": ["operand-provenance/line-order"]}
    assert len(told(sized(order, 32, 50), stored)) == 2


def test_a_tile_that_is_made_twice_in_place_of_another() -> None:
    """Its sums hold every k twice; where k are missing, too, the loop is at fault."""
    sums = found("operand-provenance/incomplete-sum", 15)
    doubled, lost = (
        replace(sums, observed="k 0-74 added more than once"),
        replace(sums, observed="k 0-7 never added, k 8-15 added more than once"),
    )
    assert told(doubled, NEVER) == {"epilogue/never-written": ["operand-provenance/incomplete-sum"]}
    assert len(told(lost, NEVER)) == 2


@pytest.mark.parametrize("name", ["shifted", "other-wave", "thread-for-lane"])
def test_a_tile_that_two_waves_store_seems_to_hold_operands_of_another(name: str) -> None:
    operand = found(f"operand-provenance/{name}", 30)
    assert told(operand, TWICE) == {"epilogue/written-twice": [operand.rule.id]}


def test_a_wrong_index_of_an_addend_explains_the_wave_that_stores_there() -> None:
    addend, met = found("numerics/misplaced-addend", 50), found("races/global-handover", 50)
    assert told(addend, met) == {"numerics/misplaced-addend": ["races/global-handover"]}
    elsewhere = found("races/global-handover", 60)
    assert told(addend, elsewhere) != {"numerics/misplaced-addend": ["races/global-handover"]}


@pytest.mark.parametrize("rule", [WRONG_VALUES, NEVER_DEFINED])
@pytest.mark.parametrize("status", ["holds", "skipped", "undecided", "finding"])
def test_nobody_is_sent_to_a_check_that_has_nothing_to_show(rule: Rule, status: Status) -> None:
    values = Finding(rule, "", Place(), hint=rule.mend)
    others = [
        CheckResult(check, "", status, (found(f"{check}/other", 9),) if status == "finding" else ())
        for check in ("operand-provenance", "epilogue", "lds-safety")
    ]
    *_, told = linked([*others, CheckResult("numerics", "", "finding", (values,))])
    sent = any(check.check in told.findings[0].hint for check in others)
    assert sent == (status == "finding")
    specific = replace(values, hint="look there")
    *_, told = linked([*others, CheckResult("numerics", "", "finding", (specific,))])
    assert told.findings[0].hint == "look there"


def test_copies_of_a_store_that_meets_others_are_one_fault() -> None:
    """At another size other instructions of the line store."""
    full, ragged = (
        replace(found("races/global-overwrite", 31, buffer="Y"), what=what) for what in ("full", "ragged")
    )
    other = found("races/global-overwrite", 31, buffer="Z")
    assert len(verdict(full, ragged).findings) == 1
    assert len(verdict(full, other).findings) == 2


def test_a_load_that_is_let_be_outstanding_is_read_here_and_overwritten_there() -> None:
    load = Related("loaded by", Place(pc=7))
    read, over = (
        replace(found(f"waits/{name}-before-wait", line), related=(load,))
        for name, line in (("read", 54), ("overwritten", 61))
    )
    assert told(over, read) == {"waits/read-before-wait": ["waits/overwritten-before-wait"]}
    other = replace(over, related=(Related("loaded by", Place(pc=8)),))
    assert len(told(other, read)) == 2


def test_what_is_stored_beyond_a_buffer_was_read_beyond_what_lds_holds() -> None:
    beyond, unstored = found("epilogue/out-of-bounds", 30), found("lds-safety/undefined-read", 30)
    assert told(unstored, beyond) == {"epilogue/out-of-bounds": ["lds-safety/undefined-read"]}
    assert len(told(found("lds-safety/undefined-read", 31), beyond)) == 2


def test_all_follows_from_what_names_a_change_with_which_all_holds() -> None:
    """Two waves of one number store the same tile twice, and race over their LDS: one index is behind both."""
    twice = found("epilogue/written-twice", 73)
    mended = replace(twice, mended=True)
    assert told(twice, RACE) == {"epilogue/written-twice": [], "races/write-after-read": []}
    assert told(mended, RACE, VALUES) == {
        "epilogue/written-twice": ["races/write-after-read", "numerics/wrong-values"]
    }
