"""Products whose operands or accumulators cannot be followed: their outputs decide, where they show every element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutprobe.checks.base import Check
from layoutprobe.manifest.model import Gemm
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult
from layoutprobe.solver.diagnose import UNEXPLAINED
from layoutprobe.trace.comparisons import compared_in, wrong_on_integers
from layoutprobe.trace.products import right_to_the_unit
from layoutprobe.trace.subject import Subject


def by_values(
    check: Check,
    subject: Subject,
    why: str,
    *,
    covered: str = "",
    metrics: Mapping[str, object] | None = None,
) -> CheckResult:
    """Holds where outputs show that each element of A and B goes where it belongs, else undecided with a way out.

    Args:
        check: whose law it is.
        subject: the kernel.
        why: what cannot be followed, in words.
        covered: what was seen all the same.
        metrics: of the check.
    """
    from layoutprobe.trace.shown_elements import shown_elements  # what can be followed needs none

    if shown := shown_elements(subject):
        return check.holds(
            f"{covered and covered + '; '}{shown}, and slots are not followed: {why}", metrics=metrics or {}
        )
    return check.undecided(f"{covered and covered + ', but '}{why}{_way_out(subject)}", metrics=metrics or {})


def right_all_the_same(subject: Subject, findings: Sequence[Finding]) -> bool:
    """Whether outputs are right, though slots hold other elements than they should: those are computed on the way.

    Where an epilogue makes one number of many (a tanh), outputs do not show it; what has no explanation is no proof
    against values that are right in every run.
    """
    from layoutprobe.trace.shown_elements import shown_elements  # what can be followed needs none

    if right_to_the_unit(subject) or shown_elements(subject):
        return True
    unknown = all(found.name == UNEXPLAINED for found in findings)
    return unknown and not wrong_on_integers(subject) and not any(c.wrong.any() for c in compared_in(subject))


def _way_out(subject: Subject) -> str:
    """What to write where values alone are to be compared."""
    contract = subject.contract
    if not isinstance(contract, Gemm):
        return ""
    return (
        '. A function that says what comes out decides by values alone: contract = { kind = "reference", function = '
        f'"ref.py:product" }}, and in ref.py: def product(inputs, sizes): return {{"{contract.d}": '
        f'inputs["{contract.a}"] @ inputs["{contract.b}"]}}'
        + (", with what the kernel makes of the product" if contract.beside or contract.activation else "")
    )
