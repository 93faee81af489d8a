"""Law: every element of C is written exactly once, from the lane and register that hold it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.checks.base import Check
from layoutprobe.checks.by_values import by_values, right_all_the_same
from layoutprobe.checks.faults import fault_rules
from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.manifest.model import Gemm
from layoutprobe.observe.clashes import Handovers
from layoutprobe.observe.handover import HandoverObserver
from layoutprobe.observe.outputs import Allocation, EveryStoreRecorder, Stores, contested, touched
from layoutprobe.observe.results import Result
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.report.words import region
from layoutprobe.solver.cause_rules import STORE_RULES
from layoutprobe.solver.diagnose import BATCH_STRIDE, BEYOND, UNEXPLAINED
from layoutprobe.solver.product import NOWHERE
from layoutprobe.solver.rules import NEVER_WRITTEN, WRITTEN_TWICE
from layoutprobe.trace.analysis import Analysis, analysis_of
from layoutprobe.trace.batches import batch_rule
from layoutprobe.trace.comparison import holds_f32
from layoutprobe.trace.comparisons import require_doubt, wrong_on_integers
from layoutprobe.trace.culprits import Culprit, culprits_of
from layoutprobe.trace.places import vector, where, who_was
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.products import plain_product
from layoutprobe.trace.stores import handed_over, missing_tiles, narrow_stores, storing, strays, writers
from layoutprobe.trace.subject import Subject, UndecidedError

NAME = "epilogue"
LAW = "every element of C is written exactly once, from the accumulator that holds it, and nothing else is written"
EXPLAIN = """\
Every store to global memory is counted: each element of C must be hit by exactly one store (or by several
that store the same value, or follow each other in an order that is certain, or by atomics that add parts
of it), and no store may hit an input or the padding between rows of C. Then a
run replaces every D by numbers of its slots: the number that arrives in C[m][n] names the wave, lane
and VGPR that it came from, and that must be the slot in which the instruction's operands put row m of
A and column n of B, for every element, also where one slot is stored to several. Numbers survive
moves, conversion to 16 bits, and addition of several accumulators; where an epilogue computes more, element by
element (a bias, a scale, an activation), runs in which all accumulators hold one number tell what it makes of each,
also of the sum of several. Where it makes one number of all, or adds up elements, it is undecided which slot an
element came from, but not how often it was written.
It cannot see values: a missing beta * C is found by numerics. Evidence: emulated."""

OF_ANOTHER = Rule(
    "epilogue/wrong-accumulator",
    "elements of C hold the accumulator of another element",
    "The accumulator may be right where it belongs; here a store takes its value from another register, lane "
    "or wave.",
    "check which register, lane or wave the store takes its value from",
)
OTHER_SIZE = Rule(
    "epilogue/element-size",
    "the kernel stores elements of another size than C has",
    "The types of the output in the manifest (or of the buffer that the host gives) and in the kernel differ: two "
    "elements of the kernel lie in one of C.",
    "give C the same type in the kernel, in the host's code and in the manifest",
)
INTO_INPUT = Rule(
    "epilogue/into-input",
    "the kernel stores into an input",
    "What the caller gave to be read is different afterwards, and may be read again by another workgroup.",
    "check whether two pointers of the kernel are exchanged",
)
INTO_PADDING = Rule(
    "epilogue/into-padding",
    "the kernel stores into the padding between rows of C",
    "Padding belongs to the caller: where C is a part of a larger matrix, its neighbour is destroyed.",
    "a row of C ends before the leading dimension does: test the column against N",
)

RULES = STORE_RULES | {
    BATCH_STRIDE: batch_rule(NAME),
    BEYOND: Rule(
        f"{NAME}/{BEYOND}",
        "slots beyond the edge of C are stored",
        "A ragged tile reaches beyond C. What lies there is stored all the same, and as the rows of C follow each "
        "other in memory, a column too many is the beginning of the next row.",
        "test row and column against M and N before each store",
    ),
}
"""Cause -> rule, of accumulators that are stored elsewhere than they belong."""

Counts = NDArray[np.int64]


def run(subject: Subject) -> CheckResult:
    """Apply the law to the plain run's stores and to coded accumulators."""
    try:
        require_doubt(subject)
        contract = require_product(subject)
    except NoProductError as reason:
        return CHECK.skipped(str(reason))
    stores = subject.plain().record(Stores)
    findings = list(_store_findings(subject, stores, contract.d))
    covered = _covered(subject.binding.buffers[contract.d], stores)
    if not stores.complete:
        return CHECK.found(findings) if findings else CHECK.undecided("there are too many stores to count")
    try:
        analysis = analysis_of(subject)
    except NoProductError as reason:
        findings = findings or list(_by_values(subject))
        return CHECK.found(findings, f"{covered}; {reason}, so there are no slots to follow")
    except UndecidedError as reason:
        return CHECK.found(findings) if findings else by_values(CHECK, subject, str(reason), covered=covered)
    sized = any(found.rule is OTHER_SIZE for found in findings)
    if not findings or (_misplaced(analysis) and not sized):
        # Where slots go astray, some elements are written twice and others never.
        astray = list(_slot_findings(subject, analysis, stores))
        if analysis.astray.size and not astray and not findings:
            astray = [_of_another(subject, analysis, stores)]
        if astray and right_all_the_same(subject, astray):
            if not findings:
                return by_values(
                    CHECK,
                    subject,
                    "what is added up is computed on the way, and does not say where it belongs "
                    f"({astray[0].what}); the values are right",
                    covered=covered,
                )
            astray = []
        findings = astray or findings
    if findings:
        return CHECK.found(findings)
    if analysis.foreign:
        lost = (
            f"{analysis.foreign} hold no accumulator's value as it was: the kernel computes on its results before it "
            "stores them"
        )
    else:
        lost = _untraced(analysis)
    if lost:
        return by_values(CHECK, subject, lost, covered=covered)
    summed = analysis.sums is not None and analysis.sums.added_up
    return CHECK.holds(covered + ("; several accumulators are added up" if summed else ""))


