"""Wait states: what the code must keep between two instructions, as hardware does not wait.

The emulator takes results at once, so nothing of this shows in its results. Beside the execution, every wave
carries those of its last instructions that a rule of its instruction set still binds, each with the wait
states since, along whatever path it takes (`paths`). Rules are rows of `arch`; what an instruction does with
which register is told in `uses`. Which VGPRs M0 picks is known when an instruction executes: then the rest of its
block is looked at once more, and who writes such a register binds under a number of its own.

After a violation the wave goes on as if the missing wait states had been there, so that one missing s_nop is
one violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import Isa
from layoutprobe.arch.hazards import Hazard, Hazards
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Band, Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Block, Program
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.paths import Passage, Paths
from layoutprobe.observe.uses import Uses, passes_of, uses
from layoutprobe.observe.who import Who, who_is

Recent = tuple[tuple[int, int], ...]
"""PCs of instructions that bind the next ones, and the wait states since; oldest first."""
_NOP = 0xF
_ROWS = 10
"""Bits that number a VGPR."""


class Violation(Struct, eq=False):
    """An instruction that comes too early.

    Attributes:
        first, then: the earlier instruction, and the one that should have waited.
        rule: which.
        register: one that both use, as `isa.inst` numbers them; negative where it is none.
        needed, states: wait states that must lie between, and those that do.
        who: the first wave that did it.
        waves: how often waves did it.
    """

    first: Inst
    then: Inst
    rule: Hazard
    register: int
    needed: int
    states: int
    who: Who | None = None
    waves: int = 0


class WaitStateRecord(Struct, frozen=True):
    """What was seen.

    Attributes:
        violations: one per pair of instructions, in the order in which they happened.
        kept: pairs of instructions that are bound by a rule, near each other, and keep it.
        binding: executed instructions that bind others.
        complete: False where the waves took more paths than are followed.
    """

    violations: tuple[Violation, ...]
    kept: int
    binding: int
    complete: bool


class _Site(Struct, frozen=True, eq=False):
    """An instruction as the rules see it.

    Attributes:
        does: its uses.
        binds: rules whose earlier instruction it may be, with the wait states that they need.
        longest: the most of these.
        states: wait states that it makes itself.
    """

    inst: Inst
    does: Uses
    binds: tuple[tuple[Hazard, int], ...]
    longest: int
    states: int


class _Quiet(Struct, frozen=True, eq=False):
    """What a block does where no instruction comes too early.

    Attributes:
        passage: from one state to the next.
        sites: its instructions, by PC.
        kept: pairs of PCs that a rule binds, and that keep it.
    """

    passage: Passage[Recent]
    sites: Mapping[int, _Site]
    kept: set[tuple[int, int]]


@lru_cache(maxsize=8)
def _quiet_in(program: Program) -> dict[tuple[Block, Recent], _Quiet]:
    """What is known of a program: the same in each launch, and at every size."""
    return {}


class WaitStateObserver(Recorder):
    """Watches for instructions that come too early."""

    def __init__(self) -> None:
        self._paths: Paths[Recent] = Paths((), self._through)
        self._sites: dict[int, _Site] = {}
        self._violations: dict[tuple[int, int], Violation] = {}
        self._kept: set[tuple[int, int]] = set()
        self._isa: Isa | None = None
        self._hazards = Hazards(())
        self._quiet: dict[tuple[Block, Recent], _Quiet] = {}
        self._indexing: list[Block] = []  # those in which M0 picks VGPRs

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._isa = isa_of(program.code, program.kernel)
        self._hazards = self._isa.hazards
        self._quiet = _quiet_in(program)
        self._paths.batch(machine)

    def block(self, c: Band, block: Block) -> None:
        """See Observer."""
        if self._hazards.rules:
            self._paths.block(c, block)

    def indexed(self, c: Cohort, inst: Inst, waves: NDArray[np.int64], done: Inst) -> None:
        """M0 picks VGPRs for waves."""
        if not self._hazards.rules:
            return
        block = next(known for known in self._indexing if any(one.pc == inst.pc for one in known.listing))
        at = next(n for n, one in enumerate(block.listing) if one.pc == inst.pc)
        key, site = self._picked(inst, done)
        for recent, its in self._paths.entered(waves):
            for one in block.listing[:at]:
                recent, _ = self._behind(self._sites[one.pc], recent)
            self._seen(c, its, self._worst(site, recent))
        left: Recent = ((key, 0),) if site.longest else ()
        for one in block.listing[at + 1 :]:
            left, violation = self._behind(self._sites[one.pc], left, binds=False)
            self._seen(c, waves, violation)
        if left:
            self._paths.amend(waves, lambda recent: tuple(sorted({*recent, *left}, key=lambda one: -one[1])))

    def _picked(self, inst: Inst, done: Inst) -> tuple[int, _Site]:
        """What an instruction does to the registers that M0 picks, and the number under which it binds."""
        assert self._isa is not None
        plain, every = uses(inst, self._isa), uses(done, self._isa)
        site = self._made(
            inst, {use: registers - plain.get(use, frozenset()) for use, registers in every.items()}
        )
        key = -1 - (inst.pc << _ROWS | (done.dst[0].index if done.dst else 0))
        self._sites[key] = site
        return key, site

    def _seen(self, c: Cohort, waves: NDArray[np.int64], violation: Violation | None) -> None:
        if violation is not None:
            violation.who = violation.who or who_is(c.machine, int(waves[0]))
            violation.waves += len(waves)

    def record(self) -> WaitStateRecord:
        """See Recorder."""
        binding = len({site.inst.pc for site in self._sites.values() if site.binds})
        violations = tuple(self._violations.values())
        kept = len(self._kept - self._violations.keys())
        return WaitStateRecord(violations, kept, binding, self._paths.complete)

    def _through(self, block: Block, recent: Recent) -> Passage[Recent]:
        key = block, recent
        if key not in self._quiet:
            kept, passage = self._walked(block, recent)
            if passage.seen or block in self._indexing:
                return passage
            self._quiet[key] = _Quiet(
                passage, {inst.pc: self._sites[inst.pc] for inst in block.listing}, kept
            )
        known = self._quiet[key]
        self._sites.update(known.sites)
        self._kept |= known.kept
        return known.passage

    def _walked(self, block: Block, recent: Recent) -> tuple[set[tuple[int, int]], Passage[Recent]]:
        """What a block does to the instructions that bind, and the pairs that keep a rule."""
        seen: list[Violation] = []
        others, self._kept = self._kept, set()
        if block not in self._indexing and any(picks_registers(inst) for inst in block.listing):
            self._indexing.append(block)
        for inst in block.listing:
            recent, violation = self._behind(self._sites.get(inst.pc) or self._site(inst), recent)
            if violation is not None:
                seen.append(violation)
        kept, self._kept = self._kept, others | self._kept
        return kept, Passage(recent, tuple(seen))

    def _behind(self, site: _Site, recent: Recent, *, binds: bool = True) -> tuple[Recent, Violation | None]:
        """What binds behind an instruction, and what it breaks; it may bind those behind it itself."""
        violation = self._worst(site, recent)
        passed = site.states
        if violation is not None:
            passed += violation.needed - violation.states
        aged = ((pc, states + passed) for pc, states in recent)
        recent = tuple((pc, states) for pc, states in aged if states <= self._sites[pc].longest)
        return (*recent, (site.inst.pc, 0)) if binds and site.longest else recent, violation

    def _site(self, inst: Inst) -> _Site:
        assert self._isa is not None
        concerned = Kind.MATRIX in inst.kind or not self._hazards.of_matrices
        site = self._sites[inst.pc] = self._made(inst, uses(inst, self._isa) if concerned else {})
        return site

    def _made(self, inst: Inst, does: Uses) -> _Site:
        assert self._isa is not None
        passes = passes_of(inst, self._isa)
        bound = [(rule, rule.needed(passes)) for rule in self._hazards.rules if rule.first in does]
        binds = tuple((rule, needed) for rule, needed in bound if needed)
        longest = max((needed for _, needed in binds), default=0)
        return _Site(inst, does, binds, longest, self._makes(inst))

    def _makes(self, inst: Inst) -> int:
        if self._hazards.filled_by == "VALU":
            return int(Kind.VALU in inst.kind)
        return (inst.mods["simm16"] & _NOP) + 1 if inst.name == "s_nop" else 1

    def _worst(self, site: _Site, recent: Recent) -> Violation | None:
        """Of the rules that an instruction breaks, the one that misses most."""
        worst: Violation | None = None
        for pc, states in recent:
            first = self._sites[pc]
            for rule, needed in first.binds:
                register = _shared(first, site, rule)
                if register is None:
                    continue
                pair = pc, site.inst.pc
                if states >= needed:
                    self._kept.add(pair)
                elif worst is None or needed - states > worst.needed - worst.states:
                    worst = Violation(first.inst, site.inst, rule, register, needed, states)
        if worst is None:
            return None
        return self._violations.setdefault((worst.first.pc, worst.then.pc), worst)


def _shared(first: _Site, then: _Site, rule: Hazard) -> int | None:
    """The first register that binds two instructions by a rule."""
    used = then.does.get(rule.then)
    if used is None:
        return None
    made = first.does[rule.first]
    both = made & used
    if not both:
        return None
    if rule.link != "any":
        chained = _accumulates(first.inst, then.inst) and made == used
        if chained != (rule.link == "chain"):
            return None
    return min(both)


def _accumulates(first: Inst, then: Inst) -> bool:
    """The same instruction, whether or not it scales."""
    return first.name.replace("_scale_", "_") == then.name.replace("_scale_", "_")
