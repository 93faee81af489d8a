"""Who touched a granule of LDS, and when, in one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.machine.registers import Array
from layoutprobe.observe.clashes import Clash

Stamps = NDArray[np.int64]

# A stamp says who touched a granule and when. Fields from bit 0: lane, wave of the batch, site,
# late, atomic, between signal and wait, interval: the last that it counts for. A stamp of this
# interval is not less than `interval << INTERVAL`.
WAVE, SITE, LATE, ATOMIC, BETWEEN, INTERVAL = 6, 18, 36, 37, 38, 39
LANE_MASK = 63
WAVE_MASK = (1 << SITE) - (1 << WAVE)
SITE_LIMIT = 1 << LATE - SITE
WHEN = -1 << INTERVAL


def wave_of(stamps: Stamps) -> Stamps:
    """Of the batch."""
    return np.asarray((stamps & WAVE_MASK) >> WAVE)


def differ(a: Stamps, b: Stamps) -> Array:
    """Different waves. Waves of different workgroups never share a granule."""
    return (a ^ b) & WAVE_MASK != 0


def later(a: Stamps, b: Stamps) -> Array:
    """Those of `a` that count for a later interval than `b`."""
    return a >> INTERVAL > b >> INTERVAL


def lanes_differ(a: Stamps, b: Stamps) -> Array:
    """Different lanes, perhaps of different waves."""
    return (a ^ b) & LANE_MASK != 0


def is_collision(clash: Clash) -> bool:
    """Not a matter of order between waves, but of addresses: no barrier would mend it."""
    same_wave = (clash.first.who.workgroup, clash.first.who.wave) == (
        clash.second.who.workgroup,
        clash.second.who.wave,
    )
    return clash.kind == "WAW" and (same_wave or clash.first.inst.pc == clash.second.inst.pc)
