"""Gate reports made by hand, where only their rendering or the exit code is under test."""

from __future__ import annotations

from msgspec.structs import replace

from layoutprobe.capture.capture import Evidence
from layoutprobe.place import Call, Element, Place, Register, SourceLine
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult, GateReport, KernelVerdict

EMULATED = Evidence("emulated", "layoutprobe emulator 0.1.0")
HOSTILE = (
    '<script>alert("x")</script>&amp;\x1b[2J\x00\r\n::error file=/etc/passwd,line=1::owned\n'
    "|`**[a](http://x.invalid)** ]]> %0A::stop-commands::t ￾\ud800 @team #1 <!-- \u202egnp.exe"
)

LAWS = {
    "operand-provenance": "each slot of A and B holds the element that its partner requires",
    "epilogue": "every element of C is written exactly once, from the right lane and register",
    "numerics": "the output equals the contract within the tolerance of its dtype",
    "swizzle": "LDS addresses written and read form a bijection per tile, and agree",
    "races": "waves of a workgroup meet at a barrier between a write and a read of the same LDS dword",
    "bank-conflicts": "LDS accesses take no more cycles than the phase rules allow at best",
    "resources": "the kernel can be launched on its target and stays within the manifest's limits",
}


def holds(check: str, reason: str = "", **metrics: object) -> CheckResult:
    named = {name.replace("_", " "): value for name, value in metrics.items()}
    return CheckResult(check, LAWS[check], "holds", reason=reason, metrics=named)


def found(check: str, *findings: Finding) -> CheckResult:
    return CheckResult(check, LAWS[check], "finding", findings)


def undecided(check: str, reason: str) -> CheckResult:
    return CheckResult(check, LAWS[check], "undecided", reason=reason)


def skipped(check: str, reason: str) -> CheckResult:
    return CheckResult(check, LAWS[check], "skipped", reason=reason)


def all_hold() -> tuple[CheckResult, ...]:
    return (
        holds("operand-provenance", "all 131072 slots of 256 matrix instructions, by pattern"),
        holds("epilogue", "16384 elements of C, each once"),
        holds("numerics", "largest error 0.0 of 0.05 allowed", largest_error=0.0, allowed=0.05),
        skipped("swizzle", "LDS is padded, not swizzled"),
        holds("races", "1024 LDS dwords of 8 barrier epochs"),
        holds(
            "bank-conflicts",
            "the rules of gfx1100 are used: gfx1151 is unmeasured",
            LDS_cycles=4096,
            without_conflicts=4096,
            worst_site="standard.hip:88, 1.0x",
        ),
        holds(
            "resources",
            "within the limits on vgprs",
            VGPRs=96,
            SGPRs=30,
            LDS_bytes=16384,
            spills=0,
            waves_per_SIMD=16,
        ),
    )


def kernel(name: str, *results: CheckResult, error: str = "", target: str = "gfx1151") -> KernelVerdict:
    return KernelVerdict(
        name=name,
        symbol=f"wmma_gemm_kernel_{name}",
        target=target,
        source=f"gemm/{name}.hip",
        sizes=("M=128 N=128 K=64", "M=200 N=136 K=80"),
        results=results,
        evidence=(EMULATED,) if results else (),
        toolchain={"compiler": "clang 22.1.8", "code_object": "ab" * 32},
        seconds=1.25,
        error=error,
    )


def report(*verdicts: KernelVerdict, manifest: str = "layoutprobe.toml") -> GateReport:
    return GateReport(manifest, verdicts, "0.1.0")


def rule(id: str) -> Rule:
    """A rule that is made up, with words that occur nowhere else."""
    return Rule(id, f"{id} in a line", f"why {id} is wrong", f"how {id} is mended")


TRANSPOSED = Finding(
    rule("operand-provenance/transposed"),
    "the kernel loads A transposed: a lane holds a column, the instruction needs a row",
    Place(
        source=SourceLine("asmOpt.hip", 742, 13),
        inlined_at=(Call(SourceLine("../gemm/asmOpt.hip", 750, 17), "mma"),),
        instruction="v_wmma_f32_16x16x16_f16",
        workgroup=(0, 0, 0),
        wave=0,
        lane=1,
        register=Register("VGPR", 12),
        bits=(0, 15),
    ),
    expected="A[1][0]",
    observed="A[0][1]",
    hint="swap the two indices of the LDS load",
    count=3840,
    related=(
        Related(
            "loaded by",
            Place(source=SourceLine("asmOpt.hip", 731), instruction="ds_load_u16", lane=1, lds_byte=2),
        ),
        Related(
            "stored by",
            Place(source=SourceLine("asmOpt.hip", 702), instruction="ds_store_b128", wave=1, lane=7),
        ),
    ),
)
WRONG_SUMS = Finding(
    rule("numerics/wrong-values"),
    "97.1 % of C differs from alpha*A@B + beta*C",
    Place(element=Element("C", (0, 1))),
    expected="14.25",
    observed="-3.5",
    count=15909,
)


def green() -> GateReport:
    return report(kernel("standard", *all_hold()))


def with_line() -> GateReport:
    results = (found("operand-provenance", TRANSPOSED), *all_hold()[1:])
    return report(kernel("asmOpt", *results))


def without_line() -> GateReport:
    results = all_hold()
    return report(kernel("asmOpt", *results[:2], found("numerics", WRONG_SUMS), *results[3:]))


