"""Source lines of findings: those of the kernel's own tree, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from layoutprobe.checks.registry import RULES
from layoutprobe.gate.excerpts import MOST_BYTES, excerpts
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.place import Place, SourceLine
from layoutprobe.report.finding import Finding, Related

MANIFEST = """\
[[kernel]]
name = "copy"
source = "src/copy.hip"
include = ["headers"]
arch = ["gfx1151"]
grid = [1]
block = [32]
sizes = [{ M = 16 }]
contract = { kind = "none" }
argument = [{ name = "A", role = "in", dtype = "f16", shape = ["M"] }]
"""


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelCase:
    tree = tmp_path / "tree"
    for name in ("src", "headers"):
        (tree / name).mkdir(parents=True)
    (tree / "src" / "copy.hip").write_text("".join(f"line {n}\n" for n in range(1, 9)))
    (tree / "headers" / "load.h").write_text("first\n\tsecond\n")
    (tmp_path / "secret.h").write_text("secret\n")
    (tree / "src" / "link.h").symlink_to(tmp_path / "secret.h")
    (tree / "src" / "large.h").write_bytes(b"x\n" * (MOST_BYTES // 2 + 1))
    (tree / "layoutprobe.toml").write_text(MANIFEST)
    monkeypatch.chdir(tree / "headers")
    (only,) = read_manifest(tree / "layoutprobe.toml", checks=[], rules=[]).kernels
    return only


def found(file: str, line: int, *related: SourceLine, near: bool = False) -> list[Finding]:
    others = tuple(Related("loaded by", Place(source=source)) for source in related)
    return [Finding(RULES[0], "wrong", Place(source=SourceLine(file, line), near=near), related=others)]


def test_lines_around_each_place_are_kept(case: KernelCase) -> None:
    kept = excerpts(case, found("copy.hip", 4, SourceLine("../headers/load.h", 1), SourceLine("copy.hip", 8)))
    assert kept == {
        "copy.hip": {3: "line 3", 4: "line 4", 5: "line 5", 7: "line 7", 8: "line 8"},
        "../headers/load.h": {1: "first", 2: "\tsecond"},
    }


@pytest.mark.parametrize(
    "file", ["../../secret.h", "/etc/hostname", "link.h", "large.h", "missing.h", ".", "a\0b"]
)
def test_no_other_file_is_read(case: KernelCase, file: str) -> None:
    """A line table is data of a stranger; a report is read by others."""
    assert excerpts(case, found(file, 1)) == {}


def test_lines_that_may_be_others_are_not_shown(case: KernelCase) -> None:
    """Sources of a ready code object may have changed since; and a near line is not the instruction's."""
    assert excerpts(case, found("copy.hip", 4, near=True)) == {}
    assert excerpts(replace(case, source=None, code_object=case.source), found("copy.hip", 4)) == {}
