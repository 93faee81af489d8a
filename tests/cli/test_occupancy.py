"""`layoutprobe occupancy`: the answer in words and as JSON, and questions that have none."""

from __future__ import annotations

import json

import pytest

from layoutprobe.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["occupancy", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_winograd_budget(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "--arch", "gfx942", "--vgprs", "128", "--agprs", "128")
    assert code == 0
    assert "2 of 8 waves per SIMD, limited by VGPRs" in out
    code, out, _ = said(capsys, "--arch", "gfx942", "--waves", "4")
    assert code == 0
    assert "at most 128 VGPRs for each wave, AccVGPRs included" in out
    assert "128 KiB per SIMD, 512 KiB per CU" in out


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--vgprs", "97", "--lds", "32768", "--workgroup", "256", "--format", "json")
    found = json.loads(said(capsys, *options)[1])
    assert found["waves"] == 8
    assert found["limits"] == {"VGPRs": 12, "LDS and workgroup size": 8}
    assert found["limited_by"] == ["LDS and workgroup size"]
    wide = json.loads(said(capsys, "--vgprs", "97", "--wave", "64", "--format", "json")[1])
    assert (wide["wave"], wide["waves"]) == (64, 7)
    half = json.loads(said(capsys, "--vgprs", "1", "--workgroup", "1024", "--cu-mode", "--format", "json")[1])
    assert (half["unit"], half["workgroups"]) == ("CU", 1)


def test_a_launch_that_fails_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--vgprs", "256", "--workgroup", "1024")
    lines = said(capsys, *asked)[1].splitlines()
    assert lines[1] == "occupancy   none: not one workgroup fits, and the launch fails"
    assert "5 of 16" not in "".join(lines), "what the registers alone would allow is no headline"
    found = json.loads(said(capsys, *asked, "--format", "json")[1])
    assert (found["waves"], found["workgroups"], found["limits"]["VGPRs"]) == (0, 0, 5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "neither"),
        (("--vgprs", "8", "--waves", "4"), "both"),
        (("--vgprs", "257"), "257 VGPRs are impossible"),
        (("--vgprs", "8", "--lds", "1024"), "the workgroup's size is needed"),
        (("--vgprs", "8", "--arch", "gfx115"), "did you mean"),
        (("--waves", "4", "--lds", "0"), "--lds has no effect beside --waves"),
        (("--waves", "4", "--workgroup", "64"), "--workgroup has no effect beside --waves"),
        (("--waves", "4", "--sgprs", "8"), "--sgprs has no effect beside --waves"),
        (("--waves", "4", "--agprs", "8", "--arch", "gfx942"), "--agprs has no effect beside --waves"),
        (("--waves", "4", "--cu-mode"), "--cu-mode has no effect beside --waves"),
        (("--vgprs", "8", "--workgroup", "64", "--cu-mode", "--arch", "gfx942"), "stays on one CU"),
        (("--vgprs", "8", "--cu-mode"), "--cu-mode has no effect without --workgroup"),
        (("--vgprs", "8", "--sgprs", "100"), "--sgprs has no effect on gfx1151"),
        (("--waves", "17"), "cannot hold 17 waves"),
    ],
)
def test_questions_without_an_answer(
    options: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, *options)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize("text", ["-1", "1e3", "٣", "9" * 40, "x"])
def test_numbers_are_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, f"--vgprs={text}")[0] == 2


def test_only_whole_workgroups_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Registers for 12 waves on each of 4 SIMDs, of which one group of 32 waves uses 8."""
    out = said(capsys, "--vgprs", "97", "--workgroup", "1024", "--lds", "65536")[1]
    assert "8 of 16 waves per SIMD, limited by VGPRs, whole workgroups" in out
    assert "AccVGPR" not in out, "gfx1151 has none"
