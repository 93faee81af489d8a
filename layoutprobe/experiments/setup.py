"""What a user chose, checked: a bench to run probes on, and patterns with their carriers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from layoutprobe.arch import DEFAULT, Arch, MatrixForm, find, matrix_form
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source, chosen
from layoutprobe.errors import UsageError
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.layouts.views import VIEWS
from layoutprobe.numbers.digits import digit_base, digits_of
from layoutprobe.patterns import load_pattern
from layoutprobe.patterns.carriers import DTYPE_CARRIERS, carrier_of
from layoutprobe.patterns.pattern import Pattern, first_collision
from layoutprobe.probing.bench import Bench, Coding

TRANSPOSING = "transposing"
"""The probe whose operands come through transposing loads."""
DEFAULT_PATTERNS = ("rowcol", "row-coded")
"""row*256 + col in raw bits is exact in every dtype of 16 bits and more, and readable in hexadecimal. row-coded
never codes 0, so that a register that was merely cleared does not pass for element (0, 0)."""
NARROW_PATTERNS = ("row-coded", "col-coded")
"""For elements of 8 bits, which hold a row or a column. Those of 6 and 4 bits hold a digit of a number."""


def bench_of(
    lds: str,
    dtype: str | None,
    arch: str | None,
    backend: Backend | Source | str | None,
    compiler: str | Path | None,
    probes: str | Path | None,
    instruction: str | None = None,
    acc: bool = False,
) -> Bench:
    """What all runs of a command share.

    Raises:
        UsageError: an argument of the wrong type, an unknown name, or probes that execute another
            instruction than the target has.
    """
    target = find(DEFAULT if arch is None else _text("arch", arch))
    form = _form(target, dtype, instruction)
    if acc and not (target.resources and target.resources.accvgpr_granule):
        raise UsageError(f"{target.name} has no AccVGPRs", hint="choose another arch")
    if _text("lds", lds) not in SCHEMES:
        raise UsageError(f"no LDS scheme named {lds!r}", expected="one of " + ", ".join(SCHEMES))
    if compiler is not None and not str(compiler):
        raise UsageError("the compiler has no name", hint="leave the option out to have one found")
    named = None if compiler is None else str(compiler)
    return Bench(target.name, form, lds, chosen(backend, target.name), named, _directory(probes), acc)


def _form(target: Arch, dtype: str | None, instruction: str | None) -> MatrixForm:
    """The instruction that is meant: named, or the usual one of a type."""
    if instruction is None:
        return target.probed_form("f16" if dtype is None else _text("dtype", dtype))
    named = matrix_form(target.name, _text("instruction", instruction)).spelling
    form = target.probed_instruction(named)
    if dtype is not None and dtype != form.dtype:
        raise UsageError(
            f"{form.spelling} has no A of type {_text('dtype', dtype):.40}",
            expected=form.dtype,
            hint="leave one of the two out",
        )
    return form


def transposing_probe(bench: Bench, matrix: str, view: str) -> str:
    """The probe whose operands come through transposing loads.

    Raises:
        UsageError: no such view, no such operand, the target has no such loads for elements of that width, or they
            do not read LDS and a scheme is given.
    """
    if _text("view", view) not in VIEWS:
        raise UsageError(f"no view {view!r:.40}", expected="one of " + ", ".join(VIEWS))
    if matrix not in "AB":
        raise UsageError("only A and B come through transposing loads", observed=f"matrix {matrix}")
    form, target = bench.form, find(bench.arch)
    widths = sorted(target.transposing)
    for bits in (form.bits, form.b_bits):
        if bits not in widths:
            raise UsageError(
                f"{target.name} has no transposing loads of elements of {bits} bits",
                expected=", ".join(f"{bits} bits" for bits in widths) or "a target that has such loads",
            )
    if form.blocks > 1 or form.shape[0] % 16 or form.sparse:
        raise UsageError(
            f"no probe feeds {form.spelling} by transposing loads",
            expected="one block of 16 or 32 rows and columns, and dense A",
        )
    if bench.lds != "none" and not in_lds(bench, TRANSPOSING):
        raise UsageError(
            f"the transposing loads of {target.name} read global memory: nothing goes through LDS",
            expected="lds none",
            observed=f"lds {bench.lds}",
        )
    return TRANSPOSING


def in_lds(bench: Bench, probe: str) -> bool:
    """A and B go through LDS in a probe."""
    return "LDS_SCHEME" in bench.spec(probe).defines


def codings_of(
    bench: Bench, probe: str, pattern: str | Sequence[str] | None, carrier: str | None
) -> list[Coding]:
    """The patterns, each with the carriers that hold its codes.

    Args:
        bench: what the probe runs on.
        probe: whose input matrices are to be coded.
        pattern: as the user names them; DEFAULT_PATTERNS, NARROW_PATTERNS or digits where None.
        carrier: one for all; the best of each pattern, for each matrix, where None.

    Raises:
        UsageError: no such pattern or carrier, the carrier is no bits of such an element, or the
            patterns together do not tell all elements apart (unless one says itself that it names
            one axis, or marked elements: what it leaves open is undecided).
    """
    shapes = bench.coded_shapes(probe)
    narrowest = min(bench.form.element_bits(matrix) for matrix in shapes)
    given: object = _usual(narrowest, shapes.values()) if pattern is None else pattern
    if not isinstance(given, str | Sequence):
        raise UsageError(
            "`pattern` must be text, or a list of texts", observed=f"{given!r:.60} ({type(given).__name__})"
        )
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        raise UsageError("no pattern is given", hint="leave `pattern` out to have the default")
    found = [load_pattern(_text("pattern", name)) for name in names]
    if len({one.name for one in found}) < len({(one.name, one.expression) for one in found}):
        raise UsageError(
            "two patterns have the same name", hint="rename one of the files, and the pattern in it"
        )
    codings = [Coding(one, _carriers(bench.form, one, shapes, carrier)) for one in found]
    if not any(one.partial for one in found):
        for matrix, shape in shapes.items():
            _check_apart(codings, matrix, shape)
    return codings


def _usual(bits: int, shapes: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Patterns that tell all elements apart, where the narrowest are of so many bits."""
    if bits >= 8:
        return DEFAULT_PATTERNS if bits > 8 else NARROW_PATTERNS
    base = digit_base([f"u{bits}"])
    digits = digits_of(max(rows * cols for rows, cols in shapes), base)
    return tuple(f"digits:base={base},step={base**place}" for place in range(digits))


