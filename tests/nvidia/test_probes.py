"""The probes as an H100 executed them: shared memory, ldmatrix, operands, epilogue.

h100.cap and h100_ldmatrix.cap were recorded on 2026-11-21 (tests/nvidia/record.py); here they are solved
by the commands that serve the emulator.
"""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from nvidia.ptx_formulas import A, B, D, Formula

import layoutprobe
from layoutprobe.backends.recorded import Replay
from layoutprobe.capture.capture import Capture
from layoutprobe.capture.file import CaptureFile, read_captures, write_captures
from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import Layout
from layoutprobe.patterns import load_pattern
from layoutprobe.solver.movement import solve_movement
from layoutprobe.solver.observe import Observation

HERE = Path(__file__).parent
STEP = {"A": (16, 0), "B": (0, 8), "D": (16, 0)}
# row-permute is younger than the recordings.
CELL = {
    "none": lambda line, k: line * 16 + k,
    "padded": lambda line, k: line * 24 + k,
    "xor": lambda line, k: line * 16 + (k // 8 ^ line % 2) * 8 + k % 8,
    "xor-vector": lambda line, k: line * 16 + (k // 8 ^ line // 4 % 2) * 8 + k % 8,
}


@cache
def recorded(name: str = "h100.cap") -> CaptureFile:
    return read_captures(HERE / name)


def by_document(formula: Formula, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    row, col = np.empty_like(layout.row), np.empty_like(layout.col)
    for wave, lane, vgpr, field in np.ndindex(layout.row.shape):
        r, c = formula(lane >> 2, lane % 4, vgpr * layout.fields + field)
        down, right = STEP[layout.matrix]
        row[wave, lane, vgpr, field] = wave * down + r
        col[wave, lane, vgpr, field] = wave * right + c
    return row, col


@pytest.mark.parametrize("lds", CELL)
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_ldmatrix_loads_what_mma_sync_needs(matrix: str, lds: str) -> None:
    report = layoutprobe.dump(matrix, lds, arch="sm_90", backend=Replay(recorded()))
    assert report.exit_code == 0
    row, col = by_document({"A": A, "B": B}[matrix][16, 16, 16], report.loaded)
    assert np.array_equal(report.loaded.row, row)
    assert np.array_equal(report.loaded.col, col)
    assert report.needed == report.loaded
    assert {evidence.kind for evidence in report.evidence} == {"replayed"}
    assert all("measured on NVIDIA H100 80GB HBM3" in str(evidence) for evidence in report.evidence)


def test_the_epilogue_stores_by_nvidias_document() -> None:
    report = layoutprobe.epilogue(arch="sm_90", backend=Replay(recorded()))
    assert report.exit_code == 0
    row, col = by_document(D[16], report.loaded)
    assert np.array_equal(report.loaded.row, row)
    assert np.array_equal(report.loaded.col, col)


@pytest.mark.parametrize("lds", CELL)
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_shared_memory_holds_the_scheme(matrix: str, lds: str) -> None:
    report = layoutprobe.roundtrip(lds, arch="sm_90", matrix=matrix, backend=Replay(recorded()))
    assert report.exit_code == 0
    assert report.lds_map is not None
    for line in range(64):
        for k in range(16):
            cell = CELL[lds](line, k)
            at = (line, k) if matrix == "A" else (k, line)
            assert (report.lds_map.row[cell], report.lds_map.col[cell]) == at


def changed(output: str, change: str) -> CaptureFile:
    """The recorded runs as wrong code on the card had left them."""

    def edit(capture: Capture) -> Capture:
        if output not in capture.outputs:
            return capture
        array = capture.outputs[output].copy()
        if change == "registers swapped":
            array = array[:, ::-1].copy()
        elif change == "halves swapped":
            array = array << np.uint32(16) | array >> np.uint32(16)
        else:
            array = np.roll(array, 4, axis=-1)
        return replace(capture, outputs={**capture.outputs, output: array})

    return replace(recorded(), captures=tuple(edit(capture) for capture in recorded().captures))


@pytest.mark.parametrize("change", ["registers swapped", "halves swapped", "lanes rotated by a group"])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_a_wrong_load_is_a_finding(matrix: str, change: str) -> None:
    """On one operand alone: the other one tells that it is no joint renaming."""
    output = {"A": "a_regs", "B": "b_regs"}[matrix]
    report = layoutprobe.dump(matrix, "xor", arch="sm_90", backend=Replay(changed(output, change)))
    assert report.exit_code == 1
    assert report.mismatch.any()


@pytest.mark.parametrize("transposed", [0, 1])
def test_ldmatrix_as_nvidias_document_has_it(transposed: int) -> None:
    """PTX ISA 8.7, ldmatrix: lane l gets elements 2 * (l % 4) and the next of row l / 4 of each matrix.

    With .trans it gets them of the transposed matrix. Register v is of matrix v, rows 8v to 8v + 7.
    """
    seen = [
        Observation(load_pattern(str(c.parameters["pattern"])), "raw16", c.outputs["regs"], None)
        for c in recorded("h100_ldmatrix.cap").captures
        if c.parameters["transposed"] == transposed
    ]
    assert len(seen) == 2
    found = solve_movement(seen, "A", (32, 8), 16).layout
    for _, lane, vgpr, half in np.ndindex(found.row.shape):
        line, place = lane // 4, 2 * (lane % 4) + half
        row, col = (place, line) if transposed else (line, place)
        assert (found.row[0, lane, vgpr, half], found.col[0, lane, vgpr, half]) == (8 * vgpr + row, col)


def test_a_file_of_version_1_is_read_and_one_of_version_2_answers_the_same(tmp_path: Path) -> None:
    """The runs with one hot slot at a time, which nothing asks for, keep a name of their own."""
    names = [capture.probe for capture in recorded().captures]
    assert len(names) == 570
    assert names.count("nvidia/one-hot interaction") == 1
    kept = [capture for capture in recorded().captures if "one-hot" not in capture.probe]
    write_captures(tmp_path / "new.cap", kept)
    with zipfile.ZipFile(tmp_path / "new.cap") as archive:
        assert json.loads(archive.read("captures.json"))["version"] == 2
    report = layoutprobe.dump("A", "xor", arch="sm_90", backend=Replay.of(tmp_path / "new.cap"))
    old = layoutprobe.dump("A", "xor", arch="sm_90", backend=Replay(recorded()))
    assert report.exit_code == 0
    assert (report.loaded, report.needed, report.convention) == (old.loaded, old.needed, old.convention)


def test_a_dump_of_version_1_is_refused_in_words(tmp_path: Path) -> None:
    """It has the operands and the one-hot runs, but not the questions that are asked today."""
    kept = [capture for capture in recorded().captures if capture.probe.startswith("nvidia/")]
    with pytest.raises(UsageError, match="has no run of interaction on sm_90") as caught:
        layoutprobe.dump("A", arch="sm_90", backend=Replay(replace(recorded(), captures=tuple(kept))))
    assert "nvidia/one-hot interaction" in str(caught.value.observed)
