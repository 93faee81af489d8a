"""Loops that are left when a value that they load says so: those in which a wave waits for others."""

from __future__ import annotations

from collections.abc import Sequence

from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.flow import Flow
from layoutprobe.machine.program import CONDITIONS

_READ_SCC = ("s_cselect_", "s_cmov_", "s_addc_", "s_subb_")
_KEEP_SCC = ("s_mov", "s_cselect_", "s_mul_", "s_load", "s_buffer_load", "s_set_gpr_idx_")


def left_by(flow: Flow, body: frozenset[int], loads: frozenset[int]) -> bool:
    """Whether what one of these instructions fetched decides if a loop goes on.

    `body`: the loop's blocks; `loads`: PCs. Values are followed from register to register, round and round until
    nothing is added.
    """
    entering: dict[int, frozenset[int]] = dict.fromkeys(body, frozenset())
    pending = set(body)
    while pending:
        pc = pending.pop()
        loaded = _behind(flow.blocks[pc], entering[pc], loads)
        condition = CONDITIONS.get(flow.blocks[pc][-1].name)
        if condition is not None and condition[0] in loaded and not body.issuperset(flow.nexts[pc]):
            return True
        for following in body.intersection(flow.nexts[pc]):
            if not loaded <= entering[following]:
                entering[following] |= loaded
                pending.add(following)
    return False


def _behind(block: Sequence[Inst], loaded: frozenset[int], loads: frozenset[int]) -> frozenset[int]:
    """The registers that hold what was loaded, or was made of it, behind a block."""
    now = set(loaded)
    for inst in block:
        if inst.pc in loads or not now.isdisjoint(_read(inst)):
            now |= _written(inst)
        else:
            now -= _written(inst)
    return frozenset(now)


def _read(inst: Inst) -> set[int]:
    """Registers that an instruction reads. EXEC is not told: it says in which lanes, and seldom what."""
    named = {r for half in (inst, *inst.pair) for o in half.src for r in o.registers()}
    return (named | ({SCC} if inst.name.startswith(_READ_SCC) else set())) - {EXEC_LO, EXEC_HI}


def _written(inst: Inst) -> set[int]:
    """Registers that an instruction writes, named by it or not."""
    named = {r for half in (inst, *inst.pair) for o in half.dst for r in o.registers()}
    if Kind.SALU in inst.kind and not inst.name.startswith(_KEEP_SCC):
        named.add(SCC)
    return named | ({EXEC_LO, EXEC_HI} if "saveexec" in inst.name or "wrexec" in inst.name else set())
