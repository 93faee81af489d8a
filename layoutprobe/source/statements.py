"""C++ source as tokens, brackets and statements: as much of it as is needed to change a line, and no grammar."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

_TOKEN = re.compile(
    r"""(?P<skip>(?<=\bif)\s+constexpr\b|\s+|//(?:[^\n\\]|\\.)*|/\*(?:.*?\*/|.*)|\#(?:[^\n\\]|\\.)*|\\\r?\n)
      |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?:.*?\)(?P=mark)"|.*)
          |"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
      |(?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%^|&=]=|::|.)""",
    re.VERBOSE | re.DOTALL,
)
"""What has no end goes on to the end of the line or file, so that no text is read twice.
`if constexpr` is an `if`."""
_CLOSES = {")": "(", "]": "[", "}": "{"}
_NO_CALLS = frozenset(
    ("for", "if", "while", "switch", "return", "sizeof", "alignas", "decltype", "catch", "asm")
)


_WORD = re.compile(r"[A-Za-z_]\w*")
_FREE = re.compile(r"(?<![\w.>:])[A-Za-z_]\w*")


def words(text: str) -> list[str]:
    """All names in a text, in order."""
    return _WORD.findall(text)


def free_words(text: str) -> set[str]:
    """Names in a text that are members of nothing."""
    return set(_FREE.findall(text))


class Token(Struct, frozen=True):
    """A word of the source.

    Attributes:
        kind: "name", "number", "text" or "sign".
        text: as it is written.
        start, end: where it stands in the source.
    """

    kind: str
    text: str
    start: int
    end: int


_LONGEST_TEMPLATE = 24
_IN_TEMPLATE = ("<", ">", ",", "::", "*", "+", "-", "/", "%")


class Source:
    """One file."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = (m for m in _TOKEN.finditer(text) if m["skip"] is None)
        self.tokens = [Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in found]
        self.partner: dict[int, int] = {}  # of each bracket, both ways
        self.parent: list[int] = []  # of each token the bracket around it; -1 outside of all
        around: list[int] = []
        for i, token in enumerate(self.tokens):
            opens = _CLOSES.get(token.text)
            if opens and around and self.tokens[around[-1]].text == opens:
                opened = around.pop()
                self.partner[opened], self.partner[i] = i, opened
            self.parent.append(around[-1] if around else -1)
            if token.text in ("(", "[", "{"):
                around.append(i)
        self._blocks = self._braces_of_statements()

    def _braces_of_statements(self) -> set[int]:
        """Braces of statements, and not of values: those with a semicolon, empty bodies, and those around them."""
        found = set[int]()
        for i, token in enumerate(self.tokens):
            brace = i if self._is_empty_body(i) else self.parent[i] if token.text == ";" else -1
            if brace < 0 or self.tokens[brace].text != "{":
                continue
            while brace >= 0 and brace not in found:
                if self.tokens[brace].text == "{":
                    found.update((brace, self.partner.get(brace, brace)))
                brace = self.parent[brace]
        return found

    def _is_empty_body(self, i: int) -> bool:
        """Braces of a function that does nothing more: behind it a word follows, or a structure ends."""
        tokens = self.tokens
        if tokens[i].text != "{" or self.partner.get(i) != i + 1 or not i or i + 2 >= len(tokens):
            return False
        around = self.parent[i]
        ends = tokens[i + 2].text == "}" and around > 1 and tokens[around - 2].text in ("struct", "class")
        return tokens[i - 1].text in (")", "}") and (ends or tokens[i + 2].kind == "name")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def line_of(self, offset: int) -> int:
        """Counted from 1."""
        return bisect_left(self._starts, offset + 1)

    def offset(self, line: int, column: int) -> int:
        """Where a column of a line stands in the text."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1

    def span(self, within: range) -> range:
        """Where some tokens stand in the text; the first of them where there are none."""
        last = max(within.stop - 1, within.start)
        return range(self.tokens[within.start].start, self.tokens[last].end)

    def token_at(self, offset: int) -> int:
        """The first token that ends at a place in the text, or behind it; the last one where none does."""
        return min(bisect_left(self.tokens, offset, key=lambda token: token.end), len(self.tokens) - 1)

    def word(self, i: int) -> str:
        """The text of a token; "" where there is none: a macro's body may end in the middle of a sentence."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def defines(self, i: int) -> bool:
        """A name that is given a value, or declared as an array."""
        follows = self.tokens[i + 1].text if i + 1 < len(self.tokens) else ""
        return self.tokens[i].kind == "name" and follows in ("=", "+=", "-=", "*=", "^=", "[")

    def statement(self, line: int) -> range:
        """Tokens of the statement that the first word of a line belongs to; empty where the line has none.

        Of what has a block it is what stands before: "for (...)". It may go over several lines.
        """
        return next(self.statements_of(line), range(0))

    def statements_of(self, line: int) -> Iterator[range]:
        """Tokens of each statement that has words in a line."""
        if 1 <= line <= len(self._starts):
            end = self._starts[line] if line < len(self._starts) else len(self.text)
            first, last = (
                bisect_left(self.tokens, at, key=lambda token: token.start)
                for at in (self._starts[line - 1], end)
            )
            for nth, within in enumerate(self.statements(first, last)):
                if not nth or within.start < last:
                    yield within

    def around(self, index: int) -> range:
        """Tokens of the statement that a token belongs to."""
        if self.tokens[index].text in ("}", "{") and index in self.partner and self.is_block(index):
            index = min(index + 1, len(self.tokens) - 1)
        while (parent := self.parent[index]) >= 0 and not self.is_block(parent):
            index = parent
        first = index
        while first > 0 and not self._ends(first - 1):
            first = self.partner.get(first - 1, first - 1) if self._closes(first - 1) else first - 1
        last = index
        while last < len(self.tokens) and not self._ends(last):
            last = self.partner.get(last, last) + 1 if self._opens(last) else last + 1
        return range(first, min(last, len(self.tokens)))

    def statements(self, first: int, end: int) -> Iterator[range]:
        """Tokens of each statement of a body, from one token to another."""
        at = first
        while at < end:
            within = self.around(at)
            if within:
                yield within
            at = max(within.stop, at) + 1

    def _opens(self, i: int) -> bool:
        return self.tokens[i].text in ("(", "[", "{")

    def _closes(self, i: int) -> bool:
        return self.tokens[i].text in _CLOSES

    def _ends(self, i: int) -> bool:
        """A token at which a statement ends, or the next one begins."""
        return self.tokens[i].text == ";" or (self.tokens[i].text in ("{", "}") and self.is_block(i))

    def is_block(self, i: int) -> bool:
        """Whether a token is a brace of statements, and not of a value."""
        return i in self._blocks

    def slice(self, first: int, last: int) -> str:
        """The text of tokens first to last - 1."""
        return self.text[self.tokens[first].start : self.tokens[last - 1].end] if last > first else ""

    def written(self, within: range) -> str:
        """The text of some tokens."""
        return self.slice(within.start, within.stop)

    def parts(self, opened: int) -> list[tuple[int, int]]:
        """Ranges of tokens between the commas in a bracket; empty ones where nothing stands there."""
        closed = self.partner.get(opened, opened + 1)
        result, first, i = [], opened + 1, opened + 1
        while i < closed:
            if self.tokens[i].text == ",":
                result.append((first, i))
                first = i + 1
            i = self.partner.get(i, i) + 1 if self._opens(i) else i + 1
        return [*result, (first, closed)] if closed > opened + 1 else []

    def calls_of(self, name: str) -> Iterator[range]:
        """Tokens of each call of a function, from its name to the closing bracket."""
        for called, span in self.whole_calls(range(len(self.tokens))):
            if called == name:
                yield span

    def whole_calls(self, within: range) -> Iterator[tuple[str, range]]:
        """Each call that opens in some tokens: its name, and its tokens from that to the closing bracket."""
        for name, opened in self.calls(within):
            first = opened - 1
            while self.tokens[first].text != name:  # behind it may stand arguments of a template
                first -= 1
            yield name, range(first, self.partner[opened] + 1)

    def calls(self, within: range) -> Iterator[tuple[str, int]]:
        """Name and opening bracket of each call; a parameter list looks like one."""
        for i in within:
            if self.tokens[i].text == "(" and i in self.partner and i:
                at = i - 1 if self.tokens[i - 1].text != ">" else self._template(i - 1)
                if self.tokens[at].kind == "name" and self.tokens[at].text not in _NO_CALLS:
                    yield self.tokens[at].text, i

    def _template(self, last: int) -> int:
        """The name in front of arguments of a template that end with this ">"; else that itself."""
        deep = 0
        for i in range(last, max(last - _LONGEST_TEMPLATE, 0), -1):
            text = self.tokens[i].text
            deep += (text == ">") - (text == "<")
            if not deep:
                return i - 1
            if self.tokens[i].kind == "sign" and text not in _IN_TEMPLATE:
                break
        return last

    def blocks_at(self, offset: int) -> frozenset[int]:
        """Opening braces of the blocks that a place in the text is in."""
        return frozenset(
            i
            for i, j in self.partner.items()
            if i < j and self.tokens[i].end <= offset <= self.tokens[j].start and self.is_block(i)
        )

    def block_around(self, index: int) -> tuple[int, int] | None:
        """Opening and closing brace of the innermost block that a token stands in; None for none, as in a header that
        has nothing but macros."""
        parent = self.parent[index] if self.tokens else -1
        while parent >= 0 and not self.is_block(parent):
            parent = self.parent[parent]
        return (parent, self.partner[parent]) if parent >= 0 and parent in self.partner else None
