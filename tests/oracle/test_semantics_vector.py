"""Vector ALU: every mnemonic, in every encoding and with every modifier, against AMD's pseudocode."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.isa.inst import EXEC_LO, Inst
from oracle.encode import encodings
from oracle.families import VECTOR
from oracle.forms import EXEC_MASKS, edge_images, fill, generator, plain_form, vector_forms
from oracle.harness import Image, execute
from oracle.reference import check_vector

EDGES = 256
"""Combinations of edge values per mnemonic: all pairs of most formats, a sample of the triples."""


@pytest.mark.parametrize("name", VECTOR)
def test_combinations_of_edge_values(name: str) -> None:
    inst = plain_form(name)
    image = edge_images(inst, generator(name), EDGES)
    outcome = execute(inst, image)
    check_vector(inst, image, outcome)
    full = outcome.image
    # The same with lanes off, wave by wave: lanes that are on get the same, the others keep what they hold.
    some = image.copy()
    some.s[EXEC_LO] = np.resize(np.array(EXEC_MASKS[1:], np.uint32), image.waves)
    partial = execute(inst, some).image
    assert np.array_equal(partial.v, np.where(some.active(), full.v, image.v))
    for operand in inst.dst:
        if operand.kind == "s":
            masked = full.s[operand.index] & some.s[EXEC_LO]
            assert np.array_equal(partial.s[operand.index], masked)


@pytest.mark.parametrize("name", VECTOR)
def test_every_encoding_with_its_modifiers(name: str) -> None:
    rng = generator(name, 1)
    formats = set()
    for inst in vector_forms(name, rng, 2):
        image = fill(Image.random(rng, 1), inst, rng)
        check_vector(inst, image, execute(inst, image))
        formats.add(inst.encoding)
    expected = {format_name.partition("_")[0] for format_name in encodings(name)}
    assert formats == expected


@examples(150)
@given(st.sampled_from(VECTOR), st.integers(0, 2**32 - 1))
def test_random_registers_and_forms(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for inst in vector_forms(name, rng, 1):
        image = fill(Image.random(rng, 1), inst, rng)
        check_vector(inst, image, execute(inst, image))


def _forms_with(name: str, wanted: str) -> list[Inst]:
    found = [inst for inst in vector_forms(name, generator(name, 1), 30) if _has(inst, wanted)]
    return found


def _has(inst: Inst, wanted: str) -> bool:
    operands = (*inst.src, *inst.dst)
    if wanted in ("neg", "abs", "hi", "neg_hi", "sel"):
        return any(getattr(o, wanted) for o in operands)
    if wanted in ("literal", "const", "s"):
        return any(o.kind == wanted for o in inst.src)
    return bool(inst.mods.get(wanted))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        *[
            ("v_add_f32", w)
            for w in ("neg", "abs", "clamp", "omod", "literal", "const", "s", "dpp_ctrl", "dpp8")
        ],
        *[("v_add_f16", w) for w in ("hi", "neg", "abs", "clamp", "omod")],
        *[("v_pk_fma_f16", w) for w in ("neg", "neg_hi", "sel", "clamp", "dpp_ctrl")],
        *[("v_add_nc_u16", w) for w in ("hi", "clamp")],
        *[("v_cndmask_b32", w) for w in ("neg", "abs", "dpp_ctrl")],
        ("v_dot4_i32_iu8", "neg"),
        ("v_cmp_lt_i64", "literal"),
    ],
)
def test_the_forms_do_contain_what_they_claim(name: str, wanted: str) -> None:
    assert _forms_with(name, wanted), f"no form of {name} has {wanted}"
