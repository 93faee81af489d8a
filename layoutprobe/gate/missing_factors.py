"""Changes by which a factor comes in that a kernel may lack: steps that were left out are no other instruction.

A sum that a loop goes on with is not rescaled where its neighbours are, or what a line computes is not multiplied by
an argument that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import reduce
from operator import and_

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.edit import Edit, Values, edit
from layoutprobe.isa.edits_of_constants import number
from layoutprobe.isa.inst import Inst, Operand

_MULTIPLY = ("v_mul_f32", "v_fmac_f32", "v_fma_f32")
_ADD = ("v_add_f32", "v_fmac_f32", "v_fma_f32")
_RANK = -1
"""Before all others: they are few, and a sum that is rescaled, or an idle argument, speaks for them."""
_MOST = 3
"""Factors that are tried in a block."""

Line = object


class Missing(Struct, frozen=True):
    """One factor that comes in.

    Attributes:
        edits: address -> the change there.
        about: an instruction of the line at which it is told.
        factor: the instruction in whose line the factor is used already; None for an argument.
    """

    edits: Mapping[int, Edit]
    about: Inst
    factor: Inst | None = None


class _Use(Struct, frozen=True):
    """A vector register of one word that an instruction reads; `at`: its position in the block."""

    at: int
    inst: Inst
    half: Inst
    operand: Operand


def rescaled(block: Sequence[Inst], line: Mapping[int, Line]) -> Iterator[Missing]:
    """Sums that a block begins with, multiplied by what others that it begins with are multiplied by.

    Args:
        block: its instructions.
        line: address -> source line.
    """
    reads, writes = _accesses(block)
    carried = {r for r, uses in reads.items() if uses[0].at <= min(writes.get(r, ()), default=len(block))}
    factors = _factors(reads, writes, carried)
    sums: dict[Line, list[_Use]] = {}
    for register in sorted(carried):
        first = reads[register][0]
        if first.half.name in _ADD and any(o is first.operand for o in _addends(first.half)):
            sums.setdefault(line.get(first.inst.pc, first.inst.pc), []).append(first)
    groups = sorted(sums.values(), key=len, reverse=True)
    # Inlined, the last step of one may have the line of a function.
    every = [use for uses in groups for use in uses]
    for uses in [*groups, every] if len(groups) > 1 else groups:
        for pairs in _pairings(block, uses, factors):
            apart = all(use.operand.index != factor.operand.index for use, factor in pairs)
            if apart and all(
                factor.at <= use.at or _reaches(factor, use.at, writes) for use, factor in pairs
            ):
                first, used = pairs[0]
                key = ("rescaled", *((factor.inst.pc, factor.operand.index) for _, factor in pairs))
                yield Missing(_before(pairs, key), first.inst, used.inst)


def _pairings(
    block: Sequence[Inst], uses: Sequence[_Use], factors: Sequence[_Use]
) -> Iterator[list[tuple[_Use, _Use]]]:
    """Sums with factors: one for all, or to each its own."""
    for factor in factors[:_MOST]:
        yield [(use, factor) for use in uses]
    if 1 < len(uses) == len(factors):
        addends = [(use.at, [o for o in use.half.src if o is not use.operand]) for use in uses]
        added = _own_origins(block, addends)
        scaled = _own_origins(block, [(factor.at, [factor.operand]) for factor in factors])
        pairs = [
            (use, max(zip(factors, scaled, strict=True), key=lambda one: (one[1] & mine).bit_count())[0])
            for use, mine in zip(uses, added, strict=True)
        ]
        if len({factor.operand.index for _, factor in pairs}) == len(pairs):
            yield pairs


def _own_origins(block: Sequence[Inst], values: Sequence[tuple[int, Sequence[Operand]]]) -> list[int]:
    """Of which registers that a block begins with operands at positions are computed, a bit for each; without those
    that all have: what is a row's own."""
    now: dict[int, int] = {}  # register that the block has written -> origins

    def together(operands: Iterable[Operand]) -> int:
        result = 0
        for operand in operands:
            for register in operand.registers() if operand.kind == "v" else ():
                result |= now.get(register, 1 << register)
        return result

    asked: dict[int, list[int]] = {}
    for at_value, (at, _) in enumerate(values):
        asked.setdefault(at, []).append(at_value)
    found = [0] * len(values)
    for at, inst in enumerate(block):
        for at_value in asked.get(at, ()):
            found[at_value] = together(values[at_value][1])
        halves = [(half, together(half.src)) for half in inst.pair or (inst,)]
        for half, origins in halves:
            now.update((r, origins) for o in half.dst if o.kind == "v" for r in o.registers())
    common = reduce(and_, found)
    return [one & ~common for one in found]


def multiplied(
    blocks: Iterable[Sequence[Inst]], line: Mapping[int, Line], arguments: Sequence[str]
) -> Iterator[Missing]:
    """What lines compute, multiplied by arguments that nothing reads: where it is read by another line for the first
    time."""
    results: dict[Line, list[tuple[Inst, Operand]]] = {}
    for block in blocks if arguments else ():
        for inst, operand in _left_by_line(block, line):
            results.setdefault(line[inst.pc], []).append((inst, operand))
    for left in results.values():
        for name in arguments:
            yield Missing({inst.pc: _scaled(inst, operand, name) for inst, operand in left}, left[0][0])


