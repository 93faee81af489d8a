"""What a verdict rests on that nobody has proven: matrix instructions whose sources contradict each other."""

from __future__ import annotations

from collections.abc import Iterable

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form


def unproven(insts: Iterable[Inst]) -> tuple[str, ...]:
    """Each in a few words, for a headline; once for each mnemonic and reason."""
    found = []
    for inst in insts:
        form = matrix_form(inst) if Kind.MATRIX in inst.kind else None
        if form and (reason := form.unproven(inst.mods)):
            found.append(f"{inst.name} unproven: {reason}")
    return tuple(dict.fromkeys(found))
