"""Answers about a recorded run, beside the kernels' own sources."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.inspector.contents import held_operands
from layoutprobe.inspector.inspect import inspect
from layoutprobe.inspector.timeline import timeline_of
from layoutprobe.place import Element
from layoutprobe.recording.names import joined
from layoutprobe.recording.questions import Asked
from layoutprobe.recording.slots import Slot, element_of, slots_of
from layoutprobe.recording.ways import Ways
from recording.kernels import GEMM, KERNELS, opened

COLUMN = [
    "inspect", str(GEMM / "seeds" / "buggy.toml"), "--kernel", "asmOpt-column", "--size", "M=128,N=128,K=32"
]  # fmt: skip


def asked(name: str = "column", **moment: object) -> Asked:
    return Asked(opened(name).recording(), **moment)  # type: ignore[arg-type]


def test_registers_name_elements_and_addresses() -> None:
    """The kernel that takes A by columns: lane l of wave 3 holds column l % 16 of rows 48 and up."""
    moment = asked(wave=3)
    recording = moment.recording
    answer = moment.registers(slots_of("v80-81", recording, [0, 3, 17]))
    held = {(row[0], row[1]): row[3] for row in answer.rows}
    for v in (0, 1):
        for lane in (0, 3, 17):
            low = 48 + 2 * v
            assert held[f"v{80 + v}", lane] == f"A[{low}][{lane % 16}], A[{low + 1}][{lane % 16}]"
    addresses = asked(at="load:0", wave=3).registers(slots_of("s0-15", recording))
    assert len(addresses.rows) == 16


@pytest.mark.long
def test_an_address_is_the_element_that_it_points_at() -> None:
    """Every address of a load or store is named as the binding lays the buffer out."""
    moment, checked = asked("ragged"), 0
    recording = moment.recording
    for buffer in recording.buffers:
        rows, cols = buffer.shape
        for row, col in ((0, 0), (1, 2), (rows - 1, cols - 1)):
            offset = (row * cols + col) * (buffer.nbytes // (rows * cols))
            said = moment.names.pointer(buffer.address + offset)
            assert said == f"{buffer.name} + {offset}, {buffer.name}[{row}][{col}]"
            checked += 1
        assert moment.names.pointer(buffer.address + buffer.nbytes).endswith("its end")
    assert checked == 9
    assert moment.names.pointer(16) == ""


def test_lds_shows_who_stored_what() -> None:
    """asmOpt.hip keeps rows of 16 f16 of A at a pitch of 24: bytes 32 to 47 of each row are padding."""
    answer = asked().lds(0, 95)
    by_byte = {row[0]: row for row in answer.rows}
    for row in (0, 1):
        for pair in range(8):
            byte = 48 * row + 4 * pair
            assert by_byte[byte][3] == f"A[{row}][{2 * pair}], A[{row}][{2 * pair + 1}]"
            assert by_byte[byte][1] == byte // 4 % 32
            assert "asmOpt.hip:48" in str(by_byte[byte][4])
        assert "never stored" in str(by_byte[48 * row + 32][3])
    assert "64 of 96 bytes" in answer.summary


@pytest.mark.parametrize("name", ["column", "attention", "triton-attention"])
def test_what_lds_holds_has_a_row_of_a_matrix(name: str) -> None:
    """That of the first element in its name, moved or computed; a sum of products has no single one there."""
    lds = timeline_of(opened(name).recording(), 32)
    assert lds is not None
    assert lds.lds is not None
    held, seen = lds.lds.contents, set()
    for text, (tensor, row) in zip(held.names, held.lines.tolist(), strict=True):
        first = re.search(r"(\w+)\[(\d+)[-\d]*\]((?:\[[-\d]+\])*)", text)
        if first is None:
            assert tensor == row == -1 or "sum over" in text, text
            continue
        index = [int(at) for at in re.findall(r"\[(\d+)", first[0])]
        assert (held.tensors[tensor], row) == (first[1], index[-2:][0]), text
        seen.add((first[1], row))
    assert len(seen) >= 16


def test_why_leads_back_to_the_load() -> None:
    rows = asked(wave=3).why(Slot("v", 80, 3)).rows
    names = [str(row[2]).split()[0] for row in rows]
    way = ["v_cndmask_b32", "global_load_b128"]
    assert names == ["ds_load_u16_d16_hi", *way, "ds_load_u16_d16", *way], "the high half, then the low one"
    assert [str(row[5]).rpartition(", ")[2] for row in rows[2::3]] == ["A[49][2]", "A[48][2]"]
    assert "loaded from global A + " in str(rows[-1][5])
    computed = asked("int4").why(Slot("v", 25, 3)).rows
    assert any("loaded from global w" in str(row[5]) for row in computed)
    assert {str(row[3]).partition(" ")[0] for row in computed} == {
        "gemm_int4.hip:18",  # the scale
        "gemm_int4.hip:27",
        "gemm_int4.hip:28",
    }


def test_what_the_launch_put_into_a_register_has_no_way() -> None:
    first = asked(at="load:0")
    assert "v0 of lane 3 holds what the launch put there" in first.why("v0:3").summary
    assert "nobody has written v80 of lane 3" in first.why("v80:3").summary
    assert "1 register of a lane" in first.registers("v0:3").summary


def test_names_and_slots_ask_the_same() -> None:
    moment = asked(wave=3)
    slots = slots_of("v80-81", moment.recording, [3])
    assert moment.registers("v80-81", [3]).rows == moment.registers(slots).rows
    assert moment.why("v80:3").rows == moment.why(Slot("v", 80, 3)).rows != moment.why("v80:4").rows
    assert moment.where("A[3][5]").rows == moment.where(Element("A", (3, 5))).rows != ()
    assert moment.follow("A[3][5]").rows == moment.follow(Element("A", (3, 5))).rows != ()
    for text in ("v80-v81", "V[80:81]"):
        assert slots_of(text, moment.recording, [3]) == slots
    assert slots_of("v[80:81]:3", moment.recording) == slots_of("v80-81:3", moment.recording) == slots
    for text in ("v80", "v80-81:3"):
        with pytest.raises(UsageError, match="is not one register of one lane"):
            moment.why(text)


def test_where_and_follow_agree_with_the_registers() -> None:
    moment = asked()
    element = Element("A", (3, 5))
    places = moment.where(element).rows
    assert [row[1] for row in places if row[0] == "LDS"] == ["byte 154"]  # 3 * 48 + 2 * 5
    assert {(row[0], row[1], row[2]) for row in places if row[0] != "LDS"} == {
        (f"wave {wave}", "v73", "5, 21") for wave in (0, 1)
    }
    journey = moment.follow(element).rows
    assert [str(row[3]).split()[0] for row in journey[:3]] == [
        "global_load_b128",
        "v_cndmask_b32",
        "ds_store_b128",
    ]
    assert [row[0] for row in journey] == sorted(row[0] for row in journey)  # type: ignore[type-var]
    assert journey[3][6] == "5, 21"


def test_copies_come_before_what_was_computed_and_lanes_of_a_register_are_one_row() -> None:
    """In the second K step accumulators hold what was computed of an element of the first."""
    moment = asked(at="wmma:3", iteration=1)
    found = moment.where("A[3][5]")
    kinds = ["sum" in str(row[3]) or "products" in str(row[3]) for row in found.rows]
    assert kinds == sorted(kinds)
    assert True in kinds
    assert len({row[:2] for row in found.rows}) == len(found.rows)
    assert "and what was computed of it in " in found.summary
    rows = [row[0] for row in moment.follow("A[3][5]").rows]
    assert len(set(rows)) == len(rows) > 10, (
        "an instruction is one row, whichever lanes and registers it writes"
    )


def test_the_way_of_a_computed_value_leads_to_what_it_was_computed_from() -> None:
    """Softmax: dual instructions compute two rows at once, and a butterfly brings values of other lanes. Whatever is
    on the way of a slot comes from nothing else than what the slot comes from."""
    moment = Asked(opened("attention").recording(), 0, "wmma:14")
    slot = Slot("v", moment.inst.reads[0].index, 0)
    assert "products of" in joined(moment.names.word(int(moment.state.tags[slot.register, 0])))
    wanted = moment.recording.tags.nibbles(moment.state.tags[slot.register, :1])[0].tolist()
    lanes = set()
    for _, row, wave, register, lane, _ in Ways(moment.replay, moment.names).back(0, moment.row, slot):
        after = moment.replay.registers(wave, row + 1)
        text = moment.recording.code[int(moment.recording.steps.inst[row])].text
        word = int(after.tags[register, lane])
        assert moment.names.within(word, wanted), (text, register, lane, joined(moment.names.word(word)))
        lanes.add(lane)
    assert len(lanes) > 1


@pytest.mark.parametrize(
    ("at", "kind"), [("wmma:3", "matrix"), ("barrier:0", "barrier"), ("store:0", "store")]
)
def test_moments_are_named_by_kind_line_and_pc(at: str, kind: str) -> None:
    moment = asked(at=at)
    code = moment.recording.code
    here = int(moment.recording.steps.inst[moment.row])
    assert code[here].kind == kind
    assert [n for n, one in enumerate(code) if one.kind == kind][int(at[-1])] == here
    assert asked(at=f"{code[here].place.pc:#x}").row == moment.row
    line = code[here].place.line
    if line:
        first = asked(at=line).row
        assert code[int(moment.recording.steps.inst[first])].place.line == line


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: asked(at="other.hip:7"), "no instruction at 'other.hip:7'"),
        (lambda: asked(at="store:999"), "no instruction at 'store:999'"),
        (lambda: asked(iteration=9), "does not execute it 10 times"),
        (lambda: asked(wave=99), "no wave 99"),
        (lambda: slots_of("v999", opened("column").recording()), "beyond the wave's registers"),
        (lambda: slots_of("a0-3", opened("column").recording()), "the kernel has no AccVGPRs"),
        (lambda: slots_of("v1:40", opened("column").recording()), "beyond the wave's registers or lanes"),
        (lambda: slots_of("v80-s81", opened("column").recording()), "no register named 'v80-s81'"),
        (lambda: slots_of("q3", opened("column").recording()), "no register named 'q3'"),
        (lambda: element_of("A[3]", opened("column").recording()), "no element 'A[3]'"),
        (lambda: element_of("A[128][0]", opened("column").recording()), "no element 'A[128][0]'"),
    ],
)
def test_what_is_not_there_is_refused(ask: object, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask()  # type: ignore[operator]
    assert says in str(caught.value)


@pytest.mark.long
def test_the_command_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COLUMN, "--why", "v80:3", "--wave", "3", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["depth"] for row in rows] == [0, 1, 2, 0, 1, 2]
    assert main([*COLUMN, "--lds", "0-15", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("0,0,0x")
    assert main([*COLUMN, "--where", "A[3][5]"]) == 0
    assert "A[3][5] is in 5 places" in capsys.readouterr().out
    idle = ("--follow A[3][5] --at 0x1f58", "--lds --lane 3", "--why v1:1 --matrix A", "--lds --why v1:1",
            "--why v1-2:1", "--lds 9-3", "--lds x")  # fmt: skip
    for options in idle:
        assert main([*COLUMN, *options.split()]) == 2
        assert "layoutprobe:" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "fields", "each"), [("tr16", 2, 8), ("tr8-wave64", 4, 4)])
def test_what_a_transposing_load_brings_comes_from_where_another_lane_looked(
    name: str, fields: int, each: int
) -> None:
    """tr.hip: lane l gets column l % 16 of B, and rows 8 * (l / 16 % 2) + each * (l / 32) on."""
    moment = asked(name, at="wmma:0")
    span = moment.inst.reads[1]
    assert fields * span.count == each
    for lane, register in np.ndindex(moment.recording.lanes, span.count):
        (last,) = moment.why(f"v{span.index + register}:{lane}").rows
        k, col = lane // 16 % 2 * 8 + lane // 32 * each + fields * register, lane % 16
        assert "global_load_tr_b" in str(last[2])
        assert str(last[-1]) == f"loaded from global B + {(128 * k + col) * 4 // fields}, B[{k}][{col}]"


def products(name: str) -> dict[tuple[str, str], str]:
    """Instruction and operand -> what is said of its slots."""
    return {(str(row[0]), str(row[2])): str(row[4]) for row in asked(name).products().rows}


def test_operands_of_a_kernel_without_a_product_are_named() -> None:
    """Beside the sources: 16 x 16 tiles of x and of packed w, and of attention's scores and values."""
    assert products("int4") == {
        ("wmma:0", "A"): "512 slots: x[0-15][0-15]",
        ("wmma:0", "B"): "256 slots: from w[0-15][0-1], scale[0-15][0]",
        ("wmma:0", "C"): "256 slots: no element",
    }
    said = products("attention")
    for j, d in np.ndindex(2, 4):  # the first products: 64 queries of four waves, 32 keys, D of 64
        rows, columns = f"[{16 * j}-{16 * j + 15}]", f"[{16 * d}-{16 * d + 15}]"
        assert (said[f"wmma:{2 * d + j}", "A"], said[f"wmma:{2 * d + j}", "B"]) == (
            f"2048 slots: q[0][0-63]{columns}",
            f"2048 slots: k[0]{rows}{columns}",
        )
    values = {said[f"wmma:{n}", "B"] for n in range(8, 16)}
    assert values == {
        f"2048 slots: v[0][{16 * j}-{16 * j + 15}][{16 * d}-{16 * d + 15}]" for j, d in np.ndindex(2, 4)
    }
    weights = {said[f"wmma:{n}", "A"] for n in range(8, 16)}
    assert weights == {"1024 slots: products of q[0][0-63][0-63], k[0][0-31][0-63]"}


