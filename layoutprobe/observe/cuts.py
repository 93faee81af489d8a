"""Numbers that are cut to 16 bits, or to 24 as `__mul24` does, and then are part of an address, or of what an atomic
adds.

It is right while they are small. Compilers cut what they know to be small, too, so the code alone says nothing: how
large the numbers were tells whether anybody tried (`choices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind

_WIDTHS = (16, 24)
_REACH = 48
"""Instructions behind the cut that are followed."""
_MEMORY = Kind.LDS | Kind.GLOBAL | Kind.BUFFER | Kind.FLAT
_MASKS = ("v_and_b32", "v_dual_and_b32", "s_and_b32")
_FIELDS = {"v_bfe_u32": False, "v_bfe_i32": True, "s_bfe_u32": False, "s_bfe_i32": True}
"""And whether the highest bit is a sign."""
_OF_NAME = {"i32_i24": (24, True), "s_sext_i32_i16": (16, True)}
"""What takes so many bits of its operands always (of its first two where it adds a third one), as its name ends. Not
products without a sign: compilers take these where they know that 24 bits are enough."""
_ADDED = 1
"""Which source of an atomic is added."""
_OTHERWISE = ("_f16", "_f32", "_bf16", "_f64", "cvt", "perm", "pk_", "cmp", "alignb")
"""In names of instructions that make no index of an index."""


class Cut(Struct, frozen=True):
    """A number that is cut.

    Attributes:
        inst: v_and_b32 with 0xffff, a product of 24 bits, or a pair that has one.
        sources: what is cut.
        bits: that are left.
        signed: whether the highest of them is a sign.
        user: the access to memory that takes what is left.
    """

    inst: Inst
    sources: tuple[Operand, ...]
    bits: int
    signed: bool
    user: Inst

    @property
    def most(self) -> int:
        """The largest number that is left as it is."""
        return (1 << self.bits - self.signed) - 1


def cuts_of(blocks: Iterable[Sequence[Inst]]) -> dict[int, Cut]:
    """All of them, by PC; a number is followed in the order of the code."""
    insts = [inst for block in blocks for inst in block]
    found = {}
    for at, inst in enumerate(insts):
        for half in inst.pair or (inst,):
            bits, signed = _left(half)
            user = _user(half, insts[at + 1 : at + 1 + _REACH]) if bits in _WIDTHS else None
            if user is not None:
                sources = tuple(operand for operand in half.src[:2] if operand.kind in ("v", "s"))
                found[inst.pc] = Cut(inst, sources, bits, signed, user)
    return found


def _left(inst: Inst) -> tuple[int, bool]:
    """How many of the lowest bits an instruction takes, and whether the highest is a sign; 0 for all."""
    numbers = [operand.number for operand in inst.src]
    if inst.name in _MASKS:
        return next((bits for bits in _WIDTHS if (1 << bits) - 1 in numbers), 0), False
    if inst.name in _FIELDS:
        return _field(numbers[1:]), _FIELDS[inst.name]
    return next((left for name, left in _OF_NAME.items() if inst.name.endswith(name)), (0, False))


def _field(given: Sequence[int | None]) -> int:
    """The width of a field that begins at bit 0: vector instructions are given the two numbers, scalar ones both in
    one; 0 for any other."""
    first, width = given if len(given) == _APART else ((given[0] or 0) & 0x1F, (given[0] or 0) >> 16)
    return width or 0 if first == 0 else 0


_APART = 2


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
