"""A statement that may be changed, and the expressions in it: indices, arguments, sums and products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutprobe.codegen.statements import Source


@dataclass(frozen=True)
class Rewrite:
    """A text in place of another.

    Attributes:
        start, end: what it replaces in the source.
        text: what comes there.
        kind: name of the guess, see `codegen.rewrites.KINDS`.
    """

    start: int
    end: int
    text: str
    kind: str

    def apply(self, text: str) -> str:
        """The source with it."""
        return text[: self.start] + self.text + text[self.end :]


@dataclass(frozen=True)
class Spot:
    """A statement that may be wrong.

    Attributes:
        source: the file.
        within: its tokens.
        others: all files of the kernel, for what calls look like elsewhere.
        scalars: integers that the kernel is given, by name; those that are likely to be meant first.
    """

    source: Source
    within: range
    others: Sequence[Source]
    scalars: Sequence[str] = ()

    def replace(self, first: int, last: int, text: str, kind: str) -> Rewrite:
        """A text in place of tokens first to last - 1."""
        tokens = self.source.tokens
        return Rewrite(tokens[first].start, tokens[last - 1].end, text, kind)


def between(source: Source, b: int, c: int) -> str:
    """The text between two neighbouring ranges of tokens, of which one ends before b and the other begins with c."""
    return source.text[source.tokens[b - 1].end : source.tokens[c].start]


def scaled(source: Source, first: int, last: int) -> tuple[str, str]:
    """What a term multiplies, and by which number; "" for none."""
    if last - first >= 3 and source.tokens[first + 1].text == "*" and source.tokens[first].kind == "number":
        return source.slice(first + 2, last), source.tokens[first].text
    if last - first >= 3 and source.tokens[last - 2].text == "*" and source.tokens[last - 1].kind == "number":
        return source.slice(first, last - 2), source.tokens[last - 1].text
    return source.slice(first, last), ""


def sums(source: Source, within: range) -> Iterator[tuple[int, int]]:
    """Ranges of tokens that are whole expressions: arguments, indices, what is assigned, conditions."""
    seen = set[tuple[int, int]]()
    for i in within:
        if source.tokens[i].text in ("(", "[", "{") and i in source.partner:
            seen.update(part for opened in [i] for part in _pieces(source, opened))
    seen.update(split(source, within.start, within.stop))
    yield from sorted((part for part in seen if part[1] > part[0]), key=lambda part: part[1] - part[0])


def _pieces(source: Source, opened: int) -> Iterator[tuple[int, int]]:
    for first, last in source.parts(opened):
        yield from split(source, first, last)


_LOOSE = frozenset(
    (
        "=",
        "+=",
        "-=",
        "*=",
        "^=",
        "|=",
        "&=",
        "?",
        ":",
        ";",
        ",",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
    )
) | {"<<", ">>", "return"}


def split(source: Source, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Parts between operators that bind less than + does."""
    begin = i = first
    while i < last:
        if source.tokens[i].text in _LOOSE:
            yield (begin, i)
            begin = i + 1
        i = source.partner.get(i, i) + 1 if source.tokens[i].text in ("(", "[", "{") else i + 1
    yield (begin, last)


def terms(source: Source, first: int, last: int) -> list[tuple[str, int, int]]:
    """(sign, first, last) of what a sum adds."""
    return parted(source, first, last, {"+", "-"})


def parted(source: Source, first: int, last: int, signs: set[str]) -> list[tuple[str, int, int]]:
    """(sign, first, last) of what stands between some operators; of the first the sign is ""."""
    result, sign, begin, i = [], "", first, first
    while i < last:
        text = source.tokens[i].text
        if text in signs and i > begin and source.tokens[i - 1].text not in ("*", "/", "%", "(", "+", "-"):
            result.append((sign, begin, i))
            sign, begin = text, i + 1
        i = source.partner.get(i, i) + 1 if text in ("(", "[", "{") else i + 1
    return [*result, (sign, begin, last)] if begin < last else result


def function_around(source: Source, index: int) -> range:
    """Tokens from a function's head to its end; of a file without blocks, all."""
    block = source.block_around(index)
    while block is not None and (outer := source.block_around(block[0])) is not None:
        block = outer
    if block is None:
        return range(len(source.tokens))
    return range(source.around(block[0] - 1).start if block[0] else 0, block[1])


def line_start(source: Source, index: int) -> int:
    """Where the line of a token begins in the text."""
    return source.text.rfind("\n", 0, source.tokens[index].start) + 1


def indent(source: Source, index: int) -> str:
    """The blanks that the line of a token begins with."""
    start = line_start(source, index)
    return source.text[start : start + len(source.text[start:]) - len(source.text[start:].lstrip(" \t"))]


def before(source: Source, i: int) -> str:
    """The word, member or call in front of an operator."""
    first = source.partner.get(i - 1, i - 1) if source.tokens[i - 1].text == ")" else i - 1
    return source.slice(max(first - 2, 0), i)


def is_member(source: Source, i: int) -> bool:
    """Whether a name stands behind the object that it is a member of."""
    return i > 0 and source.tokens[i - 1].text in (".", "->")
