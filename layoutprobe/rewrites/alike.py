"""Whether a name is written like another one, so that one may stand for the other by mistake."""

from __future__ import annotations

import re

from layoutprobe.source.scope import BUILTIN


def alike(one: str, other: str) -> bool:
    """Whether a name is written like another one: M and N, warp_m and warp_n, a.S and a.R, STRIDE and BLOCK_K."""
    *heads, mine = re.split(r"\.|->|::", one)
    *others, theirs = re.split(r"\.|->|::", other)
    if heads != others or mine == theirs:
        return bool(heads) and mine == theirs and one != other
    if (mine.isupper() and theirs.isupper()) or heads[:1] in [[name] for name in BUILTIN]:
        return True
    if is_more(one, other) or _is_word_of(mine, theirs):
        return True
    if len(mine) == len(theirs) == 1:
        return bool(heads) or (mine.isupper() and theirs.isupper()) or abs(ord(mine) - ord(theirs)) == 1
    parts, rest = (re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name) for name in (mine, theirs))
    pairs = list(zip(parts, rest, strict=True)) if len(parts) == len(rest) else []
    if any(a == b for a, b in pairs) or any({a.lower(), b.lower()} <= kin for a, b in pairs for kin in _KIN):
        return True
    return differ_in_a_letter(mine, theirs)


def _is_word_of(one: str, other: str) -> bool:
    """Whether a name is a word of another one, as `depth` is of `TILE_DEPTH`, and `bins` of `kMaxBins`."""
    short, long = sorted((one, other), key=len)
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", long)}
    return len(short) >= _LEAST_WORD and short.lower() in words


_LEAST_WORD = 4


def is_more(one: str, other: str) -> bool:
    """Whether a name is another one with a letter or two before or behind it: `p.ow` and `p.w`, `lda` and `ld`."""
    (*heads, mine), (*others, theirs) = (re.split(r"\.|->|::", name) for name in (one, other))
    short, long = sorted((mine, theirs), key=len)
    inside = long.startswith(short) or long.endswith(short)
    least = 1 if heads else _SHORT
    return heads == others and inside and len(short) >= least and 0 < len(long) - len(short) <= _LETTERS


_SHORT, _LETTERS = 2, 2


_KIN = tuple(
    frozenset(line.split())
    for line in (
        "row col column line",
        "rows cols columns lines",
        "width height depth",
        "x y z",
        "lo hi low high lower upper",
        "first last begin end start stop",
        "left right",
        "src dst from to source target",
        "in out input output",
        "read write load store",
        "old new prev previous cur current next",
        "gate up down",
        "head query key q k v",
        "outer inner major minor",
        "count index offset size length",
        "group block tile wave lane thread warp",
        "sum max peak top total",
    )
)
"""Words of which one is taken for another."""


def differ_in_a_letter(one: str, other: str) -> bool:
    """Whether two names of some letters are the same but for one."""
    return len(one) == len(other) >= _SHORT and sum(a != b for a, b in zip(one, other, strict=True)) == 1
