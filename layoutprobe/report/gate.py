"""What `layoutprobe check` found, as plain data: reports, exit codes and plugins read it from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.report import notebook
from layoutprobe.report.coverage import CodeCoverage
from layoutprobe.report.finding import Finding

if TYPE_CHECKING:  # pictures are made of findings: a kernel that holds has none
    from layoutprobe.report.kernel_view import OutputView
    from layoutprobe.report.layout import LayoutReport
    from layoutprobe.report.lds_picture import LdsPicture

Status = Literal["holds", "finding", "undecided", "skipped"]
"""What a check came to: its law holds; it is broken; it could not be decided; or the check does
not apply to this kernel (and says why). Only "holds" is green."""


class Table(Struct, frozen=True):
    """Figures of several things, a row each.

    Attributes:
        columns: what the figures are, with their units; the first column names the thing.
        rows: a value for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


class CheckResult(Struct, frozen=True):
    """One check of one kernel.

    Attributes:
        check: name of the check.
        law: what it tests, in one line.
        status: see Status.
        findings: what is wrong, one per root cause; empty unless status is "finding".
        reason: why it is undecided or skipped; what was covered, where it holds.
        metrics: figures in the order in which they are to be shown, name with unit -> value,
            or a Table of them.
        at_last: the reason at the last size, where those of several sizes differ: one line has no room for all.
        by_size: problem size in words -> the figures there, as numbers; empty where the check knows no sizes.
        waived: skipped because the manifest's author says so, though it may well apply.
        accepted: findings that the manifest or a baseline lets pass, each with why.
        reserved: what was seen and is no finding, each in a few words for the headline.
    """

    check: str
    law: str
    status: Status
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    metrics: Mapping[str, object] = field(default_factory=dict)
    at_last: str = ""
    by_size: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    waived: bool = False
    accepted: tuple[tuple[Finding, str], ...] = ()
    reserved: tuple[str, ...] = ()

    def without(self, rules: Mapping[str, str]) -> CheckResult:
        """The result without findings of some rules (id -> why)."""
        return self.accepting(lambda found: rules.get(found.rule.id), "the manifest waives {rule}: {why}")

    def accepting(self, why: Callable[[Finding], str | None], says: str = "{rule}: {why}") -> CheckResult:
        """The result without the findings for which `why` gives a reason; where none is left, it is no longer
        red, and not green either. `says` makes of `rule` and `why` what the result's reason tells of each."""
        told = [(found, why(found)) for found in self.findings]
        gone = tuple((found, text) for found, text in told if text is not None)
        if not gone:
            return self
        kept = tuple(found for found, text in told if text is None)
        told_of = (says.format(rule=found.rule.id, why=text) for found, text in gone)
        reason = "; ".join(dict.fromkeys(filter(None, (self.reason, *told_of))))
        accepted = (*self.accepted, *gone)
        return replace(
            self, status="finding" if kept else "skipped", findings=kept, reason=reason, accepted=accepted
        )


LdsKey = tuple[str, int | None, str]


def lds_key(found: Finding) -> LdsKey:
    """Under which `Pictures.lds` has it."""
    return found.rule.id, found.place.pc, found.place.matrix


class Pictures(Struct, frozen=True, eq=False):
    """What is drawn beside findings.

    Attributes:
        operands: (PC of a matrix instruction, matrix) -> what the operand held where it was wrong first.
        lds: (rule, PC, matrix) of a finding -> the bytes of LDS that it is about.
        output: of the run on small integers; None where nothing in it is wrong, or it is too large.
        size: at which `output` is.
    """

    operands: Mapping[tuple[int, str], LayoutReport] = field(default_factory=dict)
    output: OutputView | None = None
    size: str = ""
    lds: Mapping[LdsKey, LdsPicture] = field(default_factory=dict)

    __repr__ = brief

    def operand(self, found: Finding) -> LayoutReport | None:
        """The operand that a finding is about; None where it is not drawn."""
        fits = (r for (pc, m), r in self.operands.items() if m == found.place.matrix and pc in found.sites)
        return next(fits, None)


