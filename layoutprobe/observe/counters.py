"""The wait counters of a wave: which operations are outstanding, and what a wait completes.

Sources: RDNA3 ISA guide, "Data dependency resolution" (S_WAITCNT, S_WAITCNT_VSCNT); LLVM 22
SIInsertWaitcnts.cpp for what it leaves open.

    vmcnt    vector loads and atomics that return; in order among themselves
    vscnt    vector stores and atomics that do not return
    lgkmcnt  LDS, in order among themselves; scalar loads, in any order

A FLAT operation counts in lgkmcnt and in vmcnt (or vscnt), and is done when both say so. LLVM
takes it as in order with both queues from gfx10 on (hasFlatLgkmVMemCountInOrder); older guides
say that only a wait for 0 is safe. We follow LLVM: its code is what runs on the cards.

From "at most N are outstanding" follows: an operation of an in-order kind is done when N or more
of its kind were issued after it; a scalar load is done only when N is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from layoutprobe.isa.inst import VCC_LO, Inst, Operand

Counter = Literal["vmcnt", "vscnt", "lgkmcnt"]

LIMIT = 63
"""Six bits: an issue at the limit stalls until there is room, and a wait for it waits for nothing."""

_CACHE_HINTS = ("buffer_gl", "buffer_wb", "buffer_inv", "s_dcache", "s_gl1", "ds_nop")
_WAITS: Mapping[str, Counter] = {
    "s_waitcnt_vmcnt": "vmcnt",
    "s_waitcnt_vscnt": "vscnt",
    "s_waitcnt_lgkmcnt": "lgkmcnt",
}


class Queues(NamedTuple):
    """What is outstanding, oldest first: PCs of the operations, per counter."""

    vmcnt: tuple[int, ...] = ()
    lgkmcnt: tuple[int, ...] = ()
    vscnt: int = 0  # how many; nobody asks which

    def of(self, counter: Counter) -> tuple[int, ...]:
        """The queue of vmcnt or lgkmcnt."""
        return self.vmcnt if counter == "vmcnt" else self.lgkmcnt

    def having(self, counter: Counter, queue: tuple[int, ...]) -> Queues:
        """The same with another queue for vmcnt or lgkmcnt."""
        if counter == "vmcnt":
            return self._replace(vmcnt=queue)
        return self._replace(lgkmcnt=queue)


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


def operation(inst: Inst, *, lds: bool = True) -> Operation | None:
    """How the counters see an instruction; None for one that they do not count.

    Args:
        inst: the instruction.
        lds: the workgroup has LDS. Without it a FLAT operation is one to memory.
    """
    if inst.name.startswith(_CACHE_HINTS):
        return None
    targets = frozenset(writes(inst))
    match inst.encoding:
        case "SMEM":
            return Operation(inst, ("lgkmcnt",), False, targets)
        case "DS":
            return Operation(inst, ("lgkmcnt",), True, targets)
        case "FLAT":
            memory: Counter = "vmcnt" if targets else "vscnt"
            return Operation(inst, ("lgkmcnt", memory) if lds else (memory,), True, targets)
        case "GLOBAL" | "SCRATCH" | "MUBUF" | "MTBUF":
            return Operation(inst, ("vmcnt" if targets else "vscnt",), True, targets)
    return None


def waits(inst: Inst) -> dict[Counter, int]:
    """Counter -> how many may stay outstanding; empty for an instruction that waits for nothing."""
    if inst.name == "s_waitcnt":
        # gfx11: VM in bits 15:10, LGKM in 9:4, EXP in 2:0. All ones waits for nothing.
        simm16 = inst.mods["simm16"]
        fields: dict[Counter, int] = {"vmcnt": simm16 >> 10 & LIMIT, "lgkmcnt": simm16 >> 4 & LIMIT}
        return {counter: n for counter, n in fields.items() if n < LIMIT}
    if inst.name == "s_wait_idle":
        return {"vmcnt": 0, "lgkmcnt": 0, "vscnt": 0}
    counter = _WAITS.get(inst.name)
    count = inst.mods.get("simm16", 0)
    return {counter: count} if counter is not None and count < LIMIT else {}


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
        if counter == "vscnt":
            queues = queues._replace(vscnt=min(queues.vscnt + 1, LIMIT))
        else:
            queues = queues.having(counter, (*queues.of(counter), op.inst.pc)[-LIMIT:])
    return queues


def wait(queues: Queues, counter: Counter, left: int, ops: Mapping[int, Operation]) -> Queues:
    """The queues after a wait until at most `left` operations are outstanding."""
    if counter == "vscnt":
        return queues._replace(vscnt=min(queues.vscnt, left))
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
