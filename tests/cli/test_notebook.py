"""The notebook of the documentation: executed again, it shows what it showed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXECUTE = """
import sys
import make_notebook, nbformat
nbformat.write(make_notebook.executed(), sys.argv[1])
"""


def outputs(notebook: nbformat.NotebookNode) -> list[list[dict[str, object]]]:
    return [[dict(each) for each in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.long
def test_the_notebook_shows_what_it_showed(tmp_path: Path) -> None:
    """In a process of its own, as notebooks run."""
    file = tmp_path / "again.ipynb"
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(file)], cwd=DOCS, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    kept, again = outputs(nbformat.read(DOCS / "notebook.ipynb", 4)), outputs(nbformat.read(file, 4))
    assert [len(cell) for cell in kept] == [1] * len(kept), "each cell of code shows something, and only that"
    assert again == kept, "python docs/make_notebook.py writes it again"


def test_the_notebook_carries_no_script_and_fetches_nothing() -> None:
    text = (DOCS / "notebook.ipynb").read_text("utf-8")
    for forbidden in ("<script", "http://", "https://", "src=", "/tmp/"):
        assert forbidden not in text.replace("http://www.w3.org/2000/svg", ""), forbidden
