"""RDNA3 and RDNA3.5, which have the same matrix instructions.

Fragments: AMD matrix instruction calculator 1.3.2 (architecture rdna3, wave32 and wave64), which agrees
with the RDNA3 ISA guide, 7.9, and with AMD's HIP documents. In the formulas i is the row of A or D, j
the column of B or D, k the inner index; l // 16 is called a lane's group.
"""

from __future__ import annotations

import numpy as np

from layoutprobe.arch.base import Arch
from layoutprobe.arch.fragments import (
    DWORD,
    Formula,
    Fragment,
    as_b,
    fragment,
    indices,
    input_fragment,
    zero,
)
from layoutprobe.arch.hazards import Hazard, Hazards, Use
from layoutprobe.arch.isa import LAUNCH, Counting, Encodings, Isa
from layoutprobe.arch.lds import LdsModel, lanes, runs
from layoutprobe.arch.matrix import Fragments, MatrixForm, by_name, wmma_builtin
from layoutprobe.arch.registers import KIB, rdna_resources

LINES = 16
"""Rows of A and columns of B of every matrix instruction; also lanes of a group."""

# Matrix instructions


def _straight(bits: int) -> Formula:
    """The k of a line ascend from the lowest bit of the first VGPR."""
    per = DWORD // bits
    return lambda line, k: (zero(k), k // per, k % per)


def _result(wave: int, half: int | None) -> Fragment:
    """C and D: row i in group i % groups. `half`: 16-bit results, 0 lower and 1 upper half."""
    row, col = (x[None] for x in indices(LINES, LINES))
    groups = wave // LINES
    bits = 32 if half is None else 16
    return fragment(
        LINES * (row % groups) + col, row // groups, np.full_like(row, half or 0), LINES // groups, bits
    )


def _layout(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    """A and B are held by every group of lanes."""
    depth, bits = form.shape[2], form.bits
    a = input_fragment(_straight(bits), LINES, depth, bits, depth * bits // DWORD, wave // LINES)
    result = _result(wave, opsel // 4 if form.result_bits == 16 else None)
    return {"A": a, "B": as_b(a), "C": result, "D": result}


def _wmma(result: str, operand: str) -> MatrixForm:
    half = result in ("f16", "bf16")
    return MatrixForm(
        name=f"v_wmma_{result}_16x16x16_{operand}",
        a=operand,
        b=operand,
        result=result,
        shape=(LINES, LINES, 16),
        layout=_layout,
        document="AMD's matrix instruction calculator",
        waves=(32, 64),
        op_sel={32: (0, 4), 64: (0, 4)} if half else {},
        arithmetic=("ieee", "silicon"),
        builtin=wmma_builtin(f"{result}_16x16x16_{operand}", "", ", {upper}" if half else ""),
    )


FORMS = by_name(
    _wmma("f32", "f16"),
    _wmma("f32", "bf16"),
    _wmma("f16", "f16"),
    _wmma("bf16", "bf16"),
    _wmma("i32", "iu8"),
    _wmma("i32", "iu4"),
)
"""By mnemonic, in the order of opcodes 0x40 to 0x45 (RDNA3 ISA guide; RDNA3.5 has the same)."""

# Instruction set

ENCODINGS = Encodings(
    table="rdna3",
    markers={233: "DPP8", 234: "DPP8", 250: "DPP16"},
    m0=125,
    no_address=124,
    halves=True,
    buffer=(0b111000, "MUBUF"),
    offset={
        "SMEM": ("offset", 21),
        "MUBUF": ("offset", 0),
        **dict.fromkeys(("FLAT", "GLOBAL", "SCRATCH"), ("offset", 13)),
    },
    address="addr",
    data="data",
    resource="srsrc",
    cache_policy=("glc", "slc", "dlc"),
    old_value="glc",
    compared_width=True,
    wave_wide_permute=False,
    hardware={1: "MODE", 2: "STATUS", 3: "TRAPSTS", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES",
              23: "HW_ID1", 24: "HW_ID2", 29: "SHADER_CYCLES"},
)  # fmt: skip
"""RDNA3 ISA guide. "DPP": 250 for DPP16, 233 and 234 for DPP8 without and with fetch-inactive."""

COUNTING = Counting(
    loads="vmcnt",
    stores="vscnt",
    lds="lgkmcnt",
    scalars="lgkmcnt",
    waits={
        "s_waitcnt": {"vmcnt": ((10, 6),), "lgkmcnt": ((4, 6),)},
        "s_waitcnt_vmcnt": {"vmcnt": ((0, 16),)},
        "s_waitcnt_vscnt": {"vscnt": ((0, 16),)},
        "s_waitcnt_lgkmcnt": {"lgkmcnt": ((0, 16),)},
        "s_wait_idle": {"vmcnt": (), "vscnt": (), "lgkmcnt": ()},
    },
    bits={"vmcnt": 6, "vscnt": 6, "lgkmcnt": 6},
    spelling="s_waitcnt {counter}({count})",
)
"""RDNA3 ISA guide, "Data dependency resolution" (S_WAITCNT, S_WAITCNT_VSCNT)."""

HAZARDS = Hazards((Hazard(Use.D, Use.AB, 1, "RDNA3 ISA guide, 7.9"),), filled_by="VALU", filler="v_nop")

ISA = Isa(
    title="RDNA3 and RDNA3.5",
    encodings=ENCODINGS,
    prefixes=("gfx110", "gfx115"),
    generic=("gfx11-generic", "gfx11-5-generic"),
    counting=COUNTING,
    launch=LAUNCH,
    matrix=FORMS,
    split_barrier=False,
    hazards=HAZARDS,
)

# LDS phases

_NARROW = {1: runs(32, 32), 2: runs(32, 32), 4: runs(32, 32), 8: runs(32, 16)}
_CROSSED = (
    lanes((0, 3), (20, 23)),
    lanes((4, 7), (16, 19)),
    lanes((8, 11), (28, 31)),
    lanes((12, 15), (24, 27)),
)
_MEASURED = "gfx1100"


def _lds(name: str) -> LdsModel:
    itself = "" if name == _MEASURED else f"; {name} itself is unmeasured"
    return LdsModel(
        wave=32,
        banks=32,
        loads=_NARROW | {12: _CROSSED, 16: _CROSSED},
        stores=_NARROW | {12: runs(32, 8), 16: runs(32, 8)},
        evidence=f"model: phases measured on {_MEASURED}{itself}",
        sources={
            "banks": "RDNA3 ISA guide, LDS: 64 dword banks per WGP, two halves of 32",
            "loads": f"measured by latency on {_MEASURED}: b32, b64 and b128 (SHARK, pull request 2919); "
            "b96 as b128, and narrower than a dword as b32: assumed",
            "stores": "b128: 8 consecutive lanes, as kernel authors state for gfx942; "
            "b32 and b64 as loads: assumed",
            "same dword": "served together: common statement, no measurement cited",
        },
    )


# Targets

_FULL, _SMALL = 1536, 1024
"""VGPRs of a SIMD lane. gfx1150 and gfx1151 differ here: the large parts have half as many again."""


_EARLIER = ("gfx1100", "gfx1101", "gfx1102")
"""What rocWMMA 1.6 knows by name."""


def _target(name: str, product: str, vgprs: int) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=32,
        lds_bytes=64 * KIB,
        matrix=FORMS,
        probed=tuple(FORMS[f"v_wmma_f32_16x16x16_{dtype}"] for dtype in ("f16", "bf16")),
        isa=ISA,
        resources=rdna_resources(vgprs),
        macros={} if name in _EARLIER else {f"__{_MEASURED}__": 1},
        lds=_lds(name),
        tile_units={"amd_wmma": 1},
        sources={
            "lds_bytes": "clang 22.1.8 refuses 65537 bytes for these targets",
            "matrix": "RDNA3 and RDNA3.5 ISA guides, 7.9; fragments and register counts: AMD matrix "
            "instruction calculator 1.3.2, rdna3",
            "isa": "RDNA3 ISA guide; LLVM 22, AMDGPUUsage",
            "resources": "LLVM 22, AMDGPUBaseInfo.cpp and GCNProcessors.td",
            "tile_units": "Triton 3.9, gluon's AMDWMMALayout",
        },
    )


TARGETS = (
    _target("gfx1151", "RDNA3.5, Strix Halo", _FULL),
    _target("gfx1100", "RDNA3, Navi 31", _FULL),
    _target("gfx1101", "RDNA3, Navi 32", _FULL),
    _target("gfx1102", "RDNA3, Navi 33", _SMALL),
    _target("gfx1103", "RDNA3, Phoenix", _SMALL),
    _target("gfx1150", "RDNA3.5, Strix Point", _SMALL),
    _target("gfx1152", "RDNA3.5, Krackan Point", _SMALL),
    _target("gfx1153", "RDNA3.5", _SMALL),
)
