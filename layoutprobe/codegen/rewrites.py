"""Small changes of a statement that may mend it: exchanged indices, another name, one operator, a barrier.

They are guesses, and know nothing of the kernel: who asks for them has each compiled and checked (`gate/mending.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.codegen.accumulators import accumulators
from layoutprobe.codegen.additions import (
    around,
    carried,
    factors,
    lacking,
    steps,
    terms_more,
    units,
)
from layoutprobe.codegen.asked import asked, past
from layoutprobe.codegen.barriers import barriers, moved
from layoutprobe.codegen.called import called, covered, of_templates
from layoutprobe.codegen.companions import companions
from layoutprobe.codegen.comparisons import comparisons, derived
from layoutprobe.codegen.declarations import attributes, declared_in
from layoutprobe.codegen.details import (
    both,
    bytes_of_lanes,
    clamps,
    counts,
    longer,
    masks,
    next_to,
    scaled_down,
    shared,
    signs,
    wider,
)
from layoutprobe.codegen.elsewhere import elsewhere
from layoutprobe.codegen.evidence import extremes, limits, strides, tested, unread
from layoutprobe.codegen.exchanged import bound, crossed, stand_ins
from layoutprobe.codegen.expressions import (
    Rewrite,
    Spot,
    before,
    between,
    terms,
)
from layoutprobe.codegen.families import enumerators, families
from layoutprobe.codegen.grouped import guarded, regrouped, transposed
from layoutprobe.codegen.idioms import (
    atomic,
    bounds,
    choices,
    conversions,
    first_only,
    groups,
    initial,
    roots,
)
from layoutprobe.codegen.instructions import asm
from layoutprobe.codegen.kin import operators, types, words
from layoutprobe.codegen.omitted import omitted
from layoutprobe.codegen.ones import ones, quotients
from layoutprobe.codegen.orders import orders
from layoutprobe.codegen.paired import ties
from layoutprobe.codegen.parts import parts
from layoutprobe.codegen.pool import joined, wrapped
from layoutprobe.codegen.quantities import constants, distances, meant, numbers, powers, told, weights
from layoutprobe.codegen.renames import exchanges, mixed, names, scalars
from layoutprobe.codegen.schemes import scheme
from layoutprobe.codegen.series import resets, series, siblings
from layoutprobe.codegen.shapes import brackets, gone, less, rounding, tests, turned
from layoutprobe.codegen.statements import Source, free_words
from layoutprobe.codegen.tables import tables
from layoutprobe.codegen.twins import grown, indices, named, subscripts, twins


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
                same = _SAME * _of_one_shape(source, one, other) + _FLAGS * _are_flags(source, one, other)
                same += _PAIR * (len(parts) == 2)
                yield from (replace(new, rank=-same) for new in _exchanged(spot, one, other))


def _of_one_shape(source: Source, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two arguments are written alike but for one word: `zeros[at], scales[at]`."""
    mine, theirs = ([token.text for token in source.tokens[a:b]] for a, b in (one, other))
    differ = sum(a != b for a, b in zip(mine, theirs, strict=False))
    return len(mine) == len(theirs) > 1 and differ == 1


