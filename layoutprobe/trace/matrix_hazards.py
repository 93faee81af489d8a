"""What hardware does not wait for by itself: D of a matrix instruction, taken too early by the next.

The rules are rows of the target's family (`MatrixHazard`). Compilers obey them, so that this matters in
assembly. Looked at is the code in its order, without branches: what one iteration leaves to the next is
not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutprobe.arch.isa import MatrixHazard
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import Subject

_OPERANDS = "ABC"
BACK_TO_BACK = Rule(
    "waits/matrix-back-to-back",
    "a matrix instruction takes an operand from D of the one right before it",
    "Some targets do not wait for such a result by themselves (RDNA3 ISA guide, 7.9): the second instruction "
    "may read the old value. Compilers put other instructions between.",
    "in assembly, put a v_nop or what the finding names between the two",
)


def too_early(insts: Mapping[int, Inst], rule: MatrixHazard) -> Iterator[tuple[Inst, Inst, int]]:
    """Matrix instructions that break a rule: the earlier one, the later, and the wait states between."""
    running: dict[int, tuple[Inst, int]] = {}  # by PC, with the wait states since
    for _, inst in sorted(insts.items()):
        if Kind.MATRIX in inst.kind:
            for first, states in running.values():
                if _overlaps(first, inst, rule.takes):
                    yield first, inst, states
        passed = _wait_states(inst, rule.filled_by)
        running = {
            pc: (first, states + passed)
            for pc, (first, states) in running.items()
            if states + passed < rule.wait_states and Kind.FINAL not in inst.kind
        }
        if Kind.MATRIX in inst.kind:
            running[inst.pc] = (inst, 0)


def _wait_states(inst: Inst, filled_by: str) -> int:
    if filled_by == "VALU":
        return int(Kind.VALU in inst.kind)
    return inst.mods["simm16"] + 1 if inst.name == "s_nop" else 1


def _overlaps(first: Inst, second: Inst, takes: tuple[str, ...]) -> bool:
    sources = [second.src[_OPERANDS.index(name)] for name in takes]
    taken = {r for operand in sources if operand.kind in ("v", "a") for r in operand.registers()}
    return not taken.isdisjoint(first.dst[0].registers())


def hazards(subject: Subject) -> Iterator[Finding]:
    """A finding for every pair that breaks a rule of the target."""
    for rule in isa_of(subject.code, subject.kernel).hazards:
        takes = " or ".join(rule.takes)
        for first, second, states in too_early(subject.insts, rule):
            needs = f"{rule.filler} or another VALU instruction"
            if rule.filled_by == "any" or rule.wait_states > 1:
                needs = f"{rule.wait_states} wait states ({rule.filler})"
            yield Finding(
                BACK_TO_BACK,
                f"{second.name} takes {takes} from D of the matrix instruction right before it",
                where(subject, second),
                expected=f"{needs} between PC {first.pc:#x} and PC {second.pc:#x}",
                observed=str(states) if states else "none",
                hint=f"compilers insert the {rule.filler}; in assembly, write it ({rule.source})",
                related=(Related("written by", where(subject, first)),),
            )
