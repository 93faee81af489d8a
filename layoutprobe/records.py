"""`dataclass` as the library's, made for a package of hundreds: what a class does not use is never compiled.

The library compiles six functions for each frozen dataclass when its module is imported, which was a fifth of the
time of a short command. Here `__init__` is compiled when the first object is made, and the others are shared.
`fields`, `replace`, `asdict` and the like of the library serve these classes, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen=False, eq=True, repr=True, kw_only=False):
        """What `dataclasses.dataclass` makes of a class with these options, at the class itself."""

        def made(cls):
            own = frozenset(vars(cls))
            of = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
            methods = _init_of(of, frozen)
            methods |= {"__repr__": _repr} if repr else {}
            methods |= _equality_of(of, frozen, own) if eq else {}
            methods |= {"__setattr__": _setattr, "__delattr__": _delattr} if frozen else {}
            for name, method in methods.items():
                if name not in own or (name == "__hash__" and "__eq__" in own and vars(cls)[name] is None):
                    setattr(of, name, method)
            return of

        return made


def _setattr(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _equality_of(cls: Any, frozen: bool, own: frozenset[str]) -> dict[str, Any]:
    """`__eq__`, and `__hash__` of what cannot change."""
    key = _key(tuple(one.name for one in fields(cls) if one.compare))

    def equal(self: object, other: object) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _key(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the values of attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda of: (getattr(of, names[0]),)) if names else lambda of: ()


def _init_of(cls: Any, frozen: bool) -> dict[str, Any]:
    """An `__init__` that puts the compiled one in its place."""

    def first(self: object, /, *given: Any, **named: Any) -> None:
        cls.__init__ = _compiled(cls, frozen)
        cls.__init__(self, *given, **named)

    return {"__init__": first}


def _compiled(cls: Any, frozen: bool) -> Any:
    """The `__init__` of a class, as the library writes it."""
    known: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    first, named, body = ["self"], list[str](), list[str]()
    for one in fields(cls):
        value, default = one.name, ""
        if one.default is not MISSING:
            known[f"default_{one.name}"] = one.default
            default = f"=default_{one.name}"
        elif one.default_factory is not MISSING:
            known[f"make_{one.name}"] = one.default_factory
            value = f"make_{one.name}()" + (f" if {one.name} is MISSING else {one.name}" if one.init else "")
            default = "=MISSING"
        if one.init:
            (named if one.kw_only else first).append(one.name + default)
        elif one.default_factory is MISSING:
            continue
        body.append(f"put(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    starred = ["*", *named] if named else []
    lines = [f"def __init__({', '.join([*first, *starred])}):", *(body or ["pass"])]
    exec("\n ".join(lines), known)
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made
