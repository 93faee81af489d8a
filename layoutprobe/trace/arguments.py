"""Which scalar register holds which argument of the kernel, as far as the code alone tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutprobe.codeobj.model import Kernel
from layoutprobe.isa.inst import Inst

_LOADS = ("s_load_b", "s_load_dword")


def argument_registers(
    kernel: Kernel, insts: Sequence[Inst], names: Sequence[str]
) -> dict[int, Mapping[int, str]]:
    """Address -> scalar register -> the argument of 32 bits that it holds before the instruction there.

    The code is gone through from its begin to its end, as it lies: what a loop or a branch changes is not seen, so
    that this is for words, and no proof.

    Args:
        kernel: the kernel.
        insts: its instructions in the order of the code.
        names: of the explicit arguments, in order.
    """
    at = {a.offset: name for a, name in zip(kernel.explicit_args, names, strict=False) if a.size == 4}
    held: dict[int, str] = {}
    found: dict[int, Mapping[int, str]] = {}
    base = None
    for inst in insts:
        found[inst.pc] = dict(held)
        written = [r for half in (inst, *inst.pair) for o in half.dst if o.kind == "s" for r in o.registers()]
        for register in written:
            held.pop(register, None)
        if inst.name.startswith(_LOADS) and inst.src and inst.src[0].kind == "s":
            base = inst.src[0].index if base is None else base
            if inst.src[0].index == base:
                for n, register in enumerate(written):
                    if name := at.get(inst.mods.get("offset", 0) + 4 * n):
                        held[register] = name
            if base in written:
                base = -1  # the pointer is gone
    return found
