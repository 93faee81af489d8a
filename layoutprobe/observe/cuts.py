"""Numbers that are cut to 16 bits, and then are part of an address, or of what an atomic adds.

It is right while they are small. Compilers cut what they know to be small, too, so the code alone says nothing: how
large the numbers were tells whether anybody tried (`choices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind

MOST = 0xFFFF
_REACH = 48
"""Instructions behind the cut that are followed."""
_MEMORY = Kind.LDS | Kind.GLOBAL | Kind.BUFFER | Kind.FLAT
_CUTS = ("v_and_b32", "v_dual_and_b32")
_ADDED = 1
"""Which source of an atomic is added."""
_OTHERWISE = ("_f16", "_f32", "_bf16", "_f64", "cvt", "perm", "pk_", "cmp", "alignb")
"""In names of instructions that make no index of an index."""


class Cut(Struct, frozen=True):
    """A number that is cut.

    Attributes:
        inst: v_and_b32 with 0xffff, or a pair that has one.
        source: the register that is cut, as `Operand.registers` numbers it.
        user: the access to memory that takes what is left.
    """

    inst: Inst
    source: int
    user: Inst


def cuts_of(blocks: Iterable[Sequence[Inst]]) -> dict[int, Cut]:
    """All of them, by PC; a number is followed in the order of the code."""
    insts = [inst for block in blocks for inst in block]
    found = {}
    for at, inst in enumerate(insts):
        for half in inst.pair or (inst,):
            if half.name not in _CUTS or all(o.kind != "literal" or o.value != MOST for o in half.src):
                continue
            sources = [r for operand in half.src if operand.kind == "v" for r in operand.registers()]
            user = _user(half, insts[at + 1 : at + 1 + _REACH])
            if user is not None and len(sources) == 1:
                found[inst.pc] = Cut(inst, sources[0], user)
    return found


def _user(cut: Inst, behind: Iterable[Inst]) -> Inst | None:
    held = {*cut.dst[0].registers()}
    for inst in behind:
        for half in inst.pair or (inst,):
            taken = [at for at, operand in enumerate(half.src) if held & {*operand.registers()}]
            memory = inst.kind & _MEMORY
            data = Kind.ATOMIC not in inst.kind
            if memory and any(at != _ADDED or not data for at in taken):
                return inst
            made = {register for operand in half.dst for register in operand.registers()}
            goes_on = bool(taken) and not memory and not any(word in half.name for word in _OTHERWISE)
            held = held | made if goes_on else held - made
        if not held:
            return None
    return None
