"""What a statement may lack: a term of an index, a factor, a step of the reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import FUNCTION, declarations, declared_in
from layoutprobe.source.expressions import function_around, heads_around, is_member, split, terms
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import BINDING, Node

_MOST = 5
"""Terms that are tried for an index."""


def terms_more(spot: Spot) -> Iterator[Rewrite]:
    """An index, argument or sum that is assigned with a term that is added to one of its terms elsewhere."""
    source = spot.source
    near = function_around(source, spot.within.start)
    places = sorted(_places(source, near), key=lambda place: abs(place[0] - spot.within.start))
    everywhere = [terms(source, c, d) for c, d in places]
    steps = dict(_STEP.findall(source.slice(near.start, near.stop)))
    used = list(_places(source, spot.within))
    for first, last in (*used, *_sums(spot)):
        added = terms(source, first, last)
        own = [source.slice(a, b) for _, a, b in added]
        more = Counter[str]()
        for others in everywhere:
            texts = [(sign, source.slice(a, b)) for sign, a, b in others]
            if any(text in own for _, text in texts):
                more.update(
                    f"{sign or '+'} {text}"
                    for sign, text in texts
                    if text not in own and not _COMPARES.search(text)
                )
        ahead = [f"+ {steps[name]}" for name in own if name in steps and f"+ {steps[name]}" not in more]
        for text in (*ahead, *(text for text, _ in more.most_common(_MOST))):
            new = f"{source.slice(first, last)} {text}"
            rank = -_HERE_TOO * (new in spot.text(spot.tree))
            yield replace(spot.replace(first, last, new, "more"), rank=rank)
            if len(added) > 1 and text.startswith("+") and (first, last) in used:
                yield spot.replace(*added[-1][1:], text[2:], "more")


def _sums(spot: Spot) -> Iterator[tuple[int, int]]:
    """Sums of integers that are assigned."""
    for tree in spot.pieces:
        assigned = spot.assignment(tree)
        if assigned is not None and assigned[2].kind == "sum" and "real" not in spot.sorts(assigned[2]):
            yield assigned[2].first, assigned[2].last


_HERE_TOO = 1.2
"""How much likelier a sum is meant that the statement has elsewhere."""
_COMPARES = re.compile(r"[<>=?:]|&&")
_STEP = re.compile(r"\b([A-Za-z_]\w*) \+= ([\w.:]+)\s*[;,)]")
"""What a loop goes on by: who loads ahead adds it once more."""


def lacking(spot: Spot) -> Iterator[Rewrite]:
    """A name that is declared and never used, as a term or factor; a term or factor that others have."""
    names = {name: one for name, one in spot.names.items() if one.sort != FUNCTION}
    unused = [name for name in names if name in spot.unused][:_MOST_UNUSED]
    for name in unused:
        yield from _added(spot, "*", name, 0.0)
        yield from (
            spot.replace(
                spot.start(one),
                one.last,
                f"({spot.source.slice(spot.start(one), one.last)}) * {name}",
                "lacking",
            )
            for one in spot.tree.walk()
            if one.kind == "sum" and spot.sorts(one) <= {names[name].sort, ""}
        )
        yield from _added(spot, "+", name, 0.0)
        if names[name].sort == "integer":
            yield from _in_place_of(spot, name)
            yield from _added(spot, "/", name, 0.3)
            yield from _added(spot, "%", name, 0.5)
            if name == unused[0]:
                yield from _divided(spot, name)
    own = {one.text for one in spot.scope.operands if one.first in spot.within}
    uses = Counter(one.text for one in spot.scope.operands)
    for name in [one for one in dict.fromkeys(_divisors(spot)) if one in names]:
        yield from _added(spot, "*", name, 0.8)
    usual = list[tuple[float, str, str]]()
    for sign, kind, assigned in (("*", "product", "*="), ("+", "sum", "+=")):
        used = {name for tree in spot.statements for name in _joined(spot, tree, kind, assigned)} - own
        usual += [
            (uses[name] + names[name].far / 200, sign, name)
            for name in used
            if name in names and names[name].sort != "pointer"
        ]
    for _, sign, name in sorted(usual)[: 2 * _MOST]:
        yield from _added(spot, sign, name, 1.0 if sign == "+" and _ORIGIN.search(name) else 2.0)
    yield from _in_brackets(spot, [*unused, *_near(spot, own)])
    inside = [part for node in spot.tree.walk() if node.kind == "index" for part in node.parts]
    for text in _products(spot, own):
        yield from (
            replace(spot.behind(part.last - 1, f" + {text}", "lacking"), rank=2.0)
            for part in (*operands(spot), *inside)
            if spot.sorts(part) == {"integer"}
        )


def _in_place_of(spot: Spot, name: str) -> Iterator[Rewrite]:
    """`z * pitch` for `z * n * m`, and for a whole sum or product."""
    for node in spot.tree.walk():
        if node.kind not in ("product", "sum") or spot.sorts(node) != {"integer"}:
            continue
        yield replace(spot.replace(spot.start(node), node.last, name, "lacking"), rank=0.3)
        for one, other in (
            pairwise(node.parts) if node.kind == "product" and len(node.parts) > len("ab") else ()
        ):
            yield replace(spot.replace(spot.start(one), other.last, name, "lacking"), rank=0.3)


def _divisors(spot: Spot) -> Iterator[str]:
    """Integers that something in the statement is divided by: `step * (i % (n / step))`."""
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts) if node.kind == "product" else ():
            if spot.operator(node, nth) == "/" and spot.sorts(part) == {"integer"} and part.kind == "leaf":
                yield spot.text(part)


_ORIGIN = re.compile(r"(begin|start|offset|off|base|origin|first)_?$|[a-z]0_?$", re.I)
"""What a part begins at is called: it is forgotten oftener than other terms."""


def around(spot: Spot) -> Iterator[Rewrite]:
    """A term that goes on with a loop around the statement, or is asked for around it, and that it does not have."""
    own = {one.text for one in spot.scope.operands if one.first in spot.within}
    names = [name for name in dict.fromkeys(_asked_around(spot)) if name in spot.names and name not in own]
    inside = [part for node in spot.tree.walk() if node.kind == "index" for part in node.parts]
    for nth, name in enumerate([one for one in names if spot.names[one].sort == "integer"][:_MOST_AROUND]):
        for part in (*operands(spot), *inside):
            if spot.sorts(part) == {"integer"} or (
                part in inside and spot.source.tokens[part.first].kind == "number"
            ):
                yield replace(spot.behind(part.last - 1, f" + {name}", "around"), rank=0.2 * nth)
        for node in spot.tree.walk():
            one = node.parts[0] if node.kind == "product" else None
            first = spot.start(one) if one is not None else 0
            if one is not None and one.last == first + 1 and spot.sorts(one) == {"integer"}:
                text = f"({spot.source.slice(first, one.last)} + {name})"
                yield replace(spot.replace(first, one.last, text, "around"), rank=0.2 * nth)
    yield from _of_the_loop(spot)


def _of_the_loop(spot: Spot) -> Iterator[Rewrite]:
    """`affine(x[i], c + i)` for `affine(x[i], c)`: the variable of the innermost loop, which the statement has."""
    tokens = spot.source.tokens
    own = (
        [tokens[i].text for i, _ in declarations(spot.source) if i in spot.within]
        if tokens[spot.within.start].text == "for"
        else []
    )
    for name in [*own, *_asked_around(spot)][:1]:
        for node in spot.tree.walk():
            for part in node.parts if node.kind == "call" and len(node.parts) > 1 else ():
                if spot.sorts(part) == {"integer"} and not part.parts and spot.text(part) != name:
                    yield replace(spot.behind(part.last - 1, f" + {name}", "around"), rank=0.1)


_MOST_AROUND = 3


def _asked_around(spot: Spot) -> Iterator[str]:
    """Variables of the loops around a statement, and names in conditions around it: the innermost first."""
    source = spot.source
    for head, opened, block in heads_around(source, spot.within.start):
        if block[0] not in spot.function:
            return
        if head == "for":
            yield from (source.tokens[i].text for i, _ in declarations(source) if opened < i < block[0])
        elif head in ("if", "while"):
            yield from (one.text for one in spot.scope.operands if opened < one.first < block[0])


def _near(spot: Spot, own: set[str]) -> list[str]:
    """Integers that are terms of sums elsewhere, and those of the structure that the function is a member of."""
    used = {
        name for tree in spot.statements for name in _joined(spot, tree, "sum", "+=")
    } | spot.scope.own.keys()
    known = [one for one in spot.names.values() if one.text in used - own and one.sort == "integer"]
    return [one.text for one in known if not one.text.isupper()][:_MOST]


def _in_brackets(spot: Spot, names: list[str]) -> Iterator[Rewrite]:
    """`(row + line) * pitch` for `line * pitch`."""
    for node in spot.tree.walk():
        one = node.parts[0] if node.kind == "product" else None
        if one is None or one.kind != "leaf" or one.parts:
            continue
        first = spot.start(one)
        text = spot.source.slice(first, one.last)
        if spot.operator(node, 1) == "*" and text in spot.names and spot.names[text].sort == "integer":
            for name in names:
                signs = "%+" if name in spot.scope.unused else "+"
                texts = (f"({text} % {name})" if sign == "%" else f"({name} + {text})" for sign in signs)
                yield from (replace(spot.replace(first, one.last, new, "lacking"), rank=1.2) for new in texts)


def _products(spot: Spot, own: set[str]) -> Iterator[str]:
    """Products that are terms of integers elsewhere: `group * size`, that an index lacks."""
    found = Counter[str]()
    for tree in spot.statements:
        for node in tree.walk():
            for part in node.parts if node.kind == "sum" else ():
                if (
                    part.kind == "product"
                    and spot.sorts(part) == {"integer"}
                    and part.last - part.first <= _SHORT
                ):
                    found[spot.text(part)] += 1
    known = spot.names.keys()
    words = {text: set(re.findall(r"[A-Za-z_][\w.]*", text)) for text in found}
    near = sorted(found, key=lambda text: sum(spot.names[name].far for name in words[text] & known))
    yield from [text for text in near if words[text] <= known and not words[text] <= own][:_MOST]


_SHORT = 7
"""Tokens of a product that another index may lack."""


def _added(spot: Spot, sign: str, name: str, rank: float) -> Iterator[Rewrite]:
    for part in operands(spot):
        if spot.sorts(part) <= {spot.names[name].sort, ""}:
            yield replace(spot.behind(part.last - 1, f" {sign} {name}", "lacking"), rank=rank)


def _divided(spot: Spot, name: str) -> Iterator[Rewrite]:
    """`(id / TOPK) * k` for `id * k`: what counts pairs says which row it is when it is divided."""
    for node in spot.tree.walk():
        for part in node.parts if node.kind == "product" else ():
            if part.kind == "leaf" and not part.parts and spot.sorts(part) == {"integer"}:
                first = spot.start(part)
                text = f"({spot.source.slice(first, part.last)} / {name})"
                yield replace(spot.replace(first, part.last, text, "lacking"), rank=0.6)
            elif part.kind == "leaf" and part.parts and part.parts[0].kind == "cast":
                first = part.parts[0].last
                text = f"({spot.source.slice(first, part.last)} / {name})"
                yield replace(spot.replace(first, part.last, text, "lacking"), rank=0.6)


_MOST_UNUSED = 3


def _joined(spot: Spot, tree: Node, kind: str, assigned: str) -> Iterator[str]:
    """Names that are factors or terms in a statement."""
    for node in tree.walk():
        if node.kind == kind or (node.kind == "assignment" and spot.operator(node, 1) == assigned):
            yield from (spot.text(part) for part in node.parts if part.kind == "leaf" and not part.parts)


def operands(spot: Spot) -> Iterator[Node]:
    """What may get a term or factor: terms, sides of comparisons, what is assigned or returned; no parameter."""
    declared = declared_in(spot.source)
    if spot.start(spot.tree) > spot.tree.first and spot.tree.kind in ("leaf", "product"):
        yield spot.tree
    for node in spot.tree.walk():
        for nth, part in enumerate(node.parts):
            joins = node.kind in ("sum", "comparison", "choice", "call") or (
                node.kind == "assignment" and nth
            )
            if joins and part.kind in ("leaf", "product", "group") and part.last - 1 not in declared:
                yield part


def carried(spot: Spot) -> Iterator[Rewrite]:
    """What is summed up times a factor that the function has: `total = total * keep + part` for `total + part`."""
    for tree in spot.pieces:
        assigned = spot.assignment(tree)
        if assigned is None:
            continue
        sign, target, value = assigned
        own = {spot.text(part) for node in value.walk() for part in (node, *node.parts)}
        real = [name for name, known in spot.names.items() if known.sort == "real" and not name.isupper()]
        grown = _EXP.findall(spot.body)  # of a largest value that is another one now
        scales = dict.fromkeys(
            f"{call}({b} - {a})" for call, one, other in grown for a, b in ((one, other), (other, one))
        )
        for name in [*scales, *(one for one in real if one not in own)][: len(scales) + _MOST_CARRIED]:
            first = value.parts[0] if value.kind == "sum" else value
            if sign == "+=":
                text = f"{spot.text(target)} = {spot.text(target)} * {name} + {spot.text(value)}"
                yield spot.replace(target.first, value.last, text, "carried")
            elif sign == "=" and spot.text(first) == spot.text(target) and first is not value:
                yield spot.behind(first.last - 1, f" * {name}", "carried")


_MOST_CARRIED = 4
_EXP = re.compile(r"\b(\w*exp\w*)\(\s*([A-Za-z_]\w*)\s*-\s*([A-Za-z_]\w*)\s*\)")


def units(spot: Spot) -> Iterator[Rewrite]:
    """A term in other units: over a constant that is a factor or divisor elsewhere, or times it."""
    names = [
        name
        for name, known in spot.names.items()
        if known.sort == "real" and (spot.scope.outside.get(name, 0) > 1 or name in _constants(spot))
    ]
    for part in operands(spot):
        if "integer" not in spot.sorts(part) and spot.source.tokens[part.first].kind == "name":
            for name in names[:_MOST_UNITS]:
                if name not in spot.text(part):
                    yield from (spot.behind(part.last - 1, f" {sign} {name}", "units") for sign in "/*")


_MOST_UNITS = 3


def _constants(spot: Spot) -> set[str]:
    """Names of the function that stand for a number."""
    tokens, found = spot.source.tokens, set[str]()
    for tree in spot.statements:
        if tree.kind == "assignment" and tokens[tree.first].text in ("const", "constexpr", "static"):
            value = tree.parts[-1]
            if value.last == value.first + 1 and tokens[value.first].kind == "number":
                found.add(tokens[tree.parts[0].last - 1].text)
    return found


def _places(source: Source, within: range) -> Iterator[tuple[int, int]]:
    """Indices and arguments."""
    for i in within:
        if source.tokens[i].text in ("[", "(") and i in source.partner:
            yield from ((a, b) for a, b in source.parts(i) if b > a)


def factors(spot: Spot) -> Iterator[Rewrite]:
    """alpha or beta before a term of what is assigned; beta times the old value behind it."""
    source = spot.source
    names = _factor_names(source, function_around(source, spot.within.start))
    equals = [
        i
        for i in spot.within
        if source.tokens[i].text == "=" and source.parent[i] == source.parent[spot.within.start]
    ]
    for at in equals[-1:]:
        for first, last in split(source, at + 1, spot.within.stop):
            for _, a, b in terms(source, first, last):
                for name in names:
                    if name not in source.slice(a, b):
                        yield spot.replace(a, b, f"{name} * {source.slice(a, b)}", "factors")
        target = source.slice(_target(source, spot.within.start, at), at)
        declares = at - 1 in declared_in(source)  # so it held nothing
        for first, last in split(source, at + 1, spot.within.stop) if not declares else ():
            for name in names:
                if "beta" in name.lower() and first < last:
                    yield spot.replace(
                        first, last, f"{source.slice(first, last)} + {name} * {target}", "factors"
                    )


def _target(source: Source, first: int, at: int) -> int:
    """Where what is assigned to begins: behind a for or an if."""
    while source.tokens[first].text in ("for", "if", "while") and source.tokens[first + 1].text == "(":
        first = source.partner.get(first + 1, at - 1) + 1
    return min(first, at - 1)


def _factor_names(source: Source, near: range) -> list[str]:
    """What is called alpha, beta or scale, with what it is a member of."""
    found: dict[str, None] = {}
    members: dict[str, None] = {}
    for i in near:
        if is_member(source, i) and i >= 2 and source.tokens[i - 2].kind == "name":
            if source.tokens[i].text in _AXES:
                continue
            members.setdefault(source.tokens[i - 2].text)
            if re.search(r"alpha|beta|scale", source.tokens[i].text, re.I):
                found.setdefault(source.slice(i - 2, i + 1))
        elif source.tokens[i].kind == "name" and re.search(r"alpha|beta|scale", source.tokens[i].text, re.I):
            found.setdefault(source.tokens[i].text)
    # A structure's other members are not named in this function: those of a pair come together.
    for member in members:
        for name in ("alpha", "beta"):
            if any(token.text == name for token in source.tokens):
                found.setdefault(f"{member}.{name}")
    return list(islice(found, 6))


_AXES = ("x", "y", "z")
"""Members of a thread's coordinates, which are of no structure that has factors."""


