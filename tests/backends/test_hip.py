"""The HIP backend through AMD's own Python package, with a runtime whose card is the emulator.

hip-python loads the shared library, packs the arguments and carries every call through the C interface: all
that is missing of a real run is the silicon.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from backends.hip_fixtures import Worker, worker
from examples import WHOLE
from hiphost.compiling import device_code

from layoutprobe.backends.hip import HipBackend
from layoutprobe.capture.file import read_captures
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.extras.hiphost.pretence import Pretence
from layoutprobe.extras.hiphost.server import Server
from layoutprobe.extras.hiphost.session import NAME

MIXED = [i * 1000 - 7 - 3000 + 9 + 600 + 123456 for i in range(64)]
ROOT = Path(__file__).resolve().parents[2]
OFTEN = 8 if WHOLE else 3
"""Every step up to this one a card is lost, and then at steps farther and farther apart."""


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker(tmp_path_factory.mktemp("rocm")) as found:
        yield found


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("code") / "kernels.co"
    path.write_bytes(device_code("kernels.hip"))
    return str(path)


# What comes back


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "words",
    [
        ["dump", "--matrix", "A", "--lds", "xor"],
        ["dump", "--matrix", "B", "--lds", "padded"],
        ["roundtrip", "--matrix", "B", "--lds", "xor-vector"],
        ["epilogue"],
        ["layout", "v_wmma_i32_16x16x16_iu8", "--wave", "64"],
    ],
    ids=" ".join,
)
def test_a_report_is_that_of_the_emulator(card: Worker, tmp_path: Path, words: list[str]) -> None:
    """The same code object and the same solver: only the evidence says that something else ran it."""
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    assert main([*words, "--output", str(here)]) == 0
    asked = card.ask("cli", words=[*words, "--backend", "hip", "--output", str(there)])
    assert asked.value == {"exit": 0, "stderr": asked.value["stderr"]}
    assert asked.said == []
    expected, found = (json.loads(path.read_text()) for path in (here, there))
    evidence, _ = found.pop("evidence"), expected.pop("evidence")
    assert found == expected
    assert NAME in str(evidence)
    assert "emulated" in str(evidence)
    assert "measured" not in there.read_text()


def test_a_capture_of_the_card_is_replayed(card: Worker, tmp_path: Path) -> None:
    path = tmp_path / "card.cap"
    words = ["dump", "--matrix", "B", "--lds", "xor"]
    recorded = ["capture", "-o", str(path), *words, "--backend", "hip"]
    assert card.ask("cli", words=recorded).value["exit"] == 0
    file = read_captures(path)
    assert {capture.device["name"] for capture in file.captures} == {NAME}
    assert {capture.device["target"] for capture in file.captures} == {"gfx1151"}
    assert main([*words, "--backend", "replay", str(path), "--output", str(tmp_path / "x.json")]) == 0


def test_arguments_of_all_sizes_arrive(card: Worker, code: str) -> None:
    found = card.ask("kernel", code=code, name="mixed").value
    assert found["buffer"] == MIXED
    assert found["undefined"] is None
    assert found["evidence"] == ["emulated", NAME]
    assert found["device"] == {
        "name": NAME, "target": "gfx1151", "runtime": "HIP runtime 7.2.0", "driver": "7.2.0"
    }  # fmt: skip


def test_a_card_that_is_no_emulator_gives_measurements(card: Worker, code: str) -> None:
    found = card.ask("kernel", Pretence(name="AMD Radeon 8060S"), code=code, name="mixed").value
    assert found["evidence"] == ["measured", "AMD Radeon 8060S"]


def test_features_of_the_target_do_not_count(card: Worker, code: str) -> None:
    found = card.ask("kernel", "target=gfx1151:xnack-", code=code, name="mixed").value
    assert found["device"]["target"] == "gfx1151"


def test_bits_that_were_never_written_show(card: Worker, code: str) -> None:
    found = card.ask("kernel", code=code, name="partial").value
    expected = np.zeros(64, np.uint32)
    expected[2], expected[63] = 0xFFFFFFFF, 0xFFFF0000
    assert found["undefined"] == expected.tolist()
    assert found["buffer"][3:6] == [9, 16, 25]


def test_hip_pythons_own_packing_streams_and_events(card: Worker, code: str) -> None:
    found = card.ask("packing", code=code).value
    assert found["back"] == MIXED
    assert found["queries"] == ["hipErrorNotReady", "hipSuccess"]
    assert found["elapsed"] > 0


# What goes wrong: one message each


@pytest.mark.parametrize(
    ("pretence", "kind", "text"),
    [
        ("devices=0", "UsageError", "no AMD card can be used here"),
        ("fail=init:100", "UsageError", "no AMD card can be used here"),
        ("fail=init:35", "UsageError", "the amdgpu driver is too old for this ROCm"),
        ("target=gfx1100", "UsageError", "this card does not run the code"),
        ("devices=2,target=gfx1100", "UsageError", "no card here runs the code"),
        ("devices=2", "UsageError", "several cards here run the code, and none was chosen"),
        ("fail=load:209", "UsageError", "the HIP runtime refuses the code object: it may be too old"),
        ("fail=load:200", "UsageError", "the HIP runtime refuses the code object: it may be too old"),
        ("fail=malloc:2", "ExecutionError", "the card's memory is full"),
        ("memory=100", "ExecutionError", "the card's memory is full"),
        ("fail=launch:9", "ExecutionError", "the card cannot launch the kernel so"),
        ("fail=launch:719", "ExecutionError", "the card was lost"),
        ("fail=query:719", "ExecutionError", "the card was lost"),
        ("fail=query:700", "ExecutionError", "the kernel accessed memory outside every allocation"),
        ("fail=query:702", "ExecutionError", "the driver stopped the kernel"),
        ("fail=read:999", "ExecutionError", "the card was lost"),
        ("fail=write:1", "ExecutionError", "the HIP runtime cannot copy to the card"),
    ],
)
def test_trouble_in_words(card: Worker, code: str, pretence: str, kind: str, text: str) -> None:
    asked = card.ask("kernel", pretence, code=code, name="mixed")
    assert asked.error[0] == kind
    assert asked.error[1].startswith(text)
    assert "next:" in asked.error[1]


def test_both_targets_are_named(card: Worker, code: str) -> None:
    text = card.ask("kernel", "target=gfx1100", code=code, name="mixed").error[1]
    assert re.search(r"expected: +a card for gfx1151\n +observed: +0: .*\(gfx1100\)", text)


def test_one_of_several_cards_is_chosen(card: Worker, code: str) -> None:
    assert card.ask("kernel", "devices=2", code=code, name="mixed", device=1).value["buffer"] == MIXED
    text = card.ask("kernel", "devices=2", code=code, name="mixed", device=2).error[1]
    assert text.startswith("no AMD card 2 here")
    assert text.count("(gfx1151)") == 2


def test_a_fault_of_the_kernel_is_no_result(card: Worker, code: str) -> None:
    asked = card.ask("kernel", code=code, name="out_of_bounds", n=70)
    assert asked.error[1].startswith("the kernel accessed memory outside every allocation")
    assert "then: the card was lost by an earlier kernel of this process" in asked.error[1]
    (said,) = asked.said
    assert "kernels.hip:31" in said
    assert "lane 1" in said


def test_a_kernel_that_hangs_is_left_alone(card: Worker, code: str) -> None:
    """hipFree, hipModuleUnload and hipStreamDestroy would wait for it for ever, and so do the shim's."""
    asked = card.ask("kernel", "hang=launch", code=code, name="mixed", timeout=0.05)
    assert asked.error[1].startswith("the kernel has not ended within 0.05 s")
    assert "cannot be stopped from here" in asked.error[1]
    assert "then: the card was lost by an earlier kernel of this process" in asked.error[1]


