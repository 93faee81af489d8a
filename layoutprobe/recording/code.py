"""The kernel's code as a recording keeps it: each instruction in words, with the registers that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from msgspec.structs import replace

from layoutprobe.arch.isa import Counting
from layoutprobe.codeobj.inlining import place_of
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import EXEC_LO, FLOAT_CONSTANTS, NULL, SCC, VCC_LO, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.counters import waits
from layoutprobe.observe.uses import ACCUMULATING
from layoutprobe.place import Register
from layoutprobe.recording.model import Instruction, Span

_KINDS = (
    (Kind.MATRIX, "matrix"), (Kind.AWAIT, "barrier"), (Kind.ARRIVE, "barrier"), (Kind.WAIT, "wait"),
    (Kind.ATOMIC, "atomic"), (Kind.LOAD, "load"), (Kind.STORE, "store"), (Kind.BRANCH, "branch"), (Kind.END, "end"),
    (Kind.HINT, "hint"), (Kind.VALU, "vector"), (Kind.SALU, "scalar"),
)  # fmt: skip
"""The first that fits names the kind."""
_SHOWN = frozenset({"simm16", "offset0", "offset1", "opsel_hi", "saddr_null", "wave_wide", "hwreg", "fnuz"})
"""Modifiers that are shown otherwise, or that no assembler writes."""
_BITS = frozenset(
    {"glc", "slc", "dlc", "sc0", "sc1", "nt", "lds", "gds", "clamp", "offen", "idxen", "bound_ctrl", "fi"}
)


def listing(code: CodeObject, kernel: Kernel, insts: Sequence[Inst]) -> tuple[Instruction, ...]:
    """Instructions of a kernel in words: those of the last one that was asked for are kept, as who records one
    workgroup records others. Of `insts`, AccVGPRs are rows of the vector file."""
    which = (code.digest, kernel.name, kernel.entry)
    if which not in _last:
        counting = isa_of(code, kernel).counting
        acc = code.first_accvgpr(kernel)
        made = tuple(_instruction(code, kernel, inst, -1 if acc is None else acc, counting) for inst in insts)
        _last.clear()
        _last[which] = made
    return _last[which]


_last: dict[tuple[str, str, int], tuple[Instruction, ...]] = {}


def _instruction(
    code: CodeObject, kernel: Kernel, inst: Inst, first_acc: int, counting: Counting
) -> Instruction:
    """An instruction; AccVGPRs are rows from `first_acc` on (-1: there are none)."""
    parts = inst.pair or (inst,)
    return Instruction(
        place_of(code, kernel, inst.pc, inst.name),
        _kind(inst.kind),
        " :: ".join(_text(part, first_acc, counting) for part in parts),
        tuple(span for part in parts for span in _spans(_read(part))),
        tuple(span for part in parts for span in _spans(part.dst)),
    )


@cache
def _kind(kind: Kind) -> str:
    return next((name for bit, name in _KINDS if bit in kind), "vector" if Kind.LDS in kind else "scalar")


def _read(inst: Inst) -> tuple[Operand, ...]:
    """Its sources, with a destination that it adds to."""
    return (*inst.src, *inst.dst) if inst.name.startswith(ACCUMULATING) else inst.src


def register_name(kind: str, index: int, first_acc: int) -> str:
    """ "v12", "a3", "s4", "vcc_lo"; of a row of the vector file, or of a scalar register by encoding."""
    if kind == "s":
        return "scc" if index == SCC else str(Register("SGPR", index))
    if 0 <= first_acc <= index:
        return str(Register("AccVGPR", index - first_acc))
    return str(Register("VGPR", index))


def _spans(operands: tuple[Operand, ...]) -> Iterator[Span]:
    for operand in operands:
        if operand.kind == "const" and operand.index == 253:
            yield Span("s", SCC, 1)
        elif operand.registers():
            half = operand.hi and operand.bits == 16
            yield Span(operand.kind, operand.index, operand.regs, half, operand.bits)


def _text(inst: Inst, first_acc: int, counting: Counting) -> str:
    scalar = Kind.SMEM in inst.kind
    signed = "_iu" in inst.name  # there it is no negation, but says which factors are signed
    named = [
        _operand(replace(operand, neg=False) if signed else operand, first_acc)
        for operand in (*inst.dst, *inst.src)
        if operand.kind != "none" and not (scalar and operand.kind == "s" and operand.index == NULL)
    ]
    more = [*_modifiers(inst, counting)]
    if signed and any(operand.neg for operand in inst.src):
        more.append(f"neg_lo:[{','.join(str(int(operand.neg)) for operand in inst.src)}]")
    return " ".join((inst.name, ", ".join(named), *more)).replace("  ", " ").rstrip()


def _modifiers(inst: Inst, counting: Counting) -> Iterator[str]:
    """What stands behind the operands: offsets, counters that are waited for, where a branch goes, what is set."""
    mods = inst.mods
    if Kind.WAIT in inst.kind and inst.name in counting.waits:
        left = waits(inst, counting)
        alone = len(counting.waits[inst.name]) == 1
        yield from (f"{count}" if alone else f"{counter}({count})" for counter, count in left.items())
    elif Kind.BRANCH in inst.kind and "simm16" in mods:
        yield f"{inst.branch_target:#x}"
    elif mods.get("simm16"):
        yield f"{mods['simm16']:#x}"
    if inst.encoding == "DS" and "2addr" not in inst.name and "_2st64" not in inst.name:
        offset = mods.get("offset0", 0) | mods.get("offset1", 0) << 8
        yield from (f"offset:{offset}",) if offset else ()
    else:
        yield from (f"{name}:{mods[name]}" for name in ("offset0", "offset1") if mods.get(name))
    for name, value in mods.items():
        if value and name not in _SHOWN:
            yield name if value == 1 and name in _BITS else f"{name}:{value}"


@cache
def _operand(operand: Operand, first_acc: int) -> str:
    if operand.kind == "literal":
        return f"{operand.value:#x}"
    if operand.kind == "const":
        return _constant(operand)
    if operand.kind == "s" and operand.index == NULL:
        return "null"
    kind = "v" if operand.kind == "a" else operand.kind
    first, last = (register_name(kind, operand.index + n, first_acc) for n in (0, operand.regs - 1))
    text = first
    if operand.regs > 1:
        named = {VCC_LO: "vcc", EXEC_LO: "exec"} if kind == "s" else {}
        text = named.get(operand.index) or f"{first[0]}[{first[1:]}:{last[1:]}]"
    text += ".h" if operand.hi and operand.bits == 16 else ""
    text = f"|{text}|" if operand.abs else text
    return f"-{text}" if operand.neg else text


def _constant(operand: Operand) -> str:
    if operand.number is not None:
        return str(operand.number)
    if operand.index in FLOAT_CONSTANTS:
        return f"{FLOAT_CONSTANTS[operand.index]:.8}"
    return "scc" if operand.index == 253 else f"const{operand.index}"
