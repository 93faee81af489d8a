"""NVIDIA's cards: what proves the method on silicon that is at hand.

Matrix instructions: mma.sync. Source: PTX ISA 8.7, "Matrix Fragments for mma" of each shape. All of them
follow one scheme. Lane l is in group g = l / 4, at place t = l % 4 of it, and a register has f = 32 / bits
elements:

    A[i][k]  i = g + 8 * (vgpr % 2), k = t * f + field + 4 * f * (vgpr / 2)   (16 rows; 8 rows: vgpr 0)
    B[k][j]  k = t * f + field + 4 * f * vgpr, j = g
    D[i][j]  i = g + 8 * (n / 2), j = 2 * t + n % 2, where n numbers the elements of a lane

tests/nvidia has the formulas as the document writes them, shape by shape.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from layoutprobe.arch.base import Arch
from layoutprobe.arch.fragments import DWORD, Fragment, as_b, fragment, indices
from layoutprobe.arch.lds import LdsModel
from layoutprobe.arch.matrix import Fragments, MatrixForm, by_name
from layoutprobe.arch.registers import KIB
from layoutprobe.numbers.sums import SumRule

LANES = 32
_COLUMNS = 8


def _input(lines: int, depth: int, bits: int) -> Fragment:
    """Elements [line, k] of A; those of B have 8 lines."""
    line, k = (x[None] for x in indices(lines, depth))
    per = DWORD // bits
    lane = 4 * (line % 8) + k // per % 4
    vgpr = line // 8 + lines // 8 * (k // (4 * per))
    return fragment(lane, vgpr, k % per, lines * depth * bits // (DWORD * LANES), bits)


def _result(rows: int, bits: int) -> Fragment:
    row, col = (x[None] for x in indices(rows, _COLUMNS))
    number = 2 * (row // 8) + col % 2
    per = DWORD // bits
    return fragment(4 * (row % 8) + col // 2, number // per, number % per, rows // 4 // per, bits)


def _layout(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    rows, _, depth = form.shape
    result = _result(rows, form.result_bits)
    b = as_b(_input(_COLUMNS, depth, form.bits))
    return {"A": _input(rows, depth, form.bits), "B": b, "C": result, "D": result}


_TYPES = {"e4m3": "fp8", "e5m2": "bf8", "u8": "iu8", "s8": "i8", "u4": "iu4", "s4": "i4", "s32": "i32"}


def _mma(m: int, k: int, a: str, b: str, result: str) -> MatrixForm:
    """Types as PTX spells them."""
    return MatrixForm(
        name=f"mma.sync.aligned.m{m}n8k{k}.row.col.{result}.{a}.{b}.{result}",
        a=_TYPES.get(a, a),
        b=_TYPES.get(b, b),
        result=_TYPES.get(result, result),
        shape=(m, _COLUMNS, k),
        layout=_layout,
        document="NVIDIA's PTX ISA",
        waves=(LANES,),
        modifiers=False,
        language="cuda",
    )


AMPERE: Mapping[str, MatrixForm] = by_name(
    *(_mma(16, k, "f16", "f16", result) for k in (8, 16) for result in ("f32", "f16")),
    *(_mma(16, k, "bf16", "bf16", "f32") for k in (8, 16)),
    *(_mma(16, k, "tf32", "tf32", "f32") for k in (4, 8)),
    *(_mma(m, k, a, a, "s32") for m, k in ((8, 16), (16, 16), (16, 32)) for a in ("s8", "u8")),
    *(_mma(m, k, a, a, "s32") for m, k in ((8, 32), (16, 32), (16, 64)) for a in ("s4", "u4")),
)
"""mma.sync from sm_80 on, but for f64, single bits, sparse A, mixed signs and m8n8k4."""

ADA: Mapping[str, MatrixForm] = {
    **AMPERE,
    **by_name(
        *(_mma(16, k, a, b, "f32") for k in (16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
        *(_mma(16, 32, a, b, "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    ),
}
"""sm_89 and sm_90 have 8-bit floats, too."""


def _adding(
    forms: Mapping[str, MatrixForm], fraction_bits: int, steps: int, types: tuple[str, ...]
) -> Mapping[str, MatrixForm]:
    """The same instructions with their published rule of sums: f32 results of those types.

    MMA-Sim (arXiv 2511.10909): products and accumulator are cut off so many fraction bits below the largest
    exponent, and the sum is cut off to f32. Ampere and Ada take half of K in a step where an instruction
    doubles that of the shortest one. Of 8-bit floats in mma.sync nothing is published for Hopper.
    """

    def rule(form: MatrixForm) -> SumRule | None:
        if form.result != "f32" or form.a not in types:
            return None
        shortest = min(f.shape[2] for f in forms.values() if (f.a, f.result) == (form.a, "f32"))
        return SumRule(fraction_bits, min(form.shape[2], steps * shortest))

    return {name: replace(form, sums=rule(form)) for name, form in forms.items()}


def _card(name: str, product: str, lds_bytes: int, matrix: Mapping[str, MatrixForm]) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=LANES,
        lds_bytes=lds_bytes,
        lds=LdsModel(LANES, banks=32, sources={"banks": "CUDA C++ programming guide, shared memory"}),
        matrix=matrix,
        probed=(matrix["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"],),
        emulated=False,
        probes="nvidia/",
        sources={
            "lds_bytes": "CUDA C++ programming guide, compute capabilities",
            "matrix": "PTX ISA 8.7, warp-level matrix instructions",
        },
    )


_WIDE = ("f16", "bf16", "tf32")

TARGETS = (
    _card("sm_80", "NVIDIA Ampere, A100", 163 * KIB, _adding(AMPERE, 24, 1, _WIDE)),
    _card("sm_89", "NVIDIA Ada", 99 * KIB, _adding(ADA, 24, 1, _WIDE)),
    _card("sm_90", "NVIDIA Hopper, H100 and H200", 227 * KIB, _adding(ADA, 25, 2, _WIDE)),
)
