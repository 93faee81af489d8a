"""What findings say of their cause: a change of the source, or of an instruction, with which all is right, and where.

What a kernel's author can write comes first; `counterfactual.py` and `mending.py` find which changes those are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import numerics
from layoutprobe.checks.base import diagnosed
from layoutprobe.checks.buffer_in_use import OTHER_IDLE
from layoutprobe.errors import ProbeError
from layoutprobe.gate.causes import linked
from layoutprobe.gate.counterfactual import mended_by
from layoutprobe.gate.holding import Held
from layoutprobe.gate.levels import otherwise_compiled
from layoutprobe.gate.mending import Mender
from layoutprobe.gate.ordering import FENCED, ordering
from layoutprobe.gate.plan import SIZES
from layoutprobe.gate.searches import source_changes
from layoutprobe.gate.tally import Tally
from layoutprobe.gate.trying import Mended, Trials
from layoutprobe.manifest.model import NoContract
from layoutprobe.observe.happens_before import is_of_card
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Role
from layoutprobe.report.gate import CheckResult
from layoutprobe.rewrites.barriers import BARRIER
from layoutprobe.trace.subject import RunStoppedError, UndecidedError
from layoutprobe.trace.value_causes import CHANGED, MISPLACED, ROUNDED


class Explainer(Struct):
    """Has findings about values, and about accesses, lead with what mends them, where anything does.

    Attributes:
        mender: searches the kernel's source; None for no search.
        most: changes of the source that are tried.
        held: those with which all holds, once results were explained.
        instructions: those with which all values are right, once results were explained.
    """

    mender: Mender | None
    most: int
    held: list[Held] = field(default_factory=list)
    instructions: Sequence[Mended] = ()

    def __call__(self, tally: Tally, results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
        """The results of all checks, explained."""
        meeting = () if _orders_workgroups(tally) else _MEETING
        disordered = _disordered(results, meeting)
        still = _unexplained(results, meeting, disordered)
        races = () if still else _unordered(results)
        met = _met(results) if still and still[0].name == _COLLISION else ()
        strangers = () if still or races else _between_groups(results)
        if (
            not (still or races or strangers)
            or not isinstance(tally.backend, EmulatorBackend)
            or tally.endless
        ):
            return tuple(results)
        if still and still[0].place.kernel not in ("", tally.built.kernel.name):
            return tuple(results)  # of a kernel that is launched before, with which the search begins
        told = diagnosed(
            lambda: (
                self._otherwise(tally, still) or self._ordered(met) or self._told(tally, still, disordered)
                if still
                else self._ordered(races) or self._misplaced(tally, results, races or strangers)
            ),
            lambda why: _noted(still or races or strangers, why),
        )
        return tuple(
            replace(result, findings=tuple(told.get(id(found), found) for found in result.findings))
            for result in results
        )

    def _otherwise(self, tally: Tally, still: Sequence[Finding]) -> dict[int, Finding]:
        """Those of what comes from nowhere, where the source is right when it is compiled otherwise."""
        return otherwise_compiled(tally, self.mender.judge, still) if self.mender is not None else {}

    def _ordered(self, races: Sequence[Finding]) -> dict[int, Finding]:
        """The first race with the barrier that ends it; the others follow from it (`causes.py`)."""
        if not races or self.mender is None or not self.most or not self.mender.possible:
            return {}
        self.held = ordering(self.mender, races[0])
        mended = [self.mender.mended(one, "") for one in self.held]
        return {id(races[0]): _with_barrier(races[0], mended)} if mended else {}

    def _misplaced(
        self, tally: Tally, results: Sequence[CheckResult], races: Sequence[Finding]
    ) -> dict[int, Finding]:
        """The first race with a change of what is computed, where no barrier ends it and values are wrong: waves
        meet where they should not."""
        every = [found for result in results for found in result.findings]
        values = [found for found in every if found.check == numerics.NAME]
        missed = [found for found in every if found.check == "epilogue"]
        return self._told(tally, [races[0], *missed, *values], disordered=True) if values else {}

    def _told(self, tally: Tally, still: Sequence[Finding], disordered: bool) -> dict[int, Finding]:
        """Finding (by identity) -> the same with what mends it."""
        trials, stopped = trials_of(tally, still)
        of_values = any(found.rule.check == numerics.NAME for found in still)
        # A run that ends early goes on with any instruction that leads elsewhere, and in one whose waves race another
        # instruction changes who comes first: only the source tells, as with it every check has to hold.
        whole = trials is not None and not trials.first.unseen and (of_values or not disordered)
        mended = mended_by(trials, of_values=of_values) if trials is not None and whole else ()
        self.instructions = mended
        if edits := self._of_source(tally, trials, still, mended):  # the others follow from it (`causes.py`)
            return {id(still[0]): _told(still[0], edits, len(tally.case.sizes))}
        if stopped is not None:
            raise stopped
        behind = {id(root): [one for one in mended if _is_behind(root, one)] for root in still}
        return {
            id(root): _told(root, behind[id(root)], len(tally.case.sizes))
            for root in still
            if behind[id(root)]
        }

    def _of_source(
        self, tally: Tally, trials: Trials | None, still: Sequence[Finding], mended: Sequence[Mended]
    ) -> list[Mended]:
        """Changes of the source that mend it; none where outputs are compared with nothing, as all holds then with
        what leaves the work of the fault out."""
        compared = not isinstance(tally.case.contract, NoContract)
        if self.mender is None or not self.most or not compared or not self.mender.possible:
            return []

        def step(share: float) -> None:
            tally.step("changes that may mend it", SIZES + (1 - SIZES) * min(share, 1.0))

        self.held = source_changes(self.mender, trials, still, mended, self.most, step)
        symbol = tally.built.kernel.name
        return [self.mender.mended(held, symbol) for held in self.held[:_SHOWN]]


def trials_of(
    tally: Tally, findings: Sequence[Finding]
) -> tuple[Trials | None, ProbeError | RunStoppedError | UndecidedError | None]:
    """The runs of a wrong kernel, where they show that it is, and else what stopped them."""
    trials = Trials(tally, findings)
    try:
        return (trials if trials.possible else None), None
    except (ProbeError, RunStoppedError, UndecidedError) as stopped:
        return None, stopped


def _orders_workgroups(tally: Tally) -> bool:
    """Whether workgroups may have an order: then a wrong one is what stores that meet most often come of."""
    insts = tally.load_insts().values()
    return any("atomic" in inst.name or is_of_card(inst) for inst in insts)


def _disordered(results: Sequence[CheckResult], meeting: Sequence[str]) -> bool:
    """Whether waves have a wrong order that follows from nothing else.

    Args:
        results: of all checks.
        meeting: names of races that come of a wrong address.
    """
    return any(
        one.follows is None and one.name not in meeting
        for result in linked(results)
        if result.check in _OF_ORDER
        for one in result.findings
    )


def _unexplained(results: Sequence[CheckResult], meeting: Sequence[str], disordered: bool) -> list[Finding]:
    """Findings of which a single change may be the cause, and which do not name it already.

    Args:
        results: of all checks.
        meeting: names of races that come of a wrong address.
        disordered: waves have a wrong order.
    """
    return [
        found
        for check, found, known in _beside_linked(results)
        if (check in _OF_VALUES or found.name in meeting)
        and known.follows is None
        and found.name not in _EXACT
        and not (disordered and found.rule.check not in _ALSO_DISORDERED)
    ]


def _unordered(results: Sequence[CheckResult]) -> list[Finding]:
    """Races that follow from nothing else: a barrier may be what is missing, or a fence."""
    return [
        found
        for check, found, known in _beside_linked(results)
        if check == _RACES and found.name in (*_WITHOUT_BARRIER, *FENCED) and known.follows is None
    ]


def _between_groups(results: Sequence[CheckResult]) -> list[Finding]:
    """Races of workgroups in global memory that follow from nothing else: two may do what one should."""
    return [
        found
        for check, found, known in _beside_linked(results)
        if check == _RACES and found.name.startswith("global-") and known.follows is None
    ]


def _met(results: Sequence[CheckResult]) -> list[Finding]:
    """Races in LDS beside a collision of two waves, which may be of two passes of a loop that no barrier orders."""
    every = [found for result in results for found in result.findings]
    apart = any(
        one.place.wave != found.place.wave
        for found in every
        for one in found.related
        if found.name == _COLLISION and one.role == "stored by"
    )
    return [found for found in every if apart and found.check == _RACES and found.name in _WITHOUT_BARRIER]


def _beside_linked(results: Sequence[CheckResult]) -> Iterator[tuple[str, Finding, Finding]]:
    """The check that told each finding, the finding, and the same with what it follows from."""
    for result, known in zip(results, linked(results), strict=True):
        for found, judged in zip(result.findings, known.findings, strict=True):
            yield result.check, found, judged


def _with_barrier(found: Finding, barriers: Sequence[Mended]) -> Finding:
    """A race that says which barrier ends it, and others that do."""
    barrier, *others = barriers
    more = f" (or: {'; or: '.join(one.says for one in others)})" if others else ""
    said = found.what.replace(OTHER_IDLE, "") if barrier.says.endswith(_ADDED) else found.what
    what = f"{said}; {barrier.says} at {barrier.place.line} all is right{more}"
    return replace(
        found, what=what, related=(*found.related, Related("mended at", barrier.place)), mended=True
    )


def _noted(still: Sequence[Finding], why: str) -> dict[int, Finding]:
    return {id(root): replace(root, hint=f"{root.hint}; {why}") for root in still}


_ADDED = f"`{BARRIER}` added"
"""How a change is told that adds a barrier."""
_SHOWN = 3
"""Changes of the source that are named."""
_OF_VALUES = (numerics.NAME, "operand-provenance", "epilogue", "swizzle", "lds-safety", "memory")
"""Checks of what an index, a factor or a bound may be behind."""
_RACES = "races"
_COLLISION = "collision"
"""The name of two stores of which one is lost."""
_WITHOUT_BARRIER = ("read-after-write", "write-after-read", "write-after-write", "buffer-in-use")
"""Names of races in LDS that a barrier may end."""
_OF_ORDER = (_RACES, "waits")
"""Checks after whose findings a store is where it is by the order of waves: no address or bound needs to be wrong."""
_ALSO_DISORDERED = (numerics.NAME, "epilogue")
"""Checks of what an address may be behind all the same: two waves that do the same work race with each other."""
_MEETING = ("global-overwrite", "lost-store", "store-and-add")
"""Names of races of stores that meet: by a wrong address, where nothing orders workgroups."""
_EXACT = ("foreign-element", "lost-nonfinite", "depends-on-order", "reference-of-before")
"""Names of rules of which the cause is known, or cannot be one instruction: nothing is searched for."""
_WHOLE = ("input-taken-otherwise", "wrong-epilogue", CHANGED, MISPLACED, ROUNDED)
"""Names of rules whose sentence names the cause at a place of its own: the line of the change stands in the words."""
_BOUNDED = (
    "out-of-bounds", "load-out-of-bounds", "scratch-out-of-bounds", "beyond-edge", "into-padding", "into-input",
    "never-written", "written-twice", "incomplete-sum", "stale-tile", "undefined-read", "undefined-control",
    "accumulator-not-reset", "accumulator-lost", "accumulator-doubled", "unexplained",
)  # fmt: skip
"""Names of rules about what too many or too few lanes or passes do: a test may be behind them."""
_MATRIX = ("v_wmma", "v_swmmac", "v_mfma", "v_smfmac")
_FACTOR = "wrong-factor"
_STEP = "other-step"
"""The name of one whose place is behind what is wrong: a line of the change itself is nearer."""
_ROUTED = "other-elements"
"""The name of one whose place is where an element goes: what is moved out of a loop has the line of its head."""


def _told(found: Finding, mended: Sequence[Mended], sizes: int) -> Finding:
    """A finding that says what mends it; one about values is at that place, too."""
    first, *others = mended
    if first.of_source:
        return _edited(found, first, others, sizes)
    more = [f"with {other.says} at {other.place.line or other.place.site}" for other in others]
    right = "everything that is compared is right" + (f" (or: {'; or: '.join(more)})" if more else "")
    hint = (
        f"emulated with this change alone, every output of every run at {'all sizes' if sizes > 1 else 'this size'} "
        "is right: is that what was meant? The change is one of the compiled instruction"
    )
    if found.rule.check != numerics.NAME:
        return _at_the_change(found, first, right, hint)
    about, _, rest = found.what.partition(": ")
    behind = found.name == _STEP and found.place.source is not None and bool(first.place.near)
    if found.name in _WHOLE or behind or (found.name == _ROUTED and first.at_loop):
        says = f"{rest}; with {first.says} at {first.place.line or first.place.site} {right}"
        there = Related("computed by", first.place)  # where somebody looks who is to mend it
        return replace(found, what=f"{about}: {says}", hint=hint, related=(there, *found.related))
    old, says = found.place, f"with {first.says} {right}; {rest}"
    place = replace(first.place, element=old.element, size=old.size)
    related = (*found.related, *_before(old, first))
    return replace(found, what=f"{about}: {says}", place=place, hint=hint, related=related)


def _edited(found: Finding, first: Mended, others: Sequence[Mended], sizes: int) -> Finding:
    """A finding that is mended by a change of the source: the line is that of the change."""
    beyond = f"but it {first.beyond}" if first.beyond else "and at others that are not listed"
    about, _, rest = found.what.partition(": ")
    right = _right_with(first, others)
    what = f"{about}: {right}; {rest}" if found.rule.check == numerics.NAME else f"{right}: {found.what}"
    hint = (
        "compiled and emulated with this change alone, every check holds at "
        f"{'all sizes' if sizes > 1 else 'this size'}, {beyond}: is that what was meant?"
    )
    old = found.place
    first = replace(first, place=replace(first.place, source=first.idle or first.place.source))
    place = replace(first.place, element=old.element, size=old.size, matrix=old.matrix, buffer=old.buffer)
    if old.line == first.place.line:  # where it happened is known, too
        place = replace(old, source=first.place.source)
    related = (*found.related, *_before(old, first))
    return replace(found, what=what, place=place, hint=hint, related=related, mended=True)


def _right_with(first: Mended, others: Sequence[Mended]) -> str:
    """What holds with a change of the source, and with which others."""
    if first.idle is not None:  # it is no cause: that is where other code takes the work from
        with_it = f"{first.says} at {first.place.line}"
        return f"all is right where other code does the work of {first.idle}, as {with_it}"
    more = dict.fromkeys(f"{other.says} at {other.place.line}" for other in others)
    more.pop(f"{first.says} at {first.place.line}", None)  # either of two factors
    return f"{first.says} all is right" + (f" (or: {'; or: '.join(more)})" if more else "")


def _is_behind(found: Finding, change: Mended) -> bool:
    """Whether a change may be what a finding comes of. Where elements lie follows from no test, and from no operands
    of a matrix instruction: exchanged, they mend a result that is stored transposed."""
    if found.name == _FACTOR:  # what mends it is in the source alone: any select between two factors does
        return False
    if found.rule.check == numerics.NAME:
        return True
    name = change.place.instruction
    return not name.startswith(_MATRIX) and (found.name in _BOUNDED or "_cmp" not in name)


def _at_the_change(found: Finding, first: Mended, right: str, hint: str) -> Finding:
    """A finding about an access, whose address or bound is computed elsewhere: there it is to be changed."""
    what = f"{found.what}; with {first.says} at {first.place.line or first.place.site} {right}"
    old = found.place
    # What a compiler moved out of a loop has the line of its head; what counts its passes is scalar.
    hoisted = first.at_loop and (
        first.says.startswith("argument") or first.place.instruction.startswith("v_")
    )
    if hoisted or first.place.near or first.place.source is None or old.line == first.place.line:
        return replace(found, what=what)
    place = replace(first.place, element=old.element, size=old.size, matrix=old.matrix, buffer=old.buffer)
    return replace(found, what=what, place=place, related=(*_before(old, first), *found.related))


def _before(old: Place, first: Mended) -> Iterator[Related]:
    """The load or store at which a finding was told before."""
    roles: Mapping[str, Role] = {"_store_": "stored by", "_load_": "loaded by"}
    role = next((role for part, role in roles.items() if part in old.instruction), None)
    if role is None and first.of_source and old.source is not None:
        role = "computed by"
    if role is not None and old.pc != first.place.pc:
        yield Related(role, replace(old, element=None, size=()))
