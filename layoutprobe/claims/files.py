"""Files of claims: TOML with many sets and the verdicts they expect, CSV tables, or plain text.

Plain text holds one set: a claim begins with its matrix (`A: ...`) at the start of a line and may go
on over further lines; `#` begins a comment. A TOML file has a `[[claim]]` for each set:

    [[claim]]
    name = "A fragment of the RDNA3 guide"
    source = "which document, where"
    instruction = "v_wmma_f32_16x16x16_f16"
    wave = 32
    says = ["A: a_frag[i] = A[i][lane % 16]"]
    verdict = "refuted"
    because = "a lane holds a row of A"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from layoutprobe.claims.cells import parse_csv
from layoutprobe.claims.judge import VERDICTS
from layoutprobe.claims.model import ClaimSet
from layoutprobe.claims.statements import parse_statement
from layoutprobe.errors import UsageError
from layoutprobe.reading import Table, parse_toml, read_bounded

MAX_BYTES = 1 << 24
MAX_SETS = 1000
MAX_SENTENCES = 64
SUFFIXES = (".toml", ".csv", ".txt", ".md")
"""Any other file was named by mistake: what is in it is not repeated in an error."""


def read_claims(given: Sequence[str]) -> list[ClaimSet]:
    """Claims from a command line: files each have their own sets, sentences together make one.

    Raises:
        UsageError: neither a file nor a claim, or one that cannot be read.
    """
    sets: list[ClaimSet] = []
    sentences = []
    for text in given:
        if len(text) < 4096 and "\n" not in text and Path(text).is_file():
            sets += read_file(Path(text))
        elif not re.search(r"[\[(]", text):
            raise _neither(text)
        else:
            sentences.append(text)
    if sentences:
        sets.append(read_text("\n".join(sentences)))
    return sets


def _neither(text: str) -> UsageError:
    example = "for example: 'A: frag[i] = A[lane % 16][i]'"
    if Path(text[-20:]).suffix.lower() in SUFFIXES:
        return UsageError(
            f"there is no file {text[-80:]!r}", hint="a claim that is no file names an element, " + example
        )
    return UsageError(f"neither a claim nor a file that is there: {text[:80]!r}", hint=example)


def read_file(path: Path) -> list[ClaimSet]:
    """The claims of one file, by its suffix: .toml, .csv, or plain text (.txt, .md).

    Raises:
        UsageError: it cannot be read, is too large, or is not what its suffix says.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "no file of claims by its name", where={"file": path}, expected="a suffix: " + ", ".join(SUFFIXES)
        )
    try:
        text = read_bounded(path, "file of claims", MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise UsageError("the file of claims is not UTF-8 text", where={"file": path}) from None
    if path.suffix.lower() == ".csv":
        return parse_csv(text, path.name)
    return read_toml(text, path.name) if path.suffix.lower() == ".toml" else [read_text(text, path.name)]


def read_text(text: str, source: str = "") -> ClaimSet:
    """One set of claims from plain text.

    Raises:
        UsageError: a sentence cannot be read, or there is none.
    """
    sentences: list[str] = []
    for line in text.splitlines():
        line = re.sub(r"(?:^|\s)#(?!ttg).*", "", line).rstrip()
        if not line:
            continue
        begins = re.match(r"\s*[ABCD]\s*:", line) or not sentences or _whole_formula(line)
        if begins:
            sentences.append(line)
        else:
            sentences[-1] += "\n" + line
    return ClaimSet(_sentences(sentences, source), source=source)


def _whole_formula(line: str) -> bool:
    """Whether a line without a matrix in front is a sentence of its own."""
    return re.match(r"\s*(?:[\w.]+(?:\[\w+\])?\s*=\s*)?[ABCD]\[", line) is not None


def read_toml(text: str, name: str) -> list[ClaimSet]:
    """Sets of claims from TOML; see the module.

    Raises:
        UsageError: no TOML, an unknown key, a wrong type, or a sentence that cannot be read.
    """
    top = _Table(parse_toml(text, name, "file of claims"), name)
    entries = top.tables("claim", least=1, most=MAX_SETS)
    top.finish()
    return [_set(entry, f"{name}, claim {number}") for number, entry in enumerate(entries, 1)]


class _Table(Table):
    WHAT: ClassVar[str] = "file of claims"


def _set(entry: _Table, place: str) -> ClaimSet:
    def words(key: str) -> str:
        return entry.text(key, "a text", r"[\s\S]*", "")

    def whole(key: str) -> int | None:
        return entry.maybe_integer(key, 0, 1 << 16)

    says = entry.strings("says", "sentences")
    found = ClaimSet(
        _sentences(says, place),
        name=words("name"),
        source=words("source"),
        instruction=words("instruction") or None,
        arch=words("arch") or None,
        wave=whole("wave"),
        opsel=whole("opsel"),
        stated=entry.choice("verdict", tuple(VERDICTS), ""),
        because=words("because"),
    )
    entry.finish()
    return found


def _sentences(texts: Sequence[str], place: str) -> tuple[Any, ...]:
    if not 0 < len(texts) <= MAX_SENTENCES:
        raise UsageError(
            f"a claim needs 1 to {MAX_SENTENCES} sentences",
            where={"file": place} if place else None,
            observed=str(len(texts)),
        )
    found = []
    for text in texts:
        try:
            found.append(parse_statement(text))
        except UsageError as error:
            error.where = {"file": place, **error.where} if place else error.where
            raise
    return tuple(found)
