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

SEEN = "__layoutprobe_seen__"
"""Name of the function that is called with what every step computes."""
MIXED = "__layoutprobe_mixed__"
"""Name under which a changed reference finds `mixed`."""
_PURE = frozenset(
    {"__future__", "collections", "functools", "itertools", "math", "numpy", "typing", "ml_dtypes"}
)
"""What a file may import whose text is changed: nothing that reaches beyond arrays."""
_REACHING = frozenset(
    {"load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "memmap", "dump", "open",
     "exec", "eval", "compile", "input", "breakpoint", "__import__", "getattr", "setattr", "ctypeslib"}
)  # fmt: skip
_LONGEST = 60
"""Characters of a step that are quoted."""

_DEEPEST = 5
"""Steps that one is looked for behind."""

LEFT_OUT, EXCHANGED, OTHERWISE, NUMBER = range(4)
"""Kinds of changes, the likeliest first."""

_SIGNS: dict[type[ast.operator], tuple[type[ast.operator], str]] = {
    ast.Add: (ast.Sub, "+"),
    ast.Sub: (ast.Add, "-"),
    ast.Mult: (ast.Div, "*"),
    ast.Div: (ast.Mult, "/"),
    ast.Pow: (ast.Mult, "**"),
}
_BOUNDS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_OF_ONE = frozenset(
    {"exp", "sqrt", "tanh", "abs", "square", "log", "rint", "round", "floor", "maximum", "minimum", "clip"}
)
"""Functions of numpy that may be left out: what is left is the first argument."""
_CALLS = {
    "exp": "exp2",
    "exp2": "exp",
    "log": "log2",
    "log2": "log",
    "max": "min",
    "mean": "sum",
    "sum": "mean",
    "maximum": "minimum",
    "minimum": "maximum",
    "tril": "triu",
    "triu": "tril",
}


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
    found = []
    for body in _reached(tree, function):
        _join(body)
        found += [
            (kind, node, says + (f" in `{_quoted(around)}`" if kind == NUMBER else ""), other)
            for node, around in _walked(body, body)
            for kind, says, other in _changed(node, sizes)
        ]
    usual = _told(tree, ast.Pass(), ast.Pass())
    for kind, node, says, other in sorted(found, key=lambda one: one[0]):
        yield Change(says, getattr(node, "lineno", 0), kind, _told(tree, node, other), usual)


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


