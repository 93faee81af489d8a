"""From a table of byte sources to moves between registers: swaps between lanes, then byte permutes within them.

What a register holds is followed as a table of codes [lane, byte], one code for each byte that was there at first. So
the plan is right by construction, and a generated kernel has still to show it (`experiments/pack.py`).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief

BYTES = 4
"""Of a register."""
SWAPS = (32, 16)
"""How far apart the lanes are that one instruction swaps."""
FREE = -1
"""Code of a byte of which nobody says what it should hold."""

Codes = NDArray[np.int64]


class UnreachableError(Exception):
    """A byte lies in a lane that no swap reaches."""


class Copy(Struct, frozen=True):
    """`target = source`."""

    target: str
    source: str


class Swap(Struct, frozen=True):
    """Lanes of `first` whose number has the bit `apart` change places with those of `second` that have it not."""

    apart: int
    first: str
    second: str


class Permute(Struct, frozen=True, eq=False):
    """`target` takes each byte from `low` (0 to 3) or `high` (4 to 7), as a byte of the selector says.

    Attributes:
        target, high, low: registers.
        selector: int64 [lane]; a dword each.
    """

    target: str
    high: str
    low: str
    selector: Codes

    __repr__ = brief


Step = Copy | Swap | Permute


class _State(Struct):
    """What registers hold, and what was done to them."""

    held: dict[str, Codes]
    steps: list[Step] = field(default_factory=list)
    temporaries: int = 0

    __repr__ = brief

    def temporary(self) -> str:
        """A register that nobody uses."""
        self.temporaries += 1
        return f"t{self.temporaries - 1}"


class Moves(Struct, frozen=True, eq=False):
    """A program.

    Attributes:
        raw, packed: how many registers there are at first, "r0", "r1"..., and are made, "p0", "p1"...
        temporaries: how many others it takes, "t0", "t1"...
        steps: in order.
    """

    raw: int
    packed: int
    temporaries: int
    steps: tuple[Step, ...]

    __repr__ = brief


def plan(lane: Codes, source: Codes, raw_bytes: int) -> Moves:
    """The moves that bring bytes where they belong.

    Args:
        lane: int64 [lane, p], lane of the byte that belongs at byte p; FREE where any will do.
        source: int64 [lane, p], its number in that lane.
        raw_bytes: bytes of a lane, whole registers.

    Raises:
        UnreachableError: a byte is neither in the lane itself nor 16, 32 or 48 lanes away.
    """
    lanes, packed_bytes = lane.shape
    raw, packed = raw_bytes // BYTES, packed_bytes // BYTES
    codes = np.arange(lanes * raw_bytes, dtype=np.int64).reshape(lanes, raw, BYTES)
    state = _State({f"r{i}": codes[:, i] for i in range(raw)})
    wanted = np.where(source == FREE, FREE, lane * raw_bytes + source)
    _swap(state, wanted)
    for i in range(packed):
        _make(state, f"p{i}", wanted[:, BYTES * i : BYTES * (i + 1)])
    return Moves(raw, packed, state.temporaries, tuple(state.steps))


# Between lanes


def _away(held: dict[str, Codes], wanted: Codes) -> int:
    """How many swaps all wanted bytes are away from the lanes that want them, added up."""
    table = np.concatenate(list(held.values()), axis=1)  # [lane, byte]
    lanes = np.arange(len(wanted))
    far = len(SWAPS) + 1
    distance = np.full(wanted.shape, far, np.int64)
    for cost, apart in ((0, 0), (1, 32), (1, 16), (2, 48)):
        if apart < len(lanes):
            present = _holds(table[lanes ^ apart], wanted)
            distance = np.where(present, np.minimum(distance, cost), distance)
    distance[wanted == FREE] = 0
    if (distance == far).any():
        raise UnreachableError
    return int(distance.sum())


def _holds(held: Codes, wanted: Codes) -> NDArray[np.bool_]:
    """Which of the wanted bytes of a lane are among those that it holds: bool, shaped as `wanted`."""
    return np.asarray((held[:, None, :] == wanted[:, :, None]).any(axis=2))


def _astray(held: dict[str, Codes], wanted: Codes) -> list[str]:
    """Registers that hold, in some lane, a byte that another lane wants and has not."""
    table = np.concatenate(list(held.values()), axis=1)
    missed = wanted[~_holds(table, wanted) & (wanted != FREE)]
    return sorted(name for name, codes in held.items() if np.isin(codes, missed).any())


def swapped(apart: int, first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """What two registers hold after a swap; see `Swap`."""
    lanes = np.arange(len(first))
    upper = ((lanes & apart) != 0)[:, None]
    return np.where(upper, second[lanes ^ apart], first), np.where(upper, second, first[lanes ^ apart])


def _swap(state: _State, wanted: Codes) -> None:
    """Swap registers until every byte is in the lane that wants it."""
    left = _away(state.held, wanted)
    while left:
        best = _best_pair(state, wanted, left) or _best_copies(state, wanted, left)
        left, step, copies = best
        for copy in copies:
            state.held[copy.target] = state.held[copy.source]
        state.temporaries += len(copies)
        state.steps += [*copies, step]
        _apply(state.held, step)


def _apply(held: dict[str, Codes], step: Swap) -> None:
    held[step.first], held[step.second] = swapped(step.apart, held[step.first], held[step.second])


_Choice = tuple[int, Swap, tuple[Copy, ...]]


def _best_pair(state: _State, wanted: Codes, left: int) -> _Choice | None:
    """The swap of two registers that brings most nearer; None where none does."""
    found: _Choice | None = None
    names = _astray(state.held, wanted)
    for apart in (a for a in SWAPS if a < len(wanted)):
        for first in names:
            for second in names:
                if first == second:
                    continue
                step = Swap(apart, first, second)
                held = dict(state.held)
                _apply(held, step)
                try:
                    away = _away(held, wanted)
                except UnreachableError:
                    continue
                if away < (found[0] if found else left):
                    found = away, step, ()
    return found


def _best_copies(state: _State, wanted: Codes, left: int) -> _Choice:
    """The register of which a lane should also have its partner's: two copies of it, swapped, hold both."""
    names = f"t{state.temporaries}", f"t{state.temporaries + 1}"
    found: _Choice | None = None
    for apart in (a for a in SWAPS if a < len(wanted)):
        for source in _astray(state.held, wanted):
            copies = tuple(Copy(name, source) for name in names)
            held = {**state.held, **dict.fromkeys(names, state.held[source])}
            step = Swap(apart, *names)
            _apply(held, step)
            away = _away(held, wanted)
            if away < (found[0] if found else left):
                found = away, step, copies
    assert found is not None, "a byte that is some swaps away comes nearer by one of them"
    return found


