"""The one hazard that RDNA3 leaves to the compiler: D of a matrix instruction as A or B of the next.

RDNA3 ISA guide, 7.9: between the two, a v_nop or another VALU instruction is needed; hardware does
not wait by itself. Compilers insert it, so that this matters in assembly. Looked at is the code in its
order, without branches: what one iteration leaves to the next is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutprobe.isa.dialect import dialect_of
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.report.finding import Finding
from layoutprobe.trace.places import site, where
from layoutprobe.trace.subject import Subject


def back_to_back(insts: Mapping[int, Inst]) -> Iterator[tuple[Inst, Inst]]:
    """Pairs of matrix instructions, the second of which takes A or B from D of the first too early."""
    last: Inst | None = None
    for _, inst in sorted(insts.items()):
        if Kind.MATRIX in inst.kind:
            if last is not None and _overlaps(last, inst):
                yield last, inst
            last = inst
        elif inst.kind & (Kind.VALU | Kind.FINAL):
            last = None


def _overlaps(first: Inst, second: Inst) -> bool:
    taken = {r for operand in second.src[:2] if operand.kind == "v" for r in operand.registers()}
    return not taken.isdisjoint(first.dst[0].registers())


def hazards(subject: Subject, check: str) -> Iterator[Finding]:
    """A finding for every such pair; none but on RDNA3, whose guide has the rule."""
    if dialect_of(subject.code, subject.kernel).generation != "rdna3":
        return
    for first, second in back_to_back(subject.insts):
        yield Finding(
            check,
            f"{second.name} takes A or B from D of the matrix instruction right before it",
            where(subject, second, None),
            expected=f"v_nop or another VALU instruction between PC {first.pc:#x} and PC {second.pc:#x}",
            observed="none",
            hint="compilers insert the v_nop; in assembly, write it (RDNA3 ISA guide, 7.9)",
            came_from=f"{site(subject, first)}, PC {first.pc:#x}",
        )
