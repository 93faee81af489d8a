"""Registers, LDS and wave slots of a target, as far as occupancy and launches depend on them.

Source of every number in the families' files: LLVM (AMDGPUBaseInfo.cpp and GCNProcessors.td, release
22), whose compiler prints the occupancy of each kernel; tests/oracle compares every row with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

KIB = 1024
MAX_WORKGROUP = 1024
"""Work-items of the largest workgroup that any of the targets takes."""


class VgprFile(Struct, frozen=True):
    """The VGPRs that the waves of a SIMD share, for waves of one size.

    Attributes:
        total: registers per lane.
        granule: registers are given to a wave in multiples of it.
        encoded: unit in which the kernel descriptor counts them; a divisor of the granule.
    """

    total: int
    granule: int
    encoded: int


class Resources(Struct, frozen=True):
    """What the waves of a target share.

    Attributes:
        vgprs: VGPRs by wave size; the first size is the one that compilers use by default.
        max_waves: wave slots of a SIMD.
        addressable: VGPRs (and, where there are any, AccVGPRs) that an instruction can name.
        unit: what a workgroup runs on: "CU", or "WGP" for two CUs that share their LDS.
        simds: SIMDs of that unit.
        lds: bytes of LDS in that unit.
        barriers: workgroups of several waves that the unit can keep track of.
        accvgpr_granule: AccVGPRs exist, lie in the same file as the VGPRs, and begin at a multiple of so
            many; 0 where there are none.
        sgpr_steps: (SGPRs, waves): up to so many SGPRs, so many waves; beyond the last step one
            wave less. Empty where SGPRs do not limit occupancy.
    """

    vgprs: Mapping[int, VgprFile]
    max_waves: int
    addressable: int
    unit: str
    simds: int
    lds: int
    barriers: int
    accvgpr_granule: int = 0
    sgpr_steps: tuple[tuple[int, int], ...] = ()

    @property
    def unified(self) -> bool:
        """AccVGPRs exist, and lie in the same file as the VGPRs."""
        return self.accvgpr_granule > 0

    @property
    def simd_bytes(self) -> int:
        """Bytes of the VGPR file of one SIMD."""
        lanes, file = next(iter(self.vgprs.items()))
        return file.total * lanes * 4


def rdna_resources(vgprs: int) -> Resources:
    """RDNA3 and RDNA4: `vgprs` per lane of a wave32; a WGP of four SIMDs, unless in CU mode."""
    granule = vgprs // 64
    files = {32: VgprFile(vgprs, granule, 8), 64: VgprFile(vgprs // 2, granule // 2, 4)}
    return Resources(files, max_waves=16, addressable=256, unit="WGP", simds=4, lds=128 * KIB, barriers=32)
