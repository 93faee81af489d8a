"""Names of processors, as file formats, drivers and runtimes number them. They say nothing else about them."""

from __future__ import annotations

EF_AMDGPU_MACH = 0xFF

# The metadata of compiled kernels names the target; that of hand-written assembly may not, and then only
# e_flags of the ELF header tells. Source: LLVM AMDGPUUsage, "EF_AMDGPU_MACH Values"; tests compare every
# row with an assembler.
# From the first processor whose code objects can be of version 3. Names without their common prefix.
_SUFFIXES = {
    0x2C: "900", 0x2D: "902", 0x2E: "904", 0x2F: "906", 0x30: "908", 0x31: "909", 0x32: "90c",
    0x3F: "90a", 0x4C: "942", 0x4F: "950", 0x51: "9-generic", 0x5F: "9-4-generic",
    0x33: "1010", 0x34: "1011", 0x35: "1012", 0x42: "1013", 0x52: "10-1-generic",
    0x36: "1030", 0x37: "1031", 0x38: "1032", 0x39: "1033", 0x3E: "1034", 0x3D: "1035", 0x45: "1036",
    0x53: "10-3-generic",
    0x41: "1100", 0x46: "1101", 0x47: "1102", 0x44: "1103", 0x43: "1150", 0x4A: "1151", 0x55: "1152",
    0x58: "1153", 0x54: "11-generic",
    0x48: "1200", 0x4E: "1201", 0x59: "12-generic", 0x49: "1250", 0x5A: "1251",
}  # fmt: skip


def of_elf(flags: int) -> str | None:
    """Processor of an ELF header's e_flags, or None where the number is not known."""
    suffix = _SUFFIXES.get(flags & EF_AMDGPU_MACH)
    return None if suffix is None else f"gfx{suffix}"


def of_kernel_driver(version: int) -> str:
    """Processor of Linux's gfx_target_version: decimal, major * 10000 + minor * 100 + stepping."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def hip_version(target: str) -> tuple[int, int]:
    """Major and minor number, as HIP's device properties have them: gfx1151 is 11.5."""
    digits = target.split(":")[0].removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)
