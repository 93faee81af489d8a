"""Each experiment agrees with an honest card, and names what a lying one does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from fidelity import cards
from fidelity.cards import Card, Words, cycles_of
from layoutprobe.arch import ARCHES, find
from layoutprobe.arch.lds import LdsModel, Phases
from layoutprobe.backends.source import Live, chosen
from layoutprobe.fidelity.examine import examine
from layoutprobe.fidelity.registry import EXPERIMENTS
from layoutprobe.report.fidelity import FidelityReport, Outcome

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
NAMES = tuple(e.name for e in EXPERIMENTS if not e.refusal(find(cards.TARGET)))
"""Those that apply to the card; how a matrix unit adds is asked where a rule is published."""


def asked(name: str, card: Card) -> Outcome:
    report = examine(cards.TARGET, Live(card), (BY_NAME[name],))
    return report.outcomes[0]


@pytest.fixture(scope="module")
def honest() -> FidelityReport:
    return examine(cards.TARGET, Live(Card()))


def test_an_honest_card_agrees_in_everything(honest: FidelityReport) -> None:
    agreed = [o for o in honest.outcomes if o.verdict != "not applicable"]
    assert {o.name: o.verdict for o in agreed} == dict.fromkeys(NAMES, "agree")
    assert honest.exit_code == 0
    assert [str(e) for e in honest.evidence] == [f"measured ({cards.NAME})"]
    assert honest.device["name"] == cards.NAME
    assert all(o.runs and o.evidence == honest.evidence for o in agreed)


LIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "columns one lane further": (
        "layouts", {"after": cards.columns_rotated}, "lane 0, VGPR v0: D[0][15], the emulator has D[0][0]"
    ),
    "no product": ("layouts", {"after": cards.nonsense}, "v_wmma_i32_16x16x16_iu4"),
    "D keeps nothing": ("layouts", {"after": cards.other_half_cleared_by_wmma}, "D keeps what it held before in"),
    "copies swapped": (
        "half-wave copies", {"before": cards.copies_swapped}, "D[0][0] in lanes 0-15 reads lanes 16-31 of A"
    ),
    "lanes 0-15 only": (
        "half-wave copies", {"before": cards.lower_lanes_only}, "every output reads lanes 0-15 of A and"
    ),
    "op_sel clears": (
        "op_sel of 16-bit results", {"after": cards.other_half_cleared_by_wmma}, "the other half of D is cleared"
    ),
    "op_sel copies C": (
        "op_sel of 16-bit results", {"after": cards.other_half_from_c}, "the other half of D comes from C"
    ),
    "op_sel ignored": (
        "op_sel of 16-bit results", {"after": cards.op_sel_ignored}, "in the half that op_sel selects"
    ),
    "loads clear": (
        "16-bit loads and stores", {"after": cards.other_half_cleared_by_loads}, "the other half is cleared"
    ),
    "store of the wrong half": (
        "16-bit loads and stores", {"after": cards.store_takes_the_low_half}, "ds_store_b16_d16_hi: run 0, lane 0"
    ),
    "truncation": ("arithmetic", {"after": cards.truncating}, "v_wmma_f32_16x16x16_f16: of 12288 results equal"),
    "signs exchanged": ("signs of integers", {"before": cards.signs_exchanged}, "computed with B signed"),
    "clamp ignored": (
        "clamp and overflow", {"after": cards.clamp_ignored}, "computed with A and B signed, wrapping"
    ),
    "clamp to the input": (
        "clamp and overflow", {"after": cards.clamp_to_the_input}, "clamped to the range of the 8-bit inputs"
    ),
    "EXEC masks": ("inactive lanes", {"after": cards.inactive_lanes_not_written}, "inactive lanes of D are not"),
    "dword addresses": (
        "odd LDS addresses", {"before": cards.dword_addresses}, "rounded down to multiples of 4 bytes"
    ),
}  # fmt: skip
"""What the card does -> the experiment that must differ, the lie, and words of its answer."""


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named(lie: str) -> None:
    name, how, words = LIES[lie]
    outcome = asked(name, Card(**how))
    assert outcome.verdict == "differ"
    assert words in outcome.answer


def test_every_experiment_has_a_lie_or_a_test_of_its_own() -> None:
    assert {name for name, _, _ in LIES.values()} == set(NAMES) - {"LDS phases", "uninitialised memory"}


@pytest.mark.long
def test_a_lie_about_one_instruction_leaves_the_others_alone() -> None:
    outcome = asked("layouts", Card(after=cards.columns_rotated))
    wrong = {case.name for case in outcome.cases if case.verdict != "agree"}
    assert wrong == {f"v_wmma_f32_16x16x16_f16, wave{wave}" for wave in (32, 64)}


@pytest.mark.few(1)
@pytest.mark.parametrize("lie", [cards.copies_swapped, cards.lower_lanes_only])
def test_which_copy_is_read_is_no_question_of_layout(lie: cards.Before) -> None:
    """The documents leave it open, and no kernel that does as they ask is affected."""
    assert asked("layouts", Card(before=lie)).verdict == "agree"


# Arithmetic: each mode of the emulator is recognised by its bits


@pytest.mark.parametrize("mode", ["ieee", "silicon"])
def test_the_mode_is_recognised(mode: str) -> None:
    outcome = asked("arithmetic", Card(arithmetic=mode))
    assert outcome.verdict == "agree"
    assert len(outcome.cases) == 4
    assert all(f"--arithmetic {mode} " in case.text for case in outcome.cases)


# Memory that nobody has set


def test_memory_that_is_cleared_is_undecided() -> None:
    outcome = asked("uninitialised memory", Card(left=False))
    assert outcome.verdict == "undecided"
    assert "does not show that it is always so" in outcome.answer


# LDS phases, by clocks that follow other rules

Rules = Mapping[int, Phases]


def groups(size: int) -> Phases:
    return tuple(tuple(range(first, first + size)) for first in range(0, 32, size))


EVEN_ODD: Phases = (tuple(range(0, 32, 2)), tuple(range(1, 32, 2)))


def by(rules: Rules, addresses: Words, size: int, store: bool) -> NDArray[np.float64]:
    return cycles_of(cards.MODEL.stores if store else {**cards.MODEL.loads, **rules}, addresses, size)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({16: groups(8)}, "ds_load_b128: measured {0-7} {8-15} {16-23} {24-31}; the model has {0-3, 20-23} "),
        ({8: groups(32)}, "ds_load_b64: measured {0-31}; the model has {0-15} {16-31}"),
        ({8: EVEN_ODD}, "ds_load_b64: measured {0, 2, 4, 6, 8, 10,"),
        ({4: groups(16)}, "ds_load_b32: measured {0-15} {16-31}; the model has {0-31}"),
    ],
)  # fmt: skip
def test_other_phases_are_named(rules: Rules, words: str) -> None:
    outcome = asked("LDS phases", Card(clock=partial(by, rules)))
    assert outcome.verdict == "differ"
    assert words in outcome.answer
    assert sum(case.verdict == "agree" for case in outcome.cases) == 5


def test_a_slower_clock_makes_no_difference() -> None:
    outcome = asked("LDS phases", Card(clock=lambda *access: 4 * cards.modelled(*access)))
    assert outcome.verdict == "agree"


def test_without_conflicts_nothing_is_decided() -> None:
    outcome = asked("LDS phases", Card(clock=lambda addresses, size, store: np.full(len(addresses), 3.0)))
    assert outcome.verdict == "undecided"
    assert "no bank conflict shows" in outcome.answer


def test_lanes_that_make_no_groups_are_undecided() -> None:
    """Every lane with its neighbours, and so with no end."""

    def chain(addresses: Words, size: int, store: bool) -> NDArray[np.float64]:
        cycles = cards.modelled(addresses, size, store)
        for at, row in enumerate(addresses.astype(int)):
            odd = np.flatnonzero(row != 64)
            if row[row == 64].size == 30:
                cycles[at] = cycles[0] + (abs(odd[0] - odd[1]) <= 2)
        return cycles

    outcome = asked("LDS phases", Card(clock=chain))
    assert outcome.verdict == "undecided"
    assert "make no groups" in outcome.answer


def test_costs_that_are_not_the_models_differ() -> None:
    """The phases are right, but three rows of a bank cost no more than two."""

    def capped(addresses: Words, size: int, store: bool) -> NDArray[np.float64]:
        cycles = cards.modelled(addresses, size, store)
        apart = len(set(addresses[1].tolist())) == 32
        capped = np.minimum(cycles, len(cards.MODEL.loads[size]) + 1)
        assert apart
        capped[1] = cycles[1]
        return capped

    outcome = asked("LDS phases", Card(clock=capped))
    assert outcome.verdict == "differ"
    assert "phases as the model has them, but" in outcome.answer


def test_where_there_are_no_rules_the_phases_are_only_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARCHES, "gfx1100", replace(ARCHES["gfx1100"], lds=LdsModel(32, 32, {})))
    report = examine("gfx1100", Live(Card()), (BY_NAME["LDS phases"],))
    (outcome,) = report.outcomes
    assert {case.verdict for case in outcome.cases} == {"not applicable"}
    assert "measured {0-3, 20-23} {4-7, 16-19}" in outcome.cases[2].text
    assert report.exit_code == 2, "nothing was compared"


# Other targets


@pytest.mark.long
@pytest.mark.parametrize(
    ("arch", "lacks"),
    [("gfx1100", {"sums"}), ("gfx1200", {"half-wave copies", "op_sel of 16-bit results", "sums"})],
)
def test_other_targets_are_asked_what_applies_to_them(arch: str, lacks: set[str]) -> None:
    """But for LDS phases of RDNA4, whose kernel the fake clock does not read, and layouts, which take long."""
    fewer = tuple(e for e in EXPERIMENTS if e.name not in ("layouts", "LDS phases") or arch == "gfx1100")
    card = Card(arithmetic="ieee" if arch == "gfx1200" else "silicon")
    report = examine(arch, Live(card), fewer)
    verdicts = {o.name: o.verdict for o in report.outcomes}
    assert {name for name, verdict in verdicts.items() if verdict == "not applicable"} == lacks
    assert {verdict for name, verdict in verdicts.items() if name not in lacks} == {"agree"}
    assert report.exit_code == 0


@pytest.mark.parametrize("arch", [name for name, target in ARCHES.items() if target.wave_size == 64])
def test_no_probe_of_waves_of_32_is_tried_on_waves_of_64(arch: str) -> None:
    """Compiled there, their assembly is a page of errors; the layouts are asked by probes of their own."""
    asked = tuple(one for one in EXPERIMENTS if one.name != "layouts")
    report = examine(arch, chosen(None, arch), asked)
    for outcome in report.outcomes:
        assert outcome.verdict == "not applicable", outcome
        assert [case.verdict for case in outcome.cases] == ["not applicable"]


def test_a_lie_is_named_on_rdna4() -> None:
    lies = examine(
        "gfx1200",
        Live(Card(before=cards.signs_exchanged, arithmetic="ieee")),
        (BY_NAME["signs of integers"],),
    )
    assert "computed with B signed" in lies.outcomes[0].answer


# A card that is lost on the way


@pytest.mark.long
def test_a_lost_card_leaves_what_was_answered_before() -> None:
    report = examine(cards.TARGET, Live(Card(dies_at="exec_mask")))
    asked_for = [o for o in report.outcomes if o.name in NAMES]
    verdicts = [o.verdict for o in asked_for]
    at = NAMES.index("inactive lanes")
    assert verdicts == ["agree"] * at + ["undecided"] * (len(NAMES) - at)
    assert report.exit_code == 2
    assert "the card was lost" in asked_for[at].answer


@pytest.mark.long
def test_what_differs_outweighs_what_is_undecided() -> None:
    report = examine(cards.TARGET, Live(Card(before=cards.copies_swapped, dies_at="exec_mask")))
    assert (report.verdict, report.exit_code) == ("differ", 1)
