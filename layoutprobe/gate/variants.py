"""Many small changes of a source, compiled at once and run one after the other: which of them may mend it.

Nearly all changes mend nothing, and to compile each takes longer than to run it. So the code asks for a number
(`rewrites.variants`), and each run puts another one there. What is right so is no more than a candidate: the change
is compiled by itself and judged then, as any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.registry import busy_engine, in_c
from layoutprobe.errors import ProbeError, ToolchainError
from layoutprobe.gate.build import Built
from layoutprobe.gate.copies import SourceCopy
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.suspects import Moved
from layoutprobe.gate.trying import BEFORE, Before, Change, Trials, longer_with
from layoutprobe.isa.edit import Literals, is_literal
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.store import load_instructions
from layoutprobe.machine.program import UnboundError
from layoutprobe.rewrites.chosen import SIGN
from layoutprobe.rewrites.variants import combined
from layoutprobe.source.macros import expansions, macros

TOGETHER = (48, 192)
"""Changes that are compiled at once: first few, which are likely; at last so many that the price of each program
hardly counts."""
LARGE = 64 << 10
"""Bytes of a program's code beyond which the next one is smaller: what is in loops that are unrolled multiplies."""
_WORTH = 8
"""Changes that were left out with others, for which a program of their own is worth it."""
_LONGER = 2.0
"""About how much longer it runs than one of them alone."""
_LONGER_TO_COMPILE = 3
"""How many times as long as one change it may take to compile: some seconds where nothing else is to do, and what is
given up on a busy machine is compiled again in halves."""
_ROUNDS = 24
"""Of compilations, each without what the compiler refused in the one before: it tells of one error in an expression
at a time. To be refused takes a tenth of a second, and what is in no program a quarter each."""
_FLAGS = (
    "-ferror-limit=0",
    "-Wno-everything",
    "-Werror=vla",
    "-fno-caret-diagnostics",
    "-fno-unroll-loops",
)
"""Loops stay loops: unrolled, a choice between changes stands there as often as one goes round, and compilers take
ten times as long. Arrays have as many elements as a constant says: one whose length is chosen at run time makes all
changes of the program wrong."""
_SAID = re.compile(r"([^\s:]+):(\d+):\d+: (?:fatal )?(error|note): (.*)")
_IN_MACRO = "expanded from macro"
_UNKNOWN = re.compile(r"(?:use of undeclared identifier|unknown type name) '(\w+)'")
_SYNTAX = re.compile(r"expected|extraneous|unterminated|missing|invalid suffix")
_ALL_AT_ONCE = 6
"""Rounds at the end, in which everything is left out that stands in one place with what an error is about."""
_INSTANCE = "in instantiation of"
"""What notes say of where a template is used: what is wrong in it may be wrong for that, or not."""
_AS_CHOSEN = re.compile(rf"constant|assignable|lvalue|variable length|{_INSTANCE}")
"""What errors say of a change that might compile by itself."""


class Batches:
    """Changes, so many at a time as one program takes."""

    def __init__(self, edits: Iterator[SourceEdit], texts: Mapping[Path, str]) -> None:
        """Args: edits: in the order in which they are tried; texts: of the files that they change."""
        self._edits, self._left = edits, list[SourceEdit]()
        self._bodies = {file: expansions(text) for file, text in texts.items()}
        self._again: tuple[list[SourceEdit], list[SourceEdit]] = [], []
        self._parted: set[object] = set()

    def once_more(self, edits: Sequence[SourceEdit]) -> list[SourceEdit]:
        """Put those that were left out with others into two further programs, as not all can be to blame; gives those
        that were there before."""
        known = [edit for edit in edits if edit.key in self._parted]
        for n, edit in enumerate(edit for edit in edits if edit.key not in self._parted):
            self._parted.add(edit.key)
            self._again[n % 2].append(edit)
        return known

    def following(self, size: int) -> list[SourceEdit]:
        """The next ones, of which a program is no longer than one of `size` plain ones: what stands in a macro stands
        there as often as that is used."""
        if parted := next((part for part in self._again if len(part) >= _WORTH), None):
            found = parted[:size]
            del parted[:size]
            return found
        found = self._new(size)
        if not found:
            part = max(self._again, key=len)
            found, part[:] = part[:size], part[size:]
        return found

    def _new(self, size: int) -> list[SourceEdit]:
        found, weight = list[SourceEdit](), 0
        while weight < size:
            edit = self._left.pop() if self._left else next(self._edits, None)
            if edit is None:
                break
            own = self._often(edit)
            if found and weight + own > size:
                self._left.append(edit)
                break
            found.append(edit)
            weight += own
        return found

    def _often(self, edit: SourceEdit) -> int:
        """How often the code has what is changed."""
        at = edit.rewrite.start
        bodies = self._bodies[edit.file]
        return max((often for place, often in bodies if place.start <= at <= place.stop), default=1) or 1


