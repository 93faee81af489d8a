"""`dataclass` as in the standard library, at a fraction of its price, for modules that short commands import.

The standard one writes, compiles and runs six functions for each class: 0.7 ms, and with hundreds of classes a
quarter of what a command like `dump` takes. Here all classes share these functions but `__init__`, which is compiled
when the first instance is made; of most classes a run makes none. What is seen of a class is the same, and `fields`,
`replace` and `asdict` of the library work on it. What is rare the library does: inheritance, slots, own methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, is_dataclass
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)
_OWN = {"__init__", "__eq__", "__hash__", "__setattr__", "__delattr__"}


@overload
def dataclass(cls: Class, /) -> Class: ...
@overload
def dataclass(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, slots: bool = False, kw_only: bool = False
) -> Callable[[Class], Class]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    """See `dataclasses.dataclass`."""

    def made(cls: type) -> type:
        own = set(vars(cls))
        if slots or kw_only or own & _OWN or any(map(is_dataclass, cls.__mro__[1:])):
            every = dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr, slots=slots, kw_only=kw_only)
            return every(cls)
        dataclasses.dataclass(init=False, eq=False, repr=False)(cls)
        for name, function in _functions(
            cls, frozen=frozen, eq=eq, repr=repr and "__repr__" not in own
        ).items():
            setattr(cls, name, function)
        getattr(cls, "__dataclass_params__").frozen = frozen  # noqa: B009, for classes that inherit
        return cls

    return made if cls is None else made(cls)


def _functions(cls: type, *, frozen: bool, eq: bool, repr: bool) -> dict[str, Any]:
    """What the standard library would write for a class."""
    fields: tuple[Field[Any], ...] = dataclasses.fields(cls)
    names = frozenset(f.name for f in fields)
    found: dict[str, Any] = {"__init__": _first(cls, fields, frozen=frozen)}

    if repr:
        shown = [f.name for f in fields if f.repr]

        def printed(self: object) -> str:
            return (
                f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
            )

        found["__repr__"] = recursive_repr()(printed)
    if eq:
        compared = _values([f.name for f in fields if f.compare])
        counted = _values([f.name for f in fields if (f.compare if f.hash is None else f.hash)])

        def equal(self: object, other: object) -> bool:
            return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self: object) -> int:
            return hash(counted(self))

        found |= {"__eq__": equal, "__hash__": hashed if frozen else None}
    if frozen:

        def assign(self: object, name: str, value: object) -> None:
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot assign to field {name!r}")
            object.__setattr__(self, name, value)

        def delete(self: object, name: str) -> None:
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot delete field {name!r}")
            object.__delattr__(self, name)

        found |= {"__setattr__": assign, "__delattr__": delete}
    return found


def _values(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    """Gives the values of some attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _first(cls: type, fields: Sequence[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    """`__init__` of the first instance, which puts the compiled one in its own place."""

    def first(self: object, *args: object, **named: object) -> None:
        made = _compiled(cls, fields, frozen=frozen)
        setattr(cls, "__init__", made)  # noqa: B010, mypy lets no method be assigned
        made(self, *args, **named)

    return first


def _compiled(cls: type, fields: Sequence[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    given, lines = ["self"], []
    for f in fields:
        value, default = f.name, f"_of_{f.name}"
        if f.default is not MISSING:
            known[default] = f.default
        elif f.default_factory is not MISSING:
            known[default] = f.default_factory
            value = f"{default}() if {f.name} is _MISSING else {f.name}" if f.init else f"{default}()"
        if f.init:
            optional = "_MISSING" if f.default_factory is not MISSING else default if default in known else ""
            given.append(f"{f.name}={optional}" if optional else f.name)
        elif f.default_factory is MISSING:
            continue  # __post_init__ sets it, or the class has it
        lines.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(given)}):\n    {body}", known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    made: Callable[..., None] = known["__init__"]
    return made
