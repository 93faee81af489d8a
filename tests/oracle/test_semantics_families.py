"""Instructions of RDNA4 and CDNA against AMD's pseudocode of them, with the machinery that checks RDNA3."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe import semantics
from layoutprobe.isa.dialect import known
from layoutprobe.isa.inst import Inst
from oracle import families
from oracle.encode import DPP16, SDWA, encodings
from oracle.forms import edge_images, fill, fill_scalars, generator, plain_form, scalar_forms, vector_forms
from oracle.harness import Image, MismatchError, execute
from oracle.language import Language, speaking
from oracle.languages import CDNA4, RDNA4
from oracle.memory_forms import memory_forms, size_of
from oracle.memory_reference import Memories, check_memory
from oracle.reference import check_scalar, check_vector
from oracle.undefined import check_soundness


class Family(Struct, frozen=True):
    """One family's mnemonics.

    Attributes:
        language: its texts.
        elsewhere: mnemonics that other tests speak about, or without effect on registers.
    """

    language: Language
    elsewhere: str

    def names(self, start: str) -> list[str]:
        """Those compared here whose names start like that."""
        return [
            name
            for name in semantics.names(known(self.language.target))
            if name.startswith(start)
            and (name in _RDNA3 or (name not in _HERE and not re.match(self.elsewhere, name)))
        ]

    def is_new(self, name: str) -> bool:
        """RDNA3 has no such mnemonic."""
        return name not in _HERE


_HERE = frozenset(families.NAMES)
_RDNA3 = frozenset((*families.VECTOR, *families.SCALAR))
FAMILIES = {
    "RDNA4": Family(
        RDNA4,
        r"v_s?wmma|v_cvt_.*(fp8|bf8)|v_dot4_f32|v_permlane|v_s_|s_wait_|s_.*prefetch|s_(buffer_)?load_|s_barrier"
        r"|s_sleep",
    ),
    "CDNA4": Family(
        CDNA4,
        r"v_mfma|v_smfmac|v_cvt_.*(fp8|bf8)|v_cvt_scalef32|v_accvgpr|v_permlane|s_(buffer_)?load_|s_dcache"
        r"|s_scratch|s_mem(real)?time|s_set_gpr_idx_off",
    ),
}  # fmt: skip
_BY_THEMSELVES = re.compile("_pk_add_|_lds_|_tr_b|buffer_(inv|wbl2)")
"""Without text, or with one that declares no types."""
VECTOR = [(family, name) for family, f in FAMILIES.items() for name in f.names("v_")]
MEMORY = [
    ("CDNA4", name)
    for space in ("ds", "global", "flat", "scratch", "buffer")
    for name in FAMILIES["CDNA4"].names(f"{space}_")
    if FAMILIES["CDNA4"].is_new(name) and not _BY_THEMSELVES.search(name)
]
SCALAR = [(family, name) for family, f in FAMILIES.items() for name in f.names("s_")]


@pytest.fixture(autouse=True)
def _language(request: pytest.FixtureRequest) -> Iterator[None]:
    """The oracle reads AMD's tables and texts of the test's family."""
    family = getattr(request.node, "callspec", None)
    if family is None:
        yield
        return
    with speaking(FAMILIES[family.params["family"]].language):
        yield


@pytest.mark.parametrize(("family", "name"), VECTOR)
def test_combinations_of_edge_values(family: str, name: str) -> None:
    inst = plain_form(name)
    image = edge_images(inst, generator(name), 256 if FAMILIES[family].is_new(name) else 64)
    check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize(("family", "name"), VECTOR)
def test_every_encoding_with_its_modifiers(family: str, name: str) -> None:
    rng = generator(name, 1)
    for inst in vector_forms(name, rng, 3 if FAMILIES[family].is_new(name) else 1):
        image = fill(Image.random(rng, 1), inst, rng)
        check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize(("family", "name"), SCALAR)
def test_scalar_alu(family: str, name: str) -> None:
    rng = generator(name)
    count = 0
    for inst in scalar_forms(name, rng, 5):
        image = fill_scalars(Image.random(rng, 24), inst, rng)
        outcome = execute(inst, image)
        check_scalar(inst, image, outcome, outcome.machine.code_address(inst.pc))
        count += 1
    assert count >= 5


@pytest.mark.parametrize(("family", "name"), MEMORY)
def test_moves_the_bytes_that_the_text_names(family: str, name: str) -> None:
    count = 0
    for inst, image, machine in memory_forms(name, generator(name), 4):
        memories = Memories.of(machine)
        outcome = execute(inst, image, machine=machine)
        count += check_memory(inst, image, memories, outcome, size_of(name))
        if "d16" in name and inst.dst:  # the other half is lost, and what is lost is undefined
            half = np.where(
                image.active(), np.uint32(0x0000FFFF if "_hi" in name else 0xFFFF0000), np.uint32(0)
            )
            assert np.array_equal(outcome.shadow.v[inst.dst[0].index], half)
    assert count > 0


@pytest.mark.parametrize(("family", "name"), [(f, n) for f, n in VECTOR if f == "CDNA4"])
def test_rules_of_definedness_are_sound(family: str, name: str) -> None:
    rng = generator(name, 2)
    for inst in vector_forms(name, rng, 1):
        check_soundness(inst, fill(Image.random(rng, 3), inst, rng), rng)


# Deliberately wrong ones, each of a kind that is near at hand.


def _sub_dword(**fields: int) -> Inst:
    plain = {"src0": SDWA, "vsrc0": 2, "vsrc1": 4, "vdst": 8, "src0_sel": 6, "src1_sel": 6, "dst_sel": 6}
    return encodings("v_add_u16")["VOP2_SDWA"].inst(**plain | fields)


def _vop3(name: str, **fields: int) -> Inst:
    plain = {"src0": 256 + 2, "src1": 256 + 4, "src2": 256 + 6, "vdst": 8}
    return encodings(name)["VOP3P" if "_pk_" in name else "VOP3"].inst(**plain | fields)


def _cleared(inst: Inst) -> Inst:
    return replace(inst, dst=(replace(inst.dst[0], bits=16),))


WRONG: dict[str, tuple[Callable[[], Inst], Callable[[Inst], Inst]]] = {
    "SDWA reads another byte": (lambda: _sub_dword(src0_sel=1), lambda _: _sub_dword(src0_sel=2)),
    "SDWA extends without sign": (
        lambda: _sub_dword(src0_sel=1, src0_sext=1),
        lambda _: _sub_dword(src0_sel=1),
    ),
    "SDWA pads what it should keep": (
        lambda: _sub_dword(dst_sel=5, dst_unused=2),
        lambda _: _sub_dword(dst_sel=5, dst_unused=0),
    ),
    "SDWA keeps what it should extend": (
        lambda: _sub_dword(dst_sel=4, dst_unused=1),
        lambda _: _sub_dword(dst_sel=4, dst_unused=2),
    ),
    "the other half is kept": (lambda: _vop3("v_mul_lo_u16", src2=0), _cleared),
    "the sources of bitop3 the other way round": (
        lambda: _vop3("v_bitop3_b32", neg=0b110, abs=0b010, omod=1),
        lambda i: replace(i, src=i.src[::-1]),
    ),
    "op_sel of a packed pair is ignored": (
        lambda: _vop3("v_pk_mul_f32", opsel=1, opsel_hi=2, src2=0),
        lambda _: _vop3("v_pk_mul_f32", opsel_hi=3, src2=0),
    ),
    "v_pk_mov picks both dwords of source 0": (
        lambda: _vop3("v_pk_mov_b32", opsel=2, src2=0),
        lambda i: replace(i, src=(i.src[0], i.src[0])),
    ),
    "the shift of v_lshl_add_u64 has six bits": (
        lambda: _vop3("v_lshl_add_u64"),
        lambda i: replace(i, name="v_lshl_or_b32", src=tuple(replace(o, bits=32, regs=1) for o in i.src)),
    ),
    "row_bcast15 within its row": (lambda: _dpp(0x142), lambda _: _dpp(0x15F)),
    "wave_ror the other way": (lambda: _dpp(0x13C), lambda _: _dpp(0x134)),
}


def _dpp(control: int) -> Inst:
    fields = {"src0": DPP16, "vsrc0": 2, "vdst": 8, "row_mask": 15, "bank_mask": 15}
    return encodings("v_mov_b32")["VOP1_DPP16"].inst(dpp=control, **fields)


@pytest.mark.parametrize("family", ["CDNA4"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_semantics_are_caught(family: str, case: str) -> None:
    right, wrong = WRONG[case]
    inst = right()
    image = fill(Image.random(generator(case), 2), inst, generator(case))
    image.activate(0xFFFFFFFF)
    check_vector(inst, image, execute(inst, image))
    with pytest.raises(MismatchError):
        check_vector(inst, image, execute(inst, image, executor=semantics.bind(wrong(inst))))


def test_every_mnemonic_is_in_some_test() -> None:
    found = {family: [n for f, n in (*VECTOR, *SCALAR) if f == family] for family in FAMILIES}
    assert len(found["RDNA4"]) > 530
    assert len(found["CDNA4"]) > 500
    assert {"v_min_num_f32", "v_pk_maximum_f16", "v_mad_co_u64_u32", "s_add_co_ci_u32", "s_mul_u64"} <= set(
        found["RDNA4"]
    )
    assert {"v_addc_co_u32", "v_lshl_add_u64", "v_bitop3_b16", "v_pk_fma_f32", "s_andn2_b64"} <= set(
        found["CDNA4"]
    )
