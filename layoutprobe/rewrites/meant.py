"""Constants of the file for numbers that stand where a name is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import log

from layoutprobe.rewrites.known import CONSTANT
from layoutprobe.rewrites.quantities import is_modifier, is_whole
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.statements import Source


def meant(spot: Spot) -> Iterator[Rewrite]:
    """A constant of the file for a number that is near its value, `WAVES * STEP` for `WAVES * 8`; or for one more, as
    the statement steps by it elsewhere: `x[j + STEP]` for `x[j + 1]`."""
    values, found = _values(spot.source), list[tuple[float, Rewrite]]()
    for i in spot.within:
        if spot.source.tokens[i].text == "1" and spot.source.tokens[i - 1].text in ("+", "-"):
            found += [(0.5, spot.replace(i, i + 1, name, "meant")) for name in _steps_of(spot)]
        if (
            is_whole(spot.source.tokens[i])
            and not is_modifier(spot, i)
            and int(spot.source.tokens[i].text) > 1
        ):
            own = int(spot.source.tokens[i].text)
            for name, known in spot.names.items():
                value = values.get(name.rpartition("::")[2], 0)
                if value and max(own, value) <= _NEAR_VALUE * min(own, value):
                    far = abs(log(own / value)) + known.far / 400
                    found.append((far, spot.replace(i, i + 1, name, "meant")))
                    if twice := _rounded_by(spot, i, name):
                        found.append((far - 0.01, twice))
    yield from (one for _, one in sorted(found, key=lambda pair: pair[0])[:_MOST_MEANT])


def _rounded_by(spot: Spot, first: int, name: str) -> Rewrite | None:
    """`up(n, STEP) * STEP` for `up(n, 8) * 8`: what rounds to a number has it twice."""
    tokens = spot.source.tokens
    again = [i for i in spot.within if tokens[i].text == tokens[first].text]
    if len(again) != _TWICE or again[0] != first or tokens[again[1] - 1].text != "*":
        return None
    text = spot.with_words(first, again[1] + 1, {tokens[first].text: name})
    return spot.replace(first, again[1] + 1, text, "meant")


_TWICE = 2


def _steps_of(spot: Spot) -> list[str]:
    """Constants that stand in the statement, or in the head of the loop around it."""
    source, block = spot.source, spot.source.block_around(spot.within.start)
    head = source.around(block[0] - 1) if block is not None else range(0)
    near = {source.tokens[i].text for part in (spot.within, head) for i in part}
    return sorted(name for name in near if CONSTANT.fullmatch(name) and name in spot.names)


_NEAR_VALUE, _MOST_MEANT = 4, 8


@lru_cache(maxsize=32)
def _values(source: Source) -> Mapping[str, int]:
    """Constants that are written as a number."""
    found = re.finditer(
        r"(?:#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+|\b([A-Za-z_]\w*)\s*=\s*)\(?(\d{1,6})\)?[ \t]*(?=[;,}\n/])",
        source.text,
    )
    return {one[1] or one[2]: int(one[3]) for one in found}
