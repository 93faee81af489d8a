"""Probe specs: what holds is read in full, what does not hold is refused by file and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples import probe_names

from layoutprobe.errors import UsageError
from layoutprobe.probing.spec import ArgumentSpec, load_spec

GOOD = """
kernel = "k"
block = 64
grid = "waves"
tile = [16, 16, 16]
defines = ["DTYPE"]
[instruction]
f16 = "v_wmma_something"
[define.DTYPE]
f16 = 3
[wave_tile]
A = [16, 0]
[[argument]]
name = "a"
role = "in"
matrix = "A"
dtype = "u32"
axes = ["wave", "vgpr", "lane"]
shape = ["waves", 8, "M"]
holds.row = "wave + lane"
holds.col = "vgpr*2 + half"
[[argument]]
name = "M"
role = "size"
dtype = "i32"
"""


def write(directory: Path, text: str) -> Path:
    (directory / "p.toml").write_text(text)
    (directory / "p.hip").write_text("// empty")
    return directory


def test_reads_every_key(tmp_path: Path) -> None:
    spec = load_spec("p", write(tmp_path, GOOD))
    assert (spec.kernel, spec.block, spec.grid, spec.tile) == ("k", 64, "waves", (16, 16, 16))
    assert spec.waves_per_group == 2
    assert spec.instruction("f16") == "v_wmma_something"
    assert spec.define_values == {"DTYPE": {"f16": 3}}
    assert list(spec.steps) == ["A"]
    assert spec.wave_tile("A") == (16, 0)
    assert spec.arguments == (
        ArgumentSpec(
            "a",
            "in",
            "u32",
            "A",
            ("wave", "vgpr", "lane"),
            ("waves", 8, "M"),
            ("wave + lane", "vgpr*2 + half"),
        ),
        ArgumentSpec("M", "size", "i32", "", (), ()),
    )
    assert spec.source == tmp_path / "p.hip"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('kernel = "k"', 'kernel = "k;"', "kernel"),
        ('kernel = "k"', "", "kernel"),
        ("block = 64", "block = 65", "block"),
        ("block = 64", "block = 4096", "block"),
        ("block = 64", "block = true", "block"),
        ('grid = "waves"', 'grid = "many"', "grid"),
        ("tile = [16, 16, 16]", "tile = [16, 16]", "tile"),
        ("tile = [16, 16, 16]", "tile = [16, 16, -1]", "tile"),
        ('defines = ["DTYPE"]', 'defines = "DTYPE"', "defines"),
        ('defines = ["DTYPE"]', "defines = []", "define.DTYPE"),
        ('f16 = "v_wmma_something"', "f16 = 5", "instruction.f16"),
        ("f16 = 3", 'f16 = "3"', "define.DTYPE.f16"),
        ("A = [16, 0]", "E = [16, 0]", "wave_tile.E"),
        ("A = [16, 0]", "A = [16]", "wave_tile.A"),
        ('role = "in"', 'role = "inout"', "argument[0].role"),
        ('matrix = "A"', 'matrix = "Q"', "argument[0].matrix"),
        ('dtype = "u32"', 'dtype = "u33"', "argument[0].dtype"),
        ('axes = ["wave", "vgpr", "lane"]', 'axes = ["wave", "vgpr"]', "argument[0].axes"),
        ('shape = ["waves", 8, "M"]', "shape = []", "argument[0].shape"),
        ('shape = ["waves", 8, "M"]', 'shape = ["waves", 0, 32]', "argument[0].shape"),
        ('holds.row = "wave + lane"', "", "argument[0].holds.row"),
        ('"wave + lane"', '"wave + line"', "argument[0].holds.row"),
        ('"wave + lane"', "7", "argument[0].holds.row"),
        ('name = "M"', 'name = "a"', "argument"),
        ('name = "M"', 'name = "N"', "argument"),  # no input has this extent
        ('role = "in"', 'role = "out"', "grid"),
        ('grid = "waves"', 'grid = "tiles"', "grid"),
        ('dtype = "i32"', 'dtype = "f32"', "argument[1].dtype"),
        ('dtype = "i32"', 'dtype = "i32"\nshaep = [1]', "argument[1].shaep"),
        ('kernel = "k"', 'kernel = "k"\nblokc = 64', "blokc"),
        ("[wave_tile]", "[wave_tile]\nA = [0, 0]", None),  # a key twice is not TOML
    ],
)
def test_refuses_by_file_and_key(tmp_path: Path, old: str, new: str, key: str | None) -> None:
    assert GOOD.count(old) == 1
    directory = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_spec("p", directory)
    assert caught.value.where["file"] == tmp_path / "p.toml"
    assert caught.value.where.get("key") == key
    assert caught.value.expected or caught.value.observed


@pytest.mark.parametrize("name", ["nothing", "../p", "/etc/passwd", "", "p\n", "gemm//standard"])
def test_unknown_probe_lists_the_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_spec(name, write(tmp_path, GOOD))
    assert caught.value.expected == "one of p"


def test_source_must_stand_beside_the_spec(tmp_path: Path) -> None:
    (write(tmp_path, GOOD) / "p.hip").unlink()
    with pytest.raises(UsageError, match="no source"):
        load_spec("p", tmp_path)


def test_oversized_and_binary_specs_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "#" * 100_000)
    with pytest.raises(UsageError, match="too large"):
        load_spec("p", tmp_path)
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not TOML"):
        load_spec("p", tmp_path)


def test_deeply_nested_spec_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "tile = " + "[" * 20_000)
    with pytest.raises(UsageError, match="not TOML"):
        load_spec("p", tmp_path)


def test_an_instruction_that_the_probe_lacks(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no matrix instruction for dtype 'iu4'"):
        load_spec("p", write(tmp_path, GOOD)).instruction("iu4")


@pytest.mark.parametrize("name", probe_names())
def test_shipped_specs_hold(name: str) -> None:
    spec = load_spec(name)
    text, read = spec.source.read_text(), set[str]()
    while included := set(re.findall(r'#include "([\w/]+\.\w+)"', text)) - read:
        read |= included
        text += "".join((spec.include / file).read_text() for file in sorted(included))
    # Everything that the spec states about the source is visible in the source.
    assert any(f"{size}{spec.block}" in text for size in ("__block__(", "kThreads = ", "kLanes = "))
    told = {"INSTRUCTION": "BITS"}  # with the mnemonic, what is of interest: the roundtrip takes the width
    for define in spec.defines:
        assert define in text or told.get(define, define) in text


def test_all_probes_are_there() -> None:
    assert probe_names() == [
        "cdna/epilogue",
        "cdna/operand",
        "cdna/roundtrip",
        "cdna/roundtrip_b",
        "cdna/transposing",
        "epilogue",
        "fidelity/d16",
        "fidelity/exec_mask",
        "fidelity/lds_address",
        "fidelity/lds_time",
        "fidelity/uninitialised",
        "gemm/column_load",
        "gemm/standard",
        "interaction",
        "operand",
        "roundtrip",
        "roundtrip_b",
        "transposing",
    ]
