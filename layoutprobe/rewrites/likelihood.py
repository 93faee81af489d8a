"""How unlikely one name is meant where another one stands; by what the function says of both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations, takewhile
from math import log1p

from layoutprobe.rewrites.alike import alike, is_more
from layoutprobe.rewrites.spot import Known, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.scope import BUILTIN, Operand
from layoutprobe.source.statements import Source


def unlike(spot: Spot, one: Operand, other: Known) -> float:
    """The less, the likelier the other name is meant."""
    unused = other.text in spot.unused and len(spot.unused) < _MANY_UNUSED
    score = 0.5 if unused else 2.0 + log1p(min(other.far, _FAR) / _NEAR)
    score -= 1.5 * (alike(one.text, other.text) or _are_extents(spot, one.text, other.text))
    heads = {text.partition(".")[0] for text in (one.text, other.text)}
    score += _EXTENT * (heads <= {*BUILTIN} and len(heads & {"blockDim", "gridDim"}) == 1)
    score -= _AXIS * (one.text.partition(".")[0] in BUILTIN and other.text[:-1] == one.text[:-1])
    score += 0.8 * (is_size(spot, one.text) != is_size(spot, other.text))
    score -= _ALONG * _goes_along(spot, one.text, other.text)
    score -= _AGREES * _agrees(spot, one, other.text)
    score -= 4 * _AXIS * (one.text.partition(".")[0] in BUILTIN and other.text in _axes(spot.source))
    score -= _MEMBER * _of_one_object(one.text, other.text) * (1 + is_more(one.text, other.text))
    score -= _DERIVED * (one.text in _made_of(spot).get(other.text, ()))
    score -= _made_alone_of(spot, one.text, other.text)
    score -= _EXTENT_OF * _is_extent_of_what_follows(spot, one, other.text)
    score += _NO_PITCH * (
        _IS_PITCH.fullmatch(other.text) is not None
        and not _IS_PITCH.fullmatch(one.text)
        and "*" not in (spot.source.word(one.first - 1), spot.source.word(one.last))
    )
    score -= _PREFIX * _begins_alike(one.text, other.text)
    score -= _DIVMOD * _is_of_the_other_part(spot, one, other.text)
    score -= _PITCH * _is_pitch_of_what_is_before(spot, one, other.text)
    if _is_bound(spot, one):
        score -= _LIMIT * (_IS_LIMIT.fullmatch(re.split(r"\.|->", other.text)[-1]) is not None)
        score -= _LIMIT * _is_of_what_is_compared(spot, one, other.text)
    score -= _TOGETHER * (frozenset((one.text, other.text)) in _declared_together(spot.source))
    divides = spot.source.tokens[one.first - 1].text == "/" and one.first > 0
    score -= _MEAN * (divides and re.split(r"\.|->", other.text)[-1] in spot.scalars)
    if spot.source.tokens[one.first].kind == "number":
        score += -_IDLE if unused and _is_argument(spot, one) else 1.0
        score -= _NAMED * _is_hex_of_both(spot, one.text, other.text)
    return score


def _is_pitch_of_what_is_before(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name is what a term is multiples of, for one that is added to it: ROWS in `first + ROWS`, where
    `first = blockIdx.x * ROWS`."""
    tokens = spot.source.tokens
    if one.first < _TWO or tokens[one.first - 1].text != "+" or tokens[one.first - 2].kind != "name":
        return False
    term = re.escape(tokens[one.first - 2].text)
    return re.search(rf"\b{term}\s*=[^;,=]*\*\s*{re.escape(other)}\s*[;,]", spot.body) is not None


_IS_PITCH = re.compile(r"(?:\w*[._])?(?:ld[a-z]?\d?|\w*[Ss]tride\w*|\w*[Pp]itch\w*)|LD\w*")
_NO_PITCH = 1.5
"""How much unlikelier the length of a row is meant where nothing is multiplied by it."""
_TWO = 2
_PITCH = 2.0
"""How much likelier such a name is meant."""


def _is_bound(spot: Spot, one: Operand) -> bool:
    """Whether a name is what something is compared with, or no more than."""
    before, behind = spot.source.tokens[one.first - 1].text, spot.source.tokens[one.last : one.last + 1]
    ends = bool(behind) and behind[0].text in (")", ";", "&&", ",")
    return ends and (before in ("<", "<=", ">=", ">") or (before == "," and "min(" in spot.text(spot.tree)))


