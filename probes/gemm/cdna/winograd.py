"""What winograd.hip computes, in float64: both transforms as matrices, and a product for each position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

INPUT = np.array(
    [
        [1, 0, -21 / 4, 0, 21 / 4, 0, -1, 0],
        [0, 1, 1, -17 / 4, -17 / 4, 1, 1, 0],
        [0, -1, 1, 17 / 4, -17 / 4, -1, 1, 0],
        [0, 1 / 2, 1 / 4, -5 / 2, -5 / 4, 2, 1, 0],
        [0, -1 / 2, 1 / 4, 5 / 2, -5 / 4, -2, 1, 0],
        [0, 2, 4, -5 / 2, -5, 1 / 2, 1, 0],
        [0, -2, 4, 5 / 2, -5, -1 / 2, 1, 0],
        [0, -1, 0, 21 / 4, 0, -21 / 4, 0, 1],
    ]
)
POINTS = np.array([1.0, -1.0, 2.0, -2.0, 0.5, -0.5])
OUTPUT = np.array([[float(p == 0), *POINTS**p, float(p == 5)] for p in range(6)])
SCALE = 2.0**-12


def convolution(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """y [K][6 TY][6 TX] of x [C][6 TY + 2][6 TX + 2] and transformed filters U [64][K][C]."""
    x, u = inputs["x"].astype(np.float64), inputs["U"].astype(np.float64)
    down, right = sizes["TY"], sizes["TX"]
    y = np.zeros((u.shape[1], 6 * down, 6 * right))
    for row in range(down):
        for col in range(right):
            patch = x[:, 6 * row : 6 * row + 8, 6 * col : 6 * col + 8]
            # The kernel multiplies in f16.
            v = (INPUT @ patch @ INPUT.T).astype(np.float16).astype(np.float64).reshape(-1, 64)
            m = np.einsum("pkc,cp->kp", u, v).reshape(-1, 8, 8)
            y[:, 6 * row : 6 * row + 6, 6 * col : 6 * col + 6] = SCALE * (OUTPUT @ m @ OUTPUT.T)
    return {"y": y}
