"""Loads from behind the caches that fetch data: no look at a flag, though they are made like one.

`volatile`, and atomic loads, bypass the caches whatever lies there. Whoever waits for others, or asks how far
they are, compares what was loaded; who merely adds it up takes it for finished.
"""

from __future__ import annotations

from layoutprobe.isa.kind import Kind
from layoutprobe.machine.flow import Flow, flow_of
from layoutprobe.machine.program import Program
from layoutprobe.observe.counters import reads, writes
from layoutprobe.observe.happens_before import coherent

_MEMORY = Kind.GLOBAL | Kind.BUFFER | Kind.FLAT
_ASK = ("v_cmp", "s_cmp", "s_bitcmp", "v_readfirstlane", "v_readlane")


def data_loads(program: Program) -> frozenset[int]:
    """PCs of loads from behind the caches of which nothing that is made of the value is ever compared."""
    flow = flow_of(program)
    return frozenset(
        inst.pc
        for pc, block in flow.blocks.items()
        for at, inst in enumerate(block)
        if inst.kind & _MEMORY and Kind.LOAD in inst.kind and coherent(inst) and not _asks(flow, pc, at)
    )


def _asks(flow: Flow, block: int, at: int) -> bool:
    """Follows the value of a load from register to register, until nothing is added."""
    pending = [(block, at + 1, frozenset(writes(flow.blocks[block][at])))]
    known: dict[int, frozenset[int]] = {}
    while pending:
        here, start, held = pending.pop()
        for inst in (half for one in flow.blocks[here][start:] for half in one.pair or (one,)):
            if held.isdisjoint(reads(inst)):
                held -= frozenset(writes(inst))
            elif inst.name.startswith(_ASK):
                return True
            else:
                held |= frozenset(writes(inst))
        for following in flow.nexts[here]:
            before = known.get(following, frozenset())
            if not held <= before:
                known[following] = before | held
                pending.append((following, 0, known[following]))
    return False
