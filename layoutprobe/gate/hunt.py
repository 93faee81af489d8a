"""`check --hunt`: looks for sizes and values at which a kernel fails, led by what of its code has run.

Bugs of sizes lie at edges: one more or less than a tile, a single element, a depth that fills each buffer of a
pipeline once more, a workgroup that nobody ever launched. Those come first, one extent at a time, then mixtures. A
size counts where it reaches code, a way of a branch or a number of passes that none before had; the search goes on
from there. Between sizes come values: each kind of inputs that is not usual (`manifest.unusual`), and other seeds, at
sizes that held. Of a size that fails the smallest that fails in the same way, on such values, is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, islice
from math import prod
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.checks import numerics
from layoutprobe.errors import ProbeError
from layoutprobe.gate.tally import Outcome, Tally
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.model import KernelCase, Sizes
from layoutprobe.manifest.unusual import kinds_for
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.gate import Hunt
from layoutprobe.trace.unusual import inputs_of

_SIZES = 2
"""Sizes that are tried before one kind of values and one seed."""
_SHRINKS, _LATE = 80, 0.15
"""Smaller sizes that are tried for one that fails, and what of the time there is for that where it was found late."""
_FEW, _FAR, _TOLD = 8, 4096, 6
"""Numbers in the code that are extents to go beyond lie between the first two, and are so many at most."""
_PRIMES = (2, 3, 5, 7, 13, 31)
_SHARE = 0.5
"""Of the time that is left, what a single size may be expected to take."""


def go_on(tally: Tally, seconds: float) -> Hunt:
    """Try sizes that the manifest does not have, until one fails or the time is over.

    What counts is kept in the tally: sizes that reach other code, and the smallest that fails.

    Args:
        tally: of the manifest's sizes, all of which hold.
        seconds: for how long.
    """
    return _Hunt(tally, seconds).run()


def with_hunted(case: KernelCase, hunt: Hunt) -> KernelCase:
    """The kernel with what a hunt proposes."""
    return Trial(case.sizes[0], hunt.bears, hunt.seed).of(with_sizes(case, hunt.sizes))


def with_sizes(case: KernelCase, more: Sequence[Sizes]) -> KernelCase:
    """The kernel with sizes more, behind those that it has."""
    return replace(
        case, sizes=(*case.sizes, *(size for size in more if dict(size) not in map(dict, case.sizes)))
    )


class Trial(Struct, frozen=True):
    """What is tried: a size, and what its values are, where they are not those of the manifest.

    Attributes:
        sizes: the size.
        bears: a kind of inputs that are not usual; "" for none.
        seed: another one than the manifest's; None for that.
    """

    sizes: Sizes
    bears: str = ""
    seed: int | None = None

    @property
    def key(self) -> object:
        """Equal for what is the same."""
        return tuple(self.sizes.items()), self.bears, self.seed

    def of(self, case: KernelCase) -> KernelCase:
        """The kernel as it is to be tried."""
        return replace(
            case,
            bears=(self.bears,) if self.bears else case.bears,
            seed=case.seed if self.seed is None else self.seed,
        )


class _Hunt:
    """The state of a search."""

    def __init__(self, tally: Tally, seconds: float) -> None:
        self.tally, self.seconds = tally, seconds
        self.start = time.monotonic()
        self.end = self.start + seconds
        self.known = {Trial(sizes).key for sizes in tally.case.sizes}
        self.kept: list[Sizes] = []
        self.reached = _reached(tally.covered())
        self.tried = self.values = self.seeds = self.undecided = 0
        self.rate = 0.0  # seconds an element of the index space, at the size that cost most of them

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def run(self) -> Hunt:
        case = self.tally.case
        failed: tuple[Outcome, Trial] | None = None
        for trial in (
            ()
            if any(one.broken(case) or one.endless for one in self.tally.outcomes)
            else trials(case, self.kept, _numbers(self.tally.covered()))
        ):
            if self.left <= 0:
                break
            outcome = self._try(trial)
            if outcome is not None and outcome.broken(case):
                failed = self._smallest(outcome, trial), trial
                break
            if outcome is not None and trial == Trial(trial.sizes) and self._is_new(outcome):
                self._keep(outcome)
        if failed is not None:
            self._keep(failed[0])
        spent = time.monotonic() - self.start
        found = Hunt(self.tried, self.undecided, spent, tuple(self.kept), False, self.values, self.seeds)
        if failed is None:
            return found
        return replace(found, fails=True, bears=failed[1].bears, seed=failed[1].seed)

    def _keep(self, outcome: Outcome) -> None:
        self.tally.keep(outcome)
        self.kept.append(outcome.sizes)
        self.reached = _reached(self.tally.covered())

    def _try(self, trial: Trial) -> Outcome | None:
        """What the checks say of it; None where it was tried before, costs too much or cannot be launched."""
        volume = prod(trial.sizes.values())
        checks = [one for one in self.tally.active if not trial.bears or one.name == numerics.NAME]
        if not checks or trial.key in self.known or self.rate * volume > _SHARE * max(self.left, 0):
            return None
        self.known.add(trial.key)
        begun = time.monotonic()
        try:
            outcome = self.tally.of(trial.of(self.tally.case), checks).at(trial.sizes)
        except (ProbeError, MemoryError):
            return None
        self.tally.shun(outcome)
        self.tried += trial == Trial(trial.sizes)
        self.values += bool(trial.bears)
        self.seeds += trial.seed is not None
        self.rate = max(self.rate * 0.5, (time.monotonic() - begun) / volume if volume >= _MANY else 0)
        self.undecided += any(result.status == "undecided" for result in outcome.results.values())
        return outcome

    def _is_new(self, outcome: Outcome) -> bool:
        """Whether code ran that had not, or went ways that it had not gone; what is undecided tells nothing."""
        if any(result.status == "undecided" for result in outcome.results.values()):
            return False
        return _reached(self.tally.covered_with(outcome)) > self.reached

    def _smallest(self, outcome: Outcome, trial: Trial) -> Outcome:
        """Of the sizes that break the same rules, one of which no extent can be made smaller, if there is time."""
        case, rules, best, tries = self.tally.case, outcome.broken(self.tally.case), outcome, 0
        self.end = max(self.end, time.monotonic() + _LATE * self.seconds)

        def fails(sizes: Sizes) -> bool:
            nonlocal best, tries
            less = replace(trial, sizes=sizes)
            tries += less.key not in self.known
            found = self._try(less) if self.left > 0 and tries <= _SHRINKS else None
            if found is None or not rules & found.broken(case):
                return False
            best = found
            return True

        before: Sizes | None = None
        while before != best.sizes:
            before = best.sizes
            for name in sorted(before, key=lambda name: -before[name]):
                least_of(name, best.sizes, case, fails)
        return best


_MANY = 4096
"""Elements of the index space from which on the time for a size grows with them."""


def _reached(covered: CodeCoverage | None) -> tuple[int, int, int]:
    """How much of the code ran: larger is more."""
    if covered is None:
        return (0, 0, 0)
    lacking = sum(bool(loop.wanted) for loop in covered.loops) + len(covered.untried)
    return (covered.blocks_run, covered.ways_gone, -lacking)


def _numbers(covered: CodeCoverage | None) -> tuple[int, ...]:
    """Numbers in the code that no listed size is beyond; those of a few elements are edges anyway."""
    return () if covered is None else tuple(n for n in covered.numbers if _FEW < n <= _FAR)[:_TOLD]


def trials(case: KernelCase, kept: list[Sizes], numbers: Sequence[int] = ()) -> Iterator[Trial]:
    """What to try: sizes, if there are any, and between them values, without end.

    Args:
        case: the kernel.
        kept: sizes that have reached other code; values are tried there, too. It may grow meanwhile.
        numbers: extents are compared with them.
    """
    sizes = map(Trial, candidates(case, kept, numbers)) if case.sizes[0] else iter(())
    values, seeds = _values(case), _seeds(case, kept)
    while True:
        yield from chain(islice(sizes, _SIZES), islice(values, 1), islice(seeds, 1))


def _values(case: KernelCase) -> Iterator[Trial]:
    """Each kind of inputs that are not usual, at the smallest size and then at the largest; none, where the manifest
    says what the kernel bears."""
    if case.bears is not None:
        return
    listed = sorted(case.sizes, key=lambda sizes: prod(sizes.values()))
    kinds = list(kinds_for(inputs_of(bind(case, listed[0])), hunted=True))
    for sizes in [listed[0], *listed[1:][-1:]]:
        yield from (Trial(sizes, bears=kind) for kind in kinds)


def _seeds(case: KernelCase, kept: list[Sizes]) -> Iterator[Trial]:
    """Other seeds, size by size."""
    for number in count(1):
        where = [*case.sizes, *kept]
        yield Trial(where[number % len(where)], seed=case.seed + number)


# Sizes


def candidates(case: KernelCase, kept: list[Sizes], numbers: Sequence[int] = ()) -> Iterator[Sizes]:
    """Sizes to try, without end: beyond numbers in the code, edges of one extent at a time, then of all, then
    mixtures that grow.

    Args:
        case: the kernel.
        kept: sizes that have reached other code; mixtures begin there, as well. It may grow meanwhile.
        numbers: extents are compared with them.
    """
    steps = _steps(case)
    listed = {name: list(_extents(name, step, case)) for name, step in steps.items()}
    small = {name: _whole(name, step, case) for name, step in steps.items()}
    first = (
        {**small, name: extents[at]}
        for at in range(max(map(len, listed.values())))
        for name, extents in listed.items()
        if at < len(extents)
    )
    together = ({name: e[at % len(e)] for name, e in listed.items()} for at in range(8))
    beyond = (
        {**small, name: _whole(name, number + 1, case)} for number in numbers for name in list(steps)[::-1]
    )
    return chain(
        islice(first, 3),
        beyond,
        islice(first, 9),
        together,
        first,
        _mixtures(listed, small, steps, kept, case),
    )


def _mixtures(
    listed: dict[str, list[int]], small: Sizes, steps: Sizes, kept: list[Sizes], case: KernelCase
) -> Iterator[Sizes]:
    chance = Random(case.seed)
    while True:
        base = chance.choice([small, *kept])
        some = {name: chance.choice(listed[name]) for name in steps if chance.random() < 0.6}
        far = chance.choice(list(steps))
        if chance.random() < 0.3:
            some[far] = _whole(far, steps[far] * chance.randrange(1, 12) + chance.randrange(-1, 2), case)
        yield {name: some.get(name, base[name]) for name in steps}


def _steps(case: KernelCase) -> Sizes:
    """How far it is from one edge to the next: the tile's extent, or the smallest that is listed."""
    return {name: case.tile.get(name) or min(size[name] for size in case.sizes) for name in case.sizes[0]}


