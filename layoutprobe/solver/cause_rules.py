"""What can be wrong with the loads, the LDS and the stores of a probe, by its cause.

Imports all that is known of causes: a probe that is right needs none of it, and a short command is half imports.
"""

from __future__ import annotations

from layoutprobe.report.finding import Rule
from layoutprobe.solver.diagnose import LDS_OFFSET, UNEXPLAINED
from layoutprobe.solver.hypotheses import HYPOTHESES
from layoutprobe.solver.rules import (
    COPIES_DIFFER,
    DOUBLED,
    FOREIGN,
    LOAD_OFF_SCHEME,
    LOST,
    NEVER_WRITTEN,
    STORE_OFF_SCHEME,
    WRITTEN_TWICE,
)


def cause_rules(check: str, matrices: str) -> dict[str, Rule]:
    """Name of a cause -> its rule in a check, of all causes that can hit one of these matrices."""
    causes = [h for h in HYPOTHESES if set(h.matrices) & set(matrices)]
    rules = {
        cause.name: Rule(f"{check}/{cause.name}", cause.title, cause.why, cause.hint) for cause in causes
    }
    why = (
        "Slots hold other elements than they must, or none, and no known cause explains all of them. The "
        "finding names the first slot, what it holds and what belongs there."
    )
    mend = "compare row and column of each access with what the slots hold: `layoutprobe layout` draws it"
    unknown = Rule(f"{check}/{UNEXPLAINED}", "slots hold other elements than they must", why, mend)
    return rules | {UNEXPLAINED: unknown}


def offset_rule(check: str) -> Rule:
    """The rule of a check about accesses of LDS that are a constant distance from their place."""
    why = (
        "All wrong elements lie the same number of bytes from where the load looks: the address function "
        "is right, and an offset or base is not."
    )
    mend = "compare offset and base of the access that is named with those of its neighbours"
    return Rule(f"{check}/{LDS_OFFSET}", "accesses of LDS miss their place by a constant", why, mend)


OPERAND_RULES = cause_rules("operand-layout", "AB")
"""Cause -> rule, of operands that the instruction needs otherwise."""
STORE_RULES = cause_rules("epilogue", "CD")
"""Cause -> rule, of accumulators that are stored elsewhere than they belong."""

RULES = (
    *OPERAND_RULES.values(),
    *STORE_RULES.values(),
    NEVER_WRITTEN,
    WRITTEN_TWICE,
    FOREIGN,
    LOST,
    DOUBLED,
    COPIES_DIFFER,
    STORE_OFF_SCHEME,
    LOAD_OFF_SCHEME,
)
"""All of them."""
