"""Integers of which every bit matters: codes packed into words.

Small integers leave most codes of a word zero. Random bits reach them all, but are no index, no length and no sum: an
input gets them only where the reference's outputs stay as large as they were, and where no address and no branch of
the kernel depends on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.inputs import make_inputs, packed_buffers
from layoutprobe.trace.subject import Recorded, RunSpec, Subject, UndecidedError

Doubles = NDArray[np.float64]

BITS = RunSpec("bits")
_UNKNOWN = RunSpec("unknown")
_GROWTH = 64.0
"""Outputs of random bits are larger by less, where words are codes. Of numbers they would be by 2^28."""


def takes_all_bits(
    subject: Subject, inputs: dict[str, NDArray[np.generic]], usual: dict[str, Doubles]
) -> bool:
    """Whether the kernel may be run on words of random bits.

    Args:
        subject: with a Python reference.
        inputs: what the reference got of a run on other inputs.
        usual: what it gave of these.
    """
    names = [buffer.name for buffer in packed_buffers(subject.binding)]
    if not names or subject.reference is None:
        return False
    given = make_inputs(subject.binding, BITS.inputs, beta=0.0)
    words = {name: values for name in names if (values := given[name]) is not None}
    try:
        with np.errstate(all="ignore"):
            found = subject.reference(inputs | words, dict(subject.sizes))
            alike = all(_size(found[name]) <= _GROWTH * (1 + _size(values)) for name, values in usual.items())
    except UndecidedError:
        return False
    return alike and _steers_nothing(subject.run(_UNKNOWN, partial=True))


def _size(values: object) -> float:
    """Root mean square; infinite where a number is not finite."""
    size = float(np.sqrt(np.mean(np.asarray(values, np.float64) ** 2)))
    return size if np.isfinite(size) else np.inf


def _steers_nothing(recorded: Recorded) -> bool:
    """Of a run in which these words are undefined: an address or a branch that depends on them is a fault."""
    return recorded.fault is None and not recorded.astray
