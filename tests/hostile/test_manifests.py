"""Hostile manifests: what they name, what they claim, and what terminals would make of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgpack
import pytest
from examples import examples
from hostile.limited import Outcome, checked
from hostile.test_code_objects import GOOD, metadata, with_note
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.manifest.read import read_manifest

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e\r\n::error::owned\u009b1m"
KERNEL = """\
[[kernel]]
name = "k"
code_object = "k.hsaco"
grid = 1
block = 128
sizes = [{ n = 40 }]
contract = { kind = "none" }
dynamic_lds = 16
argument = [
  { name = "x", role = "in", dtype = "f16", shape = ["n"] },
  { name = "y", role = "out", dtype = "f16", shape = ["n"] },
  { name = "cols", role = "scalar", dtype = "i32", value = "n" },
  { name = "stride", role = "scalar", dtype = "i32", value = "n" },
  { role = "null" },
  { role = "null" },
]
"""
SHAPE = '"in", dtype = "f16", shape = ["n"]'


def written(folder: Path, *edits: tuple[str, str], data: bytes = GOOD) -> Path:
    text = KERNEL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "k.hsaco").write_bytes(data)
    (folder / "layoutprobe.toml").write_bytes(text.encode())
    return folder / "layoutprobe.toml"


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        check(path)
    told = str(caught.value)
    assert str(path.name) in told
    assert len(told) < 5000
    return told


def error_of(path: Path) -> str:
    (verdict,) = check(path).verdicts
    assert verdict.error
    assert len(verdict.error) < 5000
    return verdict.error


def test_the_manifest_itself_holds(tmp_path: Path) -> None:
    assert check(written(tmp_path)).exit_code == 0


# Sizes


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sizes = [{ n = 40 }]", "sizes = [{ n = 9223372036854775808 }]", "sizes"),
        ("sizes = [{ n = 40 }]", f"sizes = [{', '.join(['{ n = 40 }'] * 65)}]", "1 to 64"),
        ("grid = 1", 'grid = "n << 62"', "grid"),
        ("grid = 1", "grid = 0", "grid"),
        ("grid = 1", f'grid = "{"(" * 200}n{")" * 200}"', "grid"),
        ("grid = 1", f'grid = "{" + ".join(["n"] * 5000)}"', "grid"),
        ("block = 128", "block = [1025]", "block"),
        ("dynamic_lds = 16", "dynamic_lds = 1099511627776", "dynamic_lds"),
        ("dynamic_lds = 16", 'dynamic_lds = "0 - n"', "dynamic_lds"),
        (SHAPE, '"in", dtype = "f16", shape = ["n << 20", "n << 20"]', "buffers take"),
        (SHAPE, '"in", dtype = "f16", shape = ["1 << 31", "1 << 31"]', "buffers take"),
        (SHAPE, '"in", dtype = "f16", shape = ["1 << 40"]', "out of range"),
        (SHAPE, '"in", dtype = "f16", shape = ["n"], strides = ["1 << 31"]', "buffers take"),
        (SHAPE, '"in", dtype = "f16", shape = [2, 2], ld = "1 << 31"', "buffers take"),
        ('{ role = "null" },\n  { role = "null" },', '{ role = "bytes", hex = "' + "00" * 60_000 + '" },', "hex"),
    ],
)  # fmt: skip
def test_enormous_sizes(tmp_path: Path, old: str, new: str, words: str) -> None:
    """What is too large to run is refused when that kernel is checked, and not with the manifest."""
    path = written(tmp_path, (old, new))
    assert words in (error_of(path) if words == "buffers take" else refused(path))


def test_a_manifest_with_as_much_as_it_may_have(tmp_path: Path) -> None:
    """Every bound of the format reached at once: still read in bounded time and memory."""
    sizes = ", ".join(f"{{ n = {i} }}" for i in range(1, 65))
    table = KERNEL.replace("sizes = [{ n = 40 }]", f"sizes = [{sizes}]")
    text = "\n".join(table.replace('name = "k"', f'name = "k{i}"', 1) for i in range(100))
    (tmp_path / "layoutprobe.toml").write_text(text)
    told = refused(tmp_path / "layoutprobe.toml")
    assert "below 20000" in told


@pytest.mark.parametrize(
    "text",
    [
        b"a = " + b"[" * 100_000,
        b"a = " + b"{ b = " * 100_000,
        b"[" + b"a." * 30_000 + b"a]",
        b"[[kernel]]\n" * 20_000,
        b"a" * 300_000,
        b'a = "\xff"',
        b"\0" * 1000,
    ],
    ids=["arrays", "tables", "dots", "kernels", "long", "not UTF-8", "zeros"],
)
def test_toml_that_is_a_bomb(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "layoutprobe.toml").write_bytes(text)
    refused(tmp_path / "layoutprobe.toml")


# Paths


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "dangling", "missing"])
@pytest.mark.parametrize("what", ["manifest", "code object"])
def test_what_is_no_file(tmp_path: Path, kind: str, what: str) -> None:
    path = written(tmp_path)
    hostile = path if what == "manifest" else tmp_path / "k.hsaco"
    hostile.unlink()
    match kind:
        case "pipe":
            os.mkfifo(hostile)
        case "folder":
            hostile.mkdir()
        case "device":
            hostile.symlink_to("/dev/zero")
        case "loop":
            hostile.symlink_to(hostile)
        case "dangling":
            hostile.symlink_to(tmp_path / "gone")
    told = refused(path) if what == "manifest" else error_of(path)
    assert "there is no such" in told


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../etc/passwd", "/proc/self/mem"])
def test_other_files_are_no_code_objects_and_are_not_shown(tmp_path: Path, target: str) -> None:
    """At most the start of a first line is: enough to see which file was named by mistake."""
    path = written(tmp_path, ('"k.hsaco"', json.dumps(target)))
    told = error_of(path)
    assert "code object" in told
    if "passwd" in target:
        assert Path("/etc/passwd").read_text().splitlines()[-1] not in told


@pytest.mark.long
def test_a_sparse_terabyte(tmp_path: Path) -> None:
    path = written(tmp_path)
    with (tmp_path / "k.hsaco").open("wb") as stream:
        stream.truncate(1 << 40)
    outcome = checked(path, "--format", "json")
    assert outcome.code == 2
    assert "too large" in outcome.kernel("k")["error"]


def test_a_reference_is_not_run_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef f(i, s): return {{}}\n")
    path = written(tmp_path, ('{ kind = "none" }', '{ kind = "reference", function = "r.py:f" }'))
    assert check(path).exit_code == 2
    assert not (tmp_path / "ran").exists()


# Text that terminals, and CI systems, take for commands


def assert_plain(outcome: Outcome) -> None:
    told = outcome.output + outcome.errors
    for character in "\x1b\x07\u009b\u202e":
        assert character not in told, repr(character)
    assert not any(line.startswith("::error::owned") for line in told.splitlines())


@pytest.mark.few(2)
@pytest.mark.parametrize("format", ["table", "github", "summary"])
@pytest.mark.parametrize("place", ["path", "symbol", "metadata", "skip"])
def test_escapes_do_not_reach_the_terminal(tmp_path: Path, place: str, format: str) -> None:
    hostile = json.dumps(ESCAPES)  # the escapes of JSON are those of TOML
    data = GOOD
    match place:
        case "path":
            edits = [('"k.hsaco"', hostile)]
        case "symbol":
            edits = [
                (
                    "grid = 1",
                    f"symbol = {json.dumps(ESCAPES.replace(chr(10), '').replace(chr(13), ''))}\ngrid = 1",
                )
            ]
        case "skip":
            edits = [("grid = 1", f"skip = {{ waits = {hostile} }}\ngrid = 1")]
        case _:
            edits = []
            tree = metadata()
            kernels = tree["amdhsa.kernels"]
            assert isinstance(kernels, list)
            kernels[0][".name"] = ESCAPES
            data = with_note(msgpack.packb(tree))
    assert_plain(checked(written(tmp_path, *edits, data=data), "--format", format))


def test_a_folder_with_escapes_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / ESCAPES.partition("\r\n")[0]
    folder.mkdir()
    assert_plain(checked(written(folder), "--format", "table"))
    assert_plain(checked(folder / "missing.toml", "--format", "table"))


# Whatever is read, is bounded: expressions that evaluate to anything.

NUMBERS = st.one_of(
    st.integers(-(1 << 40), 1 << 40), st.sampled_from([0, 1, 31, 32, 62, 63, 64, 1 << 31, 1 << 62])
)
TERMS = st.recursive(
    st.one_of(NUMBERS.map(lambda n: str(n) if n >= 0 else f"(0 - {-n})"), st.just("n")),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "=="]), inner
        ).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    ),
    max_leaves=8,
)
PLACES = ("grid = 1", "block = 128", "dynamic_lds = 16")


@given(st.sampled_from(PLACES), TERMS)
@examples(150, quiet=[HealthCheck.function_scoped_fixture])
def test_expressions_of_any_value(tmp_path: Path, place: str, term: str) -> None:
    path = written(tmp_path, (place, f'{place.split(" ")[0]} = "{term}"'))
    try:
        (case,) = read_manifest(path).kernels
    except UsageError as error:
        told = str(error)
    else:
        told = "layoutprobe.toml"
        assert case.sizes == ({"n": 40},)
    assert "layoutprobe.toml" in told


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        "a." * 100_000 + "b = 1",
        "[" + "a . " * 60_000 + "b]",
        "x = {" + '"a".' * 60_000 + "b = 1}",
        "x." * 16 + "y = 1",
    ],
)
def test_a_key_of_many_parts_costs_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "layoutprobe.toml").write_text(text)
    outcome = checked(tmp_path / "layoutprobe.toml")
    assert outcome.code == 2
    assert "the manifest has a key of too many parts" in outcome.output + outcome.errors


def test_dots_in_texts_and_comments_are_no_keys(tmp_path: Path) -> None:
    dots = "a." * 40
    path = written(tmp_path, ('name = "k"', f'# {dots}\nname = "k"'))
    path.write_text(path.read_text() + f"[kernel.skip]\nwaits = \"{dots}\"\nraces = '''{dots}'''\n")
    assert read_manifest(path).kernels[0].skip == {"waits": dots, "races": dots}


def test_a_misspelt_key_that_is_needed_is_named(tmp_path: Path) -> None:
    told = refused(written(tmp_path, ("grid = 1", "gird = 1")))
    assert "lacks a key" in told
    assert "is `gird` meant to be `grid`?" in told


def test_an_oversized_kernel_spoils_only_itself(tmp_path: Path) -> None:
    path = written(tmp_path)
    large = KERNEL.replace('name = "k"', 'name = "large"').replace("n = 40 }", "n = 2147483647 }")
    path.write_text(large + path.read_text())
    first, second = check(path).verdicts
    assert "the buffers take" in first.error
    assert not second.error
    assert second.exit_code == 0
