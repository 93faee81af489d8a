"""Others' words: no control character, no line of their own, no flood; wherever they are printed."""

from __future__ import annotations

import io

import pytest

from layoutprobe.capture.capture import Evidence
from layoutprobe.capture.identity import said
from layoutprobe.errors import ProbeError
from layoutprobe.place import Call, Element, Place, SourceLine
from layoutprobe.render.page import write_lines
from layoutprobe.text import LONGEST_ECHO, clipped, either, function_name, one_line, printable

EVIL = "a card\nverdict    ✓ HOLDS\x1b[2J\r\u202e"


@pytest.mark.parametrize(
    "shown",
    [
        one_line(EVIL),
        str(Evidence("replayed", EVIL, "0123456789abcdef", "measured")),
        said(EVIL, "gfx1151", {"lds": EVIL}),
        str(Place(kernel=EVIL, source=SourceLine(EVIL, 3), inlined_at=(Call(SourceLine("f", 1), EVIL),))),
        str(Place(buffer=EVIL, element=Element(EVIL, (1, 2)))),
        Place(instruction="ds_load_b32", source=SourceLine(EVIL, 3)).site,
        str(ProbeError("wrong", where={"file": EVIL})).removeprefix("wrong\n"),
    ],
)
def test_a_name_stays_on_its_line(shown: str) -> None:
    assert shown.isprintable()
    assert r"\nverdict" in shown


def test_a_header_has_the_lines_that_we_gave_it() -> None:
    stream = io.StringIO()
    evidence = Evidence("replayed", EVIL, "0123456789abcdef", "measured")
    write_lines(lambda page: page.pairs([("evidence", str(evidence))]), stream)
    assert not [line for line in stream.getvalue().splitlines() if line.startswith("verdict")]


def test_messages_keep_the_lines_that_are_ours() -> None:
    assert printable("a\nb\tc\x1b") == "a\nb\\tc\\x1b"
    assert printable("é✓", "ascii") == r"\xe9\u2713"


def test_long_lines_are_cut_and_say_so() -> None:
    text = clipped(f"short\n{'x' * 10_000}\nlast")
    first, second, third = text.split("\n")
    assert (first, third) == ("short", "last")
    assert second == "x" * LONGEST_ECHO + "... (10000 characters)"


def test_causes_that_are_not_told_apart_stand_side_by_side() -> None:
    assert either(["one"]) == "one"
    assert either(["one", "two", "one", "three"]) == "one (or: two; or: three)"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("gemm", "gemm"),
        ("_Z5hgemmPKDF16_S0_PDF16_iii", "hgemm"),
        ("_Z12batched_gemmILi64ELi48EEvPKDF16_S1_PDF16_iiixxx", "batched_gemm<64, 48>"),
        ("_Z6skinnyILb1ELin4EEvPf", "skinny<true, -4>"),
        ("_Z4moveIfEvPT_", "move<...>"),
        ("_ZN7library6detail4gemmEPf", "library::detail::gemm"),
        ("_ZN12_GLOBAL__N_14gemmEPf", "gemm"),
        ("_ZL4gemmPf", "gemm"),
        ("_Z", "_Z"),
        ("_Z99gemm", "_Z99gemm"),
        ("_Zone", "_Zone"),
    ],
)
def test_a_function_is_called_as_its_author_does(symbol: str, name: str) -> None:
    assert function_name(symbol) == name
