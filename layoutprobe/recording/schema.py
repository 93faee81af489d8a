"""What a recording's file says in its index: all that is no array, as JSON, written and read (docs/captures.md).

Arrays are named "table.column" as the classes of `model.py` have them: "steps.inst", "vectors.value".
"""

from __future__ import annotations

from math import prod
from typing import Any, Literal, cast

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from layoutprobe.capture.capture import Evidence
from layoutprobe.capture.schema import IndexTable
from layoutprobe.numbers.types import TYPES
from layoutprobe.place import Call, Place, SourceLine
from layoutprobe.recording.model import (
    Accesses,
    Buffer,
    Instruction,
    Outline,
    Recording,
    ScalarWrites,
    Span,
    Steps,
    Stored,
    Tags,
    VectorWrites,
    Wave,
)
from layoutprobe.recording.needed import flat, in_index

TABLES = {
    "steps": Steps, "vectors": VectorWrites, "scalars": ScalarWrites, "accesses": Accesses, "stored": Stored,
    "tags": Tags,
}  # fmt: skip

_MOST_CODE = 1 << 16
_MOST_WAVES = 1 << 12
_MOST_LINES = 20_000
_MOST_CALLS = 64
_MOST_NAMES = 256
_LONGEST_NAME = 128
_REGISTERS = 2048
_LDS = 1 << 20
_COUNT = 1 << 31
_ADDRESS = 1 << 63


def arrays(recording: Recording) -> dict[str, NDArray[Any]]:
    """Every array of a recording, by table and column."""
    found = {}
    for table, kind in TABLES.items():
        for column in kind.__struct_fields__:
            value = getattr(getattr(recording, table), column)
            if isinstance(value, np.ndarray):
                found[f"{table}.{column}"] = value
    return found | flat(recording.moments)


def described(recording: Recording) -> dict[str, Any]:
    """All that is no array, as JSON's types.

    "code" are the instructions, in the order of the code: "text", "kind", "place" (as in every report), "reads"
    and "writes" (kind, first register, how many, upper half, bits). "waves" name workgroup and wave; columns
    "wave" and "inst" count in these two lists. "needed": see `needed.py`.
    """
    evidence = recording.evidence
    kind = evidence.recorded if evidence.kind == "replayed" else evidence.kind
    return {
        "kernel": recording.kernel,
        "arch": recording.target,
        "size": [list(pair) for pair in recording.size.items()],
        "lanes": recording.lanes,
        "vgprs": recording.vgprs,
        "first_acc": recording.first_acc,
        "lds_size": recording.lds_size,
        "cut": recording.cut,
        "unjudged": recording.unjudged,
        "needed": in_index(recording.moments),
        "evidence": {"kind": kind, "source": evidence.source},
        "waves": [[*wave.group, wave.index] for wave in recording.waves],
        "code": [
            {
                "text": one.text,
                "kind": one.kind,
                "place": one.place.json(),
                "reads": [_span_json(span) for span in one.reads],
                "writes": [_span_json(span) for span in one.writes],
            }
            for one in recording.code
        ],
        "buffers": [
            to_builtins(buffer) | {"shape": list(buffer.shape), "strides": list(buffer.strides)}
            for buffer in recording.buffers
        ],
        "sources": [
            {"file": file, "numbers": list(lines), "lines": list(lines.values())}
            for file, lines in recording.sources.items()
        ],
    }


def _span_json(span: Span) -> list[Any]:
    return [span.kind, span.index, span.count, int(span.half), span.bits]


def outline(table: IndexTable) -> Outline:
    """The inverse of `described`, of a file of anybody.

    Raises:
        UsageError: a key is missing, unknown, or its value none that a recording has.
    """
    evidence = table.table("evidence")
    made = Outline(
        table.words("kernel"),
        table.words("arch"),
        _size(table),
        32 if table.integer("lanes", 32, 64) == 32 else 64,
        table.integer("vgprs", 0, _REGISTERS),
        table.integer("first_acc", -1, _REGISTERS),
        table.integer("lds_size", 0, _LDS),
        tuple(_wave(table, each) for each in table.list_of("waves", 1, _MOST_WAVES)),
        tuple(map(_instruction, table.tables("code", least=1, most=_MOST_CODE))),
        tuple(map(_buffer, table.tables("buffers", most=_MOST_NAMES))),
        table.words("cut"),
        dict(map(_lines, table.tables("sources", most=_MOST_NAMES))),
        Evidence(
            cast("Literal['emulated', 'measured']", evidence.choice("kind", ("emulated", "measured"))),
            evidence.words("source"),
        ),
        table.words("unjudged"),
    )
    evidence.finish()
    return made


