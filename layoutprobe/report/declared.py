"""What a text declares of a kernel's layouts, beside what the kernel did, as plain data."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.capture.capture import Evidence
from layoutprobe.place import Place

AGREES, REFUTED, UNDECIDED = "agrees", "refuted", "cannot decide"
CODES = {AGREES: 0, REFUTED: 1, UNDECIDED: 2}
"""Verdict -> exit code."""


class Part(Struct, frozen=True):
    """One thing that is declared, beside what was seen.

    Attributes:
        name: "operand 0 (A)", "operand 1 (B)", "result (C)", "instruction".
        agrees: None where it was not compared.
        why: the difference, or why it was not compared; what was compared, where it agrees.
    """

    name: str
    agrees: bool | None
    why: str


class Multiplied(Struct, frozen=True):
    """A matrix instruction beside the product of tiles that it is a part of.

    Attributes:
        number: in the order of the code.
        place: PC, instruction and line.
        times: executions that were looked at, over all waves.
        lines: lines of the text with this product, or with equal ones.
        parts: what was compared.
    """

    number: int
    place: Place
    times: int
    lines: tuple[int, ...]
    parts: tuple[Part, ...]


class Agreement(Struct, frozen=True):
    """A text beside a kernel.

    Attributes:
        kernel, target, size: what was executed.
        file: the text.
        products: what it declares, a line each.
        multiplied: every matrix instruction.
        tiles: tiles in LDS.
        problems: what refutes it apart from layouts.
        open: what leaves it undecided.
        unseen: what is declared, and no execution can show.
        evidence: what it rests on.
    """

    kernel: str
    target: str
    size: str
    file: str
    products: tuple[str, ...]
    multiplied: tuple[Multiplied, ...]
    tiles: tuple[Part, ...]
    problems: tuple[str, ...]
    open: tuple[str, ...]
    unseen: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of them."""
        return (*(part for one in self.multiplied for part in one.parts), *self.tiles)

    @property
    def verdict(self) -> str:
        """ "agrees", "refuted" or "cannot decide"."""
        if self.problems or any(part.agrees is False for part in self.parts):
            return REFUTED
        idle = any(not any(part.agrees for part in one.parts) for one in self.multiplied)
        return UNDECIDED if self.open or idle or not self.multiplied else AGREES

    @property
    def exit_code(self) -> int:
        """0 agrees, 1 refuted, 2 cannot decide."""
        return CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict in a line."""
        differ = sum(any(part.agrees is False for part in one.parts) for one in self.multiplied)
        count = len(self.multiplied)
        if self.verdict == REFUTED:
            tiles = sum(tile.agrees is False for tile in self.tiles)
            said = [f"at {differ} of {count} matrix instructions"] if differ else []
            said += [f"of {tiles} of {len(self.tiles)} tiles in LDS"] if tiles else []
            said += list(self.problems[:1]) if not said else []
            return f"{REFUTED} against the emulator (emulated): {' and '.join(said)}"
        if self.verdict == UNDECIDED:
            why = self.open[0] if self.open else "nothing of a matrix instruction could be compared"
            return f"{UNDECIDED}: {why}"
        left = sum(part.agrees is None for part in self.parts)
        rest = f"; {left} of {len(self.parts)} parts could not be compared" if left else ""
        return f"{AGREES} with the emulator (emulated) at all {count} matrix instructions{rest}"