def open_question() -> GateReport:
    reason = "the kernel computes on A between LDS and the matrix instruction (v_pk_mul_f16, flash.hip:91)"
    return report(kernel("flash", undecided("operand-provenance", reason), *all_hold()[1:]))


STOPPED = "the run stopped early: the wave reads an undefined address (loop.hip:12)"


def stopped_early() -> GateReport:
    """One fault leaves four checks open."""
    results = [undecided(name, STOPPED) for name in list(LAWS)[:4]]
    return report(kernel("loop", *results, *all_hold()[4:]))


def waived() -> GateReport:
    """The author of a manifest has switched two checks off."""
    results = list(all_hold())
    for at, why in ((2, "no time"), (4, "known")):
        results[at] = replace(skipped(results[at].check, f"the manifest skips it: {why}"), waived=True)
    return report(kernel("standard", *results))


def accepted() -> GateReport:
    """The author of a manifest accepts what one rule finds."""
    results = (found("operand-provenance", TRANSPOSED), *all_hold()[1:])
    waiver = {TRANSPOSED.rule.id: "B is symmetric here"}
    return report(kernel("standard", *(result.without(waiver) for result in results)))


def nothing_applied() -> GateReport:
    reason = "there is no matrix product in the contract"
    return report(kernel("softmax", *(skipped(name, reason) for name in LAWS)))


def stopped() -> GateReport:
    error = "clang refused broken.hip\n  observed: broken.hip:3:1: error: unknown type name 'half'"
    return report(kernel("broken", error=error))


def no_kernels() -> GateReport:
    return report()


def several_targets() -> GateReport:
    results = all_hold()
    static = (results[-1], *(skipped(name, "gfx942 is not emulated") for name in list(LAWS)[:-1]))
    over = Finding(
        rule("resources/limit-vgprs"),
        "standard takes 200 VGPRs; its limit 'vgprs' is 128",
        Place(source=SourceLine("standard.hip", 12), kernel="standard"),
        expected="at most 128 VGPRs",
        observed="200 VGPRs",
        hint="make the tile of a wave smaller",
    )
    return report(
        kernel("standard", *results),
        replace(kernel("standard", *static, target="gfx942"), evidence=()),
        kernel("standard", *results[:-1], found("resources", over), target="gfx1150"),
    )


def mixed() -> GateReport:
    verdicts = [
        v for make in (green, with_line, without_line, open_question, stopped) for v in make().verdicts
    ]
    both = replace(
        verdicts[2],
        name="swizzled",
        results=(found("operand-provenance", TRANSPOSED), verdicts[2].results[2], *verdicts[2].results[3:]),
    )
    return report(verdicts[0], verdicts[1], both, *verdicts[3:], *several_targets().verdicts[1:])


def hostile() -> GateReport:
    """Every text comes from somebody else, and means harm."""
    at_worst = Place(
        kernel=HOSTILE,
        source=SourceLine(HOSTILE, 12),
        inlined_at=(Call(SourceLine(HOSTILE, 1), HOSTILE),),
        instruction=HOSTILE,
        matrix=HOSTILE,
        element=Element(HOSTILE, (1,)),
        buffer=HOSTILE,
        size=((HOSTILE, 3),),
    )
    finding = Finding(
        Rule(f"{HOSTILE}/x", HOSTILE, HOSTILE, HOSTILE),
        HOSTILE,
        at_worst,
        expected=HOSTILE,
        observed=HOSTILE,
        hint=HOSTILE,
        related=(Related("loaded by", at_worst),),
        count=2,
    )
    results = (
        CheckResult(
            HOSTILE, HOSTILE, "finding", (finding,), HOSTILE, {HOSTILE: HOSTILE, "nan": float("nan")}
        ),
        CheckResult(HOSTILE + "2", HOSTILE, "undecided", (), HOSTILE),
        CheckResult(HOSTILE + "3", HOSTILE, "skipped", (), HOSTILE),
        CheckResult(HOSTILE + "4", HOSTILE, "holds", (), HOSTILE),
    )
    verdict = KernelVerdict(
        name=HOSTILE,
        symbol=HOSTILE,
        target=HOSTILE,
        source=HOSTILE,
        sizes=(HOSTILE,),
        results=results,
        evidence=(Evidence("replayed", HOSTILE, HOSTILE),),
        toolchain={HOSTILE: HOSTILE},
    )
    return GateReport(HOSTILE, (verdict, replace(verdict, error=HOSTILE, results=())), HOSTILE)


ALL = {
    "green": green,
    "with-line": with_line,
    "without-line": without_line,
    "undecided": open_question,
    "stopped-early": stopped_early,
    "waived": waived,
    "accepted": accepted,
    "nothing-applied": nothing_applied,
    "error": stopped,
    "no-kernels": no_kernels,
    "several-targets": several_targets,
    "mixed": mixed,
    "hostile": hostile,
}
EXIT_CODES = {
    "green": 0,
    "with-line": 1,
    "without-line": 1,
    "undecided": 2,
    "stopped-early": 2,
    "waived": 0,
    "accepted": 0,
    "nothing-applied": 2,
    "error": 2,
    "no-kernels": 2,
    "several-targets": 1,
    "mixed": 1,
    "hostile": 1,
}
