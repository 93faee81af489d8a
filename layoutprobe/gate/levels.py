"""The same source, optimised less: whether a kernel that takes an address or a branch from nowhere is right then.

The source may have no path on which that happens: then a compiler went wrong, or the source leaves something open
that one level settles by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.engine.base import DEFAULT_BUDGET
from layoutprobe.errors import ProbeError
from layoutprobe.gate.build import build
from layoutprobe.gate.mending import Judge
from layoutprobe.gate.tally import Tally
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.faults import NO_ADDRESS
from layoutprobe.manifest.files import ASSEMBLY
from layoutprobe.report.finding import Finding
from layoutprobe.toolchain.cache import nothing_kept
from layoutprobe.trace.subject import RunStoppedError, UndecidedError

LEVEL = "-O1"
_UNDEFINED = ("undefined-address", "undefined-control")


def from_nowhere(found: Finding) -> bool:
    """It is about an address or a branch that no value of the kernel gives."""
    return found.name in _UNDEFINED or NO_ADDRESS in (found.observed or "")


def otherwise_compiled(tally: Tally, judge: Judge, findings: Sequence[Finding]) -> dict[int, Finding]:
    """Findings (by identity) with what a lower level of optimisation makes of them; none where all goes wrong there,
    too.

    Args:
        tally: of the kernel.
        judge: says whether a kernel holds.
        findings: that may be explained.
    """
    case = tally.case
    wild = [found for found in findings if from_nowhere(found)]
    if not wild or case.source is None or case.source.suffix.lower() in ASSEMBLY:
        return {}
    if any(flag.startswith("-O") for flag in case.flags) or not _holds(tally, judge, wild[0]):
        return {}
    insts = tally.load_insts()
    return {id(found): _told(found, insts) for found in wild}


def _holds(tally: Tally, judge: Judge, found: Finding) -> bool:
    """Whether the kernel holds at the lower level: at the size at hand, and then everywhere."""
    case = replace(tally.case, flags=(*tally.case.flags, LEVEL))
    size = dict((found.sizes or (found.place.size,))[0]) or case.sizes[0]
    asked = [check for check in judge.checks if check.name == found.check]
    try:
        with nothing_kept():
            built = build(case, tally.built.code.target)
            backend = EmulatorBackend(budget=case.limits.instructions or DEFAULT_BUDGET)
            first = Tally(case, built, asked, backend, judge.reference, lambda *_: None, draw=False)
            if any(result.findings for result in first.at(size).results.values()):
                return False
            return judge.whole(case).exit_code == 0
    except (ProbeError, RunStoppedError, UndecidedError, MemoryError):
        return False


def _told(found: Finding, insts: Mapping[int, Inst]) -> Finding:
    inst = insts.get(found.place.pc or 0)
    registers = [name for name in map(_named, inst.src if inst is not None else ()) if name]
    what = f"the address ({' and '.join(registers)})" if registers else "what is decided"
    hint = (
        f"compiled with {LEVEL} every check holds at all sizes: on the path that was taken {what} is made of "
        "registers that were not set for it, and the source need not have such a path. Compare the assembly of the "
        f'two (`flags = ["{LEVEL}"]`): either the compiler is wrong, or the source leaves something open, as a '
        "variable that is not initialised"
    )
    return replace(found, hint=hint)


def _named(operand: Operand) -> str:
    """ "v[5:6]"; "" for what is no register."""
    if operand.kind not in ("v", "s"):
        return ""
    first, last = operand.index, operand.index + operand.regs - 1
    return f"{operand.kind}{first}" if first == last else f"{operand.kind}[{first}:{last}]"
