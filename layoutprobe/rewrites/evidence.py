"""What something else speaks for: what is set and never read, a bound, a test, a maximum's other part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product

from msgspec.structs import replace

from layoutprobe.rewrites.additions import operands
from layoutprobe.rewrites.known import CONSTANT
from layoutprobe.rewrites.places import places
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import is_member, owner
from layoutprobe.source.statements import free_words
from layoutprobe.source.tree import Node, parse

_MOST = 3


def unread(spot: Spot) -> Iterator[Rewrite]:
    """`* s[r].scale` behind `s[r].mean`, an element of an array that nothing reads, `/ total` that is not used."""
    for name in [name for name, one in spot.names.items() if name in spot.unused and one.sort == "real"][
        :_MOST
    ]:
        yield from (
            replace(spot.behind(part.last - 1, f" / {name}", "unread"), rank=0.3)
            for part in operands(spot)
            if spot.sorts(part) <= {"real", ""}
        )
    yield from _in_place_of_computed(spot)
    yield from _only_counted(spot)
    yield from _made_in_vain(spot)
    arrays = [name for name, one in spot.names.items() if name in spot.unused and one.sort == "pointer"]
    texts = [
        f"{name}{spot.text(node)}"
        for name in arrays[:_MOST]
        for node in spot.tree.walk()
        if node.kind == "index"
    ]
    yield from _gathered(spot, arrays[:_MOST])
    texts += _members(spot)
    for text in list(dict.fromkeys(texts))[: 2 * _MOST]:
        for part in operands(spot):
            if spot.sorts(part) <= {"real", ""} and text not in spot.text(part):
                yield from (spot.behind(part.last - 1, f" {sign} {text}", "unread") for sign in "*+")


def _in_place_of_computed(spot: Spot) -> Iterator[Rewrite]:
    """`seq * max_pages` for `seq * up(tokens, PAGE)`: what the kernel is handed and nothing reads. And a bound that
    the function has for a divisor: `sum / (float)p.cols` for `sum / (float)(THREADS * EACH)`."""
    free = [name for name, one in spot.names.items() if name in spot.unused and one.sort == "integer"]
    names = [name for name in free if not CONSTANT.fullmatch(name)]
    products = [node for node in spot.tree.walk() if node.kind == "product"]
    for part, sign in [
        (part, spot.operator(node, n)) for node in products for n, part in enumerate(node.parts)
    ]:
        cast, opened, computed = spot.text(part).rpartition("(")
        if not opened:
            continue
        yield from (
            replace(spot.replace(part.first, part.last, name, "unread"), rank=_COMPUTED)
            for name in names[:_MOST]
        )
        if sign == "/" and len(free_words(computed)) > 1:
            yield from (
                replace(spot.replace(part.first, part.last, cast + name, "unread"), rank=_DIVISOR)
                for name in _bounds(spot)[:_MOST]
                if name not in computed
            )


_COMPUTED, _DIVISOR = -1.5, -0.5
"""An argument that nobody reads is a strong hint."""


def _bounds(spot: Spot) -> list[str]:
    """Names that integers of the function are compared with."""
    texts = dict.fromkeys(spot.text(node.parts[1]) for node in _comparisons(spot))
    return [text for text in texts if text in spot.names]


def _comparisons(spot: Spot) -> list[Node]:
    """Those of the function in which an integer is compared with a bound."""
    return [node for tree in spot.statements for node in tree.walk() if _compares(spot, node)]


def _made_in_vain(spot: Spot) -> Iterator[Rewrite]:
    """`a` for each `v`, where `a = abs(v)` is never used."""
    tokens, own = spot.source.tokens, {spot.source.tokens[i].text for i in spot.within}
    for name, value in spot.given:
        if name not in spot.unused or name not in spot.names or value.first in spot.within:
            continue
        for was in sorted(free_words(spot.text(value)) & own & spot.heads):
            at = [i for i in spot.within if tokens[i].text == was and not is_member(spot.source, i)]
            if at and not spot.source.defines(at[0]):
                text = spot.with_words(at[0], at[-1] + 1, {was: name})
                yield spot.replace(at[0], at[-1] + 1, text, "unread")


def _only_counted(spot: Spot) -> Iterator[Rewrite]:
    """`counted` for each `bag.size()`, where that is counted and never asked for."""
    tokens = spot.source.tokens
    counted = [name for name in dict.fromkeys(_COUNTS.findall(spot.body)) if name in spot.names]
    for name in [
        one for one in counted if len(re.findall(rf"\b{one}\b", spot.body)) == _DECLARED_AND_COUNTED
    ][:_MOST]:
        calls = [
            i for i in spot.within if tokens[i].text == "(" and spot.source.partner.get(i) == i + 1 and i > 2
        ]
        for i in [i for i in calls if tokens[i - 2].text in (".", "->")][:1]:
            first = owner(spot.source, i - 2)
            call = spot.source.slice(first, i + 2)
            start, end = tokens[first].start, tokens[spot.within.stop - 1].end
            yield Rewrite(start, end, spot.source.text[start:end].replace(call, name), "unread")


_COUNTS = re.compile(r"\+\+(\w+)\s*;")
_DECLARED_AND_COUNTED = 2


def _gathered(spot: Spot, arrays: Sequence[str]) -> Iterator[Rewrite]:
    """`pay[place[i]]`, and `pay[row + place[i]]` as others of the function are read, for `place[i]`."""
    inside = (
        node.parts[0]
        for tree in spot.statements
        for node in tree.walk()
        if node.kind == "index" and node.parts
    )
    sums = (node for node in inside if node.kind == "sum")
    rows = Counter(spot.source.slice(spot.start(node), node.parts[-2].last) for node in sums)
    for piece in spot.pieces:
        assigned = spot.assignment(piece)
        for name in arrays if assigned is not None and spot.sorts(assigned[2]) <= {"integer", ""} else ():
            value = assigned[2] if assigned is not None else piece
            text = spot.text(value)
            for row in ("", *(f"{row} + " for row, _ in rows.most_common(_MOST))):
                yield spot.replace(value.first, value.last, f"{name}[{row}{text}]", "unread")


def _members(spot: Spot) -> Iterator[str]:
    """Members that are given values and never read, of what the statement reads another member of."""
    tokens = spot.source.tokens
    for i in spot.within:
        if tokens[i].text not in (".", "->") or i + 1 >= spot.within.stop:
            continue
        read, before = tokens[i + 1].text, spot.source.slice(owner(spot.source, i), i + 1)
        for fields in spot.scope.fields.values():
            alike = [one for one in fields if read in fields and one != read and fields[one] == fields[read]]
            yield from (before + other for other in alike if _only_set(spot, other))


def _only_set(spot: Spot, member: str) -> bool:
    """Whether each use of a member gives it a value."""
    text = spot.source.text
    uses = len(re.findall(rf"(?:\.|->)\s*{member}\b", text))
    return uses == len(re.findall(rf"(?:\.|->)\s*{member}(?:\s*\[[^\]\n]*\])*\s*=[^=]", text))


def extremes(spot: Spot) -> Iterator[Rewrite]:
    """`fmaxf(top[g], peak)` for `peak`, which becomes `top[g]`; `top[g] = now;` where that is never set."""
    for tree in spot.pieces:
        assigned = spot.assignment(tree)
        if assigned is not None and assigned[0] == "=":
            yield from _extremes(spot, *assigned[1:])


_HEADED = re.compile(r"(?:if|for|while|else)\b")


def _extremes(spot: Spot, target: Node, value: Node) -> Iterator[Rewrite]:
    source = spot.source
    name = source.tokens[target.last - 1].text
    set_ = {
        spot.text(one.parts[0]): spot.text(one.parts[-1])
        for one in spot.statements
        if one.kind == "assignment"
    }
    whole = re.fullmatch(r"\d+u?", spot.text(value)) is not None or "integer" in spot.sorts(value)
    if value.kind == "leaf" and "fmax" not in spot.text(value) and not whole:
        text = spot.text(value)
        others = [one for one, what in set_.items() if what == name and one != name]
        others += [text.replace(f"[{a}]", f"[{b}]", 1) for a, b in ("01", "10") if f"[{a}]" in text]
        for other in [one for one in others if not _HEADED.match(one)][:_MOST]:
            yield from (
                spot.replace(value.first, value.last, f"{call}({other}, {text})", "extremes")
                for call in ("fmaxf", "fminf")
            )
    found = re.match(r"(?:f?max|f?min)f?\s*\(\s*([\w.]+(?:\[[^\[\]]*\])+)\s*,", spot.text(value))
    block = source.block_around(spot.within.start)
    inside = range(*block) if block else range(0)
    kept = {
        spot.text(one.parts[0]) for one in spot.statements if one.kind == "assignment" and one.first in inside
    }
    if found and block and found[1] not in kept:
        end = source.tokens[block[1] - 1].end
        yield Rewrite(end, end, f" {found[1]} = {name};", "extremes")


def strides(spot: Spot) -> Iterator[Rewrite]:
    """`group * WORDS + s` for `group + s` where `s < WORDS`; a number that other indices are multiplied by."""
    sums = [node for node in spot.tree.walk() if node.kind == "sum"]
    bounds = dict(
        re.findall(
            r"\b(\w+)\s*<\s*([A-Za-z_][\w:.]*)\s*;",
            spot.body,
        )
    )
    for node in sums:
        texts = [spot.text(part) for part in node.parts]
        for bound in dict.fromkeys(bounds[text] for text in texts if text in bounds):
            for part, text in zip(node.parts, texts, strict=True):
                if bounds.get(text) != bound and part.kind in ("leaf", "group") and bound in spot.names:
                    yield spot.behind(part.last - 1, f" * {bound}", "strides")
    numbers = Counter(re.findall(r"[*/]\s*(2|4|8|16|32|64)\b", spot.body))
    inside = [part for node in spot.tree.walk() if node.kind == "index" for part in node.parts]
    for nth, (number, _) in enumerate(numbers.most_common(2)):
        for part in (*operands(spot), *inside):
            if _may_be_scaled(spot, part, number):
                yield replace(spot.behind(part.last - 1, f" * {number}", "strides"), rank=0.8 + 0.1 * nth)


def _may_be_scaled(spot: Spot, part: Node, number: str) -> bool:
    """Whether a part is an integer that is not multiplied by a number yet."""
    plain = part.kind in ("leaf", "product") and spot.sorts(part) == {"integer"}
    return plain and re.search(r"\*\s*\d+$|^\d+\s*\*", spot.text(part)) is None and spot.text(part) != number


def tested(spot: Spot) -> Iterator[Rewrite]:
    """`k0 + STEP` for `k0` where the test around says `if (k0 + STEP < K)`: what is tested is what is used. And
    `i + 1` for `i - 1` behind `i + 1 < n ?`."""
    tests = list(_tests(spot))
    sums = {
        spot.text(part): spot.text(node)
        for test in tests
        for node in test.walk()
        if node.kind == "sum"
        for part in node.parts
        if part.kind == "leaf" and not part.parts and spot.text(part) in spot.names
    }
    for around in spot.tree.walk() if sums else ():
        if around.kind in ("group", "braces", "call", "index", "assignment", "list"):
            for part in around.parts:
                head = part.parts[0] if part.kind == "sum" and len(part.parts) == _SIDES else part
                text = sums.get(spot.text(head))
                tested_here = any(test.first <= part.first < test.last for test in tests)
                if text not in (None, spot.text(part)) and not tested_here and not _is_target(around, part):
                    yield spot.replace(part.first, part.last, text or "", "tested")
        elif around.kind == "product" and (text := sums.get(spot.text(around.parts[0]))) is not None:
            yield spot.replace(around.parts[0].first, around.parts[0].last, f"({text})", "tested")


def _tests(spot: Spot) -> Iterator[Node]:
    """Conditions of the statement and of the block around it."""
    source = spot.source
    for node in spot.tree.walk():
        if node.kind == "call" and node.first and source.tokens[node.first - 1].text == "if":
            yield node
        elif node.kind == "choice":
            yield node.parts[0]
    block = source.block_around(spot.within.start)
    opened = source.partner.get(block[0] - 1) if block is not None and block[0] else None
    if opened and source.tokens[opened - 1].text == "if":
        yield parse(source, range(opened + 1, source.partner[opened]))


def _is_target(around: Node, part: Node) -> bool:
    return around.kind == "assignment" and part is around.parts[0]


def limits(spot: Spot) -> Iterator[Rewrite]:
    """`row < end` for `row < m0 + TILE`: what others of the function compare with; what is used little."""
    own = [node for node in spot.tree.walk() if _compares(spot, node)]
    texts = dict.fromkeys(spot.text(node.parts[1]) for node in _comparisons(spot))
    uses = Counter(one.text for one in spot.scope.operands)
    few = [name for name, one in spot.names.items() if one.sort == "integer" and name in spot.scope.unused]
    few += [name for name in texts if uses[name] == 1]
    few += [name for name, one in spot.names.items() if one.sort == "integer" and _AN_END.search(name)]
    for node in own:
        left, right = node.parts
        plain = right.kind == "leaf" and not right.parts
        for text in dict.fromkeys((*few, *texts)):
            inside = free_words(text)
            known = inside and inside <= spot.heads and inside.isdisjoint(free_words(spot.text(left)))
            if known and text != spot.text(right) and not (plain and text in spot.names):
                yield replace(spot.replace(right.first, right.last, text, "limits"), rank=1.0 * plain)
    for one, other in permutations(
        own, _SIDES
    ):  # a triangle: `row < n && col <= row` for `row < n && col < n`
        if spot.text(one.parts[1]) == spot.text(other.parts[1]):
            text = f"{spot.text(one.parts[0])} <= {spot.text(other.parts[0])}"
            yield replace(spot.replace(one.first, one.last, text, "limits"), rank=0.3)


def shorter(spot: Spot) -> Iterator[Rewrite]:
    """`height = min(rows - first, GROUP)` for `height = GROUP`, where `first = g * GROUP`: the last is shorter."""
    for piece in spot.pieces:
        found = spot.assignment(piece)
        if found is None or found[0] != "=" or found[2].kind != "leaf":
            continue
        given, size = found[2], spot.text(found[2])
        firsts = [
            name
            for name, value in spot.given
            if value.kind == "product" and value.last <= given.first and size in map(spot.text, value.parts)
        ]
        counts = [
            one.text
            for one in spot.names.values()
            if one.sort == "integer" and one.text not in (size, *firsts)
        ]
        for first, count in product(dict.fromkeys(firsts), counts[:_NEAREST]):
            yield spot.replace(given.first, given.last, f"min({count} - {first}, {size})", "shorter")


def ended(spot: Spot) -> Iterator[Rewrite]:
    """`min(begin + share, n)` for `begin + share`, where `share = ceil_div(n, parts)`: the last one is shorter."""
    shared = " ".join(_SHARED.findall(spot.body))
    known = {one.text for one in spot.names.values() if one.sort == "integer"}
    names = [name for name in dict.fromkeys(_NAME.findall(shared)) if name in known]
    for node, parent in places(spot):
        if node.kind == "sum" and not parent and spot.sorts(node) == {"integer"}:
            first, text = spot.start(node), spot.source.slice(spot.start(node), node.last)
            yield from (
                spot.replace(first, node.last, f"min({text}, {name})", "ended")
                for name in names[:_MOST]
                if name not in free_words(text)
            )


_SHARED = re.compile(
    r"\b(?:\w*_)?(?:ceil_?div|div_?up|cdiv|CEIL_?DIV|DIV_?UP|ceilDiv|divUp)\s*\((?:[^()]|\([^()]*\)){1,60}\)|\([^()]{1,40}\)\s*/"
)
"""Of how much a share is made."""
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*(?![\w(])")
_NEAREST = 8
_AN_END = re.compile(r"(?:end|last|limit|bound|stop)_?$", re.I)
"""What a bound may be called: `row < item.row_end` for `row < offs[experts]`."""


def _compares(spot: Spot, node: Node) -> bool:
    """Whether an integer is compared with a bound."""
    if node.kind != "comparison" or len(node.parts) != _SIDES:
        return False
    right = node.parts[1]
    return right.last - right.first <= _LONGEST_BOUND and spot.sorts(right) <= {"integer"}


_SIDES, _LONGEST_BOUND = 2, 12
