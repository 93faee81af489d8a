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
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from layoutprobe.claims.cells import parse_csv
from layoutprobe.claims.judge import VERDICTS
from layoutprobe.claims.model import ClaimSet
from layoutprobe.claims.statements import parse_statement
from layoutprobe.errors import UsageError

MAX_BYTES = 1 << 24
MAX_SETS = 1000
MAX_SENTENCES = 64
KEYS = {"name": str, "source": str, "instruction": str, "arch": str, "wave": int, "opsel": int, "says": list,
        "verdict": str, "because": str}  # fmt: skip


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
            raise UsageError(
                f"no file and no claim: {text[:80]!r}", hint="for example: 'A: frag[i] = A[lane % 16][i]'"
            )
        else:
            sentences.append(text)
    if sentences:
        sets.append(read_text("\n".join(sentences)))
    return sets


def read_file(path: Path) -> list[ClaimSet]:
    """The claims of one file, by its suffix: .toml, .csv, else plain text.

    Raises:
        UsageError: it cannot be read, is too large, or is not what its suffix says.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise UsageError("the claims cannot be read", where={"file": path}, observed=str(error)) from None
    except UnicodeDecodeError:
        raise UsageError("the file of claims is not UTF-8 text", where={"file": path}) from None
    if len(data) > MAX_BYTES:
        raise UsageError(
            "the file of claims is too large", where={"file": path}, expected=f"at most {MAX_BYTES} bytes"
        )
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
    return ClaimSet(_sentences(sentences, source or "the claim"), source=source)


def _whole_formula(line: str) -> bool:
    """Whether a line without a matrix in front is a sentence of its own."""
    return re.match(r"\s*(?:[\w.]+(?:\[\w+\])?\s*=\s*)?[ABCD]\[", line) is not None


def read_toml(text: str, name: str) -> list[ClaimSet]:
    """Sets of claims from TOML; see the module.

    Raises:
        UsageError: no TOML, an unknown key, a wrong type, or a sentence that cannot be read.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(
            "the file of claims is no TOML", where={"file": name}, observed=str(error)[:200]
        ) from None
    entries = document.get("claim")
    if not isinstance(entries, list) or set(document) != {"claim"} or not 0 < len(entries) <= MAX_SETS:
        raise UsageError("the file has no [[claim]], or something else beside", where={"file": name})
    return [_set(entry, f"{name}, claim {number}") for number, entry in enumerate(entries, 1)]


def _set(entry: object, place: str) -> ClaimSet:
    if not isinstance(entry, Mapping):
        raise UsageError("a claim must be a table", where={"file": place})
    for key, value in entry.items():
        kind = KEYS.get(key)
        if kind is None:
            raise UsageError(f"unknown key {key[:40]!r}", where={"file": place}, expected=", ".join(KEYS))
        if type(value) is not kind:
            raise UsageError(
                f"{key} must be a {kind.__name__}", where={"file": place}, observed=repr(value)[:60]
            )
    says: Any = entry.get("says", [])
    if not all(isinstance(sentence, str) for sentence in says):
        raise UsageError("says must be a list of strings", where={"file": place})
    stated = entry.get("verdict", "")
    if stated and stated not in VERDICTS:
        raise UsageError(f"no verdict {stated[:40]!r}", where={"file": place}, expected=", ".join(VERDICTS))
    return ClaimSet(
        _sentences(says, place),
        name=entry.get("name", ""),
        source=entry.get("source", ""),
        instruction=entry.get("instruction"),
        arch=entry.get("arch"),
        wave=entry.get("wave"),
        opsel=entry.get("opsel"),
        stated=stated,
        because=entry.get("because", ""),
    )


def _sentences(texts: Sequence[str], place: str) -> tuple[Any, ...]:
    if not 0 < len(texts) <= MAX_SENTENCES:
        raise UsageError(
            f"a claim needs 1 to {MAX_SENTENCES} sentences", where={"file": place}, observed=str(len(texts))
        )
    return tuple(parse_statement(text) for text in texts)
