"""Undefined bits of registers: C keeps them as numpy does, and leaves to numpy no more than it must.

Bits are undefined anywhere, in one half of each register, or only in lanes that are off. Mutants of the guards show
that the comparison can fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pytest
from examples import WHOLE
from oracle.families import VECTOR
from oracle.forms import generator, vector_forms
from oracle.harness import Image, Outcome, execute
from oracle.language import Language, current, speaking
from oracle.languages import CDNA4, RDNA4
from oracle.test_semantics_families import FAMILIES
from oracle.undefined import random_shadow

from layoutprobe import semantics
from layoutprobe.engine.native import guards
from layoutprobe.engine.native.rows import rows_of
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import NULL, Inst, Operand
from layoutprobe.semantics.operands import width_of
from native.alone import Alone
from native.test_rows import PARTS, executable, filled, forms_of, forms_of_part, same

FAMILY = {"RDNA3": Language(), "RDNA4": RDNA4, "CDNA4": CDNA4}
"""In waves of 32, 32 and 64 lanes."""
IN_C = (
    "v_add_f32", "v_fma_f32", "v_fmac_f32", "v_mul_f16", "v_fma_f16", "v_max3_f32", "v_add_f64", "v_cvt_f16_f32",
    "v_cvt_f32_f16", "v_cvt_f32_ubyte1", "v_rcp_f32", "v_div_scale_f32", "v_div_fixup_f32", "v_cmp_lt_f32",
    "v_cmp_eq_u16", "v_cndmask_b32", "v_cndmask_b16", "v_mov_b16", "v_mov_b32", "v_lshlrev_b32", "v_ashrrev_i32",
    "v_lshrrev_b16", "v_lshlrev_b64", "v_bfe_u32", "v_lshl_or_b32", "v_alignbit_b32", "v_pack_b32_f16",
    "v_add_nc_u32", "v_add_nc_u16", "v_lshl_add_u32", "v_add_co_u32", "v_add_co_ci_u32", "v_mul_lo_u32",
    "v_mad_u32_u24", "v_xor_b32", "v_not_b32", "v_not_b16", "v_and_b32", "v_or_b16",
    "v_and_or_b32", "v_or3_b32", "v_bfi_b32",
)  # fmt: skip
"""Of these, numpy executes no form but those with DPP, and with signs changed where data moves or has 64 bits."""


def _anywhere(rng: np.random.Generator, image: Image) -> Image:
    return random_shadow(rng, image)


def _in_halves(rng: np.random.Generator, image: Image) -> Image:
    """One half of each VGPR is defined."""
    shadow = random_shadow(rng, image)
    half = np.where(rng.integers(0, 2, len(shadow.v)), np.uint32(0xFFFF), np.uint32(0xFFFF0000))
    shadow.v &= half[:, None, None].astype(np.uint32)
    return shadow


def _in_lanes_that_are_off(rng: np.random.Generator, image: Image) -> Image:
    shadow = random_shadow(rng, image)
    shadow.v[:, image.active()] = 0
    shadow.s[:] = 0
    return shadow


SHADOWS = (_anywhere, _in_halves, _in_lanes_that_are_off)


def _differences(insts: Iterable[Inst]) -> Iterator[str]:
    """What of each instruction, executed with undefined bits, is not as numpy has it."""
    alone = Alone([inst for inst in insts if executable(inst)])
    for n, inst in enumerate(alone.insts):
        if not alone.is_native(n):
            continue
        for salt, undefined in enumerate(SHADOWS):
            rng = generator(inst.name, n + salt)
            image = filled(inst, rng)
            if difference := _difference(alone, n, image, undefined(rng, image)):
                yield f"{inst.name} {inst.encoding} {inst.mods}, {undefined.__name__}: {difference}"


def _difference(alone: Alone, n: int, image: Image, shadow: Image) -> str:
    inst = alone.insts[n]
    want: Outcome | str
    try:
        want = execute(inst, image, shadow=shadow)
    except ExecutionError as refusal:
        want = str(refusal)
    try:
        got, undefined = alone.run(n, image, shadow)
    except ExecutionError as refusal:
        return "" if str(refusal) == want else f"{refusal}; numpy {want}"
    if isinstance(want, str):
        return f"no fault; numpy {want}"
    live = [r for r in range(len(undefined.s)) if r != NULL]
    if not np.array_equal(undefined.v, want.shadow.v):
        at = tuple(int(x) for x in np.argwhere(undefined.v != want.shadow.v)[0])
        return f"v{at[0]} wave {at[1]} lane {at[2]}: {undefined.v[at]:#x} undefined, numpy {want.shadow.v[at]:#x}"
    if not np.array_equal(undefined.s[live], want.shadow.s[live]):
        return "undefined bits of scalar registers"
    return same(inst, got, want.image, image)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_undefined_bits_are_kept_as_numpy_keeps_them(part: int) -> None:
    assert not list(_differences(forms_of_part(part)))


@pytest.mark.few(1)
@pytest.mark.parametrize("family", ["RDNA4", "CDNA4"])
def test_those_of_other_families(family: str) -> None:
    with speaking(FAMILY[family]):
        names = FAMILIES[family].names("v_")
        assert not list(_differences(forms_of(names[:: 1 if WHOLE else 9], ())))


@cache
def _vector(family: str) -> tuple[Inst, ...]:
    names = VECTOR if family == "RDNA3" else FAMILIES[family].names("v_")
    found = [
        inst for name in names if name.startswith(IN_C) for inst in vector_forms(name, generator(name, 3), 1)
    ]
    return tuple(
        inst for inst in found if executable(inst) and not {"dpp_ctrl", "dpp8", "dst_sel"} & set(inst.mods)
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("family", FAMILY)
def test_what_is_undefined_beside_what_is_read_costs_nothing(family: str) -> None:
    """The other half, the registers that are written, and lanes that are off."""
    with speaking(FAMILY[family]):
        alone = Alone(_vector(family))
        for n, inst in enumerate(alone.insts):
            rng = generator(inst.name, n)
            image = filled(inst, rng)
            everything = Image(np.full_like(image.v, 0xFFFFFFFF), np.zeros_like(image.s))
            for shadow in (_in_lanes_that_are_off(rng, image), _unread(inst, everything)):
                assert not _difference(alone, n, image, shadow), inst
        assert not alone.by_numpy


def _packing() -> list[Inst]:
    """V_PERM_B32 with selectors that make bytes of data, of signs and of nothing."""
    high, low, target = (Operand("v", n, fmt="B32") for n in (2, 4, 8))
    selectors = [
        Operand("v", 6),
        Operand("s", 20),
        *(Operand("literal", value=n) for n in (0x05040100, 0x0C070C03)),
    ]
    return [Inst(0, 8, "v_perm_b32", "VOP3", (target,), (high, low, selector)) for selector in selectors]


@pytest.mark.parametrize("family", ["RDNA3", "CDNA4"])
def test_bytes_that_are_picked(family: str) -> None:
    with speaking(FAMILY[family]):
        alone = Alone(_packing())
        for n, inst in enumerate(alone.insts):
            rng = generator(inst.name, n)
            image = filled(inst, rng)
            for selector in (image.v[6], image.s[20]):
                selector &= np.uint32(0x0F0F0F0F)
            assert not _difference(alone, n, image, random_shadow(rng, image)), inst
        assert not alone.by_numpy


def _unread(inst: Inst, shadow: Image) -> Image:
    executor = semantics.bind(inst)
    assert executor is not None
    for row in rows_of(inst, executor, current().lanes):
        for operand, kind in zip(row.sources, row.kinds, strict=True):
            wide = kind == "mask" or width_of(kind) > 16
            for register in operand.registers():
                if operand.kind == "v":
                    shadow.v[register - 256] &= np.uint32(0 if wide else 0xFFFF if operand.hi else 0xFFFF0000)
    return shadow


@pytest.mark.few(1)
@pytest.mark.parametrize("family", FAMILY)
def test_rules_that_c_knows(family: str) -> None:
    with speaking(FAMILY[family]):
        alone = Alone(
            [i for i in _vector(family) if not any(o.neg or (o.abs and o.bits == 64) for o in i.src)]
        )
        assert len(alone.insts) > 40
        for n, inst in enumerate(alone.insts):
            rng = generator(inst.name, n)
            image = filled(inst, rng)
            assert not _difference(alone, n, image, random_shadow(rng, image)), inst
        assert not {inst.name for inst in alone.by_numpy}


@pytest.mark.parametrize(
    ("name", "instead", "of"),
    [
        ("_HIGH", "_LOW", "v_cndmask_b16"),
        ("HIGH_HALF", "LOW_HALF", "v_add_f16"),
        ("NARROW", "WHOLE", "v_mul_lo_u16"),
        ("_UPWARD", "_UNION", "v_add_nc_u32"),
        ("_SPREAD", "_UNION", "v_add_f32"),
        ("_CONTROL", "_DATA", "v_cndmask_b32"),
        ("_LANES", "_ALL", "v_cndmask_b32"),
        ("_MOVED", "_SPREAD", "v_mov_b16"),
        ("_PICKED", "_MOVED", "v_perm_b32"),
        ("_NUMBER", "_ALL", "v_and_b32"),
    ],
)
def test_wrong_guards_are_seen(name: str, instead: str, of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, name, getattr(guards, instead))
    language = CDNA4 if name == "NARROW" else FAMILY["RDNA3"]
    with speaking(language):
        assert list(_differences(vector_forms(of, generator(of, 1), 3)))
