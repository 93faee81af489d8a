"""The interaction probe: the kernel of a matrix instruction, and one launch after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Backend, Buffer, Launch
from layoutprobe.backends.source import Prepared, Request, Source, captures_of, source_of
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import CodeObjectError, ProbeError, UsageError
from layoutprobe.toolchain.compile import compile_hip

Words = NDArray[np.uint32]


class Variant(Struct, frozen=True):
    """What selects a kernel of the probe.

    Attributes:
        form: the instruction.
        arch: target.
        wave: 32 or 64.
        opsel: as of MatrixForm.opsels.
        modifier: "", or for the integer forms "neg1" (A signed), "neg2" (B signed), "clamp" (A and
            B signed, sums saturate).
    """

    form: MatrixForm
    arch: str
    wave: int
    opsel: int = 0
    modifier: str = ""

    @property
    def kernel(self) -> str:
        """Name of its kernel in HIP."""
        suffix = f"opsel{self.opsel}" if self.opsel else self.modifier
        formats = self.form.written.replace(":", "").split()
        return "__".join(filter(None, (self.form.name, "_".join(formats), suffix)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the kernel's inputs, in order."""
        scales = ("scale_a", "scale_b") if self.form.scaled else ()
        return ("a", "b", "c", "index" if self.form.sparse else "old", *scales)


@lru_cache(maxsize=8)
def build(
    arch: str, wave: int, compiler: str | None = None, probes: Path | None = None
) -> tuple[CodeObject, Mapping[str, str]]:
    """The code object with a kernel for every instruction of the target, and what compiled it.

    Args:
        arch: target.
        wave: 32 or 64.
        compiler: which compiler.
        probes: directory of probes to use instead of the shipped ones.

    Raises:
        ToolchainError: there is no compiler, or it refuses the probe.
    """
    wide = wave == 64
    compiled = compile_hip(
        (probes or asset_dir("probes")) / "interaction.hip",
        target=arch,
        defines={"WAVE64": 1} if wide else {},
        flags=("-mwavefrontsize64",) if wide else (),
        compiler=compiler,
    )
    return load(compiled.data), compiled.toolchain


class Built(Struct, frozen=True):
    """The kernel of a variant.

    Attributes:
        code: where it is.
        kernel: its name there.
        toolchain: what compiled it.
    """

    code: CodeObject
    kernel: str
    toolchain: Mapping[str, str]


Kernels = Callable[[Variant, str | None, Path | None], Built]
"""(variant, compiler, directory of probes) -> its kernel."""


def _hip_kernel(variant: Variant, compiler: str | None, probes: Path | None) -> Built:
    code, toolchain = build(variant.arch, variant.wave, compiler, probes)
    kernel = code.kernel(variant.kernel)
    if kernel.wavefront_size != variant.wave or len(kernel.explicit_args) != len(variant.inputs) + 1:
        raise CodeObjectError("the interaction probe is not what its table says",
                              where={"kernel": variant.kernel})  # fmt: skip
    return Built(code, variant.kernel, toolchain)


_KERNELS: dict[str, Kernels] = {"hip": _hip_kernel}


def register_kernels(language: str, kernels: Kernels) -> None:
    """Say how the kernels of the probe are made for forms of another language."""
    _KERNELS[language] = kernels


class Prober(Struct):
    """Launches the kernel of a variant, and keeps what came back.

    Attributes:
        variant: which kernel.
        backend: where it runs, or was recorded.
        compiler: which compiler.
        probes: directory of probes to use instead of the shipped ones.
        captures: one per launch, in order.
    """

    variant: Variant
    backend: Backend | Source
    compiler: str | None = None
    probes: Path | None = None
    captures: list[Capture] = field(default_factory=list)

    __repr__ = brief

    def __call__(self, operands: Mapping[str, Words]) -> Words:
        """D of one launch; all uint32 [wave, vgpr, lane].

        Raises:
            ExecutionError: the kernel cannot be run.
            ProbeError: D has undefined bits.
        """
        return self.together([operands])[0]

    def together(self, asked: Sequence[Mapping[str, Words]]) -> list[Words]:
        """D of several launches, which are one where the source can; errors as for one."""
        captures = captures_of(source_of(self.backend), [self._request(operands) for operands in asked])
        for capture in captures:
            if not capture.defined("d").all():
                raise ProbeError("The interaction probe returned undefined bits",
                                 where={"kernel": self.variant.kernel},
                                 hint="the probe kernel is at fault")  # fmt: skip
        self.captures += captures
        return [np.asarray(capture.outputs["d"]) for capture in captures]

    def _request(self, operands: Mapping[str, Words]) -> Request:
        variant = self.variant
        inputs = {name: operands[name] for name in variant.inputs}
        parameters = {
            "instruction": variant.form.spelling,
            "wave": variant.wave,
            "opsel": variant.opsel,
            "modifier": variant.modifier,
        }
        return Request("interaction", variant.arch, inputs, parameters, lambda: self._prepare(inputs))

    def _prepare(self, inputs: Mapping[str, Words]) -> Prepared:
        variant = self.variant
        built = _KERNELS[variant.form.language](variant, self.compiler, self.probes)
        waves, vgprs = len(inputs["a"]), variant.form.vgprs(variant.wave)["D"]
        out = Buffer(np.zeros((waves, vgprs, variant.wave), np.uint32), undefined=True)
        args = [*(Buffer(np.ascontiguousarray(x)) for x in inputs.values()), out]
        launch = Launch(built.code, built.kernel, (waves, 1, 1), (variant.wave, 1, 1), args)
        return Prepared(launch, {"d": len(args) - 1}, built.toolchain, stacked=True)

    @property
    def evidence(self) -> Evidence:
        """Of the launches so far.

        Raises:
            UsageError: there were none.
        """
        if not self.captures:
            raise UsageError("nothing was launched")
        return self.captures[0].evidence
