"""Decoded kernels, kept in the user's cache: decoding costs some 30 us an instruction."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from msgspec import msgpack

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.inst import Inst, Operand

_FORMAT = "isa/10"
"""Changes whenever the meaning of a stored row does."""

_values = attrgetter(*Operand.__struct_fields__)
"""Of an operand, in their order."""


def load_instructions(code: CodeObject, kernel: Kernel) -> Mapping[int, Inst]:
    """The kernel's instructions by address: the last ones asked for, or from the cache, or freshly decoded.

    Raises:
        CodeObjectError: see isa.decode.
    """
    which = (code.digest, kernel.name, kernel.entry)
    if which not in _last:
        insts = MappingProxyType(_load(code, kernel))
        _last.clear()  # engine and checks ask for one kernel after the other
        _last[which] = insts
    return _last[which]


_last: dict[tuple[str, str, int], Mapping[int, Inst]] = {}


def _load(code: CodeObject, kernel: Kernel) -> dict[int, Inst]:
    from layoutprobe.toolchain import cache

    key = cache.key(_FORMAT, code.digest, kernel.name, str(kernel.entry))
    raw = cache.load(key)
    if raw is not None:
        try:
            rows = msgpack.decode(raw)
            return {row[0]: _from_row(row) for row in rows}
        except (ValueError, TypeError, IndexError, KeyError):
            pass  # an entry that an older version wrote: decode again
    from layoutprobe.isa.decode import decode_kernel

    insts = decode_kernel(code, kernel)
    if cache.keeps():
        cache.store(key, msgpack.encode([_to_row(inst) for inst in insts.values()]))
    return insts


def _to_row(inst: Inst) -> list[Any]:
    dst, src = ([_values(o) for o in operands] for operands in (inst.dst, inst.src))
    return [
        inst.pc,
        inst.size,
        inst.name,
        inst.encoding,
        dst,
        src,
        inst.mods,
        [_to_row(h) for h in inst.pair],
    ]


def _from_row(row: list[Any]) -> Inst:
    pc, size, name, encoding, dst, src, mods, pair = row
    return Inst(
        pc,
        size,
        name,
        encoding,
        tuple(Operand(*o) for o in dst),
        tuple(Operand(*o) for o in src),
        dict(mods),
        tuple(_from_row(half) for half in pair),
    )
