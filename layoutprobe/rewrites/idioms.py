"""Ways to write what is meant that are mistaken for each other: conversions, bounds, groups of heads, choices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.known import CONSTANT, WIDE
from layoutprobe.rewrites.omitted import sums_of
from layoutprobe.rewrites.spot import Known, Rewrite, Spot
from layoutprobe.source.declarations import declarations, declared_in, sort_of
from layoutprobe.source.tree import Node, bare, template_end


def conversions(spot: Spot) -> Iterator[Rewrite]:
    """A real number rounded before it becomes an integer, and an f32 before its lower half is cut off; what is wide
    made of what is wide."""
    yield from _made_wide(spot)
    for node in spot.tree.walk():
        if node.kind == "leaf" and node.parts and node.parts[0].kind == "cast":
            casts = [one for one in node.parts if one.kind == "cast"]
            cast = next((a for a, b in pairwise(casts) if a.last != b.first), casts[-1])
            yield from _widened(spot, node, cast)
            if cast.last < node.last and sort_of(spot.source, cast.first + 1, cast.last - 1) == "integer":
                yield from _rounded(spot, cast.last, node.last)
        if node.kind == "call":
            yield from _rounded_argument(spot, node)
        if node.kind == "shift" and len(node.parts) == 2 and spot.text(node).endswith(">> 16"):
            first = node.first + (spot.source.tokens[node.first].text == "return")
            value = spot.source.slice(first, node.parts[0].last)
            text = f"({value} + 0x7fffu + (({value} >> 16) & 1u)) >> 16"
            yield replace(spot.replace(first, node.last, text, "conversions"), rank=0.4)


def rounded(spot: Spot) -> Iterator[Rewrite]:
    """`(int)rintf(y)` for `(int)(y + 0.5f)`, which rounds what is negative the wrong way; `floorf` and the others."""
    for node in spot.tree.walk():
        first, text = spot.start(node), spot.text(node)
        half = re.fullmatch(r"\(?(.+?)\s*\+\s*0?\.5f?\)?", text, re.DOTALL)
        if half is not None and node.kind in ("sum", "group") and text.count("(") == text.count(")"):
            yield spot.replace(first, node.last, f"rintf({half[1].strip()})", "rounded")
        if node.kind == "leaf" and node.parts and _WHOLE.fullmatch(spot.text(node.parts[0])):
            yield from _to_whole(spot, node.parts[0].last if node.parts[0].kind == "cast" else 0, node.last)
    for piece in spot.pieces:
        assigned = spot.assignment(piece)
        if assigned is not None and spot.source.word(assigned[1].last - 2) == "int":
            yield from _to_whole(spot, spot.start(assigned[2]), assigned[2].last)


_WHOLE = re.compile(r"\((?:int|unsigned|long|(?:u?int(?:8|16|32|64)_t)|signed char)\)")


def _to_whole(spot: Spot, first: int, last: int) -> Iterator[Rewrite]:
    """`floorf(y)` for a real number that becomes a whole one; by what the file rounds otherwise first."""
    text = spot.source.slice(first, last) if first else ""
    real = any(one.sort == "real" for one in spot.scope.operands if first <= one.first < last)
    if real and not _ROUNDS.match(text):
        names = sorted(("floorf", "rintf", "ceilf", "roundf"), key=lambda name: name not in spot.source.text)
        yield from (spot.replace(first, last, f"{name}({text})", "rounded") for name in names)


_ROUNDS = re.compile(r"(?:floor|rint|ceil|round|trunc|nearbyint|__float2int)")


def magnitudes(spot: Spot) -> Iterator[Rewrite]:
    """`fabsf(x)` for `x`, where a largest value is looked for: it may be below zero."""
    assigned = spot.assignment(spot.tree)
    values = [assigned[2]] if assigned is not None and assigned[0] == "=" else []
    values += [part for node in spot.tree.walk() if _is_largest(spot, node) for part in node.parts]
    values += [part for node in spot.tree.walk() if node.kind == "comparison" for part in node.parts]
    for value in values if re.search(r"fabs|max|>", spot.body) else ():
        text = spot.source.slice(spot.start(value), value.last)
        real = value.kind == "leaf" and "integer" not in spot.sorts(value)
        if real and re.search(r"[A-Za-z_]", text) and not _OF_BITS.search(text):
            yield spot.replace(spot.start(value), value.last, f"fabsf({text})", "magnitudes")


_OF_BITS = re.compile(r"fabs|_as_u?int|\bunsigned\b|\bu?int\d*\b")
"""What has no sign any more, or is none of a real number."""


def _is_largest(spot: Spot, node: Node) -> bool:
    """Whether a node is what a maximum is taken of."""
    return node.kind == "call" and spot.source.word(node.first - 1) in ("fmaxf", "max", "fmax")


def flagged(spot: Spot) -> Iterator[Rewrite]:
    """`done ? 0 : x[i]` for `x[i]`, for a flag that the function has."""
    flags = dict.fromkeys(_FLAG.findall(spot.source.text))
    known = [name for name in flags if name in spot.names and name not in spot.text(spot.tree)]
    assigned = spot.assignment(spot.tree)
    if assigned is None or not known or "?" in spot.text(spot.tree):
        return
    value = assigned[2]
    text = spot.source.slice(spot.start(value), value.last)
    for name in known[:_MOST_FLAGS]:
        for choice in (f"{name} ? 0 : {text}", f"{name} ? {text} : 0"):
            yield spot.replace(spot.start(value), value.last, choice, "flagged")


_FLAG, _MOST_FLAGS = re.compile(r"\bbool\s+(\w+)\s*[=;,]"), 4


def given_back(spot: Spot) -> Iterator[Rewrite]:
    """`return __shfl(v, 0);` for `return v;` behind exchanges between lanes: one lane has the whole."""
    tokens, here = spot.source.tokens, spot.within
    names = spot.source.slice(here.start + 1, here.stop)
    exchanges = re.search(r"\b(__shfl\w*?)(?:_xor|_down|_up)(_sync)?\s*\(", spot.body)
    if tokens[here.start].text != "return" or exchanges is None or not re.fullmatch(r"[A-Za-z_]\w*", names):
        return
    mask = re.search(r"__shfl\w*_sync\s*\(\s*([^,]+),", spot.body)
    asked = f"{mask[1]}, " if mask and exchanges[2] else ""
    call = f"{exchanges[1]}{exchanges[2] or ''}({asked}{names}, 0)"
    yield spot.replace(here.start + 1, here.stop, call, "given_back")


def _made_wide(spot: Spot) -> Iterator[Rewrite]:
    """`(int64_t)a * b` for `a * b`, where what it is given to has 64 bits: it is made in the type of its operands."""
    assigned = spot.assignment(spot.tree)
    if assigned is None:
        return
    _, target, value = assigned
    first = spot.start(value)
    wide = re.search(WIDE, _declared_as(spot, spot.source.tokens[target.last - 1].text))
    plain = not any(node.kind in ("cast", "call") for node in value.walk())
    if wide and plain and value.kind in ("sum", "product", "shift") and spot.sorts(value) <= {"integer", ""}:
        text = spot.source.slice(first, value.last)
        yield replace(spot.replace(first, value.last, f"({wide[0]}){text}", "conversions"), rank=-0.6)


def _declared_as(spot: Spot, name: str) -> str:
    """The type before a name where the function declares it."""
    tokens = spot.source.tokens
    at = next(
        (i for i, _ in declarations(spot.source) if i in spot.function and tokens[i].text == name), None
    )
    return spot.source.slice(spot.source.around(at).start, at) if at is not None else ""


def _widened(spot: Spot, node: Node, cast: Node) -> Iterator[Rewrite]:
    """`(int64_t)a * b` for `(int64_t)(a * b)`: a product is made in the type of its factors."""
    whole = spot.source.slice(cast.last, node.last)
    product = re.fullmatch(r"\(\s*(\w+(?:\[[^\[\]]*\])*\s*[*+]\s*.+)\)", whole, re.DOTALL)
    if product is not None and spot.source.partner.get(cast.last) == node.last - 1:
        text = spot.source.slice(cast.first, cast.last)
        yield replace(spot.replace(node.first, node.last, f"({text}{product[1]})", "conversions"), rank=-0.6)


def _rounded_argument(spot: Spot, call: Node) -> Iterator[Rewrite]:
    """Of `int(f)` and `static_cast<int>(f)`."""
    tokens, first = spot.source.tokens, call.first
    begin = next((i for i in range(first - 2, max(first - 8, 0), -1) if tokens[i].text == "<"), None)
    if tokens[first - 1].text == ">" and begin and template_end(spot.source, begin) == first - 1:
        converts = tokens[begin - 1].text == "static_cast" and sort_of(spot.source, begin + 1, first - 1)
    else:
        converts = tokens[first - 1].kind == "name" and sort_of(spot.source, first - 1, first)
    if converts == "integer" and len(call.parts) == 1:
        yield from _rounded(spot, call.first + 1, call.last - 1)


def _rounded(spot: Spot, first: int, last: int) -> Iterator[Rewrite]:
    elements = spot.scope.elements
    own = [one for one in spot.scope.operands if first <= one.first < last]
    names = {elements.get(one.text) or one.sort for one in own}
    if first < last and names != {"integer"} and not re.match(r"\d+u?$", spot.source.slice(first, last)):
        text = spot.source.slice(first, last)
        inside = spot.source.tokens[first].text == "(" and spot.source.partner.get(first) == last - 1
        yield spot.replace(first, last, f"rintf{text}" if inside else f"rintf({text})", "conversions")


def bounds(spot: Spot) -> Iterator[Rewrite]:
    """`k < K` for `k + 16 <= K`, and the reverse; an index of a loop that a test leaves out."""
    for node in spot.tree.walk():
        if node.kind == "comparison" and len(node.parts) == 2:
            sign, (left, right) = spot.operator(node, 1), node.parts
            strict = {"<=": "<", ">": ">="}.get(sign)
            if strict and left.kind == "sum":
                less = spot.source.slice(left.first, left.parts[-1].first - 1)
                text = f"{less} {strict} {spot.text(right)}"
                yield spot.replace(node.first, node.last, text, "bounds")
            if right.kind in ("product", "sum") and spot.source.tokens[spot.within.start].text == "for":
                for nth, name in enumerate(_ends(spot)):
                    yield replace(spot.replace(right.first, right.last, name, "bounds"), rank=0.3 + 0.1 * nth)
            loose, step = {"<": "<=", ">=": ">"}.get(sign), _step(spot)
            if loose and step and spot.source.tokens[spot.within.start].text == "for":
                text = f"{spot.text(left)} + {step} {loose} {spot.text(right)}"
                yield spot.replace(node.first, node.last, text, "bounds")
            if sign == "<=" and step and spot.source.tokens[spot.within.start].text == "for":
                for name in _all_there_are(spot):
                    new = spot.replace(node.first, node.last, f"{spot.text(left)} < {name}", "bounds")
                    yield replace(new, rank=0.5)
            for name in _loop_variables(spot):
                used = {one.text for one in spot.scope.operands if node.first <= one.first < node.last}
                if name not in used and name in _used_below(spot):
                    added = spot.behind(left.last - 1, f" + {name}", "bounds")
                    yield replace(added, rank=0.2 if sign in ("<", ">=") else 1.0)
    yield from _several(spot)


def _ends(spot: Spot) -> list[str]:
    """Constants of the file that a loop may end at, and that its head does not have: the nearest first."""
    own = {spot.source.tokens[i].text for i in spot.within}
    names = (name for name, known in spot.names.items() if known.sort in ("integer", "") and name not in own)
    return [name for name in names if CONSTANT.fullmatch(name)][:_MOST_ENDS]


_MOST_ENDS = 6


def _counts(spot: Spot) -> list[str]:
    """Integers that are declared before a loop and not in it, and constants of the file: of what it goes through
    there may be several."""
    if spot.source.tokens[spot.within.start].text != "for":
        return []
    own = {one.text for one in spot.scope.operands if one.first in spot.within}
    known = [name for name, one in spot.names.items() if one.sort == "integer" and name.isidentifier()]
    counts = [name for name in known if name not in own and name not in spot.scalars]
    return sorted(counts, key=lambda name: name in spot.scope.outside)[:_MOST_ENDS]


def _several(spot: Spot) -> Iterator[Rewrite]:
    """`i < slots * waves` for `i < slots`, in a loop that threads share."""
    for node in spot.tree.walk():
        less = node.kind == "comparison" and len(node.parts) == 2 and spot.operator(node, 1) == "<"
        if less and node.parts[1].kind == "leaf" and "+=" in spot.text(spot.tree):
            last = node.parts[1].last - 1
            yield from (spot.behind(last, f" * {name}", "bounds") for name in _counts(spot))


def _all_there_are(spot: Spot) -> list[str]:
    """Integer constants of the file, the nearest first."""
    known = spot.scope.outside.keys()
    return [name for name, one in spot.names.items() if name in known and one.sort == "integer"][:_MOST_ENDS]


def _step(spot: Spot) -> str:
    """By how much a loop goes on."""
    head = spot.source.slice(spot.within.start, spot.within.stop)
    found = re.search(r"\+=\s*([\w.]+)\s*\)", head)
    return found[1] if found else "1" if re.search(r"\+\+\w+\s*\)|\w\+\+\s*\)", head) else ""


def _loop_variables(spot: Spot) -> list[str]:
    """Of loops around a statement, the innermost first."""
    tokens, found = spot.source.tokens, list[str]()
    known = spot.scope.at(spot.within.stop - 1)
    for i in range(spot.within.stop - 1, spot.function.start, -1):
        heads = tokens[i].text == "(" and tokens[i - 1].text == "for" and i in spot.source.partner
        if heads and i + 2 < len(tokens):
            name = next((tokens[j - 1].text for j in range(i + 2, i + 6) if tokens[j].text == "="), "")
            if name in known and name not in found:
                found.append(name)
    return found[:_MOST_LOOPS]


_MOST_LOOPS = 3


def _used_below(spot: Spot) -> set[str]:
    """Names of a statement, and of the block that it heads."""
    tokens, last = spot.source.tokens, spot.within.stop
    if last < len(tokens) and tokens[last].text == "{":
        last = min(spot.source.partner.get(last, last), last + 80)
    return {tokens[i].text for i in range(spot.within.start, last)}


def first_only(spot: Spot) -> Iterator[Rewrite]:
    """What is assigned in a loop, in its first turn alone."""
    tokens, own = spot.source.tokens, spot.within
    single = spot.tree.kind == "assignment" and spot.operator(spot.tree, 1) == "="
    ended = own.stop < len(tokens) and tokens[own.stop].text == ";"
    if single and ended and len(spot.tree.parts[0].parts) == 0 and spot.tree.parts[0].last == own.start + 1:
        start = tokens[own.start].start
        for name in _loop_variables(spot):
            yield Rewrite(start, start, f"if ({name} == 0) ", "first")


def groups(spot: Spot) -> Iterator[Rewrite]:
    """A quotient taken modulo the next extent; the group of a number for its place in turn, and the reverse."""
    behind = Counter[str]()
    for tree in spot.statements:
        for node in tree.walk():
            if node.kind == "product":
                signs = [spot.operator(node, k) for k in range(len(node.parts))]
                behind.update(
                    spot.text(part)
                    for sign, part in zip(signs, node.parts, strict=True)
                    if sign in ("%", "/")
                )
    for node in spot.tree.walk():
        if node.kind != "product" or len(node.parts) < 2:
            continue
        last, sign = node.parts[-1], spot.operator(node, len(node.parts) - 1)
        text, before = spot.text(last), spot.source.slice(node.first, last.first - 1)
        if sign == "/":
            for name in _extents(spot, text, behind):
                yield spot.replace(node.first, node.last, f"{spot.text(node)} % {name}", "groups")
        if sign == "%" and len(node.parts) == 2:
            for name in _relatives(spot, text):
                yield spot.replace(node.first, node.last, f"{before} / ({name} / {text})", "groups")
            for name in _extents(spot, text, behind):
                new = spot.replace(node.first, node.last, f"{before} / {name}", "groups")
                yield replace(new, rank=0.4)
            inner = bare(last)
            if inner.kind == "product" and len(inner.parts) == 2 and spot.operator(inner, 1) == "/":
                yield spot.replace(node.first, node.last, f"{before} / {spot.text(inner.parts[1])}", "groups")
        if sign == "/" and last.kind == "group" and len(last.parts) == 1 and last.parts[0].kind == "product":
            inner = last.parts[0]
            if len(inner.parts) == 2 and spot.operator(inner, 1) == "/":
                yield spot.replace(node.first, node.last, f"{before} % {spot.text(inner.parts[1])}", "groups")


def _extents(spot: Spot, text: str, behind: Counter[str]) -> list[str]:
    """What a quotient may be taken modulo: members of the divisor's structure, and what is a modulus elsewhere."""
    head = text.rpartition(".")[0]
    known = [one for one in spot.names.values() if one.sort == "integer" and one.text != text]
    beside = [one.text for one in known if head and one.text.startswith(f"{head}.")]
    others = [one.text for one in known if one.text in behind or one.text in spot.scalars]
    return list(dict.fromkeys((*sorted(beside, key=lambda name: -behind[name]), *others)))[:_MOST_ENDS]


