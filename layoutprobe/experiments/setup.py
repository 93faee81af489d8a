"""What a user chose, checked: a bench to run probes on, and patterns with their carriers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutprobe.arch import DEFAULT, find
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source, chosen
from layoutprobe.errors import UsageError
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.patterns import load_pattern
from layoutprobe.patterns.carriers import DTYPE_CARRIERS, carrier_of
from layoutprobe.probing.bench import Bench, Coded

DEFAULT_PATTERNS = ("rowcol", "row-coded")
"""row*256 + col in raw bits is exact in every 16-bit dtype and readable in hexadecimal. row-coded
never codes 0, so that a register that was merely cleared does not pass for element (0, 0)."""


def bench_of(
    lds: str,
    dtype: str,
    arch: str | None,
    backend: Backend | Source | str | None,
    compiler: str | Path | None,
    probes: str | Path | None,
) -> Bench:
    """What all runs of a command share.

    Raises:
        UsageError: an argument of the wrong type, an unknown name, or probes that execute another
            instruction than the target has.
    """
    target = find(DEFAULT if arch is None else _text("arch", arch))
    instruction = target.probed_form(_text("dtype", dtype))
    if _text("lds", lds) not in SCHEMES:
        raise UsageError(f"no LDS scheme named {lds!r}", expected="one of " + ", ".join(SCHEMES))
    if compiler is not None and not str(compiler):
        raise UsageError("the compiler has no name", hint="leave the option out to have one found")
    named = None if compiler is None else str(compiler)
    bench = Bench(target.name, dtype, lds, chosen(backend, target.name), named, _directory(probes))
    executed = bench.spec("interaction").instruction(dtype)
    if executed != instruction.name:
        raise UsageError(
            f"the probes do not execute the matrix instruction of {target.name} for {dtype}",
            expected=instruction.name,
            observed=executed,
        )
    return bench


def codings_of(pattern: str | Sequence[str] | None, carrier: str | None, dtype: str) -> list[Coded]:
    """The patterns, each with the carrier that holds its codes.

    Args:
        pattern: as the user names them; DEFAULT_PATTERNS where None.
        carrier: one for all; the best of each pattern where None.
        dtype: type of the elements.

    Raises:
        UsageError: no such pattern or carrier, or the carrier is no bits of such an element.
    """
    names = [pattern] if isinstance(pattern, str) else list(DEFAULT_PATTERNS if pattern is None else pattern)
    if not names:
        raise UsageError("no pattern is given", hint="leave `pattern` out to have the default")
    found = [load_pattern(_text("pattern", name)) for name in names]
    if carrier is not None and carrier_of(_text("carrier", carrier)).name not in DTYPE_CARRIERS[dtype]:
        raise UsageError(
            f"carrier {carrier} does not hold {dtype} elements",
            expected="one of " + ", ".join(DTYPE_CARRIERS[dtype]),
            hint="choose with --carrier, or leave it out to have the best",
        )
    return [(one, carrier or one.default_carrier(dtype)) for one in found]


def field_bits(codings: Sequence[Coded]) -> int:
    """Width of an element."""
    return carrier_of(codings[0][1]).bits


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
