"""Which compiler is taken, with small scripts that answer as compilers do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain import cache, doctor, find
from layoutprobe.toolchain import process as tool
from layoutprobe.toolchain.find import find_compiler

SPAWNED = "spawned"


def fake(path: Path, version: str = "20.1.0", processors: tuple[str, ...] = ("gfx1100", "gfx1151")) -> Path:
    """A clang that only answers --print-supported-cpus, and notes beside it that it was run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = "".join(f"\\t{name}\\n" for name in processors)
    answer = f"printf 'Available CPUs for this target:\\n\\n{listed}' >&2" if processors else "exit 1"
    path.write_text(
        f"#!/bin/sh\necho x >> '{path}.{SPAWNED}'\necho 'clang version {version}' >&2\n{answer}\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No compiler anywhere; ROCm would be in rocm/, PATH is bin/, ziglang would be in zig/."""
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("LAYOUTPROBE_CLANG", raising=False)
    zig = tmp_path / "zig" / "zig"
    monkeypatch.setattr(find, "ziglang", lambda: zig if zig.exists() else None)
    return tmp_path


def test_order_of_search(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each better place is filled after the worse ones, and wins at once."""
    zig = fake(world / "zig" / "zig", "1.0")
    found = find_compiler()
    assert (found.kind, found.command, found.linker) == ("ziglang", (str(zig), "clang"), (str(zig), "ld.lld"))

    for name in ("clang-18", "clang-19", "clang"):
        on_path = fake(world / "bin" / name, name)
        found = find_compiler()
        assert (found.kind, found.command) == ("path", (str(on_path),))
        assert found.version == f"clang version {name}"

    for place in ("lib/llvm/bin/clang", "lib/llvm/bin/clang++", "llvm/bin/clang", "llvm/bin/clang++"):
        in_rocm = fake(world / "rocm" / place, "5.0")
        found = find_compiler()
        assert (found.kind, found.command) == ("rocm", (str(in_rocm),))

    named = fake(world / "elsewhere" / "my-clang", "6.0")
    monkeypatch.setenv("LAYOUTPROBE_CLANG", str(named))
    assert find_compiler().command == (str(named),)
    argument = fake(world / "bin" / "clang-17", "7.0")
    found = find_compiler("clang-17")
    assert (found.kind, found.command) == ("named", (str(argument),))


def test_compilers_without_the_target_are_passed_over(world: Path) -> None:
    fake(world / "bin" / "clang", processors=())
    old = fake(world / "bin" / "clang-15", processors=("gfx900",))
    zig = fake(world / "zig" / "zig")
    assert find_compiler().command == (str(old),)
    assert find_compiler(target="gfx1151").command == (str(zig), "clang")
    assert find_compiler(target="gfx900:xnack-").command == (str(old),)


def test_a_named_compiler_is_never_replaced(world: Path) -> None:
    fake(world / "zig" / "zig")
    host_only = fake(world / "bin" / "host", processors=())
    old = fake(world / "bin" / "old", "15.0.0", processors=("gfx900",))
    for name, words in {
        str(world / "missing"): "does not exist",
        "unknown-name": "does not exist",
        str(world): "does not exist",
        str(host_only): "has no amdgcn target",
        str(old): "clang version 15.0.0 does not know gfx1151",
    }.items():
        with pytest.raises(ToolchainError) as caught:
            find_compiler(name, target="gfx1151")
        assert words in str(caught.value)
        assert name in str(caught.value)


def test_none_at_all_says_where_it_looked_and_what_to_do(world: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        find_compiler()
    message = str(caught.value)
    assert "pip install ziglang" in message
    assert f"{world / 'rocm'}, on PATH, or in the ziglang package" in message
    host_only = fake(world / "bin" / "clang", processors=())
    with pytest.raises(ToolchainError, match="has no amdgcn target") as caught:
        find_compiler()
    assert str(host_only) in str(caught.value)


def test_a_compiler_that_cannot_be_run(world: Path) -> None:
    broken = fake(world / "bin" / "clang")
    broken.write_text("#!/no/such/interpreter\n")
    with pytest.raises(ToolchainError, match="No such file"):
        find_compiler()


@pytest.mark.parametrize("ended_by", [subprocess.TimeoutExpired, KeyboardInterrupt])
def test_a_compiler_that_does_not_end_is_ended(
    world: Path, monkeypatch: pytest.MonkeyPatch, ended_by: type[BaseException]
) -> None:
    """With its own children: a compiler driver leaves its work to them."""
    printed = tool._printed
    child = world / "child"

    def impatient(process: subprocess.Popen[bytes], _: float) -> tuple[str, str]:
        while not child.exists():
            time.sleep(0.01)
        if ended_by is KeyboardInterrupt:
            raise KeyboardInterrupt
        return printed(process, 0.0)

    monkeypatch.setattr(tool, "_printed", impatient)
    slow = fake(world / "bin" / "clang")
    slow.write_text(
        f"#!/bin/sh\n/bin/sleep 600 &\necho $! > '{child}.tmp'; /bin/mv '{child}.tmp' '{child}'\nwait\n"
    )
    if ended_by is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            find_compiler(str(slow))
    else:
        with pytest.raises(ToolchainError, match="did not end within"):
            find_compiler(str(slow))
    assert gone(int(child.read_text()))


def gone(process: int) -> bool:
    """Whether a process ends, or has become one that only waits to be counted."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("name", ["./clang", "bin/clang", "../{world}/bin/clang"])
def test_a_relative_name_means_this_directory(
    world: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools are run in other directories than the user's."""
    clang = fake(world / "bin" / "clang")
    monkeypatch.chdir(clang.parent if name.startswith("./") else world)
    assert find_compiler(name.format(world=world.name)).command == (str(clang),)


def test_a_relative_entry_of_path(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clang, linker = fake(world / "bin" / "clang"), fake(world / "bin" / "ld.lld")
    monkeypatch.chdir(world)
    monkeypatch.setenv("PATH", "bin")
    found = find_compiler()
    assert (found.command, found.linker) == ((str(clang),), (str(linker),))


@pytest.mark.parametrize("entry", [b"\xff\xfe", b"", b"3", b"[1]", b'{"a": 1}'])
def test_a_strange_entry_in_the_cache_is_no_answer(world: Path, entry: bytes) -> None:
    clang = fake(world / "bin" / "clang")
    key = cache.key("compiler 1", str(clang), find.identity(clang))
    cache.store(key, entry)
    assert cache.load(key) == entry
    assert find_compiler().version == "clang version 20.1.0"
    assert json.loads(cache.load(key) or b"")[0] == "clang version 20.1.0"


def test_a_compiler_is_asked_once_until_it_changes(world: Path) -> None:
    clang = fake(world / "bin" / "clang", "20.1.0")
    notes = Path(f"{clang}.{SPAWNED}")
    assert find_compiler() == find_compiler()
    assert notes.read_text() == "x\n"
    fake(clang, "20.1.99")
    assert find_compiler().version == "clang version 20.1.99"
    assert notes.read_text() == "x\nx\n"


def test_the_linker_beside_the_compiler_wins(world: Path) -> None:
    """Of one release with it; PATH's own comes last, since an older one refuses newer objects."""
    home = world / "llvm-20"
    real = fake(home / "clang")
    (world / "bin").mkdir()
    (world / "bin" / "clang-20").symlink_to(real)
    assert find_compiler().linker == ()
    on_path = fake(world / "tools" / "ld.lld")
    os.environ["PATH"] += f":{on_path.parent}"
    assert find_compiler().linker == (str(on_path),)
    zig = fake(world / "zig" / "zig")
    assert find_compiler().linker == (str(zig), "ld.lld")
    beside = fake(home / "ld.lld")
    assert find_compiler().linker == (str(beside),)
    versioned = fake(world / "bin" / "ld.lld-20")
    assert find_compiler().linker == (str(versioned),)


def test_a_named_zig_is_driven_as_clang(world: Path) -> None:
    zig = fake(world / "bin" / "zig")
    found = find_compiler("zig")
    assert (found.command, found.linker) == ((str(zig), "clang"), (str(zig), "ld.lld"))


def test_the_ziglang_package_is_found_without_being_imported() -> None:
    sys.modules.pop("ziglang", None)
    path = find.ziglang()
    assert path is not None
    assert os.access(path, os.X_OK)
    assert "ziglang" not in sys.modules


# What `doctor` reports


def parts(topology: Path) -> dict[str, doctor.Part]:
    return {part.name: part for part in doctor.examine(topology)}


def test_doctor_where_nothing_is(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setenv("LAYOUTPROBE_CACHE", "off")
    found = parts(world / "no-topology")
    assert set(found) == {"compiler", "HIP runtime", "devices", "cache"}
    assert not any(part.found for part in found.values())
    assert all(part.detail and part.cost_if_missing for part in found.values())
    assert "pip install ziglang" in found["compiler"].detail
    for part in ("HIP runtime", "devices"):
        assert "--backend hip" in found[part].cost_if_missing


def test_doctor_where_everything_is(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = fake(world / "rocm" / "llvm" / "bin" / "clang")
    fake(chosen.with_name("ld.lld"))
    fake(world / "bin" / "clang", processors=())
    (world / "rocm" / "lib").mkdir(exist_ok=True)
    library = world / "rocm" / "lib" / "libamdhip64.so.7"
    library.touch()
    # As the kernel driver describes a CPU and two GPUs; the third file is not readable as such.
    for node, text in enumerate(
        (
            "cpu_cores_count 16\ngfx_target_version 0\n",
            "gfx_target_version 110501\n",
            "gfx_target_version 90402\n",
            "?",
        )
    ):
        folder = world / "nodes" / str(node)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(text)
    found = parts(world / "nodes")
    assert {name for name, part in found.items() if not part.found} == {"also there"}
    assert str(chosen) in found["compiler"].detail
    assert str(world / "bin" / "clang") in found["also there"].detail, "the chosen one is listed once"
    assert found["HIP runtime"].detail == str(library)
    assert found["devices"].detail == "gfx1151, gfx942"
    assert found["cache"].detail.startswith(str(world / "cache"))


def test_doctor_finds_an_unwritable_cache(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (world / "file").touch()
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(world / "file" / "cache"))
    part = parts(world)["cache"]
    assert not part.found
    assert "LAYOUTPROBE_CACHE" in part.cost_if_missing


@pytest.mark.parametrize("named", ["ZIG_GLOBAL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_zig_keeps_what_it_builds_where_it_is_told(named: str) -> None:
    assert tool.with_zigs_folder({named: "/there"}) == {named: "/there"}


def test_zig_keeps_what_it_builds_in_the_cache_where_there_is_no_home(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with "AppDataDirUnavailable" else, and a service or a container may have none."""
    folder = tool.with_zigs_folder({"HOME": "", "PATH": "/bin"})
    assert folder == {"HOME": "", "PATH": "/bin", "ZIG_GLOBAL_CACHE_DIR": str(world / "cache" / "zig")}
    monkeypatch.setenv("LAYOUTPROBE_CACHE", "off")
    assert Path(tool.with_zigs_folder({})["ZIG_GLOBAL_CACHE_DIR"]).is_absolute()
