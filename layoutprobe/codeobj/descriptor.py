"""The 64-byte kernel descriptor. Source: LLVM AMDGPUUsage, "Kernel Descriptor"."""

from __future__ import annotations

import struct

from layoutprobe.codeobj.model import KernelDescriptor

SIZE = 64

# Offsets 0, 4, 8: segment sizes; 16: entry; 44, 48, 52: compute_pgm_rsrc3, 1, 2;
# 56: kernel_code_properties; 58: kernarg_preload. The rest is reserved.
_LAYOUT = struct.Struct("<3I4xq20x3I2H4x")


def parse_descriptor(raw: bytes) -> KernelDescriptor:
    """Decode a kernel descriptor.

    Args:
        raw: its 64 bytes.
    """
    group, private, kernarg, entry, rsrc3, rsrc1, rsrc2, properties, preload = _LAYOUT.unpack(raw)
    return KernelDescriptor(
        group_segment_size=group,
        private_segment_size=private,
        kernarg_size=kernarg,
        entry_offset=entry,
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
        kernarg_preload=preload,
    )
