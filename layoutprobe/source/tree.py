"""A statement as a tree of expressions: what is a sum of what, which brackets stand where.

No grammar of C++: what is not known is a leaf, and a guess that is wrong costs a change that does not compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from layoutprobe.source.statements import Source

ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^=", "|=", "&=", "<<=", ">>="))
_LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("statements", frozenset((";",))),
    ("list", frozenset((",",))),
    ("assignment", ASSIGNMENTS),
    ("choice", frozenset(("?", ":"))),
    ("any", frozenset(("||",))),
    ("all", frozenset(("&&",))),
    ("or", frozenset(("|",))),
    ("xor", frozenset(("^",))),
    ("and", frozenset(("&",))),
    ("equality", frozenset(("==", "!="))),
    ("comparison", frozenset(("<", "<=", ">", ">="))),
    ("shift", frozenset(("<<", ">>"))),
    ("sum", frozenset(("+", "-"))),
    ("product", frozenset(("*", "/", "%"))),
)
"""Name and operators, those first that bind least."""
_LEVEL_OF = {text: level for level, (_, texts) in enumerate(_LEVELS) for text in texts}
BINDING = {name: level for level, (name, _) in enumerate(_LEVELS)}
"""Of the nodes that have operators; what is not here binds most."""
JOINED = ("sum", "product", "shift", "and", "xor", "or")
"""Kinds of nodes that make a number of numbers."""
COMBINED = (*JOINED, "all", "any")
"""The same, and conditions that are joined."""
_BEFORE_UNARY = frozenset(("return", "case", "else", "throw"))
_BRACKETS = {"[": "index", "{": "braces"}
TYPES = frozenset(
    [
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "unsigned",
        "signed",
        "float",
        "double",
        "half",
        "size_t",
        "ptrdiff_t",
        "uint",
        "auto",
        "const",
        "volatile",
        "__half",
        "__half2",
        "half2",
        "_Float16",
        "__bf16",
        "bf16",
        "f16",
        "__hip_bfloat16",
        "hip_bfloat16",
        "__nv_bfloat16",
        "float2",
        "float4",
        "int2",
        "int4",
        "uint2",
        "uint4",
        "uchar",
        "ushort",
    ]
)
_MOST_TOKENS = 600
_DEEPEST = 24
"""Of a statement's tokens and brackets: beyond that it is a leaf."""
_MOST_STATEMENTS = 400
"""Of a function that are read for what is done elsewhere."""


class Node(Struct, frozen=True):
    """An expression.

    Attributes:
        kind: "sum", "product", "all"... where operators join its parts; "group", "call", "index", "cast", "braces"
            for a bracket, whose parts stand between commas; "leaf" for what has no operator, whose parts are its
            brackets.
        first, last: its tokens, the last one excluded.
        parts: what it is made of.
    """

    kind: str
    first: int
    last: int
    parts: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node, and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@lru_cache(maxsize=32)
def forest(source: Source, start: int, stop: int) -> tuple[Node, ...]:
    """The statements of a function."""
    found, i = list[Node](), start
    while i < stop and len(found) < _MOST_STATEMENTS:
        within = source.around(i)
        found.append(parse(source, within))
        i = max(within.stop, i) + 1
    return tuple(found)


def parse(source: Source, within: range) -> Node:
    """The tree of a statement, or of a part of one."""
    if not 0 < len(within) <= _MOST_TOKENS:
        return Node("leaf", within.start, within.stop)
    return _expression(source, within.start, within.stop, 0)


def _expression(source: Source, first: int, last: int, deep: int) -> Node:
    operators = list(_operators(source, first, last)) if deep < _DEEPEST else []
    if not operators:
        brackets = () if deep >= _DEEPEST else tuple(_brackets(source, first, last, deep))
        whole = len(brackets) == 1 and (brackets[0].first, brackets[0].last) == (first, last)
        return brackets[0] if whole else Node("leaf", first, last, brackets)
    level = min(level for _, level in operators)
    cuts = [first - 1, *(i for i, found in operators if found == level), last]
    ranges = [(a + 1, b) for a, b in pairwise(cuts)]
    if level > BINDING["list"] and any(a == b for a, b in ranges):
        return Node("leaf", first, last)
    parts = tuple(_expression(source, a, b, deep + 1) for a, b in ranges if a < b)
    return Node(_LEVELS[level][0], first, last, parts)


