"""Whether launches touch their buffers as far as expressions of the sizes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutprobe.drafting.fits import fit
from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type


def follows(
    launches: Sequence[SeenLaunch],
    values: Sequence[Sizes],
    seen: SeenLaunch,
    sizes: Sizes,
    kinds: Mapping[int, str],
) -> bool:
    """Whether what one more launch touches is what expressions of the sizes give for all of them."""
    return touches(
        launches,
        values,
        seen,
        sizes,
        kinds,
        [i for i in seen.buffers if _fit(launches, values, i, kinds) is not None],
    )


def touches(
    launches: Sequence[SeenLaunch],
    values: Sequence[Sizes],
    seen: SeenLaunch,
    sizes: Sizes,
    kinds: Mapping[int, str],
    buffers: Sequence[int] | None = None,
) -> bool:
    """Whether a launch uses its buffers as those before, and expressions give how far it touches some, or all."""
    alike = all(buffer.role == launches[0].buffers[i].role for i, buffer in seen.buffers.items())
    asked = seen.buffers if buffers is None else buffers
    return alike and all(_fit([*launches, seen], [*values, sizes], i, kinds) is not None for i in asked)


def loose(
    launches: Sequence[SeenLaunch], values: Sequence[Sizes], kinds: Mapping[int, str]
) -> frozenset[int]:
    """Numbers of the buffers of which no expression of the sizes says how far launches touch them."""
    return frozenset(i for i in launches[0].buffers if _fit(launches, values, i, kinds) is None)


def _fit(
    launches: Sequence[SeenLaunch], values: Sequence[Sizes], i: int, kinds: Mapping[int, str]
) -> str | None:
    """The expression for how many elements of a buffer launches touch."""
    width = element_type(kinds[i]).raw.itemsize
    return fit([one.buffers[i].size // width for one in launches], values)
