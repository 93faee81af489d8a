"""Recursive descent from tokens to the syntax tree."""

from __future__ import annotations

from .errors import PcodeSyntax
from .lexer import Token, parse_number, tokenize
from .syntax import (
    Assign,
    Binary,
    Break,
    Call,
    Cast,
    Choice,
    Concat,
    Declare,
    Evaluate,
    Expr,
    For,
    If,
    Index,
    LambdaExpr,
    Member,
    Name,
    Number,
    PartSelect,
    Return,
    Slice,
    Statement,
    Unary,
)

# Loosest first, as in C; `<>` is "less or greater". `**` binds tighter than all of these.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_BLOCK_ENDS = {"else", "elsif", "endif", "endfor", ")"}
_STATEMENT_HEADS = {"if", "for", "declare", "return"}


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of one operation's pseudocode.

    Raises:
        PcodeSyntax: where the text leaves the language.
    """
    parser = _Parser(tokenize(text))
    body = parser.block()
    parser.expect_end()
    return body


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)].text

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._peek() == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            found = " ".join(t.text for t in self._tokens[self._at : self._at + 6])
            raise PcodeSyntax(f"expected {text!r} before {found!r}")

    def _identifier(self) -> str:
        token = self._next()
        if token.kind != "name":
            raise PcodeSyntax(f"expected a name, found {token.text!r}")
        return token.text

    def expect_end(self) -> None:
        if self._tokens[self._at].kind != "end":
            raise PcodeSyntax(f"statement expected, found {self._peek()!r}")

    # Statements

    def block(self) -> tuple[Statement, ...]:
        body: list[Statement] = []
        while self._tokens[self._at].kind != "end" and self._peek() not in _BLOCK_ENDS:
            if not self._accept(";"):
                body.append(self._statement())
        return tuple(body)

    def _statement(self) -> Statement:
        if self._accept("if"):
            return self._if()
        if self._accept("for"):
            return self._for()
        if self._accept("declare"):
            return self._declare()
        if self._accept("return"):
            return Return(self.expression())
        if self._accept("break"):
            return Break()
        target = self._postfix()
        if self._accept("="):
            return Assign(target, "", self.expression())
        if self._peek() in ("+=", "-=", "|="):
            return Assign(target, self._next().text[0], self.expression())
        if isinstance(target, Call):
            return Evaluate(target)
        raise PcodeSyntax(f"neither an assignment nor a call before {self._peek()!r}")

    def _if(self) -> If:
        branches: list[tuple[Expr | None, tuple[Statement, ...]]] = []
        test = self.expression()
        self._expect("then")
        branches.append((test, self.block()))
        while self._accept("elsif"):
            test = self.expression()
            self._expect("then")
            branches.append((test, self.block()))
        if self._accept("else"):
            branches.append((None, self.block()))
        self._expect("endif")
        return If(tuple(branches))

    def _for(self) -> For:
        name = self._identifier()
        self._expect("in")
        first = self._binary(0)
        self._expect(":")
        last = self.expression()
        self._expect("do")
        body = self.block()
        self._expect("endfor")
        return For(name, first, last, body)

    def _declare(self) -> Declare:
        name = self._identifier()
        self._expect(":")
        token = self._next()
        if token.kind != "cast":
            raise PcodeSyntax(f"type expected in the declaration of {name}")
        width, kind = token.text.split("'")
        count = 0
        if self._accept("["):
            count = int(self._next().text)
            self._expect("]")
        return Declare(name, kind, int(width), count)

    # Expressions

    def expression(self) -> Expr:
        if self._peek() == "lambda":
            return self._lambda()
        test = self._binary(0)
        if not self._accept("?"):
            return test
        yes = self.expression()
        self._expect(":")
        return Choice(test, yes, self.expression())

    def _lambda(self) -> LambdaExpr:
        self._expect("lambda")
        self._expect("(")
        parameters = [self._identifier()]
        while self._accept(","):
            parameters.append(self._identifier())
        self._expect(")")
        self._expect("(")
        body = self.block() if self._peek() in _STATEMENT_HEADS else (Return(self.expression()),)
        self._expect(")")
        return LambdaExpr(tuple(parameters), body)

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            op = self._next().text
            left = Binary(op, left, self._binary(level + 1))
        return left

    def _unary(self) -> Expr:
        if self._peek() in ("-", "+", "~", "!"):
            return Unary(self._next().text, self._unary())
        base = self._postfix()
        if self._accept("**"):
            return Binary("**", base, self._unary())
        return base

    def _postfix(self) -> Expr:
        node = self._primary()
        while True:
            if self._accept("."):
                node = Member(node, self._identifier())
            elif self._accept("["):
                node = self._subscript(node)
            else:
                return node

    def _subscript(self, base: Expr) -> Expr:
        first = self.expression()
        if self._accept("]"):
            return Index(base, first)
        if self._accept("+:"):
            node: Expr = PartSelect(base, first, self.expression())
        else:
            self._expect(":")
            node = Slice(base, first, self.expression())
        self._expect("]")
        return node

    def _primary(self) -> Expr:
        token = self._next()
        if token.kind == "number":
            return Number(parse_number(token.text))
        if token.kind == "cast":
            width, kind = token.text.split("'")
            self._expect("(")
            operand = self.expression()
            self._expect(")")
            return Cast(kind, int(width), operand)
        if token.kind == "name":
            if self._accept("("):
                return Call(token.text, self._list(")"))
            return Name(token.text)
        if token.text == "(":
            inner = self.expression()
            self._expect(")")
            return inner
        if token.text == "{":
            return Concat(self._list("}"))
        raise PcodeSyntax(f"expression expected, found {token.text!r}")

    def _list(self, end: str) -> tuple[Expr, ...]:
        if self._accept(end):
            return ()
        items = [self.expression()]
        while self._accept(","):
            items.append(self.expression())
        self._expect(end)
        return tuple(items)
