"""What a command found, as plain data: rendering and exit codes both read it from here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.swizzle import bit_of, per_chunk
from layoutprobe.report import notebook
from layoutprobe.report.finding import Finding


class Coverage(Struct, frozen=True):
    """Which elements of the tile were seen.

    Attributes:
        elements: elements of the tile.
        seen: how many of them sit in at least one slot.
        copies: smallest and largest number of slots per seen element, per wave that holds it.
        missing_rows, missing_cols: rows and columns of which no element was seen.
        fold: e.g. "rows fold by 8" where rows r and r+8 cannot be told apart or the upper half
            repeats the lower; "" otherwise.
    """

    elements: int
    seen: int
    copies: tuple[int, int]
    missing_rows: tuple[int, ...] = ()
    missing_cols: tuple[int, ...] = ()
    fold: str = ""


class LdsMap(Struct, frozen=True, eq=False):
    """Which element each cell of LDS was found to hold, in address order.

    Attributes:
        row, col: int32 [cells]; HOLE where no element was found (padding was never stored).
        cell_bits: width of one cell. Those of 6 bits fill 12 of 16 bytes; the others are no cells.
        banks: dword banks of the target's LDS.
    """

    row: NDArray[np.int32]
    col: NDArray[np.int32]
    cell_bits: int
    banks: int

    def byte(self, cell: int) -> int:
        """The byte in which a cell begins."""
        return int(bit_of(np.asarray(cell), self.cell_bits)) // 8

    def cells(self, count: int) -> int:
        """Cells of so many bytes, a multiple of 16."""
        return count // 16 * per_chunk(self.cell_bits)

    __repr__ = brief


class LayoutReport(Struct, frozen=True, eq=False):
    """Result of `dump`, `roundtrip` and `epilogue`, and of `inspect`.

    Attributes:
        command: "dump", "roundtrip", "epilogue" or "inspect".
        arch, instruction, matrix, dtype, lds, tile: what was probed; lds and instruction are ""
            where the command has none. tile is (M, N, K) of the block.
        patterns: names of the patterns whose codes identified the elements.
        loaded: what the registers were found to hold (dump), what LDS returned (roundtrip), or
            which C element each accumulator slot was stored to (epilogue). UNKNOWN coordinates
            where the patterns leave open which element it is.
        needed: what the instruction was found to need in the same slots, anchored by
            `convention`; in copies of A and B that no output was seen to read, what AMD's documents
            want there; None where the command does not involve the instruction.
        mismatch: bool, axes of loaded.row: slots that hold something else than they should: what
            the instruction needs there, or (roundtrip) what the probe was asked to read back.
        live: bool, same axes: some output of the instruction depends on this slot. None where
            not probed.
        readers: int32, same axes: which half-wave's outputs read the slot (-1: none); None where
            not probed.
        closed_form: explanation that reproduces `loaded` exactly, or "" where none was found.
        needed_form: the same for `needed`.
        convention: how the gauge was fixed, in words.
        ambiguity: what execution cannot tell, in words.
        coverage: what of the tile was seen; None where elements were not identified.
        findings: empty when everything holds.
        evidence: of every capture that went in, each kind once.
        toolchain: compiler version, flags, code-object digest.
        undecided: why no verdict could be reached; "" when one was.
        lds_map: what LDS itself was found to hold (roundtrip only).
        lds_form: index of an element in LDS under the scheme, as a formula; "" without LDS.
        acc: the registers are AccVGPRs.
        about: (label, sentence): what was looked at, where that is a kernel of the user's; of a probe, what else is
            to be said.
    """

    command: str
    arch: str
    instruction: str
    matrix: str
    dtype: str
    lds: str
    tile: tuple[int, int, int]
    patterns: tuple[str, ...]
    loaded: Layout
    needed: Layout | None
    mismatch: NDArray[np.bool_]
    live: NDArray[np.bool_] | None
    readers: NDArray[np.int32] | None
    closed_form: str
    needed_form: str
    convention: str
    ambiguity: str
    coverage: Coverage | None
    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...]
    toolchain: Mapping[str, str] = field(default_factory=dict)
    undecided: str = ""
    lds_map: LdsMap | None = None
    lds_form: str = ""
    acc: bool = False
    about: tuple[tuple[str, str], ...] = ()

    @property
    def exit_code(self) -> int:
        """0 holds, 1 a finding, 2 could not decide."""
        if self.findings:
            return 1
        return 2 if self.undecided else 0

    def __repr__(self) -> str:
        outcome = {0: "holds", 1: f"{len(self.findings)} finding(s)", 2: "undecided"}[self.exit_code]
        basis = ", ".join(dict.fromkeys(evidence.kind for evidence in self.evidence))
        form = self.closed_form or "no closed form"
        return f"<LayoutReport: {self.command} of {self.matrix} on {self.arch}: {outcome} ({basis}); {form}>"

    def _repr_html_(self) -> str | None:
        return notebook.html(self)
