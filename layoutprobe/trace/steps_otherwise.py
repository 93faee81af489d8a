"""A Python reference with one step changed that gives what a kernel gives, and the line at which the kernel goes on.

The kernel computes the same numbers by other instructions. But what comes behind the changed step is computed by
both: an instruction that leaves those numbers, and no others, has the line.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.edits_of_constants import LOG2E
from layoutprobe.manifest.model import Reference
from layoutprobe.numbers import element_type
from layoutprobe.observe.floats import MOST, Computed, FloatRecorder
from layoutprobe.place import Place
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.places import where
from layoutprobe.trace.products import saturated
from layoutprobe.trace.reference_changes import EVERYWHERE, Change, changes
from layoutprobe.trace.reference_rewrites import NUMBER
from layoutprobe.trace.references import recorded_for, reference_bound, reference_of, references
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject, UndecidedError

Doubles = NDArray[np.float64]

_SECONDS = 4.0
"""Processor time after which no further change is tried."""
_KEPT = 4
"""Explanations that are looked for: which of them hold at all sizes is seen later."""
_ASKED = 256
"""Numbers of a step, and of an instruction, that are compared."""
_FEW = 8
"""Different numbers that tell a step from another one."""
_EXACT, _NEAR = 3e-7, 1e-3
"""How far off a number is at least, and at most, that is taken for another one."""
_CHANCE = 0.05
"""The same, in parts of the distance between two numbers of a step."""
_MOST = 0.9
"""Share of an instruction's numbers that are those of a step."""


_BEHIND, _BEFORE = 2, 3
"""Steps behind the change, and before it, that are looked for in the kernel: what is farther is at another line."""
_SCALES = (1.0, LOG2E)
"""What steps may be multiplied by: kernels take powers of 2 for those of e."""
_TIED = 0.02
"""Share of whole numbers that may be off by one: they lie at a tie of rounding."""
_MOSTLY = 0.3
"""Share of a step's numbers that a line has: the largest of each row, and the like, are some of them, too."""


@runtime_checkable
class Changeable(Protocol):
    """A reference whose text may be changed."""

    def changed(self, tree: ast.Module, seen: Callable[[Any], Any]) -> Callable[..., Any]:
        """The reference of another text; every step of it gives `seen` what it computes."""
        ...


class StepOtherwise(Struct, frozen=True):
    """A change of the reference that explains an output in all runs.

    Attributes:
        says: one clause.
        place: where the kernel goes on behind the step; None where that is not seen.
        sure: a step is left out, or comes in another place: no number was chosen for it.
    """

    says: str
    place: Place | None
    sure: bool


def steps_otherwise(subject: Subject, runs: Sequence[Comparison]) -> tuple[StepOtherwise, ...]:
    """Each of these explains every element of an output in all runs, and leaves other outputs as they are; none where
    nothing does.

    Args:
        subject: with a Python reference.
        runs: all comparisons of that output.
    """
    contract = subject.contract
    reference: object = subject.reference
    if not isinstance(contract, Reference) or not isinstance(reference, Changeable):
        return ()
    try:
        text = contract.path.read_text(encoding="utf-8")
        found = list(
            _explaining(subject, reference, runs, changes(text, contract.function, list(subject.sizes)))
        )
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        StepOtherwise(
            f"{'' if fully else 'where it is wrong, '}{runs[0].name} is what the reference gives {one.says} "
            f"({contract.path.name}:{one.line})",
            _goes_on(subject, reference, runs[-1], one),
            one.kind < NUMBER,
        )
        for one, fully in found
    )


