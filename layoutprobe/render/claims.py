"""Verdicts on claims, and differences of layouts: for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

from msgspec import Struct, to_builtins
from rich.text import Text

from layoutprobe.claims.difference import LayoutDifference
from layoutprobe.claims.judge import VERDICTS, Judgement
from layoutprobe.render import data
from layoutprobe.render.layout.words import plural
from layoutprobe.render.look import STYLES, WORDS
from layoutprobe.render.page import Page, write_lines

CLAIM_SCHEMA = "layoutprobe-claim/1"
DIFF_SCHEMA = "layoutprobe-diff/1"


def write_claims(judgements: Sequence[Judgement], stream: TextIO) -> None:
    """The verdicts, one paragraph each."""
    write_lines(partial(_lines, judgements), stream)


def _lines(judgements: Sequence[Judgement], page: Page) -> Iterator[Text]:
    for number, judgement in enumerate(judgements):
        if number:
            yield Text("")
        yield from _judged(judgement, page)


def _judged(judgement: Judgement, page: Page) -> Iterator[Text]:
    claims = judgement.claims
    if claims.name:
        yield from page.paragraph(claims.name, "bold")
    for statement in claims.statements:
        for line in statement.text.splitlines():
            yield from page.pairs([("claim", line)])
    of = f"{judgement.instruction} on {judgement.arch}" + (
        f", wave{judgement.wave}" if judgement.wave else ""
    )
    word = WORDS[judgement.code]
    pairs = [("source", claims.source)] if claims.source else []
    yield from page.pairs([*pairs, ("of", of + (f", op_sel {judgement.opsel}" if judgement.opsel else ""))])
    yield from page.pairs([("verdict", f"{page.glyphs.sign(word)} {judgement.sentence}")], STYLES[word])
    if judgement.caution:
        yield from page.pairs([("but", f"! {judgement.caution}")], STYLES["undecided"])
    yield from page.pairs([("", reason) for reason in judgement.reasons if reason != judgement.caution])
    if judgement.as_stated is False:
        line = f"{page.glyphs.sign(WORDS[1])} {claims.stated}: the file states another verdict than was found"
        yield from page.pairs([("stated", line)], STYLES[WORDS[1]])
    if judgement.differing and VERDICTS[judgement.verdict]:
        yield from page.pairs([("differs", f"in {judgement.differing} of {plural(judgement.slots, 'slot')}")])
    if judgement.effect is not None and VERDICTS[judgement.verdict]:
        yield from page.pairs([("a GEMM", str(judgement.effect))])
    if judgement.evidence is not None:
        yield from page.pairs([("evidence", str(judgement.evidence))], "dim")


def write_claims_json(judgements: Sequence[Judgement], stream: TextIO) -> None:
    """One object with a list of verdicts; see CLAIM_SCHEMA."""
    data.write(data.envelope(CLAIM_SCHEMA, {"claims": list(map(_judged_data, judgements))}), stream)


def _judged_data(judgement: Judgement) -> dict[str, Any]:
    claims, evidence = judgement.claims, judgement.evidence
    return {
        "name": claims.name,
        "source": claims.source,
        "says": [
            {"matrix": statement.matrix, "dialect": statement.dialect, "text": statement.text}
            for statement in claims.statements
        ],
        "instruction": judgement.instruction,
        "arch": judgement.arch,
        "wave": judgement.wave,
        "opsel": judgement.opsel,
        "verdict": judgement.verdict,
        "stated": claims.stated or None,
        "as_stated": judgement.as_stated,
        "sentence": judgement.sentence,
        "reasons": list(judgement.reasons),
        "caution": judgement.caution,
        "first": None if judgement.first is None else to_builtins(judgement.first),
        "differing": judgement.differing,
        "slots": judgement.slots,
        "renamed": {
            axis: [list(pair) for pair in pairs] for axis, pairs in (judgement.renamed or {}).items()
        },
        "effect": None if judgement.effect is None else to_builtins(judgement.effect),
        "evidence": None if evidence is None else data.evidence(evidence),
    }


class Differences(Struct, frozen=True):
    """Pairs that were compared, and what one side lacks."""

    pairs: Sequence[LayoutDifference]
    notes: Sequence[str]


def write_differences(found: Differences, stream: TextIO) -> None:
    """What differs, operand by operand."""
    write_lines(partial(_differences, found), stream)


def _differences(found: Differences, page: Page) -> Iterator[Text]:
    if len(found.pairs) == 1 and not found.notes:
        yield from _difference(found.pairs[0], page)
        return
    equal = [one for one in found.pairs if one.equal]
    differing = len(found.pairs) - len(equal)
    yield from page.paragraph(
        f"of {plural(len(found.pairs), 'instruction')} that both have {differing} differ; {len(found.notes)} are on "
        "one side only",
        "bold",
    )
    for one in found.pairs:
        if not one.equal:
            yield from _difference(one, page)
    for note in found.notes:
        yield from page.paragraph(note, "yellow")
    for one in equal:
        yield from page.paragraph(f"{outcome(one)}, in {', '.join(x.matrix for x in one.operands)}", "green")


def outcome(found: LayoutDifference) -> str:
    """The result in one sentence."""
    first, second = found.names
    if found.equal:
        return f"{first} and {second} have the same layouts"
    if found.renamed:
        return f"{first} and {second} are equal after one renaming of {' and '.join(found.renamed)}"
    names = ", ".join(operand.matrix for operand in found.operands if operand.differing)
    return f"{first} and {second} differ" + (f" in {names}" if names else "")


def _difference(found: LayoutDifference, page: Page) -> Iterator[Text]:
    yield from page.paragraph(outcome(found), "bold")
    for operand in found.operands:
        if not operand.differing:
            yield from page.pairs([(operand.matrix, "the same")], "green")
            continue
        count = f"differs in {operand.differing} of {plural(operand.slots, 'slot')}; first {operand.first}"
        yield from page.pairs([(operand.matrix, count)], "yellow")
        for name, forms in zip(found.names, operand.forms, strict=True):
            text = next((form.text for form in forms), "no closed form")
            yield from page.pairs([("", f"{name}: {text}")])
    yield from page.pairs([("", text) for text in found.missing], "yellow")
    for axis, lines in (found.renamed or {}).items():
        order = ", ".join(f"{mine}->{other}" for mine, other in lines if mine != other)
        yield from page.pairs([("renamed", f"{axis} {order}: no product shows it")])


def write_differences_json(found: Differences, stream: TextIO) -> None:
    """One object with a list of pairs; see DIFF_SCHEMA."""
    pairs = [
        {
            "names": list(one.names),
            "equal": one.equal,
            "missing": list(one.missing),
            "renamed": None
            if one.renamed is None
            else {axis: [list(pair) for pair in lines] for axis, lines in one.renamed.items()},
            "operands": [
                {
                    "matrix": operand.matrix,
                    "differing": operand.differing,
                    "slots": operand.slots,
                    "first": operand.first,
                    "forms": [{form.dialect: form.text for form in side} for side in operand.forms],
                }
                for operand in one.operands
            ],
        }
        for one in found.pairs
    ]
    data.write(data.envelope(DIFF_SCHEMA, {"pairs": pairs, "notes": list(found.notes)}), stream)
