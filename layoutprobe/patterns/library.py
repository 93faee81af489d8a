"""Finds patterns: by shipped name, in a user's .toml file, or as an expression on the spot."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from layoutprobe.assets import asset_dir
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.patterns.carriers import CARRIERS, MAX_SCALE
from layoutprobe.patterns.pattern import COORDINATES, Pattern

MAX_FILE_BYTES = 1 << 16
_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
_KEYS = {"name", "summary", "expression", "identifies", "carriers", "parameters", "scale"}


def pattern_names() -> tuple[str, ...]:
    """Names of the shipped patterns, sorted."""
    return tuple(sorted(path.stem for path in asset_dir("patterns").glob("*.toml")))


def load_pattern(spec: str) -> Pattern:
    """The pattern that the user means.

    Args:
        spec: a shipped name with optional parameters (`rowcol`, `random:seed=7`,
            `one-hot:at_row=3,at_col=5`), the path of a .toml file, or an expression such as
            `row*cols + col`.

    Raises:
        UsageError: none of these, or no text.
    """
    if not isinstance(spec, str):
        raise UsageError("a pattern must be text", observed=f"{spec!r:.60} ({type(spec).__name__})")
    name, _, assignments = spec.partition(":")
    if name in pattern_names():
        return _shipped(name).with_parameters(_assignments(spec, assignments))
    if name.endswith(".toml"):
        return _from_file(Path(name)).with_parameters(_assignments(spec, assignments))
    try:
        return Pattern(name=spec, summary="expression", expression=spec, identifies=())
    except UsageError:
        if _NAME.match(name) is None:
            raise
        raise UsageError(
            f"Unknown pattern {name[:60]!r}",
            expected="one of "
            + ", ".join(pattern_names())
            + "; a .toml file; or an expression over row and col",
            hint=did_you_mean(name, pattern_names()) or "see `layoutprobe list patterns`",
        ) from None


@cache
def _shipped(name: str) -> Pattern:
    return _from_file(asset_dir("patterns") / f"{name}.toml")


def _assignments(spec: str, text: str) -> dict[str, int]:
    values: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([a-z_]+)\s*=\s*(-?[0-9]{1,18})\s*", item)
        if match is None:
            raise UsageError(f"Cannot read the parameters of {spec[:60]!r}", expected="name=integer,...")
        values[match[1]] = int(match[2])
    return values


def _from_file(path: Path) -> Pattern:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device could keep us waiting
            raise UsageError("The pattern is not a file", where={"file": path})
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError("Cannot read the pattern file", where={"file": path}, observed=str(error)) from None
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(
            "The pattern file is too large", where={"file": path}, expected=f"{MAX_FILE_BYTES} bytes"
        )
    try:
        table = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError("The pattern file is not TOML", where={"file": path}, observed=str(error)) from None
    try:
        return pattern_from_table(table)
    except UsageError as error:
        error.where = {"file": path, **error.where}
        raise


def pattern_from_table(table: Mapping[str, Any]) -> Pattern:
    """A pattern from the keys of its file.

    Raises:
        UsageError: a key is missing, unknown or of the wrong type.
    """
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise UsageError(f"Unknown key {unknown[0]!r} in a pattern", expected=", ".join(sorted(_KEYS)))
    parameters = _typed(table, "parameters", dict, {})
    for key, value in parameters.items():
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 62:
            raise UsageError(f"Parameter {key!r} of a pattern must be an integer", observed=repr(value))
        if key in COORDINATES or re.fullmatch(r"[a-z_]+", key) is None:
            raise UsageError(
                f"A pattern's parameter cannot be called {key!r}", expected="[a-z_]+, not row or col"
            )
    scale = _typed(table, "scale", int, 1)
    if not 1 <= scale <= MAX_SCALE:
        raise UsageError(
            "The scale of a pattern is out of range", expected=f"1 to {MAX_SCALE}", observed=str(scale)
        )
    return Pattern(
        name=_typed(table, "name", str),
        summary=_typed(table, "summary", str, ""),
        expression=_typed(table, "expression", str),
        identifies=_words(table, "identifies", [], {"row", "col", "marked"}),
        carriers=_words(table, "carriers", list(CARRIERS), set(CARRIERS)),
        parameters=parameters,
        scale=scale,
    )


def _typed(table: Mapping[str, Any], key: str, kind: type, default: object = None) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        observed = "nothing" if value is None else repr(value)[:80]
        raise UsageError(f"A pattern needs {key!r} as {kind.__name__}", observed=observed)
    return value


def _words(table: Mapping[str, Any], key: str, default: list[str], known: set[str]) -> tuple[str, ...]:
    words = _typed(table, key, list, default)
    for word in words:
        if not isinstance(word, str) or word not in known:
            expected = ", ".join(sorted(known))
            raise UsageError(f"Unknown entry {word!r} in {key!r} of a pattern", expected=expected)
    return tuple(words)
