"""What lanes fetch, receive and multiply: the three views of an operand, in kernels right and wrong."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from campaign.fault import plant
from campaign.planting import judged, kernels
from campaign.transposing import FAULTS
from msgspec.structs import replace
from numpy.typing import NDArray

from cdna.test_transposing import goes_to
from layoutprobe.errors import UsageError
from layoutprobe.inspector.inspect import Inspection, look_into
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import PACKED, RAW, RECEIVED, VIEWS, OperandViews, k_and_col
from layoutprobe.solver.lane_groups import exchanged_bits, in_words, lane_groups, named, parting, toggles

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


@pytest.mark.long
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


def folded(missing: bool) -> str:
    """k whose bit 3 is set, as the loads of the folded kernel clear it; and the others."""
    rows = np.asarray([k for k in range(64) if bool(k & 8) == missing])
    return ", ".join(f"{first}-{first + 7}" for first in rows[::8])


PARTS = {
    "pv: rows fold by 8": (
        "B0-B3 part at raw: the addresses",
        f"; rows fold by 8; k {folded(True)} missing, k {folded(False)} more than once",
    ),
    # permuted() of pv.h exchanges bits 3 and 4 of a row.
    "pv: rows not permuted by the reads": (
        "B0-B3 part at raw: the stores or",
        "(k with bits 3 and 4 exchanged)",
    ),
    "pv: rows not permuted by the stores": (
        "B0-B3 part at raw: the stores or",
        "(k with bits 3 and 4 exchanged)",
    ),
    "pv: half of the columns of another block": ("B0-B3 part at raw: the stores", "(col ^ 32 at k 32-63)"),
    "pv: block 1 packed in another order": (
        "B0 right; B1 parts at packed: the packing: every lane receives what it needs",
        "; B2-B3 right",
    ),
    "tr8: columns of the second half of lanes": ("B0 parts at raw: the addresses", "; columns fold by 16"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", PARTS)
def test_findings_say_where_each_block_parts(name: str, tmp_path: Path) -> None:
    (found,) = judged(plant(tmp_path, next(fault for fault in FAULTS if fault.name == name))).findings
    begins, ends = PARTS[name]
    assert found.blocks.startswith(begins)
    assert found.blocks.endswith(ends)


def test_each_stage_of_the_way_is_told_apart() -> None:
    """Tables of a right kernel, one of which is changed at a time, and all behind it with it."""
    seen = views(pv(), 0)
    needed, lanes = seen.packed, np.arange(64)

    def moved(view: str, order: NDArray[np.int64]) -> Layout:
        table = seen.view(view)
        return replace(table, row=table.row[:, order], col=table.col[:, order])

    def told(**changed: Layout) -> tuple[str, str]:
        raw, received, packed = (changed.get(name, seen.view(name)) for name in VIEWS)
        found = parting(OperandViews(raw, received, packed, seen.reads, seen.address), needed, 0, 2048)
        assert found
        return found.view, found.words

    assert parting(seen, needed, 0, 2048) is None
    # Registers of a lane in another order.
    turned = replace(needed, row=needed.row[:, :, ::-1], col=needed.col[:, :, ::-1])
    view, words = told(packed=turned)
    assert view == PACKED
    assert "every lane receives" in words
    # Lanes hand on what they receive, to others than the rows that they fetched ask for.
    halves = {name: moved(name, lanes ^ 32) for name in (RAW, RECEIVED)}
    view, words = told(**halves, packed=moved(PACKED, lanes ^ 16))
    assert view == PACKED
    assert "lanes hand it on" in words
    # Lanes of a group name each other's addresses: neighbours are exchanged.
    view, words = told(received=moved(RECEIVED, lanes ^ 1), packed=moved(PACKED, lanes ^ 1))
    assert view == RECEIVED
    assert "every 16 lanes fetch what they need together" in words
    # The halves of the wave name each other's addresses.
    other = {name: moved(name, lanes ^ 32) for name in (RAW, RECEIVED, PACKED)}
    assert told(**other)[0] == RAW
    # Too few bytes.
    found = parting(replace(seen, packed=turned), needed, 0, 1024)
    assert found
    assert found.view == RAW


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


def test_exchanged_bits_are_named_where_columns_are_right() -> None:
    held = views(pv(), 0).packed
    assert exchanged_bits(held, held) == ""
    row = held.row
    for low, high in ((0, 5), (2, 3)):
        bits = [5 - bit for bit in range(6)]
        text = np.vectorize(lambda k: f"{k:06b}")(row)
        order = list(range(6))
        order[bits[low]], order[bits[high]] = order[bits[high]], order[bits[low]]
        other = np.vectorize(lambda k, order=tuple(order): int("".join(k[at] for at in order), 2))(text)
        moved = replace(held, row=other.astype(np.int32))
        assert exchanged_bits(moved, held) == f"k with bits {low} and {high} exchanged"
        assert exchanged_bits(replace(moved, col=held.col ^ 32), held) == ""
    assert exchanged_bits(replace(held, row=row ^ 1), held) == "", "a shift is no permute"


def test_what_has_no_such_view_says_so() -> None:
    with pytest.raises(UsageError, match="does not come through transposing loads"):
        pv().operand("A", 0, view=RAW)
    with pytest.raises(UsageError, match="no view"):
        pv().operand("B", 0, view="loaded")
    with pytest.raises(UsageError, match="only A and B"):
        pv().operand("C", 0, view=RAW)


@pytest.mark.long
def test_operands_of_plain_loads_have_no_blocks(tmp_path: Path) -> None:
    """In a kernel whose other operand comes through transposing loads: it is found as ever."""
    (found,) = judged(
        plant(tmp_path, next(f for f in FAULTS if f.name == "pv: weights in runs of 32 keys"))
    ).findings
    assert found.check == "operand-provenance"
    assert found.place.matrix == "A"
    assert found.blocks == ""
