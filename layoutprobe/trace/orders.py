"""Kernels whose workgroups tell each other something through memory: what they do depends on who comes first.

The emulator runs workgroups side by side, as far as they fit: each finds the others about as far as itself. A card
may be through with the first before the last begins, and then others of the kernel's ways are taken: a look-back
finds whole prefixes in place of parts.
"""

from __future__ import annotations

from math import prod

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.lds_flags import asks, polls_of
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

_MEMORY = Kind.GLOBAL | Kind.BUFFER | Kind.FLAT
IN_TURN = RunSpec("integers", in_turn=True)


def in_turn(subject: Subject) -> Recorded | None:
    """The run on small integers in which workgroups come one after the other.

    None where there is nothing to ask, of sampled launches, and where it does not end: a workgroup may wait for one
    that comes later, and cards have both at once.
    """
    if subject.sample or prod(subject.binding.grid) < 2 or asking(subject) is None:
        return None
    recorded = subject.run(IN_TURN, partial=True)
    return recorded if recorded.fault is None else None


def asking(subject: Subject) -> Inst | None:
    """An instruction by which a wave asks what others have done to global memory: a load in a loop that waits, or
    else an atomic that returns what it found; None where none ran."""
    return subject.once(_asking)


def _asking(subject: Subject) -> Inst | None:
    ran = subject.plain().record(Coverage)
    polls = polls_of(ran.flow, _MEMORY)
    asking = (inst for inst in ran.insts if inst.pc in polls or asks(inst, _MEMORY))
    return min(asking, key=lambda inst: inst.pc not in polls, default=None)
