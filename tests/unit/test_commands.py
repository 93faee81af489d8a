"""dump, roundtrip, epilogue: what goes into a report, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wrong_probes import edited

import layoutprobe
from layoutprobe import dump, epilogue, load_pattern, roundtrip
from layoutprobe.arch import find
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.capture.capture import Evidence
from layoutprobe.errors import UsageError
from layoutprobe.experiments.setup import codings_of
from layoutprobe.layouts.layout import HOLE, UNKNOWN
from layoutprobe.probing.bench import Bench

BACKEND = EmulatorBackend()


class Recorder:
    """A backend that passes on, and counts."""

    name = "recorder"

    def __init__(self, evidence: Evidence | None = None) -> None:
        self.device: dict[str, str] = {}
        self.kernels: list[str] = []
        self.evidence = evidence

    def run(self, launch: Launch) -> RunResult:
        self.kernels.append(launch.kernel)
        result = BACKEND.run(launch)
        # A card knows nothing of undefined bits.
        nowhere = (None,) * len(result.buffers)
        return RunResult(result.buffers, nowhere, self.evidence) if self.evidence else result


def test_dump_asks_nothing_twice() -> None:
    recorder = Recorder()
    dump("A", backend=recorder)
    others = [kernel for kernel in recorder.kernels if not kernel.startswith("v_wmma_f32_16x16x16_f16")]
    assert sorted(others) == ["epilogue", "operand", "operand"], "one launch per pattern, of operands alone"
    assert len(recorder.kernels) - len(others) == 2, "one launch per round of questions to the instruction"


def test_one_launch_per_pattern() -> None:
    recorder = Recorder()
    report = dump("B", pattern=["row-coded", "col-coded"], backend=recorder)
    assert recorder.kernels.count("operand") == 2
    assert report.patterns == ("row-coded", "col-coded")
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("matrix", "pattern"),
    [
        *(
            (matrix, pattern)
            for matrix in "AB"
            for pattern in ("random:seed=11", "row*64 + col", "col*64 + row")
        ),
    ],
)
def test_any_pattern_that_tells_elements_apart_finds_the_same_layout(matrix: str, pattern: str) -> None:
    found = dump(matrix, pattern=pattern, backend=BACKEND)
    assert found.loaded == dump(matrix, backend=BACKEND).loaded
    assert found.undecided == ""
    assert found.patterns == (pattern,), "the report names the pattern so that it can be asked for again"


@pytest.mark.parametrize("matrix", ["A", "B", "C", "D"])
def test_patterns_by_which_elements_collide_are_refused(matrix: str) -> None:
    """Also where they suffice for the matrix shown: the instruction joins both."""
    recorder = Recorder()
    with pytest.raises(
        UsageError, match=r"Pattern row\*16 \+ col does not tell two elements of B apart"
    ) as refusal:
        dump(matrix, pattern="row*16 + col", backend=recorder)
    assert refusal.value.exit_code == 2
    assert refusal.value.where == {"matrix": "B", "shape": "16 x 64"}
    assert refusal.value.observed == "B[0][16] and B[1][0] both have code 16"
    assert recorder.kernels == [], "nothing was run"


@pytest.mark.parametrize(
    "pattern", ["row", "rowxorcol", "-row", ["rowxorcol", "rowxorcol"], ["row", "row + 1"]]
)
def test_patterns_that_leave_an_axis_open_without_saying_so_are_refused(pattern: str | list[str]) -> None:
    with pytest.raises(UsageError, match="tell two elements of A apart") as refusal:
        roundtrip("xor", pattern, backend=BACKEND)
    assert "both have code" in str(refusal.value.observed)


@pytest.mark.parametrize(
    ("pattern", "carrier"),
    [
        ("row*cols + col", "raw16"),
        ("rowcol-block", "raw16"),  # 64 rows of n/128 are no f16 numbers
        (["-row", "-col"], "f16"),  # raw bits hold no negative code
        (["rowxorcol", "rowbyte"], "raw16"),
        (["row*16 + col", "row"], "raw16"),
    ],
)
def test_patterns_that_together_suffice_are_decided_without_naming_a_carrier(
    pattern: str | list[str], carrier: str
) -> None:
    found = dump("B", pattern=pattern, backend=BACKEND)
    assert found.exit_code == 0
    assert found.loaded == dump("B", backend=BACKEND).loaded
    assert (
        codings_of(
            Bench("gfx1151", find("gfx1151").probed_form("f16"), "none", BACKEND), "operand", pattern, None
        )[0].carrier
        == carrier
    )


def test_a_carrier_that_does_not_hold_the_codes_is_refused_and_another_named() -> None:
    with pytest.raises(UsageError, match="Pattern -row is not exact in raw16") as refusal:
        dump("A", pattern="-row", carrier="raw16", backend=BACKEND)
    assert refusal.value.hint == "another carrier holds it: f16"


@pytest.mark.parametrize("pattern", [5, [5], 5.0, {"a"}, b"row", None])
def test_what_is_no_pattern_is_refused_in_words(pattern: Any) -> None:
    if pattern is not None:
        with pytest.raises(UsageError, match="must be text"):
            dump(pattern=pattern, backend=BACKEND)
    with pytest.raises(UsageError, match="a pattern must be text"):
        load_pattern(pattern)


def test_a_pattern_of_one_axis_decides_nothing() -> None:
    report = dump("B", pattern="row-coded", backend=BACKEND)
    assert report.exit_code == 2
    assert "do not tell all elements of A and of B apart, such as A[0][0] and A[0][1]; " in report.undecided
    assert not (report.loaded.row == HOLE).any(), "an element that is not known is no missing element"
    assert (report.loaded.col == UNKNOWN).any()
    assert not report.mismatch.any()
    assert report.coverage is None
    assert report.closed_form == ""


def test_a_pattern_that_does_not_suffice_still_sees_a_contradiction(tmp_path: Path) -> None:
    load = "Fragment a = load_fragment(a_lds, wave * 16 + lane % 16);"
    probes = edited(tmp_path, "operand.hip", load, load.replace("lane % 16", "lane % 8"))
    report = dump("A", pattern="row-coded", backend=BACKEND, probes=probes)
    assert report.exit_code == 1
    assert "other elements than the instruction needs" in report.findings[0].what
    assert (report.findings[0].expected, report.findings[0].observed) == ("A[8][0]", "A[0][?]")
    lanes = np.flatnonzero(report.mismatch.any(axis=(0, 2, 3)))
    assert lanes.tolist() == [*range(8, 16), *range(24, 32)]  # both copies of rows 8-15


@pytest.mark.parametrize("pattern", ["row-coded", "identity"])
def test_roundtrip_with_an_ambiguous_pattern_is_undecided(pattern: str) -> None:
    report = roundtrip("xor", pattern, backend=BACKEND)
    assert report.exit_code == 2
    assert report.findings == ()


def test_report_says_what_was_probed() -> None:
    report = dump("A", "xor", backend=BACKEND)
    assert (report.command, report.matrix, report.lds, report.dtype) == ("dump", "A", "xor", "f16")
    assert report.arch == "gfx1151"
    assert report.instruction == "v_wmma_f32_16x16x16_f16"
    assert report.tile == (64, 64, 16)
    assert report.patterns == ("rowcol", "row-coded")
    assert report.lds_form == "row*16 + ((col/8) ^ (row%2))*8 + col%8"
    assert [e.kind for e in report.evidence] == ["emulated"]
    assert report.coverage is not None
    assert report.coverage.seen == report.coverage.elements == 1024
    assert report.closed_form == "A[16*wave + lane % 16][2*vgpr + half]"
    assert "-DLDS_SCHEME=2" in report.toolchain["operand flags"]
    for probe in ("operand", "interaction", "epilogue"):
        assert len(report.toolchain[f"{probe} code_object"]) == 64


def test_evidence_is_that_of_the_backend() -> None:
    """What a card measured is not called emulated, and needs no knowledge of undefined bits."""
    measured = Evidence("measured", "gfx1151 in a test")
    for report in (
        dump("A", backend=Recorder(measured)),
        epilogue(backend=Recorder(measured)),
        roundtrip("xor", backend=Recorder(measured)),
    ):
        assert report.evidence == (measured,)
        assert report.exit_code == 0


def test_c_and_d_show_the_epilogue() -> None:
    c, d, e = dump("C", backend=BACKEND), dump("D", backend=BACKEND), epilogue(backend=BACKEND)
    assert (c.loaded.matrix, d.loaded.matrix) == ("C", "D")
    assert np.array_equal(c.loaded.row, d.loaded.row)
    assert d.loaded == e.loaded
    assert e.lds == ""
    assert e.patterns == ()


def test_roundtrip_involves_no_instruction() -> None:
    recorder = Recorder()
    report = roundtrip("padded", backend=recorder)
    assert set(recorder.kernels) == {"roundtrip"}
    assert report.instruction == ""
    assert report.needed is None
    assert report.lds_map is not None
    assert report.lds_map.row.size == 64 * 24
    assert (report.lds_map.row.reshape(64, 24)[:, 16:] == HOLE).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"matrix": "E"}, "no matrix named 'E'"),
        ({"matrix": ""}, "no matrix named ''"),
        ({"matrix": 3}, "no matrix named 3"),
        ({"arch": 3}, "`arch` must be text"),
        ({"arch": ""}, "unknown arch ''"),
        ({"dtype": 16}, "`dtype` must be text"),
        ({"lds": ["xor"]}, "`lds` must be text"),
        ({"pattern": [1]}, "`pattern` must be text"),
        ({"pattern": []}, "no pattern is given"),
        ({"carrier": "raw8"}, "carrier raw8 does not hold f16 elements"),
        ({"carrier": "f17"}, "Unknown carrier 'f17'"),
        ({"compiler": ""}, "the compiler has no name"),
        ({"backend": "silicon"}, "no backend named 'silicon'"),
        ({"backend": 7}, "`backend` must be a name"),
        ({"probes": "/nope"}, "the directory of probes does not exist"),
        ({"probes": 7}, "`probes` must be a path"),
        ({"matrix": "AB"}, "no matrix named 'AB'"),
        ({"lds": "xro"}, "no LDS scheme named 'xro'"),
        ({"pattern": "rowcoll"}, "Unknown pattern 'rowcoll'"),
        ({"dtype": "f17"}, "gfx1151 has no matrix instruction for dtype 'f17'"),
        ({"dtype": "iu8"}, "no probe yet for the iu8 matrix instructions of gfx1151"),
        ({"dtype": "i8"}, "no probe yet for the iu8 matrix instructions of gfx1151"),
        ({"dtype": "u8"}, "no probe yet for the iu8 matrix instructions of gfx1151"),
        ({"dtype": "i4"}, "no probe yet for the iu4 matrix instructions of gfx1151"),
        ({"dtype": "iu4"}, "no probe yet for the iu4 matrix instructions of gfx1151"),
        ({"arch": "gfx1200", "dtype": "fp8"}, "no probe yet for the fp8 matrix instructions of gfx1200"),
        ({"arch": "gfx1"}, "unknown arch 'gfx1'"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dump(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("GFX1151", "did you mean gfx1151?"), ("1151", "did you mean gfx1151?"), ("gfx1250", None)],
)
def test_another_chip_is_no_typing_error(typed: str, hint: str | None) -> None:
    """gfx1250 is as real as gfx1151: who asks for it did not mistype."""
    with pytest.raises(UsageError, match="unknown arch") as caught:
        dump(arch=typed, backend=BACKEND)
    assert caught.value.hint == hint
    assert "gfx1151" in str(caught.value.expected)


def test_a_directory_without_probes_is_said_in_a_line(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"note{number}.toml").touch()
    with pytest.raises(UsageError, match="no probe named 'operand'") as caught:
        dump(backend=BACKEND, probes=tmp_path)
    assert len(str(caught.value)) < 600


def test_names_are_accepted_as_on_the_command_line() -> None:
    report = dump("b", backend="emulator", probes=str(asset_dir("probes")))
    assert report.matrix == "B"
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("pattern", "carrier"), [("rowcol-block", "raw16"), (["row-coded", "col-coded"], "f16")]
)
def test_a_carrier_of_choice(pattern: str | list[str], carrier: str) -> None:
    report = dump(pattern=pattern, carrier=carrier, backend=BACKEND)
    assert report.exit_code == 0
    assert report.loaded == dump(backend=BACKEND).loaded


def test_a_pattern_that_its_carrier_cannot_hold_says_which_can() -> None:
    with pytest.raises(UsageError, match="Pattern rowcol-block is not exact in f16") as caught:
        dump(pattern="rowcol-block", carrier="f16", backend=BACKEND)
    assert caught.value.where == {"matrix": "A", "shape": "64 x 16", "row": 16, "col": 1}
    assert caught.value.hint == "another carrier holds it: raw16"


def test_a_broken_claim_names_the_matrix(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('name = "p"\nexpression = "row*16 + col"\nidentifies = ["row", "col"]\n')
    with pytest.raises(UsageError, match="does not tell two elements apart") as caught:
        dump("A", pattern=str(file), backend=BACKEND)
    assert caught.value.where["matrix"] == "B"
    assert caught.value.where["shape"] == "16 x 64"
    assert "tile" not in str(caught.value.hint)


def test_reports_are_short_where_they_are_only_named() -> None:
    report = dump("A", backend=BACKEND)
    assert repr(report) == (
        "<LayoutReport: dump of A on gfx1151: holds (emulated); A[16*wave + lane % 16][2*vgpr + half]>"
    )
    assert repr(report.loaded) == "<Layout of A (64 x 16) in 4 waves x 32 lanes x 8 VGPRs x 2 fields>"


@pytest.mark.parametrize("probe", ["operand", "epilogue"])
def test_probes_of_another_instruction_are_refused(probe: str, tmp_path: Path) -> None:
    probes = edited(tmp_path, f"{probe}.toml", "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16")
    with pytest.raises(UsageError, match="do not execute the matrix instruction") as caught:
        dump("A", backend=BACKEND, probes=probes)
    assert caught.value.expected == "v_wmma_f32_16x16x16_f16"


def test_public_names_are_there_and_cost_nothing_before_use() -> None:
    for name in layoutprobe.__all__:
        assert getattr(layoutprobe, name) is not None
    assert set(layoutprobe.__all__) <= set(dir(layoutprobe))
    with pytest.raises(AttributeError, match="no attribute 'dmup'"):
        _ = layoutprobe.dmup
    script = "import sys, layoutprobe; print('numpy' in sys.modules, layoutprobe.dump.__name__)"
    root = Path(layoutprobe.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "dump"]
