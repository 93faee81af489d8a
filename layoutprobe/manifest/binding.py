"""A kernel of the manifest at one size: expressions become numbers, tensors become storage."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.manifest.model import Argument, Expression, Gemm, KernelCase, Sizes, size_title
from layoutprobe.numbers import ElementType, element_type
from layoutprobe.patterns.expression import evaluate

MAX_BYTES = 128 << 20
"""Bytes that the buffers of one launch may take together."""
MAX_EXTENT = 1 << 31
_APART = 256
"""Bytes to which what a pointer leads to is aligned, as from hipMalloc, and the least between two."""

DTYPES = (
    "f16",
    "bf16",
    "f32",
    "f64",
    "xf32",
    "fp8",
    "bf8",
    "fp8_fnuz",
    "bf8_fnuz",
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
    "u32",
    "i64",
    "u64",
)
"""Element types that a manifest may name."""


class OversizedError(UsageError):
    """A size of one kernel is too large to be run; the other kernels of the manifest are none the worse."""


class BoundBuffer(Struct, frozen=True):
    """A buffer argument at one size.

    Attributes:
        argument: its declaration.
        shape: extents of the logical tensor.
        strides: elements from one index to the next, per axis.
        size: elements of the allocation, padding included.
    """

    argument: Argument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int

    @property
    def name(self) -> str:
        """The argument's name."""
        return self.argument.name

    @property
    def dtype(self) -> str:
        """Element type, as the manifest names it."""
        return self.argument.dtype

    @property
    def element(self) -> ElementType:
        """What `dtype` means."""
        return element_type(self.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.element.storage.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the allocation."""
        return self.size * self.itemsize

    @property
    def pointers(self) -> tuple[int, ...]:
        """Bytes from the beginning of the allocation to what each pointer of an array of them leads to."""
        return tuple(
            i * self.strides[0] * self.itemsize for i in range(self.shape[0] * self.argument.pointers)
        )

    @property
    def padded(self) -> bool:
        """True where the allocation has elements that belong to no index."""
        return self.size != prod(self.shape)

    def places(self) -> NDArray[np.int64]:
        """Where each element of the tensor lies in the allocation, in elements."""
        result = np.zeros(self.shape, np.int64)
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            steps = np.arange(extent, dtype=np.int64) * stride
            result += steps.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        return result

    def elements(self) -> NDArray[np.int64]:
        """The inverse: flat logical index of each element of the allocation, -1 for padding.

        `np.unravel_index(i, buffer.shape)` turns a flat index into (..., row, col).
        """
        result = np.full(self.size, -1, np.int64)
        result[self.places().ravel()] = np.arange(prod(self.shape))
        return result

    def index_at(self, place: int) -> tuple[int, ...]:
        """The index of an element by its place in the allocation, in elements; what is too large for it along its
        largest stride. Of one that is padding an index is too large along its own axis."""
        index = [0] * len(self.shape)
        for axis in self.by_stride():
            index[axis], place = divmod(place, self.strides[axis])
        return tuple(index)

    def by_stride(self) -> list[int]:
        """Its axes, that with the largest stride first."""
        return sorted(range(len(self.shape)), key=lambda axis: (-self.strides[axis], self.shape[axis] == 1))

    def extent_of(self, axis: int) -> str:
        """ "N = 21"."""
        text, number = self.argument.shape[axis].text, self.shape[axis]
        return str(number) if text == str(number) else f"{text} = {number}"

    def noun_of(self, axis: int) -> str:
        """What an axis counts."""
        rank = len(self.shape)
        if rank == 1:
            return "element"
        return {rank - 1: "column", rank - 2: "row"}.get(axis, f"index {axis}")

    def count_of(self, axis: int) -> str:
        """ "B has N = 21 columns"."""
        if axis < len(self.shape) - 2:
            return f"the extent of its axis {axis} is {self.extent_of(axis)}"
        return f"{self.name} has {self.extent_of(axis)} {self.noun_of(axis)}s"

    def store(self, values: NDArray[Any]) -> NDArray[Any]:
        """The allocation's contents for a logical tensor of values; padding is poisoned. What the argument's own
        data are, to the bit, is not converted."""
        raw = np.full(self.nbytes, 0xFF, np.uint8).view(self.element.storage)  # floats: NaN
        own = self.argument.data
        self.view(raw)[...] = self.element.store(values) if own is None else own.array
        return raw

    def load(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The logical tensor in an allocation's contents; bf16 comes as float32."""
        return self.element.load(self.view(raw))

    def view(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The logical tensor inside an array of `size` items, as a view."""
        steps = [stride * raw.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(raw, self.shape, steps)


class Binding(Struct, frozen=True):
    """A kernel of the manifest at one size.

    Attributes:
        case: the kernel.
        sizes: the size.
        grid, block: workgroups and work-items in x, y, z.
        dynamic_lds: bytes.
        buffers: by argument name, in order.
        scalars: values by argument name; "alpha" and "beta" stand for the factors of the run.
        first: all buffers as the first launch that takes them declares them, where others come before this one.
    """

    case: KernelCase
    sizes: Sizes
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    buffers: Mapping[str, BoundBuffer]
    scalars: Mapping[str, float | int | str]
    first: Mapping[str, BoundBuffer] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """ "M=128 N=128 K=64"."""
        return size_title(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.nbytes for buffer in self.buffers.values())

    def number_of(self, workgroup: tuple[int, int, int]) -> int:
        """Which of all workgroups one is, x first."""
        x, y, z = workgroup
        return x + self.grid[0] * (y + self.grid[1] * z)


def bind(case: KernelCase, sizes: Sizes) -> Binding:
    """The kernel at one size.

    Raises:
        UsageError: a size that the manifest rules out, an expression without a value, an extent out of range, axes
            that overlap; names kernel, size and key.
        OversizedError: more than MAX_BYTES of buffers.
    """
    value = require_asked(case, sizes)
    x, y, z = (value(e, "grid", 1, (1 << 32) - 1) for e in case.grid)
    u, v, w = (value(e, "block", 1, 1024) for e in case.block)
    buffers = {a.name: _buffer(a, value) for a in (*case.arguments, *case.shared) if a.is_buffer}
    first = _first(case, buffers, value) if case.before else {}
    total = sum(b.nbytes for b in buffers.values())
    if total > MAX_BYTES:
        raise OversizedError(
            f"the buffers take {total} bytes",
            where=value.where("sizes"),
            expected=f"at most {MAX_BYTES}",
            hint="check a smaller problem, which shows the same layout faults; it does not show a 32-bit "
            "index that overflows in a large one",
        )
    if isinstance(case.contract, Gemm):
        _check_product(case.contract, buffers, value)
    lds = value(case.dynamic_lds, "dynamic_lds", 0, 1 << 20)
    scalars = {a.name: _scalar(a, value) for a in case.arguments if a.role == "scalar"}
    return Binding(case, sizes, (x, y, z), (u, v, w), lds, buffers, scalars, first)


def _first(
    case: KernelCase, buffers: Mapping[str, BoundBuffer], value: _Evaluator
) -> Mapping[str, BoundBuffer]:
    """Each buffer as the first launch declares it.

    Raises:
        UsageError: two launches give it other sizes.
    """
    found: dict[str, BoundBuffer] = {}
    for one in (*case.before, case):
        for argument in (a for a in one.arguments if a.is_buffer):
            bound = _buffer(argument, value)
            known = found.setdefault(argument.name, bound)
            if known.nbytes != bound.nbytes:
                raise UsageError(
                    f"{argument.name} has another size in another launch",
                    where=value.where(f"argument {argument.name}"),
                    expected=f"{known.nbytes} bytes, as in {case.before[0].name}",
                    observed=f"{bound.nbytes} bytes in {one.name}",
                )
    return {name: found.get(name, buffer) for name, buffer in buffers.items()}


def _scalar(argument: Argument, value: _Evaluator) -> float | int | str:
    given = argument.value
    if not isinstance(given, Expression):
        return given
    low, high = -(1 << 62), 1 << 62
    kind = element_type(argument.dtype)
    if not kind.is_float:
        info = np.iinfo(kind.storage)
        low, high = max(low, int(info.min)), min(high, int(info.max))
    return value(given, f"argument {argument.name}: value", low, high)


def require_asked(case: KernelCase, sizes: Sizes) -> _Evaluator:
    """What evaluates expressions at a size.

    Raises:
        UsageError: the conditions of the manifest rule it out.
    """
    value = _Evaluator(case, sizes)
    for condition in case.where:
        if not value(condition, "where", -(1 << 62), 1 << 62):
            raise UsageError(
                "the manifest rules this size out",
                where=value.where("where"),
                expected=f"sizes with {condition.text}",
                observed=size_title(sizes),
            )
    return value


class _Evaluator:
    """Values of expressions at one size, with errors that say which key they come from."""

    def __init__(self, case: KernelCase, sizes: Sizes) -> None:
        self.case = case
        self.sizes = sizes
        self.names = {name: np.asarray(v, np.int64) for name, v in sizes.items()}

    def where(self, key: str) -> dict[str, object]:
        return {"kernel": self.case.name, "size": size_title(self.sizes), "key": key}

    def __call__(self, expression: Expression, key: str, low: int, high: int) -> int:
        try:
            result = int(evaluate(expression.node, self.names))
        except UsageError as error:
            error.where = {**self.where(key), "expression": expression.text, **error.where}
            raise
        if not low <= result <= high:
            raise UsageError(
                f"{key} is out of range",
                where={**self.where(key), "expression": expression.text},
                expected=f"{low} to {high}",
                observed=str(result),
            )
        return result


def _buffer(argument: Argument, value: _Evaluator) -> BoundBuffer:
    key = f"argument {argument.name}"
    shape = tuple(value(e, f"{key}: shape", 1, MAX_EXTENT) for e in argument.shape)
    if argument.strides:
        strides = tuple(value(e, f"{key}: strides", 1, MAX_EXTENT) for e in argument.strides)
    else:
        strides = _ordered_strides(argument, shape, value)
    _check_overlap(key, shape, strides, value)
    reach = [extent * stride for extent, stride in zip(shape, strides, strict=True)]
    size = max(reach[1:]) + reach[0] - strides[0] if argument.pointers else max(reach)
    return BoundBuffer(argument, shape, strides, size)


def _ordered_strides(argument: Argument, shape: tuple[int, ...], value: _Evaluator) -> tuple[int, ...]:
    """Strides of the last two axes by order and leading dimension; the others are packed, but what pointers lead to
    lies apart: no kernel may rely on how."""
    if argument.pointers:
        behind = _ordered_strides(replace(argument, pointers=False), shape[1:], value)
        reach = max(extent * stride for extent, stride in zip(shape[1:], behind, strict=True))
        unit = max(1, _APART // element_type(argument.dtype).storage.itemsize)
        return ((-(-reach // unit) + 1) * unit, *behind)
    rank = len(shape)
    inner, outer = (rank - 1, rank - 2) if argument.order == "row" else (rank - 2, rank - 1)
    if rank == 1:
        return (1,)
    lead = shape[inner]
    if argument.ld is not None:
        lead = value(argument.ld, f"argument {argument.name}: ld", shape[inner], MAX_EXTENT)
    strides = [0] * rank
    strides[inner], strides[outer] = 1, lead
    step = lead * shape[outer]
    for axis in reversed(range(rank - 2)):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _check_overlap(key: str, shape: tuple[int, ...], strides: tuple[int, ...], value: _Evaluator) -> None:
    reach = 0
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and stride <= reach:
            raise UsageError(
                f"{key}: two indices share an element",
                where=value.where(f"{key}: strides"),
                expected="every stride larger than what the smaller ones reach",
                observed=f"shape {list(shape)}, strides {list(strides)}",
            )
        reach += (extent - 1) * stride


def _check_beside(buffer: BoundBuffer, shape: tuple[int, ...], value: _Evaluator) -> None:
    """An input of the epilogue must broadcast to D, as numpy has it: [N] lies along the columns."""
    try:
        fits = np.broadcast_shapes(buffer.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise UsageError(
            f"{buffer.name} does not fit the output",
            where=value.where(f"argument {buffer.name}: shape"),
            expected='["N"] for an element of each column, ["M", 1] of each row, [1] for all, or the shape of D',
            observed=f"{list(buffer.shape)} beside {list(shape)}",
        )


def _check_product(contract: Gemm, buffers: Mapping[str, BoundBuffer], value: _Evaluator) -> None:
    """A [..., M, K] @ B [..., K, N] must be D [..., M, N]; split-K puts one more axis in front."""
    a, b, d = (buffers[name].shape for name in (contract.a, contract.b, contract.d))
    partial = d[1:] if contract.split_k else d
    fits = min(len(a), len(b), len(partial)) >= 2 and a[-1] == b[-2]
    if fits:
        try:
            fits = partial == (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
        except ValueError:
            fits = False
    if fits and contract.c and contract.c != contract.d:
        fits = buffers[contract.c].shape == partial
    for name in contract.beside if fits else ():
        _check_beside(buffers[name], partial, value)
    if not fits:
        raise UsageError(
            "the shapes do not make a matrix product",
            where=value.where("contract"),
            expected="A [..., M, K], B [..., K, N], C and D [..., M, N]"
            + (", D with the parts of K in front" if contract.split_k else ""),
            observed=f"A {list(a)}, B {list(b)}, D {list(d)}",
        )
