"""Claims come from anywhere: what cannot be read is refused in words, in little time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claims.fakes import rdna3
from layoutprobe.claims import judge, read_claims, read_text
from layoutprobe.claims.cells import parse_csv
from layoutprobe.claims.files import read_toml
from layoutprobe.claims.statements import parse_statement
from layoutprobe.errors import UsageError

PLAIN = rdna3()


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "A[0]",
        "A[0][",
        "A[lane][x]",
        "A: B[0][0]",
        "A[__import__('os')][0]",
        "A[lane.real][0]",
        "A[0][0] unless lane",
        "A[" + "(" * 100 + "lane" + ")" * 100 + "][0]",
        "A[" + "lane*" * 300 + "1][0]",
        "A[lane << 99][0]",
        "A[lane / 0][0]",
        "A[9999999999999999999999][0]",
        "A: ((16,2):((1,0),16)",
        "A: (16,2,3):(1,2,3)",
        "A: ((16,2),16):((1,0))",
        "A: ((9999999,9999999),(9999999,9999999)):((1,1),(1,1))",
        "A: " + "(" * 150 + "1" + ")" * 150 + ":1",
        "A: ((0,2),16):((1,0),16)",
        "((16,2),16):((1,0),16)",
        "A: lane = [[1, 0], [2, 0]], lane = [[1, 0]]",
        "A: block = [[1, 0]]",
        "A: lane = [[1, 0], [x, 0]]",
        "A: lane=1 -> (1, 0)\nlane=4 -> (2, 0)",
        "A: lane = [" + ", ".join(["[1, 1]"] * 40) + "]",
        "A: half = [[0, 1]] where half.7 = 1",
        "A: lane = [[1, 0]] where lane.0 = 2",
        "lane = [[1, 0]]",
        "A: " + "[" * 5000,
        "A: lane = [" + "[1, 0]      " * 200 + "x",
        "A: (16,2)" + " " * 7000 + "x",
        "A[0][0] if" + " " * 980 + "\n\nx",
    ],
)
def test_what_is_no_claim_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_statement(text).bind(PLAIN.operands["A"])


@given(st.text(alphabet="ABCDv[](){}:=,.0123456789 lanehfwrigtd%/*+-^&<>\n_#", max_size=80))
def test_any_text_is_a_claim_or_refused(text: str) -> None:
    try:
        claims = read_text(text)
    except UsageError:
        return
    try:
        assert judge(claims, PLAIN).verdict
    except UsageError:
        return


def test_one_text_may_hold_several_claims_and_comments() -> None:
    claims = read_text(
        "# both\nA: f[i] = A[lane%16][i]  # rows\nB:\n - register=1 -> (1, 0)\n   register=2 -> (2, 0)\n"
    )
    assert [(s.matrix, s.dialect) for s in claims.statements] == [("A", "formula"), ("B", "gf2")]


def test_sentences_without_their_matrix_in_front() -> None:
    claims = read_text("a_frag[i] = A[lane % 16][i];\nB[2*vgpr + half][lane % 16]\n")
    assert [s.matrix for s in claims.statements] == ["A", "B"]
    assert judge(claims, PLAIN).verdict == "confirmed"


def test_triton_attribute_with_registers() -> None:
    registers, lanes = "[[0, 1], [0, 2], [0, 4], [0, 8]]", "[[1, 0], [2, 0], [4, 0], [8, 0], [0, 0]]"
    text = f"A: #ttg.linear<{{register = {registers}, lane = {lanes}, warp = [], block = []}}>"
    assert judge(read_text(text), PLAIN).verdict == "confirmed"


def test_neither_file_nor_claim() -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_claims(["nothing.toml"])


LISTED = "matrix,row,col,lane,vgpr,bit_hi,bit_lo\n"
PRINTED = "Architecture: RDNA3\nInstruction: V_WMMA_F32_16X16X16_F16\nlane,v0.[15:0],v0.[31:16]\n0,A[0][0],A[0][1]\n"


def test_tables_as_csv() -> None:
    (claims,) = parse_csv(LISTED + "A,0,0,0,0,15,0\nA,0,1,0,0,31,16\n", "a.csv")
    found = judge(claims, PLAIN)
    assert found.verdict == "refuted"  # all other slots are claimed to hold nothing
    assert found.first is not None
    assert found.first.slot == (0, 0, 1, 0)


def test_the_table_that_the_calculator_prints() -> None:
    lanes = range(32)
    heads = ",".join(f"v{v}.[{15 + 16 * h}:{16 * h}]" for v in range(8) for h in range(2))
    rows = [",".join([str(lane), *(f"A[{lane % 16}][{k}]" for k in range(16))]) for lane in lanes]
    (claims,) = parse_csv(PRINTED.rsplit("\n", 3)[0] + f"\nlane,{heads}\n" + "\n".join(rows), "a.csv")
    assert claims.instruction == "v_wmma_f32_16x16x16_f16"
    assert judge(claims, PLAIN).verdict == "confirmed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        LISTED + "A,0,0\n",
        LISTED + "E,0,0,0,0,15,0\n",
        LISTED + "A,x,0,0,0,15,0\n",
        LISTED + "A,-1,0,0,0,15,0\n",
        LISTED + "A,99999999,0,0,0,15,0\n",
        PRINTED + "1,nonsense,A[1][1]\n",
        "lane,v0\n",
    ],
)
def test_csv_that_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_csv(text, "x.csv")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("A,0,0,99,0,15,0", "speaks of v0 of lane 99"),
        ("A,0,0,0,99,15,0", "speaks of v99"),
        ("A,0,0,0,0,7,0", "16 bits wide"),
        ("A,0,0,0,0,23,8", "16 bits wide"),
        ("A,0,0,0,0,15,0\nA,1,0,0,0,15,0", "two elements into"),
    ],
)
def test_csv_that_does_not_fit_is_refuted(line: str, why: str) -> None:
    (claims,) = parse_csv(f"{LISTED}{line}\n", "x.csv")
    found = judge(claims, PLAIN)
    assert found.verdict == "refuted"
    assert why in found.reasons[0]


@pytest.mark.parametrize("name", ["vgpr", "half", "lane", "wave", "value", "field", "byte", "nibble", "tid"])
@pytest.mark.parametrize(
    "sentence", ["D: frag[{}] = D[{} * 2 + lane / 16][lane % 16]", "A: frag[{}] = A[lane % 16][{}]"]
)
def test_a_coordinate_is_no_name_for_an_index(name: str, sentence: str) -> None:
    """`frag[vgpr]` would make vgpr the number of the element, and a false claim of vgpr come true."""
    with pytest.raises(UsageError, match="is a coordinate of its own"):
        parse_statement(sentence.format(name, name))
    assert parse_statement(sentence.format("i", "i")).matrix in "AD"


SET = '[[claim]]\nsays = ["A: A[lane % 16][2*vgpr + half]"]\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "claim = 1",
        "x = 1\n" + SET,
        "[[claim]]\n",
        "[[claim]]\nsays = []\n",
        "[[claim]]\nsays = [1]\n",
        SET + 'wave = "32"\n',
        SET + "wave = true\n",
        SET + 'verdict = "maybe"\n',
        SET + "unknown = 1\n",
        "a = " + "[" * 5000,
        "[[claim]",
    ],
)
def test_toml_that_is_no_file_of_claims_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_toml(text, "x.toml")


def test_files_by_their_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SET + 'name = "one"\n')
    (tmp_path / "b.txt").write_text("A[lane % 16][2*vgpr + half]\n")
    (tmp_path / "c.csv").write_text(LISTED + "A,0,0,0,0,15,0\n")
    sets = read_claims([str(tmp_path / name) for name in ("a.toml", "b.txt", "c.csv")] + ["D: D[0][0]"])
    assert [claims.name or claims.source for claims in sets] == ["one", "b.txt", "c.csv", ""]
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        read_claims([str(tmp_path / "d.txt")])