def _is_of_what_is_compared(spot: Spot, one: Operand, other: str) -> bool:
    """Whether what stands before the sign is made of a member of the same object: `tile.end` for `row` of
    `tile.first`."""
    head, dot, _ = other.partition(".")
    index = spot.source.word(one.first - _TWO)
    return bool(dot) and head not in BUILTIN and head in _made_of(spot).get(index, ())


_LIMIT = 2.4
"""How much likelier a length is meant where something ends."""
_IS_LIMIT = re.compile(
    r"(?:\w*_)?(?:len|length|count|limit|valid|used|end|last|stop|n)|\w*(?:Len|Length|Count|End)|(?:end|last|stop)(?:_\w+|[A-Z]\w*)"
)


def _made_alone_of(spot: Spot, one: str, other: str) -> float:
    """How much likelier a name is meant that another one is made of; the less, the more that is made of."""
    parts = _made_of(spot).get(one, ())
    return _MADE_OF / max(1, len(parts) - _FEW_PARTS) if other in parts else 0.0


_FEW_PARTS = 2


@lru_cache(maxsize=32)
def _declared_together(source: Source) -> frozenset[frozenset[str]]:
    """Pairs of names that one statement declares: `float raw[N], biased[N];`."""
    found = dict[int, list[str]]()
    for i in sorted(declared_in(source)):
        found.setdefault(source.around(i).start, []).append(source.tokens[i].text)
    few = (names for names in found.values() if len(names) <= _FEW_TOGETHER)
    return frozenset(frozenset(pair) for names in few for pair in combinations(names, 2))


_TOGETHER, _FEW_TOGETHER = 1.2, 4
"""How much likelier a name is meant that is declared beside another one, and of how many at most."""


def _is_of_the_other_part(spot: Spot, one: Operand, other: str) -> bool:
    """Whether the function has `tile % other` where `tile / one` stands, or the reverse."""
    tokens = spot.source.tokens
    sign = {"/": "%", "%": "/"}.get(tokens[one.first - 1].text) if one.first > 1 else None
    if sign is None or tokens[one.first - 2].kind != "name":
        return False
    whole = re.escape(tokens[one.first - 2].text)
    return re.search(rf"\b{whole}\s*{sign}\s*{re.escape(other)}(?![\w.])", spot.body) is not None


_DIVMOD = 2.5
"""How much likelier a name is meant by which the rest of the same division is taken."""


