"""Kernels whose workgroups tell each other something through memory: what they do depends on who comes first.

The emulator runs workgroups side by side, as far as they fit: each finds the others about as far as itself. A card
may be through with the first before the last begins, and then others of the kernel's ways are taken: a look-back
finds whole prefixes in place of parts. Or the first is held up, and a look-back that does not wait for it finds
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.happens_before import coherent
from layoutprobe.observe.lds_flags import asks, polls_of
from layoutprobe.trace.subject import Recorded, RecorderFactory, RunSpec, Subject

ONE_BY_ONE, LAST_FIRST = "one workgroup after the other", "the last workgroup first"
"""Orders of workgroups, beside all at once; see `engine.base`."""
_MEMORY = Kind.GLOBAL | Kind.BUFFER | Kind.FLAT


def in_other_orders(subject: Subject, *observers: RecorderFactory) -> Iterator[Recorded]:
    """The runs on small integers in which workgroups come in other orders.

    None where there is nothing to ask, of sampled launches, of a launch that happened elsewhere, and where one does
    not end: a workgroup may wait for one that comes later, and cards have both at once.
    """
    if not any(isinstance(record, Coverage) for record in subject.plain(partial=True).records):
        return
    if subject.sample or prod(subject.binding.grid) < 2 or asking(subject, "") is None:
        return
    for order in (ONE_BY_ONE, LAST_FIRST):
        recorded = subject.run(RunSpec("integers", observers, order=order), partial=True)
        if recorded.fault is None:
            yield recorded


def signals(inst: Inst) -> bool:
    """A workgroup may tell another one something by it, or be told."""
    return Kind.ATOMIC in inst.kind or (
        Kind.LOAD in inst.kind and Kind.LDS not in inst.kind and coherent(inst)
    )


def asking(subject: Subject, order: str) -> Inst | None:
    """An instruction by which a wave asks what others have done to global memory; None where none ran.

    A load in a loop that waits, else an atomic that returns what it found. Where others are late, a load that looks
    once comes first.
    """
    polls, once, atomics = subject.once(_asking)
    candidates = (*once, *polls) if order == LAST_FIRST else polls
    return next(iter((*candidates, *atomics)), None)


def _asking(subject: Subject) -> tuple[tuple[Inst, ...], tuple[Inst, ...], tuple[Inst, ...]]:
    """Loads that wait, loads from behind the caches that do not, and atomics that return."""
    ran = subject.plain().record(Coverage)
    found = polls_of(ran.flow, _MEMORY)
    polls = tuple(inst for inst in ran.insts if inst.pc in found)
    loads = (
        inst for inst in ran.insts if Kind.LOAD in inst.kind and inst.kind & _MEMORY and inst.pc not in found
    )
    atomics = tuple(inst for inst in ran.insts if asks(inst, _MEMORY) and inst.pc not in found)
    return polls, tuple(inst for inst in loads if coherent(inst)), atomics
