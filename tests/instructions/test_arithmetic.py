"""The two arithmetics, signs, clamping: real code, with numbers computed here.

The values of "silicon" are those that the study of gfx1151 predicts (ROCm/rocm-systems issue
12056); they were worked out by hand from its rules, not captured.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from instructions.calculator import HOLE, tables
from layoutprobe import arch, instructions
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import UsageError
from layoutprobe.instructions import Prober, Variant
from layoutprobe.semantics import silicon
from layoutprobe.toolchain.compile import compile_hip

IEEE, SILICON = EmulatorBackend(), EmulatorBackend(arithmetic="silicon")
Words = NDArray[np.uint32]
RANDOM = np.random.default_rng(20261121)

BY_HAND = [
    # c, (a0, b0), (a1, b1), bits
    (-1.0, (3, 8), (8, 4), 0x425C0001),
    (1.0, (-3, 8), (8, 4), 0x410FFFFE),
    (0.0, (-1, 1), (1, 1), 0xB3800000),
    (0.0, (-3, 8), (-8, 4), 0xC2600001),
    (0.0, (0, 5), (0, 0), 0x00000000),
    (1240.0, (0, 0), (0, 0), 0x449B0000),
    (0.0, (float("nan"), 1), (1, 1), 0xFFC00A3D),
    (0.0, (float("inf"), 0), (1, 1), 0xFFC00000),
    (float("-inf"), (float("inf"), 1), (1, 1), 0xFFC00000),
]


@pytest.mark.parametrize(("c", "first", "second", "bits"), BY_HAND)
def test_dot2_as_the_study_has_it(
    c: float, first: tuple[float, float], second: tuple[float, float], bits: int
) -> None:
    pairs = tuple(np.array([x], np.float64) for x in (*first, *second))
    addend = np.array([c], np.float32).view(np.uint32)
    with np.errstate(invalid="ignore"):
        assert silicon.dot2(silicon.Step("f16"), pairs, addend).tolist() == [bits]  # type: ignore[arg-type]


def by_fractions(c: Fraction, products: list[tuple[Fraction, int]]) -> Fraction:
    """The study's rules in exact arithmetic: products with the sum of their operands' exponents."""
    terms = [c, *(p for p, _ in products)]
    leads = [_lead(t) for t in terms if t]
    if not leads:
        return Fraction(0)
    grid = max(max([e for p, e in products if p], default=-(10**6)) - 24, max(leads) - 26)
    unit = Fraction(2) ** grid
    frame = -1 if c < 0 else 1
    total = floor(abs(c) / unit)
    for product, _ in products:
        size = floor(abs(product) / unit)
        total += size if product * frame >= 0 else -size - 1
    return frame * total * unit


def _lead(value: Fraction) -> int:
    exponent = 0
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    return exponent


def test_dot2_against_exact_fractions() -> None:
    halves = RANDOM.normal(0, 4, (4, 400)).astype(np.float16)
    addends = RANDOM.normal(0, 30, 400).astype(np.float32)
    got = silicon.dot2(
        silicon.Step("f16"),
        tuple(h.astype(np.float64) for h in halves),
        addends.view(np.uint32),
    ).view(np.float32)
    for n, c in enumerate(addends.tolist()):
        a0, b0, a1, b1 = (Fraction(float(x)) for x in halves[:, n])
        products = [(x * y, _lead(x) + _lead(y)) for x, y in ((a0, b0), (a1, b1)) if x and y]
        exact = by_fractions(Fraction(c), products)
        assert got[n] == np.float32(float(exact)), n


def test_an_unknown_arithmetic_is_refused() -> None:
    with pytest.raises(UsageError, match="arithmetic"):
        EmulatorBackend(arithmetic="exact")


@pytest.mark.parametrize("name", instructions.names("gfx1151"))
@pytest.mark.parametrize("wave", [32, 64])
def test_layouts_do_not_depend_on_the_arithmetic(name: str, wave: int) -> None:
    one = instructions.solve(name, wave=wave, backend=IEEE)
    other = instructions.solve(name, wave=wave, backend=SILICON)
    assert all(one.operands[m] == other.operands[m] for m in "ABCD")
    assert all(np.array_equal(one.live[m], other.live[m]) for m in "ABCD")
    assert (one.arithmetic, other.arithmetic) == ("ieee", "silicon")
    assert "silicon arithmetic" in str(other.evidence)


def registers(variant: Variant, operand: str, matrix: NDArray[np.integer]) -> Words:
    """Registers [1, vgpr, lane] that hold the raw elements of a matrix by the calculator's table."""
    table = tables(variant)[operand]
    raw = np.where(table.row == HOLE, 0, matrix[table.row, table.col]).astype(np.uint32)
    shifts = np.arange(0, 32, table.bits, dtype=np.uint32)
    return np.ascontiguousarray(np.bitwise_or.reduce(raw << shifts, axis=2).T[None]).astype(np.uint32)


