"""A Pattern: a formula that gives every element of a matrix a code, and what it claims of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.patterns import expression
from layoutprobe.patterns.carriers import CARRIERS, DTYPE_CARRIERS, Carrier, carrier_of

COORDINATES = ("row", "col", "rows", "cols")
MAX_ELEMENTS = 1 << 20


class Pattern(Struct, frozen=True):
    """A formula over (row, col), with what it claims.

    Attributes:
        name: what the user calls it.
        summary: one line for the list of patterns.
        expression: the formula (see layoutprobe.patterns.expression).
        identifies: axes that a code alone names ("row", "col"), or ("marked",) where only
            elements with a non-zero code are named; () where it needs a second pattern.
        carriers: carriers that make sense, best first.
        parameters: name -> value of further integers in the formula.
        scale: the number is code/scale in numeric carriers.
    """

    name: str
    summary: str
    expression: str
    identifies: tuple[str, ...]
    carriers: tuple[str, ...] = tuple(CARRIERS)
    parameters: Mapping[str, int] = field(default_factory=dict)
    scale: int = 1

    def __post_init__(self) -> None:
        """Refuse a formula that cannot be parsed."""
        expression.parse(self.expression, (*COORDINATES, *self.parameters))

    @property
    def marked(self) -> bool:
        """Only elements with a non-zero code are named."""
        return "marked" in self.identifies

    def with_parameters(self, values: Mapping[str, int]) -> Pattern:
        """The same formula with other parameter values.

        Raises:
            UsageError: the pattern has no such parameter.
        """
        for key in values:
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise UsageError(f"Pattern {self.name} has no parameter {key!r}", hint=f"parameters: {known}")
        return replace(self, parameters={**self.parameters, **values})

    def codes(self, shape: tuple[int, int]) -> NDArray[np.int64]:
        """Code of every element: int64 [rows, cols].

        Raises:
            UsageError: the shape is empty or too large, or the formula fails on it.
        """
        rows, cols = shape
        if rows < 1 or cols < 1 or rows * cols > MAX_ELEMENTS:
            raise UsageError(f"Pattern {self.name}: cannot code a {rows} x {cols} matrix")
        names = {key: np.asarray(value, np.int64) for key, value in self.parameters.items()}
        names["row"] = np.arange(rows, dtype=np.int64)[:, None]
        names["col"] = np.arange(cols, dtype=np.int64)[None, :]
        names["rows"], names["cols"] = np.asarray(rows, np.int64), np.asarray(cols, np.int64)
        node = expression.parse(self.expression, tuple(names))
        try:
            return np.broadcast_to(expression.evaluate(node, names), shape)
        except UsageError as error:
            error.where = {"pattern": self.name, "shape": f"{rows} x {cols}", **error.where}
            raise

    def encode_matrix(self, matrix: str, shape: tuple[int, int], carrier: str) -> NDArray[np.unsignedinteger]:
        """As `encode`; an error names the matrix."""
        try:
            return self.encode(shape, carrier)
        except UsageError as error:
            error.where = {"matrix": matrix, **error.where}
            raise

    def encode(self, shape: tuple[int, int], carrier: str) -> NDArray[np.unsignedinteger]:
        """Raw bits of every element: unsigned [rows, cols] of the carrier's width.

        Raises:
            UsageError: a code is not exact in the carrier, or two elements that the pattern
                claims to tell apart share a code.
        """
        kind = carrier_of(carrier)
        code = self.codes(shape)
        raw, exact = kind.encode(code, self.scale)
        if not exact.all():
            self._refuse_inexact(kind, code, exact)
        self._check_claim(code)
        return raw

    @property
    def partial(self) -> bool:
        """It says itself that it names one axis only, or marked elements only."""
        return bool(self.identifies) and set(self.identifies) != {"row", "col"}

    def default_carrier(self, dtype: str, shapes: Mapping[str, tuple[int, int]] | None = None) -> str:
        """The carrier to use for elements of a dtype: the pattern's first that holds all codes.

        Args:
            dtype: of the elements.
            shapes: matrix -> rows and columns, of those that are to be coded.

        Raises:
            UsageError: no carrier of this pattern fits the dtype, or none of them is exact.
        """
        if dtype not in DTYPE_CARRIERS:
            raise UsageError(f"Unknown dtype {dtype!r}", hint="known: " + ", ".join(DTYPE_CARRIERS))
        fitting = [name for name in DTYPE_CARRIERS[dtype] if name in self.carriers]
        if not fitting:
            raise UsageError(
                f"Pattern {self.name} has no carrier for {dtype} elements",
                expected=" or ".join(DTYPE_CARRIERS[dtype]),
                observed=", ".join(self.carriers),
            )
        fitting.sort(key=self.carriers.index)
        refusals = [self._refusal(name, shapes or {}) for name in fitting]
        for name, refusal in zip(fitting, refusals, strict=True):
            if refusal is None:
                return name
        raise next(filter(None, refusals))

    def _refusal(self, carrier: str, shapes: Mapping[str, tuple[int, int]]) -> UsageError | None:
        try:
            for matrix, shape in shapes.items():
                self.encode_matrix(matrix, shape, carrier)
        except UsageError as error:
            return error
        return None

    def _refuse_inexact(self, kind: Carrier, code: NDArray[np.int64], exact: NDArray[np.bool_]) -> None:
        row, col = (int(x) for x in np.argwhere(~exact)[0])
        number = f"{code[row, col]}" + (f"/{self.scale}" if self.scale != 1 and not kind.raw else "")
        beside = dict.fromkeys(name for row in DTYPE_CARRIERS.values() if kind.name in row for name in row)
        holds = [name for name in beside if CARRIERS[name].encode(code, self.scale)[1].all()]
        if holds:
            hint = f"another carrier holds it: {holds[0]}"
        else:
            smaller = "row-coded with col-coded" if kind.bits > 6 else f"digits:base={kind.element.exact}"
            hint = f"no {kind.bits}-bit carrier holds it: use smaller codes, such as {smaller}"
        raise UsageError(
            f"Pattern {self.name} is not exact in {kind.name}",
            where={"shape": f"{code.shape[0]} x {code.shape[1]}", "row": row, "col": col},
            expected=number,
            observed=f"{kind.name} cannot hold it",
            hint=hint,
        )

    def _check_claim(self, code: NDArray[np.int64]) -> None:
        if self.marked:
            if not code.any():
                raise UsageError(
                    f"Pattern {self.name} marks no element of this matrix", hint="check its parameters"
                )
            return
        pair = first_collision(code.ravel(), code.shape[1], self.identifies)
        if pair is not None:
            (r0, c0), (r1, c1) = pair
            raise UsageError(
                f"Pattern {self.name} does not tell two elements apart",
                where={
                    "shape": f"{code.shape[0]} x {code.shape[1]}",
                    "first": f"({r0}, {c0})",
                    "second": f"({r1}, {c1})",
                },
                expected="a code that names " + " and ".join(self.identifies),
                observed=f"both have code {code[r0, c0]}",
                hint="leave `identifies` empty and give a second pattern in addition; or use `random`",
            )


def first_collision(
    keys: NDArray[np.int64], cols: int, axes: tuple[str, ...]
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The first two elements that share a key and differ in one of `axes`; None where there are none.

    Args:
        keys: one key per element, row-major.
        cols: columns of the matrix.
        axes: "row", "col" or both.
    """
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    twin = first[group.ravel()]
    here = np.arange(keys.size)
    differs = np.zeros(keys.size, np.bool_)
    if "row" in axes:
        differs |= here // cols != twin // cols
    if "col" in axes:
        differs |= here % cols != twin % cols
    if not differs.any():
        return None
    second = int(np.argmax(differs))
    return divmod(int(twin[second]), cols), divmod(second, cols)
