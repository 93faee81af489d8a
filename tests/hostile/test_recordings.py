"""Hostile recordings: an error in words, whatever they say; and no number in them is believed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from numpy.lib import format as npy
from recording.kernels import opened

from layoutprobe.errors import UsageError
from layoutprobe.inspector.kept import kept_operand
from layoutprobe.inspector.timeline import page_of
from layoutprobe.recording.file import KIND, read_recording, write_recording
from layoutprobe.recording.questions import Asked
from layoutprobe.recording.sound import COLUMNS
from layoutprobe.render.kernel.data import document

Members = dict[str, bytes]


@cache
def whole() -> bytes:
    """A recording with LDS, undefined bits, what was computed, and what operands need."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.cap"
        write_recording(path, opened("column").kept())
        return path.read_bytes()


def rebuilt(change: Callable[[Members], None]) -> bytes:
    """The archive with other members."""
    with zipfile.ZipFile(io.BytesIO(whole())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return stream.getvalue()


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        index = json.loads(members[KIND.index])
        change(index)
        members[KIND.index] = json.dumps(index).encode()

    return edit


def with_array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Members], None]:
    """One array is another, named by its true digest."""

    def edit(members: Members) -> None:
        index = json.loads(members[KIND.index])
        old = index["arrays"][name]
        values = npy.read_array(io.BytesIO(members[f"{old}.npy"]))
        stream = io.BytesIO()
        npy.write_array(
            stream, np.ascontiguousarray(change(values.copy())), version=(1, 0), allow_pickle=True
        )
        key = hashlib.sha256(stream.getvalue()).hexdigest()
        index["arrays"][name] = key
        if old not in index["arrays"].values():
            members.pop(f"{old}.npy")
        members[f"{key}.npy"] = stream.getvalue()
        members[KIND.index] = json.dumps(index).encode()

    return edit


def refused(tmp_path: Path, raw: bytes) -> str:
    path = tmp_path / "x.cap"
    path.write_bytes(raw)
    with pytest.raises(UsageError) as caught:
        read_recording(path)
    told = str(caught.value)
    assert str(path) in told
    assert len(told) < 5000
    return told


def put(name: str, value: int, at: int = -1) -> Callable[[Members], None]:
    def change(values: np.ndarray) -> np.ndarray:
        values.reshape(-1)[at] = value
        return values

    return with_array(name, change)


BEYOND = {
    "steps.inst": 1 << 20, "steps.wave": 99, "vectors.row": 1 << 30, "vectors.wave": -1, "vectors.register": 1 << 20,
    "vectors.tag": (1 << 31) - 1, "vectors.undefined_at": 1 << 30, "scalars.row": -2, "scalars.wave": 99,
    "scalars.register": -1, "scalars.tag": -(1 << 30), "accesses.row": 1 << 30, "accesses.space": 3,
    "accesses.size": 1 << 20, "accesses.register": 1 << 20, "accesses.address": -(1 << 62), "stored.access": 1 << 30,
    "stored.dword": 1 << 20, "stored.tag": (1 << 31) - 1, "tags.words": -(1 << 30),
    "moments.rows": 1 << 23, "moments.layouts": 1 << 30, "moments.layout_axes": 65, "moments.mask_axes": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
def test_a_number_that_counts_nothing_is_refused(tmp_path: Path, name: str) -> None:
    assert name.split(".")[0] in refused(tmp_path, rebuilt(put(name, BEYOND[name])))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("how", ["type", "axes", "length"])
def test_an_array_of_another_kind_is_refused(tmp_path: Path, name: str, how: str) -> None:
    changes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "type": lambda values: values.astype(np.float32),
        "axes": lambda values: values[..., None],
        "length": lambda values: np.concatenate([values, values[:1]]),
    }
    if how == "length" and name in ("tags.words", "tags.origins", "moments.rows"):
        return  # one more is one more
    told = refused(tmp_path, rebuilt(with_array(name, changes[how])))
    assert "no whole recording file" in told


