"""Law: the outputs are what the contract says, up to rounding."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.selecting import SELECTION_RULES, asked, with_selection
from layoutprobe.checks.value_rules import RULES, WRONG_VALUES
from layoutprobe.checks.wrong_values import beside_usual, not_borne, wrong_values
from layoutprobe.manifest.coding import is_small_float
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.again import in_need_of_zeros
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.comparisons import compared_in
from layoutprobe.trace.executed import small_floats
from layoutprobe.trace.gemm_faults import error_metrics
from layoutprobe.trace.rounding import rounded_otherwise
from layoutprobe.trace.subject import Subject
from layoutprobe.trace.ties import at_ties, rounded_between
from layoutprobe.trace.unusual import beside_infinity, far_off, idle_c, kinds_borne, told

NAME = "numerics"
LAW = "the outputs are what the contract computes in float64, up to the rounding of their types"
EXPLAIN = """\
The kernel runs on small non-negative integers, on which no permutation of elements goes unseen: where
all partial sums are multiples of a power of two that the types hold, the result must be equal to the bit.
Where they are not (sums in 16 bits), it runs on few small integers of both signs, for which they are. It
runs again on standard normal numbers (bytes: on all values), and each element may differ from the float64
result by
  (K + 8) * 2^-23 * (|alpha| * |A| @ |B| + |beta * C|)  +  e * |C|  +  the smallest subnormal of C
where e is half a unit in the last place of C; 2^-52 stands for 2^-23 where C is f64 and nothing that ran computes
in f32. Where instructions that ran add up in 16 bits, these come on top, with u = 2^-11 for f16 and 2^-8 for bf16:
  4 * u * (sqrt(K + 8) * |alpha| * sqrt(A*A @ B*B) + |beta * C| + |result|)
