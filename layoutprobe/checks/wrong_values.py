"""Wrong values of outputs: which rule is broken, and what is behind it as far as runs tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.checks.base import diagnosed
from layoutprobe.checks.value_rules import (
    CAUSES,
    FOREIGN,
    GIVEN_TOO_EARLY,
    LOST,
    NEVER_DEFINED,
    NOT_BORNE,
    ODD_READ,
    ORDER,
    OTHER_ELEMENTS,
    OTHER_INPUT,
    OTHER_STEP,
    ROUNDED_SUM,
    UNREAD_INPUT,
    WRONG_EPILOGUE,
    WRONG_FACTOR,
    WRONG_VALUES,
)
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.manifest.model import Gemm, KernelCase, Reference
from layoutprobe.numbers.cut_off import cut_off, cut_off_in_words
from layoutprobe.numbers.told import apart
from layoutprobe.observe.sites import LoadSiteRecorder, LoadSites
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.text import either
from layoutprobe.trace.comparison import Comparison, taken_for
from layoutprobe.trace.executed import executed
from layoutprobe.trace.gemm_faults import KnownFault, error_metrics, explaining, lines_moved, where_wrong
from layoutprobe.trace.orders import asking
from layoutprobe.trace.places import in_caller, where
from layoutprobe.trace.references import bound_if_kept
from layoutprobe.trace.stores import writer_of
from layoutprobe.trace.subject import RunSpec, Subject
from layoutprobe.trace.unusual import borne, told
from layoutprobe.trace.value_causes import idle_operand, value_cause

if TYPE_CHECKING:
    from layoutprobe.trace.altered import TakenOtherwise
    from layoutprobe.trace.steps_otherwise import StepOtherwise

_SHORT = 7


def wrong_values(subject: Subject, compared: list[Comparison]) -> list[Finding]:
    """One finding per output, from the first run that shows it."""
    found: dict[str, Finding] = {}
    for c in compared:
        if c.name not in found and c.wrong.any():
            found[c.name] = _finding(subject, c, [one for one in compared if one.name == c.name])
    return list(found.values())


def _finding(subject: Subject, c: Comparison, runs: Sequence[Comparison]) -> Finding:
    cause = diagnosed(
        lambda: _diagnosis(subject, c, runs),
        lambda why: _Cause(WRONG_VALUES, where_wrong(c.wrong), hint=f"{WRONG_VALUES.mend}; {why}"),
    )
    explained = tuple((says, _made(subject, c, each)) for says, each in cause.explained)
    return replace(_made(subject, c, cause), explained=explained)


def _made(subject: Subject, c: Comparison, cause: _Cause) -> Finding:
    rule = cause.rule
    wrong = c.wrong if cause.wrong is None else cause.wrong
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    absolute, relative = error_metrics(c.observed, c.expected)
    wanted, seen = apart(c.expected[index], c.observed[index], _SHORT)
    seen = "undefined" if c.undefined[index] else seen
    size = f", max abs error {absolute:.3g}, {100 * relative:.3g} % of the largest element"
    stored = _stored_by(subject, c, index)
    related = cause.related or (
        (Related("stored by", stored),) if cause.place and stored.pc is not None else ()
    )
    return Finding(
        rule,
        f"{c.name} is wrong on {_title(c.spec)}: {cause.says}",
        replace(in_caller(subject, cause.place or stored), element=Element(c.name, index)),
        expected=wanted,
        observed=f"{seen}; {100 * wrong.mean():.3g} % of {c.name} is wrong{size if np.isfinite(absolute) else ''}",
        hint=cause.hint or rule.mend,
        count=int(wrong.sum()),
        related=related,
    )


def _stored_by(subject: Subject, c: Comparison, index: tuple[int, ...]) -> Place:
    """The store of an element; the kernel, where there is none or several add up."""
    contract, place = subject.contract, Place(kernel=subject.kernel.name)
    if isinstance(contract, Gemm) and contract.split_k:
        return place
    name = contract.d if isinstance(contract, Gemm) else c.name
    flat = int(np.ravel_multi_index(index, c.observed.shape)) if index else 0
    return writer_of(subject, name, flat) or place


def _known(c: Comparison, runs: Sequence[Comparison]) -> list[KnownFault]:
    """The known faults that explain a run, and of these the ones that explain all others, if any do.

    One that would show in a run that is right holds under this run's factors only, and says so.
    """
    if c.product is None:
        return []
    found, always = explaining(c.product, c.observed, c.bound, c.dtype), True
    for run in runs if found else ():
        if run is c or run.product is None or not np.isfinite(run.expected).all():
            continue
        names = {fault.says for fault in explaining(run.product, run.observed, run.bound, run.dtype)}
        kept = [fault for fault in found if fault.says in names]
        always &= bool(kept) or bool(run.wrong.any())
        found = kept or found
    found = [fault for fault in found if fault.rare == min(each.rare for each in found)]
    # That an instruction takes other types than the manifest says is seen in the code, too.
    found = [fault for fault in found if fault.read] or found
    if always or not (where := _only_where(c.spec)):
        return found
    return [replace(fault, says=f"{fault.says} {where}") for fault in found[:1]]


def _only_where(spec: RunSpec) -> str:
    """What sets the factors of a run apart; "" where nothing does."""
    for name, value in (("alpha", spec.alpha), ("beta", spec.beta)):
        if value is not None and value <= 0:
            return f"where {name} is {'0' if value == 0 else 'negative'}"
    return ""


class _Cause(Struct, frozen=True):
    """The rule that is broken, and in words what is wrong with which elements (all wrong ones where None); with a
    place where that is not the store; `explained` as of findings; the next step where it is not the rule's."""

    rule: Rule
    says: str
    wrong: NDArray[np.bool_] | None = None
    place: Place | None = None
    related: tuple[Related, ...] = ()
    explained: tuple[tuple[str, _Cause], ...] = ()
    hint: str = ""


