"""Records what a numpy row computes: the row is called with symbols, and each ufunc becomes a node.

A row that asks for what a symbol cannot give (the truth of an array, an index, a BLAS call) is not traced.
`any` of a symbol is taken as true and `all` as false: rows use them to skip what is needless in most lanes,
so that the general way is the one recorded. A row of which that is not true is found by the differential
tests, which compare every traced row with itself under numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Scalar = np.generic


class UntraceableError(Exception):
    """A row cannot be recorded; the text says why."""


class Truth:
    """What `any` or `all` of a symbol gives."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value

    def __and__(self, other: object) -> Truth:
        return Truth(self.value and bool(other))


class Node(NDArrayOperatorsMixin):
    """A value of the row, as an expression.

    Attributes:
        op: name of a ufunc, or "source", "const", "lanes", "where", "cast", "view".
        args: nodes; of a source its C text, of a constant its value.
        dtype: type of each element.
        wide: one element per lane; else one for the wave.
    """

    __array_priority__ = 1000
    ndim = 2

    def __init__(self, op: str, args: tuple[Any, ...], dtype: Any, wide: bool) -> None:
        self.op, self.args, self.dtype, self.wide = op, args, np.dtype(dtype), wide

    @property
    def shape(self) -> tuple[int, int]:
        """As of [wave, lane]; how many lanes there are no row may ask."""
        return (1, 2 if self.wide else 1)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def flat(self) -> tuple[int]:
        """Some first element: a row may ask whether `all` are like it, which is answered with no."""
        return (0,)

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise UntraceableError("numpy asks for a real array")

    def __bool__(self) -> bool:
        raise UntraceableError("the truth of an array")

    def __getitem__(self, index: object) -> Any:
        raise UntraceableError("an index")

    def __setitem__(self, index: object, value: object) -> None:
        raise UntraceableError("an assignment")

    def any(self, axis: object = None) -> Truth:
        """See the module."""
        return Truth(True)

    def all(self, axis: object = None) -> Truth:
        """See the module."""
        return Truth(False)

    def astype(self, dtype: Any, copy: bool = True) -> Node:
        """A cast."""
        return cast(self, dtype)

    def view(self, dtype: Any) -> Node:
        """The same bits as another type of that size."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.itemsize != self.dtype.itemsize:
            raise UntraceableError("a view of another width")
        return Node("view", (self,), dtype, self.wide)

    def fused(self, *given: Any) -> Node:
        """A product of two f64 and a sum, rounded once: numpy has no ufunc for it."""
        operands = tuple(cast(_node(x), np.float64) for x in given)
        return Node("fused", operands, np.float64, any(o.wide for o in operands))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise UntraceableError(f"{ufunc.__name__}.{method} {', '.join(kwargs)}")
        return apply(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            raise UntraceableError(f"np.{function.__name__}")
        return _FUNCTIONS[function](*args, **kwargs)


def source(text: str, dtype: Any, *, wide: bool) -> Node:
    """An operand, as C that reads it."""
    return Node("source", (text,), dtype, wide)


def const(value: Any) -> Node:
    """One number, a numpy scalar."""
    return Node("const", (value,), value.dtype, False)


def lift(value: Any) -> Any:
    """A node of an array or numpy scalar; Python numbers stay, as their type is decided by their company."""
    if isinstance(value, np.generic):
        return const(value)
    if not isinstance(value, np.ndarray):
        return value
    flat = value.reshape(-1)
    if flat.size and flat.tobytes() == flat[:1].tobytes() * flat.size:  # NaN included
        return const(flat[0])
    if flat.size in (32, 64):
        return Node("lanes", (flat.copy(),), value.dtype, True)
    raise UntraceableError("an array of constants")


def cast(value: Node, dtype: Any) -> Node:
    """The values as another type."""
    dtype = np.dtype(dtype)
    if dtype == value.dtype:
        return value
    if value.op == "const":
        return const(value.args[0].astype(dtype))
    return Node("cast", (value,), dtype, value.wide)


def apply(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """A ufunc of nodes, arrays and numbers: a node, or one per result."""
    given = [lift(x) for x in inputs]
    kinds = [x.dtype if isinstance(x, Node) else _python_type(x) for x in given]
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError as problem:
        raise UntraceableError(f"{ufunc.__name__}: {problem}") from problem
    operands = tuple(
        cast(x, d) if isinstance(x, Node) else const(np.array(x).astype(d)[()])
        for x, d in zip(given, dtypes, strict=False)
    )
    if all(o.op == "const" for o in operands):
        out = ufunc(*(o.args[0] for o in operands))
        return tuple(const(x) for x in out) if ufunc.nout > 1 else const(out)
    wide = any(o.wide for o in operands)
    results = dtypes[len(given) :]
    if ufunc.nout > 1:
        return tuple(Node(f"{ufunc.__name__}{n}", operands, d, wide) for n, d in enumerate(results))
    return Node(ufunc.__name__, operands, results[0], wide)


def _python_type(value: Any) -> Any:
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if type(value) in (int, float):
        return type(value)
    raise UntraceableError(f"an operand of type {type(value).__name__}")


def _node(value: Any) -> Node:
    value = lift(value)
    return value if isinstance(value, Node) else const(np.array(value)[()])


def _where(condition: Any, yes: Any, no: Any) -> Node:
    condition, yes, no = lift(condition), lift(yes), lift(no)
    dtype = np.result_type(_weak(yes), _weak(no))
    condition = _node(condition)
    if condition.dtype != np.bool_:
        condition = apply(np.not_equal, (condition, 0))
    yes, no = (cast(_node(x), dtype) for x in (yes, no))
    return Node("where", (condition, yes, no), dtype, condition.wide or yes.wide or no.wide)


def _weak(value: Any) -> Any:
    return value.dtype if isinstance(value, Node) else value


def _clip(value: Node, low: Any, high: Any) -> Any:
    if value.dtype.kind in "iu":  # Python numbers beyond the type clip nothing
        info = np.iinfo(value.dtype)
        low, high = (_at_most(x, info.min, info.max) for x in (low, high))
        return apply(np.minimum, (apply(np.maximum, (value, low)), high))
    raised = _where(apply(np.less, (value, low)), low, value)  # -0 is not below 0, and NaN stays
    return _where(apply(np.greater, (raised, high)), high, raised)


def _at_most(value: Any, low: int, high: int) -> Any:
    return min(max(value, low), high) if isinstance(value, int) else value


def _nan_to_num(
    value: Node, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Node:
    number, info = value.dtype.type, np.finfo(value.dtype)
    high, low = (info.max if posinf is None else posinf), (info.min if neginf is None else neginf)
    out = _where(apply(np.isnan, (value,)), number(nan), value)
    out = _where(apply(np.equal, (out, number(math.inf))), number(high), out)
    return _where(apply(np.equal, (out, number(-math.inf))), number(low), out)


def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Node:
    dtype = np.result_type(*(_weak(lift(c)) for c in (*choices, default)))
    out = cast(_node(default), dtype)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        out = _where(condition, cast(_node(choice), dtype), out)
    return out


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.nan_to_num: _nan_to_num,
    np.select: _select,
    np.atleast_1d: lambda a: a,
    np.ascontiguousarray: lambda a: a,
    np.copy: lambda a: a,
    np.broadcast_to: lambda a, shape: a,
    np.broadcast_arrays: lambda *arrays: [_node(a) for a in arrays],
    np.zeros_like: lambda a, dtype=None: const(np.zeros((), dtype or a.dtype)[()]),
    np.any: lambda a, **k: Truth(True),
    np.all: lambda a, **k: Truth(False),
}
"""What of numpy's functions that are no ufuncs the rows use."""


def trace(compute: Callable[..., Any], sources: Sequence[Node]) -> list[Node]:
    """The results of a row as expressions of its sources.

    Raises:
        UntraceableError: see the module.
    """
    with np.errstate(all="ignore"):
        try:
            out = compute(*sources)
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as problem:
            raise UntraceableError(f"{type(problem).__name__}: {problem}") from problem
    return [_node(x) for x in (out if isinstance(out, (tuple, list)) else (out,))]
