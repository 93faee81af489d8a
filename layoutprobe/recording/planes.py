"""Which nibble of its sources each nibble of a result comes from, found by executing the instruction.

Semantics track undefined bits, and track them as the instruction moves bits. So the instruction is executed once
more, by itself, with planes of copies of the wave: in each one nibble of the sources is marked. What is marked in
the result comes from there. Four planes more mark one bit of every nibble, which tells a nibble that moved as it
is from one that was computed; where lanes exchange values, planes for the bits of the lane's number tell which one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import semantics
from layoutprobe.brief import brief
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.indexing import picks_registers
from layoutprobe.isa.inst import NULL, SCC, VGPR0, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.program import Executor, UnboundError
from layoutprobe.machine.registers import SGPRS, RegisterFile
from layoutprobe.semantics.definedness import any_undefined
from layoutprobe.semantics.valu import Execution, Straight

Words = NDArray[np.uint32]
BITS = 4
"""Planes that mark one bit of every nibble."""

_CROSSES = ("v_readlane", "v_readfirstlane", "v_writelane", "v_permlane", "ds_bpermute", "ds_permute", "ds_swizzle",
            "v_mov_b32_dpp")  # fmt: skip
_WHOLE = frozenset({"u32", "i32", "f32", "b32"})
_MOVED = {"v_mov_b32": 1, "v_cndmask_b32": 2}
"""Instructions that move registers as they are, and how many of their sources they choose from."""
_CHANGING = frozenset({"omod", "clamp"})
_ZERO = Operand("const", 128)
_SWAPS = ("v_swap", "v_permlane16_swap", "v_permlane32_swap")


class Source(Struct, frozen=True):
    """A 32-bit register that an instruction reads, once for every operand that names it.

    Attributes:
        scalar: it is a scalar register.
        register: row of the vector file, or the scalar's encoding.
        place: where the instruction below finds it.
    """

    scalar: bool
    register: int
    place: int


class Bound(Struct, frozen=True, eq=False):
    """An instruction whose operands have registers of their own.

    Attributes:
        run: executes it.
        sources: of its operands, and the old content of its destinations.
        results: vector results, `place` is where they appear.
        size: vector registers in all.
        crosses: lanes exchange values.
        read: sources on which the results depend, where those are whole VGPRs of active lanes and keep nothing of
            what they held; None where that is not known.
        spreads: every bit of the results depends on all bits of `read`.
        moves: executes it on anything that stands for whole registers: what else it reads is zero, but for masks;
            None where it does more than to move registers.
    """

    run: Executor
    sources: tuple[Source, ...]
    results: tuple[Source, ...]
    size: int
    crosses: bool
    read: tuple[Source, ...] | None = None
    spreads: bool = False
    moves: Executor | None = None

    __repr__ = brief


class Marked(Struct, frozen=True, eq=False):
    """A source with tags.

    Attributes:
        source: the register.
        bits: uint32 [wave, lane], of a scalar [wave, 1]: those that have tags.
        planes: 8, one for each nibble, or 1 for all of them.
    """

    source: Source
    bits: Words
    planes: int

    __repr__ = brief


class Marks(Struct, frozen=True, eq=False):
    """What was marked in the results.

    Attributes:
        vector: uint32 [result, plane, wave, lane].
        scalar: uint32 [register, plane, wave], by encoding.
    """

    vector: Words
    scalar: Words

    __repr__ = brief


@lru_cache(maxsize=4096)
def _cached(key: _Key) -> Bound | None:
    return _bound(key.inst)


class _Key:
    """An instruction as a key: by its address and itself."""

    def __init__(self, inst: Inst) -> None:
        self.inst = inst

    def __hash__(self) -> int:
        return hash((self.inst.pc, self.inst.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.inst == other.inst


def bound(inst: Inst) -> Bound | None:
    """An instruction for `marks`; None where it cannot be executed by itself."""
    return _cached(_Key(inst))


def _bound(inst: Inst) -> Bound | None:
    if picks_registers(inst):
        return None  # M0 picks registers, which are others here
    places: list[Source] = []
    sources: list[Source] = []
    size = 0

    def own(operand: Operand) -> Operand:
        nonlocal size
        if operand.kind != "v":
            return operand
        first, size = size, size + operand.regs
        places.extend(Source(False, operand.index + n, first + n) for n in range(operand.regs))
        return replace(operand, index=first)

    def remade(one: Inst) -> Inst:
        nonlocal places
        dst = tuple(own(operand) for operand in one.dst)
        results.extend(places)
        sources.extend(places)
        places = []
        src = tuple(own(operand) for operand in one.src)
        if one.name.startswith(_SWAPS):
            results.extend(places)
        sources.extend(places)
        places = []
        sources.extend(_scalars(one))
        return replace(one, dst=dst, src=src)

    results: list[Source] = []
    parts = tuple(remade(half) for half in inst.pair)
    whole = replace(inst, pair=parts) if parts else remade(inst)
    try:
        run = semantics.bind(whole)
    except UnboundError:
        return None
    crosses = inst.name.startswith(_CROSSES) or bool({"dpp_ctrl", "dpp8"} & inst.mods.keys())
    unique = tuple(dict.fromkeys(sources))
    if run is None:
        return None
    executions = [_execution(half) for half in parts or (whole,)]
    read, spreads, moves = None, False, None
    if all(one is not None and _overwrites(one) for one in executions):
        named = {r for one in executions if one for operand in one.sources for r in operand.registers()}
        read = tuple(source for source in unique if source.scalar or VGPR0 + source.place in named)
    (execution,) = executions if len(executions) == 1 else (None,)
    if execution is not None and read is not None and _is_whole(execution):
        spreads = execution.rule is any_undefined and "mask" not in execution.kinds
        moves = _moving(whole)
    return Bound(run, unique, tuple(results), size, crosses, read, spreads, moves)


def _execution(inst: Inst) -> Execution | None:
    """Of vector arithmetic; None of what is none."""
    run = semantics.bind(inst)
    found = run.execution if isinstance(run, Straight) else run
    return found if isinstance(found, Execution) else None


def _overwrites(execution: Execution) -> bool:
    """Nothing of what its VGPRs held before stays, but in lanes that are not active."""
    return execution.lanes is None and all(o.kind != "v" or o.bits >= 32 for o in execution.dst)


def _moving(inst: Inst) -> Executor | None:
    """Executes a move on whole registers alone; None of what is no move, or changes what it moves."""
    data = inst.src[: _MOVED.get(inst.name, 0)]
    if not data or any(operand.neg or operand.abs for operand in data) or inst.mods.keys() & _CHANGING:
        return None
    held = tuple(operand if operand.kind == "v" else _ZERO for operand in data)
    return semantics.bind(replace(inst, src=(*held, *inst.src[len(data) :])))


def _is_whole(execution: Execution) -> bool:
    """It writes one VGPR, from words of 32 bits."""
    op = execution.op
    return (
        len(execution.dst) == 1
        and execution.dst[0].kind == "v"
        and {*op.results, *execution.kinds} <= _WHOLE | {"mask"}
    )


def _scalars(inst: Inst) -> Iterator[Source]:
    for operand in inst.src:
        if operand.kind == "s":
            yield from (Source(True, r, r) for r in operand.registers() if r != NULL)
        elif operand.kind == "const" and operand.index == 253:
            yield Source(True, SCC, SCC)


@lru_cache(maxsize=64)
def _machine(waves: int, lanes: int) -> Machine:
    """For waves of which nobody touches a memory."""
    index = np.arange(waves)
    return Machine(Arena(16, []), Waves(index, index * 0, np.zeros((waves, 3), np.int64)), lanes)


def moved(one: Bound, run: Executor, held: Words, scalars: Words) -> Words:
    """Whole registers where `Bound.moves` leaves them: uint32 [wave, lane].

    Args:
        one: the instruction.
        run: its `moves`.
        held: uint32 [place, wave, lane], what stands for each of its vector registers; changed.
        scalars: uint32 [register, wave].
    """
    (result,) = one.results
    regs = RegisterFile(held, scalars[..., None].copy())
    shadow = RegisterFile(np.zeros_like(regs.vgprs), np.zeros_like(regs.sgprs))
    machine = _machine(held.shape[1], held.shape[2])
    run(Cohort(machine, 0, machine.waves.workgroup, regs, shadow, 0))
    return np.asarray(regs.vgprs[result.place])


def marks(one: Bound, vectors: Words, scalars: Words, marked: Sequence[Marked], lanes: int) -> Marks | None:
    """Execute with planes; None where the instruction refuses marked sources.

    Args:
        one: the instruction.
        vectors: uint32 [place, wave, lane], what its vector registers hold.
        scalars: uint32 [register, wave].
        marked: sources whose bits planes mark.
        lanes: of a wave.

    Returns:
        Planes: those of each of `marked`; BITS, if one of them has several; and where lanes cross, for each of
        `marked` twice as many as a lane's number has bits: those lanes in which the bit is 0, those in which it is 1.
    """
    waves = scalars.shape[1]
    per_lane = 2 * (lanes.bit_length() - 1) if one.crosses else 0
    own = sum(each.planes for each in marked)
    bits = BITS if any(each.planes > 1 for each in marked) else 0
    count = own + bits + len(marked) * per_lane
    regs = RegisterFile(np.repeat(vectors[:, None], count, axis=1).reshape(one.size, count * waves, lanes),
                        np.tile(scalars, count)[..., None])  # fmt: skip
    shadow = RegisterFile(np.zeros_like(regs.vgprs), np.zeros_like(regs.sgprs))
    undef, first = 0, 0
    number = np.arange(lanes)
    for at, each in enumerate(marked):
        source, tagged = each.source, each.bits
        file = shadow.sgprs if source.scalar else shadow.vgprs
        view = file[source.place].reshape(count, waves, 1 if source.scalar else lanes)
        undef |= 1 << (source.place if source.scalar else VGPR0 + source.place)
        for plane in range(each.planes):
            view[first + plane] = tagged & np.uint32(0xFFFFFFFF if each.planes == 1 else 0xF << 4 * plane)
        first += each.planes
        for bit in range(bits):
            view[own + bit] = tagged & np.uint32(0x11111111 << bit)
        for plane in range(per_lane):
            mine = number >> plane // 2 & 1 == plane % 2
            view[own + bits + at * per_lane + plane] = np.where(mine, tagged, 0)[:, : view.shape[-1]]
    machine = _machine(count * waves, lanes)
    cohort = Cohort(machine, 0, machine.waves.workgroup, regs, shadow, undef)
    try:
        with np.errstate(all="ignore"):
            one.run(cohort)
    except (ExecutionError, ArithmeticError, LookupError, ValueError):
        return None
    vector = [shadow.vgprs[result.place].reshape(count, waves, lanes) for result in one.results]
    empty = np.zeros((0, count, waves, lanes), np.uint32)
    return Marks(np.stack(vector) if vector else empty, shadow.sgprs[..., 0].reshape(SGPRS, count, waves))