_TYPES = "hold the type that this line takes or makes against the one that the manifest declares"
_NAMED = "every element is as this sentence says: look for that in what the kernel computes or stores"
"""The next step where the cause is known."""


def _diagnosis(subject: Subject, c: Comparison, runs: Sequence[Comparison]) -> _Cause:
    wrong = c.wrong
    if c.spec.order:  # workgroups side by side gave what is right
        return _Cause(ORDER, where_wrong(wrong), None, _place_of(subject, asking(subject, c.spec.order)))
    if c.undefined[wrong].all():
        return _undefined(subject, c)
    if c.spec.inputs == "nonfinite":  # on finite numbers all was right, else that run would be the finding
        return _of_nonfinite(subject, c)
    if faults := _known(c, runs):
        rule = WRONG_EPILOGUE if all(fault.step for fault in faults) else WRONG_VALUES
        rule = WRONG_FACTOR if all(fault.factor for fault in faults) else rule
        place = _multiplying(subject) if faults[0].read else _load_of(subject, faults[0].about)
        hint = _TYPES if faults[0].read else _NAMED if rule is WRONG_VALUES else ""
        return _Cause(rule, either(fault.says for fault in faults), None, place, hint=hint)
    if c.wrong[cut_off(c.expected, c.observed, c.dtype)].any():
        return _Cause(WRONG_EPILOGUE, cut_off_in_words(c.dtype))
    if kind := taken_for(c):
        return _Cause(WRONG_VALUES, _stored_as(c, kind), None, _converting(subject, kind), hint=_TYPES)
    from layoutprobe.trace.altered import given_too_early, shown, taken_otherwise
    from layoutprobe.trace.steps_otherwise import steps_otherwise  # a kernel that holds needs none

    if early := given_too_early(subject, runs):
        says = (
            f"the reference takes {early} as it was before the first launch, where {_makers(subject, early)} "
        )
        return _Cause(
            GIVEN_TOO_EARLY, says + "makes it; of what that leaves there it gives all that is stored here"
        )
    unexplained = _unexplained(subject, c, runs)
    others = taken_otherwise(subject, runs)
    causes = [(one.says, _taken(subject, one)) for one in others]
    says = shown(others) if others else ""
    if steps := steps_otherwise(subject, runs):
        causes = _with_steps(steps, causes, unexplained)
        says = causes[0][0]
    return replace(causes[0][1], says=says, explained=(*causes, ("", unexplained))) if causes else unexplained


