"""A header in HIP for one matrix instruction: tiles to LDS, operands from it, the instruction, the epilogue.

What a lane holds is taken from the layout that executing the instruction gave; places in LDS are those of a scheme.
Both become formulas, which reproduce their tables exactly. `gate/generated.py` shows that the code is right before
anybody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.codegen.hip import INDENT, in_c
from layoutprobe.errors import UsageError
from layoutprobe.layouts.explain import closed_form
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.polynomial import Polynomial
from layoutprobe.layouts.swizzle import Scheme, of_bits

Ints = NDArray[np.int64]

WIDEST = 16
"""Bytes that one load or store moves."""
TYPES = {"f16": "_Float16", "bf16": "__bf16", "f32": "float", "xf32": "float", "f64": "double", "i32": "int"}
"""Element type -> what HIP calls it; all others are bytes."""


class Helpers(Struct, frozen=True, eq=False):
    """What to generate.

    Attributes:
        solved: the instruction, as executing it has shown.
        form: the same as the tables have it: element types, and how HIP calls it.
        scheme: of the tiles in LDS, in halves.
    """

    solved: InstructionLayout
    form: MatrixForm
    scheme: Scheme

    __repr__ = brief

    @property
    def name(self) -> str:
        """Of the namespace: "wmma_f32_16x16x16_f16"."""
        formats = "".join(
            f"_{key}{value}" for key, value in self.form.select.items() if value > 1 or self.form.written
        )
        return self.form.name.removeprefix("v_") + formats

    def tile(self, matrix: str) -> tuple[int, int]:
        """Lines of a tile in LDS, rows of A or columns of B, and the elements of a line, all k."""
        m, n, k = self.solved.shape
        return (m if matrix == "A" else n), k

    def places(self, matrix: str) -> Ints:
        """Place of every element in LDS, int64 [line, k], in elements."""
        shape = self.tile(matrix)
        line, k = np.indices(shape)
        return of_bits(self.scheme, self.solved.operands[matrix].field_bits).index(line, k, shape)


def _is_plain(places: Ints) -> bool:
    """Whether elements lie line after line, with nothing between them."""
    return bool((places.ravel() == np.arange(places.size)).all())


def refuse(helpers: Helpers) -> None:
    """Refuse what there are no helpers for.

    Raises:
        UsageError: says what is in the way.
    """
    form, solved = helpers.form, helpers.solved
    widths = {matrix: solved.operands[matrix].field_bits for matrix in "ABD"}
    why = ""
    if not form.builtin:
        why = "it takes more than A, B and C"
    elif form.blocks > 1:
        why = "it computes several blocks at once, which are no one product"
    elif min(widths.values()) < 8:
        why = "its elements are smaller than a byte"
    if why:
        raise UsageError(f"no helpers are generated for {form.spelling}: {why}")
    for matrix in "AB":
        width = widths[matrix]
        lines, depth = helpers.tile(matrix)
        if refusal := of_bits(helpers.scheme, width).refusal((lines, depth)):
            raise UsageError(
                f"a tile of {lines} lines of {depth} elements of {width} bits cannot lie in LDS as "
                f"{helpers.scheme.name}",
                observed=refusal,
                hint="another --lds",
            )


def header(helpers: Helpers, proof: Sequence[str]) -> str:
    """The header.

    Args:
        helpers: what to generate.
        proof: what was done to show that it is right, a line each.
    """
    (m, n, k), solved = helpers.solved.shape, helpers.solved
    lines = [
        f"// {helpers.form.spelling} on {solved.arch}, waves of {solved.wave} lanes; "
        f"tiles in LDS: {helpers.scheme.name}.",
        *(
            f"// The tile of {matrix} lies as without a scheme: {name} keeps lines that short together."
            for name in [helpers.scheme.name]
            for matrix in "AB"
            if name != "none" and _is_plain(helpers.places(matrix))
        ),
        *(f"// {line}" for line in proof),
        "#pragma once",
        "#include <hip/hip_runtime.h>",
        "",
        f"namespace {helpers.name} {{",
        "",
        f"constexpr unsigned M = {m}, N = {n}, K = {k}, LANES = {solved.wave};",
        *_types(helpers),
        *(line for matrix in "AB" for line in ("", *_operand(helpers, matrix))),
        "",
        *_multiply(helpers),
        "",
        *_epilogue(helpers),
        "",
        f"}}  // namespace {helpers.name}",
    ]
    return "\n".join(lines) + "\n"


def _types(helpers: Helpers) -> Iterator[str]:
    form, operands = helpers.form, helpers.solved.operands
    for name, dtype in (("InA", form.a), ("InB", form.b), ("Out", form.result)):
        yield f"typedef {TYPES.get(dtype, 'signed char' if dtype.startswith('i') else 'unsigned char')} {name};"
    yield ""
    yield "// Registers of an operand; they become whatever vector the compiler's builtin takes."
    yield "template <unsigned Count> struct Registers {"
    yield f"{INDENT}unsigned words[Count];"
    yield f"{INDENT}template <typename Vector> __device__ operator Vector() const {{"
    yield f"{2 * INDENT}Vector all{{}};"
    yield f"{2 * INDENT}__builtin_memcpy(&all, words, sizeof(all) < sizeof(words) ? sizeof(all) : sizeof(words));"
    yield f"{2 * INDENT}return all;"
    yield f"{INDENT}}}"
    yield "};"
    for matrix in "ABD":
        layout = operands[matrix]
        yield f"typedef Registers<{layout.vgprs * max(1, layout.field_bits // 32)}> {matrix};"


# Operands


def _operand(helpers: Helpers, matrix: str) -> Iterator[str]:
    """The tile of A or B: its places in LDS, how it gets there, and how a lane takes its part."""
    lines, depth = helpers.tile(matrix)
    line, element, low = ("row", "InA", "a") if matrix == "A" else ("col", "InB", "b")
    places = helpers.places(matrix)
    what = f"{matrix}'s tile: {lines} {'rows' if matrix == 'A' else 'columns'} of {depth} k"
    yield f"// {what}. Where in LDS an element lies, of so many:"
    yield f"constexpr unsigned {matrix}_ELEMENTS = {_size(helpers, matrix)};"
    yield f"__device__ inline unsigned place_{low}(unsigned {line}, unsigned k) {{"
    yield f"{INDENT}return {_formula((line, 'k'), places)};"
    yield "}"
    yield from _store(helpers, matrix, line, element, low)
    yield from _load(helpers, matrix, line, element, low)


def _size(helpers: Helpers, matrix: str) -> int:
    bits = helpers.solved.operands[matrix].field_bits
    return of_bits(helpers.scheme, bits).size(helpers.tile(matrix))


def _store(helpers: Helpers, matrix: str, line: str, element: str, low: str) -> Iterator[str]:
    """From memory to LDS: A along its rows, B, whose rows lie across the lines of LDS, element by element."""
    lines, depth = helpers.tile(matrix)
    size = helpers.solved.operands[matrix].field_bits // 8
    along = min(depth, WIDEST // size) if matrix == "A" else 1
    rows = "its rows" if matrix == "A" else "its rows, which are the k,"
    yield f"// The tile at `from` to LDS, by all threads of a workgroup; {rows} are `step` elements apart."
    yield (
        f"__device__ inline void store_{low}({element}* lds, const {element}* from, unsigned step, "
        "unsigned thread, unsigned threads) {"
    )
    yield f"{INDENT}for (unsigned i = thread; i < {lines * depth // along}; i += threads) {{"
    if matrix == "A":
        yield f"{2 * INDENT}const unsigned row = i / {depth // along}, k = i % {depth // along} * {along};"
        yield f"{2 * INDENT}__builtin_memcpy(lds + place_a(row, k), from + row * step + k, {along * size});"
    else:
        yield f"{2 * INDENT}const unsigned k = i / {lines}, col = i % {lines};"
        yield f"{2 * INDENT}lds[place_b(col, k)] = from[k * step + col];"
    yield f"{INDENT}}}"
    yield "}"


def _load(helpers: Helpers, matrix: str, line: str, element: str, low: str) -> Iterator[str]:
    """What a lane holds, from LDS: as many neighbours at once as lie side by side in both."""
    layout = helpers.solved.operands[matrix]
    lines, k, size = *_coordinates(layout, matrix), layout.field_bits // 8
    places = helpers.places(matrix)[lines, k]  # [lane, element]
    run = _run(places, size)
    yield "// A lane's part of the tile."
    yield f"__device__ inline {matrix} load_{low}(const {element}* lds, unsigned lane) {{"
    yield f"{INDENT}{matrix} {low};"
    yield "#pragma unroll"
    yield f"{INDENT}for (unsigned i = 0; i < {places.shape[1] // run}; ++i) {{"
    axes = "lane", "i"
    yield f"{2 * INDENT}const unsigned {line} = {_formula(axes, lines[:, ::run])};"
    yield f"{2 * INDENT}const unsigned k = {_formula(axes, k[:, ::run])};"
    bytes_ = run * size
    yield (
        f"{2 * INDENT}__builtin_memcpy((char*){low}.words + i * {bytes_}, "
        f"__builtin_assume_aligned(lds + place_{low}({line}, k), {bytes_}), {bytes_});"
    )
    yield f"{INDENT}}}"
    yield f"{INDENT}return {low};"
    yield "}"


def _coordinates(layout: Layout, matrix: str) -> tuple[Ints, Ints]:
    """Line and k of what a lane holds, int64 [lane, element]; no slot is empty."""
    row, col = (x[0].reshape(layout.lanes, -1).astype(np.int64) for x in (layout.row, layout.col))
    if (row == HOLE).any():
        raise UsageError(f"no helpers are generated: some registers of {matrix} hold no element")
    return (row, col) if matrix == "A" else (col, row)


def _run(places: Ints, size: int) -> int:
    """Elements that one load can take, in every lane: side by side and aligned."""
    count, run = places.shape[1], 1
    while count % (2 * run) == 0 and 2 * run * size <= WIDEST:
        groups = places.reshape(len(places), -1, 2 * run)
        if (groups[:, :, :1] % (2 * run)).any() or (np.diff(groups, axis=2) != 1).any():
            break
        run *= 2
    return run


# The instruction and its result


def _multiply(helpers: Helpers) -> Iterator[str]:
    solved = helpers.solved
    upper = "true" if solved.opsel else "false"
    call = helpers.form.builtin.format(a="a", b="b", c="c", wave=solved.wave, upper=upper)
    yield "// a * b + c; all lanes of the wave take part."
    yield "__device__ inline D multiply(A a, B b, D c) {"
    yield f"{INDENT}const auto all = {call};"
    yield f"{INDENT}D d;"
    yield f'{INDENT}static_assert(sizeof(d) == sizeof(all), "the registers of the result");'
    yield f"{INDENT}__builtin_memcpy(&d, &all, sizeof(d));"
    yield f"{INDENT}return d;"
    yield "}"


def _epilogue(helpers: Helpers) -> Iterator[str]:
    """Every element of D, from the register that holds it."""
    layout = helpers.solved.operands["D"]
    row, col = (x[0].reshape(layout.lanes, -1).astype(np.int64) for x in (layout.row, layout.col))
    used = np.flatnonzero((row != HOLE).all(axis=0))
    if (row[:, [n for n in range(row.shape[1]) if n not in used]] != HOLE).any():
        raise UsageError("no helpers are generated: a register of D holds an element in some lanes only")
    size, steps = layout.field_bits // 8, np.diff(used)
    step = int(steps[0]) if steps.size else 1
    if (steps != step).any():
        raise UsageError("no helpers are generated: elements of D lie at uneven distances")
    axes, at = ("lane", "i"), f"i * {step * size}" + (f" + {used[0] * size}" if used[0] else "")
    yield "// D's tile to memory, where it begins at `to`; its rows are `step` elements apart."
    yield "__device__ inline void store_d(Out* to, unsigned step, D d, unsigned lane) {"
    yield "#pragma unroll"
    yield f"{INDENT}for (unsigned i = 0; i < {used.size}; ++i) {{"
    yield f"{2 * INDENT}const unsigned row = {_formula(axes, row[:, used])};"
    yield f"{2 * INDENT}const unsigned col = {_formula(axes, col[:, used])};"
    yield f"{2 * INDENT}Out value;"
    yield f"{2 * INDENT}__builtin_memcpy(&value, (const char*)d.words + {at}, sizeof(value));"
    yield f"{2 * INDENT}to[row * step + col] = value;"
    yield f"{INDENT}}}"
    yield "}"


def _formula(names: tuple[str, str], table: Ints) -> str:
    """A table over two unsigned variables, in C."""
    first, second = names
    number = f"({first} * {table.shape[1]} + {second})"
    return in_c(closed_form(names, table.shape, table), Polynomial.of(table.ravel()), number)


# What shows that it is right


def gemm(helpers: Helpers) -> str:
    """A kernel that uses all of it: C = A * B, a wave for each tile of C."""
    return f"""\
