"""How the matrix unit of an H100 adds, judged again from what the card answered on 2026-11-22.

It is the first arithmetic model that this project holds against silicon. f16, bf16 and tf32 follow the
published rule. Of 8-bit floats in mma.sync nothing is published for this card: their sum of products is
exact as far as can be seen, cut off to f32, and the accumulator is added afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.backends.recorded import Replay
from layoutprobe.fidelity.examine import examine
from layoutprobe.fidelity.sums import SUMS
from layoutprobe.report.fidelity import Outcome

CAPTURE = Path(__file__).with_name("h100_sums.cap")
MMA = "mma.sync.aligned.m16n8k{}.row.col.f32.{}.{}.f32"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    (found,) = examine("sm_90", Replay.of(CAPTURE), (SUMS,)).outcomes
    return found


def test_the_evidence_is_a_replay_of_the_card(outcome: Outcome) -> None:
    (evidence,) = outcome.evidence
    assert evidence.kind == "replayed"
    assert "H100" in str(evidence)
    assert outcome.runs == 60


@pytest.mark.parametrize(
    ("depth", "kind"), [(8, "f16"), (16, "f16"), (8, "bf16"), (16, "bf16"), (4, "tf32"), (8, "tf32")]
)
def test_one_fused_sum_of_25_bits_cut_off(outcome: Outcome, depth: int, kind: str) -> None:
    (case,) = [case for case in outcome.cases if case.name == MMA.format(depth, kind, kind)]
    assert case.verdict == "agree"
    assert f"as published; steps of {depth} products and the accumulator, 25 fraction bits" in case.text
    assert "terms cut off, sums cut off: 3072 of 3072" in case.text


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
@pytest.mark.parametrize("depth", [16, 32])
def test_8_bit_floats_take_the_accumulator_last(outcome: Outcome, depth: int, kind: str) -> None:
    (case,) = [case for case in outcome.cases if case.name == MMA.format(depth, kind, kind)]
    assert case.verdict == "agree"
    assert "then the accumulator is added, rounded to nearest: 3072 of 3072" in case.text
