"""What a file has for a purpose and a statement does without: a function of an index, a method that nobody calls, a
sign that nothing is multiplied by, the stride of an array, another one that is alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

from msgspec.structs import replace

from layoutprobe.rewrites.conditions import stands_alone
from layoutprobe.rewrites.schemes import index_functions
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import function_name
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import Node, forest


def by_helper(spot: Spot) -> Iterator[Rewrite]:
    """`t[slot(row, k / 8)]` for `t[row * 64 + ((k / 8 ^ row) & 7) * 8]`, and the same behind a pointer: what stands
    there is made of what a function takes that others use for it."""
    own_name = function_name(spot.source, spot.within.start)
    known = dict[str, int]()
    for name, count, _ in (one for source in spot.others for one in index_functions(source)):
        if count in (1, 2, 3) and name != own_name:
            known.setdefault(name, count)
    for first, last in _indices(spot):
        own = spot.source.slice(first, last)
        parts = [one for one in _made_of(spot, first, last) if one != own]
        nth = 0
        for name, count in known.items():
            for given in permutations(parts, count) if name not in own else ():
                text = f"{name}({', '.join(given)})"
                yield replace(spot.replace(first, last, text, "by_helper"), rank=0.1 * nth)
                nth += 1


def _indices(spot: Spot) -> Iterator[tuple[int, int]]:
    """Whole indices, and what is added to a pointer."""
    for node in spot.tree.walk():
        if node.kind == "index" and len(node.parts) == 1:
            yield node.parts[0].first, node.last - 1
        if node.kind == "sum" and len(node.parts) > 1 and spot.sorts(node.parts[0]) == {"pointer"}:
            yield node.parts[1].first, node.last


def _made_of(spot: Spot, first: int, last: int) -> list[str]:
    """Names and quotients of an index, in its order; constants are no argument."""
    found = dict[str, None]()
    for node in spot.tree.walk():
        if first <= node.first and node.last <= last:
            plain = node.kind == "leaf" and not node.parts
            name = plain and spot.source.tokens[node.first].kind == "name"
            quotient = node.kind == "product" and spot.operator(node, len(node.parts) - 1) in ("/", "%")
            if (name and not spot.text(node).isupper()) or quotient:
                found.setdefault(spot.text(node))
    return list(found)[:_PARTS]


_PARTS = 5


def uncalled(spot: Spot) -> Iterator[Rewrite]:
    """`tile.clear();` before a statement that uses `tile`, where nobody calls that method of its type."""
    if not stands_alone(spot):
        return
    start = spot.source.tokens[spot.within.start].start
    words = {spot.source.tokens[i].text for i in spot.within if spot.source.tokens[i].kind == "name"}
    for source in spot.others:
        for kind, method in _uncalled(source):
            also = re.findall(rf"\busing\s+(\w+)\s*=\s*(?:\w+::)*{kind}\b", source.text)
            kinds = "|".join((kind, *also))
            for name in sorted(words):
                if re.search(rf"\b(?:{kinds})(?:<[^;<>]*>)?\s*&?\s+&?{name}\b", spot.body):
                    yield Rewrite(start, start, f"{name}.{method}(); ", "uncalled")


def by_method(spot: Spot) -> Iterator[Rewrite]:
    """`run.open(id);` for `run.id = id;`, where `open` does that and more."""
    found = re.fullmatch(r"(\w+)(\.|->)(\w+)\s*=\s*([^;=]+)", spot.text(spot.tree))
    if found is None or not stands_alone(spot):
        return
    for source in spot.others:
        for method in _SETTERS.finditer(source.text):
            body = source.text[method.end() : method.end() + _SHORT]
            sets = re.match(rf"[^{{}}]*\b{found[3]}\s*=\s*{method[2]}\s*;", body)
            if sets and len(re.findall(rf"\b{method[1]}\(", source.text)) <= _FEW_CALLS:
                text = f"{found[1]}{found[2]}{method[1]}({found[4]})"
                yield spot.replace(spot.tree.first, spot.tree.last, text, "by_method")


_SETTERS = re.compile(r"\bvoid\s+(\w+)\([^(),;]*?\b(\w+)\)\s*\{")
_SHORT, _FEW_CALLS = 200, 2


@lru_cache(maxsize=32)
def _uncalled(source: Source) -> tuple[tuple[str, str], ...]:
    """Types of a file with a method that takes nothing, gives nothing, and is called nowhere."""
    found = list[tuple[str, str]]()
    for kind in re.finditer(r"\bstruct\s+(?:alignas\(\w+\)\s*)?(\w+)\s*(?:final\s*)?\{", source.text):
        body = source.text[kind.end() :].partition("\n};")[0]
        for method in re.findall(r"\bvoid\s+(\w+)\(\)\s*\{", body):
            if len(re.findall(rf"\b{method}\(", source.text)) == 1:
                found.append((kind[1], method))
    return tuple(found)


def oriented(spot: Spot) -> Iterator[Rewrite]:
    """`{-sign * z.im, sign * z.re}` for `{z.im, -z.re}`: each part times a sign that the function does not ask."""
    body = spot.source.slice(spot.function.start, spot.function.stop)
    signs = [name for name in spot.names if _SIGN.fullmatch(name) and re.search(rf"\b{name}\b", body) is None]
    for node in spot.tree.walk():
        if node.kind == "braces" and len(node.parts) > 1:
            for name in signs:
                for times in (name, f"-{name}"):
                    parts = ", ".join(_times(spot, part, times) for part in node.parts)
                    yield spot.replace(node.first, node.last, f"{{{parts}}}", "oriented")


def _times(spot: Spot, part: Node, factor: str) -> str:
    text = spot.source.slice(spot.start(part), part.last)
    if text.startswith("-") and part.kind != "sum":
        text, factor = text[1:].lstrip(), factor[1:] if factor.startswith("-") else f"-{factor}"
    return f"{factor} * ({text})" if part.kind in ("sum", "choice") else f"{factor} * {text}"


_SIGN = re.compile(r"(?:\w*_)?(?:sign|sgn|dir|direction|inverse|sigma)", re.IGNORECASE)


def unrolled(spot: Spot) -> Iterator[Rewrite]:
    """`i += 2 * STEP` for `i += STEP`, in the head of a loop whose body does two or four passes at once."""
    for piece in (*spot.pieces, spot.tree):
        for node in piece.walk():
            assigned = spot.assignment(node)
            if assigned is None or assigned[0] not in ("+=", "-=") or assigned[2].last <= assigned[2].first:
                continue
            text = spot.text(assigned[2])
            inner = f"({text})" if assigned[2].kind == "sum" else text
            for times in (2, 4):
                new = spot.replace(assigned[2].first, assigned[2].last, f"{times} * {inner}", "unrolled")
                yield replace(new, rank=0.0 if "for" in _head(spot) else 0.6)


def _head(spot: Spot) -> str:
    """The word before the bracket that the statement stands in."""
    opened = spot.source.parent[spot.within.start] if spot.within.start < len(spot.source.parent) else -1
    return spot.source.tokens[opened - 1].text if opened > 0 else spot.source.tokens[spot.within.start].text


def bare_objects(spot: Spot) -> Iterator[Rewrite]:
    """`x[row]` for `x.base[row]`, where what x is has an index of its own."""
    if "operator[]" not in "".join(source.text for source in spot.others):
        return
    tokens = spot.source.tokens
    for i in range(spot.within.start + 1, spot.within.stop - 2):
        if tokens[i].text in (".", "->") and tokens[i + 2].text == "[" and tokens[i - 1].kind == "name":
            yield spot.replace(i - 1, i + 2, tokens[i - 1].text, "bare_objects")


def by_name(spot: Spot) -> Iterator[Rewrite]:
    """`id == pad` for `first + i == pad`: a name for a sum that is compared."""
    names = [one for one in _integers(spot) if not one.isupper() and "." not in one]
    for node in spot.tree.walk():
        for part in node.parts if node.kind in ("comparison", "equality") else ():
            if part.kind in ("sum", "product") and spot.sorts(part) <= {"integer", ""}:
                own = spot.text(part)
                for name in _not_in(own, names):
                    yield spot.replace(spot.start(part), part.last, name, "by_name")


def _integers(spot: Spot) -> list[str]:
    """Whole numbers that a statement knows, but for those that the kernel is given; the nearest first."""
    return [one.text for one in spot.names.values() if one.sort == "integer" and one.text not in spot.scalars]


def _not_in(text: str, names: list[str]) -> list[str]:
    """The nearest of some names that an expression has not."""
    return [one for one in names if not re.search(rf"\b{one}\b", text)][:_NEAR]


_NEAR = 6


def own_stride(spot: Spot) -> Iterator[Rewrite]:
    """`tile[row * PITCH + k]` for `tile[row * WIDTH + k]`: what other indices of the same array multiply by."""
    for node in spot.tree.walk():
        if node.kind != "index" or len(node.parts) != 1 or node.first < 1:
            continue
        array = spot.source.tokens[node.first - 1].text
        known = _strides(spot.source).get(array, {})
        for product in node.parts[0].walk():
            factor = product.parts[-1] if product.kind == "product" else None
            if factor is None or spot.operator(product, len(product.parts) - 1) != "*":
                continue
            for other in known:
                if other != spot.text(factor) and other not in spot.text(product):
                    yield spot.replace(factor.first, factor.last, other, "own_stride")


@lru_cache(maxsize=32)
def _strides(source: Source) -> dict[str, dict[str, None]]:
    """Array -> what its indices multiply by."""
    found: dict[str, dict[str, None]] = {}
    for tree in forest(source, 0, len(source.tokens)):
        for node in tree.walk():
            if node.kind == "index" and len(node.parts) == 1 and node.first and node.parts[0].kind == "sum":
                for product in node.parts[0].parts:
                    if product.kind == "product":
                        factor = product.parts[-1]
                        text = source.slice(factor.first, factor.last)
                        if source.tokens[factor.first - 1].text == "*" and re.fullmatch(r"\w+", text):
                            found.setdefault(source.tokens[node.first - 1].text, {})[text] = None
    return found


def signed_elements(spot: Spot) -> Iterator[Rewrite]:
    """`(signed char)x[i]` for `x[i]`, an element of an array of unsigned bytes; and the reverse."""
    for node in spot.tree.walk():
        if node.kind != "leaf" or not node.parts or node.parts[-1].kind != "index":
            continue
        first = spot.start(node)
        name = re.escape(spot.source.tokens[first].text)
        found = re.search(
            rf"({_BYTES})\s*(?:const\s*)?[*&(]*\s*(?:__restrict__\s*)?{name}\b", spot.source.text
        )
        if found is not None and spot.source.tokens[first - 1].text != ")":
            cast = "(signed char)" if found[1][0] == "u" else "(unsigned char)"
            text = spot.source.slice(first, node.last)
            yield spot.replace(first, node.last, f"{cast}{text}", "signed_elements")


_BYTES = r"\b(?:unsigned char|uint8_t|u8|signed char|int8_t|i8|char)\b"


def mirrored(spot: Spot) -> Iterator[Rewrite]:
    """`left.count * right.count` for `right.count`, as the function takes two that are alike."""
    head = _head_of(spot)
    for node in spot.tree.walk():
        for part in node.parts if node.kind == "product" else ():
            found = re.fullmatch(r"(\w+)(\.|->)(\w+)", spot.source.slice(spot.start(part), part.last))
            if found is None or spot.operator(node, node.parts.index(part)) == "/":
                continue
            kind = re.search(rf"\b(\w+)\s*&?\s+&?{found[1]}\b", head)
            for other in re.findall(rf"\b{kind[1]}\s*&?\s+&?(\w+)\b", head) if kind else ():
                text = f"{other}{found[2]}{found[3]}"
                if other not in (found[1], "operator") and text not in spot.text(node):
                    yield spot.behind(part.last - 1, f" * {text}", "mirrored")


def _head_of(spot: Spot) -> str:
    """The function's parameters, and what is around them."""
    last = min(spot.function.start + _LONG_HEAD, len(spot.source.tokens) - 1)
    return spot.source.slice(max(spot.function.start - _LONG_HEAD, 0), last)


_LONG_HEAD = 24


def remainders_of(spot: Spot) -> Iterator[Rewrite]:
    """`group * N + i % N` and `first + i % N` for `i % N`: which one of N, and not which of all."""
    names = [one for one in _integers(spot) if re.fullmatch(r"[a-z]\w*", one)]
    for node in spot.tree.walk():
        if node.kind == "product" and len(node.parts) > 1 and spot.operator(node, len(node.parts) - 1) == "%":
            below, own = spot.text(node.parts[-1]), spot.text(node)
            for name in _not_in(own, names):
                first = spot.start(node)
                own_text = spot.source.slice(first, node.last)
                for text in (f"{name} * {below} + {own_text}", f"{name} + {own_text}"):
                    yield spot.replace(first, node.last, text, "remainders_of")
