"""What launches have to assume so that expressions of the sizes say how far they touch their buffers: numbers in
buffers that say how much there is, distances between elements, and sizes that divide each other.

Names decide nothing here: each is found by how far launches reach, and how much they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.drafting.assumed import DEEP, EACH_ONCE
from layoutprobe.drafting.attempt import Attempt
from layoutprobe.drafting.fits import fit
from layoutprobe.drafting.made_up import BYTES, INDICES
from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.drafting.touching import loose
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type

_INTEGERS = ("i32", "u32", "i64", "u64")
"""Types of what may say how much there is, or where it is."""
_MOST_SIZES = 6
_LARGE = 1 << 12
"""Of an argument that may be a bound: beyond all that there is."""
_MOST_BOUNDS = 4
_GROUPS = (64, 128)
"""Elements that often share a number."""
_PROBED = 8
"""Added to an argument that may be a distance."""
_FEW = 16
"""Elements, where nothing else says how many."""


class Launched(Struct, frozen=True, eq=False):
    """An attempt, with the launches that it made."""

    attempt: Attempt
    launches: list[SeenLaunch]
    values: list[Sizes]
    kinds: Mapping[int, str]

    __repr__ = brief

    @property
    def loose(self) -> frozenset[int]:
        """See `loose`."""
        return loose(self.launches, self.values, self.kinds)

    def touches(self, other: Launched) -> bool:
        """Whether each launch reaches every buffer that another attempt reached."""
        known = [i for i, one in other.launches[0].buffers.items() if one.size]
        return all(launch.buffers[i].size for launch in self.launches for i in known)

    def again(self, attempt: Attempt) -> Launched | None:
        """Another attempt, launched; None where it does not come to its end."""
        launches, values = ([], []) if attempt.late else attempt.launches(self.kinds)
        return Launched(attempt, launches, values, self.kinds) if launches else None


def untangled(found: Launched) -> Launched:
    """With as much assumed as makes fewer buffers loose; the same where nothing does."""
    found = _counted(found) if found.loose else found
    found = _scattered(found)
    for ways in (_with_strides, _with_bounds, _with_relations):
        if not found.loose:
            break
        least = found
        for attempt in ways(found):
            tried = found.again(attempt)
            if tried is not None and tried.touches(found) and len(tried.loose) < len(least.loose):
                least = tried
            if not least.loose:
                break
        found = least
    return found


def _counted(found: Launched) -> Launched:
    """With numbers in buffers that say how much there is: with larger ones a launch does more."""
    for i, kind in found.kinds.items():
        attempt, buffer = found.attempt, found.launches[0].buffers[i]
        if kind not in _INTEGERS or buffer.role != "in" or i in attempt.assumed.contents:
            continue
        ways = list(_contents(found, i, kind))
        for text in ways:
            contents = {**attempt.assumed.contents, i: text}
            tried = found.again(attempt.again(attempt.site, replace(attempt.assumed, contents=contents)))
            if tried is not None:
                found = tried
                break
    return found


def _contents(found: Launched, i: int, kind: str) -> Iterator[str]:
    """What the elements of a buffer may be, as expressions; none where they say nothing of how much there is."""
    element = element_type(kind)
    numbers = np.arange(BYTES // element.storage.itemsize)
    none, some, ramp = (
        _work(found, i, np.ascontiguousarray(element.store(one)).view(np.uint8))
        for one in (0 * numbers, 0 * numbers + INDICES - 1, numbers * (INDICES - 1))
    )
    attempt = found.attempt
    told = {name for at in attempt.integers for name in (attempt.site.arguments[at],)}
    names = sorted(attempt.names, key=lambda name: (name in told, attempt.steps[name] != 0))
    if none < some:
        yield from (f"{name} - i0 % 2" for name in names)
        yield f"{_FEW} - i0 % 2"
    elif some < ramp:
        yield f"i0 * {_FEW}"


def _scattered(found: Launched) -> Launched:
    """With indices of what is stored that differ from each other: with equal ones elements are stored twice."""
    for i, kind in found.kinds.items():
        attempt, buffer = found.attempt, found.launches[0].buffers[i]
        if kind not in _INTEGERS or buffer.role != "in" or i in attempt.assumed.contents or attempt.late:
            continue
        seen = attempt.run(found.values[0], found.kinds, {i: np.zeros(BYTES, np.uint8)})
        usual = found.launches[0].buffers
        if seen is None or not any(
            usual[j].stored and one.size < usual[j].size for j, one in seen.buffers.items()
        ):
            continue
        contents = {**attempt.assumed.contents, i: EACH_ONCE}
        tried = found.again(attempt.again(attempt.site, replace(attempt.assumed, contents=contents)))
        found = tried or found
    return found


def _work(found: Launched, i: int, data: NDArray[np.uint8]) -> int:
    """How much the first launch does with these in a buffer; -1 where it does not come to its end."""
    before = found.attempt.left
    seen = found.attempt.run(found.values[0], found.kinds, {i: data})
    return before - found.attempt.left if seen else -1


def _with_strides(found: Launched) -> Iterator[Attempt]:
    """Where arguments are distances between elements: those with which elements lie dense, the first the largest."""
    attempt = found.attempt
    plain = attempt.again(attempt.given, replace(attempt.assumed, named=False))
    found = (found.again(plain) or found) if attempt.site != attempt.given else found
    reaches: dict[int, Mapping[int, str]] = {}
    for probed in (_small(found), found):  # a small launch is cheap, and tells nothing where tiles are whole
        if probed is not None and not reaches:
            reaches = {i: reach for i in _mere(found.attempt) if (reach := _reach(probed, i))}
    if not reaches:
        return
    texts = list(found.attempt.site.arguments)
    others = [size.copy() for size in map(dict, found.values)]
    for size in others:
        for i in reaches:
            size.pop(texts[i], None)
    told: dict[int, str] = {}
    for buffer in found.kinds:
        along = [i for i in reaches if buffer in reaches[i]]
        if not along or set(along) <= set(told):
            continue
        deep = [name for name in others[0] if not found.attempt.steps[name]]
        extent = fit(_inner(found, buffer, {i: reaches[i][buffer] for i in along}), others, liked=deep)
        for i in reversed(along):
            if extent is None:
                return
            told.setdefault(i, extent)
            extent = _times(reaches[i][buffer], told[i])
    if told:
        for i, text in told.items():
            texts[i] = text
        site = replace(found.attempt.site, arguments=tuple(texts))
        why = dict.fromkeys(told, "elements lie dense")
        told_so = {**found.attempt.assumed.told, **why}
        assumed = replace(found.attempt.assumed, told=told_so, named=False)
        yield found.attempt.again(site, assumed)


def _times(one: str, other: str) -> str:
    """The product of two expressions."""
    factors = [f"({text})" if set("+-/%") & set(text) else text for text in (one, other) if text != "1"]
    return " * ".join(factors) or "1"


def _small(found: Launched) -> Launched | None:
    """The same attempt at small sizes; None where it does not come to its end."""
    attempt, values = found.attempt, [found.attempt.size(at, 0) for at in range(len(found.values))]
    seen = [None if attempt.late else attempt.run(size, found.kinds) for size in values]
    launches = [one for one in seen if one is not None]
    return Launched(attempt, launches, values, found.kinds) if len(launches) == len(values) else None


def _mere(attempt: Attempt) -> Iterator[int]:
    """Integers that the host hands on and uses for nothing else."""
    site = attempt.site
    for i in attempt.integers:
        name = site.arguments[i]
        others = (*site.grid, *site.block, site.dynamic_lds, *site.arguments[:i], *site.arguments[i + 1 :])
        if name in attempt.names and not any(name in text for text in others):
            yield i


def _reach(found: Launched, i: int) -> Mapping[int, str]:
    """Number of a buffer -> how many elements lie so far apart in it, for an argument that is such a distance."""
    attempt, name = found.attempt, found.attempt.site.arguments[i]
    grown: list[SeenLaunch] = []
    for size in found.values:
        seen = None if attempt.late else attempt.run({**size, name: size[name] + _PROBED}, found.kinds)
        if seen is None:
            return {}
        grown.append(seen)
    result = {}
    for buffer in found.kinds:
        counts = []
        for seen, usual in zip(grown, found.launches, strict=True):
            more, rest = divmod(_elements(found, seen, buffer) - _elements(found, usual, buffer), _PROBED)
            counts.append(-1 if rest or more < 0 else more + 1)
        text = _extent(counts, [{**size, name: 0} for size in found.values])
        if text:
            result[buffer] = text
    return result


def _extent(counts: Sequence[int], sizes: Sequence[Sizes]) -> str:
    """A size, a product of two, or a number, of which there are so many in each launch; "" for none."""
    if min(counts) < 1 or max(counts) < 2:
        return ""
    names = [name for name in sizes[0] if all(size[name] for size in sizes)]
    for chosen in (*((name,) for name in names), *combinations(names, 2)):
        if [int(np.prod([size[name] for name in chosen])) for size in sizes] == list(counts):
            return " * ".join(chosen)
    # Two everywhere is what lies together at each place: that grows once with its length.
    return str(counts[0]) if len(set(counts)) == 1 and counts[0] > 2 else ""


def _elements(found: Launched, seen: SeenLaunch, buffer: int) -> int:
    return seen.buffers[buffer].size // element_type(found.kinds[buffer]).raw.itemsize


def _at(text: str, sizes: Sizes) -> int:
    """The value of a product of sizes, or of a number."""
    return prod(int(one) if one.isdigit() else sizes[one] for one in text.split(" * "))


def _inner(found: Launched, buffer: int, along: Mapping[int, str]) -> list[int]:
    """Elements that lie together at each place of such axes, launch by launch."""
    names = {i: found.attempt.site.arguments[i] for i in along}
    return [
        _elements(found, seen, buffer) - sum((_at(along[i], size) - 1) * size[names[i]] for i in along)
        for seen, size in zip(found.launches, found.values, strict=True)
    ]


def _with_bounds(found: Launched) -> Iterator[Attempt]:
    """Where arguments are bounds of indices of what is stored: told so that nothing is cut off."""
    attempt = found.attempt
    for i in _mere(attempt) if EACH_ONCE in attempt.assumed.contents.values() else ():
        name, seen = attempt.site.arguments[i], []
        for size in found.values:
            one = None if attempt.late else attempt.run({**size, name: _LARGE}, found.kinds)
            seen += [one] if one else []
        if len(seen) < len(found.values):
            continue
        others = [{other: value for other, value in size.items() if other != name} for size in found.values]
        texts = {
            text
            for buffer in found.loose
            if (text := fit([_elements(found, one, buffer) for one in seen], others))
        }
        for text in sorted(texts, key=len)[:_MOST_BOUNDS]:
            arguments = (*attempt.site.arguments[:i], text, *attempt.site.arguments[i + 1 :])
            told = {**attempt.assumed.told, i: "all that there is"}
            yield attempt.again(
                replace(attempt.site, arguments=arguments), replace(attempt.assumed, told=told)
            )


def _with_relations(found: Launched) -> Iterator[Attempt]:
    """Where a size is a multiple of a number of elements that share something, or of another size."""
    attempt, assumed = found.attempt, found.attempt.assumed
    for deep in _GROUPS:
        yield attempt.again(attempt.site, replace(assumed, deep=deep))
    free = [name for name in attempt.names if name not in (*attempt.shared, *attempt.shared.values())]
    if len(free) > _MOST_SIZES:
        return
    for unit in (1, DEEP):
        for few, many in permutations(free, 2):
            if attempt.steps[few] <= 1:
                shared = {**assumed.shared, few: many}
                yield attempt.again(attempt.site, replace(assumed, shared=shared, unit=unit))
