"""Two capture files, run by run: where the same question got another answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.capture.capture import Capture, raw_bits
from layoutprobe.capture.file import CaptureFile
from layoutprobe.capture.identity import said, same_question


class OutputDifference(Struct, frozen=True):
    """One output of one run that differs.

    Attributes:
        run: the run in words.
        output: its name.
        elements, differing: how many there are, and how many differ where both sides are defined.
        at: index of the first of them.
        first, second: its value in each file.
        other_code: the runs were of different code objects.
    """

    run: str
    output: str
    elements: int
    differing: int
    at: tuple[int, ...]
    first: int
    second: int
    other_code: bool


class CaptureDifference(Struct, frozen=True):
    """What comparing two files gave.

    Attributes:
        first, second: each file and its evidence, in words.
        compared: runs that both have.
        only_first, only_second: runs that one lacks, in words, each kind once.
        outputs: what differs.
        uncompared: outputs of runs that both have of which nothing could be compared, in words.
        other_code: runs of different code objects, whether or not they differ.
    """

    first: str
    second: str
    compared: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    outputs: tuple[OutputDifference, ...]
    other_code: int
    uncompared: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 all answers are equal, 1 some differ, 2 not all could be compared, or none."""
        if self.outputs:
            return 1
        missing = self.only_first or self.only_second or self.uncompared
        return 0 if self.compared and not missing else 2


def compare_captures(first: CaptureFile, second: CaptureFile) -> CaptureDifference:
    """Compare the runs that were fed the same; the code object may be another one, which is said."""
    mine, theirs = _by_question(first), _by_question(second)
    both = [key for key in mine if key in theirs]
    outputs = [one for key in both for one in _differences(mine[key], theirs[key])]
    uncompared = [why for key in both for why in _uncompared(mine[key], theirs[key])]
    return CaptureDifference(
        first=_file(first),
        second=_file(second),
        compared=len(both),
        only_first=_kinds(mine, theirs),
        only_second=_kinds(theirs, mine),
        outputs=tuple(outputs),
        other_code=sum(_code(mine[key]) != _code(theirs[key]) for key in both),
        uncompared=tuple(dict.fromkeys(uncompared)),
    )


def _by_question(file: CaptureFile) -> dict[bytes, Capture]:
    return {
        same_question(one.probe, one.arch, one.parameters, one.inputs): one for one in reversed(file.captures)
    }


def _kinds(mine: Mapping[bytes, Capture], theirs: Mapping[bytes, Capture]) -> tuple[str, ...]:
    missing = (one for key, one in mine.items() if key not in theirs)
    return tuple(dict.fromkeys(said(one.probe, one.arch, one.parameters) for one in missing))


def _file(file: CaptureFile) -> str:
    evidence = dict.fromkeys(str(one.evidence) for one in file.captures)
    return f"{file.path}: {'; '.join(evidence)}"


def _code(capture: Capture) -> str:
    return capture.toolchain.get("code_object", "")


def _differences(first: Capture, second: Capture) -> Iterator[OutputDifference]:
    for name, mine in first.outputs.items():
        theirs = second.outputs.get(name)
        if theirs is None or not _same_form(mine, theirs):
            continue  # `_uncompared` names it
        one, other = raw_bits(mine), raw_bits(theirs)
        wrong = (one != other) & first.defined(name) & second.defined(name)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            run = said(first.probe, first.arch, first.parameters)
            yield OutputDifference(
                run, name, one.size, int(wrong.sum()), at, int(one[at]), int(other[at]),
                _code(first) != _code(second),
            )  # fmt: skip


def _uncompared(first: Capture, second: Capture) -> Iterator[str]:
    """Outputs that one run lacks, that have another form, or of which no word is defined in both."""
    run = said(first.probe, first.arch, first.parameters)
    for name in dict.fromkeys([*first.outputs, *second.outputs]):
        if name not in first.outputs or name not in second.outputs:
            yield f"{run}: {name} is only in the {'first' if name in first.outputs else 'second'}"
        elif not _same_form(one := first.outputs[name], other := second.outputs[name]):
            yield f"{run}: {name} is {one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}"
        elif not (first.defined(name) & second.defined(name)).any():
            yield f"{run}: no word of {name} is defined in both"


def _same_form(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and one.dtype.itemsize == other.dtype.itemsize
