"""What of code objects the native engine leaves to numpy: python benchmarks/left_to_numpy.py FILE...

A table of mnemonics, how many instructions of each there are, and why C has no form for them. How often they are
executed depends on the launch; undefined bits and faults are left to numpy in any case.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from layoutprobe.codeobj.elf import load
from layoutprobe.engine.native.bound import steps_of
from layoutprobe.engine.native.forms import form_of
from layoutprobe.engine.native.rows import rows_of
from layoutprobe.engine.native.tracing import UntraceableError
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.program import Executor


def reason(inst: Inst, executor: Executor, lanes: int) -> str:
    """Why there is no form."""
    rows = rows_of(inst, executor, lanes)
    if not rows:
        return "no template"
    try:
        form_of(inst, rows, lanes)
    except UntraceableError as why:
        return str(why)
    return "no form"


def main() -> int:
    found: Counter[tuple[str, str]] = Counter()
    total = 0
    for path in sys.argv[1:]:
        code = load(Path(path).read_bytes())
        for kernel in code.kernels.values():
            lanes = kernel.wavefront_size
            steps = steps_of(NumpyEngine().program(code, kernel), lanes)
            for block in steps.program.blocks.values():
                for inst, executor in zip(block.insts, block.body, strict=True):
                    total += 1
                    if steps.step(inst, executor).symbol == "F_slow":
                        found[inst.name, reason(inst, executor, lanes)] += 1
    for (name, why), count in found.most_common():
        print(f"{count:6} {name:32} {why}")
    print(f"{found.total():6} of {total} instructions are left to numpy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
