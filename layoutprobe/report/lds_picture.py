"""Bytes of LDS that a finding is about, as a report draws them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief

Role = Literal["nothing", "stored", "one", "other", "both"]
"""What a dword is: nobody has stored there, somebody has, the one access or the other is there, or both are."""
ROLES: tuple[Role, ...] = ("nothing", "stored", "one", "other", "both")


class LdsPicture(Struct, frozen=True, eq=False):
    """Rows of banks.

    Attributes:
        title: what is shown.
        banks: each a dword wide.
        first: the byte at which the rows that are drawn begin.
        role: int8 [row, bank], position in `ROLES`.
        says: what each role is here, in words.
        note: the witness: byte, waves and lanes.
    """

    title: str
    banks: int
    first: int
    role: NDArray[np.int8]
    says: dict[Role, str]
    note: str

    __repr__ = brief


def cropped(role: NDArray[np.int8], banks: int, spare: int = 2) -> tuple[int, NDArray[np.int8]]:
    """First byte, and role [row, bank], of the rows in which something is marked and of some around them."""
    rows = np.zeros(-(-role.size // banks) * banks, np.int8)
    rows[: role.size] = role
    table = rows.reshape(-1, banks)
    marked = np.flatnonzero((table >= ROLES.index("one")).any(axis=1))
    low, high = max(int(marked[0]) - spare, 0), min(int(marked[-1]) + spare + 1, len(table))
    return low * banks * 4, table[low:high]
