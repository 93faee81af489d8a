"""From statements to closures: assignments, loops, and whole programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from .errors import PcodeFault, PcodeSyntax
from .interp import Evaluator, Expressions, Invoker
from .lanes import Ints, PartedError, Test, apart, decided, same
from .softfloat import Rounding
from .state import OUTPUTS, Frame
from .syntax import (
    Assign,
    Binary,
    Break,
    Concat,
    Declare,
    Evaluate,
    Expr,
    For,
    If,
    Index,
    LambdaExpr,
    Member,
    Name,
    PartSelect,
    Return,
    Slice,
    Statement,
)
from .values import Type, Value, parse_type, recast_float, truth, wrap

_BREAK = "break"
# What a statement hands up: nothing, a break, or the value of a return.
Signal: TypeAlias = Value | str | None
Runner: TypeAlias = Callable[[Frame], Signal]
Setter: TypeAlias = Callable[[Frame, Value], None]
Branch: TypeAlias = tuple[Callable[[Frame], Test], Runner]

# Names that a text declares although they are its inputs.
_INPUTS = {"S", "OFFSET", "OFFSET0", "OFFSET1", "DATA0", "VDST", "CVT_OFF_TABLE"}


class Place(NamedTuple):
    """Where bits go: a writer of (offset, width, bits), the part of it, and the type of the last view."""

    write: Callable[[Ints, int, Ints], None]
    offset: Ints = 0
    width: int | None = None
    type: Type | None = None


def translate(body: tuple[Statement, ...], invoke: Invoker) -> Runner:
    """A function that runs the statements in a frame."""
    return _Statements(invoke).block(body)


class _Statements:
    def __init__(self, invoke: Invoker) -> None:
        self._expressions = Expressions(invoke)
        self._value = self._expressions.value

    def block(self, body: tuple[Statement, ...]) -> Runner:
        runners = [self._statement(s) for s in body]

        def run(frame: Frame) -> Signal:
            for runner in runners:
                signal = runner(frame)
                if signal is not None:
                    return signal
            return None

        return run

    def _statement(self, node: Statement) -> Runner:
        match node:
            case Assign():
                return self._assign(node)
            case Declare():
                return lambda frame: _declare(frame, node)
            case If():
                return self._if(node)
            case For():
                return self._for(node)
            case Break():
                return lambda frame: _BREAK
            case Return(value):
                return self._value(value)
            case Evaluate(value):
                inner = self._value(value)
                return lambda frame: _ignore(inner(frame))

    def _if(self, node: If) -> Runner:
        branches: list[Branch] = [
            ((lambda frame: True) if test is None else _condition(self._value(test)), self.block(body))
            for test, body in node.branches
        ]

        return lambda frame: _take_branch(frame, branches)

    def _for(self, node: For) -> Runner:
        first, last, body = self._value(node.first), self._value(node.last), self.block(node.body)

        def run(frame: Frame) -> Signal:
            start = first(frame)
            for number in range(same(start.payload), same(last(frame).payload) + 1):
                frame.names[node.name] = start._replace(payload=number)
                signal = body(frame)
                if signal == _BREAK:
                    return None
                if signal is not None:
                    return signal
            return None

        return run

    def _assign(self, node: Assign) -> Runner:
        if isinstance(node.value, LambdaExpr):
            return self._define(node.target, node.value)
        value = Binary(node.op, node.target, node.value) if node.op else node.value
        evaluate, setter = self._value(value), self._setter(node.target)
        return lambda frame: setter(frame, evaluate(frame))

    def _define(self, target: Expr, function: LambdaExpr) -> Runner:
        if not isinstance(target, Name):
            raise PcodeSyntax("a lambda needs a name")
        name, body, parameters = target.text, self.block(function.body), function.parameters

        def call(frame: Frame, arguments: list[Value]) -> Value:
            kept = dict(frame.names)
            frame.names.update(zip(parameters, arguments, strict=True))
            result = body(frame)
            frame.names = kept
            if not isinstance(result, Value):
                raise PcodeFault(f"{frame.op}: {name} returns nothing")
            return result

        def define(frame: Frame) -> None:
            frame.names[name] = call

        return define

    # Targets

    def _setter(self, target: Expr) -> Setter:
        if isinstance(target, Name):
            name = target.text
            return lambda frame, value: _set_name(frame, name, value)
        if isinstance(target, Concat):
            return self._set_parts(target)
        place = self._place(target)
        bit_of_lane = isinstance(target, Index) and target.at == Name("laneId")

        def assign(frame: Frame, value: Value) -> None:
            where = place(frame)
            width = value.width if where.width is None else where.width
            bits = _encode(value, where.type) & ((1 << width) - 1)
            where.write(where.offset, width, bits)
            if bit_of_lane:
                frame.lane_bit = bits

        return assign

    def _set_parts(self, target: Concat) -> Setter:
        """`{ high, low } = value`."""
        parts = [(self._setter(p), _width_of(p)) for p in reversed(target.parts)]

        def assign(frame: Frame, value: Value) -> None:
            bits = value.bits
            for setter, width in parts:
                setter(frame, Value("B", width, bits & ((1 << width) - 1)))
                bits >>= width

        return assign

    def _place(self, node: Expr) -> Callable[[Frame], Place]:
        match node:
            case Name(name):
                return lambda frame: Place(lambda at, width, bits: frame.write_bits(name, at, width, bits))
            case Member(base, field):
                inner, kind = self._place(base), parse_type(field)
                return lambda frame: _typed(inner(frame), kind)
            case Index(Name("MEM"), at):
                return self._memory_place(self._value(at))
            case Index(Index(Name("VGPR"), lane), register):
                return _vgpr_place(self._value(lane), self._value(register))
            case Index(base, at):
                return self._part(base, self._value(at), lambda frame: 1)
            case Slice(base, high, low):
                h, w = self._value(high), self._value(low)
                return self._part(base, w, lambda frame: same(h(frame).payload - w(frame).payload) + 1)
            case PartSelect(base, low, count):
                c = self._value(count)
                return self._part(base, self._value(low), lambda frame: same(c(frame).payload))
        raise PcodeSyntax(f"cannot assign to {type(node).__name__}")

    def _part(self, base: Expr, low: Evaluator, width: Callable[[Frame], int]) -> Callable[[Frame], Place]:
        name = base.text if isinstance(base, Name) else None
        inner = self._place(base)

        def locate(frame: Frame) -> Place:
            at = low(frame).payload
            array = frame.names.get(name) if name else None
            if isinstance(array, list):
                return _element_place(array, same(at))
            where = inner(frame)
            return Place(where.write, where.offset + at, width(frame))

        return locate

    @staticmethod
    def _memory_place(address: Evaluator) -> Callable[[Frame], Place]:
        def locate(frame: Frame) -> Place:
            base = same(address(frame).payload)
            return Place(lambda at, width, bits: frame.store(base, width, bits))

        return locate


def _condition(test: Evaluator) -> Callable[[Frame], Test]:
    return lambda frame: decided(truth(test(frame)))


def _take_branch(frame: Frame, branches: Sequence[Branch]) -> Signal:
    """The first branch whose test holds; lanes that take different ones run apart and meet again behind it."""
    for number, (holds, body) in enumerate(branches):
        test = holds(frame)
        if not isinstance(test, bool):
            yes, no = frame.of_lanes(test), frame.of_lanes(~test)
            with apart(test):
                signals = body(yes), _take_branch(no, branches[number + 1 :])
            if signals != (None, None):
                raise PartedError(test)
            frame.join(test, yes, no)
            return None
        if test:
            return body(frame)
    return None


def _ignore(value: Value) -> None:
    """A statement that only has an effect hands nothing up."""


def _vgpr_place(lane: Evaluator, register: Evaluator) -> Callable[[Frame], Place]:
    def locate(frame: Frame) -> Place:
        key = (same(lane(frame).payload), same(register(frame).payload))

        def write(at: int, width: int, bits: int) -> None:
            frame.vgpr_writes[key] = bits

        return Place(write, 0, 32)

    return locate


def _element_place(array: list[Value], index: int) -> Place:
    def write(at: int, width: int, bits: int) -> None:
        array[index] = wrap(array[index].kind, array[index].width, bits)

    return Place(write, 0, array[index].width)


def _typed(where: Place, kind: Type) -> Place:
    """`place.type`: a slice keeps its width, a whole register gets that of the type."""
    width = kind.width if where.width is None else where.width
    return Place(where.write, where.offset, width, kind)


def _encode(value: Value, kind: Type | None) -> Ints:
    """The bits of a value that goes to a place of a type."""
    if kind is not None and kind.kind in ("F", "BF"):
        if value.is_float:
            return recast_float(value, kind.kind, kind.width).payload
        if value.kind == "I":
            raise PcodeFault(f"an integer goes to a place of type {kind}")
    return value.payload


def _width_of(part: Expr) -> int:
    if isinstance(part, Member):
        return parse_type(part.field).width
    raise PcodeSyntax("a part of a concatenation needs a type")


def _declare(frame: Frame, node: Declare) -> None:
    if node.name in _INPUTS and node.name in frame.names:
        return
    zero = Value(node.kind, node.width, 0)
    if node.count:
        frame.names[node.name] = [zero] * node.count
    else:
        frame.names[node.name] = zero
        frame.declared[node.name] = (node.kind, node.width)


def _set_name(frame: Frame, name: str, value: Value) -> None:
    if name in OUTPUTS:
        frame.write_bits(name, 0, min(value.width, OUTPUTS[name]), value.bits)
    elif name == "ROUND_MODE":
        frame.rounding = Rounding(value.payload)
    elif name in frame.declared:
        kind, width = frame.declared[name]
        frame.names[name] = (
            recast_float(value, kind, width) if value.is_float else wrap(kind, width, value.payload)
        )
    else:
        frame.names[name] = value
