"""Law: at every matrix instruction each slot of A and B holds the element that its partner requires.

m comes from where D is stored, k from the slot that is met, n from D again; what meets what is
observed of the instruction itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.by_values import by_values, right_all_the_same
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers.distinct import distinct
from layoutprobe.observe.clashes import LdsRecord
from layoutprobe.observe.lds import LdsObserver
from layoutprobe.observe.undefined import UndefinedObserver
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.report.words import spans
from layoutprobe.solver.cause_rules import cause_rules, offset_rule
from layoutprobe.solver.diagnose import (
    BATCH_STRIDE,
    BEYOND,
    LDS_OFFSET,
    OTHER_BUFFER,
    OTHER_LANE,
    OTHER_MATRIX,
    OTHER_STEP,
    OVERLAP,
    STALE,
    UNEXPLAINED,
)
from layoutprobe.solver.hypotheses import COPY
from layoutprobe.trace.analysis import Analysis, analysis_of, wrong_counts
from layoutprobe.trace.batches import batch_rule
from layoutprobe.trace.beginnings import NOT_RESET, NOT_ZERO, not_reset, wrong_beginnings
from layoutprobe.trace.blame import blames
from layoutprobe.trace.comparisons import require_doubt, wrong_on_integers
from layoutprobe.trace.copies import differing_copies, own_orders
from layoutprobe.trace.load_path import related
from layoutprobe.trace.parts import Sums
from layoutprobe.trace.places import loop_around, where, who_was
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.stores import handed_over, writer_of
from layoutprobe.trace.subject import Subject, UndecidedError

NAME = "operand-provenance"
LAW = (
    "at every matrix instruction, slots of A and B that meet hold A[m][k] and B[k][n] for the C[m][n] "
    "that the sum is stored to, and every k is added once"
)
EXPLAIN = """\
Every element of A and B gets a number of its own, which travels through the kernel as small integers,
one digit a run; so it is seen which element sits in which lane, VGPR and half when a matrix
instruction executes. A further run replaces every D by numbers of its slots and reads from C where
each is stored. Which slots meet is observed by executing the instruction. Then every product must be
A[m][k] * B[k][n], every k must be added to every stored element exactly once, and both half-waves must
hold A and B. Any order of k, rows or columns is right if all sides share it; the half-waves may have orders
of k of their own (docs/fidelity.md). Zeros are right where no
element exists (ragged edges). Split-K and several accumulators are followed through their sum.
It cannot follow operands that a kernel computes (splitting, dequantisation, a softmax between two products), nor
products that the values choose. There outputs decide: where one factor is an identity, C shows the elements of the
other. What they do not show leaves the check undecided, and its words say what to write then.
Evidence: emulated; which copy of A a card reads where the two half-waves differ is unmeasured, so differing
copies are a finding."""

INCOMPLETE = Rule(
    f"{NAME}/incomplete-sum",
    "the sum over k misses some k, or adds some more than once",
    "Every k must be added to every element of C exactly once. What a loop leaves out or repeats changes the "
    "result by a few products only, which a loose tolerance hides.",
    "check the bounds of the K loop, its tail, what happens before the first step, and when a buffer is reused",
)
COPIES_DIFFER = Rule(
    f"{NAME}/copies-differ",
    "the copies of an operand differ between half-waves",
    "AMD's documents want A and B in both half-waves (RDNA3 ISA guide, 7.9). In the emulator an output reads "
    "the copy of its own half-wave; which one a card reads is unmeasured, so copies that differ may be wrong "
    "on a card although the emulated result is right.",
    "load with lane % 16, in all lanes",
)
_SHOWS_ELSEWHERE = (BEYOND, COPY, "copies-differ")
"""What may be wrong though values are right: a zero of the partner, or the emulator's choice of a copy, hides it."""
RULES = cause_rules(NAME, "AB") | {
    BATCH_STRIDE: batch_rule(NAME),
    LDS_OFFSET: offset_rule(NAME),
    BEYOND: Rule(
        f"{NAME}/{BEYOND}",
        "slots beyond the edge of a matrix hold elements where zeros belong",
        "A ragged tile reaches beyond its matrix. What lies there is multiplied and added as if it belonged.",
        "load zeros for what a ragged tile lacks, along k as well as along rows and columns",
    ),
    OTHER_STEP: Rule(
        f"{NAME}/{OTHER_STEP}",
        "an operand holds elements of another K step than its partner",
        "A and B of one instruction must be of the same k. One of them was loaded a step too early or too late, "
        "or read from a buffer that had not been filled yet.",
        "check when each buffer of LDS or registers is filled and read, and which of two is meant",
    ),
    STALE: Rule(
        f"{NAME}/{STALE}",
        "an operand is read from its place in LDS before its tile is there, or after it was overwritten",
        "Address and layout are right: the needed element lay in the byte that was read, at another time.",
        "put a barrier between the stores to a tile and its loads, and between its loads and the next stores",
    ),
    OTHER_BUFFER: Rule(
        f"{NAME}/{OTHER_BUFFER}",
        "an operand is read from another buffer of LDS than its tile lies in",
        "Of two or more buffers that are filled by turns, the load takes one that holds another K step: it got "
        "the wrong number, or the number does not change.",
        "check which of the buffers is filled, and which is read, in each step, and where it changes",
    ),
    OVERLAP: Rule(
        f"{NAME}/{OVERLAP}",
        "two matrices lie in the same bytes of LDS",
        "The needed element was stored to the byte, and so was one of another matrix: their tiles overlap.",
        "check where in LDS the tile of each matrix begins, and how large it is, padding included",
    ),
    OTHER_LANE: Rule(
        f"{NAME}/{OTHER_LANE}",
        "an operand that lanes pass to each other arrives in the wrong lane",
        "The elements were loaded, and a permutation (ds_bpermute, permlane, DPP) brings them to other lanes than it "
        "should, or the choice between a lane's own value and the one that it got is the wrong way round.",
        "write down for each lane which one it gets a value from: ds_bpermute_b32 takes 4 times a lane's number",
    ),
    OTHER_MATRIX: Rule(
        f"{NAME}/{OTHER_MATRIX}",
        "an operand holds nothing but elements of another matrix",
        "Two pointers or two parts of LDS are exchanged, or the tile of this matrix was overwritten.",
        "check where in LDS the tile of each matrix begins, and from which pointer it is loaded",
    ),
}
"""Cause -> rule."""


