"""What is done elsewhere: in the line for the other operand, in other accesses, with the same expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.families import differ_by, switched
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declarations, declared_in
from layoutprobe.source.statements import Token, free_words, words
from layoutprobe.source.tree import BINDING, TYPES, Node

_ALIKE, _ALIKE_BESIDE = 0.6, 0.45
"""How much two pieces have in common; of one statement, where less is enough."""
_LEAST, _MOST = 4, 120
"""Tokens of what may have a twin."""
_MOST_TWINS = 6
_MOST_CHANGES = 3
"""Of one twin, beside names."""
_PIECES = ("list", "all", "any", "statements")


def twins(spot: Spot) -> Iterator[Rewrite]:
    """What the most similar statement, argument or condition of the function has at a place where this one differs.

    Names that differ throughout belong to the other operand, and are taken to be right.
    """
    own = list(_pieces(spot, (spot.tree,)))
    others = list(_pieces(spot, spot.statements))
    found = list[tuple[float, Rewrite]]()
    for piece in own:
        for ratio, other in islice(_nearest(spot, piece, others), _MOST_TWINS):
            found += [(1 - ratio + late, one) for late, one in _differences(spot, piece, other)]
        found += [(0.1, one) for other in others for one in _as_a_whole(spot, piece, other)]
    found.sort(key=lambda pair: pair[0])
    yield from (replace(one, rank=3 * late) for late, one in found)


def _pieces(spot: Spot, trees: Sequence[Node]) -> Iterator[Node]:
    for tree in trees:
        yield tree
        for node in tree.walk():
            if node.kind in _PIECES or (node.kind in ("call", "braces") and len(node.parts) > 1):
                yield from node.parts


def _nearest(spot: Spot, piece: Node, others: list[Node]) -> Iterator[tuple[float, Node]]:
    mine = [token.text for token in spot.source.tokens[piece.first : piece.last]]
    if not _LEAST <= len(mine) <= _MOST:
        return
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(mine)
    found = list[tuple[float, int, Node]]()
    for other in others:
        same = other.first < piece.last and piece.first < other.last
        if same or not len(mine) / 2 <= other.last - other.first <= 2 * len(mine):
            continue
        matcher.set_seq1([token.text for token in spot.source.tokens[other.first : other.last]])
        least = _ALIKE_BESIDE if other.first in spot.within else _ALIKE
        if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least or matcher.ratio() < least:
            continue
        found.append((matcher.ratio(), -abs(other.first - piece.first), other))
    for ratio, _, other in sorted(found, key=lambda one: one[:2], reverse=True):
        yield ratio, other


def _differences(spot: Spot, piece: Node, other: Node) -> Iterator[tuple[float, Rewrite]]:
    """What the twin has in place of something here, in the names that stand here."""
    tokens = spot.source.tokens
    mine, theirs = tokens[piece.first : piece.last], tokens[other.first : other.last]
    matcher = SequenceMatcher(None, [one.text for one in theirs], [one.text for one in mine], autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    names = dict[str, str]()
    for _, a, b, c, d in changes:
        both = zip(theirs[a:b], mine[c:d], strict=True) if b - a == d - c else ()  # not `a.n` for `m`
        names |= {x.text: y.text for x, y in both if _are_names(x, y)}
    apart = list[tuple[int, int, int, int]]()
    for _, a, b, c, d in changes:
        if b - a > d - c > 0 and all(map(_are_names, theirs[a:b], mine[c:d])):  # `re * scale` beside `im`
            more = spot.with_words(other.first + a + d - c, other.first + b, names)
            yield 0.0, spot.behind(piece.first + d - 1, f" {more}", "twin")
        text = spot.with_words(other.first + a, other.first + b, names)
        if text != spot.source.slice(piece.first + c, piece.first + d):
            apart.append((a, b, c, d))
            if len(apart) <= _MOST_CHANGES:
                yield 0.0, _put(spot, piece.first + c, piece.first + d, text)
        elif d - c == 1 and not spot.source.defines(piece.first + c):
            yield 0.5, spot.replace(piece.first + c, piece.first + d, theirs[a].text, "twin")
    if 1 < len(apart) <= _MOST_CHANGES:  # one slip of several words
        (first, _, mine_first, _), (_, last, _, mine_last) = apart[0], apart[-1]
        text = spot.with_words(other.first + first, other.first + last, names)
        yield 0.1, _put(spot, piece.first + mine_first, piece.first + mine_last, text)


def _as_a_whole(spot: Spot, piece: Node, other: Node) -> Iterator[Rewrite]:
    """All that a name is given whose letter or word alone is another one, in names of this one's letter:
    `y0 = oy0 * STRIDE - PAD` as `x0 = ox0 * STRIDE - PAD` is made."""
    mine, theirs = spot.assignment(piece), spot.assignment(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return
    tokens = spot.source.tokens
    own, its = tokens[mine[1].last - 1].text, tokens[theirs[1].last - 1].text
    if (apart := differ_by(its, own)) is None:
        return
    names = {its: own}
    for token in tokens[theirs[2].first : theirs[2].last]:
        now = switched(token.text, *apart) if token.kind == "name" else token.text
        if now != token.text and re.search(rf"\b{now}\b", spot.source.text):
            names[token.text] = now
    text = spot.with_words(theirs[2].first, theirs[2].last, names)
    if text != spot.text(mine[2]):
        yield spot.replace(mine[2].first, mine[2].last, text, "twin")


def _are_names(one: Token, other: Token) -> bool:
    return one.kind == other.kind == "name" and one.text != other.text


def _put(spot: Spot, first: int, last: int, text: str) -> Rewrite:
    """In place of some tokens, or between two where there are none."""
    if last > first:
        return spot.replace(first, last, text, "twin")
    return spot.behind(first - 1, f" {text}", "twin")


def grown(spot: Spot) -> Iterator[Rewrite]:
    """An expression as a part of what it is a part of elsewhere: `t + 1` for `t`, `slot(row, chunk)` for `chunk`."""
    wholes = dict[str, dict[str, int]]()
    for far, tree in (*((0, one) for one in spot.statements), *((_ELSEWHERE, one) for one in spot.elsewhere)):
        for whole in tree.walk():
            text = _plain(spot, whole) if not far or tree.first not in spot.function else None
            if text is not None and (not far or _heads(text) <= spot.heads):
                for part in _parts_of(whole):
                    near = wholes.setdefault(spot.text(part), {})
                    near[text] = min(near.get(text, 1 << 30), far or abs(whole.first - spot.within.start))
    found = list[tuple[float, Rewrite]]()
    for node, around in _inside(spot.tree):
        if node.last - node.first > _LONGEST or spot.source.tokens[node.first].kind == "number":
            continue
        for nth, (text, far) in enumerate(
            sorted(wholes.get(spot.text(node), {}).items(), key=lambda one: one[1])
        ):
            if around is not None and text in (spot.text(around), f"({spot.text(around)})"):
                continue
            loose = around is not None and around.kind in BINDING and BINDING[around.kind] >= BINDING["any"]
            new = f"({text})" if loose and not re.fullmatch(r"[\w.]*\([^()]*\)", text) else text
            found.append((nth + far / 400, spot.replace(node.first, node.last, new, "grown")))
    found.sort(key=lambda pair: pair[0])
    yield from (replace(one, rank=late) for late, one in found)


_ELSEWHERE = 300
"""How far what another function has is: as so many words."""


def _heads(text: str) -> set[str]:
    return free_words(text) - TYPES


_LONGEST = 16
"""Tokens of an expression that is taken from elsewhere."""


def _plain(spot: Spot, whole: Node) -> str | None:
    """The text of an expression that may be taken for one of its parts; None where it is none."""
    joins = whole.kind in ("sum", "product", "shift", "and", "xor", "or")
    called = whole.kind == "leaf" and len(whole.parts) == 1 and whole.parts[0].kind == "call"
    if not (joins or called) or not 2 < whole.last - whole.first <= _LONGEST:
        return None
    if called and whole.parts[0].last != whole.last:
        return None
    head = spot.source.tokens[whole.first]
    if head.text in TYPES or head.text.endswith("_t") or spot.source.tokens[whole.first + 1].kind == "name":
        return None
    if head.text in ("return", "if", "for", "while", "*", "&") or any(
        spot.source.tokens[i].text in ("++", "--") for i in range(whole.first, whole.last)
    ):
        return None
    return spot.text(whole)


def _parts_of(whole: Node) -> Iterator[Node]:
    for part in whole.parts[0].parts if whole.kind == "leaf" else whole.parts:
        yield part
        for bracket in part.parts:
            if part.kind == "group" or bracket.kind == "group":
                yield from bracket.parts if bracket.kind == "group" else (bracket,)


def _inside(tree: Node) -> Iterator[tuple[Node, Node | None]]:
    """All expressions below a statement, each with what is around it."""
    for node in tree.walk():
        if node.kind != "cast":
            for part in node.parts:
                if part.kind not in ("call", "index", "braces", "cast"):
                    yield part, node


def subscripts(spot: Spot) -> Iterator[Rewrite]:
    """The index that other accesses have: those of the same dimension of the array first, then near ones."""
    seen, alike = dict[str, int](), dict[tuple[str, int], dict[str, None]]()
    for tree in spot.statements:
        for node in _indices_in(tree, spot):
            text, far = spot.text(node.parts[0]), abs(node.first - spot.within.start)
            seen[text] = min(seen.get(text, far), 0 if node.first in spot.within else far)
            alike.setdefault(_dimension(spot, node), {})[text] = None
    own = sorted(_indices_in(spot.tree, spot), key=lambda one: one.first - one.last)
    for node in own:  # `gate[row]` for `gate[token[row]]`
        inner = node.parts[0].parts[-1] if node.parts[0].parts else None
        if (
            inner is not None
            and inner.kind == "index"
            and len(inner.parts) == 1
            and inner.last == node.parts[0].last
        ):
            yield spot.replace(
                node.parts[0].first, node.parts[0].last, spot.text(inner.parts[0]), "subscripts"
            )
    others = [
        (node, list(alike.get(_dimension(spot, node), ()))) for node in own
    ]  # of a body none is of its function
    for nth in range(_MOST_ALIKE):
        for node, text in [(node, texts[nth]) for node, texts in others if nth < len(texts)]:
            yield spot.replace(node.parts[0].first, node.parts[0].last, text, "subscripts")
    for text in sorted(seen, key=lambda text: seen[text])[:_MOST_NEAR]:
        for node in own:
            new = spot.replace(node.parts[0].first, node.parts[0].last, text, "subscripts")
            yield replace(new, rank=0.4)


_MOST_ALIKE, _MOST_NEAR = 3, 8


def _indices_in(tree: Node, spot: Spot) -> Iterator[Node]:
    """Indices of one number; what a lambda captures is none, nor an array's extent."""
    declared = {spot.source.tokens[i].text: i for i, _ in declarations(spot.source)}
    for node in tree.walk():
        if node.kind == "index" and len(node.parts) == 1 and spot.text(node.parts[0]) not in ("&", "="):
            name, _ = _dimension(spot, node)
            if not tree.first <= declared.get(name, -1) < tree.last:
                yield node


