"""What launches and commands cost, beside what is asked of them: python benchmarks [WORD...] [--runs N] [--large]

`--tinygrad CHECKOUT` adds tinygrad's emulator of AMD GPUs to the launches, and how many times as fast ours are.

Every figure is measured in processes of its own, all figures in turn and then again, and the medians are shown: what
else the machine does then weighs on all alike. `busy` is processor time of all threads and processes, of user and
system; on a loaded machine it says more than `wall`. `--json FILE` writes every run, `--against FILE` compares with
what was written. Words choose the figures whose names contain one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, field, to_builtins

from layoutprobe.arch import DEFAULT
from layoutprobe.engine.choice import NAMES, NATIVE, NUMPY
from layoutprobe.engine.native.library import examine
from layoutprobe.files import writing

HERE = Path(__file__).resolve().parent
SEEDS = HERE.parent / "probes" / "gemm" / "seeds"
START = "import numpy, rich.console"
"""What everything that prints a table of arrays has to import: the measure of short commands."""
COMMAND = (sys.executable, "-m", "layoutprobe")
LAUNCHES = {"512x512x64": 0.002, "1024x1024x1024": 0.045, "4096x4096x1024": 0.8}
"""Sizes, and seconds asked of the native engine."""
SMALL, LARGE = "512x512x64", "4096"
TINYGRAD = "tinygrad"
CHECKOUT = ("tinygrad/__init__.py", "test/mockgpu/amd/emu.py")
"""What a checkout has of tinygrad's repository; the emulator is the latter."""
GIB = 1024
MANIFEST = """\
[[kernel]]
name = "standard"
source = "{source}"
block = [256]
grid = ["(N + 63) / 64", "(M + 127) / 128"]
sizes = [{{ M = {m}, N = {n}, K = {k} }}]
limits = {{ seconds = 600 }}
contract = {{ kind = "gemm", alpha = 2.0, beta = 0.5 }}
argument = [
  {{ name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" }},
  {{ name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B" }},
  {{ name = "C", role = "inout", dtype = "f32", shape = ["M", "N"], matrix = "C" }},
  {{ name = "M", role = "scalar", dtype = "i32", value = "M" }},
  {{ name = "N", role = "scalar", dtype = "i32", value = "N" }},
  {{ name = "K", role = "scalar", dtype = "i32", value = "K" }},
  {{ name = "alpha", role = "scalar", dtype = "f32", value = "alpha" }},
  {{ name = "beta", role = "scalar", dtype = "f32", value = "beta" }},
]
"""
"""The standard kernel at one size."""


class Runs(Struct):
    """What was measured of one figure: seconds and MiB, run by run; `exit` is the last process's."""

    wall: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    peak: float = 0
    exit: int = 0

    def add(self, wall: Sequence[float], busy: Sequence[float], peak: float, code: int) -> None:
        self.wall += wall
        self.busy += busy
        self.peak = max(self.peak, peak)
        self.exit = code


class Figure(Struct, frozen=True):
    """One line.

    Attributes:
        name: what it is.
        run: measures it once.
        seconds, times, of: at most `seconds` more than `times` the median of another figure; none where both are 0.
        mib: asked of its largest process; 0 for nothing.
        first: once before what counts, so that the cache has what is compiled.
        beside: another figure of the same work; the words say how many times as fast this one is.
    """

    name: str
    run: Callable[[Runs], None]
    seconds: float = 0
    times: float = 0
    of: str = ""
    mib: int = 0
    first: bool = True
    beside: str = ""

    def limit(self, measured: Mapping[str, Runs]) -> float:
        """Seconds asked; 0 where nothing is, or the other figure was not measured."""
        if not self.of:
            return self.seconds
        other = measured.get(self.of)
        return self.seconds + self.times * statistics.median(other.wall) if other else 0


def process(runs: Runs, command: Sequence[str], **environment: str) -> None:
    """Run a command to its end; its children count."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    runs.add(
        [time.perf_counter() - start],
        [used.ru_utime + used.ru_stime],
        used.ru_maxrss / 1024,
        child.returncode,
    )


def launches(runs: Runs, engine: str, size: str, checkout: str = "") -> None:
    """Some launches in one process; one where a launch takes long, many where it takes no time: a processor that was
    idle is slow for some milliseconds, in which the smallest takes twice as long as ever after."""
    program = ("tinygrad_emulator.py", checkout) if checkout else ("launches.py", engine)
    count = "1" if LARGE in size or checkout else "25" if size == SMALL and engine == NATIVE else "5"
    command = (sys.executable, str(HERE / program[0]), program[1], *size.split("x"), count)
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
    told = json.loads(done.stdout)
    runs.add(told["wall"], told["busy"], told["peak"], int(not told["exact"]))


def refusal(checkout: str) -> str:
    """Why a folder is no checkout with tinygrad's emulator, and what to do; "" where it is one."""
    missing = [name for name in CHECKOUT if not (Path(checkout) / name).is_file()]
    if not missing:
        return ""
    return (
        f"--tinygrad {checkout}: there is no {' and no '.join(missing)}; expected: a checkout of tinygrad's"
        " repository (its package comes without the emulator); next: clone the repository, and name the folder"
        " that has tinygrad/ and test/"
    )


def command(*words: str, **environment: str) -> Callable[[Runs], None]:
    """Measures a command of layoutprobe."""
    return lambda runs: process(runs, (*COMMAND, *words), **environment)


def cold(*words: str) -> Callable[[Runs], None]:
    """Measures a command with an empty cache."""

    def run(runs: Runs) -> None:
        with tempfile.TemporaryDirectory() as cache:
            process(runs, (*COMMAND, *words), LAYOUTPROBE_CACHE=cache)

    return run


