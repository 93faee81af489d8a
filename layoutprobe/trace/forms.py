"""What two address functions of LDS say together: by which a tile is stored, and by which it is loaded.

They are formulas as `layouts.explain` writes them: "padded: col*40 + row", "index = 40*col + 8*(row / 4) + row % 4".
"""

from __future__ import annotations

import re

from layoutprobe.layouts.swizzle import SCHEMES

_SWIZZLES = ("xor", "xor-vector", "row-permute")
"""Schemes that move elements within or between lines."""


def scheme(form: str) -> str:
    """The name that stands before a formula."""
    return form.partition(":")[0]


def plainness(form: str) -> int:
    """How well known an address function is: none, any, or one with a name."""
    return 2 if scheme(form) in SCHEMES else 1 if form else 0


def is_order_of_k(stored: str, loaded: str, letter: str) -> bool:
    """Whether loads look for every k in another order than it lies, in every line alike: nothing shows a swizzle on
    one side. A distance alone is no order, and where some k is never looked for, another layout was meant.

    Args:
        stored, loaded: by which functions of row and column; "" where that is not known.
        letter: the matrix, A or B.
    """
    line, k = ("row", "col") if letter == "A" else ("col", "row")
    if (
        not stored
        or plainness(loaded) != 1
        or any("^" in f or scheme(f) in _SWIZZLES for f in (stored, loaded))
    ):
        return False
    lines, orders = ([_terms(form, name) for form in (stored, loaded)] for name in (line, k))
    steps = [re.sub(rf"\b{line}\b|[*\s]", "", "".join(terms)) for terms in lines]
    alone = all(len(terms) == 1 for terms in lines) and steps[0] == steps[1] and steps[0].isdigit()
    return alone and orders[0] != orders[1] and _takes_all(orders[1], k)


def _terms(form: str, name: str) -> list[str]:
    """Terms of a sum that a coordinate stands in."""
    return [term.strip() for term in re.findall(rf"[^+=:-]*\b{name}\b[^+-]*", form)]


def _takes_all(terms: list[str], name: str) -> bool:
    """Whether a coordinate goes into a formula as a whole, each bit once: "8*(row / 4) + row % 4"."""
    found = (re.search(rf"\b{name}\b(?: / (\d+))?(?: % (\d+))?", term) for term in terms)
    parts = sorted((int(one[1] or 1), int(one[2] or 0)) for one in found if one)
    reached = 1
    for below, many in parts:
        if below != reached:
            return False
        reached = below * many  # 0: all that is left
    return not reached
