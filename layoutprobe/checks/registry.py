"""All checks of the gate, in the order in which reports show them."""

from __future__ import annotations

from layoutprobe.checks import (
    bank_conflicts,
    epilogue,
    lds_safety,
    memory,
    numerics,
    operand_provenance,
    races,
    resources,
    swizzle,
    waits,
)
from layoutprobe.checks.base import Check
from layoutprobe.errors import UsageError, did_you_mean

CHECKS: tuple[Check, ...] = (
    operand_provenance.CHECK,
    epilogue.CHECK,
    numerics.CHECK,
    swizzle.CHECK,
    lds_safety.CHECK,
    races.CHECK,
    waits.CHECK,
    memory.CHECK,
    bank_conflicts.CHECK,
    resources.CHECK,
)


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
