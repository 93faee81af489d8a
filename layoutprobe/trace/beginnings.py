"""How accumulators begin: with zeros, or with what nobody put there."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from layoutprobe.observe.accumulators import FROM_OTHER, Chains
from layoutprobe.observe.undefined import UndefinedRecord, UndefinedUse
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.trace.analysis import Analysis
from layoutprobe.trace.comparisons import wrong_on_integers
from layoutprobe.trace.places import vector, where, who_was
from layoutprobe.trace.subject import Subject

NOT_ZERO = Rule(
    "operand-provenance/accumulator-not-zero",
    "an accumulator does not begin with zeros",
    "The first matrix instruction of a sum takes C as it is. If nobody has set these registers, they hold what "
    "was there before, or what the compiler kept there: the sum is off by that.",
    "initialise every accumulator before the K loop, and again before each tile of a kernel that has several",
)


NOT_RESET = Rule(
    "operand-provenance/accumulator-not-reset",
    "an accumulator is not reset from one tile of C to the next",
    "A workgroup that computes several tiles adds the second one to the first: only the first is right.",
    "set the accumulators to zero inside the loop over tiles (or batches), not before it",
)


def wrong_beginnings(subject: Subject, analysis: Analysis) -> list[Finding]:
    """Accumulators that begin with undefined bits, or in a wrong result with numbers that are no zeros."""
    if use := undefined_beginning(subject):
        place = replace(where(subject, use.inst, use.who), matrix="C", register=vector(subject, use.vgpr))
        return [_finding(place, "bits that were never defined", use.count)]
    chains = analysis.arrivals.chains
    if not analysis.judged:
        return []
    other = _complete(analysis) & (chains.start == FROM_OTHER)
    if not other.any() or not wrong_on_integers(subject):
        return []
    place = _begins(subject, chains, int(np.flatnonzero(other)[0]))
    return [_finding(place, "numbers that are neither zero nor a sum", int(other.sum()))]


def not_reset(subject: Subject, analysis: Analysis) -> list[Finding]:
    """Accumulators that go on from one tile of C to the next: each is stored to several places, and every k was
    added to it once for each."""
    chains = analysis.arrivals.chains
    stored = analysis.arrivals.times.max(axis=1, initial=0)
    added = np.zeros((chains.wave.size, analysis.problem.k), np.int64)
    for judged in analysis.judged:
        k = judged.factors.a_k.max(axis=2)[:, 0]  # [execution, k]: of the first block
        chain, at = np.broadcast_to(judged.factors.chain[:, None], k.shape)[k >= 0], k[k >= 0]
        np.add.at(added, (chain, at), 1)
    # Ragged tiles are stored in part: some slots of an accumulator once, and others to every tile.
    carried = (stored > 1) & np.all(added == stored[:, None], axis=1)
    if not carried.any() or not wrong_on_integers(subject):
        return []
    chain = int(np.flatnonzero(carried)[0])
    return [
        Finding(
            NOT_RESET,
            "the accumulator is not reset from one tile of C to the next: each holds the sums before it as well",
            _begins(subject, chains, chain),
            expected="zeros, before the first k of every tile is added",
            observed=f"one accumulator, to which every k is added {int(stored[chain])} times, is stored to as many "
            "tiles",
            hint="set the accumulator to zero inside the loop over tiles",
            count=int(carried.sum()),
        )
    ]


def undefined_beginning(subject: Subject) -> UndefinedUse | None:
    """The first matrix instruction whose C had undefined bits, where they reach an output and came from
    neither LDS nor an earlier undefined operand."""
    recorded = subject.plain(partial=True)
    try:
        record = recorded.record(UndefinedRecord)
    except LookupError:
        return None
    first = next(iter(record.operands), None)
    if first is None or first.role != "C" or first.load is not None or not recorded.undefined:
        return None
    return first


def _begins(subject: Subject, chains: Chains, chain: int) -> Place:
    """The first matrix instruction of a chain."""
    link = next(link for link in chains.links if (link.chain == chain).any())
    return replace(where(subject, link.inst, who_was(chains.waves, int(chains.wave[chain]))), matrix="C")


def _complete(analysis: Analysis) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Chains to which every k was added: [chain]."""
    counted = sum(judged.judgement.counted.min(axis=1) for judged in analysis.judged)
    return np.asarray(np.all(counted == 1, axis=1))


def _finding(place: Place, observed: str, count: int) -> Finding:
    return Finding(
        NOT_ZERO,
        "the accumulator is not zero at the first step of the sum: C of the first matrix instruction holds "
        + observed,
        place,
        expected="zeros, before the first k is added",
        observed=observed,
        hint="initialise the accumulator before the K loop",
        count=count,
    )
