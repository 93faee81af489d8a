"""Elements that are added to a product, and come from a wrong place: C, or a bias.

With A and B zero an output holds nothing but what is added. Where that has numbers of its own, the output tells
which element was taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.manifest.binding import BoundBuffer
from layoutprobe.manifest.inputs import ALONE
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers import element_type
from layoutprobe.observe.sites import LoadSiteRecorder, LoadSites
from layoutprobe.place import Place
from layoutprobe.trace.places import where
from layoutprobe.trace.references import reference_of
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject, UndecidedError

Ints = NDArray[np.int64]


class AddedElement(Struct, frozen=True):
    """An input whose elements are added in wrong places.

    Attributes:
        says: one clause.
        place: the load of that input; None where it is not known.
    """

    says: str
    place: Place | None


def misplaced(subject: Subject, output: str) -> AddedElement | None:
    """The first input of which an output holds other elements than it should, where every element of it is one of
    that input, and should be; None where there is none."""
    for name, buffer in subject.binding.buffers.items():
        if not _usable(subject, buffer, output):
            continue
        spec = RunSpec(f"{ALONE}{name}", (LoadSiteRecorder,), alpha=1.0, beta=1.0)
        try:
            run = subject.run(spec)
        except RunStoppedError:
            continue
        expected = _expected(subject, name, output, reference_of(run))
        held = _elements(np.asarray(run.outputs[output], np.float64), buffer, padding=buffer.padded)
        need = None if expected is None else _elements(np.asarray(expected, np.float64), buffer)
        if held is None or need is None or held.shape != need.shape or (held == need).all():
            continue
        if not _is_placed(subject, buffer, output, reference_of(run), need):
            continue
        sites = run.record(LoadSites).loads.get(f"buffer {name}", ())
        says = _apart(subject, buffer, held, need) or _says(name, buffer, output, held, need)
        return AddedElement(says, where(subject, sites[0]) if sites else None)
    return None


def _usable(subject: Subject, buffer: BoundBuffer, output: str) -> bool:
    """An input that may be added, and whose elements an output can tell apart."""
    argument, contract = buffer.argument, subject.contract
    if argument.matrix in ("A", "B") or argument.values is not None or argument.role == "out":
        return False
    if isinstance(contract, Gemm) and contract.c != buffer.name:
        return False
    kinds = element_type(buffer.dtype), element_type(subject.binding.buffers[output].dtype)
    return prod(buffer.shape) < min(kind.exact for kind in kinds)


def _expected(
    subject: Subject, name: str, output: str, inputs: Mapping[str, NDArray[Any]]
) -> NDArray[Any] | None:
    if isinstance(subject.contract, Gemm):
        return inputs[name]
    assert subject.reference is not None
    try:
        values = subject.reference(inputs, dict(subject.sizes))
    except UndecidedError:  # it need not know of zeros
        return None
    return np.asarray(values[output], np.float64) if output in values else None


def _is_placed(
    subject: Subject, buffer: BoundBuffer, output: str, inputs: Mapping[str, NDArray[Any]], need: Ints
) -> bool:
    """Which element belongs where hangs on no value: other numbers are needed in the same places. It is not so where
    the largest is looked for, or all are sorted."""
    if subject.reference is None:
        return True
    other = prod(buffer.shape) + 1 - np.asarray(inputs[buffer.name])
    expected = _expected(subject, buffer.name, output, dict(inputs) | {buffer.name: other})
    turned = None if expected is None else _elements(np.asarray(expected, np.float64), buffer)
    last = prod(buffer.shape) - 1
    return turned is not None and bool(np.array_equal(last - turned, need))


def _elements(values: NDArray[np.float64], buffer: BoundBuffer, *, padding: bool = False) -> Ints | None:
    """Flat index of the element that each value is the number of; None where one is no number of any. Padding, which
    is NaN, is -1 where it may be taken."""
    whole = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    good = (whole == np.floor(whole)) & (whole >= 1) & (whole <= prod(buffer.shape))
    good |= np.isnan(values) & padding
    return whole.astype(np.int64) - 1 if good.all() and (whole > 0).any() else None


def _apart(subject: Subject, buffer: BoundBuffer, held: Ints, need: Ints) -> str:
    """That lines of a matrix are taken another distance apart than they lie, padding included; "" where not."""
    if len(buffer.shape) != 2 or 1 not in buffer.strides:
        return ""
    element, inner = buffer.elements(), buffer.strides.index(1)
    lead, index = buffer.strides[1 - inner], np.unravel_index(need, buffer.shape)
    others = ((f"ld of {b.name}", max(b.strides)) for b in subject.binding.buffers.values() if b.padded)
    for label, other in (*subject.sizes.items(), *others):
        place = index[1 - inner] * other + index[inner]
        found = np.where(place < element.size, element[np.minimum(place, element.size - 1)], -1)
        if other != lead and (found == held)[place < element.size].all():
            lines = "rows" if inner else "columns"
            return (
                f"{lines} of {buffer.name} are taken {other} ({label}) elements apart, and lie {lead} apart"
            )
    return ""


def _says(name: str, buffer: BoundBuffer, output: str, held: Ints, need: Ints) -> str:
    at = tuple(int(i) for i in np.argwhere(held != need)[0])

    def element(flat: int) -> str:
        return name + "".join(f"[{int(i)}]" for i in np.unravel_index(flat, buffer.shape))

    gets = element(int(held[at])) if held[at] >= 0 else "padding"
    told = f"{output}{''.join(f'[{i}]' for i in at)} gets {gets}"
    return f"{_pattern(name, buffer, held, need)}: {told}, where {element(int(need[at]))} belongs"


def _pattern(name: str, buffer: BoundBuffer, held: Ints, need: Ints) -> str:
    """How the elements that are taken lie to those that belong there."""
    if len(buffer.shape) == 1 and held.ndim >= 2:
        for axis, says in ((-1, "by the row, where the column"), (-2, "by the column, where the row")):
            if _constant(held, axis) and _constant(need, -3 - axis):
                return f"{name} is indexed {says} belongs"
    if len(buffer.shape) >= 2 and held.shape == buffer.shape:
        rows, cols = np.indices(held.shape)[-2:]
        size, turned = prod(held.shape[-2:]), cols * held.shape[-1] + rows
        exists = turned < size
        if (held % size == turned)[exists].all():
            return f"{name} is read transposed"
        if held.ndim > 2 and (held == need % size).all():
            return f"every batch takes {name} of batch 0"
    return f"elements of {name} are added in wrong places"


def _constant(values: Ints, axis: int) -> bool:
    """All along an axis are equal."""
    return bool((values == np.take(values, [0], axis)).all())
