"""What the default checks of `layoutprobe run` cost, on whole programs: python benchmarks/run.py [WORD...] [--runs N]

Each program runs without checks, with memory and init, and with the default checks, in turn and then again. Shown are
medians of the processor time of all processes, user and system, and their ratios. The programs are those of
benchmarks/programs and the samples of the tests; words choose those whose names contain one of them.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "tests" / "hiphost" / "samples"
LONG = (
    ("gemm", "256", "1"),
    ("gemm", "256", "10"),
    ("dispatch", "empty", "1", "256"),
    ("dispatch", "empty", "1001", "256"),
    ("dispatch", "add", "1001", "256"),
    ("dispatch", "add", "101", "65536"),
)
MODES = {"no checks": ("--no-check",), "memory, init": ("--check", "memory,init"), "default": ()}
COMMAND = (sys.executable, "-m", "layoutprobe")


def programs() -> Iterator[tuple[Path, Sequence[str]]]:
    """Sources, and the words that the program is given."""
    for name, *words in LONG:
        yield HERE / "programs" / f"{name}.hip", words
    for source in sorted(SAMPLES.glob("*.hip")):
        yield source, ()


def busy(command: Sequence[str]) -> float:
    """Processor time of a program that must say "passed", in seconds."""
    before = _spent()
    done = subprocess.run(command, capture_output=True, text=True)
    if (done.returncode, done.stdout) != (0, "passed\n"):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(program: Path, words: Sequence[str], runs: int) -> dict[str, float]:
    """Medians for each mode."""
    found: dict[str, list[float]] = {mode: [] for mode in MODES}
    for _ in range(runs + 1):
        for mode, options in MODES.items():
            found[mode].append(busy((*COMMAND, "run", *options, "--", str(program), *words)))
    return {mode: statistics.median(times[1:]) for mode, times in found.items()}  # the first fills caches


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    table = Table("program", *(f"{mode}, s" for mode in MODES), "ratio", "ratio of default")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for source, words in programs():
            name = " ".join((source.stem, *words))
            if asked.words and not any(word in name for word in asked.words):
                continue
            program = Path(folder) / source.stem
            if not program.exists():
                subprocess.run((*COMMAND, "hipcc", "-O2", str(source), "-o", str(program)), check=True)
            times = list(measure(program, words, asked.runs).values())
            ratios.append(times[2] / times[0])
            table.add_row(name, *(f"{t:.2f}" for t in (*times, times[1] / times[0], ratios[-1])))
    Console().print(table)
    print(f"median ratio of default checks: {statistics.median(ratios):.2f}, most {max(ratios):.2f}")


if __name__ == "__main__":
    main()
