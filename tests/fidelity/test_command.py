"""`layoutprobe fidelity` as it is typed: one bundle, one page, and what becomes of them."""

from __future__ import annotations

import io
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from fidelity import cards
from fidelity.cards import Card
from layoutprobe.capture.file import read_captures, write_captures
from layoutprobe.cli.main import main
from layoutprobe.fidelity.registry import EXPERIMENTS

BUNDLE, PAGE = "fidelity-gfx1151.cap", "fidelity-gfx1151.html"


def plug_in(monkeypatch: pytest.MonkeyPatch, card: Card) -> None:
    """The card that `--backend hip` finds."""
    monkeypatch.setattr("layoutprobe.backends.hip.HipBackend", lambda device: card)


def judged(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["fidelity", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def cases(report: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    return {one["name"]: one["cases"] for one in report["experiments"]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Recorded once: an honest card and a lying one; the folder, and what was said."""
    found = {}
    for name, card in (
        ("honest", Card()),
        ("lying", Card(before=cards.copies_swapped, after=cards.clamp_ignored)),
    ):
        folder = tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as patch:
            plug_in(patch, card)
            with redirect_stdout(io.StringIO()) as said:
                code = main(["fidelity", "--backend", "hip", "-o", str(folder), "--format", "json"])
        assert code == (0 if name == "honest" else 1)
        assert sorted(os.listdir(folder)) == [BUNDLE, PAGE]
        found[name] = folder, json.loads(said.getvalue())
    return found


@pytest.fixture(scope="module")
def bundles(recorded: dict[str, tuple[Path, dict[str, Any]]]) -> dict[str, Path]:
    return {name: folder for name, (folder, _) in recorded.items()}


@pytest.mark.long
@pytest.mark.parametrize("name", ["honest", "lying"])
def test_a_bundle_is_judged_as_the_card_was(
    name: str,
    recorded: dict[str, tuple[Path, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, first = recorded[name]
    monkeypatch.setattr("layoutprobe.backends.hip.HipBackend", None)
    code, again = judged(["--backend", "replay", str(folder / BUNDLE)], capsys)
    assert code == (0 if name == "honest" else 1), "as of the card"
    assert cases(first) == cases(again)
    digest = read_captures(folder / BUNDLE).digest
    assert {(e["kind"], e["recorded"], e["digest"]) for e in again["evidence"]} == {
        ("replayed", "measured", digest)
    }
    assert again["device"] == first["device"]


def test_the_emulator_agrees_with_itself_and_claims_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = judged(["--backend", "emulator", "-o", str(tmp_path)], capsys)
    assert code == 0
    assert "says nothing about a card" in report["sentence"]
    verdicts = {one["name"]: one["verdict"] for one in report["experiments"]}
    assert verdicts.pop("LDS phases") == "not measurable"
    assert verdicts.pop("sums") == "not applicable"
    assert set(verdicts.values()) == {"agree"}
    assert "measured" not in (tmp_path / PAGE).read_text().replace("cannot be measured", "")


@pytest.mark.long
def test_through_the_real_hip_python_and_the_emulated_runtime(tmp_path: Path) -> None:
    """What comes from there is emulated, whatever the backend is called, and says so."""
    layoutprobe = [sys.executable, "-m", "layoutprobe"]
    words = [
        "run",
        "--no-check",  # one of the experiments reads LDS that nobody stored, on purpose
        "--",
        *layoutprobe,
        "fidelity",
        "--backend",
        "hip",
        "-o",
        str(tmp_path),
        "--format",
        "json",
    ]
    done = subprocess.run([*layoutprobe, *words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    verdicts = {one["name"]: one["verdict"] for one in report["experiments"]}
    assert {verdicts.pop("LDS phases"), verdicts.pop("uninitialised memory")} == {"not measurable"}
    assert verdicts.pop("sums") == "not applicable"
    assert set(verdicts.values()) == {"agree"}
    assert {one["kind"] for one in report["evidence"]} == {"emulated"}
    assert "says nothing about a card" in report["sentence"]


@pytest.mark.long
def test_a_replay_writes_only_what_it_is_asked_for(
    bundles: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = str(bundles["honest"] / BUNDLE)
    assert main(["fidelity", "--backend", "replay", recorded]) == 0
    assert not list(tmp_path.iterdir())
    assert main(["fidelity", "--backend", "replay", recorded, "--page", "p.html"]) == 0
    assert os.listdir(tmp_path) == ["p.html"]


@pytest.mark.long
def test_a_card_that_was_recorded_on_nvidia(capsys: pytest.CaptureFixture[str]) -> None:
    """Layouts of a real H100 against NVIDIA's document; what asks the emulator does not apply."""
    recorded = Path(__file__).parents[1] / "nvidia" / "h100.cap"
    code, report = judged(["--backend", "replay", str(recorded)], capsys)
    verdicts = {one["name"]: one["verdict"] for one in report["experiments"]}
    # How the card adds was asked later: tests/nvidia/test_sums.py has the answers.
    assert (code, report["arch"], verdicts.pop("sums")) == (2, "sm_90", "undecided")
    assert verdicts.pop("layouts") == "agree"
    assert set(verdicts.values()) == {"not applicable"}
    assert len(report["experiments"][0]["cases"]) == 32


def test_a_bundle_says_nothing_of_who_recorded_it(bundles: dict[str, Path]) -> None:
    """Strangers are asked for theirs."""
    with zipfile.ZipFile(bundles["honest"] / BUNDLE) as archive:
        text = archive.read("captures.json").decode()
    recorded = json.loads(text)
    words = {
        word for one in recorded["captures"] for word in (*one["toolchain"].values(), *one["device"].values())
    }
    assert not [word for word in words if "/" in word]
    for private in (str(Path.home()), platform.node(), str(bundles["honest"]), os.getcwd()):
        assert private not in text


# The page


class Page(HTMLParser):
    """Text of a page, and whatever would load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.foreign, self.open = "", list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)
        loads = [value for key, value in attrs if key in ("src", "href") and value and value[0] != "#"]
        runs = [key for key, _ in attrs if key.startswith("on")]
        self.foreign += loads + runs + ([tag] if tag in ("script", "link", "iframe", "img") else [])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def test_the_page_names_every_experiment_and_its_evidence(bundles: dict[str, Path]) -> None:
    page = Page((bundles["lying"] / PAGE).read_text())
    assert not page.foreign
    assert not page.open
    for experiment in EXPERIMENTS:
        assert experiment.question in page.text
    assert page.text.count(f"measured ({cards.NAME})") >= len(EXPERIMENTS) + 1
    assert "reads lanes 16-31 of A" in page.text
    assert "wrapping" in page.text


@pytest.mark.long
def test_a_hostile_bundle_marks_nothing_up(bundles: dict[str, Path], tmp_path: Path) -> None:
    bad = "<script>x</script>\x1b[2J"
    file = read_captures(bundles["honest"] / BUNDLE)
    captures = [
        replace(one, device={"name": bad}, evidence=replace(one.evidence, source=bad))
        for one in file.captures
    ]
    write_captures(tmp_path / "x.cap", captures)
    replayed = [
        "fidelity",
        "--backend",
        "replay",
        str(tmp_path / "x.cap"),
        "--page",
        str(tmp_path / "x.html"),
    ]
    assert main(replayed) == 0
    text = (tmp_path / "x.html").read_text()
    assert not Page(text).foreign
    assert "\x1b" not in text


def test_captures_with_other_outputs_are_undecided(
    bundles: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Arrays of another shape, of another type, of another name: words, and no traceback."""
    captures = []
    for at, one in enumerate(read_captures(bundles["honest"] / BUNDLE).captures):
        (name, array), *rest = one.outputs.items()
        lies = (
            {name: array[..., :1].copy()},
            {name: array.astype(np.float32)},
            {"x": array},
            {name: np.zeros(0, np.uint32)},
        )
        captures.append(replace(one, outputs=dict(rest) | lies[at % 4]))
    write_captures(tmp_path / "x.cap", captures)
    code, report = judged(["--backend", "replay", str(tmp_path / "x.cap")], capsys)
    assert code == 2
    asked = [one for one in report["experiments"] if one["verdict"] != "not applicable"]
    assert len(asked) == len(EXPERIMENTS) - 1
    assert {one["verdict"] for one in asked} == {"undecided"}
    assert all("other outputs" in one["answer"] for one in asked)


# Pulling the plug

KILLED = """
import os, signal, sys
from fidelity import cards
from layoutprobe.backends import hip
from layoutprobe.cli.main import main

def die(launch, buffers):
    if launch.kernel == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

hip.HipBackend = lambda device: cards.Card(after=die)
main(["fidelity", "--backend", "hip", "-o", sys.argv[1]])
"""

KILLED_WRITING = """
import os, signal, sys
from fidelity import cards
from layoutprobe.backends import hip
from layoutprobe.cli.main import main

written = 0

def fsync(handle):
    global written
    written += 1
    if written == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

os.fsync = fsync
hip.HipBackend = lambda device: cards.Card()
main(["fidelity", "--backend", "hip", "-o", sys.argv[1]])
"""


def child(script: str, folder: Path, word: str) -> int:
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(tests.parent)])
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), word],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        check=False,
        timeout=300,
    )
    return done.returncode


