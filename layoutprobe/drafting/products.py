"""Which arguments of launches that happened are A, B and D of a matrix product, and how they are stored.

Nothing is guessed from names where the data tells: each way to read the bytes is multiplied out in numpy and compared
with what the kernel stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, permutations, product

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.drafting.seen import SeenBuffer, SeenLaunch
from layoutprobe.numbers import element_type
from layoutprobe.numbers.activations import ACTIVATIONS

EXTENTS = {"A": ("M", "K"), "B": ("K", "N"), "D": ("M", "N")}
"""Rows and columns of a matrix."""
_MOST_WORK = 1 << 25
"""Multiplications of one launch that are done here."""
_MOST_LAUNCHES = 3
_MOST_POINTERS = 8
_ERROR = 0.02
"""Of the largest element: what sums in half precision may be off. Another reading is off by about all of it."""
_CLOSER = 0.25
"""So much of the error is left where another matrix is added, if it is added at all."""
_SMALL = 0.01
_MOST_SCALES = 2
_LETTER = re.compile(r"(?:p_|ptr_|d_)?([abcd])(?:_?(?:ptr|pointer|mat|matrix))?", re.IGNORECASE)
_SIZE = re.compile(r"(?:_|size_?|n_?)?([mnk])(?:_?(?:size|dim|total))?", re.IGNORECASE)
_READINGS = {"u16": ("bf16", "f16", "u16"), "i16": ("bf16", "f16", "i16"), "u8": ("u8", "fp8", "bf8"),
             "i8": ("i8", "fp8", "bf8"), "": ("f32", "f16", "bf16")}  # fmt: skip
"""What an element may be whose type in the source does not say it: bits of small floats are often declared so."""

Doubles = NDArray[np.float64]


class Operand(Struct, frozen=True):
    """One matrix of the product.

    Attributes:
        argument: its number.
        dtype: of its elements.
        order: "row" or "col", as a manifest has it.
    """

    argument: int
    dtype: str
    order: str


class FoundProduct(Struct, frozen=True):
    """D = activation(scales * alpha * A @ B + beta * C + bias) + residual, found in the data.

    Attributes:
        a, b, d: the matrices.
        sizes: M, N and K, and batch where there are several, launch by launch.
        c: number of the argument that is added; None for none. It may be that of d.
        alpha, beta: as the launches had them.
        bias: number of the argument that is added to each row or column; None for none.
        activation: as manifests name it; "" for none.
        scales: numbers of the arguments that multiply A @ B, by rows, columns or all.
        residual: number of the argument that is added behind the activation; None for none.
        shapes, kinds: number of such an argument -> its extents, as a manifest has them; the type of its elements.
        split_k: D has an axis of partial sums before the others, "splits" of them.
        zeroed: what D held was zero, and the kernel adds to it.
        ambiguous: other ways to store A and B explain the data as well.
        shown: the launch that had these factors.
    """

    a: Operand
    b: Operand
    d: Operand
    sizes: tuple[Mapping[str, int], ...]
    c: int | None = None
    alpha: float = 1.0
    beta: float = 0.0
    bias: int | None = None
    activation: str = ""
    scales: tuple[int, ...] = ()
    residual: int | None = None
    shapes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[int, str] = field(default_factory=dict)
    split_k: bool = False
    zeroed: bool = False
    ambiguous: bool = False
    shown: int = 0

    @property
    def arguments(self) -> frozenset[int]:
        """Numbers of all that have a part in it."""
        one = (self.a.argument, self.b.argument, self.d.argument, self.c, self.bias, self.residual)
        return frozenset(i for i in (*one, *self.scales) if i is not None)


def find_product(
    launches: Sequence[SeenLaunch],
    names: Sequence[str],
    dtypes: Sequence[str],
    integers: Mapping[int, Sequence[int]],
) -> FoundProduct | None:
    """The product that launches of one kernel computed; None where their data shows none, or more than one.

    Args:
        launches: of one kernel.
        names, dtypes: of its arguments; "" where unknown.
        integers: number of an argument -> its values, launch by launch.
    """
    pointers = [i for i in launches[0].buffers if all(i in launch.buffers for launch in launches)][
        :_MOST_POINTERS
    ]
    stored = [i for i in pointers if launches[0].buffers[i].stored]
    loaded = [i for i in pointers if launches[0].buffers[i].loaded]
    letters = [m[1].lower() if (m := _LETTER.fullmatch(name)) else "" for name in names]
    triples = [(a, b, d) for d in stored for a, b in permutations(loaded, 2) if d not in (a, b)]
    triples.sort(key=lambda t: (letters[t[0]] != "a", letters[t[1]] != "b", t))
    result: FoundProduct | None = None
    for triple in triples:
        if result is not None and (triple[2] == result.d.argument or launches[0].buffers[triple[2]].loaded):
            continue
        found = next(_readings(launches, triple, names, dtypes, integers), None)
        if found is not None and result is not None:
            return None  # several products: no contract says that
        result = result or found
    return result


def _readings(
    launches: Sequence[SeenLaunch], triple: tuple[int, int, int], names: Sequence[str], dtypes: Sequence[str],
    integers: Mapping[int, Sequence[int]],
) -> Iterator[FoundProduct]:  # fmt: skip
    kinds = [readings(dtypes[i]) for i in triple]
    for types in dict.fromkeys(product(*kinds)):
        if dtypes[triple[0]] == dtypes[triple[1]] and types[0] != types[1]:
            continue
        elements = [
            [
                launch.buffers[i].size // element_type(t).raw.itemsize
                for i, t in zip(triple, types, strict=True)
            ]
            for launch in launches
        ]
        layers = list(zip(*(launch.grid[::-1] for launch in launches), strict=True))
        for sizes in _sizes(elements, layers, names, integers):
            fitting = []
            # Of a vector there is one order.
            ways = [
                ("row",) if all(1 in matrix_shape(name, size) for size in sizes) else ("row", "col")
                for name in "DBA"
            ]
            for orders in product(*ways):
                a, b, d = (Operand(*one) for one in zip(triple, types, reversed(orders), strict=True))
                if (found := _confirmed(launches, dtypes, FoundProduct(a, b, d, sizes))) is not None:
                    fitting.append(found)
            if fitting:
                rows = [one for one in fitting if one.d.order == fitting[0].d.order]
                yield replace(fitting[0], ambiguous=len(rows) > 1)


def _sizes(
    elements: Sequence[Sequence[int]],
    layers: Sequence[Sequence[int]],
    names: Sequence[str],
    integers: Mapping[int, Sequence[int]],
) -> Iterator[tuple[Mapping[str, int], ...]]:
    """M, N and K of each launch: by arguments of these names, and as the extents of three matrices give them; batches
    as D has room for, or as the grid has `layers` along an axis, where padding takes room, too."""
    named = {m[1].upper(): values for i, values in integers.items() if (m := _SIZE.fullmatch(names[i]))}
    if set(named) == {"M", "N", "K"}:
        given = [{name: named[name][at] for name in "MNK"} for at in range(len(elements))]
        if all(min(size.values()) > 0 for size in given):
            if any(one[2] > size["M"] * size["N"] for one, size in zip(elements, given, strict=True)):
                yield from _parts(elements, given)
            batches = [one[2] // (size["M"] * size["N"]) for one, size in zip(elements, given, strict=True)]
            rooms = [counts for counts in layers if all(c <= b for c, b in zip(counts, batches, strict=True))]
            for counts in dict.fromkeys(map(tuple, (batches, *rooms))):
                if any(batch > 1 for batch in counts):
                    yield tuple({"batch": max(b, 1), **size} for b, size in zip(counts, given, strict=True))
            yield tuple(given)
    solved = [size for one in elements if (size := _solved(*one))]
    if len(solved) == len(elements) and not all(_is_scaling(size) for size in solved):
        yield tuple(solved)


def _is_scaling(size: Mapping[str, int]) -> bool:
    """Whether the product is a vector times one number, which what is loaded may be by chance: a flag, or a count."""
    return size["K"] == 1 and 1 in (size["M"], size["N"])


def _parts(
    elements: Sequence[Sequence[int]], given: Sequence[Mapping[str, int]]
) -> Iterator[tuple[Mapping[str, int], ...]]:
    """The sizes where D has so many partial sums, and A and B are there once."""
    counts = [one[2] // (size["M"] * size["N"]) for one, size in zip(elements, given, strict=True)]
    if all(
        one[2] % (size["M"] * size["N"]) == 0 and one[0] == size["M"] * size["K"]
        for one, size in zip(elements, given, strict=True)
    ):
        yield tuple({"splits": count, **size} for count, size in zip(counts, given, strict=True))


def _solved(a: int, b: int, d: int) -> Mapping[str, int] | None:
    """M, N and K of the extents M*K, K*N and M*N."""
    if not a or not b or not d or a * d % b:
        return None
    m = math.isqrt(a * d // b)
    if not m or m * m != a * d // b or a % m or d % m or a // m * (d // m) != b:
        return None
    return {"M": m, "N": d // m, "K": a // m}


def _confirmed(
    launches: Sequence[SeenLaunch], dtypes: Sequence[str], way: FoundProduct
) -> FoundProduct | None:
    """A way to read the launches, with its factors, where all whose data was kept agree."""
    kept = [
        (at, launch, size)
        for at, (launch, size) in enumerate(zip(launches, way.sizes, strict=True))
        if math.prod(size.values()) <= _MOST_WORK
        and all(launch.buffers[o.argument].before is not None for o in (way.a, way.b, way.d))
    ]
    kept.sort(key=lambda one: math.prod(one[2].values()))
    found: FoundProduct | None = None
    for at, launch, size in kept[:_MOST_LAUNCHES]:
        one = _explained(launch, size, dtypes, way)
        if one is None or (found is not None and not _same_product(found, one)):
            return None
        if found is None or (found.c is None and one.c is not None):
            found = replace(one, shown=at)
    return found


def _same_product(one: FoundProduct, other: FoundProduct) -> bool:
    """Two launches differ by their factors at most; with beta 0 nobody sees which matrix is added."""
    plain = (replace(found, alpha=1.0, beta=0.0, c=None, ambiguous=False, shown=0) for found in (one, other))
    return next(plain) == next(plain) and (one.c == other.c or None in (one.c, other.c))


def readings(dtype: str) -> tuple[str, ...]:
    """What elements may be that a source declares so."""
    return _READINGS.get(dtype, (dtype,))


def holds(launch: SeenLaunch, size: Mapping[str, int], dtypes: Sequence[str], way: FoundProduct) -> bool:
    """Whether another launch computed the same product, at these sizes."""
    plain = FoundProduct(way.a, way.b, way.d, (size,))
    found = _explained(launch, size, dtypes, plain)
    if found is None:
        return False
    ours = replace(found, alpha=way.alpha, beta=way.beta, sizes=way.sizes)
    return replace(ours, ambiguous=way.ambiguous, shown=way.shown) == way


def matrix_shape(name: str, size: Mapping[str, int]) -> tuple[int, int]:
    """Rows and columns of A, B or D."""
    rows, columns = EXTENTS[name]
    return size[rows], size[columns]


def leading(elements: int, shape: tuple[int, int], order: str, batch: int) -> int | None:
    """Elements from one row (column) to the next in so many; None where they do not hold the matrix.

    The last row may end with its last element: what a kernel touches does.
    """
    outer, inner = shape if order == "row" else shape[::-1]
    rows = batch * outer
    ld, rest = divmod(elements, rows)
    if rest and rows > 1:
        ld, rest = divmod(elements - inner, rows - 1)
    return ld if not rest and ld >= inner else None


def _matrix(raw: NDArray[np.uint8], operand: Operand, name: str, size: Mapping[str, int]) -> Doubles | None:
    """A matrix as numbers, [batch, row, column]."""
    kind, shape, batch = element_type(operand.dtype), matrix_shape(name, size), size.get("batch", 1)
    if name == "D":
        batch = size.get("splits", batch)
    codes = raw[: raw.size // kind.raw.itemsize * kind.raw.itemsize].view(kind.raw)
    ld = leading(codes.size, shape, operand.order, batch)
    if ld is None:
        return None
    outer, inner = shape if operand.order == "row" else shape[::-1]
    whole = np.resize(codes, batch * outer * ld)  # what the last row may lack is padding
    values = kind.decode(whole.reshape(batch, outer, ld)[..., :inner])
    return values if operand.order == "row" else values.swapaxes(1, 2)


def _explained(
    launch: SeenLaunch, size: Mapping[str, int], dtypes: Sequence[str], way: FoundProduct
) -> FoundProduct | None:
    """The factors, or the epilogue, with which one launch's data is the product read this way."""
    before: dict[str, Doubles | None] = {}
    for name, operand in (("A", way.a), ("B", way.b), ("D", way.d)):
        raw = launch.buffers[operand.argument]
        before[name] = None if raw.before is None else _matrix(raw.before, operand, name, size)
    target = launch.buffers[way.d.argument]
    d = None if target.after is None else _matrix(target.after, way.d, "D", size)
    a, b = before["A"], before["B"]
    if a is None or b is None or d is None or not all(np.isfinite(x).all() for x in (a, b, d)):
        return None
    if "splits" in size:
        d, way = d.sum(axis=0, keepdims=True), replace(way, split_k=True)
    p = a @ b
    if np.ptp(p) == 0 or np.ptp(d) == 0:
        return None
    others = [
        (i, other, way.d.dtype if way.d.dtype in readings(dtypes[i]) else dtypes[i])
        for i, other in launch.buffers.items()
        if other.loaded and not other.stored and i not in (way.a.argument, way.b.argument)
    ]
    matrices: list[tuple[int, Doubles]] = []
    for i, other, dtype in others:
        c = None if other.before is None else _matrix(other.before, Operand(i, dtype, way.d.order), "D", size)
        if c is not None and np.isfinite(c).all():
            matrices.append((i, c))
    inout = before["D"] if target.role == "inout" else None
    added = [*([(way.d.argument, inout)] if inout is not None else []), *matrices]
    vectors = [one for i, other, _ in others for one in _vectors(i, other, size, dtypes[i], way.d.dtype)]
    return _added(way, p, d, added) or _epilogue(way, p, d, vectors, matrices)


