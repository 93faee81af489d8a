"""Executes docs/notebook.ipynb again, in place, after a change of its cells or of what they show.

    python docs/make_notebook.py

`tests/cli/test_notebook.py` executes it, too, and compares the outputs with those that it has.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parent
FILE = DOCS / "notebook.ipynb"


def executed() -> nbformat.NotebookNode:
    """The notebook with the outputs of this checkout.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raises.
    """
    notebook = nbformat.read(FILE, 4)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(DOCS)}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
    notebook.metadata.pop("language_info", None)
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(), FILE)
