"""Scalar loads that compilers widen: what lies behind the buffer is undefined, and no fault."""

from __future__ import annotations

import pytest
from emulator.lab import assembled, fault, fresh, launch, undefined, words


def widened(width: int, offset: int, size: int) -> tuple[list[int], list[int]]:
    """A scalar load of dwords at a byte of a buffer of `size` bytes: what it gave, and which bits are undefined."""
    store = "".join(
        f"v_mov_b32 v2, s{16 + j}\nglobal_store_b32 v1, v2, s[4:5] offset:{4 * j}\n" for j in range(width)
    )
    body = f"""
      s_load_b{32 * width} s[16:{15 + width}], s[6:7], {offset}
      s_waitcnt lgkmcnt(0)
      v_mov_b32 v1, 0
      {store}
    """
    code = assembled(body, pointers=2)
    result = launch(code, [fresh(width), words(5, size // 4)])
    stored = result.buffers[0]
    assert stored is not None
    return stored.tolist(), undefined(result).tolist()


@pytest.mark.parametrize(("width", "bytes_"), [(4, 12), (8, 28), (8, 4), (16, 36)])
def test_a_scalar_load_widened_within_its_alignment_reads_undefined_bits_behind_the_buffer(
    width: int, bytes_: int
) -> None:
    """Clang asks for s_load_b128 where three dwords are wanted; a card never faults within one page."""
    values, bits = widened(width, 0, bytes_)
    there = bytes_ // 4
    assert values[:there] == words(5, there).tolist()
    assert bits == [0] * there + [0xFFFF_FFFF] * (width - there)


@pytest.mark.parametrize(("width", "offset", "bytes_"), [(4, 8, 12), (8, 16, 28), (4, 16, 16), (2, -4, 16)])
def test_a_scalar_load_that_leaves_its_alignment_or_begins_outside_is_a_fault(
    width: int, offset: int, bytes_: int
) -> None:
    fault(lambda: widened(width, offset, bytes_), "outside every allocation")
