"""Kernels under a Python reference, and integers that are scaled: each fault by its name, at its line.

Each kernel stands for a style that others write; a fault is one edit. The kernels are judged by what comes first.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import edited
from msgspec import Struct

from layoutprobe.checks.registry import CHECKS
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.patterns.expression import parse
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.trace.alterations import of_codes, of_numbers, of_places

HEAD = "#include <hip/hip_runtime.h>\n"


class Style(Struct, frozen=True):
    """A kernel with its manifest's keys, and its reference."""

    source: str
    keys: str
    python: str = ""


CODES = Style(
    HEAD
    + """// 4-bit weights, eight in a word along k; a scale for 8 k of a column; one lane an element.
extern "C" __global__ void layer(const float* x, const unsigned* q, const float* s, const float* t, float* y, int N,
                                 int K) {
  const int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y;
  if (col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    const unsigned word = q[k / 8 * N + col];
    const int code = (int)(word >> 4 * (k % 8) & 15) - 8;
    sum += x[row * K + k] * code * s[k / 8 * N + col];
  }
  y[row * N + col] = sum * t[col];
}
""",
    """block = [8]
grid = ["(N + 7) / 8", "M"]
sizes = [{ M = 5, N = 20, K = 24 }, { M = 3, N = 9, K = 40 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "K"] },
  { name = "q", role = "in", dtype = "u32", shape = ["K / 8", "N"] },
  { name = "s", role = "in", dtype = "f32", shape = ["K / 8", "N"] },
  { name = "t", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    q = inputs["q"].astype(np.int64)
    w = np.stack([q >> 4 * i & 15 for i in range(8)], 1).reshape(sizes["K"], sizes["N"]) - 8
    return {"y": inputs["x"] @ (w * np.repeat(inputs["s"], 8, 0)) * inputs["t"]}
""",
)
GATE = Style(
    HEAD
    + """// Two products, of which one gates the other; exponents of f32, terms that cancel.
extern "C" __global__ void layer(const float* x, const float* up, const float* gate, float* y, int N, int K) {
  const int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y;
  if (col >= N) return;
  float u = 0, g = 0;
  for (int k = 0; k < K; ++k) {
    u += x[row * K + k] * up[k * N + col];
    g += x[row * K + k] * gate[k * N + col];
  }
  y[row * N + col] = u * g;
}
""",
    CODES.keys.replace('"q", role = "in", dtype = "u32"', '"up", role = "in", dtype = "f32"')
    .replace('"s", role', '"gate", role')
    .replace('"K / 8"', '"K"')
    .replace('  { name = "t", role = "in", dtype = "f32", shape = ["N"] },\n', ""),
    """
def layer(inputs, sizes):
    return {"y": (inputs["x"] @ inputs["up"]) * (inputs["x"] @ inputs["gate"])}
""",
)  # fmt: skip
WHOLE = Style(
    HEAD
    + """// int8, scales of rows and columns, the nearest integer, saturated; dot products of four.
extern "C" __global__ void layer(const int* A, const int* B, const float* sa, const float* sb, signed char* C, int N,
                                 int K) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 2 + threadIdx.y;
  int sum = 0;
  for (int k = 0; k < K / 4; ++k)
    sum = __builtin_amdgcn_sudot4(true, A[row * (K / 4) + k], true, B[col * (K / 4) + k], sum, false);
  const float scale = sa[row] * sb[col];
  int whole = (int)rintf(scale * sum);
  whole = whole < -128 ? -128 : whole > 127 ? 127 : whole;
  C[row * N + col] = (signed char)whole;
}
""",
    """block = [16, 2]
grid = ["N / 16", "M / 2"]
sizes = [{ M = 16, N = 32, K = 8 }, { M = 32, N = 48, K = 12 }]
contract = { kind = "gemm", scales = ["sa", "sb"] }
argument = [
  { name = "A", role = "in", dtype = "i8", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "i8", shape = ["K", "N"], order = "col", matrix = "B" },
  { name = "sa", role = "in", dtype = "f32", shape = ["M", 1] },
  { name = "sb", role = "in", dtype = "f32", shape = ["N"] },
  { name = "C", role = "out", dtype = "i8", shape = ["M", "N"], matrix = "C" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
)


def verdict(folder: Path, style: Style, edits: tuple[tuple[str, str], ...] = ()) -> KernelVerdict:
    (folder / "kernel.hip").write_text(edited(style.source, edits))
    (folder / "reference.py").write_text(style.python)
    manifest = folder / "layoutprobe.toml"
    manifest.write_text(f'[[kernel]]\nname = "layer"\nsource = "kernel.hip"\n{style.keys}\n')
    (case,) = read_manifest(manifest).kernels
    return check_kernel(case, "gfx1151", CHECKS, allow_reference=True)


def test_the_recipe_of_the_documentation_holds(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text("utf-8")
    recipe = text.partition("### A kernel that is no product\n")[2].partition("\n### ")[0]
    files = {"cpp": "paged.hip", "toml": "layoutprobe.toml", "python": "ref.py"}
    blocks = re.findall(r"```(\w+)\n(.*?)```", recipe, re.DOTALL)
    for kind, written in blocks:
        (tmp_path / files[kind]).write_text(written, "utf-8")
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    found = check_kernel(case, "gfx1151", CHECKS, allow_reference=True)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found
    shown = re.findall(r'`"([^"]*)"`', recipe)
    assert len([parse(values, ("N", "P", "i0", "i1")) for values in shown]) == 3


class Named(Struct, frozen=True):
    """A fault: its edit, the rule that comes first, words of it, and text of the line that it names."""

    style: Style
    edit: tuple[str, str]
    rule: str
    words: str
    at: str


TAKEN, EPILOGUE = "numerics/input-taken-otherwise", "numerics/wrong-epilogue"
WORD = "word = q["
FAULTS = {
    "nibbles exchanged": Named(CODES, ("k % 8)", "(k % 8 ^ 1))"), TAKEN, "nibbles of every byte of q are exch", WORD),
    "nibbles reversed": Named(CODES, ("k % 8)", "(7 - k % 8))"), TAKEN, "nibbles of q are in reverse", WORD),
    "zero point": Named(CODES, ("15) - 8", "15) - 7"), TAKEN, "every nibble of q counts 1 too much", WORD),
    "sign extended": Named(
        CODES, ("(int)(word >> 4 * (k % 8) & 15) - 8", "(int)(word << (28 - 4 * (k % 8))) >> 28"), TAKEN,
        "nibbles of q have a sign", WORD,
    ),
    "scale of the first group": Named(CODES, ("s[k / 8 * N + col]", "s[col]"), TAKEN, "row 0 of s is taken", ""),
    "last scale missing": Named(CODES, ("sum * t[col]", "sum"), TAKEN, "t is missing as a factor", ""),
    "one matrix twice": Named(
        GATE, ("* up[", "* gate["), TAKEN, "gate is taken in place of up", "gate[k"
    ),
    "lane's scale": Named(
        WHOLE, ("sa[row]", "sa[row / 16 * 16 + threadIdx.x]"), EPILOGUE,
        "sa is indexed by the column within a tile of 16, where the row belongs", "sa[row /",
    ),
    "scales of one tile": Named(
        WHOLE, ("sb[col]", "sb[threadIdx.x]"), EPILOGUE, "the first 16 elements of sb are taken for every 16", "* sb["
    ),
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FAULTS)
def test_the_cause_comes_first_by_its_name_and_line(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    found = verdict(tmp_path, fault.style, (fault.edit,))
    assert not found.error, found.error
    assert [(f.rule.id, fault.words in f.what) for f in found.findings] == [(fault.rule, True)], (
        found.findings
    )
    if fault.at:
        lines = (tmp_path / "kernel.hip").read_text().split("\n")
        place = found.findings[0].place.source
        assert place is not None
        assert fault.at in lines[place.line - 1]


def of_operands(found: KernelVerdict) -> str:
    """What the checks that follow operands say of a kernel that a reference judges."""
    (why,) = {one.reason for one in found.results if one.check in ("operand-provenance", "epilogue")}
    return why


@pytest.mark.parametrize("style", [CODES, GATE, WHOLE], ids=["codes", "gate", "whole"])
def test_right_kernels_are_green(tmp_path: Path, style: Style) -> None:
    found = verdict(tmp_path, style)
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)
    if style.python:
        assert of_operands(found) == "no product is marked (`matrix` on A, B, D)"


def test_operands_of_a_marked_product_are_followed_where_an_output_is_wrong(tmp_path: Path) -> None:
    marks = (('"x", role', "A"), ('"up", role', "B"), ('"y", role', "D"))
    keys = edited(GATE.keys, tuple((name, f'{name[:-6]}, matrix = "{of}", role') for name, of in marks))
    found = verdict(tmp_path, Style(GATE.source, keys, GATE.python))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)
    assert of_operands(found) == "outputs are right: operands are followed where one is wrong"


def test_a_reference_that_fails_of_altered_inputs_is_not_blamed(tmp_path: Path) -> None:
    """Codes that are altered may be no index any more: what the reference says of its own inputs counts."""
    strict = CODES.python.replace(
        "    w =", '    assert (inputs["s"] >= 0).all() or inputs["s"].min() > -9\n    w ='
    )
    style = Style(CODES.source, CODES.keys, strict.replace("> -9", "> -6"))
    found = verdict(tmp_path, style, (("sum * t[col]", "sum"),))
    assert [f.rule.id for f in found.findings] == [TAKEN], found


HALVES = (("x[row * K + k] * code", "(float)(_Float16)(x[row * K + k] * 0.3f) / 0.3f * code"),)


def test_sixteen_bits_on_the_way_are_tolerated_and_told(tmp_path: Path) -> None:
    """As attention rounds its probabilities. The headline says by which type the output is judged."""
    found = verdict(tmp_path, CODES, HALVES)
    assert (found.findings, found.exit_code) == ((), 0)
    assert any("tolerance is that of f16" in text for text in found.reservations), found.reservations


BESIDE = Style(
    HEAD
    + """// Sums of rows: as they are, and rounded and doubled in 16 bits.
extern "C" __global__ void layer(const float* x, float* most, _Float16* twice, int K) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += x[row * K + k];
  const _Float16 half = (_Float16)sum, other = (_Float16)x[row * K];
  most[row] = fabsf(sum);
  twice[row] = half + other;
}
""",
    """block = [8]
