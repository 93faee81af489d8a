"""What one evaluation reads and writes: inputs, variables, registers, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .errors import PcodeFault
from .softfloat import Rounding
from .values import Value, wrap

Function: TypeAlias = "Callable[[Frame, list[Value]], Value]"
Binding: TypeAlias = "Value | list[Value] | Function"

# Registers that a text may write, and so many bits of them exist.
OUTPUTS: dict[str, int] = {
    "D0": 128,
    "D1": 1,
    "S0": 128,
    "SDATA": 512,
    "VDATA": 128,
    "RETURN_DATA": 128,
    "VCC": 64,
    "EXEC": 64,
    "SCC": 1,
    "PC": 64,
}


@dataclass(frozen=True)
class Mode:
    """The MODE register's part in arithmetic. The defaults are what clang sets for a HIP kernel.

    Attributes:
        denorm32: keep f32 denormals (else inputs and results are flushed to zero).
        denorm16_64: the same for f16 and f64.
        ieee: min and max quiet signalling NaNs (`.amdhsa_ieee_mode 1`).
    """

    denorm32: bool = True
    denorm16_64: bool = True
    ieee: bool = True

    def keeps_denormals(self, width: int) -> bool:
        """Whether denormals of an f16, f32 or f64 survive."""
        return self.denorm32 if width == 32 else self.denorm16_64


@dataclass
class Frame:
    """The state of one evaluation.

    Attributes:
        names: variables and registers by name.
        declared: the declared type (kind, width) of scalars.
        memory: bytes by address, as given; `stores` are the bytes written, which later reads see.
        vgpr: register number -> 32 lanes, as given; `vgpr_writes` holds (lane, register) -> bits.
        written: which bits of a register the text assigned.
        lane_bit: the last bit that was written at [laneId] of a mask, or None.
    """

    op: str
    names: dict[str, Binding]
    mode: Mode
    lane: int
    memory: Mapping[int, int] = field(default_factory=dict)
    vgpr: Mapping[int, Sequence[int]] = field(default_factory=dict)
    rounding: Rounding = Rounding.NEAREST_EVEN
    declared: dict[str, tuple[str, int]] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    vgpr_writes: dict[tuple[int, int], int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    lane_bit: int | None = None

    def lookup(self, name: str) -> Binding:
        """The binding of a name.

        Raises:
            PcodeFault: if neither the caller nor the text has set it.
        """
        try:
            return self.names[name]
        except KeyError:
            raise PcodeFault(f"{self.op}: {name} has no value here") from None

    def load(self, address: int, width: int) -> int:
        """`width` bits of memory, little endian.

        Raises:
            PcodeFault: where the caller gave no byte.
        """
        bits = 0
        for i in range(width // 8):
            byte = self.stores.get(address + i, self.memory.get(address + i))
            if byte is None:
                raise PcodeFault(f"{self.op}: no memory at {address + i:#x}")
            bits |= byte << (8 * i)
        return bits

    def store(self, address: int, width: int, bits: int) -> None:
        """Write `width` bits of memory, little endian."""
        for i in range(width // 8):
            self.stores[address + i] = bits >> (8 * i) & 0xFF

    def read_vgpr(self, lane: int, register: int) -> Value:
        """A VGPR of a lane; a write earlier in the same text is seen."""
        bits = self.vgpr_writes.get((lane, register))
        if bits is None:
            column = self.vgpr.get(register)
            if column is None or not 0 <= lane < len(column):
                raise PcodeFault(f"{self.op}: no v{register} of lane {lane}")
            bits = column[lane]
        return Value("B", 32, bits)

    def write_bits(self, name: str, offset: int, width: int, bits: int) -> None:
        """Replace `width` bits of a register or variable, from bit `offset` on."""
        old = self.names.get(name)
        if not isinstance(old, Value):
            old = Value("B", offset + width, 0)
        mask = ((1 << width) - 1) << offset
        payload = old.payload & ~mask | bits << offset & mask
        full = OUTPUTS.get(name, max(old.width, offset + width))
        kind = old.kind if old.kind in ("U", "I") else "B"
        self.names[name] = wrap(kind, full, payload)
        self.written[name] = self.written.get(name, 0) | mask
