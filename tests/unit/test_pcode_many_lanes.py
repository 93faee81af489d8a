"""The oracle on many lanes at once says what it says of each lane alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from oracle.edges import F16, F32, F64, INTEGERS
from oracle.language import Language, speaking
from oracle.languages import CDNA4, RDNA4
from oracle.pcode import PcodeFault, coverage, evaluate, pseudocode
from oracle.pcode.lanes import PartedError, same

LANES = 24
ALONE = re.compile(r"MEM\[|VGPR\[|HW_REGISTERS|SDATA")
"""Texts for one lane, or for a wave."""


def numbers(seed: str) -> dict[str, np.ndarray]:
    """Sources of each lane: edges of all formats, equal ones, noise."""
    rng = np.random.default_rng(list(seed.encode()))
    pool = np.array((*F16, *F32, *F64, *INTEGERS[8], *INTEGERS[16], *INTEGERS[32]), np.uint64)
    noise = rng.integers(0, 1 << 64, (6, LANES), np.uint64)
    drawn = np.where(rng.random((6, LANES)) < 0.8, pool[rng.integers(0, len(pool), (6, LANES))], noise)
    drawn[1, ::5] = drawn[0, ::5]
    return dict(zip(("s0", "s1", "s2", "d0", "vcc", "exec_"), drawn.astype(object), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("language", [Language(), RDNA4, CDNA4], ids=["RDNA3", "RDNA4", "CDNA4"])
def test_every_text_gives_each_lane_its_own(language: Language) -> None:
    with speaking(language):
        names = [n for n in coverage()[0] if n[:2] in ("V_", "S_") and not ALONE.search(pseudocode(n))]
        assert len(names) > 600
        assert [name for name in names if not _agree(name)] == []


def _agree(name: str) -> bool:
    given: dict[str, Any] = numbers(name) | {"lane": np.arange(LANES).astype(object)}
    alone = [{key: number[lane] for key, number in given.items()} for lane in range(LANES)]
    immediates: dict[str, Any] = {"simm16": 0x8123, "simm32": 0x3F801234, "scc": 1}
    try:
        wanted = [evaluate(name, **one, **immediates) for one in alone]
    except PcodeFault:  # the text needs what is not given here
        with pytest.raises(PcodeFault):
            evaluate(name, **given, **immediates)
        return True
    many = evaluate(name, **given, **immediates)
    for field in (f for f in many.__struct_fields__ if f != "accuracy"):
        found = getattr(many, field)
        found = found.tolist() if isinstance(found, np.ndarray) else [found] * LANES
        if found != [getattr(one, field) for one in wanted]:
            return False
    return True


def test_lanes_that_need_different_ways_are_told_apart() -> None:
    assert same(np.array([7, 7, 7], object)) == same(7) == 7
    with pytest.raises(PartedError) as parted:
        same(np.array([7, 8, 7], object))
    assert parted.value.key.tolist() == [7, 8, 7]
