"""Numbers of a statement: a little more or less, constants that are known by name, weights of the terms of a sum."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import combinations, islice, product
from math import log

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import between, function_around, scaled, sums, terms
from layoutprobe.source.statements import Token


def weights(spot: Spot) -> Iterator[Rewrite]:
    """The rows of the other generation: 2*v + half for v + 8*half; or other factors of two terms."""
    source, found = spot.source, list[Rewrite]()
    for first, last in sums(source, spot.within):
        added = terms(source, first, last)
        if len(added) < 2 or any(sign == "-" for sign, _, _ in added):
            continue
        for (_, a, b), (_, c, d) in combinations(added, 2):
            one, other = scaled(source, a, b), scaled(source, c, d)
            middle = between(source, b, c)
            for x, y in _pairs(one[1], other[1]):
                text = _times(one[0], x) + middle + _times(other[0], y)
                exchanged = (x, y) == (other[1], one[1])
                rank = 0.3 if exchanged else 2.0 if one[1] and other[1] else 3.0
                for part, mine, its in (
                    (other[0], (x, y), (one[1], other[1])),
                    (one[0], (y, x), (other[1], one[1])),
                ):
                    if _is_part_of_lane(part) and {mine, its} <= _ROWS:
                        rank = 0.0 if (mine[1] or its[1]) == "8" else 0.2
                found.append(replace(spot.replace(a, d, text, "weights"), rank=rank))
            for v, u in ((other, one), (one, other)):
                if u[1] and not v[1]:
                    text = f"{_bound(v[0])} / 4 * 8{middle}{_times(u[0], '4')} + {_bound(v[0])} % 4"
                    found.append(replace(spot.replace(a, d, text, "weights"), rank=2.0))
            found += (
                replace(spot.replace(a, d, text, "weights"), rank=1.8)
                for text in _of_other_lanes(one, other, middle)
            )
    yield from sorted(found, key=lambda one: one.rank)


_ROWS = frozenset((("2", ""), ("", "8"), ("4", ""), ("", "4")))
"""Factors of a VGPR's number and of a group of lanes in the rows of an accumulator: of RDNA3, of RDNA4, of RDNA3 in
waves of 64 lanes, of CDNA (arch/rdna3.py, arch/rdna4.py, arch/mfma.py)."""


def _is_part_of_lane(text: str) -> bool:
    """Whether a term counts groups of lanes, as far as its text tells: `lane / 16`, `hi`."""
    return (
        re.search(r">>\s*[345]|/\s*(8|16|32)|^\(?\w*(hi|half|grp|group|quad|upper)\w*\)?$", text, re.I)
        is not None
    )


def _of_other_lanes(one: tuple[str, str], other: tuple[str, str], middle: str) -> Iterator[str]:
    """`(lane >> 4) * 4 + v` for `(lane >> 5) * 8 + v * 2`: other lanes hold other rows in waves of another length."""
    for nth, (text, factor) in enumerate((one, other)):
        lanes = re.fullmatch(r"\(?([^()]*[^\s()])\s*(>>\s*[45]|/\s*16|/\s*32)\)?", text)
        if lanes and factor and (other, one)[nth][1] in ("", "2"):
            by = re.sub(r"4|5|16|32", lambda found: _OTHER_LANES[found[0]], lanes[2])
            rest = (other, one)[nth][0]
            for mine, its in (("4", ""), ("8", ""), ("", "2")):
                both = (_times(f"({lanes[1]} {by})", mine), _times(rest, its))
                yield middle.join(both if nth == 0 else both[::-1])


_OTHER_LANES = {"4": "5", "5": "4", "16": "32", "32": "16"}


def _pairs(one: str, other: str) -> list[tuple[str, str]]:
    """Factors of two terms, those first that are likely; all powers of two where both have one."""
    powers = product(_POWERS, repeat=2) if one in _POWERS[1:] and other in _POWERS[1:] else ()
    found = dict.fromkeys(((other, one), *_WEIGHTS, *powers))
    return [pair for pair in found if pair != (one, other)]


_WEIGHTS = (("2", ""), ("", "8"), ("", "2"), ("8", ""), ("", "4"), ("4", ""))
"""Of a register's number and a half-wave's in the rows of generations and of CDNA."""
_POWERS = ("", "2", "4", "8", "16")


def _times(term: str, factor: str) -> str:
    return f"{factor} * {_bound(term)}" if factor else term


def _bound(term: str) -> str:
    return term if re.fullmatch(r"[\w.]+|\(.*\)", term) else f"({term})"


def numbers(spot: Spot) -> Iterator[Rewrite]:
    """A number that is one more or less, twice or half of what stands there; an index in the other buffer."""
    tokens = spot.source.tokens
    yield from _one_more(spot)
    yield from _of_bits(spot)
    near = Counter(
        tokens[i].text for i in function_around(spot.source, spot.within.start) if is_whole(tokens[i])
    )
    common = [int(text) for text, _ in near.most_common(_MOST_NUMBERS)]
    for i in spot.within:
        if is_whole(tokens[i]) and not is_modifier(spot, i):
            value = int(tokens[i].text)
            for other in dict.fromkeys((*_scales(value), value + 1, value - 1, *common, value * 4)):
                if other >= 0 and other != value:
                    yield spot.replace(i, i + 1, str(other), "numbers")


def _one_more(spot: Spot) -> Iterator[Rewrite]:
    """A shift by one more or less: by half of what it divides by, or twice that; one buffer more."""
    tokens = spot.source.tokens
    others = list[tuple[int, int]]()
    for i in (i for i in spot.within if is_whole(tokens[i])):
        value, before = int(tokens[i].text), tokens[i - 1].text
        if before in (">>", "<<"):
            others += [(i, value - 1)] * (value > 0) + [(i, value + 1)]
        elif before == "=" and i - 2 in declared_in(spot.source) and _BUFFERS.search(tokens[i - 2].text):
            others += [(i, value + 1)] * (value <= _FEW)
    for i, other in others:
        yield replace(spot.replace(i, i + 1, str(other), "numbers"), rank=-_LIKELY_MORE)


_BUFFERS = re.compile(r"buf|stage|slot|pipe|ring", re.IGNORECASE)
_FEW = 3
_LIKELY_MORE = 1.5
"""How much likelier such numbers are one off than others."""


def agreeing(spot: Spot) -> Iterator[Rewrite]:
    """`c + 1 < n` for `c + 0 < n` before `v[1] = q[1];`: the number that others of the statement are, or that goes on
    as they do from the statement beside it."""
    tokens, own = spot.source.tokens, spot.within
    here = {
        i - own.start: int(tokens[i].text) for i in own if is_whole(tokens[i]) and not is_modifier(spot, i)
    }
    often = Counter(here.values())
    found = [
        (at, other) for at, value in here.items() if often[value] == 1 for other in often if often[other] > 1
    ]
    for beside in _alike_beside(spot):
        there = {at: int(tokens[beside.start + at].text) for at in here}
        steps = Counter(here[at] - there[at] for at in here)
        found += [(at, there[at] + step) for step in steps for at in here if here[at] - there[at] != step]
    for at, other in dict.fromkeys(found):
        if 0 <= other <= here[at] + _NEAR_NUMBER and here[at] <= other + _NEAR_NUMBER:
            yield spot.replace(own.start + at, own.start + at + 1, str(other), "agreeing")


_NEAR_NUMBER = 16
"""How far numbers of one statement may be apart that could be the same: masks and shifts are not."""


def _alike_beside(spot: Spot) -> Iterator[range]:
    """The statements before and behind, where they are the same but for numbers."""
    tokens = spot.source.tokens
    for beside in spot.beside:
        pairs = [(tokens[i], tokens[j]) for i, j in zip(beside, spot.within, strict=False)]
        alike = all(a.text == b.text or (is_whole(a) and is_whole(b)) for a, b in pairs)
        if alike and len(beside) == len(spot.within):
            yield beside


def distances(spot: Spot) -> Iterator[Rewrite]:
    """With which distance a loop begins that exchanges values between lanes and halves it: half of a wave."""
    source, tokens = spot.source, spot.source.tokens
    behind = source.slice(spot.within.start, min(spot.within.stop + _BODY, len(tokens)))
    halves = re.search(r">>=\s*1|/=\s*2", behind) and re.search(_LANES, behind)
    if tokens[spot.within.start].text == "for" and halves:
        begins = (i for i in spot.within if tokens[i - 1].text == "=" and is_whole(tokens[i]))
        for first in islice(begins, 1):
            yield from (spot.replace(first, first + 1, far, "distances") for far in _FARTHEST)
            yield spot.replace(first, first + 1, str(int(tokens[first].text) // 2), "distances")
        parts = (i for i in spot.within if tokens[i - 1].text == "/" and is_whole(tokens[i]))  # `d = VS / 2`
        for part in islice(parts, 1):
            value = int(tokens[part].text)
            yield from (
                spot.replace(part, part + 1, str(other), "distances") for other in (value // 2, value * 2)
            )
    if tokens[spot.within.start].text.isupper() and re.search(_LANES, behind):  # a loop by a macro
        for i in (i for i in spot.within if is_whole(tokens[i])):
            yield from (
                spot.replace(i, i + 1, far, "distances") for far in _FARTHEST if far != tokens[i].text
            )


_LANES = r"shfl|bpermute|permlane|dpp"
_FARTHEST, _BODY = ("16", "32"), 40
"""Half of a wave, of 32 lanes and of 64; words of a loop's body that are looked at."""


