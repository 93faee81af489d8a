"""Statements that a kernel lacks: a factor for another sum, the other buffer's turn, a last step, a lane's zero."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.known import parameters
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declarations, declared_in
from layoutprobe.source.expressions import body_behind, heads_around, indent
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import Node

_MOST = 4
"""Names or calls of each sort."""


def omitted(spot: Spot) -> Iterator[Rewrite]:
    """Statements that may be lacking behind this one, or at the end of the loop that it is in."""
    yield from _scaled_too(spot)
    yield from _scaled_by_unused(spot)
    yield from _turns(spot)
    yield from _identities(spot)
    yield from _last_steps(spot)
    yield from _rescaled(spot)
    yield from _folded(spot)
    yield from _by_unused(spot)


def _by_unused(spot: Spot) -> Iterator[Rewrite]:
    """`top = max_of_row(top);` behind the loop that finds `top`, for a function of the file that nobody calls."""
    source = spot.source
    names = [name for name in _uncalled(source) if name not in spot.body]
    own = {source.tokens[i].text for i in spot.within if i in declared_in(source)} if names else set[str]()
    whole = source.slice(spot.within.start, spot.within.stop)
    gathered = [name for name in _GATHERED.findall(whole) if name in spot.names and name not in own]
    block = source.block_around(spot.within.start)
    for target in gathered[:1]:
        for name in names[:2]:
            text = f"{target} = {name}({target});"
            yield replace(added(spot, text), rank=-0.6)
            if block is not None and source.block_around(block[0]) is not None:
                end, blanks = source.tokens[block[1]].end, indent(source, block[1])
                yield Rewrite(end, end, f"\n{blanks}{text}", "omitted", -0.6)


_GATHERED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:[-+*]=|=(?=[^=;][^;]*\b\1\b))")
"""What is added to, or made of itself."""


@lru_cache(maxsize=32)
def _uncalled(source: Source) -> tuple[str, ...]:
    """Functions of one parameter that a file defines and never calls."""
    often = Counter(token.text for token in source.tokens if token.kind == "name")
    found = (
        (name, opened)
        for name, opened in source.calls(range(len(source.tokens)))
        if often[name] == 1 and body_behind(source, opened) is not None and len(source.parts(opened)) == 1
    )
    return tuple(
        name
        for name, opened in found
        if opened > 1
        and source.tokens[opened - 2].kind == "name"
        and source.tokens[opened - 2].text != "void"
    )


def _rescaled(spot: Spot) -> Iterator[Rewrite]:
    """`sum *= expf(old - top);` before `sum += expf(x - top);`: what was summed up is relative to another maximum."""
    found = spot.assignment(spot.tree)
    if found is None or found[0] != "+=" or not ends(spot):
        return
    target, value = spot.text(found[1]), spot.text(found[2])
    powers = re.fullmatch(r"(\w*exp2?f?)\s*\(([^()]+) - ([\w.>-]+)\)", value)
    if powers is None:
        return
    call, one, top = powers.groups()
    real = [name for name, known in spot.names.items() if known.sort == "real" and name not in (top, target)]
    start, blanks = spot.source.tokens[spot.within.start].start, indent(spot.source, spot.within.start)
    for name in sorted(real, key=lambda name: name in one)[: 2 * _MOST]:
        yield Rewrite(start, start, f"{target} *= {call}({name} - {top});\n{blanks}", "omitted")


def advanced(spot: Spot) -> Iterator[Rewrite]:
    """`bias += b * p.N;` behind `x += b * p.M * p.K;`: every other pointer that stays where it was."""
    found = spot.assignment(spot.tree)
    by = (
        re.match(r"(?:\(\w+\)\s*)?([A-Za-z_][\w.]*)\s*\*", spot.text(found[2])) if found is not None else None
    )
    if found is None or by is None or found[0] != "+=" or not ends(spot):
        return
    own = spot.text(found[1])
    if own not in spot.names or spot.names[own].sort != "pointer":
        return
    moved = set(re.findall(r"\b(\w+)\s*\+=", spot.body))
    handed = parameters(spot.source, spot.function)
    left = [n for n, one in spot.names.items() if one.sort == "pointer" and n in handed and n not in moved]
    sizes = dict.fromkeys(re.findall(r"[A-Za-z_][\w.]*", spot.text(found[2])))
    given = [n for n, one in spot.names.items() if one.sort == "integer" and n.partition(".")[0] in handed]
    for name in left[:_MOST]:
        for size in dict.fromkeys((*sizes, *given[: 3 * _MOST])):
            if size != by[1] and size in spot.names and spot.names[size].sort == "integer":
                yield added(spot, f"{name} += {by[1]} * {size};")


def _folded(spot: Spot) -> Iterator[Rewrite]:
    """`top = fmaxf(top, fmaxf(tops[0], tops[1]));` behind `all += sums[0] + sums[1];`, for a `top` that nothing sets
    again, and an array of which a maximum is taken elsewhere."""
    found = spot.assignment(spot.tree)
    if found is None or found[0] != "+=" or not ends(spot):
        return
    terms = [spot.text(part) for part in found[2].parts] if found[2].kind == "sum" else [spot.text(found[2])]
    heads = [re.fullmatch(r"(\w+)(\[[^\[\]]+\])", term) for term in terms]
    arrays = {head[1] for head in heads if head}
    if None in heads or len(arrays) != 1:
        return
    set_ = set(re.findall(r"\b(\w+)\s*(?:[-+*/]=|=(?!=))", spot.body))
    once = re.findall(r"[,;{(]\s*(?:float\s+|double\s+)?(\w+)\s*=\s*-?\w*INF\w*", spot.body)
    for call, other in dict.fromkeys(re.findall(r"\b(f?(?:max|min)f?)\([^()]*,\s*(\w+)\[", spot.body)):
        for name in [one for one in dict.fromkeys(once) if one in set_ and spot.body.count(f"{one} = ") == 1]:
            text = name
            for head in heads:
                text = f"{call}({text}, {other}{head[2]})" if head else text
            if other not in arrays and other in spot.names and name in spot.names:
                yield added(spot, f"{name} = {text};")


def added(spot: Spot, text: str) -> Rewrite:
    """A statement more behind this one."""
    last = _end(spot)
    end = spot.source.tokens[min(spot.within.stop, len(spot.source.tokens) - 1) if last < 0 else last].end
    return Rewrite(end, end, f"\n{indent(spot.source, spot.within.start)}{text}", "omitted")


def ends(spot: Spot) -> bool:
    """Whether a statement stands by itself."""
    return _end(spot) >= 0


def _end(spot: Spot) -> int:
    """The semicolon behind a statement, behind the bodies of functions that are arguments in it; -1 for none."""
    source, tokens, i = spot.source, spot.source.tokens, spot.within.stop
    around = source.parent[spot.within.start]
    while i < len(tokens) and tokens[i].text == "{" and source.parent[i] > around and i in source.partner:
        i = source.partner[i] + 1
        while i < len(tokens) and tokens[i].text not in (";", "{"):
            i += 1
    return i if i < len(tokens) and tokens[i].text == ";" and source.parent[i] == around else -1


def _scaled_too(spot: Spot) -> Iterator[Rewrite]:
    """`acc *= c;` for each sum of the function that is not scaled, where another one is."""
    found = spot.assignment(spot.tree)
    if found is None or not ends(spot):
        return
    sign, target, value = found
    name = spot.source.tokens[target.first].text
    factor, subscript = _factor(spot, sign, target, value), spot.source.slice(target.first + 1, target.last)
    if not factor or name in factor or re.search(r"\+\+|--", subscript):
        return
    scaled = {spot.source.tokens[one.parts[0].first].text for one in spot.statements if _scales(spot, one)}
    lasting = _before_the_loop(spot)
    sums = [
        one for one in sums_of(spot) if one not in scaled | {name} and one in spot.names and one in lasting
    ]
    others = [one for one in sums if spot.names[one].sort != "pointer" or _sizes(spot, one)]
    for other in others[:_MOST]:
        for text in _times(spot, other, subscript, factor):
            yield replace(added(spot, text), rank=0.0 if sign == "*=" else 0.5)


def _before_the_loop(spot: Spot) -> Collection[str]:
    """Names that are known before the innermost loop around a statement: what lasts is; all where there is none."""
    for head, opened, block in heads_around(spot.source, spot.within.start):
        if head in ("for", "while") and block[0] in spot.function:
            return spot.scope.at(opened - 1).keys()
    return spot.names.keys()


def _scaled_by_unused(spot: Spot) -> Iterator[Rewrite]:
    """`sum *= shrink;` behind what declares a `shrink` that nothing uses, for each sum of the function."""
    source, first = spot.source, spot.within.start
    before = source.around(first - 2) if first > 1 and source.tokens[first - 1].text == ";" else range(0)
    given = [
        source.tokens[i].text for i, sort in declarations(source) if i in before and sort in ("real", "")
    ]
    free = [name for name in given if name in spot.unused]
    if not free:
        return
    lasting, start = _before_the_loop(spot), source.tokens[first].start
    sums = [one for one in sums_of(spot) if one in lasting and one in spot.names]
    real = [one for one in sums if spot.names[one].sort == "real" or _sizes(spot, one)]
    for name in free:
        for nth, total in enumerate(real[:_MOST]):
            for text in _times(spot, total, "", name):
                new = Rewrite(start, start, f"{text}\n{indent(source, first)}", "omitted")
                yield replace(new, rank=-0.2 + 0.1 * nth)


def _factor(spot: Spot, sign: str, target: Node, value: Node) -> str:
    """By what a sum is scaled in an assignment: `l *= c`, `l = l * c + s`; "" for none."""
    if sign == "*=":
        return spot.text(value)
    first = value.parts[0] if value.kind == "sum" else value
    if sign != "=" or first.kind != "product" or len(first.parts) != 2:
        return ""
    own, (one, other) = spot.text(target), first.parts
    if spot.operator(first, 1) != "*" or own not in (spot.text(one), spot.text(other)):
        return ""
    return spot.text(other if spot.text(one) == own else one)


def _scales(spot: Spot, tree: Node) -> bool:
    """Whether a statement multiplies what it assigns to."""
    found = spot.assignment(tree)
    if found is None:
        return False
    sign, target, value = found
    own = spot.text(target)
    return sign == "*=" or any(
        node.kind == "product" and own in {spot.text(part) for part in node.parts} for node in value.walk()
    )


def sums_of(spot: Spot) -> list[str]:
    """Variables that a statement of the function adds to, or a call that is given them: `o = wmma(p, v, o)`."""
    found = dict[str, None]()
    for tree in spot.statements:
        assigned = spot.assignment(tree)
        if assigned is None or assigned[1].first >= assigned[1].last:
            continue
        sign, target, value = assigned
        head = target.first
        while spot.source.tokens[head].text in ("for", "if", "else") and head + 1 < target.last:
            head = spot.source.partner.get(head + 1, head) + 1
        own = spot.source.slice(head, target.last)
        again = any(spot.text(part) == own for node in value.walk() for part in node.parts)
        if head < target.last and (sign == "+=" or again):
            found.setdefault(spot.source.tokens[head].text)
    return list(found)[:_MOST_SUMS]


_MOST_SUMS = 12


def _times(spot: Spot, name: str, subscript: str, factor: str) -> Iterator[str]:
    sizes = _sizes(spot, name)
    if subscript and not sizes:
        yield f"{name}{subscript} *= {factor};"
    if not sizes:
        yield f"{name} *= {factor};"
    elif sizes <= _MOST_SIZES:
        each = [name, *("lp_" + "row" * (n + 1 < sizes) + "each" * (n + 1 == sizes) for n in range(sizes))]
        loops = "".join(f"for (auto& {b} : {a}) " for a, b in pairwise(each))
        if subscript:
            yield f"{loops}{each[-1]}{subscript} *= {factor};"
        yield f"{loops}{each[-1]} *= {factor};"
        if subscript:
            yield f"{name}{subscript} *= {factor};"


_MOST_SIZES = 2


def _sizes(spot: Spot, name: str) -> int:
    """How many extents an array is declared with."""
    tokens = spot.source.tokens
    at = next(
        (i for i, _ in declarations(spot.source) if tokens[i].text == name and i in spot.function), None
    )
    count = 0
    while at is not None and tokens[at + 1].text == "[" and at + 1 in spot.source.partner:
        at, count = spot.source.partner[at + 1], count + 1
    return count


def _turns(spot: Spot) -> Iterator[Rewrite]:
    """`stage ^= 1;` at the end of a loop, for what is declared as 0 before it and never changed; or at the others."""
    source, tokens = spot.source, spot.source.tokens
    block = source.block_around(spot.within.start)
    for i, sort in declarations(source):
        name = tokens[i].text
        fresh = i in spot.function and sort == "integer" and tokens[i + 1].text == "="
        if not fresh or i >= spot.within.start or tokens[i + 2].text not in ("0", "1"):
            continue
        uses = [j for j in spot.function if tokens[j].text == name and j != i]
        changed = any(
            tokens[j + 1].text in _CHANGES or tokens[j - 1].text in ("++", "--")
            for j in uses
            if j + 1 < len(tokens)
        )
        if changed or not any(j in spot.within for j in uses):
            continue
        steps = [f"{name} ^= 1;"]
        yield from _head_turns(spot, i)
        steps += [f"{m[0]};" for m in re.finditer(rf"\b{name} = [^;]*\b{name}\b[^;]*", source.text)]
        while block is not None and block[0] > i:
            opened = source.partner.get(block[0] - 1, 0)
            if tokens[block[0] - 1].text == "do" or (opened and tokens[opened - 1].text in ("for", "while")):
                end = tokens[block[1] - 1].end
                blanks = indent(source, block[1] - 1)
                yield from (Rewrite(end, end, f"\n{blanks}{step}", "omitted") for step in steps[:2])
            block = source.block_around(block[0])
        return


def _head_turns(spot: Spot, i: int) -> Iterator[Rewrite]:
    """`, stage ^= 1` at the end of a loop's head that declares it: the loop goes on there wherever it does."""
    source, opened = spot.source, spot.source.parent[i]
    if opened > 0 and source.tokens[opened - 1].text == "for" and opened in source.partner:
        step = source.parts(opened)[-1][1] - 1
        if source.tokens[step].text not in (";", "("):
            yield spot.behind(step, f", {source.tokens[i].text} ^= 1", "omitted")