def check(folder: Path, size: str, *options: str) -> Callable[[Runs], None]:
    """Measures `check` of the standard kernel at one size."""
    m, n, k = size.split("x")
    path = folder / f"{size}.toml"
    path.write_text(MANIFEST.format(source=SEEDS / "standard.hip", m=m, n=n, k=k))
    return command("check", str(path), *options)


def figures(folder: Path, tinygrad: str = "") -> Iterator[Figure]:
    """All, in the order in which they are shown; manifests are written into the folder.

    Args:
        folder: for manifests.
        tinygrad: a checkout whose emulator is measured, too; "" for none.
    """
    for size, seconds in LAUNCHES.items():
        for engine in NAMES:
            asked = seconds if engine == NATIVE else 0

            def run(runs: Runs, engine: str = engine, size: str = size) -> None:
                launches(runs, engine, size)

            if engine != NUMPY or LARGE not in size:
                beside = f"launch {size}, {TINYGRAD}"
                yield Figure(f"launch {size}, {engine}", run, asked, mib=GIB, first=False, beside=beside)
        if tinygrad:
            peer = partial(launches, engine=TINYGRAD, size=size, checkout=tinygrad)
            yield Figure(f"launch {size}, {TINYGRAD}", peer, first=False)
    yield Figure(START, lambda runs: process(runs, (sys.executable, "-c", START)))
    dump = ("dump", "--matrix", "A", "--lds", "xor")
    yield Figure("dump, warm cache", command(*dump), times=2.5, of=START)
    yield Figure("dump, empty cache", cold(*dump), 0.5, 1, "dump, warm cache", first=False)
    yield Figure("check 512x512x64", check(folder, "512x512x64"), 1)
    yield Figure("check of 13 kernels at three sizes", command("check", str(SEEDS)), 8)
    yield Figure("check 1024x1024x1024", check(folder, "1024x1024x1024"), 6, mib=GIB)
    numerics = check(folder, "4096x4096x4096", "--check", "numerics")
    yield Figure("check 4096x4096x4096, numerics", numerics, 60, first=False)
    seeds = ("inspect", str(SEEDS), "--kernel", "standard")
    yield Figure("inspect", command(*seeds))
    yield Figure("inspect, a moment of a recording", command(*seeds, "--registers", "v0-v7"))
    yield Figure("layout of one instruction", command("layout", "v_wmma_f32_16x16x16_f16", "--arch", DEFAULT))


HEAD = f"{'':38} {'wall':>10} {'least':>10} {'busy':>10} {'peak':>9} {'asked':>10}"


def line(figure: Figure, measured: Mapping[str, Runs], before: Mapping[str, Runs]) -> str:
    """One line of the table."""
    runs = measured[figure.name]
    wall = statistics.median(runs.wall)
    shown = " ".join(f"{1e3 * t:7.1f} ms" for t in (wall, min(runs.wall), statistics.median(runs.busy)))
    limit = figure.limit(measured)
    asked = f"{1e3 * limit:7.1f} ms" if limit else " " * 10
    words = [] if not limit else [f"{wall / limit:.2f} of it" if wall > limit else "holds"]
    if figure.mib and runs.peak > figure.mib:
        words.append(f"more than {figure.mib} MiB")
    if runs.exit:
        words.append(f"EXIT {runs.exit}")
    if other := measured.get(figure.beside):
        words.append(f"{statistics.median(other.wall) / wall:.0f} times as fast as {TINYGRAD}")
    if old := before.get(figure.name):
        words.append(f"{statistics.median(old.busy) / statistics.median(runs.busy):.2f} times as fast")
    return f"{figure.name:38} {shown} {runs.peak:5.0f} MiB {asked}  {', '.join(words)}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python benchmarks", description="what launches and commands cost, beside what is asked of them"
    )
    parser.add_argument("word", nargs="*", help="figures whose names contain one of these; default: all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="M and N of 4096, too")
    parser.add_argument(
        "--tinygrad",
        metavar="CHECKOUT",
        default="",
        help="measure launches on the emulator in this checkout of tinygrad's repository, too; C is compared",
    )
    parser.add_argument("--json", metavar="FILE", help="write what was measured")
    parser.add_argument("--against", metavar="FILE", help="compare with what an earlier run wrote")
    options = parser.parse_args()
    if options.tinygrad and (why := refusal(options.tinygrad)):
        parser.error(why)
    earlier = json.loads(Path(options.against).read_text())["figures"] if options.against else {}
    before = {name: Runs(**runs) for name, runs in earlier.items()}
    cores = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.machine()}"
    machine = f"{cores}; native engine: {examine()[1]}"
    print(machine, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            figure
            for figure in figures(Path(folder), options.tinygrad)
            if (options.large or LARGE not in figure.name)
            and (not options.word or any(word in figure.name for word in options.word))
        ]
        measured = measure(chosen, options.runs)
    print(HEAD)
    for figure in chosen:
        print(line(figure, measured, before))
    if options.json:
        told = {"machine": machine, "figures": {name: to_builtins(runs) for name, runs in measured.items()}}
        with writing(options.json) as file:
            file.write(json.dumps(told, indent=1) + "\n")
    return int(any(runs.exit for runs in measured.values()))


def measure(chosen: Sequence[Figure], rounds: int) -> dict[str, Runs]:
    """All figures in turn, and again."""
    measured = {figure.name: Runs() for figure in chosen}
    for figure in chosen:
        if figure.first:
            figure.run(Runs())
    for _ in range(rounds):
        for figure in chosen:
            figure.run(measured[figure.name])
    return measured


if __name__ == "__main__":
    sys.exit(main())
