"""Formulas in which an input of integers chooses what is multiplied: experts of a mixture, and pages of a cache."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from layoutprobe.drafting import reference_parts as parts
from layoutprobe.drafting.made_up import INDICES
from layoutprobe.drafting.reference_terms import Axis, Shape, Tensors, Term
from layoutprobe.numbers import element_type

Found = tuple[Term, Shape]
_PAGES = (1, 8, 16, 32, 64, 128)
"""Rows of a page."""


def chosen(tensors: Tensors, i: int) -> Iterator[Found]:
    """Products with matrices that indices choose: for rows, for blocks of rows, or several for a row."""
    for at in _integers(tensors, i):
        for weights in tensors.inputs:
            if weights in (at, i) or not element_type(tensors.dtypes[weights]).is_float:
                continue
            yield from _experts(tensors, i, at, weights)


def _integers(tensors: Tensors, i: int) -> list[int]:
    return [j for j in tensors.inputs if j != i and not element_type(tensors.dtypes[j]).is_float]


def _experts(tensors: Tensors, i: int, at: int, weights: int) -> Iterator[Found]:
    for shape in tensors.orders(i):
        columns = shape[-1]
        if not 2 <= len(shape) <= 3 or not columns.names:
            continue
        for own in tensors.orders(weights):
            if len(own) != 3 or own[0].names or columns not in own[1:]:
                continue
            (depth,) = [axis for axis in own[1:] if axis != columns] or [columns]
            matrices = tensors.read(weights, own)
            if own[1] == columns:
                matrices = matrices.made("{}.swapaxes(1, 2)", lambda v: v.swapaxes(1, 2))
            for made in _of_chosen(tensors, shape, at, matrices, depth, i):
                yield made, shape
                yield from ((one, shape) for one in _weighed(tensors, made, shape, at, i))


def _of_chosen(
    tensors: Tensors, shape: Shape, at: int, matrices: Term, depth: Axis, i: int
) -> Iterator[Term]:
    """Products of an input with the matrices that these indices choose."""
    others = [j for j in tensors.inputs if j not in (at, i) and j not in matrices.arguments]
    for rows in (shape[:1], shape[:2]):
        if tensors.counts(at) != tensors.extents(rows) or len(rows) == len(shape):
            continue
        picked = matrices.with_other("{0}[{1}]", lambda m, n: m[n], tensors.read(at, rows))
        for x in others:
            if (
                len(shape) == 3
                and len(rows) == 1
                and tensors.counts(x) == tensors.extents((*shape[:2], depth))
            ):
                yield tensors.read(x, (*shape[:2], depth)).with_other("({0} @ {1})", np.matmul, picked)
            elif tensors.counts(x) == tensors.extents((*rows, depth)) and len(rows) == len(shape) - 1:
                one = tensors.read(x, (*rows, depth)).made("{}[..., None, :]", lambda v: v[..., None, :])
                yield _first(one.with_other("({0} @ {1})", np.matmul, picked))
            elif tensors.counts(x) == tensors.extents((shape[0], depth)) and len(rows) == 2:
                one = tensors.read(x, (shape[0], depth)).made("{}[:, None, None]", lambda v: v[:, None, None])
                yield _first(one.with_other("({0} @ {1})", np.matmul, picked))
    yield from _summed(tensors, shape, at, matrices, depth, others)


def _first(term: Term) -> Term:
    return term.made("{}[..., 0, :]", lambda v: v[..., 0, :])


def _summed(
    tensors: Tensors, shape: Shape, at: int, matrices: Term, depth: Axis, others: list[int]
) -> Iterator[Term]:
    """Sums over several matrices of a row, each times a number of its own, or plain."""
    if len(shape) != 2:
        return
    many = tensors.counts(at)[0] // max(1, tensors.extents(shape[:1])[0])
    rows = shape[0], Axis(times=many)
    if many < 2 or tensors.counts(at) != tensors.extents(rows):
        return
    picked = matrices.with_other("{0}[{1}]", lambda m, n: m[n], tensors.read(at, rows))
    for x in others:
        if tensors.counts(x) != tensors.extents((shape[0], depth)):
            continue
        one = tensors.read(x, (shape[0], depth)).made("{}[:, None, None]", lambda v: v[:, None, None])
        every = _first(one.with_other("({0} @ {1})", np.matmul, picked))
        for factors in others:
            if factors != x and tensors.counts(factors) == tensors.extents(rows):
                weights = tensors.read(factors, rows).made("{}[..., None]", lambda v: v[..., None])
                yield _sum(weights.with_other("({0} * {1})", np.multiply, every))
        yield _sum(every)


def _sum(term: Term) -> Term:
    return term.made("{}.sum(axis=1)", lambda v: v.sum(axis=1))


def _weighed(tensors: Tensors, made: Term, shape: Shape, at: int, i: int) -> Iterator[Term]:
    """Times a number for each row."""
    rows = shape[:-1]
    for j in tensors.inputs:
        if j not in (at, i) and j not in made.arguments and tensors.counts(j) == tensors.extents(rows):
            yield made.with_other("({0} * {1})", np.multiply, tensors.read(j, (*rows, Axis())))


def paged(tensors: Tensors, i: int) -> Iterator[Found]:
    """Attention of one query of each sequence, whose keys and values lie in pages that a table names."""
    for tables, lengths in permutations(_integers(tensors, i), 2):
        floats = [j for j in tensors.inputs if element_type(tensors.dtypes[j]).is_float and j != i]
        for shape in tensors.orders(i):
            if len(shape) != 3 or tensors.counts(lengths) != tensors.extents(shape[:1]):
                continue
            for q, k, v in permutations(floats, 3):
                if tensors.counts(q) == tensors.counts(i) and tensors.counts(k) == tensors.counts(v):
                    yield from _of_pages(tensors, shape, (q, k, v), tables, lengths)


def _of_pages(
    tensors: Tensors, shape: Shape, operands: tuple[int, int, int], tables: int, lengths: int
) -> Iterator[Found]:
    rows, heads, depth = shape
    queries, keys, values = operands
    for few in (heads, *(Axis((name,)) for name in tensors.sizes[0])):
        for count in _PAGES:
            whole = Axis(times=INDICES), Axis(times=count), few, depth
            named = [(rows, Axis((name,), 1, count, up=count > 1)) for name in tensors.sizes[0]]
            if tensors.counts(keys) != tensors.extents(whole):
                continue
            for table in (one for one in named if tensors.counts(tables) == tensors.extents(one)):
                for pages in (whole, (whole[0], few, whole[1], depth)):
                    turned = pages != whole
                    cached = [_turned(tensors.read(j, pages), turned) for j in (keys, values)]
                    at = tensors.read(tables, table), tensors.read(lengths, (rows,))
                    yield from _attending(tensors, tensors.read(queries, shape), cached, at, shape)


def _turned(term: Term, turned: bool) -> Term:
    return term.made("{}.swapaxes(1, 2)", lambda v: v.swapaxes(1, 2)) if turned else term


def _attending(
    tensors: Tensors, q: Term, cached: list[Term], at: tuple[Term, Term], shape: Shape
) -> Iterator[Found]:
    """With each scale that it may have."""
    depth, terms = shape[-1], (q, *cached, *at)
    scales = {f"{one:g}": one for one in tensors.floats.values() if 0 < one <= 1} | {"1.0": 1.0}
    for text in (f"{depth.python} ** -0.5", *scales):

        def value(launch: int, scale: float | None = scales.get(text)) -> parts.Array:
            one, k, v, tables, lengths = (term.at(launch) for term in terms)
            return parts.paged_attention(one, k, v, tables, lengths, scale or one.shape[-1] ** -0.5)

        told = ", ".join(term.text for term in terms)
        reads = tuple(read for term in terms for read in term.reads)
        yield (
            Term(f"paged_attention({told}, {text})", value, reads, frozenset({parts.paged_attention})),
            shape,
        )
