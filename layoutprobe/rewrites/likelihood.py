"""How unlikely one name is meant where another one stands; by what the function says of both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, takewhile
from math import log1p

from layoutprobe.rewrites.alike import alike, is_more
from layoutprobe.rewrites.spot import Known, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.scope import BUILTIN, Operand
from layoutprobe.source.statements import Source


def unlike(spot: Spot, one: Operand, other: Known) -> float:
    """The less, the likelier the other name is meant: by how far it is used, and what `_REASONS` add."""
    far = 0.5 if _is_idle(spot, other.text) else 2.0 + log1p(min(other.far, _FAR) / _NEAR)
    return far + sum(weight * float(holds(spot, one, other.text)) for weight, holds in _REASONS)


_NEAR, _FAR = 40.0, 400.0
"""Tokens to the nearest use or declaration."""
_MANY_UNUSED = 4


def _is_idle(spot: Spot, other: str) -> bool:
    """Whether a name is used nowhere, as few others are."""
    return other in spot.unused and len(spot.unused) < _MANY_UNUSED


def is_size(spot: Spot, text: str) -> bool:
    """A constant or an argument of the kernel: it seldom stands for an index, nor an index for it."""
    last = _last(text)
    return last in spot.scalars or last.isupper()


def _last(name: str) -> str:
    return re.split(r"\.|->|::", name)[-1]


def _is_coordinate(text: str) -> bool:
    return text.partition(".")[0] in BUILTIN


# By the names alone


def _is_alike(spot: Spot, one: Operand, other: str) -> bool:
    """Whether both are written alike, or are letters that the kernel is given: m and n."""
    letters = len(one.text) == len(other) == 1 and {one.text, other} <= {*spot.scalars}
    return alike(one.text, other) or letters


def _begins_alike(_: Spot, one: Operand, other: str) -> int:
    """Letters that two names begin with, a few at most."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one.text, other, strict=False))
    return min(sum(1 for _ in pairs), _LONG_PREFIX)


_LONG_PREFIX = 6


def _is_extent_for_index(_: Spot, one: Operand, other: str) -> bool:
    """Whether an extent of the launch would stand for a coordinate, or the reverse: with all as its share one
    workgroup does it."""
    heads = {text.partition(".")[0] for text in (one.text, other)}
    return heads <= {*BUILTIN} and len(heads & {"blockDim", "gridDim"}) == 1


def _is_other_axis(_: Spot, one: Operand, other: str) -> bool:
    """Whether the other coordinate is meant: a kernel has few of them."""
    return _is_coordinate(one.text) and other[:-1] == one.text[:-1]


def _is_size_for_index(spot: Spot, one: Operand, other: str) -> bool:
    return is_size(spot, one.text) != is_size(spot, other)


def _of_one_object(_: Spot, one: Operand, other: str) -> int:
    """Whether two names are members of the same object, which is no coordinate; more, where one is more than the
    other."""
    heads = [re.sub("->|::", ".", name).rpartition(".")[0] for name in (one.text, other)]
    same = bool(heads[0]) and heads[0] == heads[1] and heads[0] not in BUILTIN
    return same * (1 + is_more(one.text, other))


def _are_declared_together(spot: Spot, one: Operand, other: str) -> bool:
    """Whether one statement declares both: `float raw[N], biased[N];`."""
    return frozenset((one.text, other)) in _declared_together(spot.source)


@lru_cache(maxsize=32)
def _declared_together(source: Source) -> frozenset[frozenset[str]]:
    """Pairs of names that one statement declares."""
    found = dict[int, list[str]]()
    for i in sorted(declared_in(source)):
        found.setdefault(source.around(i).start, []).append(source.tokens[i].text)
    few = (names for names in found.values() if len(names) <= _FEW_TOGETHER)
    return frozenset(frozenset(pair) for names in few for pair in combinations(names, 2))


_FEW_TOGETHER = 4


# By what the names are made of


