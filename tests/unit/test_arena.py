"""Global memory as a launch finds it: what nobody fills is zero and defined, whatever was there before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutprobe.machine import memory
from layoutprobe.machine.memory import Arena, ArenaPlan, Region


def built(sizes: dict[str, int], undefined: set[str]) -> tuple[Arena, list[Region]]:
    """Memory with a region of each size, as `place_memory` makes it: filled with ones, or undefined."""
    plan = ArenaPlan()
    regions = [plan.add(name, size, writable=True) for name, size in sizes.items()]
    plan.add("not filled", 300, writable=False)
    arena = plan.build(regions, [r for r in regions if r.name in undefined])
    for region in regions:
        ones = np.full(region.end - region.start, 1, np.uint8)
        arena.fill(region, ones, undefined=region.name in undefined)
    return arena, regions


@pytest.mark.parametrize("fresh", [0, 1 << 40], ids=["from the system", "kept"])
@pytest.mark.parametrize("undefined", [set(), {"b"}, {"a", "c"}], ids=["none", "one", "two"])
def test_what_nobody_fills_is_zero(monkeypatch: pytest.MonkeyPatch, fresh: int, undefined: set[str]) -> None:
    monkeypatch.setattr(memory, "_FRESH", fresh)
    empty = np.empty

    def used(size: int, dtype: type) -> object:
        """As memory comes that somebody else had before."""
        raw: Any = empty(size, dtype)
        raw.fill(0x5A)
        return raw

    monkeypatch.setattr(np, "empty", used)
    arena, regions = built({"a": 1000, "b": 5000, "c": 16}, undefined)
    data, shadow = np.zeros_like(arena.data.bytes), np.zeros_like(arena.shadow.bytes)
    for region in regions:
        lost = region.name in undefined
        data[region.start : region.end] = 0xA5 if lost else 1
        shadow[region.start : region.end] = 0xFF if lost else 0
        assert arena.has_undefined(region) == lost
    assert np.array_equal(arena.data.bytes, data)
    assert np.array_equal(arena.shadow.bytes, shadow)


@pytest.mark.parametrize("at", [0, 5, 4095, 4096, 9999])
def test_one_undefined_bit_is_found(at: int) -> None:
    arena, (region, other) = built({"a": 10_000, "b": 64}, {"b"})
    arena.shadow.bytes[region.start + at] = 4
    assert arena.has_undefined(region)
    arena.shadow.bytes[region.start + at] = 0
    assert not arena.has_undefined(region)
    assert arena.has_undefined(other)
