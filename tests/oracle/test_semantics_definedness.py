"""Definedness: rules are sound for every operation, and exact for those that only move bits."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, NULL, SCC, Inst
from oracle.encode import encodings
from oracle.families import MEMORY, SCALAR, VECTOR
from oracle.forms import fill, fill_scalars, generator, scalar_forms, vector_forms
from oracle.harness import Image, execute
from oracle.memory_forms import ADDRESS, DATA0, TARGET, is_atomic, memory_forms
from oracle.undefined import check_soundness, inverted, random_shadow

SETS_EXEC = ("saveexec", "wrexec", "v_cmpx")


@pytest.mark.parametrize("name", [*VECTOR, "v_permlane16_b32", "v_permlanex16_b32"])
def test_vector_rules_are_sound(name: str) -> None:
    rng = generator(name, 2)
    for inst in vector_forms(name, rng, 1):
        check_soundness(inst, fill(Image.random(rng, 6), inst, rng), rng)


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_rules_are_sound(name: str) -> None:
    rng = generator(name, 2)
    for inst in scalar_forms(name, rng, 4):
        check_soundness(inst, fill_scalars(Image.random(rng, 24), inst, rng), rng)


@pytest.mark.parametrize("name", [n for n in (*VECTOR, *SCALAR) if any(s in n for s in SETS_EXEC)])
def test_undefined_lanes_are_refused(name: str) -> None:
    """EXEC decides what runs: it never takes up an undefined bit."""
    rng = generator(name, 3)
    forms = scalar_forms if name.startswith("s_") else vector_forms
    refused = accepted = 0
    for inst in forms(name, rng, 6):
        fields = [o for o in inst.src if o.kind in ("v", "s") and o.index not in (EXEC_LO, NULL)]
        image = (fill_scalars if name.startswith("s_") else fill)(Image.random(rng, 2), inst, rng)
        image.s[EXEC_LO] = 0xFFFF00FF
        shadow = Image.zeros(2)
        for operand in fields:
            register = shadow.v if operand.kind == "v" else shadow.s
            register[operand.index] = 0xFFFFFFFF
        try:
            outcome = execute(inst, image, shadow=shadow)
            accepted += 1
            assert not outcome.shadow.s[EXEC_LO].any()
        except ExecutionError as error:
            if "active lanes" not in str(error):
                raise
            refused += 1
    assert refused > 0


# Exactness. What flipping every undefined bit changes is just what a pure move reports.

MOVES = (
    "v_mov_b32", "v_mov_b16", "v_not_b32", "v_not_b16", "v_xor_b32", "v_xor_b16", "v_bfrev_b32", "v_lshlrev_b32",
    "v_lshrrev_b32", "v_lshlrev_b16", "v_lshrrev_b16", "v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i32",
    "v_ashrrev_i16", "v_ashrrev_i64", "v_alignbit_b32", "v_alignbyte_b32", "v_perm_b32", "v_bfi_b32", "v_bfe_u32",
    "v_bfe_i32", "v_cndmask_b32", "v_cndmask_b16", "v_pack_b32_f16", "v_cvt_u32_u16", "v_cvt_i32_i16",
)  # fmt: skip
CONTROLS = {"v_lshlrev": (0,), "v_lshrrev": (0,), "v_ashrrev": (0,), "v_align": (2,), "v_perm": (2,), "v_bfi": (0,),
            "v_bfe": (1, 2), "v_cndmask": (2,), "v_xor": (1,)}  # fmt: skip
"""Sources that must be defined for exactness: amounts, selectors, masks."""
SCALAR_MOVES = (
    "s_mov_b32", "s_mov_b64", "s_not_b32", "s_not_b64", "s_lshl_b32", "s_lshr_b64", "s_ashr_i32", "s_cselect_b32",
    "s_cselect_b64", "s_pack_ll_b32_b16", "s_pack_lh_b32_b16", "s_pack_hl_b32_b16", "s_pack_hh_b32_b16", "s_bfe_u32",
)  # fmt: skip


def _defined_controls(inst: Inst, shadow: Image) -> None:
    controls = next((c for prefix, c in CONTROLS.items() if inst.name.startswith(prefix)), ())
    for i in controls:
        operand = inst.src[i]
        if operand.kind == "v":
            shadow.v[operand.index] = 0
        elif operand.kind == "s":
            shadow.s[operand.index : operand.index + operand.regs] = 0


@pytest.mark.parametrize("name", MOVES)
def test_vector_moves_are_exact(name: str) -> None:
    rng = generator(name, 4)
    undefined = 0
    for inst in vector_forms(name, rng, 4):
        image = fill(Image.random(rng, 4), inst, rng)
        shadow = random_shadow(rng, image)
        _defined_controls(inst, shadow)
        if any(o.kind == "s" and o.index == 106 and o.fmt != "M32" for o in inst.src):
            shadow.s[106:108] = 0  # one register in two roles: data and control
        sound = execute(inst, image, shadow=shadow)
        other = execute(inst, inverted(image, shadow), shadow=shadow)
        changed = sound.image.v ^ other.image.v
        target = inst.dst[0].index
        spread = sound.shadow.v & ~changed
        assert not spread[target].any(), f"{inst}: {spread[target].max():#x} is reported and cannot change"
        undefined += int(sound.shadow.v[target].any())
    assert undefined > 0


@pytest.mark.parametrize("name", SCALAR_MOVES)
def test_scalar_moves_are_exact(name: str) -> None:
    rng = generator(name, 4)
    for inst in scalar_forms(name, rng, 6):
        if not inst.dst or inst.dst[0].index == EXEC_LO or _shares_registers(inst):
            continue
        image = fill_scalars(Image.random(rng, 24), inst, rng)
        shadow = random_shadow(rng, image)
        shadow.s[SCC] = 0
        for operand in inst.src[1:] if "_l" in name[:4] or "ash" in name or "bfe" in name else ():
            if operand.kind == "s":
                shadow.s[operand.index] = 0
        sound = execute(inst, image, shadow=shadow)
        other = execute(inst, inverted(image, shadow), shadow=shadow)
        for register in inst.dst[0].registers():
            spread = sound.shadow.s[register] & ~(sound.image.s[register] ^ other.image.s[register])
            assert not spread.any(), f"{inst}: {spread.max():#x} is reported and cannot change"


def _shares_registers(inst: Inst) -> bool:
    registers = [r for o in inst.src if o.kind == "s" for r in o.registers()]
    return len(registers) != len(set(registers))


@pytest.mark.parametrize("name", [*VECTOR, *SCALAR])
def test_defined_sources_make_defined_results(name: str) -> None:
    """What the destination held before does not matter, but in lanes that are off it stays."""
    rng = generator(name, 5)
    scalar = name.startswith("s_")
    forms, filled = (scalar_forms, fill_scalars) if scalar else (vector_forms, fill)
    for inst in forms(name, rng, 1):
        image = filled(Image.random(rng, 3), inst, rng)
        image.s[EXEC_LO] = 0xFFFF0F01
        shadow = Image.zeros(3)
        vectors = {o.index + j for o in inst.dst if o.kind == "v" for j in range(o.regs)}
        read = {r - 256 for o in inst.src for r in o.registers() if r >= 256}
        if inst.mods.get("dpp_ctrl") is not None or _reads_destination(inst):
            continue  # lanes that DPP shuts out keep what they hold
        for register in vectors - read:
            shadow.v[register] = 0xFFFFFFFF
        seen = execute(inst, image, shadow=shadow)
        active = image.active()
        for register in vectors - read:
            half = next((o for o in inst.dst if o.kind == "v" and o.bits == 16), None)
            written = 0xFFFFFFFF if half is None else 0xFFFF0000 if _upper(inst) else 0x0000FFFF
            expected = np.where(active, np.uint32(~written & 0xFFFFFFFF), np.uint32(0xFFFFFFFF))
            assert np.array_equal(seen.shadow.v[register], expected), inst
        assert not seen.shadow.s.any()


def _upper(inst: Inst) -> bool:
    return inst.dst[0].hi or inst.name == "v_fma_mixhi_f16"


def _reads_destination(inst: Inst) -> bool:
    return inst.name.startswith(("v_fmac", "v_dot2acc"))


@pytest.mark.parametrize("name", ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"])
@pytest.mark.parametrize("source", [0, 1, 2])
@pytest.mark.parametrize("upper", [False, True])
def test_a_half_that_fma_mix_does_not_read_may_be_undefined(name: str, source: int, upper: bool) -> None:
    encoding = encodings(name)["VOP3P"]
    fields = {"src0": 256 + 2, "src1": 256 + 4, "src2": 256 + 6, "vdst": 8, "opsel": upper << source}
    fields |= {"opsel_hi": (1 << source) & 3, "opsel_hi2": source >> 1}  # this source is f16, the others f32
    register, unread = (2, 4, 6)[source], 0x0000FFFF if upper else 0xFFFF0000
    rng = generator(name, source)
    for neg, absolute in ((0, 0), (7, 7)):
        inst = encoding.inst(**fields, neg=neg, neg_hi=absolute)
        image = fill(Image.random(rng, 2), inst, rng)
        image.s[EXEC_LO] = 0xFFFFFFFF
        for bits, spoilt in ((unread, False), (~unread & 0xFFFFFFFF, True)):
            shadow = Image.zeros(2)
            shadow.v[register] = bits
            assert execute(inst, image, shadow=shadow).shadow.v[8].any() == spoilt


# Memory: undefined bits travel with the bytes. The shadows are moved like data of their own.


@pytest.mark.parametrize("name", [n for n in MEMORY if not is_atomic(n)])
def test_loads_and_stores_move_undefined_bits_with_the_bytes(name: str) -> None:
    rng = generator(name, 6)
    for inst, image, machine in memory_forms(name, rng, 3):
        shadow = Image.zeros(image.waves)
        for register in range(DATA0, TARGET + 4):
            shadow.v[register] = rng.integers(0, 1 << 32, shadow.v[register].shape, np.uint32)
        memories = (machine.lds, machine.arena, machine.scratch)
        for memory in memories:
            memory.shadow.bytes[:] = rng.integers(0, 256, memory.shadow.bytes.size, np.uint8)
            memory.tracked = True
        # A second machine in which the undefined bits are the data.
        twin_image = image.copy()
        for register in range(DATA0, TARGET + 4):
            twin_image.v[register] = shadow.v[register]
        bits = [memory.shadow.bytes.copy() for memory in memories]
        seen = execute(inst, image, shadow=shadow, machine=machine)
        shadows_after = [memory.shadow.bytes.copy() for memory in memories]
        for memory, undefined in zip(memories, bits, strict=True):
            memory.data.bytes[:] = undefined
            memory.shadow.bytes[:] = 0
            memory.tracked = False
        twin = execute(inst, twin_image, machine=machine)
        for memory, expected in zip(memories, shadows_after, strict=True):
            assert np.array_equal(memory.data.bytes, expected), inst
        registers = slice(TARGET, TARGET + 4)
        assert np.array_equal(seen.shadow.v[registers], twin.image.v[registers]), inst


@pytest.mark.parametrize("name", [n for n in MEMORY if not n.startswith("buffer_gl")])
def test_an_undefined_address_is_refused_where_a_lane_uses_it(name: str) -> None:
    for inst, image, machine in memory_forms(name, generator(name, 7), 2):
        operands = [o for o in inst.src if o.kind == "v" and o.index == ADDRESS]
        if not operands:
            continue
        image.s[EXEC_LO] = 0x0000FFFF
        shadow = Image.zeros(image.waves)
        shadow.v[ADDRESS, :, 16:] = 0xFFFFFFFF
        execute(inst, image, shadow=shadow, machine=machine)
        shadow.v[ADDRESS, 1, 3] = 4
        with pytest.raises(ExecutionError, match="undefined value is used as"):
            execute(inst, image, shadow=shadow, machine=machine)


SELECTS = {
    "ds_permute_b32": {"addr": 2, "data0": 4, "vdst": 8},
    "ds_bpermute_b32": {"addr": 2, "data0": 4, "vdst": 8},
    "v_permlane16_b32": {"src0": 256 + 6, "src1": 4, "src2": 6, "vdst": 8},
    "v_permlanex16_b32": {"src0": 256 + 6, "src1": 6, "src2": 4, "vdst": 8},
    "v_readlane_b32": {"src0": 256 + 6, "src1": 4, "vdst": 20},
    "v_writelane_b32": {"src0": 6, "src1": 4, "vdst": 8},
}
"""The lane select is in v2 or s4."""


@pytest.mark.parametrize("name", SELECTS)
def test_an_undefined_lane_select_is_refused(name: str) -> None:
    found = encodings(name)
    encoding = next(found[n] for n in ("DS", "VOP3", "VOP3_SDST") if n in found)
    image = Image.random(generator(name), 1)
    image.s[EXEC_LO] = 0xFFFFFFFF
    shadow = Image.zeros(1)
    execute(encoding.inst(**SELECTS[name]), image, shadow=shadow)
    shadow.v[2, 0, 5], shadow.s[4] = 1, 1
    with pytest.raises(ExecutionError, match="undefined value is used as a lane select"):
        execute(encoding.inst(**SELECTS[name]), image, shadow=shadow)


@pytest.mark.parametrize("name", ["ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32", "v_permlanex16_b32"])
def test_exchanged_lanes_carry_their_undefined_bits(name: str) -> None:
    """The same exchange of a register that holds the undefined bits as data."""
    rng = generator(name, 8)
    image = Image.random(rng, 3)
    image.s[EXEC_LO] = (0xFFFFFFFF, 0x0FF0C3A5, 0x80000001)
    shadow = Image.zeros(3)
    data, target = (2, 8) if name in ("ds_swizzle_b32", "v_permlanex16_b32") else (4, 8)
    for register in (data, target):
        shadow.v[register] = rng.integers(0, 1 << 32, shadow.v[register].shape, np.uint32)
    if name.startswith("ds_"):
        inst = encodings(name)["DS"].inst(
            addr=2, data0=4, vdst=8, offset0=0x1F, offset1=0x28 if "swiz" in name else 0
        )
    else:
        inst = encodings(name)["VOP3"].inst(src0=256 + 2, src1=4, src2=6, vdst=8, opsel=1)
    twin = image.copy()
    twin.v[data], twin.v[target] = shadow.v[data], shadow.v[target]
    assert np.array_equal(
        execute(inst, image, shadow=shadow).shadow.v[target], execute(inst, twin).image.v[target]
    )
