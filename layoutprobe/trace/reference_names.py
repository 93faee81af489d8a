"""What the functions of a Python reference have names for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct


class Names(Struct, frozen=True):
    """What a function has names for.

    Attributes:
        sizes: of the kernel.
        integers: its own names for whole numbers.
        keys: of arguments: name -> keys that are asked of it.
    """

    sizes: tuple[str, ...]
    integers: tuple[str, ...]
    keys: dict[str, tuple[str, ...]]


def names_in(body: ast.AST, sizes: Sequence[str]) -> Names:
    """What has names in a function. Args: body: of it; sizes: of the kernel."""
    return Names(tuple(sizes), tuple(_integers(body, sizes)), _keys(body))


def key_of(node: ast.Subscript) -> str:
    """What a dictionary is asked for."""
    value = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _keys(body: ast.AST) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and (key := key_of(node)):
            found.setdefault(node.value.id, {})[key] = None
    return {name: tuple(keys) for name, keys in found.items()}


def _integers(body: ast.AST, sizes: Sequence[str]) -> Iterator[str]:
    """Names that are given sizes, whole numbers, or what is computed of those."""
    known = dict[str, None]()

    def whole(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in known
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Subscript):
            return key_of(node) in sizes or (
                isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            )
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, ast.Div) and whole(node.left) and whole(node.right)
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        return called in ("int", "len") or (
            called in ("min", "max") and isinstance(node, ast.Call) and all(map(whole, node.args))
        )

    for node in ast.walk(body):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            known.setdefault(node.target.id)
        for target, value in _given(node):
            shape = isinstance(value, ast.Attribute) and value.attr == "shape"
            if isinstance(target, ast.Tuple) and shape:
                known.update((one.id, None) for one in target.elts if isinstance(one, ast.Name))
            elif isinstance(target, ast.Name) and whole(value):
                known.setdefault(target.id)
    yield from known


def _given(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What an assignment gives a value, and which."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value
