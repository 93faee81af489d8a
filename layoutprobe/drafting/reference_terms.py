"""Terms of a drafted reference: numpy expressions of a kernel's buffers, as text and as what they give for launches
that happened."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, permutations
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type

Array = NDArray[Any]
_MOST_NAMES = 4
_LONGEST_AXIS = 1 << 16
_DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256)


class Axis(Struct, frozen=True):
    """An extent: the product of sizes and a number, divided by another.

    Attributes:
        names: of sizes, sorted where there are several.
        times, by: the numbers.
        up: a part of one counts as a whole.
    """

    names: tuple[str, ...] = ()
    times: int = 1
    by: int = 1
    up: bool = False

    def at(self, sizes: Sizes) -> int:
        """The extent at these sizes."""
        return (prod(sizes[name] for name in self.names) * self.times + self._more) // self.by

    @property
    def _more(self) -> int:
        """What is added before it is divided."""
        return self.by - 1 if self.up else 0

    def __mul__(self, other: Axis) -> Axis:
        return Axis(tuple(sorted(self.names + other.names)), self.times * other.times, self.by * other.by)

    def _text(self, names: Sequence[str], divided: str) -> str:
        factors = [*names, *([str(self.times)] if self.times > 1 or not names else [])]
        whole = f"({' * '.join(factors)} + {self._more})" if self.up else " * ".join(factors)
        return whole + (f" {divided} {self.by}" if self.by > 1 else "")

    @property
    def expression(self) -> str:
        """As a manifest has it."""
        return self._text(self.names, "/")

    @property
    def python(self) -> str:
        """In a function that is given the sizes."""
        return self._text([f'sizes["{name}"]' for name in self.names], "//")


Shape = tuple[Axis, ...]
"""Of a tensor, outermost first."""


def factorings(counts: Sequence[int], sizes: Sequence[Sizes]) -> Iterator[Shape]:
    """Axes, in no order, whose product is the number of elements at each size: sizes, and a number behind them."""
    names = [name for name in sizes[0] if any(size[name] != 1 for size in sizes)]
    for many in range(min(len(names), _MOST_NAMES) + 1):
        for chosen in combinations(names, many):
            extents = [prod(size[name] for name in chosen) for size in sizes]
            if not all(extents):
                continue
            ratio, rest = divmod(counts[0], extents[0])
            if (
                not rest
                and 0 < ratio < _LONGEST_AXIS
                and all(c == e * ratio for c, e in zip(counts, extents, strict=True))
            ):
                yield (*(Axis((name,)) for name in chosen), *([Axis(times=ratio)] if ratio > 1 else []))


def divided(counts: Sequence[int], axes: Shape, sizes: Sequence[Sizes]) -> Iterator[Shape]:
    """These axes, in their order, one of them divided by a number, where the number of elements is that."""
    for at, axis in enumerate(axes):
        for by in _DIVISORS:
            shape = (*axes[:at], Axis(axis.names, axis.times, by), *axes[at + 1 :])
            if all(
                prod(one.at(size) for one in axes) == count * by
                for count, size in zip(counts, sizes, strict=True)
            ):
                yield shape


class Term(Struct, frozen=True, eq=False):
    """An expression.

    Attributes:
        text: in Python, of variables that stand for the readings.
        at: number of a launch -> its value there.
        reads: buffers with the shapes in which they are read.
        parts: functions of `reference_parts` that it calls.
    """

    text: str
    at: Callable[[int], Array]
    reads: tuple[Reading, ...] = ()
    parts: frozenset[Callable[..., Any]] = frozenset()

    def made(self, text: str, function: Callable[[Array], Array], *parts: Callable[..., Any]) -> Term:
        """Of this term; {} in the text is where it stands."""
        return Term(
            text.replace("{}", self.text), lambda i: function(self.at(i)), self.reads, self.parts | set(parts)
        )

    def called(self, part: Callable[..., Any], *constants: object) -> Term:
        """A function of this term."""
        more = "".join(f", {one!r}" for one in constants)
        return self.made(f"{part.__name__}({bare(self.text)}{more})", lambda x: part(x, *constants), part)

    def with_other(
        self, text: str, function: Callable[[Array, Array], Array], other: Term, *parts: Callable[..., Any]
    ) -> Term:
        """Of this term, {0} in the text, and another one, {1}."""
        return Term(
            text.format(self.text, other.text),
            lambda i: function(self.at(i), other.at(i)),
            self.reads + other.reads,
            self.parts | other.parts | set(parts),
        )

    def called_with(self, part: Callable[[Array, Array], Array], other: Term) -> Term:
        """A function of this term and another one."""
        text = f"{part.__name__}({bare(self.text)}, {bare(other.text)})"
        return self.with_other(text, part, other, part)

    @property
    def arguments(self) -> frozenset[int]:
        """Numbers of the arguments that it reads."""
        return frozenset(one.argument for one in self.reads)


def bare(text: str) -> str:
    """Without brackets around the whole."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth and at < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


