"""Statements and terms that come several times, with a number or letter that goes on, and one that is lacking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.families import switches
from layoutprobe.rewrites.renames import renamed
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declarations, declared_in
from layoutprobe.source.expressions import heads_around, indent
from layoutprobe.source.scope import Operand
from layoutprobe.source.statements import Source, Token
from layoutprobe.source.tree import Node

_LONGEST = 40
"""Tokens of a statement of a series."""


def series(spot: Spot) -> Iterator[Rewrite]:
    """The statement that a series lacks, behind this one: `x += f(x, 4);` behind 1 and 2, `b1 = nb1;` behind b0's."""
    source, own = spot.source, spot.within
    if not _is_member(spot, own):
        return
    here = [" ".join(token.text for token in source.tokens[n.first : n.last]) for n in spot.statements]
    for text in dict.fromkeys((*_gone_on(spot), *_of_other_elements(spot), *_of_other_names(spot))):
        if " ".join(token.text for token in Source(text).tokens) not in here:
            end = source.tokens[own.stop].end
            yield Rewrite(end, end, f"\n{indent(source, own.start)}{text};", "series")


def _is_member(spot: Spot, within: range) -> bool:
    """Whether a statement stands by itself and declares nothing."""
    tokens = spot.source.tokens
    ended = within.stop < len(tokens) and tokens[within.stop].text == ";"
    declared = any(i in within for i, _ in declarations(spot.source))
    plain = 2 < len(within) <= _LONGEST and tokens[within.start].text not in _HEADS
    return ended and plain and not declared


_HEADS = ("return", "if", "else", "for", "while", "do", "using", "typedef", "case", "static_assert", "asm")


def _gone_on(spot: Spot) -> Iterator[str]:
    """What comes behind two neighbours, and what before them: numbers doubled or one more, digits of names."""
    tokens, own = spot.source.tokens, spot.within
    before = spot.source.around(max(own.start - 2, 0)) if own.start > 1 else range(0)
    if tokens[own.start - 1].text != ";" or len(before) != len(own) or before.start >= own.start:
        return
    pairs = [(tokens[i], tokens[j]) for i, j in zip(before, own, strict=True)]
    for doubled in (True, False):
        for onward in (True, False):
            texts = [_next(*(pair if onward else pair[::-1]), doubled=doubled) for pair in pairs]
            names = {now for (_, word), now in zip(pairs, texts, strict=True) if word.kind == "name"}
            if None not in texts and names <= {token.text for token in tokens}:
                yield _written(spot, own, [text or "" for text in texts])
    middle = [_middle(*pair) for pair in pairs]
    if None not in middle:
        yield _written(spot, own, [text or "" for text in middle])


def _middle(one: Token, other: Token) -> str | None:
    """The number between two of which one is four times the other, or two more; None where they are not alike."""
    if one.text == other.text:
        return one.text
    if not (one.kind == other.kind == "number" and one.text.isdigit() and other.text.isdigit()):
        return None
    low, high = sorted((int(one.text[:6]), int(other.text[:6])))
    return str(2 * low) if high == 4 * low else str(low + 1) if high == low + 2 else None


def _next(one: Token, other: Token, *, doubled: bool) -> str | None:
    """What comes behind two words; None where they do not begin a series."""
    if one.text == other.text:
        return other.text
    found = [re.fullmatch(r"(\D*)(\d+)(\D*)", token.text) for token in (one, other)]
    if found[0] is None or found[1] is None or one.kind != other.kind:
        return None
    (head, a, tail), (_, b, _) = found[0].groups(), found[1].groups()
    if (head, tail) != (found[1][1], found[1][3]) or len(a) > 6 or len(b) > 6:
        return None
    first, second = int(a), int(b)
    if not doubled:
        value = 2 * second - first
    elif first and second and (second == 2 * first or first == 2 * second):
        value = second * second // first if second * second % first == 0 else -1
    else:
        return None
    return f"{head}{value}{tail}" if value >= 0 and (value or not doubled) else None