# Within lanes


def _make(state: _State, target: str, wanted: Codes) -> None:
    """One register of the operand, from bytes that are all in their lanes."""
    free = wanted == FREE
    for name, held in state.held.items():
        if ((held == wanted) | free).all():
            state.steps.append(Copy(target, name))
            return
    sources = _cover(state.held, wanted)
    low, high = sources[0], sources[min(1, len(sources) - 1)]
    made = _permute(state, target, high, low, wanted)
    for more in sources[2:]:
        made = _permute(state, target, more, target, wanted, made)


def _cover(held: dict[str, Codes], wanted: Codes) -> list[str]:
    """Few registers that hold all wanted bytes, each in its lane."""
    present = {name: _holds(codes, wanted) for name, codes in held.items()}
    left, chosen = wanted != FREE, list[str]()
    while left.any():
        best = max(present, key=lambda name: int((present[name] & left).sum()))
        assert (present[best] & left).any(), "swaps have brought every byte into its lane"
        chosen.append(best)
        left = left & ~present[best]
    return chosen or [next(iter(held))]


def _permute(
    state: _State, target: str, high: str, low: str, wanted: Codes, begun: Codes | None = None
) -> Codes:
    """One permute; what the target holds after it.

    Args:
        begun: what `low`, the target so far, holds; None where `low` is another register.
    """
    lower = state.held[low] if begun is None else begun
    pair = np.concatenate([lower, state.held[high]], axis=1)  # [lane, 8]
    fits = pair[:, None, :] == wanted[:, :, None]
    place = np.where(fits.any(axis=2), fits.argmax(axis=2), np.arange(BYTES))
    place[wanted == FREE] = np.broadcast_to(np.arange(BYTES), wanted.shape)[wanted == FREE]
    selector = (place << 8 * np.arange(BYTES)).sum(axis=1)
    state.steps.append(Permute(target, high, low, selector))
    return np.take_along_axis(pair, place, axis=1)
