"""A bench: the choices that every run of one command shares, and the probes run under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import lcm
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import MatrixForm, find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import Layout
from layoutprobe.patterns.expression import evaluate, parse
from layoutprobe.patterns.pattern import Pattern
from layoutprobe.probing.run import build, run_probe
from layoutprobe.probing.spec import SLOT_NAMES, ArgumentSpec, ProbeSpec, load_spec

_ACC = "ACC"
"""The define that puts what the instruction reads and writes into AccVGPRs."""


class Coding(Struct, frozen=True):
    """A pattern, and what each matrix is coded in by it.

    Attributes:
        pattern: the formula.
        carriers: matrix -> its carrier; they differ where A and B have elements of different widths.
    """

    pattern: Pattern
    carriers: Mapping[str, str]

    @property
    def carrier(self) -> str:
        """All carriers, each once: "raw8", "raw8 and raw4"."""
        return " and ".join(dict.fromkeys(self.carriers.values()))


class _Choices(TypedDict):
    arch: str
    dtype: str
    instruction: MatrixForm
    lds: str
    defines: Mapping[str, int]
    compiler: str | None


class Bench(Struct, frozen=True, dict=True):
    """Where and how probes run.

    Attributes:
        arch: target to compile for.
        form: the matrix instruction that the probes execute.
        lds: LDS scheme of the probes that go through LDS.
        backend: what executes, or what once did.
        compiler: which compiler, or None for the best there is.
        probes: directory of the probes, or None for the shipped ones.
        acc: operands and accumulators are AccVGPRs.
    """

    arch: str
    form: MatrixForm
    lds: str
    backend: Backend | Source
    compiler: str | None = None
    probes: Path | None = None
    acc: bool = False

    @cached_property
    def _specs(self) -> dict[str, ProbeSpec]:
        """Declarations that were read."""
        return {}

    @property
    def dtype(self) -> str:
        """Element type of A and B."""
        return self.form.dtype

    def spec(self, name: str) -> ProbeSpec:
        """The declaration of a probe on this bench; read once.

        Raises:
            UsageError: no such probe, or it executes another instruction.
        """
        if name not in self._specs:
            self._specs[name] = self._checked(load_spec(find(self.arch).probes + name, self.probes))
        return self._specs[name]

    def _checked(self, spec: ProbeSpec) -> ProbeSpec:
        executed = spec.instruction(self.dtype) if spec.instructions else self.form.name
        if executed != self.form.name:
            raise UsageError(
                f"the probes do not execute the matrix instruction of {self.arch} for {self.dtype}",
                where={"file": spec.source.with_suffix(".toml")},
                expected=self.form.name,
                observed=executed,
            )
        return spec.sized(self.form)

    def run(self, name: str, inputs: Mapping[str, NDArray[Any]], **parameters: object) -> Capture:
        """One launch of one probe; `parameters` go into the capture."""
        spec, choices = self.spec(name), self._choices(name)
        captured = {**parameters, **choices["defines"]}
        return run_probe(spec, inputs=inputs, backend=self.backend, parameters=captured, **choices)

    def compile(self, name: str) -> None:
        """Have the cache hold what a run of a probe needs.

        Raises:
            ToolchainError: the probe does not compile.
        """
        build(self.spec(name), **self._choices(name))

    def _choices(self, name: str) -> _Choices:
        """What a probe is compiled for."""
        spec = self.spec(name)
        return {
            "arch": self.arch,
            "dtype": self.dtype,
            "instruction": self.form,
            "lds": self.lds if "LDS_SCHEME" in spec.defines else "none",
            "defines": {_ACC: 1} if self.acc and _ACC in spec.defines else {},
            "compiler": self.compiler,
        }

    def coded_shapes(self, name: str) -> dict[str, tuple[int, int]]:
        """Matrix -> rows and columns, of the matrices that a probe is given."""
        inputs = [a for a in self.spec(name).arguments if a.role == "in"]
        return {argument.matrix: _matrix_shape(argument.shape) for argument in inputs}

    def run_coded(self, name: str, codings: Sequence[Coding]) -> list[Capture]:
        """The probe once per pattern, every input matrix coded by it."""
        inputs = [a for a in self.spec(name).arguments if a.role == "in"]
        captures = []
        for coding in codings:
            coded = {a.name: _coded(a, coding) for a in inputs}
            captures.append(self.run(name, coded, pattern=spelled(coding.pattern), carrier=coding.carrier))
        return captures


def spelled(pattern: Pattern) -> str:
    """The pattern as a user would ask for it again: "random:seed=7"."""
    values = ",".join(f"{name}={value}" for name, value in pattern.parameters.items())
    return f"{pattern.name}:{values}" if values else pattern.name


def wave_origins(spec: ProbeSpec, matrix: str, waves: int) -> NDArray[np.int64]:
    """First row and column of each wave's tile, as the probe declares them: int64 [wave, 2]."""
    return np.arange(waves, dtype=np.int64)[:, None] * np.asarray(spec.wave_tile(matrix), np.int64)


def declared(argument: ArgumentSpec, shape: tuple[int, int], field_bits: int) -> Layout:
    """What the halves of a register dump are declared to hold.

    Args:
        argument: a dump with axes [wave, vgpr, lane] that declares it; "vgpr" counts as of `Layout`.
        shape: rows and columns of the matrix.
        field_bits: width of an element.
    """
    waves, vgprs, lanes = (int(extent) for extent in argument.shape)
    group = lcm(field_bits, 32)
    extents = (waves, lanes, vgprs * 32 // group, group // field_bits)
    grids = dict(
        zip(("wave", "lane", "vgpr", "half"), np.indices(extents, np.int64, sparse=True), strict=True)
    )
    row, col = (
        np.broadcast_to(evaluate(parse(text, SLOT_NAMES), grids), extents).astype(np.int32)
        for text in argument.holds
    )
    return Layout(argument.matrix, shape, row, col, field_bits)


def _coded(argument: ArgumentSpec, coding: Coding) -> NDArray[np.unsignedinteger]:
    matrix = argument.matrix
    return coding.pattern.encode_matrix(matrix, _matrix_shape(argument.shape), coding.carriers[matrix])


def _matrix_shape(shape: tuple[int | str, ...]) -> tuple[int, int]:
    rows, cols = (int(extent) for extent in shape)
    return rows, cols
