"""What one step of a Python reference may be changed to, and how that is said."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from layoutprobe.trace.reference_names import Names, key_of

MIXED = "__layoutprobe_mixed__"
"""Name under which a changed reference finds `mixed` of `reference_changes.py`."""
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
_BOUNDS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
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


Changed = Iterator[tuple[float, str, ast.AST]]


def changed(node: ast.AST, names: Names) -> Changed:
    """Kind, sentence and node of each change of one node."""
    yield from _exchanged(node)
    for kind, make in _OF_KINDS:
        if isinstance(node, kind):
            yield from make(node, names)


def _of_operator(node: ast.BinOp, names: Names) -> Changed:
    yield from _of_division(node)
    if type(node.op) not in _SIGNS:
        return
    other, sign = _SIGNS[type(node.op)]
    without = f"without `{sign} {quoted(node.right)}`"
    yield LEFT_OUT, without, node.left
    for axis, line in ((-1, "column"), (-2, "row")):
        for odd in (True, False):
            told = f"{without} in every {'odd' if odd else 'even'} {line}"
            arguments = [node.left, node, ast.Constant(axis), ast.Constant(odd)]
            yield OTHERWISE - 0.05, told, ast.Call(ast.Name(MIXED, ast.Load()), arguments, [])
    if isinstance(node.op, ast.Add | ast.Mult):
        yield LEFT_OUT, f"without `{quoted(node.left)} {sign}`", node.right
    inner = node.left
    if isinstance(inner, ast.BinOp) and type(inner.op) in _SIGNS:
        both = f"{_SIGNS[type(inner.op)][1]} {quoted(inner.right)} {sign} {quoted(node.right)}"
        yield LEFT_OUT + 0.5, f"without `{both}`", inner.left
    changed = ast.BinOp(node.left, other(), node.right)
    yield OTHERWISE, _instead(changed, node), changed


def _of_division(node: ast.BinOp) -> Changed:
    """Quotients, remainders and what selects by bits, each for the other; of a quotient of a quotient its parts."""
    left, right = node.left, node.right
    others: list[ast.expr] = []
    if isinstance(node.op, ast.FloorDiv | ast.Mod):
        other = ast.Mod if isinstance(node.op, ast.FloorDiv) else ast.FloorDiv
        parts = [right.left, right.right] if isinstance(right, ast.BinOp) else []
        others = [ast.BinOp(left, op(), by) for by in (right, *parts) for op in (other, type(node.op))]
        others += [left]
    if isinstance(node.op, ast.FloorDiv):  # rounded up, and not
        negative = isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.USub)
        inner = left.operand if isinstance(left, ast.UnaryOp) and negative else ast.UnaryOp(ast.USub(), left)
        up = ast.BinOp(inner, ast.FloorDiv(), right)
        others.append(up if negative else ast.UnaryOp(ast.USub(), up))
    if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.LShift | ast.RShift):
        others = [left, *([right] if not isinstance(node.op, ast.LShift | ast.RShift) else [])]
    same = ast.unparse(node)
    yield from ((OTHERWISE, _instead(one, node), one) for one in others if ast.unparse(one) != same)


def _of_statement(node: ast.AugAssign, names: Names) -> Changed:
    if type(node.op) in _SIGNS:
        sign = _SIGNS[type(node.op)][1]
        kept = (
            ast.Assign([node.target], ast.Name(node.target.id, ast.Load()))
            if isinstance(node.target, ast.Name)
            else ast.Pass()
        )
        yield LEFT_OUT, f"without `{sign}= {quoted(node.value)}`", kept
        given = ast.Assign([node.target], node.value)
        yield OTHERWISE, f"with `=` in place of `{sign}=` in `{quoted(node)}`", given


def _of_call(node: ast.Call, names: Names) -> Changed:
    function = node.func
    if isinstance(function, ast.Name):
        yield from _of_builtin(node, function.id)
    if not isinstance(function, ast.Attribute):
        return
    yield from _of_method(node, function)
    if function.attr in _OF_ONE and node.args and not _is_method(node):
        yield LEFT_OUT, f"without `{_around(node, node.args[0])}`", node.args[0]
        if function.attr in ("maximum", "minimum") and len(node.args) > 1:
            yield LEFT_OUT, f"without `{_around(node, node.args[1])}`", node.args[1]
    if function.attr == "where" and len(node.args) == 3:
        for kept in node.args[1:]:
            yield LEFT_OUT, f"with `{quoted(kept)}` for all of `{quoted(node)}`", kept
    if function.attr in ("var", "std") and _is_method(node):
        squares = ast.BinOp(function.value, ast.Pow(), ast.Constant(2))
        mean = ast.Call(ast.Attribute(squares, "mean", ast.Load()), node.args, node.keywords)
        other = mean if function.attr == "var" else ast.BinOp(mean, ast.Pow(), ast.Constant(0.5))
        yield LEFT_OUT, f"with the mean left in: `{quoted(other)}` in place of `{quoted(node)}`", other
    if function.attr in _CALLS:
        other = ast.Call(
            ast.Attribute(function.value, _CALLS[function.attr], ast.Load()), node.args, node.keywords
        )
        yield (
            OTHERWISE,
            f"with `{_CALLS[function.attr]}` in place of `{function.attr}` in `{quoted(node)}`",
            other,
        )


def _of_builtin(node: ast.Call, name: str) -> Changed:
    """The least of two, the last pass of a loop."""
    if name in ("min", "max") and len(node.args) == _TWO:
        for kept in node.args:
            yield OTHERWISE, _instead(kept, node), kept
    if name == "abs" and node.args:
        yield LEFT_OUT, f"without `{_around(node, node.args[0])}`", node.args[0]
    if name == "range":
        one = ast.Constant(1)
        first, *rest = node.args if len(node.args) > 1 else [ast.Constant(0), *node.args]
        if rest:
            less = ast.BinOp(rest[0], ast.Sub(), one)
            yield (
                OTHERWISE,
                f"without the last pass of `{quoted(node)}`",
                _with_args(node, [first, less, *rest[1:]]),
            )
            more = ast.BinOp(first, ast.Add(), one)
            yield OTHERWISE, f"without the first pass of `{quoted(node)}`", _with_args(node, [more, *rest])


_TWO = 2


def _of_method(node: ast.Call, function: ast.Attribute) -> Changed:
    """A type that is not taken, magnitudes of which only the sign is lost, a running sum without what is added."""
    name, value = function.attr, function.value
    if name == "astype" and node.args:
        yield LEFT_OUT + 0.2, f"without `.astype({quoted(node.args[0])})` in `{quoted(node)}`", value
        for old, new in _OTHER_SIGN.items():
            if ast.unparse(node.args[0]).endswith(f".{old}"):
                other = _with_args(node, [ast.Attribute(ast.Name("np", ast.Load()), new, ast.Load())])
                yield LEFT_OUT + 0.2, _instead(other, node), other
    inner = value if _is_method(node) else node.args[0] if node.args else None
    if inner is None:
        return
    if name in _REDUCED:
        other = ast.Call(ast.Attribute(value, _REDUCED[name], ast.Load()), node.args, node.keywords)
        yield OTHERWISE, _instead(other, node), other
    magnitude = isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("abs")
    if name == "max" and magnitude and isinstance(inner, ast.Call) and inner.args:
        bare = copy.deepcopy(node, {id(inner): inner.args[0]})
        maximum = ast.Attribute(ast.Name("np", ast.Load()), "maximum", ast.Load())
        says = f"without `{_around(inner, inner.args[0])}` in `{quoted(node)}`, and no less than 0"
        yield LEFT_OUT, says, ast.Call(maximum, [bare, ast.Constant(0)], [])
    if name == "cumsum":
        says = f"with each one's sum of those before it: without itself in `{quoted(node)}`"
        yield LEFT_OUT + 0.2, says, ast.BinOp(node, ast.Sub(), inner)


_REDUCED = {"max": "sum", "sum": "max"}
_OTHER_SIGN = {"int8": "uint8", "uint8": "int8", "int16": "uint16", "uint16": "int16", "int32": "uint32"}


def _of_comparison(node: ast.Compare, names: Names) -> Changed:
    """Another bound, and the other side of it."""
    if len(node.ops) == 1:
        for other in _BOUNDS.get(type(node.ops[0]), ()):
            new = ast.Compare(node.left, [other()], node.comparators)
            yield OTHERWISE, _instead(new, node), new


def _of_test(node: ast.BoolOp, names: Names) -> Changed:
    """One of several tests that is not made."""
    for n in range(len(node.values)):
        left = [value for m, value in enumerate(node.values) if m != n]
        kept = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        yield LEFT_OUT, f"without `{quoted(node.values[n])}` in `{quoted(node)}`", kept


def _of_sign(node: ast.UnaryOp, names: Names) -> Changed:
    if isinstance(node.op, ast.USub | ast.Not | ast.Invert) and not isinstance(node.operand, ast.Constant):
        yield OTHERWISE, _instead(node.operand, node), node.operand


def _of_choice(node: ast.IfExp, names: Names) -> Changed:
    for kept in (node.body, node.orelse):
        yield LEFT_OUT, f"with `{quoted(kept)}` for all of `{quoted(node)}`", kept


def _of_branch(node: ast.If, names: Names) -> Changed:
    """A branch that is always taken, or never."""
    for always, says in ((True, "as if it held always"), (False, "as if it never held")):
        other = ast.If(ast.Constant(always), node.body, node.orelse)
        yield LEFT_OUT, f"`{quoted(node.test)}` {says}", other


def _of_attribute(node: ast.Attribute, names: Names) -> Changed:
    if node.attr == "T":
        yield OTHERWISE, _instead(node.value, node), node.value


def _of_name(node: ast.Name, names: Names) -> Changed:
    """Another whole number that has a name."""
    if isinstance(node.ctx, ast.Load) and node.id in names.integers:
        for other in names.integers:
            if other != node.id:
                yield NUMBER, f"with {other} in place of {node.id}", ast.Name(other, ast.Load())


def _of_subscript(node: ast.Subscript, names: Names) -> Changed:
    """Another size or argument, a slice without its bound, two indices exchanged."""
    if not isinstance(node.ctx, ast.Load):
        return
    if key := key_of(node):
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        others = names.sizes if key in names.sizes else names.keys.get(base, ())
        for name in others:
            if name != key and (name in names.sizes) == (key in names.sizes):
                kind = OTHERWISE if key in names.sizes else NUMBER  # of inputs another check knows more
                yield kind, f"with {name} in place of {key}", _at(node, ast.Constant(name))
        return
    indices = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    for n, one in enumerate(indices):
        if isinstance(one, ast.Slice):
            for bound in ("lower", "upper", "step"):
                if getattr(one, bound) is not None:
                    whole = copy.copy(one)
                    setattr(whole, bound, None)
                    other = _at(node, _indexed([*indices[:n], whole, *indices[n + 1 :]]))
                    yield OTHERWISE, _instead(other, node), other
    plain = [n for n, one in enumerate(indices) if not isinstance(one, ast.Slice | ast.Constant)]
    for n, m in pairwise(plain):
        turned = list(indices)
        turned[n], turned[m] = turned[m], turned[n]
        other = _at(node, _indexed(turned))
        yield OTHERWISE, _instead(other, node), other


def _indexed(indices: list[ast.expr]) -> ast.expr:
    return indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())


def _of_number(node: ast.Constant, names: Names) -> Changed:
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


def _at(node: ast.Subscript, index: ast.expr) -> ast.expr:
    return ast.Subscript(node.value, index, ast.Load())


def _with_args(node: ast.Call, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, arguments, node.keywords)


def _instead(new: ast.AST, old: ast.AST) -> str:
    return f"with `{quoted(new)}` in place of `{quoted(old)}`"


def _around(node: ast.AST, main: ast.AST) -> str:
    """A step with dots for what goes through it."""
    dots: Any = ast.Constant(...)
    text = ast.unparse(copy.deepcopy(node, {id(main): dots}))
    return _short(text.removeprefix("... ").strip())


def quoted(node: ast.AST) -> str:
    """Text of a node, as a sentence has it."""
    return _short(ast.unparse(node))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


_OF_KINDS: tuple[tuple[type[ast.AST], Callable[[Any, Names], Changed]], ...] = (
    (ast.BinOp, _of_operator),
    (ast.AugAssign, _of_statement),
    (ast.Call, _of_call),
    (ast.Compare, _of_comparison),
    (ast.BoolOp, _of_test),
    (ast.UnaryOp, _of_sign),
    (ast.IfExp, _of_choice),
    (ast.If, _of_branch),
    (ast.Attribute, _of_attribute),
    (ast.Name, _of_name),
    (ast.Subscript, _of_subscript),
    (ast.Constant, _of_number),
)
"""Who changes what kind of node."""