def _with_steps(
    steps: Sequence[StepOtherwise], taken: Sequence[tuple[str, _Cause]], unexplained: _Cause
) -> list[tuple[str, _Cause]]:
    """Explanations, with what changed steps of the reference explain: what an input is taken for, or where an element
    goes, is told beside it."""
    routed = unexplained.rule is OTHER_ELEMENTS
    made = []
    for one in steps:
        lent = unexplained if routed and one.place is None else _Cause(OTHER_STEP, "", None, one.place)
        made.append((one.says, _Cause(OTHER_STEP, one.says, None, lent.place, lent.related)))
    first = steps[0]
    if taken and first.sure:
        says = f"{taken[0][0]}; {first.says}"
        both = replace(taken[0][1], says=says, place=first.place or taken[0][1].place)
    elif not taken and routed and first.place is None:
        says = f"{first.says}; {unexplained.says}"
        both = replace(unexplained, says=says)
    else:
        return [*taken, *made]
    return [(says, both), *taken, *made]


def _taken(subject: Subject, one: TakenOtherwise) -> _Cause:
    place = None if one.alone else _load_of(subject, one.name)
    return _Cause(OTHER_INPUT if one.name else WRONG_VALUES, one.says, None, place)


def _unexplained(subject: Subject, c: Comparison, runs: Sequence[Comparison]) -> _Cause:
    """What is known where no fault explains every element."""
    from layoutprobe.trace.influence import other_elements
    from layoutprobe.trace.odd_reads import odd_read  # a kernel that holds needs none

    wrong = c.wrong
    if kind := _kept_as(subject, c):
        says = f"values are rounded to {kind} on the way, and neither an argument nor an instruction is of that type"
        return _Cause(ROUNDED_SUM, says, None, _converting(subject, kind))
    if name := _unread(subject):
        return _Cause(UNREAD_INPUT, f"nothing is ever loaded from {name}: is another one taken in its place?")
    if found := value_cause(subject, c):
        return _Cause(CAUSES[found.name], found.says, None, found.place, found.related)
    if not isinstance(subject.contract, Gemm) and (odd := odd_read(subject)):
        return _Cause(ODD_READ, f"{odd.what}; {where_wrong(wrong)}", None, odd.place)
    if isinstance(subject.contract, Reference) and (other := other_elements(subject, c)):
        place, way = (other.route.place, other.route.related) if other.route else (None, ())
        return _Cause(OTHER_ELEMENTS, f"{other.says}; {where_wrong(wrong)}", None, place, way)
    if not any(run.observed.any() or run.undefined.any() for run in runs):
        return _Cause(WRONG_VALUES, "every element is 0: nothing of what is added up arrives")
    if idle := _of_idle_lanes(subject, c):
        return idle
    tile = (c.product.tile,) if c.product else ()
    told = (lines_moved(c.observed, c.expected), where_wrong(wrong, *tile))
    return _Cause(WRONG_VALUES, "; ".join(filter(None, told)))


def _kept_as(subject: Subject, c: Comparison) -> str:
    """The type in which values are kept on the way, where its rounding is all that is wrong; "" for none."""
    if not isinstance(subject.contract, Reference) or c.undefined.any():
        return ""
    found = bound_if_kept(subject, c.name, c.expected)
    with np.errstate(invalid="ignore"):
        return (
            found[0] if found and bool((np.abs(c.observed - c.expected) <= found[1])[c.wrong].all()) else ""
        )


