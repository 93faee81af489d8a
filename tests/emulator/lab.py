"""Small kernels on the emulator: assembled for exact control, or compiled from HIP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ExecutionError
from layoutprobe.toolchain.compile import assemble, compile_hip

TARGET = "gfx1151"
KERNELS = Path(__file__).parent / "kernels"
CORPUS = Path(__file__).parents[1] / "oracle" / "corpus"
LANES = 32
Array = NDArray[Any]

_SCAFFOLD = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
.text
.globl k
.p2align 8
.type k,@function
k:
{prologue}
{body}
  s_endpgm
.Lend:
.size k, .Lend-k
.section .rodata,"a"
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count {user}
  .amdhsa_kernarg_size {kernarg}
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_enable_private_segment {has_scratch}
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 100
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 32
    .sgpr_count: 100
    .vgpr_count: 128
    .max_flat_workgroup_size: 1024
    .args:
{args}
...
.end_amdgpu_metadata
"""
_ARGUMENT = (
    "      - {{.name: p{0}, .offset: {1}, .size: 8, .value_kind: global_buffer, .address_space: global}}"
)


def assembled(
    body: str,
    *,
    pointers: int = 2,
    lds: int = 0,
    scratch: int = 0,
    arguments: int | None = None,
    prologue: str | None = None,
    user_sgprs: int = 2,
) -> CodeObject:
    """A kernel `k` of pointer arguments only.

    At its start pointer i is in s[4+2*i:5+2*i], the work-item id in v0, four times that in v1, and
    the workgroup id in s2; or what a `prologue` of your own makes of the initial state.
    """
    arguments = pointers if arguments is None else arguments
    loads = [f"  s_load_b64 s[{4 + 2 * i}:{5 + 2 * i}], s[0:1], {8 * i:#x}" for i in range(pointers)]
    source = _SCAFFOLD.format(
        prologue=prologue or "\n".join([*loads, "  s_waitcnt lgkmcnt(0)", "  v_lshlrev_b32_e32 v1, 2, v0"]),
        body=body,
        kernarg=8 * arguments,
        lds=lds,
        scratch=scratch,
        has_scratch=int(scratch > 0),
        user=user_sgprs,
        args="\n".join(_ARGUMENT.format(i, 8 * i) for i in range(arguments)) or "      []",
    )
    return load(assemble(source, target=TARGET).data)


@cache
def compiled(name: str, *flags: str) -> CodeObject:
    """A source of this folder's kernels, or of the decoder's corpus as "corpus/NAME"."""
    folder, _, stem = name.rpartition("/")
    path = (CORPUS if folder == "corpus" else KERNELS) / f"{stem}.hip"
    return load(compile_hip(path, target=TARGET, flags=flags).data)


def launch(
    code: CodeObject,
    args: Sequence[Any],
    *,
    kernel: str = "k",
    grid: tuple[int, ...] = (1,),
    block: tuple[int, ...] = (LANES,),
    dynamic_lds: int = 0,
    budget: int = 1_000_000,
) -> RunResult:
    """Run a kernel; plain arrays become buffers, extents may be shorter than three."""
    wrapped = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    return EmulatorBackend(budget).run(
        Launch(code, kernel, _extent(grid), _extent(block), wrapped, dynamic_lds)
    )


def _extent(given: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*given, 1, 1)
    return x, y, z


def outputs(
    code: CodeObject, args: Sequence[Any], *, undefined_allowed: bool = False, **options: Any
) -> list[Array]:
    """The buffers after a run; unless it is allowed, a run must leave every one of them defined."""
    result = launch(code, args, **options)
    assert undefined_allowed or all(bits is None for bits in result.undefined)
    return [buffer for buffer in result.buffers if buffer is not None]


def undefined(result: RunResult, argument: int = 0) -> Array:
    """Undefined bits that a run left in a buffer; all zero where it left none."""
    bits, data = result.undefined[argument], result.buffers[argument]
    assert data is not None
    return np.zeros(data.shape, f"u{data.dtype.itemsize}") if bits is None else bits


def fresh(shape: int | tuple[int, ...], dtype: Any = np.uint32) -> Buffer:
    """Output memory that nobody has written yet."""
    return Buffer(np.zeros(shape, dtype), undefined=True)


def fault(run: Callable[[], object], what: str) -> ExecutionError:
    """The error that `run` must end in; `what` is a pattern for its first line."""
    with pytest.raises(ExecutionError, match=what) as caught:
        run()
    return caught.value


def words(seed: int, *shape: int) -> NDArray[np.uint32]:
    """Random dwords."""
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, dtype=np.uint32)
