"""Records that hold arrays print themselves in a few lines: all of them, and with arrays of any size."""

from __future__ import annotations

import importlib
import pkgutil
import typing
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

import fake_reports
import numpy as np
import pytest
from claims.fakes import rdna3
from msgspec import Struct

import layoutprobe
from layoutprobe.brief import LINES, WIDTH, brief, short

OPTIONAL = ("layoutprobe.extras", "layoutprobe.pytest_plugin", "layoutprobe.__main__")


@cache
def records() -> dict[str, type[Struct]]:
    """Every public record of the package by its place."""
    found = {}
    for module in pkgutil.walk_packages(layoutprobe.__path__, "layoutprobe."):
        if module.name.startswith(OPTIONAL):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or not isinstance(value, type) or value.__module__ != module.name:
                continue
            if issubclass(value, Struct):
                found[f"{module.name}.{name}"] = value
    return found


def holds_arrays(hint: object, many: bool = False, seen: frozenset[object] = frozenset()) -> bool:
    """An array, or a collection of arrays or of records that hold some."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is np.ndarray or origin is np.ndarray:
        return True
    if isinstance(hint, type) and issubclass(hint, Struct):
        if not many or hint in seen:
            return False
        return any(holds_arrays(each, False, seen | {hint}) for each in hints(hint).values())
    if origin is Callable:
        return False
    several = many or (isinstance(origin, type) and issubclass(origin, Collection))
    return any(holds_arrays(argument, several, seen) for argument in arguments)


def hints(record: type[Struct]) -> dict[str, object]:
    """Types of a record's fields; a name that is imported for type checkers only is no array."""
    try:
        return typing.get_type_hints(record)
    except NameError:
        return {
            name: np.ndarray if "NDArray" in str(record.__annotations__.get(name)) else str
            for name in record.__struct_fields__
        }


def with_arrays() -> Iterator[tuple[str, type[Struct]]]:
    for place, record in sorted(records().items()):
        if any(holds_arrays(hint) for hint in hints(record).values()):
            yield place, record


BIG = np.arange(1 << 16, dtype=np.uint32).reshape(256, 256)
LONG = ["a long text " * 100] * 1000

REAL: dict[str, Callable[[], object]] = {
    "Layout": lambda: fake_reports.dump().loaded,
    "LayoutReport": fake_reports.dump,
    "InstructionLayout": rdna3,
}
"""Those that print themselves in words of their own."""


def filled(record: type[Struct]) -> Any:
    """A record whose every field is far too big to be printed."""
    values = (BIG, {"A": BIG, "B": LONG}, LONG, [BIG] * 50)
    made: Any = type(record)
    unchecked = made(record.__name__, (record,), {"__post_init__": lambda _: None})
    return unchecked(**{name: values[at % 4] for at, name in enumerate(record.__struct_fields__)})


@pytest.mark.parametrize(("place", "record"), [pytest.param(p, r, id=p) for p, r in with_arrays()])
def test_a_record_with_arrays_prints_itself_in_a_few_lines(place: str, record: type[Struct]) -> None:
    text = repr(REAL[record.__name__]() if record.__name__ in REAL else filled(record))
    assert len(text.splitlines()) <= LINES + 1, f"{place} lacks `__repr__ = brief`"
    assert max(map(len, text.splitlines())) <= WIDTH + 20
    assert record.__name__ in text


def test_the_walk_sees_what_it_should() -> None:
    """The test above can fail: it meets records of these rooms, and one without the helper is long."""
    rooms = {place.split(".")[1] for place, _ in with_arrays()}
    assert {"capture", "claims", "observe", "trace", "report", "solver", "layouts"} <= rooms

    class Plain(Struct):
        rows: Any

    assert len(repr(Plain([BIG] * 50)).splitlines()) > LINES + 1


def test_what_is_printed() -> None:
    class Record(Struct, frozen=True, eq=False):
        name: str
        codes: np.ndarray[Any, Any]
        of: dict[str, Any]

        __repr__ = brief

    record = Record("x", BIG, {"A": BIG[:2, :2], "B": None})
    assert repr(record) == (
        "Record(name='x', codes=uint32[256, 256] 0 1 2 3 ..., of={'A': uint32[2, 2] 0 1 256 257, 'B': None})"
    )
    assert short([record] * 7).endswith("... 7 in all]")
    assert short(np.zeros(0, np.bool_)) == "bool[0]"
    assert short(np.float32(2.5)) == "float32[] 2.5"
    assert short(()) == "()"
