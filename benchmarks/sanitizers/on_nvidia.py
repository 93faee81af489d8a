"""The planted faults of the samples under compute-sanitizer, on an NVIDIA card: on_nvidia.py FILE.csv [WORD...]

Builds tests/hiphost/samples as CUDA programs (hip/hip_runtime.h beside this file), without a fault and with each;
every tool runs on each program. A row says what one tool printed of one program: errors, first words, how it ended.
What cannot be built as CUDA (matrix instructions, hipRTC) has no rows. Needs nvcc and compute-sanitizer, and nothing
of layoutprobe.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "tests" / "hiphost" / "samples"
TOOLS = {
    "memcheck": ("--leak-check", "full"),
    "racecheck": ("--racecheck-report", "all"),
    "initcheck": (),
    "synccheck": (),
}
_FAULT = re.compile(r"fault (\d+): ")
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+)")
_SECONDS = 60
_AT_ONCE = 8
Row = tuple[str, int, str, str, str, str]


def programs() -> Iterator[tuple[str, int]]:
    """Samples, and numbers of their faults; 0 is none."""
    for source in sorted(SAMPLES.glob("*.hip")):
        numbers = {int(n) for n in _FAULT.findall(source.read_text())}
        yield from ((source.stem, n) for n in sorted({0, *numbers}))


def built(name: str, fault: int, folder: Path) -> Path | None:
    """The program as CUDA; None where that cannot be."""
    program = folder / f"{name}-{fault}"
    command = ("nvcc", "-x", "cu", "-arch=sm_90", "-O2", "-lineinfo", "-std=c++17", "--extended-lambda",
               "-I", str(HERE), f"-DFAULT={fault}", str(SAMPLES / f"{name}.hip"), "-o", str(program))  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(name, fault, "is no CUDA program:", done.stderr.strip().splitlines()[:1], file=sys.stderr)
        return None
    return program


def tried(name: str, fault: int, program: Path) -> Iterator[Row]:
    """What each tool says."""
    for tool, options in TOOLS.items():
        command = ("compute-sanitizer", "--tool", tool, *options, str(program))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            yield name, fault, tool, "", "", f"no end in {_SECONDS} s"
            continue
        found = _SUMMARY.findall(done.stdout)
        told = [line.lstrip("= ") for line in done.stdout.splitlines() if line.startswith("=========")]
        words = next((line for line in told if line and not line.startswith(("COMPUTE", "ERROR SUM"))), "")
        printed = "passed" if "passed" in done.stdout else "failed" if "failed" in done.stdout else ""
        yield (
            name,
            fault,
            tool,
            found[-1] if found else "",
            words[:160],
            f"{printed} {done.returncode}".strip(),
        )


def main(file: str, *words: str) -> None:
    """Build all, run several at a time, write rows as they come."""
    chosen = [one for one in programs() if not words or any(word in one[0] for word in words)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        made = list(pool.map(lambda one: built(one[0], one[1], Path(folder)), chosen))
        with Path(file).open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(("sample", "fault", "tool", "errors", "first words", "ended"))
            kept = [(*one, program) for one, program in zip(chosen, made, strict=True) if program]
            for rows in pool.map(lambda one: list(tried(*one)), kept):
                writer.writerows(rows)
                out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
