"""`inspect SOURCE|HSACO`: the launch is guessed, and says so; and timelines, for Perfetto too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.inspector.inspect import inspect
from layoutprobe.recording import questions
from recording.kernels import GEMM, SMALL, TESTS, opened

STANDARD = GEMM / "seeds" / "standard.hip"
TRITON = TESTS / "third_party" / "triton"


def test_a_source_is_inspected_as_its_manifest_would(capsys: pytest.CaptureFixture[str]) -> None:
    """The guess of a customary GEMM is right, so every state is that of the kernel in its manifest."""
    guessed = inspect(STANDARD, size=SMALL)
    known = inspect(GEMM / "seeds" / "layoutprobe.toml", "standard", size=SMALL)
    assert guessed.sites.kernel.endswith("(launch guessed)")
    assert [site.wrong for site in guessed.sites.sites] == [()] * len(known.sites.sites)
    ours, theirs = (one.moment("mfma:1", wave=1, iteration=1) for one in (guessed, known))
    assert ours.registers("v0-60").rows == theirs.registers("v0-60").rows
    assert any(line.startswith("grid = ") for line in guessed.guesses)
    assert not known.guesses
    assert (
        main(["inspect", str(STANDARD), "--size", "M=128,N=128,K=32", "--registers", "v40", "--lane", "3"])
        == 0
    )
    shown = capsys.readouterr()
    assert "(launch guessed)" in shown.out
    assert "guessed, as there is no manifest: " in shown.err
    assert "layoutprobe init" in shown.err


def test_what_cannot_be_guessed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        inspect(STANDARD, "no_such_symbol")
    assert main(["inspect", str(tmp_path / "none.hip")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    two = tmp_path / "two.hip"
    kernels = "".join(f'extern "C" __global__ void k{n}(int* p) {{ p[0] = {n}; }}\n' for n in (1, 2))
    two.write_text(f"#include <hip/hip_runtime.h>\n{kernels}")
    assert main(["inspect", str(two), "--registers", "v0"]) == 2
    assert "the file has several kernels" in capsys.readouterr().err
    assert (
        main(["inspect", str(two), "--kernel", "k2", "--at", "store:0", "--registers", "v0-1", "--lane", "0"])
        == 0
    )
    assert "k2 (launch guessed)" in capsys.readouterr().out


def test_a_code_object_is_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    path = TRITON / "attention-f16.hsaco"
    assert main(["inspect", str(path), "--at", "load:0", "--registers", "s0-3"]) == 0
    assert "(launch guessed)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["column", "triton-mfma"])
def test_a_timeline_for_perfetto_has_every_event(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from layoutprobe.recording.file import write_recording

    made = opened(name).recording()
    cap, out = tmp_path / "run.cap", tmp_path / "run.perfetto"
    write_recording(cap, made)
    assert main(["inspect", str(cap), "--timeline", "--output", str(out)]) == 0
    trace = json.loads(out.read_text())
    assert trace["otherData"]["time"] == "rows, no cycles"
    assert trace["otherData"]["evidence"].startswith("replayed")
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    named = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"
    }
    assert named == {(0, wave.index): f"wave {wave.index}" for wave in made.waves}
    wanted = {"matrix", "barrier", "store", "load", "wait", "atomic"}
    expected = [
        (row, made.waves[wave].index, made.code[inst].kind, made.code[inst].text)
        for row, (inst, wave) in enumerate(
            zip(made.steps.inst.tolist(), made.steps.wave.tolist(), strict=True)
        )
        if made.code[inst].kind in wanted
    ]
    assert [(e["ts"], e["tid"], e["cat"], e["args"]["instruction"]) for e in events] == expected
    steps = {wave: made.steps_of(wave).tolist() for wave in range(len(made.waves))}
    for event in events[:: len(events) // 50 + 1]:
        assert steps[event["tid"]][int(event["args"]["step"])] == event["ts"]
    capsys.readouterr()
    assert main(["inspect", str(cap), "--timeline", "--at", "mfma:0"]) == 2
    assert "--at has no effect with --timeline" in capsys.readouterr().err
    assert questions.asked(made).timeline().rows


MM = """#include <hip/hip_runtime.h>
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
// Four waves make 16 x 64 elements; nothing says so but the code.
extern "C" __global__ void __launch_bounds__(128)
mm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K) {
  __shared__ _Float16 bt[64][18];
  int lane = threadIdx.x % 32, wave = threadIdx.x / 32, row0 = blockIdx.y * 16, col0 = blockIdx.x * 64;
  f8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * 64; i += 128)
      bt[i % 64][i / 64] = B[(k0 + i / 64) * N + col0 + i % 64];
    __syncthreads();
    h16 a, b;
    for (int i = 0; i < 16; ++i) a[i] = A[(row0 + lane % 16) * K + k0 + i];
    for (int i = 0; i < 16; ++i) b[i] = bt[wave * 16 + lane % 16][i];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i)
    C[(row0 + 2 * i + lane / 16) * N + col0 + wave * 16 + lane % 16] = acc[i];
}
"""


@pytest.mark.parametrize(("index", "code"), [("lane % 16][i]", 0), ("lane / 2][i]", 1)])
def test_a_launch_that_was_guessed_is_no_fault_of_the_kernel(
    index: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its grid leaves most of C unwritten, of which the list says nothing; a wrong operand it names."""
    source = tmp_path / "mm.hip"
    source.write_text(MM.replace("lane % 16][i]", index))
    assert main(["inspect", str(source)]) == code
    told = " ".join(capsys.readouterr().out.split())
    assert ("B half-wave-copy" in told) == bool(code)
    assert "epilogue/" not in told