class Variants:
    """Changes of one kernel, as one program.

    Attributes:
        alone: those that cannot be in it, and may compile by themselves.
        together: those that were left out with others, of which some may be right.
        edits: all others, of which some do not compile.
        runs: it compiles in time, to instructions that are known; else it holds none.
        rounds: how often the compiler was asked.
    """

    def __init__(self, copy: SourceCopy, edits: Sequence[SourceEdit]) -> None:
        """Compile as many as can be."""
        # Changes of one expression get numbers that follow each other: the code asks for them together.
        ordered = sorted(edits, key=lambda edit: (str(edit.file), edit.rewrite.start, edit.rewrite.end))
        self._edits = dict(enumerate(ordered, 1))
        self._numbers = {edit.key: number for number, edit in self._edits.items()}
        self._wrong: frozenset[int] = frozenset()
        self._blamed: frozenset[int] = frozenset()
        self._macros = {file: macros(text) for file, text in copy.texts.items()}
        self._backend = EmulatorBackend(engine=busy_engine())
        self.runs = True
        self.rounds = 0
        self._built = self._compiled(copy)
        if not self.runs:
            self._keep(frozenset())
        numbered = [(self._numbers[edit.key], edit) for edit in edits]
        left = [(n, edit) for n, edit in numbered if n not in self._edits and n not in self._wrong]
        self.together = [edit for n, edit in left if self.runs and n in self._blamed]
        self.alone = [edit for n, edit in left if not self.runs or n not in self._blamed]
        self.edits = [edit for n, edit in numbered if n in self._edits or n in self._wrong]

    def _compiled(self, copy: SourceCopy) -> Built | None:
        for left in reversed(range(_ROUNDS)):
            texts = {
                file: combined(text, {n: e.rewrite for n, e in self._edits.items() if e.file == file})
                for file, text in copy.texts.items()
                if any(e.file == file for e in self._edits.values())
            }
            self._keep(frozenset[int]().union(*(one.chosen for one in texts.values())))
            if not self._edits:
                return None
            self.rounds += 1
            try:
                with ExitStack() as held:
                    for file, one in texts.items():
                        held.enter_context(copy.holding(file, one.text))
                    built = copy.quick(_FLAGS, _LONGER_TO_COMPILE)
                self.runs = self._is_known(built)
                return built
            except ToolchainError as refused:
                lines = {file.name: one.lines for file, one in texts.items()}
                own = {n: edit.rewrite.text for n, edit in self._edits.items()}
                errors = _to_blame(_refused(refused.observed or "", lines), own)
                unnamed = errors and not any(numbers for numbers, _ in errors) and not self._in_macros()
                if not errors or unnamed:  # it took too long, or what is wrong has no line
                    self.runs = False
                    return None
                beside = [group for one in texts.values() for group in one.together]
                self._drop(_meant(errors, beside) if left > _ALL_AT_ONCE else _whole(errors, beside))
            except (ProbeError, MemoryError):
                break
        self._keep(frozenset())
        return None

    def _is_known(self, built: Built) -> bool:
        try:
            in_c(self._backend.engine, built.code, built.kernel)
        except (ProbeError, UnboundError):
            return False
        return True

    def _drop(self, refused: Sequence[tuple[frozenset[int], str]]) -> None:
        """Leave out what the compiler refuses: for good, where that is no matter of being chosen at run time."""
        bad = frozenset[int]().union(*(numbers for numbers, _ in refused))
        self._wrong |= frozenset(
            n for numbers, why in refused if len(numbers) == 1 and not _AS_CHOSEN.search(why) for n in numbers
        )
        single = frozenset[int]().union(*(numbers for numbers, _ in refused if len(numbers) == 1))
        if not bad:  # where a macro is used an error may name no change: those of bodies of macros go
            bad = self._in_macros()
        self._blamed |= bad - single
        self._keep(frozenset(self._edits) - bad if bad else frozenset())

    def _in_macros(self) -> frozenset[int]:
        """Changes of bodies of macros."""
        places = {file: [one.place for one in bodies] for file, bodies in self._macros.items()}
        return frozenset(
            n
            for n, edit in self._edits.items()
            if any(place.start <= edit.rewrite.start <= place.stop for place in places[edit.file])
        )

    def _keep(self, numbers: frozenset[int]) -> None:
        self._edits = {n: edit for n, edit in self._edits.items() if n in numbers}

    def __contains__(self, edit: SourceEdit) -> bool:
        return self._numbers[edit.key] in self._edits

    @property
    def count(self) -> int:
        """How many are in it."""
        return len(self._edits)

    @property
    def code(self) -> int:
        """Bytes of its code."""
        return 0 if self._built is None else self._built.size

    @cached_property
    def _asks(self) -> Sequence[tuple[Built, Mapping[int, Inst]]]:
        """The kernel, and those before it, with the instructions that bring the number, by their addresses."""
        assert self._built is not None
        kernels = (self._built, *self._built.before)
        insts = [(one, load_instructions(one.code, one.kernel).values()) for one in kernels]
        return [
            (one, {inst.pc: inst for inst in own if any(is_literal(source, SIGN) for source in inst.src)})
            for one, own in insts
        ]

    def cost(self, trials: Trials) -> float:
        """About what a run of it takes, in microseconds of a processor; see `AtSize.cost`."""
        assert self._built is not None
        built = self._built
        c = in_c(self._backend.engine, built.code, built.kernel)
        return _LONGER * (trials.first.cost_in_c if c else trials.first.cost())

    def right(self, edit: SourceEdit, trials: Trials) -> bool:
        """Whether all outputs of all runs are right with a change that is in it."""
        change = self._change(edit)
        return change is not None and trials.right(change, self._backend, of_program=self.count)

    def moved(self, edit: SourceEdit, trials: Trials) -> Moved | None:
        """What moves with a change that is in it, in the run that tells most; None where nothing is known."""
        change, spec = self._change(edit), trials.telling
        if change is None or spec is None:
            return None
        return trials.first.moved(spec, change, self._backend, longer_with(self.count))

    def _change(self, edit: SourceEdit) -> Change | None:
        """A run of it with a change; None where the code never asks for one."""
        built, number = self._built, self._numbers[edit.key]
        assert built is not None
        said = [Literals(insts, SIGN, number) for _, insts in self._asks]
        before = [Before(one, own) for (one, _), own in zip(self._asks[1:], said[1:], strict=True)]
        change = {"code": built.code, "kernel": built.kernel.name, "changes": said[0], BEFORE: before}
        return (lambda _: change) if any(said) else None


