"""Types in which a kernel computes, and whether sums are rounded to them again and again, or results once.

`v_fma_mixlo_f16` makes a half of an f32 sum and a factor, as an epilogue does with its result: that is one rounding,
which the output's type explains. The same instruction in a loop adds up in f16. So values are followed along the ways
that waves went: arithmetic in 16 bits that takes what was rounded before accumulates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import TypeVar

from msgspec import Struct

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.observe.coverage import START, Coverage, Ways

_NARROW = re.compile(r"\w*_(?:add|sub|subrev|mul|fma|fmac|mac|mad|dot2|mix|mixlo|mixhi)(?:_\w+)?_(b?f16)")
"""Arithmetic whose result is rounded to 16 bits; conversions are none."""
_CONVERSION = re.compile(r"v_cvt_(?:pk_|pkrtz_|pk_rtz_|scalef32_pk_|sr_)?(b?f16)_f32(?:_\w+)?")
_THROUGH_F32 = re.compile(r"v_cvt_(?:f32_f64|f64_f32)(?:_\w+)?")
_TAKES_ITS_RESULT = re.compile(r"v_(?:pk_)?(?:fmac|mac|dot2c)_")
_COMPUTES = re.compile(r"v_(?!pack_|mov_|cndmask_)\w*_(?:b?f16|f32|f64)(?:_\w+)?$")
"""Instructions that do more with a float than to move it."""
_TAKES_APART = re.compile(
    r"v_(?:dual_)?(?:perm|lshrrev|ashrrev|add3|bfe|bfi|and|and_or|alignb\w*)_[bui](?:16|32)(?:_\w+)?"
)
"""What rounds an f32 to bf16 where there is no instruction for it: integer arithmetic, and halves put together."""
_IN_F32 = re.compile(r"v_(?!pack_|mov_|cndmask_|cmp)\w*_f32(?:_\w+)?")
_HALVES = {"f16", "bf16"}
_LDS = -1
"""Stands for all of LDS among the registers that hold rounded values."""

Rounded = frozenset[int]
"""Registers, numbered as `Operand.registers` does, that hold what was rounded to 16 bits, or came of it."""


class Arithmetic(Struct, frozen=True):
    """What a kernel computes in; f32 goes without saying.

    Attributes:
        sums: float and integer types in which it adds up: results of matrix instructions, and 16-bit floats.
        once: 16-bit floats to which it rounds, and does not add up; not where results alone are rounded, once, as the
            output's type explains that.
        single: something is computed in f32: of an output in f64 that is not said by itself.
    """

    sums: tuple[str, ...]
    once: tuple[str, ...]
    single: bool


_Said = TypeVar("_Said")


def _kept(judge: Callable[[Coverage], _Said]) -> Callable[[Coverage], _Said]:
    """What is said of the ways that waves went, kept: at most sizes of a kernel they go the same."""

    @lru_cache(maxsize=32)
    def of(ways: Ways) -> _Said:
        return judge(ways.coverage)

    return lambda ran: of(ran.ways)


@_kept
def passed_through(ran: Coverage) -> tuple[str, ...]:
    """Types that values go through: those of arithmetic, 16-bit floats that they are converted to, or that matrix
    instructions take of them, and f32 that an f64 becomes or comes of."""
    computed = arithmetic(ran)
    found = {match[1] for inst in ran.insts if (match := _CONVERSION.fullmatch(inst.name))}
    single = {"f32"} if any(_THROUGH_F32.fullmatch(inst.name) for inst in ran.insts) else set()
    return tuple(sorted(found | _by_hand(ran) | {*computed.sums, *computed.once} | single))


def _by_hand(ran: Coverage) -> set[str]:
    """Types of operands of matrix instructions that integers have made of what was computed in f32."""
    matrix = (inst for inst in ran.insts if Kind.MATRIX in inst.kind)
    taken = {inst.pc: form.a for inst in matrix if (form := matrix_form(inst)) and form.a in _HALVES}
    if not taken:
        return set()
    found: set[str] = set()
    computed, apart = _held(ran, _is_f32), _held(ran, _is_taken_apart)
    for pc in ran.blocks:
        floats, halves = (held.get(pc, frozenset[int]()) for held in (computed, apart))
        for inst in ran.flow.blocks[pc]:
            if inst.pc in taken and _reads(inst.src[:2], floats & halves):
                found.add(taken[inst.pc])
            floats, halves = _after(inst, floats, _is_f32), _after(inst, halves, _is_taken_apart)
    return found


def only_kept(ran: Coverage, declared: Collection[str]) -> tuple[str, ...]:
    """Floats of 16 bits, and f32 of f64, that values are converted to, though nothing computes in them and no
    argument is `declared` so: as where LDS or a temporary has another type than what is kept in it."""
    names = [inst.name for inst in ran.insts]
    kinds = {match[1] for name in names if (match := _CONVERSION.fullmatch(name))}
    if any(name.startswith("v_cvt_f32_f64") for name in names):
        kinds.add("f32")
    return tuple(sorted(kind for kind in kinds - {*declared} if not _computes_in(kind, names)))


def _computes_in(kind: str, names: Iterable[str]) -> bool:
    """Whether one of these instructions does more with a type than to convert it."""
    return any(_of(kind, name) for name in names if "_cvt_" not in name and "_mix" not in name)


def _of(kind: str, name: str) -> bool:
    """Whether an instruction's name has a type in it."""
    return re.search(rf"(?<![a-z]){kind}(?!\d)", name) is not None


