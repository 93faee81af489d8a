"""One output of one run beside what it should be."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.numbers import element_type, rounded
from layoutprobe.trace.gemm_faults import Product
from layoutprobe.trace.subject import Recorded, RunSpec

Doubles = NDArray[np.float64]


_MOSTLY = 0.9
"""Share of numbers that must be there for being recognised: stores of other rows may lie between."""


_SIXTEEN = ("f16", "bf16")


_ROUNDED = 2.0**-7
"""How far off numbers of the wider type are in the other one."""


class Comparison(Struct, frozen=True, eq=False, dict=True):
    """One output of one run beside what it should be.

    Attributes:
        name: of the output, as the contract has it.
        output: the output's buffer.
        spec: the run.
        dtype: of the output.
        observed, expected: float64.
        undefined: bool, elements with bits that nobody has set.
        bound: largest error allowed, per element or for all.
        product: what was computed, where it is a product.
        tied: elements that lie at a tie of rounding, and are the other one of two numbers: their bound lets it pass.
        between: elements that are off by a little more than the bound, as what is rounded between steps makes them:
            their bound lets it pass.
        own: the bound that the output's type alone would give; None where that is `bound`.
        widened: in words, why `bound` is another one.
        judged: elements of which it is known what they should be; None for all.
    """

    name: str
    output: str
    spec: RunSpec
    dtype: str
    observed: Doubles
    expected: Doubles
    undefined: NDArray[np.bool_]
    bound: Doubles | float
    product: Product | None = None
    tied: int = 0
    between: int = 0
    own: Doubles | float | None = None
    widened: str = ""
    judged: NDArray[np.bool_] | None = None

    __repr__ = brief

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Elements that are off by more than the bound, or undefined."""
        return self._off(self.bound)

    @property
    def in_need_of_wider(self) -> bool:
        """The bound of the output's own type would not let it pass."""
        return self.own is not None and bool(self._off(self.own).any())

    def _off(self, bound: Doubles | float) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            near = np.isfinite(self.expected) & (np.abs(self.observed - self.expected) <= bound)
        # What rounds to infinity is infinitely far off, and right.
        same = (self.observed == rounded(self.expected, self.dtype)) | (
            np.isnan(self.observed) & np.isnan(self.expected)
        )
        off = np.asarray(~(near | same) | self.undefined)
        return off if self.judged is None else off & self.judged


def holds_f32(c: Comparison) -> bool:
    """Two elements of 16 bits hold one number of 32: its bits are those of what should be there."""
    kind = element_type(c.dtype)
    if kind.storage.itemsize != 2 or not kind.is_float or c.undefined.all():
        return False
    pairs = c.observed.size // 2
    bits = np.ascontiguousarray(kind.encode(c.observed.ravel()[: 2 * pairs])).view(np.uint32)
    known = ~c.undefined.ravel()[: 2 * pairs].reshape(-1, 2).any(axis=1)
    wanted = c.expected.ravel()[:pairs].astype(np.float32)
    found = bits.view(np.float32) == wanted
    return bool(known.any() and np.unique(wanted[known]).size > 1 and found[known].mean() > _MOSTLY)


def taken_for(c: Comparison) -> str:
    """The other type of 16 bits as which nearly all bits of a wrong output are what should be there; "" for none."""
    if c.dtype not in _SIXTEEN or c.undefined.all():
        return ""
    (other,) = (kind for kind in _SIXTEEN if kind != c.dtype)
    bits = np.asarray(element_type(c.dtype).encode(c.observed[~c.undefined]))
    held = np.asarray(element_type(other).decode(bits), np.float64)
    wanted = c.expected[~c.undefined]
    with np.errstate(invalid="ignore"):
        near = np.abs(held - wanted) <= _ROUNDED * np.abs(wanted)
    return other if np.unique(wanted).size > 1 and near.mean() > _MOSTLY else ""


def undefined_in(recorded: Recorded, name: str) -> NDArray[np.bool_]:
    """Elements of an output with bits that nobody has set."""
    bits = recorded.undefined.get(name)
    shape = recorded.outputs[name].shape
    return np.zeros(shape, np.bool_) if bits is None else np.asarray(bits != 0)
