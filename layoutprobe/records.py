"""`dataclass`, as the standard library's, for a third of its time: most of a short run is spent importing.

The standard one compiles up to six functions for each class. `dump` loads 150 classes, and a third of its time
went there. Here only `__init__` is compiled; the other methods are closures over the names of the fields.
Fields, `replace`, `asdict` and the rest are the standard library's. A class that wants `slots` or `order` takes
the standard one.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn


class _Made:
    """Stands in a signature for a value that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> type | Callable[[type], type]:
    """See dataclasses.dataclass."""
    if cls is None:
        return lambda given: _completed(given, frozen, eq, repr, kw_only)
    return _completed(cls, frozen, eq, repr, kw_only)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _completed(cls: type, frozen: bool, eq: bool, repr: bool, kw_only: bool) -> type:
    """A class with its fields, and the methods that it does not define itself."""
    own = set(vars(cls))
    if "__eq__" in own and vars(cls)["__hash__"] is None:  # Python's doing, not the author's
        own.discard("__hash__")
    if cls.__doc__ is None:  # the standard one would make it from the signature, which takes longest of all
        cls.__doc__ = cls.__name__
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__init__": _init(cls, frozen)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        compared = [f.name for f in fields(cls) if f.compare]
        hashed = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
        methods["__eq__"] = _equal(compared)
        methods["__hash__"] = _hash(hashed) if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _init(cls: type, frozen: bool) -> Any:
    """__init__: a parameter for each field, in order, those by keyword last."""
    given: dict[str, Any] = {"_put": object.__setattr__, "_made": _MADE}
    parameters, by_keyword, lines = ["self"], list[str](), list[str]()
    for each in fields(cls):
        name, value, default = each.name, each.name, ""
        if each.default_factory is not MISSING:
            given[f"_new_{name}"] = each.default_factory
            value = f"_new_{name}() if {name} is _made else {name}" if each.init else f"_new_{name}()"
            default = "=_made"
        elif each.default is not MISSING:
            given[f"_default_{name}"] = each.default
            default = f"=_default_{name}"
        if each.init:
            (by_keyword if each.kw_only else parameters).append(name + default)
        if each.init or each.default_factory is not MISSING:
            lines.append(f"_put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    init = _compiled(
        cls, [*parameters, *(["*", *by_keyword] if by_keyword else [])], lines or ["pass"], given
    )
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**{f.name: f.type for f in fields(cls) if f.init}, "return": None}
    return init


def _compiled(cls: type, parameters: list[str], lines: list[str], given: dict[str, Any]) -> Any:
    text = [
        f"def make({', '.join(given)}):",
        f" def __init__({', '.join(parameters)}):",
        *(f"  {x}" for x in lines),
    ]
    made: dict[str, Any] = {}
    exec("\n".join([*text, " return __init__"]), vars(sys.modules[cls.__module__]), made)
    return made["make"](**given)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What yields the values of fields as a tuple; attrgetter does so of two names and more."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _equal(names: list[str]) -> Callable[[Any, object], Any]:
    values = _values(names)

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(names: list[str]) -> Callable[[Any], int]:
    values = _values(names)
    return lambda self: hash(values(self))


def _refuse_to_set(self: Any, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