def _is_axis_by_name(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name has the value of a coordinate, for a coordinate; or that of an extent, for an extent."""
    head = one.text.partition(".")[0]
    return head in BUILTIN and _axes(spot.source).get(other, "")[-3:] == head[-3:]


@lru_cache(maxsize=32)
def _axes(source: Source) -> Mapping[str, str]:
    """Names whose value is a coordinate or an extent of the launch, and nothing else; and which: `blockIdx`."""
    axis = re.compile(rf"\b([A-Za-z_]\w*)\s*=\s*({'|'.join(BUILTIN)})\.[xyz]\s*[;,]")
    return dict(axis.findall(source.text))


def _is_made_of_it(spot: Spot, one: Operand, other: str) -> bool:
    """Whether the other one's value is made of this name: `k_end = min(K, begin + count)` for K."""
    return one.text in _values_in(spot.body).get(other, ())


def _is_part_of_it(spot: Spot, one: Operand, other: str) -> float:
    """Whether this name is made of the other one: `columns` for `length = min(lengths[row], columns)`; the less, the
    more that is made of."""
    parts = _values_in(spot.body).get(one.text, ())
    return 1 / max(1, len(parts) - _FEW_PARTS) if other in parts else 0.0


_FEW_PARTS = 2


@lru_cache(maxsize=32)
def _values_in(body: str) -> Mapping[str, frozenset[str]]:
    """Names of a function, and the names that their first values are made of."""
    found = dict[str, frozenset[str]]()
    for match in _GIVEN.finditer(body):
        value = body[match.end() : match.end() + _LONGEST_VALUE].partition(";")[0]
        found.setdefault(match[1], frozenset(re.findall(r"[A-Za-z_]\w*", _GIVEN.split(value)[0])))
    return found


_GIVEN = re.compile(r"\b([A-Za-z_]\w*)\s*=(?![=])")
_LONGEST_VALUE = 120


def _is_pitch_of_what_is_before(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name is what a term is multiples of, for one that is added to it: ROWS in `first + ROWS`, where
    `first = blockIdx.x * ROWS`."""
    tokens = spot.source.tokens
    if one.first < _TWO or tokens[one.first - 1].text != "+" or tokens[one.first - 2].kind != "name":
        return False
    term = re.escape(tokens[one.first - 2].text)
    return re.search(rf"\b{term}\s*=[^;,=]*\*\s*{re.escape(other)}\s*[;,]", spot.body) is not None


_TWO = 2


# By what stands beside


def _is_bound(spot: Spot, one: Operand) -> bool:
    """Whether a name is what something is compared with, or no more than."""
    before, behind = spot.source.word(one.first - 1), spot.source.word(one.last)
    compared = before in ("<", "<=", ">=", ">") or (before == "," and "min(" in spot.text(spot.tree))
    return compared and behind in (")", ";", "&&", ",")


def _is_limit(spot: Spot, one: Operand, other: str) -> bool:
    """Whether something ends at this name, and the other one is called so: `length`, `endRow`."""
    return _LENGTH.fullmatch(_last(other)) is not None and _is_bound(spot, one)


_LENGTH = re.compile(
    r"(?:\w*_)?(?:len|length|count|limit|valid|used|end|last|stop|n)|\w*(?:Len|Length|Count|End)"
    r"|(?:end|last|stop)(?:_\w+|[A-Z]\w*)"
)


def _is_of_what_is_compared(spot: Spot, one: Operand, other: str) -> bool:
    """Whether what stands before the sign is made of a member of the same object: `tile.end` for `row` of
    `tile.first`."""
    head, dot, _ = other.partition(".")
    if not dot or head in BUILTIN or not _is_bound(spot, one):
        return False
    return head in _values_in(spot.body).get(spot.source.word(one.first - _TWO), ())


def _is_bound_by_its_letter(spot: Spot, one: Operand, other: str) -> bool:
    """Whether an index ends with the letter of this bound, and not with that of the other one: `W` for `H` in
    `iw < H`."""
    before = spot.source.word(one.first - _TWO)
    letters = len(one.text) == len(other) == 1 and _is_bound(spot, one)
    return letters and before[-1:].lower() == other.lower() != one.text.lower()


def _is_no_pitch(spot: Spot, one: Operand, other: str) -> bool:
    """Whether the length of a row would stand where nothing is multiplied by it."""
    beside = spot.source.word(one.first - 1), spot.source.word(one.last)
    pitch = _PITCH.fullmatch(other) is not None and not _PITCH.fullmatch(one.text)
    return pitch and "*" not in beside


_PITCH = re.compile(r"(?:\w*[._])?(?:ld[a-z]?\d?|\w*[Ss]tride\w*|\w*[Pp]itch\w*)|LD\w*")


def _is_of_the_other_part(spot: Spot, one: Operand, other: str) -> bool:
    """Whether the function has `tile % other` where `tile / one` stands, or the reverse."""
    tokens = spot.source.tokens
    sign = {"/": "%", "%": "/"}.get(tokens[one.first - 1].text) if one.first > 1 else None
    if sign is None or tokens[one.first - 2].kind != "name":
        return False
    whole = re.escape(tokens[one.first - 2].text)
    return re.search(rf"\b{whole}\s*{sign}\s*{re.escape(other)}(?![\w.])", spot.body) is not None


def _is_extent_of_what_follows(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name is what `k` counts to, or a factor before it elsewhere, for one in `row * stride + k`."""
    tokens = spot.source.tokens
    if one.last + 1 >= len(tokens) or (tokens[one.first - 1].text, tokens[one.last].text) != ("*", "+"):
        return False
    count, name = re.escape(tokens[one.last + 1].text), re.escape(other)
    return bool(re.search(rf"\b{count}\s*<=?\s*{name}\b|\*\s*{name}\s*\+\s*{count}\b", spot.body))


def _is_size_between_rows(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a size would stand where rows are counted, for what is none: `m * WIDTH + i` for `m * n + i`."""
    beside = spot.source.word(one.first - 1), spot.source.word(one.last)
    return beside == ("*", "+") and is_size(spot, other) and not is_size(spot, one.text)


def _is_mean(spot: Spot, one: Operand, other: str) -> bool:
    """Whether something is divided by an extent that the kernel is given: a mean is over all."""
    return one.first > 0 and spot.source.word(one.first - 1) == "/" and _last(other) in spot.scalars


def _goes_along(spot: Spot, one: Operand, other: str) -> bool:
    """Whether the statement has the place along this extent, and not along the other axis: `blockDim.y` for
    `blockDim.x` beside `threadIdx.y`. Or adds it: `gridDim.x` for `gridDim.y` in `row * gridDim.y + blockIdx.x`."""
    place = {"blockDim.": "threadIdx.", "gridDim.": "blockIdx."}.get(other[:-1])
    if place is None or one.text[:-1] != other[:-1]:
        return False
    here, source = spot.text(spot.tree), spot.source
    added = re.match(r"\s*\+\s*([\w.]+)", source.text[source.tokens[one.last - 1].end :][:_LONGEST_VALUE])
    alone = f"{place}{other[-1]}" in here and f"{place}{one.text[-1]}" not in here
    return alone or (added is not None and added[1] == f"{place}{other[-1]}")


def _agrees(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a name differs by its axis alone, and more of the statement is of that axis: `WN` for `WM`, as in
    `wn = wave % WAVES_N * WM`."""
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


# For a number


def _is_number(spot: Spot, one: Operand) -> bool:
    return spot.source.tokens[one.first].kind == "number"


def _is_for_number(spot: Spot, one: Operand, other: str) -> bool:
    return _is_number(spot, one) and not _is_idle_for_argument(spot, one, other)


def _is_idle_for_argument(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a call is given a number, `rotate(q, first, 0)`, and a name is used nowhere."""
    ends = spot.source.word(one.first - 1) in ("(", ",") and spot.source.word(one.last) in (",", ")")
    return _is_number(spot, one) and _is_idle(spot, other) and ends


def _is_hex_of_both(spot: Spot, one: Operand, other: str) -> bool:
    """Whether a number is hexadecimal, and so is the value of a name: `KEY_MAX` for `0x7fffffffu`."""
    if not _is_number(spot, one) or one.text[:2] not in ("0x", "0X"):
        return False
    return re.search(rf"\b{re.escape(other)}[ \t]*(?:=|\()?[ \t]*0[xX]", spot.source.text) is not None


_REASONS: Sequence[tuple[float, Callable[[Spot, Operand, str], float]]] = (
    (-1.5, _is_alike),
    (-0.05, _begins_alike),
    (2.0, _is_extent_for_index),
    (-0.5, _is_other_axis),
    (0.8, _is_size_for_index),
    (-1.0, _of_one_object),
    (-1.2, _are_declared_together),
    (-2.0, _is_axis_by_name),
    (-2.0, _is_made_of_it),
    (-2.2, _is_part_of_it),
    (-2.0, _is_pitch_of_what_is_before),
    (-2.4, _is_limit),
    (-2.4, _is_of_what_is_compared),
    (-3.0, _is_bound_by_its_letter),
    (1.5, _is_no_pitch),
    (-2.5, _is_of_the_other_part),
    (-3.5, _is_extent_of_what_follows),
    (-2.4, _is_size_between_rows),
    (-2.0, _is_mean),
    (-2.5, _goes_along),
    (-2.5, _agrees),
    (1.0, _is_for_number),
    (-0.5, _is_idle_for_argument),
    (-2.5, _is_hex_of_both),
)
"""How much unlikelier the other name is meant for each reason."""
