"""`layoutprobe hipcc`: the options of a compiler driver, as makefiles use them; and the headers' numbers."""

from __future__ import annotations

import ctypes
import enum
import os
import re
import subprocess
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hiphost.compiling import HOST, zig
from hiphost.running import hipcc, layoutprobe_run

from layoutprobe.codeobj.bundle import entries
from layoutprobe.errors import UsageError
from layoutprobe.extras.hiphost.driver.host import find_host
from layoutprobe.extras.hiphost.driver.words import COMPILE_FLAGS, read
from layoutprobe.extras.hiphost.shim_build import library
from layoutprobe.toolchain.cache import ENVIRONMENT
from layoutprobe.toolchain.find import ziglang
from layoutprobe.toolchain.headers import OWN

KERNEL = """
#include <hip/hip_runtime.h>
__global__ void scale(int* data, int by) { data[threadIdx.x] *= by; }
"""
CALLER = """
#include <cstdio>
#include "shared.h"
int run(int);
int main() { printf("%d\\n", run(BY)); }
"""
RUNNER = (
    KERNEL
    + """
#include "shared.h"
int run(int by) {
  int host[32], *data;
  for (int i = 0; i < 32; i++) host[i] = i * i;
  if (hipMalloc(&data, sizeof host)) return -1;
  hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice);
  hipLaunchKernelGGL(scale, dim3(1), dim3(32), 0, hipStreamDefault, data, by);
  hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost);
  hipFree(data);
  return host[5];
}
"""
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sources and a header, as small projects have them."""
    (tmp_path / "src").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "src/main.cpp").write_text(CALLER)
    (tmp_path / "src/runner.hip").write_text(RUNNER)
    (tmp_path / "include/shared.h").write_text("#pragma once\n#ifndef BY\n#define BY 3\n#endif\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_sources_are_compiled_apart_and_linked(project: Path) -> None:
    """As makefiles do it: an object each, dependencies beside it, a library, a program; any folder."""
    flags = ("-O2", "-g", "-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-DBY=7")
    assert hipcc(*flags, "-c", "src/runner.hip", "-o", "runner.o", "-MMD", "-MP", "-MF", "runner.d") == 0
    assert "runner.o:" in (rule := (project / "runner.d").read_text())
    assert "src/runner.hip" in rule
    assert "include/shared.h" in rule
    assert hipcc(*flags, "-c", "src/main.cpp") == 0
    assert hipcc("runner.o", "main.o", "-o", "program") == 0
    done = layoutprobe_run(project / "program")
    assert (done.returncode, done.stdout) == (0, "175\n"), done.stderr
    assert hipcc("-shared", "runner.o", "-o", "librunner.so") == 0
    assert hipcc("main.o", "-L.", "-lrunner", "-Wl,-rpath,$ORIGIN", "-o", "other") == 0
    assert layoutprobe_run(project / "other").stdout == "175\n"


@pytest.mark.long
def test_sources_and_a_response_file_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "words").write_text("src/main.cpp 'src/runner.hip'\n-I include @more")
    (project / "more").write_text("--offload-arch=gfx1100,gfx1151")
    monkeypatch.setenv(COMPILE_FLAGS, "-DBY=11")
    assert hipcc("@words") == 0
    for arch in ("gfx1151", "gfx1100"):
        done = layoutprobe_run(project / "a.out", options=("--arch", arch))
        assert (done.returncode, done.stdout) == (0, "275\n"), done.stderr


def test_headers_are_found_from_every_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zig names folders below the current directory relative to it, and what it says is kept."""
    zig = ziglang()
    assert zig is not None
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.chdir(zig.parent)
    find_host()
    monkeypatch.chdir(tmp_path)
    headers = find_host().headers
    folders = [value for flag, value in pairwise(headers) if flag == "-isystem"]
    assert len(folders) > 3
    assert all(Path(folder).is_absolute() and Path(folder).is_dir() for folder in folders)


def test_a_program_started_by_itself_says_how_to_start_it(project: Path) -> None:
    assert hipcc("-Iinclude", "src/main.cpp", "src/runner.hip", "-o", "program") == 0
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run([project / "program"], env=environment, capture_output=True, text=True)
    assert done.stdout == "-1\n"
    assert "start the program with `layoutprobe run -- PROGRAM`" in done.stderr


def test_other_things_than_programs(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = ("-Iinclude", "src/runner.hip")
    assert hipcc("-E", *source, "-o", "text") == 0
    assert "int run(int by)" in (project / "text").read_text()
    assert hipcc("-S", *source, "-o", "host.s") == 0
    assert "__hip_fatbin" in (project / "host.s").read_text()
    assert hipcc("-S", "--cuda-device-only", *source, "-o", "device.s") == 0
    assert "global_store" in (project / "device.s").read_text()
    assert hipcc("--genco", *source, "-o", "one.hsaco") == 0
    assert (project / "one.hsaco").read_bytes()[:4] == b"\x7fELF"
    assert hipcc("--genco", "--offload-arch=gfx1151", "--offload-arch=gfx1200", *source, "-o", "two") == 0
    names = [name for name, *_ in entries((project / "two").read_bytes())]
    assert [name.rpartition("-")[2] for name in names[1:]] == ["gfx1151", "gfx1200"]
    assert hipcc("-M", *source) == 0
    assert "include/shared.h" in capfd.readouterr().out
    assert hipcc("-fsyntax-only", *source) == 0
    assert hipcc("--version") == 0
    assert re.search(r"HIP version: 7\.2.*clang version", capfd.readouterr().out, re.DOTALL)


def test_device_code_beside_host_code_of_a_framework_that_is_not_installed(project: Path) -> None:
    (project / "op.hip").write_text("#include <torch/extension.h>\n" + KERNEL)
    assert hipcc("--genco", "op.hip", "-o", "op.hsaco") == 0
    assert (project / "op.hsaco").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("int run(int by) { return bye; }", "src/runner.hip:1:26: error: use of undeclared identifier 'bye'"),
        (
            KERNEL.replace("threadIdx.x", "thread()"),
            "src/runner.hip:3:49: error: use of undeclared identifier",
        ),
        (KERNEL.replace("*= by", "= __builtin_amdgcn_s_getpcx()"), "runner.hip:3:"),
        (KERNEL + "void g(hipArray_t a) { (void)hipFreeArray(a); }", "has no arrays and no textures"),
        (
            KERNEL.replace("*= by", "= tex2D<int>((hipTextureObject_t)0, 1.0f, 2.0f)"),
            "the emulator has no textures: load from memory of hipMalloc",
        ),
        (KERNEL.replace("*= by", "= *(int*)malloc(by)"), "no malloc in device code"),
    ],
)
def test_what_the_compiler_refuses(
    project: Path, capfd: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    """Each with its line, as editors read it; the compiler's exit code."""
    (project / "src/runner.hip").write_text(text)
    assert hipcc("-c", "src/runner.hip", "-o", "runner.o") == 1
    assert says in capfd.readouterr().err
    assert not (project / "runner.o").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no input files"),
        (("-c",), "no input files"),
        (("-c", "src/runner.hop"), "no source among the input files"),
        (("src/runer.hip",), "did you mean runner.hip?"),
        (("-fgpu-rdc", "src/runner.hip"), "cannot be linked together"),
        (("-S", "-emit-llvm", "src/runner.hip"), "not given as LLVM's text"),
        (("src/runner.hip", "-o"), "-o needs a word behind it"),
        (("-c", "src/runner.hip", "src/main.cpp", "-o", "x"), "there are several sources"),
        (("-c", "-x", "hip", "-"), "standard input"),
        (("-c", "--offload-arch=gfx5", "src/main.cpp"), "there is no code for --offload-arch=gfx5"),
    ],
)
def test_what_the_driver_refuses(
    project: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert hipcc(*words) == 2
    assert says in capsys.readouterr().err


def test_words_go_to_who_reads_them(project: Path) -> None:
    job = read(("-c", "-O3", "-march=native", "-I", "include", "-Xclang", "-x", "src/main.cpp", "-DA", "-lm",
                "-isystem", "include", "-MD", "-Wl,-z,now", "--rocm-path=/opt/rocm", "-lamdhip64",
                "--offload-arch=native"))  # fmt: skip
    assert job.common == ["-O3", "-Xclang", "-x", "-DA", "-isystem", str(project / "include")]
    assert job.host == ["-march=native", "-MD"]
    assert [word for word in job.inputs if isinstance(word, str)] == ["-lm", "-Wl,-z,now"]
    assert job.targets == ("gfx1151",)
    (project / "loop").write_text("@loop")
    with pytest.raises(UsageError, match="too deeply"):
        read(("@loop",))


# The headers


def test_enumerators_have_amds_numbers() -> None:
    """Against AMD's own package for Python."""
    hip: Any = import_module("hip").hip
    theirs = {
        one.name: one.value
        for kind in vars(hip).values()
        if isinstance(kind, type) and issubclass(kind, enum.Enum)
        for one in kind
    }
    text = (OWN / "hip/layoutprobe_enumerations.h").read_text()
    ours = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", text)}
    alias = ours.pop("hipDeviceAttributeEccEnabled")
    assert alias == theirs["hipDeviceAttributeCudaCompatibleBegin"]
    assert {name: theirs[name] for name in ours} == ours
    assert len(ours) > 250
    constants = re.findall(
        r"#define (\w+) (?:\(\(\w+\*?\))?(-?\w+)", (OWN / "hip/layoutprobe_host_types.h").read_text()
    )
    compared = 0
    for name, value in constants:
        number = getattr(hip, name, None)
        if isinstance(number, int) and re.fullmatch(r"-?(0x)?[0-9a-f]+", value):
            assert (name, int(value, 0) % 2**32) == (name, number % 2**32)
            compared += 1
    assert compared > 45


def test_every_field_of_the_properties_lies_where_amds_does(project: Path) -> None:
    """A field is set through AMD's package, and the bytes that change are its place."""
    hip: Any = import_module("hip").hip
    theirs: dict[str, int] = {}
    for name in hip.hipDeviceProp_t.PROPERTIES():
        made: Any = hip.hipDeviceProp_t()
        setter = getattr(made, f"set_{name}", None)
        if setter is not None:
            raw = (ctypes.c_ubyte * made.c_sizeof()).from_address(made.as_c_void_p().value)
            ctypes.memset(raw, 0, len(raw))
            setter(0, 1)
            (theirs[name],) = [at for at, byte in enumerate(raw) if byte]
    assert len(theirs) > 60
    lines = "".join(f'printf("{name} %zu\\n", offsetof(hipDeviceProp_t, {name}));' for name in theirs)
    (project / "fields.c").write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <hip/hip_runtime_api.h>\n"
        f'int main(void) {{ {lines} printf("all %zu\\n", sizeof(hipDeviceProp_t)); return hipInit(0) != 100; }}'
    )
    assert hipcc("-std=c11", "-Wall", "-Werror", "fields.c", "-o", "fields") == 0
    done = subprocess.run([project / "fields"], env={}, capture_output=True, text=True)
    ours = {name: int(at) for name, at in (line.split() for line in done.stdout.splitlines())}
    assert ours.pop("all") == hip.hipDeviceProp_t().c_sizeof()
    assert ours == theirs