class Hunt(Struct, frozen=True):
    """Other sizes and values than the manifest's, tried one after the other.

    Attributes:
        tried: how many sizes.
        undecided: at how many of them something could not be decided; they do not count.
        seconds: for which it went on.
        sizes: those that reached code which none before had, and last the smallest that fails, if one does.
        fails: the last of `sizes` does.
        values, seeds: how many kinds of inputs that are not usual were tried, and other seeds, size by size.
        bears, seed: with which of them the last size fails; "" and None where it fails on usual inputs.
    """

    tried: int
    undecided: int
    seconds: float
    sizes: tuple[Mapping[str, int], ...]
    fails: bool
    values: int = 0
    seeds: int = 0
    bears: str = ""
    seed: int | None = None

    @property
    def lines(self) -> str:
        """What a manifest needs for it: sizes, and what the values are."""
        more = [f'bears = ["{self.bears}"]'] if self.bears else []
        more += [] if self.seed is None else [f"seed = {self.seed}"]
        return "; ".join([*([self.proposal] if self.proposal else []), *more])

    @property
    def proposal(self) -> str:
        """The sizes as a manifest has them: "{ M = 17, N = 16, K = 33 }"; "" where there are none. Of one that fails
        this one alone: what else reached other code has nothing to do with it."""
        told = self.sizes[-1:] if self.fails else self.sizes
        return ", ".join(f"{{ {', '.join(f'{k} = {v}' for k, v in size.items())} }}" for size in told)

    def __str__(self) -> str:
        """ "41 more sizes, 12 of other values in 38 s: the last fails; for the manifest: { M = 17 }"."""
        more = f"{self.tried} more size{'s' if self.tried != 1 else ''}"
        others = [f"{self.values} of other values"] if self.values else []
        others += [f"{self.seeds} of other seeds"] if self.seeds else []
        more += f"{''.join(f', {one}' for one in others)} in {self.seconds:.0f} s"
        if self.undecided:
            more += f", {self.undecided} undecided"
        if not self.sizes:
            return f"{more}: none fails, or reaches other code"
        last = "the last fails" if self.fails else "none fails"
        return f"{more}: {last}; for the manifest: {self.lines}"


class Unlisted(Struct, frozen=True):
    """What goes wrong at a size that the manifest does not have.

    Attributes:
        says: in a few words, with the size.
        rule: the identifier of a finding there ("memory/out-of-bounds").
    """

    says: str
    rule: str


class Fix(Struct, frozen=True):
    """A change of the source with which every check of the kernel holds, at every size.

    Attributes:
        finding: beside which it belongs.
        file: as a place names it: relative to the directory of the kernel's source.
        line: the first line that it replaces, counted from 1.
        old, new: the lines that it replaces, and those that come there.
        sizes: at how many sizes the kernel was checked with it.
        unlisted: what goes wrong with it at other sizes.
    """

    finding: Finding
    file: str
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    sizes: int
    unlisted: tuple[Unlisted, ...] = ()


class Mending(Struct, frozen=True):
    """Small changes of the source, tried one after the other until one holds.

    Attributes:
        tried: how many.
        compiled: how many of them compile.
        seconds: for which it went on.
        fix: the one that holds; None where none does.
        problem: a fault of layoutprobe's own that ended the search; "" where it came to its end.
    """

    tried: int
    compiled: int
    seconds: float
    fix: Fix | None
    problem: str = ""

    def __str__(self) -> str:
        """ "41 changes in 38 s, of which 35 compile: none makes it hold"."""
        if self.problem:
            return f"a bug in layoutprobe, not in your kernel, ended the search for a change: {self.problem}"
        if not self.tried:
            return "nothing: the findings name no line of a source in HIP that can be changed, or there was no time"
        tried = f"{self.tried} change{'s' if self.tried != 1 else ''} in {self.seconds:.0f} s"
        ends = "none makes it hold"
        if self.fix is not None:
            ends = "one holds at listed sizes alone" if self.fix.unlisted else "the last makes it hold"
        return f"{tried}, of which {self.compiled} compile: {ends}"