@pytest.mark.long
def test_a_card_that_is_lost_at_any_step_gives_one_message_and_no_file(card: Worker, tmp_path: Path) -> None:
    path = tmp_path / "card.cap"
    words = ["capture", "-o", str(path), "dump", "--matrix", "A", "--backend", "hip"]
    codes: list[int] = []
    step = 0
    while 0 not in codes:
        step += 1 + step // OFTEN  # every step of the first launches, and then fewer of more
        asked = card.ask("cli", f"lost={step}", words=words)
        codes.append(asked.value["exit"])
        if asked.value["exit"] == 0:
            break
        said = asked.value["stderr"].splitlines()
        assert sum(line.startswith("layoutprobe: ") for line in said) == 1, said
        assert said[0].startswith("layoutprobe: the card was lost"), said
        assert list(tmp_path.iterdir()) == []
    assert set(codes[:-1]) == {2}
    assert len(codes) > 2 * OFTEN - 1


def test_a_process_that_is_killed_while_the_card_works_leaves_no_file(tmp_path: Path) -> None:
    words = ["capture", "-o", str(tmp_path / "card.cap"), "dump", "--backend", "hip"]
    with Server("gfx1151", say=print, pretence=Pretence(hang=True)) as server:
        environment = {**os.environ, **server.environment()}
        process = subprocess.Popen([sys.executable, "-m", "layoutprobe", *words], env=environment)
        for _ in range(6000):  # a minute
            if any(session.launches for session in server.sessions):
                break
            time.sleep(0.01)
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


# What is missing


def test_without_the_package_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(UsageError, match=r"layoutprobe\[hip\]"):
        _ = HipBackend().device


def test_without_rocm_the_library_is_named(tmp_path: Path) -> None:
    """A process of its own: hip-python looks for the library once."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LAYOUTPROBE_CACHE": str(tmp_path)}
    words = ["dump", "--backend", "hip"]
    done = subprocess.run(
        [sys.executable, "-m", "layoutprobe", *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("layoutprobe: ROCm is not here: its HIP runtime, libamdhip64.so")
    assert "Traceback" not in done.stderr


def test_hip_python_is_imported_by_the_first_launch_only() -> None:
    script = (
        "import sys, layoutprobe.cli.main, layoutprobe.backends.hip as h; "
        "h.HipBackend(); print('hip' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
