"""Accumulators that are added up before they are stored, where a reduction leaves one out or adds one twice.

Each accumulator that belongs to an element of D, as its operands say, has a number of its own. What arrives is the
sum of these numbers, each as often as it was added; in all elements alike, as reductions are loops over parts.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from layoutprobe.trace.accumulators import Arrivals

Ints = NDArray[np.int64]

_MOST = 5
"""Parts of an element for which all ways to add them are tried: 3 ** 5."""
_NEVER_TO_TWICE = (1, 0, 2)


def parts_added(expected: Ints, arrivals: Arrivals) -> Ints | None:
    """How often each chain is added to the elements of D, where that explains all of them and is not once each.

    Args:
        expected: element of D that every slot of every chain belongs to, -1 for none: [chain, slot].
        arrivals: what arrived.
    """
    slot = np.flatnonzero(expected.ravel() >= 0)
    element = expected.ravel()[slot]
    order = np.lexsort((slot, element))
    slot, element = slot[order], element[order]
    starts = np.flatnonzero(np.r_[True, element[1:] != element[:-1]]) if slot.size else slot
    sizes = np.diff(np.r_[starts, slot.size])
    if not slot.size or sizes.min() != sizes.max() or not 2 <= sizes[0] <= _MOST:
        return None
    parts, target = slot.reshape(-1, sizes[0]), element[starts]
    chain = np.sort(parts // expected.shape[1], axis=1)
    # Operands that hold the lines of others make it seem so, too: then elements are stored that have no part.
    if target.size != np.count_nonzero(arrivals.written) or (chain[:, 1:] == chain[:, :-1]).any():
        return None
    weights = [arrivals.codes.digit(parts, place).astype(np.float64) for place in range(len(arrivals.values))]
    arrived = [value.ravel()[target] for value in arrivals.values]
    for often in product(_NEVER_TO_TWICE, repeat=int(sizes[0])):
        if all((of @ often == held).all() for of, held in zip(weights, arrived, strict=True)):
            if set(often) == {1}:
                return None
            times = np.ones(len(expected), np.int64)
            times[parts // expected.shape[1]] = np.broadcast_to(often, parts.shape)
            return times
    return None
