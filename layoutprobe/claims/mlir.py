"""Attributes and types in the text of an MLIR module: just what Triton's IR writes around `tt.dot`.

The text may come from anybody: it is read character by character, forwards only, nothing is evaluated, and depth,
lengths and numbers are bounded.
"""

from __future__ import annotations

from typing import NoReturn

from msgspec import Struct, field

from layoutprobe.errors import UsageError

MOST_ITEMS = 64
"""Items of a list or a dictionary."""
DEEPEST = 8
LARGEST = 1 << 20
"""No number in a layout is larger."""
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-")
_SHOWN = 60

Value = "int | bool | str | list[Value] | dict[str, Value] | Attribute"


class Attribute(Struct, frozen=True):
    """`#ttg.name<[pads] {key = value}>`, or `#name`: an alias, whose entries are elsewhere.

    Attributes:
        name: without the "#".
        entries: key -> value.
        pads: interval and padding, of `padded_shared`.
        whole: it has a body.
    """

    name: str
    entries: dict[str, object] = field(default_factory=dict)
    pads: tuple[tuple[int, int], ...] = ()
    whole: bool = False


class Tensor(Struct, frozen=True):
    """`tensor<64x32xf16, #layout>`, or a memdesc.

    Attributes:
        shape: its extents.
        dtype: as it is written.
        layout: the attribute behind them.
    """

    shape: tuple[int, ...]
    dtype: str
    layout: Attribute


class Cursor:
    """A place in one line of a text."""

    def __init__(self, text: str, file: str, line: int, at: int = 0) -> None:
        """Args: text: the line; file, line: for messages; at: where to begin."""
        self.text, self.file, self.line, self.at = text, file, line, at

    def fail(self, expected: str, what: str = "the TTGIR cannot be read") -> NoReturn:
        """Refuses the text here.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            what,
            where={"file": self.file, "line": self.line, "column": self.at + 1},
            expected=expected,
            observed=self.text[self.at : self.at + _SHOWN] or "the end of the line",
            hint="give the text that Triton 3.9 keeps as .asm['ttgir'], or as *.ttgir in its cache, unchanged",
        )

    def skip(self) -> None:
        """Goes past blanks."""
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def sees(self, word: str) -> bool:
        """Whether a word comes next; goes past it if so."""
        self.skip()
        if not self.text.startswith(word, self.at):
            return False
        self.at += len(word)
        return True

    def need(self, word: str) -> None:
        """Goes past a word.

        Raises:
            UsageError: another one stands there.
        """
        if not self.sees(word):
            self.fail(f"`{word}`")

    def name(self) -> str:
        """A name, such as `ttg.dot_op`."""
        self.skip()
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] in _NAME:
            self.at += 1
        if begin == self.at:
            self.fail("a name")
        return self.text[begin : self.at]

    def number(self) -> int:
        """A number that is not negative."""
        self.skip()
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        if (
            begin == self.at
            or self.at - begin > len(str(LARGEST))
            or int(self.text[begin : self.at]) > LARGEST
        ):
            self.at = begin
            self.fail(f"a number from 0 to {LARGEST}")
        return int(self.text[begin : self.at])

    def quoted(self) -> str:
        """A text in quotes, without escapes."""
        self.need('"')
        end = self.text.find('"', self.at)
        if end < 0 or "\\" in self.text[self.at : end]:
            self.fail("a text in quotes without escapes")
        found, self.at = self.text[self.at : end], end + 1
        return found

    def value(self, depth: int = 0) -> object:
        """A value of an attribute: number, truth value, text, list, dictionary, attribute or name."""
        self.skip()
        if depth > DEEPEST:
            self.fail(f"values in at most {DEEPEST} brackets")
        next_ = self.text[self.at : self.at + 1]
        if next_ == "#":
            return self.attribute(depth + 1)
        if next_ == "[":
            return self._items("[", "]", depth)
        if next_ == "{":
            return self.entries(depth + 1)
        if next_ == '"':
            return self.quoted()
        if next_.isdigit():
            found = self.number()
            return self._typed(found)
        word = self.name()
        return {"true": True, "false": False}.get(word, word)

    def _typed(self, number: int) -> int:
        """A number may have its type behind it."""
        if self.sees(":"):
            self.name()
        return number

    def _items(self, opening: str, closing: str, depth: int) -> list[object]:
        self.need(opening)
        found: list[object] = []
        while not self.sees(closing):
            if found:
                self.need(",")
            if len(found) == MOST_ITEMS:
                self.fail(f"at most {MOST_ITEMS} items")
            found.append(self.value(depth + 1))
        return found

    def entries(self, depth: int = 0) -> dict[str, object]:
        """`{key = value, ...}`."""
        self.need("{")
        found: dict[str, object] = {}
        while not self.sees("}"):
            if found:
                self.need(",")
            self.skip()
            key = self.quoted() if self.text.startswith('"', self.at) else self.name()
            if key in found or len(found) == MOST_ITEMS:
                self.fail(f"at most {MOST_ITEMS} keys, each once")
            self.need("=")
            found[key] = self.value(depth + 1)
        return found

    def attribute(self, depth: int = 0) -> Attribute:
        """`#name`, or one with a body."""
        self.need("#")
        name = self.name()
        if not self.text.startswith("<", self.at):
            return Attribute(name)
        self.need("<")
        pads = self._pads() if self.text.startswith("[", self.at) else ()
        entries = self.entries(depth + 1)
        self.need(">")
        return Attribute(name, entries, pads, True)

    def _pads(self) -> tuple[tuple[int, int], ...]:
        """`[512:+8, 1024:+16]`."""
        self.need("[")
        found: list[tuple[int, int]] = []
        while not self.sees("]"):
            if found:
                self.need(",")
            interval = self.number()
            self.need(":+")
            found.append((interval, self.number()))
            if len(found) > DEEPEST or interval == 0:
                self.fail(f"at most {DEEPEST} intervals, none of them 0")
        return tuple(found)

    def tensor(self, opening: str = "tensor<") -> Tensor:
        """A type with a layout; what a memdesc says behind its layout is passed over."""
        self.need(opening)
        shape = []
        while self.text[self.at : self.at + 1].isdigit():
            shape.append(self.number())
            if len(shape) > 4 or not self.text.startswith("x", self.at):
                self.fail("at most 4 extents and a type, such as 64x32xf16")
            self.at += 1
        dtype = self.name()
        self.need(",")
        layout = self.attribute()
        while opening != "tensor<" and self.sees(","):
            self.value()
        self.need(">")
        return Tensor(tuple(shape), dtype, layout)
