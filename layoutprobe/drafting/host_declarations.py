"""Declarations in host code: names with what they are given, and constants of structures and their templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

_TYPE = (
    r"(?:(?:static|const|constexpr|inline|unsigned|signed|long)\s+)*"
    r"(?:auto|int|unsigned|long|short|float|double|(?:std::)?size_t|(?:std::)?u?int(?:16|32|64)_t|dim3)"
)
DECLARED = re.compile(
    rf"(?<![\w(,<])(?:{_TYPE}\s+|void\s*\*\s*)(?:const\s+)?(?=[A-Za-z_]\w*\s*(?:=|\(|{{|\[\s*\]\s*=))"
)
_STRUCT = re.compile(r"(?:\btemplate\s*<([^<>{};]*)>\s*)?\b(?:struct|class)\s+(\w+)[^;{}()<>]*\{")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:typename\s+)?([\w:]+)\s*(<[^;{}()]*>)?\s*;")
_INSTANCE = re.compile(r"([A-Za-z_][\w:]*)\s*(<.*>)?\s*", re.DOTALL)
_MOST_STRUCTURES, _LONGEST_STRUCTURE = 64, 1 << 13
_MOST_CONSTANTS, _MOST_VISITS, _DEEPEST, _LONGEST = 1024, 256, 4, 1000


def split(text: str, separator: str = ",") -> list[str]:
    """The parts between separators that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == separator and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def closing(text: Sequence[str], at: int) -> int:
    """Where the bracket at a place of a text, or of its tokens, is closed; the end where it is not."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            return place
    return len(text)


def declared(text: str, at: int) -> Iterator[tuple[str, str]]:
    """The names of a declaration, up to its semicolon, with what they are given."""
    end = at
    while end < len(text) and text[end] != ";":
        end = closing(text, end) + 1 if text[end] in "([{" else end + 1
        if end < len(text) and text[end - 1] == "}" and text[end] not in ",;":
            break
    for one in split(text[at:end]):
        found = re.match(r"(\w+)\s*(?:\[\s*\])?\s*(=|\(|\{)\s*", one)
        if found and found[2] == "=":
            yield found[1], one[found.end() :].strip()
        elif found:
            yield found[1], f"dim3({one[found.end() : -1].strip()})"


class _Structure(Struct, frozen=True):
    """A structure: the parameters of its template, each with what it is given where nobody does; and its body."""

    parameters: Mapping[str, str]
    body: str


def constants(text: str) -> Iterator[tuple[str, str]]:
    """Those of structures: "Policy::TileN", with others of the same structure named so, too; and of instances of
    templates that have names, and of structures named in them: "Policy::Tile::N"."""
    known = {
        found[2]: _Structure(_parameters(found[1] or ""), _body(text, found.end() - 1))
        for found in islice(_STRUCT.finditer(text), _MOST_STRUCTURES)
    }
    plain = [(name, name, "") for name, one in known.items() if not one.parameters]
    named = [
        (found[1], found[2], found[3] or "") for found in islice(_ALIAS.finditer(text), _MOST_STRUCTURES)
    ]
    visits = iter(range(_MOST_VISITS))
    every = (one for root in (*named, *plain) for one in _of(*root, known, visits))
    yield from islice(every, _MOST_CONSTANTS)


def _of(
    prefix: str, name: str, given: str, known: Mapping[str, _Structure], visits: Iterator[int]
) -> Iterator[tuple[str, str]]:
    """Constants of an instance, which is called `prefix`; structures may name each other, and `visits` ends that."""
    structure = known.get(name.rpartition("::")[2])
    if structure is None or prefix.count("::") > _DEEPEST or next(visits, None) is None:
        return
    given_for = dict(structure.parameters)
    given_for.update(zip(given_for, listed(given[1:-1]), strict=False))
    named = dict(given_for)
    for parameter, value in given_for.items():  # a structure itself: its constants are told, too
        instance = _INSTANCE.fullmatch(value)
        if instance and instance[1].rpartition("::")[2] in known:
            named[parameter] = f"{prefix}::{parameter}"
            yield from _of(named[parameter], instance[1], instance[2] or "", known, visits)
    own = dict(one for at in DECLARED.finditer(structure.body) for one in declared(structure.body, at.end()))
    members = {one: f"{prefix}::{one}" for one in own}
    yield from ((members[one], _told(value, {**named, **members})) for one, value in own.items())
    for found in _ALIAS.finditer(structure.body):
        # An alias of a parameter is what was given for it: the structures that are known are known by their names.
        again = _ALIAS.match(
            f"using {found[1]} = {_told(found[2] + (found[3] or ''), {**given_for, **members})};"
        )
        if again:
            yield from _of(f"{prefix}::{again[1]}", again[2], again[3] or "", known, visits)


def _told(text: str, stands_for: Mapping[str, str]) -> str:
    """With what names stand for; "" where that becomes too long."""
    if len(text) > _LONGEST or not stands_for:
        return text if len(text) <= _LONGEST else ""
    names = rf"(?<![\w:])({'|'.join(stands_for)})\b"
    result = re.sub(names, lambda found: stands_for[found[1]], text)
    return result if len(result) <= _LONGEST else ""


def _parameters(header: str) -> dict[str, str]:
    """Of a template: "int M, typename T = float" gives M and T."""
    parts = (one.partition("=") for one in split(header))
    return {name.split()[-1].lstrip("."): default.strip() for name, _, default in parts if name.split()}


def listed(given: str) -> list[str]:
    """Arguments of a template, which may be instances themselves."""
    turned = split(given.replace("<", "(").replace(">", ")"))
    return [one.replace("(", "<").replace(")", ">") for one in turned]


def _body(text: str, at: int) -> str:
    body = text[at : at + _LONGEST_STRUCTURE]
    return body[: closing(body, 0)]
