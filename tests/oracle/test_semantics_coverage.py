"""No mnemonic with semantics is left out of the comparison with AMD's pseudocode."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from oracle import families
from oracle.decisions import DECISIONS, Decision
from oracle.encode import encodings
from oracle.pcode import supported


def test_every_mnemonic_is_in_exactly_one_family() -> None:
    groups = (
        families.VECTOR, families.SCALAR, families.SCALAR_LOADS, families.MEMORY, families.LANES_EXCHANGE,
        families.HINTS, families.MODES, tuple(families.ELSEWHERE),
    )  # fmt: skip
    counted = Counter(name for group in groups for name in group)
    assert set(counted) == set(families.NAMES)
    assert {name: n for name, n in counted.items() if n != 1} == {}


def test_the_oracle_speaks_about_all_that_computes_or_moves() -> None:
    compared = (*families.VECTOR, *families.SCALAR, *families.SCALAR_LOADS, *families.MEMORY,
                *families.LANES_EXCHANGE)  # fmt: skip
    assert [n for n in compared if not supported(n)] == []
    assert len(compared) > 800


def test_every_compared_mnemonic_can_be_encoded() -> None:
    assert [n for n in families.NAMES if n != "v_dual" and not encodings(n)] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda d: d.mnemonics)
def test_every_decision_is_about_something(decision: Decision) -> None:
    assert [n for n in families.NAMES if re.fullmatch(decision.mnemonics, n)]
