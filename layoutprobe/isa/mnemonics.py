"""What the decoder's package has of an instruction set."""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from layoutprobe.arch import Isa


def package(module: str) -> ModuleType:
    """A module of the decoder's package, which raises Python's recursion limit for the whole process: ours stays.

    It is asked for anew each time: the package looks for its own modules where Python keeps them, and reads
    no literal where one was taken out.
    """
    name = f"tinygrad.{module}"
    if (known := sys.modules.get(name)) is not None:
        return known
    limit = sys.getrecursionlimit()
    try:
        return import_module(name)
    finally:
        sys.setrecursionlimit(limit)


def table(name: str, part: str) -> Any:
    """A module of generated tables: "ins" has the encodings, "enum" the operations."""
    return package(f"runtime.autogen.amd.{name}.{part}")


@cache
def mnemonics(isa: Isa) -> frozenset[str]:
    """Every mnemonic that the encodings of an instruction set have, as `Inst.name` spells it."""
    found = vars(table(isa.encodings.table, "enum"))
    operations = [value for name, value in found.items() if name.endswith("Op") and issubclass(value, Enum)]
    names = {
        entry.name.lower().removesuffix("_e32").removesuffix("_e64") for op in operations for entry in op
    }
    rules = isa.encodings
    return frozenset(rules.renamed.get(name, name) for name in names - rules.absent)
