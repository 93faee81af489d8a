"""The wait counters of a wave: which operations are outstanding, and what a wait completes.

Which counter counts what, and how waits are written, is in `arch` (`Counting`); LLVM 22
SIInsertWaitcnts.cpp and AMDGPUUsage, "Memory Model GFX12", say what the ISA guides leave open.

Vector loads and atomics that return are in order among themselves, and so are LDS operations; scalar
loads return in any order. Image operations, of which the emulator executes none, have counters of their
own on RDNA4. Its global_inv counts as a load, in order with the loads.

A FLAT operation counts as LDS and as a vector load (or store), and is done when both say so. LLVM
takes it as in order with both queues from gfx10 on (hasFlatLgkmVMemCountInOrder); before, only a wait
for 0 is safe (`Counting.flat_in_order`). We follow LLVM: its code is what runs on the cards. Stores of
GFX9 count with the loads, and so do its loads that go directly to LDS, and buffer_wbl2.

From "at most N are outstanding" follows: an operation of an in-order kind is done when N or more
of its kind were issued after it; a scalar load is done only when N is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch.isa import Counting
from layoutprobe.isa.indexing import named
from layoutprobe.isa.inst import VCC_LO, Inst, Operand
from layoutprobe.isa.kind import Kind

LONGEST = 63
"""Operations of a counter that are followed: no counter has more bits than six, and an issue at the limit
stalls until there is room."""

_UNCOUNTED = (Kind.BUFFER | Kind.CACHE, Kind.SMEM | Kind.CACHE, Kind.LDS | Kind.HINT)
_INVALIDATE = "global_inv"
_WRITE_BACK = "buffer_wbl2"
"""Cache control that counts as a load and as a store."""


class Queues(Struct, frozen=True):
    """What is outstanding.

    Attributes:
        pending: PCs of the operations, oldest first, one queue for each of `Counting.loading`.
        stores: how many are outstanding of a counter that has only stores; nobody asks which.
    """

    pending: tuple[tuple[int, ...], ...]
    stores: int = 0

    @classmethod
    def empty(cls, counting: Counting) -> Queues:
        """Nothing is outstanding."""
        return cls(((),) * len(counting.loading))

    def of(self, counting: Counting, counter: str) -> tuple[int, ...]:
        """The queue of a counter whose operations write registers."""
        return self.pending[counting.loading.index(counter)]

    def having(self, counting: Counting, counter: str, queue: tuple[int, ...]) -> Queues:
        """The same with another queue."""
        at = counting.loading.index(counter)
        return replace(self, pending=(*self.pending[:at], queue, *self.pending[at + 1 :]))


class Operation(Struct, frozen=True):
    """A memory instruction as the counters see it.

    Attributes:
        inst: the instruction.
        counters: those that count it.
        ordered: it returns in order with the others of its kind.
        targets: parts of registers that it writes when it is done, see `parts`.
    """

    inst: Inst
    counters: tuple[str, ...]
    ordered: bool
    targets: frozenset[int]


_COUNTED = ("SMEM", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")
"""Encodings of what counters count; messages come beside."""
_MESSAGE = "s_sendmsg_rtn"
"""Messages whose answer comes like a scalar load (RDNA3 ISA guide, S_SENDMSG_RTN_B32)."""


def operation(inst: Inst, counting: Counting, *, lds: bool = True) -> Operation | None:
    """How the counters see an instruction; None for one that they do not count.

    Args:
        inst: the instruction.
        counting: the counters of its instruction set.
        lds: the workgroup has LDS. Without it a FLAT operation is one to memory.
    """
    message = inst.name.startswith(_MESSAGE)
    if inst.encoding not in _COUNTED and not message:
        return None
    if inst.kind in _UNCOUNTED and inst.name != _WRITE_BACK:
        return None
    targets = frozenset(writes(inst))
    memory = counting.loads if targets or inst.name == _INVALIDATE else counting.stores
    if message:
        return Operation(inst, (counting.scalars,), False, targets)
    match inst.encoding:
        case "SMEM":
            return Operation(inst, (counting.scalars,), False, targets)
        case "DS":
            return Operation(inst, (counting.lds,), True, targets)
        case "FLAT":
            counters = (counting.lds, memory) if lds else (memory,)
            return Operation(inst, counters, counting.flat_in_order or not lds, targets)
        case "GLOBAL" | "SCRATCH" | "MUBUF" | "MTBUF":
            return Operation(inst, (memory,), True, targets)
    return None


def waits(inst: Inst, counting: Counting) -> dict[str, int]:
    """Counter -> how many may stay outstanding; empty for an instruction that waits for nothing."""
    simm16 = inst.mods.get("simm16", 0)
    found = {}
    for counter, pieces in counting.waits.get(inst.name, {}).items():
        left = at = 0
        for low, width in pieces:
            left |= (simm16 >> low & (1 << width) - 1) << at
            at += width
        if left < counting.limit(counter):
            found[counter] = left
    return found


def spelled(counting: Counting, counter: str, count: int) -> str:
    """The wait until at most so many are outstanding, as it is written."""
    return counting.spelling.format(counter=counter, count=count)


def parts(registers: Iterable[int], halves: tuple[int, ...] = (0, 1)) -> Iterator[int]:
    """Numbers of the halves of registers: twice the register, and one more for the upper half."""
    for register in registers:
        for half in halves:
            yield 2 * register + half


def register_of(part: int) -> int:
    """The register that a part belongs to, as `isa.inst` numbers them."""
    return part // 2


def reads(inst: Inst) -> Iterator[int]:
    """Parts of registers that an instruction reads when it issues; not the VGPRs that M0 picks."""
    narrow = _stored_half(inst)
    inst = named(inst)
    for half in inst.pair or (inst,):
        for place, operand in enumerate(half.src):
            if narrow and place == (0 if inst.encoding in ("MUBUF", "MTBUF") else 1):
                yield from parts(operand.registers(), narrow)
            else:
                yield from parts(operand.registers(), _halves(operand))
    if "vccz" in inst.name or "vccnz" in inst.name:
        yield from parts((VCC_LO,))


def writes(inst: Inst) -> Iterator[int]:
    """Parts of registers that an instruction writes; not the VGPRs that M0 picks."""
    narrow = _loaded_half(inst)
    inst = named(inst)
    for half in inst.pair or (inst,):
        for operand in half.dst:
            yield from parts(operand.registers(), narrow or _halves(operand))


def _halves(operand: Operand) -> tuple[int, ...]:
    return (int(operand.hi),) if operand.kind == "v" and operand.bits == 16 else (0, 1)


def _loaded_half(inst: Inst) -> tuple[int, ...]:
    """The half that a D16 load or V_FMA_MIXHI writes; the other keeps its value."""
    load = Kind.LOAD in inst.kind
    if inst.name == "v_fma_mixhi_f16" or (load and "d16_hi" in inst.name):
        return (1,)
    return (0,) if load and "d16" in inst.name and "format" not in inst.name else ()


def _stored_half(inst: Inst) -> tuple[int, ...]:
    """The half from which a store takes one or two bytes."""
    if Kind.STORE not in inst.kind:
        return ()
    if "d16_hi" in inst.name:
        return (1,)
    return (0,) if inst.name.endswith(("_b8", "_b16")) else ()


def issue(queues: Queues, counting: Counting, op: Operation) -> Queues:
    """The queues after one more operation; what a full counter stalls for has left them."""
    for counter in op.counters:
        if counter not in counting.loading:
            queues = replace(queues, stores=min(queues.stores + 1, LONGEST))
        else:
            queue = (*queues.of(counting, counter), op.inst.pc)[-LONGEST:]
            queues = queues.having(counting, counter, queue)
    return queues


def wait(queues: Queues, counting: Counting, counter: str, left: int, ops: Mapping[int, Operation]) -> Queues:
    """The queues after a wait until at most `left` operations are outstanding."""
    if counter not in counting.loading:
        return replace(queues, stores=min(queues.stores, left))
    queue = queues.of(counting, counter)
    kept: list[int] = []
    room = left
    for pc in reversed(queue):
        if not ops[pc].ordered:
            if left:
                kept.append(pc)
        elif room:
            kept.append(pc)
            room -= 1
    if len(kept) == len(queue):
        return queues
    return queues.having(counting, counter, tuple(reversed(kept)))


def needed(queue: tuple[int, ...], at: int, ops: Mapping[int, Operation]) -> int:
    """The largest count to wait for that completes the operation at place `at` of a queue."""
    if not ops[queue[at]].ordered:
        return 0
    return sum(ops[pc].ordered for pc in queue[at + 1 :])
