"""Bytes -> CodeObject."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec.structs import asdict

from layoutprobe.arch.processors import EF_AMDGPU_MACH, of_elf
from layoutprobe.codeobj import descriptor
from layoutprobe.codeobj.container import (
    SHT_DYNSYM,
    SHT_SYMTAB,
    STT_FUNC,
    Container,
    load_segments,
    read_container,
    read_relocations,
    window_at,
)
from layoutprobe.codeobj.identify import refuse_foreign
from layoutprobe.codeobj.lines import read_lines
from layoutprobe.codeobj.metadata import MAX_KERNARG, read_metadata
from layoutprobe.codeobj.model import CodeObject, Kernel, KernelDescriptor, KernelMetadata, Segment
from layoutprobe.errors import CodeObjectError


def load(data: bytes) -> CodeObject:
    """Read a linked AMD code object (versions 3 to 6).

    Args:
        data: bytes of the file.

    Raises:
        CodeObjectError: the bytes are something else, or malformed; says where, what was expected
            and what was found. No input makes this raise anything else, or run for long.
    """
    refuse_foreign(data)
    container = read_container(data)
    segments = load_segments(container)
    metadata = read_metadata(container)
    return CodeObject(
        digest=hashlib.sha256(data).hexdigest(),
        target=metadata.target or _target_of_flags(container.flags),
        kernels={kernel.name: kernel for kernel in _kernels(container, segments, metadata.kernels)},
        segments=segments,
        lines=read_lines(container, segments),
        relocations=read_relocations(container, segments),
        image=data,
        formats=metadata.formats,
    )


def _target_of_flags(flags: int) -> str:
    name = of_elf(flags)
    if name is None:
        raise CodeObjectError(
            "the code object does not say for which processor it is",
            expected="amdhsa.target in its metadata, or a known processor in e_flags",
            observed=f"processor number 0x{flags & EF_AMDGPU_MACH:x} in e_flags",
        )
    return name


def _kernels(
    container: Container, segments: tuple[Segment, ...], described: Iterable[KernelMetadata]
) -> Iterable[Kernel]:
    symbols = [s for kind in (SHT_SYMTAB, SHT_DYNSYM) for s in container.symbols(kind) if s.defined]
    addresses = {s.name: s.value for s in symbols}
    sizes = {s.value: s.size for s in symbols if s.kind == STT_FUNC and s.size}
    seen: set[str] = set()
    for meta in described:
        if meta.symbol not in addresses:
            raise _kernel_error(meta, "a symbol of that name", "none: was the file stripped?")
        if meta.name in seen:
            raise _kernel_error(meta, "one kernel of that name", "two")
        seen.add(meta.name)
        address = addresses[meta.symbol]
        raw = window_at(segments, "kernel descriptor", address, descriptor.SIZE).take(descriptor.SIZE)
        yield _kernel(meta, address, descriptor.parse_descriptor(raw), segments, sizes)


def _kernel(
    meta: KernelMetadata,
    address: int,
    parsed: KernelDescriptor,
    segments: tuple[Segment, ...],
    sizes: dict[int, int],
) -> Kernel:
    if parsed.wave32 != (meta.wavefront_size == 32):
        raise _kernel_error(
            meta,
            f"waves of {meta.wavefront_size} lanes, as the metadata states",
            f"{32 if parsed.wave32 else 64} in the descriptor, which the hardware obeys",
        )
    if parsed.kernarg_size > MAX_KERNARG:
        expected = f"a kernarg segment of at most {MAX_KERNARG} bytes"
        raise _kernel_error(meta, expected, f"{parsed.kernarg_size} in the descriptor")
    entry = address + parsed.entry_offset
    room = _code_after(segments, entry)
    size = sizes.get(entry, room)
    if room == 0 or entry % 4 or size > room:
        raise _kernel_error(
            meta,
            "an aligned entry with its code in an executable segment",
            f"entry 0x{entry:x}, {size} bytes of code, of which {room} are there",
        )
    return Kernel(**asdict(meta), entry=entry, size=size, descriptor=parsed)


def _code_after(segments: tuple[Segment, ...], address: int) -> int:
    """Bytes of code from an address to the end of its segment; 0 outside of code."""
    for segment in segments:
        if segment.executable and 0 <= address - segment.address < len(segment.data):
            return segment.address + len(segment.data) - address
    return 0


def _kernel_error(meta: KernelMetadata, expected: str, observed: str) -> CodeObjectError:
    return CodeObjectError(
        "the code object contradicts itself",
        where={"kernel": meta.name[:200], "symbol": meta.symbol[:200]},
        expected=expected,
        observed=observed,
    )
