"""What the operands of matrix instructions held in coded runs, as elements of the contract's A and B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.instructions.meetings import element_types, interaction_of
from layoutprobe.isa.inst import Inst
from layoutprobe.manifest.coding import Coding
from layoutprobe.numbers import element_type
from layoutprobe.numbers.distinct import distinct
from layoutprobe.observe.load_path import Target
from layoutprobe.observe.matrix import Execution, Operands
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.product import UNDEFINED, UNKNOWN, ZERO, Factors, Geometry, geometry_of, parts
from layoutprobe.trace.problem import Numbers, Problem
from layoutprobe.trace.subject import Recorded, UndecidedError

Ints = NDArray[np.int64]

MOSTLY = 0.5
"""Share of an operand's slots with values that are no codes, above which it was computed."""


class Executions(Struct, frozen=True, eq=False):
    """Executions of one kind of matrix instruction that feed A and B in the same roles.

    Attributes:
        insts: the instructions, by PC.
        instruction, geometry: what it does with its slots.
        pc, wave, turn: int64 [execution].
        a, b: int32 [execution, slot], number of the element in each slot (lane, VGPR, field); ZERO,
            UNKNOWN or UNDEFINED.
        swapped: the instruction's A holds B transposed, and the reverse: it computes C transposed.
    """

    insts: dict[int, Inst]
    instruction: Interaction
    geometry: Geometry
    pc: Ints
    wave: Ints
    turn: Ints
    a: Numbers
    b: Numbers
    swapped: bool = False

    def letter(self, matrix: str) -> str:
        """Name of a matrix in the contract, from its role in the instruction."""
        exchanged = {"A": "B", "B": "A"} if self.swapped else {}
        return "C" if matrix == "D" else exchanged.get(matrix, matrix)

    __repr__ = brief

    @property
    def code_slots(self) -> Ints:
        """The geometry's slots of D as accumulator codes number them: int64 [block, row, col]."""
        _, lanes, vgprs, fields = self.instruction.needed["D"].row.shape
        lane, register = np.divmod(self.geometry.d, vgprs * fields)
        return np.asarray(register * lanes + lane)

    def select(self, which: NDArray[np.bool_], *, swapped: bool) -> Executions:
        """Some of the executions, with the roles that their operands have."""
        if which.all():
            return replace(self, swapped=swapped)
        return replace(
            self,
            pc=self.pc[which],
            wave=self.wave[which],
            turn=self.turn[which],
            a=self.a[which],
            b=self.b[which],
            swapped=swapped,
        )

    def factors(self, problem: Problem, chain: Ints) -> Factors:
        """Coordinates of the live slots. Where swapped, "row" is a column of B."""
        first, second = problem.lines("A"), problem.lines("B")
        if self.swapped:
            first, second = second, first
        read = ((self.a, self.geometry.a, first), (self.b, self.geometry.b, second))
        made = []
        for held, slots, tables in read:
            lines = [np.empty((len(held), *slots.shape), np.int32) for _ in tables]
            for some in parts(len(held)):
                numbers = np.take(held[some], slots, axis=1)
                for line, table in zip(lines, tables, strict=True):
                    line[some] = np.take(table, numbers)
            made += lines
        return Factors(chain, *made)