def elements(variant: Variant, words: Words) -> Words:
    """The inverse for D: [row, col]."""
    table = tables(variant)["D"]
    out = np.zeros((16, 16), np.uint32)
    shifts = np.arange(0, 32, table.bits, dtype=np.uint32)
    raw = words[0].T[..., None] >> shifts & np.uint32((1 << table.bits) - 1)
    live = table.row != HOLE
    out[table.row[live], table.col[live]] = raw[live]
    return out


def variant_of(target: str, name: str, wave: int, modifier: str = "", opsel: int = 0) -> Variant:
    return Variant(arch.find(target).matrix_form(name), target, wave, opsel, modifier)


def run(variant: Variant, backend: EmulatorBackend, **matrices: NDArray[np.integer]) -> Words:
    inputs = {name.lower(): registers(variant, name, matrix) for name, matrix in matrices.items()}
    inputs.setdefault("old", np.zeros_like(inputs["c"]))
    return elements(variant, Prober(variant, backend)(inputs))


FLOATS = [("gfx1151", wave) for wave in (32, 64)]


@pytest.mark.parametrize(("target", "wave"), FLOATS)
@pytest.mark.parametrize(("c", "first", "second", "bits"), BY_HAND[:4])
def test_wmma_rounds_like_its_steps(
    target: str, wave: int, c: float, first: tuple[float, float], second: tuple[float, float], bits: int
) -> None:
    """The first pair of k is the study's case, all others are zero."""
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16)
    a[:, 0], b[0], a[:, 1], b[1] = first[0], first[1], second[0], second[1]
    addend = np.full((16, 16), c, np.float32).view(np.uint32)
    variant = variant_of(target, "v_wmma_f32_16x16x16_f16", wave)
    operands: dict[str, NDArray[np.integer]] = {"A": a.view(np.uint16), "B": b.view(np.uint16), "C": addend}
    exact = np.float32(c + first[0] * first[1] + second[0] * second[1])
    assert (run(variant, IEEE, **operands) == exact.view(np.uint32)).all()
    got = run(variant, SILICON, **operands)
    # The pairs of zeros that follow put the sum on their own grid: nothing is lost there.
    assert (got == bits).all()


