"""What is made of A @ B before it is stored, step by step, and the ways in which that goes wrong.

A `gemm` contract states the steps. Of a Python reference they are found: the first sequence of the inputs, added or
multiplied, and of one activation, that gives what the reference does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from itertools import product as product_of

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.numbers import rounded
from layoutprobe.numbers.activations import ACTIVATIONS, sigmoid

Doubles = NDArray[np.float64]

ADD, MULTIPLY, ACTIVATE, ROUND = "add", "multiply", "activate", "round"
_MOST = 3
"""Inputs beside A and B with which a reference's steps are looked for."""
_SAMPLE = 257
_NARROW = ("f16", "bf16")
_TILES = (16, 32, 64, 128)
_NEAR = 1e-5
"""Relative error by which ways to compute one activation differ."""


def _leaky(slope: float, x: Doubles) -> Doubles:
    return np.where(x > 0, x, slope * x)


class Step(Struct, frozen=True, eq=False):
    """One step.

    Attributes:
        kind: ADD, MULTIPLY or ACTIVATE; ROUND in faults.
        name: of the input, of the activation, or of the type that is rounded to.
        values: of the input, of a shape that broadcasts to that of D.
    """

    kind: str
    name: str
    values: Doubles | None = None

    __repr__ = brief

    def __call__(self, x: Doubles) -> Doubles:
        """The step applied."""
        if self.kind == ACTIVATE:
            return (ACTIVATIONS.get(self.name) or _UNLISTED[self.name])(x)
        if self.kind == ROUND:
            return rounded(x, self.name)
        assert self.values is not None
        return np.asarray(x * self.values if self.kind == MULTIPLY else x + self.values)

    def __str__(self) -> str:
        return self.name if self.kind == ACTIVATE else f"{'* ' if self.kind == MULTIPLY else '+ '}{self.name}"


Steps = tuple[Step, ...]
_UNLISTED: Mapping[str, Callable[[Doubles], Doubles]] = {
    **{f"leaky relu ({slope:g})": partial(_leaky, slope) for slope in (0.01, 0.1, 0.2)},
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "min(x, 0)": lambda x: np.minimum(x, 0.0),
    "abs": lambda x: np.asarray(np.abs(x)),
    "sigmoid(1.702 x) * x": lambda x: np.asarray(x * sigmoid(1.702 * x)),
}
"""Activations that no contract has, and kernels do."""


@np.errstate(all="ignore")
def applied(steps: Sequence[Step], x: Doubles) -> Doubles:
    """All steps, one after the other."""
    for step in steps:
        x = step(x)
    return x


class EpilogueFault(Struct, frozen=True, eq=False):
    """A way in which an epilogue goes wrong.

    Attributes:
        says: one clause.
        steps: what is done.
        about: the input whose load is to blame; "" for the store.
        rounds: it is one more rounding, and nothing else.
    """

    says: str
    steps: Steps
    about: str = ""
    rounds: bool = False

    __repr__ = brief


def epilogue_faults(
    steps: Steps, extents: Mapping[str, int], shape: tuple[int, ...]
) -> Iterator[EpilogueFault]:
    """Single faults of an epilogue, the likely ones first.

    Args:
        steps: the right ones.
        extents: sizes that may be taken for a leading dimension, by name.
        shape: of D.
    """
    for i, step in enumerate(steps):
        yield EpilogueFault(f"{_role(step)} is missing", (*steps[:i], *steps[i + 1 :]))
    for i, step in enumerate(steps):
        if step.kind != ACTIVATE:
            for says, values in _indexed(step, extents, shape):
                yield EpilogueFault(says, _with(steps, i, replace(step, values=values)), step.name)
    yield from _moved(steps)
    for i, step in enumerate(steps):
        for says, other in _instead(step):
            about = step.name if step.kind != ACTIVATE else ""
            yield EpilogueFault(says, (*steps[:i], *other, *steps[i + 1 :]), about)
    for i, step in enumerate(steps):
        for kind in _NARROW:
            says = f"the result is rounded to {kind} before {_doing(step)}"
            yield EpilogueFault(says, (*steps[:i], Step(ROUND, kind), *steps[i:]), rounds=True)
    if not any(step.kind == ACTIVATE for step in steps):
        for name in ACTIVATIONS:
            says = f"{name} is applied, and the contract has no activation"
            yield EpilogueFault(says, (*steps, Step(ACTIVATE, name)))


