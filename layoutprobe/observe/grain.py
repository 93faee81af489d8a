"""Whether the sieve of an engine can stand for the observers of memory, and how fine it must look.

It knows barriers as points in time. So every access to LDS must be done when its wave comes to a barrier: that is
told from the code, by the waits. Barriers whose signal and wait are apart, direct loads to LDS, and calls are left to
observers.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.arch.isa import Counting
from layoutprobe.engine.base import Grain
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.counters import operation, waits
from layoutprobe.observe.granules import GLOBAL
from layoutprobe.observe.lds_access import granule_shift


def grain_of(entry: int, insts: Mapping[int, Inst], counting: Counting) -> Grain | None:
    """The grain for a kernel; None where the sieve cannot stand for observers.

    Args:
        entry: where it begins.
        insts: its instructions by address.
        counting: the counters of its instruction set.
    """
    for inst in insts.values():
        split = Kind.ARRIVE in inst.kind and Kind.AWAIT not in inst.kind
        if inst.to_lds or split or Kind.JUMP in inst.kind:
            return None
    if _meets_a_barrier_late(entry, insts, counting):
        return None
    return Grain(granule_shift(insts.values(), GLOBAL), granule_shift(insts.values()))


def _meets_a_barrier_late(entry: int, insts: Mapping[int, Inst], counting: Counting) -> bool:
    """On some way through the code an access to LDS may be outstanding at a barrier."""
    pending: dict[int, bool] = {}
    ways = [(entry, False)]
    while ways:
        pc, outstanding = ways.pop()
        if pc not in insts or pending.get(pc, -1) >= outstanding:
            continue
        pending[pc] = outstanding
        inst = insts[pc]
        if Kind.ARRIVE in inst.kind and outstanding:
            return True
        outstanding = _after(inst, outstanding, counting)
        if inst.kind & Kind.BRANCH:
            ways.append((inst.branch_target, outstanding))
        if Kind.END not in inst.kind and inst.name != "s_branch":
            ways.append((pc + inst.size, outstanding))
    return False


def _after(inst: Inst, outstanding: bool, counting: Counting) -> bool:
    if waits(inst, counting).get(counting.lds) == 0:
        return False
    counted = operation(inst, counting)
    return outstanding or (
        counted is not None and inst.encoding != "SMEM" and counting.lds in counted.counters
    )
