"""Inputs of a reference that are larger than usual: sums that overflow, and a mask that is a number and no infinity.

What a kernel has to bear is not said by its reference. So it is no finding where it does not bear this, and the
headline says it. Only what is far off counts: rounding of large numbers is nobody's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.inputs import LARGE, is_coded
from layoutprobe.numbers import element_type
from layoutprobe.trace.comparisons import Comparison, reference_of
from layoutprobe.trace.subject import RunSpec, Subject, UndecidedError

_WIDE = ("f16", "bf16", "f32", "f64")
_FAR = 0.1
"""Of an element, and of the usual element of its output."""
_MOST = 4
"""Inputs that are tried."""


def far_off(subject: Subject, compared: Iterable[Comparison]) -> tuple[str, ...]:
    """Outputs that are far from what the reference gives where one input is large, each in a few words.

    Args:
        subject: with a Python reference.
        compared: its outputs in runs on usual inputs.
    """
    if subject.reference is None or not subject.small:
        return ()
    inputs = (b for b in subject.binding.buffers.values() if b.argument.role != "out" and is_coded(b))
    names = [b.name for b in inputs if b.dtype in _WIDE and len(b.shape) > 1]
    usual = [one for one in compared if one.spec.inputs == "normal"]
    return tuple(says for name in names[:_MOST] for says in _off(subject, name, usual))


def _off(subject: Subject, name: str, usual: Sequence[Comparison]) -> Iterator[str]:
    recorded = subject.run(RunSpec(LARGE + name), partial=True)
    if recorded.fault is not None or recorded.astray or subject.reference is None:
        return
    with np.errstate(all="ignore"):
        try:
            expected = subject.reference(reference_of(recorded), dict(subject.sizes))
        except UndecidedError:
            return
        for one in usual:
            if one.name in recorded.outputs:
                wanted = np.broadcast_to(np.asarray(expected[one.name], np.float64), one.expected.shape)
                if _far(np.asarray(recorded.outputs[one.name], np.float64), wanted, one.dtype).any():
                    yield f"{one.name} is far off where {name} is large (rows 256 higher or lower)"


def _far(observed: NDArray[np.float64], wanted: NDArray[np.float64], dtype: str) -> NDArray[np.bool_]:
    kind = element_type(dtype)
    held = np.isfinite(wanted) & (np.abs(wanted) < kind.largest / 2) if kind.is_float else np.isfinite(wanted)
    usual = float(np.sqrt(np.mean(wanted[held] ** 2))) if held.any() else 0.0
    off = ~(np.abs(observed - wanted) <= _FAR * (np.abs(wanted) + usual) + (0.0 if kind.is_float else 1.0))
    return np.asarray(held & off)
