"""What stands before an instruction in the tracking copy of a block: F_guard of c/control.c.

It asks whether bits that are read are undefined, in lanes that count, and not only whether the register holds
any. Where they are, the rule of the numpy row (`semantics.definedness`) says what of the result is, if C knows it:
C spreads them, or has the instruction itself move them, executed on undefined bits in place of data. Rules that C
does not know, and reads that must be defined, are numpy's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.engine.native.forms import Form, folds
from layoutprobe.engine.native.rows import FLAG, Row
from layoutprobe.engine.native.template import HIGH_HALF, LOW_HALF, WHOLE, Template, registers_of
from layoutprobe.isa.inst import EXEC_LO, Inst, Operand
from layoutprobe.semantics.definedness import (
    OnlyBits,
    Transport,
    Upward,
    and_or,
    any_undefined,
    bit_insert,
    bitwise_and,
    bitwise_or,
    or3,
    select,
    union,
)
from layoutprobe.semantics.int_ops import picked_bytes
from layoutprobe.semantics.op import Modified
from layoutprobe.semantics.operands import constant_bits, width_of

Range = tuple[int, int, int]
"""First register, how many, and how they are read or written: what they are in c/control.c."""

NARROW, LANES = 4, 5
"""How else than in template.py a result is defined: 16 bits of a whole register, or a bit for each lane."""

# How a range is read: which part of a register, and as of which half of a dual instruction.
_ALL, _LOW, _HIGH, _LANES, _NUMBER = 0, 1, 2, 11, 12
_MAGNITUDE = {_ALL: 3, _LOW: 4, _HIGH: 5}
_PARTS = {0xFFFFFFFF: _ALL, 0xFFFF: _LOW, 0xFFFF0000: _HIGH, **{0xFF << 8 * n: 6 + n for n in range(4)}}
_SECOND, EVERY_LANE = 16, 32
"""EVERY_LANE: those that are off count, too."""
_DATA, _CONTROL = 64, 128
"""Undefined bits go where the rule says, or spoil all of the result; of what is neither they are numpy's."""
_NONE, _SPREAD, _UNION, _UPWARD, _MOVED, _PICKED = range(6)
_BY_VALUE = {bitwise_and: 6, bitwise_or: 7, and_or: 8, or3: 9, bit_insert: 10}


class Guard(Struct, frozen=True):
    """See the module.

    Attributes:
        reads, writes: in the order of the row's operands; of what is no register the number is 0.
        rules: a rule for each half of a dual instruction, four bits each.
        data: which offsets of the record are of what moves, and from bit 16 up which immediates.
    """

    reads: tuple[Range, ...] = ()
    writes: tuple[Range, ...] = ()
    rules: int = 0
    data: int = 0


def guard_of_rows(inst: Inst, rows: Sequence[Row], form: Form) -> Guard:
    """The guard of an instruction that is rows."""
    laws = [_law(inst, row, alone=len(rows) == 1) for row in rows]
    moves = any(law.rule in (_MOVED, _PICKED) for law in laws)
    if moves and any(law.rule == _NONE for law in laws):  # all or nothing is moved
        laws = [_STRICT] * len(laws)
    reads = [r for n, (row, law) in enumerate(zip(rows, laws, strict=True)) for r in _reads(n, row, law)]
    writes = [
        _range(o, _written(o, kind) | _SECOND * n)
        for n, row in enumerate(rows)
        for o, kind in zip(row.targets, row.results, strict=True)
    ]
    rules = sum(law.rule << 4 * n for n, law in enumerate(laws))
    return Guard(tuple(reads), tuple(writes), rules, _data(form, laws) if moves else 0)


def guard_of_template(template: Template) -> Guard:
    """The guard of an instruction that has a template."""
    lanes = 0 if template.active else EVERY_LANE
    reads = tuple(_range(o, _half(o) | lanes) for o in template.reads)
    moved = tuple(_range(o, _ALL | EVERY_LANE | _DATA) for o in template.moves)
    writes = tuple(_range(o, kind) for o, kind in template.writes)
    return Guard((*reads, *moved), writes, _MOVED if moved else _NONE, template.moved)


class _Law(Struct, frozen=True):
    """A rule, the sources whose bits it lets through, and which bits of the sources are read."""

    rule: int
    data: frozenset[int] = frozenset()
    parts: tuple[int, ...] = ()


_STRICT = _Law(_NONE)


