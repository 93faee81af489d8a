"""Small changes of a statement that may mend it: exchanged indices, another name, one operator, a barrier.

They are guesses, and know nothing of the kernel: who asks for them has each compiled and checked (`gate/mending.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.rewrites.accumulators import accumulators
from layoutprobe.rewrites.across import across
from layoutprobe.rewrites.additions import around, carried, factors, lacking, steps, terms_more, units
from layoutprobe.rewrites.arguments import borrow, called_so, diagonal, swap
from layoutprobe.rewrites.asked import asked, first_asked, past
from layoutprobe.rewrites.ballots import bits, populations
from layoutprobe.rewrites.barriers import barriers, moved
from layoutprobe.rewrites.bases import based
from layoutprobe.rewrites.between_lanes import (
    cleared,
    counted,
    halved,
    of_rows,
    overwritten,
    shifted,
    striped,
)
from layoutprobe.rewrites.brackets import brackets
from layoutprobe.rewrites.called import called, covered, kept, of_templates
from layoutprobe.rewrites.companions import companions
from layoutprobe.rewrites.comparisons import bare_sides, comparisons, derived, looser, unsigned
from layoutprobe.rewrites.conditions import tests
from layoutprobe.rewrites.details import (
    both,
    bytes_of_lanes,
    clamps,
    counts,
    longer,
    masks,
    next_to,
    packed,
    scaled_down,
    shared,
    signs,
    wider,
)
from layoutprobe.rewrites.elsewhere import elsewhere
from layoutprobe.rewrites.evidence import ended, extremes, limits, shorter, strides, tested, unread
from layoutprobe.rewrites.exchanged import bound, crossed, stand_ins
from layoutprobe.rewrites.families import enumerators, families
from layoutprobe.rewrites.grouped import guarded, regrouped, reordered, spread, transposed
from layoutprobe.rewrites.guards import accompanied, extents, guards, made_of
from layoutprobe.rewrites.handed import handed
from layoutprobe.rewrites.helpers import (
    bare_objects,
    by_helper,
    by_method,
    by_name,
    mirrored,
    oriented,
    own_stride,
    remainders_of,
    signed_elements,
    uncalled,
    unrolled,
)
from layoutprobe.rewrites.idioms import (
    atomic,
    bounds,
    choices,
    conversions,
    first_only,
    flagged,
    given_back,
    groups,
    initial,
    magnitudes,
    roots,
    rounded,
)
from layoutprobe.rewrites.instructions import asm
from layoutprobe.rewrites.kin import operators, ranges, reductions, types, words
from layoutprobe.rewrites.lanes import lanes, parity
from layoutprobe.rewrites.less import gone, less, turned
from layoutprobe.rewrites.logarithms import logarithms
from layoutprobe.rewrites.loops import shares
from layoutprobe.rewrites.meant import meant
from layoutprobe.rewrites.moves import moves
from layoutprobe.rewrites.neutral import neutral, of_nothing, otherwise
from layoutprobe.rewrites.of_reference import of_reference
from layoutprobe.rewrites.omitted import advanced, omitted
from layoutprobe.rewrites.ones import nonzero, ones, quotients
from layoutprobe.rewrites.orders import orders
from layoutprobe.rewrites.paired import beside, in_pairs, interleaved, of_both, ties
from layoutprobe.rewrites.parts import parts
from layoutprobe.rewrites.pool import begun_alike, ended_alike, joined, like_a_sibling, wrapped
from layoutprobe.rewrites.quantities import (
    agreeing,
    constants,
    distances,
    numbers,
    powers,
    told,
    weights,
)
from layoutprobe.rewrites.renames import exchanges, mixed, names, scalars, whole_alike
from layoutprobe.rewrites.roundings import rounding
from layoutprobe.rewrites.runs import gone_on
from layoutprobe.rewrites.schemes import scheme
from layoutprobe.rewrites.series import resets, series, siblings
from layoutprobe.rewrites.spot import Rewrite, Spot, all_of
from layoutprobe.rewrites.tables import inverse, tables
from layoutprobe.rewrites.twins import grown, indices, made_elements, named, subscripts, twins
from layoutprobe.rewrites.ways import ways
from layoutprobe.source.declarations import attributes, declared_in, lambda_heads
from layoutprobe.source.reach import types_of
from layoutprobe.source.statements import free_words


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
    "swap": Kind(swap, 3.4, 0.25),
    "scheme": Kind(scheme, 2.2, 1.0),
    "borrow": Kind(borrow, 3.1, 0.15),
    "called_so": Kind(called_so, 2.8, 0.1, most=12),
    "exchange": Kind(exchanges, 3.7, 0.4),
    "more": Kind(terms_more, 3.6, 0.4),
    "weights": Kind(weights, 3.4, 0.1, at_once=True),
    "parity": Kind(parity, 3.6, 1.0),
    "turned": Kind(turned, 3.1, 0.3),
    "brackets": Kind(brackets, 3.5, 0.3),
    "names": Kind(names, 2.4, 0.045, at_once=True),
    "scalars": Kind(scalars, 3.6, 0.3),
    "grown": Kind(grown, 4.4, 0.35, at_once=True),
    "named": Kind(named, 3.6, 0.4),
    "subscripts": Kind(subscripts, 3.4, 0.45),
    "terms": Kind(less, 3.7, 0.15, at_once=True),
    "lanes": Kind(lanes, 5.5, 0.2, at_once=True),
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
    "inverse": Kind(inverse, 2.0, 0.1),
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
    "looser": Kind(looser, 3.6, 0.2, most=12),
    "like_a_sibling": Kind(like_a_sibling, 2.8, 0.1),
    "begun_alike": Kind(begun_alike, 2.9, 0.1, most=16),
    "ended_alike": Kind(ended_alike, 3.0, 0.05, most=24),
    "by_name": Kind(by_name, 3.4, 0.1, most=16),
    "own_stride": Kind(own_stride, 2.2, 0.2),
    "signed_elements": Kind(signed_elements, 3.0, 0.1),
    "mirrored": Kind(mirrored, 3.0, 0.1),
    "remainders_of": Kind(remainders_of, 3.4, 0.1, most=12),
    "reductions": Kind(reductions, 3.0, 0.1),
    "cleared": Kind(cleared, 2.8, 0.1),
    "ranges": Kind(ranges, 3.0, 0.1),
    "striped": Kind(striped, 3.4, 0.1, most=12),
    "counted": Kind(counted, 2.8, 0.1),
    "unsigned": Kind(unsigned, 3.0, 0.2),
    "shifted": Kind(shifted, 2.8, 0.1),
    "across": Kind(across, 2.6, 0.1, most=8),
    "halved": Kind(halved, 2.8, 0.1, most=8),
    "of_rows": Kind(of_rows, 3.0, 0.1, most=12),
    "overwritten": Kind(overwritten, 2.8, 0.1),
    "of_reference": Kind(of_reference, 2.0, 0.1, at_once=True),
    "by_helper": Kind(by_helper, 2.6, 0.02, most=24),
    "uncalled": Kind(uncalled, 2.4, 0.1),
    "oriented": Kind(oriented, 2.4, 0.1),
    "unrolled": Kind(unrolled, 2.9, 0.1),
    "bare_objects": Kind(bare_objects, 2.4, 0.1),
    "past": Kind(past, 3.8, 0.1, most=24),
    "guards": Kind(guards, 2.8, 0.1, most=24),
    "interleaved": Kind(interleaved, 3.0, 0.1, most=8),
    "rounded": Kind(rounded, 2.8, 0.1),
    "given_back": Kind(given_back, 2.6, 0.1),
    "spread": Kind(spread, 3.2, 0.1, most=8),
    "kept": Kind(kept, 2.4, 0.1, most=4),
    "bare_sides": Kind(bare_sides, 3.0, 0.1),
    "nonzero": Kind(nonzero, 3.4, 0.1, most=4),
    "of_both": Kind(of_both, 3.0, 0.1, most=8),
    "by_method": Kind(by_method, 2.4, 0.1),
    "first_asked": Kind(first_asked, 3.4, 0.1, most=12),
    "advanced": Kind(advanced, 3.0, 0.1, most=16),
    "reordered": Kind(reordered, 2.8, 0.1),
    "flagged": Kind(flagged, 3.2, 0.1, most=8),
    "populations": Kind(populations, 2.6, 0.1, most=8),
    "bits": Kind(bits, 0.8, 0.1, most=8),
    "ways": Kind(ways, 2.8, 0.1, most=8),
    "logarithms": Kind(logarithms, 2.6, 0.1, most=8),
    "diagonal": Kind(diagonal, 3.0, 0.1, most=16),
    "magnitudes": Kind(magnitudes, 3.3, 0.1, most=6),
    "extents": Kind(extents, 2.4, 0.2, most=6),
    "accompanied": Kind(accompanied, 3.2, 0.1, most=16),
    "made_of": Kind(made_of, 3.2, 0.1, most=16),
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
    "shorter": Kind(shorter, 2.8, 0.1, most=16),
    "ended": Kind(ended, 3.0, 0.1, most=8),
    "meant": Kind(meant, 3.8, 0.15),
    "orders": Kind(orders, 3.0, 0.1),
    "moves": Kind(moves, 3.0, 0.1, most=16),
    "handed": Kind(handed, 3.3, 0.1, most=12),
    "based": Kind(based, 3.1, 0.1, most=24),
    "agreeing": Kind(agreeing, 2.9, 0.1, most=12),
    "packed": Kind(packed, 2.9, 0.1, most=12),
    "in_pairs": Kind(in_pairs, 2.9, 0.1, most=8),
    "beside": Kind(beside, 2.8, 0.1, most=8),
    "shares": Kind(shares, 2.9, 0.1, most=16),
    "gone_on": Kind(gone_on, 3.2, 0.1, most=20),
    "neutral": Kind(neutral, 3.2, 0.1),
    "otherwise": Kind(otherwise, 2.8, 0.1),
    "of_nothing": Kind(of_nothing, 3.0, 0.1, most=8),
    "made_elements": Kind(made_elements, 3.0, 0.1, most=12),
    "whole_alike": Kind(whole_alike, 3.2, 0.1, most=12),
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
    "transposed": Kind(transposed, 4.2, 0.0, most=40),
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
    together = [all_of(spot.source.text, group) for group in groups.values() if len(group) > 1]
    elsewhere = (all_of(spot.source.text, group) for one in ranked if len(group := _same(spot, one)) > 1)
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
    within = spot.source.span(spot.within)
    return found if any(other.start not in within for other in found) else []


def _apart(spot: Spot, found: Iterator[Rewrite], kind: str) -> Iterator[Rewrite]:
    """Changes that change something, once each; none that brings a name which only another block knows, and none of
    an attribute, or of a name where it is declared."""
    seen, tokens = set[tuple[int, int, str]](), spot.source.tokens
    fixed = [
        range(tokens[i].start, tokens[i].end)
        for i in spot.within
        if i in attributes(spot.source) or (kind in _OF_VALUES and i in declared_in(spot.source))
    ]
    heads = [range(tokens[a].start, tokens[b].end) for a, b in lambda_heads(spot.source) if a in spot.within]
    own = [spot.source.tokens[i].text for i in spot.within if i in declared_in(spot.source)]
    itself = set(own) if len(own) == 1 and spot.source.word(spot.within.start) != "for" else set[str]()
    counted = _head_of_loop(spot)
    reals = [name for name, one in spot.names.items() if one.sort == "real"] if counted else []
    for one in found:
        key, old = (one.start, one.end, one.text), spot.source.text[one.start : one.end]
        if key not in seen and old != one.text:
            seen.add(key)
            if any(_changes(spot.source.text, one, there) for there in fixed):
                continue
            if any(
                there.start < one.end and one.start <= there.stop
                for there in heads
                if one.start >= there.start
            ):
                continue
            come = _names(one.text) - _names(old)
            if itself & come and ";" not in one.text:  # its own value is not known yet
                continue
            if one.start in counted and any(_has(one.text, name) > _has(old, name) for name in reals):
                continue
            if spot.unknown.isdisjoint(come) and not _has_type_as_value(spot, one, old):
                yield replace(one, kind=kind)


def _head_of_loop(spot: Spot) -> range:
    """Where the text of what a loop counts stands, which is whole; nothing for what is no loop."""
    source, opened = spot.source, spot.within.start + 1
    if source.word(spot.within.start) != "for" or opened not in source.partner:
        return range(0)
    return source.span(range(opened, source.partner[opened] + 1))


def _has(text: str, name: str) -> int:
    """How often a text has a name, or a member by its whole name."""
    return len(re.findall(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text))


def _has_type_as_value(spot: Spot, one: Rewrite, old: str) -> bool:
    """Whether a change brings the name of a type where a value belongs: what stands between `<` and `>` looks so."""
    known = types_of(spot.source) - free_words(old)
    return any(name in known for name in _AS_VALUE.findall(one.text))


_AS_VALUE = re.compile(r"[-+*/%<>&|^=(]\s*(?:\w+::)*(\w+)(?:\s+const)?\s*(?:$|[-+/%^|?;\]])")


def _changes(text: str, one: Rewrite, name: range) -> bool:
    """Whether a change has to do with a declared name, but for leaving it and its sign where they are: `m = y, n = x`
    for `m = x, n = y`."""
    if not (one.start < name.stop and name.start < one.end):
        return False
    before, behind = text[one.start : name.start].rstrip()[-1:], text[name.stop : one.end].lstrip()[:1]
    kept = rf"{re.escape(before)}\s*\b{re.escape(text[name.start : name.stop])}\s*="
    return before != "," or behind != "=" or re.search(kept, one.text) is None


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
