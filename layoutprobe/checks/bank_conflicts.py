"""Law: LDS accesses cost at most as many cycles per conflict-free cycle as the manifest allows.

Conflicts are a cost, not an error: without a limit the law holds, and the figures are what counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.arch import lds_model
from layoutprobe.arch.lds import LdsModel
from layoutprobe.checks.base import Check
from layoutprobe.errors import UsageError
from layoutprobe.observe.banks import BankObserver, BankRecord, BankSite
from layoutprobe.observe.cycles import alternatives, as_rows, cycles
from layoutprobe.observe.who import Who
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult, Table
from layoutprobe.trace.places import site, where
from layoutprobe.trace.subject import Subject

NAME = "bank-conflicts"
SHOWN = 5
"""Worst sites that the metrics list."""

EXPLAIN = """\
LDS has 32 banks of one dword (CDNA4: 64). An access of a wave is served in phases, by target and width (RDNA3,
32 lanes: b128 four of 8 lanes, b64 two of 16, narrower all at once); in a phase, lanes that ask for different
dwords of one bank wait for each other, and lanes that ask for the same dword do not. From the addresses that
the kernel really used follow the cycles of every access, and the factor over one cycle per phase, worst instructions
first. A 2addr instruction makes two accesses. For loads whose lanes step through the rows of a tile,
the same rows are laid out without padding, with 8 halves of padding, and with an XOR of 16-byte groups,
so that the schemes can be compared. Broken only where the kernel's factor exceeds `bank_conflicts` of
the manifest's limits. Which lanes of a load are served together was measured on one card of the family;
the reason says whether it was this target's, and the metrics where each part comes from. For stores it is an
assumption. Where two readings of a target contradict each other and no card has decided, both are counted, and a
limit that they disagree about is undecided. Atomics, which take turns for other reasons, and transposing reads,
whose phases nobody has published, are left out, and so is everything that overlaps with other work.
Evidence: modelled."""

OVER_LIMIT = Rule(
    "bank-conflicts/over-limit",
    "LDS accesses take more cycles than the manifest allows",
    "Lanes that are served together ask for different dwords of one bank, and wait for each other. The result "
    "is right; it costs time.",
    "pad the rows by 16 bytes, or XOR the 16-byte groups with the row: the metrics compare both",
)


class Cost(Struct, frozen=True):
    """What the accesses of one site cost.

    Attributes:
        site: the accesses.
        accesses: how many waves made one.
        total, ideal: cycles of all of them, and without conflicts.
        worst: cycles of the worst one, `worst_ideal` without conflicts, and who made it.
    """

    site: BankSite
    accesses: int
    total: int
    ideal: int
    worst: int
    worst_ideal: int
    who: Who

    @property
    def factor(self) -> float:
        """Cycles per conflict-free cycle."""
        return self.total / self.ideal if self.ideal else 1.0


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    record = subject.plain().record(BankRecord)
    if not record.sites:
        return CHECK.skipped("the kernel uses no LDS")
    limit, lanes = subject.case.limits.bank_conflicts, subject.kernel.wavefront_size
    try:
        model = lds_model(subject.code.target, lanes)
    except UsageError as error:
        if limit is None:
            return CHECK.skipped(f"{error.what}, and no limit is set")
        return CHECK.undecided(error.what)
    costs = _costs(record, model)
    total, ideal = _sums(costs)
    factor = total / ideal
    metrics: dict[str, object] = {
        "LDS cycles": total,
        "conflict-free cycles": ideal,
        "conflict factor": round(factor, 3),
        **_worst(subject, costs),
        **_what_if(subject, costs, model),
        **_evidence(record, model),
    }
    if record.dropped:
        metrics["accesses not modelled"] = record.dropped
    if model.rival is not None:
        total, ideal = _sums(_costs(record, model.rival))
        metrics["conflict factor by the other reading"] = round(total / ideal, 3)
        metrics["the other reading"] = model.rival.evidence
        if limit is not None and (total / ideal > limit) != (factor > limit):
            reason = f"{factor:.2f}, or {total / ideal:.2f} if {model.rival.evidence}; the limit is {limit:g}"
            return CHECK.undecided(reason, metrics=metrics)
    findings = [] if limit is None or factor <= limit else [_finding(subject, costs[0], factor, limit)]
    return CHECK.found(findings, f"conflict factor {factor:.3g}; {model.evidence}", metrics=metrics)


def _costs(record: BankRecord, model: LdsModel) -> list[Cost]:
    """Worst first."""
    costs = (_cost(at, model) for at in record.sites)
    return sorted(costs, key=lambda c: (c.ideal - c.total, c.site.inst.pc))


def _sums(costs: Sequence[Cost]) -> tuple[int, int]:
    """Cycles, and conflict-free ones."""
    return sum(c.total for c in costs), sum(c.ideal for c in costs)


def _evidence(record: BankRecord, model: LdsModel) -> dict[str, object]:
    """Where the banks come from, and the phases of what the kernel does."""
    done = {"stores" if at.store else "loads" for at in record.sites}
    phases = {f"phases of {name}": model.sources[name] for name in ("loads", "stores") if name in done}
    return {"banks": f"{model.banks} ({model.sources['banks']})", **phases}


def _cost(at: BankSite, model: LdsModel) -> Cost:
    total, ideal = cycles(at.patterns, at.size, model, store=at.store)
    worst = int(np.argmax(total - ideal))
    return Cost(
        at,
        int(at.counts.sum()),
        int(total @ at.counts),
        int(ideal @ at.counts),
        int(total[worst]),
        int(ideal[worst]),
        at.who[worst],
    )


def _worst(subject: Subject, costs: Sequence[Cost]) -> dict[str, object]:
    bad = [c for c in costs if c.total > c.ideal]
    rows = [
        (site(subject, c.site.inst), round(c.factor, 2), c.worst, c.worst_ideal, c.accesses)
        for c in bad[:SHOWN]
    ]
    columns = ("site", "factor", "worst cycles", "conflict-free", "accesses")
    found: dict[str, object] = {"worst sites": Table(columns, tuple(rows))} if rows else {}
    return found | ({"more sites with conflicts": len(bad) - SHOWN} if len(bad) > SHOWN else {})


def _what_if(subject: Subject, costs: Sequence[Cost], model: LdsModel) -> dict[str, object]:
    """The fragment loads under other schemes, one row per kind of tile, worst site first."""
    shown: set[tuple[int, int]] = set()
    columns: tuple[str, ...] = ()
    found: list[tuple[str | int, ...]] = []
    for cost in costs:
        at = cost.site
        if at.store or at.size < 8:
            continue
        pattern = at.patterns[int(np.argmax(at.counts))]
        rows = as_rows(pattern)
        if rows is None or (rows.stride, at.size) in shown:
            continue
        shown.add((rows.stride, at.size))
        _, ideal = cycles(pattern[None], at.size, model, store=False)
        schemes = {"as is": pattern[None], **alternatives(rows, model.banks)}
        columns = ("site", "row bytes", "row stride", *schemes, "conflict-free")
        costs_of = (int(cycles(one, at.size, model, store=False)[0][0]) for one in schemes.values())
        found.append((site(subject, at.inst), rows.width, rows.stride, *costs_of, int(ideal[0])))
    return {"cycles under other schemes": Table(columns, tuple(found))} if found else {}


def _finding(subject: Subject, worst: Cost, factor: float, limit: float) -> Finding:
    return Finding(
        OVER_LIMIT,
        f"LDS accesses take {factor:.2f} times their conflict-free cycles; the worst is "
        f"{site(subject, worst.site.inst)}",
        where(subject, worst.site.inst, worst.who),
        expected=f"at most {limit:g} (limit bank_conflicts)",
        observed=f"{worst.factor:.2f} for this instruction: up to {worst.worst} cycles instead of "
        f"{worst.worst_ideal}",
        hint="pad the rows by 16 bytes, or XOR the 16-byte groups with the row: see the metrics",
        count=worst.accesses,
    )


CHECK = Check(
    NAME,
    "LDS accesses take at most `bank_conflicts` cycles per conflict-free cycle",
    EXPLAIN,
    run,
    observers=(BankObserver,),
    rules=(OVER_LIMIT,),
)
