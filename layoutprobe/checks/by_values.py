"""Products whose operands or accumulators cannot be followed: their outputs decide, where they show every element."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.checks.base import Check
from layoutprobe.manifest.model import Gemm
from layoutprobe.report.gate import CheckResult
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


def right_all_the_same(subject: Subject) -> bool:
    """Whether outputs are right, though slots hold other elements than they should: those are computed on the way."""
    from layoutprobe.trace.shown_elements import shown_elements  # what can be followed needs none

    return right_to_the_unit(subject) or bool(shown_elements(subject))


def _way_out(subject: Subject) -> str:
    """What to write where values alone are to be compared."""
    contract = subject.contract
    if not isinstance(contract, Gemm):
        return ""
    return (
        '. A function that says what comes out decides by values alone: contract = { kind = "reference", function = '
        f'"ref.py:product" }}, and in ref.py: def product(inputs, sizes): return {{"{contract.d}": '
        f'inputs["{contract.a}"] @ inputs["{contract.b}"]}}'
    )
