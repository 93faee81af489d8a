"""Verdicts: what is right is confirmed, what is renamed is equal modulo gauge, the rest is refuted."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import force_setattr

from claims.fakes import rdna3
from layoutprobe.capture.capture import Evidence, Origin
from layoutprobe.claims import Judgement, judge, read_claims
from layoutprobe.claims.cells import Cells
from layoutprobe.claims.model import ClaimSet
from layoutprobe.errors import UsageError
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import Layout
from layoutprobe.render.claims import write_claims

PLAIN = rdna3()


def verdict(*says: str, of: InstructionLayout = PLAIN, exact: bool = False) -> Judgement:
    (claims,) = read_claims(says)
    return judge(claims, of, exact=exact)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (["A: frag[i] = A[lane % 16][i]"], "confirmed"),
        (["A[lane & 15][2*vgpr + half]"], "confirmed"),
        (["A: frag[i] = A[i][lane % 16]"], "refuted"),
        (["A: frag[i] = A[lane % 16][i ^ 5]"], "not beside the usual B"),
        (["A: frag[i] = A[15 - lane % 16][i]"], "not beside the usual D"),
        (["A: frag[i] = A[15 - lane % 16][i ^ 5]"], "not beside the usual B and D"),
        (["D: c[i] = D[i + 8*(lane/16)][lane % 16]"], "not beside the usual A"),
        (["D: c[i] = D[2*i + lane/16][15 - lane % 16]"], "not beside the usual B"),
        (["A: frag[i] = A[15 - lane % 16][i]", "D: c[i] = D[2*i + lane/16][lane % 16]"], "refuted"),
        (["A: frag[i] = A[15 - lane % 16][i]", "D: c[i] = D[15 - 2*i - lane/16][lane % 16]"], "equal modulo gauge"),
        (["C: c[i] = C[i + 8*(lane/16)][lane % 16]", "D: c[i] = D[2*i + lane/16][lane % 16]"], "refuted"),
        (["B: frag[i] = B[i][15 - lane % 16]", "D: c[i] = D[2*i + lane/16][lane % 16]"], "refuted"),
        (["A: frag[i] = A[lane][i]"], "refuted"),
        (["A: frag[i] = A[lane % 8][i]"], "refuted"),  # two rows by one name
        (["A: frag[i] = A[lane % 16][i / 2]"], "refuted"),
        (["D: c[i] = D[2*i][lane % 16]"], "refuted"),
        (["A: frag[i] = A[lane % 16 - 1][i]"], "refuted"),
        (["A: frag[i] = A[lane % 16][i] where lane < 16"], "refuted"),
        (["A: v2.hi = A[lane % 16][5]"], "confirmed"),
        (["A: v2.[31:16] = A[lane % 16][5]", "A: v2.hi = A[lane % 16][4]"], "refuted"),
        (["A: frag[3] = A[7][3] if lane == 7"], "confirmed"),
        (["A: frag[3] = A[7][3] if lane == 7", "A: frag[3] = A[7][4] if lane == 23"], "cannot decide"),
        # Copies that nobody reads leave nothing open where one renaming serves them, too.
        (["A: frag[i] = A[lane % 16 ^ 1][i] if lane < 16"], "not beside the usual D"),
        (["A: frag[i] = A[lane % 16 ^ 1][i]"], "not beside the usual D"),
        (["A: frag[i] = A[lane ^ 1][i] if lane < 16", "D: c[i] = D[2*i + lane/16 ^ 1][lane % 16]"],
            "equal modulo gauge"),
        (["A: frag[i] = A[lane ^ 1][i] if lane < 16", "D: c[i] = D[2*i + lane/16][lane % 16]"], "refuted"),
        (["A: v9 = A[0][0]"], "refuted"),
        (["A: v0.b2 = A[0][0]"], "refuted"),
        (["A: ((16,2),8):((1,0),16)"], "refuted"),
    ],
)  # fmt: skip
def test_verdicts(says: list[str], expected: str) -> None:
    """Half of a renaming is not green: with the other half as usual, the GEMM is wrong."""
    found = verdict(*says)
    half = expected.startswith("not beside")
    assert found.verdict == ("equal modulo gauge" if half else expected), found.reasons
    codes = {"confirmed": 0, "equal modulo gauge": 0, "refuted": 1, "cannot decide": 2}
    assert found.exit_code == codes.get(expected, 2)
    assert bool(found.caution) == half
    assert (f", but {expected}, " in found.sentence) == half


def test_the_smallest_counterexample_is_named() -> None:
    found = verdict("A: frag[i] = A[i][lane % 16]")
    assert found.reasons[0] == "v0.hi of lane 0: the claim says A[1][0], the instruction takes A[0][1]"
    assert (found.differing, found.slots) == (480, 512)


def test_what_a_column_load_does_to_a_gemm() -> None:
    """The log of a gfx1151 card: A[i][k] = i, B[k][j] = k, columns of A loaded: 1240 everywhere."""
    found = verdict("A: frag[i] = A[i][lane % 16]")
    assert found.effect is not None
    assert found.effect.example == "it gives 1240 everywhere, where 0 to 1800 is right"
    assert found.effect.example_wrong == 256
    assert found.effect.law == "it is transpose(A) @ B, tile by tile"


def test_exact_refuses_a_renaming() -> None:
    assert verdict("A: frag[i] = A[lane % 16][i ^ 5]", exact=True).verdict == "refuted"
    assert verdict("A: frag[i] = A[lane % 16][i]", exact=True).verdict == "confirmed"


def test_emulation_confirms_no_fact_about_a_card() -> None:
    found = verdict("A: frag[i] = A[lane % 16][i]")
    assert "against the emulator (emulated); only a measurement can confirm" in found.sentence


def test_a_measurement_says_so() -> None:
    measured = rdna3()
    force_setattr(measured, "evidence", Evidence("measured", "a card"))
    assert verdict("A: frag[i] = A[lane % 16][i]", of=measured).sentence == "confirmed on the card (measured)"


@pytest.mark.parametrize(
    ("recorded", "says"),
    [("measured", "recorded on a card (replayed, measured)"), ("emulated", "recorded by the emulator")],
)
def test_a_capture_speaks_for_itself(recorded: Origin, says: str) -> None:
    """Its digest is no signature: the verdict does not vouch for what the file says of itself."""
    replayed = rdna3()
    force_setattr(replayed, "evidence", Evidence("replayed", "a card", "0123456789abcdef", recorded))
    sentence = verdict("A: frag[i] = A[lane % 16][i]", of=replayed).sentence
    assert f"confirmed against capture 0123456789ab, which says that it was {says}" in sentence


@pytest.mark.parametrize(
    ("says", "part"),
    [
        (("A: frag[i] = A[lane % 16][i] if lane < 1",), "confirmed for 16 of 512 slots against"),
        (("A: frag[i] = A[lane % 16][i ^ 5] if lane < 1",), "equal modulo gauge for 16 of 512 slots, but"),
        # Said twice, a slot counts once; D has 256 more.
        (
            (
                "A: v2.hi = A[lane % 16][5]",
                "A: v2.hi = A[lane % 16][5]",
                "D: c[i] = D[2*i + lane/16][lane % 16]",
            ),
            "confirmed for 288 of 768 slots against",
        ),
        (("A: frag[i] = A[lane % 16][i]",), "confirmed against"),
    ],
)
def test_a_part_is_called_a_part(says: tuple[str, ...], part: str) -> None:
    assert verdict(*says).sentence.startswith(part)


READ_IN_PART = rdna3(dead=True)
"""As gfx1151 is seen to work: each half-wave reads the rows of A that its outputs need."""


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("A: frag[i] = A[lane ^ 1][i] if lane < 16", "equal modulo gauge"),
        ("A: frag[i] = A[lane % 16 ^ 1][i]", "equal modulo gauge"),
        ("A: frag[i] = A[lane][i] if lane < 16", "confirmed"),
        # The copy that is not read names a row that another lane has already.
        ("A: frag[i] = A[lane / 2 * 2][i] if lane < 16", "cannot decide"),
        ("A: frag[i] = A[(lane ^ 1) % 4][i] if lane < 16", "refuted"),
    ],
)
def test_a_renaming_may_need_the_copies_that_are_not_read(says: str, expected: str) -> None:
    found = verdict(says, of=READ_IN_PART)
    assert found.verdict == expected, found.reasons


def test_a_claim_of_no_slot_decides_nothing() -> None:
    found = verdict("A: frag[i] = A[lane % 16][i] if lane < 0")
    assert (found.verdict, found.exit_code) == ("cannot decide", 2)


def test_a_renaming_of_one_matrix_alone_is_warned_of() -> None:
    """RDNA4's rows of D: no product shows the order, but with A as documented the product is wrong."""
    stream = io.StringIO()
    alone = verdict("D: acc[v] = D[8*(lane/16)+v][lane%16]")
    assert alone.exit_code == 2
    write_claims([alone], stream)
    lines = stream.getvalue().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("verdict"))
    assert lines[at].startswith("verdict    ? equal modulo gauge, but not beside the usual A, ")
    at = next(number for number, line in enumerate(lines) if line.startswith("but")) - 1
    assert lines[at + 1].startswith("but        ! the rows of A, C and D must be renamed alike")
    assert "D is wrong in" in " ".join(lines[at + 1 :])
    both = verdict(
        *(f"{matrix}: acc[v] = {matrix}[8*(lane/16)+v][lane%16]" for matrix in "CD"),
        "A: frag[i] = A[lane%16/2 + 8*(lane%2)][i]",
    )
    assert (both.verdict, both.caution) == ("equal modulo gauge", "")