def _operators(source: Source, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Operators between two operands outside of brackets, with their level."""
    i = first
    while i < last:
        text = source.tokens[i].text
        end = template_end(source, i) if text == "<" else None
        if end is not None and end < last:
            i = end + 1
            continue
        if text in _LEVEL_OF and (text not in ("+", "-", "*", "&") or _ends_operand(source, first, i - 1)):
            yield i, _LEVEL_OF[text]
        i = source.partner.get(i, i) + 1 if text in ("(", "[", "{") else i + 1


def _ends_operand(source: Source, first: int, i: int) -> bool:
    """Whether an operand ends with a token, so that what follows joins it with another one."""
    if i < first:
        return False
    token = source.tokens[i]
    if token.text == ")":
        return not is_cast(source, source.partner.get(i, i))
    if token.kind == "sign":
        return token.text in ("]", "}", "++", "--")
    return token.text not in _BEFORE_UNARY


def template_end(source: Source, i: int) -> int | None:
    """Where arguments of a template end that begin with this "<"; None for a comparison."""
    tokens = source.tokens
    if not i or tokens[i - 1].kind != "name":
        return None
    for j in range(i + 1, min(i + 24, len(tokens) - 1)):
        if tokens[j].text == ">":
            return j if tokens[j + 1].kind == "name" or tokens[j + 1].text in "(){::,&*" else None
        if tokens[j].kind == "sign" and tokens[j].text not in (",", "::", "*", "+", "-", "/", "%"):
            return None
    return None


def bare(node: Node) -> Node:
    """An expression without brackets around it."""
    while node.kind in ("leaf", "group") and len(node.parts) == 1:
        node = node.parts[0]
    return node


def is_cast(source: Source, opened: int) -> bool:
    """Whether a bracket holds a type, for what stands behind it."""
    close = source.partner.get(opened)
    if close is None or close + 1 >= len(source.tokens) or source.tokens[opened].text != "(":
        return False
    if (
        opened
        and source.tokens[opened - 1].kind == "name"
        and source.tokens[opened - 1].text not in _BEFORE_UNARY
    ):
        return False
    inside = source.tokens[opened + 1 : close]
    follows = source.tokens[close + 1]
    operand = follows.kind != "sign" or follows.text in ("(", "{", "*", "&", "-", "!", "~")
    if not inside or not operand or not all(one.kind == "name" or one.text in ("*", "::") for one in inside):
        return False
    known = inside[-1].text == "*" or any(one.text in TYPES or one.text.endswith("_t") for one in inside)
    return known or follows.kind != "sign" or (follows.text in ("(", "{") and len(inside) == 1)


def _brackets(source: Source, first: int, last: int, deep: int) -> Iterator[Node]:
    i = first
    while i < last:
        close = source.partner.get(i, i)
        if source.tokens[i].text in ("(", "[", "{") and i < close < last:
            kind = _kind_of_bracket(source, i, first)
            empty = close == i + 1 or kind == "cast"
            inner = () if empty else (_expression(source, i + 1, close, deep + 1),)
            yield Node(kind, i, close + 1, inner[0].parts if inner and inner[0].kind == "list" else inner)
        i = max(close, i) + 1 if source.tokens[i].text in ("(", "[", "{") else i + 1


def _kind_of_bracket(source: Source, i: int, first: int) -> str:
    if source.tokens[i].text != "(":
        return _BRACKETS[source.tokens[i].text]
    if is_cast(source, i):
        return "cast"
    before = source.tokens[i - 1] if i > first else None
    called = (
        before is not None
        and (before.kind == "name" or before.text in (">", "]"))
        and before.text != "return"
    )
    return "call" if called else "group"
