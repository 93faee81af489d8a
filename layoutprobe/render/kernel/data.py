"""A KernelView as the page's script reads it: `page/src/data.ts` declares the same, type by type."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.render import data
from layoutprobe.render.layout import words
from layoutprobe.render.sites import verdict
from layoutprobe.report.finding import Finding
from layoutprobe.report.kernel_view import (
    COLUMNS,
    Contents,
    HeldOperands,
    KernelView,
    LdsAccesses,
    Moments,
    OutputView,
    Timeline,
)
from layoutprobe.text import printable

SCHEMA = "layoutprobe.kernel/1"


def document(view: KernelView) -> dict[str, Any]:
    """The whole view. Texts are printable; numbers of large tables are base64 of little-endian bytes."""
    sites, outcome = view.sites, verdict(view.sites)
    opened = view.opened
    body = {
        "kernel": sites.kernel,
        "target": sites.target,
        "size": sites.size,
        "summary": outcome.sentence,
        "judged": sites.judged,
        "sites": [
            {
                "number": site.number,
                "place": site.place.json(),
                "title": site.place.site,
                "times": list(site.times),
                "wrong": dict(site.wrong),
                "lost": site.lost,
            }
            for site in sites.sites
        ],
        "moments": _moments(view.moments),
        "output": view.output and _output(view.output),
        "noOutput": view.no_output,
        "findings": [_finding(found) for found in view.findings],
        "sources": [
            {"file": file, "lines": [[number, text.expandtabs(4)] for number, text in sorted(lines.items())]}
            for file, lines in view.sources.items()
        ],
        "timeline": view.timeline and _timeline(view.timeline),
        "held": view.held and _held(view.held),
        "opened": {
            "matrix": opened.matrix,
            "site": opened.site,
            "iteration": opened.iteration,
            "group": opened.group and list(opened.group),
            "wave": opened.wave,
        },
    }
    document: dict[str, Any] = _readable(data.envelope(SCHEMA, body))
    return document


def _readable(tree: Any) -> Any:
    """The same with every text printable: names come from manifests and debug information."""
    if isinstance(tree, str):
        return printable(tree)
    if isinstance(tree, dict):
        return {printable(key): _readable(value) for key, value in tree.items()}
    return list(map(_readable, tree)) if isinstance(tree, (list, tuple)) else tree


def _moments(moments: Moments) -> dict[str, Any]:
    return {
        "groups": [list(group) for group in moments.groups],
        "leftOut": moments.left_out,
        "shapes": {matrix: list(shape) for matrix, shape in moments.shapes.items()},
        "layouts": [
            {
                "axes": list(layout.shape[1:]),
                "bits": bits,
                "row": layout[0].ravel().tolist(),
                "col": layout[1].ravel().tolist(),
            }
            for layout, bits in zip(moments.layouts, moments.bits, strict=True)
        ],
        "masks": ["".join("01"[int(bit)] for bit in mask.ravel()) for mask in moments.masks],
        "rows": {name: moments.rows[:, at].tolist() for at, name in enumerate(COLUMNS)},
        "registers": [
            {"site": site, "matrix": matrix, "kind": first.kind, "first": first.index, "count": count}
            for (site, matrix), (first, count) in moments.registers.items()
        ],
    }


def _output(output: OutputView) -> dict[str, Any]:
    return {
        "name": output.name,
        "axes": list(output.observed.shape),
        "rows": output.rows,
        "observed": _packed(output.observed.astype("<f4")),
        "expected": _packed(output.expected.astype("<f4")),
        "wrong": _packed(np.packbits(output.wrong.ravel(), bitorder="little")),
        "undefined": _packed(np.packbits(output.undefined.ravel(), bitorder="little")),
    }


def _timeline(timeline: Timeline) -> dict[str, Any]:
    row, wave, code = timeline.events
    return {
        "group": list(timeline.group),
        "code": [
            {"kind": event.kind, "text": event.text, "title": event.place.site, "place": event.place.json()}
            for event in timeline.code
        ],
        "row": row.tolist(),
        "wave": wave.tolist(),
        "inst": code.tolist(),
        "rows": timeline.rows,
        "cut": timeline.cut,
        "lds": timeline.lds and _lds(timeline.lds),
    }


def _lds(lds: LdsAccesses) -> dict[str, Any]:
    row, store, size, pattern = (column.tolist() for column in lds.table)
    return {
        "size": lds.size,
        "banks": lds.banks,
        "row": row,
        "store": store,
        "bytes": size,
        "pattern": pattern,
        "patterns": lds.patterns.tolist(),
        **_contents(lds.contents),
        "first": lds.first.tolist(),
        "held": _packed(lds.held.astype("<i4")),
    }


def _contents(contents: Contents) -> dict[str, Any]:
    return {
        "names": list(contents.names),
        "tensors": list(contents.tensors),
        "lines": contents.lines.tolist(),
    }


def _held(held: HeldOperands) -> dict[str, Any]:
    row, letter, register, count = (column.tolist() for column in held.table)
    return {
        "why": held.why,
        **_contents(held.contents),
        "letters": list(held.letters),
        "row": row,
        "letter": letter,
        "register": register,
        "count": count,
        "firstAcc": held.first_acc,
        "lanes": held.held.shape[1],
        "held": _packed(held.held.astype("<i4")),
        "leftOut": held.left_out,
    }


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "rule": found.rule.id,
        "what": found.what,
        "lines": list(map(list, words.finding(found))),
        "place": found.place.json(),
        "related": [
            {"role": other.role, "title": str(other), "place": other.place.json()} for other in found.related
        ],
    }