FORGERIES: dict[str, tuple[Callable[[Members], None], str]] = {
    "objects": (with_array("steps.inst", lambda v: np.array([print], object)), "none of ours"),
    "a member too many": (lambda m: m.update({"run.py": b"import os"}), "no recording names"),
    "an array missing": (lambda m: m.__delitem__(next(n for n in m if n != KIND.index)), "missing"),
    "no JSON": (lambda m: m.update({KIND.index: b"{"}), "no JSON"),
    "deep JSON": (lambda m: m.update({KIND.index: b"[" * 100_000}), "no JSON"),
    "a version of the future": (edited(lambda i: i.update(version=3)), "version"),
    "a version of the past": (edited(lambda i: i.update(version=1)), "record it again"),
    "operands without registers": (edited(lambda i: i["needed"].update(registers=[])), "moments.rows"),
    "an instruction too many": (edited(lambda i: i["needed"]["registers"][0].__setitem__(0, 99)), "registers"),
    "matrices of no extent": (edited(lambda i: i["needed"].update(shapes=[[1, -1]] * 3)), "shapes"),
    "another format": (edited(lambda i: i.update(format="layoutprobe captures")), "format"),
    "an unknown key": (edited(lambda i: i.update(run="rm")), "key run"),
    "an unknown array": (edited(lambda i: i["arrays"].update(x="0" * 64)), "arrays.x"),
    "a path for a key": (edited(lambda i: i["arrays"].update({"steps.inst": "../../x"})), "SHA-256"),
    "lanes": (edited(lambda i: i.update(lanes=48)), "lane"),
    "endless LDS": (edited(lambda i: i.update(lds_size=1 << 40)), "lds_size"),
    "LDS that is too small": (edited(lambda i: i.update(lds_size=4)), "LDS"),
    "too few registers": (edited(lambda i: i.update(vgprs=2)), "register"),
    "no code": (edited(lambda i: i.update(code=[])), "code"),
    "no waves": (edited(lambda i: i.update(waves=[])), "waves"),
    "a wave of no workgroup": (edited(lambda i: i["waves"].__setitem__(0, [0, -1, 0, 0])), "waves"),
    "endless waves": (edited(lambda i: i.update(waves=[[0, 0, 0, 0]] * 5000)), "waves"),
    "a place without PC": (edited(lambda i: i["code"][0]["place"].pop("pc")), "pc"),
    "registers of no kind": (edited(lambda i: i["code"][0].update(reads=[["q", 0, 1, 0, 32]])), "reads"),
    "stride 0": (edited(lambda i: i["buffers"][0].update(strides=[0] * len(i["buffers"][0]["shape"]))), "strides"),
    "a type of no name": (edited(lambda i: i["buffers"][0].update(dtype="f17")), "f17"),
    "gigantic buffers": (edited(lambda i: i["buffers"][0].update(nbytes=(1 << 31) - 1)), "buffers"),
    "fewer axes": (edited(lambda i: i["buffers"][0].update(shape=[1], strides=[1])), "buffers"),
    "evidence of a card that never was": (edited(lambda i: i["evidence"].update(kind="proven")), "evidence"),
    "a size of no name": (edited(lambda i: i.update(size=[["\x1b[2J", 1]])), "size"),
    "lines that are no texts": (edited(lambda i: i.update(sources=[{"file": "x", "numbers": [1], "lines": [7]}])),
                                "lines"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused(tmp_path: Path, name: str) -> None:
    change, words = FORGERIES[name]
    assert words in refused(tmp_path, rebuilt(change))


def test_the_file_itself_holds(tmp_path: Path) -> None:
    (tmp_path / "x.cap").write_bytes(rebuilt(lambda members: None))
    assert len(read_recording(tmp_path / "x.cap").waves)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    refused(tmp_path, whole()[: int(len(whole()) * share)])


def test_what_swells_is_refused_before_it_is_read(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(KIND.index, bytes(64 << 20))
    assert "recording.json has" in refused(tmp_path, stream.getvalue())


@given(st.data())
@examples(40, quiet=[HealthCheck.function_scoped_fixture])
def test_numbers_that_pass_break_no_question(tmp_path: Path, data: st.DataObject) -> None:
    """What is not refused is answered, however wrong: in words, and without another error than ours."""
    name = data.draw(st.sampled_from(sorted(COLUMNS)))
    edits = data.draw(
        st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(-3, 3)), min_size=1, max_size=8)
    )

    def change(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(-1)
        for at, by in edits:
            if flat.size:
                flat[at % flat.size] = flat[at // 7 % flat.size] + np.array(by).astype(flat.dtype)
        return values

    path = tmp_path / "x.cap"
    path.write_bytes(rebuilt(with_array(name, change)))
    try:
        found = read_recording(path)
        for at in (None, "store:0"):
            asked = Asked(found, 0, at)
            for answer in (
                asked.registers(f"v0-{found.vgprs - 1},s0-40,exec", [0, 31]), asked.lds(), asked.why("v72:1"),
                asked.where("A[1][1]"), asked.follow("A[1][1]"), asked.events(),
            ):  # fmt: skip
                assert answer.summary
        if name.startswith("moments"):
            assert document(page_of(found))
            assert all(kept_operand(Asked(found, 0, None), matrix).about for matrix in "ABC")
    except UsageError:
        return
