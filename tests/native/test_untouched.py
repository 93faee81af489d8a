"""Registers that nobody has written: C keeps no memory for them, and they look as numpy's engine has them."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, assembled, fresh, words

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.codeobj.model import CodeObject
from native.test_kernels import compare, native

MASKS = (0xFF, 0xFF00, 0, 0xFFFFFFFF, 0x0F0F0F0F)
"""Lanes that write, launch by launch: a register's shadow must not show what a launch before has left."""
BODIES = {
    "some lanes": "PART\n v_mov_b32 v2, v0\n ALL",
    "some lanes twice": "PART\n v_mov_b32 v2, v0\n ALL\n s_mov_b32 exec_lo, 0xf0\n v_mov_b32 v2, v1\n ALL",
    "some lanes of a whole one": "v_mov_b32 v2, v0\n PART\n v_mov_b32 v2, v12\n ALL",
    "two at once": "PART\n v_dual_mov_b32 v2, v0 :: v_dual_mov_b32 v3, v1\n ALL\n v_mov_b32 v2, v3",
    "a load": "PART\n global_load_b32 v2, v1, s[6:7]\n s_waitcnt vmcnt(0)\n ALL",
    "four registers": "v_lshlrev_b32 v9, 2, v1\n PART\n global_load_b128 v[2:5], v9, s[6:7]\n"
    " s_waitcnt vmcnt(0)\n ALL\n v_mov_b32 v2, v5",
    "a half": "PART\n global_load_d16_b16 v2, v1, s[6:7]\n s_waitcnt vmcnt(0)\n ALL",
    "the other half": "global_load_d16_hi_b16 v2, v1, s[6:7]\n s_waitcnt vmcnt(0)",
    "a lane": "v_writelane_b32 v2, s2, 5\n v_readlane_b32 s9, v2, 5\n v_add_nc_u32 v3, s9, v0",
    "a lane of none": "v_readlane_b32 s9, v12, 5\n v_mov_b32 v2, s9",
    "the first lane": "v_readfirstlane_b32 s9, v12\n v_mov_b32 v2, s9",
    "never": "v_mov_b32 v2, v12",
    "an address": "v_mov_b32 v2, v0\n global_load_b32 v2, v12, s[6:7]",
}


def code_of(body: str) -> CodeObject:
    """A wave that stores v2; PART leaves the lanes of the mask, which is the first word of the second buffer."""
    part = "s_mov_b32 exec_lo, s12"
    start = "s_load_b32 s12, s[6:7], 0x0\n s_waitcnt lgkmcnt(0)\n"
    text = body.replace("PART", part).replace("ALL", "s_mov_b32 exec_lo, -1")
    return assembled(f"{start} {text}\n global_store_b32 v1, v2, s[4:5]")


@pytest.mark.every_case
@pytest.mark.parametrize("name", BODIES)
def test_what_nobody_wrote(name: str) -> None:
    code = code_of(BODIES[name])
    faults = []
    for seed, mask in enumerate(MASKS):
        data = words(seed, 4 * LANES + 4)
        data[0] = mask
        faults.append(compare(Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES), Buffer(data)])))
    assert native(code, "k")
    assert all(bool(fault) == (name == "an address") for fault in faults), faults


def test_the_masks_make_a_difference() -> None:
    """The launches of a body do not all store the same: else what one has left would not show in the next."""
    assert len({int(np.uint32(mask)) & 0xFF for mask in MASKS}) > 2
