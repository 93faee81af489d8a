"""What a wheel for a machine brings: the runtime and the forms of many kernels, compiled for each of its levels.

Which forms is said by instructions (`shipped.csv`: target, lanes, bytes), one for each form; `benchmarks/shipped.py`
collects them from kernels. What a kernel needs beyond them is compiled where it runs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from layoutprobe import semantics
from layoutprobe.engine.native import library
from layoutprobe.engine.native.forms import Form, form_of
from layoutprobe.engine.native.hosts import LEVELS, Level
from layoutprobe.engine.native.rows import rows_of
from layoutprobe.engine.native.template import Layout
from layoutprobe.engine.native.templates import template_of
from layoutprobe.engine.native.tracing import UntraceableError
from layoutprobe.errors import ToolchainError
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.isa.inst import Inst

LIST = Path(__file__).parent / "shipped.csv"
LANES = (32, 64)


def form_alone(inst: Inst, lanes: int) -> Form | None:
    """The form that an instruction needs beside the runtime."""
    template = template_of(inst, Layout(lanes, 0))  # where registers lie is no part of a form
    if template is not None:
        return template.form
    executor = semantics.bind(inst, ())
    rows = rows_of(inst, executor, lanes) if executor is not None else None
    try:
        return form_of(inst, rows, lanes) if rows else None
    except UntraceableError:
        return None


def listed() -> Iterator[tuple[str, int, bytes]]:
    """Target, lanes and bytes of each instruction in the list."""
    with LIST.open(newline="") as file:
        for row in csv.DictReader(file):
            yield row["target"], int(row["lanes"]), bytes.fromhex(row["bytes"])


def forms(lanes: int) -> list[Form]:
    """The forms of the list, for waves of that many lanes."""
    found: dict[str, Form] = {}
    for target, wave, raw in listed():
        if wave == lanes:
            form = form_alone(decode_one(raw, 0, Dialect(known(target), lanes)), lanes)
            if form is not None:
                found[form.symbol] = form
    return [found[symbol] for symbol in sorted(found)]


def build(machine: str, folder: Path) -> list[Path]:
    """Compile all libraries for a machine ("x86_64", "aarch64"), whatever this one is.

    Raises:
        ToolchainError: the machine is none of ours, or the compiler is missing or fails.
    """
    levels = [level for level in LEVELS if level.machine == machine]
    if not levels:
        raise ToolchainError(
            f"the native engine is not made for {machine}",
            expected="one of " + ", ".join(sorted({level.machine for level in LEVELS})),
        )
    folder.mkdir(parents=True, exist_ok=True)
    units = {n: (*library.runtime_units(), *library.form_units(forms(n))) for n in LANES}

    def compiled(one: tuple[Level, int]) -> Path:
        level, lanes = one
        path = folder / library.name_of(level, lanes)
        path.write_bytes(library.compiled(units[lanes], level, lanes))
        return path

    with ThreadPoolExecutor() as pool:
        return list(pool.map(compiled, product(levels, LANES)))
