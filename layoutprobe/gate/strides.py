"""What a manifest says that a source should know: which integer is a stride, the numbers of launches and pitches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.model import KernelCase, Reference
from layoutprobe.report.finding import Finding
from layoutprobe.rewrites.quantities import LEAST_LARGE
from layoutprobe.solver.diagnose import BATCH_STRIDE

_OUTPUTS = "CD"


def scalars_for(case: KernelCase, finding: Finding) -> Sequence[str]:
    """All of them by name; those first that are, at every size, the stride of the matrix that a finding is about."""
    try:
        bound = [bind(case, sizes) for sizes in case.sizes]
    except UsageError:
        return ()
    named = [name for name in bound[0].scalars if all(isinstance(one.scalars[name], int) for one in bound)]
    right = [_stride(one, finding) for one in bound]
    return sorted(named, key=lambda name: [one.scalars[name] for one in bound] != right)


def numbers_told(case: KernelCase) -> Sequence[int]:
    """Numbers of what says how large a launch is, and how far apart rows lie; large ones of a Python reference."""
    pitches = [argument.ld for argument in case.arguments if argument.ld is not None]
    texts = (one.text for one in (*case.grid, *case.block, *pitches))
    small = {int(number) for text in texts for number in re.findall(r"\b\d{1,5}\b", text)} - {0, 1}
    return [*sorted(small), *_of_reference(case)]


def _of_reference(case: KernelCase) -> list[int]:
    """Large numbers that a Python reference has, as keys and multipliers are, in their order."""
    if not isinstance(case.contract, Reference):
        return []
    try:
        text = case.contract.path.read_text(errors="replace")[:_LONGEST]
    except OSError:
        return []
    found = dict.fromkeys(int(number, 0) for number in _LARGE.findall(text))
    return [number for number in found if number >= LEAST_LARGE][:_MOST]


_LARGE = re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]{5,16}|[1-9]\d{4,18})(?![\w.])")
_LONGEST, _MOST = 1 << 18, 16


def _stride(bound: Binding, finding: Finding) -> int:
    """Elements between rows (columns), or between batches, as the manifest has them; 0 where the finding is about no
    matrix of its own."""
    letters = _OUTPUTS if finding.place.matrix in tuple(_OUTPUTS) else finding.place.matrix
    for buffer in bound.buffers.values():
        if buffer.argument.matrix and buffer.argument.matrix in letters:
            batches = finding.name == BATCH_STRIDE and len(buffer.strides) > 2
            return buffer.strides[0] if batches else max(buffer.strides[-2:])
    return 0