# How often


def _covered(buffer: BoundBuffer, stores: Stores) -> str:
    """What was looked at, where nothing is wrong with it."""
    whole = prod(buffer.shape)
    allocation = stores.allocation(f"buffer {buffer.name}")
    if allocation is None:
        return f"{whole} elements written once"
    plain = _per_element(stores, allocation, buffer, atomic=False)
    again = int(np.count_nonzero((buffer.elements() >= 0) & (plain > 1)))
    if not again:
        return f"{whole} elements written once"
    return f"{whole} elements written, {again} of them again, with equal values or in order"


def _store_findings(subject: Subject, stores: Stores, output: str) -> Iterator[Finding]:
    buffer = subject.binding.buffers[output]
    allocation = stores.allocation(f"buffer {output}")
    if allocation is None:
        return
    plain, atomic = (_per_element(stores, allocation, buffer, atomic=kind) for kind in (False, True))
    element = buffer.elements()
    inside = element >= 0
    width = narrow_stores(stores, allocation, buffer)
    if (
        not width
        and isinstance(subject.contract, Gemm)
        and holds_f32(plain_product(subject, subject.contract))
    ):
        width = 2 * buffer.itemsize
    if width:
        yield _of_other_size(subject, stores, allocation, buffer, width)
        return
    never = list(_never(subject, stores, allocation, buffer, inside & (plain == 0) & (atomic == 0)))
    again = inside & (plain > 1)
    if again.any() and not never:
        again &= _contested(subject, stores, allocation, buffer)
    twice = list(_twice(subject, stores, allocation, buffer, again, plain))
    yield from _astray(never, twice) if never and twice else never + twice
    yield from _stray(subject, stores, allocation, buffer, ~inside & ((plain > 0) | (atomic > 0)))
    for name, other in subject.binding.buffers.items():
        placed = stores.allocation(f"buffer {name}")
        if name == output or placed is None or other.argument.role != "in":
            continue
        hit = sum(_per_element(stores, placed, other, atomic=kind) for kind in (False, True))
        if np.any(hit):
            at = int(np.flatnonzero(hit)[0])
            yield Finding(
                INTO_INPUT,
                f"the kernel stores into {name}, which is an input",
                replace(writers(subject, stores, placed, other, at)[0], buffer=name),
                hint="are two pointers of the kernel exchanged?",
                count=int(np.count_nonzero(hit)),
            )


