"""Results of several sizes as one, and faults as findings of the law that they break."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.faults import FAULT_RULES
from layoutprobe.checks.registry import find_check
from layoutprobe.errors import ExecutionError
from layoutprobe.gate.applying import with_faults
from layoutprobe.gate.merge import merge
from layoutprobe.place import Element, Place, Register, Size, SourceLine
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult, Status
from layoutprobe.trace.subject import Subject


def _never(_: Subject) -> CheckResult:
    raise AssertionError


CHECK = Check("memory", "a law", "words", _never)
EPILOGUE = Check("epilogue", "another", "words", _never)


CHANGED = Rule("memory/changed", "title", "why", "mend")
OTHER = Rule("memory/other", "title", "why", "mend")


def finding(what: str, pc: int = 0x10, rule: Rule = CHANGED, **place: Any) -> Finding:
    return Finding(rule, what, Place(pc=pc, **place))


def m(value: int) -> Size:
    return (("M", value),)


# Sizes.


def test_one_cause_at_three_sizes_is_one_finding() -> None:
    results = [
        (m(1), CHECK.found([finding("3 bytes of C change")])),
        (m(2), CHECK.found([finding("rows 1 and 2 of C change")])),
        (m(3), CHECK.found([finding("17 bytes of C change"), finding("3 bytes of C change", pc=0x20)])),
    ]
    merged = merge(results)
    assert merged.status == "finding"
    assert [(f.what, f.place.pc, f.place.size, f.sizes, f.count) for f in merged.findings] == [
        ("3 bytes of C change", 0x10, m(1), (m(1), m(2), m(3)), 3),
        ("3 bytes of C change", 0x20, m(3), (m(3),), 1),
    ]


STORED, HALF, ODD = (
    Rule(rule, "title", "why", "mend")
    for rule in ("epilogue/stored-order", "epilogue/half-wave-ignored", "numerics/odd-read")
)


def test_one_place_that_looks_otherwise_at_another_size_is_one_cause() -> None:
    """What fits most sizes leads; two findings of one size are two causes."""
    order, half = (finding(rule.id, 0x10, rule, matrix="C") for rule in (STORED, HALF))
    few, many, more = ((m(size), EPILOGUE.found([one])) for size, one in enumerate((half, order, order), 1))
    (found,) = merge([few, many, more]).findings
    assert (found.rule, found.sizes) == (STORED, (m(2), m(3), m(1)))
    both = merge([many, (m(3), EPILOGUE.found([order, half]))])
    assert [one.rule for one in both.findings] == [STORED, HALF]
    elsewhere = replace(half, place=replace(half.place, pc=0x20))
    assert len(merge([many, (m(3), EPILOGUE.found([elsewhere]))]).findings) == 2


def test_a_guess_by_the_pattern_of_loads_gives_way_to_what_is_known_at_another_size() -> None:
    numerics = Check("numerics", "a law", "words", _never)
    known = Rule("numerics/other-elements", "title", "why", "mend")
    first, second = (
        finding(rule.id, pc, rule, element=Element("y", (0, pc))) for rule, pc in ((ODD, 1), (known, 2))
    )
    (found,) = merge([(m(1), numerics.found([first])), (m(2), numerics.found([second]))]).findings
    assert (found.rule, found.sizes) == (known, (m(2), m(1)))


def test_races_with_a_pair_in_common_are_one_missing_barrier() -> None:
    """At K = 16 a loop has one pass, and the barrier at its end nothing to order."""

    def race(pc: int, *pairs: tuple[int, int]) -> Finding:
        return replace(finding("a race", pc), pairs=frozenset(pairs))

    few, many, other = race(0x30, (1, 3)), race(0x40, (1, 3), (3, 4)), race(0x50, (7, 8))
    merged = merge(
        [(m(1), CHECK.found([few, other])), (m(2), CHECK.found([many])), (m(3), CHECK.found([few]))]
    )
    assert [(f.place.pc, f.sizes, f.count) for f in merged.findings] == [
        (0x40, (m(2), m(1), m(3)), 3),
        (0x50, (m(1),), 1),
    ]


def test_other_instructions_of_a_line_that_go_astray_at_other_sizes_are_one_cause() -> None:
    rule, line = FAULT_RULES["global-load"], SourceLine("a.hip", 7)
    astray = [finding("outside", pc, rule, source=line) for pc in (0x10, 0x20)]
    nameless = [finding("outside", pc, rule) for pc in (0x10, 0x20)]
    for found, count in ((astray, 1), (nameless, 2)):
        merged = merge([(m(size), CHECK.found([one])) for size, one in enumerate(found, 1)])
        assert len(merged.findings) == count
    elsewhere = finding("outside", 0x10, rule, source=SourceLine("a.hip", 8))
    assert len(merge([(m(1), CHECK.found([astray[0]])), (m(2), CHECK.found([elsewhere]))]).findings) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"rule": OTHER},
        {"pc": 0x14},
        {"matrix": "B"},
        {"buffer": "c"},
        {"source": SourceLine("k.hip", 3)},
        {"element": Element("D", (0, 0))},
    ],
    ids=str,
)
def test_another_rule_or_place_is_another_cause(other: dict[str, Any]) -> None:
    both = [(m(1), CHECK.found([finding("x changes")])), (m(2), CHECK.found([finding("x changes", **other)]))]
    assert [f.sizes for f in merge(both).findings] == [(m(1),), (m(2),)]


@pytest.mark.parametrize(
    "other",
    [{"lane": 3}, {"wave": 2}, {"register": Register("VGPR", 4)}, {"bits": (0, 15)}, {"lds_byte": 64}],
    ids=str,
)
def test_the_same_cause_may_show_in_another_lane(other: dict[str, Any]) -> None:
    """Which lane comes first depends on the size."""
    both = [(m(1), CHECK.found([finding("x changes")])), (m(2), CHECK.found([finding("y", **other)]))]
    (merged,) = merge(both).findings
    assert merged.count == 2


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("holds", "holds"), "holds"),
        (("holds", "skipped"), "holds"),
        (("skipped", "skipped"), "skipped"),
        (("holds", "undecided"), "undecided"),
        (("undecided", "finding"), "finding"),
        (("skipped", "undecided"), "undecided"),
    ],
)
def test_silence_is_never_green(statuses: tuple[Status, ...], expected: Status) -> None:
    for order in (statuses, statuses[::-1]):
        results = [(m(i), CheckResult("memory", "", status)) for i, status in enumerate(order)]
        assert merge(results).status == expected


def test_reasons_are_those_of_the_status_that_counts() -> None:
    results = [
        (m(1), CHECK.holds("fine")),
        (m(2), CHECK.undecided("no time")),
        (m(3), CHECK.undecided("?")),
    ]
    assert merge(results).reason == "M=2: no time; M=3: ?"
    assert merge([(m(1), CHECK.holds("same")), (m(2), CHECK.holds("same"))]).reason == "same"


def test_figures_stand_side_by_side() -> None:
    merged = merge(
        [
            (m(1), CHECK.holds(metrics={"cycles": 4, "error": 0.25, "same": 7, "worst": "a"})),
            (m(2), CHECK.holds(metrics={"cycles": 8, "error": 1e-9, "same": 7, "worst": "b"})),
        ]
    )
    assert merged.metrics == {"cycles": "4 / 8", "error": "0.25 / 1e-09", "same": 7, "worst": "b"}
    assert merged.by_size == {
        "M=1": {"cycles": 4, "error": 0.25, "same": 7, "worst": "a"},
        "M=2": {"cycles": 8, "error": 1e-9, "same": 7, "worst": "b"},
    }
    assert merge([(m(3), CHECK.holds(metrics={"cycles": 5}))]).by_size == {"M=3": {"cycles": 5}}
    assert merge([((), CHECK.holds(metrics={"registers": 5}))]).by_size == {}


# Faults.


def fault(kind: str, what: str = "wrong", pc: int = 0x40) -> ExecutionError:
    return ExecutionError(what, place=Place(pc=pc), kind=kind, expected="e", observed="o", hint="h")


def test_a_fault_is_a_finding_of_its_law_only() -> None:
    results = {"memory": CHECK.undecided("stopped"), "epilogue": EPILOGUE.undecided("stopped")}
    merged = with_faults(results, [fault("global-store")])
    assert merged["memory"] == results["memory"]
    assert merged["epilogue"].status == "finding"
    (found,) = merged["epilogue"].findings
    assert found.rule.id == "epilogue/out-of-bounds"
    assert (found.check, found.what, found.expected, found.observed, found.hint) == (
        "epilogue",
        "wrong",
        "e",
        "o",
        "h",
    )


@pytest.mark.parametrize("epilogue", [None, "skipped"])
def test_memory_stands_in_for_a_check_that_does_not_run(epilogue: str | None) -> None:
    results = {"memory": CHECK.undecided("stopped")}
    if epilogue:
        results["epilogue"] = EPILOGUE.skipped("no product")
    merged = with_faults(results, [fault("global-store")])
    assert merged["memory"].status == "finding"
    assert epilogue is None or merged["epilogue"].status == "skipped"


@pytest.mark.parametrize("kind", ["budget", "time", ""])
def test_limits_and_gaps_of_the_emulator_are_no_findings(kind: str) -> None:
    results = {"memory": CHECK.undecided("stopped")}
    assert with_faults(results, [fault(kind)]) == results


def test_a_consequence_is_no_finding_of_its_own() -> None:
    """An undefined address after an uninitialised read that was found already."""
    cause = EPILOGUE.found([finding("cause", pc=4)])
    results = {"memory": CHECK.undecided("stopped"), "epilogue": cause}
    assert with_faults(results, [fault("undefined-address")]) == results
    assert with_faults({**results, "epilogue": EPILOGUE.holds()}, [fault("undefined-address")])[
        "memory"
    ].findings
    assert with_faults(results, [fault("scratch-bounds")])["memory"].findings


def test_what_a_check_found_at_the_same_instruction_is_not_repeated() -> None:
    results = {"memory": CHECK.found([finding("better words", pc=0x40)])}
    merged = with_faults(results, [fault("trap"), fault("trap", pc=0x44)])
    assert [f.what for f in merged["memory"].findings] == ["better words", "wrong"]


def test_every_rule_of_a_fault_is_one_of_its_check() -> None:
    for rule in FAULT_RULES.values():
        assert rule in find_check(rule.check).rules