class KernelVerdict(Struct, frozen=True):
    """All checks of one kernel for one target.

    Attributes:
        name: the kernel's name in the manifest.
        symbol: the kernel's name in the code object.
        target: processor that it was compiled for.
        source: path of its source or code object, as the manifest names it.
        sizes: the problem sizes that were run, as the manifest names them: "M=128 N=128 K=64".
        results: one per check, in the order of the registry.
        evidence: what the verdict rests on.
        toolchain: compiler, flags, code-object digest.
        seconds: wall time of compiling, running and checking.
        error: why the kernel could not be checked at all; "" when it was.
        reservations: what the manifest leaves out or lets pass, and what never ran, each in a few words; see
            `manifest.reservations` and `CodeCoverage.reservations`.
        coverage: what of the code ran at all sizes together; None where nothing was executed.
        strict: a reservation leaves it undecided.
        hunt: what looking for other sizes brought; None where nobody did.
        excerpts: source lines around the places of the findings, as far as they can be shown: file as a place
            names it -> line, counted from 1 -> text.
        pictures: what can be drawn beside the findings.
        mending: what looking for a change that mends it brought; None where nobody did.
        unlisted: what goes wrong at sizes that the manifest does not have; also reservations.
    """

    name: str
    symbol: str
    target: str
    source: str
    sizes: tuple[str, ...]
    results: tuple[CheckResult, ...]
    evidence: tuple[Evidence, ...]
    toolchain: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""
    reservations: tuple[str, ...] = ()
    coverage: CodeCoverage | None = None
    strict: bool = False
    excerpts: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    hunt: Hunt | None = None
    pictures: Pictures = field(default_factory=Pictures)
    mending: Mending | None = None
    unlisted: tuple[Unlisted, ...] = ()

    @property
    def every(self) -> tuple[Finding, ...]:
        """Findings of all checks, in their order: causes and consequences."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be mended: the causes, those from which others follow first."""
        causes = (finding for finding in self.every if finding.follows is None)
        return tuple(sorted(causes, key=lambda cause: not self.consequences(cause)))

    def consequences(self, cause: Finding) -> tuple[Finding, ...]:
        """What else shows because of a finding, in the order of the checks."""
        return tuple(finding for finding in self.every if finding.follows == cause)

    def fix(self, found: Finding) -> Fix | None:
        """The change that was found for a finding."""
        fix = self.mending.fix if self.mending is not None else None
        return fix if fix is not None and fix.finding == found else None

    @property
    def waived(self) -> tuple[str, ...]:
        """Names of the checks that the manifest skips: nobody looked."""
        return tuple(result.check for result in self.results if result.waived)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Rules that are broken and let pass, each once."""
        return tuple(dict.fromkeys(found.rule.id for r in self.results for found, _ in r.accepted))

    @property
    def undecided(self) -> bool:
        """Something could not be decided, or is reserved where nothing may be."""
        reserved = self.strict and self.reservations
        return bool(self.error or reserved or any(r.status == "undecided" for r in self.results))

    @property
    def exit_code(self) -> int:
        """0 all that applies holds, 1 a finding, 2 something could not be decided."""
        if self.findings:
            return 1
        return 2 if self.undecided or not any(r.status == "holds" for r in self.results) else 0


class GateReport(Struct, frozen=True):
    """The verdicts on all kernels of a manifest.

    Attributes:
        manifest: path of the manifest.
        verdicts: one per kernel and target.
        version: version of layoutprobe.
        base: what the manifest was compared with; "" where it was not.
        relaxations: what it asks less than the base's, each in a few words.
        strict: a relaxation leaves the whole undecided.
    """

    manifest: str
    verdicts: tuple[KernelVerdict, ...]
    version: str
    base: str = ""
    relaxations: tuple[str, ...] = ()
    strict: bool = False

    @property
    def exit_code(self) -> int:
        """1 if any kernel has a finding, else 2 if anything could not be decided, else 0."""
        codes = {verdict.exit_code for verdict in self.verdicts}
        if 1 in codes:
            return 1
        relaxed = self.strict and self.relaxations
        return 2 if 2 in codes or not codes or relaxed else 0

    def __repr__(self) -> str:
        each = ", ".join(
            f"{v.name}: {len(v.findings)} finding(s)" + (", something undecided" if v.undecided else "")
            for v in self.verdicts
        )
        return f"<GateReport: exit code {self.exit_code}; {each or 'no kernel'}>"

    def _repr_html_(self) -> str | None:
        return notebook.html(self)
