"""Fragments of mma.sync as the PTX ISA 8.7 writes them, shape by shape.

Section 9.7.14.5, "Matrix Fragments for mma.m16n8k16 ..." and its neighbours. groupID is laneid >> 2 and
threadID_in_group is laneid % 4; i counts the elements that a lane holds.
"""

from __future__ import annotations

from collections.abc import Callable

Element = tuple[int, int]
Formula = Callable[[int, int, int], Element]
"""(groupID, threadID_in_group, i) -> row, col."""


def _a(low_rows: Callable[[int], bool], col: Callable[[int, int], int]) -> Formula:
    return lambda g, t, i: (g if low_rows(i) else g + 8, col(t, i))


A: dict[tuple[int, int, int], Formula] = {
    # (M, K, bits)
    (16, 8, 16): _a(lambda i: i < 2, lambda t, i: t * 2 + (i & 1)),
    (16, 16, 16): _a(lambda i: 0 <= i < 2 or 4 <= i < 6, lambda t, i: t * 2 + (i & 1) + (0 if i < 4 else 8)),
    (16, 4, 32): _a(lambda i: i == 0, lambda t, i: t),
    (16, 8, 32): _a(lambda i: i in (0, 2), lambda t, i: t if i < 2 else t + 4),
    (8, 16, 8): lambda g, t, i: (g, t * 4 + i),
    (16, 16, 8): _a(lambda i: i < 4, lambda t, i: t * 4 + (i & 3)),
    (16, 32, 8): _a(lambda i: 0 <= i < 4 or 8 <= i < 12, lambda t, i: t * 4 + (i & 3) + (0 if i < 8 else 16)),
    (8, 32, 4): lambda g, t, i: (g, t * 8 + i),
    (16, 32, 4): _a(lambda i: i < 8, lambda t, i: t * 8 + (i & 7)),
    (16, 64, 4): _a(
        lambda i: 0 <= i < 8 or 16 <= i < 24, lambda t, i: t * 8 + (i & 7) + (0 if i < 16 else 32)
    ),
}

B: dict[tuple[int, int, int], Formula] = {
    (16, 8, 16): lambda g, t, i: (t * 2 + i, g),
    (16, 16, 16): lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
    (16, 4, 32): lambda g, t, i: (t, g),
    (16, 8, 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    (8, 16, 8): lambda g, t, i: (t * 4 + i, g),
    (16, 16, 8): lambda g, t, i: (t * 4 + i, g),
    (16, 32, 8): lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    (8, 32, 4): lambda g, t, i: (t * 8 + i, g),
    (16, 32, 4): lambda g, t, i: (t * 8 + i, g),
    (16, 64, 4): lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
}

D: dict[int, Formula] = {
    16: lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    8: lambda g, t, i: (g, t * 2 + (i & 1)),
}
"""C and D, by M."""
