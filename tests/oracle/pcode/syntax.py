"""The syntax tree of the pseudocode."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from .lexer import Literal


class Number(Struct, frozen=True):
    """A numeric literal."""

    literal: Literal


class Name(Struct, frozen=True):
    """A register, an input, a constant, a variable or a function."""

    text: str


class Member(Struct, frozen=True):
    """`base.field`: a typed view (`S0.f32`), or a bit of a status register (`WAVE_MODE.IEEE`)."""

    base: Expr
    field: str


class Index(Struct, frozen=True):
    """`base[at]`: an array element, or one bit."""

    base: Expr
    at: Expr


class Slice(Struct, frozen=True):
    """`base[high : low]`, which reverses the bits if high < low."""

    base: Expr
    high: Expr
    low: Expr


class PartSelect(Struct, frozen=True):
    """`base[low +: width]`."""

    base: Expr
    low: Expr
    width: Expr


class Unary(Struct, frozen=True):
    """`op operand`."""

    op: str
    operand: Expr


class Binary(Struct, frozen=True):
    """`left op right`."""

    op: str
    left: Expr
    right: Expr


class Choice(Struct, frozen=True):
    """`test ? yes : no`."""

    test: Expr
    yes: Expr
    no: Expr


class Cast(Struct, frozen=True):
    """`width'kind(operand)`."""

    kind: str
    width: int
    operand: Expr


class Call(Struct, frozen=True):
    """`function(arguments)`."""

    function: str
    arguments: tuple[Expr, ...]


class Concat(Struct, frozen=True):
    """`{ high, ..., low }`."""

    parts: tuple[Expr, ...]


class LambdaExpr(Struct, frozen=True):
    """`lambda(a, b) ( body )`; a bare expression as body is its return value."""

    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


class Assign(Struct, frozen=True):
    """`target = value`; `op` is the binary operator of `+=` and its like, else ""."""

    target: Expr
    op: str
    value: Expr


class Declare(Struct, frozen=True):
    """`declare name : width'kind[count]`; `count` is 0 for a scalar."""

    name: str
    kind: str
    width: int
    count: int


class If(Struct, frozen=True):
    """Tests in order, each with its statements; the test of `else` is None."""

    branches: tuple[tuple[Expr | None, tuple[Statement, ...]], ...]


class For(Struct, frozen=True):
    """`for name in first : last do body endfor`, both ends included."""

    name: str
    first: Expr
    last: Expr
    body: tuple[Statement, ...]


class Break(Struct, frozen=True):
    """Leaves the innermost loop."""


class Return(Struct, frozen=True):
    """Ends a lambda with a value."""

    value: Expr


class Evaluate(Struct, frozen=True):
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
