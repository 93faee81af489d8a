"""Data that moves between lanes: DPP, permutes, swizzle, and the way to and from scalar registers."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from layoutprobe.isa.inst import EXEC_LO, Inst, Operand
from oracle.encode import DPP8, DPP8_FI, DPP16, encodings
from oracle.forms import DPP_CONTROLS, EXEC_MASKS, generator
from oracle.harness import LANES, U32, Image, execute
from oracle.pcode import evaluate_wave
from oracle.reference import check_vector

QUADS = tuple(range(0, 256, 7))
SELECT = st.lists(st.integers(0, 7), min_size=8, max_size=8)


def _image(salt: int) -> Image:
    return Image.random(generator("lanes", salt), 3)


def _dpp16(control: int, target: int, **fields: int) -> Inst:
    values = {"src0": DPP16, "vsrc0": 2, "vdst": target, "dpp": control, "row_mask": 15, "bank_mask": 15}
    return encodings("v_mov_b32")["VOP1_DPP16"].inst(**values | fields)


@pytest.mark.parametrize("control", [*QUADS, *DPP_CONTROLS[4:]])
def test_every_dpp16_control(control: int) -> None:
    """Source and destination are one register: all lanes are read before any is written."""
    image = _image(control)
    for exec_, bound, fetch in ((0xFFFFFFFF, 0, 0), (0xFFFFFFFF, 1, 0), (0x9C35A0F7, 0, 0), (0x9C35A0F7, 1, 0),
                                (0x9C35A0F7, 0, 1), (0x9C35A0F7, 1, 1)):  # fmt: skip
        image.s[EXEC_LO] = exec_
        for target in (2, 8):
            inst = _dpp16(control, target, bc=bound, fi=fetch)
            check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize("row_mask", [0, 1, 2, 3, 15])
@pytest.mark.parametrize("bank_mask", [0, 1, 6, 8, 15])
def test_dpp16_masks_only_keep_lanes_from_writing(row_mask: int, bank_mask: int) -> None:
    image = _image(row_mask)
    image.s[EXEC_LO] = 0xFFFFFFFF
    inst = _dpp16(0x121, 2, row_mask=row_mask, bank_mask=bank_mask)
    written = check_vector(inst, image, execute(inst, image))
    assert written == image.waves * 4 * (row_mask & 3).bit_count() * bank_mask.bit_count()


def test_row_xmask_and_row_share_differ() -> None:
    """0x150 shares one lane of the row, 0x160 exchanges lanes: worked out by hand."""
    image = Image.zeros(1)
    image.s[EXEC_LO] = 0xFFFFFFFF
    image.v[2, 0] = np.arange(LANES)
    shared = execute(_dpp16(0x155, 8, bc=1), image).image.v[8, 0]
    crossed = execute(_dpp16(0x165, 8, bc=1), image).image.v[8, 0]
    assert shared.tolist() == [5] * 16 + [21] * 16
    assert crossed.tolist() == [lane ^ 5 for lane in range(32)]


@examples(40)
@given(SELECT, st.sampled_from(EXEC_MASKS), st.sampled_from((DPP8, DPP8_FI)), st.sampled_from((2, 8)))
def test_dpp8(select: list[int], exec_: int, code: int, target: int) -> None:
    image = _image(0)
    image.s[EXEC_LO] = exec_
    lanes = {f"lane_sel_{i}": s for i, s in enumerate(select)}
    inst = encodings("v_mov_b32")["VOP1_DPP8"].inst(src0=code, vsrc0=2, vdst=target, **lanes)
    check_vector(inst, image, execute(inst, image))


# Permutes and swizzle: the oracle runs a whole wave.

ADDRESS, DATA, TARGET = 2, 4, 8


def _columns(image: Image, wave: int) -> dict[int, list[int]]:
    return {r: [int(x) for x in image.v[r, wave]] for r in (ADDRESS, DATA, TARGET)}


def _check_wave(inst: Inst, image: Image, target: int, **given: int) -> None:
    outcome = execute(inst, image)
    expected = image.v.copy()
    for wave in range(image.waves):
        result = evaluate_wave(
            inst.name, vgpr=_columns(image, wave), vdst=target, exec_=int(image.s[EXEC_LO, wave]), **given
        )
        for (lane, register), bits in result.vgpr_writes.items():
            expected[register, wave, lane] = bits
    assert np.array_equal(outcome.image.v, expected)
    assert np.array_equal(outcome.image.s, image.s)


def _exec_masks(image: Image, rng: np.random.Generator) -> None:
    image.s[EXEC_LO] = rng.choice(np.array((*EXEC_MASKS, 0), np.uint32), image.waves)


@pytest.mark.parametrize("name", ["ds_permute_b32", "ds_bpermute_b32"])
@pytest.mark.parametrize("target", [TARGET, DATA])
@pytest.mark.parametrize("offset", [0, 4, 60, 255])
def test_permutes_through_lds_hardware(name: str, target: int, offset: int) -> None:
    rng = generator(name, offset)
    for spread in (4, 1 << 16):  # few lanes, so that senders collide, or all
        image = Image.random(rng, 4)
        image.v[ADDRESS] = rng.integers(0, 4 * spread, (4, LANES))
        _exec_masks(image, rng)
        inst = encodings(name)["DS"].inst(addr=ADDRESS, data0=DATA, vdst=target, offset0=offset)
        _check_wave(inst, image, target, addr=ADDRESS, data0=DATA, offset=offset)


SWIZZLES = (
    0x041F, 0x081F, 0x401F, 0x7C1F, 0x001E, 0x03E0, 0x2C18, 0x0000, 0x1234, 0x8000, 0x801B, 0x80B1, 0x80FF, 0x8155,
    0xC020, 0xC41F, 0xC3E0, 0xC461, 0xC078, 0xE000, 0xE010, 0xE018, 0xE01F,
)  # fmt: skip


@pytest.mark.parametrize("offset", SWIZZLES)
@pytest.mark.parametrize("target", [TARGET, ADDRESS])
def test_swizzle_modes(offset: int, target: int) -> None:
    rng = generator("ds_swizzle_b32", offset)
    image = Image.random(rng, 4)
    _exec_masks(image, rng)
    values = {"addr": ADDRESS, "vdst": target, "offset0": offset & 255, "offset1": offset >> 8}
    inst = encodings("ds_swizzle_b32")["DS"].inst(**values)
    _check_wave(inst, image, target, addr=ADDRESS, offset=offset)


@pytest.mark.parametrize("name", ["v_permlane16_b32", "v_permlanex16_b32"])
@pytest.mark.parametrize("opsel", [0, 1, 2, 3])
@pytest.mark.parametrize("target", [TARGET, ADDRESS])
def test_permlane16(name: str, opsel: int, target: int) -> None:
    rng = generator(name, opsel)
    for _ in range(4):
        image = Image.random(rng, 1)
        _exec_masks(image, rng)
        inst = encodings(name)["VOP3"].inst(src0=256 + ADDRESS, src1=4, src2=6, vdst=target, opsel=opsel)
        low, high = int(image.s[4, 0]), int(image.s[6, 0])
        _check_wave(inst, image, target, src0=ADDRESS, s1=low, s2=high, opsel=opsel)


@pytest.mark.parametrize("exec_", [*EXEC_MASKS, 0])
def test_permlane64_does_nothing_in_wave32(exec_: int) -> None:
    """Wave64 is in tests/wave64."""
    image = _image(exec_)
    image.s[EXEC_LO] = exec_
    inst = encodings("v_permlane64_b32")["VOP1"].inst(src0=256 + ADDRESS, vdst=TARGET)
    seen = execute(inst, image).image
    assert np.array_equal(seen.v, image.v)
    assert np.array_equal(seen.s, image.s)


# Between lanes and scalar registers.


@pytest.mark.parametrize("exec_", [*EXEC_MASKS, 0])
def test_readfirstlane_takes_lane_0_when_none_is_active(exec_: int) -> None:
    image = _image(exec_)
    image.s[EXEC_LO] = exec_
    inst = encodings("v_readfirstlane_b32")["VOP1_SDST"].inst(src0=256 + ADDRESS, vdst=20)
    seen = execute(inst, image).image
    for wave in range(image.waves):
        result = evaluate_wave(inst.name, vgpr=_columns(image, wave), src0=ADDRESS, exec_=exec_)
        assert seen.s[20, wave] == result.d0
    assert np.array_equal(seen.v, image.v)


@pytest.mark.parametrize("exec_", [0xFFFFFFFF, 0])
@pytest.mark.parametrize("select", [0, 1, 31, 32, 63, 0xFFFFFFE5])
def test_readlane_and_writelane_do_not_look_at_exec(exec_: int, select: int) -> None:
    image = _image(select)
    image.s[EXEC_LO] = exec_
    image.s[4] = select
    read = encodings("v_readlane_b32")["VOP3_SDST"].inst(src0=256 + ADDRESS, src1=4, vdst=20)
    seen = execute(read, image).image
    for wave in range(image.waves):
        result = evaluate_wave(read.name, vgpr=_columns(image, wave), src0=ADDRESS, s1=select, exec_=exec_)
        assert seen.s[20, wave] == result.d0
    write = encodings("v_writelane_b32")["VOP3"].inst(src0=6, src1=4, vdst=TARGET)
    for wave in range(image.waves):
        _one_wave(write, image, wave, exec_)


def _one_wave(inst: Inst, image: Image, wave: int, exec_: int) -> None:
    alone = Image(image.v[:, wave : wave + 1].copy(), image.s[:, wave : wave + 1].copy())
    select, value = int(alone.s[4, 0]), int(alone.s[6, 0])
    _check_wave(inst, alone, TARGET, s0=value, s1=select)


def test_lane_select_from_a_constant() -> None:
    image = _image(9)
    inst = encodings("v_readlane_b32")["VOP3_SDST"].inst(src0=256 + ADDRESS, src1=128 + 7, vdst=20)
    assert np.array_equal(execute(inst, image).image.s[20], image.v[ADDRESS, :, 7])


@pytest.mark.parametrize("exec_", EXEC_MASKS)
def test_swap_exchanges_the_active_lanes(exec_: int) -> None:
    image = _image(exec_)
    image.s[EXEC_LO] = exec_
    inst = encodings("v_swap_b32")["VOP1"].inst(src0=256 + 2, vdst=4)
    seen = execute(inst, image).image.v
    active = image.active()
    assert np.array_equal(seen[2], np.where(active, image.v[4], image.v[2]))
    assert np.array_equal(seen[4], np.where(active, image.v[2], image.v[4]))
    seen[[2, 4]] = image.v[[2, 4]]
    assert np.array_equal(seen, image.v)


def test_cmpx_under_dpp_leaves_its_result_in_exec() -> None:
    """The lanes that DPP shuts out for one instruction do not come back with V_CMPX."""
    image = _image(1)
    image.s[EXEC_LO] = 0xFFFFFFFF
    image.v[4] = 0
    image.v[2] = np.arange(LANES, dtype=np.uint32)
    fields = {"src0": DPP16, "vsrc0": 2, "vsrc1": 4, "dpp": 0x140, "row_mask": 15, "bank_mask": 15, "bc": 1}
    inst = encodings("v_cmpx_eq_u32")["VOPC_DPP16"].inst(**fields)
    assert execute(inst, image).image.s[EXEC_LO].tolist() == [1 << 15] * image.waves


def undefined_register(image: Image, register: int, bits: U32 | int) -> Image:
    """A shadow in which one VGPR holds undefined bits."""
    shadow = Image.zeros(image.waves)
    shadow.v[register] = bits
    return shadow


def test_dpp_moves_undefined_bits_with_the_data() -> None:
    image = _image(2)
    image.s[EXEC_LO] = 0xFFFFFFFF
    bits = (np.uint32(1) << np.arange(LANES, dtype=np.uint32)).astype(np.uint32)
    seen = execute(_dpp16(0x141, 8, bc=1), image, shadow=undefined_register(image, 2, bits)).shadow.v[8]
    mirrored = [1 << (lane // 8 * 8 + 7 - lane % 8) for lane in range(LANES)]
    assert seen.tolist() == [mirrored] * image.waves


def test_an_operand_that_no_instruction_has() -> None:
    inst = encodings("v_swap_b32")["VOP1"].inst(src0=256 + 2, vdst=4)
    scalar = replace(inst, src=(Operand("s", 4),))
    with pytest.raises(Exception, match="scalar source"):
        execute(scalar, _image(3))
