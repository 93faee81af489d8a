"""All checks of the gate, in the order in which reports show them."""

from __future__ import annotations

from layoutprobe.checks import (
    acceptance,
    bank_conflicts,
    conduct,
    epilogue,
    lds_safety,
    memory,
    numerics,
    operand_provenance,
    races,
    resources,
    swizzle,
    wait_states,
    waits,
)
from layoutprobe.checks.base import Check
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.report.finding import Rule
from layoutprobe.solver.cause_rules import RULES as PROBE_RULES

CHECKS: list[Check] = [
    operand_provenance.CHECK,
    epilogue.CHECK,
    numerics.CHECK,
    swizzle.CHECK,
    lds_safety.CHECK,
    races.CHECK,
    waits.CHECK,
    wait_states.CHECK,
    memory.CHECK,
    bank_conflicts.CHECK,
    resources.CHECK,
]

_RULES = (*(check.rules for check in CHECKS), acceptance.RULES, conduct.RULES, PROBE_RULES)
RULES: list[Rule] = list({rule.id: rule for rules in _RULES for rule in rules}.values())
"""Every rule that a finding can name: those of the checks, then of host programs, `dump` and its like."""


def register(check: Check) -> None:
    """Add a check, behind the others, and its rules.

    Raises:
        UsageError: there is a check of that name.
    """
    if check.name in check_names():
        raise UsageError(f"there are two checks named {check.name[:40]!r}")
    CHECKS.append(check)
    RULES.extend(check.rules)


def check_names() -> tuple[str, ...]:
    """Names of all checks, in order."""
    return tuple(check.name for check in CHECKS)


def find_check(name: str) -> Check:
    """The check of that name.

    Raises:
        UsageError: there is none; lists those there are.
    """
    for check in CHECKS:
        if check.name == name:
            return check
    raise UsageError(
        f"no check named {name!r}",
        expected="one of: " + ", ".join(check_names()),
        hint=did_you_mean(name, check_names()),
    )


def rules_of(check: str) -> tuple[Rule, ...]:
    """Every way in which the law of a check can be broken."""
    return tuple(rule for rule in RULES if rule.check == check)


def find_rule(id: str) -> Rule:
    """The rule of that id.

    Raises:
        UsageError: there is none; names those of the same check.
    """
    for rule in RULES:
        if rule.id == id:
            return rule
    same = [rule.id for rule in rules_of(id.partition("/")[0])]
    raise UsageError(
        f"no rule named {id!r}",
        expected="one of: " + ", ".join(same or dict.fromkeys(rule.check + "/..." for rule in RULES)),
        hint=did_you_mean(id, [rule.id for rule in RULES]),
    )
