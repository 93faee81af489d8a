"""Scalar tests against a number that stands in the code: which ways they came out.

Where the two ways of a test do not lead to different blocks, compilers select a value instead of branching. What
blocks ran does not tell that one of the values was never taken: what SCC held behind the test does. Tests by which
a branch goes are none of these. The same run tells how large numbers were that are cut (`cuts`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.cuts import Cut, cuts_of
from layoutprobe.observe.values import integers

_TESTS = re.compile(r"s_(?:cmpk?_(?:lt|le|gt|ge|eq|lg)|min|max)_[iu]32")
_SMALLEST = 2
"""Tests against 0 and 1 are about nothing at all or about loops; others are about some size."""


class Choices(Struct, frozen=True, eq=False):
    """Tests of a kernel.

    Attributes:
        tests: those that were executed, by PC.
        came_out: PC -> what SCC held behind the test in some wave.
        cut: PC of a cut -> the largest number before it, of each launch.
        compared: PC -> what the number was compared with, as far as that is one value in each launch.
    """

    tests: Mapping[int, Inst]
    came_out: Mapping[int, frozenset[bool]]
    cut: Mapping[int, frozenset[int]] = field(default_factory=dict)
    compared: Mapping[int, frozenset[int]] = field(default_factory=dict)

    __repr__ = brief

    def __or__(self, other: Choices) -> Choices:
        """Both together; they are of one kernel."""
        return Choices(
            {**self.tests, **other.tests},
            _joined(self.came_out, other.came_out),
            _joined(self.cut, other.cut),
            _joined(self.compared, other.compared),
        )


_Seen = TypeVar("_Seen")


def _joined(
    one: Mapping[int, frozenset[_Seen]], other: Mapping[int, frozenset[_Seen]]
) -> dict[int, frozenset[_Seen]]:
    none: frozenset[_Seen] = frozenset()
    return {pc: one.get(pc, none) | other.get(pc, none) for pc in one.keys() | other.keys()}


def tested(inst: Inst) -> tuple[int, bool] | None:
    """The number that a test compares with, and whether it stands first; None where it compares registers."""
    if inst.name.startswith("s_cmpk"):
        bits = inst.mods["simm16"] & 0xFFFF
        return bits - ((bits & 0x8000) << 1) if inst.name.endswith("i32") else bits, False
    numbers = [operand.number for operand in inst.src]
    return next(((number, not at) for at, number in enumerate(numbers) if number is not None), None)


_COMPARES: Mapping[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "lg": operator.ne,
}  # fmt: skip


def _largest(c: Cohort, cut: Cut) -> int:
    """The largest number that is cut, in lanes that are active."""
    held = [values for one in cut.sources if (values := integers(c, one, signed=cut.signed)) is not None]
    return max((int(abs(np.broadcast_to(values, c.exec.shape)[c.exec]).max()) for values in held), default=0)


def comes_out(inst: Inst, value: int) -> bool:
    """What SCC is behind a comparison of a value with a number."""
    number, first = tested(inst) or (0, False)
    if inst.name.endswith("u32"):
        number, value = number & 0xFFFFFFFF, value & 0xFFFFFFFF
    compare = _COMPARES[inst.name.split("_")[2]]
    return compare(number, value) if first else compare(value, number)


def tests_of(blocks: Iterable[Sequence[Inst]]) -> dict[int, Inst]:
    """Tests against a number of some size, by PC: those of blocks, but where the block ends by branching on them."""
    return {
        inst.pc: inst
        for block in blocks
        for inst in (block[:-2] if block and block[-1].name.startswith("s_cbranch_scc") else block)
        if _TESTS.fullmatch(inst.name)
        and (tested(inst) or (0, False))[0] >= _SMALLEST
        and any(operand.kind == "s" for operand in inst.src)
    }


def _behind(tests: Collection[int], blocks: Iterable[Block]) -> dict[int, int]:
    """PC of what is executed next behind each test -> the test's: up to there SCC is what the test has left."""
    found: dict[int, int] = {}
    for block in blocks:
        executed = [inst.pc for inst in (*block.insts, *([block.last] if block.last else []))]
        found |= {after: pc for pc, after in pairwise(executed) if pc in tests}
    return found


class _Places(Struct, frozen=True, eq=False):
    """Where in a program there is something to see: PC -> the test, the test before it, the cut."""

    tests: Mapping[int, Inst]
    behind: Mapping[int, int]
    cuts: Mapping[int, Cut]


@lru_cache(maxsize=4)
def _places_of(program: Program) -> _Places:
    """Kept for those that run now: asked for in each launch."""
    blocks = [block.listing for _, block in sorted(program.blocks.items())]
    tests = tests_of(blocks)
    return _Places(tests, _behind(tests, program.blocks.values()), cuts_of(blocks))


class ChoiceRecorder(Recorder):
    """Looks at SCC behind every such test."""

    def __init__(self) -> None:
        self._places = _Places({}, {}, {})
        self._seen: dict[int, set[bool]] = {}
        self._largest: dict[int, int] = {}
        self._compared: dict[int, set[int]] = {}

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._places = _places_of(program)

    def stops(self, program: Program) -> frozenset[int]:
        """See Observer."""
        places = _places_of(program)
        return frozenset(places.behind) | frozenset(places.cuts)

    def step(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        test = self._places.behind.get(inst.pc)
        if test is not None:
            self._seen.setdefault(test, set()).update(bool(flag) for flag in {*c.scc().ravel().tolist()})
            self._look(c, self._places.tests[test])
        cut = self._places.cuts.get(inst.pc)
        if cut is not None and c.exec.any():
            self._largest[inst.pc] = max(_largest(c, cut), self._largest.get(inst.pc, 0))

    def _look(self, c: Cohort, test: Inst) -> None:
        """Note what was compared: a comparison leaves its operands as they are."""
        known = self._compared.setdefault(test.pc, set())
        operand = next((operand for operand in test.src if operand.kind == "s"), None)
        if operand is None or not test.name.startswith("s_cmp") or len(known) > 1:
            return
        values = integers(c, operand, signed=test.name.endswith("i32"), wide=False)
        known.update({*values.ravel().tolist()} if values is not None else (0, 1))

    def record(self) -> Choices:
        """See Recorder."""
        return Choices(
            {pc: self._places.tests[pc] for pc in self._seen},
            {pc: frozenset(seen) for pc, seen in self._seen.items()},
            {pc: frozenset([largest]) for pc, largest in self._largest.items()},
            {pc: frozenset(values) for pc, values in self._compared.items() if len(values) == 1},
        )
