"""Where the calls of a kernel may go: the functions whose address its code makes, or finds in memory.

Code is position-independent. So there are two ways to an address in it: S_GETPC_B64, to which a distance is
added (LLVM 22, SIInstrInfo::expandPostRAPseudo, SI_PC_ADD_REL_OFFSET), and a word that the loader relocates.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from layoutprobe.codeobj.model import CodeObject
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind

_REACH = 16
"""So many instructions behind S_GETPC_B64 both halves of the distance are added; compilers keep them together."""
_LOW = ("s_add_u32", "s_add_co_u32")
_HIGH = ("s_addc_u32", "s_add_co_ci_u32")
_ADDRESSES = (1 << 64) - 1


def functions(code: CodeObject, insts: Mapping[int, Inst], *, relocated: bool = True) -> list[int]:
    """Addresses that calls among these instructions may go to, ascending; none where there are no calls.

    Args:
        code, insts: what has been decoded of a code object.
        relocated: with those that the loader writes into memory, which other kernels may call, and this one not.
    """
    if not any(Kind.JUMP in inst.kind for inst in insts.values()):
        return []
    found = {target for inst in insts.values() for target in _made(inst, insts)}
    if relocated:
        found |= {relocation.value & _ADDRESSES for relocation in code.relocations}
    return sorted(pc for pc in found if pc % 4 == 0 and _executable(code, pc))


def reached(insts: Mapping[int, Inst], entry: int, known: Container[int] = ()) -> set[int]:
    """Addresses that control and calls by a distance reach from an entry: not beyond those that are known.

    One that is not among the instructions is where decoding stopped.
    """
    found: set[int] = set()
    pending = [entry]
    while pending:
        pc = pending.pop()
        if pc in found:
            continue
        found.add(pc)
        inst = insts.get(pc)
        if inst is None or pc in known:
            continue
        pending += [to for to in _made(inst, insts) if to in insts]
        if Kind.BRANCH in inst.kind:
            pending.append(inst.branch_target)
        if Kind.FINAL not in inst.kind:
            pending.append(inst.next_pc)
    return found


def _executable(code: CodeObject, pc: int) -> bool:
    return any(s.executable and s.address <= pc < s.address + len(s.data) for s in code.segments)


def _made(inst: Inst, insts: Mapping[int, Inst]) -> Iterator[int]:
    """The address that is made from where an instruction stands, if it is S_GETPC_B64."""
    if inst.name != "s_getpc_b64":
        return
    low, high = inst.dst[0].index, inst.dst[0].index + 1
    distance: dict[int, int] = {}
    following = insts.get(inst.next_pc)
    for _ in range(_REACH):
        if following is None or len(distance) == 2:
            break
        for half, names in ((low, _LOW), (high, _HIGH)):
            if following.name in names and half not in distance and _is(following.src[0], half):
                number = following.src[1].number
                if number is not None:
                    distance[half] = number & 0xFFFFFFFF
        following = insts.get(following.next_pc)
    if len(distance) == 2:
        yield inst.next_pc + distance[low] + (distance[high] << 32) & _ADDRESSES


def _is(operand: Operand, register: int) -> bool:
    return operand.kind == "s" and operand.index == register
