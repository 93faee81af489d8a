"""Outputs that are not what a Python reference gives of inputs that are not usual: see `manifest.unusual`.

It is no finding, and the headline says it. Only what is far off counts: rounding of large numbers is nobody's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.inputs import is_coded
from layoutprobe.manifest.unusual import kinds_for, unusual_of
from layoutprobe.numbers import element_type
from layoutprobe.trace.comparisons import Comparison, reference_of
from layoutprobe.trace.subject import RunSpec, Subject, UndecidedError

_LITTLE = 1 << 16
"""Bytes of a launch's buffers that cost nothing: a fault may need more of them than the smallest size has."""
_FAR = 0.1
"""Of an element, and of the usual element of its output."""


def far_off(subject: Subject, compared: Iterable[Comparison]) -> tuple[str, ...]:
    """Outputs that are far from what the reference gives of unusual inputs, each in a few words.

    Args:
        subject: with a Python reference.
        compared: its outputs in runs on usual inputs.
    """
    little = not subject.sample and sum(b.nbytes for b in subject.binding.buffers.values()) <= _LITTLE
    if subject.reference is None or not (subject.small or little):
        return ()
    inputs = [b for b in subject.binding.buffers.values() if b.argument.role != "out" and is_coded(b)]
    usual = [one for one in compared if one.spec.inputs == "normal"]
    found: dict[str, list[str]] = {}
    for kind in kinds_for(inputs):
        for name in _off(subject, kind, usual):
            unusual, about = unusual_of(kind) or (None, "")
            if unusual is not None:
                far = "is another one" if unusual.whole else "is far off"
                found.setdefault(f"{name} {far}", []).append(unusual.says.format(name=about))
    return tuple(f"{what} where {', or where '.join(where)}" for what, where in found.items())


def _off(subject: Subject, kind: str, usual: Sequence[Comparison]) -> Iterator[str]:
    """Names of the outputs that are far off."""
    unusual = unusual_of(kind)
    wanted_of = [
        one for one in usual if unusual and not (unusual[0].whole and element_type(one.dtype).is_float)
    ]
    if not wanted_of or subject.reference is None:
        return
    recorded = subject.run(RunSpec(kind), partial=True)
    if recorded.fault is not None or recorded.astray:
        return
    with np.errstate(all="ignore"):
        try:
            expected = subject.reference(reference_of(recorded), dict(subject.sizes))
        except UndecidedError:
            return
        for one in wanted_of:
            if one.name in recorded.outputs:
                wanted = np.broadcast_to(np.asarray(expected[one.name], np.float64), one.expected.shape)
                observed = np.asarray(recorded.outputs[one.name], np.float64)
                exact = unusual is not None and unusual[0].whole
                if (observed != wanted if exact else _far(observed, wanted, one.dtype)).any():
                    yield one.name


def _far(observed: NDArray[np.float64], wanted: NDArray[np.float64], dtype: str) -> NDArray[np.bool_]:
    kind = element_type(dtype)
    held = np.isfinite(wanted) & (np.abs(wanted) < kind.largest / 2) if kind.is_float else np.isfinite(wanted)
    usual = float(np.sqrt(np.mean(wanted[held] ** 2))) if held.any() else 0.0
    off = ~(np.abs(observed - wanted) <= _FAR * (np.abs(wanted) + usual) + kind.smallest)
    return np.asarray(held & off)
