"""Transposing reads of CDNA4, stated from the other side: where each element that a lane fetches goes.

Documents say where a lane's element comes from, and so does tests/oracle. Here it is said where it goes, so that the
two can contradict each other; and the addresses of a known GPU test (rocRoller, TransposeLoadsTest) must give every
lane one column, k ascending, in all eight tiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from emulator.lab import outputs
from numpy.typing import NDArray
from scaffold import scaffolded

from layoutprobe.codeobj.model import CodeObject

LANES = 64
READS = {16: "ds_read_b64_tr_b16", 8: "ds_read_b64_tr_b8", 4: "ds_read_b64_tr_b4", 6: "ds_read_b96_tr_b6"}
ROOM = 4096
"""Bytes of LDS."""
every = pytest.mark.parametrize("bits", READS)


def dwords(bits: int) -> int:
    return 3 if bits == 6 else 2


@cache
def reader(bits: int) -> CodeObject:
    """LDS from the first buffer; each lane reads at the address that it finds behind that, and stores what it got."""
    words, first = dwords(bits), 8
    fill = "".join(
        f"""
  global_load_dword v2, v1, s[4:5] offset:{at}
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v2 offset:{at}"""
        for at in range(0, ROOM, 4 * LANES)
    )
    store = "".join(
        f"\n  global_store_dword v1, v{first + at}, s[6:7] offset:{256 * at}" for at in range(words)
    )
    return scaffolded(
        f"""
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v4, {ROOM}, v1
  global_load_dword v3, v4, s[4:5]{fill}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  {READS[bits]} v[{first}:{first + words - 1}], v3
  s_waitcnt lgkmcnt(0){store}""",
        target="gfx950",
        wave_size=64,
        pointers=2,
        vgprs=32,
        lds=ROOM,
    )


def arguments(bits: int, memory: NDArray[np.uint8], address: NDArray[Any]) -> list[NDArray[np.uint32]]:
    given = np.concatenate([memory.view(np.uint32), address.astype(np.uint32)])
    return [given, np.zeros(LANES * dwords(bits), np.uint32)]


def elements(words: NDArray[np.uint32], bits: int) -> NDArray[np.int64]:
    """Elements of each lane, from the lowest bit on: [lane, element]."""
    stream = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little").reshape(
        len(words), -1
    )
    return stream.reshape(len(words), -1, bits).astype(np.int64) @ (1 << np.arange(bits))


def read(bits: int, memory: NDArray[np.uint8], address: NDArray[Any]) -> NDArray[np.int64]:
    """What the lanes got: [lane, element]."""
    out = outputs(reader(bits), arguments(bits, memory, address), block=(LANES,))[1]
    return elements(out.reshape(-1, LANES).T, bits)


def goes_to(lane: int, element: int, bits: int) -> tuple[int, int]:
    """The lane, and its element, that get what a lane fetched. Of 16 lanes a row takes 4 (b16), 2 (b8) or 1."""
    group, inside = lane - lane % 16, lane % 16
    lanes_of_row = {16: 4, 8: 2, 4: 1, 6: 1}[bits]
    each = 16 // lanes_of_row
    return group + inside % lanes_of_row * each + element, inside // lanes_of_row


@every
def test_what_a_lane_fetches_goes_where_the_documents_say(bits: int) -> None:
    random = np.random.default_rng(bits)
    memory = random.integers(0, 256, ROOM, np.uint8)
    unit = 16 if bits == 6 else 8
    address = random.integers(0, (ROOM - 16) // unit, LANES) * unit
    got = read(bits, memory, address)
    size = dwords(bits) * 4
    fetched = elements(memory[address[:, None] + np.arange(size)].copy().view(np.uint32), bits)
    hit = np.zeros(got.shape, np.int64)
    for lane in range(LANES):
        for element in range(fetched.shape[1]):
            to = goes_to(lane, element, bits)
            assert got[to] == fetched[lane, element], (lane, element, to)
            hit[to] += 1
    assert (hit == 1).all()


TILES = [
    (16, 16, 32),
    (16, 32, 16),
    (8, 16, 64),
    (8, 32, 32),
    (4, 16, 128),
    (4, 32, 64),
    (6, 16, 128),
    (6, 32, 64),
]


@pytest.mark.parametrize(("bits", "lines", "depth"), TILES)
def test_addresses_of_a_known_gpu_test_give_columns_of_ascending_k(bits: int, lines: int, depth: int) -> None:
    """`depth` rows of k with `lines` elements each; two reads fetch all. 16 elements of 6 bits take 16 bytes."""
    rows = {16: 4, 8: 8, 4: 16, 6: 16}[bits]  # that 16 lanes fetch
    strip = 16 if bits == 6 else 2 * bits  # bytes of 16 elements
    lane = np.arange(LANES)
    side, group = lane // 16 % (lines // 16), lane // 16 // (lines // 16)
    k, line = np.indices((depth, lines))
    seen = {}
    for name, values in (("k", k), ("line", line)):
        memory = tile(values, bits, strip)
        seen[name] = np.concatenate(
            [
                read(
                    bits,
                    memory,
                    (first + group * rows + lane % 16 * rows // 16) * (lines // 16) * strip
                    + side * strip
                    + lane % 16 % (16 // rows) * 8,
                )
                for first in (0, depth // 2)
            ],
            axis=1,
        )
    mask = (1 << bits) - 1
    assert (seen["line"] == (lane % lines & mask)[:, None]).all(), "a lane has one column"
    ascending = [first + group[:, None] * rows + np.arange(rows) for first in (0, depth // 2)]
    assert (seen["k"] == np.concatenate(ascending, axis=1) & mask).all(), "in each read k ascends by 1"


def tile(values: NDArray[np.int64], bits: int, strip: int) -> NDArray[np.uint8]:
    """A tile in LDS, row under row; every 16 elements begin a strip of so many bytes."""
    fields = (values.reshape(-1, 16)[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    strips = np.zeros((len(fields), strip), np.uint8)
    strips[:, : 2 * bits] = np.packbits(fields.reshape(len(fields), -1), axis=1, bitorder="little")
    memory = np.zeros(ROOM, np.uint8)
    memory[: strips.size] = strips.ravel()
    return memory


def test_a_plain_read_behind_a_transposing_one_has_its_own_address() -> None:
    """The address register changes between two plain reads; a transposing one behind the change prepares nothing."""
    code = scaffolded(
        """
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
  v_add_u32_e32 v2, 1000, v0
  ds_write_b32 v1, v2 offset:256
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v3, 3, v0
  v_and_b32_e32 v3, 0xf8, v3
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v3, 0x100, v3
  ds_read_b64_tr_b16 v[6:7], v3
  ds_read_b32 v8, v3
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v4, s[6:7]
  global_store_dword v1, v8, s[6:7] offset:256""",
        target="gfx950",
        wave_size=64,
        pointers=2,
        vgprs=32,
        lds=ROOM,
    )
    out = outputs(code, [np.zeros(4, np.uint32), np.zeros(2 * LANES, np.uint32)], block=(LANES,))[1]
    first = np.arange(LANES) * 2 % 64
    assert np.array_equal(out[:LANES], first)
    assert np.array_equal(out[LANES:], 1000 + first)
