"""The comparison can fail: deliberately wrong semantics, each of a kind that real emulators have had."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace
from tinygrad.runtime.autogen.amd.rdna3.enum import VOPDOp

from layoutprobe import semantics
from layoutprobe.isa.inst import EXEC_LO, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.definedness import Transport, union
from layoutprobe.semantics.op import Op
from layoutprobe.semantics.registry import Executor
from layoutprobe.semantics.valu import OPS, bind_valu
from oracle.encode import DPP16, encodings
from oracle.forms import edge_images, fill, fill_scalars, generator, plain_form, scalar_forms
from oracle.harness import Image, MismatchError, execute
from oracle.memory_forms import memory_forms, size_of
from oracle.memory_reference import Memories, check_memory
from oracle.reference import check_scalar, check_vector
from oracle.test_semantics_dual import Half, make_dual
from oracle.undefined import check_soundness

U = np.uint32


def _shift_by_six_bits(amount: Array, data: Array) -> Array:
    wide = amount & U(63)
    return np.where(wide > 31, U(0), data << (wide & U(31)))


def _round_half_up(a: Array) -> Array:
    return np.floor(a + np.float32(0.5))


WRONG: dict[str, Callable[..., object]] = {
    "v_subrev_nc_u32": np.subtract,
    "v_lshlrev_b32": _shift_by_six_bits,
    "v_min_i32": lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32),
    "v_min_f32": np.minimum,  # NaN wins
    "v_max_f32": np.fmax,  # the zero that comes first
    "v_add_co_ci_u32": lambda a, b, carry: (a + b + carry, a + b < a),
    "v_mul_hi_u32": lambda a, b: (a.view(np.int32).astype(np.int64) * b.view(np.int32) >> 32).astype(U),
    "v_mul_u32_u24": np.multiply,
    "v_fma_f32": lambda a, b, c: a * b + c,
    "v_fma_f16": lambda a, b, c: (a.astype(np.float32) * b.astype(np.float32) + c).astype(np.float16),
    "v_rndne_f32": _round_half_up,
    "v_cvt_i32_f32": lambda a: a.astype(np.int32),
    "v_cvt_pk_rtz_f16_f32": lambda a, b: a.astype(np.float16).view(np.uint16).astype(U)
    | b.astype(np.float16).view(np.uint16).astype(U) << U(16),
    "v_alignbit_b32": lambda high, low, amount: (
        ((low.astype(np.uint64) << np.uint64(32)) | high) >> (amount & U(31)).astype(np.uint64)
    ).astype(U),
    "v_perm_b32": lambda high, low, selectors: OPS["v_perm_b32"].compute(low, high, selectors),
    "v_bfe_i32": lambda data, offset, width: OPS["v_bfe_u32"].compute(data.view(U), offset, width),
    "v_cndmask_b32": lambda a, b, mask: np.where(mask, a, b),
    "v_mad_i64_i32": OPS["v_mad_u64_u32"].compute,
    "v_frexp_mant_f32": lambda a: np.frexp(a)[0] * np.float32(2),
    "v_ldexp_f32": lambda a, power: a * np.exp2(power.astype(np.float32)),
    "v_exp_f32": np.exp,
    "v_sin_f32": np.sin,
    "v_cmp_nlt_f32": np.greater_equal,  # unordered operands
    "v_cmp_class_f32": lambda a, mask: OPS["v_cmp_class_f32"].compute(np.abs(a), mask),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_computation_is_caught(name: str) -> None:
    inst = plain_form(name)
    image = edge_images(inst, generator(name), 256)
    wrong = bind_valu(replace(OPS[name], compute=WRONG[name]), inst)
    with pytest.raises(MismatchError):
        check_vector(inst, image, execute(inst, image, executor=wrong))


def _caught(inst: Inst, executor: Executor | None, image: Image) -> None:
    check_vector(inst, image, execute(inst, image))
    with pytest.raises(MismatchError):
        check_vector(inst, image, execute(inst, image, executor=executor))


def test_a_fast_path_that_forgets_clamp_is_caught() -> None:
    """With all lanes on, operations that are one numpy function take a way of their own."""
    encoding = encodings("v_add_nc_u32")["VOP3"]
    fields = {"src0": 256 + 2, "src1": 256 + 4, "vdst": 8}
    image = edge_images(plain_form("v_add_nc_u32"), generator("clamp"), 256)
    assert image.active().all()
    _caught(encoding.inst(**fields, clmp=1), semantics.bind(encoding.inst(**fields)), image)


def test_row_share_instead_of_row_xmask_is_caught() -> None:
    fields = {"src0": DPP16, "vsrc0": 2, "vdst": 8, "row_mask": 15, "bank_mask": 15, "bc": 1}
    right, wrong = (encodings("v_mov_b32")["VOP1_DPP16"].inst(dpp=c, **fields) for c in (0x163, 0x153))
    _caught(right, semantics.bind(wrong), Image.random(generator("row"), 2))


def test_dpp_that_writes_lane_by_lane_is_caught() -> None:
    fields = {"src0": DPP16, "vsrc0": 2, "vdst": 2, "row_mask": 15, "bank_mask": 15, "bc": 1, "dpp": 0x111}
    inst = encodings("v_mov_b32")["VOP1_DPP16"].inst(**fields)

    def in_turns(c: Cohort) -> None:
        for lane in range(32):
            c.u[2][:, lane] = c.u[2][:, lane - 1] if lane % 16 else 0

    image = Image.random(generator("turns"), 1)
    image.s[EXEC_LO] = 0xFFFFFFFF
    _caught(inst, in_turns, image)


def test_lanes_that_are_off_but_written_are_caught() -> None:
    inst = plain_form("v_add_nc_u32")
    right = semantics.bind(inst)
    assert right is not None

    def everywhere(c: Cohort) -> None:
        c.u[8][...] = c.u[2] + c.u[4]

    image = fill(Image.random(generator("off"), 2), inst, generator("off"))
    image.s[EXEC_LO] = 0x7FFFFFFF
    _caught(inst, everywhere, image)


def test_compare_bits_of_lanes_that_are_off_are_caught() -> None:
    inst = plain_form("v_cmp_ne_u32")

    def everywhere(c: Cohort) -> None:
        bits = np.packbits(c.u[2] != c.u[4], axis=1, bitorder="little").view(np.uint32)
        c.write_scalar(inst.dst[0].index, bits)

    image = Image.random(generator("bits"), 2)
    image.s[EXEC_LO] = 0x0000FFFF
    _caught(inst, everywhere, image)


def test_a_16_bit_result_that_clears_the_other_half_is_caught() -> None:
    inst = plain_form("v_add_nc_u16")
    wide = Op(inst.name, ("u32",), ("u16", "u16"), lambda a, b: (a + b).astype(U))
    image = edge_images(inst, generator("half"), 64)
    image.v[8] |= U(0x10000)
    _caught(inst, bind_valu(wide, replace(inst, dst=(replace(inst.dst[0], bits=32),))), image)


def test_a_modifier_that_is_ignored_is_caught() -> None:
    encoding = encodings("v_mul_f32")["VOP3"]
    plain = {"src0": 256 + 2, "src1": 256 + 4, "vdst": 8}
    image = edge_images(plain_form("v_mul_f32"), generator("modifier"), 256)
    for field, value in (("neg", 1), ("abs", 2), ("clmp", 1), ("omod", 1)):
        _caught(encoding.inst(**plain, **{field: value}), semantics.bind(encoding.inst(**plain)), image)


def test_a_dual_instruction_in_sequence_is_caught() -> None:
    mov = VOPDOp.V_DUAL_MOV_B32
    inst = make_dual(Half(mov, 256 + 3, 0, 2), Half(mov, 256 + 2, 0, 3))

    def one_after_the_other(c: Cohort) -> None:
        for half in inst.pair:
            run = semantics.bind(half)
            assert run is not None
            run(c)

    image = Image.random(generator("dual"), 1)
    image.s[EXEC_LO] = 0xFFFFFFFF
    _caught(inst, one_after_the_other, image)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ds_load_u16_d16", "ds_load_u16"),  # the other half becomes zero
        ("ds_load_u16_d16_hi", "ds_load_u16_d16"),
        ("ds_load_i8", "ds_load_u8"),
        ("ds_load_2addr_stride64_b32", "ds_load_2addr_b32"),
        ("global_load_d16_hi_b16", "global_load_d16_b16"),
        ("global_store_d16_hi_b8", "global_store_b8"),
        ("ds_sub_u32", "ds_rsub_u32"),
        ("ds_min_i32", "ds_min_u32"),
        ("ds_inc_rtn_u32", "ds_add_rtn_u32"),
        ("buffer_load_i16", "buffer_load_u16"),
        ("flat_load_u8", "flat_load_i8"),
    ],
)
def test_a_wrong_access_is_caught(name: str, wrong: str) -> None:
    caught = 0
    for inst, image, machine in memory_forms(name, generator(name), 6):
        memories = Memories.of(machine)
        outcome = execute(inst, image, machine=machine, executor=semantics.bind(replace(inst, name=wrong)))
        try:
            check_memory(inst, image, memories, outcome, size_of(name))
        except MismatchError:
            caught += 1
    assert caught > 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("s_ashr_i32", "s_lshr_b32"), ("s_add_i32", "s_add_u32"), ("s_cselect_b32", "s_and_b32"),
        ("s_max_i32", "s_max_u32"), ("s_bfe_i64", "s_bfe_u64"), ("s_cmp_nlt_f32", "s_cmp_ge_f32"),
        ("s_and_not1_saveexec_b32", "s_and_not0_saveexec_b32"), ("s_subb_u32", "s_sub_u32"),
    ],
)  # fmt: skip
def test_a_wrong_scalar_instruction_is_caught(name: str, wrong: str) -> None:
    caught = 0
    rng = generator(name)
    for inst in scalar_forms(name, rng, 6):
        image = fill_scalars(Image.random(rng, 24), inst, rng)
        try:
            check_scalar(
                inst, image, execute(inst, image, executor=semantics.bind(replace(inst, name=wrong)))
            )
        except MismatchError:
            caught += 1
    assert caught > 0


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("v_add_nc_u32", union),  # carries
        ("v_and_b32", lambda values, shadows, widths: [shadows[0] & shadows[1]]),
        ("v_cndmask_b32", lambda values, shadows, widths: [np.where(values[2], shadows[1], shadows[0])]),
        ("v_lshlrev_b32", Transport(lambda amount, data: data, (1,))),
        ("v_mul_lo_u32", union),
        ("v_min_u32", union),
        ("v_bfi_b32", lambda values, shadows, widths: [shadows[1] | shadows[2]]),
        ("v_bfrev_b32", union),
    ],
)
def test_an_unsound_rule_of_definedness_is_caught(name: str, rule: Callable[..., list[Array]]) -> None:
    inst, rng = plain_form(name), generator(name)
    wrong = bind_valu(replace(OPS[name], rule=rule), inst)
    assert not any(_violated(inst, rng, None) for _ in range(8))
    assert any(_violated(inst, rng, wrong) for _ in range(8))


def _violated(inst: Inst, rng: np.random.Generator, executor: Executor | None) -> bool:
    try:
        check_soundness(inst, fill(Image.random(rng, 16), inst, rng), rng, executor)
    except MismatchError:
        return True
    return False
