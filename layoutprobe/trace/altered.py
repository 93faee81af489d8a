"""What a Python reference gives where an input is taken otherwise: nibbles exchanged, a scale of another row.

A reference may compute anything of its inputs, so that no step of it can be looked for in the kernel. But it can be
asked what it computes of other inputs: one that gives what the kernel did, on all inputs, has its fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.manifest.model import Reference
from layoutprobe.numbers.magnitude import usual_size
from layoutprobe.text import either
from layoutprobe.trace.alterations import (
    LEFT_OUT,
    Change,
    Values,
    all_bytes,
    of_codes,
    of_integers,
    of_numbers,
    of_outputs,
    of_places,
)
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.packed import BITS
from layoutprobe.trace.references import as_given, recorded_for, reference_bound, reference_of, references
from layoutprobe.trace.subject import Subject, UndecidedError

Doubles = NDArray[np.float64]

_CALLS = 400
"""Calls of a reference that are made for one output."""
_LARGEST = 64
"""What codes may be off by, all alike."""
_ONES = ((0x11, "nibble"), (0x01, "byte"))
"""A byte in which every nibble is 1, or the byte itself: codes of 4 and of 8 bits."""
_KEPT = 8
"""Explanations that are looked for: which of them hold at all sizes is seen later."""
_SHOWN = 2
"""Explanations that a finding names."""
_ROUNDING = 0.05
"""Of what a code that is one more makes of an output: so much rounding in between may change it."""


class TakenOtherwise(Struct, frozen=True):
    """An input that a kernel takes otherwise than its reference.

    Attributes:
        says: one clause.
        name: of the input; "" where it is the output that is stored otherwise.
        alone: in what one output is computed of; its loads are right.
    """

    says: str
    name: str
    alone: bool = False


def taken_otherwise(subject: Subject, runs: Sequence[Comparison]) -> tuple[TakenOtherwise, ...]:
    """Each of these explains every element of an output in all runs, and leaves other outputs as they are; none where
    nothing does.

    Args:
        subject: with a Python reference.
        runs: all comparisons of that output.
    """
    if not isinstance(subject.contract, Reference) or subject.reference is None:
        return ()
    asked = _Asked(subject, runs)
    return _of_output(asked) or tuple(islice(_explaining(asked), _KEPT))


def given_too_early(subject: Subject, runs: Sequence[Comparison]) -> str:
    """A buffer that launches before make, where the reference gives what the kernel did if it is given what they have
    left in it, and not what it held before them all; "" where there is none.

    Args:
        subject: with a Python reference.
        runs: all comparisons of an output.
    """
    if not isinstance(subject.contract, Reference) or subject.reference is None:
        return ""
    asked, made = _Asked(subject, runs), recorded_for(subject, runs[0].spec).handed
    return next((name for name in made if _holds(asked, {name: (_HANDED + name, np.copy)})), "")


_HANDED = "handed "
"""Stands before the name of an input, as launches before have left it."""


def shown(found: Sequence[TakenOtherwise]) -> str:
    """In words: what is said of an input first, of two inputs at most."""
    by_input = {one.name: one.says for one in reversed(found)}
    return either(islice((by_input[name] for name in dict.fromkeys(one.name for one in found)), _SHOWN))


class _Asked:
    """The reference, asked a limited number of times."""

    def __init__(self, subject: Subject, runs: Sequence[Comparison]) -> None:
        self.subject = subject
        self.runs = runs
        self.left = _CALLS

    def inputs(self) -> Iterator[tuple[str, Values]]:
        """Those of the first run whose contents the gate chooses: no lengths and index tables."""
        for name, values in reference_of(recorded_for(self.subject, self.runs[0].spec)).items():
            if self.subject.case.argument(name).values is None:
                yield name, values

    def all_of(self, run: Comparison, changes: Mapping[str, tuple[str, Change]]) -> Mapping[str, Any]:
        """What the reference says where inputs are altered: output -> values; none where it fails of that.

        Args:
            run: whose inputs.
            changes: input -> the input that stands in its place, and what becomes of that.
        """
        self.left -= 1
        recorded = recorded_for(self.subject, run.spec)
        inputs = reference_of(recorded)
        sources = inputs | {_HANDED + name: as_given(values) for name, values in recorded.handed.items()}
        assert self.subject.reference is not None
        with np.errstate(all="ignore"):
            altered = {name: change(sources[source]) for name, (source, change) in changes.items()}
            try:
                given: Mapping[str, Any] = self.subject.reference(inputs | altered, dict(self.subject.sizes))
            except UndecidedError:
                return {}
        return given

    def of(self, run: Comparison, changes: Mapping[str, tuple[str, Change]]) -> Doubles:
        """The same of the run's output; infinite where there is none."""
        return _shaped(self.all_of(run, changes), run)

    def others(self, run: Comparison) -> list[Comparison]:
        """Other outputs of the same run."""
        return [c for c in references(self.subject) if c.spec == run.spec and c.name != run.name]

    def near(self, run: Comparison, wanted: Doubles, beside: float = 0.0) -> bool:
        """Whether that is what was observed."""
        with np.errstate(invalid="ignore"):
            bound = reference_bound(self.subject, run.name, wanted) + beside
            right = np.isfinite(wanted) & (np.abs(run.observed - wanted) <= bound)
        return bool((right | (np.isnan(wanted) & np.isnan(run.observed)))[~run.undefined].all())


