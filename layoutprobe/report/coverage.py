"""What of a kernel's code ran at the sizes of the manifest, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from layoutprobe.place import Place

_NAMED = 3
"""So many places a headline names; the others it counts."""
CLASSES = ("1", "2", "3 or more")
"""Numbers of passes that are told apart."""
AGAIN = "more than 1"
"""What is wanted of a loop that never went round twice."""


def shows(passes: Iterable[int], wanted: str) -> bool:
    """Whether numbers of passes have the wanted one among them."""
    if wanted == AGAIN:
        return any(count > 1 for count in passes)
    return wanted in {CLASSES[min(count, len(CLASSES)) - 1] for count in passes}


class Stretch(Struct, frozen=True):
    """Instructions that belong together, by line where the compiler says so, else by address.

    Attributes:
        place: the first of them.
        last_line: of the same file; None where `place` has no line of its own.
        last_pc: address of the last instruction.
        does: what they do: "loads, matrix instructions"; "" where they only compute.
        copied: other code of the same lines ran: a loop that the compiler unrolled, a function inlined twice. No
            headline tells of it: which size would reach it the compiler alone knows.
    """

    place: Place
    last_line: int | None
    last_pc: int
    does: str = ""
    copied: bool = False

    def __str__(self) -> str:
        """ "gemm.hip:88-93 (loads)", "PC 0x1a00-0x1a20, near gemm.hip:88 (loads)"."""
        first = self.place.source
        if first is None or self.last_line is None:
            near = f", near {first}" if first is not None else ""
            name = f"PC {self.place.pc:#x}-{self.last_pc:#x}{near}"
        else:
            name = str(first) + (f"-{self.last_line}" if self.last_line > first.line else "")
        calls = self.place.inlined_at
        inlined = f" inlined at {calls[-1].source}" if self.copied and calls else ""
        return name + inlined + (f" ({self.does})" if self.does else "")


class Loop(Struct, frozen=True):
    """A loop of the code object.

    Attributes:
        place: the branch that goes round.
        pcs: addresses of its first and its last instruction.
        passes: how often waves went through it once they entered it, each number once, ascending.
        skipped: a wave came to the branch that decides, and went past it; None where there is no such branch.
        wanted: numbers of passes that were not seen and should be: of CLASSES, or AGAIN.
        shown_by: extents that should show them: "K = 32"; "" where that is not known.
        sought: extents up to which none was found that shows them: "M = 64, K = 4096"; "" where nobody looked.
    """

    place: Place
    pcs: tuple[int, int]
    passes: tuple[int, ...]
    skipped: bool | None
    wanted: tuple[str, ...] = ()
    shown_by: str = ""
    sought: str = ""

    @property
    def name(self) -> str:
        """ "loop at gemm.hip:40", "loop near gemm.hip:40"."""
        return f"loop {'near' if self.place.near else 'at'} {self.where}"

    @property
    def where(self) -> str:
        """ "gemm.hip:40"."""
        source = self.place.source
        return str(source) if source is not None else f"PC {self.place.pc:#x}"

    @property
    def lacks(self) -> str:
        """ "never 1 or 2 passes"; "" where nothing is wanted."""
        if self.wanted == (AGAIN,):
            return "never a second pass"
        passes = "pass" if self.wanted == ("1",) else "passes"
        return f"never {' or '.join(self.wanted)} {passes}" if self.wanted else ""

    @property
    def hint(self) -> str:
        """What to do about it: "try K = 32"; "" where nothing is known."""
        if self.shown_by:
            return f"try {self.shown_by}"
        return f"no size up to {self.sought} was found that does it" if self.sought else ""

    def __str__(self) -> str:
        """ "loop at gemm.hip:40: 4, 5 passes, never 1 or 2 passes"."""
        seen = ", ".join(map(str, self.passes[:8])) + (", ..." if len(self.passes) > 8 else "")
        times = f"{seen} {'pass' if self.passes == (1,) else 'passes'}" if seen else "never ran"
        return ", ".join(filter(None, (f"{self.name}: {times}", self.lacks)))


class Branch(Struct, frozen=True):
    """A conditional branch that always went the same way.

    Attributes:
        place: the branch.
        jumped: the way that it went.
        number: what the test before it compares with; None where that is no number.
    """

    place: Place
    jumped: bool
    number: int | None = None


class Untried(Struct, frozen=True):
    """A test against a number in the code that always came out the same.

    Attributes:
        place: the test.
        says: what no size shows: "> 3" is true.
        number: what it compares with; None where it is no test.
    """

    place: Place
    says: str
    number: int | None = None

    def __str__(self) -> str:
        """'"> 3" is true near gemm.hip:51'."""
        source = self.place.source
        if source is None:
            return f"{self.says} at PC {self.place.pc:#x}"
        return f"{self.says} {'near' if self.place.near else 'at'} {source}"


class CodeCoverage(Struct, frozen=True):
    """What of a kernel's code ran, over all sizes and inputs.

    Attributes:
        blocks, blocks_run: basic blocks of the kernel, and those that ran.
        ways, ways_gone: of all conditional branches together, both ways counted; those that a wave went.
        unreached: code that never ran and does something; what only traps or ends the wave is left out.
        branches: those that always went the same way.
        loops: all of them, in the order of the code.
        untried: tests whose other way leads to no code of its own, and was never gone.
    """

    blocks: int
    blocks_run: int
    ways: int
    ways_gone: int
    unreached: tuple[Stretch, ...] = ()
    branches: tuple[Branch, ...] = ()
    loops: tuple[Loop, ...] = ()
    untried: tuple[Untried, ...] = ()

    @property
    def reservations(self) -> tuple[str, ...]:
        """What a headline must not hide, each in a few words."""
        return tuple(self._reservations())

    @property
    def missed(self) -> tuple[Stretch, ...]:
        """Lines of which nothing ran."""
        return tuple(one for one in self.unreached if not one.copied)

    @property
    def numbers(self) -> tuple[int, ...]:
        """What tests compare with that always came out the same, ascending: beyond them is another way."""
        found = {one.number for one in self.untried} | {one.number for one in self.branches}
        return tuple(sorted(number for number in found if number is not None))

    def _reservations(self) -> Iterator[str]:
        if self.missed:
            yield f"never ran: {_few([str(one) for one in self.missed])}"
        if self.untried:
            yield f"no size in which {_few([str(one) for one in self.untried])}"
        wanted: dict[str, list[str]] = {}
        for loop in self.loops:
            if loop.wanted:
                hint = f": {loop.hint}" if loop.hint else ""
                wanted.setdefault(loop.lacks, []).append(f"the {loop.name}{hint}")
        for lacks, loops in wanted.items():
            yield f"{lacks} of {_few(loops)}"

    def __str__(self) -> str:
        """ "40 of 41 blocks, 17 of 22 ways of branches, 3 loops"."""
        loops = f", {len(self.loops)} loop{'s' if len(self.loops) > 1 else ''}" if self.loops else ""
        return f"{self.blocks_run} of {self.blocks} blocks, {self.ways_gone} of {self.ways} ways of branches{loops}"


def _few(texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
