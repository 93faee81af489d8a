"""The manifest: what is read, where elements of a buffer lie, and what mistakes are told."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import DTYPES, MAX_BYTES, BoundBuffer, bind
from layoutprobe.manifest.coding import NOBODY, Coding, carried_as
from layoutprobe.manifest.flags import refused_flag
from layoutprobe.manifest.inputs import coding_of, make_inputs
from layoutprobe.manifest.model import Gemm, Manifest, NoContract, Reference
from layoutprobe.manifest.read import read_manifest
from layoutprobe.numbers import element_type

ROOT = Path(__file__).resolve().parents[2]
GEMM = """\
[[kernel]]
name = "g"
source = "g.hip"
grid = ["(N + 127) / 128", "(M + 63) / 64"]
block = 256
sizes = [{ M = 200, N = 136, K = 80 }]
contract = { kind = "gemm", alpha = 2, beta = 0.5 }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B", order = "col", ld = "K + 8" },
  { name = "C", role = "inout", dtype = "f32", shape = ["M", "N"], matrix = "C" },
  { name = "K", role = "scalar", dtype = "i32", value = "K" },
  { name = "alpha", role = "scalar", dtype = "f32", value = "alpha" },
]
"""

Read = Callable[[str], Manifest]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write_and_read(text: str) -> Manifest:
        path = tmp_path / "layoutprobe.toml"
        path.write_text(text, "utf-8")
        return read_manifest(path, checks=("numerics", "lds-safety"))

    return write_and_read


def buffer(read: Read, declaration: str, sizes: str = "M = 5, N = 7") -> BoundBuffer:
    manifest = read(
        f"""[[kernel]]