def _shaped(given: Mapping[str, Any], run: Comparison) -> Doubles:
    """An output of what a reference gave; infinite where it is not there, or has another shape."""
    values = np.asarray(given.get(run.name, np.inf), np.float64)
    return np.broadcast_to(values if values.shape in ((), run.observed.shape) else np.inf, run.observed.shape)


def _of_output(asked: _Asked) -> tuple[TakenOtherwise, ...]:
    for says, moved in of_outputs():
        if all(run.expected.ndim >= 2 and asked.near(run, moved(run.expected)) for run in asked.runs):
            return (TakenOtherwise(says.format(name=asked.runs[0].name), ""),)
    return ()


def _explaining(asked: _Asked) -> Iterator[TakenOtherwise]:
    """What codes and numbers are taken for comes before where they are taken from: nibbles that are exchanged look
    like neighbours of a partner that are."""
    inputs = list(asked.inputs())
    for name, values in inputs:
        if np.issubdtype(values.dtype, np.floating):
            yield from _holding(asked, name, of_numbers())
        else:
            codes = of_codes() if _of_codes(asked, values) else ()
            yield from _holding(asked, name, codes, codes=True)
            yield from _holding(asked, name, of_integers())
    yield from _together(asked, [name for name, values in inputs if _of_codes(asked, values)])
    yield from _exchanged(asked, inputs)
    for name, values in inputs:
        yield from _holding(asked, name, of_places(values.shape, asked.subject.sizes))


def _of_codes(asked: _Asked, values: Values) -> bool:
    """Whether several codes may lie in an integer, and some run has tried every bit of it."""
    whole = not np.issubdtype(values.dtype, np.floating)
    return whole and (values.dtype.itemsize == 1 or any(run.spec == BITS for run in asked.runs))


def _together(asked: _Asked, names: Sequence[str]) -> Iterator[TakenOtherwise]:
    """Several inputs that one function unpacks."""
    for says, change in of_codes() if len(names) > 1 else ():
        if says and asked.left > 0 and _holds(asked, {name: (name, change) for name in names}):
            yield TakenOtherwise(says.format(name=" and ".join(names)), names[0])


def _holding(
    asked: _Asked, name: str, alterations: Iterable[tuple[str, Change]], *, codes: bool = False
) -> Iterator[TakenOtherwise]:
    for says, change in alterations:
        if asked.left <= 0:
            return
        if found := _explains(asked, name, says, change, codes=codes):
            yield found


