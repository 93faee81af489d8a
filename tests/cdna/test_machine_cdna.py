"""The machine of CDNA3 and CDNA4: one file of VGPRs and AccVGPRs, launch, scratch, LDS, and whole kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import CodeObjectError, UsageError
from layoutprobe.toolchain.compile import compile_hip

TARGETS = ("gfx942", "gfx950")
KERNELS = Path(__file__).parent / "kernels" / "machine.hip"
both = pytest.mark.parametrize("target", TARGETS)


@cache
def compiled(target: str) -> CodeObject:
    return load(compile_hip(KERNELS, target=target).data)


def run(code: CodeObject, kernel: str, grid: Any, block: Any, *args: Any) -> list[NDArray[Any]]:
    """The buffers after a launch; arrays become buffers."""
    given = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    result = EmulatorBackend().run(Launch(code, kernel, grid, block, given))
    return [buffer for buffer in result.buffers if buffer is not None]


def assembled(
    body: str, target: str = "gfx942", *, first: int = 16, vgprs: int = 32, **more: Any
) -> CodeObject:
    return scaffolded(
        f"  v_lshlrev_b32_e32 v1, 2, v0\n{body}",
        target=target,
        wave_size=64,
        pointers=2,
        vgprs=vgprs,
        first_accvgpr=first,
        **more,
    )


STORE = "s_nop 4\n  global_store_dword v1, v9, s[6:7]\n"


@both
def test_an_accvgpr_is_a_register_of_its_own(target: str) -> None:
    """Written through both files, read back from both: v2 and a2 do not meet, a2 is row accum_offset + 2."""
    code = assembled(
        """
  global_load_dword v2, v1, s[4:5]
  global_load_dword a2, v1, s[4:5] offset:256
  s_waitcnt vmcnt(0)
  v_accvgpr_write_b32 a3, v2
  v_accvgpr_mov_b32 a15, a2
  v_mov_b32_e32 v2, 7
  s_nop 4
  v_accvgpr_read_b32 v4, a3
  v_accvgpr_read_b32 v5, a15
  v_mad_u32_u24 v9, v4, v2, v5
  global_store_dword v1, a2, s[6:7] offset:256
"""
        + STORE,
        target,
    )
    data = np.random.default_rng(1).integers(0, 1 << 20, 128, np.uint32)
    out = run(code, "k", (1, 1, 1), (64, 1, 1), data, np.zeros(128, np.uint32))[1]
    np.testing.assert_array_equal(out, np.concatenate([data[:64] * 7 + data[64:], data[64:]]))


@both
def test_lds_is_filled_from_accvgprs_and_read_into_them(target: str) -> None:
    code = assembled(
        """
  global_load_dwordx2 a[4:5], v1, s[4:5]
  v_lshlrev_b32_e32 v3, 3, v0
  s_waitcnt vmcnt(0)
  ds_write_b64 v3, a[4:5]
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v3, 0x1f8, v3
  ds_read_b64 a[8:9], v3
  s_waitcnt lgkmcnt(0)
  v_accvgpr_read_b32 v9, a9
