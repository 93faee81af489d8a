"""mma.sync of NVIDIA's cards: the instructions, and where NVIDIA's documents put each element.

Source: PTX ISA 8.7, "Matrix Fragments for mma" of each shape. All of them follow one scheme. Lane l
is in group g = l / 4, at place t = l % 4 of it, and a register has f = 32 / bits elements:

    A[i][k]  i = g + 8 * (vgpr % 2), k = t * f + field + 4 * f * (vgpr / 2)   (16 rows; 8 rows: vgpr 0)
    B[k][j]  k = t * f + field + 4 * f * vgpr, j = g
    D[i][j]  i = g + 8 * (n / 2), j = 2 * t + n % 2, where n numbers the elements of a lane

tests/nvidia has the formulas as the document writes them, shape by shape.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from layoutprobe.arch.fragments import Fragment, as_b

LANES = 32
Shape = tuple[int, int, int]


def _input(lines: int, depth: int, bits: int) -> Fragment:
    """Elements [line, k] of A; those of B have 8 lines."""
    line, k = (x.astype(np.int64)[None] for x in np.indices((lines, depth)))
    per = 32 // bits
    lane = 4 * (line % 8) + k // per % 4
    vgpr = line // 8 + lines // 8 * (k // (4 * per))
    return Fragment(lane, vgpr, k % per, lines * depth * bits // (32 * LANES), bits)


def _result(rows: int, bits: int) -> Fragment:
    row, col = (x.astype(np.int64)[None] for x in np.indices((rows, 8)))
    number = 2 * (row // 8) + col % 2
    per = 32 // bits
    return Fragment(4 * (row % 8) + col // 2, number // per, number % per, rows // 4 // per, bits)


def fragments(shape: Shape, bits: int, result_bits: int) -> Mapping[str, Fragment]:
    """Documented fragments of "A", "B", "C" and "D".

    Args:
        shape: (M, N, K); N is 8.
        bits: width of an element of A and B.
        result_bits: width of an element of C and D.
    """
    rows, _, depth = shape
    result = _result(rows, result_bits)
    return {"A": _input(rows, depth, bits), "B": as_b(_input(8, depth, bits)), "C": result, "D": result}
