"""`roundtrip`: what a tile looks like inside LDS under a scheme, and what comes back from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutprobe.arch import find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source
from layoutprobe.experiments.reporting import Shown, report, undecided
from layoutprobe.experiments.runs import observations
from layoutprobe.experiments.setup import bench_of, codings_of, one_of
from layoutprobe.probing.bench import declared
from layoutprobe.report.layout import LayoutReport, LdsMap
from layoutprobe.solver.movement import solve_cells, solve_movement
from layoutprobe.solver.partial import contradicted
from layoutprobe.solver.roundtrip import roundtrip_findings


def roundtrip(
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str | None = None,
    arch: str | None = None,
    *,
    matrix: str = "A",
    carrier: str | None = None,
    backend: Backend | Source | str | None = None,
    compiler: str | Path | None = None,
    probes: str | Path | None = None,
) -> LayoutReport:
    """What a tile looks like inside LDS under a scheme, and what comes back from it.

    Args and errors: as for `dump`, but for `matrix`: "A" lies in LDS as rows of k, "B" transposed, as
    columns of k.
    """
    matrix = one_of("matrix", matrix, ("A", "B"))
    bench = bench_of(lds, dtype, arch, backend, compiler, probes)
    probe = {"A": "roundtrip", "B": "roundtrip_b"}[matrix]
    codings = codings_of(bench, probe, pattern, carrier)
    captures = bench.run_coded(probe, codings)
    spec = bench.spec(probe)
    shape = bench.coded_shapes(probe)[matrix]
    bits = bench.form.element_bits(matrix)
    moved = solve_movement(observations(captures, codings, matrix, "readback"), matrix, shape, bits)
    asked = declared(spec.argument("readback"), shape, bits)
    cells = solve_cells(observations(captures, codings, matrix, "lds"), shape, bits)
    mismatch = contradicted(moved, asked)
    doubtful = moved.ambiguous.any() or (cells.candidates > 1).any()
    shown = Shown(
        matrix,
        spec.tile,
        moved.layout,
        mismatch=mismatch,
        undecided=undecided([moved] if doubtful else []),
        lds_map=None if doubtful else LdsMap(cells.row, cells.col, bits, find(bench.arch).lds.banks),
    )
    findings = roundtrip_findings(lds, moved.layout, asked, mismatch, cells)
    return report("roundtrip", bench, captures, codings, shown, findings)
