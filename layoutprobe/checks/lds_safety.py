"""Law: what is read from LDS was stored before, as far as it matters, and no access leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.faults import fault_rules
from layoutprobe.observe.lds_traffic import Passage
from layoutprobe.observe.undefined import UndefinedLoad, UndefinedObserver, UndefinedRecord, UndefinedUse
from layoutprobe.observe.who import Who
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.places import in_caller, vector, where
from layoutprobe.trace.subject import Recorded, Subject
from layoutprobe.trace.traffic import traffic_of

NAME = "lds-safety"

EXPLAIN = """\
LDS starts undefined in every workgroup, bit by bit. Copying an undefined value is legal, as in
memcheck: the last tile of a ragged problem may hold rows that nobody stored and nobody needs. What
counts is an undefined value from LDS that reaches the output, most often through a matrix operand; one
finding is made per operand (or else per source line that loads such values), with the byte and what of
LDS had been stored. One that reaches an address or a branch stops the run, and is reported as `memory`.
An LDS access out of bounds, or an atomic off its alignment, stops the run and is a finding of this
check. On a card, reads out of bounds give 0 and writes are dropped, silently. Bytes of an earlier tile
that were never replaced are defined: that they are the wrong ones is found by operand-provenance.
Seen is what was executed at this size. Evidence: emulated."""

UNDEFINED_READ = Rule(
    "lds-safety/undefined-read",
    "LDS that was never stored is read, and the value reaches the output",
    "LDS keeps what an earlier workgroup left in it. Results then differ from run to run, and often look right "
    "in a test that runs alone.",
    "look for the store that should have filled the byte: its bounds test, its stride, the threads that take "
    "part; fill the tail of a ragged tile with zeros",
)


_DEFINED = "all that was loaded had been stored"


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    recorded = subject.plain()
    record = recorded.record(UndefinedRecord)
    if not _has_lds(subject):
        return CHECK.skipped("the kernel uses no LDS")
    if early := next((fault for fault in recorded.astray if fault.kind.startswith("undefined")), None):
        return CHECK.undecided(f"{early.what} ({early.place.site}): the run went on with zeros in LDS")
    metrics = {
        "LDS loads": record.lds_loads,
        "loads of undefined bits": len(record.loads),
        "matrix operands with undefined bits": len(record.operands),
    }
    findings = _findings(subject, recorded, record)
    reason = _DEFINED
    if record.loads:
        reason = "undefined bits were loaded, and none of them reached the output"
    return CHECK.found(findings, "" if findings else reason, metrics=metrics)


def cleared(subject: Subject) -> CheckResult:
    """See Check."""
    return CHECK.holds(_DEFINED) if _has_lds(subject) else CHECK.skipped("the kernel uses no LDS")


def _has_lds(subject: Subject) -> bool:
    return bool(subject.kernel.descriptor.group_segment_size or subject.binding.dynamic_lds)


def _findings(subject: Subject, recorded: Recorded, record: UndefinedRecord) -> list[Finding]:
    """One per matrix operand that loads filled with undefined bits that came out, or else per source line."""
    if not record.loads or not record.stores or not recorded.undefined:
        return []
    used = {use.load.pc for use in (*record.operands, *record.stores) if use.load is not None}
    guilty = [load for load in record.loads if load.inst.pc in used] or list(record.loads)
    operand: dict[int | str, str] = {}
    for use in record.operands:
        if use.load is not None:
            operand.setdefault(use.load.pc, use.role)
            operand.setdefault(subject.line(use.load.pc), use.role)
    causes: dict[str, list[UndefinedLoad]] = {}
    for load in guilty:
        line = subject.line(load.inst.pc)
        causes.setdefault(operand.get(load.inst.pc) or operand.get(line) or line, []).append(load)
    return [_finding(subject, recorded, record, loads) for loads in causes.values()]


def _finding(
    subject: Subject, recorded: Recorded, record: UndefinedRecord, loads: Sequence[UndefinedLoad]
) -> Finding:
    load = loads[0]
    sites = {one.inst.pc for one in loads}
    use = next((u for u in record.operands if u.load is not None and u.load.pc in sites), None)
    outputs = ", ".join(
        f"{(bits != 0).sum()} elements of {name}" for name, bits in recorded.undefined.items()
    )
    read = replace(where(subject, load.inst, load.who), lds_byte=load.byte, **_operand(subject, use))
    used = (Related("used by", where(subject, use.inst, use.who)),) if use else ()
    if (stored := _stored_by(subject, load, load.byte)) is not None:
        return Finding(
            UNDEFINED_READ,
            f"{stored.instruction} stores registers to LDS that nothing has given a value, and what "
            f"{load.inst.name} reads of them reaches the output",
            replace(in_caller(subject, stored), lds_byte=load.byte, matrix=use.role if use else ""),
            expected="a value in every register that is stored",
            observed=f"byte {load.byte} of LDS is stored, and undefined; undefined: {outputs}",
            hint="look for the branch on which a value is set, and give it one on the other, too: zeros for what "
            "lies outside",
            count=sum(one.count for one in loads),
            related=(Related("loaded by", read), *used),
        )
    beside = _stored_beside(subject, load)
    return Finding(
        UNDEFINED_READ,
        f"{load.inst.name} reads LDS that was never stored, and the value reaches the output",
        read,
        expected="a store to every byte before it is read",
        observed=f"{_neighbours(load)}; undefined: {outputs}",
        hint="look for the store that should have filled this byte: its bounds test, its stride, the "
        "threads that take part; fill the tail of a ragged tile with zeros",
        count=sum(one.count for one in loads),
        related=(*used, *((Related("neighbour stored by", beside),) if beside else ())),
    )


def _operand(subject: Subject, use: UndefinedUse | None) -> dict[str, Any]:
    return {"matrix": use.role, "register": vector(subject, use.vgpr)} if use else {}


def _stored_beside(subject: Subject, load: UndefinedLoad) -> Place | None:
    """The store of what lies nearest to the byte: where it ends too early, the fault is there."""
    near = load.below if load.below is not None else load.above
    return None if near is None else _stored_by(subject, load, near)


def _stored_by(subject: Subject, load: UndefinedLoad, byte: int) -> Place | None:
    """The last store to a byte before a load that has brought undefined bits; None where there is none, or nobody has
    watched."""
    group = load.who.workgroup
    traffic = traffic_of(subject, group)
    before = takewhile(lambda one: not _is_of(one, load), traffic.passages if traffic else ())
    found = next((one for one in reversed([*before]) if one.store and one.lanes(byte).size), None)
    if found is None:
        return None
    who = Who(group, found.wave, int(found.lanes(byte)[0]))
    return where(subject, subject.insts[found.pc], who)


def _is_of(passage: Passage, load: UndefinedLoad) -> bool:
    """Whether it is the load that has brought the byte."""
    return (
        passage.pc == load.inst.pc and passage.wave == load.who.wave and bool(passage.lanes(load.byte).size)
    )


def _neighbours(load: UndefinedLoad) -> str:
    if load.below is None and load.above is None:
        return "nothing of LDS had been stored"
    below = f"up to byte {load.below}" if load.below is not None else ""
    above = f"from byte {load.above} on" if load.above is not None else ""
    return "around it, LDS had been stored " + " and ".join(filter(None, (below, above)))


CHECK = Check(
    NAME,
    "what is read from LDS and matters was stored before, and no access leaves LDS",
    EXPLAIN,
    run,
    observers=(UndefinedObserver,),
    rules=(UNDEFINED_READ, *fault_rules(NAME)),
    cleared=cleared,
)