def _told(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    """The module with another node, and with every step telling what it computes."""
    changed = copy.deepcopy(tree, {id(old): copy.deepcopy(new)})
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


Changed = Iterator[tuple[float, str, ast.AST]]


def _changed(node: ast.AST, sizes: Sequence[str]) -> Changed:
    """Kind, sentence and node of each change of one node."""
    yield from _exchanged(node)
    if isinstance(node, ast.BinOp):
        yield from _of_operator(node)
    elif isinstance(node, ast.AugAssign):
        yield from _of_statement(node)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _BOUNDS:
        other = ast.Compare(node.left, [_BOUNDS[type(node.ops[0])]()], node.comparators)
        yield OTHERWISE, _instead(other, node), other
    elif (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and not isinstance(node.operand, ast.Constant)
    ):
        yield OTHERWISE, _instead(node.operand, node), node.operand
    elif isinstance(node, ast.Constant):
        yield from _of_number(node)
    elif (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in sizes
    ):
        for name in sizes:
            if name != node.slice.value:
                yield OTHERWISE, f"with {name} in place of {node.slice.value!s}", _at(node, name)


def _of_operator(node: ast.BinOp) -> Changed:
    if type(node.op) not in _SIGNS:
        return
    other, sign = _SIGNS[type(node.op)]
    without = f"without `{sign} {_quoted(node.right)}`"
    yield LEFT_OUT, without, node.left
    for axis, line in ((-1, "column"), (-2, "row")):
        for odd in (True, False):
            told = f"{without} in every {'odd' if odd else 'even'} {line}"
            arguments = [node.left, node, ast.Constant(axis), ast.Constant(odd)]
            yield OTHERWISE - 0.05, told, ast.Call(ast.Name(MIXED, ast.Load()), arguments, [])
    if isinstance(node.op, ast.Add | ast.Mult):
        yield LEFT_OUT, f"without `{_quoted(node.left)} {sign}`", node.right
    inner = node.left
    if isinstance(inner, ast.BinOp) and type(inner.op) in _SIGNS:
        both = f"{_SIGNS[type(inner.op)][1]} {_quoted(inner.right)} {sign} {_quoted(node.right)}"
        yield LEFT_OUT + 0.5, f"without `{both}`", inner.left
    changed = ast.BinOp(node.left, other(), node.right)
    yield OTHERWISE, _instead(changed, node), changed


def _of_statement(node: ast.AugAssign) -> Changed:
    if type(node.op) in _SIGNS:
        sign = _SIGNS[type(node.op)][1]
        kept = (
            ast.Assign([node.target], ast.Name(node.target.id, ast.Load()))
            if isinstance(node.target, ast.Name)
            else ast.Pass()
        )
        yield LEFT_OUT, f"without `{sign}= {_quoted(node.value)}`", kept


def _of_call(node: ast.Call) -> Changed:
    function = node.func
    if not isinstance(function, ast.Attribute):
        return
    if function.attr in _OF_ONE and node.args and not _is_method(node):
        yield LEFT_OUT, f"without `{_around(node, node.args[0])}`", node.args[0]
        if function.attr in ("maximum", "minimum") and len(node.args) > 1:
            yield LEFT_OUT, f"without `{_around(node, node.args[1])}`", node.args[1]
    if function.attr == "where" and len(node.args) == 3:
        for kept in node.args[1:]:
            yield LEFT_OUT, f"with `{_quoted(kept)}` for all of `{_quoted(node)}`", kept
    if function.attr in ("var", "std") and _is_method(node):
        squares = ast.BinOp(function.value, ast.Pow(), ast.Constant(2))
        mean = ast.Call(ast.Attribute(squares, "mean", ast.Load()), node.args, node.keywords)
        other = mean if function.attr == "var" else ast.BinOp(mean, ast.Pow(), ast.Constant(0.5))
        yield LEFT_OUT, f"with the mean left in: `{_quoted(other)}` in place of `{_quoted(node)}`", other
    if function.attr in _CALLS:
        other = ast.Call(
            ast.Attribute(function.value, _CALLS[function.attr], ast.Load()), node.args, node.keywords
        )
        yield (
            OTHERWISE,
            f"with `{_CALLS[function.attr]}` in place of `{function.attr}` in `{_quoted(node)}`",
            other,
        )


def _of_number(node: ast.Constant) -> Changed:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    others: list[float] = [value + 1, value - 1]
    if isinstance(value, int):
        others += [2 * value, value // 2] if abs(value) > 1 else []
    else:
        others = [2 * value, value / 2, -value, *([1 / value, value * value] if value else [])]
    for other in dict.fromkeys(others):
        yield NUMBER, f"with {other:g} in place of {value:g}", ast.Constant(other)


def _exchanged(node: ast.AST) -> Changed:
    """A step that is made later than it should be: `(x + b) * a` for `x * a + b`."""
    for way in _ways(node):
        for depth in range(1, len(way)):
            inner, at = way[depth]
            if isinstance(inner, ast.BinOp) and type(inner.op) not in _SIGNS:
                continue
            kept = _main(inner, at)
            for outer, place in reversed(way[:depth]):
                kept = _with_main(outer, place, kept)
            says = (
                f"with `{_around(inner, _main(inner, at))}` behind `{_around(node, _main(node, way[0][1]))}`"
            )
            yield EXCHANGED + depth / (_DEEPEST + 1), says, _with_main(inner, at, kept)


def _ways(node: ast.AST) -> Iterator[list[tuple[ast.AST, str]]]:
    """Steps that are made one after the other, the last one first, each with the operand that is the one before."""
    for at in _mains(node):
        below = list(_ways(_main(node, at)))
        yield from ([(node, at), *way] for way in below or [[]] if len(way) < _DEEPEST)


def _mains(node: ast.AST) -> tuple[str, ...]:
    """Which operands of a step may be the one that goes on."""
    if isinstance(node, ast.BinOp) and type(node.op) in (*_SIGNS, ast.MatMult):
        return ("left", "right") if isinstance(node.op, ast.Add | ast.Mult | ast.MatMult) else ("left",)
    one = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_ONE
    return ("args",) if one and isinstance(node, ast.Call) and node.args and not _is_method(node) else ()


def _main(node: ast.AST, at: str) -> ast.AST:
    found: Any = getattr(node, at)
    main: ast.AST = found[0] if at == "args" else found
    return main


def _with_main(node: ast.AST, at: str, main: ast.AST) -> ast.AST:
    made = copy.copy(node)
    setattr(made, at, [main, *getattr(node, at)[1:]] if at == "args" else main)
    return made


def _is_method(node: ast.Call) -> bool:
    """Of an array, and no function of numpy."""
    value = node.func.value if isinstance(node.func, ast.Attribute) else None
    return not (isinstance(value, ast.Name) and value.id in ("np", "numpy", "math"))


def _at(node: ast.Subscript, name: str) -> ast.AST:
    return ast.Subscript(node.value, ast.Constant(name), ast.Load())


def _instead(new: ast.AST, old: ast.AST) -> str:
    return f"with `{_quoted(new)}` in place of `{_quoted(old)}`"


def _around(node: ast.AST, main: ast.AST) -> str:
    """A step with dots for what goes through it."""
    dots: Any = ast.Constant(...)
    text = ast.unparse(copy.deepcopy(node, {id(main): dots}))
    return _short(text.removeprefix("... ").strip())


def _quoted(node: ast.AST) -> str:
    return _short(ast.unparse(node))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
