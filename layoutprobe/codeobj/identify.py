"""Refuses, in words, files that are no AMD code object, and says what to do with them."""

from __future__ import annotations

from layoutprobe.codeobj.bundle import BUNDLE, entries
from layoutprobe.codeobj.container import MAX_FILE
from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.errors import CodeObjectError
from layoutprobe.text import beginning

_EM_AMDGPU = 224
_ABI_HSA, _ABI_OTHERS = 64, {65: "PAL", 66: "Mesa"}
_ET_REL, _ET_DYN = 1, 3
# EI_ABIVERSION 1 to 4 are code object versions 3 to 6: same descriptor, same metadata keys.
_ABI_VERSIONS = range(1, 5)

_OTHER_MAGICS = (
    (b"CCOB", "a compressed offload bundle", "unbundle it: clang-offload-bundler --unbundle --type=o ..."),
    (b"BC\xc0\xde", "LLVM bitcode", "compile it: clang -target amdgcn-amd-amdhsa -mcpu=TARGET -x ir ..."),
    (b"!<arch>", "an archive", "extract the code object from it: ar x FILE"),
    (b"\x03\x02\x23\x07", "SPIR-V", "compile it for the target first"),
)


def refuse_foreign(data: bytes) -> None:
    """Return for the bytes of a linked HSA code object of version 3 to 6.

    Raises:
        CodeObjectError: they are something else; says what, and how to get at a code object.
    """
    if len(data) > MAX_FILE:
        raise CodeObjectError(
            "the file is too large for a code object",
            expected=f"at most {MAX_FILE >> 20} MiB",
            observed=f"{len(data) >> 20} MiB",
        )
    if data.startswith(BUNDLE):
        raise _bundle(data)
    for magic, name, hint in _OTHER_MAGICS:
        if data.startswith(magic):
            raise _not_code(name, hint)
    if not data.startswith(b"\x7fELF"):
        raise _not_code(beginning(data), "give the linked ELF code object, or the source to compile")
    _refuse_elf(data)


def _not_code(observed: str, hint: str) -> CodeObjectError:
    return CodeObjectError(
        "this is not an AMD code object", expected="a linked amdgcn ELF", observed=observed, hint=hint
    )


def _bundle(data: bytes) -> CodeObjectError:
    """What a fat binary holds."""
    ids = [name for name, _, _ in entries(data)]
    device = next((name for name in ids if "-amdhsa-" in name), "hipv4-amdgcn-amd-amdhsa--TARGET")
    return _not_code(
        f"an offload bundle (fat binary) that holds {', '.join(ids) or 'nothing'}",
        f"unbundle it: clang-offload-bundler --unbundle --type=o --targets={device} "
        "--input=FILE --output=kernel.co",
    )


def _refuse_elf(data: bytes) -> None:
    header = Cursor(data, "ELF header")
    header.take(4)
    bits, order, _version, abi, abi_version = (header.unsigned(1) for _ in range(5))
    header.take(7)
    kind, machine = header.unsigned(2), header.unsigned(2)
    if machine != _EM_AMDGPU:
        hint = "give the device code object, not the host program"
        if b".hip_fatbin" in data:
            hint = (
                "its device code is in section .hip_fatbin: "
                "llvm-objcopy --dump-section .hip_fatbin=bundle FILE, then unbundle"
            )
        raise _not_code(f"an ELF for machine {machine} (a host program or object)", hint)
    if (bits, order) != (2, 1):
        raise _not_code(f"an ELF of class {bits}, data encoding {order}", "only 64-bit little-endian exists")
    if abi != _ABI_HSA:
        name = _ABI_OTHERS.get(abi, f"number {abi}")
        raise _not_code(f"an ELF for the {name} ABI", "compile for the triple amdgcn-amd-amdhsa")
    if abi_version not in _ABI_VERSIONS:
        raise _not_code(
            f"ABI version {abi_version}", "compile with -mcode-object-version=5 (3 to 6 can be read)"
        )
    if kind == _ET_REL:
        raise _not_code("a relocatable object, not linked", "link it: ld.lld -shared FILE -o kernel.co")
    if kind != _ET_DYN:
        raise _not_code(f"an ELF of type {kind}", "link it as a shared object: ld.lld -shared")
