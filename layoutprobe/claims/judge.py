"""The verdict on claims that are made together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from layoutprobe.capture.capture import Evidence
from layoutprobe.claims.gauge import Conflict, Difference, Renaming, first_difference, renaming
from layoutprobe.claims.gemm import Effect, effect
from layoutprobe.claims.model import COMPRESSED, LINE_NAMES, LINES_NAMES, Claimed, ClaimSet, slot_name
from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import Layout

CONFIRMED, GAUGE, REFUTED, UNDECIDED = "confirmed", "equal modulo gauge", "refuted", "cannot decide"
VERDICTS = {CONFIRMED: 0, GAUGE: 0, REFUTED: 1, UNDECIDED: 2}
"""Verdict -> exit code."""


class Judgement(Struct, frozen=True):
    """What became of a set of claims, and whether that is what their file states.

    Attributes:
        claims: the claims.
        verdict: "confirmed", "equal modulo gauge", "refuted" or "cannot decide".
        sentence: the verdict in a sentence, with what it rests on.
        reasons: why, in further sentences.
        caution: which of them warns that the claim holds only if matrices that it does not speak of are
            renamed alike; "" for none.
        instruction, arch, wave, opsel: what was solved; arch and instruction as asked for where it
            could not be.
        first: the smallest slot in which the claims differ, under the convention of the names.
        differing, slots: how many slots differ, and of how many the claims speak.
        renamed: axis -> (claimed line, line of the instruction), where a renaming makes them equal.
        effect: what packing a GEMM in this way would do; None where that cannot be said.
        evidence: what was solved rests on; None where nothing was solved.
        convention: how rows, columns and k got their names.
    """

    claims: ClaimSet
    verdict: str
    sentence: str
    reasons: tuple[str, ...] = ()
    caution: str = ""
    instruction: str = ""
    arch: str = ""
    wave: int = 0
    opsel: int = 0
    first: Difference | None = None
    differing: int = 0
    slots: int = 0
    renamed: Mapping[str, tuple[tuple[int, int], ...]] | None = None
    effect: Effect | None = None
    evidence: Evidence | None = None
    convention: str = ""

    @property
    def code(self) -> int:
        """Of the verdict alone: 0 confirmed or equal modulo gauge, 1 refuted, 2 cannot decide.

        2 as well where the names must be changed in a matrix that the claims say nothing of: whether a GEMM
        is right depends on how that one is packed.
        """
        return 2 if self.verdict == GAUGE and self.caution else VERDICTS[self.verdict]

    @property
    def exit_code(self) -> int:
        """The code of the verdict, or whether it is the one that the claim's file states.

        Where a file states the verdict, 0 says that it was found, and 1 that another one was; a claim
        whose instruction could not be solved stays undecided, whatever is stated.
        """
        if not self.claims.stated or self.evidence is None:
            return self.code
        return 0 if self.as_stated else 1

    @property
    def as_stated(self) -> bool | None:
        """Whether the verdict is the one that the claim's file states; None where it states none."""
        return self.verdict == self.claims.stated if self.claims.stated else None


def judge(claims: ClaimSet, solved: InstructionLayout, *, exact: bool = False) -> Judgement:
    """Compare claims with a solved instruction.

    Args:
        claims: sentences that are claimed together.
        solved: what the instruction was found to do.
        exact: ask for the names of the convention; a renaming then refutes.

    Raises:
        UsageError: a claim speaks of an operand that the instruction has not, or cannot be evaluated.
    """
    bound = [
        (statement.matrix, statement.bind(_operand(statement.matrix, solved)))
        for statement in claims.statements
    ]
    for (_, claimed), statement in zip(bound, claims.statements, strict=True):
        if claimed.problem:
            return _judgement(claims, solved, REFUTED, (f"{statement.text}: {claimed.problem}",))
    first, differing, slots = first_difference(bound, solved)
    done = effect(bound, solved)
    known: dict[str, Any] = {"first": first, "differing": differing, "slots": slots, "effect": done}
    if not slots:
        return _judgement(claims, solved, UNDECIDED, ("the claim speaks of no slot",), **known)
    found = renaming(bound, solved)
    if isinstance(found, Conflict):
        return _without_renaming(claims, solved, bound, found, known)
    whole = renaming(bound, solved, unread=True)
    if isinstance(whole, Conflict):
        dead, _, _ = first_difference(bound, solved, found)
        why = _unread(dead, solved) if dead else f"in copies that no output was seen to read, {whole.why}"
        return _judgement(claims, solved, UNDECIDED, (why,), **known)
    found = whole
    if found.identity:
        return _judgement(claims, solved, CONFIRMED, (), part=_part(bound), **known)
    renamed = found.changed()
    partners = _partners(claims, renamed)
    caution = _alone(claims, renamed, partners, done)
    reasons = tuple(filter(None, (caution, _renaming_text(renamed))))
    verdict = REFUTED if exact else GAUGE
    known |= {"renamed": renamed, "caution": caution}
    part = "" if exact else _part(bound)
    if caution:
        part += f", but not beside the usual {' and '.join(partners)},"
    return _judgement(claims, solved, verdict, reasons, part=part, **known)


def _part(bound: Sequence[tuple[str, Claimed]]) -> str:
    """ " for 16 of 512 slots", where the claims do not speak of every slot of their matrices."""
    spoken: dict[str, Any] = {}
    for matrix, claimed in bound:
        spoken[matrix] = spoken.get(matrix, False) | claimed.speaks
    count, total = (sum(int(size(slots)) for slots in spoken.values()) for size in (np.sum, np.size))
    return f" for {count} of {total} slots" if count < total else ""


