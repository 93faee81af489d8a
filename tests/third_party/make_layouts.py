"""Asks Triton which layouts its attributes mean: writes `tests/claims/triton_layouts.json` anew.

Needs `pip install triton`, as `make_triton.py` does, and no GPU. Registers, lanes and waves are those of Triton's own
`to_linear_layout`; the test builds the same attributes and computes them with layoutprobe's rules.

    /tmp/triton/bin/python tests/third_party/make_layouts.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

WRITTEN = Path(__file__).parents[1] / "claims" / "triton_layouts.json"
TILES = ((64, 128, 64), (16, 32, 16))


def attributes() -> Iterator[tuple[str, Any]]:
    """Units: as MLIR writes them, and as Triton's Python has them."""
    from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout

    shapes = ([32, 32, 8], [16, 16, 16], [32, 32, 16], [16, 16, 128])
    for shape, transposed, waves in product(shapes, (True, False), ([2, 2], [4, 1], [1, 2])):
        text = f"warpsPerCTA = {waves}, instrShape = {shape}, isTransposed = {str(transposed).lower()}"
        version = 3 if shape[2] <= 16 else 4
        yield (
            f"#ttg.amd_mfma<{{version = {version}, {text}}}>",
            AMDMFMALayout(version, shape, transposed, waves),
        )
    tiles = AMDMFMALayout(4, [16, 16, 32], True, [2, 2], tiles_per_warp=[2, 1])
    text = "warpsPerCTA = [2, 2], tilesPerWarp = [2, 1], instrShape = [16, 16, 32], isTransposed = true"
    yield f"#ttg.amd_mfma<{{version = 4, {text}}}>", tiles
    for version, transposed in product((1, 2), (True, False)):
        for bases, registers in (
            ([[0, 1], [1, 0]], []), ([[0, 1], [0, 2]], []), ([], []), ([[0, 1], [2, 0]], [[1, 0]]),
        ):  # fmt: skip
            parts = [f"register = {registers}"] if registers else []
            parts += [f"warp = {bases}"] if bases else []
            text = f"isTranspose = {str(transposed).lower()}, ctaLayout = {{{', '.join(parts)}}}"
            unit = AMDWMMALayout(version, transposed, bases, reg_bases=registers)
            yield f"#ttg.amd_wmma<{{version = {version}, {text}}}>", unit


def rows(builder: Any) -> Iterator[dict[str, Any]]:
    """What Triton answers."""
    from triton.experimental.gluon.language import DotOperandLayout, SwizzledSharedLayout

    def asked(layout: Any, shape: list[int]) -> dict[str, Any]:
        found = builder.to_linear_layout(layout._to_ir(builder), shape)
        return {"registers": found.reg_bases, "lanes": found.lane_bases, "waves": found.warp_bases}

    for text, unit in attributes():
        for m, n, k in TILES:
            yield {"unit": text, "tile": [m, n, k], "of": "result"} | asked(unit, [m, n])
            for index, width in product((0, 1), (4, 8, 16)):
                shape = [m, k] if index == 0 else [k, n]
                try:
                    answer = asked(DotOperandLayout(index, unit, width), shape)
                except RuntimeError:  # Triton refuses this kWidth under this unit
                    answer = {"refused": True}
                yield {"unit": text, "tile": [m, n, k], "of": index, "width": width} | answer
    for vec, phase, phases, order in product((1, 4, 8), (1, 2), (1, 4, 8), ([1, 0], [0, 1])):
        shared = SwizzledSharedLayout(vec, phase, phases, order)
        text = f"{{vec = {vec}, perPhase = {phase}, maxPhase = {phases}, order = {order}}}"
        found = builder.to_linear_layout(shared._to_ir(builder), [64, 32])
        yield {"shared": f"#ttg.swizzled_shared<{text}>", "shape": [64, 32], "offsets": found.offset_bases}


def main() -> None:
    """Ask for all, and write them one a line."""
    import triton
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    lines = [json.dumps(row) for row in rows(gluon_ir.GluonOpBuilder(context))]
    head = json.dumps({"triton": triton.__version__})
    WRITTEN.write_text("[\n" + ",\n".join([head, *lines]) + "\n]\n")
    print(f"{len(lines)} layouts")


if __name__ == "__main__":
    main()