def test_slots_that_nobody_follows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutprobe.recording.flow.bound", lambda inst: None)
    said = inspect(*KERNELS["int4"][:2]).moment().products()
    assert said.rows[1][4] == "256 slots: not followed"
    assert "256 slots are undefined or not followed" in said.summary


def test_an_operand_is_its_registers() -> None:
    moment = asked("int4")
    assert moment.operand("b", [3]).rows == moment.registers("v25-32", [3]).rows
    assert moment.operand("D", [0, 1]).rows == moment.registers("v1-8", [0, 1]).rows
    for letter, at, says in (("Q", None, "no operand 'Q'"), ("A", "store:0", "no matrix instruction at")):
        with pytest.raises(UsageError, match=says):
            asked("int4", at=at).operand(letter)


def test_the_command_shows_a_kernel_without_a_product(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list, an operand, and a page; nothing of it is judged."""
    command = ["inspect", str(KERNELS["int4"][0]), "--kernel", "int4"]
    assert main([*command, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert [row["operand"] for row in json.loads(out)["rows"]] == ["A", "B", "C"]
    assert "shown, and not judged: no product is marked" in err
    assert main([*command, "--at", "wmma:0", "--matrix", "B", "--lane", "3", "--format", "csv"]) == 0
    assert '"from w[3][0], scale[3][0]"' in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main([*command, "--output", str(page)]) == 2
    assert "gemm_int4.hip" in page.read_text()
    assert main(["inspect", str(KERNELS["int4"][0]), "--kernel", "softmax"]) == 0
    assert "barrier:0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("barrier:99", "barrier:0 to barrier:"),
        ("mfma:99", "mfma:0 to mfma:3"),
        ("atomic:0", "another kind: the code has no atomic"),
        ("0x1", "where an instruction begins, from 0x"),
        ("asmOpt.hip:1", "a line of asmOpt.hip with code: "),
        ("nothing.hip:1", "FILE:LINE, a PC as 0x1f58"),
    ],
)
def test_what_a_moment_can_be_is_said(at: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked(at=at)
    assert says in str(caught.value)
    assert "--timeline" in str(caught.value)


@pytest.mark.parametrize("name", ["column", "attention", "triton-mfma", "int4"])
def test_a_page_holds_what_the_question_about_the_operand_is_answered(name: str) -> None:
    recording = opened(name).recording()
    held = held_operands(recording, "why")
    assert held is not None
    begins = np.cumsum([0, *held.table[3]])
    every = held.table.T.tolist()
    asked_for = 0
    for at, (row, letter, first, count) in list(enumerate(every))[:: max(1, len(every) // 12)]:
        wave = int(recording.steps.wave[row])
        inst = recording.steps.inst[row]
        before = int((recording.steps.inst[:row][recording.steps.wave[:row] == wave] == inst).sum())
        pc = recording.code[inst].place.pc
        answer = Asked(recording, wave, f"{pc:#x}", before).operand(held.letters[letter])
        words = held.held[begins[at] : begins[at] + count]
        assert [str(said[3]) for said in answer.rows] == [
            held.contents.names[word] for word in words.ravel().tolist()
        ]
        kind, number = ("a", first - held.first_acc) if 0 <= held.first_acc <= first else ("v", first)
        assert answer.rows[0][0] == f"{kind}{number}"
        asked_for += 1
    assert asked_for >= 3
