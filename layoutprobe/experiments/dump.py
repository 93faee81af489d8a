"""`dump`: which element every operand register holds, beside what the instruction needs there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from layoutprobe.arch import find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source
from layoutprobe.experiments.judging import findings_of, judge
from layoutprobe.experiments.reporting import report, show_accumulators, show_operand, show_view, undecided
from layoutprobe.experiments.runs import OPERAND, accumulators_of, compiled_ahead, moved_in, operands_of
from layoutprobe.experiments.setup import bench_of, codings_of, in_lds, one_of, transposing_probe
from layoutprobe.layouts.views import RAW, RECEIVED
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.agree import agree
from layoutprobe.solver.epilogue import store_findings

MATRICES = ("A", "B", "C", "D")


def dump(
    matrix: str = "A",
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str | None = None,
    arch: str | None = None,
    *,
    instruction: str | None = None,
    acc: bool = False,
    view: str | None = None,
    carrier: str | None = None,
    backend: Backend | Source | str | None = None,
    compiler: str | Path | None = None,
    probes: str | Path | None = None,
) -> LayoutReport:
    """Which element every operand register holds, beside what the instruction needs there.

    Runs the operand, interaction and epilogue probes. Loads, instruction and stores must agree, so
    a finding may be about another matrix than the one shown; those about `matrix` come first.

    Args:
        matrix: "A" or "B": operand registers; "C" or "D": accumulators, as the epilogue stores them.
        lds: LDS scheme that A and B go through.
        pattern: name of a pattern, file or expression that codes the elements; several together
            where one alone does not tell all elements apart.
        dtype: element type of A and B; f16 where neither it nor an instruction is given.
        arch: target; the default one where None.
        instruction: the matrix instruction to execute; the usual one of the dtype where None.
        acc: operands and accumulators are AccVGPRs.
        view: A and B come through transposing loads: "raw" shows what the lanes fetch, "received" what they get,
            "packed" what the instruction reads.
        carrier: how codes are held in an element ("raw16", "f16"); the best of each pattern where
            None.
        backend: what executes, or its name; the emulator where None. Or a source of captures.
        compiler: which compiler; see `layoutprobe.toolchain`.
        probes: directory of probes to use instead of the shipped ones.

    Raises:
        ProbeError: no such matrix, scheme, pattern...; or the probes cannot be compiled or run.
    """
    matrix = one_of("matrix", matrix, MATRICES)
    bench = bench_of(lds, dtype, arch, backend, compiler, probes, instruction, acc)
    probe = OPERAND if view is None else transposing_probe(bench, matrix, view)
    codings = codings_of(bench, probe, pattern, carrier)
    with compiled_ahead(bench):
        operands = operands_of(bench, codings, probe)
    accumulators = accumulators_of(bench)
    # Where a pattern is ambiguous, the operand takes no part: a doubt is no evidence against a kernel.
    a, b = (None if moved.ambiguous.any() else moved.layout for moved in operands.moved.values())
    origins = {**operands.origins, **accumulators.origins}
    agreement = agree(a, b, accumulators.stored.layout, accumulators.instruction, origins)
    judged = {name: judge(name, operands, agreement, bench) for name in operands.moved}
    if matrix in "CD":
        shown = show_accumulators(matrix, accumulators, agreement)
    else:
        shown = show_operand(matrix, operands, judged[matrix], accumulators.instruction, agreement)
    if view in (RAW, RECEIVED):
        table = moved_in(bench, probe, operands.captures, codings, matrix, view)
        together = find(bench.arch).transposing[bench.form.element_bits(matrix)].together
        shown = show_view(view, table, shown, together)
    findings = [*findings_of(matrix, agreement, judged), *store_findings(accumulators.stored)]
    shown = replace(shown, undecided=undecided([operands.moved[name] for name in operands.ambiguous]))
    captures = [*operands.captures, *accumulators.captures]
    return report(
        "dump", bench, captures, codings, shown, findings,
        by_k=view is not None, in_lds=in_lds(bench, probe),
    )  # fmt: skip
