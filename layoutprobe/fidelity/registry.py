"""All experiments, in the order in which they are run: those that a card may not survive come last."""

from __future__ import annotations

from layoutprobe.fidelity.arithmetic import ARITHMETIC
from layoutprobe.fidelity.bench import Experiment
from layoutprobe.fidelity.copies import COPIES
from layoutprobe.fidelity.d16 import D16
from layoutprobe.fidelity.exec_mask import EXEC_MASK
from layoutprobe.fidelity.halves import HALVES
from layoutprobe.fidelity.integers import CLAMP, SIGNS
from layoutprobe.fidelity.layouts import LAYOUTS
from layoutprobe.fidelity.odd_addresses import ODD_ADDRESSES
from layoutprobe.fidelity.phases import PHASES
from layoutprobe.fidelity.sums import SUMS
from layoutprobe.fidelity.uninitialised import UNINITIALISED

EXPERIMENTS: tuple[Experiment, ...] = (
    LAYOUTS,
    COPIES,
    HALVES,
    D16,
    ARITHMETIC,
    SUMS,
    SIGNS,
    CLAMP,
    EXEC_MASK,
    UNINITIALISED,
    PHASES,
    ODD_ADDRESSES,
)
