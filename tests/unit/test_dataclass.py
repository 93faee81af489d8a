"""Our `dataclass` makes classes of which one sees what the standard library's would show."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from typing import Any

import pytest

from layoutprobe.dataclass import dataclass

OPTIONS: tuple[Mapping[str, bool], ...] = (
    {}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False}, {"frozen": True, "repr": False},
    {"frozen": True, "slots": True}, {"frozen": True, "kw_only": True},
)  # fmt: skip


def example(decorate: Callable[..., Any], options: Mapping[str, bool]) -> Any:
    """A class with all kinds of fields."""

    class Example:
        """Words."""

        one: int
        two: str = "b"
        three: list[int] = field(default_factory=list, compare=False)
        four: float = field(default=0.5, repr=False)
        five: int = field(default=7, hash=False)
        six: str = field(init=False)
        seven: list[int] = field(init=False, default_factory=list, compare=False)
        eight: int = field(init=False, default=8)

        def __post_init__(self) -> None:
            if self.one < 0:
                raise AttributeError("no such number")
            object.__setattr__(self, "six", 6 * self.two)

    return decorate(**options)(Example)


def said(function: Callable[[], object]) -> object:
    """What comes of it, a refusal too."""
    try:
        return function()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_as_the_library_would_make_it(options: Mapping[str, bool]) -> None:
    def shown(decorate: Callable[..., Any]) -> list[object]:
        made = example(decorate, options)
        hidden = str(made(one=1))[:40] if options.get("repr", True) else ""
        instances = [made(one=n, two=t) for n in (1, 2) for t in "bc"] + [made(one=1, three=[3], five=8)]

        def changed() -> object:
            made(one=1).one = 2
            return "changed"

        def removed() -> object:
            del made(one=1).two
            return "removed"

        return [
            hidden,
            [(f.name, f.type, f.compare, f.repr) for f in fields(made)],
            [[a == b for a in instances] for b in instances],
            [asdict(replace(one, two="z")) for one in instances],
            [said(lambda one=one: type(hash(one))) for one in instances],  # type: ignore[misc]
            said(lambda: len(set(instances))) if options.get("eq", True) else "",
            said(lambda: made(1, "c", [2], 0.25, 9) == made(one=1, two="c", three=[], four=0.25, five=9)),
            *[
                said(call)
                for call in (made, lambda: made(1, 2, 3, 4, 5, 6), lambda: made(1, nine=6), changed, removed)
            ],
            said(lambda: asdict(made(-1))),
            getattr(made, "__match_args__"),  # noqa: B009
        ]

    assert shown(dataclass) == shown(dataclasses.dataclass)


@dataclass(frozen=True)
class Base:
    """A class to inherit from, and to pickle."""

    one: int
    two: tuple[int, ...] = ()

    @cached_property
    def doubled(self) -> int:
        return 2 * self.one


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_classes_inherit_from_it(decorate: Callable[..., Any]) -> None:
    @decorate(frozen=True)
    class More(Base):
        three: int = 3

    made: Any = More(1, (2,), 4)  # type: ignore[call-arg, unused-ignore]
    assert (made.one, made.two, made.three, made.doubled) == (1, (2,), 4, 2)
    assert made != Base(1, (2,))
    with pytest.raises(FrozenInstanceError):
        made.one = 5
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        decorate()(type("Loose", (Base,), {}))


def test_instances_are_pickled() -> None:
    one = Base(3, (4,))
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert {one: 1}[again] == 1


def test_one_field_or_none() -> None:
    @dataclass(frozen=True)
    class Single:
        x: int

    @dataclass(frozen=True)
    class Empty:
        pass

    assert Single(1) == Single(1) != Single(2)
    assert Empty() == Empty()
    assert hash(Single(1)) == hash((1,))
    assert str(Empty()).endswith("Empty()")


def test_what_holds_itself_is_printed() -> None:
    @dataclass
    class Ring:
        next: object = None

    ring = Ring()
    ring.next = ring
    assert "..." in repr(ring)


def test_what_a_class_defines_stays() -> None:
    @dataclass(frozen=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == hash((1,))
