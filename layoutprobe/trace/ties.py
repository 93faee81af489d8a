"""Whole numbers at a tie: where a Python reference, computed in float64, rounds 63.5 up, f32 may have 63.49999. And
single elements that are farther off than others, as what they are made of is rounded to 16 bits between the steps.

Which elements these are the reference itself says: it is called again with arrays whose arithmetic is rounded
otherwise, as that of f32 might be, or of 16 bits. What f32 computes exactly stays as it is, so that a kernel that
rounds a tie of its own wrong is still wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.numbers import element_type, rounded
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.subject import Subject, UndecidedError

_UNIT = 2.0**-22
"""How far a step is off, at most: f32 rounds by 2^-24, and a division is several instructions."""
_ROUNDED = 0
"""In place of a sign."""
_TIMES = 4
"""Ways of rounding that are tried, each with its opposite: what the one leaves at a tie, the other moves."""
_SINGLE, _LITTLE = 1 / 500, 2.0
"""Such a share of all elements are single ones, and so many times the bound is a little more: what is more is no
matter of rounding."""
_FEW, _LONGER, _SEVERAL = 1 / 50, 4.0, 2.0
"""The share of all elements that jumps explain; how many times the rounding of one step that of a kernel is, whose
exponentials are of two instructions and whose sums are in another order; and how many jumps meet in an element."""
_NARROW = 8
"""Bits of floats that are as coarse as integers."""
_SMOOTH = frozenset(
    {np.add, np.subtract, np.multiply, np.matmul, np.divide, np.reciprocal, np.sqrt, np.cbrt, np.square, np.power,
     np.float_power, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.tanh, np.sin, np.cos,
     np.hypot}
)  # fmt: skip
"""Arithmetic that rounds. Comparisons, and what makes whole numbers, are exact."""
_PRODUCTS = frozenset({np.einsum, np.dot, np.inner, np.tensordot})
"""Sums of products that are no arithmetic of arrays by themselves."""
_EXACT = frozenset({np.add, np.subtract, np.multiply, np.matmul, np.square, np.divide})
"""Of these, steps that f32 makes without an error where operands and result are numbers of f32."""

Values = NDArray[Any]
_Way = tuple[int, int, float]
"""A seed, a sign, and the unit of rounding; without a sign every step is rounded to f32, as a kernel does it."""


class _Shaken(np.ndarray[Any, Any]):
    """An array whose arithmetic in floats is off by up to _UNIT; equal numbers, and those that rounding alone tells
    apart, are off alike, so that what was equal or in order stays so."""

    way: _Way = (0, 0, 0.0)

    def __array_finalize__(self, made_from: object) -> None:
        self.way = getattr(made_from, "way", self.way)

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **how: Any) -> Any:
        out = how.get("out")
        how = {
            key: tuple(map(_plain, value)) if key == "out" else _plain(value) for key, value in how.items()
        }
        plain = [_plain(value) for value in inputs]
        made = getattr(ufunc, method)(*plain, **how)
        if ufunc in _SMOOTH and isinstance(made, np.ndarray | np.floating) and made.dtype.kind == "f":
            off = _off(ufunc, method, plain, np.asarray(made), how, self.way)
            if out is None:
                made = (made + off).astype(made.dtype)
            else:
                np.asarray(made)[...] = made + off
        if out is not None:
            return out[0] if len(out) == 1 else out
        return _as_shaken(made, self.way) if isinstance(made, np.ndarray | np.floating) else made

    def __array_function__(self, func: Any, types: Any, inputs: Any, how: Any) -> Any:
        if func not in _PRODUCTS:
            return super().__array_function__(func, types, inputs, how)
        how = {key: _plain(value) for key, value in how.items()}
        plain = [_plain(value) for value in inputs]
        made, arrays = np.asarray(func(*plain, **how)), [one for one in plain if isinstance(one, np.ndarray)]
        exact = _held(made) & all(_held(one).all() for one in arrays)
        size = func(*(np.abs(one) if isinstance(one, np.ndarray) else one for one in plain), **how)
        return _as_shaken(made + _shift(made, np.asarray(size), exact, self.way), self.way)


class _ShakenSize(int):
    """A size, of which quotients and roots are numbers whose arithmetic is off, as are arrays that meet it."""

    way: _Way = (0, 0, 0.0)

    def __truediv__(self, other: Any) -> Any:
        return np.divide(_as_shaken(float(self), self.way), _as_plain_int(other))

    def __rtruediv__(self, other: Any) -> Any:
        return np.divide(other, _as_shaken(float(self), self.way))

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if isinstance(other, float):
            return np.power(_as_shaken(float(self), self.way), other)
        return pow(int(self), other, modulo)

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **how: Any) -> Any:
        met = (
            _as_shaken(value, self.way) if isinstance(value, np.ndarray) else _as_plain_int(value)
            for value in inputs
        )
        return getattr(ufunc, method)(*met, **how)


def _as_plain_int(value: Any) -> Any:
    return int(value) if isinstance(value, _ShakenSize) else value


def settled(
    subject: Subject, inputs: Mapping[str, Values], compared: Iterable[Comparison]
) -> Iterator[Comparison]:
    """Comparisons of one run, in which elements at a tie may be either of the two numbers.

    Args:
        subject: with a Python reference.
        inputs: what it gets of that run.
        compared: its outputs.
    """
    for c in compared:
        if not may_be_tied(c):
            yield c
            continue
        key = (settled, c.spec)
        if key not in subject.memo:
            subject.memo[key] = tuple(_otherwise(subject, inputs, _UNIT))
        yield _beside(c, [given[c.name] for given in subject.memo[key] if c.name in given])


def may_be_tied(c: Comparison) -> bool:
    """Something is wrong, and all that is wrong is the neighbour of what is right: else a tie explains nothing."""
    kind = element_type(c.dtype)
    if (kind.is_float and kind.bits > _NARROW) or not c.wrong.any():
        return False
    with np.errstate(invalid="ignore"):
        near = np.abs(c.observed - rounded(c.expected, c.dtype)) <= _unit(c.dtype, c.expected)
    return bool(near[c.wrong].all())


def at_ties(compared: Iterable[Comparison]) -> tuple[str, ...]:
    """That elements at a tie were not decided, in a sentence for each output that has such."""
    names = dict.fromkeys(c.name for c in compared if c.tied)
    return tuple(f"elements of {name} at a tie of its rounding pass on either side" for name in names)


def _beside(c: Comparison, given: list[Values]) -> Comparison:
    """A comparison, with elements at a tie right where they are the other one of two neighbours."""
    usual = rounded(c.expected, c.dtype)
    unit = _unit(c.dtype, usual)
    least, most = usual.copy(), usual.copy()
    for values in given:
        if np.shape(values) in ((), usual.shape):
            other = rounded(np.asarray(values, np.float64), c.dtype)
            least, most = np.fmin(least, other), np.fmax(most, other)
    with np.errstate(invalid="ignore"):
        tied = c.wrong & ~c.undefined & (most - least <= unit) & (least <= c.observed) & (c.observed <= most)
        bound = np.where(tied, np.abs(c.observed - c.expected), c.bound)
    return replace(c, bound=bound, tied=int(tied.sum())) if tied.any() else c


def _unit(dtype: str, values: NDArray[np.float64]) -> NDArray[np.float64] | float:
    """The distance to a neighbour, at most."""
    kind = element_type(dtype)
    if not kind.is_float:
        return 1.0
    return np.asarray(np.maximum(2.0 ** (1 - kind.precision) * np.abs(values), kind.smallest))


def between_steps(
    subject: Subject, inputs: Mapping[str, Values], kinds: Sequence[str], compared: Iterable[Comparison]
) -> Iterator[Comparison]:
    """Comparisons of one run, in which single elements may be farther off than others: a little, where terms that
    cancel are rounded before they do; as far as f32 alone makes the reference jump, where that rounds on the way.

    Args:
        subject: with a Python reference.
        inputs: what it gets of that run.
        kinds: types that the kernel rounds to, and goes on with.
        compared: its outputs.
    """
    unit = max((2.0 ** -element_type(kind).precision for kind in kinds), default=0.0)
    for c in compared:
        explained = _are_few(c, _FEW) and _explained(subject, inputs, c, _LONGER * _UNIT, _SEVERAL)
        explained = explained or (unit > 0 and _are_single(c) and _explained(subject, inputs, c, unit))
        yield _let_off(c) if explained else c


def _let_off(c: Comparison) -> Comparison:
    with np.errstate(invalid="ignore"):
        off = np.abs(c.observed - c.expected)
    return replace(c, bound=np.where(c.wrong, off, c.bound), between=int(c.wrong.sum()))


def _explained(
    subject: Subject, inputs: Mapping[str, Values], c: Comparison, unit: float, times: float = 1.0
) -> bool:
    """Whether nothing that is wrong is farther off than so many times what the reference gives where its steps are
    rounded to a unit."""
    others = [given[c.name] for given in _otherwise(subject, inputs, unit) if c.name in given]
    fitting = [np.asarray(other, np.float64) for other in others if np.shape(other) == c.expected.shape]
    with np.errstate(invalid="ignore"):
        reach = np.max([np.abs(other - c.expected) for other in fitting], axis=0, initial=0.0)
        return bool((np.abs(c.observed - c.expected) <= times * reach)[c.wrong].all())


def _are_few(c: Comparison, share: float) -> bool:
    """What is wrong are few elements of many: a reference that rounds to 16 bits itself has jumps, and what f32
    rounds otherwise lands on another side of them."""
    return element_type(c.dtype).is_float and 0 < c.wrong.mean() <= share and not c.undefined.any()


def _are_single(c: Comparison) -> bool:
    """What is wrong is little, and of few elements."""
    if not _are_few(c, _SINGLE):
        return False
    with np.errstate(invalid="ignore"):
        return bool((np.abs(c.observed - c.expected) <= _LITTLE * c.bound)[c.wrong].all())


def rounded_between(compared: Iterable[Comparison]) -> tuple[str, ...]:
    """That single elements were let off, in a sentence for each output that has such."""
    often = Counter[str]()
    for c in compared:
        often[c.name] += c.between
    return tuple(
        f"{count} element{'s' * (count > 1)} of {name} farther off than others, as sums of what is rounded on the way"
        for name, count in often.items()
        if count
    )


def _otherwise(subject: Subject, inputs: Mapping[str, Values], unit: float) -> Iterator[Mapping[str, Values]]:
    """What the reference gives where its arithmetic is rounded otherwise; nothing where it takes no such arrays."""
    assert subject.reference is not None
    for seed, sign in [(0, _ROUNDED), *product(range(_TIMES), (1, -1))]:
        way = seed, sign, unit
        shaken = {name: _as_shaken(values.copy(), way) for name, values in inputs.items()}
        sizes: list[dict[str, int]] = [
            {name: _shaken_size(value, way) for name, value in subject.sizes.items()},
            dict(subject.sizes),
        ]
        found = next(filter(None, (_called(subject, shaken, given) for given in sizes)), None)
        if found is None:
            return
        yield found


def _called(
    subject: Subject, inputs: Mapping[str, Values], sizes: dict[str, int]
) -> Mapping[str, Values] | None:
    """What the reference gives; None where it fails."""
    assert subject.reference is not None
    with np.errstate(all="ignore"):
        try:
            return cast(Mapping[str, Values], subject.reference(inputs, sizes))
        except UndecidedError:
            return None


def _shaken_size(value: int, way: _Way) -> _ShakenSize:
    made = _ShakenSize(value)
    made.way = way
    return made


def _as_shaken(values: Any, way: _Way) -> _Shaken:
    made = np.asarray(values).view(_Shaken)
    made.way = way
    return made


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, _Shaken) else value


def _off(
    ufunc: np.ufunc,
    method: str,
    inputs: list[Any],
    made: Values,
    how: Mapping[str, Any],
    way: _Way,
) -> NDArray[np.float64]:
    """How far each number that was made is off."""
    exact = _held(made) & (ufunc in _EXACT)
    size = np.abs(made)
    if method == "__call__" and ufunc is not np.matmul:
        for value in inputs:
            exact = exact & _held(value)
        if ufunc is np.divide:
            exact = exact & _held(1.0 / np.asarray(inputs[1], np.float64))
    else:  # a sum is as wrong as its terms are large
        exact = exact & all(_held(value).all() for value in inputs if isinstance(value, np.ndarray))
        if ufunc in (np.add, np.matmul) and method in ("__call__", "reduce", "accumulate"):
            how = {key: value for key, value in how.items() if key != "out"}
            terms = [np.abs(value) if isinstance(value, np.ndarray) else value for value in inputs]
            size = np.asarray(getattr(ufunc, method)(*terms, **how))
    return _shift(made, size, exact, way)


def _shift(made: Values, size: Values, exact: NDArray[np.bool_], way: _Way) -> NDArray[np.float64]:
    if way[1] == _ROUNDED:
        off = made.astype(np.float32).astype(np.float64) - made
    else:
        off = np.where(exact, 0.0, way[1] * way[2] * size * _noise(made, way[0]))
    return np.asarray(np.where(np.isfinite(off), off, 0.0))


def _held(values: Any) -> NDArray[np.bool_]:
    """Whether f32 holds these numbers."""
    wide = np.asarray(values)
    with np.errstate(all="ignore"):
        return np.asarray(wide == wide.astype(np.float32))


def _noise(values: Values, seed: int) -> NDArray[np.float64]:
    """Between -1 and 1, by the first 20 bits of a significand alone."""
    bits = np.array(values, np.float64).view(np.uint64)
    key = ((bits + np.uint64(1 << 31)) >> np.uint64(32)) + np.uint64(seed << 40)
    for _ in range(2):
        key = key * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return np.asarray((key >> np.uint64(11)) * 2.0**-52 - 1)