def _role(step: Step) -> str:
    return f"the activation {step.name}" if step.kind == ACTIVATE else step.name


def _doing(step: Step) -> str:
    done = {ADD: "is added", MULTIPLY: "is multiplied", ACTIVATE: "is applied"}
    return f"{_role(step)} {done[step.kind]}"


def _with(steps: Steps, at: int, step: Step) -> Steps:
    return (*steps[:at], step, *steps[at + 1 :])


def _moved(steps: Steps) -> Iterator[EpilogueFault]:
    """A step that has changed places with those behind it, or before it, where that makes a difference."""
    done = {ADD: "added", MULTIPLY: "multiplied"}
    for i, step in enumerate(steps):
        rest = (*steps[:i], *steps[i + 1 :])
        for to in range(len(steps)) if step.kind != ACTIVATE else ():
            crossed = steps[i + 1 : to + 1] if to > i else steps[to:i]
            if all(other.kind == step.kind for other in crossed):
                continue
            names = " and ".join(_role(other) for other in crossed)
            wrong, right = ("after", "before") if to > i else ("before", "after")
            says = f"{step.name} is {done[step.kind]} {wrong} {names}, and belongs {right} that"
            yield EpilogueFault(says, (*rest[:to], step, *rest[to:]), step.name)


def _instead(step: Step) -> Iterator[tuple[str, Steps]]:
    """Other steps in place of one."""
    if step.kind == ACTIVATE:
        for name in (*ACTIVATIONS, *_UNLISTED):
            if name != step.name:
                yield f"the activation is {name} in place of {step.name}", (Step(ACTIVATE, name),)
        minus = Step(MULTIPLY, "-1", np.array(-1.0))
        says = f"the activation {step.name} has the sign of its argument exchanged"
        yield says, (minus, Step(ACTIVATE, step.name))
        yield says, (minus, Step(ACTIVATE, step.name), minus)
        yield f"the activation {step.name} is applied twice", (step, step)
        return
    assert step.values is not None
    with np.errstate(all="ignore"):
        inverse = 1 / step.values
    if step.kind == MULTIPLY:
        yield f"{step.name} is multiplied twice", (step, step)
        yield f"{step.name} divides, and should multiply", (replace(step, values=inverse),)
        yield f"{step.name} is added in place of multiplied", (replace(step, kind=ADD),)
        return
    for often in (2, 3, 4):
        says = f"{step.name} is added {'twice' if often == 2 else f'{often} times'}"
        yield says, (step,) * often
    yield f"{step.name} is subtracted in place of added", (replace(step, values=-step.values),)
    yield f"{step.name} is multiplied in place of added", (replace(step, kind=MULTIPLY),)


def _indexed(step: Step, extents: Mapping[str, int], shape: tuple[int, ...]) -> Iterator[tuple[str, Doubles]]:
    """What an input gives with another index. NaN stands for what lies outside of it."""
    values = step.values
    assert values is not None
    name, flat = step.name, values.ravel()
    rows, cols = np.indices(shape[-2:])
    along = [axis for axis in (-2, -1) if values.ndim >= -axis and values.shape[axis] > 1]
    if len(along) == 1 and flat.size == values.shape[along[0]]:
        by, other, wrong = ("row", "column", cols) if along[0] == -2 else ("column", "row", rows)
        yield f"{name} is indexed by the {other}, where the {by} belongs", flat[wrong % flat.size]
        yield f"{name}[0] is taken for every {by}", np.asarray(flat[0])
        for off in (1, -1):
            yield f"{name} is taken one {by} too {_late(off)}", _moved_by(values, off, along[0])
        own, other_line = (rows, cols) if along[0] == -2 else (cols, rows)
        for says, at in _in_tiles(own, other_line, by, other):
            yield says.format(name=name), flat[at % flat.size]
    if len(along) == 2:
        turned = {"M": shape[-2], "N": shape[-1]} | dict(extents)
        for says, at in _flat_indices(rows, cols, values.shape[-1], turned):
            places = np.where(at < flat.size, at, -1)
            yield f"{name} {says}", np.where(places >= 0, flat[places], np.nan)
        for axis, by in ((-2, "row"), (-1, "column")):
            for off in (1, -1):
                yield f"{name} is taken one {by} too {_late(off)}", _moved_by(values, off, axis)
    if values.ndim > 2 and values.shape[0] > 1:
        yield f"every batch takes {name} of batch 0", np.broadcast_to(values[:1], values.shape)


