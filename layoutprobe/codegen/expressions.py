"""A statement that may be changed, and the expressions in it: indices, arguments, sums and products."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from layoutprobe.codegen.declarations import declarations, is_headed, sort_of
from layoutprobe.codegen.scope import BUILTIN, Outer, Scope, idle, scope
from layoutprobe.codegen.statements import Source
from layoutprobe.codegen.tree import BINDING, Node, forest, parse


class Rewrite(Struct, frozen=True):
    """A text in place of another.

    Attributes:
        start, end: what it replaces in the source.
        text: what comes there.
        kind: name of the guess, see `codegen.rewrites.KINDS`.
        rank: how unlikely it is among those that a statement is offered.
    """

    start: int
    end: int
    text: str
    kind: str
    rank: float = 0.0

    def apply(self, text: str) -> str:
        """The source with it."""
        return text[: self.start] + self.text + text[self.end :]


class Known(Struct, frozen=True):
    """A name that a statement may use: its sort, see `Operand`, and how many tokens away its nearest use is."""

    text: str
    sort: str
    far: float


AXES = tuple(f"{name}.{axis}" for name in BUILTIN for axis in "xyz")
_UNUSED = 1000.0
_OWN = 100.0
_ELSEWHERE = 150.0
_HERE = 20.0
"""How far what is never used is, a member of its own, what the function does not use, and what the statement uses for
something else."""


class Spot(Struct, frozen=True, dict=True):
    """A statement that may be wrong.

    Attributes:
        source: the file.
        within: its tokens.
        others: all files of the kernel, for what calls look like elsewhere.
        scalars: integers that the kernel is given, by name; those that are likely to be meant first.
        axes: coordinates of threads and workgroups that are not always 0, and extents that are not always 1.
        outer: what a body of a macro knows where it is used.
        told: numbers of the kernel's launch and of pitches, which the source should know.
        steps: what a reference has and the kernel seems not to have: an operator and a number.
    """

    source: Source
    within: range
    others: Sequence[Source]
    scalars: Sequence[str] = ()
    axes: Collection[str] = AXES
    outer: Outer = ()
    told: Sequence[int] = ()
    steps: Sequence[str] = ()

    def replace(self, first: int, last: int, text: str, kind: str) -> Rewrite:
        """A text in place of tokens first to last - 1."""
        tokens = self.source.tokens
        return Rewrite(tokens[first].start, tokens[last - 1].end, text, kind)

    def behind(self, index: int, text: str, kind: str) -> Rewrite:
        """A text behind a token."""
        end = self.source.tokens[index].end
        return Rewrite(end, end, text, kind)

    def text(self, node: Node) -> str:
        """An expression as it is written."""
        return self.source.slice(node.first, node.last)

    def with_words(self, first: int, last: int, words: Mapping[str, str]) -> str:
        """The text of tokens first to last - 1, with other words for some."""
        tokens = self.source.tokens[first:last]
        text, at = "", tokens[0].start if tokens else 0
        for token in tokens:
            text += self.source.text[at : token.start] + words.get(token.text, token.text)
            at = token.end
        return text

    def start(self, node: Node) -> int:
        """The first token of an expression, which may stand behind a `return`."""
        return node.first + (
            self.source.tokens[node.first].text in ("return", "else") and node.last > node.first + 1
        )

    def operator(self, node: Node, part: int) -> str:
        """What stands before a part of an expression."""
        return self.source.tokens[node.parts[part].first - 1].text if part else ""

    def assignment(self, tree: Node) -> tuple[str, Node, Node] | None:
        """The sign ("=", "+="...), the target and the value; None for what assigns nothing, or to several."""
        if tree.kind != "assignment" or len(tree.parts) != _SIDES:
            return None
        target, value = tree.parts
        return self.operator(tree, 1), target, value

    @cached_property
    def tree(self) -> Node:
        """The statement's expressions."""
        return parse(self.source, self.within)

    @property
    def pieces(self) -> Sequence[Node]:
        """What stands between the commas of the statement, as several names are declared in one."""
        return self.tree.parts if self.tree.kind == "list" else (self.tree,)

    @property
    def body(self) -> str:
        """The text of the function around it."""
        return self.source.slice(self.function.start, self.function.stop)

    @cached_property
    def function(self) -> range:
        """Tokens of the function around it."""
        return function_around(self.source, self.within.start)

    @cached_property
    def scope(self) -> Scope:
        """What the function knows."""
        return scope(self.source, self.function.start, self.function.stop, self.outer)

    @cached_property
    def names(self) -> Mapping[str, Known]:
        """What may be used in the statement, those first that are near; with members of what the function uses."""
        sorts, middle = self.scope.at(self.within.stop - 1), (self.within.start + self.within.stop) / 2
        if self.source.tokens[self.within.start].text != "for":
            before = self.scope.at(self.within.start)
            sorts = {name: sort for name, sort in sorts.items() if name in before or name in self._parameters}
        own = self.scope.own.keys()
        outer = {
            name: _HERE if not sort else _OWN + n for n, (name, sort) in enumerate(self.outer)
        }  # of a macro
        found = {
            name: Known(name, sort, outer.get(name, _OWN if name in own else _UNUSED))
            for name, sort in sorts.items()
        }
        for one in self.scope.operands:
            head = self.source.tokens[one.first].text
            if head in sorts or one.last > one.first + 1:
                far = _HERE if one.first in self.within else abs(one.first - middle)
                known = found.get(one.text)
                if known is None or far < known.far:
                    found[one.text] = Known(one.text, one.sort or (known.sort if known else ""), far)
        for member in self._members(sorts):
            found.setdefault(member.text, member)
        return {one.text: one for one in sorted(found.values(), key=lambda one: one.far)}

    @cached_property
    def unused(self) -> frozenset[str]:
        """Names that are known here and never used; and a member of what is known, where one alone is never used."""
        members = idle(self.source)
        behind = [name for name in self.names if not name.isidentifier() and _last(name) in members]
        return self.scope.unused.union(behind if len(behind) == 1 else ())

    @cached_property
    def unknown(self) -> frozenset[str]:
        """Names that the function declares, of which none is known in the statement."""
        return frozenset(name for name, *_ in self.scope.ranges) - self.scope.at(self.within.stop - 1).keys()

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """Of a constructor, for what its members begin with."""
        tokens, brackets = self.source.tokens, range(self.within.start, self.within.stop - 1)
        if not any(tokens[i].text == ")" and tokens[i + 1].text == ":" for i in brackets):
            return frozenset()
        declared = (i for i, _ in declarations(self.source) if i in self.within)
        return frozenset(tokens[i].text for i in declared if self.source.parent[i] in self.within)

    def _members(self, sorts: Mapping[str, str]) -> Iterator[Known]:
        """Members of structures that are known, and coordinates of threads and workgroups."""
        for name, sort in sorts.items():
            for member, its in self.scope.fields.get(sort, {}).items():
                yield Known(f"{name}.{member}", its, _ELSEWHERE)
        for head, tail in dict.fromkeys(
            tuple(one.text.rsplit("::", 1)) for one in self.scope.operands if "::" in one.text
        ):
            for fields in self.scope.fields.values():
                if tail in fields:
                    yield from (Known(f"{head}::{member}", its, _ELSEWHERE) for member, its in fields.items())
        heads = {one.text.split(".")[0] for one in self.scope.operands}
        for name in heads.intersection(BUILTIN):
            yield from (Known(axis, "integer", _ELSEWHERE) for axis in self.axes if axis.startswith(name))

    def sorts(self, node: Node) -> set[str]:
        """Of the names in an expression whose sort is known: "integer", "real"; elements of arrays have none."""
        if node.kind in BINDING or node.kind == "group":
            return set[str]().union(*(self.sorts(part) for part in node.parts))
        casts = [part for part in node.parts if part.kind == "cast"]
        if casts or any(part.kind == "call" for part in node.parts):
            return {sort_of(self.source, casts[0].first + 1, casts[0].last - 1)} if casts else set()
        found = {one.sort for one in self.scope.operands if node.first <= one.first < node.last}
        return found if not node.parts else set()

    @cached_property
    def heads(self) -> frozenset[str]:
        """Names that are known, without members."""
        return frozenset(re.split(r"\.|->|::", name)[0] for name in self.names)

    @cached_property
    def elsewhere(self) -> Sequence[Node]:
        """Statements of the file, as many as are read."""
        return forest(self.source, 0, len(self.source.tokens))

    @cached_property
    def statements(self) -> Sequence[Node]:
        """All statements of the function."""
        return forest(self.source, self.function.start, self.function.stop)


_SIDES = 2


def _last(name: str) -> str:
    return re.split(r"\.|->|::", name)[-1]


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
    block, found = source.block_around(index), None
    while block is not None:
        found = block if is_headed(source, block[0]) or found is None else found
        block = source.block_around(block[0])
    if found is None:
        return range(len(source.tokens))
    return range(source.around(found[0] - 1).start if found[0] else 0, found[1])


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
