"""What a kernel would have to do otherwise: small changes of its instructions, each executed until one mends it.

Where outputs are wrong, the place where they are stored says little about why. So single instructions are executed
otherwise (`isa.edits`), on the smallest size that shows it; a change with which every element of every run at every
size is right names the line. No compiler is needed, and no source. What is tried is bounded by instructions that are
executed, and not by a clock: the answer is the same on every machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.choice import NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.gate.candidates import Candidate, Candidates
from layoutprobe.gate.runner import Prepared
from layoutprobe.gate.trying import AtSize, Mended, Trials, is_right
from layoutprobe.isa.edit import Values
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.places import in_caller

COST = 5_000_000
"""What all tries together may cost, about a microsecond of a processor each."""
OF_ACCESSES = 3_000_000
"""The same where a finding is about accesses, which says much already."""
AFTER = 600_000
"""The same for other changes that mend it, too, once one is found."""
_LEFT = 150
"""What an instruction that is changed costs, each time that a wave executes it; see `trying` for any other one."""
_LINES = 3
"""Lines that are named."""
_IDLE = 2
"""Changes of an instruction that move nothing which is wrong, before others of it come last."""


def mended_by(trials: Trials, *, of_values: bool) -> tuple[Mended, ...]:
    """Changes of one line each with which everything that is compared is right, the likeliest first.

    Args:
        trials: runs of the kernel, whose outputs are wrong.
        of_values: a finding is about these.
    """
    return _Search(trials).run(COST if of_values else OF_ACCESSES) if trials.possible else ()


def _values(at: AtSize, ready: Prepared) -> Values:
    """Scalar arguments of 32 bits."""
    pairs = zip(at.subject.case.arguments, ready.launch.args, strict=True)
    return {
        argument.name: int(np.atleast_1d(value).view(np.uint32)[0])
        for argument, value in pairs
        if isinstance(value, np.generic) and value.nbytes == 4
    }


def _error(found: Sequence[Comparison]) -> float:
    """How far off outputs are that are right."""
    with np.errstate(all="ignore"):
        return float(sum(np.nansum(np.abs(c.observed - c.expected)) for c in found))


class _Search:
    """One kernel's."""

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self._moving: set[int] = set()

    def run(self, cost: float) -> tuple[Mended, ...]:
        """What mends it, where all tries together cost no more."""
        first = self.trials.first
        self._take_the_faster()
        found: dict[object, tuple[Candidate, float]] = {}
        left = cost
        for candidate in self._in_turn():
            line = (candidate.place.line, candidate.place.near)
            known = found.get(line)
            if known is not None and not self._alike(candidate, known[0]):
                continue
            if (left := left - self._cost(candidate)) < 0:
                break
            mended = self._mended(candidate)
            if mended is None:
                continue
            left = min(left, AFTER) if not found else left
            error = _error(mended)
            if known is None or error < known[1]:
                found[line] = candidate, error
        return tuple(
            Mended(self._says(one), in_caller(first.subject, one.place), self._at_loop(one))
            for one, _ in list(found.values())[:_LINES]
        )

    def _take_the_faster(self) -> None:
        """Have the engine run what is tried that takes less time; both give the same."""
        first = self.trials.first
        if not first.subject.small:
            return
        mine, other = first.runner.backend, EmulatorBackend(engine=make_engine(NUMPY))
        taken = []
        for backend in (mine, other):
            first.outputs(first.specs[0], lambda _: {}, backend)
            start = time.process_time()
            first.outputs(first.specs[0], lambda _: {}, backend)
            taken.append(time.process_time() - start)
        first.runner.backend = mine if taken[0] <= taken[1] else other

    @cached_property
    def _offered(self) -> Candidates:
        first = self.trials.first
        return Candidates(first.subject, first.work)

    def _cost(self, candidate: Candidate) -> float:
        """About what a try takes; of what is counted, so that it is the same on every machine."""
        times = sum(self._times.get(pc, 0) for pc in candidate.edits)
        return self.trials.first.cost(_LEFT * times)

    @cached_property
    def _times(self) -> Mapping[int, int]:
        """How often waves execute each instruction."""
        work = self.trials.first.work
        blocks = self._offered.blocks
        return {inst.pc: times for start, times in work.blocks.items() for inst in blocks[start]}

    def _mended(self, candidate: Candidate) -> list[Comparison] | None:
        """The outputs of the first run, where all of all runs are right with a change."""
        first = self.trials.first

        def change(ready: Prepared) -> Mapping[str, object]:
            values = _values(first, ready)
            return {"changes": {pc: edit.make(values) for pc, edit in candidate.edits.items()}}

        found = first.outputs(first.specs[0], change)
        if found is not None and first.moves(found, first.specs[0]):
            self._moving.add(candidate.group)
        return found if is_right(found) and self.trials.right_elsewhere(change) else None

    @staticmethod
    def _alike(one: Candidate, other: Candidate) -> bool:
        """The same constant, another value."""
        return (one.group, one.edit.key[:-1]) == (other.group, other.edit.key[:-1]) and len(one.edits) == len(
            other.edits
        )

    def _in_turn(self) -> Iterator[Candidate]:
        """By rank; those of an instruction last of which some changes moved nothing that is wrong."""
        tried: dict[int, int] = {}
        late = []
        for candidate in self._offered:
            tried[candidate.group] = tried.get(candidate.group, 0) + 1
            if tried[candidate.group] > _IDLE and candidate.group not in self._moving:
                late.append(candidate)
            else:
                yield candidate
        yield from late

    def _at_loop(self, candidate: Candidate) -> bool:
        return self._offered.text(candidate.place).lstrip().startswith(("for", "while"))

    def _says(self, candidate: Candidate) -> str:
        says = candidate.edit.says
        if candidate.edit.key[-2:-1] == ("compare",):
            return _as_written(says, self._offered.text(candidate.place))
        return says


_TESTS = re.compile(r"(?<![<>=!-])(<=|>=|==|!=|<|>)(?![<>=])")
_STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def _as_written(says: str, line: str) -> str:
    """A change of a comparison in the words of the source, where one is meant: compilers turn them round."""
    written = _TESTS.findall(line.partition("//")[0])
    told = re.findall(r"`([^`]*)`", says)
    if len(told) != 2:
        return says
    pair = [sign.removeprefix("not ") for sign in told]
    if len(written) > 1:  # which of them it is, is only known of one that is as strict as no other
        written = [sign for sign in written if sign in ("<=", ">=")] if pair[1] in ("<=", ">=") else []
    if len(written) != 1:
        return says
    if _STRICT.get(pair[0]) == pair[1] and written[0] in _STRICT:
        return f"`{_STRICT[written[0]]}` in place of `{written[0]}`"
    return says
