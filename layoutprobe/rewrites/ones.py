"""Off by one: where counting begins at zero, and the last of n is n - 1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import callee
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import BINDING, Node

_SIDES = 2
_CLAMPS = ("min", "max", "fminf", "std::min", "__min", "imin")


def ones(spot: Spot) -> Iterator[Rewrite]:
    """`n - 1 - i` for `n - i`, `min(i, n - 1)` for `min(i, n)`, `x[i - 1]` for `x[i]`; a bound one more or less."""
    yield from _complements(spot)
    for node in spot.tree.walk():
        differs = node.kind == "sum" and len(node.parts) == _SIDES and spot.operator(node, 1) == "-"
        if node.kind == "sum" and spot.text(node.parts[-1]) == "1":  # `row + 1` for `row - 1`
            sign = "+" if spot.operator(node, len(node.parts) - 1) == "-" else "-"
            at = node.parts[-1].first - 1
            yield replace(spot.replace(at, at + 1, sign, "ones"), rank=-0.2)
        if node.kind in ("index", "sum"):
            yield from _turned_round(spot, node)
        if differs and spot.source.tokens[node.parts[1].first].kind == "name":
            yield from (replace(one, rank=0.0) for one in _less(spot, node.parts[0], "+"))
        elif node.kind == "call" and _name(spot, node) in _CLAMPS:
            yield from (replace(one, rank=-0.5) for part in node.parts for one in _less(spot, part, ""))
        elif node.kind in ("comparison", "equality") and len(node.parts) == _SIDES:
            yield from (replace(one, rank=0.6) for one in _less(spot, node.parts[1], "+"))
        elif node.kind == "index":
            yield from (replace(one, rank=0.9) for part in node.parts for one in _less(spot, part, "+"))


def nonzero(spot: Spot) -> Iterator[Rewrite]:
    """`(n > 0 ? a / n : 0)` for `a / n`: of nothing there is no mean."""
    for node in spot.tree.walk():
        if node.kind != "product" or len(node.parts) != _SIDES or spot.operator(node, 1) != "/":
            continue
        below = spot.text(node.parts[1])
        if re.fullmatch(r"[A-Za-z_][\w.]*", below) and "?" not in spot.text(spot.tree):
            first = spot.start(node)
            whole = spot.source.slice(first, node.last)
            yield spot.replace(first, node.last, f"({below} > 0 ? {whole} : 0)", "nonzero")


def _complements(spot: Spot) -> Iterator[Rewrite]:
    """`1 / (1 - p)` for `1 / p`, and `(1 - p) * x` for `p * x`; and the reverse."""
    for node in spot.tree.walk():
        if node.kind != "product":
            continue
        for part in node.parts:
            text = spot.source.slice(spot.start(part), part.last)
            if re.fullmatch(r"[A-Za-z_][\w.]*", text) and spot.sorts(part) == {"real"}:
                new = spot.replace(spot.start(part), part.last, f"(1.0f - {text})", "ones")
                yield replace(new, rank=0.3)
            elif found := re.fullmatch(r"\(1(?:\.0*)?f? - ([\w.]+)\)", text):
                yield spot.replace(spot.start(part), part.last, found[1], "ones")


def _turned_round(spot: Spot, node: Node) -> Iterator[Rewrite]:
    """`x[tap]` for `x[taps - 1 - tap]`, and the reverse for the counter of a loop."""
    parts = node.parts
    signs = [spot.operator(node, n) for n in range(len(parts))] if node.kind == "sum" else []
    for n in range(2, len(parts)):
        if signs[n - 1 : n + 1] == ["-", "-"] and "1" in (spot.text(parts[n]), spot.text(parts[n - 1])):
            name = next(one for one in (parts[n], parts[n - 1]) if spot.text(one) != "1")
            new = spot.replace(parts[n - 2].first, parts[n].last, spot.text(name), "ones")
            yield replace(new, rank=-0.6)
    for part in parts:
        found = re.search(rf"[;(\s]{re.escape(spot.text(part))} < ([\w.]+)\s*;", spot.body)
        counts = found is not None and part.kind == "leaf" and spot.text(part).isidentifier()
        if counts and found is not None and (node.kind == "index" or "+" in signs):
            text = f"{found[1]} - 1 - {spot.text(part)}"
            yield replace(spot.replace(part.first, part.last, text, "ones"), rank=0.1)


def _less(spot: Spot, part: Node, more: str) -> Iterator[Rewrite]:
    """An integer less one, or also one more; not of a number, as these have changes of their own."""
    if spot.sorts(part) != {"integer"} or part.kind in ("comparison", "choice", "all", "any"):
        return
    if re.search(r"[-+]\s*1u?$|^\d+u?$", spot.text(part)):
        return
    loose = BINDING.get(part.kind, BINDING["sum"]) < BINDING["sum"]
    for sign in f"-{more}":
        if loose:
            yield spot.replace(part.first, part.last, f"({spot.text(part)}) {sign} 1", "ones")
        else:
            yield spot.behind(part.last - 1, f" {sign} 1", "ones")


def _name(spot: Spot, call: Node) -> str:
    first = callee(spot.source, call.first)
    return spot.source.slice(first, call.first) if first is not None else ""


def quotients(spot: Spot) -> Iterator[Rewrite]:
    """`lane % 32` for `lane / SLOTS`: the other part of a number, by what else is divided by; `word * 8 / n` for
    `word / n`, where what is divided is counted in other units elsewhere."""
    for node in spot.tree.walk():
        if node.kind != "product" or len(node.parts) != _SIDES or spot.operator(node, 1) not in ("/", "%"):
            continue
        if spot.sorts(node.parts[0]) != {"integer"}:
            continue
        number, by = spot.text(node.parts[0]), spot.text(node.parts[1])
        for nth, unit in enumerate(_units(spot, number)):
            one = spot.behind(node.parts[0].last - 1, f" * {unit}", "quotients")
            yield replace(one, rank=0.1 * nth - 0.4)
        for whole in _of_like_names(spot, by):  # a group of query heads shares one of the keys'
            text = f"{spot.source.slice(spot.start(node), node.parts[0].last)} / ({whole} / {by})"
            yield replace(spot.replace(spot.start(node), node.last, text, "quotients"), rank=0.2)
        sign = spot.operator(node, 1)
        signs = ("/", "%") if sign == "%" else ("%", "/")
        for nth, other in enumerate(_divisors(spot, number, by)):
            for late, new in enumerate(signs):
                text = f"{spot.source.slice(spot.start(node), node.parts[0].last)} {new} {other}"
                one = spot.replace(spot.start(node), node.last, text, "quotients")
                yield replace(one, rank=0.15 * nth + 0.1 * late)


def _of_like_names(spot: Spot, name: str) -> list[str]:
    """Names that end with the same word as another one, which has more: `p.heads` for `p.kv_heads`."""
    if not re.fullmatch(r"(?:\w+\.)?[A-Za-z]\w*", name):
        return []
    own = re.split(r"[._]|(?<=[a-z])(?=[A-Z])", name)
    ends = {text: re.split(r"[._]|(?<=[a-z])(?=[A-Z])", text) for text in spot.names}
    like = [text for text, words in ends.items() if text != name and words[-1].lower() == own[-1].lower()]
    return [text for text in like if spot.names[text].sort == "integer"][:2]


def _units(spot: Spot, number: str) -> list[str]:
    """By what a name is multiplied elsewhere in the function."""
    if not number.isidentifier():
        return []
    found = re.findall(rf"(?<![\w.]){number}\s*\*\s*([A-Za-z_]\w*|\d+)\b(?![\w.(])", spot.body)
    return [text for text in dict.fromkeys(found) if text in spot.names or text.isdecimal()][:_MOST]


def _divisors(spot: Spot, number: str, by: str) -> list[str]:
    """What numbers of the file are divided by: first those of the same one, then those that are used most."""
    every = _divided(spot.source)
    often = Counter(divisor for _, divisor in every)
    own = [divisor for one, divisor in every if one == number]
    texts = dict.fromkeys((*own, *(text for text, _ in often.most_common())))
    return [text for text in texts if text != by and (text in spot.names or text.isdecimal())][:_MOST]


@lru_cache(maxsize=32)
def _divided(source: Source) -> list[tuple[str, str]]:
    """Names that are divided, "" for anything else, and by which name or number."""
    return re.findall(
        r"(?:(?<![\w.])([A-Za-z_]\w*)|[\w)\]])\s*[/%]\s*([A-Za-z_][\w:]*|\d+)(?![\w.(])", source.text
    )


_MOST = 6
