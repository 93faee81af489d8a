"""`epilogue`: which element of C every accumulator slot is stored to."""

from __future__ import annotations

from pathlib import Path

from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source
from layoutprobe.experiments.judging import findings_of
from layoutprobe.experiments.reporting import report, show_accumulators
from layoutprobe.experiments.runs import accumulators_of
from layoutprobe.experiments.setup import bench_of
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.agree import agree
from layoutprobe.solver.epilogue import store_findings


def epilogue(
    dtype: str | None = None,
    arch: str | None = None,
    *,
    instruction: str | None = None,
    acc: bool = False,
    backend: Backend | Source | str | None = None,
    compiler: str | Path | None = None,
    probes: str | Path | None = None,
) -> LayoutReport:
    """Which element of C every accumulator slot is stored to, beside the element that it holds.

    Args and errors: as for `dump`; there is no pattern to choose, as every slot has its own number.
    """
    bench = bench_of("none", dtype, arch, backend, compiler, probes, instruction, acc)
    accumulators = accumulators_of(bench)
    stored = accumulators.stored
    agreement = agree(None, None, stored.layout, accumulators.instruction, accumulators.origins)
    shown = show_accumulators("D", accumulators, agreement)
    findings = [*findings_of("D", agreement, {}), *store_findings(stored)]
    return report("epilogue", bench, accumulators.captures, [], shown, findings, in_lds=False)
