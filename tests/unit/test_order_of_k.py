"""Which pairs of address functions show an order of k, and no swizzle that stands on one side."""

from __future__ import annotations

import pytest

from layoutprobe.trace.forms import is_order_of_k

PADDED = "padded: col*40 + row"
ORDER = "index = 40*col + 16*(row / 16) + 8*(row / 4 % 2) + 4*(row / 8 % 2) + row % 4"


@pytest.mark.parametrize(
    ("stored", "loaded", "letter", "told"),
    [
        (PADDED, ORDER, "B", True),
        (PADDED, ORDER.replace("40*", "32*"), "B", False),  # another stride
        (PADDED, ORDER, "A", False),  # lines are exchanged
        (PADDED, ORDER.replace("row % 4", "(row % 4 ^ col % 4)"), "B", False),
        ("xor: col*40 + row", ORDER, "B", False),
        (PADDED, "none: col*40 + row", "B", False),
        (PADDED, PADDED, "B", False),
        (PADDED, "index = 40*col + row - 48", "B", False),  # a distance, as between slots of a ring
        (PADDED, "index = 40*col + 4*(row / 8) + row % 4", "B", False),  # every k twice, or never
        (PADDED, "index = 40*col + 8*(row / 4 % 2) + 4*(row / 8) + row % 4", "B", True),
        ("", ORDER, "B", False),
        (PADDED, "", "B", False),
    ],
)
def test_only_what_moves_k_alike_in_every_line_is_an_order(
    stored: str, loaded: str, letter: str, told: bool
) -> None:
    assert is_order_of_k(stored, loaded, letter) == told
