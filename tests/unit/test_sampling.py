"""What plain `pytest` leaves out at a desk, and what it never does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sampling
from sampling import CI, DESK, SAMPLE, bounded, one_in, sampled


def item(name: str, *marks: str, few: int = 0, **indices: int) -> pytest.Item:
    """A test as pytest collects it."""
    case = f"[{'-'.join(map(str, indices.values()))}]" if indices else ""
    known: dict[str, Any] = {"nodeid": f"tests/x.py::{name}{case}"}
    marked = dict.fromkeys(marks, pytest.mark.long) | ({"few": pytest.mark.few(few)} if few else {})
    known["get_closest_marker"] = marked.get
    if indices:
        known["callspec"] = SimpleNamespace(indices=indices)
    return cast(pytest.Item, cast(object, Fake(**known)))


class Fake(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


def grid(name: str, rows: int, cols: int, *marks: str, few: int = 0) -> Iterator[pytest.Item]:
    for row, col in product(range(rows), range(cols)):
        yield item(name, *marks, few=few, row=row, col=col)


def test_every_test_keeps_some_cases_in_their_order() -> None:
    items = [item("alone"), *grid("two", 2, 1), *grid("many", 40, 5), item("last")]
    kept = sampled(items)
    assert kept == [one for one in items if one in kept]
    names = [one.nodeid.partition("[")[0].rpartition(":")[2] for one in kept]
    assert [names.count(name) for name in ("alone", "two", "many", "last")] == [1, 2, 15, 1]


def test_the_cases_have_as_many_values_as_fit() -> None:
    kept = sampled(grid("many", 7, 6))  # 7 of 42
    for axis in ("row", "col"):
        values = {cast(Any, one).callspec.indices[axis] for one in kept}
        assert len(values) == {"row": 7, "col": 6}[axis]


def test_the_same_cases_each_time() -> None:
    once, again = (sampled(grid("many", 9, 9)) for _ in range(2))
    assert [one.nodeid for one in once] == [one.nodeid for one in again]


def test_few_of_those_that_take_long() -> None:
    assert len(sampled(grid("heavy", 9, 9, few=3))) == 3
    assert len(sampled(grid("heavy", 2, 1, few=1))) == 1
    assert len(sampled([item("heavy", few=2)])) == 1


@pytest.mark.parametrize(("sample", "left"), [("1", [0, 3, 6]), ("", list(range(8)))])
def test_one_in_three_of_what_a_test_goes_through(
    sample: str, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SAMPLE, sample)
    assert one_in(3, list(range(8))) == left


def test_long_ones_are_left_out_and_chosen_ones_kept() -> None:
    assert sampled([item("slow", "long"), *grid("slow_too", 3, 3, "long")]) == []
    chosen = list(grid("chosen", 8, 8, "every_case"))
    assert sampled(chosen) == chosen


def test_what_takes_longer_than_a_desk_has_patience_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is left out, but a file keeps one case of its shortest test."""
    slow = {"tests/x.py::slow": DESK * 2, "tests/x.py::slower": DESK * 3, "tests/x.py::short": DESK}
    monkeypatch.setattr(sampling, "measured", lambda: slow)
    short = item("short")
    assert sampled([*grid("slow", 3, 3), short, item("slower")]) == [short]
    chosen = list(grid("slow", 3, 3, "every_case"))
    assert sampled([*chosen, short]) == [*chosen, short]
    assert len(sampled([item("slower"), *grid("slow", 3, 3)])) == 1
    assert sampled([item("slower"), *grid("slow", 3, 3)])[0].nodeid.startswith("tests/x.py::slow[")


def test_what_takes_longer_together_than_ci_has_patience_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many cases as fit, but sqrt(n) at least; all of a test that says that each is a claim."""
    seconds = {"tests/x.py::some": CI / 20, "tests/x.py::heavy": CI, "tests/x.py::claims": CI}
    monkeypatch.setattr(sampling, "measured", lambda: seconds)
    some, heavy, one = list(grid("some", 5, 5)), list(grid("heavy", 5, 5)), item("heavy_too", "long")
    claims = [*grid("claims", 2, 3, "all_in_ci"), *grid("claims", 2, 3, "every_case")]
    unlisted = list(grid("unlisted", 9, 9, few=2))
    kept = bounded([*some, *heavy, one, *claims, *unlisted])
    assert [len([test for test in part if test in kept]) for part in (some, heavy)] == [20, 5]
    assert kept[25:] == [one, *claims, *unlisted]
    assert bounded(some) == [test for test in some if test in kept]


def test_the_table_of_seconds_names_tests_that_exist() -> None:
    """One that was renamed counts as short, and nobody would notice."""
    root = sampling.SECONDS.parent.parent
    for test in sampling.measured():
        path, _, name = test.partition("::")
        assert f"def {name.rpartition('::')[2]}(" in (root / path).read_text(), test
