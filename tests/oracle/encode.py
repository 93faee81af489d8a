"""Instructions by mnemonic and field values: encoded as the hardware would fetch them, then decoded.

Encoding goes through AMD's field tables; decoding is layoutprobe's own, so that operands have the
widths, formats and order that real kernels give them.
"""

from __future__ import annotations

from typing import Any

from tinygrad.renderer.amd.dsl import EnumBitField, FixedBitField
from tinygrad.renderer.amd.dsl import Inst as RawInst

from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.inst import Inst
from oracle.language import current, remembered

LITERAL, DPP16, DPP8, DPP8_FI, SDWA = 255, 250, 233, 234, 249
"""Codes of source 0 that announce more words."""


class Encoding:
    """One way to write a mnemonic.

    Attributes:
        name: of the format: "VOP3", "VOP2_DPP16"...
        fields: bits of each field that a caller may set.
        operands: format and width per operand field, of AMD's table: {"src0": ("F32", 32)}.
    """

    def __init__(self, cls: type[Any], op: Any) -> None:
        self.name: str = cls.__name__
        self._op = op
        self._cls = cls
        self._fixed = [f for _, f in cls._fields if isinstance(f, FixedBitField)]
        self._settable = {n: f for n, f in cls._fields if not isinstance(f, FixedBitField | EnumBitField)}
        self.fields = {n: f.hi - f.lo + 1 for n, f in self._settable.items()}
        table = current().table("operands").OPERANDS.get(op, {})
        self.operands = {
            n: (i[0].name.removeprefix("FMT_").removeprefix("NUM_"), int(i[1])) for n, i in table.items()
        }

    def bytes(self, **values: int) -> bytes:
        """The instruction's bytes; fields that are not given are 0."""
        raw = 0
        for field in self._fixed:
            raw |= field.default << field.lo
        raw |= int(self._op.value) << dict(self._cls._fields)["op"].lo
        for name, value in values.items():
            width = self.fields[name]
            assert 0 <= value < 1 << width, f"{self.name}.{name} = {value:#x}"
            raw |= value << self._settable[name].lo
        size = int(self._cls._base_size)
        return raw.to_bytes(size, "little")

    def inst(self, **values: int) -> Inst:
        """The decoded instruction."""
        return decode_one(self.bytes(**values).ljust(16, b"\0"), 0x100, current().dialect)

    def __repr__(self) -> str:
        return f"{self._op.name}[{self.name}]"


@remembered
def _by_name() -> dict[str, list[Encoding]]:
    found: dict[str, list[Encoding]] = {}
    formats: list[Any] = [
        c for c in vars(current().table("ins")).values() if isinstance(c, type) and issubclass(c, RawInst)
    ]
    for cls in formats:
        if cls is RawInst:
            continue
        op = dict(cls._fields).get("op")
        for member in getattr(op, "allowed", None) or ():
            name = member.name.lower().removesuffix("_e32").removesuffix("_e64")
            name = current().dialect.isa.encodings.renamed.get(name, name)
            found.setdefault(name, []).append(Encoding(cls, member))
    return found


def encodings(name: str) -> dict[str, Encoding]:
    """All encodings of a mnemonic, by the name of the format."""
    return {e.name: e for e in _by_name().get(name, [])}
