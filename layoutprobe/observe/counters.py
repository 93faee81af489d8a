"""The wait counters of a wave: which operations are outstanding, and what a wait completes.

Sources: RDNA3 ISA guide, "Data dependency resolution" (S_WAITCNT, S_WAITCNT_VSCNT); RDNA4 ISA guide
(S_WAIT_*CNT); LLVM 22 SIInsertWaitcnts.cpp and AMDGPUUsage, "Memory Model GFX12", for what they
leave open.

    RDNA3    RDNA4
    vmcnt    loadcnt   vector loads and atomics that return; in order among themselves
    vscnt    storecnt  vector stores and atomics that do not return; write-back of caches (RDNA4)
    lgkmcnt  dscnt     LDS; in order among themselves
    lgkmcnt  kmcnt     scalar loads, in any order

RDNA4's samplecnt and bvhcnt count image operations, of which the emulator executes none. Its
global_inv counts in loadcnt, in order with the loads.

A FLAT operation counts as LDS and as a vector load (or store), and is done when both say so. LLVM
takes it as in order with both queues from gfx10 on (hasFlatLgkmVMemCountInOrder); older guides
say that only a wait for 0 is safe. We follow LLVM: its code is what runs on the cards.

From "at most N are outstanding" follows: an operation of an in-order kind is done when N or more
of its kind were issued after it; a scalar load is done only when N is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from layoutprobe.isa.dialect import Generation
from layoutprobe.isa.inst import VCC_LO, Inst, Operand

Counter = Literal["vmcnt", "vscnt", "lgkmcnt", "loadcnt", "storecnt", "dscnt", "kmcnt"]

LIMIT = 63
"""Six bits: an issue at the limit stalls until there is room, and a wait for it waits for nothing."""

_CACHE_HINTS = ("buffer_gl", "buffer_wb", "buffer_inv", "s_dcache", "s_gl1", "ds_nop")
_INVALIDATE = "global_inv"
_WAITS: Mapping[str, Counter] = {
    "s_waitcnt_vmcnt": "vmcnt",
    "s_waitcnt_vscnt": "vscnt",
    "s_waitcnt_lgkmcnt": "lgkmcnt",
    "s_wait_loadcnt": "loadcnt",
    "s_wait_storecnt": "storecnt",
    "s_wait_dscnt": "dscnt",
    "s_wait_kmcnt": "kmcnt",
}
_PAIRS: Mapping[str, Counter] = {"s_wait_loadcnt_dscnt": "loadcnt", "s_wait_storecnt_dscnt": "storecnt"}
"""Waits for two counters: the named one in bits 13:8, dscnt in bits 5:0 (LLVM 22, AMDGPUBaseInfo)."""


class Counting(NamedTuple):
    """Which counter counts what."""

    loads: Counter
    stores: Counter
    lds: Counter
    scalars: Counter


COUNTING: Mapping[Generation, Counting] = {
    "rdna3": Counting("vmcnt", "vscnt", "lgkmcnt", "lgkmcnt"),
    "rdna4": Counting("loadcnt", "storecnt", "dscnt", "kmcnt"),
}


class Queues(NamedTuple):
    """What is outstanding, oldest first: PCs of the operations, per counter.

    Attributes:
        loads: vmcnt or loadcnt.
        lds: lgkmcnt, scalar loads included, or dscnt.
        scalars: kmcnt.
        stores: how many in vscnt or storecnt; nobody asks which.
    """

    loads: tuple[int, ...] = ()
    lds: tuple[int, ...] = ()
    scalars: tuple[int, ...] = ()
    stores: int = 0

    def of(self, counter: Counter) -> tuple[int, ...]:
        """The queue of any counter but that of stores."""
        if counter in ("vmcnt", "loadcnt"):
            return self.loads
        return self.scalars if counter == "kmcnt" else self.lds

    def having(self, counter: Counter, queue: tuple[int, ...]) -> Queues:
        """The same with another queue for any counter but that of stores."""
        if counter in ("vmcnt", "loadcnt"):
            return self._replace(loads=queue)
        return self._replace(scalars=queue) if counter == "kmcnt" else self._replace(lds=queue)


def counts_stores(counter: Counter) -> bool:
    """Its operations write no registers."""
    return counter in ("vscnt", "storecnt")


@dataclass(frozen=True)
class Operation:
    """A memory instruction as the counters see it.

    Attributes:
        inst: the instruction.
        counters: those that count it.
        ordered: it returns in order with the others of its kind.
        targets: parts of registers that it writes when it is done, see `parts`.
    """

    inst: Inst
    counters: tuple[Counter, ...]
    ordered: bool
    targets: frozenset[int]


def operation(inst: Inst, counting: Counting, *, lds: bool = True) -> Operation | None:
    """How the counters see an instruction; None for one that they do not count.

    Args:
        inst: the instruction.
        counting: the counters of its generation.
        lds: the workgroup has LDS. Without it a FLAT operation is one to memory.
    """
    if inst.name.startswith(_CACHE_HINTS):
        return None
    targets = frozenset(writes(inst))
    memory = counting.loads if targets or inst.name == _INVALIDATE else counting.stores
    match inst.encoding:
        case "SMEM":
            return Operation(inst, (counting.scalars,), False, targets)
        case "DS":
            return Operation(inst, (counting.lds,), True, targets)
        case "FLAT":
            return Operation(inst, (counting.lds, memory) if lds else (memory,), True, targets)
        case "GLOBAL" | "SCRATCH" | "MUBUF" | "MTBUF":
            return Operation(inst, (memory,), True, targets)
    return None


def waits(inst: Inst) -> dict[Counter, int]:
    """Counter -> how many may stay outstanding; empty for an instruction that waits for nothing."""
    name, simm16 = inst.name, inst.mods.get("simm16", 0)
    if not name.startswith("s_wait"):
        return {}
    fields: dict[Counter, int] = {}
    if name == "s_waitcnt":
        # gfx11: VM in bits 15:10, LGKM in 9:4, EXP in 2:0. All ones waits for nothing.
        fields = {"vmcnt": simm16 >> 10 & LIMIT, "lgkmcnt": simm16 >> 4 & LIMIT}
    elif name == "s_wait_idle":
        fields = dict.fromkeys((*COUNTING["rdna3"], *COUNTING["rdna4"]), 0)
    elif name in _PAIRS:
        fields = {_PAIRS[name]: simm16 >> 8 & LIMIT, "dscnt": simm16 & LIMIT}
    elif name in _WAITS:
        fields = {_WAITS[name]: simm16}
    return {counter: n for counter, n in fields.items() if n < _limit(counter)}


def _limit(counter: Counter) -> int:
    return 31 if counter == "kmcnt" else LIMIT  # five bits (LLVM 22, AMDGPUBaseInfo)


def spelled(counter: Counter, count: int) -> str:
    """The wait until at most so many are outstanding, as it is written."""
    if counter in COUNTING["rdna4"]:
        return f"s_wait_{counter} {count}"
    return f"s_waitcnt {counter}({count})"


def parts(registers: Iterable[int], halves: tuple[int, ...] = (0, 1)) -> Iterator[int]:
    """Numbers of the halves of registers: twice the register, and one more for the upper half."""
    for register in registers:
        for half in halves:
            yield 2 * register + half


def register_of(part: int) -> int:
    """The register that a part belongs to, as `isa.inst` numbers them."""
    return part // 2


def reads(inst: Inst) -> Iterator[int]:
    """Parts of registers that an instruction reads when it issues."""
    narrow = _stored_half(inst.name)
    for half in inst.pair or (inst,):
        for place, operand in enumerate(half.src):
            if narrow and place == (0 if inst.encoding in ("MUBUF", "MTBUF") else 1):
                yield from parts(operand.registers(), narrow)
            else:
                yield from parts(operand.registers(), _halves(operand))
    if "vccz" in inst.name or "vccnz" in inst.name:
        yield from parts((VCC_LO,))


def writes(inst: Inst) -> Iterator[int]:
    """Parts of registers that an instruction writes."""
    narrow = _loaded_half(inst.name)
    for half in inst.pair or (inst,):
        for operand in half.dst:
            yield from parts(operand.registers(), narrow or _halves(operand))


def _halves(operand: Operand) -> tuple[int, ...]:
    return (int(operand.hi),) if operand.kind == "v" and operand.bits == 16 else (0, 1)


def _loaded_half(name: str) -> tuple[int, ...]:
    """The half that a D16 load or V_FMA_MIXHI writes; the other keeps its value."""
    if name == "v_fma_mixhi_f16" or ("_load_" in name and "d16_hi" in name):
        return (1,)
    return (0,) if "_load_" in name and "d16" in name and "format" not in name else ()


def _stored_half(name: str) -> tuple[int, ...]:
    """The half from which a store takes one or two bytes."""
    if "_store_" not in name:
        return ()
    if "d16_hi" in name:
        return (1,)
    return (0,) if name.endswith(("_b8", "_b16")) else ()


def issue(queues: Queues, op: Operation) -> Queues:
    """The queues after one more operation; what a full counter stalls for has left them."""
    for counter in op.counters:
        if counts_stores(counter):
            queues = queues._replace(stores=min(queues.stores + 1, LIMIT))
        else:
            queues = queues.having(counter, (*queues.of(counter), op.inst.pc)[-LIMIT:])
    return queues


def wait(queues: Queues, counter: Counter, left: int, ops: Mapping[int, Operation]) -> Queues:
    """The queues after a wait until at most `left` operations are outstanding."""
    if counts_stores(counter):
        return queues._replace(stores=min(queues.stores, left))
    queue = queues.of(counter)
    kept: list[int] = []
    room = left
    for pc in reversed(queue):
        if not ops[pc].ordered:
            if left:
                kept.append(pc)
        elif room:
            kept.append(pc)
            room -= 1
    return queues if len(kept) == len(queue) else queues.having(counter, tuple(reversed(kept)))


def needed(queues: Queues, counter: Counter, at: int, ops: Mapping[int, Operation]) -> int:
    """The largest count to wait for that completes the operation at place `at` of a queue."""
    queue = queues.of(counter)
    if not ops[queue[at]].ordered:
        return 0
    return sum(ops[pc].ordered for pc in queue[at + 1 :])
