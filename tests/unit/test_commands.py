"""dump, roundtrip, epilogue: what goes into a report, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import layoutprobe
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.capture.capture import Evidence
from layoutprobe.commands import dump, epilogue, roundtrip
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE

BACKEND = EmulatorBackend()


class Recorder:
    """A backend that passes on, and counts."""

    name = "recorder"

    def __init__(self, evidence: Evidence | None = None) -> None:
        self.kernels: list[str] = []
        self.evidence = evidence

    def run(self, launch: Launch) -> RunResult:
        self.kernels.append(launch.kernel)
        result = BACKEND.run(launch)
        # A card knows nothing of undefined bits.
        nowhere = (None,) * len(result.buffers)
        return RunResult(result.buffers, nowhere, self.evidence) if self.evidence else result


def test_dump_runs_each_probe_once() -> None:
    recorder = Recorder()
    dump("A", backend=recorder)
    assert sorted(recorder.kernels) == ["epilogue", "interaction", "operand"]


def test_one_launch_per_pattern() -> None:
    recorder = Recorder()
    report = dump("B", pattern=["row-coded", "col-coded"], backend=recorder)
    assert recorder.kernels.count("operand") == 2
    assert report.patterns == ("row-coded", "col-coded")
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("matrix", "pattern"),
    [
        *(("A", pattern) for pattern in ("random:seed=11", "row*16 + col", "row*64 + col")),
        *(("B", pattern) for pattern in ("random:seed=11", "row*64 + col", "col*16 + row")),
    ],
)
def test_any_pattern_that_tells_elements_apart_finds_the_same_layout(matrix: str, pattern: str) -> None:
    found = dump(matrix, pattern=pattern, backend=BACKEND)
    assert found.loaded == dump(matrix, backend=BACKEND).loaded
    assert found.undecided == ""
    assert found.patterns == (pattern,), "the report names the pattern so that it can be asked for again"


def test_a_pattern_that_does_not_suffice_decides_nothing() -> None:
    report = dump("B", pattern="row*16 + col", backend=BACKEND)
    assert report.exit_code == 2
    assert "do not tell all elements of B apart" in report.undecided
    assert (report.loaded.row == HOLE).any()
    assert not report.mismatch.any()


def test_a_pattern_that_does_not_suffice_still_sees_a_contradiction(tmp_path: Path) -> None:
    probes = tmp_path / "probes"
    shutil.copytree(asset_dir("probes"), probes)
    source = probes / "operand.hip"
    load = "half16 a = load_fragment(a_lds, wave * 16 + lane % 16);"
    assert source.read_text().count(load) == 1
    source.write_text(source.read_text().replace(load, load.replace("lane % 16", "lane % 8")))
    report = dump("A", pattern="row-coded", backend=BACKEND, probes=probes)
    assert report.exit_code == 1
    assert "another row or column" in report.findings[0].what
    lanes = np.flatnonzero(report.mismatch.any(axis=(0, 2, 3)))
    assert lanes.tolist() == [8, 10, 12, 14, 25, 27, 29, 31]  # live lanes of rows 8-15


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
    assert report.patterns == ("rowcol",)
    assert [e.kind for e in report.evidence] == ["emulated"]
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
    assert recorder.kernels == ["roundtrip"]
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
        ({"matrix": "AB"}, "no matrix named 'AB'"),
        ({"lds": "xro"}, "no LDS scheme named 'xro'"),
        ({"pattern": "rowcoll"}, "Unknown pattern 'rowcoll'"),
        ({"dtype": "f17"}, "f17"),
        ({"arch": "gfx1"}, "gfx1"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dump(**arguments)  # type: ignore[arg-type]


def test_the_epilogue_takes_no_pattern() -> None:
    with pytest.raises(UsageError, match="takes no pattern"):
        epilogue("rowcol", backend=BACKEND)


def test_probes_of_another_instruction_are_refused(tmp_path: Path) -> None:
    probes = tmp_path / "probes"
    shutil.copytree(asset_dir("probes"), probes)
    spec = probes / "interaction.toml"
    spec.write_text(spec.read_text().replace("v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16"))
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
