"""What the coverage of a kernel means to its author: lines that never ran, loops that never went round twice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from layoutprobe.codeobj.inlining import Inlined, inlined_calls, place_of
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.choices import Choices, tested
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.cuts import cuts_of
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.coverage import AGAIN, CLASSES, Branch, CodeCoverage, Loop, Stretch, Untried, shows

_WORDS = (
    ("matrix instructions", Kind.MATRIX),
    ("atomics", Kind.ATOMIC),
    ("stores", Kind.STORE),
    ("loads", Kind.LOAD),
    ("a barrier", Kind.AWAIT),
)
_MEMORY = Kind.LDS | Kind.GLOBAL | Kind.BUFFER | Kind.FLAT | Kind.SMEM | Kind.SCRATCH
_EFFECT = Kind.VALU | Kind.MATRIX | Kind.ARRIVE | _MEMORY
_OUTSIDE = _EFFECT & ~Kind.VALU
_NO_WORK = ("v_cmp", "v_mov", "v_readfirstlane", "v_nop")


def code_coverage(
    code: CodeObject, kernel: Kernel, coverage: Coverage, choices: Choices | None = None
) -> CodeCoverage:
    """What ran, in terms of the source; with `choices` also which tests always came out the same."""
    found = _Reading(code, kernel, coverage).result()
    if choices is None:
        return found
    untried = (
        *_untried(code, kernel, coverage, choices, found.loops),
        *_cut(code, kernel, coverage, choices),
    )
    return replace(found, untried=untried)


def _cut(code: CodeObject, kernel: Kernel, coverage: Coverage, choices: Choices) -> Iterator[Untried]:
    """Numbers that are cut where they are used, that grow with the size, and never came beyond."""
    said = set()
    for pc, cut in cuts_of(coverage.ran).items():
        largest = choices.cut.get(pc, frozenset([0]))
        if max(largest) <= cut.most and max(largest) >= _GROWN * max(min(largest), 1):
            one = Untried(
                place_of(code, kernel, cut.user.pc, cut.user.name),
                f"an index or a count is above {cut.most}, of which {cut.bits} bits are taken,",
            )
            if str(one) not in said:
                said.add(str(one))
                yield one


_GROWN = 2
"""What grows by such a factor from one size to another goes with the size."""


def _line(place: Place) -> SourceLine | None:
    source = place.source
    return SourceLine(source.file, source.line) if source is not None else None


def _untried(
    code: CodeObject, kernel: Kernel, coverage: Coverage, choices: Choices, loops: Sequence[Loop]
) -> Iterator[Untried]:
    """Tests that only ever came out one way; where the other one leads to code, that is what never ran.

    Without what is computed for the statement of a loop: how often to go round, what is left where the compiler
    unrolls it. How often it went round is told; a number that the source asks for is the least of two, if any.
    """
    said = set()
    statements = {_line(found.place) for found in loops}
    for pc, inst in sorted(choices.tests.items()):
        if len(choices.came_out[pc]) != 1:
            continue
        (flag,) = choices.came_out[pc]
        place = place_of(code, kernel, pc, inst.name)
        if place.line or (user := _user(code, coverage, pc)) is None:
            user = inst
        number, _ = tested(inst) or (None, False)
        one = Untried(place_of(code, kernel, user.pc, user.name), _outcome(inst, flag), number)
        if _line(one.place) in statements and not inst.name.startswith("s_min"):
            continue
        if str(one) not in said:
            said.add(str(one))
            yield one


_VCC = {106, 107}
_NEAR = 4
"""So many instructions behind a test the one that selects by it stands at most."""


def _user(code: CodeObject, coverage: Coverage, test: int) -> Inst | None:
    """The first instruction with a line that takes what is selected by a test; None where that is not seen."""
    behind = [inst for inst in coverage.insts if inst.pc > test]
    chosen = next((inst for inst in behind[:_NEAR] if inst.name.startswith("s_cselect")), None)
    if chosen is None:
        return None
    made = {*chosen.dst[0].registers()}
    for inst in (inst for inst in behind if inst.pc > chosen.pc and code.lines.find(inst.pc)):
        halves = inst.pair or (inst,)
        taken = {register for half in halves for operand in half.src for register in operand.registers()}
        if made & taken or (made & _VCC and any("cndmask" in half.name for half in halves)):
            return inst
    return None


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "lg": "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _outcome(inst: Inst, flag: bool) -> str:
    """What a test never came to, in words. SCC of min and max says that the first operand was taken."""
    number, first = tested(inst) or (0, False)
    if not inst.name.startswith("s_cmp"):
        taken = flag == first
        return f"the limit {number} ({inst.name}) {'does not take' if taken else 'takes'} effect"
    sign = _SIGNS[inst.name.split("_")[2]]
    sign = _MIRRORED.get(sign, sign) if first else sign
    return f'"{sign} {number}" is {"not true" if flag else "true"}'


def _number(block: Sequence[Inst]) -> int | None:
    """What the scalar test compares with by which a block branches."""
    if not block[-1].name.startswith("s_cbranch_scc"):
        return None
    tests = [tested(inst) for inst in block if inst.name.startswith("s_cmp")]
    return tests[-1][0] if tests and tests[-1] else None


class _Reading:
    """One coverage, read against the code."""

    def __init__(self, code: CodeObject, kernel: Kernel, coverage: Coverage) -> None:
        self.code = code
        self.kernel = kernel
        self.seen = coverage
        self.flow = coverage.flow

    def result(self) -> CodeCoverage:
        branches = list(self._branches())
        return CodeCoverage(
            blocks=len(self.flow.blocks),
            blocks_run=len(self.seen.blocks),
            ways=2 * len(branches),
            ways_gone=sum(len(gone) for _, gone in branches),
            unreached=tuple(self._unreached()),
            branches=tuple(
                Branch(self._place(block[-1]), gone == [True], _number(block))
                for block, gone in branches
                if len(gone) == 1
            ),
            loops=tuple(self._loops()),
        )

    def _branches(self) -> Iterator[tuple[Sequence[Inst], list[bool]]]:
        """Every block that ends in a conditional branch, and whether it jumped each time that a wave came by."""
        for pc, (stays, *jumps) in ((pc, n) for pc, n in self.flow.nexts.items() if len(n) == 2):
            ways = {False: (pc, stays), True: (pc, jumps[0])}
            yield self.flow.blocks[pc], [jumped for jumped, way in ways.items() if way in self.seen.edges]

    def _unreached(self) -> Iterator[Stretch]:
        """Code that never ran, by line where one of its lines never ran, else by the block's innermost lines."""
        missed = [pc for pc in self.flow.blocks if pc not in self.seen.blocks and pc not in self._doomed]
        working = [
            self.flow.blocks[pc] for pc in missed if self._works(self.flow.blocks[pc]) and self._counts(pc)
        ]
        if not working:
            return
        fresh: dict[SourceLine, list[Inst]] = {}
        copies: dict[SourceLine | None, list[Inst]] = {}
        for block in working:
            lines = [self._never_run(inst) for inst in block]
            for inst, line in zip(block, lines, strict=True):
                if line is not None:
                    fresh.setdefault(line, []).append(inst)
            if not any(lines):
                copies.setdefault(self._outermost(block), []).extend(block)
        yield from self._by_line(fresh)
        yield from (self._stretch(insts) for insts in copies.values())

    def _works(self, block: Sequence[Inst]) -> bool:
        """It does something, and is no code that only the compiler knows of: what it computes anew on the way past
        a loop has no line, in a kernel that has some, nor have the arguments that it loads for it."""
        if not _does_something(block):
            return False
        outside = any(inst.kind & _OUTSIDE and Kind.SMEM not in inst.kind for inst in block)
        return outside or not self._lines_run or any(self.code.lines.find(inst.pc) for inst in block)

    def _counts(self, pc: int) -> bool:
        """A size may reach it. Whether a wave has to wait is the machine's affair; and what only computes behind a
        test of a loop's statement the compiler has put there, for a loop without a pass."""
        if any(pc in body for body in self._waiting):
            return False
        if any(inst.kind & _OUTSIDE for inst in self.flow.blocks[pc]):
            return True
        before = [self.flow.blocks[other][-1] for other, nexts in self.flow.nexts.items() if pc in nexts]
        return not before or any(_line(self._place(branch)) not in self._statements for branch in before)

    @cached_property
    def _waiting(self) -> list[frozenset[int]]:
        """Loops that wait for other waves, or try again. A loop around one is none for that."""
        found: list[frozenset[int]] = []
        for body in sorted(self.flow.loops.values(), key=len):
            own = body.difference(*(other for other in found if other < body))
            if _waits_only([inst for pc in own for inst in self.flow.blocks[pc]]):
                found.append(body)
        return found

    @cached_property
    def _statements(self) -> frozenset[SourceLine | None]:
        """Lines of loops."""
        return frozenset(_line(self._place(self._back(*loop))) for loop in self.flow.loops.items()) - {None}

    def _back(self, header: int, body: frozenset[int]) -> Inst:
        """The branch that goes round, to which compilers give the line of the statement."""
        return self.flow.blocks[max(pc for pc in body if header in self.flow.nexts[pc])][-1]

    def _outermost(self, insts: Sequence[Inst]) -> SourceLine | None:
        """The line of the kernel itself that a block is from."""
        calls = (self._calls[inst.pc][-1].call.source for inst in insts if inst.pc in self._calls)
        lines = (line for inst in insts if (line := self.code.lines.find(inst.pc)) is not None)
        return next(calls, None) or next(lines, None)

    def _never_run(self, inst: Inst) -> SourceLine | None:
        """The line of an instruction, or of the innermost call around it, of which nothing ran."""
        chain = (self.code.lines.find(inst.pc), *(one.call.source for one in self._calls.get(inst.pc, ())))
        known = (SourceLine(line.file, line.line) for line in chain if line is not None)
        return next((line for line in known if line not in self._lines_run), None)

    @cached_property
    def _calls(self) -> dict[int, list[Inlined]]:
        """Instruction that never ran -> the inlined calls around it, innermost first."""
        pcs = [i.pc for pc, block in self.flow.blocks.items() if pc not in self.seen.blocks for i in block]
        around: dict[int, list[Inlined]] = {}
        for one in sorted(inlined_calls(self.code), key=lambda one: -one.depth):
            for pc in pcs[bisect_left(pcs, one.span[0]) : bisect_left(pcs, one.span[1])]:
                around.setdefault(pc, []).append(one)
        return around

    @cached_property
    def _lines_run(self) -> frozenset[SourceLine]:
        """Lines of which something ran, those of calls among them."""
        pcs = [inst.pc for inst in self.seen.insts]
        lines = [self.code.lines.find(pc) for pc in pcs]
        lines += [
            one.call.source
            for one in inlined_calls(self.code)
            if bisect_left(pcs, one.span[0]) < bisect_left(pcs, one.span[1])
        ]
        return frozenset(SourceLine(line.file, line.line) for line in lines if line is not None)

    @cached_property
    def _doomed(self) -> set[int]:
        """Blocks from which every way leads to a trap: they are for what must never happen."""
        doomed = {pc for pc, block in self.flow.blocks.items() if any(i.name == "s_trap" for i in block)}
        grown = True
        while grown:
            more = {
                pc
                for pc, nexts in self.flow.nexts.items()
                if nexts and pc not in doomed and doomed >= {*nexts}
            }
            doomed |= more
            grown = bool(more)
        return doomed

    def _by_line(self, insts: Mapping[SourceLine, list[Inst]]) -> Iterator[Stretch]:
        """Lines that never ran, joined where no line that ran lies between them."""
        group: list[SourceLine] = []
        for line in sorted(insts, key=lambda line: (line.file, line.line)):
            if group and self._ran_between(group[-1], line):
                yield self._lines(group, insts)
                group = []
            group.append(line)
        if group:
            yield self._lines(group, insts)

    def _ran_between(self, first: SourceLine, last: SourceLine) -> bool:
        if first.file != last.file:
            return True
        return any(SourceLine(first.file, at) in self._lines_run for at in range(first.line + 1, last.line))

    def _lines(self, lines: Sequence[SourceLine], insts: Mapping[SourceLine, list[Inst]]) -> Stretch:
        here = sorted((inst for line in lines for inst in insts[line]), key=lambda inst: inst.pc)
        place = replace(self._place(insts[lines[0]][0]), source=lines[0], near=False, inlined_at=())
        return Stretch(place, lines[-1].line, here[-1].pc, _does(here))

    def _place(self, inst: Inst) -> Place:
        return place_of(self.code, self.kernel, inst.pc, inst.name)

    def _stretch(self, insts: Sequence[Inst]) -> Stretch:
        """Code by its addresses, and the lines of the file that most of it is from."""
        found = ((inst, self.code.lines.find(inst.pc)) for inst in insts)
        lined = [(line, inst) for inst, line in found if line is not None]
        files = [line.file for line, _ in lined]
        file = max(dict.fromkeys(files), key=files.count, default="")
        own = [(line.line, inst.pc, inst) for line, inst in lined if line.file == file]
        first = min(own)[2] if own else insts[0]
        return Stretch(
            self._place(first),
            max(own)[0] if own else None,
            max(inst.pc for inst in insts),
            _does(insts),
            copied=bool(own),
        )

    def _loops(self) -> Iterator[Loop]:
        """All of them, without passes that a copy shows which the compiler made where it unrolled the same loop."""
        of = {header: self._statement(header, body) for header, body in self.flow.loops.items()}
        for header, body in self.flow.loops.items():
            loop = self._loop(header, body)
            copies = (
                self.seen.passes.get(other, ())
                for other, inside in self.flow.loops.items()
                if loop.wanted and of[other] == of[header] is not None and not inside & body
            )
            shown = {count for passes in copies for count in passes}
            yield replace(loop, wanted=tuple(one for one in loop.wanted if not shows(shown, one)))

    def _statement(self, header: int, body: frozenset[int]) -> object:
        """Equal for copies of one loop of the source; None where the compiler gave it no line."""
        place = self._place(self._back(header, body))
        return None if place.source is None or place.near else (place.source, place.inlined_at)

    def _loop(self, header: int, body: frozenset[int]) -> Loop:
        """A loop; its place is the branch that goes round."""
        insts = [inst for pc in sorted(body) for inst in self.flow.blocks[pc]]
        passes = tuple(sorted(self.seen.passes.get(header, ())))
        return Loop(
            self._place(self._back(header, body)), (header, max(i.pc for i in insts)), passes,
            self._skipped(header, body), () if body in self._waiting else _wanted(passes),
        )  # fmt: skip

    def _skipped(self, header: int, body: frozenset[int]) -> bool | None:
        """Whether a wave took the way past the loop at the last branch before it."""
        before = {pc for pc, nexts in self.flow.nexts.items() if header in nexts} - body
        known = {header}
        while len(before) == 1:
            (pc,) = before
            others = [other for other in self.flow.nexts[pc] if other not in known]
            if others:
                return (pc, others[0]) in self.seen.edges
            known.add(pc)
            before = {other for other, nexts in self.flow.nexts.items() if pc in nexts} - known
        return None


