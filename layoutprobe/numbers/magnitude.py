"""How large numbers usually are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def usual_size(values: NDArray[np.float64]) -> float:
    """The root mean square of those that are finite; 0 for none. Squares of large ones do not overflow."""
    sizes = np.abs(values[np.isfinite(values)])
    peak = float(sizes.max(initial=0.0))
    return peak * float(np.sqrt(np.mean((sizes / peak) ** 2))) if peak else 0.0
