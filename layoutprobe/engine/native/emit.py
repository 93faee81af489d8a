"""Expressions of a traced row -> statements of C, for `c/numbers.h`.

A wide value is a vector with an element per lane; a wide truth value is a `mask`, a bit per lane. An f16 is
kept as its bits and computed in f32, which rounds as numpy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutprobe.engine.native.tracing import Node, UntraceableError, cast

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "bitwise_and": "&", "bitwise_or": "|",
          "bitwise_xor": "^", "logical_and": "&", "logical_or": "|"}  # fmt: skip
_ON_BOOLS = {"add": "|", "multiply": "&"}
_COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
            "not_equal": "!="}  # fmt: skip
_ELEMENTWISE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven", "sqrt": "sqrt"}
"""Those that every compiler rounds as numpy does. exp2, log2, sin and cos are not: see
semantics/powers.py."""
_FRACTION = {2: 10, 4: 23, 8: 52}
"""Bits of the fraction of a float, by its bytes."""
_F32 = np.dtype(np.float32)


def c_type(dtype: Any) -> str:
    """Name of an element type in C."""
    dtype = np.dtype(dtype)
    return "b1" if dtype == np.bool_ else f"{dtype.kind}{8 * dtype.itemsize}"


def _unsigned(dtype: np.dtype[Any], letter: str = "u") -> str:
    return f"{letter}{8 * dtype.itemsize}"


def _is_half(dtype: np.dtype[Any]) -> bool:
    return dtype == np.float16


class Emitter:
    """Statements `const T tN = ...;`, each value once.

    Attributes:
        lines: the statements so far.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Any, str] = {}

    def name(self, type_: str, expression: str) -> str:
        """A variable that holds the value of an expression."""
        key = (type_, expression)
        if key not in self._names:
            self._names[key] = f"t{len(self.lines)}"
            self.lines.append(f"const {type_} t{len(self.lines)} = {expression};")
        return self._names[key]

    def type_of(self, node: Node) -> str:
        """C type of a node's variable."""
        if node.dtype == np.bool_:
            return "mask" if node.wide else "b1"
        return ("v_" if node.wide else "") + c_type(node.dtype)

    def value(self, node: Node, *, wide: bool | None = None) -> str:
        """A C expression without side effects for a node; a scalar is spread over lanes where `wide` asks."""
        text = self._text(node)
        if not wide or node.wide:
            return text
        if node.dtype == np.bool_:
            return self.name("mask", f"SPLATB({text})")
        return f"((v_{c_type(node.dtype)})({text}))"

    def _text(self, node: Node) -> str:
        if node.op == "const":
            return _literal(node.args[0])
        if node.op == "source":
            return self.name(self.type_of(node), str(node.args[0]))
        return self.name(self.type_of(node), self._expression(node))

    def _expression(self, node: Node) -> str:
        op, dtype = node.op, node.dtype
        if op == "lanes":
            if dtype == np.bool_:
                return f"(mask){sum(int(b) << n for n, b in enumerate(node.args[0])):#x}ull"
            return f"({self.type_of(node)}){{{', '.join(_literal(v) for v in node.args[0])}}}"
        if any(_is_half(a.dtype) for a in node.args) and op in _HALVES:
            return self._halves(node)
        if op in _INFIX:
            return self._infix(node)
        if op in _COMPARE:
            return self._comparison(node)
        rule = _RULES.get(op)
        if rule is None:
            raise UntraceableError(op)
        return rule(self, node, *(self.value(a, wide=node.wide) for a in node.args))

    def _halves(self, node: Node) -> str:
        """Arithmetic of f16: in f32, rounded to f16."""
        widened = tuple(cast(a, np.float32) if _is_half(a.dtype) else a for a in node.args)
        inner = Node(node.op, widened, _F32 if _is_half(node.dtype) else node.dtype, node.wide)
        return self.value(cast(inner, np.float16)) if _is_half(node.dtype) else self.value(inner)

    def _infix(self, node: Node) -> str:
        a, b = (self.value(x, wide=node.wide) for x in node.args)
        if node.dtype == np.bool_:
            sign = _ON_BOOLS.get(node.op, _INFIX[node.op])
            return f"{a} {sign} {b}"
        return (
            f"{a} {_INFIX[node.op]} {b}"
            if node.wide
            else f"({c_type(node.dtype)})({a} {_INFIX[node.op]} {b})"
        )

    def _comparison(self, node: Node) -> str:
        a, b = (self.value(x, wide=node.wide) for x in node.args)
        if node.args[0].dtype != np.bool_:
            return f"MASK({a} {_COMPARE[node.op]} {b})" if node.wide else f"{a} {_COMPARE[node.op]} {b}"
        if node.op not in ("equal", "not_equal"):
            raise UntraceableError(f"{node.op} of truth values")
        if not node.wide:
            return f"{a} {_COMPARE[node.op]} {b}"
        return f"{a} ^ {b}" if node.op == "not_equal" else f"~({a} ^ {b})"

    def chosen(self, wide: bool, condition: str, yes: str, no: str) -> str:
        """`condition ? yes : no`, lane by lane."""
        return f"bools({condition}) ? {yes} : {no}" if wide else f"{condition} ? {yes} : {no}"

    def truth(self, wide: bool, comparison: str) -> str:
        """A variable of a comparison."""
        return self.name("mask", f"MASK({comparison})") if wide else self.name("b1", comparison)