def told(spot: Spot) -> Iterator[Rewrite]:
    """A number of the launch or of a pitch that the source does not have: `= 48` for `= 32`, `N + 8` for `N`."""
    known = {token.text for source in spot.others for token in source.tokens if token.kind == "number"}
    yield from _large(spot)
    numbers = [number for number in spot.told if str(number) not in known and number < LEAST_LARGE]
    added = [number for number in spot.told if number < _LEAST_TILE]
    for i in spot.within:
        of_bits = spot.source.tokens[i - 1].text in _OF_BITS  # a size is no mask
        if is_whole(spot.source.tokens[i]) and int(spot.source.tokens[i].text) >= _LEAST_TILE and not of_bits:
            for number in numbers:
                yield spot.replace(i, i + 1, str(number), "told")
    for one in spot.scope.operands:
        if one.first in spot.within and re.split(r"\.|->|::", one.text)[-1] in spot.scalars:
            beside = {spot.source.tokens[j].text for j in (one.first - 1, one.last)}
            if beside <= {"(", ")", ",", "{", "}", "*", "=", ";"}:
                text = f"({one.text} + {{}})" if "*" in beside else f"{one.text} + {{}}"
                for number in added:
                    new = spot.replace(one.first, one.last, text.format(number), "told")
                    yield replace(new, rank=0.4)


