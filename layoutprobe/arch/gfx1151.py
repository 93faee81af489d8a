"""gfx1151: RDNA3.5, Strix Halo."""

from __future__ import annotations

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.matrix import RDNA3

GFX1151 = Arch(
    name="gfx1151",
    product="RDNA3.5, Strix Halo",
    wave_size=32,
    lds_bytes=65536,
    lds_banks=32,
    instructions={
        "f16": MatrixInstruction(
            "v_wmma_f32_16x16x16_f16", "f16", 16, 8, 8, 8, (16, 16, 16), copies_every=16
        ),
    },
    sources={
        "lds_bytes": "clang 22.1.8 refuses 65537 bytes for this target",
        "lds_banks": "RDNA3 ISA guide, LDS: 64 dword banks per WGP, two halves of 32",
        "instructions": "RDNA3.5 ISA guide, 7.9; register counts: AMD matrix instruction calculator 1.3.2, rdna3",
        "matrix": "RDNA3.5 ISA guide, 7.9; fragments: AMD matrix instruction calculator 1.3.2, rdna3",
    },
    matrix=RDNA3,
)
