"""What the experiments found, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from layoutprobe.capture.capture import Evidence

Verdict = Literal["agree", "differ", "undecided", "not measurable", "not applicable"]

_ORDER: tuple[Verdict, ...] = ("differ", "undecided", "agree", "not measurable", "not applicable")
"""Of several verdicts the first in this order is the verdict on all of them."""


def worst(verdicts: set[Verdict]) -> Verdict:
    """The verdict on several cases: one that differs outweighs any number that agree."""
    return next((verdict for verdict in _ORDER if verdict in verdicts), "undecided")


class Case(Struct, frozen=True):
    """One of the things that an experiment looks at.

    Attributes:
        name: what it is about: an instruction and its form, an access...; "" for the whole experiment.
        verdict: "agree": nothing that was observed contradicts the emulator; "differ": something
            does; "undecided": it could not be observed, or what was observed does not tell; "not
            measurable": not by this source, such as time on the emulator; "not applicable": the
            target has no such thing.
        text: what was observed; where it differs, the first difference.
    """

    name: str
    verdict: Verdict
    text: str


class Outcome(Struct, frozen=True):
    """What one experiment found.

    Attributes:
        name: of the experiment.
        question: which it asks, one sentence.
        meaning: what a difference means for users of the emulator.
        reference: what the observations were compared with.
        cases: in the order in which they were looked at.
        evidence: of the captures that it rests on, each kind once; empty where there are none.
        runs: how many captures.
    """

    name: str
    question: str
    meaning: str
    reference: str
    cases: tuple[Case, ...]
    evidence: tuple[Evidence, ...] = ()
    runs: int = 0

    @property
    def verdict(self) -> Verdict:
        """On all cases together."""
        return worst({case.verdict for case in self.cases})

    @property
    def answer(self) -> str:
        """The first case that decides the verdict, in words."""
        deciding = [case for case in self.cases if case.verdict == self.verdict]
        if not deciding:
            return "nothing was looked at"
        if self.verdict == "agree" and len(deciding) > 1:
            return f"{len(deciding)} of {len(self.cases)} cases agree"
        first = deciding[0]
        more = f"; and {len(deciding) - 1} more" if len(deciding) > 1 else ""
        about = f"{first.name}: " if first.name else ""
        return f"{about}{first.text}{more}"


class FidelityReport(Struct, frozen=True):
    """What all experiments found.

    Attributes:
        arch: target of the code that was run.
        product: what people call it.
        device: the card as its driver describes it; empty where none ran anything.
        outcomes: by experiment, in the order of the registry.
        version: of layoutprobe that judged.
        bundle: the capture file, "" where none was written or read.
        digest: of that file.
    """

    arch: str
    product: str
    device: Mapping[str, str]
    outcomes: tuple[Outcome, ...]
    version: str
    bundle: str = ""
    digest: str = ""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Of all experiments, each kind once."""
        return tuple(dict.fromkeys(one for outcome in self.outcomes for one in outcome.evidence))

    @property
    def verdict(self) -> Verdict:
        """On all experiments together; "undecided" where none could agree or differ."""
        found = worst({outcome.verdict for outcome in self.outcomes})
        return found if found in ("agree", "differ") else "undecided"

    @property
    def exit_code(self) -> int:
        """0 all that applies and can be measured agrees, 1 something differs, 2 something is undecided."""
        return {"agree": 0, "differ": 1}.get(self.verdict, 2)

    def count(self, verdict: Verdict) -> int:
        """Experiments with that verdict."""
        return sum(outcome.verdict == verdict for outcome in self.outcomes)
