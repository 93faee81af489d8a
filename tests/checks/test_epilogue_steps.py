"""Kernels that compute on their results before they store them: contracts that say how, and Python references.

The kernels are judged by the finding that comes first: its rule, its words and its line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import KERNELS, edited
from msgspec import Struct
from sampling import one_in

from layoutprobe.checks.registry import CHECKS
from layoutprobe.errors import UsageError
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import Gemm, KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.numbers import rounded
from layoutprobe.numbers.activations import ACTIVATIONS, erf
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.trace.epilogues import ACTIVATE, ADD, MULTIPLY, Step, applied, epilogue_faults, steps_of
from layoutprobe.trace.gemm_faults import Product, explaining

SOURCE = (KERNELS / "gemm_epilogue.hip").read_text()
GEMM = 'kind = "gemm", scales = ["scale"], bias = "bias", activation = "relu", residual = "res"'
REFERENCE = 'kind = "reference", function = "reference.py:layer"'
CONTRACTS = {"gemm": GEMM, "reference": REFERENCE}
PYTHON = """
import numpy as np
def layer(inputs, sizes):
    x = inputs["A"] @ inputs["B"] * inputs["scale"] + inputs["bias"]
    return {"C": np.maximum(x, 0) + inputs["res"]}
"""
SIZES = ", ".join(one_in(2, ["{ M = 40, N = 57, K = 35 }", "{ M = 64, N = 48, K = 80 }"]))
LOAD_A, LOAD_B, LOOP, BIAS, SCALE, RES = "A[(i0", "B[(k +", "for (int k", "bias[", "scale[", "res["
STORE = "C[row * N"


def case_of(folder: Path, source: str, contract: str, sizes: str = SIZES) -> KernelCase:
    """The kernel as a manifest states it, which is written to `folder`."""
    (folder / "kernel.hip").write_text(source)
    (folder / "reference.py").write_text(PYTHON)
    (folder / "layoutprobe.toml").write_text(f"""
