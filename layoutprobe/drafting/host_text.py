"""What host code says about constants, variables and small functions, read from its text.

It is no compiler: what it cannot follow stays a name, and who asks treats that as unknown.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from layoutprobe.drafting.host_declarations import DECLARED, closing, constants, declared, split

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")|(\'(?:\\.|[^\'\\\n])+\')', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([\w, \t]*\))?[ \t]+([^\n]+)", re.MULTILINE)
_FUNCTION = re.compile(
    r"(\w+)\s*\(([^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{\s*return\s+([^;{}]+);\s*\}"
)
_TEMPLATE = re.compile(r"template\s*<([^<>{};]*)>")
_MEMBER = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*(?:\s*\[\s*\d+\s*\])?){1,3})\s*=(?!=)")
_LENGTH = re.compile(r"\w\s*\[\s*([A-Za-z_]\w*)\s*\]")
_LISTED = re.compile(
    r"(?<![\w.])(?!struct\b|class\b|union\b|enum\b|namespace\b|else\b|return\b|const\b)[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*(?:=\s*)?\{"
)
_TOKEN = re.compile(r"[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)*|\d[\w']*|.", re.DOTALL)
_CAST = re.compile(
    r"\(\s*(?:const\s+)?(?:unsigned|signed|int|long|size_t|u?int(?:32|64)_t|std::size_t)(?:\s+(?:int|long))*\s*\)\s*(?=[\w(])|"
    r"static_cast\s*<(?!\s*(?:float|double)\s*>)[^<>]*>"
)
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*")
_BYTES = {
    "char": 1, "int8_t": 1, "uint8_t": 1, "half": 2, "__half": 2, "_Float16": 2, "__hip_bfloat16": 2,
    "hip_bfloat16": 2, "short": 2, "int16_t": 2, "uint16_t": 2, "int": 4, "unsigned": 4, "float": 4,
    "int32_t": 4, "uint32_t": 4, "double": 8, "int64_t": 8, "uint64_t": 8, "float2": 8, "float4": 16,
}  # fmt: skip
"""What sizeof says of a type."""
_DEEPEST = 12
_LONGEST = 1000
_NESTED = 3
_MOST_CALLS = 64
_MOST_FILES, _MOST_TEXT = 16, 1 << 19


class TooLongError(Exception):
    """What is no expression for a manifest."""


def read_text(source: Path) -> str:
    """A source, with the files that it includes by names in quotes before it; without comments and strings."""
    seen: list[Path] = []
    return "\n".join(_with_siblings(source.resolve(), seen))


def _with_siblings(path: Path, seen: list[Path]) -> Iterator[str]:
    if path in seen or len(seen) >= _MOST_FILES or not path.is_file():
        return
    seen.append(path)
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            text = stream.read(_MOST_TEXT).replace("\\\n", " ")
    except OSError:
        return
    for name in _INCLUDE.findall(text):
        yield from _with_siblings((path.parent / name).resolve(), seen)
    yield _NOISE.sub(lambda found: '""' if found[1] else " ", text)


def opened(text: str, at: int) -> int:
    """Where the innermost block begins that a place stands in; -1 for none."""
    blocks: list[int] = []
    for found in re.compile("[{}]").finditer(text, 0, at):
        if found[0] == "{":
            blocks.append(found.start())
        elif blocks:
            blocks.pop()
    return blocks[-1] if blocks else -1


class Scope(Struct, frozen=True):
    """What names mean at a place of the text.

    Attributes:
        values: name -> the text that it was given; "dim3(...)" and lists in braces as they are.
        functions: name -> its parameters, and what it returns.
        kept: names that stay as they are.
        fixed: names that say how long arrays are before the first kernel: its code rests on their values.
    """

    values: Mapping[str, str]
    functions: Mapping[str, tuple[Sequence[str], str]]
    kept: frozenset[str] = field(default=frozenset())
    fixed: frozenset[str] = field(default=frozenset())

    def expanded(self, text: str, depth: int = 0) -> str:
        """An expression with its names replaced by what they mean, as a manifest writes it.

        Raises:
            TooLongError: it goes too deep, or becomes too long; names may mean themselves.
        """
        if depth > _DEEPEST or len(text) > _LONGEST:
            raise TooLongError
        tokens = _TOKEN.findall(_CAST.sub("", text))
        result, at = "", 0
        while at < len(tokens):
            token = tokens[at]
            plain = self._constant(token) or token.rpartition("::")[2]
            called = at + 1 < len(tokens) and tokens[at + 1] == "("
            if called and plain == "sizeof":
                end = closing(tokens, at + 1)
                named = "".join(tokens[at + 2 : end]).strip()
                result += str(_BYTES[named]) if named in _BYTES else f"sizeof({named})"
                at = end
            elif called and (plain in self.functions or plain in ("min", "max")):
                end = closing(tokens, at + 1)
                given = [self.expanded(one, depth + 1) for one in split("".join(tokens[at + 2 : end]))]
                result += f"({self._called(plain, given, depth)})"
                at = end
            elif plain in self.values and plain not in self.kept and not result.endswith("."):
                inner = self.expanded(self.values[plain], depth + 1)
                result += inner if re.fullmatch(r"\w+", inner) else f"({inner})"
            elif number := _NUMBER.fullmatch(token):
                result += str(int(number[1].replace("'", ""), 0)) if not number[1].startswith("00") else token
            else:
                result += token
            if len(result) > _LONGEST:
                raise TooLongError
            at += 1
        return re.sub(r"\s+", " ", result).strip()

    def _constant(self, token: str) -> str:
        """The name of a constant of a structure, which a parameter of a template may stand for; "" for another."""
        owner, _, name = token.partition("::")
        named = f"{self.values.get(owner, owner).rpartition('::')[2]}::{name}"
        behind = "::".join(token.split("::")[-2:])  # a namespace before it
        return next((one for one in (named, behind) if name and one in self.values), "")

    def _called(self, name: str, given: Sequence[str], depth: int) -> str:
        if name in self.functions:
            parameters, returned = self.functions[name]
            inner = Scope(dict(zip(parameters, (f"({one})" for one in given), strict=False)), self.functions)
            return inner.expanded(returned, depth + 1)
        if len(given) != 2:
            return f"{name}({', '.join(given)})"
        one, other = given
        return f"({one}) if ({one}) {'<' if name == 'min' else '>'} ({other}) else ({other})"


def _hidden(text: str, at: int) -> list[tuple[int, int]]:
    """Blocks before a place that are closed there, the outermost ones, in order: what they declare is not seen."""
    opened: list[int] = []
    closed: list[tuple[int, int]] = []
    for found in re.compile("[{}]").finditer(text, 0, at):
        if found[0] == "{":
            opened.append(found.start())
        elif opened:
            start = opened.pop()
            while closed and closed[-1][0] > start:  # it lies in this one
                closed.pop()
            closed.append((start, found.start()))
    return closed


def scope_at(text: str, at: int) -> Scope:
    """What names mean at a place: the last definition before it that is seen there."""
    values: dict[str, str] = {}
    functions: dict[str, tuple[Sequence[str], str]] = {}
    for found in _DEFINE.finditer(text, 0, at):
        if found[2]:
            functions[found[1]] = split(found[2][1:-1]), found[3].strip()
        else:
            values[found[1]] = found[3].strip()
    for found in _FUNCTION.finditer(text):
        functions[found[1]] = (
            [one.split()[-1].strip("&*") for one in split(found[2]) if one.split()],
            found[3],
        )
    hidden = _hidden(text, at)
    for found in DECLARED.finditer(text, 0, at):
        before = bisect_left(hidden, (found.start(), 0)) - 1
        if before < 0 or hidden[before][1] < found.start():
            values.update(declared(text, found.end()))
    for found in _MEMBER.finditer(text, 0, at):
        given = text[found.end() : text.find(";", found.end())].strip()
        key = found[1] + re.sub(r"\s+", "", found[2])
        values[key] = given
        values.update(_places(key, given))
    for found in _LISTED.finditer(text, 0, at):
        listed = text[found.end() - 1 : closing(text, found.end() - 1) + 1]
        for key, value in _places(found[1], listed):
            values.setdefault(key, value)
    values.update(constants(text))
    head = text[: max(text.find("__global__"), 0)]
    return Scope(values, functions, fixed=frozenset(_LENGTH.findall(head)))


def _places(name: str, given: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """What a list in braces gives: "p.0", or "p.M" where it names that, and "p.0.1" of a list in it."""
    opened = re.match(r"(?:[A-Za-z_]\w*\s*)?\{", given)
    if not opened or not given.endswith("}") or depth > _NESTED:
        return
    for number, one in enumerate(split(given[opened.end() : -1])):
        named = re.match(r"\.(\w+)\s*=\s*", one)
        key, value = (named[1], one[named.end() :]) if named else (str(number), one)
        yield f"{name}.{key}", value
        yield from _places(f"{name}.{key}", value, depth + 1)


def instances(text: str, at: int) -> Iterator[Mapping[str, str]]:
    """Parameters of the template that a place stands in, as each call of it with arguments in <> has them."""
    headers = list(_TEMPLATE.finditer(text, 0, at))
    if not headers:
        return
    header = headers[-1]
    named = re.search(r"(\w+)\s*\(", text[header.end() : at])
    words = [one.partition("=")[0].split() for one in split(header[1])]
    names = [one[-1] for one in words if one]
    calls = re.finditer(rf"\b{named[1]}\s*<([^<>;(){{}}]+)>\s*\(", text) if named else ()
    for call in islice(calls, _MOST_CALLS):
        yield dict(zip(names, split(call[1]), strict=False))
