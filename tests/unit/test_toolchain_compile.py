"""Compiling for real, the cache around it, and everything that can go wrong with either."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from layoutprobe.codeobj.elf import load
from layoutprobe.errors import ToolchainError, UsageError
from layoutprobe.toolchain import cache, find
from layoutprobe.toolchain.compile import Compiled, assemble, compile_hip

TARGET = "gfx1151"
SOURCE = """#include "value.h"
#ifndef FACTOR
#define FACTOR 1
#endif
extern "C" __attribute__((global)) void k(int* p) { *p = VALUE * FACTOR; }
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path, store: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "value.h").write_text("#define VALUE 1000\n")
    path = tmp_path / "code" / "k.hip"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, starting a process is an error. Ask for it with getfixturevalue."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"a process was started: {args}")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def literal(compiled: Compiled) -> int:
    """The constant that the kernel stores, in the compiler's own assembly."""
    found = re.search(r"v_mov_b32(?:_e32)? v\d+, (\w+)", compiled.assembly) or re.search(
        r"v_dual_mov_b32 v\d+, 0 :: v_dual_mov_b32 v\d+, (\w+)", compiled.assembly
    )
    assert found, compiled.assembly
    return int(found[1], 0)


def test_what_comes_out(source: Path) -> None:
    compiled = compile_hip(source, target=TARGET)
    code = load(compiled.data)
    assert (code.target, list(code.kernels)) == (TARGET, ["k"])
    assert literal(compiled) == 1000
    assert compiled.toolchain["code_object"] == code.digest
    assert compiled.toolchain["flags"] == "-O3 -g"
    assert "clang version" in compiled.toolchain["compiler"]
    assert set(compiled.toolchain) == {"compiler", "kind", "target", "flags", "source", "code_object"}


def test_the_object_does_not_depend_on_where_the_source_lies(source: Path) -> None:
    other = source.parent.parent / "another place"
    source.parent.rename(other)
    twin = source.parent
    twin.mkdir()
    for name in ("k.hip", "value.h"):
        (twin / name).write_bytes((other / name).read_bytes())
    results = [compile_hip(folder / "k.hip", target=TARGET) for folder in (other, twin)]
    assert results[0].data == results[1].data
    assert str(other.parent).encode() not in results[0].data


