"""Whatever the bytes: `load` returns a code object or raises CodeObjectError, and soon."""

from __future__ import annotations

import functools
import os
import struct
import tempfile
from pathlib import Path
from unittest import mock

import msgpack
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.codeobj import container
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import CodeObjectError
from layoutprobe.toolchain.compile import compile_hip

SOURCE = """
__attribute__((device)) int table[2] = {1, 2};
__attribute__((device)) int* parts[2] = {table, table + 1};
extern "C" __attribute__((global)) void alpha(int* p, int n) { p[n] = *parts[n]; }
extern "C" __attribute__((global)) void bravo(int* p, int n) {
  p[n] = ((int*)__builtin_amdgcn_implicitarg_ptr())[n];
}
"""


@functools.cache
def good() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "k.hip"
        source.write_text(SOURCE)
        with mock.patch.dict(os.environ, {"LAYOUTPROBE_CACHE": "off"}):
            return compile_hip(source, target="gfx1151").data


@functools.cache
def windows() -> list[tuple[int, int]]:
    """File ranges that the loader reads: headers, notes, symbols, relocations, line table..."""
    names = (".note", ".dynsym", ".dynstr", ".rela.dyn", ".rodata", ".dynamic", ".debug_line", ".symtab")
    found = [read.section(name) for read in [container.read_container(good())] for name in names]
    sections = [(cursor.pos, cursor.end) for cursor in found if cursor]
    assert len(sections) == len(names)
    tables = struct.unpack_from("<2Q", good(), 32)
    return [(0, 64), (tables[0], tables[0] + 9 * 56), (tables[1], len(good())), *sections]


def check(data: bytes) -> CodeObject | None:
    """None where the bytes were refused. What is accepted must keep the promises of the model."""
    try:
        code = load(data)
    except CodeObjectError:
        return None
    assert sum(s.size for s in code.segments) <= container.MAX_IMAGE
    assert all(len(s.data) <= s.size for s in code.segments)
    for low, high in zip(code.segments, code.segments[1:], strict=False):
        assert low.address + low.size <= high.address
    for kernel in code.kernels.values():
        homes = [s for s in code.segments if s.address <= kernel.entry < s.address + len(s.data)]
        assert [s.executable for s in homes] == [True]
        assert 0 < kernel.size <= homes[0].address + len(homes[0].data) - kernel.entry
    assert list(code.lines.addresses) == sorted(code.lines.addresses)
    assert len(code.lines.addresses) == len(code.lines.files) == len(code.lines.lines)
    return code


places = st.integers(0, 10).flatmap(lambda i: st.integers(windows()[i][0], windows()[i][1] - 1))
flips = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6)
INTERESTING = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    1 << 62,
    (1 << 63) - 1,
    (1 << 64) - 1,
]


def test_the_object_itself_is_accepted() -> None:
    code = check(good())
    assert code is not None
    assert list(code.kernels) == ["alpha", "bravo"]
    assert code.lines.addresses
    assert len(code.relocations) == 2


@given(st.data())
@examples(60)
def test_truncated(data: st.DataObject) -> None:
    assert check(good()[: data.draw(st.integers(0, len(good()) - 1))]) is None, "the section headers are last"


@given(flips)
@examples(300)
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    copy = bytearray(good())
    for offset, value in changes:
        copy[offset] = value
    check(bytes(copy))


@given(places, st.sampled_from(INTERESTING), st.sampled_from([1, 2, 4, 8]))
@examples(300)
def test_extreme_numbers(offset: int, value: int, size: int) -> None:
    copy = bytearray(good())
    raw = (value % (1 << 8 * size)).to_bytes(size, "little")
    copy[offset : offset + size] = raw
    check(bytes(copy))


@given(places, places, st.integers(1, 400))
@examples(200)
def test_spliced_pieces(source: int, target: int, length: int) -> None:
    """One part of the file over another: tables full of plausible values for something else."""
    copy = bytearray(good())
    copy[target : target + length] = good()[source : source + length]
    check(bytes(copy))


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__"]))
def test_arbitrary_bytes(data: bytes, magic: bytes) -> None:
    assert check(magic + data) is None


@given(st.binary(max_size=200))
@examples(100)
def test_arbitrary_line_programs(program: bytes) -> None:
    """Behind the real header: opcodes that no compiler emits."""
    start, end = next((c.pos, c.end) for c in [container.read_container(good()).section(".debug_line")] if c)
    body = start + 12 + struct.unpack_from("<I", good(), start + 8)[0]
    check(good()[:body] + program[: end - body] + good()[body + len(program[: end - body]) :])


trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text(max_size=8)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
KEYS = (".name", ".symbol", ".wavefront_size", ".args", ".kernarg_segment_size", ".vgpr_count")


@given(st.sampled_from(KEYS) | st.text(max_size=5), trees)
@examples(200)
def test_arbitrary_metadata(key: str, value: object) -> None:
    (at,) = (i for i in range(64, 64 + 9 * 56, 56) if struct.unpack_from("<I", good(), i) == (4,))
    start = struct.unpack_from("<Q", good(), at + 8)[0]
    size = struct.unpack_from("<I", good(), start + 4)[0]
    tree = msgpack.unpackb(good()[start + 20 : start + 20 + size])
    tree["amdhsa.kernels"][0][key] = value
    raw = msgpack.packb(tree)
    note = struct.pack("<3I", 7, len(raw), 32) + b"AMDGPU\0\0" + raw + bytes(-len(raw) % 4)
    copy = bytearray(good()) + note
    struct.pack_into("<Q", copy, at + 8, len(good()))
    struct.pack_into("<Q", copy, at + 32, len(note))
    check(bytes(copy))
