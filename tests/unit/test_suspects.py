"""Which expressions are suspected: by what moves with other values of theirs, beside what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.suspects import Suspects, by_suspicion, suspects
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.rewrites.spot import Rewrite

FILE = Path("kernel.hip")
TEXT = "if (row < rows) y[row] = a * x[row] + b;\ny2[row] = g / n * c;"
FOUND = Finding(Rule("numerics/wrong-values", "", "", ""), "", Place())
WRONG = [np.array([True, True, False, False, False]), np.array([False, False, False])]


def edit(old: str, new: str, rank: float = 3.0, at: str = "") -> SourceEdit:
    start = TEXT.index(at or old) + (at.index(old) if at else 0)
    return SourceEdit(FILE, Rewrite(start, start + len(old), new, "names"), rank, FOUND)


def moved(*outputs: Sequence[int]) -> list[np.ndarray]:
    """Which elements of each output have another value."""
    return [np.isin(np.arange(of.size), at) for of, at in zip(WRONG, outputs, strict=True)]


MOVES = {
    ("a", "a *"): [moved([0, 1], [])],
    ("b", "+ b"): [moved([0, 1, 2, 3, 4], [])],
    ("c", "* c"): [moved([], [0, 1, 2])],
    ("row", "y[row]"): [moved([0], [])],
}


def asked(moves: dict[tuple[str, str], list[list[np.ndarray] | None]] | None = None) -> Suspects:
    ways = [
        (edit(old, f"lp_other({old})", at=at), way)
        for (old, at), found in (moves or MOVES).items()
        for way in found
    ]
    return suspects(ways, WRONG, {FILE: TEXT})


@pytest.mark.parametrize("ended", [False, True])
def test_what_a_run_that_ended_has_not_moved_is_no_objection(*, ended: bool) -> None:
    """Of four wrong elements it moves three; the fourth may be of what such a run never came to."""
    wrong = [np.array([True, True, True, True, False, False])]
    way: list[list[np.ndarray] | None] = [
        [np.array([True, True, True, False, False, False])],
        *[None] * ended,
    ]
    ways = [(edit("a", "lp_other(a)", at="a *"), one) for one in way]
    found = suspects(ways, wrong, {FILE: TEXT})
    assert bool(found.worst(1)) is ended
    assert (found.later(edit("a", "A", at="a *")) < 0) is ended


def test_what_goes_into_all_that_is_wrong_and_nothing_else_comes_first() -> None:
    found = asked()
    every = [("c", "C", "* c"), ("b", "B", "+ b"), ("a", "A", "a *"), ("n", "N", "/ n")]
    edits = [edit(old, new, at=at) for old, new, at in every]
    order = [one.rewrite.text for one in by_suspicion(edits, found)]
    assert order.index("A") == 0, "it moves what is wrong alone"
    assert order.index("C") == len(order) - 1, "it moves nothing that is wrong"
    assert order.index("B") < order.index("C"), "it moves all"
    assert TEXT[slice(*(lambda one: (one.start, one.end))(found.worst(1)[0]))] == "a"


def test_what_leaves_some_of_the_wrong_elements_where_they_are_is_no_suspect() -> None:
    """And comes the later, the more it leaves."""
    found = asked()
    assert "row" not in {TEXT[one.start : one.end] for one in found.worst(9)}
    half, none = (found.later(edit(*one)) for one in (("row", "col", 3.0, "y[row]"), ("c", "C", 3.0, "* c")))
    assert 0 < half <= none


def test_what_several_values_move_together_is_moved() -> None:
    parts: list[list[np.ndarray] | None] = [moved([0], []), moved([1], [])]
    assert asked({("a", "a *"): parts}).later(edit("a", "A", at="a *")) < 0


def test_of_what_is_lost_on_the_way_the_whole_tells() -> None:
    """Nothing moves with another divisor or bound where the quotient or the test stays the same."""
    ways: dict[tuple[str, str], list[list[np.ndarray] | None]] = {
        ("row < rows", "(row < rows)"): [moved([0, 1, 2], [])],
        ("rows", "< rows"): [moved([], [])],
        ("x[row] + b", "x[row] + b"): [moved([0, 1], [])],
        ("b", "+ b"): [moved([], [])],
    }
    found = asked(ways)
    assert found.later(edit("rows", "cols", at="< rows")) < 0
    assert found.later(edit("b", "B", at="+ b")) > 0, "a sum loses nothing"


def test_a_run_that_has_ended_early_says_less() -> None:
    ended = asked({("c", "* c"): [moved([], [0]), None]})
    assert 0 < ended.later(edit("c", "C", at="* c")) < asked().later(edit("c", "C", at="* c"))


@pytest.mark.parametrize("text", ["a = 1; y", "{ y }"])
def test_of_whole_statements_less_is_known(text: str) -> None:
    """They are not put off, as what they hold goes into more with them; and come first a little less."""
    found = asked()
    assert found.later(edit("c", text, at="* c")) == 0
    assert found.later(edit("a", "A", at="a *")) < found.later(edit("a", text, at="a *")) < 0
    assert found.later(edit("n", "N", at="/ n")) == 0


def test_where_all_is_wrong_nothing_is_likelier() -> None:
    every = [np.ones(4, bool)]
    found = suspects([(edit("a", "lp_other(a)", at="a *"), every)], every, {FILE: TEXT})
    assert found.later(edit("a", "A", at="a *")) == 0
