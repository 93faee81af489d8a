"""Instructions of RDNA4 against AMD's pseudocode of RDNA4, with the machinery that checks RDNA3."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import pytest
from oracle import encode, families
from oracle.forms import edge_images, fill, fill_scalars, generator, plain_form, scalar_forms, vector_forms
from oracle.harness import Image, execute
from oracle.pcode import api
from oracle.reference import check_scalar, check_vector
from tinygrad.runtime.autogen.amd.rdna4 import ins, operands, str_pcode

from layoutprobe import semantics
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.dialect import Dialect, known

RDNA4 = Dialect(known("gfx1201"), 32)
NAMES = tuple(semantics.names(RDNA4.isa))
NEW = tuple(sorted(set(NAMES) - set(semantics.names(known("gfx1151")))))


_ELSEWHERE = re.compile(
    r"v_s?wmma|v_cvt_.*(fp8|bf8)|v_dot4_f32|v_permlane|v_s_|s_wait_|s_.*prefetch|s_(buffer_)?load_|s_barrier|s_sleep"
)
"""Tested by themselves, or without effect on registers."""
_KNOWN = {*families.VECTOR, *families.SCALAR}
TESTED = [n for n in NAMES if n in _KNOWN or (n in NEW and not _ELSEWHERE.match(n) and n[:2] in ("v_", "s_"))]
VECTOR = [n for n in TESTED if n.startswith("v_")]
SCALAR = [n for n in TESTED if n.startswith("s_")]

# The texts of RDNA4 also say when a trap flag is set, which is no register of a wave here.
_FLAGS = re.compile(r"if \(isSignalNAN[^\n]*\) then\nTRAPSTS\.INVALID = 1\nendif;\n")
_CALLEE = re.compile(r"v_(?:(?:min|max|minimum|maximum)3?(?:_num)?_(?P<type>[fiu]\d+)|(?:m?sad_u8))")


def _readable(name: str, text: str) -> str:
    """AMD's text in the words that the oracle knows: that of SOPK calls its constant S0 here."""
    text = _FLAGS.sub("", text)
    return text.replace("S0.i16", "SIMM16.i16") if re.match(r"S_\w+K_", name) else text


def _clear() -> None:
    for cached in (api.canonical, api._texts, api._operation, encode._by_name, edge_images, plain_form):
        getattr(cached, "cache_clear", lambda: None)()


@pytest.fixture(autouse=True, scope="module")
def _rdna4() -> Iterator[None]:
    """The oracle reads AMD's tables and texts of RDNA4 while this module runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "PCODE", {op: _readable(op.name, text) for op, text in str_pcode.PCODE.items()})
        patch.setattr(api, "_CALLEE", _CALLEE)
        patch.setattr(encode, "ins", ins)
        patch.setattr(encode, "OPERANDS", operands.OPERANDS)
        patch.setattr(encode, "decode_one", partial(decode_one, dialect=RDNA4))
        _clear()
        yield
    _clear()


@pytest.mark.parametrize("name", VECTOR)
def test_combinations_of_edge_values(name: str) -> None:
    inst = plain_form(name)
    image = edge_images(inst, generator(name), 256 if name in NEW else 64)
    check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize("name", VECTOR)
def test_every_encoding_with_its_modifiers(name: str) -> None:
    rng = generator(name, 1)
    for inst in vector_forms(name, rng, 3 if name in NEW else 1):
        image = fill(Image.random(rng, 1), inst, rng)
        check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_alu(name: str) -> None:
    rng = generator(name)
    count = 0
    for inst in scalar_forms(name, rng, 5):
        image = fill_scalars(Image.random(rng, 24), inst, rng)
        outcome = execute(inst, image)
        check_scalar(inst, image, outcome, outcome.machine.code_address(inst.pc))
        count += 1
    assert count >= 5


def test_every_mnemonic_is_in_some_test() -> None:
    assert len(VECTOR) > 380
    assert len(SCALAR) > 150
    assert {"v_min_num_f32", "v_pk_maximum_f16", "v_mad_co_u64_u32"} <= set(VECTOR)
    assert {"s_add_co_ci_u32", "s_mul_u64", "s_minimum_f16", "s_movk_i32"} <= set(SCALAR)