def _written(spot: Spot, within: range, texts: list[str]) -> str:
    tokens, result, at = spot.source.tokens, "", spot.source.tokens[within.start].start
    for i, text in zip(within, texts, strict=True):
        result += spot.source.text[at : tokens[i].start] + text
        at = tokens[i].end
    return result


def _of_other_elements(spot: Spot) -> Iterator[str]:
    """The statement for another element that an array has by number: `acc[1][i] *= c;` behind `acc[0][i] *= c;`."""
    tokens, own = spot.source.tokens, spot.within
    number = tokens[own.start + 2]
    begins = tokens[own.start].kind == "name" and tokens[own.start + 1].text == "["
    if not begins or number.kind != "number" or tokens[own.start + 3].text != "]":
        return
    head = tokens[own.start].text
    others = {
        tokens[i + 2].text
        for i in spot.function[:-3]
        if tokens[i].text == head and tokens[i + 1].text == "[" and tokens[i + 3].text == "]"
    }
    declared = next(
        (i for i, _ in declarations(spot.source) if tokens[i].text == head and i in spot.function), -3
    )
    if declared >= 0 and [token.text for token in tokens[declared + 1 : declared + 3]] in _EXTENTS:
        others |= {str(n) for n in range(int(tokens[declared + 2].text))}
    for other in sorted(one for one in others if re.fullmatch(r"\d", one) and one != number.text)[
        :_MOST_TERMS
    ]:
        texts = [
            other if tokens[i].text == number.text and tokens[i - 1].text == "[" else tokens[i].text
            for i in own
        ]
        yield _written(spot, own, texts)


_EXTENTS = (["[", "2"], ["[", "3"], ["[", "4"])


def _of_other_names(spot: Spot) -> Iterator[str]:
    """The statement in other names that are all known, of which one is assigned to."""
    own = [one for one in spot.scope.operands if one.first in spot.within]
    for names in switches(spot, own):
        if own and own[0].text in names and len(names) > 1:
            changed = [one for one in own if one.text in names]
            new = renamed(spot, changed, names)
            tokens = spot.source.tokens
            first, last = tokens[spot.within.start].start, tokens[spot.within.stop - 1].end
            yield spot.source.text[first : new.start] + new.text + spot.source.text[new.end : last]
    rest = [one for one in own if own and one.text != own[0].text]
    again = len(rest) + 1 < len(own)
    for names in switches(spot, rest) if again else ():
        if len(names) > 1:
            changed = [one for one in rest if one.text in names]
            new = renamed(spot, changed, names)
            tokens = spot.source.tokens
            first, last = tokens[spot.within.start].start, tokens[spot.within.stop - 1].end
            yield spot.source.text[first : new.start] + new.text + spot.source.text[new.end : last]


def siblings(spot: Spot) -> Iterator[Rewrite]:
    """A term as another one of the sum is: `a.t * f(a.p) + b.t * f(b.p)` for `a.t * f(a.p) + b.t`."""
    for node in spot.tree.walk():
        if node.kind != "sum" or not 2 <= len(node.parts) <= _MOST_TERMS:
            continue
        yield from _weighted(spot, node)
        for one in node.parts:
            for other in node.parts:
                if one is not other:
                    yield from _as_sibling(spot, one, other)


_MOST_TERMS = 4


