"""Many lanes at once: a number is an int, the same for all of them, or an array of ints, one a lane.

The arrays hold Python's integers (dtype object), so that they are exact and of any size, like an int alone; what is
written for an int works on an array as well, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = Any
"""An int, or an object array [lane] of ints."""
Test: TypeAlias = bool | NDArray[np.bool_]


class PartedError(Exception):
    """Lanes cannot go through the text together: those with one `key` [lane] can."""

    def __init__(self, key: NDArray[Any]) -> None:
        super().__init__("lanes part ways")
        self.key = key


@contextmanager
def apart(lanes: NDArray[np.bool_]) -> Iterator[None]:
    """These lanes and the others each run for themselves; where some of them part again, all part here first."""
    try:
        yield
    except PartedError:
        raise PartedError(lanes) from None


def each(function: Callable[..., Any], *numbers: Ints) -> Ints:
    """A function of ints, for every lane."""
    if any(isinstance(number, np.ndarray) for number in numbers):
        with np.errstate(all="ignore"):  # numpy looks at flags that `math` leaves
            return np.frompyfunc(function, len(numbers), 1)(*numbers)
    return function(*numbers)


def same(number: Ints) -> int:
    """The one int of all lanes.

    Raises:
        PartedError: if there are several.
    """
    if not isinstance(number, np.ndarray):
        return int(number)
    if (number != number[0]).any():
        raise PartedError(number)
    return int(number[0])


def decided(test: Test) -> Test:
    """A bool where all lanes agree."""
    if isinstance(test, np.ndarray) and (test.all() or not test.any()):
        return bool(test.all())
    return test


def taken(number: Ints, lanes: NDArray[np.bool_]) -> Ints:
    """The number of some lanes."""
    return number[lanes] if isinstance(number, np.ndarray) else number


def joined(lanes: NDArray[np.bool_], yes: Ints, no: Ints) -> Ints:
    """`yes` in these lanes, `no` in the others."""
    if yes is no:
        return yes
    both = np.empty(len(lanes), object)
    both[lanes], both[~lanes] = yes, no
    return both
