"""Compiles a probe, launches it on a backend, and returns what it saw as a Capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch import MatrixForm, find
from layoutprobe.backends.base import Backend, Buffer, Launch
from layoutprobe.backends.source import Prepared, Request, Source, source_of
from layoutprobe.capture.capture import Capture
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import CodeObjectError, UsageError
from layoutprobe.layouts.swizzle import SCHEMES, Scheme, bit_of, of_bits
from layoutprobe.numbers import element_type
from layoutprobe.probing.spec import INSTRUCTION, ArgumentSpec, ProbeSpec


def run_probe(
    spec: ProbeSpec,
    *,
    arch: str,
    inputs: Mapping[str, NDArray[Any]],
    backend: Backend | Source,
    dtype: str = "f16",
    instruction: MatrixForm | None = None,
    lds: str = "none",
    defines: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    compiler: str | None = None,
) -> Capture:
    """Compiles the probe (or takes it from the cache), runs one launch, returns what came back.

    Args:
        spec: the probe.
        arch: target to compile for.
        inputs: one array per "in" argument, of the declared dtype and shape.
        backend: where it runs, or where it was recorded.
        dtype: element type of the matrix instruction.
        instruction: the one to execute, where the probe takes any; the usual one of the dtype where None.
        lds: name of the LDS scheme; must be "none" where the probe has no LDS_SCHEME define.
        defines: values of the probe's own defines.
        parameters: what else the capture should say about the run (pattern, carrier, seed).
        compiler: which compiler; see `layoutprobe.toolchain`.

    Raises:
        UsageError: inputs or parameters that the probe does not take.
        ToolchainError: the probe does not compile.
        ExecutionError: the kernel did what no correct kernel does.
    """
    form = instruction or find(arch).probed_types.get(dtype)
    spec = spec.sized(form)
    sizes = _bind(spec, inputs, _scheme(spec, lds))  # before compiling: a wrong input is cheap to refuse

    def prepare() -> Prepared:
        code, toolchain = build(
            spec, arch=arch, dtype=dtype, instruction=form, lds=lds, defines=defines, compiler=compiler
        )
        outputs = {a.name: at for at, a in enumerate(spec.arguments) if a.role == "out"}
        return Prepared(make_launch(spec, code, inputs, lds=lds), outputs, toolchain)

    selected = {"dtype": dtype, "lds": lds, "tile": spec.tile, **sizes, **(parameters or {})}
    if form and INSTRUCTION in spec.defines:
        selected["instruction"] = form.spelling
    return source_of(backend).capture(Request(spec.name, arch, inputs, selected, prepare))


def build(
    spec: ProbeSpec,
    *,
    arch: str,
    dtype: str = "f16",
    instruction: MatrixForm | None = None,
    lds: str = "none",
    defines: Mapping[str, int] | None = None,
    compiler: str | None = None,
) -> tuple[CodeObject, Mapping[str, str]]:
    """The probe's code object and what compiled it.

    Raises:
        UsageError: a define that the probe does not understand, or a dtype that it lacks.
        ToolchainError: the probe does not compile.
    """
    from layoutprobe.toolchain.languages import language_of

    values = _defines(spec, dtype, _scheme(spec, lds), defines or {})
    if INSTRUCTION in spec.defines and (form := instruction or find(arch).probed_types.get(dtype)):
        values |= _instruction_defines(form, spec.wave)
    code, toolchain = language_of(spec.source).build(
        spec.source, target=arch, defines=values, include_dirs=(spec.include,), compiler=compiler
    )
    if code.kernels:  # of code for other cards nothing is read here
        _check_kernel(spec, code)
    return code, toolchain


def make_launch(
    spec: ProbeSpec, code: CodeObject, inputs: Mapping[str, NDArray[Any]], *, lds: str = "none"
) -> Launch:
    """The launch of a built probe on these inputs.

    Raises:
        UsageError: inputs that do not fit the declaration.
    """
    sizes = _bind(spec, inputs, _scheme(spec, lds))
    return Launch(
        code=code,
        kernel=spec.kernel,
        grid=_grid(spec, sizes),
        block=(spec.block, 1, 1),
        args=[_argument(a, inputs, sizes) for a in spec.arguments],
    )


def _check_kernel(spec: ProbeSpec, code: CodeObject) -> None:
    """The compiler's own metadata must agree with the spec: both are written by hand."""
    kernel = code.kernel(spec.kernel)
    found = [a.size for a in kernel.explicit_args]
    wanted = [4 if a.role == "size" else 8 for a in spec.arguments]
    if found != wanted or kernel.max_workgroup_size != spec.block or kernel.wavefront_size != spec.wave:
        raise CodeObjectError(
            f"the {spec.name} probe and its spec disagree",
            where={"file": spec.source.with_suffix(".toml"), "kernel": spec.kernel},
            expected=f"arguments of {wanted} bytes, {spec.block} work-items, wave{spec.wave}",
            observed=f"arguments of {found} bytes, {kernel.max_workgroup_size} work-items, "
            f"wave{kernel.wavefront_size}",
        )


