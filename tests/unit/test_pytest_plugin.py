"""The pytest plugin inside pytest: what fails, what is skipped, and what a failure says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_gates
import pytest

from layoutprobe.errors import UsageError
from layoutprobe.gate import gate
from layoutprobe.report.gate import GateReport

pytest_plugins = ["pytester"]

STRICT = """\
[pytest]
addopts = --strict-markers --strict-config
filterwarnings = error
"""
MANIFEST = """\
[defaults]
arch = ["gfx1151"]
contract = { kind = "none" }
grid = [1]
block = [64]
sizes = [{N = 64}]

[[kernel]]
name = "copy"
source = "copy.hip"
checks = ["resources"]
[[kernel.argument]]
name = "out"
role = "out"
dtype = "f32"
shape = ["N"]
"""
SOURCE = """\
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void copy(float* out) {
  out[__builtin_amdgcn_workitem_id_x()] = 1.0f;
}
"""

Runner = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs pytest with this plugin only, as strictly as a project can."""
    # Installed or not, the plugin is loaded once: entry points are left out.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makefile(".ini", pytest=STRICT)

    # In this process the plugin may be imported already; after `pip install -e` pytest warns of that.
    known = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"

    def runner(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-W", known, "-p", "layoutprobe.pytest_plugin", *arguments)

    return runner


@pytest.fixture
def asked(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Manifests NAME.toml exist for every fake report, and the gate answers with it."""
    calls: list[dict[str, Any]] = []

    def check(manifest: Path, **options: Any) -> GateReport:
        calls.append({"manifest": manifest, **options})
        if manifest.stem not in fake_gates.ALL:
            raise UsageError("the manifest does not hold", where={"key": "grid"})
        return fake_gates.ALL[manifest.stem]()

    monkeypatch.setattr(gate, "check", check)
    for name in [*fake_gates.ALL, "torn"]:
        (pytester.path / f"{name}.toml").write_text("", "utf-8")
    return calls


@pytest.mark.parametrize("name", fake_gates.ALL)
def test_check_passes_only_what_holds(
    name: str, run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"def test_it(layoutprobe):\n    layoutprobe.check('{name}.toml', kernel='k')\n")
    holds = fake_gates.EXIT_CODES[name] == 0
    run().assert_outcomes(passed=int(holds), failed=int(not holds))
    assert asked[0]["kernels"] == ("k",)
    assert asked[0]["allow_reference"] is False
    assert asked[0]["strict"] is False


def test_a_failure_reads_well(run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(layoutprobe):\n    layoutprobe.check('mixed.toml')\n")
    result = run()
    result.stdout.fnmatch_lines(
        [
            "asmOpt (gfx1151): operand-provenance/transposed",
            "gemm/asmOpt.hip:742: the kernel loads A transposed*",
            "expected: A[[]1[]][[]0[]]",
            "related: *ds_load_u16*",
            "next: *swap the two indices*",
            "flash (gfx1151): operand-provenance could not be decided",
            "*v_pk_mul_f16*",
            "broken (gfx1151): kernel could not be decided",
            "FINDING (emulated): 4 findings in 3 of 7 kernels*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*Traceback*")


def test_errors_of_the_manifest_fail(
    run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        "def test_torn(layoutprobe):\n    layoutprobe.check('torn.toml')\n"
        "def test_missing(layoutprobe):\n    layoutprobe.examine('missing.toml')\n"
    )
    result = run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["could not be decided: the manifest does not hold", "*where: *key grid"])
    result.stdout.fnmatch_lines(["could not be decided: there is no manifest", "*missing.toml"])
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


def test_expected_findings(run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_found(layoutprobe):
            found = layoutprobe.examine("with-line.toml").assert_finding("operand-provenance", "transposed")
            assert found.place.wave == 0
            assert found is layoutprobe.checked.assert_finding("operand-provenance/transposed")
        def test_other_check(layoutprobe):
            layoutprobe.examine("with-line.toml").assert_finding("races")
        def test_other_words(layoutprobe):
            layoutprobe.examine("with-line.toml").assert_finding("operand-provenance", "stride")
        def test_none(layoutprobe):
            layoutprobe.examine("green.toml").assert_finding("races")
        def test_undecided_is_no_finding(layoutprobe):
            layoutprobe.examine("undecided.toml").assert_finding("operand-provenance")
        """
    )
    result = run()
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(["expected a finding of 'operand-provenance' that says 'stride'"])


def test_results_can_be_read(run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_result(layoutprobe):
            with pytest.raises(LookupError, match="nothing was checked"):
                layoutprobe.verdict
            checked = layoutprobe.check("green.toml", checks="resources")
            assert checked.verdict.name == "standard"
            assert layoutprobe.result("resources").metrics["VGPRs"] == 96
            with pytest.raises(LookupError, match="not applied"):
                layoutprobe.result("telepathy")

        def test_several(layoutprobe):
            with pytest.raises(LookupError, match="7 kernels"):
                layoutprobe.examine("mixed.toml").verdict
        """
    )
    run().assert_outcomes(passed=2)
    assert asked[0]["checks"] == ("resources",)


def test_the_marker_checks_before_the_test(
    run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.layoutprobe(manifest="green.toml", kernel="standard")
        def test_green(layoutprobe):
            assert layoutprobe.verdict.exit_code == 0

        @pytest.mark.layoutprobe("undecided.toml")
        def test_undecided():
            raise SystemExit("the body does not run")

        @pytest.mark.layoutprobe(manifest="green.toml")
        @pytest.mark.layoutprobe(manifest="with-line.toml")
        class TestBoth:
            def test_one(self):
                pass
        """
    )
    result = run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*operand-provenance could not be decided"])
    result.stdout.no_fnmatch_line("*SystemExit*")


def test_the_gate_runs_once(run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("n", range(5))
        def test_it(layoutprobe, n):
            layoutprobe.check("green.toml", kernel="standard")

        def test_other(layoutprobe):
            layoutprobe.check("green.toml")
        """
    )
    run("--layoutprobe-allow-reference", "--layoutprobe-strict").assert_outcomes(passed=6)
    assert len(asked) == 2
    assert asked[0]["allow_reference"] is True
    assert asked[0]["strict"] is True


def test_manifests_lie_beside_the_test_or_at_the_root(
    run: Runner, asked: list[dict[str, Any]], pytester: pytest.Pytester
) -> None:
    folder = pytester.mkdir("deep")
    body = "def test_it(layoutprobe):\n    layoutprobe.check('{}')\n"
    (folder / "test_root.py").write_text(body.format("green.toml"), "utf-8")
    (folder / "test_beside.py").write_text(body.format("mixed.toml"), "utf-8")
    (folder / "mixed.toml").write_text("", "utf-8")
    run().assert_outcomes(passed=1, failed=1)
    assert {call["manifest"] for call in asked} == {folder / "mixed.toml", pytester.path / "green.toml"}


# Collecting manifests


def write_manifest(pytester: pytest.Pytester, text: str = MANIFEST) -> None:
    (pytester.path / "layoutprobe.toml").write_text(text, "utf-8")
    (pytester.path / "copy.hip").write_text(SOURCE, "utf-8")


def test_nothing_is_collected_unless_asked_for(run: Runner, pytester: pytest.Pytester) -> None:
    write_manifest(pytester)
    assert run().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_real_kernel(run: Runner, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """From source to verdict, for two targets, of which one is not emulated."""
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(pytester.path / "cache"))
    write_manifest(pytester, MANIFEST.replace('"gfx1151"', '"gfx1151", "gfx942"'))
    result = run("--layoutprobe", "-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "layoutprobe.toml::copy[[]gfx1151[]]::kernel PASSED*",
            "layoutprobe.toml::copy[[]gfx1151[]]::resources PASSED*",
            "layoutprobe.toml::copy[[]gfx942[]]::kernel PASSED*",
            "layoutprobe.toml::copy[[]gfx942[]]::resources PASSED*",
        ]
    )


def test_a_real_limit(run: Runner, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(pytester.path / "cache"))
    write_manifest(pytester, MANIFEST + "[kernel.limits]\nvgprs = 1\n")
    result = run("--layoutprobe")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["copy (gfx1151): resources/limit-vgprs", "copy.hip:2: copy takes * VGPRs*"])


def test_a_source_that_does_not_compile(
    run: Runner, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYOUTPROBE_CACHE", str(pytester.path / "cache"))
    write_manifest(pytester)
    (pytester.path / "copy.hip").write_text("half x;\n", "utf-8")
    result = run("--layoutprobe")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["copy (gfx1151): kernel could not be decided", "*unknown type name 'half'*"])


def test_a_torn_manifest_is_an_error(run: Runner, pytester: pytest.Pytester) -> None:
    write_manifest(pytester, MANIFEST.replace("block", "blocc"))
    result = run("--layoutprobe")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*key kernel[[]0[]].block*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("green", {"passed": 7, "skipped": 1}),
        ("with-line", {"passed": 6, "skipped": 1, "failed": 1}),
        ("undecided", {"passed": 6, "skipped": 1, "failed": 1}),
        # All checks are skipped: the kernel as a whole is not green.
        ("nothing-applied", {"skipped": 7, "failed": 1}),
        ("error", {"failed": 8}),
    ],
)
def test_items_follow_the_results(
    name: str,
    outcomes: dict[str, int],
    run: Runner,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from layoutprobe.checks import registry

    write_manifest(pytester, MANIFEST.replace('checks = ["resources"]\n', ""))
    monkeypatch.setattr(registry, "check_names", lambda: tuple(fake_gates.LAWS))
    monkeypatch.setattr(gate, "check", lambda manifest, **_: fake_gates.ALL[name]())
    result = run("--layoutprobe", "-rs")
    result.assert_outcomes(**outcomes)
    if name == "green":
        result.stdout.fnmatch_lines(["SKIPPED*LDS is padded, not swizzled"])