def _large(spot: Spot) -> Iterator[Rewrite]:
    """A key or multiplier of the reference that the source lacks, for one that the reference lacks."""
    tokens = spot.source.tokens
    own = {
        value
        for source in spot.others
        for token in source.tokens
        if (value := _value(token.text)) is not None
    }
    for i in spot.within:
        value = _value(tokens[i].text)
        if value is None or value < LEAST_LARGE or value in spot.told:
            continue
        hexadecimal = tokens[i].text[:2] in ("0x", "0X")
        tail = re.sub(r"[0-9a-fA-FxX]", "", tokens[i].text)
        for number in (one for one in spot.told if one >= LEAST_LARGE and one not in own):
            text = f"0x{number:x}{tail}" if hexadecimal else f"{number}{tail}"
            yield replace(spot.replace(i, i + 1, text, "told"), rank=-1.0)


def _value(text: str) -> int | None:
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text)
    return int(found[1], 0 if found[1][:2] in ("0x", "0X") else 10) if found else None


LEAST_LARGE = 1 << 16
"""From which on a number is no size."""


def powers(spot: Spot) -> Iterator[Rewrite]:
    """`c * x * x * x` for `c * x * x`, and `x * x` for `x`: a factor once more."""
    for node in spot.tree.walk():
        signs = {spot.operator(node, n) for n in range(1, len(node.parts))}
        if node.kind != "product" or signs != {"*"}:
            continue
        often = Counter(spot.text(part) for part in node.parts)
        for text, times in often.items():
            if "real" in spot.sorts(node) and not re.match(r"[\d.]", text):
                new = spot.replace(node.first, node.last, f"{spot.text(node)} * {text}", "powers")
                yield replace(new, rank=0.0 if times > 1 else 1.5)


_OF_BITS = ("&", "|", "^", "<<", ">>")
_LEAST_TILE = 12
"""Extents of tiles and workgroups are not smaller, and paddings not larger."""


def is_modifier(spot: Spot, i: int) -> bool:
    """Whether a number is an argument of a matrix instruction: most others than what stands there are none."""
    opened = spot.source.parent[i]
    return opened > 0 and re.search(r"mfma|smfmac", spot.source.tokens[opened - 1].text) is not None


