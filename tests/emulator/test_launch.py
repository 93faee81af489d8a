"""From a launch to waves: ids, extents, arguments, memory, many workgroups."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from emulator.lab import EVERYWHERE, LANES, assembled, compiled, fresh, launch, outputs, words

from layoutprobe.codeobj.kernarg import pack_kernarg
from layoutprobe.errors import ExecutionError, UsageError


@EVERYWHERE
@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((1,), (32,)),
        ((3,), (64,)),
        ((2, 3), (8, 4)),
        ((2, 2, 3), (4, 2, 4)),
        ((1, 2), (5, 7)),  # the last wave is partial
        ((2, 1, 2), (3, 5, 3)),
        ((1,), (1,)),
        ((1,), (1000,)),
        ((1, 1, 2), (1, 1, 33)),
    ],
)
def test_every_work_item_knows_its_place(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    gx, gy, gz = (*grid, 1, 1)[:3]
    bx, by, bz = (*block, 1, 1)[:3]
    items = gx * gy * gz * bx * by * bz
    got = outputs(compiled("launch"), [fresh((items, 6))], kernel="ids", grid=grid, block=block)[0]
    wanted = [
        (x, y, z, i, j, k)
        for k in range(gz)
        for j in range(gy)
        for i in range(gx)
        for z in range(bz)
        for y in range(by)
        for x in range(bx)
    ]
    assert got.tolist() == [list(row) for row in wanted]


@EVERYWHERE
@pytest.mark.parametrize(
    ("grid", "block", "dimensions"),
    [((5,), (64,), 1), ((5, 4), (16, 8), 2), ((3, 4, 5), (4, 4, 2), 3), ((3, 1, 2), (32,), 3)],
)
def test_hidden_arguments_tell_the_extents(
    grid: tuple[int, ...], block: tuple[int, ...], dimensions: int
) -> None:
    code = compiled("launch")
    got = outputs(code, [fresh(7)], kernel="extents", grid=grid, block=block)[0]
    assert got.tolist() == [*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3], dimensions]


@pytest.mark.parametrize(("kernel", "grid"), [("only_y", (1, 3, 1)), ("only_z", (1, 1, 3))])
def test_workgroup_ids_go_where_the_descriptor_says(kernel: str, grid: tuple[int, int, int]) -> None:
    """A kernel that uses only one id gets it in another register than one that uses all three."""
    got = outputs(compiled("launch"), [fresh((3, 32))], kernel=kernel, grid=grid)[0]
    assert np.array_equal(got, np.arange(3)[:, None] * 1000 + np.arange(32))
    registers = {compiled("launch").kernels[k].descriptor.rsrc2 >> 7 & 7 for k in ("only_y", "only_z", "ids")}
    assert len(registers) > 1


@pytest.mark.parametrize("user", [2, 6, 13])
def test_the_first_workgroup_id_follows_the_user_sgprs(user: int) -> None:
    """gfx1151 has 2 user SGPRs where gfx1100 has 13: the descriptor tells, no constant does."""
    code = assembled(
        f"v_mov_b32 v2, s{user}\n global_store_b32 v1, v2, s[30:31]",
        pointers=0,
        user_sgprs=user,
        prologue=f"s_load_b64 s[30:31], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n v_lshlrev_b32 v1, 2, v0\n"
        f"s_lshl_b32 s29, s{user}, 7\n v_add_nc_u32 v1, s29, v1",
        arguments=1,
    )
    got = outputs(code, [fresh((4, LANES))], grid=(4,))[0]
    assert np.array_equal(got, np.repeat(np.arange(4)[:, None], LANES, axis=1))


@EVERYWHERE
def test_scalar_arguments_of_every_size() -> None:
    values = [
        np.uint8(200),
        np.int16(-3),
        np.int32(-70000),
        np.float32(1.5),
        np.float64(-2.25),
        np.uint64(1 << 40 | 7),
    ]
    got = outputs(compiled("launch"), [fresh((7, LANES)), *values], kernel="scalars")[0]
    assert np.array_equal(got[0], 200 + np.arange(LANES))
    constants = [-3 & 0xFFFFFFFF, -70000 & 0xFFFFFFFF, 0x3FC00000, 0xC0020000, 1 << 8, 7]
    assert got[1:, 0].tolist() == constants
    assert (got[1:] == got[1:, :1]).all()


@EVERYWHERE
def test_a_struct_by_value() -> None:
    raw = np.frombuffer(struct.pack("<i3f", -5, 0.5, 2.0, -8.0), np.dtype("V16"))[0]
    got = outputs(compiled("launch"), [fresh((2, LANES)), raw, np.int32(3)], kernel="by_value")[0]
    assert (got[0].view(np.int32) == -15).all()
    assert np.array_equal(got[1].view(np.float32), np.resize([0.5, 2.0, -8.0], LANES).astype(np.float32))


@EVERYWHERE
@pytest.mark.parametrize("items", [32, 48, 256])
def test_dynamic_lds_is_as_large_as_the_launch_says(items: int) -> None:
    code = compiled("launch")
    args = [fresh(items), np.int32(items)]
    got = outputs(code, args, kernel="dynamic_lds", block=(items,), dynamic_lds=4 * items)[0]
    assert np.array_equal(got, 3 * np.arange(items)[::-1])
    with pytest.raises(ExecutionError, match="LDS access of 4 bytes beyond the allocation"):
        launch(code, args, kernel="dynamic_lds", block=(items,), dynamic_lds=4 * items - 4)


def test_more_lds_than_there_is_is_refused() -> None:
    with pytest.raises(UsageError, match="bytes of LDS") as caught:
        launch(compiled("launch"), [fresh(32), np.int32(32)], kernel="dynamic_lds", dynamic_lds=65537)
    assert caught.value.expected == "at most 65536"


@EVERYWHERE
def test_constants_are_found_relative_to_the_code() -> None:
    table = [
        3,
        1,
        4,
        1,
        5,
        9,
        2,
        6,
        5,
        3,
        5,
        8,
        9,
        7,
        9,
        3,
        2,
        3,
        8,
        4,
        6,
        2,
        6,
        4,
        3,
        3,
        8,
        3,
        2,
        7,
        9,
        5,
        0,
        2,
        8,
        8,
        4,
        1,
        9,
        7,
    ]
    index = words(1, LANES) >> 8
    got = outputs(compiled("launch"), [index, fresh(LANES)], kernel="constants")[1]
    assert got.tolist() == [table[i % 40] for i in index]


@EVERYWHERE
def test_a_table_of_addresses_is_relocated() -> None:
    code = compiled("launch")
    assert code.relocations
    index = words(2, LANES)
    got = outputs(code, [index, fresh(LANES)], kernel="relocated")[1]
    rows = [[22, 24, 26, 28], [11, 13, 17, 19]]
    assert got.tolist() == [rows[i & 1][i >> 1 & 3] for i in index.tolist()]


@EVERYWHERE
def test_static_device_memory_starts_at_zero_in_every_launch() -> None:
    data = words(3, LANES)
    for _ in range(2):
        got = outputs(compiled("launch"), [data, fresh((2, LANES))], kernel="device_array")[1]
        assert not got[0].any()
        assert np.array_equal(got[1], data + 1)


@EVERYWHERE
@pytest.mark.parametrize(("count", "block"), [(40_000, 64), (33_000, 32), (5_000, 1000), (65, 64)])
def test_many_workgroups(count: int, block: int) -> None:
    """More waves than run together (512), and work-items beyond the end."""
    groups = -(-count // block)
    got = outputs(
        compiled("launch"), [fresh(count), np.int32(count)], kernel="many", grid=(groups,), block=(block,)
    )[0]
    assert np.array_equal(got, np.arange(count, dtype=np.uint64) * 2654435761 & 0xFFFFFFFF)


@EVERYWHERE
def test_workgroups_have_lds_of_their_own() -> None:
    data = words(4, 300, 96)
    got = outputs(compiled("launch"), [data, fresh((300, 96))], kernel="reversed", grid=(300,), block=(96,))[
        1
    ]
    assert np.array_equal(got, data[:, ::-1])


def test_lds_does_not_live_on_from_one_batch_to_the_next() -> None:
    """512 waves run together; workgroup 600 must not see what workgroup 0 left."""
    body = """
      s_cmp_lt_u32 s2, 512
      s_cbranch_scc0 .Lread
      ds_store_b32 v1, v0
      s_waitcnt lgkmcnt(0)
    .Lread:
      ds_load_b32 v2, v1
      s_lshl_b32 s3, s2, 7
      v_add_nc_u32 v3, s3, v1
      s_waitcnt lgkmcnt(0)
      global_store_b32 v3, v2, s[4:5]
    """
    result = launch(assembled(body, pointers=1, lds=128), [fresh((600, LANES))], grid=(600,))
    bits = result.undefined[0]
    assert bits is not None
    assert not bits[:512].any()
    assert (bits[512:] == 0xFFFFFFFF).all()


# What cannot be launched.


@pytest.mark.parametrize(
    ("grid", "block", "what"),
    [
        ((0,), (32,), "no such grid"),
        ((1,), (0,), "work-items|no such block"),
        ((1,), (1025,), "larger|1025 work-items"),
        ((1 << 20, 1 << 10), (32,), "workgroups"),
    ],
)
def test_impossible_launches_are_refused(grid: tuple[int, ...], block: tuple[int, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        launch(compiled("launch"), [fresh(32), np.int32(0)], kernel="many", grid=grid, block=block)


@pytest.mark.parametrize("args", [[], [fresh(8), np.int32(1), np.int32(1)], [fresh(8), np.int64(1)]])
def test_arguments_that_do_not_fit_are_refused(args: list[object]) -> None:
    with pytest.raises(UsageError, match="argument"):
        launch(compiled("launch"), args, kernel="many")


def test_the_segment_is_what_the_metadata_says() -> None:
    """The bytes that the kernel sees are those of `pack_kernarg`, at the offsets of the metadata."""
    kernel = compiled("launch").kernels["extents"]
    segment = pack_kernarg(kernel, [0x1122334455667788], (3, 4, 5), (6, 7, 8), 9)
    offsets = {a.kind: a.offset for a in kernel.args}
    assert segment[:8] == struct.pack("<Q", 0x1122334455667788)
    assert struct.unpack_from("<I", segment, offsets["hidden_block_count_y"]) == (4,)
    assert struct.unpack_from("<H", segment, offsets["hidden_group_size_z"]) == (8,)
