"""Scalar instructions that change EXEC and save what it was, and S_GETPC_B64 (RDNA3.5 ISA guide, chapter 16)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, SCC, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.operands import define, reader, register_mask, settle, writer
from layoutprobe.semantics.registry import Executor, instruction, register_binder

_SAVEEXEC: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e), "xnor": lambda s, e: ~(s ^ e), "and_not0": lambda s, e: ~s & e,
    "or_not0": lambda s, e: ~s | e, "and_not1": lambda s, e: s & ~e, "or_not1": lambda s, e: s | ~e,
}  # fmt: skip


class SaveExec:
    """One bound instruction that changes EXEC and saves what it was. Calling it executes it for a cohort.

    Attributes:
        function: of the source and the old EXEC: the new EXEC.
        kind: type of a lane mask.
        keep: the old EXEC is saved, and not the new one.
        source, target: what is read, and where it is saved.
    """

    def __init__(self, function: Callable[[Array, Array], Array], kind: str, keep: bool, inst: Inst) -> None:
        self.function, self.kind, self.keep = function, kind, keep
        self.source, self.target = inst.src[0], inst.dst[0]
        old_exec = Operand("s", EXEC_LO, self.target.regs, self.target.bits)
        self._read, self._active = reader(self.source, kind), reader(old_exec, kind)
        self._save, self._activate = writer(self.target, kind), writer(old_exec, kind)
        self._source_mask = register_mask(self.source)
        self._shadow = reader(self.source, kind, shadow=True)
        self._touched = self._source_mask | register_mask(self.target) | 1 << SCC

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        before = self._active(c.regs).copy()
        mask = self._read(c.regs)
        after = self.function(mask, before)
        # Bit by bit: a lane that was off stays off under "and", whatever its bit of the source.
        if (
            c.undef & self._source_mask
            and (self.function(mask ^ self._shadow(c.shadow), before) != after).any()
        ):
            raise ExecutionError(
                "the set of active lanes depends on an undefined value", kind="undefined-control"
            )
        self._save(c, before if self.keep else after)
        c.su[SCC][...] = after != 0
        self._activate(c, after)
        if c.undef & self._touched:
            define(c, self.target)
            c.shadow.su[SCC][...] = 0
            settle(c, SCC)


for _bits, _kind in (("b32", "u32"), ("b64", "u64")):
    for _name, _function in _SAVEEXEC.items():
        register_binder(f"s_{_name}_saveexec_{_bits}", partial(SaveExec, _function, _kind, True))
    for _name in ("and_not0", "and_not1"):
        _function = _SAVEEXEC[_name]
        register_binder(f"s_{_name}_wrexec_{_bits}", partial(SaveExec, _function, _kind, False))


@instruction("s_getpc_b64")
def _getpc(inst: Inst) -> Executor:
    write, target = writer(inst.dst[0], "u64"), inst.dst[0]

    def execute(c: Cohort) -> None:
        write(c, np.full((len(c.waves), 1), c.machine.code_address(inst.next_pc), np.uint64))
        define(c, target)

    return execute
