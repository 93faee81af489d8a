"""docs/sanitizers.md: what layoutprobe run and compute-sanitizer find of the same planted faults. python table.py

What layoutprobe finds is what the samples say, and `tests/hiphost/test_samples.py` holds them to it; what
compute-sanitizer printed is in h100.csv, which on_nvidia.py wrote.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "sanitizers.md"
SAMPLES = ROOT / "tests" / "hiphost" / "samples"
_FAULT = re.compile(r"fault (\d+): ([\w/-]+)")
NOT_RUN = "not run"
Fault = tuple[str, int]

KINDS: Mapping[str, tuple[str, ...]] = {
    "memcheck: accesses out of bounds": (
        "memory/load-out-of-bounds", "epilogue/out-of-bounds", "lds-safety/out-of-bounds",
    ),
    "racecheck: hazards of shared memory": (
        "races/read-after-write", "races/write-after-read", "races/write-after-write",
    ),
    "initcheck: memory that was never written": (
        "lds-safety/undefined-read", "memory/undefined-address", "memory/undefined-control",
    ),
    "synccheck: divergent barriers": ("races/divergent-barrier",),
    "no tool of its own: global memory between waves and workgroups": (
        "races/global-overwrite", "races/global-handover", "races/store-and-add", "races/stale-cache",
        "races/signal-before-store",
    ),
    "no tool of its own: order of copies and kernels on streams": ("host/unordered",),
}  # fmt: skip
"""The classes of compute-sanitizer's manual, and the rules by which layoutprobe names such faults."""


def planted() -> dict[Fault, set[str]]:
    """Each fault of the samples and the rules that find it."""
    found: dict[Fault, set[str]] = {}
    for source in sorted(SAMPLES.glob("*.hip")):
        for number, rule in _FAULT.findall(source.read_text("utf-8")):
            found.setdefault((source.stem, int(number)), set()).add(rule)
    return found


def sanitized() -> dict[Fault, dict[str, str]]:
    """Each program that ran on the card, and what each tool said: errors, or how it ended."""
    found: dict[Fault, dict[str, str]] = {}
    with (HERE / "h100.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            told = row["errors"] or row["ended"]
            found.setdefault((row["sample"], int(row["fault"])), {})[row["tool"]] = told
    return found


def kind_of(rules: set[str]) -> str:
    """The class of a fault: that of its first rule in the order of KINDS."""
    return next(kind for kind, its in KINDS.items() if rules & set(its))


def said(tools: Mapping[str, str] | None, usual: Mapping[str, str]) -> str:
    """What compute-sanitizer made of a program, in words.

    Args:
        tools: what each printed; None where the program did not run.
        usual: what each prints of the program without a fault, which is no finding.
    """
    if tools is None:
        return NOT_RUN
    found = [tool for tool, told in tools.items() if _errors(told) > _errors(usual.get(tool, "0"))]
    if found:
        return ", ".join(found)
    return "does not end" if any("no end" in told for told in tools.values()) else "nothing"


def _errors(told: str) -> int:
    return int(told) if told.isdigit() else 0


def page() -> str:
    """The text of docs/sanitizers.md."""
    ours, theirs = planted(), sanitized()
    lines = [_HEAD]
    tally = Counter[tuple[str, str]]()
    words = {fault: said(theirs.get(fault), theirs.get((fault[0], 0), {})) for fault in ours}
    for fault, rules in ours.items():
        word = words[fault]
        of = "not run" if word == NOT_RUN else "found" if word.endswith("check") else "missed"
        tally[kind_of(rules), of] += 1
    lines.append("| class | faults | layoutprobe run | compute-sanitizer | not run there |")
    lines.append("|---|---|---|---|---|")
    for kind in KINDS:
        found, missed, left = (tally[kind, of] for of in ("found", "missed", "not run"))
        count = found + missed + left
        lines.append(f"| {kind} | {count} | {count} | {found} of {found + missed} | {left} |")
    total = Counter[str]()
    for (_, of), count in tally.items():
        total[of] += count
    ran = total["found"] + total["missed"]
    lines.append(f"| all | {len(ours)} | {len(ours)} | {total['found']} of {ran} | {total['not run']} |")
    lines += ["", "Fault by fault:", "", "| fault | layoutprobe run | compute-sanitizer |", "|---|---|---|"]
    for (name, number), rules in ours.items():
        told = ", ".join(f"`{rule}`" for rule in sorted(rules))
        lines.append(f"| `{name}` {number} | {told} | {words[name, number]} |")
    alarms = [f"`{name}` ({said(tools, {})})" for (name, number), tools in theirs.items() if not number
              and said(tools, {}) != "nothing"]  # fmt: skip
    right = sum(not number for _, number in theirs)
    lines += ["", _TAIL.format(right=right, alarms=", ".join(alarms) or "none"), ""]
    return "\n".join(lines)


_HEAD = """\
# The same faults under compute-sanitizer

Written by `python benchmarks/sanitizers/table.py`. The samples of `tests/hiphost/samples` have planted faults.
`layoutprobe run` names each by rule and line (emulated, on gfx1151; `tests/hiphost/test_samples.py`). The same
sources, built by nvcc 13.0 as CUDA programs (`benchmarks/sanitizers`), ran under each tool of its compute-sanitizer
on an NVIDIA H100 (measured once, 2026-11-24; `benchmarks/sanitizers/h100.csv` has every row). "Found" is generous to
compute-sanitizer: any error of any tool counts, whatever it says, if the right program has none like it. What its
manual lists under no tool it does not claim to find. Not run are programs that do not build as CUDA, or look at what
HIP alone says (`volumes`). The faults were written for layoutprobe, by its authors.
"""
_TAIL = """\
Programs without a fault: {right} ran on the card; errors were printed for: {alarms}. (`registered_memory` provokes
errors of the API on purpose, which memcheck counts.) layoutprobe has no finding in any of them."""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
