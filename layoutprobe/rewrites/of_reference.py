"""What a changed reference tells of a kernel: a function that is left out, or an expression of another form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.rewrites.spot import Rewrite, Spot

_WITHOUT = re.compile(r"what the reference gives without `(?:\w+\.)?(\w+)\(\.\.\.")
_BOUND = re.compile(
    r"what the reference gives without `(?:\w+\.)?(maximum|minimum)\(\.\.\., (-?\d+(?:\.\d*)?)\)`"
)
_TERM = re.compile(r"what the reference gives without `([-+*]) (?=[^`]*[A-Za-z])")
_INSTEAD = re.compile(r"what the reference gives with `([^`]+)` in place of `([^`]+)`")
"""Sentences of `trace/steps_otherwise.py`: the first form is that of the kernel."""
_FUNCTIONS = {
    "abs": ("fabsf", "abs", "fabs"),
    "exp": ("__expf", "expf", "exp"),
    "exp2": ("exp2f",),
    "floor": ("floorf",),
    "log": ("__logf", "logf", "log"),
    "rint": ("rintf", "roundf", "rint"),
    "round": ("rintf", "roundf", "rint"),
    "sqrt": ("sqrtf", "sqrt"),
    "tanh": ("tanhf", "tanh"),
}
"""Function of numpy -> the same in a kernel."""
_JOINING = ("sum", "product", "call", "index", "assignment", "comparison", "choice", "group")
_WORD = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*|//|<<|>>|[<>=!]=|\S")
_ASKED = re.compile(r"\w+\[['\"](\w+)['\"]\]")


def of_reference(spot: Spot) -> Iterator[Rewrite]:
    """`fabsf(x[i])` for `x[i]`, where the reference without `np.abs` gives what the kernel does, and `h / (H / HK)`
    for `h % HK`, where it does with the one in place of the other."""
    for name in _WITHOUT.findall(spot.said):
        yield from _with_function(spot, _FUNCTIONS.get(name, ()))
    for name, number in _BOUND.findall(spot.said):
        yield from _bounded(spot, name[:3], number)
    for sign in _TERM.findall(spot.said):
        yield from _with_term(spot, sign)
    for seen, meant in _INSTEAD.findall(spot.said):
        yield from _in_form(spot, seen, meant)


def _with_function(spot: Spot, names: tuple[str, ...]) -> Iterator[Rewrite]:
    known = sorted(names, key=lambda name: f"{name}(" not in spot.source.text)
    for name in known[:1]:
        for node in spot.tree.walk():
            for part in node.parts if node.kind in _JOINING else ():
                text = spot.source.slice(spot.start(part), part.last)
                if re.search(r"[A-Za-z_]", text) and not text.startswith(f"{name}("):
                    new = spot.replace(spot.start(part), part.last, f"{name}({text})", "of_reference")
                    whole = spot.sorts(part) == {"integer"} and "[" not in text
                    yield replace(new, rank=0.6 if whole or node.kind == "comparison" else 0.0)


def _bounded(spot: Spot, side: str, number: str) -> Iterator[Rewrite]:
    """`fmaxf(at * scale - 0.5f, 0.f)` for what a name is given."""
    for _, value in spot.given:
        if value.first in spot.within:
            text = spot.source.slice(spot.start(value), value.last)
            real = number if "." in number else f"{number}."
            whole = (
                f"{side}({text}, {number})"
                if spot.sorts(value) == {"integer"}
                else f"f{side}f({text}, {real}f)"
            )
            yield spot.replace(spot.start(value), value.last, whole, "of_reference")


def _with_term(spot: Spot, sign: str) -> Iterator[Rewrite]:
    """What the function has a name for, behind a sum or a value: the reference has such a step."""
    near = [one.text for one in spot.names.values() if one.sort in _NUMBERS]  # the nearest first
    for node in spot.tree.walk():
        for part in node.parts if node.kind in ("group", "assignment", "product", "call") else ():
            first, last = spot.start(part), part.last
            own = spot.source.slice(first, last)
            if part.kind not in ("sum", "product", "leaf") or (
                part.kind == "leaf" and node.kind != "assignment"
            ):
                continue
            for name in [one for one in near if one not in own][:_NEAREST]:
                text = f"{own} {sign} {name}" if sign != "*" or part.kind != "sum" else f"({own}) * {name}"
                yield replace(spot.replace(first, last, text, "of_reference"), rank=0.4)


_NUMBERS = ("integer", "real")
_NEAREST = 6


def _in_form(spot: Spot, seen: str, meant: str) -> Iterator[Rewrite]:
    """The form that is meant wherever the statement has the other one, whose names may be others."""
    pattern, groups = "", dict[str, str]()
    for word in _words(seen):
        if re.match(r"[A-Za-z_]", word) and word not in spot.names and word not in spot.scalars:
            pattern += rf"(?P={groups[word]})\s*" if word in groups else rf"(?P<n{len(groups)}>[\w.]+)\s*"
            groups.setdefault(word, f"n{len(groups)}")
        else:
            pattern += (rf"\b{word}\b" if re.match(r"\w", word) else re.escape(word)) + r"\s*"
    if len(_words(seen)) == len(groups):  # a name alone
        return
    start, end = (spot.source.tokens[i] for i in (spot.within.start, spot.within.stop - 1))
    for found in re.finditer(pattern, spot.source.text[start.start : end.end]):
        words = [found[groups[word]] if word in groups else word for word in _words(meant)]
        text = re.sub(r"(?<=\() | (?=\))", "", " ".join(words))
        at = start.start + found.start()
        yield replace(Rewrite(at, at + len(found[0].rstrip()), text, "of_reference"), rank=-0.2)


def _words(text: str) -> list[str]:
    """Those of an expression of Python, as C has them."""
    return [{"//": "/"}.get(word, word) for word in _WORD.findall(_ASKED.sub(r"\1", text))]