name = "k"
source = "k.hip"
grid = 1
block = 32
sizes = [{{ {sizes} }}]
contract = {{ kind = "none" }}
argument = [{{ name = "x", {declaration} }}]
"""
    )
    case = manifest.kernels[0]
    return bind(case, case.sizes[0]).buffers["x"]


# What is read.


def test_a_kernel_as_written(read: Read, tmp_path: Path) -> None:
    case = read(GEMM).kernels[0]
    assert case.source == tmp_path / "g.hip"
    assert case.contract == Gemm("A", "B", "C", "C", 2.0, 0.5, False)
    bound = bind(case, case.sizes[0])
    assert (bound.grid, bound.block, bound.dynamic_lds) == ((2, 4, 1), (256, 1, 1), 0)
    assert [b.shape for b in bound.buffers.values()] == [(200, 80), (80, 136), (200, 136)]
    assert bound.scalars == {"K": 80, "alpha": "alpha"}


def test_the_example_of_the_documentation_holds(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "manifest.md").read_text("utf-8")
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    path = tmp_path / "layoutprobe.toml"
    path.write_text(example[1], "utf-8")
    gemm, softmax = read_manifest(path).kernels
    assert isinstance(gemm.contract, Gemm)
    assert gemm.include == (tmp_path / "include",)
    assert gemm.skip == {"bank-conflicts": "the padded layout is kept for comparison"}
    assert isinstance(softmax.contract, Reference)
    assert (softmax.contract.path, softmax.contract.function) == (tmp_path / "references.py", "softmax")
    assert [a.role for a in softmax.arguments] == ["in", "out", "scalar", "null", "null"]


def test_the_documentation_names_every_key() -> None:
    """A key that is read and not documented would be found by nobody."""
    text = (ROOT / "docs" / "manifest.md").read_text("utf-8")
    source = "".join(p.read_text("utf-8") for p in (ROOT / "layoutprobe" / "manifest").glob("*.py"))
    keys = set(re.findall(r'(?:table|kernel|section)\.\w+\(\s*"(\w+)"', source))
    assert {"seed", "split_k", "initial", "hex", "bank_conflicts"} <= keys
    assert [key for key in sorted(keys) if f"`{key}" not in text and f"{key} = " not in text] == []


def test_defaults_hold_where_a_kernel_is_silent(read: Read) -> None:
    text = GEMM.replace("block = 256\n", "").replace(
        "[[kernel]]", "[defaults]\nblock = 64\nseed = 3\n[[kernel]]\nseed = 4"
    )
    case = read(text).kernels[0]
    assert bind(case, case.sizes[0]).block == (64, 1, 1)
    assert case.seed == 4


def test_what_is_fixed_for_all_kernels_is_so_for_those_that_have_it(read: Read) -> None:
    other = GEMM.replace('name = "g"', 'name = "h"').replace('name = "K", role', 'name = "depth", role')
    both = f'[defaults]\nfixed = ["K", "block"]\n{GEMM}{other}'
    assert [case.fixed for case in read(both).kernels] == [("K", "block"), ("block",)]
    with pytest.raises(UsageError) as refused:
        read(both.replace('fixed = ["K"', 'fixed = ["depht"'))
    assert "defaults.fixed" in str(refused.value.where)
    assert "depth" in (refused.value.hint or "")


def test_the_kernels_that_come_with_the_project_are_declared() -> None:
    folder = ROOT / "probes" / "gemm" / "seeds"
    manifest = read_manifest(folder / "layoutprobe.toml")
    assert len(manifest.kernels) == 13
    assert all(case.file.is_file() for case in manifest.kernels)
    assert {case.name for case in manifest.kernels} <= {p.stem for p in folder.glob("*.hip")}
    for case in manifest.kernels:
        assert [tuple(s.values()) for s in case.sizes] == [(128, 128, 16), (200, 137, 75), (512, 512, 32)]


# Where elements lie.


@pytest.mark.parametrize(
    ("declaration", "place"),
    [
        ('role = "in", dtype = "i32", shape = ["M", "N"]', lambda r, c: r * 7 + c),
        ('role = "in", dtype = "i32", shape = ["M", "N"], ld = "N + 3"', lambda r, c: r * 10 + c),
        ('role = "in", dtype = "i32", shape = ["M", "N"], order = "col"', lambda r, c: r + c * 5),
        ('role = "in", dtype = "i32", shape = ["M", "N"], order = "col", ld = 6', lambda r, c: r + c * 6),
        ('role = "in", dtype = "i32", shape = ["M", "N"], strides = [2, "2*M"]', lambda r, c: 2 * r + 10 * c),
    ],
)  # fmt: skip
def test_every_element_has_its_place(read: Read, declaration: str, place: Callable[[int, int], int]) -> None:
    bound = buffer(read, declaration)
    values = np.arange(35).reshape(5, 7) + 100
    raw = bound.store(values)
    for row, col in itertools.product(range(5), range(7)):
        assert raw[place(row, col)] == values[row, col]
        assert bound.places()[row, col] == place(row, col)
    owned = {place(r, c) for r, c in itertools.product(range(5), range(7))}
    for at, flat in enumerate(bound.elements()):
        expected = next(
            (r * 7 + c for r, c in itertools.product(range(5), range(7)) if place(r, c) == at), -1
        )
        assert flat == expected
        assert at in owned or raw[at] == -1, "padding is poisoned"
    assert np.array_equal(bound.load(raw), values)
    assert bound.padded == (len(owned) != bound.size)


def test_leading_axes_are_packed_around_the_matrix(read: Read) -> None:
    bound = buffer(read, 'role = "in", dtype = "u8", shape = [2, 3, "M", "N"], ld = 8')
    assert bound.strides == (120, 40, 8, 1)
    assert bound.size == 240


def test_padding_of_floats_is_nan(read: Read) -> None:
    for dtype in ("f16", "bf16", "f32", "f64"):
        bound = buffer(read, f'role = "in", dtype = "{dtype}", shape = ["M", "N"], ld = 8')
        raw = bound.store(np.ones((5, 7)))
        assert np.isnan(element_type(dtype).load(raw[7::8])).all()
        assert (element_type(dtype).load(raw) == 1).sum() == 35


def test_bf16_rounds_to_nearest_even() -> None:
    """Against a search over all neighbours: a bf16 is the upper half of an f32."""
    random = np.random.default_rng(1)
    values = np.concatenate([random.standard_normal(500), [0.0, -0.0, 1 + 2**-8, 1 + 3 * 2**-8, 3.4e38]])
    for value, bits in zip(values.astype(np.float32), element_type("bf16").store(values), strict=True):
        down = int(value.view(np.uint32)) >> 16
        with np.errstate(over="ignore"):
            near = np.array([down << 16, min(down + 1, 0xFFFF) << 16], np.uint32).view(np.float32)
        errors = [abs(float(n) - float(value)) for n in near]
        if errors[0] == errors[1]:
            assert int(bits) == down + (down & 1)
        elif np.isfinite(near[1]):
            assert int(bits) == down + (errors[1] < errors[0])
    bf16 = element_type("bf16")
    assert np.isnan(bf16.load(bf16.store(np.array([np.nan])))[0])


# Inputs.


def test_undefined_where_nothing_may_be_relied_on(read: Read) -> None:
    case = read(GEMM).kernels[0]
    bound = bind(case, case.sizes[0])
    with_beta = make_inputs(bound, "integers", beta=0.5)
    without = make_inputs(bound, "integers", beta=0.0)
    assert all(values is not None for values in with_beta.values())
    assert without["C"] is None
    assert np.array_equal(np.asarray(without["A"]), np.asarray(with_beta["A"]))
    assert not np.array_equal(np.asarray(with_beta["A"])[:80, :80], np.asarray(with_beta["B"])[:, :80])


def test_integers_are_exact_and_no_permutation_survives(read: Read) -> None:
    case = read(GEMM).kernels[0]
    values = np.asarray(make_inputs(bind(case, case.sizes[0]), "integers", beta=0.5)["A"])
    assert values.min() >= 0
    assert values.max() <= 9
    assert len({tuple(row) for row in values}) == 200, "two equal rows could be swapped unseen"
    assert len({tuple(col) for col in values.T}) == 80


def test_given_values(read: Read) -> None:
    text = GEMM.replace(
        '{ name = "K",',
        '{ name = "t", role = "in", dtype = "i32", shape = ["M", 3], values = "i0 * 10 + i1 + K" },\n  { name = "K",',
    )
    case = read(text).kernels[0]
    bound = bind(case, case.sizes[0])
    coding = coding_of(bound)
    assert "t" not in coding.shapes
    for kind in ("integers", "normal", "zeros", "code0"):
        values = np.asarray(make_inputs(bound, kind, beta=0.5, coding=coding)["t"])
        assert [values[r, c] for r in (0, 199) for c in range(3)] == [80, 81, 82, 2070, 2071, 2072]


def test_no_such_kind_of_inputs(read: Read) -> None:
    case = read(GEMM).kernels[0]
    bound = bind(case, case.sizes[0])
    for kind in ("twos", "code9", "code"):
        with pytest.raises(UsageError, match="no kind of inputs"):
            make_inputs(bound, kind, beta=0.0, coding=coding_of(bound))


# Coding.


@pytest.mark.parametrize("dtypes", [("f16", "f16", "f32"), ("bf16", "bf16", "bf16"), ("i8", "u8", "i32")])
def test_every_element_is_recovered_from_its_digits(dtypes: tuple[str, str, str]) -> None:
    shapes = ((48, 33), (33, 20), (48, 20))
    coding = Coding.of({n: (d, s) for n, d, s in zip("ABC", dtypes, shapes, strict=True)})
    for name, dtype, shape in zip("ABC", dtypes, shapes, strict=True):
        kind = element_type(dtype)
        stored = [kind.load(kind.store(coding.values(name, d))) for d in range(coding.code.digits)]
        numbers = coding.number(stored)
        assert np.array_equal(numbers, coding.numbers(name))
        for index in itertools.product(*map(range, shape)):
            element = coding.element(int(numbers[index]))
            assert element is not None
            assert (element.buffer, element.index) == (name, index)


def test_what_is_no_code_belongs_to_nobody() -> None:
    coding = Coding.of({"A": ("i8", (100, 5))})
    assert coding.code.digits == 2
    digits = np.array([[0, 1], [1, 0], [0.5, 1], [np.nan, 1], [128, 1], [-3, 1], [1, np.inf], [127, 4]])
    assert coding.number([digits[:, 0], digits[:, 1]]).tolist() == [NOBODY] * 8
    assert coding.number([np.array([119.0]), np.array([4.0])]).tolist() == [118 + 127 * 3]
    assert coding.element(500) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_digits_are_exact_in_their_dtype(dtype: str) -> None:
    """And of an 8-bit float, whose bytes are the digits, each is a number, and no other digit's number."""
    kind, top = carried_as(dtype), Coding.of({"A": (dtype, (1,))}).code.base
    values = np.arange(max(1, top - 3000), top + 1)
    stored = kind.store(values)
    assert np.array_equal(kind.load(stored).astype(np.float64), values)
    meant = element_type(dtype).load(stored).astype(np.float64)
    assert np.isfinite(meant).all()
    assert np.unique(meant).size == values.size


