"""What a template is: an instruction that is no row, as the C function that executes it and what its record holds."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.engine.native.forms import Form, offset_of
from layoutprobe.isa.inst import NULL, SCC, VGPR0, Operand
from layoutprobe.semantics.operands import constant_bits

# How an instruction defines what it writes; F_guard.
WHOLE, LOW_HALF, HIGH_HALF, ALL_LANES = range(4)
_SCC_CODE = 253


class Line(Struct, frozen=True):
    """What a load or store writes into the log for each of its places; see tell_access in c/memory.h.

    Attributes:
        size: bytes of a lane.
        store: the line holds what is stored, too.
        places: how many lines there are.
        lanes: addresses of a line.
    """

    size: int
    store: bool
    places: int
    lanes: int

    @property
    def words(self) -> int:
        """Of one line."""
        return 4 + 2 * self.lanes + ((self.size + 3) // 4 * self.lanes if self.store else 0)


class Template(Struct, frozen=True):
    """One instruction's record.

    Attributes:
        symbol: the C function.
        offsets, immediates: see c/base.h and the function.
        reads: registers that must be defined; of an operand of 16 bits its half.
        active: of these only bits in active lanes.
        moves: registers whose undefined bits it moves to those that are written.
        moved: which offsets are of either, as bits.
        undefined: how C moves undefined bits between registers and LDS; c/undefined.h.
        writes: registers that it defines, and how.
        fragments: of a matrix instruction: registers of A and B, and how they are expanded.
        form: the function itself where it is not part of the runtime.
        line: what it writes into the log; None where numpy must execute it for observers of accesses.
    """

    symbol: str
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()
    reads: tuple[Operand, ...] = ()
    writes: tuple[tuple[Operand, int], ...] = ()
    fragments: tuple[tuple[str, Operand], ...] = ()
    form: Form | None = None
    line: Line | None = None
    active: bool = False
    moves: tuple[Operand, ...] = ()
    moved: int = 0
    undefined: int = 0


class Layout(Struct, frozen=True):
    """Where registers lie in a wave's state."""

    lanes: int
    vgprs_at: int

    def offset(self, operand: Operand) -> int:
        """Bytes from the wave's start."""
        return offset_of(operand, self.lanes, self.vgprs_at)


class Scalar(Struct, frozen=True):
    """A scalar operand: a register, or else a number.

    Attributes:
        offset: bytes from the wave's start to the register.
        number: the value of what is no register.
        known: it is a number.
    """

    offset: int
    number: int
    known: bool


def scalar_of(operand: Operand, layout: Layout) -> Scalar | None:
    """A scalar operand of 32 bits; None of what is none."""
    if (operand.kind == "s" and operand.index == NULL) or operand.kind == "none":
        return Scalar(0, 0, True)
    if operand.kind == "s" or (operand.kind == "const" and operand.index == _SCC_CODE):
        return Scalar(layout.offset(operand), 0, False)
    return Scalar(0, constant_bits(operand, 32), True) if operand.kind in ("const", "literal") else None


def registers_of(operand: Operand) -> tuple[int, int]:
    """First register and number of an operand, as `Cohort.undef` counts them; number 0 of what is none."""
    if operand.kind == "const" and operand.index == _SCC_CODE:
        return SCC, 1
    used = operand.registers()
    return (used[0], len(used)) if used else (VGPR0, 0)
