"""Law: elements lie in LDS injectively, and loads look for each where its store put it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.by_values import by_values
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.clashes import Clash, LdsRecord
from layoutprobe.observe.lds import LdsObserver
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.solver.cause_rules import cause_rules, offset_rule
from layoutprobe.solver.diagnose import LDS_ADDRESSES, LDS_OFFSET, UNEXPLAINED
from layoutprobe.solver.product import UNDEFINED
from layoutprobe.trace.analysis import Analysis, analysis_of
from layoutprobe.trace.blame import Blame, blames, tiles_of
from layoutprobe.trace.comparisons import require_doubt
from layoutprobe.trace.culprits import Culprit
from layoutprobe.trace.lds_tiles import TileMap, in_words
from layoutprobe.trace.places import site, where
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import Subject, UndecidedError

NAME = "swizzle"

EXPLAIN = """\
A tile in LDS is written through one address function and read through another; padding and XOR
swizzles change both. Two things must hold. The map from elements to addresses is injective: within one
barrier interval no byte that was stored is overwritten by another lane with another value before
anybody read it, and read then (judged among stores of one source line; other pairs are the business
of `races`). And the two functions agree: what a matrix operand gets out of LDS is the element that it
needs, as far as operand-provenance can follow it; where a swizzle or a row stride stands on one side
only, or an operand that is loaded as it is holds elements for which no other cause is known, the load
looked in a wrong place of the tile, and the finding names the byte it read and the byte where the
element lies. Where it found what nobody had stored, lds-safety says so; where it looked in the right
place at a wrong time, operand-provenance and races do.
The metrics show how each tile lies in LDS (from runs in which every element carries a number of its
own), with padding and the closed form where one is found; for the first workgroup only. Without a
matrix product in the contract, which element a load should find is not known, and only injectivity is
judged. Evidence: emulated."""

SHOWN = 2
"""Tiles of one buffer that the metrics describe."""
COLLISION = Rule(
    "swizzle/collision",
    "two lanes store different values to one LDS byte, and one of them is lost",
    "The map from elements to addresses is not injective: two elements have one place.",
    "a swizzle must permute the columns of a row; check masks, shifts and the row stride",
)
RULES = {
    name: rule for name, rule in cause_rules(NAME, "AB").items() if name in (*LDS_ADDRESSES, UNEXPLAINED)
} | {LDS_OFFSET: offset_rule(NAME)}
"""Cause -> rule."""


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    record = subject.plain().record(LdsRecord)
    if not record.stores or not record.loads:
        return CHECK.skipped("the kernel keeps nothing in LDS")
    findings = list(_collisions(subject, record))
    try:
        require_doubt(subject)
        analysis = analysis_of(subject)
    except NoProductError as why:
        if findings:
            return CHECK.found(findings)
        return CHECK.skipped(f"{why}; so what a load should find is not asked. No two lanes collide in LDS")
    except UndecidedError as why:
        return CHECK.found(findings) if findings else by_values(CHECK, subject, str(why))
    tiles = tiles_of(subject)
    if not findings:
        findings += _disagreements(subject, analysis)
    metrics = _maps(tiles)
    if not findings and analysis.lost:
        return by_values(CHECK, subject, "operands are computed on their way through LDS", metrics=metrics)
    reason = "" if findings else "stores and loads agree on where each element lies"
    if reason and any(judged.judgement.broken.any() for judged in analysis.judged):
        reason = "no fault of LDS addresses, but operands are wrong: see operand-provenance"
    return CHECK.found(findings, reason, metrics=metrics)


def _maps(tiles: Sequence[TileMap]) -> dict[str, object]:
    """How tiles lie in LDS; each buffer's first few that differ in more than their place."""
    by_buffer: dict[str, list[TileMap]] = {}
    for tile in tiles:
        by_buffer.setdefault(tile.buffer, []).append(tile)
    return {
        f"{buffer} in LDS": "; then ".join([*dict.fromkeys(in_words(alike))][:SHOWN])
        for buffer, alike in by_buffer.items()
    }


def _collisions(subject: Subject, record: LdsRecord) -> Iterator[Finding]:
    """One per source line."""
    by_line: dict[str, list[Clash]] = {}
    for clash in record.collisions:
        lines = [
            subject.line(touch.inst.pc) or site(subject, touch.inst) for touch in (clash.first, clash.second)
        ]
        if lines[0] == lines[1]:
            by_line.setdefault(lines[0], []).append(clash)
    for clashes in by_line.values():
        first, second = clashes[0].first, clashes[0].second
        yield Finding(
            COLLISION,
            "two lanes store different values to one LDS byte, and one of them is lost: the address function "
            "is not injective",
            replace(where(subject, second.inst, second.who), lds_byte=clashes[0].byte),
            expected="an address of its own for every element of the tile",
            observed=f"wave {first.who.wave}, lane {first.who.lane} and wave {second.who.wave}, lane "
            f"{second.who.lane} store to it in one barrier interval",
            hint="a swizzle must permute the columns of a row; check masks, shifts and the row stride; two waves may "
            "also be in passes of a loop that no barrier orders",
            count=sum(clash.count for clash in clashes),
            related=(Related("stored by", where(subject, first.inst, first.who)),),
        )


def _disagreements(subject: Subject, analysis: Analysis) -> list[Finding]:
    """Operands that got a wrong element because the load looked in a wrong place."""
    found: dict[str, Finding] = {}
    for culprit, blamed in blames(subject):
        if not _of_addresses(culprit, blamed):
            continue
        finding = _disagreement(subject, analysis, culprit, blamed)
        matrix, known = culprit.slot.matrix, found.get(culprit.slot.matrix)
        # A scheme that stands on one side tells more than that places differ.
        shown = known if known and finding.name == UNEXPLAINED else finding
        found[matrix] = replace(shown, count=finding.count + (known.count if known else 0))
    return list(found.values())


def _of_addresses(culprit: Culprit, found: Blame) -> bool:
    """Whether addresses in LDS are at fault; without a diagnosis, only where the operand is what LDS returned
    and something was stored there (else lds-safety says so), and no load from global memory is to blame."""
    if found.diagnosis.name in LDS_ADDRESSES:
        return found.read is not None
    if found.diagnosis.name != UNEXPLAINED or culprit.slot.number == UNDEFINED:
        return False
    if found.at is not None and Kind.LDS not in found.path[found.at].inst.kind:
        return False
    return found.read is not None and found.path[0].lds_byte is not None


def _disagreement(subject: Subject, analysis: Analysis, culprit: Culprit, found: Blame) -> Finding:
    from layoutprobe.trace.findings import operand_finding  # a kernel that holds needs none

    base = operand_finding(subject, analysis, culprit, found, RULES)
    name = culprit.slot.executions.letter(culprit.slot.matrix)
    return replace(
        base,
        what=f"loads and stores of {name} do not agree on where elements lie in LDS: {base.what}",
        expected=base.expected + (f", which lies at byte {found.lies}" if found.lies is not None else ""),
        observed=base.observed + f", read from byte {found.read}",
    )


CHECK = Check(
    NAME,
    "elements lie in LDS injectively, and loads look for each where its store put it",
    EXPLAIN,
    run,
    observers=(LdsObserver,),
    rules=(COLLISION, *RULES.values()),
)