def _stored_as(c: Comparison, kind: str) -> str:
    return f"{c.name} is stored as {kind}, and is {c.dtype} in the manifest: its bits mean other numbers"


def _converting(subject: Subject, kind: str) -> Place | None:
    """The last conversion to a type that ran; None where none did, as by shifts."""
    ran = [
        inst for inst in executed(subject) if f"cvt_{kind}_f" in inst.name or f"cvt_pk_{kind}" in inst.name
    ]
    return where(subject, ran[-1]) if ran else None


def _multiplying(subject: Subject) -> Place | None:
    """The first matrix instruction that ran; None where none did."""
    ran = (inst for inst in executed(subject) if Kind.MATRIX in inst.kind)
    return _place_of(subject, next(ran, None))


def _place_of(subject: Subject, inst: Inst | None) -> Place | None:
    return None if inst is None else where(subject, inst)


def _load_of(subject: Subject, name: str) -> Place | None:
    """The load of an input; None where it has none, or there is no such input."""
    if name not in subject.binding.buffers:
        return None
    loads = subject.run(RunSpec("integers", (LoadSiteRecorder,))).record(LoadSites).loads
    sites = loads.get(f"buffer {name}", ())
    return where(subject, sites[0]) if sites else None


def _unread(subject: Subject) -> str:
    """An input of which no byte is loaded; "" where there is none."""
    loads = subject.run(RunSpec("integers", (LoadSiteRecorder,))).record(LoadSites).loads
    buffers = subject.binding.buffers.values()
    inputs = (b.name for b in buffers if b.argument.role == "in" and not b.argument.elsewhere)
    return next((name for name in inputs if not loads.get(f"buffer {name}")), "")


