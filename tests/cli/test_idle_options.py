"""An option that changes nothing is refused: who types it expects something."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.cli.main import main

F16 = "v_wmma_f32_16x16x16_f16"
KERNEL = Path(__file__).parents[1] / "checks" / "kernels" / "gemm_direct.hip"
IDLE = {
    "roundtrip --arithmetic silicon": "--arithmetic",
    "roundtrip --all --format json": "--all",
    "roundtrip --all --output x.csv": "--all",
    f"layout {F16} --theme dark": "--theme",
    f"layout {F16} --theme auto --format json": "--theme",
    f"layout {F16} --color-by k --output x.csv": "--color-by",
    f"layout {F16} --dialect gf2 --format csv": "--dialect",
    f"layout {F16} --element A[0][0] --format svg": "--element",
    f"layout {F16} --slot A:v0.lo@0 --output x.csv": "--slot",
    f"layout {F16} --slot A:v0.lo@0 --matrix B": "--matrix",
    f"layout {F16} --element A[0][0] --dialect gf2": "--dialect",
    "diff a.cap a.cap --backend emulator": "--backend",
    "diff a.cap a.cap --compiler clang": "--compiler",
    "dump --backend replay a.cap --compiler clang": "--compiler",
    "dump --backend replay a.cap --device 0": "--device",
    f"layout {F16} --backend replay a.cap --arithmetic silicon": "--arithmetic",
    "capture -o x.cap --arch gfx1151 dump --arch gfx1100": "--arch",
    "capture -o x.cap --backend hip epilogue --backend emulator": "--backend",
    "fidelity --backend replay a.cap -o x.cap": "--output",
    "fidelity --backend replay a.cap -o .": "--output",
}
"""Command line -> the option of it that would change nothing."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("recorded") / "a.cap"
    assert main(["capture", "-o", str(path), "epilogue", "--output", str(path.with_suffix(".txt"))]) == 0
    return path.read_bytes()


@pytest.mark.parametrize("line", IDLE)
def test_an_option_without_effect_is_refused(
    line: str,
    recorded: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cap").write_bytes(recorded)
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{IDLE[line]} has no effect" in said.err
    assert "next:" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.cap"], "nothing is written"


def test_what_says_how_to_build_is_refused_where_nothing_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from layoutprobe.toolchain.compile import compile_hip

    built, text = tmp_path / "k.hsaco", tmp_path / "k.s"
    built.write_bytes(compile_hip(KERNEL, target="gfx1151").data)
    text.write_text("s_endpgm\n")
    manifest = ["--output", str(tmp_path / "m.toml")]
    for words in ([built, "--include", "."], [built, "--arch", "gfx1151"], [text, "--include", "."]):
        assert main(["init", *map(str, words), *manifest]) == 2
        assert "no effect" in capsys.readouterr().err
    assert main(["init", str(built), *manifest]) == 0


def test_two_reports_to_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "a.json")
    for twice in (["--report", file, "--report", file], ["--output", file, "--report", file]):
        assert main(["check", str(tmp_path), *twice]) == 2
        assert "two reports go to one file" in capsys.readouterr().err
