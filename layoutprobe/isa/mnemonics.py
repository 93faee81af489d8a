"""The mnemonics of a generation of instructions."""

from __future__ import annotations

from enum import Enum
from functools import cache

from layoutprobe.isa.dialect import Generation


@cache
def mnemonics(generation: Generation) -> frozenset[str]:
    """Every mnemonic that the encodings of a generation have, as `Inst.name` spells it."""
    from tinygrad.runtime.autogen.amd.rdna3 import enum as rdna3
    from tinygrad.runtime.autogen.amd.rdna4 import enum as rdna4

    table = vars({"rdna3": rdna3, "rdna4": rdna4}[generation])
    operations = [value for name, value in table.items() if name.endswith("Op") and issubclass(value, Enum)]
    return frozenset(
        entry.name.lower().removesuffix("_e32").removesuffix("_e64") for op in operations for entry in op
    )
