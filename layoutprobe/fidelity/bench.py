"""What an experiment is, and what it may use: the source that is judged, and the emulator beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.arch import MatrixForm, find
from layoutprobe.arch.base import Arch
from layoutprobe.backends.recorded import NotRecordedError
from layoutprobe.backends.source import Request, Source, chosen
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.instructions.probe import Prober, Variant
from layoutprobe.probing.run import run_probe
from layoutprobe.probing.spec import load_spec
from layoutprobe.report.fidelity import Case

Words = NDArray[np.uint32]


class Experiment(Struct, frozen=True):
    """One question to a card.

    Attributes:
        name: short, as reports list it.
        question: what it decides, one sentence.
        meaning: what a difference would mean for users of the emulator.
        reference: what the observations are compared with, in words.
        refusal: why it does not apply to a target, "" where it does.
        run: looks at one case after the other.
    """

    name: str
    question: str
    meaning: str
    reference: str
    refusal: Callable[[Arch], str]
    run: Callable[[Bench], Iterable[Case]]


class Bench(Struct, eq=False):
    """Runs the probes of one experiment.

    Attributes:
        target: what the code is compiled for.
        card: the source that is judged.
        on_card: whether a card answers, or once answered what is replayed; None until it is known.
        captures: of the judged source, in order.
    """

    target: Arch
    card: Source
    on_card: bool | None = None
    captures: list[Capture] = field(default_factory=list)

    __repr__ = brief

    @classmethod
    def of(cls, arch: str, card: Source) -> Bench:
        """A bench for a target.

        Raises:
            UsageError: no such target.
        """
        return cls(find(arch), card)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Of the captures so far, each kind once."""
        return tuple(dict.fromkeys(capture.evidence for capture in self.captures))

    def capture(self, request: Request) -> Capture:
        """An answer of the judged source, noted down.

        Raises:
            UsageError: it does not have the outputs that the probe has: the file was not recorded so.
        """
        answer = self.card.capture(request)
        _check(answer, self._shapes(request))
        self.captures.append(answer)
        self.on_card = answer.evidence.on_card
        return answer

    def _shapes(self, request: Request) -> dict[str, tuple[int, ...]]:
        """Outputs of a request that is made here, and their extents."""
        if request.probe == "interaction":
            wave, form = (
                request.parameters["wave"],
                self.target.matrix_form(request.parameters["instruction"]),
            )
            return {"d": (len(request.inputs["a"]), form.vgprs(wave)["D"], wave)}
        spec, sizes = load_spec(request.probe), dict[int | str, int]()
        for argument in spec.arguments:
            if argument.role == "in":
                sizes |= dict(zip(argument.shape, request.inputs[argument.name].shape, strict=True))
        return {
            argument.name: tuple(sizes.get(extent, 0) or int(extent) for extent in argument.shape)
            for argument in spec.arguments
            if argument.role == "out"
        }

    def reference(self, arithmetic: str = "ieee") -> Source:
        """The emulator.

        Raises:
            UsageError: it does not execute code for the target.
        """
        return _emulator(self.target.name, arithmetic)

    def instruction(
        self, variant: Variant, operands: Mapping[str, Words], arithmetic: str = "ieee"
    ) -> tuple[Words, Words]:
        """D of a matrix instruction on the judged source and on the emulator: uint32 [wave, vgpr, lane]."""
        return (
            Prober(variant, self)(operands),
            Prober(variant, self.reference(arithmetic))(operands),
        )

    def probe(self, name: str, inputs: Mapping[str, NDArray[Any]], **how: Any) -> tuple[Capture, Capture]:
        """A capture of the judged source and one of the emulator.

        Args:
            name: of a probe below probes/fidelity.
            inputs: as the probe declares them.
            how: as of `layoutprobe.probing.run.run_probe`.
        """
        return self.ask(name, inputs, **how), self.ask(name, inputs, source=self.reference(), **how)

    def ask(
        self, name: str, inputs: Mapping[str, NDArray[Any]], source: Source | None = None, **how: Any
    ) -> Capture:
        """A capture of the judged source, or of another."""
        spec = load_spec(f"fidelity/{name}")
        return run_probe(spec, arch=self.target.name, inputs=inputs, backend=source or self, **how)


def _check(capture: Capture, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """A file is a stranger's: its arrays may be any."""
    found = {name: (array.dtype, array.shape) for name, array in capture.outputs.items()}
    wanted = {name: (np.dtype(np.uint32), shape) for name, shape in shapes.items()}
    if found != wanted:
        raise UsageError(
            f"a capture of the {capture.probe} probe has other outputs than the probe",
            expected=", ".join(f"{name} {dtype}{list(shape)}" for name, (dtype, shape) in wanted.items()),
            observed=", ".join(f"{name:.40} {dtype}{list(shape)}" for name, (dtype, shape) in found.items()),
        )


@cache
def _emulator(arch: str, arithmetic: str) -> Source:
    """One for each mode: a backend keeps the kernels that it has bound."""
    return chosen(None, arch, arithmetic=arithmetic)


def attempted(name: str, look: Callable[[], Case]) -> Case:
    """A case; undecided where its probe cannot be run, or was not recorded."""
    try:
        return look()
    except ProbeError as error:
        return Case(name, "undecided", said(error))


def said(error: ProbeError) -> str:
    """An error in one line; of a run that is missing, not what the file has instead, case by case."""
    if isinstance(error, NotRecordedError):
        return error.what
    where = ", ".join(f"{name} {value}" for name, value in error.where.items())
    parts = [error.what, where, error.observed or ""]
    return ": ".join(" ".join(part.split()) for part in parts if part)


def always(target: Arch) -> str:
    """The refusal of an experiment that applies to every target whose code the emulator executes."""
    return "" if target.emulated else f"the emulator does not execute code for {target.name}"


def waves_of_32(target: Arch) -> str:
    """The refusal of an experiment whose probe is written for waves of 32 lanes, in RDNA's assembly."""
    if target.wave_size == 32:
        return always(target)
    return f"its probe is written for waves of 32 lanes; those of {target.name} have {target.wave_size}"


def where_some(target: Arch, has: Callable[[MatrixForm], bool], otherwise: str) -> str:
    """The refusal of an experiment about what only some matrix instructions have.

    Args:
        target: the target.
        has: whether an instruction has it.
        otherwise: what those of a target have that has none such.
    """
    some = any(has(form) for form in target.matrix.values())
    return "" if some else f"the matrix instructions of {target.name} have {otherwise}"
