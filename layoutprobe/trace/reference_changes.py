"""Small changes of a Python reference: a step left out, two exchanged, another sign, number, bound or size.

A kernel with a fault often computes what its reference would with one such change. Only the text is handled here;
`gate/reference.py` runs it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.trace.reference_names import names_in
from layoutprobe.trace.reference_rewrites import changed, quoted

SEEN = "__layoutprobe_seen__"
"""Name of the function that is called with what every step computes."""
_PURE = frozenset(
    {"__future__", "collections", "functools", "itertools", "math", "numpy", "typing", "ml_dtypes"}
)
"""What a file may import whose text is changed: nothing that reaches beyond arrays."""
_REACHING = frozenset(
    {"load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "memmap", "dump", "open",
     "exec", "eval", "compile", "input", "breakpoint", "__import__", "getattr", "setattr", "ctypeslib"}
)  # fmt: skip


EVERYWHERE = ", wherever that stands"
"""Ends what is said of a change at several places at once."""


class Change(Struct, frozen=True):
    """One change of a reference.

    Attributes:
        says: behind "what the reference gives".
        line: of the text.
        kind: LEFT_OUT and so on; of exchanges more, the farther a step goes.
        tree: the module with it; every step of it tells what it computes.
        usual: the same without it.
    """

    says: str
    line: int
    kind: float
    tree: ast.Module
    usual: ast.Module


def changes(text: str, function: str, sizes: Sequence[str]) -> Iterator[Change]:
    """Every change of one step, the likeliest first; none of a file that does more than compute.

    Args:
        text: of the file.
        function: the reference.
        sizes: names of the kernel's sizes.
    """
    tree = ast.parse(text)
    if not _only_computes(tree):
        return
    found = list[_Found]()
    for body in _reached(tree, function):
        _join(body)
        names = names_in(body, sizes)
        found += [
            (kind, says if "`" in says else f"{says} in `{quoted(around)}`", node, other)
            for node, around in _walked(body, body)
            for kind, says, other in changed(node, names)
        ]
    usual = _told(tree, ())
    for kind, says, pairs in sorted(_alike(found), key=lambda one: one[0]):
        yield Change(says, getattr(pairs[0][0], "lineno", 0), kind, _told(tree, pairs), usual)


_Found = tuple[float, str, ast.AST, ast.AST]
_Pairs = Sequence[tuple[ast.AST, ast.AST]]
"""Nodes, each with what stands in its place."""


def _alike(found: Sequence[_Found]) -> Iterator[tuple[float, str, _Pairs]]:
    """Each change by itself, and at all places at once where several are alike: a head's number, for k and for v."""
    groups: dict[tuple[float, str], list[tuple[ast.AST, ast.AST]]] = {}
    for kind, says, node, other in found:
        groups.setdefault((kind, says), []).append((node, other))
    for (kind, says), pairs in groups.items():
        if len(pairs) > 1:
            yield kind, says + EVERYWHERE, pairs
        yield from ((kind, says, (pair,)) for pair in pairs)


def mixed(changed: object, usual: object, axis: int, odd: bool) -> NDArray[Any]:
    """The one in every second line, the other between.

    Raises:
        ValueError: there is no such axis.
    """
    one, other = np.broadcast_arrays(np.asarray(changed), np.asarray(usual))
    if one.ndim < -axis:
        raise ValueError("no such axis")
    lines = np.arange(one.shape[axis]) % 2 == odd
    return np.asarray(np.where(lines.reshape(-1, *[1] * (-axis - 1)), one, other))


def _only_computes(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(
            name.name.partition(".")[0] not in _PURE for name in node.names
        ):
            return False
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in _PURE:
            return False
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in _REACHING:
            return False
    return True


def _reached(tree: ast.Module, function: str) -> list[ast.FunctionDef]:
    """The function, and those of the file that it calls."""
    known = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    reached, left = dict[str, ast.FunctionDef](), [function]
    while left:
        name = left.pop()
        if name in known and name not in reached:
            reached[name] = known[name]
            left += [node.id for node in ast.walk(known[name]) if isinstance(node, ast.Name)]
    return list(reached.values())


def _walked(node: ast.AST, around: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Every node with the step that it stands in."""
    yield node, around
    inside = node if isinstance(node, ast.BinOp | ast.Call | ast.Compare | ast.Subscript) else around
    for child in ast.iter_child_nodes(node):
        yield from _walked(child, inside)


def _join(body: ast.FunctionDef) -> None:
    """Write a value that one statement makes and one later one takes into that one: steps are then within each
    other, whether or not their author gave them a name."""
    body.body = [_as_assignment(one) for one in body.body]
    for at in reversed(range(len(body.body))):
        made = body.body[at]
        if not (
            isinstance(made, ast.Assign) and len(made.targets) == 1 and isinstance(made.targets[0], ast.Name)
        ):
            continue
        name, uses, free = (
            made.targets[0].id,
            [],
            {one.id for one in ast.walk(made.value) if isinstance(one, ast.Name)},
        )
        stored: set[str] = set()
        for later in body.body[at + 1 :]:
            mine = [one for one in ast.walk(later) if isinstance(one, ast.Name)]
            uses += [
                (one, later, free & stored)
                for one in mine
                if one.id == name and isinstance(one.ctx, ast.Load)
            ]
            stored |= {one.id for one in mine if not isinstance(one.ctx, ast.Load)}
            if name in stored:
                break
        if len(uses) == 1 and not uses[0][2] and isinstance(uses[0][1], ast.Assign | ast.Return):
            _put(uses[0][1], uses[0][0], made.value)
            del body.body[at]


def _as_assignment(one: ast.stmt) -> ast.stmt:
    """`v += b` as `v = v + b`: of arrays that nobody else holds it is the same."""
    if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
        value = ast.BinOp(ast.Name(one.target.id, ast.Load()), one.op, one.value)
        return ast.copy_location(ast.Assign([one.target], ast.copy_location(value, one)), one)
    return one


def _put(where: ast.stmt, old: ast.AST, new: ast.AST) -> None:
    """Another node in place of one, unless that is evaluated more than once."""
    for node in ast.walk(where):
        for field, value in ast.iter_fields(node):
            if value is old:
                setattr(node, field, new)
            elif isinstance(value, list):
                value[:] = [new if one is old else one for one in value]


def _told(tree: ast.Module, pairs: _Pairs) -> ast.Module:
    """The module with other nodes, and with every step telling what it computes."""
    changed = copy.deepcopy(tree, {id(old): copy.deepcopy(new) for old, new in pairs})
    return ast.fix_missing_locations(_Telling().visit(changed))


class _Telling(ast.NodeTransformer):
    """Wraps every step of a function in a call."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._wrapped(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._wrapped(node)

    def _wrapped(self, node: ast.expr) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name(SEEN, ast.Load()), [node], []), node)
