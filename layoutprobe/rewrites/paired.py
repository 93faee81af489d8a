"""Words that go together in neighbours, `value` and `index`; and a statement that lacks what goes with it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise, permutations, product

from msgspec.structs import replace

from layoutprobe.rewrites.families import switched, word_pairs
from layoutprobe.rewrites.omitted import added, ends
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.expressions import text_behind
from layoutprobe.source.reach import types_of
from layoutprobe.source.statements import Source, Token
from layoutprobe.source.tree import ASSIGNMENTS, BINDING, Node, bare, forest, parse

_MOST = 6
"""Statements that may be lacking behind one."""
_MOST_WORDS = 4
"""By which two neighbours differ."""


def paired(spot: Spot) -> Iterator[Rewrite]:
    """`si[t] = q.i;` behind `sv[t] = q.v;`, as elsewhere `si[t] = b.i;` stands beside `sv[t] = b.v;`."""
    found, own = spot.assignment(spot.tree), spot.within
    if found is None or not ends(spot) or not declared_in(spot.source).isdisjoint(own):
        return
    target = found[1]
    block = spot.source.block_around(own.start) or (0, len(spot.source.tokens))
    beside = [one for one in spot.statements if block[0] < one.first < block[1]]
    taken = {spot.text(known[1]) for one in beside if (known := spot.assignment(one)) is not None}
    yield from islice(
        (
            added(spot, f"{spot.with_words(target.first, own.stop, names)};")
            for names in _partners(spot, range(target.first, target.last), own)
            if spot.with_words(target.first, target.last, names) not in taken
        ),
        _MOST,
    )


def ties(spot: Spot) -> Iterator[Rewrite]:
    """`(a.v > b.v || (a.v == b.v && a.i < b.i))` for `a.v > b.v` or `a.v >= b.v`: the first of equal ones,
    or the last."""
    types = types_of(spot.source)
    for node in spot.tree.walk():
        sign = spot.operator(node, 1) if node.kind == "comparison" and len(node.parts) == _SIDES else ""
        if sign.rstrip("=") not in ("<", ">") or spot.source.tokens[spot.within.start].text == "for":
            continue
        one, other = (range(spot.start(part), part.last) for part in node.parts)
        left, right = (spot.source.slice(part.start, part.stop) for part in (one, other))
        words = [token.text for i in (*one, *other) if (token := spot.source.tokens[i]).kind == "name"]
        for names in _for_words(spot, words):
            mine, theirs = (spot.with_words(part.start, part.stop, names) for part in (one, other))
            if mine in (left, theirs) or theirs == right or not types.isdisjoint(names.values()):
                continue
            for less in "<>":
                tie = f"({left} == {right} && {mine} {less} {theirs})"
                text = f"({left} {sign.rstrip('=')} {right} || {tie})"
                yield spot.replace(one.start, other.stop, text, "ties")


_SIDES = 2


def beside(spot: Spot) -> Iterator[Rewrite]:
    """`hi = d * ((q >> 4) - 8);` for `hi = d * (q >> 4);` beside `lo = d * ((q & 15) - 8);`: a step that
    the statement before or behind has at the same place, or another name that the same one declares."""
    for other in spot.beside:
        theirs = parse(spot.source, other)
        yield from _stepped(spot, theirs, spot.tree)
        yield from _factors(spot, theirs)
    for one, piece in permutations(spot.pieces, _SIDES):
        yield from _stepped(spot, one, piece)


def _factors(spot: Spot, theirs: Node) -> Iterator[Rewrite]:
    """`in = a * FRAG_IN * 16` for `in = a * 16` beside `out = b * FRAG_OUT * 16`."""
    one, other = spot.assignment(theirs), spot.assignment(spot.tree)
    words = [spot.source.word(found[1].last - 1) for found in (one, other) if found is not None]
    for pair in word_pairs(*words) if len(words) == _SIDES else ():
        for part in (part for node in theirs.walk() if node.kind == "product" for part in node.parts):
            text = switched(spot.text(part), *pair)
            if text != spot.text(part) and text in spot.names and text not in spot.text(spot.tree):
                products = (node for node in spot.tree.walk() if node.kind == "product")
                yield from (spot.behind(node.parts[0].last - 1, f" * {text}", "beside") for node in products)


def _stepped(spot: Spot, theirs: Node, mine: Node) -> Iterator[Rewrite]:
    one, other = bare(theirs), bare(mine)
    if one.kind == other.kind and len(one.parts) == len(other.parts):
        for pair in zip(one.parts, other.parts, strict=True):
            yield from _stepped(spot, *pair)
    elif (
        one.kind in ("sum", "product", "shift", "and") and other.kind != one.kind and other.first < other.last
    ):
        more = text_behind(spot.source, one.parts[0].last, one.last)
        if one.kind == "product" and other.kind == "leaf" and more.lstrip().startswith("*"):
            yield spot.behind(other.last - 1, more, "beside")
            return
        text = spot.text(other)
        whole = f"({text})" if other.kind in BINDING else text
        yield spot.replace(mine.first, mine.last, f"({whole}{more})", "beside")


def in_pairs(spot: Spot) -> Iterator[Rewrite]:
    """`{lo(a), hi(a), lo(b), hi(b)}` for `{lo(a), 0, lo(b), hi(b)}`: what follows one is as what follows its like."""
    tokens = spot.source.tokens
    for node in spot.tree.walk():
        follows = list(pairwise(node.parts)) if node.kind in ("call", "braces") else []
        for (one, after), (other, then) in product(follows, follows):
            names = _differ(tokens[other.first : other.last], tokens[one.first : one.last])
            if one is other or len(names) != 1:
                continue
            text = spot.with_words(then.first, then.last, names)
            if text not in (spot.text(after), spot.text(then)):
                yield spot.replace(after.first, after.last, text, "in_pairs")


def _for_words(spot: Spot, words: Sequence[str]) -> Iterator[dict[str, str]]:
    """Words that go with some of these by one pair of neighbours, or by two."""
    pairs = [{word: pair[word] for word in words if word in pair} for pair in _together(spot.source)]
    known = list({tuple(pair.items()): pair for pair in pairs if pair}.values())[:_MOST]
    yield from known
    yield from ({**one, **other} for one in known for other in known if one.keys().isdisjoint(other))


def _partners(spot: Spot, target: range, own: range) -> Iterator[dict[str, str]]:
    """Other words for those of a statement, of which one is of what it assigns to; those first that change its value,
    too."""
    words = [token.text for token in spot.source.tokens[own.start : own.stop] if token.kind == "name"]
    heads = {spot.source.tokens[i].text for i in target}
    often = defaultdict[str, Counter[str]](Counter)
    for pair in _together(spot.source):
        for word, other in pair.items():
            often[word][other] += other in spot.names or word not in spot.names
    found = dict[tuple[tuple[str, str], ...], dict[str, str]]()
    for pair in _together(spot.source):
        names = {word: pair[word] for word in words if often[word][pair.get(word, "")]}
        if heads.isdisjoint(names):
            continue
        others = set(words) - {*heads, *names, *spot.scope.outside}
        rest = [word for word in words if word in others and any(often[word].values())]
        filled = names | {word: often[word].most_common(1)[0][0] for word in rest}
        for one in (filled, names) if heads >= names.keys() else (names, filled):
            found.setdefault(tuple(one.items()), one)
    yield from sorted(found.values(), key=lambda one: heads >= one.keys())


@lru_cache(maxsize=32)
def _together(source: Source) -> Sequence[Mapping[str, str]]:
    """Of neighbours that are written alike, the words by which they differ; each pair both ways."""
    found = list[dict[str, str]]()
    for one, other in pairwise(forest(source, 0, len(source.tokens))):
        if other.first == one.last + 1:
            found.append(_of_statements(source, range(one.first, one.last), range(other.first, other.last)))
    for i, token in enumerate(source.tokens):
        if token.text in ("(", "{") and i in source.partner and not source.is_block(i):
            for (a, b), (c, d) in pairwise(source.parts(i)):
                found.append(_differ(source.tokens[a:b], source.tokens[c:d]))
    both = ((names, {other: word for word, other in names.items()}) for names in found if names)
    return [names for pair in both for names in pair]


def _of_statements(source: Source, one: range, other: range) -> dict[str, str]:
    """Of two that assign something; where their values are not alike, of what they assign to alone."""
    equals = [
        next((i for i in own if source.tokens[i].text in ASSIGNMENTS), own.stop) for own in (one, other)
    ]
    targets = _differ(source.tokens[one.start : equals[0]], source.tokens[other.start : equals[1]])
    values = _differ(source.tokens[equals[0] : one.stop], source.tokens[equals[1] : other.stop])
    return {**values, **targets} if targets else {}


def _differ(one: Sequence[Token], other: Sequence[Token]) -> dict[str, str]:
    """Words of a text for those of another one, where all else is the same; none where it is not."""
    found = dict[str, str]()
    for mine, theirs in zip(one, other, strict=True) if len(one) == len(other) else ():
        if mine.text == theirs.text:
            continue
        words = mine.kind == theirs.kind == "name"
        if not words or found.setdefault(mine.text, theirs.text) != theirs.text:
            return {}
    return found if len(found) <= _MOST_WORDS else {}


def interleaved(spot: Spot) -> Iterator[Rewrite]:
    """`x[2 * i], x[2 * i + 1]` for `x[i], x[i + HALF]`, and the reverse: neighbours and halves, in this statement and
    the next one."""
    near = range(spot.within.start, min(spot.within.stop + len(spot.within) + _BESIDE, spot.function.stop))
    text, start = spot.source.slice(near.start, near.stop), spot.source.tokens[near.start].start
    for nth in (_FIRST_INDEX, _SECOND_INDEX):
        for one, other in pairwise(nth.finditer(text)):
            if one[1] != other[1]:
                continue
            for first, second in _as_pairs(spot, one[2].strip(), other[2].strip()):
                middle = text[one.end(2) : other.start(2)]
                begin, end = start + one.start(2), start + other.end(2)
                yield Rewrite(begin, end, f"{first}{middle}{second}", "interleaved")


_FIRST_INDEX = re.compile(r"(\b[\w.>-]*\w\[)([^\[\]]+)\]")
_SECOND_INDEX = re.compile(r"(\b[\w.>-]*\w\[[^\[\]]*\]\[)([^\[\]]+)\]")
_BESIDE = 4


def _as_pairs(spot: Spot, one: str, other: str) -> Iterator[tuple[str, str]]:
    """Two indices as neighbours for halves, or as halves for neighbours."""
    name = re.escape(one)
    if re.fullmatch(rf"{name} \+ [\w.:]+(?: / 2)?", other) and re.fullmatch(r"[\w.]+", one):
        yield f"2 * {one}", f"2 * {one} + 1"
    twice = re.fullmatch(r"2 \* ([\w.]+)|([\w.]+) \* 2", one)
    if twice is not None and other == f"{one} + 1":
        own = twice[1] or twice[2]
        bounds = re.findall(rf"\b{re.escape(own)} < ([^;&|)?]+?)\s*[;&|)?]", spot.body)
        halves = [
            name for name, known in spot.names.items() if known.sort == "integer" and _HALF.search(name)
        ]
        sizes = dict.fromkeys((*bounds, *halves[:_MOST], *(n for n in spot.names if _LANES.fullmatch(n))))
        yield from ((own, f"{own} + {size}") for size in list(sizes)[:_MOST])


_HALF = re.compile(r"half|^nh$|h$", re.IGNORECASE)
_LANES = re.compile(r"WARP\w*|WAVE\w*|kWave\w*|kWarp\w*|kLanes|warpSize")


def of_both(spot: Spot) -> Iterator[Rewrite]:
    """`l.flag | r.flag` for `r.flag` where what is made of two has a member of one alone."""
    tokens, inside = spot.source.tokens, [one for one in spot.scope.operands if one.first in spot.within]
    members = [one for one in inside if one.text.count(".") == 1]
    heads = dict.fromkeys(one.text.partition(".")[0] for one in members)
    for one in members:
        head, _, member = one.text.partition(".")
        ends = {tokens[one.first - 1].text, tokens[one.last].text} if one.last < len(tokens) else set[str]()
        others = [other for other in heads if other != head and f"{other}.{member}" in spot.names]
        alone = [other for other in others if f"{other}.{member}" not in spot.text(spot.tree)]
        if ends <= {"{", "}", "(", ")", ",", "=", ";", "return"}:
            for other in alone[:1]:
                for nth, sign in enumerate("|+"):
                    text = f"{other}.{member} {sign} {one.text}"
                    new = spot.replace(one.first, one.last, text, "of_both")
                    yield replace(new, rank=0.2 * nth)