def steps(spot: Spot) -> Iterator[Rewrite]:
    """A step of the reference behind a value: `(word >> 4 & 15) + 1`."""
    values = [piece.parts[1] for piece in spot.pieces if piece.kind == "assignment" and len(piece.parts) == 2]
    values += [node.parts[0] for node in spot.tree.walk() if node.kind == "group" and len(node.parts) == 1]
    values += [part for node in spot.tree.walk() if node.kind == "choice" for part in node.parts[1:]]
    if spot.source.tokens[spot.within.start].text == "return":
        values.append(spot.tree)
    known = list(_known_steps(spot))
    for value in values:
        first = spot.start(value)
        text = spot.source.slice(first, value.last)
        for step in known if first < value.last else ():
            loose = value.kind in BINDING and (step[0] in "*/" or value.kind not in ("sum", "product"))
            yield spot.replace(first, value.last, f"({text}) {step}" if loose else f"{text} {step}", "steps")
    for node in spot.tree.walk():  # `exp2f(-8 * (head + 1) / heads)`
        for part in node.parts if node.kind in ("product", "call", "index", "comparison") else ():
            name = spot.text(part) if part.kind == "leaf" and not part.parts else ""
            for step in known if name in spot.names else ():
                inner = f"{name} {step}"
                text = f"({inner})" if node.kind == "product" and step[0] in "+-" else inner
                yield spot.replace(part.first, part.last, text, "steps")


def _known_steps(spot: Spot) -> Iterator[str]:
    """Steps of the reference in names of the statement: `+ older` for `+ tk - tq` where `older = p.tk - p.tq`."""
    for step in spot.steps:
        sign, _, text = step.partition(" ")
        given = [name for name, value in spot.given if _last_words(spot.text(value)) == text.split()]
        yield from (f"{sign} {name}" for name in given if name in spot.names)
        asked = [word for word in re.findall(r"[A-Za-z_]\w*", text) if word not in spot.names]
        found = {
            word: name
            for name in spot.names
            for word in asked
            if [_folded(last) for last in _last_words(name)] == [_folded(word)]
        }
        if all(word in found for word in asked):
            yield sign + " " + "".join(found.get(word, word) for word in re.split(r"\b", text))


def _folded(word: str) -> str:
    """A name without what Python and C++ write otherwise: `nk` and `n_k`."""
    return word.replace("_", "").lower()


def _last_words(text: str) -> list[str]:
    """The words and signs of an expression, of members the last word alone."""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"\w+(?:\.|->|::)(?=\w)", "", text))
