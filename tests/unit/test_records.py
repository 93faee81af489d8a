"""Our `dataclass` makes of a class what the library's makes of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from layoutprobe import records

Decorator = Callable[..., Any]


def classes(dataclass: Decorator) -> dict[str, Any]:
    """One of each kind that the package has."""

    @dataclass(frozen=True)
    class Plain:
        first: int
        second: list[int] = field(default_factory=list, compare=False)
        third: str = "3"
        fourth: int = field(default=4, compare=False, repr=False)
        COUNT: ClassVar[int] = 0

    @dataclass(frozen=True)
    class Derived(Plain):
        fifth: float = 5.0

        def __post_init__(self) -> None:
            object.__setattr__(self, "third", self.third * 2)

    @dataclass(frozen=True, eq=False)
    class Alone:
        value: object

    @dataclass(frozen=True, repr=False)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass()
    class Open:
        seen: dict[str, int] = field(default_factory=dict, init=False)
        value: int = 1

    @dataclass(frozen=True, kw_only=True)
    class Named:
        value: int = 0
        other: str

    @dataclass(frozen=True)
    class Nothing:
        pass

    return {made.__name__: made for made in (Plain, Derived, Alone, Own, Open, Named, Nothing)}


THEIRS, OURS = classes(dataclasses.dataclass), classes(records.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}),
    ("Plain", (1, [2]), {"third": "x"}),
    ("Plain", (), {}),
    ("Plain", (1,), {"unknown": 1}),
    ("Derived", (1,), {"fifth": 6.0}),
    ("Alone", ([],), {}),
    ("Own", (3,), {}),
    ("Open", (), {}),
    ("Open", (), {"seen": {}}),
    ("Open", (2,), {}),
    ("Named", (), {"other": "x"}),
    ("Named", ("x",), {}),
    ("Nothing", (), {}),
]


def told(act: Callable[[], Any]) -> Any:
    """What comes of it: a value, or the error's type and words."""
    try:
        return act()
    except (TypeError, AttributeError) as error:
        return type(error), str(error).replace("classes.<locals>.", "")


def facts(kinds: dict[str, Any], name: str, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """What can be asked of an object, and of a like one."""
    made = told(lambda: kinds[name](*given, **named))
    if not isinstance(made, kinds[name]):
        return [made]
    like = kinds[name](*given, **named)
    name = next((one.name for one in dataclasses.fields(made) if one.init), "new")
    return [
        repr(made).partition(" at 0x")[0],
        made == like,
        made == 1,
        told(lambda: hash(made) == hash(like)),
        told(lambda: dataclasses.asdict(made)),
        told(lambda: setattr(made, name, 7)),
        told(lambda: setattr(made, "new", 7)),
        told(lambda: delattr(made, name)),
        told(lambda: vars(dataclasses.replace(like, **{name: 8}))),
        told(lambda: like == dataclasses.replace(like, **{name: 8})),
        made.__match_args__,
        vars(copy.copy(like)),
    ]


@pytest.mark.parametrize(("name", "given", "named"), CALLS)
def test_as_the_library_makes_it(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    theirs, ours = (facts(kinds, name, given, named) for kinds in (THEIRS, OURS))
    assert ours == theirs


@records.dataclass(frozen=True)
class Kept:
    """For pickle, which looks for it by name."""

    value: int


def test_an_object_that_no_init_has_made() -> None:
    """Unpickling makes objects without it: the first one of a process may come so."""
    empty = Kept.__new__(Kept)
    vars(empty).update(value=3)
    assert (repr(empty), hash(empty)) == ("Kept(value=3)", hash(Kept(3)))
    assert empty == Kept(3) == pickle.loads(pickle.dumps(Kept(3)))
