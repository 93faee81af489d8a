"""pytest plugin: kernels of a manifest as tests.

    def test_standard(layoutprobe):
        layoutprobe.check("layoutprobe.toml", kernel="standard")

    @pytest.mark.layoutprobe(manifest="layoutprobe.toml", kernel="standard")
    def test_standard_again(layoutprobe):
        assert layoutprobe.result("resources").metrics["waves per SIMD"] >= 8

`pytest --layoutprobe` collects every layoutprobe.toml: one test per kernel, target and check. What
cannot be decided fails, with its reason. Only a check that does not apply is skipped.

pytest loads this module wherever layoutprobe is installed: whatever is heavy is imported by the test
that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from msgspec import Struct

if TYPE_CHECKING:
    from layoutprobe.report.finding import Finding
    from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict

MANIFEST = "layoutprobe.toml"
MARKER = "layoutprobe(manifest, kernel, checks): the kernels must hold before the test itself runs"
WHOLE = "kernel"
"""Name of the test of a kernel as a whole: it could be built and run, and some check applied."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the plugin."""
    group = parser.getgroup("layoutprobe", "kernels of layoutprobe manifests")
    group.addoption(
        "--layoutprobe", action="store_true", help=f"collect {MANIFEST}: a test per kernel, target and check"
    )
    group.addoption(
        "--layoutprobe-allow-reference",
        action="store_true",
        help="import the Python references that manifests name: they are code",
    )
    group.addoption(
        "--layoutprobe-strict",
        action="store_true",
        help="fail also where a verdict has reservations: code that never ran, loose tolerances...",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and a place for what was checked."""
    config.addinivalue_line("markers", MARKER)
    config.stash[_GATE] = _Gate(
        bool(config.getoption("--layoutprobe-allow-reference")),
        bool(config.getoption("--layoutprobe-strict")),
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A manifest is a file of tests."""
    if file_path.name == MANIFEST and parent.config.getoption("--layoutprobe"):
        return ManifestFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Checks what the test's markers name, before the test itself."""
    for marker in item.iter_markers("layoutprobe"):
        item.stash.setdefault(_PROBE, LayoutProbe(item)).check(*marker.args, **marker.kwargs)


@pytest.fixture
def layoutprobe(request: pytest.FixtureRequest) -> LayoutProbe:
    """Checks kernels; see LayoutProbe."""
    found: LayoutProbe = request.node.stash.setdefault(_PROBE, LayoutProbe(request.node))
    return found


class Checked(Struct, frozen=True):
    """What was found.

    Attributes:
        report: of the gate.
    """

    report: GateReport

    @property
    def verdict(self) -> KernelVerdict:
        """The verdict on the only kernel (and target) that was checked; LookupError if not one."""
        if len(self.report.verdicts) != 1:
            raise LookupError(f"{len(self.report.verdicts)} kernels were checked: read report.verdicts")
        return self.report.verdicts[0]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the consequences of others included."""
        return tuple(found for verdict in self.report.verdicts for found in verdict.every)

    def result(self, check: str) -> CheckResult:
        """The result of one check of the only kernel; LookupError where it was not applied."""
        for result in self.verdict.results:
            if result.check == check:
                return result
        raise LookupError(f"{check!r} was not applied to {self.verdict.name}")

    def assert_holds(self) -> None:
        """Fail the test unless everything holds; what is undecided fails with its reason."""
        __tracebackhide__ = True
        if self.report.exit_code:
            pytest.fail(_told(self.report), pytrace=False)

    def assert_finding(self, check: str, says: str = "") -> Finding:
        """Fail the test unless that check has a finding, or that rule is broken; give the first one.

        Args:
            check: name of the check, or id of the rule ("races/read-after-write").
            says: text that must occur in what the finding says.
        """
        __tracebackhide__ = True
        for found in self.findings:
            if check in (found.check, found.rule.id) and says in found.what:
                return found
        wanted = f"a finding of {check!r}" + (f" that says {says!r}" if says else "")
        pytest.fail(f"expected {wanted}\n{_told(self.report) or 'but everything holds'}", pytrace=False)


class LayoutProbe:
    """The `layoutprobe` fixture. Results are kept for the session, so asking again costs nothing."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._checked: Checked | None = None

    def check(
        self, manifest: str | Path = MANIFEST, *, kernel: str | None = None, checks: Sequence[str] = ()
    ) -> Checked:
        """Check kernels, and fail the test unless everything holds.

        Args:
            manifest: path, relative to the test's directory or else to pytest's root.
            kernel: name of one kernel; all by default.
            checks: names of the checks; all by default.
        """
        __tracebackhide__ = True
        checked = self.examine(manifest, kernel=kernel, checks=checks)
        checked.assert_holds()
        return checked

    def examine(
        self, manifest: str | Path = MANIFEST, *, kernel: str | None = None, checks: Sequence[str] = ()
    ) -> Checked:
        """Check kernels without judging; for tests that expect a finding (`assert_finding`)."""
        __tracebackhide__ = True
        from layoutprobe.errors import ProbeError

        gate = self._item.config.stash[_GATE]
        chosen = (checks,) if isinstance(checks, str) else tuple(checks)
        try:
            report = gate.check(self._find(manifest), (kernel,) if kernel else (), chosen)
        except ProbeError as error:
            _undecided(error)
        self._checked = Checked(report)
        return self._checked

    @property
    def checked(self) -> Checked:
        """What was checked last, by the marker or by this fixture; LookupError if nothing was."""
        if self._checked is None:
            raise LookupError("nothing was checked yet: call check(), or use the marker")
        return self._checked

    @property
    def verdict(self) -> KernelVerdict:
        """See Checked.verdict."""
        return self.checked.verdict

    def result(self, check: str) -> CheckResult:
        """See Checked.result."""
        return self.checked.result(check)

    def _find(self, manifest: str | Path) -> Path:
        folders = (self._item.path.parent, self._item.config.rootpath)
        tried = [folder / manifest for folder in folders]
        for path in tried:
            if path.is_file():
                return path
        __tracebackhide__ = True
        listed = "\n  ".join(dict.fromkeys(map(str, tried)))
        pytest.fail(f"could not be decided: there is no manifest\n  {listed}", pytrace=False)


class ManifestFile(pytest.File):
    """A layoutprobe.toml."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test per kernel, target and check, and one for each kernel as a whole."""
        from layoutprobe.checks.registry import RULES, check_names
        from layoutprobe.errors import ProbeError
        from layoutprobe.manifest.read import read_manifest

        try:
            manifest = read_manifest(self.path, checks=check_names(), rules=[rule.id for rule in RULES])
        except ProbeError as error:
            raise self.CollectError(str(error)) from None
        for case in manifest.kernels:
            for at, target in enumerate(case.arches or ("",)):
                title = f"{case.name}[{target}]" if target else case.name
                wanted = [name for name in check_names() if not case.checks or name in case.checks]
                for check in (WHOLE, *wanted):
                    yield CheckItem.from_parent(
                        self, name=f"{title}::{check}", kernel=case.name, position=at, check=check
                    )


class CheckItem(pytest.Item):
    """One check of one kernel for one target."""

    def __init__(self, *, kernel: str, position: int, check: str, **options: Any) -> None:
        super().__init__(**options)
        self.kernel = kernel
        self.position = position
        self.check = check

    def runtest(self) -> None:
        """Judge one check; the gate runs once for all checks of a kernel."""
        from layoutprobe.errors import ProbeError

        try:
            report = self.config.stash[_GATE].check(self.path, (self.kernel,), ())
        except ProbeError as error:
            _undecided(error)
        verdict = report.verdicts[self.position]
        failure = "\n\n".join(_failures(verdict, self.check))
        if failure:
            pytest.fail(failure, pytrace=False)
        for result in verdict.results:
            if result.check == self.check and result.status == "skipped":
                pytest.skip(result.reason)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands, for pytest's listings."""
        return self.path, None, self.name


class _Gate:
    """Runs the gate, and remembers."""

    def __init__(self, allow_reference: bool, strict: bool) -> None:
        self._allow_reference = allow_reference
        self._strict = strict
        self._known: dict[tuple[Path, tuple[str, ...], tuple[str, ...]], GateReport] = {}

    def check(self, manifest: Path, kernels: tuple[str, ...], checks: tuple[str, ...]) -> GateReport:
        from layoutprobe.gate import gate

        key = (manifest.resolve(), kernels, checks)
        if key not in self._known:
            self._known[key] = gate.check(
                manifest,
                kernels=kernels,
                checks=checks,
                allow_reference=self._allow_reference,
                strict=self._strict,
                draw=False,
            )
        return self._known[key]


def _undecided(error: Exception) -> NoReturn:
    """Fail with the error's words alone: pytest would print the exception in front of them as well."""
    raise pytest.fail.Exception(f"could not be decided: {error}", pytrace=False) from None


def _told(report: GateReport) -> str:
    """Everything that is not green, and the verdict."""
    from layoutprobe.render.gate.words import gate_outcome

    parts = [text for verdict in report.verdicts for text in _failures(verdict, None)]
    outcome = gate_outcome(report)
    return "\n\n".join([*parts, f"{outcome.word.upper()} ({outcome.basis}): {outcome.sentence}"])


def _failures(verdict: KernelVerdict, check: str | None) -> Iterable[str]:
    """What is wrong or open: of all checks (None), of one, or of the kernel as a whole (WHOLE)."""
    from layoutprobe.render.gate.words import in_full, kernel_title, open_questions
    from layoutprobe.text import printable

    title = kernel_title(verdict)
    for result in verdict.results:
        for found in result.findings if check in (None, result.check) else ():
            yield printable(f"{title}: {found.rule.id}\n{in_full(verdict, found)}")
    for question in open_questions(verdict):
        name = question.check or WHOLE
        # Without a kernel that ran no check can have held.
        if check in (None, name) or (verdict.error and name == WHOLE):
            yield printable(f"{title}: {name} could not be decided\n{question.reason}")
    if check not in (None, WHOLE) and not verdict.error and check not in [r.check for r in verdict.results]:
        yield printable(f"{title}: {check} could not be decided\nit was not applied")


_GATE = pytest.StashKey[_Gate]()
_PROBE = pytest.StashKey[LayoutProbe]()