def run(subject: Subject) -> CheckResult:
    """Apply the law to the coded runs."""
    try:
        require_doubt(subject)
        analysis = analysis_of(subject)
    except NoProductError as reason:
        return CHECK.found(found) if (found := _by_values(subject)) else CHECK.skipped(str(reason))
    except UndecidedError as reason:
        return by_values(CHECK, subject, str(reason))
    findings = not_reset(subject, analysis) or _once(_operand_findings(subject, analysis))
    if not findings:
        findings += _copy_findings(subject, analysis)
    counts, doubts = _count_findings(subject, analysis)
    if not findings:
        findings += counts or wrong_beginnings(subject, analysis)
    elsewhere = any(found.name in _SHOWS_ELSEWHERE for found in findings)
    if findings and (elsewhere or not right_all_the_same(subject, findings)):
        return CHECK.found(findings)
    if findings:
        return by_values(
            CHECK,
            subject,
            "the values are right, and operands are no elements of A and B, or not those that "
            f"are stored: they are computed on the way ({findings[0].what})",
        )
    doubts += _doubts(subject, analysis)
    if doubts:
        return by_values(CHECK, subject, "; ".join(doubts), metrics=_metrics(analysis))
    note = "half-waves take k in orders of their own, shared by A and B; " if own_orders(subject) else ""
    return CHECK.holds(note + _covered(analysis), metrics=_metrics(analysis))


def _by_values(subject: Subject) -> list[Finding]:
    """Of a kernel without a matrix instruction, whose values are wrong: elements that its outputs show."""
    if not isinstance(subject.contract, Gemm) or not wrong_on_integers(subject):
        return []
    if subject.plain().unmade and subject.plain().undefined:
        return []  # what launches before have not stored is `numerics`' to say
    from layoutprobe.trace.by_values import used_elements  # a kernel that holds needs none

    found = used_elements(subject)
    if found is None or found.matrix == "C" or subject.plain().record(LdsRecord).races:
        return []
    rule = RULES.get(found.diagnosis.name, INCOMPLETE)
    what, hint = found.diagnosis.what, found.diagnosis.hint
    return [Finding(rule, what, found.place, found.needed, found.held, hint, found.count)]


