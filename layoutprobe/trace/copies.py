"""Replication: where an operand is wanted in several groups of lanes, all of them hold it.

AMD's documents ask for A and B in both half-waves (RDNA3 ISA guide, 7.9). A copy that no output of
the emulator reads may still be read by a card: what silicon does where copies differ is unmeasured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.observe.origin import Target
from layoutprobe.report.finding import Finding
from layoutprobe.solver.product import NOWHERE, UNDEFINED, ZERO
from layoutprobe.trace.held import place_of
from layoutprobe.trace.origins import chains_of, in_words
from layoutprobe.trace.places import where
from layoutprobe.trace.provenance import Analysis, Judged
from layoutprobe.trace.subject import Subject


def copy_findings(subject: Subject, analysis: Analysis, check: str) -> list[Finding]:
    """One finding for each operand whose copies differ."""
    period = copies_every(subject)
    found = {}
    for judged in analysis.judged if period else ():
        for matrix in "AB":
            differs = _differing(judged, matrix, period)
            if differs.any() and matrix not in found:
                found[matrix] = _finding(subject, analysis, judged, matrix, period, differs, check)
    return list(found.values())


def copies_every(subject: Subject) -> int:
    """Lanes that lie so far apart hold copies of one operand; 0 where nothing is replicated."""
    facts = subject.arch.instructions.values() if subject.arch else ()
    return max((fact.copies_every for fact in facts), default=0)


def _differing(judged: Judged, matrix: str, period: int) -> NDArray[np.bool_]:
    """Slots that differ from the copy some output reads: bool [execution, lane, vgpr, field]."""
    form = judged.group.form
    needed = form.instruction.needed[matrix]
    axes = needed.row.shape[1:]
    held = (form.a if matrix == "A" else form.b).reshape(-1, *axes)
    live, stored = ~needed.holes[0], _stored_lanes(judged, matrix)[:, :, None, None]
    differs = np.zeros(held.shape, np.bool_)
    for partner in _partners(axes[0], period):
        # Both copies are read, each by its own outputs, where both are live: the product's law covers it.
        differs |= (held != held[:, partner]) & ~live & live[partner] & stored[:, partner]
    return differs


def _partners(lanes: int, period: int) -> Iterator[NDArray[np.intp]]:
    """The lanes that hold the copies of each lane's elements, one other copy after the other."""
    for shift in range(period, lanes, period):
        yield (np.arange(lanes) + shift) % lanes


def _stored_lanes(judged: Judged, matrix: str) -> NDArray[np.bool_]:
    """Lanes whose line of the operand reaches some stored output: bool [execution, lane]."""
    g, chain = judged.group.form.geometry, judged.factors.chain
    lines = judged.targets.row() if matrix == "A" else judged.targets.col()
    layout = judged.group.form.instruction.needed[matrix]
    per_lane = layout.vgprs * layout.fields
    lane = (g.a if matrix == "A" else g.b)[:, :, 0] // per_lane
    stored = np.zeros((chain.size, layout.lanes), np.bool_)
    stored[:, lane.ravel()] = (lines[chain] != NOWHERE).reshape(chain.size, -1)
    return stored


def _finding(
    subject: Subject,
    analysis: Analysis,
    judged: Judged,
    matrix: str,
    period: int,
    differs: NDArray[np.bool_],
    check: str,
) -> Finding:
    form = judged.group.form
    at, lane, vgpr, field = (int(x) for x in np.argwhere(differs)[0])
    inst = form.insts[int(form.pc[at])]
    axes = differs.shape[1:]
    held = (form.a if matrix == "A" else form.b).reshape(-1, *axes)
    live = ~form.instruction.needed[matrix].holes[0, :, vgpr, field]
    partner = next(int(p[lane]) for p in _partners(axes[0], period) if live[p[lane]])
    if held[at, lane, vgpr, field] >= 0 > held[at, partner, vgpr, field]:
        lane, partner = partner, lane  # the copy that is read is the one that holds nothing
    operand = inst.src[0 if matrix == "A" else 1]
    name = {"A": "B", "B": "A"}[matrix] if judged.group.swapped else matrix

    def element(lane: int) -> str:
        number = int(held[at, lane, vgpr, field])
        if number >= 0:
            return str(analysis.problem.coding.element(number))
        return {ZERO: "zero", UNDEFINED: "bits that were never defined"}.get(number, "no element")

    half = field * form.instruction.needed[matrix].field_bits // 16
    target = Target(int(form.wave[at]), int(form.turn[at]), operand.index + vgpr, lane, half)
    chain = chains_of(subject, [target]).get(target, ())
    place = where(subject, inst, None) | place_of(analysis.operands.waves, int(form.wave[at]))
    return Finding(
        check,
        f"the copies of {name} in lanes {min(lane, partner)} and {max(lane, partner)} differ: "
        "the instruction wants it in both half-waves",
        place
        | {"matrix": name, "lane": lane, "VGPR": f"v{operand.index + vgpr}", "half": ("low", "high")[field]}
        if axes[2] == 2
        else place | {"matrix": name, "lane": lane, "VGPR": f"v{operand.index + vgpr}", "field": field},
        expected=f"{element(partner)}, as in lane {partner}",
        observed=element(lane),
        hint=f"load with lane % {period}, in all lanes. In the emulator an output reads the copy of its own "
        "half-wave; which one a card reads is unmeasured",
        count=int(differs.sum()),
        came_from=in_words(subject, chain),
    )
