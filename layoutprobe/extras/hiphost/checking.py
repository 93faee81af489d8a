"""The laws of the gate, held against every launch of a program: those that need no manifest.

A launch is a Subject without sizes and without a contract, whose one run has happened already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import __version__, arch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import conduct
from layoutprobe.checks.acceptance import accept
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import find_check
from layoutprobe.codeobj.model import Kernel
from layoutprobe.engine.base import Dispatch, Engine, Grain
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ExecutionError, UsageError, did_you_mean
from layoutprobe.extras.hiphost.choice import Choice
from layoutprobe.extras.hiphost.conduct import LEAKS, Conduct
from layoutprobe.gate.applying import apply, with_faults
from layoutprobe.gate.causes import linked
from layoutprobe.gate.merge import Sized, merge
from layoutprobe.gate.watching import Astray, Deadline
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.binding import Binding
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.model import Acceptance, Expression, KernelCase, NoContract
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.grain import grain_of
from layoutprobe.observe.undefined import UndefinedRecord
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

HOST = (conduct.NAME, LEAKS)
"""What is asked of the host's side."""
CHECKS = {
    "memory": "memory",
    "init": "lds-safety",
    "lds-safety": "lds-safety",
    "races": "races",
    "barriers": "races",
    "waits": "waits",
    "wait-states": "wait-states",
    "bank-conflicts": "bank-conflicts",
    "resources": "resources",
    **{name: name for name in HOST},
}
"""What can be asked for -> the check of the gate, or HOST; other sanitizers' words are among them."""
FIGURES = {"bank-conflicts", "resources"}
"""Checks whose figures are wanted, where they hold, too."""
DEFAULT = ("memory", "lds-safety", "races", conduct.NAME)
"""Programs take up to twice the time with them."""
_MOST_RESULTS = 256
"""Launches of a kernel whose findings are kept one by one; what further ones find is the same or not told."""
HOST_NAME = "the host program"
_ENDLESS = 1 << 62
_ONE, _NONE = Expression.of(1), Expression.of(0)


class Asked(Struct, frozen=True):
    """What is checked in a run.

    Attributes:
        checks: of kernels.
        host: those of HOST that are asked for.
        choice: launches to check.
        seconds: after which a launch is ended; None: when it has issued as many instructions as the engine allows.
        accepted: name of a kernel -> findings that are let pass.
    """

    checks: tuple[Check, ...]
    host: tuple[str, ...] = ()
    choice: Choice = field(default_factory=Choice)
    seconds: float | None = None
    accepted: Mapping[str, tuple[Acceptance, ...]] = field(default_factory=dict)


def asked_for(names: Sequence[str]) -> Asked:
    """The checks that names ask for, each once; the default ones for none.

    Raises:
        UsageError: there is no such check, or it needs a manifest.
    """
    for name in names:
        if name not in CHECKS:
            raise UsageError(
                f"no check of launches is named {name[:40]!r}",
                expected="one of: " + ", ".join(CHECKS),
                hint=did_you_mean(name, CHECKS)
                or "what a kernel computes is checked by `layoutprobe check`, with a manifest",
            )
    chosen = dict.fromkeys(CHECKS[name] for name in names) or dict.fromkeys(DEFAULT)
    checks = tuple(find_check(name) for name in chosen if name not in HOST)
    return Asked(checks, tuple(name for name in chosen if name in HOST))


class _Launches(Struct):
    """What came of the launches of one kernel so far."""

    kernel: Kernel
    target: str
    count: int = 0
    results: dict[str, list[Sized]] = field(default_factory=dict)


