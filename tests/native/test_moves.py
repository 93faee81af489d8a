"""Loads, stores, atomics and moves between lanes against numpy: registers, undefined bits, memories and faults.

EXEC is partly off; runs with undefined registers and bytes, and with addresses that lie anywhere, follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from examples import WHOLE
from numpy.typing import NDArray
from oracle.families import MEMORY
from oracle.forms import exec_masks, fill, generator
from oracle.harness import Image, execute, make_machine
from oracle.language import current, speaking
from oracle.languages import CDNA4
from oracle.memory_forms import (
    ADDRESS,
    BASE,
    RESOURCE,
    WAVES,
    memory_forms,
    random_machine,
    size_of,
)
from oracle.test_semantics_families import MEMORY as OTHERS
from oracle.undefined import random_shadow

from layoutprobe.engine.native.interpreter import Interpreter
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.indexing import DST, SRC0, SRC1, in_mode, picks_registers
from layoutprobe.isa.inst import M0, NULL, Inst, Operand
from layoutprobe.machine.machine import Machine
from native.alone import Alone

Case = tuple[Inst, Image, Machine]
EACH = 3 if WHOLE else 1
"""Forms of each encoding of a mnemonic."""
D16 = ("_d16", "_d16_hi")
"""Loads of CDNA that spoil half a register are numpy's."""


def _cases(names: Sequence[str]) -> list[Case]:
    moves = [n for n in names if "addtid" not in n and "_tr_" not in n]
    return [case for n in moves for case in memory_forms(n, generator(n, 5), EACH)]


def _undefined(case: Case, rng: np.random.Generator) -> Image:
    """Undefined bits here and there, in memories as in registers; but addresses are defined mostly."""
    _, image, machine = case
    for memory in (machine.lds, machine.arena, machine.scratch):
        bytes_ = memory.shadow.bytes
        bytes_[:] = np.where(rng.integers(0, 64, bytes_.size) == 0, rng.integers(0, 256, bytes_.size), 0)
        memory.tracked = True
    shadow = random_shadow(rng, image)
    if rng.integers(0, 8):
        shadow.v[ADDRESS : ADDRESS + 2] = 0
    return shadow


def _astray(case: Case, rng: np.random.Generator) -> None:
    """Some lanes point to somewhere else."""
    inst, image, _ = case
    # Stores that lie partly in a buffer's range go dword by dword: which of two that meet is last is nobody's word.
    meet = inst.name.startswith("buffer_store") and size_of(inst.name) > 4
    for register in () if meet else (ADDRESS, ADDRESS + 1)[: int(rng.integers(1, 3))]:
        wild = rng.integers(0, 16, image.v.shape[1:]) == 0
        image.v[register][wild] ^= np.uint32(1) << rng.integers(0, 32, wild.sum()).astype(np.uint32)
    if rng.integers(0, 4) == 0:
        image.s[int(rng.choice([BASE, BASE + 1, RESOURCE, RESOURCE + 1, RESOURCE + 2]))] ^= np.uint32(
            1 << int(rng.integers(0, 32))
        )


def _in_rows(case: Case, rng: np.random.Generator) -> None:
    """Lanes point one behind the other, upper lanes where lower ones do, or all but one of them so."""
    inst, image, _ = case
    if "load" not in inst.name and "read" not in inst.name:
        return  # which of two that meet is last is nobody's word; stores of whole rows are in the kernels
    lanes = np.arange(image.v.shape[2], dtype=np.uint32)
    step = np.uint32(rng.choice([size_of(inst.name), 4, 8]))
    for wave in range(image.v.shape[1]):
        at = image.v[ADDRESS, wave]
        image.v[ADDRESS + 1, wave] = image.v[ADDRESS + 1, wave, 0]
        at[:] = at.min() + step * (lanes % np.uint32(16) if rng.integers(0, 2) else lanes)
        if rng.integers(0, 2):
            at[rng.integers(0, lanes.size)] += np.uint32(4)


def _copied(machine: Machine) -> Machine:
    copy = make_machine(WAVES)
    for name in ("lds", "arena", "scratch"):
        one, two = getattr(copy, name), getattr(machine, name)
        one.data.bytes[:], one.shadow.bytes[:], one.tracked = two.data.bytes, two.shadow.bytes, two.tracked
    return copy


def _outcome(run: Any) -> Any:
    try:
        return run()
    except ExecutionError as fault:
        return str(fault)


