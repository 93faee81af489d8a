"""docs/fidelity.md names every experiment with the question that the code asks, and every verdict."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from layoutprobe.fidelity.registry import EXPERIMENTS
from layoutprobe.report.fidelity import Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "fidelity.md").read_text("utf-8")


def first_cells(heading: str) -> dict[str, str]:
    """First cell of each row of the table under a heading, with the second."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return {row[0].strip(): row[1].strip() for row in rows[2:]}


def test_every_experiment_is_there_in_order() -> None:
    listed = first_cells("What is asked")
    assert list(listed) == [experiment.name for experiment in EXPERIMENTS]
    for experiment in EXPERIMENTS:
        assert listed[experiment.name].startswith(experiment.question)


def test_every_verdict_is_there() -> None:
    assert list(first_cells("Verdicts")) == list(get_args(Verdict))
