"""Masks with a bit for each lane of a wave."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutprobe.rewrites.spot import Rewrite, Spot

_MOST = 4


def populations(spot: Spot) -> Iterator[Rewrite]:
    """`n += __popc(peers);` for `n += 1;`: one lane counts for all that have the same."""
    assigned = spot.assignment(spot.tree)
    if assigned is None or assigned[0] != "+=" or spot.text(assigned[2]) not in ("1", "1u"):
        return
    for name in list(dict.fromkeys(_OF_LANES.findall(spot.body)))[:_MOST]:
        for call in dict.fromkeys((*_COUNTS.findall(spot.source.text), "__popc", "__popcll")):
            if name in spot.names:
                yield spot.replace(assigned[2].first, assigned[2].last, f"{call}({name})", "populations")


_OF_LANES = re.compile(
    r"\b(?:unsigned|uint32_t|uint64_t|unsigned int|unsigned long long|auto)\s+(\w+)\s*[=;,]"
)
_COUNTS = re.compile(r"\b(__popc(?:ll)?|__builtin_popcount(?:ll)?)\(")


def bits(spot: Spot) -> Iterator[Rewrite]:
    """`1ull << lane` for `1u << lane`, `__popcll` for `__popc` and `__ffsll` for `__ffs`: a wave has 64 lanes."""
    tokens = spot.source.tokens
    for i in spot.within if _WIDE.search(spot.source.slice(spot.within.start, spot.within.stop)) else ():
        if tokens[i].text in _LONG:
            yield spot.replace(i, i + 1, _LONG[tokens[i].text], "bits")
        elif _ONE.fullmatch(tokens[i].text) and spot.source.word(i + 1) == "<<":
            yield spot.replace(i, i + 1, "1ull", "bits")


_WIDE = re.compile(r"u64|uint64|unsigned long|ll\(|mask|ballot|lane|peers|below", re.I)
_ONE = re.compile(r"1[uU]?[lL]?")
_LONG = {
    "__popc": "__popcll",
    "__ffs": "__ffsll",
    "__clz": "__clzll",
    "__builtin_popcount": "__builtin_popcountll",
    "__builtin_ctz": "__builtin_ctzll",
    "__builtin_clz": "__builtin_clzll",
}
