"""The pattern language: integer arithmetic over the coordinates of a matrix.

Patterns come from users, so the text is parsed by hand and never given to Python. Operators and
their precedence are Python's; `/` and `//` both mean floor division, and a comparison yields 0 or
1. `shuffle(index, n, seed)` is a seeded permutation of 0..n-1. Length, depth and magnitude are
bounded, so that no text can cost much time or overflow unseen.

    >>> evaluate(parse("row*16 + col", ("row", "col")), {"row": r, "col": c})
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import NoReturn, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError

MAX_LENGTH = 400
MAX_DEPTH = 32
MAX_MAGNITUDE = 1 << 62
MAX_SHIFT = 62
MAX_SHUFFLE = 1 << 20

Grid: TypeAlias = NDArray[np.int64]


class Number(Struct, frozen=True):
    """An integer literal."""

    value: int


class Name(Struct, frozen=True):
    """A coordinate, an extent or a parameter."""

    name: str


class Negate(Struct, frozen=True):
    """Unary minus."""

    operand: Node


class Binary(Struct, frozen=True):
    """An operator with two operands."""

    op: str
    left: Node
    right: Node


class Choice(Struct, frozen=True):
    """`yes if test else no`; both sides are evaluated everywhere."""

    yes: Node
    test: Node
    no: Node


class Shuffle(Struct, frozen=True):
    """`shuffle(index, n, seed)`."""

    index: Node
    n: Node
    seed: Node


Node: TypeAlias = Number | Name | Negate | Binary | Choice | Shuffle

_TOKEN = re.compile(
    r"(?P<number>0x[0-9a-fA-F]+|[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op><<|>>|<=|>=|==|!=|//|[-+*/%&|^()<>,])"
)
_KEYWORDS = frozenset({"if", "else"})
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_PRECEDENCE = {
    **dict.fromkeys(_COMPARISONS, 1),
    "|": 2,
    "^": 3,
    "&": 4,
    "<<": 5,
    ">>": 5,
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "//": 7,
    "%": 7,
}


def _refuse(text: str, why: str, column: int | None = None, hint: str | None = None) -> NoReturn:
    shown = text if len(text) <= 80 else text[:77] + "..."
    where: dict[str, object] = {"expression": shown}
    if column is not None:
        where["column"] = column + 1
    raise UsageError(f"Expression: {why}", where=where, hint=hint)


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.tokens = self._tokens()
        self.at = 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(self.text):
            if self.text[position] in " \t\n":
                position += 1
                continue
            match = _TOKEN.match(self.text, position)
            if match is None:
                _refuse(self.text, f"unexpected character {self.text[position]!r}", position)
            kind = match.lastgroup or ""
            word = match.group()
            tokens.append(("op" if word in _KEYWORDS else kind, word, position))
            position = match.end()
        tokens.append(("end", "", len(self.text)))
        return tokens

    def _take(self) -> tuple[str, str, int]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def _accept(self, word: str) -> bool:
        kind, text, _ = self.tokens[self.at]
        if kind == "op" and text == word:
            self.at += 1
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            _, text, column = self.tokens[self.at]
            _refuse(self.text, f"expected {word!r}, found {text or 'the end'!r}", column)

    def whole(self) -> Node:
        node = self._choice(0)
        kind, text, column = self.tokens[self.at]
        if kind != "end":
            _refuse(self.text, f"unexpected {text!r}", column)
        return node

    def _choice(self, depth: int) -> Node:
        yes = self._operators(1, depth + 1)
        if not self._accept("if"):
            return yes
        test = self._operators(1, depth + 1)
        self._expect("else")
        return Choice(yes, test, self._choice(depth + 1))

    def _operators(self, floor: int, depth: int) -> Node:
        left = self._unary(depth)
        compared = False
        while True:
            kind, op, column = self.tokens[self.at]
            level = _PRECEDENCE.get(op, 0) if kind == "op" else 0
            if level < floor:
                return left
            if op in _COMPARISONS and compared:
                # In Python a < b < c means both; here it would compare a truth value.
                _refuse(self.text, "comparisons do not chain", column, "write (a < b) & (b < c)")
            compared = op in _COMPARISONS
            self.at += 1
            left = Binary(op, left, self._operators(level + 1, depth + 1))

    def _unary(self, depth: int) -> Node:
        kind, text, column = self._take()
        if depth > MAX_DEPTH:
            _refuse(self.text, f"nested deeper than {MAX_DEPTH}", column)
        if kind == "number":
            value = int(text, 0) if text.startswith("0x") else int(text)
            if value > MAX_MAGNITUDE:
                _refuse(self.text, f"{text} does not fit 62 bits", column)
            return Number(value)
        if kind == "op" and text == "-":
            return Negate(self._unary(depth + 1))
        if kind == "op" and text == "(":
            node = self._choice(depth + 1)
            self._expect(")")
            return node
        if kind == "name":
            return self._named(text, column, depth)
        _refuse(self.text, f"expected a value, found {text or 'the end'!r}", column)

    def _named(self, name: str, column: int, depth: int) -> Node:
        if name == "shuffle":
            self._expect("(")
            index = self._choice(depth + 1)
            self._expect(",")
            n = self._choice(depth + 1)
            self._expect(",")
            seed = self._choice(depth + 1)
            self._expect(")")
            return Shuffle(index, n, seed)
        if name not in self.names:
            _refuse(
                self.text, f"unknown name {name!r}", column, "known: " + ", ".join([*self.names, "shuffle"])
            )
        return Name(name)


def parse(text: str, names: Collection[str]) -> Node:
    """Parse an expression in which only `names` may occur.

    Raises:
        UsageError: not an expression of the pattern language, too long or too deep.
    """
    if len(text) > MAX_LENGTH:
        _refuse(text, f"longer than {MAX_LENGTH} characters")
    return _Parser(text, names).whole()


def _bounded(values: list[int]) -> None:
    if min(values) < -MAX_MAGNITUDE or max(values) > MAX_MAGNITUDE:
        raise UsageError(
            "Expression: an intermediate value does not fit 62 bits",
            observed=f"up to {max(values, key=abs)}",
            hint="use smaller factors, or % to keep the value small",
        )


def _extrema(grid: Grid) -> tuple[int, int]:
    return int(grid.min()), int(grid.max())


_CORNERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": operator.lshift,
}


def _floor(divide: Callable[[Grid, Grid], Grid]) -> Callable[[Grid, Grid], Grid]:
    def checked(left: Grid, right: Grid) -> Grid:
        if not right.all():
            raise UsageError(
                "Expression: division by zero",
                hint="a divisor may be 0 for no row and col, not even in the side of an `if` that is not taken",
            )
        return divide(left, right)

    return checked


_OPERATORS: dict[str, Callable[[Grid, Grid], NDArray[np.int64] | NDArray[np.bool_]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _floor(operator.floordiv),
    "//": _floor(operator.floordiv),
    "%": _floor(operator.mod),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _binary(op: str, left: Grid, right: Grid) -> Grid:
    if op in ("<<", ">>"):
        low, high = _extrema(right)
        if low < 0 or high > MAX_SHIFT:
            raise UsageError(
                "Expression: shift count out of range",
                expected=f"0 to {MAX_SHIFT}",
                observed=f"{low} to {high}",
            )
    if op in _CORNERS:
        # The four corners bound every value: sound, and exact because Python integers do not wrap.
        _bounded([_CORNERS[op](a, b) for a in _extrema(left) for b in _extrema(right)])
    return np.asarray(_OPERATORS[op](left, right), np.int64)


def _permutation(n: int, seed: int) -> Grid:
    """A permutation of 0..n-1 that no library upgrade can change: rank of splitmix64 outputs.

    Source of the mixer: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    with np.errstate(over="ignore"):
        z = np.uint64(seed % (1 << 64)) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return np.argsort(z, kind="stable").astype(np.int64)


