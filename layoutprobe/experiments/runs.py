"""Runs the probes of a command, and solves what came back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.backends.source import Live, source_of
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import ProbeError
from layoutprobe.instructions.probe import Prober, Variant, build
from layoutprobe.instructions.solving import interaction_by
from layoutprobe.layouts.views import PACKED
from layoutprobe.probing.bench import Bench, Coding, wave_origins
from layoutprobe.solver.epilogue import Epilogue, epilogue_codes, solve_epilogue
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.movement import Movement, solve_movement
from layoutprobe.solver.observe import Observation, join_fields
from layoutprobe.toolchain import cache

OPERAND = "operand"
"""The probe whose operands come through plain loads."""


class Operands(Struct, frozen=True):
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


class Accumulators(Struct, frozen=True):
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


def operands_of(bench: Bench, codings: Sequence[Coding], probe: str = OPERAND) -> Operands:
    """What the operand probe, or the one with transposing loads, leaves in the registers of A and B."""
    spec = bench.spec(probe)
    captures = bench.run_coded(probe, codings)
    moved = {matrix: moved_in(bench, probe, captures, codings, matrix, PACKED) for matrix in "AB"}
    origins = {name: wave_origins(spec, name, one.layout.waves) for name, one in moved.items()}
    return Operands(spec.tile, captures, moved, origins)


def moved_in(
    bench: Bench, probe: str, captures: Sequence[Capture], codings: Sequence[Coding], matrix: str, view: str
) -> Movement:
    """A view of A or B in runs of a probe."""
    output = f"{matrix.lower()}_{'regs' if view == PACKED else view}"
    seen = observations(captures, codings, matrix, output)
    return solve_movement(seen, matrix, bench.coded_shapes(probe)[matrix], bench.form.element_bits(matrix))


@contextmanager
def compiled_ahead(bench: Bench) -> Iterator[None]:
    """While other probes are compiled and run, compile what `accumulators_of` needs, where the cache is still empty.
    What goes wrong there is told when it is asked for."""
    if not (cache.is_empty() and isinstance(source_of(bench.backend), Live)):
        yield
        return
    target = find(bench.arch)

    def compile_both() -> None:
        with suppress(ProbeError, OSError):
            bench.compile("epilogue")
            build(target.name, target.wave_size, bench.compiler, bench.probes)

    ahead = Thread(target=compile_both, daemon=True)
    ahead.start()
    yield
    ahead.join()


def accumulators_of(bench: Bench) -> Accumulators:
    """What the interaction and epilogue probes tell."""
    target = find(bench.arch)
    form = bench.form
    prober = Prober(Variant(form, target.name, target.wave_size), bench.backend, bench.compiler, bench.probes)
    instruction = interaction_by(prober.variant, prober)
    if not np.array_equal(instruction.meetings.c, instruction.meetings.c_to):
        raise ProbeError(
            "The instruction adds C into other slots of D",
            hint="the epilogue probe codes C and stores D, and so needs both in the same slots",
        )

    spec = bench.spec("epilogue")
    waves, vgprs, lanes = (int(extent) for extent in spec.argument("acc").shape)
    codes = epilogue_codes(waves, vgprs * 32 // form.result_bits, lanes, form.result_bits)
    acc = join_fields(codes.transpose(0, 2, 1)[..., None], form.result_bits)
    capture = bench.run("epilogue", {"acc": acc})
    stacked = form.shape[:2] if form.blocks > 1 else None
    stored = solve_epilogue(capture.outputs["C"], codes, capture.undefined.get("C"), stacked=stacked)
    origins = {"D": wave_origins(spec, "D", waves)}
    return Accumulators(spec.tile, [capture, *prober.captures], instruction, stored, origins)


def observations(
    captures: Sequence[Capture], codings: Sequence[Coding], matrix: str, output: str
) -> list[Observation]:
    """One output of every run, which shows where elements of a matrix are."""
    return [
        Observation(
            coding.pattern, coding.carriers[matrix], capture.outputs[output], capture.undefined.get(output)
        )
        for capture, coding in zip(captures, codings, strict=True)
    ]
