"""What `solve-swizzle` and `pack` found: stores and reads of LDS that go together, and code that packs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from layoutprobe.capture.capture import Evidence


class Subject(Struct, frozen=True):
    """What both are about.

    Attributes:
        instruction: its spelling.
        arch: target.
        wave: lanes of a wave.
        matrix: "A" or "B".
        operand: rows and columns of one operand.
        tile: rows and columns of the tile in LDS.
        swapped: LDS holds the columns of the operand as its rows.
    """

    instruction: str
    arch: str
    wave: int
    matrix: str
    operand: tuple[int, int]
    tile: tuple[int, int]
    swapped: bool


class Base(Struct, frozen=True):
    """An address of each lane, in bytes.

    Attributes:
        formula: of the lane, in the pattern language.
        kind: "linear over GF(2)", "linear as a sum", "not linear".
    """

    formula: str
    kind: str


class Rung(Struct, frozen=True):
    """One read.

    Attributes:
        title: what it fills: "VGPRs 2-3".
        base: number of its base.
        flip: constant that is XORed to the base.
        offset: constant that the instruction adds.
    """

    title: str
    base: int
    flip: int
    offset: int

    def __str__(self) -> str:
        flipped = f" ^ 0x{self.flip:x}" if self.flip else ""
        return f"base{self.base}{flipped}" + (f" offset:{self.offset}" if self.offset else "")


class Cost(Struct, frozen=True):
    """Cycles of LDS, and what they would be without conflicts."""

    cycles: int
    ideal: int

    def __str__(self) -> str:
        return f"{self.cycles} ({self.ideal} without conflicts)"


class SwizzleCandidate(Struct, frozen=True):
    """A store and reads that go with it, which ran and were right.

    Attributes:
        store: name of a scheme, or the formula.
        formula: element of LDS of (row, col), in the pattern language; "" where only a table gives it.
        store_kind: whether the store is linear, as of a Base.
        read: mnemonic.
        bases, rungs: addresses.
        loads: cycles of all reads of one wave.
        stores: of storing the tile once, `chunk` bytes a lane; None where neighbours lie apart.
        chunk: bytes.
        code: the reads in HIP.
    """

    store: str
    formula: str
    store_kind: str
    read: str
    bases: tuple[Base, ...]
    rungs: tuple[Rung, ...]
    loads: Cost
    stores: Cost | None
    chunk: int
    code: str


class SwizzleReport(Struct, frozen=True):
    """What `solve-swizzle` found.

    Attributes:
        subject: of what.
        given: "store", "addresses" or "nothing".
        tried: how many pairs of a store and a read.
        candidates: best first.
        refused: what does not go, each with the reason.
        costs: what the costs rest on.
        evidence: of the runs.
    """

    subject: Subject
    given: str
    tried: int
    candidates: tuple[SwizzleCandidate, ...]
    refused: tuple[tuple[str, str], ...]
    costs: str
    evidence: Evidence

    @property
    def exit_code(self) -> int:
        """0 where there is a candidate, else 1."""
        return 0 if self.candidates else 1


class PackGroup(Struct, frozen=True):
    """Lanes that pack alike.

    Attributes:
        lanes: their numbers.
        partner: for each slot of the operand, which bits of the lane's number change; 0: the lane itself.
        source: for each slot of the operand, the slot of the read registers; -1 where there is none.
    """

    lanes: tuple[int, ...]
    partner: tuple[int, ...]
    source: tuple[int, ...]


class PackBlock(Struct, frozen=True):
    """The operand of one matrix instruction.

    Attributes:
        title: "B0".
        groups: where its slots come from.
        status: "code", "nothing to do", "ambiguous", "missing".
        why: of a status without code, in words.
        hip, assembly: the code.
        registers: symbol of the assembly -> how many registers it names.
    """

    title: str
    groups: tuple[PackGroup, ...]
    status: str
    why: str = ""
    hip: str = ""
    assembly: tuple[str, ...] = ()
    registers: Mapping[str, int] = field(default_factory=dict)


class PackReport(Struct, frozen=True):
    """What `pack` found.

    Attributes:
        subject: of what.
        read: mnemonic; "" where the registers were dumped by somebody else.
        patterns: that named the elements.
        slots: slots of a lane that were read.
        slot: what one is: "byte", "half".
        blocks: in the order of the tile.
        ran: what the code ran on, in words; "" where there is none.
        evidence: of what was read; None of a dump, of which nobody knows.
    """

    subject: Subject
    read: str
    patterns: tuple[str, ...]
    slots: int
    slot: str
    blocks: tuple[PackBlock, ...]
    ran: str
    evidence: Evidence | None

    @property
    def exit_code(self) -> int:
        """0 with code for all, 1 where the reads do not bring an element, 2 where the patterns leave it open."""
        states = {block.status for block in self.blocks}
        return 1 if "missing" in states else 2 if "ambiguous" in states else 0