@_kept
def arithmetic(ran: Coverage) -> Arithmetic:
    """The types of what ran."""
    sums: set[str] = set()
    once: set[str] = set()
    held = _held(ran, _narrow)
    for pc in ran.blocks:
        now = held.get(pc, frozenset[int]())
        for inst in ran.flow.blocks[pc]:
            form = matrix_form(inst) if Kind.MATRIX in inst.kind else None
            if form is not None:
                sums.add(form.result)
            elif found := _narrow(inst.name):
                again = Kind.ATOMIC in inst.kind or _takes(inst, now)
                (sums if again else once).add(found)
            now = _after(inst, now, _narrow)
    alone = tuple(sorted(once - sums))
    single = _computes_in("f32", (inst.name for inst in ran.insts))
    return Arithmetic(tuple(sorted(sums)), alone if alone and _goes_on(ran, held) else (), single)


def _goes_on(ran: Coverage, held: Mapping[int, Rounded]) -> bool:
    """Whether something computes with what arithmetic rounded to 16 bits, or that with what was converted to them.

    Args:
        ran: what was executed.
        held: what each block finds when it begins of results of arithmetic.
    """
    converted = _held(ran, _rounds)
    for pc in ran.blocks:
        now, rounded = (found.get(pc, frozenset[int]()) for found in (held, converted))
        for inst in ran.flow.blocks[pc]:
            narrow = bool(_narrow(inst.name)) and Kind.MATRIX not in inst.kind
            computes = narrow or Kind.MATRIX in inst.kind or _COMPUTES.match(inst.name)
            if computes and _takes(inst, rounded if narrow else now):
                return True
            now, rounded = _after(inst, now, _narrow), _after(inst, rounded, _rounds)
    return False


@cache
def _narrow(name: str) -> str:
    """The 16-bit type that arithmetic of this name rounds to; "" for none."""
    found = _NARROW.fullmatch(name)
    return found[1] if found else ""


@cache
def _is_f32(name: str) -> str:
    """ "f32" for what computes in it, or converts to it; "" for all else."""
    return "f32" if _IN_F32.fullmatch(name) else ""


@cache
def _is_taken_apart(name: str) -> str:
    """ "bits" for what takes bits of a register; "" for all else."""
    return "bits" if _TAKES_APART.fullmatch(name) else ""


@cache
def _rounds(name: str) -> str:
    """The 16-bit type that an instruction of this name rounds to, by arithmetic or by conversion; "" for none."""
    found = _CONVERSION.fullmatch(name)
    return found[1] if found else _narrow(name)


def _held(ran: Coverage, rounds: Callable[[str], str]) -> dict[int, Rounded]:
    """What each block finds when it begins, by any of the ways that led there. `rounds`: see `_after`."""
    ways: dict[int, list[int]] = {}
    for begin, end in ran.edges:
        if begin != START:
            ways.setdefault(begin, []).append(end)
    held: dict[int, Rounded] = {pc: frozenset() for pc in ran.blocks}
    pending = sorted(ran.blocks, reverse=True)
    while pending:
        pc = pending.pop()
        now = held[pc]
        for inst in ran.flow.blocks[pc]:
            now = _after(inst, now, rounds)
        for end in ways.get(pc, ()):
            if end in held and not now <= held[end]:
                held[end] |= now
                pending.append(end)
    return held


def _after(inst: Inst, now: Rounded, rounds: Callable[[str], str]) -> Rounded:
    """What holds rounded values behind an instruction. `rounds`: says of a name which type it rounds to."""
    if not now and not rounds(inst.name):
        return now
    if inst.encoding == "DS" and not inst.dst:
        return now | {_LDS} if _reads(inst.src, now) else now
    to = [operand for half in inst.pair or (inst,) for operand in half.dst]
    written = {register for operand in to for register in operand.registers()}
    if not written:
        return now
    if rounds(inst.name) or (_takes(inst, now) and Kind.MATRIX not in inst.kind):
        return now | written
    whole = "d16" not in inst.name and all(operand.bits >= 32 for operand in to)
    return now - written if whole else now  # one half keeps what it held


def _takes(inst: Inst, now: Rounded) -> bool:
    if not now:
        return False
    if inst.encoding == "DS":
        return _LDS in now if Kind.LOAD in inst.kind else _reads(inst.src, now)
    if inst.kind & (Kind.LOAD | Kind.STORE):  # an address that was rounded says nothing of what lies there
        return False
    return any(
        _reads((*half.src, *(half.dst if _TAKES_ITS_RESULT.match(half.name) else ())), now)
        for half in inst.pair or (inst,)
    )


def _reads(sources: Iterable[Operand], now: Rounded) -> bool:
    return any(register in now for operand in sources for register in operand.registers())
