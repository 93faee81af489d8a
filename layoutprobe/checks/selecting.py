"""Findings of numerics from runs in which the output is a copy of B, or zero; see `manifest.selection`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from layoutprobe.manifest.model import Gemm
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.selection import (
    LEAK,
    NO_ROW,
    NOT_ZERO,
    OTHER_COLUMN,
    OTHER_ROW,
    SelectionFault,
    asked,
    selection_faults,
)
from layoutprobe.trace.stores import writer_of
from layoutprobe.trace.subject import Subject

_RULES = {
    rule.id.partition("/")[2]: rule
    for rule in (
        Rule(
            f"numerics/{OTHER_ROW}",
            "with an identity as A, rows of D are other rows of B",
            "The product is then a copy of B, so that each element names the row that it came from. Rows that fold, "
            "or come from another step of K, are read at a wrong address, or were stored at one.",
            "compare the row that is stored to LDS with the one that the read's address names, and any row permute "
            "with its inverse; `layoutprobe inspect` shows the operand, `layoutprobe solve-swizzle` the addresses",
        ),
        Rule(
            f"numerics/{OTHER_COLUMN}",
            "with an identity as A, rows of D are right and their columns are not",
            "Each element names its column of B. A column that is off by half an operand is the sign of a read whose "
            "address is of another family than the swizzle of the store, or of packing that is wrong in one block.",
            "look at the block of columns that is wrong alone; `layoutprobe pack` solves its packing",
        ),
        Rule(
            f"numerics/{NO_ROW}",
            "with an identity as A, an element of D is no element of B, or none arrives",
            "Each row of A selects one element of B. What is the sum of several, was changed on its way, or is not "
            "there at all, is no copy.",
            "look for accumulators that are not reset, elements that are added twice, and bytes packed apart",
        ),
        Rule(
            f"numerics/{NOT_ZERO}",
            "an input is all zeros, and the output is not",
            "Every product with it is zero. Something else is added: what an accumulator or LDS held before, or "
            "elements beyond the edge.",
            "look at what is stored to LDS beyond the edges, and at the first value of the accumulators",
        ),
        Rule(
            f"numerics/{LEAK}",
            "rows of B that are selected by nothing show in the output",
            "All but some rows of B are zero, and so are all rows of D that select the others. What shows there was "
            "read from another step of K: an address that was computed once is overwritten in the loop, a buffer is "
            "one step late.",
            "follow the registers that hold addresses of prefetches through one pass of the loop",
        ),
    )
}
SELECTION_RULES = tuple(_RULES.values())


def with_selection(
    subject: Subject, compared: Sequence[Comparison], found: Sequence[Finding], plain: Rule
) -> list[Finding]:
    """The findings; where all that is known of an output is that it is wrong, what a selection shows instead.

    Args:
        subject: the kernel.
        compared: what the findings rest on.
        found: the findings.
        plain: the rule of findings that know no more.
    """
    named = {c.name: c.output for c in compared}
    faults = {fault.output: fault for fault in reversed(list(selection_faults(subject)))}
    left = list(found)
    for output, fault in faults.items():
        same = [one for one in left if one.place.element and named.get(one.place.element.matrix) == output]
        # With the addend zero, too, nothing but a value that is there before the first product explains a rest.
        if fault.name == NOT_ZERO or all(one.rule == plain for one in same):
            left = [one for one in left if one not in same] + [_selected(subject, fault)]
    return left


def _selected(subject: Subject, fault: SelectionFault) -> Finding:
    """A finding of a run in which the output is a copy, or zero."""
    index = tuple(int(i) for i in np.argwhere(fault.wrong)[0])
    flat = int(np.ravel_multi_index(index, fault.wrong.shape))
    contract = subject.contract
    stored = None
    if not (isinstance(contract, Gemm) and contract.split_k):
        stored = writer_of(subject, fault.output, flat)
    rule = _RULES[fault.name]
    return Finding(
        rule,
        fault.says,
        replace(stored or Place(kernel=subject.kernel.name), element=Element(fault.output, index)),
        expected=fault.expected,
        observed=fault.observed,
        hint=rule.mend,
        count=int(fault.wrong.sum()),
    )


__all__ = ["SELECTION_RULES", "asked", "with_selection"]
