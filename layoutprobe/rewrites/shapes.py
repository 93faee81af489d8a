"""Expressions that are put together otherwise: less of them, brackets elsewhere, rounded up, under a test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import callee, text_behind
from layoutprobe.source.statements import words
from layoutprobe.source.tree import BINDING, JOINED, Node, bare

_JOINED = ("sum", "product", "shift", "and", "xor", "or", "all", "any")


def less(spot: Spot) -> Iterator[Rewrite]:
    """An expression without one of its parts; one part of a call or choice; a statement without its test."""
    for node in sorted(spot.tree.walk(), key=lambda one: one.last - one.first):
        if node.kind in _JOINED:
            yield from (
                _without(spot, node, k)
                for k in reversed(range(len(node.parts)))
                if k or _may_begin(spot, node)
            )
        if node.kind == "choice":
            yield from (_instead(spot, node, part) for part in node.parts[1:])
        if node.kind == "sum" and len(node.parts) == 2 and spot.operator(node, 1) == "-":
            yield _instead(spot, node, node.parts[1])
        for call in node.parts:
            if call.kind == "call" and node.kind == "leaf":
                first = callee(spot.source, call.first)
                whole = Node("leaf", first or 0, call.last)
                yield from (_instead(spot, whole, part) for part in call.parts if first is not None)
        if node.kind in _JOINED and node.last - node.first > 3:
            inside = {one.text for one in spot.scope.operands if node.first <= one.first < node.last}
            if len(inside) == 1:
                yield spot.replace(node.first, node.last, inside.pop(), "terms")
    yield from _untested(spot)


def _may_begin(spot: Spot, node: Node) -> bool:
    """Whether an expression may go without its first part."""
    return spot.operator(node, 1) not in ("-", "/", "%", "<<", ">>")


def _without(spot: Spot, node: Node, k: int) -> Rewrite:
    tokens, part = spot.source.tokens, node.parts[k]
    if k == 0:
        return Rewrite(tokens[part.first].start, tokens[node.parts[1].first].start, "", "terms")
    return Rewrite(tokens[part.first - 2].end, tokens[part.last - 1].end, "", "terms")


def _instead(spot: Spot, node: Node, part: Node) -> Rewrite:
    """A part in place of all, in brackets where operators join it."""
    text, tokens = spot.text(part), spot.source.tokens
    bracketed = node.first > 0 and node.last < len(tokens) and tokens[node.first - 1].text == "("
    whole = bracketed and tokens[node.last].text == ")"
    return spot.replace(
        node.first, node.last, f"({text})" if part.kind in BINDING and not whole else text, "terms"
    )


def _untested(spot: Spot) -> Iterator[Rewrite]:
    tokens, first = spot.source.tokens, spot.within.start
    close = spot.source.partner.get(first + 1, first)
    if tokens[first].text == "if" and close + 1 < len(tokens):
        yield Rewrite(tokens[first].start, tokens[close + 1].start, "", "terms")


def turned(spot: Spot) -> Iterator[Rewrite]:
    """`a - b` for `b - a`, and so with quotients: which of the two is meant is easily mistaken. And `a - b + c` for
    `a + b - c`."""
    source, tokens = spot.source, spot.source.tokens
    for node in spot.tree.walk():
        signs = [spot.operator(node, nth) for nth in range(1, len(node.parts))] if node.kind == "sum" else []
        if set(signs) == {"+", "-"}:
            pairs = zip(signs, node.parts[1:], strict=True)
            rest = (f" {_OPPOSITE[sign]} {spot.text(part)}" for sign, part in pairs)
            first = spot.start(node)
            text = source.slice(first, node.parts[0].last) + "".join(rest)
            yield replace(spot.replace(first, node.last, text, "turned"), rank=0.2)
        for nth in range(1, len(node.parts)) if node.kind in ("sum", "product") else ():
            if spot.operator(node, nth) not in ("-", "/", "%"):
                continue
            one, other = node.parts[nth - 1 : nth + 1]
            if (
                spot.operator(node, nth) == "%"
                and "integer" in spot.sorts(one)
                and not spot.sorts(other) & {"real"}
            ):
                continue  # a place is no divisor
            first = one.first + (tokens[one.first].text == "return")
            sign = source.text[tokens[one.last - 1].end : tokens[other.first].start]
            text = f"{spot.text(other)}{sign}{source.slice(first, one.last)}"
            yield spot.replace(first, other.last, text, "turned")


_OPPOSITE = {"+": "-", "-": "+"}


def gone(spot: Spot) -> Iterator[Rewrite]:
    """No such statement: an early return, an addition."""
    tokens, own = spot.source.tokens, spot.within
    ended = own.stop < len(tokens) and tokens[own.stop].text == ";"
    leaves = tokens[own.start].text == "if" and tokens[own.stop - 1].text in ("return", "continue", "break")
    adds = spot.tree.kind == "assignment" and spot.operator(spot.tree, 1) in ("+=", "-=", "*=", "/=")
    if ended and (leaves or adds):
        yield spot.replace(own.start, own.stop, "", "gone")


def brackets(spot: Spot) -> Iterator[Rewrite]:
    """Brackets left out, put around neighbours or an argument of a macro; a term moved into a call or out of it."""
    yield from _of_arguments(spot)
    for node in spot.tree.walk():
        if node.kind in BINDING:
            for part in node.parts:
                if part.kind == "group" and len(part.parts) == 1 and part.parts[0].kind in _JOINED:
                    yield spot.replace(part.first, part.last, spot.text(part.parts[0]), "brackets")
        if node.kind == "sum":
            yield from _into_call(spot, node)
            yield from _around(spot, node)
            yield from _under_a_mask(spot, node)
        if node.kind == "product":
            yield from _of_one_term(spot, node)
            yield from _factor_into_call(spot, node)
        if node.kind in JOINED:
            yield from _into_choice(spot, node)
        if node.kind == "choice" and len(node.parts) == len(("asked", "one", "other")):
            yield from _out_of_choice(spot, node)
        if node.kind == "product" and len(node.parts) > 2:
            for one, other in zip(node.parts[1:], node.parts[2:], strict=False):
                yield spot.replace(
                    one.first, other.last, f"({spot.source.slice(one.first, other.last)})", "brackets"
                )
        for call in node.parts:
            first = callee(spot.source, call.first) if call.kind == "call" else None
            if first is not None:
                yield from (
                    _out_of_call(spot, first, call, part)
                    for part in call.parts
                    if part.kind in ("sum", "product")
                )


def _into_choice(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(c ? a ^ x : b)` and `(c ? a : b ^ x)` for `(c ? a : b) ^ x`."""
    choice, source = bare(node.parts[0]), spot.source
    if choice.kind != "choice" or len(choice.parts) != len(("asked", "one", "other")):
        return
    more = text_behind(source, node.parts[0].last, node.last)
    for part in choice.parts[1:]:
        text = f"{source.slice(choice.first, part.last)}{more}{text_behind(source, part.last, choice.last)}"
        yield spot.replace(node.first, node.last, f"({text})", "brackets")


