"""What a Python reference gives where an input is taken otherwise: nibbles exchanged, a scale of another row.

A reference may compute anything of its inputs, so that no step of it can be looked for in the kernel. But it can be
asked what it computes of other inputs: one that gives what the kernel did, on all inputs, has its fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.model import Reference
from layoutprobe.text import either
from layoutprobe.trace.alterations import (
    Change,
    Values,
    all_bytes,
    of_codes,
    of_numbers,
    of_outputs,
    of_places,
)
from layoutprobe.trace.comparisons import Comparison, recorded_for, reference_bound, reference_of
from layoutprobe.trace.subject import Subject, UndecidedError

Doubles = NDArray[np.float64]

_CALLS = 250
"""Calls of a reference that are made for one output."""
_LARGEST = 64
"""What codes may be off by, all alike."""
_ONES = ((0x11, "nibble"), (0x01, "byte"))
"""A byte in which every nibble is 1, or the byte itself: codes of 4 and of 8 bits."""
_SHOWN = 2
"""Explanations that a finding names."""
_ROUNDING = 0.05
"""Of what a code that is one more makes of an output: so much rounding in between may change it."""


@dataclass(frozen=True)
class TakenOtherwise:
    """An input that a kernel takes otherwise than its reference.

    Attributes:
        says: one clause.
        name: of the input; "" where it is the output that is stored otherwise.
    """

    says: str
    name: str


def taken_otherwise(subject: Subject, runs: Sequence[Comparison]) -> TakenOtherwise | None:
    """What explains every element of an output in all runs; None where nothing does.

    Args:
        subject: with a Python reference.
        runs: all comparisons of that output.
    """
    if not isinstance(subject.contract, Reference) or subject.reference is None:
        return None
    asked = _Asked(subject, runs)
    found = _of_output(asked)
    return found or _joined(list(islice(_explaining(asked), _SHOWN)))


def _joined(found: Sequence[TakenOtherwise]) -> TakenOtherwise | None:
    return TakenOtherwise(either(one.says for one in found), found[0].name) if found else None


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

    def of(self, run: Comparison, changes: Mapping[str, tuple[str, Change]]) -> Doubles:
        """What the reference says where inputs are altered; infinite where it fails of that.

        Args:
            run: whose inputs.
            changes: input -> the input that stands in its place, and what becomes of that.
        """
        self.left -= 1
        inputs = reference_of(recorded_for(self.subject, run.spec))
        assert self.subject.reference is not None
        with np.errstate(all="ignore"):
            altered = {name: change(inputs[source]) for name, (source, change) in changes.items()}
            try:
                given = self.subject.reference(inputs | altered, dict(self.subject.sizes))
            except UndecidedError:
                return np.full(run.observed.shape, np.inf)
            return np.broadcast_to(np.asarray(given[run.name], np.float64), run.observed.shape)

    def near(self, run: Comparison, wanted: Doubles, beside: float = 0.0) -> bool:
        """Whether that is what was observed."""
        with np.errstate(invalid="ignore"):
            bound = reference_bound(self.subject, run.name, wanted) + beside
            right = np.isfinite(wanted) & (np.abs(run.observed - wanted) <= bound)
        return bool((right | (np.isnan(wanted) & np.isnan(run.observed)))[~run.undefined].all())


def _of_output(asked: _Asked) -> TakenOtherwise | None:
    for says, moved in of_outputs():
        if all(run.expected.ndim >= 2 and asked.near(run, moved(run.expected)) for run in asked.runs):
            return TakenOtherwise(says.format(name=asked.runs[0].name), "")
    return None


def _explaining(asked: _Asked) -> Iterator[TakenOtherwise]:
    """What codes and numbers are taken for comes before where they are taken from: nibbles that are exchanged look
    like neighbours of a partner that are."""
    inputs = list(asked.inputs())
    for name, values in inputs:
        whole = not np.issubdtype(values.dtype, np.floating)
        yield from _first(asked, name, of_codes() if whole else of_numbers(), whole=whole)
    yield from _exchanged(asked, inputs)
    for name, values in inputs:
        yield from _first(asked, name, of_places(values.shape, asked.subject.sizes), whole=False)


def _first(
    asked: _Asked, name: str, alterations: Iterator[tuple[str, Change]], *, whole: bool
) -> Iterator[TakenOtherwise]:
    for says, change in alterations:
        if asked.left <= 0:
            return
        if told := _explains(asked, name, says, change, whole=whole):
            yield TakenOtherwise(told, name)
            return


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
    return all(asked.near(run, asked.of(run, changes)) for run in asked.runs)


def _explains(asked: _Asked, name: str, says: str, change: Change, *, whole: bool) -> str:
    """The sentence, where the alteration is what was observed in all runs; "" where it is not."""
    if says and _holds(asked, {name: (name, change)}):
        return says.format(name=name)
    return _off_by(asked, name, says.format(name=name), change) if whole else ""


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
        beside = _ROUNDING * float(np.sqrt(np.mean(each**2)))
        right = 0 < abs(off) <= _LARGEST and asked.near(run, wanted + off * each, beside)
    return off if right else 0
