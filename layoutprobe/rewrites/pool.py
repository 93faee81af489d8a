"""What a file does elsewhere, done here too: a term or factor, a call around a value.

What was forgotten stands somewhere else in most files: people write the same few terms again and again. Nothing is
asked of what a statement is about, so these are many, and come behind what something speaks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.rewrites.known import is_value, known_here, parameters, start_of
from layoutprobe.rewrites.places import places
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import FUNCTION, attributes, declarations
from layoutprobe.source.expressions import callee
from layoutprobe.source.reach import types_of_templates
from layoutprobe.source.statements import Source, free_words, words
from layoutprobe.source.tree import BINDING, JOINED, Node, forest

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
"""The same of numbers of lanes and threads."""


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
    where = sorted(places(spot), key=lambda place: spot.sorts(place[0]) != {"integer"})[:_PLACES]
    found = [
        (0.08 * nth + 0.02 * at + (0.5 if not _fits(spot, node, text) else 0.0), new)
        for nth, (sign, text) in enumerate(texts)
        for at, (node, parent) in enumerate(where)
        if (new := behind(spot, node, parent, sign, text)) is not None
    ]
    yield from (replace(new, rank=rank) for rank, new in sorted(found, key=lambda one: one[0]))


def _likely(spot: Spot) -> list[tuple[str, str]]:
    """What is joined elsewhere and known here, the likeliest first: what stands in this function, often, with names
    that the statement lacks."""
    own = {spot.source.tokens[i].text for i in spot.within}
    text = spot.source.slice(spot.within.start, spot.within.stop)
    often = Counter[tuple[str, str]]()
    for one in _everywhere(spot.source):
        if known_here(spot, one.names):
            weight = _HERE if one.function == spot.function.start else 2
            often[one.sign, one.text] += weight // (1 + (one.text in text) + (not one.names))
    sorts = {*_NUMBERS, *types_of_templates(spot.source)}
    numbers = [one.text for one in spot.names.values() if one.sort in sorts]
    free = [name for name in numbers if name in spot.unused]
    unused = [
        (sign, one) for one in free for sign in ("*+/%" if spot.names[one].sort == "integer" else "*+/")
    ]
    threads = _OF_LANES if re.search(r"lane|tid|thread", text, re.IGNORECASE) else ()
    usual = [pair for pair in (*_USUAL, *threads) if pair not in often]
    handed = parameters(spot.source, spot.function)
    near = sorted((name for name in numbers if name not in own), key=lambda name: name not in handed)
    others = [(sign, name) for name in near[:_OTHERS] for sign in "+*"]
    told = [pair for pair, _ in often.most_common(_TEXTS)]
    both = [pair for two in zip_longest(told, others) for pair in two if pair is not None]
    return list(dict.fromkeys((*unused[:_UNUSED], *both, *usual)))


_NUMBERS = ("integer", "real")
_HERE, _UNUSED, _OTHERS = 8, 4, 6
"""How much more what stands in the same function counts; what is used nowhere is likely."""


@lru_cache(maxsize=32)
def _everywhere(source: Source) -> list[_Joined]:
    """All operators with operands in a file."""
    found = list[_Joined]()
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            if node.kind in JOINED:
                found += _of_node(source, node)
    return found


def _of_node(source: Source, node: Node) -> Iterator[_Joined]:
    function = start_of(source, node.first)
    for nth, part in enumerate(node.parts):
        sign = source.tokens[(node.parts[1] if not nth else part).first - 1].text
        short = part.last - part.first <= _SHORT and is_value(source, part)
        if short and (nth or sign in _COMMUTE):
            first = part.first + (source.tokens[part.first].text == "return")
            text = source.slice(first, part.last)
            yield _Joined(sign, text, frozenset(free_words(text)), function)


def _fits(spot: Spot, node: Node, text: str) -> bool:
    """Whether what is joined has the sort of what it is joined to, as far as names tell."""
    own = spot.sorts(node) - {""}
    theirs = {spot.names[name].sort for name in words(text) if name in spot.names} - {""}
    return not own or not theirs or bool(own & theirs)


def behind(spot: Spot, node: Node, parent: str, sign: str, text: str) -> Rewrite | None:
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


def wrapped(spot: Spot) -> Iterator[Rewrite]:
    """A value in a call, or as an index of an array, as others are elsewhere in the file: `min(end, n)` for `end`."""
    forms = [one for one in _forms(spot.source) if known_here(spot, one[2])]
    often = Counter((head, tail) for head, tail, _ in forms)
    texts = [pair for pair, _ in often.most_common(_FORMS)]
    for nth, (head, tail) in enumerate(texts):
        for at, (node, _) in enumerate(list(places(spot))[:_PLACES]):
            first = spot.start(node)
            inner = spot.source.slice(first, node.last)
            if node.kind != "group" and not inner.startswith(head) and _may_be_in(spot, node, head):
                new = spot.replace(first, node.last, f"{head}{inner}{tail}", "wrapped")
                yield replace(new, rank=0.1 * nth + 0.02 * at)


def begun_alike(spot: Spot) -> Iterator[Rewrite]:
    """`m0 + half * 8 + v` for `m0 + lane`: another sum of the file that begins with the same term."""
    sums = _sums(spot.source)
    for node in spot.tree.walk():
        if node.kind == "sum":
            own = spot.source.slice(spot.start(node), node.last)
            begins = spot.source.slice(spot.start(node), node.parts[0].last)
            for text, names in sums.get(begins, {}).items():
                if text != own and known_here(spot, names):
                    yield spot.replace(spot.start(node), node.last, text, "begun_alike")


@lru_cache(maxsize=32)
def _sums(source: Source) -> dict[str, dict[str, frozenset[str]]]:
    """First term -> sums that begin with it, each with its names."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            first = node.first + (source.tokens[node.first].text == "return")
            if node.kind == "sum" and is_value(source, node) and first < node.parts[0].last:
                text = source.slice(first, node.last)
                found.setdefault(source.slice(first, node.parts[0].last), {})[text] = frozenset(
                    free_words(text)
                )
    return found


