"""What waves do with a change with which everything holds: how much, and at which lines."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.codeobj.inlining import place_of
from layoutprobe.gate.build import Built
from layoutprobe.gate.holding import MORE, Held
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.trying import Trials, as_built


def weighed(held: Held, text: str, trials: Trials, built: Built) -> Held:
    """A change with the work that it makes, beside that of the kernel as it is.

    Args:
        held: the change.
        text: the file as it is.
        trials: of the kernel.
        built: what the change compiles to, with lines.
    """
    first = trials.first
    held = replace(held, longer=trials.is_much_longer(*as_built(built)))
    work = first.work_with(*as_built(built))
    if work is None:
        return held
    idle = not first.unseen and leaves_out(
        held.edit, text, Ran(first.runner.built, first.work.accesses), Ran(built, work.accesses)
    )
    whole = first.with_before(work, built.before)
    more = not first.unseen and whole.all > MORE * first.whole_work.all
    return replace(held, work=whole.all, longest=whole.longest, idle=idle, more=more)


class Ran(Struct, frozen=True):
    """What a launch executed.

    Attributes:
        built: the kernel.
        accesses: addresses of loads and stores that some wave executed.
    """

    built: Built
    accesses: Collection[int]

    @property
    def lines(self) -> frozenset[tuple[tuple[str, int], ...]]:
        """Lines of them, each with those through which it came into the kernel."""
        code, kernel = self.built.code, self.built.kernel
        places = [place_of(code, kernel, pc) for pc in self.accesses]
        paths = [
            (place.source, *(call.source for call in place.inlined_at))
            for place in places
            if place.source is not None and not place.near
        ]
        return frozenset(tuple((one.file.rpartition("/")[2], one.line) for one in path) for path in paths)


def leaves_out(edit: SourceEdit, text: str, usual: Ran, changed: Ran) -> bool:
    """Whether some line has loads or stores that are executed in the kernel as it is, and none of them with a change;
    but for lines that are changed. Such a change has other code do what this should: a loop for what is left over,
    the work of an unrolled one before it.

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

    before = {path for path in usual.lines if not any(f == name and first <= n <= last for f, n in path)}
    return not before <= {tuple(moved(*line) for line in path) for path in changed.lines}
