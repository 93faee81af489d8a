"""Other calls: another function of as many parameters, arguments of templates exchanged, what a cast covers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations, pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.alike import alike
from layoutprobe.rewrites.known import CONSTANT
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in, is_headed, structure_of
from layoutprobe.source.expressions import between
from layoutprobe.source.macros import macros
from layoutprobe.source.reach import parameters_of_templates, types_of
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import is_cast, template_end

_MOST = 6
"""Functions that are tried for one."""


def called(spot: Spot) -> Iterator[Rewrite]:
    """Another function that takes as many arguments: `n * groups()` for `n * words()`; those beside it first. And the
    same one of another object: `block.size()` for `warp.size()`."""
    yield from _of_other_objects(spot)
    for name, opened in spot.source.calls(spot.within):
        count = len(spot.source.parts(opened))
        known = {
            one: near for source in spot.others for one, near in _functions(source).get(count, {}).items()
        }
        if spot.source.tokens[opened - 1].text != name:
            continue
        known |= {one: near for one, near in _values(spot, count).items() if one not in known}
        known |= {one: near for one, near in _macros_of(spot, count).items() if one not in known}
        if name not in known:
            continue
        others = [one for one in known if one != name]
        others.sort(key=lambda one: (not alike(name, one), abs(known[one] - known[name])))
        yield from (spot.replace(opened - 1, opened, one, "called") for one in others[:_MOST])
    yield from _given_beside(spot)


def _given_beside(spot: Spot) -> Iterator[Rewrite]:
    """`mfma(a, b, c, SEL, sa, SEL, sb)` for `mfma(a, b, c, SEL, sa, 0, sb)`: a constant that the call has beside."""
    constants = parameters_of_templates(spot.source, spot.function)
    for node in (node for node in spot.tree.walk() if node.kind == "call"):
        texts = [spot.text(part) for part in node.parts]
        beside = [one for one in dict.fromkeys(texts) if one in constants or CONSTANT.fullmatch(one)]
        for part, text in zip(node.parts, texts, strict=True):
            if text.isdecimal():
                yield from (
                    replace(spot.replace(part.first, part.last, one, "called"), rank=_BESIDE)
                    for one in beside[:_MOST]
                )


_BESIDE = -0.8


def _macros_of(spot: Spot, count: int) -> Mapping[str, int]:
    """Macros with so many parameters, with where they are defined: `HIWORD(x)` for `LOWORD(x)`."""
    found = (one for source in spot.others for one in macros(source.text))
    return {one.name: one.place.start for one in found if len(one.parameters) == count}


def _values(spot: Spot, count: int) -> Mapping[str, int]:
    """Names that are declared in the function and called there with so many arguments: lambdas, and what is made of
    them."""
    source = spot.source
    declared = {source.tokens[i].text: i for i in declared_in(source) if i in spot.function}
    calls = [(name, opened) for name, opened in source.calls(spot.function) if name in declared]
    return {name: declared[name] for name, opened in calls if len(source.parts(opened)) == count}


def _of_other_objects(spot: Spot) -> Iterator[Rewrite]:
    tokens = spot.source.tokens
    for name, opened in spot.source.calls(spot.within):
        of_object = opened > 2 and tokens[opened - 1].text == name and tokens[opened - 2].text in (".", "->")
        if not of_object or tokens[opened - 3].kind != "name":
            continue
        sign, own = tokens[opened - 2].text, tokens[opened - 3].text
        others = re.findall(rf"(?<![\w.>])(\w+){re.escape(sign)}{name}\s*\(", spot.body)
        for other in dict.fromkeys(one for one in others if one != own):
            yield spot.replace(opened - 3, opened - 2, other, "called")


@lru_cache(maxsize=32)
def _functions(source: Source) -> Mapping[int, Mapping[str, int]]:
    """Number of parameters -> functions that have so many and a body, and where they stand."""
    found = dict[int, dict[str, int]]()
    for name, opened in source.calls(range(len(source.tokens))):
        brace = next(
            (
                i
                for i in range(
                    source.partner[opened] + 1, min(source.partner[opened] + 8, len(source.tokens))
                )
                if source.tokens[i].text in ("{", ";", ")", ",")
            ),
            0,
        )
        before = source.tokens[opened - 2] if opened > 1 else None
        declares = before is not None and (before.kind == "name" or before.text in ("*", "&", ">"))
        body = source.tokens[brace].text == "{" and is_headed(source, brace)
        if brace and declares and body and not _is_launched(source, opened):
            found.setdefault(len(source.parts(opened)), {}).setdefault(name, opened)
    return found


def _is_launched(source: Source, opened: int) -> bool:
    """Whether a function is a kernel, which no code of a device calls."""
    head = source.around(opened)
    return any(source.tokens[i].text in ("__global__", "__host__") for i in range(head.start, opened))


def of_templates(spot: Spot) -> Iterator[Rewrite]:
    """Two arguments of a template exchanged: `run<true, false>(a)` for `run<false, true>(a)`; another type with a
    like name, or with the same members: `load<LayoutB>` for `load<LayoutA>`, `reduce<Sum>` for `reduce<Max>`; what
    the function itself is made for, `turn<DIR>` for `turn<-1>`."""
    source = spot.source
    types, members = _types(source), _members(source)
    own = sorted(parameters_of_templates(source, spot.function) - types_of(source) - {*types})
    for i in spot.within:
        opens = source.tokens[i].text == "<" and source.tokens[i - 1].text != "template"
        end = template_end(source, i) if opens else None
        commas = [j for j in range(i, end) if source.tokens[j].text == ","] if end is not None else []
        bounds = [i, *commas, end or i]
        parts = [(a + 1, b) for a, b in pairwise(bounds)]
        for a, b in parts if end is not None else ():
            name = source.slice(a, b)
            known = types if b == a + 1 and name in types else ()
            same = members.get(name)
            others = [one for one in known if alike(name, one) or (same and same == members.get(one))]
            yield from (spot.replace(a, b, one, "of_templates") for one in others[:_MOST])
        for a, b in parts if end is not None else ():
            if _VALUE.fullmatch(source.slice(a, b)):
                yield from (spot.replace(a, b, one, "of_templates") for one in own)
        for a, b in parts if end is not None and source.tokens[end + 1].text == "(" else ():
            if b == a + 1 and _COUNT.fullmatch(source.slice(a, b)):
                yield from (spot.replace(a, b, one, "of_templates") for one in _WIDTHS)
        for (a, b), (c, d) in combinations(parts, 2) if commas else ():
            one, other = source.slice(a, b), source.slice(c, d)
            if one != other:
                yield spot.replace(a, d, other + between(source, b, c) + one, "of_templates")


_VALUE = re.compile(r"-?\d+|true|false|[A-Z][A-Z0-9_]+|k[A-Z]\w+")
_COUNT = re.compile(r"\d+|[A-Z][A-Z0-9_]+|k[A-Z]\w+")
_WIDTHS = ("16", "32", "64", "8", "4")
"""Lanes that an exchange may go over, and elements that are taken at once."""


def kept(spot: Spot) -> Iterator[Rewrite]:
    """`carry = chunk(items, carry);` for `chunk(items, carry);`, of a function that gives a value back."""
    source, here = spot.source, spot.within
    call = next(((name, at) for name, at in source.calls(here) if source.partner[at] == here.stop - 1), None)
    if call is None or spot.tree.kind == "assignment" or source.tokens[here.start].text in _NO_CALLS:
        return
    if not any(call[0] in _giving(other) for other in spot.others):
        return
    start = source.tokens[here.start].start
    for a, b in reversed(source.parts(call[1])):
        if b == a + 1 and source.tokens[a].text in spot.names:
            yield Rewrite(start, start, f"{source.tokens[a].text} = ", "kept")


_NO_CALLS = ("return", "if", "for", "while", "else", "switch")


@lru_cache(maxsize=32)
def _giving(source: Source) -> frozenset[str]:
    """Functions of a file that give a value back."""
    return frozenset(_GIVES.findall(source.text))


_GIVES = re.compile(
    r"\b(?!void\b|return\b|else\b|new\b)\w+(?:<[^<>;]*>)?[ &*]+(?:\w+::)?(\w+)\([^;{}]*\)\s*(?:const\s*)?\{"
)


@lru_cache(maxsize=32)
def _types(source: Source) -> list[str]:
    """Types that a file declares, those of templates, too."""
    return list(dict.fromkeys(_TYPE.findall(source.text)))


@lru_cache(maxsize=32)
def _members(source: Source) -> Mapping[str, frozenset[str]]:
    """Structures, and what they declare: values and functions."""
    tokens, found = source.tokens, dict[str, frozenset[str]]()
    for i, token in enumerate(tokens):
        name = structure_of(source, i) if token.text == "{" and source.is_block(i) else ""
        inside = (j for j in range(i + 1, source.partner.get(i, i)) if source.parent[j] == i)
        typed = (j for j in inside if tokens[j - 1].kind == "name" or tokens[j - 1].text in ("*", "&", ">"))
        ends = (tokens[j] for j in typed if tokens[j + 1].text in ("(", "=", ";", "["))
        if name and (declares := frozenset(one.text for one in ends if one.kind == "name")):
            found.setdefault(name, declares)
    return found


_TYPE = re.compile(r"\b(?:struct|class|typename|using)\s+(\w+)")


def covered(spot: Spot) -> Iterator[Rewrite]:
    """A term within what a cast makes another pointer of, or behind it, where it counts elements of that:
    `*(const long*)(p + k)` for `*((const long*)p + k)`. And a shift or quotient that is one of another type."""
    source, tokens = spot.source, spot.source.tokens
    for i in spot.within:
        close = source.partner.get(i, 0)
        if not is_cast(source, i) or tokens[close - 1].text == ">":
            continue
        if tokens[close - 1].text != "*":
            yield from _by_a_helper(spot, i, close)
            yield from _unextended(spot, i, close)
            yield from _converted(spot, i, close)
            continue
        whole = source.partner.get(close + 1) if tokens[close + 1].text == "(" else None
        last = whole if whole is not None else close + 1
        end = source.partner.get(source.parent[i], spot.within.stop) if source.parent[i] >= 0 else last
        if whole is None and tokens[last].kind != "name":
            continue
        inner = source.slice(close + 2, last) if whole is not None else tokens[last].text
        cast = source.slice(i, close + 1)
        if last + 2 < end <= spot.within.stop and tokens[last + 1].text == "+":
            yield spot.replace(i, end, f"{cast}({inner} + {source.slice(last + 2, end)})", "covered")
        plus = [j for j in range(close + 2, last) if tokens[j].text == "+" and source.parent[j] == close + 1]
        if whole is not None and plus:
            base, term = source.slice(close + 2, plus[-1]), source.slice(plus[-1] + 1, last)
            new = spot.replace(i, last + 1, f"({cast}({base}) + {term})", "covered")
            yield replace(new, rank=0.3)


def _unextended(spot: Spot, i: int, close: int) -> Iterator[Rewrite]:
    """`(unsigned long)(unsigned char)x[i]` for `(unsigned long)x[i]`: the sign of a byte goes into what is wider."""
    source, tokens = spot.source, spot.source.tokens
    wide = _WIDER.search(source.slice(i, close + 1)) is not None
    if wide and tokens[close + 1].kind == "name":
        for nth, kind in enumerate(("(unsigned char)", "(unsigned short)")):
            new = spot.replace(close + 1, close + 2, f"{kind}{tokens[close + 1].text}", "covered")
            yield replace(new, rank=0.2 * nth - 0.2)


_WIDER = re.compile(
    r"\(\s*(?:unsigned(?: int| long)*|u?int(?:32|64)_t|u(?:32|64)|size_t|long(?: long)?|int)\s*\)"
)
"""A cast to a whole number of more than 16 bits."""


def _by_a_helper(spot: Spot, i: int, close: int) -> Iterator[Rewrite]:
    """`to_bf16(x)` for `(u16)x`: a function of the file that makes the bits of one type of another."""
    source, opened = spot.source, close + 1
    leaf = next((node for node in spot.tree.walk() if node.kind == "leaf" and node.first == i), None)
    if leaf is None or leaf.last <= opened:
        return
    bracketed = source.partner.get(opened) == leaf.last - 1
    given = source.slice(opened + bracketed, leaf.last - bracketed)
    for name in _makers(spot, source.slice(i + 1, close)):
        yield spot.replace(i, leaf.last, f"{name}({given})", "covered")


def _makers(spot: Spot, kind: str) -> list[str]:
    """Functions that make a type of one real number."""
    head = rf"\b{re.escape(kind)}\s+(\w+)\(\s*(?:const\s+)?"
    made = re.compile(rf"{head}(?:float|double|half|_Float16)\s+\w+\s*\)\s*\{{")
    return list(dict.fromkeys(found[1] for one in spot.others for found in made.finditer(one.text)))[:_MOST]


def _converted(spot: Spot, i: int, close: int) -> Iterator[Rewrite]:
    """`(int)(word << n) >> 28` for `(int)((word << n) >> 28)`, and the reverse: a sign is kept, or is not."""
    source, tokens = spot.source, spot.source.tokens
    last = source.partner.get(close + 1, 0) if tokens[close + 1].text == "(" else 0
    if not last:
        return
    cast, inner = source.slice(i, close + 1), range(close + 2, last)
    for j in inner:
        if tokens[j].text in _TYPED and source.parent[j] == close + 1:
            sign, right = tokens[j].text, source.slice(j + 1, last)
            left = source.slice(close + 2, j)
            whole = left if source.partner.get(close + 2) == j - 1 else f"({left})"
            yield spot.replace(i, last + 1, f"({cast}{whole} {sign} {right})", "covered")
    if (
        last + 2 < len(tokens)
        and tokens[last + 1].text in _TYPED
        and tokens[last + 2].kind in ("name", "number")
    ):
        text = f"{cast}({source.slice(close + 1, last + 3)})"
        yield spot.replace(i, last + 3, text, "covered")


_TYPED = (">>", "/", "%")
"""Operators of which the result depends on the type, and not on bits alone."""