// C = A * B with {helpers.name}.h: a workgroup is one wave, and makes one tile of C.
#include "{helpers.name}.h"

using namespace {helpers.name};

extern "C" __global__ void __launch_bounds__(LANES)
gemm(const InA* a, const InB* b, Out* c, unsigned m, unsigned n, unsigned k) {{
    __shared__ __attribute__((aligned({WIDEST}))) InA lds_a[A_ELEMENTS];
    __shared__ __attribute__((aligned({WIDEST}))) InB lds_b[B_ELEMENTS];
    const unsigned lane = threadIdx.x, row = blockIdx.y * M, col = blockIdx.x * N;
    D d{{}};
    for (unsigned at = 0; at < k; at += K) {{
        store_a(lds_a, a + row * k + at, k, lane, LANES);
        store_b(lds_b, b + at * n + col, n, lane, LANES);
        __syncthreads();
        d = multiply(load_a(lds_a, lane), load_b(lds_b, lane), d);
        __syncthreads();
    }}
    store_d(c + row * n + col, n, d, lane);
}}
"""


def manifest(helpers: Helpers) -> str:
    """What the gate is to know of that kernel: docs/manifest.md has the words."""
    (m, n, k), form, solved = helpers.solved.shape, helpers.form, helpers.solved
    sizes = ", ".join(
        f"{{ M = {m * i}, N = {n * j}, K = {k * steps} }}"
        for i, j, steps in ((1, 1, 1), (2, 1, 2), (2, 3, 4))
    )
    dtype = {"iu8": "i8"}
    matrices = [
        f'  {{ name = "{name.lower()}", role = "{role}", dtype = "{dtype.get(of, of)}", '
        f'shape = ["{rows}", "{cols}"], matrix = "{name}" }},'
        for name, role, of, rows, cols in (
            ("A", "in", form.a, "M", "K"),
            ("B", "in", form.b, "K", "N"),
            ("C", "out", form.result, "M", "N"),
        )
    ]  # fmt: skip
    scalars = [f'  {{ name = "{x.lower()}", role = "scalar", dtype = "u32", value = "{x}" }},' for x in "MNK"]
    flags = [f'flags = ["-mwavefrontsize{solved.wave}"]'] if solved.wave != form.waves[0] else []
    return "\n".join(
        [
            f"# Holds {helpers.name}.h against what it says of itself: `layoutprobe check {helpers.name}.toml`",
            "[[kernel]]",
            f'name = "{helpers.name}"',
            f'source = "{helpers.name}.hip"',
            'symbol = "gemm"',
            f'arch = "{solved.arch}"',
            *flags,
            f'grid = ["N / {n}", "M / {m}"]',
            f"block = {solved.wave}",
            f"sizes = [{sizes}]",
            f"tile = {{ M = {m}, N = {n}, K = {k} }}",
            f"multiple = {{ M = {m}, N = {n}, K = {k} }}",
            'contract = { kind = "gemm" }',
            "argument = [",
            *matrices,
            *scalars,
            "]",
            "",
        ]
    )