def _added(
    way: FoundProduct, p: Doubles, d: Doubles, matrices: Sequence[tuple[int, Doubles]]
) -> FoundProduct | None:
    """alpha P, and the matrix of those given that explains what is left, if one does."""
    best = _factors(p, None, d)
    for i, c in matrices:
        found = _factors(p, c, d) if np.isfinite(c).all() else None
        if found is None:
            continue
        if i == way.d.argument and not c.any():
            return replace(way, alpha=found.alpha, zeroed=True)
        if found.beta and (best is None or found.error < best.error * _CLOSER):
            best, way = found, replace(way, c=i)
    return replace(way, alpha=best.alpha, beta=best.beta) if best else None


class _Factors(Struct, frozen=True):
    """alpha and beta, and by how much the largest element is off with them."""

    alpha: float
    beta: float
    error: float


def _factors(p: Doubles, c: Doubles | None, d: Doubles) -> _Factors | None:
    """Those of D = alpha P + beta C, if they exist."""
    columns = np.stack([p.ravel()] if c is None or not c.any() else [p.ravel(), c.ravel()], axis=1)
    found, *_ = np.linalg.lstsq(columns, d.ravel(), rcond=None)
    fitted = columns @ found
    if not _near(fitted, d.ravel()) or abs(found[0]) < _ERROR:
        return None
    beta = float(found[1]) if len(found) > 1 and abs(found[1]) >= _ERROR else 0.0
    return _Factors(float(found[0]), beta, float(np.abs(fitted - d.ravel()).max()))


