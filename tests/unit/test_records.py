"""`records.dataclass` makes the classes that the standard library's would: each shape is made by both."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import pytest

from layoutprobe import records

PACKAGE = Path(records.__file__).parent
Decorator = Callable[..., Any]


def _plain(dataclass: Decorator) -> type:
    @dataclass
    class Shape:
        """Its own words."""

        a: int
        b: str = "b"
        c: list[int] = dataclasses.field(default_factory=list)
        known: ClassVar[int] = 3

    return Shape


def _frozen(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Shape:
        a: int
        b: str = "b"
        c: tuple[int, ...] = ()

        @cached_property
        def doubled(self) -> int:
            return 2 * self.a

    return Shape


def _identity(dataclass: Decorator) -> type:
    @dataclass(frozen=True, eq=False, repr=False)
    class Shape:
        a: int
        b: str = "b"

        def __repr__(self) -> str:
            return "mine"

    return Shape


def _by_keyword(dataclass: Decorator) -> type:
    @dataclass(frozen=True, kw_only=True)
    class Shape:
        b: str = "b"
        a: int

    return Shape


def _fields(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Shape:
        a: int
        b: str = dataclasses.field(default="b", compare=False)
        c: int = dataclasses.field(default=1, repr=False, kw_only=True)
        d: int = dataclasses.field(default=1, hash=False)
        e: list[int] = dataclasses.field(init=False, compare=False)
        f: int = dataclasses.field(init=False, default=4)
        g: dict[str, int] = dataclasses.field(init=False, default_factory=dict, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "e", [self.a])

    return Shape


def _own_methods(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Shape:
        a: int
        b: str = "b"

        def __init__(self, a: int, b: str = "b") -> None:
            object.__setattr__(self, "a", a)
            object.__setattr__(self, "b", b.upper())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.a == other.a

        def __repr__(self) -> str:
            return "mine"

    return Shape


def _own_hash(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Shape:
        a: int
        b: str = "b"

        def __hash__(self) -> int:
            return 7

    return Shape


def _derived(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Base:
        a: int
        b: str = "base"

        def __post_init__(self) -> None:
            object.__setattr__(self, "seen", True)

    @dataclass(frozen=True)
    class Shape(Base):
        b: str = "b"
        c: int = 0

    return Shape


SHAPES = [_plain, _frozen, _identity, _by_keyword, _fields, _own_methods, _own_hash, _derived]


def outcome(action: Callable[[], Any]) -> Any:
    """What came of an action: its value, or the type and words of its error."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


def _set(record: Any, name: str) -> Callable[[], None]:
    return lambda: setattr(record, name, 5)


def told(cls: type) -> dict[str, Any]:
    """All that can be seen of a class from outside, but for the classes themselves."""
    init: Any = vars(cls)["__init__"]
    one, same = cls(a=1), cls(a=1)
    other, renamed = cls(a=2), cls(a=1, b="z")
    return {
        "fields": [(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)],
        "signature": str(inspect.signature(cls)),
        "hints": get_type_hints(init),
        "names": (init.__name__, init.__qualname__),
        "documented": cls.__doc__ is not None and cls.__doc__.startswith(("Its own words", "Shape")),
        "match": cls.__match_args__,  # type: ignore[attr-defined]
        "repr": (repr(one), repr(renamed)),
        "equal": (one == same, one == other, one == renamed, one == 1, one.__eq__(1) is NotImplemented),
        "hash": outcome(
            lambda: (hash(one) == hash(same), hash(one) == hash(other), hash(one) == hash(renamed))
        ),
        "values": (vars(one), vars(renamed)),
        "replaced": vars(dataclasses.replace(one, a=3)),
        "copied": vars(copy.deepcopy(one)),
        "dict": dataclasses.asdict(one),
        "missing": outcome(cls),
        "unknown": outcome(lambda: cls(a=1, nothing=2)),
        "positional": outcome(lambda: vars(cls(1))),
        "set": [outcome(_set(same, name)) for name in ("a", "b", "new")],
        "deleted": outcome(lambda: delattr(other, "a")),
        "cached": getattr(one, "doubled", None),
    }


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_class_is_what_the_standard_library_makes(shape: Callable[[Decorator], type]) -> None:
    ours, standard = told(shape(records.dataclass)), told(shape(dataclasses.dataclass))
    for what, value in standard.items():
        assert ours[what] == value, what


def test_each_record_has_lists_of_its_own() -> None:
    cls: Any = _plain(records.dataclass)
    first, second = cls(1), cls(1)
    first.c.append(1)
    assert (first.c, second.c) == ([1], [])


def test_a_value_that_equals_nothing_equals_itself() -> None:
    """As in tuples, which the standard library compares."""

    @records.dataclass(frozen=True)
    class One:
        a: float

    nan = float("nan")
    assert One(nan) == One(nan)
    assert One(nan) != One(float("nan"))


def test_a_record_that_holds_itself_is_printed() -> None:
    cls: Any = _plain(records.dataclass)
    record = cls(1)
    record.c.append(record)
    assert repr(record).endswith("(a=1, b='b', c=[...])")


@records.dataclass(frozen=True)
class Sent:
    """Goes to another process."""

    a: int
    b: tuple[int, ...] = (1,)


def test_a_frozen_record_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(Sent(3))) == Sent(3)


def test_no_module_takes_the_dear_one() -> None:
    """But for classes with slots, which ours does not make."""
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        taken = {
            alias.name
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
            for alias in node.names
        }
        if "dataclass" in taken and "slots=True" not in text and path.stem != "records":
            wrong.append(str(path.relative_to(PACKAGE)))
    assert wrong == []
