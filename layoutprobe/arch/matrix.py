"""The matrix instructions of each family, and their documented fragments in both wave sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from layoutprobe.arch import fragments, ptx
from layoutprobe.arch.fragments import Fragment
from layoutprobe.errors import UsageError
from layoutprobe.numbers import element_type

WAVES = (32, 64)


@dataclass(frozen=True)
class MatrixForm:
    """One matrix instruction: D = A * B + C, or D += A * B with a sparse A.

    Attributes:
        name: mnemonic.
        family: "rdna3", "rdna4" or "ptx".
        a, b: element types of A and of B. On RDNA4 and on NVIDIA's cards fp8 and bf8 are OCP's.
        result: element type of C and D.
        shape: (M, N, K); K is the dense one.
        sparse: of every four k of A two are kept, and an index operand tells which.
    """

    name: str
    family: str
    a: str
    b: str
    result: str
    shape: tuple[int, int, int]
    sparse: bool = False

    @property
    def bits(self) -> int:
        """Width of an element of A and B."""
        return element_type(self.a).bits

    @property
    def result_bits(self) -> int:
        """Width of an element of C and D."""
        return element_type(self.result).bits

    @property
    def waves(self) -> tuple[int, ...]:
        """Sizes of a wave that can execute it."""
        return (ptx.LANES,) if self.family == "ptx" else WAVES

    @property
    def document(self) -> str:
        """Which document the fragments are taken from."""
        return "NVIDIA's PTX ISA" if self.family == "ptx" else "AMD's matrix instruction calculator"

    def opsels(self, wave: int) -> tuple[int, ...]:
        """What op_sel can be: 0 or 4 (upper half of 16-bit C and D, RDNA3); the index keys."""
        if self.sparse:
            return tuple(range(fragments.SPARSE[self.bits, self.shape[2], wave].keys))
        return (0, 4) if self.family == "rdna3" and self.result_bits == 16 else (0,)

    def fragments(self, wave: int, opsel: int = 0) -> Mapping[str, Fragment]:
        """Documented fragments of "A", "B", "C", "D" and, if sparse, "index"."""
        return _fragments(self, wave, opsel)

    def vgprs(self, wave: int) -> Mapping[str, int]:
        """Registers of every operand."""
        return {name: fragment.vgprs for name, fragment in self.fragments(wave).items()}


@cache
def _fragments(form: MatrixForm, wave: int, opsel: int) -> Mapping[str, Fragment]:
    if wave not in form.waves:
        expected = " or ".join(str(size) for size in form.waves)
        raise UsageError(f"{form.name} is not executed by waves of {wave} lanes", expected=expected)
    if opsel not in form.opsels(wave):
        raise UsageError(
            f"{form.name} takes no op_sel {opsel}",
            expected="one of: " + ", ".join(str(o) for o in form.opsels(wave)),
        )
    depth, bits = form.shape[2], form.bits
    if form.family == "ptx":
        return ptx.fragments(form.shape, bits, form.result_bits)
    found: dict[str, Fragment] = {}
    if form.sparse:
        maps = fragments.SPARSE[bits, depth, wave]
        found["A"] = fragments.sparse_a(maps, depth, bits)
        found["B"] = fragments.as_b(fragments.input_fragment(maps.b, depth, bits, maps.b_vgprs))
        found["index"] = fragments.sparse_index(maps, depth, opsel)
    elif form.family == "rdna3":
        line = fragments.input_fragment(
            fragments.straight(bits), depth, bits, depth * bits // 32, wave // fragments.LINES
        )
        found["A"], found["B"] = line, fragments.as_b(line)
    else:
        formula, vgprs = fragments.DENSE[bits, depth, wave]
        line = fragments.input_fragment(formula, depth, bits, vgprs)
        found["A"], found["B"] = line, fragments.as_b(line)
    width = form.result_bits
    if form.family == "rdna3":
        result = fragments.rdna3_result(wave, opsel // 4 if width == 16 else None)
    else:
        result = fragments.rdna4_result(wave, width)
    return found | {"C": result, "D": result}


def _wmma(family: str, result: str, depth: int, a: str, b: str = "") -> MatrixForm:
    types = f"{a}_{b}" if b else a
    return MatrixForm(f"v_wmma_{result}_16x16x{depth}_{types}", family, a, b or a, result, (16, 16, depth))


def _swmmac(result: str, depth: int, a: str, b: str = "") -> MatrixForm:
    types = f"{a}_{b}" if b else a
    name = f"v_swmmac_{result}_16x16x{depth}_{types}"
    return MatrixForm(name, "rdna4", a, b or a, result, (16, 16, depth), sparse=True)


def _table(*forms: MatrixForm) -> Mapping[str, MatrixForm]:
    return {form.name: form for form in forms}


_COMMON = (
    ("f32", "f16"),
    ("f32", "bf16"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("i32", "iu8"),
    ("i32", "iu4"),
)
_MIXES = (("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8"))

RDNA3: Mapping[str, MatrixForm] = _table(*(_wmma("rdna3", result, 16, a) for result, a in _COMMON))
"""By mnemonic, in the order of opcodes 0x40 to 0x45 (RDNA3 ISA guide; RDNA3.5 has the same)."""

RDNA4: Mapping[str, MatrixForm] = _table(
    *(_wmma("rdna4", result, 16, a) for result, a in _COMMON),
    *(_wmma("rdna4", "f32", 16, a, b) for a, b in _MIXES),
    _wmma("rdna4", "i32", 32, "iu4"),
    *(_swmmac(result, 32, a) for result, a in _COMMON),
    _swmmac("i32", 64, "iu4"),
    *(_swmmac("f32", 32, a, b) for a, b in _MIXES),
)
"""By mnemonic, in the order of opcodes 0x40 to 0x4a and 0x50 to 0x5a (RDNA4 ISA guide)."""


def _mma(m: int, k: int, a: str, b: str, result: str) -> MatrixForm:
    """Types as PTX spells them."""
    name = f"mma.sync.aligned.m{m}n8k{k}.row.col.{result}.{a}.{b}.{result}"
    return MatrixForm(name, "ptx", _PTX.get(a, a), _PTX.get(b, b), _PTX.get(result, result), (m, 8, k))


_PTX = {"e4m3": "fp8", "e5m2": "bf8", "u8": "iu8", "s8": "i8", "u4": "iu4", "s4": "i4", "s32": "i32"}

PTX_80: Mapping[str, MatrixForm] = _table(
    *(_mma(16, k, "f16", "f16", result) for k in (8, 16) for result in ("f32", "f16")),
    *(_mma(16, k, "bf16", "bf16", "f32") for k in (8, 16)),
    *(_mma(16, k, "tf32", "tf32", "f32") for k in (4, 8)),
    *(_mma(m, k, a, a, "s32") for m, k in ((8, 16), (16, 16), (16, 32)) for a in ("s8", "u8")),
    *(_mma(m, k, a, a, "s32") for m, k in ((8, 32), (16, 32), (16, 64)) for a in ("s4", "u4")),
)
"""mma.sync from sm_80 on, but for f64, single bits, sparse A, mixed signs and m8n8k4."""

PTX_89: Mapping[str, MatrixForm] = {
    **PTX_80,
    **_table(
        *(_mma(16, k, a, b, "f32") for k in (16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
        *(_mma(16, 32, a, b, "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    ),
}
"""sm_89 and sm_90 have 8-bit floats, too."""