def _literal(value: Any) -> str:
    dtype = value.dtype
    if dtype == np.bool_:
        return "1" if value else "0"
    raw = int.from_bytes(value.tobytes(), "little")
    if dtype.kind == "f" and dtype.itemsize > 2:
        return f"AS({c_type(dtype)}, ({_unsigned(dtype)}){raw:#x}ull)"
    return f"(({c_type(dtype)}){raw:#x}ull)"


# One function per operation: emitter, node, C of each operand -> C of the result.

Rule = Callable[..., str]


def _view(e: Emitter, node: Node, a: str) -> str:
    if {c_type(node.dtype), c_type(node.args[0].dtype)} <= {"f16", "u16"}:
        return a
    return f"AS({e.type_of(node)}, {a})"


def _where(e: Emitter, node: Node, condition: str, yes: str, no: str) -> str:
    if node.dtype == np.bool_ and node.wide:
        return f"({condition} & {yes}) | (~{condition} & {no})"
    return e.chosen(node.wide, condition, yes, no)


def _convert(e: Emitter, text: str, to: str, wide: bool) -> str:
    return f"CV({text}, v_{to})" if wide else f"({to})({text})"


def _cast(e: Emitter, node: Node, a: str) -> str:
    start, end, wide = node.args[0].dtype, node.dtype, node.wide
    if end == np.bool_:
        return e.truth(wide, f"{a} != 0") if not _is_half(start) else e.truth(wide, f"({a} & 0x7fff) != 0")
    if start == np.bool_:
        one = _literal(end.type(1))
        kind = f"(v_{c_type(end)})" if wide else ""
        return e.chosen(wide, a, f"{kind}({one})", f"{kind}({_literal(end.type(0))})")
    if _is_half(start):
        return _from_half(e, node, a)
    if _is_half(end):
        return _to_half(e, node, a)
    return _convert(e, a, c_type(end), wide)


def _spread(e: Emitter, text: str, kind: str, wide: bool) -> str:
    return text if wide else f"((v_{kind})({text}))"


def _from_half(e: Emitter, node: Node, a: str) -> str:
    full = f"f32_of_f16({_spread(e, a, 'u16', node.wide)})" + ("" if node.wide else "[0]")
    return full if node.dtype == _F32 else _convert(e, full, c_type(node.dtype), node.wide)


def _to_half(e: Emitter, node: Node, a: str) -> str:
    start = node.args[0].dtype
    if start.kind != "f":
        if start.itemsize > 2:
            raise UntraceableError("a wide integer to f16")
        a, start = _convert(e, a, "f32", node.wide), _F32
    function = "f16_of_f64" if start.itemsize == 8 else "f16_of_f32"
    return f"{function}({_spread(e, a, c_type(start), node.wide)})" + ("" if node.wide else "[0]")


