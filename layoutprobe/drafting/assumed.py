"""What the launches of a draft assume of sizes and buffers that no host code says."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

DEEP = 32
"""What an extent that no workgroup is for is a multiple of: a step of K, most often."""

EACH_ONCE = "i0 ^ 1"
"""Contents of a buffer: indices that differ from each other, and from their places."""


class Assumed(Struct, frozen=True):
    """See above.

    Attributes:
        shared: size -> another one, which is a multiple of it.
        unit: what such a size is a multiple of.
        deep: what an extent that no workgroup is for is a multiple of.
        contents: number of an argument -> its elements, as an expression of their number i0 and the sizes.
        named: what arguments are called says what they are, where they are distances.
        told: number of an argument that is no size -> why it is told what it is.
    """

    shared: Mapping[str, str] = field(default_factory=dict)
    unit: int = 1
    deep: int = DEEP
    contents: Mapping[int, str] = field(default_factory=dict)
    named: bool = True
    told: Mapping[int, str] = field(default_factory=dict)

    @property
    def finer(self) -> tuple[int, ...]:
        """Multiples between the usual ones and that of deep extents."""
        return tuple(DEEP << bits for bits in range(1, 8) if DEEP << bits < self.deep)


NOTHING = Assumed()
