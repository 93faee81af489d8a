"""From the syntax tree to closures over a Frame: expressions.

A program is translated once and run often. Every expression becomes a function of the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from . import builtins
from . import softfloat as sf
from .errors import PcodeFault, PcodeSyntax
from .lanes import Ints, PartedError, apart, decided, each, joined, same
from .state import Binding, Frame
from .syntax import (
    Binary,
    Call,
    Cast,
    Choice,
    Concat,
    Expr,
    Index,
    LambdaExpr,
    Member,
    Name,
    Number,
    PartSelect,
    Slice,
    Unary,
)
from .values import (
    Value,
    bit_slice,
    boolean,
    cast,
    concat,
    float_format,
    parse_type,
    recast_float,
    truth,
    unsigned,
    view,
)

Evaluator: TypeAlias = Callable[[Frame], Value]
# Runs another operation's text as a function: `v_min_f32(a, b)`.
Invoker: TypeAlias = Callable[[Frame, str, list[Value]], Value]

_STATUS_WORDS = {"WAVE_MODE", "WAVE_STATUS"}


class Expressions:
    """Translates expressions; `invoke` runs instructions that the text calls by name."""

    def __init__(self, invoke: Invoker) -> None:
        self._invoke = invoke

    def value(self, node: Expr) -> Evaluator:
        """A function that gives the node's value in a frame.

        Raises:
            PcodeSyntax: for a node that has no value.
        """
        match node:
            case Number(literal):
                return _number(literal.kind, literal.width, literal.value)
            case Name(text):
                return lambda frame: _scalar(frame, text, frame.lookup(text))
            case Member():
                return self._member(node)
            case Index():
                return self._index(node)
            case Slice(base, high, low):
                b, h, w = self.value(base), self.value(high), self.value(low)
                return lambda frame: bit_slice(b(frame), h(frame).payload, w(frame).payload)
            case PartSelect(base, low, width):
                b, h, w = self.value(base), self.value(low), self.value(width)
                return lambda frame: unsigned(same(w(frame).payload), b(frame).payload >> h(frame).payload)
            case Unary(op, operand):
                return _unary(op, self.value(operand))
            case Binary():
                return self._binary(node)
            case Choice(test, yes, no):
                t, y, n = self.value(test), self.value(yes), self.value(no)
                return lambda frame: _choose(frame, t, y, n)
            case Cast(kind, width, operand):
                inner, is_hex = self.value(operand), isinstance(operand, Number) and operand.literal.is_hex
                return lambda frame: cast(inner(frame), kind, width, is_hex)
            case Call(function, arguments):
                return self._call(function, [self.value(a) for a in arguments])
            case Concat(parts):
                evaluators = [self.value(p) for p in parts]
                return lambda frame: concat([e(frame) for e in evaluators])
            case LambdaExpr():
                raise PcodeSyntax("a lambda is no value")

    def _member(self, node: Member) -> Evaluator:
        base, field = node.base, node.field
        if isinstance(base, Name) and base.text in _STATUS_WORDS:
            word = f"{base.text}.{field}"
            return lambda frame: _scalar(frame, word, frame.lookup(word))
        kind, width = parse_type(field)
        if isinstance(base, Index) and base.base == Name("MEM"):
            address = self.value(base.at)
            return lambda frame: view(
                Value("B", width, frame.load(same(address(frame).payload), width)), kind, width
            )
        inner = self.value(base)
        return lambda frame: view(inner(frame), kind, width)

    def _index(self, node: Index) -> Evaluator:
        at = self.value(node.at)
        if isinstance(node.base, Index) and node.base.base == Name("VGPR"):
            lane = self.value(node.base.at)
            return lambda frame: frame.read_vgpr(same(lane(frame).payload), same(at(frame).payload))
        if isinstance(node.base, Name):
            name = node.base.text
            return lambda frame: _element(frame, name, frame.lookup(name), at(frame).payload)
        base = self.value(node.base)
        return lambda frame: unsigned(1, base(frame).payload >> at(frame).payload)

    def _binary(self, node: Binary) -> Evaluator:
        a, b, op = self.value(node.left), self.value(node.right), node.op
        if op == "&&":
            return lambda frame: _choose(frame, a, lambda rest: boolean(truth(b(rest))), _no)
        if op == "||":
            return lambda frame: _choose(frame, a, _yes, lambda rest: boolean(truth(b(rest))))
        integer = _INTEGER[op]
        return lambda frame: _apply(frame, op, integer, a(frame), b(frame))

    def _call(self, name: str, arguments: list[Evaluator]) -> Evaluator:
        builtin = builtins.find(name)
        if builtin is not None:
            found = builtin
            return lambda frame: found(frame, [a(frame) for a in arguments])
        if name.startswith("v_"):
            return lambda frame: self._invoke(frame, name, [a(frame) for a in arguments])

        def call_lambda(frame: Frame) -> Value:
            function = frame.names.get(name)
            if function is None or isinstance(function, Value | list):
                raise PcodeFault(f"{frame.op}: no function {name}")
            return function(frame, [a(frame) for a in arguments])

        return call_lambda


def _choose(frame: Frame, test: Evaluator, yes: Evaluator, no: Evaluator) -> Value:
    """What each lane's test picks; nothing is evaluated for a lane that does not want it."""
    chosen = decided(truth(test(frame)))
    if isinstance(chosen, bool):
        return yes(frame) if chosen else no(frame)
    with apart(chosen):
        one, other = yes(frame.of_lanes(chosen)), no(frame.of_lanes(~chosen))
    if one[:2] != other[:2]:
        raise PartedError(chosen)
    return one._replace(payload=joined(chosen, one.payload, other.payload))


