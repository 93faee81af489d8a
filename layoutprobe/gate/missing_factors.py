"""Changes by which a factor comes in that a kernel may lack: steps that were left out are no other instruction.

A sum that a loop goes on with is not rescaled where its neighbours are, or what a line computes is not multiplied by
an argument that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Missing:
    """One factor that comes in.

    Attributes:
        edits: address -> the change there.
        about: an instruction of the line at which it is told.
        factor: the instruction in whose line the factor is used already; None for an argument.
    """

    edits: Mapping[int, Edit]
    about: Inst
    factor: Inst | None = None


@dataclass(frozen=True)
class _Use:
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
    for uses in sums.values():
        for factor in factors:
            taken = [use for use in uses if _reaches(factor, use.at, writes)]
            if len(taken) == len(uses) and all(use.operand.index != factor.operand.index for use in uses):
                says = "the sum that this adds to multiplied by the factor of {} first"
                key = ("rescaled", factor.inst.pc, factor.operand.index)
                yield Missing(_before(taken, factor.operand, key, says), uses[0].inst, factor.inst)


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
    return list(found.values())[:_MOST]


def _reaches(factor: _Use, at: int, writes: Mapping[int, Sequence[int]]) -> bool:
    """A register holds at a position what it holds where it is a factor."""
    low, high = sorted((factor.at, at))
    return not any(low <= written < high for written in writes.get(factor.operand.index, ()))


def _plain(operand: Operand) -> Operand:
    return replace(operand, fmt="F32", bits=32, neg=False, abs=False, hi=False)


def _times(inst: Inst, to: Operand, factor: Operand) -> Inst:
    return Inst(inst.pc, inst.size, "v_mul_f32", "VOP2", (_plain(to),), (factor, _plain(to)))


def _before(uses: Sequence[_Use], factor: Operand, key: tuple[object, ...], says: str) -> dict[int, Edit]:
    """Registers multiplied by a factor before they are read."""
    at: dict[int, list[_Use]] = {}
    for use in uses:
        at.setdefault(use.inst.pc, []).append(use)
    found: dict[int, Edit] = {}
    for pc, mine in at.items():
        made = (*(_times(use.inst, use.operand, _plain(factor)) for use in mine), mine[0].inst)
        found[pc] = edit(key, says, _RANK, *made)
    return found


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
