"""The kernarg segment, against kernels whose hidden arguments the compiler itself laid out."""

from __future__ import annotations

import struct

import pytest

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.kernarg import pack_kernarg
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import UsageError
from layoutprobe.toolchain.compile import assemble, compile_hip

SOURCE = """
typedef unsigned short u16;
extern __attribute__((shared)) unsigned dynamic[];

// What hipcc's blockDim and gridDim read: the implicit arguments.
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
void everything(u16* out, int count, char flag) {
  const u16* implicit = (const u16*)__builtin_amdgcn_implicitarg_ptr();
  for (int i = 0; i < count; i++)
    out[i] = implicit[i] + dynamic[i];
}

extern "C" __attribute__((global)) void plain(u16* out, double x, int* trailing) { *out = x; }
"""

# AMDGPUUsage, "Code Object V5 Metadata": offset from the implicit argument pointer, struct format.
DOCUMENTED = {
    "hidden_block_count_x": (0, "I"),
    "hidden_block_count_y": (4, "I"),
    "hidden_block_count_z": (8, "I"),
    "hidden_group_size_x": (12, "H"),
    "hidden_group_size_y": (14, "H"),
    "hidden_group_size_z": (16, "H"),
    "hidden_remainder_x": (18, "H"),
    "hidden_remainder_y": (20, "H"),
    "hidden_remainder_z": (22, "H"),
    "hidden_global_offset_x": (40, "q"),
    "hidden_global_offset_y": (48, "q"),
    "hidden_global_offset_z": (56, "q"),
    "hidden_grid_dims": (64, "H"),
    "hidden_printf_buffer": (72, "Q"),
    "hidden_hostcall_buffer": (80, "Q"),
    "hidden_multigrid_sync_arg": (88, "Q"),
    "hidden_heap_v1": (96, "Q"),
    "hidden_default_queue": (104, "Q"),
    "hidden_completion_action": (112, "Q"),
    "hidden_dynamic_lds_size": (120, "I"),
    "hidden_private_base": (192, "I"),
    "hidden_shared_base": (196, "I"),
    "hidden_queue_ptr": (200, "Q"),
}
# Those that clang lists only for kernels which print, or for processors without apertures.
RARE = {"hidden_printf_buffer", "hidden_private_base", "hidden_shared_base"}
IMPLICIT = 16  # out: 0, count: 8, flag: 12; rounded up to 8

GRID, BLOCK, DYNAMIC_LDS = (70000, 5, 3), (8, 4, 2), 12345
EXPECTED = {
    **dict.fromkeys(DOCUMENTED, 0),
    "hidden_block_count_x": 70000,
    "hidden_block_count_y": 5,
    "hidden_block_count_z": 3,
    "hidden_group_size_x": 8,
    "hidden_group_size_y": 4,
    "hidden_group_size_z": 2,
    "hidden_grid_dims": 3,
    "hidden_dynamic_lds_size": DYNAMIC_LDS,
}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory, compiles_aside: None) -> CodeObject:
    folder = tmp_path_factory.mktemp("kernarg")
    (folder / "k.hip").write_text(SOURCE)
    return load(compile_hip(folder / "k.hip", target="gfx1151").data)


@pytest.fixture(scope="module")
def everything(code: CodeObject) -> Kernel:
    return code.kernel("everything")


def field(segment: bytes, kind: str) -> int:
    offset, form = DOCUMENTED[kind]
    value: int = struct.unpack_from("<" + form, segment, IMPLICIT + offset)[0]
    return value


def test_the_compiler_lists_the_documented_arguments(everything: Kernel) -> None:
    """Ties the table above to the compiler: kinds, offsets and sizes."""
    listed = {a.kind: (a.offset - IMPLICIT, a.size) for a in everything.args if a.hidden}
    documented = {k: (o, struct.calcsize(f)) for k, (o, f) in DOCUMENTED.items() if k not in RARE}
    assert listed == documented
    assert everything.kernarg_size == IMPLICIT + 256


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_hidden_argument(everything: Kernel, kind: str) -> None:
    segment = pack_kernarg(everything, [0x7FFF_1234_5678, -2, b"\x01"], GRID, BLOCK, DYNAMIC_LDS)
    assert field(segment, kind) == EXPECTED[kind]