Vector = tuple[int, tuple[str, ...], Doubles, str]
"""Number of an argument, its extents as a manifest has them, its elements, as they broadcast to D, and their type."""


def _epilogue(
    way: FoundProduct,
    p: Doubles,
    d: Doubles,
    vectors: Sequence[Vector],
    matrices: Sequence[tuple[int, Doubles]],
) -> FoundProduct | None:
    """What explains D best; with one argument more only where far less is left unexplained."""
    best, least = None, np.inf
    added: list[tuple[int | None, Doubles]] = [(None, np.zeros(1)), *matrices]
    functions: dict[str, Callable[[Doubles], Doubles]] = {"": np.asarray, **ACTIVATIONS}
    for scales, bias in _choices(vectors):
        read = (*scales, *([bias] if bias else []))
        shapes = {i: shape for i, shape, *_ in read}
        kinds = {i: kind for i, *_, kind in read}
        linear = p * math.prod(one for _, _, one, _ in scales) + (bias[2] if bias else 0.0)
        for i, matrix in added:
            with np.errstate(over="ignore", invalid="ignore"):
                ways = {(name, False): function(linear) + matrix for name, function in functions.items()}
                if i is not None:
                    ways |= {
                        (name, True): function(linear + matrix)
                        for name, function in functions.items()
                        if name
                    }
            # Activations differ where the argument is small, and roundings where it is large.
            name, inside = min(ways, key=lambda one: _typically_off(ways[one], d))
            error = _off(ways[name, inside], d)
            if error < least * (_CLOSER if best else 1) and error <= _ERROR:
                least = error
                best = replace(
                    way, scales=tuple(one for one, *_ in scales), bias=bias[0] if bias else None,
                    activation=name, residual=None if inside else i, c=i if inside else None,
                    beta=float(inside), shapes=shapes, kinds=kinds,
                )  # fmt: skip
    return best


