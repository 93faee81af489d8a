"""Registers, LDS and wave slots of each target, as far as occupancy depends on them.

More targets stand here than the emulator executes: what a kernel uses is read from its code object
alone. Source of every number: LLVM (AMDGPUBaseInfo.cpp and GCNProcessors.td, release 22), whose
compiler prints the occupancy of each kernel; tests/oracle compares every row with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutprobe.errors import UsageError, did_you_mean

KIB = 1024


@dataclass(frozen=True)
class VgprFile:
    """The VGPRs that the waves of a SIMD share, for waves of one size.

    Attributes:
        total: registers per lane.
        granule: registers are given to a wave in multiples of it.
        encoded: unit in which the kernel descriptor counts them; a divisor of the granule.
    """

    total: int
    granule: int
    encoded: int


@dataclass(frozen=True)
class Resources:
    """What the waves of a target share.

    Attributes:
        name: the target.
        vgprs: VGPRs by wave size; the first size is the one that compilers use by default.
        max_waves: wave slots of a SIMD.
        addressable: VGPRs (and, where there are any, AccVGPRs) that an instruction can name.
        unified: AccVGPRs exist, and lie in the same file as the VGPRs.
        unit: what a workgroup runs on: "CU", or "WGP" for two CUs that share their LDS.
        simds: SIMDs of that unit.
        lds: bytes of LDS in that unit.
        lds_workgroup: bytes of LDS that one workgroup may have.
        barriers: workgroups of several waves that the unit can keep track of.
        sgpr_steps: (SGPRs, waves): up to so many SGPRs, so many waves; beyond the last step one
            wave less. Empty where SGPRs do not limit occupancy.
    """

    name: str
    vgprs: Mapping[int, VgprFile]
    max_waves: int
    addressable: int
    unified: bool
    unit: str
    simds: int
    lds: int
    lds_workgroup: int
    barriers: int
    sgpr_steps: tuple[tuple[int, int], ...] = ()

    @property
    def wave_size(self) -> int:
        """Lanes of a wave, unless a compiler is told otherwise."""
        return next(iter(self.vgprs))

    @property
    def simd_bytes(self) -> int:
        """Bytes of the VGPR file of one SIMD."""
        return self.vgprs[self.wave_size].total * self.wave_size * 4


def _rdna(name: str, total: int) -> Resources:
    """gfx11 and gfx12: `total` VGPRs per lane of a wave32; a WGP of four SIMDs, unless in CU mode."""
    granule = total // 64
    files = {32: VgprFile(total, granule, 8), 64: VgprFile(total // 2, granule // 2, 4)}
    return Resources(name, files, 16, 256, False, "WGP", 4, 128 * KIB, 64 * KIB, 32)


def _cdna(name: str, lds: int) -> Resources:
    """gfx90a, gfx942, gfx950: VGPRs and AccVGPRs of a wave64 together are at most 512."""
    files = {64: VgprFile(512, 8, 8)}
    return Resources(name, files, 8, 256, True, "CU", 4, lds, lds, 16, sgpr_steps=((100, 8),))


_FULL, _SMALL = 1536, 1024
"""gfx1150 and gfx1151 differ here: the large parts have half as many registers again."""

RESOURCES: Mapping[str, Resources] = {
    found.name: found
    for found in (
        _rdna("gfx1100", _FULL),
        _rdna("gfx1101", _FULL),
        _rdna("gfx1102", _SMALL),
        _rdna("gfx1103", _SMALL),
        _rdna("gfx1150", _SMALL),
        _rdna("gfx1151", _FULL),
        _rdna("gfx1152", _SMALL),
        _rdna("gfx1153", _SMALL),
        _rdna("gfx1200", _FULL),
        _rdna("gfx1201", _FULL),
        _cdna("gfx90a", 64 * KIB),
        _cdna("gfx942", 64 * KIB),
        _cdna("gfx950", 160 * KIB),
    )
}


def resources(name: str) -> Resources:
    """What the waves of a target share.

    Raises:
        UsageError: no such target in the table; lists those known.
    """
    if name in RESOURCES:
        return RESOURCES[name]
    raise UsageError(
        f"the registers of {name[:80]!r} are not known",
        expected="one of: " + ", ".join(RESOURCES),
        hint=did_you_mean(name, RESOURCES),
    )
