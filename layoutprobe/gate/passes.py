"""Looks for a size at which a loop goes round as often as at none before, where those that ran do not tell which.

One extent is moved at a time, in launches that are watched for where waves go and for nothing else. Where none shows
it, how passes went along with the extent says whether any could: those over a remainder go up and down, what is
bounded grows no more, and what is left by a comparison of the same numbers at all sizes is no matter of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.errors import ExecutionError, ProbeError
from layoutprobe.gate.tally import Tally
from layoutprobe.gate.watching import Astray
from layoutprobe.machine.observer import Observer
from layoutprobe.manifest.model import Sizes
from layoutprobe.observe.coverage import CoverageRecorder
from layoutprobe.observe.loop_tests import LoopTestRecorder, LoopTests
from layoutprobe.report.coverage import AGAIN, CLASSES, Loop, shows
from layoutprobe.trace.subject import RunSpec

_FARTHEST, _APART = 4096, 8
"""An extent is moved up to the first, by factors of the second."""
_LAUNCHES = 96
"""So many are made for a kernel."""
_GROUPS, _BYTES, _ISSUED = 64, 1 << 24, 200_000
"""Workgroups of a launch, bytes of its buffers, and instructions that it may issue."""
_ROUNDS = 256
"""Where all loops together go round so often, larger launches would be dear."""
_GROWN = 8
"""What would grow does so within so many times the extent."""
_PERIOD = 64
"""Steps of an extent within which remainders begin anew."""


class Went(Struct, frozen=True):
    """Where waves went in one launch.

    Attributes:
        passes: header of a loop -> how often waves went round.
        whole: the launch came to its end; else what it shows counts, and what it does not show tells nothing.
    """

    passes: Mapping[int, frozenset[int]]
    whole: bool = True


class Sought(Struct, frozen=True):
    """What came of looking for one number of passes.

    Attributes:
        shown: a size that shows it.
        never: none does, as far as passes went along with the extents.
        reach: the largest extents that were tried, each alone; empty where the search was cut short.
    """

    shown: Sizes | None = None
    never: bool = False
    reach: Sizes | None = None


class Passes:
    """How often loops go round at sizes that are launched for their sake."""

    def __init__(
        self,
        listed: Sequence[Sizes],
        steps: Sizes,
        launch: Callable[[Sizes], Went | None],
        tests: Callable[[Sizes], LoopTests | None],
        ruled_out: Callable[[Sizes], bool],
    ) -> None:
        """A search.

        Args:
            listed: sizes of the manifest.
            steps: extents are multiples of these.
            launch: how often loops go round at a size; None where that is not to be known.
            tests: what loops are left by at a size; None where that is not to be known.
            ruled_out: the manifest does not let a size pass.
        """
        self.steps, self._launch, self.ruled_out = steps, launch, ruled_out
        self._tests = cache(lambda values: tests(dict(zip(steps, values, strict=True))))
        listed = sorted(listed, key=lambda sizes: prod(sizes.values()))
        self.bases: Sequence[Sizes] = [self._least(listed[0]), *listed]
        # Those that vary in the manifest come first: the kernel is meant to bear that.
        self.names = sorted(steps, key=lambda name: len({sizes[name] for sizes in listed}) == 1)
        self._known: dict[tuple[int, ...], Went | None] = {}

    def _least(self, sizes: Sizes) -> Sizes:
        """The smallest that the manifest lets pass, one extent after the other."""
        least = dict(sizes)
        for name, step in self.steps.items():
            low, high = 0, sizes[name] // step
            while high - low > 1:
                middle = (low + high) // 2
                refused = self.ruled_out({**least, name: middle * step})
                low, high = (middle, high) if refused else (low, middle)
            least[name] = high * step
        return least

    def look(self, loop: Loop, wanted: str, hints: Sequence[Sizes]) -> Sought:
        """Look for a size with that number of passes, first among `hints`."""
        header = loop.pcs[0]
        found = next((sizes for sizes in hints if shows(self.of(header, sizes) or (), wanted)), None)
        base = next((one for one in self.bases if self.of(header, one)), None)
        if found is not None or base is None:
            return Sought(found)
        ways = []
        for name in self.names:
            way = _Way(self, header, base, name)
            if (value := way.showing(wanted)) is not None:
                return Sought({**base, name: value})
            ways.append(way)
        if len(self._known) >= _LAUNCHES:
            return Sought()
        never = all(went is None or went.whole for went in self._known.values())
        if wanted in CLASSES[:-1]:  # fewer than were seen; the least of all extents have the fewest
            never &= base == self.bases[0] and any(way.leaps(wanted) for way in ways)
        else:
            never &= any(way.is_bounded() for way in ways)
        never |= self._is_fixed(header, [way for way in ways if not way.ended])
        return Sought(None, never, {way.name: way.reach for way in ways})

    def _is_fixed(self, header: int, ways: Sequence[_Way]) -> bool:
        """It goes round equally often wherever extents were moved to, and is left by the same comparison; of no
        extents: there is no farther to move."""
        if not ways:
            return True
        if len({passes for way in ways for passes in way.seen.values() if passes}) > 1:
            return False
        found = [
            self._tests(tuple(sizes[name] for name in self.steps)) for way in ways for sizes in way.ends()
        ]
        pairs = {None if one is None else one.pairs.get(header) for one in found}
        return len(pairs) == 1 and None not in pairs

    def of(self, header: int, sizes: Sizes) -> frozenset[int] | None:
        """Passes of a loop, none where no wave enters it; None where the size cannot be launched."""
        went = self.at(sizes)
        return None if went is None else went.passes.get(header, frozenset())

    def at(self, sizes: Sizes) -> Went | None:
        """Where waves go at a size; None where it cannot be launched, or costs too much."""
        key = tuple(sizes[name] for name in self.steps)
        if key not in self._known:
            if len(self._known) >= _LAUNCHES:
                return None
            self._known[key] = self._launch(sizes)
        return self._known[key]


class _Way:
    """Passes of a loop while one extent is moved, which is counted in steps here."""

    def __init__(self, passes: Passes, header: int, base: Sizes, name: str) -> None:
        self.passes, self.header, self.base, self.name = passes, header, base, name
        self.step = passes.steps[name]
        self.seen: dict[int, frozenset[int]] = {}
        own = base[name] // self.step
        self.low = own - 1 if base == passes.bases[0] else 0  # the manifest lets nothing pass up to it
        self.end = 0  # the largest that the manifest lets pass; 0 for no end
        for far in sorted({own, *_powers(self.step)}):
            if passes.ruled_out(self._sizes(far)):
                if far < own:
                    continue
                self.end = far = self._last_allowed(far)
            went = passes.at(self._sizes(far))
            if went is None:
                break
            self._at(far)
            if self.end or sum(map(_most, went.passes.values())) > _ROUNDS:
                break
        top = max(self.seen, default=0)
        # Before a multiple of many numbers what is left of them is largest, whichever of them divides.
        self._at_all(top // _PERIOD * 45 - 1, top - 1)
        if len(set(self.seen.values())) > 1:
            self._at_all(2, 3, 7, 15, 31, 63, top // 2)

    @property
    def reach(self) -> int:
        """The largest extent that was tried."""
        return max(self.seen, default=1) * self.step

    @property
    def ended(self) -> bool:
        """The largest extent that the manifest lets pass was tried."""
        return max(self.seen, default=0) == self.end > 0

    def showing(self, wanted: str) -> int | None:
        """The smallest extent known that shows a number of passes; None where none does."""
        self._first(_least(wanted))
        return next((at * self.step for at in sorted(self.seen) if shows(self.seen[at], wanted)), None)

    def leaps(self, wanted: str) -> bool:
        """Whether passes go beyond a number that they never are."""
        return self._first(_least(wanted)) is not None and self.showing(wanted) is None

    def is_bounded(self) -> bool:
        """The extent governs the loop, and lets it go round no more often than it was seen to."""
        top = max(self.seen, default=0)
        if top < _PERIOD and not self.ended:
            return False
        went = [_most(self.seen[at]) for at in sorted(self.seen)]
        risen = list(accumulate(went, max))
        if any(
            before < most and before < after
            for most, (before, after) in zip(risen, pairwise(went), strict=False)
        ):
            return True  # down and up again: over a remainder
        most = max(went, default=0)
        first = self._first(most) if most > 1 else None
        if first is None or not 0 < min(went) < most:
            return False
        return self.ended or first * _GROWN <= top

    def ends(self) -> Iterator[Sizes]:
        """The least and the largest size at which a wave entered the loop."""
        entered = sorted(at for at, passes in self.seen.items() if passes)
        yield from (self._sizes(at) for at in {*entered[:1], *entered[-1:]})

    def _last_allowed(self, high: int) -> int:
        """The largest extent below one that the manifest rules out, found by halving."""
        low = max(self.seen)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.passes.ruled_out(self._sizes(middle)) else (middle, high)
        return low

    def _first(self, least: int) -> int | None:
        """The extent from which on passes are at least so many, found by halving; None where they never are, or
        that is not to be known."""
        high = next((at for at in sorted(self.seen) if _most(self.seen[at]) >= least), None)
        if high is None:
            return None
        low = max((at for at in self.seen if at < high), default=self.low)
        while high - low > 1:
            middle = (low + high) // 2
            if (found := self._at(middle)) is None:
                return None
            low, high = (low, middle) if _most(found) >= least else (middle, high)
        return high

    def _at_all(self, *values: int) -> None:
        for value in values:
            if value > 0:
                self._at(value)

    def _at(self, value: int) -> frozenset[int] | None:
        found = self.passes.of(self.header, self._sizes(value))
        if found is not None:
            self.seen[value] = found
        return found

    def _sizes(self, value: int) -> Sizes:
        return {**self.base, self.name: value * self.step}


def _least(wanted: str) -> int:
    return 2 if wanted == AGAIN else CLASSES.index(wanted) + 1


def _most(passes: frozenset[int]) -> int:
    return max(passes, default=0)


def _powers(step: int) -> Sequence[int]:
    found = [1]
    while found[-1] < _PERIOD or found[-1] * _APART * step <= _FARTHEST:
        found.append(found[-1] * _APART)
    return found


def launched(quick: Tally, sizes: Sizes) -> Went | None:
    """Where waves go at a size; None where it cannot be launched, or costs too much.

    Args:
        quick: of the kernel, for no check.
        sizes: the size.
    """
    seen = CoverageRecorder()
    whole = _watched(quick, sizes, seen)
    record = None if whole is None else seen.record()
    return None if record is None or whole is None else Went(record.passes, whole)


def tested(quick: Tally, sizes: Sizes) -> LoopTests | None:
    """What loops are left by at a size, where its launch comes to its end; see `launched`."""
    seen = LoopTestRecorder()
    return seen.record() if _watched(quick, sizes, seen) else None


def _watched(quick: Tally, sizes: Sizes, seen: Observer) -> bool | None:
    """Whether a launch comes to its end; None where it cannot be launched, or costs too much."""
    try:
        _, runner = quick.subject(sizes)
        binding = runner.binding
        if prod(binding.grid) > _GROUPS or binding.nbytes > _BYTES:
            return None
        ready = runner.prepared(RunSpec("integers", ()))
        if ready.failed is not None:
            return None
        launch = replace(ready.launch, budget=_ISSUED, watched=frozenset[int]())
        quick.backend.run(launch, [Astray(), seen])
    except ExecutionError as fault:
        return None if fault.kind in ("budget", "time") else False
    except (ProbeError, MemoryError):
        return None
    return True
