"""What a kernel that is no product computes: formulas that kernels often have, held against what it stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, permutations, product

import numpy as np
from msgspec import Struct

from layoutprobe.drafting import reference_parts as parts
from layoutprobe.drafting.reference_indexed import chosen, paged
from layoutprobe.drafting.reference_products import (
    attended,
    attention,
    convolved,
    dequantised,
    gated,
    multiplied,
)
from layoutprobe.drafting.reference_terms import Array, Axis, Shape, Tensors, Term, bare, product_of
from layoutprobe.numbers import element_type

_MOST_TRIED = 10_000
"""Formulas that are tried for a kernel, whose draft is waited for; a time would depend on the machine."""
_ERROR, _TYPICAL = 0.02, 0.004
"""Of the spread of an output: what roundings may make an element differ, and all on average. Other formulas are off
by about all of it."""
_SAME = 0.002
"""So far a factor may be off that an output is multiplied by."""
_MOST_ELEMENTS = 1 << 20
_EPSILONS = (1e-5, 1e-6)
_LARGEST_EPSILON = 1e-3
_LARGEST_CODES = (127, 7, 448, 240)

Found = tuple[Term, Shape]
"""A formula, and the shape of what it gives."""


class Guess(Struct, frozen=True):
    """What one output is.

    Attributes:
        argument: its number.
        shape: of its tensor.
        term: the formula.
    """

    argument: int
    shape: Shape
    term: Term


def guesses(tensors: Tensors) -> Mapping[int, Guess]:
    """Number of each output of which a formula is found that all launches obey -> that."""
    search = _Search(tensors)
    found = {}
    for i in tensors.outputs:
        one = search.output(i)
        if one is not None:
            found[i] = one
            search.take_note(one)
    for i, one in found.items():  # what is the same, in rows and columns, where another formula has these
        if len(one.shape) == 1:
            found[i] = search.output(i) or one
    return found


class _Search:
    """For the formulas of the outputs of one kernel."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        small = [value for value in tensors.floats.values() if 0 < value <= 1]
        told = any(value <= _LARGEST_EPSILON for value in small)  # in half precision others fit as well
        self.epsilons = tuple(dict.fromkeys((*small, *(() if told else _EPSILONS))))
        self._known: dict[tuple[int, ...], Shape] = {}
        self._tried = 0

    def take_note(self, guess: Guess) -> None:
        """Of shapes that buffers have in a formula."""
        for shape in (guess.shape, *(one.shape for one in guess.term.reads)):
            if len(shape) > 1:
                self._known.setdefault(tuple(self.tensors.extents(shape)), shape)

    def output(self, i: int) -> Guess | None:
        """The formula of one output, of the first kind of which one fits."""
        if max(self.tensors.counts(i)) > _MOST_ELEMENTS or not self.tensors.is_known(i):
            return None
        for kind in (self._alone, self._picked, self._special, self._with_one, self._with_two):
            found = self._best(i, kind(i))
            if found is not None:
                return found
        return None

    def _best(self, i: int, candidates: Iterable[Found]) -> Guess | None:
        """That which is least off."""
        best, least = None, np.inf
        for term, shape in candidates:
            self._tried += 1
            if self._tried > _MOST_TRIED:
                return None
            found = self._fitting(i, term)
            if found is not None and found[1] < least:
                term, least = found
                best = Guess(i, shape, term)
        return best

    def _fitting(self, i: int, term: Term) -> tuple[Term, float] | None:
        """The term, times a factor where that makes it fit all launches, and by how much it is off on average."""
        factor = 1.0
        errors = []
        for launch in range(len(self.tensors.launches)):
            want = self.tensors.flat(i, launch, after=True)
            try:
                with np.errstate(all="ignore"):
                    given = np.asarray(term.at(launch), np.float64).ravel()
            except (ValueError, IndexError):  # shapes do not go together, or an index is outside
                return None
            if given.size != want.size or not np.isfinite(given).all() or not np.isfinite(want).all():
                return None
            error = _off(given * factor, want)
            if error is None and not launch and element_type(self.tensors.dtypes[i]).is_float:
                factor = self._factor(given, want)
                error = _off(given * factor, want)
            if error is None:
                return None
            errors.append(error)
        if factor != 1.0:
            term = _times(term, factor)
        return term, max(errors)

    def _factor(self, given: Array, want: Array) -> float:
        """By which what is given is multiplied; one that the kernel is told, or the inverse of a whole number, where
        it is near one."""
        square = float(given @ given)
        factor = float(given @ want) / square if square else 0.0
        whole = round(1 / factor) if 1e-6 < abs(factor) < 1 else 0
        near = [*self.tensors.floats.values(), *([1 / whole] if whole else []), round(factor)]
        return next((one for one in near if one and abs(one - factor) < _SAME * abs(factor)), 0.0)

    # Formulas

    def _sources(self, shape: Shape, counts: list[int]) -> Iterator[Term]:
        """Inputs of so many elements, and sums of two."""
        same = [i for i in self.tensors.inputs if self.tensors.counts(i) == counts]
        terms = [self.tensors.read(i, shape) for i in same]
        yield from terms
        for one, other in combinations(terms, 2):
            yield one.with_other("({0} + {1})", np.add, other)

    def _rowwise(self, x: Term) -> Iterator[Term]:
        """Functions of rows that give rows."""
        for part in (parts.softmax, parts.log_softmax):
            yield x.called(part)
        for eps in self.epsilons:
            yield x.called(parts.layernorm, eps)
            yield x.called(parts.rmsnorm, eps)

    def _reduced(self, x: Term) -> Iterator[Term]:
        """Functions of rows that give a number for each."""
        for name in ("sum", "mean", "max", "min", "argmax", "argmin", "var"):
            yield x.made(f"{{}}.{name}(axis=-1)", _method(name))
        yield x.made("np.abs({}).max(axis=-1)", lambda v: np.abs(v).max(axis=-1))
        yield x.made("({}**2).sum(axis=-1)", lambda v: (v**2).sum(axis=-1))
        yield x.called(parts.logsumexp)
        for eps in self.epsilons:
            yield x.called(parts.rstd, eps)
            yield x.called(parts.rrms, eps)

    def _alone(self, i: int) -> Iterator[Found]:
        """Formulas of one input, or of a sum of two."""
        counts, integers = self.tensors.counts(i), not element_type(self.tensors.dtypes[i]).is_float
        for term, shape in self._elementwise(i):
            yield term, shape
        for shape in self.tensors.pairs(i):
            rows, columns = shape
            for x in self._sources(shape, counts):
                yield from ((one, shape) for one in self._rowwise(x))
                yield x.made("{}.T", np.transpose), (columns, rows)
                if integers:
                    for top, part in product(_LARGEST_CODES, (parts.quantised, parts.quantised_by_scale)):
                        yield x.called(part, top), shape
            yield from self._halves(shape)
        yield from self._of_rows(i)

    def _elementwise(self, i: int) -> Iterator[Found]:
        counts = self.tensors.counts(i)
        flat = next(((product_of(axes),) for axes in self.tensors.factored(counts)), None)
        shape = self._known.get(tuple(counts), flat)
        if shape is None:
            return
        for x in self._sources(shape, counts):
            yield from ((one, shape) for one in _each(x))

    def _halves(self, shape: Shape) -> Iterator[Found]:
        """Both halves of rows that are twice as long: a gate."""
        rows, columns = shape
        for j in self.tensors.inputs:
            if self.tensors.counts(j) != self.tensors.extents((rows, Axis(times=2), columns)):
                continue
            x = self.tensors.read(j, (rows, Axis(times=2), columns))
            for one, other in ((0, 1), (1, 0)):
                first = x.made(f"{{}}[:, {one}]", lambda v, one=one: v[:, one])  # type: ignore[misc]
                second = x.made(f"{{}}[:, {other}]", lambda v, other=other: v[:, other])  # type: ignore[misc]
                for active in _each(first):
                    yield active.with_other("({0} * {1})", np.multiply, second), shape

    def _of_rows(self, i: int) -> Iterator[Found]:
        """What has an element, or a few, for each row of an input."""
        counts = self.tensors.counts(i)
        for j in self.tensors.inputs:
            for shape in self.tensors.pairs(j):
                rows, columns = ([axis.at(size) for size in self.tensors.sizes] for axis in shape)
                x = self.tensors.read(j, shape)
                if rows == counts:
                    yield from ((one, shape[:1]) for one in self._reduced(x))
                if columns == counts:
                    yield from ((one, shape[1:]) for one in self._reduced(x.made("{}.T", np.transpose)))
                many = counts[0] // rows[0]
                if 1 <= many < min(columns) and [many * one for one in rows] == counts:
                    chosen = shape[0], Axis(times=many)
                    for rated in (x, x.called(parts.softmax)):
                        yield rated.called(parts.largest, many), chosen
                    yield x.called(parts.largest, many).called(parts.softmax), chosen
                    yield x.called(parts.places_of_largest, many), chosen

    def _picked(self, i: int) -> Iterator[Found]:
        """Formulas of an input and of one that holds indices."""
        tensors, counts = self.tensors, self.tensors.counts(i)
        for labels in tensors.inputs:
            if element_type(tensors.dtypes[labels]).is_float or labels == i:
                continue
            for rows in tensors.factored(tensors.counts(labels)):
                at = tensors.read(labels, (product_of(rows),))
                for j in tensors.inputs:
                    if j == labels:
                        continue
                    for shape in tensors.pairs(j):
                        x = tensors.read(j, shape)
                        if shape[0] == product_of(rows) and tensors.counts(labels) == counts:
                            yield x.called_with(parts.cross_entropy, at), (product_of(rows),)
                        gathered = x.with_other("{0}[{1}]", lambda v, at: v[at], at)
                        yield gathered, (product_of(rows), shape[1])
                        yield from self._turned(i, gathered, product_of(rows))

    def _turned(self, i: int, turns: Term, rows: Axis) -> Iterator[Found]:
        """Heads of rows that are turned by angles: cosines, then sines."""
        for shape in self.tensors.orders(i):
            if len(shape) != 3 or shape[0] != rows:
                continue
            for x in self._sources(shape, self.tensors.counts(i)):
                for part in (parts.turned_halves, parts.turned_pairs):
                    yield x.called_with(part, turns), shape

    def _turned_by_tables(self, i: int, shape: Shape) -> Iterator[Found]:
        """The same where cosines and sines are tables of their own."""
        rows, _, depth = shape
        half = rows, Axis(depth.names, depth.times, 2) if depth.names else Axis((), depth.times // 2)
        tables = [j for j in self.tensors.inputs if self.tensors.counts(j) == self.tensors.extents(half)]
        for cos, sin in permutations(tables, 2):
            both = self.tensors.read(cos, half).with_other(
                "np.concatenate([{0}, {1}], axis=1)",
                lambda one, other: np.concatenate([one, other], axis=1),
                self.tensors.read(sin, half),
            )
            yield from self._turned(i, both, rows)

    def _special(self, i: int) -> Iterator[Found]:
        """Formulas with products in them."""
        for shape in self.tensors.orders(i):
            if len(shape) == 3:
                yield from self._turned_by_tables(i, shape)
        for kind in (multiplied, gated, attention, attended, dequantised, convolved, chosen, paged):
            yield from kind(self.tensors, i)

    def _with_one(self, i: int) -> Iterator[Found]:
        """Formulas of one input, and another one beside it."""
        for core, shape in self._cores(i):
            for other in self._beside(core, shape):
                yield from ((one, shape) for one in _combined(core, other))

    def _with_two(self, i: int) -> Iterator[Found]:
        """The same with two others."""
        for core, shape in self._cores(i):
            for first in self._beside(core, shape):
                for second in self._beside(core, shape):
                    if first.arguments & second.arguments:
                        continue
                    if core.text.isidentifier():
                        for active in _each(core.with_other("({0} + {1})", np.add, first)):
                            yield active.with_other("({0} + {1})", np.add, second), shape
                            yield active.with_other("({0} * {1})", np.multiply, second), shape
                    scaled = core.with_other("({0} * {1})", np.multiply, first)
                    yield scaled.with_other("({0} + {1})", np.add, second), shape
                    yield (
                        core.with_other("({0} - {1})", np.subtract, first).with_other(
                            "({0} * {1})", np.multiply, second
                        ),
                        shape,
                    )
                    if min(first.arguments) < min(second.arguments):
                        yield scaled.with_other("({0} * {1})", np.multiply, second), shape

    def _cores(self, i: int) -> Iterator[Found]:
        counts = self.tensors.counts(i)
        for shape in self.tensors.pairs(i):
            for x in self._sources(shape, counts):
                yield from ((one, shape) for one in (*_each(x), *self._rowwise(x)))
        yield from self._elementwise(i)
        for shape in self.tensors.orders(i):
            if len(shape) == 3:
                for x in self._sources(shape, counts):
                    yield from ((one, shape) for one in self._by_groups(x, shape))

    def _by_groups(self, x: Term, shape: Shape) -> Iterator[Term]:
        """Functions of groups of channels: so many of them as a size says, or one for each channel."""
        channels = shape[1]
        divisors = [
            Axis((name,))
            for name in self.tensors.sizes[0]
            if all(not channels.at(size) % max(1, size[name]) for size in self.tensors.sizes)
        ]
        for groups, eps in product(dict.fromkeys((*divisors, channels)), self.epsilons):

            def value(i: int, groups: Axis = groups, eps: float = eps) -> Array:
                return parts.groupnorm(x.at(i), groups.at(self.tensors.sizes[i]), eps)

            text = f"groupnorm({bare(x.text)}, {groups.python}, {eps!r})"
            yield Term(text, value, x.reads, x.parts | {parts.groupnorm})

    def _beside(self, core: Term, shape: Shape) -> Iterator[Term]:
        """Inputs that broadcast to a shape."""
        ways = [shape, *([shape[1:], (shape[0], Axis())] if len(shape) == 2 else [])]
        ways += [(shape[1], Axis())] if len(shape) == 3 else []
        for j in self.tensors.inputs:
            if j in core.arguments:
                continue
            for way in ways:
                if self.tensors.counts(j) == self.tensors.extents(way):
                    yield self.tensors.read(j, way)
            if set(self.tensors.counts(j)) == {1}:
                yield self.tensors.read(j, (Axis(),))
            if len(shape) == 1:
                yield from self._again_and_again(j, shape[0])

    def _again_and_again(self, j: int, whole: Axis) -> Iterator[Term]:
        """A shorter input that begins anew until a flat output ends."""
        counts = self.tensors.counts(j)
        if all(one > few > 1 for one, few in zip(self.tensors.extents((whole,)), counts, strict=True)):
            own = next(((product_of(axes),) for axes in self.tensors.factored(counts)), None)
            if own and own[0].names:
                x, sizes = self.tensors.read(j, own), self.tensors.sizes
                text = f"np.resize({x.text}, {whole.python})"
                yield Term(text, lambda i: np.resize(x.at(i), whole.at(sizes[i])), x.reads)


def _each(x: Term) -> Iterator[Term]:
    """Functions of single elements, and none."""
    yield x
    for part in (parts.relu, parts.silu, parts.gelu, parts.gelu_tanh, parts.sigmoid, parts.tanh, parts.exp):
        yield x.called(part)
    yield x.made("{}**2", np.square)


def _combined(core: Term, other: Term) -> Iterator[Term]:
    """Of two terms."""
    yield core.with_other("({0} * {1})", np.multiply, other)
    yield core.with_other("({0} + {1})", np.add, other)
    yield core.with_other("({0} - {1})", np.subtract, other)
    yield core.with_other("({0} / {1})", np.divide, other)
    yield core.with_other("({0} * (1 + {1}))", lambda x, y: x * (1 + y), other)
    if core.text.isidentifier():
        yield from _each(core.with_other("({0} + {1})", np.add, other))


def _method(name: str) -> Callable[[Array], Array]:
    return lambda x: getattr(x, name)(axis=-1)


def _times(term: Term, factor: float) -> Term:
    whole = round(1 / factor) if abs(factor) < 1 else 0
    if whole and np.isclose(factor * whole, 1, rtol=1e-6):
        return term.made(f"{{}} / {whole}", lambda x: x / whole)
    return term.made(f"{factor:g} * {{}}", lambda x: x * factor)


def _off(given: Array, want: Array) -> float | None:
    """By how much elements are off on average, of their spread; None where that is more than roundings make."""
    spread = float(np.ptp(want)) or float(np.abs(want).max()) or 1.0
    error = np.abs(given - want) / spread
    return float(error.mean()) if error.max() <= _ERROR and error.mean() <= _TYPICAL else None