def _not(e: Emitter, node: Node, a: str) -> str:
    if node.dtype == np.bool_:
        return f"~{a}" if node.wide else f"!{a}"
    return f"({e.type_of(node)})~{a}"


def _negative(e: Emitter, node: Node, a: str) -> str:
    if _is_half(node.dtype):
        return f"({e.type_of(node)})({a} ^ (u16)0x8000)"
    return f"({e.type_of(node)})-{a}"


def _shift(sign: str) -> Rule:
    def rule(e: Emitter, node: Node, a: str, b: str) -> str:
        width, type_ = 8 * node.dtype.itemsize, e.type_of(node)
        if _below(node.args[1], width):
            return f"({type_})({a} {sign} {b})"
        unsigned = ("v_" if node.wide else "") + _unsigned(node.dtype)
        amount = e.name(unsigned, f"AS({unsigned}, {b})" if node.wide else f"({unsigned}){b}")
        over = e.truth(node.wide, f"{amount} >= ({_unsigned(node.dtype)}){width}")
        safe = f"({type_})({amount} & ({_unsigned(node.dtype)}){width - 1})"
        if node.wide:
            safe = f"AS({type_}, {amount} & ({_unsigned(node.dtype)}){width - 1})"
        zero = f"({type_})({c_type(node.dtype)})0"
        fill = zero
        if node.dtype.kind == "i" and sign == ">>":
            fill = f"({type_})({a} >> ({type_})({c_type(node.dtype)}){width - 1})"
        return e.chosen(node.wide, over, fill, f"({type_})({a} {sign} {safe})")

    return rule


def _below(node: Node, limit: int) -> bool:
    """A shift amount that is surely in range."""
    if node.op == "const":
        return 0 <= int(node.args[0]) < limit
    if node.op in ("cast", "view"):
        return node.args[0].dtype.kind in "iub" and _below(node.args[0], limit)
    return node.op == "bitwise_and" and any(
        a.op == "const" and 0 <= int(a.args[0]) < limit for a in node.args
    )


def _extreme(sign: str, number_wins: bool) -> Rule:
    """minimum, maximum (a NaN wins), fmin and fmax (a number wins)."""

    def rule(e: Emitter, node: Node, a: str, b: str) -> str:
        wide = node.wide
        first = e.truth(wide, f"{a} {sign} {b}")
        if node.dtype.kind != "f":
            return e.chosen(wide, first, a, b)
        a_nan, b_nan = e.truth(wide, f"{a} != {a}"), e.truth(wide, f"{b} != {b}")
        picked = e.name(e.type_of(node), e.chosen(wide, first, a, b))
        if number_wins:
            inner = e.name(e.type_of(node), e.chosen(wide, b_nan, a, picked))
            return e.chosen(wide, a_nan, b, inner)
        inner = e.name(e.type_of(node), e.chosen(wide, b_nan, b, picked))
        return e.chosen(wide, a_nan, a, inner)

    return rule


def _absolute(e: Emitter, node: Node, a: str) -> str:
    unsigned, type_ = _unsigned(node.dtype), e.type_of(node)
    if node.dtype.kind == "f":
        most = f"({unsigned}){(1 << 8 * node.dtype.itemsize - 1) - 1:#x}ull"
        if _is_half(node.dtype):
            return f"({type_})({a} & {most})"
        return f"AS({type_}, AS({'v_' if node.wide else ''}{unsigned}, {a}) & {most})"
    if node.dtype.kind == "u":
        return a
    return e.chosen(node.wide, e.truth(node.wide, f"{a} < 0"), f"({type_})-{a}", a)