def _law(inst: Inst, row: Row, *, alone: bool) -> _Law:
    """The rule of a row; as numpy's it is for active lanes, and what DPP fetches is only moved."""
    parts = tuple(_part(o, kind) for o, kind in zip(row.sources, row.kinds, strict=True))
    strict = _Law(_NONE, parts=parts)
    if (
        row.scalar
        or row.rule is None
        or any(not _fits(o, k) for o, k in zip(row.targets, row.results, strict=True))
    ):
        return strict
    everything = frozenset(range(len(row.sources)))
    moved = _moved(inst, row)
    if moved is not None:
        picks = row.rule is picked_bytes and not _is_number(row.sources[2])
        return strict if picks and not alone else _Law(_PICKED if picks else _MOVED, moved, parts)
    if row.lanes is not None or any(o.abs and width_of(k) == 64 for o, k in _typed(row)):
        return strict
    if isinstance(row.rule, OnlyBits):
        named = [_PARTS.get(m) for m in row.rule.masks]
        if any(o.abs for o in row.sources) or None in named:
            return strict
        return _Law(_SPREAD, everything, tuple(n for n in named if n is not None))
    if row.rule is any_undefined:
        return _Law(_SPREAD, everything, parts)
    if any(width_of(k) == 64 for _, k in (*_typed(row), *_results(row))) or row.results[0] == "mask":
        return strict
    if isinstance(row.rule, Upward):
        return _Law(_UPWARD, everything if row.rule.data is None else frozenset(row.rule.data), parts)
    if row.rule in _BY_VALUE and alone and all(_is_number(o) or registers_of(o)[1] for o in row.sources):
        numbers = (_NUMBER if _is_number(o) else p for o, p in zip(row.sources, parts, strict=True))
        return _Law(_BY_VALUE[row.rule], everything, tuple(numbers))
    return _Law(_UNION, everything, parts) if row.rule is union else strict


def _moved(inst: Inst, row: Row) -> frozenset[int] | None:
    """The sources whose bits the row's form moves, as the rule has it; None where it does more than that."""
    compute, rule = row.compute, row.rule
    if not isinstance(compute, Modified) or compute.post or row.fetched is not None or "mask" in row.results:
        return None
    if isinstance(rule, Transport) and rule.function is compute.compute:
        data = frozenset(rule.data)
    elif rule is select or (rule is picked_bytes and _picks_data(row.sources[2])):
        data = frozenset((0, 1))
    elif rule is union and compute.compute is np.positive:
        data = frozenset((0,))
    else:
        return None
    if row.lanes is not None and len(data) < len(
        row.sources
    ):  # control would spoil the lanes that DPP writes
        return None
    operands = [row.sources[n] for n in data]
    constant = any(_is_number(o) for o in operands)
    return None if any(o.neg for o in operands) or (constant and folds(inst)) else data


def _is_number(operand: Operand) -> bool:
    return operand.kind in ("const", "literal") and not registers_of(operand)[1]


def _picks_data(selector: Operand) -> bool:
    """Whether V_PERM_B32, executed on undefined bits, makes none of its own: a selector above 12 is 255."""
    return not _is_number(selector) or all(
        byte <= 12 for byte in constant_bits(selector, 32).to_bytes(4, "little")
    )


def _reads(n: int, row: Row, law: _Law) -> list[Range]:
    half, lanes = _SECOND * n, EVERY_LANE if row.scalar or row.lanes is not None else 0
    reads = []
    for m, operand in enumerate(row.sources):
        role = 0 if law.rule == _NONE else _DATA if m in law.data else _CONTROL
        part = law.parts[m] if law.parts else _ALL
        first, count = (EXEC_LO, 1) if part == _NUMBER else registers_of(operand)  # EXEC is never undefined
        reads.append((first, count, part | half | lanes | role))
    if row.lanes is not None:  # what DPP leaves unwritten depends on the lanes
        role = _DATA if law.rule == _MOVED else 0
        reads += [_range(o, _ALL | half | lanes | role) for o in row.targets]
    return reads


def _data(form: Form, laws: Sequence[_Law]) -> int:
    """Entries of the record that are data or results."""
    found = 0
    for first, slots in ((0, form.offsets), (16, form.immediates)):
        for at, (half, role, n, _) in enumerate(slots):
            if role == "target" or (laws[half].rule in (_MOVED, _PICKED) and n in laws[half].data):
                found |= 1 << first + at
    return found


def _typed(row: Row) -> list[tuple[Operand, str]]:
    return [(o, k) for o, k in zip(row.sources, row.kinds, strict=True) if k not in ("mask", FLAG)]


def _results(row: Row) -> list[tuple[Operand, str]]:
    return [(o, k) for o, k in zip(row.targets, row.results, strict=True) if k not in ("mask", FLAG)]


def _part(operand: Operand, kind: str) -> int:
    """What of its registers an operand reads."""
    if kind == "mask":
        return _LANES if operand.kind == "s" else _ALL
    if kind == FLAG:
        return _ALL
    part = _HIGH if operand.hi else _LOW
    part = part if width_of(kind) == 16 else _ALL
    return _MAGNITUDE[part] if operand.abs and kind[0] in "fb" and width_of(kind) < 64 else part


def _half(operand: Operand) -> int:
    if operand.bits != 16:
        return _ALL
    return _HIGH if operand.hi else _LOW


def _fits(operand: Operand, kind: str) -> bool:
    """Whether C can say which bits of a result are undefined."""
    if kind == "mask":
        return operand.kind == "s"
    width = width_of(kind) if kind != FLAG else 0
    return operand.kind == "v" and width >= 16 and 32 * operand.regs == max(width, 32)


def _written(operand: Operand, kind: str) -> int:
    if kind == "mask":
        return LANES
    if operand.kind == "v" and operand.bits == 16:
        return HIGH_HALF if operand.hi else LOW_HALF
    return NARROW if operand.kind == "v" and kind != FLAG and width_of(kind) == 16 else WHOLE


def _range(operand: Operand, how: int) -> Range:
    return (*registers_of(operand), how)
