"""Wait states: what the code itself must keep between two instructions, as hardware does not wait.

A rule is a row of its family. It says what the earlier instruction does with a register, what the later one
does with it, and how many wait states must lie between. What an instruction does is told in `observe.uses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import cached_property
from typing import Literal

from msgspec import Struct


class Use(Enum):
    """What an instruction does with a register.

    D, A, B and C are operands of matrix instructions; D and C of products in f32 and in f64 have rules of their
    own on some targets. VALU means instructions of the vector ALU that are no matrix instructions.
    """

    D = auto()
    """Writes it as D; of an instruction that is neither F32_D nor F64_D."""
    F32_D = auto()
    F64_D = auto()
    AB = auto()
    """Reads it as A, B, index or scale."""
    C = auto()
    """Reads it as C; of an instruction whose D is a D."""
    WIDE_C = auto()
    """Reads it as C of an instruction whose D is F32_D or F64_D."""
    OPERAND = auto()
    """Reads it as any operand of a matrix instruction."""
    MATRIX_EXEC = auto()
    """A matrix instruction, which needs EXEC."""
    READ = auto()
    """A VALU instruction reads the VGPR."""
    WRITE = auto()
    """A VALU instruction, or a load, writes the VGPR."""
    RESULT = auto()
    """A VALU instruction that is no DOT writes the VGPR."""
    DOT = auto()
    """A DOT instruction writes it."""
    DOT_C = auto()
    """A DOT instruction reads it as the number to add to."""
    TRANS = auto()
    """A transcendental instruction writes it."""
    PLAIN_READ = auto()
    """A VALU instruction that is not transcendental reads it."""
    PART = auto()
    """A VALU instruction writes a part of it: SDWA, op_sel, or a conversion to 8 or 4 bits."""
    TOUCH = auto()
    """A VALU instruction reads or writes it."""
    SCALAR = auto()
    """A VALU instruction writes the scalar register."""
    SCALAR_READ = auto()
    """A VALU instruction reads the scalar register."""
    LANE = auto()
    """v_readlane or v_writelane takes the number of the lane from it."""
    DIV_FMAS = auto()
    """v_div_fmas reads VCC."""
    EXEC = auto()
    """A VALU instruction writes EXEC."""
    LANE_EXEC = auto()
    """v_readlane, v_readfirstlane or v_writelane, which need EXEC."""
    LANE_READ = auto()
    """v_readlane or v_readfirstlane reads the VGPR."""
    DPP = auto()
    """An instruction with DPP reads the VGPR."""
    DPP_EXEC = auto()
    """An instruction with DPP, which needs EXEC."""
    SWAP = auto()
    """v_permlane reads or writes the VGPR."""
    SWAP_EXEC = auto()
    """v_permlane, which needs EXEC."""
    MEMORY = auto()
    """A memory or LDS instruction reads the VGPR."""
    MEMORY_SCALAR = auto()
    """A vector memory instruction reads the scalar register."""
    STORED = auto()
    """A vector memory instruction stores it, among more than 64 bits."""
    M0 = auto()
    """A scalar instruction writes M0."""
    DIRECT = auto()
    """A load that goes straight to LDS takes its address from M0."""
    F64_UNIT = auto()
    """A matrix instruction of f64, whatever its registers."""
    F64_FMA = auto()
    """v_fma_f64 or v_fmac_f64, whatever its registers."""


MATRIX = frozenset((Use.D, Use.F32_D, Use.F64_D, Use.AB, Use.C, Use.WIDE_C, Use.OPERAND, Use.MATRIX_EXEC))
"""What matrix instructions alone do."""

Link = Literal["any", "chain", "other"]


class Hazard(Struct, frozen=True):
    """One rule.

    Attributes:
        first, then: what the earlier and the later instruction do with one register.
        states: wait states that must lie between; or those by the passes of the earlier, a matrix instruction.
        link: "chain", where one mnemonic accumulates into exactly the same registers; "other", where not;
            "any".
        source: who says so.
    """

    first: Use
    then: Use
    states: int | Mapping[int, int]
    source: str
    link: Link = "any"

    def needed(self, passes: int) -> int:
        """Wait states that must lie behind an instruction of so many passes."""
        return self.states if isinstance(self.states, int) else self.states.get(passes, 0)


class Hazards(Struct, frozen=True, dict=True):
    """The rules of an instruction set.

    Attributes:
        rules: all of them.
        filled_by: what makes a wait state: "any" instruction, of which s_nop n makes n + 1; or "VALU", one of
            the vector ALU.
        filler: what compilers put there.
    """

    rules: tuple[Hazard, ...]
    filled_by: Literal["any", "VALU"] = "any"
    filler: str = "s_nop"

    @cached_property
    def of_matrices(self) -> bool:
        """No rule is about any but matrix instructions."""
        return all({rule.first, rule.then} <= MATRIX for rule in self.rules)


NONE = Hazards(())
"""Hardware waits by itself, as far as is known."""