def _are_flags(source: Source, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two arguments are `true` and `false`: signs of operands, as matrix instructions have them."""
    return {source.slice(*one), source.slice(*other)} == {"true", "false"}


_SAME, _FLAGS, _PAIR = 1.2, 2.4, 0.6
"""How much likelier such are exchanged."""


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
                and not any(_declares(source, *part) for part in parts)
            ):
                yield source, parts


def _declares(source: Source, first: int, last: int) -> bool:
    """Whether a part between commas is a parameter, "int row": what a function's head has is no call."""
    return last > first + 1 and all(token.kind == "name" for token in source.tokens[first : first + 2])


def _lanes(spot: Spot) -> Iterator[Rewrite]:
    """Another part of a lane's or thread's number: its place in a half-wave or wave, or which of these it is in. And
    the workgroup's other axis, where that counts them."""
    source, tokens = spot.source, spot.source.tokens
    for i in spot.within:
        if tokens[i].text not in ("/", "%", "&", ">>") or not re.search(
            r"lane|tid|thread|frag", before(source, i), re.I
        ):
            continue
        head = source.slice(i - _AXIS, i)
        for axis in (f"threadIdx.{axis}" for axis in "xyz" if head.startswith("threadIdx.")):
            if axis in spot.axes and axis != head:
                yield replace(spot.replace(i - _AXIS, i + 2, axis, "lanes"), rank=-2.0)
        for text in ("% 16", "/ 16", "% 32", "/ 32", "% 8", "/ 8", "% 4", "/ 4"):
            yield spot.replace(i, i + 2, text, "lanes")


_AXIS = 3
"""Words of `threadIdx.x`."""


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
            if b == a + 1 and _BUFFER.search(source.tokens[a].text):
                yield spot.replace(a, b, f"{source.tokens[a].text} ^ 1", "parity")
    for node in spot.tree.walk():
        for part in node.parts if node.kind == "product" else ():
            if part.last == part.first + 1 and _BUFFER.search(spot.text(part)):
                yield spot.replace(part.first, part.last, f"({spot.text(part)} ^ 1)", "parity")


_BUFFER = re.compile(r"buf|stage|slot|phase|parity|cur|next", re.I)


class Kind(Struct, frozen=True):
    """A kind of change.

    Attributes:
        make: all of a statement, those first that are likely.
        first: rank of the first one: how unlikely it is.
        next: how much unlikelier each further one is.
        at_once: what can be done at several places of a statement is also done at all of them at once.
        most: so many of a statement.
    """

    make: Callable[[Spot], Iterator[Rewrite]]
    first: float
    next: float
    at_once: bool = False
    most: int = 80


KINDS: Mapping[str, Kind] = {
    "twin": Kind(twins, 2.6, 0.1),
    "lacking": Kind(lacking, 3.4, 0.1),
    "swap": Kind(_swap, 3.4, 0.25),
    "scheme": Kind(scheme, 2.2, 1.0),
    "borrow": Kind(_borrow, 3.1, 0.15),
    "exchange": Kind(exchanges, 3.7, 1.0),
    "more": Kind(terms_more, 3.6, 0.4),
    "weights": Kind(weights, 3.4, 0.1, at_once=True),
    "parity": Kind(_parity, 3.6, 1.0),
    "turned": Kind(turned, 3.1, 0.3),
    "brackets": Kind(brackets, 3.5, 0.3),
    "names": Kind(names, 2.4, 0.045, at_once=True),
    "scalars": Kind(scalars, 3.6, 0.3),
    "grown": Kind(grown, 4.4, 0.35),
    "named": Kind(named, 3.6, 0.4),
    "subscripts": Kind(subscripts, 3.4, 0.45),
    "terms": Kind(less, 3.7, 0.15, at_once=True),
    "lanes": Kind(_lanes, 5.5, 0.2, at_once=True),
    "operators": Kind(operators, 2.7, 0.15, at_once=True),
    "numbers": Kind(numbers, 4.0, 0.25, at_once=True),
    "words": Kind(words, 4.0, 0.3, at_once=True),
    "rounding": Kind(rounding, 2.8, 1.0),
    "tests": Kind(tests, 3.6, 0.5),
    "factors": Kind(factors, 5.0, 0.3),
    "initial": Kind(initial, 1.6, 1.0),
    "asm": Kind(asm, 1.8, 0.4),
    "atomic": Kind(atomic, 2.5, 1.0),
    "barriers": Kind(barriers, 3.0, 0.2),
    "constants": Kind(constants, 3.4, 0.1, at_once=True),
    "conversions": Kind(conversions, 3.0, 0.4),
    "bounds": Kind(bounds, 3.3, 0.3),
    "gone": Kind(gone, 3.6, 1.0),
    "first": Kind(first_only, 3.8, 0.4),
    "groups": Kind(groups, 3.4, 0.15),
    "choices": Kind(choices, 3.2, 0.3),
    "units": Kind(units, 3.5, 0.15),
    "families": Kind(families, 3.4, 0.15),
    "series": Kind(series, 2.6, 0.4),
    "siblings": Kind(siblings, 2.6, 0.3),
    "resets": Kind(resets, 2.8, 0.4),
    "indices": Kind(indices, 3.2, 0.25),
    "omitted": Kind(omitted, 2.7, 0.2),
    "tables": Kind(tables, 3.3, 0.1),
    "masks": Kind(masks, 3.6, 0.12),
    "signs": Kind(signs, 3.0, 0.3),
    "clamps": Kind(clamps, 3.2, 0.15),
    "next": Kind(next_to, 3.1, 0.2),
    "shared": Kind(shared, 2.8, 0.2),
    "both": Kind(both, 3.6, 0.3),
    "counts": Kind(counts, 3.4, 0.2),
    "around": Kind(around, 3.6, 0.1),
    "called": Kind(called, 3.2, 0.15),
    "of_templates": Kind(of_templates, 3.2, 0.2),
    "covered": Kind(covered, 3.0, 0.2),
    "carried": Kind(carried, 2.8, 0.2),
    "derived": Kind(derived, 3.0, 0.2),
    "past": Kind(past, 3.8, 0.1, most=24),
    "guarded": Kind(guarded, 2.4, 0.1),
    "roots": Kind(roots, 2.8, 0.3),
    "ties": Kind(ties, 3.2, 0.1, most=16),
    "bound": Kind(bound, 3.0, 0.2),
    "crossed": Kind(crossed, 3.6, 0.2),
    "stand_ins": Kind(stand_ins, 3.6, 0.2),
    "companions": Kind(companions, 3.1, 0.15),
    "longer": Kind(longer, 3.0, 0.2),
    "unread": Kind(unread, 3.2, 0.15),
    "extremes": Kind(extremes, 3.0, 0.2),
    "strides": Kind(strides, 3.6, 0.12),
    "wider": Kind(wider, 2.4, 0.2),
    "told": Kind(told, 3.4, 0.1),
    "scaled_down": Kind(scaled_down, 3.4, 0.2),
    "bytes_of_lanes": Kind(bytes_of_lanes, 2.6, 0.2),
    "tested": Kind(tested, 2.6, 0.2),
    "enumerators": Kind(enumerators, 3.0, 0.3, at_once=True),
    "limits": Kind(limits, 3.3, 0.15),
    "meant": Kind(meant, 3.8, 0.15),
    "orders": Kind(orders, 3.0, 0.1),
    "steps": Kind(steps, 2.4, 0.1),
    "moved": Kind(moved, 2.6, 0.2),
    "accumulators": Kind(accumulators, 3.0, 0.1),
    "powers": Kind(powers, 3.0, 0.1),
    "parts": Kind(parts, 3.7, 0.05),
    "comparisons": Kind(comparisons, 4.0, 0.0),
    "ones": Kind(ones, 3.3, 0.12),
    "quotients": Kind(quotients, 3.7, 0.0),
    "elsewhere": Kind(elsewhere, 2.6, 0.1),
    "types": Kind(types, 2.8, 0.2),
    "distances": Kind(distances, 2.4, 0.1),
    "mixed": Kind(mixed, 5.2, 0.04),
    "transposed": Kind(transposed, 4.4, 0.0),
    "joined": Kind(joined, 5.4, 0.0, most=320),
    "asked": Kind(asked, 5.2, 0.0, most=320),
    "wrapped": Kind(wrapped, 5.6, 0.0, most=320),
    "regrouped": Kind(regrouped, 4.9, 0.03),
}
"""Each kind of change, by name. The numbers are partly those with which the right change of 108 wrong kernels of
strangers comes early (`docs/campaign.md`): fitted to one half, they made it come a seventh earlier in the other."""


def rewrites(spot: Spot, kind: str) -> list[Rewrite]:
    """All changes of a kind, with their ranks; none of a statement without words, as a macro's body may have."""
    if not spot.within:
        return []
    one_of = KINDS[kind]
    found = list(islice(_apart(spot, one_of.make(spot), kind), one_of.most))
    ranked = [replace(one, rank=one.rank + one_of.first + nth * one_of.next) for nth, one in enumerate(found)]
    if not one_of.at_once:
        return ranked
    groups: dict[tuple[str, str], list[Rewrite]] = {}
    for one in ranked:
        groups.setdefault((spot.source.text[one.start : one.end], one.text), []).append(one)
    together = [_all_of(spot.source.text, group) for group in groups.values() if len(group) > 1]
    elsewhere = (_all_of(spot.source.text, group) for one in ranked if len(group := _same(spot, one)) > 1)
    return [*ranked, *together, *elsewhere]


def _same(spot: Spot, one: Rewrite) -> list[Rewrite]:
    """A change of an expression wherever the function has it, where that is in several statements."""
    tokens, text = spot.source.tokens, spot.source.text[one.start : one.end]
    if not re.search(r"[^\w.]", text) or not re.search(r"\w", text):
        return []
    first, last = spot.function.start, min(spot.function.stop, len(tokens) - 1)
    starts = {tokens[i].start for i in range(first, last)}
    found, at = list[Rewrite](), tokens[first].start
    while (at := spot.source.text.find(text, at, tokens[last].end)) >= 0:
        if at in starts:
            found.append(replace(one, start=at, end=at + len(text)))
        at += len(text)
    within = range(tokens[spot.within.start].start, tokens[spot.within.stop - 1].end)
    return found if any(other.start not in within for other in found) else []


def _apart(spot: Spot, found: Iterator[Rewrite], kind: str) -> Iterator[Rewrite]:
    """Changes that change something, once each; none that brings a name which only another block knows, and none of
    an attribute, or of a name where it is declared."""
    seen = set[tuple[int, int, str]]()
    fixed = [
        range(spot.source.tokens[i].start, spot.source.tokens[i].end)
        for i in spot.within
        if i in attributes(spot.source) or (kind in _OF_VALUES and i in declared_in(spot.source))
    ]
    for one in found:
        key, old = (one.start, one.end, one.text), spot.source.text[one.start : one.end]
        if key not in seen and old != one.text:
            seen.add(key)
            if any(one.start < there.stop and there.start < one.end for there in fixed):
                continue
            if spot.unknown.isdisjoint(_names(one.text) - _names(old)):
                yield replace(one, kind=kind)


_OF_VALUES = frozenset(
    ("borrow", "brackets", "comparisons", "crossed", "exchange", "groups", "indices", "masks", "more", "next",
     "parts", "powers", "strides", "swap", "terms", "turned", "twin", "units", "weights")
)  # fmt: skip
"""Kinds of changes of expressions: they look at a text, where `half8* p` is a product, too."""


def _names(text: str) -> set[str]:
    """Names that a text uses, but for members and what it declares."""
    return free_words(text) - set(_DECLARED.findall(text))


_DECLARED = re.compile(r"\b(?:int|unsigned|size_t|auto|float)\s+([A-Za-z_]\w*)")


def offered(spot: Spot) -> list[Rewrite]:
    """All changes of a statement, the likely ones first."""
    found = sorted((one for kind in KINDS for one in rewrites(spot, kind)), key=lambda one: one.rank)
    first: dict[str, Rewrite] = {}
    for one in found:
        first.setdefault(one.apply(spot.source.text), one)
    return list(first.values())


def _all_of(text: str, group: Sequence[Rewrite]) -> Rewrite:
    group = sorted(group, key=lambda one: one.start)
    start, end = group[0].start, group[-1].end
    new, at = "", start
    for one in group:
        new, at = new + text[at : one.start] + one.text, one.end
    return Rewrite(start, end, new, group[0].kind, min(one.rank for one in group) + _AT_ONCE)


_AT_ONCE = 0.5
"""How much unlikelier a change at several places is."""
