"""What operands of a recorded run need, where it was kept with the run: who has the file has no contract."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from layoutprobe.checks import epilogue, operand_provenance
from layoutprobe.errors import UsageError
from layoutprobe.gate.held import Of, report_of
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.recording.model import Recording
from layoutprobe.recording.operands import operands_of
from layoutprobe.recording.questions import Asked
from layoutprobe.report.finding import Finding
from layoutprobe.report.inspection import Site
from layoutprobe.report.kernel_view import COLUMNS, Moments
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.diagnose import UNEXPLAINED
from layoutprobe.trace.moment import Fragment, Group

_LETTERS = "ABC"


def sites_of(recording: Recording) -> tuple[Site, ...]:
    """The matrix instructions of a recording, in the order of the code, with what is known of their operands."""
    steps, waves = recording.steps, len(recording.waves)
    matrices = [at for at, one in enumerate(recording.code) if one.kind == "matrix"]
    times = [np.bincount(steps.wave[steps.inst == at], minlength=waves) for at in matrices]
    return tuple(
        Site(
            number,
            recording.code[at].place,
            (int(count.min()), int(count.max())),
            *_known(recording, number, count),
        )
        for number, (at, count) in enumerate(zip(matrices, times, strict=True))
    )


def _known(recording: Recording, site: int, count: np.ndarray) -> tuple[tuple[tuple[str, str], ...], str]:
    """Which operands are wrong in any execution, and why they are not known."""
    moments = recording.moments
    if moments is None:
        return (), ""
    at = dict(zip(COLUMNS, moments.rows.T, strict=True))
    here = at["site"] == site
    bad = np.array([mask.any() for mask in moments.masks], np.bool_)
    found = np.unique(at["matrix"][here][bad[at["wrong"][here]]])
    lost = "" if here.any() or not count.any() else "its operands were not followed"
    return tuple((_LETTERS[matrix], "holds something else than it needs") for matrix in found), lost


def kept_operand(moment: Asked, matrix: str) -> LayoutReport:
    """An operand of the matrix instruction at a moment, beside what it needs, in every wave of the workgroup.

    Raises:
        UsageError: it is no matrix instruction, has no such operand, or was not followed there.
    """
    recording, moments = moment.recording, moment.recording.moments
    assert moments is not None
    code = recording.code
    matrices = [at for at, one in enumerate(code) if one.kind == "matrix"]
    at = int(recording.steps.inst[moment.row])
    letter = matrix.upper().replace("D", "C")
    if letter not in _LETTERS or at not in matrices:
        moment.operand(matrix)  # refuses it in its own words
        raise UsageError(f"no matrix {matrix[:40]!r}", expected="one of: A, B, C")
    number = matrices.index(at)
    column = dict(zip(COLUMNS, moments.rows.T, strict=True))
    mine = (column["site"] == number) & (column["matrix"] == _LETTERS.index(letter))
    rows = np.flatnonzero(mine & (column["iteration"] == moment.iteration))
    if not rows.size:
        raise UsageError(
            f"what {letter} needs there was not followed", hint="--registers tells what its registers hold"
        )
    site = sites_of(recording)[number]
    of = Of(recording.kernel, recording.target, recording.size, recording.evidence, {})
    fragment = _fragment(
        recording, moments, letter, number, {name: values[rows] for name, values in column.items()}
    )
    group = recording.waves[moment.wave].group
    found = _finding(site, fragment, group) if fragment.mismatch.any() else None
    return report_of(of, site, fragment, group, moment.iteration, (found,) if found else ())


def _fragment(
    recording: Recording, moments: Moments, letter: str, number: int, at: dict[str, np.ndarray]
) -> Fragment:
    """Waves of a workgroup together, of which `at` has the rows."""
    shape = moments.layouts[at["held"][0]].shape[1:]
    waves = max(one.index for one in recording.waves) + 1
    sides = {name: np.full((2, waves, *shape), HOLE, np.int32) for name in ("held", "needed")}
    masks = {name: np.zeros((waves, *shape), np.bool_) for name in ("wrong", "live")}
    for row, wave in enumerate(at["wave"].tolist()):
        for name, side in sides.items():
            layout = moments.layouts[at[name][row]]
            for axis, begin in enumerate(("row", "col")):
                counted = layout[axis] + at[f"{name}_{begin}"][row]
                side[axis, wave] = np.where(layout[axis] == HOLE, HOLE, counted)
        for name, mask in masks.items():
            mask[wave] = moments.masks[at[name][row]]
    extents, bits = moments.shapes[letter], moments.bits[at["held"][0]]
    first = moments.registers[number, letter][0]
    loaded, needed = (Layout(letter, extents, row, col, bits) for row, col in sides.values())
    turns = tuple(zip(at["wave"].tolist(), at["turn"].tolist(), strict=True))
    role = "D" if letter == "C" else _role(recording, moments, letter, number)
    return Fragment(
        letter, role, first, loaded, needed, masks["wrong"], masks["live"], tuple(at["wave"].tolist()), turns
    )


def _finding(site: Site, fragment: Fragment, group: Group) -> Finding:
    """That slots are wrong; of the cause, which takes the kernel, a recording knows nothing."""
    letter, bad = fragment.matrix, fragment.mismatch
    wave, lane, vgpr, field = (int(at) for at in np.argwhere(bad)[0])
    held, needed = (
        f"{letter}[{layout.row[wave, lane, vgpr, field]}][{layout.col[wave, lane, vgpr, field]}]"
        if layout.row[wave, lane, vgpr, field] != HOLE
        else f"no element of {letter}"
        for layout in (fragment.loaded, fragment.needed)
    )
    register = replace(fragment.first, index=fragment.first.index + vgpr)
    return Finding(
        (epilogue.RULES if letter == "C" else operand_provenance.RULES)[UNEXPLAINED],
        f"{int(bad.sum())} of {bad.size} slots of {letter} hold something else than they must",
        replace(site.place, workgroup=group, wave=wave, lane=lane, register=register, matrix=letter),
        expected=needed,
        observed=held,
        hint="--why leads back to where it was loaded; check of the manifest names the cause",
        count=int(bad.sum()),
    )


def _role(recording: Recording, moments: Moments, letter: str, number: int) -> str:
    """What the instruction calls an operand of the contract's: the other name where it computes C transposed."""
    matrices = [one for one in recording.code if one.kind == "matrix"]
    first = moments.registers[number, letter][0].index
    spans = operands_of(matrices[number])
    return next((role for role in "AB" if role in spans and spans[role].index == first), letter)
