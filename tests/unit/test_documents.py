"""What documents show is what the program takes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from layoutprobe.arch import ARCHES
from layoutprobe.claims import VERDICTS, read_claims, read_text
from layoutprobe.extras.hiphost import pretence

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / document).read_text("utf-8"), re.DOTALL)


def test_the_python_of_captures_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("captures.md", "python")
    exec(compile(code, "docs/captures.md", "exec"), {})
    assert (tmp_path / "xor.cap").is_file()


def test_captures_names_every_target_that_is_emulated() -> None:
    (row,) = re.findall(r"^\| `emulator` \|.*$", (DOCS / "captures.md").read_text("utf-8"), re.MULTILINE)
    for name, target in ARCHES.items():
        family = name[:5] if name.startswith("gfx11") else name
        assert not target.emulated or re.search(rf"\b{family}\b", row), name


def test_every_pretence_is_documented() -> None:
    text = (DOCS / "hip.md").read_text("utf-8")
    for item in pretence._EXPECTED.partition(";")[0].split(", "):
        assert f"| `{item.partition('=')[0]}=" in text, item


def test_forms_of_claims_are_read(tmp_path: Path) -> None:
    text = (DOCS / "claims.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith(("| formula", "| GF(2)", "| CuTe"))]
    sentences = [says for row in rows for says in re.findall(r"`([^`]+)`", row)]
    assert len(sentences) == 5
    for says in sentences:
        assert read_text(says).statements
    for suffix, (block,) in ((suffix, blocks("claims.md", suffix)) for suffix in ("toml", "csv")):
        path = tmp_path / f"claims.{suffix}"
        path.write_text(block)
        (claims,) = read_claims([str(path)])
        assert [statement.matrix for statement in claims.statements] == ["A"]
    for verdict in VERDICTS:
        assert f"| {verdict} |" in text


def test_the_table_of_sanitizers_is_what_its_script_writes() -> None:
    """A fault that is planted anew is in it, as what the card has not seen."""
    table = runpy.run_path(str(DOCS.parent / "benchmarks" / "sanitizers" / "table.py"))
    again = "python benchmarks/sanitizers/table.py writes it again"
    assert (DOCS / "sanitizers.md").read_text("utf-8") == table["page"](), again
