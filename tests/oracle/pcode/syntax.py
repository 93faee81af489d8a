"""The syntax tree of the pseudocode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .lexer import Literal


@dataclass(frozen=True)
class Number:
    """A numeric literal."""

    literal: Literal


@dataclass(frozen=True)
class Name:
    """A register, an input, a constant, a variable or a function."""

    text: str


@dataclass(frozen=True)
class Member:
    """`base.field`: a typed view (`S0.f32`), or a bit of a status register (`WAVE_MODE.IEEE`)."""

    base: Expr
    field: str


@dataclass(frozen=True)
class Index:
    """`base[at]`: an array element, or one bit."""

    base: Expr
    at: Expr


@dataclass(frozen=True)
class Slice:
    """`base[high : low]`, which reverses the bits if high < low."""

    base: Expr
    high: Expr
    low: Expr


@dataclass(frozen=True)
class PartSelect:
    """`base[low +: width]`."""

    base: Expr
    low: Expr
    width: Expr


@dataclass(frozen=True)
class Unary:
    """`op operand`."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """`left op right`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choice:
    """`test ? yes : no`."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Cast:
    """`width'kind(operand)`."""

    kind: str
    width: int
    operand: Expr


@dataclass(frozen=True)
class Call:
    """`function(arguments)`."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Concat:
    """`{ high, ..., low }`."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class LambdaExpr:
    """`lambda(a, b) ( body )`; a bare expression as body is its return value."""

    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Assign:
    """`target = value`; `op` is the binary operator of `+=` and its like, else ""."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True)
class Declare:
    """`declare name : width'kind[count]`; `count` is 0 for a scalar."""

    name: str
    kind: str
    width: int
    count: int


@dataclass(frozen=True)
class If:
    """Tests in order, each with its statements; the test of `else` is None."""

    branches: tuple[tuple[Expr | None, tuple[Statement, ...]], ...]


@dataclass(frozen=True)
class For:
    """`for name in first : last do body endfor`, both ends included."""

    name: str
    first: Expr
    last: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True)
class Return:
    """Ends a lambda with a value."""

    value: Expr


@dataclass(frozen=True)
class Evaluate:
    """An expression for its effect: `nop()`."""

    value: Expr


Expr: TypeAlias = (
    Number
    | Name
    | Member
    | Index
    | Slice
    | PartSelect
    | Unary
    | Binary
    | Choice
    | Cast
    | Call
    | Concat
    | LambdaExpr
)
Statement: TypeAlias = Assign | Declare | If | For | Break | Return | Evaluate