def _out_of_choice(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`((c ? a : b) ^ x)` for `(c ? a ^ x : b)` and for `(c ? a : b ^ x)`."""
    source = spot.source
    for part in node.parts[1:]:
        if part.kind in JOINED:
            last = part.parts[-2].last
            more = text_behind(source, last, part.last)
            rest = text_behind(source, part.last, node.last)
            yield spot.replace(
                node.first, node.last, f"(({source.slice(node.first, last)}{rest}){more})", "brackets"
            )


def _under_a_mask(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`((a + b) & MASK)` for `a + (b & MASK)`, and so with `%`."""
    for nth, part in enumerate(node.parts):
        inner = part.parts[0] if part.kind == "group" and len(part.parts) == 1 else part
        sign = spot.operator(inner, len(inner.parts) - 1) if inner.kind in ("and", "product") else ""
        if sign not in ("&", "%") or len(inner.parts) != _PAIR:
            continue
        own, mask = (spot.text(one) for one in inner.parts)
        first = spot.start(node)
        before, behind = spot.source.slice(first, part.first), spot.source.slice(part.last, node.last)
        text = " ".join(one for one in (before if nth else "", own, behind) if one)
        yield spot.replace(first, node.last, f"(({text}) {sign} {mask})", "brackets")


def _of_arguments(spot: Spot) -> Iterator[Rewrite]:
    """`(k) * TILE` for `k * TILE` in a macro: what it is given may be a sum."""
    tokens, given = spot.source.tokens, {name for name, sort in spot.outer if not sort}
    for i in spot.within:
        beside = {tokens[j].text for j in (i - 1, i + 1) if 0 <= j < len(tokens)}
        if tokens[i].text in given and beside & _BINDING_SIGNS:
            yield replace(spot.replace(i, i + 1, f"({tokens[i].text})", "brackets"), rank=-1.0)


_BINDING_SIGNS = frozenset(("*", "/", "%", "-", "<<", ">>", "&"))


def _into_call(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`f(a + b, c)` and `f(a, c + b)` for `f(a, c) + b`; and `f(a, c + 1)`, which is the next one."""
    source = spot.source
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        call = one.parts[-1] if one.parts else None
        if call is not None and call.kind == "call" and call.parts and call.last == one.last:
            added = text_behind(source, one.last, other.last)
            for more in dict.fromkeys((added, f" {spot.operator(node, node.parts.index(other))} 1")):
                for at in [part.last for part in call.parts[:1] + call.parts[:0:-1]]:
                    text = source.slice(one.first, at) + more + source.slice(at, one.last)
                    yield spot.replace(one.first, other.last, text, "brackets")


def _factor_into_call(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`f((a + b) * c)` for `f(a + b) * c`."""
    source = spot.source
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        call = one.parts[-1] if one.parts else None
        if call is not None and call.kind == "call" and len(call.parts) == 1 and call.last == one.last:
            inner, factor = call.parts[0], text_behind(source, one.last, other.last)
            text = spot.text(inner)
            whole = f"({text})" if inner.kind in BINDING and inner.kind != "product" else text
            new = f"{source.slice(one.first, inner.first)}{whole}{factor})"
            yield spot.replace(one.first, other.last, new, "brackets")


def _out_of_call(spot: Spot, first: int, call: Node, part: Node) -> Rewrite:
    """`(f(a, c) + b)` for `f(a + b, c)`."""
    source, terms = spot.source, part.parts
    kept = source.text[source.tokens[first].start : source.tokens[terms[-2].last - 1].end]
    moved = text_behind(source, terms[-2].last, terms[-1].last)
    rest = text_behind(source, terms[-1].last, call.last)
    return spot.replace(first, call.last, f"({kept}{rest}{moved})", "brackets")


def _around(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`a * (b + c)` for `a * b + c`, `(a + b) * c` for `a + b * c`."""
    for one, other in zip(node.parts, node.parts[1:], strict=False):
        if one.kind == "product":
            first = one.parts[-1].first
            yield spot.replace(first, other.last, f"({spot.source.slice(first, other.last)})", "brackets")
        if other.kind == "product":
            last = other.parts[0].last
            yield spot.replace(one.first, last, f"({spot.source.slice(one.first, last)})", "brackets")


def _of_one_term(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`a * c + b` and `a + b * c` for `(a + b) * c`; so with more terms."""
    for nth, part in enumerate(node.parts[:_MOST_FACTORS]):
        first = spot.start(node)
        bracket = part.parts[-1] if part.kind == "leaf" and part.parts and not nth else part
        inner = bracket.parts[0] if bracket.kind == "group" and len(bracket.parts) == 1 else None
        if inner is None or inner.kind != "sum" or (nth and spot.operator(node, nth) != "*"):
            continue
        before, behind = spot.source.slice(first, bracket.first), spot.source.slice(bracket.last, node.last)
        signs = ["", *(f" {spot.operator(inner, n)} " for n in range(1, len(inner.parts)))]
        terms = [spot.text(part) for part in inner.parts]
        for at in range(len(terms)):
            scaled = " ".join(text for text in (before, terms[at], behind) if text)
            rest = (
                f"{sign}{scaled if n == at else term}"
                for n, (sign, term) in enumerate(zip(signs, terms, strict=True))
            )
            yield spot.replace(first, node.last, f"({''.join(rest)})", "brackets")


_MOST_FACTORS = 3


def rounding(spot: Spot) -> Iterator[Rewrite]:
    """A division that rounds up, and the reverse; also by a shift."""
    for node in spot.tree.walk():
        if node.kind == "shift" and len(node.parts) == 2 and spot.operator(node, 1) == ">>":
            yield from _rounded_shift(spot, node)
        if node.kind == "and" and len(node.parts) == 2:
            yield from _rounded_mask(spot, node)
        if node.kind == "sum" and len(node.parts) > 1:
            yield from _one_too_many(spot, node)
        if node.kind == "product" and "real" not in spot.sorts(node):
            yield from _rounded_quotients(spot, node)


def _rounded_quotients(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + s - 1) / s` for `n / s`, also where it is multiplied on, `n / s * s`; and the reverse."""
    first = spot.start(node)
    for nth in range(1, len(node.parts) - 1):  # `k` for `k / step * step`
        signs = spot.operator(node, nth), spot.operator(node, nth + 1)
        if signs == ("/", "*") and spot.text(node.parts[nth]) == spot.text(node.parts[nth + 1]):
            whole = spot.source.slice(first, node.parts[nth - 1].last)
            yield replace(spot.replace(first, node.parts[nth + 1].last, whole, "rounding"), rank=-0.2)
    for nth in (nth for nth in range(1, len(node.parts)) if spot.operator(node, nth) == "/"):
        below, text = node.parts[nth], spot.text(node.parts[nth])
        less = f"{int(text) - 1}" if text.isdigit() and int(text) > 1 else f"{text} - 1"
        above = node.parts[0] if nth == 1 else None
        inner = (
            above.parts[0] if above is not None and above.kind == "group" and len(above.parts) == 1 else above
        )
        if (
            inner is not None
            and inner.kind == "sum"
            and len(inner.parts) > 1
            and (
                text in spot.text(inner)
                or spot.text(inner).endswith("1")
                or spot.text(inner.parts[-1]) == less
            )
        ):
            whole = spot.source.slice(spot.start(inner.parts[0]), inner.parts[0].last)
            yield spot.replace(first, below.last, f"{whole} / {text}", "rounding")
        else:
            last = inner.last if inner is not None else node.parts[nth - 1].last
            whole = spot.source.slice(spot.start(inner) if inner is not None else first, last)
            yield spot.replace(first, below.last, f"({whole} + {less}) / {text}", "rounding")
            for name in _rounds_up(spot):
                yield spot.replace(first, below.last, f"{name}({whole}, {text})", "rounding")


def _one_too_many(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + s - 1) / s * s` for `n / s * s + s`, and `(n + s - 1) / s` for `n / s + 1`: what is whole is rounded up
    once too often."""
    one, other = node.parts[-2:]
    signs = [spot.operator(one, n) for n in range(1, len(one.parts))] if one.kind == "product" else []
    if spot.operator(node, len(node.parts) - 1) != "+" or signs[:1] != ["/"]:
        return
    above, below = spot.source.slice(spot.start(one), one.parts[0].last), spot.text(one.parts[1])
    more = " * " + spot.text(one.parts[2]) if signs == ["/", "*"] else ""
    if spot.text(other) == (below if more else "1"):
        text = f"({above} + {below} - 1) / {below}{more}"
        yield replace(spot.replace(spot.start(one), other.last, text, "rounding"), rank=-0.4)


def _rounded_shift(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + 15) >> 4` for `n >> 4`."""
    found = re.fullmatch(r"([1-8])[uU]?", spot.text(node.parts[1]))
    whole = node.parts[0]
    if found and whole.kind == "leaf" and not whole.parts and "integer" in spot.sorts(whole):
        first = spot.start(whole)
        text = f"({spot.source.slice(first, whole.last)} + {(1 << int(found[1])) - 1})"
        yield spot.replace(first, whole.last, text, "rounding")


def _rounded_mask(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`(n + 3) & ~3` for `n & ~3`, with `-4` for `~3` as well; and the reverse."""
    found = _ROUNDED.fullmatch(spot.text(node.parts[1]))
    if found is None:
        return
    less = found[1] or (f"{int(found[3]) - 1}" if found[3] else f"{found[2] or found[4]} - 1")
    whole, first = bare(node.parts[0]), spot.start(node.parts[0])
    parts = [spot.text(part) for part in whole.parts] if whole.kind == "sum" else []
    if len(parts) > 1 and (parts[-1] == less or parts[-2:] == less.split(" - ")):
        text = spot.source.slice(spot.start(whole), whole.parts[-1 - less.count(" - ") - 1].last)
        yield spot.replace(first, node.parts[0].last, f"({text})", "rounding")
    else:
        text = spot.source.slice(spot.start(whole), whole.last)
        yield spot.replace(first, node.parts[0].last, f"({text} + {less})", "rounding")


_ROUNDED = re.compile(
    r"~\s*(\d+)[uUlL]*|~\s*\(\s*([A-Za-z_][\w:]*)\s*-\s*1[uUlL]*\s*\)|-\s*(\d{1,6})|-\s*([A-Za-z_][\w:]*)"
)
"""`~3`, `~(SIZE - 1)`, `-4`, `-SIZE`: multiples of a power of two."""


def _rounds_up(spot: Spot) -> list[str]:
    """Functions and macros of the file that are called as one that divides and rounds up is."""
    found = dict.fromkeys(
        re.findall(r"\b(\w*(?:ceil_?div|div_?up|cdiv|div_?ceil)\w*) *\(", spot.source.text, re.I)
    )
    return list(found)[:1]


def tests(spot: Spot) -> Iterator[Rewrite]:
    """A condition more, as others of the function have it; or one before a statement that has none."""
    own = {spot.text(node) for node in spot.tree.walk()}
    known = Counter[str]()
    for tree in spot.statements:
        for text in _conditions(spot, tree):
            known[text] += 1
    if spot.scope.own:  # functions of structures of one kind come in pairs
        known.update(_of_other_functions(spot))
    names = {one.text for one in spot.scope.operands if one.first in spot.within}
    tested = {
        name for node in spot.tree.walk() if node.kind == "comparison" for name in words(spot.text(node))
    }
    far = {
        text: (-len((names - tested).intersection(words(text))), -len(names.intersection(words(text))))
        for text in known
    }
    near = sorted(known, key=lambda text: far[text])
    sizes = (f"{name} < {size}" for name in sorted(names) for size in _sizes_of(spot, name))
    both = [text for one in near for text in (one, *_exchanged(spot, one))]
    asked = [spot.text(node) for node in spot.tree.walk() if node.kind == "comparison"]
    alike = [text for one in asked for text in _alike(spot, one)]
    texts = [text for text in dict.fromkeys((*sizes, *alike, *both)) if text not in own][:_MOST_TESTS]
    for text in texts:
        for node in _tested(spot):
            yield spot.behind(node.last - 1, f" && {text}", "tests")
        if stands_alone(spot):
            start = spot.source.tokens[spot.within.start].start
            yield Rewrite(start, start, f"if ({text}) ", "tests")


_MOST_TESTS = 12


def _of_other_functions(spot: Spot) -> list[str]:
    """Comparisons of a file of whose names each is known here."""
    found = re.findall(r"\b([A-Za-z_]\w* <=? [A-Za-z_]\w*)\b(?! *[-+*/.(\[<:])", spot.source.text)
    return [text for text in dict.fromkeys(found) if spot.names.keys() >= set(words(text))]


def _exchanged(spot: Spot, text: str) -> Iterator[str]:
    """A condition in names that are declared beside its own: one operand's row is another one's column."""
    own = set(words(text))
    for tree in spot.statements:
        if tree.kind == "list" and tree.last <= spot.within.start:
            names = [
                spot.source.tokens[part.parts[0].last - 1].text
                for part in tree.parts
                if part.kind == "assignment"
            ]
            names = [name for name in names if name in spot.names]
            inside = own & set(names)
            if len(inside) == 1 and len(names) == _PAIR:
                (was,) = inside
                now = names[1 - names.index(was)]
                yield re.sub(rf"\b{was}\b", now, text)


_PAIR = 2


def _alike(spot: Spot, text: str) -> Iterator[str]:
    """`k < k_len` where `mn < mn_len` is asked: each index has a bound that is called after it."""
    found = re.fullmatch(r"(\w+)( <=? )(?:(\w*[_.])?\1(\w+)|(\w+[_.])\1)", text)
    if found is None:
        return
    head, tail = found[3] or found[5] or "", found[4] or ""
    for name, one in spot.names.items():
        if one.sort == "integer" and name != found[1] and f"{head}{name}{tail}" in spot.names:
            yield f"{name}{found[2]}{head}{name}{tail}"


def _sizes_of(spot: Spot, name: str) -> Iterator[str]:
    """What bounds an index by its name, and by what it begins with: n and N, col and cols, row and endRow,
    row = m0 + ... and m."""
    begins = re.search(rf"\b{re.escape(name)}\s*=\s*([A-Za-z])0\b", spot.source.text)
    plain = name.lower().replace("_", "")
    known = {form.format(plain) for form in _BOUNDS} | ({begins[1].lower()} if begins else set())
    for size, one in spot.names.items():
        if size != name and size.lower().replace("_", "") in known and one.sort == "integer":
            yield size


_BOUNDS = (
    "{}",
    "{}s",
    "end{}",
    "{}end",
    "num{}s",
    "n{}s",
    "max{}",
    "{}max",
    "{}limit",
    "{}count",
    "last{}",
    "{}bound",
)
"""What an index's bound is called."""


def _conditions(spot: Spot, tree: Node) -> Iterator[str]:
    """Comparisons in the tests of a statement; not the bound of a loop."""
    if spot.source.tokens[tree.first].text == "for":
        return
    for node in tree.walk():
        asked = node.kind == "comparison" or (node.kind == "equality" and spot.operator(node, 1) == "==")
        if asked and node.last - node.first <= 12 and len(node.parts) == 2:
            yield spot.text(node)


def _tested(spot: Spot) -> Iterator[Node]:
    """Conditions of the statement."""
    tokens = spot.source.tokens
    for node in spot.tree.walk():
        if node.kind == "choice" and len(node.parts) > 2:
            head = node.parts[0]
            yield head.parts[0] if head.kind == "group" and len(head.parts) == 1 else head
        elif node.kind == "assignment" and node.parts[-1].kind in ("comparison", "all"):
            yield node.parts[-1]
        elif node.kind == "call" and tokens[node.first - 1].text in ("if", "while") and len(node.parts) == 1:
            yield node.parts[0]
        elif node.kind == "call" and tokens[node.first - 1].text == "for" and len(node.parts) == 1:
            parts = node.parts[0].parts
            yield from (part for part in parts[1:2] if part.kind in ("comparison", "all"))


def stands_alone(spot: Spot) -> bool:
    """A statement that a test may be put before: no declaration, and nothing with a block."""
    first = spot.source.tokens[spot.within.start]
    ends = spot.within.stop < len(spot.source.tokens) and spot.source.tokens[spot.within.stop].text == ";"
    declares = spot.tree.kind == "assignment" and any(
        spot.source.tokens[i].kind == spot.source.tokens[i + 1].kind == "name"
        for i in range(spot.within.start, spot.tree.parts[0].last - 1)
    )
    return ends and not declares and first.text not in ("for", "if", "while", "return", "else", "const")
