"""The claims that are shipped, each with its stated verdict, against instructions that are executed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from layoutprobe import instructions
from layoutprobe.arch import DEFAULT
from layoutprobe.claims import ClaimSet, Judgement, judge, read_claims
from layoutprobe.claims.judge import undecided
from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "claims"
SETS = [(path.stem, claims) for path in sorted(FOLDER.glob("*.toml")) for claims in read_claims([str(path)])]


@cache
def solved(instruction: str, arch: str, wave: int) -> InstructionLayout:
    return instructions.solve(instruction, arch=arch, wave=wave)


def judged(claims: ClaimSet) -> Judgement:
    assert claims.instruction is not None
    where = (claims.instruction, claims.arch or DEFAULT, claims.wave or 32)
    try:
        return judge(claims, solved(*where))
    except UsageError as error:  # a target that cannot be executed here
        return undecided(claims, error.what, *where)


@pytest.mark.parametrize("claims", [claims for _, claims in SETS], ids=[f"{n}: {c.name}" for n, c in SETS])
def test_a_shipped_claim_has_its_verdict(claims: ClaimSet) -> None:
    assert claims.stated, "every shipped claim states its verdict"
    found = judged(claims)
    assert found.verdict == claims.stated, found.reasons
    assert found.verdict == "confirmed" or found.reasons
    if found.verdict == "refuted":
        assert claims.because or "called" in claims.name, "a refuted claim says why"


def test_every_verdict_is_among_them() -> None:
    assert {claims.stated for _, claims in SETS} == {
        "confirmed",
        "equal modulo gauge",
        "refuted",
    }


def test_the_log_of_the_card_is_what_comes_out() -> None:
    (claims,) = [claims for _, claims in SETS if claims.name == "The kernel that printed 1240"]
    found = judged(claims).effect
    assert found is not None
    assert found.example == "it gives 1240 everywhere, where 0 to 1800 is right"
    assert found.law == "it is transpose(A) @ B, tile by tile"
