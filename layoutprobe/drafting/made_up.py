"""What buffers hold in launches that nobody made: numbers by which sums, activations and indices show themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.numbers import element_type

BYTES = 1 << 20
"""Of each buffer: what the kernel touches of it is what it has."""
INDICES = 4
"""Integers of an input are less: they may be indices."""
_LARGEST_CODE = 0x7B
"""Of a float of eight bits that is finite, without its sign."""
_SPREAD = 0.25
"""Of floats: sums of their products are about 1, where activations differ from each other."""


def codes(random: np.random.Generator) -> NDArray[np.uint8]:
    """Bytes of which none is the code of a NaN or an infinity, whatever floats of eight bits they are."""
    found = random.integers(0, _LARGEST_CODE, BYTES, np.uint8, endpoint=True)
    return found | random.integers(0, 1, BYTES, np.uint8, endpoint=True) << np.uint8(7)


def elements(kind: str, random: np.random.Generator) -> NDArray[np.uint8]:
    """A buffer of numbers of a type, as bytes."""
    element = element_type(kind)
    count = BYTES // element.storage.itemsize
    values: NDArray[Any]
    if element.is_float:
        values = random.standard_normal(count) * _SPREAD
    elif element.storage.itemsize == 1:
        values = random.integers(
            -INDICES if element.signed else 0, INDICES, count
        )  # a bias shows beside the sums
    else:
        values = random.integers(0, INDICES, count)
        values[0] = INDICES - 1  # what it may be an index of is as long in every launch
    return np.ascontiguousarray(element.store(values)).view(np.uint8).ravel()