def test_a_number_that_is_no_extent_may_be_zero(tmp_path: Path) -> None:
    """A padding, or an axis."""
    text = GEMM.replace("K = 80 }", "K = 80, P = 0 }").replace(
        'shape = ["M", "K"]', 'shape = ["M + P", "K"]', 1
    )
    (tmp_path / "layoutprobe.toml").write_text(text)
    (tmp_path / "g.hip").write_text("")
    assert read_manifest(tmp_path / "layoutprobe.toml").kernels[0].sizes[0]["P"] == 0


# Mistakes.


def edited(old: str, new: str) -> str:
    assert GEMM.count(old) >= 1, old
    return GEMM.replace(old, new, 1)


MISTAKES = [
    (edited("block = 256", "blok = 256"), "kernel[0].block", "a list of 1 to 3"),
    (edited('name = "g"', 'name = "g"\nblok = 2'), "kernel[0].blok", "did you mean block?"),
    (edited('dtype = "f16"', 'dtype = "fp16"'), "kernel[0].argument[0].dtype", "did you mean f16?"),
    (edited('role = "in"', 'role = "input"'), "kernel[0].argument[0].role", "in, out, inout"),
    (edited("(N + 127) / 128", "(P + 127) / 128"), "kernel[0].grid", "unknown name 'P'"),
    (edited("block = 256", "block = 4096"), "block", "1 to 1024"),
    (edited("block = 256", 'block = "N - 136"'), "block", "1 to 1024"),
    (edited("block = 256", 'block = "N / (K - 80)"'), "block", "division by zero"),
    (edited("block = 256", "block = [1, 2, 3, 4]"), "kernel[0].block", "1 to 3"),
    (edited("block = 256", "block = 256.0"), "kernel[0].block", "a number, or an expression over M, N, K"),
    (edited("block = 256", 'block = "shuffle(1, 2, 3)"'), "kernel[0].block", "an expression over"),
    (edited('ld = "K + 8"', 'ld = "K - 8"'), "argument B: ld", "80 to"),
    (edited('shape = ["M", "K"]', 'shape = ["M", "N"]'), "contract", "A [..., M, K], B [..., K, N]"),
    (edited('matrix = "A"', 'matrix = "D"'), "kernel[0].contract.kind", "matrix = A"),
    (edited('kind = "gemm"', 'kind = "gem"'), "kernel[0].contract.kind", "did you mean gemm?"),
    (edited('kind = "gemm", alpha = 2, beta = 0.5', 'kind = "reference", function = "f"'), "function", "FILE.py"),
    (edited("alpha = 2", "alpha = nan"), "kernel[0].contract.alpha", "a number from"),
    (edited('source = "g.hip"', ""), "kernel[0].source", "either `source` or `code_object`"),
    (edited('source = "g.hip"', 'source = "g.hip"\ncode_object = "g.co"'), "kernel[0].code_object", "not both"),
    (edited('source = "g.hip"', 'code_object = "g.co"\nflags = ["-O3"]'), "kernel[0].flags", "compiled already"),
    (edited("M = 200", "M = 0"), "kernel[0].sizes", "1 to 2147483647"),
    (edited("M = 200", "M = true"), "kernel[0].sizes", "0 to 2147483647"),
    (edited("[{ M = 200, N = 136, K = 80 }]", "[]"), "kernel[0].sizes", "1 to 64 tables"),
    (edited("K = 80 }", "K = 80 }, { M = 1 }"), "kernel[0].sizes", "the same names"),
    (edited("block = 256", 'block = 256\narch = "gfx1159"'), "kernel[0].arch", "did you mean gfx115"),
    (edited("block = 256", "block = 256\nlimits = { vgpr = 3 }"), "kernel[0].limits.vgpr", "did you mean vgprs?"),
    (edited("block = 256", "block = 256\nlimits = { seconds = 0 }"), "kernel[0].limits.seconds", "1 to 3600"),
    (edited("block = 256", 'block = 256\nskip = { numeric = "x" }'), "kernel[0].skip.numeric", "numerics"),
    (edited("block = 256", 'block = 256\nskip = { numerics = "" }'), "kernel[0].skip.numerics", "why"),
    (edited("block = 256", 'block = 256\nchecks = ["all"]'), "kernel[0].checks", "numerics, lds-safety"),
    (edited("block = 256", "block = 256\nchecks = []"), "kernel[0].checks", "at least one"),
    (edited("block = 256", 'block = 256\nflags = ["-fplugin=x.so"]'), "kernel[0].flags", "'-fplugin=x.so'"),
    (edited('value = "K"', 'value = "K << 40"'), "argument K: value", "2147483647"),
    (edited('value = "K"', 'value = "alpha"'), "kernel[0].argument[3].value", "a float dtype"),
    (edited('name = "K"', 'name = "A"'), "kernel[0].argument[0].name", "no other argument"),
    (GEMM + GEMM, "kernel[1].name", "no other kernel"),
    (edited("[[kernel]]", "[defaults]\nblok = 1\n[[kernel]]"), "defaults.blok", "did you mean block?"),
    ("[kernel]\nname = 1", "kernel", "[[kernel]]"),
    ("x = 1", "kernel", "at least one [[kernel]]"),
    ("kernel = 3 +", "file", "TOML"),
    ("a = " + "[" * 5000, "file", "TOML"),
    ("a = " + "9" * 5000, "file", "TOML"),
    ("\x00", "file", "TOML"),
    ("#" * 300_000, "file", "262144"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "said"), MISTAKES, ids=[str(i) for i in range(len(MISTAKES))])
