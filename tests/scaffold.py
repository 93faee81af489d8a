"""Assembled kernels of any target and wave size, for the emulator."""

from __future__ import annotations

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.toolchain.compile import assemble

_TEXT = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
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
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 100
  {own}
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
    .wavefront_size: {wave_size}
    .sgpr_count: 100
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
{args}
...
.end_amdgpu_metadata
"""
_ARGUMENT = (
    "      - {{.name: p{0}, .offset: {1}, .size: 8, .value_kind: global_buffer, .address_space: global}}"
)


def scaffolded(
    body: str,
    *,
    target: str,
    wave_size: int = 32,
    pointers: int = 2,
    arguments: int | None = None,
    lds: int = 0,
    scratch: int = 0,
    vgprs: int = 96,
    prologue: str | None = None,
    user_sgprs: int = 2,
    first_accvgpr: int | None = None,
) -> CodeObject:
    """A kernel `k` of pointer arguments only.

    At its start pointer i is in s[4+2*i:5+2*i] and the work-item id in v0; or what a `prologue` of your
    own makes of the initial state.

    Args:
        body: instructions.
        target, wave_size: what to assemble for.
        pointers: arguments that are loaded.
        arguments: pointers that the metadata lists; default: those that are loaded.
        lds, scratch: bytes.
        vgprs: registers of a lane.
        prologue: instead of the loads.
        user_sgprs: as the descriptor counts them.
        first_accvgpr: of GFX9, the VGPRs before the AccVGPRs; default: all `vgprs`.
    """
    gfx9 = target.startswith("gfx9")
    wave32 = f".amdhsa_wavefront_size32 {int(wave_size == 32)}"
    arguments = pointers if arguments is None else arguments
    text = written(
        target=target,
        prologue=loads(pointers, target) if prologue is None else prologue,
        body=body,
        kernarg=8 * arguments,
        lds=lds,
        scratch=scratch,
        has_scratch=int(scratch > 0),
        vgprs=vgprs,
        user=user_sgprs,
        own=f".amdhsa_accum_offset {first_accvgpr or vgprs}" if gfx9 else wave32,
        wave_size=wave_size,
        args="\n".join(_ARGUMENT.format(i, 8 * i) for i in range(arguments)) or "      []",
    )
    size = "-m" if wave_size == 64 else "-mno-"
    flags = () if gfx9 else (f"{size}wavefrontsize64",)
    return load(assemble(text, target=target, flags=flags).data)


def written(**parts: object) -> str:
    """The assembly of such a kernel; see `scaffolded` for what its parts are made of."""
    return _TEXT.format(**parts)


def of_pointers(body: str, *, target: str, pointers: int) -> str:
    """The assembly of a kernel in wave32 without LDS, as a file that a manifest names."""
    return written(
        target=target,
        prologue=loads(pointers, target),
        body=body,
        kernarg=8 * pointers,
        lds=0,
        scratch=0,
        has_scratch=0,
        vgprs=96,
        user=2,
        own=".amdhsa_wavefront_size32 1",
        wave_size=32,
        args="\n".join(_ARGUMENT.format(i, 8 * i) for i in range(pointers)),
    )


def loads(pointers: int, target: str) -> str:
    """Loads of the pointer arguments, and the wait for them."""
    name = "s_load_dwordx2" if target.startswith("gfx9") else "s_load_b64"
    lines = [f"  {name} s[{4 + 2 * i}:{5 + 2 * i}], s[0:1], {8 * i:#x}" for i in range(pointers)]
    wait = "s_wait_kmcnt 0x0" if target.startswith("gfx12") else "s_waitcnt lgkmcnt(0)"
    return "\n".join([*lines, f"  {wait}"])
