"""What the buffers hold before a run: named kinds of inputs, one function each."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import Binding, BoundBuffer
from layoutprobe.manifest.coding import Coding, is_small_float
from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.selection import PICK, SELECT, ZERO, Pick, Select, is_scale, picking, selecting
from layoutprobe.manifest.unusual import Unusual, unusual_of
from layoutprobe.patterns.expression import evaluate

LARGEST_INTEGER = 9
"""Of the kind "integers": products and sums of 2**17 of them are exact in f32, and a bf16 holds them."""
FEW = 16
"""Elements other than zero in a column of B, of the kind "sparse": sums of 32 at most, which a bf16 holds
times any small alpha."""

UNKNOWN = "unknown"
"""Kind as "integers", in which words that may hold codes are undefined: whatever they decide is a fault."""

IDLE = "idle"
"""Kind as "normal", in which C is NaN: told of runs with beta 0."""

MOVED = "moved "
"""Beginning of the kinds as "normal" in which one element is another: behind it the name of a buffer, the number of
the element, and which way."""
_FAR = 8.0
"""So far an element is moved: further than any normal number."""

_STRIDE = 5
"""In steps of so many k the infinities of rows of A lie apart."""

Fill = Callable[[BoundBuffer, np.random.Generator], NDArray[Any]]


def _integers(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    return random.integers(0, LARGEST_INTEGER + 1, buffer.shape)


def _normal(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    if buffer.dtype in ("i8", "u8"):  # all values: the sign bit has to matter somewhere
        info = np.iinfo(buffer.element.storage)
        return random.integers(info.min, info.max + 1, buffer.shape)
    if not buffer.element.is_float:
        return _integers(buffer, random)
    return random.standard_normal(buffer.shape)


def _idle(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    usual = _normal(buffer, random)
    return (
        np.full(usual.shape, np.nan) if buffer.argument.matrix == "C" and buffer.element.is_float else usual
    )


def _zeros(buffer: BoundBuffer, _: np.random.Generator) -> NDArray[Any]:
    return np.zeros(buffer.shape)


def _powers(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    return np.asarray(
        random.choice([0.25, 0.5, 1.0, 2.0] if buffer.element.is_float else [1, 2], buffer.shape)
    )


def _ones(buffer: BoundBuffer, _: np.random.Generator) -> NDArray[Any]:
    return np.ones(buffer.shape)


def _sparse(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    low = -1 if buffer.element.signed else 1
    if buffer.argument.matrix != "B" or len(buffer.shape) < 2:
        return np.asarray(random.integers(1, 3, buffer.shape) * random.choice([low, 1], buffer.shape))
    rank = random.random(buffer.shape).argsort(axis=-2).argsort(axis=-2)
    return np.where(rank < FEW, random.choice([low, 1], buffer.shape), 0)


def _scaled(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    """Rows of A and columns of B are normal numbers times 1, 0, tiny or large; f16: also subnormal."""
    values = _normal(buffer, random)
    axis = {"A": -2, "B": -1}.get(buffer.argument.matrix)
    if axis is None or values.ndim < 2 or not buffer.element.is_float:
        return values
    tiny, large = (2.0**-14, 2.0**4) if buffer.element.largest < 1e6 else (2.0**-40, 2.0**40)
    # The two periods have no common divisor, so that every scale of A meets every scale of B.
    scales = [1.0, 0.0, tiny, large, 1.0] if axis == -2 else [tiny, 1.0, large, 0.0]
    each = np.resize(scales, values.shape[axis])
    return np.asarray(values * (each[:, None] if axis == -2 else each))


def _nonfinite(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    """Small integers other than 0; a row of A and a column of B are NaN, one element of B and one of every fourth
    row of A infinite, at another k in each row: what is left of an earlier tile is infinite somewhere. Other rows
    of A and a column of B are infinite at the last k, which an address that is clamped to the edge meets again, and
    others at the first, which one that runs over the edge meets: there begins the next row, or the next batch."""
    signs = random.choice([-1.0, 1.0], buffer.shape)
    values = np.asarray(random.integers(1, 4, buffer.shape) * signs)
    matrix = buffer.argument.matrix
    if matrix not in ("A", "B", "C") or values.ndim < 2 or not buffer.element.is_float:
        return values if buffer.element.is_float else _integers(buffer, random)
    lines = values if matrix != "B" else np.swapaxes(values, -1, -2)  # a view: rows of A, columns of B
    count, depth = lines.shape[-2:]
    if matrix == "C":
        lines[..., count * 3 // 4, depth * 3 // 4] = np.nan
    elif count > 1:
        lines[..., count // 2, :] = np.nan
        rows = np.arange(count // 4 % 4, count, 4) if matrix == "A" else np.array([count // 4])
        rows = rows[rows != count // 2]
        lines[..., rows, (depth // 2 + _STRIDE * (rows // 4) if matrix == "A" else depth // 3) % depth] = (
            np.inf
        )
        for k, part, eighth in ((0, 1, 5), (-1, 2, 6)):
            edge = np.arange((count // 4 + part) % 4, count, 4)
            edge = edge if matrix == "A" else np.array([count * eighth // 8])
            lines[..., edge[edge != count // 2], k] = np.inf
    return values


def _bits(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    """All values of integers that are larger than a byte, too: of words that hold codes every bit matters."""
    if not _may_hold_codes(buffer):
        return _normal(buffer, random)
    info = np.iinfo(buffer.element.storage)
    return random.integers(info.min, info.max, buffer.shape, buffer.element.storage, endpoint=True)


KINDS: Mapping[str, Fill] = {
    "bits": _bits,
    UNKNOWN: _integers,
    "nonfinite": _nonfinite,
    "scaled": _scaled,
    "integers": _integers,
    "normal": _normal,
    IDLE: _idle,
    "sparse": _sparse,
    "zeros": _zeros,
    "ones": _ones,
}
"""Kinds that need no coding; "code0", "code1"... are the digits of one."""
ALONE = "alone "
"""Beginning of the kinds in which one buffer, named behind it, holds the numbers of its elements from 1 on, and all
others hold zeros."""
JUDGED = ("normal", "sparse", "scaled", "nonfinite", IDLE)
"""Kinds for which outputs are held against the contract with any alpha and beta."""


def coding_of(binding: Binding) -> Coding:
    """Numbers for all elements that a run on random inputs would fill."""
    coded = {b.name: (b.dtype, b.shape) for b in binding.buffers.values() if is_coded(b)}
    return Coding.of(coded)


def packed_buffers(binding: Binding) -> list[BoundBuffer]:
    """Inputs whose contents the gate chooses, of integers that may hold several codes each."""
    return [b for b in binding.buffers.values() if is_coded(b) and _may_hold_codes(b) and not b.argument.made]


def _may_hold_codes(buffer: BoundBuffer) -> bool:
    return buffer.argument.role == "in" and not buffer.element.is_float and buffer.itemsize > 1


def is_coded(buffer: BoundBuffer) -> bool:
    """True for buffers whose contents the gate chooses."""
    argument = buffer.argument
    if argument.role == "out" or argument.values is not None or argument.data is not None:
        return False
    return argument.role == "in" or argument.initial in ("auto", "random")


def make_inputs(
    binding: Binding, kind: str, *, beta: float, coding: Coding | None = None
) -> dict[str, NDArray[Any] | None]:
    """Logical tensors for all buffers; None where the memory is to be undefined.

    Args:
        binding: the kernel at one size.
        kind: see KINDS and ALONE, and `manifest.selection`.
        beta: factor of the contract's C in this run: where it is 0, a C that is both read and
            written is undefined unless the manifest says what it holds. In a run whose values are
            judged that holds of the contract's own beta only: a kernel that multiplies by 0, too, is right.
        coding: for the kinds "code0"...

    Raises:
        UsageError: no such kind, or `values` without a value.
    """
    fill = _digit(kind, coding) if coding is not None and kind.startswith("code") else KINDS.get(kind)
    if kind.startswith(ALONE):
        fill = partial(_alone, kind.removeprefix(ALONE))
    if kind.startswith(MOVED):
        name, at, way = kind.removeprefix(MOVED).rsplit(" ", 2)
        fill = partial(_moved, name, int(at), int(way))
    if (unusual := unusual_of(kind)) is not None:
        fill = partial(_unusual, *unusual)
    if kind.startswith(ZERO):
        fill = partial(_without, kind.removeprefix(ZERO), binding)
    if kind.startswith(SELECT):
        fill = _chosen(partial(selecting, Select.of(kind), binding))
    if kind.startswith(PICK):
        fill = _chosen(partial(picking, Pick.of(kind), binding))
    if fill is None:
        raise UsageError(f"no kind of inputs named {kind!r}", expected="one of: " + ", ".join(KINDS))
    result: dict[str, NDArray[Any] | None] = {}
    for buffer in binding.buffers.values():
        random = np.random.default_rng([binding.case.seed, zlib.crc32(buffer.name.encode())])
        if buffer.argument.data is not None:
            result[buffer.name] = buffer.element.load(buffer.argument.data.array)
        elif buffer.argument.values is not None:
            listed, (what, name) = _given(buffer, binding), unusual or (None, "")
            is_meant = what is not None and what.given and name == buffer.name
            result[buffer.name] = what.fill(listed, buffer, True) if what and is_meant else listed
        elif _starts_undefined(buffer, binding, kind, beta):
            result[buffer.name] = None
        elif buffer.argument.initial == "zero":
            result[buffer.name] = np.zeros(buffer.shape)
        else:
            # What is multiplied by 0 stays finite: a kernel that does multiply it is right.
            idle = kind == "nonfinite" and buffer.argument.matrix == "C" and beta == 0.0
            # By powers of two, what is exact stays so, and 16 bits hold it.
            exact = kind in ("integers", "sparse") and is_scale(binding, buffer)
            result[buffer.name] = (_powers if exact else _integers if idle else fill)(buffer, random)
    return result


def _starts_undefined(buffer: BoundBuffer, binding: Binding, kind: str, beta: float) -> bool:
    argument, contract = buffer.argument, binding.case.contract
    if kind == UNKNOWN and _may_hold_codes(buffer):
        return True
    if argument.role == "in" or argument.initial != "auto":
        return argument.initial == "undefined"
    if not isinstance(contract, Gemm) or contract.c != buffer.name:
        return argument.role == "out"
    needless = contract.beta == 0.0 or kind not in JUDGED
    return argument.role == "out" or (beta == 0.0 and needless)


def _digit(kind: str, coding: Coding) -> Fill | None:
    digit = kind.removeprefix("code")
    if not digit.isdecimal() or int(digit) >= coding.code.digits:
        return None

    def fill(buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
        if buffer.name not in coding.shapes:
            return _integers(buffer, random)
        digits = coding.values(buffer.name, int(digit))
        return buffer.element.decode(digits) if is_small_float(buffer.dtype) else digits

    return fill


def _alone(name: str, buffer: BoundBuffer, _: np.random.Generator) -> NDArray[Any]:
    if buffer.name != name:
        return np.zeros(buffer.shape)
    return 1 + np.arange(prod(buffer.shape)).reshape(buffer.shape)


def _unusual(what: Unusual, name: str, buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    return what.fill(_normal(buffer, random), buffer, buffer.name == name)


def _moved(name: str, at: int, way: int, buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    """Normal numbers, of which one lies far from others; of integers it is the next one, as they may be an index."""
    values = _normal(buffer, random)
    if buffer.name == name:
        one = values.reshape(-1)[at : at + 1]
        one[...] = one + way * _FAR if buffer.element.is_float else one ^ 1
    return values


def is_direct(kind: str) -> bool:
    """Inputs of the kernel itself, whatever launches before it would make of them: codes and levels, which tell where
    an operand or an accumulator is."""
    return kind.startswith("code") or kind in ("zeros", "ones")


def asks_only(kind: str) -> bool:
    """Of a run of such inputs a fault is an answer, and no finding."""
    return kind in (UNKNOWN, IDLE) or kind.startswith(MOVED) or unusual_of(kind) is not None


def _without(name: str, binding: Binding, buffer: BoundBuffer, random: np.random.Generator) -> NDArray[Any]:
    """Small integers in all but one buffer, and in what is added to a product."""
    contract = binding.case.contract
    idle = isinstance(contract, Gemm) and buffer.name == contract.c
    return np.zeros(buffer.shape) if buffer.name == name or idle else _integers(buffer, random)


def _chosen(values: Callable[[BoundBuffer], NDArray[Any]]) -> Fill:
    """What leaves nothing to chance."""
    return lambda buffer, _: values(buffer)


def _given(buffer: BoundBuffer, binding: Binding) -> NDArray[Any]:
    """Contents that the manifest states, as an expression of sizes and indices."""
    expression = buffer.argument.values
    assert expression is not None
    rank = len(buffer.shape)
    names = {name: np.asarray(v, np.int64) for name, v in binding.sizes.items()}
    for axis, extent in enumerate(buffer.shape):
        shape = [extent if a == axis else 1 for a in range(rank)]
        names[f"i{axis}"] = np.arange(extent, dtype=np.int64).reshape(shape)
    try:
        return np.broadcast_to(evaluate(expression.node, names), buffer.shape)
    except UsageError as error:
        key = f"argument {buffer.name}: values"
        error.where = {"kernel": binding.case.name, "size": binding.title, "key": key, **error.where}
        raise
