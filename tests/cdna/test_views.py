"""What lanes fetch, receive and multiply: the three views of an operand, in kernels right and wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from campaign.fault import plant
from campaign.planting import kernels
from campaign.transposing import FAULTS

from cdna.test_transposing import goes_to
from layoutprobe.errors import UsageError
from layoutprobe.gate.inspect import Inspection, look_into
from layoutprobe.layouts.views import PACKED, RAW, RECEIVED, OperandViews, k_and_col
from layoutprobe.solver.lane_groups import in_words, lane_groups, named, toggles

SIZE = {"M": 128, "N": 128, "K": 128}


@cache
def looked(name: str, *size: int) -> Inspection:
    case = kernels()[name]
    return look_into(replace(case, sizes=(dict(zip("MNK", size, strict=True)),)))


def pv() -> Inspection:
    return looked("pv", *SIZE.values())


def views(kernel: Inspection, block: int, iteration: int = 0) -> OperandViews:
    return kernel.views("B", block, iteration=iteration)


@pytest.mark.parametrize(("block", "iteration"), [(0, 0), (1, 0), (3, 1)])
def test_raw_is_what_the_stores_put_at_the_lanes_addresses(block: int, iteration: int) -> None:
    """pv.h the other way round: from a byte of LDS to the element of V that its store put there."""
    seen = views(pv(), block, iteration)
    k, col = k_and_col(seen.raw)
    assert seen.address.min() >= 0
    for wave in range(4):
        for lane in range(64):
            for load in range(4):
                for byte in range(8):
                    at = int(seen.address[wave, lane, load]) + byte
                    row, chunk = at % 8192 // 128, at % 128 // 16
                    of_tile = row & 0b100111 | (row & 8) << 1 | (row & 16) >> 1
                    expected = 64 * iteration + of_tile, 16 * (chunk ^ row % 8) + at % 16
                    slot = 8 * load + byte
                    assert (k[wave, lane, slot], col[wave, lane, slot]) == expected


def check_exchanged(seen: OperandViews, bits: int) -> None:
    raw, received = (np.stack(k_and_col(layout)) for layout in (seen.raw, seen.received))
    each = 64 // bits
    for load in range(len(seen.reads)):
        for lane in range(64):
            for element in range(each):
                to_lane, to = goes_to(lane, element, bits)
                assert np.array_equal(
                    received[:, :, to_lane, load * each + to], raw[:, :, lane, load * each + element]
                )


def test_received_is_what_the_loads_make_of_it() -> None:
    """Every element goes where the documents have it go, of 8 bits and of 16."""
    check_exchanged(views(pv(), 2), 8)
    check_exchanged(views(looked("tr16", 64, 64, 32), 1), 16)


def test_rows_of_the_operand_are_those_of_seed_003() -> None:
    """Solved by execution: lanes 0-31 rows 0-15 and 32-47, lanes 32-63 rows 16-31 and 48-63, in every block."""
    for block in range(4):
        seen = views(pv(), block)
        for name in (RECEIVED, PACKED):
            for wave in range(4):
                groups = lane_groups(seen.view(name), wave)
                assert [str(group) for group in groups] == [
                    "lanes 0-31: k 0-15, 32-47",
                    "lanes 32-63: k 16-31, 48-63",
                ]
                assert {group.cols for group in groups} == {tuple(range(32 * block, 32 * block + 32))}
        fetched = lane_groups(seen.raw, 0, 16)
        assert [str(group) for group in fetched] == [
            "lanes 0-31: k 0-15, 32-47",
            "lanes 32-63: k 16-31, 48-63",
        ]
        assert in_words(named(seen.address[0], np.full(4, 8))) == "2048 bytes, each named once"


def wrong(name: str, folder: Path) -> Inspection:
    return look_into(plant(folder, next(fault for fault in FAULTS if fault.name == name)))


SAID = {
    "pv: rows fold by 8": ("the addresses: the lanes name 1024 bytes", "rows fold by 8"),
    "pv: rows not permuted by the reads": ("the stores or the loads", ""),
    "pv: rows not permuted by the stores": ("the stores or the loads", ""),
    "pv: half of the columns of another block": ("(col ^ 32 at k 32-63)", ""),
    "pv: block 1 packed in another order": ("the packing: every lane receives what it needs", ""),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SAID)
def test_it_is_plain_which_part_of_the_way_is_at_fault(name: str, tmp_path: Path) -> None:
    kernel = wrong(name, tmp_path)
    (first, *_) = [site.number for site in kernel.sites.sites if site.wrong]
    words, fold = SAID[name]
    for view in (RAW, RECEIVED):
        report = kernel.operand("B", first, view=view)
        assert words in dict(report.about)["look at"]
        assert report.coverage is not None
        assert report.coverage.fold == fold
        assert report.exit_code == 1
    packed = kernel.operand("B", first)
    assert packed.needed is not None
    assert packed.mismatch.any()


def test_a_wrong_block_does_not_hide_behind_a_right_one(tmp_path: Path) -> None:
    kernel = wrong("pv: block 1 packed in another order", tmp_path)
    assert [bool(site.wrong) for site in kernel.sites.sites] == [False, True, False, False]
    assert "look at" not in dict(kernel.operand("B", 0, view=RAW).about)


def test_toggles_are_named_where_k_is_right() -> None:
    held = views(pv(), 0).packed
    assert toggles(held, held) == ""
    for apart, of_k in ((32, slice(0, 4)), (64, slice(4, 8))):
        other = held.col.copy()
        other[:, :, of_k] ^= apart
        where = "0-15, 16-31" if of_k.start == 0 else "32-63"
        assert toggles(replace(held, col=other), held) == f"col ^ {apart} at k {where}".replace(
            "0-15, 16-31", "0-31"
        )
    shifted = replace(held, row=held.row ^ 1, col=held.col ^ 32)
    assert toggles(shifted, held) == "", "k is wrong, too"


def test_what_has_no_such_view_says_so() -> None:
    with pytest.raises(UsageError, match="does not come through transposing loads"):
        pv().operand("A", 0, view=RAW)
    with pytest.raises(UsageError, match="no view"):
        pv().operand("B", 0, view="loaded")
    with pytest.raises(UsageError, match="only A and B"):
        pv().operand("C", 0, view=RAW)