def _copy_findings(subject: Subject, analysis: Analysis) -> Iterator[Finding]:
    for copy in differing_copies(subject):
        from layoutprobe.trace.findings import copy_finding  # a kernel that holds needs none

        yield copy_finding(subject, analysis, copy, COPIES_DIFFER)


def _operand_findings(subject: Subject, analysis: Analysis) -> Iterator[Finding]:
    for culprit, found in blames(subject):
        from layoutprobe.trace.advances import at_batch_advance, at_step_advance
        from layoutprobe.trace.findings import operand_finding  # a kernel that holds needs none

        one = operand_finding(subject, analysis, culprit, found, RULES)
        names = {"A": analysis.problem.contract.a, "B": analysis.problem.contract.b}
        if one.name == BATCH_STRIDE and one.place.matrix in names:
            one = at_batch_advance(subject, one, names[one.place.matrix], "loaded by")
        elif one.name in (OTHER_STEP, UNEXPLAINED):
            one = at_step_advance(subject, one, culprit.suspect, "loaded by")
        yield one


def _once(found: Iterable[Finding]) -> list[Finding]:
    """One finding for each cause: instructions of one loop show the same one.

    Those of an operand that no cause is known for go with the ones that have a name.
    """
    causes: dict[tuple[str, str], Finding] = {}
    for finding in sorted(found, key=lambda one: one.name == UNEXPLAINED):
        name, matrix = finding.name, finding.place.matrix
        key = (matrix, name)
        if name == UNEXPLAINED:
            key = next((known for known in causes if known[0] == matrix), key)
        if key in causes:
            first = causes[key]
            finding = replace(first, count=first.count + finding.count)
        causes[key] = finding
    return list(causes.values())


def _count_findings(subject: Subject, analysis: Analysis) -> tuple[list[Finding], list[str]]:
    """Missing or doubled k; and what leaves them open."""
    chains, counted, from_other = wrong_counts(analysis)
    doubts = []
    if from_other.any() and (counted[from_other] == 0).any():
        doubts.append(
            "an accumulator holds values of another kind when its last matrix instructions begin: "
            "the kernel computes on it in between"
        )
    sure = ~from_other | (counted > 1).any(axis=1)
    if not sure.any():
        return [], doubts
    from layoutprobe.trace.unread import left_in_lds, zeros_taken  # a kernel that holds needs none

    chain, times = int(chains[sure][0]), counted[sure][0]
    missing, doubled = np.flatnonzero(times == 0), np.flatnonzero(times > 1)
    parts = [f"k {spans(missing)} never added"] if missing.size else []
    parts += [f"k {spans(doubled)} added more than once"] if doubled.size else []
    link = next(link for link in reversed(analysis.arrivals.chains.links) if (link.chain == chain).any())
    wave = int(analysis.arrivals.chains.wave[chain])
    used = where(subject, link.inst, who_was(analysis.arrivals.chains.waves, wave))
    # What is missing in one place and doubled in another is no matter of the loop's bounds.
    loop = None if missing.size and doubled.size else loop_around(subject, link.inst.pc)
    place = replace(used if loop is None else loop, workgroup=used.workgroup, wave=used.wave)
    if list(missing) == [analysis.problem.k - 1] and not doubled.size:
        hint = "the last k is left out: is the bound of the K loop, or of its tail, off by one?"
    elif missing.size and doubled.size:
        hint = "is a buffer read again before the new tile is in it, or the wrong one of two?"
    else:
        hint = "check the bounds of the K loop, its tail, and what happens before the first step"
    matrix = "A and B"
    way: tuple[Related, ...] = () if loop is None else (Related("used by", used),)
    if missing.size and not doubled.size and (zero := zeros_taken(subject, analysis, link, chain)):
        matrix, steps = zero
        place = where(subject, steps[-1].inst, steps[-1].who) if steps else used
        parts = [f"{matrix} is zero wherever {parts[0].removesuffix(' never added')} should be taken from it"]
        hint = f"compare the bound of the load of {matrix} with the extents of {matrix}"
        way = (*related(subject, steps), Related("used by", used)) if steps else ()
    if analysis.sums is not None and (analysis.sums.times != 1).any():
        return [_of_parts(subject, analysis, analysis.sums, parts)], doubts
    unread = left_in_lds(subject, analysis.problem, link, chain, missing) if doubled.size else None
    if unread is not None:
        place, told = unread
        parts.append(told)
        hint = "which of the buffers is filled, and which is read, in this step? does the number change?"
    finding = Finding(
        INCOMPLETE if unread is None else RULES[OTHER_BUFFER],
        "the sum over k is not complete: " + ", ".join(parts),
        replace(place, matrix=matrix),
        expected=f"every k from 0 to {analysis.problem.k - 1} once",
        observed=", ".join(parts),
        hint=hint,
        count=np.unique(chains[sure]).size,
        related=way if unread is None else (Related("used by", used),),
    )
    return [finding], doubts