@pytest.mark.long
def test_a_card_that_takes_the_process_with_it_leaves_a_whole_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ROCm's runtime does on a memory fault: what came to its end before is there, and judged."""
    assert child(KILLED, tmp_path, "d16") == -signal.SIGKILL
    assert os.listdir(tmp_path) == [BUNDLE]
    code, report = judged(["--backend", "replay", str(tmp_path / BUNDLE)], capsys)
    verdicts = {one["name"]: one["verdict"] for one in report["experiments"]}
    assert code == 2
    assert verdicts.pop("sums") == "not applicable"
    at = list(verdicts).index("16-bit loads and stores")
    assert list(verdicts.values()) == ["agree"] * at + ["undecided"] * (len(verdicts) - at)
    assert at > 2, "experiments that had come to their end"
    killed = next(one for one in report["experiments"] if one["name"] == "16-bit loads and stores")
    assert "the capture file has no run of" in killed["answer"]
    said = json.dumps(killed)
    assert "file " + str(tmp_path) not in said, "what the file has instead is not told again in every case"
    assert "; ..." not in said


@pytest.mark.long
@pytest.mark.parametrize("write", [1, 3])
def test_a_kill_amid_a_write_leaves_no_part_of_it(write: int, tmp_path: Path) -> None:
    assert child(KILLED_WRITING, tmp_path, str(write)) == -signal.SIGKILL
    assert os.listdir(tmp_path) == ([BUNDLE] if write > 1 else [])
    if write > 1:
        assert read_captures(tmp_path / BUNDLE).captures


