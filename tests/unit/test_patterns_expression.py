"""The pattern language: Python's values where Python agrees, a refusal where it would be dangerous."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.errors import UsageError
from layoutprobe.patterns.expression import evaluate, parse


def value(text: str, **names: int) -> int:
    grids = {key: np.asarray(number, np.int64) for key, number in names.items()}
    return int(evaluate(parse(text, tuple(names)), grids))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3", 7),
        ("(1 + 2)*3", 9),
        ("7/2", 3),
        ("-7/2", -4),
        ("-7 % 4", 1),
        ("2 - 3 - 4", -5),
        ("64 / 4 / 2", 8),
        ("1 | 6 & 3 ^ 8", 1 | 6 & 3 ^ 8),
        ("1 << 2 + 1", 8),
        ("100 >> 2 >> 1", 12),
        ("0x1F & 7", 7),
        ("--3", 3),
        ("3 < 4", 1),
        ("(3 < 4) == (5 < 6)", 1),
        ("1 | 2 == 3", 1),
        ("5 if 0 else 6 if 1 else 7", 6),
        ("x*y + x", 12),
    ],
)
def test_values(text: str, expected: int) -> None:
    assert value(text, x=3, y=3) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "(1",
        "1)",
        "1 2",
        "row",
        "x.y",
        "x[0]",
        "f(1)",
        "__import__('os')",
        "lambda: 1",
        "1.5",
        "'a'",
        "1 < 2 < 3",
        "2**3",
        "~1",
        "1/0",
        "1 % (x - x)",
        "1 << 63",
        "1 << -1",
        "1 >> 64",
        "9999999999999999999999",
        "0x4000000000000000 + 1",
        "x << 62",
        "4611686018427387904 * 2",
        "-4611686018427387904 - 1",
        "shuffle(1, 0, 1)",
        "shuffle(3, 3, 1)",
        "shuffle(0 - 1, 3, 1)",
        "shuffle(0, 99999999, 1)",
        "shuffle(0, 1)",
        "١",
        "1 if 2",
        "(" * 100 + "1" + ")" * 100,
        "-" * 300 + "1",
        "1+" * 300 + "1",
        "1 if 1 else " * 33 + "1",
    ],
)
def test_refusals(text: str) -> None:
    with pytest.raises(UsageError):
        value(text, x=3)


def test_error_points_at_the_column() -> None:
    with pytest.raises(UsageError) as refusal:
        parse("row*16 + $", ("row",))
    assert refusal.value.where["column"] == 10


def test_shuffle_needs_constant_extent() -> None:
    grid = np.arange(4, dtype=np.int64)
    with pytest.raises(UsageError, match="must not depend"):
        evaluate(parse("shuffle(0, row, 1)", ("row",)), {"row": grid})


def test_longest_chain_is_evaluated() -> None:
    assert value("+".join(["1"] * 200)) == 200