"""
        + STORE,
        target,
        lds=512,
    )
    data = np.arange(100, 180, dtype=np.uint32)
    out = run(code, "k", (1, 1, 1), (64, 1, 1), data, np.zeros(64, np.uint32))[1]
    np.testing.assert_array_equal(out, data[1:65][::-1])


@pytest.mark.parametrize(
    ("line", "observed", "expected"),
    [
        ("v_mov_b32_e32 v16, 0", "v16, 1 registers", "VGPRs below v16, AccVGPRs below a16"),
        ("v_accvgpr_write_b32 a16, v0", "a16, 1 registers", "AccVGPRs below a16"),
        ("v_mfma_f32_16x16x16_f16 a[14:17], v[2:3], v[4:5], 0", "a14, 4 registers", "AccVGPRs below a16"),
        ("global_load_dwordx4 v[14:17], v1, s[4:5]", "v14, 4 registers", "VGPRs below v16"),
    ],
)
def test_a_register_of_neither_file_is_refused_by_name(line: str, observed: str, expected: str) -> None:
    with pytest.raises(CodeObjectError, match="a register that the kernel does not have") as error:
        run(assembled(f"  {line}\n"), "k", (1, 1, 1), (64, 1, 1), np.zeros(64), np.zeros(64))
    assert error.value.observed == observed
    assert expected in str(error.value.expected)


@both
def test_vectors_are_added(target: str) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.random(1000, np.float32) for _ in range(2))
    out = run(
        compiled(target), "add", (5, 1, 1), (256, 1, 1), a, b, np.full(1000, -1, np.float32), np.int32(999)
    )[2]
    np.testing.assert_array_equal(out, np.append((a + b)[:999], np.float32(-1)))


@both
@pytest.mark.parametrize("preloaded", [2, 7])
def test_preloaded_arguments_are_loaded_by_the_code_at_the_entry(target: str, preloaded: int) -> None:
    """The entry is a prologue for firmware that does not preload; ids lie behind all user SGPRs."""
    flags = ("-mllvm", f"-amdgpu-kernarg-preload-count={preloaded}")
    code = load(compile_hip(KERNELS, target=target, flags=flags).data)
    assert code.kernels["add"].descriptor.kernarg_preload
    rng = np.random.default_rng(7)
    a, b = (rng.random(1000, np.float32) for _ in range(2))
    out = run(code, "add", (4, 1, 1), (256, 1, 1), a, b, np.zeros(1000, np.float32), np.int32(1000))[2]
    np.testing.assert_array_equal(out, a + b)


@both
def test_a_matrix_is_transposed_through_lds(target: str) -> None:
    """Three workgroup ids and a two-dimensional work-item id are where the kernel looks for them."""
    x = np.random.default_rng(3).integers(0, 1 << 32, (2, 75, 41), np.uint32)
    out = run(compiled(target), "transpose", (2, 3, 2), (32, 8, 1), x, np.zeros((2, 41, 75), np.uint32),
              np.int32(75), np.int32(41))[1]  # fmt: skip
    np.testing.assert_array_equal(out, x.transpose(0, 2, 1))


@both
def test_waves_reduce_with_dpp_and_shuffles(target: str) -> None:
    x = np.random.default_rng(4).integers(-1000, 1000, (3, 256)).astype(np.int32)
    code = compiled(target)
    sums = run(code, "reduce", (3, 1, 1), (256, 1, 1), x, np.zeros(3, np.int32))[1]
    np.testing.assert_array_equal(sums, x.sum(axis=1))
    scanned = run(code, "scan", (12, 1, 1), (64, 1, 1), x.reshape(12, 64), np.zeros((12, 64), np.int32))[1]
    np.testing.assert_array_equal(scanned, x.reshape(12, 64).cumsum(axis=1))


@both
def test_votes_are_of_64_lanes(target: str) -> None:
    x = np.random.default_rng(6).integers(-9, 10, (4, 64)).astype(np.int32)
    x[1] = np.minimum(x[1], 8)
    out = run(compiled(target), "votes", (4, 1, 1), (64, 1, 1), x, np.zeros((4, 64), np.uint64))[1]
    lanes = np.arange(64, dtype=np.uint64)
    ballots = ((x > 0) * (np.uint64(1) << lanes)).sum(axis=1, dtype=np.uint64)[:, None]
    every = np.all(x < 9, axis=1, keepdims=True).astype(np.uint64)
    assert set(every.ravel()) == {0, 1}
    np.testing.assert_array_equal(out, ballots ^ every << lanes)


@both
def test_every_lane_has_scratch_of_its_own(target: str) -> None:
    x = np.random.default_rng(5).integers(0, 64, (2, 128)).astype(np.int32)
    out = run(compiled(target), "indexed", (2, 1, 1), (128, 1, 1), x, np.zeros((2, 128), np.int32))[1]
    table = (np.arange(64)[:, None] * 3 + np.arange(128)) % 251
    np.testing.assert_array_equal(out, np.stack([table[row, np.arange(128)] for row in x]))
    assert compiled(target).kernels["indexed"].descriptor.private_segment_size > 0


def test_lds_is_as_large_as_the_target_has() -> None:
    """160 KiB of gfx950 are too much for gfx942."""
    body = "  v_mov_b32_e32 v3, 0x27ff0\n  v_mov_b32_e32 v9, 5\n  ds_write_b32 v3, v9\n" + STORE
    arguments = ("k", (1, 1, 1), (64, 1, 1), np.zeros(64, np.uint32), np.zeros(64, np.uint32))
    assert (run(assembled(body, "gfx950", lds=160 << 10), *arguments)[1] == 5).all()
    code = replace(assembled(body, "gfx950", lds=160 << 10), target="gfx942")
    with pytest.raises(UsageError, match="163840 bytes of LDS") as error:
        run(code, *arguments)
    assert error.value.expected == "at most 65536"
