"""Instructions that are no rows and have a form written by hand (`c/*.c`): memory, matrices, lanes, control.

A template only says which function and with what in its record. What is not here numpy executes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from layoutprobe.engine.native.forms import offset_of
from layoutprobe.isa.inst import EXEC_LO, NULL, SCC, VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.memory import BASE_ADDRESS
from layoutprobe.records import dataclass
from layoutprobe.semantics.access import WIDTHS, Width
from layoutprobe.semantics.operands import constant_bits
from layoutprobe.semantics.wmma import form_of as matrix_form_of
from layoutprobe.semantics.wmma import replicated_16x16x16

# How an instruction defines what it writes; F_guard.
WHOLE, LOW_HALF, HIGH_HALF, ALL_LANES = range(4)


@dataclass(frozen=True)
class Template:
    """One instruction's record.

    Attributes:
        symbol: the C function.
        offsets, immediates: see c/base.h and the function.
        reads: registers that must be defined.
        writes: registers that it defines, and how.
        fragments: of a matrix instruction: registers of A and B, and how they are expanded.
    """

    symbol: str
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()
    reads: tuple[Operand, ...] = ()
    writes: tuple[tuple[Operand, int], ...] = ()
    fragments: tuple[tuple[str, Operand], ...] = ()


@dataclass(frozen=True)
class Layout:
    """Where registers lie in a wave's state."""

    lanes: int
    vgprs_at: int

    def offset(self, operand: Operand) -> int:
        """Bytes from the wave's start."""
        return offset_of(operand, self.lanes, self.vgprs_at)


@dataclass(frozen=True)
class Access:
    """A plain load or store, as its mnemonic says."""

    space: str
    load: bool
    width: Width
    steps: tuple[int, ...] = ()
    code: str = field(init=False)

    def __post_init__(self) -> None:
        half = {None: "", 0: "_low", 1: "_high"}[self.width.half]
        signed = "_signed" if self.width.signed else ""
        if not self.load and not self.width.half:
            half = ""
        object.__setattr__(self, "code", f"{self.width.size}{signed}{half}")


def _accesses() -> Mapping[str, Access]:
    found = {}
    for suffix, width in WIDTHS.items():
        for space in ("ds", "global"):
            found[f"{space}_load_{suffix}"] = Access(space, True, width)
            if suffix.startswith("b") or "b16" in suffix or "b8" in suffix:
                found[f"{space}_store_{suffix}"] = Access(space, False, width)
    for suffix in ("b32", "b64"):
        for form, unit in (("2addr", 1), ("2addr_stride64", 64)):
            step = unit * WIDTHS[suffix].size
            for verb, load in (("load", True), ("store", False)):
                found[f"ds_{verb}_{form}_{suffix}"] = Access("ds", load, WIDTHS[suffix], (step, step))
    return found


_ACCESSES = _accesses()
_SCALAR_LOADS = {f"s_load_b{32 * n}": n for n in (1, 2, 4, 8, 16)}
_MATRICES = {("f16", "f32"): "F_wmma_f32_f16", ("bf16", "f32"): "F_wmma_f32_bf16"}


def template_of(inst: Inst, layout: Layout) -> Template | None:
    """The template of an instruction, None where numpy executes it."""
    if inst.name in _ACCESSES:
        return _access(inst, _ACCESSES[inst.name], layout)
    if inst.name in _SCALAR_LOADS:
        return _scalar_load(inst, _SCALAR_LOADS[inst.name], layout)
    if Kind.MATRIX in inst.kind:
        return _matrix(inst, layout)
    builder = _OTHERS.get(inst.name)
    return builder(inst, layout) if builder else None


def _access(inst: Inst, access: Access, layout: Layout) -> Template | None:
    if access.load:
        data: tuple[Operand, ...] = inst.dst[:1]
    else:
        data = inst.src[1 : 1 + max(len(access.steps), 1)]
    # Only registers that the operands name are checked to be there.
    needed = (access.width.size + 3) // 4 * (max(len(access.steps), 1) if access.load else 1)
    if any(o.kind != "v" for o in (inst.src[0], *data)) or any(o.regs < needed for o in data):
        return None
    kind = {None: WHOLE, 0: LOW_HALF, 1: HIGH_HALF}[access.width.half]
    writes = ((data[0], kind),) if access.load else ()
    if access.space == "ds":
        return _lds(inst, access, data, writes, layout)
    address, base = inst.src[0], inst.src[-1]
    add = (inst.mods.get("offset", 0) - BASE_ADDRESS) & 0xFFFF_FFFF_FFFF_FFFF
    verb, pointer = ("load" if access.load else "store"), ("vv" if base.kind == "none" else "sv")
    if base.kind not in ("none", "s") or (base.index == NULL and base.kind == "s"):
        return None
    return Template(
        f"F_global_{verb}_{pointer}_{access.code}",
        (layout.offset(address), data[0].index, layout.offset(base) if base.kind == "s" else 0),
        (add & 0xFFFFFFFF, add >> 32),
        (address, base, *(() if access.load else data)),
        writes,
    )