def _carriers(
    form: MatrixForm, pattern: Pattern, shapes: Mapping[str, tuple[int, int]], carrier: str | None
) -> dict[str, str]:
    """The carrier of every matrix: one for those of one type."""
    types = {matrix: form.b if matrix == "B" else form.a for matrix in shapes}
    chosen = {}
    for dtype in dict.fromkeys(types.values()):
        if carrier is not None and carrier_of(_text("carrier", carrier)).name not in DTYPE_CARRIERS[dtype]:
            raise UsageError(
                f"carrier {carrier} does not hold {dtype} elements",
                expected="one of " + ", ".join(DTYPE_CARRIERS[dtype]),
                hint="choose another carrier, or leave it out to have the best",
            )
        of_type = {matrix: shape for matrix, shape in shapes.items() if types[matrix] == dtype}
        chosen[dtype] = carrier or pattern.default_carrier(dtype, of_type)
    return {matrix: chosen[dtype] for matrix, dtype in types.items()}


def _check_apart(codings: Sequence[Coding], matrix: str, shape: tuple[int, int]) -> None:
    """Refuses patterns by which two elements of a matrix have the same codes."""
    raw = np.stack(
        [one.pattern.encode_matrix(matrix, shape, one.carriers[matrix]).ravel() for one in codings]
    )
    _, number = np.unique(raw, axis=1, return_inverse=True)
    pair = first_collision(number.ravel(), shape[1], ("row", "col"))
    if pair is None:
        return
    names = " and ".join(coding.pattern.name for coding in codings)
    (r0, c0), (r1, c1) = pair
    codes = ", ".join(str(coding.pattern.codes(shape)[r0, c0]) for coding in codings)
    raise UsageError(
        f"Pattern {names} does not tell two elements of {matrix} apart",
        where={"matrix": matrix, "shape": f"{shape[0]} x {shape[1]}"},
        expected="a code of its own for every element",
        observed=f"{matrix}[{r0}][{c0}] and {matrix}[{r1}][{c1}] both have code {codes}",
        hint="give another pattern in addition, such as col-coded beside row-coded; or row*cols + col alone",
    )


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise UsageError(f"`{name}` must be text", observed=f"{value!r:.60} ({type(value).__name__})")


def _directory(probes: str | Path | None) -> Path | None:
    if probes is None:
        return None
    if not isinstance(probes, str | Path):
        raise UsageError("`probes` must be a path", observed=f"{probes!r:.60} ({type(probes).__name__})")
    if not Path(probes).is_dir():
        raise UsageError("the directory of probes does not exist", where={"directory": str(probes)[:200]})
    return Path(probes)


def one_of(what: str, name: object, known: Sequence[str]) -> str:
    """The name in capitals.

    Raises:
        UsageError: it is none of the known ones.
    """
    if isinstance(name, str) and name.upper() in known:
        return name.upper()
    raise UsageError(f"no {what} named {name!r:.40}", expected="one of " + ", ".join(known))
