"""The code object as plain data: what the loader found in the ELF, and nothing executable."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from layoutprobe.arch import TARGETS
from layoutprobe.errors import UsageError
from layoutprobe.place import SourceLine


class Argument(Struct, frozen=True):
    """One kernel argument of the metadata note.

    Attributes:
        name: name in the source ("" where the compiler kept none).
        offset: byte offset in the kernarg segment.
        size: bytes.
        kind: the metadata's value kind: "by_value", "global_buffer", "hidden_block_count_x"...
        access: "read_only", "write_only", "read_write" or "".
    """

    name: str
    offset: int
    size: int
    kind: str
    access: str = ""

    @property
    def hidden(self) -> bool:
        """True for arguments that the runtime fills in, not the caller."""
        return self.kind.startswith("hidden_")


class KernelDescriptor(Struct, frozen=True):
    """The 64-byte amdhsa kernel descriptor. Source: LLVM AMDGPUUsage, "Kernel Descriptor".

    `rsrc1`, `rsrc2`, `rsrc3` and `properties` are the raw words; the named attributes are
    decoded from them.
    """

    group_segment_size: int
    private_segment_size: int
    kernarg_size: int
    entry_offset: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    kernarg_preload: int

    @property
    def round_32(self) -> int:
        """How f32 is rounded, RSRC1 bits 13:12: 0 nearest even, 1 up, 2 down, 3 towards zero."""
        return self.rsrc1 >> 12 & 3

    @property
    def round_16_64(self) -> int:
        """The same of f16 and f64, RSRC1 bits 15:14."""
        return self.rsrc1 >> 14 & 3

    @property
    def denormals_32(self) -> int:
        """f32 subnormals, RSRC1 bits 17:16: bit 0 keeps those of operands, bit 1 those of results."""
        return self.rsrc1 >> 16 & 3

    @property
    def denormals_16_64(self) -> int:
        """The same of f16 and f64, RSRC1 bits 19:18."""
        return self.rsrc1 >> 18 & 3

    @property
    def wave32(self) -> bool:
        """Bit 10 of kernel_code_properties."""
        return bool(self.properties >> 10 & 1)

    @property
    def wgp_mode(self) -> bool:
        """RSRC1 bit 29 (gfx10 and later): True for WGP mode, False for CU mode."""
        return bool(self.rsrc1 >> 29 & 1)

    @property
    def user_sgprs(self) -> int:
        """Number of user SGPRs, RSRC2 bits 5:1."""
        return self.rsrc2 >> 1 & 31

    def first_accvgpr(self, granule: int) -> int:
        """Row of the file of VGPRs that a0 is, where it holds AccVGPRs: RSRC3 bits 5:0 count granules."""
        return ((self.rsrc3 & 63) + 1) * granule


class KernelMetadata(Struct, frozen=True, kw_only=True):
    """One kernel as its metadata states it.

    Attributes:
        name: its name.
        symbol: the descriptor's symbol ("NAME.kd").
        args: its arguments, hidden ones included, by offset.
        vgprs, sgprs: register counts.
        vgpr_spills, sgpr_spills: spill counts.
        wavefront_size: 32 or 64.
        max_workgroup_size: max_flat_workgroup_size.
        uses_dynamic_stack: calls or alloca whose size the compiler could not bound.
        kernarg_size: bytes of the kernarg segment.
    """

    name: str
    symbol: str
    args: tuple[Argument, ...]
    vgprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    wavefront_size: int
    max_workgroup_size: int
    uses_dynamic_stack: bool = False
    kernarg_size: int = 0


DYNAMIC_STACK = 1024
"""Bytes of a lane's stack where the compiler could not bound it, unless the host asks for more: hipLimitStackSize as
ROCm sets it (llvm-project, pull request 74080, which follows HIP)."""
MAX_STACK = 131_056
"""The most that the host may ask for, as in ROCm: a wave of 64 lanes can address no more scratch."""


class Kernel(KernelMetadata, frozen=True, kw_only=True, dict=True):
    """One kernel of a code object.

    Attributes:
        entry: virtual address of its first instruction.
        size: bytes of code from the entry, as the function symbol states.
        descriptor: the kernel descriptor.
        stack: bytes of a lane's stack, at least, where the compiler could not bound it.
    """

    entry: int
    size: int
    descriptor: KernelDescriptor
    stack: int = DYNAMIC_STACK

    @property
    def scratch_size(self) -> int:
        """Bytes of scratch that a lane has."""
        least = self.stack if self.uses_dynamic_stack else 0
        return max(self.descriptor.private_segment_size, least)

    @cached_property
    def explicit_args(self) -> tuple[Argument, ...]:
        """Arguments that the caller gives."""
        return tuple(a for a in self.args if not a.hidden)


class Segment(Struct, frozen=True):
    """One loadable segment: bytes at a virtual address, zero-filled to `size`."""

    address: int
    data: bytes
    size: int
    executable: bool
    writable: bool


class Relocation(Struct, frozen=True):
    """A 64-bit word of the image that holds an address of the image.

    The loader writes its own base plus `value` (modulo 2**64) at base plus `address`.
    """

    address: int
    value: int


class LineTable(Struct, frozen=True):
    """Address -> source position. `addresses` ascend; row i covers up to addresses[i+1]."""

    addresses: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()

    def find(self, address: int) -> SourceLine | None:
        """The source of an address, or None where the object has no line for it."""
        i = bisect_right(self.addresses, address) - 1
        return self._source(i) if i >= 0 and self.lines[i] else None

    def near(self, address: int, start: int) -> SourceLine | None:
        """The source of the last instruction from `start` up to an address that has one.

        Compilers give no line to an instruction that they made out of several.
        """
        i = bisect_right(self.addresses, address) - 1
        while i >= 0 and self.addresses[i] >= start:
            if self.lines[i]:
                return self._source(i)
            i -= 1
        return None

    def _source(self, row: int) -> SourceLine:
        return SourceLine(self.files[row], self.lines[row], self.columns[row] or None)


class CodeObject(Struct, frozen=True):
    """A loaded code object. Of one for an NVIDIA card only digest, target and image are known.

    Attributes:
        digest: SHA-256 of the file's bytes, hexadecimal.
        target: processor name from the metadata, such as the part after the last "-" of
            "amdgcn-amd-amdhsa--NAME", with feature suffixes removed.
        kernels: by name, in the order of the metadata.
        segments: loadable segments, by address.
        lines: source positions, empty without debug information.
        relocations: words of the segments that depend on where the image is loaded.
        image: the file's bytes, as a driver takes them.
        formats: of printf, by the number that a kernel stores for one.
    """

    digest: str
    target: str
    kernels: Mapping[str, Kernel]
    segments: tuple[Segment, ...]
    lines: LineTable = field(default_factory=LineTable)
    relocations: tuple[Relocation, ...] = ()
    image: bytes = b""
    formats: Mapping[int, str] = field(default_factory=dict)

    def first_accvgpr(self, kernel: Kernel) -> int | None:
        """Row of a wave's VGPR file that a0 is; None where the target keeps no AccVGPRs in it."""
        target = TARGETS.get(self.target)
        granule = target.resources.accvgpr_granule if target and target.resources else 0
        return kernel.descriptor.first_accvgpr(granule) if granule else None

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel of that name, or the only one.

        Raises:
            UsageError: no such kernel, or several and no name; lists those present.
        """
        if name is not None and name in self.kernels:
            return self.kernels[name]
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        present = ", ".join(self.kernels) or "none"
        raise UsageError(
            "the code object has no single kernel to choose" if name is None else f"no kernel named {name!r}",
            expected="one of: " + present,
            hint="name one of the kernels above",
        )
