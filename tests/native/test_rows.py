"""Every traced form against the numpy row that it was traced from.

The values are those at which instructions go wrong, and EXEC is partly off. Floats that are NaN need to be NaN:
of two NaN, which payload comes out depends on the order in which a compiler gives the operands to the processor.
Undefined bits are for test_guards.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from examples import WHOLE
from oracle.families import SCALAR, VECTOR
from oracle.forms import fill, fill_scalars, generator, scalar_forms, vector_forms
from oracle.harness import Image, execute
from oracle.language import current, speaking
from oracle.languages import CDNA4, RDNA4
from oracle.test_semantics_families import FAMILIES

from layoutprobe import semantics
from layoutprobe.isa.inst import NULL, Inst
from layoutprobe.machine.registers import Array
from native.alone import Alone

WAVES = 4
PARTS = 6
EACH = 1
"""Forms of each encoding of a mnemonic."""
_NO_FORMS = ("s_wait", "s_nop", "s_barrier", "s_set", "s_call", "s_swappc", "v_nop")
UNTRACED = frozenset({"v_div_fmas_f64", "s_getpc"})
"""Rows that stay with numpy: they work lane by lane."""


OTHERS = {"RDNA4": RDNA4, "CDNA4": CDNA4}
"""Families beside RDNA3, CDNA4 in waves of 64 lanes; of these a part is tried at a desk."""


def forms_of_part(part: int) -> Iterator[Inst]:
    """A part of RDNA3's forms."""
    yield from forms_of(VECTOR[part::PARTS], SCALAR[part::PARTS])


def forms_of(vector: Iterable[str], scalar: Iterable[str]) -> Iterator[Inst]:
    """The forms of these mnemonics."""
    for name in vector:
        yield from vector_forms(name, generator(name, 77), EACH)
    for name in scalar:
        yield from scalar_forms(name, generator(name, 77), EACH)


def executable(inst: Inst) -> bool:
    """Semantics know the instruction, and it does something."""
    try:
        return semantics.bind(inst) is not None
    except semantics.UnsupportedFormError:
        return False


def filled(inst: Inst, rng: np.random.Generator) -> Image:
    """Registers with values at which the instruction may go wrong."""
    image = Image.random(rng, WAVES)
    return fill_scalars(image, inst, rng) if inst.name.startswith("s_") else fill(image, inst, rng)


def _brief(inst: Inst) -> str:
    operands = ", ".join(f"{o.kind}{o.index}{'.h' if o.hi else ''}:{o.fmt}" for o in (*inst.dst, *inst.src))
    return f"{inst.name} {inst.encoding} {operands} {inst.mods}"


def same(inst: Inst, ours: Image, numpys: Image, before: Image) -> str:
    """What differs, "" for nothing."""
    for operand in (*inst.dst, *(o for half in inst.pair for o in half.dst)):
        if operand.kind == "v":
            _forgive_nan(operand.fmt, ours.v, numpys.v, operand.index)
        elif operand.kind == "s":
            _forgive_nan(operand.fmt, ours.s, numpys.s, operand.index)
    scalars = [n for n in range(ours.s.shape[0]) if n != NULL]
    if not np.array_equal(ours.v, numpys.v):
        at = tuple(int(x) for x in np.argwhere(ours.v != numpys.v)[0])
        return f"v{at[0]} wave {at[1]} lane {at[2]}: {ours.v[at]:#x}, numpy {numpys.v[at]:#x}"
    if not np.array_equal(ours.s[scalars], numpys.s[scalars]):
        at = tuple(int(x) for x in np.argwhere(ours.s != numpys.s)[0])
        return f"s{at[0]} wave {at[1]}: {ours.s[at]:#x}, numpy {numpys.s[at]:#x}, before {before.s[at]:#x}"
    return ""


def _forgive_nan(fmt: str, ours: Array, numpys: Array, index: int) -> None:
    """Where both hold a NaN, make them equal."""
    for n in {"F32": (index,), "B32": (index,), "PK2_F32": (index, index + 1)}.get(fmt, ()):
        both = np.isnan(ours[n].view(np.float32)) & np.isnan(numpys[n].view(np.float32))
        ours[n][both] = numpys[n][both]
    if "F16" in fmt:
        one, two = ours[index].view(np.float16), numpys[index].view(np.float16)
        both = np.isnan(one) & np.isnan(two)
        one[both] = two[both]
    if fmt == "F64":
        pairs = [
            np.stack([x[index], x[index + 1]], -1).copy().view(np.float64)[..., 0] for x in (ours, numpys)
        ]
        both = np.isnan(pairs[0]) & np.isnan(pairs[1])
        for n in (index, index + 1):
            ours[n][both] = numpys[n][both]


@pytest.mark.few(1)
@pytest.mark.parametrize("part", range(PARTS))
def test_forms_compute_what_rows_do(part: int) -> None:
    slow = _compared(forms_of_part(part))
    unexpected = {name for name in slow if not name.startswith(tuple(UNTRACED))}
    assert not unexpected, f"{current().target}: {sorted(unexpected)}"


@pytest.mark.few(1)
@pytest.mark.parametrize("family", OTHERS)
def test_forms_of_other_families(family: str) -> None:
    step = 1 if WHOLE else 5
    with speaking(OTHERS[family]):
        here = FAMILIES[family]
        names = [(family, here.names(start)[::step]) for start in ("v_", "s_")]
        vector, scalar = ([n for n in each if not n.startswith(_NO_FORMS)] for _, each in names)
        slow = _compared(forms_of(vector, scalar))
    assert len(slow) < (len(vector) + len(scalar)) / 5, sorted(slow)


def _compared(forms: Iterable[Inst]) -> set[str]:
    """Compares all forms; the mnemonics that are left to numpy."""
    insts = [inst for inst in forms if executable(inst)]
    alone = Alone(insts)
    wrong, slow = [], set()
    for n, inst in enumerate(alone.insts):
        if not alone.is_native(n):
            slow.add(inst.name)
            continue
        rng = generator(inst.name, n)
        image = filled(inst, rng)
        want = execute(inst, image)
        got, shadow = alone.run(n, image)
        if difference := same(inst, got, want.image, image):
            wrong.append(f"{_brief(inst)}: {difference}")
        assert not shadow.v.any(), inst
    assert not wrong, f"{len(wrong)} of {len(insts)}:\n" + "\n".join(wrong[:20])
    return slow
