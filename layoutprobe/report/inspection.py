"""What a user's own kernel was seen to do, as plain data; one operand of it is a `LayoutReport`."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.errors import UsageError
from layoutprobe.place import Place
from layoutprobe.report import notebook
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import LayoutReport


class Site(Struct, frozen=True):
    """A matrix instruction of a kernel.

    Attributes:
        number: counted in the order of the code, from 0.
        place: PC, instruction and line.
        times: how often a wave executes it: least and most, over the waves that were looked at.
        wrong: the contract's name of each operand that is wrong in any execution, and how.
        lost: why its operands cannot be followed; "" where they can.
    """

    number: int
    place: Place
    times: tuple[int, int]
    wrong: tuple[tuple[str, str], ...] = ()
    lost: str = ""


class Sites(Struct, frozen=True):
    """The matrix instructions of a kernel.

    Attributes:
        kernel: its name in the manifest.
        target: processor that it was compiled for.
        size: the problem size, as the manifest names it.
        sites: in the order of the code.
        evidence: what it rests on.
        findings: what `check` finds at this size, causes alone; None where it was not asked.
        judged: operands were held beside what they need; of a recording that may not be known.
    """

    kernel: str
    target: str
    size: str
    sites: tuple[Site, ...]
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...] | None = None
    judged: bool = True

    @property
    def exit_code(self) -> int:
        """1 where an operand is wrong or anything else is found, else 2 where one could not be followed, else 0."""
        if self.findings or any(site.wrong for site in self.sites):
            return 1
        return 2 if not self.judged or any(site.lost for site in self.sites) else 0

    def find(self, at: str) -> Site:
        """The matrix instruction that is meant: by its number, "mfma:3", a PC, or a line.

        Raises:
            UsageError: there is none, or several.
        """
        sites = self.sites
        number = at.rpartition(":")[2] if at.partition(":")[0] in ("wmma", "mfma", "swmmac", "smfmac") else at
        if number.isascii() and number.isdecimal():
            chosen = [site for site in sites if site.number == int(number[:9])]
        elif at.lower().startswith("0x"):
            chosen = [site for site in sites if f"{site.place.pc:#x}" == at.lower()]
        else:
            chosen = [site for site in sites if at in _lines(site)]
        if not chosen:
            known = "; ".join(
                f"{site.number}: PC {site.place.pc:#x}, {site.place.line or 'no line'}" for site in sites[:8]
            )
            raise UsageError(
                f"no matrix instruction at {at[:80]!r}", expected=f"a number, PC or line of: {known}"
            )
        return chosen[0]

    def _repr_html_(self) -> str | None:
        return notebook.html(self)


def _lines(site: Site) -> set[str]:
    """The lines that an instruction is at: its own, and those of the calls around it, by path and by name."""
    sources = [site.place.source, *(call.source for call in site.place.inlined_at)]
    known = {str(source) for source in sources if source is not None}
    return known | {name.rpartition("/")[2] for name in known}


class Held(Struct, frozen=True, eq=False):
    """An operand in one execution by one wave. Axes of all arrays are [lane, vgpr, field].

    Attributes:
        report: the operand in every wave of the workgroup; draws itself in a notebook.
        wave: which wave this is.
        row, col: int32, the element that a slot holds; of C: that it is stored to. HOLE (-1) for none.
        needed_row, needed_col: int32, the element that belongs there; HOLE where none does.
        wrong: bool, it holds something else than it should.
    """

    report: LayoutReport
    wave: int
    row: NDArray[np.int32]
    col: NDArray[np.int32]
    needed_row: NDArray[np.int32]
    needed_col: NDArray[np.int32]
    wrong: NDArray[np.bool_]

    __repr__ = brief

    @staticmethod
    def of(report: LayoutReport, wave: int) -> Held:
        """One wave of a report that says what is needed."""
        assert report.needed is not None
        loaded, needed = report.loaded, report.needed
        return Held(
            report, wave, loaded.row[wave], loaded.col[wave], needed.row[wave], needed.col[wave],
            report.mismatch[wave],
        )  # fmt: skip

    def _repr_html_(self) -> str | None:
        return notebook.html(self)


class Operands(Struct, frozen=True, eq=False):
    """A matrix instruction in one execution by one wave.

    Attributes:
        a, b: what it multiplies, by the names of the contract.
        c: what it adds to, by the elements that it is stored to in the end.
    """

    a: Held
    b: Held
    c: Held

    __repr__ = brief

    def _repr_html_(self) -> str | None:
        return notebook.html(self)


class Owners(Struct, frozen=True, eq=False):
    """Who stored each element of an output last; -1 where nobody did. Axes are those of the output.

    Attributes:
        output: its name.
        workgroup: int32 [..., 3], id in x, y, z.
        wave: int32, position in the workgroup.
        lane: int32.
        register: int32, row of the file that has VGPRs first and AccVGPRs behind them.
        pc: int64, of the store.
    """

    output: str
    workgroup: NDArray[np.int32]
    wave: NDArray[np.int32]
    lane: NDArray[np.int32]
    register: NDArray[np.int32]
    pc: NDArray[np.int64]

    __repr__ = brief

    def _repr_html_(self) -> str | None:
        return notebook.html(self)
