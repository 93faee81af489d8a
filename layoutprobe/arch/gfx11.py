"""gfx11: RDNA3 and RDNA3.5, which have the same matrix instructions."""

from __future__ import annotations

from layoutprobe.arch.base import Arch, MatrixInstruction
from layoutprobe.arch.matrix import RDNA3


def _rdna3(name: str, product: str) -> Arch:
    return Arch(
        name=name,
        product=product,
        wave_size=32,
        lds_bytes=65536,
        lds_banks=32,
        instructions={
            dtype: MatrixInstruction(
                f"v_wmma_f32_16x16x16_{dtype}", dtype, 16, 8, 8, 8, (16, 16, 16), copies_every=16
            )
            for dtype in ("f16", "bf16")
        },
        sources={
            "lds_bytes": "clang 22.1.8 refuses 65537 bytes for these targets",
            "lds_banks": "RDNA3 ISA guide, LDS: 64 dword banks per WGP, two halves of 32",
            "instructions": "RDNA3 and RDNA3.5 ISA guides, 7.9; register counts: AMD matrix instruction "
            "calculator 1.3.2, rdna3",
            "matrix": "the same; fragments: AMD matrix instruction calculator 1.3.2, rdna3",
        },
        matrix=RDNA3,
    )


GFX1151 = _rdna3("gfx1151", "RDNA3.5, Strix Halo")
GFX11 = (
    GFX1151,
    _rdna3("gfx1100", "RDNA3, Navi 31"),
    _rdna3("gfx1101", "RDNA3, Navi 32"),
    _rdna3("gfx1102", "RDNA3, Navi 33"),
    _rdna3("gfx1103", "RDNA3, Phoenix"),
    _rdna3("gfx1150", "RDNA3.5, Strix Point"),
    _rdna3("gfx1152", "RDNA3.5, Krackan Point"),
    _rdna3("gfx1153", "RDNA3.5"),
)
