"""Every check says what it tests and what it cannot see, in the command and in docs/checks.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
SECTIONS = {text.split("\n", 1)[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


def test_the_page_has_every_check_and_no_other() -> None:
    assert [name for name in SECTIONS if name in {check.name for check in CHECKS}] == list(SECTIONS)[:-1]
    assert len(SECTIONS) == len(CHECKS) + 1


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_its_law_and_its_limits_stand_there(check: Check) -> None:
    section = SECTIONS[check.name]
    assert f"Law: {check.law}\n" in section
    assert "**Undecided**" in section
    assert "**Not seen**" in section
    assert "Evidence: " in check.explain


def test_a_new_check_needs_words() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
