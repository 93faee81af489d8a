"""What goes one way or the other by a flag that a function is given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.reach import parameters_of_templates
from layoutprobe.source.tree import Node

_PLAIN = re.compile(r"[\w.\[\]]+")
_PAIR = 2


def ways(spot: Spot) -> Iterator[Rewrite]:
    """`INVERSE ? make_float2(-t.y, t.x) : make_float2(t.y, -t.x)` for the latter, where the function never asks for
    that parameter of its template."""
    body = spot.body.partition("{")[2]
    idle = [
        name
        for name in sorted(parameters_of_templates(spot.source, spot.function))
        if re.search(rf"\b{name}\b", body) is None
    ]
    for piece in spot.pieces if idle else ():
        assigned = spot.assignment(piece)
        if assigned is None or assigned[0] != "=":
            continue
        first, last = spot.start(assigned[2]), assigned[2].last
        text = spot.source.slice(first, last)
        for other in _negated(spot, assigned[2], text):
            for name in idle:
                for choice in (f"{name} ? {other} : {text}", f"{name} ? {text} : {other}"):
                    yield spot.replace(first, last, choice, "ways")


def _negated(spot: Spot, value: Node, text: str) -> Iterator[str]:
    """The other sign of a number, or of both parts of a complex one."""
    calls = [node for node in value.walk() if node.kind == "call" and len(node.parts) == _PAIR]
    for call in calls:
        if spot.source.slice(call.first - 1, call.last) == text:
            parts = ", ".join(_minus(spot.text(part)) for part in call.parts)
            yield f"{spot.source.word(call.first - 1)}({parts})"
    if not calls and spot.sorts(value) <= {"real", ""}:
        yield _minus(text)


def _minus(text: str) -> str:
    if text.startswith("-") and _PLAIN.fullmatch(text[1:].strip()):
        return text[1:].strip()
    return f"-{text}" if _PLAIN.fullmatch(text) else f"-({text})"
