"""Small changes of a statement that may mend it: exchanged indices, another name, one operator, a barrier.

They are guesses, and know nothing of the kernel: who asks for them has each compiled and checked (`gate/mending.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice

from layoutprobe.codegen.additions import barriers, factors, terms_more
from layoutprobe.codegen.expressions import (
    Rewrite,
    Spot,
    before,
    between,
    function_around,
    is_member,
    parted,
    scaled,
    sums,
    terms,
)
from layoutprobe.codegen.statements import Source, Token


def _swap(spot: Spot) -> Iterator[Rewrite]:
    """Two indices, or two arguments, exchanged."""
    source = spot.source
    for i in spot.within:
        if source.tokens[i].text == "[" and i in source.partner:
            closed = source.partner[i]
            if closed + 1 in source.partner and source.tokens[closed + 1].text == "[":
                one, other = (i + 1, closed), (closed + 2, source.partner[closed + 1])
                yield from _exchanged(spot, one, other)
    for i in spot.within:
        if source.tokens[i].text in ("(", "{") and i in source.partner:
            parts = source.parts(i)
            if not 2 <= len(parts) <= 8:
                continue
            for one, other in sorted(combinations(parts, 2), key=lambda pair: pair[1][0] - pair[0][1]):
                yield from _exchanged(spot, one, other)


def _exchanged(spot: Spot, one: tuple[int, int], other: tuple[int, int]) -> Iterator[Rewrite]:
    """Two expressions exchanged, whole; and their last terms."""
    source = spot.source
    if one[0] == one[1] or other[0] == other[1]:
        return
    lasts = [terms(source, *part)[-1][1:] for part in (one, other)]
    for (a, b), (c, d) in dict.fromkeys([(one, other), (lasts[0], lasts[1])]):
        mine, theirs = source.slice(a, b), source.slice(c, d)
        if mine != theirs:
            yield spot.replace(a, d, theirs + between(source, b, c) + mine, "swap")


def _weights(spot: Spot) -> Iterator[Rewrite]:
    """The rows of the other generation: 2*v + half for v + 8*half; or the factors of two terms exchanged."""
    source = spot.source
    for first, last in sums(source, spot.within):
        added = terms(source, first, last)
        if len(added) < 2 or any(sign == "-" for sign, _, _ in added):
            continue
        for (_, a, b), (_, c, d) in combinations(added, 2):
            one, other = scaled(source, a, b), scaled(source, c, d)
            middle = between(source, b, c)
            for x, y in ((other[1], one[1]), *_WEIGHTS):
                if (x, y) != (one[1], other[1]):
                    text = _times(one[0], x) + middle + _times(other[0], y)
                    yield spot.replace(a, d, text, "weights")


_WEIGHTS = (("2", ""), ("", "8"), ("", "2"), ("8", ""), ("", "4"), ("4", ""))
"""Of a register's number and a half-wave's in the rows of generations and of CDNA."""


def _times(term: str, factor: str) -> str:
    if not factor:
        return term
    return f"{factor} * {term}" if re.fullmatch(r"[\w.]+|\(.*\)", term) else f"{factor} * ({term})"


def _scheme(spot: Spot) -> Iterator[Rewrite]:
    """The index function that other accesses go through, where this one is row * STRIDE + column; and the reverse."""
    source = spot.source
    known = _index_functions(spot.others)
    for i in spot.within:
        if source.tokens[i].text != "[" or i not in source.partner:
            continue
        added = terms(source, i + 1, source.partner[i])
        for sign, a, b in added:
            factors = parted(source, a, b, {"*"})
            if sign == "-" or len(factors) != 2 or len(added) < 2:
                continue
            rest = " + ".join(source.slice(c, d) for _, c, d in added if c != a)
            (_, c, d), (_, e, f) = factors
            for row, stride in (((c, d), (e, f)), ((e, f), (c, d))):
                for name, count in known.items():
                    given = [source.slice(*row), rest, source.slice(*stride)][:count]
                    yield spot.replace(i + 1, source.partner[i], f"{name}({', '.join(given)})", "scheme")


def _index_functions(sources: Sequence[Source]) -> dict[str, int]:
    """Name -> arguments of the functions whose value is a whole index somewhere."""
    found: dict[str, int] = {}
    for source in sources:
        for name, opened in source.calls(range(len(source.tokens))):
            count = len(source.parts(opened))
            whole = opened >= 2 and source.tokens[opened - 2].text == "[" and count in (2, 3)
            if whole and source.partner[opened] + 1 == source.partner.get(opened - 2):
                found.setdefault(name, count)
    return found


def _borrow(spot: Spot) -> Iterator[Rewrite]:
    """An argument as other calls of the same function have it, or with the terms that it has there at the end."""
    source = spot.source
    for name, opened in source.calls(spot.within):
        own = source.parts(opened)
        for other, there in _other_calls(spot, name, opened, len(own)):
            for (a, b), (c, d) in zip(own, there, strict=True):
                mine, theirs = source.slice(a, b), other.slice(c, d)
                if mine == theirs or b <= a:
                    continue
                yield spot.replace(a, b, theirs, "borrow")
                for sign, e, f in terms(other, c, d)[1:]:
                    term = other.slice(e, f)
                    if term not in mine:
                        yield spot.replace(a, b, f"{mine} {sign} {term}", "borrow")
        for other, there in _other_calls(spot, name, opened, None):
            if 0 < len(own) < len(there) <= len(own) + 2:
                more = "".join(f", {other.slice(a, b)}" for a, b in there[len(own) :])
                yield spot.replace(
                    own[-1][1] - 1, own[-1][1], source.tokens[own[-1][1] - 1].text + more, "borrow"
                )


def _other_calls(
    spot: Spot, name: str, opened: int, count: int | None
) -> Iterator[tuple[Source, list[tuple[int, int]]]]:
    """Arguments of other calls of a function, with so many of them."""
    for source in spot.others:
        for other, there in source.calls(range(len(source.tokens))):
            parts = source.parts(there)
            if (
                other == name
                and count in (None, len(parts))
                and (source is not spot.source or there != opened)
            ):
                yield source, parts


def _names(spot: Spot) -> Iterator[Rewrite]:
    """Another name that is like the one which stands there: warp_m for warp_n, M for N, STRIDE for BLOCK_K."""
    source, tokens = spot.source, spot.source.tokens
    near = function_around(source, spot.within.start)
    for i in spot.within:
        if tokens[i].kind != "name" or _is_called(source, i):
            continue
        seen: dict[str, int] = {}
        for j in near:
            name = tokens[j].text
            member = is_member(source, i) == is_member(source, j)
            if (
                member
                and _alike(name, tokens[i].text)
                and tokens[j].kind == "name"
                and not _is_called(source, j)
            ):
                seen[name] = min(seen.get(name, len(tokens)), abs(i - j))
        for name in islice(sorted(seen, key=lambda one: seen[one]), _MOST_NAMES):
            yield spot.replace(i, i + 1, name, "names")


_MOST_NAMES = 5
"""Of those that are like a name the nearest ones."""


def _is_called(source: Source, i: int) -> bool:
    return i + 1 < len(source.tokens) and source.tokens[i + 1].text in ("(", "::", "<")


def _alike(one: str, other: str) -> bool:
    if one == other:
        return False
    if one.isupper() and other.isupper() and len(one) > 1 and len(other) > 1:
        return True
    if len(one) == len(other) == 1:
        return one.isupper() == other.isupper()
    parts, others = (re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name) for name in (one, other))
    return len(parts) == len(others) and any(a == b for a, b in zip(parts, others, strict=True))


def _scalars(spot: Spot) -> Iterator[Rewrite]:
    """Another integer that the kernel is given, in place of one: of factors in an index first, as strides are."""
    source, tokens = spot.source, spot.source.tokens
    found = [i for i in spot.within if tokens[i].text in spot.scalars and not _is_called(source, i)]

    def is_stride(i: int) -> bool:
        near = {tokens[j].text for j in (i - 1, i + 1) if 0 <= j < len(tokens)}
        return "*" in near or (is_member(source, i) and i + 1 < len(tokens) and tokens[i + 1].text in "*+]")

    found.sort(key=lambda i: not is_stride(i))
    for name in spot.scalars:
        yield from (spot.replace(i, i + 1, name, "scalars") for i in found if tokens[i].text != name)


def _operators(spot: Spot) -> Iterator[Rewrite]:
    """One operator for another: < for <=, % for /, ^ for |."""
    for i in spot.within:
        for text in _OTHER_OPERATORS.get(spot.source.tokens[i].text, ()):
            yield spot.replace(i, i + 1, text, "operators")


_OTHER_OPERATORS = {
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "%": ("/",),
    "/": ("%",),
    "|": ("^",),
    "^": ("|", "&"),
    "+": ("-", "^"),
    "-": ("+",),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
}


def _lanes(spot: Spot) -> Iterator[Rewrite]:
    """Another part of a lane's or thread's number: its place in a half-wave or wave, or which of these it is in."""
    source, tokens = spot.source, spot.source.tokens
    for i in spot.within:
        if tokens[i].text not in ("/", "%", "&", ">>") or not re.search(
            r"lane|tid|thread|frag", before(source, i), re.I
        ):
            continue
        for text in ("% 16", "/ 16", "% 32", "/ 32", "% 8", "/ 8", "% 4", "/ 4"):
            yield spot.replace(i, i + 2, text, "lanes")


def _terms_away(spot: Spot) -> Iterator[Rewrite]:
    """A sum without one of its terms, a product without one of its factors."""
    source = spot.source
    for first, last in sums(source, spot.within):
        for signs in ({"+", "-", "^"}, {"*", "/", "%"}):
            parts = parted(source, first, last, signs)
            for k, (_, a, b) in enumerate(parts):
                if len(parts) < 2:
                    continue
                begin, end = (a, parts[1][1]) if k == 0 else (a - 1, b)
                start = source.tokens[begin].start
                stop = source.tokens[end].start if k == 0 else source.tokens[end - 1].end
                if k:
                    start = source.tokens[begin - 1].end
                yield Rewrite(start, stop, "", "terms")


def _numbers(spot: Spot) -> Iterator[Rewrite]:
    """A number that is one more or less, twice or half of what stands there; an index in the other buffer."""
    tokens = spot.source.tokens
    near = Counter(
        tokens[i].text for i in function_around(spot.source, spot.within.start) if _is_whole(tokens[i])
    )
    common = [int(text) for text, _ in near.most_common(_MOST_NAMES)]
    for i in spot.within:
        if _is_whole(tokens[i]):
            value = int(tokens[i].text)
            for other in dict.fromkeys((value * 2, value // 2, value + 1, value - 1, *common, value * 4)):
                if other >= 0 and other != value:
                    yield spot.replace(i, i + 1, str(other), "numbers")


def _is_whole(token: Token) -> bool:
    return token.kind == "number" and re.fullmatch(r"\d{1,6}", token.text) is not None


def _parity(spot: Spot) -> Iterator[Rewrite]:
    """The other one of two buffers."""
    source = spot.source
    for i in spot.within:
        if (
            source.tokens[i].text == "["
            and source.partner.get(i) == i + 2
            and source.tokens[i + 1].kind == "name"
        ):
            yield spot.replace(i + 1, i + 2, f"{source.tokens[i + 1].text} ^ 1", "parity")
    for _, opened in source.calls(spot.within):
        for a, b in source.parts(opened):
            if b == a + 1 and re.search(r"buf|stage|slot|phase|parity|cur|next", source.tokens[a].text, re.I):
                yield spot.replace(a, b, f"{source.tokens[a].text} ^ 1", "parity")


KINDS: Mapping[str, Callable[[Spot], Iterator[Rewrite]]] = {
    "swap": _swap,
    "scheme": _scheme,
    "borrow": _borrow,
    "more": terms_more,
    "weights": _weights,
    "parity": _parity,
    "names": _names,
    "scalars": _scalars,
    "terms": _terms_away,
    "lanes": _lanes,
    "operators": _operators,
    "numbers": _numbers,
    "factors": factors,
    "barriers": barriers,
}
"""Each kind of change, by name, those first that mend most."""


def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
    """All changes of a kind; what can be done at several places of a statement also at all of them at once."""
    found = list(islice(KINDS[kind](spot), _MOST_OF_A_KIND))
    if kind not in _AT_ONCE:
        return found
    groups: dict[tuple[str, str], list[Rewrite]] = {}
    for one in found:
        groups.setdefault((spot.source.text[one.start : one.end], one.text), []).append(one)
    return [*found, *(_all_of(spot.source.text, group) for group in groups.values() if len(group) > 1)]


def _all_of(text: str, group: Sequence[Rewrite]) -> Rewrite:
    group = sorted(group, key=lambda one: one.start)
    start, end = group[0].start, group[-1].end
    new, at = "", start
    for one in group:
        new, at = new + text[at : one.start] + one.text, one.end
    return Rewrite(start, end, new, group[0].kind)


_AT_ONCE = ("names", "terms", "operators", "numbers", "lanes")
_MOST_OF_A_KIND = 40
