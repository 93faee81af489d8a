"""What happens while a kernel runs, and who is told of it.

An observer (machine.observer) asks for an event by having a method of its name. An event that nobody
asked for costs an empty loop where it happens, and nothing per instruction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Told = tuple[Callable[..., None], ...]
"""Methods of observers, in the order in which the observers were given."""


class Events(Struct, frozen=True):
    """Who is told of each event. For what the methods get see `Observer`."""

    batch: Told = ()
    block: Told = ()
    walked: Told = ()
    step: Told = ()
    access: Told = ()
    doubt: tuple[Callable[..., NDArray[np.uint32] | None], ...] = ()
    matrix: Told = ()
    matrix_done: Told = ()
    indexed: Told = ()
    wait: Told = ()
    barrier: Told = ()
    ended: Told = ()
    fault: Told = ()
