"""Findings that are let pass: by rule, kernel and line, for a reason and until a day; in a manifest or a baseline."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.gate.baseline import new_baseline
from layoutprobe.gate.gate import check
from layoutprobe.manifest.acceptances import read_baseline
from layoutprobe.manifest.read import read_manifest
from layoutprobe.render.formats import find, names
from layoutprobe.report.gate import GateReport

SOURCE = """\
extern "C" __attribute__((global)) void far(const int* x, int* y, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  y[i + n] = 2 * x[i];
}
"""
MANIFEST = """\
[[kernel]]
name = "far"
source = "k.hip"
grid = 1
block = 32
sizes = [{ n = 32 }]
contract = { kind = "none" }
checks = ["memory", "resources"]
argument = [
  { name = "x", role = "in", dtype = "i32", shape = ["n"] },
  { name = "y", role = "out", dtype = "i32", shape = ["n"] },
  { name = "n", role = "scalar", dtype = "i32", value = "n" },
]
"""
RULE, LINE = "epilogue/out-of-bounds", "k.hip:3"
FUTURE, PAST = "2999-12-31", "2020-01-31"


def written(folder: Path, *entries: str, source: str = SOURCE) -> Path:
    (folder / "k.hip").write_text(source, "utf-8")
    path = folder / "layoutprobe.toml"
    path.write_text(MANIFEST + "".join(f"[[kernel.accept]]\n{entry}\n" for entry in entries), "utf-8")
    return path


def entry(rule: str = RULE, line: str = LINE, until: str = FUTURE, more: str = "") -> str:
    named = f'line = "{line}"\n' if line else ""
    return f'rule = "{rule}"\n{named}reason = "the host pads it"\nuntil = {until}\n{more}'


def rules(report: GateReport) -> list[str]:
    return [found.rule.id for verdict in report.verdicts for found in verdict.findings]


def test_by_rule_and_line_for_a_time(tmp_path: Path) -> None:
    assert rules(check(written(tmp_path))) == [RULE]
    passed = check(written(tmp_path, entry()))
    assert (rules(passed), passed.exit_code) == ([], 0)
    (verdict,) = passed.verdicts
    assert verdict.accepted == (RULE,)
    ((found, why),) = [each for result in verdict.results for each in result.accepted]
    assert found.place.line == LINE
    assert why == "the manifest accepts it until 2999-12-31: the host pads it"
    for name in names("gate"):
        stream = io.StringIO()
        find("gate", name).write(passed, stream)
        assert RULE in stream.getvalue().replace("&#45;", "-"), f"{name} hides it"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (entry(line="k.hip:2"), [RULE, "acceptance/not-found"]),
        (entry(line="other.hip:3"), [RULE, "acceptance/not-found"]),
        (entry(line=""), [RULE, "acceptance/not-found"]),
        (entry(rule="memory/trap"), [RULE, "acceptance/not-found"]),
        (entry(until=PAST), [RULE, "acceptance/expired"]),
        (entry(more='arch = "gfx1201"'), [RULE]),
    ],
)
def test_what_accepts_nothing_fails(tmp_path: Path, given: str, found: list[str]) -> None:
    report = check(written(tmp_path, given))
    assert rules(report) == found
    assert report.exit_code == 1


def test_a_mended_kernel_asks_for_the_entry_to_go(tmp_path: Path) -> None:
    mended = SOURCE.replace("i + n", "i")
    report = check(written(tmp_path, entry(), source=mended))
    assert rules(report) == ["acceptance/not-found"]
    assert report.exit_code == 1
    (found,) = report.verdicts[0].findings
    assert found.place.line == LINE
    assert "delete the entry" in found.hint


def test_a_check_that_was_not_made_tells_nothing(tmp_path: Path) -> None:
    report = check(written(tmp_path, entry()), checks=["resources"])
    assert (rules(report), report.exit_code) == ([], 0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (entry(until='"2999-12-31"'), "without quotes"),
        (entry(until="2999-12-31T00:00:00"), "without quotes"),
        (entry(line="k.hip"), "FILE:LINE"),
        (entry(rule="races/raed-after-write"), "races/read-after-write"),
        (entry().replace("the host pads it", " "), "why it may pass"),
        (entry(more="who = 1"), "unknown key"),
    ],
)
def test_what_an_entry_must_have(tmp_path: Path, given: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(written(tmp_path, given))
    assert words in str(caught.value)


@pytest.mark.long
def test_a_baseline_lets_what_follows_from_a_finding_pass_too(tmp_path: Path) -> None:
    """As each stands in the file by itself: with its cause let pass, a consequence is what reports lead with."""
    seeds = read_manifest(asset_dir("probes") / "gemm" / "seeds" / "buggy.toml")
    (case,) = (case for case in seeds.kernels if case.name == "swizzled-column")
    seeds = replace(seeds, kernels=(replace(case, sizes=case.sizes[:1]),))
    asked: dict[str, Any] = {"checks": ["operand-provenance", "numerics"]}
    old = check(seeds, **asked)
    assert [found.follows is None for found in old.verdicts[0].every] == [True, False]
    (tmp_path / "baseline.toml").write_text(new_baseline(old, {}, date.today()), "utf-8")
    baseline = read_baseline(tmp_path / "baseline.toml")
    assert [one.rule for one in baseline["swizzled-column"]] == [
        found.rule.id for found in old.verdicts[0].every
    ]
    assert rules(check(seeds, **asked, baseline=baseline)) == []


def test_a_baseline_lets_old_findings_pass_and_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, file = str(written(tmp_path)), tmp_path / "baseline.toml"
    assert main(["check", manifest, "--jobs", "1", "--write-baseline", str(file)]) == 0
    assert "1 findings are in" in capsys.readouterr().err
    (one,) = read_baseline(file)["far"]
    assert (one.rule, one.line, one.arch, one.baseline) == (RULE, LINE, "", True)
    assert one.until > date.today()
    assert main(["check", manifest, "--jobs", "1", "--baseline", str(file)]) == 0
    assert "the baseline accepts it until" in " ".join(capsys.readouterr().out.split())
    written(tmp_path, source=SOURCE.replace("= 2 *", "= x[i + 40] +"))
    assert main(["check", manifest, "--jobs", "1", "--baseline", str(file)]) == 1, "a new finding"
    written(tmp_path, source=SOURCE.replace("i + n", "i"))
    assert main(["check", manifest, "--jobs", "1", "--baseline", str(file)]) == 1, "a stale entry"
    assert "acceptance/not-found" in capsys.readouterr().out


def test_writing_it_again_keeps_what_still_holds(tmp_path: Path) -> None:
    manifest, file = str(written(tmp_path)), tmp_path / "baseline.toml"
    kept = f'[[finding]]\nkernel = "far"\n{entry()}'
    file.write_text(kept + f'[[finding]]\nkernel = "far"\n{entry(line="k.hip:77")}', "utf-8")
    assert (
        main(["check", manifest, "--jobs", "1", "--baseline", str(file), "--write-baseline", str(file)]) == 0
    )
    (one,) = read_baseline(file)["far"]
    assert (one.line, one.reason, str(one.until)) == (LINE, "the host pads it", FUTURE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[finding]]\nkernel = 'near'\n" + entry(), "'near'"),
        ("finding = 3", "finding"),
        ("[[found]]", "unknown key"),
        ("x = [", "not TOML"),
    ],
)
def test_no_baseline(tmp_path: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "b.toml"
    file.write_text(text, "utf-8")
    assert main(["check", str(written(tmp_path)), "--jobs", "1", "--baseline", str(file)]) == 2
    assert words in capsys.readouterr().err
