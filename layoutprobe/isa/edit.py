"""What a small change of an instruction is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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


class Literals(Mapping[int, Made]):
    """Address -> the instruction there with another literal, the same in all of them: a program of many variants is
    told so which one it is. Instructions are made when somebody asks for them."""

    def __init__(self, insts: Mapping[int, Inst], old: int, new: int) -> None:
        """Args: insts: by address, each with the literal `old`; new: what stands in its place."""
        self.insts, self.old, self.new = insts, old, new

    def __getitem__(self, pc: int) -> Made:
        inst = self.insts[pc]
        at = next(i for i, one in enumerate(inst.src) if is_literal(one, self.old))
        return (with_source(inst, at, replace(inst.src[at], value=self.new)),)

    def __iter__(self) -> Iterator[int]:
        return iter(self.insts)

    def __len__(self) -> int:
        return len(self.insts)


def is_literal(operand: Operand, value: int) -> bool:
    """Whether an operand is a literal of that value."""
    return operand.kind == "literal" and operand.value == value


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
