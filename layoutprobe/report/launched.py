"""What a launch from Python left, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.report import notebook


class Launched(Struct, frozen=True, eq=False):
    """What a kernel left in the arrays that it was given.

    Attributes:
        kernel: its name in the code object.
        target: processor that it was compiled for.
        grid, block: workgroups, and work-items of one, in x, y, z.
        arrays: argument -> its contents afterwards, in the shape and dtype that were given.
        undefined: argument -> unsigned array of that shape whose set bits are undefined; only those that have any.
        evidence: what it rests on.
        toolchain: compiler, flags, code-object digest.
    """

    kernel: str
    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: Mapping[str, NDArray[Any]]
    undefined: Mapping[str, NDArray[Any]]
    evidence: Evidence
    toolchain: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief

    def _repr_html_(self) -> str | None:
        return notebook.html(self)
