"""What a manifest leaves out or lets pass, so that "holds" says less than it seems to."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from layoutprobe.manifest.model import KernelCase, NoContract
from layoutprobe.manifest.sizes import DEPTH

TILE = 16
"""Rows of the smallest matrix instruction's tile that is common."""
_LOOSE_RELATIVE, _LOOSE_ABSOLUTE = 0.02, 0.1
"""Sums of products of standard normal numbers are about the square root of K; bf16 has a rounding error of
0.4 %."""


def reservations(case: KernelCase, known: Collection[str]) -> tuple[str, ...]:
    """Each in a few words, for a headline.

    Args:
        case: the kernel.
        known: names of all checks.
    """
    found = []
    if case.checks and (left := [name for name in known if name not in case.checks]):
        found.append(f"not asked for: {', '.join(left)}")
    if isinstance(case.contract, NoContract):
        found.append("outputs not judged: contract none")
    given = case.tolerance
    for what, value, loose in (
        ("absolute", given.absolute, _LOOSE_ABSOLUTE),
        ("relative", given.relative, _LOOSE_RELATIVE),
    ):
        if value is not None and value > loose:
            found.append(f"loose tolerance: {what} {value:g}")
    if len(case.sizes) == 1:
        found.append("a single size")
    else:
        found.extend(_whole(case))
    return tuple(found)


def _whole(case: KernelCase) -> Iterator[str]:
    """Sizes that no tile ever ends within, and depths that never vary."""
    if case.tile:
        even = [
            f"{name} ({step})"
            for name, step in case.tile.items()
            if step > 1 and all(sizes[name] % step == 0 for sizes in case.sizes)
        ]
        if even:
            yield f"only whole tiles of {', '.join(even)}"
    elif all(value % TILE == 0 for sizes in case.sizes for value in sizes.values()):
        yield f"only sizes that are multiples of {TILE}"
    if DEPTH in case.sizes[0] and len({sizes[DEPTH] for sizes in case.sizes}) == 1:
        yield f"{DEPTH} is {case.sizes[0][DEPTH]} in every size"