Scales of the contract multiply these, bias and residual are added to |beta * C|; an activation makes them 1.2
times as large, and 1e-5 * (1 + |C|) come on top; integer outputs may be the two nearest ones.
(roundings of random numbers are a random walk; of numbers that the manifest gives they may all point the
same way, and (K + 8) * u * |alpha| * |A| @ |B| + 8 * u * |beta * C| comes on top.) A kernel that takes
alpha and beta runs also with (0, 1), (-1.5, 0) and (3e-6, -0.7), at sizes whose buffers are at most four
times as large as those of the smallest. A [tolerance] of the manifest replaces these bounds.
Where A and B are floats that the kernel multiplies as they are, and there is no [tolerance], it also runs
at these sizes with rows of A and columns of B that are tiny, large and zero (elements of which a sum may
overflow are not judged), and with a row of A and a column of B of NaN, and single infinities, also at the
last k: these must arrive, and nowhere else.
Where the manifest says that the kernel bears inputs which are not usual (`bears`), it runs on these, too, and an
output that is off by more than a tenth there is a finding. Where it does not say so, every kernel has to bear inputs
of about 0.001, single elements that are much larger than all others, codes that the manifest gives in another order,
and all of an input at about -120 or 120 where the reference gives the same of it with a constant more (a softmax,
what is left of a mean).
A contract may ask for runs in which the output is a copy of B (identity), zero (zeros), or a copy in some rows and
zero in all others (ranges): they name the row and the column of B that stand in a wrong place.
Undefined output elements are wrong. A Python reference gets all floats as float64, whatever
their type in memory, may take limits.seconds, has to name outputs, and is compared with
absolute + relative * |expected|. By default that is e * (1 + |expected| + root mean square of the output),
with e = 1e-5 for f32, 1e-3 for f16 and 1e-2 for bf16: of the narrowest of the output's type and those that
values are converted to on the way, which the headline then says; but not of one that no argument has and that
nothing computes in, as that of a temporary: where that is meant, a [tolerance] says so. Where a
reference rounds to 16 bits or less itself, and more than a tenth of an output are other numbers of these, how the
kernel rounds is not judged, and the headline says it. Integers and floats of
8 bits are to be what the reference gives. Where they are not, it is called again with arithmetic that is off by up
to 2^-22 where f32 is not exact, and once with every step rounded to f32: what becomes the neighbour so lies at a
tie, either of both passes, and the headline says it. So does a float of which few elements (a fiftieth) are wrong,
and none is farther off than such arithmetic makes the reference: one that rounds to 16 bits itself jumps. Where it is
wrong, it is asked what it gives of altered inputs: one
that gives every element of every output as it is, at all sizes at which it is wrong, is the cause; so is a change of
one step in the text of a file that imports nothing but numpy and the like. Where none is, single elements are moved
far off, in the kernel and for the reference, and an output that follows in one of them alone is computed of other
elements. Words of integers that may hold packed codes (no
address and no branch depends on them, and the outputs stay as large) get random bits in a further run.
A kernel whose workgroups tell each other something through global memory also runs with one
workgroup after the other; where that does not end within two seconds, nothing is said of it.
Where all holds, a Python reference is asked at small sizes what it gives of inputs that are not usual
(docs/manifest.md lists them): about 256 or -256, tiny, huge, zero in some rows, codes as large as their types hold,
zeros of both signs, at ties of 16 bits, exactly a number of few bits that the code has, and with -infinity or NaN
here and there. An output that is far off then (a tenth), or another integer, is a reservation; of -infinity and NaN
only where it does not depend on them.
Where matrix instructions read 8-bit floats and the manifest calls A or B something else, it is undecided:
the bytes mean other numbers. Buffers of role "out" of which the contract says nothing leave it undecided.
It cannot see faults that other sizes or values would show. Evidence: emulated; sums are rounded once per
instruction here, where a card rounds in steps of two products."""


def run(subject: Subject) -> CheckResult:
    """Apply the law to the runs on integers and on normal numbers."""
    contract = subject.contract
    if not isinstance(contract, Gemm | Reference):
        behind = f": {subject.case.judged_by}, which is launched behind it, is judged by them"
        return CHECK.skipped(
            f"the contract says nothing about values{behind if subject.case.judged_by else ''}"
        )
    if isinstance(contract, Reference) and subject.reference is None:
        return CHECK.undecided("the Python reference was not loaded: --allow-reference lets it run")
    if (
        isinstance(contract, Gemm)
        and not _of_small_floats(subject, contract)
        and (types := small_floats(subject))
    ):
        return CHECK.undecided(
            f"the kernel multiplies {types}, which the manifest calls otherwise: give A and B that dtype"
        )
    compared = compared_in(subject)
    metrics = _metrics(compared)
    findings = with_selection(subject, compared, wrong_values(subject, compared), WRONG_VALUES)
    kinds = " and ".join(dict.fromkeys(c.spec.inputs for c in compared))
    if more := list(dict.fromkeys(filter(None, map(beside_usual, (c.spec for c in compared))))):
        kinds += ", also with " + ", ".join(more)
    if selected := asked(subject):
        kinds += f", and with {selected}"
    judged = {contract.d} if isinstance(contract, Gemm) else {c.name for c in compared}
    if not findings and (left := [name for name in _outputs(subject) if name not in judged]):
        return CHECK.undecided(
            f"every element of {', '.join(sorted(judged)) or 'nothing'}, on {kinds or 'no inputs'}; not judged: "
            f"{', '.join(left)}, of which the contract says nothing (a workspace has the role inout)",
            metrics=metrics,
        )
    if not findings and (bears := subject.once(kinds_borne)):
        findings = not_borne(subject, compared)
        named = f"where {', or where '.join(map(told, bears))}"
        kinds += f", and {named if subject.case.bears else f'on {len(bears)} kinds that every kernel meets'}"
    found = CHECK.found(findings, f"every element, on {kinds}", metrics=metrics)
    if findings:
        return found
    widened = dict.fromkeys(c.widened for c in compared if c.in_need_of_wider)
    reserved = (
        *widened,
        *at_ties(compared),
        *rounded_between(compared),
        *far_off(subject, compared),
        *idle_c(subject),
        *beside_infinity(subject),
    )
    if isinstance(contract, Reference):
        reserved += rounded_otherwise(c for c in compared if not subject.case.tolerance_of(c.name).given)
    return replace(found, reserved=(*reserved, *in_need_of_zeros(subject, judged)))


def _of_small_floats(subject: Subject, contract: Gemm) -> bool:
    """A and B are 8-bit floats in the manifest: whichever others the kernel multiplies, they are not what it says."""
    kinds = (subject.binding.buffers[name].dtype for name in (contract.a, contract.b))
    return all(is_small_float(kind) for kind in kinds)


def _metrics(compared: Sequence[Comparison]) -> dict[str, object]:
    """Errors of the runs on usual numbers with the contract's own alpha and beta."""
    metrics: dict[str, object] = {}
    for c in compared:
        if beside_usual(c.spec) or c.spec.inputs in ("scaled", "nonfinite"):
            continue
        absolute, relative = error_metrics(c.observed, c.expected)
        about = f"{c.name}, {c.spec.inputs}"
        metrics[f"{about}: wrong"] = f"{100 * c.wrong.mean():.3g} %"
        if c.tied:
            metrics[f"{about}: at a tie"] = f"{c.tied} of {c.observed.size}"
        metrics[f"{about}: max abs error"] = f"{absolute:.3g}"
        metrics[f"{about}: max error / max |{c.name}|"] = f"{relative:.3g}"
    return metrics


def _outputs(subject: Subject) -> list[str]:
    """Buffers that are results, and nothing but results."""
    buffers = subject.binding.buffers.items()
    return [name for name, b in buffers if b.argument.role == "out" and not b.argument.elsewhere]


CHECK = Check(
    NAME,
    LAW,
    EXPLAIN,
    run,
    rules=(*RULES, *SELECTION_RULES),
)