def _wanted(passes: Sequence[int]) -> tuple[str, ...]:
    """Numbers of passes that a loop which the sizes govern should be seen with.

    One that always goes round equally often, and more than once, is counted by a constant, or by a size that
    never changes: the sizes say so themselves.
    """
    if not passes or (len(passes) == 1 and passes[0] > 1):
        return ()
    if len(passes) == 1:
        return (AGAIN,)
    seen = {CLASSES[min(count, 3) - 1] for count in passes}
    return tuple(name for name in CLASSES if name not in seen)


def _waits_only(insts: Sequence[Inst]) -> bool:
    """A loop that waits for other waves, tries again, or serves lanes one after the other: its passes tell
    nothing of the problem."""
    names = [inst.name for inst in insts]
    if any("cmpswap" in name for name in names):
        return True
    if any("saveexec" in name for name in names) and _picks_lanes(insts):
        return True
    return not any(
        (Kind.VALU in inst.kind and not inst.name.startswith(_NO_WORK))
        or Kind.STORE in inst.kind
        or (Kind.LDS in inst.kind and not _looks_again(insts, at))
        for at, inst in enumerate(insts)
    )


def _looks_again(insts: Sequence[Inst], at: int) -> bool:
    """An instruction of a loop loads from LDS, from one place however often, and what it gets is compared."""
    inst = insts[at]
    if Kind.LOAD not in inst.kind:
        return False
    written = [{r for operand in other.dst for r in operand.registers()} for other in insts]
    compared = {
        r
        for other in insts
        if other.name.startswith(("v_cmp", "v_readfirstlane"))
        for operand in other.src
        for r in operand.registers()
    }
    if not compared & written[at]:
        return False
    for register in (r for operand in inst.src for r in operand.registers()):
        if not any(register in made for made in written):
            continue
        makers = [other for other, made in zip(insts[:at], written, strict=False) if register in made]
        sources = {r for operand in makers[-1].src for r in operand.registers()} if makers else set()
        if not makers or not makers[-1].name.startswith("v_mov") or any(sources & made for made in written):
            return False
    return True


def _picks_lanes(insts: Sequence[Inst]) -> bool:
    """Lanes are compared with the first one: those that hold the same are served together."""
    first = {
        register
        for inst in insts
        if inst.name.startswith("v_readfirstlane")
        for register in inst.dst[0].registers()
    }
    compared = (inst for inst in insts if inst.name.startswith("v_cmp") and "_eq_" in inst.name)
    return any(first & {*operand.registers()} for inst in compared for operand in inst.src)


def _does_something(insts: Iterable[Inst]) -> bool:
    """It does more than go elsewhere, wait, or fill registers for code that follows, as on the way past a loop."""
    return any(
        inst.kind & _EFFECT
        and Kind.CACHE not in inst.kind
        and not all("_mov_" in half.name for half in inst.pair or (inst,))
        for inst in insts
    )


def _does(insts: Sequence[Inst]) -> str:
    return ", ".join(word for word, kind in _WORDS if any(inst.kind & kind for inst in insts))