def _weighted(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`a.sum * w0 + b.sum * w1` for `a.sum + b.sum`, where another sum of two has these factors."""
    if len(node.parts) != _PAIR or any(part.kind != "leaf" for part in node.parts):
        return
    found = dict[tuple[str, str], None]()
    for tree in spot.statements:
        for other in tree.walk():
            products = other.kind == "sum" and [part for part in other.parts if part.kind == "product"]
            if products and len(products) == len(other.parts) == _PAIR:
                one, two = (spot.text(part.parts[-1]) for part in products)
                if one != two and one in spot.names and two in spot.names:
                    found.setdefault((one, two))
    for one, two in list(found)[:_MOST_TERMS]:
        first, second = (spot.text(part) for part in node.parts)
        if "integer" not in {spot.names[one].sort, spot.names[two].sort}:
            text = f"{first} * {one} {spot.operator(node, 1)} {second} * {two}"
            yield spot.replace(node.first, node.last, text, "siblings")


_PAIR = 2


def _as_sibling(spot: Spot, one: Node, other: Node) -> Iterator[Rewrite]:
    """The second term as the first one, in names of the second."""
    mine, theirs = ([o for o in spot.scope.operands if n.first <= o.first < n.last] for n in (one, other))
    there = {o.text for o in theirs}
    yield from _with_factor(spot, one, other)
    for names in (*_heads(mine, theirs), *_members(spot, mine, theirs), *switches(spot, mine)):
        changed = [o for o in mine if o.text in names]
        if changed and there & set(names.values()):
            new, tokens = renamed(spot, changed, names), spot.source.tokens
            text = spot.source.text
            first, last = tokens[one.first].start, tokens[one.last - 1].end
            yield spot.replace(
                other.first, other.last, text[first : new.start] + new.text + text[new.end : last], "siblings"
            )


def _with_factor(spot: Spot, one: Node, other: Node) -> Iterator[Rewrite]:
    """`o * fa + x * fb` for `o + x * fb`."""
    if one.kind == "product" and other.kind == "leaf":
        for part in one.parts[1:]:
            own = [o for o in spot.scope.operands if part.first <= o.first < part.last]
            for names in switches(spot, own) if part.kind == "leaf" and not part.parts else ():
                text = renamed(spot, own, names).text
                if text not in spot.text(other):
                    yield spot.behind(other.last - 1, f" * {text}", "siblings")


def _members(spot: Spot, mine: list[Operand], theirs: list[Operand]) -> Iterator[dict[str, str]]:
    """Members of an object for those of the function's own structure: `o.peak` for `peak`."""
    own = [o.text for o in mine if o.text in spot.scope.own]
    for head in dict.fromkeys(o.text.partition(".")[0] for o in theirs if "." in o.text):
        if own:
            yield {name: f"{head}.{name}" for name in own}


def _heads(mine: list[Operand], theirs: list[Operand]) -> Iterator[dict[str, str]]:
    """What members of the other term's structure are for those of the first one's."""
    for own in dict.fromkeys(o.text.partition(".")[0] for o in mine if "." in o.text):
        for head in dict.fromkeys(o.text.partition(".")[0] for o in theirs if "." in o.text):
            if own != head:
                yield {o.text: head + o.text[len(own) :] for o in mine if o.text.partition(".")[0] == own}


def resets(spot: Spot) -> Iterator[Rewrite]:
    """The first value of an accumulator once more, wherever a loop around its sum begins anew."""
    source = spot.source
    used = {source.tokens[i].text for i in spot.within if source.tokens[i].kind == "name"}
    for i, _ in declarations(source):
        name = source.tokens[i].text
        if i not in spot.function or name not in used:
            continue
        value = _first_values(source, i)
        if value is None:
            continue
        loops = dict.fromkeys(
            opened
            for tree in spot.statements
            if _adds(spot, tree, name, i)
            for opened in _loops(source, tree, i)
        )
        for nth, opened in enumerate(loops):
            first = opened + 1
            at = source.tokens[first].start
            yield replace(Rewrite(at, at, f"{value}\n{indent(source, first)}", "resets"), rank=0.2 * nth)
        yield from _begun_anew(spot, i, value)


def _begun_anew(spot: Spot, declared: int, value: str) -> Iterator[Rewrite]:
    """The first value at the end of the branch in a loop that takes what has been summed up: `flush(id, sum);`."""
    source, name = spot.source, spot.source.tokens[declared].text
    around = list(heads_around(source, spot.within.start))
    if len(around) < len(("if", "for")) or around[0][0] != "if" or around[0][2][0] < declared:
        return
    begins, ends = around[0][2]
    takes = f"{name} =" not in source.slice(begins, ends)
    summed = any(
        _adds(spot, tree, name, declared) for tree in spot.statements if not begins < tree.first < ends
    )
    if takes and summed and any(head in ("for", "while") for head, *_ in around[1:]):
        at = source.tokens[ends - 1].end
        yield Rewrite(at, at, f"\n{indent(source, ends - 1)}{value}", "resets")


def _first_values(source: Source, i: int) -> str | None:
    """The statements that give all variables of a declaration the values again that they are declared with."""
    beside = sorted(one for one in declared_in(source) if one in source.around(i))
    values = [_first_value(source, one) for one in (beside if i in beside else [i])]
    return None if None in values else " ".join(value for value in values if value)


def _first_value(source: Source, i: int) -> str | None:
    """The statement that gives a variable the value again that it is declared with, or that follows its declaration;
    None where it has none."""
    tokens, name, at, sizes = source.tokens, source.tokens[i].text, i + 1, 0
    while at in source.partner and tokens[at].text == "[":
        at, sizes = source.partner[at] + 1, sizes + 1
    stop = _end_of_declared(source, at)
    begins = at + 1 < stop and tokens[at].text == "="
    if not begins and not (at < stop and tokens[at].text == "{"):
        follows = source.around(stop + 1) if stop + 1 < len(tokens) and tokens[stop].text == ";" else range(0)
        text = source.slice(follows.start, follows.stop) if follows else ""
        cleared = re.search(rf"\b{name}(?:\[\w+\])+\s*=\s*(?:0[.0]*f?|{{}})$", text)
        return f"{text};" if cleared else None
    value = source.slice(at + begins, stop)
    if not re.fullmatch(r"[\w:]*\s*\{[\s{}0.,f]*\}|-?[0.]+f?|-?INFINITY", value):
        return None
    if not sizes:
        return f"{name} = {'{}' if '{' in value else value};"
    each = [name, *("lp_" + "row" * (n + 1 < sizes) + "each" * (n + 1 == sizes) for n in range(sizes))]
    loops = "".join(f"for (auto& {b} : {a}) " for a, b in pairwise(each))
    return f"{loops}{each[-1]} = {{}};" if sizes <= _MOST_SIZES else None


_MOST_SIZES = 2


def _end_of_declared(source: Source, at: int) -> int:
    """The comma or semicolon behind what is declared with other names in one statement."""
    end = source.around(at).stop if at < len(source.tokens) else at
    while at < end and source.tokens[at].text != ",":
        at = source.partner.get(at, at) + 1 if source.tokens[at].text in ("(", "[", "{") else at + 1
    return min(at, end)


def _adds(spot: Spot, tree: Node, name: str, declared: int) -> bool:
    """Whether a statement behind the declaration assigns to a variable what it makes of it, or is a call that may."""
    tokens = spot.source.tokens
    if tree.first <= declared:
        return False
    at = [i for i in range(tree.first, tree.last) if tokens[i].text == name]
    follows = any(
        tokens[j].text in ("+=", "=", "*=") for i in at[:1] for j in range(i + 1, min(tree.last, i + _TARGET))
    )
    handed = tree.kind == "leaf" and any(
        spot.text(part).lstrip("&") == name
        for call in tree.parts
        if call.kind == "call" and call.last == tree.last
        for part in call.parts
    )
    return follows or len(at) > 1 or handed


_TARGET = 14
"""Tokens in which what is assigned to ends."""


def _loops(source: Source, tree: Node, declared: int) -> Iterator[int]:
    """Braces of the loops around a statement that begin behind a declaration, the innermost one last."""
    looped = source.tokens[tree.first].text in ("for", "while")
    around = heads_around(source, tree.first)
    found = [block[0] for head, _, block in around if head in ("for", "while") and block[0] > declared]
    yield from found if looped else [*found[1:], *found[:1]]
