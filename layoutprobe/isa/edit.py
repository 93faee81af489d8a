"""What a small change of an instruction is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand

Values = Mapping[str, int]
"""Argument of the kernel -> the 32 bits that a launch passes."""
Made = tuple[Inst, ...]


class Edit(Struct, frozen=True):
    """A change.

    Attributes:
        key: equal for the same change of copies of one instruction.
        says: what is so with it, behind "with ".
        rank: how late it is tried: what is often meant otherwise comes first.
        make: the instructions, for a launch that passes those values.
    """

    key: tuple[object, ...]
    says: str
    rank: float
    make: Callable[[Values], Made]


class Known(Struct, frozen=True):
    """What an instruction may use in place of what it has.

    Attributes:
        integers, floats: scalar arguments of the kernel of 32 bits.
        held: scalar register -> the argument that it holds there, as far as that is known.
        registers: vector registers that neighbours of the instruction read.
        extents: integers that say how large a matrix is, or how far its lines are apart: they are not taken for
            counts.
    """

    integers: Sequence[str] = ()
    floats: Sequence[str] = ()
    held: Mapping[int, str] = field(default_factory=dict)
    registers: Sequence[int] = ()
    extents: frozenset[str] = frozenset()


def edit(key: tuple[object, ...], says: str, rank: float, *made: Inst) -> Edit:
    """A change that is the same in every launch."""
    return Edit(key, says, rank, lambda _: made)


def with_source(inst: Inst, at: int, operand: Operand) -> Inst:
    """An instruction with another source."""
    return replace(inst, src=(*inst.src[:at], operand, *inst.src[at + 1 :]))


_PLACES = ("first", "second", "third", "fourth")
_ROLES = (
    (("v_fma", "v_fmac", "v_mad", "v_pk_fma", "v_dot", "s_fma"), ("first factor", "second factor", "addend")),
    (("v_mul", "v_pk_mul", "s_mul"), ("first factor", "second factor")),
    (("v_add", "v_pk_add", "s_add"), ("first summand", "second summand")),
)


def role(inst: Inst, at: int) -> str:
    """What a source is for, in words: "the addend", "the second operand"."""
    if len(inst.src) == 1:
        return "the operand"
    named = next((names for starts, names in _ROLES if inst.name.startswith(starts)), ())
    return f"the {named[at] if at < len(named) else _PLACES[min(at, 3)] + ' operand'}"