def _exchanged(asked: _Asked, inputs: Sequence[tuple[str, Values]]) -> Iterator[TakenOtherwise]:
    """One input for another one of its shape."""
    for (name, mine), (other, theirs) in permutations(inputs, 2):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype or asked.left <= 0:
            continue
        instead = {name: (other, np.copy)}
        if _holds(asked, instead):
            yield TakenOtherwise(f"{other} is taken in place of {name}", other)
        elif name < other and _holds(asked, instead | {other: (name, np.copy)}):
            yield TakenOtherwise(f"{name} and {other} are exchanged", name)


def _holds(asked: _Asked, changes: Mapping[str, tuple[str, Change]]) -> bool:
    """Whether the reference then gives what was observed, of all outputs. One number everywhere explains nothing: a
    kernel that stores zeros would have any fault that makes zeros."""
    varied = False
    for run in asked.runs:
        given = asked.all_of(run, changes)
        wanted = _shaped(given, run)
        if not asked.near(run, wanted):
            return False
        varied |= bool((wanted != wanted.flat[0]).any()) or (wanted.size == 1 and bool(wanted.any()))
        if not all(asked.near(other, _shaped(given, other)) for other in asked.others(run)):
            return False
    return varied


def _left_out_here(asked: _Asked, name: str) -> bool:
    """Whether an input has no effect on this output alone, while others take it as they should."""
    instead: Mapping[str, tuple[str, Change]] = {name: (name, np.zeros_like)}
    found = False
    for run in asked.runs:
        given, others = asked.all_of(run, instead), asked.others(run)
        wanted = _shaped(given, run)
        if not asked.near(run, wanted) or any(other.wrong.any() for other in others):
            return False
        effect = any(not asked.near(other, _shaped(given, other)) for other in others)
        found |= effect and bool((wanted != wanted.flat[0]).any())
    return found


def _explains(asked: _Asked, name: str, says: str, change: Change, *, codes: bool) -> TakenOtherwise | None:
    """The explanation, where the alteration is what was observed in all runs."""
    if says and _holds(asked, {name: (name, change)}):
        return TakenOtherwise(says.format(name=name), name)
    if says == LEFT_OUT and _left_out_here(asked, name):
        told = f"{name} has no effect on {asked.runs[0].name}, and other outputs take it: is one use of it left out?"
        return TakenOtherwise(told, name, alone=True)
    told = _off_by(asked, name, says.format(name=name), change) if codes else ""
    return TakenOtherwise(told, name) if told else None


def _off_by(asked: _Asked, name: str, says: str, change: Change) -> str:
    """A number that is missing from all codes alike, or too much: what the reference makes of codes that are all 1,
    less what it makes of zeros, shows that often in every element. The sentence, or ""."""
    for ones, what in _ONES:
        off = _times(asked, asked.runs[0], name, change, ones)
        if off and all(_times(asked, run, name, change, ones) == off for run in asked.runs[1:]):
            few = "much" if off > 0 else "little"
            told = says + ", and " * bool(says)
            return f"{told}every {what} of {name} counts {abs(off)} too {few}: is the zero point another one?"
    return ""


def _times(asked: _Asked, run: Comparison, name: str, change: Change, ones: int) -> int:
    """How often what codes of 1 make of an output is too much in all of its elements; 0 where it is not."""
    one, zero, wanted = (asked.of(run, {name: (name, c)}) for c in (all_bytes(ones), np.zeros_like, change))
    with np.errstate(all="ignore"):
        each = one - zero
        sure = np.abs(each) > _ROUNDING * np.abs(each).max(initial=0.0)
        often = float(np.median((run.observed - wanted)[sure] / each[sure])) if sure.any() else 0.0
        off = round(often) if np.isfinite(often) else 0
        # What is to be explained may be far less than what codes of 1 make.
        wrong = (run.observed - run.expected)[run.wrong]
        beside = _ROUNDING * min(usual_size(each), usual_size(wrong))
        right = 0 < abs(off) <= _LARGEST and asked.near(run, wanted + off * each, beside)
    return off if right else 0