class Slot(Struct, frozen=True):
    """One slot of A, B or D in one execution of a matrix instruction.

    Attributes:
        executions: the execution is one of these.
        matrix: "A", "B" or "D", as the instruction has it (its A holds B where `swapped`).
        at: which execution.
        lane, vgpr, field: the slot; registers count from the operand's first.
    """

    executions: Executions
    matrix: str
    at: int
    lane: int
    vgpr: int
    field: int

    @property
    def inst(self) -> Inst:
        """The instruction."""
        return self.executions.insts[int(self.executions.pc[self.at])]

    @property
    def register(self) -> int:
        """Number of the VGPR."""
        inst = self.inst
        operand = {"A": inst.src[0], "B": inst.src[1], "D": inst.dst[0]}[self.matrix]
        return operand.index + self.vgpr * -(-self.bits // 32)

    @property
    def wave(self) -> int:
        """Number of the wave in the launch."""
        return int(self.executions.wave[self.at])

    @property
    def bits(self) -> int:
        """Width of the slot."""
        return self.executions.instruction.needed[self.matrix].field_bits

    @property
    def number(self) -> int:
        """Number of the element in a slot of A or B; ZERO, UNKNOWN or UNDEFINED."""
        axes = self.executions.instruction.needed[self.matrix].row.shape[1:]
        held = self.executions.a if self.matrix == "A" else self.executions.b
        return int(held[self.at, np.ravel_multi_index((self.lane, self.vgpr, self.field), axes)])

    @property
    def target(self) -> Target:
        """The slot, for the observer that follows it back to its load."""
        bit = self.field * self.bits if self.bits <= 16 else None
        return Target(self.wave, int(self.executions.turn[self.at]), self.register, self.lane, bit)


def executions_of(runs: Sequence[Recorded], coding: Coding) -> tuple[list[Executions], Operands]:
    """What the operands held, by kind of instruction; and the record of the first run.

    Raises:
        UndecidedError: the runs did not execute the same instructions.
    """
    records = [run.record(Operands) for run in runs]
    names = sorted({e.inst.name for e in records[0].executions})
    return [_executions([_of(r, name) for r in records], coding) for name in names], records[0]


def held_bits(run: Recorded, done: Executions, matrix: str) -> NDArray[Any] | None:
    """Bits of an operand's slots in another run, as unsigned integers: [execution, slot] as in `done`; None where
    that run executed something else."""
    names = {inst.name for inst in done.insts.values()}
    here = [e for e in run.record(Operands).executions if e.inst.name in names]
    if not here:
        return None
    pc, wave, turn = _keys(here)
    span = int(max(turn.max(), done.turn.max(initial=0))) + 1
    order = np.argsort(wave * span + turn)
    key = (wave * span + turn)[order]
    at = np.minimum(np.searchsorted(key, done.wave * span + done.turn), key.size - 1)
    if (key[at] != done.wave * span + done.turn).any() or (pc[order[at]] != done.pc).any():
        return None
    words = np.concatenate([_operand(e, matrix.lower())[0] for e in here], axis=1)[:, order[at]]
    fields = _fields(words, done.instruction.needed[matrix].field_bits)
    return np.ascontiguousarray(fields.transpose(1, 2, 0, 3)).reshape(fields.shape[1], -1)


def _of(record: Operands, name: str) -> list[Execution]:
    return [e for e in record.executions if e.inst.name == name]


def _executions(runs: list[list[Execution]], coding: Coding) -> Executions:
    keys = [_keys(run) for run in runs]
    orders = [np.lexsort((turn, wave)) for _, wave, turn in keys]
    first = [key[orders[0]] for key in keys[0]]
    for key, order in zip(keys, orders, strict=True):
        if any(x.size != y.size or (x[order] != y).any() for x, y in zip(key, first, strict=True)):
            raise UndecidedError("which matrix instructions are executed depends on the values of A and B")
    insts = {e.inst.pc: e.inst for e in runs[0]}
    inst = runs[0][0].inst
    instruction = interaction_of(inst, runs[0][0].a.shape[-1])
    a, b = (
        numbers_of(
            [[_operand(e, which) for e in run] for run in runs],
            dtype,
            instruction.needed[which.upper()].field_bits,
            coding,
            orders,
        )
        for which, dtype in zip("ab", element_types(inst), strict=True)
    )
    pc, wave, turn = first
    return Executions(insts, instruction, geometry_of(instruction), pc, wave, turn, a, b)


def _keys(run: list[Execution]) -> tuple[Ints, Ints, Ints]:
    pc = np.concatenate([np.full(e.wave.size, e.inst.pc, np.int64) for e in run])
    return pc, np.concatenate([e.wave for e in run]), np.concatenate([e.turn for e in run])


Raw = tuple[NDArray[np.uint32], NDArray[np.uint32] | None]


def _operand(e: Execution, which: str) -> Raw:
    return (e.a, e.a_undefined) if which == "a" else (e.b, e.b_undefined)


def numbers_of(
    runs: list[list[Raw]], dtype: str, bits: int, coding: Coding, orders: list[Ints] | None = None
) -> Numbers:
    """Number of the element in every slot: int32 [execution, slot].

    Args:
        runs: of each coded run, registers and their undefined bits, uint32 [register, execution, lane]; joined along
            the executions.
        dtype, bits: of the elements.
        coding: what the runs carry.
        orders: of each run, the executions in the order of the result; as they come where None.
    """
    orders = orders or [np.arange(sum(raw.shape[1] for raw, _ in run)) for run in runs]
    read = _reader(dtype, coding)
    held = [_joint(run) for run in runs]
    registers, executions, lanes, fields = _fields(held[0][0], bits).shape
    number = np.empty((executions, registers * lanes * fields), np.int32)
    for some in parts(executions):
        part = read(
            [_fields(words[:, order[some]], bits) for (words, _), order in zip(held, orders, strict=True)]
        )
        for (_, mask), order in zip(held, orders, strict=True):
            if mask is not None:
                part[_fields(mask[:, order[some]], bits) != 0] = UNDEFINED
        # [vgpr, execution, lane, field] -> [execution, lane, vgpr, field]
        number[some] = part.transpose(1, 2, 0, 3).reshape(part.shape[1], -1)
    return number


def _joint(run: list[Raw]) -> Raw:
    """Registers of all executions of a run, and their undefined bits."""
    words = np.concatenate([raw for raw, _ in run], axis=1)
    if all(bad is None for _, bad in run):
        return words, None
    return words, np.concatenate([np.zeros_like(raw) if bad is None else bad for raw, bad in run], axis=1)


def _joined(digits: list[Numbers], coding: Coding) -> Numbers:
    """Numbers from digits less one; ZERO where all are that, UNKNOWN where some are no digit."""
    total = coding.total
    wide = coding.code.capacity > np.iinfo(np.int32).max
    number = digits[0].astype(np.int64) if wide else digits[0].copy()
    lowest, highest = digits[0], digits[0]
    for place, digit in enumerate(digits[1:], 1):
        number += digit * number.dtype.type(coding.code.base**place)
        lowest, highest = np.minimum(lowest, digit), np.maximum(highest, digit)
    if int(lowest.min(initial=0)) < 0 or int(number.max(initial=0)) >= total:
        number[(lowest < 0) | (number >= total)] = UNKNOWN
        number[(lowest == ZERO) & (highest == ZERO)] = ZERO
    return number.astype(np.int32, copy=False)


def _fields(words: NDArray[np.uint32], bits: int) -> NDArray[Any]:
    """Fields of registers, low first, or of pairs of registers: [register, execution, lane, field]."""
    words = np.ascontiguousarray(words)
    if bits == 64:
        return (words[0::2] | words[1::2].astype(np.uint64) << np.uint64(32))[..., None]
    if bits >= 8:
        return words.view(f"u{bits // 8}").reshape(*words.shape, 32 // bits)
    return np.asarray(words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32)) & np.uint32(
        (1 << bits) - 1
    )


def _reader(dtype: str, coding: Coding) -> Callable[[list[NDArray[Any]]], Numbers]:
    """Gives numbers from raw elements, of each run those of its digit; see `_joined`.

    8-bit floats travel as bytes, which no kernel changes on their way.
    """
    kind, code = element_type(dtype), coding.code
    kind = element_type("u8") if kind.bits == 8 else kind
    if kind.bits > 16:
        return lambda raw: _joined([_digits_of(kind.decode(each), code.base) for each in raw], coding)
    known = _digits_of(kind.values(), code.base)
    none = -(2**31 // code.digits)  # what is no digit makes any sum negative
    if code.capacity > -none:
        return lambda raw: _joined([known[each] for each in raw], coding)
    places = range(code.digits)
    tables = [np.where(known < 0, none, known * code.base**place).astype(np.int32) for place in places]
    total = coding.total

    def read(raw: list[NDArray[Any]]) -> Numbers:
        number: Numbers = np.take(tables[0], raw[0])
        for table, each in zip(tables[1:], raw[1:], strict=True):
            number += np.take(table, each)
        if int(number.min(initial=0)) < 0 or int(number.max(initial=0)) >= total:
            odd = (number < 0) | (number >= total)
            number[odd] = _joined([known[each[odd]] for each in raw], coding)
        return number

    return read


def _digits_of(value: NDArray[np.float64], base: int) -> NDArray[np.int32]:
    value = np.nan_to_num(value, nan=-1.0)  # NaN is no digit
    good = (value >= 1) & (value <= base) & (value == np.floor(value))
    digit = np.where(good, np.where(good, value, 1) - 1, UNKNOWN)
    return np.where(value == 0, ZERO, digit).astype(np.int32)


def by_roles(done: Executions, problem: Problem) -> tuple[list[Executions], dict[int, str]]:
    """Executions by the roles of their operands; and PCs that cannot be followed, with the reason."""
    lost: dict[int, str] = {}
    swapped = np.zeros(done.pc.size, np.bool_)
    usable = np.ones(done.pc.size, np.bool_)
    of_a, of_b = (problem.lines(name)[0] >= 0 for name in "AB")
    live_a, live_b = distinct(done.geometry.a), distinct(done.geometry.b)
    for pc in distinct(done.pc):
        here = done.pc == pc
        a, b = done.a[here][:, live_a], done.b[here][:, live_b]
        computed = [name for name, held in (("A", a), ("B", b)) if _share(held == UNKNOWN) > MOSTLY]
        if computed:
            usable[here] = False
            lost[int(pc)] = (
                f"{' and '.join(computed)}: values that are computed, and no elements of the inputs"
            )
            continue
        # One operand may be wrong, the other one then tells the roles.
        straight = _share(of_a[a]) + _share(of_b[b])
        crossed = _share(of_b[a]) + _share(of_a[b])
        swapped[here] = crossed > straight
    parts = [done.select(usable & (swapped == role), swapped=role) for role in (False, True)]
    return [part for part in parts if part.pc.size], lost


def _share(which: NDArray[np.bool_]) -> float:
    """Of slots that are something; counting is several times faster than a mean."""
    return np.count_nonzero(which) / max(which.size, 1)
