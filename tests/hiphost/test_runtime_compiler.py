"""hipRTC: what programs compile while they run, by C and by hip-python; and what the compiler is asked of others."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from examples import examples
from hiphost.compiling import PROGRAMS, TARGET
from hiphost.running import hipcc, layoutprobe_run
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.codeobj.elf import load
from layoutprobe.extras.hiphost.runtime_compiler import (
    COMPILATION,
    INVALID_INPUT,
    INVALID_OPTION,
    NAME_NOT_VALID,
    SUCCESS,
    Compiled,
    compile_program,
)

SAMPLE = Path(__file__).parent / "samples" / "runtime_compiled.hip"
KERNEL = """
namespace one { __device__ int seen[3]; }
template <typename T> __global__ void fill(T *to, T value) { to[threadIdx.x] = value + one::seen[0]; }
"""


def packed(*texts: str) -> bytes:
    return b"".join(struct.pack("<Q", len(text.encode())) + text.encode() for text in texts)


def asked(
    source: str = KERNEL,
    options: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    headers: dict[str, str] | None = None,
) -> Compiled:
    files = [text for pair in (headers or {}).items() for text in pair]
    counts = (len(files) // 2, len(options), len(names))
    return compile_program(TARGET, counts, packed("kernel.cu", source, *files, *options, *names))


def test_a_race_is_at_its_line_of_the_source_that_was_compiled(tmp_path: Path) -> None:
    program = tmp_path / "racy"
    assert hipcc("-O2", "-DFAULT=1", str(SAMPLE), "-o", str(program), "-lhiprtc") == 0
    done = layoutprobe_run(program)
    assert done.returncode == 1
    assert "finding 1 of 1: races/read-after-write, scale.cu:11" in done.stderr


def test_a_program_of_hip_python() -> None:
    done = layoutprobe_run(sys.executable, PROGRAMS / "python_rtc.py")
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
    assert "1 kernel launch on layoutprobe emulator" in done.stderr


def test_names_are_those_of_the_symbols() -> None:
    made = asked(names=("fill<float>", "&one::seen", "fill< unsigned >"))
    assert made.result == SUCCESS, made.log
    assert made.names == ["_Z4fillIfEvPT_S0_", "_ZN3one4seenE", "_Z4fillIjEvPT_S0_"]
    assert {"_Z4fillIfEvPT_S0_", "_Z4fillIjEvPT_S0_"} == load(made.code).kernels.keys()


def test_options_reach_the_compiler() -> None:
    source = 'extern "C" __global__ void k(int *to) { *to = NUMBER; static_assert(__cplusplus == 201703L); }'
    options = ("-DNUMBER=7", "--std=c++17", "--use_fast_math", "-lineinfo", "-I", "/nowhere", "")
    made = asked(source, (*options, "--gpu-architecture=gfx1201"))
    assert made.result == SUCCESS, made.log
    assert load(made.code).target == "gfx1201"
    assert asked(source, ("--std=c++17",)).result == COMPILATION


def test_headers_lie_where_they_are_included_from() -> None:
    source = '#include "deep/inside.h"\nextern "C" __global__ void k(int *to) { *to = INSIDE; }'
    assert asked(source, headers={"deep/inside.h": "#define INSIDE 3\n"}).result == SUCCESS
    refused = asked(source)
    assert refused.result == COMPILATION
    assert "kernel.cu:1" in refused.log
    assert "deep/inside.h" in refused.log
    assert "/tmp" not in refused.log


@pytest.mark.parametrize(
    ("made", "result", "says"),
    [
        (lambda: asked(options=("--frobnicate",)), INVALID_OPTION, "knows no option '--frobnicate'"),
        (lambda: asked(options=("-fplugin=evil.so",)), INVALID_OPTION, "knows no option '-fplugin=evil.so'"),
        (lambda: asked(options=("--offload-arch=vax",)), COMPILATION, "vax"),
        (lambda: asked(headers={"../outside.h": ""}), INVALID_INPUT, "no name of a header: '../outside.h'"),
        (lambda: asked(headers={"/etc/outside.h": ""}), INVALID_INPUT, "no name of a header"),
        (lambda: asked(names=("fill<float>; int x",)), NAME_NOT_VALID, "no name expression"),
        (lambda: asked(names=("nobody",)), COMPILATION, "nobody"),
        (lambda: compile_program(TARGET, (2000, 0, 0), b""), INVALID_INPUT, "more than 1024"),
        (lambda: compile_program(TARGET, (0, 0, 0), packed("name")), INVALID_INPUT, "damaged"),
        (
            lambda: compile_program(TARGET, (0, 0, 0), b"\xff" * 8 + packed("x")),
            INVALID_INPUT,
            "damaged",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(made: object, result: int, says: str) -> None:
    compiled = made()  # type: ignore[operator]
    assert compiled.result == result, compiled.log
    assert says in compiled.log
    assert not compiled.code


@given(st.binary(max_size=200), st.tuples(*[st.integers(0, 3)] * 3))
@examples(200)
def test_a_damaged_request_gets_an_answer(data: bytes, counts: tuple[int, int, int]) -> None:
    headers, *rest = counts
    assert compile_program(TARGET, (headers + 100, *rest), data).result == INVALID_INPUT
