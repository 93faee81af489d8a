"""The interactive inspector, driven by textual's pilot at 80x24: where keys lead, and what is shown there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from layoutprobe.cli import walking
from layoutprobe.cli.main import main
from layoutprobe.recording import questions
from layoutprobe.recording.file import write_recording
from layoutprobe.recording.model import Recording
from layoutprobe.recording.whereabouts import line_of
from layoutprobe.tui.app import Inspector, Pane
from layoutprobe.tui.session import Session
from recording.kernels import opened

Play = Callable[[Inspector, "Pilot[None]"], Awaitable[None]]


@cache
def recorded(name: str) -> Recording:
    return opened(name).recording()


def played(play: Play, name: str = "column", at: str | None = None, size: tuple[int, int] = (80, 24)) -> None:
    app = Inspector(questions.asked(recorded(name), at))

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await play(app, pilot)

    asyncio.run(run())


def shown(app: Inspector, pane: str) -> list[str]:
    return app.query_one(f"#{pane}", Pane).render().plain.split("\n")


def foot(app: Inspector) -> str:
    return str(app.query_one("#foot", Static).visual)


def kinds(session: Session) -> list[str]:
    """Kinds of the wave's instructions, step by step, from the arrays alone."""
    steps = session.recording.steps
    return [
        session.recording.code[i].kind
        for i, w in zip(steps.inst, steps.wave, strict=True)
        if w == session.wave
    ]


def test_what_is_shown_is_what_is_printed() -> None:
    """Every pane at the first matrix instruction, beside the answers of the same questions."""

    async def play(app: Inspector, _pilot: Pilot[None]) -> None:
        asked = questions.asked(recorded("column"))
        source, assembly = shown(app, "source"), shown(app, "assembly")
        (here,) = [line for line in source if line.startswith(">")]
        assert here.split()[1] == "98"
        assert "__builtin_amdgcn_wmma"[:16] in here
        assert "asmOpt.hip:76" in source[0]
        (now,) = [line for line in assembly if line.startswith(">")]
        assert "203c" in now
        assert "v_wmma_f32_16x16x16_f16" in now
        registers = shown(app, "registers")[1:]
        for line in registers:
            name = line[3:].split()[0]
            ((_, _, value, held, _),) = asked.registers(f"{name}:0").rows
            assert f"{value} {held}".startswith(line[3:].split(maxsplit=1)[1].rstrip("~"))
        assert [line[:6] for line in registers] == [f"r  v{n}" for n in range(72, 72 + len(registers))]
        dwords = {row[0]: row[3] for row in asked.lds().rows}
        for line in shown(app, "lds")[1:]:
            byte, _, held = line[1:].split(maxsplit=2)
            assert str(dwords[int(byte)]).startswith(held.rstrip("~"))
        assert all(len(line) <= 80 for pane in app.query(Pane) for line in shown(app, str(pane.id)))

    played(play)


def test_every_way_goes_forwards_and_back() -> None:
    async def play(app: Inspector, pilot: Pilot[None]) -> None:
        session = app.session
        of, start = kinds(session), session.step
        for key, kind in (("m", "matrix"), ("b", "barrier"), ("s", "store")):
            for way in (key, key, key.upper()):
                before = session.step
                steps = [n for n, one in enumerate(of) if one == kind]
                ahead, behind = [n for n in steps if n > before], [n for n in steps if n < before]
                await pilot.press(way)
                expected = ahead[:1] if way == key else behind[-1:]
                assert session.step == (expected or [before])[0]
            session._to(start)
        await pilot.press("right", "right", "left")
        assert session.step == start + 1
        await pilot.press("end")
        assert session.step == len(of) - 1
        await pilot.press("right")
        assert "the run ends here" in foot(app)
        await pilot.press("home")
        assert session.step == 0
        await pilot.press("M")
        assert "no matrix before this" in foot(app)

    played(play)


def test_lines_and_loop_passes() -> None:
    session = Session(questions.asked(recorded("column")))
    code = session.recording.code
    insts = session._insts().tolist()
    lines = [line_of(code[i]) for i in insts]
    for _ in range(20):
        before = session.step
        assert session.to_line()
        assert lines[session.step] != lines[before]
        assert len(set(lines[before : session.step])) == 1
        here = session.step
        assert session.to_line(back=True)
        assert session.step <= before
        assert set(lines[session.step : here]) == {lines[before]}
        assert session.step == 0 or lines[session.step - 1] != lines[before]
        session._to(here)
    passes = [n for n in range(1, len(insts)) if insts[n] <= insts[n - 1]]
    session._to(0)
    seen = []
    while session.to_pass():
        seen.append(session.step)
    assert seen == passes
    assert len(passes) >= 3
    assert session.to_pass(back=True)
    assert session.step == passes[-2]