def _of_bits(spot: Spot) -> Iterator[Rewrite]:
    """A number that is written as one without a sign, twice or half; a mask with a bit or a digit more or less.

    And a selector of bytes with its halves exchanged, backwards, or of the other register.
    """
    for i in spot.within:
        found = re.fullmatch(r"(0x)?([0-9a-fA-F]{1,8})([uU]?)", spot.source.tokens[i].text)
        if spot.source.tokens[i].kind != "number" or found is None or not (found[1] or found[3]):
            continue
        if not found[1]:
            value = int(found[2]) if found[2].isdigit() else -1
            others = [
                other for other in (value * 2, value // 2, value + 1, value - 1) if 0 <= value != other >= 0
            ]
            yield from (spot.replace(i, i + 1, f"{other}{found[3]}", "numbers") for other in others)
            continue
        value, digits = int(found[2], 16), len(found[2])
        if digits != _SELECTOR:
            longer = (found[2] + found[2][-1], found[2][:-1])
            yield from (
                spot.replace(i, i + 1, f"0x{other}{found[3]}", "numbers") for other in longer if other
            )
        for other in dict.fromkeys(_selectors(value) if digits == _SELECTOR else _masks(value)):
            if other != value:
                yield spot.replace(i, i + 1, f"0x{other:0{digits}x}{found[3]}", "numbers")


_SELECTOR = 8
"""Hexadecimal digits of four bytes."""


def _selectors(value: int) -> tuple[int, ...]:
    backwards = int.from_bytes(value.to_bytes(4, "little"), "big")
    halves = value >> 16 | (value & 0xFFFF) << 16
    if not value or not value >> 16 or not value & 0xFFFF:  # a mask of one half, and no selector
        return (value | halves, halves)
    pairs = (value & 0xFF00FF) << 8 | value >> 8 & 0xFF00FF
    return halves, value ^ 0x04040404, backwards, pairs


def _masks(value: int) -> tuple[int, ...]:
    return value | value >> 1, value | value << 1, value >> 1, value << 1, value << 1 | 1, value ^ 1


def _scales(value: int) -> tuple[int, ...]:
    """Twice and half; of a mask the next one and the one before."""
    if value > 2 and value & (value + 1) == 0:
        return value * 2 + 1, value // 2, value * 2
    return value * 2, value // 2


_MOST_NUMBERS = 4


def is_whole(token: Token) -> bool:
    """A number without a suffix, as sizes and indices are written."""
    return token.kind == "number" and re.fullmatch(r"\d{1,6}", token.text) is not None


_REAL = re.compile(r"((?=[\d.]*[.eE])\d*\.?\d*(?:[eE][+-]?\d{1,3})?)(f16|[fFlL]?)")
_CONSTANTS = (
    *("0.044715", "0.7978845608028654", "1.702", "1.4426950408889634", "0.6931471805599453", "1e-5", "1e-6"),
    *("0.7071067811865476", "1.4142135623730951", "3.141592653589793", "0.3989422804014327"),
    *("448", "240", "57344", "127", "128", "255", "1024", "1032", "1536"),
)
"""Of GELU, logarithms to other bases, norms, the largest numbers of 8 bits, and what codes become that are the
mantissa of an f16: with no zero point, and with one in the middle."""
_NEAR = 12.0


def constants(spot: Spot) -> Iterator[Rewrite]:
    """A real constant with its point elsewhere, twice or half of it, its negative; a known one that is near."""
    found = list[Rewrite]()
    for i in spot.within:
        token = spot.source.tokens[i]
        real = _REAL.fullmatch(token.text) if token.kind == "number" else None
        whole = is_whole(token) and int(token.text) >= _LEAST_LIMIT
        if (real is None or not re.search(r"\d", real[1])) and not whole:
            continue
        text, suffix = (real[1], real[2]) if real is not None and not whole else (token.text, "")
        value = Decimal(text)
        if not value or abs(value.adjusted()) > _MOST_DIGITS:
            continue
        for late, other in _others(value, text, whole=whole):
            new = other if whole else _real(other) + suffix
            found.append(replace(spot.replace(i, i + 1, new, "constants"), rank=late))
    yield from sorted(found, key=lambda one: one.rank)


_LEAST_LIMIT = 100
_MOST_DIGITS = 12
_SHIFTED = 3.0
"""How much likelier the point is at another place in a number that is known but for that."""


def _others(value: Decimal, text: str, *, whole: bool) -> Iterator[tuple[float, str]]:
    """What may be meant by a number, with how unlikely it is."""
    if not whole:
        shifted = [(0.0, value / 10), (0.1, value * 10)]
        yield from ((rank - _SHIFTED * _is_known(other), _plain(other)) for rank, other in shifted)
        yield from ((0.6, _plain(value * 2)), (0.7, _plain(value / 2)), (0.8, _plain(-value)))
    both = not whole and _is_known(value)  # one formula's for another's
    for known in _CONSTANTS:
        other = Decimal(known)
        same = abs(other - value) <= other * _DIGITS
        if (whole and "." in known) or same or not 1 / _NEAR < other / abs(value) < _NEAR:
            continue
        like = SequenceMatcher(None, text.strip("0."), known.strip("0."), autojunk=False).ratio()
        yield (-1.5 if both else 1.5 - like) + 0.3 * abs(log(other / abs(value))), known


def _is_known(value: Decimal) -> bool:
    """Whether a number is a known one, as far as it has digits."""
    return any(abs(value - Decimal(one)) <= Decimal(one) * _DIGITS for one in _CONSTANTS)


_DIGITS = Decimal("1e-5")


def _plain(value: Decimal) -> str:
    return format(value, "f")


def _real(text: str) -> str:
    return text if re.search(r"[.e]", text) else f"{text}.0"
