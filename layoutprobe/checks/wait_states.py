"""Law: between two instructions lie the wait states that hardware does not insert by itself."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from layoutprobe.arch.hazards import Hazards, Use
from layoutprobe.checks.base import Check
from layoutprobe.isa.dialect import isa_of
from layoutprobe.observe.wait_states import Violation, WaitStateObserver, WaitStateRecord
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.places import register, site, where
from layoutprobe.trace.subject import Subject

NAME = "wait-states"

EXPLAIN = """\
Of some results hardware does not know that they are not there yet: it neither waits nor reports, and the
next instruction takes what the register held before. On CDNA3 and CDNA4 that goes for D of matrix instructions,
for up to 20 instructions, and with some results of the vector ALU (scalar registers, EXEC, transcendental
functions, parts of registers); on RDNA3 and RDNA4 for D as A or B of the next matrix instruction. Compilers put
s_nop or v_nop between, and cannot see into inline assembly. Along every path that was executed, across
branches, the instructions of each wave are counted from each such result to its first use. Counted are
instructions, not cycles, as LLVM counts them: a wait for memory makes one wait state, however long it takes.
Where no source of the kernel's own holds assembly, too few are the compiler's doing: LLVM counts along one of
several paths that meet, and a taken branch takes longer than one wait state. That is a reservation, no finding.
Evidence: rules by target with their sources in arch/, most of them LLVM's; the paths are those that the
emulator executed. Not looked at: s_setreg before s_getreg, and matrix instructions of CDNA2."""

RESULT = Rule(
    "wait-states/matrix-result",
    "D of a matrix instruction is used before it is there",
    "Hardware does not wait for it: the instruction takes the old value, silently. Compilers insert s_nop (RDNA: "
    "v_nop), but know nothing of matrix instructions in inline assembly.",
    "put the s_nop that the finding names, or independent instructions, between the two",
)
OVERWRITTEN = Rule(
    "wait-states/matrix-overwritten",
    "an operand of a matrix instruction is overwritten while it runs",
    "C is read and D is written many cycles after the instruction was issued, and hardware does not hold back the "
    "one that overwrites them.",
    "put the s_nop that the finding names, or independent instructions, between the two",
)
VECTOR = Rule(
    "wait-states/vector-result",
    "a result of the vector ALU, or M0, is used before it is there",
    "Hardware forwards most results, but not these: the instruction takes the old value, silently.",
    "put the s_nop that the finding names, or independent instructions, between the two",
)

_MATRIX = frozenset((Use.D, Use.F32_D, Use.F64_D, Use.F64_UNIT))
_READ = frozenset((Use.C, Use.STORED))
"""What the earlier instruction reads; all else it writes."""
_VERBS: Mapping[Use, str] = {Use.WRITE: "overwrites", Use.TOUCH: "takes or overwrites", Use.SWAP: "takes"}
_NEEDS = frozenset((Use.MATRIX_EXEC, Use.LANE_EXEC, Use.DPP_EXEC, Use.SWAP_EXEC))


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    hazards = isa_of(subject.code, subject.kernel).hazards
    record = subject.plain().record(WaitStateRecord)
    if not record.binding:
        return CHECK.skipped("no instruction was executed whose result hardware does not wait for")
    by_hand = not record.violations or subject.has_assembly()
    findings = [_finding(subject, violation, hazards) for violation in record.violations if by_hand]
    metrics = {"instructions that bind others": record.binding, "pairs kept apart": record.kept}
    if not record.complete and not findings:
        return CHECK.undecided("the waves take more paths than are followed", metrics=metrics)
    kept = "1 pair of instructions is" if record.kept == 1 else f"{record.kept} pairs of instructions are"
    result = CHECK.found(findings, f"{kept} kept apart", metrics=metrics)
    left = () if by_hand else tuple(_of_compiler(subject, violation) for violation in record.violations)
    return replace(result, reserved=left)


def _of_compiler(subject: Subject, violation: Violation) -> str:
    first, then = site(subject, violation.first), site(subject, violation.then)
    return (
        f"clang itself left {violation.states} of {_states(violation.needed)} between {first} and {then}; "
        "whether a card then takes the old value was not measured"
    )


def _rule(violation: Violation) -> Rule:
    first, then = violation.rule.first, violation.rule.then
    if first is Use.C or (first in _MATRIX and then is Use.WRITE):
        return OVERWRITTEN
    return RESULT if first in _MATRIX else VECTOR


def _finding(subject: Subject, violation: Violation, hazards: Hazards) -> Finding:
    first, then, rule = violation.first, violation.then, violation.rule
    place = where(subject, then, violation.who)
    reads = rule.first in _READ
    what = f"{then.name} follows {first.name} too early, whatever their registers"
    if violation.register >= 0:
        used = register(subject, violation.register)
        verb = "needs" if rule.then in _NEEDS else _VERBS.get(rule.then, "takes")
        what = f"{then.name} {verb} {used} too early after {first.name}, which {'reads' if reads else 'writes'} it"
        place = replace(place, register=used)
    missing = violation.needed - violation.states
    others = "instructions" if hazards.filled_by == "any" else f"{hazards.filled_by} instructions"
    nop = f"s_nop {missing - 1}" if hazards.filled_by == "any" else hazards.filler
    broken = _rule(violation)
    return Finding(
        broken,
        what,
        place,
        expected=f"{_states(violation.needed)} ({hazards.filler}, or other {others}) between "
        f"{site(subject, first)} and {site(subject, then)}",
        observed=_states(violation.states) if violation.states else "none",
        hint=f"add {nop} before {site(subject, then)} ({rule.source})",
        count=violation.waves,
        related=(Related("read by" if reads else "written by", where(subject, first)),),
    )


def _states(count: int) -> str:
    return f"{count} wait state{'' if count == 1 else 's'}"


CHECK = Check(
    NAME,
    "between two instructions lie the wait states that hardware does not insert by itself",
    EXPLAIN,
    run,
    observers=(WaitStateObserver,),
    rules=(RESULT, OVERWRITTEN, VECTOR),
)
