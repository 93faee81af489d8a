"""What one evaluation reads and writes: inputs, variables, registers, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from .errors import PcodeFault
from .lanes import Ints, PartedError, joined, same, taken
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


class Mode(Struct, frozen=True):
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


class Frame(Struct):
    """The state of one evaluation, of one lane or of many: what they have of their own are arrays [lane].

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
    lane: Ints
    memory: Mapping[int, int] = field(default_factory=dict)
    vgpr: Mapping[int, Sequence[int]] = field(default_factory=dict)
    rounding: Rounding = Rounding.NEAREST_EVEN
    declared: dict[str, tuple[str, int]] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    vgpr_writes: dict[tuple[int, int], int] = field(default_factory=dict)
    written: dict[str, Ints] = field(default_factory=dict)
    lane_bit: Ints | None = None

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

    def of_lanes(self, lanes: NDArray[np.bool_]) -> Frame:
        """The state of some lanes, as a frame of their own."""
        names = {name: _taken(binding, lanes) for name, binding in self.names.items()}
        written = {name: taken(mask, lanes) for name, mask in self.written.items()}
        return replace(
            self,
            names=names,
            lane=taken(self.lane, lanes),
            declared=dict(self.declared),
            written=written,
            lane_bit=taken(self.lane_bit, lanes),
        )

    def join(self, lanes: NDArray[np.bool_], yes: Frame, no: Frame) -> None:
        """Take over the states of these lanes and of the others.

        Raises:
            PartedError: where a name means two kinds of thing.
        """
        if yes.rounding is not no.rounding or yes.declared != no.declared:
            raise PartedError(lanes)
        self.rounding, self.declared = yes.rounding, yes.declared
        self.names = {
            name: _joined(lanes, yes.names.get(name), no.names.get(name)) for name in yes.names | no.names
        }
        self.written = {
            name: joined(lanes, yes.written.get(name, 0), no.written.get(name, 0))
            for name in yes.written | no.written
        }
        self.lane_bit = joined(lanes, yes.lane_bit, no.lane_bit)

    def write_bits(self, name: str, offset: Ints, width: int, bits: Ints) -> None:
        """Replace `width` bits of a register or variable, from bit `offset` on."""
        old = self.names.get(name)
        if not isinstance(old, Value):
            old = Value("B", OUTPUTS.get(name) or same(offset) + width, 0)
        mask = ((1 << width) - 1) << offset
        payload = old.payload & ~mask | bits << offset & mask
        full = OUTPUTS.get(name) or max(old.width, same(offset) + width)
        kind = old.kind if old.kind in ("U", "I") else "B"
        self.names[name] = wrap(kind, full, payload)
        self.written[name] = self.written.get(name, 0) | mask


def _taken(binding: Binding, lanes: NDArray[np.bool_]) -> Binding:
    if isinstance(binding, Value):
        array = isinstance(binding.payload, np.ndarray)
        return binding._replace(payload=binding.payload[lanes]) if array else binding
    return (
        [v._replace(payload=taken(v.payload, lanes)) for v in binding]
        if isinstance(binding, list)
        else binding
    )


def _joined(lanes: NDArray[np.bool_], yes: Binding | None, no: Binding | None) -> Binding:
    """One binding for all lanes; a name that only some have set is None in the others, of no use to them."""
    if yes is no and yes is not None:
        return yes
    if isinstance(yes, list) and isinstance(no, list):
        return [_one(lanes, a, b) for a, b in zip(yes, no, strict=True)]
    if isinstance(yes, Value | None) and isinstance(no, Value | None):
        return _one(lanes, yes, no)
    raise PartedError(lanes)


def _one(lanes: NDArray[np.bool_], yes: Value | None, no: Value | None) -> Value:
    known = yes or no
    assert known is not None
    if yes and no and yes[:2] != no[:2]:
        raise PartedError(lanes)
    return known._replace(payload=joined(lanes, yes and yes.payload, no and no.payload))
