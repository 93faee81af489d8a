"""Shipped patterns: codes by hand, exactness refused in words, codes name what the pattern knows."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import layoutprobe
from layoutprobe.assets import asset_dir
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.patterns import library, load_pattern, pattern_names
from layoutprobe.patterns.library import pattern_from_table
from layoutprobe.solver.observe import match_elements

ROW, COL = np.indices((16, 16))

BY_HAND = {
    "rowcol": ROW * 256 + COL,
    "rowxorcol": ROW ^ COL,
    "rowbyte": ROW,
    "rowaddcol": ROW + COL,
    "rowcol-block": ROW * 128 + COL,
    "row-coded": ROW + 1,
    "col-coded": COL + 1,
    "identity": (ROW == COL) * 1,
    "one-hot": ((ROW == 0) & (COL == 0)) * 1,
    "digits": np.array([n % 15 + 1 for n in range(256)]).reshape(16, 16),
}


def test_every_shipped_pattern_is_checked_by_hand() -> None:
    assert set(pattern_names()) == {*BY_HAND, "random"}


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_codes(name: str) -> None:
    assert np.array_equal(load_pattern(name).codes((16, 16)), BY_HAND[name])


def test_random_is_a_permutation_that_its_seed_chooses() -> None:
    codes = load_pattern("random").codes((16, 16))
    assert np.array_equal(np.sort(codes.ravel()), np.arange(256))
    assert not np.array_equal(codes.ravel(), np.arange(256))
    assert np.array_equal(codes, load_pattern("random:seed=1").codes((16, 16)))
    assert not np.array_equal(codes, load_pattern("random:seed=2").codes((16, 16)))


def _splitmix_ranks(seed: int) -> list[int]:
    """The permutation once more, with Python integers."""
    mask, keys = (1 << 64) - 1, []
    for number in range(1, 257):
        z = (seed + number * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        keys.append(z ^ z >> 31)
    return sorted(range(256), key=keys.__getitem__)


def test_random_equals_the_published_mixer() -> None:
    """Recorded captures name the seed only, so the permutation may never change."""
    for seed in (1, 7, -3):
        codes = load_pattern(f"random:seed={seed}").codes((16, 16))
        assert codes.ravel().tolist() == _splitmix_ranks(seed)


def test_rowcol_is_refused_as_an_f16_number_and_fine_as_bits() -> None:
    rowcol = load_pattern("rowcol")
    with pytest.raises(UsageError) as refusal:
        rowcol.encode((16, 16), "f16")
    assert refusal.value.where == {
        "shape": "16 x 16",
        "row": 8,
        "col": 1,
    }  # 2049, the first integer that f16 cannot hold
    assert refusal.value.expected == "2049"
    assert "raw16" in (refusal.value.hint or "")
    assert np.array_equal(rowcol.encode((16, 16), "raw16"), ROW * 256 + COL)
    assert np.array_equal(rowcol.encode((8, 16), "f16").view(np.float16), (ROW * 256 + COL)[:8])


@pytest.mark.parametrize("carrier", ["fp8", "bf8", "fp8_fnuz", "bf8_fnuz"])
@pytest.mark.parametrize("name", ["rowbyte", "rowxorcol", "rowaddcol", "row-coded", "col-coded"])
def test_numbers_in_eight_bit_floats_are_exact_or_refused(name: str, carrier: str) -> None:
    """They hold integers up to 16 (3 bits of mantissa) or 8 (2 bits), then even ones; raw bytes hold all."""
    pattern = load_pattern(name)
    formats = {"fp8": (7, 3, 17), "bf8": (15, 2, 9), "fp8_fnuz": (8, 3, 17), "bf8_fnuz": (16, 2, 9)}
    bias, mantissa, least = formats[carrier]
    shape = (4, 5)
    codes = pattern.codes(shape)
    for code, raw in zip(codes.ravel(), pattern.encode(shape, carrier).ravel(), strict=True):
        exponent, fraction = int(raw) >> mantissa, int(raw) % (1 << mantissa)
        held = (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias) if raw else 0.0
        assert held == code
    assert np.array_equal(pattern.encode((64, 32), "raw8"), pattern.codes((64, 32)))
    with pytest.raises(UsageError, match=f"not exact in {carrier}") as refused:
        pattern.encode((64, 64), carrier)
    assert refused.value.expected == str(least)
    assert refused.value.hint == "another carrier holds it: raw8"


def test_fractions_are_exact() -> None:
    raw = load_pattern("rowcol-block").encode((16, 16), "f16")
    assert raw.dtype == np.uint16
    assert np.array_equal(raw.view(np.float16).astype(np.float64), ROW + COL / 128)
    with pytest.raises(UsageError, match="not exact in bf16"):
        load_pattern("rowcol-block").encode((16, 16), "bf16")
    with pytest.raises(UsageError, match="does not tell two elements apart") as refusal:
        load_pattern("rowcol-block").encode((4, 129), "f32")
    assert refusal.value.where == {"shape": "4 x 129", "first": "(0, 128)", "second": "(1, 0)"}


@pytest.mark.parametrize(
    ("carrier", "code", "raw"),
    [
        ("f16", 1, 0x3C00),
        ("f16", 2048, 0x6800),
        ("f16", -3, 0xC200),
        ("bf16", 1, 0x3F80),
        ("bf16", 255, 0x437F),
        ("f32", 3, 0x40400000),
        ("i8", -1, 0xFF),
        ("i4", -8, 0x8),
        ("u4", 15, 0xF),
        ("i32", -2, 0xFFFFFFFE),
        ("raw8", 200, 200),
        ("raw16", 0xFFFF, 0xFFFF),
        ("raw32", 0xFFFFFFFF, 0xFFFFFFFF),
    ],
)
def test_carrier_bits(carrier: str, code: int, raw: int) -> None:
    """Bits taken from the formats' definitions, not from a library."""
    assert load_pattern(f"0*row + {code}").encode((1, 1), carrier).tolist() == [[raw]]


