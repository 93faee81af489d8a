"""Occupancy: how many waves a SIMD can hold at once, given what each wave and workgroup takes.

The law is LLVM's (AMDGPUSubtarget.cpp, GCNSubtarget.cpp, release 22): the smallest of what the
VGPRs, the SGPRs (gfx9 only), and LDS together with the workgroup's size allow. Of that, only what
whole workgroups make is ever resident: LLVM prints the resources' minimum, a card runs the groups.

    >>> occupancy("gfx942", 128, agprs=128).waves
    2
    >>> register_budget("gfx942", waves=4).registers
    128
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from layoutprobe.arch.registers import MAX_WORKGROUP, Resources, VgprFile
from layoutprobe.arch.registry import TARGETS, resources
from layoutprobe.errors import UsageError

WHOLE = "whole workgroups"
"""What takes the waves below every limit: the room that is left is too small for one more workgroup."""


class Occupancy(Struct, frozen=True):
    """How many waves fit.

    Attributes:
        target, wave: for which target, and for waves of how many lanes.
        waves: waves per SIMD; of the fullest, where the waves of the workgroups do not divide evenly.
        max_waves: wave slots per SIMD.
        registers: VGPRs per lane that a wave is given, AccVGPRs included, granule applied.
        limits: what each resource alone would allow, in waves per SIMD; "VGPRs", "SGPRs",
            "LDS and workgroup size"; those that apply.
        workgroups: workgroups that a CU or WGP holds at once; 0: it cannot hold even one, and the
            kernel cannot be launched. None where no workgroup size was given.
        unit: "CU" or "WGP".
    """

    target: str
    wave: int
    waves: int
    max_waves: int
    registers: int
    limits: Mapping[str, int]
    workgroups: int | None
    unit: str

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that keep it below the maximum; empty at the maximum."""
        if self.waves == self.max_waves:
            return ()
        least = min(self.limits.values())
        scarce = tuple(name for name, waves in self.limits.items() if waves == least < self.max_waves)
        return (*scarce, WHOLE) if self.waves < least else scarce

    @property
    def limit(self) -> str:
        """The same in words: "VGPRs, LDS and workgroup size"; "" at the maximum."""
        return ", ".join(self.limited_by)


class RegisterBudget(Struct, frozen=True):
    """How many registers a wave may take so that so many waves fit.

    Attributes:
        target, wave, waves: the question: target, lanes of a wave, waves per SIMD.
        registers: largest number of VGPRs per lane, AccVGPRs included.
        addressable: of which at most so many VGPRs, and (with a unified file) as many AccVGPRs.
        simd_bytes: bytes of the register file of a SIMD.
        cu_bytes: bytes of the register files of a CU.
    """

    target: str
    wave: int
    waves: int
    registers: int
    addressable: int
    simd_bytes: int
    cu_bytes: int


