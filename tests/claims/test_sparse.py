"""Claims about sparse instructions: the k of A is compressed, that of B is dense, and both are renamed as one."""

from __future__ import annotations

from functools import cache

import pytest

from claims.test_judge import cells_of, claims_of
from layoutprobe import instructions
from layoutprobe.claims import Judgement, judge
from layoutprobe.layouts.instruction import InstructionLayout

TURNED = (3, 0, 1, 2, 7, 6, 4, 5)
SAME = tuple(range(8))


@cache
def sparse() -> InstructionLayout:
    return instructions.solve("v_swmmac_f32_16x16x32_f16", arch="gfx1200", wave=32)


def renamed(a: tuple[int, ...], b: tuple[int, ...], only: str = "AB") -> Judgement:
    """A and B with their groups of k in another order: two columns of A a group, four rows of B."""
    tables = {
        "A": [[c[0], 2 * a[c[1] // 2] + c[1] % 2, *c[2:]] for c in cells_of(sparse().operands["A"])],
        "B": [[4 * b[c[0] // 4] + c[0] % 4, c[1], *c[2:]] for c in cells_of(sparse().operands["B"])],
    }
    return judge(claims_of({matrix: tables[matrix] for matrix in only}), sparse())


def test_the_layout_itself_is_confirmed() -> None:
    assert renamed(SAME, SAME).verdict == "confirmed"


@pytest.mark.parametrize("only", ["A", "B", "AB"])
def test_k_renamed_in_a_and_b_alike_is_equal_modulo_gauge(only: str) -> None:
    found = renamed(TURNED, TURNED, only)
    assert found.verdict == "equal modulo gauge", found.reasons
    assert found.renamed is not None
    back = {kind: dict(pairs) for kind, pairs in found.renamed.items()}
    wanted = {"A": {"compressed K": 2}, "B": {"K": 4}, "AB": {"compressed K": 2, "K": 4}}[only]
    assert set(back) == set(wanted)
    for kind, unit in wanted.items():
        lines = {unit * TURNED[g] + at: unit * g + at for g in range(8) for at in range(unit)}
        assert back[kind] == lines


def test_two_orders_of_k_are_refuted_in_words_that_differ() -> None:
    found = renamed(TURNED, SAME)
    assert found.verdict == "refuted"
    assert "group" in found.reasons[-1]
    assert "of k into" in found.reasons[-1]


def test_a_place_within_a_group_cannot_be_renamed() -> None:
    cells = [[c[0] ^ 1, c[1], *c[2:]] for c in cells_of(sparse().operands["B"])]
    found = judge(claims_of({"B": cells}), sparse())
    assert found.verdict == "refuted"
    assert "places within a group of 4 are fixed" in found.reasons[-1]
