"""`solve-swizzle` and `pack`: the code that they print, run in kernels of its own, and held against numpy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from cdna.packed_reads import BENCH, INSTRUCTION, Generated, Ints, K, N, products
from layoutprobe import instructions
from layoutprobe.arch import find, lds_model
from layoutprobe.codegen.assembly import pack_code
from layoutprobe.codegen.hip import call, pack_function
from layoutprobe.codegen.moves import Moves, plan
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.experiments import pack as packing
from layoutprobe.experiments import swizzle
from layoutprobe.experiments.lds_places import Place, Question, place_of, question
from layoutprobe.experiments.lds_reads import delivery_of
from layoutprobe.experiments.pack import as_bytes, observed, pack_reads, packed_from
from layoutprobe.experiments.swizzle import check, read_code, solve_reads, solve_stores
from layoutprobe.layouts.layout import Layout
from layoutprobe.solver.lds_reads import Delivery, solve_addresses
from layoutprobe.solver.movement import solve_movement
from layoutprobe.solver.packing import solve_packing

READ = find("gfx950").lds_read("ds_read_b64_tr_b8")


@cache
def solved() -> instructions.InstructionLayout:
    return instructions.solve(INSTRUCTION, "gfx950")


def asked(cols: int = N) -> Question:
    return question(solved(), "B", (K, cols), "row", BENCH)


@cache
def delivery() -> Delivery:
    return delivery_of(BENCH, READ, 8)[0]


def test_the_exchange_found_by_execution_is_modulars() -> None:
    """Mojo's documents: two interleaved transposes of 8x8 bytes for 16 lanes."""
    for lane in range(64):
        for byte in range(8):
            source = (lane & ~15) + 2 * byte + (lane >> 3 & 1)
            assert (delivery().lane[lane, byte], delivery().field[lane, byte]) == (source, lane & 7)


@pytest.mark.parametrize(
    ("name", "bits", "per_lane"), [("ds_read_b64_tr_b16", 16, 4), ("ds_read_b64_tr_b4", 4, 16)]
)
def test_exchanges_of_other_widths(name: str, bits: int, per_lane: int) -> None:
    """Element n of lane l is element l % 16 of row n of the 16 payloads laid end to end, inversely: from rows."""
    found, _ = delivery_of(BENCH, find("gfx950").lds_read(name), bits)
    for group in range(4):
        for number in range(16 * per_lane):
            row, column = divmod(number, 16)
            lane, field = divmod(number, per_lane)
            got = found.lane[16 * group + column, row], found.field[16 * group + column, row]
            assert got == (16 * group + lane, field)


# Two hundred random swizzles and row permutes


