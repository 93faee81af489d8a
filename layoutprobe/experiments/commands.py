"""dump, roundtrip, epilogue: pattern -> probe -> capture -> solver -> report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import UsageError
from layoutprobe.experiments.runs import (
    Accumulators,
    Operands,
    accumulators_of,
    bench_of,
    codings_of,
    field_bits,
    observations,
    operands_of,
)
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.probing.bench import Bench, Coded, declared, spelled
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import LayoutReport, LdsMap
from layoutprobe.solver.agree import Agreement, agree
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.epilogue import store_findings
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.movement import Movement, solve_cells, solve_movement
from layoutprobe.solver.partial import contradicted, contradiction
from layoutprobe.solver.replication import documented_copies, replication_finding
from layoutprobe.solver.roundtrip import roundtrip_findings

MATRICES = ("A", "B", "C", "D")

Mask = NDArray[np.bool_]


def dump(
    matrix: str = "A",
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str = "f16",
    arch: str | None = None,
    *,
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
        dtype: element type of A and B.
        arch: target; the default one where None.
        carrier: how codes are held in an element ("raw16", "f16"); the best of each pattern where
            None.
        backend: what executes, or its name; the emulator where None. Or a source of captures.
        compiler: which compiler; see `layoutprobe.toolchain`.
        probes: directory of probes to use instead of the shipped ones.

    Raises:
        ProbeError: no such matrix, scheme, pattern...; or the probes cannot be compiled or run.
    """
    matrix = _one_of("matrix", matrix, MATRICES)
    bench = bench_of(lds, dtype, arch, backend, compiler, probes)
    codings = codings_of(pattern, carrier, dtype)
    operands = operands_of(bench, codings)
    accumulators = accumulators_of(bench)
    # Where a pattern is ambiguous, the operand takes no part: a doubt is no evidence against a kernel.
    a, b = (None if moved.ambiguous.any() else moved.layout for moved in operands.moved.values())
    origins = {**operands.origins, **accumulators.origins}
    agreement = agree(a, b, accumulators.stored.layout, accumulators.instruction, origins)
    judged = {name: _judge(name, operands, agreement, bench) for name in operands.moved}
    if matrix in "CD":
        shown = _show_accumulators(matrix, accumulators, agreement)
    else:
        shown = _show_operand(matrix, operands, judged[matrix], accumulators.instruction, agreement)
    findings = [*_findings(matrix, agreement, judged), *store_findings(accumulators.stored)]
    shown = replace(shown, undecided=_undecided([operands.moved[name] for name in operands.ambiguous]))
    captures = [*operands.captures, *accumulators.captures]
    return _report("dump", bench, captures, codings, shown, findings)


def epilogue(
    dtype: str = "f16",
    arch: str | None = None,
    *,
    backend: Backend | Source | str | None = None,
    compiler: str | Path | None = None,
    probes: str | Path | None = None,
) -> LayoutReport:
    """Which element of C every accumulator slot is stored to, beside the element that it holds.

    Args and errors: as for `dump`; there is no pattern to choose, as every slot has its own number.
    """
    bench = bench_of("none", dtype, arch, backend, compiler, probes)
    accumulators = accumulators_of(bench)
    stored, instruction = accumulators.stored, accumulators.instruction
    agreement = agree(None, None, stored.layout, instruction, accumulators.origins)
    shown = _show_accumulators("D", accumulators, agreement)
    findings = [*_findings("D", agreement, {}), *store_findings(stored)]
    return _report("epilogue", bench, accumulators.captures, [], shown, findings)