@pytest.mark.long
def test_a_full_disk_leaves_the_bundle_that_was_there(
    bundles: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(bundles["honest"] / BUNDLE, tmp_path)
    before = (tmp_path / BUNDLE).read_bytes()
    plug_in(monkeypatch, Card(dies_at="d16"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        assert main(["fidelity", "--backend", "hip", "-o", str(tmp_path)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "cannot be written" in capsys.readouterr().err
    assert (tmp_path / BUNDLE).read_bytes() == before
    assert os.listdir(tmp_path) == [BUNDLE]


@pytest.mark.long
def test_a_lost_card_leaves_bundle_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plug_in(monkeypatch, Card(dies_at="d16"))
    assert main(["fidelity", "--backend", "hip", "-o", str(tmp_path / "x.cap")]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "the card was lost" in out
    assert "undecided: 16-bit loads and stores, arithmetic" in out
    assert sorted(os.listdir(tmp_path)) == ["x.cap", "x.html"]
    assert {one.probe for one in read_captures(tmp_path / "x.cap").captures} == {"interaction"}


def test_a_card_that_answers_nothing_leaves_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Card()
    card.lost = True
    plug_in(monkeypatch, card)
    assert main(["fidelity", "--backend", "hip", "-o", str(tmp_path)]) == 2
    assert os.listdir(tmp_path) == [PAGE]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "x.json"], "neither a folder that is there nor a capture file"),
        (["-o", "no/such/x.cap"], "cannot be written"),
        (["--arch", "gfx9"], "unknown arch"),
        (["--arch", "sm_90"], "does not execute code for sm_90"),
        (["--backend", "replay", "no.cap"], "no such capture file"),
        (["--backend", "emulator", "--device", "1"], "only a card has a number"),
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
    assert main(["fidelity", *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
