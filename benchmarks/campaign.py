"""Runs the mutation campaign and writes docs/campaign.md: python benchmarks/campaign.py [words of names]

With words it prints what is found of the faults whose names contain one of them, and writes nothing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from posixpath import basename

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT / "tests")  # instead of this folder, where `campaign` is this file

from campaign.fault import Fault, plant  # noqa: E402
from campaign.faults import FAULTS  # noqa: E402
from campaign.planting import judged, kernels  # noqa: E402

from layoutprobe.report.finding import Finding  # noqa: E402
from layoutprobe.report.gate import KernelVerdict  # noqa: E402

DOCUMENT = ROOT / "docs" / "campaign.md"
TRIALS = ROOT / "benchmarks" / "trials.md"
"""Kernels that are not kept, and what was found of them: written by hand."""
HEAD = """\
# The mutation campaign

{planted} faults, one at a time, in the {kernels} correct kernels of `probes/gemm/seeds` and `probes/gemm/cdna`,
and what `layoutprobe check` says of each: {seen} are found, {unseen} are not, and [the last table](#not-found)
says why. `tests/campaign` plants them and asserts that each of the {seen} is found by the check named here, in
the words that name its class, as the one cause of all that is found, and at a line near the fault; and
that the correct kernels have no
finding. This page is written by `python benchmarks/campaign.py`.

The check in the second column is the one that names the cause, which is the one finding of the report. *Also* are
checks that report a consequence of it: an operand that comes from the wrong place of LDS makes wrong values too.
The place is the line of the access that is to blame, or where the compiler gives that instruction none, the line
before it; with "from", where the value came from or the other side of a race.

"""


def verdict_of(fault: Fault) -> KernelVerdict:
    """What all checks say of the kernel with a fault."""
    with tempfile.TemporaryDirectory() as folder:
        return judged(plant(Path(folder), fault))


def main() -> int:
    wanted = sys.argv[1:]
    faults = [fault for fault in FAULTS if not wanted or any(word in fault.name for word in wanted)]
    start = time.perf_counter()
    with ProcessPoolExecutor(max_workers=2) as workers:
        verdicts = list(workers.map(verdict_of, faults))
    text = document(faults, verdicts)
    print(text if wanted else f"{len(faults)} faults in {time.perf_counter() - start:.0f} s: {DOCUMENT.name}")
    if not wanted:
        DOCUMENT.write_text(text)
    missed = [fault.name for fault, v in zip(faults, verdicts, strict=True) if _missed(fault, v)]
    print("\n".join(["as expected" if not missed else "not as expected:", *missed]), file=sys.stderr)
    return 1 if missed else 0


def _missed(fault: Fault, verdict: KernelVerdict) -> bool:
    """The campaign expects something else; its tests say what."""
    if fault.unseen:
        return verdict.exit_code != 0
    return fault.check not in {finding.check for finding in verdict.findings}


def document(faults: Sequence[Fault], verdicts: Sequence[KernelVerdict]) -> str:
    """The page."""
    seen = [(f, v) for f, v in zip(faults, verdicts, strict=True) if not f.unseen]
    counts = {"planted": len(faults), "seen": len(seen), "unseen": len(faults) - len(seen)}
    parts = [HEAD.format(**counts, kernels=len(kernels()))]
    parts += ["## By class\n\n", *_by_class(faults), "\n## Found\n"]
    for kind, listed in groupby(sorted(seen, key=lambda pair: pair[0].kind), key=lambda pair: pair[0].kind):
        parts.append(
            f"\n### {kind}\n\n| fault | check | what it says | place | also |\n|---|---|---|---|---|\n"
        )
        parts += [_row(fault, verdict) for fault, verdict in listed]
    parts.append("\n## Not found\n\n| fault | class | why |\n|---|---|---|\n")
    parts += [f"| {_cell(f.name)} | {f.kind} | {_cell(f.unseen)} |\n" for f in faults if f.unseen]
    trials = TRIALS.read_text()
    parts += ["\n## What strangers wrote, all together\n\n", *_of_strangers(trials), "\n", trials]
    return "".join(parts)


_JUDGED = ("cause and line", "in part", "values only", "misleads", "green")
"""How the last cell of a stranger's kernel begins; else it was undecided, or came to no end."""


def _of_strangers(trials: str) -> Iterator[str]:
    """How many of the wrong kernels of each section are led by what."""
    yield "Wrong kernels, each as it was judged before anything was mended for it. The sections follow.\n\n"
    yield f"| section | {' | '.join(_JUDGED)} | else |\n|---|{'---|' * (len(_JUDGED) + 1)}\n"
    total = Counter[str]()
    for section in trials.split("## ")[1:]:
        title, *lines = section.split("\n")
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        ends = [row[-1] for row in rows if len(row) > len(("right or wrong", "kernels", "red"))]
        led = [end for end in ends if end not in _HEADS and not end.isdecimal()]
        found = Counter(next((one for one in _JUDGED if end.startswith(one)), "else") for end in led)
        total += found
        yield _counted(title, found)
    yield _counted("all", total)


_HEADS = ("is it", "undecided", "crash, or no end", "no end", "did not end or compile", "")
"""Last cells of the heads of tables."""


def _counted(title: str, found: Counter[str]) -> str:
    return f"| {title} | {' | '.join(str(found[one]) for one in (*_JUDGED, 'else'))} |\n"


def _by_class(faults: Sequence[Fault]) -> Iterator[str]:
    planted, unseen = Counter(f.kind for f in faults), Counter(f.kind for f in faults if f.unseen)
    yield "| class | planted | found | not found |\n|---|---|---|---|\n"
    for kind in sorted(planted):
        yield f"| {kind} | {planted[kind]} | {planted[kind] - unseen[kind]} | {unseen[kind] or ''} |\n"
    yield f"| all | {planted.total()} | {planted.total() - unseen.total()} | {unseen.total() or ''} |\n"


def _row(fault: Fault, verdict: KernelVerdict) -> str:
    named = [finding for finding in verdict.findings if finding.check == fault.check]
    best = [f for f in named if all(word in _text(f) for word in fault.words)] or named
    if not best:
        return f"| {_cell(fault.name)} | not found | | | |\n"
    also = dict.fromkeys(f.check for f in verdict.every if f.check != fault.check)
    cells = (fault.name, fault.check, best[0].what, _place(best[0]), ", ".join(also))
    return "| " + " | ".join(map(_cell, cells)) + " |\n"


def _text(finding: Finding) -> str:
    return " ".join((finding.what, finding.expected, finding.observed, finding.hint))


_ORIGINS = ("loaded by", "stored by", "computed by", "written by")


def _place(finding: Finding) -> str:
    place = finding.place
    near = f"near {place.source}" if place.near else ""
    shown = (place.line or near or str(place.element or "")).replace("../", "")
    origins = (other.place.source for other in finding.related if other.role in _ORIGINS)
    came_from = next((f"{basename(s.file)}:{s.line}" for s in origins if s is not None), "")
    return f"{shown}, from {came_from}" if came_from and came_from != shown else shown


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
