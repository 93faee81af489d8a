"""What a wrong product looks like: known faults recomputed, and regions in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product as product_of
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.numbers import element_type
from layoutprobe.numbers.cut_off import cut_off, cut_off_in_words
from layoutprobe.report.words import lines_of, region
from layoutprobe.trace.epilogues import MULTIPLY, Steps, applied, epilogue_faults

Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]

TILE = 16
"""Rows and columns of a tile where no matrix instruction says otherwise."""
_SIGN = {True: ": the top bit becomes a sign", False: ": its sign is lost"}
_UNKNOWN = 0.5
"""Share of elements that a fault may leave open: what it reads there lies outside of a buffer."""
_STEPS = (1, 2, 4)
"""K steps that a loop may leave out or repeat, in tiles."""


class Factored(Struct, frozen=True, eq=False, dict=True):
    """A and B, and what products make of them: runs on the same A and B share it."""

    a: Doubles
    b: Doubles

    __repr__ = brief

    @cached_property
    def product(self) -> Doubles:
        """A @ B."""
        return np.asarray(self.a @ self.b)

    @cached_property
    def terms(self) -> Doubles:
        """|A| @ |B|."""
        return np.asarray(np.abs(self.a) @ np.abs(self.b))

    @cached_property
    def squares(self) -> Doubles:
        """A*A @ B*B."""
        return np.asarray(self.a**2 @ self.b**2)

    @cached_property
    def quantum(self) -> float:
        """A power of two that all products of an element of A and one of B are multiples of; see `quantum`."""
        return quantum(self.a) * quantum(self.b)


class Product(Struct, frozen=True, eq=False, dict=True):
    """D = alpha * A @ B + beta * C, as float64; leading axes are a batch.

    Attributes:
        a, b: factors.
        c: what is added; None where nothing is.
        alpha, beta: scalars.
        tile: rows, and columns, of a matrix instruction's D.
        types: of A and of B in memory; "" where that does not matter.
        taken_for: types that the kernel's instructions may take the bits of A, and of B, for.
        steps: what is made of that before it is stored. Where there are any, beta * C is one of them, and c None.
        extents: sizes of the problem by name, of which one may be taken for another.
        shared: of A and B, where other products have the same; else None.
        held: what D held before, where it is no C; None where that was nothing.
    """

    a: Doubles
    b: Doubles
    c: Doubles | None
    alpha: float
    beta: float
    tile: int = TILE
    types: tuple[str, str] = ("", "")
    taken_for: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    steps: Steps = ()
    extents: Mapping[str, int] = field(default_factory=dict)
    shared: Factored | None = None
    held: Doubles | None = None

    __repr__ = brief

    @cached_property
    def factored(self) -> Factored:
        """A and B with their products."""
        return self.shared or Factored(self.a, self.b)

    def value(self) -> Doubles:
        """The right result."""
        return self._made_of(self.factored.product)

    def of(self, a: Doubles, b: Doubles) -> Doubles:
        """The result with other factors."""
        return self._made_of(a @ b)

    def _made_of(self, product: Doubles) -> Doubles:
        scaled = self.alpha * product
        added = scaled if self.c is None or not self.beta else scaled + self.beta * self.c
        return applied(self.steps, added)

    def magnitude(self) -> tuple[Doubles, Doubles]:
        """|alpha| * |A| @ |B| and |beta * C|: what rounding errors are relative to. Not kept: two arrays like D."""
        terms = np.asarray(abs(self.alpha) * self.factored.terms)
        added = np.zeros(()) if self.c is None or not self.beta else np.abs(self.beta * self.c)
        for step in self.steps:
            if step.kind == MULTIPLY and step.values is not None:
                terms, added = (np.asarray(x * np.abs(step.values)) for x in (terms, added))
            elif step.values is not None:
                added = np.asarray(added + np.abs(step.values))
        return terms, added

    def spread(self) -> Doubles:
        """|alpha| * sqrt(A*A @ B*B): how far sums of terms of either sign come from zero."""
        scales = [
            replace(s, values=np.abs(s.values))
            for s in self.steps
            if s.kind == MULTIPLY and s.values is not None
        ]
        return applied(scales, np.asarray(abs(self.alpha) * np.sqrt(self.factored.squares)))


def quantum(values: Doubles) -> float:
    """The largest power of two up to 1 that all numbers are multiples of; 0 where one is not finite."""
    if (values == np.rint(values)).all() and np.isfinite(values).all():
        return 1.0
    values = np.abs(values[values != 0])
    if not np.isfinite(values).all():
        return 0.0
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # trailing zeros
    return float(2.0 ** min(0, int((exponent + lowest - 53).min(initial=0))))


def transposed_tiles(matrix: Doubles, tile: int = TILE) -> Doubles:
    """Every tile transposed in place; beyond the edge there are zeros."""
    *lead, rows, cols = matrix.shape
    tall, wide = -(-rows // tile) * tile, -(-cols // tile) * tile
    padded = np.zeros((*lead, tall, wide))
    padded[..., :rows, :cols] = matrix
    tiles = padded.reshape(*lead, tall // tile, tile, wide // tile, tile)
    return np.asarray(np.swapaxes(tiles, -3, -1).reshape(*lead, tall, wide)[..., :rows, :cols])


class KnownFault(Struct, frozen=True, eq=False):
    """What a kernel with a known fault computes.

    Attributes:
        says: one clause.
        value: the result.
        factor: it lies in alpha or beta alone, which coded runs do not see.
        rare: how many things must have gone wrong for it, beyond a mistake that has a name.
        about: name of the input of the epilogue whose load is to blame; "" for none.
        step: it lies in the epilogue alone.
        read: it lies in the types that a matrix instruction takes its operands for.
        rounds: it is one more rounding, and nothing else.
    """

    says: str
    value: Doubles
    factor: bool = False
    rare: int = 0
    about: str = ""
    step: bool = False
    read: bool = False
    rounds: bool = False

    __repr__ = brief


def known_faults(p: Product) -> Iterator[KnownFault]:
    """The faults that are known to leave a result of their own."""
    product = p.factored.product
    added = 0.0 if p.c is None or not p.beta else p.beta * p.c
    for fault in epilogue_faults(p.steps, p.extents, p.of(p.a, p.b).shape) if p.steps else ():
        value = applied(fault.steps, p.alpha * product)
        yield KnownFault(fault.says, value, about=fault.about, step=True, rounds=fault.rounds)
    for says, value in _factors(p, product):
        yield KnownFault(says, applied(p.steps, value), factor=True, rare=says.count("in place of"))
    for says, value in (*_operands(p), *_depths(p)):
        yield KnownFault(says, value)
    for says, value in _read_as(p):
        yield KnownFault(says, value, read=True)
    # A product that goes astray meets the C of the place where it arrives.
    product = p.alpha * product
    if product.shape[-1] == product.shape[-2]:
        yield KnownFault("C is stored transposed", applied(p.steps, np.swapaxes(product, -1, -2) + added))
    if p.tile == 16:
        says = "half-waves store 8 consecutive rows, as on another generation"
        yield KnownFault(says, applied(p.steps, rows_apart_of_16(product) + added))


Named = Iterator[tuple[str, Doubles]]


_SAID = {
    ("alpha", "0"): "beta * C is missing",
    ("alpha", "1"): "C is added without beta",
    ("beta", "alpha"): "alpha and beta are exchanged",
    ("alpha", "beta * beta"): "beta is applied twice",
    ("alpha * beta", "beta"): "beta is applied to A @ B as well",
    ("alpha", "alpha * beta"): "alpha is applied to beta * C as well",
    ("alpha", "-beta"): "beta * C is subtracted",
    ("1", "beta"): "alpha is missing",
    ("alpha * alpha", "beta"): "alpha is applied twice",
}
"""Factors of A @ B and of C -> the mistake that leaves them."""


def _factors(p: Product, product: Doubles) -> Named:
    """Other factors of A @ B and of C, in the order in which they are likely."""
    if p.c is not None and not p.beta:
        yield "what C held is added, although beta is 0", p.alpha * product + p.c
    if p.held is not None and p.held.any() and p.held.shape == product.shape:
        yield (
            "what the output held before the launch is added, and nothing sets it to zero",
            (p.alpha * product + p.held),
        )
    values = _monomials(p.alpha, p.beta if p.c is not None else None)
    for of_product, of_c in dict.fromkeys([*_SAID, *product_of(values, values)]):
        if not p.beta and ("beta" in of_product or of_product == "0"):
            continue  # a sum that is 0 altogether tells nothing of a beta that is 0, or that there is none of
        if (of_product, of_c) != ("alpha", "beta") and (p.c is not None or of_c == "beta"):
            c = 0.0 if p.c is None else values[of_c] * p.c
            yield _of_factors(of_product, of_c), values[of_product] * product + c


def _monomials(alpha: float, beta: float | None) -> dict[str, float]:
    """What the factors may have been made into, by name. Without a C, beta stands for nothing."""
    found = {"alpha": alpha, "1": 1.0, "alpha * alpha": alpha**2, "|alpha|": abs(alpha), "-alpha": -alpha}
    given = 0.0 if beta is None else beta
    found |= {"beta": given, "0": 0.0, "alpha * beta": alpha * given, "beta * beta": given**2}
    return found | {"-beta": -given, "|beta|": abs(given), "2 * beta": 2 * given, "2 * alpha": 2 * alpha}


def _of_factors(of_product: str, of_c: str) -> str:
    parts = [
        f"{what} is multiplied by {used} in place of {right}"
        for what, used, right in (("A @ B", of_product, "alpha"), ("C", of_c, "beta"))
        if used != right
    ]
    return _SAID.get((of_product, of_c)) or ", and ".join(parts)


def _operands(p: Product) -> Named:
    tiles = f"every {p.tile} x {p.tile} tile"
    turned_a, turned_b = (transposed_tiles(factor, p.tile) for factor in (p.a, p.b))
    yield f"{tiles} of A is transposed", p.of(turned_a, p.b)
    yield f"{tiles} of B is transposed", p.of(p.a, turned_b)
    yield f"{tiles} of A and of B is transposed", p.of(turned_a, turned_b)


def _depths(p: Product) -> Named:
    """Stretches of k that are left out or repeated."""
    depth = p.a.shape[-1]
    tail = depth % p.tile
    steps = [s * p.tile for s in _STEPS if s * p.tile < depth]
    for length in dict.fromkeys([*([tail] if tail else []), *([1] if depth > 1 else []), *steps]):
        yield f"the last {length} of {depth} k are missing", p.of(p.a[..., :-length], p.b[..., :-length, :])
        yield f"the first {length} of {depth} k are missing", p.of(p.a[..., length:], p.b[..., length:, :])
        again_a, again_b = (
            np.concatenate([p.a, p.a[..., -length:]], -1),
            np.concatenate([p.b, p.b[..., -length:, :]], -2),
        )
        yield f"the last {length} of {depth} k are added twice", p.of(again_a, again_b)


@np.errstate(all="ignore")
def _read_as(p: Product) -> Named:
    """Bits of A and B that the instruction takes for another type of the same width."""
    given = [element_type(name) if name else None for name in p.types]
    others: list[list[tuple[str, Doubles]]] = []
    for letter, values, kind, names in zip("AB", (p.a, p.b), given, p.taken_for, strict=True):
        listed = [("", values)]
        for name in names if kind is not None else ():
            other = element_type(name)
            if kind is not None and other.bits == kind.bits and other.name != kind.name:
                signs = "" if kind.signed == other.signed or kind.is_float else _SIGN[other.signed]
                says = (
                    f"{letter} is {kind.name} in the manifest, and the kernel takes its bits for {other.name}"
                )
                says += signs
                listed.append((says, np.asarray(other.decode(kind.encode(values)), np.float64)))
        others.append(listed)
    for says_a, a in others[0]:
        for says_b, b in others[1]:
            if says_a or says_b:
                yield "; ".join(filter(None, (says_a, says_b))), p.of(a, b)


def rows_apart_of_16(value: Doubles) -> Doubles:
    """Row 2v + h of every tile stored to row v + 8h."""
    inside = np.arange(16)
    return tiles_of_rows(value, inside % 8 * 2 + inside // 8)


def tiles_of_rows(value: Doubles, source: NDArray[np.int64]) -> Doubles:
    """Rows of every tile of 16, each from another one of it; 0 where that is beyond the last: it was not loaded."""
    rows = np.arange(value.shape[-2])
    taken = rows - rows % 16 + source[rows % 16]
    held = np.asarray(value[..., np.minimum(taken, rows.size - 1), :])
    return np.where((taken < rows.size)[:, None], held, np.zeros((), held.dtype))


def explaining(p: Product, observed: Doubles, bound: Doubles | float, dtype: str) -> list[KnownFault]:
    """The known faults that predict every element of a result, of which they know most. Where the right result is as
    near, but for one more rounding, no other one does."""
    right = p.value()
    if _predicts(KnownFault("", right), observed, bound, dtype):
        found = (fault for fault in known_faults(p) if fault.rounds)
        rounding = [fault for fault in found if (np.abs(observed - fault.value) <= bound).all()]
        return rounding or _cut_off(right, observed, dtype)
    faults = (f for f in known_faults(p) if not f.rounds and not np.array_equal(f.value, right))
    known = [fault for fault in faults if _predicts(fault, observed, bound, dtype)]
    return known or [fault for fault in _of_whole(right, dtype) if _near_whole(fault, observed, right)]


def _cut_off(right: Doubles, observed: Doubles, dtype: str) -> list[KnownFault]:
    """Where a float is cut off, as many elements show."""
    if not cut_off(right, observed, dtype).any():
        return []
    return [KnownFault(cut_off_in_words(dtype), right, step=True, rounds=True)]


def _of_whole(right: Doubles, dtype: str) -> Iterator[KnownFault]:
    """An output of integers that is made of the right result in another way than rounding to the nearest."""
    kind = element_type(dtype)
    if kind.is_float or not np.isfinite(right).all():
        return
    info = np.iinfo(kind.storage)
    low, high, nearest = float(info.min), float(info.max), np.rint(right)
    for says, whole in (
        ("is cut off, not rounded to the nearest integer", np.trunc),
        ("is rounded down", np.floor),
    ):
        yield KnownFault(f"the result {says}", np.clip(whole(right), low, high), step=True)
    if low < 0:
        says = f"the result is clamped to {-high:g} ... {high:g}, and the type goes down to {low:g}"
        yield KnownFault(says, np.clip(nearest, -high, high), step=True)
    says = "the result is not clamped: what is too large for the type wraps around"
    yield KnownFault(says, (nearest - low) % (high - low + 1) + low, step=True)


def _near_whole(fault: KnownFault, observed: Doubles, right: Doubles) -> bool:
    """Every element is the predicted one, but where f32 may take the result over the edge."""
    edge = np.abs(right * 2 - np.rint(right * 2)) <= 1e-5 * (1 + np.abs(right))
    return bool(((observed == fault.value) | (edge & (np.abs(observed - fault.value) <= 1))).all())


@np.errstate(invalid="ignore")
def _predicts(fault: KnownFault, observed: Doubles, bound: Doubles | float, dtype: str) -> bool:
    """Whether a fault is what is seen: its value may be larger than the right one, and so its rounding."""
    kind = element_type(dtype)
    largest, unit = kind.largest, 2.0 ** (1 - kind.precision) if kind.is_float else 0.0
    unknown = np.isnan(fault.value) if fault.step else np.zeros((), np.bool_)
    value = fault.value
    if not kind.is_float:
        info = np.iinfo(kind.storage)
        value = np.clip(value, float(info.min), float(info.max))
    near = np.abs(observed - value) <= bound + unit * np.abs(fault.value)
    full = np.isinf(observed) & (np.abs(fault.value) >= largest) & (observed * fault.value > 0)
    return bool((near | full | unknown).all() and unknown.mean() < _UNKNOWN)


def where_wrong(wrong: Mask, tile: int = TILE) -> str:
    """Where the wrong elements lie, in words."""
    share = wrong.mean()
    if share == 1:
        return "all elements are wrong"
    flat, rows, cols = lines_of(wrong)
    axes = ("row", rows, flat.shape[0]), ("column" if wrong.ndim > 1 else "element", cols, flat.shape[1])
    for name, lines, extent in axes:
        ragged = extent > tile and lines[0] >= extent // tile * tile
        if lines.size < extent and lines[-1] == extent - 1 and ragged:
            count = extent - int(lines[0])
            lasts = f"{count} {name}s are" if count > 1 else f"{name} is"
            return f"only the last {lasts} wrong, beyond the last whole tile of {tile}"
    for name, lines, extent in axes:
        classes = np.unique(lines % tile)
        if (
            extent > tile
            and classes.size < tile
            and lines.size == np.isin(np.arange(extent) % tile, classes).sum()
        ):
            return f"wrong in every tile of {tile} in {name}s {', '.join(map(str, classes))}"
    return f"wrong: {region(wrong)}" if share < 0.9 else "nearly all elements are wrong"


def lines_moved(c: Doubles, expected: Doubles) -> str:
    """That each wrong row (column) is another one of what is expected, in words; "" where not."""
    if c.ndim < 2 or not np.isfinite(expected).all():
        return ""
    height, width = c.shape[-2:]
    observed, wanted = c.reshape(-1, height, width)[0], expected.reshape(-1, height, width)[0]
    for name, mine, theirs in (("row", observed, wanted), ("column", observed.T, wanted.T)):
        known = {np.ascontiguousarray(line).tobytes(): number for number, line in enumerate(theirs + 0.0)}
        wrong = np.flatnonzero((mine != theirs).any(axis=1))
        found = [known.get(np.ascontiguousarray(line).tobytes(), -1) for line in mine[wrong] + 0.0]
        if mine.shape[1] > 1 and wrong.size > 1 and min(found) >= 0 and len(set(found)) > 1:
            pairs = zip(wrong[:3], found, strict=False)
            told = ", ".join(f"{name} {at} holds what belongs to {of}" for at, of in pairs)
            return f"{name}s of the result stand in each other's places: {told}"
    return ""


def error_metrics(observed: NDArray[Any], expected: Doubles) -> tuple[float, float]:
    """Largest |observed - expected|; and the same over the largest |expected|.

    Errors relative to each element would say little: sums of mixed signs come close to zero.
    """
    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(observed, np.float64) - expected)
    error = np.where(np.isnan(error), np.inf, error)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    largest = float(error.max(initial=0.0))
    return largest, largest / scale if scale else largest and np.inf
