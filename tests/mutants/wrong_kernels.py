"""Wrong kernels: each is one small edit of a shipped probe that a kernel author could have made."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from wrong_probes import edited


class Mutant(Struct, frozen=True):
    """One edit of one probe.

    Attributes:
        name: what the kernel does wrong.
        probe: which probe's source is edited.
        old, new: the edit; `old` stands in the source exactly once.
    """

    name: str
    probe: str
    old: str
    new: str

    def plant(self, directory: Path) -> Path:
        """Copies all probes to `directory`, with this one edited; returns the new probes directory."""
        return edited(directory, f"{self.probe}.hip", self.old, self.new)


def _load_of(operand: str) -> str:
    """The line of operand.hip that fills an operand's registers."""
    return f"Fragment {operand} = load_fragment({operand}_lds, wave * 16 + lane % 16);"


def _after_load(operand: str, order: list[int]) -> str:
    """The load, followed by a permutation of the lane's 16 elements."""
    listed = ", ".join(map(str, order))
    return f"{_load_of(operand)} {operand} = __builtin_shufflevector({operand}, {operand}, {listed});"


def transposed(operand: str) -> Mutant:
    """A lane gets a column of its LDS tile instead of a row."""
    return Mutant(
        f"{operand} transposed",
        "operand",
        _load_of(operand),
        f"half16 {operand}; {{ u16x16 e; for (int i = 0; i < 16; ++i) "
        f"e[i] = {operand}_lds[lds_index<kK>(wave * 16 + i, lane % 16)]; {operand} = bits<half16>(e); }}",
    )


def unreplicated(operand: str) -> Mutant:
    """`lane` for `lane % 16`: the upper half-wave loads the rows after those of the tile."""
    load = _load_of(operand)
    wrapped = load.replace("wave * 16 + lane % 16", "(wave * 16 + lane) % 64")
    return Mutant(f"{operand} by lane, not lane % 16", "operand", load, wrapped)


def upper_half_zero(operand: str) -> Mutant:
    """Only lanes 0-15 load; the registers of the upper half-wave are zero."""
    load = _load_of(operand)
    return Mutant(
        f"{operand} in lanes 0-15 only", "operand", load, f"{load} if (lane >= 16) {operand} = half16{{}};"
    )


def swapped_halves(operand: str) -> Mutant:
    """The two 16-bit halves of every VGPR change places."""
    order = [i ^ 1 for i in range(16)]
    return Mutant(f"{operand} halves swapped", "operand", _load_of(operand), _after_load(operand, order))


def swapped_k_groups(operand: str) -> Mutant:
    """k 0-7 and k 8-15 change places."""
    order = [i ^ 8 for i in range(16)]
    return Mutant(f"{operand} k groups swapped", "operand", _load_of(operand), _after_load(operand, order))


def wrong_wave(operand: str) -> Mutant:
    """Each wave loads its neighbour's tile."""
    load = _load_of(operand)
    return Mutant(
        f"{operand} of the neighbouring wave", "operand", load, load.replace("wave * 16", "(wave ^ 1) * 16")
    )


OPERAND_EDITS = (transposed, unreplicated, upper_half_zero, swapped_halves, swapped_k_groups, wrong_wave)

_LOAD_CHUNKS = """\
  const u16x8 low = *(const u16x8*)&lds[lds_index<kK>(row, 0)];
  const u16x8 high = *(const u16x8*)&lds[lds_index<kK>(row, 8)];
"""

JOINT_K_PERMUTATION = Mutant(
    "A and B k groups swapped",
    "operand",
    _LOAD_CHUNKS,
    _LOAD_CHUNKS.replace("(row, 0)", "(row, X)")
    .replace("(row, 8)", "(row, 0)")
    .replace("(row, X)", "(row, 8)"),
)
"""k permuted in A and B alike: the products are the same, so the GEMM is right."""

SWIZZLE_ON_STORE_ONLY = Mutant(
    "swizzle on store only",
    "operand",
    _LOAD_CHUNKS,
    _LOAD_CHUNKS.replace("lds_index<kK>(row, 0)", "row * lds_stride(kK)").replace(
        "lds_index<kK>(row, 8)", "row * lds_stride(kK) + 8"
    ),
)

SWIZZLE_ON_LOAD_ONLY = Mutant(
    "swizzle on load only",
    "operand",
    "*(u16x8*)&a_lds[lds_index<kK>(a_row, a_col)]",
    "*(u16x8*)&a_lds[a_row * lds_stride(kK) + a_col]",
)


def wrong_stride(stride: str) -> Mutant:
    """A is loaded half by half at another row stride than it was stored; volatile keeps the halves."""
    return Mutant(
        f"load stride {stride}",
        "operand",
        _load_of("a"),
        f"half16 a; {{ u16x16 e; const volatile u16* p = &a_lds[(wave * 16 + lane % 16) * ({stride})]; "
        "for (int i = 0; i < 16; ++i) e[i] = p[i]; a = bits<half16>(e); }",
    )


BEYOND_LDS = Mutant(
    "B reads past the end of LDS", "operand", _load_of("b"), _load_of("b").replace("lane % 16", "lane + 16")
)
"""Reaches row 79 of 64."""

RDNA4_ROWS = Mutant("RDNA4 row map", "epilogue", "2 * v + lane / 16", "v + 8 * (lane / 16)")
C_TRANSPOSED = Mutant(
    "C transposed", "epilogue", "C[row * kLd + col]", "C[(tile_row + col % 16) * kLd + row % 16]"
)
C_OF_NEIGHBOUR = Mutant(
    "C of the neighbouring wave", "epilogue", "wave * 16, tile_col", "(wave ^ 1) * 16, tile_col"
)

ROUNDTRIP_STORE_ONLY = Mutant(
    "swizzle on store only",
    "roundtrip",
    "&tile[lds_index<kCols>(load_row, load_col)]",
    "&tile[load_row * lds_stride(kCols) + load_col]",
)
ROUNDTRIP_LOAD_ONLY = Mutant(
    "swizzle on load only",
    "roundtrip",
    "&tile[lds_index<kCols>(store_row, store_col)]",
    "&tile[store_row * lds_stride(kCols) + store_col]",
)
ROUNDTRIP_ROW_SHIFT = Mutant(
    "load one row too far", "roundtrip", "(load_row, load_col)])", "((load_row + 1) % kRows, load_col)])"
)


def dead_copy_lost(operand: str) -> Mutant:
    """The copies that the emulator's outputs do not read are zeroed: only a document is violated."""
    return Mutant(
        f"dead copies of {operand} zeroed",
        "operand",
        _load_of(operand),
        f"{_load_of(operand)} if (lane % 2 != lane / 16) {operand} = half16{{}};",
    )
