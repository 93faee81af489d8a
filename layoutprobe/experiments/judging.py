"""One operand against what it should hold, and the findings of all of them in order."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.brief import brief
from layoutprobe.experiments.runs import Operands
from layoutprobe.layouts.layout import Layout
from layoutprobe.probing.bench import Bench
from layoutprobe.report.finding import Finding
from layoutprobe.solver.agree import Agreement
from layoutprobe.solver.copies import copies_finding, documented_copies
from layoutprobe.solver.partial import contradicted, contradiction

Mask = NDArray[np.bool_]


class Judged(Struct, frozen=True):
    """One operand against what it should hold.

    Attributes:
        needed: what execution showed, with the copies that the documents want.
        mismatch: slots that hold something else.
        findings: those that the agreement of loads, instruction and stores does not give.
    """

    needed: Layout
    mismatch: Mask
    findings: tuple[Finding, ...] = ()

    __repr__ = brief


def judge(matrix: str, operands: Operands, agreement: Agreement, bench: Bench) -> Judged:
    """An operand in all its copies, those included that no output was seen to read."""
    moved = operands.moved[matrix]
    target = find(bench.arch)
    period = bench.form.copies_every(target.wave_size)
    seen = agreement.needed[matrix]
    needed = documented_copies(seen, period)
    # With neither order of k observed, any is right.
    k_axis = {"A": 1, "B": 0}[matrix] if len(operands.ambiguous) == len(operands.moved) else None
    mismatch = contradicted(moved, needed, k_axis)
    if agreement.mismatch[matrix].any():
        return Judged(needed, mismatch)
    live = mismatch & ~seen.holes
    if live.any():
        return Judged(needed, mismatch, (contradiction(moved, needed, live, mismatch),))
    copies = copies_finding(moved.layout, moved.key, needed, ~seen.holes[0], period)
    return Judged(needed, mismatch, (copies,) if copies else ())


def findings_of(matrix: str, agreement: Agreement, judged: dict[str, Judged]) -> list[Finding]:
    """Findings of all matrices, those about the one shown first, each saying whose it is."""
    named: list[tuple[str, Finding]] = []
    broken = [name for name in "ABD" if agreement.mismatch[name].any()]
    for name, finding in zip(broken, agreement.findings, strict=True):
        # A copy that no output reads is as wrong as the one that is read.
        count = int(judged[name].mismatch.sum()) if name in judged else finding.count
        named.append((name, replace(finding, place=replace(finding.place, matrix=name), count=count)))
    for name, one in judged.items():
        named += [(name, finding) for finding in one.findings]
    first = "D" if matrix == "C" else matrix
    return [finding for _, finding in sorted(named, key=lambda pair: (pair[0] != first, pair[0]))]