_CHANGES = ("=", "^=", "+=", "-=", "|=", "&=", "%=", "++", "--")


def _identities(spot: Spot) -> Iterator[Rewrite]:
    """Zero in the lanes that have none before them, behind a shuffle from below."""
    tree = spot.tree
    found = re.search(r"__shfl_up\w*\(.*?,\s*(\w+)\s*(?:,[^,()]*)?\)", spot.text(tree), re.DOTALL)
    if tree.kind != "assignment" or found is None or not ends(spot):
        return
    name = spot.source.tokens[tree.parts[0].last - 1].text
    lanes = [
        one.text
        for one in spot.names.values()
        if re.search(r"lane", one.text, re.I) and one.sort == "integer"
    ]
    for lane in [*lanes[:2], "(threadIdx.x % warpSize)"][:2]:
        yield added(spot, f"if ({lane} < {found[1]}) {name} = 0;")


def _last_steps(spot: Spot) -> Iterator[Rewrite]:
    """A call of a loop's body once more behind the loop, or before it: a pipeline's last step, or its first."""
    source, tokens, tree = spot.source, spot.source.tokens, spot.tree
    block = source.block_around(spot.within.start)
    opened = source.partner.get(block[0] - 1, 0) if block is not None else 0
    if block is None or not opened or tokens[opened - 1].text not in ("for", "while") or not ends(spot):
        return
    assigned = spot.assignment(tree)
    value = assigned[2] if assigned else tree
    calls = (
        value.kind == "leaf"
        and value.parts
        and value.parts[-1].kind == "call"
        and value.parts[-1].last == value.last
    )
    if not calls or any(i in spot.within for i, _ in declarations(source)) or len(spot.within) <= _SHORTEST:
        return
    text = f"{source.slice(spot.within.start, spot.within.stop)};"
    used = {one.text.partition(".")[0] for one in spot.scope.operands if one.first in spot.within}
    for at, known in ((block[1], spot.scope.at(block[1])), (opened - 1, spot.scope.at(opened - 1))):
        if used & {name for name, *_ in spot.scope.ranges} <= known.keys():
            offset = tokens[at].end if at == block[1] else tokens[at].start
            new = f"\n{indent(source, block[1])}{text}" if at == block[1] else f"{text}\n{indent(source, at)}"
            yield replace(Rewrite(offset, offset, new, "omitted"), rank=0.3 * (at != block[1]))


_SHORTEST = 4
