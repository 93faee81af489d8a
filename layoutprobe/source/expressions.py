"""Expressions of a statement by their tokens: sums and terms, what is called, the function around."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.source.declarations import QUALIFIERS, is_headed
from layoutprobe.source.statements import Source


def between(source: Source, b: int, c: int) -> str:
    """The text between two neighbouring ranges of tokens, of which one ends before b and the other begins with c."""
    return source.text[source.tokens[b - 1].end : source.tokens[c].start]


def text_behind(source: Source, b: int, c: int) -> str:
    """The text behind token b - 1, up to the end of token c - 1, with the blanks that it begins with."""
    return source.text[source.tokens[b - 1].end : source.tokens[c - 1].end]


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


def heads_around(source: Source, index: int) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Of each block around a token, the innermost first: the word before the bracket of its head ("for", a function's
    name; "" where it has none), that bracket (0 for none), and its braces."""
    block = source.block_around(index)
    while block is not None:
        opened = source.partner.get(block[0] - 1, 0)
        yield (source.tokens[opened - 1].text if opened else ""), opened, block
        block = source.block_around(block[0])


def function_around(source: Source, index: int) -> range:
    """Tokens from a function's head to its end; of a file without blocks, all."""
    found = None
    for _, _, block in heads_around(source, index):
        found = block if is_headed(source, block[0]) or found is None else found
    if found is None:
        return range(len(source.tokens))
    return range(source.around(found[0] - 1).start if found[0] else 0, found[1])


def function_name(source: Source, index: int) -> str:
    """The name of the function around a token; "" where there is none."""
    brackets = (
        i for i in function_around(source, index) if source.tokens[i].text == "(" and i in source.partner
    )
    return next((source.tokens[i - 1].text for i in brackets if body_behind(source, i) is not None), "")


def body_behind(source: Source, opened: int) -> int | None:
    """The brace of a function's body behind its parameters, `(int k) const {`; None for a call."""
    i = source.partner[opened] + 1
    while i < len(source.tokens) and source.tokens[i].text in QUALIFIERS:
        i += 1
    return i if source.is_block(i) else None


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


def owner(source: Source, dot: int) -> int:
    """Where that begins of which a member is taken: `s[r]` of `s[r].mean`."""
    tokens, first = source.tokens, dot
    while first and (tokens[first - 1].kind == "name" or tokens[first - 1].text in ("]", ".", "->", "::")):
        first = source.partner.get(first - 1, first - 1) if tokens[first - 1].text == "]" else first - 1
    return first


def callee(source: Source, opened: int) -> int | None:
    """The first word of what a bracket calls, with the object that it is a member of; None for `if (`."""
    name = opened - 1
    if name < 0 or source.tokens[name].kind != "name" or source.tokens[name].text in _NO_FUNCTIONS:
        return None
    return owner(source, name - 1) if name and source.tokens[name - 1].text in (".", "->", "::") else name


_NO_FUNCTIONS = frozenset(("for", "if", "while", "switch", "return", "sizeof", "alignas", "decltype", "asm"))
