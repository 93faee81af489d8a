"""What never ran is said by every writer; with `strict` it is undecided in all of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from fake_gates import all_hold, kernel, report
from jsonschema import validate
from msgspec.structs import replace

from layoutprobe.place import Call, Place, SourceLine
from layoutprobe.render.formats import find, names
from layoutprobe.report.coverage import AGAIN, Branch, CodeCoverage, Loop, Stretch
from layoutprobe.report.gate import GateReport

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "gate.schema.json").read_text("utf-8"))
TAIL = Place(source=SourceLine("standard.hip", 88), pc=0x1900, instruction="global_load_b32")
COPY = replace(TAIL, inlined_at=(Call(SourceLine("standard.hip", 12), "mma"),))
K_LOOP = Place(source=SourceLine("standard.hip", 44), pc=0x1A00, instruction="s_cbranch_scc1")
COVERAGE = CodeCoverage(
    41,
    33,
    20,
    11,
    (Stretch(TAIL, 93, 0x1940, "loads"), Stretch(COPY, 88, 0x1940, "", copied=True)),
    (Branch(K_LOOP, jumped=False),),
    (
        Loop(K_LOOP, (0x1800, 0x1A00), (4, 5), False, ("1", "2"), "K = 16 or K = 32"),
        Loop(replace(K_LOOP, source=None), (0x1A10, 0x1B00), (1,), None, (AGAIN,)),
    ),
)
SAID = (
    "never ran: standard.hip:88-93 (loads)",
    "never 1 or 2 passes of the loop at standard.hip:44: try K = 16 or K = 32",
    "never a second pass of the loop at PC 0x1a00",
)


def given(*, strict: bool) -> GateReport:
    one = replace(kernel("standard", *all_hold()), coverage=COVERAGE, reservations=COVERAGE.reservations)
    return report(replace(one, strict=strict))


def written(name: str, gate: GateReport) -> str:
    stream = io.StringIO()
    find("gate", name).write(gate, stream)
    return stream.getvalue()


NAMES = names("gate")


def test_code_without_a_line_is_said_to_be_near_one() -> None:
    near = Stretch(replace(TAIL, near=True), None, 0x1940, "loads")
    assert str(near) == "PC 0x1900-0x1940, near standard.hip:88 (loads)"
    assert str(replace(near, place=replace(TAIL, source=None))) == "PC 0x1900-0x1940 (loads)"


def test_what_a_headline_says_of_it() -> None:
    """A copy that never ran of lines that did run is in the data, and in no headline."""
    assert COVERAGE.reservations == SAID
    assert str(COVERAGE) == "33 of 41 blocks, 11 of 20 ways of branches, 2 loops"
    assert str(COVERAGE.loops[0]) == "loop at standard.hip:44: 4, 5 passes, never 1 or 2 passes"
    many = replace(
        COVERAGE,
        unreached=tuple(
            Stretch(replace(TAIL, source=SourceLine("a.hip", line)), line, 0) for line in range(10, 60, 10)
        ),
    )
    assert many.reservations[0] == "never ran: a.hip:10, a.hip:20, a.hip:30 and 2 more"


def test_what_looking_for_passes_came_to_is_said() -> None:
    first, second = COVERAGE.loops
    hinted = replace(COVERAGE, loops=(first, replace(second, sought="M = 64, K = 4096")))
    assert hinted.reservations[2] == f"{SAID[2]}: no size up to M = 64, K = 4096 was found that does it"
    assert replace(first, sought="K = 4096").hint == "try K = 16 or K = 32"


def test_blocks_that_nobody_can_reach_stand_beside_no_kernel() -> None:
    """Copies that the compiler made are in the data, and in reports in full."""
    copies = replace(COVERAGE, unreached=COVERAGE.unreached[1:], loops=())
    for coverage, short in ((COVERAGE, True), (copies, False)):
        one = replace(kernel("standard", *all_hold()), coverage=coverage, reservations=coverage.reservations)
        assert ("33 of 41 blocks" in written("table", report(one))) == short
        assert "33 of 41 blocks" in written("full", report(one))
        assert json.loads(written("json", report(one)))["kernels"][0]["coverage"]["blocks_run"] == 33


@pytest.mark.parametrize("name", NAMES)
def test_every_writer_shows_it(name: str) -> None:
    text = " ".join(written(name, given(strict=False)).replace("&#58;", ":").split())
    text = text.replace("%3A", ":")
    if name == "json":
        assert json.loads(text)["kernels"][0]["coverage"]["unreached"]
        return
    for said in ("standard.hip:88-93 (loads)", "the loop at standard.hip:44"):
        assert said in text
    assert "33 of 41 blocks" in text or name in ("github", "quiet")


@pytest.mark.parametrize("name", NAMES)
def test_strict_is_undecided_everywhere(name: str) -> None:
    relaxed, strict = given(strict=False), given(strict=True)
    assert (relaxed.exit_code, strict.exit_code) == (0, 2)
    assert "--strict allows none" not in written(name, relaxed)
    assert "--strict" in " ".join(written(name, strict).split())


def test_json_has_all_of_it() -> None:
    document = json.loads(written("json", given(strict=True)))
    validate(document, SCHEMA)
    (one,) = document["kernels"]
    assert one["reservations"] == list(SAID)
    covered = one["coverage"]
    assert [u["place"]["line"] for u in covered["unreached"]] == [88, 88]
    assert covered["unreached"][0]["last_line"] == 93
    assert covered["branches"][0]["jumped"] is False
    assert [(loop["passes"], loop["wanted"]) for loop in covered["loops"]] == [
        ([4, 5], ["1", "2"]), ([1], [AGAIN]),
    ]  # fmt: skip
    assert {question["reason"] for question in one["open"]} == {
        f"a reservation, and --strict allows none: {said}" for said in SAID
    }


def test_notices_stand_beside_the_lines() -> None:
    lines = written("github", given(strict=False)).splitlines()
    (notice,) = [line for line in lines if "line=" in line]
    assert notice.startswith("::notice file=gemm/standard.hip,line=88,")
