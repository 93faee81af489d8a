"""Host programs in C and in HIP, compiled here and run by `layoutprobe run` as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hiphost.compiling import HOST, PROGRAMS, build_c, build_hip, device_code, zig
from hiphost.running import layoutprobe_run

from layoutprobe.codeobj.bundle import bundle
from layoutprobe.extras.hiphost import interface
from layoutprobe.extras.hiphost.needs import exported, missing_functions
from layoutprobe.extras.hiphost.shim_build import NAMES, library

KERNELS = ("--check", "memory,init,races")
"""What is held against kernels alone: driver.c tries on purpose what the host should not do."""


def test_a_program_of_the_module_interface(built: Path) -> None:
    """Modules, arguments, pointers in memory, globals, copies, fills, streams, events, errors: driver.c."""
    done = layoutprobe_run(built / "driver", built / "kernels.co", "5", stdin="hello\n", options=KERNELS)
    assert done.stdout == "heard hello\nall as expected\n"
    assert done.returncode == 5
    # One launch has a block that is too large, on purpose: it is refused, and ran as little as it failed.
    assert "7 kernel launches on layoutprobe emulator" in done.stderr
    assert "none failed, 1 refused (launches, code or functions); emulated, not measured" in done.stderr


def test_a_single_source_program(built: Path) -> None:
    """<<<>>>, a template, __device__ variables, occupancy; the code for this device, out of two."""
    done = layoutprobe_run(built / "triple")
    assert (done.stdout, done.returncode) == ("axpy as expected, 8 blocks of 256 fit\n", 0), done.stderr
    assert "2 kernel launches" in done.stderr


def test_code_of_another_target_is_no_success(careless: Path, tmp_path: Path) -> None:
    """A program that looks at no status ends with 0, though nothing ran."""
    (tmp_path / "other.co").write_bytes(device_code("kernels.hip", "gfx1100"))
    done = layoutprobe_run(careless, tmp_path / "other.co")
    assert done.returncode == 2
    assert "hipModuleLoad: hipErrorNoBinaryForGpu" in done.stdout
    assert "no kernel ran on layoutprobe emulator" in done.stderr
    assert ", 2 refused (launches, code or functions)" in done.stderr, "the code, and a launch of nothing"


def test_without_a_device_nothing_succeeds(careless: Path, built: Path) -> None:
    environment = {"LAYOUTPROBE_HIP_PRETEND": "devices=0"}
    done = layoutprobe_run(careless, built / "kernels.co", environment=environment)
    assert done.returncode == 2
    *calls, last = done.stdout.splitlines()
    assert [line.partition(": ")[2] for line in calls] == ["hipErrorNoDevice"] * 6, done.stdout
    assert last.startswith("hipFree"), "of nothing, which needs no device"
    assert "no kernel ran" in done.stderr
    assert "none failed" not in done.stderr


def test_what_is_no_program_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text("__global__ void k() {}\n")
    done = layoutprobe_run(tmp_path / "k.hip")
    assert done.returncode == 2
    assert "is no executable file" in done.stderr
    assert "there is no program" not in done.stderr


def test_a_fault_is_told_in_full_and_is_no_success(built: Path) -> None:
    done = layoutprobe_run(built / "driver", built / "kernels.co", environment={"FAULT": "1"})
    assert done.stdout == "all as expected\n"
    assert done.returncode == 1, "the program itself ended with 0"
    assert "line kernels.hip:31" in done.stderr
    assert "lane 16" in done.stderr
    assert "1 failed" in done.stderr


@pytest.mark.long
def test_somebody_elses_host_program() -> None:
    """tinygrad: a matrix product in f16, a fused epilogue, reductions, exact against numpy."""
    environment = {"PYTHONPATH": str(PROGRAMS.parents[2])}
    done = layoutprobe_run(sys.executable, PROGRAMS / "tinygrad_on_hip.py", environment=environment)
    assert (done.stdout, done.returncode) == ("tinygrad on gfx1151: as expected\n", 0), done.stderr
    assert "4 kernel launches" in done.stderr


@pytest.mark.long
def test_code_for_another_device_is_refused(built: Path, tmp_path: Path) -> None:
    other = device_code("triple.hip", "gfx1100")
    program = build_hip("triple.hip", tmp_path, bundle({"gfx1100": other}))
    done = layoutprobe_run(program)
    assert done.returncode == 3
    assert "hipErrorNoBinaryForGpu" in done.stdout
    assert "the program has no code for gfx1151" in done.stderr
    assert "code for gfx1100" in done.stderr
    (tmp_path / "other.co").write_bytes(device_code("kernels.hip", "gfx1100"))
    done = layoutprobe_run(built / "driver", tmp_path / "other.co")
    assert "hipErrorNoBinaryForGpu" in done.stdout
    assert "the code object is for gfx1100, and the emulated device is a gfx1151" in done.stderr


def test_another_device_runs_its_own_code(built: Path, tmp_path: Path) -> None:
    (tmp_path / "k.co").write_bytes(device_code("kernels.hip", "gfx1200"))
    done = layoutprobe_run(built / "driver", tmp_path / "k.co", options=("--arch", "gfx1200", *KERNELS))
    # One launch is refused, on purpose: that is never green, though the program expects it.
    assert (done.stdout, done.returncode) == ("all as expected\n", 2), done.stderr


@pytest.fixture(scope="session")
def misuse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_c("misuse.c", tmp_path_factory.mktemp("misuse"))


@pytest.fixture(scope="session")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_c("careless.c", tmp_path_factory.mktemp("careless"))


def test_a_program_that_crashes_ends_the_run(misuse: Path) -> None:
    """Device memory cannot be read through a pointer on the host, as on a card of its own."""
    done = layoutprobe_run(misuse, "dereference")
    assert done.returncode == 128 + signal.SIGSEGV


def test_a_program_that_leaves_without_a_word(misuse: Path) -> None:
    done = layoutprobe_run(misuse, "exit in the middle")
    assert done.returncode == 2, "the program ended with 0, but no kernel ran"
    assert "no kernel ran on layoutprobe emulator" in done.stderr


def test_a_forked_child_has_a_device_of_its_own(misuse: Path) -> None:
    done = layoutprobe_run(misuse, "fork")
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert "no kernel ran" in done.stderr


def test_what_the_runtime_lacks_is_named_before_the_start(misuse: Path, tmp_path: Path) -> None:
    assert missing_functions(misuse, library()) == ["hipMemCreate"]
    done = layoutprobe_run(misuse, "weak")
    assert "the emulated HIP runtime lacks what the program may call: hipMemCreate" in done.stderr
    assert missing_functions(Path(sys.executable), library()) == []
    (tmp_path / "damaged").write_bytes(misuse.read_bytes()[:300])
    assert missing_functions(tmp_path / "damaged", library()) == []


@pytest.mark.long
def test_versioned_symbols_are_found_without_a_word_of_the_loader(tmp_path: Path) -> None:
    """Programs linked to AMD's library ask for hipMalloc@hip_4.2 of libamdhip64.so.6."""
    (tmp_path / "versions").write_text("hip_4.2 { global: hip*; local: *; };\n")
    (tmp_path / "rocm.c").write_text("int hipInit(unsigned f){return 1;} int hipFree(void*p){return 1;}")
    (tmp_path / "program.c").write_text(
        "int hipInit(unsigned); int hipFree(void*); int main(){return hipInit(0) || hipFree(0) ? 1 : 0;}"
    )
    for name in ("libamdhip64.so.6", "libamdhip64.so.7"):
        library_path, program = tmp_path / name, tmp_path / f"program-{name[-1]}"
        zig("cc", "-target", HOST, "-O1", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(library_path),
            f"-Wl,--version-script={tmp_path / 'versions'}", str(tmp_path / "rocm.c"))  # fmt: skip
        zig("cc", "-target", HOST, "-O1", "-o", str(program), str(tmp_path / "program.c"), str(library_path))
        assert b"hip_4.2" in program.read_bytes()
        done = layoutprobe_run(program)
        assert "no kernel ran on" in done.stderr, "both calls returned 0"
        assert "version" not in done.stderr
    assert {name.rpartition(".")[2] for name in NAMES} >= {"6", "7"}


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "which program?"),
        (("./nowhere",), 2, "there is no program './nowhere'"),
        (("true",), 2, "the program never came to the emulated device"),
        (("false",), 1, "the program never came to the emulated device"),
    ],
)
def test_what_cannot_be_run(words: tuple[str, ...], code: int, text: str) -> None:
    done = layoutprobe_run(*words)
    assert done.returncode == code
    assert text in done.stderr


