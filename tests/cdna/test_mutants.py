"""Wrong layouts of every matrix instruction: each must come out different, or be refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from layoutprobe.arch import TARGETS, MatrixForm, matrix
from layoutprobe.arch.fragments import Fragment
from layoutprobe.errors import ProbeError
from layoutprobe.instructions.meetings import executed_alone
from layoutprobe.instructions.naming import with_documented_names
from layoutprobe.instructions.probe import Variant
from layoutprobe.instructions.solving import interaction_by, solved_by
from layoutprobe.solver.interaction import Interaction

Fragments = Mapping[str, Fragment]
Change = Callable[[MatrixForm, Fragments], Fragments]

FORMS = [
    (target, form)
    for target in ("gfx942", "gfx950")
    for name, form in TARGETS[target].matrix.items()
    if not form.scaled
    and (target == "gfx942" or name not in TARGETS["gfx942"].matrix)
    and not {"bf8", "bf6"} & ({form.a, form.b} if form.written else set())
]
"""Where A and B have formats of their own, one of each width."""
BY_FORMATS = "v_mfma_f32_{}_f8f6f4 cbsz:{} blgp:{}"


def swapped_bits(line: np.ndarray, low: int, high: int) -> np.ndarray:
    different = (line >> low ^ line >> high) & 1
    return line ^ (different << low | different << high)


def reordered(fragment: Fragment, rows: np.ndarray) -> Fragment:
    return Fragment(fragment.lane[:, rows], fragment.bit[:, rows], fragment.vgprs, fragment.bits)


def rows_in_longer_runs(form: MatrixForm, good: Fragments) -> Fragments:
    """Rows of D in runs of 8 (32x32); elsewhere two bits of the row exchanged as that would do."""
    m = form.shape[0]
    row = np.arange(good["D"].lane.shape[1])
    low, high = (0, 1) if m == 4 else (2, 3)
    d = reordered(good["D"], row // m * m + swapped_bits(row % m, low, high))
    return {**good, "C": d, "D": d}


def lane_halves(form: MatrixForm, good: Fragments) -> Fragments:
    a = good["A"]
    return {**good, "A": Fragment(a.lane ^ 32, a.bit, a.vgprs, a.bits)}


def lane_halves_of_d(form: MatrixForm, good: Fragments) -> Fragments:
    d = good["D"]
    return {**good, "D": Fragment(d.lane ^ 32, d.bit, d.vgprs, d.bits)}


def transposed_d(form: MatrixForm, good: Fragments) -> Fragments:
    d, (m, n, _) = good["D"], form.shape
    lane, bit = (
        x.reshape(form.blocks, m, n).transpose(0, 2, 1).reshape(d.lane.shape) for x in (d.lane, d.bit)
    )
    wrong = Fragment(lane, bit, d.vgprs, d.bits)
    return {**good, "C": wrong, "D": wrong}


def transposed_c(form: MatrixForm, good: Fragments) -> Fragments:
    return {**good, "C": transposed_d(form, good)["C"]}


def k_of_a_turned(form: MatrixForm, good: Fragments) -> Fragments:
    a = good["A"]
    return {**good, "A": Fragment(np.roll(a.lane, 1, 2), np.roll(a.bit, 1, 2), a.vgprs, a.bits)}


def other_chunks(*operands: str) -> Change:
    """K contiguous where it is split in chunks of 16, and the reverse."""

    def change(form: MatrixForm, good: Fragments) -> Fragments:
        lines, depth = form.shape[0], form.shape[2]
        groups = 64 // lines
        wrong = dict(good)
        for name in operands:
            old = good[name]
            run = 32 if old.bits == 8 else 16
            line, k = np.indices((lines, depth))
            chunk = k // run
            lane, place = lines * (chunk % groups) + line, run * (chunk // groups) + k % run
            new = [x[None].astype(np.int64) for x in (lane, old.bits * place)]
            if name == "B":
                new = [x.transpose(0, 2, 1) for x in new]
            wrong[name] = Fragment(new[0], new[1], old.vgprs, old.bits)
        return wrong

    return change


def mutants(form: MatrixForm) -> Iterator[tuple[str, Change]]:
    yield "rows of D in longer runs", rows_in_longer_runs
    yield "lane halves of A swapped", lane_halves
    yield "lane halves of D swapped", lane_halves_of_d
    yield "D transposed", transposed_d
    yield "C transposed", transposed_c
    if form.shape[2] > 1:
        yield "k of A turned by one", k_of_a_turned
    if form.written:
        yield "chunks of A", other_chunks("A")
        yield "chunks of B", other_chunks("B")


def solved(target: str, form: MatrixForm, change: Change, monkeypatch: pytest.MonkeyPatch) -> Interaction:
    """What executing the wrong instruction shows, with the document's names where these are but names."""
    variant, true = Variant(form, target, 64), matrix._fragments

    def wrong(which: MatrixForm, wave: int, opsel: int) -> Fragments:
        good = true(which, wave, opsel)
        return change(which, good) if which is form else good

    with monkeypatch.context() as patch:
        patch.setattr(matrix, "_fragments", wrong)
        found = solved_by(variant, executed_alone(variant))
    return with_documented_names(found, form, 64)


