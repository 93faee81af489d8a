"""No module outside `arch` decides by the name of a family or a target: facts come from its tables.

Looked at are values, wherever they decide: what is compared, the keys of tables, patterns of `match`, what
prefixes and lookups are asked for, names that are put together, and identifiers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutprobe import plugins
from layoutprobe.arch import TARGETS

plugins.load()  # the optional parts' targets, too
PACKAGE = Path(__file__).resolve().parents[2] / "layoutprobe"

NAMES = {
    *TARGETS,
    *(word.lower() for t in TARGETS.values() for word in re.findall(r"[A-Za-z]+\d+", t.product)),
    *(t.isa.encodings.table for t in TARGETS.values() if t.isa),
    *(name for t in TARGETS.values() if t.isa for name in (*t.isa.prefixes, *t.isa.generic)),
    *("rdna2", "rdna3.5", "cdna1", "cdna4", "gfx906", "gfx1250", "sm_100"),
    *("navi", "strix", "krackan", "phoenix", "ampere", "hopper"),
}
"""Of targets and families, and the words in their products' names; and some that are not in the tables."""

LEAST = 3
"""Letters from which the beginning of a name counts as one: "sm" and "s" mean other things."""

ASKING = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "split",
    "get",
    "index",
    "find",
}
ASKING |= {"match", "fullmatch", "search", "compile", "count", "lstrip"}
ATTRIBUTES = {"family", "generation"}
FAMILY = re.compile(r"(rdna|cdna|gfx|navi)\d*[a-z]?")


def means_a_target(text: str) -> bool:
    """A name of the tables, the beginning of one, or one with more behind it."""
    text = re.sub(r"^[\^(?:]*", "", text.lower())
    text = re.split(r"[^\w.-]", text)[0]  # of a pattern, what it begins with
    return len(text) >= LEAST and any(
        n.startswith(text) or text.startswith(n) for n in NAMES if len(n) > LEAST
    )


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """String constants that a value consists of: itself, or members of a display."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for member in node.elts:
            yield from _texts(member)
    elif isinstance(node, ast.JoinedStr):
        yield from _texts(node.values[0])
    elif isinstance(node, ast.BinOp):
        yield from _texts(node.left)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _texts(node.func.value)


def deciding(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """String constants where a decision may depend on them."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                asked = [node.left, *node.comparators]
            case ast.Dict():
                asked = [key for key in node.keys if key is not None]
            case ast.MatchValue():
                asked = [node.value]
            case ast.Call(func=ast.Attribute(attr=name)) if name in ASKING:
                asked = list(node.args)
            case ast.Subscript():
                asked = [node.slice]
            case ast.JoinedStr() if not any(" " in text for _, text in _texts(node)):
                asked = [node]
            case _:
                continue
        for value in asked:
            yield from _texts(value)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that code gives or asks for."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                yield node.lineno, node.attr
            case ast.Name():
                yield node.lineno, node.id
            case ast.arg():
                yield node.lineno, node.arg
            case ast.FunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.ImportFrom() | ast.Import():
                paths = [getattr(node, "module", None), *(a.name for a in node.names)]
                for path in (*paths, *(a.asname for a in node.names)):
                    yield from ((node.lineno, part) for part in (path or "").split("."))


def violations(text: str) -> list[str]:
    """Places of a module that decide by a name, as "line: what"."""
    tree = ast.parse(text)
    found = [f"{line}: {text!r}" for line, text in deciding(tree) if means_a_target(text)]
    for line, name in identifiers(tree):
        parts = name.lower().strip("_").split("_")
        if name in ATTRIBUTES or any(FAMILY.fullmatch(part) for part in parts):
            found.append(f"{line}: {name}")
    return found


def outside() -> list[Path]:
    """All modules but those of `arch`, and of the optional part that brings targets of its own."""
    rooms = {("arch",), ("extras", "nvidia")}
    return sorted(
        p
        for p in PACKAGE.rglob("*.py")
        if not rooms & {p.relative_to(PACKAGE).parts[:1], p.relative_to(PACKAGE).parts[:2]}
    )


def test_no_room_but_arch_decides_by_a_name() -> None:
    found = [f"{p.relative_to(PACKAGE)}:{v}" for p in outside() for v in violations(p.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_the_room_that_may_decide_is_seen_to() -> None:
    """The test is not blind: `arch` names prefixes of processors in just these ways."""
    assert violations((PACKAGE / "arch" / "processors.py").read_text("utf-8"))
    assert violations((PACKAGE / "arch" / "rdna3.py").read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        'old = generation == "rdna3"',
        'if target in ("gfx1100", "gfx1101"): pass',
        'if "gfx942" != target: pass',
        'TABLE = {"rdna4": 1}',
        'TABLE = {"a": 1, ("gfx12", 2): 2}',
        'x = TABLE["gfx1151"]',
        'x = target.startswith("gfx11")',
        'x = target.startswith(("v_", "gfx9"))',
        'x = target.removeprefix("gfx")',
        'x = re.fullmatch(r"gfx(11|12)..", target)',
        'match kind:\n    case "cdna3": pass',
        'match kind:\n    case "a" | "cdna3": pass',
        'name = f"gfx{number}"',
        'name = f"{target}" == "Navi 31".lower()',
        "x = form.family",
        "x = dialect.generation",
        "x = f.rdna3",
        "def rdna3_only(): pass",
        "from layoutprobe.arch.rdna3 import FORMS",
        "from layoutprobe.arch import rdna4",
        'x = SUFFIXES.get("gfx" + suffix)',
        'x = name == "sm_90"',
    ],
)
def test_a_planted_decision_is_found(text: str) -> None:
    assert violations(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""RDNA3 ISA guide, 7.9; gfx1151."""',
        'raise Error("a target of RDNA3")',
        'x = kind == "s"',
        'x = {"dtype": "f16"}',
        'x = name.startswith("v_")',
        'x = f"lanes {apart} apart (RDNA3 ISA guide, 7.9)"',
        "x = form.halves",
        "x = arch.find(name).isa.split_barrier",
    ],
)
def test_what_decides_nothing_is_left_alone(text: str) -> None:
    assert not violations(text)