def _lds(
    inst: Inst,
    access: Access,
    data: tuple[Operand, ...],
    writes: tuple[tuple[Operand, int], ...],
    layout: Layout,
) -> Template:
    mods = inst.mods
    if access.steps:
        names = ("offset0", "offset1")
        offsets = tuple(mods.get(n, 0) * step for n, step in zip(names, access.steps, strict=True))
        code = f"twice_{access.code}"
    else:
        offsets, code = (mods.get("offset0", 0) | mods.get("offset1", 0) << 8,), access.code
    address = inst.src[0]
    return Template(
        f"F_ds_{'load' if access.load else 'store'}_{code}",
        (layout.offset(address), *(o.index for o in data)),
        offsets,
        (address, *(() if access.load else data)),
        writes,
    )


def _scalar_load(inst: Inst, dwords: int, layout: Layout) -> Template | None:
    base, extra, target = inst.src[0], inst.src[1], inst.dst[0]
    if base.kind != "s" or base.index > EXEC_LO or target.index == NULL or target.index + dwords > SCC:
        return None
    in_register = extra.kind == "s" and extra.index != NULL
    if not in_register and extra.kind == "none":
        return None
    known = 0 if in_register or extra.kind == "s" else constant_bits(extra, 32)
    offset = inst.mods.get("offset", 0) & 0xFFFF_FFFF_FFFF_FFFF
    return Template(
        "F_s_load",
        (layout.offset(base), layout.offset(target), layout.offset(extra) if in_register else 0),
        (offset & 0xFFFFFFFF, offset >> 32, dwords, int(in_register), known, BASE_ADDRESS & 0xFFFFFFFF,
         BASE_ADDRESS >> 32),
        (Operand("s", base.index, 2, 64), *((extra,) if in_register else ())),
        ((Operand("s", target.index, dwords), WHOLE),),
    )  # fmt: skip


def _matrix(inst: Inst, layout: Layout) -> Template | None:
    form = matrix_form_of(inst)
    if layout.lanes != 32 or replicated_16x16x16(form) is None or (form.a, form.result) not in _MATRICES:
        return None
    if any(o.kind != "v" or o.neg or o.neg_hi or o.abs for o in inst.src) or inst.mods.get("opsel", 0):
        return None
    a, b, c = inst.src
    d = inst.dst[0]
    if any(o.regs < 8 for o in (*inst.src, d)):
        return None
    if c.index != d.index and set(c.registers()) & set(d.registers()):  # D is written before C is all read
        return None
    return Template(
        _MATRICES[form.a, form.result],
        tuple(layout.offset(o) for o in (*inst.src, d)),
        (),
        inst.src,
        ((d, ALL_LANES),),
        ((form.a, a), (form.a, b)),
    )


def _readlane(inst: Inst, layout: Layout) -> Template | None:
    value, target = inst.src[0], inst.dst[0]
    if value.kind != "v" or target.index == NULL:
        return None
    offsets = (layout.offset(value), layout.offset(target))
    writes = ((target, WHOLE),)
    if len(inst.src) == 1:
        return Template("F_readfirstlane", offsets, (), (value,), writes)
    lane = inst.src[1]
    if lane.kind == "s" and lane.index != NULL:
        return Template("F_readlane", (*offsets, layout.offset(lane)), (0, 0), (value, lane), writes)
    if lane.kind not in ("const", "literal"):
        return None
    return Template("F_readlane", (*offsets, 0), (constant_bits(lane, 32), 1), (value,), writes)


_OTHERS: Mapping[str, Callable[[Inst, Layout], Template | None]] = {
    "v_readfirstlane_b32": _readlane,
    "v_readlane_b32": _readlane,
    "s_barrier_signal": lambda inst, layout: Template("F_signal"),
}
_BRANCHES = {"s_branch": "F_jump", **{f"s_cbranch_{n}": f"F_{n}" for n in ("scc0", "scc1", "vccz", "vccnz",
                                                                            "execz", "execnz")}}  # fmt: skip


def control_of(inst: Inst) -> str:
    """The form of a block's last instruction: a branch, a barrier or the end."""
    if Kind.END in inst.kind:
        return "F_end"
    if Kind.AWAIT in inst.kind:
        return "F_barrier" if Kind.ARRIVE in inst.kind else "F_await"
    return _BRANCHES[inst.name]


def registers_of(operand: Operand) -> tuple[int, int]:
    """First register and number of an operand, as `Cohort.undef` counts them; number 0 of what is none."""
    if operand.kind == "const" and operand.index == 253:
        return SCC, 1
    used = operand.registers()
    return (used[0], len(used)) if used else (VGPR0, 0)
