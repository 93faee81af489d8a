"""A second launch, and a third one, find workspaces as those before have left them: counters, flags, parts of sums.

Whether the host sets them to zero in between, no manifest says. So it is no finding where a kernel needs that, and
the headline says it.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from layoutprobe.manifest.model import Gemm
from layoutprobe.trace.references import reference_bound
from layoutprobe.trace.subject import Recorded, Subject


def in_need_of_zeros(subject: Subject, judged: set[str]) -> tuple[str, ...]:
    """Workspaces that a second launch must find as the first found them, in a few words.

    Args:
        subject: the kernel at one size.
        judged: names of the outputs that the contract speaks of: those are no workspaces.
    """
    contract = subject.contract
    given = {contract.c} if isinstance(contract, Gemm) else set()
    buffers = subject.binding.buffers.values()
    names = [b.name for b in buffers if b.argument.role == "inout" and b.argument.initial == "zero"]
    names = [name for name in names if name not in judged | given]
    first = subject.plain()
    changed = [name for name in names if name in first.outputs and np.any(first.outputs[name])]
    if not changed or not subject.small or first.fault is not None:
        return ()
    for launch, called in _LATER.items():
        later = subject.run(
            replace(first.spec, observers=(), again=tuple(changed), launch=launch), partial=True
        )
        if later.fault is not None or later.astray or not _same(subject, first, later, names):
            are = "is" if len(changed) == 1 else "are"
            return (f"a {called} launch goes wrong unless {', '.join(changed)} {are} zeroed",)
    return ()


_LATER = {2: "second", 3: "third"}
"""Launches that find what others have left: where two halves take turns, the third is the first to find it."""


def _same(subject: Subject, first: Recorded, second: Recorded, workspaces: list[str]) -> bool:
    """Whether both launches leave the same outputs, up to the order of sums."""
    if first.undefined.keys() - set(workspaces) != second.undefined.keys() - set(workspaces):
        return False
    for name, one in first.outputs.items():
        if name in workspaces:
            continue
        wanted, found = np.asarray(one, np.float64), np.asarray(second.outputs[name], np.float64)
        with np.errstate(all="ignore"):
            off = np.abs(found - wanted) > reference_bound(subject, name, wanted)
        if (off | (np.isnan(found) != np.isnan(wanted))).any():
            return False
    return True
