"""What a verdict rests on that nobody has proven: instructions whose sources contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form

_STOCHASTIC = re.compile(r"v_cvt_(scalef32_)?sr_[bf]")
_STORIES = "AMD's ISA guide rounds to nearest behind the random bits, its HIP headers cut off"


def unproven(insts: Iterable[Inst]) -> tuple[str, ...]:
    """Each in a few words, for a headline; once for each mnemonic and reason."""
    found = []
    for inst in insts:
        form = matrix_form(inst) if Kind.MATRIX in inst.kind else None
        if _STOCHASTIC.match(inst.name):
            found.append(f"{inst.name} unproven: {_STORIES}")
        if form and (reason := form.unproven(inst.mods)):
            found.append(f"{inst.name} unproven: {reason}")
    return tuple(dict.fromkeys(found))
