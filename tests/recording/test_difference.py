"""Two runs side by side: what differs beside formulas, and where one number was changed by hand."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.recording.common import Common
from layoutprobe.recording.difference import differ, differences
from layoutprobe.recording.file import write_recording
from layoutprobe.recording.model import Buffer, Recording, Tags
from recording.kernels import KERNELS, opened


@cache
def recorded(name: str) -> Recording:
    return opened(name).recording()


def test_a_run_does_not_differ_from_itself() -> None:
    answer = differences(recorded("int4"), recorded("int4"))
    assert not answer.rows
    assert differ(answer) == 0
    assert answer.summary.startswith("0 of ")
    assert int(answer.summary.split()[2]) > 10


def test_a_transposed_operand_is_the_first_difference() -> None:
    """The wrong kernel loads A by columns: where one has A[r + l][k], the other has A[r + k][l]."""
    answer = differences(recorded("column"), recorded("asmOpt"))
    assert differ(answer) == 1
    steps = [int(row[1] or 0) for row in answer.rows if str(row[0]).startswith("0")]
    assert steps == sorted(steps)
    waves, _, moment, line, _, slot, holds, other, count = answer.rows[0]
    assert (moment, line, slot) == ("matrix 0", "../wmma_helpers.h:98", "v72 lane 0")
    assert waves == "0-7", "all waves differ alike"
    assert (holds, other) == ("A[0][0], A[1][0]", "A[0][0], A[0][1]"), "of wave 0"
    assert count == "256 of 768"


def test_a_moment_alone_has_every_slot() -> None:
    answer = differences(recorded("column"), recorded("asmOpt"), "mfma:0", wave=5)
    assert len(answer.rows) == 256
    for n, (wave, _, _, _, _, slot, holds, other, _) in enumerate(answer.rows):
        vgpr, lane = divmod(n, 32)
        assert (wave, slot) == ("5", f"v{72 + vgpr} lane {lane}")
        k, i = 2 * vgpr, lane % 16
        assert holds == f"A[{64 + k}][{i}], A[{65 + k}][{i}]"
        assert other == f"A[{64 + i}][{k}], A[{64 + i}][{k + 1}]"


def test_other_swizzles_differ_in_no_operand() -> None:
    """Two right kernels with other tiles in LDS and other registers: what their instructions read is the same."""
    answer = differences(recorded("asmOpt"), recorded("xor"))
    assert not [row for row in answer.rows if str(row[2]).startswith(("matrix", "store"))]
    assert ("LDS", "18432 bytes here, 12288 there: not compared") in answer.about


@pytest.mark.parametrize("part", ["value", "tag", "undefined"])
def test_one_changed_number_of_a_store_is_found_there(part: str) -> None:
    made = recorded("int4")
    stores = made.stored
    at, lane = len(stores.access) // 2, 3
    changed = getattr(stores, part).copy()
    changed[at, lane] = 0 if part == "tag" else changed[at, lane] ^ 4
    other = replace(made, stored=replace(stores, **{part: changed}), memo={})
    answer = differences(made, other)
    assert len(answer.rows) == 1
    row = int(made.accesses.row[stores.access[at]])
    who = int(made.steps.wave[row])
    step = int(np.flatnonzero(made.steps_of(who) == row)[0])
    assert answer.rows[0][:2] == (str(made.waves[who].index), step)
    assert str(answer.rows[0][2]).startswith("store")
    assert str(answer.rows[0][5]).endswith("lane 3")
    assert str(answer.rows[0][8]).startswith("1 of ")
    assert answer.rows[0][6] != answer.rows[0][7]


def test_a_store_to_another_place_is_found() -> None:
    made = recorded("int4")
    a = made.accesses
    at = int(np.flatnonzero(a.store & (a.space == 1))[-1])
    address = a.address.copy()
    address[at, 0] += 4
    answer = differences(made, replace(made, accesses=replace(a, address=address), memo={}))
    assert len(answer.rows) == 1
    assert str(answer.rows[0][8]).startswith("1 of ")


def with_words(
    made: Recording, buffers: tuple[Buffer, ...], nibbles: list[int], starts: tuple[int, ...]
) -> Recording:
    words = np.repeat(np.array([0, *nibbles], np.int32)[:, None], 8, axis=1)
    origins = np.zeros((0, 3 + sum(2 * len(b.shape) for b in buffers)), np.int32)
    return replace(made, buffers=buffers, tags=Tags(words, origins, starts), memo={})


def test_elements_are_the_same_whatever_their_storage() -> None:
    """Buffers in another order, by columns, and with padding: numbers agree exactly where the indices do."""
    made = recorded("int4")
    first = (Buffer("A", "f16", (4, 6), (6, 1), 0, 48), Buffer("B", "f32", (3,), (1,), 0, 12))
    other = (Buffer("B", "f32", (3,), (1,), 0, 12), Buffer("a_t", "f16", (4, 6), (1, 5), 0, 60, "A"))
    first = (replace(first[0], matrix="A"), first[1])
    one = with_words(made, first, [1 + 4 * (6 * i + j) for i in range(4) for j in range(6)], (0, 96))
    two = with_words(made, other, [25 + 4 * (i + 5 * j) for i in range(4) for j in range(6)], (0, 24))
    common = Common((one, two))
    numbers = [common.numbers(at, r.tags.words[1:, 0]) for at, r in enumerate((one, two))]
    assert np.array_equal(numbers[0], numbers[1])
    assert len(set(numbers[0].tolist())) == 24
    padding = common.numbers(1, np.array([25 + 4 * 4], np.int32))
    assert padding[0] not in numbers[0]
    with pytest.raises(UsageError, match="A has another shape"):
        Common((one, with_words(made, (replace(first[0], shape=(6, 4)), first[1]), [], (0, 96))))


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="32 and of 64 lanes"):
        differences(recorded("asmOpt"), recorded("triton-mfma"))
    with pytest.raises(UsageError, match="is nothing to compare"):
        differences(recorded("int4"), recorded("int4"), "wait:0")


INT4 = KERNELS["int4"][0]
EDIT = "const int place = k;", "const int place = k ^ 2;"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_a_kernel_beside_itself_at_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "repo" / "kernels"
    shutil.copytree(INT4.parent, inner)
    git(inner.parent, "init", "-q")
    (inner / "outside").symlink_to("/etc/hostname")
    git(inner.parent, "add", "-A")
    git(inner.parent, "commit", "-qm", "right")
    command = ["inspect", str(inner / INT4.name), "--kernel", "int4", "--diff"]
    assert main([*command, "HEAD"]) == 0
    assert "(emulated) 0 of " in capsys.readouterr().out
    source = inner / "gemm_int4.hip"
    text = source.read_text()
    assert text.count(EDIT[0]) == 1
    source.write_text(text.replace(*EDIT))
    assert main([*command, "HEAD", "--format", "csv"]) == 1
    first = capsys.readouterr().out.splitlines()[1]
    assert "gemm_int4.hip" in first
    assert main([*command, "HEAD~7"]) == 2
    assert "'HEAD~7' is nothing to compare with" in capsys.readouterr().err
    assert main([*command[:-1], "--diff=--output=x"]) == 2
    assert not (tmp_path / "x").exists()


def test_a_kernel_beside_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cap = tmp_path / "run.cap"
    write_recording(cap, recorded("int4"))
    command = ["inspect", str(INT4), "--kernel", "int4", "--diff"]
    assert main([*command, str(cap)]) == 0
    assert main(["inspect", str(cap), "--diff", str(cap)]) == 0
    assert main(["inspect", str(cap), "--diff", f"{INT4}#int4"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(cap), "--diff", "int8"]) == 2
    assert main([*command, str(cap), "--why", "v0:1"]) == 2
