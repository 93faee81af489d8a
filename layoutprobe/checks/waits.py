"""Law: a register is used, and a barrier passed, only after the waits that guarantee the values."""

from __future__ import annotations

from collections.abc import Sequence

from layoutprobe.checks.base import Check
from layoutprobe.checks.matrix_hazard import hazards
from layoutprobe.checks.races import missing_barriers
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import Inst
from layoutprobe.observe.counters import spelled, waits
from layoutprobe.observe.lds import Clash, LdsObserver, LdsRecord
from layoutprobe.observe.waits import Hazard, WaitObserver, WaitRecord
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.places import register_name, site, where
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
covers them. Stores may be outstanding at the end, and at a barrier where nobody touches their bytes.
Compilers insert these waits; what is checked is assembly, inline assembly, and code objects of any
origin. Halves of registers count apart, whichever lanes are active. Global memory that waves of one
workgroup hand each other (vscnt before a barrier) is not looked at here, see races. Of hazards that need
other instructions instead of counters, one is found: D of a matrix instruction that is A or B of the
next, with no VALU instruction between (RDNA3). Evidence: the counters are modelled (RDNA3 and RDNA4 ISA
guides; LLVM), the paths are those that the emulator executed."""


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    recorded = subject.plain()
    record, lds = recorded.record(WaitRecord), recorded.record(LdsRecord)
    if not record.operations:
        return CHECK.skipped("the kernel accesses no memory")
    findings = [_hazard(subject, hazard) for hazard in record.hazards]
    findings += [_late(subject, c) for c in missing_barriers(subject, [r for r in lds.races if r.late])]
    findings += hazards(subject, NAME)
    metrics = {"memory instructions": record.operations, "loads": record.loads, "waits": record.waits}
    if not record.complete and not findings:
        return CHECK.undecided("the waves take more paths than are followed", metrics=metrics)
    return CHECK.found(findings, f"{record.loads} loads followed to their waits", metrics=metrics)


def _hazard(subject: Subject, hazard: Hazard) -> Finding:
    name = register_name(hazard.register)
    load = hazard.pending[0]
    verb = "overwrites" if hazard.writes else "reads"
    why = "which will still overwrite it" if hazard.writes else "which may not have written it yet"
    counting = isa_of(subject.code, subject.kernel).counting
    place = where(subject, hazard.inst, hazard.who)
    key = "VGPR" if name.startswith("v") and name[1:].isdigit() else "SGPR"
    return Finding(
        NAME,
        f"{hazard.inst.name} {verb} {name} while {load.name} is outstanding, {why}",
        place | {key: int(name[1:]) if name[1:].isdigit() else name},
        expected=f"{spelled(counting, hazard.counter, hazard.allows)} or less before {site(subject, hazard.inst)}",
        observed=f"{hazard.outstanding} operations of {hazard.counter} outstanding; {_last(subject, hazard)}",
        hint="wait for the load, or move the use behind the wait that is there",
        count=hazard.waves,
        came_from=site(subject, load),
    )


def _last(subject: Subject, hazard: Hazard) -> str:
    wait: Inst | None = hazard.last_wait
    if wait is None:
        return f"no wait on {hazard.counter} between the beginning of the block and this place"
    left = waits(wait, isa_of(subject.code, subject.kernel).counting)[hazard.counter]
    return f"the wait before it, {site(subject, wait)}, lets {left} be outstanding"


def _late(subject: Subject, clashes: Sequence[Clash]) -> Finding:
    """One missing wait before a barrier."""
    shown = clashes[0]
    first, second = shown.first, shown.second
    access = "load" if shown.kind == "WAR" else "store"
    effect = {"RAW": "reads", "WAR": "overwrites", "WAW": "overwrites"}[shown.kind]
    isa = isa_of(subject.code, subject.kernel)
    bare, barrier = ("s_barrier_signal",) * 2 if isa.split_barrier else ("s_barrier", "the barrier")
    wait = spelled(isa.counting, isa.counting.lds, 0)
    return Finding(
        NAME,
        f"an LDS {access} is outstanding at the barrier, and wave {second.who.wave} {effect} its byte after it",
        where(subject, first.inst, first.who) | {"LDS byte": shown.byte},
        expected=f"{wait} between {site(subject, first.inst)} and {barrier}",
        observed=f"the {access} of wave {first.who.wave} may take effect after {site(subject, second.inst)} "
        f"of wave {second.who.wave}",
        hint=f"__syncthreads() waits by itself; a bare {bare} does not",
        count=sum(c.count for c in clashes),
        came_from=site(subject, first.inst),
    )


CHECK = Check(
    NAME,
    "a register is used, and a barrier passed, only after the waits that guarantee the values",
    EXPLAIN,
    run,
    observers=(WaitObserver, LdsObserver),
)
