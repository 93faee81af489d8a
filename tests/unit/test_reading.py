"""The one reader of tables that anybody may have written: every reader refuses by file, key and near miss."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutprobe.capture.schema import read_index
from layoutprobe.claims.files import read_toml
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.manifest.read import read_manifest
from layoutprobe.patterns import load_pattern
from layoutprobe.probing.spec import load_spec
from layoutprobe.reading import LARGEST_LIST, Table, parse_toml, read_bounded


def _pattern(folder: Path) -> None:
    (folder / "x.toml").write_text('name = "x"\nexpression = "row"\nscael = 2\n')
    load_pattern(str(folder / "x.toml"))


def _spec(folder: Path) -> None:
    (folder / "x.hip").write_text("")
    (folder / "x.toml").write_text(
        'kernel = "k"\nblock = 64\nblokc = 64\ngrid = "one"\ntile = [1, 1, 1]\n'
        '[[argument]]\nname = "a"\nrole = "in"\ndtype = "u32"\naxes = ["lane"]\nshape = [4]\n'
    )
    load_spec("x", folder)


def _manifest(folder: Path) -> None:
    (folder / "x.toml").write_text("[[kernle]]\n[[kernel]]\n")
    read_manifest(folder / "x.toml")


def _claims(folder: Path) -> None:
    read_toml('[[claim]]\nsays = ["A: A[lane % 16][2*vgpr + half]"]\nverdct = "refuted"\n', "x.toml")


def _capture(folder: Path) -> None:
    index = {"format": "f", "version": 1, "layoutprobe": "1", "captures": [{}], "capturs": []}
    read_index(json.dumps(index).encode(), folder / "x.toml", "f", 1)


@pytest.mark.parametrize(
    ("read", "key", "hint"),
    [
        (_pattern, "scael", "did you mean scale?"),
        (_spec, "blokc", "did you mean block?"),
        (_manifest, "kernle", "did you mean kernel?"),
        (_claims, "claim[0].verdct", "did you mean verdict?"),
        (_capture, "capturs", "did you mean captures?"),
    ],
)
def test_every_reader_names_file_key_and_near_miss(
    tmp_path: Path, read: Callable[[Path], None], key: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        read(tmp_path)
    assert refusal.value.where["key"] == key
    assert Path(str(refusal.value.where["file"])).name == "x.toml"
    assert refusal.value.hint == hint


def table(**data: object) -> Table:
    return Table(data, "x.toml", "top")


@pytest.mark.parametrize("value", [None, True, 1.0, "1", 0, 11, [1]])
def test_an_integer_is_an_integer_within_bounds(value: object) -> None:
    with pytest.raises(UsageError) as refusal:
        table(a=value).integer("a", 1, 10)
    assert refusal.value.where == {"file": "x.toml", "key": "top.a"}
    assert refusal.value.expected == "an integer from 1 to 10"
    assert [table(a=given).integer("a", 1, 10) for given in (1, 10)] == [1, 10]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", 1 << 62])
def test_a_number_is_finite(value: object) -> None:
    with pytest.raises(UsageError, match="the table does not hold"):
        table(a=value).number("a", -1e300, 1e300)


def test_lists_tables_and_texts_are_bounded() -> None:
    for refused in (
        lambda: table(a=["x"] * (LARGEST_LIST + 1)).strings("a", "texts"),
        lambda: table(a=[{}] * (LARGEST_LIST + 1)).tables("a"),
        lambda: table(a={str(i): i for i in range(LARGEST_LIST + 1)}).table("a"),
        lambda: table(a="x" * 2000).text("a", "a text", r".*"),
        lambda: table(a=["row", "rwo"]).choices("a", ("row", "col"), ()),
        lambda: table(a=[1, True]).integers("a", 2, 0, 9),
    ):
        with pytest.raises(UsageError) as refusal:
            refused()
        assert len(str(refusal.value)) < 500, "what was observed is shown in part"
    with pytest.raises(UsageError, match="the table lacks a key"):
        table().choice("a", ("x",))
    assert table(a={"b": {"c": 1}}).table("a").table("b").key("c") == "top.a.b.c"


def test_files_are_bounded_and_plain(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(11))
    for name, words in (
        ("large", "is too large"),
        ("none", "there is no such thing"),
        (".", "no such thing"),
    ):
        with pytest.raises(UsageError, match=words):
            read_bounded(tmp_path / name, "thing", 10)
    assert read_bounded(tmp_path / "large", "thing", 11) == bytes(11)
    with pytest.raises(UsageError, match="the thing is not TOML"):
        parse_toml(b"\xff", "x", "thing")


def test_did_you_mean() -> None:
    assert did_you_mean("scael", ["scale", "name"]) == "did you mean scale?"
    assert did_you_mean("zzz", ["scale"]) is None
    assert did_you_mean(7, ["scale"]) is None
    assert did_you_mean("scale" * 100_000, ["scale"]) is None, "in bounded time"
