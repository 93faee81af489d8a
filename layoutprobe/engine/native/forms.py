"""Rows -> forms: C that executes an instruction for one wave, with its operands left open.

Instructions that differ in registers and immediates alone share a form: `Form.text` names the entries of a
record (`o` offsets of registers, `k` immediates; c/base.h), and `Form.fill` makes them for an instruction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct, field

from layoutprobe.engine.native.emit import Emitter, c_type
from layoutprobe.engine.native.rows import FLAG, Row
from layoutprobe.engine.native.tracing import Node, UntraceableError, cast, const, source, trace
from layoutprobe.isa.inst import NULL, SCC, Inst, Operand
from layoutprobe.semantics.operands import DTYPES, constant_bits, sign_modifier, width_of

OFFSETS, IMMEDIATES = 12, 8
"""Entries of a record."""
_FOLDED = frozenset({"v_perm_b32"})
"""Rows that are much simpler for immediates that are known: their value becomes part of the form."""
_SCC_CODE = 253
_ACTIVE = "ex"
"""The active lanes, in a form."""

Slot = tuple[int, str, int, int]
"""Which half of a dual instruction, "source" or "target", which operand, and which word of an immediate."""


class Form(Struct, frozen=True, dict=True):
    """See the module.

    Attributes:
        text: the C function's body.
        rest: the body of another function, which it calls in tail position as REST: what it seldom does.
        offsets, immediates: what a record's entries hold.
    """

    text: str
    offsets: tuple[Slot, ...]
    immediates: tuple[Slot, ...]
    rest: str = ""

    @cached_property
    def symbol(self) -> str:
        """Name of its function, which tells what it does."""
        return "f_" + hashlib.sha256((self.text + self.rest).encode()).hexdigest()[:20]

    @property
    def function(self) -> str:
        """The C function."""
        own = f"FORM({self.symbol}) {{\n  {self.text}\n  NEXT;\n}}"
        if not self.rest:
            return own
        name = f"REST_{self.symbol}"
        rest = f"static __attribute__((noinline)) FORM({name}) {{\n  {self.rest}\n  NEXT;\n}}"
        return f"{rest}\n{own.replace('REST', name)}"

    def fill(self, rows: Sequence[Row], lanes: int, vgprs_at: int) -> tuple[list[int], list[int]]:
        """The entries of a record for instructions of this form."""
        offsets = [offset_of(_operand(rows, slot), lanes, vgprs_at) for slot in self.offsets]
        words = [_word(rows, slot, lanes) for slot in self.immediates]
        return offsets, words


def _operand(rows: Sequence[Row], slot: Slot) -> Operand:
    row, (_, role, n, _) = rows[slot[0]], slot
    return row.sources[n] if role == "source" else row.targets[n]


def _word(rows: Sequence[Row], slot: Slot, lanes: int) -> int:
    kind = rows[slot[0]].kinds[slot[2]]
    width = lanes if kind == "mask" else width_of(kind)
    return constant_bits(_operand(rows, slot), width) >> 32 * slot[3] & 0xFFFFFFFF


def offset_of(operand: Operand, lanes: int, vgprs_at: int) -> int:
    """Bytes from a wave's start to a register."""
    if operand.kind == "v":
        return vgprs_at + 4 * lanes * operand.index
    return 4 * (SCC if operand.kind == "const" else operand.index)


def shape_of(inst: Inst) -> tuple[Any, ...]:
    """Equal for instructions that have the same form."""
    folded = folds(inst)
    operands = tuple(_operand_shape(o, folded) for o in (*inst.dst, *inst.src))
    mods = tuple((k, v) for k, v in sorted(inst.mods.items()) if not k.startswith(("offset", "simm")))
    named = tuple(k for k in inst.mods if k.startswith("simm"))
    return (inst.name, len(inst.dst), operands, mods, named, tuple(shape_of(half) for half in inst.pair))


def folds(inst: Inst) -> bool:
    """Whether constants of an instruction are part of its form, and no entries of its record."""
    return inst.name in _FOLDED


def _operand_shape(o: Operand, folded: bool) -> tuple[Any, ...]:
    known = (o.index, o.value) if folded and o.kind in ("const", "literal") else (_is_scc(o), o.index == NULL)
    kind = "k" if o.kind in ("const", "literal") and not _is_scc(o) else o.kind
    return (kind, o.regs, o.bits, o.hi, o.neg, o.abs, o.neg_hi, o.sel, o.sel_hi, known)


