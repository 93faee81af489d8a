"""The same in assembly of AMD: register numbers are symbols that whoever takes the code sets as it fits.

Constants go through one SGPR, as VOP3 takes no literal there. Between a VALU instruction and a swap of what it wrote
two wait states are needed (LLVM, GCNHazardRecognizer::checkPermlaneHazards): an `s_nop` stands before every swap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from layoutprobe.codegen.moves import Copy, Moves, Permute, Swap
from layoutprobe.layouts.polynomial import Polynomial

AND_XOR = 0x78
"""Truth table of `a ^ (b & c)` for v_bitop3: bit 4*a + 2*b + c."""


class _Writer(Struct):
    """Lines, and which symbols they need.

    Attributes:
        lines: the instructions so far.
        bits: lane bit, or product of lane bits as a mask -> register that holds it, 0 or -1.
        selectors: table of a selector -> its register.
        constant: what the SGPR holds.
    """

    lines: list[str] = field(default_factory=list)
    bits: dict[int, str] = field(default_factory=dict)
    selectors: dict[bytes, str] = field(default_factory=dict)
    constant: int | None = None

    def emit(self, text: str) -> None:
        self.lines.append(text)

    def literal(self, value: int) -> str:
        """A register with that value."""
        if self.constant != value:
            self.emit(f"s_mov_b32 s[constant], 0x{value:08x}")
            self.constant = value
        return "s[constant]"

    def bit(self, mask: int) -> str:
        """A register that is all ones in lanes with these bits, else 0."""
        if mask not in self.bits:
            low = mask & -mask
            name = f"v[bits+{len(self.bits)}]"
            if mask == low:
                self.emit(f"v_bfe_i32 {name}, v[lane], {low.bit_length() - 1}, 1")
                self.bits[mask] = name
            else:
                one, rest = self.bit(low), self.bit(mask & ~low)
                name = f"v[bits+{len(self.bits)}]"
                self.emit(f"v_and_b32 {name}, {one}, {rest}")
                self.bits[mask] = name
        return self.bits[mask]

    def value(self, value: Polynomial, into: str) -> None:
        """Put a value that depends on the lane into a register."""
        self.emit(f"v_mov_b32 {into}, 0x{value.constant:08x}")
        for mask, weight in value.terms.items():
            flags = self.bit(mask)
            self.emit(f"v_bitop3_b32 {into}, {into}, {flags}, {self.literal(weight)} bitop3:0x{AND_XOR:x}")


def pack_code(moves: Moves) -> tuple[list[str], Mapping[str, int]]:
    """The instructions, and how many registers each symbol names ("lane": only where it is needed)."""
    writer = _Writer()
    for step in moves.steps:
        if isinstance(step, Copy):
            writer.emit(f"v_mov_b32 {_name(step.target)}, {_name(step.source)}")
        elif isinstance(step, Swap):
            writer.emit("s_nop 1")
            writer.emit(f"v_permlane{step.apart}_swap_b32 {_name(step.first)}, {_name(step.second)}")
        else:
            chosen = _selector(writer, step)
            writer.emit(f"v_perm_b32 {_name(step.target)}, {_name(step.high)}, {_name(step.low)}, {chosen}")
    taken = {"raw": moves.raw, "packed": moves.packed, "temp": moves.temporaries}
    taken |= {"lane": 1 if writer.bits else 0, "bits": len(writer.bits), "select": len(writer.selectors)}
    taken["constant"] = 0 if writer.constant is None else 1
    return writer.lines, {name: count for name, count in taken.items() if count}


def _selector(writer: _Writer, step: Permute) -> str:
    value = Polynomial.of(step.selector)
    if not value.terms:
        return writer.literal(value.constant)
    key = step.selector.tobytes()
    if key not in writer.selectors:
        name = f"v[select+{len(writer.selectors)}]"
        writer.value(value, name)
        writer.selectors[key] = name
    return writer.selectors[key]


def _name(register: str) -> str:
    symbol = {"r": "raw", "p": "packed", "t": "temp"}[register[0]]
    return f"v[{symbol}+{register[1:]}]"


def placed(taken: Mapping[str, int], first: int) -> dict[str, int]:
    """Numbers for the symbols, VGPRs from `first` on, each range at an even register."""
    numbers, at = {}, first
    for name, count in taken.items():
        if name != "constant":
            numbers[name] = at
            at += count + count % 2
    return numbers | ({"constant": 0} if "constant" in taken else {})


def listing(lines: Sequence[str], numbers: Mapping[str, int]) -> Iterator[str]:
    """The symbols and the instructions, as a file of assembly has them."""
    yield from (f".set {name}, {number}" for name, number in numbers.items())
    yield from lines
