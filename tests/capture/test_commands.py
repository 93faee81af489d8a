"""`layoutprobe capture`, `--backend replay FILE` and `diff` of capture files, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.capture.file import read_captures, write_captures
from layoutprobe.cli.main import main

WMMA = "v_wmma_i32_16x16x16_iu8"
COMMANDS = {
    "dump": ["dump", "--matrix", "B", "--lds", "xor"],
    "roundtrip": ["roundtrip", "--matrix", "B", "--lds", "padded"],
    "epilogue": ["epilogue"],
    "layout": ["layout", WMMA, "--wave", "64"],
}


@pytest.fixture(scope="module", params=COMMANDS)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], Path]:
    path = tmp_path_factory.mktemp("recorded") / "x.cap"
    words = COMMANDS[request.param]
    assert main(["capture", "-o", str(path), *words, "--output", str(path.with_suffix(".json"))]) == 0
    return words, path


def test_a_replayed_command_says_the_same_but_for_its_evidence(recorded: tuple[list[str], Path]) -> None:
    words, path = recorded
    again = path.with_name("again.json")
    assert main([*words, "--backend", "replay", str(path), "--output", str(again)]) == 0
    first, second = (json.loads(p.read_text()) for p in (path.with_suffix(".json"), again))
    evidence = (first.pop("evidence"), second.pop("evidence"))
    assert first == second
    assert "replayed" not in str(evidence[0])
    assert "replayed" in str(evidence[1])
    assert read_captures(path).digest[:12] in str(evidence[1])


def test_a_file_equals_itself(recorded: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, path = recorded
    assert main(["diff", str(path), str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "all outputs equal" in out
    assert "emulated by layoutprobe" in out


def test_one_flipped_bit_is_named(
    recorded: tuple[list[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = recorded[1], tmp_path / "other.cap"
    file = read_captures(path)
    (name, array), *_ = file.captures[0].outputs.items()
    changed = array.copy()
    changed.reshape(-1).view(f"u{changed.dtype.itemsize}")[37] ^= 1
    at = list(map(int, np.unravel_index(37, array.shape)))
    captures = (
        replace(file.captures[0], outputs={**file.captures[0].outputs, name: changed}),
        *file.captures[1:],
    )
    write_captures(other, captures)
    assert main(["diff", str(path), str(other), "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["outputs"]
    assert (found["output"], found["differing"], found["at"]) == (name, 1, at)
    assert found["first"] ^ found["second"] == 1
    assert main(["diff", str(path), str(other)]) == 1
    assert f"first at {at}" in capsys.readouterr().out


def test_undefined_bits_are_no_difference(tmp_path: Path) -> None:
    first, second = tmp_path / "1.cap", tmp_path / "2.cap"
    assert main(["capture", "-o", str(first), "epilogue", "--output", str(tmp_path / "x.txt")]) == 0
    captures = []
    for capture in read_captures(first).captures:
        outputs, undefined = {}, {}
        for name, array in capture.outputs.items():
            raw = array.view(f"u{array.dtype.itemsize}").copy()
            undefined[name] = np.zeros_like(raw)
            undefined[name].reshape(-1)[3] = 1
            raw.reshape(-1)[3] ^= 1
            outputs[name] = raw.view(array.dtype)
        captures.append(replace(capture, outputs=outputs, undefined=undefined))
    write_captures(second, captures)
    assert main(["diff", str(first), str(second), "--output", str(tmp_path / "d.json")]) == 0


def test_files_without_the_same_runs_are_not_called_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "1.cap", tmp_path / "2.cap"
    quiet = ["--output", str(tmp_path / "x.txt")]
    assert main(["capture", "-o", str(one), "dump", "--lds", "xor", *quiet]) == 0
    assert main(["capture", "-o", str(two), "dump", "--lds", "padded", *quiet]) == 0
    capsys.readouterr()
    assert main(["diff", str(one), str(two)]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "not all runs are in both files" in out
    assert "in the second: operand on gfx1151 dtype=f16 lds=xor" in out


def test_outputs_that_cannot_be_compared_are_not_called_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = tmp_path / "1.cap"
    assert main(["capture", "-o", str(first), "epilogue", "--output", str(tmp_path / "x.txt")]) == 0
    capture, *others = read_captures(first).captures
    (name, array), *rest = capture.outputs.items()
    raw = array.view(f"u{array.dtype.itemsize}")
    plain, flat, lost = capture.undefined, array.reshape(-1), {name: ~np.zeros_like(raw)}
    edits = {
        "is only in the first": ({**dict(rest), "other": array}, plain),
        "is only in the second": ({**capture.outputs, "other": array}, plain),
        f"{list(flat.shape)}": ({**dict(rest), name: flat}, plain),
        "no word of": (capture.outputs, {**plain, **lost}),
    }
    for number, (words, (outputs, undefined)) in enumerate(edits.items()):
        second = tmp_path / f"{number}.other.cap"
        write_captures(second, [replace(capture, outputs=outputs, undefined=undefined), *others])
        capsys.readouterr()
        assert main(["diff", str(first), str(second)]) == 2
        out = " ".join(capsys.readouterr().out.split())
        assert words in out
        assert "could not be compared" in out
        assert "equal" not in out
        assert main(["diff", str(first), str(second), "--format", "json"]) == 2
        found = json.loads(capsys.readouterr().out)
        assert words in "".join(found["uncompared"])
        assert found["outputs"] == []


@pytest.mark.long
def test_everything_is_recorded_in_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.cap"
    assert main(["capture", "-o", str(path)]) == 0
    said = capsys.readouterr().err
    assert "emulated" in said
    assert f": {len(read_captures(path).captures)} runs," in said, "as many as the file holds"
    for words in COMMANDS.values():
        assert main([*words, "--backend", "replay", str(path), "--output", str(tmp_path / "x.txt")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["capture", "-o", "x.cap", "doctor"], "nothing to record"),
        (["capture", "-o", "x.cap", "--backend", "opencl"], "no backend named"),
        (["capture", "-o", "no/such/dir/x.cap", "epilogue"], "cannot be written"),
        (["capture", "-o", "x.cap", "--arch", "sm_90"], "does not execute code for sm_90"),
        (["dump", "--backend", "replay"], "replay needs a file"),
        (["dump", "--backend", "replay", "no.cap"], "no such capture file"),
        (["dump", "--backend", "cuda", "--arithmetic", "silicon"], "only the emulator"),
        (["dump", "--device", "1"], "only a card has a number"),
        (["diff", "no.cap", "no.cap"], "no such capture file"),
    ],
)
def test_mistakes_end_in_one_message_and_no_file(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("**/*.cap"))