def test_rare_hidden_arguments_are_null() -> None:
    """Of kernels that print, or take the segment bases: listed by hand, as clang would."""
    listed = "".join(
        f"\n      - {{.offset: {IMPLICIT + o}, .size: {struct.calcsize(f)}, .value_kind: {k}}}"
        for k, (o, f) in DOCUMENTED.items()
    )
    kernel = load(assemble(ASSEMBLY.format(args=listed), target="gfx1151").data).kernel()
    assert {a.kind for a in kernel.args} == set(DOCUMENTED)
    segment = pack_kernarg(kernel, [], GRID, BLOCK, DYNAMIC_LDS)
    assert len(segment) == IMPLICIT + 256
    assert {kind: field(segment, kind) for kind in DOCUMENTED} == EXPECTED


ASSEMBLY = """
  .text
  .p2align 8
  .type f,@function
f:
  s_endpgm
.Lend:
  .size f, .Lend-f
  .rodata
  .p2align 6
  .amdhsa_kernel f
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: f
    .symbol: f.kd
    .kernarg_segment_size: 272
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 1
    .vgpr_count: 1
    .max_flat_workgroup_size: 64
    .args: {args}
...
  .end_amdgpu_metadata
"""


def test_explicit_arguments_and_the_gaps_between_them(everything: Kernel) -> None:
    segment = pack_kernarg(everything, [0x7FFF_1234_5678, -2, b"\x81"], GRID, BLOCK)
    assert segment[:IMPLICIT] == struct.pack("<QiB3x", 0x7FFF_1234_5678, -2, 0x81)


def test_a_kernel_without_hidden_arguments(code: CodeObject) -> None:
    """As Triton writes them: its two trailing pointers are ordinary arguments."""
    plain = code.kernel("plain")
    assert not any(a.hidden for a in plain.args)
    packed = pack_kernarg(plain, [1, struct.pack("<d", 2.5), 0], (1, 1, 1), (64, 1, 1))
    assert packed == struct.pack("<QdQ", 1, 2.5, 0)


@pytest.mark.parametrize(
    ("grid", "block", "dimensions"),
    [
        ((1, 1, 1), (1, 1, 1), 1),
        ((9, 1, 1), (64, 1, 1), 1),
        ((1, 2, 1), (64, 1, 1), 2),
        ((1, 1, 1), (1, 1, 2), 3),
    ],
)
def test_dimensions(
    everything: Kernel, grid: tuple[int, int, int], block: tuple[int, int, int], dimensions: int
) -> None:
    assert field(pack_kernarg(everything, [0, 0, 0], grid, block), "hidden_grid_dims") == dimensions


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2], ["takes 3 arguments", "argument 1 (count): 4 bytes", "2 values"]),
        ([1, 2, 3, 4], ["takes 3 arguments", "4 values"]),
        ([1, bytes(8), 0], ["argument 1 (count)", "expected: 4 bytes", "observed: 8 bytes"]),
        ([1, 2, 256], ["argument 2 (flag)", "expected: 1 bytes", "observed: 256"]),
        ([1, -(1 << 31) - 1, 0], ["argument 1 (count)", "expected: 4 bytes"]),
        ([1 << 64, 1, 0], ["argument 0 (out)", "expected: 8 bytes"]),
    ],
)
def test_values_that_do_not_fit(everything: Kernel, values: list[bytes | int], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        pack_kernarg(everything, values, (1, 1, 1), (1, 1, 1))
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("grid", "block", "dynamic_lds", "words"),
    [
        ((0, 1, 1), (1, 1, 1), 0, "no such grid"),
        ((1 << 32, 1, 1), (1, 1, 1), 0, "no such grid"),
        ((1, 1, 1), (1, -1, 1), 0, "no such block"),
        ((1, 1, 1), (1, 1 << 16, 1), 0, "no such block"),
        ((1, 1, 1), (16, 8, 4), 0, "512 = 16 x 8 x 4"),
        ((1, 1, 1), (1, 1, 1), -1, "dynamic LDS"),
    ],
)
def test_launches_that_cannot_be(
    everything: Kernel, grid: tuple[int, int, int], block: tuple[int, int, int], dynamic_lds: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        pack_kernarg(everything, [0, 0, 0], grid, block, dynamic_lds)
