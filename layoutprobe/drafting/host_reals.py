"""Numbers with a point that host code computes of constants: 1.0f / sqrtf((float)HEAD_DIM)."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

_CAST = re.compile(
    r"\(\s*(?:float|double)\s*\)|static_cast\s*<\s*(?:float|double)\s*>|\b(?:float|double)(?=\s*\()"
)
_SUFFIX = re.compile(r"((?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)[fF]\b")
_QUALIFIED = re.compile(r"\bstd::")
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "sqrtf": math.sqrt, "rsqrtf": lambda x: 1 / math.sqrt(x), "log2f": math.log2,
    "exp2f": lambda x: 2.0**x, "expf": math.exp, "logf": math.log,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
}  # fmt: skip
_LONGEST, _DEEPEST = 400, 32


def real(text: str) -> float | None:
    """What an expression without names comes to; None for one of integers alone, and for any other text."""
    if len(text) > _LONGEST or "~" in text:
        return None
    # A cast binds as a sign does. It is written as ~, which host code has no use for here.
    plain = _SUFFIX.sub(r"(~\1)", _CAST.sub("~", _QUALIFIED.sub("", text)))
    try:
        value = _value(ast.parse(plain.strip(), mode="eval").body, 0)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _value(node: ast.expr, depth: int) -> float:
    """The number at a node: an int where C++ has one.

    Raises:
        ValueError: it has none.
        ArithmeticError: as Python raises it.
    """
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, (int, float))
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.USub)):
        inner = _value(node.operand, depth + 1)
        return float(inner) if isinstance(node.op, ast.Invert) else -inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, depth + 1), _value(node.right, depth + 1)
        if isinstance(node.op, ast.Div):
            whole = isinstance(left, int) and isinstance(right, int)
            return int(left / right) if whole else left / right
        if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](left, right)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and len(node.args) == 1
        and not node.keywords
    ):
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return function(_value(node.args[0], depth + 1))
    raise ValueError("no number")
