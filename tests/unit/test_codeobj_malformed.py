"""What is no code object, or a broken one, is refused in words: what, where, expected, observed."""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from msgspec import msgpack

from layoutprobe.codeobj import lines
from layoutprobe.codeobj.container import read_container
from layoutprobe.codeobj.cursor import Cursor
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import CodeObjectError
from layoutprobe.toolchain.compile import compile_hip

SOURCE = """
__attribute__((device)) int table[2] = {1, 2};
__attribute__((device)) int* parts[2] = {table, table + 1};
extern "C" __attribute__((global)) void alpha(int* p, int n) { p[n] = *parts[n]; }
extern "C" __attribute__((global)) void bravo(int* p, int n) { p[n] = n; }
"""

# Offsets of fields in an ELF64 header and in its program and section headers (gABI, chapter 4).
E_TYPE, E_MACHINE, E_PHOFF, E_SHOFF, E_FLAGS = 16, 18, 32, 40, 48
E_PHENTSIZE, E_PHNUM, E_SHENTSIZE, E_SHNUM = 54, 56, 58, 60
P_OFFSET, P_VADDR, P_FILESZ, P_MEMSZ = 8, 16, 32, 40


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, compiles_aside: None) -> bytes:
    folder = tmp_path_factory.mktemp("malformed")
    (folder / "k.hip").write_text(SOURCE)
    return compile_hip(folder / "k.hip", target="gfx1151").data


def patched(data: bytes, offset: int, kind: str, value: int) -> bytes:
    copy = bytearray(data)
    struct.pack_into("<" + kind, copy, offset, value)
    return bytes(copy)


def program_header(data: bytes, kind: int, number: int = 0) -> int:
    """File offset of the number-th program header of a kind (1 PT_LOAD, 2 PT_DYNAMIC, 4 PT_NOTE)."""
    (start,), (count,) = struct.unpack_from("<Q", data, E_PHOFF), struct.unpack_from("<H", data, E_PHNUM)
    at = [start + 56 * i for i in range(count)]
    found: list[int] = [offset for offset in at if struct.unpack_from("<I", data, offset) == (kind,)]
    return found[number]


def section_start(data: bytes, name: str) -> int:
    cursor = read_container(data).section(name)
    assert cursor is not None
    return cursor.pos


def refusal(data: bytes) -> str:
    with pytest.raises(CodeObjectError) as caught:
        load(data)
    return str(caught.value)


BUNDLE_ID = b"hipv4-amdgcn-amd-amdhsa--gfx1151"
BUNDLE = (
    b"__CLANG_OFFLOAD_BUNDLE__"
    + struct.pack("<Q", 2)
    + struct.pack("<3Q", 4096, 0, 26)
    + b"host-x86_64-unknown-linux-"
    + struct.pack("<3Q", 4096, 100, len(BUNDLE_ID))
    + BUNDLE_ID
    + bytes(4000)
)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["an empty file"]),
        (b"\x7fELF", ["ELF header"]),
        (BUNDLE, ["offload bundle", "clang-offload-bundler --unbundle", f"--targets={BUNDLE_ID.decode()}"]),
        (BUNDLE[:30], ["offload bundle"]),
        (b"CCOB" + bytes(60), ["compressed offload bundle", "clang-offload-bundler"]),
        (b"BC\xc0\xde" + bytes(60), ["LLVM bitcode"]),
        (b"!<arch>\n" + bytes(60), ["an archive", "ar x"]),
        (b"\t.text\n\ts_endpgm\n", ["text that starts with '.text'"]),
        (bytes(range(128, 200)), ["bytes that start with 80 81 82 83"]),
    ],
)
def test_other_files_are_named(data: bytes, words: list[str]) -> None:
    message = refusal(data)
    assert all(word in message for word in words), message


def test_the_host_program_is_no_code_object() -> None:
    message = refusal(Path(sys.executable).read_bytes()[:4096])
    assert "not an AMD code object" in message
    assert "device code object, not the host program" in message or sys.platform != "linux"


