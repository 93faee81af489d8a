"""VGPRs that M0 picks at run time: how compilers index arrays that they keep in registers.

RDNA has moves of its own for it. On GFX9 it is a mode (`isa.indexing`): of an instruction that runs while it is on
the binder knows which operands M0 may move, and M0 says at run time which of these, and how far.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.brief import brief
from layoutprobe.isa.indexing import (
    DST,
    END,
    INDEX,
    OPERANDS_AT,
    SRC0,
    USED,
    moved_by,
    out_of_mode,
    placed,
    sets_bits,
)
from layoutprobe.isa.inst import M0, VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import POISON, Array
from layoutprobe.semantics.access import undefined_guard
from layoutprobe.semantics.operands import reader, register_mask, settle
from layoutprobe.semantics.registry import IN_MODE, Executor, UnsupportedFormError, bind, instruction

_HINT = "check the index of the array that the compiler keeps in registers"
_MOVES = ("v_mov_b32", "v_accvgpr_read_b32")
_BOTH = ("v_swap", "v_permlane16_swap", "v_permlane32_swap")
"""They write their sources, too."""


@instruction("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32")
def _indexed(inst: Inst) -> Executor:
    """The waves of a cohort may have different indices: each is a copy of its own."""
    source, target = inst.src[0], inst.dst[0]
    from_m0, to_m0 = bool(moved_by(inst) & SRC0), bool(moved_by(inst) & DST)
    if "dpp_ctrl" in inst.mods or "dpp8" in inst.mods:
        raise UnsupportedFormError(f"{inst.name} with DPP")
    if from_m0 and source.kind != "v":
        raise UnsupportedFormError(f"{inst.name} of a scalar register")
    two = inst.name == "v_movrelsd_2_b32"  # one index for each side
    guard = undefined_guard(inst, (Operand("s", M0),), "a register index")
    get, get_shadow, plain = reader(source, "u32"), reader(source, "u32", shadow=True), register_mask(source)

    def execute(c: Cohort) -> None:
        guard(c)
        index = np.broadcast_to(c.su[M0][:, 0], c.waves.shape)
        for m0 in np.unique(index):
            lanes = c.exec & (index == m0)[:, None]
            low, high = (int(m0) & 0x3FF, int(m0) >> 16 & 0x3FF) if two else (int(m0), int(m0))
            to = target.index + (high if to_m0 else 0)
            if to >= c.regs.count:
                raise _beyond(c, inst, f"VGPR {to}", f"VGPRs below v{c.regs.count}", lanes)
            if from_m0 and source.index + low >= c.regs.count:
                _undefine(c, to, lanes)
                continue
            if c.machine.events.indexed:
                done = placed(inst, (low if from_m0 else 0, 0, 0), high if to_m0 else 0)
                _tell(c, inst, c.waves[index == m0], replace(done, name="v_mov_b32"))
            value = c.u[source.index + low] if from_m0 else get(c.regs)
            read = 1 << VGPR0 + source.index + low if from_m0 else plain
            undefined = c.undef & (read | 1 << VGPR0 + to)
            if undefined:
                bits = c.shadow.u[source.index + low] if from_m0 else get_shadow(c.shadow)
                np.copyto(c.shadow.u[to], bits, where=lanes)
            np.copyto(c.u[to], value, where=lanes)
            if undefined:
                settle(c, VGPR0 + to)

    return execute


def _undefine(c: Cohort, register: int, lanes: Array) -> None:
    """What is read from where no register is. Compilers read elements of arrays that nothing may use, and LLVM says
    of one beyond the end that it is poison: it is no fault as long as nothing depends on it."""
    np.copyto(c.u[register], np.uint32(POISON), where=lanes)
    np.copyto(c.shadow.u[register], np.uint32(0xFFFFFFFF), where=lanes)
    c.undef |= 1 << VGPR0 + register
    settle(c, VGPR0 + register)


def _beyond(c: Cohort, inst: Inst, picked: str, expected: str, lanes: Array) -> Exception:
    what = f"M0 picks {picked}, which the wave does not have"
    return fault(c, inst, what, lanes, expected=expected, hint=_HINT)


def _tell(c: Cohort, inst: Inst, waves: Array, done: Inst) -> None:
    for tell in c.machine.events.indexed:
        tell(c, inst, waves, done)


# The mode of GFX9.


@instruction("s_set_gpr_idx_off")
def _off(inst: Inst) -> None:
    """Where the mode is off is known when a kernel is bound."""


@instruction("s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode")
def _set(inst: Inst) -> Executor:
    """Other bits of M0 stay as they are, undefined ones too."""
    taken, given = sets_bits(inst)
    source = inst.src[0] if inst.src else Operand("const", 128)
    get, get_shadow = reader(source, "u32"), reader(source, "u32", shadow=True)
    kept, touched = np.uint32(~taken & 0xFFFFFFFF), register_mask(source) | 1 << M0

    def execute(c: Cohort) -> None:
        index = get(c.regs) & np.uint32(INDEX)
        undefined = get_shadow(c.shadow) & np.uint32(INDEX) if c.undef & touched else None
        c.su[M0][...] = c.su[M0] & kept | index | np.uint32(given)
        if undefined is not None:
            c.shadow.su[M0][...] = c.shadow.su[M0] & kept | undefined
            settle(c, M0)

    return execute


class _Placed(Struct, frozen=True):
    """An instruction with the registers that one value of M0 picks.

    Attributes:
        inst: as it is executed.
        run: what executes it.
        wrong: what is wrong with these registers, and what is expected.
    """

    inst: Inst
    run: Executor | None = None
    wrong: tuple[str, str] | None = None

    __repr__ = brief


@instruction(IN_MODE)
def _in_mode(inst: Inst) -> Executor:
    """Any vector instruction: executed as the one that names the registers which M0 picks."""
    plain = out_of_mode(inst)
    _refuse(inst)
    bind(plain)  # what cannot be executed is said when a kernel is bound
    made: dict[int, _Placed] = {}
    # EXEC plays no part in what these write.
    whole = any(operand.kind != "v" for operand in plain.dst) or plain.name.startswith("v_writelane")

    def execute(c: Cohort) -> None:
        _guard(c, inst)
        m0 = np.broadcast_to(c.su[M0][:, 0] & np.uint32(USED), c.waves.shape)
        values = np.unique(m0)
        for value in values.tolist():
            which = m0 == value
            if value not in made:
                made[value] = _place(inst, plain, value, c.regs.count)
            one = made[value]
            if one.wrong is not None:
                picked, expected = one.wrong
                lanes = np.broadcast_to(which[:, None], c.exec.shape)
                raise fault(c, inst, f"M0 picks {picked}", lanes, expected=expected, hint=_HINT)
            assert one.run is not None
            _tell(c, inst, c.waves[which], one.inst)
            if len(values) == 1:
                one.run(c)
            elif whole:
                _of_some(c, np.flatnonzero(which), one.run)
            else:
                with c.restricted(c.exec & which[:, None]):
                    one.run(c)

    return execute


def _refuse(inst: Inst) -> None:
    if Kind.MATRIX in inst.kind or inst.name.startswith(_BOTH):
        raise UnsupportedFormError(
            "while VGPR indexing is on: nothing published says which registers it uses"
        )
    if moved_by(inst) & DST and inst.dst[0].index >= inst.mods[END]:
        raise UnsupportedFormError("VGPR indexing of an AccVGPR that is written: nobody says what it does")


def _guard(c: Cohort, inst: Inst) -> None:
    """Refuses an index that is undefined; other bits of M0 play no part."""
    if not c.undef >> M0 & 1:
        return
    bad = np.broadcast_to(c.shadow.su[M0] & np.uint32(USED) != 0, c.exec.shape) & c.exec
    if bad.any():
        raise fault(c, inst, "an undefined value is used as a register index", bad,
                    hint="initialise it on every path that leads here", kind="undefined-address")  # fmt: skip


def _place(inst: Inst, plain: Inst, m0: int, count: int) -> _Placed:
    index, operands = m0 & INDEX, moved_by(inst) & m0 >> OPERANDS_AT
    first, second, third = (index if operands >> at & 1 else 0 for at in range(3))
    done = placed(plain, (first, second, third), index if operands & DST else 0)
    wrong = _wrong(inst, done, count)
    target = done.dst[0] if plain.name in _MOVES else None
    if wrong and target is not None and not _wrong(inst, replace(done, src=inst.src), count):
        of_itself = replace(done, src=(target,))  # for observers: there is no such source
        return _Placed(of_itself, lambda c: _undefine(c, target.index, c.exec))
    return _Placed(done, wrong=wrong) if wrong else _Placed(done, bind(done))


def _wrong(inst: Inst, done: Inst, count: int) -> tuple[str, str] | None:
    """Which register M0 picks that it may not, and what is expected."""
    end = inst.mods[END]
    for before, after in zip((*inst.src, *inst.dst), (*done.src, *done.dst), strict=True):
        if before.index == after.index:
            continue
        acc = before.index >= end
        last, limit = after.index + after.regs - 1, count if acc else end
        letter, less = ("a", end) if acc else ("v", 0)
        if last >= limit:
            kind = "AccVGPR" if acc else "VGPR"
            expected = f"{kind}s below {letter}{limit - less}"
            return f"{kind} {last - less}, which the wave does not have", expected
        if after.regs > 1 and (after.index - less) % 2:
            pair = f"{letter}[{after.index - less}:{last - less}]"
            return f"{pair}, which begins at an odd number", "registers of 64 bits and more at an even number"
    return None


def _of_some(c: Cohort, which: Array, run: Executor) -> None:
    """Executes an instruction for some waves, as a cohort of their own."""
    part = c.select(which)
    run(part)
    for ours, theirs in ((c.regs, part.regs), (c.shadow, part.shadow)):
        ours.vgprs[:, which], ours.sgprs[:, which] = theirs.vgprs, theirs.sgprs
    c.undef |= part.undef
    c.refresh_exec()
