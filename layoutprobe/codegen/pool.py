"""What a file does elsewhere, done here too: a term or factor, a test, a call around a value; and brackets elsewhere.

What was forgotten stands somewhere else in most files: people write the same few terms again and again. Nothing is
asked of what a statement is about, so these are many, and come behind what something speaks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.codegen.declarations import declared_in
from layoutprobe.codegen.expressions import Rewrite, Spot, callee, function_around
from layoutprobe.codegen.scope import BUILTIN
from layoutprobe.codegen.statements import Source, free_words, words
from layoutprobe.codegen.tree import BINDING, TYPES, Node, forest

_OPERATORS = ("sum", "product", "shift", "and", "xor", "or")
_COMMUTE = frozenset(("+", "*", "&", "^", "|"))
_SHORT, _TEXTS, _PLACES = 9, 16, 24
"""Tokens of what is joined to something; how many such are tried, and at how many places of a statement."""
_USUAL = (("+", "1"), ("-", "1"), ("*", "2"), ("/", "2"))
"""What is forgotten without standing anywhere else."""


_OF_LANES = (
    (">>", "5"),
    (">>", "6"),
    (">>", "4"),
    ("/", "32"),
    ("%", "32"),
    ("&", "31"),
    ("&", "63"),
    ("/", "64"),
)


class _Joined(Struct, frozen=True):
    """What an operator joins to something: `* K`, `>> 5`.

    Attributes:
        sign, text: the operator and its operand.
        names: words of the operand.
        function: where the function begins in which it stands.
    """

    sign: str
    text: str
    names: frozenset[str]
    function: int


def joined(spot: Spot) -> Iterator[Rewrite]:
    """An operator with its operand, as they stand elsewhere in the file, behind a part of the statement."""
    texts = _likely(spot)
    places = sorted(_places(spot), key=lambda place: spot.sorts(place[0]) != {"integer"})[:_PLACES]
    found = [
        (0.08 * nth + 0.02 * at + (0.5 if not _fits(spot, node, text) else 0.0), new)
        for nth, (sign, text) in enumerate(texts)
        for at, (node, parent) in enumerate(places)
        if (new := _behind(spot, node, parent, sign, text)) is not None
    ]
    yield from (replace(new, rank=rank) for rank, new in sorted(found, key=lambda one: one[0]))


def _likely(spot: Spot) -> list[tuple[str, str]]:
    """What is joined elsewhere and known here, the likeliest first: what stands in this function, often, with names
    that the statement lacks."""
    own = {spot.source.tokens[i].text for i in spot.within}
    text = spot.source.slice(spot.within.start, spot.within.stop)
    often = Counter[tuple[str, str]]()
    for one in _everywhere(spot.source):
        if _known(spot, one.names):
            weight = _HERE if one.function == spot.function.start else 2
            often[one.sign, one.text] += weight // (1 + (one.text in text) + (not one.names))
    numbers = [one.text for one in spot.names.values() if one.sort in _NUMBERS]
    free = [name for name in numbers if name in spot.unused]
    unused = [
        (sign, one) for one in free for sign in ("*+/%" if spot.names[one].sort == "integer" else "*+/")
    ]
    threads = _OF_LANES if re.search(r"lane|tid|thread", text, re.IGNORECASE) else ()
    usual = [pair for pair in (*_USUAL, *threads) if pair not in often]
    handed = _parameters(spot.source, spot.function)
    near = sorted((name for name in numbers if name not in own), key=lambda name: name not in handed)
    others = [(sign, name) for name in near[:_OTHERS] for sign in "+*"]
    told = [pair for pair, _ in often.most_common(_TEXTS)]
    both = [pair for two in zip_longest(told, others) for pair in two if pair is not None]
    return list(dict.fromkeys((*unused[:_UNUSED], *both, *usual)))


_NUMBERS = ("integer", "real")
_HERE, _UNUSED, _OTHERS = 8, 4, 6
"""How much more what stands in the same function counts; what is used nowhere is likely."""


def _known(spot: Spot, names: frozenset[str]) -> bool:
    """Whether all words may be used in a statement: what is declared in another function may not."""
    return all(
        name in spot.heads or name in BUILTIN or name in TYPES or name not in _local(spot.source)
        for name in names
    )


@lru_cache(maxsize=32)
def _local(source: Source) -> frozenset[str]:
    """Names that are declared somewhere in a file."""
    return frozenset(source.tokens[i].text for i in declared_in(source))


@lru_cache(maxsize=32)
def _everywhere(source: Source) -> list[_Joined]:
    """All operators with operands in a file."""
    found = list[_Joined]()
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            if node.kind in _OPERATORS:
                found += _of_node(source, node)
    return found


def _of_node(source: Source, node: Node) -> Iterator[_Joined]:
    function = _start(source, node.first)
    for nth, part in enumerate(node.parts):
        sign = source.tokens[(node.parts[1] if not nth else part).first - 1].text
        short = part.last - part.first <= _SHORT and _is_value(source, part)
        if short and (nth or sign in _COMMUTE):
            first = part.first + (source.tokens[part.first].text == "return")
            text = source.slice(first, part.last)
            yield _Joined(sign, text, frozenset(free_words(text)), function)


@lru_cache(maxsize=4096)
def _start(source: Source, index: int) -> int:
    return function_around(source, index).start


def _places(spot: Spot) -> Iterator[tuple[Node, str]]:
    """Expressions of a statement that may lack something, with the kind of what they are part of: values, terms,
    arguments and indices, sides of comparisons, factors."""
    declared = declared_in(spot.source)
    if spot.source.tokens[spot.within.start].text == "return" and _is_value(spot.source, spot.tree):
        yield spot.tree, ""
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts):
            values = node.kind in ("call", "index", "comparison", "equality", "choice", "braces", "group")
            values |= node.kind == "assignment" and nth > 0
            if part.kind in ("call", "index", "cast", "braces", "list", "statements", "choice"):
                continue
            extent = node.kind == "index" and node.first - 1 in declared
            if extent or part.last <= part.first or not declared.isdisjoint((part.first, part.last - 1)):
                continue
            if not _is_value(spot.source, part):
                continue
            if values or node.kind in _OPERATORS:
                yield part, node.kind if node.kind in _OPERATORS else ""


def _is_value(source: Source, node: Node) -> bool:
    """Whether an expression begins with no type, and holds no statement."""
    first = source.tokens[node.first : node.last]
    words_of = [token.text for token in first[:2] if token.text != "return"]
    begins = bool(words_of) and words_of[0] not in TYPES
    return begins and not any(source.is_block(i) for i in range(node.first, node.last))


def _fits(spot: Spot, node: Node, text: str) -> bool:
    """Whether what is joined has the sort of what it is joined to, as far as names tell."""
    own = spot.sorts(node) - {""}
    theirs = {spot.names[name].sort for name in words(text) if name in spot.names} - {""}
    return not own or not theirs or bool(own & theirs)


def _behind(spot: Spot, node: Node, parent: str, sign: str, text: str) -> Rewrite | None:
    """An expression with an operator and an operand behind it, in brackets where they are needed."""
    level = _LEVELS[sign]
    own = BINDING.get(node.kind, _TIGHT)
    around = BINDING.get(parent, -1)
    beside = bool(parent) and around == level and sign not in ("/", "%", "-")
    if beside and node.kind not in ("leaf", "group"):
        return None
    first = spot.start(node)
    inner = spot.source.slice(first, node.last)
    if not inner or inner == text:
        return None
    new = f"({inner}) {sign} {text}" if own < level else f"{inner} {sign} {text}"
    if around > level:
        new = f"({new})"
    return spot.replace(first, node.last, new, "joined")


_LEVELS = {
    "+": BINDING["sum"], "-": BINDING["sum"], "*": BINDING["product"], "/": BINDING["product"],
    "%": BINDING["product"], "<<": BINDING["shift"], ">>": BINDING["shift"], "&": BINDING["and"],
    "^": BINDING["xor"], "|": BINDING["or"],
}  # fmt: skip
_TIGHT = len(BINDING)


def asked(spot: Spot) -> Iterator[Rewrite]:
    """One test more in a condition: as one stands elsewhere in the file, or of a name here and a bound of others."""
    own = {spot.text(node) for node in spot.tree.walk()}
    texts = [text for text in _tests(spot) if text not in own][:_MOST_TESTS]
    for nth, text in enumerate(texts):
        for node, sign in _conditions(spot):
            test = text if sign == "&&" else _negated(text)
            rank = 0.06 * nth
            behind = f" {sign} {test}"
            if node.kind == "any" and sign == "&&":
                whole = f"({spot.text(node)}){behind}"
                yield replace(spot.replace(node.first, node.last, whole, "asked"), rank=rank)
            else:
                yield replace(spot.behind(node.last - 1, behind, "asked"), rank=rank)


_MOST_TESTS = 30
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _negated(text: str) -> str:
    """`i >= n` for `i < n`."""
    for sign, other in _OPPOSITE.items():
        if f" {sign} " in text:
            return text.replace(f" {sign} ", f" {other} ", 1)
    return f"!({text})"


def _conditions(spot: Spot) -> Iterator[tuple[Node, str]]:
    """Conditions of a statement, with the sign that a further test gets there."""
    tokens = spot.source.tokens
    leaves = tokens[spot.within.stop - 1].text in ("return", "continue", "break") or any(
        tokens[i].text in ("return", "continue") for i in spot.within
    )
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts):
            head = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else part
            tests = head.kind in ("comparison", "equality", "all", "any")
            if node.kind == "call" and tokens[node.first - 1].text == "for":
                continue
            if tests and node.kind not in ("all", "any", "comparison", "equality"):
                early = leaves and node.kind == "call" and tokens[node.first - 1].text == "if"
                yield head, "||" if early else "&&"
            elif node.kind == "choice" and not nth and head.kind == "leaf":
                yield head, "&&"
    if tokens[spot.within.start].text == "return" and spot.tree.kind in ("comparison", "all"):
        yield spot.tree, "&&"


def _tests(spot: Spot) -> list[str]:
    """Tests that are known here, the likeliest first: as others are, or of an index and a bound that others have."""
    own = {text for node in spot.tree.walk() if node.kind in _COMPARED for text in words(spot.text(node))}
    often, bounds = Counter[str](), Counter[str]()
    for one in _compared(spot.source):
        if not _known(spot, one.names):
            continue
        weight = _HERE if one.function == spot.function.start else 1
        often[f"{one.left} {one.sign} {one.right}"] += weight
        if one.sign in ("<", ">="):
            bounds[one.right] += weight
    told = [text for text, _ in often.most_common()]
    made = _bounded(spot, own, bounds)
    new = [text for text in told if not set(words(text)) <= own]
    rest = [text for text in told if set(words(text)) <= own]
    both = [text for pair in zip_longest(new, made) for text in pair if text is not None]
    return list(dict.fromkeys((*both, *rest)))


def _bounded(spot: Spot, own: set[str], bounds: Counter[str]) -> list[str]:
    """`index < bound` of integers that are near, and of what bounds others, or is handed over and may be a bound."""
    integers = [one.text for one in spot.names.values() if one.sort == "integer"]
    limits = _limits(spot, integers, bounds)
    guarded = range(spot.within.start, min(spot.within.stop + _GUARDED, spot.function.stop))
    text = spot.source.slice(guarded.start, guarded.stop)
    here = set(words(text))
    names = [one for one in integers if one not in bounds and not one.isupper()]
    near = sorted(names, key=lambda name: name not in here)[:_INDICES]
    sums = [one for one in dict.fromkeys(_SUM.findall(text)) if free_words(one) <= spot.heads]

    def late(pair: tuple[str, str]) -> float:
        index, bound = pair
        last, used = (words(bound)[-1:] or [bound])[0], set(words(index))
        alike = min(len(last), len(index)) <= _LETTERS and last.lower()[0] == index.lower()[0]
        known = len(used & own) / len(used) + (last in own)
        told = alike + (used <= here) + (bound in spot.unused)
        return known - told + bound.isdecimal() + limits.index(bound) / 8

    pairs = [(index, bound) for index in (*sums[:_INDICES], *near) for bound in limits if index != bound]
    found = [f"{index} < {bound}" for index, bound in sorted(pairs, key=late)]
    return [*found, *(f"{name} >= 0" for name in near[:_LOWEST])]


def _limits(spot: Spot, integers: Sequence[str], bounds: Counter[str]) -> list[str]:
    """What bounds indices: what is compared with, parameters, and members beside such."""
    known = [text for text, _ in bounds.most_common(_BOUNDS)]
    heads = {text.rpartition(".")[0] for text in known if "." in text}
    beside = [name for name in integers if "." in name and name.rpartition(".")[0] in heads]
    handed = [name for name in integers if name in _parameters(spot.source, spot.function)]
    return list(dict.fromkeys((*known, *beside, *handed)))[: 2 * _BOUNDS]


@lru_cache(maxsize=32)
def _parameters(source: Source, function: range) -> frozenset[str]:
    """Names that stand in brackets where they are declared: parameters."""
    tokens = source.tokens
    inside = (
        i
        for i in declared_in(source)
        if i in function and source.parent[i] >= 0 and tokens[source.parent[i]].text == "("
    )
    return frozenset(tokens[i].text for i in inside if tokens[i + 1].text in (",", ")"))


_SUM = re.compile(r"(?<![\w.*/%] )\b([A-Za-z_][\w.]* \+ [A-Za-z_]\w*)\b(?! *[*/%.(\[])")
_GUARDED = 40
"""Words behind a test that are likely to be under it."""
_INDICES, _BOUNDS, _LETTERS, _LOWEST = 10, 6, 2, 3
_COMPARED = ("comparison", "equality")


class _Compared(Struct, frozen=True):
    """A comparison: its sides, the words in it, and where the function begins that has it."""

    left: str
    sign: str
    right: str
    names: frozenset[str]
    function: int


@lru_cache(maxsize=32)
def _compared(source: Source) -> list[_Compared]:
    """All comparisons of a file."""
    found = list[_Compared]()
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            if node.kind in _COMPARED and len(node.parts) == 2 and node.last - node.first <= _SHORT:
                one, other = node.parts
                first = one.first + (source.tokens[one.first].text == "return")
                sides = source.slice(first, one.last), source.slice(other.first, other.last)
                names = frozenset(free_words(" ".join(sides)))
                sign = source.tokens[other.first - 1].text
                found.append(_Compared(sides[0], sign, sides[1], names, _start(source, node.first)))
    return found


def wrapped(spot: Spot) -> Iterator[Rewrite]:
    """A value in a call, or as an index of an array, as others are elsewhere in the file: `min(end, n)` for `end`."""
    forms = [one for one in _forms(spot.source) if _known(spot, one[2])]
    often = Counter((head, tail) for head, tail, _ in forms)
    texts = [pair for pair, _ in often.most_common(_FORMS)]
    for nth, (head, tail) in enumerate(texts):
        for at, (node, _) in enumerate(list(_places(spot))[:_PLACES]):
            first = spot.start(node)
            inner = spot.source.slice(first, node.last)
            if node.kind != "group" and not inner.startswith(head):
                new = spot.replace(first, node.last, f"{head}{inner}{tail}", "wrapped")
                yield replace(new, rank=0.1 * nth + 0.02 * at)


_FORMS = 10


@lru_cache(maxsize=32)
def _forms(source: Source) -> list[tuple[str, str, frozenset[str]]]:
    """What stands before and behind each argument of a call and each index, and the words in both."""
    found = list[tuple[str, str, frozenset[str]]]()
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            first = callee(source, node.first) if node.kind in ("call", "index") and node.first else None
            if (
                first is None
                or node.last - first > _LONG
                or not node.parts
                or node.parts[0].first in declared_in(source)
            ):
                continue
            for part in node.parts:
                head, tail = source.slice(first, part.first), source.slice(part.last, node.last)
                head += source.text[source.tokens[part.first - 1].end : source.tokens[part.first].start]
                found.append((head, tail, frozenset(free_words(head + " " + tail))))
    return found


_LONG = 20
_OF_TYPES = frozenset(("__attribute__", "ext_vector_type", "__launch_bounds__", "alignas", "__align__"))


def transposed(spot: Spot) -> Iterator[Rewrite]:
    """`k * n + i` for `i * w + k`: the other of the two is counted in rows of another length."""
    handed = _parameters(spot.source, spot.function)
    sizes = [name for name, one in spot.names.items() if one.sort == "integer" and name in handed]
    for node in spot.tree.walk():
        plain = node.kind == "sum" and len(node.parts) == 2 and spot.operator(node, 1) == "+"
        for line, rest in (node.parts, node.parts[::-1]) if plain else ():
            if line.kind != "product" or len(line.parts) != 2 or spot.operator(line, 1) != "*":
                continue
            for row, pitch in (line.parts, line.parts[::-1]):
                column = f"({spot.text(rest)})" if rest.kind == "sum" else spot.text(rest)
                pitches = dict.fromkeys((spot.text(pitch), *sizes[:_PITCHES]))
                first = spot.start(node)
                for nth, size in enumerate(pitches):
                    text = f"{column} * {size} + {spot.text(row)}"
                    yield replace(spot.replace(first, node.last, text, "transposed"), rank=0.1 * nth)


_PITCHES = 8


def regrouped(spot: Spot) -> Iterator[Rewrite]:
    """Brackets around neighbours that operators do not join so: `(a + b) * c` for `a + b * c`."""
    source = spot.source
    for tree in _flat(spot):
        operands = list(_operands(tree))
        if not 2 < len(operands) <= _MOST_OPERANDS:
            continue
        known = {(spot.start(node), node.last) for node in tree.walk()}
        for size in range(2, min(len(operands), _LARGEST)):
            for at in range(len(operands) - size + 1):
                first, last = spot.start(operands[at]), operands[at + size - 1].last
                if (first, last) not in known:
                    text = f"({source.slice(first, last)})"
                    yield replace(spot.replace(first, last, text, "regrouped"), rank=0.1 * (size - 2))


_MOST_OPERANDS, _LARGEST = 12, 5


def _flat(spot: Spot) -> Iterator[Node]:
    """Expressions with operators, of which each is in no other one but by brackets."""
    inside = set[int]()
    for node in spot.tree.walk():
        if node.kind in _OPERATORS and id(node) not in inside:
            yield node
        if node.kind in BINDING:
            inside.update(id(part) for part in node.parts if node.kind in _OPERATORS)


def _operands(node: Node) -> Iterator[Node]:
    """What operators join in an expression, each once."""
    for part in node.parts:
        if part.kind in _OPERATORS:
            yield from _operands(part)
        else:
            yield part
