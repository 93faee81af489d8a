"""Transposing loads of RDNA4, stated from the other side: where each element that a lane fetches goes.

Documents (IREE, rocjitsu) say where a lane's element comes from. Here it is said where it goes; and with the
addresses of a tile of 16 x 16 that lies by rows, lanes must hold the columns that AMD's calculator wants.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from emulator.lab import fault, launch, outputs
from numpy.typing import NDArray
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.store import load_instructions

LOADS = {16: "global_load_tr_b128", 8: "global_load_tr_b64"}
ROOM = 4096
"""Bytes of the buffer, less the addresses behind them."""
FIRST = 9
"""An odd register: no rule of RDNA4 forbids one."""
Elements = NDArray[np.int64]
every = pytest.mark.parametrize(("bits", "lanes"), [(16, 32), (16, 64), (8, 32), (8, 64)])


def words_of(bits: int, lanes: int) -> int:
    """Registers that a lane gets: half as many in waves of 64, of which half the lanes fetch."""
    return {16: 4, 8: 2}[bits] * 32 // lanes


def text(bits: int, lanes: int, *, saddr: bool = False, offset: int = 0, before: str = "") -> str:
    words = words_of(bits, lanes)
    target = f"v[{FIRST}:{FIRST + words - 1}]" if words > 1 else f"v{FIRST}"
    source = "v3, s[4:5]" if saddr else "v[3:4], off"
    wide = "" if saddr else "v_add_co_u32 v3, vcc_lo, s4, v3\n v_add_co_ci_u32 v4, vcc_lo, s5, v4, vcc_lo"
    if lanes == 64:
        wide = wide.replace("vcc_lo", "vcc")
    store = "".join(
        f"\n  global_store_b32 v1, v{FIRST + at}, s[6:7] offset:{4 * lanes * at}" for at in range(words)
    )
    return f"""
  v_lshlrev_b32_e32 v1, 2, v0
  global_load_b32 v3, v1, s[4:5] offset:{ROOM}
  v_mov_b32 v4, 0
  s_wait_loadcnt 0x0
  {wide}
  {before}
  {LOADS[bits]} {target}, {source} offset:{offset}
  s_mov_b64 exec, -1
  s_wait_loadcnt 0x0{store}"""


@cache
def reader(bits: int, lanes: int, *, saddr: bool = False, offset: int = 0, before: str = "") -> CodeObject:
    """Each lane loads from the byte whose number it finds behind the data, and stores what it got."""
    body = text(bits, lanes, saddr=saddr, offset=offset, before=before)
    return scaffolded(body, target="gfx1200", wave_size=lanes, pointers=2)


def given(memory: NDArray[np.uint8], address: Elements, bits: int) -> list[NDArray[np.uint32]]:
    lanes = len(address)
    return [
        np.concatenate([memory.view(np.uint32), address.astype(np.uint32)]),
        np.zeros(lanes * words_of(bits, lanes), np.uint32),
    ]


def elements(words: NDArray[np.uint32], bits: int) -> Elements:
    """[lane, element], from the lowest bit on."""
    kind = {16: np.uint16, 8: np.uint8}[bits]
    return np.ascontiguousarray(words).view(kind).astype(np.int64)


def read(bits: int, memory: NDArray[np.uint8], address: Elements, **form: object) -> Elements:
    """What the lanes got: [lane, element]."""
    lanes = len(address)
    code = reader(bits, lanes, **form)
    return elements(outputs(code, given(memory, address, bits), block=(lanes,))[1].reshape(-1, lanes).T, bits)


def goes_to(lane: int, element: int, lanes: int) -> tuple[int, int]:
    """The lane, and its element, that get what a lane fetched. Of 8 lanes each fetches a row; the columns' upper
    halves go to lanes 32-63 where there are such."""
    column, row = lane - lane % 8 + element, lane % 8
    return (column + 32, row - 4) if lanes == 64 and row >= 4 else (column, row)


@every
@pytest.mark.parametrize("form", [{}, {"saddr": True}, {"offset": 48}])
def test_what_a_lane_fetches_goes_where_the_documents_say(
    bits: int, lanes: int, form: dict[str, object]
) -> None:
    random = np.random.default_rng(bits + lanes)
    memory = random.integers(0, 256, ROOM, np.uint8)
    address = random.integers(0, ROOM // bits - 4, lanes) * bits
    got = read(bits, memory, address, **form)
    start = address + (48 if "offset" in form else 0)
    fetched = elements(memory[start[:, None] + np.arange(bits)].view(np.uint32), bits)
    hit = np.zeros(got.shape, np.int64)
    for lane in range(32):
        for element in range(8):
            to = goes_to(lane, element, lanes)
            assert got[to] == fetched[lane, element], (lane, element, to)
            hit[to] += 1
    assert (hit == 1).all()


def wanted_k(bits: int, lanes: int) -> Elements:
    """k of a lane's elements: AMD's matrix instruction calculator 1.3.2, rdna4, v_wmma_f32_16x16x16_f16 and _fp8."""
    group, e = np.indices((lanes // 16, 8 * 32 // lanes))
    k = {
        (16, 32): 8 * (e // 4) + 4 * group + e % 4,
        (16, 64): 8 * (group // 2) + 4 * (group % 2) + e,
        (8, 32): 8 * group + e,
        (8, 64): 8 * (group % 2) + 4 * (group // 2) + e,
    }[bits, lanes]
    return np.repeat(k, 16, axis=0)


@every
def test_a_tile_by_rows_gives_the_operand_of_amds_calculator(bits: int, lanes: int) -> None:
    """One and the same addresses in waves of 32 and of 64: they name k as lanes of a wave of 32 need it."""
    size = bits // 8
    lane = np.arange(lanes)
    k = wanted_k(bits, 32)[lane % 32, lane % 8]
    address = 16 * size * k + 8 * size * (lane // 8 % 2)
    row, col = np.indices((16, 16))
    for values, expected in ((row, wanted_k(bits, lanes)), (col, (lane % 16)[:, None])):
        memory = np.zeros(ROOM, np.uint8)
        tile = values.astype({16: np.uint16, 8: np.uint8}[bits])
        memory[: tile.nbytes] = tile.view(np.uint8).ravel()
        assert (read(bits, memory, address) == expected).all()


def instruction(code: CodeObject) -> Inst:
    (found,) = (inst for inst in load_instructions(code, code.kernel(None)).values() if "_tr_" in inst.name)
    return found


@every
def test_a_lane_gets_as_many_registers_as_the_assembler_writes(bits: int, lanes: int) -> None:
    found = instruction(reader(bits, lanes))
    assert (found.dst[0].regs, found.dst[0].bits) == (words_of(bits, lanes), 32 * words_of(bits, lanes))


@pytest.mark.parametrize("lanes", [32, 64])
def test_what_such_a_load_needs(lanes: int) -> None:
    memory, address = np.zeros(ROOM, np.uint8), np.arange(lanes) * 16
    off = "s_mov_b32 exec_lo, 0x7fffffff" if lanes == 32 else "s_mov_b32 exec_hi, 0x7fffffff"
    error = fault(
        lambda: launch(
            reader(16, lanes, before=off), list(map(Buffer, given(memory, address, 16))), block=(lanes,)
        ),
        "while lanes are off",
    )
    assert (error.kind, error.place.lane) == ("transpose-exec-global", lanes - 1)
    crooked = address + 8 * (np.arange(lanes) == 21)
    error = fault(
        lambda: launch(reader(16, lanes), list(map(Buffer, given(memory, crooked, 16))), block=(lanes,)),
        "misaligned transposing read of 16 bytes",
    )
    assert (error.kind, error.place.lane) == ("alignment", 21)
    assert read(8, memory, crooked).shape == (lanes, 8 * 32 // lanes)  # 8 bytes are enough for that one
    wild = address + 0x100000 * (np.arange(lanes) == 30)
    error = fault(
        lambda: launch(reader(16, lanes), list(map(Buffer, given(memory, wild, 16))), block=(lanes,)),
        "outside",
    )
    assert (error.kind, error.place.lane) == ("global-load", 30)


def test_the_upper_half_of_a_wave_of_64_names_nothing() -> None:
    random = np.random.default_rng(3)
    memory, address = random.integers(0, 256, ROOM, np.uint8), np.arange(64) * 16
    wild = np.where(np.arange(64) < 32, address, 0x7FFF0001)
    assert np.array_equal(read(16, memory, address), read(16, memory, wild))


@every
def test_undefined_bits_go_where_the_data_goes(bits: int, lanes: int) -> None:
    """What a lane fetches of a buffer that was never written is undefined where it arrives."""
    address = np.arange(lanes) * bits % 512
    buffers = list(map(Buffer, given(np.zeros(ROOM, np.uint8), address, bits)))
    body = text(bits, lanes).replace(
        f"{LOADS[bits]} ",
        f"v_cmp_eq_u32 vcc{'_lo' if lanes == 32 else ''}, 5, v0\n {{swap}}\n {LOADS[bits]} ",
    )
    pick = "v_cndmask_b32 v{0}, v{0}, v{1}, vcc" + ("_lo" if lanes == 32 else "")
    swap = "\n ".join(["v_mov_b32 v20, s8", "v_mov_b32 v21, s9", pick.format(3, 20), pick.format(4, 21)])
    code = scaffolded(body.format(swap=swap), target="gfx1200", wave_size=lanes, pointers=3)
    never = Buffer(np.zeros(64, np.uint32), undefined=True)
    undefined = launch(code, [*buffers, never], block=(lanes,)).undefined[1]
    assert undefined is not None
    seen = elements(undefined.reshape(-1, lanes).T, bits)
    expected = np.zeros(seen.shape, np.int64)
    for element in range(8):
        expected[goes_to(5, element, lanes)] = (1 << bits) - 1
    assert np.array_equal(seen, expected)
