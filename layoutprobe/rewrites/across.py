"""A step between lanes that one sum of a function has, and another one lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import indent, line_start
from layoutprobe.source.statements import free_words

_MOVE = r"\w*(?:shfl|shuffle|swizzle|permute)\w*"
_STEP = re.compile(
    rf"(?P<head>for \([^(){{}}]*\)\s*)?\b(?P<sum>\w+) (?:= (?P<by>[\w:]+)\((?P=sum), (?P<call>{_MOVE})\((?P=sum), "
    rf"(?P<how>[^;]*?)\)\);|\+= (?P<added>{_MOVE})\((?P=sum), (?P<so>[^;]*?)\);)"
)
"""`for (...) sum += __shfl_xor(sum, d);`, `most = fmaxf(most, __shfl_xor(most, 16, 32));`."""
_MADE = re.compile(
    r"\b(\w+) (?:= ((?:std::)?f?(?:max|min)f?)\(\1, |(\+)= )(?!\w*(?:shfl|shuffle|swizzle|permute))"
)
"""What a lane adds to a sum of its own, or compares with its largest."""
_MOST = 4


def across(spot: Spot) -> Iterator[Rewrite]:
    """`most = fmaxf(most, __shfl_xor(most, 16));` before what reads `most` first, where another sum of the function
    is joined so with those of other lanes, and this one is not."""
    source, start = spot.source, spot.within.start
    steps = list(_STEP.finditer(spot.body))
    assigned = spot.assignment(spot.tree)
    if not steps or assigned is None:
        return
    joined = {step["sum"] for step in steps}
    before = source.slice(spot.function.start, start)
    last = {found[1]: found for found in _MADE.finditer(before) if found[1] not in joined}
    read = free_words(spot.text(assigned[2]))
    for name, made in last.items():
        rest = before[before.index(";", made.end()) :] if ";" in before[made.end() :] else ""
        if name not in read or re.search(rf"\b{name}\b", rest):
            continue
        at, blanks = line_start(source, start), indent(source, start)
        for nth, text in enumerate(islice(dict.fromkeys(_joined(step, name, made) for step in steps), _MOST)):
            yield Rewrite(at, at, f"{blanks}{text}\n", "across", 0.1 * nth)


def _joined(step: re.Match[str], name: str, made: re.Match[str]) -> str:
    """The step of another sum, for this one: by what its own lane does with it."""
    moved = f"{step['call'] or step['added']}({name}, {step['how'] or step['so']})"
    return f"{step['head'] or ''}{name} " + (f"+= {moved};" if made[3] else f"= {made[2]}({name}, {moved});")
