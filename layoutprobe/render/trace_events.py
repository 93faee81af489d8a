"""A timeline in the trace event format, as Perfetto (ui.perfetto.dev) and chrome://tracing open it.

Source: "Trace Event Format", Google, 2016: complete events ("ph": "X"), and metadata ("M") that names processes and
threads. A workgroup is a process, a wave a thread. Time is the row, an instruction of a wave in the order of the
emulator: one microsecond each, as the format has no other unit. No duration was measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from layoutprobe.report.answer import Answer
from layoutprobe.text import printable


def write(answer: Answer, stream: TextIO) -> None:
    """One object; an event a line."""
    about = {label: printable(text) for label, text in answer.about}
    other = {**about, "evidence": printable(str(answer.evidence)), "time": "rows, no cycles"}
    stream.write(f'{{"otherData": {json.dumps(other)},\n"traceEvents": [\n')
    stream.write(",\n".join(json.dumps(event) for event in _events(answer)))
    stream.write("\n]}\n")


def _events(answer: Answer) -> Iterator[dict[str, Any]]:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    groups = list(dict.fromkeys(row["workgroup"] for row in rows))
    for pid, group in enumerate(groups):
        yield _name("process_name", pid, 0, f"workgroup {group}")
        for wave in sorted({int(row["wave"] or 0) for row in rows if row["workgroup"] == group}):
            yield _name("thread_name", pid, wave, f"wave {wave}")
    for row in rows:
        yield {
            "ph": "X",
            "name": printable(str(row["instruction"]).split()[0]),
            "cat": row["kind"],
            "pid": groups.index(row["workgroup"]),
            "tid": row["wave"],
            "ts": row["row"],
            "dur": 1,
            "args": {name: printable(str(row[name])) for name in ("instruction", "line", "step")},
        }


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
