"""Offload bundles, as clang packs the code objects of several targets into one host program.

Source: LLVM, ClangOffloadBundler documentation, "Bundled Code Object Layout".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.errors import CodeObjectError, UsageError

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_MAX_ENTRIES = 64
_MAX_NAME = 256
_KINDS = ("hip", "hipv4")
_PAGE = 4096


def entries(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of each entry.

    Raises:
        CodeObjectError: the bundle is damaged.
    """
    table = Cursor(data, "offload bundle", len(BUNDLE))
    count = table.unsigned(8)
    if count > _MAX_ENTRIES:
        raise table.error(f"at most {_MAX_ENTRIES} entries", f"{count}")
    for _ in range(count):
        offset, size, length = table.unsigned(8), table.unsigned(8), table.unsigned(8)
        if length > _MAX_NAME:
            raise table.error(f"a name of at most {_MAX_NAME} bytes", f"{length}")
        yield table.take(length).decode("utf-8", "replace"), offset, size


def unbundle(data: bytes, target: str) -> bytes:
    """The code object for a target, whatever features it was compiled for.

    Raises:
        CodeObjectError: the bundle is damaged.
        UsageError: it has none for the target; says what it has.
    """
    present = []
    for name, offset, size in entries(data):
        kind, _, rest = name.partition("-")
        processor = rest.split(":")[0].rpartition("-")[2]
        if kind not in _KINDS:
            continue
        if processor == target:
            if offset + size > len(data):
                raise CodeObjectError("the bundle is cut off", where={"entry": name})
            return data[offset : offset + size]
        present.append(processor)
    raise UsageError(
        f"the program has no code for {target}",
        observed=f"code for {', '.join(present) or 'no AMD GPU'}",
        hint=f"compile it with --offload-arch={target}",
    )


def bundle(codes: Mapping[str, bytes]) -> bytes:
    """Code objects by target, as clang-offload-bundler packs them: a page apart, behind an empty host's entry."""
    parts = {b"host-x86_64-unknown-linux-gnu-": b""}
    parts |= {f"hipv4-amdgcn-amd-amdhsa--{target}".encode(): code for target, code in codes.items()}
    head, body = BUNDLE + struct.pack("<Q", len(parts)), b""
    begin = -(-(len(head) + sum(24 + len(name) for name in parts)) // _PAGE) * _PAGE
    for name, code in parts.items():
        head += struct.pack("<QQQ", begin + len(body), len(code), len(name)) + name
        body += code.ljust(-(-len(code) // _PAGE) * _PAGE, b"\0")
    return head.ljust(begin, b"\0") + body
