"""gfx1200 and gfx1201: RDNA4."""

from __future__ import annotations

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.matrix import RDNA4


def _rdna4(name: str, product: str) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=32,
        lds_bytes=65536,
        lds_banks=32,
        instructions={
            dtype: MatrixInstruction(f"v_wmma_f32_16x16x16_{dtype}", dtype, 16, 4, 4, 8, (16, 16, 16))
            for dtype in ("f16", "bf16")
        },
        sources={
            "lds_bytes": "LLVM 22, AMDGPUBaseInfo",
            "lds_banks": "assumed as on RDNA3",
            "instructions": "RDNA4 ISA guide; register counts: AMD matrix instruction calculator 1.3.2, rdna4",
            "matrix": "RDNA4 ISA guide; fragments: AMD matrix instruction calculator 1.3.2, rdna4; "
            "the sparse ones stand in no other document and are not confirmed on a card",
        },
        matrix=RDNA4,
    )


GFX1200 = _rdna4("gfx1200", "RDNA4, Navi 44")
GFX1201 = _rdna4("gfx1201", "RDNA4, Navi 48")