def swizzled(cols: int, masks: tuple[int, ...]) -> Ints:
    """`row*cols + (col ^ 8*f(row))`, f linear over GF(2): bit b of the row flips the chunks of masks[b]."""
    row, col = np.indices((K, cols), np.int64)
    flip = np.zeros((K, cols), np.int64)
    for bit, mask in enumerate(masks):
        flip ^= (row >> bit & 1) * (mask & cols // 8 - 1)
    return np.asarray(row * cols + (col ^ 8 * flip))


@st.composite
def stores(draw: st.DrawFn) -> tuple[int, tuple[int, ...], tuple[int, ...], bool]:
    cols = draw(st.sampled_from([32, 64]))
    masks = tuple(draw(st.lists(st.integers(0, 15), min_size=6, max_size=6)))
    permute = tuple(draw(st.permutations(range(K))))
    return cols, masks, permute, draw(st.booleans())


def generated(cols: int, masks: tuple[int, ...], permute: tuple[int, ...], packs: bool) -> Generated:
    """Kernel parts for V stored by a swizzle and a row permute.

    Where it packs, the reads know of the swizzle alone; otherwise they know of both.
    """
    plain = swizzled(cols, masks)
    index = plain[np.array(permute)]
    wanted = asked(cols)
    tiles = wanted.tiles(delivery())
    addresses = solve_addresses(tiles, delivery(), plain if packs else index, READ.align)
    assert not addresses.refusal
    code = read_code(READ, addresses.address)
    words = len(code.reads) * READ.words
    moves: Moves | None = None
    if packs:
        place = Place("", "", index)
        seen, _ = observed(wanted, READ, place, addresses.address, packing.PATTERNS)
        received = solve_movement(seen, "B", (K, cols), 8)
        found = solve_packing(received, packing.needed_blocks(wanted)[0][1])
        assert not found.ambiguous.any()
        assert not found.missing.any()
        moves = plan(*as_bytes(found), found.sources)
    fetch = "\n".join(code.lines())
    return Generated(index, fetch, pack_function(moves) if moves else "", call(moves) if moves else "", words)


@pytest.mark.long
@examples(12, desk=2)
@given(st.lists(stores(), min_size=5, max_size=5), st.integers(0, 1 << 30))
def test_generated_kernels_multiply_what_random_stores_hold(
    cases: list[tuple[int, tuple[int, ...], tuple[int, ...], bool]], seed: int
) -> None:
    for got, expected in products([generated(*case) for case in cases], seed):
        assert np.array_equal(got, expected)


def test_a_swizzle_that_the_reads_do_not_know_multiplies_wrongly() -> None:
    """The kernel of these tests can fail: the historical fault, a base of another family than the store's."""
    code = generated(64, (1, 2, 4, 0, 0, 0), tuple(range(K)), False)
    other = Generated(swizzled(64, (0,) * 6), code.fetch, "", "", code.words)
    ((got, expected),) = products([other], 1)
    assert not np.array_equal(got, expected)


def test_a_permute_that_is_not_packed_multiplies_wrongly() -> None:
    code = generated(32, (0,) * 6, tuple(i ^ 2 for i in range(K)), True)
    ((got, expected),) = products([Generated(code.index, code.fetch, "", "", code.words)], 1)
    assert not np.array_equal(got, expected)


# Candidates


@pytest.mark.long
def test_candidates_are_free_of_conflicts_and_sorted() -> None:
    report = solve_reads(asked(64), [], None, 3)
    assert len(report.candidates) == 3
    costs = [one.loads.cycles for one in report.candidates]
    assert costs == sorted(costs)
    assert costs[0] == report.candidates[0].loads.ideal


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "store", ["none", "padded", "xor", "xor-vector", "row*64 + (col ^ row / 2 % 4 * 16)"]
)
def test_store_to_addresses_and_back(store: str) -> None:
    """The addresses of a store ask for that store, element by element."""
    place = place_of(store, (K, 64), 8, 1 << 16)
    there = solve_reads(asked(64), [store], "ds_read_b64_tr_b8", 1).candidates[0]
    flips = [(rung.flip, rung.offset) for rung in there.rungs]
    assert len(there.bases) == 1
    text = there.bases[0].formula
    for number, (flip, offset) in enumerate(flips):
        text = f"({text}) if read != {number} else ((({there.bases[0].formula}) ^ {flip}) + {offset})"
        if len(text) > 390:
            break
    else:
        back = solve_stores(asked(64), text, None)
        assert back.candidates[0].store in (store, place.formula)