def test_wrong_options_are_refused() -> None:
    for options, text in ((("--arch", "gfx900"), "unknown arch"), (("--arch", "sm_90"), "does not execute")):
        done = layoutprobe_run("true", options=options)
        assert done.returncode == 2
        assert text in done.stderr
    done = layoutprobe_run("true", environment={"LAYOUTPROBE_HIP_PRETEND": "devices=none"})
    assert done.returncode == 2
    assert "LAYOUTPROBE_HIP_PRETEND cannot be read" in done.stderr


def test_a_program_without_the_server_is_told(misuse: Path, built: Path) -> None:
    environment = {"LD_LIBRARY_PATH": str(built / "lib"), "PATH": os.environ["PATH"]}
    for extra in ({}, {"LAYOUTPROBE_HIP_SOCKET": "/nonexistent"}):
        done = subprocess.run([str(misuse), "weak"], env=environment | extra, capture_output=True, text=True)
        assert done.returncode == 3
        assert "hipErrorNoDevice" in done.stdout
        assert "layoutprobe" in done.stderr


def test_the_table_of_all_functions_is_that_of_the_code() -> None:
    """Made by `python -m layoutprobe.extras.hiphost.interface`."""
    assert interface.tables() in (PROGRAMS.parents[2] / "docs" / "hip.md").read_text("utf-8")


def test_the_table_says_what_the_library_exports() -> None:
    assert exported(library()) == sorted(interface.defined())
    listed = [name for names in interface.subjects().values() for name in names]
    assert len(listed) == len(set(listed)) > 400
    assert interface.defined().keys() <= set(listed), "what we have is in no subject"


def test_what_is_lacking_is_an_error_with_words(misuse: Path) -> None:
    """A program that looks at no status has shown nothing."""
    done = layoutprobe_run(misuse, "lacking")
    assert (done.returncode, done.stdout) == (2, "hipErrorNotSupported\n")
    assert "the emulated HIP runtime has no hipMemCreate" in done.stderr
    assert "1 refused" in done.stderr
