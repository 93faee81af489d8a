"""Truncated and tampered code objects through the whole of `check`: a verdict, never an exception."""

from __future__ import annotations

import struct
from pathlib import Path

import msgpack
import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from layoutprobe.codeobj import container
from layoutprobe.codeobj.elf import load
from layoutprobe.gate.gate import check
from layoutprobe.manifest.model import KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

FOLDER = Path(__file__).parents[1] / "third_party" / "triton"
LIMITS = "instructions = 3000, seconds = 2"


def original(name: str) -> KernelCase:
    """A kernel out of Triton, at a size that takes a tenth of a second."""
    (case,) = [c for c in read_manifest(FOLDER / "layoutprobe.toml").kernels if c.name == name]
    limits = replace(case.limits, instructions=3000, seconds=2)
    return replace(case, limits=limits, sizes=({"M": 1, "N": 40},), contract=case.contract)


CASE = original("softmax-f16")
GOOD = (FOLDER / "softmax-f16.hsaco").read_bytes()


def judge(data: bytes, folder: Path) -> KernelVerdict:
    """The verdict, which must be one in words."""
    path = folder / "hostile.hsaco"
    path.write_bytes(data)
    (verdict,) = check(Manifest(folder / "m.toml", (replace(CASE, code_object=path),))).verdicts
    told = verdict.error + " ".join(result.reason for result in verdict.results)
    assert "bug in layoutprobe" not in told, told
    assert "bug of layoutprobe" not in " ".join(f.hint or "" for f in verdict.findings), verdict.findings
    assert len(told) < 50_000
    if verdict.error:
        assert verdict.exit_code in (1, 2)
    return verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tampered")


def boundaries() -> list[int]:
    """Every place where a part of the file begins or ends, and one byte before it."""
    tables = struct.unpack_from("<2Q", GOOD, 32)
    count, _, sections = struct.unpack_from("<3H", GOOD, 56)
    cuts = {0, 4, 16, 63, 64, *tables}
    for i in range(count):
        offset, _, _, size = struct.unpack_from("<4Q", GOOD, tables[0] + 56 * i + 8)
        cuts |= {tables[0] + 56 * i, offset, offset + size}
    for i in range(sections):
        offset, size = struct.unpack_from("<2Q", GOOD, tables[1] + 64 * i + 24)
        cuts |= {tables[1] + 64 * i, offset, offset + size}
    cuts |= {cut - 1 for cut in cuts if cut}
    return sorted(cut for cut in cuts if cut < len(GOOD))


def test_the_object_itself(folder: Path) -> None:
    verdict = judge(GOOD, folder)
    assert not verdict.error
    assert not verdict.findings


def test_truncated_at_every_boundary(folder: Path) -> None:
    cuts = boundaries()
    assert len(cuts) > 60
    for cut in cuts:
        assert judge(GOOD[:cut], folder).error, f"cut at {cut}"


def code_window() -> tuple[int, int]:
    code = load(GOOD)
    kernel = code.kernel(None)
    segment = next(s for s in code.segments if s.executable)
    start = GOOD.index(segment.data) + kernel.entry - segment.address
    return start, start + kernel.size


def header_windows() -> list[tuple[int, int]]:
    read = container.read_container(GOOD)
    names = (".note", ".dynsym", ".dynstr", ".rodata", ".dynamic", ".debug_line")
    cursors = [cursor for name in names if (cursor := read.section(name))]
    return [(0, 64 + 8 * 56), *((cursor.pos, cursor.end) for cursor in cursors)]


IN_HEADERS = st.sampled_from(header_windows()).flatmap(lambda w: st.integers(w[0], w[1] - 1))
IN_CODE = st.integers(code_window()[0], code_window()[1] - 1)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def patched(changes: list[tuple[int, int]]) -> bytes:
    data = bytearray(GOOD)
    for offset, value in changes:
        data[offset] = value
    return bytes(data)


@given(st.lists(st.tuples(IN_HEADERS, st.integers(0, 255)), min_size=1, max_size=4))
@examples(60, quiet=QUIET)
def test_patched_headers(folder: Path, changes: list[tuple[int, int]]) -> None:
    judge(patched(changes), folder)


@given(st.lists(st.tuples(IN_CODE, st.integers(0, 255)), min_size=1, max_size=3))
@examples(60, quiet=QUIET)
def test_patched_code(folder: Path, changes: list[tuple[int, int]]) -> None:
    judge(patched(changes), folder)


