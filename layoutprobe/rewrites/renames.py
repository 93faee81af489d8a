"""One name for another: of the same sort, in the same function; and two names exchanged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice, takewhile
from math import log1p

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Known, Rewrite, Spot
from layoutprobe.source.declarations import FUNCTION, declared_in
from layoutprobe.source.scope import BUILTIN, Operand
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import ASSIGNMENTS, BINDING, JOINED

_MOST_NAMES = 10
"""That are tried in place of one."""
_MOST_EXCHANGES = 8


def names(spot: Spot) -> Iterator[Rewrite]:
    """Another name of the same sort: warp_m for warp_n, a.S for a.R, M for N, blockIdx.y for blockIdx.x.

    Those first that are like it, stand near, or are declared and never used.
    """
    found = list[tuple[float, Rewrite]]()
    for one in _own(spot):
        others = [other for other in spot.names.values() if _fits(one, other)]
        scored = sorted((_unlike(spot, one, other), other.text) for other in others)
        for nth, (score, text) in enumerate(scored[:_MOST_NAMES]):
            found.append((score + _NEXT * log1p(nth), spot.replace(one.first, one.last, text, "names")))
    found.sort(key=lambda pair: pair[0])
    yield from (replace(one, rank=score) for score, one in found)


_NEXT = 0.6
"""How much unlikelier one of twice as many names is."""


def _own(spot: Spot) -> Iterator[Operand]:
    """Names of the statement that it does not declare; and numbers in place of which a name may be meant."""
    tokens = spot.source.tokens
    declared = declared_in(spot.source)
    yield from (one for one in spot.scope.operands if one.first in spot.within and one.first not in declared)
    for i in spot.within:
        if tokens[i].kind == "number" and (found := _NUMBER.fullmatch(tokens[i].text)):
            yield Operand(i, i + 1, tokens[i].text, "real" if found[1] else "integer")


_NUMBER = re.compile(r"\d+u?|0[xX][0-9a-fA-F]+u?|(\d+\.\d*f?|\.\d+f?)")


def _fits(one: Operand, other: Known) -> bool:
    unknown = (not other.sort or not one.sort) and FUNCTION not in (one.sort, other.sort)
    return other.text != one.text and (other.sort == one.sort or unknown)


def _unlike(spot: Spot, one: Operand, other: Known) -> float:
    """The less, the likelier the other name is meant."""
    unused = other.text in spot.unused and len(spot.unused) < _MANY_UNUSED
    score = 0.5 if unused else 2.0 + log1p(min(other.far, _FAR) / _NEAR)
    score -= 1.5 * (alike(one.text, other.text) or _are_extents(spot, one.text, other.text))
    heads = {text.partition(".")[0] for text in (one.text, other.text)}
    score += _EXTENT * (heads <= {*BUILTIN} and len(heads & {"blockDim", "gridDim"}) == 1)
    score -= _AXIS * (one.text.partition(".")[0] in BUILTIN and other.text[:-1] == one.text[:-1])
    score += 0.8 * (_is_size(spot, one.text) != _is_size(spot, other.text))
    score -= _ALONG * _goes_along(spot, one.text, other.text)
    score -= _AGREES * _agrees(spot, one, other.text)
    score -= 4 * _AXIS * (one.text.partition(".")[0] in BUILTIN and other.text in _axes(spot.source))
    score -= _MEMBER * _of_one_object(one.text, other.text) * (1 + _is_more(one.text, other.text))
    score -= _DERIVED * (one.text in _made_of(spot).get(other.text, ()))
    score -= _made_alone_of(spot, one.text, other.text)
    score -= _EXTENT_OF * _is_extent_of_what_follows(spot, one, other.text)
    score -= _PREFIX * _begins_alike(one.text, other.text)
    score -= _TOGETHER * (frozenset((one.text, other.text)) in _declared_together(spot.source))
    divides = spot.source.tokens[one.first - 1].text == "/" and one.first > 0
    score -= _MEAN * (divides and re.split(r"\.|->", other.text)[-1] in spot.scalars)
    if spot.source.tokens[one.first].kind == "number":
        score += -_IDLE if unused and _is_argument(spot, one) else 1.0
        score -= _NAMED * _is_hex_of_both(spot, one.text, other.text)
    return score


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
    tokens = spot.source.tokens
    return tokens[one.first - 1].text in ("(", ",") and tokens[one.last].text in (",", ")")


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


def _is_size(spot: Spot, text: str) -> bool:
    """A constant or an argument of the kernel: it seldom stands for an index, nor an index for it."""
    last = re.split(r"\.|->|::", text)[-1]
    return last in spot.scalars or last.isupper()


_MANY_UNUSED = 4
_FAR = 400.0
"""Tokens to the nearest use or declaration."""


def alike(one: str, other: str) -> bool:
    """Whether a name is written like another one: M and N, warp_m and warp_n, a.S and a.R, STRIDE and BLOCK_K."""
    *heads, mine = re.split(r"\.|->|::", one)
    *others, theirs = re.split(r"\.|->|::", other)
    if heads != others or mine == theirs:
        return bool(heads) and mine == theirs and one != other
    if (mine.isupper() and theirs.isupper()) or heads[:1] in [[name] for name in BUILTIN]:
        return True
    if _is_more(one, other) or _is_word_of(mine, theirs):
        return True
    if len(mine) == len(theirs) == 1:
        return bool(heads) or (mine.isupper() and theirs.isupper()) or abs(ord(mine) - ord(theirs)) == 1
    parts, rest = (re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name) for name in (mine, theirs))
    pairs = list(zip(parts, rest, strict=True)) if len(parts) == len(rest) else []
    if any(a == b for a, b in pairs) or any({a.lower(), b.lower()} <= kin for a, b in pairs for kin in _KIN):
        return True
    return _differ_in_a_letter(mine, theirs)


def _is_word_of(one: str, other: str) -> bool:
    """Whether a name is a word of another one, as `depth` is of `TILE_DEPTH`, and `bins` of `kMaxBins`."""
    short, long = sorted((one, other), key=len)
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", long)}
    return len(short) >= _LEAST_WORD and short.lower() in words


_LEAST_WORD = 4


def _is_more(one: str, other: str) -> bool:
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


def scalars(spot: Spot) -> Iterator[Rewrite]:
    """Another integer that the kernel is given, in place of one: of factors in an index first, as strides are."""
    tokens, declared = spot.source.tokens, declared_in(spot.source)
    own = (one for one in spot.scope.operands if one.first in spot.within and one.first not in declared)
    found = [one for one in own if _last(one) in spot.scalars]

    def is_stride(one: Operand) -> bool:
        near = {tokens[j].text for j in (one.first - 1, one.last) if 0 <= j < len(tokens)}
        return "*" in near or ("." in one.text and one.last < len(tokens) and tokens[one.last].text in "*+]")

    found.sort(key=lambda one: not is_stride(one))
    for name in spot.scalars:
        for one in (
            one for one in found if _last(one) != name and (one.last > one.first + 1 or name in spot.names)
        ):
            near = _differ_in_a_letter(_last(one), name)
            yield replace(spot.replace(one.last - 1, one.last, name, "scalars"), rank=-_SAME_BUT_ONE * near)


_SAME_BUT_ONE = 1.5
"""How much likelier `ldb` is meant where `lda` stands."""


def _differ_in_a_letter(one: str, other: str) -> bool:
    """Whether two names of some letters are the same but for one."""
    return len(one) == len(other) >= _SHORT and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _last(one: Operand) -> str:
    return re.split(r"\.|->|::", one.text)[-1]


def exchanges(spot: Spot) -> Iterator[Rewrite]:
    """Two names exchanged wherever they stand in the statement, or two such pairs at once: H with S, h with s."""
    tokens, declared = spot.source.tokens, declared_in(spot.source)
    own = [
        one
        for one in spot.scope.operands
        if one.first in spot.within
        and one.first not in declared
        and (one.last == len(tokens) or tokens[one.last].text not in ASSIGNMENTS)
    ]
    sorts = {one.text: one.sort for one in own}
    same = [(a, b) for a, b in combinations(sorts, 2) if sorts[a] == sorts[b]]
    pairs = [(a, b) for a, b in same if alike(a, b) or (len(a) == len(b) == 1 and a.isupper() == b.isupper())]
    arrays = spot.scope.elements
    indexed = {one.text for one in own if one.last < len(tokens) and tokens[one.last].text == "["}
    pairs += [
        (a, b)
        for a, b in same
        if (a, b) not in pairs and {a, b} <= indexed and arrays.get(a) == arrays.get(b)
    ]
    pairs.sort(key=lambda pair: _is_size(spot, pair[0]) != _is_size(spot, pair[1]))
    both = [
        (one, other)
        for one, other in combinations(pairs, 2)
        if [_folded(name) for name in one]
        in ([_folded(name) for name in other], [_folded(name) for name in other[::-1]])
    ]
    for group in (*both, *((pair,) for pair in pairs[:_MOST_EXCHANGES])):
        other = {a: b for pair in group for a, b in (pair, pair[::-1])}
        everywhere = [one for one in own if one.text in other]
        yield renamed(spot, everywhere, other)
        for inside in sorted(_in_one_index(spot, everywhere), key=lambda some: some[-1].last - some[0].first):
            yield replace(renamed(spot, inside, other), rank=-_IN_ONE)


def whole_alike(spot: Spot) -> Iterator[Rewrite]:
    """An expression of the function in place of one that is like it in every name: `OH * OW` for `H * W`."""
    shapes = dict[str, dict[str, tuple[str, ...]]]()
    for tree in spot.statements:
        for node in tree.walk():
            if node.kind in JOINED and node.last - node.first <= _LONGEST_ALIKE:
                text = spot.source.slice(spot.start(node), node.last)
                names = tuple(_NAMES.findall(text))
                if len(names) > 1:
                    shapes.setdefault(_NAMES.sub("_", text), {})[text] = names
    for node in spot.tree.walk():
        text = spot.source.slice(spot.start(node), node.last) if node.kind in JOINED else ""
        names = tuple(_NAMES.findall(text))
        for other, theirs in shapes.get(_NAMES.sub("_", text), {}).items() if text else ():
            pairs = [(a, b) for a, b in zip(names, theirs, strict=True) if a != b]
            if len(pairs) > 1 and all(alike(a, b) for a, b in pairs):
                yield spot.replace(spot.start(node), node.last, other, "whole_alike")


_LONGEST_ALIKE = 15
_NAMES = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*")


def mixed(spot: Spot) -> Iterator[Rewrite]:
    """Two integers exchanged in one expression: `4 * half + v` for `4 * v + half`. What is only added or multiplied
    is the same so."""
    integers = [one for one in spot.scope.operands if one.first in spot.within and one.sort == "integer"]
    inside = set[int]()
    for node in spot.tree.walk():
        if node.kind not in JOINED or id(node) in inside:
            continue
        inside.update(id(below) for part in node.parts for below in part.walk() if part.kind in BINDING)
        here = [one for one in integers if node.first <= one.first < node.last]
        direct = {part.first for part in node.parts if part.last - part.first == 1}
        for a, b in islice(combinations(dict.fromkeys(one.text for one in here), 2), _MOST_PAIRS):
            both = [one for one in here if one.text in (a, b)]
            if not all(one.first in direct for one in both) or node.kind == "shift":
                yield replace(renamed(spot, both, {a: b, b: a}), kind="mixed")


_MOST_PAIRS = 15
"""Pairs of an expression."""


_IN_ONE = 1.6
"""How much likelier two names are mistaken for each other in one index than wherever they stand."""


def _in_one_index(spot: Spot, own: Sequence[Operand]) -> Iterator[list[Operand]]:
    """Those of some operands that stand in one of several indices: `x[j * n + i]` of `t[i][j] = x[i * n + j]`."""
    for node in spot.tree.walk():
        if node.kind == "index":
            inside = [one for one in own if node.first <= one.first < node.last]
            if len({one.text for one in inside}) > 1 and len(inside) < len(own):
                yield inside


def _folded(name: str) -> str:
    return name.lower()


def renamed(spot: Spot, own: list[Operand], other: dict[str, str]) -> Rewrite:
    """Some operands under their other names, in one change."""
    first, last = own[0], own[-1]
    start, end = spot.source.tokens[first.first].start, spot.source.tokens[last.last - 1].end
    text, at = "", start
    for one in own:
        text += spot.source.text[at : spot.source.tokens[one.first].start] + other[one.text]
        at = spot.source.tokens[one.last - 1].end
    return Rewrite(start, end, text, "exchange")