def test_a_host_program_with_device_code_inside_says_how_to_get_it(good: bytes) -> None:
    assert "--dump-section .hip_fatbin" in refusal(patched(good, E_MACHINE, "H", 62) + b".hip_fatbin\0")


@pytest.mark.parametrize(
    ("offset", "kind", "value", "words"),
    [
        (4, "B", 1, "class 1"),
        (5, "B", 2, "encoding 2"),
        (7, "B", 65, "PAL"),
        (7, "B", 0, "number 0"),
        (8, "B", 0, "-mcode-object-version=5"),
        (8, "B", 9, "ABI version 9"),
        (E_TYPE, "H", 1, "ld.lld -shared"),
        (E_TYPE, "H", 2, "type 2"),
        (E_PHENTSIZE, "H", 0, "entries of 56 bytes"),
        (E_SHENTSIZE, "H", 0, "entries of 64 bytes"),
        (E_PHNUM, "H", 0, "no loadable segment"),
        (E_PHNUM, "H", 0xFFFF, "at most 64 segments"),
        (E_PHOFF, "Q", 1 << 63, "program header table"),
        (E_SHOFF, "Q", (1 << 64) - 1, "section header table"),
        (E_SHNUM, "H", 0, "was the file stripped"),
    ],
)
def test_elf_header(good: bytes, offset: int, kind: str, value: int, words: str) -> None:
    assert words in refusal(patched(good, offset, kind, value))


@pytest.mark.parametrize(
    ("load_number", "field", "value", "words"),
    [
        (1, P_OFFSET, 1 << 40, "PT_LOAD segment"),
        (1, P_FILESZ, 1 << 20, "bytes of memory in the file"),
        (1, P_MEMSZ, 1 << 62, "overlap"),
        (1, P_VADDR, 0x10, "overlap"),
        (3, P_MEMSZ, 1 << 40, "too large to be loaded"),
        (3, P_MEMSZ, (1 << 64) - 1, "too large to be loaded"),
        (3, P_VADDR, 1 << 62, "too large to be loaded"),
    ],
)
def test_segments(good: bytes, load_number: int, field: int, value: int, words: str) -> None:
    header = program_header(good, 1, load_number)
    assert words in refusal(patched(good, header + field, "Q", value))


def test_segments_at_one_place_of_the_file_are_copied_once_at_most(good: bytes) -> None:
    """Placement is judged before any byte is copied: 64 headers cannot multiply the file."""
    copy = bytearray(good)
    start = struct.unpack_from("<Q", good, E_PHOFF)[0]
    for number in range(9):
        struct.pack_into("<2I6Q", copy, start + 56 * number, 1, 5, 0, 0, 0, len(good), len(good), 4096)
    assert "overlap" in refusal(bytes(copy))


# The metadata note


def with_metadata(good: bytes, change: Callable[[dict[str, object]], object] | bytes) -> bytes:
    """The object with another note segment: its metadata changed, or these bytes instead."""
    header = program_header(good, 4)
    start, size = struct.unpack_from("<Q", good, header + P_OFFSET)[0], None
    size = struct.unpack_from("<I", good, start + 4)[0]
    if isinstance(change, bytes):
        raw = change
    else:
        tree = msgpack.decode(good[start + 20 : start + 20 + size])
        change(tree)
        raw = msgpack.encode(tree)
    note = struct.pack("<3I", 7, len(raw), 32) + b"AMDGPU\0\0" + raw + bytes(-len(raw) % 4)
    copy = patched(good, header + P_OFFSET, "Q", len(good)) + note
    return patched(copy, header + P_FILESZ, "Q", len(note))


def first(tree: dict[str, object]) -> dict[str, object]:
    kernels = tree["amdhsa.kernels"]
    assert isinstance(kernels, list)
    kernel = kernels[0]
    assert isinstance(kernel, dict)
    return kernel


