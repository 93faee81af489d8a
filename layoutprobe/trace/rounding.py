"""How far a right kernel may be from its contract's product: what rounding explains, and no more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.model import Tolerance
from layoutprobe.numbers import element_type, rounded
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.epilogues import ACTIVATE, MULTIPLY
from layoutprobe.trace.gemm_faults import Product, quantum
from layoutprobe.trace.narrow import Arithmetic

Doubles = NDArray[np.float64]

_F32, _F64 = 2.0**-23, 2.0**-52
"""Twice the unit roundoff of a type: matrix units may truncate."""
_SPREAD = 4.0
"""Standard deviations that the sum of many roundings may be away from zero. One of them is less than half
of the estimate below, so that no element of a large matrix reaches it."""
_STEEPEST, _COMPUTED = 1.2, 1e-5
"""The largest slope of an activation, and the error of computing one with a card's exp and rcp."""


def widened(kinds: Iterable[str], name: str, dtype: str) -> str:
    """That an output is judged by the tolerance of narrower types that it may be computed in, in words; else ""."""
    narrow = [kind for kind in kinds if is_narrower(kind, dtype)]
    if not narrow:
        return ""
    types = " and ".join(narrow)
    says = f"{name} ({dtype}) is computed with arithmetic in {types}: the tolerance is that of {types}"
    return f"{says}, unless the manifest gives one (`tolerance`)"


def added_up(kinds: Iterable[str], name: str, dtype: str) -> str:
    """That an output is judged by the tolerance of sums in its own few bits, in words; else ""."""
    if element_type(dtype).is_float and half_ulp(dtype) > _F32 and dtype in kinds:
        return (
            f"{name} is added up in {dtype}: the tolerance is that of such sums, and not of one rounding to {dtype}, "
            "unless the manifest gives one (`tolerance`)"
        )
    return ""


def is_narrower(kind: str, dtype: str) -> bool:
    """Whether what is rounded to a type on its way is off by more than the output's own rounding."""
    return half_ulp(kind) > (half_ulp(dtype) or _F32)


def rounded_otherwise(compared: Iterable[Comparison]) -> tuple[str, ...]:
    """That many elements are not the numbers that a reference rounds to, though near enough, in a sentence for each
    output of few bits: where noise or another mode decides how it is rounded, that is not judged."""
    found = dict[str, str]()
    for c in compared:
        kind = element_type(c.dtype)
        if not kind.is_float or kind.precision > _FEW_BITS:
            continue
        some = np.isfinite(c.expected) & ~c.undefined
        expected, observed = c.expected[some], c.observed[some]
        if expected.size < _LEAST_ELEMENTS or not np.array_equal(rounded(expected, c.dtype), expected):
            continue
        share = float((observed != expected).mean())
        if share > _SHARE_OTHERWISE:
            found.setdefault(
                c.name,
                f"{share:.0%} of {c.name} are other numbers of {c.dtype} than the reference rounds to, within the "
                f"tolerance of {c.dtype}: how it is rounded is not judged, unless the manifest gives a smaller one "
                "(`tolerance`)",
            )
    return tuple(found.values())


_FEW_BITS, _LEAST_ELEMENTS, _SHARE_OTHERWISE = 11, 32, 0.1
"""Bits of a number of 16, elements of which a share tells something, and the share that arithmetic in f32 leaves far
behind it: of a thousand numbers one lies so near to a tie."""


def tolerated(
    product: Product,
    expected: Doubles,
    dtype: str,
    computed: Arithmetic,
    given: Tolerance,
    *,
    random: bool,
) -> Doubles | float:
    """Largest error of each element; `checks.numerics` explains it.

    Args:
        product, expected: the product and its value.
        dtype: of the output.
        computed: types in which it was added up and rounded, see `trace.narrow`.
        given: the manifest's, which goes before.
        random: elements of A and B are independent and as often positive as negative.
    """
    if given.given:
        return np.asarray((given.absolute or 0.0) + (given.relative or 0.0) * np.abs(expected))
    if is_exact(product, dtype, computed):
        return 0.0
    terms, added = product.magnitude()
    kinds = computed.sums
    output = element_type(dtype)
    steps = product.a.shape[-1] + 8
    own = _F64 if dtype == "f64" and not computed.single else _F32
    if not output.is_float:
        return np.asarray(0.5 + (steps * own * (terms + added) if product.steps else 0.0))
    error = steps * own * (terms + added) + half_ulp(dtype) * np.abs(expected) + output.smallest
    if any(step.kind == ACTIVATE for step in product.steps):
        error = _STEEPEST * error + _COMPUTED * (1 + np.abs(expected))
    if computed.once:  # terms before they are added up, or their sum
        once = max(half_ulp(kind) for kind in computed.once)
        error = error + once * (terms + added) + max(element_type(kind).smallest for kind in computed.once)
    unit = max((half_ulp(kind) for kind in kinds), default=0.0)
    if unit > _F32:
        smallest = max(element_type(kind).smallest for kind in kinds)
        narrow = _narrow(product, expected, (terms, added), unit, steps, random=random)
        error = error + narrow + steps * smallest
    return np.asarray(error)


def _narrow(
    product: Product,
    expected: Doubles,
    magnitude: tuple[Doubles, Doubles],
    unit: float,
    steps: int,
    *,
    random: bool,
) -> Doubles:
    """Error of sums in 16 bits.

    On random data a partial sum is a random walk, and so is the sum of its roundings: both grow with the
    square root of their number. Otherwise all roundings may point the same way.
    """
    terms, added = magnitude
    linear = np.asarray(steps * unit * terms + 8 * unit * added)
    if not random:
        return linear
    walk = np.sqrt(steps) * product.spread() + added + np.abs(expected)
    return np.asarray(np.minimum(linear, _SPREAD * unit * walk))


def half_ulp(kind: str) -> float:
    """Half a unit in the last place, relative to the number; 0 for integers."""
    found = element_type(kind)
    return 2.0**-found.precision if found.is_float else 0.0


def is_exact(product: Product, dtype: str, computed: Arithmetic) -> bool:
    """All partial results are multiples of one power of two that every type on the way holds.

    True for small integers, and for such multiples of alpha and beta; the order of summation is then
    of no effect.
    """
    kinds = (*computed.sums, *computed.once) or ("f32",)
    types = [element_type(kind) for kind in ("f64", dtype, *kinds)]
    limit = min(kind.exact for kind in types)
    smallest = max(kind.smallest for kind in types)
    factors = product.factored.quantum
    if factors < smallest or float(product.factored.terms.max(initial=0.0)) / factors > limit:
        return False
    scaled = factors * quantum(np.array([product.alpha]))
    if product.c is not None and product.beta:
        scaled = min(scaled, quantum(product.c) * quantum(np.array([product.beta])))
    if scaled < smallest:
        return False
    for step in product.steps:
        if step.values is None:
            if step.name != "relu":
                return False
        elif step.kind == MULTIPLY:
            scaled *= quantum(step.values)
        else:
            scaled = min(scaled, quantum(step.values))
    if product.steps and (scaled < smallest or (not types[1].is_float and scaled < 1)):
        return False
    terms, added = product.magnitude()
    return float((terms + added).max(initial=0.0)) / scaled <= limit


def judgeable(product: Product, kinds: Iterable[str]) -> NDArray[np.bool_]:
    """Elements of which no partial sum, in whatever order, comes near the largest number of a type."""
    terms, added = product.magnitude()
    largest = min((element_type(kind).largest for kind in kinds), default=np.inf)
    return np.asarray(terms / (abs(product.alpha) or 1.0) + terms + added < largest / 4)
