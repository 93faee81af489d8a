"""Rules that are enforced while a kernel runs: a fault of the emulator breaks one of them."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.errors import ExecutionError
from layoutprobe.report.finding import Finding, Rule

FAULT_RULES: Mapping[str, Rule] = {
    "lds-bounds": Rule(
        "lds-safety/out-of-bounds",
        "an LDS access lies outside the LDS of the workgroup",
        "On a card, a read out of bounds gives 0 and a write is dropped, silently; or it lands in the LDS of "
        "another workgroup.",
        "check the index, and the size of LDS (the static arrays, and the dynamic part of the launch)",
    ),
    "lds-alignment": Rule(
        "lds-safety/misaligned",
        "an LDS atomic or a transposing read is not aligned to its size",
        "Loads and stores may take any address, these may not: on a card they trap or use another address.",
        "align the array, and check the offset in bytes",
    ),
    "transpose-exec": Rule(
        "lds-safety/transposing-lanes-off",
        "a transposing load is executed while lanes are off",
        "Lanes hand each other what they fetch: of one that is off, nobody knows what the others get. AMD's guide of "
        "CDNA4 asks for EXEC all ones.",
        "move the load out of the divergent code, and let lanes without work name an address that exists",
    ),
    "transpose-exec-global": Rule(
        "memory/transposing-lanes-off",
        "a transposing load from global memory is executed while lanes are off",
        "Lanes hand each other what they fetch: of one that is off, nobody knows what the others get. No document of "
        "RDNA4 was at hand; that of CDNA4's transposing reads asks for EXEC all ones.",
        "move the load out of the divergent code, and let lanes without work name an address that exists",
    ),
    "transpose-register": Rule(
        "lds-safety/transposing-odd-register",
        "a transposing load fills a pair of registers that begins with an odd one",
        "Its destination must be aligned: compilers keep to it, and in assembly nobody checks. What a card does is "
        "not documented.",
        "choose an even first register",
    ),
    "barrier": Rule(
        "races/stuck-barrier",
        "a barrier can never be passed",
        "Some waves wait for others that will never come, or for a barrier that they have not signalled: on a "
        "card the kernel hangs.",
        "put the barrier on a path that all waves take, and signal before every wait",
    ),
    "global-store": Rule(
        "epilogue/out-of-bounds",
        "a store to global memory lies outside every buffer",
        "It destroys the memory of somebody else, or stops the kernel with a page fault.",
        "check row and column against M and N, and the leading dimension",
    ),
    "global-load": Rule(
        "memory/load-out-of-bounds",
        "a load from global memory lies outside every buffer",
        "It returns somebody else's memory, or stops the kernel with a page fault.",
        "check the index computation and the bounds test on the path to this line",
    ),
    "read-only": Rule(
        "memory/read-only-store",
        "the kernel stores into its code or its arguments",
        "Such memory is shared by all workgroups, and may be write-protected.",
        "check which pointer the address is computed from",
    ),
    "scratch-bounds": Rule(
        "memory/scratch-out-of-bounds",
        "a scratch access lies outside the private memory of its lane",
        "It reaches the memory of another lane.",
        "check the index into the local array",
    ),
    "alignment": Rule(
        "memory/misaligned",
        "an atomic or a transposing load in global memory is not aligned to its size",
        "Plain loads and stores may take any address, these may not: on a card an atomic stops the kernel.",
        "align the buffer, and check the offset in bytes",
    ),
    "undefined-address": Rule(
        "memory/undefined-address",
        "an address depends on a value that was never defined",
        "Which memory is accessed depends on what a register or LDS held before.",
        "initialise the value on every path that leads here",
    ),
    "undefined-control": Rule(
        "memory/undefined-control",
        "a branch or the set of active lanes depends on a value that was never defined",
        "Which code is executed depends on what a register or LDS held before.",
        "initialise the value on every path that leads here",
    ),
    "wild-jump": Rule(
        "memory/wild-jump",
        "a call or return goes to where no code is",
        "A function pointer, or the return address on the stack, holds something else: on a card the kernel stops "
        "with a page fault, or executes data.",
        "look for what the pointer was read from, and for stores beyond an array on the stack",
    ),
    "trap": Rule(
        "memory/trap",
        "the kernel traps",
        "__builtin_trap or a failed assertion was reached: the kernel itself says that something is wrong.",
        "look at the condition that leads to the trap",
    ),
}
"""Kind of an ExecutionError -> the rule that it breaks. Other kinds decide nothing: the budget or the
time is spent, or the emulator lacks something."""


def fault_rules(check: str) -> tuple[Rule, ...]:
    """Those of a check."""
    return tuple(rule for rule in FAULT_RULES.values() if rule.check == check)


def fault_finding(fault: ExecutionError) -> Finding:
    """A fault of one of these kinds as a finding."""
    told = (fault.expected or "", fault.observed or "", fault.hint or "")
    return Finding(FAULT_RULES[fault.kind], fault.what, fault.place, *told)
