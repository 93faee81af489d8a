"""Inlined calls: pyelftools is the oracle for every instruction; damaged bytes end soon, with an error or none."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from layoutprobe.codeobj import debug_info, inlining
from layoutprobe.codeobj.container import read_container
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.inlining import place_of, read_inlined
from layoutprobe.errors import CodeObjectError
from layoutprobe.toolchain.compile import compile_hip

HEADER = """
#define INLINE __attribute__((device, always_inline)) inline
struct Tile {
  float* at;
  INLINE float get(int i) const { return at[i] * 3; }
};
template <int N> INLINE float sum(const Tile& tile, int lane) {
  float total = 0;
  for (int i = 0; i < N; ++i)
    total += tile.get(lane + i);
  return total;
}
"""
SOURCE = """#include "tile.h"
INLINE float both(const Tile& a, const Tile& b, int lane) {
  if (lane & 1) return sum<2>(a, lane) + 1;
  return sum<3>(b, lane);
}
extern "C" __attribute__((global)) void k(float* x, float* y) {
  int lane = __builtin_amdgcn_workitem_id_x();
  y[lane] = both(Tile{x}, Tile{y}, lane)
    + Tile{x}.get(lane);
}
"""
VERSIONS = [(), ("-gdwarf-4",), ("-gdwarf-2",), ("-O0",)]
SECTIONS = (
    ".debug_info",
    ".debug_abbrev",
    ".debug_rnglists",
    ".debug_addr",
    ".debug_str_offsets",
    ".debug_line",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, compiles_aside: None) -> Path:
    folder = tmp_path_factory.mktemp("inlining")
    (folder / "tile.h").write_text(HEADER)
    (folder / "k.hip").write_text(SOURCE)
    return folder / "k.hip"


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda flags: " ".join(flags) or "-O3")
def image(request: pytest.FixtureRequest, source: Path) -> bytes:
    return compile_hip(source, target="gfx1151", flags=request.param).data


@pytest.fixture(scope="module")
def good(source: Path) -> bytes:
    return compile_hip(source, target="gfx1151").data


Chain = list[tuple[str, int, int, str]]
Call = tuple[int, list[tuple[int, int]], tuple[str, int, int, str]]
"""Depth in the tree of entries, spans of addresses, and (file, line, column, function)."""


def oracle(calls: Sequence[Call], pc: int) -> Chain:
    """(file, line, column, function) of every inlined call around an address, innermost first."""
    around = [(depth, call) for depth, spans, call in calls if any(a <= pc < b for a, b in spans)]
    return [call for _, call in sorted(around, reverse=True)]


def inlined_calls(image: bytes) -> Iterator[Call]:
    """All that pyelftools reads."""
    dwarf = ELFFile(io.BytesIO(image)).get_dwarf_info()
    for unit in dwarf.iter_CUs():
        names = _files(dwarf, unit)
        open_entries = [(die, 0) for die in unit.get_top_DIE().iter_children()]
        while open_entries:
            die, depth = open_entries.pop()
            open_entries += [(child, depth + 1) for child in die.iter_children()]
            if die.tag == "DW_TAG_inlined_subroutine":
                column = (
                    die.attributes["DW_AT_call_column"].value if "DW_AT_call_column" in die.attributes else 0
                )
                place = (
                    names[die.attributes["DW_AT_call_file"].value],
                    die.attributes["DW_AT_call_line"].value,
                )
                yield depth, list(_spans(dwarf, unit, die)), (*place, column, _function(die))


def _files(dwarf: Any, unit: Any) -> dict[int, str]:
    header = dwarf.line_program_for_CU(unit).header
    first = 0 if header.version >= 5 else 1
    return {first + i: entry.name.decode().rpartition("/")[2] for i, entry in enumerate(header.file_entry)}


def _function(die: Any) -> str:
    while "DW_AT_name" not in die.attributes:
        name = "DW_AT_abstract_origin" if "DW_AT_abstract_origin" in die.attributes else "DW_AT_specification"
        die = die.get_DIE_from_attribute(name)
    return str(die.attributes["DW_AT_name"].value.decode())


def _spans(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if describe_form_class(high.form) == "address" else low + high.value
        return
    base = unit.get_top_DIE().attributes["DW_AT_low_pc"].value
    for entry in dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            shift = 0 if entry.is_absolute else base
            yield shift + entry.begin_offset, shift + entry.end_offset


def test_every_instruction_has_the_calls_that_pyelftools_reads(image: bytes) -> None:
    code = load(image)
    kernel = code.kernel()
    calls, longest = list(inlined_calls(image)), 0
    for pc in range(kernel.entry, kernel.entry + kernel.size, 4):
        if code.lines.find(pc) is None:
            continue
        found = place_of(code, kernel, pc).inlined_at
        got = [
            (c.source.file.rpartition("/")[2], c.source.line, c.source.column or 0, c.function) for c in found
        ]
        assert got == oracle(calls, pc)
        longest = max(longest, len(got))
    assert longest == 3, "get in sum in both"


def test_the_words_say_which_calls(good: bytes) -> None:
    code = load(good)
    kernel = code.kernel()
    said = {str(place_of(code, kernel, pc)) for pc in range(kernel.entry, kernel.entry + kernel.size, 4)}
    assert any("inlined at tile.h:10 (get), k.hip:4 (sum<3>), k.hip:8 (both)" in words for words in said)
    assert any("inlined at tile.h:10 (get), k.hip:3 (sum<2>), k.hip:8 (both)" in words for words in said)


def test_assembly_has_no_calls() -> None:
    assert list(read_inlined(b"")) == []


def section(image: bytes, name: str) -> tuple[int, int]:
    cursor = read_container(image).section(name)
    assert cursor is not None
    return cursor.pos, cursor.end


@pytest.mark.parametrize("name", SECTIONS)
def test_damaged_bytes_end_with_an_error_or_with_calls(good: bytes, name: str) -> None:
    """Nothing else is raised; and what is read stays small."""
    start, end = section(good, name)
    chance = random.Random(name)
    refused = 0
    for _ in range(300):
        damaged = bytearray(good)
        for _ in range(chance.choice((1, 1, 4))):
            damaged[chance.randrange(start, end)] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        try:
            assert sum(1 for _ in read_inlined(bytes(damaged))) < 10_000
        except CodeObjectError:
            refused += 1
    assert refused or name == ".debug_addr", "any number there is an address"


def test_damaged_debug_information_costs_no_finding(good: bytes) -> None:
    """The line stays, the calls are left out."""
    start, _ = section(good, ".debug_info")
    damaged = good[: start + 8] + b"\xff" * 8 + good[start + 16 :]
    with pytest.raises(CodeObjectError, match=r"malformed \.debug_"):
        list(read_inlined(damaged))
    code, whole = load(damaged), load(good)
    inside = next(
        pc for pc in range(whole.kernel().entry, whole.kernel().entry + whole.kernel().size, 4)
        if place_of(whole, whole.kernel(), pc).inlined_at
    )  # fmt: skip
    place = place_of(code, code.kernel(), inside)
    assert place.source == place_of(whole, whole.kernel(), inside).source
    assert place.inlined_at == ()


def test_work_is_bounded(good: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_info, "MAX_STEPS", 100)
    with pytest.raises(CodeObjectError) as caught:
        list(read_inlined(good))
    assert caught.value.expected == "at most 100 entries of debug information"
    inlining._inlined.cache_clear()
