"""Law: a register is used, and a barrier passed, only after the waits that guarantee the values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.clashes import Clash, LdsRecord
from layoutprobe.observe.counters import spelled, waits
from layoutprobe.observe.lds import LdsObserver
from layoutprobe.observe.waits import Hazard, WaitObserver, WaitRecord
from layoutprobe.report.finding import Finding, Related, Role, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.formal_races import formal_at_barriers
from layoutprobe.trace.missing_barriers import missing_barriers, missing_waits
from layoutprobe.trace.places import register, site, where
from layoutprobe.trace.subject import Subject

NAME = "waits"

EXPLAIN = """\
Memory operations complete later than they are issued; s_waitcnt and s_waitcnt_vscnt, on RDNA4
s_wait_loadcnt and its like, wait for the counters of outstanding ones. Along every path that was
executed, the outstanding operations of each wave are followed through issues and waits. Broken where an
instruction reads a register that an outstanding load has still to write (it gets the old or the new
value), where it writes such a register (the load will overwrite it), and where a wave reaches a barrier
(RDNA4: signals) with an LDS access outstanding whose bytes another wave then touches: the access may
take effect after the barrier. Vector loads (vmcnt, loadcnt) complete in order among themselves, LDS
operations (lgkmcnt, dscnt) too; scalar loads (lgkmcnt, kmcnt) in any order, so that only a wait for 0
covers them. A load from memory to LDS is an LDS access that vmcnt counts: its own wave, too, may touch the
bytes only after a wait. Stores may be outstanding at the end, and at a barrier where nobody touches their
bytes; and a load at a barrier where what it gets is never used, which is seen in a run in which it is undefined.
Compilers insert these waits; what is checked is assembly, inline assembly, and code objects of any
origin. Halves of registers count apart, whichever lanes are active. Global memory that waves of one
workgroup hand each other (vscnt before a barrier) is not looked at here, see races; nor what needs other
instructions between instead of a counter, see wait-states. Evidence: the counters are modelled (RDNA3, RDNA4
and CDNA3 ISA guides; LLVM), the paths are those that the emulator executed."""

EARLY_READ = Rule(
    "waits/read-before-wait",
    "a register is read while the load that writes it is outstanding",
    "The instruction gets the old or the new value, depending on how long the memory takes.",
    "wait for the load (s_waitcnt, on RDNA4 s_wait_loadcnt and its like) before the first use",
)
EARLY_WRITE = Rule(
    "waits/overwritten-before-wait",
    "a register is written while a load that writes it too is outstanding",
    "The load arrives later and overwrites the new value, or does not, depending on how long the memory takes.",
    "wait for the load before the register is used for something else",
)
LATE_ACCESS = Rule(
    "waits/lds-at-barrier",
    "an LDS access is outstanding at the barrier that should order it",
    "A barrier holds waves, not their memory operations: the access may take effect after other waves have "
    "gone on and touched its bytes.",
    "wait for LDS (lgkmcnt(0), on RDNA4 dscnt 0) before the barrier; __syncthreads() does",
)
EARLY_LDS = Rule(
    "waits/lds-before-wait",
    "LDS is loaded or stored to while a load from memory goes there",
    "A load from memory that goes directly to LDS arrives when memory answers, and no LDS access waits for it: what "
    "is loaded is the old or the new value, and what is stored may be overwritten.",
    "wait for the load (s_waitcnt vmcnt) before LDS is touched, also where no other wave does",
)
OVERTAKEN = Rule(
    "waits/lds-overwritten-before-wait",
    "a load from memory goes to LDS while the wave is still loading from there",
    "The two have queues of their own: nothing says that the LDS load is done before memory answers.",
    "wait for the LDS loads (lgkmcnt(0)) before the load from memory is issued",
)


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    recorded = subject.plain()
    record, lds = recorded.record(WaitRecord), recorded.record(LdsRecord)
    if not record.operations:
        return CHECK.skipped("the kernel accesses no memory")
    findings = [_hazard(subject, hazards) for hazards in missing_waits(subject, record.hazards)]
    late = [race for race in lds.races if race.late]
    if any(race.kind == "WAR" for race in late) and formal_at_barriers(subject, lds):
        late = [race for race in late if race.kind != "WAR"]
    findings += [_late(subject, clashes) for clashes in missing_barriers(subject, late)]
    told = {race.first.inst.pc for race in late}  # the wait before the barrier is that of the own wave, too
    early = [clash for clash in lds.early if clash.first.inst.pc not in told]
    findings += [_against_own(subject, clashes) for clashes in missing_barriers(subject, early)]
    metrics = {"memory instructions": record.operations, "loads": record.loads, "waits": record.waits}
    if not record.complete and not findings:
        return CHECK.undecided("the waves take more paths than are followed", metrics=metrics)
    return CHECK.found(findings, f"{record.loads} loads followed to their waits", metrics=metrics)


def _hazard(subject: Subject, hazards: Sequence[Hazard]) -> Finding:
    """One missing wait before uses of registers, shown by the first."""
    hazard = hazards[0]
    more = f"; {len(hazards) - 1} more uses of this or other registers" if len(hazards) > 1 else ""
    name = register(subject, hazard.register)
    load = hazard.pending[0]
    verb = "overwrites" if hazard.writes else "reads"
    why = "which will still overwrite it" if hazard.writes else "which may not have written it yet"
    counting = isa_of(subject.code, subject.kernel).counting
    many = "1 operation" if hazard.outstanding == 1 else f"{hazard.outstanding} operations"
    return Finding(
        EARLY_WRITE if hazard.writes else EARLY_READ,
        f"{hazard.inst.name} {verb} {name} while {load.name} is outstanding, {why}",
        replace(where(subject, hazard.inst, hazard.who), register=name),
        expected=f"{spelled(counting, hazard.counter, hazard.allows)} or less before {site(subject, hazard.inst)}",
        observed=f"{many} of {hazard.counter} outstanding; {_last(subject, hazard)}{more}",
        hint="wait for the load, or move the use behind the wait that is there",
        count=sum(one.waves for one in hazards),
        related=(Related("loaded by", where(subject, load)),),
    )


def _last(subject: Subject, hazard: Hazard) -> str:
    wait: Inst | None = hazard.last_wait
    counting = isa_of(subject.code, subject.kernel).counting
    if wait is not None:
        left = waits(wait, counting)[hazard.counter]
        return f"the wait before it, {site(subject, wait)}, lets {left} be outstanding"
    above = _above(subject, hazard.inst, lambda inst: hazard.counter in waits(inst, counting))
    left = waits(above, counting)[hazard.counter] if above is not None else 0
    if above is None or left <= hazard.allows:
        return f"no wait on {hazard.counter} between the beginning of the block and this place"
    return (
        f"the wait above it in the code, {site(subject, above)}, lets {left} be outstanding, and may let "
        f"{hazard.allows}"
    )


def _above(subject: Subject, inst: Inst, fits: Callable[[Inst], bool]) -> Inst | None:
    """The last instruction of a kind that stands before another one in the code."""
    return max(
        (one for pc, one in subject.insts.items() if pc < inst.pc and fits(one)), key=_pc, default=None
    )


def _to_barriers(subject: Subject, inst: Inst) -> list[Inst]:
    """What control flow can come to from an instruction up to barriers, the nearest first; with these."""
    waiting, found = deque([inst.next_pc]), dict[int, Inst]()
    while waiting:
        pc = waiting.popleft()
        one = subject.insts.get(pc)
        if one is None or pc in found:
            continue
        found[pc] = one
        if Kind.ARRIVE in one.kind:
            continue
        if Kind.BRANCH in one.kind:
            waiting.append(one.branch_target)
        if Kind.FINAL not in one.kind:
            waiting.append(one.next_pc)
    return list(found.values())


def _wait_at(subject: Subject, way: Sequence[Inst], barrier: Inst, counter: str) -> Inst | None:
    """The wait that a barrier relies on: on the way to it one that lets some of a counter be outstanding, or else one
    that waits for others in the same assembly statement."""
    counting, line_of = isa_of(subject.code, subject.kernel).counting, subject.code.lines.find
    asking = [one for one in way if counter in waits(one, counting)]
    if asking:
        return next((one for one in asking if waits(one, counting)[counter]), None)
    before = sorted((one for pc, one in subject.insts.items() if pc < barrier.pc), key=_pc)[-_BEFORE:]
    beside = (one for one in reversed(before) if waits(one, counting))
    return next((one for one in beside if line_of(one.pc) == line_of(barrier.pc)), None)


_BEFORE = 3
"""Instructions that may stand between a wait and its barrier, and the wait."""


def _pc(inst: Inst) -> int:
    return inst.pc


def _late(subject: Subject, clashes: Sequence[Clash]) -> Finding:
    """One missing wait before a barrier."""
    shown = clashes[0]
    first, second = shown.first, shown.second
    access = "load" if shown.kind == "WAR" else "store"
    effect = {"RAW": "reads", "WAR": "overwrites", "WAW": "overwrites"}[shown.kind]
    isa = isa_of(subject.code, subject.kernel)
    needed = isa.counting.loads if first.inst.to_lds else isa.counting.lds
    way = _to_barriers(subject, first.inst)
    below = next((one for one in way if Kind.ARRIVE in one.kind), None)
    bare, barrier = ("s_barrier_signal", "") if isa.split_barrier else ("s_barrier", "the barrier, ")
    barrier += site(subject, below) if below is not None else bare
    loose = _wait_at(subject, way, below, needed) if below is not None else None
    so = _looseness(waits(loose, isa.counting).get(needed), needed) if loose is not None else ""
    place = replace(where(subject, first.inst, first.who), lds_byte=shown.byte)
    led = tuple[Related, ...]()
    if loose is not None:
        role: Role = "loaded by" if access == "load" else "stored by"
        place, led = replace(where(subject, loose, first.who), lds_byte=shown.byte), (Related(role, place),)
    return Finding(
        LATE_ACCESS,
        f"an LDS {access} is outstanding at the barrier, and wave {second.who.wave} {effect} its byte after it{so}",
        place,
        expected=f"{spelled(isa.counting, needed, 0)} between {site(subject, first.inst)} and {barrier}",
        observed=f"the {access} of wave {first.who.wave} may take effect after {site(subject, second.inst)} "
        f"of wave {second.who.wave}",
        hint=f"__syncthreads() waits by itself; a bare {bare} does not",
        count=sum(c.count for c in clashes),
        related=(*led, Related("used by", where(subject, second.inst, second.who))),
    )


def _looseness(left: int | None, counter: str) -> str:
    """What is wrong with a wait that lets so much of a counter be outstanding; None where it asks for others."""
    counts = (
        f"lets {left} of {counter} be" if left is not None else f"does not ask for {counter}, which may be"
    )
    return f": the wait before it {counts} outstanding"


def _against_own(subject: Subject, clashes: Sequence[Clash]) -> Finding:
    """One missing wait between a load from memory to LDS and an LDS access of the same wave."""
    shown = min(clashes, key=lambda c: (c.kind == "WAR", abs(c.second.inst.pc - c.first.inst.pc)))
    first, second = shown.first, shown.second
    counting = isa_of(subject.code, subject.kernel).counting
    wait = spelled(counting, counting.lds if shown.kind == "WAR" else counting.loads, 0)
    verb = {"RAW": "reads", "WAR": "goes to", "WAW": "overwrites"}[shown.kind]
    what = (
        "that the wave is still loading from"
        if shown.kind == "WAR"
        else f"to which {first.inst.name} is outstanding"
    )
    return Finding(
        OVERTAKEN if shown.kind == "WAR" else EARLY_LDS,
        f"{second.inst.name} {verb} LDS {what}",
        replace(where(subject, second.inst, second.who), lds_byte=shown.byte),
        expected=f"{wait}, or as many as were issued later, between {site(subject, first.inst)} and "
        f"{site(subject, second.inst)}",
        observed=f"none that is strict enough; {len(clashes)} pair(s) of instructions",
        hint="no instruction waits for its operands in LDS by itself, and a barrier does not wait for loads",
        count=sum(c.count for c in clashes),
        related=(Related("loaded by", where(subject, first.inst, first.who)),),
    )


CHECK = Check(
    NAME,
    "a register is used, and a barrier passed, only after the waits that guarantee the values",
    EXPLAIN,
    run,
    observers=(WaitObserver, LdsObserver),
    rules=(EARLY_READ, EARLY_WRITE, LATE_ACCESS, EARLY_LDS, OVERTAKEN),
)
