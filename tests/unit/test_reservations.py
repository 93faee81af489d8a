"""What a manifest leaves out is said in the headline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_gates import all_hold
from hostile.test_manifests import written
from msgspec.structs import replace

from layoutprobe.checks.registry import check_names
from layoutprobe.manifest.model import Expression, KernelCase, Tolerance
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.reservations import reservations
from layoutprobe.patterns.expression import parse
from layoutprobe.render.gate import words
from layoutprobe.report.gate import GateReport, KernelVerdict

SIZES = ({"n": 32}, {"n": 41})


@pytest.fixture
def case(tmp_path: Path) -> KernelCase:
    stride = '"stride", role = "scalar", dtype = "i32", value = '
    (kernel,) = read_manifest(written(tmp_path, (f'{stride}"n"', f'{stride}"n + 3"'))).kernels
    return replace(kernel, sizes=SIZES)


def test_every_way_of_leaving_out(case: KernelCase) -> None:
    def said(**changes: object) -> list[str]:
        return list(reservations(replace(case, **changes), check_names()))

    none = "outputs not judged: contract none"
    assert said() == [none]
    assert said(sizes=SIZES[1:]) == [none, "a single size"]
    assert said(sizes=({"n": 32}, {"n": 64})) == [none, "only sizes that are multiples of 16"]
    eights = ({"n": 32, "K": 24}, {"n": 41, "K": 40})
    assert said(sizes=eights) == [none, "every K is a multiple of 8"]
    assert said(sizes=eights, multiple={"K": 8}) == [none]
    assert said(sizes=({"n": 32, "K": 8}, {"n": 41, "K": 8}))[1:] == ["K is 8 in every size"]
    even = ({"n": 32, "K": 48}, {"n": 64, "K": 80})
    assert said(sizes=even, multiple={"n": 32, "K": 16}) == [none]
    assert said(sizes=even, multiple={"n": 32}) == [none, "every K is a multiple of 16"]
    assert said(sizes=even, multiple={"n": 32, "K": 8}) == [none, "every K is a multiple of 16"]
    asked = [Expression(text, parse(text, ["n", "K"])) for text in ("n % 32 == 0", "K % 16 == 0", "K <= 80")]
    assert said(sizes=even, where=tuple(asked)) == [none]
    assert said(sizes=even, where=tuple(asked[2:])) == [none, "only sizes that are multiples of 16"]
    assert said(tolerance=Tolerance(0.01, 0.001)) == [none]
    assert said(tolerance=Tolerance(10.0, 0.5)) == [
        none, "loose tolerance: absolute 10", "loose tolerance: relative 0.5",
    ]  # fmt: skip
    (first, *others) = case.arguments
    loose = replace(first, tolerance=Tolerance(0.5))
    assert said(arguments=(loose, *others)) == [none, f"loose tolerance of {first.name}: absolute 0.5"]
    tiled = {"sizes": ({"n": 64, "K": 8}, {"n": 128, "K": 8}), "tile": {"n": 64, "K": 16}}
    assert said(**tiled) == [none, "only whole tiles of n (64)", "K is 8 in every size"]
    assert said(sizes=({"n": 64, "K": 8}, {"n": 65, "K": 9}), tile=tiled["tile"]) == [none]
    left = [name for name in check_names() if name != "numerics"]
    assert said(checks=("numerics",)) == [f"not asked for: {', '.join(left)}", none]


def test_the_headline_says_so() -> None:
    verdict = KernelVerdict("g", "g", "gfx1151", "g.hip", (), all_hold(), ())
    doubtful = replace(verdict, name="h", reservations=("a single size",))
    both = words.gate_outcome(GateReport("m.toml", (verdict, doubtful), "1"))
    assert both.sentence == "all 2 kernels hold; with reservations: a single size (in 1 of 2 kernels)"
    counted = words.gate_outcome(GateReport("m.toml", (verdict, doubtful), "1"), beside=True)
    assert counted.sentence == "all 2 kernels hold; with 1 reservation (in 1 of 2 kernels)"
    elsewhere = words.gate_outcome(GateReport("m.toml", (verdict, replace(verdict, target="gfx1201")), "1"))
    assert elsewhere.sentence == "all 2 kernels hold (1 kernel for 2 targets)"
    assert words.outcome(doubtful).sentence.endswith("with reservations (a single size)")
    assert "reservation" not in words.outcome(verdict).sentence


GEMM = """[[kernel]]
name = "g"
code_object = "k.co"
grid = [1]
block = [32]
contract = {{ kind = "gemm" }}
sizes = [{sizes}]
argument = [
  {{ name = "A", role = "in", dtype = "f16", shape = ["BATCH", "M", "K"], matrix = "A" }},
  {{ name = "B", role = "in", dtype = "f16", shape = ["BATCH", "K", "N"], matrix = "B" }},
  {{ name = "C", role = "out", dtype = "f32", shape = ["BATCH", "M", "N"], matrix = "C" }},
]
"""


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (
            [(1, 32, 32, 32), (1, 16, 16, 16)],
            ["only sizes that are multiples of 16", "M = N = K", "the batch is 1"],
        ),
        ([(2, 32, 48, 33), (1, 17, 48, 40)], []),
        ([(3, 17, 17, 8), (1, 20, 20, 41)], ["M = N in every size"]),
        ([(1, 17, 8, 8), (1, 20, 33, 33)], ["N = K in every size", "the batch is 1"]),
    ],
)
def test_extents_that_no_size_tells_apart(
    tmp_path: Path, sizes: list[tuple[int, ...]], said: list[str]
) -> None:
    """A leading dimension of the other matrix, or a batch stride, is right by chance at all of them."""
    names = ("BATCH", "M", "N", "K")
    tables = ", ".join(
        "{ " + ", ".join(f"{n} = {v}" for n, v in zip(names, each, strict=True)) + " }" for each in sizes
    )
    (tmp_path / "k.co").write_bytes(b"")
    (tmp_path / "layoutprobe.toml").write_text(GEMM.format(sizes=tables))
    (kernel,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    found = reservations(kernel, check_names())
    assert len(found) == len(said)
    assert all(words in text for words, text in zip(said, found, strict=True)), found


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([("lda", "K + 3"), ("ldc", "N + 1")], []),
        ([("lda", "K"), ("ldc", "N"), ("ldd", "N")], ["N = ldc = ldd, K = lda in every size: one taken"]),
        ([("group", "64 if K > 33 else 32")], ["group is a power of two in every size"]),
        ([("flags", 7), ("mode", 1)], ["flags is 7, mode is 1 in every size"]),
        ([("cap", 0.0), ("eps", 1e-5)], ["cap is 0.0, eps is 1e-05 in every size"]),
        ([("cap", 0.0), ("eps", 1e-5), ("fixed", ["eps"])], ["cap is 0.0 in every size"]),
    ],
)
def test_arguments_that_no_size_tells_apart(
    tmp_path: Path, more: list[tuple[str, object]], said: list[str]
) -> None:
    """And those that never vary, but for what the manifest says is fixed."""
    fixed = [f"fixed = {json.dumps(value)}\n" for name, value in more if name == "fixed"]
    given = [("N", "N"), ("K", "K"), *more[: len(more) - len(fixed)]]
    kinds = {name: "f32" if isinstance(value, float) else "i32" for name, value in given}
    scalars = "".join(
        f'  {{ name = "{name}", role = "scalar", dtype = "{kinds[name]}", value = {json.dumps(value)} }},\n'
        for name, value in given
    )
    sizes = "{ BATCH = 2, M = 17, N = 48, K = 33 }, { BATCH = 1, M = 32, N = 45, K = 40 }"
    text = GEMM.format(sizes=sizes)
    (tmp_path / "k.co").write_bytes(b"")
    (tmp_path / "layoutprobe.toml").write_text(
        f"{text.removesuffix(chr(93) + chr(10))}{scalars}]\n{''.join(fixed)}"
    )
    (kernel,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    found = reservations(kernel, check_names())
    assert len(found) == len(said)
    assert all(words in text for words, text in zip(said, found, strict=True)), found


def test_guesses_of_a_draft_are_named_by_their_lines(tmp_path: Path) -> None:
    """Of each kernel its own; a line that says so in a string, or before the first kernel, is none."""
    kernel = (
        '[[kernel]]\nname = "{name}"\ncode_object = "k.hsaco"\nblock = [32, 1, 1]{guess}\ngrid = [1, 1, 1]{guess}\n'
        'sizes = [{{ M = 16 }}]{guess}\ncontract = {{ kind = "none" }}{guess}\nseed = 1{guess}\n'
    )
    text = "# What is marked FILL IN is a guess.\n" + "".join(
        kernel.format(name=name, guess=guess)
        for name, guess in (("FILL IN", ""), ("drafted", "  # FILL IN: so it was launched"))
    )
    path = tmp_path / "layoutprobe.toml"
    path.write_text(text)
    (tmp_path / "k.hsaco").write_bytes(b"")
    filled, drafted = read_manifest(path).kernels
    assert filled.guessed == ()
    assert [text.splitlines()[n - 1].partition(" = ")[0] for n in drafted.guessed] == [
        *("block", "grid", "sizes", "contract", "seed"),
    ]
    assert reservations(drafted, ())[0] == (
        "guesses of `init` in the manifest, not filled in: lines 13, 14, 15, 16 and 1 more"
    )
    assert not any("guesses" in said for said in reservations(filled, ()))