def _undefined(subject: Subject, c: Comparison) -> _Cause:
    contract = subject.contract
    for name, missing in subject.run(replace(c.spec, observers=()), partial=True).unmade.items():
        if (read := _load_of(subject, name)) is not None:
            element = Element(name, tuple(int(i) for i in np.argwhere(missing)[0]))
            says = (
                f"{element} is read, which {_makers(subject, name)}, launched before, has not stored; "
                f"{where_wrong(c.wrong)}"
            )
            return _Cause(NEVER_DEFINED, says, None, read)
    if not c.undefined.all():
        lost = np.flatnonzero(c.undefined & c.wrong)
        places = (
            tuple(map(int, np.unravel_index(flat, c.wrong.shape)))
            for flat in lost[:: max(lost.size // _ASKED, 1)]
        )
        stored = any(_stored_by(subject, c, at).pc is not None for at in places)
        if stored and (idle := _of_idle_lanes(subject, c)):
            return idle
        told = "were never given a defined value" if stored else "are never stored"
        says = f"the wrong elements {told}: {where_wrong(c.wrong)}"
        return _Cause(NEVER_DEFINED, says, None, _store_beside(subject, c))
    if isinstance(contract, Gemm) and contract.c and not subject.plain().beta:
        reads = subject.run(replace(c.spec, observers=(LoadSiteRecorder,))).record(LoadSites).loads
        if loads := reads.get(f"buffer {contract.c}"):
            says = f"{contract.c} is read although beta is 0, and what it held is undefined: 0 * NaN is NaN"
            return _Cause(NEVER_DEFINED, says, None, where(subject, loads[0]))
    if isinstance(contract, Gemm) and (read := _load_of(subject, contract.d)) is not None:
        says = f"{contract.d} is read, and what it holds before the launch is undefined: is the result added to it?"
        return _Cause(NEVER_DEFINED, says, None, read)
    return _Cause(NEVER_DEFINED, "no element is ever given a defined value")


def _of_idle_lanes(subject: Subject, c: Comparison) -> _Cause | None:
    """A matrix instruction that takes what lanes hold which are switched off."""
    from layoutprobe.trace.idle_lanes import idle_lanes  # a kernel that holds needs none

    found = idle_lanes(subject, c.spec)
    if found is None:
        return None
    says, place = found
    rule = NEVER_DEFINED if c.undefined[c.wrong].any() else WRONG_VALUES
    hint = (
        "let all lanes of the wave come to it: clamp the index that is tested, or load zeros, and test at the store; "
        "compilers move a matrix instruction behind a return that stands after it, too"
    )
    return _Cause(rule, f"{says}; {where_wrong(c.wrong)}", None, place, hint=hint)


_ASKED = 8
"""Elements about which is asked who has stored them."""


def _store_beside(subject: Subject, c: Comparison) -> Place | None:
    """The store of the element that comes last before those that nothing stores, or first behind them."""
    first = int(np.flatnonzero(c.wrong)[0])
    kept = np.flatnonzero(~c.undefined.ravel())
    near = kept[max(int(np.searchsorted(kept, first)) - 1, 0)]
    lost, stored = (
        _stored_by(subject, c, tuple(int(i) for i in np.unravel_index(flat, c.wrong.shape)))
        for flat in (first, near)
    )
    return stored if lost.pc is None and stored.pc is not None else None


def _makers(subject: Subject, name: str) -> str:
    """The launches before that store a buffer."""
    return " and ".join(one.name for one in subject.case.before if _stores(one, name))


def _stores(case: KernelCase, name: str) -> bool:
    return any(a.name == name and a.role in ("out", "inout") for a in case.arguments)


def _of_nonfinite(subject: Subject, c: Comparison) -> _Cause:
    finite = np.isfinite(c.expected)
    spread = c.wrong & ~np.isnan(c.expected) & ~np.isfinite(c.observed) & (finite | np.isnan(c.observed))
    if not spread.any():
        return _Cause(LOST, f"NaN or infinity of the inputs does not arrive; {where_wrong(c.wrong)}", c.wrong)
    found = idle_operand(subject)
    told = f"{found[0]}; " if found else ""
    says = f"a foreign element, harmless only while finite; {told}{where_wrong(spread)}"
    return _Cause(FOREIGN, says, spread, *(found[1:] if found else ()))


_KINDS = {
    "integers": "small integers",
    "sparse": "few small integers",
    "normal": "normal numbers",
    "bits": "words of random bits",
    "scaled": "tiny, large and zero rows and columns",
    "nonfinite": "inputs with NaN and infinity",
}


def _title(spec: RunSpec) -> str:
    factors = beside_usual(spec)
    kind = _KINDS.get(spec.inputs) or f"inputs where {told(spec.inputs)}"
    return kind + (f" with {factors}" if factors else "")


def not_borne(subject: Subject, compared: Sequence[Comparison]) -> list[Finding]:
    """One finding per output, or fault, on inputs that are not usual."""
    found: dict[str, Finding] = {}
    for one in borne(subject, compared):
        if isinstance(one, Comparison):
            if one.wrong.any():
                found.setdefault(one.name, _made(subject, one, _Cause(NOT_BORNE, where_wrong(one.wrong))))
            continue
        kind, fault = one
        says = f"where {told(kind)} the launch stops: {fault.what}"
        found.setdefault(
            fault.what,
            Finding(NOT_BORNE, says, fault.place, fault.expected or "", fault.observed or "", NOT_BORNE.mend),
        )
    return list(found.values())


def beside_usual(spec: RunSpec) -> str:
    """What is not usual about a run: "alpha 0 and beta 1"; "" for nothing."""
    given = {"alpha": spec.alpha, "beta": spec.beta}
    told = [f"{name} {value:g}" for name, value in given.items() if value is not None]
    return " and ".join([*told, *([spec.order] if spec.order else [])])
