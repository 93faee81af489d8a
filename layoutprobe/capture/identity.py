"""When two runs were asked the same: one digest over all that a probe is fed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.text import one_line

_SHOWN = ("instruction", "dtype", "wave", "opsel", "modifier", "lds", "pattern", "carrier")


def said(probe: str, arch: str, parameters: Mapping[str, Any]) -> str:
    """A run in words."""
    chosen = [f"{name}={parameters[name]}" for name in _SHOWN if parameters.get(name) not in (None, "")]
    return one_line(" ".join([probe, "on", arch, *chosen]))


def same_question(
    probe: str, arch: str, parameters: Mapping[str, Any], inputs: Mapping[str, NDArray[Any]]
) -> bytes:
    """Digest of all that a run was fed; equal for equal runs, whatever they ran on."""
    digest = hashlib.sha256()
    digest.update(json.dumps([probe, arch, parameters], sort_keys=True, default=_plain).encode())
    for name in sorted(inputs):
        data = np.ascontiguousarray(inputs[name])
        digest.update(f"\0{name}\0{data.dtype.str}\0{data.shape}\0".encode())
        digest.update(data.tobytes())
    return digest.digest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no parameter of a capture")
