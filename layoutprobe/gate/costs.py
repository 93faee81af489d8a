"""What a search for changes of a source has cost, in microseconds of a processor.

They are prices, so that a search ends where it ended before, however busy the machine is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MOST_SPENT = 80_000_000
"""What changes that are tried with every red kernel may cost together."""
COMPILED, DECODED, CHECKED, JUDGED = 120_000, 100, 600_000, 3_000_000
"""What it costs to compile a change, to decode an instruction, to apply a check once, and to judge a change whole."""
_REFUSED, _LATE = 65_000, 2_000_000
"""What a change costs that is refused, and one that is not compiled in time."""
_PROGRAM, _VARIANT, _OF_CODE = 300_000, 3_000, 16
"""What it costs to compile many changes as one program, each of them, and each byte of the code that they become."""
_USUAL = 4
"""Rounds of a program that are in its price."""
_FAR_MORE = 3.0
"""How many times its price something takes before that is not its price."""


class Costs:
    """Adds up what a search does.

    Attributes:
        spent: so far.
    """

    def __init__(self) -> None:
        self.spent = 0.0

    def of_program(self, rounds: int, count: int, code: int) -> None:
        """Many changes as one program: in so many compilations, of so many changes, to so many bytes."""
        self.spent += _PROGRAM + _VARIANT * count + _OF_CODE * code + _REFUSED * max(rounds - _USUAL, 0)

    def of_one(self, times: float, late: bool) -> None:
        """One by itself, whose code is so many times the kernel's: 0 where there is none, in time or at all."""
        self.spent += _LATE if late else COMPILED * max(1, times) if times else _REFUSED

    @contextmanager
    def paying(self, price: float) -> Iterator[None]:
        """What is done costs its price; what takes many times as long, as loops without an end do, what it takes."""
        begun = time.process_time()
        try:
            yield
        finally:
            took = 1e6 * (time.process_time() - begun)
            self.spent += took if took > _FAR_MORE * price else price