class LaunchChecks:
    """Checks every launch of every program of one run, and remembers what was found."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.checks = asked.checks
        self.conduct = Conduct(asked.host)
        self._factories = tuple(dict.fromkeys(f for check in self.checks for f in check.observers))
        self._grains: dict[tuple[str, str], Grain | None] = {}
        self._seen = 0
        self._kernels: dict[tuple[str, str], _Launches] = {}
        self._lock = threading.Lock()

    def runner(self) -> Callable[[Dispatch], None]:
        """What executes and checks the kernels of one program."""
        engine = make_engine()
        return lambda dispatch: self._run(engine, dispatch)

    def report(self, program: str) -> GateReport:
        """What was found: a verdict for each kernel, in the order of their first launches, and behind them what the
        host does wrong.
        """
        with self._lock:
            kernels = [self._verdict(one) for one in self._kernels.values() if self.checks]
        told = {finding.rule.id for verdict in kernels for finding in verdict.every}
        if (found := self.conduct.result(told)) is not None:
            kernels.append(self._of_host(program, found, kernels[0].target if kernels else ""))
        return GateReport(program, tuple(kernels), __version__)

    @property
    def figures(self) -> bool:
        """Whether what holds is told, too."""
        return any(check.name in FIGURES for check in self.checks)

    @property
    def left_undecided(self) -> str:
        """What was asked for and never came: kernels or launches, or kernels of a baseline; "" for nothing."""
        ran = {launches.kernel.name for launches in self._kernels.values()} | {HOST_NAME}
        gone = [name for name in self.asked.accepted if name not in ran]
        if gone:
            return f"the baseline accepts findings of {gone[0][:80]}, which was not launched"
        missed = bool(self.asked.choice) and not self._kernels
        return "no kernel or launch of those that were asked for ran" if missed else ""

    def _of_host(self, program: str, found: CheckResult, target: str) -> KernelVerdict:
        results = self._accepted(HOST_NAME, [found], target)
        evidence = (EmulatorBackend().evidence,)
        return KernelVerdict(HOST_NAME, "", target, program, (), results, evidence=evidence)

    def _accepted(self, name: str, results: Sequence[CheckResult], target: str) -> tuple[CheckResult, ...]:
        return accept(results, self.asked.accepted.get(name, ()), target, date.today())

    def _run(self, engine: Engine, dispatch: Dispatch) -> None:
        """Run a kernel to its end, and apply the checks to what was seen.

        Raises:
            ExecutionError, UsageError: as the engine does; also the first access outside of every allocation,
                behind which the run went on.
        """
        with self._lock:
            self._seen += 1
            number = self._seen
        if self.asked.seconds is not None:
            limit = Deadline(self.asked.seconds, "give it more: --budget SECONDS")
            dispatch = replace(dispatch, budget=_ENDLESS, observers=(*dispatch.observers, limit))
        if not self.checks or not self.asked.choice.includes(dispatch, number):
            engine.run(dispatch)
            return
        if self._clears(engine, dispatch):
            subject = _subject(dispatch, (), None)
            said = {c.name: c.cleared(subject) if c.cleared else apply(c, subject) for c in self.checks}
            self._note(dispatch, number, said)
            return
        recorders, astray = [factory() for factory in self._factories], Astray()
        stopped: ExecutionError | None = None
        try:
            engine.run(replace(dispatch, observers=(*dispatch.observers, astray, *recorders)))
        except ExecutionError as fault:
            stopped = fault
        faults = [*astray.errors.values(), *([stopped] if stopped else [])]
        self._note(dispatch, number, self._applied(_subject(dispatch, recorders, stopped), faults))
        if faults:
            raise faults[0]

    def _clears(self, engine: Engine, dispatch: Dispatch) -> bool:
        """Whether the launch ran, and no observer need look: most launches, at a fraction of the time."""
        watching = [check for check in self.checks if check.observers]
        if dispatch.observers or not watching or not all(check.cleared for check in watching):
            return False
        code, kernel = dispatch.code, dispatch.kernel
        key = code.digest, kernel.name
        if key not in self._grains:
            self._grains[key] = grain_of(
                kernel.entry, load_instructions(code, kernel), isa_of(code, kernel).counting
            )
        grain = self._grains[key]
        return grain is not None and engine.clears(dispatch, grain)

    def _applied(self, subject: Subject, faults: Sequence[ExecutionError]) -> dict[str, CheckResult]:
        return with_faults({check.name: apply(check, subject) for check in self.checks}, faults)

    def _note(self, dispatch: Dispatch, number: int, results: dict[str, CheckResult]) -> None:
        with self._lock:
            key = (dispatch.code.digest, dispatch.kernel.name)
            launches = self._kernels.setdefault(key, _Launches(dispatch.kernel, dispatch.code.target))
            launches.count += 1
            for name, result in results.items():
                kept = launches.results.setdefault(name, [])
                new = bool(result.findings) or all(one.status != result.status for _, one in kept)
                if new and len(kept) < _MOST_RESULTS:
                    kept.append(((("launch", number),), result))

    def _verdict(self, launches: _Launches) -> KernelVerdict:
        count = launches.count
        return KernelVerdict(
            name=launches.kernel.name,
            symbol=launches.kernel.name,
            target=launches.target,
            source="",
            sizes=(f"{count} launch{'es' if count > 1 else ''}",),
            results=self._accepted(
                launches.kernel.name,
                linked([merge(launches.results[check.name]) for check in self.checks]),
                launches.target,
            ),
            evidence=(EmulatorBackend().evidence,),
        )


def _subject(dispatch: Dispatch, recorders: Sequence[Recorder], fault: ExecutionError | None) -> Subject:
    code, kernel = dispatch.code, dispatch.kernel
    dynamic = dispatch.lds_size - kernel.descriptor.group_segment_size
    binding = Binding(_case(kernel), {}, dispatch.grid, dispatch.block, dynamic, {}, {})
    records = tuple(recorder.record() for recorder in recorders)
    recorded = Recorded(
        spec=RunSpec(),
        inputs={},
        outputs={},
        undefined=_stored_undefined(records),
        stray={},
        alpha=1.0,
        beta=0.0,
        records=records,
        fault=fault,
    )
    return Subject(
        binding.case,
        binding,
        arch.ARCHES.get(code.target),
        code,
        kernel,
        cache(lambda: load_instructions(code, kernel)),
        Coding.of({}),
        lambda _: recorded,
    )


def _stored_undefined(records: Sequence[object]) -> dict[str, NDArray[np.bool_]]:
    """A true for each undefined element that was stored: which allocation is an output, nobody has said."""
    count = sum(use.count for r in records if isinstance(r, UndefinedRecord) for use in r.stores)
    return {"global memory": np.ones(count, np.bool_)} if count else {}


def _case(kernel: Kernel) -> KernelCase:
    """A kernel of which no manifest says anything."""
    return KernelCase(
        name=kernel.name,
        source=None,
        code_object=Path(kernel.name),
        symbol=kernel.name,
        flags=(),
        defines={},
        include=(),
        arches=(),
        grid=(_ONE, _ONE, _ONE),
        block=(_ONE, _ONE, _ONE),
        dynamic_lds=_NONE,
        arguments=(),
        contract=NoContract(),
        sizes=({},),
    )
