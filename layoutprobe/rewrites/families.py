"""Names that belong together by a letter or word: m0, BM and p.m stand where n0, BN and p.n do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from layoutprobe.rewrites.alike import differ_in_a_letter
from layoutprobe.rewrites.renames import renamed
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.enumerations import enumerations
from layoutprobe.source.scope import BUILTIN, Operand

_PAIRS = tuple(
    (one, other)
    for line in (
        "m n",
        "n k",
        "m k",
        "a b",
        "q k",
        "k v",
        "x y",
        "i j",
        "row col",
        "rows cols",
        "0 1",
        "1 2",
        "r i",
        "re im",
        "lo hi",
        "even odd",
    )
    for one, other in (line.split(), line.split()[::-1])
)
_SHORT = 3
"""Letters of a name in which each letter may be one that stands for something: wm, BM, lda."""


def switched(name: str, one: str, other: str) -> str:
    """A name with a letter or word of it in place of another one: `p.n` for `p.m`, `tile_cols` for `tile_rows`."""
    head, dot, last = name.rpartition(".")
    if len(one) == 1 and len(re.sub(r"\W|\d", "", last)) <= _SHORT:
        return head + dot + last.replace(one, other).replace(one.upper(), other.upper())
    last = re.sub(rf"(?<![a-z]){one}(?![a-z])", other, last)
    last = re.sub(rf"(?<=[a-z0-9_]){one.capitalize()}(?![a-z])", other.capitalize(), last)
    return head + dot + re.sub(rf"(?<![A-Z]){one.upper()}(?![A-Z])", other.upper(), last)


def switches(spot: Spot, own: list[Operand]) -> Iterator[dict[str, str]]:
    """Other names for some operands: of each pair those of the other letter, where all of them are known.

    Not for axes of threads and workgroups: what asks for another one is launched otherwise.
    """
    texts = [operand.text for operand in own if operand.text.partition(".")[0] not in BUILTIN]
    for one, other in dict.fromkeys((*_PAIRS, *_own_pairs(spot, texts))):
        found = {text: switched(text, one, other) for text in texts}
        found = {was: now for was, now in found.items() if was != now}
        if found and all(now in spot.names for now in found.values()):
            yield found
    yield from _affixed(spot, list(dict.fromkeys(texts)))


def _affixed(spot: Spot, texts: Sequence[str]) -> Iterator[dict[str, str]]:
    """Names that differ from others of their object by what they begin or end with: `g.oh` and `g.ow` for `g.h` and
    `g.w`, of which both are known."""
    found = dict[tuple[str, str, bool], dict[str, str]]()
    for text in texts if len(texts) > 1 else ():
        head, _, own = text.rpartition(".")
        for name in spot.names:
            its, _, last = name.rpartition(".")
            if its != head or not 0 < abs(len(last) - len(own)) <= _SHORT:
                continue
            less, more = sorted((own, last), key=len)
            if more.endswith(less):
                found.setdefault((more.removesuffix(less), "", less == own), {})[text] = name
            if more.startswith(less):
                found.setdefault(("", more.removeprefix(less), less == own), {})[text] = name
    yield from (names for names in found.values() if len(names) > 1)


def word_pairs(one: str, other: str) -> list[tuple[str, str]]:
    """The words by which two names differ, where it is one of each: out and in of `wave_out` and `wave_in`."""
    mine, theirs = _parts(one), _parts(other)
    unlike = [(a.lower(), b.lower()) for a, b in zip(mine, theirs, strict=False) if a != b]
    return unlike if len(mine) == len(theirs) > 1 and len(unlike) == 1 else []


def differ_by(one: str, other: str) -> tuple[str, str] | None:
    """The letter or word by which alone two names differ: x and y of `x0` and `y0`, row and col of `row0`, `col0`."""
    if differ_in_a_letter(one, other):
        return next((a.lower(), b.lower()) for a, b in zip(one, other, strict=True) if a != b)
    return next(iter(word_pairs(one, other)), None)


def _own_pairs(spot: Spot, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Words by which two names or more differ from others: Tile and Halo of kTileW, kTileH, kHaloW and kHaloH."""
    pairs = Counter[tuple[str, str]]()
    for text in dict.fromkeys(texts):
        for name in spot.names if len(_parts(text)) > 1 else ():
            pairs.update(word_pairs(text, name))
    yield from (pair for pair, often in pairs.items() if often > 1 and min(map(len, pair)) > 1)


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, ...]:
    """Words of a name."""
    return tuple(_WORDS.findall(name))


_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|\W")


def families(spot: Spot) -> Iterator[Rewrite]:
    """All names of an expression at once: `ceil_div(p.n, BN)` for `ceil_div(p.m, BM)`."""
    seen = set[tuple[int, ...]]()
    nodes = sorted(spot.tree.walk(), key=lambda one: one.last - one.first)
    for node in nodes:
        own = [one for one in spot.scope.operands if node.first <= one.first < node.last]
        own = [one for one in own if not spot.source.defines(one.last - 1) or "." in one.text]
        key = tuple(one.first for one in own)
        if len({one.text for one in own}) < 2 or key in seen or node.kind in ("index", "cast"):
            continue
        seen.add(key)
        for names in switches(spot, own):
            changed = [one for one in own if one.text in names]
            if len(changed) > 1:
                yield renamed(spot, changed, names)


def enumerators(spot: Spot) -> Iterator[Rewrite]:
    """Another one of the same enumeration: `Sign::Unsigned` for `Sign::Signed`, as a template's argument, too."""
    tokens = spot.source.tokens
    known = {one.name: one.constants for source in spot.others for one in enumerations(source) if one.name}
    for i in spot.within:
        scoped = i > 1 and tokens[i - 1].text == "::"
        constants = known.get(tokens[i - 2].text, ()) if scoped else ()
        if tokens[i].text in constants:
            at = constants.index(tokens[i].text)
            near = sorted(constants, key=lambda name: abs(constants.index(name) - at))
            yield from (spot.replace(i, i + 1, name, "enumerators") for name in near[1:_MOST])


_MOST = 5
"""Of an enumeration, those beside it first."""
