"""How the process's allocator treats large arrays."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Parameters of glibc's mallopt."""
_KEPT = 256 << 20
"""Bytes."""


@cache
def keep_freed_memory() -> None:
    """Have glibc keep freed arrays for the next ones, once per process; elsewhere nothing happens.

    It would give arrays of more than some 100 KiB back to the system, which then clears and maps their
    pages anew: a third of the time of a small GEMM on either engine.
    """
    with suppress(OSError, AttributeError):  # no glibc
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _KEPT)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