def ended_alike(spot: Spot) -> Iterator[Rewrite]:
    """`first + row < rows` for `row < rows`, where an index is `begin + first + row`: the last terms of a sum."""
    known = _ends(spot.source)
    for node in spot.tree.walk():
        for part in node.parts if node.kind in ("comparison", "index") else ():
            own = spot.source.slice(spot.start(part), part.last)
            for text, names in known.get(own, {}).items():
                if known_here(spot, names) and text not in spot.text(node):
                    new = spot.replace(spot.start(part), part.last, text, "ended_alike")
                    yield replace(new, rank=0.0 if node.kind == "comparison" else 0.5)


@lru_cache(maxsize=32)
def _ends(source: Source) -> dict[str, dict[str, frozenset[str]]]:
    """What sums of a file end with -> their ends that are longer, each with its names."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            added = node.kind == "sum" and is_value(source, node)
            if not added or any(source.tokens[part.first - 1].text == "-" for part in node.parts[1:]):
                continue
            ends = [source.slice(part.first + (source.tokens[part.first].text == "return"), node.last)
                    for part in node.parts]  # fmt: skip
            for nth, end in enumerate(ends):
                for longer in ends[:nth]:
                    found.setdefault(end, {})[longer] = frozenset(free_words(longer))
    return found


def like_a_sibling(spot: Spot) -> Iterator[Rewrite]:
    """`fmaxf(fabsf(a), fabsf(b))` for `fmaxf(fabsf(a), b)`: what is done with one, with another."""
    for node in spot.tree.walk():
        parts = node.parts if node.kind in ("call", "sum", "product", "comparison") else ()
        heads = [_called_alone(spot, part) for part in parts]
        for head in dict.fromkeys(filter(None, heads)):
            for part, its in zip(parts, heads, strict=True):
                if not its and part.kind != "group":
                    first = spot.start(part)
                    text = f"{head}({spot.source.slice(first, part.last)})"
                    yield spot.replace(first, part.last, text, "like_a_sibling")
        if node.kind == "sum":
            yield from (replace(one, rank=_SCALED) for one in _scaled_alike(spot, node))


_SCALED = 1.0
"""How much unlikelier a factor is forgotten than a function."""


def _scaled_alike(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(a - b) * s` and `a * s - b * s` for `a * s - b`: what one term is multiplied with, another."""
    first, seen = spot.start(node), set[str]()
    for part in node.parts:
        factors = part.parts if part.kind == "product" else ()
        for nth, factor in enumerate(factors):
            scale, sign = spot.text(factor), spot.operator(part, nth) or "*"
            if sign not in "*/" or scale in seen or spot.sorts(factor) != {"real"}:
                continue
            seen.add(scale)
            for other in node.parts:
                if other is not part and scale not in spot.text(other).split():
                    yield spot.replace(
                        other.first, other.last, f"{spot.text(other)} {sign} {scale}", "like_a_sibling"
                    )
            if nth:
                before, behind = (
                    spot.source.slice(first, factors[nth - 1].last),
                    spot.source.slice(factor.last, node.last),
                )
                yield spot.replace(first, node.last, f"({before} {behind}) {sign} {scale}", "like_a_sibling")