def _of_parts(subject: Subject, analysis: Analysis, sums: Sums, parts: Sequence[str]) -> Finding:
    """Partial sums of which a reduction leaves one out, or adds one twice: at the store that hands one over where
    several meet, else at that of what it makes."""
    output = analysis.problem.contract.d
    wave = int(analysis.arrivals.chains.wave[np.flatnonzero(sums.times != 1)[0]])
    place = handed_over(subject, wave, output, met=True) or writer_of(subject, output, sums.wrong)
    never, often = (int((sums.times == count).sum()) for count in (0, 2))
    some = "elements of " if sums.partly else ""
    told = [f"{some}{never} of {sums.times.size} partial sums are never added"] if never else []
    told += [f"{some}{often} of {sums.times.size} are added twice"] if often else []
    return Finding(
        INCOMPLETE,
        f"the sum over k is not complete: {', '.join(parts)}, as {' and '.join(told)} where parts are added up",
        replace(place or Place(kernel=subject.kernel.name), matrix="A and B"),
        expected="every partial sum once",
        observed=", ".join(parts),
        hint="is every part added, each once, by the loop that adds them up?",
        count=never + often,
    )


def _doubts(subject: Subject, analysis: Analysis) -> list[str]:
    found = []
    for pc, why in analysis.lost.items():
        form_inst = subject.insts[pc]
        line = subject.line(pc)
        found.append(f"{form_inst.name} at {line or f'PC {pc:#x}'}: {why}")
    if analysis.foreign:
        found.append(
            f"{analysis.foreign} elements of C hold no accumulator's value as it was: the results are "
            "computed on, or several are added up, before they are stored"
        )
    if not any(judged.targets.stored.any() for judged in analysis.judged) and not found:
        found.append("no accumulator reaches C")
    return found


def _metrics(analysis: Analysis) -> dict[str, object]:
    executed = sum(judged.executions.pc.size for judged in analysis.judged)
    sites = sum(distinct(judged.executions.pc).size for judged in analysis.judged)
    kept = analysis.operands.kept
    metrics: dict[str, object] = {
        "matrix instructions": f"{sites} sites, {executed} executions",
        "accumulators": analysis.arrivals.chains.wave.size,
    }
    if not kept.all():
        metrics["waves looked at"] = f"{int(kept.sum())} of {kept.size}"
    return metrics


def _covered(analysis: Analysis) -> str:
    executed = sum(judged.executions.pc.size for judged in analysis.judged)
    text = f"{executed} executions of matrix instructions"
    if not analysis.operands.kept.all():
        text += f", in {int(analysis.operands.kept.sum())} of {analysis.operands.kept.size} waves"
    if any(judged.judgement.broken.any() for judged in analysis.judged):
        text += "; A and B are right by the documented layout, as what is wrong is where D goes: see epilogue"
    if any(judged.executions.swapped for judged in analysis.judged):
        text += "; the kernel computes C transposed"
    if analysis.sums is not None and analysis.sums.added_up:
        text += "; several accumulators are added up"
    return text


CHECK = Check(
    NAME,
    LAW,
    EXPLAIN,
    run,
    observers=(UndefinedObserver, LdsObserver),
    rules=(*RULES.values(), COPIES_DIFFER, INCOMPLETE, NOT_ZERO, NOT_RESET),
)
