"""A statement that may be changed, what it may use, and a text in place of another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from layoutprobe.source.declarations import declarations, declared_in, sort_of
from layoutprobe.source.expressions import function_around
from layoutprobe.source.reach import foreign
from layoutprobe.source.scope import BUILTIN, Outer, Scope, idle, idle_constants, scope
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import BINDING, Node, forest, parse


class Rewrite(Struct, frozen=True):
    """A text in place of another.

    Attributes:
        start, end: what it replaces in the source.
        text: what comes there.
        kind: name of the guess, see `registry.KINDS`.
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


def all_of(text: str, group: Iterable[Rewrite]) -> Rewrite:
    """Several changes of a text, as one."""
    ordered = sorted(group, key=lambda one: one.start)
    start, end = ordered[0].start, ordered[-1].end
    new, at = "", start
    for one in ordered:
        new, at = new + text[at : one.start] + one.text, one.end
    return Rewrite(start, end, new, ordered[0].kind, min(one.rank for one in ordered) + _AT_ONCE)


_AT_ONCE = 0.5
"""How much unlikelier a change at several places is."""


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
        said: the finding's sentence.
    """

    source: Source
    within: range
    others: Sequence[Source]
    scalars: Sequence[str] = ()
    axes: Collection[str] = AXES
    outer: Outer = ()
    told: Sequence[int] = ()
    steps: Sequence[str] = ()
    said: str = ""

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
        """The first token of an expression, which may stand behind a `return`, or a test without braces."""
        source, first = self.source, node.first
        while first + 1 < node.last:
            closes = source.partner.get(first + 1, node.last) if source.word(first) in _TESTS else node.last
            if source.word(first) in ("return", "else"):
                first += 1
            elif closes + 1 < node.last:
                first = closes + 1
            else:
                break
        return first

    def operator(self, node: Node, part: int) -> str:
        """What stands before a part of an expression."""
        return self.source.tokens[node.parts[part].first - 1].text if part else ""

    def assignment(self, tree: Node) -> tuple[str, Node, Node] | None:
        """The sign ("=", "+="...), the target and the value; None for what assigns nothing, or to several."""
        if tree.kind != "assignment" or len(tree.parts) != _SIDES:
            return None
        target, value = tree.parts
        return self.operator(tree, 1), target, value

    @property
    def given(self) -> Iterator[tuple[str, Node]]:
        """Each name of the function that `=` gives a value, and the value, in their order."""
        for tree in self.statements:
            for piece in tree.parts if tree.kind == "list" else (tree,):
                assigned = self.assignment(piece)
                if assigned is not None and assigned[0] == "=" and assigned[1].last:
                    yield self.source.tokens[assigned[1].last - 1].text, assigned[2]

    @cached_property
    def tree(self) -> Node:
        """The statement's expressions."""
        return parse(self.source, self.within)

    @property
    def pieces(self) -> Sequence[Node]:
        """What stands between the commas of the statement, as several names are declared in one."""
        return self.tree.parts if self.tree.kind == "list" else (self.tree,)

    @property
    def beside(self) -> Iterator[range]:
        """The statement before, and that behind."""
        for at in (self.within.start - 2, self.within.stop + 1):
            other = self.source.around(at) if 0 <= at < len(self.source.tokens) else range(0)
            if other and other.start != self.within.start:
                yield other

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
            usable = {*self.scope.at(self.within.start), *self._parameters, *self._declared_beside}
            sorts = {name: sort for name, sort in sorts.items() if name in usable}
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
        """Names that are known here and never used; a member of what is known, and a constant of the file, where one
        alone is never used."""
        members, constants = idle(self.source), idle_constants(self.source)
        behind = [name for name in self.names if not name.isidentifier() and _last(name) in members]
        alone = [name for names in (behind, constants) if len(names) == 1 for name in names]
        return self.scope.unused.union(alone)

    @cached_property
    def unknown(self) -> frozenset[str]:
        """Names of the file that are not known in the statement: of other blocks, templates and structures."""
        known = self.scope.at(self.within.stop - 1).keys()
        declared = (name for name, *_ in self.scope.ranges)
        return foreign(self.source, self.function).union(declared) - known

    @property
    def _declared_beside(self) -> set[str]:
        """What a statement declares that declares several: each may be made of those before it."""
        own = {self.source.tokens[i].text for i in self.within if i in declared_in(self.source)}
        return own if len(own) > 1 else set()

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
        for name in (one for one in BUILTIN if one in heads):  # in one order, whatever the hash of a text is
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
_TESTS = ("if", "while")


def _last(name: str) -> str:
    return re.split(r"\.|->|::", name)[-1]
