"""dump, roundtrip, epilogue: pattern -> probe -> capture -> solver -> report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT, find
from layoutprobe.backends.base import Backend
from layoutprobe.capture.capture import Capture
from layoutprobe.checks.replication import differing_copies, replication_finding
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.patterns import load_pattern
from layoutprobe.patterns.carriers import carrier_of
from layoutprobe.probing.bench import Bench, Coded, declared, spelled, wave_origins
from layoutprobe.report import Finding, LayoutReport, LdsMap
from layoutprobe.solver.agree import Agreement, agree
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.epilogue import Epilogue, epilogue_codes, solve_epilogue, store_findings
from layoutprobe.solver.experiment import interaction_experiment
from layoutprobe.solver.interaction import Interaction, solve_interaction
from layoutprobe.solver.movement import Movement, solve_cells, solve_movement
from layoutprobe.solver.observe import Observation
from layoutprobe.solver.partial import contradicted, contradiction, conventional
from layoutprobe.solver.roundtrip import roundtrip_findings

MATRICES = ("A", "B", "C", "D")
DEFAULT_PATTERN = "rowcol"
"""row*256 + col in raw bits: exact in every 16-bit dtype, and readable in hexadecimal."""

_AMBIGUOUS = (
    "the patterns do not tell all elements of {} apart: slots that several elements fit are shown as holes; "
    "give another pattern in addition"
)
Mask = NDArray[np.bool_]


def dump(
    matrix: str = "A",
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str = "f16",
    arch: str | None = None,
    *,
    backend: Backend | None = None,
    compiler: str | None = None,
    probes: Path | None = None,
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
        backend: what executes; the emulator where None.
        compiler: which compiler; see `layoutprobe.toolchain`.
        probes: directory of probes to use instead of the shipped ones.

    Raises:
        ProbeError: no such matrix, scheme, pattern...; or the probes cannot be compiled or run.
    """
    if matrix not in MATRICES:
        raise UsageError(f"no matrix named {matrix!r}", expected="one of " + ", ".join(MATRICES))
    bench = _bench(lds, dtype, arch, backend, compiler, probes)
    codings = _codings(pattern, dtype)
    operands = _operands(bench, codings)
    accumulators = _accumulators(bench)
    # Holes where a pattern is ambiguous are no evidence against the kernel: they do not take part.
    a, b = (None if moved.ambiguous.any() else moved.layout for moved in operands.moved.values())
    origins = {**operands.origins, **accumulators.origins}
    agreement = agree(a, b, accumulators.stored.layout, accumulators.instruction, origins)
    if matrix in "CD":
        shown = _show_accumulators(matrix, accumulators, agreement)
    elif operands.moved[matrix].ambiguous.any():
        shown = _show_partly(matrix, operands, accumulators.instruction, agreement)
    else:
        shown = _show_operand(matrix, operands, accumulators.instruction, agreement)
    findings = [*_findings_about(matrix, agreement), *store_findings(accumulators.stored)]
    if matrix in "AB" and not shown.undecided and not agreement.mismatch[matrix].any():
        shown, found = _held_against_replication(shown, bench)
        findings += found
    return _report("dump", bench, [*operands.captures, *accumulators.captures], codings, shown, findings)


def epilogue(
    pattern: str | Sequence[str] | None = None,
    dtype: str = "f16",
    arch: str | None = None,
    *,
    backend: Backend | None = None,
    compiler: str | None = None,
    probes: Path | None = None,
) -> LayoutReport:
    """Which element of C every accumulator slot is stored to, beside the element that it holds.

    Args and errors: as for `dump`; there is no pattern to choose, as every slot has its own number.
    """
    if pattern:
        raise UsageError(
            "the epilogue probe takes no pattern", hint="it numbers the accumulator slots by itself"
        )
    bench = _bench("none", dtype, arch, backend, compiler, probes)
    accumulators = _accumulators(bench)
    stored, instruction = accumulators.stored, accumulators.instruction
    agreement = agree(None, None, stored.layout, instruction, accumulators.origins)
    shown = _show_accumulators("D", accumulators, agreement)
    findings = [*_findings_about("D", agreement), *store_findings(stored)]
    return _report("epilogue", bench, accumulators.captures, [], shown, findings)


