"""Formulas with products of matrices in them that a `gemm` contract has no words for: several in one kernel,
attention, weights that are dequantised, convolutions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np

from layoutprobe.drafting import reference_parts as parts
from layoutprobe.drafting.products import readings
from layoutprobe.drafting.reference_terms import (
    Array,
    Axis,
    Shape,
    Tensors,
    Term,
    divided,
    product_of,
)
from layoutprobe.manifest.model import Sizes
from layoutprobe.numbers import element_type

Found = tuple[Term, Shape]
Chosen = tuple[int, int, int]
"""Arguments that are queries, keys and values."""
_ZEROS = (0, 8, 7, 128)
"""That are taken from unsigned codes."""
_BLOCKS = (16, 32, 64, 128)


def multiplied(tensors: Tensors, i: int) -> Iterator[Found]:
    """Products of two inputs, where a kernel has several outputs or reads its operands otherwise."""
    floats = [j for j in tensors.inputs if j != i]
    for shape in tensors.pairs(i):
        for a, b in permutations(floats, 2):
            for one in _products(tensors, shape, a, b):
                yield from ((made, shape) for made in (one, *_behind(tensors, one, shape[1], i)))


def _products(tensors: Tensors, shape: Shape, a: int, b: int) -> Iterator[Term]:
    rows, columns = shape
    for depth in _depths(tensors, a, rows):
        if depth not in list(_depths(tensors, b, columns)):
            continue
        ways = [tensors.read(a, (rows, depth)), _turned(tensors.read(a, (depth, rows)))]
        others = [tensors.read(b, (depth, columns)), _turned(tensors.read(b, (columns, depth)))]
        for one, other in product(ways, others):
            yield one.with_other("({0} @ {1})", np.matmul, other)


def _depths(tensors: Tensors, i: int, extent: Axis) -> Iterator[Axis]:
    """What is left of a buffer beside one of its extents."""
    for axes in tensors.factored(tensors.counts(i)):
        left = tuple(one for one in axes if one.names and set(one.names) <= set(extent.names))
        if product_of(left) == extent and len(left) < len(axes):
            yield product_of([one for one in axes if one not in left])


def _in_half(term: Term) -> Term:
    return term.made("{}.astype(np.float16)", lambda x: x.astype(np.float16))


def _turned(term: Term) -> Term:
    return term.made("{}.T", np.transpose)


def attention(tensors: Tensors, i: int) -> Iterator[Found]:
    """softmax(q @ k^T) @ v: of heads, one behind the other or between the rows of each other."""
    floats = [j for j in tensors.inputs if element_type(tensors.dtypes[j]).is_float and j != i]
    for q, k, v in permutations(floats, 3):
        if tensors.counts(q) != tensors.counts(i) or tensors.counts(k) != tensors.counts(v):
            continue
        for shape in tensors.orders(i):
            if not 2 <= len(shape) <= 4:
                continue
            if tensors.counts(k) == tensors.counts(q):
                yield from _of_many(tensors, tuple(tensors.read(j, shape) for j in (q, k, v)), shape)
                continue
            yield from _of_one(tensors, (q, k, v), shape)
            for whole in tensors.orders(k):
                for known, at in _as_of_queries(whole, shape):
                    if at is not None and known == shape:
                        keys, values = (_repeated(tensors, j, whole, known, at) for j in (k, v))
                        yield from _of_many(tensors, (tensors.read(q, shape), keys, values), shape)


def _of_many(tensors: Tensors, chosen: Sequence[Term], shape: Shape) -> Iterator[Found]:
    """As many queries as keys."""
    last = len(shape) - 2
    for rows in range(len(shape) - 1):
        one, two, three = (_swapped(term, rows, last) for term in chosen)
        for causal in (False, True):
            for found in _attentions(tensors, one, two, three, causal):
                yield _swapped(found, rows, last), shape


def _of_one(tensors: Tensors, chosen: Chosen, shape: Shape) -> Iterator[Found]:
    """A query, or one for each head, beside more keys: the axis of these is the one that the output has not."""
    for whole in tensors.orders(chosen[1]):
        for known, at in _as_of_queries(whole, shape):
            own = [n for n, axis in enumerate(known) if axis not in shape]
            if len(own) != 1 or own[0] == len(known) - 1:
                continue
            if (*known[: own[0]], *known[own[0] + 1 :]) != shape:
                continue
            k, v = (
                _swapped(_repeated(tensors, j, whole, known, at), own[0], len(known) - 2) for j in chosen[1:]
            )
            q = tensors.read(chosen[0], shape).made("{}[..., None, :]", lambda x: x[..., None, :])
            for found in _attentions(tensors, q, k, v, False):
                yield found.made("{}[..., 0, :]", lambda x: x[..., 0, :]), shape


def _as_of_queries(whole: Shape, shape: Shape) -> Iterator[tuple[Shape, int | None]]:
    """Axes of keys as they are, and with one of them, by its number, as one of the queries: heads that share keys."""
    yield whole, None
    for at, axis in enumerate(whole):
        for other in shape:
            if _is_size(axis) and _is_size(other) and axis not in shape and other not in whole:
                yield (*whole[:at], other, *whole[at + 1 :]), at


def _is_size(axis: Axis) -> bool:
    return len(axis.names) == axis.times == axis.by == 1


def _repeated(tensors: Tensors, j: int, whole: Shape, known: Shape, at: int | None) -> Term:
    """A buffer of these axes, each of one of them for as many as the other axes have there."""
    term = tensors.read(j, whole)
    if at is None:
        return term
    few, many, sizes = whole[at], known[at], tensors.sizes
    return Term(
        f"{term.text}.repeat({many.python} // {few.python}, axis={at})",
        lambda i: term.at(i).repeat(many.at(sizes[i]) // few.at(sizes[i]), axis=at),
        term.reads,
        term.parts,
    )


def _swapped(term: Term, one: int, other: int) -> Term:
    text = f"{{}}.swapaxes({one}, {other})"
    return term if one == other else term.made(text, lambda x: x.swapaxes(one, other))


def _attentions(tensors: Tensors, q: Term, k: Term, v: Term, causal: bool) -> Iterator[Term]:
    """With each scale that it may have."""
    for text, scale in _scales(tensors, q):

        def value(i: int, scale: float | None = scale) -> Array:
            one, two, three = (term.at(i) for term in (q, k, v))
            return parts.attention(one, two, three, scale or one.shape[-1] ** -0.5, causal)

        told = f"attention({q.text}, {k.text}, {v.text}, scale={text}, causal={causal})"
        yield Term(told, value, (*q.reads, *k.reads, *v.reads), frozenset({parts.attention}))


def _scales(tensors: Tensors, q: Term) -> Iterator[tuple[str, float | None]]:
    """By which scores of queries may be multiplied; None for one by the root of their length, which may be a size."""
    depth = q.reads[0].shape[-1]
    yield f"{depth.python} ** -0.5", None
    root = 0.0 if depth.names else depth.times**-0.5
    known = {f"{scale:g}": scale for scale in tensors.floats.values() if 0 < scale <= 1} | {"1.0": 1.0}
    yield from ((text, scale) for text, scale in known.items() if not math.isclose(scale, root, rel_tol=1e-5))


def attended(tensors: Tensors, i: int) -> Iterator[Found]:
    """The logarithm of what attention divides a row by: natural, or to base 2."""
    floats = [j for j in tensors.inputs if element_type(tensors.dtypes[j]).is_float and j != i]
    for q, k in permutations(floats, 2):
        for shape in tensors.orders(q):
            if not 2 <= len(shape) <= 4 or tensors.extents(shape[:-1]) != tensors.counts(i):
                continue
            last = len(shape) - 2
            for keys, rows in product(_keys(tensors, k, shape), range(last + 1)):
                one, two = (_swapped(term, rows, last) for term in (tensors.read(q, shape), keys))
                axes = list(shape[:-1])
                axes[rows], axes[last] = axes[last], axes[rows]
                for term in _logarithms(tensors, one, two):
                    yield term, tuple(axes)
                    if rows != last:
                        yield _swapped(term, rows, last), shape[:-1]


def _keys(tensors: Tensors, k: int, shape: Shape) -> Iterator[Term]:
    """A buffer as keys of queries of a shape."""
    if tensors.counts(k) == tensors.extents(shape):
        yield tensors.read(k, shape)
        return
    for whole in tensors.orders(k):
        for known, at in _as_of_queries(whole, shape):
            if at is not None and known == shape:
                yield _repeated(tensors, k, whole, known, at)


def _logarithms(tensors: Tensors, q: Term, k: Term) -> Iterator[Term]:
    """Of sums of exponentials of scores."""
    for causal, (text, scale) in product((False, True), _scales(tensors, q)):

        def value(i: int, causal: bool = causal, scale: float | None = scale) -> Array:
            one, two = q.at(i), k.at(i)
            return parts.attention_logsumexp(one, two, scale or one.shape[-1] ** -0.5, causal)

        told = f"attention_logsumexp({q.text}, {k.text}, scale={text}, causal={causal})"
        found = Term(told, value, (*q.reads, *k.reads), frozenset({parts.attention_logsumexp}))
        yield found
        yield found.made("{} / np.log(2)", lambda x: x / np.log(2))


def dequantised(tensors: Tensors, i: int) -> Iterator[Found]:
    """x @ ((codes - zero) * scale), with a scale for each column, group or block of the weights; and these alone."""
    for codes in tensors.inputs:
        if element_type(tensors.dtypes[codes]).bits > 8 and element_type(tensors.dtypes[codes]).is_float:
            continue
        for dtype in readings(tensors.dtypes[codes]):
            for kn in _weight_shapes(tensors, i):
                for weights in _weights(tensors, codes, dtype, kn, i):
                    yield from _used(tensors, weights, kn, i)


def _weight_shapes(tensors: Tensors, i: int) -> Iterator[Shape]:
    """Rows and columns that weights may have, by an input and the output, or by that alone."""
    seen = set()
    for rows, columns in tensors.pairs(i):
        for x in tensors.inputs:
            for depth in _depths(tensors, x, rows):
                seen.add((depth, columns))
        seen.add((rows, columns))
    yield from sorted(seen, key=str)


def _weights(tensors: Tensors, codes: int, dtype: str, kn: Shape, i: int) -> Iterator[Term]:
    """Codes less a zero, times scales, as [K, N]."""
    for q in _codes(tensors, codes, dtype, kn):
        others = [j for j in tensors.inputs if j not in (codes, i)]
        scales = [one for j in others for one in _blocks(tensors, j, kn)]
        for zeroed in _zeroed(tensors, q, kn, others, dtype):
            for scale in scales:
                if not scale.arguments & zeroed.arguments:
                    yield zeroed.with_other("({0} * {1})", np.multiply, scale)


def _codes(tensors: Tensors, i: int, dtype: str, kn: Shape) -> Iterator[Term]:
    """Codes of weights as [K, N], whole or packed along an axis, and stored by rows or by columns."""
    counts = tensors.counts(i, dtype)
    for shape, turn in ((kn, False), (kn[::-1], True)):
        if counts == tensors.extents(shape):
            term = tensors.read(i, shape, dtype)
            yield _turned(term) if turn else term
        for packed in divided(counts, shape, tensors.sizes):
            axis = next(at for at in (0, 1) if packed[at].by > 1)
            count = packed[axis].by
            if element_type(dtype).is_float or count * 4 != 8 * element_type(dtype).raw.itemsize:
                continue
            term = tensors.read(i, packed, dtype).called(parts.nibbles, axis, count)
            yield _turned(term) if turn else term


def _zeroed(tensors: Tensors, q: Term, kn: Shape, others: list[int], dtype: str) -> Iterator[Term]:
    """Codes less a number, or less what a buffer has for a column or a group."""
    if element_type(dtype).is_float or dtype.startswith("i8"):
        yield q
    else:
        yield from (q.made(f"({{}} - {z})", lambda x, z=z: x - z) if z else q for z in _ZEROS)  # type: ignore[misc]
    for j in others:
        zeros = list(_blocks(tensors, j, kn))
        if tensors.dtypes[j] == "f16":  # what is subtracted in half precision is rounded before it is scaled
            yield from (_in_half(q.with_other("({0} - {1})", np.subtract, one)) for one in zeros)
        zeros += [
            one for z in _packed_blocks(tensors, j, kn) for one in (z, z.made("({} + 1)", lambda x: x + 1))
        ]
        yield from (q.with_other("({0} - {1})", np.subtract, one) for one in zeros)


def _blocks(tensors: Tensors, i: int, kn: Shape) -> Iterator[Term]:
    """A buffer with an element for each column, row, group or block, as [K, N]."""
    k, n = kn
    counts, sizes = tensors.counts(i), tensors.sizes
    if counts == tensors.extents((n,)):
        yield tensors.read(i, (n,))
    if counts == tensors.extents((k,)):
        yield tensors.read(i, (k, Axis()))
    for rows, columns in product(_BLOCKS, (1, *_BLOCKS)):
        whole, cut = _grouped(kn, rows, columns, False), _grouped(kn, rows, columns, True)
        grouped = whole if tensors.extents(whole) == tensors.extents(cut) else cut
        for shape, turn in ((grouped, False), (grouped[::-1], True)):
            if counts == tensors.extents(shape):
                term = tensors.read(i, shape)
                yield _spread(_turned(term) if turn else term, kn, rows, columns, sizes)


def _packed_blocks(tensors: Tensors, i: int, kn: Shape) -> Iterator[Term]:
    """The same of codes of four bits, packed along the columns, or along the groups of each column."""
    if element_type(tensors.dtypes[i]).is_float:
        return
    count = 2 * element_type(tensors.dtypes[i]).raw.itemsize
    counts, sizes = tensors.counts(i), tensors.sizes
    for rows in _BLOCKS:
        k, n = _grouped(kn, rows, 1, False)
        packed = k, Axis(n.names, n.times, n.by * count)
        if counts == tensors.extents(packed):
            term = tensors.read(i, packed).called(parts.nibbles, 1, count)
            yield _spread(term, kn, rows, 1, sizes)
        packed = kn[1], Axis(kn[0].names, kn[0].times, kn[0].by * rows * count, up=True)
        if counts == tensors.extents(packed):
            term = tensors.read(i, packed).called(parts.nibbles, 1, count)
            yield _spread(_turned(term), kn, rows, 1, sizes)


def _grouped(kn: Shape, rows: int, columns: int, up: bool) -> Shape:
    """Groups of rows, or blocks; up: those that are cut at an edge count."""
    k, n = kn
    return Axis(k.names, k.times, k.by * rows, up), Axis(n.names, n.times, n.by * columns, up and columns > 1)


def _spread(term: Term, kn: Shape, rows: int, columns: int, sizes: Sequence[Sizes]) -> Term:
    """Each element for a block of [K, N]."""
    k, n = kn
    text = f"in_blocks({term.text}, {rows}, {columns}, ({k.python}, {n.python}))"
    return Term(
        text,
        lambda i: parts.in_blocks(term.at(i), rows, columns, (k.at(sizes[i]), n.at(sizes[i]))),
        term.reads,
        term.parts | {parts.in_blocks},
    )


def _used(tensors: Tensors, weights: Term, kn: Shape, i: int) -> Iterator[Found]:
    """The weights alone, by rows or columns, and products with them."""
    k, n = kn
    if tensors.counts(i) == tensors.extents(kn):
        yield weights, kn
        yield _turned(weights), (n, k)
    for x in tensors.inputs:
        if x in weights.arguments or x == i:
            continue
        for rows, columns in tensors.pairs(i):
            if columns == n and k in list(_depths(tensors, x, rows)):
                for rounded in (weights, _in_half(weights)):
                    made = tensors.read(x, (rows, k)).with_other("({0} @ {1})", np.matmul, rounded)
                    yield from ((one, (rows, n)) for one in (made, *_behind(tensors, made, n, i)))
                yield from ((one, (rows, n)) for one in _scaled(tensors, x, (rows, k), weights, i))


def _scaled(tensors: Tensors, x: int, shape: Shape, weights: Term, i: int) -> Iterator[Term]:
    """Products of weights with codes that have scales of their own, for each row, or block of it."""
    if element_type(tensors.dtypes[x]).bits > 8:
        return
    for scales in (
        _turned(one) for j in tensors.inputs if j != i for one in _blocks(tensors, j, shape[::-1])
    ):
        if not scales.arguments & (weights.arguments | {x}):
            scaled = tensors.read(x, shape).with_other("({0} * {1})", np.multiply, scales)
            yield scaled.with_other("({0} @ {1})", np.matmul, weights)


def gated(tensors: Tensors, i: int) -> Iterator[Found]:
    """Two products of one input, of which one goes through an activation and opens the other."""
    for rows, columns in tensors.pairs(i):
        for x in tensors.inputs:
            others = [j for j in tensors.inputs if j not in (x, i)]
            for one, other in permutations(others, 2):
                if tensors.counts(one) != tensors.counts(other):
                    continue
                ways = zip(
                    _products(tensors, (rows, columns), x, one),
                    _products(tensors, (rows, columns), x, other),
                    strict=True,
                )
                for opens, opened in ways:
                    for part in (parts.silu, parts.gelu, parts.gelu_tanh, parts.relu, parts.sigmoid):
                        made = opens.called(part).with_other("({0} * {1})", np.multiply, opened)
                        yield made, (rows, columns)


def convolved(tensors: Tensors, i: int) -> Iterator[Found]:
    """Convolutions that keep height and width, of images whose channels lie together, or one behind the other."""
    for shape in tensors.orders(i):
        if not 3 <= len(shape) <= 4 or any(axis.times > 1 for axis in shape):
            continue
        one_image = len(shape) == 3
        if one_image:
            shape = (Axis(), *shape)
        for image, weights in permutations([j for j in tensors.inputs if j != i], 2):
            for behind in (True, False):
                n, h, w, k = shape if behind else (shape[0], *shape[2:], shape[1])
                for c, size in _channels(tensors, image, weights, (n, h, w, k)):
                    side = Axis(times=size)
                    if behind:
                        x, f = tensors.read(image, (n, h, w, c)), tensors.read(weights, (k, side, side, c))
                    else:
                        x = _channels_behind(tensors.read(image, (n, c, h, w)))
                        f = _channels_behind(tensors.read(weights, (k, c, side, side)))
                    made = x.called_with(parts.convolution, f)
                    for one in (made, *_behind(tensors, made, k, i)):
                        turned = one.made("{}.transpose(0, 3, 1, 2)", lambda v: v.transpose(0, 3, 1, 2))
                        told = one if behind else turned
                        yield (told.made("{}[0]", lambda v: v[0]), shape[1:]) if one_image else (told, shape)


def _channels_behind(term: Term) -> Term:
    return term.made("{}.transpose(0, 2, 3, 1)", lambda x: x.transpose(0, 2, 3, 1))


def _behind(tensors: Tensors, term: Term, columns: Axis, i: int) -> Iterator[Term]:
    """What an epilogue makes of a product: a bias of each column, an activation."""
    biased = [
        term.with_other("({0} + {1})", np.add, tensors.read(j, (columns,)))
        for j in tensors.inputs
        if j != i and j not in term.arguments and tensors.counts(j) == tensors.extents((columns,))
    ]
    yield from biased
    for one in (term, *biased):
        yield from (one.called(part) for part in (parts.relu, parts.silu, parts.gelu, parts.gelu_tanh))


def _channels(tensors: Tensors, image: int, weights: int, shape: Shape) -> Iterator[tuple[Axis, int]]:
    """Channels, and the extent of a filter."""
    n, h, w, k = shape
    for c in _depths(tensors, image, product_of((n, h, w))):
        for rest in _depths(tensors, weights, k):
            side = math.isqrt(rest.times)
            if rest.names == c.names and c.times == 1 and side * side == rest.times and side > 1:
                yield c, side
