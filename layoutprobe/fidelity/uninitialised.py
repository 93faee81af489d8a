"""LDS and VGPRs that nobody has set: the emulator calls them undefined."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutprobe.capture.capture import Capture
from layoutprobe.fidelity.bench import Bench, Experiment, Words, waves_of_32
from layoutprobe.report.fidelity import Case

_WAVES = 512
_WHAT = {"lds": "LDS", "registers": "VGPRs"}


def _run(bench: Bench) -> Iterator[Case]:
    rng = np.random.default_rng(20261207)
    marks = rng.choice(np.arange(1 << 16, 1 << 24, dtype=np.uint32), _WAVES, replace=False)
    card, emulated = bench.probe("uninitialised", {"mark": marks})
    for output, name in _WHAT.items():
        if bench.on_card:
            yield _seen(name, card.outputs[output], marks)
        else:
            yield _masks(name, output, card, emulated)


def _masks(name: str, output: str, one: Capture, other: Capture) -> Case:
    """Between emulators: the same bits are undefined."""
    mine, theirs = one.undefined.get(output), other.undefined.get(output)
    if mine is None or theirs is None:
        return Case(name, "not measurable", "no card, and no word on which bits are undefined")
    if (mine == theirs).all() and bool((~mine == 0).all()):
        return Case(name, "agree", "undefined in every bit")
    return Case(name, "differ", "other bits are undefined than on the emulator")


def _seen(name: str, values: Words, marks: Words) -> Case:
    """On a card there are only values: those left behind show that nothing was cleared."""
    left, zero = int(np.isin(values, marks).sum()), int((values == 0).sum())
    counts = f"of {values.size} words {left} are what an earlier workgroup left, {zero} are zero"
    if zero < values.size:
        return Case(name, "agree", f"not cleared: {counts}")
    return Case(name, "undecided", "zero in every word of this run, which does not show that it is always so")


UNINITIALISED = Experiment(
    name="uninitialised memory",
    question="Are LDS and VGPRs that nobody has set really anything, as the emulator takes them to be?",
    meaning="where a card always clears them, findings about undefined values are stricter than that card",
    reference="the emulator: undefined, in every bit",
    refusal=waves_of_32,
    run=_run,
)