def _compare(alone: Alone, n: int, image: Image, machine: Machine, shadow: Image | None) -> bool:
    """Whether it ran to its end, on both."""
    inst, theirs = alone.insts[n], _copied(machine)
    numpys = _outcome(lambda: execute(inst, image, shadow=shadow, machine=theirs))
    ours = _outcome(lambda: alone.run(n, image, shadow, machine))
    if isinstance(numpys, str) or isinstance(ours, str):
        assert ours == numpys, inst
        return False
    live = [r for r in range(len(image.s)) if r != NULL]
    for one, two in ((ours[0], numpys.image), (ours[1], numpys.shadow)):
        assert np.array_equal(one.v, two.v), inst
        assert np.array_equal(one.s[live], two.s[live]), inst
    for name in ("lds", "arena", "scratch"):
        one, two = getattr(machine, name), getattr(theirs, name)
        assert np.array_equal(one.data.bytes, two.data.bytes), (inst, name)
        assert np.array_equal(one.shadow.bytes, two.shadow.bytes), (inst, name)
    return True


def _means_one_memory(inst: Inst, image: Image) -> bool:
    """Whether a flat load or store of each wave goes to one memory."""
    upper = image.v[ADDRESS + 1]
    moves = inst.name.startswith(("flat_load", "flat_store"))
    return moves and bool((upper == upper[:, :1]).all())


def _compare_all(cases: Sequence[Case], how: str) -> None:
    alone = Alone([inst for inst, _, _ in cases])
    ended = 0
    for n, case in enumerate(cases):
        inst, image, machine = case
        rng = generator(inst.name, n)
        if how == "astray":
            _astray(case, rng)
        if how == "in rows":
            _in_rows(case, rng)
        shadow = _undefined(case, rng) if how == "undefined" else None
        same = _compare(alone, n, image, machine, shadow)
        ended += same
        assert not (same and how == "undefined" and alone.moves_undefined_bits(n) and alone.by_numpy), inst
        if not inst.name.endswith(D16):
            assert alone.is_native(n), inst
            assert not (how == "plain" and _means_one_memory(inst, image) and alone.by_numpy), inst
        alone.by_numpy.clear()
    assert ended == len(cases) if how == "plain" else ended > len(cases) / 8


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["plain", "undefined", "astray", "in rows"])
def test_loads_and_stores(how: str) -> None:
    _compare_all(_cases(MEMORY), how)


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["plain", "undefined", "astray", "in rows"])
def test_loads_and_stores_of_cdna(how: str) -> None:
    with speaking(CDNA4):
        _compare_all(_cases([name for _, name in OTHERS]), how)


# Between lanes.

SOURCE, SELECT, TARGET, SCALAR = 2, 4, 8, 20


def _between_lanes(rng: np.random.Generator) -> Iterator[Inst]:
    source, select, target = (Operand("v", n) for n in (SOURCE, SELECT, TARGET))
    for name in ("ds_bpermute_b32", "ds_permute_b32"):
        for wide in (0, 1):
            offset = int(rng.integers(0, 300))
            mods = {"offset0": offset & 255, "offset1": offset >> 8} | ({"wave_wide": 1} if wide else {})
            for to in (target, source):
                yield Inst(0, 8, name, "DS", (to,), (select, source), mods)
    for offset in (*rng.integers(0, 1 << 16, 12).tolist(), 0xE000, 0xE01F, 0xC3E0):
        mods = {"offset0": offset & 255, "offset1": offset >> 8}
        yield Inst(0, 8, "ds_swizzle_b32", "DS", (target,), (source,), mods)
    one, other = Operand("s", SCALAR), Operand("s", SCALAR + 1)
    literal = Operand("literal", value=int(rng.integers(0, 1 << 32)))
    for name in ("v_permlane16_b32", "v_permlanex16_b32"):
        for opsel in range(4):
            for low, high in ((one, other), (literal, other), (one, Operand("const", 193))):
                yield Inst(0, 8, name, "VOP3", (target,), (source, low, high), {"opsel": opsel})
    for opsel in range(4):
        mods = {"opsel": opsel}
        yield Inst(0, 8, "v_permlane16_var_b32", "VOP3", (target,), (source, select), mods)
        yield Inst(0, 8, "v_permlanex16_var_b32", "VOP3", (target,), (source, select), mods)
    scalar = Operand("s", SCALAR + 2)
    yield Inst(0, 8, "v_readfirstlane_b32", "VOP1", (scalar,), (source,))
    for lane in (one, Operand("const", 128 + 17)):
        yield Inst(0, 8, "v_readlane_b32", "VOP3", (scalar,), (source, lane))
        for value in (other, literal, Operand("const", 242)):
            yield Inst(0, 8, "v_writelane_b32", "VOP3", (target,), (value, lane))
    yield Inst(0, 8, "v_swap_b32", "VOP1", (target,), (source,))
    yield Inst(0, 8, "v_permlane64_b32", "VOP1", (target,), (source,))


