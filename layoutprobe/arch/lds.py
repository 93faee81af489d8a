"""How LDS serves the lanes of a wave: banks, and which lanes are looked at together.

An access of a wave is served in phases, one or more cycles each. In a phase every bank gives one
dword; lanes that ask for different dwords of one bank wait for each other, lanes that ask for the
same dword do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutprobe.errors import UsageError

Phases = tuple[tuple[int, ...], ...]
"""Lanes that are served together, phase by phase."""


@dataclass(frozen=True)
class LdsModel:
    """The phase rules of a target.

    Attributes:
        banks: dword banks that a workgroup sees.
        loads, stores: phases by the bytes per lane of one access.
        evidence: what the rules rest on, in words for reports.
        sources: where each part comes from.
    """

    banks: int
    loads: Mapping[int, Phases]
    stores: Mapping[int, Phases]
    evidence: str
    sources: Mapping[str, str]


def _lanes(*spans: tuple[int, int]) -> tuple[int, ...]:
    return tuple(lane for first, last in spans for lane in range(first, last + 1))


_WHOLE = (_lanes((0, 31)),)
_HALVES = (_lanes((0, 15)), _lanes((16, 31)))
_EIGHTS = tuple(_lanes((first, first + 7)) for first in range(0, 32, 8))
_CROSSED = (
    _lanes((0, 3), (20, 23)),
    _lanes((4, 7), (16, 19)),
    _lanes((8, 11), (28, 31)),
    _lanes((12, 15), (24, 27)),
)
_NARROW = {1: _WHOLE, 2: _WHOLE, 4: _WHOLE, 8: _HALVES}

_GFX11 = LdsModel(
    banks=32,
    loads=_NARROW | {12: _CROSSED, 16: _CROSSED},
    stores=_NARROW | {12: _EIGHTS, 16: _EIGHTS},
    evidence="model: phases measured on gfx1100; gfx1151 itself is unmeasured",
    sources={
        "banks": "RDNA3 ISA guide, LDS: 64 dword banks per WGP, two halves of 32",
        "loads": "measured by latency on gfx1100: b32, b64 and b128 (SHARK, pull request 2919); "
        "b96 as b128, and narrower than a dword as b32: assumed",
        "stores": "b128: 8 consecutive lanes, as kernel authors state for gfx942; "
        "b32 and b64 as loads: assumed",
        "same dword": "served together: common statement, no measurement cited",
    },
)

LDS_MODELS: Mapping[str, LdsModel] = {"gfx1151": _GFX11}


def lds_model(target: str, lanes: int = 32) -> LdsModel:
    """The phase rules of a target for waves of so many lanes.

    Raises:
        UsageError: there are none for it.
    """
    if lanes != 32:
        raise UsageError(f"no LDS phase rules for waves of {lanes} lanes", expected="32")
    if target not in LDS_MODELS:
        raise UsageError(f"no LDS phase rules for {target!r}", expected="one of: " + ", ".join(LDS_MODELS))
    return LDS_MODELS[target]
