"""What the operands of matrix instructions held in coded runs, as elements of the contract's A and B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.instructions.meetings import element_types, interaction_of
from layoutprobe.isa.inst import Inst
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.model import Gemm
from layoutprobe.observe.matrix import Execution, Operands, WaveTable
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.product import FOREIGN, UNDEFINED, UNKNOWN, ZERO, Factors, Geometry, geometry
from layoutprobe.trace.subject import Recorded, Subject, UndecidedError

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

MOSTLY = 0.5
"""Share of an operand's slots with values that are no codes, above which it was computed."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The contract's product, with leading axes folded into rows and columns.

    Attributes:
        contract: names of the buffers.
        m, n, k: extents of one product.
        batch: products.
        coding: numbers of all elements.
    """

    contract: Gemm
    m: int
    n: int
    k: int
    batch: int
    coding: Coding

    @classmethod
    def of(cls, subject: Subject) -> Problem:
        """The problem of a subject whose contract is a product.

        Raises:
            UndecidedError: A, B and D have different leading axes.
        """
        contract = subject.contract
        assert isinstance(contract, Gemm)
        a, b, d = (subject.binding.buffers[x].shape for x in (contract.a, contract.b, contract.d))
        lead = d[1:-2] if contract.split_k else d[:-2]
        if not a[:-2] == b[:-2] == lead:
            raise UndecidedError("A, B and D have different leading axes, which this check does not follow")
        return cls(contract, a[-2], b[-1], a[-1], prod(lead), subject.coding)

    def lines(self, matrix: str) -> tuple[Numbers, Numbers]:
        """Line (row of A, column of B) and k of every number; the last entries are for no element.

        A negative index from the end, as decoding gives it, finds ZERO, UNKNOWN, UNDEFINED.
        """
        name = self.contract.a if matrix == "A" else self.contract.b
        total = sum(prod(shape) for shape in self.coding.shapes.values())
        line, depth = (np.full(total + 4, FOREIGN, np.int32) for _ in range(2))
        for special in (ZERO, UNKNOWN, UNDEFINED):
            line[special] = depth[special] = special
        if name not in self.coding.shapes:
            return line, depth
        rows, cols = self.coding.shapes[name][-2:]
        product, row, col = np.indices((self.batch, rows, cols), np.int32)
        at = self.coding.numbers(name).ravel()
        along = product * self.m + row if matrix == "A" else product * self.n + col
        line[at], depth[at] = along.ravel(), (col if matrix == "A" else row).ravel()
        return line, depth


@dataclass(frozen=True, eq=False)
class Form:
    """All executions of one kind of matrix instruction.

    Attributes:
        insts: the instructions, by PC.
        instruction, geometry: what it does with its slots.
        pc, wave, turn: int64 [execution].
        a, b: int32 [execution, slot], number of the element in each slot (lane, VGPR, field); ZERO,
            UNKNOWN or UNDEFINED.
    """

    insts: dict[int, Inst]
    instruction: Interaction
    geometry: Geometry
    pc: Ints
    wave: Ints
    turn: Ints
    a: Numbers
    b: Numbers

    __repr__ = brief

    @property
    def code_slots(self) -> Ints:
        """The geometry's slots of D as accumulator codes number them: int64 [block, row, col]."""
        _, lanes, vgprs, fields = self.instruction.needed["D"].row.shape
        lane, register = np.divmod(self.geometry.d, vgprs * fields)
        return np.asarray(register * lanes + lane)

    def select(self, which: NDArray[np.bool_]) -> Form:
        """Some of the executions."""
        return replace(
            self,
            pc=self.pc[which],
            wave=self.wave[which],
            turn=self.turn[which],
            a=self.a[which],
            b=self.b[which],
        )


@dataclass(frozen=True, eq=False)
class Group:
    """Executions of one form that all feed A and B in the same roles.

    Attributes:
        form: the executions.
        swapped: the instruction's A holds B transposed, and the reverse: it computes C transposed.
    """

    form: Form
    swapped: bool

    def factors(self, problem: Problem, chain: Ints) -> Factors:
        """Coordinates of the live slots. Where swapped, "row" is a column of B."""
        g = self.form.geometry
        first, second = problem.lines("A"), problem.lines("B")
        if self.swapped:
            first, second = second, first
        a, b = np.take(self.form.a, g.a, axis=1), np.take(self.form.b, g.b, axis=1)
        return Factors(
            chain, *(np.take(table, a) for table in first), *(np.take(table, b) for table in second)
        )


def forms_of(runs: Sequence[Recorded], coding: Coding) -> tuple[list[Form], Operands]:
    """What the operands held, by kind of instruction; and the record of the first run.

    Raises:
        UndecidedError: the runs did not execute the same instructions.
    """
    records = [run.record(Operands) for run in runs]
    names = sorted({e.inst.name for e in records[0].executions})
    return [_form([_of(r, name) for r in records], coding) for name in names], records[0]


def _of(record: Operands, name: str) -> list[Execution]:
    return [e for e in record.executions if e.inst.name == name]


def _form(runs: list[list[Execution]], coding: Coding) -> Form:
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
        _numbers(
            [[_operand(e, which) for e in run] for run in runs],
            orders,
            dtype,
            instruction.needed[which.upper()].field_bits,
            coding,
        )
        for which, dtype in zip("ab", element_types(inst), strict=True)
    )
    pc, wave, turn = first
    return Form(insts, instruction, geometry(instruction), pc, wave, turn, a, b)


