"""TTGIR: what is read of it, that its layouts are Triton's own, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutprobe.claims.ttgir import MAX_BYTES, parse_ttgir, read_ttgir
from layoutprobe.errors import UsageError
from layoutprobe.layouts.declared import Declared, Distribution, spanned

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "triton_layouts.json").read_text())[1:]
"""What Triton 3.9 answers to `to_linear_layout`: `tests/third_party/make_layouts.py` asked it."""
KEPT = sorted((HERE.parent / "third_party").glob("triton*/*.ttgir"))
GFX942 = HERE.parent / "third_party" / "triton_gfx942" / "gemm-f16.ttgir"


def text_of(
    unit: str, m: int, n: int, k: int, widths: tuple[int, int] = (4, 4), shared: str = "", waves: int = 4
) -> str:
    """A TTGIR of one product."""
    lanes, target = (64, "gfx942") if "mfma" in unit else (32, "gfx1151")
    a, b = (f"#ttg.dot_op<{{opIdx = {i}, parent = #mma, kWidth = {widths[i]}}}>" for i in (0, 1))
    load = f"%x = ttg.local_load %s : !ttg.memdesc<{m}x{k}xf16, #shared, #smem, mutable> -> tensor<{m}x{k}xf16, {a}>"
    return "\n".join(
        [
            f"#mma = {unit}",
            *([f"#shared = {shared}"] if shared else []),
            "#smem = #ttg.shared_memory",
            f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {waves} : i32, '
            f'ttg.target = "hip:{target}", "ttg.threads-per-warp" = {lanes} : i32}} {{',
            *([f"  {load}"] if shared else []),
            f"  %d = tt.dot %x, %y, %c : tensor<{m}x{k}xf16, {a}> * tensor<{k}x{n}xf16, {b}>"
            f" -> tensor<{m}x{n}xf32, #mma>",
            "}",
        ]
    )


def waves_of(unit: str) -> int:
    if found := re.search(r"warpsPerCTA = \[(\d), (\d)\]", unit):
        return int(found[1]) * int(found[2])
    bases = re.search(r"warp = \[(\[.*?\])\]", unit)
    return 1 << len(re.findall(r"\[\d, \d\]", bases[1] if bases else ""))


def same(found: Distribution, row: dict[str, Any]) -> bool:
    """Registers in any order: which is which, no layout says."""
    lanes, waves = ([tuple(vector) for vector in row[key]] for key in ("lanes", "waves"))
    registers = sorted(tuple(vector) for vector in row["registers"] if any(vector))
    return (list(found.lanes), list(found.waves), sorted(found.registers)) == (lanes, waves, registers)


@pytest.mark.parametrize("unit", sorted({row["unit"] for row in ANSWERS if "unit" in row}))
def test_operands_and_results_lie_as_triton_says(unit: str) -> None:
    rows = [row for row in ANSWERS if row.get("unit") == unit]
    assert len(rows) == 14
    for row in rows:
        width = row.get("width", 8)
        m, n, k = row["tile"]
        text = text_of(unit, m, n, k, (width, width), waves=waves_of(unit))
        if row.get("refused"):
            with pytest.raises(UsageError, match="no such operand"):
                parse_ttgir(text, "x.ttgir")
            continue
        (dot,) = parse_ttgir(text, "x.ttgir").dots
        found = dot.result if row["of"] == "result" else dot.operands[row["of"]]
        assert same(found, row), (row, found.text)


@pytest.mark.parametrize("row", [row for row in ANSWERS if "shared" in row], ids=lambda row: row["shared"])
def test_swizzled_tiles_lie_as_triton_says(row: dict[str, Any]) -> None:
    unit = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
    rows, cols = row["shape"]
    (dot,) = parse_ttgir(text_of(unit, rows, 64, cols, shared=row["shared"]), "x.ttgir").dots
    places = dot.shared[0][0].places((rows, cols))
    row_of, col_of = spanned([(r, c) for r, c in row["offsets"]])
    assert np.array_equal(places[row_of, col_of], np.arange(rows * cols))


def test_padding_stands_behind_every_interval() -> None:
    unit = (
        "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [32, 32, 16], isTransposed = true}>"
    )
    offsets = "[[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0]]"
    shared = f"#ttg.padded_shared<[32:+4, 64:+8] {{offset = {offsets}, block = []}}>"
    (dot,) = parse_ttgir(text_of(unit, 64, 64, 16, shared=shared), "x.ttgir").dots
    places = dot.shared[0][0].places((4, 16))
    assert places.tolist()[:2] == [list(range(16)), list(range(16, 32))]
    assert places[2, 0] == 36
    (dot,) = parse_ttgir(
        text_of(unit, 64, 64, 16, shared=shared.replace("[2, 0]", "[2, 0], [4, 0]")), "x"
    ).dots
    assert dot.shared[0][0].places((8, 16))[4:, 0].tolist() == [
        64 + 8 + 8,
        80 + 8 + 8,
        96 + 12 + 8,
        112 + 12 + 8,
    ]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_triton_wrote_is_read(path: Path) -> None:
    found = read_ttgir(path)
    text = path.read_text()
    assert len(found.dots) == len(re.findall(r"= tt\.dot(?:_scaled)? ", text))
    assert "loc(" not in text
    assert found.target == {"triton": "gfx1151"}.get(
        path.parent.name, path.parent.name.removeprefix("triton_")
    )
    for dot in found.dots:
        for layout, sides in zip((*dot.operands, dot.result), ((0, 2), (2, 1), (0, 1)), strict=True):
            assert layout.shape == tuple(dot.shape[side] for side in sides)
            row, col = spanned((*layout.registers, *layout.lanes, *layout.waves))
            whole = np.unique(row * layout.shape[1] + col).size
            assert whole == layout.shape[0] * layout.shape[1], "each element of the tile is somewhere"
        if path.stem.startswith("gemm") and "accvgprs" not in path.stem:
            assert all(len(kinds) == 1 for kinds in dot.shared)


def test_there_is_one_beside_every_object_that_multiplies() -> None:
    objects = (HERE.parent / "third_party").glob("triton*/*.hsaco")
    wanted = {
        path.with_suffix(".ttgir") for path in objects if not path.stem.startswith(("softmax", "layernorm"))
    }
    assert wanted == set(KEPT)
    assert max(path.stat().st_size for path in KEPT) < 24 * 1024


def declared(old: str, new: str, count: int = -1) -> Declared:
    text = GFX942.read_text()
    assert old in text
    return parse_ttgir(text.replace(old, new, count), "gemm.ttgir")


REFUSED = [
    ("isTransposed = true", "isTransposed = 1", "line 5", "true or false"),
    ("isTransposed = true", "isTransposed = true, versionMinor = 0", "line 5", "versionMinor"),
    ("version = 3", "version = 5", "line 5", "a number up to 4"),
    ("version = 3, ", "", "line 5", "a number up to 4"),
    ("warpsPerCTA = [2, 2], instr", "warpsPerCTA = [4, 2], instr", "line 5", "4 waves of 64 lanes"),
    ("warpsPerCTA = [2, 2], instr", "warpsPerCTA = [3, 2], instr", "line 5", "powers of two"),
    ("instrShape = [32, 32, 8]", "instrShape = [4, 64, 4]", "line 5", "32x32 or 16x16"),
    ("instrShape = [32, 32, 8]", "instrShape = [32, 32]", "line 5", "3 powers of two"),
    ("kWidth = 4", "kWidth = 3", "line", "power of two"),
    ("kWidth = 4", "kWidth = 4, more = 1", "line", "more"),
    ("opIdx = 0", "opIdx = 1", "line", "opIdx = 0"),
    ("#ttg.amd_mfma<", "#ttg.nvidia_mma<", "line 5", "amd_mfma or #ttg.amd_wmma"),
    ("#mma = ", "#mmb = ", "line", "no layout #mma"),
    ("parent = #mma", "parent = #blocked", "line", "amd_mfma"),
    ("maxPhase = 8", "maxPhase = 7", "line", "power of two"),
    ("#ttg.swizzled_shared<", "#ttg.nvmma_shared<", "line", "layout of LDS is not known"),
    ("order = [1, 0]}>\n#shared1", "order = [1, 1]}>\n#shared1", "line", "[0, 1] or [1, 0]"),
    ("hip:gfx942", "cuda:90", "line 9", "no AMD target"),
    ('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2', "line 9", "clusters"),
    ('"ttg.num-warps" = 4', '"ttg.num-warps" = 99999999999', "line 9", "a number from 0"),
    ("f16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>> * ", "f16> * ", "line", "`,`"),
    ("tensor<64x32xf16, #ttg.dot_op", "tensor<64x64x32xf16, #ttg.dot_op", "line", "two axes"),
    ("tensor<64x32xf16, #ttg.dot_op", "tensor<64x16xf16, #ttg.dot_op", "line", "tiles of a product do not fit"),
    ("tt.dot", "tt.dat", "", "no `tt.dot`"),
    ("module attributes", "mod", "", "no `module attributes`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "where", "says"), REFUSED)
def test_what_is_not_understood_is_refused_with_its_line(old: str, new: str, where: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        declared(old, new)
    said = str(refused.value)
    assert says in said
    assert where in said
    assert "gemm.ttgir" in said
    assert refused.value.hint, "the next step"


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("", "an empty file"),
        ("hello world\n", "text that starts with 'hello world'"),
        (GFX942.read_text().partition("tt.dot ")[0], "cut off"),
    ],
)
def test_what_is_no_whole_ttgir_is_not_told_of_its_layouts(text: str, observed: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_ttgir(text, "gemm.ttgir")
    assert observed in str(refused.value)
    assert "declare no layout" not in str(refused.value)


def test_all_else_is_passed_over() -> None:
    plain = declared("tt.return", "tt.return")
    assert (
        declared("#smem = ", "#odd = #ttg.none_such<{a = [[[1]]], b = #x}>\n#smem = ").dots[0].unit
        == plain.dots[0].unit
    )
    assert declared("tt.return", "%x = other.dot %y, weird <<< >>>").dots == plain.dots


@pytest.mark.parametrize(
    "line",
    [
        "#mma9 = #ttg.x<{a = " + "[" * 10_000,
        "#mma9 = #ttg.x<{a = [" + "1, " * 10_000 + "1]}>",
        "#mma9 = #ttg.x<{" + ", ".join(f"a{i} = 1" for i in range(100)) + "}>",
        "#mma9 = #ttg.x<{a = " + "9" * 100_000 + "}>",
        '#mma9 = #ttg.x<{a = "' + "x" * 100_000,
        "#mma9 = #ttg.padded_shared<[0:+1] {}>",
        "#mma9 = #ttg.x<{a = 1, a = 2}>",
        "#mma9 = #",
        "#" + "a" * 100_000,
        "#mma = #mma\n#mma = #mma",
    ],
    ids=lambda line: line[:30],
)
def test_hostile_text_ends_in_words(line: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_ttgir(f"{line}\n{GFX942.read_text()}", "gemm.ttgir")
    assert len(str(refused.value)) < 2000
    assert "line" in refused.value.where


def test_files_are_bounded(tmp_path: Path) -> None:
    for name, content in (("large", b"a" * (MAX_BYTES + 1)), ("binary", b"\xff\xfe")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError):
            read_ttgir(tmp_path / name)
    with pytest.raises(UsageError, match="no such TTGIR"):
        read_ttgir(tmp_path / "none")
    many = GFX942.read_text() + "  %x = tt.dot %a"
    with pytest.raises(UsageError, match="cannot be read"):
        parse_ttgir(many, "x.ttgir")