def occupancy(
    target: str,
    vgprs: int,
    *,
    agprs: int = 0,
    sgprs: int = 0,
    lds: int = 0,
    workgroup: int | None = None,
    wave: int | None = None,
    cu_mode: bool = False,
) -> Occupancy:
    """Waves per SIMD.

    Args:
        target: one whose registers are known.
        vgprs, agprs: VGPRs and AccVGPRs of a wave, per lane.
        sgprs: SGPRs of a wave, VCC and the like included, as the metadata counts them.
        lds: bytes of LDS of a workgroup.
        workgroup: work-items of a workgroup; None leaves LDS and workgroup size out.
        wave: lanes of a wave; default: what compilers use for the target.
        cu_mode: gfx10 and later: a workgroup stays on one CU instead of a WGP.

    Raises:
        UsageError: unknown target, or more than the target can address.
    """
    known = resources(target)
    wave = TARGETS[target].wave_size if wave is None else wave
    file = _file(target, known, wave)
    _refuse_impossible(target, vgprs, agprs, sgprs, lds, workgroup)
    taken = _taken(known, file, vgprs, agprs)
    limits = {"VGPRs": _clamp(file.total // taken, known.max_waves)}
    if known.sgpr_steps:
        limits["SGPRs"] = _by_sgprs(known, sgprs)
    unit, simds, pool, barriers = known.unit, known.simds, known.lds, known.barriers
    if cu_mode and unit == "WGP":
        unit, simds, pool, barriers = "CU", simds // 2, pool // 2, barriers // 2
    workgroups, whole = None, known.max_waves
    if workgroup is not None:
        each = -(-workgroup // wave)
        resident = _workgroups(known.max_waves * simds, each, pool // max(lds, 1), barriers)
        limits["LDS and workgroup size"] = _clamp(-(-resident * each // simds), known.max_waves)
        workgroups = min(resident, min(limits.values()) * simds // each)
        if workgroups:
            whole = -(-workgroups * each // simds)
    waves = min(whole, *limits.values())
    return Occupancy(target, wave, waves, known.max_waves, taken, limits, workgroups, unit)


def register_budget(target: str, waves: int, *, wave: int | None = None) -> RegisterBudget:
    """The most registers that a wave may take for `waves` waves to fit on a SIMD.

    Args:
        target: as for `occupancy`.
        waves: waves per SIMD, from 1 to the target's wave slots.
        wave: lanes of a wave; default: what compilers use for the target.

    Raises:
        UsageError: unknown target, or a number of waves that no SIMD of it holds.
    """
    known = resources(target)
    wave = TARGETS[target].wave_size if wave is None else wave
    file = _file(target, known, wave)
    if not 1 <= waves <= known.max_waves:
        raise UsageError(
            f"a SIMD of {target} cannot hold {waves} waves", expected=f"a number from 1 to {known.max_waves}"
        )
    reach = known.addressable * (2 if known.unified else 1)
    registers = min(file.total // waves // file.granule * file.granule, reach)
    simds_per_cu = known.simds // (2 if known.unit == "WGP" else 1)
    return RegisterBudget(
        target=target,
        wave=wave,
        waves=waves,
        registers=registers,
        addressable=known.addressable,
        simd_bytes=known.simd_bytes,
        cu_bytes=known.simd_bytes * simds_per_cu,
    )


def _file(target: str, known: Resources, wave: int) -> VgprFile:
    if wave not in known.vgprs:
        sizes = " or ".join(str(size) for size in known.vgprs)
        raise UsageError(f"{target} has no waves of {wave} lanes", expected=f"{sizes} lanes")
    return known.vgprs[wave]


def _taken(known: Resources, file: VgprFile, vgprs: int, agprs: int) -> int:
    """VGPRs given to a wave, AccVGPRs among them where they lie in the same file."""
    granule = known.accvgpr_granule
    used = -(-vgprs // granule) * granule + agprs if known.unified and agprs else vgprs
    return -(-max(used, 1) // file.granule) * file.granule  # no wave is given none


def _by_sgprs(known: Resources, sgprs: int) -> int:
    for most, waves in known.sgpr_steps:
        if sgprs <= most:
            return min(waves, known.max_waves)
    return known.sgpr_steps[-1][1] - 1


def _workgroups(slots: int, each: int, by_lds: int, barriers: int) -> int:
    """Workgroups of `each` waves that share wave slots, LDS and (if of several waves) barriers."""
    by_slots = slots if each == 1 else min(slots // each, barriers)
    return min(by_slots, by_lds)


def _clamp(waves: int, most: int) -> int:
    """LLVM counts what does not fit at all as one wave; `workgroups` tells the difference."""
    return max(1, min(waves, most))


def _refuse_impossible(
    target: str, vgprs: int, agprs: int, sgprs: int, lds: int, workgroup: int | None
) -> None:
    known = resources(target)
    most_agprs = known.addressable if known.unified else 0
    ranges = (
        ("VGPRs", vgprs, 0, known.addressable),
        ("AccVGPRs", agprs, 0, most_agprs),
        ("SGPRs", sgprs, 0, 128),
        ("bytes of LDS", lds, 0, TARGETS[target].lds_bytes),
        ("work-items in a workgroup", MAX_WORKGROUP if workgroup is None else workgroup, 1, MAX_WORKGROUP),
    )
    for what, value, low, high in ranges:
        if not low <= value <= high:
            raise UsageError(
                f"{target} has no {what} to give" if high == 0 else f"{value} {what} are impossible",
                where={"target": target},
                expected=f"from {low} to {high} {what}",
                observed=str(value),
            )
    if lds and workgroup is None:
        raise UsageError(
            "LDS limits whole workgroups, so the workgroup's size is needed",
            expected=f"work-items of a workgroup, from 1 to {MAX_WORKGROUP}",
        )
