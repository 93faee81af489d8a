"""`layoutprobe.launch`: one launch of a kernel from Python, on numpy arrays, without a manifest.

The arguments become those of a kernel without a contract, so that what looks into a kernel of a manifest looks into
this one, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import __version__
from layoutprobe import arch as targets
from layoutprobe.backends.base import Buffer, WatchedBackend
from layoutprobe.checks.registry import check_names, find_check
from layoutprobe.codeobj.model import Argument as Declared
from layoutprobe.codeobj.parameters import signature_of
from layoutprobe.errors import UsageError
from layoutprobe.gate.build import Built, compiled
from layoutprobe.gate.session import check_kernel
from layoutprobe.inspector.inspect import Inspection, opened
from layoutprobe.manifest.binding import DTYPES
from layoutprobe.manifest.files import is_code_object
from layoutprobe.manifest.model import Argument, Contents, Expression, KernelCase, NoContract
from layoutprobe.numbers import element_type
from layoutprobe.report.gate import GateReport
from layoutprobe.report.launched import Launched

Extent = int | Sequence[int]
Given = NDArray[Any] | Buffer | np.generic | int | float | bytes | None
"""An argument of a launch, see `launch`."""
_FLOATS = {4: "<f4", 8: "<f8"}


class LaunchedKernel(Inspection):
    """A kernel that was launched: what it left, and questions about any moment of its run.

    >>> import numpy, layoutprobe
    >>> run = layoutprobe.launch("axpy.hip", [x, y, numpy.int32(64)], grid=1, block=64)  # doctest: +SKIP
    >>> run.arrays["y"]  # doctest: +SKIP
    """

    result: Launched

    def __repr__(self) -> str:
        return repr(self.result)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Argument -> its contents after the launch, in the shape and dtype that were given."""
        return self.result.arrays

    @property
    def undefined(self) -> Mapping[str, NDArray[Any]]:
        """Argument -> set bits that nobody has defined; only those that have any."""
        return self.result.undefined

    def check(self, *checks: str) -> GateReport:
        """The laws that need no manifest, held against this launch: memory, LDS, races, waits...

        Args:
            checks: names; by default all that apply.

        Raises:
            UsageError: there is no such check.
        """
        wanted = [find_check(name) for name in checks or check_names()]
        case = self._case
        verdict = check_kernel(case, self._subject.code.target, wanted, backend=self._backend)
        return GateReport(str(case.file), (verdict,), __version__)

    def _repr_html_(self) -> str | None:
        return self.result._repr_html_()


def launch(
    kernel: Path | str,
    arrays: Sequence[Given] | Mapping[str, Given],
    grid: Extent,
    block: Extent,
    *,
    symbol: str = "",
    arch: str | None = None,
    dynamic_lds: int = 0,
    defines: Mapping[str, str] | None = None,
    include: Sequence[Path | str] = (),
    flags: Sequence[str] = (),
    backend: WatchedBackend | None = None,
) -> LaunchedKernel:
    """Compile a kernel, run it once on the emulator, and keep what it left.

    Args:
        kernel: HIP source, assembly, or code object.
        arrays: the arguments in the order of the kernel's signature, or by name. An array becomes a buffer that
            holds a copy of it; `Buffer(array, undefined=True)` of `layoutprobe.backends.base` one whose contents
            nobody has defined; None a null pointer. Numpy scalars and bytes are passed as they are, Python's
            numbers in the argument's size: integers as integers, floats as f32 or f64.
        grid: workgroups in x, y, z; a number for x alone.
        block: work-items of a workgroup, likewise.
        symbol: name of the kernel, where the file has several.
        arch: target to compile for; by default gfx1151.
        dynamic_lds: bytes of LDS beyond the static ones.
        defines, include, flags: for the compiler, as in a manifest.
        backend: where it runs; an emulator by default.

    Raises:
        UsageError: arguments that are not the kernel's, or a launch that is not possible.
        ToolchainError, CodeObjectError: it does not compile, or cannot be read.
        ExecutionError: the first fault of the kernel.
    """
    path = Path(kernel)
    ready = path.is_file() and is_code_object(path)
    case = KernelCase(
        name=symbol or path.stem, source=None if ready else path, code_object=path if ready else None,
        symbol=symbol, flags=tuple(flags), defines=dict(defines or {}), include=tuple(map(Path, include)),
        arches=(arch or targets.DEFAULT,), grid=_extent(grid, "grid"), block=_extent(block, "block"),
        dynamic_lds=Expression.of(dynamic_lds), arguments=(), contract=NoContract(), sizes=({},),
    )  # fmt: skip
    built = compiled(case, case.arches[0])
    found = built.kernel
    named = _named(built, arrays)
    arguments = tuple(_argument(name, declared, value) for name, declared, value in named)
    made = opened(LaunchedKernel, replace(case, name=found.name, arguments=arguments), backend=backend)
    made.result = _result(made, {name: value for name, _, value in named})
    return made