@pytest.mark.parametrize("target", ["gfx1151", "gfx1200"])
@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("modifier", ["", "neg1", "neg2", "clamp"])
@pytest.mark.parametrize("kind", ["16x16x16_iu8", "16x16x16_iu4", "16x16x32_iu4"])
def test_integers_sign_and_clamp(target: str, wave: int, modifier: str, kind: str) -> None:
    name = f"v_wmma_i32_{kind}"
    if name not in instructions.names(target):
        assert (target, kind) == ("gfx1151", "16x16x32_iu4")
        return
    variant = variant_of(target, name, wave, modifier)
    depth, bits = variant.form.shape[2], variant.form.bits
    a, b = RANDOM.integers(0, 1 << bits, (16, depth)), RANDOM.integers(0, 1 << bits, (depth, 16))
    c = RANDOM.integers(-(2**31), 2**31, (16, 16))
    c[::2] = np.where(c[::2] < 0, -(2**31), 2**31 - 1)  # so that sums leave the range
    signed_a, signed_b = modifier in ("neg1", "clamp"), modifier in ("neg2", "clamp")
    value_a = np.where(signed_a & (a >= 1 << bits - 1), a - (1 << bits), a)
    value_b = np.where(signed_b & (b >= 1 << bits - 1), b - (1 << bits), b)
    total = value_a @ value_b + c
    assert (total != np.clip(total, -(2**31), 2**31 - 1)).any(), "something to saturate"
    expected = np.clip(total, -(2**31), 2**31 - 1) if modifier == "clamp" else total
    got = run(variant, IEEE, A=a, B=b, C=c & 0xFFFFFFFF)
    assert np.array_equal(got, (expected & 0xFFFFFFFF).astype(np.uint32))


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("opsel", [0, 4])
def test_opsel_reads_c_from_the_half_that_it_writes(wave: int, opsel: int) -> None:
    variant = variant_of("gfx1151", "v_wmma_f16_16x16x16_f16", wave, opsel=opsel)
    a, b = (RANDOM.integers(0, 8, (16, 16)).astype(np.float16) for _ in range(2))
    c = RANDOM.integers(0, 100, (16, 16)).astype(np.float16)
    words = registers(variant, "C", c.view(np.uint16))
    other = np.uint32(0x3C00) << np.uint32(0 if opsel else 16)
    old = np.full_like(words, 0xAAAA5555)
    inputs = {
        "a": registers(variant, "A", a.view(np.uint16)),
        "b": registers(variant, "B", b.view(np.uint16)),
        "c": words | other,
        "old": old,
    }
    d = Prober(variant, IEEE)(inputs)
    got = elements(variant, d).astype(np.uint16).view(np.float16)
    assert np.array_equal(got, (a.astype(np.float64) @ b + c).astype(np.float16))
    kept = d & np.uint32(0xFFFF if opsel else 0xFFFF0000)
    assert (kept == (0x5555 if opsel else 0xAAAA0000)).all()


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize(
    ("a_kind", "b_kind"), [("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8")]
)
def test_eight_bit_floats_are_ocps(wave: int, a_kind: str, b_kind: str) -> None:
    """All finite codes of each sign, subnormals too; values by the formats' definitions."""

    def value(raw: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
        exponent_bits, bias = (4, 7) if kind == "fp8" else (5, 15)
        fraction_bits = 7 - exponent_bits
        exponent, fraction = (
            (raw & 127) >> fraction_bits,
            (raw & (1 << fraction_bits) - 1) / 2.0**fraction_bits,
        )
        size = np.where(exponent > 0, (1 + fraction) * 2.0 ** (exponent - bias), fraction * 2.0 ** (1 - bias))
        return np.where(raw & 128, -size, size)

    variant = variant_of("gfx1200", f"v_wmma_f32_16x16x16_{a_kind}_{b_kind}", wave)
    top = {"fp8": 0x7F, "bf8": 0x7C}
    a = np.arange(256).reshape(16, 16)
    a = np.where(a & 127 < top[a_kind], a, 0)
    b = np.eye(16, dtype=np.int64) * (0x38 if b_kind == "fp8" else 0x3C)  # ones
    got = run(variant, IEEE, A=a, B=b, C=np.zeros((16, 16), np.int64)).view(np.float32)
    assert np.array_equal(got, value(a, a_kind).astype(np.float32))
    every = np.arange(256).reshape(16, 16).T
    turned = np.where(every & 127 < top[b_kind], every, 0)
    ones = np.eye(16, dtype=np.int64) * (0x38 if a_kind == "fp8" else 0x3C)
    got = run(variant, IEEE, A=ones, B=turned, C=np.zeros((16, 16), np.int64)).view(np.float32)
    assert np.array_equal(got, value(turned, b_kind).astype(np.float32))


@pytest.mark.parametrize("variant", [v for v in instructions.variants("gfx1200") if v.form.sparse and v.opsel <= 1],
                         ids=lambda v: f"{v.kernel}-w{v.wave}")  # fmt: skip
def test_sparse_products_of_random_matrices(variant: Variant) -> None:
    """A random A with two of four kept, and all legal pairs of places, against numpy."""
    m, n, depth = variant.form.shape
    kept = RANDOM.integers(0, 3, (m, depth // 2))
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    places = pairs[RANDOM.integers(0, 6, (m, depth // 4))].reshape(m, depth // 2)
    dense = np.zeros((m, depth), np.int64)
    np.put_along_axis(dense, 4 * (np.arange(depth // 2) // 2) + places, kept, axis=1)
    b, c = RANDOM.integers(0, 3, (depth, n)), RANDOM.integers(0, 9, (m, n))

    def coded(values: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
        ones = {"f16": 0x3C00, "bf16": 0x3F80, "fp8": 0x38, "bf8": 0x3C}
        twos = {"f16": 0x4000, "bf16": 0x4000, "fp8": 0x40, "bf8": 0x40}
        if kind.startswith("i"):
            return values
        return np.select([values == 1, values == 2], [ones[kind], twos[kind]], 0)

    def result(values: NDArray[np.int64]) -> Words:
        kind, single = variant.form.result, values.astype(np.float32)
        if kind == "i32":
            return values.astype(np.uint32)
        if kind == "f16":
            return values.astype(np.float16).view(np.uint16).astype(np.uint32)
        return single.view(np.uint32) >> np.uint32(16 if kind == "bf16" else 0)

    inputs = {
        "a": registers(variant, "A", coded(kept, variant.form.a)),
        "b": registers(variant, "B", coded(b, variant.form.b)),
        "c": registers(variant, "C", result(c)),
        "index": registers(variant, "index", places),
    }
    assert np.array_equal(elements(variant, Prober(variant, IEEE)(inputs)), result(dense @ b + c))


DOT2 = """
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
extern "C" __attribute__((global)) void dot2(const half2* a, const half2* b, const float* c, float* d) {
  const int i = __builtin_amdgcn_workitem_id_x();
  float apart, in_place = c[i];
  asm volatile("v_dot2_f32_f16 %0, %1, %2, %3" : "=v"(apart) : "v"(a[i]), "v"(b[i]), "v"(c[i]));
  asm volatile("v_dot2acc_f32_f16 %0, %1, %2" : "+v"(in_place) : "v"(a[i]), "v"(b[i]));
  d[i] = apart;
  d[i + 32] = in_place;
}
"""


def test_dot2_instructions_follow_the_mode(tmp_path: Path) -> None:
    source = tmp_path / "dot2.hip"
    source.write_text(DOT2)
    code = load(compile_hip(source, target="gfx1151").data)
    cases = [case for case in BY_HAND if np.isfinite([case[0], *case[1], *case[2]]).all()]
    a, b, c = np.zeros((32, 2), np.float16), np.zeros((32, 2), np.float16), np.zeros(32, np.float32)
    for lane, (addend, first, second, _) in enumerate(cases):
        a[lane], b[lane], c[lane] = (first[0], second[0]), (first[1], second[1]), addend
    exact = ((a.astype(np.float64) * b).sum(axis=1) + c).astype(np.float32)
    for backend, expected in ((IEEE, exact.view(np.uint32)), (SILICON, None)):
        args = [Buffer(x) for x in (a, b, c, np.zeros(64, np.float32))]
        d = backend.run(Launch(code, "dot2", (1, 1, 1), (32, 1, 1), args)).buffers[3]
        assert d is not None
        for half in d.view(np.uint32).reshape(2, 32)[:, : len(cases)]:
            wanted = [bits for *_, bits in cases] if expected is None else expected[: len(cases)].tolist()
            assert half.tolist() == wanted