def roundtrip(
    lds: str = "none",
    pattern: str | Sequence[str] | None = None,
    dtype: str = "f16",
    arch: str | None = None,
    *,
    backend: Backend | None = None,
    compiler: str | None = None,
    probes: Path | None = None,
) -> LayoutReport:
    """What a tile looks like inside LDS under a scheme, and what comes back from it.

    Args and errors: as for `dump`.
    """
    bench = _bench(lds, dtype, arch, backend, compiler, probes)
    codings = _codings(pattern, dtype)
    captures = bench.run_coded("roundtrip", codings)
    spec = bench.spec("roundtrip")
    shape = (spec.tile[0], spec.tile[2])
    bits = _field_bits(codings)
    moved = solve_movement(_observations(captures, codings, "readback"), "A", shape, bits)
    asked = declared(spec.argument("readback"), shape, bits)
    cells = solve_cells(
        _observations(captures, codings, "lds", cells_of=np.dtype(f"u{bits // 8}")), shape, bits
    )
    mismatch = contradicted(moved, asked)
    shown = _Shown(
        "A",
        spec.tile,
        moved.layout,
        mismatch=mismatch,
        undecided=_AMBIGUOUS.format("A") if moved.ambiguous.any() else "",
        lds_map=LdsMap(cells.row, cells.col, bits // 8),
    )
    findings = roundtrip_findings(lds, moved.layout, asked, mismatch, cells)
    return _report("roundtrip", bench, captures, codings, shown, findings)


# What the probes tell


@dataclass(frozen=True)
class _Operands:
    """Where the elements of A and B arrived."""

    tile: tuple[int, int, int]
    captures: list[Capture]
    moved: dict[str, Movement]
    origins: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class _Accumulators:
    """What the instruction does with its slots, and where the epilogue stores them."""

    tile: tuple[int, int, int]
    captures: list[Capture]
    instruction: Interaction
    stored: Epilogue
    origins: dict[str, NDArray[np.int64]]


def _operands(bench: Bench, codings: Sequence[Coded]) -> _Operands:
    spec = bench.spec("operand")
    m, n, k = spec.tile
    captures = bench.run_coded("operand", codings)
    moved, origins = {}, {}
    for matrix, output, shape in (("A", "a_regs", (m, k)), ("B", "b_regs", (k, n))):
        observations = _observations(captures, codings, output)
        moved[matrix] = solve_movement(observations, matrix, shape, _field_bits(codings))
        origins[matrix] = wave_origins(spec, matrix, moved[matrix].layout.waves)
    return _Operands(spec.tile, captures, moved, origins)


def _accumulators(bench: Bench) -> _Accumulators:
    target = find(bench.arch)
    fact = target.matrix_instruction(bench.dtype)
    lanes, fields = target.wave_size, 32 // fact.field_bits
    experiment = interaction_experiment(
        (lanes, fact.a_vgprs, fields), (lanes, fact.b_vgprs, fields), (lanes, fact.d_vgprs, 1), bench.dtype
    )
    inputs = {"a": experiment.a, "b": experiment.b, "c": experiment.c}
    interaction = bench.run("interaction", inputs, shape=fact.shape)
    instruction = solve_interaction(interaction)
    if not np.array_equal(instruction.meetings.c, instruction.meetings.c_to):
        raise ProbeError(
            "The instruction adds C into other slots of D",
            hint="the epilogue probe codes C and stores D, and so needs both in the same slots",
        )

    spec = bench.spec("epilogue")
    waves, vgprs, lanes = (int(extent) for extent in spec.argument("acc").shape)
    codes = epilogue_codes(waves, vgprs, lanes)
    capture = bench.run("epilogue", {"acc": codes})
    stored = solve_epilogue(capture.outputs["C"], codes, capture.undefined.get("C"))
    origins = {"D": wave_origins(spec, "D", waves)}
    return _Accumulators(spec.tile, [capture, interaction], instruction, stored, origins)


def _observations(
    captures: Sequence[Capture], codings: Sequence[Coded], output: str, cells_of: np.dtype | None = None
) -> list[Observation]:
    """One output of every run; read as cells of a dtype instead of dwords where one is given."""
    found = []
    for capture, (pattern, carrier) in zip(captures, codings, strict=True):
        raw, undefined = capture.outputs[output], capture.undefined.get(output)
        if cells_of is not None:
            raw, undefined = raw.view(cells_of), None if undefined is None else undefined.view(cells_of)
        found.append(Observation(pattern, carrier, raw, undefined))
    return found


# What the report shows


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
    findings: tuple[Finding, ...] = ()
    lds_map: LdsMap | None = None


def _show_operand(matrix: str, operands: _Operands, instruction: Interaction, agreement: Agreement) -> _Shown:
    loaded = operands.moved[matrix].layout
    return _beside_instruction(matrix, operands.tile, loaded, instruction, agreement)


def _show_partly(matrix: str, operands: _Operands, instruction: Interaction, agreement: Agreement) -> _Shown:
    """An operand whose elements the patterns do not tell apart: only contradictions can be found."""
    moved = operands.moved[matrix]
    needed = conventional(instruction, matrix, moved.layout.shape, operands.origins[matrix])
    mismatch = contradicted(moved, needed)
    return replace(
        _show_operand(matrix, operands, instruction, agreement),
        needed=needed,
        mismatch=mismatch,
        undecided=_AMBIGUOUS.format(matrix),
        findings=contradiction(matrix, mismatch),
    )


def _held_against_replication(shown: _Shown, bench: Bench) -> tuple[_Shown, list[Finding]]:
    """Copies that no output was seen to read: the instruction's documents want them all the same."""
    period = find(bench.arch).matrix_instruction(bench.dtype).copies_every
    live = np.ones_like(shown.mismatch) if shown.live is None else shown.live
    blamed = differing_copies(shown.loaded, period, live)
    finding = replication_finding(shown.loaded, period, blamed)
    return replace(shown, mismatch=shown.mismatch | blamed), [finding] if finding else []


def _show_accumulators(matrix: str, accumulators: _Accumulators, agreement: Agreement) -> _Shown:
    """C and D sit in the same slots, and the epilogue's stores are about both."""
    tile, instruction = accumulators.tile, accumulators.instruction
    shown = _beside_instruction("D", tile, accumulators.stored.layout, instruction, agreement)
    loaded, needed = (replace(layout, matrix=matrix) for layout in (shown.loaded, agreement.needed["D"]))
    return replace(shown, matrix=matrix, loaded=loaded, needed=needed)


def _beside_instruction(
    matrix: str,
    tile: tuple[int, int, int],
    loaded: Layout,
    instruction: Interaction,
    agreement: Agreement,
) -> _Shown:
    """A layout beside what the instruction needs; the same of every wave, as was observed of one."""
    ambiguity = instruction.ambiguity
    if agreement.gauge:
        ambiguity += f"; this kernel {agreement.relation}"
    return _Shown(
        matrix,
        tile,
        loaded,
        agreement.mismatch[matrix],
        agreement.needed[matrix],
        np.broadcast_to(instruction.live[matrix], loaded.row.shape),
        np.broadcast_to(instruction.readers[matrix], loaded.row.shape),
        instruction.convention,
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
        findings=(*shown.findings, *findings),
        evidence=tuple(dict.fromkeys(capture.evidence for capture in captures)),
        toolchain=_toolchain(captures),
        undecided=shown.undecided,
        lds_map=shown.lds_map,
    )


def _toolchain(captures: Sequence[Capture]) -> dict[str, str]:
    """The compiler once, and every probe's flags and digest."""
    found: dict[str, str] = {}
    for capture in captures:
        for key, value in capture.toolchain.items():
            own = key in ("flags", "source", "code_object")
            found.setdefault(f"{capture.probe} {key}" if own else key, value)
    return found


def _findings_about(matrix: str, agreement: Agreement) -> list[Finding]:
    """Findings of the agreement, those about the matrix first, each saying whose it is."""
    names = [name for name in "ABD" if agreement.mismatch[name].any()]
    named = [
        (name, replace(finding, where={"matrix": name, **finding.where}))
        for name, finding in zip(names, agreement.findings, strict=True)
    ]
    first = "D" if matrix == "C" else matrix
    return [finding for _, finding in sorted(named, key=lambda pair: (pair[0] != first, pair[0]))]


# Arguments


def _bench(
    lds: str,
    dtype: str,
    arch: str | None,
    backend: Backend | None,
    compiler: str | None,
    probes: Path | None,
) -> Bench:
    target = find(arch or DEFAULT)
    instruction = target.matrix_instruction(dtype)
    if lds not in SCHEMES:
        raise UsageError(f"no LDS scheme named {lds!r}", expected="one of " + ", ".join(SCHEMES))
    if backend is None:
        from layoutprobe.backends.emulator import EmulatorBackend

        backend = EmulatorBackend()
    bench = Bench(target.name, dtype, lds, backend, compiler, probes)
    executed = bench.spec("interaction").instruction(dtype)
    if executed != instruction.name:
        raise UsageError(
            f"the probes do not execute the matrix instruction of {target.name} for {dtype}",
            expected=instruction.name,
            observed=executed,
        )
    return bench


def _codings(pattern: str | Sequence[str] | None, dtype: str) -> list[Coded]:
    names = [pattern] if isinstance(pattern, str) else list(pattern or [DEFAULT_PATTERN])
    found = [load_pattern(name) for name in names]
    return [(one, one.default_carrier(dtype)) for one in found]


def _field_bits(codings: Sequence[Coded]) -> int:
    return carrier_of(codings[0][1]).bits