def test_include_directories_are_named_by_their_last_part(source: Path, tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    header = "__attribute__((device)) inline int value(int x) {\n  return x * x * 3;\n}\n"
    (tmp_path / "common" / "value.h").write_text(header)
    (source.parent / "value.h").unlink()
    source.write_text(SOURCE.replace("VALUE", "value(*p)"))
    compiled = compile_hip(source, target=TARGET, include_dirs=[tmp_path / "common"])
    assert "common/value.h" in set(load(compiled.data).lines.files)
    assert str(tmp_path).encode() not in compiled.data


def test_defines_and_flags_win_over_defaults(source: Path) -> None:
    assert literal(compile_hip(source, target=TARGET, defines={"FACTOR": 3})) == 3000
    assert literal(compile_hip(source, target=TARGET, defines={"FACTOR": "(2 + 2)"})) == 4000
    plain = compile_hip(source, target=TARGET, flags=["-g0"])
    assert load(plain.data).lines.addresses == ()
    assert plain.toolchain["flags"] == "-O3 -g -g0"
    wave64 = compile_hip(source, target=TARGET, flags=["-mwavefrontsize64"])
    assert load(wave64.data).kernel().wavefront_size == 64


def test_the_environment_cannot_change_the_result(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted").mkdir()
    (source.parent / "value.h").rename(tmp_path / "planted" / "value.h")
    monkeypatch.setenv("CPATH", str(tmp_path / "planted"))
    with pytest.raises(ToolchainError, match=r"'value\.h' file not found"):
        compile_hip(source, target=TARGET)


# Refusals


def test_a_compile_error_shows_what_clang_printed(source: Path) -> None:
    source.write_text('extern "C" __attribute__((global)) void k(int* p) {\n  *p = nowhere;\n}\n')
    with pytest.raises(ToolchainError) as caught:
        compile_hip(source, target=TARGET)
    printed = (
        "k.hip:2:8: error: use of undeclared identifier 'nowhere'\n"
        "    2 |   *p = nowhere;\n"
        "      |        ^~~~~~~\n"
    )
    assert printed in str(caught.value)
    assert "clang refused k.hip" in str(caught.value)


def test_a_link_error_names_the_symbol(source: Path) -> None:
    source.write_text(
        "__attribute__((device)) int elsewhere(int);\n"
        'extern "C" __attribute__((global)) void k(int* p) { *p = elsewhere(*p); }\n'
    )
    with pytest.raises(
        ToolchainError, match=r"ld\.lld refused k\.hip(.|\n)*undefined (hidden )?symbol: elsewhere"
    ):
        compile_hip(source, target=TARGET)


def test_an_assembler_error_is_told(store: Path) -> None:
    with pytest.raises(ToolchainError, match=r"clang refused kernel\.s(.|\n)*v_no_such_thing"):
        assemble("v_no_such_thing v0, v1\n", target=TARGET)


@pytest.mark.parametrize("target", ["", "gfx1151 -v", "--version", "gfx1151:xnack"])
def test_what_is_no_target(source: Path, target: str) -> None:
    with pytest.raises(UsageError, match="no name of a processor"):
        compile_hip(source, target=target)


def test_a_processor_that_no_compiler_knows(source: Path) -> None:
    with pytest.raises(ToolchainError, match="does not know gfx9999"):
        compile_hip(source, target="gfx9999")


def test_no_source(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such source file"):
        compile_hip(tmp_path / "none.hip", target=TARGET)
    with pytest.raises(UsageError, match="no such source file"):
        assemble(tmp_path, target=TARGET)


def test_no_room_for_intermediate_files(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(source))
    with pytest.raises(ToolchainError, match="TMPDIR"):
        compile_hip(source, target=TARGET)


# The cache


def test_a_warm_hit_starts_no_process(source: Path, request: pytest.FixtureRequest) -> None:
    first = compile_hip(source, target=TARGET)
    text = assemble(first.assembly, target=TARGET)
    request.getfixturevalue("no_processes")
    again = compile_hip(source, target=TARGET)
    assert (again.data, again.assembly, again.toolchain) == (first.data, first.assembly, first.toolchain)
    assert assemble(first.assembly, target=TARGET).data == text.data
    with pytest.raises(AssertionError, match="a process was started"):
        compile_hip(source, target=TARGET, flags=["-O2"])


def test_whatever_changes_the_result_is_seen(source: Path) -> None:
    """Source, header, define, flag, target: each must lead to another object."""
    results = [compile_hip(source, target=TARGET)]
    (source.parent / "value.h").write_text("#define VALUE 2000\n")
    results.append(compile_hip(source, target=TARGET))
    source.write_text(SOURCE.replace("* FACTOR", "+ 7"))
    results.append(compile_hip(source, target=TARGET))
    assert [literal(r) for r in results] == [1000, 2000, 2007]
    results.append(compile_hip(source, target=TARGET, flags=["-g0"]))
    results.append(compile_hip(source, target="gfx1100"))
    assert len({r.data for r in results}) == 5
    (source.parent / "value.h").write_text("#define VALUE 1000\n")
    source.write_text(SOURCE)
    assert compile_hip(source, target=TARGET).data == results[0].data


def test_a_header_that_a_macro_chose_is_seen(source: Path) -> None:
    source.write_text(SOURCE.replace('"value.h"', "CHOSEN"))
    odd = source.parent / "odd $name #1.h"
    odd.write_text("#define VALUE 1000\n")
    chosen = {"CHOSEN": f'"{odd.name}"'}
    assert literal(compile_hip(source, target=TARGET, defines=chosen)) == 1000
    odd.write_text("#define VALUE 3000\n")
    assert literal(compile_hip(source, target=TARGET, defines=chosen)) == 3000
    odd.unlink()
    with pytest.raises(ToolchainError, match="file not found"):
        compile_hip(source, target=TARGET, defines=chosen)


def entries(store: Path) -> list[Path]:
    return sorted(store.glob("*.entry"))


@pytest.mark.parametrize("damage", ["truncated", "garbled", "empty", "foreign", "misplaced"])
def test_damaged_entries_are_built_again(source: Path, store: Path, damage: str) -> None:
    first = compile_hip(source, target=TARGET)
    assert len(entries(store)) == 3, "the compiler, the list of inputs, the result"
    intact = {path: path.read_bytes() for path in entries(store)}
    others = [*list(intact.values())[1:], next(iter(intact.values()))]
    for (path, raw), other in zip(intact.items(), others, strict=True):
        middle = len(raw) // 2
        path.write_bytes(
            {
                "truncated": raw[:middle],
                "garbled": raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :],
                "empty": b"",
                "foreign": b"something else entirely",
                "misplaced": other,
            }[damage]
        )
    again = compile_hip(source, target=TARGET)
    assert again.data == first.data
    assert {path: path.read_bytes() for path in entries(store)} == intact


def test_a_cache_that_cannot_be_written_costs_only_time(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = compile_hip(source, target=TARGET).data
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none"), "off"):
        monkeypatch.setenv("LAYOUTPROBE_CACHE", str(place))
        assert compile_hip(source, target=TARGET).data == expected
        assert cache.size() == 0


def test_processes_that_compile_the_same_thing_at_once(source: Path, store: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from layoutprobe.toolchain.compile import compile_hip\n"
        "for flag in sys.argv[2:]:\n"
        "    print(compile_hip(Path(sys.argv[1]), target='gfx1151', flags=[flag]).toolchain['code_object'])\n"
    )
    command = [sys.executable, "-c", program, str(source), "-O1", "-O2", "-O3", "-O1"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert outputs == [outputs[0]] * 4
    assert len(outputs[0]) == 4
    assert not list(store.glob(".tmp-*"))
    for path in entries(store):
        assert cache.load(path.name.removesuffix(".entry")) is not None


def test_a_run_that_was_killed_leaves_nothing_for_ever(store: Path) -> None:
    store.mkdir()
    old, young, alien = store / ".tmp-old", store / ".tmp-young", store / "notes.txt"
    for path in (old, young, alien):
        path.write_bytes(b"half an entry")
    for path in (old, alien):
        os.utime(path, (time.time() - 7200,) * 2)
    cache.store(cache.key("test"), b"x")
    assert not old.exists(), "its writer is long gone"
    assert young.exists(), "its writer may still be at work"
    assert alien.exists(), "not ours"
    assert cache.load(cache.key("test")) == b"x"


def test_a_write_that_fails_keeps_the_old_entry(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = cache.key("test")
    cache.store(key, b"old")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        cache.store(key, b"new")
    assert cache.load(key) == b"old"
    assert not list(store.glob(".tmp-*"))


def test_eviction_drops_what_was_used_longest_ago(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [cache.key("test", str(i)) for i in range(5)]
    for i, key in enumerate(keys[:4]):
        cache.store(key, bytes(1000))
        os.utime(store / f"{key}.entry", (1000 + i,) * 2)
    assert cache.load(keys[0]) is not None  # used again: now the youngest
    monkeypatch.setattr(cache, "MAX_BYTES", 3500)
    cache.store(keys[4], bytes(1000))
    assert [cache.load(key) is not None for key in keys] == [True, False, False, True, True]
    assert cache.size() <= 3500


def test_entries_come_back_as_they_were(store: Path) -> None:
    for payload in (b"", b"\0\n\xff", os.urandom(100_000)):
        key = cache.key("test", payload)
        assert cache.load(key) is None
        cache.store(key, payload)
        assert cache.load(key) == payload


def test_keys_tell_parts_apart() -> None:
    assert len({cache.key("a", "bc"), cache.key("ab", "c"), cache.key("abc"), cache.key("a", "b", "c")}) == 4
    assert cache.key("a", "b") == cache.key("a", b"b")


def test_the_compiler_can_be_given_in_both_ways(source: Path) -> None:
    zig = find.ziglang()
    assert zig is not None
    by_name = compile_hip(source, target=TARGET, compiler=str(zig))
    found = compile_hip(source, target=TARGET, compiler=find.find_compiler(str(zig)))
    assert by_name.data == found.data
    assert by_name.toolchain["kind"] == "named"


def test_a_compiler_without_linker(source: Path) -> None:
    lone = find.Compiler("path", ("clang",), "clang version 0", (), frozenset({TARGET}))
    with pytest.raises(ToolchainError, match=r"ld\.lld beside it"):
        compile_hip(source, target=TARGET, compiler=lone)


def test_assembly_from_file_and_text(source: Path, tmp_path: Path) -> None:
    text = compile_hip(source, target=TARGET).assembly
    (tmp_path / "other.s").write_text(text)
    assert assemble(tmp_path / "other.s", target=TARGET).data == assemble(text, target=TARGET).data
    assert assemble(text, target=TARGET).assembly == text


def test_assembly_that_includes_is_not_cached(tmp_path: Path, store: Path) -> None:
    """Nobody lists what an assembler includes."""
    included = tmp_path / "part.s"
    texts = []
    for body in ("s_nop 1", "s_nop 2"):
        included.write_text(f"{body}\ns_endpgm\n")
        texts.append(assemble(f'.text\n.include "{included}"\n', target=TARGET).data)
    assert texts[0] != texts[1]
