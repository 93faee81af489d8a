"""What a notebook's cell shows of results that no command prints: launches, operands of one wave, owners of C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import short
from layoutprobe.render import html
from layoutprobe.render.html import definitions, safe
from layoutprobe.render.layout import words
from layoutprobe.render.layout.svg import picture as of_lanes
from layoutprobe.render.layout.view import select
from layoutprobe.render.layout.words import plural
from layoutprobe.render.matrix_svg import Kind, MatrixMap
from layoutprobe.render.svg import picture
from layoutprobe.report.inspection import Held, Operands, Owners
from layoutprobe.report.launched import Launched


def held(operand: Held) -> str:
    """An operand of one wave: what the slots hold, as a picture."""
    return html.section(words.title(operand.report), _held(operand))


def operands(shown: Operands) -> str:
    """A, B and C below each other."""
    body = (part for operand in (shown.a, shown.b, shown.c) for part in _named(operand))
    return html.section(f"operands of {shown.a.report.instruction}, wave {shown.a.wave}", body)


def owners(shown: Owners) -> str:
    """Which wave stored which elements."""
    return html.section(f"who stored {shown.output}", [f'<div class="scroll">{owner_map(shown)}</div>\n'])


def launched(result: Launched) -> str:
    """The launch, and a line for each array."""
    x, y, z = result.grid
    u, v, w = result.block
    about = [
        ("kernel", f"{result.kernel} on {result.target}"),
        ("launch", f"{x} x {y} x {z} workgroups of {u} x {v} x {w}"),
        ("evidence", str(result.evidence)),
    ]
    rows = (
        f'<tr><th scope="row">{safe(name)}</th><td><code>{safe(short(array))}</code></td>'
        f"<td>{_undefined(result.undefined.get(name))}</td></tr>\n"
        for name, array in result.arrays.items()
    )
    table = html.table(("array", "afterwards", "undefined elements"), rows)
    return html.section(f"launch of {result.kernel}", [definitions(about), *table])


def owner_map(shown: Owners) -> str:
    """The picture: a colour and a number for each wave, and lines across every other workgroup, so that no two
    neighbours look the same in one colour either; leading axes of a batch below each other."""
    cols = shown.wave.shape[-1]
    wave, group = shown.wave.reshape(-1, cols), shown.workgroup.reshape(-1, cols, 3)
    ids, kind = np.unique(
        np.concatenate([group, wave[..., None]], axis=-1).reshape(-1, 4), axis=0, return_inverse=True
    )
    waves = max(1, int(wave.max()) + 1)
    kinds = [_owner(*each) for each in ids.tolist()]
    legend = [Kind(f"wave {number}", number) for number in sorted({w for *_, w in ids.tolist() if w >= 0})]
    legend += [one for one in kinds if one.colour is None]
    several = len(np.unique(ids[ids[:, 3] >= 0, :3], axis=0)) > 1
    notes = [
        "a number is that of the wave"
        + (" in its workgroup, of which every other one is hatched" if several else "")
    ]
    notes.append("of each element the last store counts; the arrays tell lane, register and PC, too")
    shown_as = MatrixMap(kind.reshape(wave.shape), kinds, waves, notes, legend=legend)
    return picture(f"who stored {shown.output}", [shown_as])


def _owner(x: int, y: int, z: int, wave: int) -> Kind:
    if wave < 0:
        return Kind("nobody", None, labels=("nobody",))
    name = f"wave {wave} of workgroup ({x}, {y}, {z})"
    return Kind(name, wave, (x + y + z) % 2 == 1, (f"{wave} of ({x}, {y}, {z})", str(wave)))


def _named(operand: Held) -> Iterator[str]:
    report = operand.report
    yield f"<h2>{safe(report.matrix)} <small>{safe(dict(report.about).get('registers', ''))}</small></h2>\n"
    yield from _held(operand)


def _held(operand: Held) -> Iterator[str]:
    yield definitions(words.forms(operand.report), code=True)
    view = select(operand.report, wave=operand.wave)
    yield f'<div class="scroll">{of_lanes(view, header=False)}</div>\n'


def _undefined(bits: NDArray[np.unsignedinteger] | None) -> str:
    return "none" if bits is None else plural(int(np.count_nonzero(bits)), "element")
