"""What a check is, and everything that a check may know about a kernel.

A check module defines `CHECK = Check(...)`; `layoutprobe.checks.registry.CHECKS` lists them. A check gets a
Subject, which is one kernel at one size, and asks it for runs. It never runs a kernel itself: the
gate does, once for all checks that ask for the same.

    def run(subject: Subject) -> CheckResult:
        recorded = subject.plain()             # raises RunStoppedError after a fault: the gate reports it
        record = recorded.record(LdsRecord)    # by the type of the record that an observer makes
        if not record.loads:
            return CHECK.skipped("the kernel keeps nothing in LDS")
        return CHECK.found([Finding(COLLISION, ...)], metrics={...})    # holds where there is no finding

    COLLISION = Rule("swizzle/collision", "two lanes store ...", "what it means", "how to mend it")
    CHECK = Check("swizzle", "LDS addresses ...", "...", run, observers=(LdsObserver,), rules=(COLLISION,))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from layoutprobe.errors import DEBUG, ProbeError, debugging
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult, Status
from layoutprobe.trace.subject import RecorderFactory, RunStoppedError, Subject, UndecidedError

Made = TypeVar("Made")


def diagnosed(make: Callable[[], Made], otherwise: Callable[[str], Made]) -> Made:
    """What is made of something that is known to be wrong. Where that fails, what is wrong stays so.

    Args:
        make: finds out why it is wrong.
        otherwise: what is known without, told why that failed.
    """
    try:
        return make()
    except MemoryError:
        raise
    except (ProbeError, RunStoppedError, UndecidedError) as stopped:
        return otherwise(f"why could not be found out: {stopped}")
    except Exception as bug:
        if debugging():
            raise
        problem = f"{type(bug).__name__}: {bug}"
        return otherwise(
            f"why could not be found out, for a bug in layoutprobe ({problem}; {DEBUG}=1 shows more)"
        )


class Check(Struct, frozen=True):
    """One law.

    Attributes:
        name: as the command line and manifests call it: "lds-safety".
        law: what it tests, in one line.
        explain: a paragraph: what it tests, how, what it cannot see, which evidence it rests on.
        run: applies it to one kernel at one size. It may let RunStoppedError pass (the gate reports
            the fault, see checks/faults.py), and raise UndecidedError or any ProbeError.
        observers: those whose records it reads from the plain run (`subject.plain()`); the plain
            run is watched by the observers of all selected checks.
        rules: every way in which the law can be broken; its findings name one of them.
        cleared: what it says of a launch that an engine's sieve lets pass (`Engine.clears`), which cannot break it;
            None where the sieve does not stand for its observers.
        per_size: False for a check that reads the code object only: it runs once per kernel.
    """

    name: str
    law: str
    explain: str
    run: Callable[[Subject], CheckResult]
    observers: tuple[RecorderFactory, ...] = ()
    rules: tuple[Rule, ...] = ()
    cleared: Callable[[Subject], CheckResult] | None = None
    per_size: bool = True

    def holds(self, reason: str = "", *, metrics: Mapping[str, object] | None = None) -> CheckResult:
        """The law holds; `reason` says what was covered."""
        return CheckResult(self.name, self.law, "holds", (), reason, metrics or {})

    def found(
        self, findings: Iterable[Finding], reason: str = "", *, metrics: Mapping[str, object] | None = None
    ) -> CheckResult:
        """The law is broken, or holds where there is no finding."""
        listed = tuple(findings)
        status: Status = "finding" if listed else "holds"
        return CheckResult(self.name, self.law, status, listed, reason, metrics or {})

    def undecided(self, reason: str, *, metrics: Mapping[str, object] | None = None) -> CheckResult:
        """It could not be decided, and why."""
        return CheckResult(self.name, self.law, "undecided", (), reason, metrics or {})

    def skipped(self, reason: str) -> CheckResult:
        """The law does not apply to this kernel, and why."""
        return CheckResult(self.name, self.law, "skipped", (), reason)