def _explaining(
    subject: Subject, reference: Changeable, runs: Sequence[Comparison], every: Iterator[Change]
) -> Iterator[tuple[Change, bool]]:
    """Changes that give all of an output; if none does, those that give what is wrong of it."""
    until = time.process_time() + _SECONDS
    first = sorted(runs, key=lambda run: not run.wrong.any())
    kept, kind, partly, told = 0, float(NUMBER), list[Change](), set[str]()
    for change in every:
        if change.says in told:  # at one place it does what it does at all of them
            continue
        if time.process_time() > until or kept >= _KEPT or (kept and change.kind > kind):
            break
        asked = reference.changed(change.tree, lambda value: value)
        gives = _gives_in(subject, asked, first)
        if gives == _ALL:
            kept, kind = kept + 1, change.kind
            told.add(change.says.removesuffix(EVERYWHERE))
            yield change, True
        elif gives == _WRONG_ONES and change.kind < NUMBER and len(partly) < _KEPT:
            partly.append(change)
    if not kept:
        yield from ((change, False) for change in partly)


_NOTHING, _WRONG_ONES, _ALL = range(3)
"""What a changed reference gives of what was observed."""


def _gives_in(subject: Subject, asked: Callable[..., Any], runs: Sequence[Comparison]) -> int:
    """What it gives in all runs; after the first of which it gives nothing no other one is asked."""
    least = _ALL
    for run in runs:
        least = min(least, _gives(subject, asked, run))
        if least == _NOTHING:
            break
    return least


def _gives(subject: Subject, asked: Callable[..., Any], run: Comparison) -> int:
    """What the changed reference gives of all outputs of a run."""
    with np.errstate(all="ignore"):
        try:
            given = asked(reference_of(recorded_for(subject, run.spec)), dict(subject.sizes))
        except UndecidedError:
            return _NOTHING
        if not isinstance(given, Mapping) or not _tells(_numbers(given.get(run.name))):
            return _NOTHING
        beside = [c for c in references(subject) if c.spec == run.spec and c.name != run.name]
        return min(_near(subject, c, _numbers(given.get(c.name))) for c in (run, *beside))


def _numbers(given: object) -> Doubles | None:
    """An output as a reference gives it; None for what has no numbers."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return None


def _tells(wanted: Doubles | None) -> bool:
    """Whether it has two numbers: what is the same everywhere may come of anything."""
    return wanted is not None and wanted.size > 1 and bool((wanted != wanted.flat[0]).any())


def _near(subject: Subject, c: Comparison, wanted: Doubles | None) -> int:
    """What of an output that is, by the numbers that it should have then."""
    if wanted is None or wanted.shape != c.observed.shape:
        return _NOTHING
    right = np.abs(c.observed - wanted) <= reference_bound(subject, c.name, wanted)
    right |= (c.observed == wanted) | (np.isnan(wanted) & np.isnan(c.observed))
    for held in _held(wanted, c.dtype):
        right |= c.observed == held
        tied = ~right & (np.abs(c.observed - held) == 1)
        right |= tied & (tied.mean() < _TIED)
    right |= c.undefined | _packed_beside(wanted, c.dtype)
    if right.all():
        return _ALL
    told = np.unique(wanted[c.wrong & right]).size
    return _WRONG_ONES if right[c.wrong].all() and (told >= _TOLD or not c.wrong.any()) else _NOTHING


_TOLD = 4
"""Different numbers where an output is wrong, from which a change is told."""


def _held(values: Doubles, dtype: str) -> Iterator[Doubles]:
    """What is left of whole numbers that the output's type cannot hold: the nearest one, or their low bits."""
    kind = element_type(dtype)
    if kind.is_float or not np.isfinite(values).all():
        return
    info = np.iinfo(kind.storage)
    least, most = float(info.min), float(info.max)
    yield saturated(values, dtype)
    yield (np.rint(values) - least) % (most - least + 1) + least


