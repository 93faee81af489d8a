"""Which forms wheels bring: python benchmarks/shipped.py FILE...

Adds the instructions of kernels to layoutprobe/engine/native/shipped.csv, one for each form that is not there yet.
A file is a code object (.hsaco), a manifest (.toml), all of whose kernels are compiled, or a HIP source, compiled
for --target.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.native.shipped import LIST, form_alone, listed
from layoutprobe.errors import ProbeError
from layoutprobe.gate.build import compiled
from layoutprobe.isa.decode import decode_kernel, decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.manifest.read import read_manifest
from layoutprobe.semantics import UnsupportedFormError
from layoutprobe.toolchain.compile import compile_hip

Row = tuple[str, int, bytes]


def codes(path: Path, target: str) -> Iterator[CodeObject]:
    if path.suffix == ".toml":
        for case in read_manifest(path).kernels:
            for arch in case.arches or ("",):
                yield compiled(case, arch).code
    elif path.suffix == ".hip":
        yield load(compile_hip(path, target=target).data)
    else:
        yield load(path.read_bytes())


def rows(code: CodeObject) -> Iterator[Row]:
    for kernel in code.kernels.values():
        for inst in decode_kernel(code, kernel).values():
            at = next(s for s in code.segments if s.address <= inst.pc < s.address + len(s.data))
            start = inst.pc - at.address
            yield code.target, kernel.wavefront_size, at.data[start : start + inst.size]


def symbol(row: Row) -> str:
    """Of its form; "" where there is none."""
    target, lanes, raw = row
    try:
        form = form_alone(decode_one(raw, 0, Dialect(known(target), lanes)), lanes)
    except UnsupportedFormError:
        return ""
    return f"{lanes} {form.symbol}" if form else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="gfx1151")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    kept = {symbol(row): row for row in (listed() if LIST.exists() else ())}
    tried: set[Row] = set()
    for path in arguments.files:
        before = len(kept)
        with suppress(ProbeError):
            for code in codes(path, arguments.target):
                for row in rows(code):
                    if row not in tried:
                        tried.add(row)
                        kept.setdefault(symbol(row), row)
        print(f"{len(kept) - before:5} new  {path}", flush=True)
    kept.pop("", None)
    with LIST.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("target", "lanes", "bytes"))
        writer.writerows((target, lanes, raw.hex()) for target, lanes, raw in sorted(kept.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
