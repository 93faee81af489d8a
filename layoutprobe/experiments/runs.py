"""Runs the probes of a command as the user chose, and solves what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT, find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source, chosen
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.instructions.naming import with_documented_names
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.patterns import load_pattern
from layoutprobe.patterns.carriers import DTYPE_CARRIERS, carrier_of
from layoutprobe.probing.bench import Bench, Coded, wave_origins
from layoutprobe.solver.epilogue import Epilogue, epilogue_codes, solve_epilogue
from layoutprobe.solver.experiment import interaction_experiment
from layoutprobe.solver.interaction import Interaction, solve_interaction
from layoutprobe.solver.movement import Movement, solve_movement
from layoutprobe.solver.observe import Observation

DEFAULT_PATTERNS = ("rowcol", "row-coded")
"""row*256 + col in raw bits is exact in every 16-bit dtype and readable in hexadecimal. row-coded
never codes 0, so that a register that was merely cleared does not pass for element (0, 0)."""


@dataclass(frozen=True)
class Operands:
    """Where the elements of A and B arrived.

    Attributes:
        tile: (M, N, K) of the block.
        captures: of every run.
        moved: "A", "B" -> what the registers hold.
        origins: "A", "B" -> first row and column of each wave's tile.
    """

    tile: tuple[int, int, int]
    captures: list[Capture]
    moved: dict[str, Movement]
    origins: dict[str, NDArray[np.int64]]

    __repr__ = brief

    @property
    def ambiguous(self) -> list[str]:
        """Matrices of which the patterns leave elements open."""
        return [matrix for matrix, moved in self.moved.items() if moved.ambiguous.any()]


@dataclass(frozen=True)
class Accumulators:
    """What the instruction does with its slots, and where the epilogue stores them.

    Attributes:
        tile: (M, N, K) of the block.
        captures: of the epilogue and the interaction probe.
        instruction: what meets what.
        stored: where the accumulators went.
        origins: "D" -> first row and column of each wave's tile.
    """

    tile: tuple[int, int, int]
    captures: list[Capture]
    instruction: Interaction
    stored: Epilogue
    origins: dict[str, NDArray[np.int64]]

    __repr__ = brief


def bench_of(
    lds: str,
    dtype: str,
    arch: str | None,
    backend: Backend | Source | str | None,
    compiler: str | Path | None,
    probes: str | Path | None,
) -> Bench:
    """What all runs of a command share.

    Raises:
        UsageError: an argument of the wrong type, an unknown name, or probes that execute another
            instruction than the target has.
    """
    target = find(DEFAULT if arch is None else _text("arch", arch))
    instruction = target.matrix_instruction(_text("dtype", dtype))
    if _text("lds", lds) not in SCHEMES:
        raise UsageError(f"no LDS scheme named {lds!r}", expected="one of " + ", ".join(SCHEMES))
    if compiler is not None and not str(compiler):
        raise UsageError("the compiler has no name", hint="leave the option out to have one found")
    named = None if compiler is None else str(compiler)
    bench = Bench(target.name, dtype, lds, chosen(backend, target.name), named, _directory(probes))
    executed = bench.spec("interaction").instruction(dtype)
    if executed != instruction.name:
        raise UsageError(
            f"the probes do not execute the matrix instruction of {target.name} for {dtype}",
            expected=instruction.name,
            observed=executed,
        )
    return bench


def codings_of(pattern: str | Sequence[str] | None, carrier: str | None, dtype: str) -> list[Coded]:
    """The patterns, each with the carrier that holds its codes.

    Args:
        pattern: as the user names them; DEFAULT_PATTERNS where None.
        carrier: one for all; the best of each pattern where None.
        dtype: type of the elements.

    Raises:
        UsageError: no such pattern or carrier, or the carrier is no bits of such an element.
    """
    names = [pattern] if isinstance(pattern, str) else list(DEFAULT_PATTERNS if pattern is None else pattern)
    if not names:
        raise UsageError("no pattern is given", hint="leave `pattern` out to have the default")
    found = [load_pattern(_text("pattern", name)) for name in names]
    if carrier is not None and carrier_of(_text("carrier", carrier)).name not in DTYPE_CARRIERS[dtype]:
        raise UsageError(
            f"carrier {carrier} does not hold {dtype} elements",
            expected="one of " + ", ".join(DTYPE_CARRIERS[dtype]),
            hint="choose with --carrier, or leave it out to have the best",
        )
    return [(one, carrier or one.default_carrier(dtype)) for one in found]


def field_bits(codings: Sequence[Coded]) -> int:
    """Width of an element."""
    return carrier_of(codings[0][1]).bits


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise UsageError(f"`{name}` must be text", observed=f"{value!r:.60} ({type(value).__name__})")


def _directory(probes: str | Path | None) -> Path | None:
    if probes is None:
        return None
    if not isinstance(probes, str | Path):
        raise UsageError("`probes` must be a path", observed=f"{probes!r:.60} ({type(probes).__name__})")
    if not Path(probes).is_dir():
        raise UsageError("the directory of probes does not exist", where={"directory": str(probes)[:200]})
    return Path(probes)


def operands_of(bench: Bench, codings: Sequence[Coded]) -> Operands:
    """What the operand probe leaves in the registers of A and B."""
    spec = bench.spec("operand")
    m, n, k = spec.tile
    captures = bench.run_coded("operand", codings)
    moved, origins = {}, {}
    for matrix, output, shape in (("A", "a_regs", (m, k)), ("B", "b_regs", (k, n))):
        seen = observations(captures, codings, output)
        moved[matrix] = solve_movement(seen, matrix, shape, field_bits(codings))
        origins[matrix] = wave_origins(spec, matrix, moved[matrix].layout.waves)
    return Operands(spec.tile, captures, moved, origins)


def accumulators_of(bench: Bench) -> Accumulators:
    """What the interaction and epilogue probes tell."""
    target = find(bench.arch)
    fact = target.matrix_instruction(bench.dtype)
    lanes, fields = target.wave_size, 32 // fact.field_bits
    experiment = interaction_experiment(
        (lanes, fact.a_vgprs, fields), (lanes, fact.b_vgprs, fields), (lanes, fact.d_vgprs, 1), bench.dtype
    )
    inputs = {"a": experiment.a, "b": experiment.b, "c": experiment.c}
    interaction = bench.run("interaction", inputs, shape=fact.shape)
    instruction = with_documented_names(
        solve_interaction(interaction), target.matrix_form(fact.name), target.wave_size
    )
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
    return Accumulators(spec.tile, [capture, interaction], instruction, stored, origins)


def observations(
    captures: Sequence[Capture],
    codings: Sequence[Coded],
    output: str,
    cells_of: np.dtype[np.unsignedinteger] | None = None,
) -> list[Observation]:
    """One output of every run; read as cells of a dtype instead of dwords where one is given."""
    found = []
    for capture, (pattern, carrier) in zip(captures, codings, strict=True):
        raw, undefined = capture.outputs[output], capture.undefined.get(output)
        if cells_of is not None:
            raw, undefined = raw.view(cells_of), None if undefined is None else undefined.view(cells_of)
        found.append(Observation(pattern, carrier, raw, undefined))
    return found