def _is_extent_of_what_follows(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name is what `k` counts to, or a factor before it elsewhere, for one in `row * stride + k`."""
    tokens = spot.source.tokens
    if one.last + 1 >= len(tokens) or (tokens[one.first - 1].text, tokens[one.last].text) != ("*", "+"):
        return False
    count, name = re.escape(tokens[one.last + 1].text), re.escape(other)
    return bool(re.search(rf"\b{count}\s*<=?\s*{name}\b|\*\s*{name}\s*\+\s*{count}\b", spot.body))


def _begins_alike(one: str, other: str) -> int:
    """Letters that two names begin with, a few at most."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return min(sum(1 for _ in pairs), _LONG_PREFIX)


_PREFIX, _LONG_PREFIX = 0.05, 6
"""How much likelier a name is meant for each letter that it begins with as this one does."""


_EXTENT_OF = 3.5
"""How much likelier such a name is meant."""


def _is_hex_of_both(spot: Spot, number: str, name: str) -> bool:
    """Whether a number is hexadecimal, and so is the value of a name: `KEY_MAX` for `0x7fffffffu`."""
    given = (
        re.compile(rf"\b{re.escape(name)}[ \t]*(?:=|\()?[ \t]*0[xX]") if number[:2] in ("0x", "0X") else None
    )
    return given is not None and given.search(spot.source.text) is not None


_NAMED = 2.5
"""How much likelier a name is meant whose value is written like the number that stands there."""


def _is_argument(spot: Spot, one: Operand) -> bool:
    """Whether all of an argument is a number: `rotate(q, first, 0)`."""
    return spot.source.word(one.first - 1) in ("(", ",") and spot.source.word(one.last) in (",", ")")


_IDLE = 0.5
"""How much likelier what is never used is meant, where a call is given a number in its place."""


_NEAR = 40.0


_AXIS = 0.5
"""How much likelier the other coordinate is meant: a kernel has few of them."""


_ALONG = 2.5
"""How much likelier an extent is meant where the statement has the place along it, and not along the other axis."""


_AGREES = 2.5
"""How much likelier a name is meant that differs by its axis alone, where more of the statement is of that axis."""


_MEMBER = 1.0
"""How much likelier another member of the same object is meant."""


_DERIVED = 2.0
"""How much likelier a name is meant whose value is made of this one: `k_end = min(K, begin + count)` for K."""


_MADE_OF = 2.2
"""How much likelier one that it is made of is: `columns` for `length = min(lengths[row], columns)`."""


_MEAN = 2.0
"""How much likelier an extent that the kernel is given is meant where something is divided: a mean is over all."""


_EXTENT = 2.0
"""How much unlikelier an extent is meant by an index, or the reverse: with all as its share one workgroup does it."""


def _goes_along(spot: Spot, one: str, other: str) -> bool:
    """Whether `blockDim.y` may be meant by `blockDim.x`, as beside it stands `threadIdx.y`."""
    places = {"blockDim.": "threadIdx.", "gridDim.": "blockIdx."}
    place = places.get(other[:-1])
    if place is None or one[:-1] != other[:-1]:
        return False
    text = spot.text(spot.tree)
    return f"{place}{other[-1]}" in text and f"{place}{one[-1]}" not in text


def _agrees(spot: Spot, one: Operand, other: str) -> bool:
    """Whether `WN` may be meant by `WM`, as in `wn = wave % WAVES_N * WM`."""
    if one.text[:-1] != other[:-1] or not {one.text[-1].lower(), other[-1].lower()} <= _AXES:
        return False
    beside = Counter(
        token.text[-1].lower()
        for i, token in enumerate(spot.source.tokens[spot.within.start : spot.within.stop], spot.within.start)
        if token.kind == "name" and not one.first <= i < one.last and _IS_OF_AXIS.fullmatch(token.text)
    )
    return beside[other[-1].lower()] > beside[one.text[-1].lower()]


_AXES = frozenset("mnkxyz")


_IS_OF_AXIS = re.compile(r"(?:\w{0,2}|\w*_|\w*[a-z](?=[A-Z]))[mnkxyzMNKXYZ]")
"""Names that end with the letter of an axis: `wn`, `WAVES_N`, `tileN`."""


def _made_of(spot: Spot) -> Mapping[str, frozenset[str]]:
    """Names of the function, and the names that their first values are made of."""
    return _values_in(spot.body)


@lru_cache(maxsize=32)
def _values_in(body: str) -> Mapping[str, frozenset[str]]:
    found = dict[str, frozenset[str]]()
    for match in _GIVEN.finditer(body):
        value = body[match.end() : match.end() + _LONGEST_VALUE].partition(";")[0]
        found.setdefault(match[1], frozenset(re.findall(r"[A-Za-z_]\w*", _GIVEN.split(value)[0])))
    return found


_GIVEN = re.compile(r"\b([A-Za-z_]\w*)\s*=(?![=])")


_LONGEST_VALUE = 120


@lru_cache(maxsize=32)
def _axes(source: Source) -> frozenset[str]:
    """Names whose value is a coordinate of the thread or workgroup, and nothing else."""
    return frozenset(
        re.findall(rf"\b([A-Za-z_]\w*)\s*=\s*(?:{'|'.join(BUILTIN)})\.[xyz]\s*[;,]", source.text)
    )


def _are_extents(spot: Spot, one: str, other: str) -> bool:
    """Whether two names are letters that the kernel is given: m and n."""
    return len(one) == len(other) == 1 and {one, other} <= {*spot.scalars}


def _of_one_object(one: str, other: str) -> bool:
    """Whether two names are members of the same object, which is no coordinate."""
    (head, _, _), (same, _, _) = (re.sub("->|::", ".", name).rpartition(".") for name in (one, other))
    return bool(head) and head == same and head not in BUILTIN


def is_size(spot: Spot, text: str) -> bool:
    """A constant or an argument of the kernel: it seldom stands for an index, nor an index for it."""
    last = re.split(r"\.|->|::", text)[-1]
    return last in spot.scalars or last.isupper()


_MANY_UNUSED = 4


_FAR = 400.0
"""Tokens to the nearest use or declaration."""
