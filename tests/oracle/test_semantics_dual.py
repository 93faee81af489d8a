"""VOPD: both halves read their sources before either writes."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import Struct
from tinygrad.runtime.autogen.amd.rdna3.enum import VOPDOp

from layoutprobe import semantics
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.inst import EXEC_LO, Inst, Operand
from oracle.edges import draw
from oracle.forms import generator, set_vgpr
from oracle.harness import LANES, Image, execute
from oracle.reference import check_vector

X_OPS = tuple(op for op in VOPDOp if op.value < 16)
Y_OPS = tuple(VOPDOp)
UNKNOWN = "v_dual_dot2acc_f32_bf16"
"""No semantics: refused in words."""


class Half(Struct, frozen=True):
    """Registers of one half; source 0 as encoded."""

    op: VOPDOp
    src0: int
    src1: int
    dst: int


def make_dual(x: Half, y: Half, literal: int = 0) -> Inst:
    """The decoded pair."""
    assert (x.dst ^ y.dst) & 1, "the destinations are of different parity"
    word = 0b110010 << 26 | x.op.value << 22 | y.op.value << 17
    word |= x.src0 | x.src1 << 9 | x.dst << 56 | (y.dst >> 1) << 49 | y.src0 << 32 | y.src1 << 41
    return decode_one((word | literal << 64).to_bytes(16, "little"), 0x100)


def _fill(inst: Inst, salt: int) -> Image:
    rng = generator("dual", salt)
    image = Image.random(rng, 2)
    for register in range(12):
        values = draw(rng, "F32", 32, (2, LANES))
        set_vgpr(image, Operand("v", register), values)
    image.s[EXEC_LO] = (0xFFFFFFFF, 0x7FF0FF3C)
    return image


def _name(op: VOPDOp) -> str:
    return str(op.name).lower()


@pytest.mark.parametrize("x", X_OPS, ids=_name)
@pytest.mark.parametrize("y", Y_OPS, ids=_name)
def test_every_pair(x: VOPDOp, y: VOPDOp) -> None:
    salt = x.value * 32 + y.value
    inst = make_dual(Half(x, 256 + 1, 2, 8), Half(y, 256 + 3, 4, 9), 0x3FA00000)
    if UNKNOWN in (_name(x), _name(y)):
        with pytest.raises(semantics.UnsupportedFormError):
            semantics.bind(inst)
        return
    image = _fill(inst, salt)
    check_vector(inst, image, execute(inst, image))
    # Each half overwrites what the other reads, and its own addend where it has one.
    crossed = make_dual(Half(x, 256 + 3, 2, 2), Half(y, 256 + 2, 3, 3), 0x3FA00000)
    check_vector(crossed, image, execute(crossed, image))
    for first, second in ((2, 3), (6, 7)):  # one direction only
        feeding = make_dual(Half(x, 256 + 6, 7, first), Half(y, 256 + 2, 5, second), 0x40200000)
        check_vector(feeding, image, execute(feeding, image))


def test_a_full_swap() -> None:
    mov = VOPDOp.V_DUAL_MOV_B32
    inst = make_dual(Half(mov, 256 + 3, 0, 2), Half(mov, 256 + 2, 0, 3))
    image = _fill(inst, 0)
    image.s[EXEC_LO] = 0xFFFFFFFF
    seen = execute(inst, image).image.v
    assert np.array_equal(seen[2], image.v[3])
    assert np.array_equal(seen[3], image.v[2])


def test_a_swap_exchanges_undefined_bits_too() -> None:
    mov = VOPDOp.V_DUAL_MOV_B32
    inst = make_dual(Half(mov, 256 + 3, 0, 2), Half(mov, 256 + 2, 0, 3))
    image = _fill(inst, 0)
    image.s[EXEC_LO] = 0xFFFF0000
    shadow = Image.zeros(image.waves)
    shadow.v[2], shadow.v[3] = 0x000000FF, 0xFF000000
    seen = execute(inst, image, shadow=shadow).shadow.v
    active = image.active()
    assert np.array_equal(seen[2], np.where(active, 0xFF000000, 0x000000FF))
    assert np.array_equal(seen[3], np.where(active, 0x000000FF, 0xFF000000))


@pytest.mark.parametrize("constant", [242, 255, 4])
def test_constants_literals_and_scalars(constant: int) -> None:
    add, mul = VOPDOp.V_DUAL_ADD_F32, VOPDOp.V_DUAL_MUL_F32
    inst = make_dual(Half(add, constant, 2, 8), Half(mul, constant, 4, 9), 0xC1234567)
    image = _fill(inst, constant)
    image.s[4] = 0x42280000
    check_vector(inst, image, execute(inst, image))