_MOST_ENDS = 8


def _relatives(spot: Spot, text: str) -> list[str]:
    """Integers of which a name may be a part: `heads` for `kv_heads`, those of its structure, arguments."""
    words = set(re.findall(r"[a-z]+", text.lower()))

    def rank(one: Known) -> tuple[bool, bool, float]:
        shared = words & set(re.findall(r"[a-z]+", one.text.lower()))
        return not shared, one.text not in spot.scalars, one.far

    known = [one for one in spot.names.values() if one.sort == "integer" and one.text != text]
    return [one.text for one in sorted(known, key=rank)[:_MOST_RELATIVES]]


_MOST_RELATIVES = 4


def choices(spot: Spot) -> Iterator[Rewrite]:
    """Branches exchanged, or one of them in any case; a quotient of threadIdx.x for threadIdx.y, where blocks have
    that."""
    has_rows = "threadIdx.y" in spot.source.text
    for node in spot.tree.walk():
        if node.kind == "choice" and len(node.parts) == 3:
            _, one, other = node.parts
            text = f"{spot.text(other)} : {spot.text(one)}"
            yield spot.replace(one.first, other.last, text, "choices")
            yield from _added_to_the_other(spot, node)
        divides = len(node.parts) == 2 and spot.operator(node, 1) in ("/", "%", ">>", "&")
        if divides and has_rows and spot.text(node.parts[0]) == "threadIdx.x":
            yield spot.replace(node.first, node.last, "threadIdx.y", "choices")


