"""Fragments of rocWMMA, or of a library with its interface: what x[i] of each lane holds.

The library's own code loads a matrix whose elements are their own numbers, and every lane writes out what
it then has. Nothing is assumed of the library but its interface: `fragment<...>`, `x`, `num_elements` and
`load_matrix_sync`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import DEFAULT, Arch, find
from layoutprobe.backends.base import Backend, Buffer, Launch
from layoutprobe.backends.source import Prepared, Request, Source, chosen, source_of
from layoutprobe.capture.capture import Capture
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ProbeError, UsageError, did_you_mean
from layoutprobe.instructions.operands import operand_of
from layoutprobe.layouts.fragment import FragmentLayout
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.toolchain.compile import compile_hip

Ints = NDArray[np.int64]

MATRICES = {"matrix_a": "A", "matrix_b": "B", "accumulator": "C"}
TYPES = {
    "f16": ("float16_t", 16), "h16": ("hfloat16_t", 16), "bf16": ("bfloat16_t", 16), "f32": ("float32_t", 32),
    "f64": ("float64_t", 64), "xf32": ("xfloat32_t", 32), "i8": ("int8_t", 8), "u8": ("uint8_t", 8),
    "i32": ("int32_t", 32), "f8": ("float8_t", 8), "bf8": ("bfloat8_t", 8),
}  # fmt: skip
"""As the command line has them -> the library's name, and bits."""
ORDERS = ("row_major", "col_major")
MOST = 1024
"""Elements of a matrix along an axis, and of a lane in all."""

_SOURCE = """\
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bfloat16.h>
#include <rocwmma/rocwmma.hpp>
typedef rocwmma::{dtype} Element;
typedef rocwmma::fragment<rocwmma::{matrix}, {m}, {n}, {k}, Element{order}> Fragment;
extern "C" __global__ void probe(const Element* in, unsigned char* out, unsigned* count) {{
  Fragment fragment;
  rocwmma::load_matrix_sync(fragment, in, {leading}{how});
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), elements = fragment.num_elements;
  if (lane == 0) *count = elements;
  for (unsigned i = 0; i < elements && i < {most}; ++i) {{
    union {{ Element value; unsigned char bytes[sizeof(Element)]; }} x;
    x.value = fragment.x[i];
    for (unsigned byte = 0; byte < sizeof(Element); ++byte)
      out[(lane * {most} + i) * sizeof(Element) + byte] = x.bytes[byte];
  }}
}}
"""


class FragmentType(Struct, frozen=True):
    """A type of fragment.

    Attributes:
        matrix: "matrix_a", "matrix_b" or "accumulator".
        m, n, k: of the product.
        dtype: of TYPES.
        order: of ORDERS; "" for an accumulator without one.
    """

    matrix: str
    m: int
    n: int
    k: int
    dtype: str
    order: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return {"matrix_a": (self.m, self.k), "matrix_b": (self.k, self.n)}.get(self.matrix, (self.m, self.n))

    @property
    def bits(self) -> int:
        """Of an element."""
        return TYPES[self.dtype][1]

    def __str__(self) -> str:
        order = f",{self.order}" if self.order else ""
        return f"{self.matrix},{self.m},{self.n},{self.k},{self.dtype}{order}"


