"""Changes of single instructions that a kernel offers: copies of one are one, and the likeliest come first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.gate.excerpts import whole_sources
from layoutprobe.gate.missing_factors import multiplied, rescaled, unread
from layoutprobe.isa.edit import Edit, Known
from layoutprobe.isa.edits import edits
from layoutprobe.isa.inst import Inst
from layoutprobe.manifest.model import Expression
from layoutprobe.numbers import element_type
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.work import Work
from layoutprobe.place import Place
from layoutprobe.trace.arguments import argument_registers
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import Subject

_COPIES = 8
"""Copies of an instruction on one line, of which each is changed alone, too."""
_ALONE = 0.45
"""How much later a change comes that is made to one of several copies."""
_NEAR, _ELSEWHERE = 2.0, 2.0
"""The same for instructions of which the compiler gives no line of their own, and for those of a file of others."""


class Candidate(Struct, frozen=True, eq=False):
    """One change of some copies of an instruction.

    Attributes:
        edits: address -> the change there.
        place: where, in a file of the user's if possible.
        rank: how late it is tried.
        group: number of the instruction that they are copies of.
    """

    edits: Mapping[int, Edit]
    place: Place
    rank: float
    group: int

    @property
    def edit(self) -> Edit:
        """That of the first."""
        return next(iter(self.edits.values()))


class Candidates:
    """Those of one kernel, of what ran in a run.

    Attributes:
        subject: the kernel.
        work: of the run.
    """

    def __init__(self, subject: Subject, work: Work) -> None:
        self.subject, self.work = subject, work
        self._places: dict[int, Place] = {}
        self._files: dict[str, Mapping[int, str]] = {}

    def __iter__(self) -> Iterator[Candidate]:
        """The likeliest first."""
        groups = self._groups()
        found = [candidate for n, group in enumerate(groups) for candidate in self._of_group(n, group)]
        found += self._with_factors(len(groups))
        seen = set[object]()
        # What comes last is the nearest to the output: where two mend it, less else depends on it.
        for candidate in sorted(found, key=lambda one: (one.rank, -max(one.edits))):
            key = (tuple(candidate.edits), candidate.edit.key)
            if key not in seen:
                seen.add(key)
                yield candidate

    def _groups(self) -> list[list[Inst]]:
        """Copies of one instruction: of one line, reached by the same calls, with the same constants."""
        subject = self.subject
        insts, blocks = subject.insts, self.work.blocks
        flow = self.blocks
        groups: dict[object, list[Inst]] = {}
        for start in sorted(blocks):
            for inst in flow[start]:
                place = self._place(inst)
                line = (place.source.file, place.source.line) if place.source else inst.pc
                calls = tuple((call.source.file, call.source.line) for call in place.inlined_at)
                groups.setdefault((line, place.near, calls, inst.name, _pattern(inst)), []).append(
                    insts[inst.pc]
                )
        return list(groups.values())

    @cached_property
    def blocks(self) -> Mapping[int, Sequence[Inst]]:
        """Instructions of the blocks that ran."""
        return self.subject.plain().record(Coverage).flow.blocks

    def _of_group(self, number: int, group: Sequence[Inst]) -> Iterator[Candidate]:
        place = self._shown(self._place(group[0]))
        later = _NEAR * place.near + _ELSEWHERE * (not self._is_own(place))
        known = {inst.pc: {edit.key: edit for edit in edits(inst, self._known(inst))} for inst in group}
        for key, edit in known[group[0].pc].items():
            if all(key in of for of in known.values()):
                yield Candidate({pc: of[key] for pc, of in known.items()}, place, edit.rank + later, number)
        if 1 < len(group) <= _COPIES:
            for inst in group:
                for edit in known[inst.pc].values():
                    at = self._shown(self._place(inst))
                    yield Candidate({inst.pc: edit}, at, edit.rank + later + _ALONE, number)

    def _with_factors(self, number: int) -> Iterator[Candidate]:
        """Factors that may be missing; groups of theirs have numbers from `number` on."""
        insts = self.subject.insts
        blocks = [
            [insts[inst.pc] for inst in self.blocks[start] if inst.pc in insts] for start in self.work.blocks
        ]
        places = {inst.pc: self._place(inst) for block in blocks for inst in block}
        line = {pc: (p.source.file, p.source.line) for pc, p in places.items() if p.source and not p.near}
        idle = unread(insts.values(), self._arguments, self._scalars[1])
        missing = [one for block in blocks for one in rescaled(block, line)]
        for at, one in enumerate((*missing, *multiplied(blocks, line, idle)), number):
            used = "" if one.factor is None else self._shown(places[one.factor.pc]).line
            edits = {pc: replace(e, says=e.says.format(used)) for pc, e in one.edits.items()}
            yield Candidate(edits, self._shown(places[one.about.pc]), next(iter(edits.values())).rank, at)

    def _known(self, inst: Inst) -> Known:
        return Known(*self._scalars, self._arguments.get(inst.pc, {}), self._neighbours(inst), self._extents)

    @cached_property
    def _scalars(self) -> tuple[Sequence[str], Sequence[str]]:
        """Arguments of 32 bits: integers, and floats."""
        binding = self.subject.binding
        kinds = {name: element_type(binding.case.argument(name).dtype) for name in binding.scalars}
        small = [name for name, kind in kinds.items() if kind.storage.itemsize == 4]
        return [n for n in small if not kinds[n].is_float], [n for n in small if kinds[n].is_float]

    @cached_property
    def _extents(self) -> frozenset[str]:
        """Arguments of whose sizes the extents or distances of buffers are made."""
        arguments = self.subject.case.arguments
        used = {
            name
            for one in arguments
            for expression in (*one.shape, *one.strides, *([one.ld] if one.ld else []))
            for name in _names(expression)
        }
        values = {one.name: one.value for one in arguments if isinstance(one.value, Expression)}
        return frozenset(name for name, value in values.items() if used.intersection(_names(value)))

    @cached_property
    def _arguments(self) -> Mapping[int, Mapping[int, str]]:
        subject = self.subject
        return argument_registers(
            subject.kernel, list(subject.insts.values()), [a.name for a in subject.case.arguments]
        )

    def _neighbours(self, inst: Inst) -> Sequence[int]:
        """Vector registers that instructions of the same line read."""
        place = self._place(inst)
        if place.source is None or place.near:
            return ()
        return self._read_on.get((place.source.file, place.source.line), ())

    @cached_property
    def _read_on(self) -> Mapping[tuple[str, int], Sequence[int]]:
        found: dict[tuple[str, int], dict[int, None]] = {}
        for start in sorted(self.work.blocks):
            for inst in self.blocks[start]:
                place = self._place(inst)
                if place.source is None or place.near:
                    continue
                names = found.setdefault((place.source.file, place.source.line), {})
                for half in (inst, *inst.pair):
                    for operand in half.src:
                        if operand.kind == "v" and operand.regs == 1:
                            names[operand.index] = None
        return {line: list(names) for line, names in found.items() if len(names) <= 6}

    def _place(self, inst: Inst) -> Place:
        if inst.pc not in self._places:
            self._places[inst.pc] = where(self.subject, inst)
        return self._places[inst.pc]

    def _is_own(self, place: Place) -> bool:
        return place.source is None or bool(self.text(place))

    def text(self, place: Place) -> str:
        """The line of a place; "" where it is not one of the user's."""
        if place.source is None:
            return ""
        file = place.source.file
        if file not in self._files:
            self._files[file] = whole_sources(self.subject.case, [place]).get(file, {})
        return self._files[file].get(place.source.line, "")

    def _shown(self, place: Place) -> Place:
        """The call in the user's files, where the instruction is one of a header of others."""
        outer = list(place.inlined_at)
        shown = place
        while outer and not self.text(shown):
            call = outer.pop(0)
            shown = replace(place, source=call.source, inlined_at=tuple(outer))
        return shown if self.text(shown) else place


def _names(expression: Expression) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", expression.text)


def _pattern(inst: Inst) -> object:
    return tuple(
        (o.kind, o.index if o.kind == "const" else o.value if o.kind == "literal" else 0, o.fmt, o.neg)
        for half in (inst, *inst.pair)
        for o in half.src
    )
