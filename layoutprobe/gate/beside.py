"""Sizes beside those of the manifest, at which a glance is taken: the smallest, a larger and ragged one, some between
that are unlike all of them, one that has not the divisor which all of the manifest have, and those at which loops go
round as often as at no other. And a larger block, where the kernel asks how large it is.

Of most nobody says that the kernel must bear them, so what goes wrong there is no finding; the headline tells it. One
that the manifest means without listing it is told apart (`gate.meant`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from math import gcd, prod

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.errors import ProbeError
from layoutprobe.gate.between import between
from layoutprobe.gate.blocks import other_block
from layoutprobe.gate.meant import Meant
from layoutprobe.gate.passes import Passes, Sought, launched, tested
from layoutprobe.gate.sweep import QUICK, swept
from layoutprobe.gate.tally import Outcome, Tally
from layoutprobe.manifest.model import Gemm, Sizes, size_title
from layoutprobe.manifest.reservations import is_ruled_out, steps_of
from layoutprobe.report.coverage import AGAIN, CLASSES, CodeCoverage, Loop
from layoutprobe.report.gate import Unlisted

_CHECKS = ("numerics", "memory")
"""What they need is little."""
_RACES = ("races",)
"""To follow who meets whom takes more, and is done where that is little, too."""
_MET = 1 << 20
"""No size is larger at which it is."""
_VOLUME = 1 << 24
"""What is looked at is no larger."""
_SMALL = 1 << 14
"""What launches have found is tried if it is no larger, however small those of the manifest are."""
_REACH = 1 << 16
"""No manifest says of a larger extent that it is the largest."""
_BETWEEN = 3
"""Sizes between those of the manifest that are tried."""
_MORE = 2
"""Sizes that are tried for the sake of loops."""
_FOUND = 3
"""And of those that were looked for by launches."""
_DRAWN, _SWEPT = 128, 32
"""Small sizes, and of how many that the manifest lets pass one run is made."""
_LITTLE = 1 << 23
"""All of them together are no larger, or half of what the manifest lists."""
_ENDLESS = 1 << 62
"""A step that no extent reaches twice."""


class Glance(Struct, frozen=True):
    """What came of it.

    Attributes:
        covered: what of the code ran, where loops and values that are selected count at these sizes, too; code does
            not, as checks of races and waits have not looked at it. None where nothing ran.
        wrong: what goes wrong.
        meant: a size that goes wrong, and that the manifest means; None where there is none.
        uneven: whether all holds at a size that has not the divisor which all of the manifest have in common; None
            where none was tried.
    """

    covered: CodeCoverage | None
    wrong: tuple[Unlisted, ...] = ()
    meant: Sizes | None = None
    uneven: bool | None = None


def glance(tally: Tally) -> Glance:
    """Try some sizes that the manifest does not have.

    Args:
        tally: of the manifest's sizes. It is left as it is.
    """
    return _Glance(tally).result()


class _Glance:
    """The sizes that were tried."""

    def __init__(self, tally: Tally) -> None:
        self.tally, self.case = tally, tally.case
        self.listed = {name: [sizes[name] for sizes in tally.case.sizes] for name in tally.case.sizes[0]}
        self.steps = {
            name: max(gcd(*values), self.case.multiple.get(name, 1)) for name, values in self.listed.items()
        }
        self.largest: list[dict[str, int]] = []  # of which the manifest says that nothing larger comes
        self.known = sum(_volume(sizes) for sizes in tally.case.sizes)
        self.outcomes = [one for one in tally.outcomes if one.coverage is not None]
        self.tried = [dict(sizes) for sizes in tally.case.sizes]
        self.wrong: list[Outcome] = []
        self.covered = len(self.outcomes), tally.covered()  # by so many sizes
        self.says: list[Unlisted] = []
        self.bounds: dict[str, range] = {}
        self.sought: dict[tuple[int, str], Sought] = {}  # header and number of passes
        checks = [check for check in tally.active if check.name in _CHECKS]
        self.possible = len(checks) == len(_CHECKS) and not any(
            one.broken(self.case) or one.endless for one in tally.outcomes
        )
        self.quick = tally.of(tally.case, checks, draw=False)
        safe = [check for check in checks if check.name != QUICK.name]
        self.light = tally.of(tally.case, [QUICK, *safe], draw=False)
        order = [check for check in tally.active if check.name in _RACES]
        self.whole = tally.of(tally.case, [*checks, *order], draw=False)

    def result(self) -> Glance:
        _, covered = self.covered
        if covered is None:
            return Glance(None)
        uneven, meant = None, None
        if self.possible:
            for sizes in self._edges():
                self._try(sizes)
            for _ in range(_BETWEEN):
                unlike = between(self.listed, self.steps, self.tried, partial(is_ruled_out, self.case))
                if unlike is None or self.wrong:
                    break
                self._try(unlike)
            for sizes in self._ends():
                self._try(sizes)
            uneven = self._bears(self._uneven())
            self._sweep(uneven)
            meant = self._meant_one(uneven)
            for _ in range(_MORE):
                if (wanted := next(self._wanted(), None)) is None:
                    break
                self._try(wanted)
            self._look_further()
            self._another_block()
        seen = self._seen()
        return Glance(
            replace(covered, loops=seen.loops, untried=seen.untried), tuple(self.says), meant, uneven
        )

    def _sweep(self, uneven: bool | None) -> None:
        """Many small sizes, each by a single run, until one goes wrong. An extent that nobody asks to be a multiple
        of anything is none, unless such a size went wrong."""
        steps = self._steps_asked({} if uneven else steps_of(self.case))
        room, left = max(map(_volume, self.case.sizes)), max(self.known // 2, _LITTLE)
        drawn = (sizes for sizes in islice(swept(self.listed, steps), _DRAWN) if _volume(sizes) <= room)
        asked = (sizes for sizes in drawn if not is_ruled_out(self.case, sizes))
        for sizes in islice(asked, _SWEPT):
            left -= _volume(sizes)
            if self.wrong or left < 0:
                return
            self._try(sizes, by=self.light)

    def _steps_asked(self, besides: Mapping[str, int]) -> dict[str, int]:
        """Of what extents have to be multiples: what the manifest says, or what is said besides."""
        return {name: besides.get(name, self.case.multiple.get(name, 1)) for name in self.listed}

    def _meant_one(self, uneven: bool | None) -> Sizes | None:
        """Where something goes wrong: a size at which it does so, too, and that the manifest means. The divisor that
        all listed extents have is not needed where a size without it holds."""
        steps = self._steps_asked({}) if uneven else self.steps
        apart = frozenset("MNK" if isinstance(self.case.contract, Gemm) else "")
        found = self._first_meant(Meant(self.case.sizes, steps, apart, partial(is_ruled_out, self.case)))
        if found is not None:
            told = f"{size_title(found.sizes)} goes wrong: it is not listed, but like sizes that are"
            self.says = [Unlisted(told, min(found.broken(self.case)))]
        return found.sizes if found is not None else None

    def _first_meant(self, meant: Meant) -> Outcome | None:
        for outcome in self.wrong:
            if (meant(outcome.sizes) or dict(outcome.sizes) in self.largest) and self._is_sure(outcome):
                return outcome
        raced = any(rule.partition("/")[0] in _RACES for one in self.wrong for rule in one.broken(self.case))
        by, left = self.whole if raced else self.light, max(self.known // 2, _LITTLE)
        for sizes in islice(meant.alone() if self.wrong else (), _DRAWN):
            left -= _volume(sizes)
            if left < 0:
                return None
            self._try(sizes, by=by)
            if dict(self.wrong[-1].sizes) == sizes and self._is_sure(self.wrong[-1]):
                return self.wrong[-1]
        return None

    def _is_sure(self, outcome: Outcome) -> bool:
        """Whether it is no matter of rounding."""
        rules = outcome.broken(self.case)
        return any(not rule.startswith(f"{QUICK.name}/") for rule in rules) or bool(
            self.light.at(outcome.sizes).broken(self.case)
        )

    def _another_block(self) -> None:
        """Half as many waves again, at the largest size that costs little, where the kernel asks how many it has."""
        other = other_block(self.case, self.tally.built.kernel, self.tally.load_insts())
        little = [sizes for sizes in self.case.sizes if _volume(sizes) <= _VOLUME]
        if other is None or not little or self.wrong:
            return
        try:
            outcome = self.tally.of(other, self.quick.checks, draw=False).at(max(little, key=_volume))
        except (ProbeError, MemoryError):
            return
        if rules := sorted(outcome.broken(self.case)):
            block = f"a block of {other.block[0].text}, which no size has"
            self.says.append(Unlisted(f"goes wrong with {block}: {rules[0]}", rules[0]))

    def _edges(self) -> Iterator[Sizes]:
        """The smallest size that is like those of the manifest, and one that is larger and ragged.

        Extents keep the divisor that all of the manifest have in common, and those that never vary. Those that are
        equal in every size of the manifest are not so in the larger one.
        """
        for factor in (0, 1):
            sizes: dict[str, int] = {}
            for name, values in self.listed.items():
                alike = factor * sum(self.listed[other] == values for other in sizes)
                step = self.steps[name]
                varies = len(set(values)) > 1
                sizes[name] = (factor * max(values) // step + 1 + alike) * step if varies else values[0]
            yield sizes

    def _ends(self) -> Iterator[Sizes]:
        """One extent alone as small as can be, and as large as the manifest says that it may be."""
        small = min(self.case.sizes, key=lambda listed: prod(listed.values()))
        for name, values in self.listed.items():
            if len(set(values)) == 1 or self.wrong:
                continue
            yield {**small, name: self.steps[name]}
            if (most := self._most(small, name)) is not None:
                self.largest.append({**small, name: most})
                yield self.largest[-1]

    def _most(self, small: Sizes, name: str) -> int | None:
        """The largest value of an extent, where the manifest states one that none of its sizes has."""
        step = self.steps[name]
        larger = range(max(self.listed[name]) // step * step + step, _REACH + 1, step)
        let_pass = bisect_left(
            larger, True, key=lambda value: is_ruled_out(self.case, {**small, name: value})
        )
        return larger[let_pass - 1] if 0 < let_pass < len(larger) else None

    def _uneven(self) -> Sizes:
        """A small size of which no extent has the divisor that it has at all others, and for which nobody asks."""
        steps = steps_of(self.case)
        return {
            name: steps[name] + 1
            if name in steps
            else values[0]
            if len(set(values)) == 1
            else self.steps[name]
            for name, values in self.listed.items()
        }

    def _bears(self, sizes: Sizes) -> bool | None:
        """Whether all holds at a size; None where that is not known. It may need the divisor."""
        outcome = self._at(sizes)
        if outcome is not None and outcome.broken(self.case):
            return False
        if outcome is None or not all(
            result.status in ("holds", "skipped") for result in outcome.results.values()
        ):
            return None
        self.outcomes.append(outcome)
        return True

    def _try(self, sizes: Sizes, most: int = 0, by: Tally | None = None) -> None:
        """Let a size count, unless it is known or costs too much; see `_at`."""
        outcome = self._at(sizes, most, by)
        if outcome is None:
            return
        if rules := sorted(outcome.broken(self.case)):
            self.wrong.append(outcome)
            self.says.append(Unlisted(self._in_words(sizes, rules[0]), rules[0]))
        elif not self.case.judged_by:  # else nothing is said of its values here
            self.outcomes.append(outcome)

    def _at(self, sizes: Sizes, most: int = 0, by: Tally | None = None) -> Outcome | None:
        """What comes of a size that is not much larger than all of the manifest, or no larger than `most`. `by`: what
        is asked, where that is not all."""
        if dict(sizes) in self.tried or _volume(sizes) > min(_VOLUME, max(2 * self.known, most)):
            return None
        self.tried.append(dict(sizes))
        try:
            outcome = (by or (self.whole if _volume(sizes) <= _MET else self.quick)).at(sizes)
        except (ProbeError, MemoryError):
            return None
        for tally in (self.light, self.quick, self.whole):
            tally.shun(outcome)
        return outcome if outcome.coverage is not None else None

    def _in_words(self, sizes: Sizes, rule: str) -> str:
        """What goes wrong at a size; which extent is beyond what the kernel bears, where one alone does it."""
        small = min(self.case.sizes, key=lambda listed: prod(listed.values()))
        for name, values in self.listed.items():
            least, most = min(values), max(values)
            if least <= sizes[name] <= most:
                continue
            alone = {**small, name: sizes[name]}
            outcome = None if alone == dict(sizes) else self._at(alone)
            if alone == dict(sizes) or (outcome is not None and rule in outcome.broken(self.case)):
                self.bounds[name] = range(least, most + 1)
                end = f"above {name} = {most}" if sizes[name] > most else f"below {name} = {least}"
                return f"goes wrong {end}: {rule} at {size_title(alone)}, which is not listed"
        return f"goes wrong at {size_title(sizes)}, which is not listed: {rule}"

    # What loops lack

    def _seen(self) -> CodeCoverage:
        """What all sizes together show; of loops also which size would show what they lack."""
        sizes = *self.outcomes, *self.wrong
        if len(sizes) != self.covered[0]:
            self.covered = len(sizes), self.tally.covered_with(*sizes)
        _, covered = self.covered
        assert covered is not None
        return replace(covered, loops=tuple(self._judged(loop) for loop in covered.loops))

    def _judged(self, loop: Loop) -> Loop:
        """Without what no size changes, or only one that the kernel does not bear."""
        if loop.wanted != (AGAIN,) and self._is_constant(loop):
            return replace(loop, wanted=())
        hints = {one: self._hints(loop, one) for one in loop.wanted if not self._is_ruled_out(loop, one)}
        left = tuple(one for one, known in hints.items() if not known or any(map(self._is_borne, known)))
        first = [next(filter(self._is_borne, hints[one]), None) for one in left]
        reach = [self._sought(loop, one).reach for one in left]
        return replace(
            loop,
            wanted=left,
            shown_by=" or ".join(self._in_short(sizes) for sizes in first if sizes),
            sought=", ".join(f"{name} = {value}" for name, value in (reach[0] or {}).items()) if left else "",
        )

    def _look_further(self) -> None:
        """Have sizes looked for that show what loops still lack, and try some of them."""
        quick = self.tally.of(self.case, [], draw=False)
        launch, tests = partial(launched, quick), partial(tested, quick)
        passes = Passes(self.case.sizes, self.steps, launch, tests, partial(is_ruled_out, self.case))
        tries = _FOUND
        while (lack := next(self._open(), None)) is not None:
            loop, wanted = lack
            found = passes.look(loop, wanted, self._hints(loop, wanted))
            self.sought[loop.pcs[0], wanted] = found
            if found.shown is not None and tries:
                tries -= 1
                self._try(found.shown, _SMALL)

    def _open(self) -> Iterator[tuple[Loop, str]]:
        """Loops and numbers of passes that they lack, and for which nothing was looked for."""
        for loop in self._seen().loops:
            yield from ((loop, one) for one in loop.wanted if (loop.pcs[0], one) not in self.sought)

    def _sought(self, loop: Loop, wanted: str) -> Sought:
        return self.sought.get((loop.pcs[0], wanted), Sought())

    def _in_short(self, sizes: Sizes) -> str:
        """What of a size is not as in one that is listed: "K = 8", or all of it."""
        ways = [[f"{n} = {v}" for n, v in sizes.items() if listed[n] != v] for listed in self.case.sizes]
        return next((way[0] for way in ways if len(way) == 1), size_title(sizes))

    def _hints(self, loop: Loop, wanted: str) -> list[Sizes]:
        """Sizes that show it, or should: extents like those of the manifest, or else such as it lets pass."""
        if (found := self._sought(loop, wanted)) != Sought():
            return [found.shown] if found.shown else []
        small = self._small(loop)
        leading = list(self._leading(loop, wanted, self.steps)) or list(
            self._leading(loop, wanted, self.case.multiple)
        )
        return [{**small, name: value} for name, value in leading]

    def _small(self, loop: Loop) -> Sizes:
        """The smallest size at which a wave went through it."""
        passed = [one.sizes for one in self.outcomes if one.coverage and loop.pcs[0] in one.coverage.passes]
        return min(passed or self.case.sizes, key=lambda sizes: prod(sizes.values()))

    def _is_ruled_out(self, loop: Loop, wanted: str) -> bool:
        """No size shows it, as far as passes were followed, or only such as the manifest rules out by `multiple`."""
        if self._sought(loop, wanted).never:
            return True
        asked = any(self._leading(loop, wanted, self.case.multiple))
        return not asked and any(self._leading(loop, wanted, {}))

    def _is_constant(self, loop: Loop) -> bool:
        """It goes round equally often at all sizes, though every extent varies that ever does."""
        seen = [one.coverage.passes.get(loop.pcs[0]) for one in self.outcomes if one.coverage is not None]
        passes = [one for one in seen if one]
        return len(passes) > 1 and len(set(passes)) == 1

    def _is_borne(self, sizes: Sizes) -> bool:
        return all(value in self.bounds[name] for name, value in sizes.items() if name in self.bounds)

    def _wanted(self) -> Iterator[Sizes]:
        """Sizes at which a loop goes round as often as at none before."""
        for loop in self._seen().loops:
            small = self._small(loop)
            for wanted in loop.wanted:
                for name, value in self._leading(loop, wanted, self.steps):
                    sizes = {**small, name: value}
                    if self._is_borne(sizes) and sizes not in self.tried:
                        yield sizes

    def _leading(self, loop: Loop, wanted: str, steps: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """Extents with which a loop should go round so often, as far as the sizes that ran tell what governs it; they
        are multiples of these steps."""
        if wanted not in CLASSES:
            return
        points = [
            (one.sizes, max(passes))
            for one in self.outcomes
            if one.coverage is not None and (passes := one.coverage.passes.get(loop.pcs[0]))
        ]
        if len({passes for _, passes in points}) < 2:
            return
        # A step that is a power of two is likelier than another one that fits by chance.
        for whole, less, name in product((True, False), (0, 1, -1), self.listed):
            found = extent_for([(sizes[name], passes + less) for sizes, passes in points], steps.get(name, 1),
                            CLASSES.index(wanted) + 1 + less, whole=whole)  # fmt: skip
            if found is not None:
                yield name, found


def _volume(sizes: Sizes) -> int:
    """Of its three largest extents, as a product has them: what else there is are heads, batches and the like."""
    return prod(sorted(sizes.values())[-3:])


def extent_for(points: Sequence[tuple[int, int]], divisor: int, passes: int, *, whole: bool) -> int | None:
    """An extent with which a loop over it goes round so often; None where it is not over this extent.

    Args:
        points: extents, and how often it went round with each: the extent divided by some step, rounded up or down.
        divisor: of what is found.
        passes: that are wanted.
        whole: the step is a power of two.
    """
    if passes < 1 or any(times < 1 for _, times in points):
        return None
    up = (
        max(-(-extent // times) for extent, times in points),
        min(-(-extent // (times - 1)) - 1 if times > 1 else _ENDLESS for extent, times in points),
    )
    down = (
        max(extent // (times + 1) + 1 for extent, times in points),
        min(extent // times for extent, times in points),
    )
    powers = [(1 << max(least - 1, 0).bit_length(), most) for least, most in (up, down)]
    for step, most in powers if whole else (up, down):
        extent = step * passes // divisor * divisor
        if step <= most and extent and -(-extent // step) == passes:
            return extent
    return None
