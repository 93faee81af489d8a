"""The registry of formats: what each kind of report can be written as.

A *subject* is a kind of report; its formats are the rows of a table. To add one is to add a row: every
command takes its `--format` choices, the suffixes of its files and its help from here. Writers are
named, and imported when they are used: `--format json` must not pay for the terminal library, and
`--help` for nothing at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec import Struct

from layoutprobe.errors import UsageError


class Format(Struct, frozen=True):
    """One way to write a subject.

    Attributes:
        name: as `--format` knows it.
        writer: takes what is shown and a stream: a function, or its place below this room, such as
            "gate.sarif:write".
        suffixes: of files in this format, without the dot.
        for_people: adapts to its stream, to its encoding too; all others are UTF-8.
        binary: the stream is one of bytes.
        draws: shows pictures that have to be made while kernels are checked.
    """

    name: str
    writer: str | Callable[[Any, Any], None]
    suffixes: tuple[str, ...]
    for_people: bool = False
    binary: bool = False
    draws: bool = False

    def write(self, shown: Any, stream: Any) -> None:
        """Write what is shown to a stream."""
        writer = self.writer
        if isinstance(writer, str):
            module, _, function = writer.partition(":")
            writer = getattr(import_module(f"layoutprobe.render.{module}"), function)
        writer(shown, stream)


def _table(writer: str) -> Format:
    """For a terminal, a pipe or a plain file; every subject's first format, and its default."""
    return Format("table", writer, ("txt",), for_people=True)


def _json(writer: str) -> Format:
    return Format("json", writer, ("json",))


_KERNEL = Format("html", "kernel.html:write", ("html",))
"""The page of a kernel, which shows its operands and all else."""

_SUBJECTS: dict[str, list[Format]] = {
    "layout": [
        _table("layout.table:write"),
        _json("layout.json_:write"),
        Format("csv", "layout.csv_:write", ("csv",)),
        Format("svg", "layout.svg:write", ("svg",)),
        Format("html", "layout.html:write", ("html",)),
    ],
    "instruction": [
        _table("instruction.table:write"),
        _json("instruction.data:write_json"),
        Format("csv", "instruction.data:write_csv", ("csv",)),
        Format("svg", "instruction.maps:write", ("svg",)),
        Format("html", "instruction.html:write", ("html",)),
    ],
    "gate": [
        _table("gate.table:write"),
        Format("full", "gate.table:write_full", (), for_people=True),
        Format("quiet", "gate.table:write_quiet", (), for_people=True),
        _json("gate.json_:write"),
        Format("junit", "gate.junit:write", ("xml",)),
        Format("sarif", "gate.sarif:write", ("sarif",)),
        Format("github", "gate.github:write", ("github",)),
        Format("review", "gate.review:write", ("review",)),
        Format("summary", "gate.summary:write", ("md",)),
        Format("html", "gate.html:write", ("html",), draws=True),
    ],
    "fidelity": [
        _table("fidelity.table:write"),
        _json("fidelity.table:write_json"),
        Format("html", "fidelity.html:write", ("html",)),
    ],
    "sites": [_table("sites:write"), _json("sites:write_json"), _KERNEL],
    "fragments": [
        _table("layout.table:write"),
        _json("layout.json_:write"),
        Format("csv", "layout.csv_:write", ("csv",)),
        Format("svg", "layout.svg:write", ("svg",)),
        _KERNEL,
    ],
    "answer": [
        _table("answer:write"),
        _json("answer:write_json"),
        Format("csv", "answer:write_csv", ("csv",)),
        Format("html", "answer:write_html", ("html",)),
    ],
    "timeline": [
        _table("answer:write"),
        _json("answer:write_json"),
        Format("csv", "answer:write_csv", ("csv",)),
        Format("html", "answer:write_html", ("html",)),
        Format("perfetto", "trace_events:write", ("perfetto",)),
    ],
    "fragment": [_table("fragment:write"), _json("fragment:write_json")],
    "swizzle": [_table("lds_code:write_swizzle"), _json("lds_code:write_swizzle_json")],
    "pack": [_table("lds_code:write_pack"), _json("lds_code:write_pack_json")],
    "claims": [_table("claims:write_claims"), _json("claims:write_claims_json")],
    "ttgir": [_table("declared:write"), _json("declared:write_json")],
    "difference": [_table("claims:write_differences"), _json("claims:write_differences_json")],
    "captures": [_table("captures:write"), _json("captures:write_json")],
    "occupancy": [_table("occupancy:write"), _json("occupancy:write_json")],
}


def register(subject: str, format: Format) -> None:
    """Add a format, or replace the one of that name.

    Args:
        subject: "layout" (of `dump`, `roundtrip`, `epilogue`, `inspect`), "instruction" (of `layout`),
            "fragment", "sites", "answer" and "timeline" (of `inspect`), "swizzle" (of `solve-swizzle`), "pack",
            "gate" (of `check`), "fidelity", "claims" and "ttgir" (of `claim`), "difference" and "captures" (of
            `diff`), "occupancy".
        format: the row.
    """
    rows = _SUBJECTS[subject]
    rows[:] = [row for row in rows if row.name != format.name] + [format]


def formats(subject: str) -> tuple[Format, ...]:
    """All formats of a subject; the first is the default."""
    return tuple(_SUBJECTS[subject])


def names(subject: str) -> list[str]:
    """What `--format` can be."""
    return [format.name for format in formats(subject)]


def suffixes(subject: str) -> dict[str, Format]:
    """Suffix of a file -> its format."""
    return {suffix: format for format in formats(subject) for suffix in format.suffixes}


def find(subject: str, name: str) -> Format:
    """The format of that name.

    Raises:
        UsageError: there is none.
    """
    for format in formats(subject):
        if format.name == name:
            return format
    raise UsageError(f"no format named {name!r:.40}", expected="one of: " + ", ".join(names(subject)))


def format_of(subject: str, file: str) -> Format:
    """The format of a file by its suffix; the default where it has none.

    Raises:
        UsageError: no format goes with the suffix.
    """
    suffix = suffix_of(file)
    if not suffix:
        return formats(subject)[0]
    known = suffixes(subject)
    if suffix not in known:
        raise UsageError(
            f"no format goes with the suffix .{suffix[:40]}",
            where={"file": file},
            expected="one of: " + ", ".join(f".{name}" for name in known),
            hint="choose with --format " + "|".join(names(subject)),
        )
    return known[suffix]


def suffix_of(file: str) -> str:
    """Suffix of a file in lower case, without the dot: "json"; "" where there is none."""
    return os.path.splitext(file)[1].lstrip(".").lower()