@pytest.mark.few(1)
@pytest.mark.parametrize("lanes", [32, 64])
def test_between_lanes(lanes: int) -> None:
    """Undefined bits: none, some, or all lanes of target or source."""
    with speaking(CDNA4 if lanes == 64 else current()):
        alone = Alone(list(_between_lanes(np.random.default_rng(lanes))))
        for n, inst in enumerate(alone.insts):
            assert alone.is_native(n), inst
            rng = generator(inst.name, n)
            machine = random_machine(rng)
            for undefined in ("", "some", "target", "source"):
                image = fill(Image.random(rng, WAVES), inst, rng)
                image.activate(exec_masks(rng, WAVES))
                shadow = random_shadow(rng, image) if undefined == "some" else Image.zeros(WAVES)
                if undefined in ("target", "source"):
                    shadow.v[TARGET if undefined == "target" else SOURCE] = 0xFFFFFFFF
                    shadow.v[:, :, int(rng.integers(0, lanes))] = 0
                same = _compare(alone, n, image, machine, shadow)
                assert not (same and alone.by_numpy) or "lane_b32" in inst.name, inst
                alone.by_numpy.clear()


# VGPRs that M0 picks.


def _picking() -> Iterator[Inst]:
    source, target, scalar = Operand("v", SOURCE), Operand("v", TARGET), Operand("s", SCALAR)
    for name in ("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32"):
        for one, other in ((source, target), (source, source), (target, source)):
            yield Inst(0, 4, name, "VOP1", (other,), (one,))
    for value in (scalar, Operand("s", NULL), Operand("const", 253), Operand("const", 242)):
        yield Inst(0, 4, "v_movreld_b32", "VOP1", (target,), (value,))
    yield Inst(0, 8, "v_movreld_b32", "VOP1", (target,), (Operand("literal", value=0x9ABCDEF0),))


def _picks(name: str, rng: np.random.Generator, most: int) -> NDArray[np.uint32]:
    """M0 of each wave."""
    low, high = rng.integers(0, most, (2, WAVES), np.uint32)
    if name != "v_movrelsd_2_b32":
        return np.where(rng.integers(0, 2), low, low[0])
    return low | high << np.uint32(16) | np.uint32(int(rng.integers(0, 64)) << 10)


@pytest.mark.few(1)
@pytest.mark.parametrize("lanes", [32, 64])
def test_registers_that_m0_picks(lanes: int) -> None:
    """Each wave has its M0; bits are undefined here and there, in M0, or in a lane; or there is no such register."""
    with speaking(CDNA4 if lanes == 64 else current()):
        alone = Alone(list(_picking()))
        for n, inst in enumerate(alone.insts):
            assert alone.is_native(n), inst
            rng = generator(inst.name, n)
            machine = random_machine(rng)
            for undefined in ("", "some", "picked", "M0", "beyond", "far beyond"):
                image = Image.random(rng, WAVES)
                image.activate(exec_masks(rng, WAVES))
                image.s[M0] = _picks(inst.name, rng, 12)
                shadow = random_shadow(rng, image) if undefined == "some" else Image.zeros(WAVES)
                shadow.s[M0] = int(undefined == "M0")
                if undefined == "picked":
                    shadow.v[rng.integers(0, 2, len(shadow.v)) == 0, :, int(rng.integers(0, lanes))] = 0xFF
                if "beyond" in undefined:
                    picked = 0x3FF if inst.name == "v_movrelsd_2_b32" else 0xFFFFFFF0
                    image.s[M0, int(rng.integers(0, WAVES))] = 22 if undefined == "beyond" else picked
                assert _compare(alone, n, image, machine, shadow) or undefined in (
                    "M0",
                    "beyond",
                    "far beyond",
                )


