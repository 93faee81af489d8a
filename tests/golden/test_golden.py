"""Commands say what they said when it was last looked at; see record.py."""

from __future__ import annotations

import json

import pytest
from golden.record import EXPECTED, commands, outcome

SAID = json.loads(EXPECTED.read_text("utf-8"))


@pytest.mark.all_in_ci
@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_a_command_says_what_it_said(words: tuple[str, ...]) -> None:
    assert outcome(words) == SAID[" ".join(words)]


def test_nothing_is_kept_that_nobody_compares() -> None:
    assert list(SAID) == [" ".join(words) for words in commands()]