def _size(table: IndexTable) -> dict[str, int]:
    pairs = table.list_of("size", 0, _MOST_NAMES)
    for pair in pairs:
        known = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
        if not (known and pair[0].isidentifier() and len(pair[0]) <= _LONGEST_NAME and _counts(pair[1])):
            table.fail("size", "lists of a name and a number")
    return dict(pairs)


def _wave(table: IndexTable, found: object) -> Wave:
    if not isinstance(found, list) or len(found) != 4 or not all(_counts(n) for n in found):
        table.fail("waves", "four integers each: workgroup in x, y, z, and the wave in it")
    x, y, z, index = found
    return Wave((x, y, z), index)


def _counts(found: object) -> bool:
    return type(found) is int and 0 <= found < _COUNT


def _instruction(table: IndexTable) -> Instruction:
    made = Instruction(
        _place(table.table("place")), table.words("kind"), table.words("text"), _spans(table, "reads"),
        _spans(table, "writes"),
    )  # fmt: skip
    table.finish()
    return made


def _spans(table: IndexTable, key: str) -> tuple[Span, ...]:
    spans = []
    for found in table.list_of(key, 0, _MOST_NAMES):
        if not isinstance(found, list) or len(found) != 5 or found[0] not in ("v", "s"):
            table.fail(key, "lists of kind, first register, how many, upper half, bits")
        if not all(type(n) is int and 0 <= n < _REGISTERS for n in found[1:]):
            table.fail(key, f"numbers below {_REGISTERS}")
        spans.append(Span(found[0], found[1], found[2], bool(found[3]), found[4]))
    return tuple(spans)


def _place(table: IndexTable) -> Place:
    calls = []
    for call in table.tables("inlined_at", most=_MOST_CALLS) if table.has("inlined_at") else ():
        source = _source(call)
        if source is None:
            call.fail("file", "the file of a call")
        calls.append(Call(source, call.words("function")))
        call.finish()
    made = Place(
        table.words("kernel") if table.has("kernel") else "",
        _source(table),
        table.boolean("near", False),
        tuple(calls),
        table.integer("pc", 0, _ADDRESS),
        table.words("instruction"),
    )
    table.finish()
    return made


def _source(table: IndexTable) -> SourceLine | None:
    if not table.has("file"):
        return None
    return SourceLine(
        table.words("file"), table.integer("line", 0, _COUNT), table.maybe_integer("column", 0, _COUNT)
    )


def _buffer(table: IndexTable) -> Buffer:
    shape, strides = table.list_of("shape", 0, 8), table.list_of("strides", 0, 8)
    if len(shape) != len(strides) or not all(_counts(n) and n for n in (*shape, *strides)):
        table.fail("strides", "as many positive integers as the shape has")
    if prod(shape) >= _COUNT:
        table.fail("shape", f"fewer than {_COUNT} elements")
    made = Buffer(
        table.words("name"), table.choice("dtype", tuple(TYPES)), tuple(shape), tuple(strides),
        table.integer("address", 0, _ADDRESS), table.integer("nbytes", 0, _COUNT),
        table.choice("matrix", ("", "A", "B", "C")), table.choice("role", ("in", "out", "inout")),
    )  # fmt: skip
    table.finish()
    return made


def _lines(table: IndexTable) -> tuple[str, dict[int, str]]:
    numbers, lines = (table.list_of(key, 0, _MOST_LINES) for key in ("numbers", "lines"))
    if len(numbers) != len(lines) or not all(_counts(n) for n in numbers):
        table.fail("numbers", "a number for each line")
    if not all(isinstance(line, str) for line in lines):
        table.fail("lines", "texts")
    file = table.words("file")
    table.finish()
    return file, dict(zip(numbers, lines, strict=True))
