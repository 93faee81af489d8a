"""What ARCHITECTURE.md says under "Adding things" holds: a check and an LDS scheme are added from outside.

tests/unit/test_new_family.py does the same with a family and a matrix instruction, tests/cli with a format and
a command.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from wrong_probes import edited

from layoutprobe import dump
from layoutprobe.checks import registry
from layoutprobe.checks.base import Check
from layoutprobe.cli.main import main
from layoutprobe.layouts import swizzle
from layoutprobe.layouts.swizzle import GROUP, SCHEMES, Index, Plain, Shape
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.subject import Subject

SEEDS = Path(__file__).resolve().parents[2] / "probes" / "gemm" / "seeds"

SHORT = Rule("instruction-count/too-many", "a kernel is long", "It is a made-up rule.", "write less")


def _count(subject: Subject) -> CheckResult:
    count = len(subject.insts)
    place = subject.case.name
    found = [Finding(SHORT, f"{place} has more than 100 instructions", observed=str(count))]
    return COUNT.found(found if count > 100 else [], metrics={"instructions": count})


COUNT = Check("instruction-count", "a kernel is short", "It counts.", _count, rules=(SHORT,), per_size=False)


@pytest.fixture
def counted() -> Iterator[None]:
    registry.register(COUNT)
    yield
    registry.CHECKS.remove(COUNT)
    registry.RULES.remove(SHORT)


@pytest.mark.usefixtures("counted")
def test_a_check_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", str(SEEDS / "layoutprobe.toml"), "--kernel", "native", "--check", "instruction-count"]
    assert main(words) == 1
    assert "has more than 100 instructions" in capsys.readouterr().out
    assert main(["explain", "instruction-count"]) == 0
    assert "It counts." in capsys.readouterr().out
    assert main(["explain", SHORT.id]) == 0
    assert "made-up rule" in capsys.readouterr().out


class _Turned(Plain):
    """Rows 2, 3, 6, 7, ... swap neighbouring groups of 8: by the second bit of the row."""

    name = "turned"
    summary = "pairs of rows swap neighbouring groups of 8 halves"
    device_define = 7

    def place(self, row: Index, col: Index, cols: int) -> Index:
        return col ^ ((row >> 1 & 1) * GROUP)

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        return f"{row}*{shape[1]} + (({col}/{GROUP}) ^ ({row}/2%2))*{GROUP} + {col}%{GROUP}"


@pytest.fixture
def turned(tmp_path: Path) -> Iterator[Path]:
    """Probes that know the scheme, which is registered."""
    line, anchor = (
        "  if (LDS_SCHEME == 7) swizzled = chunk ^ (row >> 1 & 1);\n",
        "  return row * lds_stride(Cols)",
    )
    probes = edited(tmp_path, "lds/lds_schemes.h", anchor, line + anchor)
    swizzle.register(_Turned())
    yield probes
    del SCHEMES["turned"]


def test_an_lds_scheme_is_added(turned: Path) -> None:
    report = dump("A", lds="turned", probes=turned)
    assert report.exit_code == 0
    assert "row/2%2" in report.lds_form


def test_a_scheme_that_the_device_does_not_know_is_no_green(turned: Path) -> None:
    """The probe lays the tile out in rows; LDS itself is seen to follow another scheme."""
    from layoutprobe import roundtrip

    report = roundtrip(lds="turned")
    assert report.exit_code == 1
