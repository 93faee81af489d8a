"""What CDNA does with LDS and lanes beyond AMD's pseudocode, against its rules stated the other way round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import semantics
from layoutprobe.arch.lds import LdsRead
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, M0, Inst
from layoutprobe.isa.transposing import by_columns
from layoutprobe.machine.machine import Machine
from layoutprobe.semantics import transposing
from oracle.encode import encodings
from oracle.forms import generator
from oracle.harness import Image, MismatchError, Outcome, buffer_address, execute
from oracle.language import speaking
from oracle.languages import CDNA4
from oracle.memory_forms import random_machine
from oracle.pcode import evaluate_wave
from oracle.reference import check_unchanged

ADDRESS, TARGET = 2, 12
TRANSPOSING = {
    "ds_read_b64_tr_b16": 16,
    "ds_read_b64_tr_b8": 8,
    "ds_read_b64_tr_b4": 4,
    "ds_read_b96_tr_b6": 6,
}
"""Mnemonic -> bits of an element."""


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    with speaking(CDNA4):
        yield


# Transposing reads. Where element n of lane l comes from, as two documents have it.


def source_of(bits: int, lane: int, n: int) -> tuple[int, int]:
    """The lane that fetched element n of a lane, and its place in what that lane fetched."""
    base = lane & ~15
    match bits:
        case 16:
            return base + 4 * n + (lane >> 2 & 3), lane & 3
        case 8:
            return base + 2 * n + (lane >> 3 & 1), lane & 7
    return base + n, lane & 15


def bytes_of(name: str) -> int:
    """Bytes that a lane fetches."""
    return 12 if "b96" in name else 8


def stride_of(name: str) -> int:
    """What addresses are multiples of."""
    return 16 if "b96" in name else 8


def transposed(name: str, fetched: list[int], lane: int) -> int:
    """What a lane gets of what all lanes fetched."""
    bits, value = TRANSPOSING[name], 0
    for n in range(8 * bytes_of(name) // bits):
        source, place = source_of(bits, lane, n)
        value |= (fetched[source] >> place * bits & (1 << bits) - 1) << n * bits
    return value


def read_of(name: str, **fields: int) -> Inst:
    return encodings(name)["DS"].inst(**{"addr": ADDRESS, "vdst": TARGET} | fields)


def start(name: str, salt: int = 0) -> tuple[Image, Machine]:
    """Random registers and memory, addresses as the instruction wants them, all lanes on."""
    rng = generator(name, salt)
    machine, image = random_machine(rng), Image.random(rng, 2)
    image.v[ADDRESS] = rng.integers(0, 500, image.v.shape[1:]) * stride_of(name)
    image.activate(0xFFFFFFFF)
    return image, machine


def check_transposed(inst: Inst, image: Image, machine: Machine, outcome: Outcome) -> None:
    lds, expected = machine.lds.data.bytes, image.copy()
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    for wave in range(image.waves):
        at = [int(a) + offset for a in image.v[ADDRESS, wave]]
        fetched = [int.from_bytes(lds[a : a + bytes_of(inst.name)].tobytes(), "little") for a in at]
        for lane in range(image.lanes):
            value = transposed(inst.name, fetched, lane)
            for j in range(inst.dst[0].regs):
                expected.v[TARGET + j, wave, lane] = value >> 32 * j & 0xFFFFFFFF
    check_unchanged(inst, expected, outcome.image)


@pytest.mark.parametrize("name", TRANSPOSING)
@pytest.mark.parametrize("offset", [0, 16, 0x1230])
def test_transposing_reads(name: str, offset: int) -> None:
    image, machine = start(name, offset)
    inst = read_of(name, offset0=offset & 255, offset1=offset >> 8)
    check_transposed(inst, image, machine, execute(inst, image, machine=machine))


@pytest.mark.parametrize("name", TRANSPOSING)
def test_a_tile_comes_out_by_columns(name: str) -> None:
    """The address pattern of rocRoller's GPU tests: lane 16x + y reads payload 32x + y, then the one 16 further."""
    bits = TRANSPOSING[name]
    rows = 8 * bytes_of(name) // bits  # of 16 columns, in 16 payloads
    image, machine = start(name)
    tile = generator(name).integers(0, 1 << bits, (8 * rows, 16)).astype(np.uint64)
    _store_tile(machine, tile, bits, stride_of(name), bytes_of(name))
    lane = np.arange(64)
    image.v[ADDRESS] = (32 * (lane // 16) + lane % 16) * stride_of(name)
    for turn in (0, 1):
        seen = execute(read_of(name, offset0=turn * 16 * stride_of(name) & 255,
                               offset1=turn * 16 * stride_of(name) >> 8), image, machine=machine)  # fmt: skip
        for at in range(64):
            value = seen.image.wide(TARGET, 0, at, bytes_of(name) // 4)
            first = rows * (2 * (at // 16) + turn)
            column = [value >> n * bits & (1 << bits) - 1 for n in range(rows)]
            assert column == tile[first : first + rows, at % 16].tolist()


def _store_tile(machine: Machine, tile: NDArray[np.uint64], bits: int, stride: int, size: int) -> None:
    """Payloads of some bytes each, one every `stride` bytes, that hold the tile row by row."""
    whole = sum(int(value) << i * bits for i, value in enumerate(tile.ravel()))
    data = np.frombuffer(whole.to_bytes(tile.size * bits // 8, "little"), np.uint8).reshape(-1, size)
    for i, payload in enumerate(data):
        machine.lds.data.bytes[i * stride : i * stride + size] = payload


@pytest.mark.parametrize("name", TRANSPOSING)
def test_undefined_bits_go_where_the_data_goes(name: str) -> None:
    image, machine = start(name)
    machine.lds.tracked = True
    machine.lds.shadow.bytes[:] = generator(name, 1).integers(0, 256, machine.lds.shadow.bytes.size)
    one = execute(read_of(name), image, machine=machine)
    machine.lds.data.bytes[:] ^= machine.lds.shadow.bytes
    two = execute(read_of(name), image, machine=machine)
    assert np.array_equal(one.image.v ^ two.image.v, one.shadow.v)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ds_read_b64_tr_b16", 8),
        ("ds_read_b64_tr_b8", 16),
        ("ds_read_b64_tr_b4", 8),
        ("ds_read_b96_tr_b6", 12),
    ],
)
def test_elements_of_another_width_are_caught(name: str, wrong: int) -> None:
    image, machine = start(name)
    inst = read_of(name)
    executor = transposing._bind(inst, by_columns(LdsRead(name, bytes_of(name), wrong), 64))
    with pytest.raises(MismatchError):
        check_transposed(inst, image, machine, execute(inst, image, machine=machine, executor=executor))


def test_no_exchange_at_all_is_caught() -> None:
    inst = read_of("ds_read_b64_tr_b16")
    image, machine = start(inst.name)
    plain = semantics.bind(replace(inst, name="ds_read_b64"))
    with pytest.raises(MismatchError):
        check_transposed(inst, image, machine, execute(inst, image, machine=machine, executor=plain))


@pytest.mark.parametrize("name", TRANSPOSING)
def test_what_a_transposing_read_needs(name: str) -> None:
    image, machine = start(name)
    image.s[EXEC_LO] = 0xFFFFFFFE
    with pytest.raises(ExecutionError, match="while lanes are off"):
        execute(read_of(name), image, machine=machine)
    image.activate(0xFFFFFFFF)
    image.v[ADDRESS, 1, 40] += stride_of(name) // 2
    with pytest.raises(ExecutionError, match="misaligned transposing read") as caught:
        execute(read_of(name), image, machine=machine)
    assert caught.value.place.lane == 40
    image.v[ADDRESS, 1, 40] -= stride_of(name) // 2
    odd = read_of(name, vdst=TARGET + 1)
    if name == "ds_read_b96_tr_b6":
        execute(odd, image, machine=machine)
    else:
        with pytest.raises(ExecutionError, match="from v13 on, an odd one") as caught:
            execute(odd, image, machine=machine)
        assert caught.value.kind == "transpose-register"


# From global memory to LDS, and past the registers.

DIRECT = {"ubyte": 1, "sbyte": 1, "ushort": 2, "sshort": 2, "dword": 4, "dwordx3": 12, "dwordx4": 16}


def direct_of(space: str, suffix: str, offset: int) -> Inst:
    if space == "global":
        fields = {"addr": ADDRESS, "saddr": 127, "offset": offset & 0x1FFF}
        return encodings(f"global_load_lds_{suffix}")["GLOBAL"].inst(**fields)
    fields = {"vaddr": ADDRESS, "srsrc": 2, "soffset": 128, "offset": offset, "offen": 1, "lds": 1}
    return encodings(f"buffer_load_{suffix}")["MUBUF"].inst(**fields)


def start_direct(space: str, suffix: str, offset: int, m0: int, room: int = 8192) -> tuple[Image, Machine]:
    rng = generator(f"{space}{suffix}", offset)
    machine, image = random_machine(rng), Image.random(rng, 2)
    at = rng.integers(0, 4000, image.v.shape[1:]).astype(np.uint64)
    base = buffer_address(machine)
    image.s[8], image.s[9], image.s[10], image.s[11] = base & 0xFFFFFFFF, base >> 32, room, 0
    pointers = at if space == "buffer" else at + np.uint64(base - offset)
    image.v[ADDRESS], image.v[ADDRESS + 1] = pointers & np.uint64(0xFFFFFFFF), pointers >> np.uint64(32)
    image.s[M0] = m0
    image.activate([0xFFFFFFFF, 0x00FF7F01])
    return image, machine


def check_direct(inst: Inst, suffix: str, image: Image, machine: Machine, before: NDArray[np.uint8]) -> None:
    """LDS, byte by byte: where lane l writes is told by its number alone."""
    expected, size, offset = before.copy(), DIRECT[suffix], inst.mods.get("offset", 0)
    memory, arena = machine.arena.data.bytes, machine.arena.regions[0].start
    kept = 0x3FFFF if inst.encoding == "MUBUF" else 0x3FFFC
    for wave, lane in np.argwhere(image.active()).tolist():
        pointer = image.wide(ADDRESS, wave, lane, 1 if inst.encoding == "MUBUF" else 2)
        at = offset + (pointer if inst.encoding == "MUBUF" else pointer - buffer_address(machine))
        data = memory[arena + at : arena + at + size].tobytes()
        if inst.encoding == "MUBUF" and at + size > int(image.s[10, wave]):
            data = bytes(size)
        filler = b"\xff" if suffix.startswith("s") and data[-1] >= 128 else b"\0"
        word = data + filler * (max(4, size) - size)
        to = (int(image.s[M0, wave]) & kept) + offset + lane * len(word)
        expected[to : to + len(word)] = np.frombuffer(word, np.uint8)
    assert np.array_equal(machine.lds.data.bytes, expected)


@pytest.mark.parametrize("space", ["global", "buffer"])
@pytest.mark.parametrize("suffix", DIRECT)
@pytest.mark.parametrize(("offset", "m0"), [(0, 0), (64, 1024), (0, 0xFFFC0400 & 0xFFFFFFFF), (16, 4099)])
def test_loads_to_lds(space: str, suffix: str, offset: int, m0: int) -> None:
    inst = direct_of(space, suffix, offset)
    image, machine = start_direct(space, suffix, offset, m0)
    before = machine.lds.data.bytes.copy()
    outcome = execute(inst, image, machine=machine)
    check_unchanged(inst, image, outcome.image)  # no register is written
    check_direct(inst, suffix, image, machine, before)


def test_lanes_beyond_a_buffer_bring_zeros_to_lds() -> None:
    inst = direct_of("buffer", "dword", 0)
    image, machine = start_direct("buffer", "dword", 0, 256, room=2000)
    before = machine.lds.data.bytes.copy()
    execute(inst, image, machine=machine)
    check_direct(inst, "dword", image, machine, before)
    image.s[10] = 0
    execute(inst, image, machine=machine)
    check_direct(inst, "dword", image, machine, before)


@pytest.mark.parametrize("change", ["offset for one address only", "lanes apart by 16", "no M0"])
def test_a_wrong_place_in_lds_is_caught(change: str) -> None:
    inst = direct_of("global", "dword", 64)
    image, machine = start_direct("global", "dword", 64, 1024)
    before = machine.lds.data.bytes.copy()
    wrong, other = inst, image.copy()
    if change == "no M0":
        other.s[M0] = 0
    elif change == "lanes apart by 16":
        wrong = replace(inst, name="global_load_lds_dwordx4")
    else:
        other.v[ADDRESS] += np.uint32(64)
        wrong = replace(inst, mods={})
    execute(wrong, other, machine=machine)
    with pytest.raises(AssertionError):
        check_direct(inst, "dword", image, machine, before)


def test_what_is_undefined_in_global_memory_is_undefined_in_lds() -> None:
    inst = direct_of("global", "dword", 0)
    image, machine = start_direct("global", "dword", 0, 0)
    machine.arena.tracked = True
    machine.arena.shadow.bytes[machine.arena.regions[0].start :] = 0x55
    machine.lds.shadow.bytes[:] = 0
    execute(inst, image, machine=machine)
    written = np.flatnonzero(machine.lds.shadow.bytes)
    assert set(machine.lds.shadow.bytes[written].tolist()) == {0x55}
    assert written.size == 4 * 64  # both waves write the same place


# Lanes change places.


@pytest.mark.parametrize("name", ["v_permlane16_swap_b32", "v_permlane32_swap_b32"])
def test_swaps_of_rows(name: str) -> None:
    image = Image.random(generator(name), 2)
    image.activate(0xFFFFFFFF)
    inst = encodings(name)["VOP1"].inst(src0=256 + 2, vdst=4)
    seen = execute(inst, image).image
    expected = image.v.copy()
    for wave in range(image.waves):
        columns = {r: [int(x) for x in image.v[r, wave]] for r in (2, 4)}
        for (lane, register), bits in evaluate_wave(
            name, vgpr=columns, s0=2, src0=2, vdst=4
        ).vgpr_writes.items():
            expected[register, wave, lane] = bits
    assert not np.array_equal(expected, image.v)
    assert np.array_equal(seen.v, expected)


@pytest.mark.parametrize(("name", "apart"), [("v_permlane16_swap_b32", 16), ("v_permlane32_swap_b32", 32)])
def test_swaps_leave_pairs_that_are_off_and_refuse_half_ones(name: str, apart: int) -> None:
    image = Image.random(generator(name), 1)
    image.activate(0)
    image.s[EXEC_LO, 0] = 5 | (5 << 16 if apart == 16 else 0)
    image.s[EXEC_LO + 1, 0] = 5 if apart == 32 else 0
    inst = encodings(name)["VOP1"].inst(src0=256 + 2, vdst=4)
    seen = execute(inst, image).image
    changed = np.flatnonzero((seen.v != image.v).any(axis=(0, 1)))
    assert changed.tolist() == [0, 2, apart, apart + 2]
    image.s[EXEC_LO, 0] |= 2
    with pytest.raises(ExecutionError, match="lanes that are off"):
        execute(inst, image)
