"""The laws of the gate, held against every launch of a program: those that need no manifest.

A launch is a Subject without sizes and without a contract, whose one run has happened already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from layoutprobe import __version__, arch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import find_check
from layoutprobe.codeobj.model import Kernel
from layoutprobe.engine.base import Dispatch, Engine
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ExecutionError, UsageError, did_you_mean
from layoutprobe.gate.causes import linked
from layoutprobe.gate.merge import Sized, merge
from layoutprobe.gate.runner import Astray
from layoutprobe.gate.tally import apply, with_faults
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.binding import Binding
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.model import Expression, KernelCase, NoContract
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.undefined import UndefinedRecord
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

CHECKS = {
    "memory": "memory",
    "init": "lds-safety",
    "lds-safety": "lds-safety",
    "races": "races",
    "barriers": "races",
    "waits": "waits",
    "wait-states": "wait-states",
    "bank-conflicts": "bank-conflicts",
}
"""What can be asked for -> the check of the gate; other sanitizers' words are among them."""
DEFAULT = ("memory", "lds-safety", "races")
"""A GEMM takes about twice the time with them."""
_MOST_RESULTS = 256
"""Launches of a kernel whose findings are kept one by one; what further ones find is the same or not told."""
_ONE, _NONE = Expression.of(1), Expression.of(0)


def checks_named(names: Sequence[str]) -> tuple[Check, ...]:
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
    return tuple(find_check(name) for name in chosen)


@dataclass
class _Launches:
    """What came of the launches of one kernel so far."""

    kernel: Kernel
    target: str
    count: int = 0
    results: dict[str, list[Sized]] = field(default_factory=dict)


class LaunchChecks:
    """Checks every launch of every program of one run, and remembers what was found."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self.checks = tuple(checks)
        self._factories = tuple(dict.fromkeys(f for check in checks for f in check.observers))
        self._kernels: dict[tuple[str, str], _Launches] = {}
        self._number = 0
        self._lock = threading.Lock()

    def runner(self) -> Callable[[Dispatch], None]:
        """What executes and checks the kernels of one program."""
        engine = make_engine()
        return lambda dispatch: self._run(engine, dispatch)

    def report(self, program: str) -> GateReport:
        """What was found: a verdict for each kernel, in the order of their first launches."""
        with self._lock:
            return GateReport(program, tuple(map(self._verdict, self._kernels.values())), __version__)

    def _run(self, engine: Engine, dispatch: Dispatch) -> None:
        """Run a kernel to its end, and apply the checks to what was seen.

        Raises:
            ExecutionError, UsageError: as the engine does; also the first access outside of every allocation,
                behind which the run went on.
        """
        recorders, astray = [factory() for factory in self._factories], Astray()
        stopped: ExecutionError | None = None
        try:
            engine.run(replace(dispatch, observers=(*dispatch.observers, astray, *recorders)))
        except ExecutionError as fault:
            stopped = fault
        faults = [*astray.errors.values(), *([stopped] if stopped else [])]
        self._note(dispatch, self._applied(_subject(dispatch, recorders, stopped), faults))
        if faults:
            raise faults[0]

    def _applied(self, subject: Subject, faults: Sequence[ExecutionError]) -> dict[str, CheckResult]:
        return with_faults({check.name: apply(check, subject) for check in self.checks}, faults)

    def _note(self, dispatch: Dispatch, results: dict[str, CheckResult]) -> None:
        with self._lock:
            self._number += 1
            key = (dispatch.code.digest, dispatch.kernel.name)
            launches = self._kernels.setdefault(key, _Launches(dispatch.kernel, dispatch.code.target))
            launches.count += 1
            for name, result in results.items():
                kept = launches.results.setdefault(name, [])
                new = bool(result.findings) or all(one.status != result.status for _, one in kept)
                if new and len(kept) < _MOST_RESULTS:
                    kept.append(((("launch", self._number),), result))

    def _verdict(self, launches: _Launches) -> KernelVerdict:
        count = launches.count
        return KernelVerdict(
            name=launches.kernel.name,
            symbol=launches.kernel.name,
            target=launches.target,
            source="",
            sizes=(f"{count} launch{'es' if count > 1 else ''}",),
            results=linked([merge(launches.results[check.name]) for check in self.checks]),
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
