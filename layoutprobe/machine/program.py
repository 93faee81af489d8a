"""A kernel bound for execution: basic blocks of executors, made once and run many times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError, ExecutionError
from layoutprobe.isa.calls import functions, reached
from layoutprobe.isa.indexing import END, MODE, in_mode
from layoutprobe.isa.inst import ACC0, EXEC_LO, SCC, VCC_LO, VGPR0, Inst, Operand
from layoutprobe.isa.kind import MOVES, Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.indexing import uses_mode, with_mode
from layoutprobe.place import Place

Executor = Callable[[Cohort], None]
Bind = Callable[[Inst, Sequence[Inst]], Executor | None]
"""Gives the executor of an instruction, knowing those before it in its block; None for a
deliberate no-op; raises UnboundError."""

CONDITIONS: Mapping[str, tuple[int, bool] | None] = {
    "s_branch": None,
    "s_cbranch_scc0": (SCC, False),
    "s_cbranch_scc1": (SCC, True),
    "s_cbranch_vccz": (VCC_LO, False),
    "s_cbranch_vccnz": (VCC_LO, True),
    "s_cbranch_execz": (EXEC_LO, False),
    "s_cbranch_execnz": (EXEC_LO, True),
}
"""Branch -> the scalar register that decides, and whether it jumps where that is not zero; None: always."""


class UnboundError(Exception):
    """An instruction cannot be executed; the text says why."""


class Block(Struct, frozen=True, eq=False):
    """Instructions that run one after the other, and what follows them.

    Attributes:
        body: executors in order.
        insts: the instruction of each executor.
        last: the branch, call, return, barrier or end after the body; None where the next block follows.
        next_pc: address after the block.
        length: instructions, no-ops included, for the budget.
        listing: every instruction in order, no-ops and `last` included, for observers.
    """

    body: tuple[Executor, ...]
    insts: tuple[Inst, ...]
    last: Inst | None
    next_pc: int
    length: int
    listing: tuple[Inst, ...] = ()


class Program(Struct, frozen=True, eq=False, dict=True):
    """A kernel ready to run.

    Attributes:
        code, kernel: where it comes from.
        blocks: by the address of their first instruction.
        left_out: functions that the kernel cannot call, and why.
    """

    code: CodeObject
    kernel: Kernel
    blocks: Mapping[int, Block]
    left_out: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def asking(self) -> frozenset[int]:
        """PCs of the blocks that ask what other waves did: an atomic in them returns what it found."""
        return frozenset(
            pc
            for pc, block in self.blocks.items()
            if any(Kind.ATOMIC in inst.kind and inst.dst for inst in block.insts)
        )

    @cached_property
    def accesses(self) -> tuple[Inst, ...]:
        """Every load, store and atomic, block by block: observers go through them in each launch."""
        return tuple(inst for inst in self.insts if inst.kind & MOVES)

    @property
    def insts(self) -> Iterator[Inst]:
        """Every instruction, block by block."""
        return (inst for block in self.blocks.values() for inst in block.listing)

    def location(self, inst: Inst) -> Place:
        """Kernel, source line, PC and instruction, for an error."""
        from layoutprobe.codeobj.inlining import place_of  # a run that ends well reads no debug information

        return place_of(self.code, self.kernel, inst.pc, inst.name)

    def located(self, error: ExecutionError, inst: Inst) -> ExecutionError:
        """An error that an instruction raised, now with kernel and source line."""
        who = error.place
        error.put(replace(self.location(inst), workgroup=who.workgroup, wave=who.wave, lane=who.lane))
        return error


def build_program(
    code: CodeObject, kernel: Kernel, insts: Mapping[int, Inst], bind: Bind, vgprs: int
) -> Program:
    """Bind every instruction and cut the kernel into blocks.

    From here on there are no AccVGPRs, only rows of the file that holds them too.

    Args:
        code, kernel: where the instructions come from.
        insts: instructions by address.
        bind: gives executors.
        vgprs: how many VGPRs a wave has, AccVGPRs included.

    Raises:
        CodeObjectError: an instruction names a register that the kernel does not have.
        ExecutionError: instructions without semantics; lists every one with PC and source line.
    """
    first_acc = code.first_accvgpr(kernel)

    def unfit(inst: Inst) -> str:
        try:
            _check_registers(kernel, inst, vgprs, first_acc)
            if not _is_control(inst):
                bind(in_rows(inst, first_acc or 0), ())
        except CodeObjectError as error:
            return error.what
        except UnboundError as reason:
            return f"the emulator does not know {inst.name} ({reason})"
        return ""

    insts, left_out = _callable(code, kernel, insts, unfit)
    for inst in insts.values():
        _check_registers(kernel, inst, vgprs, first_acc)
    if uses_mode(insts):
        own = vgprs if first_acc is None else min(vgprs, first_acc)
        insts = with_mode(insts, (kernel.entry, *functions(code, insts)), own, kernel.name)
    insts = {pc: in_rows(inst, first_acc or 0) for pc, inst in insts.items()}
    leaders = _leaders(code, kernel, insts)
    missing: dict[int, str] = {}

    def bind_or_note(inst: Inst, earlier: Sequence[Inst]) -> Executor | None:
        try:
            return bind(inst, earlier)
        except UnboundError as reason:
            line = code.lines.find(inst.pc)
            missing[inst.pc] = (
                f"{inst.name} at PC {inst.pc:#x}" + (f", {line}" if line else "") + f" ({reason})"
            )
            return None

    blocks = {pc: _block(pc, insts, leaders, bind_or_note) for pc in sorted(leaders)}
    if missing:
        lines = [missing[pc] for pc in sorted(missing)]
        shown = lines[:20] + ([f"... and {len(lines) - 20} more"] if len(lines) > 20 else [])
        raise ExecutionError(
            "the emulator does not know these instructions:\n    " + "\n    ".join(shown),
            place=Place(kernel=kernel.name),
            hint="run on a card, or report the instructions",
        )
    return Program(code, kernel, blocks, left_out)


Changed = Mapping[int, tuple[Inst, Executor]]
"""Address -> what stands for the instruction there, and what executes it."""


def changed(
    program: Program,
    changes: Mapping[int, tuple[Inst, ...]],
    bind: Bind,
    builds: Callable[[Inst], bool],
    vgprs: int,
) -> tuple[Program, Changed]:
    """A program in which other instructions are executed at some addresses.

    Nothing else moves: branches, lines and what observers are told are those of the program.

    Args:
        program: the one that is changed.
        changes: address -> instructions that are executed there one after the other; none: nothing is done. They
            write what the one that they stand for writes, and are no branches.
        bind: gives executors.
        builds: whether what executes an instruction may build on what its block did before: it is bound again, alone.
        vgprs: see `build_program`.

    Raises:
        UnboundError, CodeObjectError: one of them cannot be executed.
    """
    code, kernel = program.code, program.kernel
    first_acc = code.first_accvgpr(kernel)
    made: dict[int, tuple[Inst, Executor]] = {}
    blocks = dict(program.blocks)
    for start, block in program.blocks.items():
        if not any(inst.pc in changes for inst in block.insts):
            continue
        body = []
        for inst, execute in zip(block.insts, block.body, strict=True):
            if inst.pc in changes:
                for one in changes[inst.pc]:
                    _check_registers(kernel, one, vgprs, first_acc)
                parts = [in_rows(_alike(one, inst), first_acc or 0) for one in changes[inst.pc]]
                execute = _one_after_the_other([bind(one, ()) for one in parts])
                made[inst.pc] = (_together(inst, parts), execute)
            elif builds(inst):
                execute = bind(inst, ()) or execute
            body.append(execute)
        blocks[start] = replace(block, body=tuple(body))
    return replace(program, blocks=blocks), made


def _alike(inst: Inst, before: Inst) -> Inst:
    """What stands for an instruction, told of the mode in which that one runs."""
    if MODE not in before.mods or Kind.VALU not in inst.kind:
        return inst
    return in_mode(inst, before.mods[MODE], before.mods[END])


def _one_after_the_other(parts: Sequence[Executor | None]) -> Executor:
    executors = [part for part in parts if part is not None]

    def execute(c: Cohort) -> None:
        for one in executors:
            one(c)

    return executors[0] if len(executors) == 1 else execute


def _together(inst: Inst, parts: Sequence[Inst]) -> Inst:
    """The instruction at an address with all operands that what stands for it has."""
    every = [half for part in parts for half in (part, *part.pair)]
    more = tuple(operand for half in every for operand in (*half.dst, *half.src))
    return replace(inst, src=(*inst.src, *more))


def _callable(
    code: CodeObject, kernel: Kernel, insts: Mapping[int, Inst], unfit: Callable[[Inst], str]
) -> tuple[Mapping[int, Inst], dict[int, str]]:
    """The kernel's instructions, without functions that only memory knows and whose instructions are `unfit` for it.

    The kernels of a code object may differ in registers, and in the functions that they call through pointers.
    """
    kept = reached(insts, kernel.entry)
    known = set(kept)
    left_out: dict[int, str] = {}
    bad: dict[int, str] = {}
    for entry in functions(code, insts):
        its = reached(insts, entry, known) - kept
        reasons = (
            bad.get(pc) or (unfit(insts[pc]) if pc in insts else "bytes that are no known instruction")
            for pc in sorted(its)
        )
        why = next(filter(None, reasons), "")
        known |= its
        if why:
            left_out[entry] = why
            bad.update(dict.fromkeys(its, why))
        else:
            kept |= its
    return {pc: inst for pc, inst in insts.items() if pc in kept}, left_out


def _check_registers(kernel: Kernel, inst: Inst, vgprs: int, first_acc: int | None) -> None:
    own = vgprs if first_acc is None else min(vgprs, first_acc)
    limits = {"v": VGPR0 + own, "a": ACC0 + vgprs - own}
    for half in (inst, *inst.pair):
        for operand in (*half.dst, *half.src):
            used = operand.registers()
            if used and used[-1] >= limits.get(operand.kind, SCC):
                accs = f", AccVGPRs below a{vgprs - own}" if vgprs > own else ""
                raise CodeObjectError(
                    f"{inst.name} names a register that the kernel does not have",
                    where={"kernel": kernel.name, "PC": f"{inst.pc:#x}"},
                    expected=f"VGPRs below v{own}{accs}, scalar registers below 128",
                    observed=f"{operand.kind}{operand.index}, {operand.regs} registers",
                )


def in_rows(inst: Inst, first_acc: int) -> Inst:
    """The instruction with its AccVGPRs as rows of the file in which they begin at row `first_acc`."""
    if not any(operand.kind == "a" for operand in (*inst.dst, *inst.src)):
        return inst

    def row(operand: Operand) -> Operand:
        if operand.kind != "a":
            return operand
        return replace(operand, kind="v", index=first_acc + operand.index)

    return replace(inst, dst=tuple(map(row, inst.dst)), src=tuple(map(row, inst.src)))


def _leaders(code: CodeObject, kernel: Kernel, insts: Mapping[int, Inst]) -> set[int]:
    leaders = {kernel.entry, *functions(code, insts)}
    for inst in insts.values():
        if inst.name in CONDITIONS:
            leaders.add(inst.branch_target)
        if inst.name in CONDITIONS or Kind.AWAIT in inst.kind or Kind.JUMP in inst.kind:
            leaders.add(inst.next_pc)
    return {pc for pc in leaders if pc in insts}


def _is_control(inst: Inst) -> bool:
    """The scheduler executes it. Branches and barriers that it does not know are for `bind` to refuse."""
    if Kind.AWAIT in inst.kind:  # of S_BARRIER_WAIT the operand names the barrier, -1 the workgroup's
        return Kind.ARRIVE in inst.kind or inst.mods["simm16"] == 0xFFFF
    return Kind.END in inst.kind or Kind.JUMP in inst.kind or inst.name in CONDITIONS


def _block(start: int, insts: Mapping[int, Inst], leaders: set[int], bind: Bind) -> Block:
    body: list[Executor] = []
    kept: list[Inst] = []
    passed: list[Inst] = []
    pc = start
    while True:
        inst = insts[pc]
        if _is_control(inst):
            return Block(tuple(body), tuple(kept), inst, inst.next_pc, len(passed) + 1, (*passed, inst))
        executor = bind(inst, passed)
        passed.append(inst)
        if executor is not None:
            body.append(executor)
            kept.append(inst)
        pc = inst.next_pc
        if pc in leaders or pc not in insts:
            return Block(tuple(body), tuple(kept), None, pc, len(passed), tuple(passed))