def _extents(name: str, step: int, case: KernelCase) -> Iterator[int]:
    """Extents of one name, those at which most bugs show first, each once."""
    edges = (
        step + 1,
        2 * step,
        1,
        step - 1,
        2 * step + 1,
        3 * step,
        2 * step - 1,
        4 * step,
        8 * step + 1,
        step + step // 2,
    )
    more = (5 * step, 8 * step, 3 * step + 1, 6 * step, 4 * step - 1, 7 * step, 16 * step + 1)
    seen = set[int]()
    for value in (*edges, *_PRIMES, *more):
        extent = _whole(name, value, case)
        if extent not in seen:
            seen.add(extent)
            yield extent


def _whole(name: str, value: int, case: KernelCase) -> int:
    """The next extent that the kernel is meant for."""
    step = case.multiple.get(name, 1)
    return max(1, -(-value // step)) * step


def least_of(name: str, sizes: Sizes, case: KernelCase, fails: Callable[[Sizes], bool]) -> int:
    """A value of one extent with which a size still fails, and with less of it no more, as far as was tried.

    Much less is tried first, and then what halves the way from what holds to what fails.

    Args:
        name: of the extent.
        sizes: a size that fails.
        case: the kernel.
        fails: whether a size does.
    """
    step, low, high = case.multiple.get(name, 1), 0, sizes[name]
    parts = {_whole(name, value, case) for value in (1, high // 8, high // 4, high // 2, high * 3 // 4)}
    for less in sorted({*parts, high - 16 * step, high - 4 * step, high - step}):
        if 0 < less < high:
            if fails({**sizes, name: less}):
                high = less
                break
            low = less
    while high - low > step:
        middle = low + (high - low) // (2 * step) * step
        low, high = (low, middle) if fails({**sizes, name: middle}) else (middle, high)
    return high