def _per_element(stores: Stores, allocation: Allocation, buffer: BoundBuffer, *, atomic: bool) -> Counts:
    """How often each element of the allocation was stored to (its most stored byte): [element]."""
    return touched(stores, allocation, buffer.itemsize, atomic=atomic)[: buffer.size]


def _never(
    subject: Subject, stores: Stores, allocation: Allocation, buffer: BoundBuffer, mask: NDArray[np.bool_]
) -> Iterator[Finding]:
    if not mask.any():
        return
    tensor = buffer.view(mask)
    why, hint = missing_tiles(stores, allocation, buffer, tensor, subject.binding.grid)
    yield Finding(
        NEVER_WRITTEN,
        f"elements of {buffer.name} are never written: {region(tensor)}{why}",
        replace(
            storing(subject, stores, allocation),
            element=_element(buffer.name, tensor.shape, int(np.argmax(tensor))),
        ),
        expected="one store",
        observed="none",
        hint=hint or "check the grid, the tile offsets, and the bounds tests of the epilogue",
        count=int(tensor.sum()),
    )


def _of_other_size(
    subject: Subject, stores: Stores, allocation: Allocation, buffer: BoundBuffer, width: int
) -> Finding:
    at = next(
        i for i in range(buffer.nbytes // buffer.itemsize) if writers(subject, stores, allocation, buffer, i)
    )
    return Finding(
        OTHER_SIZE,
        f"the kernel stores elements of {width} bytes, and {buffer.name} has elements of {buffer.itemsize}",
        replace(writers(subject, stores, allocation, buffer, at)[0], buffer=buffer.name),
        expected=f"{buffer.dtype}: stores of {buffer.itemsize} bytes, or multiples",
        observed=f"stores of {width} bytes, that are {width} bytes apart",
        hint=f"which type has {buffer.name}: the one of the manifest, or the one of the kernel?",
    )


def _contested(
    subject: Subject, stores: Stores, allocation: Allocation, buffer: BoundBuffer
) -> NDArray[np.bool_]:
    """Elements of the allocation whose value depends on which store is faster: [element].

    Waves that take turns are in order; where their signals come too early, or not for all, `races` has the cause.
    """
    found = contested(stores, allocation)
    handed = subject.plain().record(Handovers).found
    here = [met for met in handed if met.buffer == allocation.name]
    turns = any(met.order != "unordered" for met in here)
    unordered = not turns and any(met.kind == "overwrites a store" for met in here)
    of_byte = found.within | found.between if unordered else found.within
    return np.asarray(of_byte[: buffer.nbytes].reshape(-1, buffer.itemsize).any(axis=1))


def _twice(
    subject: Subject,
    stores: Stores,
    allocation: Allocation,
    buffer: BoundBuffer,
    mask: NDArray[np.bool_],
    count: Counts,
) -> Iterator[Finding]:
    if not mask.any():
        return
    at = int(np.flatnonzero(mask)[0])
    first, *others = writers(subject, stores, allocation, buffer, at)
    # Two instructions tell more than two lanes of one.
    other = next((w for w in others if w.pc != first.pc), others[0] if others else first)
    if other.pc != first.pc and strays(stores, allocation, mask, first) > strays(
        stores, allocation, mask, other
    ):
        first, other = other, first
    hint = "do two waves or workgroups own the same tile, or do both half-waves store the same rows?"
    if _loaded_by_others(subject, allocation):
        hint += " Where several add to one element, it takes an atomic that keeps every sum"
    yield Finding(
        WRITTEN_TWICE,
        f"elements of {buffer.name} are written more than once: {region(buffer.view(mask))}",
        replace(other, element=_element(buffer.name, buffer.shape, int(buffer.elements()[at]))),
        expected="one store",
        observed=f"{int(count[at])} stores",
        hint=hint,
        count=int(mask.sum()),
        related=(Related("written by", first),),
    )


def _loaded_by_others(subject: Subject, allocation: Allocation) -> bool:
    """Waves load from it what others store, and nothing orders them: each may add to what it has found there."""
    met = subject.plain().record(Handovers).found
    return any(one.buffer == allocation.name and one.kind in ("load", "overwrites a load") for one in met)


def _astray(never: list[Finding], twice: list[Finding]) -> Iterator[Finding]:
    """What is missing in one place went to another: one cause."""
    (missing,), (doubled,) = never, twice
    yield replace(doubled, what=f"{doubled.what}, and {missing.what}", count=doubled.count + missing.count)


def _stray(
    subject: Subject,
    stores: Stores,
    allocation: Allocation,
    buffer: BoundBuffer,
    mask: NDArray[np.bool_],
) -> Iterator[Finding]:
    if not mask.any():
        return
    at = int(np.flatnonzero(mask)[0])
    yield Finding(
        INTO_PADDING,
        f"the kernel stores into the padding between rows of {buffer.name}",
        replace(
            writers(subject, stores, allocation, buffer, at)[0],
            buffer=buffer.name,
            buffer_byte=at * buffer.itemsize,
        ),
        hint=f"a row of {buffer.name} ends before the leading dimension does: test the column against N",
        count=int(mask.sum()),
    )


# From where


def _by_values(subject: Subject) -> Iterator[Finding]:
    """Of a kernel without a matrix instruction, whose values are wrong: sums that are stored to other elements."""
    if not isinstance(subject.contract, Gemm) or not wrong_on_integers(subject):
        return
    from layoutprobe.trace.by_values import used_elements
    from layoutprobe.trace.findings import of_output  # a kernel that holds needs none

    found = used_elements(subject)
    if found is not None and found.matrix == "C":
        what, hint = of_output(found.diagnosis.what, subject.contract.d), found.diagnosis.hint
        rule = RULES[found.diagnosis.name]
        yield Finding(rule, what, found.place, found.needed, found.held, hint, found.count)


def _misplaced(analysis: Analysis) -> bool:
    """Some accumulator is stored to another element than its operands say."""
    return any(judged.judgement.broken.any() for judged in analysis.judged)


def _slot_findings(subject: Subject, analysis: Analysis, stores: Stores) -> Iterator[Finding]:
    seen = set()
    for culprit in culprits_of(subject):
        if culprit.diagnosis.name == UNEXPLAINED and analysis.foreign:
            continue  # of sums that are added up elsewhere the slots say nothing
        if culprit.slot.matrix == "D" and culprit.diagnosis.name not in seen:
            seen.add(culprit.diagnosis.name)
            yield _at_the_store(subject, analysis, stores, culprit)


def _at_the_store(subject: Subject, analysis: Analysis, stores: Stores, culprit: Culprit) -> Finding:
    """A misplaced accumulator, shown where it is stored; at its matrix instruction where it never is."""
    from layoutprobe.trace.advances import at_batch_advance, at_step_advance
    from layoutprobe.trace.findings import accumulator_finding, destination  # a kernel that holds needs none

    found = accumulator_finding(subject, analysis, culprit, RULES)
    element = destination(analysis, culprit)
    output = analysis.problem.contract.d
    buffer, allocation = subject.binding.buffers[output], stores.allocation(f"buffer {output}")
    if element < 0 or allocation is None:
        return found
    at = int(np.flatnonzero(buffer.elements() == element)[0])
    mine = found.place
    stored = writers(subject, stores, allocation, buffer, at)
    same = (w for w in stored if (w.workgroup, w.wave, w.lane) == (mine.workgroup, mine.wave, mine.lane))
    place = next(same, stored[0] if stored else None)
    if place is None:
        return found
    way = [Related("computed by", mine)]
    if analysis.sums is not None:
        handed = handed_over(subject, int(analysis.arrivals.chains.wave[culprit.chain]), output)
        way += [Related("stored by", handed)] if handed is not None else []
    found = replace(found, place=replace(place, matrix="C"), related=tuple(way))
    if found.name == BATCH_STRIDE:
        return at_batch_advance(subject, found, output, "stored by")
    return at_step_advance(subject, found, culprit.suspect, "stored by")


def _of_another(subject: Subject, analysis: Analysis, stores: Stores) -> Finding:
    """Elements that hold the accumulator of another one, which may be right where it belongs."""
    output, arrivals, astray = analysis.problem.contract.d, analysis.arrivals, analysis.astray
    buffer, allocation = subject.binding.buffers[output], stores.allocation(f"buffer {output}")
    element = int(astray[0])
    slot = int(arrivals.slot.ravel()[element])
    holders = np.flatnonzero(arrivals.slot.ravel() == slot)
    other = next((int(e) for e in holders if e not in astray), None)
    place = Place(kernel=subject.kernel.name)
    if allocation is not None:
        at = int(np.flatnonzero(buffer.elements() == element)[0])
        place = next(iter(writers(subject, stores, allocation, buffer, at)[-1:]), place)
    shape = arrivals.slot.shape
    own = _element(output, shape, element)
    held = "another element" if other is None else str(_element(output, shape, other))
    mask = np.isin(np.arange(arrivals.slot.size), astray).reshape(arrivals.slot.shape)
    return Finding(
        OF_ANOTHER,
        f"elements of {output} hold the accumulator of another element: {region(mask)}",
        replace(place, matrix="C", element=own),
        expected=f"the accumulator that the operands of {own} are added to",
        observed=f"that of {held}"
        + (f", which {holders.size} elements hold" if holders.size > 1 else ""),
        hint="which register, lane or wave does the store take its value from?",
        count=int(astray.size),
        related=(Related("computed by", _place_of_slot(subject, analysis, slot)),),
    )  # fmt: skip


def _place_of_slot(subject: Subject, analysis: Analysis, slot: int) -> Place:
    """Matrix instruction, wave, lane and VGPR of a slot (numbered as `Chains` says)."""
    chains, lanes = analysis.arrivals.chains, subject.kernel.wavefront_size
    chain, inside = divmod(slot, chains.slots)
    inst = next(link.inst for link in reversed(chains.links) if (link.chain == chain).any())
    vgpr = inst.dst[0].index + Result.of(inst, lanes).register(inside)
    who = who_was(chains.waves, int(chains.wave[chain]), inside % lanes)
    return replace(where(subject, inst, who), register=vector(subject, vgpr))


def _element(name: str, shape: tuple[int, ...], flat: int) -> Element:
    return Element(name, tuple(int(i) for i in np.unravel_index(flat, shape)))


def _untraced(analysis: Analysis) -> str:
    """Why some elements of C cannot be traced to a slot, "" where all can."""
    stored = sum(int((judged.targets.m != NOWHERE).sum()) for judged in analysis.judged)
    if analysis.lost:
        return "the operands of some matrix instructions cannot be followed, and so not what they add up to"
    return "" if stored else "no accumulator reaches C"


CHECK = Check(
    NAME,
    LAW,
    EXPLAIN,
    run,
    observers=(EveryStoreRecorder, HandoverObserver),
    rules=(
        *RULES.values(),
        NEVER_WRITTEN,
        WRITTEN_TWICE,
        OF_ANOTHER,
        OTHER_SIZE,
        INTO_INPUT,
        INTO_PADDING,
        *fault_rules(NAME),
    ),
)