[[kernel]]
name = "layer"
source = "kernel.hip"
grid = ["(N + 15) // 16", "(M + 31) // 32"]
block = [64]
sizes = [{sizes}]
contract = {{ {contract} }}
argument = [
  {{ name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" }},
  {{ name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" }},
  {{ name = "bias", role = "in", dtype = "f32", shape = ["N"] }},
  {{ name = "scale", role = "in", dtype = "f32", shape = ["M", 1] }},
  {{ name = "res", role = "in", dtype = "f16", shape = ["M", "N"] }},
  {{ name = "C", role = "out", dtype = "f16", shape = ["M", "N"], matrix = "D" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
]
""")
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    return case


def verdict(folder: Path, source: str, contract: str, sizes: str = SIZES) -> KernelVerdict:
    """What all checks say of it."""
    return check_kernel(case_of(folder, source, contract, sizes), "gfx1151", CHECKS, allow_reference=True)


class Named(Struct, frozen=True):
    """A fault: its edits, the rule that comes first, words of it, and text of the line that it names."""

    edits: tuple[tuple[str, str], ...]
    rule: str
    words: str
    at: str


EPILOGUE = "numerics/wrong-epilogue"
FAULTS = {
    "rows of A": Named(
        (("(i0 + l) * K", "(i0 + l) * N"),), "operand-provenance/leading-dimension", "rows of A are taken", LOAD_A
    ),
    "B transposed": Named(
        (("B[(k + e) * N + j0 + l]", "B[(k + l) * N + j0 + e]"),),
        "operand-provenance/transposed",
        "B is loaded transposed",
        LOAD_B,
    ),
    "tail": Named(
        (("k < K; k += 16", "k + 16 <= K; k += 16"),), "operand-provenance/incomplete-sum", "never added", LOOP
    ),
    "row map": Named(
        (("2 * v + half", "v + 8 * half"),), "epilogue/half-wave-rows", "8 consecutive rows", STORE
    ),
    "bias by row": Named(
        (("bias[col]", "bias[row % N]"),), EPILOGUE, "bias is indexed by the row, where the column belongs", BIAS
    ),
    "bias left out": Named((("x += bias[col];", ""),), EPILOGUE, "bias is missing", STORE),
    "bias twice": Named((("+= bias[col]", "+= 2 * bias[col]"),), EPILOGUE, "bias is added twice", BIAS),
    "bias after relu": Named(
        (("x += bias[col];", ""), ("x > 0 ? x : 0;", "(x > 0 ? x : 0) + bias[col];")),
        EPILOGUE,
        "bias is added after the activation relu, and belongs before that",
        BIAS,
    ),
    "bias scaled": Named(
        (("x *= scale[row];", "x = (x + bias[col]) * scale[row];"), ("  x += bias[col];", "")),
        EPILOGUE,
        "bias is added before scale, and belongs after that",
        BIAS,
    ),
    "scale by column": Named(
        (("scale[row]", "scale[col % M]"),), EPILOGUE, "scale is indexed by the column, where the row", SCALE
    ),
    "scale left out": Named((("x *= scale[row];", ""),), EPILOGUE, "scale is missing", STORE),
    "no relu": Named((("x > 0 ? x : 0", "x"),), EPILOGUE, "the activation relu is missing", STORE),
    "tanh for relu": Named(
        (("x > 0 ? x : 0", "tanhf(x)"),), EPILOGUE, "the activation is tanh in place of relu", STORE
    ),
    "leaky relu": Named(
        (("x > 0 ? x : 0", "x > 0 ? x : 0.01f * x"),), EPILOGUE, "the activation is leaky relu (0.01)", STORE
    ),
    "next bias": Named((("bias[col]", "bias[(col + 1) % N]"),), EPILOGUE, "bias is taken one column too far", BIAS),
    "bias of the lane": Named((("bias[col]", "bias[col % 16]"),), EPILOGUE, "the first 16 elements of bias", BIAS),
    "bias three times": Named((("+= bias[col]", "+= 3 * bias[col]"),), EPILOGUE, "bias is added 3 times", BIAS),
    "residual left out": Named((("x += (float)res[row * N + col];", ""),), EPILOGUE, "res is missing", STORE),
    "residual of K columns": Named(
        (("res[row * N + col]", "res[row * K + col]"),), EPILOGUE, "res is read with rows 32 (K)", RES
    ),
    "residual before relu": Named(
        (("x += (float)res[row * N + col];", ""), ("bias[col];", "bias[col] + (float)res[row * N + col];")),
        EPILOGUE,
        "res is added before",
        RES,
    ),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", FAULTS)
def test_the_cause_comes_first_by_its_name_and_line(tmp_path: Path, name: str, contract: str) -> None:
    fault = FAULTS[name]
    source = edited(SOURCE, fault.edits)
    sizes = "{ M = 64, N = 48, K = 32 }" if "K columns" in name else SIZES
    found = verdict(tmp_path, source, CONTRACTS[contract], sizes)
    assert not found.error, found.error
    cause, *others = found.findings
    assert (cause.rule.id, fault.words in cause.what) == (fault.rule, True), cause
    assert not others, others
    lines = [number for number, text in enumerate(source.split("\n"), 1) if fault.at in text]
    assert cause.place.source is not None
    assert cause.place.source.line in lines, cause.place


RIGHT: Mapping[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "bias in the accumulator": (
        ("float8 acc = {};", "float8 acc; for (int v = 0; v < 8; ++v) acc[v] = j0 + l < N ? bias[j0 + l] : 0.0f;"),
        ("x *= scale[row];", "x = (x - bias[col]) * scale[row] + bias[col];"),
        ("    x += bias[col];\n", ""),
    ),
    "maximum": (("x > 0 ? x : 0", "fmaxf(x, 0.0f)"),),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_green(tmp_path: Path, name: str, contract: str) -> None:
    found = verdict(tmp_path, edited(SOURCE, RIGHT[name]), CONTRACTS[contract])
    assert (found.error, found.findings, found.exit_code) == ("", (), 0)


MIXED = (
    ("    x *= scale[row];\n    x += bias[col];\n    x = x > 0 ? x : 0;\n", ""),
    ("    x += (float)res[row * N + col];\n", ""),
    ("= (_Float16)x;", "= (_Float16)(x * scale[row] + bias[col]);"),
)
"""The compiler makes one `v_fma_mixlo_f16` of factor, sum and rounding."""


@pytest.mark.long
def test_a_result_that_is_rounded_once_is_no_sum_in_f16(tmp_path: Path) -> None:
    """A sum of 256 roundings to f16 could hide the bias; here there is one."""
    contract, sizes = 'kind = "gemm", scales = ["scale"], bias = "bias"', "{ M = 32, N = 16, K = 256 }"
    right = verdict(tmp_path, edited(SOURCE, MIXED), contract, sizes)
    assert (right.error, right.findings, right.exit_code) == ("", (), 0)
    missing = verdict(
        tmp_path, edited(SOURCE, MIXED).replace("scale[row] + bias[col]", "scale[row]"), contract, sizes
    )
    assert [(f.rule.id, "bias is missing" in f.what) for f in missing.findings] == [(EPILOGUE, True)]


GELU = """0.5f * x * (1.0f + erff(x * 0.70710678f))"""
BY_TANH = """0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)))"""


@pytest.mark.parametrize("form", [GELU, BY_TANH], ids=["erf", "tanh"])
def test_another_form_of_gelu_is_seen_through_one_rounding_to_f16(tmp_path: Path, form: str) -> None:
    """Nothing behind the rounding computes with its result, which is as good as the output's type."""
    mixed = edited(SOURCE, (*MIXED[:2], ("= (_Float16)x;", f"= (_Float16)({form});")))
    found = verdict(tmp_path, mixed, 'kind = "gemm", activation = "gelu"', "{ M = 32, N = 16, K = 16 }")
    says = "the activation is gelu_tanh in place of gelu"
    assert [says in one.what for one in found.findings] == ([] if form == GELU else [True])


@pytest.mark.parametrize(
    "masked", ["(_Float16)0", "B[(K - 1) * N + j0 + l]"], ids=["zero", "the last row again"]
)
def test_an_element_from_beyond_k_is_told_through_an_activation(tmp_path: Path, masked: str) -> None:
    """A is zero there: an infinite element makes a NaN of it, which relu takes for nothing."""
    end = "B[(k + e) * N + j0 + l] : "
    source = edited(SOURCE, ((f"{end}(_Float16)0", f"{end}j0 + l < N ? {masked} : (_Float16)0"),))
    found = verdict(tmp_path, source, GEMM)
    told = [one for one in found.reservations if "infinite" in one]
    says = "C is another one where A and B are infinite here and there"
    assert (found.exit_code, told) == (0, [] if masked == "(_Float16)0" else [says])


def test_an_epilogue_is_followed_slot_by_slot(tmp_path: Path) -> None:
    """Where the contract states the epilogue, both checks of the way decide: nothing is left open."""
    found = verdict(tmp_path, SOURCE, GEMM)
    assert {r.check: r.status for r in found.results if r.check in ("operand-provenance", "epilogue")} == {
        "operand-provenance": "holds",
        "epilogue": "holds",
    }


def test_operands_of_a_reference_are_not_judged_where_the_values_are_right(tmp_path: Path) -> None:
    """What a reference computes may leave products out: only wrong values ask for a wrong operand."""
    found = verdict(tmp_path, SOURCE, REFERENCE)
    assert {r.status for r in found.results if r.check in ("operand-provenance", "epilogue")} == {"skipped"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('bias = "bais"', "bias"),
        ('activation = "rely"', "relu"),
        ('residual = "A"', "residual"),
        ('scales = "scale"', "scales"),
        ('bias = "bias", split_k = true', "split_k"),
    ],
)
def test_a_mistake_in_the_keys_is_told(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        case_of(tmp_path, SOURCE, f'kind = "gemm", {keys}')


def test_an_input_of_the_epilogue_must_fit(tmp_path: Path) -> None:
    case_of(tmp_path, SOURCE, GEMM)
    text = (tmp_path / "layoutprobe.toml").read_text().replace('shape = ["M", 1]', 'shape = ["M"]')
    (tmp_path / "layoutprobe.toml").write_text(text)
    with pytest.raises(UsageError, match="scale does not fit the output"):
        read_manifest(tmp_path / "layoutprobe.toml")


def test_a_reference_knows_its_product_where_it_is_marked(tmp_path: Path) -> None:
    case = case_of(tmp_path, SOURCE, REFERENCE)
    assert getattr(case.contract, "product", None) == Gemm("A", "B", "", "C")


# The steps


def _step(kind: str, name: str, values: object) -> Step:
    return Step(kind, name, np.asarray(values, np.float64))


def test_steps_are_found_again() -> None:
    random = np.random.default_rng(3)
    product = random.standard_normal((12, 9)) * 3
    inputs = {
        "b": random.standard_normal(9),
        "s": random.standard_normal(12),
        "r": random.standard_normal((12, 9)),
    }
    x = np.tanh(product * inputs["s"][:, None] + inputs["b"]) * inputs["r"]
    found = steps_of(product, x, inputs)
    assert found is not None
    assert [str(step) for step in found] == ["* s", "+ b", "tanh", "* r"]
    assert steps_of(product, np.sin(product), inputs) is None
    assert steps_of(product, product, inputs) == ()


def test_faults_of_steps_differ_from_what_is_right_and_from_each_other() -> None:
    random = np.random.default_rng(4)
    product = random.standard_normal((8, 12)) * 2
    steps = (
        _step(MULTIPLY, "s", 1.5 + random.random((8, 1))),
        _step(ADD, "b", random.standard_normal(12)),
        Step(ACTIVATE, "gelu"),
        _step(ADD, "r", random.standard_normal((8, 12))),
    )
    right = applied(steps, product)
    faults = list(epilogue_faults(steps, {"K": 10}, (8, 12)))
    assert len(faults) > 20
    assert {"s is missing", "b is indexed by the row, where the column belongs"} <= {f.says for f in faults}
    with np.errstate(invalid="ignore"):
        assert all((np.abs(applied(f.steps, product) - right) > 1e-6).any() for f in faults), "a fault shows"
    by_row = next(f for f in faults if f.says.startswith("b is indexed by the row"))
    scale, bias, rest = (np.asarray(steps[i].values, np.float64) for i in (0, 1, 3))
    mine = np.asarray(product * scale)
    for row in range(8):
        mine[row] += bias[row]
    assert np.allclose(applied(by_row.steps, product), ACTIVATIONS["gelu"](mine) + rest)


def test_activations_are_what_their_formulas_say() -> None:
    x = np.linspace(-7, 7, 1501)
    assert max(abs(erf(np.array(v)) - math.erf(v)) for v in x) < 1e-11
    formulas: Mapping[str, Callable[[float], float]] = {
        "relu": lambda v: max(v, 0.0),
        "gelu": lambda v: v * 0.5 * math.erfc(-v / math.sqrt(2)),
        "gelu_tanh": lambda v: v / (1 + math.exp(-2 * 0.7978845608028654 * (v + 0.044715 * v * v * v))),
        "silu": lambda v: v / (1 + math.exp(-v)),
        "sigmoid": lambda v: math.exp(v) / (1 + math.exp(v)),
        "tanh": lambda v: 1 - 2 / (math.exp(2 * v) + 1),
    }
    assert set(formulas) == set(ACTIVATIONS)
    for name, formula in formulas.items():
        assert np.allclose(ACTIVATIONS[name](x), [formula(v) for v in x], rtol=1e-9, atol=1e-9), name


def test_one_rounding_too_many_is_no_other_step() -> None:
    """It is off by a unit in the last place: so are steps that change nothing, as relu of what is positive."""
    random = np.random.default_rng(5)
    a, b, bias = random.random((16, 40)), random.random((40, 24)), random.random(24)
    steps = (_step(ADD, "bias", bias), Step(ACTIVATE, "relu"))
    product = Product(a, b, None, 1.0, 0.0, steps=steps)
    wrong = rounded(rounded(a @ b, "bf16") + bias, "bf16")
    bound = 2.0**-8 * np.abs(product.value())
    assert (np.abs(wrong - product.value()) > bound).any()
    found = explaining(product, wrong, bound, "bf16")
    assert [fault.says for fault in found] == ["the result is rounded to bf16 before bias is added"]
    exact = product.value()
    cut = (
        (exact.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    )
    assert "cut off" in explaining(product, cut, bound, "bf16")[0].says
