"""What a fidelity report says, the same in every format."""

from __future__ import annotations

from layoutprobe.render.layout.words import plural
from layoutprobe.report.fidelity import FidelityReport, Outcome, Verdict
from layoutprobe.text import one_line

STYLES: dict[Verdict, str] = {
    "agree": "holds",
    "differ": "finding",
    "undecided": "undecided",
    "not measurable": "skipped",
    "not applicable": "skipped",
}
"""Verdict -> the outcome whose colour and sign it has."""


def title(report: FidelityReport) -> str:
    """One line."""
    return f"layoutprobe fidelity: {report.arch} ({report.product})"


def sentence(report: FidelityReport) -> str:
    """What came of it, and no more than that."""
    looked = [o for o in report.outcomes if o.verdict in ("agree", "differ", "undecided")]
    differ = [o.name for o in looked if o.verdict == "differ"]
    undecided = [o.name for o in looked if o.verdict == "undecided"]
    agree = report.count("agree")
    parts = [f"{agree} of {plural(len(report.outcomes), 'experiment')} {'agrees' if agree == 1 else 'agree'}"]
    if differ:
        parts.append(f"not as the emulator: {', '.join(differ)}")
    if undecided:
        parts.append(f"undecided: {', '.join(undecided)}")
    unseen = report.count("not measurable")
    if unseen:
        parts.append(f"{unseen} cannot be measured here")
    if other := report.count("not applicable"):
        parts.append(f"{other} {'does' if other == 1 else 'do'} not apply to {report.arch}")
    said = "; ".join(parts)
    if report.evidence and not any(one.on_card for one in report.evidence):
        said += (
            ". No card ran anything: the emulator was held against itself, which says nothing about a card"
        )
    return said


def basis(report: FidelityReport) -> str:
    """The kinds of evidence behind it."""
    return "; ".join(str(one) for one in report.evidence) or "no evidence"


def evidence(outcome: Outcome) -> str:
    """What an experiment rests on."""
    if not outcome.runs:
        return "none: nothing was run"
    return f"{'; '.join(str(one) for one in outcome.evidence)}, {plural(outcome.runs, 'run')}"


def setup(report: FidelityReport) -> list[tuple[str, str]]:
    """What was asked, and who answered."""
    lines = [("evidence", basis(report))]
    if report.device:
        lines.append(
            ("device", ", ".join(one_line(f"{name} {value}") for name, value in report.device.items()))
        )
    lines.append(("judged by", f"layoutprobe {report.version}"))
    if report.bundle:
        lines.append(("bundle", f"{report.bundle}, digest {report.digest[:12]}"))
    return lines
