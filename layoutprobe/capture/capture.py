"""A Capture: what one probe run was fed and what came back, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.text import one_line

EvidenceKind = Literal["emulated", "measured", "replayed"]
Origin = Literal["emulated", "measured"]


class Evidence(Struct, frozen=True):
    """Where a capture comes from; every result carries it to the reader.

    Attributes:
        kind: "emulated", "measured" (silicon) or "replayed" (from a recorded capture).
        source: the emulator's name and version, or the device's name.
        digest: digest of the recorded capture, when replayed.
        recorded: what the recorded run was, when replayed, as the file says it.
    """

    kind: EvidenceKind
    source: str
    digest: str | None = None
    recorded: Origin | None = None

    @property
    def on_card(self) -> bool:
        """Whether a card ran it, now or, as a recorded capture has it, once."""
        return "measured" in (self.kind, self.recorded)

    def replayed(self, digest: str) -> Evidence:
        """The same, as read again from a file with that digest."""
        if self.kind == "replayed":
            return Evidence("replayed", self.source, digest, self.recorded)
        return Evidence("replayed", self.source, digest, self.kind)

    def __str__(self) -> str:
        was = f"{self.recorded} on " if self.recorded == "measured" else ""
        was = "emulated by " if self.recorded == "emulated" else was
        file = f", capture {self.digest[:12]}" if self.digest else ""
        return f"{self.kind} ({was}{one_line(self.source)}{file})"


def raw_bits(array: NDArray[Any]) -> NDArray[np.unsignedinteger]:
    """The same memory as unsigned integers of the same width."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


class Capture(Struct, frozen=True, eq=False):
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
        device: what ran it: "name", "driver", "runtime"...; empty for the emulator.
        time: when, in UTC, ISO 8601; "" where it was not noted.
    """

    probe: str
    arch: str
    evidence: Evidence
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    undefined: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    toolchain: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    time: str = ""

    __repr__ = brief

    def defined(self, name: str) -> NDArray[np.bool_]:
        """True for the elements of output `name` in which every bit is defined."""
        mask = self.undefined.get(name)
        output = self.outputs[name]
        return np.ones(output.shape, np.bool_) if mask is None else np.asarray(mask == 0)