def test_copies_that_nothing_reads_decide_nothing() -> None:
    lower = rdna3(own_copy=False)
    found = verdict("A: frag[i] = A[lane % 16][i] where lane < 16", of=lower)
    assert found.verdict == "cannot decide"
    assert "no output was seen to read that copy" in found.reasons[0]
    assert verdict("A: frag[i] = A[lane % 16][i]", of=lower).verdict == "confirmed"
    assert verdict("A: frag[i] = A[i][lane % 16]", of=lower).verdict == "refuted"


def test_an_order_for_each_half_wave_rests_on_the_emulator_alone() -> None:
    says = ("A: f[i] = A[lane%16][i ^ (lane/16)]", "B: f[i] = B[i ^ (lane/16)][lane%16]")
    assert verdict(*says).verdict == "cannot decide"
    assert verdict(says[0], "B: f[i] = B[i][lane%16]").verdict == "refuted"
    assert verdict(*says, of=rdna3(own_copy=False)).verdict == "cannot decide"


def test_the_unused_half_of_16_bit_results_holds_nothing() -> None:
    upper = rdna3(narrow=1)
    assert verdict("D: D[2*vgpr + lane/16][lane % 16] where half = 1", of=upper).verdict == "confirmed"
    assert verdict("D: D[2*vgpr + lane/16][lane % 16]", of=upper).verdict == "refuted"
    assert verdict("D: D[2*vgpr + lane/16][lane % 16] where half = 0", of=upper).verdict == "refuted"


