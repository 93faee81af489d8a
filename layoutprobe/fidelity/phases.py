"""Which lanes LDS serves together, by the clock; and what bank conflicts cost.

Two lanes ask for different dwords of one bank, all others for one dword of another bank. If the two
are served together, the access takes longer. All pairs together give the phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.lds import LdsModel, Phases
from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.fidelity.bench import Bench, Experiment, attempted, waves_of_32
from layoutprobe.observe.cycles import cycles
from layoutprobe.report.fidelity import Case
from layoutprobe.report.words import spans

ACCESSES = 64
"""Of one timing, as the probe has it."""
SIZES = (4, 8, 16)
PAIRS = tuple(combinations(range(32), 2))
_LDS_BYTES = 8192
_SWEEP = 128
"""Bytes from one row of banks to the next."""
_CLEAR = 0.3
"""How far from 0 or 1 cycles the cost of one conflict may be."""
_STRIDES = (16, 32, 64, 80, 128, 144, 256)

Addresses = NDArray[np.uint32]
Times = NDArray[np.float64]


class Patterns(Struct, frozen=True, eq=False):
    """Byte addresses of an access, uint32 [pattern, lane].

    Attributes:
        together: all lanes at one address, which no rule makes slow.
        apart: all lanes in one bank, each in a row of its own, which every rule makes slowest.
        pairs: one pattern for each of PAIRS.
        others: strides and random addresses.
    """

    together: Addresses
    apart: Addresses
    pairs: Addresses
    others: Addresses

    __repr__ = brief

    @property
    def all(self) -> Addresses:
        """In the order of the attributes."""
        return np.concatenate([self.together, self.apart, self.pairs, self.others])


def patterns(size: int) -> Patterns:
    """The patterns for accesses of so many bytes per lane."""
    lane = np.arange(32, dtype=np.uint32)
    pairs = np.full((len(PAIRS), 32), 64, np.uint32)
    for row, (one, other) in zip(pairs, PAIRS, strict=True):
        row[one], row[other] = 0, _SWEEP
    rng = np.random.default_rng(20261209)
    wild = rng.integers(0, _LDS_BYTES // size, (48, 32), np.uint32) * np.uint32(size)
    strides = [lane * np.uint32(stride) for stride in (size, *_STRIDES) if stride % size == 0]
    return Patterns(
        np.zeros((1, 32), np.uint32), (lane * np.uint32(_SWEEP))[None], pairs, np.stack([*strides, *wild])
    )


def _run(bench: Bench) -> Iterator[Case]:
    model = bench.target.lds if bench.target.lds.loads else None
    for store in (False, True):
        for number, size in enumerate(SIZES):
            name = f"ds_{'store' if store else 'load'}_b{8 * size}"
            rules = _said(model.phases(size, store=store)) if model else "nothing for this target"
            if bench.on_card is False:
                yield Case(name, "not measurable", f"only a card has time; the model says {rules}")
            else:
                yield attempted(name, partial(_look, bench, name, number, store, model))


def _look(bench: Bench, name: str, number: int, store: bool, model: LdsModel | None) -> Case:
    size = SIZES[number]
    asked = patterns(size)
    how = {"WIDTH": number, "STORE": int(store)}
    inputs = {"address": asked.all}
    capture = bench.ask("lds_time", inputs, defines=how, parameters={"bytes": size, "store": int(store)})
    if not capture.evidence.on_card:
        raise ProbeError("only a card has time")
    clocks = capture.outputs["elapsed"].min(axis=1).astype(np.float64)
    return judged(name, size, store, clocks, model)


def judged(name: str, size: int, store: bool, clocks: Times, model: LdsModel | None) -> Case:
    """The case of one kind of access.

    Args:
        name: of the case.
        size: bytes per lane.
        store: stores, not loads.
        clocks: float64 [pattern], in the order of `Patterns.all`.
        model: what to compare with; None where there are no rules, and only what is measured is said.
    """
    slowest, together = clocks[1], clocks[0]
    wanted = model.phases(size, store=store) if model else ()
    # All rules take 32 cycles at worst, and at best one for each phase: a few, which hardly matter here.
    unit = (slowest - together) / (32 - (len(wanted) or 2))
    if unit < ACCESSES / 8:
        text = f"no bank conflict shows: 32 lanes in one bank take {slowest:.0f} clocks, at one dword {together:.0f}"
        return Case(name, "undecided", text)
    extra = (clocks - together) / unit
    of_pairs, of_others = extra[2 : 2 + len(PAIRS)], extra[2 + len(PAIRS) :]
    unclear = int((np.minimum(np.abs(of_pairs), np.abs(of_pairs - 1)) > _CLEAR).sum())
    if unclear:
        text = (
            f"the times of {unclear} of {len(PAIRS)} pairs of lanes are neither with nor without a conflict"
        )
        return Case(name, "undecided", text)
    found = partition({pair for pair, time in zip(PAIRS, of_pairs, strict=True) if time > 0.5})
    if found is None:
        return Case(name, "undecided", "the lanes that conflict make no groups")
    if model is None:
        return Case(
            name, "not applicable", f"measured {_said(found)}; the emulator has no rules for this target"
        )
    if set(found) != set(wanted):
        return Case(name, "differ", f"measured {_said(found)}; the model has {_said(wanted)}")
    if why := _costs(of_others + len(wanted), size, store, model):
        return Case(name, "differ", f"phases as the model has them, but {why}")
    return Case(name, "agree", f"{_said(found)}; {len(of_others)} other patterns take what the model says")


def _costs(measured: Times, size: int, store: bool, model: LdsModel) -> str:
    """The pattern of `Patterns.others` whose cycles are farthest from the model's, in words; "" if near."""
    others = patterns(size).others
    predicted, _ = cycles(others.astype(np.int32), size, model, store=store)
    off = np.abs(measured - predicted)
    if (off <= 0.5 + 0.1 * predicted).all():
        return ""
    at = int(off.argmax())
    first = ", ".join(map(str, others[at, :4]))
    return f"lanes at bytes {first}, ... take {measured[at]:.1f} cycles, the model {int(predicted[at])}"


def partition(met: set[tuple[int, int]]) -> Phases | None:
    """The groups of lanes of which every two meet, and none of two groups; None where there are none such."""
    groups: list[tuple[int, ...]] = []
    left = list(range(32))
    while left:
        first = left[0]
        group = tuple(lane for lane in left if lane == first or (first, lane) in met)
        groups.append(group)
        left = [lane for lane in left if lane not in group]
    label = {lane: number for number, group in enumerate(groups) for lane in group}
    consistent = all((label[one] == label[other]) == ((one, other) in met) for one, other in PAIRS)
    return tuple(groups) if consistent else None


def _said(phases: Phases) -> str:
    return " ".join("{" + spans(np.array(group), most=len(group)) + "}" for group in phases)


PHASES = Experiment(
    name="LDS phases",
    question="Which lanes does LDS serve together, and what do bank conflicts cost?",
    meaning="the cycles that `layoutprobe check` reports for LDS accesses are those of another card",
    reference="the emulator's model of banks and phases",
    refusal=waves_of_32,
    run=_run,
)