def fragment_type(text: str) -> FragmentType:
    """Read "matrix_a,16,16,16,f16,row_major".

    Raises:
        UsageError: it is no such text.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) not in (5, 6):
        raise UsageError(
            f"{text[:60]!r} names no fragment",
            expected="matrix_a|matrix_b|accumulator,M,N,K,type[,row_major|col_major]",
        )
    matrix, *sizes, dtype = words[:5]
    order = words[5] if len(words) == 6 else ""
    for word, known in ((matrix, MATRICES), (dtype, TYPES), (order or ORDERS[0], ORDERS)):
        if word not in known:
            raise UsageError(f"{word[:40]!r} is unknown", expected="one of: " + ", ".join(known),
                             hint=did_you_mean(word, known))  # fmt: skip
    if not all(size.isdecimal() and 0 < len(size) < 5 and 0 < int(size) <= MOST for size in sizes):
        raise UsageError(f"M, N and K are numbers from 1 to {MOST}", observed=",".join(sizes)[:60])
    if matrix != "accumulator" and not order:
        raise UsageError(f"a fragment of {matrix} has an order", expected=" or ".join(ORDERS))
    m, n, k = map(int, sizes)
    return FragmentType(matrix, m, n, k, dtype, order)


def solve_fragment(
    text: str,
    arch: str = DEFAULT,
    wave: int | None = None,
    include: Sequence[Path] = (),
    backend: Backend | Source | str | None = None,
    compiler: str | None = None,
) -> FragmentLayout:
    """Which element x[i] of each lane holds.

    Args:
        text: the type, as `fragment_type` reads it.
        arch: target.
        wave: lanes of a wave; what compilers use for the target unless given.
        include: directories of the library's headers.
        backend: where it runs, or its name; the emulator by default. Or a source of captures.
        compiler: which compiler; see `layoutprobe.toolchain`.

    Raises:
        UsageError: no such type, target, or directory.
        ToolchainError: the library does not compile, or has no such fragment.
        ProbeError: the fragment does not hold elements of the matrix.
    """
    kind, target = fragment_type(text), find(arch)
    for folder in include:
        if not folder.is_dir():
            raise UsageError("there is no such folder of headers", where={"folder": folder})
    lanes = wave or target.wave_size
    codes = _codes(kind)
    source = source_of(chosen(backend, arch))
    captures = [source.capture(_request(kind, target, lanes, digit, include, compiler)) for digit in codes]
    number = _numbers(kind, lanes, captures)
    row, col = np.divmod(number, kind.shape[1])
    row[number < 0] = col[number < 0] = HOLE
    axes = (1, lanes, 1, number.shape[1])
    letter = MATRICES[kind.matrix]
    layout = Layout(letter, kind.shape, row.astype(np.int32).reshape(axes), col.astype(np.int32).reshape(axes),
                    kind.bits)  # fmt: skip
    words, is_operand = operand_of(target, lanes, letter, kind.dtype, row, col, (kind.m, kind.n, kind.k))
    return FragmentLayout(str(kind), arch, lanes, layout, words, is_operand, captures[0].evidence)


def _codes(kind: FragmentType) -> list[NDArray[np.unsignedinteger]]:
    """Raw elements [row, col], digit after digit: their numbers from 1 on, as zero is what was not loaded."""
    rows, cols = kind.shape
    number, base = np.arange(1, rows * cols + 1, dtype=np.uint64).reshape(rows, cols), 1 << min(kind.bits, 62)
    raw, found = np.dtype(f"u{kind.bits // 8}"), []
    while number.any():
        found.append((number % np.uint64(base)).astype(raw))
        number = number // np.uint64(base)
    return found


def _numbers(kind: FragmentType, lanes: int, captures: Sequence[Capture]) -> Ints:
    """Number of the element in each x[i]: [lane, i]; -1 for none."""
    count = int(captures[0].outputs["count"][0])
    if not 0 < count <= MOST:
        raise ProbeError(f"a fragment of {count} elements a lane", expected=f"1 to {MOST}")
    raw = np.dtype(f"u{kind.bits // 8}")
    number = np.zeros((lanes, count), np.int64)
    for place, capture in enumerate(captures):
        if not capture.defined("out").reshape(lanes, MOST, -1)[:, :count].all():
            raise ProbeError(
                "x[i] holds undefined bits after load_matrix_sync", where={"fragment": str(kind)}
            )
        digit = capture.outputs["out"].view(raw).reshape(lanes, MOST)[:, :count]
        number += digit.astype(np.int64) << place * kind.bits
    if (number > kind.shape[0] * kind.shape[1]).any() or (number < 0).any():
        raise ProbeError(
            "x[i] holds what is no element of the matrix",
            where={"fragment": str(kind)},
            hint="a library that converts elements when it loads them cannot be solved this way",
        )
    return number - 1


def _request(
    kind: FragmentType,
    target: Arch,
    lanes: int,
    codes: NDArray[np.unsignedinteger],
    include: Sequence[Path],
    compiler: str | None,
) -> Request:
    stored = codes.T if kind.order == "col_major" else codes
    given = np.ascontiguousarray(stored).ravel()
    inputs = {"in": given}

    def prepare() -> Prepared:
        code, toolchain = _build(kind, target, lanes, include, compiler)
        out = Buffer(np.zeros(lanes * MOST * kind.bits // 8, np.uint8), undefined=True)
        args = [Buffer(given), out, Buffer(np.zeros(1, np.uint32))]
        return Prepared(
            Launch(code, "probe", (1, 1, 1), (lanes, 1, 1), args), {"out": 1, "count": 2}, toolchain
        )

    return Request("fragment", target.name, inputs, {"fragment": str(kind), "wave": lanes}, prepare)


def _build(
    kind: FragmentType, target: Arch, lanes: int, include: Sequence[Path], compiler: str | None
) -> tuple[CodeObject, Mapping[str, str]]:
    """The probe, compiled as rocWMMA's mode for runtime compilation has it, which asks for no C++ library."""
    rows, cols = kind.shape
    text = _SOURCE.format(
        dtype=TYPES[kind.dtype][0],
        matrix=kind.matrix,
        m=kind.m,
        n=kind.n,
        k=kind.k,
        order=f", rocwmma::{kind.order}" if kind.order else "",
        leading=rows if kind.order == "col_major" else cols,
        how="" if kind.order else ", rocwmma::mem_row_major",
        most=MOST,
    )
    flags = ["-std=c++17", "-Wno-invalid-specialization"]
    if lanes != target.wave_size:
        flags.append(f"-mwavefrontsize{lanes}")
    defines = {"__HIPCC_RTC__": 1, "__AMDGCN_WAVEFRONT_SIZE": lanes, **target.macros}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fragment.hip"
        path.write_text(text)
        compiled = compile_hip(
            path,
            target=target.name,
            defines=defines,
            include_dirs=tuple(include),
            flags=flags,
            compiler=compiler,
        )
    return load(compiled.data), compiled.toolchain