def _to_blame(
    errors: Sequence[tuple[frozenset[int], str]], texts: Mapping[int, str]
) -> Sequence[tuple[frozenset[int], str]]:
    """Errors without those about a name that is not known, and that none of their changes brings: a change before has
    spoilt its declaration. All where there are no others."""

    def follows(numbers: frozenset[int], why: str) -> bool:
        name = _UNKNOWN.match(why)
        brought = " ".join(texts[n] for n in numbers)
        return name is not None and re.search(rf"\b{name[1]}\b", brought) is None

    return [(numbers, why) for numbers, why in errors if not follows(numbers, why)] or errors


def _meant(
    errors: Sequence[tuple[frozenset[int], str]], together: Sequence[frozenset[int]]
) -> list[tuple[frozenset[int], str]]:
    """Errors without those that may be no more than what a change before has left: text that is no expression ends
    the sentence for all that stand behind it, and a brace too many the function."""
    found, spoilt, named = [], frozenset[int](), False
    for numbers, why in errors:
        if (numbers and numbers <= spoilt) or (named and len(numbers) != 1):
            continue
        found.append((numbers, why))
        if _SYNTAX.match(why):
            named |= len(numbers) == 1
            spoilt |= frozenset[int]().union(*(group for group in together if numbers & group)) - numbers
    return found


def _whole(
    errors: Sequence[tuple[frozenset[int], str]], together: Sequence[frozenset[int]]
) -> list[tuple[frozenset[int], str]]:
    """Errors with all that stands where something they are about does."""
    return [
        (numbers.union(*(group for group in together if numbers & group)), why) for numbers, why in errors
    ]


def _refused(
    diagnostics: str, lines: Mapping[str, Mapping[int, frozenset[int]]]
) -> list[tuple[frozenset[int], str]]:
    """Numbers of the changes that each error is about, and what it says."""
    found = list[tuple[frozenset[int], str]]()
    in_macro = frozenset[int]()
    for name, line, kind, why in _SAID.findall(diagnostics):
        numbers = lines.get(name.rpartition("/")[2], {}).get(int(line), frozenset())
        if kind == "error":
            in_macro = frozenset()
            found.append((numbers, why))
        elif why.startswith(_IN_MACRO) and found:  # where it is used stands before
            in_macro |= numbers
            found[-1] = in_macro or found[-1][0], found[-1][1]
        elif found and not found[-1][0]:  # what is asked for at run time is no constant, where one is needed
            found[-1] = numbers, f"{found[-1][1]}{why if why.startswith(_INSTANCE) else ''}"
    return found
