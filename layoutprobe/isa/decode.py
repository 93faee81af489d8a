"""Code bytes -> instructions, following the control flow from a kernel's entry, through its calls.

The encodings come from the `tinygrad` package, which generates them from AMD's machine-readable
ISA. What it leaves to us: buffer instructions, the 16-bit halves of VOP1/VOP2/VOPC (bit 7 of the
register number, RDNA3 ISA guide 7.3 "true16"), and a uniform order of operands.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from msgspec.structs import replace

from layoutprobe.arch.isa import Encodings
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError
from layoutprobe.isa import alu, mai, memory
from layoutprobe.isa.calls import functions
from layoutprobe.isa.dialect import Dialect, dialect_of
from layoutprobe.isa.fields import RESERVED, Fields
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind, kind_of
from layoutprobe.isa.mnemonics import package, table

MAX_INSTRUCTIONS = 400_000
"""More than any kernel we know, by an order of magnitude: hostile code ends here."""

_SIZES = (4, 8, 12, 16)
"""Bytes that an instruction takes; none is how another one begins."""
_SOURCE_0 = {"VOP1": 0, "VOP2": 0, "VOPC": 0, "VOP3": 4, "VOP3SD": 4, "VOP3P": 4}
"""Byte at which the nine bits of source 0 start."""
_COMMON_NAMES = {"VGLOBAL": "GLOBAL", "VFLAT": "FLAT", "VSCRATCH": "SCRATCH", "VBUFFER": "MUBUF"}
"""One name for what the package's tables call by two."""
_ASSEMBLE = alu.ASSEMBLE | memory.ASSEMBLE | mai.ASSEMBLE


def decode_kernel(code: CodeObject, kernel: Kernel) -> dict[int, Inst]:
    """Every instruction that control flow can reach from the kernel's entry, by address.

    Of functions whose addresses lie in memory, which may not be the kernel's, what can be decoded.

    Raises:
        CodeObjectError: no table for the target, unknown encoding, or control flow that leaves the
            code; names the PC and the words found there.
    """
    dialect = dialect_of(code, kernel)
    text = _executable_bytes(code, kernel.entry)
    found: dict[int, Inst] = {}
    pending = [kernel.entry]
    while pending:
        _follow(text, dialect, kernel, found, pending)
        pending = [pc for pc in functions(code, found, relocated=False) if pc not in found]
    tried: set[int] = set()
    while others := [pc for pc in functions(code, found) if pc not in found and pc not in tried]:
        tried.update(others)
        for pc in others:
            with suppress(CodeObjectError):
                _follow(text, dialect, kernel, found, [pc])
    return dict(sorted(found.items()))


def _follow(
    text: Callable[[int], bytes], dialect: Dialect, kernel: Kernel, found: dict[int, Inst], pending: list[int]
) -> None:
    """Decodes what is reached from some addresses by branches, or by coming back from a call."""
    known = _decoded_before(dialect)
    while pending:
        pc = pending.pop()
        while pc not in found:
            if len(found) >= MAX_INSTRUCTIONS:
                raise CodeObjectError(
                    f"the kernel has more than {MAX_INSTRUCTIONS} instructions", where={"kernel": kernel.name}
                )
            inst = found[pc] = _decoded(text(pc), pc, dialect, known)
            if Kind.BRANCH in inst.kind:
                pending.append(inst.branch_target)
            if Kind.FINAL in inst.kind:
                break
            pc = inst.next_pc


@cache
def _decoded_before(dialect: Dialect) -> dict[bytes, Inst]:
    """Bytes -> instruction, at any address: those of a kernel that was changed a little are mostly known."""
    return {}


def _decoded(data: bytes, pc: int, dialect: Dialect, known: dict[bytes, Inst]) -> Inst:
    """As `decode_one`. What follows an instruction has no part in what it is, so that its own bytes tell it."""
    for size in _SIZES:
        if (same := known.get(data[:size])) is not None:
            pair = tuple(replace(half, pc=pc) for half in same.pair)
            return replace(same, pc=pc, pair=pair)
    inst = decode_one(data, pc, dialect)
    if len(known) >= _REMEMBERED:
        known.clear()
    known[data[: inst.size]] = inst
    return inst


_REMEMBERED = 30_000
"""Instructions, of some two kilobytes each: programs of many changes bring thousands that no other has."""