def _packed_beside(values: Doubles, dtype: str) -> NDArray[np.bool_]:
    """Elements of 8 or 16 bits that are stored in one word with a number which their type cannot hold: what C makes
    of such a number is undefined, and its upper bits may spoil the others. None where there are many of them."""
    kind = element_type(dtype)
    near = np.zeros(values.size, np.bool_)
    if kind.is_float or kind.bits >= _WORD:
        return near.reshape(values.shape)
    info = np.iinfo(kind.storage)
    outside = ((values < info.min) | (values > info.max)).ravel()
    if outside.mean() < _RARE:
        for by in range(1 - _WORD // kind.bits, _WORD // kind.bits):
            near |= np.roll(outside, by)
    return near.reshape(values.shape)


_WORD, _RARE = 32, 0.05
"""Bits of a word, and the share of elements that is rare."""


# Where the kernel goes on


def _goes_on(subject: Subject, reference: Changeable, run: Comparison, change: Change) -> Place | None:
    """The first instruction that leaves numbers which only the changed reference computes; where there is none, the
    first that leaves those of the last step before the change."""
    inputs = reference_of(recorded_for(subject, run.spec))
    before, after = (_computed(reference, tree, inputs, subject) for tree in (change.usual, change.tree))
    try:
        done = subject.run(RunSpec(run.spec.inputs, (FloatRecorder,))).record(Computed)
    except RunStoppedError:
        return None
    known = {_print(values) for values in before}
    behind = [values for values in after if _print(values) not in known]
    pairs = zip(before, after, strict=False)
    alike = takewhile(lambda pair: _print(pair[0]) == _print(pair[1]), pairs)
    earlier = [one for one, _ in alike if _telling(one)]
    steps = (
        *list(filter(_telling, behind))[:_BEHIND],
        *(one * factor for one in earlier[: -_BEFORE - 1 : -1] for factor in _SCALES),
    )
    made = next(filter(None, (_made_at(subject, done, step) for step in steps)), None)
    return where(subject, subject.insts[made[0]]) if made else None


def _made_at(subject: Subject, done: Computed, step: Doubles) -> list[int]:
    """Addresses of the first instructions of one line that compute the numbers of a step, in the order of execution:
    those, and no others, and most of them."""
    wanted = np.unique(step[np.isfinite(step)])
    with np.errstate(over="ignore"):  # what is larger than any number of f16 is infinite
        halves = np.unique(wanted.astype(np.float16).astype(np.float64))
    lines: dict[object, list[int]] = {}
    for pc, values in done.values.items():
        rounded = pc in done.halves
        if _are_of(values, halves if rounded else wanted, rounded=rounded):
            lines.setdefault((rounded, subject.line(pc) or pc), []).append(pc)
    for pcs in lines.values():
        held = np.unique(np.concatenate([done.values[pc] for pc in pcs])).size
        if held > _MOSTLY * min(wanted.size, MOST):
            return pcs
    return []


def _computed(
    reference: Changeable, tree: ast.Module, inputs: Mapping[str, Any], subject: Subject
) -> list[Doubles]:
    """What the steps of a reference compute, in their order."""
    found: list[Doubles] = []

    def seen(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found.append(np.array(value, np.float64))
        return value

    try:
        with np.errstate(all="ignore"):
            reference.changed(tree, seen)(inputs, dict(subject.sizes))
    except UndecidedError:
        return []
    return found


def _print(values: Doubles) -> bytes:
    return np.sort(values, axis=None).tobytes()


def _telling(values: Doubles) -> bool:
    """Enough different numbers, and no integers, which anything may be."""
    finite = values[np.isfinite(values)]
    return np.unique(finite).size >= _FEW and bool((finite % 1 != 0).mean() > _MOST)


def _are_of(values: NDArray[np.float32], wanted: Doubles, *, rounded: bool) -> bool:
    """Whether what an instruction left are numbers of a step, and not by chance: nearer than these are to each other.

    Args:
        values: what it left.
        wanted: numbers of the step in order, each once.
        rounded: they are as f16 has them: equal or not.
    """
    mine = np.unique(values[np.isfinite(values) & (values != 0)])
    if mine.size < _FEW or wanted.size < _FEW:
        return False
    mine = mine[np.linspace(0, mine.size - 1, min(mine.size, _ASKED)).astype(np.int64)].astype(np.float64)
    at = np.clip(np.searchsorted(wanted, mine), 1, wanted.size - 1)
    low, high = wanted[at - 1], wanted[at]
    bound = np.clip(_CHANCE * (high - low), _EXACT * np.abs(mine), _NEAR * np.abs(mine)) * (not rounded)
    return bool((np.minimum(np.abs(high - mine), np.abs(low - mine)) <= bound).mean() > _MOST)