def _result(kernel: LaunchedKernel, given: Mapping[str, Given]) -> Launched:
    """Run it.

    Raises:
        ExecutionError: the first fault.
    """
    subject, binding = kernel._subject, kernel._subject.binding
    run = subject.plain(partial=True)
    for fault in (*run.astray, *([run.fault] if run.fault else [])):
        raise fault
    like = {n: v.data if isinstance(v, Buffer) else v for n, v in given.items()}
    shaped = {n: a for n, a in like.items() if isinstance(a, np.ndarray)}
    return Launched(
        subject.kernel.name, subject.code.target, binding.grid, binding.block,
        {n: _like(run.outputs[n], a) for n, a in shaped.items()},
        {n: run.undefined[n].reshape(a.shape) for n, a in shaped.items() if n in run.undefined},
        kernel._backend.evidence, kernel._toolchain,
    )  # fmt: skip


def _like(values: NDArray[Any], given: NDArray[Any]) -> NDArray[Any]:
    return values.astype(given.dtype).reshape(given.shape)


def _named(built: Built, given: Sequence[Given] | Mapping[str, Given]) -> list[tuple[str, Declared, Given]]:
    """Name, declaration and value of each argument; of a structure debug information alone has the name.

    Raises:
        UsageError: there are more or fewer than the kernel has, or others.
    """
    declared = built.kernel.explicit_args
    signature = signature_of(built.code, built.kernel)
    parameters = signature.parameters if signature else ()
    told = [one.name for one in parameters] if len(parameters) == len(declared) else [""] * len(declared)
    names = [one.name or told[at] or f"argument{at}" for at, one in enumerate(declared)]
    values = given if isinstance(given, Mapping) else dict(zip(names, given, strict=False))
    if set(values) != set(names) or len(given) != len(names):
        raise UsageError(
            "the arguments are not the kernel's",
            where={"kernel": built.kernel.name},
            expected=", ".join(names) or "none",
            observed=", ".join(map(str, given)) if isinstance(given, Mapping) else f"{len(given)} arguments",
        )
    return [(name, one, values[name]) for name, one in zip(names, declared, strict=True)]


def _argument(name: str, declared: Declared, value: Given) -> Argument:
    """An argument as a manifest would declare it.

    Raises:
        UsageError: it cannot be that argument.
    """
    if isinstance(value, np.ndarray | Buffer):
        return _buffer(name, declared, value)
    if declared.kind != "by_value":
        if value is None:
            return Argument(name, "null")
        _refuse(name, "an array, or None: it is a pointer", value)
    raw = _raw(name, declared, value)
    if len(raw) != declared.size:
        _refuse(name, f"{declared.size} bytes", f"{len(raw)} bytes")
    return Argument(name, "bytes", raw=raw)


def _raw(name: str, declared: Declared, value: object) -> bytes:
    """The bytes of a value."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, int) and declared.size <= 8:
        if not -(1 << 8 * declared.size - 1) <= value < 1 << 8 * declared.size:
            _refuse(name, f"an integer of {declared.size} bytes", value)
        return (value % (1 << 8 * declared.size)).to_bytes(declared.size, "little")
    if isinstance(value, float) and declared.size in _FLOATS:
        return np.array(value, _FLOATS[declared.size]).tobytes()
    _refuse(name, f"a value of {declared.size} bytes: a number of numpy, or bytes", value)


def _buffer(name: str, declared: Declared, value: NDArray[Any] | Buffer) -> Argument:
    data = value.data if isinstance(value, Buffer) else value
    undefined = isinstance(value, Buffer) and value.undefined
    if declared.kind == "by_value" or not data.size:
        _refuse(name, f"{declared.size} bytes by value" if data.size else "at least one element", value)
    dtype = _dtype(name, data.dtype)
    stored = np.ascontiguousarray(data).reshape(data.shape or (1,)).view(element_type(dtype).storage)
    return Argument(
        name, "out" if undefined else "inout", dtype, tuple(map(Expression.of, stored.shape)),
        initial="undefined" if undefined else "auto", data=None if undefined else Contents(stored),
    )  # fmt: skip


def _dtype(name: str, dtype: np.dtype[Any]) -> str:
    """The element type of arrays of a dtype.

    Raises:
        UsageError: there is none.
    """
    for known in DTYPES:
        kind = element_type(known)
        own = (kind.storage.kind == "f") == kind.is_float  # floats that numpy has not lie in its integers
        if dtype.name == kind.library or (not kind.library and own and dtype == kind.storage):
            return known
    _refuse(name, "an array of " + ", ".join(DTYPES) + " (types that numpy has not: ml_dtypes)", dtype)


def _extent(given: Extent, what: str) -> tuple[Expression, Expression, Expression]:
    parts = [given] if isinstance(given, int) else list(given)
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, int | np.integer) and part > 0 for part in parts):
        raise UsageError(f"no {what}", expected="one to three numbers from 1 up", observed=repr(given)[:60])
    x, y, z = map(Expression.of, (*map(int, parts), *(1,) * (3 - len(parts))))
    return x, y, z


def _refuse(name: str, expected: str, observed: object) -> NoReturn:
    raise UsageError(f"argument {name[:40]} does not fit", expected=expected, observed=repr(observed)[:80])