def _executable_bytes(code: CodeObject, entry: int) -> Callable[[int], bytes]:
    """Reads up to 16 bytes at an address of the segment that holds the entry."""
    segment = next(
        (s for s in code.segments if s.executable and s.address <= entry < s.address + len(s.data)), None
    )
    if segment is None:
        raise CodeObjectError("the kernel's entry is in no executable segment", where={"PC": f"{entry:#x}"})
    base, data = segment.address, segment.data

    def text(pc: int) -> bytes:
        at = pc - base
        if not 0 <= at <= len(data) - 4 or pc % 4:
            raise CodeObjectError(
                "control flow leaves the code",
                where={"PC": f"{pc:#x}"},
                expected=f"an address in {base:#x}..{base + len(data):#x}",
            )
        return data[at : at + 16]

    return text


_LITERAL = "_LIT"
"""What the package calls forms with a literal by; a form that still asks for it has not been given one."""


def decode_one(data: bytes, pc: int, dialect: Dialect | None = None) -> Inst:
    """The instruction at the start of `data`.

    Args:
        data: up to 16 bytes.
        pc: its address.
        dialect: how to read them; unless given, as waves of 32 lanes of the default target.

    Raises:
        CodeObjectError: unknown or truncated encoding.
    """
    dialect = dialect or Dialect()
    try:
        raw = _raw(data, dialect)
        if raw.size() > len(data):
            raise ValueError("truncated")
        return _to_inst(raw, pc, dialect)
    except (ValueError, AssertionError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        words = " ".join(f"{w:08x}" for w in struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))
        raise CodeObjectError(
            "bytes that are no known instruction", where={"PC": f"{pc:#x}"}, observed=f"words {words}"
        ) from error


def _raw(data: bytes, dialect: Dialect) -> Any:
    """The instruction as the package reads it.

    What it does not see by itself: buffer instructions of RDNA; what follows in a word of its own, where
    source 0 holds a marker for it (DPP and SDWA); and what `_encoding` corrects.
    """
    if len(data) < 4:
        raise ValueError("truncated")
    rules = dialect.isa.encodings
    ins = table(rules.table, "ins")
    if rules.buffer is not None and data[3] >> 2 == rules.buffer[0]:
        return getattr(ins, rules.buffer[1]).from_bytes(data)
    encoding = _encoding(data, rules)
    name = encoding.__name__.partition("_")[0]
    if name in _SOURCE_0:
        at = _SOURCE_0[name]
        source = int.from_bytes(data[at : at + 2], "little") & 0x1FF
        if source in rules.markers:
            encoding = _marked(ins, name, rules.markers[source])
        elif source in RESERVED:
            raise ValueError(f"source encoding {source} is reserved")
    raw = encoding.from_bytes(data)
    if raw._variant_suffix() == _LITERAL:  # else it would be read as 0, and what follows from its middle
        raise ValueError("the package has not read the literal")
    if name == "VOP3P" and kind_of(raw.op.name.lower()) & Kind.MATRIX and hasattr(ins, mai.CLASS):
        return getattr(ins, mai.CLASS).from_bytes(data)
    return raw


def _encoding(data: bytes, rules: Encodings) -> Any:
    """The package's class for these bytes.

    It takes an instruction of two parts for one by its second part: any eight bytes in front would do.
    """
    detect_format = package("renderer.amd").detect_format
    found = detect_format(data, rules.table)
    if rules.paired is not None:
        name, upper = rules.paired
        whole = int.from_bytes(data[2:4], "little") == upper
        if found.__name__ == name and not whole:
            return detect_format(data[:8], rules.table)
        if whole and found.__name__ != name:
            raise ValueError("the first part of an instruction, without its second")
    return found


def _marked(ins: Any, name: str, kind: str) -> Any:
    """The package's class of an encoding with a second word of some kind."""
    found = getattr(ins, f"{name}_{kind}", None) or getattr(ins, f"{name}_{kind}_SDST", None)
    if found is None:
        raise ValueError(f"{name} takes no {kind}")
    return found


def _to_inst(raw: Any, pc: int, dialect: Dialect) -> Inst:
    encoding, _, variant = type(raw).__name__.partition("_")
    if encoding == "VOPD":
        return alu.dual(raw, pc, dialect)
    fields = {name: getattr(raw, name) for name, _ in raw._fields if name not in ("encoding", "op", "seg")}
    rules = dialect.isa.encodings
    name = raw.op.name.lower().removesuffix("_e32").removesuffix("_e64")
    if name in rules.absent:
        raise ValueError(f"{dialect.isa.title} has no {name}")
    name = rules.renamed.get(name, name)
    encoding = _COMMON_NAMES.get(encoding, encoding)
    if type(raw).__name__ == mai.CLASS:
        encoding = mai.ENCODING
    return _ASSEMBLE[encoding](Fields(raw, fields, name, encoding, variant, pc, dialect))
