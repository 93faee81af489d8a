"""What a manifest says, as plain data. Extents, grids and values are expressions of the sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.patterns.expression import Node, Number

Sizes: TypeAlias = Mapping[str, int]
"""Name of a size -> its value: {"M": 128, "N": 128, "K": 64}."""

Role = Literal["in", "out", "inout", "scalar", "null", "bytes"]
Initial = Literal["auto", "undefined", "zero", "random"]


class Expression(Struct, frozen=True):
    """An expression of the sizes, with the text that it was written as."""

    text: str
    node: Node

    @staticmethod
    def of(value: int) -> Expression:
        """A number."""
        return Expression(str(value), Number(value))


BLOCK = "block"
"""What `fixed` calls the block of a kernel, beside its scalar arguments."""


class Tolerance(Struct, frozen=True):
    """Largest error that numerics lets pass: |observed - expected| <= absolute + relative * |expected|.

    None leaves the choice to the check, by dtype and depth of the sum.
    """

    absolute: float | None = None
    relative: float | None = None

    @property
    def given(self) -> bool:
        """Whether the manifest states one."""
        return self.absolute is not None or self.relative is not None


class Contents(Struct, frozen=True, eq=False):
    """What a buffer holds, to the bit; equal to itself alone, as arrays have no one answer to ==."""

    array: NDArray[Any]

    __repr__ = brief


class Argument(Struct, frozen=True):
    """One kernel argument, in the order of the kernel's signature.

    Attributes:
        name: unique in the kernel.
        role: a buffer ("in", "out", "inout"), a "scalar", a "null" pointer, or raw "bytes" of a
            struct passed by value.
        dtype: element type of a buffer, type of a scalar; "" otherwise.
        shape: extents of the logical tensor, outermost first; empty where not a buffer.
        strides: elements from one index to the next, per axis; empty where `order` says it all.
        order: "row" where the last axis is contiguous, "col" where the last but one is.
        ld: elements between two rows ("row") or two columns ("col"); None: no padding.
        matrix: which matrix of the contract it is, "A", "B", "C" or "D"; "" for none.
        initial: what an output or inout buffer holds before the launch. "auto": an output is
            undefined; an inout buffer is random, or undefined where the contract multiplies it by 0.
        values: exact contents, as an expression of the sizes and of the indices i0, i1...; None
            where the gate chooses.
        data: exact contents as an array of `shape`, in the type that the element type is stored in: of a launch
            from Python, which has no manifest.
        value: of a scalar: an expression of the sizes, a float, or "alpha" or "beta".
        raw: of role "bytes".
        at: of a member of a structure that is passed by value: bytes from its beginning; None for a whole argument.
        tolerance: of an output, where it is not the kernel's.
        pointers: the kernel gets an array in device memory, of a pointer for each index of the first axis.
        made: a launch before this one stores it.
        elsewhere: launches before this one take it, and this one does not.
    """

    name: str
    role: Role
    dtype: str = ""
    shape: tuple[Expression, ...] = ()
    strides: tuple[Expression, ...] = ()
    order: Literal["row", "col"] = "row"
    ld: Expression | None = None
    matrix: str = ""
    initial: Initial = "auto"
    values: Expression | None = None
    data: Contents | None = None
    value: Expression | float | str = 0.0
    raw: bytes = b""
    at: int | None = None
    tolerance: Tolerance | None = None
    pointers: bool = False
    made: bool = False
    elsewhere: bool = False

    __repr__ = brief

    @property
    def is_buffer(self) -> bool:
        """True for arguments that point at global memory."""
        return self.role in ("in", "out", "inout")


class Gemm(Struct, frozen=True):
    """D = activation(scales * alpha * A @ B + beta * C + bias) + residual; leading axes are a batch.

    Attributes:
        a, b: names of the buffers.
        c: name of the buffer that is added; "" where nothing is. It may be the output itself.
        d: name of the output.
        alpha, beta: factors of the plain run.
        split_k: D has a leading axis of partial products, whose sum is the product.
        identity: it is also run with an identity as A, and B coded by rows and columns.
        ranges: it is also run with an identity as A, and all of B but so many rows zero; 0: it is not.
        zeros: it is also run with A, and with B, all zeros.
        scales: names of buffers that multiply A @ B: of a row, a column, or all.
        bias: name of the buffer that is added to a row, or a column; "" for none.
        activation: see `layoutprobe.numbers.activations`; "" for none.
        residual: name of the buffer that is added behind the activation; "" for none.
    """

    a: str
    b: str
    c: str
    d: str
    alpha: float = 1.0
    beta: float = 0.0
    split_k: bool = False
    identity: bool = False
    ranges: int = 0
    zeros: bool = False
    scales: tuple[str, ...] = ()
    bias: str = ""
    activation: str = ""
    residual: str = ""

    @property
    def beside(self) -> tuple[str, ...]:
        """Buffers that the epilogue reads beside C."""
        return tuple(name for name in (*self.scales, self.bias, self.residual) if name)


class Reference(Struct, frozen=True):
    """A Python function of the user that computes the outputs from the inputs.

    It is called with a mapping name -> array (floats as float64, integers as they are) of all
    buffers that are read, and the sizes; it returns a mapping name -> array of outputs.

    Attributes:
        path: the Python file.
        function: its name there.
        zeros: (input, output): where the input is all zeros, so must the output be.
        product: the matrix product in it, where arguments are marked as its A and B: what is made of A @ B before
            it is stored, the function alone knows.
    """

    path: Path
    function: str
    zeros: tuple[tuple[str, str], ...] = ()
    product: Gemm | None = None


class NoContract(Struct, frozen=True):
    """Nothing is known about the values: only the safety checks apply."""


Contract: TypeAlias = Gemm | Reference | NoContract


class Limits(Struct, frozen=True):
    """What the kernel may use; None means no limit.

    Attributes:
        vgprs, sgprs: registers of a wave.
        lds: bytes of a workgroup, dynamic ones included.
        scratch: bytes of a lane.
        spills: VGPRs and SGPRs spilled.
        occupancy: at least so many waves per SIMD.
        bank_conflicts: at most so many LDS cycles per conflict-free cycle.
        instructions: a launch that issues more counts as endless.
        seconds: wall time of one launch on the emulator, after which nothing is decided.
    """

    vgprs: int | None = None
    sgprs: int | None = None
    lds: int | None = None
    scratch: int | None = None
    spills: int | None = None
    occupancy: int | None = None
    bank_conflicts: float | None = None
    instructions: int | None = None
    seconds: int = 120


class Acceptance(Struct, frozen=True):
    """A finding that somebody has looked at and lets pass for some time.

    Attributes:
        rule: of the finding.
        line: where it is: "gemm.hip:88", as reports name it; "" for a finding that has no line.
        reason: why it may pass.
        until: the last day on which it does.
        arch: the target that has it; "" for all.
        baseline: it stands in a baseline file, and not in the manifest.
    """

    rule: str
    line: str
    reason: str
    until: date
    arch: str = ""
    baseline: bool = False


class KernelCase(Struct, frozen=True):
    """One [[kernel]] of a manifest.

    Attributes:
        name: as reports call it.
        source: HIP source (.hip, .cpp, .cu), assembly (.s), or None.
        code_object: a ready code object, or None; exactly one of the two is given.
        symbol: name of the kernel in the code object; "" where it has only one.
        flags: compiler flags, from the list of harmless ones.
        defines: macro -> value.
        include: directories searched for headers.
        arches: targets to compile for; empty for a code object, which has its own.
        grid, block: workgroups and work-items in x, y, z.
        dynamic_lds: bytes of LDS beyond the static allocation.
        arguments: in order.
        contract: what the outputs are.
        sizes: the problem sizes to run.
        tile: what a workgroup makes, and how deep a step of K is; empty where the manifest does not say.
        multiple: what every size is a multiple of, by name; 1 where left out.
        where: what holds of every size: expressions that are not 0.
        limits: see there.
        tolerance: of outputs that have none of their own.
        checks: names of the checks to run; empty for all.
        skip: check -> why it is not to be run; rule of a finding -> why it is accepted.
        seed: of the random inputs.
        bears: kinds of unusual inputs that it bears, see `manifest.unusual`; None where the manifest does not say.
        fixed: scalar arguments that have no other value than the manifest gives; BLOCK for its block.
        accept: findings that are let pass.
        guessed: lines of the manifest that still say FILL IN.
        after: names of the kernels that are launched before it, on buffers of the same names.
        before: these, and those that are launched before them, in order.
        judged_by: a kernel that is launched after it, and whose contract says what comes of both; "" for none.
    """

    name: str
    source: Path | None
    code_object: Path | None
    symbol: str
    flags: tuple[str, ...]
    defines: Mapping[str, str]
    include: tuple[Path, ...]
    arches: tuple[str, ...]
    grid: tuple[Expression, Expression, Expression]
    block: tuple[Expression, Expression, Expression]
    dynamic_lds: Expression
    arguments: tuple[Argument, ...]
    contract: Contract
    sizes: tuple[Sizes, ...]
    limits: Limits = field(default_factory=Limits)
    tolerance: Tolerance = field(default_factory=Tolerance)
    checks: tuple[str, ...] = ()
    skip: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    tile: Sizes = field(default_factory=dict)
    multiple: Sizes = field(default_factory=dict)
    where: tuple[Expression, ...] = ()
    bears: tuple[str, ...] | None = None
    fixed: tuple[str, ...] = ()
    accept: tuple[Acceptance, ...] = ()
    guessed: tuple[int, ...] = ()
    after: tuple[str, ...] = ()
    before: tuple[KernelCase, ...] = ()
    judged_by: str = ""

    __repr__ = brief

    @property
    def file(self) -> Path:
        """The source or the code object."""
        found = self.source or self.code_object
        assert found is not None
        return found

    @property
    def shared(self) -> tuple[Argument, ...]:
        """Buffers of the launches before it that it does not take: of several declarations one that stores."""
        return shared_buffers(self.before, self.arguments)

    def tolerance_of(self, name: str) -> Tolerance:
        """The tolerance of an output."""
        own = self.argument(name).tolerance
        return self.tolerance if own is None else own

    def argument(self, name: str) -> Argument:
        """The argument of that name; LookupError where there is none."""
        for argument in (*self.arguments, *self.shared):
            if argument.name == name:
                return argument
        raise LookupError(name)


def shared_buffers(before: Sequence[KernelCase], own: Sequence[Argument]) -> tuple[Argument, ...]:
    """Buffers of launches that another one, with arguments of its own, does not take."""
    found: dict[str, Argument] = {}
    for argument in (a for case in before for a in case.arguments if a.is_buffer):
        known = found.get(argument.name)
        if known is None or (known.role == "in" and argument.role != "in"):
            found[argument.name] = replace(argument, made=False, elsewhere=True)
    return tuple(one for name, one in found.items() if name not in {a.name for a in own})


class Manifest(Struct, frozen=True):
    """A whole layoutprobe.toml.

    Attributes:
        path: the file; paths in it are relative to its directory.
        kernels: in order, every name once.
    """

    path: Path
    kernels: tuple[KernelCase, ...]

    __repr__ = brief


def size_title(sizes: Sizes) -> str:
    """ "M=128 N=128 K=64"."""
    return " ".join(f"{name}={value}" for name, value in sizes.items())
