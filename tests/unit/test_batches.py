"""How many changes are compiled at once, and what becomes of those that an error of others takes along."""

from __future__ import annotations

from pathlib import Path

from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.gate.variants import Batches
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.rewrites.spot import Rewrite

FILE = Path("kernel.hip")
FINDING = Finding(Rule("numerics/x", "x", "x", "x"), "x", Place(kernel="k"))
TEXT = "#define TWICE(x) (x + x)\nint f(int a) { return " + " + ".join(["TWICE(a)"] * 8) + "; }\n"


def edits(count: int, at: int = 30) -> list[SourceEdit]:
    return [SourceEdit(FILE, Rewrite(at, at + 1, f"v{n}", "names"), float(n), FINDING) for n in range(count)]


def test_what_was_left_out_with_others_comes_again_in_two_halves_and_then_no_more() -> None:
    """One of them is to blame: half of the others are in a program without it."""
    every = edits(64)
    batches = Batches(iter(()), {FILE: TEXT})
    assert batches.once_more(every) == []
    assert batches.following(192) == every[::2]
    assert batches.following(192) == every[1::2]
    assert batches.following(192) == []
    assert batches.once_more(every) == every


def test_few_of_them_wait_until_there_is_nothing_new() -> None:
    every = edits(10)
    batches = Batches(iter(every[4:]), {FILE: TEXT})
    batches.once_more(every[:4])
    assert batches.following(192) == every[4:]
    assert [*batches.following(192), *batches.following(192)] == [every[0], every[2], every[1], every[3]]


def test_a_program_holds_fewer_changes_of_what_is_used_often() -> None:
    body = TEXT.index("(x + x)") + 1
    assert len(Batches(iter(edits(100, body)), {FILE: TEXT}).following(48)) == 48 // 8
