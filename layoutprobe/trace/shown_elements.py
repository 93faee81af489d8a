"""Products that are right whatever their operands look like: where one factor selects, outputs show the other one.

For kernels whose slots hold no elements as they are: operands that are split, decoded, or chosen by values.
"""

from __future__ import annotations

import numpy as np

from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.selection import Pick, numbers_of
from layoutprobe.trace.by_values import selected
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.comparisons import wrong_on_integers
from layoutprobe.trace.products import product_beside
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject

_RUNS = 32
"""Runs that are made for each matrix of a small size, where it takes them to ask for every k."""
_SHARP = 4
"""Numbers of elements that differ make outputs that lie so many errors apart, at the least."""


def shown_elements(subject: Subject) -> str:
    """In words, that outputs show each element of A and B once, where it belongs; "" where they do not, or something
    is wrong with them on small integers."""
    return subject.once(_shown)


def _shown(subject: Subject) -> str:
    contract = subject.contract
    if not isinstance(contract, Gemm) or contract.split_k or wrong_on_integers(subject):
        return ""
    depth = subject.binding.buffers[contract.a].shape[-1]
    try:
        shown = [_of_matrix(subject, contract, matrix, depth) for matrix in "AB"]
    except RunStoppedError:
        return ""
    if not all(shown):
        return ""
    k = "every k" if min(shown) == depth else f"{min(shown)} of {depth} k"
    return f"where one factor selects, {contract.d} shows each element of the other in its place, at {k}"


def _of_matrix(subject: Subject, contract: Gemm, matrix: str, depth: int) -> int:
    """At how many k each element is shown where it belongs; 0 where one is not."""
    name = contract.a if matrix == "A" else contract.b
    step = subject.binding.buffers[contract.d].shape[-1 if matrix == "A" else -2]
    asked: set[int] = set()
    for first in selected(subject, contract, matrix, _RUNS if subject.small else 0):
        for digit in range(numbers_of(subject.binding, name).digits):
            run = subject.run(RunSpec(Pick(name, digit, first).kind, (), alpha=1.0, beta=0.0))
            if not _shows(product_beside(subject, contract, run)):
                return 0
        asked |= {k % depth for k in range(first, first + step)}
    return len(asked)


def _shows(c: Comparison) -> bool:
    """Every output is right, and another element would have made another one, whatever is tolerated."""
    apart = np.diff(np.unique(c.expected)).min(initial=np.inf)
    least = min(float(apart), float(np.abs(c.expected).min()))  # 0 is what stands where nothing is added
    with np.errstate(invalid="ignore"):
        return bool((np.abs(c.observed - c.expected) < least / _SHARP).all()) and not c.wrong.any()
