"""Products that are right whatever their operands look like: where one factor selects, outputs show the other one.

For kernels whose slots hold no elements as they are: operands that are split, decoded, or chosen by values.
"""

from __future__ import annotations

import numpy as np

from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.selection import numbers_of
from layoutprobe.trace.by_values import KEEP, decoded, selected
from layoutprobe.trace.products import right_to_the_unit
from layoutprobe.trace.subject import RunStoppedError, Subject

_RUNS = 32
"""Runs that are made for each matrix of a small size, where it takes them to ask for every k."""


def shown_elements(subject: Subject) -> str:
    """In words, that outputs show each element of A and B once, where it belongs; "" where they do not, or something
    is wrong with them on small integers."""
    return subject.once(_shown)


def _shown(subject: Subject) -> str:
    contract = subject.contract
    if not isinstance(contract, Gemm) or contract.split_k or contract.activation not in KEEP:
        return ""
    if not right_to_the_unit(subject):
        return ""
    try:
        shown = [_of_matrix(subject, contract, matrix) for matrix in "AB"]
    except RunStoppedError:
        return ""
    depth = subject.binding.buffers[contract.a].shape[-1]
    if not all(shown):
        return ""
    k = "every k" if min(shown) == depth else f"{min(shown)} of {depth} k"
    return f"where one factor selects, {contract.d} shows each element of the other in its place, at {k}"


def _of_matrix(subject: Subject, contract: Gemm, matrix: str) -> int:
    """At how many k each element is shown where it belongs; 0 where one is not."""
    name = contract.a if matrix == "A" else contract.b
    shape, whole = (subject.binding.buffers[one].shape for one in (name, contract.d))
    if shape[:-2] not in ((), whole[:-2]) or len(shape) < 2:
        return 0
    *batch, row, col = np.indices(whole)
    depth = shape[-1 if matrix == "A" else -2]
    asked: set[int] = set()
    for first in selected(subject, contract, matrix, _RUNS if subject.small else 0):
        number, times = decoded(subject, contract, numbers_of(subject.binding, name), name, first)
        k = ((col if matrix == "A" else row) + first) % depth
        place = (row, k) if matrix == "A" else (k, col)
        needed = np.ravel_multi_index((*(batch if len(shape) > 2 else ()), *place), shape)
        if not ((times == 1) & (number == needed)).all():
            return 0
        asked |= set(np.unique(k).tolist())
    return len(asked)