def test_a_mistake_is_told_with_file_key_and_what_is_allowed(
    read: Read, text: str, key: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    told = str(caught.value)
    assert "layoutprobe.toml" in told
    assert key in told
    assert said in told


def test_the_valid_text_holds(read: Read) -> None:
    """Or the mistakes above would prove nothing."""
    assert read(GEMM).kernels


def test_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such manifest") as caught:
        read_manifest(tmp_path / "none.toml")
    assert "layoutprobe init" in str(caught.value)


def test_strides_that_overlap(read: Read) -> None:
    with pytest.raises(UsageError, match="two indices share an element"):
        buffer(read, 'role = "in", dtype = "i32", shape = ["M", "N"], strides = [6, 1]')


@pytest.mark.parametrize(
    "shape",
    [
        "[2147483647]",
        "[2147483647, 2147483647]",
        '["M * 10000", "N * 10000"]',
        "[65536, 65536, 65536, 65536]",
    ],
)
def test_gigabytes_are_refused_before_they_are_taken(read: Read, shape: str) -> None:
    with pytest.raises(UsageError) as caught:
        buffer(read, f'role = "in", dtype = "f64", shape = {shape}')
    assert str(MAX_BYTES) in str(caught.value)


def test_work_is_bounded(read: Read) -> None:
    sizes = ", ".join(f"{{ M = {m} }}" for m in range(1, 65))
    arguments = ", ".join(['{ role = "null" }'] * 200)
    kernels = "".join(f'[[kernel]]\nname = "k{i}"\n' for i in range(250))
    with pytest.raises(UsageError, match="does not hold") as caught:
        read(
            f'[defaults]\nsource = "k.hip"\ngrid = 1\nblock = 1\ncontract = {{ kind = "none" }}\n'
            f"sizes = [{sizes}]\nargument = [{arguments}]\n{kernels}"
        )
    assert "together below" in str(caught.value)


# Flags.


@pytest.mark.parametrize(
    "flags",
    [
        ["-O3", "-g", "-std=c++17", "-DX=1", "-UX", "-Wall", "-Wno-unused", "-ffast-math", "-mcumode"],
        ["-fno-unroll-loops", "-ffp-contract=off", "-mllvm", "-amdgpu-early-inline-all=true", "-O2"],
        ["-mno-wavefrontsize64", "-munsafe-fp-atomics", "-fno-slp-vectorize", "-mcode-object-version=5"],
    ],
)
def test_harmless_flags(flags: list[str]) -> None:
    assert refused_flag(flags) is None


@pytest.mark.parametrize(
    "flag",
    ["-fplugin=x.so", "-fpass-plugin=x.so", "-Xclang", "-load", "@file", "-o", "-ox", "-Wl,-x", "-Wa,-x", "-Wp,-MD,f",
     "-B/tmp", "-include", "-I/etc", "-wrapper", "-save-temps", "-MF", "-ftime-trace=/tmp/x", "--config=x", "x.cpp",
     "-fsave-optimization-record", "-foptimization-record-file=x", "-fcrash-diagnostics-dir=x", "-mllvm", "-isystem",
     "-fprofile-instr-use=x", "--rocm-path=x", "-resource-dir", "-fmodules-cache-path=x", "", "-DX=\n"],
)  # fmt: skip
def test_flags_that_reach_files_or_code_are_refused(flag: str) -> None:
    assert refused_flag([flag]) == flag


def test_backend_flags_that_reach_files_are_refused() -> None:
    for flag in ("-load=x.so", "-pass-remarks-output=f", "-info-output-file=f", "-O3", "-stats-json"):
        assert refused_flag(["-mllvm", flag]) == flag


def test_contract_none(read: Read) -> None:
    text = re.sub(r"contract = .*", 'contract = { kind = "none" }', GEMM)
    assert read(text).kernels[0].contract == NoContract()


def test_split_k_and_batches(read: Read) -> None:
    text = edited("beta = 0.5", "split_k = true").replace(
        '"inout", dtype = "f32", shape = ["M", "N"]', '"out", dtype = "f32", shape = [4, "M", "N"]'
    )
    contract: Any = read(text).kernels[0].contract
    assert contract.split_k
    assert (contract.c, contract.d) == ("", "C")
    batched = GEMM.replace('["M", ', '[3, "M", ').replace('["K", ', '[3, "K", ')
    case = read(batched).kernels[0]
    assert bind(case, case.sizes[0]).buffers["B"].strides == (136 * 88, 1, 88)