grid = ["M / 8"]
sizes = [{ M = 8, K = 5 }, { M = 16, K = 9 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "K"] },
  { name = "most", role = "out", dtype = "f32", shape = ["M"] },
  { name = "twice", role = "out", dtype = "f16", shape = ["M"] },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
]""",
    """
def layer(inputs, sizes):
    x = inputs["x"]
    return {"most": abs(x.sum(1)), "twice": x.sum(1) + x[:, 0]}
""",
)


@pytest.mark.parametrize("edit", [(), (("fabsf(sum)", "fabsf((float)half)"),)])
def test_what_no_narrow_arithmetic_feeds_needs_no_narrow_tolerance(
    tmp_path: Path, edit: tuple[tuple[str, str], ...]
) -> None:
    """Another output is computed in 16 bits; of what holds as its own type would have it, nothing is told."""
    found = verdict(tmp_path, BESIDE, edit)
    assert (found.findings, found.exit_code) == ((), 0)
    told = [text.split(" is computed")[0] for text in found.reservations if "tolerance" in text]
    assert told == (["most (f32)"] if edit else [])


# The alterations


def _altered(says: str, values: np.ndarray, among: object) -> np.ndarray:
    (change,) = [change for said, change in among if said == says]  # type: ignore[attr-defined]
    return np.asarray(change(values))


def test_codes_are_altered_as_their_sentences_say() -> None:
    words = np.array([[0x76543210, 0xFEDCBA98], [0x02468ACE, 0x13579BDF]], np.uint32)
    expected = {
        "the two nibbles of every byte of {name} are exchanged": [0x67452301, 0xEFCDAB89, 0x2064A8EC, 0x3175B9FD],
        "the upper nibble of every byte of {name} is used twice, and the lower one never": [
            0x77553311, 0xFFDDBB99, 0x0044_88CC, 0x115599DD],
        "nibbles of {name} are in reverse order": [0x01234567, 0x89ABCDEF, 0xECA86420, 0xFDB97531],
        "the bytes of every element of {name} are in reverse order": [
            0x10325476, 0x98BADCFE, 0xCE8A4602, 0xDF9B5713],
        "nibbles of {name} have a sign where they should not, or none where they should": [
            0xFEDCBA98, 0x76543210, 0x8ACE0246, 0x9BDF1357],
    }  # fmt: skip
    for says, wanted in expected.items():
        assert _altered(says, words, of_codes()).ravel().tolist() == wanted, says


def test_places_are_altered_as_their_sentences_say() -> None:
    values = np.arange(24.0).reshape(4, 6)
    among = list(of_places((4, 6), {"K": 5}))
    assert _altered("row 0 of {name} is taken for all", values, among).tolist() == [[0, 1, 2, 3, 4, 5]] * 4
    apart = _altered("rows of {name} are taken 5 (K) elements apart", values, among)
    assert apart.tolist() == [[5.0 * i + j for j in range(6)] for i in range(4)]
    turned = _altered("{name} is read transposed", values, among)
    assert turned[1].tolist() == [1.0, 5, 9, 13, 17, 21]
    assert _altered("neighbouring columns of {name} are exchanged", values, among)[0].tolist() == [
        1,
        0,
        3,
        2,
        5,
        4,
    ]


def test_every_alteration_alters() -> None:
    codes = np.random.default_rng(5).integers(0, 1 << 32, (18, 34), np.uint32)
    numbers = np.random.default_rng(6).standard_normal((18, 34))
    for says, change in of_codes():
        assert not says or (change(codes) != codes).any(), says
    for says, change in (*of_numbers(), *of_places(numbers.shape, {"K": 7})):
        assert (change(numbers) != numbers).any(), says
        assert change(numbers).shape == numbers.shape


def test_every_bit_of_packed_words_is_tried(tmp_path: Path) -> None:
    """Small integers leave the upper codes of a word zero."""
    found = verdict(tmp_path, CODES, (("& 15)", "& (k % 8 == 7 ? 7 : 15))"),))
    assert [f.rule.id for f in found.findings] == ["numerics/wrong-values"], found
    assert "words of random bits" in found.findings[0].what


_WORDS = """block = [8]
grid = ["(M + 7) / 8"]
sizes = [{ M = 20 }, { M = 33 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M"] },
  { name = "w", role = "in", dtype = "i32", shape = ["M"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M"] },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
]"""
NO_CODES = {
    "an index that the reference refuses": ("x[w[i]]", "x[w]"),
    "an index that wraps": ("x[(unsigned)w[i] % 9]", "x[w.astype(np.uint32) % 9]"),
    "a length": ("sum(x, w[i] & 15)", "np.array([x[:n].sum() for n in w & 15])"),
    "a number": ("x[i] + (short)w[i]", "x + w"),
}


@pytest.mark.parametrize(("kernel", "python"), NO_CODES.values(), ids=NO_CODES)
def test_words_that_are_no_codes_stay_small(tmp_path: Path, kernel: str, python: str) -> None:
    source = f"""__device__ float sum(const float* x, int n) {{
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}}
extern "C" __global__ void layer(const float* x, const int* w, float* y, int M) {{
  const int i = blockIdx.x * 8 + threadIdx.x;
  if (i < M) y[i] = {kernel};
}}
"""
    head = 'import numpy as np\ndef layer(inputs, sizes):\n    x, w = inputs["x"], inputs["w"]\n'
    says = head + f'    return {{"y": {python}}}\n'
    found = verdict(tmp_path, Style(HEAD + source, _WORDS, says))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found


_ROWS = """block = [32]
grid = ["M"]
sizes = [{ M = 3, N = 20 }, { M = 5, N = 32 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f16", shape = ["M", "N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", "N"] },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]"""
SOFTMAX = Style(
    HEAD
    + """#include <hip/hip_fp16.h>
extern "C" __global__ void layer(const __half* x, float* y, int N) {
  const int lane = threadIdx.x, at = blockIdx.x * N + lane;
  const float v = lane < N ? __half2float(x[at]) : -INFINITY;
  float most = v, sum = 0;
  for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor(most, o));
  const float e = expf(v - most);
  sum = e;
  for (int o = 16; o; o >>= 1) sum += __shfl_xor(sum, o);
  if (lane < N) y[at] = e / sum;
}
""",
    _ROWS,
    """
import numpy as np
def layer(inputs, sizes):
    e = np.exp(inputs["x"] - inputs["x"].max(1, keepdims=True))
    return {"y": e / e.sum(1, keepdims=True)}
""",
)


@pytest.mark.parametrize(
    "edit",
    [
        ("-INFINITY", "-30.0f"),
        ("float most = v", "float most = fmaxf(v, 0.0f)"),
        ("expf(v - most)", "expf(v)"),
    ],
    ids=["a mask that is a number", "a largest that begins at 0", "no largest taken off"],
)
def test_a_level_that_the_reference_does_not_heed_is_borne(tmp_path: Path, edit: tuple[str, str]) -> None:
    """A softmax is the same of numbers that are all smaller by 120; one without that gives 0 / 0."""
    found = verdict(tmp_path, SOFTMAX, (edit,))
    (one,) = found.findings
    assert one.rule.id == "numerics/not-borne"
    assert one.what.startswith("y is wrong on inputs where all of x is about -120")


def test_a_level_that_the_reference_heeds_is_none_of_the_kernels_business(tmp_path: Path) -> None:
    """Sums of exponentials are infinite of large numbers, as the contract is in f32."""
    assert verdict(tmp_path, SOFTMAX).exit_code == 0
    heeds = 'import numpy as np\ndef layer(inputs, sizes):\n    return {"y": np.exp(inputs["x"])}\n'
    found = verdict(tmp_path, Style(SOFTMAX.source, SOFTMAX.keys, heeds), (("e / sum", "expf(v)"),))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found


LARGEST = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, float* y, float* scale) {
  const int lane = threadIdx.x, at = (blockIdx.x * 32 + lane) * 4;
  const float4 v = *(const float4*)(x + at);
  float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
  for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor(most, o));
  const int e = ilogbf(most);
  y[at] = ldexpf(v.x, -e); y[at + 1] = ldexpf(v.y, -e); y[at + 2] = ldexpf(v.z, -e); y[at + 3] = ldexpf(v.w, -e);
  if (lane == 0) scale[blockIdx.x] = (float)e;
}
""",
    """block = [32]
grid = ["M"]
sizes = [{ M = 8 }, { M = 16 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", 128] },
  { name = "y", role = "out", dtype = "f32", shape = ["M", 128] },
  { name = "scale", role = "out", dtype = "f32", shape = ["M"] },
]""",
    """
import numpy as np
def layer(inputs, sizes):
    most = np.abs(inputs["x"]).max(1)
    e = np.frexp(most)[1] - 1.0
    return {"y": inputs["x"] / 2.0 ** e[:, None], "scale": e}
""",
)


@pytest.mark.parametrize(
    "edit", [("fabsf(v.w)", "v.w"), ("fabsf(v.z)", "0.0f")], ids=["a sign", "an element"]
)
def test_single_large_elements_are_borne(tmp_path: Path, edit: tuple[str, str]) -> None:
    """Of random numbers of one size another one in the block is about as large: its exponent is the same."""
    assert verdict(tmp_path, LARGEST).exit_code == 0
    first, *_ = verdict(tmp_path, LARGEST, (edit,)).findings
    assert first.rule.id == "numerics/not-borne"
    assert "where single elements of x are much larger than all others" in first.what


def test_large_numbers_that_end_a_launch_are_no_finding(tmp_path: Path) -> None:
    """An index made of a number: what a kernel has to bear, its reference does not say."""
    old = "__half2float(x[at])"
    picks = (old, f"__half2float(x[at + (int)(fmaxf({old}, 60.0f) - 60.0f) * 100000])")
    found = verdict(tmp_path, SOFTMAX, (picks,))
    assert (found.error, found.findings, found.exit_code) == ("", (), 0), found


TURNED = Style(
    HEAD
    + """// Scaled rows, turned to columns through LDS, two elements a lane; rows behind the last are never loaded.
typedef unsigned short u16;
static __device__ u16 bits_of(float v) {
  const unsigned u = __float_as_uint(v);
  return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
extern "C" __global__ void layer(const float* x, const float* s, u16* y, int R, int C, int ld) {
  __shared__ unsigned tile[16][9];
  u16* cells = (u16*)tile;
  const int r0 = blockIdx.x * 16, c0 = blockIdx.y * 16;
  for (int i = threadIdx.x; i < 256; i += 32) {
    const int r = i / 16, c = i % 16;
    if (r0 + r < R && c0 + c < C) cells[c * 18 + r] = bits_of(x[(r0 + r) * C + c0 + c] * s[r0 + r]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 128; i += 32) {
    const int c = i / 8, r = i % 8 * 2;
    if (c0 + c >= C) continue;
    const unsigned both = tile[c][r / 2];
    u16* to = y + (size_t)(c0 + c) * ld + r0 + r;
    if (r0 + r + 1 < R) {
      to[0] = (u16)both;
      to[1] = (u16)(both >> 16);
    } else if (r0 + r < R) {
      to[0] = (u16)both;
    }
  }
}
""",
    """block = [32]
grid = ["(R + 15) / 16", "(C + 15) / 16"]
sizes = [{ R = 21, C = 20 }, { R = 32, C = 16 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["R", "C"] },
  { name = "s", role = "in", dtype = "f32", shape = ["R"] },
  { name = "y", role = "out", dtype = "bf16", shape = ["C", "R"], ld = "R + 3" },
  { name = "R", role = "scalar", dtype = "i32", value = "R" },
  { name = "C", role = "scalar", dtype = "i32", value = "C" },
  { name = "ld", role = "scalar", dtype = "i32", value = "R + 3" },
]""",
    """
def layer(inputs, sizes):
    return {"y": (inputs["x"] * inputs["s"][:, None]).T}
""",
)


def test_padding_keeps_what_it_has_whatever_is_stored_there(tmp_path: Path) -> None:
    """Also where that is what nobody has set, as padding of an output itself is: it belongs to somebody else."""
    assert verdict(tmp_path, TURNED).exit_code == 0
    (found,) = verdict(tmp_path, TURNED, (("if (r0 + r + 1 < R) {", "if (r0 + r < R) {"),)).findings
    assert found.rule.id == "memory/changed"
    assert "y[0][21] is stored, and y has R = 21 columns" in found.what
    assert (found.place.instruction, found.place.buffer) == ("global_store_b32", "y")


def test_floats_that_are_cut_off_are_told_under_a_reference(tmp_path: Path) -> None:
    """The bound of an output of 16 bits lets a unit of its last place pass."""
    rounding = "(u + 0x7fff + (u >> 16 & 1)) >> 16"
    (found,) = verdict(tmp_path, TURNED, ((rounding, "u >> 16"),)).findings
    assert found.rule.id == "numerics/wrong-epilogue"
    assert "the result is cut off, not rounded to the nearest bf16" in found.what
    tolerant = TURNED.keys + "\ntolerance = { relative = 0.01 }"
    assert not verdict(
        tmp_path, Style(TURNED.source, tolerant, TURNED.python), ((rounding, "u >> 16"),)
    ).findings
