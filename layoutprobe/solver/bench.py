"""Executes an instruction with operands given slot by slot; what is asked together is executed together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.solver.alphabet import alphabet_of
from layoutprobe.solver.observe import join_fields, split_fields

Words = NDArray[np.uint32]
Elements = NDArray[np.unsignedinteger]
"""Raw elements by slot."""

Execute = Callable[[Mapping[str, Words]], Words]
"""Runs the instruction once per wave: operands "a", "b", "c" and "old" (what D held before), or
"index" for a sparse one, and "scale_a" and "scale_b" for a scaled one, to "d"; uint32 [wave, vgpr, lane]."""


@runtime_checkable
class Together(Protocol):
    """An Execute that answers several questions, none of which needs another's answer, in one launch."""

    def together(self, asked: Sequence[Mapping[str, Words]]) -> list[Words]:
        """The answer to each."""
        ...


UNSCALED = 0x7F7F7F7F
"""Four scales of one."""

INDEX_SETTINGS = (0x44444444, 0x99999999, 0xEEEEEEEE, 0x88888888)
"""Every group keeps (0,1), (1,2), (2,3), (0,2). Legal index pairs ascend. In the first three both
elements go through three places; the last moves the second alone, which tells the two apart."""
PLACES = ((0, 1, 2, 0), (1, 2, 3, 2))
"""Place that each setting gives to the element told by the low, by the high bits of an index pair."""


class Extents(Struct, frozen=True):
    """What is known of an instruction before it is executed.

    Attributes:
        lanes: of a wave.
        vgprs: "A", "B", "D" -> registers.
        types: "A", "B", "D" -> element type.
        sparse: there is an index operand, and D is C.
        scaled: there are two operands with scales.
    """

    lanes: int
    vgprs: Mapping[str, int]
    types: Mapping[str, str]
    sparse: bool = False
    scaled: bool = False

    def bits(self, operand: str) -> int:
        """Width of an element."""
        return alphabet_of(self.types[_registers_of(operand)]).bits

    def slots(self, operand: str) -> tuple[int, int, int]:
        """Lanes, VGPRs and fields of an operand; VGPRs in groups where these begin with an element."""
        bits = self.bits(operand)
        group = lcm(bits, 32)
        return self.lanes, self.vgprs[_registers_of(operand)] * 32 // group, group // bits

    def count(self, operand: str) -> int:
        """Number of slots."""
        lanes, vgprs, fields = self.slots(operand)
        return lanes * vgprs * fields


def _registers_of(operand: str) -> str:
    """C has the registers of D."""
    return "D" if operand == "C" else operand


class Question(Struct, frozen=True, eq=False):
    """What to execute.

    Attributes:
        purpose: what the executions are for.
        waves: how many.
        slots: "a", "b", "c", "old": raw elements [wave or 1, slot], zeros where not given;
            "index", "scale_a", "scale_b": words [wave or 1, lane].
    """

    purpose: str
    waves: int
    slots: Mapping[str, Elements]

    __repr__ = brief


class Answer(Struct, eq=False):
    """What a question is answered.

    Attributes:
        question: what was asked.
        execute: answers all that was asked so far.
        found: numbers in the slots of D, [wave, slot]; None until they were executed.
    """

    question: Question
    execute: Callable[[], None]
    found: NDArray[np.float64] | None = None

    __repr__ = brief

    @property
    def numbers(self) -> NDArray[np.float64]:
        """In the slots of D: [wave, slot]."""
        if self.found is None:
            self.execute()
        assert self.found is not None, "an answer is asked for once"
        return self.found


class Bench(Struct):
    """Executes, and counts the executions.

    Attributes:
        extents: of the operands.
        execute: whatever runs the instruction.
        launches: executions so far, by what they were for.
    """

    extents: Extents
    execute: Execute
    launches: dict[str, int] = field(default_factory=dict)
    _asked: list[Answer] = field(default_factory=list)

    __repr__ = brief

    def ask(self, purpose: str, waves: int, **slots: Elements) -> Answer:
        """Ask, without waiting: all that is asked before an answer is read is executed together.

        A launch costs more than most questions do, so ask whatever needs no answer first.

        Args:
            purpose, waves, slots: as of Question.
        """
        self.launches[purpose] = self.launches.get(purpose, 0) + waves
        self._asked.append(Answer(Question(purpose, waves, slots), self._execute))
        return self._asked[-1]

    def _execute(self) -> None:
        """Answer everything that was asked."""
        asked, self._asked = self._asked, []
        operands = [self._operands(one.question.waves, one.question.slots) for one in asked]
        executor: object = self.execute
        if isinstance(executor, Together):
            answers = executor.together(operands)
        else:
            answers = [self.execute(each) for each in operands]
        value, bits = alphabet_of(self.extents.types["D"]).value, self.extents.bits("D")
        for one, words in zip(asked, answers, strict=True):
            one.found = value(split_fields(words, bits).reshape(len(words), -1))

    def _operands(self, waves: int, slots: Mapping[str, Elements]) -> dict[str, Words]:
        operands = {}
        for name, operand in (("a", "A"), ("b", "B"), ("c", "D"), ("old", "D")):
            shape = self.extents.slots(operand)
            nothing = np.zeros((1, self.extents.count(operand)), alphabet_of(self.extents.types[operand]).raw)
            words = join_fields(slots.get(name, nothing).reshape(-1, *shape), self.extents.bits(operand))
            operands[name] = np.ascontiguousarray(np.broadcast_to(words, (waves, *words.shape[1:])))
        if self.extents.sparse:
            del operands["old"]
            operands["index"] = self._one_register(waves, slots.get("index"), INDEX_SETTINGS[0])
        if self.extents.scaled:
            for name in ("scale_a", "scale_b"):
                operands[name] = self._one_register(waves, slots.get(name), UNSCALED)
        return operands

    def _one_register(self, waves: int, words: Elements | None, unless: int) -> Words:
        """An operand of one register: [wave, 1, lane] of words [wave or 1, lane]."""
        lanes = self.extents.lanes
        given = np.full((1, lanes), unless, np.uint32) if words is None else words.astype(np.uint32)
        return np.ascontiguousarray(np.broadcast_to(given[:, None, :], (waves, 1, lanes)))
