"""Comparisons that a wave executed before it went outside of a buffer: what was held against what."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import StrayError
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.choices import tested
from layoutprobe.observe.values import Numbers, integers

COMPARES = re.compile(r"(?:v_cmpx?|s_cmpk?)_(lt|le|gt|ge|eq|ne|lg)_([iu])(32|64)")
_HOLDS: Mapping[str, Callable[[Numbers, Numbers], NDArray[np.bool_]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "lg": operator.ne,
}


class Compared(Struct, frozen=True, eq=False):
    """One comparison of a wave, as it was last executed.

    Attributes:
        inst: the instruction.
        left, right: int64 [lane], what it compares.
        holds: bool [lane], how it came out.
    """

    inst: Inst
    left: Numbers
    right: Numbers
    holds: NDArray[np.bool_]

    __repr__ = brief


class Stray(Struct, frozen=True, eq=False):
    """An access that left every buffer.

    Attributes:
        error: what is wrong.
        compared: comparisons that its wave had executed, each as it was last.
        before: int64 [lane], where the wave's lanes pointed when it last executed the same instruction inside of
            buffers, -1 for those that did not; None where it never had.
    """

    error: StrayError
    compared: tuple[Compared, ...] = ()
    before: Numbers | None = None

    __repr__ = brief


class Bounds(Struct, frozen=True, eq=False):
    """Attributes: strays: the first one of each instruction, by its PC."""

    strays: Mapping[int, Stray]

    __repr__ = brief


class BoundsRecorder(Recorder):
    """Keeps the last execution of each comparison, wave by wave, for the first lanes that go astray."""

    def __init__(self) -> None:
        self._seen: dict[int, dict[int, Compared]] = {}  # wave -> PC -> comparison
        self._inside: dict[tuple[int, int], Numbers] = {}  # wave, PC -> where its lanes pointed
        self._strays: dict[int, Stray] = {}

    @property
    def moves(self) -> Moves:
        """See Observer."""
        return Moves.GLOBAL

    def stops(self, program: Program) -> frozenset[int]:
        """See Observer."""
        insts = (inst for block in program.blocks.values() for inst in block.listing)
        return frozenset(inst.pc for inst in insts if COMPARES.match(inst.name))

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        found, both = COMPARES.match(inst.name), sides_of(c, inst)
        if found is None or both is None:
            return
        holds = _HOLDS[found[1]](*both)
        for at, wave in enumerate(c.waves.tolist()):
            seen = self._seen.setdefault(wave, {})
            seen.pop(inst.pc, None)  # the last one executed comes last
            seen[inst.pc] = Compared(inst, both[0][at], both[1][at], holds[at])

    def fault(self, c: Cohort, inst: Inst, error: ExecutionError) -> None:
        """See Observer."""
        if isinstance(error, StrayError) and inst.pc not in self._strays:
            compared = tuple(self._seen.get(error.wave, {}).values())
            self._strays[inst.pc] = Stray(error, compared, self._inside.get((error.wave, inst.pc)))

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is c.machine.arena and inst.pc not in self._strays:
            at = np.where(place.mask, place.offsets, -1)
            self._inside |= {(wave, inst.pc): at[i] for i, wave in enumerate(c.waves.tolist())}

    def record(self) -> Bounds:
        """See Recorder."""
        return Bounds(dict(self._strays))


def sides_of(c: Cohort, inst: Inst) -> tuple[Numbers, Numbers] | None:
    """What is compared: int64 [wave, lane] each; None where no integers are, or an operand is no number of a
    register."""
    found = COMPARES.match(inst.name)
    if found is None:
        return None
    given = [integers(c, operand, signed=found[2] == "i", wide=found[3] == "64") for operand in inst.src[:2]]
    if inst.name.startswith("s_cmpk"):
        number = tested(inst)
        given = [*given[:1], None if number is None else np.asarray(number[0], np.int64)]
    if len(given) < 2 or given[0] is None or given[1] is None:
        return None
    left, right = (np.broadcast_to(side, c.exec.shape) for side in given if side is not None)
    return left.copy(), right.copy()