def test_an_operand_that_there_is_not() -> None:
    dense = rdna3()
    force_setattr(dense, "operands", {k: v for k, v in dense.operands.items() if k != "C"})
    with pytest.raises(UsageError, match="no operand C"):
        verdict("C: C[0][0]", of=dense)


def cells_of(layout: Layout) -> list[list[int]]:
    """Row, column, lane, VGPR, lowest and highest bit of every slot that holds an element."""
    bits = layout.field_bits
    return [
        [int(layout.row[at]), int(layout.col[at]), at[1], at[2], at[3] * bits, (at[3] + 1) * bits - 1]
        for at in (tuple(map(int, slot)) for slot in np.argwhere(~layout.holes))
    ]


def claims_of(tables: dict[str, list[list[int]]]) -> ClaimSet:
    return ClaimSet(
        tuple(
            Cells(matrix, matrix, tuple((c[0], c[1], c[2], c[3], c[4], c[5]) for c in cells))
            for matrix, cells in tables.items()
        )
    )


WIDE = rdna3(bits=8, wave=64)


@given(matrix=st.sampled_from("ABCD"), data=st.data())
def test_every_single_wrong_slot_is_found(matrix: str, data: st.DataObject) -> None:
    """A table that is right but for one slot is refuted, and that slot is the one that is named."""
    cells = cells_of(PLAIN.operands[matrix])
    at = data.draw(st.integers(0, len(cells) - 1))
    which = data.draw(st.sampled_from([0, 1]))
    cells[at][which] = (cells[at][which] + data.draw(st.integers(1, 15))) % 16
    found = judge(claims_of({matrix: cells}), PLAIN)
    assert found.verdict == "refuted"
    assert found.first is not None
    assert found.first.slot[1:] == (
        cells[at][2],
        cells[at][3],
        cells[at][4] // PLAIN.operands[matrix].field_bits,
    )
    assert found.differing == 1


@pytest.mark.long
@given(st.permutations(range(16)), st.permutations(range(16)), st.permutations(range(16)))
def test_a_joint_renaming_is_equal_modulo_gauge(m: list[int], n: list[int], k: list[int]) -> None:
    """Rows, columns and k renamed in all operands alike: equal, and the GEMM stays right."""
    axes = {"A": (m, k), "B": (k, n), "C": (m, n), "D": (m, n)}
    tables = {
        matrix: [[rows[c[0]], cols[c[1]], *c[2:]] for c in cells_of(WIDE.operands[matrix])]
        for matrix, (rows, cols) in axes.items()
    }
    found = judge(claims_of(tables), WIDE)
    same = all(order == list(range(16)) for order in (m, n, k))
    assert found.verdict == ("confirmed" if same else "equal modulo gauge")
    assert found.effect is not None
    assert found.effect.wrong == 0
    assert found.renamed is None or all(
        list(range(16)) == sorted(theirs for theirs, _ in pairs) for pairs in found.renamed.values()
    )


@given(st.permutations(range(16)), st.permutations(range(16)))
def test_two_orders_of_k_are_refuted_and_break_the_gemm(first: list[int], second: list[int]) -> None:
    tables = {
        "A": [[c[0], first[c[1]], *c[2:]] for c in cells_of(PLAIN.operands["A"])],
        "B": [[second[c[0]], c[1], *c[2:]] for c in cells_of(PLAIN.operands["B"])],
    }
    found = judge(claims_of(tables), PLAIN)
    assert found.effect is not None
    assert (found.verdict == "refuted") == (first != second) == (found.effect.wrong > 0)


def test_half_of_a_renaming_is_warned_of() -> None:
    found = verdict("D: c[i] = D[i + 8*(lane/16)][lane % 16]")
    assert found.verdict == "equal modulo gauge"
    assert (
        "the rows of A, C and D must be renamed alike: with only D in this order, D is wrong" in found.caution
    )
