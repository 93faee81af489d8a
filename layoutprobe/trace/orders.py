"""Kernels whose workgroups tell each other something through memory: what they do depends on who comes first.

The emulator runs workgroups side by side, as far as they fit: each finds the others about as far as itself. A card
may be through with the first before the last begins, and then others of the kernel's ways are taken: a look-back
finds whole prefixes in place of parts. Or the first is held up, and a look-back that does not wait for it finds
nothing.

Waves of a workgroup that wait for each other through LDS are brought out of step as well: one that waits for a
counter to reach less than it has to finds it higher where all are equally fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.coverage import Coverage
from layoutprobe.observe.happens_before import coherent
from layoutprobe.observe.lds_flags import asks, polls_of
from layoutprobe.trace.subject import Recorded, RecorderFactory, RunSpec, Subject

ONE_BY_ONE, LAST_FIRST = "one workgroup after the other", "the last workgroup first"
"""Orders of workgroups, beside all at once; see `engine.base`."""
FIRST_WAVE, LAST_WAVE = "the first wave first", "the last wave first"
"""Orders of the waves in each."""
_MOST_WAVES = 256
"""Waves of a launch that are run one by one."""
_MEMORY = Kind.GLOBAL | Kind.BUFFER | Kind.FLAT


def in_orders_of_workgroups(subject: Subject, *observers: RecorderFactory) -> Iterator[Recorded]:
    """The runs on small integers in which workgroups come in other orders.

    None where there is nothing to ask, of sampled launches, of a launch that happened elsewhere, and where one does
    not end: a workgroup may wait for one that comes later, and cards have both at once.
    """
    if _may_be_ordered(subject) and prod(subject.binding.grid) > 1 and asking(subject, "") is not None:
        yield from _ordered(subject, ONE_BY_ONE, LAST_FIRST, observers=observers)


def in_other_orders(subject: Subject) -> Iterator[Recorded]:
    """The runs on small integers in which workgroups, or the waves in each, come in other orders.

    Of waves none where none waits for a flag or counter in LDS, where workgroups wait for others, and of large
    launches.
    """
    yield from in_orders_of_workgroups(subject)
    if not _may_be_ordered(subject) or not subject.once(_looking):
        return
    waves = -(-prod(subject.binding.block) // subject.kernel.wavefront_size)
    if waves > 1 and waves * prod(subject.binding.grid) <= _MOST_WAVES and not subject.once(_asking)[0]:
        yield from _ordered(subject, FIRST_WAVE, LAST_WAVE)


def _may_be_ordered(subject: Subject) -> bool:
    ran_here = any(isinstance(record, Coverage) for record in subject.plain(partial=True).records)
    return ran_here and not subject.sample


def _ordered(subject: Subject, *orders: str, observers: Sequence[RecorderFactory] = ()) -> Iterator[Recorded]:
    for order in orders:
        recorded = subject.run(RunSpec("integers", tuple(observers), order=order), partial=True)
        if recorded.fault is None:
            yield recorded


def _looking(subject: Subject) -> tuple[Inst, ...]:
    """What waits for a flag in LDS, and atomics there that return."""
    ran = subject.plain().record(Coverage)
    found = polls_of(ran.flow, Kind.LDS)
    return tuple(inst for inst in ran.insts if inst.pc in found or asks(inst, Kind.LDS))


def signals(inst: Inst) -> bool:
    """A workgroup may tell another one something by it, or be told."""
    return Kind.ATOMIC in inst.kind or (
        Kind.LOAD in inst.kind and Kind.LDS not in inst.kind and coherent(inst)
    )


def asking(subject: Subject, order: str) -> Inst | None:
    """An instruction by which a wave asks what others have done to global memory, or, in an order of waves, to LDS;
    None where none ran.

    A load in a loop that waits, else an atomic that returns what it found. Where others are late, a load that looks
    once comes first.
    """
    if order in (FIRST_WAVE, LAST_WAVE):
        return next(iter(subject.once(_looking)), None)
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
