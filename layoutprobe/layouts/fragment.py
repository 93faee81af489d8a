"""Which element of a matrix sits in x[i] of which lane of a library's fragment."""

from __future__ import annotations

from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import Layout

AXES = ("wave", "lane", "vgpr", "i")


class FragmentLayout(Struct, frozen=True, eq=False):
    """A solved fragment.

    Attributes:
        type: as it was asked for: "matrix_a,16,16,16,f16,row_major".
        arch, wave: target, and lanes of a wave.
        layout: element in each x[i], axes [1, lane, 1, i].
        operand: what the fragment is to the target's matrix instructions, in words.
        is_operand: it is an operand of one instruction, or of several one after the other.
        evidence: of the run.
    """

    type: str
    arch: str
    wave: int
    layout: Layout
    operand: str
    is_operand: bool
    evidence: Evidence

    __repr__ = brief

    @property
    def count(self) -> int:
        """Elements of a lane."""
        return int(self.layout.row.shape[3])

    @property
    def formula(self) -> str:
        """ "A[lane % 16][8 * (lane / 16) + i]"; "" where no simple one reproduces the table."""
        return explain(self.layout, AXES)

    def held(self, lane: int) -> list[str]:
        """Elements of a lane: ["A[0][0]", ...]; "-" where x[i] holds none."""
        rows, cols = self.layout.row[0, lane, 0], self.layout.col[0, lane, 0]
        return [f"{self.layout.matrix}[{r}][{c}]" if r >= 0 else "-" for r, c in zip(rows, cols, strict=True)]
