"""A Capture: what one probe run was fed and what came back, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

EvidenceKind = Literal["emulated", "measured", "replayed"]


@dataclass(frozen=True)
class Evidence:
    """Where a capture comes from; every result carries it to the reader.

    Attributes:
        kind: "emulated", "measured" (silicon) or "replayed" (from a recorded capture).
        source: the emulator's name and version, or the device's name.
        digest: digest of the recorded capture, when replayed.
    """

    kind: EvidenceKind
    source: str
    digest: str | None = None

    def __str__(self) -> str:
        recorded = f", capture {self.digest[:12]}" if self.digest else ""
        return f"{self.kind} ({self.source}{recorded})"


@dataclass(frozen=True, eq=False)
class Capture:
    """What a probe saw.

    Attributes:
        probe: name of the probe ("operand", "epilogue", "interaction", "roundtrip").
        arch: target of the code object, as its metadata names it.
        evidence: emulated, measured or replayed.
        inputs: arrays that the kernel read, by argument name.
        outputs: arrays that the kernel wrote, by argument name; raw bits, unsigned integers.
        undefined: same keys and shapes as outputs; set bits were never given a defined value
            (only an emulator can know; empty on silicon).
        parameters: what selects the run: lds scheme, matrix, dtype, pattern, tile, seed.
        toolchain: compiler version, flags and code-object digest.
    """

    probe: str
    arch: str
    evidence: Evidence
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    undefined: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    toolchain: Mapping[str, str] = field(default_factory=dict)

    def defined(self, name: str) -> NDArray[np.bool_]:
        """True for the elements of output `name` in which every bit is defined."""
        mask = self.undefined.get(name)
        output = self.outputs[name]
        return np.ones(output.shape, np.bool_) if mask is None else np.asarray(mask == 0)
