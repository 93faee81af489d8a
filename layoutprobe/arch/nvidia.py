"""NVIDIA's cards: what proves the method on silicon that is at hand."""

from __future__ import annotations

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.matrix import PTX_80, PTX_89, MatrixForm


def _card(name: str, product: str, lds_bytes: int, matrix: dict[str, MatrixForm]) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=32,
        lds_bytes=lds_bytes,
        lds_banks=32,
        instructions={
            "f16": MatrixInstruction(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f16", 16, 4, 2, 4, (16, 8, 16)
            ),
        },
        sources={
            "lds_bytes": "CUDA C++ programming guide, compute capabilities",
            "lds_banks": "CUDA C++ programming guide, shared memory",
            "matrix": "PTX ISA 8.7, warp-level matrix instructions",
        },
        matrix=matrix,
        emulated=False,
        probes="nvidia/",
    )


SM_80 = _card("sm_80", "NVIDIA Ampere, A100", 163 << 10, dict(PTX_80))
SM_89 = _card("sm_89", "NVIDIA Ada", 99 << 10, dict(PTX_89))
SM_90 = _card("sm_90", "NVIDIA Hopper, H100 and H200", 227 << 10, dict(PTX_89))