def _choices(vectors: Sequence[Vector]) -> Iterator[tuple[tuple[Vector, ...], Vector | None]]:
    """Which of them are scales, and which one a bias: the fewest first."""
    ways = [
        (scales, bias)
        for count in range(_MOST_SCALES + 1)
        for scales in combinations(vectors, count)
        for bias in (None, *vectors)
        if len({*(i for i, *_ in scales), *((bias[0],) if bias else ())}) == count + (bias is not None)
    ]
    return iter(sorted(ways, key=lambda way: len(way[0]) + (way[1] is not None)))


def _vectors(
    i: int, buffer: SeenBuffer, size: Mapping[str, int], declared: str, like: str
) -> Iterator[Vector]:
    """The ways in which a buffer has an element for each column, for each row, or for all of D."""
    for dtype in sorted(readings(declared), key=lambda one: one != like):
        kind = element_type(dtype)
        for shape, extents in ((("N",), (size["N"],)), (("M", "1"), (size["M"], 1)), (("1",), (1,))):
            if buffer.before is not None and buffer.size == math.prod(extents) * kind.raw.itemsize:
                values = kind.decode(buffer.before.view(kind.raw)).reshape(extents)
                if np.isfinite(values).all():
                    yield i, shape, values, dtype


def _off(found: Doubles, d: Doubles) -> float:
    """By how much the largest element is off, of the largest."""
    error = float(np.abs(found - d).max() / np.abs(d).max())
    return error if math.isfinite(error) else np.inf


def _typically_off(found: Doubles, d: Doubles) -> float:
    """By how much elements are off, of their own size or a hundredth of the largest, on average."""
    error = float(np.mean(np.abs(found - d) / (np.abs(d) + np.abs(d).max() * _SMALL)))
    return error if math.isfinite(error) else np.inf


def _near(found: Doubles, d: Doubles) -> bool:
    return _off(found, d) <= _ERROR