def set_first(**values: object) -> Callable[[dict[str, object]], None]:
    return lambda tree: first(tree).update({"." + key: value for key, value in values.items()})


def test_the_metadata_helper_changes_nothing_by_itself(good: bytes) -> None:
    assert load(with_metadata(good, lambda tree: None)).kernels == load(good).kernels


def arg(offset: int, size: int, kind: str = "by_value") -> dict[str, object]:
    return {".offset": offset, ".size": size, ".value_kind": kind}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (b"", "metadata note"),
        (b"\xc1", "one msgpack object"),
        (b"\x91" * 100_000, "one msgpack object"),  # nesting deeper than any stack
        (b"\xdd\xff\xff\xff\xff" + bytes(100), "one msgpack object"),  # an array of 2**32 - 1
        ((b"\xdc\xff\xff" * 1000), "one msgpack object"),  # arrays of 65535 in one another
        (b"\x81\x80\x01", "one msgpack object"),  # a map with a map as key
        (b"\xc7\x0c\xff" + b"\xff" * 12, "one msgpack object"),  # a timestamp of no calendar
        (b"\xa2\xff\xfe", "one msgpack object"),  # a string that is not UTF-8
        (b"\x01", "expected: a map"),
        (lambda t: t.update({"amdhsa.version": [2, 0]}), "amdhsa.version"),
        (lambda t: t.update({"amdhsa.target": "x86_64-linux"}), "'x86_64-linux'"),
        (lambda t: t.update({"amdhsa.kernels": {}}), "expected: an array"),
        (lambda t: t.update({"amdhsa.kernels": [7]}), "kernel 0"),
        (set_first(name=7), "key .name"),
        (set_first(name="bravo", symbol="bravo.kd"), "observed: two"),
        (set_first(symbol="other.kd"), "a symbol of that name"),
        (set_first(symbol="parts"), "kernel descriptor"),
        (set_first(wavefront_size=48), "32 or 64"),
        (set_first(wavefront_size=64), "which the hardware obeys"),
        (set_first(vgpr_count=-1), "an integer from 0"),
        (set_first(kernarg_segment_size=1 << 31), "kernarg_segment_size"),
        (set_first(args=[arg(0, 8), arg(4, 4)]), "do not overlap"),
        (set_first(args=[arg(1 << 30, 8)]), "argument 0 of 'alpha'"),
        (set_first(args=[{".offset": 0, ".size": 8}]), ".value_kind"),
        (set_first(args=["x"]), "expected: a map"),
    ],
)
def test_metadata(good: bytes, change: Callable[[dict[str, object]], object] | bytes, words: str) -> None:
    assert words in refusal(with_metadata(good, change))


def test_no_metadata_at_all(good: bytes) -> None:
    assert ".amdgpu_metadata" in refusal(patched(good, program_header(good, 4), "I", 0))


def test_unknown_processor(good: bytes) -> None:
    unnamed = with_metadata(good, lambda tree: tree.pop("amdhsa.target"))
    assert load(unnamed).target == "gfx1151"
    assert "processor number 0xff" in refusal(patched(unnamed, E_FLAGS, "I", 0xFF))


# Descriptor, relocations


@pytest.mark.parametrize("offset", [1, 1 << 40, -(1 << 62), 0])
def test_entry_outside_of_code(good: bytes, offset: int) -> None:
    descriptor = section_start(good, ".rodata")
    name = next(iter(load(good).kernels))
    where = refusal(patched(good, descriptor + 16, "q", offset))
    assert f"kernel {name}" in where
    assert "executable segment" in where


def rela(good: bytes) -> int:
    """File offset of the first dynamic relocation."""
    return section_start(good, ".rela.dyn")


def test_relocations(good: bytes) -> None:
    at = rela(good)
    assert "lies outside" in refusal(patched(good, at, "Q", 1 << 60))
    assert "type 99" in refusal(patched(good, at + 8, "Q", 99))
    assert "does not define" in refusal(patched(good, at + 8, "Q", 999 << 32 | 3))
    assert "does not define" in refusal(patched(good, at + 8, "Q", 0 << 32 | 3)), "symbol 0 is undefined"


