"""Statements that go with others: names that are assigned together, pointers that go on alike, what nobody uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.omitted import added, ends
from layoutprobe.rewrites.paired import paired
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declarations
from layoutprobe.source.expressions import parted
from layoutprobe.source.statements import Source

_MOST = 4
"""Names that are tried in place of one."""


def companions(spot: Spot) -> Iterator[Rewrite]:
    """Statements that may be lacking behind this one, as this one or others have them for other names."""
    yield from _set_too(spot)
    yield from _steps_too(spot)
    if ends(spot):
        yield from paired(spot)
        yield from _pointers(spot)
        yield from _never_used(spot)


def _set_too(spot: Spot) -> Iterator[Rewrite]:
    """`r.full[t] = r.empty[t] = 0`: what is like the member, array or variable that is set here, and is never set."""
    tokens = spot.source.tokens
    for equals in (i for i in spot.within if tokens[i].text == "="):
        first, end = _target(spot.source, equals)
        declares = (
            first > 0 and tokens[first - 1].kind == "name" and tokens[first - 1].text not in ("else", "do")
        )
        if first < max(spot.within.start, 1) or declares or tokens[first - 1].text in ("*", "&", ">", ","):
            continue
        before, behind = spot.source.slice(first, end), spot.source.slice(end + 1, equals)
        for other in _like_it(spot, tokens[end].text, is_member=first < end)[:_MOST]:
            yield spot.behind(equals, f" {before}{other}{behind} =", "companions")


def _target(source: Source, equals: int) -> tuple[int, int]:
    """Where that begins which is assigned to, and the name in it that is: `r` and `full` of `r.full[t]`."""
    tokens, end = source.tokens, _name(source, equals - 1)
    first = end
    while first > 1 and tokens[first].kind == "name" and tokens[first - 1].text in (".", "->"):
        first = _name(source, first - 2)
    return (first, end) if tokens[first].kind == "name" else (-1, end)


def _name(source: Source, i: int) -> int:
    """The name before indices that end with a token."""
    while i > 0 and source.tokens[i].text == "]":
        i = source.partner.get(i, 0) - 1
    return max(i, 0)


def _like_it(spot: Spot, name: str, *, is_member: bool) -> list[str]:
    """Names of the sort of another one that something uses, and nothing sets."""
    fields = (
        next((of_one for of_one in spot.scope.fields.values() if name in of_one), {}) if is_member else {}
    )
    known = (
        fields
        if is_member
        else {
            one.text: one.sort
            for one in spot.names.values()
            if one.text.isidentifier() and one.text not in spot.scope.outside
        }
    )
    elements, text = spot.scope.elements, spot.source.text
    like = [one for one in known if one != name and known[one] == known.get(name)]
    like = [one for one in like if elements.get(one) == elements.get(name)]
    kept = [one for one in like if not re.search(_SET.format(one), text) and len(_uses(text, one)) > 1]
    return [one for one in kept if not re.search(rf"\bconst(?:expr)?\b[^;(){{}}]{{0,300}}\b{one}\b", text)]


_SET = r"\b{0}\b(?:\s*\[[^\]\n]*\])*\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|(?:\+\+|--)\s*[\w.]*\b{0}\b|\b{0}\b\s*(?:\+\+|--)"
"""How a name is given a value."""


def _uses(text: str, name: str) -> list[str]:
    return re.findall(rf"\b{name}\b", text)


def _pointers(spot: Spot) -> Iterator[Rewrite]:
    """`b += z * T;` behind `a += z * T * C;`, for pointers that nothing moves."""
    tree, tokens = spot.tree, spot.source.tokens
    target = tokens[tree.first].text
    found = spot.assignment(tree)
    if found is None or found[0] != "+=" or target not in spot.names or spot.names[target].sort != "pointer":
        return
    moved = {spot.text(one.parts[0]) for one in spot.statements if one.kind == "assignment" and one.parts}
    value = found[2]
    texts = [spot.text(value)]
    if value.kind == "product" and set(spot.text(value)).isdisjoint("/%"):
        factors = [spot.text(part) for part in value.parts]
        shorter = [factors[:n] + factors[n + 1 :] for n in range(len(factors) - 1, 0, -1)]
        texts += [" * ".join(one) for one in shorter]
    still = [one.text for one in spot.names.values() if one.sort == "pointer" and one.text not in moved]
    for nth, name in enumerate([name for name in still if name.isidentifier()][:_MOST]):
        yield from (replace(added(spot, f"{name} += {text};"), rank=0.1 * nth) for text in texts)


def _steps_too(spot: Spot) -> Iterator[Rewrite]:
    """`b += n` behind `a += n` in a loop's head, for pointers that nothing moves on there."""
    source, tokens = spot.source, spot.source.tokens
    opened = spot.within.start + 1
    close = source.partner.get(opened, 0)
    if tokens[spot.within.start].text != "for" or not close:
        return
    behind = 1 + max((i for i in range(opened, close) if tokens[i].text == ";"), default=close)
    parts = parted(source, behind, close, {","})
    steps = [(i, stop) for _, i, stop in parts if stop > i + 2 and tokens[i + 1].text == "+="]
    moved = {tokens[i].text for i, _ in steps}
    pointers = [one.text for one in spot.names.values() if one.sort == "pointer" and one.text not in moved]
    for i, stop in steps:
        known = spot.names.get(tokens[i].text)
        if known is not None and known.sort == "pointer":
            for name in [one for one in pointers if one.isidentifier()][:_MOST]:
                text = f", {name} += {source.slice(i + 2, stop)}"
                yield spot.behind(close - 1, text, "companions")


def _never_used(spot: Spot) -> Iterator[Rewrite]:
    """`s.cut |= cut;` for a `cut` that is made of `s.cut` and that nothing uses."""
    tokens, unused = spot.source.tokens, spot.scope.unused
    for i, sort in declarations(spot.source):
        known = i in spot.function and i < spot.within.start and tokens[i].text in unused
        if not known or tokens[i].text not in spot.names or sort not in _SIGNS:
            continue
        made = spot.source.around(i)
        lefts = [
            one.text for one in spot.scope.operands if i < one.first < made.stop and one.sort in (sort, "")
        ]
        for left in list(dict.fromkeys(sorted(lefts, key=lambda text: not text.endswith(tokens[i].text))))[
            :_MOST
        ]:
            yield from (added(spot, f"{left} {sign} {tokens[i].text};") for sign in _SIGNS[sort])


_SIGNS = {"integer": ("|=", "+=", "="), "real": ("+=", "=", "*=")}
