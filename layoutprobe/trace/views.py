"""An operand of a user's kernel before and after its transposing loads: raw, received, packed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.instructions.meetings import element_types
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.transposing import exchange_of
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.views import LDS, MEMORY, OperandViews, Read
from layoutprobe.observe.transposed import Fed, Fetched, Transposed, WatchTransposed
from layoutprobe.trace.analysis import analysis_of
from layoutprobe.trace.moment import Fragment, Group, fragment_of
from layoutprobe.trace.operands import Raw, numbers_of
from layoutprobe.trace.places import where
from layoutprobe.trace.problem import Numbers
from layoutprobe.trace.subject import RunSpec, Subject, UndecidedError


class Seen(Struct, frozen=True, eq=False):
    """An operand of one matrix instruction in one execution by every wave of a workgroup.

    Attributes:
        views: the three tables; `packed` is that of the fragment.
        fragment: what it held beside what it needed.
        sizes: bytes that a lane fetches, load by load.
    """

    views: OperandViews
    fragment: Fragment
    sizes: tuple[int, ...]

    __repr__ = brief


def views_of(subject: Subject, inst: Inst, matrix: str, group: Group, iteration: int) -> Seen:
    """The three views; arguments as of `fragment_of`.

    Raises:
        NoProductError, RunStoppedError: as `analysis_of`.
        UndecidedError: as `fragment_of`; or no transposing load feeds the operand, or not the same in all waves.
    """
    fragment = fragment_of(subject, inst, matrix, group, iteration)
    if fragment.role not in "AB":
        raise UndecidedError("only A and B come from loads")
    digits = subject.coding.code.digits
    watch = (WatchTransposed(group),)
    specs = [RunSpec(f"code{digit}", watch, alpha=1.0, beta=0.0) for digit in range(digits)]
    records = [subject.run(spec).record(Transposed) for spec in specs]
    if not all(record.complete for record in records):
        raise UndecidedError("there are too many transposing loads to follow; choose a smaller size")
    chains = [_loads_of(record, inst, fragment) for record in records]
    if any(
        [load.inst.pc for load in one] != [load.inst.pc for load in chains[0][0]]
        for run in chains
        for one in run
    ):
        raise UndecidedError("the waves of this workgroup feed the operand from different loads")
    dtype = element_types(inst)["AB".index(fragment.role)]
    bits = fragment.loaded.field_bits
    tables = [
        _layout(subject, fragment, numbers_of([[words] for words in runs], dtype, bits, subject.coding))
        for runs in (
            [_words(run, "raw") for run in chains],
            [_words(run, "received") for run in chains],
        )
    ]
    loads = chains[0][0]
    reads = tuple(
        Read(load.inst.name, where(subject, load.inst), len(load.received), _offset(load.inst))
        for load in loads
    )
    waves, lanes = fragment.loaded.waves, fragment.loaded.lanes
    address = np.full((waves, lanes, len(loads)), -1, np.int64)
    for wave, chain in zip(fragment.waves, chains[0], strict=True):
        address[wave] = np.stack([load.address for load in chain], axis=1)
    exchange = exchange_of(loads[0].inst.name, lanes)
    assert exchange is not None
    memory = LDS if Kind.LDS in loads[0].inst.kind else MEMORY
    views = OperandViews(
        tables[0], tables[1], fragment.loaded, reads, address,
        together=exchange.together, naming=exchange.naming, memory=memory,
    )  # fmt: skip
    return Seen(views, fragment, tuple(4 * len(load.raw) for load in loads))


def _offset(inst: Inst) -> int:
    """Bytes that a load itself adds to its address."""
    return inst.mods.get("offset", 0) + (inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8)


def _loads_of(record: Transposed, inst: Inst, fragment: Fragment) -> list[list[Fetched]]:
    """The loads of each wave that executes the instruction, in the order of the registers that they fill."""
    found = []
    at = {(fed.wave, fed.turn): fed for fed in record.fed if fed.inst.pc == inst.pc}
    for wave, turn in fragment.turns:
        fed = at.get((wave, turn))
        numbers = _in_order(fed, fragment.role) if fed else []
        if not numbers:
            raise UndecidedError(
                f"{fragment.matrix} does not come through transposing loads there: it has the view `packed` alone"
            )
        found.append([record.loads[number] for number in numbers])
    return found


def _in_order(fed: Fed, role: str) -> list[int]:
    operand = fed.a if role == "A" else fed.b
    return list(dict.fromkeys(number for register in operand for number in sorted(register)))


def _words(chains: Sequence[Sequence[Fetched]], name: str) -> Raw:
    """What all loads of every wave fetched or received: uint32 [register, wave, lane]."""
    words, undefined = (
        np.stack([np.concatenate([getattr(load, which) for load in chain]) for chain in chains], axis=1)
        for which in (name, f"{name}_undefined")
    )
    return words, undefined if undefined.any() else None


def _layout(subject: Subject, fragment: Fragment, numbers: Numbers) -> Layout:
    """Elements by their numbers, [wave that executes it, slot], as the contract names them."""
    problem, matrix, bits = analysis_of(subject).problem, fragment.matrix, fragment.loaded.field_bits
    line, k = (table[numbers].astype(np.int32) for table in problem.lines(matrix))
    line, k = (np.where((line < 0) | (k < 0), HOLE, axis) for axis in (line, k))
    line = np.where(line < 0, line, line % (problem.m if matrix == "A" else problem.n))
    slots = (len(numbers), fragment.loaded.lanes, -1, 32 // bits)
    held = [axis.reshape(slots) for axis in ((line, k) if matrix == "A" else (k, line))]
    row, col = (np.full((fragment.loaded.waves, *axis.shape[1:]), HOLE, np.int32) for axis in held)
    row[list(fragment.waves)], col[list(fragment.waves)] = held
    return Layout(matrix, fragment.loaded.shape, row, col, bits)
