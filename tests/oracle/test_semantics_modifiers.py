"""Every modifier that an instruction takes. What it takes says the assembler, by accepting it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.inst import Inst
from layoutprobe.semantics import UnsupportedFormError
from layoutprobe.semantics.valu import OPS
from oracle.asm_forms import assemble_accepted, other_forms, signed_forms
from oracle.encode import encodings
from oracle.families import VECTOR
from oracle.forms import fill, generator
from oracle.harness import Image, execute
from oracle.reference import check_vector

Has = Callable[[Inst], bool]

SOURCE: Mapping[str, Has] = {
    "neg": lambda i: any(o.neg and not o.abs for o in i.src) and i.encoding != "VOP3P",
    "abs": lambda i: any(o.abs and not o.neg for o in i.src),
    "neg of abs": lambda i: any(o.abs and o.neg for o in i.src),
    "upper half": lambda i: any(o.kind == "v" and o.hi for o in i.src),
    "op_sel": lambda i: i.encoding == "VOP3P" and any(o.sel for o in i.src),
    "op_sel_hi": lambda i: i.encoding == "VOP3P" and not all(o.sel_hi for o in i.src),
    "neg_lo": lambda i: i.encoding == "VOP3P" and any(o.neg for o in i.src),
    "neg_hi": lambda i: i.encoding == "VOP3P" and any(o.neg_hi for o in i.src),
}
OUTPUT: Mapping[str, Has] = {
    "clamp": lambda i: bool(i.mods.get("clamp")),
    "output multiplier": lambda i: bool(i.mods.get("omod")),
}


def _candidates() -> Iterator[str]:
    for name in VECTOR:
        if name in OPS:
            yield from (line for line in signed_forms(OPS[name]) if "_dpp " not in line)
        else:
            yield from (line for line in other_forms(name) if re.search(r"[:|]|-[sv]|clamp", line))


@cache
def forms() -> tuple[tuple[str, Inst], ...]:
    """Lines that the assembler takes, with their decoded instructions."""
    with TemporaryDirectory(prefix="layoutprobe-forms-") as folder:
        taken = assemble_accepted(_candidates(), Path(folder))
    return tuple(
        (line, decode_one(taken.code[pc : pc + 16], pc))
        for line, pc in zip(taken.lines, taken.addresses, strict=True)
    )


def compare(line: str, inst: Inst) -> None:
    rng = generator(line)
    image = fill(Image.random(rng, 1), inst, rng)
    check_vector(inst, image, execute(inst, image))


@pytest.mark.parametrize("modifier", SOURCE)
def test_source_modifiers(modifier: str) -> None:
    chosen = [
        (line, inst)
        for line, inst in forms()
        if SOURCE[modifier](inst) and not any(has(inst) for has in OUTPUT.values())
    ]
    for line, inst in chosen:
        compare(line, inst)
    assert len({inst.name for _, inst in chosen}) > 10


@pytest.mark.parametrize("modifier", OUTPUT)
def test_output_modifiers_are_right_or_refused(modifier: str) -> None:
    compared, refused = set(), set()
    for line, inst in forms():
        if OUTPUT[modifier](inst):
            try:
                compare(line, inst)
                compared.add(inst.name)
            except UnsupportedFormError:
                refused.add(inst.name)
    floats = {name for name in compared if re.search(r"_f(16|32|64)$", name)}
    assert len(floats) > 60
    assert not any(re.match(r"v_(pk_)?(add|mul|fma)_f(16|32|64)", name) for name in refused)


def test_every_float_source_takes_a_sign() -> None:
    """By AMD's table of operand formats; so the assembler has not refused them for another reason."""
    negated: dict[str, set[int]] = defaultdict(set)
    for _, inst in forms():
        negated[inst.name] |= {i for i, o in enumerate(inst.src) if o.neg or o.neg_hi}
    for name in VECTOR:
        vop3 = encodings(name).get("VOP3")
        if vop3 is None:  # FMAAK, FMAMK and DOT2ACC have no encoding with modifiers; VOP3P is above
            continue
        formats = [vop3.operands[f][0] for f in ("src0", "src1", "src2") if f in vop3.operands]
        wanted = {i for i, fmt in enumerate(formats) if fmt in ("F16", "F32", "F64")}
        if re.match(r"v_ldexp|v_cmpx?_class", name):
            wanted.discard(1)  # a power and a mask: integers, whatever the table says
        assert wanted <= negated[name], name
