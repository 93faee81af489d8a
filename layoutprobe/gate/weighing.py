"""What waves do with a change with which everything holds: how much, and at which lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import cached_property
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.codeobj.inlining import place_of
from layoutprobe.gate.build import Built
from layoutprobe.gate.holding import MORE, Held
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.trying import Trials, as_built
from layoutprobe.place import Place, SourceLine
from layoutprobe.source.statements import Source


def weighed(held: Held, text: str, trials: Trials, built: Built) -> Held:
    """A change with the work that it makes, beside that of the kernel as it is.

    Args:
        held: the change.
        text: the file as it is.
        trials: of the kernel.
        built: what the change compiles to, with lines.
    """
    at = trials.most
    held = replace(held, longer=at.is_much_longer(*as_built(built)))
    work = at.work_with(*as_built(built))
    if work is None:
        return held
    usual, changed = Ran(at.runner.built, at.work.accesses), Ran(built, work.accesses)
    idle = None if at.unseen else left_out(held.edit, text, usual, changed)
    fewer = idle is not None and len(usual.accesses) - len(changed.accesses) >= usual.often(idle)
    whole = at.with_before(work, built.before)
    more = not at.unseen and whole.all > MORE * at.whole_work.all
    return replace(held, work=whole.all, longest=whole.longest, idle=idle, fewer=fewer, more=more)


class Ran(Struct, frozen=True, dict=True):
    """What a launch executed.

    Attributes:
        built: the kernel.
        accesses: addresses of loads and stores that some wave executed.
    """

    built: Built
    accesses: Collection[int]

    @cached_property
    def places(self) -> list[Place]:
        """Of them, in the order of the code."""
        return [place_of(self.built.code, self.built.kernel, pc) for pc in sorted(self.accesses)]

    @property
    def nowhere(self) -> int:
        """How many of them have no line of their own: a compiler has made one of several."""
        return sum(place.near or place.source is None for place in self.places)

    def often(self, line: SourceLine) -> int:
        """How many of them a line has, or what it calls."""
        wanted = line.file, line.line
        return sum(any((one.file, one.line) == wanted for one in _way(place)) for place in self.places)

    @property
    def lines(self) -> dict[Path, tuple[SourceLine, ...]]:
        """Lines of them, each with those through which it came into the kernel."""
        ways = (_way(place) for place in self.places if place.source is not None and not place.near)
        return {tuple((one.file.rpartition("/")[2], one.line) for one in way): way for way in ways}


def _way(place: Place) -> tuple[SourceLine, ...]:
    """A line, and those through which it came into the kernel, as far as they are known."""
    lines = (place.source, *(call.source for call in place.inlined_at))
    return tuple(line for line in lines if line is not None)


def _goes_along(source: Source, line: int, other: int) -> bool:
    """Whether two lines are always executed together: they stand in the same block, and neither is in a branch."""
    at, there = (source.token_at(source.offset(n, 1)) for n in (line, other))
    heads = {source.tokens[source.around(i).start].text for i in (at, there)}
    return source.block_around(at) == source.block_around(there) and heads.isdisjoint(_HEADS)


_HEADS = ("if", "else", "for", "while", "do", "switch", "case", "default")
Path = tuple[tuple[str, int], ...]
"""Files and lines, the innermost first."""


def left_out(edit: SourceEdit, text: str, usual: Ran, changed: Ran) -> SourceLine | None:
    """A line that has loads or stores which are executed in the kernel as it is, and none of them with a change; but
    for lines that are changed. Such a change has other code do what this should: a loop for what is left over, the
    work of an unrolled one before it.

    Args:
        edit: the change.
        text: the file as it is.
        usual, changed: what is executed.
    """
    rewrite, name = edit.rewrite, edit.file.name
    first, last = (text.count("\n", 0, at) + 1 for at in (rewrite.start, rewrite.end))
    more = rewrite.apply(text).count("\n") - text.count("\n")

    def moved(file: str, line: int) -> tuple[str, int]:
        return file, line - more if file == name and line > last else line

    still = {tuple(moved(*line) for line in path) for path in changed.lines}
    source, run = Source(text), {n for path in still for f, n in path[:1] if f == name}
    idle = [
        way
        for path, way in usual.lines.items()
        if path not in still
        and not any(f == name and first <= n <= last for f, n in path)
        and not (path[0][0] == name and any(_goes_along(source, path[0][1], n) for n in run))
    ]
    if len(idle) <= changed.nowhere - usual.nowhere:  # all may be executed, and have lost their lines
        return None
    # Some may have lost theirs all the same: the one that most of them have is idle.
    often = Counter(
        line
        for way in idle
        for line in way
        if (line.file.rpartition("/")[2], line.line) not in {*chain(*still)}
    )
    return next((replace(line, column=None) for line, _ in often.most_common(1)), None)