def roundtrip(
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str = "f16",
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
    matrix = _one_of("matrix", matrix, ("A", "B"))
    bench = bench_of(lds, dtype, arch, backend, compiler, probes)
    codings = codings_of(pattern, carrier, dtype)
    probe = {"A": "roundtrip", "B": "roundtrip_b"}[matrix]
    captures = bench.run_coded(probe, codings)
    spec = bench.spec(probe)
    m, n, k = spec.tile
    shape = (m, k) if matrix == "A" else (k, n)
    bits = field_bits(codings)
    moved = solve_movement(observations(captures, codings, "readback"), matrix, shape, bits)
    asked = declared(spec.argument("readback"), shape, bits)
    cells = solve_cells(
        observations(captures, codings, "lds", cells_of=np.dtype(f"u{bits // 8}")), shape, bits
    )
    mismatch = contradicted(moved, asked)
    doubtful = moved.ambiguous.any() or (cells.candidates > 1).any()
    shown = _Shown(
        matrix,
        spec.tile,
        moved.layout,
        mismatch=mismatch,
        undecided=_undecided([moved] if doubtful else []),
        lds_map=None if doubtful else LdsMap(cells.row, cells.col, bits // 8),
    )
    findings = roundtrip_findings(lds, moved.layout, asked, mismatch, cells)
    return _report("roundtrip", bench, captures, codings, shown, findings)


def _one_of(what: str, name: object, known: Sequence[str]) -> str:
    if isinstance(name, str) and name.upper() in known:
        return name.upper()
    raise UsageError(f"no {what} named {name!r:.40}", expected="one of " + ", ".join(known))


def _undecided(ambiguous: Sequence[Movement]) -> str:
    """Why nothing can be decided while the patterns leave elements of these matrices open."""
    if not ambiguous:
        return ""
    names = " and of ".join(moved.layout.matrix for moved in ambiguous)
    return (
        f"the patterns do not tell all elements of {names} apart, such as {ambiguous[0].twins}; "
        "what they leave open is shown as ?; give another pattern in addition"
    )


# What the report shows


@dataclass(frozen=True)
class _Judged:
    """One operand against what it should hold.

    Attributes:
        needed: what execution showed, with the copies that the documents want.
        mismatch: slots that hold something else.
        findings: those that the agreement of loads, instruction and stores does not give.
    """

    needed: Layout
    mismatch: Mask
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Shown:
    """The part of a report that is about the matrix shown."""

    matrix: str
    tile: tuple[int, int, int]
    loaded: Layout
    mismatch: Mask
    needed: Layout | None = None
    live: Mask | None = None
    readers: NDArray[np.int32] | None = None
    convention: str = ""
    ambiguity: str = ""
    undecided: str = ""
    lds_map: LdsMap | None = None

    __repr__ = brief


def _judge(matrix: str, operands: Operands, agreement: Agreement, bench: Bench) -> _Judged:
    """An operand in all its copies, those included that no output was seen to read."""
    moved = operands.moved[matrix]
    period = find(bench.arch).matrix_instruction(bench.dtype).copies_every
    seen = agreement.needed[matrix]
    needed = documented_copies(seen, period)
    # With neither order of k observed, any is right.
    k_axis = {"A": 1, "B": 0}[matrix] if len(operands.ambiguous) == len(operands.moved) else None
    mismatch = contradicted(moved, needed, k_axis)
    if agreement.mismatch[matrix].any():
        return _Judged(needed, mismatch)
    live = mismatch & ~seen.holes
    if live.any():
        return _Judged(needed, mismatch, (contradiction(moved, needed, live, mismatch),))
    copies = replication_finding(moved.layout, needed, period, mismatch)
    return _Judged(needed, mismatch, (copies,) if copies else ())


def _show_operand(
    matrix: str, operands: Operands, judged: _Judged, instruction: Interaction, agreement: Agreement
) -> _Shown:
    loaded = operands.moved[matrix].layout
    shown = _beside_instruction(matrix, operands.tile, loaded, instruction, agreement)
    return replace(shown, needed=judged.needed, mismatch=judged.mismatch)


def _show_accumulators(matrix: str, accumulators: Accumulators, agreement: Agreement) -> _Shown:
    """C and D sit in the same slots, and the epilogue's stores are about both."""
    tile, instruction = accumulators.tile, accumulators.instruction
    shown = _beside_instruction("D", tile, accumulators.stored.layout, instruction, agreement)
    loaded, needed = (replace(layout, matrix=matrix) for layout in (shown.loaded, agreement.needed["D"]))
    # Who reads a copy is a question about operands: an accumulator has none.
    return replace(shown, matrix=matrix, loaded=loaded, needed=needed, readers=None)


def _beside_instruction(
    matrix: str,
    tile: tuple[int, int, int],
    loaded: Layout,
    instruction: Interaction,
    agreement: Agreement,
) -> _Shown:
    """A layout beside what the instruction needs; the same of every wave, as was observed of one."""
    ambiguity = instruction.ambiguity
    if agreement.gauge and not agreement.assumed:
        ambiguity += f"; this kernel {agreement.relation}"
    return _Shown(
        matrix,
        tile,
        loaded,
        agreement.mismatch[matrix],
        agreement.needed[matrix],
        np.broadcast_to(instruction.live[matrix], loaded.row.shape),
        np.broadcast_to(instruction.readers[matrix], loaded.row.shape),
        instruction.convention(agreement.gauge),
        ambiguity,
    )


def _report(
    command: str,
    bench: Bench,
    captures: Sequence[Capture],
    codings: Sequence[Coded],
    shown: _Shown,
    findings: Sequence[Finding],
) -> LayoutReport:
    """The whole report. The first capture is the one that the command is about."""
    instruction = find(bench.arch).matrix_instruction(bench.dtype).name
    return LayoutReport(
        command=command,
        arch=captures[0].arch,
        instruction="" if command == "roundtrip" else instruction,
        matrix=shown.matrix,
        dtype=bench.dtype,
        lds="" if command == "epilogue" else bench.lds,
        tile=shown.tile,
        patterns=tuple(spelled(pattern) for pattern, _ in codings),
        loaded=shown.loaded,
        needed=shown.needed,
        mismatch=shown.mismatch,
        live=shown.live,
        readers=shown.readers,
        closed_form=explain(shown.loaded),
        needed_form="" if shown.needed is None else explain(shown.needed),
        convention=shown.convention,
        ambiguity=shown.ambiguity,
        coverage=coverage(shown.loaded),
        findings=tuple(findings),
        evidence=tuple(dict.fromkeys(capture.evidence for capture in captures)),
        toolchain=_toolchain(captures),
        undecided=shown.undecided,
        lds_map=shown.lds_map,
        lds_form="" if command == "epilogue" else _lds_form(bench.lds, shown.matrix, shown.loaded.shape),
    )


def _lds_form(lds: str, matrix: str, shape: tuple[int, int]) -> str:
    """Where an element lies in LDS: A as it is, B transposed, so that k is contiguous in both."""
    if matrix not in "AB":
        return ""
    lines, names = (shape, ("row", "col")) if matrix == "A" else (shape[::-1], ("col", "row"))
    return SCHEMES[lds].formula(lines, *names)


def _toolchain(captures: Sequence[Capture]) -> dict[str, str]:
    """The compiler once, and every probe's flags and digest."""
    found: dict[str, str] = {}
    for capture in captures:
        for key, value in capture.toolchain.items():
            own = key in ("flags", "source", "code_object")
            found.setdefault(f"{capture.probe} {key}" if own else key, value)
    return found


def _findings(matrix: str, agreement: Agreement, judged: dict[str, _Judged]) -> list[Finding]:
    """Findings of all matrices, those about the one shown first, each saying whose it is."""
    named: list[tuple[str, Finding]] = []
    broken = [name for name in "ABD" if agreement.mismatch[name].any()]
    for name, finding in zip(broken, agreement.findings, strict=True):
        # A copy that no output reads is as wrong as the one that is read.
        count = int(judged[name].mismatch.sum()) if name in judged else finding.count
        named.append((name, replace(finding, where={"matrix": name, **finding.where}, count=count)))
    for name, one in judged.items():
        named += [(name, finding) for finding in one.findings]
    first = "D" if matrix == "C" else matrix
    return [finding for _, finding in sorted(named, key=lambda pair: (pair[0] != first, pair[0]))]