def test_the_headers_declare_what_the_runtime_has() -> None:
    from layoutprobe.extras.hiphost.needs import exported

    text = "".join((OWN / "hip" / name).read_text() for name in ("hip_runtime_api.h", "hiprtc.h"))
    declared = set(re.findall(r"\b((?:__)?hip\w+)\(", text))
    registering = {
        name for name in exported(library()) if name.startswith(("__hipRegister", "__hipUnregister"))
    }
    generations = {
        "hipChooseDeviceR0600",
        "hipGetDevicePropertiesR0000",
        "hipGetDevicePropertiesR0600",
        "hipMemAlloc",
    }
    assert set(exported(library())) - registering - generations - declared == set()
    assert declared - set(exported(library())) == set()


def test_host_code_of_another_compiler(project: Path) -> None:
    """A C++ source without device code takes the headers, too."""
    (project / "plain.cc").write_text(
        "#include <hip/hip_runtime.h>\nstatic_assert(sizeof(float4) == 16 && alignof(float4) == 16);\n"
        "float f() { float4 a = make_float4(1, 2, 3, 4) * 2.0f; return a.y + dim3(3).x; }\n"
        "hipError_t g(int** p) { return hipMalloc(p, 4); }\n"
    )
    zig("c++", "-target", HOST, "-std=c++17", "-Wall", "-Werror", "-isystem", str(OWN), "-c",
        str(project / "plain.cc"), "-o", str(project / "plain.o"))  # fmt: skip