def test_a_relocation_by_symbol_is_resolved(good: bytes) -> None:
    """R_AMDGPU_ABS64 against symbol i has the value of symbol i plus the addend."""
    symbols = ELFFile(io.BytesIO(good)).get_section_by_name(".dynsym")
    index = next(i for i, s in enumerate(symbols.iter_symbols()) if s.name == "table")
    changed = patched(patched(good, rela(good) + 8, "Q", index << 32 | 3), rela(good) + 16, "q", -4)
    first_one, *others = load(changed).relocations
    assert first_one.value == symbols.get_symbol(index)["st_value"] - 4
    assert others == list(load(good).relocations[1:])


# Line table


@pytest.mark.parametrize(
    ("offset", "raw", "words"),
    [
        (4, b"\x09\x00", "version 9"),
        (0, b"\xf0\xff\xff\x7f", "more bytes"),
        (0, b"\xff\xff\xff\xff" + b"\xff" * 8, "more bytes"),
        (13, b"\x02", "one operation an instruction"),
        (16, b"\x00", "a line range"),
        (8, b"\xff\xff\xff\x7f", "a header of"),
        # What keeps pyelftools busy for ever: no directory formats, 2**60 directories.
        (30, b"\x00" + b"\xff" * 8 + b"\x7f", "a count of entries"),
        (30, b"\x01\x01\x21", "form 0x21"),  # DW_FORM_implicit_const takes no byte
    ],
)
def test_line_table(good: bytes, offset: int, raw: bytes, words: str) -> None:
    start = section_start(good, ".debug_line")
    assert words in refusal(good[: start + offset] + raw + good[start + offset + len(raw) :])


def test_line_table_that_is_compressed(good: bytes) -> None:
    start = struct.unpack_from("<Q", good, E_SHOFF)[0]
    names = section_start(good, ".shstrtab")
    count = struct.unpack_from("<H", good, E_SHNUM)[0]
    (header,) = (
        at
        for at in range(start, start + 64 * count, 64)
        if good[names + struct.unpack_from("<I", good, at)[0] :].startswith(b".debug_line\0")
    )
    assert "--decompress-debug-sections" in refusal(patched(good, header + 8, "Q", 0x800))


def test_line_table_that_is_too_large(good: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_SECTION", 10)
    assert "llvm-strip --strip-debug" in refusal(good)


# Reads


@pytest.mark.parametrize(
    ("raw", "unsigned", "signed"),
    [  # DWARF 5, tables 7.6 and 7.7 give most of these
        (b"\x02", 2, 2),
        (b"\x7f", 127, -1),
        (b"\x7e", 126, -2),
        (b"\xff\x00", 127, 127),
        (b"\x80\x01", 128, 128),
        (b"\x80\x7f", 16256, -128),
        (b"\x81\x7f", 16257, -127),
        (b"\xe5\x8e\x26", 624485, 624485),
    ],
)
def test_leb128(raw: bytes, unsigned: int, signed: int) -> None:
    assert Cursor(raw, "test").uleb128() == unsigned
    assert Cursor(raw, "test").sleb128() == signed


@pytest.mark.parametrize("raw", [b"", b"\x80", b"\x80" * 10 + b"\x01"])
def test_endless_leb128(raw: bytes) -> None:
    with pytest.raises(CodeObjectError, match="LEB128"):
        Cursor(raw, "test").uleb128()


def test_a_read_beyond_the_window_says_where(good: bytes) -> None:
    cursor = Cursor(b"abcdef", "test", 1, 4, origin=0x100)
    assert cursor.take(2) == b"bc"
    with pytest.raises(CodeObjectError, match=r"malformed test\n.*file offset 0x103"):
        cursor.unsigned(2)
    assert cursor.unsigned(1) == ord("d")