def unread(insts: Iterable[Inst], held: Mapping[int, Mapping[int, str]], names: Sequence[str]) -> list[str]:
    """Arguments that no instruction reads from the register that it was loaded to."""
    read = set()
    for inst in insts:
        of = held.get(inst.pc, {})
        for half in inst.pair or (inst,):
            read |= {of[r] for o in half.src if o.kind == "s" for r in o.registers() if r in of}
    return [name for name in names if name not in read]


def _accesses(block: Sequence[Inst]) -> tuple[dict[int, list[_Use]], dict[int, list[int]]]:
    """Number of a vector register -> where the block reads it, and where it writes it."""
    reads: dict[int, list[_Use]] = {}
    writes: dict[int, list[int]] = {}
    for at, inst in enumerate(block):
        for half in inst.pair or (inst,):
            changed = half.dst if half.name.startswith("v_fmac") else ()
            for operand in (*half.src, *changed):
                if operand.kind == "v":
                    for n in range(operand.regs):
                        reads.setdefault(operand.index + n, []).append(_Use(at, inst, half, operand))
        for half in inst.pair or (inst,):
            for operand in half.dst:
                if operand.kind == "v":
                    for n in range(operand.regs):
                        writes.setdefault(operand.index + n, []).append(at)
    return reads, writes


def _addends(half: Inst) -> Sequence[Operand]:
    if half.name == "v_add_f32":
        return half.src
    return half.dst if half.name == "v_fmac_f32" else half.src[2:]


def _factors(
    reads: Mapping[int, Sequence[_Use]], writes: Mapping[int, Sequence[int]], carried: Set[int]
) -> list[_Use]:
    """Where registers are multiplied with one that the block begins with, or a copy of that; each register once."""
    copies = {
        (use.half.dst[0].index, use.at)
        for register in carried
        for use in reads[register]
        if use.half.name == "v_mov_b32" and not any(at < use.at for at in writes.get(register, ()))
    }
    found: dict[int, _Use] = {}
    for register, uses in sorted(reads.items()):
        for use in uses:
            pair = use.half.src[:2]
            if use.half.name not in _MULTIPLY or not any(one is use.operand for one in pair):
                continue
            last = max((at for at in writes.get(register, ()) if at < use.at), default=None)
            if (register in carried) if last is None else ((register, last) in copies):
                others = (one for one in pair if one.kind == "v" and one.regs == 1 and one.index != register)
                for other in others:
                    found.setdefault(other.index, replace(use, operand=other))
    return sorted(found.values(), key=lambda one: one.at)


def _reaches(factor: _Use, at: int, writes: Mapping[int, Sequence[int]]) -> bool:
    """A register holds at a position what it holds where it is a factor."""
    low, high = sorted((factor.at, at))
    return not any(low <= written < high for written in writes.get(factor.operand.index, ()))


def _plain(operand: Operand) -> Operand:
    return replace(operand, fmt="F32", bits=32, neg=False, abs=False, hi=False)


def _times(inst: Inst, to: Operand, factor: Operand) -> Inst:
    return Inst(inst.pc, inst.size, "v_mul_f32", "VOP2", (_plain(to),), (factor, _plain(to)))


def _before(pairs: Sequence[tuple[_Use, _Use]], key: tuple[object, ...]) -> dict[int, Edit]:
    """Registers multiplied by their factors before they are read: where the factor is used, if that comes first, as
    its register may hold something else afterwards."""
    says = "the sum that this adds to multiplied by the factor of {} first"
    changed: dict[int, tuple[Inst, list[Inst]]] = {}
    for use, factor in pairs:
        at = min(use, factor, key=lambda one: one.at).inst
        _, made = changed.setdefault(at.pc, (at, []))
        made.append(_times(at, use.operand, _plain(factor.operand)))
    return {pc: edit(key, says, _RANK, *made, at) for pc, (at, made) in changed.items()}


def _left_by_line(block: Sequence[Inst], line: Mapping[int, Line]) -> Iterator[tuple[Inst, Operand]]:
    """Floats that an instruction of a line computes, and one of another line reads next."""
    reads, writes = _accesses(block)
    for at, inst in enumerate(block):
        if inst.pair or inst.name not in (*_MULTIPLY, *_ADD) or inst.pc not in line:
            continue
        (to,) = inst.dst
        ends = next((w for w in writes[to.index] if w > at), len(block))
        after = [use for use in reads.get(to.index, ()) if at < use.at <= ends]
        if after and all(line.get(use.inst.pc) != line[inst.pc] for use in after):
            yield inst, to


def _scaled(inst: Inst, to: Operand, name: str) -> Edit:
    def make(values: Values) -> tuple[Inst, ...]:
        return inst, _times(inst, to, number(values[name], _plain(to)))

    return Edit(
        ("multiplied", name),
        f"what is computed here multiplied by argument {name}, which nothing reads,",
        _RANK,
        make,
    )