def _scheme(spec: ProbeSpec, lds: str) -> Scheme:
    if lds not in SCHEMES:
        raise UsageError(f"no LDS scheme named {lds!r}", expected="one of " + ", ".join(SCHEMES))
    if lds != "none" and "LDS_SCHEME" not in spec.defines:
        raise UsageError(f"the {spec.name} probe keeps nothing in LDS", expected="scheme none", observed=lds)
    return SCHEMES[lds]


def _defines(spec: ProbeSpec, dtype: str, scheme: Scheme, given: Mapping[str, int]) -> dict[str, str]:
    if spec.instructions:
        spec.instruction(dtype)
    values: dict[str, int] = {}
    if "LDS_SCHEME" in spec.defines:
        values["LDS_SCHEME"] = scheme.device_define
    for define, by_dtype in spec.define_values.items():
        values[define] = by_dtype[dtype]
    for define, value in given.items():
        if define not in spec.defines:
            raise UsageError(
                f"the {spec.name} probe has no define {define!r}",
                expected="one of " + (", ".join(spec.defines) or "none"),
            )
        values[define] = value
    return {define: str(value) for define, value in values.items()}


def _instruction_defines(form: MatrixForm, wave: int) -> dict[str, str]:
    """What a probe that executes any matrix instruction must know of one; text as C has it."""
    (m, n, k), vgprs = form.shape, form.vgprs(wave)
    return {
        INSTRUCTION: f'"{form.name}"',
        "MODIFIERS": f'"{form.written}"',
        "INST_M": str(m),
        "INST_N": str(n),
        "INST_K": str(k),
        "INST_BLOCKS": str(form.blocks),
        "A_BITS": str(form.bits),
        "B_BITS": str(form.b_bits),
        "RESULT_BITS": str(form.result_bits),
        "A_VGPRS": str(vgprs["A"]),
        "B_VGPRS": str(vgprs["B"]),
        "SPARSE": str(int(form.sparse)),
        "SCALED": str(int(form.scaled)),
    }


def _bind(spec: ProbeSpec, inputs: Mapping[str, NDArray[Any]], scheme: Scheme) -> dict[str, int]:
    """Symbol -> extent, as the inputs have it; refuses inputs that do not fit the declaration."""
    wanted = [a for a in spec.arguments if a.role == "in"]
    if set(inputs) != {a.name for a in wanted}:
        raise UsageError(
            f"wrong inputs for the {spec.name} probe",
            expected=", ".join(a.name for a in wanted),
            observed=", ".join(inputs) or "none",
        )
    sizes: dict[str, int] = {}
    if "LDS_SCHEME" in spec.defines:
        shape = (spec.tile[0] or spec.tile[1], spec.tile[2])  # B lies transposed
        for bits in {element_type(a.dtype).bits for a in wanted}:
            placed = of_bits(scheme, bits)
            if why := placed.refusal(shape):
                raise UsageError(f"LDS scheme {scheme.name} does not fit the {spec.name} probe", observed=why)
            sizes["lds_dwords"] = int(bit_of(np.asarray(placed.size(shape)), bits)) // 32
    for argument in wanted:
        data = inputs[argument.name]
        fits = (
            data.ndim == len(argument.shape)
            and data.size > 0
            and data.dtype == element_type(argument.dtype).storage
        )
        for extent, observed in zip(argument.shape, data.shape, strict=False):
            wanted_extent = sizes.setdefault(extent, observed) if isinstance(extent, str) else extent
            fits = fits and observed == wanted_extent
        if not fits:
            raise UsageError(
                f"input {argument.name} does not fit the {spec.name} probe",
                expected=f"{argument.dtype} [{', '.join(_extent(e, sizes) for e in argument.shape)}]",
                observed=f"{data.dtype} {list(data.shape)}",
            )
    return sizes


def _extent(extent: int | str, sizes: Mapping[str, int]) -> str:
    return f"{extent} = {sizes[extent]}" if isinstance(extent, str) else str(extent)


def _grid(spec: ProbeSpec, sizes: Mapping[str, int]) -> tuple[int, int, int]:
    if spec.grid == "one":
        return (1, 1, 1)
    if spec.grid == "waves":
        groups, rest = divmod(sizes["waves"], spec.waves_per_group)
        if rest:
            raise UsageError(
                f"the {spec.name} probe needs whole workgroups",
                expected=f"a multiple of {spec.waves_per_group} waves",
                observed=f"{sizes['waves']} waves",
            )
        return (groups, 1, 1)
    return (-(-sizes["N"] // spec.tile[1]), -(-sizes["M"] // spec.tile[0]), 1)


def _argument(
    argument: ArgumentSpec, inputs: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]
) -> Buffer | np.generic:
    if argument.role == "size":
        return np.int32(sizes[argument.name])
    if argument.role == "in":
        return Buffer(np.ascontiguousarray(inputs[argument.name]))
    shape = tuple(sizes[e] if isinstance(e, str) else e for e in argument.shape)
    # Undefined at first, as from hipMalloc: what the kernel forgets to write shows up as such.
    return Buffer(np.zeros(shape, element_type(argument.dtype).storage), undefined=True)
