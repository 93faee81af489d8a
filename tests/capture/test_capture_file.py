"""Capture files: what goes in comes out, and nothing else does."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib import format as npy

from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.capture.file import INDEX, read_captures, write_captures
from layoutprobe.errors import UsageError

DTYPES = st.sampled_from(["u1", "u2", "u4", "u8", "i4", "f2", "f4", "f8", ">u4"]).map(np.dtype)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(max_dims=4, max_side=5))


def capture(seed: int = 0, **changes: Any) -> Capture:
    random = np.random.default_rng(seed)
    d = random.integers(0, 1 << 32, (3, 4, 32), dtype=np.uint32)
    fields: dict[str, Any] = {
        "probe": "interaction",
        "arch": "sm_90",
        "evidence": Evidence("measured", "NVIDIA H100"),
        "inputs": {"a": random.integers(0, 1 << 16, (3, 8), dtype=np.uint16)},
        "outputs": {"d": d},
        "undefined": {"d": np.zeros_like(d)},
        "parameters": {"dtype": "f16", "shape": (16, 8, 16), "seed": seed, "scale": 0.5, "none": None},
        "toolchain": {"compiler": "NVRTC 13.0", "code_object": "ab" * 32},
        "device": {"name": "NVIDIA H100", "driver": "580"},
        "time": "2026-11-21T13:00:00Z",
    }
    return Capture(**fields | changes)


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return set(a) == set(b) and all(
        a[k].dtype.newbyteorder("=") == b[k].dtype
        and np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f")
        for k in a
    )


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b.c", "d e"]), ARRAYS, max_size=3), min_size=1, max_size=3
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_goes_in_comes_out(tmp_path: Path, groups: list[dict[str, Any]]) -> None:
    path = tmp_path / "x.cap"
    digest = write_captures(path, [capture(i, outputs=group, undefined={}) for i, group in enumerate(groups)])
    found = read_captures(path)
    assert found.digest == digest
    assert len(found.captures) == len(groups)
    for i, (one, group) in enumerate(zip(found.captures, groups, strict=True)):
        given_ = capture(i)
        assert same(group, dict(one.outputs))
        assert same(dict(given_.inputs), dict(one.inputs))
        assert one.parameters == {**given_.parameters, "shape": [16, 8, 16]}
        assert (one.probe, one.arch, one.time) == (given_.probe, given_.arch, given_.time)
        assert (one.toolchain, one.device) == (given_.toolchain, given_.device)


def test_evidence_says_that_it_was_replayed_and_of_what(tmp_path: Path) -> None:
    path = tmp_path / "x.cap"
    digest = write_captures(
        path, [capture(), capture(evidence=Evidence("emulated", "layoutprobe emulator 0.1"))]
    )
    card, emulator = (one.evidence for one in read_captures(path).captures)
    assert str(card) == f"replayed (measured on NVIDIA H100, capture {digest[:12]})"
    assert str(emulator) == f"replayed (emulated by layoutprobe emulator 0.1, capture {digest[:12]})"
    assert card.on_card
    assert not emulator.on_card


def test_a_replay_recorded_again_is_still_what_it_first_was(tmp_path: Path) -> None:
    first, second = tmp_path / "1.cap", tmp_path / "2.cap"
    write_captures(first, [capture(evidence=Evidence("emulated", "emu"))])
    write_captures(second, read_captures(first).captures)
    assert read_captures(second).captures[0].evidence.recorded == "emulated"
    assert first.read_bytes() == second.read_bytes()


def test_equal_captures_make_equal_files_and_other_bits_another_digest(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("1", "2", "3"))
    digests = [write_captures(path, [capture(seed)]) for path, seed in ((one, 0), (two, 0), (other, 1))]
    assert one.read_bytes() == two.read_bytes()
    assert digests[0] == digests[1] != digests[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "x.cap"
    write_captures(path, [capture(0), capture(1)])
    return path.read_bytes()


def refused(path: Path, raw: bytes) -> UsageError:
    path.write_bytes(raw)
    with pytest.raises(UsageError) as caught:
        read_captures(path)
    assert str(path) in str(caught.value)
    return caught.value


@given(st.data())
@examples(200, quiet=[HealthCheck.function_scoped_fixture])
def test_no_damage_changes_what_is_read(tmp_path: Path, whole: bytes, data: st.DataObject) -> None:
    """Some bytes of an archive say nothing (times, attributes): then what is read is unchanged."""
    path = tmp_path / "x.cap"
    path.write_bytes(whole)
    before = read_captures(path)
    raw = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    try:
        after = read_captures(path)
    except UsageError:
        return
    assert after.digest == before.digest
    for old, new in zip(before.captures, after.captures, strict=True):
        assert same(dict(old.outputs), dict(new.outputs))
        assert same(dict(old.inputs), dict(new.inputs))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.95, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, whole: bytes, share: float) -> None:
    refused(tmp_path / "x.cap", whole[: int(len(whole) * share)])


def rebuilt(whole: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The archive with other members; its own checksums are right again."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return stream.getvalue()


def edited(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, bytes]], None]:
    def edit(members: dict[str, bytes]) -> None:
        index = json.loads(members[INDEX])
        change(index)
        members[INDEX] = json.dumps(index).encode()

    return edit


def first_array(members: dict[str, bytes]) -> str:
    return next(name for name in members if name != INDEX)


def replaced(raw: bytes) -> Callable[[dict[str, bytes]], None]:
    """The first output is another member, which the index names by its true digest."""

    def edit(members: dict[str, bytes]) -> None:
        key = hashlib.sha256(raw).hexdigest()
        index = json.loads(members[INDEX])
        old = index["captures"][0]["outputs"]["d"]
        index["captures"][0]["outputs"]["d"] = key
        members[INDEX] = json.dumps(index).encode()
        members[f"{key}.npy"] = raw
        members.pop(f"{old}.npy")

    return edit


def header(descr: str, shape: str) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def pickled() -> bytes:
    stream = io.BytesIO()
    npy.write_array(stream, np.array([os.system], object), allow_pickle=True)
    return stream.getvalue()


FORGERIES: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "an array changed": (lambda m: m.update({(n := first_array(m)): m[n][:-1] + b"\x55"}), "recorded"),
    "two arrays swapped": (
        lambda m: m.update(dict(zip(list(m)[1:3], (m[list(m)[2]], m[list(m)[1]]), strict=True))),
        "recorded",
    ),
    "an array missing": (lambda m: m.__delitem__(first_array(m)), "missing"),
    "a member too many": (lambda m: m.update({"run.py": b"import os"}), "no capture names"),
    "no index": (lambda m: m.__delitem__(INDEX), "missing"),
    "index is no JSON": (lambda m: m.update({INDEX: b"{"}), "no JSON"),
    "index is no text": (lambda m: m.update({INDEX: b"\xff\xfe"}), "no JSON"),
    "deep JSON": (lambda m: m.update({INDEX: b"[" * 100_000}), "no JSON"),
    "a version of the future": (edited(lambda i: i.update(version=3)), "version"),
    "version zero": (edited(lambda i: i.update(version=0)), "version"),
    "version true": (edited(lambda i: i.update(version=True)), "version"),
    "another format": (edited(lambda i: i.update(format="npz")), "format"),
    "an unknown key": (edited(lambda i: i["captures"][0].update(run="rm -rf")), "captures[0]"),
    "no captures": (edited(lambda i: i.update(captures=[])), "captures"),
    "evidence replayed": (edited(lambda i: i["captures"][0]["evidence"].update(kind="replayed")), "evidence"),
    "evidence of no kind": (edited(lambda i: i["captures"][0]["evidence"].update(kind="proven")), "evidence"),
    "a path for a key": (edited(lambda i: i["captures"][0]["outputs"].update(d="../../x")), "SHA-256"),
    "a number for a text": (edited(lambda i: i["captures"][0].update(arch=90)), "arch"),
    "a name with an escape": (
        edited(lambda i: i["captures"][0]["device"].update({"\x1b[2J": "x"})),
        "device",
    ),
    "an endless text": (edited(lambda i: i["captures"][0].update(probe="x" * 5000)), "4096"),
    "undefined bits of no output": (
        edited(lambda i: i["captures"][0]["undefined"].update(e=i["captures"][0]["undefined"]["d"])),
        "no output",
    ),
    "undefined bits of another shape": (
        edited(lambda i: i["captures"][0]["undefined"].update(d=i["captures"][0]["inputs"]["a"])),
        "no output",
    ),
    "an array of objects": (replaced(pickled()), "none of ours"),
    "a gigantic shape": (
        replaced(header("'<u4'", "(1 << 40,)".replace("1 << 40", str(1 << 40)))),
        "none of ours",
    ),
    "a negative shape": (replaced(header("'<u4'", "(-1,)") + bytes(4)), "none of ours"),
    "a shape that is no tuple": (replaced(header("'<u4'", "open")), "ValueError"),
    "complex numbers": (replaced(header("'<c16'", "(1,)") + bytes(16)), "none of ours"),
    "too few bytes": (replaced(header("'<u4'", "(2,)") + bytes(4)), "none of ours"),
    "too many bytes": (replaced(header("'<u4'", "(2,)") + bytes(12)), "none of ours"),
    "no array": (replaced(b"MZ" + bytes(100)), "ValueError"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused(tmp_path: Path, whole: bytes, name: str) -> None:
    change, words = FORGERIES[name]
    assert words in str(refused(tmp_path / "x.cap", rebuilt(whole, change)))


def test_an_unchanged_rebuilt_file_is_read(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "x.cap"
    path.write_bytes(rebuilt(whole, lambda members: None))
    assert len(read_captures(path).captures) == 2


def test_two_members_of_one_name_are_refused(tmp_path: Path, whole: bytes) -> None:
    stream = io.BytesIO(whole)
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(INDEX, b"{}")
    assert "two members" in str(refused(tmp_path / "x.cap", stream.getvalue()))


def test_an_archive_that_swells_is_refused_before_it_is_read(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(INDEX, bytes(64 << 20))
    assert "captures.json has" in str(refused(tmp_path / "x.cap", stream.getvalue()))


@pytest.mark.parametrize("name", ["missing.cap", "."])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no such capture file"):
        read_captures(tmp_path / name)


# Pulling the plug


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.cap"
    write_captures(path, [capture(0)])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
        with pytest.raises(UsageError, match="cannot be written"):
            write_captures(path, [capture(1)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.cap"]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_captures(tmp_path / "no" / "x.cap", [capture(0)])


WRITER = """
import sys, numpy as np
from pathlib import Path
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.capture.file import write_captures
random = np.random.default_rng(0)
print("ready", flush=True)
while True:
    big = random.integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    write_captures(Path(sys.argv[1]), [Capture("p", "sm_90", Evidence("measured", "x"), {}, {"d": big})])
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x.cap"
    for delay in (0.05, 0.11, 0.23):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        while not path.exists():
            time.sleep(0.01)
        time.sleep(delay)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        assert read_captures(path).captures[0].outputs["d"].shape == (1 << 18,)
