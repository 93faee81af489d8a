"""Loops that are left when a value that they load says so, and what they load from the same place each time: both
tell those in which a wave waits for others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC, VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.flow import Flow
from layoutprobe.machine.program import CONDITIONS

_READ_SCC = ("s_cselect_", "s_cmov_", "s_addc_", "s_subb_")
_KEEP_SCC = ("s_mov", "s_cselect_", "s_mul_", "s_load", "s_buffer_load", "s_set_gpr_idx_")
_SPECIAL = 106
"""Scalar registers from here on decide where a wave goes: VCC, EXEC, SCC."""
_PLAIN = ("_mov_b", "_lshl", "_lshr", "_ashr", "_add_", "_add3_", "_sub_", "_mul_", "_mad_", "_and_b", "_or_b",
          "_or3_", "_bfe_", "_cselect_", "_cndmask_")  # fmt: skip
"""What gives the same from the same registers, lane by lane, and nothing of what the destination held."""


def left_by(flow: Flow, body: frozenset[int], loads: frozenset[int]) -> bool:
    """Whether what one of these instructions fetched decides if a loop goes on.

    `body`: the loop's blocks; `loads`: PCs. Values are followed from register to register, round and round until
    nothing is added. Sets of registers are integers here, a bit a register: programs of many changes have hundreds
    of loops.
    """
    steps = _steps(flow)
    entering: dict[int, int] = dict.fromkeys(body, 0)
    pending = set(body)
    while pending:
        pc = pending.pop()
        loaded = entering[pc]
        for at, read, written in steps[pc]:
            loaded = loaded | written if at in loads or loaded & read else loaded & ~written
        condition = CONDITIONS.get(flow.blocks[pc][-1].name)
        if condition is not None and loaded >> condition[0] & 1 and not body.issuperset(flow.nexts[pc]):
            return True
        for following in body.intersection(flow.nexts[pc]):
            if loaded & ~entering[following]:
                entering[following] |= loaded
                pending.add(following)
    return False


@lru_cache(maxsize=4)
def _steps(flow: Flow) -> Mapping[int, Sequence[tuple[int, int, int]]]:
    """Of each instruction of a block its PC, and the registers that it reads and writes, a bit each."""
    return {
        pc: [(inst.pc, _bits(_read(inst)), _bits(_written(inst))) for inst in block]
        for pc, block in flow.blocks.items()
    }


def _bits(registers: Iterable[int]) -> int:
    return sum(1 << register for register in registers)


def same_place(flow: Flow, body: frozenset[int]) -> frozenset[int]:
    """PCs of the accesses in a loop whose address is the same in every round.

    `body`: the loop's blocks. Where registers are short, an address is made again in each round, of registers that
    the loop leaves alone.
    """
    insts = [inst for pc in body for inst in flow.blocks[pc]]
    written = frozenset(register for inst in insts for register in _written(inst))
    before: dict[int, list[int]] = {pc: [] for pc in body}
    for pc, nexts in flow.nexts.items():
        for following in body.intersection(nexts):
            before[following].append(pc)
    found: set[int] = set()
    behind: dict[int, frozenset[int]] = {}
    for pc in sorted(body):
        only = before[pc][0] if len(before[pc]) == 1 else None
        changed = set(behind.get(only, written) if only is not None else written)
        for inst in flow.blocks[pc]:
            where = inst.src if Kind.LOAD in inst.kind else inst.src[:1]  # an atomic has data, too
            if where and changed.isdisjoint(r for operand in where for r in operand.registers()):
                found.add(inst.pc)
            _change(changed, inst, written)
        behind[pc] = frozenset(changed)
    return frozenset(found)


def counters(flow: Flow, body: frozenset[int]) -> frozenset[int]:
    """Registers that a loop writes, and of which nothing in it depends but such registers: they count its rounds.

    `body`: the loop's blocks.
    """
    read_and_written = []
    insts = [inst for pc in body for inst in flow.blocks[pc]]
    asked = any(SCC in (*_read(inst), *(CONDITIONS.get(inst.name) or ())[:1]) for inst in insts)
    for pc in body:
        wanted = asked  # SCC, by what comes behind
        for inst in reversed(flow.blocks[pc]):
            condition = CONDITIONS.get(inst.name)
            written, read = _written(inst), _read(inst)
            given = written - (set() if wanted else {SCC})
            if picks_registers(inst):
                return frozenset()
            computes = inst.kind & (Kind.VALU | Kind.SALU) and condition is None and written
            read_and_written.append((read, given if computes else {SCC}))
            reads_scc = SCC in read or (condition is not None and condition[0] == SCC)
            wanted = reads_scc or (wanted and SCC not in written)
    found = {r for _, written in read_and_written for r in written if r < _SPECIAL or r >= VGPR0}
    while lost := {r for read, written in read_and_written if not written <= found for r in read & found}:
        found -= lost
    return frozenset(found)


def _change(changed: set[int], inst: Inst, written: frozenset[int]) -> None:
    """Registers that may hold another value than in the last round, behind one more instruction."""
    results: dict[int, bool] = {}
    for half in inst.pair or (inst,):
        wide = all(operand.bits >= 32 for operand in half.dst)
        named = {r for operand in half.src for r in operand.registers()} | _read(half)
        same = wide and _is_plain(half) and changed.isdisjoint(named)
        results |= dict.fromkeys(_written(half), same)
    for register, same in results.items():
        (changed.discard if same else changed.add)(register)
    if not results.keys().isdisjoint((EXEC_LO, EXEC_HI)):  # other lanes hold what an earlier round left
        changed |= {register for register in written if register >= VGPR0}


def _is_plain(inst: Inst) -> bool:
    computes = bool(inst.kind & (Kind.VALU | Kind.SALU))
    return (
        computes
        and any(stem in inst.name for stem in _PLAIN)
        and not any("dpp" in name for name in inst.mods)
    )


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