class Reading(Struct, frozen=True):
    """A buffer as a tensor.

    Attributes:
        argument: its number.
        name: what it is called.
        shape: of the tensor.
        dtype: of its elements.
    """

    argument: int
    name: str
    shape: Shape
    dtype: str

    @property
    def variable(self) -> str:
        """What stands for it in Python."""
        taken = keyword.iskeyword(self.name) or self.name in _TAKEN or self.name in _part_names()
        return f"{self.name}_" if taken else self.name

    def line(self, given: Shape) -> str:
        """The assignment to its variable, of an array of a given shape."""
        extents = ", ".join(axis.python for axis in self.shape)
        turned = "" if given == self.shape else f".reshape({extents})"
        return f'{self.variable} = inputs["{self.name}"]{turned}'


_TAKEN = {"inputs", "sizes", "np", "math", "len", "sum", "range"}


def _part_names() -> frozenset[str]:
    from layoutprobe.drafting import reference_parts

    return frozenset(vars(reference_parts))


class Tensors:
    """The buffers of a kernel's launches, as numbers.

    Attributes:
        launches, sizes: see there.
        names, dtypes: of the arguments.
        floats: values of arguments that are floats.
    """

    def __init__(
        self,
        launches: Sequence[SeenLaunch],
        sizes: Sequence[Sizes],
        names: Sequence[str],
        dtypes: Sequence[str],
        floats: Mapping[int, float],
    ) -> None:
        self.launches, self.sizes, self.names, self.dtypes = launches, sizes, names, dtypes
        self.floats = floats
        self._flat: dict[tuple[int, int, bool, str], Array] = {}
        self._factorings: dict[tuple[int, ...], tuple[Shape, ...]] = {}

    @cached_property
    def inputs(self) -> list[int]:
        """Arguments that are read, and whose contents are known."""
        return [
            i
            for i, one in self.launches[0].buffers.items()
            if one.loaded and self._kept(i) and self.dtypes[i]
        ]

    @cached_property
    def outputs(self) -> list[int]:
        """Arguments that are stored."""
        return [i for i, one in self.launches[0].buffers.items() if one.stored and self.dtypes[i]]

    def _kept(self, i: int) -> bool:
        return all(
            launch.buffers[i].before is not None and not launch.buffers[i].groups for launch in self.launches
        )

    def is_known(self, i: int) -> bool:
        """Whether what the launches stored in an output was kept, and is one tensor."""
        return all(
            launch.buffers[i].after is not None and not launch.buffers[i].groups for launch in self.launches
        )

    def counts(self, i: int, dtype: str = "") -> list[int]:
        """Elements of a buffer, launch by launch."""
        width = element_type(dtype or self.dtypes[i]).raw.itemsize
        return [launch.buffers[i].size // width for launch in self.launches]

    def extents(self, axes: Shape) -> list[int]:
        """Elements of a tensor of this shape, launch by launch."""
        return [prod(axis.at(size) for axis in axes) for size in self.sizes]

    def flat(self, i: int, launch: int, *, after: bool = False, dtype: str = "") -> Array:
        """Elements of a buffer before or after a launch."""
        kind = dtype or self.dtypes[i]
        key = i, launch, after, kind
        if key not in self._flat:
            element, buffer = element_type(kind), self.launches[launch].buffers[i]
            raw = buffer.after if after else buffer.before
            assert raw is not None
            codes = raw[: raw.size // element.raw.itemsize * element.raw.itemsize].view(element.raw)
            values = element.decode(codes)
            self._flat[key] = values if element.is_float else values.astype(np.int64)
        return self._flat[key]

    def read(self, i: int, shape: Shape, dtype: str = "") -> Term:
        """A buffer as a tensor."""
        reading = Reading(i, self.names[i], shape, dtype or self.dtypes[i])

        def value(launch: int) -> Array:
            extents = [axis.at(self.sizes[launch]) for axis in shape]
            return self.flat(i, launch, dtype=dtype).reshape(extents)

        return Term(reading.variable, value, (reading,))

    def factored(self, counts: Sequence[int]) -> tuple[Shape, ...]:
        """The axes that so many elements may have, in no order."""
        key = tuple(counts)
        if key not in self._factorings:
            found = tuple(factorings(key, self.sizes))
            self._factorings[key] = (*found, *(more for axes in found for more in self._split(axes)))
        return self._factorings[key]

    def _split(self, axes: Shape) -> Iterator[Shape]:
        """With the number apart that the grid has in every launch: of heads, where the launches all had as many."""
        *named, last = axes or (Axis(),)
        for extents in zip(*(launch.grid for launch in self.launches), strict=True):
            count = extents[0]
            if (
                len(set(extents)) == 1
                and not last.names
                and 1 < count < last.times
                and not last.times % count
            ):
                yield (*named, Axis(times=count), Axis(times=last.times // count))

    def pairs(self, i: int) -> Iterator[Shape]:
        """The ways to read a buffer as rows and columns."""
        for axes in self.factored(self.counts(i)):
            for many in range(1, len(axes)):
                for inner in combinations(axes, many):
                    yield product_of([one for one in axes if one not in inner]), product_of(inner)

    def orders(self, i: int) -> Iterator[Shape]:
        """The ways to read a buffer with all of its axes apart."""
        for axes in self.factored(self.counts(i)):
            if len(axes) <= _MOST_NAMES:
                yield from permutations(axes)


def product_of(axes: Sequence[Axis]) -> Axis:
    """One axis of several."""
    return prod(axes, start=Axis())