def _shuffle(index: Grid, n: Grid, seed: Grid) -> Grid:
    if n.size != 1 or seed.size != 1:
        raise UsageError("Expression: n and seed of shuffle must not depend on row or col")
    count = int(n.ravel()[0])
    low, high = _extrema(index)
    if not 0 < count <= MAX_SHUFFLE or low < 0 or high >= count:
        raise UsageError(
            "Expression: shuffle(index, n, seed) needs 0 <= index < n",
            expected=f"n from 1 to {MAX_SHUFFLE}",
            observed=f"index {low} to {high}, n {count}",
        )
    return np.asarray(_permutation(count, int(seed.ravel()[0]))[index], np.int64)


def evaluate(node: Node, names: Mapping[str, Grid]) -> Grid:
    """Value of an expression for every combination of the given (broadcastable) int64 grids.

    Raises:
        UsageError: overflow, division by zero, or a shift count or shuffle index out of range.
    """
    match node:
        case Number(value):
            return np.asarray(value, np.int64)
        case Name(name):
            return names[name]
        case Negate(operand):
            return np.asarray(-evaluate(operand, names), np.int64)
        case Binary(op, left, right):
            return _binary(op, evaluate(left, names), evaluate(right, names))
        case Choice(yes, test, no):
            return np.where(evaluate(test, names) != 0, evaluate(yes, names), evaluate(no, names))
        case Shuffle(index, n, seed):
            return _shuffle(evaluate(index, names), evaluate(n, names), evaluate(seed, names))
