"""Reads the arguments and the contract of a manifest's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from msgspec.structs import replace

from layoutprobe.manifest.binding import DTYPES
from layoutprobe.manifest.model import (
    Argument,
    Contract,
    Expression,
    Gemm,
    Initial,
    NoContract,
    Reference,
    Role,
    Tolerance,
)
from layoutprobe.manifest.section import Section
from layoutprobe.numbers import element_type
from layoutprobe.numbers.activations import ACTIVATIONS
from layoutprobe.reading import is_number

ROLES = ("in", "out", "inout", "scalar", "null", "bytes")
ORDERS = ("row", "col")
MATRICES = ("A", "B", "C", "D")
INITIALS = ("undefined", "zero", "random")
CONTRACTS = ("gemm", "reference", "none")
FACTORS = ("alpha", "beta")
_NAME = r"[A-Za-z_][A-Za-z0-9_.]{0,63}"
_MAX_RANK = 6
_MAX_BYTES = 4096
_LARGEST_FACTOR = 1e30
_LARGEST_RANGE = 1 << 20


def read_arguments(kernel: Section, sizes: tuple[str, ...]) -> tuple[Argument, ...]:
    """The [[kernel.argument]] tables.

    Raises:
        UsageError: see Section.
    """
    tables = kernel.tables("argument")
    arguments = tuple(_argument(table, i, sizes) for i, table in enumerate(tables))
    for table, argument in zip(tables, arguments, strict=True):
        if sum(other.name == argument.name for other in arguments) > 1:
            table.fail("name", "a name that no other argument of the kernel has")
    return arguments


def _argument(table: Section, index: int, sizes: tuple[str, ...]) -> Argument:
    role = cast(Role, table.choice("role", ROLES))
    name = table.text("name", "an identifier", _NAME, f"argument{index}")
    if role == "null":
        argument = Argument(name, role)
    elif role == "bytes":
        argument = Argument(name, role, raw=_raw(table))
    elif role == "scalar":
        dtype = table.choice("dtype", DTYPES)
        argument = Argument(name, role, dtype, value=_value(table, dtype, sizes))
    else:
        argument = _buffer(table, name, role, sizes)
    at = table.get("at")
    if at is not None and not (type(at) is int and 0 <= at < _MAX_BYTES):
        table.fail("at", f"bytes from the beginning of the structure, 0 to {_MAX_BYTES - 1}")
    table.finish()
    return replace(argument, at=at)


def read_tolerance(table: Section) -> Tolerance:
    """A table of errors that are let pass.

    Raises:
        UsageError: see Section.
    """
    tolerance = Tolerance(table.number("absolute", 0, 1e30), table.number("relative", 0, 1e6))
    table.finish()
    return tolerance


def _raw(table: Section) -> bytes:
    text = table.text("hex", "the bytes in hexadecimal, two digits each", r"\s*([0-9A-Fa-f]{2}\s*)+")
    raw = bytes.fromhex(text)
    if len(raw) > _MAX_BYTES:
        table.fail("hex", f"at most {_MAX_BYTES} bytes")
    return raw


def _value(table: Section, dtype: str, sizes: tuple[str, ...]) -> Expression | float | str:
    value = table.get("value")
    if element_type(dtype).is_float:
        if value in FACTORS:
            return str(value)
        if is_number(value):
            return float(value)
    if isinstance(value, str) or type(value) is int:
        if value in FACTORS and value not in sizes:
            table.fail("value", "a float dtype for a factor, or a size of that name")
        return table.parsed("value", value, sizes)
    table.fail("value", "a number, an expression of the sizes, or (float dtypes) alpha or beta")


def _buffer(table: Section, name: str, role: Role, sizes: tuple[str, ...]) -> Argument:
    shape = table.expressions("shape", sizes, 1, _MAX_RANK)
    strides: tuple[Expression, ...] = ()
    pointers = table.boolean("pointers", False)
    if pointers and len(shape) < 2:
        table.fail("pointers", "a shape of two axes or more, the first of which is that of the pointers")
    if table.has("strides"):
        strides = table.expressions("strides", sizes, len(shape), len(shape))
        for key in ("order", "ld"):
            if table.has(key):
                table.fail(key, "no such key beside `strides`, which say it all")
    order = table.choice("order", ORDERS, "row")
    ld = table.expression("ld", sizes)
    if len(shape) - pointers == 1 and (order == "col" or ld is not None):
        table.fail(
            "ld" if ld is not None else "order",
            "two axes or more" + (" behind that of the pointers" if pointers else ""),
        )
    initial = "auto"
    if table.has("initial"):
        if role == "in":
            table.fail("initial", "no such key for an input; `values` gives exact contents")
        initial = table.choice("initial", INITIALS)
    values = table.expression("values", (*sizes, *(f"i{axis}" for axis in range(len(shape)))))
    if values is not None and role == "out":
        table.fail("values", "no such key for an output")
    if table.has("tolerance") and role == "in":
        table.fail("tolerance", "no such key for an input")
    return Argument(
        name=name,
        role=role,
        dtype=table.choice("dtype", DTYPES),
        shape=shape,
        strides=strides,
        order="col" if order == "col" else "row",
        ld=ld,
        matrix=table.choice("matrix", MATRICES, ""),
        initial=cast(Initial, initial),
        values=values,
        tolerance=read_tolerance(table.table("tolerance")) if table.has("tolerance") else None,
        pointers=pointers,
    )


def read_contract(kernel: Section, arguments: tuple[Argument, ...], folder: Path) -> Contract:
    """The [kernel.contract] table, with its matrices found among the arguments.

    Raises:
        UsageError: see Section.
    """
    if not kernel.has("contract"):
        kernel.fail("contract", 'a table with kind = "gemm", "reference" or "none"')
    table = kernel.table("contract")
    kind = table.choice("kind", CONTRACTS)
    contract: Contract
    if kind == "gemm":
        contract = _gemm(table, arguments)
    elif kind == "reference":
        contract = _reference(table, folder, arguments)
    else:
        contract = NoContract()
    table.finish()
    return contract


def _reference(table: Section, folder: Path, arguments: tuple[Argument, ...]) -> Reference:
    text = table.text("function", '"FILE.py:FUNCTION"', r"[^\0:]+\.py:[A-Za-z_]\w*")
    path, _, function = text.rpartition(":")
    return Reference(
        folder / path, function, _zeros(table.table("zeros"), arguments), _marked_product(arguments)
    )


def _zeros(table: Section, arguments: tuple[Argument, ...]) -> tuple[tuple[str, str], ...]:
    """Inputs, each with the output that is zero where the input is."""

    def of(*roles: str) -> list[str]:
        return [one.name for one in arguments if one.role in roles and one.values is None]

    inputs, outputs = of("in"), of("out", "inout")
    for name in table:
        if name not in inputs:
            table.fail(name, f"inputs without `values`: {', '.join(inputs) or 'there is none'}")
    return tuple((name, table.choice(name, outputs)) for name in table)


def _marked_product(arguments: tuple[Argument, ...]) -> Gemm | None:
    """The product whose operands are marked, once each; D may be the only output."""

    def marked(matrices: str, roles: tuple[str, ...]) -> list[str]:
        return [a.name for a in arguments if a.matrix and a.matrix in matrices and a.role in roles]

    a, b = marked("A", ("in",)), marked("B", ("in",))
    d = marked("CD", ("out", "inout")) or [x.name for x in arguments if x.role in ("out", "inout")]
    if not len(a) == len(b) == len(d) == 1:
        return None
    return Gemm(a[0], b[0], "", d[0])


def _gemm(table: Section, arguments: tuple[Argument, ...]) -> Gemm:
    def only(matrix: str, roles: str) -> str:
        found = [a.name for a in arguments if a.is_buffer and a.matrix == matrix and a.role in roles.split()]
        if len(found) > 1:
            table.fail("kind", f"one argument with matrix {matrix}; found {', '.join(found)}")
        return found[0] if found else ""

    a, b = only("A", "in"), only("B", "in")
    c, d = only("C", "in inout"), only("D", "out inout") or only("C", "out inout")
    for matrix, name, roles in (("A", a, "in"), ("B", b, "in"), ("D or C", d, "out or inout")):
        if not name:
            table.fail("kind", f"for gemm, an argument of role {roles} with matrix = {matrix}")
    alpha = table.number("alpha", -_LARGEST_FACTOR, _LARGEST_FACTOR)
    beta = table.number("beta", -_LARGEST_FACTOR, _LARGEST_FACTOR)
    if beta and not c:
        table.fail("beta", "an argument of role in or inout with matrix = C, which beta multiplies")
    identity, zeros = table.boolean("identity", False), table.boolean("zeros", False)
    ranges = table.maybe_integer("ranges", 1, _LARGEST_RANGE) or 0
    chosen = [key for key, given in (("identity", identity), ("zeros", zeros), ("ranges", ranges)) if given]
    if chosen and any(one.values is not None for one in arguments if one.name in (a, b)):
        table.fail(chosen[0], "A and B without `values`: their contents are chosen in these runs")
    beside = tuple(x.name for x in arguments if x.role in ("in", "inout") and x.matrix not in ("A", "B"))
    found = Gemm(
        a=a,
        b=b,
        c=c,
        d=d,
        alpha=1.0 if alpha is None else alpha,
        beta=beta or 0.0,
        split_k=table.boolean("split_k", False),
        identity=identity,
        ranges=ranges,
        zeros=zeros,
        scales=table.choices("scales", beside, ()),
        bias=table.choice("bias", beside, ""),
        activation=table.choice("activation", tuple(ACTIVATIONS), ""),
        residual=table.choice("residual", beside, ""),
    )
    if found.beside or found.activation:
        if found.split_k:
            table.fail("split_k", "no epilogue beside it: partial products are added up before that")
        if chosen:
            table.fail(chosen[0], "no epilogue beside it: the output would be no copy of B, and not zero")
    return found