def test_conflicts_are_those_of_the_phases_counted_by_hand() -> None:
    """64 columns, no swizzle: in a phase of 32 lanes, 8 rows of 64 bytes, 4 chunks of each: a row starts 16 banks on,
    so rows 4 apart meet: 8 rows x 64 bytes over 256 bytes of banks, in halves of a wave."""
    found = solve_reads(asked(64), ["none"], "ds_read_b64_tr_b8", 1).candidates[0]
    address = {lane: 8 * (lane % 2) + 64 * (lane // 2 % 8) + 16 * (lane // 16 % 2) for lane in range(32)}
    banks: dict[int, set[int]] = {}
    for at in address.values():
        for dword in (at // 4, at // 4 + 1):
            banks.setdefault(dword % 64, set()).add(dword)
    most = max(len(dwords) for dwords in banks.values())
    assert found.loads.cycles == most * 2 * 8  # two halves of the wave, eight reads
    assert most == 2


def test_plain_reads_of_a_tile_that_lies_by_columns() -> None:
    """k side by side in LDS: no transposing read brings it, a plain one does."""
    wanted = question(solved(), "B", (N, K), "col", BENCH)
    assert solve_reads(wanted, ["none"], "ds_read_b128", 1).candidates
    refused = solve_reads(wanted, ["none"], "ds_read_b64_tr_b8", 1)
    assert not refused.candidates
    assert "B[0][0]" in refused.refused[0][1] or "apart" in refused.refused[0][1]


def test_addresses_that_no_store_serves() -> None:
    with pytest.raises(UsageError, match="no store goes with these addresses") as caught:
        solve_stores(asked(), "lane * 8", None)
    assert "both have to lie" in str(caught.value.observed)


def test_a_candidate_with_a_wrong_address_is_not_told() -> None:
    """The run that precedes every report sees a base that is off by one row."""
    wanted = asked()
    tiles = wanted.tiles(delivery())
    place = place_of("none", (K, N), 8, 1 << 16)
    address = solve_addresses(tiles, delivery(), place.index, 8).address
    address[2, 5] ^= 32
    with pytest.raises(ProbeError, match="other elements than it was solved for"):
        check(wanted, swizzle._candidate(wanted, place, READ, tiles, address, lds_model("gfx950", 64)))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("instruction", "store", "read"),
    [
        ("v_mfma_f32_32x32x16_f16", "xor-vector", "ds_read_b64_tr_b16"),
        ("v_mfma_f32_16x16x32_f16", "padded", "ds_read_b64_tr_b16"),
        ("v_mfma_f32_16x16x128_f8f6f4 cbsz:4 blgp:4", "none", "ds_read_b64_tr_b4"),
        ("v_mfma_f32_32x32x64_f8f6f4 cbsz:4 blgp:4", "xor", "ds_read_b64_tr_b4"),
    ],
)
def test_other_widths(instruction: str, store: str, read: str) -> None:
    layout = instructions.solve(instruction, "gfx950")
    unit = layout.operands["B"].shape
    wanted = question(layout, "B", (unit[0], 2 * unit[1]), "row", BENCH)
    (one,) = solve_reads(wanted, [store], read, 1).candidates
    assert one.read == read


# Packing


def test_the_expectation_of_the_seed() -> None:
    """Lanes 0-31 rows 0-15 and 32-47, lanes 32-63 rows 16-31 and 48-63: nobody typed that in."""
    operand = solved().operands["B"]
    rows = operand.row.reshape(64, 32)
    for lane in range(64):
        low = 16 * (lane // 32)
        assert rows[lane].tolist() == [*range(low, low + 16), *range(low + 32, low + 48)]


def test_one_pattern_leaves_it_open() -> None:
    report = pack_reads(asked(), "", "none", "", "none", ("rowbyte",))
    assert report.exit_code == 2
    assert "do not tell B[0][0] and B[0][1] apart" in report.blocks[0].why
    assert not report.blocks[0].hip


def test_what_was_not_read_is_not_packed() -> None:
    report = pack_reads(asked(), "", "none", "lane % 2 * 8", "", packing.PATTERNS)
    assert report.exit_code == 1
    assert "lane 0 needs B[1][0] at 1" in report.blocks[0].why


def test_blocks_of_columns_are_packed_one_by_one() -> None:
    report = pack_reads(asked(64), "", "(row ^ 2)*64 + (col ^ 32)", "", "none", packing.PATTERNS)
    assert [block.title for block in report.blocks] == ["B0", "B1"]
    assert {block.status for block in report.blocks} == {"code"}
    first = [group.source for block in report.blocks for group in block.groups]
    assert first[0][0] == 34  # the low half of the columns is what the second block has read
    assert first[1][0] == 2


def test_a_tile_of_four_blocks() -> None:
    """The tile of an attention kernel: 128 bytes of a lane, rows permuted by the store and not by the reads."""
    permuted = "((row & 39) + (row & 8) * 2 + (row & 16) / 2) * 128 + (col ^ row % 8 * 16)"
    report = pack_reads(asked(128), "", permuted, "", "row*128 + (col ^ row % 8 * 16)", packing.PATTERNS)
    assert [block.status for block in report.blocks] == ["code"] * 4


def test_dumps_of_somebody_else() -> None:
    """Registers as a kernel would dump them, with a permute of rows that only a byte permute mends."""
    place = place_of("(row ^ 3)*32 + col", (K, N), 8, 1 << 16)
    tiles = asked().tiles(delivery())
    address = solve_addresses(tiles, delivery(), swizzled(N, (0,) * 6), 8).address
    seen, _ = observed(asked(), READ, place, address, packing.PATTERNS)
    files = {one.pattern.name: one.raw[0].T.astype("<u4").tobytes() for one in seen}
    report = packing.pack_dumps(asked(), files)
    assert report.evidence is None
    assert report.blocks[0].groups[0].source[:4] == (3, 2, 1, 0)
    assert "v_perm_b32" in "\n".join(report.blocks[0].assembly)


@pytest.mark.long
def test_swaps_are_generated_where_halves_of_the_wave_hold_the_wrong_rows() -> None:
    report = pack_reads(asked(), "", "(row ^ 16)*32 + col", "", "none", packing.PATTERNS)
    assert {group.partner[0] for group in report.blocks[0].groups} == {32}
    assert any("permlane32_swap" in line for line in report.blocks[0].assembly)
    columns = pack_reads(asked(), "", "row*32 + (col ^ 16)", "", "none", packing.PATTERNS)
    assert any("permlane16_swap" in line for line in columns.blocks[0].assembly)


def test_selectors_that_differ_by_lane() -> None:
    report = pack_reads(asked(), "", "(row ^ row / 16 % 2 * 2)*32 + col", "", "none", packing.PATTERNS)
    (block,) = report.blocks
    assert block.status == "code"
    assert any("v_bitop3_b32" in line for line in block.assembly)


@pytest.mark.few(1)
@pytest.mark.parametrize("language", ["HIP", "assembly"])
def test_wrong_code_is_never_told(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that exchanges the two registers of a permute is caught by the run."""
    if language == "HIP":
        monkeypatch.setattr(
            packing, "pack_function", lambda m, n="pack": pack_function(m, n).replace("raw[1]", "raw[0]")
        )
    else:

        def wrong(moves: Moves) -> tuple[list[str], object]:
            lines, taken = pack_code(moves)
            return [line.replace("v[raw+1]", "v[raw+0]") for line in lines], taken

        monkeypatch.setattr(packing, "pack_code", wrong)
    with pytest.raises(ProbeError, match="generated packing code is wrong") as caught:
        pack_reads(asked(), "", "(row ^ 1)*32 + col", "", "none", packing.PATTERNS)
    assert caught.value.where["language"] == language


@st.composite
def sources(draw: st.DrawFn) -> tuple[Ints, Ints, int]:
    """Any byte of a lane from any of its own, or of one 16, 32 or 48 away."""
    raw, made = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 1 << 30))
    random = np.random.default_rng(seed)
    kinds = draw(st.sampled_from([1, 2, 64]))
    groups = random.integers(0, kinds, 64)
    lane = np.arange(64)[:, None] ^ random.choice([0, 16, 32, 48], (kinds, 4 * made))[groups]
    return lane, random.integers(0, 4 * raw, (kinds, 4 * made))[groups], 4 * raw


def held(moves: Moves, raw: Ints) -> Ints:
    """What the packed registers hold after the moves, each as AMD's guide has it: int64 [lane, byte]."""
    lanes = range(64)
    registers = {f"r{i}": raw[:, 4 * i : 4 * i + 4].tolist() for i in range(moves.raw)}
    for step in moves.steps:
        match type(step).__name__:
            case "Copy":
                registers[step.target] = [list(b) for b in registers[step.source]]  # type: ignore[union-attr]
            case "Swap":
                one, other = registers[step.first], registers[step.second]  # type: ignore[union-attr]
                for lane in lanes:
                    if not lane & step.apart:  # type: ignore[union-attr]
                        one[lane | step.apart], other[lane] = other[lane], one[lane | step.apart]  # type: ignore[union-attr]
            case _:
                high, low = registers[step.high], registers[step.low]  # type: ignore[union-attr]
                registers[step.target] = [  # type: ignore[union-attr]
                    [(low[lane] + high[lane])[int(step.selector[lane]) >> 8 * b & 0xFF] for b in range(4)]  # type: ignore[union-attr]
                    for lane in lanes
                ]
    return np.concatenate([np.array(registers[f"p{i}"]) for i in range(moves.packed)], axis=1)


@pytest.mark.long
@examples(100)
@given(sources())
def test_moves_bring_every_byte(case: tuple[Ints, Ints, int]) -> None:
    lane, source, raw_bytes = case
    numbers = np.arange(64 * raw_bytes).reshape(64, raw_bytes)
    assert np.array_equal(held(plan(lane, source, raw_bytes), numbers), numbers[lane, source])


def test_an_operand_of_another_form_is_refused() -> None:
    seen, _ = observed(
        asked(), READ, place_of("none", (K, N), 8, 1 << 16), np.zeros((4, 64), np.int64), packing.PATTERNS
    )
    operand = solved().operands["B"]
    half = Layout("B", operand.shape, operand.row[:, :32], operand.col[:, :32], 8)
    with pytest.raises(UsageError, match="not of the operand's form"):
        solve_packing(solve_movement(seen, "B", (K, N), 8), half)


def test_nothing_was_dumped() -> None:
    with pytest.raises(UsageError, match="no dump of the registers of a wave"):
        packing.pack_dumps(asked(), {"rowbyte": b"1234"})
    with pytest.raises(UsageError, match="there is no dump"):
        packed_from(asked(), None, packing.pack_dumps(asked(), {}), None)  # type: ignore[arg-type]