def _keys(run: list[Execution]) -> tuple[Ints, Ints, Ints]:
    pc = np.concatenate([np.full(e.wave.size, e.inst.pc, np.int64) for e in run])
    return pc, np.concatenate([e.wave for e in run]), np.concatenate([e.turn for e in run])


Raw = tuple[NDArray[np.uint32], NDArray[np.uint32] | None]


def _operand(e: Execution, which: str) -> Raw:
    return (e.a, e.a_undefined) if which == "a" else (e.b, e.b_undefined)


def _numbers(runs: list[list[Raw]], orders: list[Ints], dtype: str, bits: int, coding: Coding) -> Numbers:
    """Number of the element in every slot: int32 [execution, slot]."""
    table = _digits(dtype, coding.base)
    digits, undefined = [], None
    for run, order in zip(runs, orders, strict=True):
        words = np.concatenate([raw for raw, _ in run], axis=1)
        digits.append(table[_fields(words[:, order], bits)])
        if any(bad is not None for _, bad in run):
            masks = [np.zeros_like(raw) if bad is None else bad for raw, bad in run]
            mask = _fields(np.concatenate(masks, axis=1)[:, order], bits) != 0
            undefined = mask if undefined is None else undefined | mask
    number = _joined(digits, coding)
    if undefined is not None:
        number[undefined] = UNDEFINED
    # [vgpr, execution, lane, field] -> [execution, lane, vgpr, field]
    return np.ascontiguousarray(number.transpose(1, 2, 0, 3)).reshape(number.shape[1], -1)


def _joined(digits: list[Numbers], coding: Coding) -> Numbers:
    """Numbers from digits less one; ZERO where all are, UNKNOWN where some are none."""
    total = sum(prod(shape) for shape in coding.shapes.values())
    number = digits[0].astype(np.int64) if total > np.iinfo(np.int32).max // coding.base else digits[0].copy()
    lowest, highest = digits[0], digits[0]
    for place, digit in enumerate(digits[1:], 1):
        number += digit * number.dtype.type(coding.base**place)
        lowest, highest = np.minimum(lowest, digit), np.maximum(highest, digit)
    if int(lowest.min(initial=0)) < 0 or int(number.max(initial=0)) >= total:
        number[(lowest < 0) | (number >= total)] = UNKNOWN
        number[(lowest == ZERO) & (highest == ZERO)] = ZERO
    return number.astype(np.int32, copy=False)


def _fields(words: NDArray[np.uint32], bits: int) -> NDArray[Any]:
    """Fields of registers, low first: [..., lane, field]."""
    words = np.ascontiguousarray(words)
    if bits >= 8:
        return words.view(np.uint16 if bits == 16 else np.uint8).reshape(*words.shape, 32 // bits)
    return np.asarray(words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32)) & np.uint32(
        (1 << bits) - 1
    )


def _digits(dtype: str, base: int) -> NDArray[np.int32]:
    """Digit less one of every raw value of an element; ZERO, or UNKNOWN for no digit.

    A manifest has no 8-bit floats: they are bytes, which no kernel changes on their way.
    """
    with np.errstate(invalid="ignore"):  # among all bits are signalling NaNs
        if dtype == "f16":
            value = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
        elif dtype == "bf16":
            value = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        else:
            value = np.arange(1 << (4 if dtype == "iu4" else 8)).astype(np.float64)
    value = np.nan_to_num(value, nan=-1.0)  # NaN is no digit
    good = (value >= 1) & (value <= base) & (value == np.floor(value))
    digit = np.where(good, np.where(good, value, 1) - 1, UNKNOWN)
    return np.where(value == 0, ZERO, digit).astype(np.int32)


def group_of(form: Form, problem: Problem) -> tuple[list[Group], dict[int, str]]:
    """Executions by the roles of their operands; and PCs that cannot be followed, with the reason."""
    lost: dict[int, str] = {}
    swapped = np.zeros(form.pc.size, np.bool_)
    usable = np.ones(form.pc.size, np.bool_)
    of_a, of_b = (problem.lines(name)[0] >= 0 for name in "AB")
    live = {name: np.unique(getattr(form.geometry, name)) for name in "ab"}
    for pc in np.unique(form.pc):
        here = form.pc == pc
        a, b = form.a[here][:, live["a"]], form.b[here][:, live["b"]]
        computed = [name for name, held in (("A", a), ("B", b)) if (held == UNKNOWN).mean() > MOSTLY]
        if computed:
            usable[here] = False
            lost[int(pc)] = (
                f"{' and '.join(computed)}: values that are computed, and no elements of the inputs"
            )
            continue
        # One operand may be wrong, the other one then tells the roles.
        straight = of_a[a].mean() + of_b[b].mean()
        crossed = of_b[a].mean() + of_a[b].mean()
        swapped[here] = crossed > straight
    groups = [Group(form.select(usable & (swapped == role)), bool(role)) for role in (False, True)]
    return [group for group in groups if group.form.pc.size], lost


def place_of(waves: WaveTable, wave: int) -> dict[str, object]:
    """Workgroup and wave, for a finding."""
    group = tuple(int(x) for x in waves.group[wave])
    return {"workgroup": group, "wave": int(waves.index[wave])}