def with_note(raw: bytes, claimed: int | None = None) -> bytes:
    """The object with another metadata note, appended."""
    header = next(i for i in range(64, 64 + 16 * 56, 56) if struct.unpack_from("<I", GOOD, i) == (4,))
    size = len(raw) if claimed is None else claimed
    note = struct.pack("<3I", 7, size, 32) + b"AMDGPU\0\0" + raw + bytes(-len(raw) % 4)
    data = bytearray(GOOD) + note
    struct.pack_into("<Q", data, header + 8, len(GOOD))
    struct.pack_into("<Q", data, header + 32, len(note))
    return bytes(data)


def metadata() -> dict[str, object]:
    header = next(i for i in range(64, 64 + 16 * 56, 56) if struct.unpack_from("<I", GOOD, i) == (4,))
    start = struct.unpack_from("<Q", GOOD, header + 8)[0]
    size = struct.unpack_from("<I", GOOD, start + 4)[0]
    tree: dict[str, object] = msgpack.unpackb(GOOD[start + 20 : start + 20 + size])
    return tree


def test_the_note_can_be_replaced(folder: Path) -> None:
    assert not judge(with_note(msgpack.packb(metadata())), folder).error


@pytest.mark.parametrize(
    "note",
    [
        with_note(b"\xdd\xff\xff\xff\xff"),  # an array of 2^32 elements
        with_note(b"\xdf\xff\xff\xff\xff"),  # a map of as many
        with_note(b"\xc6\xff\xff\xff\xff"),  # 4 GiB of bytes
        with_note(b"\x91" * 100_000),  # arrays in arrays
        with_note(b"\x81\xa1a" * 50_000),
        with_note(b"\xdc\xff\xff" * 3000),  # 65535 arrays of 65535 of ...
        with_note(b"\xdd\x00\x01\x00\x00" + b"\xdd\x00\x01\x00\x00" * 1000),
        with_note(b"", claimed=0xFFFF_FFF0),
        with_note(b"\x80", claimed=0x7FFF_FFFF),
        with_note(b"\xc1"),
        with_note(b""),
    ],
    ids=[
        "array",
        "map",
        "bytes",
        "nested",
        "nested maps",
        "wide",
        "wide 2",
        "size",
        "size 2",
        "type",
        "none",
    ],
)
def test_notes_that_claim_more_than_they_hold(folder: Path, note: bytes) -> None:
    assert "metadata" in judge(note, folder).error or "note" in judge(note, folder).error


HOSTILE_FIELDS: dict[str, list[object]] = {
    ".kernarg_segment_size": [0, 4, 1 << 31, (1 << 64) - 1, -1],
    ".private_segment_fixed_size": [1 << 31, -1],
    ".group_segment_fixed_size": [1 << 31, -1],
    ".max_flat_workgroup_size": [0, 1 << 31],
    ".wavefront_size": [0, 1, 64, 1 << 40],
    ".name": ["", "x" * 100_000, "\x1b]0;owned\x07", 7],
    ".symbol": ["", "nowhere.kd", "\0", 7],
    ".args": [[], [{}] * 10_000, "none", [{".size": 1 << 63, ".offset": 0, ".value_kind": "by_value"}]],
}


@pytest.mark.parametrize("key", HOSTILE_FIELDS)
def test_fields_of_the_metadata(folder: Path, key: str) -> None:
    for value in HOSTILE_FIELDS[key]:
        tree = metadata()
        kernels = tree["amdhsa.kernels"]
        assert isinstance(kernels, list)
        kernels[0][key] = value
        verdict = judge(with_note(msgpack.packb(tree)), folder)
        assert len(verdict.error) < 20_000


DESCRIPTOR_FIELDS = {
    "LDS": 0,
    "scratch": 4,
    "kernarg": 8,
    "entry": 16,
    "rsrc1": 48,
    "rsrc2": 52,
    "properties": 56,
}


@pytest.mark.parametrize("field", DESCRIPTOR_FIELDS)
@pytest.mark.parametrize("value", [0, 0xFFFF_FFFF, 0x7FFF_FFF0, 0x0001_0000])
def test_fields_of_the_descriptor(folder: Path, field: str, value: int) -> None:
    code = load(GOOD)
    segment = next(s for s in code.segments if not s.executable and s.data)
    start = next(
        GOOD.index(segment.data) + at
        for at in range(0, len(segment.data) - 64 + 1, 64)
        if segment.address + at + struct.unpack_from("<q", segment.data, at + 16)[0]
        == code.kernel(None).entry
    )
    data = bytearray(GOOD)
    struct.pack_into("<I", data, start + DESCRIPTOR_FIELDS[field], value)
    judge(bytes(data), folder)
