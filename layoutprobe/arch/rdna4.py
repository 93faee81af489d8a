"""RDNA4.

Fragments: AMD matrix instruction calculator 1.3.2 (architecture rdna4, wave32 and wave64), which agrees
with AMD's HIP documents. No other document of the sparse instructions was seen, and none of them is
confirmed on a card. In the formulas i is the row of A or D, j the column of B or D, k the inner index;
l // 16 is called a lane's group.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.arch.base import Arch
from layoutprobe.arch.fragments import (
    DWORD,
    Formula,
    Fragment,
    Ints,
    as_b,
    fragment,
    indices,
    input_fragment,
    zero,
)
from layoutprobe.arch.hazards import Hazard, Hazards, Use
from layoutprobe.arch.isa import LAUNCH as EARLIER_LAUNCH
from layoutprobe.arch.isa import Counting, IdRegister, Isa
from layoutprobe.arch.lds import LdsModel
from layoutprobe.arch.matrix import Fragments, MatrixForm, by_name, wmma_builtin
from layoutprobe.arch.rdna3 import ENCODINGS as RDNA3
from layoutprobe.arch.registers import KIB, rdna_resources
from layoutprobe.arch.transposing import GLOBAL_READS

LINES = 16
"""Rows of A and columns of B of every matrix instruction; also lanes of a group."""

_WAVES = (32, 64)

# Matrix instructions


def _result(wave: int, bits: int) -> Fragment:
    """C and D: rows contiguous along the VGPRs of a lane; 16-bit results two to a VGPR."""
    row, col = (x[None] for x in indices(LINES, LINES))
    group = row // 8 if wave == 32 else 2 * (row // 4 % 2) + row // 8
    place = row % (8 if wave == 32 else 4)
    per = DWORD // bits
    return fragment(LINES * group + col, place // per, place % per, LINES * LINES // wave // per, bits)


# Dense A and B of RDNA4, by element width, K and wave: formula and registers. Group numbers
# 2 and 3 are lanes 32-47 and 48-63.

_DENSE: dict[tuple[int, int, int], tuple[Formula, int]] = {
    (16, 16, 32): (lambda line, k: (k // 4 % 2, 2 * (k // 8) + k // 2 % 2, k % 2), 4),
    (16, 16, 64): (lambda line, k: (2 * (k // 8 % 2) + k // 4 % 2, k // 2 % 2, k % 2), 2),
    (8, 16, 32): (lambda line, k: (k // 8, k // 4 % 2, k % 4), 2),
    (8, 16, 64): (lambda line, k: (2 * (k // 4 % 2) + k // 8 % 2, zero(k), k % 4), 1),
    (4, 16, 32): (lambda line, k: (k // 8, zero(k), k % 8), 1),
    (4, 16, 64): (lambda line, k: (k // 8, zero(k), k % 8), 1),
    (4, 32, 32): (lambda line, k: (k // 16, k // 8 % 2, k % 8), 2),
    (4, 32, 64): (lambda line, k: (2 * (k // 8 % 2) + k // 16 % 2, zero(k), k % 8), 1),
}


class SparseMaps(Struct, frozen=True):
    """A, B and the index operand of a sparse instruction, in terms of the dense k.

    Attributes:
        a: dense k of a group's first element -> lane group, VGPR, field of the first element kept;
            the second is in the next field.
        a_vgprs: registers of A.
        nibble: dense k -> which four bits of the index set tell about its group, in A's lane.
        b: line and dense k -> lane group, VGPR, field.
        b_vgprs: registers of B.
        keys: index sets of a VGPR; index_key selects one.
    """

    a: Callable[[Ints], tuple[Ints, Ints, Ints]]
    a_vgprs: int
    nibble: Callable[[Ints], Ints]
    b: Formula
    b_vgprs: int
    keys: int


_SPARSE: dict[tuple[int, int, int], SparseMaps] = {
    (16, 32, 32): SparseMaps(
        lambda k: (k // 8 % 2, 2 * (k // 16) + k // 4 % 2, zero(k)), 4,
        lambda k: 2 * (k // 16) + k // 4 % 2,
        lambda line, k: (k // 8 % 2, 4 * (k // 16) + k // 2 % 4, k % 2), 8, 2,
    ),
    (16, 32, 64): SparseMaps(
        lambda k: (k // 8, k // 4 % 2, zero(k)), 2,
        lambda k: k // 4 % 2,
        lambda line, k: (k // 8, k // 2 % 4, k % 2), 4, 4,
    ),
    (8, 32, 32): SparseMaps(
        lambda k: (k // 16, k // 8 % 2, 2 * (k // 4 % 2)), 2,
        lambda k: k // 4 % 4,
        lambda line, k: (k // 16, k // 4 % 4, k % 4), 4, 2,
    ),
    (8, 32, 64): SparseMaps(
        lambda k: (2 * (k // 8 % 2) + k // 16, zero(k), 2 * (k // 4 % 2)), 1,
        lambda k: k // 4 % 2,
        lambda line, k: (2 * (k // 8 % 2) + k // 16, k // 4 % 2, k % 4), 2, 4,
    ),
    (4, 32, 32): SparseMaps(
        lambda k: (k // 16, zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (k // 16, k // 8 % 2, k % 8), 2, 2,
    ),
    (4, 32, 64): SparseMaps(
        lambda k: (k // 16, zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (2 * (k // 8 % 2) + k // 16, zero(k), k % 8), 1, 2,
    ),
    (4, 64, 32): SparseMaps(
        lambda k: (k // 32, k // 16 % 2, 2 * (k // 4 % 4)), 2,
        lambda k: k // 4 % 8,
        lambda line, k: (k // 32, k // 8 % 4, k % 8), 4, 1,
    ),
    (4, 64, 64): SparseMaps(
        lambda k: (2 * (k // 16 % 2) + k // 32, zero(k), 2 * (k // 4 % 4)), 1,
        lambda k: k // 4 % 4,
        lambda line, k: (2 * (k // 16 % 2) + k // 32, k // 8 % 2, k % 8), 2, 2,
    ),
}  # fmt: skip
"""By element width, K and wave. index_key: clang accepts 0 to keys - 1, and no index_key for one."""


def _sparse_a(maps: SparseMaps, depth: int, bits: int) -> Fragment:
    """A compressed, [copy, row, k'], where k' = 2g and 2g + 1 are the elements kept of group g."""

    def formula(line: Ints, kept: Ints) -> tuple[Ints, Ints, Ints]:
        group, vgpr, field = maps.a(4 * (kept // 2))
        return group, vgpr, field + kept % 2

    return input_fragment(formula, LINES, depth // 2, bits, maps.a_vgprs)


def _sparse_index(maps: SparseMaps, depth: int, key: int) -> Fragment:
    """The two bits that tell the place of A's element k' in its group, [copy, row, k']."""

    def formula(line: Ints, kept: Ints) -> tuple[Ints, Ints, Ints]:
        dense = 4 * (kept // 2)
        return maps.a(dense)[0], zero(kept), key * (16 // maps.keys) + 2 * maps.nibble(dense) + kept % 2

    return input_fragment(formula, LINES, depth // 2, 2, 1)


def _dense_layout(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    depth, bits = form.shape[2], form.bits
    formula, vgprs = _DENSE[bits, depth, wave]
    a = input_fragment(formula, LINES, depth, bits, vgprs)
    result = _result(wave, form.result_bits)
    return {"A": a, "B": as_b(a), "C": result, "D": result}


def _sparse_layout(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    depth, bits = form.shape[2], form.bits
    maps = _SPARSE[bits, depth, wave]
    result = _result(wave, form.result_bits)
    return {
        "A": _sparse_a(maps, depth, bits),
        "B": as_b(input_fragment(maps.b, LINES, depth, bits, maps.b_vgprs)),
        "index": _sparse_index(maps, depth, opsel),
        "C": result,
        "D": result,
    }


def _form(operation: str, result: str, depth: int, a: str, b: str = "") -> MatrixForm:
    sparse = operation == "swmmac"
    types = f"{a}_{b}" if b else a
    form = MatrixForm(
        name=f"v_{operation}_{result}_16x16x{depth}_{types}",
        a=a,
        b=b or a,
        result=result,
        shape=(LINES, LINES, depth),
        layout=_sparse_layout if sparse else _dense_layout,
        document="AMD's matrix instruction calculator",
        waves=_WAVES,
        sparse=sparse,
        builtin="" if sparse else wmma_builtin(f"{result}_16x16x{depth}_{types}", "_gfx12"),
    )
    if not sparse:
        return form
    keys = {wave: tuple(range(_SPARSE[form.bits, depth, wave].keys)) for wave in _WAVES}
    return replace(form, op_sel=keys)


_COMMON = (
    ("f32", "f16"),
    ("f32", "bf16"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("i32", "iu8"),
    ("i32", "iu4"),
)
_MIXES = (("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8"))

FORMS = by_name(
    *(_form("wmma", result, 16, a) for result, a in _COMMON),
    *(_form("wmma", "f32", 16, a, b) for a, b in _MIXES),
    _form("wmma", "i32", 32, "iu4"),
    *(_form("swmmac", result, 32, a) for result, a in _COMMON),
    _form("swmmac", "i32", 64, "iu4"),
    *(_form("swmmac", "f32", 32, a, b) for a, b in _MIXES),
)
"""By mnemonic, in the order of opcodes 0x40 to 0x4a and 0x50 to 0x5a (RDNA4 ISA guide)."""

# Instruction set

ENCODINGS = replace(
    RDNA3,
    table="rdna4",
    buffer=(0b110001, "VBUFFER"),
    offset={
        "SMEM": ("ioffset", 24),
        "MUBUF": ("ioffset", 24),
        **dict.fromkeys(("FLAT", "GLOBAL", "SCRATCH"), ("ioffset", 24)),
    },
    address="vaddr",
    data="vsrc",
    resource="rsrc",
    cache_policy=("th", "scope"),
    old_value="th",
    compared_width=False,
    wave_wide_permute=True,
    hardware={
        1: "MODE",
        2: "STATUS",
        5: "GPR_ALLOC",
        6: "LDS_ALLOC",
        7: "IB_STS",
        15: "SH_MEM_BASES",
        23: "HW_ID1",
        24: "HW_ID2",
        29: "SHADER_CYCLES_LO",
        30: "SHADER_CYCLES_HI",
    },
)
"""RDNA4 says in TH, whose lowest bit is that of atomics (ISA guide, "Temporal hints"), what RDNA3 says in GLC."""

COUNTING = Counting(
    loads="loadcnt",
    stores="storecnt",
    lds="dscnt",
    scalars="kmcnt",
    waits={
        "s_waitcnt": {"loadcnt": ((10, 6),), "dscnt": ((4, 6),)},
        "s_wait_loadcnt": {"loadcnt": ((0, 16),)},
        "s_wait_storecnt": {"storecnt": ((0, 16),)},
        "s_wait_dscnt": {"dscnt": ((0, 16),)},
        "s_wait_kmcnt": {"kmcnt": ((0, 16),)},
        "s_wait_loadcnt_dscnt": {"loadcnt": ((8, 6),), "dscnt": ((0, 6),)},
        "s_wait_storecnt_dscnt": {"storecnt": ((8, 6),), "dscnt": ((0, 6),)},
        "s_wait_idle": {"loadcnt": (), "storecnt": (), "dscnt": (), "kmcnt": ()},
    },
    bits={"loadcnt": 6, "storecnt": 6, "dscnt": 6, "kmcnt": 5},
    spelling="s_wait_{counter} {count}",
)
"""RDNA4 ISA guide (S_WAIT_*CNT); widths, and waits for two counters: LLVM 22, AMDGPUBaseInfo. LLVM still
assembles s_waitcnt, whose lgkmcnt is taken to say nothing about scalar loads."""

_TTMP0 = 108

LAUNCH = replace(
    EARLIER_LAUNCH,
    ids=(
        IdRegister({"x": 0}, register=_TTMP0 + 9),
        IdRegister({"y": 0, "z": 16}, register=_TTMP0 + 7),
        IdRegister({"wave": 25}, register=_TTMP0 + 8),
    ),
    modes={},
)
"""Ids of the workgroup lie in trap temporaries, and the wave's number in its workgroup beside them (LLVM
AMDGPUUsage, "Initial Kernel Execution State")."""

HAZARDS = Hazards((Hazard(Use.D, Use.AB, 1, "LLVM, fixWMMAHazards"),), filled_by="VALU", filler="v_nop")
"""The index of a sparse instruction counts as A and B."""

ISA = Isa(
    title="RDNA4",
    encodings=ENCODINGS,
    prefixes=("gfx120",),
    generic=("gfx12-generic",),
    counting=COUNTING,
    launch=LAUNCH,
    matrix=FORMS,
    split_barrier=True,
    hazards=HAZARDS,
)

# Targets


def _target(name: str, product: str) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=32,
        lds_bytes=64 * KIB,
        lds=LdsModel(wave=32, banks=32, sources={"banks": "assumed as on RDNA3"}),
        matrix=FORMS,
        probed=tuple(FORMS[f"v_wmma_f32_16x16x16_{dtype}"] for dtype in ("f16", "bf16")),
        isa=ISA,
        resources=rdna_resources(1536),
        global_reads=GLOBAL_READS,
        tile_units={"amd_wmma": 2},
        sources={
            "lds_bytes": "LLVM 22, AMDGPUBaseInfo",
            "matrix": "RDNA4 ISA guide; fragments and register counts: AMD matrix instruction calculator "
            "1.3.2, rdna4; the sparse ones stand in no other document and are not confirmed on a card",
            "isa": "RDNA4 ISA guide; LLVM 22, AMDGPUUsage",
            "resources": "LLVM 22, AMDGPUBaseInfo.cpp and GCNProcessors.td",
            "tile_units": "Triton 3.9, gluon's AMDWMMALayout",
        },
    )


TARGETS = (_target("gfx1200", "RDNA4, Navi 44"), _target("gfx1201", "RDNA4, Navi 48"))
