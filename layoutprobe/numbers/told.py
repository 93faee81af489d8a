"""Numbers in words."""

from __future__ import annotations

_MOST_DIGITS = 17
"""With so many no two numbers are written alike."""


def apart(one: float, other: float, digits: int = 6) -> tuple[str, str]:
    """Two numbers, with so many digits, or more where else they would be written alike."""
    for many in range(digits, _MOST_DIGITS + 1):
        texts = f"{one:.{many}g}", f"{other:.{many}g}"
        if texts[0] != texts[1]:
            return texts
    return f"{one:.{digits}g}", f"{other:.{digits}g}"