def test_waves_meet_at_one_time() -> None:
    session = Session(questions.asked(recorded("column"), "barrier:0"))
    row = session.row
    assert session.to_wave(1)
    assert session.wave == 1
    rows = session.rows
    assert rows[session.step] >= row
    assert session.step == 0 or rows[session.step - 1] < row
    assert session.to_wave(-1)
    assert not session.to_wave(-1)
    assert session.to_lane(-1)
    assert session.lane == 31


def test_the_timeline_says_who_did_what() -> None:
    session = Session(questions.asked(recorded("column")))
    lines = session.timeline(40)
    first = session.step - 20
    of = kinds(session)
    letters = {
        "matrix": "M",
        "barrier": "B",
        "store": "S",
        "load": "L",
        "atomic": "A",
        "wait": "w",
        "end": "E",
    }
    assert lines.line(0).index("v") == 5 + session.step - first
    assert lines.line(1) == f">{0:3} " + "".join(letters.get(kind, ".") for kind in of[first : first + 40])
    assert lines.count == 1 + len(session.recording.waves)


def test_search_and_go() -> None:
    async def play(app: Inspector, pilot: Pilot[None]) -> None:
        session = app.session
        await pilot.press("home", "slash", *"s_barrier", "enter")
        first = kinds(session).index("barrier")
        assert session.step == first
        await pilot.press("n", "N")
        assert session.step == first
        await pilot.press("g", *"0x203c", "enter")
        assert session.inst.place.pc == 0x203C
        await pilot.press("g", *"nowhere:1", "enter")
        assert "no instruction at" in foot(app)
        await pilot.press("home", "slash", *"A[3][5]", "enter")
        rows = [row[0] for row in questions.asked(recorded("column")).follow("A[3][5]").rows if row[1] == 0]
        assert session.row == rows[0]
        await pilot.press("n")
        assert session.row == next(row for row in rows if int(row or 0) > int(rows[0] or 0))
        await pilot.press("slash", *"no such text", "enter")
        assert "wave 0: no no such text behind this; N looks before it, w in another wave" in foot(app)
        await pilot.press("slash", "escape", "right")
        assert "no such" not in foot(app)

    played(play)


def test_help_and_panes() -> None:
    async def play(app: Inspector, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        assert len(app.screen_stack) == 1
        await pilot.press("tab")
        assert app.focused is not None
        assert app.focused.id == "registers"
        before = shown(app, "registers")
        await pilot.press("down")
        assert shown(app, "registers")[1] == before[2]
        await pilot.press("pagedown", "up", "z")
        await pilot.pause()
        assert [pane.id for pane in app.query(Pane) if pane.region.height] == ["registers"]
        assert len(shown(app, "registers")) > 15
        await pilot.press("z")
        await pilot.pause()
        assert all(pane.region.height for pane in app.query(Pane))
        await pilot.press("q")

    played(play)


@pytest.mark.parametrize("name", ["int4", "attention", "triton-mfma", "scratch"])
def test_other_kernels_are_walked_through(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without LDS, lines or sources, with AccVGPRs and 64 lanes, without colours, and in a small window."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def play(app: Inspector, pilot: Pilot[None]) -> None:
        for key in (
            "home",
            "right",
            "m",
            "l",
            "o",
            "b",
            "s",
            "w",
            "right_square_bracket",
            "end",
            "left",
            "L",
            "O",
        ):
            await pilot.press(key)
            for pane in app.query(Pane):
                assert shown(app, str(pane.id))
        assert any(line.startswith(">") for line in shown(app, "assembly"))

    played(play, name, "store:0", size=(60, 16))


def test_the_command_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cap = tmp_path / "run.cap"
    write_recording(cap, recorded("int4"))
    command = ["inspect", str(cap), "--tui"]
    assert main(command) == 2
    assert "--tui needs a terminal" in capsys.readouterr().err
    assert main([*command, "--why", "v0:1"]) == 2
    assert "--why has no effect with --tui" in capsys.readouterr().err
    monkeypatch.setattr(walking, "EXTRA", "no_such_library")
    assert main(command) == 2
    assert "pip install 'layoutprobe[tui]'" in capsys.readouterr().err


def test_states_are_found_again() -> None:
    """Registers that are kept are those of their row."""
    asked = questions.asked(recorded("column"))
    rows = asked.replay.steps(0)[:40].tolist()
    first = [asked.replay.registers(0, row).vgprs.copy() for row in rows]
    assert all(
        np.array_equal(asked.replay.registers(0, row).vgprs, kept)
        for row, kept in zip(rows, first, strict=True)
    )