def _in_tiles(
    own: NDArray[np.int64], other: NDArray[np.int64], by: str, wrong: str
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Indices that are right up to tiles: of the lane, of its tile, of one tile for two."""
    for tile in _TILES:
        if max(own.max(), other.max()) < tile:  # all is one tile: the same as without any
            continue
        if own.max() >= tile:
            yield f"the first {tile} elements of {{name}} are taken for every {tile} {by}s", own % tile
            pair = own // (2 * tile) * 2 * tile + own % tile
            yield f"the first {tile} of every {2 * tile} elements of {{name}} are taken for all", pair
        says = f"{{name}} is indexed by the {wrong} within a tile of {tile}, where the {by} belongs"
        yield says, own // tile * tile + other % tile
        yield f"the first of every {tile} elements of {{name}} is taken for all", own // tile * tile


def _moved_by(values: Doubles, off: int, axis: int) -> Doubles:
    """Each element that of the next one, or the one before; NaN where there is none."""
    moved = np.roll(values, -off, axis)
    ends = np.moveaxis(moved, axis, 0)
    ends[-1 if off > 0 else 0] = np.nan
    return moved


def _late(off: int) -> str:
    return "far" if off > 0 else "early"


def _flat_indices(
    rows: NDArray[np.int64], cols: NDArray[np.int64], apart: int, extents: Mapping[str, int]
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    for label, other in extents.items():
        if other != apart:
            yield (
                f"is read with rows {other} ({label}) elements apart, where they lie {apart} apart",
                rows * other + cols,
            )
        yield f"is read transposed (columns {other} ({label}) apart)", cols * other + rows


def steps_of(product: Doubles, expected: Doubles, inputs: Mapping[str, Doubles]) -> Steps | None:
    """The shortest steps that make `expected` of a product; None where none are found.

    Args:
        product: A @ B.
        expected: of that shape.
        inputs: what else is read, by name.
    """
    placed = {name: list(_placed(values, product.shape)) for name, values in inputs.items()}
    names = [name for name, found in placed.items() if found]
    sample = np.unique(np.linspace(0, product.size - 1, _SAMPLE).astype(np.int64))
    few, wanted = product.ravel()[sample], expected.ravel()[sample]

    def at(step: Step) -> Step:
        if step.values is None:
            return step
        spread = np.broadcast_to(step.values, product.shape)
        return replace(step, values=spread.ravel()[sample])

    for count in range(min(len(names), _MOST) + 1):
        for order in permutations(names, count):
            for kinds in product_of((ADD, MULTIPLY), repeat=count):
                for values in product_of(*(placed[name] for name in order)):
                    steps = tuple(map(Step, kinds, order, values))
                    for whole in _activated(steps):
                        found = applied([at(step) for step in whole], few)
                        if _near(found, wanted) and _near(applied(whole, product), expected):
                            return whole
    return None


def rebound(step: Step, inputs: Mapping[str, Doubles], shape: tuple[int, ...]) -> Step:
    """A step with the values of another run."""
    if step.values is None:
        return step
    forms = _placed(inputs[step.name], shape)
    return replace(step, values=next(form for form in forms if form.shape == np.shape(step.values)))


def _activated(steps: Steps) -> Iterator[Steps]:
    yield steps
    for at in range(len(steps), -1, -1):
        for name in ACTIVATIONS:
            yield (*steps[:at], Step(ACTIVATE, name), *steps[at:])


def _near(found: Doubles, wanted: Doubles) -> bool:
    return bool(np.allclose(found, wanted, rtol=_NEAR, atol=_NEAR, equal_nan=True))


def _placed(values: Doubles, shape: tuple[int, ...]) -> Iterator[Doubles]:
    """The ways in which an input lies along the rows and columns of D."""
    for form in (values, values[..., None]):
        try:
            if np.broadcast_shapes(form.shape, shape) == shape:
                yield form
        except ValueError:
            continue