def _yes(frame: Frame) -> Value:
    return boolean(True)


def _no(frame: Frame) -> Value:
    return boolean(False)


def _number(kind: str, width: int, number: int | float) -> Evaluator:
    if kind == "F":
        fmt = float_format(Value("F", width, 0))
        constant = Value("F", width, sf.from_float(fmt, float(number)))
    else:
        constant = Value(kind, width, int(number))
    return lambda frame: constant


def _scalar(frame: Frame, name: str, binding: Binding) -> Value:
    if not isinstance(binding, Value):
        raise PcodeFault(f"{frame.op}: {name} is no scalar")
    return binding


def _element(frame: Frame, name: str, binding: Binding, at: Ints) -> Value:
    """An array element, or a bit of a scalar."""
    if isinstance(binding, list):
        at = same(at)
        if not 0 <= at < len(binding):
            raise PcodeFault(f"{frame.op}: {name}[{at}] of {len(binding)}")
        return binding[at]
    return unsigned(1, _scalar(frame, name, binding).payload >> at)


def _unary(op: str, operand: Evaluator) -> Evaluator:
    def negative(frame: Frame) -> Value:
        value = operand(frame)
        if value.is_float:
            return value._replace(payload=value.payload ^ float_format(value).sign)
        return value._replace(payload=-value.payload)

    def complement(frame: Frame) -> Value:
        value = operand(frame)
        if value.kind == "I":
            return value._replace(payload=~value.payload)
        return unsigned(value.width, ~value.payload)

    if op == "!":
        return lambda frame: boolean(operand(frame).payload == 0)
    return {"-": negative, "~": complement, "+": operand}[op]


_INTEGER: dict[str, Callable[[Ints, Ints], Ints]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    # Towards minus infinity, so that `addr / 4 % 32` drops high bits of a negative number too, as the
    # text of DS_BPERMUTE says of them.
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "**": lambda a, b: a**b,
}
_COMPARISONS: dict[str, Callable[[bool, bool, bool], bool]] = {
    "==": lambda below, above, equal: equal,
    "!=": lambda below, above, equal: not equal,
    "<>": lambda below, above, equal: below or above,
    "<": lambda below, above, equal: below,
    "<=": lambda below, above, equal: below or equal,
    ">": lambda below, above, equal: above,
    ">=": lambda below, above, equal: above or equal,
}
"""Of floats, from what is known of them: a below b, above it, equal."""
_SHIFTS = {"<<", ">>"}


def _apply(frame: Frame, op: str, integer: Callable[[Ints, Ints], Ints], a: Value, b: Value) -> Value:
    if a.kind == "DENORM" or b.kind == "DENORM":
        value = b if a.kind == "DENORM" else a
        fmt, wanted = float_format(value), op == "=="
        return boolean(each(lambda bits: wanted == sf.is_denormal(fmt, bits), value.payload))
    if a.is_float and b.is_float:
        return _compare(frame, op, a, b) if op in _COMPARISONS else builtins.arithmetic(frame, op, a, b)
    if a.is_float or b.is_float:
        raise PcodeFault(f"{frame.op}: {a.kind}{a.width} {op} {b.kind}{b.width}")
    number = integer(a.payload, b.payload)
    if op in _COMPARISONS:
        return boolean(number)
    if op in _SHIFTS:
        return Value(a.kind, a.width, number)
    return Value("I" if a.kind == b.kind == "I" else "U", max(a.width, b.width), number)


def _compare(frame: Frame, op: str, a: Value, b: Value) -> Value:
    if (a.kind, a.width) != (b.kind, b.width):
        a, b = recast_float(a, "F", 64), recast_float(b, "F", 64)
    fmt, keep, holds = float_format(a), frame.mode.keeps_denormals(a.width), _COMPARISONS[op]

    def compare(x: int, y: int) -> bool:
        if not keep:
            x, y = sf.flush(fmt, x), sf.flush(fmt, y)
        return holds(sf.less(fmt, x, y), sf.less(fmt, y, x), sf.equal(fmt, x, y))

    return boolean(each(compare, a.payload, b.payload))