def _setting_the_mode() -> Iterator[Inst]:
    """What sets M0 for GFX9's mode, and moves and others that run in it, of 20 VGPRs and 4 AccVGPRs."""
    m0, scalar, literal = Operand("s", M0), Operand("s", SCALAR), Operand("literal", value=0x123)
    for index in (scalar, literal, Operand("const", 133)):
        yield Inst(0, 4, "s_set_gpr_idx_on", "SOPC", (m0,), (index, Operand("literal", value=9)))
        yield Inst(0, 4, "s_set_gpr_idx_idx", "SOP1", (m0,), (index,))
    yield Inst(0, 4, "s_set_gpr_idx_mode", "SOPP", (m0,), (), {"simm16": 6})
    source, target = Operand("v", SOURCE), Operand("v", TARGET)
    for operands in (SRC0, DST, SRC0 | DST):
        for value in (source, target, scalar, literal):
            inst = in_mode(Inst(0, 4, "v_mov_b32", "VOP1", (target,), (value,)), operands, 20)
            if picks_registers(inst):
                yield inst
    yield in_mode(Inst(0, 4, "v_accvgpr_read_b32", "VOP3P", (target,), (Operand("v", 20),)), SRC0, 20)
    yield in_mode(Inst(0, 4, "v_add_u32", "VOP2", (target,), (source, target)), SRC0 | SRC1 | DST, 20)


@pytest.mark.few(1)
def test_the_mode_of_gfx9() -> None:
    """M0 says how far and whether; some of its bits are undefined, or it picks what is not there."""
    with speaking(CDNA4):
        alone = Alone(list(_setting_the_mode()))
        ended = 0
        for n, inst in enumerate(alone.insts):
            assert alone.is_native(n) or inst.name == "v_add_u32", inst
            rng = generator(inst.name, n)
            machine = random_machine(rng)
            for undefined in ("", "some", "picked", "unused bits", "used bits", "beyond"):
                image = Image.random(rng, WAVES)
                image.activate(exec_masks(rng, WAVES))
                low, high, operands = rng.integers(0, 4, (3, WAVES), np.uint32)
                image.s[M0] = low | high << np.uint32(9) | operands * np.uint32(5) << np.uint32(12)
                shadow = random_shadow(rng, image) if undefined == "some" else Image.zeros(WAVES)
                shadow.s[M0] = {"unused bits": 0xFFFF0F00, "used bits": 0x8000}.get(undefined, 0)
                if undefined == "picked":
                    shadow.v[rng.integers(0, 2, len(shadow.v)) == 0, :, int(rng.integers(0, 64))] = 0xFF
                if undefined == "beyond":
                    image.s[M0, int(rng.integers(0, WAVES))] = 0xF0F0
                same = _compare(alone, n, image, machine, shadow)
                ended += same
                assert same or undefined in ("some", "used bits", "beyond"), (inst, undefined)
                left = inst.name == "v_add_u32" or undefined in ("some", "beyond")  # of a scalar, or none
                assert left or not (same and alone.by_numpy), (inst, undefined)
                alone.by_numpy.clear()
        assert ended > 60


# Copies.


def _copying() -> Iterator[Inst]:
    def move(to: int, source: Operand) -> Inst:
        return Inst(0, 4, "v_mov_b32", "VOP1", (Operand("v", to, fmt="B32"),), (source,))

    one, two = (Operand("v", n, fmt="B32") for n in (2, 5))
    scalars = [Operand("s", 20), Operand("s", NULL), Operand("const", 253)]
    for source in (one, Operand("v", TARGET), *scalars):
        yield move(TARGET, source)
    for x, y in (
        (move(2, two), move(5, one)),  # they change places
        (move(TARGET, one), move(5, Operand("const", 128))),
        (move(TARGET, Operand("s", 20)), move(5, Operand("literal", value=7))),
    ):
        yield Inst(0, 8, f"{x.name} :: {y.name}", "VOPD", pair=(x, y))


@pytest.mark.parametrize("lanes", [32, 64])
def test_undefined_bits_are_copied(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By C alone: in some bits, in all of a register, or in a lane of it."""
    with speaking(CDNA4 if lanes == 64 else current()):
        alone = Alone(list(_copying()))
        monkeypatch.setattr(Interpreter, "_slow", lambda run, which: pytest.fail("numpy was asked"))
        for n, inst in enumerate(alone.insts):
            rng = generator(inst.name, n)
            machine = random_machine(rng)
            for undefined in ("", "some", "all", "a lane"):
                image = Image.random(rng, WAVES)
                image.activate(exec_masks(rng, WAVES))
                shadow = random_shadow(rng, image) if undefined == "some" else Image.zeros(WAVES)
                if undefined == "all":
                    shadow.v[:], shadow.s[20] = 0xFFFFFFFF, 0xFFFFFFFF
                elif undefined:
                    shadow.v[rng.integers(0, 2, len(shadow.v)) == 0, :, int(rng.integers(0, lanes))] = 0xFF
                assert _compare(alone, n, image, machine, shadow)