def _added_to_the_other(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`off() + (c ? on() : 0)` for `c ? on() : off()`."""
    test, one, other = node.parts
    if spot.text(other).strip("0.f") and "integer" not in spot.sorts(one) | spot.sorts(other):
        text = f"{spot.text(other)} + ({spot.source.slice(spot.start(test), one.last)} : 0)"
        yield replace(spot.replace(spot.start(test), other.last, text, "choices"), rank=0.6)


def roots(spot: Spot) -> Iterator[Rewrite]:
    """`rsqrtf(x)` for `1.f / x`, and for the root of what is divided by: a norm is one of squares."""
    for node in spot.tree.walk():
        if node.kind == "product" and len(node.parts) == 2 and spot.operator(node, 1) == "/":
            over, under = node.parts
            inner = under.parts[0] if under.kind == "group" and len(under.parts) == 1 else under
            real = spot.sorts(under) <= {"real", ""} and not spot.text(under).isdigit()
            if real and "sqrt" not in spot.text(under):
                one = re.fullmatch(r"1(?:\.0?f?)?", spot.source.slice(spot.start(over), over.last))
                text = f"rsqrtf({spot.text(inner)})" if one else f"sqrtf({spot.text(inner)})"
                first = spot.start(node) if one else under.first
                yield replace(spot.replace(first, under.last, text, "roots"), rank=0.0 if one else 1.0)
        yield from _beside_root(spot, node)


def _beside_root(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`sqrtf(x + eps)` for `sqrtf(x) + eps`, and the reverse."""
    if node.kind == "sum" and len(node.parts) == 2 and spot.operator(node, 1) == "+":
        root = re.fullmatch(r"((?:\w+::)*\w*sqrt\w*)\((.*)\)", spot.text(node.parts[0]), re.DOTALL)
        if root is not None:
            text = f"{root[1]}({root[2]} + {spot.text(node.parts[1])})"
            yield spot.replace(spot.start(node), node.last, text, "roots")
    if node.kind == "call" and len(node.parts) == 1 and "sqrt" in spot.source.word(node.first - 1):
        (inner,) = node.parts
        if inner.kind == "sum" and len(inner.parts) == 2 and spot.operator(inner, 1) == "+":
            one, other = map(spot.text, inner.parts)
            text = f"({spot.source.word(node.first - 1)}({one}) + {other})"
            yield spot.replace(node.first - 1, node.last, text, "roots")


def initial(spot: Spot) -> Iterator[Rewrite]:
    """Zeros for what is declared without a value, or as a sum of another variable's."""
    tokens, stop = spot.source.tokens, spot.within.stop
    declared = any(i in spot.within for i, _ in declarations(spot.source))
    bare = spot.tree.kind == "leaf" and stop < len(tokens) and tokens[stop].text == ";"
    if declared and bare and tokens[stop - 1].text not in (")", "}"):
        yield spot.behind(stop - 1, " = {}", "initial")
    if declared and spot.tree.kind == "assignment" and spot.tree.parts[-1].kind == "leaf":
        target, value = spot.tree.parts[0], spot.tree.parts[-1]
        named = any(value.first <= one.first < value.last for one in spot.scope.operands)
        if named and tokens[target.last - 1].text in sums_of(spot):
            sort = tokens[target.last - 2].text
            zeros = f"{sort}{{}}" if sort.isidentifier() and sort != "auto" else "{}"
            yield replace(spot.replace(value.first, value.last, zeros, "initial"), rank=1.6)


def atomic(spot: Spot) -> Iterator[Rewrite]:
    """An atomic addition in place of one that is none, or of a plain store."""
    for node in spot.tree.walk():
        stores = bool(node.parts) and (bool(node.parts[0].parts) or spot.text(node.parts[0]).startswith("*"))
        if node.kind == "assignment" and spot.operator(node, 1) in ("+=", "=") and stores:
            target, added = node.parts[:2]
            behind = target.first + (spot.source.tokens[target.first].text == "else")
            heads = (part for part in target.parts if spot.source.tokens[part.first - 1].text in _HEADS)
            at = max((part.last for part in heads), default=behind)
            if not declared_in(spot.source).isdisjoint(range(at, target.last)):
                continue
            place = spot.source.slice(at, target.last)
            address = place[1:].lstrip() if place.startswith("*") else f"&{place}"
            text = f"atomicAdd({address}, {spot.text(added)})"
            rank = _PLAIN * (spot.operator(node, 1) == "=")
            yield replace(spot.replace(at, added.last, text, "atomic"), rank=rank)
    tokens, first, last = spot.source.tokens, spot.within.start, spot.within.stop - 1
    while first < last and tokens[first].text in ("if", "for", "while") and first + 1 in spot.source.partner:
        first = spot.source.partner[first + 1] + 1
    if first + 1 < last and tokens[last].text == "++" and tokens[last - 1].text == "]":
        yield spot.replace(first, last + 1, f"atomicAdd(&{spot.source.slice(first, last)}, 1)", "atomic")


_PLAIN = 0.6
"""How much unlikelier an addition is meant where a plain store stands."""
_HEADS = ("if", "for", "while")
