"""Elements that fill two registers, or reach from one into the next: slots by the numbers of the hardware.

The layouts are typed in by dword: of v_mfma_f64_16x16x4_f64 element D[4*i + lane/16][lane%16] is in v[2i:2i+1],
and bit 6*k of A of the 6-bit forms is bit 6*k of the operand's registers laid end to end (AMD's matrix
instruction calculator for the first, the CDNA4 ISA guide, 7.5, for the second).
"""

from __future__ import annotations

import pytest

from layoutprobe import instructions
from layoutprobe.claims.judge import judge
from layoutprobe.claims.model import ClaimSet
from layoutprobe.claims.statements import parse_statement
from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.queries import what_is, where_is


@pytest.fixture(scope="module")
def doubles() -> InstructionLayout:
    return instructions.solve("v_mfma_f64_16x16x4_f64", "gfx942")


@pytest.fixture(scope="module")
def sixes() -> InstructionLayout:
    return instructions.solve("v_mfma_f32_32x32x64_f8f6f4 cbsz:2 blgp:2", "gfx950")


def test_both_registers_of_a_double_are_the_same_element(doubles: InstructionLayout) -> None:
    for register in range(8):
        for lane in (0, 17, 63):
            (place,) = what_is(doubles, f"D:v{register}@{lane}").places
            assert place.element == f"D[{4 * (register // 2) + lane // 16}][{lane % 16}]"
            assert (place.vgpr, place.low, place.high) == (register // 2 * 2, 0, 63)
    with pytest.raises(UsageError, match="there is no"):
        what_is(doubles, "D:v8@0")
    with pytest.raises(UsageError, match="no slot is named v2-9"):
        what_is(doubles, "D:v2-9@0")


def test_elements_of_six_bits_reach_into_the_next_register(sixes: InstructionLayout) -> None:
    for k in range(32):
        (place,) = where_is(sixes, f"A[3][{k}]").places
        register, low = divmod(6 * k, 32)
        assert (place.lane, place.vgpr, place.low, place.high) == (3, register, low, low + 5)
        straddles = low + 5 > 31
        assert place.name == (
            f"v{register}.[31:{low}]+v{register + 1}.[{low - 27}:0]@3"
            if straddles
            else f"v{register}.[{low + 5}:{low}]@3"
        )
        (again,) = what_is(sixes, f"A:{place.name}").places
        assert again == place
    assert [p.element for p in what_is(sixes, "A:v1@3").places] == [f"A[3][{k}]" for k in range(5, 11)]


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ("D: v2 = D[4 + lane/16][lane%16]", "confirmed"),
        ("D: v3 = D[4 + lane/16][lane%16]", "confirmed"),
        ("D: v1 = D[4 + lane/16][lane%16]", "equal modulo gauge"),
        ("D: v2 = D[8 + lane/16][lane%16]", "equal modulo gauge"),
        ("D: v2 = D[lane%16][4 + lane/16]", "refuted"),
    ],
)
def test_claims_of_registers_of_doubles(doubles: InstructionLayout, claim: str, word: str) -> None:
    assert judge(ClaimSet((parse_statement(claim),)), doubles).verdict == word
