"""Finds patterns: by shipped name, in a user's .toml file, or as an expression on the spot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from layoutprobe.assets import asset_dir
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.patterns.carriers import CARRIERS, MAX_SCALE
from layoutprobe.patterns.pattern import COORDINATES, Pattern
from layoutprobe.reading import Table, parse_toml, read_bounded

MAX_FILE_BYTES = 1 << 16
_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
_ANY = r"[\s\S]*"


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
    """A pattern from its file. A report names patterns: one name may not be that of two, nor of no file."""
    raw = read_bounded(path, "pattern file", MAX_FILE_BYTES, "see `layoutprobe list patterns`")
    pattern = pattern_from_table(parse_toml(raw, path, "pattern file"), path)
    if pattern.name != path.stem:
        raise UsageError(
            "a pattern has the name of its file",
            where={"file": path, "key": "name"},
            expected=path.stem,
            observed=pattern.name,
            hint="rename the file or the pattern",
        )
    shipped = asset_dir("patterns") / f"{pattern.name}.toml"
    if pattern.name in pattern_names() and not path.samefile(shipped):
        raise UsageError(
            f"there is a pattern {pattern.name} already: it comes along",
            where={"file": path},
            hint="rename the file and the pattern",
        )
    return pattern


class _Table(Table):
    WHAT: ClassVar[str] = "pattern"


def pattern_from_table(data: Mapping[str, Any], file: object = "") -> Pattern:
    """A pattern from the keys of its file.

    Raises:
        UsageError: a key is missing, unknown or of the wrong type.
    """
    table = _Table(data, file)
    values = table.table("parameters")
    for key in values:
        if key in COORDINATES or re.fullmatch(r"[a-z_]+", key) is None:
            values.fail(key, "a name of a-z and _, and neither row, col, rows nor cols")
    pattern = Pattern(
        name=table.text("name", "a name", _ANY),
        summary=table.text("summary", "a text", _ANY, ""),
        expression=table.text("expression", "an expression over row and col", _ANY),
        identifies=table.choices("identifies", ("row", "col", "marked"), ()),
        carriers=table.choices("carriers", tuple(CARRIERS), tuple(CARRIERS)),
        parameters={key: values.integer(key, 1 - (1 << 62), (1 << 62) - 1) for key in values},
        scale=table.maybe_integer("scale", 1, MAX_SCALE) or 1,
    )
    table.finish()
    return pattern