def same(one: Interaction, other: Interaction) -> bool:
    return all(one.needed[name] == other.needed[name] for name in one.needed)


def right(target: str, form: MatrixForm) -> Interaction:
    variant = Variant(form, target, 64)
    return interaction_by(variant, executed_alone(variant))


@pytest.mark.all_in_ci
@pytest.mark.few(5)
@pytest.mark.parametrize(("target", "form"), FORMS, ids=lambda x: getattr(x, "spelling", x))
def test_every_wrong_layout_is_seen(target: str, form: MatrixForm, monkeypatch: pytest.MonkeyPatch) -> None:
    good, survivors = right(target, form), []
    for name, change in mutants(form):
        try:
            if same(solved(target, form, change, monkeypatch), good):
                survivors.append(name)
        except ProbeError:
            continue
    assert not survivors


def test_what_is_done_is_really_another_layout() -> None:
    """32x32: rows 4 to 7 of D in lanes 0 to 31 and VGPRs 4 to 7, where the document has rows 8 to 11."""
    form = TARGETS["gfx942"].matrix["v_mfma_f32_32x32x8_f16"]
    wrong = rows_in_longer_runs(form, form.fragments(64))["D"]
    assert [int(x) for x in (wrong.lane[0, 4, 0], wrong.vgpr[0, 4, 0])] == [0, 4]
    assert [int(wrong.vgpr[0, row, 0]) for row in range(8)] == list(range(8)), "a run of 8"


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", ["16x16x128", "32x32x64"])
def test_chunks_in_a_and_b_alike_are_a_renaming_of_k_unless_formats_differ(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fp8 times fp8: no product tells contiguous k from k in chunks. fp8 times fp4: B, which stays, tells."""
    for cbsz, blgp in ((0, 0), (1, 0), (4, 4)):
        form = TARGETS["gfx950"].matrix[BY_FORMATS.format(shape, cbsz, blgp)]
        assert same(solved("gfx950", form, other_chunks("A", "B"), monkeypatch), right("gfx950", form))
    form = TARGETS["gfx950"].matrix[BY_FORMATS.format(shape, 0, 4)]
    assert not same(solved("gfx950", form, other_chunks("A"), monkeypatch), right("gfx950", form))


@pytest.mark.parametrize("shape", ["16x16x128", "32x32x64"])
def test_scales_tell_chunks_also_where_formats_agree(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = TARGETS["gfx950"].matrix[f"v_mfma_scale_f32_{shape}_f8f6f4 cbsz:0 blgp:0"]
    wrong = solved("gfx950", form, other_chunks("A", "B"), monkeypatch)
    assert not same(wrong, right("gfx950", form))