def _dimension(spot: Spot, index: Node) -> tuple[str, int]:
    """The array, and how many indices stand before this one."""
    tokens, at, before = spot.source.tokens, index.first - 1, 0
    while at > 0 and tokens[at].text == "]":
        at, before = spot.source.partner.get(at, 0) - 1, before + 1
    return tokens[max(at, 0)].text, before


def named(spot: Spot) -> Iterator[Rewrite]:
    """A name whose value has an expression of the statement in it: `n`, which is `n0 + lane`, for `lane`."""
    values = _values_before(spot)
    for node, _ in _inside(spot.tree):
        if node.last - node.first >= _LEAST - 1:
            text = spot.text(node)
            for name, value in reversed(values.items()):
                if text in value:
                    yield spot.replace(node.first, node.last, name, "named")
            own, like = set(words(text)), 0
            for name, value in reversed(values.items()):
                if own and node.kind in BINDING and text not in value and own.issubset(words(value)):
                    like += 1
                    if like <= _MOST_NAMED:
                        yield replace(spot.replace(node.first, node.last, name, "named"), rank=0.3)
    yield from _named_in_part(spot, values)


def _values_before(spot: Spot) -> dict[str, str]:
    """Names that have been given values, and these."""
    values = dict[str, str]()
    for tree in spot.statements:
        for node in tree.walk():
            assigned = spot.assignment(node)
            if assigned is not None and node.last <= spot.within.start:
                name = spot.source.tokens[assigned[1].last - 1].text
                if name in spot.names:
                    values[name] = spot.text(assigned[2])
    return values


