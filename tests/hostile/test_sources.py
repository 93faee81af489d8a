"""Sources that would keep a compiler busy for ever, or fill memory and disk: a clear error in bounded time.

The limits of the toolchain are lowered here, so that the tests do not take as long as users would wait.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.toolchain import find, process

KERNEL = 'extern "C" __attribute__((global)) void k(int* y)'
MANIFEST = """\
[[kernel]]
name = "k"
source = "{source}"
grid = 1
block = 32
sizes = [{{ n = 64 }}]
contract = {{ kind = "none" }}
checks = ["resources"]
argument = [{{ name = "y", role = "out", dtype = "i32", shape = ["n"] }}]
"""


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of everything for the toolchain; which compiler there is, is known by then."""
    find.find_compiler(target="gfx1151")
    monkeypatch.setattr(process, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(process, "MEMORY_BYTES", 1 << 30)
    monkeypatch.setattr(process, "FILE_BYTES", 16 << 20)


def verdict_of(folder: Path, text: str | None, source: str = "k.hip") -> KernelVerdict:
    if text is not None:
        (folder / source).write_text(text)
    (folder / "layoutprobe.toml").write_text(MANIFEST.format(source=source))
    (verdict,) = check(folder / "layoutprobe.toml").verdicts
    return verdict


def error_of(folder: Path, text: str | None, source: str = "k.hip") -> str:
    verdict = verdict_of(folder, text, source)
    assert verdict.exit_code == 2
    assert len(verdict.error) < 30_000
    return verdict.error


@pytest.mark.parametrize("named", ["credentials", "link.hip"])
def test_a_file_that_is_no_source_is_not_quoted(tmp_path: Path, named: str) -> None:
    """What a manifest may name by mistake or malice. A compiler quotes the lines that it does not understand,
    and a report goes to strangers."""
    (tmp_path / "credentials").write_text("token: hunter2\n")
    (tmp_path / "link.hip").symlink_to("credentials")
    error = error_of(tmp_path, None, named)
    assert "no source by its name" in error
    assert "hunter2" not in error


BOMBS = {
    "exponential templates": f"""
template<int N, int M> struct F {{ enum {{ v = (F<N-1, 2*M>::v + F<N-1, 2*M+1>::v) & 1 }}; }};
template<int M> struct F<0, M> {{ enum {{ v = 1 }}; }};
{KERNEL} {{ *y = F<30, 0>::v; }}""",
    "exponential macros": f"""
#define A(x) x x x x x x x x x x
{KERNEL} {{ A(A(A(A(A(A(A(A(A(*y += 1;))))))))) }}""",
    "a constant of 8 GiB": f"""
extern "C" __attribute__((device, used)) int big[1ull << 31] = {{1}};
{KERNEL} {{ *y = big[*y]; }}""",
    "warnings without end": f"""
#define W(x) _Pragma("message(\\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\")") x
#define A(x) W(x) W(x) W(x) W(x) W(x) W(x) W(x) W(x)
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
C(C(C(;)))
{KERNEL} {{ *y = 1; }}""",
}
ASSEMBLY_BOMBS = {
    "recursive macros": ".macro m\nm\nm\n.endm\nm\n",
    "repeats": ".rept 1000000000\n.long 1\n.endr\n",
    "a device": '.incbin "/dev/zero"\n',
    "a fill": ".fill 0x100000000000, 1, 0\n",
}


@pytest.mark.few(2)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_for_the_compiler(tmp_path: Path, name: str) -> None:
    error = error_of(tmp_path, BOMBS[name])
    assert "clang refused k.hip" in error or "did not end within 1 s" in error
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("k.hip", "layoutprobe.toml")] == []


@pytest.mark.few(2)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ASSEMBLY_BOMBS)
def test_bombs_for_the_assembler(tmp_path: Path, name: str) -> None:
    error = error_of(tmp_path, ASSEMBLY_BOMBS[name], "k.s")
    assert "clang refused k.s" in error or "did not end within 1 s" in error


@pytest.mark.usefixtures("hurried")
def test_a_pipe_that_nobody_writes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "did not end within 1 s" in error_of(tmp_path, f'#include "pipe"\n{KERNEL} {{ *y = 1; }}')


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    assert "nested too deeply" in error_of(tmp_path, '#include "k.hip"\n#include "k.hip"\n')


def test_a_device_as_header_is_read_once_and_never_remembered(tmp_path: Path) -> None:
    """Clang takes /dev/zero for an empty file; a cache that hashed it would never end."""
    for _ in range(2):
        verdict = verdict_of(tmp_path, f'#include "/dev/zero"\n{KERNEL} {{ *y = 1; }}')
        assert not verdict.error


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "missing", "loop", "dangling"])
def test_what_is_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "k.hip"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case "dangling":
            path.symlink_to(tmp_path / "gone")
    assert "there is no such source file" in error_of(tmp_path, None)


def test_a_source_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "k.hip").open("wb") as stream:
        stream.truncate(1 << 40)  # sparse
    error = error_of(tmp_path, None)
    assert "the source cannot be read" in error
    assert "larger than 64 MiB" in error


@pytest.mark.parametrize(
    "flag", ["-fplugin=/tmp/x.so", "-o/tmp/x", "@file", "-Xclang", "-B/tmp", "-include/etc/x"]
)
def test_flags_that_load_or_write_files_are_refused(tmp_path: Path, flag: str) -> None:
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST.format(source="k.hip") + f'flags = ["{flag}"]\n')
    with pytest.raises(UsageError, match="flags"):
        check(tmp_path / "layoutprobe.toml")