def _is_scc(operand: Operand) -> bool:
    return operand.kind == "const" and operand.index == _SCC_CODE


def form_of(inst: Inst, rows: Sequence[Row], lanes: int) -> Form:
    """The form of an instruction.

    Raises:
        UntraceableError: a row cannot be traced, or has more operands than a record.
    """
    writing = _Writing(lanes, folds(inst))
    stores = [line for n, row in enumerate(rows) for line in writing.row(n, row)]
    if len(writing.offsets) > OFFSETS or len(writing.immediates) > IMMEDIATES:
        raise UntraceableError("more operands than a record has")
    active = [] if all(row.scalar for row in rows) else [f"const mask {_ACTIVE} = EX;"]
    text = "\n  ".join([*active, *writing.emitter.lines, *stores])
    return Form(text, tuple(writing.offsets), tuple(writing.immediates))


class _Writing(Struct):
    """A form while it is being written: all rows are computed before any result is stored."""

    lanes: int
    folded: bool
    emitter: Emitter = field(default_factory=Emitter)
    offsets: list[Slot] = field(default_factory=list)
    immediates: list[Slot] = field(default_factory=list)
    half: int = 0

    def row(self, half: int, row: Row) -> list[str]:
        self.half = half
        values = [self._source(n, o, k) for n, (o, k) in enumerate(zip(row.sources, row.kinds, strict=True))]
        active = _ACTIVE
        if row.lanes is not None:
            values[0], active = self._permuted(row, values[0])
        results = trace(row.compute, values)
        stores: list[str] = []
        for n, (operand, kind, value) in enumerate(zip(row.targets, row.results, results, strict=True)):
            if operand.kind == "s" and operand.index == NULL:
                continue
            stores += self._store(n, operand, kind, value, "" if row.scalar else active)
        return stores

    def _offset(self, role: str, n: int) -> int:
        self.offsets.append((self.half, role, n, 0))
        return len(self.offsets) - 1

    def _immediate(self, n: int, word: int) -> str:
        self.immediates.append((self.half, "source", n, word))
        return f"i->k[{len(self.immediates) - 1}]"

    # Sources.

    def _source(self, n: int, operand: Operand, kind: str) -> Any:
        if kind == "mask":
            return self._mask(n, operand)
        if kind == FLAG:
            return source(f"RS({self._offset('source', n)}) != 0", np.bool_, wide=False)
        width, dtype = width_of(kind), DTYPES[kind]
        if width < 16:
            raise UntraceableError(kind)
        modify = sign_modifier(operand, kind)
        if self.folded and operand.kind in ("const", "literal") and not _is_scc(operand):
            uint = np.dtype(f"u{width // 8}")
            value = np.array([[constant_bits(operand, width)]], uint).view(dtype)
            return value if modify is None else modify(value)
        raw: Any = self._raw(n, operand, width).view(dtype)
        return raw if modify is None else modify(raw)

    def _raw(self, n: int, operand: Operand, width: int) -> Node:
        uint = np.dtype(f"u{width // 8}")
        if operand.kind == "s" and operand.index == NULL:
            return const(uint.type(0))
        if operand.kind in ("const", "literal") and not _is_scc(operand):
            words = [self._immediate(n, j) for j in range(max(width // 32, 1))]
            text = f"(u{width}){words[0]}" + (f" | (u64){words[1]} << 32" if width == 64 else "")
            return source(text, uint, wide=False)
        _check_width(operand, width)
        if operand.kind == "v":
            at = self._offset("source", n)
            return source(_vector_text(at, operand, width), uint, wide=True)
        if operand.kind not in ("s", "const"):
            raise UntraceableError(f"an operand of kind {operand.kind}")
        at = self._offset("source", n)
        pair = width == 64 and not _is_scc(operand)
        text = f"(u64)RS({at}) | (u64)RSH({at}) << 32" if pair else f"(u{width})RS({at})"
        return source(f"(u16)(RS({at}) >> 16)" if width == 16 and operand.hi else text, uint, wide=False)

    def _mask(self, n: int, operand: Operand) -> Node:
        if operand.kind == "s" and operand.index == NULL:
            return const(np.bool_(False))
        if operand.kind == "s":
            self._check_mask(operand)
            return source(f"RM({self._offset('source', n)})", np.bool_, wide=True)
        words = [self._immediate(n, j) for j in range(self.lanes // 32)]
        text = words[0] if len(words) == 1 else f"(u64){words[0]} | (u64){words[1]} << 32"
        return source(text, np.bool_, wide=True)

    def _check_mask(self, operand: Operand) -> None:
        if 32 * operand.regs != self.lanes:
            raise UntraceableError("a lane mask of another size")

    def _permuted(self, row: Row, value: Any) -> tuple[Any, str]:
        """Source 0 as DPP fetches it, and the lanes that may be written."""
        lanes = row.lanes
        assert lanes is not None
        at, n = lanes.source[: self.lanes], self.lanes
        valid = sum(1 << lane for lane in range(n) if at[lane] >= 0)
        enabled = sum(1 << lane for lane in range(n) if lanes.enabled[lane])
        indices = ", ".join(str(max(int(x), 0)) for x in at)
        readable = f"(mask){valid:#x}ull"
        if not lanes.fetch_inactive:
            readable += f" & bits(__builtin_shufflevector(bools({_ACTIVE}), bools({_ACTIVE}), {indices}))"
        readable = self.emitter.name("mask", readable)
        writes = f"{_ACTIVE} & (mask){enabled:#x}ull" + ("" if lanes.zero else f" & {readable}")
        active = self.emitter.name("mask", writes)
        if isinstance(value, Node) and value.wide:
            text, kind = self.emitter.value(value), self.emitter.type_of(value)
            moved = f"__builtin_shufflevector({text}, {text}, {indices})"
            zero = f"({kind})({c_type(value.dtype)})0"
            value = source(f"bools({readable}) ? {moved} : {zero}", value.dtype, wide=True)
        return (value if row.fetched is None else row.fetched(value)), active

    # Targets.

    def _store(self, n: int, operand: Operand, kind: str, value: Node, active: str) -> list[str]:
        e = self.emitter
        at = self._offset("target", n)
        if kind == FLAG:
            return [f"DS({at}) = {e.value(value)} ? 1 : 0;"]
        if kind == "mask":
            self._check_mask(operand)
            return [f"DM({at}) = {e.value(value, wide=True)} & {active};"]
        dtype, width = np.dtype(DTYPES[kind]), width_of(kind)
        _check_width(operand, width)
        value = cast(value, dtype)
        if operand.kind == "s":
            return self._store_scalar(at, value, width)
        text = e.value(value, wide=True)
        bits = "" if width == 16 or dtype.kind == "u" else "AS(v_u32, "
        if width == 64:
            q = e.name("v_u64", f"AS(v_u64, {text})")
            return [
                _put("DV", at, f"CV({q}, v_u32)", active),
                _put("DVH", at, f"CV({q} >> 32, v_u32)", active),
            ]
        if width == 32:
            return [_put("DV", at, f"{bits}{text})" if bits else text, active)]
        h = e.name("v_u32", f"CV(AS(v_u16, {text}), v_u32)")
        if operand.bits == 32:
            return [_put("DV", at, h, active)]
        old = f"(DV({at}) & 0xffffu) | {h} << 16" if operand.hi else f"(DV({at}) & 0xffff0000u) | {h}"
        return [_put("DV", at, old, active)]

    def _store_scalar(self, at: int, value: Node, width: int) -> list[str]:
        if value.wide:
            raise UntraceableError("a value per lane for a scalar register")
        text = self.emitter.value(value)
        if width == 64:
            q = self.emitter.name("u64", f"AS(u64, {text})")
            return [f"DS({at}) = (u32){q};", f"DSH({at}) = (u32)({q} >> 32);"]
        if width != 32:
            raise UntraceableError(f"a scalar result of {width} bits")
        return [f"DS({at}) = AS(u32, {text});"]


def _check_width(operand: Operand, width: int) -> None:
    """That a value lies in the registers that the kernel was checked to have."""
    if operand.kind in ("v", "s") and 32 * operand.regs < width:
        raise UntraceableError(f"{operand.regs} registers for {width} bits")


def _vector_text(at: int, operand: Operand, width: int) -> str:
    if width == 32:
        return f"RV({at})"
    if width == 16:
        return f"CV(RV({at}) >> 16, v_u16)" if operand.hi else f"CV(RV({at}), v_u16)"
    return f"CV(RV({at}), v_u64) | CV(RVH({at}), v_u64) << 32"


def _put(where: str, at: int, text: str, active: str) -> str:
    return f"PUT({where}({at}), {text}, {active});"