def _class(template: str) -> Rule:
    """isnan, isinf, isfinite, signbit: comparisons of the bits without the sign (m) with infinity's."""

    def rule(e: Emitter, node: Node, a: str) -> str:
        dtype = node.args[0].dtype
        width, fraction, unsigned = 8 * dtype.itemsize, _FRACTION[dtype.itemsize], _unsigned(dtype)
        type_ = ("v_" if node.wide else "") + unsigned
        raw = e.name(type_, a if _is_half(dtype) else f"AS({type_}, {a})")
        most, infinity = (1 << width - 1) - 1, ((1 << width - 1 - fraction) - 1) << fraction
        size = e.name(type_, f"({type_})({raw} & ({unsigned}){most:#x}ull)")
        limits = (f"({unsigned}){infinity:#x}ull", f"({unsigned}){most:#x}ull")
        return e.truth(node.wide, template.format(m=size, raw=raw, inf=limits[0], most=limits[1]))

    return rule


def _elementwise(name: str) -> Rule:
    return lambda e, node, a: f"__builtin_elementwise_{name}({a})"


def _reciprocal(e: Emitter, node: Node, a: str) -> str:
    return f"({e.type_of(node)}){_literal(node.dtype.type(1))} / {a}"


def _remainder(e: Emitter, node: Node, a: str, b: str) -> str:
    by = node.args[1]
    if by.op != "const" or node.dtype.kind not in "iu" or int(by.args[0]).bit_count() != 1:
        raise UntraceableError("a remainder")
    return f"({e.type_of(node)})({a} & {_literal(node.dtype.type(int(by.args[0]) - 1))})"


def _count(e: Emitter, node: Node, a: str) -> str:
    return _convert(e, f"__builtin_elementwise_popcount({a})", "u8", node.wide)


def _fused(e: Emitter, node: Node, a: str, b: str, c: str) -> str:
    return f"__builtin_{'elementwise_' if node.wide else ''}fma({a}, {b}, {c})"


def _by_f64(function: str, takes: tuple[str, ...]) -> Rule:
    """frexp and ldexp, which `numbers.h` has for vectors of f64."""

    def rule(e: Emitter, node: Node, *operands: str) -> str:
        parts = []
        for node_in, text, kind in zip(node.args, operands, takes, strict=True):
            if _is_half(node_in.dtype):
                text = f"f64_of_f16({_spread(e, text, 'u16', node.wide)})" + ("" if node.wide else "[0]")
            elif c_type(node_in.dtype) != kind:
                text = _convert(e, text, kind, node.wide)
            parts.append(_spread(e, text, kind, node.wide))
        out = f"{function}({', '.join(parts)})"
        if _is_half(node.dtype):
            out = f"f16_of_f64({out})"
        out += "" if node.wide else "[0]"
        return out if _is_half(node.dtype) else _convert(e, out, c_type(node.dtype), node.wide)

    return rule


_RULES: dict[str, Rule] = {
    "view": _view, "where": _where, "cast": _cast, "invert": _not, "logical_not": _not, "negative": _negative,
    "positive": lambda e, node, a: a, "left_shift": _shift("<<"), "right_shift": _shift(">>"),
    "minimum": _extreme("<", False), "maximum": _extreme(">", False), "fmin": _extreme("<", True),
    "fmax": _extreme(">", True), "absolute": _absolute, "reciprocal": _reciprocal, "remainder": _remainder,
    "bitwise_count": _count, "isnan": _class("{m} > {inf}"), "isinf": _class("{m} == {inf}"),
    "isfinite": _class("{m} < {inf}"), "signbit": _class("{raw} > {most}"),
    "frexp0": _by_f64("frexp0", ("f64",)), "frexp1": _by_f64("frexp1", ("f64",)),
    "ldexp": _by_f64("ldexp_", ("f64", "i32")), "fused": _fused,
    **{ufunc: _elementwise(name) for ufunc, name in _ELEMENTWISE.items()},
}  # fmt: skip
_HALVES = {*_INFIX, *_COMPARE, *_ELEMENTWISE, "minimum", "maximum", "fmin", "fmax", "reciprocal", "remainder"}
"""Operations that an f16 goes through as f32."""