@pytest.mark.parametrize(
    ("carrier", "code"),
    [
        ("f16", 2049),
        ("f16", 65536),
        ("bf16", 257),
        ("f32", (1 << 24) + 1),
        ("i8", 128),
        ("u8", -1),
        ("i4", 8),
        ("u4", 16),
        ("i32", 1 << 31),
        ("raw8", 256),
        ("raw16", -1),
        ("raw32", 1 << 32),
    ],
)
def test_carrier_refuses_what_it_cannot_hold(carrier: str, code: int) -> None:
    with pytest.raises(UsageError, match="not exact"):
        load_pattern(f"0*row + {code}").encode((1, 1), carrier)


def test_a_code_names_only_what_the_pattern_knows() -> None:
    raw = np.array([[3, 16, 0]], np.uint8)
    named = match_elements([(load_pattern("rowbyte"), "raw8", raw)], (16, 16))
    assert named.row.tolist() == [[3, HOLE, 0]]
    assert named.col.tolist() == [[UNKNOWN, HOLE, UNKNOWN]]


def test_marked_patterns_name_the_marked_element_alone() -> None:
    hot = load_pattern("one-hot:at_row=3,at_col=5")
    named = match_elements([(hot, "f16", np.array([0x3C00, 0, 0x4000], np.uint16))], (16, 16))
    assert named.row.tolist() == [3, UNKNOWN, HOLE]
    assert named.col.tolist() == [5, UNKNOWN, HOLE]
    with pytest.raises(UsageError, match="marks no element"):
        load_pattern("one-hot:at_row=16").encode((16, 16), "f16")


def test_default_carrier() -> None:
    assert load_pattern("rowcol").default_carrier("f16") == "raw16"
    assert load_pattern("rowcol-block").default_carrier("f16") == "f16"
    assert load_pattern("identity").default_carrier("bf16") == "bf16"
    with pytest.raises(UsageError, match="no carrier for iu4"):
        load_pattern("rowcol").default_carrier("iu4")


def test_unknown_name_has_near_misses() -> None:
    with pytest.raises(UsageError, match="Unknown pattern 'rowcl'") as refusal:
        load_pattern("rowcl")
    assert "rowcol" in (refusal.value.hint or "")


def test_user_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nexpression = "row*step + col"\n[parameters]\nstep = 32\n')
    assert load_pattern(str(path)).codes((2, 2)).tolist() == [[0, 1], [32, 33]]
    assert load_pattern(f"{path}:step=3").codes((2, 2)).tolist() == [[0, 1], [3, 4]]


def test_a_pattern_has_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "yours"\nexpression = "row*64 + col"\n')
    with pytest.raises(UsageError, match="a pattern has the name of its file") as refusal:
        load_pattern(str(path))
    assert (refusal.value.expected, refusal.value.observed) == ("mine", "yours")


def test_a_pattern_that_comes_along_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rowcol.toml"
    path.write_text('name = "rowcol"\nexpression = "row*64 + col"\n')
    with pytest.raises(UsageError, match="there is a pattern rowcol already"):
        load_pattern(str(path))
    shipped = asset_dir("patterns") / "rowcol.toml"
    assert load_pattern(str(shipped)).name == "rowcol", "the file itself may be named by its path"


def test_two_patterns_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "mine.toml" for folder in "ab"]
    for path, expression in zip(paths, ("row", "col"), strict=True):
        path.parent.mkdir()
        path.write_text(f'name = "mine"\nexpression = "{expression}"\n')
    with pytest.raises(UsageError, match="two patterns have the same name"):
        layoutprobe.dump("A", pattern=[str(path) for path in paths])


def test_a_broken_pattern_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "patterns"
    shutil.copytree(asset_dir("patterns"), folder)
    (folder / "broken.toml").write_text("name = ")
    (folder / "zzz.toml").write_text('name = "rowcol"\nexpression = "row"\n')
    monkeypatch.setattr(library, "asset_dir", lambda _: folder)
    library._shipped.cache_clear()
    try:
        assert main(["list", "patterns"]) == 2
    finally:
        library._shipped.cache_clear()
    told = capsys.readouterr().out
    assert "rowxorcol" in told
    for name in ("broken", "zzz"):
        (line,) = (line for line in told.splitlines() if line.split()[1:2] == [name])
        assert "cannot be used" in line


@pytest.mark.parametrize(
    "table",
    [
        {"name": "x"},
        {"name": "x", "expression": 3},
        {"name": "x", "expression": "row", "colour": 1},
        {"name": "x", "expression": "row", "identifies": ["rows"]},
        {"name": "x", "expression": "row", "carriers": ["f128"]},
        {"name": "x", "expression": "row", "scale": 0},
        {"name": "x", "expression": "row", "scale": True},
        {"name": "x", "expression": "row", "parameters": {"row": 1}},
        {"name": "x", "expression": "p", "parameters": {"p": 1.5}},
        {"name": "x", "expression": "p", "parameters": {"p": 1 << 62}},
    ],
)
def test_bad_files_are_refused(table: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        pattern_from_table(table)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = ", b"x = 1" * 20000, b"a = " + b"[" * 5000])
def test_broken_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        load_pattern(str(path))