def _operand(matrix: str, solved: InstructionLayout) -> Layout:
    if matrix not in solved.operands:
        raise UsageError(f"{solved.instruction} has no operand {matrix}")
    return solved.operands[matrix]


def undecided(
    claims: ClaimSet, why: str, instruction: str, arch: str, wave: int = 0, opsel: int = 0
) -> Judgement:
    """The verdict where the instruction could not be solved."""
    return Judgement(claims, UNDECIDED, UNDECIDED, (why,), "", instruction, arch, wave, opsel)


def _judgement(
    claims: ClaimSet,
    solved: InstructionLayout,
    verdict: str,
    reasons: Sequence[str],
    part: str = "",
    **known: Any,
) -> Judgement:
    sentence = f"{verdict}{part} {_basis(solved.evidence, verdict)}"
    return Judgement(
        claims=claims,
        verdict=verdict,
        sentence=sentence,
        reasons=tuple(reasons),
        instruction=solved.instruction,
        arch=solved.arch,
        wave=solved.wave,
        opsel=solved.opsel,
        evidence=solved.evidence,
        convention=solved.convention,
        **known,
    )


def _basis(evidence: Evidence, verdict: str) -> str:
    """What a verdict rests on; emulation alone never confirms what a card does."""
    kinds = ", ".join(dict.fromkeys(filter(None, (evidence.kind, evidence.recorded))))
    if evidence.kind == "replayed":
        # A digest is no signature: whoever wrote the file chose these words.
        ran = "on a card" if evidence.on_card else "by the emulator"
        capture = f"capture {evidence.digest[:12]}" if evidence.digest else "a capture"
        return f"against {capture}, which says that it was recorded {ran} ({kinds})"
    if evidence.on_card:
        return f"on the card ({kinds})"
    if verdict == CONFIRMED:
        return f"against the emulator ({kinds}); only a measurement can confirm what a card does"
    return f"against the emulator ({kinds})"


def _without_renaming(
    claims: ClaimSet,
    solved: InstructionLayout,
    bound: Sequence[tuple[str, Claimed]],
    conflict: Conflict,
    known: Mapping[str, Any],
) -> Judgement:
    """Refuted, unless the claims hold with a renaming for every copy of its own."""
    if isinstance(renaming(bound, solved, by_copy=True), Renaming):
        why = (
            "it holds only if each half-wave has its own order of the lines: the instruction was seen to read"
            f" a copy of its own for each, and what a card does when the copies differ is open ({conflict.why})"
        )
        return _judgement(claims, solved, UNDECIDED, (why,), **known)
    reasons = [f"no renaming of rows, columns or k helps: {conflict.why}"]
    if first := known["first"]:
        reasons.insert(0, counterexample(first, solved.operands[first.matrix]))
    return _judgement(claims, solved, REFUTED, reasons, **known)


def counterexample(first: Difference, operand: Layout) -> str:
    """The smallest slot that differs, in words."""
    verb = "produces" if first.matrix == "D" else "takes"
    where = slot_name(first.slot, operand)
    return f"{where}: the claim says {first.claimed}, the instruction {verb} {first.solved}"


def _unread(dead: Difference, solved: InstructionLayout) -> str:
    where = slot_name(dead.slot, solved.operands[dead.matrix])
    return (
        f"it agrees in every slot that an output was seen to read; in {where} it says {dead.claimed} where the"
        f" documents want {dead.solved}, and no output was seen to read that copy"
    )


def _renaming_text(renamed: Mapping[str, tuple[tuple[int, int], ...]]) -> str:
    said = []
    for axis, lines in renamed.items():
        name = LINE_NAMES[axis]
        moved = [f"{theirs}->{ours}" for theirs, ours in lines if theirs != ours]
        more = f" and {len(moved) - 6} more" if len(moved) > 7 else ""
        said.append(f"{name} {', '.join(moved if not more else moved[:6])}{more}")
    return "equal after a renaming that no product shows (claimed -> by convention): " + "; ".join(said)


_SHARED = {"M": "A, C and D", "N": "B, C and D", "K": "A and B", COMPRESSED: "A and B"}


def _partners(claims: ClaimSet, renamed: Mapping[str, object]) -> list[str]:
    """Matrices that share a renamed axis, and of which the claims say nothing."""
    spoken = {"D" if statement.matrix == "C" else statement.matrix for statement in claims.statements}
    return [
        matrix
        for matrix in "ABD"
        if matrix not in spoken and any(matrix in _SHARED.get(axis, "") for axis in renamed)
    ]


def _alone(
    claims: ClaimSet, renamed: Mapping[str, object], partners: Sequence[str], done: Effect | None
) -> str:
    """The warning that a renamed claim is only half of a GEMM, where its other half is missing."""
    if not partners or (done is not None and not done.wrong):
        return ""
    matrices = ", ".join(dict.fromkeys(statement.matrix for statement in claims.statements))
    shared = " and ".join(f"{LINES_NAMES[axis]} of {_SHARED[axis]}" for axis in renamed)
    tried = str(done) if done is not None else "no GEMM was tried: its inputs are sparse"
    return f"the {shared} must be renamed alike: with only {matrices} in this order, {tried}"


__all__ = [
    "CONFIRMED",
    "GAUGE",
    "REFUTED",
    "UNDECIDED",
    "VERDICTS",
    "Judgement",
    "counterexample",
    "judge",
    "undecided",
]