def _named_in_part(spot: Spot, values: dict[str, str]) -> Iterator[Rewrite]:
    """`K0 * PITCH` for `K0 * ROWS * VEC` where PITCH is `(ROWS + 1) * VEC`."""
    for node in spot.tree.walk():
        if node.kind != "product" or len(node.parts) <= _SIDES:
            continue
        for one, other in pairwise(node.parts):
            own = set(words(spot.source.slice(one.first, other.last)))
            for name, value in reversed(values.items()):
                if len(own) == _SIDES and own == set(words(value)):
                    yield spot.replace(one.first, other.last, name, "named")


_SIDES = 2
_MOST_NAMED = 3


def indices(spot: Spot) -> Iterator[Rewrite]:
    """An integer of the function in place of a whole index, or of what stands in brackets and is in its value."""
    values = dict[str, tuple[set[str], int]]()
    for tree in spot.statements:
        for node in tree.walk():
            assigned = spot.assignment(node)
            if assigned is not None and node.last <= spot.within.start:
                name = spot.source.tokens[assigned[1].last - 1].text
                if name in spot.names and spot.names[name].sort == "integer":
                    values[name] = (set(words(spot.text(assigned[2]))), node.first)
    for node in spot.tree.walk():
        if node.kind in ("index", "group") and len(node.parts) == 1 and node.parts[0].kind in BINDING:
            whole = node.parts[0]
            own = set(words(spot.text(whole)))
            known = [name for name in values if node.kind == "index" or own <= values[name][0]]
            ranked = sorted(known, key=lambda name: (-len(values[name][0] & own), -values[name][1]))
            for name in ranked[:_MOST_INDICES]:
                yield spot.replace(whole.first, whole.last, name, "indices")


_MOST_INDICES = 5


def made_elements(spot: Spot) -> Iterator[Rewrite]:
    """`w[j]`, which is `x * gamma[j]`, for `x`: an element that one statement before makes of a name."""
    values = dict[str, set[str]]()
    for tree in spot.statements:
        assigned = spot.assignment(tree)
        if assigned is not None and tree.last <= spot.within.start and spot.text(assigned[1]).endswith("]"):
            values[spot.text(assigned[1])] = set(words(spot.text(assigned[2])))
    for one in spot.scope.operands:
        if one.first in spot.within and one.first not in declared_in(spot.source):
            for element, made_of in reversed(values.items()):
                if (
                    one.text in made_of
                    and one.text not in words(element)
                    and free_words(element) <= spot.heads
                ):
                    yield spot.replace(one.first, one.last, element, "made_elements")
