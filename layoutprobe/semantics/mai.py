"""What modifiers of CDNA's matrix instructions do to operands: broadcasts, negation, scales.

Sources: AMD's matrix instruction calculator and lab notes (cbsz, abid, blgp), which agree; of a broadcast
to some blocks and not to all, the CDNA4 ISA guide says something else (block number by lane), and no card
has decided it (`MatrixForm.unproven`). Negation and scales: CDNA4 ISA guide, 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from msgspec.structs import replace

from layoutprobe.arch.fragments import Fragment
from layoutprobe.arch.matrix import Fragments, MatrixForm
from layoutprobe.isa.inst import Inst
from layoutprobe.semantics.registry import UnsupportedFormError

Modifiers = tuple[int, int, int]
"""cbsz, abid, blgp."""

_LANE = np.arange(64)
_OF_B = (
    _LANE,
    _LANE % 32,
    32 + _LANE % 32,
    (_LANE + 16) % 64,
    *(16 * group + _LANE % 16 for group in range(4)),
)
"""By blgp: the lane whose B each lane is given."""


def negated(form: MatrixForm, inst: Inst) -> Inst:
    """The instruction with blgp of f64 forms as what it is there: signs of A, B and C."""
    if form.a != "f64" or not (signs := inst.mods.get("blgp", 0)):
        return inst
    sources = tuple(replace(o, neg=o.neg ^ bool(signs >> n & 1)) for n, o in enumerate(inst.src))
    return replace(inst, src=sources, mods={**inst.mods, "blgp": 0})


def broadcast(form: MatrixForm, mods: Mapping[str, int]) -> Modifiers:
    """The modifiers that rearrange A and B; zeros where they mean something else.

    Raises:
        UnsupportedFormError: the instruction has no such broadcast.
    """
    cbsz, abid, blgp = (mods.get(name, 0) for name in ("cbsz", "abid", "blgp"))
    if form.sparse or form.select.keys() & {"cbsz"} or form.a == "f64":
        return 0, 0, 0
    if (cbsz or abid) and ("A" not in form.broadcasts or 1 << cbsz > form.blocks or abid >= 1 << cbsz):
        raise UnsupportedFormError(f"{form.name} with cbsz {cbsz} and abid {abid}")
    if blgp and "B" not in form.broadcasts:
        raise UnsupportedFormError(f"{form.name} with blgp {blgp}")
    return cbsz, abid, blgp


def arranged(form: MatrixForm, wave: int, opsel: int, modifiers: Modifiers) -> Fragments:
    """The fragments as the modifiers make them."""
    return _moved(form, wave, opsel, modifiers) if any(modifiers) else form.fragments(wave, opsel)


@cache
def _moved(form: MatrixForm, wave: int, opsel: int, modifiers: Modifiers) -> Fragments:
    fragments = form.fragments(wave, opsel)
    cbsz, abid, blgp = modifiers
    a, b = fragments["A"], fragments["B"]
    row = np.arange(a.lane.shape[1])
    block, line = np.divmod(row, form.shape[0])
    source = (block >> cbsz << cbsz | abid) * form.shape[0] + line
    of_a = Fragment(a.lane[:, source], a.bit[:, source], a.vgprs, a.bits)
    of_b = Fragment(_OF_B[blgp][b.lane], b.bit, b.vgprs, b.bits)
    return {**fragments, "A": of_a, "B": of_b}
