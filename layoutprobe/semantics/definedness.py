"""Rules of definedness: which bits of a result are undefined, given those of the sources.

As in memcheck, moving undefined bits is legal and must not spread them, so operations that only
move bits are exact; arithmetic on an undefined bit makes the result undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from layoutprobe.machine.registers import Array

Rule = Callable[[Sequence[Array], Sequence[Array], Sequence[int]], Sequence[Array]]
"""(source values, their undefined bits, bits per result) -> undefined bits per result."""

_UINT: dict[int, type[np.unsignedinteger]] = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def _touched(shadows: Sequence[Array]) -> Array:
    """Lanes in which any source has an undefined bit."""
    lanes = shadows[0] != 0
    for shadow in shadows[1:]:
        lanes = lanes | (shadow != 0)
    return lanes


def _spread(lanes: Array, width: int) -> Array:
    """Bool lanes -> the result's type: all bits of the lanes."""
    if width == 1:
        return lanes
    uint = _UINT[width]
    return np.where(lanes, uint((1 << width) - 1), uint(0))


def any_undefined(
    values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]
) -> Sequence[Array]:
    """Any undefined source bit makes every result bit undefined."""
    lanes = _touched(shadows)
    return [_spread(lanes, width) for width in widths]


class Transport(Struct, frozen=True):
    """For operations that move bits of the `data` sources as the other sources tell.

    The undefined bits move as the data does; an undefined control source spoils the result.
    """

    function: Callable[..., Any]
    data: Sequence[int]

    def __call__(
        self, values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]
    ) -> Sequence[Array]:
        """See Rule."""
        # Viewed with the sign of the data, so that an arithmetic shift copies an undefined sign.
        mixed = [shadows[i].view(v.dtype) if i in self.data else v for i, v in enumerate(values)]
        moved = self.function(*mixed).view(_UINT[widths[0]])
        control = [shadows[i] for i in range(len(values)) if i not in self.data]
        if any(s.any() for s in control):
            moved = np.where(_touched(control), _spread(np.array(True), widths[0]), moved)
        return [moved]


class Upward(Struct, frozen=True):
    """For sums and products: result bit i depends on no source bit above i.

    So an undefined bit spoils itself and everything above it. Sources outside `data` (shift
    amounts) spoil everything. A second result (a carry) is spoilt by any undefined bit.
    """

    data: Sequence[int] | None = None

    def __call__(
        self, values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]
    ) -> Sequence[Array]:
        """See Rule."""
        uint = _UINT[widths[0]]
        bits: Array = np.zeros((1, 1), uint)
        for i, shadow in enumerate(shadows):
            if shadow.dtype == np.bool_:  # a carry comes in at bit 0
                bits = bits | _spread(shadow, widths[0])
            elif self.data is None or i in self.data:
                bits = bits | shadow.astype(uint)
            else:
                bits = bits | _spread(shadow != 0, widths[0])
        spoilt = bits | (~bits + uint(1))
        return [spoilt, *(_spread(bits != 0, width) for width in widths[1:])]


carry_upward = Upward()


def union(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """Bit by bit: xor and its kin."""
    bits = shadows[0]
    for shadow in shadows[1:]:
        bits = bits | shadow
    return [bits]


def bitwise_and(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """A defined 0 on either side defines the result."""
    (a, b), (sa, sb) = values, shadows
    return [(sa & sb) | (sa & b) | (a & sb)]


def bitwise_or(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """A defined 1 on either side defines the result."""
    (a, b), (sa, sb) = values, shadows
    return [(sa & sb) | (sa & ~b) | (~a & sb)]


def and_or(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """(a & b) | c."""
    masked = bitwise_and(values[:2], shadows[:2], widths)[0]
    return bitwise_or((values[0] & values[1], values[2]), (masked, shadows[2]), widths)


def or3(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """a | b | c."""
    first = bitwise_or(values[:2], shadows[:2], widths)[0]
    return bitwise_or((values[0] | values[1], values[2]), (first, shadows[2]), widths)


class OnlyBits(Struct, frozen=True):
    """For operations that read only these bits of their sources: a byte, the half that op_sel names."""

    masks: Sequence[int]

    def __call__(
        self, values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]
    ) -> Sequence[Array]:
        """See Rule."""
        read = [s & s.dtype.type(m) for s, m in zip(shadows, self.masks, strict=True)]
        return any_undefined(values, read, widths)


def second_inverted(rule: Rule) -> Rule:
    """The rule of an operation that inverts its second source first: a & ~b, a | ~b.

    Compilers clear the bits of the active lanes out of a mask that nobody has set yet
    (s_and_not1_b32 s7, s7, exec_lo): the 1s of b define the result.
    """

    def inverted(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        return rule((values[0], ~values[1]), shadows, widths)

    return inverted


def select(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """cndmask: the chosen source's bits, or all where the choice is undefined."""
    chosen = np.where(values[2], shadows[1], shadows[0])
    return [np.where(shadows[2], _spread(np.array(True), widths[0]), chosen)]


def bit_insert(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
    """bfi: source 0 chooses, bit by bit, between sources 1 and 2."""
    mask, sm = values[0], shadows[0]
    return [sm | (mask & shadows[1]) | (~mask & shadows[2])]
