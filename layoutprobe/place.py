"""Where in a kernel something happened: typed, with one way to say it in words and one in JSON.

Faults of the machine and findings of checks both carry a Place. Whoever writes a report formats it;
nobody reads places back out of words.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from layoutprobe.text import function_name, one_line

RegisterKind = Literal["VGPR", "AccVGPR", "SGPR"]
_LETTERS = {"VGPR": "v", "AccVGPR": "a", "SGPR": "s"}
_NAMED_SGPRS = {106: "vcc_lo", 107: "vcc_hi", 125: "m0", 126: "exec_lo", 127: "exec_hi"}
FIELD_NAMES = {64: "", 32: "", 16: "half", 8: "byte", 4: "nibble"}
"""Bits of a field of a register -> what it is called."""

Size = tuple[tuple[str, int], ...]
"""A problem size: names and values, in the order of the manifest."""


class Register(Struct, frozen=True):
    """One 32-bit register: `Register("VGPR", 72)` is v72."""

    kind: RegisterKind
    index: int

    def __str__(self) -> str:
        named = _NAMED_SGPRS.get(self.index) if self.kind == "SGPR" else None
        return named or f"{_LETTERS[self.kind]}{self.index}"


class Element(Struct, frozen=True):
    """One element of a matrix (a batch of them, or any other tensor): "C[3][17]"."""

    matrix: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return self.matrix + "".join(f"[{i}]" for i in self.index)


class SourceLine(Struct, frozen=True):
    """A place in a source file.

    Attributes:
        file: as the compiler was given it: relative to the directory of the source, or absolute.
        line: counted from 1.
        column: counted from 1; None where the compiler gave none.
    """

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        return f"{one_line(self.file)}:{self.line}"


class Call(Struct, frozen=True):
    """A call that the compiler replaced by the body of the function.

    Attributes:
        source: where the call stands.
        function: what was called.
    """

    source: SourceLine
    function: str


class Place(Struct, frozen=True):
    """Where something is wrong, as far as that is known. Everything is optional.

    Attributes:
        kernel: its name in the code object.
        source: line of the instruction.
        near: the compiler gave the instruction no line; `source` is that of the nearest one before it.
        inlined_at: the calls through which `source` came into the kernel, innermost first.
        pc: address of the instruction in the code object.
        instruction: its mnemonic.
        workgroup: its id in x, y, z.
        wave: position of the wave in its workgroup.
        lane: of the wave.
        register: as the code names it; in reports of probes, counted within the operand.
        bits: first and last bit of the register that are meant; None for all 32 or more.
        matrix: which operand or result: "A", "B", "C", "D", "A and B".
        element: of a matrix or buffer.
        lds_byte: byte address in the LDS of the workgroup.
        buffer: argument of the kernel.
        buffer_byte: byte within it.
        size: problem size at which it was seen; () where that does not matter.
    """

    kernel: str = ""
    source: SourceLine | None = None
    near: bool = False
    inlined_at: tuple[Call, ...] = ()
    pc: int | None = None
    instruction: str = ""
    workgroup: tuple[int, int, int] | None = None
    wave: int | None = None
    lane: int | None = None
    register: Register | None = None
    bits: tuple[int, int] | None = None
    matrix: str = ""
    element: Element | None = None
    lds_byte: int | None = None
    buffer: str = ""
    buffer_byte: int | None = None
    size: Size = ()

    def named(self) -> dict[str, object]:
        """What is known, by name, in the order in which every report says it."""
        own = {"near line" if self.near else "line": self.source}
        column = self.source.column if self.source is not None and not self.near else None
        pairs: dict[str, object] = {
            "kernel": one_line(function_name(self.kernel)),
            **{name: None if line is None else str(line) for name, line in own.items()},
            "column": column,
            "inlined at": ", ".join(f"{call.source} ({one_line(call.function)})" for call in self.inlined_at),
            "PC": None if self.pc is None else f"{self.pc:#x}",
            "instruction": self.instruction,
            "workgroup": self.workgroup,
            "wave": self.wave,
            "lane": self.lane,
            **({} if self.register is None else {self.register.kind: str(self.register)}),
            **_field(self.bits),
            "matrix": self.matrix,
            "element": None if self.element is None else one_line(self.element),
            "LDS byte": self.lds_byte,
            "buffer": one_line(self.buffer),
            "buffer byte": self.buffer_byte,
            "size": in_words(self.size),
        }
        return {name: value for name, value in pairs.items() if value is not None and value != ""}

    def __str__(self) -> str:
        """ "kernel gemm, line gemm.hip:97, PC 0x1a4, wave 1, lane 3, VGPR v12, half low"."""
        return ", ".join(f"{name} {value}" for name, value in self.named().items())

    def __repr__(self) -> str:
        return f"<Place: {self}>"

    @property
    def line(self) -> str:
        """ "gemm.hip:97"; "" where the compiler gave the instruction none."""
        return "" if self.source is None or self.near else str(self.source)

    @property
    def site(self) -> str:
        """ "ds_load_b128 at gemm.hip:97"; by PC, and the line before, where the compiler gave none."""
        if self.line:
            return f"{self.instruction} at {self.line}" if self.instruction else self.line
        near = f", near {self.source}" if self.source is not None else ""
        return f"{self.instruction} at PC {self.pc:#x}{near}" if self.pc is not None else self.instruction

    def json(self) -> dict[str, Any]:
        """What is known, as JSON's types: see `place` in docs/gate.schema.json."""
        pairs: dict[str, Any] = {
            "kernel": self.kernel,
            **_source(self.source),
            "near": self.near or None,
            "inlined_at": [_source(call.source) | {"function": call.function} for call in self.inlined_at],
            "pc": self.pc,
            "instruction": self.instruction,
            "workgroup": None if self.workgroup is None else list(self.workgroup),
            "wave": self.wave,
            "lane": self.lane,
            "register": self.register and {"kind": self.register.kind, "index": self.register.index},
            "bits": None if self.bits is None else list(self.bits),
            "matrix": self.matrix,
            "element": self.element and {"matrix": self.element.matrix, "index": list(self.element.index)},
            "lds_byte": self.lds_byte,
            "buffer": self.buffer,
            "buffer_byte": self.buffer_byte,
            "size": dict(self.size),
        }
        return {name: value for name, value in pairs.items() if value not in (None, "", [], {})}


def field_bits(field: int, width: int) -> tuple[int, int] | None:
    """First and last bit of a field of a register; None where a field fills it."""
    return None if width >= 32 else (field * width, field * width + width - 1)


def in_words(size: Size) -> str:
    """ "M=128 N=128 K=64"."""
    return " ".join(f"{name}={value}" for name, value in size)


def _source(source: SourceLine | None) -> dict[str, Any]:
    if source is None:
        return {}
    column = {} if source.column is None else {"column": source.column}
    return {"file": source.file, "line": source.line} | column


def _field(bits: tuple[int, int] | None) -> dict[str, object]:
    """ "half low", "byte 2", "nibble 7" or "bits 6-11"."""
    if bits is None:
        return {}
    first, last = bits
    width = last - first + 1
    name = FIELD_NAMES.get(width)
    if name is None or first % width:
        return {"bits": f"{first}-{last}"}
    number = first // width
    return {name: ("low", "high")[number] if width == 16 else number}
