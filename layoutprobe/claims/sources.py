"""Which arguments of a kernel the operands of its products are made of, by the names of values in MLIR.

A line is an operation: what is left of `=` comes from what is right of it. Loops hand their initial values on, and
what is put into LDS comes out of it. That is followed backwards to the function's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_VALUE = re.compile(r"%[\w$.-]{1,200}(?:#\d{1,4})?")
_RESULTS = re.compile(r"\s*(%[\w$.-]{1,200})(?::(\d{1,4}))?(?:, %[\w$.-]{1,200}){0,64} = ")
MOST_VALUES = 256
"""Of one operation; further ones are passed over."""
MOST_STEPS = 10_000
"""On the way back from one operand: what is farther off is not known."""
_INTO = ("ttg.local_store ", "amdg.buffer_load_to_local ", "ttg.async_copy_global_to_local ")
"""Operations that put something into LDS: behind `into`, or as their second value."""


def values_of(text: str) -> list[str]:
    """The values that an operation takes."""
    head = _RESULTS.match(text)
    return _VALUE.findall(text[head.end() if head else 0 :])[:MOST_VALUES]


class Sources:
    """What values come from."""

    def __init__(self) -> None:
        self._from: dict[str, list[str]] = {}
        self._pointers: dict[str, int] = {}

    def line(self, text: str) -> None:
        """Takes note of a line, in the order of the text."""
        if text.lstrip().startswith("tt.func "):
            names = re.findall(r"(%[\w$.-]{1,200}): (!tt\.ptr<)?", text)
            self._pointers = {name: at for at, (name, pointer) in enumerate(names) if pointer}
            return
        head = _RESULTS.match(text)
        body = text[head.end() if head else 0 :].lstrip()
        values = _VALUE.findall(body)[:MOST_VALUES]
        if body.startswith("ttg.local_load "):  # behind its tile stands what it waits for
            values = values[:1]
        if head and "iter_args(" in body:
            self._loop(head[1], int(head[2] or 1), body)
        elif head:
            self._comes(head[1], values)
        if body.startswith(_INTO) and len(values) > 1:
            into = _VALUE.search(body.partition(" into ")[2])
            self._comes(into[0] if into else values[1], values)

    def pointers(self, value: str) -> set[int]:
        """Positions of those arguments, among all, that are pointers and that a value comes from."""
        seen, left = {value}, [value]
        while left:
            if len(seen) > MOST_STEPS:
                return set()
            name = left.pop()
            # A name with "#" is a result of several; of an operation that is no loop they have the same sources.
            for source in self._from.get(name, self._from.get(name.partition("#")[0], [])):
                if source not in seen:
                    seen.add(source)
                    left.append(source)
        return {self._pointers[name] for name in seen if name in self._pointers}

    def _comes(self, name: str, values: Iterable[str]) -> None:
        self._from.setdefault(name, []).extend(value for value in values if value != name)

    def _loop(self, name: str, count: int, body: str) -> None:
        """Each carried value, and the result of its number, come from the initial value."""
        carried = re.findall(
            r"(%[\w$.-]{1,200}) = (%[\w$.-]{1,200}(?:#\d{1,4})?)", body.partition("iter_args(")[2]
        )
        for at, (inside, begin) in enumerate(carried):
            self._comes(inside, [begin])
            self._comes(name if count == 1 else f"{name}#{at}", [begin])
