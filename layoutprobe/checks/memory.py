"""Law: a kernel stays inside its buffers, changes outputs only, and comes to its end.

Most of it is enforced while the kernel runs; the gate turns such a fault into a finding of this
check (see faults.py). What is left to look at afterwards is memory that may not change.
"""

from __future__ import annotations

from layoutprobe.checks.base import Check
from layoutprobe.checks.faults import fault_rules
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.stores import writer_beside
from layoutprobe.trace.subject import Subject

NAME = "memory"
LAW = "every access lies inside a buffer, inputs and padding stay as they were, no address or branch is undefined"
EXPLAIN = """\
While the kernel runs, every global and scratch access must lie wholly inside one allocation (the
allocations have guards between them), no store may hit code or kernel arguments, and no address,
branch or set of active lanes may depend on a value that was never defined. Afterwards every input
and all padding between rows (a leading dimension larger than the row) must be unchanged, that of outputs,
too, and also where what is stored there is undefined; padding of float inputs is NaN, so that a kernel that
reads it into its result is found by numerics.
A load from outside every buffer is a finding, and the run goes on with undefined data; a store there is
a finding, too, and is dropped: so the other checks are decided. What undefined data alone breaks is no
finding of its own. An atomic outside every buffer ends the run.
It cannot see a wrong access that stays inside a buffer or lands in another one, beyond the guard of 64
KiB, nor a store of the value that was there already. Evidence: emulated, on the sizes of the manifest. A
store outside every buffer counts as a finding of `epilogue`, an LDS access out of bounds as one of `lds-safety`."""

CHANGED = Rule(
    "memory/changed",
    "the kernel changes an input, or the padding between rows",
    "What the caller did not give to be written is different after the launch: the next kernel reads wrong "
    "inputs, or a neighbour's data is lost.",
    "check the row stride and the bounds of the stores into this buffer",
)


def run(subject: Subject) -> CheckResult:
    """Apply the law to the plain run."""
    recorded = subject.plain()
    findings = [_changed(subject, name, count) for name, count in recorded.stray.items()]
    count = len(subject.binding.buffers)
    covered = (
        f"{count} buffers with guards around them" if count > 1 else "every allocation has guards around it"
    )
    return CHECK.found(findings, "" if findings else covered)


def _changed(subject: Subject, name: str, count: int) -> Finding:
    """At the first store that changes what is to stay, where that is known."""
    buffer, place = subject.binding.buffers[name], writer_beside(subject, name)
    kept = "it is an input" if buffer.argument.role == "in" else "they are padding between rows"
    at = place.element.index if place is not None and place.element is not None else ()
    beyond = [buffer.count_of(axis) for axis, i in enumerate(at) if i >= buffer.shape[axis]]
    first = f"; {place.element} is stored, and {beyond[0]}" if place is not None and beyond else ""
    return Finding(
        CHANGED,
        f"the kernel changes {count} bytes of {name} that it must not: {kept}{first}",
        place or Place(kernel=subject.kernel.name, buffer=name),
        expected="every byte as before the launch",
        observed=f"{count} bytes differ",
        hint="check the row stride and the bounds of the stores into this buffer",
    )


CHECK = Check(NAME, LAW, EXPLAIN, run, rules=(CHANGED, *fault_rules(NAME)), cleared=run)
