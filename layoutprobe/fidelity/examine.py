"""Runs all experiments, one after the other, whatever becomes of each."""

from __future__ import annotations

from collections.abc import Callable

from layoutprobe import __version__
from layoutprobe.backends.source import Source
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import ProbeError
from layoutprobe.fidelity.bench import Bench, Experiment, said
from layoutprobe.fidelity.registry import EXPERIMENTS
from layoutprobe.report.fidelity import Case, FidelityReport, Outcome


def examine(
    arch: str,
    source: Source,
    experiments: tuple[Experiment, ...] = EXPERIMENTS,
    before: Callable[[str, int, int], None] | None = None,
    after: Callable[[Outcome], None] | None = None,
) -> FidelityReport:
    """Ask a card, or what it answered once, everything that decides whether the emulator is right.

    Args:
        arch: target to compile for.
        source: who answers.
        experiments: which ones.
        before: is told the name of each, and of its case that was last looked at; how many experiments are
            done, and of how many.
        after: is told what each found, before the next begins: the moment to save what there is.

    Raises:
        UsageError: no such target.
    """
    target = Bench.of(arch, source).target
    outcomes: list[Outcome] = []
    captures: list[Capture] = []
    on_card: bool | None = None
    for done, experiment in enumerate(experiments):

        def tell(what: str, done: int = done) -> None:
            if before is not None:
                before(what, done, len(experiments))

        bench = Bench(target, source, on_card)
        outcomes.append(_outcome(experiment, bench, tell))
        captures += bench.captures
        on_card = bench.on_card
        if after is not None:
            after(outcomes[-1])
    device = next((capture.device for capture in captures if capture.device), {})
    return FidelityReport(target.name, target.product, device, tuple(outcomes), __version__)


def _outcome(experiment: Experiment, bench: Bench, tell: Callable[[str], None]) -> Outcome:
    tell(experiment.name)
    cases: list[Case] = []
    if refusal := experiment.refusal(bench.target):
        cases.append(Case("", "not applicable", refusal))
    else:
        try:
            for case in experiment.run(bench):
                cases.append(case)
                tell(f"{experiment.name}: {case.name}")
        except ProbeError as error:
            cases.append(Case("", "undecided", f"not run to its end: {said(error)}"))
    return Outcome(
        experiment.name,
        experiment.question,
        experiment.meaning,
        experiment.reference,
        tuple(cases),
        bench.evidence,
        len(bench.captures),
    )
