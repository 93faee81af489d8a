"""Small changes of a kernel's source, each compiled and emulated until one holds.

With every red kernel some are tried, as the change with which all is right names the cause; `check --suggest` tries
more of them, and shows one as a fix. The changes are guesses (`source_edits.py`). What decides is the gate: one that
mends the runs at hand is judged as a kernel is, by every check at every size, and at sizes that nobody listed.
Sources are changed in a copy; the user's files are read, and never written.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import chain, islice
from multiprocessing import parent_process
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import numerics, races
from layoutprobe.checks.base import Check
from layoutprobe.engine.choice import NUMPY
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import LateError, ProbeError
from layoutprobe.gate.build import Built
from layoutprobe.gate.copies import LINES, SourceCopy
from layoutprobe.gate.costs import CHECKED, DECODED, JUDGED, Costs
from layoutprobe.gate.holding import Held, of_text
from layoutprobe.gate.source_edits import SourceEdit, SourceEdits
from layoutprobe.gate.suspects import Moved, Suspects
from layoutprobe.gate.tally import Tally
from layoutprobe.gate.trying import Mended, Trials, as_built
from layoutprobe.gate.variants import LARGE, TOGETHER, Batches, Variants
from layoutprobe.gate.weighing import weighed
from layoutprobe.manifest.files import ASSEMBLY
from layoutprobe.manifest.model import KernelCase
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Fix, KernelVerdict
from layoutprobe.rewrites.wording import worded
from layoutprobe.source.statements import Source
from layoutprobe.toolchain.cache import nothing_kept
from layoutprobe.trace.subject import RunStoppedError, UndecidedError

_ISSUED = 400_000
"""Instructions that a wave may issue with a change, where the manifest names no number: numpy takes seconds for them,
and a kernel whose waves have more to do is tried in runs that know its work, or not at all."""
_TIMES, _LEAST_SECONDS = 6, 3.0
"""How many times as long as the kernel a change may take to compile, and as long it may be; but so many seconds are
granted in any case. Where loops are unrolled, another bound may make a hundred times as much of them."""
_RARER = 4
"""How much less far the search goes among changes that are compiled by themselves: each costs ten times one of a
program, and is no likelier."""
_BESIDE = 60
"""Further changes that are tried of the statement in which the first one holds."""
_WHOLE, _DOUBTED = 6, 10
"""Changes that are judged whole: those that mend the runs at hand, and nothing else, are few. And how many of those
that are doubted are kept, to be judged where nothing else holds."""
_ALIKE = 3
"""Further changes that are named where they compile to the same code as one that holds."""
_WORDY, _SHORT = 3, 8
"""How many times as long, of so many letters at least, what says the same is nothing that anybody means."""
_ON_DOUBTED = 15_000_000
"""What may be spent on those."""


class Judge(Struct, frozen=True):
    """How a change is judged.

    Attributes:
        checks: that found what is wrong.
        reference: see `Tally`.
        whole: all checks at all sizes, and a glance at others.
    """

    checks: Sequence[Check]
    reference: Callable[..., object] | None
    whole: Callable[[KernelCase], KernelVerdict]


class Mender:
    """The search for changes of one kernel's source, in a folder of its own while it lasts.

    Attributes:
        tried, compiled: changes so far, and how many of them compile.
        suspects: expressions that may be to blame; None where nobody has asked.
        costs: what they have cost.
    """

    def __init__(self, case: KernelCase, target: str, toolchain: Mapping[str, str], judge: Judge) -> None:
        """Args: case: the kernel; target: what it was compiled for; toolchain: what made its code; judge: says what
        holds."""
        self.case, self.target, self.judge = case, target, judge
        self._toolchain = toolchain
        self._folder = TemporaryDirectory(prefix="layoutprobe-")
        self._copies: list[SourceCopy] = []
        self._free = SimpleQueue[SourceCopy]()
        self._keys, self._objects = set[object](), set[str]()
        self._doubted, self._right = dict[str, Held](), dict[str, Held]()  # by their code
        self._alike = Counter[str]()
        self._late = set[object]()
        self._places = dict[object, int]()
        self._issued = case.limits.instructions or _ISSUED
        self._size = 1
        self._whole, self._sure = 0, False
        self.tried = self.compiled = 0
        self.suspects: Suspects | None = None
        self.costs = Costs()

    def __enter__(self) -> Mender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @property
    def possible(self) -> bool:
        """Whether the kernel has a source that can be changed, of which a copy compiles to the same code."""
        if self._copies:
            return True
        if self.case.source is None or self.case.source.suffix.lower() in ASSEMBLY:
            return False
        alone = (os.cpu_count() or 1) < 2 or parent_process() is not None
        root = Path(self._folder.name)
        limits = replace(self.case.limits, instructions=self._issued)
        case = replace(self.case, limits=limits)
        copies = [SourceCopy(case, self.target, root / str(n)) for n in range(1 if alone else 2)]
        with nothing_kept():
            if not copies[0].compiles_alike(self._toolchain):
                return False
            begun = time.monotonic()
            plain = copies[0].quick()
            seconds = max(_LEAST_SECONDS, _TIMES * (time.monotonic() - begun))
            headers = copies[0].precompiled(digest := plain.toolchain["code_object"])
        for copy in copies:
            copy.headers, copy.seconds = headers, seconds
        self._size = plain.size
        self._objects.add(digest)
        self._copies = copies
        for copy in copies:
            self._free.put(copy)
        return True

    @cached_property
    def edits(self) -> SourceEdits:
        """What may be tried: of sources that are read once."""
        return SourceEdits(self._copies[0])

    def holding(
        self, edits: Iterable[SourceEdit], trials: Trials | None, goes_on: Callable[[], bool]
    ) -> Iterator[Held]:
        """Those changes with which everything holds, as they are found, and those that are doubted last; each code is
        tried once.

        Args:
            edits: what to try, in order.
            trials: runs that decide which changes are worth it; the check that found what is wrong without.
            goes_on: asked before each.
        """
        new = self._numbered(edit for edit in edits if edit.key not in self._keys)
        late = deque[SourceEdit]()  # what must be compiled by itself takes several times as long
        with nothing_kept(), ThreadPoolExecutor(len(self._copies)) as pool:
            if trials is not None:
                yield from self._chosen(new, late, trials, goes_on, pool)
            yield from self._alone(chain(late, new), trials, goes_on, pool)
            yield from self._of_doubted(trials)

    def moved(self, edits: Iterable[SourceEdit], trials: Trials) -> Iterator[tuple[SourceEdit, Moved | None]]:
        """Changes that are no guesses, with what moves in each output; see `suspects.py`."""
        batches = Batches(iter(edits), self._copies[0].texts)
        with nothing_kept(), ThreadPoolExecutor(len(self._copies)) as pool:
            for program in self._programs(batches, pool):
                self.costs.of_program(program.rounds, program.count, program.code)
                for edit in program.edits:
                    if edit in program:
                        self.costs.spent += program.cost(trials)
                        yield edit, program.moved(edit, trials)

    def beside(
        self,
        edit: SourceEdit,
        edits: Sequence[SourceEdit],
        trials: Trials | None,
        goes_on: Callable[[], bool],
    ) -> Iterator[Held]:
        """Changes of the same statement that hold as well, and of calls of its function: what holds is near what was
        meant."""
        near = self.edits.near(edit, edits)
        some = [one for one in near if one.key not in self._keys][:_BESIDE]
        yield from self.holding(some, trials, goes_on)

    def _numbered(self, edits: Iterable[SourceEdit]) -> Iterator[SourceEdit]:
        """The same, with the place of each in the order kept."""
        for n, edit in enumerate(edits):
            self._places[edit.key] = n
            yield edit

    def _place(self, edit: SourceEdit) -> int:
        return self._places[edit.key]

    def _chosen(
        self,
        edits: Iterator[SourceEdit],
        late: deque[SourceEdit],
        trials: Trials,
        goes_on: Callable[[], bool],
        pool: ThreadPoolExecutor,
    ) -> Iterator[Held]:
        """Those that can be in a program of many; of the others the first ones between programs, and the rest is in
        `late`."""
        batches = Batches(edits, self._copies[0].texts)
        for program in self._programs(batches, pool):
            late += [*batches.once_more(program.together), *program.alone]
            self.compiled += program.count
            self.costs.of_program(program.rounds, program.count, program.code)
            for edit in program.edits:
                if not goes_on():
                    return
                if (held := self._try_chosen(edit, trials, program)) is not None:
                    yield held
            reached = max(map(self._place, (*program.edits, *program.alone, *program.together)), default=0)
            waiting = sorted(late, key=self._place)
            last = max(reached // _RARER, TOGETHER[0])
            due = [edit for edit in waiting if self._place(edit) <= last]
            late.clear()
            late.extend(waiting[len(due) :])
            yield from self._alone(due, trials, goes_on, pool)

    def _programs(self, batches: Batches, pool: ThreadPoolExecutor) -> Iterator[Variants]:
        """Programs of many; others are compiled while one runs."""
        size, most = TOGETHER
        begun = deque[Future[list[Variants]]]()
        while True:
            while len(begun) < len(self._copies) and (batch := batches.following(size)):
                begun.append(pool.submit(self._program, batch))
                size = min(size * 2, most)
            if not begun:
                return
            programs = begun.popleft().result()
            if len(programs) > 1:  # so many of this kernel do not compile in time, or not to what can be run
                size = most = max(most // 2, TOGETHER[0])
            if any(program.code > LARGE for program in programs):
                size = max(size // 4, TOGETHER[0])
            yield from programs

    def _program(self, batch: Sequence[SourceEdit]) -> list[Variants]:
        """One program; or several, where something in it compiles to what nobody can run."""
        copy = self._free.get()
        try:
            return list(_running(copy, batch))
        finally:
            self._free.put(copy)

    def _alone(
        self,
        edits: Iterable[SourceEdit],
        trials: Trials | None,
        goes_on: Callable[[], bool],
        pool: ThreadPoolExecutor,
    ) -> Iterator[Held]:
        """Those that are compiled by themselves."""
        left = iter(edits)
        while batch := list(islice(left, TOGETHER[0])):
            built = [(edit, pool.submit(self._compile, edit)) for edit in batch]
            try:
                for edit, future in built:
                    if not goes_on():
                        return
                    if (held := self._try_alone(edit, trials, future)) is not None:
                        yield held
            finally:
                for _, future in built:
                    future.cancel()

    def _try_chosen(self, edit: SourceEdit, trials: Trials, program: Variants) -> Held | None:
        """A change that is in a program, where everything holds with it."""
        self._keys.add(edit.key)
        self.tried += 1
        if edit not in program:
            return None
        self.costs.spent += program.cost(trials)
        return self._held(edit, self._compile(edit), trials) if program.right(edit, trials) else None

    def _try_alone(
        self, edit: SourceEdit, trials: Trials | None, future: Future[Built | None]
    ) -> Held | None:
        """A change that is compiled by itself, where everything holds with it."""
        self._keys.add(edit.key)
        self.tried += 1
        built = future.result()
        self.compiled += built is not None
        times = built.size / self._size if built is not None else 0
        self.costs.of_one(times, edit.key in self._late)
        return self._held(edit, built, trials) if times <= _TIMES else None

    def _held(self, edit: SourceEdit, built: Built | None, trials: Trials | None) -> Held | None:
        """The change, where everything holds with it."""
        digest = built.toolchain["code_object"] if built is not None else ""
        text = self._copies[0].texts[edit.file]
        if (
            doubted := self._doubted.get(digest)
        ) is not None:  # perhaps not for its text, but for that of another
            held = self._of_text(edit).weighing(doubted)
            if held.is_doubtful(self.case):
                return None
            del self._doubted[digest]
            return self._judged(held, trials)
        if digest in self._right:  # the same in other words, of which either may be meant
            held = self._of_text(edit).weighing(self._right[digest])
            self._alike[digest] += 1
            known = self._right[digest].edit.rewrite.text
            wordy = len(edit.rewrite.text) > _WORDY * max(len(known), _SHORT)
            idle = wordy or held.is_doubtful(self.case) or self._alike[digest] > _ALIKE
            return None if idle else held
        if built is None or digest in self._objects or self._whole >= _WHOLE:
            return None
        self._objects.add(digest)
        if not self._is_right(edit, built, trials) or not self._is_gone(edit, built, trials):
            return None
        held = self._of_text(edit)
        if trials is not None:
            held = weighed(held, text, trials, self._compile(edit, (LINES,)) or built)
        if not held.is_doubtful(self.case):
            if (found := self._judged(held, trials)) is not None:
                self._right[digest] = found
            return found
        if len(self._doubted) < _DOUBTED:
            self._doubted[digest] = held
        return None

    def _of_text(self, edit: SourceEdit) -> Held:
        """A change with what the text of its file tells of it, and those of the others."""
        texts = dict(self._copies[0].texts)
        return of_text(edit, texts.pop(edit.file), texts.values())

    def _judged(self, held: Held, trials: Trials | None) -> Held | None:
        """A change with which the runs at hand are right, where everything is."""
        self._whole += 1
        with self.costs.paying(JUDGED):
            verdict = self._verdict(held.edit)
        if verdict is None or verdict.exit_code or self._is_never_true(held.edit, trials):
            return None
        self._sure = self._sure or not verdict.unlisted
        return replace(held, unlisted=verdict.unlisted)

    def _of_doubted(self, trials: Trials | None) -> Iterator[Held]:
        """Those that are doubted, where nothing else holds: to judge one may take as long as to try a hundred."""
        most = self.costs.spent + _ON_DOUBTED
        while self._doubted and not self._sure and self.costs.spent < most:
            held = self._doubted.pop(next(iter(self._doubted)))
            if (found := self._judged(held, trials)) is not None:
                yield found

    def _is_never_true(self, edit: SourceEdit, trials: Trials | None) -> bool:
        """Whether a test that is added to another one is false in every run: then the change is a branch that nothing
        takes, and holds by chance."""
        text, rewrite = self._copies[0].texts[edit.file], edit.rewrite
        old = text[rewrite.start : rewrite.end]
        added = rewrite.text[len(old) :] if rewrite.text.startswith(old) else ""
        if trials is None or not added.lstrip().startswith("&&"):
            return False
        never = replace(edit, rewrite=replace(rewrite, text=f"{old} && false"))
        built = self._compile(never)
        return built is not None and self._is_right(never, built, trials)

    def _compile(self, edit: SourceEdit, flags: Sequence[str] = ()) -> Built | None:
        """What a change compiles to; None where it does not. `flags`: see `SourceCopy.quick`."""
        copy = self._free.get()
        try:
            with copy.holding(edit.file, edit.rewrite.apply(copy.texts[edit.file])):
                return copy.quick(flags)
        except LateError:
            self._late.add(edit.key)
            return None
        except (ProbeError, MemoryError):
            return None
        finally:
            self._free.put(copy)

    def _verdict(self, edit: SourceEdit) -> KernelVerdict | None:
        """What the gate says of the kernel with a change."""
        copy = self._free.get()
        try:
            with copy.holding(edit.file, edit.rewrite.apply(copy.texts[edit.file])):
                return self.judge.whole(copy.case)
        except (ProbeError, MemoryError):
            return None
        finally:
            self._free.put(copy)

    def _is_right(self, edit: SourceEdit, built: Built, trials: Trials | None) -> bool:
        """Whether what is wrong is gone, as far as a few runs tell; no where none does: such code may do anything."""
        try:
            return self._by_check(edit, built) if trials is None else self._by_runs(built, trials)
        except (ProbeError, RunStoppedError, UndecidedError, MemoryError):
            return False

    def _is_gone(self, edit: SourceEdit, built: Built, trials: Trials | None) -> bool:
        """Whether a race is gone, too, where values are right: to judge what leaves one whole is wasted."""
        return trials is None or edit.finding.check != races.NAME or self._is_right(edit, built, None)

    def _by_runs(self, built: Built, trials: Trials) -> bool:
        """Whether every output of every run is right."""
        self.costs.spent += DECODED * len(trials.first.subject.insts) + trials.first.cost()
        return trials.right(*as_built(built))

    def _by_check(self, edit: SourceEdit, built: Built) -> bool:
        """Asks the check that found what is wrong whether it still does, and whether values are right, at the first
        size that shows it."""
        with self.costs.paying(CHECKED):
            found = edit.finding
            size = dict((found.sizes or (found.place.size,))[0]) or self.case.sizes[0]
            backend = EmulatorBackend(budget=self._issued, engine=make_engine(NUMPY))
            asked = [check for check in self.judge.checks if check.name in (found.check, numerics.NAME)]
            tally = Tally(self.case, built, asked, backend, self.judge.reference, lambda *_: None, draw=False)
            return not any(result.findings for result in tally.at(size).results.values())

    def mended(self, held: Held, symbol: str) -> Mended:
        """A change as what is behind a finding."""
        text = self._copies[0].texts[held.edit.file]
        says = worded(text, held.edit.rewrite)
        source = Source(text)
        line = source.line_of(says.offset)
        column = says.offset - source.offset(line, 1) + 1
        place = Place(symbol, SourceLine(self._copies[0].named(held.edit.file), line, column))
        beyond = "; ".join(one.says for one in held.unlisted)
        return Mended(says.says, place, of_source=True, beyond=beyond, idle=held.idle if held.fewer else None)

    def fix(self, held: Held, finding: Finding) -> Fix:
        """A change as lines that are replaced."""
        copy, rewrite = self._copies[0], held.edit.rewrite
        before = copy.texts[held.edit.file]
        source = Source(before)
        first, last = source.line_of(rewrite.start), source.line_of(max(rewrite.end - 1, rewrite.start))
        old, new = before.split("\n"), rewrite.apply(before).split("\n")
        return Fix(
            finding=finding,
            file=copy.named(held.edit.file),
            line=first,
            old=tuple(old[first - 1 : last]),
            new=tuple(new[first - 1 : last + len(new) - len(old)]),
            sizes=len(self.case.sizes),
            unlisted=held.unlisted,
        )


def _running(copy: SourceCopy, batch: Sequence[SourceEdit]) -> Iterator[Variants]:
    """Changes as one program; halved where that does not run, so that few are lost with the one that is to blame."""
    program, middle = Variants(copy, batch), len(batch) // 2
    if program.runs or len(batch) <= _SMALLEST:
        yield program
    else:
        yield from _running(copy, batch[:middle])
        yield from _running(copy, batch[middle:])


_SMALLEST = 24
"""Changes of a program that is not halved any more."""