def _called_alone(spot: Spot, part: Node) -> str:
    """The function of one argument whose value an expression is; "" for none."""
    call = part.parts[-1] if part.kind == "leaf" and part.parts else None
    if call is None or call.kind != "call" or len(call.parts) != 1 or call.last != part.last:
        return ""
    head = spot.source.slice(spot.start(part), call.first)
    return head if re.fullmatch(r"[\w:]+", head) else ""


def _may_be_in(spot: Spot, node: Node, head: str) -> bool:
    """Whether an expression may be an index or an argument of what stands before it, as far as sorts tell."""
    sorts = spot.sorts(node)
    if not head.endswith("["):
        whole = sorts == {"integer"} or re.fullmatch(r"\d+u?", spot.text(node)) is not None
        return _OF_REALS.match(head) is None or not whole
    array = spot.names.get(head[:-1])
    return (array is None or array.sort not in spot.scope.fields) and sorts <= {"integer", ""}


_FORMS = 10
_OF_REALS = re.compile(
    r"(?:__|std::)?(?:f(?:max|min|abs|ma)|exp|exp2|log|log2|r?sqrt|tanh|erf|pow)f?\(|__expf\("
)
"""Functions that compute in float: no count of something is asked for their value."""


@lru_cache(maxsize=32)
def _forms(source: Source) -> list[tuple[str, str, frozenset[str]]]:
    """What stands before and behind each argument of a call and each index, and the words in both."""
    found = list[tuple[str, str, frozenset[str]]]()
    sorts = declarations(source)
    named = {source.tokens[i].text for i, sort in sorts if sort != FUNCTION}
    named -= {source.tokens[i].text for i, sort in sorts if sort == FUNCTION}
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            first = callee(source, node.first) if node.kind in ("call", "index") and node.first else None
            if first is None or node.last - first > _LONG or source.tokens[first].text in _OF_TYPES:
                continue
            if node.kind == "call" and source.tokens[node.first - 1].text in named:  # what it is made of
                continue
            if first in attributes(source) or (first, node.last) == (tree.first, tree.last):  # of no value
                continue
            if not all(is_value(source, part) for part in node.parts):  # parameters
                continue
            for part in node.parts:
                head, tail = source.slice(first, part.first), source.slice(part.last, node.last)
                head += source.text[source.tokens[part.first - 1].end : source.tokens[part.first].start]
                found.append((head, tail, frozenset(free_words(head + " " + tail))))
    return found


_LONG = 20
"""Words of a call."""
_OF_TYPES = frozenset(("__attribute__", "ext_vector_type", "__launch_bounds__", "alignas", "__align__"))
"""What looks like a call, and says something of a type."""
